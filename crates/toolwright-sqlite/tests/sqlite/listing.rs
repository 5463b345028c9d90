//! How runs stand, in short.

use std::time::{Duration, Instant};

use toolwright::Timestamp;
use toolwright::journal::{End, Failure, Resolution, Verdict};
use toolwright_sqlite::{RunFilter, RunStatus};

use crate::*;

/// What a run went through: each word is one thing that happened to it.
const HISTORIES: &[(&str, RunStatus, &[&str])] = &[
    ("", RunStatus::Interrupted, &[]),
    ("read", RunStatus::Interrupted, &[]),
    ("idempotent", RunStatus::Interrupted, &[]),
    ("once", RunStatus::InDoubt, &["main/0:a"]),
    ("once ok", RunStatus::Interrupted, &[]),
    ("once ok end", RunStatus::Succeeded, &[]),
    ("once nothing failed", RunStatus::Failed, &[]),
    ("once answered failed", RunStatus::Failed, &[]),
    ("once unknown failed", RunStatus::InDoubt, &["main/0:a"]),
    ("once happened failed", RunStatus::Failed, &[]),
    ("once abandoned failed", RunStatus::InDoubt, &["main/0:a"]),
    ("once reopen", RunStatus::InDoubt, &["main/0:a"]),
    ("once reopen said-not", RunStatus::Interrupted, &[]),
    ("once reopen said-not once", RunStatus::InDoubt, &["main/0:a"]),
    ("once reopen said", RunStatus::Interrupted, &[]),
    ("once reopen said unknown", RunStatus::Interrupted, &[]),
    ("once other", RunStatus::InDoubt, &["main/0:a", "main/1:b"]),
    ("once end reopen", RunStatus::InDoubt, &["main/0:a"]),
    ("held", RunStatus::Running, &[]),
    ("once held", RunStatus::Running, &[]),
    ("once reopen held", RunStatus::Running, &["main/0:a"]),
];

async fn go_through(journal: &SqliteJournal, id: &str, history: &str) -> Option<Run> {
    let mut run = Some(open(journal, id).await);
    let failed = |state| Finish::failed(key("main/0:a"), Failure::new("own", "no", state));
    for word in history.split_whitespace() {
        let held = run.as_ref().unwrap();
        match word {
            "read" => drop(begin(held, "main/0:a", Impact::None, json!({})).await),
            "idempotent" => drop(begin(held, "main/0:a", Impact::Idempotent, json!({})).await),
            "once" => drop(send(held, "main/0:a").await),
            "other" => drop(send(held, "main/1:b").await),
            "ok" => sent(held, "main/0:a", json!(1)).await,
            "nothing" => held.finish(failed(EffectState::NoEffect)).get().await.unwrap(),
            "unknown" => held.finish(failed(EffectState::Unknown)).get().await.unwrap(),
            "happened" => held.finish(failed(EffectState::Happened)).get().await.unwrap(),
            "answered" => {
                let failure = Failure::new("own", "no", EffectState::Unknown).answered();
                held.finish(Finish::failed(key("main/0:a"), failure)).get().await.unwrap();
            }
            "abandoned" => held.abandoned(&key("main/0:a")),
            "said" => held.resolve(&key("main/0:a"), Resolution::new("anna", Verdict::Happened(None))).get().await.unwrap(),
            "said-not" => held.resolve(&key("main/0:a"), Resolution::new("anna", Verdict::NotHappened)).get().await.unwrap(),
            "reopen" => {
                drop(run.take());
                run = Some(open(journal, id).await);
            }
            "failed" => held.end(End::failed("own")).get().await.unwrap(),
            "end" => held.end(End::ok()).get().await.unwrap(),
            "held" => return run,
            other => panic!("nothing is called `{other}`"),
        }
    }
    None
}

#[tokio::test]
async fn runs_stand_as_their_records_say() {
    let directory = Directory::new("standing");
    let journal = fast(&directory.path("j.sqlite"));
    let mut held = Vec::new();
    for (history, ..) in HISTORIES {
        held.extend(go_through(&journal, history, history).await);
    }
    journal.flush().unwrap();
    let runs = journal.runs(&RunFilter::default()).unwrap();
    assert_eq!(runs.len(), HISTORIES.len());
    for ((history, status, waits), run) in HISTORIES.iter().zip(runs.iter().rev()) {
        assert_eq!(run.id, *history);
        let paths: Vec<&str> = run.waits.iter().map(|call| call.path.as_str()).collect();
        assert_eq!((run.status, paths.as_slice()), (*status, *waits), "{history}");
        let doubtful = journal.load(history).get().await.unwrap().unwrap().in_doubt();
        let doubtful: Vec<String> = doubtful.iter().map(|doubt| doubt.begin.key.path()).collect();
        assert!(*status == RunStatus::Running || *status == RunStatus::Succeeded || doubtful == paths, "{history}: {doubtful:?}");
        let mut alone = RunFilter::default();
        alone.id = Some(run.id.clone());
        assert_eq!(journal.runs(&alone).unwrap().as_slice(), std::slice::from_ref(run));
    }
    let mut filter = RunFilter::default();
    filter.statuses = vec![RunStatus::InDoubt];
    filter.newest = Some(3);
    let doubtful = journal.runs(&filter).unwrap();
    assert!(doubtful.len() == 3 && doubtful.iter().all(|run| run.status == RunStatus::InDoubt));
    assert_eq!(journal.ids("once re", 2).unwrap(), vec!["once reopen held", "once reopen said unknown"]);
}

#[tokio::test]
async fn a_filter_looks_at_the_tool_and_the_time() {
    let directory = Directory::new("filter");
    let journal = fast(&directory.path("j.sqlite"));
    for (number, tool) in ["a", "b", "a", "b"].into_iter().enumerate() {
        let mut run = RunRecord::new(format!("r{number}"), tool, json!({}));
        run.created = Some(Timestamp(number as u64 * 10));
        run.principal = Some("anna".into());
        drop(journal.open(run, Claim::new("me")).get().await.unwrap());
    }
    let mut filter = RunFilter::default();
    filter.tool = Some("a".into());
    let of = |filter: &RunFilter| journal.runs(filter).unwrap().iter().map(|run| run.id.to_string()).collect::<Vec<_>>();
    assert_eq!(of(&filter), ["r2", "r0"]);
    filter.since = Some(Timestamp(1));
    assert_eq!(of(&filter), ["r2"]);
    let run = journal.runs(&filter).unwrap().pop().unwrap();
    assert_eq!((run.owner.as_str(), run.principal.as_deref(), run.epoch, run.begun), ("me", Some("anna"), 1, 0));
}

#[tokio::test(flavor = "multi_thread")]
async fn ten_thousand_open_runs_are_listed_at_once() {
    let directory = Directory::new("open");
    let path = directory.path("j.sqlite");
    let journal = fast(&path);
    let runs: Vec<Run> = futures(10_000, |number| {
        let journal = journal.clone();
        async move {
            let run = open(&journal, &format!("r{number}")).await;
            for step in 0..3 {
                begin(&run, &format!("main/{step}:a"), Impact::None, json!({ "text": "x".repeat(500) })).await;
                sent(&run, &format!("main/{step}:a"), json!("y".repeat(500))).await;
            }
            send(&run, "main/3:b").await;
            run
        }
    })
    .await;
    drop((runs, journal));
    let journal = fast(&path);
    let start = Instant::now();
    let found = journal.runs(&RunFilter::default()).unwrap();
    let took = start.elapsed();
    assert_eq!(found.len(), 10_000);
    assert!(found.iter().all(|run| run.status == RunStatus::InDoubt && run.begun == 4));
    assert!(took < Duration::from_secs(2), "{took:?}");
    assert_eq!(journal.unfinished().get().await.unwrap().len(), 10_000);
}

async fn futures<F: Future<Output = Run> + Send + 'static>(count: usize, make: impl Fn(usize) -> F) -> Vec<Run> {
    let tasks: Vec<_> = (0..count).map(|number| tokio::spawn(make(number))).collect();
    let mut runs = Vec::with_capacity(count);
    for task in tasks {
        runs.push(task.await.unwrap());
    }
    runs
}

//! Taking runs out.

use toolwright::Timestamp;
use toolwright::journal::{End, JournalErrorKind};
use toolwright_sqlite::{Prune, RunFilter};

use crate::*;

/// Ten runs: all but the last have ended, and each has a large value that the next one has too.
async fn ten(path: &Path) -> (SqliteJournal, Run) {
    let journal = fast(path);
    for number in 0..9_u64 {
        let mut end = End::ok();
        end.at = Some(Timestamp(number * 100));
        with_values(&journal, number).await.end(end).get().await.unwrap();
    }
    let last = with_values(&journal, 9).await;
    (journal, last)
}

/// A run with two large values, its own and that of the next one.
async fn with_values(journal: &SqliteJournal, number: u64) -> Run {
    let run = open(journal, &format!("r{number}")).await;
    for part in [number, number + 1] {
        let text = format!("{part} {}", "x".repeat(200_000));
        begin(&run, &format!("main/{part}:a"), Impact::Once, json!({ "text": text })).await;
        sent(&run, &format!("main/{part}:a"), json!(part)).await;
    }
    run
}

fn prune(change: impl FnOnce(&mut Prune)) -> Prune {
    let mut prune = Prune::default();
    change(&mut prune);
    prune
}

fn ids(journal: &SqliteJournal) -> Vec<String> {
    journal.runs(&RunFilter::default()).unwrap().iter().rev().map(|run| run.id.to_string()).collect()
}

#[tokio::test]
async fn what_is_asked_for_is_taken_out() {
    let cases: &[(&str, Prune, &[&str])] = &[
        ("nothing", Prune::default(), &[]),
        ("before", prune(|prune| prune.ended_before = Some(Timestamp(300))), &["r0", "r1", "r2"]),
        ("newest", prune(|prune| prune.keep_newest = Some(6)), &["r0", "r1", "r2"]),
        (
            "both",
            prune(|prune| {
                prune.keep_newest = Some(6);
                prune.ended_before = Some(Timestamp(200));
            }),
            &["r0", "r1"],
        ),
        ("named", prune(|prune| prune.run = Some("r4".into())), &["r4"]),
        ("bytes", prune(|prune| prune.bytes_max = Some(1_300_000)), &["r0", "r1", "r2", "r3", "r4"]),
    ];
    for (name, what, gone) in cases {
        let directory = Directory::new(&format!("prune-{name}"));
        let path = directory.path("j.sqlite");
        let (journal, run) = ten(&path).await;
        let all = ids(&journal);
        let mut dry = what.clone();
        dry.dry_run = true;
        assert_eq!(journal.prune(&dry).unwrap().runs, *gone, "{name}");
        assert_eq!(ids(&journal), all, "{name}");
        let pruned = journal.prune(what).unwrap();
        assert_eq!(pruned.runs, *gone, "{name}");
        assert_eq!(ids(&journal), all.into_iter().filter(|id| !gone.contains(&id.as_str())).collect::<Vec<_>>(), "{name}");
        assert!(gone.is_empty() || pruned.bytes.1 + 150_000 * gone.len() as u64 <= pruned.bytes.0, "{name}: {:?}", pruned.bytes);
        let on_disk = bytes(&path) + bytes(&beside(&path, "-wal"));
        assert_eq!(pruned.bytes.1, on_disk, "{name}");
        assert!(what.bytes_max.is_none_or(|bytes_max| on_disk <= bytes_max), "{name}: {on_disk}");
        // What is left is whole, and goes on.
        assert_eq!(journal.verify().unwrap().wrong, Vec::new(), "{name}");
        send(&run, "main/77:z").await;
        drop(open(&journal, "new").await);
        assert_eq!(journal.verify().unwrap().wrong, Vec::new(), "{name}");
        assert!(journal.load("r9").get().await.unwrap().is_some());
    }
}

#[tokio::test]
async fn a_run_that_is_at_work_stays() {
    let directory = Directory::new("prune-held");
    let path = directory.path("j.sqlite");
    let (journal, run) = ten(&path).await;
    let named = prune(|prune| prune.run = Some("r9".into()));
    assert_eq!(journal.prune(&named).unwrap_err().kind, JournalErrorKind::Claimed);
    let unknown = prune(|prune| prune.run = Some("r99".into()));
    assert_eq!(journal.prune(&unknown).unwrap_err().kind, JournalErrorKind::Unknown);
    drop(run);
    journal.flush().unwrap();
    assert_eq!(journal.prune(&named).unwrap().runs, ["r9"]);
    assert_eq!(journal.verify().unwrap().wrong, Vec::new());
    drop(journal);
    // The numbers of what was taken out at the end are not given again.
    let journal = fast(&path);
    drop(open(&journal, "r9").await);
    assert_eq!(journal.verify().unwrap().wrong, Vec::new());
}

#[tokio::test]
async fn a_run_with_a_call_in_doubt_stays_though_it_ended() {
    let directory = Directory::new("doubt");
    let journal = SqliteJournal::open(directory.path("j.sqlite")).unwrap();
    let run = open(&journal, "doubtful").await;
    send(&run, "main/0:a").await;
    run.end(toolwright::journal::End::failed("in_doubt")).get().await.unwrap();
    drop(run);
    let pruned = journal.prune(&prune(|prune| prune.keep_newest = Some(0))).unwrap();
    assert_eq!((pruned.runs.len(), ids(&journal)), (0, vec!["doubtful".to_owned()]));
    // Who names it means it.
    journal.prune(&prune(|prune| prune.run = Some("doubtful".into()))).unwrap();
    assert_eq!(ids(&journal), Vec::<String>::new());
}

//! Who waits, what is written when, and what a write that fails means for what comes after it.

use toolwright::journal::{Admission, End, JournalErrorKind, Record, Resolution, Verdict};
use toolwright::{Eventually, Impact, Journal, Value, json};
use toolwright_sqlite::SqliteJournal;

use crate::*;

#[tokio::test]
async fn only_what_may_have_an_effect_waits() {
    let directory = Directory::new("waits");
    let journal = SqliteJournal::open(directory.path("j.sqlite")).unwrap();
    let run = open(&journal, "r1").await;
    let read = run.begin(intent("main/0:a", Impact::None, json!({})));
    assert!(matches!(read, Eventually::Now(Ok(Admission::Proceed { attempt: 1 }))));
    let mut composite = Begin::new(key("main"), None, json!({}));
    composite.composite = true;
    assert!(matches!(run.begin(composite), Eventually::Now(Ok(_))));
    assert!(matches!(run.finish(Finish::ok(key("main/0:a"), None, EffectState::NoEffect)), Eventually::Now(Ok(()))));
    for (path, impact) in [("main/1:b", Some(Impact::Idempotent)), ("main/2:c", Some(Impact::Once)), ("main/3:d", None)] {
        assert!(matches!(run.begin(Begin::new(key(path), impact, json!({}))), Eventually::Later(_)), "{path}");
    }
    assert!(matches!(run.end(End::ok()), Eventually::Later(_)));
}

#[tokio::test]
async fn what_was_queued_is_written_when_the_journal_is_closed() {
    let directory = Directory::new("closing");
    let path = directory.path("j.sqlite");
    let journal = fast(&path);
    let run = open(&journal, "r1").await;
    for number in 0..1_000 {
        begin(&run, &format!("main/{number}:a"), Impact::None, json!({ "n": number })).await;
        sent(&run, &format!("main/{number}:a"), json!(number)).await;
    }
    drop((run, journal));
    let history = fast(&path).load("r1").get().await.unwrap().unwrap();
    assert_eq!(history.records.len(), 2_000);
    let Some(Record::Finish(last)) = history.records.last() else { panic!("the last record is an outcome") };
    assert_eq!(last.outcome.as_ref().unwrap(), &Some(json!(999)));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn many_runs_at_once_are_each_in_order() {
    let directory = Directory::new("many");
    let path = directory.path("j.sqlite");
    let journal = fast(&path);
    let tasks: Vec<_> = (0..50)
        .map(|number| {
            let journal = journal.clone();
            tokio::spawn(async move {
                let run = open(&journal, &format!("r{number}")).await;
                for step in 0..20 {
                    assert!(matches!(send(&run, &format!("main/{step}:a")).await, Admission::Proceed { .. }));
                    sent(&run, &format!("main/{step}:a"), json!(step)).await;
                }
                run.end(End::ok()).get().await.unwrap();
            })
        })
        .collect();
    for task in tasks {
        task.await.unwrap();
    }
    assert_eq!(journal.unfinished().get().await.unwrap().len(), 0);
    let found = journal.verify().unwrap();
    assert_eq!((found.runs, found.records, found.wrong), (50, 50 * 42, Vec::new()));
}

#[tokio::test]
async fn a_document_along_a_hundred_steps_is_written_once() {
    let directory = Directory::new("document");
    let document: Value = (0..1_000).map(|number| json!({ "chapter": number, "text": "x".repeat(1_000) })).collect();
    let again: Value = document.to_json_string().parse().unwrap();
    for (name, shared) in [("shared", true), ("copied", false)] {
        let path = directory.path(name);
        let journal = fast(&path);
        let run = open(&journal, "r1").await;
        for step in 0..100 {
            let document = if shared { document.clone() } else { document.to_json_string().parse().unwrap() };
            let path = format!("main/{step}:a");
            begin(&run, &path, Impact::Once, json!({ "doc": document.clone(), "n": step })).await;
            sent(&run, &path, json!({ "doc": document })).await;
        }
        run.end(End::ok()).get().await.unwrap();
        let found = journal.verify().unwrap();
        assert_eq!((found.values, found.wrong), (1, Vec::new()));
        let history = journal.load("r1").get().await.unwrap().unwrap();
        let Some(Record::Finish(last)) = history.records.iter().rev().nth(1) else { panic!("the outcome is before the end") };
        assert_eq!(last.outcome.as_ref().unwrap(), &Some(json!({ "doc": again.clone() })));
        drop((run, journal));
        let written = bytes(&path) + bytes(&beside(&path, "-wal"));
        assert!(written < 1_500_000, "{name}: {written} bytes");
    }
}

#[tokio::test]
async fn where_there_is_no_room_nothing_is_begun_and_nothing_is_lost() {
    let directory = Directory::new("full");
    let path = directory.path("j.sqlite");
    let bytes_max = options(|options| options.bytes_max = Some(300_000));
    let journal = SqliteJournal::open_with(&path, bytes_max).unwrap();
    let (run, other) = (open(&journal, "r1").await, open(&journal, "r2").await);
    let mut begun = 0;
    let error = loop {
        let text = format!("{begun} {}", "x".repeat(15_000));
        match run.begin(intent(&format!("main/{begun}:a"), Impact::Once, json!(text))).get().await {
            Ok(admission) => assert!(matches!(admission, Admission::Proceed { .. })),
            Err(error) => break error,
        }
        begun += 1;
    };
    assert_eq!(error.kind, JournalErrorKind::Unwritable);
    assert!(error.reason.contains("is full") && error.reason.contains("j.sqlite"), "{error}");
    assert!(begun > 5, "{begun}");
    // One that is small has room where a large one had none.
    assert!(matches!(send(&other, "main/0:a").await, Admission::Proceed { .. }));
    // An outcome that nobody waited for and that has no room: the run says so, and writes nothing more.
    sent(&run, "main/0:a", json!("y".repeat(15_000))).await;
    let end = run.end(End::ok()).get().await.unwrap_err();
    assert!(end.kind == JournalErrorKind::Unwritable && end.reason.contains("is full"), "{end}");
    let next = run.begin(intent("main/999:a", Impact::None, json!({}))).get().await.unwrap_err();
    assert!(next.reason.contains("an earlier record of run `r1` was not written"), "{next}");
    // What was taken back is not noted as being on the disk.
    assert!(claim(&journal, &"long id ".repeat(20_000)).await.is_err());
    journal.flush().unwrap();
    drop((run, other, journal));
    let journal = SqliteJournal::open(&path).unwrap();
    let history = journal.load("r1").get().await.unwrap().unwrap();
    assert_eq!((history.records.len(), history.end()), (begun, None));
    assert_eq!(journal.verify().unwrap().wrong, Vec::new());
}

#[tokio::test]
async fn a_file_that_is_no_journal_is_refused_and_left_alone() {
    let directory = Directory::new("others");
    let newer = directory.path("newer.sqlite");
    drop(fast(&newer));
    rusqlite::Connection::open(&newer).unwrap().pragma_update(None, "user_version", 99).unwrap();
    let database = directory.path("database.sqlite");
    rusqlite::Connection::open(&database).unwrap().execute_batch("CREATE TABLE cats (name)").unwrap();
    let text = directory.path("text.sqlite");
    std::fs::write(&text, "this is no database, it is a text of some length, and it stays as it is, whatever is opened".repeat(9)).unwrap();
    for (path, why) in
        [(newer, "a newer version of Toolwright wrote it"), (database, "no journal of Toolwright's"), (text, "it is no journal")]
    {
        let before = std::fs::read(&path).unwrap();
        for read_only in [false, true] {
            let error = SqliteJournal::open_with(&path, options(|options| options.read_only = read_only)).unwrap_err();
            assert_eq!(error.kind, JournalErrorKind::Foreign);
            assert!(error.reason.contains(why), "{error}");
        }
        assert_eq!(std::fs::read(&path).unwrap(), before);
        assert!(why.contains("newer") || !beside(&path, ".owners").exists(), "nothing is made beside it");
    }
    let missing = SqliteJournal::open_with(directory.path("none.sqlite"), options(|options| options.read_only = true)).unwrap_err();
    assert_eq!(missing.kind, JournalErrorKind::Unreadable);
    assert!(!directory.path("none.sqlite").exists());
}

#[tokio::test]
async fn who_only_reads_writes_nothing() {
    let directory = Directory::new("reading");
    let path = directory.path("j.sqlite");
    let journal = fast(&path);
    let run = open(&journal, "r1").await;
    send(&run, "main/0:a").await;
    let reader = read_only(&path);
    assert_eq!(reader.load("r1").get().await.unwrap(), journal.load("r1").get().await.unwrap());
    assert_eq!(claim(&reader, "r2").await.map(|_| ()).unwrap_err().kind, JournalErrorKind::Unwritable);
    assert!(reader.prune(&toolwright_sqlite::Prune::default()).is_err());
    assert_eq!(reader.runs(&toolwright_sqlite::RunFilter::default()).unwrap().len(), 1);
}

async fn open_new(journal: &SqliteJournal, id: &str) -> Run {
    let Eventually::Now(opened) = journal.open_new(record(id), Claim::new("test")) else { panic!("somebody would have to wait") };
    opened.unwrap()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_run_of_a_drawn_id_is_kept_as_any_other_and_nobody_waits_for_it_to_be_opened() {
    let directory = Directory::new("drawn");
    let path = directory.path("j.sqlite");
    let journal = fast(&path);
    let tasks: Vec<_> = (0..50)
        .map(|number| {
            let journal = journal.clone();
            tokio::spawn(async move {
                let run = open_new(&journal, &format!("r{number}")).await;
                begin(&run, "main/0:a", Impact::None, json!({})).await;
                sent(&run, "main/0:a", json!(number)).await;
                assert!(matches!(send(&run, "main/1:b").await, Admission::Proceed { attempt: 1 }));
                // The intent is on the disk, and so is everything before it.
                let history = journal.load(&format!("r{number}")).get().await.unwrap().unwrap();
                assert_eq!(history.records.len(), 3);
                sent(&run, "main/1:b", json!(number)).await;
                run.end(End::ok()).get().await.unwrap();
            })
        })
        .collect();
    for task in tasks {
        task.await.unwrap();
    }
    assert_eq!(journal.unfinished().get().await.unwrap().len(), 0);
    // What is opened again is a second claim, whose first is over.
    let again = open(&journal, "r7").await;
    assert_eq!(again.epoch(), 2);
    assert!(matches!(send(&again, "main/1:b").await, Admission::Replay(_)));
    let late = open_new(&journal, "unended").await;
    drop((late, again, journal));
    let found = fast(&path).verify().unwrap();
    assert_eq!((found.runs, found.wrong), (51, Vec::new()));
}

#[tokio::test]
async fn an_id_that_was_drawn_and_is_there_all_the_same_writes_nothing_and_says_so() {
    let directory = Directory::new("drawn-twice");
    let journal = fast(&directory.path("j.sqlite"));
    let first = open(&journal, "r1").await;
    assert!(matches!(send(&first, "main/0:a").await, Admission::Proceed { attempt: 1 }));
    let second = open_new(&journal, "r1").await;
    let begun = second.begin(intent("main/0:a", Impact::Once, json!({}))).get().await;
    assert_eq!(begun.unwrap_err().kind, JournalErrorKind::Diverged);
    assert_eq!(second.end(End::ok()).get().await.unwrap_err().kind, JournalErrorKind::Diverged);
    drop(second);
    // The one who was first goes on, and what stands there is only its own.
    sent(&first, "main/0:a", json!(1)).await;
    first.end(End::ok()).get().await.unwrap();
    assert_eq!(journal.load("r1").get().await.unwrap().unwrap().records.len(), 3);
    assert_eq!(journal.verify().unwrap().wrong, Vec::new());
}

#[tokio::test]
async fn where_there_is_no_room_a_run_of_a_drawn_id_does_not_take_others_with_it() {
    let directory = Directory::new("drawn-full");
    let path = directory.path("j.sqlite");
    let journal = SqliteJournal::open_with(&path, options(|options| options.bytes_max = Some(300_000))).unwrap();
    let small = open(&journal, "small").await;
    let mut large = record("large");
    large.input = json!("x".repeat(1_000_000));
    let Eventually::Now(Ok(large)) = journal.open_new(large, Claim::new("test")) else { panic!("nobody waits") };
    let (end, begun) = tokio::join!(async { large.end(End::ok()).get().await }, async {
        small.begin(intent("main/0:a", Impact::Once, json!({}))).get().await
    });
    assert_eq!(end.unwrap_err().kind, JournalErrorKind::Unwritable);
    assert!(matches!(begun, Ok(Admission::Proceed { attempt: 1 })));
    assert!(journal.load("large").get().await.unwrap().is_none());
}

#[tokio::test]
async fn a_run_that_could_not_be_written_lets_go_of_nobody_elses_claim() {
    let directory = Directory::new("drawn-undone");
    let path = directory.path("j.sqlite");
    let journal = SqliteJournal::open_with(&path, options(|options| options.bytes_max = Some(300_000))).unwrap();
    let other = open(&journal, "other").await;
    // Somebody else writes, so that the writer stands still with one record in its hand, and all that follows is written together.
    let elsewhere = rusqlite::Connection::open(&path).unwrap();
    elsewhere.execute_batch("BEGIN IMMEDIATE").unwrap();
    begin(&other, "main/0:a", Impact::None, json!({})).await;
    tokio::time::sleep(std::time::Duration::from_millis(50)).await;
    // Its first record has room, and the transaction that it shares with a large outcome does not.
    let undone = open_new(&journal, "undone").await;
    begin(&undone, "main/0:a", Impact::None, json!({})).await;
    sent(&undone, "main/0:a", json!("x".repeat(1_000_000))).await;
    let end = undone.end(End::ok());
    elsewhere.execute_batch("COMMIT").unwrap();
    assert_eq!(end.get().await.unwrap_err().kind, JournalErrorKind::Unwritable);
    assert!(journal.load("undone").get().await.unwrap().is_none());
    // Who comes next gets the key that the other had for a moment.
    let next = open_new(&journal, "next").await;
    assert!(matches!(send(&next, "main/0:b").await, Admission::Proceed { attempt: 1 }));
    drop(undone);
    journal.flush().unwrap();
    let said = Resolution::new("anna", Verdict::NotHappened);
    let refused = journal.resolve("next", "main/0:b", said).get().await.unwrap_err();
    assert_eq!(refused.kind, JournalErrorKind::Claimed, "{refused}");
    let held: Vec<i64> = {
        let connection = rusqlite::Connection::open(&path).unwrap();
        let mut claims = connection.prepare("SELECT held FROM claims").unwrap();
        claims.query_map([], |row| row.get(0)).unwrap().map(Result::unwrap).collect()
    };
    assert_eq!(held, [1, 1]);
}

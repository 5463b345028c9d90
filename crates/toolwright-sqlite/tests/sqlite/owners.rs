//! Who holds a run: two journals on one file, in one process and in two.

use std::io::{BufRead as _, BufReader};
use std::process::{Child, Command, Stdio};

use toolwright::journal::{JournalErrorKind, Resolution, Verdict};

use crate::*;

const CHILD: &str = "TOOLWRIGHT_TEST_CHILD";

/// The other process: begins a call and never ends. Only when a test starts it.
#[test]
fn other_process() {
    let Ok(path) = std::env::var(CHILD) else { return };
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    runtime.block_on(async {
        let journal = SqliteJournal::open(path).unwrap();
        let run = open(&journal, "r1").await;
        send(&run, "main/0:a").await;
        println!("\nit began");
        std::thread::sleep(std::time::Duration::from_secs(60));
        drop(run);
    });
}

fn other(path: &Path) -> Child {
    let program = std::env::current_exe().unwrap();
    let mut child = Command::new(program)
        .args(["--exact", "owners::other_process", "--nocapture"])
        .env(CHILD, path)
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let lines = BufReader::new(child.stdout.take().unwrap()).lines();
    assert!(lines.map_while(Result::ok).any(|line| line == "it began"));
    child
}

#[tokio::test]
async fn a_run_of_another_process_is_its_own_until_that_ends() {
    let directory = Directory::new("process");
    let path = directory.path("j.sqlite");
    let mut child = other(&path);
    let journal = SqliteJournal::open(&path).unwrap();
    assert_eq!(claim(&journal, "r1").await.map(|_| ()).unwrap_err().kind, JournalErrorKind::Claimed);
    let said = journal.resolve("r1", "main/0:a", Resolution::new("anna", Verdict::NotHappened)).get().await;
    assert_eq!(said.unwrap_err().kind, JournalErrorKind::Claimed, "its effect may still come");
    child.kill().unwrap();
    child.wait().unwrap();
    let run = open(&journal, "r1").await;
    assert_eq!(run.epoch(), 2);
    let Admission::InDoubt(doubt) = send(&run, "main/0:a").await else { panic!("nobody knows whether it was sent") };
    assert!(!doubt.at_work);
    // Somebody answers by way of another process.
    let another = SqliteJournal::open(&path).unwrap();
    another.resolve("r1", "main/0:a", Resolution::new("anna", Verdict::NotHappened)).get().await.unwrap();
    assert_eq!(send(&run, "main/0:a").await, Admission::Proceed { attempt: 2 });
    sent(&run, "main/0:a", json!("sent")).await;
    journal.flush().unwrap();
    assert_eq!(another.load("r1").get().await.unwrap(), journal.load("r1").get().await.unwrap());
    assert_eq!(journal.verify().unwrap().wrong, Vec::new());
}

#[tokio::test]
async fn two_journals_on_one_file_see_each_other() {
    let directory = Directory::new("two");
    let path = directory.path("j.sqlite");
    let (one, two) = (fast(&path), fast(&path));
    let first = open(&one, "r1").await;
    send(&first, "main/0:a").await;
    assert_eq!(claim(&two, "r1").await.map(|_| ()).unwrap_err().kind, JournalErrorKind::Claimed);
    // Other runs are free, and both write in turns.
    for number in 0..20 {
        let (one, two) = (open(&one, &format!("a{number}")).await, open(&two, &format!("b{number}")).await);
        assert_eq!(send(&one, "main").await, Admission::Proceed { attempt: 1 });
        assert_eq!(send(&two, "main").await, Admission::Proceed { attempt: 1 });
    }
    // Who lets a run go needs no end for that.
    drop(first);
    one.flush().unwrap();
    let second = open(&two, "r1").await;
    assert!(matches!(send(&second, "main/0:a").await, Admission::InDoubt(doubt) if !doubt.at_work));
    assert_eq!(two.verify().unwrap().wrong, Vec::new());
}

#[tokio::test]
async fn of_two_that_claim_at_once_one_gets_it() {
    let directory = Directory::new("race");
    let path = directory.path("j.sqlite");
    let (one, two) = (fast(&path), fast(&path));
    for number in 0..200 {
        let id = format!("r{number}");
        let (first, second) = std::thread::scope(|scope| {
            let of = |journal: SqliteJournal, id: &str| {
                let id = id.to_owned();
                let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
                scope.spawn(move || runtime.block_on(claim(&journal, &id)))
            };
            let (first, second) = (of(one.clone(), &id), of(two.clone(), &id));
            (first.join().unwrap(), second.join().unwrap())
        });
        assert!(first.is_ok() != second.is_ok(), "{number}");
        let error = first.err().or(second.err()).unwrap();
        assert_eq!(error.kind, JournalErrorKind::Claimed, "{error}");
    }
}

#[tokio::test]
async fn a_lease_holds_also_after_its_owner_ended() {
    let directory = Directory::new("lease");
    let path = directory.path("j.sqlite");
    let lease = |owner: &str, at: u64| Claim::new(owner).until(toolwright::Timestamp(at), std::time::Duration::from_nanos(10));
    let journal = fast(&path);
    drop(journal.open(record("r1"), lease("one", 100)).get().await.unwrap());
    drop(journal);
    let journal = fast(&path);
    let early = journal.open(record("r1"), lease("two", 105)).get().await;
    assert_eq!(early.map(|_| ()).unwrap_err().kind, JournalErrorKind::Claimed);
    assert_eq!(journal.open(record("r1"), lease("two", 110)).get().await.unwrap().epoch(), 2);
}

#[cfg(unix)]
#[tokio::test]
async fn one_journal_under_two_names_is_one_journal() {
    let directory = Directory::new("names");
    let (file, link) = (directory.path("file.sqlite"), directory.path("link.sqlite"));
    let first = SqliteJournal::open(&file).unwrap();
    let run = open(&first, "r1").await;
    send(&run, "main/0:a").await;
    std::os::unix::fs::symlink(&file, &link).unwrap();
    let second = SqliteJournal::open(&link).unwrap();
    let claimed = second.open(RunRecord::new("r1", "main", json!({"topic": "ducks"})), Claim::new("two")).get().await;
    assert_eq!(claimed.map(|_| ()).unwrap_err().kind, toolwright::journal::JournalErrorKind::Claimed);
    assert!(!beside(&link, ".owners").exists());
}

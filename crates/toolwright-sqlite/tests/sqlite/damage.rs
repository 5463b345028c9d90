//! What a damaged file says, and what can still be read of it.

use std::collections::HashSet;

use toolwright::journal::{End, JournalErrorKind};

use crate::*;

/// A journal as a kill leaves it: copied while it is open. Two runs, the second without an end.
async fn killed(directory: &Directory, name: &str) -> PathBuf {
    let (path, copy) = (directory.path(&format!("{name}-live.sqlite")), directory.path(&format!("{name}.sqlite")));
    let journal = SqliteJournal::open(&path).unwrap();
    for id in ["r1", "r2"] {
        let run = open(&journal, id).await;
        for step in 0..4 {
            send(&run, &format!("main/{step}:a")).await;
            sent(&run, &format!("main/{step}:a"), json!({ "text": "Grüße 👍", "n": step, "long": "x".repeat(20_000) })).await;
        }
        if id == "r1" {
            run.end(End::ok()).get().await.unwrap();
        } else {
            send(&run, "main/9:z").await;
            std::fs::copy(&path, &copy).unwrap();
            std::fs::copy(beside(&path, "-wal"), beside(&copy, "-wal")).unwrap();
            copy_owners(&path, &copy);
        }
    }
    copy
}

fn copy_owners(from: &Path, to: &Path) {
    let owners = beside(to, ".owners");
    std::fs::create_dir_all(&owners).unwrap();
    for entry in std::fs::read_dir(beside(from, ".owners")).unwrap() {
        let entry = entry.unwrap();
        std::fs::copy(entry.path(), owners.join(entry.file_name())).unwrap();
    }
}

/// The same files under another name.
pub(crate) fn copy(from: &Path, to: &Path) {
    for ending in ["", "-wal"] {
        if beside(from, ending).exists() {
            std::fs::copy(beside(from, ending), beside(to, ending)).unwrap();
        }
    }
    copy_owners(from, to);
}

fn lines(text: &str) -> Vec<&str> {
    text.lines().collect()
}

#[tokio::test]
async fn a_log_that_is_cut_loses_nothing_without_a_word() {
    let directory = Directory::new("cut");
    let whole = killed(&directory, "whole").await;
    let log = std::fs::read(beside(&whole, "-wal")).unwrap();
    let all = exported(&read_only(&whole));
    let all = lines(&all);
    let frame = 24 + 4_096;
    let mut offsets: Vec<usize> =
        (0..log.len() / frame).flat_map(|frame_at| [0, 1, 12, 30, 2_000].map(|inside| 32 + frame_at * frame + inside)).collect();
    offsets.extend([0, 1, 31, 32, log.len() - 1, log.len()]);
    let (mut whole_ones, mut seen) = (0, HashSet::new());
    for (number, offset) in offsets.into_iter().enumerate() {
        let path = directory.path(&format!("cut{number}.sqlite"));
        copy(&whole, &path);
        std::fs::write(beside(&path, "-wal"), &log[..offset.min(log.len())]).unwrap();
        // Whoever only reads gets the records up to some place, each as it was.
        let reader = read_only(&path);
        let there = exported(&reader);
        let there = lines(&there);
        assert_eq!(there, all[..there.len()], "at {offset}");
        seen.insert(there.len());
        let wrong = reader.verify().unwrap().wrong;
        drop(reader);
        if there.len() == all.len() {
            assert_eq!(wrong, Vec::new(), "at {offset}");
            whole_ones += 1;
        } else {
            assert!(wrong.iter().any(|wrong| wrong.what.contains("were on the disk, and it ends with")), "at {offset}: {wrong:?}");
            let before = std::fs::read(&path).unwrap();
            let error = SqliteJournal::open(&path).unwrap_err();
            assert_eq!(error.kind, JournalErrorKind::Corrupt, "at {offset}");
            assert!(std::fs::read(&path).unwrap() == before, "at {offset}: it is left as it is");
            // Who says that it may go on goes on, and the damaged file is kept.
            let journal = SqliteJournal::open_with(&path, options(|options| options.accept_loss = true)).unwrap();
            assert!(beside(&path, ".damaged-1").exists());
            drop(open(&journal, "next").await);
            drop(journal);
        }
        let journal = SqliteJournal::open(&path).unwrap();
        assert_eq!(lines(&exported(&journal))[..there.len()], all[..there.len()], "at {offset}");
        assert_eq!(journal.verify().unwrap().wrong, Vec::new(), "at {offset}");
        drop(journal);
    }
    assert!(whole_ones >= 1 && seen.len() > 8, "{whole_ones} {seen:?}");
}

/// Bytes at many places are changed, in the file and in the log: then either somebody is told, or nothing is lost.
#[tokio::test]
async fn changed_bytes_are_found_or_change_nothing() {
    let directory = Directory::new("flip");
    let log_only = killed(&directory, "log").await;
    let copied = directory.path("copied.sqlite");
    copy(&log_only, &copied);
    // Everything in the file itself.
    drop(SqliteJournal::open(&copied).unwrap());
    rusqlite::Connection::open(&copied).unwrap().query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(())).unwrap();
    for (from, ending) in [(&log_only, "-wal"), (&copied, "")] {
        let all = exported(&read_only(from));
        let file = std::fs::read(beside(from, ending)).unwrap();
        let (mut found, mut harmless) = (0, 0);
        for number in 0..120 {
            let at = (number * 7_919 + 13) % file.len();
            let path = directory.path(&format!("flip{ending}{number}.sqlite"));
            copy(from, &path);
            let mut bytes = file.clone();
            if number % 3 == 0 {
                let until = (at + 64).min(bytes.len());
                bytes[at..until].fill(0);
            } else {
                bytes[at] ^= 1 << (number % 8);
            }
            std::fs::write(beside(&path, ending), &bytes).unwrap();
            let told = match SqliteJournal::open(&path) {
                Err(error) => {
                    assert_eq!(error.kind, JournalErrorKind::Corrupt, "at {at} of `{ending}`: {error}");
                    true
                }
                Ok(journal) => journal.verify().map_or(true, |found| !found.wrong.is_empty()),
            };
            if told {
                found += 1;
                // What is damaged can be looked at as far as it can be read.
                if let Ok(reader) = SqliteJournal::open_with(&path, options(|options| options.read_only = true)) {
                    let _ = reader.export(None, &mut Vec::new());
                }
            } else {
                harmless += 1;
                assert_eq!(exported(&read_only(&path)), all, "at {at} of `{ending}`");
            }
        }
        assert!(found > 20, "{found} found, {harmless} harmless in `{ending}`");
    }
}

#[tokio::test]
async fn a_file_that_is_cut_or_gone_is_refused() {
    let directory = Directory::new("short");
    let whole = killed(&directory, "whole").await;
    drop(SqliteJournal::open(&whole).unwrap());
    rusqlite::Connection::open(&whole).unwrap().query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(())).unwrap();
    let file = std::fs::read(&whole).unwrap();
    for bytes in [0, 50, 100, 4_096, 9_000, file.len() / 2, file.len() - 4_096, file.len() - 1] {
        let path = directory.path(&format!("{bytes}.sqlite"));
        copy(&whole, &path);
        std::fs::write(&path, &file[..bytes]).unwrap();
        let error = SqliteJournal::open(&path).unwrap_err();
        assert_eq!(error.kind, JournalErrorKind::Corrupt, "{bytes}: {error}");
        assert_eq!(std::fs::read(&path).unwrap(), &file[..bytes]);
    }
    std::fs::remove_file(&whole).unwrap();
    let error = SqliteJournal::open(&whole).unwrap_err();
    assert!(error.kind == JournalErrorKind::Corrupt && error.reason.contains("it is gone"), "{error}");
}

/// Somebody changes records by hand: SQLite finds nothing wrong, the chain does.
#[tokio::test]
async fn records_that_were_changed_or_taken_out_are_found() {
    let changes = [
        ("UPDATE events SET body = replace(body, 'Grüße', 'Hallo') WHERE id = 3", true),
        ("UPDATE events SET kind = 5 WHERE id = 3", true),
        ("UPDATE events SET epoch = 2 WHERE id = 3", true),
        ("UPDATE events SET tool = 'read' WHERE id = 3", true),
        ("DELETE FROM events WHERE id = 3", true),
        ("DELETE FROM events WHERE run = 2 AND seq = 9", true),
        ("DELETE FROM events WHERE run = 2", true),
        ("DELETE FROM runs WHERE key = 1; DELETE FROM events WHERE run = 1", false),
        ("DELETE FROM runs WHERE key = 2; DELETE FROM events WHERE run = 2", false),
        ("UPDATE runs SET open = 0 WHERE key = 2", true),
        ("UPDATE runs SET id = 'r3' WHERE key = 2", false),
        ("UPDATE runs SET count = 4 WHERE key = 1", true),
        ("UPDATE blobs SET body = replace(body, 'xx', 'xy')", false),
        ("DELETE FROM blobs", false),
    ];
    let directory = Directory::new("changed");
    let whole = killed(&directory, "whole").await;
    for (number, (change, breaks)) in changes.into_iter().enumerate() {
        let path = directory.path(&format!("{number}.sqlite"));
        copy(&whole, &path);
        rusqlite::Connection::open(&path).unwrap().execute_batch(change).unwrap();
        let reader = read_only(&path);
        let wrong = reader.verify().unwrap().wrong;
        assert!(!wrong.is_empty(), "{change}");
        let (one, two) = (reader.load("r1").get().await, reader.load("r2").get().await);
        let refused = [one, two].into_iter().filter_map(Result::err).all(|error| error.kind == JournalErrorKind::Corrupt);
        assert!(refused, "{change}");
        let _ = exported(&reader);
        drop(reader);
        if breaks {
            let journal = SqliteJournal::open_with(&path, options(|options| options.accept_loss = true)).unwrap();
            let both = [claim(&journal, "r1").await, claim(&journal, "r2").await];
            assert!(both.into_iter().any(|run| run.is_err_and(|error| error.kind == JournalErrorKind::Corrupt)), "{change}");
        }
    }
}

/// Whoever takes the file away under a journal at work hears of it before an effect happens that nobody would know of.
#[cfg(unix)]
#[tokio::test]
async fn a_file_that_is_taken_away_takes_nothing_more() {
    let directory = Directory::new("away");
    let path = directory.path("j.sqlite");
    let journal = SqliteJournal::open(&path).unwrap();
    let run = open(&journal, "r1").await;
    send(&run, "main/0:a").await;
    std::fs::remove_file(&path).unwrap();
    let error = run.begin(intent("main/1:b", toolwright::Impact::Once, json!({}))).get().await.unwrap_err();
    assert_eq!(error.kind, JournalErrorKind::Unwritable, "{error}");
    assert!(error.reason.contains("was taken away or replaced"), "{error}");
}

#[tokio::test]
async fn who_only_reads_is_told_what_is_gone() {
    let directory = Directory::new("gone");
    let whole = killed(&directory, "whole").await;
    assert_eq!(read_only(&whole).intact(), Ok(()));
    std::fs::remove_file(beside(&whole, "-wal")).unwrap();
    assert_eq!(read_only(&whole).intact().unwrap_err().kind, JournalErrorKind::Corrupt);
}

//! The field case about a journal that was cut off; `docs/field-cases.md` says which case is which test.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use toolwright::journal::JournalErrorKind;
use toolwright::{Catalog, Composite, CompositeSpec, Invocation, Policy, Registry, ResumeOptions, Value, json, tool};

use crate::damage::copy;
use crate::*;

const CASE: &str = include_str!("../cases/field/57-torn-journal-tail.json");

/// The tool and the composite of the case; how often the tool ran, and what to do when it does for the third time.
fn process(case: &Value, third: impl Fn() + Send + Sync + 'static) -> (Catalog, Arc<AtomicU32>) {
    let (runs, output) = (Arc::new(AtomicU32::new(0)), case.pointer("/tools/0/output").unwrap().clone());
    let counted = runs.clone();
    let s = tool("s", "Gives a text").reads().run_json(move |_, _call| {
        if counted.fetch_add(1, Ordering::SeqCst) == 2 {
            third();
        }
        std::future::ready(Ok(output.clone()))
    });
    let spec = CompositeSpec::from_value(case.get("composition").unwrap()).unwrap();
    let registry = Registry::with_policy(Policy::new()).with(s).unwrap();
    (registry.with(Composite::new("main", "The case").spec(spec)).unwrap().seal(), runs)
}

async fn resumed(catalog: &Catalog, journal: SqliteJournal) -> Result<Value, String> {
    let journal: Arc<dyn Journal> = Arc::new(journal);
    let result = catalog.resume_run(&journal, "r1", (), ResumeOptions::new()).await.map_err(|error| error.to_string())?;
    result.output.ok_or_else(|| "no output".to_owned())
}

#[tokio::test]
async fn c57_a_journal_that_was_cut_off_goes_on_and_a_damaged_one_says_where() {
    let case = Value::parse(CASE).unwrap();
    let output = case.pointer("/tools/0/output").unwrap();
    let directory = Directory::new("c57");
    // As a kill in the third step leaves it: copied while that step is at work.
    let (live, whole) = (directory.path("live.sqlite"), directory.path("whole.sqlite"));
    let journal = SqliteJournal::open(&live).unwrap();
    let (flushed, from, to) = (journal.clone(), live.clone(), whole.clone());
    let (catalog, _) = process(&case, move || {
        flushed.flush().unwrap();
        copy(&from, &to);
    });
    let first = Invocation::new("main", json!({})).run_id("r1").journal(Arc::new(journal.clone()));
    assert_eq!(catalog.invoke(first, ()).await.unwrap().output.as_ref(), Some(output));
    drop(journal);
    let all = exported(&read_only(&whole));
    let log = std::fs::read(beside(&whole, "-wal")).unwrap();
    let (frame, mut refused, mut again) = (24 + 4_096, 0, 0);
    for (number, cut) in (1..=frame).step_by(61).enumerate() {
        let path = directory.path(&format!("cut{number}.sqlite"));
        copy(&whole, &path);
        std::fs::write(beside(&path, "-wal"), &log[..log.len() - cut]).unwrap();
        let there = exported(&read_only(&path));
        assert!(all.starts_with(&there), "what is read is what was written, {cut} bytes before the end");
        let (catalog, runs) = process(&case, || {});
        let opened = match SqliteJournal::open(&path) {
            Ok(journal) => journal,
            Err(error) => {
                // It was on the disk once: somebody has to say that the run may go on without it.
                assert_eq!((error.kind, runs.load(Ordering::SeqCst)), (JournalErrorKind::Corrupt, 0), "{error}");
                refused += 1;
                let journal = SqliteJournal::open_with(&path, options(|options| options.accept_loss = true)).unwrap();
                assert!(beside(&path, ".damaged-1").exists(), "what was cut is kept aside");
                journal
            }
        };
        assert_eq!(resumed(&catalog, opened).await.as_ref(), Ok(output), "{cut} bytes before the end");
        again += runs.load(Ordering::SeqCst);
        // What was written after that is there after another start, and nothing runs any more.
        let before = runs.load(Ordering::SeqCst);
        assert_eq!(resumed(&catalog, SqliteJournal::open(&path).unwrap()).await.as_ref(), Ok(output));
        assert_eq!(runs.load(Ordering::SeqCst), before);
    }
    assert!(refused > 0 && again > 0, "{refused} refused, {again} steps ran again");

    // Bytes in the middle: the place is told, and nothing runs.
    let path = directory.path("middle.sqlite");
    copy(&whole, &path);
    let mut bytes = log.clone();
    let middle = 32 + (bytes.len() - 32) / frame / 2 * frame + 24;
    bytes[middle..middle + 2_000].fill(0);
    std::fs::write(beside(&path, "-wal"), &bytes).unwrap();
    let (_, runs) = process(&case, || {});
    let error = SqliteJournal::open(&path).unwrap_err();
    assert_eq!((error.kind, runs.load(Ordering::SeqCst)), (JournalErrorKind::Corrupt, 0), "{error}");
    assert!(error.to_string().chars().any(|c| c.is_ascii_digit()), "it says where: {error}");
}

//! The journal in a file: everything that a journal must do, and what only a file can go through.

#![expect(clippy::unwrap_used, clippy::panic, reason = "helpers of tests fail loudly")]

mod conformance;
mod damage;
mod field;
mod listing;
mod owners;
mod pruning;
mod writing;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use toolwright::journal::{Admission, Begin, Claim, Finish, RunJournal, RunRecord, StepKey};
use toolwright::{EffectState, Impact, Journal, JournalError, Value, json};
use toolwright_sqlite::{SqliteJournal, SqliteOptions, Synchronous};

/// A directory of a test's own.
struct Directory(PathBuf);

impl Directory {
    fn new(name: &str) -> Self {
        let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("{name}-{}", std::process::id()));
        let _ = std::fs::remove_dir_all(&path);
        std::fs::create_dir_all(&path).unwrap();
        Self(path)
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }
}

impl Drop for Directory {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

type Run = Arc<dyn RunJournal>;

fn options(change: impl FnOnce(&mut SqliteOptions)) -> SqliteOptions {
    let mut options = SqliteOptions::default();
    change(&mut options);
    options
}

/// What does not depend on how long the disk takes.
fn fast(path: &Path) -> SqliteJournal {
    SqliteJournal::open_with(path, options(|options| options.synchronous = Synchronous::Normal)).unwrap()
}

fn read_only(path: &Path) -> SqliteJournal {
    SqliteJournal::open_with(path, options(|options| options.read_only = true)).unwrap()
}

fn record(id: &str) -> RunRecord {
    RunRecord::new(id, "main", json!({ "topic": "ducks" }))
}

async fn claim(journal: &SqliteJournal, id: &str) -> Result<Run, JournalError> {
    journal.open(record(id), Claim::new("test")).get().await
}

async fn open(journal: &SqliteJournal, id: &str) -> Run {
    claim(journal, id).await.unwrap()
}

fn key(path: &str) -> StepKey {
    StepKey::written(path, "send")
}

fn intent(path: &str, impact: Impact, input: Value) -> Begin {
    Begin::new(key(path), Some(impact), input)
}

async fn begin(run: &Run, path: &str, impact: Impact, input: Value) -> Admission {
    run.begin(intent(path, impact, input)).get().await.unwrap()
}

/// The intent of a call that may not run twice.
async fn send(run: &Run, path: &str) -> Admission {
    begin(run, path, Impact::Once, json!({ "to": "a" })).await
}

async fn sent(run: &Run, path: &str, output: Value) {
    run.finish(Finish::ok(key(path), Some(output), EffectState::Happened)).get().await.unwrap();
}

fn bytes(path: &Path) -> u64 {
    path.metadata().map_or(0, |metadata| metadata.len())
}

fn beside(path: &Path, ending: &str) -> PathBuf {
    PathBuf::from(format!("{}{ending}", path.display()))
}

fn exported(journal: &SqliteJournal) -> String {
    let mut out = Vec::new();
    journal.export(None, &mut out).unwrap();
    String::from_utf8(out).unwrap()
}

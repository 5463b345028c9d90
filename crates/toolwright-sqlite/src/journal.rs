//! The journal itself.

use std::path::Path;
use std::sync::Arc;

use toolwright::journal::{Claim, Resolution, RunHistory, RunJournal, RunRecord};
use toolwright::{Eventually, Journal, JournalError, Text};

use crate::view::{Prune, Pruned, RunFilter, RunSummary, Verification};

/// How hard a commit is pressed onto the disk.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Synchronous {
    /// Survives the loss of power.
    #[default]
    Full,
    /// Survives the end of the process, not always the loss of power.
    Normal,
}

/// How a journal is opened.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct SqliteOptions {
    /// How hard a commit is pressed onto the disk.
    pub synchronous: Synchronous,
    /// The file may become at most so large, in bytes.
    pub bytes_max: Option<u64>,
    /// Nothing is written; a file that is not there is not made.
    pub read_only: bool,
}

/// A journal in a SQLite file. Clones share it.
#[derive(Clone, Debug)]
pub struct SqliteJournal {}

fn not_yet() -> JournalError {
    JournalError::unwritable("this journal is not there yet")
}

impl SqliteJournal {
    /// Opens the file, or makes it.
    ///
    /// # Errors
    /// When it cannot be read or written, is damaged, or was written by a newer version.
    pub fn open(path: impl AsRef<Path>) -> Result<Self, JournalError> {
        Self::open_with(path, SqliteOptions::default())
    }

    /// Opens the file in this way.
    ///
    /// # Errors
    /// As [`SqliteJournal::open`].
    pub fn open_with(path: impl AsRef<Path>, options: SqliteOptions) -> Result<Self, JournalError> {
        let _ = (path.as_ref(), options);
        Err(not_yet())
    }

    /// Its runs, the newest first. Blocks while the file is read.
    ///
    /// # Errors
    /// When it cannot be read.
    pub fn runs(&self, filter: &RunFilter) -> Result<Vec<RunSummary>, JournalError> {
        let _ = filter;
        Err(not_yet())
    }

    /// Looks whether every record is there as it was written. Blocks while the file is read.
    ///
    /// # Errors
    /// When it cannot be read at all.
    pub fn verify(&self) -> Result<Verification, JournalError> {
        Err(not_yet())
    }

    /// Every record that can be read, as JSON, one a line, in the order of writing; a run's, or all. Blocks.
    ///
    /// # Errors
    /// When it cannot be read at all, or `out` says no.
    pub fn export(&self, run: Option<&str>, out: &mut dyn std::io::Write) -> Result<(), JournalError> {
        let _ = (run, out);
        Err(not_yet())
    }

    /// Takes runs out. Blocks.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn prune(&self, what: &Prune) -> Result<Pruned, JournalError> {
        let _ = what;
        Err(not_yet())
    }
}

impl Journal for SqliteJournal {
    fn open(&self, run: RunRecord, claim: Claim) -> Eventually<'_, Result<Arc<dyn RunJournal>, JournalError>> {
        let _ = (run, claim);
        Eventually::Now(Err(not_yet()))
    }

    fn load(&self, run: &str) -> Eventually<'_, Result<Option<RunHistory>, JournalError>> {
        let _ = run;
        Eventually::Now(Err(not_yet()))
    }

    fn resolve(&self, run: &str, path: &str, resolution: Resolution) -> Eventually<'_, Result<(), JournalError>> {
        let _ = (run, path, resolution);
        Eventually::Now(Err(not_yet()))
    }

    fn unfinished(&self) -> Eventually<'_, Result<Vec<Text>, JournalError>> {
        Eventually::Now(Err(not_yet()))
    }
}

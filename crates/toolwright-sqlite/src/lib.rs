//! The journal port over a SQLite file: what a run did is on the disk before anything depends on it, so that a run that
//! was killed goes on without repeating a side effect.
//!
//! [`SqliteJournal`] is the journal. It must not know what a tool is: it keeps records, and decides by the core's rules.

mod answer;
mod blob;
mod export;
mod fault;
mod format;
mod journal;
mod list;
mod opening;
mod owner;
mod prune;
mod read;
mod record;
mod run;
mod torn;
mod verify;
mod view;
mod wire;
mod writer;

#[doc(hidden)]
pub use fault::FAULT_POINTS;

pub use journal::{SqliteJournal, SqliteOptions, Synchronous};
pub use view::{Open, Prune, Pruned, Question, RunFilter, RunStatus, RunSummary, Verification, Wrong};

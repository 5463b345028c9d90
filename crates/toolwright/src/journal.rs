//! The journal port: an intent is written before a tool starts and its outcome
//! before anyone sees it. The core writes; where it is kept is the host's choice.
//!
//! INVARIANT: a step's key is its path in the run, never a counter, so a second
//! attempt at the same run asks for the same keys.

use std::sync::{Arc, Mutex, PoisonError};

use crate::frame::{PathNode, Timestamp};
use crate::schema::Repair;
use crate::tool::{BoxFuture, Impact};
use crate::value::{Text, Value};

/// A result that is there already, or comes later. Spares a boxed future where nothing waits.
pub enum Eventually<'a, T> {
    /// Here it is.
    Now(T),
    /// It comes.
    Later(BoxFuture<'a, T>),
}

impl<T: std::fmt::Debug> std::fmt::Debug for Eventually<'_, T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Now(value) => f.debug_tuple("Now").field(value).finish(),
            Self::Later(_) => f.write_str("Later"),
        }
    }
}

impl<T> Eventually<'_, T> {
    /// Waits if it must.
    pub async fn get(self) -> T {
        match self {
            Self::Now(value) => value,
            Self::Later(future) => future.await,
        }
    }
}

/// The journal cannot be written.
#[derive(Clone, Debug, thiserror::Error)]
#[error("the journal cannot be written: {reason}")]
pub struct JournalError {
    /// Why, in words.
    pub reason: String,
}

/// Where runs are kept.
pub trait Journal: Send + Sync {
    /// Opens the journal of one run before anything of it runs.
    ///
    /// # Errors
    /// [`JournalError`] ends the run before it starts.
    fn open(&self, run: RunRecord) -> Result<Arc<dyn RunJournal>, JournalError>;
}

/// The journal of one run.
pub trait RunJournal: Send + Sync {
    /// Writes the intent of one call. The tool does not start before this is done, and not at all when it fails.
    fn begin(&self, record: Begin) -> Eventually<'_, Result<(), JournalError>>;
    /// Writes the outcome of one call. Nobody sees the outcome before this is done.
    fn finish(&self, record: Finish) -> Eventually<'_, Result<(), JournalError>>;
    /// A call's future was dropped after its intent was written and before its outcome was: what it did is not known.
    fn abandoned(&self, key: &StepKey) {
        let _ = key;
    }
    /// The run is over.
    fn end(&self, ok: bool) -> Eventually<'_, Result<(), JournalError>> {
        let _ = ok;
        Eventually::Now(Ok(()))
    }
}

/// What is known of a run when it starts.
#[derive(Clone, Debug)]
pub struct RunRecord {
    /// The run's id.
    pub id: Text,
    /// The root tool's name.
    pub tool: Text,
    /// The root input.
    pub input: Value,
    /// How many calls the run will have as far as that is known: the root and its steps, without those of nested composites.
    pub calls: usize,
}

/// A call's place in its run. Turns into text only when somebody asks.
#[derive(Clone, Debug)]
pub struct StepKey {
    pub(crate) node: Arc<PathNode>,
    pub(crate) step: u32,
}

impl StepKey {
    /// `research/0:search`
    pub fn path(&self) -> String {
        self.node.path(self.step)
    }

    /// Name of the called tool.
    pub fn tool(&self) -> &str {
        self.node.names.step(self.step).map_or("", |step| step.tool.as_str())
    }
}

/// The intent of one call.
#[derive(Clone, Debug)]
pub struct Begin {
    /// Where.
    pub key: StepKey,
    /// What a second run would do; `None` when the tool declares nothing.
    pub impact: Option<Impact>,
    /// The arguments as they are sent.
    pub input: Value,
    /// What was changed in the arguments as received, usually nothing.
    pub repairs: Vec<Repair>,
    /// When, if there is a clock.
    pub at: Option<Timestamp>,
}

/// The outcome of one call.
#[derive(Clone, Debug)]
pub struct Finish {
    /// Where.
    pub key: StepKey,
    /// The output, or what ended it.
    pub outcome: Result<Option<Value>, Box<Failure>>,
    /// When, if there is a clock.
    pub at: Option<Timestamp>,
}

/// What a journal keeps of an error.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    /// Its code.
    pub code: Text,
    /// Its sentence.
    pub message: String,
}

/// One record of a [`MemoryJournal`].
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Record {
    /// An intent.
    Begin(Begin),
    /// An outcome.
    Finish(Finish),
    /// A dropped call.
    Abandoned(StepKey),
    /// The end of the run.
    End {
        /// Whether it succeeded.
        ok: bool,
    },
}

/// A journal in memory: the newest runs, each with its own buffer, so that runs do not wait for each other.
#[derive(Clone, Debug)]
pub struct MemoryJournal {
    runs: Arc<Mutex<std::collections::VecDeque<Arc<MemoryRun>>>>,
    runs_max: usize,
}

/// One run of a [`MemoryJournal`].
#[derive(Debug)]
pub struct MemoryRun {
    head: RunRecord,
    records: Mutex<Vec<Record>>,
}

impl Default for MemoryJournal {
    fn default() -> Self {
        Self::keeping(crate::limits::MEMORY_JOURNAL_RUNS_MAX)
    }
}

impl MemoryJournal {
    /// An empty journal.
    pub fn new() -> Self {
        Self::default()
    }

    /// An empty journal that forgets all but the newest `runs_max` runs.
    pub fn keeping(runs_max: usize) -> Self {
        Self { runs: Arc::default(), runs_max: runs_max.max(1) }
    }

    /// The runs, oldest first.
    pub fn runs(&self) -> Vec<Arc<MemoryRun>> {
        self.runs.lock().unwrap_or_else(PoisonError::into_inner).iter().cloned().collect()
    }
}

impl MemoryRun {
    /// What was known when it started.
    pub fn head(&self) -> &RunRecord {
        &self.head
    }

    /// Its records, in order.
    pub fn records(&self) -> Vec<Record> {
        self.records.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn push(&self, record: Record) -> Eventually<'_, Result<(), JournalError>> {
        self.records.lock().unwrap_or_else(PoisonError::into_inner).push(record);
        Eventually::Now(Ok(()))
    }
}

impl Journal for MemoryJournal {
    fn open(&self, run: RunRecord) -> Result<Arc<dyn RunJournal>, JournalError> {
        // Two records a call, and one for the end.
        let records = Vec::with_capacity(2 * run.calls + 1);
        let run = Arc::new(MemoryRun { head: run, records: Mutex::new(records) });
        let mut runs = self.runs.lock().unwrap_or_else(PoisonError::into_inner);
        if runs.len() >= self.runs_max {
            runs.pop_front();
        }
        runs.push_back(run.clone());
        Ok(run)
    }
}

impl RunJournal for MemoryRun {
    fn begin(&self, record: Begin) -> Eventually<'_, Result<(), JournalError>> {
        self.push(Record::Begin(record))
    }

    fn finish(&self, record: Finish) -> Eventually<'_, Result<(), JournalError>> {
        self.push(Record::Finish(record))
    }

    fn abandoned(&self, key: &StepKey) {
        let _ = self.push(Record::Abandoned(key.clone()));
    }

    fn end(&self, ok: bool) -> Eventually<'_, Result<(), JournalError>> {
        self.push(Record::End { ok })
    }
}

//! The journal itself.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;

use rusqlite::Connection;
use toolwright::approval::Answered;
use toolwright::journal::{Claim, JournalErrorKind, Resolution, RunHistory, RunJournal, RunRecord};
use toolwright::{Eventually, Journal, JournalError, Text};

use crate::answer::{Answer, promise};
use crate::blob::Known;
use crate::format;
use crate::opening;
use crate::owner;
use crate::read;
use crate::record;
use crate::run::{ClaimState, Grip, Held, RunState, Seen, UNWRITTEN};
use crate::view::{Prune, Pruned, Question, RunFilter, RunSummary, Verification};
use crate::wire::{Fallible, Trouble, told};
use crate::writer::{Job, Queued, Writer};
use crate::{export, list, prune, verify};

/// How hard a commit is pressed onto the disk.
///
/// ```
/// use toolwright_sqlite::{SqliteOptions, Synchronous};
/// assert_eq!(SqliteOptions::default().synchronous, Synchronous::Full);
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Synchronous {
    /// Survives the loss of power.
    #[default]
    Full,
    /// Survives the end of the process, not always the loss of power.
    Normal,
}

/// How a journal is opened.
///
/// ```
/// # let folder = std::env::temp_dir().join(format!("toolwright-doc-{}-options", std::process::id()));
/// # std::fs::create_dir_all(&folder)?;
/// # let path = folder.join("runs.sqlite");
/// # let runtime = tokio::runtime::Builder::new_current_thread().build()?;
/// use toolwright_sqlite::{SqliteJournal, SqliteOptions};
/// let mut options = SqliteOptions::default();
/// options.bytes_max = Some(100 * 1024 * 1024);
/// let journal = SqliteJournal::open_with(path, options)?;
/// # drop(journal);
/// # std::fs::remove_dir_all(folder)?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct SqliteOptions {
    /// How hard a commit is pressed onto the disk.
    pub synchronous: Synchronous,
    /// The file may become at most so large, in bytes.
    pub bytes_max: Option<u64>,
    /// Nothing is written; a file that is not there is not made. What can be read of a damaged file can be read so.
    pub read_only: bool,
    /// Goes on with what is there of a file that lost records which were on the disk. The damaged file is kept aside under a
    /// name of its own. Without it, such a file is not opened for writing: a call whose intent is lost would run again.
    pub accept_loss: bool,
}

/// A journal in a SQLite file. Clones share it; when the last of them and of its runs is dropped, everything that is queued
/// is written, and the file is closed.
///
/// ```
/// # let folder = std::env::temp_dir().join(format!("toolwright-doc-{}-journal", std::process::id()));
/// # std::fs::create_dir_all(&folder)?;
/// # let path = folder.join("runs.sqlite");
/// # let runtime = tokio::runtime::Builder::new_current_thread().build()?;
/// use std::sync::Arc;
/// use toolwright::{Invocation, Journal, Registry, json, tool};
/// use toolwright_sqlite::SqliteJournal;
/// let echo = tool("echo", "Gives back what it gets").reads().run_json(|input, _call| async move { Ok(input) });
/// let catalog = Registry::new().with(echo)?.seal();
/// let journal = SqliteJournal::open(&path)?;
/// let call = || Invocation::new("echo", json!({ "x": 1 })).run_id("r1").journal(Arc::new(journal.clone()));
/// runtime.block_on(catalog.invoke(call(), ()))?;
/// // The same run again is answered from the file.
/// assert!(runtime.block_on(catalog.invoke(call(), ()))?.replayed());
/// # drop(journal);
/// # std::fs::remove_dir_all(folder)?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct SqliteJournal(Arc<Inner>);

/// One open file.
#[derive(Debug)]
pub(crate) struct Inner {
    file: PathBuf,
    owners: PathBuf,
    options: SqliteOptions,
    queue: Arc<Queued>,
    /// Large values that were cut before.
    pub(crate) known: Mutex<Known>,
    writer: Mutex<Option<JoinHandle<()>>>,
}

impl Drop for Inner {
    fn drop(&mut self) {
        self.queue.close();
        if let Some(writer) = self.writer.get_mut().unwrap_or_else(PoisonError::into_inner).take() {
            let _ = writer.join();
        }
    }
}

impl Inner {
    pub(crate) fn told(&self, trouble: Trouble, writing: bool) -> JournalError {
        told(trouble, &self.file, writing)
    }

    /// An answer of the writer's.
    pub(crate) fn awaited<T: Send + 'static>(&self, answer: Answer<Result<T, JournalError>>) -> Eventually<'_, Result<T, JournalError>> {
        Eventually::Later(Box::pin(async move { answer.await.unwrap_or_else(|| Err(self.closed())) }))
    }

    fn closed(&self) -> JournalError {
        JournalError::unwritable(format!("`{}`: its writer has ended", self.file.display()))
    }

    fn writable(&self) -> Result<(), JournalError> {
        if !self.options.read_only {
            return Ok(());
        }
        Err(JournalError::unwritable(format!("`{}` was opened for reading only", self.file.display())))
    }

    fn flush(&self) -> Result<(), JournalError> {
        let (promise, written) = promise();
        self.queue.push(Job::Flush { answer: promise })?;
        written.wait().unwrap_or_else(|| Err(self.closed()))
    }

    /// Reads on this thread, after everything that was queued before is written.
    fn blocking<T>(&self, read: impl FnOnce(&Connection) -> Fallible<T>) -> Result<T, JournalError> {
        if !self.options.read_only {
            let _ = self.flush();
        }
        reader(&self.file).and_then(|connection| read(&connection)).map_err(|trouble| self.told(trouble, false))
    }

    /// Reads, after everything that was queued before is written, on a thread of its own: it may take a while.
    fn reading<'a, T: Send + 'static>(
        &'a self,
        read: impl FnOnce(&Connection) -> Fallible<T> + Send + 'static,
    ) -> Eventually<'a, Result<T, JournalError>> {
        Eventually::Later(Box::pin(async move {
            if !self.options.read_only {
                // When it could not be written, what is read is what is there.
                let (promise, written) = promise();
                if self.queue.push(Job::Flush { answer: promise }).is_ok() {
                    let _ = written.await;
                }
            }
            let (promise, answer) = promise();
            let file = self.file.clone();
            let work =
                move || promise.give(reader(&file).and_then(|connection| read(&connection)).map_err(|trouble| told(trouble, &file, false)));
            let thread = std::thread::Builder::new().name("journal reader".to_owned()).spawn(work);
            thread.map_err(|error| JournalError::new(JournalErrorKind::Unreadable, format!("no thread to read with: {error}")))?;
            answer.await.unwrap_or_else(|| Err(self.closed()))
        }))
    }
}

/// A connection that only reads.
fn reader(file: &Path) -> Fallible<Connection> {
    let opened = format::reader(file).and_then(|connection| format::check(&connection, file, false).map(|()| connection));
    match opened {
        // Nothing can be made beside it: then nobody writes to it either.
        Err(Trouble::Sql(error)) if crate::wire::cannot_open(&error) && !owner::beside(file, "-wal").exists() => {
            let connection = format::reader_of_still(file)?;
            format::check(&connection, file, false)?;
            Ok(connection)
        }
        opened => opened,
    }
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
        let file = std::path::absolute(path.as_ref()).unwrap_or_else(|_| path.as_ref().to_owned());
        let reading = options.read_only;
        open(file.clone(), options).map(|inner| Self(Arc::new(inner))).map_err(|trouble| told(trouble, &file, !reading))
    }

    /// Its runs, the newest first. Blocks while the file is read.
    ///
    /// # Errors
    /// When it cannot be read.
    pub fn runs(&self, filter: &RunFilter) -> Result<Vec<RunSummary>, JournalError> {
        self.0.blocking(|connection| list::runs(connection, &self.0.owners, filter))
    }

    /// Ids of its runs that begin with `prefix`, the newest first, at most `newest` of them. Blocks while the file is read.
    ///
    /// # Errors
    /// When it cannot be read.
    pub fn ids(&self, prefix: &str, newest: usize) -> Result<Vec<Text>, JournalError> {
        self.0.blocking(|connection| list::ids(connection, prefix, newest))
    }

    /// Questions whose ids begin with `prefix`, with the ids of their runs, the newest first, at most `newest` of them; with `open`
    /// only those that nobody answered, of runs that have no end. Blocks while the file is read.
    ///
    /// # Errors
    /// When it cannot be read.
    pub fn questions(&self, prefix: &str, newest: usize, open: bool) -> Result<Vec<(Text, Question)>, JournalError> {
        self.0.blocking(|connection| list::questions(connection, prefix, newest, open))
    }

    /// Waits until everything that is queued is written, and says when it could not be. Blocks.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn flush(&self) -> Result<(), JournalError> {
        if self.0.options.read_only { Ok(()) } else { self.0.flush() }
    }

    /// Looks whether every record is there as it was written. Blocks while the file is read.
    ///
    /// # Errors
    /// When it cannot be read at all.
    pub fn verify(&self) -> Result<Verification, JournalError> {
        self.0.blocking(|connection| verify::verify(connection, &self.0.file))
    }

    /// Every record that can be read, as JSON, one a line, in the order of writing; a run's, or all. What cannot be read is
    /// said in a line of its own. Blocks.
    ///
    /// # Errors
    /// When it cannot be read at all, or `out` says no.
    pub fn export(&self, run: Option<&str>, out: &mut dyn std::io::Write) -> Result<(), JournalError> {
        self.0.blocking(|connection| export::export(connection, run, out))
    }

    /// Whether everything is there that was said to be on the disk, as far as that can be told at once; [`verify`](Self::verify)
    /// looks at each record. Who only reads sees what is left. Blocks.
    ///
    /// # Errors
    /// [`JournalErrorKind::Corrupt`] when it was cut, or put back from an older copy, or cannot be read.
    pub fn intact(&self) -> Result<(), JournalError> {
        self.0.blocking(|connection| verify::lost(connection, &self.0.file))
    }

    /// Takes runs out, and makes the file smaller. A run that is at work is never taken out. Blocks.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn prune(&self, what: &Prune) -> Result<Pruned, JournalError> {
        self.0.writable()?;
        self.flush()?;
        let pruned = format::writer(&self.0.file, self.0.options.synchronous, None)
            .and_then(|connection| prune::prune(&connection, &self.0.file, what));
        pruned.map_err(|trouble| self.0.told(trouble, true))
    }
}

fn open(file: PathBuf, options: SqliteOptions) -> Fallible<Inner> {
    #[cfg(feature = "faults")]
    let options = SqliteOptions { bytes_max: options.bytes_max.or_else(crate::fault::bytes_max), ..options };
    // What lies beside a journal lies beside the file itself, by whichever name it is opened.
    let file = std::fs::canonicalize(&file).unwrap_or(file);
    let owners = owner::directory(&file);
    let queue = Arc::new(Queued::new());
    let inner = |writer| Inner {
        file: file.clone(),
        owners: owners.clone(),
        options: options.clone(),
        queue: queue.clone(),
        known: Mutex::default(),
        writer: Mutex::new(writer),
    };
    opening::has_one_name(&file)?;
    if !owners.exists() {
        opening::is_no_strangers(&file)?;
    }
    if options.read_only {
        if !file.exists() {
            let reason = format!("there is no journal `{}`", file.display());
            return Err(Trouble::No(JournalError::new(JournalErrorKind::Unreadable, reason)));
        }
        reader(&file)?;
        return Ok(inner(None));
    }
    let (connection, owner) = opening::open(&file, &owners, &options)?;
    let writer = Writer { queue: queue.clone(), owner, file: file.clone(), owners: owners.clone(), synchronous: options.synchronous };
    let thread = std::thread::Builder::new().name("journal writer".to_owned()).spawn(move || writer.run(connection));
    let thread = thread.map_err(|error| format::unwritable(&file, &error))?;
    Ok(inner(Some(thread)))
}

impl Journal for SqliteJournal {
    fn open(&self, run: RunRecord, claim: Claim) -> Eventually<'_, Result<Arc<dyn RunJournal>, JournalError>> {
        let queued = || {
            self.0.writable()?;
            let row = record::first(&run, &claim, &self.0.known).map_err(|trouble| self.0.told(trouble, true))?;
            let (promise, answer) = promise();
            self.0.queue.push(Job::Open { run: Box::new(run), claim, row, answer: promise })?;
            Ok(answer)
        };
        match queued() {
            Err(error) => Eventually::Now(Err(error)),
            Ok(answer) => Eventually::Later(Box::pin(async move {
                let grip = answer.await.unwrap_or_else(|| Err(self.0.closed()))?;
                Ok(Arc::new(Held { grip, journal: self.0.clone() }) as Arc<dyn RunJournal>)
            })),
        }
    }

    fn open_new(&self, run: RunRecord, claim: Claim) -> Eventually<'_, Result<Arc<dyn RunJournal>, JournalError>> {
        if !self.0.queue.has_room() {
            return self.open(run, claim);
        }
        let queued = || {
            self.0.writable()?;
            let row = record::first(&run, &claim, &self.0.known).map_err(|trouble| self.0.told(trouble, true))?;
            let state = ClaimState::new(UNWRITTEN, run.id.clone(), 1, RunState::new(1), Seen::default());
            let mut grip = Grip::new(state, self.0.queue.clone());
            self.0.queue.push(Job::OpenNew { run: Box::new(run), owner: claim, row, claim: grip.claim.clone() })?;
            grip.hold();
            Ok(Arc::new(Held { grip, journal: self.0.clone() }) as Arc<dyn RunJournal>)
        };
        Eventually::Now(queued())
    }

    fn load(&self, run: &str) -> Eventually<'_, Result<Option<RunHistory>, JournalError>> {
        let run = run.to_owned();
        self.0.reading(move |connection| read::history(connection, &run))
    }

    fn resolve(&self, run: &str, path: &str, resolution: Resolution) -> Eventually<'_, Result<(), JournalError>> {
        let (promise, answer) = promise();
        let job = Job::AnswerOf { run: run.into(), path: path.to_owned(), resolution, answer: promise };
        match self.0.writable().and_then(|()| self.0.queue.push(job)) {
            Ok(()) => self.0.awaited(answer),
            Err(error) => Eventually::Now(Err(error)),
        }
    }

    fn answer(&self, run: &str, answered: Answered) -> Eventually<'_, Result<(), JournalError>> {
        let (promise, answer) = promise();
        let job = Job::DecideOf { run: run.into(), answered, answer: promise };
        match self.0.writable().and_then(|()| self.0.queue.push(job)) {
            Ok(()) => self.0.awaited(answer),
            Err(error) => Eventually::Now(Err(error)),
        }
    }

    fn identity(&self) -> usize {
        Arc::as_ptr(&self.0).addr()
    }

    fn unfinished(&self) -> Eventually<'_, Result<Vec<Text>, JournalError>> {
        self.0.reading(read::unfinished)
    }
}

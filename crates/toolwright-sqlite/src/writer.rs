//! The one thread that writes: it takes everything that is queued, writes it in one transaction, and wakes all who wait.
//!
//! INVARIANT: records are written in the order in which they were queued, and nobody is told of one before its commit.
//! A record that nobody waits for and that cannot be written poisons its claim: nothing later of it is written.

use std::path::PathBuf;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use rusqlite::Connection;
use toolwright::approval::{Answered, Approval};
use toolwright::journal::{Admission, Begin, Claim, Resolution, RunRecord, StepKey};
use toolwright::{JournalError, Text};

use crate::answer::Promise;
use crate::fault::fault;
use crate::journal::Synchronous;
use crate::owner::{self, Owner};
use crate::record::Row;
use crate::run::{ClaimState, Grip};
use crate::wire::{Fallible, Trouble, may_concern_one, stops, told};

mod apply;
mod open;
mod statements;

use apply::Transaction;
use statements::Statements;

/// How long a record that nobody waits for waits for company.
const LINGER: Duration = Duration::from_millis(1);
/// Bytes of records that nobody waits for; beyond it, they are waited for.
const QUEUE_BYTES_MAX: usize = 64 * 1024 * 1024;
/// Records in one transaction.
const BATCH_MAX: usize = 16_384;

/// What is to be written.
#[derive(Debug)]
pub(crate) enum Job {
    Open {
        run: Box<RunRecord>,
        claim: Claim,
        row: Row,
        answer: Promise<Result<Grip, JournalError>>,
    },
    /// A run that nobody else has, and for which nobody waits.
    OpenNew {
        run: Box<RunRecord>,
        owner: Claim,
        row: Row,
        claim: Arc<ClaimState>,
    },
    /// `asked`: there may be records of this call, and they decide.
    Begin {
        claim: Arc<ClaimState>,
        row: Row,
        asked: Option<Box<Begin>>,
        answer: Option<Promise<Result<Admission, JournalError>>>,
    },
    Append {
        claim: Arc<ClaimState>,
        row: Row,
        answer: Option<Promise<Result<(), JournalError>>>,
    },
    Answer {
        claim: Arc<ClaimState>,
        key: StepKey,
        resolution: Resolution,
        answer: Promise<Result<(), JournalError>>,
    },
    AnswerOf {
        run: Text,
        path: String,
        resolution: Resolution,
        answer: Promise<Result<(), JournalError>>,
    },
    /// What was asked in the run, and what became of it.
    Approvals {
        claim: Arc<ClaimState>,
        answer: Promise<Result<Vec<Approval>, JournalError>>,
    },
    /// What was decided about a call that waits for somebody's yes.
    Decide {
        claim: Arc<ClaimState>,
        answered: Answered,
        answer: Promise<Result<(), JournalError>>,
    },
    DecideOf {
        run: Text,
        answered: Answered,
        answer: Promise<Result<(), JournalError>>,
    },
    Release {
        claim: Arc<ClaimState>,
    },
    /// Answers when everything before it is written.
    Flush {
        answer: Promise<Result<(), JournalError>>,
    },
}

impl Job {
    fn claim(&self) -> Option<&Arc<ClaimState>> {
        match self {
            Self::Begin { claim, .. } | Self::Append { claim, .. } | Self::Answer { claim, .. } | Self::Release { claim } => Some(claim),
            Self::Approvals { claim, .. } | Self::Decide { claim, .. } | Self::OpenNew { claim, .. } => Some(claim),
            Self::Open { .. } | Self::AnswerOf { .. } | Self::DecideOf { .. } | Self::Flush { .. } => None,
        }
    }

    fn is_awaited(&self) -> bool {
        match self {
            Self::Begin { answer, .. } => answer.is_some(),
            Self::Append { answer, .. } => answer.is_some(),
            Self::OpenNew { .. } | Self::Release { .. } => false,
            Self::Open { .. } | Self::Answer { .. } | Self::AnswerOf { .. } | Self::Flush { .. } => true,
            Self::Approvals { .. } | Self::Decide { .. } | Self::DecideOf { .. } => true,
        }
    }

    fn bytes(&self) -> usize {
        match self {
            Self::Open { row, .. } | Self::OpenNew { row, .. } | Self::Begin { row, .. } | Self::Append { row, .. } => row.bytes(),
            _ => size_of::<Self>(),
        }
    }

    fn fail(self, error: &JournalError) {
        match self {
            Self::Open { answer, .. } => answer.give(Err(error.clone())),
            Self::Begin { answer: Some(answer), .. } => answer.give(Err(error.clone())),
            Self::Append { answer, claim, .. } => match answer {
                Some(answer) => answer.give(Err(error.clone())),
                None => claim.poison(error),
            },
            Self::Begin { answer: None, claim, .. } | Self::OpenNew { claim, .. } => claim.poison(error),
            Self::Answer { answer, .. } | Self::AnswerOf { answer, .. } | Self::Flush { answer } => answer.give(Err(error.clone())),
            Self::Decide { answer, .. } | Self::DecideOf { answer, .. } => answer.give(Err(error.clone())),
            Self::Approvals { answer, .. } => answer.give(Err(error.clone())),
            Self::Release { .. } => {}
        }
    }
}

/// What became of a job, told after the commit.
#[derive(Debug)]
enum Done {
    Opened(Grip),
    Admitted(Admission),
    Approvals(Vec<Approval>),
    Written,
    No(JournalError),
}

/// What waits to be written.
#[derive(Debug)]
pub(crate) struct Queued {
    waiting: Mutex<Waiting>,
    wake: Condvar,
}

#[derive(Debug, Default)]
struct Waiting {
    jobs: Vec<Job>,
    bytes: usize,
    /// Somebody waits for one of them.
    awaited: bool,
    sleep: Sleep,
    closed: bool,
    /// Why nothing is written any more.
    stopped: Option<JournalError>,
}

/// How the writer sleeps.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Sleep {
    #[default]
    Awake,
    /// For [`LINGER`]: only somebody who waits wakes it.
    Dozing,
    /// Until anybody wakes it.
    Deep,
}

impl Waiting {
    /// Whether the writer is to write now. `lingered`: it waited for company.
    fn is_due(&self, lingered: bool) -> bool {
        let worth_it = self.awaited || self.bytes >= QUEUE_BYTES_MAX / 2 || (lingered && !self.jobs.is_empty());
        self.closed || worth_it
    }
}

/// Whatever ends the writer, nobody waits for it afterwards.
struct Ending<'a>(&'a Queued);

impl Drop for Ending<'_> {
    fn drop(&mut self) {
        let mut waiting = self.0.waiting();
        waiting.stopped.get_or_insert_with(|| JournalError::unwritable("the journal's writer has ended"));
        // Whoever waits for a promise that is dropped is told so.
        let jobs = std::mem::take(&mut waiting.jobs);
        drop(waiting);
        drop(jobs);
    }
}

impl Queued {
    pub(crate) fn new() -> Self {
        Self { waiting: Mutex::default(), wake: Condvar::new() }
    }

    fn waiting(&self) -> MutexGuard<'_, Waiting> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether records may be queued that nobody waits for.
    pub(crate) fn has_room(&self) -> bool {
        self.waiting().bytes < QUEUE_BYTES_MAX
    }

    pub(crate) fn push(&self, job: Job) -> Result<(), JournalError> {
        fault!("before-queue");
        let mut waiting = self.waiting();
        if let Some(error) = &waiting.stopped {
            return Err(error.clone());
        }
        let urgent = job.is_awaited() && !waiting.awaited;
        waiting.awaited |= urgent;
        waiting.bytes += job.bytes();
        waiting.jobs.push(job);
        let wakes = waiting.sleep == Sleep::Deep || (waiting.sleep == Sleep::Dozing && urgent);
        if wakes {
            waiting.sleep = Sleep::Awake;
        }
        drop(waiting);
        if wakes {
            self.wake.notify_one();
        }
        fault!("after-queue");
        Ok(())
    }

    pub(crate) fn close(&self) {
        self.waiting().closed = true;
        self.wake.notify_one();
    }

    fn is_stopped(&self) -> bool {
        self.waiting().stopped.is_some()
    }

    fn stop(&self, error: &JournalError) {
        self.waiting().stopped.get_or_insert_with(|| error.clone());
    }

    /// Everything that is queued, when there is something to write; none when the journal is closed.
    fn take(&self, spare: Vec<Job>) -> Option<Vec<Job>> {
        let mut waiting = self.waiting();
        let mut lingered = false;
        while !waiting.is_due(lingered) {
            // After a write it dozes a while: in a run that goes on, an outcome is soon followed by somebody who waits, and
            // then both are written together, with one waking.
            let deep = lingered && waiting.jobs.is_empty();
            waiting.sleep = if deep { Sleep::Deep } else { Sleep::Dozing };
            waiting = if deep {
                self.wake.wait(waiting).unwrap_or_else(PoisonError::into_inner)
            } else {
                let (waiting, timed) = self.wake.wait_timeout(waiting, LINGER).unwrap_or_else(PoisonError::into_inner);
                lingered |= timed.timed_out();
                waiting
            };
            if deep {
                lingered = false;
            }
            waiting.sleep = Sleep::Awake;
        }
        // Who held a claim is gone with this process, without anybody writing it.
        if waiting.jobs.iter().all(|job| matches!(job, Job::Release { .. })) && waiting.closed {
            return None;
        }
        waiting.bytes = 0;
        waiting.awaited = false;
        Some(std::mem::replace(&mut waiting.jobs, spare))
    }
}

/// What the writer has beside its connection.
pub(crate) struct Writer {
    pub(crate) queue: Arc<Queued>,
    pub(crate) owner: Owner,
    pub(crate) file: PathBuf,
    pub(crate) owners: PathBuf,
    pub(crate) synchronous: Synchronous,
}

impl Writer {
    /// Writes until the journal is closed.
    pub(crate) fn run(self, connection: Connection) {
        let _ending = Ending(&self.queue);
        let written = self.write(&connection);
        if let Err(trouble) = written {
            let error = told(trouble, &self.file, true);
            self.queue.stop(&error);
            for job in self.queue.take(Vec::new()).unwrap_or_default() {
                job.fail(&error);
            }
        }
        crate::opening::close(connection, &self.file, self.queue.is_stopped());
    }

    fn write(&self, connection: &Connection) -> Fallible<()> {
        let mut statements = Statements::new(connection)?;
        let mut transaction = Transaction::new(&mut statements, &self.owner.id, &self.file, &self.owners, &self.queue);
        let mut spare = Vec::new();
        let place = owner::place_of(&self.file);
        while let Some(mut jobs) = self.queue.take(std::mem::take(&mut spare)) {
            if owner::place_of(&self.file) != place || !self.owner.is_there(&self.owners) {
                let reason =
                    format!("`{}`: it, or its lock beside it, was taken away or replaced while it was in use", self.file.display());
                let error = JournalError::unwritable(reason);
                self.queue.stop(&error);
                jobs.drain(..).for_each(|job| job.fail(&error));
            }
            while !jobs.is_empty() {
                let rest = if jobs.len() > BATCH_MAX { jobs.split_off(BATCH_MAX) } else { Vec::new() };
                match group(connection, &mut transaction, &mut jobs) {
                    Ok(done) => {
                        if let Some(newest) = transaction.take_newest()
                            && self.synchronous == Synchronous::Full
                        {
                            // It only helps to find out what was lost; the records themselves are on the disk.
                            let _ = self.owner.note(newest);
                        }
                        tell(&mut jobs, done);
                    }
                    Err(trouble) => apart(connection, &mut transaction, &mut jobs, trouble, &self.file, &self.queue),
                }
                if rest.is_empty() {
                    break;
                }
                jobs = rest;
            }
            jobs.clear();
            spare = jobs;
        }
        Ok(())
    }
}

/// Writes jobs in one transaction.
fn group(connection: &Connection, transaction: &mut Transaction<'_, '_>, jobs: &mut [Job]) -> Fallible<Vec<Done>> {
    if jobs.iter().all(|job| matches!(job, Job::Flush { .. })) {
        return Ok(jobs.iter().map(|_| Done::Written).collect());
    }
    fault!("before-begin");
    let written = transaction.begin().and_then(|()| {
        let done = jobs.iter_mut().map(|job| transaction.apply(job)).collect::<Fallible<Vec<Done>>>()?;
        transaction.settle()?;
        fault!("before-commit");
        transaction.commit()?;
        fault!("after-commit");
        Ok(done)
    });
    if written.is_err() {
        if !connection.is_autocommit() {
            let _ = connection.execute_batch("ROLLBACK");
        }
        transaction.forget();
        // The keys that runs got in it are given to others now.
        for job in jobs.iter() {
            if let Job::OpenNew { claim, .. } = job {
                transaction.is_undone(claim);
            }
        }
    }
    written
}

/// Tells what became of jobs that are written.
fn tell(jobs: &mut Vec<Job>, done: Vec<Done>) {
    for (job, done) in jobs.drain(..).zip(done) {
        match (job, done) {
            (job, Done::No(error)) => job.fail(&error),
            (Job::Open { answer, .. }, Done::Opened(mut grip)) => {
                grip.hold();
                answer.give(Ok(grip));
            }
            (Job::Begin { answer: Some(answer), .. }, Done::Admitted(admission)) => answer.give(Ok(admission)),
            (Job::Append { answer: Some(answer), .. }, Done::Written) => answer.give(Ok(())),
            (Job::Approvals { answer, .. }, Done::Approvals(approvals)) => answer.give(Ok(approvals)),
            (Job::Decide { answer, .. } | Job::DecideOf { answer, .. }, Done::Written) => answer.give(Ok(())),
            (Job::Answer { answer, .. } | Job::AnswerOf { answer, .. } | Job::Flush { answer }, Done::Written) => answer.give(Ok(())),
            _ => {}
        }
    }
    fault!("after-wake");
}

/// A transaction failed. When it was of many runs, each is tried for itself, so that one that is too large, or the last one
/// for which there is room, does not take the others with it.
fn apart(
    connection: &Connection,
    transaction: &mut Transaction<'_, '_>,
    jobs: &mut Vec<Job>,
    trouble: Trouble,
    file: &std::path::Path,
    queue: &Queued,
) {
    let concerns_one = may_concern_one(&trouble);
    let mut fatal = stops(&trouble);
    let mut error = told(trouble, file, true);
    let mut parts: Vec<(Option<usize>, Vec<Job>)> = Vec::new();
    for job in jobs.drain(..) {
        let run = job.claim().map(|claim| Arc::as_ptr(&claim.run).addr());
        match parts.iter_mut().find(|(of, _)| run.is_some() && *of == run) {
            Some((_, part)) => part.push(job),
            None => parts.push((run, vec![job])),
        }
    }
    let alone = parts.len() == 1 || !concerns_one;
    for (_, mut part) in parts {
        if !alone && !fatal {
            match group(connection, transaction, &mut part) {
                Ok(done) => {
                    tell(&mut part, done);
                    continue;
                }
                Err(trouble) => {
                    fatal = stops(&trouble);
                    error = told(trouble, file, true);
                }
            }
        }
        for job in part {
            job.fail(&error);
        }
    }
    if fatal {
        queue.stop(&error);
    }
}

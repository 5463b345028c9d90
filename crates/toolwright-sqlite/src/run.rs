//! One claimed run, as the runtime sees it. Records are printed here, on the caller's thread; the writer orders them.

use std::collections::HashSet;
use std::hash::{BuildHasher as _, RandomState};
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use toolwright::approval::{Answered, Approval, Asked};
use toolwright::journal::{Admission, Begin, End, Finish, Resolution, RunJournal, StepKey};
use toolwright::{Eventually, JournalError, Text};

use crate::answer::promise;
use crate::journal::Inner;
use crate::record::{self, Row};
use crate::wire::Fallible;
use crate::writer::{Job, Queued};

/// What all claims of one run in this process share.
#[derive(Debug)]
pub(crate) struct RunState {
    /// The number of its newest claim, as far as is known here.
    pub(crate) newest: AtomicU64,
    pub(crate) live: Mutex<Live>,
}

/// Who is at work.
#[derive(Debug, Default)]
pub(crate) struct Live {
    /// Claims whose holder is there.
    pub(crate) held: Vec<u64>,
    /// Calls that came to an end under a claim that was superseded by then: place and claim.
    pub(crate) over: Vec<(String, u64)>,
}

impl RunState {
    pub(crate) fn new(epoch: u64) -> Arc<Self> {
        Arc::new(Self { newest: AtomicU64::new(epoch), live: Mutex::new(Live::default()) })
    }

    pub(crate) fn live(&self) -> MutexGuard<'_, Live> {
        self.live.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Places of which there may be a record, by a hash: two that share one are only looked up in the file without need.
#[derive(Debug, Default)]
pub(crate) struct Seen {
    hashes: HashSet<u64>,
    hasher: RandomState,
}

impl Seen {
    /// Whether there was none of this place.
    pub(crate) fn insert(&mut self, key: &StepKey) -> bool {
        self.hashes.insert(self.hasher.hash_one(key.place()))
    }
}

/// The key of a run that is not in the file: keys there begin at 1.
pub(crate) const UNWRITTEN: i64 = 0;

/// One claim.
#[derive(Debug)]
pub(crate) struct ClaimState {
    /// The run's key in the file, [`UNWRITTEN`] until the run is there. Only the writer uses it.
    key: AtomicI64,
    pub(crate) id: Text,
    pub(crate) epoch: u64,
    pub(crate) run: Arc<RunState>,
    /// Why nothing more of it is written.
    poison: OnceLock<JournalError>,
    seen: Mutex<Seen>,
}

impl ClaimState {
    pub(crate) fn new(key: i64, id: Text, epoch: u64, run: Arc<RunState>, seen: Seen) -> Self {
        Self { key: AtomicI64::new(key), id, epoch, run, poison: OnceLock::new(), seen: Mutex::new(seen) }
    }

    pub(crate) fn key(&self) -> i64 {
        self.key.load(Ordering::Relaxed)
    }

    /// The run was written under this key; a transaction that failed may have had another one.
    pub(crate) fn is_written_as(&self, key: i64) {
        self.key.store(key, Ordering::Relaxed);
    }

    /// A record that somebody counts on was not written: nothing later may be.
    pub(crate) fn poison(&self, error: &JournalError) {
        let reason = format!("an earlier record of run `{}` was not written: {}", self.id, error.reason);
        let _ = self.poison.set(JournalError::new(error.kind, reason));
    }

    pub(crate) fn poisoned(&self) -> Option<&JournalError> {
        self.poison.get()
    }

    fn is_newest(&self) -> Result<(), JournalError> {
        let newest = self.run.newest.load(Ordering::Acquire);
        if newest == self.epoch { Ok(()) } else { Err(JournalError::fenced(&self.id, self.epoch, newest)) }
    }

    fn check(&self) -> Result<(), JournalError> {
        self.is_newest()?;
        self.poisoned().map_or(Ok(()), |error| Err(error.clone()))
    }
}

/// A claim that somebody holds. When it is dropped, nobody is at work under it any more.
#[derive(Debug)]
pub(crate) struct Grip {
    pub(crate) claim: Arc<ClaimState>,
    queue: Arc<Queued>,
    /// Its claim is on the disk, or queued for it: one that never got there is not let go.
    holds: bool,
}

impl Grip {
    pub(crate) fn new(claim: ClaimState, queue: Arc<Queued>) -> Self {
        Self { claim: Arc::new(claim), queue, holds: false }
    }

    /// The claim is on the disk, or the first of a run that nobody else has: from now on it is the newest one here.
    pub(crate) fn hold(&mut self) {
        self.holds = true;
        self.claim.run.live().held.push(self.claim.epoch);
        self.claim.run.newest.store(self.claim.epoch, Ordering::Release);
    }
}

impl Drop for Grip {
    fn drop(&mut self) {
        if !self.holds {
            return;
        }
        let mut live = self.claim.run.live();
        live.held.retain(|epoch| *epoch != self.claim.epoch);
        live.over.retain(|(_, epoch)| *epoch != self.claim.epoch);
        drop(live);
        let _ = self.queue.push(Job::Release { claim: self.claim.clone() });
    }
}

/// What [`Journal::open`](toolwright::Journal::open) gives.
pub(crate) struct Held {
    pub(crate) grip: Grip,
    pub(crate) journal: Arc<Inner>,
}

type Later<'a, T> = Eventually<'a, Result<T, JournalError>>;

impl Held {
    fn told<T>(&self, outcome: Fallible<T>) -> Result<T, JournalError> {
        outcome.map_err(|trouble| self.journal.told(trouble, true))
    }

    fn begin_now(&self, begin: Begin) -> Result<Later<'_, Admission>, JournalError> {
        let claim = &self.grip.claim;
        claim.check()?;
        let waits = record::has_effect(&begin);
        // INVARIANT: whoever finds a place unseen has queued its record before anybody else looks.
        let mut seen = claim.seen.lock().unwrap_or_else(PoisonError::into_inner);
        let unseen = seen.insert(&begin.key);
        // A yes counts once, and only the records of the call say whether it did.
        let may_be_there = begin.approval().is_some() || (!unseen && (claim.epoch > 1 || begin.key.may_repeat()));
        let asked = may_be_there.then(|| Box::new(begin.clone()));
        let row = self.told(record::begin(begin, &self.journal.known))?;
        if !waits && asked.is_none() && self.grip.queue.has_room() {
            self.grip.queue.push(Job::Begin { claim: claim.clone(), row, asked: None, answer: None })?;
            return Ok(Eventually::Now(Ok(Admission::Proceed { attempt: 1 })));
        }
        let (promise, answer) = promise();
        self.grip.queue.push(Job::Begin { claim: claim.clone(), row, asked, answer: Some(promise) })?;
        drop(seen);
        Ok(self.journal.awaited(answer))
    }

    fn append(&self, row: Row, waits: bool) -> Result<Later<'_, ()>, JournalError> {
        let claim = self.grip.claim.clone();
        if !waits && self.grip.queue.has_room() {
            self.grip.queue.push(Job::Append { claim, row, answer: None })?;
            return Ok(Eventually::Now(Ok(())));
        }
        let (promise, answer) = promise();
        self.grip.queue.push(Job::Append { claim, row, answer: Some(promise) })?;
        Ok(self.journal.awaited(answer))
    }

    /// Writes how a call came to an end. What a superseded claim says is not written, but it is not at work any more.
    fn over(&self, key: &StepKey, row: impl FnOnce() -> Fallible<Row>) -> Result<Later<'_, ()>, JournalError> {
        let claim = &self.grip.claim;
        if let Err(fenced) = claim.is_newest() {
            claim.run.live().over.push((key.place(), claim.epoch));
            return Err(fenced);
        }
        claim.check()?;
        let row = self.told(row())?;
        self.append(row, false)
    }
}

fn now<T>(outcome: Result<Later<'_, T>, JournalError>) -> Later<'_, T> {
    outcome.unwrap_or_else(|error| Eventually::Now(Err(error)))
}

impl RunJournal for Held {
    fn begin(&self, record: Begin) -> Later<'_, Admission> {
        now(self.begin_now(record))
    }

    fn finish(&self, record: Finish) -> Later<'_, ()> {
        let key = record.key.clone();
        now(self.over(&key, || record::finish(record, &self.journal.known)))
    }

    fn resolve(&self, key: &StepKey, resolution: Resolution) -> Later<'_, ()> {
        let claim = &self.grip.claim;
        let (promise, answer) = promise();
        let job = Job::Answer { claim: claim.clone(), key: key.clone(), resolution, answer: promise };
        now(claim.check().and_then(|()| self.grip.queue.push(job)).map(|()| self.journal.awaited(answer)))
    }

    fn approvals(&self) -> Later<'_, Vec<Approval>> {
        let claim = &self.grip.claim;
        let (promise, answer) = promise();
        let job = Job::Approvals { claim: claim.clone(), answer: promise };
        now(claim.check().and_then(|()| self.grip.queue.push(job)).map(|()| self.journal.awaited(answer)))
    }

    fn ask(&self, asked: Asked) -> Later<'_, ()> {
        let row = || {
            self.grip.claim.check()?;
            self.told(record::asked(asked, &self.journal.known))
        };
        now(row().and_then(|row| self.append(row, true)))
    }

    fn answer(&self, answered: Answered) -> Later<'_, ()> {
        let claim = &self.grip.claim;
        let (promise, answer) = promise();
        let job = Job::Decide { claim: claim.clone(), answered, answer: promise };
        now(claim.check().and_then(|()| self.grip.queue.push(job)).map(|()| self.journal.awaited(answer)))
    }

    fn abandoned(&self, key: &StepKey) {
        let _ = self.over(key, || record::abandoned(key));
    }

    fn end(&self, end: End) -> Later<'_, ()> {
        let row = || {
            self.grip.claim.check()?;
            self.told(record::end(&end))
        };
        now(row().and_then(|row| self.append(row, true)))
    }

    fn epoch(&self) -> u64 {
        self.grip.claim.epoch
    }
}

//! One transaction of the writer: what each job does in it.
//!
//! INVARIANT: whatever another process wrote since this connection's last transaction is read before anything is decided:
//! when `data_version` says that there was something, nothing that was known of any run is believed.

use std::collections::{HashMap, HashSet};
use std::path::Path;
use std::sync::{Arc, Weak};

use rusqlite::{OptionalExtension as _, params};
use toolwright::JournalError;
use toolwright::approval::{Answered, Approval, answer_fits};
use toolwright::journal::{Admission, Begin, JournalErrorKind, Record, Resolution, Resolved, StepKey, Verdict, admit, answerable};

use super::statements::Statements;
use super::{Done, Job, Queued};
use crate::blob::{Blob, Hash};
use crate::fault::fault;
use crate::format::LOG_BYTES;
use crate::owner;
use crate::record::{self, Columns, KeptValues, Read, Row, chain, kind};
use crate::run::{ClaimState, RunState, UNWRITTEN};
use crate::torn;
use crate::wire::{Fallible, Trouble};

/// Runs of which something is remembered between transactions.
const KNOWN_MAX: usize = 16_384;
/// After so many transactions a journal is busy, and its log is made as long as it becomes anyway; looked at again after as
/// many.
const BUSY_AFTER: u64 = 64;

/// What is known of a run, as of this transaction.
pub(super) struct Known {
    pub(super) epoch: u64,
    pub(super) count: i64,
    pub(super) head: Hash,
    /// Its newest record.
    pub(super) last: i64,
    pub(super) begun: i64,
    pub(super) open: bool,
    /// Its row is to be written again before the commit.
    unsettled: bool,
    /// When it ended and with which code, until its row says so.
    end: Option<(Option<i64>, Option<String>)>,
    index: Index,
}

/// Where the records stand that say what was asked and what came of it, and when the run ended: no call has this place.
const OF_APPROVALS: &str = "";

/// The records of each place, as far as they were looked at.
#[derive(Default)]
struct Index {
    by_place: HashMap<String, Vec<i64>>,
    looked_at: i64,
}

pub(super) struct Transaction<'t, 'c> {
    pub(super) sql: &'t mut Statements<'c>,
    pub(super) handle: &'t str,
    file: &'t Path,
    pub(super) owners: &'t Path,
    pub(super) queue: &'t Arc<Queued>,
    pub(super) known: HashMap<i64, Known>,
    unsettled: Vec<i64>,
    /// Claims of this process, by run.
    pub(super) states: HashMap<i64, Weak<RunState>>,
    /// Values that are in the file.
    written: HashMap<Hash, i64>,
    /// Which run has which value.
    used: HashSet<(i64, i64)>,
    data_version: i64,
    newest: i64,
    newest_at_begin: i64,
    /// How many were begun.
    count: u64,
}

/// Whether the transaction cannot go on. Everything else is an answer to one job.
fn aborts(trouble: &Trouble) -> bool {
    matches!(trouble, Trouble::Sql(rusqlite::Error::SqliteFailure(..)))
}

impl<'t, 'c> Transaction<'t, 'c> {
    pub(super) fn new(sql: &'t mut Statements<'c>, handle: &'t str, file: &'t Path, owners: &'t Path, queue: &'t Arc<Queued>) -> Self {
        Self {
            sql,
            handle,
            file,
            owners,
            queue,
            known: HashMap::new(),
            unsettled: Vec::new(),
            states: HashMap::new(),
            written: HashMap::new(),
            used: HashSet::new(),
            data_version: -1,
            newest: 0,
            newest_at_begin: 0,
            count: 0,
        }
    }

    pub(super) fn begin(&mut self) -> Fallible<()> {
        self.sql.begin.execute([])?;
        let data_version: i64 = self.sql.data_version.query_row([], |row| row.get(0))?;
        if data_version != self.data_version {
            self.forget();
            self.newest = self.sql.newest.query_row([], |row| row.get(0))?;
            self.data_version = data_version;
        } else if self.known.len() > KNOWN_MAX {
            self.known.clear();
            self.states.retain(|_, state| state.strong_count() > 0);
        }
        if self.written.len() > KNOWN_MAX || self.used.len() > KNOWN_MAX {
            self.written.clear();
            self.used.clear();
        }
        self.newest_at_begin = self.newest;
        self.count += 1;
        if self.count.is_multiple_of(BUSY_AFTER) {
            torn::extend(&owner::beside(self.file, "-wal"), LOG_BYTES);
        }
        Ok(())
    }

    pub(super) fn commit(&mut self) -> Fallible<()> {
        self.sql.commit.execute([])?;
        Ok(())
    }

    /// Nothing that was known is believed any more; what a transaction that failed wrote is not there.
    pub(super) fn forget(&mut self) {
        self.newest = self.newest_at_begin;
        self.known.clear();
        self.unsettled.clear();
        self.written.clear();
        self.used.clear();
        self.data_version = -1;
    }

    /// The newest record, when the last transaction wrote one.
    pub(super) fn take_newest(&mut self) -> Option<i64> {
        (self.newest > self.newest_at_begin).then_some(self.newest)
    }

    pub(super) fn apply(&mut self, job: &mut Job) -> Fallible<Done> {
        let outcome = match job {
            Job::Open { run, claim, row, .. } => self.open(run, claim, row).map(Done::Opened),
            Job::OpenNew { run, owner, row, claim } => self.open_new(run, owner, row, claim).map(|()| Done::Written),
            Job::Begin { claim, row, asked, .. } => self.admitted(claim, row, asked.as_deref()).map(Done::Admitted),
            Job::Append { claim, row, .. } => self.append(claim, row).map(|()| Done::Written),
            Job::Answer { claim, key, resolution, .. } => {
                self.is_newest(claim).and_then(|()| self.answer(claim.key(), key, resolution)).map(|()| Done::Written)
            }
            Job::AnswerOf { run, path, resolution, .. } => self.answer_of(run, path, resolution).map(|()| Done::Written),
            Job::Approvals { claim, .. } => {
                self.is_newest(claim).and_then(|()| self.approvals(claim.key(), &claim.id)).map(Done::Approvals)
            }
            Job::Decide { claim, answered, .. } => {
                self.is_newest(claim).and_then(|()| self.decide(claim.key(), &claim.id, answered)).map(|()| Done::Written)
            }
            Job::DecideOf { run, answered, .. } => self.decide_of(run, answered).map(|()| Done::Written),
            Job::Release { claim } => self.release(claim).map(|()| Done::Written),
            Job::Flush { .. } => Ok(Done::Written),
        };
        match outcome {
            Err(trouble) if aborts(&trouble) => Err(trouble),
            Err(trouble) => {
                let error = crate::wire::told(trouble, self.file, true);
                // What comes of this run in the same transaction says why, too.
                if let Job::OpenNew { claim, .. } = job {
                    claim.poison(&error);
                }
                Ok(Done::No(error))
            }
            done => done,
        }
    }

    fn is_newest(&mut self, claim: &ClaimState) -> Fallible<()> {
        if let Some(error) = claim.poisoned() {
            return Err(error.clone().into());
        }
        let newest = self.known(claim.key(), &claim.id)?.epoch;
        if newest == claim.epoch { Ok(()) } else { Err(JournalError::fenced(&claim.id, claim.epoch, newest).into()) }
    }

    pub(super) fn known(&mut self, key: i64, id: &str) -> Fallible<&mut Known> {
        if !self.known.contains_key(&key) {
            let found = self.sql.run.query_row([key], |row| {
                Ok(Known {
                    epoch: row.get::<_, i64>(0)?.unsigned_abs(),
                    count: row.get(1)?,
                    head: row.get(2)?,
                    begun: row.get(3)?,
                    open: row.get(4)?,
                    last: row.get(5)?,
                    unsettled: false,
                    end: None,
                    index: Index::default(),
                })
            });
            let known = found.optional()?.ok_or_else(|| JournalError::unknown_run(id))?;
            self.known.insert(key, known);
        }
        self.known.get_mut(&key).ok_or_else(|| JournalError::unknown_run(id).into())
    }

    pub(super) fn is_new(&mut self, key: i64) {
        let (head, index) = (record::START, Index::default());
        let known = Known { epoch: 1, count: 0, head, last: 0, begun: 0, open: true, unsettled: false, end: None, index };
        self.known.insert(key, known);
    }

    /// Writes a record of a run.
    pub(super) fn insert(&mut self, key: i64, id: &str, row: &Row) -> Fallible<()> {
        let event = self.newest + 1;
        let parts = i64::try_from(row.parts.len()).unwrap_or(i64::MAX);
        let known = self.known(key, id)?;
        let epoch = i64::try_from(known.epoch).unwrap_or(i64::MAX);
        let (seq, prev) = (known.count, known.last);
        let Row { kind, class, at, path, tool, body, .. } = row;
        let columns = Columns { seq, epoch, kind: *kind, class: *class, at: *at, parts, path, tool };
        let head = chain(&known.head, &columns, body);
        for blob in &row.parts {
            self.keep(key, blob)?;
        }
        self.sql.insert_event.execute(params![event, key, prev, seq, epoch, kind, class, at, path, tool, parts, &head[..], body])?;
        fault!("between-inserts");
        self.newest = event;
        let known = self.known(key, id)?;
        known.count += 1;
        known.head = head;
        known.last = event;
        known.begun += i64::from(*kind == kind::BEGIN);
        if !std::mem::replace(&mut known.unsettled, true) {
            self.unsettled.push(key);
        }
        Ok(())
    }

    /// Writes the rows of the runs that got records.
    pub(super) fn settle(&mut self) -> Fallible<()> {
        for key in std::mem::take(&mut self.unsettled) {
            self.settle_one(key)?;
        }
        Ok(())
    }

    pub(super) fn settle_one(&mut self, key: i64) -> Fallible<()> {
        if let Some(known) = self.known.get_mut(&key)
            && std::mem::take(&mut known.unsettled)
        {
            let Known { count, head, begun, last, end, .. } = known;
            match end.take() {
                Some((at, code)) => self.sql.settle_ended.execute(params![key, *count, &head[..], *begun, *last, at, code])?,
                None => self.sql.settle.execute(params![key, *count, &head[..], *begun, *last])?,
            };
        }
        Ok(())
    }

    /// Writes a value, and those in it, unless they are there.
    fn keep(&mut self, run: i64, blob: &Blob) -> Fallible<()> {
        let there = match self.written.get(&blob.hash) {
            Some(id) => Some(*id),
            None => self.sql.find_blob.query_row([&blob.hash[..]], |row| row.get(0)).optional()?,
        };
        let id = match there {
            Some(id) => id,
            None => self.sql.insert_blob.insert(params![&blob.hash[..], blob.text()])?,
        };
        self.written.insert(blob.hash, id);
        if self.used.insert((run, id)) {
            self.sql.insert_use.execute([run, id])?;
            for part in &blob.parts {
                self.keep(run, part)?;
            }
        }
        Ok(())
    }

    fn append(&mut self, claim: &ClaimState, row: &Row) -> Fallible<()> {
        self.is_newest(claim)?;
        self.insert(claim.key(), &claim.id, row)?;
        if row.kind == kind::END {
            let end: toolwright::journal::End = serde_json::from_str(&row.body).map_err(|error| Trouble::Damaged(error.to_string()))?;
            let code = if end.ok { None } else { Some(end.code.unwrap_or_default().to_string()) };
            let known = self.known(claim.key(), &claim.id)?;
            known.open = false;
            known.end = Some((row.at, code));
        }
        Ok(())
    }

    fn admitted(&mut self, claim: &ClaimState, row: &Row, asked: Option<&Begin>) -> Fallible<Admission> {
        self.is_newest(claim)?;
        let mut admission = Admission::Proceed { attempt: 1 };
        if let Some(begin) = asked {
            let place = begin.key.place();
            let records = self.records(claim.key(), &claim.id, &place)?;
            admission = admit(records.iter().filter_map(|(_, record)| record.entry()), begin);
            if let Admission::InDoubt(doubt) = &mut admission {
                doubt.at_work = self.is_at_work(claim.key(), &place, &records)?;
            }
        }
        if matches!(admission, Admission::Proceed { .. }) {
            self.insert(claim.key(), &claim.id, row)?;
        }
        Ok(admission)
    }

    /// The records of one place, in order, with their claims.
    fn records(&mut self, key: i64, id: &str, place: &str) -> Fallible<Vec<(u64, Record)>> {
        let known = self.known(key, id)?;
        let (last, looked_at) = (known.last, known.index.looked_at);
        let later = self.sql.later.query_map([last, looked_at], |row| {
            let key = StepKey::written(row.get::<_, String>(1)?, row.get::<_, String>(2)?);
            let of_call = row.get::<_, u8>(3)? < kind::END;
            Ok((row.get::<_, i64>(0)?, if of_call { key.place() } else { OF_APPROVALS.to_owned() }))
        })?;
        let later = later.collect::<rusqlite::Result<Vec<_>>>()?;
        let index = &mut self.known(key, id)?.index;
        for (event, place) in later {
            index.by_place.entry(place).or_default().push(event);
        }
        index.looked_at = last;
        let events = index.by_place.get(place).cloned().unwrap_or_default();
        let mut values = HashMap::new();
        events.into_iter().map(|event| self.record(event, &mut values)).collect()
    }

    /// What was asked in a run, with the calls that were made on it.
    fn approvals(&mut self, key: i64, id: &str) -> Fallible<Vec<Approval>> {
        let mut records: Vec<Record> = self.records(key, id, OF_APPROVALS)?.into_iter().map(|(_, record)| record).collect();
        let mut places = HashSet::new();
        for record in &records {
            let Record::Asked(asked) = record else { continue };
            places.insert(asked.key.place());
            places.extend(asked.request.covers.iter().map(|covered| StepKey::written(covered.path.clone(), covered.tool.clone()).place()));
        }
        for place in places {
            records.extend(self.records(key, id, &place)?.into_iter().map(|(_, record)| record));
        }
        Ok(Approval::all(&records))
    }

    fn decide(&mut self, key: i64, id: &str, answered: &Answered) -> Fallible<()> {
        answer_fits(&self.approvals(key, id)?, answered)?;
        let row = record::answered(answered)?;
        self.insert(key, id, &row)
    }

    fn decide_of(&mut self, id: &str, answered: &Answered) -> Fallible<()> {
        let key: Option<i64> = self.sql.find_run.query_row([id], |row| row.get(0)).optional()?;
        let key = key.ok_or_else(|| JournalError::unknown_run(id))?;
        self.decide(key, id, answered)
    }

    fn record(&mut self, event: i64, values: &mut HashMap<Hash, toolwright::Value>) -> Fallible<(u64, Record)> {
        let read = self.sql.event.query_row([event], Read::of)?;
        let blob = &mut self.sql.blob;
        let mut find = |hash: &Hash| Ok(blob.query_row([&hash[..]], |row| row.get(0)).optional()?);
        let mut kept = KeptValues { find: Some(&mut find), known: std::mem::take(values) };
        let record = record::as_record(&read, &mut kept)?;
        *values = kept.known;
        Ok((read.epoch.unsigned_abs(), record))
    }

    /// Whether somebody is at work on the newest attempt of the call with these records.
    fn is_at_work(&mut self, key: i64, place: &str, records: &[(u64, Record)]) -> Fallible<bool> {
        let last = records.iter().rev().find(|(_, record)| !matches!(record, Record::Resolved(_)));
        let Some((epoch, Record::Begin(_))) = last else { return Ok(false) };
        let (handle, held) = self.holder(key, *epoch)?;
        if handle != self.handle {
            return Ok(held && owner::is_alive(self.owners, &handle));
        }
        let Some(state) = self.states.get(&key).and_then(Weak::upgrade) else { return Ok(false) };
        let live = state.live();
        let over = live.over.iter().any(|(call, of)| of == epoch && call == place);
        Ok(!over && live.held.contains(epoch))
    }

    /// Which open journal has a claim, and whether somebody holds it there.
    pub(super) fn holder(&mut self, key: i64, epoch: u64) -> Fallible<(String, bool)> {
        let epoch = i64::try_from(epoch).unwrap_or(i64::MAX);
        let found = self.sql.claim.query_row([key, epoch], |row| Ok((row.get(0)?, row.get(1)?))).optional()?;
        found.ok_or_else(|| Trouble::Damaged(format!("claim {epoch} of a run is not there")))
    }

    fn answer_of(&mut self, id: &str, path: &str, resolution: &Resolution) -> Fallible<()> {
        let key: Option<i64> = self.sql.find_run.query_row([id], |row| row.get(0)).optional()?;
        let key = key.ok_or_else(|| JournalError::unknown_run(id))?;
        let last = self.known(key, id)?.last;
        let tool: Option<String> = self.sql.tool_at.query_row(params![last, 0, path], |row| row.get(0)).optional()?;
        self.answer(key, &StepKey::written(path, tool.unwrap_or_default()), resolution)
    }

    fn answer(&mut self, key: i64, call: &StepKey, resolution: &Resolution) -> Fallible<()> {
        let place = call.place();
        let records = self.records(key, "", &place)?;
        if !answerable(records.iter().filter_map(|(_, record)| record.entry()), call, resolution)? {
            return Ok(());
        }
        if resolution.verdict == Verdict::NotHappened && self.is_at_work(key, &place, &records)? {
            let reason = format!("`{}`: the call is at work, and may still have its effect", call.path());
            return Err(JournalError::new(JournalErrorKind::Claimed, reason).into());
        }
        let resolved = Resolved { key: call.clone(), resolution: resolution.clone() };
        let row = record::resolved(resolved, &std::sync::Mutex::default())?;
        self.insert(key, "", &row)
    }

    fn release(&mut self, claim: &ClaimState) -> Fallible<()> {
        if claim.key() == UNWRITTEN {
            return Ok(());
        }
        self.sql.release.execute(params![claim.key(), i64::try_from(claim.epoch).unwrap_or(i64::MAX)])?;
        if self.states.get(&claim.key()).is_some_and(|state| state.strong_count() <= 1) {
            self.states.remove(&claim.key());
            self.settle_one(claim.key())?;
            self.known.remove(&claim.key());
        }
        Ok(())
    }
}

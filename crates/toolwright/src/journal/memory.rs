//! The journal in memory: the newest runs, each with its own buffer, so that runs do not wait for each other.
//!
//! A run without a history only appends: its keys cannot come twice, so nothing is looked up and no path is written
//! out. A run that was opened again, or a key that may repeat, is looked up in an index that is made when first needed.

use std::collections::hash_map::Entry as Slot;
use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::admission::{Admission, Entry, admit, answerable};
use super::history::{Claim, Claimed, Record, Resolved, RunHistory};
use super::key::StepKey;
use super::record::{Begin, End, FORMAT, Finish, Resolution, RunRecord, Verdict};
use super::{Eventually, Journal, JournalError, JournalErrorKind, RunJournal};
use crate::approval::{Answered, Approval, Asked, answer_fits};
use crate::value::Text;

/// A journal in memory. Clones share what they keep.
///
/// It forgets the oldest ended runs. It never forgets one that has not ended, since that would let a call in doubt run
/// again: when all it keeps are such runs, it takes no new one.
///
/// It knows which claims are still held, until whoever opened them drops what [`Journal::open`] gave. So a call that is
/// at work under another claim is told from one that nobody knows of: see [`Doubt::at_work`](super::Doubt::at_work).
///
/// ```
/// use std::sync::Arc;
/// use toolwright::{Invocation, MemoryJournal, Registry, json, tool};
///
/// # tokio::runtime::Builder::new_current_thread().build()?.block_on(async {
/// let mut registry = Registry::new();
/// registry.register(tool("echo", "Answers its arguments").reads().run_json(|input, _call| async move { Ok(input) }))?;
/// let catalog = registry.seal();
/// let journal = MemoryJournal::new();
/// catalog.invoke(Invocation::new("echo", json!({})).run_id("r1").journal(Arc::new(journal.clone())), ()).await?;
/// assert_eq!(journal.records("r1").len(), 3, "an intent, an outcome, the end");
/// # Ok::<(), Box<dyn std::error::Error>>(()) })?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct MemoryJournal {
    runs: Arc<Mutex<Runs>>,
    runs_max: usize,
}

#[derive(Debug, Default)]
struct Runs {
    in_order: VecDeque<Arc<MemoryRun>>,
    by_id: HashMap<Text, Arc<MemoryRun>>,
}

/// One run of a [`MemoryJournal`].
///
/// For tests that look at what was written.
///
/// ```
/// use std::sync::Arc;
/// use toolwright::{Invocation, MemoryJournal, Registry, json, tool};
/// # tokio::runtime::Builder::new_current_thread().build()?.block_on(async {
/// let echo = tool("echo", "Gives back what it gets").reads().run_json(|input, _call| async move { Ok(input) });
/// let catalog = Registry::new().with(echo)?.seal();
/// let journal = MemoryJournal::new();
/// catalog.invoke(Invocation::new("echo", json!({})).run_id("r1").journal(Arc::new(journal.clone())), ()).await?;
/// let run = journal.runs().pop().ok_or("one run was kept")?;
/// assert_eq!((run.head().id.as_str(), run.records().len()), ("r1", 3));
/// # Ok::<(), Box<dyn std::error::Error>>(()) })?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct MemoryRun {
    head: RunRecord,
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    records: Vec<Record>,
    claimed: Claimed,
    ended: bool,
    index: Option<Box<Index>>,
    /// Claims whose holder is there.
    held: Vec<u64>,
    /// Calls that came to an end under a claim that was superseded by then: place and claim.
    over: Vec<(String, u64)>,
}

/// Positions of the records of each place, as far as they were looked at.
#[derive(Debug, Default)]
struct Index {
    by_place: HashMap<String, Vec<usize>>,
    looked_at: usize,
}

/// One claim of a run, as long as somebody holds it.
struct Held {
    run: Arc<MemoryRun>,
    epoch: u64,
}

impl Drop for Held {
    fn drop(&mut self) {
        let mut state = self.run.state();
        state.held.retain(|epoch| *epoch != self.epoch);
        state.over.retain(|(_, epoch)| *epoch != self.epoch);
    }
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

    /// An empty journal that keeps at most `runs_max` runs: the newest, and those that have not ended.
    pub fn keeping(runs_max: usize) -> Self {
        Self { runs: Arc::default(), runs_max: runs_max.max(1) }
    }

    /// The runs, oldest first.
    pub fn runs(&self) -> Vec<Arc<MemoryRun>> {
        self.kept().in_order.iter().cloned().collect()
    }

    /// The records of one run, in order; none when it is not there.
    pub fn records(&self, run: &str) -> Vec<Record> {
        self.find(run).map(|run| run.records()).unwrap_or_default()
    }

    /// For tests: takes away the outcomes of the calls of this path, in all runs, as if the process had ended before
    /// they were written. Says how many there were.
    pub fn forget_finish(&self, path: &str) -> usize {
        let forget = |run: &Arc<MemoryRun>| run.cut(|_, record| !matches!(record, Record::Finish(finish) if finish.key.path() == path));
        self.runs().iter().map(forget).sum()
    }

    /// For tests: keeps only the first `records` records of a run, as if the process had ended there. Says how many
    /// were taken away.
    pub fn cut_off(&self, run: &str, records: usize) -> usize {
        self.find(run).map_or(0, |run| run.cut(|at, _| at < records))
    }

    fn kept(&self) -> MutexGuard<'_, Runs> {
        self.runs.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn find(&self, run: &str) -> Option<Arc<MemoryRun>> {
        self.kept().by_id.get(run).cloned()
    }

    fn open_now(&self, run: RunRecord, claim: Claim) -> Result<Arc<dyn RunJournal>, JournalError> {
        if run.format > FORMAT {
            let reason = format!("run `{}` has format {}, and {FORMAT} is the newest known here", crate::cut(&run.id, 80), run.format);
            return Err(JournalError::new(JournalErrorKind::Corrupt, reason));
        }
        let mut kept = self.kept();
        let fresh = match kept.by_id.entry(run.id.clone()) {
            Slot::Occupied(there) => {
                let there = there.get().clone();
                drop(kept);
                return there.reopen(&run, claim);
            }
            Slot::Vacant(_) => Arc::new(MemoryRun::new(run, claim)),
        };
        let full = kept.in_order.len() >= self.runs_max;
        let forgotten = if full { Some(kept.forget_one().ok_or_else(|| full_of_runs(self.runs_max))?) } else { None };
        kept.by_id.insert(fresh.head.id.clone(), fresh.clone());
        kept.in_order.push_back(fresh.clone());
        drop(kept);
        // Freeing a run takes a while, and nobody has to wait for it.
        drop(forgotten);
        Ok(Arc::new(Held { run: fresh, epoch: 1 }))
    }
}

#[cold]
fn full_of_runs(runs_max: usize) -> JournalError {
    JournalError::unwritable(format!("it keeps {runs_max} runs, and none of them has ended"))
}

impl Runs {
    /// Takes out the oldest run that ended.
    fn forget_one(&mut self) -> Option<(Arc<MemoryRun>, Option<Arc<MemoryRun>>)> {
        let at = self.in_order.iter().position(|run| run.state().ended)?;
        let run = self.in_order.remove(at)?;
        let twin = self.by_id.remove(&run.head.id);
        Some((run, twin))
    }
}

impl MemoryRun {
    fn new(head: RunRecord, claim: Claim) -> Self {
        // Two records a call, and one for the end.
        let records = Vec::with_capacity(2 * head.calls.min(crate::limits::COMPOSITE_STEPS_MAX + 1) + 1);
        let claimed = Claimed { epoch: 1, claim };
        let state = State { records, claimed, ended: false, index: None, held: vec![1], over: Vec::new() };
        Self { head, state: Mutex::new(state) }
    }

    /// What was known when it started.
    pub fn head(&self) -> &RunRecord {
        &self.head
    }

    /// Its records, in order.
    pub fn records(&self) -> Vec<Record> {
        self.state().records.clone()
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn history(&self) -> RunHistory {
        let state = self.state();
        RunHistory::new(self.head.clone(), state.claimed.clone(), state.records.clone())
    }

    fn cut(&self, mut keeps: impl FnMut(usize, &Record) -> bool) -> usize {
        let mut state = self.state();
        let before = state.records.len();
        let mut at = 0;
        state.records.retain(|record| {
            at += 1;
            keeps(at - 1, record)
        });
        state.index = None;
        state.ended = matches!(state.records.last(), Some(Record::End(_)));
        // The process ended there, as far as anybody can tell.
        state.held.clear();
        before - state.records.len()
    }

    fn reopen(self: Arc<Self>, run: &RunRecord, claim: Claim) -> Result<Arc<dyn RunJournal>, JournalError> {
        self.head.same_run(run)?;
        let mut state = self.state();
        if !state.ended && !claim.may_supersede(&state.claimed.claim) {
            return Err(state.claimed.claim.refused(&self.head.id));
        }
        let epoch = state.claimed.epoch + 1;
        state.claimed = Claimed { epoch, claim };
        let claimed = state.claimed.clone();
        state.records.push(Record::Claimed(claimed));
        state.ended = false;
        state.held.push(epoch);
        drop(state);
        Ok(Arc::new(Held { run: self, epoch }))
    }

    /// The state, for a claim that is still the newest.
    #[inline]
    fn as_of(&self, epoch: u64) -> Result<MutexGuard<'_, State>, JournalError> {
        let state = self.state();
        let newest = state.claimed.epoch;
        if newest == epoch { Ok(state) } else { Err(JournalError::fenced(&self.head.id, epoch, newest)) }
    }

    fn begin_as(&self, epoch: u64, begin: Begin) -> Result<Admission, JournalError> {
        let mut state = self.as_of(epoch)?;
        let mut admission = Admission::Proceed { attempt: 1 };
        if epoch > 1 || begin.key.may_repeat() || begin.approval().is_some() {
            let place = begin.key.place();
            admission = admit(state.entries(&place), &begin);
            if let Admission::InDoubt(doubt) = &mut admission {
                doubt.at_work = state.is_at_work(&place);
            }
        }
        if matches!(admission, Admission::Proceed { .. }) {
            state.records.push(Record::Begin(begin));
        }
        Ok(admission)
    }

    /// Writes how a call came to an end. What a superseded claim says is not written, but it is not at work any more.
    #[inline]
    fn over_as(&self, epoch: u64, key: &StepKey, record: impl FnOnce() -> Record) -> Result<(), JournalError> {
        match self.as_of(epoch) {
            Ok(mut state) => {
                state.records.push(record());
                Ok(())
            }
            Err(fenced) => {
                self.state().over.push((key.place(), epoch));
                Err(fenced)
            }
        }
    }

    fn end_as(&self, epoch: u64, end: End) -> Result<(), JournalError> {
        let mut state = self.as_of(epoch)?;
        state.records.push(Record::End(end));
        state.ended = true;
        Ok(())
    }
}

impl State {
    fn entries(&mut self, place: &str) -> impl Iterator<Item = Entry<'_>> {
        let index = self.index.get_or_insert_default();
        for (at, record) in self.records.iter().enumerate().skip(index.looked_at) {
            if let Some(key) = record.key() {
                index.by_place.entry(key.place()).or_default().push(at);
            }
        }
        index.looked_at = self.records.len();
        let places = index.by_place.get(place).map(Vec::as_slice).unwrap_or_default();
        places.iter().filter_map(|at| self.records.get(*at)?.entry())
    }

    /// Whether somebody is at work on the newest attempt of the call at this place.
    fn is_at_work(&self, place: &str) -> bool {
        let mut claim = self.claimed.epoch;
        for record in self.records.iter().rev() {
            match record {
                Record::Claimed(claimed) => claim = claimed.epoch.saturating_sub(1),
                Record::Begin(begin) if begin.key.place() == place => {
                    let over = self.over.iter().any(|(call, of)| *of == claim && call == place);
                    return !over && self.held.contains(&claim);
                }
                Record::Finish(Finish { key, .. }) | Record::Abandoned(key) if key.place() == place => return false,
                _ => {}
            }
        }
        false
    }

    fn answer(&mut self, answered: Answered) -> Result<(), JournalError> {
        answer_fits(&Approval::all(&self.records), &answered)?;
        self.records.push(Record::Answered(answered));
        Ok(())
    }

    fn resolve(&mut self, key: &StepKey, resolution: Resolution) -> Result<(), JournalError> {
        if !answerable(self.entries(&key.place()), key, &resolution)? {
            return Ok(());
        }
        if resolution.verdict == Verdict::NotHappened && self.is_at_work(&key.place()) {
            let reason = format!("`{}`: the call is at work, and may still have its effect", crate::cut(&key.path(), 200));
            return Err(JournalError::new(JournalErrorKind::Claimed, reason));
        }
        self.records.push(Record::Resolved(Resolved { key: key.clone(), resolution }));
        Ok(())
    }
}

impl Journal for MemoryJournal {
    fn open(&self, run: RunRecord, claim: Claim) -> Eventually<'_, Result<Arc<dyn RunJournal>, JournalError>> {
        Eventually::Now(self.open_now(run, claim))
    }

    fn load(&self, run: &str) -> Eventually<'_, Result<Option<RunHistory>, JournalError>> {
        Eventually::Now(Ok(self.find(run).map(|run| run.history())))
    }

    fn resolve(&self, run: &str, path: &str, resolution: Resolution) -> Eventually<'_, Result<(), JournalError>> {
        let Some(found) = self.find(run) else { return Eventually::Now(Err(JournalError::unknown_run(run))) };
        let mut state = found.state();
        let begun = state.records.iter().filter_map(Record::key).find(|key| key.path() == path);
        let key = begun.cloned().unwrap_or_else(|| StepKey::written(path, ""));
        Eventually::Now(state.resolve(&key, resolution))
    }

    fn answer(&self, run: &str, answered: Answered) -> Eventually<'_, Result<(), JournalError>> {
        let Some(found) = self.find(run) else { return Eventually::Now(Err(JournalError::unknown_run(run))) };
        let mut state = found.state();
        Eventually::Now(state.answer(answered))
    }

    fn identity(&self) -> usize {
        Arc::as_ptr(&self.runs).addr()
    }

    fn unfinished(&self) -> Eventually<'_, Result<Vec<Text>, JournalError>> {
        let open = self.runs().into_iter().filter(|run| !run.state().ended);
        Eventually::Now(Ok(open.map(|run| run.head.id.clone()).collect()))
    }
}

impl RunJournal for Held {
    fn begin(&self, record: Begin) -> Eventually<'_, Result<Admission, JournalError>> {
        Eventually::Now(self.run.begin_as(self.epoch, record))
    }

    fn finish(&self, record: Finish) -> Eventually<'_, Result<(), JournalError>> {
        let key = record.key.clone();
        Eventually::Now(self.run.over_as(self.epoch, &key, || Record::Finish(record)))
    }

    fn resolve(&self, key: &StepKey, resolution: Resolution) -> Eventually<'_, Result<(), JournalError>> {
        Eventually::Now(self.run.as_of(self.epoch).and_then(|mut state| state.resolve(key, resolution)))
    }

    fn approvals(&self) -> Eventually<'_, Result<Vec<Approval>, JournalError>> {
        Eventually::Now(self.run.as_of(self.epoch).map(|state| Approval::all(&state.records)))
    }

    fn ask(&self, asked: Asked) -> Eventually<'_, Result<(), JournalError>> {
        Eventually::Now(self.run.as_of(self.epoch).map(|mut state| state.records.push(Record::Asked(Box::new(asked)))))
    }

    fn answer(&self, answered: Answered) -> Eventually<'_, Result<(), JournalError>> {
        Eventually::Now(self.run.as_of(self.epoch).and_then(|mut state| state.answer(answered)))
    }

    fn abandoned(&self, key: &StepKey) {
        let _ = self.run.over_as(self.epoch, key, || Record::Abandoned(key.clone()));
    }

    fn end(&self, end: End) -> Eventually<'_, Result<(), JournalError>> {
        Eventually::Now(self.run.end_as(self.epoch, end))
    }

    fn epoch(&self) -> u64 {
        self.epoch
    }
}

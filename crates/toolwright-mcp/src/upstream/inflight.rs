//! The requests of one connection that are under way: what comes for one of them is brought to whoever waits for it, in order.

use std::collections::{HashMap, VecDeque};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::Notify;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use toolwright::Text;

use super::questions::Questions;
use crate::wire::{FIRST_ID, Progress, RawReply};

/// Reports of one request that may wait; the oldest give way, since only the newest matter.
const REPORTS: usize = 32;

/// Questions of one request that may be asked at once.
const QUESTIONS_AT_ONCE: usize = 32;

/// All requests of one connection.
#[derive(Debug)]
pub(crate) struct InFlight {
    next: AtomicU64,
    waiting: Mutex<Waiting>,
}

#[derive(Debug, Default)]
struct Waiting {
    closed: bool,
    by_id: HashMap<u64, Arc<Waiter>>,
}

/// One request, as those see it who bring something for it.
#[derive(Debug, Default)]
pub(crate) struct Waiter {
    /// The run that it belongs to; absent for what nobody can be asked about.
    pub(crate) run: Option<Text>,
    state: Mutex<State>,
    woken: Notify,
}

#[derive(Debug, Default)]
struct State {
    reply: Option<RawReply>,
    answered: bool,
    reports: VecDeque<Progress>,
    gone: bool,
    /// The questions that are being asked, by the id that the server gave them.
    questions: Vec<(String, CancellationToken)>,
    asking_since: Option<Instant>,
    asked_for: Duration,
}

/// One request, as its sender has it. Dropping it ends it: nothing more is brought, and its questions are asked no longer.
#[derive(Debug)]
pub(crate) struct Ticket {
    pub(crate) id: u64,
    pub(crate) waiter: Arc<Waiter>,
    inflight: Arc<InFlight>,
}

/// A question that is being asked; the request's limits stand still meanwhile.
pub(crate) struct Open {
    waiter: Arc<Waiter>,
    id: String,
    pub(crate) cancelled: CancellationToken,
}

/// What has come since the last look.
pub(crate) enum News {
    /// The reply, after which nothing comes.
    Reply(RawReply),
    /// The connection ended.
    Gone,
    /// Neither; perhaps reports.
    Nothing,
}

impl Default for InFlight {
    fn default() -> Self {
        InFlight { next: AtomicU64::new(FIRST_ID), waiting: Mutex::default() }
    }
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl InFlight {
    /// A request that is about to be sent.
    pub(crate) fn begin(self: &Arc<Self>, run: Option<Text>) -> Ticket {
        let id = self.next.fetch_add(1, Ordering::Relaxed);
        // A request without a run is ours: nothing that a server says can be about it, and it makes nothing doubtful.
        let waiter = Arc::new(Waiter { run: run.filter(|run| !run.is_empty()), ..Waiter::default() });
        let mut waiting = locked(&self.waiting);
        if waiting.closed {
            locked(&waiter.state).gone = true;
        }
        waiting.by_id.insert(id, waiter.clone());
        drop(waiting);
        Ticket { id, waiter, inflight: self.clone() }
    }

    /// The request with that id.
    pub(crate) fn get(&self, id: u64) -> Option<Arc<Waiter>> {
        locked(&self.waiting).by_id.get(&id).cloned()
    }

    /// The request that something belongs to which names none: the only one whose client can be asked, or the newest when all are of
    /// one client. Absent when it could belong to different clients.
    pub(crate) fn only(&self, questions: Option<&dyn Questions>) -> Option<Arc<Waiter>> {
        let waiting = locked(&self.waiting);
        let with_run = || waiting.by_id.iter().filter_map(|(id, waiter)| waiter.run.as_ref().map(|run| (*id, run, waiter)));
        let (_, newest, waiter) = with_run().max_by_key(|(id, ..)| *id)?;
        let (newest, waiter) = (newest.clone(), waiter.clone());
        let others: Vec<Text> = with_run().map(|(_, run, _)| run.clone()).filter(|run| *run != newest).collect();
        drop(waiting);
        let together = |other: &Text| questions.is_some_and(|questions| questions.together(&newest, other));
        others.iter().all(together).then_some(waiter)
    }

    /// Ends the question that the server takes back.
    pub(crate) fn take_back(&self, question: &str) {
        for waiter in locked(&self.waiting).by_id.values() {
            for (id, token) in &locked(&waiter.state).questions {
                if id == question {
                    token.cancel();
                }
            }
        }
    }

    /// The connection ended: nothing comes any more.
    pub(crate) fn close(&self) {
        let mut waiting = locked(&self.waiting);
        waiting.closed = true;
        for waiter in waiting.by_id.values() {
            locked(&waiter.state).gone = true;
            waiter.woken.notify_one();
        }
    }

    pub(crate) fn is_closed(&self) -> bool {
        locked(&self.waiting).closed
    }
}

impl Waiter {
    /// Brings the reply; the first one counts.
    pub(crate) fn answer(&self, reply: RawReply) {
        let mut state = locked(&self.state);
        if !state.answered {
            state.answered = true;
            state.reply = Some(reply);
        }
        drop(state);
        self.woken.notify_one();
    }

    pub(crate) fn report(&self, progress: Progress) {
        let mut state = locked(&self.state);
        if state.reports.len() >= REPORTS {
            state.reports.pop_front();
        }
        state.reports.push_back(progress);
        drop(state);
        self.woken.notify_one();
    }

    pub(crate) fn is_answered(&self) -> bool {
        locked(&self.state).answered
    }

    /// Begins to ask; not when too many questions are being asked already.
    pub(crate) fn ask(self: &Arc<Self>, id: String) -> Option<Open> {
        let cancelled = CancellationToken::new();
        let mut state = locked(&self.state);
        if state.questions.len() >= QUESTIONS_AT_ONCE {
            return None;
        }
        if state.questions.is_empty() {
            state.asking_since = Some(Instant::now());
        }
        state.questions.push((id.clone(), cancelled.clone()));
        Some(Open { waiter: self.clone(), id, cancelled })
    }
}

impl Drop for Open {
    fn drop(&mut self) {
        let mut state = locked(&self.waiter.state);
        state.questions.retain(|(id, _)| *id != self.id);
        if state.questions.is_empty()
            && let Some(since) = state.asking_since.take()
        {
            state.asked_for += since.elapsed();
        }
        drop(state);
        // The limit on silence begins anew.
        self.waiter.woken.notify_one();
    }
}

impl Ticket {
    /// Waits until something came.
    pub(crate) async fn woken(&self) {
        self.waiter.woken.notified().await;
    }

    /// What came: reports first, as they were sent.
    pub(crate) fn news(&self, report: &mut (dyn FnMut(&Progress) + Send)) -> News {
        let mut state = locked(&self.waiter.state);
        let reports = std::mem::take(&mut state.reports);
        let (reply, gone) = (state.reply.take(), state.gone);
        drop(state);
        for progress in &reports {
            report(progress);
        }
        match reply {
            Some(reply) => News::Reply(reply),
            None if gone => News::Gone,
            None => News::Nothing,
        }
    }

    /// Whether a question is being asked now, and how long it was asked in all.
    pub(crate) fn asking(&self) -> (bool, Duration) {
        let state = locked(&self.waiter.state);
        (state.asking_since.is_some(), state.asked_for)
    }
}

impl Drop for Ticket {
    fn drop(&mut self) {
        locked(&self.inflight.waiting).by_id.remove(&self.id);
        for (_, token) in &locked(&self.waiter.state).questions {
            token.cancel();
        }
    }
}

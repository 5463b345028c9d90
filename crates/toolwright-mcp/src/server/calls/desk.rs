//! Every call of a server that is not over or not forgotten, by everything that finds one: the request that waits for it, its run, its
//! key, its task, the state that a client sends back.
//!
//! Lock order: a job before the desk. Nothing here takes a job's lock.

use std::collections::{HashMap, VecDeque};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use tokio::sync::Notify;
use toolwright::Text;

use super::job::Job;
use crate::server::ServerLimits;
use crate::server::message::Id;
use crate::server::offer::Offer;

/// The tables.
#[derive(Default)]
pub(crate) struct Desk {
    book: Mutex<Book>,
    limits: OnceLock<ServerLimits>,
    /// What is offered now.
    offer: Mutex<Option<Arc<Offer>>>,
    /// Requests of ours to clients, counted.
    asked: AtomicU64,
    closed: AtomicBool,
    /// Told when no call runs any more.
    idle: Notify,
}

#[derive(Default)]
struct Book {
    waiting: HashMap<u64, HashMap<Id, Arc<Job>>>,
    running: HashMap<Text, Arc<Job>>,
    keyed: HashMap<Text, Arc<Job>>,
    states: HashMap<Text, Arc<Job>>,
    /// States in the order in which they were given, also those that are used.
    parked: VecDeque<Text>,
    tasks: HashMap<Text, Arc<Job>>,
    /// Questions that were sent as requests to clients with sessions, with the question's key.
    sent: HashMap<(u64, Id), (Arc<Job>, Text)>,
    /// Calls that are over, the oldest first.
    kept: VecDeque<Kept>,
    kept_bytes: u64,
}

struct Kept {
    until: Instant,
    found_by: FoundBy,
    job: Arc<Job>,
}

/// How a client finds a call again that is over, and how much of it is kept.
#[derive(Default)]
pub(crate) struct FoundBy {
    pub(crate) bytes: u64,
    /// Its idempotency key.
    pub(crate) key: bool,
    pub(crate) task: Option<Text>,
    pub(crate) state: Option<Text>,
}

/// What came of taking a call in.
pub(crate) enum Taken {
    /// It may run.
    New,
    /// The call of this key is here already.
    Known(Arc<Job>),
    /// The server takes nothing new: it stops.
    Closed,
    /// Too many calls are open; this many may be.
    Full(usize),
}

impl Desk {
    pub(crate) fn set_limits(&self, limits: ServerLimits) {
        let _ = self.limits.set(limits);
    }

    pub(crate) fn limits(&self) -> ServerLimits {
        self.limits.get().copied().unwrap_or_default()
    }

    /// Something else is offered from now on.
    pub(crate) fn offers(&self, offer: &Arc<Offer>) {
        *self.offer.lock().unwrap_or_else(PoisonError::into_inner) = Some(offer.clone());
    }

    /// What is offered now.
    pub(crate) fn offer(&self) -> Option<Arc<Offer>> {
        self.offer.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn book(&self) -> MutexGuard<'_, Book> {
        self.book.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Takes a call in, unless it is here or there is no room. It waits for nobody yet.
    pub(crate) fn take_in(&self, job: &Arc<Job>) -> Taken {
        let most = self.limits().calls_open_max;
        let mut book = self.book();
        if job.keyed {
            book.sweep(Instant::now());
            if let Some(known) = book.keyed.get(&job.run) {
                return Taken::Known(known.clone());
            }
        }
        if self.closed.load(Ordering::Acquire) {
            return Taken::Closed;
        }
        if book.running.len() >= most {
            return Taken::Full(most);
        }
        book.running.insert(job.run.clone(), job.clone());
        if job.keyed {
            book.keyed.insert(job.run.clone(), job.clone());
        }
        Taken::New
    }

    /// A request waits for a call from here on.
    pub(crate) fn wait(&self, client: u64, id: &Id, job: &Arc<Job>) {
        self.book().waiting.entry(client).or_default().insert(id.clone(), job.clone());
    }

    /// It does not any more.
    pub(crate) fn unwait(&self, client: u64, id: &Id, job: &Arc<Job>) {
        let mut book = self.book();
        let Some(requests) = book.waiting.get_mut(&client) else { return };
        // The id may belong to a later request already.
        if requests.get(id).is_some_and(|waited| Arc::ptr_eq(waited, job)) {
            requests.remove(id);
        }
        if requests.is_empty() {
            book.waiting.remove(&client);
        }
    }

    /// The call that this request waits for.
    pub(crate) fn waited(&self, client: u64, id: &Id) -> Option<Arc<Job>> {
        self.book().waiting.get(&client)?.get(id).cloned()
    }

    /// Everything that a client waits for.
    pub(crate) fn all_waited(&self, client: u64) -> Vec<(Id, Arc<Job>)> {
        self.book()
            .waiting
            .get(&client)
            .map(|requests| requests.iter().map(|(id, job)| (id.clone(), job.clone())).collect())
            .unwrap_or_default()
    }

    /// A call that runs.
    pub(crate) fn running(&self, run: &str) -> Option<Arc<Job>> {
        self.book().running.get(run).cloned()
    }

    /// All that run.
    pub(crate) fn all_running(&self) -> Vec<Arc<Job>> {
        self.book().running.values().cloned().collect()
    }

    /// A call stands still until a client sends this back. Of too many, the oldest is given up.
    pub(crate) fn add_state(&self, state: Text, job: &Arc<Job>) {
        let most = self.limits().calls_parked_max;
        let mut book = self.book();
        if book.states.insert(state.clone(), job.clone()).is_some() {
            return;
        }
        book.parked.push_back(state);
        while book.states.len() > most {
            let Some(oldest) = book.parked.pop_front() else { break };
            if let Some(job) = book.states.remove(&oldest) {
                job.cancel.cancel();
            }
        }
        // Those that are used are dropped from time to time.
        if book.parked.len() > most.saturating_mul(2) {
            let Book { parked, states, .. } = &mut *book;
            parked.retain(|state| states.contains_key(state));
        }
    }

    pub(crate) fn remove_state(&self, state: &str) {
        self.book().states.remove(state);
    }

    /// The call that a client may take up again with this state.
    pub(crate) fn of_state(&self, state: &str) -> Option<Arc<Job>> {
        let mut book = self.book();
        book.sweep(Instant::now());
        book.states.get(state).cloned()
    }

    pub(crate) fn add_task(&self, task: Text, job: &Arc<Job>) {
        self.book().tasks.insert(task, job.clone());
    }

    /// The call that is this task.
    pub(crate) fn of_task(&self, task: &str) -> Option<Arc<Job>> {
        let mut book = self.book();
        book.sweep(Instant::now());
        book.tasks.get(task).cloned()
    }

    /// An id for a request of ours to a client; unique in this process.
    pub(crate) fn next_question(&self) -> Id {
        Id::Text(format!("ask-{}", self.asked.fetch_add(1, Ordering::Relaxed)).into())
    }

    pub(crate) fn add_sent(&self, client: u64, id: &Id, job: &Arc<Job>, key: &Text) {
        self.book().sent.insert((client, id.clone()), (job.clone(), key.clone()));
    }

    /// The question that a client's answer is meant for. It is asked no more.
    pub(crate) fn take_sent(&self, client: u64, id: &Id) -> Option<(Arc<Job>, Text)> {
        self.book().sent.remove(&(client, id.clone()))
    }

    /// A call is over. It is kept for a client that comes back, unless nobody could find it again.
    pub(crate) fn over(&self, job: &Arc<Job>, kept: Option<FoundBy>) {
        let limits = self.limits();
        let now = Instant::now();
        let mut book = self.book();
        book.running.remove(&job.run);
        if job.keyed && !kept.as_ref().is_some_and(|found_by| found_by.key) {
            book.keyed.remove(&job.run);
        }
        if let Some(found_by) = kept {
            let until = now.checked_add(limits.call_kept).unwrap_or(now);
            book.kept_bytes = book.kept_bytes.saturating_add(found_by.bytes);
            book.kept.push_back(Kept { until, found_by, job: job.clone() });
            book.sweep(now);
            while book.kept.len() > limits.calls_kept_max || book.kept_bytes > limits.calls_kept_bytes_max {
                if !book.forget_oldest() {
                    break;
                }
            }
        }
        if book.running.is_empty() {
            self.idle.notify_waiters();
        }
    }

    /// Takes nothing new from here on.
    pub(crate) fn close(&self) {
        self.closed.store(true, Ordering::Release);
    }

    /// Waits until no call runs, no longer than that. `false`: some still do.
    pub(crate) async fn idle(&self, wait: Duration) -> bool {
        let idle = async {
            loop {
                let mut told = std::pin::pin!(self.idle.notified());
                told.as_mut().enable();
                if self.book().running.is_empty() {
                    break;
                }
                told.await;
            }
        };
        tokio::time::timeout(wait, idle).await.is_ok()
    }

    /// How many calls there are: open ones, kept ones, and requests that wait.
    #[cfg(test)]
    pub(crate) fn counts(&self) -> (usize, usize, usize) {
        let book = self.book();
        (book.running.len(), book.kept.len(), book.waiting.len())
    }
}

impl Book {
    /// Forgets what was kept long enough.
    fn sweep(&mut self, now: Instant) {
        while self.kept.front().is_some_and(|kept| kept.until <= now) {
            self.forget_oldest();
        }
    }

    fn forget_oldest(&mut self) -> bool {
        let Some(Kept { found_by, job, .. }) = self.kept.pop_front() else { return false };
        self.kept_bytes = self.kept_bytes.saturating_sub(found_by.bytes);
        let same = |found: Option<&Arc<Job>>| found.is_some_and(|found| Arc::ptr_eq(found, &job));
        if same(self.keyed.get(&job.run)) {
            self.keyed.remove(&job.run);
        }
        found_by.task.and_then(|task| self.tasks.remove(&task));
        found_by.state.and_then(|state| self.states.remove(&state));
        true
    }
}

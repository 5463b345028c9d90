//! A world that remembers what reached it, and a journal behind which the process ends, or the disk is gone, at one of
//! its operations.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use toolwright::journal::{Admission, Begin, Claim, End, Finish, Resolution, RunHistory, RunJournal, RunRecord, StepKey};
use toolwright::{Eventually, Journal, JournalError, MemoryJournal, Reconciled, Runtime, Text, ToolBuilder, ToolDef, Value, json};

use crate::calling::fixture::pause;
use crate::lifecycle_fixture::App;

type Soon<'a, T> = Eventually<'a, Result<T, JournalError>>;

/// What happens at one operation of the journal, and how things are from then on.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Stop {
    /// The process ends before the record is written.
    DeadBefore,
    /// The process ends when the record is written, before anybody hears of it.
    DeadAfter,
    /// The disk is gone from here on.
    GoneBefore,
    /// The record is written, the answer is lost, and the disk is gone from here on.
    GoneAfter,
    /// Once, a record cannot be written.
    OnceBefore,
    /// Once, a record is written and the answer is lost.
    OnceAfter,
}

pub(crate) const STOPS: [Stop; 6] =
    [Stop::DeadBefore, Stop::DeadAfter, Stop::GoneBefore, Stop::GoneAfter, Stop::OnceBefore, Stop::OnceAfter];

impl Stop {
    fn is_after(self) -> bool {
        matches!(self, Self::DeadAfter | Self::GoneAfter | Self::OnceAfter)
    }

    fn is_death(self) -> bool {
        matches!(self, Self::DeadBefore | Self::DeadAfter)
    }
}

/// The journal of one process. What is kept outlives it.
#[derive(Clone)]
pub(crate) struct Stopping {
    kept: MemoryJournal,
    at: Option<(usize, Stop)>,
    state: Arc<State>,
}

#[derive(Default)]
struct State {
    operations: AtomicUsize,
    stopped: AtomicBool,
    dead: AtomicBool,
}

struct StoppingRun {
    journal: Stopping,
    run: Arc<dyn RunJournal>,
}

impl Stopping {
    pub(crate) fn new(kept: &MemoryJournal, at: Option<(usize, Stop)>) -> Self {
        Self { kept: kept.clone(), at, state: Arc::default() }
    }

    /// Whether it came to the operation at which it stops.
    pub(crate) fn has_stopped(&self) -> bool {
        self.state.stopped.load(Ordering::SeqCst)
    }

    /// Whether the process has ended.
    pub(crate) fn is_dead(&self) -> bool {
        self.state.dead.load(Ordering::SeqCst)
    }

    /// Ends the process: nothing that is asked from now on is done.
    pub(crate) fn die(&self) {
        self.state.dead.store(true, Ordering::SeqCst);
    }

    pub(crate) fn operations(&self) -> usize {
        self.state.operations.load(Ordering::SeqCst)
    }

    fn operation<'a, T: Send + 'a>(&'a self, work: impl FnOnce() -> Soon<'a, T> + Send + 'a) -> Soon<'a, T> {
        let number = self.state.operations.fetch_add(1, Ordering::SeqCst);
        Eventually::Later(Box::pin(async move {
            pause().await;
            let stop = self.at.filter(|(at, _)| *at == number).map(|(_, stop)| stop);
            let gone = self.has_stopped() && matches!(self.at, Some((_, Stop::GoneBefore | Stop::GoneAfter)));
            let writes = !self.is_dead() && !gone && stop.is_none_or(Stop::is_after);
            let done = if writes { Some(work().get().await) } else { None };
            if let Some(stop) = stop {
                self.state.stopped.store(true, Ordering::SeqCst);
                self.state.dead.fetch_or(stop.is_death(), Ordering::SeqCst);
            }
            if self.is_dead() {
                return std::future::pending().await;
            }
            pause().await;
            done.filter(|_| stop.is_none()).unwrap_or_else(|| Err(JournalError::unwritable("the disk is gone")))
        }))
    }
}

impl Journal for Stopping {
    fn open(&self, run: RunRecord, claim: Claim) -> Soon<'_, Arc<dyn RunJournal>> {
        self.operation(move || {
            let Eventually::Now(opened) = self.kept.open(run, claim) else { panic!("it does not wait") };
            Eventually::Now(opened.map(|run| Arc::new(StoppingRun { journal: self.clone(), run }) as Arc<dyn RunJournal>))
        })
    }

    fn load(&self, run: &str) -> Soon<'_, Option<RunHistory>> {
        self.kept.load(run)
    }

    fn resolve(&self, run: &str, path: &str, resolution: Resolution) -> Soon<'_, ()> {
        self.kept.resolve(run, path, resolution)
    }

    fn unfinished(&self) -> Soon<'_, Vec<Text>> {
        self.kept.unfinished()
    }
}

impl RunJournal for StoppingRun {
    fn begin(&self, record: Begin) -> Soon<'_, Admission> {
        self.journal.operation(move || self.run.begin(record))
    }

    fn finish(&self, record: Finish) -> Soon<'_, ()> {
        self.journal.operation(move || self.run.finish(record))
    }

    fn resolve(&self, key: &StepKey, resolution: Resolution) -> Soon<'_, ()> {
        let key = key.clone();
        self.journal.operation(move || self.run.resolve(&key, resolution))
    }

    fn abandoned(&self, key: &StepKey) {
        if !self.journal.is_dead() && !self.journal.has_stopped() {
            self.run.abandoned(key);
        }
    }

    fn end(&self, end: End) -> Soon<'_, ()> {
        self.journal.operation(move || self.run.end(end))
    }

    fn epoch(&self) -> u64 {
        self.run.epoch()
    }
}

/// What reached the world outside: how often, by idempotency key, and what it answered.
#[derive(Clone, Default)]
pub(crate) struct World(Arc<Mutex<BTreeMap<String, (usize, Value)>>>);

impl World {
    /// A tool that takes a while before and after it reaches the world.
    pub(crate) fn tool(&self, builder: ToolBuilder<App>) -> ToolDef<App> {
        let world = self.clone();
        builder.run_json(move |input: Value, call| {
            let world = world.clone();
            async move {
                pause().await;
                let answer = json!({ call.tool(): input });
                world.0.lock().unwrap().entry(call.idempotency_key()).or_insert((0, answer.clone())).0 += 1;
                pause().await;
                Ok(answer)
            }
        })
    }

    /// A mail, and with `asks` one of which the world says whether it came.
    pub(crate) fn mail(&self, asks: bool) -> ToolDef<App> {
        let mail = App::tool("mail", "Sends").writes();
        if !asks {
            return self.tool(mail);
        }
        let world = self.clone();
        self.tool(mail.reconcile(move |begun: toolwright::Begun, _| {
            let came = world.answer(&begun.idempotency_key());
            async move {
                pause().await;
                came.map_or(Reconciled::NotHappened, |answer| Reconciled::Happened(Some(answer)))
            }
        }))
    }

    /// A world that nothing has reached.
    pub(crate) fn forget(&self) {
        self.0.lock().unwrap().clear();
    }

    /// What the world answered under this key, if it was reached.
    pub(crate) fn answer(&self, key: &str) -> Option<Value> {
        self.0.lock().unwrap().get(key).map(|(_, answer)| answer.clone())
    }

    /// Keys of everything that reached it.
    pub(crate) fn keys(&self) -> Vec<String> {
        self.0.lock().unwrap().keys().cloned().collect()
    }

    /// Keys of the mails that came, none of which came twice.
    pub(crate) fn mails(&self, when: &str) -> Vec<String> {
        let reached = self.0.lock().unwrap();
        let mails = reached.iter().filter(|(_, (_, answer))| answer.get("mail").is_some());
        mails
            .map(|(key, (times, _))| {
                assert_eq!(*times, 1, "{when}: `{key}` was sent {times} times");
                key.clone()
            })
            .collect()
    }
}

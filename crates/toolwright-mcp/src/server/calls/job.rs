//! One call: it runs by itself, and requests wait for it. It can stand still for an answer, become a task, and be found again.
//!
//! INVARIANT: everything that is told to those who wait is told under the job's lock, so that progress rises and nothing overtakes a
//! reply. Outlets return at once and never call back.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::SystemTime;

use toolwright::{CallError, CancelSource, EffectState, Fact, Observer, Text, ToolResult, Value};

use super::desk::{Desk, FoundBy};
use super::progress::Track;
use super::questions::Open;
use super::render::{self, Reader};
use super::tasks::Task;
use crate::server::caller::Caller;
use crate::server::message::{INTERNAL_ERROR, INVALID_PARAMS, Id, RESOURCE_NOT_FOUND, RpcError};
use crate::server::offer::Offer;
use crate::server::request::{LogLevel, Request, Terms, complete};

/// A call.
pub(crate) struct Job {
    /// Its run in the catalogue; for a request that is passed on, a name of the same kind.
    pub(crate) run: Text,
    /// Who made it. Nobody else finds it.
    pub(crate) caller: Caller,
    pub(crate) what: What,
    /// Its run is that of an idempotency key: it goes on when nobody waits, and is found by the key.
    pub(crate) keyed: bool,
    /// What was offered when it began; nothing for a request that is passed on.
    pub(crate) offer: Option<Arc<Offer>>,
    /// Its run is kept in a journal.
    pub(crate) journaled: bool,
    pub(crate) cancel: CancelSource,
    pub(super) inner: Mutex<Inner>,
}

/// What is called.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum What {
    /// A tool of the catalogue.
    Tool {
        tool: Text,
        arguments: Value,
        /// It says what form its output has.
        promised: bool,
    },
    /// A request that is passed on to a server.
    Passed { method: Text, params: Value },
}

/// Why requests do not wait any more.
#[derive(Clone, Copy)]
pub(crate) enum Leaving<'a> {
    /// The client said that it wants nothing more of this one.
    Cancelled(&'a Id),
    /// The client is gone.
    Gone,
}

/// What became of it.
pub(crate) enum Outcome {
    Tool(Result<ToolResult, CallError>),
    Passed(Result<Value, RpcError>),
    /// It ended without a word: a fault of ours.
    Lost,
}

/// Gives a result of a passed request the form that its client gets.
pub(crate) type Shape = Box<dyn FnOnce(&Terms, Value) -> Value + Send>;

/// A request that waits for the call.
pub(crate) struct Waiter {
    pub(crate) request: Request,
    /// Under which progress is told; none when nobody asked for it.
    pub(crate) token: Option<Value>,
    pub(crate) shape: Option<Shape>,
}

pub(super) struct Inner {
    pub(super) waiters: Vec<Waiter>,
    /// What the client said about itself that waited last: who is asked when nobody waits just now.
    pub(super) terms: Arc<Terms>,
    /// Questions without an answer.
    pub(super) open: Vec<Open>,
    /// Keys that were used, also those of questions that are over: none is used twice.
    pub(super) used: Vec<Text>,
    /// Answers that came with the first request, before anything was asked.
    pub(super) presets: Value,
    /// What a client sends to take it up again.
    pub(super) state: Option<Text>,
    pub(super) task: Option<Task>,
    pub(super) cancelled: bool,
    pub(super) outcome: Option<Arc<Outcome>>,
    track: Track,
}

impl Job {
    pub(crate) fn new(run: Text, caller: Caller, what: What, terms: Arc<Terms>) -> Self {
        let inner = Inner {
            waiters: Vec::new(),
            terms,
            open: Vec::new(),
            used: Vec::new(),
            presets: Value::Null,
            state: None,
            task: None,
            cancelled: false,
            outcome: None,
            track: Track::default(),
        };
        Self { run, caller, what, keyed: false, offer: None, journaled: false, cancel: CancelSource::new(), inner: Mutex::new(inner) }
    }

    pub(super) fn inner(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn with_presets(mut self, presets: Value) -> Self {
        self.inner.get_mut().unwrap_or_else(PoisonError::into_inner).presets = presets;
        self
    }

    /// Has a request wait for it, or answers that at once when it is over, stands still for an answer, or is a task.
    pub(crate) fn attach(self: &Arc<Self>, desk: &Desk, waiter: Waiter) {
        let mut inner = self.inner();
        if let Some(outcome) = inner.outcome.clone() {
            drop(inner);
            return waiter.reply(self, &outcome);
        }
        if let Some(task) = &inner.task
            && waiter.takes_tasks()
        {
            return waiter.request.reply_complete(task.created(&inner, desk.limits()));
        }
        inner.terms = waiter.request.terms.clone();
        desk.wait(waiter.request.client.key, &waiter.request.id, self);
        inner.waiters.push(waiter);
        self.deliver(desk, &mut inner);
    }

    /// A request does not wait any more, and gets no reply. Nobody else waits: the call is cancelled, unless somebody can find it again;
    /// one with a key only if that was not said, and its client is merely gone.
    pub(crate) fn detach(self: &Arc<Self>, desk: &Desk, client: u64, leaving: Leaving<'_>) {
        let mut inner = self.inner();
        let leaves = |waiter: &mut Waiter| match leaving {
            Leaving::Cancelled(id) => waiter.request.client.key == client && waiter.request.id == *id,
            Leaving::Gone => waiter.request.client.key == client,
        };
        let left: Vec<Waiter> = inner.waiters.extract_if(.., leaves).collect();
        for waiter in &left {
            desk.unwait(client, &waiter.request.id, self);
            // A cancelled request gets none.
            waiter.request.outlet.end();
        }
        // What it was asked and did not answer, somebody else who waits may answer.
        inner.unsent(desk, client);
        self.deliver(desk, &mut inner);
        let found_again = self.keyed && matches!(leaving, Leaving::Gone);
        let lost = inner.waiters.is_empty() && !found_again && inner.task.is_none() && inner.state.is_none();
        if lost && inner.outcome.is_none() {
            inner.cancelled = true;
            drop(inner);
            self.cancel.cancel();
        }
    }

    /// Cancels it, whoever waits.
    pub(crate) fn stop(&self) {
        self.inner().cancelled = true;
        self.cancel.cancel();
    }

    /// It is over: whoever waits is told, and it is kept if somebody can find it again.
    pub(crate) fn end(self: &Arc<Self>, desk: &Desk, outcome: Outcome) {
        let mut inner = self.inner();
        let bytes = outcome.bytes();
        let outcome = Arc::new(outcome);
        inner.outcome = Some(outcome.clone());
        inner.open.clear();
        inner.presets = Value::Null;
        for waiter in std::mem::take(&mut inner.waiters) {
            desk.unwait(waiter.request.client.key, &waiter.request.id, self);
            waiter.reply(self, &outcome);
        }
        inner.touch(self, desk);
        let task = inner.task.as_ref().map(|task| task.id.clone());
        // A call that had no effect may be made again under its key. And the journal knows better how one goes on that failed.
        let key = self.keyed && (outcome.succeeded() || (!self.journaled && outcome.had_effects()));
        let found_again = key || task.is_some() || inner.state.is_some();
        let found_by = FoundBy { bytes, key, task, state: inner.state.clone() };
        desk.over(self, found_again.then_some(found_by));
    }

    /// Makes it a task for those who wait and take tasks. They get it as their reply.
    pub(crate) fn become_task(self: &Arc<Self>, desk: &Desk) {
        let mut inner = self.inner();
        let fits = matches!(self.what, What::Tool { .. }) && inner.outcome.is_none();
        if !fits || !inner.waiters.iter().any(Waiter::takes_tasks) {
            return;
        }
        if inner.task.is_none() {
            let task = Task::new(SystemTime::now());
            desk.add_task(task.id.clone(), self);
            inner.task = Some(task);
        }
        let taking: Vec<Waiter> = inner.waiters.extract_if(.., |waiter| waiter.takes_tasks()).collect();
        for waiter in taking {
            desk.unwait(waiter.request.client.key, &waiter.request.id, self);
            if let Some(task) = &inner.task {
                waiter.request.reply_complete(task.created(&inner, desk.limits()));
            }
        }
    }

    /// The first request that waits for it.
    pub(crate) fn first_waiting(&self) -> Option<Request> {
        self.inner().waiters.first().map(|waiter| waiter.request.clone())
    }

    /// What whoever made it said about itself.
    pub(crate) fn terms(&self) -> Arc<Terms> {
        self.inner().terms.clone()
    }

    /// A log line of a server that works for it, for those who wait and want such lines.
    pub(crate) fn log(&self, params: &Value) {
        let level = params.get("level").and_then(Value::as_str).and_then(LogLevel::parse);
        let inner = self.inner();
        for Waiter { request, .. } in &inner.waiters {
            if wanted(request).is_some_and(|wanted| level.is_none_or(|level| level >= wanted)) {
                request.notify("notifications/message", params);
            }
        }
    }

    /// From where on log lines are wanted, of those who wait the most.
    pub(crate) fn log_level(&self) -> Option<LogLevel> {
        self.inner().waiters.iter().filter_map(|waiter| wanted(&waiter.request)).min()
    }

    /// Whether the same clients wait for both.
    pub(crate) fn is_together_with(&self, other: &Self) -> bool {
        let clients = |job: &Self| job.inner().waiters.iter().map(|waiter| waiter.request.client.key).collect::<BTreeSet<u64>>();
        let ours = clients(self);
        self.caller == other.caller && !ours.is_empty() && ours == clients(other)
    }

    /// The result as a client reads it that asks with these terms.
    pub(crate) fn rendered(&self, outcome: &Outcome, terms: &Terms) -> Result<Value, RpcError> {
        let promised = matches!(self.what, What::Tool { promised: true, .. });
        let run = self.journaled.then_some(&self.run);
        match outcome {
            Outcome::Tool(Ok(result)) => Ok(render::success(result, Reader { version: terms.version, promised, run })),
            Outcome::Tool(Err(error)) => render::refused(error, terms.version).map_or_else(|| Ok(render::failure(error, run)), Err),
            Outcome::Passed(Ok(result)) => Ok(result.clone()),
            Outcome::Passed(Err(error)) => Err(error.clone()),
            Outcome::Lost => Err(RpcError::new(INTERNAL_ERROR, "the call ended without a result; this is a fault of the server")),
        }
    }
}

/// From where on this request wants log lines: as it says itself, or as its session said last.
fn wanted(request: &Request) -> Option<LogLevel> {
    match request.terms.version.sessionless() {
        true => request.terms.log_level,
        false => request.client.terms().and_then(|terms| terms.log_level),
    }
}

impl Waiter {
    fn reply(self, job: &Job, outcome: &Outcome) {
        match job.rendered(outcome, &self.request.terms) {
            Ok(result) => {
                let result = match self.shape {
                    Some(shape) => shape(&self.request.terms, result),
                    None => complete(&self.request.terms, result),
                };
                self.request.reply(&result);
            }
            Err(mut error) => {
                // The newest generation has no code of its own for it.
                if error.code == RESOURCE_NOT_FOUND && self.request.terms.version.sessionless() {
                    error.code = INVALID_PARAMS;
                }
                self.request.refuse(&error);
            }
        }
    }

    /// Whether it may be asked something that another request of the same client answers.
    pub(crate) fn may_come_back(&self) -> bool {
        let said = |name: &str| self.request.terms.capabilities.get(name).is_some();
        self.request.terms.version.sessionless() && (said("elicitation") || said("sampling") || said("roots"))
    }

    pub(crate) fn takes_tasks(&self) -> bool {
        self.request.terms.version.sessionless() && super::input::takes_tasks(&self.request.terms.capabilities)
    }
}

impl Outcome {
    fn succeeded(&self) -> bool {
        matches!(self, Self::Tool(Ok(_)) | Self::Passed(Ok(_)))
    }

    /// Whether something happened, or may have, though it failed.
    fn had_effects(&self) -> bool {
        match self {
            Self::Tool(Err(error)) => {
                !error.effects().is_empty() || matches!(error.effect_state(), EffectState::Happened | EffectState::Unknown)
            }
            Self::Lost => true,
            _ => false,
        }
    }

    /// About how much room it takes.
    fn bytes(&self) -> u64 {
        let weight = |value: &Option<Value>| value.as_ref().map_or(0, Value::weight);
        match self {
            Self::Tool(Ok(result)) => {
                weight(&result.output).saturating_add(weight(&result.content)).saturating_add(weight(&result.details))
            }
            Self::Passed(Ok(result)) => result.weight(),
            Self::Tool(Err(_)) | Self::Passed(Err(_)) | Self::Lost => 1_024,
        }
    }
}

impl Inner {
    /// Something about the task is another: those who watch it are told.
    pub(super) fn touch(&mut self, job: &Job, desk: &Desk) {
        let Some(mut task) = self.task.take() else { return };
        task.updated = SystemTime::now();
        let told = task.has_watchers().then(|| task.detailed(job, self, desk.limits()));
        if let Some(told) = told {
            task.tell(&told);
        }
        self.task = Some(task);
    }
}

/// Tells those who wait how far it is.
pub(crate) struct Watch(pub(crate) Arc<Job>);

impl Observer for Watch {
    fn observe(&self, fact: &Fact) {
        let mut inner = self.0.inner();
        let Some(report) = inner.track.take(fact) else { return };
        for waiter in &inner.waiters {
            if let Some(token) = &waiter.token {
                waiter.request.notify("notifications/progress", &report.params(token));
            }
        }
        if let Some(task) = inner.task.as_mut().filter(|_| !report.message.is_empty()) {
            task.said = Some(report.message);
            task.updated = SystemTime::now();
        }
    }
}

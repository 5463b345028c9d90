//! The life of a call that a client makes: it runs by itself, and whoever waits for it attaches to it.
//!
//! Reading order: here what the engine asks for; [`job`] one call; [`desk`] all of them; [`questions`] what a call asks its client;
//! [`tasks`] a call that is looked after instead of waited for; [`render`] what a client reads at the end.

use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use futures_util::future::{Either, select};
use toolwright::{Again, CallError, Catalog, Diagnostics, EffectState, Fault, Invocation, Journal, Object, Text, ToolResult, Value};

use super::askers::Askers;
use super::caller::Caller;
use super::client::Client;
use super::message::{HEADER_MISMATCH, INTERNAL_ERROR, INVALID_PARAMS, Id, RpcError};
use super::offer::Offer;
use super::request::Request;
use super::version::Version;
use super::{ServerLimits, ServerOptions};
use crate::upstream::{IDEMPOTENCY_KEY_META, Needs, Passed, PassedReply, Upstream};

mod consent;
mod desk;
mod ids;
mod input;
mod job;
mod needs;
mod present;
mod progress;
mod questions;
mod render;
mod tasks;
#[cfg(test)]
mod tests;

pub(super) use consent::{answer as answer_to, question as question_of};
pub(super) use desk::Desk;
pub(super) use input::with_tasks;
pub(super) use job::{Job, Shape};
pub(super) use needs::AllNeeds;
pub(super) use present::changed;
pub(super) use questions::{AskedBy, Asking};
pub(super) use tasks::{Watcher, capable as takes_tasks};

use desk::Taken;
use job::{Leaving, Outcome, Waiter, Watch, What};

/// Bytes of an idempotency key.
const KEY_BYTES_MAX: usize = 256;
/// How long calls that were cancelled have to say what happened, when the server stops.
const CANCEL_GRACE: Duration = Duration::from_secs(5);

/// All calls of a server.
pub(crate) struct Calls {
    desk: Arc<Desk>,
    journal: Option<Arc<dyn Journal>>,
    owner: Text,
    context_key: Option<Text>,
}

/// What a request says beside what is called.
struct Said {
    arguments: Value,
    key: Option<Text>,
    state: Option<Text>,
    responses: Option<Object>,
    token: Option<Value>,
}

impl Calls {
    /// The calls of a server with these options; `askers` find the clients of its calls.
    pub(crate) fn new(options: &ServerOptions, askers: &Askers) -> Arc<Self> {
        askers.desk.set_limits(options.limits);
        Arc::new(Self {
            desk: askers.desk.clone(),
            journal: options.journal.clone(),
            owner: options.owner.clone(),
            context_key: options.context_key.clone(),
        })
    }

    fn limits(&self) -> ServerLimits {
        self.desk.limits()
    }

    /// A `tools/call` of this tool of what is offered, which needs that of its servers. Returns at once; the reply goes to the request's
    /// outlet.
    pub(crate) fn start(self: &Arc<Self>, offer: &Arc<Offer>, needs: Needs, tool: Text, mut request: Request) {
        let said = match Said::of(&request) {
            Ok(said) => said,
            Err(error) => return request.refuse(&error),
        };
        let catalog = offer.catalog.clone();
        let promised = catalog.get(&tool).is_some_and(|tool| tool.output_schema().is_some());
        let call = (tool.clone(), said.arguments.clone());
        let what = What::Tool { tool, arguments: said.arguments.clone(), promised };
        // From here on only what was read of them is needed.
        request.params = Value::Null;
        if said.state.is_some() {
            return self.take_up(&what, &said, request, None);
        }
        let run = match &said.key {
            Some(key) => ids::of_key(&request.client.caller.principal, key),
            None => ids::fresh("run"),
        };
        let mut job = Job::new(run, request.client.caller.clone(), what, request.terms.clone());
        job.keyed = said.key.is_some();
        job.offer = Some(offer.clone());
        job.journaled = self.journal.is_some();
        let presets = said.responses.clone().map_or(Value::Null, Value::Object);
        let job = Arc::new(job.with_presets(presets));
        let waiter = Waiter { request, token: said.token, shape: None };
        // Whoever waits later may want to hear how far it is, too.
        let comes_back = job.keyed || waiter.takes_tasks() || waiter.may_come_back();
        let watched = waiter.token.is_some() || comes_back;
        let takes_tasks = waiter.takes_tasks();
        if !self.admitted(&job, waiter) {
            return;
        }
        let ending = Ending { desk: self.desk.clone(), job: job.clone(), over: false };
        let calls = self.clone();
        tokio::spawn(async move {
            let work = calls.invoke((&catalog, &needs), &job, call, watched);
            let outcome = match takes_tasks {
                false => work.await,
                true => {
                    let work = pin!(work);
                    match select(work, pin!(tokio::time::sleep(calls.limits().task_after))).await {
                        Either::Left((outcome, _)) => outcome,
                        Either::Right(((), work)) => {
                            job.become_task(&calls.desk);
                            work.await
                        }
                    }
                }
            };
            ending.with(Outcome::Tool(outcome));
        });
    }

    /// Takes a new call in, or has the request wait for the one that is here. `false`: nothing is to be run.
    fn admitted(&self, job: &Arc<Job>, waiter: Waiter) -> bool {
        match self.desk.take_in(job) {
            Taken::New => {
                job.attach(&self.desk, waiter);
                return true;
            }
            Taken::Known(known) if known.caller != job.caller || !known.what.is(&job.what) => {
                let message = "this idempotency key was used for another call: another tool, other arguments, or another caller; nothing \
                               was run; use a new key for each call that is to be made once";
                waiter.request.refuse(&RpcError::new(INVALID_PARAMS, message));
            }
            Taken::Known(known) => self.join(&known, waiter),
            Taken::Closed => waiter.request.refuse(&RpcError::new(INTERNAL_ERROR, "the server is stopping and takes no new calls")),
            Taken::Full(most) => {
                let message = format!("{most} calls are not over yet (`calls_open_max`); nothing was run; call again later");
                waiter.request.refuse(&RpcError::new(INTERNAL_ERROR, message));
            }
        }
        false
    }

    /// Has a request wait for a call that runs already.
    fn join(&self, job: &Arc<Job>, waiter: Waiter) {
        let takes_tasks = waiter.takes_tasks();
        job.attach(&self.desk, waiter);
        if takes_tasks {
            let (desk, job) = (self.desk.clone(), job.clone());
            tokio::spawn(async move {
                tokio::time::sleep(desk.limits().task_after).await;
                job.become_task(&desk);
            });
        }
    }

    /// A client sends back the state of a call that stands still, with answers.
    fn take_up(&self, what: &What, said: &Said, request: Request, shape: Option<Shape>) {
        let found = said.state.as_ref().and_then(|state| Some((state, self.desk.of_state(state)?)));
        let Some((state, job)) = found.filter(|(_, job)| job.caller == request.client.caller && job.what.is(what)) else {
            return request.refuse(&questions::no_state());
        };
        match job.take_up(&self.desk, state, said.responses.as_ref()) {
            Err(error) => request.refuse(&error),
            Ok(()) => self.join(&job, Waiter { request, token: said.token.clone(), shape }),
        }
    }

    async fn invoke(
        &self,
        (catalog, needs): (&Catalog, &Needs),
        job: &Arc<Job>,
        (tool, arguments): (Text, Value),
        watched: bool,
    ) -> Result<ToolResult, CallError> {
        let again = match self.journal.as_ref().filter(|_| job.keyed) {
            Some(journal) => catalog.again(&**journal, &job.run, &tool, &arguments).await?,
            None => Again::Runs,
        };
        // Before anything runs: what ran first would run again with every call that ends at a tool that is withheld.
        if again == Again::Runs {
            let cancelled = job.cancel.token();
            tokio::select! {
                biased;
                compared = needs::compared(needs, &tool) => compared?,
                () = cancelled.cancelled() => return Err(Fault::Cancelled { state: EffectState::NotStarted }.into()),
            }
        }
        let invocation = Invocation::new(tool, arguments).cancel(job.cancel.token());
        let run = job.run.clone();
        let mut invocation = if job.keyed { invocation.run_id(run) } else { invocation.new_run_id(run) };
        if watched {
            invocation = invocation.diagnostics(Diagnostics::disabled().with_observer(Arc::new(Watch(job.clone()))));
        }
        if let Some(journal) = &self.journal {
            invocation = invocation.journal(journal.clone()).claimed_by(self.owner.clone(), None);
            if let Some(key) = &self.context_key {
                invocation = invocation.context_key(key.clone());
            }
            if !job.caller.principal.is_empty() {
                invocation = invocation.principal(job.caller.principal.clone());
            }
        }
        catalog.invoke(invocation, job.caller.context()).await
    }

    /// A request that is passed on to a server as it is, such as `resources/read`. It may ask for input, and can be cancelled.
    pub(crate) fn pass(self: &Arc<Self>, upstream: Upstream, mut request: Request, shape: Shape) {
        let said = match Said::of(&request) {
            Ok(said) => said,
            Err(error) => return request.refuse(&error),
        };
        let (method, params) = (request.method.clone(), stripped(&request.params));
        let what = What::Passed { method: method.clone(), params: params.clone() };
        request.params = Value::Null;
        if said.state.is_some() {
            return self.take_up(&what, &said, request, Some(shape));
        }
        let job = Job::new(ids::fresh("pass"), request.client.caller.clone(), what, request.terms.clone());
        let job = Arc::new(job.with_presets(said.responses.map_or(Value::Null, Value::Object)));
        let (client, outlet) = (request.client.key, request.outlet.clone());
        if !self.admitted(&job, Waiter { request, token: said.token, shape: Some(shape) }) {
            return;
        }
        // It took a while to find out where it goes; its client may have gone meanwhile.
        if !outlet.is_open() {
            job.detach(&self.desk, client, Leaving::Gone);
        }
        let ending = Ending { desk: self.desk.clone(), job: job.clone(), over: false };
        tokio::spawn(async move {
            let mut passed = Passed::new(method, params, job.run.clone());
            passed.cancel = job.cancel.token();
            let outcome = match upstream.pass(passed).await {
                Ok(PassedReply::Result(result)) => Ok(result),
                Ok(PassedReply::Refused { code, message, data }) => Err(RpcError { code, message, data }),
                Err(error) => {
                    let help = error.help.map(|help| format!("; {help}")).unwrap_or_default();
                    let data = Value::object([("code", error.code)]);
                    Err(RpcError::new(INTERNAL_ERROR, format!("{}{help}", error.message)).with_data(data))
                }
            };
            ending.with(Outcome::Passed(outcome));
        });
    }

    /// `tasks/get`, `tasks/update`, `tasks/cancel`. `false`: that is no method of this version.
    pub(crate) fn task(&self, request: &Request) -> bool {
        if !request.terms.version.sessionless() || !matches!(request.method.as_str(), "tasks/get" | "tasks/update" | "tasks/cancel") {
            return false;
        }
        match self.about_task(request) {
            Ok(result) => request.reply_complete(result),
            Err(error) => request.refuse(&error),
        }
        true
    }

    fn about_task(&self, request: &Request) -> Result<Value, RpcError> {
        let id = tasks::named(request)?;
        let job = self.of_task(id, &request.client.caller).ok_or_else(|| tasks::unknown(id))?;
        let nothing = Value::object::<Text, Value>([]);
        match request.method.as_str() {
            "tasks/get" => job.task(self.limits()).ok_or_else(|| tasks::unknown(id)),
            "tasks/update" => {
                job.update(&self.desk, responses(&request.params)?.as_ref())?;
                Ok(nothing)
            }
            _ => {
                job.stop();
                Ok(nothing)
            }
        }
    }

    fn of_task(&self, id: &str, caller: &Caller) -> Option<Arc<Job>> {
        self.desk.of_task(id).filter(|job| job.caller == *caller)
    }

    /// Has somebody hear of these tasks for as long as the watcher lives; those of them that are tasks of this caller.
    pub(crate) fn watch(&self, caller: &Caller, tasks: &[Text], watcher: &Watcher) -> Vec<Text> {
        let theirs = |id: &&Text| self.of_task(id, caller).is_some_and(|job| job.watch(watcher, self.limits()));
        tasks.iter().filter(theirs).cloned().collect()
    }

    /// `notifications/cancelled`: the call that this request waits for is cancelled, unless others wait for it or it can be found again.
    /// `false`: it waits for none.
    pub(crate) fn cancel(&self, client: &Client, id: &Id) -> bool {
        let Some(job) = self.desk.waited(client.key, id) else { return false };
        job.detach(&self.desk, client.key, Leaving::Cancelled(id));
        true
    }

    /// A client is gone: its session ended, its pipe closed, or nobody reads the reply to its request any more.
    pub(crate) fn left(&self, client: &Client) {
        for (_, job) in self.desk.all_waited(client.key) {
            job.detach(&self.desk, client.key, Leaving::Gone);
        }
    }

    /// The request that waits for this run, if one does: log lines of the run belong to it.
    pub(crate) fn client_of_run(&self, run: &str) -> Option<Request> {
        self.desk.running(run)?.first_waiting()
    }

    /// The capabilities that calls add to what the server declares: the extensions of the sessionless generation.
    pub(crate) fn extensions(&self, version: Version) -> Option<Value> {
        version.sessionless().then(|| Value::object([(input::TASKS, Value::object::<Text, Value>([]))]))
    }

    /// Takes no new call, waits so long for those that run, then cancels them and waits for what they have to say.
    pub(crate) async fn stop(&self, grace: Duration) {
        self.desk.close();
        for job in self.desk.all_running() {
            job.leave_approvals();
        }
        if self.desk.idle(grace).await {
            return;
        }
        self.desk.all_running().iter().for_each(|job| job.stop());
        self.desk.idle(CANCEL_GRACE).await;
    }
}

/// A call whose end is told, whatever ends it.
struct Ending {
    desk: Arc<Desk>,
    job: Arc<Job>,
    over: bool,
}

impl Ending {
    fn with(mut self, outcome: Outcome) {
        self.over = true;
        self.job.end(&self.desk, outcome);
    }
}

impl Drop for Ending {
    fn drop(&mut self) {
        if !self.over {
            self.job.end(&self.desk, Outcome::Lost);
        }
    }
}

impl What {
    /// Whether it is the same call: what was said of the tool's promises does not matter.
    fn is(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Tool { tool, arguments, .. }, Self::Tool { tool: other, arguments: others, .. }) => tool == other && arguments == others,
            (Self::Passed { method, params }, Self::Passed { method: other, params: others }) => method == other && params == others,
            _ => false,
        }
    }
}

impl Said {
    fn of(request: &Request) -> Result<Self, RpcError> {
        let wrong = |message: &str| Err(RpcError::new(INVALID_PARAMS, message));
        let arguments = match request.params.get("arguments") {
            None | Some(Value::Null) => Value::object::<Text, Value>([]),
            Some(arguments @ Value::Object(_)) => arguments.clone(),
            Some(other) => return wrong(&format!("`arguments` must be an object, not {}", other.kind())),
        };
        let key = match request.meta(IDEMPOTENCY_KEY_META) {
            None => request.key.clone(),
            // One of them would be what somebody before us has judged by.
            Some(Value::String(key)) if request.key.as_ref().is_some_and(|header| header != key) => {
                let message = format!(
                    "the header `Idempotency-Key` and `_meta[\"{IDEMPOTENCY_KEY_META}\"]` are different keys; send the same in both, or one of them"
                );
                return Err(RpcError::new(HEADER_MISMATCH, message));
            }
            Some(Value::String(key)) => Some(key.clone()),
            Some(_) => return wrong(&format!("`_meta[\"{IDEMPOTENCY_KEY_META}\"]` must be a text")),
        };
        if key.as_ref().is_some_and(|key| key.is_empty() || key.len() > KEY_BYTES_MAX) {
            return wrong(&format!("an idempotency key has 1 to {KEY_BYTES_MAX} bytes"));
        }
        let token = match request.meta("progressToken") {
            None | Some(Value::Null) => None,
            Some(token @ (Value::String(_) | Value::Number(_))) => Some(token.clone()),
            Some(_) => return wrong("`_meta.progressToken` must be a text or a number"),
        };
        if !request.terms.version.sessionless() {
            return Ok(Self { arguments, key, state: None, responses: None, token });
        }
        let state = match request.params.get("requestState") {
            None => None,
            Some(Value::String(state)) => Some(state.clone()),
            Some(_) => return wrong("`requestState` must be the text that the server gave"),
        };
        Ok(Self { arguments, key, state, responses: responses(&request.params)?, token })
    }
}

/// The answers to what was asked.
fn responses(params: &Value) -> Result<Option<Object>, RpcError> {
    match params.get("inputResponses") {
        None => Ok(None),
        Some(Value::Object(responses)) => Ok(Some(responses.clone())),
        Some(other) => {
            let message = format!("`inputResponses` must be an object of answers by the keys of `inputRequests`, not {}", other.kind());
            Err(RpcError::new(INVALID_PARAMS, message))
        }
    }
}

/// The parameters without what is between the client and us.
fn stripped(params: &Value) -> Value {
    match params {
        Value::Object(params) => Value::Object(
            ["_meta", "inputResponses", "requestState"]
                .iter()
                .fold(params.clone(), |params, name| if params.get(name).is_some() { params.without(name) } else { params }),
        ),
        other => other.clone(),
    }
}

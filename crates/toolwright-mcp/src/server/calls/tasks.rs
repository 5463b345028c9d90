//! Calls as tasks (the extension `io.modelcontextprotocol/tasks` of 2026-07-28): how far one is, what it asks, what became of it.
//!
//! The server decides what becomes a task: a call that the server behind it makes one, and a call that lasts long, for a client that
//! said it takes tasks. A task is found by its id and by nobody but the caller that made it.

use std::sync::{Arc, Weak};
use std::time::SystemTime;

use toolwright::{Text, Value};

use super::ids;
use super::input;
use super::job::{Inner, Job, Outcome};
use super::render;
use crate::server::ServerLimits;
use crate::server::message::{INVALID_PARAMS, MISSING_CAPABILITY, RpcError};
use crate::server::request::{Request, Terms};

/// Who hears of a task: gets the parameters of `notifications/tasks`. Hears no more once it is dropped. Must not call back.
pub(crate) type Watcher = Arc<Ear>;

type Ear = dyn Fn(&Value) + Send + Sync;

/// What a call has more as a task.
pub(crate) struct Task {
    pub(crate) id: Text,
    created: SystemTime,
    pub(super) updated: SystemTime,
    /// The newest word on how far it is.
    pub(super) said: Option<Text>,
    watchers: Vec<Weak<Ear>>,
}

/// How a task stands, with what belongs to that.
enum Standing {
    Working,
    InputRequired(Value),
    Completed(Value),
    Failed(RpcError),
    /// With what is known of how it ended, when it had begun.
    Cancelled(Value),
}

impl Task {
    pub(super) fn new(now: SystemTime) -> Self {
        Self { id: ids::fresh("task"), created: now, updated: now, said: None, watchers: Vec::new() }
    }

    /// The reply to the request that became it.
    pub(super) fn created(&self, inner: &Inner, limits: ServerLimits) -> Value {
        let status = if inner.asks() { "input_required" } else { "working" };
        let mut members: Vec<(Text, Value)> = vec![("resultType".into(), "task".into())];
        members.extend(self.members(status, inner.outcome.is_some(), limits));
        Value::object(members)
    }

    /// All of it, with its result, its error, or what it asks.
    pub(super) fn detailed(&self, job: &Job, inner: &Inner, limits: ServerLimits) -> Value {
        let standing = standing(job, inner);
        let status = match &standing {
            Standing::Working => "working",
            Standing::InputRequired(_) => "input_required",
            Standing::Completed(_) => "completed",
            Standing::Failed(_) => "failed",
            Standing::Cancelled(_) => "cancelled",
        };
        let mut members = self.members(status, inner.outcome.is_some(), limits);
        match standing {
            Standing::Working => {}
            Standing::Cancelled(details) => members.push(("_meta".into(), Value::object([(render::ERROR_META, details)]))),
            Standing::InputRequired(asked) => members.push(("inputRequests".into(), asked)),
            Standing::Completed(result) => members.push(("result".into(), result)),
            Standing::Failed(error) => {
                let mut said = vec![("code", Value::from(error.code)), ("message", error.message.into())];
                said.extend(error.data.map(|data| ("data", data)));
                members.push(("error".into(), Value::object(said)));
            }
        }
        Value::object(members)
    }

    fn members(&self, status: &'static str, over: bool, limits: ServerLimits) -> Vec<(Text, Value)> {
        let millis = |duration: std::time::Duration| u64::try_from(duration.as_millis()).unwrap_or(u64::MAX);
        // While it runs it is not forgotten; once it is over it is kept for so long.
        let end = if over { self.updated } else { SystemTime::now() };
        let age = end.duration_since(self.created).unwrap_or_default();
        let mut members: Vec<(Text, Value)> = vec![("taskId".into(), Value::String(self.id.clone())), ("status".into(), status.into())];
        members.extend(self.said.clone().map(|said| ("statusMessage".into(), Value::String(said))));
        members.push(("createdAt".into(), ids::iso(self.created).into()));
        members.push(("lastUpdatedAt".into(), ids::iso(self.updated).into()));
        members.push(("ttlMs".into(), millis(age.saturating_add(limits.call_kept)).into()));
        members.push(("pollIntervalMs".into(), millis(limits.task_poll).max(1).into()));
        members
    }

    pub(super) fn has_watchers(&mut self) -> bool {
        self.watchers.retain(|watcher| watcher.strong_count() > 0);
        !self.watchers.is_empty()
    }

    pub(super) fn tell(&self, told: &Value) {
        for watcher in self.watchers.iter().filter_map(Weak::upgrade) {
            watcher(told);
        }
    }
}

fn standing(job: &Job, inner: &Inner) -> Standing {
    let Some(outcome) = &inner.outcome else {
        return if inner.asks() { Standing::InputRequired(inner.all_asked()) } else { Standing::Working };
    };
    if let Outcome::Tool(Err(error)) = &**outcome {
        if inner.cancelled {
            return Standing::Cancelled(render::details(error, job.journaled.then_some(&job.run)));
        }
        // An error of the protocol is none of the tool.
        if let Some(rpc) = render::rpc_error(error) {
            return Standing::Failed(rpc);
        }
    }
    match job.rendered(outcome, &inner.terms) {
        Ok(result) => Standing::Completed(result),
        Err(error) => Standing::Failed(error),
    }
}

impl Job {
    /// The task as it stands.
    pub(crate) fn task(&self, limits: ServerLimits) -> Option<Value> {
        let inner = self.inner();
        Some(inner.task.as_ref()?.detailed(self, &inner, limits))
    }

    /// Has somebody hear of the task, beginning with how it stands now. `false`: it is none.
    pub(crate) fn watch(&self, watcher: &Watcher, limits: ServerLimits) -> bool {
        let mut inner = self.inner();
        let Some(mut task) = inner.task.take() else { return false };
        task.watchers.push(Arc::downgrade(watcher));
        watcher(&task.detailed(self, &inner, limits));
        inner.task = Some(task);
        true
    }
}

/// What a request about tasks names.
pub(super) fn named(request: &Request) -> Result<&Text, RpcError> {
    capable(&request.terms)?;
    let id = request.params.get("taskId").and_then(Value::as_text);
    id.ok_or_else(|| RpcError::new(INVALID_PARAMS, format!("`{}` needs `taskId`, a text: the id that the task was given", request.method)))
}

/// Whether the client said that it takes tasks.
///
/// # Errors
/// What it must declare.
pub(crate) fn capable(terms: &Terms) -> Result<(), RpcError> {
    if input::takes_tasks(&terms.capabilities) {
        return Ok(());
    }
    let nothing = Value::object::<Text, Value>([]);
    let needed = Value::object([("extensions", Value::object([(input::TASKS, nothing)]))]);
    let message = format!("this needs the client capability `extensions[\"{}\"]`, which the request did not declare", input::TASKS);
    Err(RpcError::new(MISSING_CAPABILITY, message).with_data(Value::object([("requiredCapabilities", needed)])))
}

pub(super) fn unknown(id: &str) -> RpcError {
    let shown: String = id.chars().filter(|c| !c.is_control()).take(80).collect();
    let message = format!("there is no task `{shown}` of this caller: it never was, or it is over for so long that it was forgotten");
    RpcError::new(INVALID_PARAMS, message)
}

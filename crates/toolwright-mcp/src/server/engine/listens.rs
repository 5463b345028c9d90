//! `subscriptions/listen`: a request of the sessionless generation that stays open, and hears of what its sender chose.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex};

use toolwright::{Object, Text, Value};

use super::Engine;
use super::changes::{SUBSCRIBED_MAX, lock};
use super::routes::Current;
use crate::server::calls::{Watcher, takes_tasks};
use crate::server::message::{self, RpcError};
use crate::server::request::{META_SUBSCRIPTION, Request, with_meta};

/// Subscriptions at once, of all clients.
const LISTENS_MAX: usize = 10_000;
/// Tasks that one subscription may hear of.
const TASKS_MAX: usize = 1_000;

/// The lists that a subscription may hear of: the member of its filter, and the word in the notification.
const LISTS: [(&str, &str); 3] = [("toolsListChanged", "tools"), ("promptsListChanged", "prompts"), ("resourcesListChanged", "resources")];

/// One subscription.
pub(super) struct Listen {
    pub(super) request: Request,
    pub(super) kinds: BTreeSet<&'static str>,
    pub(super) uris: BTreeSet<Text>,
    /// Hears of tasks as long as it is held.
    _watcher: Option<Watcher>,
}

impl Listen {
    pub(super) fn tell(&self, method: &str, params: &Object) {
        tell(&self.request, method, params);
    }
}

fn tell(request: &Request, method: &str, params: &Object) {
    let tagged = with_meta(params, META_SUBSCRIPTION, request.id.to_value());
    request.notify(method, &Value::from(tagged));
}

impl Engine {
    /// Opens a subscription.
    pub(super) fn listened(self: &Arc<Self>, request: Request) {
        let Some(wanted) = request.params.get("notifications").and_then(Value::as_object).cloned() else {
            let text =
                "`subscriptions/listen` needs `notifications`, an object that says what to hear of, such as `{\"toolsListChanged\": true}`";
            return request.refuse(&RpcError::new(message::INVALID_PARAMS, text));
        };
        if wanted.get("taskIds").is_some()
            && let Err(error) = takes_tasks(&request.terms)
        {
            return request.refuse(&error);
        }
        let engine = self.clone();
        tokio::spawn(async move { engine.listen(request, &wanted).await });
    }

    async fn listen(self: &Arc<Self>, request: Request, wanted: &Object) {
        let current = self.current.load_full();
        let (mut agreed, kinds) = lists(&current, &request, wanted);
        let holder = (request.client.key, Some(request.id.clone()));
        let mut uris = BTreeSet::new();
        for uri in texts(wanted, "resourceSubscriptions", SUBSCRIBED_MAX) {
            if self.hold(&current, &request.client.caller, uri, holder.clone()).await.is_ok() {
                uris.insert(uri.clone());
            }
        }
        if wanted.get("resourceSubscriptions").is_some() {
            agreed = agreed.with("resourceSubscriptions", uris.iter().map(Value::from).collect::<Value>());
        }
        let tasks: Vec<Text> = texts(wanted, "taskIds", TASKS_MAX).cloned().collect();
        let gate = Arc::new(TaskGate { request: request.clone(), waiting: Mutex::new(Some(Vec::new())) });
        let watcher: Option<Watcher> = (!tasks.is_empty()).then(|| {
            let gate = gate.clone();
            Arc::new(move |params: &Value| gate.heard(params)) as Watcher
        });
        if let Some(watcher) = &watcher {
            let watched = self.calls.watch(&request.client.caller, &tasks, watcher);
            agreed = agreed.with("taskIds", watched.iter().map(Value::from).collect::<Value>());
        }
        let listen = Arc::new(Listen { request, kinds, uris, _watcher: watcher });
        if !self.opened(&listen, agreed) {
            let text = format!("{LISTENS_MAX} subscriptions are open already; open this one later");
            listen.request.refuse(&RpcError::new(message::INTERNAL_ERROR, text));
        }
        gate.open();
        // It was refused, or called off while the servers were asked.
        if !listen.request.outlet.is_open() {
            self.changes.ended(self, &listen.request.client, &listen.request.id);
            self.changes.let_go(self, |gone| *gone == holder);
        }
    }

    /// Acknowledges a subscription and keeps it, unless there are too many.
    fn opened(&self, listen: &Arc<Listen>, agreed: Object) -> bool {
        // The lock is held over both, so that nothing is told before the acknowledgement.
        let mut listens = lock(&self.changes.listens);
        if listens.len() >= LISTENS_MAX {
            return false;
        }
        listen.tell("notifications/subscriptions/acknowledged", &Object::EMPTY.with("notifications", agreed));
        listens.push(listen.clone());
        true
    }
}

/// The lists that somebody wants to hear of and can, as they are acknowledged, and as they are called.
fn lists(current: &Current, request: &Request, wanted: &Object) -> (Object, BTreeSet<&'static str>) {
    let passes = !current.visible(&request.client.caller).is_empty();
    let mut agreed = Object::EMPTY;
    let mut kinds = BTreeSet::new();
    for (member, kind) in LISTS {
        if wanted.get(member).and_then(Value::as_bool) == Some(true) && (kind == "tools" || passes) {
            agreed = agreed.with(member, true);
            kinds.insert(kind);
        }
    }
    (agreed, kinds)
}

fn texts<'a>(wanted: &'a Object, member: &str, most: usize) -> impl Iterator<Item = &'a Text> {
    wanted.get(member).and_then(Value::as_array).unwrap_or_default().iter().filter_map(Value::as_text).take(most)
}

/// Keeps what is heard of tasks until the subscription is acknowledged.
struct TaskGate {
    request: Request,
    waiting: Mutex<Option<Vec<Value>>>,
}

impl TaskGate {
    fn heard(&self, params: &Value) {
        let mut waiting = lock(&self.waiting);
        match &mut *waiting {
            Some(waiting) => waiting.push(params.clone()),
            None => self.tell(params),
        }
    }

    fn open(&self) {
        let mut waiting = lock(&self.waiting);
        waiting.take().unwrap_or_default().iter().for_each(|params| self.tell(params));
    }

    fn tell(&self, params: &Value) {
        if let Value::Object(params) = params {
            tell(&self.request, "notifications/tasks", params);
        }
    }
}

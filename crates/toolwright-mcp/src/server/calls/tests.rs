//! Calls over a real catalogue, seen from where an engine sees them: requests in, messages out.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use tokio::sync::Notify;
use toolwright::approval::{Answer, Request as ApprovalRequest};
use toolwright::{
    Approver, Catalog, Composite, CompositeSpec, Invocation, Journal, MemoryJournal, Registry, Text, ToolError, Value, json, tool,
};

use super::{Calls, Needs};
use crate::server::client::{Client, ClientKind};
use crate::server::message::Id;
use crate::server::outlet::{Outlet, Reply};
use crate::server::request::{Request, Terms};
use crate::server::version::Version;
use crate::server::{ApprovalAsking, Askers, Caller, Offer, ServerLimits, ServerOptions};
use crate::upstream::{Answered, Asked, Question, Questions};

mod asking;
mod keys;
mod long;
mod plain;

/// What was sent to a client about one request.
#[derive(Default)]
pub(super) struct Tape {
    told: Mutex<Vec<Value>>,
    reply: Mutex<Option<Value>>,
    ended: Mutex<bool>,
    news: Notify,
}

impl Outlet for Tape {
    fn tell(&self, message: String) {
        assert!(self.reply.lock().unwrap().is_none(), "told after the reply: {message}");
        self.told.lock().unwrap().push(Value::parse(&message).unwrap());
        self.news.notify_waiters();
        self.news.notify_one();
    }

    fn reply(&self, reply: Reply) {
        let before = self.reply.lock().unwrap().replace(Value::parse(&reply.text).unwrap());
        assert_eq!(before, None, "two replies");
        self.news.notify_one();
    }

    fn end(&self) {
        *self.ended.lock().unwrap() = true;
    }

    fn is_open(&self) -> bool {
        !*self.ended.lock().unwrap()
    }
}

impl Tape {
    pub(super) async fn until<T>(&self, look: impl Fn(&Self) -> Option<T>) -> T {
        let found = async {
            loop {
                if let Some(found) = look(self) {
                    return found;
                }
                self.news.notified().await;
            }
        };
        tokio::time::timeout(Duration::from_secs(10), found).await.expect("nothing came")
    }

    pub(super) async fn replied(&self) -> Value {
        self.until(|tape| tape.reply.lock().unwrap().clone()).await
    }

    pub(super) async fn result(&self) -> Value {
        let reply = self.replied().await;
        reply.get("result").unwrap_or_else(|| panic!("{reply}")).clone()
    }

    pub(super) async fn code(&self) -> i64 {
        let reply = self.replied().await;
        reply.pointer("/error/code").and_then(Value::as_i64).unwrap_or_else(|| panic!("{reply}"))
    }

    pub(super) fn told(&self, method: &str) -> Vec<Value> {
        self.told.lock().unwrap().iter().filter(|told| told.get("method").and_then(Value::as_str) == Some(method)).cloned().collect()
    }

    pub(super) async fn asked(&self, method: &str) -> Value {
        self.until(|tape| tape.told(method).pop()).await
    }

    pub(super) fn is_silent(&self) -> bool {
        self.reply.lock().unwrap().is_none()
    }
}

/// A server's calls over the tools below, and what the tools did.
pub(super) struct Bench {
    pub(super) calls: Arc<Calls>,
    pub(super) askers: Askers,
    catalog: Catalog,
    pub(super) did: Arc<Did>,
    next: AtomicUsize,
}

/// What the tools did.
#[derive(Default)]
pub(super) struct Did {
    pub(super) started: AtomicUsize,
    pub(super) cancelled: AtomicUsize,
    pub(super) paid: AtomicUsize,
    pub(super) go: Notify,
}

impl Bench {
    pub(super) fn new() -> Self {
        Self::with(ServerLimits::default(), None, ApprovalAsking::default())
    }

    pub(super) fn with(limits: ServerLimits, journal: Option<Arc<dyn Journal>>, approvals: ApprovalAsking) -> Self {
        let mut options = ServerOptions::new("test", "1");
        options.limits = limits;
        options.journal = journal;
        options.owner = "tests".into();
        let askers = Askers::new().with_approvals(approvals);
        let did = Arc::new(Did::default());
        Self { calls: Calls::new(&options, &askers), catalog: catalog(&askers, &did), askers, did, next: AtomicUsize::new(1) }
    }

    fn key(&self) -> u64 {
        self.next.fetch_add(1, Ordering::Relaxed) as u64
    }

    /// A client with a session.
    pub(super) fn session(&self, principal: &str) -> Arc<Client> {
        Client::new(self.key(), ClientKind::Session, caller(principal), Arc::new(Tape::default()))
    }

    /// Somebody who sends one request of the sessionless generation.
    pub(super) fn single(&self, principal: &str) -> Arc<Client> {
        Client::new(self.key(), ClientKind::Single, caller(principal), Arc::new(Tape::default()))
    }

    pub(super) fn call(&self, client: &Arc<Client>, terms: &Arc<Terms>, id: i64, tool: &str, params: Value) -> Arc<Tape> {
        let tape = Arc::new(Tape::default());
        let offer = Arc::new(Offer::new(self.catalog.clone()));
        self.calls.start(&offer, Needs::default(), tool.into(), request(client, terms, id, "tools/call", params, &tape));
        tape
    }

    pub(super) fn task(&self, terms: &Arc<Terms>, principal: &str, method: &str, params: Value) -> Arc<Tape> {
        let tape = Arc::new(Tape::default());
        assert!(self.calls.task(&request(&self.single(principal), terms, 1, method, params, &tape)), "{method}");
        tape
    }

    pub(super) fn started(&self) -> usize {
        self.did.started.load(Ordering::SeqCst)
    }
}

pub(super) fn request(client: &Arc<Client>, terms: &Arc<Terms>, id: i64, method: &str, params: Value, tape: &Arc<Tape>) -> Request {
    let id = number(id);
    Request { client: client.clone(), terms: terms.clone(), id, method: method.into(), params, key: None, outlet: tape.clone() }
}

pub(super) fn number(id: i64) -> Id {
    Id::from_value(&Value::from(id)).unwrap()
}

fn caller(principal: &str) -> Caller {
    Caller { principal: principal.into(), ..Caller::default() }
}

pub(super) fn terms(version: Version, capabilities: Value) -> Arc<Terms> {
    Arc::new(Terms { version, capabilities, client: Value::Null, log_level: None, server: json!({ "name": "test" }) })
}

pub(super) fn newest(capabilities: Value) -> Arc<Terms> {
    terms(Version::V2026_07_28, capabilities)
}

pub(super) fn with_tasks() -> Arc<Terms> {
    newest(json!({ "elicitation": {}, "extensions": { "io.modelcontextprotocol/tasks": {} } }))
}

/// Waits until it is so, for no longer than ten seconds.
pub(super) async fn until(what: &str, is: impl Fn() -> bool) {
    for _ in 0..1_000 {
        if is() {
            return;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    panic!("never so: {what}");
}

fn catalog(askers: &Askers, did: &Arc<Did>) -> Catalog {
    let echo = tool("echo", "Gives back what it gets").reads().run_json(|input, _call| async move { Ok(input) });
    let fail = tool("fail", "Fails").reads().run_json(|_, _call| async move { Err::<Value, _>(ToolError::new("no luck").code("luck")) });
    let steady = tool("steady", "Reports").reads().run_json(|_, call| async move {
        for done in [0.0, 50.0, 50.0, 20.0, 100.0] {
            call.progress("", Some(done), Some(100.0));
        }
        Ok(json!({ "v": 1 }))
    });
    let waits = |did: Arc<Did>| {
        move |_: Value, call: toolwright::Call| {
            let did = did.clone();
            async move {
                did.started.fetch_add(1, Ordering::SeqCst);
                call.progress("waiting", None, None);
                tokio::select! {
                    () = did.go.notified() => Ok(json!({ "waited": true })),
                    () = call.cancel().cancelled() => {
                        did.cancelled.fetch_add(1, Ordering::SeqCst);
                        Err(ToolError::new("was told to stop").nothing_happened())
                    }
                }
            }
        }
    };
    let slow = tool("slow", "Waits until it is let go").writes().run_json(waits(did.clone()));
    let steps = json!({ "steps": [
        { "name": "one", "tool": "echo", "inputMapping": { "v": 1 } },
        { "name": "two", "tool": "steady", "inputMapping": {} },
    ]});
    let both = Composite::new("both", "Two steps").spec(CompositeSpec::from_value(&steps).unwrap());
    Registry::new()
        .with(echo)
        .and_then(|registry| registry.with(fail))
        .and_then(|registry| registry.with(steady))
        .and_then(|registry| registry.with(slow))
        .and_then(|registry| registry.with(asks(askers)))
        .and_then(|registry| registry.with(pays(askers, did)))
        .and_then(|registry| registry.with(both))
        .unwrap()
        .seal()
}

/// Asks whoever calls, as a server behind a tool does, all that its arguments name.
fn asks(askers: &Askers) -> toolwright::ToolDef {
    let askers = askers.clone();
    tool("asks", "Asks back").reads().run_json(move |input, call| {
        let askers = askers.clone();
        async move {
            let mut said = Vec::new();
            for moment in input.get("moments").and_then(Value::as_array).unwrap_or_default() {
                let questions = moment.as_array().unwrap_or_default().iter().map(|question| Question {
                    key: question.get("key").and_then(Value::as_text).cloned().unwrap_or_default(),
                    method: question.get("method").and_then(Value::as_text).cloned().unwrap_or_default(),
                    params: question.get("params").cloned().unwrap_or_default(),
                });
                let run = call.frame().run_id();
                for answered in Questions::ask(&askers, Asked::new(run, "server", questions.collect())).await {
                    said.push(match answered {
                        Answered::Result(result) => result,
                        Answered::Refused { code, message } => json!({ "refused": code, "message": message }),
                    });
                }
            }
            Ok(json!({ "said": said }))
        }
    })
}

/// Needs a yes, and does nothing without one.
fn pays(askers: &Askers, did: &Arc<Did>) -> toolwright::ToolDef {
    let (askers, did) = (askers.clone(), did.clone());
    tool("pays", "Pays").writes().run_json(move |input: Value, call| {
        let (askers, did) = (askers.clone(), did.clone());
        async move {
            let request = ApprovalRequest::new("approval-1", call.frame().run_id(), "pays", input);
            let answer = tokio::select! {
                answer = Approver::ask(&askers, &request) => answer,
                () = call.cancel().cancelled() => return Err(ToolError::new("cancelled").nothing_happened()),
            };
            if let Answer::Yes { who } = &answer {
                did.paid.fetch_add(1, Ordering::SeqCst);
                return Ok(json!({ "paid": true, "who": who.as_str() }));
            }
            Err(ToolError::new(format!("{answer:?}")).nothing_happened())
        }
    })
}

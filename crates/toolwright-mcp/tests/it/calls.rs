//! Calls the way a host makes them, and what they come to.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use tokio::task::JoinHandle;
use toolwright::tool::Aftermath;
use toolwright::{
    CallError, CancelSource, Diagnostics, EffectState, EventName, Fact, Fault, Invocation, Observer, Registry, ToolDef, Value,
};
use toolwright_mcp::upstream::Listing;

pub(crate) fn json(text: &str) -> Value {
    Value::parse(text).unwrap()
}

pub(crate) fn named<'a>(listing: &'a Listing, id: &str) -> &'a ToolDef {
    listing.tools.iter().find(|tool| tool.id() == id).unwrap_or_else(|| panic!("no tool {id}"))
}

/// What a call came to.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Done {
    pub(crate) output: Option<Value>,
    pub(crate) content: Option<Value>,
    pub(crate) details: Option<Value>,
    pub(crate) notes: Vec<String>,
}

/// Why a call failed.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Failed {
    pub(crate) code: String,
    pub(crate) message: String,
    pub(crate) details: Option<Value>,
    pub(crate) content: Option<Value>,
    pub(crate) happened: Happened,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Happened {
    Nothing,
    Unknown,
    Failed,
}

/// A running call that can be cancelled.
pub(crate) struct Running {
    pub(crate) cancel: CancelSource,
    pub(crate) handle: JoinHandle<Result<Done, Failed>>,
    pub(crate) progress: Arc<Mutex<Vec<String>>>,
}

#[derive(Default)]
struct Watch(Arc<Mutex<Vec<String>>>);

impl Observer for Watch {
    fn observe(&self, fact: &Fact) {
        if fact.event == EventName::Progress {
            self.0.lock().unwrap().push(fact.payload.get("message").and_then(Value::as_str).unwrap().to_owned());
        }
    }
}

pub(crate) fn start(listing: &Listing, id: &str, input: &str) -> Running {
    let mut registry = Registry::new();
    registry.register(named(listing, id).clone()).unwrap();
    let catalog = registry.seal();
    let cancel = CancelSource::new();
    let watch = Watch::default();
    let progress = watch.0.clone();
    let call = Invocation::new(id, json(input)).cancel(cancel.token()).diagnostics(Diagnostics::disabled().with_observer(Arc::new(watch)));
    let handle = tokio::spawn(async move {
        let result = catalog.invoke(call, ()).await.map_err(|error| failed(&error))?;
        Ok(Done {
            output: result.output,
            content: result.content,
            details: result.details,
            notes: result.notes.iter().map(ToString::to_string).collect(),
        })
    });
    Running { cancel, handle, progress }
}

fn failed(error: &CallError) -> Failed {
    let (details, content, happened) = match error.root_cause() {
        Fault::Tool { error, .. } => {
            let happened = match error.aftermath() {
                Aftermath::Happened => Happened::Failed,
                Aftermath::Nothing => Happened::Nothing,
                Aftermath::Unknown => Happened::Unknown,
                Aftermath::Answered => Happened::Failed,
            };
            (error.own_details().cloned(), error.raw_content().cloned(), happened)
        }
        _ if error.effect_state() == EffectState::Unknown => (None, None, Happened::Unknown),
        _ => (None, None, Happened::Nothing),
    };
    Failed { code: error.code().to_owned(), message: error.message(), details, content, happened }
}

pub(crate) async fn call(listing: &Listing, id: &str, input: &str) -> Result<Done, Failed> {
    start(listing, id, input).handle.await.unwrap()
}

/// Whether a process with that id runs; a zombie counts.
pub(crate) fn lives(pid: u32) -> bool {
    std::path::Path::new(&format!("/proc/{pid}")).exists()
}

/// Waits until something holds, at most that long.
pub(crate) async fn eventually(limit: Duration, mut holds: impl FnMut() -> bool) -> bool {
    let end = std::time::Instant::now() + limit;
    while std::time::Instant::now() < end {
        if holds() {
            return true;
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    holds()
}

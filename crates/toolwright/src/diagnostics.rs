//! What is told while a run is under way: facts, each about one event, to a log
//! and to whoever watches. Telling cannot change a run: a sink or an observer
//! that breaks down is left alone, and nothing is built that nobody takes.
//!
//! In reading order: [`Diagnostics`] is a scope to tell facts in. A [`Fact`] has an [`EventName`], an [`Identity`] and
//! a payload. A [`Sink`] keeps facts and says how much [`Detail`] it takes, an [`Observer`] watches them.
//! [`SpanFields`] are what a child scope knows. A [`Recorder`] is beside all that: one caller's own record of one call.
//! A catalogue keeps its newest [`ToolEvent`]s, of an [`EventKind`] each, by [`CallKey`].
//!
//! # Payloads
//!
//! The payload of a fact is an object. Members without a value are left out.
//!
//! | events | members |
//! | --- | --- |
//! | `tool_started`, `tool_succeeded`, `tool_failed`, `tool_refused`, `tool_replayed`, `tool_cancelled` | `path`, `tool`, `kind` or none, `code` when it did not succeed, `dry`, `seq` when the catalogue keeps the event under that number |
//! | `step_started` | `path`, `index` from 0, `count` of steps, `step`, `tool`, `sideEffects` |
//! | `step_finished` | `path`, `index`, `ok`, `code` when it failed |
//! | `progress` | `path`, `message`, `done` and `total` in the tool's own unit |
//! | `warning` | `path`, `code`, `message` |
//! | `hook_refused`, `receipt_failed` | `path`, `tool`, `hook` or none, `code`, `message` |
//! | `debug_step` | `path`, `label`, `value` |
//! | `content` | what the tool gives |
//!
//! A path is the place in the run: `research/0:search`.

mod deliver;
pub(crate) mod payload;
pub(crate) mod ring;
mod scope;

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::value::{Text, Value};

pub use ring::{CallKey, EventKind, ToolEvent};
pub use scope::Diagnostics;

/// What a fact is about.
///
/// ```
/// use toolwright::EventName;
///
/// assert_eq!(EventName::StepStarted.as_str(), "step_started");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum EventName {
    /// A tool is about to run.
    ToolStarted,
    /// A tool gave its answer.
    ToolSucceeded,
    /// A tool ran and did not succeed.
    ToolFailed,
    /// A call was turned down before its tool ran.
    ToolRefused,
    /// A call got its answer from the journal.
    ToolReplayed,
    /// A call was cancelled.
    ToolCancelled,
    /// A step of a composite is about to run its tool.
    StepStarted,
    /// A step ended.
    StepFinished,
    /// A tool says how far it is.
    Progress,
    /// Something worth telling that stops nothing: a repaired argument, a `$…` text used as a literal.
    Warning,
    /// A hook of a tool said no.
    HookRefused,
    /// A receipt could not be made, and the call went on without it.
    ReceiptFailed,
    /// A tool records one of its inner steps.
    DebugStep,
    /// A tool gives content: what it read, what it is about to show.
    Content,
}

impl EventName {
    /// Every event, in order.
    pub const ALL: [Self; 14] = [
        Self::ToolStarted,
        Self::ToolSucceeded,
        Self::ToolFailed,
        Self::ToolRefused,
        Self::ToolReplayed,
        Self::ToolCancelled,
        Self::StepStarted,
        Self::StepFinished,
        Self::Progress,
        Self::Warning,
        Self::HookRefused,
        Self::ReceiptFailed,
        Self::DebugStep,
        Self::Content,
    ];

    /// The stable word for it: `step_started`.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::ToolStarted => "tool_started",
            Self::ToolSucceeded => "tool_succeeded",
            Self::ToolFailed => "tool_failed",
            Self::ToolRefused => "tool_refused",
            Self::ToolReplayed => "tool_replayed",
            Self::ToolCancelled => "tool_cancelled",
            Self::StepStarted => "step_started",
            Self::StepFinished => "step_finished",
            Self::Progress => "progress",
            Self::Warning => "warning",
            Self::HookRefused => "hook_refused",
            Self::ReceiptFailed => "receipt_failed",
            Self::DebugStep => "debug_step",
            Self::Content => "content",
        }
    }
}

impl fmt::Display for EventName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// How much a fact says. Who takes content takes metadata too.
///
/// ```
/// use toolwright::{Detail, EventName, Fact, Sink};
///
/// /// Writes down that things happened, and none of what was in them.
/// struct Discreet;
///
/// impl Sink for Discreet {
///     fn enabled(&self, _: EventName, detail: Detail) -> bool {
///         detail == Detail::Metadata
///     }
///     fn record(&self, _: &Fact) {}
/// }
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Detail {
    /// Names, places, codes, counts.
    Metadata,
    /// What was said, read or written; it may be private.
    Content,
}

/// Which execution a fact belongs to. Whoever starts a scope fills what it knows.
///
/// ```
/// use toolwright::Identity;
///
/// let identity = Identity { run: Some("r1".into()), span: Some("report/0:look".into()), ..Identity::default() };
/// assert_eq!(identity.parent, None);
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(default)]
pub struct Identity {
    /// Id of the run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub run: Option<Text>,
    /// Name of the scope: of a call, its path in the run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub span: Option<Text>,
    /// Name of the scope around it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub parent: Option<Text>,
    /// The conversation it belongs to.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub session: Option<Text>,
    /// On whose behalf.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub user: Option<Text>,
}

/// What a child scope knows. It fills what its parent does not know and replaces nothing.
///
/// ```
/// use toolwright::{Diagnostics, Fact, Sink, SpanFields};
/// # struct Log;
/// # impl Sink for Log { fn record(&self, _: &Fact) {} }
///
/// let fields = SpanFields { user: Some("ada".into()), ..SpanFields::default() };
/// let child = Diagnostics::new(Log).child("report", fields);
/// assert_eq!(child.identity().and_then(|identity| identity.user.as_deref()), Some("ada"));
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SpanFields {
    /// Id of the run.
    pub run: Option<Text>,
    /// The conversation it belongs to.
    pub session: Option<Text>,
    /// On whose behalf.
    pub user: Option<Text>,
}

/// One fact: what happened, in which execution, and what there is to say about it.
///
/// ```
/// use toolwright::{EventName, Fact, Identity, json};
///
/// let fact = Fact { event: EventName::Progress, identity: Identity::default(), payload: json!({ "message": "half" }) };
/// assert_eq!(serde_json::to_string(&fact)?, r#"{"event":"progress","identity":{},"payload":{"message":"half"}}"#);
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Fact {
    /// What happened.
    pub event: EventName,
    /// In which execution. Empty where a scope is bound to none.
    #[serde(default)]
    pub identity: Identity,
    /// What there is to say; the [module](self) lists the members.
    #[serde(default)]
    pub payload: Value,
}

/// Where facts are kept: a log. Called on the path of a call, so be quick; one that panics loses the fact and no more.
///
/// ```
/// use std::sync::{Arc, Mutex};
/// use toolwright::{Diagnostics, EventName, Fact, Sink, json};
///
/// #[derive(Default)]
/// struct Log(Mutex<Vec<String>>);
///
/// impl Sink for Log {
///     fn record(&self, fact: &Fact) {
///         self.0.lock().unwrap().push(fact.event.to_string());
///     }
/// }
///
/// let log = Arc::new(Log::default());
/// Diagnostics::new(log.clone()).emit(EventName::Warning, || json!({ "message": "look here" }));
/// assert_eq!(*log.0.lock().unwrap(), ["warning"]);
/// ```
pub trait Sink: Send + Sync + 'static {
    /// Whether it takes such facts. Asked before a payload is built; by default it takes all.
    fn enabled(&self, event: EventName, detail: Detail) -> bool {
        let _ = (event, detail);
        true
    }

    /// Takes one fact.
    fn record(&self, fact: &Fact);
}

impl<S: Sink + ?Sized> Sink for std::sync::Arc<S> {
    fn enabled(&self, event: EventName, detail: Detail) -> bool {
        (**self).enabled(event, detail)
    }

    fn record(&self, fact: &Fact) {
        (**self).record(fact);
    }
}

/// Watches facts as they happen, beside the log: progress on a screen. Gets all of them, content too.
/// Called on the path of a call, so be quick; one that panics misses the fact and no more.
///
/// ```
/// use std::sync::Arc;
/// use toolwright::{Diagnostics, EventName, Fact, Observer, json};
///
/// struct Screen;
///
/// impl Observer for Screen {
///     fn observe(&self, fact: &Fact) {
///         if fact.event == EventName::Progress {
///             println!("{}", fact.payload.get("message").and_then(|message| message.as_str()).unwrap_or_default());
///         }
///     }
/// }
///
/// let watched = Diagnostics::disabled().with_observer(Arc::new(Screen));
/// watched.emit(EventName::Progress, || json!({ "message": "half" }));
/// ```
pub trait Observer: Send + Sync + 'static {
    /// Gets one fact.
    fn observe(&self, fact: &Fact);
}

/// A record that one caller chose for one call, for its tools to write in on purpose. The runtime writes nothing to it.
///
/// ```
/// use std::sync::Mutex;
/// use toolwright::{Recorder, Value, json};
///
/// #[derive(Default)]
/// struct Notebook(Mutex<Vec<(String, Value)>>);
///
/// impl Recorder for Notebook {
///     fn record(&self, label: &str, data: Value) {
///         self.0.lock().unwrap().push((label.to_owned(), data));
///     }
/// }
///
/// let notebook = Notebook::default();
/// notebook.record("request", json!({ "bytes": 12 }));
/// assert_eq!(notebook.0.lock().unwrap().len(), 1);
/// ```
pub trait Recorder: Send + Sync + 'static {
    /// Takes one record under a label of the tool's choice.
    fn record(&self, label: &str, data: Value);
}

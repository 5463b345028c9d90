//! A sealed catalogue: reading it, and starting calls in it. Nothing in it
//! changes, so reading takes no lock and touches no shared counter.
//!
//! In reading order:
//!
//! - [`Catalog`] starts calls. An [`Invocation`] says which and how; a [`ToolResult`] is what comes back, with its
//!   [`CallRecord`]; [`OnFailure`] is for many at once. [`Catalog::turn`] does everything that a model's decision must go
//!   through, and gives a [`Turn`].
//! - [`View`] is how a catalogue and a registry are read: tools as [`Registered`], listings as [`ToolSummary`] and
//!   [`EffectSummary`], what the hooks of all tools say together, for example [`GoalSupport`].
//! - [`ResumeOptions`] is for runs that a journal has and that did not end, and for a [`Fork`] of one.

use std::sync::{Arc, OnceLock};
use std::time::Duration;

use arc_swap::ArcSwap;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::call;
use crate::cancel::CancelToken;
use crate::composite::dry::StepOutputs;
use crate::composite::effect::{self, EffectRecord};
use crate::diagnostics::ring::EventRing;
use crate::diagnostics::{CallKey, Diagnostics, Recorder, ToolEvent};
use crate::error::CallError;
use crate::frame::{Clock, Mode, RunId, Timestamp, current_frame};
use crate::journal::{Forked, Journal, StepKey};
use crate::runtime::{IntoContext, Rt, Runtime};
use crate::tool::Effect;
use crate::value::{Text, Value};

mod again;
pub(crate) mod enter;
mod folds;
mod fork;
mod listing;
mod resume;
mod turn;
mod view;

pub use again::Again;
pub use folds::GoalSupport;
pub use fork::Fork;
pub use listing::{EffectSummary, ToolSummary};
pub use resume::ResumeOptions;
pub(crate) use resume::forged_of;
pub use turn::Turn;
pub(crate) use view::Home;
pub use view::{Registered, View};

/// What may change while a catalogue is sealed: where facts go, and the newest events. Neither is on the way of a read.
pub(crate) struct Live {
    pub(crate) diagnostics: ArcSwap<Diagnostics>,
    pub(crate) events: EventRing,
}

/// A sealed, ordered set of tools. Clones share it. It reads as a [`View`].
///
/// ```
/// use toolwright::{Invocation, Registry, json, tool};
/// # tokio::runtime::Builder::new_current_thread().build()?.block_on(async {
/// let echo = tool("echo", "Gives back what it gets").reads().run_json(|input, _call| async move { Ok(input) });
/// let catalog = Registry::new().with(echo)?.seal();
/// let result = catalog.invoke(Invocation::new("echo", json!({ "x": 1 })), ()).await?;
/// assert_eq!(result.value(), &json!({ "x": 1 }));
/// # Ok::<(), Box<dyn std::error::Error>>(()) })?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Catalog<R: Runtime = Rt> {
    pub(crate) view: Arc<View<R>>,
    pub(crate) live: Arc<Live>,
}

impl<R: Runtime> Clone for Catalog<R> {
    fn clone(&self) -> Self {
        Self { view: self.view.clone(), live: self.live.clone() }
    }
}

impl<R: Runtime> std::fmt::Debug for Catalog<R> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.view.fmt(f)
    }
}

impl<R: Runtime> std::ops::Deref for Catalog<R> {
    type Target = View<R>;

    fn deref(&self) -> &View<R> {
        &self.view
    }
}

/// One call to be made.
///
/// ```
/// use toolwright::{CancelSource, Invocation, json};
/// let cancel = CancelSource::new();
/// let call = Invocation::new("search", json!({ "topic": "ducks" })).cancel(cancel.token()).run_id("run-17");
/// ```
#[must_use]
pub struct Invocation {
    pub(crate) tool: Text,
    pub(crate) input: Value,
    pub(crate) run_id: Option<Text>,
    /// Nobody has a run of that id.
    pub(crate) drawn: bool,
    pub(crate) cancel: CancelToken,
    pub(crate) timeout: Option<Duration>,
    pub(crate) mode: Mode,
    pub(crate) journal: Option<Arc<dyn Journal>>,
    pub(crate) diagnostics: Option<Diagnostics>,
    pub(crate) logger: Option<Arc<dyn Recorder>>,
    pub(crate) clock: Option<Arc<dyn Clock>>,
    pub(crate) said: Option<Box<Said>>,
}

/// What a caller says about a run, for the journal to keep.
#[derive(Clone, Debug, Default)]
pub(crate) struct Said {
    pub(crate) owner: Option<Text>,
    pub(crate) lease: Option<Duration>,
    pub(crate) session: Option<Text>,
    pub(crate) principal: Option<Text>,
    pub(crate) context_key: Option<Text>,
    pub(crate) forked: Option<Forked>,
}

impl std::fmt::Debug for Invocation {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Invocation").field("tool", &self.tool).field("run_id", &self.run_id).finish_non_exhaustive()
    }
}

impl Invocation {
    /// A call of `tool` with `input`. `null` counts as no arguments.
    pub fn new(tool: impl Into<Text>, input: Value) -> Self {
        Self {
            tool: tool.into(),
            input,
            run_id: None,
            drawn: false,
            cancel: CancelToken::never(),
            timeout: None,
            mode: Mode::Real,
            journal: None,
            diagnostics: None,
            logger: None,
            clock: None,
            said: None,
        }
    }

    pub(crate) fn input(mut self, input: Value) -> Self {
        self.input = input;
        self
    }

    /// Name of the run: with the path of a call it makes the idempotency key, and the journal knows the run by it. The
    /// same id again takes the run up again. Without one, an id is drawn that nobody has had.
    ///
    /// Given inside a tool, it begins a run of its own in the journal of the run around it, unless
    /// [`journal`](Self::journal) says another one.
    pub fn run_id(mut self, id: impl Into<Text>) -> Self {
        self.run_id = Some(id.into());
        self.drawn = false;
        self
    }

    /// As [`run_id`](Self::run_id), with an id that was drawn for this run: no journal has a run of it, so that nobody waits
    /// until the run is [opened](Journal::open_new). When a journal has one all the same, nothing of this run is kept, and its
    /// result is an error.
    ///
    /// ```
    /// use std::sync::Arc;
    /// use toolwright::{Invocation, MemoryJournal, Registry, json, tool};
    /// # tokio::runtime::Builder::new_current_thread().build()?.block_on(async {
    /// let echo = tool("echo", "Gives back what it gets").reads().run_json(|input, _call| async move { Ok(input) });
    /// let catalog = Registry::new().with(echo)?.seal();
    /// let journal = Arc::new(MemoryJournal::new());
    /// let call = Invocation::new("echo", json!({ "x": 1 })).new_run_id("drawn-4f7a").journal(journal.clone());
    /// catalog.invoke(call, ()).await?;
    /// assert_eq!(journal.runs().len(), 1);
    /// # Ok::<(), Box<dyn std::error::Error>>(()) })?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn new_run_id(mut self, id: impl Into<Text>) -> Self {
        self.run_id = Some(id.into());
        self.drawn = true;
        self
    }

    /// Lets the caller cancel it. It can only shorten the life of the call.
    pub fn cancel(mut self, cancel: CancelToken) -> Self {
        self.cancel = cancel;
        self
    }

    /// Cancels it when so much time has passed. Needs a clock; without one, the call is refused.
    ///
    /// A tool without side effects is dropped at once. One with side effects is told, by [`crate::Call::cancel`], and has the
    /// grace of [`crate::Limits::grace`] to answer: let such a tool look at its token while it waits.
    pub fn timeout(mut self, timeout: Duration) -> Self {
        self.timeout = Some(timeout);
        self
    }

    /// Dry: steps with side effects and nested composites take their output from `outputs`.
    pub fn dry(mut self, outputs: StepOutputs) -> Self {
        self.mode = Mode::Dry(Arc::new(outputs));
        self
    }

    /// Dry, but nested composites are entered; outputs are keyed `outer/inner`.
    pub fn rehearse(mut self, outputs: StepOutputs) -> Self {
        self.mode = Mode::Rehearse(Arc::new(outputs));
        self
    }

    /// Where intents and outcomes are written, in place of what the host's port says. A dry run writes none.
    ///
    /// A run has one journal: for a call that is part of a run which has one, this is not used, and neither is the owner,
    /// session, principal or context key; a note in the result says so. Where the run around it has none, the call begins a
    /// run of its own in this one, as it does in what the port of its catalogue says.
    pub fn journal(mut self, journal: Arc<dyn Journal>) -> Self {
        self.journal = Some(journal);
        self
    }

    /// Where the facts of the run are told; before every other scope.
    pub fn diagnostics(mut self, diagnostics: Diagnostics) -> Self {
        self.diagnostics = Some(diagnostics);
        self
    }

    /// A recorder for this call and those inside it; their tools may write to it.
    pub fn logger(mut self, logger: Arc<dyn Recorder>) -> Self {
        self.logger = Some(logger);
        self
    }

    /// The host's clock, in place of that of the options.
    pub fn clock(mut self, clock: Arc<dyn Clock>) -> Self {
        self.clock = Some(clock);
        self
    }

    /// Who takes the run up, and for how long nobody else may. Without a lease, the next one takes it over. A lease needs a
    /// clock; without one, the call is refused.
    pub fn claimed_by(mut self, owner: impl Into<Text>, lease: Option<Duration>) -> Self {
        let said = self.said.get_or_insert_default();
        said.owner = Some(owner.into());
        said.lease = lease;
        self
    }

    /// The session the run belongs to, for the journal.
    pub fn session(mut self, session: impl Into<Text>) -> Self {
        self.said.get_or_insert_default().session = Some(session.into());
        self
    }

    /// On whose behalf the run is, for the journal.
    pub fn principal(mut self, principal: impl Into<Text>) -> Self {
        self.said.get_or_insert_default().principal = Some(principal.into());
        self
    }

    /// What the host can make the context from again; the context itself is never written.
    pub fn context_key(mut self, key: impl Into<Text>) -> Self {
        self.said.get_or_insert_default().context_key = Some(key.into());
        self
    }
}

/// What a failed call means for the others of the same batch.
///
/// Given to [`Catalog::invoke_all`].
///
/// ```
/// use toolwright::{Invocation, OnFailure, Registry, json, tool};
/// # tokio::runtime::Builder::new_current_thread().build()?.block_on(async {
/// let echo = tool("echo", "Gives back what it gets").reads().run_json(|input, _call| async move { Ok(input) });
/// let catalog = Registry::new().with(echo)?.seal();
/// let batch = vec![Invocation::new("missing", json!({})), Invocation::new("echo", json!({}))];
/// let results = catalog.invoke_all(batch, OnFailure::Continue, ()).await;
/// assert!(results[0].is_err() && results[1].is_ok());
/// # Ok::<(), Box<dyn std::error::Error>>(()) })?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum OnFailure {
    /// Nothing: they go on to their own ends.
    #[default]
    Continue,
    /// Those not yet sent are not sent, those running are cancelled.
    Stop,
}

/// A call that succeeded.
///
/// ```
/// use toolwright::{Invocation, Registry, json, tool};
/// # tokio::runtime::Builder::new_current_thread().build()?.block_on(async {
/// let nine = tool("nine", "Always nine").reads().run_json(|_, _| async move { Ok(json!(9)) });
/// let result = Registry::new().with(nine)?.seal().invoke(Invocation::new("nine", json!({})), ()).await?;
/// assert_eq!(result.parse::<u8>()?, 9);
/// assert_eq!(result.record().tool, "nine");
/// # Ok::<(), Box<dyn std::error::Error>>(()) })?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct ToolResult {
    /// The output; none when the tool gave none.
    pub output: Option<Value>,
    /// Media type of the output, when the tool said one.
    pub content_type: Option<Text>,
    /// What happened, or would have; that of calls inside it first.
    pub effects: Vec<EffectRecord>,
    /// Repairs and replacements worth telling.
    pub notes: Vec<Text>,
    /// Raw content blocks as the source sent them.
    pub content: Option<Value>,
    /// The tool's own facts.
    pub details: Option<Value>,
    pub(crate) made: Option<Box<Made>>,
}

/// How a result was made; turned into text only when somebody asks.
#[derive(Clone, Debug)]
pub(crate) struct Made {
    pub(crate) run: RunId,
    pub(crate) key: StepKey,
    pub(crate) effect: Option<Effect>,
    pub(crate) replayed: bool,
    pub(crate) told: bool,
    pub(crate) times: Option<(Timestamp, Timestamp)>,
}

/// What is on record of a call that succeeded: plain data.
///
/// ```
/// use toolwright::CallRecord;
/// let text = r#"{"key": {"run": "r1", "path": "echo"}, "tool": "echo", "effect": null, "replayed": false}"#;
/// let record: CallRecord = serde_json::from_str(text)?;
/// assert_eq!(record.key.to_string(), "r1/echo");
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct CallRecord {
    /// Which call of which run.
    pub key: CallKey,
    /// The tool.
    pub tool: Text,
    /// Its effect, as registered.
    pub effect: Option<Effect>,
    /// The answer came from the journal; the tool did not run.
    pub replayed: bool,
    /// The diagnostic span, when facts were told.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub span: Option<Text>,
    /// When it began, if there is a clock.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub started: Option<Timestamp>,
    /// How long it took, if there is a clock.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub duration: Option<Duration>,
    /// What happened: the effects of calls inside it, in order, and its own.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub effects: Vec<EffectRecord>,
}

impl ToolResult {
    /// The output; `null` when the tool gave none.
    pub fn value(&self) -> &Value {
        self.output.as_ref().unwrap_or(&Value::Null)
    }

    /// The output as a value of this type.
    ///
    /// # Errors
    /// Says what does not fit.
    pub fn parse<T: DeserializeOwned>(&self) -> Result<T, crate::value::ValueError> {
        self.value().deserialize()
    }

    /// The answer came from the journal; the tool did not run.
    pub fn replayed(&self) -> bool {
        self.made.as_ref().is_some_and(|made| made.replayed)
    }

    /// What is on record of the call.
    pub fn record(&self) -> CallRecord {
        let Some(made) = &self.made else { return CallRecord { effects: self.effects.clone(), ..CallRecord::default() } };
        let path: Text = made.key.path().into();
        CallRecord {
            span: made.told.then(|| path.clone()),
            key: CallKey { run: made.run.text(), path },
            tool: made.key.tool().into(),
            effect: made.effect.clone(),
            replayed: made.replayed,
            started: made.times.map(|(began, _)| began),
            duration: made.times.map(|(began, ended)| Duration::from_nanos(ended.0.saturating_sub(began.0))),
            effects: self.effects.clone(),
        }
    }

    /// What a dry run left out: steps that would have had an effect.
    pub fn would_run(&self) -> impl Iterator<Item = &EffectRecord> {
        self.effects.iter().filter(|effect| matches!(effect, EffectRecord::WouldRun { .. }))
    }

    /// The JSON form: `{success: true, output, contentType, effects}`.
    pub fn to_value(&self) -> Value {
        let mut pairs: Vec<(Text, Value)> = vec![("success".into(), true.into())];
        pairs.extend(self.output.iter().map(|output| ("output".into(), output.clone())));
        pairs.extend(self.content_type.iter().map(|kind| ("contentType".into(), Value::String(kind.clone()))));
        pairs.push(("effects".into(), effect::to_list(&self.effects)));
        if !self.notes.is_empty() {
            pairs.push(("notes".into(), Value::array(self.notes.iter().cloned().map(Value::String))));
        }
        Value::object(pairs)
    }
}

impl<R: Runtime> Catalog<R> {
    pub(crate) fn new(mut view: View<R>, home: &Home<R>) -> Self {
        view.fingerprint = Some(OnceLock::new());
        view.has_forged = view.entries.iter().any(|entry| entry.tool.0.health.is_some());
        let live = Live {
            diagnostics: ArcSwap::from_pointee(view.options.execution_diagnostics.clone()),
            events: EventRing::new(view.options.events),
        };
        let view = Arc::new(view);
        // Only the one registry that made it ever sets it.
        let _ = home.set(Arc::downgrade(&view));
        Self { view, live: Arc::new(live) }
    }

    /// Builds every validator that is not there yet. A schema is judged when its tool is registered; its validator is
    /// otherwise built when the tool is first called, and the caller waits for that. It takes time, so a host that warms
    /// a large catalogue may do it beside its other work.
    ///
    /// ```
    /// use toolwright::{Registry, json, tool};
    /// let hello = tool("hello", "Greets").reads().input_schema(json!({ "type": "object", "required": ["name"] }));
    /// let catalog = Registry::new().with(hello.run_json(|input, _call| async move { Ok(input) }))?.seal();
    /// let warming = catalog.clone();
    /// let thread = std::thread::spawn(move || warming.warm());
    /// // Meanwhile the catalogue can be read and called.
    /// assert!(catalog.has("hello") && thread.join().is_ok());
    /// # Ok::<(), toolwright::RegisterError>(())
    /// ```
    pub fn warm(&self) {
        let of_tools = self.view.entries.iter().flat_map(|entry| [&entry.tool.0.input, &entry.tool.0.output]).flatten();
        for schema in self.view.outputs.iter().map(|(_, schema)| schema).chain(of_tools) {
            // One that cannot be built accepts nothing, and the call says why.
            let _ = schema.warm();
        }
    }

    /// Where the facts of later calls go when nothing else says it; `None` for nowhere. Calls that have begun keep
    /// theirs.
    pub fn set_diagnostics(&self, diagnostics: Option<Diagnostics>) {
        self.live.diagnostics.store(Arc::new(diagnostics.unwrap_or_default()));
    }

    /// Another handle on the same tools, with diagnostics and events of its own.
    pub fn with_diagnostics(&self, diagnostics: Diagnostics) -> Self {
        let live = Live { diagnostics: ArcSwap::from_pointee(diagnostics), events: EventRing::new(self.view.options.events) };
        Self { view: self.view.clone(), live: Arc::new(live) }
    }

    /// The newest events of tools, oldest first.
    pub fn events(&self) -> Vec<ToolEvent> {
        self.live.events.all()
    }

    /// The events with the number `seq` and later ones, oldest first.
    pub fn events_since(&self, seq: u64) -> Vec<ToolEvent> {
        self.live.events.since(seq)
    }

    /// How many events were kept once and are not any more.
    pub fn events_dropped(&self) -> u64 {
        self.live.events.dropped()
    }

    /// Calls a tool by its id. Made from inside a tool, it is part of that tool's call.
    ///
    /// # Errors
    /// [`CallError`] says what ended it, how far it got and which effects happened.
    pub async fn invoke(&self, invocation: Invocation, context: impl IntoContext<R::Context>) -> Result<ToolResult, CallError> {
        let Some(entry) = self.view.get(&invocation.tool) else {
            let error = self.view.unavailable(&invocation.tool);
            return Err(call::nobody(Some(&self.live), current_frame().as_ref(), &invocation, error));
        };
        enter::from_handle(self, &entry.tool, invocation, None, context.into_context()).await
    }

    /// Runs the tool that answers to a decision, by delegate or id, with the decision's arguments. It authorizes; it does
    /// not inspect: that is once a decision, by [`View::assert_decision`] or [`Catalog::turn`].
    ///
    /// # Errors
    /// `unavailable_invocation` when nobody answers to it, an output's id included; otherwise any [`CallError`].
    pub async fn call(&self, decision: &R::Decision, context: impl IntoContext<R::Context>) -> Result<ToolResult, CallError> {
        let id = R::invocation_id(decision);
        let Some(entry) = self.view.claimed(id) else { return Err(self.not_found(id)) };
        let decided = enter::Decided { decision, resumes: false };
        self.decided(entry, decided, context.into_context()).await
    }

    /// Nobody answers to this invocation id.
    #[cold]
    fn not_found(&self, id: &str) -> CallError {
        let asked = Invocation::new(id, Value::Null);
        call::nobody(Some(&self.live), current_frame().as_ref(), &asked, self.view.unclaimed(id))
    }

    async fn decided(
        &self,
        entry: &Registered<R>,
        decided: enter::Decided<'_, R>,
        context: Arc<R::Context>,
    ) -> Result<ToolResult, CallError> {
        let invocation = Invocation::new(entry.tool.0.name.clone(), R::arguments(decided.decision));
        enter::from_handle(self, &entry.tool, invocation, Some(decided), context).await
    }

    /// Makes several calls at once; one outcome each, in order. By default one that fails leaves the others
    /// alone; with [`OnFailure::Stop`] calls not yet sent are not sent and running ones are cancelled.
    pub async fn invoke_all(
        &self,
        invocations: Vec<Invocation>,
        on_failure: OnFailure,
        context: impl IntoContext<R::Context>,
    ) -> Vec<Result<ToolResult, CallError>> {
        let context = &context.into_context();
        let mut sources = Vec::new();
        let calls: Vec<Invocation> = invocations
            .into_iter()
            .map(|mut invocation| {
                let (source, token) = invocation.cancel.child();
                sources.push(source);
                invocation.cancel = token;
                invocation
            })
            .collect();
        let sources = &sources;
        let calls = calls.into_iter().map(|invocation| async move {
            let outcome = self.invoke(invocation, context.clone()).await;
            if outcome.is_err() && on_failure == OnFailure::Stop {
                sources.iter().for_each(crate::cancel::CancelSource::cancel);
            }
            outcome
        });
        futures_util::future::join_all(calls).await
    }
}

//! Who is calling: the run, the path inside it, how deep, and through which
//! tools. Kept by the runtime, where no tool or caller can reset it.
//!
//! In reading order: [`Call`] is what a tool gets beside its input. [`Context`] is what the caller says about itself.
//! [`FrameRef`] is the place of a call, [`current_frame`] that of the tool that is running on this thread, [`Attached`]
//! a future that belongs to it. [`Clock`] and [`Timestamp`] are the host's time.

use std::panic::AssertUnwindSafe;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::Duration;

use futures_util::FutureExt;

use crate::cancel::CancelToken;
use crate::catalog::{Invocation, Live, ToolResult, View};
use crate::composite::dry::StepOutputs;
use crate::composite::effect::{EffectRecord, gather};
use crate::diagnostics::{Diagnostics, EventName, Recorder, SpanFields, payload};
use crate::error::{CallError, Fault};
use crate::journal::{Journal, Record, RunJournal, StepKey};
use crate::limits::Limits;
use crate::runtime::{Rt, Runtime};
use crate::tool::BoxFuture;
use crate::value::{Object, Text, Value};

pub(crate) mod current;
pub(crate) mod path;

pub use current::{Attached, FrameRef, current_frame};
pub(crate) use path::{Identity, Names, PathNode, RunId, Segment, StepName};

/// Nanoseconds since a moment of the clock's own choosing.
///
/// Only differences mean something.
///
/// ```
/// use toolwright::Timestamp;
/// assert!(Timestamp(1_000) < Timestamp(2_000));
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, serde::Serialize, serde::Deserialize)]
pub struct Timestamp(pub u64);

/// The host's clock. The core has none; without one, records carry no times and a grace period has no end.
///
/// Given in [`Options`](crate::Options) for all calls, or to one [`Invocation`].
///
/// ```
/// use std::sync::Arc;
/// use std::time::Duration;
/// use toolwright::{BoxFuture, Clock, Invocation, Timestamp, json};
/// /// A clock for tests that stands still.
/// struct Noon;
/// impl Clock for Noon {
///     fn now(&self) -> Timestamp {
///         Timestamp(12 * 3_600_000_000_000)
///     }
///     fn sleep(&self, _duration: Duration) -> BoxFuture<'static, ()> {
///         Box::pin(std::future::pending())
///     }
/// }
/// let call = Invocation::new("search", json!({})).clock(Arc::new(Noon));
/// ```
pub trait Clock: Send + Sync {
    /// The time now. Must not go backwards.
    fn now(&self) -> Timestamp;
    /// Ends after `duration`.
    fn sleep(&self, duration: Duration) -> BoxFuture<'static, ()>;
}

/// What the caller says about itself, as JSON: the context of a program that names no type of its own.
///
/// ```
/// use toolwright::{Context, json};
/// let context = Context::new(json!({ "user": "ann" }));
/// assert_eq!(context.data(), &json!({ "user": "ann" }));
/// ```
#[derive(Clone, Debug, Default)]
pub struct Context(Option<Arc<Value>>);

impl Context {
    /// A context from a JSON object. `sessionData.emergentDepth`, when it is a
    /// number, counts as composites that were already entered elsewhere.
    pub fn new(data: Value) -> Self {
        Self(Some(Arc::new(data)))
    }

    /// The caller's object; `null` when nothing was given.
    pub fn data(&self) -> &Value {
        self.0.as_deref().unwrap_or(&Value::Null)
    }

    /// Composites entered before this run, as the caller says; anything but a number counts as 0.
    pub(crate) fn depth(&self) -> u32 {
        let Some(data) = &self.0 else { return 0 };
        let depth = data.get("sessionData").and_then(|session| session.get("emergentDepth"));
        match depth {
            Some(Value::Number(_)) => depth.and_then(Value::as_f64).map_or(0, |depth| depth.clamp(0.0, f64::from(u32::MAX)) as u32),
            _ => 0,
        }
    }
}

/// How a run treats steps with side effects.
#[derive(Clone, Debug, Default)]
pub(crate) enum Mode {
    #[default]
    Real,
    /// Steps with side effects and nested composites take their output from the table.
    Dry(Arc<StepOutputs>),
    /// As `Dry`, but nested composites are entered; outputs are keyed `outer/inner`.
    Rehearse(Arc<StepOutputs>),
}

/// One run: what all its calls share.
pub(crate) struct Life {
    pub(crate) id: RunId,
    /// Opened when the run's first call may be made.
    pub(crate) journal: OnceLock<Arc<dyn RunJournal>>,
    /// Where that was opened: runs that begin inside this one are kept there too.
    pub(crate) kept_in: OnceLock<Arc<dyn Journal>>,
    /// It ended and its journal was told: whoever was left behind begins nothing more in it.
    pub(crate) over: AtomicBool,
    pub(crate) clock: Option<Arc<dyn Clock>>,
    pub(crate) mode: Mode,
    pub(crate) limits: Limits,
    pub(crate) nesting: Nesting,
    /// Composites entered before the run, as the caller says.
    pub(crate) entered: u32,
    /// An outcome could not be written: what is recorded of the run has a hole.
    pub(crate) torn: AtomicBool,
    /// What was asked in a run that no journal keeps, and what came of it.
    pub(crate) asked: Mutex<Vec<Record>>,
}

impl Life {
    /// A run that nothing is recorded of yet.
    pub(crate) fn new(id: RunId, mode: Mode, limits: Limits, nesting: Nesting, entered: u32, clock: Option<Arc<dyn Clock>>) -> Self {
        Self {
            id,
            journal: OnceLock::new(),
            kept_in: OnceLock::new(),
            over: AtomicBool::new(false),
            clock,
            mode,
            limits,
            nesting,
            entered,
            torn: AtomicBool::new(false),
            asked: Mutex::default(),
        }
    }
}

/// How deep composites and calls may nest: the least that any catalogue on the way here says.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Nesting {
    pub(crate) depth: u32,
    pub(crate) calls: u32,
}

impl Nesting {
    pub(crate) fn least(self, other: Self) -> Self {
        Self { depth: self.depth.min(other.depth), calls: self.calls.min(other.calls) }
    }
}

impl Default for Nesting {
    fn default() -> Self {
        Self { depth: crate::limits::COMPOSITE_DEPTH_MAX, calls: crate::limits::CALL_DEPTH_MAX }
    }
}

impl Life {
    /// The time, if there is a clock that can tell it.
    pub(crate) fn now(&self) -> Option<Timestamp> {
        self.clock.as_ref().and_then(|clock| crate::call::quietly(|| clock.now()))
    }
}

/// Ends after `duration`; never, when the clock breaks down.
pub(crate) fn slept(clock: &Arc<dyn Clock>, duration: Duration) -> BoxFuture<'static, ()> {
    let Some(sleep) = crate::call::quietly(|| clock.sleep(duration)) else { return Box::pin(std::future::pending()) };
    Box::pin(async move {
        if let Err(panic) = AssertUnwindSafe(sleep).catch_unwind().await {
            crate::call::forgotten(panic);
            std::future::pending().await
        }
    })
}

/// What the calls of one composite, a nested call, or the root call of a run have in common. Knows no type of the
/// host's, so that it may be handed on from one catalogue to another.
pub(crate) struct Frame {
    pub(crate) life: Arc<Life>,
    pub(crate) node: Arc<PathNode>,
    pub(crate) cancel: CancelToken,
    pub(crate) diagnostics: Diagnostics,
    pub(crate) logger: Option<Arc<dyn Recorder>>,
    /// The decision that this call answers goes on with what was begun.
    pub(crate) resumed: bool,
    /// Somebody on the way here was accepted as one without side effects: nothing inside may have any.
    pub(crate) effectless: bool,
    pub(crate) nested: Nested,
}

/// What is only needed when a handler makes calls of its own, or asks for its diagnostics.
#[derive(Default)]
pub(crate) struct Nested {
    used: AtomicBool,
    by_step: Mutex<Vec<(u32, Inner)>>,
}

#[derive(Default)]
struct Inner {
    next: u32,
    effects: Vec<EffectRecord>,
    scope: Option<Diagnostics>,
    checkpoint: Option<Value>,
}

impl Nested {
    fn with<T>(&self, step: u32, change: impl FnOnce(&mut Inner) -> T) -> T {
        self.used.store(true, Ordering::Release);
        let mut by_step = self.by_step.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, inner)) = by_step.iter_mut().find(|(at, _)| *at == step) {
            return change(inner);
        }
        let mut inner = Inner::default();
        let changed = change(&mut inner);
        by_step.push((step, inner));
        changed
    }

    /// Position of the next call that the handler of `step` makes, from 0.
    pub(crate) fn ordinal(&self, step: u32) -> u32 {
        self.with(step, |inner| {
            let next = inner.next;
            inner.next = next.saturating_add(1);
            next
        })
    }

    /// Notes what a call inside `step` did.
    pub(crate) fn did(&self, step: u32, effects: &[EffectRecord]) {
        if !effects.is_empty() {
            self.with(step, |inner| gather(&mut inner.effects, effects.iter().cloned()));
        }
    }

    /// What calls inside `step` have done so far.
    pub(crate) fn peek_effects(&self, step: u32) -> Vec<EffectRecord> {
        if self.used.load(Ordering::Acquire) { self.with(step, |inner| inner.effects.clone()) } else { Vec::new() }
    }

    /// What calls inside `step` did; asked once, when it ends.
    #[inline]
    pub(crate) fn take_effects(&self, step: u32) -> Vec<EffectRecord> {
        if !self.used.load(Ordering::Acquire) {
            return Vec::new();
        }
        let mut by_step = self.by_step.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(at) = by_step.iter().position(|(at, _)| *at == step) else { return Vec::new() };
        match by_step.get_mut(at) {
            // A task that the tool left behind may still make calls: they must not take the places of earlier ones.
            Some((_, inner)) if inner.next > 0 => {
                inner.scope = None;
                inner.checkpoint = None;
                std::mem::take(&mut inner.effects)
            }
            _ => by_step.swap_remove(at).1.effects,
        }
    }

    /// Keeps the host's state at the beginning of `step`, for its handler.
    pub(crate) fn began_at(&self, step: u32, checkpoint: &Value) {
        self.with(step, |inner| inner.checkpoint = Some(checkpoint.clone()));
    }

    fn checkpoint(&self, step: u32) -> Option<Value> {
        if self.used.load(Ordering::Acquire) { self.with(step, |inner| inner.checkpoint.clone()) } else { None }
    }
}

impl Frame {
    /// Records a fact about the call at `step`; its payload is made only when somebody listens.
    #[inline]
    pub(crate) fn tell(&self, step: u32, event: EventName, payload: impl FnOnce() -> Value) {
        if !self.diagnostics.is_disabled() {
            self.scope(step).emit(event, payload);
        }
    }

    /// The diagnostic scope of the call at `step`: a child of this frame's, named by its path.
    pub(crate) fn scope(&self, step: u32) -> Diagnostics {
        if self.diagnostics.is_disabled() {
            return Diagnostics::disabled();
        }
        self.nested.with(step, |inner| {
            let made = || {
                let run = Some(self.life.id.text());
                self.diagnostics.child(self.node.path(step), SpanFields { run, ..SpanFields::default() })
            };
            inner.scope.get_or_insert_with(made).clone()
        })
    }

    /// Composites entered to get here: those of this run on top of those the caller says it had entered before.
    pub(crate) fn depth(&self) -> u32 {
        self.life.entered.saturating_add(self.node.depth)
    }
}

/// Where a call runs: the catalogue, if there is one, and the caller.
pub(crate) struct Host<R: Runtime> {
    pub(crate) view: Option<Arc<View<R>>>,
    pub(crate) live: Option<Arc<Live>>,
    pub(crate) context: Arc<R::Context>,
}

impl<R: Runtime> Host<R> {
    /// How deep the catalogue lets composites and calls nest.
    pub(crate) fn nesting(&self) -> Nesting {
        let policy = self.view.as_ref().map(|view| &view.options.policy);
        policy.map_or_else(Nesting::default, |policy| Nesting { depth: policy.depth, calls: policy.calls })
    }
}

/// A frame and where it runs.
pub(crate) struct Scope<R: Runtime> {
    pub(crate) frame: Arc<Frame>,
    pub(crate) host: Arc<Host<R>>,
}

/// One call as the called tool sees it. Owned and cheap to clone.
///
/// ```
/// use toolwright::{Call, Registry, json, tool};
/// let count = tool("count", "Counts").reads().run_json(|_, call: Call| async move {
///     call.progress("half way", Some(1.0), Some(2.0));
///     Ok(json!({ "key": call.idempotency_key() }))
/// });
/// assert_eq!(count.name(), "count");
/// ```
pub struct Call<R: Runtime = Rt> {
    pub(crate) scope: Arc<Scope<R>>,
    pub(crate) step: u32,
    /// The called tool says that it changes nothing.
    pub(crate) reads: bool,
}

impl<R: Runtime> Clone for Call<R> {
    fn clone(&self) -> Self {
        Self { scope: self.scope.clone(), step: self.step, reads: self.reads }
    }
}

impl<R: Runtime> std::fmt::Debug for Call<R> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Call").field("path", &self.path()).finish_non_exhaustive()
    }
}

impl<R: Runtime> Call<R> {
    /// Name of the called tool.
    pub fn tool(&self) -> &str {
        self.node().names.step(self.step).map_or("", |step| step.tool.as_str())
    }

    /// Name of the step this call is, or of the tool when it is the root of a run.
    pub fn step(&self) -> &str {
        self.node().names.step(self.step).map_or("", |step| step.name.as_str())
    }

    /// Whether the call was cancelled; a tool with side effects should look and answer soon.
    pub fn cancel(&self) -> &CancelToken {
        &self.scope.frame.cancel
    }

    /// The caller's context.
    pub fn context(&self) -> &R::Context {
        &self.scope.host.context
    }

    /// The caller's context, to keep.
    pub fn context_arc(&self) -> &Arc<R::Context> {
        &self.scope.host.context
    }

    /// The host's own state when the call began, as its `checkpoint` port said; none without the port or a journal.
    pub fn checkpoint(&self) -> Option<Value> {
        self.scope.frame.nested.checkpoint(self.step)
    }

    /// Whether the decision that this call answers goes on with what was begun, as the tool's own `resume` hook said in a
    /// turn. Steps and nested calls begin afresh.
    pub fn resumed(&self) -> bool {
        self.scope.frame.resumed
    }

    /// Where this call's facts go, under its own span.
    pub fn diagnostics(&self) -> Diagnostics {
        self.scope.frame.scope(self.step)
    }

    /// The recorder that the caller or the host chose for this call. Nothing writes to it but the tool.
    pub fn logger(&self) -> Option<&Arc<dyn Recorder>> {
        self.scope.frame.logger.as_ref()
    }

    /// Where this call is, to hand on to a task of its own.
    pub fn frame(&self) -> FrameRef {
        FrameRef { frame: self.scope.frame.clone(), step: self.step, reads: self.reads, aside: None }
    }

    /// Where the host's code about this call is: what it calls is counted on from here and has no effects.
    pub(crate) fn aside(&self, what: &'static str) -> FrameRef {
        FrameRef { aside: Some(what), ..self.frame() }
    }

    /// Composites entered to get here: those of this run on top of those the caller says it had entered before.
    pub fn depth(&self) -> u32 {
        self.scope.frame.depth()
    }

    /// Names of the calling tools, outermost first; the tool itself is not among them.
    pub fn lineage(&self) -> Vec<Text> {
        self.node().lineage()
    }

    /// The id of the run that this call is part of.
    pub fn run_id(&self) -> Text {
        self.scope.frame.life.id.text()
    }

    /// The run's id and this call's path in it: the same on every attempt at the same run.
    pub fn idempotency_key(&self) -> String {
        format!("{}/{}", self.scope.frame.life.id.text(), self.path())
    }

    /// Reports progress of a long call. `done` and `total` are in the tool's own unit.
    pub fn progress(&self, message: impl Into<Text>, done: Option<f64>, total: Option<f64>) {
        self.scope.frame.tell(self.step, EventName::Progress, || payload::progress(self.path(), message.into(), done, total));
    }

    /// Notes a step of the handler's own work, for a tool that was declared with `debug_steps(true)`; for every other
    /// the value is not even made.
    pub fn note_step(&self, label: &str, value: impl FnOnce() -> Value) {
        let wanted = || {
            let view = self.scope.host.view.as_ref()?;
            Some(view.get(self.tool())?.debugs_steps())
        };
        if !self.scope.frame.diagnostics.is_disabled() && wanted() == Some(true) {
            let payload = || crate::json!({ "path": self.path(), "label": label, "value": value() });
            self.diagnostics().emit_content(EventName::DebugStep, payload);
        }
    }

    /// Calls another tool of the same catalogue, inside this call: the same run, context and cancellation, and every
    /// stage of a call. Its place in the run is the order in which this tool makes its calls; calls made at the same
    /// time take [`Call::invoke_keyed`].
    ///
    /// # Errors
    /// Any [`CallError`].
    pub async fn invoke(&self, tool: &str, input: Value) -> Result<ToolResult, CallError> {
        let ordinal = self.scope.frame.nested.ordinal(self.step);
        self.nested(tool, input, format!("{tool}~{ordinal}").into(), false).await
    }

    /// As [`Call::invoke`], at a place in the run that the tool names: the same key must mean the same call on every
    /// attempt at the run.
    ///
    /// # Errors
    /// Any [`CallError`].
    pub async fn invoke_keyed(&self, key: &str, tool: &str, input: Value) -> Result<ToolResult, CallError> {
        self.nested(tool, input, format!("{tool}~{}", path::key_segment(key)).into(), true).await
    }

    fn nested(&self, tool: &str, input: Value, place: Text, keyed: bool) -> BoxFuture<'_, Result<ToolResult, CallError>> {
        let Some(view) = &self.scope.host.view else {
            let nobody = Fault::Unavailable { tool: tool.into(), nearest: None, refusal: None };
            return Box::pin(std::future::ready(Err(nobody.into())));
        };
        let from = crate::catalog::enter::Nested { frame: self.frame(), place: Some((place, keyed)) };
        let invocation = Invocation::new(tool, input);
        crate::catalog::enter::nested(view, self.scope.host.live.as_ref(), &self.scope.host.context, from, invocation)
    }

    /// How deep composites and calls may nest here.
    pub(crate) fn nesting(&self) -> Nesting {
        self.scope.host.nesting().least(self.life().nesting)
    }

    pub(crate) fn life(&self) -> &Life {
        &self.scope.frame.life
    }

    pub(crate) fn node(&self) -> &Arc<PathNode> {
        &self.scope.frame.node
    }

    pub(crate) fn key(&self) -> StepKey {
        let node = self.node();
        StepKey::at(node.clone(), self.step, node.repeats)
    }

    /// Where this call is, as text.
    pub(crate) fn path(&self) -> String {
        self.node().path(self.step)
    }
}

impl<R: Runtime<Context = Context>> Call<R> {
    /// The caller's `sessionData` with the runtime's own depth in `emergentDepth`.
    pub fn session_data(&self) -> Value {
        let given = self.context().data().get("sessionData").and_then(Value::as_object).cloned();
        let mut pairs: Vec<(Text, Value)> = given
            .iter()
            .flat_map(Object::iter)
            .filter(|(key, _)| key.as_str() != "emergentDepth")
            .map(|(key, value)| (key.clone(), value.clone()))
            .collect();
        pairs.push(("emergentDepth".into(), u64::from(self.depth()).into()));
        Value::object(pairs)
    }
}

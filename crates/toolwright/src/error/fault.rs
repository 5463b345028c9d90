//! What can end a call, one variant each.

use super::{CallError, EffectState};
use crate::composite::{EffectRecord, SpecError};
use crate::journal::{Divergence, Doubt, Failure, JournalError};
use crate::reference::parse::Reference;
use crate::refusal::Refusal;
use crate::schema::SchemaIssue;
use crate::tool::ToolError;
use crate::value::{Text, Value};

/// What ended the call.
///
/// Matched on by a program that treats some errors in a way of its own; [`CallError::fault`] gives it.
///
/// ```
/// use toolwright::{CallError, Fault, Refusal};
/// let error = CallError::from(Fault::Denied { tool: "send".into(), refusal: Refusal::new("quota", "no mails left") });
/// match error.fault() {
///     Fault::Denied { refusal, .. } => assert_eq!(refusal.message, "no mails left"),
///     other => unreachable!("{other:?}"),
/// }
/// assert_eq!(error.code(), "denied");
/// ```
#[derive(Debug)]
#[non_exhaustive]
pub enum Fault {
    /// No tool has this id.
    Unavailable {
        /// The id.
        tool: Text,
        /// The nearest id that exists.
        nearest: Option<Text>,
        /// The host's words.
        refusal: Option<Refusal>,
    },
    /// No tool answers to a decision's invocation id.
    UnavailableInvocation {
        /// The invocation id.
        invocation: Text,
        /// The host's words.
        refusal: Option<Refusal>,
    },
    /// The tool is not available in this context.
    Forbidden {
        /// The tool.
        tool: Text,
        /// The host's words.
        refusal: Option<Refusal>,
    },
    /// The `inspect` hook of a tool said no to a decision.
    Inspected {
        /// The tool whose hook it was.
        tool: Text,
        /// What it said.
        refusal: Refusal,
    },
    /// The tool's `authorize` hook said no.
    Denied {
        /// The tool.
        tool: Text,
        /// What it said.
        refusal: Refusal,
    },
    /// Another hook or port of the host said no, or broke down.
    Hook {
        /// Its name.
        hook: &'static str,
        /// The tool whose hook it was; empty for a port.
        tool: Text,
        /// What it said.
        refusal: Refusal,
    },
    /// The tool's `resolve` hook did not take the arguments of a selection.
    Rejected {
        /// The tool.
        tool: Text,
        /// What it said.
        refusal: Refusal,
    },
    /// A rule said no before the tool was touched.
    Refused {
        /// Code of the rule.
        code: Text,
        /// Why.
        message: String,
        /// The change that would allow it, and who can make it.
        help: Option<String>,
        /// Further facts, an object.
        details: Option<Value>,
    },
    /// One of the host's checks said no.
    Gate(Refusal),
    /// The run was cancelled before this tool started.
    Aborted,
    /// The written composite is wrong.
    InvalidSpec(SpecError),
    /// A reference had no value when its step came.
    Unresolved(Unresolved),
    /// The arguments do not fit the tool's input schema.
    InvalidInput {
        /// The tool.
        tool: Text,
        /// What does not fit.
        issues: Vec<SchemaIssue>,
        /// A composer's step: its page has a code of its own for it.
        by_page: bool,
    },
    /// The tool answered with an error.
    Tool {
        /// The tool.
        tool: Text,
        /// The error.
        error: ToolError,
        /// Whether a side effect can have happened.
        state: EffectState,
    },
    /// The tool panicked.
    Panicked {
        /// The tool.
        tool: Text,
        /// What it said.
        message: String,
        /// Whether a side effect can have happened.
        state: EffectState,
    },
    /// The tool has nothing to run.
    NoHandler {
        /// The tool.
        tool: Text,
    },
    /// The call was cancelled.
    Cancelled {
        /// Whether a side effect can have happened.
        state: EffectState,
    },
    /// The output does not fit what the tool promises; the effect has happened.
    InvalidOutput {
        /// The tool.
        tool: Text,
        /// What does not fit.
        issues: Vec<SchemaIssue>,
        /// Whether a side effect happened.
        state: EffectState,
        /// The output.
        value: Option<Value>,
    },
    /// A value is too large or nests too deep.
    TooLarge {
        /// Which value: `arguments` or `output`.
        what: &'static str,
        /// What it has and what is allowed, in words.
        message: String,
        /// Whether a side effect happened.
        state: EffectState,
    },
    /// The journal could not be written.
    Journal {
        /// `open`, `begin`, `finish` or `end`.
        phase: &'static str,
        /// Why.
        error: JournalError,
        /// Whether a side effect happened.
        state: EffectState,
        /// The output of the tool, when it ran and only its outcome could not be written.
        value: Option<Value>,
    },
    /// What the journal has of this call is another call: nothing ran.
    Diverged {
        /// What differs, and what is recorded.
        divergence: Box<Divergence>,
    },
    /// The call was begun before and nobody knows whether it happened.
    InDoubt {
        /// The call that was begun.
        doubt: Box<Doubt>,
        /// The run's id.
        run: Text,
    },
    /// The call failed before, for good: its effect happened, so it does not run again.
    FailedBefore {
        /// How it failed.
        failure: Box<Failure>,
        /// The tool.
        tool: Text,
    },
    /// A tool that the run used has changed since.
    ChangedTool {
        /// The tools that changed.
        tools: Vec<Text>,
        /// The steps that are others now, of the composites among them: `report/1:send`.
        steps: Vec<Text>,
    },
    /// Composites nest too deep.
    NestingTooDeep {
        /// How deep they are here.
        depth: u32,
        /// How deep they may be.
        max: u32,
    },
    /// Calls nest too deep.
    CallsTooDeep {
        /// How deep they are here.
        calls: u32,
    },
    /// A composite reaches itself.
    Cycle {
        /// The calling tools, outermost first, and the composite.
        path: Vec<Text>,
    },
    /// `complete` handed one turn on too often.
    RewriteLoop {
        /// The invocations, in order.
        path: Vec<Text>,
    },
    /// Some `finalize` hooks said no; all were asked.
    Finalize {
        /// Tool and refusal, in order.
        failures: Vec<(Text, Refusal)>,
        /// What the tool of the turn gave, which is not lost with them.
        value: Option<Value>,
    },
    /// There is no finalizer.
    NoFinalizer,
    /// There is nobody to receive the finalizer's reply.
    NoReceiver,
    /// Several tools own the same delivery.
    CompositionConflict {
        /// The tools, in order.
        tools: Vec<Text>,
    },
    /// An output for the model has the id of a tool.
    ProtocolConflict {
        /// The id.
        id: Text,
    },
    /// A composite stopped at a step.
    Step(StepError),
    /// All steps of a composite ran, and its `output` mapping could not give a value.
    Output(OutputError),
}

/// A composite stopped at a step: which, how far it got, what it did.
///
/// [`Fault::Step`] holds it.
///
/// ```
/// use toolwright::{Composite, Fault, Invocation, Registry, ToolError, Value, json, tool};
/// # tokio::runtime::Builder::new_current_thread().build()?.block_on(async {
/// let fail = tool("fail", "Fails").reads().run_json(|_, _call| async move { Err::<Value, _>(ToolError::new("no luck")) });
/// let catalog = Registry::new().with(fail)?.with(Composite::new("try", "Tries").step("once", "fail", json!({})))?.seal();
/// let error = catalog.invoke(Invocation::new("try", json!({})), ()).await.err().ok_or("its step fails")?;
/// let Fault::Step(stopped) = error.fault() else { return Err("a step stopped it".into()) };
/// assert_eq!((stopped.step.as_str(), stopped.completed.len()), ("once", 0));
/// # Ok::<(), Box<dyn std::error::Error>>(()) })?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct StepError {
    /// Name of the composite; empty when it has none.
    pub composite: Text,
    /// Name of the step.
    pub step: Text,
    /// Its position, from 0.
    pub index: usize,
    /// Name of its tool.
    pub tool: Text,
    /// Names of the steps that completed before it.
    pub completed: Vec<Text>,
    /// Effects so far, the stopped step's inner ones included.
    pub effects: Vec<EffectRecord>,
    /// The stopped step was started, has side effects, and its outcome is not known.
    pub unknown_effect: bool,
    /// Why it stopped.
    pub source: CallError,
}

/// A composite whose steps all ran and whose `output` mapping failed.
///
/// [`Fault::Output`] holds it; what the steps did has happened.
///
/// ```
/// use toolwright::{CompositeSpec, Composite, Fault, Invocation, Registry, json, tool};
/// # tokio::runtime::Builder::new_current_thread().build()?.block_on(async {
/// let echo = tool("echo", "Gives back what it gets").reads().run_json(|input, _call| async move { Ok(input) });
/// let spec = json!({ "steps": [{ "name": "a", "tool": "echo", "inputMapping": {} }], "output": { "x": "$prev.x" } });
/// let composite = Composite::new("pick", "Picks").spec(CompositeSpec::from_value(&spec)?);
/// let catalog = Registry::new().with(echo)?.with(composite)?.seal();
/// let error = catalog.invoke(Invocation::new("pick", json!({})), ()).await.err().ok_or("there is no `x`")?;
/// let Fault::Output(output) = error.fault() else { return Err("the output has no value".into()) };
/// assert_eq!(output.completed, ["a"]);
/// # Ok::<(), Box<dyn std::error::Error>>(()) })?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct OutputError {
    /// Names of all its steps.
    pub completed: Vec<Text>,
    /// What they did.
    pub effects: Vec<EffectRecord>,
    /// Why there is no output.
    pub source: CallError,
}

/// A reference without a value.
///
/// [`Fault::Unresolved`] holds it.
///
/// ```
/// use toolwright::{Composite, Fault, Invocation, Registry, json, tool};
/// # tokio::runtime::Builder::new_current_thread().build()?.block_on(async {
/// let echo = tool("echo", "Gives back what it gets").reads().run_json(|input, _call| async move { Ok(input) });
/// let composite = Composite::new("say", "Says").step("a", "echo", json!({ "text": "$input.topic" }));
/// let catalog = Registry::new().with(echo)?.with(composite)?.seal();
/// let error = catalog.invoke(Invocation::new("say", json!({ "topik": 1 })), ()).await.err().ok_or("there is no topic")?;
/// let Fault::Step(stopped) = error.fault() else { return Err("a step stopped it".into()) };
/// let Fault::Unresolved(missing) = stopped.source.fault() else { return Err("a reference has no value".into()) };
/// assert_eq!(missing.pointer, "/text");
/// assert_eq!(missing.nearest.as_deref(), Some("$input.topik"));
/// # Ok::<(), Box<dyn std::error::Error>>(()) })?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct Unresolved {
    /// The reference as written.
    pub reference: Reference,
    /// JSON pointer of the text inside the step's mapping.
    pub pointer: String,
    /// Bytes of the text that are missing.
    pub span: std::ops::Range<usize>,
    /// What is there instead, in words.
    pub found: String,
    /// The nearest existing reference.
    pub nearest: Option<String>,
}

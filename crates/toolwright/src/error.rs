//! What can end a call, typed; and how it reads for a program, a model and a person.
//!
//! In reading order: [`CallError`] is what every call can end with; its [`Fault`] says what it was. [`EffectState`]
//! says what is known of the effect, and [`Retry`] whether to try again. [`StepError`], [`OutputError`] and
//! [`Unresolved`] say where in a composite it was.

use crate::catalog::View;
use crate::composite::EffectRecord;
use crate::composite::effect::StepRecord;
use crate::journal::JournalErrorKind;
use crate::refusal::Refusal;
use crate::runtime::Runtime;
use crate::tool::Aftermath;
use crate::value::Text;

mod fault;
mod model;
mod result;

pub use fault::{Fault, OutputError, StepError, Unresolved};

#[cfg(test)]
mod tests;

/// Whether a side effect happened.
///
/// Every error and every recorded outcome says one.
///
/// ```
/// use toolwright::{EffectState, Fault, CallError};
/// let error = CallError::from(Fault::Cancelled { state: EffectState::Unknown });
/// assert_eq!(error.effect_state(), EffectState::Unknown);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum EffectState {
    /// The tool was not started.
    NotStarted,
    /// It ran, or tried to, and changed nothing.
    NoEffect,
    /// It happened.
    Happened,
    /// It may have happened; nobody knows.
    Unknown,
}

/// A call that did not succeed. Small to pass around; everything is behind one pointer.
///
/// A program looks at the [`Fault`] or the code, a model reads [`for_model`](CallError::for_model), a person reads the
/// message and the help.
///
/// ```
/// use toolwright::{EffectState, Fault, Invocation, Registry, Retry, json};
/// # tokio::runtime::Builder::new_current_thread().build()?.block_on(async {
/// let catalog = Registry::new().seal();
/// let error = catalog.invoke(Invocation::new("serch", json!({})), ()).await.err().ok_or("there is no such tool")?;
/// assert_eq!((error.code(), error.tool()), ("unavailable", "serch"));
/// assert!(matches!(error.fault(), Fault::Unavailable { .. }));
/// assert_eq!((error.effect_state(), error.retry()), (EffectState::NotStarted, Retry::Never));
/// # Ok::<(), Box<dyn std::error::Error>>(()) })?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct CallError(Box<Failed>);

impl std::fmt::Debug for CallError {
    /// What a person can read, since it is what `main` prints of it; with `{:#?}` all that is in it.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        if f.alternate() {
            return f.debug_tuple("CallError").field(&self.0).finish();
        }
        f.write_str(&self.message())?;
        self.help().map_or(Ok(()), |help| write!(f, "\n  help: {help}"))
    }
}

#[derive(Debug)]
struct Failed {
    fault: Fault,
    /// A root call of a tool with side effects has no step around it that could say what happened.
    leaf: Option<Leaf>,
    /// The host's own code for it.
    public_code: Option<Text>,
    /// It was cancelled since it took longer than this.
    timeout: Option<std::time::Duration>,
}

/// What is known of the effect of a failed root call that is no composite.
#[derive(Debug)]
struct Leaf {
    tool: Text,
    effects: Vec<EffectRecord>,
}

/// Whether to try again.
///
/// [`CallError::retry`] says it.
///
/// ```
/// use toolwright::{CallError, EffectState, Fault, Retry};
/// let error = CallError::from(Fault::Cancelled { state: EffectState::Unknown });
/// assert_eq!(error.retry(), Retry::AfterReconcile);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Retry {
    /// It would end the same way, or repeat an effect.
    Never,
    /// Nothing happened: it may be tried again.
    Safe,
    /// Somebody must find out first what happened.
    AfterReconcile,
}

impl From<Fault> for CallError {
    fn from(fault: Fault) -> Self {
        Self(Box::new(Failed { fault, leaf: None, public_code: None, timeout: None }))
    }
}

impl CallError {
    /// What ended the call.
    pub fn fault(&self) -> &Fault {
        &self.0.fault
    }

    /// Says which tool it was, for a root call of a tool with side effects.
    pub(crate) fn of_leaf(mut self, tool: &Text, inside: Vec<EffectRecord>, effectful: bool) -> Self {
        let ran = || EffectRecord::Ran(StepRecord { step: tool.clone(), index: 0, tool: tool.clone(), via: Vec::new() });
        let mut effects = inside;
        if effectful && self.effect_state() == EffectState::Happened {
            effects.push(ran());
        }
        self.0.leaf = Some(Leaf { tool: tool.clone(), effects });
        self
    }

    /// What ended the call, without the composites around it.
    pub fn root_cause(&self) -> &Fault {
        match self.fault() {
            Fault::Step(step) => step.source.root_cause(),
            Fault::Output(output) => output.source.root_cause(),
            fault => fault,
        }
    }

    /// The stable code of what ended it, that of the innermost cause for a composite.
    pub fn code(&self) -> &str {
        match self.root_cause() {
            Fault::Unavailable { .. } => "unavailable",
            Fault::UnavailableInvocation { .. } => "unavailable_invocation",
            Fault::Forbidden { .. } => "forbidden",
            Fault::Inspected { .. } => "inspected",
            Fault::Denied { .. } => "denied",
            Fault::Hook { .. } => "hook_failed",
            Fault::Rejected { .. } => "selection_rejected",
            Fault::Refused { code, .. } => code,
            Fault::Gate(refusal) => &refusal.code,
            Fault::Aborted => "step_aborted",
            Fault::InvalidSpec(error) => error.code(),
            Fault::Unresolved(_) => "unresolved_reference",
            Fault::InvalidInput { by_page: true, .. } => "invalid_args",
            Fault::InvalidInput { .. } => "invalid_input",
            Fault::Tool { error, .. } => error.own_code().unwrap_or("tool_failed"),
            Fault::Panicked { .. } => "panicked",
            Fault::NoHandler { .. } => "no_handler",
            Fault::Cancelled { .. } => "cancelled",
            Fault::InvalidOutput { .. } => "invalid_output",
            Fault::TooLarge { .. } => "value_too_large",
            Fault::Journal { error, .. } if error.kind == JournalErrorKind::Diverged => "diverged",
            Fault::Journal { .. } => "journal",
            Fault::Diverged { .. } => "diverged",
            Fault::InDoubt { .. } => "in_doubt",
            Fault::FailedBefore { failure, .. } => &failure.code,
            Fault::ChangedTool { .. } => "changed_tool",
            Fault::NestingTooDeep { .. } => "nesting_too_deep",
            Fault::CallsTooDeep { .. } => "calls_too_deep",
            Fault::Cycle { .. } => "cycle",
            Fault::RewriteLoop { .. } => "rewrite_loop",
            Fault::Finalize { .. } => "finalize_failed",
            Fault::NoFinalizer => "no_finalizer",
            Fault::NoReceiver => "no_receiver",
            Fault::CompositionConflict { .. } => "composition_conflict",
            Fault::ProtocolConflict { .. } => "protocol_conflict",
            Fault::Step(_) | Fault::Output(_) => "invalid_spec",
        }
    }

    /// Says that it was its time that ran out, if that is what cancelled it.
    pub(crate) fn timed_out(mut self, timeout: std::time::Duration) -> Self {
        if matches!(self.root_cause(), Fault::Cancelled { .. } | Fault::Aborted) {
            self.0.timeout = Some(timeout);
        }
        self
    }

    /// The code for the outside: the host's own for this error if it has one, otherwise [`CallError::code`].
    pub fn public_code(&self) -> &str {
        self.0.public_code.as_deref().unwrap_or_else(|| self.code())
    }

    /// With the host's own code for it.
    pub(crate) fn with_public_code<R: Runtime>(mut self, view: &View<R>) -> Self {
        if let Some(port) = &view.options.error_code
            && self.0.public_code.is_none()
        {
            self.0.public_code = crate::call::quietly(|| port(&self)).flatten().map(Text::from);
        }
        self
    }

    /// The tool that it is about: the innermost one for a composite. Empty when it is about none.
    pub fn tool(&self) -> &str {
        match self.fault() {
            Fault::Step(step) if step.source.tool().is_empty() => &step.tool,
            Fault::Step(step) => step.source.tool(),
            Fault::Output(output) => output.source.tool(),
            Fault::Unavailable { tool, .. }
            | Fault::Forbidden { tool, .. }
            | Fault::Inspected { tool, .. }
            | Fault::Denied { tool, .. }
            | Fault::Hook { tool, .. }
            | Fault::Rejected { tool, .. }
            | Fault::InvalidInput { tool, .. }
            | Fault::Tool { tool, .. }
            | Fault::Panicked { tool, .. }
            | Fault::NoHandler { tool }
            | Fault::InvalidOutput { tool, .. }
            | Fault::FailedBefore { tool, .. } => tool,
            Fault::UnavailableInvocation { invocation, .. } => invocation,
            Fault::Diverged { divergence } => divergence.recorded.tool(),
            Fault::InDoubt { doubt, .. } => doubt.begin.tool(),
            Fault::Cycle { path } => path.last().map_or("", Text::as_str),
            _ => self.0.leaf.as_ref().map_or("", |leaf| leaf.tool.as_str()),
        }
    }

    /// What a hook, a port or a check of the host said, when that ended the call.
    pub fn refusal(&self) -> Option<&Refusal> {
        match self.root_cause() {
            Fault::Unavailable { refusal, .. } | Fault::UnavailableInvocation { refusal, .. } | Fault::Forbidden { refusal, .. } => {
                refusal.as_ref()
            }
            Fault::Inspected { refusal, .. }
            | Fault::Denied { refusal, .. }
            | Fault::Hook { refusal, .. }
            | Fault::Rejected { refusal, .. }
            | Fault::Gate(refusal) => Some(refusal),
            _ => None,
        }
    }

    /// Whether to try again.
    pub fn retry(&self) -> Retry {
        match self.root_cause() {
            Fault::InDoubt { .. } => Retry::AfterReconcile,
            Fault::FailedBefore { .. } | Fault::Diverged { .. } => Retry::Never,
            // Somebody else has the run, it is another one, or it cannot be read: the same again would end the same way.
            Fault::Journal { error, state: EffectState::NotStarted, .. }
                if matches!(
                    error.kind,
                    JournalErrorKind::Diverged | JournalErrorKind::Fenced | JournalErrorKind::Corrupt | JournalErrorKind::Unknown
                ) =>
            {
                Retry::Never
            }
            _ if self.waits_for_an_answer() => Retry::AfterReconcile,
            Fault::Tool { error, .. }
                if self.effects().is_empty() && matches!(error.aftermath(), Aftermath::Nothing | Aftermath::Answered) =>
            {
                Retry::Safe
            }
            Fault::Tool { state: EffectState::NoEffect, .. }
            | Fault::Cancelled { state: EffectState::NotStarted | EffectState::NoEffect }
            | Fault::Journal { state: EffectState::NotStarted | EffectState::NoEffect, .. }
            | Fault::Panicked { state: EffectState::NoEffect, .. }
            | Fault::Aborted
                if self.effects().is_empty() =>
            {
                Retry::Safe
            }
            _ => Retry::Never,
        }
    }

    /// Whether the tool that ended the call had an effect. Effects of completed steps are in `effects`.
    pub fn effect_state(&self) -> EffectState {
        match self.root_cause() {
            Fault::Tool { state, .. }
            | Fault::Panicked { state, .. }
            | Fault::Cancelled { state }
            | Fault::InvalidOutput { state, .. }
            | Fault::TooLarge { state, .. }
            | Fault::Journal { state, .. } => *state,
            Fault::InDoubt { .. } => EffectState::Unknown,
            Fault::FailedBefore { failure, .. } => failure.state,
            _ => EffectState::NotStarted,
        }
    }

    /// Whether it ended before any tool was touched by the failing call: a rule's or a person's no.
    pub fn is_refusal(&self) -> bool {
        !self.is_about_output()
            && matches!(
                self.root_cause(),
                Fault::Refused { .. }
                    | Fault::Gate(_)
                    | Fault::Unresolved(_)
                    | Fault::InvalidInput { .. }
                    | Fault::InvalidSpec(_)
                    | Fault::NestingTooDeep { .. }
                    | Fault::CallsTooDeep { .. }
                    | Fault::Cycle { .. }
                    | Fault::Unavailable { .. }
                    | Fault::UnavailableInvocation { .. }
                    | Fault::Forbidden { .. }
                    | Fault::Inspected { .. }
                    | Fault::Denied { .. }
                    | Fault::Rejected { .. }
                    | Fault::Hook { .. }
                    | Fault::NoHandler { .. }
                    | Fault::Diverged { .. }
                    | Fault::ChangedTool { .. }
            )
    }

    /// Whether a composite ran to its end and only its output is missing.
    fn is_about_output(&self) -> bool {
        match self.fault() {
            Fault::Step(step) => step.source.is_about_output(),
            Fault::Output(_) => true,
            _ => false,
        }
    }

    /// The step it stopped at, for a composite.
    pub fn step(&self) -> Option<&StepError> {
        match self.fault() {
            Fault::Step(step) => Some(step),
            _ => None,
        }
    }

    /// Effects so far.
    pub fn effects(&self) -> &[EffectRecord] {
        match self.fault() {
            Fault::Step(step) => &step.effects,
            Fault::Output(output) => &output.effects,
            _ => self.0.leaf.as_ref().map_or(&[], |leaf| &leaf.effects),
        }
    }

    /// Whether somebody must find out what happened before the run can go on. A tool that answered is done, whatever it
    /// answered.
    pub(crate) fn waits_for_an_answer(&self) -> bool {
        match self.root_cause() {
            Fault::InDoubt { .. } => true,
            Fault::Tool { error, state: EffectState::Unknown, .. } => error.aftermath() != Aftermath::Answered,
            Fault::Panicked { state, .. } | Fault::Cancelled { state } => *state == EffectState::Unknown,
            Fault::Journal { phase: "finish", state, .. } => *state != EffectState::NoEffect,
            _ => false,
        }
    }

    pub(crate) fn has_unknown_effect(&self) -> bool {
        match self.fault() {
            Fault::Step(step) => step.unknown_effect,
            _ => self.effect_state() == EffectState::Unknown,
        }
    }
}

/// What a failed tool means for its effect: the tool's own word, unless it has no effects at all.
pub(crate) fn state_after(aftermath: Aftermath, side_effects: bool) -> EffectState {
    match aftermath {
        _ if !side_effects => EffectState::NoEffect,
        Aftermath::Nothing => EffectState::NoEffect,
        Aftermath::Happened => EffectState::Happened,
        // A time-out after the request was sent looks exactly like an error answer.
        Aftermath::Answered | Aftermath::Unknown => EffectState::Unknown,
    }
}

impl std::fmt::Display for CallError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.message())
    }
}

impl std::error::Error for CallError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self.fault() {
            Fault::Step(step) => Some(&step.source),
            Fault::Output(output) => Some(&output.source),
            Fault::Journal { error, .. } => Some(error),
            Fault::InvalidSpec(error) => Some(error),
            _ => None,
        }
    }
}

//! What can end a call, typed; and how it reads for a program, a model and a person.

use crate::composite::effect::StepRecord;
use crate::composite::{EffectRecord, SpecError};
use crate::gate::GateRefusal;
use crate::journal::JournalError;
use crate::reference::parse::Reference;
use crate::schema::SchemaIssue;
use crate::tool::{Aftermath, ToolError};
use crate::value::{Text, Value};

mod result;

/// Whether a side effect happened.
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
#[derive(Debug)]
pub struct CallError(Box<Failed>);

#[derive(Debug)]
struct Failed {
    fault: Fault,
    /// A root call of a tool with side effects has no step around it that could say what happened.
    leaf: Option<Leaf>,
}

/// What is known of the effect of a failed root call that is no composite.
#[derive(Debug)]
struct Leaf {
    tool: Text,
    effects: Vec<EffectRecord>,
}

/// What ended the call.
#[derive(Debug)]
#[non_exhaustive]
pub enum Fault {
    /// No tool has this name.
    Unavailable {
        /// The name.
        tool: Text,
        /// The nearest name that exists.
        nearest: Option<Text>,
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
    Gate(GateRefusal),
    /// The run was cancelled before this tool started.
    Aborted,
    /// The written composite is wrong.
    InvalidSpec(SpecError),
    /// A reference had no value when its step came.
    Unresolved(Unresolved),
    /// The arguments do not fit the tool's input schema.
    InvalidArguments(Vec<SchemaIssue>),
    /// The tool answered with an error.
    Tool {
        /// The error.
        error: ToolError,
        /// Whether a side effect can have happened.
        state: EffectState,
    },
    /// The tool panicked.
    Panicked {
        /// What it said.
        message: String,
        /// Whether a side effect can have happened.
        state: EffectState,
    },
    /// The run was cancelled while the tool ran.
    Cancelled {
        /// Whether a side effect can have happened.
        state: EffectState,
    },
    /// The output does not fit what the tool promises; the effect has happened.
    InvalidOutput {
        /// What does not fit.
        issues: Vec<SchemaIssue>,
        /// Whether a side effect happened.
        state: EffectState,
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
    },
    /// Composites nest too deep.
    NestingTooDeep {
        /// How deep they are here.
        depth: u32,
    },
    /// A composite stopped at a step.
    Step(StepError),
    /// All steps of a composite ran, and its `output` mapping could not give a value.
    Output(OutputError),
}

/// A composite stopped at a step: which, how far it got, what it did.
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

impl From<Fault> for CallError {
    fn from(fault: Fault) -> Self {
        Self(Box::new(Failed { fault, leaf: None }))
    }
}

impl CallError {
    /// What ended the call.
    pub fn fault(&self) -> &Fault {
        &self.0.fault
    }

    /// Says which tool it was, for a root call of a tool with side effects.
    pub(crate) fn of_leaf(mut self, tool: &Text) -> Self {
        let ran = || EffectRecord::Ran(StepRecord { step: tool.clone(), index: 0, tool: tool.clone(), via: Vec::new() });
        let effects = if self.effect_state() == EffectState::Happened { vec![ran()] } else { Vec::new() };
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
            Fault::Refused { code, .. } => code,
            Fault::Gate(refusal) => &refusal.code,
            Fault::Aborted => "step_aborted",
            Fault::InvalidSpec(error) => error.code(),
            Fault::Unresolved(_) => "unresolved_reference",
            Fault::InvalidArguments(_) => "invalid_args",
            Fault::Tool { error, .. } => error.own_code().unwrap_or("tool_failed"),
            Fault::Panicked { .. } => "panicked",
            Fault::Cancelled { .. } => "cancelled",
            Fault::InvalidOutput { .. } => "invalid_output",
            Fault::TooLarge { .. } => "value_too_large",
            Fault::Journal { .. } => "journal",
            Fault::NestingTooDeep { .. } => "nesting_too_deep",
            Fault::Step(_) | Fault::Output(_) => "invalid_spec",
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
                    | Fault::InvalidArguments(_)
                    | Fault::InvalidSpec(_)
                    | Fault::NestingTooDeep { .. }
                    | Fault::Unavailable { .. }
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

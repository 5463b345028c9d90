//! What a run tells while it is under way: one fact an event, to the observer
//! that the caller gave. Observers cannot change a run, not even by panicking.

use crate::value::Text;

/// Gets the facts of one run, in order. Called on the path of a call: be quick.
pub trait Observer: Send + Sync {
    /// One fact.
    fn observe(&self, event: &Event);
}

/// One fact about a run.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Event {
    /// A step of a composite is about to run its tool.
    StepStarted {
        /// Where: `research/0:search`.
        path: String,
        /// Position of the step in its composite, from 0.
        index: usize,
        /// How many steps that composite has.
        count: usize,
        /// Name of the step.
        step: Text,
        /// Name of its tool.
        tool: Text,
        /// Whether the tool has side effects.
        side_effects: bool,
    },
    /// A step ended.
    StepFinished {
        /// Where.
        path: String,
        /// Position of the step in its composite, from 0.
        index: usize,
        /// Whether it succeeded.
        ok: bool,
        /// Code of the error, when there is one.
        code: Option<Text>,
    },
    /// A tool says how far it is.
    Progress {
        /// Where.
        path: String,
        /// The tool's own words.
        message: Text,
        /// Done, in the tool's own unit.
        done: Option<f64>,
        /// All there is to do, in the same unit.
        total: Option<f64>,
    },
    /// Something worth telling that stops nothing: a repaired argument, a `$…` text used as a literal.
    Warning {
        /// Where.
        path: String,
        /// Stable word for the kind of warning.
        code: &'static str,
        /// In words.
        message: String,
    },
}

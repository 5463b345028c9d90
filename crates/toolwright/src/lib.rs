//! A governed tool runtime for LLM agents.
//!
//! Tools from many places become one sealed [`Catalog`]; composites chain them with small references such as
//! `$prev.snippet`; every call takes one path through one gate; a journal is written on the way.
//!
//! ```
//! use toolwright::{Composite, CompositeSpec, Invocation, Registry, json, tool};
//!
//! # tokio::runtime::Builder::new_current_thread().build()?.block_on(async {
//! let mut registry = Registry::new();
//! registry.register(tool("search", "Finds a text").reads().run_json(|input, _call| async move {
//!     let topic = input.get("query").and_then(|query| query.as_str()).unwrap_or("nothing").to_owned();
//!     Ok(json!({ "snippet": format!("all about {topic}") }))
//! }))?;
//! registry.register(tool("shout", "Upper-cases a text").reads().run_json(|input, _call| async move {
//!     Ok(json!(input.get("text").and_then(|text| text.as_str()).unwrap_or("").to_uppercase()))
//! }))?;
//! let spec = CompositeSpec::from_value(&json!({ "steps": [
//!     { "name": "look", "tool": "search", "inputMapping": { "query": "$input.topic" } },
//!     { "name": "say", "tool": "shout", "inputMapping": { "text": "$prev.snippet" } },
//! ]}))?;
//! registry.register(Composite::new("report", "Finds and shouts").spec(spec))?;
//!
//! let catalog = registry.seal();
//! let result = catalog.invoke(Invocation::new("report", json!({ "topic": "ducks" })), ()).await?;
//! assert_eq!(result.output, Some(json!("ALL ABOUT DUCKS")));
//! # Ok::<(), Box<dyn std::error::Error>>(()) })?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # The life of a call
//!
//! Whatever makes a call, it takes the same stages in the same order: a program's [`Catalog::invoke`], a decision of a
//! model in [`Catalog::call`] or [`Catalog::turn`], a tool's own [`Call::invoke`], a step of a composite. Each stage
//! can end it with an error that says so.
//!
//! | stage | what happens | what can end the call there |
//! | --- | --- | --- |
//! | S0 | the tool is found: by id, by the id that a decision asks for, or as the instance that a step was linked to | [`Unavailable`](Fault::Unavailable), [`UnavailableInvocation`](Fault::UnavailableInvocation); [`Refused`](Fault::Refused) when a composer's step may not be one |
//! | S1 | the call's life has not ended: its own token, its caller's, the host's | [`Cancelled`](Fault::Cancelled) |
//! | S2 | composites and calls do not nest too deep, and none reaches itself | [`NestingTooDeep`](Fault::NestingTooDeep), [`CallsTooDeep`](Fault::CallsTooDeep), [`Cycle`](Fault::Cycle) |
//! | S3 | the tool is available in this context, and its session has not suspended it | [`Forbidden`](Fault::Forbidden), [`Refused`](Fault::Refused) with the code `suspended` |
//! | S4 | the arguments fit its schema: they are validated, or for a step it is proved that they do; for a step of a catalogue, every tool may inspect what is about to be done | [`InvalidInput`](Fault::InvalidInput), [`TooLarge`](Fault::TooLarge), [`Inspected`](Fault::Inspected) |
//! | S5 | `authorize` says yes; for a step, then also the host's checks | [`Denied`](Fault::Denied), [`Gate`](Fault::Gate) |
//! | S6 | the host's checkpoint, when there is a journal | [`Hook`](Fault::Hook) |
//! | S7 | the journal has the intent, or gives the answer of an earlier attempt at the same run | [`Journal`](Fault::Journal), [`InDoubt`](Fault::InDoubt), [`Diverged`](Fault::Diverged), [`FailedBefore`](Fault::FailedBefore) |
//! | S8 | it is told that it has started | |
//! | S9 | the tool runs: a handler, or the steps of a composite, of which each takes all stages itself | [`Tool`](Fault::Tool), [`Panicked`](Fault::Panicked), [`Cancelled`](Fault::Cancelled), [`Step`](Fault::Step), [`Output`](Fault::Output) |
//! | S10 | the output fits what the tool promises; what it hands through as it got it is known to | [`InvalidOutput`](Fault::InvalidOutput), [`TooLarge`](Fault::TooLarge) |
//! | S11 | the host's receipt, when there is a journal | nothing: the record says that there is none |
//! | S12 | the journal has the outcome | [`Journal`](Fault::Journal) |
//! | S13 | it is told how it ended; the caller gets the [`ToolResult`] | |
//!
//! Nothing that failed before S8 had an effect in this attempt. What an earlier one did, and what is known of the effect
//! after S8, the error says: [`CallError::effect_state`].
//!
//! # Reading order
//!
//! Each module is a chapter.
//!
//! 1. [`tool`](mod@tool): what a tool is. [`tool()`] and [`ToolBuilder`] declare one; [`Tool`] is one with state.
//! 2. [`runtime`](mod@runtime): the types of your application. A program that needs none never meets it.
//! 3. [`registry`], [`policy`], [`options`]: collecting tools, and what a host decides. [`schema`] and [`fingerprint`]: what is read of
//!    a declaration.
//! 4. [`catalog`]: a sealed set of tools: reading it, and calling them. [`frame`], [`cancel`]: who is calling, and until when.
//!    [`protocol`]: what a model may answer.
//! 5. [`lifecycle`]: what a tool may say beside being called; [`refusal`]: how it says no.
//! 6. [`reference`](mod@reference), [`composite`], [`gate`]: tools made of calls, the small language between the steps, and what
//!    may be a step. [`composer`]: the same over a gate of the host's own.
//! 7. [`session`]: tools that are made while an agent runs.
//! 8. [`error`], [`codes`]: what can go wrong, and what to do about it. [`nearest`]: "did you mean".
//! 9. [`journal`]: runs that survive. [`diagnostics`]: what is told on the way.
//! 10. [`value`], [`limits`]: what everything above is made of, and how much of it there may be.
//!
//! With the feature `testing`, the module `testing` has what hosts test themselves with. [`prelude`] is for `use`.
//!
//! `examples/` has programs to begin with: `simple`, `read_source`, `rules_and_text`, `lifecycle`, `forged`.
//!
//! The crate does no I/O: no files, environment, clock, network or processes. They come in as ports.

/// The README's example, compiled and run.
#[cfg(doctest)]
#[expect(rustdoc::invalid_codeblock_attributes, reason = "its other blocks carry words for their own checks")]
#[doc = include_str!("../../../README.md")]
pub struct Readme;

/// The page about approvals, compiled.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/approvals.md")]
pub struct ApprovalsPage;

pub mod approval;
mod call;
pub mod cancel;
pub mod catalog;
pub mod codes;
pub mod composer;
pub mod composite;
pub mod diagnostics;
pub mod error;
pub mod fingerprint;
pub mod frame;
pub mod gate;
pub mod journal;
pub mod lifecycle;
pub mod limits;
pub mod nearest;
pub mod options;
pub mod policy;
pub mod prelude;
pub mod protocol;
pub mod reference;
pub mod refusal;
pub mod registry;
pub mod runtime;
pub mod schema;
pub mod session;
#[cfg(feature = "testing")]
pub mod testing;
pub mod tool;
pub mod value;
pub mod wiring;

pub use cancel::{CancelSource, CancelToken};
pub use catalog::{
    Again, CallRecord, Catalog, EffectSummary, Fork, GoalSupport, Invocation, OnFailure, Registered, ResumeOptions, ToolResult,
    ToolSummary, Turn, View,
};
pub use composer::{Binding, Composer, PipelineOptions, Validation};
pub use composite::{
    Composite, CompositeBody, CompositeSpec, EffectRecord, Fix, Severity, SpecError, SpecIssue, StepEffect, StepOutputs, StepSpec,
};
pub use diagnostics::{Detail, Diagnostics, EventName, Fact, Identity, Observer, Recorder, Sink, SpanFields, ToolEvent};
pub use error::{CallError, EffectState, Fault, OutputError, Retry, StepError, Unresolved};
pub use fingerprint::Fingerprint;
pub use frame::{Attached, Call, Clock, Context, FrameRef, Timestamp, current_frame};
pub use gate::{Approver, Chainability, HostChecks, HostGate, StepCheck, StepGate, StepRequest};
pub use journal::{Eventually, Journal, JournalError, MemoryJournal};
pub use lifecycle::{Access, ContextFragment, IntentSpec, IntoHook, Lifecycle, ModelField, Rule};
pub use limits::Limits;
pub use options::Options;
pub use policy::Policy;
pub use protocol::{Protocol, ProtocolSet};
pub use reference::Dialect;
pub use refusal::Refusal;
pub use registry::{Declaration, RegisterError, RegisterFault, Registry, SharedRegistry};
pub use runtime::{AsDecision, Decision, IntoContext, Phase, Rt, Runtime};
pub use schema::{Repair, SchemaError, SchemaIssue};
pub use session::{ForgeError, ForgeTest, Session, SessionError};
pub use tool::{
    Answer, Begun, BoxFuture, Effect, Example, Goals, Handler, Impact, NoInput, Origin, Reconciled, Tool, ToolBuilder, ToolDef, ToolError,
    tool,
};
pub use value::{Number, Object, Shape, Text, Value};

/// The text on one line, cut at a character boundary; says how much was cut.
pub(crate) fn cut(text: &str, chars_max: usize) -> String {
    let mut shown = String::with_capacity(text.len().min(chars_max));
    for (at, c) in text.chars().enumerate() {
        if at == chars_max {
            shown.push_str(&format!("… ({} more characters)", text.chars().count().saturating_sub(chars_max)));
            break;
        }
        // A line break or an escape sequence in a name must not forge a line of the output.
        // Nor may one that turns the direction around make a line read as another.
        if c.is_control() || matches!(c, '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}') {
            shown.extend(c.escape_default())
        } else {
            shown.push(c)
        }
    }
    shown
}

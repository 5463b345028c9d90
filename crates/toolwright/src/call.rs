//! THE path of a call. Whatever starts a tool, a root call, a step, a nested
//! call, comes through here; nothing else can reach a tool's body.
//!
//! Stages, in order: input (schema, repairs, limits), gate (the host's checks),
//! cancelled?, journal begin, execute, output (schema, limits), journal finish.
//! Finding the tool and judging whether it may be chained come before, in
//! `catalog.rs` for roots and in `composite/run.rs` for steps.

use std::any::Any;
use std::future::Future;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::{Pin, pin};
use std::task::{Context as Waking, Poll};

use futures_util::FutureExt;
use futures_util::future::{Either, select};
use tokio_util::sync::WaitForCancellationFutureOwned;

use crate::composite;
use crate::diagnostics::Event;
use crate::error::{CallError, EffectState, Fault, OutputError, state_after};
use crate::frame::{Call, Run, Timestamp};
use crate::gate::{Gate, GateRefusal, StepRequest};
use crate::journal::{Admission, Begin, BeginMore, Eventually, Failure, Finish, FinishMore, JournalError, RunJournal, StepKey};
use crate::limits;
use crate::schema::Repair;
use crate::tool::{Aftermath, Answer, Body, BoxFuture, ToolDef, ToolError};
use crate::value::Value;

/// What one call carries through the stages: arguments in, answer out. Kept in one place, since moving values
/// from hand to hand costs more than any stage.
#[derive(Default)]
pub(crate) struct Passage {
    pub(crate) arguments: Value,
    /// What was changed in the arguments as received.
    pub(crate) repairs: Vec<Repair>,
    pub(crate) answer: Answer,
    /// When the call before this one ended, if nothing that takes time has happened since.
    pub(crate) now: Option<Timestamp>,
}

/// Input stage: arguments checked against the tool's schema, repaired where that keeps their meaning, and within limits.
pub(crate) fn prepare(call: &Call, tool: &ToolDef, passage: &mut Passage) -> Result<(), CallError> {
    within_limits(&passage.arguments, "arguments", &call.scope.run, EffectState::NotStarted)?;
    passage.repairs.clear();
    if let Some(schema) = &tool.0.input {
        schema.prepare(&mut passage.arguments, &mut passage.repairs).map_err(Fault::InvalidArguments)?;
        if !passage.repairs.is_empty() {
            tell_repairs(call, &passage.repairs);
        }
    }
    Ok(())
}

#[cold]
fn tell_repairs(call: &Call, repairs: &[Repair]) {
    for repair in repairs {
        call.run().tell(|| {
            let message = format!("{}: {}", repair.pointer, repair.action);
            Event::Warning { path: call.path(), code: "repaired_argument", message }
        });
    }
}

/// The stages from the gate to the finished record. The answer is left in `passage`.
pub(crate) async fn perform(
    run: &Run,
    call: Call,
    tool: &ToolDef,
    passage: &mut Passage,
    gate: Option<&Gate<'_>>,
) -> Result<(), CallError> {
    if let Some(gate) = gate
        && gate.has_checks()
    {
        passage.now = None;
        // Boxed, so that a run without checks does not carry room for them.
        Box::pin(admitted(gate, &call, tool, &passage.arguments)).await?;
    }
    // A cancelled root composite says at which step it stopped.
    if run.cancel.is_cancelled() && (gate.is_some() || !tool.is_composite()) {
        return Err(Fault::Aborted.into());
    }
    tracing::trace!(tool = call.tool(), step = call.step(), "call starts");
    match &run.journal {
        None => execute(run, call, tool, passage).await,
        Some(journal) => recorded(&**journal, run, call, tool, passage).await,
    }
}

/// Execution between two records of the journal.
async fn recorded(journal: &dyn RunJournal, run: &Run, call: Call, tool: &ToolDef, passage: &mut Passage) -> Result<(), CallError> {
    let key = StepKey::at(call.node().clone(), call.step, false);
    let repairs = std::mem::take(&mut passage.repairs);
    let mut begin = Begin::new(key.clone(), tool.effect().map(|effect| effect.impact), passage.arguments.clone());
    begin.composite = tool.is_composite();
    begin.at = passage.now.or_else(|| run.clock.as_ref().map(|clock| clock.now()));
    if !repairs.is_empty() {
        begin.more = Some(Box::new(BeginMore { repairs, ..BeginMore::default() }));
    }
    // From here on the intent may be written, also when the future is dropped while it is.
    let mut open = Open { journal, key: Some(key) };
    let begun = match journal.begin(begin) {
        Eventually::Now(begun) => begun,
        Eventually::Later(begun) => begun.await,
    };
    match begun {
        Ok(Admission::Proceed { .. }) => {}
        other => {
            open.key = None;
            return not_admitted(other, passage);
        }
    }
    let outcome = execute(run, call, tool, passage).await;
    let Some(key) = open.key.clone() else { return outcome };
    passage.now = run.clock.as_ref().map(|clock| clock.now());
    let mut finish = match &outcome {
        Ok(()) => Finish::ok(key, passage.answer.output.clone(), happened(tool)),
        Err(error) => Finish::failed(key, failure_of(error)),
    };
    finish.more = passage.answer.more.as_ref().filter(|_| outcome.is_ok()).map(|more| Box::new(FinishMore::from(&**more)));
    finish.at = passage.now;
    let finished = match journal.finish(finish) {
        Eventually::Now(finished) => finished,
        Eventually::Later(finished) => finished.await,
    };
    open.key = None;
    if let (Ok(()), Err(error)) = (&outcome, finished) {
        return Err(unwritten(&passage.answer, error, happened(tool)));
    }
    outcome
}

/// What the journal says instead of letting the call run.
#[cold]
fn not_admitted(said: Result<Admission, JournalError>, passage: &mut Passage) -> Result<(), CallError> {
    let refused = |code, message: String| Fault::Refused { code, message, help: None, details: None };
    let fault = match said {
        Ok(Admission::Proceed { .. }) => return Ok(()),
        Ok(Admission::Replay(finish)) => {
            passage.answer = Answer { output: finish.outcome.unwrap_or_default(), more: finish.more.map(|more| Box::new((*more).into())) };
            return Ok(());
        }
        Ok(Admission::InDoubt(doubt)) => {
            refused(arcstr::literal!("in_doubt"), format!("nobody knows whether `{}` happened", doubt.begin.key.path()))
        }
        Ok(Admission::Failed(failure)) => refused(failure.code, failure.message),
        Ok(Admission::Diverged(other)) => {
            refused(arcstr::literal!("diverged"), format!("the run has another {} here", other.what.as_str()))
        }
        Err(error) => Fault::Journal { phase: "begin", error, state: EffectState::NotStarted },
    };
    Err(fault.into())
}

#[cold]
fn failure_of(error: &CallError) -> Failure {
    let mut failure = Failure::new(error.code(), error.message(), error.effect_state());
    failure.answered = matches!(error.fault(), Fault::Tool { error, .. } if error.aftermath() == Aftermath::Answered);
    failure.help = error.help();
    failure
}

/// The call succeeded and its outcome could not be written: nobody may go on with it, but what happened is told.
#[cold]
fn unwritten(answer: &Answer, error: JournalError, state: EffectState) -> CallError {
    let source = CallError::from(Fault::Journal { phase: "finish", error, state });
    match answer.more.as_ref().and_then(|more| more.effects.clone()) {
        Some(effects) if !effects.is_empty() => Fault::Output(OutputError { completed: Vec::new(), effects, source }).into(),
        _ => source,
    }
}

async fn admitted(gate: &Gate<'_>, call: &Call, tool: &ToolDef, arguments: &Value) -> Result<(), CallError> {
    let request = StepRequest {
        tool,
        name: call.tool(),
        step: call.step(),
        arguments,
        context: &call.scope.run.context,
        cancel: &call.scope.run.cancel,
        depth: call.depth(),
        steps_follow: tool.composite().is_some_and(|composite| gate.sees_steps_of(composite)),
    };
    let deciding = pin!(AssertUnwindSafe(gate.admit(&request)).catch_unwind());
    // A person who is asked may never answer; whoever cancels the run must not wait for that.
    let decided = match select(deciding, pin!(request.cancel.cancelled())).await {
        Either::Left((decided, _)) => decided,
        Either::Right(_) => return Err(Fault::Aborted.into()),
    };
    // Whatever goes wrong while deciding is a no.
    let refusal = match decided {
        Ok(Ok(())) => return Ok(()),
        Ok(Err(refusal)) => refusal,
        Err(panic) => GateRefusal::new("permission_denied", format!("a check of the host broke down: {}", panic_message(&*panic)))
            .help("a check that cannot decide counts as a no; the host must mend it"),
    };
    Err(Fault::Gate(refusal).into())
}

/// A begun call. When its future is dropped before the outcome is written, the journal is told.
struct Open<'a> {
    journal: &'a dyn RunJournal,
    key: Option<StepKey>,
}

impl Drop for Open<'_> {
    fn drop(&mut self) {
        if let Some(key) = &self.key {
            self.journal.abandoned(key);
        }
    }
}

/// Runs the tool's body to its end. A composite's steps are calls of their own; what they gave was checked there.
fn execute<'a>(run: &'a Run, call: Call, tool: &'a ToolDef, passage: &'a mut Passage) -> Execution<'a> {
    Execution { running: Running::NotStarted, call: Some(call), tool, run, passage, cancelled: None, grace: None, told: false }
}

/// What is known of the effect once the tool has run to its end.
fn happened(tool: &ToolDef) -> EffectState {
    if tool.has_side_effects() == Some(false) { EffectState::NoEffect } else { EffectState::Happened }
}

/// What is known of the effect when the tool did not come to its end.
fn unknown(tool: &ToolDef) -> EffectState {
    if tool.has_side_effects() == Some(false) { EffectState::NoEffect } else { EffectState::Unknown }
}

#[cold]
fn failure(error: ToolError, tool: &ToolDef) -> CallError {
    if error.is_unusable_output() {
        let issue = crate::schema::SchemaIssue { pointer: String::new(), message: error.message().to_owned() };
        return Fault::InvalidOutput { issues: vec![issue], state: happened(tool) }.into();
    }
    let state = state_after(error.aftermath(), tool.has_side_effects() != Some(false));
    Fault::Tool { error, state }.into()
}

/// Output stage. The effect has happened, and the error says so.
fn check_output(tool: &ToolDef, answer: &Answer, run: &Run) -> Result<(), CallError> {
    let Some(output) = &answer.output else { return Ok(()) };
    let state = happened(tool);
    within_limits(output, "output", run, state)?;
    match &tool.0.output {
        Some(schema) if !schema.accepts(output) => Err(Fault::InvalidOutput { issues: schema.issues(output), state }.into()),
        _ => Ok(()),
    }
}

pub(crate) fn within_limits(value: &Value, what: &'static str, run: &Run, state: EffectState) -> Result<(), CallError> {
    if value.weight() <= run.limits.value_bytes_max && value.depth() <= limits::VALUE_DEPTH_MAX {
        return Ok(());
    }
    Err(too_large(value, what, run, state))
}

#[cold]
fn too_large(value: &Value, what: &'static str, run: &Run, state: EffectState) -> CallError {
    let message = if value.depth() > limits::VALUE_DEPTH_MAX {
        format!("nest more than {} deep", limits::VALUE_DEPTH_MAX)
    } else {
        format!("would print as {} bytes, and the limit is {}", value.weight(), run.limits.value_bytes_max)
    };
    Fault::TooLarge { what, message, state }.into()
}

enum Running<'a> {
    NotStarted,
    Handler(BoxFuture<'a, Result<Answer, ToolError>>),
    Composite(BoxFuture<'a, Result<Answer, CallError>>),
    Over,
}

/// A running tool, and what ends it: its answer, a panic, or the run's cancellation. One without side effects is
/// dropped at once when cancelled; one with them is told, and has a grace period to answer. A composite is left to
/// its steps, each of which does the same.
struct Execution<'a> {
    running: Running<'a>,
    call: Option<Call>,
    tool: &'a ToolDef,
    run: &'a Run,
    passage: &'a mut Passage,
    cancelled: Option<Pin<Box<WaitForCancellationFutureOwned>>>,
    grace: Option<BoxFuture<'static, ()>>,
    told: bool,
}

impl Execution<'_> {
    /// One look at the tool. Starting it is part of the first look, so that one guard catches its panics.
    fn look(&mut self, waking: &mut Waking<'_>) -> Poll<Result<(), CallError>> {
        if let Some(call) = self.call.take() {
            let arguments = std::mem::take(&mut self.passage.arguments);
            self.running = match &self.tool.0.body {
                Body::Handler(handler) => Running::Handler(handler.handle(arguments, call)),
                Body::Composite(body) => Running::Composite(Box::pin(composite::run::run(call, body, arguments))),
            };
        }
        match &mut self.running {
            Running::Handler(tool) => match tool.as_mut().poll(waking) {
                Poll::Pending => Poll::Pending,
                Poll::Ready(Ok(answer)) => {
                    self.passage.answer = answer;
                    Poll::Ready(check_output(self.tool, &self.passage.answer, self.run))
                }
                Poll::Ready(Err(error)) => Poll::Ready(Err(failure(error, self.tool))),
            },
            Running::Composite(steps) => match steps.as_mut().poll(waking) {
                Poll::Pending => Poll::Pending,
                Poll::Ready(outcome) => Poll::Ready(outcome.map(|answer| self.passage.answer = answer)),
            },
            Running::NotStarted | Running::Over => Poll::Pending,
        }
    }

    fn look_at_cancellation(&mut self, waking: &mut Waking<'_>) -> Poll<Result<(), CallError>> {
        if self.told {
            return self.look_at_grace(waking);
        }
        if self.cancelled.is_none() {
            self.cancelled = self.run.cancel.wait().map(Box::pin);
        }
        if !self.cancelled.as_mut().is_some_and(|cancelled| cancelled.as_mut().poll(waking).is_ready()) {
            return Poll::Pending;
        }
        if self.tool.has_side_effects() == Some(false) {
            return self.cancelled_with(EffectState::NoEffect);
        }
        self.told = true;
        self.grace = self.run.clock.as_ref().map(|clock| clock.sleep(self.run.limits.cancel_grace));
        self.look_at_grace(waking)
    }

    #[cold]
    fn dropped_by_cancellation(&self) -> bool {
        matches!(self.running, Running::Handler(_)) && self.tool.has_side_effects() == Some(false) && self.run.cancel.is_cancelled()
    }

    fn look_at_grace(&mut self, waking: &mut Waking<'_>) -> Poll<Result<(), CallError>> {
        if self.grace.as_mut().is_some_and(|grace| grace.as_mut().poll(waking).is_ready()) {
            return self.cancelled_with(EffectState::Unknown);
        }
        Poll::Pending
    }

    fn cancelled_with(&mut self, state: EffectState) -> Poll<Result<(), CallError>> {
        self.running = Running::Over;
        Poll::Ready(Err(Fault::Cancelled { state }.into()))
    }
}

impl Future for Execution<'_> {
    type Output = Result<(), CallError>;

    fn poll(mut self: Pin<&mut Self>, waking: &mut Waking<'_>) -> Poll<Self::Output> {
        let this = &mut *self;
        let looked = catch_unwind(AssertUnwindSafe(|| match this.look(waking) {
            Poll::Pending if matches!(this.running, Running::Handler(_)) => this.look_at_cancellation(waking),
            // A tool may hear of the cancellation before we look: it is the same end, and told in one way.
            Poll::Ready(Err(_)) if this.dropped_by_cancellation() => this.cancelled_with(EffectState::NoEffect),
            polled => polled,
        }));
        match looked {
            Ok(polled) => polled,
            Err(panic) => {
                // What is left of a tool that broke down may break down again while it is dropped.
                let _ = catch_unwind(AssertUnwindSafe(|| this.running = Running::Over));
                Poll::Ready(Err(Fault::Panicked { message: panic_message(&*panic), state: unknown(this.tool) }.into()))
            }
        }
    }
}

fn panic_message(panic: &(dyn Any + Send)) -> String {
    let message = panic.downcast_ref::<&str>().map(|text| (*text).to_owned()).or_else(|| panic.downcast_ref::<String>().cloned());
    message.unwrap_or_else(|| "the tool panicked".into())
}

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
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context as Waking, Poll};

use futures_util::FutureExt;
use tokio_util::sync::WaitForCancellationFutureOwned;

use crate::composite;
use crate::diagnostics::Event;
use crate::error::{CallError, EffectState, Fault, OutputError, state_after};
use crate::frame::{Call, Run};
use crate::gate::{Gate, GateRefusal, StepRequest};
use crate::journal::{Begin, Finish, JournalError, RunJournal, StepKey};
use crate::limits;
use crate::schema::Prepared;
use crate::tool::{Answer, Body, BoxFuture, Handler, ToolDef, ToolError};
use crate::value::Value;

/// Input stage: arguments checked against the tool's schema, repaired where that keeps their meaning, and within limits.
pub(crate) fn prepare(call: &Call, tool: &ToolDef, received: Value) -> Result<Prepared, CallError> {
    within_limits(&received, "arguments", &call.run, EffectState::NotStarted)?;
    let Some(schema) = &tool.0.input else {
        return Ok(Prepared { arguments: received, repairs: Vec::new() });
    };
    let prepared = schema.prepare(received).map_err(Fault::InvalidArguments)?;
    if !prepared.repairs.is_empty() {
        tell_repairs(call, &prepared);
    }
    Ok(prepared)
}

#[cold]
fn tell_repairs(call: &Call, prepared: &Prepared) {
    let Some(observer) = &call.run.observer else { return };
    for repair in &prepared.repairs {
        let message = format!("{}: {}", repair.pointer, repair.action);
        observer.observe(&Event::Warning { path: call.node.path(call.step), code: "repaired_argument", message });
    }
}

/// The stages from the gate to the finished record.
pub(crate) async fn perform(call: Call, tool: &ToolDef, prepared: Prepared, gate: Option<&Gate<'_>>) -> Result<Answer, CallError> {
    let run = call.run.clone();
    let Prepared { arguments, repairs } = prepared;
    if let Some(gate) = gate
        && gate.has_checks()
    {
        admitted(gate, &call, tool, &arguments).await?;
    }
    // A cancelled root composite says at which step it stopped.
    if run.cancel.is_cancelled() && (gate.is_some() || !tool.is_composite()) {
        return Err(Fault::Aborted.into());
    }
    let side_effects = tool.has_side_effects() != Some(false);
    let Some(journal) = &run.journal else {
        return execute(call, tool, arguments, side_effects).await;
    };
    let key = StepKey { node: call.node.clone(), step: call.step };
    let begin = Begin {
        key: key.clone(),
        impact: tool.effect().map(|effect| effect.impact),
        input: arguments.clone(),
        repairs,
        at: run.clock.as_ref().map(|clock| clock.now()),
    };
    let not_started = |error| Fault::Journal { phase: "begin", error, state: EffectState::NotStarted };
    journal.begin(begin).get().await.map_err(not_started)?;
    let open = Open { journal, key: Some(key) };
    let outcome = execute(call, tool, arguments, side_effects).await;
    let key = open.close();
    let state = match &outcome {
        Err(error) => error.effect_state(),
        Ok(_) if side_effects => EffectState::Happened,
        Ok(_) => EffectState::NoEffect,
    };
    if let Some(key) = key {
        let record = Finish {
            key,
            outcome: match &outcome {
                Ok(answer) => Ok(answer.output.clone()),
                Err(error) => Err((error.code().into(), error.message())),
            },
            at: run.clock.as_ref().map(|clock| clock.now()),
        };
        let written = journal.finish(record).get().await;
        if let (Ok(answer), Err(error)) = (&outcome, written) {
            return Err(unwritten(answer, error, state));
        }
    }
    outcome
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
        context: &call.run.context,
        cancel: &call.run.cancel,
        depth: call.depth(),
    };
    // Whatever goes wrong while deciding is a no.
    let refusal = match AssertUnwindSafe(gate.admit(&request)).catch_unwind().await {
        Ok(Ok(())) => return Ok(()),
        Ok(Err(refusal)) => refusal,
        Err(panic) => GateRefusal::new("permission_denied", format!("a check of the host broke down: {}", panic_message(&*panic)))
            .help("a check that cannot decide counts as a no; the host must mend it"),
    };
    Err(Fault::Gate(refusal).into())
}

/// A begun call. When its future is dropped half-way, the journal is told.
struct Open<'a> {
    journal: &'a Arc<dyn RunJournal>,
    key: Option<StepKey>,
}

impl Open<'_> {
    fn close(mut self) -> Option<StepKey> {
        self.key.take()
    }
}

impl Drop for Open<'_> {
    fn drop(&mut self) {
        if let Some(key) = &self.key {
            self.journal.abandoned(key);
        }
    }
}

async fn execute(call: Call, tool: &ToolDef, arguments: Value, side_effects: bool) -> Result<Answer, CallError> {
    let run = call.run.clone();
    let handler = match &tool.0.body {
        Body::Handler(handler) => handler,
        // A composite's steps are calls of their own; what they gave was checked there.
        Body::Composite(body) => return Box::pin(composite::run::run(call, body, arguments)).await,
    };
    let ended = Execution::start(handler, arguments, call, &run, side_effects).await;
    let answer = match ended {
        Ended::Answered(Ok(answer)) => answer,
        Ended::Answered(Err(error)) => return Err(failure(error, side_effects)),
        Ended::Panicked(message) => {
            let state = if side_effects { EffectState::Unknown } else { EffectState::NoEffect };
            return Err(Fault::Panicked { message, state }.into());
        }
        Ended::Cancelled(state) => return Err(Fault::Cancelled { state }.into()),
    };
    let state = if side_effects { EffectState::Happened } else { EffectState::NoEffect };
    check_output(tool, &answer, &run, state)?;
    Ok(answer)
}

fn failure(error: ToolError, side_effects: bool) -> CallError {
    let state = state_after(error.aftermath(), side_effects);
    if error.is_unusable_output() {
        let happened = if side_effects { EffectState::Happened } else { EffectState::NoEffect };
        let issue = crate::schema::SchemaIssue { pointer: String::new(), message: error.message().to_owned() };
        return Fault::InvalidOutput { issues: vec![issue], state: happened }.into();
    }
    Fault::Tool { error, state }.into()
}

/// Output stage. The effect has happened, and the error says so.
fn check_output(tool: &ToolDef, answer: &Answer, run: &Run, state: EffectState) -> Result<(), CallError> {
    let Some(output) = &answer.output else { return Ok(()) };
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

enum Ended {
    Answered(Result<Answer, ToolError>),
    Panicked(String),
    Cancelled(EffectState),
}

/// A running tool, and what ends it: its answer, a panic, or the run's cancellation. One without side
/// effects is dropped at once when cancelled; one with them is told, and has a grace period to answer.
struct Execution<'a> {
    running: BoxFuture<'a, Result<Answer, ToolError>>,
    run: &'a Run,
    side_effects: bool,
    cancelled: Option<Pin<Box<WaitForCancellationFutureOwned>>>,
    grace: Option<BoxFuture<'static, ()>>,
    told: bool,
}

impl<'a> Execution<'a> {
    async fn start(handler: &'a Arc<dyn Handler>, arguments: Value, call: Call, run: &'a Run, side_effects: bool) -> Ended {
        let running = match catch_unwind(AssertUnwindSafe(|| handler.handle(arguments, call))) {
            Ok(running) => running,
            Err(panic) => return Ended::Panicked(panic_message(&*panic)),
        };
        Execution { running, run, side_effects, cancelled: None, grace: None, told: false }.await
    }

    fn look_at_cancellation(&mut self, waking: &mut Waking<'_>) -> Poll<Ended> {
        if self.told {
            return self.look_at_grace(waking);
        }
        if self.cancelled.is_none() {
            self.cancelled = self.run.cancel.wait().map(Box::pin);
        }
        if !self.cancelled.as_mut().is_some_and(|cancelled| cancelled.as_mut().poll(waking).is_ready()) {
            return Poll::Pending;
        }
        if !self.side_effects {
            return Poll::Ready(Ended::Cancelled(EffectState::NoEffect));
        }
        self.told = true;
        self.grace = self.run.clock.as_ref().map(|clock| clock.sleep(self.run.limits.cancel_grace));
        self.look_at_grace(waking)
    }

    fn look_at_grace(&mut self, waking: &mut Waking<'_>) -> Poll<Ended> {
        if self.grace.as_mut().is_some_and(|grace| grace.as_mut().poll(waking).is_ready()) {
            return Poll::Ready(Ended::Cancelled(EffectState::Unknown));
        }
        Poll::Pending
    }
}

impl Future for Execution<'_> {
    type Output = Ended;

    fn poll(mut self: Pin<&mut Self>, waking: &mut Waking<'_>) -> Poll<Ended> {
        let this = &mut *self;
        match catch_unwind(AssertUnwindSafe(|| this.running.as_mut().poll(waking))) {
            Ok(Poll::Ready(answer)) => Poll::Ready(Ended::Answered(answer)),
            Ok(Poll::Pending) => this.look_at_cancellation(waking),
            Err(panic) => Poll::Ready(Ended::Panicked(panic_message(&*panic))),
        }
    }
}

fn panic_message(panic: &(dyn Any + Send)) -> String {
    let message = panic.downcast_ref::<&str>().map(|text| (*text).to_owned()).or_else(|| panic.downcast_ref::<String>().cloned());
    message.unwrap_or_else(|| "the tool panicked".into())
}

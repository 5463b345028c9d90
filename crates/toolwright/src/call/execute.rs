//! S8 to S10: the tool's body runs to its end, or to that of the call's life, and its output is checked.

use std::any::Any;
use std::future::Future;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::task::{Context as Waking, Poll};

use super::same::{is_handed_through, may_hand_through};
use super::{Passage, forgotten, quietly, within_limits};
use crate::cancel::Cancelled;
use crate::composite::proof::Standing;
use crate::composite::{self, CompositeBody};
use crate::error::{CallError, EffectState, Fault, state_after};
use crate::frame::current::within;
use crate::frame::{Call, Frame, FrameRef, slept};
use crate::runtime::Runtime;
use crate::schema::{CompiledSchema, SchemaIssue};
use crate::tool::{Answer, Body, BoxFuture, ToolDef, ToolError};
use crate::value::Value;

/// Runs the tool's body to its end. A composite's steps are calls of their own; what they gave was checked there.
pub(super) fn execute<'a, R: Runtime>(frame: &'a Frame, call: Call<R>, tool: &'a ToolDef<R>, passage: &'a mut Passage) -> Execution<'a, R> {
    let protocol = tool.0.produces.as_ref().and_then(|id| call.scope.host.view.as_ref()?.output_schema(id).cloned());
    Execution {
        running: Running::NotStarted,
        call: Some(call),
        current: None,
        protocol,
        tool,
        frame,
        passage,
        cancelled: None,
        grace: None,
        told: false,
    }
}

/// What is known of the effect once the tool has run to its end.
pub(crate) fn happened<R: Runtime>(tool: &ToolDef<R>) -> EffectState {
    if tool.has_side_effects() == Some(false) { EffectState::NoEffect } else { EffectState::Happened }
}

/// What is known of the effect when the tool did not come to its end.
fn unknown<R: Runtime>(tool: &ToolDef<R>) -> EffectState {
    if tool.has_side_effects() == Some(false) { EffectState::NoEffect } else { EffectState::Unknown }
}

#[cold]
fn failure<R: Runtime>(error: ToolError, tool: &ToolDef<R>) -> CallError {
    if error.is_unusable_output() {
        let issue = SchemaIssue { pointer: String::new(), message: error.message().to_owned() };
        return Fault::InvalidOutput { tool: tool.0.name.clone(), issues: vec![issue], state: happened(tool), value: None }.into();
    }
    let state = state_after(error.aftermath(), tool.has_side_effects() != Some(false));
    Fault::Tool { tool: tool.0.name.clone(), error, state }.into()
}

/// S10. The effect has happened, and the error says so. `inside` is what a composite's steps made known of its output.
#[inline]
fn check_output<R: Runtime>(
    tool: &ToolDef<R>,
    passage: &Passage,
    frame: &Frame,
    protocol: Option<&CompiledSchema>,
    inside: Standing,
) -> Result<Standing, CallError> {
    let Some(output) = &passage.answer.output else { return Ok(Standing::Unknown) };
    let state = happened(tool);
    let mut standing = inside;
    // What the last step of a composite gave was checked there, unless the composite promises more.
    if tool.composite().is_none_or(CompositeBody::promises_output) {
        within_limits(output, "output", frame, state)?;
        if let Some(schema) = &tool.0.output {
            standing = if is_handed_through(tool, &passage.arguments, output) { Standing::Exact } else { Standing::Fits };
            if standing == Standing::Fits && !schema.accepts(output) {
                return Err(invalid_output(tool, schema.issues(output), state, output));
            }
        }
    }
    match protocol {
        Some(schema) if !schema.accepts(output) => Err(invalid_output(tool, schema.issues(output), state, output)),
        _ => Ok(standing),
    }
}

#[cold]
fn invalid_output<R: Runtime>(tool: &ToolDef<R>, issues: Vec<SchemaIssue>, state: EffectState, output: &Value) -> CallError {
    Fault::InvalidOutput { tool: tool.0.name.clone(), issues, state, value: Some(output.clone()) }.into()
}

enum Running<'a> {
    NotStarted,
    Handler(BoxFuture<'a, Result<Answer, ToolError>>),
    Composite(BoxFuture<'a, Result<(Answer, Standing), CallError>>),
    Over,
}

/// One look at a handler, inside its own call. When it is at its end, what is left of it is dropped in the same place.
fn polled(running: &mut Running<'_>, waking: &mut Waking<'_>) -> Poll<Result<Answer, ToolError>> {
    let Running::Handler(tool) = running else { return Poll::Pending };
    let polled = tool.as_mut().poll(waking);
    if polled.is_ready() {
        let left = std::mem::replace(running, Running::Over);
        quietly(|| drop(left));
    }
    polled
}

/// A running tool, and what ends it: its answer, a panic, or the end of its life. One without side effects is
/// dropped at once when cancelled; one with them is told, and has a grace period to answer. A composite is left to
/// its steps, each of which does the same.
pub(super) struct Execution<'a, R: Runtime> {
    running: Running<'a>,
    call: Option<Call<R>>,
    /// Which call this is, while its tool is not being polled.
    current: Option<FrameRef>,
    /// Schema of the output protocol that the tool says it produces.
    protocol: Option<CompiledSchema>,
    tool: &'a ToolDef<R>,
    frame: &'a Frame,
    passage: &'a mut Passage,
    cancelled: Option<Cancelled>,
    grace: Option<BoxFuture<'static, ()>>,
    told: bool,
}

impl<R: Runtime> Execution<'_, R> {
    /// One look at the tool. Starting it is part of the first look, so that one guard catches its panics.
    fn look(&mut self, waking: &mut Waking<'_>) -> Poll<Result<(), CallError>> {
        if let Some(call) = self.call.take() {
            return self.first_look(call, waking);
        }
        let heard = match &mut self.running {
            Running::Handler(_) => {
                let running = &mut self.running;
                within(&mut self.current, || polled(running, waking))
            }
            Running::Composite(steps) => match steps.as_mut().poll(waking) {
                Poll::Pending => return Poll::Pending,
                Poll::Ready(Ok((answer, inside))) => return Poll::Ready(self.answered(answer, inside)),
                Poll::Ready(Err(error)) => return Poll::Ready(Err(error)),
            },
            Running::NotStarted | Running::Over => {
                return Poll::Ready(Err(Fault::NoHandler { tool: self.tool.0.name.clone() }.into()));
            }
        };
        self.heard(heard)
    }

    /// Starts the tool and looks at it, as one call on this thread.
    fn first_look(&mut self, call: Call<R>, waking: &mut Waking<'_>) -> Poll<Result<(), CallError>> {
        let arguments = std::mem::take(&mut self.passage.arguments);
        match &self.tool.0.body {
            Body::Handler(handler) => {
                self.keep(&call, &arguments);
                let reads = self.tool.has_side_effects() == Some(false);
                self.current = Some(FrameRef { frame: call.scope.frame.clone(), step: call.step, reads, aside: None });
                let running = &mut self.running;
                let heard = within(&mut self.current, || {
                    // Kept before it is polled: what is left of one that breaks down is dropped under a guard.
                    *running = Running::Handler(handler.handle(arguments, call));
                    polled(running, waking)
                });
                self.heard(heard)
            }
            Body::Composite(body) => {
                if body.promises_output() {
                    self.keep(&call, &arguments);
                }
                self.running = Running::Composite(Box::pin(composite::run::run(call, body, arguments)));
                self.look(waking)
            }
            // Registration refuses such a tool.
            Body::Missing => {
                self.running = Running::Over;
                self.look(waking)
            }
        }
    }

    /// Keeps the arguments if they may be what the tool gives back. Kept, and not only their address: no other value must
    /// come to stand there.
    #[inline]
    fn keep(&mut self, call: &Call<R>, arguments: &Value) {
        if self.tool.0.output.is_some() && may_hand_through(self.tool, call, arguments) {
            self.passage.arguments = arguments.clone();
        }
    }

    fn heard(&mut self, polled: Poll<Result<Answer, ToolError>>) -> Poll<Result<(), CallError>> {
        match polled {
            Poll::Pending => Poll::Pending,
            Poll::Ready(Ok(answer)) => Poll::Ready(self.answered(answer, Standing::Unknown)),
            Poll::Ready(Err(error)) => Poll::Ready(Err(failure(error, self.tool))),
        }
    }

    fn answered(&mut self, answer: Answer, inside: Standing) -> Result<(), CallError> {
        self.passage.answer = answer;
        let checked = check_output(self.tool, self.passage, self.frame, self.protocol.as_ref(), inside);
        self.passage.standing = checked?;
        Ok(())
    }

    fn look_at_cancellation(&mut self, waking: &mut Waking<'_>) -> Poll<Result<(), CallError>> {
        if self.told {
            return self.look_at_grace(waking);
        }
        if self.cancelled.is_none() {
            self.cancelled = self.frame.cancel.wait();
        }
        if !self.cancelled.as_mut().is_some_and(|cancelled| Pin::new(cancelled).poll(waking).is_ready()) {
            return Poll::Pending;
        }
        if self.tool.has_side_effects() == Some(false) {
            return self.cancelled_with(EffectState::NoEffect);
        }
        self.told = true;
        self.grace = self.frame.life.clock.as_ref().map(|clock| slept(clock, self.frame.life.limits.cancel_grace));
        self.look_at_grace(waking)
    }

    #[cold]
    fn dropped_by_cancellation(&self) -> bool {
        !self.tool.is_composite() && self.tool.has_side_effects() == Some(false) && self.frame.cancel.is_cancelled()
    }

    fn look_at_grace(&mut self, waking: &mut Waking<'_>) -> Poll<Result<(), CallError>> {
        if self.grace.as_mut().is_some_and(|grace| grace.as_mut().poll(waking).is_ready()) {
            return self.cancelled_with(EffectState::Unknown);
        }
        Poll::Pending
    }

    fn cancelled_with(&mut self, state: EffectState) -> Poll<Result<(), CallError>> {
        self.leave();
        Poll::Ready(Err(Fault::Cancelled { state }.into()))
    }
}

impl<R: Runtime> Execution<'_, R> {
    /// Drops what is left of the tool, as part of its own call: what its parts do then is not their caller's. It may
    /// break down: that changes nothing of how it ended.
    fn leave(&mut self) {
        match std::mem::replace(&mut self.running, Running::Over) {
            Running::Handler(tool) => {
                let current = &mut self.current;
                quietly(|| within(current, || drop(tool)));
            }
            Running::Composite(steps) => {
                quietly(|| drop(steps));
            }
            Running::NotStarted | Running::Over => {}
        }
    }
}

impl<R: Runtime> Drop for Execution<'_, R> {
    fn drop(&mut self) {
        self.leave();
    }
}

impl<R: Runtime> Future for Execution<'_, R> {
    type Output = Result<(), CallError>;

    fn poll(mut self: Pin<&mut Self>, waking: &mut Waking<'_>) -> Poll<Self::Output> {
        let this = &mut *self;
        let looked = catch_unwind(AssertUnwindSafe(|| match this.look(waking) {
            Poll::Pending if matches!(this.running, Running::Handler(_)) => this.look_at_cancellation(waking),
            // A tool may hear of the cancellation before we look: it is the same end, and told in one way.
            Poll::Ready(Err(_)) if this.dropped_by_cancellation() => this.cancelled_with(EffectState::NoEffect),
            polled => polled,
        }));
        let polled = looked.unwrap_or_else(|panic| {
            let fault = Fault::Panicked { tool: this.tool.0.name.clone(), message: panic_message(panic), state: unknown(this.tool) };
            Poll::Ready(Err(fault.into()))
        });
        if polled.is_ready() {
            // What is left of the tool may break down while it is dropped: that changes nothing of how it ended.
            this.leave();
        }
        polled
    }
}

pub(super) fn panic_message(panic: Box<dyn Any + Send>) -> String {
    let message = panic.downcast_ref::<&str>().map(|text| (*text).to_owned()).or_else(|| panic.downcast_ref::<String>().cloned());
    forgotten(panic);
    message.unwrap_or_else(|| "the tool panicked".into())
}

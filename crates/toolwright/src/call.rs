//! THE path of a call. Whatever starts a tool, `invoke`, `call`, a nested call, a
//! step, comes through here; nothing else can reach a tool's body.
//!
//! | stage | what | in |
//! | --- | --- | --- |
//! | S0 | find the tool | `catalog/enter.rs`, for steps `composite/run.rs` |
//! | S1 | cancelled already? | [`enter`] |
//! | S2 | nesting, cycles | [`enter`] |
//! | S3 | available? | [`enter`] |
//! | S4 | arguments: limits; schema and repairs, unless a step is proved; for a step of a catalogue: `inspect` | [`enter`] |
//! | S5 | `authorize` | [`enter`] |
//! |  | for a step: the host's checks | [`perform`] |
//! |  | where the host's rules want one: somebody's yes | [`approve`] |
//! | S6, S7 | checkpoint, journal begin | [`record`] |
//! | S8, S9 | started; execute, against cancellation | [`execute`] |
//! | S10 | output: limits, schema, protocol | [`execute`] |
//! | S11, S12 | receipt, journal finish | [`record`] |
//! | S13 | succeeded, failed, cancelled | [`perform`] |

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::pin;

use futures_util::FutureExt;
use futures_util::future::{Either, select};

use crate::composite::foreseen::Foreseen;
use crate::composite::proof::Standing;
use crate::diagnostics::EventKind;
use crate::error::{CallError, EffectState, Fault};
use crate::frame::{Call, Frame, Mode, Timestamp};
use crate::gate::{CHECK_BROKE_DOWN, Gate, StepRequest};
use crate::lifecycle::Access;
use crate::limits;
use crate::refusal::Refusal;
use crate::runtime::Runtime;
use crate::schema::{Repair, SchemaIssue};
use crate::tool::{Answer, ToolDef};
use crate::value::Value;

mod approve;
mod execute;
mod record;
mod report;
mod same;

pub(crate) use approve::{definition, stated};
use execute::execute;
pub(crate) use execute::happened;
pub(crate) use record::asked;
use report::Told;
pub(crate) use report::{nobody, refused};
pub(crate) use same::HandedThrough;

/// What one call carries through the stages: arguments in, answer out. Kept in one place, since moving values
/// from hand to hand costs more than any stage.
#[derive(Default)]
pub(crate) struct Passage {
    /// Those of the call; once its tool has them, null, or the same again if they may be what it gives back.
    pub(crate) arguments: Value,
    /// What was changed in the arguments as received.
    pub(crate) repairs: Vec<Repair>,
    pub(crate) answer: Answer,
    /// When the call before this one ended, if nothing that takes time has happened since.
    pub(crate) now: Option<Timestamp>,
    /// When this one began, with the record of its intent if there is a journal, and ended, if there is a clock.
    pub(crate) times: Option<(Timestamp, Timestamp)>,
    /// The answer is the journal's; the tool did not run.
    pub(crate) replayed: bool,
    /// The arguments are proved to fit the tool's input schema, which is not asked again.
    pub(crate) proved: bool,
    /// What is known of the answer's output.
    pub(crate) standing: Standing,
    /// What somebody who is asked for a yes is shown beside the call.
    pub(crate) foreseen: Option<Box<Foreseen>>,
}

/// Stages S1 to S5: may this call be made, with these arguments? Refusals are told.
pub(crate) fn enter<R: Runtime>(
    call: &Call<R>,
    tool: &ToolDef<R>,
    passage: &mut Passage,
    decision: Option<&R::Decision>,
    gate: Option<&Gate<'_, R>>,
) -> Result<(), CallError> {
    let judged = if asks_host(call, tool, gate) {
        call.aside("check").around(|| judge(call, tool, passage, decision, gate))
    } else {
        judge(call, tool, passage, decision, gate)
    };
    judged.map_err(|error| report::refused(call, tool, error))
}

/// Whether hooks have a say. They are asked as the host's code about this very call, whoever made it.
#[inline]
fn asks_host<R: Runtime>(call: &Call<R>, tool: &ToolDef<R>, gate: Option<&Gate<'_, R>>) -> bool {
    tool.0.hooks.is_some()
        || tool.composite().is_some_and(|composite| composite.depends_on_steps())
        || gate.is_some_and(|gate| gate.inspecting(call.scope.host.view.as_deref()).is_some())
}

#[inline]
fn judge<R: Runtime>(
    call: &Call<R>,
    tool: &ToolDef<R>,
    passage: &mut Passage,
    decision: Option<&R::Decision>,
    gate: Option<&Gate<'_, R>>,
) -> Result<(), CallError> {
    let by_page = matches!(gate, Some(Gate::Composer(_)));
    // A composer's run says at which step it stopped, and a step is looked at again when its turn comes.
    if !by_page && call.scope.host.view.is_some() && call.cancel().is_cancelled() {
        return Err(Fault::Cancelled { state: EffectState::NotStarted }.into());
    }
    nesting(call, tool, gate)?;
    if tool.0.hooks.is_some() {
        // The host's code takes the time it likes.
        passage.now = None;
    }
    if let Some(hooks) = &tool.0.hooks
        && !hooks.is_available(call.context())
    {
        return Err(forbidden(call, tool));
    }
    if let Some(composite) = tool.composite()
        && composite.depends_on_steps()
        && !composite.steps_available(call.context())
    {
        return Err(composite.suspended().map_or_else(|| forbidden(call, tool), suspended));
    }
    if let Some(health) = &tool.0.health
        && let Some(refusal) = health.refusal()
    {
        return Err(suspended(refusal));
    }
    arguments(call, tool, passage, by_page)?;
    let made;
    let inspecting = gate.and_then(|gate| gate.inspecting(call.scope.host.view.as_deref()));
    let decision = match (gate, inspecting) {
        (_, Some(view)) => {
            passage.now = None;
            made = inspected(view, call, tool, &passage.arguments)?;
            made.as_ref()
        }
        (Some(_), None) if decision.is_none() && tool.0.hooks.as_ref().is_some_and(|hooks| hooks.authorize.is_some()) => {
            made = R::decision_for(tool.name(), &passage.arguments);
            made.as_ref()
        }
        _ => decision,
    };
    match &tool.0.hooks {
        Some(hooks) if hooks.authorize.is_some() => authorized(call, tool, &passage.arguments, decision),
        _ => Ok(()),
    }
}

/// S2. Composites nest only so deep, calls too, and none reaches itself.
fn nesting<R: Runtime>(call: &Call<R>, tool: &ToolDef<R>, gate: Option<&Gate<'_, R>>) -> Result<(), CallError> {
    let nesting = call.nesting();
    let calls = call.node().calls;
    if calls >= nesting.calls {
        return Err(Fault::CallsTooDeep { calls }.into());
    }
    // Behind a composer's gate, a composite looks at its depth and its cycles itself.
    if call.scope.host.view.is_none() || matches!(gate, Some(Gate::Composer(_))) {
        return Ok(());
    }
    let Some(composite) = tool.composite() else { return Ok(()) };
    let depth = call.depth();
    if depth >= nesting.depth {
        return Err(Fault::NestingTooDeep { depth, max: nesting.depth }.into());
    }
    if call.node().is_inside(composite.address(), 0, tool.name()) {
        let mut path = call.node().lineage();
        path.push(tool.0.name.clone());
        return Err(Fault::Cycle { path }.into());
    }
    Ok(())
}

#[cold]
pub(crate) fn suspended(refusal: Refusal) -> CallError {
    let Refusal { code, message, help, details } = refusal;
    Fault::Refused { code, message, help, details }.into()
}

/// A call whose secrets a journal would keep in plain.
#[cold]
pub(crate) fn unencrypted<R: Runtime>(tool: &ToolDef<R>) -> CallError {
    let tool = crate::cut(tool.name(), 80);
    let message = format!("`{tool}` handles secrets, and the journal of this run does not say that it encrypts them");
    let help = "take a journal whose `keeps_secrets` is true, or run it without one; nothing was run or written";
    Fault::Refused { code: arcstr::literal!("sensitive_unencrypted"), message, help: Some(help.into()), details: None }.into()
}

#[cold]
fn forbidden<R: Runtime>(call: &Call<R>, tool: &ToolDef<R>) -> CallError {
    let words = call.scope.host.view.as_ref().and_then(|view| view.options.forbidden.as_ref());
    Fault::Forbidden { tool: tool.0.name.clone(), refusal: words.and_then(|words| quietly(|| words(tool.name()))) }.into()
}

/// S4. Arguments checked against the tool's schema, repaired where that keeps their meaning, and within limits. Those
/// that are proved to fit need neither of the first two.
fn arguments<R: Runtime>(call: &Call<R>, tool: &ToolDef<R>, passage: &mut Passage, by_page: bool) -> Result<(), CallError> {
    within_limits(&passage.arguments, "arguments", &call.scope.frame, EffectState::NotStarted)?;
    passage.repairs.clear();
    if passage.proved {
        return Ok(());
    }
    let invalid = |issues| Fault::InvalidInput { tool: tool.0.name.clone(), issues, by_page };
    match &tool.0.input {
        Some(schema) => {
            schema.prepare(&mut passage.arguments, &mut passage.repairs).map_err(invalid)?;
            if !passage.repairs.is_empty() {
                report::repairs(call, &passage.repairs);
            }
        }
        None if !by_page && call.scope.host.view.is_some() && passage.arguments.as_object().is_none() => {
            let message = format!("arguments are an object, and this is {}", passage.arguments.kind());
            return Err(invalid(vec![SchemaIssue { pointer: String::new(), message }]).into());
        }
        None => {}
    }
    Ok(())
}

/// What every tool says about a step, as if the caller had decided for it: a composite is no way around a veto.
#[cold]
fn inspected<R: Runtime>(
    view: &crate::catalog::View<R>,
    call: &Call<R>,
    tool: &ToolDef<R>,
    arguments: &Value,
) -> Result<Option<R::Decision>, CallError> {
    let Some(decision) = R::decision_for(tool.name(), arguments) else {
        if view.options.policy.uninspected {
            return Ok(None);
        }
        let refusal = Refusal::new("no_step_decision", format!("nobody can inspect the step \"{}\"", call.step()))
            .help("the runtime's `decision_for` must make a decision for a step, or the policy must say `steps_uninspected()`");
        return Err(Fault::Gate(refusal).into());
    };
    view.assert_decision(&decision, call.context())?;
    Ok(Some(decision))
}

/// S5.
fn authorized<R: Runtime>(call: &Call<R>, tool: &ToolDef<R>, arguments: &Value, decision: Option<&R::Decision>) -> Result<(), CallError> {
    let Some(hooks) = &tool.0.hooks else { return Ok(()) };
    let lineage = call.lineage();
    let access = Access { tool: tool.name(), decision, input: Some(arguments), context: call.context(), lineage: &lineage };
    hooks.authorize(&access).map_err(|refusal| Fault::Denied { tool: tool.0.name.clone(), refusal }.into())
}

/// The stages from the gate to the finished record. The answer is left in `passage`. `frame` is the call's own.
pub(crate) async fn perform<R: Runtime>(
    frame: &Frame,
    call: Call<R>,
    tool: &ToolDef<R>,
    passage: &mut Passage,
    gate: Option<&Gate<'_, R>>,
) -> Result<(), CallError> {
    passage.replayed = false;
    passage.standing = Standing::Unknown;
    passage.times = None;
    if let Some(gate) = gate
        && gate.has_checks()
    {
        passage.now = None;
        // Boxed, so that a run without checks does not carry room for them.
        if let Err(error) = Box::pin(admitted(gate, &call, tool, &passage.arguments)).await {
            return Err(report::refused(&call, tool, error));
        }
    }
    // A cancelled root composite of a composer says at which step it stopped.
    if frame.cancel.is_cancelled() && (gate.is_some() || !tool.is_composite()) {
        return Err(report::refused(&call, tool, stopped_before(gate).into()));
    }
    tracing::trace!(tool = call.tool(), step = call.step(), "call starts");
    let told = report::watches(frame, &call).then(|| Told::of(&call, tool));
    let outcome = match frame.life.journal.get() {
        None => unrecorded(frame, call, tool, passage, told.as_ref()).await,
        Some(journal) => record::recorded(&**journal, frame, call, tool, passage, told.as_ref()).await,
    };
    if let Some(health) = &tool.0.health
        && matches!(frame.life.mode, Mode::Real)
        && !passage.replayed
    {
        health.ended(outcome.as_ref().map(drop));
    }
    match told {
        None => outcome,
        Some(told) => told.ended(outcome, passage),
    }
}

/// Execution without a journal.
async fn unrecorded<R: Runtime>(
    frame: &Frame,
    call: Call<R>,
    tool: &ToolDef<R>,
    passage: &mut Passage,
    told: Option<&Told<'_, R>>,
) -> Result<(), CallError> {
    if let Some(rule) = approve::rule(&call, tool) {
        Box::pin(approve::unrecorded(frame, &call, tool, passage, rule)).await?;
    }
    let began = frame.life.now();
    if let Some(told) = told {
        told.started(began);
    }
    let outcome = execute(frame, call, tool, passage).await;
    passage.times = began.and_then(|began| Some((began, frame.life.now()?)));
    outcome
}

/// How a call ends that was cancelled before its tool started, in the words of whoever asked.
#[cold]
fn stopped_before<R: Runtime>(gate: Option<&Gate<'_, R>>) -> Fault {
    if matches!(gate, Some(Gate::Composer(_))) { Fault::Aborted } else { Fault::Cancelled { state: EffectState::NotStarted } }
}

async fn admitted<R: Runtime>(gate: &Gate<'_, R>, call: &Call<R>, tool: &ToolDef<R>, arguments: &Value) -> Result<(), CallError> {
    let request = StepRequest {
        tool,
        name: call.tool(),
        step: call.step(),
        arguments,
        context: call.context(),
        cancel: call.cancel(),
        depth: call.depth(),
        steps_follow: tool.composite().is_some_and(|composite| gate.sees_steps_of(composite)),
    };
    let deciding = pin!(AssertUnwindSafe(call.aside("check").attach(gate.admit(&request))).catch_unwind());
    // A person who is asked may never answer; whoever cancels the run must not wait for that.
    let decided = match select(deciding, pin!(request.cancel.cancelled())).await {
        Either::Left((decided, _)) => decided,
        Either::Right(_) => return Err(stopped_before(Some(gate)).into()),
    };
    // Whatever goes wrong while deciding is a no.
    let refusal = match decided {
        Ok(Ok(())) => return Ok(()),
        Ok(Err(refusal)) => refusal,
        Err(panic) => Refusal::new("permission_denied", format!("{CHECK_BROKE_DOWN}: {}", execute::panic_message(panic)))
            .help("a check that cannot decide counts as a no; the host must mend it"),
    };
    Err(Fault::Gate(refusal).into())
}

#[inline]
pub(crate) fn within_limits(value: &Value, what: &'static str, frame: &Frame, state: EffectState) -> Result<(), CallError> {
    if value.weight() <= frame.life.limits.value_bytes_max && value.depth() <= limits::VALUE_DEPTH_MAX {
        return Ok(());
    }
    Err(too_large(value, what, frame, state))
}

#[cold]
fn too_large(value: &Value, what: &'static str, frame: &Frame, state: EffectState) -> CallError {
    let message = if value.depth() > limits::VALUE_DEPTH_MAX {
        format!("nest more than {} deep", limits::VALUE_DEPTH_MAX)
    } else {
        format!("would print as {} bytes, and the limit is {}", value.weight(), frame.life.limits.value_bytes_max)
    };
    Fault::TooLarge { what, message, state }.into()
}

/// Calls a hook or port of the host that must not end anything by breaking down.
pub(crate) fn quietly<T>(call: impl FnOnce() -> T) -> Option<T> {
    catch_unwind(AssertUnwindSafe(call)).map_err(forgotten).ok()
}

/// What was thrown is the host's, and may break down once more while it is dropped.
#[cold]
pub(crate) fn forgotten(panic: Box<dyn Any + Send>) {
    if let Err(another) = catch_unwind(AssertUnwindSafe(|| drop(panic))) {
        std::mem::forget(another);
    }
}

/// What a fact of the host's calls this end of a call.
pub(crate) fn kind_of_end(error: Option<&CallError>) -> EventKind {
    match error.map(CallError::root_cause) {
        None => EventKind::Succeeded,
        Some(Fault::Cancelled { .. } | Fault::Aborted) => EventKind::Cancelled,
        Some(_) => EventKind::Failed,
    }
}

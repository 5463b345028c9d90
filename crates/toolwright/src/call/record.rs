//! S6, S7, S11 and S12: the intent is in the journal before the tool starts, the outcome before anyone sees it.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::pin;
use std::sync::atomic::Ordering;

use futures_util::FutureExt;
use futures_util::future::{Either, select};

use super::approve::{self, Kept};
use super::execute::panic_message;
use super::{Passage, execute, forgotten, happened, quietly, report, within_limits};
use crate::approval::Approve;
use crate::error::{CallError, EffectState, Fault, OutputError};
use crate::frame::{Call, Frame, Host};
use crate::journal::{
    Admission, Begin, BeginMore, Doubt, Eventually, Failure, Finish, FinishMore, JournalError, JournalErrorKind, Recorded, Resolution,
    RunJournal, StepKey, Verdict,
};
use crate::lifecycle::hooks::guarded;
use crate::limits;
use crate::runtime::Runtime;
use crate::tool::answer::More;
use crate::tool::{Aftermath, Answer, Begun, BoxFuture, Reconciled, ToolDef};
use crate::value::{Text, Value};

/// Execution between two records of the journal.
pub(super) async fn recorded<R: Runtime>(
    journal: &dyn RunJournal,
    frame: &Frame,
    call: Call<R>,
    tool: &ToolDef<R>,
    passage: &mut Passage,
    told: Option<&report::Told<'_, R>>,
) -> Result<(), CallError> {
    if tool.0.sensitive && !quietly(|| journal.keeps_secrets()).unwrap_or(false) {
        return Err(super::unencrypted(tool));
    }
    let key = call.key();
    if frame.life.over.load(Ordering::Acquire) {
        return Err(unstarted(JournalError::ended(&frame.life.id.text())));
    }
    let checkpoint = checkpoint(&call, tool)?;
    if let Some(checkpoint) = &checkpoint {
        passage.now = None;
        frame.nested.began_at(call.step, checkpoint);
    }
    // Of a call that needs a yes, the journal says first whether it would run at all.
    let rule = approve::rule(&call, tool);
    let begin = intent(frame, tool, passage, &key, checkpoint.clone(), rule.map(|_| Text::new()));
    let mut began = begin.at;
    let admission = match asking(|| journal.begin(begin)) {
        Eventually::Now(admission) => admission,
        Eventually::Later(later) => {
            began = None;
            answered(later).await
        }
    };
    match admission {
        Ok(Admission::Proceed { .. }) => {}
        Ok(admission) => {
            began = None;
            let asked = Box::pin(not_new(journal, frame, &call, tool, passage, admission, checkpoint.clone(), rule)).await?;
            if asked == Asked::Answered {
                return Ok(());
            }
        }
        Err(error) => return Err(unstarted(error)),
    }
    let mut open = Open { journal, key: Some(key) };
    let began = began.or_else(|| frame.life.now());
    let (host, step) = (call.scope.host.clone(), call.step);
    // It may have been cancelled while its intent was written. A composite says at which step it stopped.
    let outcome = if frame.cancel.is_cancelled() && !tool.is_composite() {
        Err(Fault::Cancelled { state: EffectState::NotStarted }.into())
    } else {
        if let Some(told) = told {
            told.started(began);
        }
        execute(frame, call, tool, passage).await
    };
    passage.now = frame.life.now();
    passage.times = began.zip(passage.now);
    let Some(key) = open.key.clone() else { return outcome };
    let finish = finish(frame, &host, tool, passage, &outcome, key, step, checkpoint.as_ref());
    let finished = match asking(|| journal.finish(finish)) {
        Eventually::Now(finished) => finished,
        Eventually::Later(later) => answered(later).await,
    };
    open.key = None;
    match finished {
        Ok(()) => outcome,
        Err(error) => torn(frame, tool, passage, outcome, error),
    }
}

/// An outcome that could not be written. What ended the call says more than the journal that said no.
#[cold]
fn torn<R: Runtime>(
    frame: &Frame,
    tool: &ToolDef<R>,
    passage: &Passage,
    outcome: Result<(), CallError>,
    error: JournalError,
) -> Result<(), CallError> {
    frame.life.torn.store(true, Ordering::Release);
    match outcome {
        Ok(()) => Err(unwritten(&passage.answer, error, happened(tool))),
        outcome => outcome,
    }
}

/// Asks the journal. One that breaks down has said no.
pub(crate) async fn asked<'a, T>(ask: impl FnOnce() -> Eventually<'a, Result<T, JournalError>>) -> Result<T, JournalError> {
    match asking(ask) {
        Eventually::Now(now) => now,
        Eventually::Later(later) => answered(later).await,
    }
}

#[inline]
fn asking<'a, T>(ask: impl FnOnce() -> Eventually<'a, Result<T, JournalError>>) -> Eventually<'a, Result<T, JournalError>> {
    catch_unwind(AssertUnwindSafe(ask)).unwrap_or_else(|panic| Eventually::Now(Err(broken(panic))))
}

async fn answered<T>(later: BoxFuture<'_, Result<T, JournalError>>) -> Result<T, JournalError> {
    AssertUnwindSafe(later).catch_unwind().await.unwrap_or_else(|panic| Err(broken(panic)))
}

#[cold]
fn broken(panic: Box<dyn Any + Send>) -> JournalError {
    JournalError::unwritable(format!("it broke down: {}", panic_message(panic)))
}

fn unstarted(error: JournalError) -> CallError {
    Fault::Journal { phase: "begin", error, state: EffectState::NotStarted, value: None }.into()
}

/// S6. The host's own state before the tool runs.
fn checkpoint<R: Runtime>(call: &Call<R>, tool: &ToolDef<R>) -> Result<Option<Value>, CallError> {
    let Some(port) = call.scope.host.view.as_ref().and_then(|view| view.options.checkpoint.as_ref()) else { return Ok(None) };
    match guarded("checkpoint", || Ok(port(call.context()))) {
        Ok(checkpoint) => Ok(Some(checkpoint)),
        Err(refusal) => Err(Fault::Hook { hook: "checkpoint", tool: tool.0.name.clone(), refusal }.into()),
    }
}

fn intent<R: Runtime>(
    frame: &Frame,
    tool: &ToolDef<R>,
    passage: &Passage,
    key: &StepKey,
    checkpoint: Option<Value>,
    approval: Option<Text>,
) -> Begin {
    let mut begin = Begin::new(key.clone(), tool.effect().map(|effect| effect.impact), passage.arguments.clone());
    begin.at = passage.now.or_else(|| frame.life.now());
    begin.fingerprint = tool.0.hashed.as_ref().map(|hashed| *hashed.run());
    let spec = tool.composite().map(|composite| {
        begin.composite = true;
        (composite.written().clone(), composite.reached())
    });
    if spec.is_some() || checkpoint.is_some() || approval.is_some() || !passage.repairs.is_empty() {
        // It may have to be written once more.
        let repairs = passage.repairs.clone();
        let (spec, tools) = spec.map_or((None, Vec::new()), |(spec, tools)| (Some(spec), tools));
        begin.more = Some(Box::new(BeginMore { repairs, spec, checkpoint, tools, forked: None, approval }));
    }
    begin
}

#[derive(PartialEq, Eq)]
enum Asked {
    /// The journal had the answer; the tool need not run.
    Answered,
    /// It is known now that nothing happened, and the call was begun again.
    Begun,
}

/// The journal has something of this call already, or somebody must say yes to it first.
#[expect(clippy::too_many_arguments, reason = "it begins a call anew, with everything that a call begins with")]
async fn not_new<R: Runtime>(
    journal: &dyn RunJournal,
    frame: &Frame,
    call: &Call<R>,
    tool: &ToolDef<R>,
    passage: &mut Passage,
    admission: Admission,
    checkpoint: Option<Value>,
    rule: Option<Approve>,
) -> Result<Asked, CallError> {
    let mut admission = admission;
    // Asked once more when what was recorded changed meanwhile.
    for _ in 0..limits::CALL_BEGINS_MAX {
        let approval = match admission {
            Admission::Proceed { .. } => return Ok(Asked::Begun),
            Admission::Unapproved => match rule {
                Some(rule) => Some(approve::approved(Kept::Journal(journal), frame, call, tool, passage, rule).await?),
                None => return settled_by(Admission::Unapproved, frame, call, tool, passage),
            },
            Admission::InDoubt(doubt) => {
                found_out(journal, frame, call, tool, doubt).await?;
                rule.map(|_| Text::new())
            }
            settled => return settled_by(settled, frame, call, tool, passage),
        };
        let begin = intent(frame, tool, passage, &call.key(), checkpoint.clone(), approval);
        admission = asked(|| journal.begin(begin)).await.map_err(unstarted)?;
    }
    settled_by(admission, frame, call, tool, passage)
}

/// Asks the world what became of a call in doubt, and writes it down.
async fn found_out<R: Runtime>(
    journal: &dyn RunJournal,
    frame: &Frame,
    call: &Call<R>,
    tool: &ToolDef<R>,
    doubt: Box<Doubt>,
) -> Result<(), CallError> {
    // Whoever is at work on it may have its effect after the world was asked.
    if doubt.at_work {
        return Err(in_doubt(frame, doubt));
    }
    let Some(resolution) = reconciled(frame, call, tool, &doubt).await else { return Err(in_doubt(frame, doubt)) };
    if let Verdict::Happened(Some(output)) = &resolution.verdict {
        fits(frame, call, tool, output)?;
    }
    asked(|| journal.resolve(&call.key(), resolution)).await.map_err(unstarted)
}

fn settled_by<R: Runtime>(
    admission: Admission,
    frame: &Frame,
    call: &Call<R>,
    tool: &ToolDef<R>,
    passage: &mut Passage,
) -> Result<Asked, CallError> {
    match admission {
        Admission::Proceed { .. } => Ok(Asked::Begun),
        Admission::Replay(recorded) => {
            if recorded.more.as_ref().is_some_and(|more| more.answered_by.is_some())
                && let Ok(Some(output)) = &recorded.outcome
            {
                fits(frame, call, tool, output)?;
            }
            replay(*recorded, passage).map(|()| Asked::Answered)
        }
        Admission::Failed(failure) => Err(Fault::FailedBefore { failure, tool: tool.0.name.clone() }.into()),
        Admission::Diverged(divergence) => Err(Fault::Diverged { divergence }.into()),
        Admission::InDoubt(doubt) => Err(in_doubt(frame, doubt)),
        Admission::Unapproved => {
            let why = "somebody's yes to the call was used by something else meanwhile";
            Err(unstarted(JournalError::new(JournalErrorKind::Claimed, why)))
        }
    }
}

/// Whether what somebody else says the tool gave is something that it may give. The run waits if it is not, and is not
/// over: the call did happen, and nobody knows what came of it.
fn fits<R: Runtime>(frame: &Frame, call: &Call<R>, tool: &ToolDef<R>, output: &Value) -> Result<(), CallError> {
    let checked = within_limits(output, "output", frame, happened(tool)).and_then(|()| {
        let protocol = tool.0.produces.as_ref().and_then(|id| call.scope.host.view.as_ref()?.output_schema(id));
        match tool.0.output.as_ref().into_iter().chain(protocol).find(|schema| !schema.accepts(output)) {
            None => Ok(()),
            Some(schema) => {
                let (tool, issues, value) = (tool.0.name.clone(), schema.issues(output), Some(output.clone()));
                Err(Fault::InvalidOutput { tool, issues, state: EffectState::Happened, value }.into())
            }
        }
    });
    if checked.is_err() {
        frame.life.torn.store(true, Ordering::Release);
    }
    checked
}

fn in_doubt(frame: &Frame, doubt: Box<Doubt>) -> CallError {
    Fault::InDoubt { doubt, run: frame.life.id.text() }.into()
}

/// The recorded answer in place of a run. Hooks are not asked: nothing runs.
fn replay(recorded: Recorded, passage: &mut Passage) -> Result<(), CallError> {
    let Ok(output) = recorded.outcome else { return Ok(()) };
    passage.answer = Answer { output, more: recorded.more.map(|more| Box::new(More::from(*more))) };
    passage.replayed = true;
    passage.now = None;
    Ok(())
}

/// Asks the tool what became of a call whose outcome is not known. Whoever cancels the call does not wait for the answer.
async fn reconciled<R: Runtime>(frame: &Frame, call: &Call<R>, tool: &ToolDef<R>, doubt: &Doubt) -> Option<Resolution> {
    let reconcile = tool.0.reconcile.as_ref()?;
    let begun = Begun::new(call.life().id.text(), doubt.begin.clone());
    // What it calls to find out is no call of the tool, and is not in the journal: it must see the world as it is now.
    let aside = call.aside("reconcile");
    let asked = aside.clone().around(|| quietly(|| reconcile(begun, call.context_arc())))?;
    let answer = pin!(AssertUnwindSafe(aside.attach(asked)).catch_unwind());
    let Either::Left((answer, _)) = select(answer, pin!(frame.cancel.cancelled())).await else { return None };
    let verdict = match answer.map_err(forgotten).ok()? {
        Reconciled::Happened(output) => Verdict::Happened(output),
        Reconciled::NotHappened => Verdict::NotHappened,
        Reconciled::Unknown => return None,
    };
    Some(Resolution::new("reconcile", verdict))
}

/// S11, and the record of S12.
#[expect(clippy::too_many_arguments, reason = "a record is about everything that is known at the end of a call")]
fn finish<R: Runtime>(
    frame: &Frame,
    host: &Host<R>,
    tool: &ToolDef<R>,
    passage: &Passage,
    outcome: &Result<(), CallError>,
    key: StepKey,
    step: u32,
    checkpoint: Option<&Value>,
) -> Finish {
    let nested = frame.nested.peek_effects(step);
    let receipt = receipt(frame, host, outcome, &key, step, checkpoint);
    let mut finish = match outcome {
        Ok(()) => Finish::ok(key, passage.answer.output.clone(), happened(tool)),
        Err(error) => Finish::failed(key, failure(error, host)),
    };
    finish.at = passage.now;
    let more = passage.answer.more.as_ref().filter(|_| outcome.is_ok());
    if more.is_some() || receipt.is_some() || !nested.is_empty() {
        let mut kept = more.map(|more| FinishMore::from(&**more)).unwrap_or_default();
        if !nested.is_empty() {
            kept.effects.get_or_insert_default().extend(nested);
        }
        if let Some((receipt, failed)) = receipt {
            kept.receipt = Some(receipt);
            kept.receipt_failed = failed;
        }
        finish.more = Some(Box::new(kept));
    }
    finish
}

fn failure<R: Runtime>(error: &CallError, host: &Host<R>) -> Failure {
    let code = host
        .view
        .as_ref()
        .and_then(|view| view.options.error_code.as_ref())
        .and_then(|port| quietly(|| port(error)).flatten())
        .unwrap_or_else(|| error.code().to_owned());
    let mut failure = Failure::new(code, error.message(), error.effect_state());
    failure.answered = matches!(error.fault(), Fault::Tool { error, .. } if error.aftermath() == Aftermath::Answered);
    failure.help = error.help();
    failure
}

/// S11. The host's receipt, or what stands for it: then the flag says so.
fn receipt<R: Runtime>(
    frame: &Frame,
    host: &Host<R>,
    outcome: &Result<(), CallError>,
    key: &StepKey,
    step: u32,
    checkpoint: Option<&Value>,
) -> Option<(Value, bool)> {
    let options = &host.view.as_ref()?.options;
    let instead = |error: &CallError| {
        let plain = || crate::json!({ "error": { "code": error.public_code(), "message": error.message() } });
        options.receipt_error.as_ref().and_then(|port| quietly(|| port(error))).unwrap_or_else(plain)
    };
    match outcome {
        Err(error) => (options.receipt_error.is_some() || options.receipt.is_some()).then(|| (instead(error), false)),
        Ok(()) => {
            let port = options.receipt.as_ref()?;
            match guarded("receipt", || port(&host.context, checkpoint)) {
                Ok(receipt) => Some((receipt, false)),
                Err(refusal) => {
                    report::receipt_failed(frame, key, step, &refusal.code, &refusal.message);
                    let error = CallError::from(Fault::Hook { hook: "receipt", tool: key.tool().into(), refusal });
                    Some((instead(&error), true))
                }
            }
        }
    }
}

/// The call succeeded and its outcome could not be written: nobody may go on with it, but what happened is told.
#[cold]
fn unwritten(answer: &Answer, error: JournalError, state: EffectState) -> CallError {
    let source = CallError::from(Fault::Journal { phase: "finish", error, state, value: answer.output.clone() });
    match answer.more.as_ref().and_then(|more| more.effects.clone()) {
        Some(effects) if !effects.is_empty() => Fault::Output(OutputError { completed: Vec::new(), effects, source }).into(),
        _ => source,
    }
}

/// A begun call. When its future is dropped before the outcome is written, the journal is told.
struct Open<'a> {
    journal: &'a dyn RunJournal,
    key: Option<StepKey>,
}

impl Drop for Open<'_> {
    fn drop(&mut self) {
        if let Some(key) = &self.key {
            quietly(|| self.journal.abandoned(key));
        }
    }
}

//! What is told of a call: to the catalogue's events, and to whoever listens to its diagnostics.

use super::{Passage, kind_of_end};
use crate::catalog::{Invocation, Live};
use crate::diagnostics::payload;
use crate::diagnostics::ring::{EventRing, Happening, Place};
use crate::diagnostics::{Diagnostics, EventKind, EventName, SpanFields};
use crate::error::{CallError, Fault};
use crate::frame::{Call, Frame, FrameRef, Mode, RunId, Timestamp};
use crate::journal::StepKey;
use crate::runtime::Runtime;
use crate::schema::Repair;
use crate::tool::ToolDef;
use crate::value::Text;

/// Whether anybody wants to know of this call.
#[inline]
pub(super) fn watches<R: Runtime>(frame: &Frame, call: &Call<R>) -> bool {
    !frame.diagnostics.is_disabled() || call.scope.host.live.as_ref().is_some_and(|live| !live.events.is_off())
}

/// A call under way, kept aside so that its start and its end can be told when the call itself has been given to the tool.
pub(super) struct Told<'a, R: Runtime> {
    call: Call<R>,
    tool: &'a ToolDef<R>,
}

impl<'a, R: Runtime> Told<'a, R> {
    /// Keeps what is needed.
    pub(super) fn of(call: &Call<R>, tool: &'a ToolDef<R>) -> Self {
        Self { call: call.clone(), tool }
    }

    /// Tells that the tool starts.
    pub(super) fn started(&self, began: Option<Timestamp>) {
        self.happened(EventKind::Started, None, began, None);
    }

    /// Tells how it ended.
    pub(super) fn ended(&self, outcome: Result<(), CallError>, passage: &Passage) -> Result<(), CallError> {
        let outcome = outcome.map_err(|error| coded(&self.call, error));
        let error = outcome.as_ref().err();
        let what = match error {
            None if passage.replayed => EventKind::Replayed,
            Some(error) if never_started(error) => EventKind::Refused,
            error => kind_of_end(error),
        };
        let duration = passage.times.map(|(begin, end)| std::time::Duration::from_nanos(end.0.saturating_sub(begin.0)));
        self.happened(what, error, passage.times.map(|(_, end)| end), duration);
        outcome
    }

    fn happened(&self, what: EventKind, error: Option<&CallError>, at: Option<Timestamp>, duration: Option<std::time::Duration>) {
        let frame = &self.call.scope.frame;
        let happening = || Happening {
            at: at.or_else(|| frame.life.now()),
            run: frame.life.id.clone(),
            place: Place::Call(self.call.key()),
            tool: self.tool.0.name.clone(),
            kind: self.tool.0.kind.clone(),
            what,
            code: error.map(|error| Text::from(error.public_code())),
            duration,
            dry: !matches!(frame.life.mode, Mode::Real),
        };
        match &self.call.scope.host.live {
            Some(live) if frame.diagnostics.is_disabled() => drop(live.events.push(happening)),
            Some(live) => happening().tell(&live.events, &frame.scope(self.call.step)),
            None => happening().tell(&EventRing::new(0), &frame.scope(self.call.step)),
        }
    }
}

/// The journal stopped it before its tool ran.
fn never_started(error: &CallError) -> bool {
    matches!(
        error.fault(),
        Fault::InDoubt { .. }
            | Fault::Diverged { .. }
            | Fault::FailedBefore { .. }
            | Fault::Hook { hook: "checkpoint", .. }
            | Fault::Journal { phase: "begin", .. }
    )
}

/// Tells that a call was turned down, and gives the error its public code.
#[cold]
pub(crate) fn refused<R: Runtime>(call: &Call<R>, tool: &ToolDef<R>, error: CallError) -> CallError {
    let error = coded(call, error);
    if watches(&call.scope.frame, call) {
        let what =
            if matches!(error.fault(), Fault::Cancelled { .. } | Fault::Aborted) { EventKind::Cancelled } else { EventKind::Refused };
        Told::of(call, tool).happened(what, Some(&error), None, None);
        if let Fault::Denied { tool, refusal } | Fault::Inspected { tool, refusal } = error.fault() {
            let hook = if matches!(error.fault(), Fault::Denied { .. }) { "authorize" } else { "inspect" };
            let said = || payload::hook(call.path(), tool, Some(hook), &refusal.code, &refusal.message);
            call.scope.frame.tell(call.step, EventName::HookRefused, said);
        }
    }
    error
}

/// Tells that there is nothing to call.
#[cold]
pub(crate) fn nobody(live: Option<&Live>, from: Option<&FrameRef>, asked: &Invocation, error: CallError) -> CallError {
    let around = from.map(|from| from.frame.life.id.clone());
    let name: Text = crate::cut(&asked.tool, 80).into();
    let run = asked.run_id.clone().map(RunId::Given).or(around).unwrap_or_else(RunId::draw);
    let path: Text = match from {
        Some(from) if asked.run_id.is_none() => format!("{}/{name}", from.path()).into(),
        _ => name.clone(),
    };
    let scope = match (&asked.diagnostics, from, live) {
        (Some(own), ..) => own.clone(),
        (None, Some(from), _) => from.diagnostics(),
        (None, None, Some(live)) => Diagnostics::clone(&live.diagnostics.load()),
        (None, None, None) => Diagnostics::disabled(),
    };
    let fields = SpanFields { run: Some(run.text()), ..SpanFields::default() };
    let happening = Happening {
        at: from.and_then(|from| from.frame.life.now()),
        run,
        place: Place::Named(path.clone()),
        tool: name,
        kind: Text::new(),
        what: EventKind::Refused,
        code: Some(error.public_code().into()),
        duration: None,
        dry: !matches!(asked.mode, Mode::Real),
    };
    let scope = if scope.is_disabled() { scope } else { scope.child(path, fields) };
    match live {
        Some(live) => happening.tell(&live.events, &scope),
        None => happening.tell(&EventRing::new(0), &scope),
    }
    error
}

/// The error with the host's public code for it.
fn coded<R: Runtime>(call: &Call<R>, error: CallError) -> CallError {
    match &call.scope.host.view {
        Some(view) => error.with_public_code(view),
        None => error,
    }
}

/// Tells what was changed in the arguments.
#[cold]
pub(super) fn repairs<R: Runtime>(call: &Call<R>, repairs: &[Repair]) {
    if call.scope.frame.diagnostics.is_disabled() {
        return;
    }
    for repair in repairs {
        let said = || (call.path(), format!("{}: {}", repair.pointer, repair.action));
        call.scope.frame.scope(call.step).warn("repaired_argument", said);
    }
}

/// Tells that a receipt could not be made.
#[cold]
pub(super) fn receipt_failed(frame: &Frame, key: &StepKey, step: u32, code: &str, message: &str) {
    frame.tell(step, EventName::ReceiptFailed, || payload::hook(key.path(), &key.tool().into(), None, code, message));
}

//! Where calls come in: from a handle of the catalogue, from inside a tool, from a composer. Here a call gets its run,
//! its frame and its ports; then it takes the one path.

use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use futures_util::future::{Either, select};

use super::{Catalog, Invocation, Live, Made, Said, ToolResult, View};
use crate::call::{self, Passage};
use crate::cancel::{CancelSource, CancelToken};
use crate::composite::effect::{self, EffectRecord};
use crate::composite::run::not_executed;
use crate::diagnostics::{Diagnostics, Recorder};
use crate::error::{CallError, EffectState, Fault, OutputError};
use crate::frame::{
    Call, Clock, Frame, FrameRef, Host, Identity, Life, Mode, Names, Nesting, PathNode, RunId, Scope, Segment, StepName, current_frame,
    slept,
};
use crate::journal::{Claim, End, Journal, JournalError, JournalErrorKind, RunRecord};
use crate::lifecycle::guarded;
use crate::runtime::Runtime;
use crate::tool::{Answer, BoxFuture, ToolDef};
use crate::value::{Text, Value};

/// A call from inside another one.
pub(crate) struct Nested {
    pub(crate) frame: FrameRef,
    /// Its place, and whether the tool named it; by order when there is none.
    pub(crate) place: Option<(Text, bool)>,
}

/// A call through a handle of the catalogue. Inside a tool that is being polled on this thread, it is that tool's.
pub(crate) async fn from_handle<R: Runtime>(
    catalog: &Catalog<R>,
    tool: &ToolDef<R>,
    invocation: Invocation,
    decision: Option<Decided<'_, R>>,
    context: Arc<R::Context>,
) -> Result<ToolResult, CallError> {
    let host = Host { view: Some(catalog.view.clone()), live: Some(catalog.live.clone()), context };
    match current_frame() {
        None => Entry { host, tool, decision, from: None }.enter(invocation).await,
        // Boxed: a tool that calls itself would otherwise need room without an end.
        Some(frame) => inner(Entry { host, tool, decision, from: Some(Nested { frame: frame.entered(), place: None }) }, invocation).await,
    }
}

/// A call inside another one. Made here and not where it is awaited: tools that call tools that call tools would
/// otherwise each keep room for it on the stack.
#[inline(never)]
fn inner<'a, R: Runtime>(entry: Entry<'a, R>, invocation: Invocation) -> BoxFuture<'a, Result<ToolResult, CallError>> {
    match invocation.timeout {
        None => Box::pin(entry.run(invocation)),
        Some(timeout) => Box::pin(entry.within(timeout, invocation)),
    }
}

/// A call that a tool makes through its [`Call`].
pub(crate) fn nested<'a, R: Runtime>(
    view: &'a Arc<View<R>>,
    live: Option<&Arc<Live>>,
    context: &Arc<R::Context>,
    from: Nested,
    invocation: Invocation,
) -> BoxFuture<'a, Result<ToolResult, CallError>> {
    let Some(entry) = view.get(&invocation.tool) else {
        let error = view.unavailable(&invocation.tool);
        let error = call::nobody(live.map(|live| &**live), Some(&from.frame), &invocation, error);
        return Box::pin(std::future::ready(Err(error)));
    };
    let host = Host { view: Some(view.clone()), live: live.cloned(), context: context.clone() };
    inner(Entry { host, tool: &entry.tool, decision: None, from: Some(from) }, invocation)
}

/// Stages S1 to S5 alone: whether a root call of this tool with this input may be made in this context.
pub(crate) fn may_call<R: Runtime>(
    catalog: &Catalog<R>,
    tool: &ToolDef<R>,
    input: Value,
    context: Arc<R::Context>,
) -> Result<(), CallError> {
    let host = Host { view: Some(catalog.view.clone()), live: Some(catalog.live.clone()), context };
    let limits = catalog.view.options.policy.limits.clone();
    let life = Life::new(RunId::draw(), Mode::Real, limits, host.nesting(), R::depth(&host.context), None);
    let frame = Frame {
        life: Arc::new(life),
        node: tool.root_node(),
        cancel: CancelToken::never(),
        diagnostics: Diagnostics::clone(&catalog.live.diagnostics.load()),
        logger: None,
        resumed: false,
        effectless: false,
        nested: crate::frame::Nested::default(),
    };
    let scope = Arc::new(Scope { frame: Arc::new(frame), host: Arc::new(host) });
    let call = Call { scope, step: 0, reads: tool.has_side_effects() == Some(false) };
    let arguments = if input.is_null() { Value::object::<Text, Value>([]) } else { input };
    let mut passage = Passage { arguments, ..Passage::default() };
    call::enter(&call, tool, &mut passage, None, None)
}

/// A composite that a composer built or runs: there is no catalogue around it. Inside a tool, it is that tool's.
pub(crate) async fn detached<R: Runtime>(
    tool: &ToolDef<R>,
    invocation: Invocation,
    context: Arc<R::Context>,
) -> Result<ToolResult, CallError> {
    let host = Host { view: None, live: None, context };
    match current_frame() {
        None => Entry { host, tool, decision: None, from: None }.enter(invocation).await,
        Some(frame) => {
            inner(Entry { host, tool, decision: None, from: Some(Nested { frame: frame.entered(), place: None }) }, invocation).await
        }
    }
}

/// A decision that a call answers.
pub(crate) struct Decided<'a, R: Runtime> {
    pub(crate) decision: &'a R::Decision,
    /// It goes on with what was begun.
    pub(crate) resumes: bool,
}

struct Entry<'a, R: Runtime> {
    host: Host<R>,
    tool: &'a ToolDef<R>,
    decision: Option<Decided<'a, R>>,
    from: Option<Nested>,
}

impl<R: Runtime> Entry<'_, R> {
    async fn enter(self, invocation: Invocation) -> Result<ToolResult, CallError> {
        match invocation.timeout {
            None => self.run(invocation).await,
            Some(timeout) => Box::pin(self.within(timeout, invocation)).await,
        }
    }

    /// Ends the call's life after `timeout`; the call itself says how it ended.
    async fn within(self, timeout: Duration, mut invocation: Invocation) -> Result<ToolResult, CallError> {
        let Some(clock) = self.clock(&invocation) else {
            return Err(no_clock("a timeout"));
        };
        let (source, token): (CancelSource, CancelToken) = invocation.cancel.child();
        invocation.cancel = token;
        match select(pin!(self.run(invocation)), slept(&clock, timeout)).await {
            Either::Left((outcome, _)) => outcome,
            Either::Right(((), running)) => {
                source.cancel();
                running.await.map_err(|error| error.timed_out(timeout))
            }
        }
    }

    fn clock(&self, invocation: &Invocation) -> Option<Arc<dyn Clock>> {
        let around = self.from.as_ref().and_then(|from| from.frame.frame.life.clock.clone());
        let port = || self.host.view.as_ref().and_then(|view| view.options.clock.clone());
        invocation.clock.clone().or(around).or_else(port)
    }

    /// What the host's port says; none without a port.
    fn journal(&self) -> Result<Option<Arc<dyn Journal>>, CallError> {
        let Some(view) = &self.host.view else { return Ok(None) };
        ported(view, &self.host.context)
    }

    async fn run(self, mut invocation: Invocation) -> Result<ToolResult, CallError> {
        let around = self.from.as_ref().map(|from| from.frame.clone());
        let clock = self.clock(&invocation);
        if clock.is_none() && invocation.said.as_ref().is_some_and(|said| said.lease.is_some()) {
            return Err(no_clock("a lease"));
        }
        // A dry run that is asked for inside a real one is a run of its own, and has no effect.
        let dry_in = |around: &FrameRef| matches!(around.frame.life.mode, Mode::Real) && !matches!(invocation.mode, Mode::Real);
        let tries = around.as_ref().is_some_and(dry_in);
        if let Some(around) = around.as_ref().filter(|_| !tries) {
            let refused = |error| call::nobody(self.host.live.as_deref(), Some(around), &invocation, error);
            unannounced(around, self.tool).map_err(refused)?;
        }
        let mut starts_run = around.is_none() || invocation.run_id.is_some() || tries;
        // Nobody writes down what happens in the run around it, and here somebody wants it written: a run of its own.
        let unwritten = |around: &&FrameRef| around.frame.life.journal.get().is_none() && matches!(around.frame.life.mode, Mode::Real);
        if let Some(around) = around.as_ref().filter(|_| !starts_run).filter(unwritten) {
            if invocation.journal.is_none() {
                let refused = |error| call::nobody(self.host.live.as_deref(), Some(around), &invocation, error);
                let journal = self.journal().map_err(refused)?;
                invocation.journal = journal;
            }
            starts_run = invocation.journal.is_some();
        }
        let unused = if starts_run { None } else { unused_for_nested(&invocation) };
        let cancel = self.cancel(&mut invocation);
        let diagnostics = self.diagnostics(invocation.diagnostics.take());
        let logger = self.logger(invocation.logger.take());
        let Invocation { input, run_id, drawn, mode, journal, said, .. } = invocation;
        let drawn = drawn || run_id.is_none();
        let life = match &around {
            Some(around) if !starts_run => around.frame.life.clone(),
            around => {
                let outer = around.as_ref().map(|around| &around.frame.life);
                let limits = self.host.view.as_ref().map(|view| view.options.policy.limits.clone()).unwrap_or_default();
                let nesting = outer.map_or_else(Nesting::default, |life| life.nesting).least(self.host.nesting());
                let mode = outer.filter(|_| !tries).map_or(mode, |life| life.mode.clone());
                let entered = outer.map_or_else(|| R::depth(&self.host.context), |life| life.entered);
                Arc::new(Life::new(run_id.map_or_else(RunId::draw, RunId::Given), mode, limits, nesting, entered, clock))
            }
        };
        let frame = Arc::new(Frame {
            node: self.node(starts_run),
            cancel,
            diagnostics,
            logger,
            resumed: self.decision.as_ref().is_some_and(|decided| decided.resumes),
            effectless: around.as_ref().is_some_and(|around| !tries && (around.frame.effectless || around.reads)),
            nested: crate::frame::Nested::default(),
            life,
        });
        let surrounding = around.as_ref().map(|around| around.frame.life.clone());
        let begins = starts_run.then_some(Begins { journal, said, surrounding, drawn });
        let mut outcome = self.dispatch(frame, input, begins).await;
        if let (Ok(result), Some(note)) = (&mut outcome, unused) {
            result.notes.push(note);
        }
        if let Some(around) = around.filter(|_| !tries) {
            let effects = match &outcome {
                Ok(result) => &result.effects,
                Err(error) => error.effects(),
            };
            around.frame.nested.did(around.step, effects);
        }
        outcome
    }

    /// The shortest of all lives that it is part of.
    fn cancel(&self, invocation: &mut Invocation) -> CancelToken {
        let mut cancel = std::mem::take(&mut invocation.cancel);
        if let Some(from) = &self.from {
            cancel = cancel.and(&from.frame.frame.cancel);
        }
        if let Some(view) = &self.host.view {
            cancel = cancel.and(&view.options.execution_signal);
            if let Some(signal) = view.options.signal.as_ref().and_then(|port| call::quietly(|| port(&self.host.context)).flatten()) {
                cancel = cancel.and(&signal);
            }
        }
        cancel
    }

    /// The request's own scope; for a decision the port's answer; the scope of the tool around it; the catalogue's.
    fn diagnostics(&self, own: Option<Diagnostics>) -> Diagnostics {
        if let Some(own) = own {
            return own;
        }
        if self.decision.is_some()
            && let Some(port) = self.host.view.as_ref().and_then(|view| view.options.diagnostics.as_ref())
        {
            return call::quietly(|| port(&self.host.context)).flatten().unwrap_or_default();
        }
        match (&self.from, &self.host.live) {
            (Some(from), _) => from.frame.diagnostics(),
            (None, Some(live)) => Diagnostics::clone(&live.diagnostics.load()),
            (None, None) => Diagnostics::disabled(),
        }
    }

    fn logger(&self, own: Option<Arc<dyn Recorder>>) -> Option<Arc<dyn Recorder>> {
        if own.is_some() {
            return own;
        }
        if let Some(from) = &self.from {
            return from.frame.frame.logger.clone();
        }
        let port = self.host.view.as_ref()?.options.logger.as_ref()?;
        call::quietly(|| port(&self.host.context)).flatten()
    }

    /// Where the call is. A run that begins inside a tool has a path of its own, and still that tool around it.
    fn node(&self, starts_run: bool) -> Arc<PathNode> {
        let Some(Nested { frame, place }) = &self.from else { return self.tool.root_node() };
        let tool = &self.tool.0.name;
        let parent = &frame.frame.node;
        let (name, segment) = match place {
            _ if starts_run => (tool.clone(), Segment::Root),
            Some((name, true)) => (name.clone(), Segment::Keyed),
            Some((name, false)) => (name.clone(), Segment::Nested),
            None => (format!("{tool}~{}", frame.frame.nested.ordinal(frame.step)).into(), Segment::Nested),
        };
        Arc::new(PathNode {
            parent: Some((parent.clone(), frame.step)),
            names: Arc::new(Names::of_call(name, tool.clone())),
            segment,
            repeats: segment == Segment::Keyed || (parent.repeats && !starts_run),
            depth: parent.depth,
            calls: parent.calls.saturating_add(1),
            identity: Identity::default(),
        })
    }

    async fn dispatch(self, frame: Arc<Frame>, input: Value, begins: Option<Begins>) -> Result<ToolResult, CallError> {
        let Self { host, tool, decision, .. } = self;
        let decision = decision.map(|decided| decided.decision);
        let input = if input.is_null() && host.view.is_some() { Value::object::<Text, Value>([]) } else { input };
        let root_input = begins.as_ref().map(|_| input.clone());
        let scope = Arc::new(Scope { frame: frame.clone(), host: Arc::new(host) });
        let call = Call { scope: scope.clone(), step: 0, reads: tool.has_side_effects() == Some(false) };
        let mut passage = Passage { arguments: input, ..Passage::default() };
        call::enter(&call, tool, &mut passage, decision, None)?;
        let repairs = passage.repairs.iter().map(|repair| format!("argument {}: {}", repair.pointer, repair.action).into()).collect();
        if !tool.is_composite() && !matches!(frame.life.mode, Mode::Real) {
            let name = StepName { name: tool.0.name.clone(), tool: tool.0.name.clone() };
            if let Some(dry) = not_executed(&call, 0, &name, tool, &passage.arguments) {
                let (output, effect) = dry?;
                return Ok(ToolResult { output: Some(output), effects: vec![effect], notes: repairs, ..ToolResult::default() });
            }
        }
        if let (Some(begins), Some(input)) = (begins, root_input) {
            begins.open(&call, tool, input).await.map_err(|error| call::refused(&call, tool, error))?;
            let outcome = perform(&frame, call, tool, &mut passage, repairs).await;
            return ended(&frame, outcome).await;
        }
        perform(&frame, call, tool, &mut passage, repairs).await
    }
}

async fn perform<R: Runtime>(
    frame: &Frame,
    call: Call<R>,
    tool: &ToolDef<R>,
    passage: &mut Passage,
    repairs: Vec<Text>,
) -> Result<ToolResult, CallError> {
    let effect_of_leaf = tool.has_side_effects() != Some(false) && !tool.is_composite();
    let key = call.key();
    let outcome = call::perform(frame, call, tool, passage, None).await;
    let nested = frame.nested.take_effects(0);
    match outcome {
        Err(error) if effect_of_leaf || !nested.is_empty() => return Err(error.of_leaf(&tool.0.name, nested, effect_of_leaf)),
        outcome => outcome?,
    }
    let mut result = result_of(std::mem::take(&mut passage.answer), tool, effect_of_leaf, repairs, nested);
    result.made = Some(Box::new(Made {
        run: frame.life.id.clone(),
        key,
        effect: tool.effect().cloned(),
        replayed: passage.replayed,
        told: !frame.diagnostics.is_disabled(),
        times: passage.times,
    }));
    Ok(result)
}

/// The end of a run, told to its journal. One that waits for somebody to find out what happened is not over, and
/// neither is one of which the journal does not know everything.
async fn ended(frame: &Frame, outcome: Result<ToolResult, CallError>) -> Result<ToolResult, CallError> {
    frame.life.over.store(true, std::sync::atomic::Ordering::Release);
    let end = match &outcome {
        _ if frame.life.torn.load(std::sync::atomic::Ordering::Acquire) => None,
        Ok(_) => Some(End::ok()),
        Err(error) if error.waits_for_an_answer() || error.waits_for_approval() => None,
        Err(error) => Some(End::failed(error.public_code())),
    };
    let ended = match (frame.life.journal.get(), end) {
        (Some(journal), Some(mut end)) => {
            end.at = frame.life.now();
            call::asked(|| journal.end(end)).await
        }
        _ => Ok(()),
    };
    // What ended the run says more than a journal that could not be closed.
    let mut result = outcome?;
    if let Err(error) = ended {
        let state = if result.effects.is_empty() { EffectState::NoEffect } else { EffectState::Happened };
        let source = Fault::Journal { phase: "end", error, state, value: result.output.take() }.into();
        return Err(Fault::Output(OutputError { completed: Vec::new(), effects: result.effects, source }).into());
    }
    result.notes.extend(unused_outputs(frame));
    Ok(result)
}

/// What a call that begins a run has beside a nested one.
struct Begins {
    journal: Option<Arc<dyn Journal>>,
    said: Option<Box<Said>>,
    /// The run around the call that begins this one.
    surrounding: Option<Arc<Life>>,
    /// The run's id was drawn for it.
    drawn: bool,
}

impl Begins {
    /// Opens the run's journal, if there is one, and claims the run.
    async fn open<R: Runtime>(self, call: &Call<R>, tool: &ToolDef<R>, input: Value) -> Result<(), CallError> {
        let (life, host) = (call.life(), &call.scope.host);
        if !matches!(life.mode, Mode::Real) {
            return Ok(());
        }
        let around = self.surrounding.as_ref().and_then(|around| Some((around, around.kept_in.get()?)));
        let journal = match (self.journal, around, &host.view) {
            (Some(journal), ..) => Some(journal),
            (None, Some((_, journal)), _) => Some(journal.clone()),
            (None, None, Some(view)) => ported(view, &host.context)?,
            (None, None, None) => None,
        };
        let Some(journal) = journal else { return Ok(()) };
        if tool.0.sensitive && !call::quietly(|| journal.keeps_secrets()).unwrap_or(false) {
            return Err(call::unencrypted(tool));
        }
        if let Some((around, kept_in)) = around
            && around.id.text() == life.id.text()
            && same_journal(kept_in, &journal)
        {
            let reason = format!("run `{}` is the one around this call", crate::cut(&life.id.text(), 80));
            return Err(unopened(JournalError::new(JournalErrorKind::Claimed, reason)));
        }
        let mut record = RunRecord::new(life.id.text(), tool.0.name.clone(), input);
        record.calls = 1 + tool.composite().map_or(0, |composite| composite.spec().steps.len());
        record.created = life.now();
        if let Some(view) = &host.view {
            record.generation = view.generation;
            record.fingerprint = view.sealed_fingerprint();
            record.forged = super::forged_of(view, tool);
        }
        let said = self.said.unwrap_or_default();
        let claim = Claim { owner: said.owner.unwrap_or_default(), at: record.created, lease: said.lease };
        record.session = said.session;
        record.principal = said.principal;
        record.context_key = said.context_key;
        record.forked = said.forked;
        let opens = || if self.drawn { journal.open_new(record, claim) } else { journal.open(record, claim) };
        match call::asked(opens).await {
            Ok(run) => {
                // Opened once a run.
                let _ = life.journal.set(run);
                let _ = life.kept_in.set(journal);
                Ok(())
            }
            Err(error) => Err(unopened(error)),
        }
    }
}

#[cold]
fn same_journal(one: &Arc<dyn Journal>, other: &Arc<dyn Journal>) -> bool {
    Arc::ptr_eq(one, other)
        || matches!((call::quietly(|| one.identity()), call::quietly(|| other.identity())), (Some(a), Some(b)) if a == b)
}

fn unopened(error: JournalError) -> CallError {
    Fault::Journal { phase: "open", error, state: EffectState::NotStarted, value: None }.into()
}

/// What the host's port says. When it breaks down, nobody knows where it would have to be written: that is no reason to
/// go without.
fn ported<R: Runtime>(view: &View<R>, context: &R::Context) -> Result<Option<Arc<dyn Journal>>, CallError> {
    let Some(port) = &view.options.journal else { return Ok(None) };
    guarded("journal", || Ok(port(context))).map_err(|refusal| unopened(JournalError::unwritable(refusal.message)))
}

#[cold]
fn no_clock(what: &str) -> CallError {
    let message = format!("{what} needs a clock, and there is none");
    let help = Some("give one with `Options::clock` or `Invocation::clock`".to_owned());
    Fault::Refused { code: arcstr::literal!("no_clock"), message, help, details: None }.into()
}

/// What was said about a run, for a call that is part of one that began before.
fn unused_for_nested(invocation: &Invocation) -> Option<Text> {
    let said = invocation.said.as_deref();
    let given = [
        ("journal", invocation.journal.is_some()),
        ("owner", said.is_some_and(|said| said.owner.is_some())),
        ("session", said.is_some_and(|said| said.session.is_some())),
        ("principal", said.is_some_and(|said| said.principal.is_some())),
        ("context key", said.is_some_and(|said| said.context_key.is_some())),
    ];
    let unused: Vec<&str> = given.into_iter().filter_map(|(what, given)| given.then_some(what)).collect();
    let given = unused.join(", ");
    let note = || format!("not used: {given}; this call is part of the run around it, and a run id would begin one of its own");
    (!unused.is_empty()).then(|| note().into())
}

/// A tool that says it changes nothing may not have others change something.
fn unannounced<R: Runtime>(around: &FrameRef, tool: &ToolDef<R>) -> Result<(), CallError> {
    if !(around.frame.effectless || around.reads) || tool.has_side_effects() == Some(false) {
        return Ok(());
    }
    let named = around.frame.node.names.step(around.step);
    let caller = named.map(|step| step.tool.as_str()).filter(|tool| !tool.is_empty()).unwrap_or("a check of the host");
    let (caller, name) = (crate::cut(caller, 80), crate::cut(tool.name(), 80));
    let message =
        format!("`{caller}`, or a composite around it, was accepted as one that changes nothing, and `{name}` is not such a tool");
    let help = Some(format!("declare what `{caller}` does: `writes()` when it lets others write"));
    Err(Fault::Refused { code: arcstr::literal!("caller_reads_only"), message, help, details: None }.into())
}

fn result_of<R: Runtime>(
    mut answer: Answer,
    tool: &ToolDef<R>,
    effect_of_leaf: bool,
    repairs: Vec<Text>,
    nested: Vec<EffectRecord>,
) -> ToolResult {
    let more = answer.more.take().map(|more| *more).unwrap_or_default();
    let ran = || {
        let step = effect::StepRecord { step: tool.0.name.clone(), index: 0, tool: tool.0.name.clone(), via: Vec::new() };
        vec![EffectRecord::Ran(step)]
    };
    let reported = more.effects.unwrap_or_default();
    // A tool that reports nothing at all cannot unsay that it ran.
    let own = if effect_of_leaf && reported.is_empty() { ran() } else { reported };
    let mut effects = nested;
    effect::gather(&mut effects, own);
    let mut notes = repairs;
    notes.extend(more.notes);
    ToolResult {
        output: answer.output,
        content_type: more.content_type,
        effects,
        notes,
        content: more.content,
        details: more.details,
        made: None,
    }
}

/// Outputs that were given for steps that do not exist, or were not asked for.
fn unused_outputs(frame: &Frame) -> Vec<Text> {
    let (Mode::Dry(outputs) | Mode::Rehearse(outputs)) = &frame.life.mode else { return Vec::new() };
    let unused = outputs.unused();
    let notes: Vec<Text> =
        unused.iter().map(|key| format!("the output given for `{key}` was not used: no step of that name was left out").into()).collect();
    for note in &notes {
        frame.diagnostics.warn("unused_step_output", || (String::new(), note.to_string()));
    }
    notes
}

//! Taking up a run that stopped half-way: what it was made of is compared with what there is now, and then it runs as a
//! live run does. The journal says, call by call, what is done already.

use std::collections::BTreeSet;
use std::sync::Arc;

use super::{Catalog, Invocation, Registered, ToolResult, View};
use crate::approval::{Answered, Approval, Asked};
use crate::call;
use crate::cancel::CancelToken;
use crate::composite::{Composite, CompositeBody, EffectRecord};
use crate::diagnostics::Diagnostics;
use crate::error::{CallError, EffectState, Fault};
use crate::fingerprint::{self, Fingerprint};
use crate::frame::path::name_segment;
use crate::frame::{Clock, RunId, Timestamp};
use crate::journal::{
    Begin, Claim, End, Eventually, FORMAT, Finish, ForgedSpec, Journal, JournalError, JournalErrorKind, Last, Record, Resolution,
    RunHistory, RunJournal, RunRecord, StepKey, StepTool,
};
use crate::options::Options;
use crate::refusal::Refusal;
use crate::registry::{RegisterError, Registry};
use crate::runtime::{IntoContext, Rt, Runtime};
use crate::session;
use crate::tool::ToolDef;
use crate::value::{Text, Value};

/// How a run is taken up again, or [forked](crate::Fork).
///
/// ```
/// use toolwright::ResumeOptions;
/// let options: ResumeOptions = ResumeOptions::new().accept(["search"]).claimed_by("worker 2", None);
/// ```
#[must_use]
pub struct ResumeOptions<R: Runtime = Rt> {
    pub(super) accept: BTreeSet<Text>,
    pub(super) options: Option<Options<R>>,
    cancel: CancelToken,
    diagnostics: Option<Diagnostics>,
    clock: Option<Arc<dyn Clock>>,
    pub(super) claim: Option<(Text, Option<std::time::Duration>)>,
    principal: Option<Text>,
}

impl<R: Runtime> std::fmt::Debug for ResumeOptions<R> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ResumeOptions").field("accept", &self.accept).finish_non_exhaustive()
    }
}

impl<R: Runtime> Default for ResumeOptions<R> {
    fn default() -> Self {
        Self {
            accept: BTreeSet::new(),
            options: None,
            cancel: CancelToken::never(),
            diagnostics: None,
            clock: None,
            claim: None,
            principal: None,
        }
    }
}

impl<R: Runtime> ResumeOptions<R> {
    /// Accepts no change; the policy is that of the catalogue.
    pub fn new() -> Self {
        Self::default()
    }

    /// Tools that may have changed since the run began. What is only said of a tool, its description, is no change. A composite's steps may not, whatever is accepted; the tools of its
    /// steps may, each by its own name, and then the composite need not be named for that.
    pub fn accept<T: Into<Text>>(mut self, tools: impl IntoIterator<Item = T>) -> Self {
        self.accept.extend(tools.into_iter().map(Into::into));
        self
    }

    /// Judges all tools, and those that were forged, by the policy of these options in place of the catalogue's.
    pub fn options(mut self, options: Options<R>) -> Self {
        self.options = Some(options);
        self
    }

    /// Lets the caller cancel it.
    pub fn cancel(mut self, cancel: CancelToken) -> Self {
        self.cancel = cancel;
        self
    }

    /// Where its facts are told.
    pub fn diagnostics(mut self, diagnostics: Diagnostics) -> Self {
        self.diagnostics = Some(diagnostics);
        self
    }

    /// The host's clock, in place of that of the options.
    pub fn clock(mut self, clock: Arc<dyn Clock>) -> Self {
        self.clock = Some(clock);
        self
    }

    /// Who takes the run up, and for how long nobody else may.
    pub fn claimed_by(mut self, owner: impl Into<Text>, lease: Option<std::time::Duration>) -> Self {
        self.claim = Some((owner.into(), lease));
        self
    }

    /// On whose behalf it is taken up. A run that was begun on behalf of somebody else is refused.
    pub fn principal(mut self, principal: impl Into<Text>) -> Self {
        self.principal = Some(principal.into());
        self
    }

    /// What time it is, if there is a clock.
    pub(super) fn now(&self, view: &View<R>) -> Option<Timestamp> {
        let clock = self.clock.as_ref().or(view.options.clock.as_ref())?;
        call::quietly(|| clock.now())
    }

    pub(super) fn invocation(&mut self, run: &RunRecord, journal: Arc<dyn Journal>) -> Invocation {
        let mut invocation = Invocation::new(run.tool.clone(), run.input.clone());
        invocation = invocation.run_id(run.id.clone()).journal(journal).cancel(std::mem::take(&mut self.cancel));
        invocation.diagnostics = self.diagnostics.take();
        invocation.clock = self.clock.take();
        if let Some(principal) = self.principal.take() {
            invocation = invocation.principal(principal);
        }
        if let Some(forked) = &run.forked {
            invocation.said.get_or_insert_default().forked = Some(forked.clone());
        }
        match self.claim.take() {
            Some((owner, lease)) => invocation.claimed_by(owner, lease),
            None => invocation,
        }
    }
}

impl<R: Runtime> Catalog<R> {
    /// Takes up a run where it stopped. A run that succeeded gives its result again, to a context in which its root may be
    /// called. Otherwise composites that were forged for it are made again under today's policy, every tool of this catalogue
    /// that it used is compared with what there is now, and the root is called with the same run id and input: what is done
    /// is not done again. Tools of other catalogues, and behind a composer's gate, are compared when their turn comes.
    ///
    /// The context is the host's to make again, from the `context_key` that it gave.
    ///
    /// ```
    /// use std::sync::Arc;
    /// use toolwright::{Invocation, Journal, MemoryJournal, Registry, ResumeOptions, json, tool};
    /// # tokio::runtime::Builder::new_current_thread().build()?.block_on(async {
    /// let echo = tool("echo", "Echoes").reads().run_json(|input, _call| async move { Ok(input) });
    /// let catalog = Registry::new().with(echo)?.seal();
    /// let journal: Arc<dyn Journal> = Arc::new(MemoryJournal::new());
    /// let call = Invocation::new("echo", json!({ "x": 1 })).run_id("r1").journal(journal.clone());
    /// catalog.invoke(call, ()).await?;
    ///
    /// let again = catalog.resume_run(&journal, "r1", (), ResumeOptions::new()).await?;
    /// assert_eq!(again.output, Some(json!({ "x": 1 })));
    /// # Ok::<(), Box<dyn std::error::Error>>(()) })?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// `journal` when the run is not there or cannot be read, `denied` when it is somebody else's, the code of the registration
    /// when a forged composite is not admitted any more, `changed_tool` when a tool changed that was not accepted, each before
    /// anything runs; and whatever ends the run itself.
    pub async fn resume_run(
        &self,
        journal: &Arc<dyn Journal>,
        run: &str,
        context: impl IntoContext<R::Context>,
        mut options: ResumeOptions<R>,
    ) -> Result<ToolResult, CallError> {
        let context = context.into_context();
        let history = current(journal, run).await?;
        if !theirs(&history.run, &options) {
            return Err(not_theirs(&history.run));
        }
        if let Some(result) = finished(&history, self) {
            let found;
            let catalog = if self.has(&history.run.tool) {
                self
            } else {
                found = self.rebuilt(&history.run, options.options.take())?;
                &found
            };
            let root = catalog.require(&history.run.tool)?;
            return super::enter::may_call(catalog, root.tool(), history.run.input, context).map(|()| result);
        }
        let catalog = self.rebuilt(&history.run, options.options.take())?;
        catalog.completed_fork(journal, &history, &options).await?;
        let changed = accepted_changes(&catalog, &history, begun(&history), &options.accept)?;
        let journal = if changed.is_empty() { journal.clone() } else { Arc::new(Accepting { journal: journal.clone(), changed }) };
        let invocation = options.invocation(&history.run, journal);
        // Boxed: it is rare, and a run has room for a whole call.
        Box::pin(catalog.invoke(invocation, context)).await
    }

    /// What [`resume_run`](Self::resume_run) would say of the tools of a run before anything runs, for whoever wants to know it
    /// first, such as before an answer is written down that stands for good.
    ///
    /// ```
    /// use toolwright::journal::{Claim, RunRecord};
    /// use toolwright::{Journal, MemoryJournal, Registry, ResumeOptions, json, tool};
    /// # tokio::runtime::Builder::new_current_thread().build()?.block_on(async {
    /// let echo = tool("echo", "Echoes").reads().run_json(|input, _call| async move { Ok(input) });
    /// let catalog = Registry::new().with(echo)?.seal();
    /// let journal = MemoryJournal::new();
    /// drop(journal.open(RunRecord::new("r1", "echo", json!({})), Claim::new("me")).get().await?);
    /// let history = journal.load("r1").get().await?.ok_or("the run is there")?;
    /// assert!(catalog.may_resume(&history, &ResumeOptions::new()).is_ok());
    /// # Ok::<(), Box<dyn std::error::Error>>(()) })?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// Those that [`resume_run`](Self::resume_run) has before anything runs.
    pub fn may_resume(&self, history: &RunHistory, options: &ResumeOptions<R>) -> Result<(), CallError> {
        if !theirs(&history.run, options) {
            return Err(not_theirs(&history.run));
        }
        if finished(history, self).is_some() {
            return Ok(());
        }
        let catalog = self.rebuilt(&history.run, None)?;
        accepted_changes(&catalog, history, begun(history), &options.accept).map(|_| ())
    }

    /// This catalogue and the composites that were forged for the run.
    pub(super) fn rebuilt(&self, run: &RunRecord, options: Option<Options<R>>) -> Result<Self, CallError> {
        let mut missing = Vec::new();
        for forged in &run.forged {
            match self.get(&forged.name) {
                None => missing.push(forged),
                Some(entry) if undescribed(&session::form_of(entry)) == undescribed(&forged.spec) => {}
                Some(entry) => {
                    let now = session::form_of(entry);
                    let steps = changed_steps(&forged.name, Some(&forged.spec), Some(&now));
                    return Err(Fault::ChangedTool { tools: vec![forged.name.clone()], steps }.into());
                }
            }
        }
        let mut registry = match options {
            Some(options) => self.overlay(options).map_err(|error| refused(&error))?,
            None if missing.is_empty() => return Ok(self.clone()),
            None => Registry::next_of(self, None).numbered(self.generation()),
        };
        for forged in missing {
            let composite = Composite::from_value(&forged.spec).map_err(|error| CallError::from(Fault::InvalidSpec(error)))?;
            registry.register(composite).map_err(|error| refused(&error))?;
        }
        let catalog = registry.seal();
        Ok(Self { view: catalog.view, live: self.live.clone() })
    }
}

/// Composites that a session forged and that a run of `root` can reach, in the order in which they can be registered again. A
/// composite reaches its steps; what a handler calls cannot be known, so a plain tool reaches all of them.
pub(crate) fn forged_of<R: Runtime>(view: &View<R>, root: &ToolDef<R>) -> Vec<ForgedSpec> {
    if !view.has_forged {
        return Vec::new();
    }
    let mut reached: Vec<&Registered<R>> = match root.composite() {
        Some(body) => body.tools().iter().chain([&root.0.name]).filter_map(|tool| view.get(tool)).collect(),
        None => view.entries.iter().collect(),
    };
    reached.retain(|entry| entry.tool.0.health.is_some());
    reached.sort_unstable_by_key(|entry| entry.index);
    reached.dedup_by_key(|entry| entry.index);
    reached.into_iter().map(|entry| ForgedSpec { name: entry.tool.0.name.clone(), spec: session::form_of(entry) }).collect()
}

/// What is recorded of a run that must be there, in a form that is known here.
pub(super) async fn current(journal: &Arc<dyn Journal>, run: &str) -> Result<RunHistory, CallError> {
    let history = match call::asked(|| journal.load(run)).await {
        Ok(Some(history)) => history,
        Ok(None) => return Err(unreadable(JournalError::unknown_run(run))),
        // What broke down was reading.
        Err(JournalError { kind: JournalErrorKind::Unwritable, reason }) => {
            return Err(unreadable(JournalError::new(JournalErrorKind::Unreadable, reason)));
        }
        Err(error) => return Err(unreadable(error)),
    };
    if history.run.format > FORMAT {
        let reason = format!("its records are of form {}, and this version knows {FORMAT}", history.run.format);
        return Err(unreadable(JournalError::new(JournalErrorKind::Corrupt, reason)));
    }
    Ok(history)
}

/// Whether a run may be taken up by whoever the options say takes it up.
pub(super) fn theirs<R: Runtime>(run: &RunRecord, options: &ResumeOptions<R>) -> bool {
    run.principal.is_none() || options.principal.is_none() || run.principal == options.principal
}

pub(super) fn unreadable(error: JournalError) -> CallError {
    Fault::Journal { phase: "load", error, state: EffectState::NotStarted, value: None }.into()
}

#[cold]
pub(super) fn not_theirs(run: &RunRecord) -> CallError {
    let reason = format!("run `{}` was begun on behalf of somebody else", crate::cut(&run.id, 80));
    let refusal = Refusal::new("denied", reason).help("who began it takes it up again, or the host says nothing of whom it is for");
    Fault::Denied { tool: run.tool.clone(), refusal }.into()
}

fn refused(error: &RegisterError) -> CallError {
    let help = error.issues().into_iter().find_map(|issue| issue.help);
    let details = crate::json!({ "tool": error.tool() });
    Fault::Refused { code: error.code().into(), message: error.to_string(), help, details: Some(details) }.into()
}

/// The result of a run whose root succeeded.
fn finished<R: Runtime>(history: &RunHistory, catalog: &Catalog<R>) -> Option<ToolResult> {
    let Last::Finished(Finish { outcome: Ok(output), key, state, more, .. }) = history.standing(&name_segment(&history.run.tool)).last
    else {
        return None;
    };
    let more = more.clone().map(|more| *more).unwrap_or_default();
    let tool = &history.run.tool;
    let ran = || {
        let step = crate::composite::effect::StepRecord { step: tool.clone(), index: 0, tool: tool.clone(), via: Vec::new() };
        vec![EffectRecord::Ran(step)]
    };
    let effects = match more.effects {
        Some(effects) => effects,
        None if *state == EffectState::Happened => ran(),
        None => Vec::new(),
    };
    let made = super::Made {
        run: RunId::Given(history.run.id.clone()),
        key: key.clone(),
        effect: catalog.get(tool).and_then(|entry| entry.effect().cloned()),
        replayed: true,
        told: false,
        times: None,
    };
    Some(ToolResult {
        output: output.clone(),
        content_type: more.content_type,
        effects,
        notes: more.notes,
        content: more.content,
        details: more.details,
        made: Some(Box::new(made)),
    })
}

fn begun(history: &RunHistory) -> impl Iterator<Item = &Begin> {
    history.records.iter().filter_map(|record| if let Record::Begin(begin) = record { Some(begin) } else { None })
}

/// Compares every tool of this catalogue that these calls used, or that its composites reach, with what there is now. Gives
/// those that changed and are accepted. A tool that this catalogue does not have is another one's, or behind a composer's
/// gate: its own intent is compared when its turn comes.
pub(super) fn accepted_changes<'a, R: Runtime>(
    view: &View<R>,
    history: &RunHistory,
    begun: impl Iterator<Item = &'a Begin>,
    accept: &BTreeSet<Text>,
) -> Result<BTreeSet<Text>, CallError> {
    let mut accepted = BTreeSet::new();
    let (mut refused, mut steps): (Vec<Text>, Vec<Text>) = (Vec::new(), Vec::new());
    let mut refuse = |tool: &Text| {
        if !refused.contains(tool) {
            refused.push(tool.clone());
        }
    };
    let root = name_segment(&history.run.tool);
    for begin in begun {
        let tool = Text::from(begin.tool());
        let Some(entry) = view.get(&tool) else {
            if begin.key.path() == root {
                refuse(&tool);
            } else if accept.contains(&tool) {
                accepted.insert(tool);
            }
            continue;
        };
        if spec_changed(begin, Some(entry.tool())) {
            let then = begin.more.as_ref().and_then(|more| more.spec.as_ref());
            steps.extend(changed_steps(&tool, then, entry.composite().map(CompositeBody::written)));
            refuse(&tool);
            continue;
        }
        if begin.fingerprint.is_none_or(|then| then == *entry.run_fingerprint()) {
            continue;
        }
        let changed = match entry.composite() {
            None => Changed { by_name: vec![tool.clone()], ..Changed::default() },
            Some(body) => changed_in(view, entry, body, begin),
        };
        let unaccepted = changed.by_name.iter().filter(|changed| !accept.contains(*changed));
        for changed in unaccepted.chain(&changed.never) {
            refuse(&tool);
            refuse(changed);
        }
        steps.extend(changed.steps);
        accepted.insert(tool);
        accepted.extend(changed.by_name);
    }
    if refused.is_empty() {
        return Ok(accepted);
    }
    // One composite may have begun more than once.
    let mut seen = BTreeSet::new();
    steps.retain(|step| seen.insert(step.clone()));
    Err(Fault::ChangedTool { tools: refused, steps }.into())
}

/// Tools that changed.
#[derive(Default)]
struct Changed {
    /// Accepted by name.
    by_name: Vec<Text>,
    /// Never accepted.
    never: Vec<Text>,
    /// The steps of those that are others now.
    steps: Vec<Text>,
}

/// What changed in a composite whose specification is the same: tools that it reaches, and itself or composites in it when
/// the change of those tools does not explain theirs.
fn changed_in<R: Runtime>(view: &View<R>, entry: &Registered<R>, body: &CompositeBody<R>, begin: &Begin) -> Changed {
    let then: &[StepTool] = begin.more.as_ref().map_or(&[], |more| &more.tools);
    let before = |tool: &Text| then.iter().find(|then| then.tool == *tool);
    let (mut changed, mut never, mut steps) = (Vec::new(), Vec::new(), Vec::new());
    for now in body.reached() {
        match before(&now.tool) {
            Some(then) if then.fingerprint == now.fingerprint => {}
            // A composite's own change is looked at below; other steps in it are no change that could be accepted.
            Some(then) if now.spec.is_some() && then.spec == now.spec => {
                let inner = view.get(&now.tool).and_then(|entry| Some((entry, entry.composite()?)));
                if inner.is_none_or(|(entry, body)| with_steps(entry.tool(), body, &before) != Some(then.fingerprint)) {
                    changed.push(now.tool);
                }
            }
            Some(then) if now.spec.is_some() || then.spec.is_some() => {
                steps.extend(changed_steps(&now.tool, then.spec.as_ref(), now.spec.as_ref()));
                never.push(now.tool);
            }
            // Where it is not known what it was, it counts as changed.
            Some(_) | None => changed.push(now.tool),
        }
    }
    if with_steps(entry.tool(), body, &before).is_none_or(|hash| Some(hash) != begin.fingerprint) {
        changed.push(entry.tool().0.name.clone());
    }
    Changed { by_name: changed, never, steps }
}

/// The hash that a composite of today would have with its steps' tools as they were.
fn with_steps<'a, R: Runtime>(
    tool: &ToolDef<R>,
    body: &CompositeBody<R>,
    before: &impl Fn(&Text) -> Option<&'a StepTool>,
) -> Option<Fingerprint> {
    let steps: Option<Vec<&Fingerprint>> = body.spec().steps.iter().map(|step| before(&step.tool).map(|then| &then.fingerprint)).collect();
    Some(fingerprint::of_run(tool, Some(body.written()), steps?.into_iter()))
}

/// Whether a composite has other steps now, or is none any more.
fn spec_changed<R: Runtime>(begin: &Begin, now: Option<&ToolDef<R>>) -> bool {
    let now = now.and_then(ToolDef::composite);
    let then: Option<&Value> = begin.more.as_ref().and_then(|more| more.spec.as_ref());
    match (begin.composite, now) {
        (false, now) => now.is_some(),
        (true, None) => true,
        (true, Some(now)) => then.is_some_and(|then| *then != now.spec().to_value()),
    }
}

/// The steps that are others in one of two specifications, or in one only; `output` for what the composite makes of them. None
/// when one of the two is no composite.
fn changed_steps(tool: &Text, then: Option<&Value>, now: Option<&Value>) -> Vec<Text> {
    let (Some(then), Some(now)) = (then, now) else { return Vec::new() };
    let steps = |spec| Value::get(spec, "steps").and_then(Value::as_array).unwrap_or_default();
    let (before, after) = (steps(then), steps(now));
    let differs = (0..before.len().max(after.len())).filter(|at| before.get(*at) != after.get(*at));
    let named = |at: usize| {
        let name = |steps: &[Value]| Some(steps.get(at)?.get("name")?.as_str()?.to_owned());
        name(before).or_else(|| name(after)).unwrap_or_default()
    };
    let mut changed: Vec<Text> = differs.map(|at| format!("{tool}/{at}:{}", named(at)).into()).collect();
    if then.get("output") != now.get("output") {
        changed.push(format!("{tool}/output").into());
    }
    changed
}

/// The form of a composite without what is only said of it.
fn undescribed(form: &Value) -> Value {
    let members = form.as_object().into_iter().flat_map(|form| form.iter());
    Value::object(
        members.filter(|(name, _)| !matches!(&***name, "description" | "title")).map(|(name, value)| (name.clone(), value.clone())),
    )
}

/// A journal for a run whose tools changed in a way that was accepted: their hashes are not compared.
struct Accepting {
    journal: Arc<dyn Journal>,
    changed: BTreeSet<Text>,
}

struct AcceptingRun {
    run: Arc<dyn RunJournal>,
    changed: BTreeSet<Text>,
}

impl Journal for Accepting {
    fn open(&self, run: RunRecord, claim: Claim) -> Eventually<'_, Result<Arc<dyn RunJournal>, JournalError>> {
        let opened = self.journal.open(run, claim);
        let changed = self.changed.clone();
        Eventually::Later(Box::pin(async move {
            let run = opened.get().await?;
            Ok(Arc::new(AcceptingRun { run, changed }) as Arc<dyn RunJournal>)
        }))
    }

    fn load(&self, run: &str) -> Eventually<'_, Result<Option<RunHistory>, JournalError>> {
        self.journal.load(run)
    }

    fn resolve(&self, run: &str, path: &str, resolution: Resolution) -> Eventually<'_, Result<(), JournalError>> {
        self.journal.resolve(run, path, resolution)
    }

    fn unfinished(&self) -> Eventually<'_, Result<Vec<Text>, JournalError>> {
        self.journal.unfinished()
    }

    fn keeps_secrets(&self) -> bool {
        self.journal.keeps_secrets()
    }

    fn answer(&self, run: &str, answered: Answered) -> Eventually<'_, Result<(), JournalError>> {
        self.journal.answer(run, answered)
    }

    fn identity(&self) -> usize {
        self.journal.identity()
    }
}

impl RunJournal for AcceptingRun {
    fn begin(&self, mut record: Begin) -> Eventually<'_, Result<crate::journal::Admission, JournalError>> {
        if self.changed.contains(record.tool()) {
            record.fingerprint = None;
        }
        self.run.begin(record)
    }

    fn finish(&self, record: Finish) -> Eventually<'_, Result<(), JournalError>> {
        self.run.finish(record)
    }

    fn resolve(&self, key: &StepKey, resolution: Resolution) -> Eventually<'_, Result<(), JournalError>> {
        self.run.resolve(key, resolution)
    }

    fn approvals(&self) -> Eventually<'_, Result<Vec<Approval>, JournalError>> {
        self.run.approvals()
    }

    fn ask(&self, asked: Asked) -> Eventually<'_, Result<(), JournalError>> {
        self.run.ask(asked)
    }

    fn answer(&self, answered: Answered) -> Eventually<'_, Result<(), JournalError>> {
        self.run.answer(answered)
    }

    fn abandoned(&self, key: &StepKey) {
        self.run.abandoned(key);
    }

    fn end(&self, end: End) -> Eventually<'_, Result<(), JournalError>> {
        self.run.end(end)
    }

    fn epoch(&self) -> u64 {
        self.run.epoch()
    }

    fn keeps_secrets(&self) -> bool {
        self.run.keeps_secrets()
    }
}

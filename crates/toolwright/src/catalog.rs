//! A sealed catalogue: reading it, and starting calls in it. Nothing in it
//! changes, so reading takes no lock and touches no shared counter.

use std::collections::HashMap;
use std::sync::{Arc, OnceLock, Weak};

use crate::call::{self, Passage};
use crate::cancel::CancelToken;
use crate::composite::dry::StepOutputs;
use crate::composite::effect::{self, EffectRecord};
use crate::composite::lint;
use crate::composite::run::not_executed;
use crate::composite::spec::SpecIssue;
use crate::diagnostics::{Event, Observer};
use crate::error::{CallError, EffectState, Fault, OutputError};
use crate::frame::{Call, Clock, Context, Mode, Run, Scope, StepName};
use crate::gate::{Chainability, HostChecks};
use crate::journal::{Claim, End, Journal, RunRecord};
use crate::limits::Limits;
use crate::tool::{Answer, ToolDef};
use crate::value::{Text, Value};

pub(crate) struct Entry {
    pub(crate) tool: ToolDef,
    pub(crate) chainability: Chainability,
}

pub(crate) struct View {
    pub(crate) entries: Vec<Entry>,
    pub(crate) index: HashMap<Text, usize>,
    pub(crate) checks: Option<HostChecks>,
    pub(crate) limits: Limits,
}

/// Where composites find the catalogue that they were linked in, once it is sealed.
pub(crate) type Home = Arc<OnceLock<Weak<View>>>;

impl View {
    pub(crate) fn entry(&self, at: usize) -> Option<&Entry> {
        self.entries.get(at)
    }

    fn find(&self, name: &str) -> Option<&Entry> {
        self.index.get(name).and_then(|at| self.entries.get(*at))
    }
}

/// A sealed, ordered set of tools. Clones share it.
#[derive(Clone)]
pub struct Catalog(Arc<View>);

impl std::fmt::Debug for Catalog {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_list().entries(self.tools().map(ToolDef::name)).finish()
    }
}

/// One call to be made.
#[must_use]
pub struct Invocation {
    tool: Text,
    input: Value,
    run_id: Text,
    cancel: CancelToken,
    context: Context,
    mode: Mode,
    pub(crate) journal: Option<Arc<dyn Journal>>,
    pub(crate) observer: Option<Arc<dyn Observer>>,
    pub(crate) clock: Option<Arc<dyn Clock>>,
}

impl std::fmt::Debug for Invocation {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Invocation").field("tool", &self.tool).field("run_id", &self.run_id).finish_non_exhaustive()
    }
}

impl Invocation {
    /// A call of `tool` with `input`. `null` counts as no arguments.
    pub fn new(tool: impl Into<Text>, input: Value) -> Self {
        Self {
            tool: tool.into(),
            input,
            run_id: arcstr::literal!("run"),
            cancel: CancelToken::never(),
            context: Context::default(),
            mode: Mode::Real,
            journal: None,
            observer: None,
            clock: None,
        }
    }

    pub(crate) fn input(mut self, input: Value) -> Self {
        self.input = input;
        self
    }

    /// Name of the run: with the path of a call it makes the idempotency key.
    pub fn run_id(mut self, id: impl Into<Text>) -> Self {
        self.run_id = id.into();
        self
    }

    /// Lets the caller cancel it.
    pub fn cancel(mut self, cancel: CancelToken) -> Self {
        self.cancel = cancel;
        self
    }

    /// What the caller says about itself.
    pub fn context(mut self, context: Context) -> Self {
        self.context = context;
        self
    }

    /// Dry: steps with side effects and nested composites take their output from `outputs`.
    pub fn dry(mut self, outputs: StepOutputs) -> Self {
        self.mode = Mode::Dry(Arc::new(outputs));
        self
    }

    /// Dry, but nested composites are entered; outputs are keyed `outer/inner`.
    pub fn rehearse(mut self, outputs: StepOutputs) -> Self {
        self.mode = Mode::Rehearse(Arc::new(outputs));
        self
    }

    /// Where intents and outcomes are written. A dry run writes none.
    pub fn journal(mut self, journal: Arc<dyn Journal>) -> Self {
        self.journal = Some(journal);
        self
    }

    /// Who is told what happens.
    pub fn observer(mut self, observer: Arc<dyn Observer>) -> Self {
        self.observer = Some(observer);
        self
    }

    /// The host's clock. Without one, a cancelled tool with side effects has as long as it likes to answer.
    pub fn clock(mut self, clock: Arc<dyn Clock>) -> Self {
        self.clock = Some(clock);
        self
    }
}

/// What a failed call means for the others of the same batch.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum OnFailure {
    /// Nothing: they go on to their own ends.
    #[default]
    Continue,
    /// Those not yet sent are not sent, those running are cancelled.
    Stop,
}

/// A call that succeeded.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct ToolResult {
    /// The output; none when the tool gave none.
    pub output: Option<Value>,
    /// Media type of the output, when the tool said one.
    pub content_type: Option<Text>,
    /// What happened, or would have.
    pub effects: Vec<EffectRecord>,
    /// Repairs and replacements worth telling.
    pub notes: Vec<Text>,
    /// Raw content blocks as the source sent them.
    pub content: Option<Value>,
    /// The tool's own facts.
    pub details: Option<Value>,
}

impl ToolResult {
    /// The JSON form: `{success: true, output, contentType, effects}`.
    pub fn to_value(&self) -> Value {
        let mut pairs: Vec<(Text, Value)> = vec![("success".into(), true.into())];
        pairs.extend(self.output.iter().map(|output| ("output".into(), output.clone())));
        pairs.extend(self.content_type.iter().map(|kind| ("contentType".into(), Value::String(kind.clone()))));
        pairs.push(("effects".into(), effect::to_list(&self.effects)));
        if !self.notes.is_empty() {
            pairs.push(("notes".into(), Value::array(self.notes.iter().cloned().map(Value::String))));
        }
        Value::object(pairs)
    }
}

impl Catalog {
    pub(crate) fn new(view: View, home: &Home) -> Self {
        let view = Arc::new(view);
        // Only the one registry that made it ever sets it.
        let _ = home.set(Arc::downgrade(&view));
        Self(view)
    }

    /// The tool of this name.
    pub fn get(&self, name: &str) -> Option<&ToolDef> {
        self.0.find(name).map(|entry| &entry.tool)
    }

    /// All tools, in the order of registration.
    pub fn tools(&self) -> impl Iterator<Item = &ToolDef> {
        self.0.entries.iter().map(|entry| &entry.tool)
    }

    /// Whether a composite may use this tool.
    pub fn chainability(&self, name: &str) -> Chainability {
        self.0.find(name).map_or(Chainability::Missing, |entry| entry.chainability)
    }

    /// The nearest name that exists, for a "did you mean".
    pub fn nearest(&self, name: &str) -> Option<&str> {
        crate::nearest::nearest(name, self.tools().map(ToolDef::name))
    }

    /// Everything that can be found in a specification over this catalogue before anything runs.
    pub fn lint(&self, spec: &Value) -> Vec<SpecIssue> {
        let known: Vec<&str> = self.tools().map(ToolDef::name).collect();
        lint::lint(spec, None, &|name| (self.get(name).cloned(), self.chainability(name)), &known)
    }

    /// Makes one call.
    ///
    /// # Errors
    /// [`CallError`] says what ended it, how far it got and which effects happened.
    pub async fn invoke(&self, invocation: Invocation) -> Result<ToolResult, CallError> {
        let Some(entry) = self.0.find(&invocation.tool) else {
            let nearest = self.nearest(&invocation.tool).map(Text::from);
            return Err(Fault::Unavailable { tool: invocation.tool, nearest }.into());
        };
        run_one(Some(&self.0), &entry.tool, invocation).await
    }

    /// Makes several calls at once; one outcome each, in order. By default one that fails leaves the others
    /// alone; with [`OnFailure::Stop`] calls not yet sent are not sent and running ones are cancelled.
    pub async fn invoke_all(&self, invocations: Vec<Invocation>, on_failure: OnFailure) -> Vec<Result<ToolResult, CallError>> {
        let mut sources = Vec::new();
        let calls: Vec<Invocation> = invocations
            .into_iter()
            .map(|mut invocation| {
                let (source, token) = invocation.cancel.child();
                sources.push(source);
                invocation.cancel = token;
                invocation
            })
            .collect();
        let sources = &sources;
        let calls = calls.into_iter().map(|invocation| async move {
            let outcome = self.invoke(invocation).await;
            if outcome.is_err() && on_failure == OnFailure::Stop {
                sources.iter().for_each(crate::cancel::CancelSource::cancel);
            }
            outcome
        });
        futures_util::future::join_all(calls).await
    }
}

/// A root call: from an invocation to a result.
pub(crate) async fn run_one(view: Option<&Arc<View>>, tool: &ToolDef, invocation: Invocation) -> Result<ToolResult, CallError> {
    let Invocation { input, run_id, cancel, context, mode, journal, observer, clock, .. } = invocation;
    // A name that comes again would be taken for the same run.
    let run_id = if journal.is_some() && run_id == "run" { crate::journal::fresh_run_id() } else { run_id };
    let dry = !matches!(mode, Mode::Real);
    let input = if input.is_null() && view.is_some() { Value::object::<Text, Value>([]) } else { input };
    let journal = match journal.filter(|_| !dry) {
        Some(journal) => {
            let calls = 1 + tool.composite().map_or(0, |composite| composite.spec().steps.len());
            let record = RunRecord { calls, ..RunRecord::new(run_id.clone(), tool.0.name.clone(), input.clone()) };
            let state = EffectState::NotStarted;
            let opened = journal.open(record, Claim::default()).get().await;
            Some(opened.map_err(|error| Fault::Journal { phase: "open", error, state })?)
        }
        None => None,
    };
    let run = Arc::new(Run {
        id: run_id,
        view: view.cloned(),
        cancel,
        context,
        journal,
        observer,
        clock,
        mode,
        limits: view.map_or_else(Limits::default, |view| view.limits.clone()),
    });
    let scope = Scope { run: run.clone(), node: tool.root_node(), effectless: false };
    let outcome = root(&run, Call { scope: Arc::new(scope), step: 0 }, tool, input).await;
    let ended = match &run.journal {
        Some(journal) => {
            let end = outcome.as_ref().map_or_else(|error| End::failed(error.code()), |_| End::ok());
            journal.end(end).get().await
        }
        None => Ok(()),
    };
    // What ended the run says more than a journal that could not be closed.
    let mut result = outcome?;
    if let Err(error) = ended {
        let state = if result.effects.is_empty() { EffectState::NoEffect } else { EffectState::Happened };
        let source = Fault::Journal { phase: "end", error, state }.into();
        return Err(Fault::Output(OutputError { completed: Vec::new(), effects: result.effects, source }).into());
    }
    result.notes.extend(unused_outputs(&run));
    Ok(result)
}

async fn root(run: &Run, call: Call, tool: &ToolDef, input: Value) -> Result<ToolResult, CallError> {
    let mut passage = Passage { arguments: input, ..Passage::default() };
    call::prepare(&call, tool, &mut passage)?;
    let repairs = passage.repairs.iter().map(|repair| format!("argument {}: {}", repair.pointer, repair.action).into()).collect();
    if !tool.is_composite() && !matches!(run.mode, Mode::Real) {
        let name = StepName { name: tool.0.name.clone(), tool: tool.0.name.clone() };
        if let Some(dry) = not_executed(&call, 0, &name, tool, &passage.arguments) {
            let (output, effect) = dry?;
            return Ok(ToolResult { output: Some(output), effects: vec![effect], notes: repairs, ..ToolResult::default() });
        }
    }
    let effect_of_leaf = tool.has_side_effects() != Some(false) && !tool.is_composite();
    match call::perform(run, call, tool, &mut passage, None).await {
        Err(error) if effect_of_leaf => return Err(error.of_leaf(&tool.0.name)),
        outcome => outcome?,
    }
    Ok(result_of(passage.answer, tool, effect_of_leaf, repairs))
}

fn result_of(mut answer: Answer, tool: &ToolDef, effect_of_leaf: bool, repairs: Vec<Text>) -> ToolResult {
    let more = answer.more.take().map(|more| *more).unwrap_or_default();
    let ran = || {
        let step = effect::StepRecord { step: tool.0.name.clone(), index: 0, tool: tool.0.name.clone(), via: Vec::new() };
        vec![EffectRecord::Ran(step)]
    };
    let reported = more.effects.unwrap_or_default();
    // A tool that reports nothing at all cannot unsay that it ran.
    let effects = if effect_of_leaf && reported.is_empty() { ran() } else { reported };
    let mut notes = repairs;
    notes.extend(more.notes);
    ToolResult { output: answer.output, content_type: more.content_type, effects, notes, content: more.content, details: more.details }
}

/// Outputs that were given for steps that do not exist, or were not asked for.
fn unused_outputs(run: &Run) -> Vec<Text> {
    let (Mode::Dry(outputs) | Mode::Rehearse(outputs)) = &run.mode else { return Vec::new() };
    let unused = outputs.unused();
    let notes: Vec<Text> =
        unused.iter().map(|key| format!("the output given for `{key}` was not used: no step of that name was left out").into()).collect();
    for note in &notes {
        run.tell(|| Event::Warning { path: String::new(), code: "unused_step_output", message: note.to_string() });
    }
    notes
}

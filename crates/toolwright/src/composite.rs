//! A tool made of calls to other tools.
//!
//! A composite has no code of its own, so it has no effect of its own: everything it does goes through the gate, step
//! by step.
//!
//! In reading order: a [`CompositeSpec`] of [`StepSpec`]s is what a person writes; [`SpecError`] lists each
//! [`SpecIssue`] with its [`Severity`]. [`Composite`] is one to be registered. [`CompositeBody`] is what registration
//! made of it, with each [`StepEffect`] that it can have. A run tells [`EffectRecord`]s; [`StepOutputs`] are for a dry
//! run.

// Stages, one file each: `spec.rs` is what a person writes, `compile.rs` turns it into something that cannot be wrong, `run.rs`
// runs it step by step, `dry.rs` holds the outputs of steps that are not executed.

use std::collections::HashSet;
use std::sync::{Arc, Mutex, PoisonError};

use crate::catalog::Home;
use crate::composer::Bound;
use crate::frame::Names;
use crate::lifecycle::Hooks;
use crate::limits;
use crate::reference::template::Plan;
use crate::refusal::Refusal;
use crate::runtime::{Rt, Runtime};
use crate::schema::CompiledSchema;
use crate::session::Health;
use crate::tool::{Body, Effect, Example, Impact, Origin, ToolBuilder, ToolDef};
use crate::value::{Text, Value};

pub(crate) mod compile;
pub(crate) mod dry;
pub(crate) mod effect;
pub(crate) mod foreseen;
mod form;
pub(crate) mod lint;
pub(crate) mod proof;
mod reached;
pub(crate) mod run;
pub(crate) mod spec;

use compile::Compiled;
pub use dry::StepOutputs;
pub use effect::{EffectRecord, StepRecord};
use proof::Proof;
pub use spec::{CompositeSpec, Fix, Severity, SpecError, SpecIssue, StepSpec};

/// A compiled composite: what it consists of and what was derived from its steps.
///
/// Read from a registered tool with [`ToolDef::composite`].
///
/// ```
/// use toolwright::{Composite, Registry, json, tool};
/// let echo = tool("echo", "Gives back what it gets").reads().run_json(|input, _call| async move { Ok(input) });
/// let catalog = Registry::new().with(echo)?.with(Composite::new("twice", "Echoes").step("a", "echo", json!({})))?.seal();
/// let body = catalog.get("twice").and_then(|tool| tool.composite()).ok_or("it is a composite")?;
/// assert_eq!((body.tools(), body.depth()), (["echo".into()].as_slice(), 1));
/// assert!(body.effects().is_empty());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct CompositeBody<R: Runtime = Rt> {
    pub(crate) spec: CompositeSpec,
    pub(crate) gate: GateOf<R>,
    pub(crate) derived: Derived,
    /// Tools that it reaches and that may be switched off, each once, however often and however deep it uses them.
    asked: Arc<[Asked<R>]>,
    warnings: Vec<SpecIssue>,
    /// The written form, for the journal.
    written: Value,
    /// The plan as compiled; workers run on copies of it.
    master: Program,
    idle: Mutex<Vec<Program>>,
}

/// Which gate a composite's steps go through.
pub(crate) enum GateOf<R: Runtime> {
    /// The catalogue it was registered in; steps are linked to positions in it.
    Catalog { links: Box<[usize]>, home: Home<R> },
    /// The gate of the composer that built it.
    Composer(Arc<Bound<R>>),
}

/// Facts derived from the steps.
#[derive(Clone, Debug)]
pub(crate) struct Derived {
    pub(crate) effects: Vec<StepEffect>,
    /// Effects beyond those that are listed: composites of composites multiply them.
    pub(crate) effects_left_out: usize,
    pub(crate) tools: Vec<Text>,
    pub(crate) depth: u32,
    /// The composite promises an output of its own, beyond that of its last step.
    pub(crate) own_output: bool,
    /// What the steps need of the input, when nobody wrote its schema.
    pub(crate) inferred_input: Option<CompiledSchema>,
    /// Its last step ends a turn, so that nothing may come after it.
    pub(crate) ends_turn: bool,
    /// What is in `tools`, while it is collected.
    seen: HashSet<Text>,
}

impl Default for Derived {
    /// Those of a composite without steps.
    fn default() -> Self {
        let (effects, tools, seen) = (Vec::new(), Vec::new(), HashSet::new());
        Self { effects, effects_left_out: 0, tools, depth: 1, own_output: false, inferred_input: None, ends_turn: false, seen }
    }
}

impl Derived {
    /// Takes in one step. A tool that is not known may do anything.
    pub(crate) fn add<R: Runtime>(&mut self, step: &StepSpec, tool: Option<&ToolDef<R>>) {
        let room = limits::COMPOSITE_EFFECTS_MAX.saturating_sub(self.effects.len());
        match tool {
            Some(tool) => {
                let (some, more) = step_effects(&step.name, tool, room);
                self.effects.extend(some);
                self.effects_left_out = self.effects_left_out.saturating_add(more);
            }
            None if room == 0 => self.effects_left_out = self.effects_left_out.saturating_add(1),
            None => self.effects.push(StepEffect { path: vec![step.name.clone()], tool: step.tool.clone(), effect: None }),
        }
        let inner = tool.and_then(|tool| tool.composite());
        self.depth = self.depth.max(inner.map_or(1, |inner| inner.depth().saturating_add(1)));
        for tool in std::iter::once(&step.tool).chain(inner.into_iter().flat_map(|inner| inner.tools())) {
            if self.seen.insert(tool.clone()) {
                self.tools.push(tool.clone());
            }
        }
    }
}

/// A tool that may be switched off: by its own predicate, or by a session that forged it.
pub(crate) struct Asked<R: Runtime> {
    /// Its position in the catalogue.
    pub(crate) at: usize,
    hooks: Option<Arc<Hooks<R>>>,
    health: Option<Arc<Health>>,
}

impl<R: Runtime> Clone for Asked<R> {
    fn clone(&self) -> Self {
        Self { at: self.at, hooks: self.hooks.clone(), health: self.health.clone() }
    }
}

impl<R: Runtime> Asked<R> {
    /// None for a tool that is always there.
    fn of(at: usize, tool: &ToolDef<R>) -> Option<Self> {
        let hooks = tool.0.hooks.clone().filter(|hooks| hooks.is_conditional());
        let health = tool.0.health.clone();
        (hooks.is_some() || health.is_some()).then_some(Self { at, hooks, health })
    }

    /// Whether it may be called now, its own steps not asked.
    pub(crate) fn allows(&self, context: &R::Context) -> bool {
        self.health.as_ref().is_none_or(|health| health.refusal().is_none())
            && self.hooks.as_ref().is_none_or(|hooks| hooks.is_available(context))
    }

    /// What a composite over these tools must ask, each with its position in the catalogue.
    pub(crate) fn all<'a>(steps: impl IntoIterator<Item = (usize, &'a ToolDef<R>)>) -> Arc<[Self]> {
        let (mut steps_seen, mut seen, mut all) = (HashSet::new(), HashSet::new(), Vec::new());
        for (at, tool) in steps {
            if !steps_seen.insert(at) {
                continue;
            }
            let inner = tool.composite().into_iter().flat_map(|body| body.asked.iter().cloned());
            all.extend(Self::of(at, tool).into_iter().chain(inner).filter(|asked| seen.insert(asked.at)));
        }
        all.into()
    }
}

/// One effect a composite can have, through which steps.
///
/// What [`CompositeBody::effects`] lists, before anything runs.
///
/// ```
/// use toolwright::{Composite, Policy, Registry, json, tool};
/// let send = tool("send", "Sends a mail").writes().run_json(|_, _call| async move { Ok(json!("sent")) });
/// let catalog = Registry::with_policy(Policy::new().may_chain(["send"]))
///     .with(send)?
///     .with(Composite::new("notify", "Tells somebody").step("mail", "send", json!({})))?
///     .seal();
/// let body = catalog.get("notify").and_then(|tool| tool.composite()).ok_or("it is a composite")?;
/// assert_eq!((body.effects()[0].path[0].as_str(), body.effects()[0].tool.as_str()), ("mail", "send"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StepEffect {
    /// Names of the steps that lead to it, outermost first.
    pub path: Vec<Text>,
    /// The tool that has it.
    pub tool: Text,
    /// The effect; `None` when the tool declares nothing.
    pub effect: Option<Effect>,
}

/// What runs: one plan a step, and names. One copy a worker, so that two workers share no counter.
#[derive(Debug)]
pub(crate) struct Program {
    pub(crate) names: Arc<Names>,
    pub(crate) steps: Vec<Step>,
    pub(crate) output: Option<Box<Plan>>,
    /// What comes in was checked against the schema that is written for it.
    pub(crate) checks_input: bool,
    /// A run must remember what is known of each output: a step is proved, or a mapping makes the output.
    pub(crate) remembers: bool,
    /// `$…` texts used as literals, with the position of their step: a warning a run.
    pub(crate) literals: Vec<(Option<u32>, String)>,
}

#[derive(Debug)]
pub(crate) struct Step {
    pub(crate) arguments: Plan,
    /// The arguments need not be checked while it holds; only for tools of a catalogue.
    pub(crate) proof: Option<Proof>,
    /// Outputs that nothing needs after this step.
    pub(crate) forget: Box<[usize]>,
}

impl Program {
    fn deep_clone(&self) -> Self {
        Self {
            names: Arc::new(self.names.deep_clone()),
            steps: self.steps.iter().map(Step::deep_clone).collect(),
            output: self.output.as_ref().map(|plan| Box::new(plan.deep_clone())),
            checks_input: self.checks_input,
            remembers: self.remembers,
            literals: self.literals.clone(),
        }
    }
}

impl Step {
    fn deep_clone(&self) -> Self {
        Self { arguments: self.arguments.deep_clone(), proof: self.proof.clone(), forget: self.forget.clone() }
    }
}

impl<R: Runtime> std::fmt::Debug for CompositeBody<R> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("CompositeBody").field("spec", &self.spec).field("derived", &self.derived).finish_non_exhaustive()
    }
}

impl<R: Runtime> CompositeBody<R> {
    pub(crate) fn new(spec: CompositeSpec, gate: GateOf<R>, mut derived: Derived, compiled: Compiled) -> Self {
        derived.seen = HashSet::new();
        Self {
            written: spec.to_value(),
            spec,
            gate,
            derived,
            asked: Arc::new([]),
            warnings: compiled.warnings,
            master: compiled.program,
            idle: Mutex::default(),
        }
    }

    /// With the tools that it must ask before it may be called.
    pub(crate) fn asking(mut self, asked: Arc<[Asked<R>]>) -> Self {
        self.asked = asked;
        self
    }

    /// The same composite in the next generation of its catalogue, where the tool at `without` is gone.
    pub(crate) fn rehomed(&self, home: &Home<R>, without: Option<usize>) -> Self {
        let moved = |link: &usize| if without.is_some_and(|gone| *link > gone) { link.saturating_sub(1) } else { *link };
        let gate = match &self.gate {
            GateOf::Catalog { links, .. } => GateOf::Catalog { links: links.iter().map(moved).collect(), home: home.clone() },
            GateOf::Composer(bound) => GateOf::Composer(bound.clone()),
        };
        let asked = match without {
            None => self.asked.clone(),
            Some(_) => self.asked.iter().map(|asked| Asked { at: moved(&asked.at), ..asked.clone() }).collect(),
        };
        let (spec, derived, warnings) = (self.spec.clone(), self.derived.clone(), self.warnings.clone());
        Self {
            spec,
            gate,
            derived,
            asked,
            warnings,
            written: self.written.clone(),
            master: self.master.deep_clone(),
            idle: Mutex::default(),
        }
    }

    /// What was written.
    pub fn spec(&self) -> &CompositeSpec {
        &self.spec
    }

    /// What was written, as JSON.
    pub(crate) fn written(&self) -> &Value {
        &self.written
    }

    /// What looks wrong in it and stops nothing: `$…` texts used as literals, references inside longer texts.
    pub fn warnings(&self) -> &[SpecIssue] {
        &self.warnings
    }

    /// Effects it can have, flat over nested composites.
    pub fn effects(&self) -> &[StepEffect] {
        &self.derived.effects
    }

    /// How many more effects it can have than [`CompositeBody::effects`] lists.
    pub fn effects_left_out(&self) -> usize {
        self.derived.effects_left_out
    }

    /// Tools it touches, each once, in order of first use; tools of nested composites too.
    pub fn tools(&self) -> &[Text] {
        &self.derived.tools
    }

    /// What the steps need of the input, as a JSON Schema, when nobody wrote one. It is published like a written one, and
    /// each step checks its own arguments: what is missing ends the run where it is needed.
    pub fn inferred_input(&self) -> Option<&Value> {
        self.derived.inferred_input.as_ref().map(CompiledSchema::source)
    }

    /// How deep composites nest in it; 1 for a composite of leaves.
    pub fn depth(&self) -> u32 {
        self.derived.depth
    }

    /// Whether being available depends on the context because of a step.
    pub(crate) fn is_conditional(&self) -> bool {
        self.asked.iter().any(|asked| asked.hooks.is_some())
    }

    /// Whether its steps must be asked before it may be called.
    pub(crate) fn depends_on_steps(&self) -> bool {
        !self.asked.is_empty()
    }

    /// Why a tool that it reaches is suspended, if one is.
    pub(crate) fn suspended(&self) -> Option<Refusal> {
        self.asked.iter().find_map(|asked| asked.health.as_ref()?.refusal())
    }

    /// The tools that must be asked, each once.
    pub(crate) fn asked(&self) -> &[Asked<R>] {
        &self.asked
    }

    /// Whether the composite promises an output of its own, beyond that of its last step.
    pub(crate) fn promises_output(&self) -> bool {
        self.derived.own_output
    }

    /// Whether its steps are tools of a catalogue, and not of a composer's gate.
    pub(crate) fn is_of_a_catalog(&self) -> bool {
        matches!(self.gate, GateOf::Catalog { .. })
    }

    /// Whether every tool that it reaches may be called now. Tools behind a composer's gate are asked when their turn comes.
    pub(crate) fn steps_available(&self, context: &R::Context) -> bool {
        self.asked.iter().all(|asked| asked.allows(context))
    }

    /// Tells it from every other composite that is there at the same time.
    pub(crate) fn address(&self) -> usize {
        std::ptr::from_ref(self).addr()
    }

    /// A program that nobody else runs on.
    pub(crate) fn take_program(&self) -> Program {
        let idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner).pop();
        idle.unwrap_or_else(|| self.master.deep_clone())
    }

    /// Gives a program back for the next run.
    pub(crate) fn give_back(&self, program: Program) {
        let mut idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner);
        if idle.len() < crate::limits::IDLE_PROGRAMS_MAX {
            idle.push(program);
        }
    }
}

/// A composite to be registered: a head and a specification.
///
/// The head is a tool's, without a body: whatever may be said of a tool may be said of a composite, except its effect,
/// which is derived from its steps.
///
/// ```
/// use toolwright::{Composite, Registry, json, tool};
/// let mut registry = Registry::new();
/// registry.register(tool("echo", "Gives back what it gets").reads().run_json(|v, _| async move { Ok(v) }))?;
/// registry.register(Composite::new("twice", "Echoes").step("a", "echo", json!({ "x": "$input.x" })))?;
/// # Ok::<(), toolwright::RegisterError>(())
/// ```
pub struct Composite<R: Runtime = Rt> {
    pub(crate) head: ToolBuilder<R>,
    pub(crate) spec: CompositeSpec,
    /// Steps that were given in pieces and have a form that is wrong; registration reports them.
    pub(crate) wrong: Vec<SpecIssue>,
}

impl<R: Runtime> std::fmt::Debug for Composite<R> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Composite").field("id", &self.head.def.name).field("spec", &self.spec).finish_non_exhaustive()
    }
}

impl<R: Runtime> Clone for Composite<R> {
    fn clone(&self) -> Self {
        Self { head: self.head.clone(), spec: self.spec.clone(), wrong: self.wrong.clone() }
    }
}

impl Composite {
    /// A composite without steps yet. An application with types of its own takes [`Composite::of`].
    pub fn new(id: impl Into<Text>, description: impl Into<Text>) -> Self {
        Self::of(ToolBuilder::new(id, description))
    }
}

impl<R: Runtime> Composite<R> {
    /// A composite with the head of a tool, without steps yet.
    pub fn of(mut head: ToolBuilder<R>) -> Self {
        if head.def.kind == "tool" {
            head.def.kind = arcstr::literal!("composite");
        }
        Self { head, spec: CompositeSpec::default(), wrong: Vec::new() }
    }

    /// The steps and what belongs to them. A `description` or `input` in the specification fills what was not given here.
    #[must_use]
    pub fn spec(mut self, spec: CompositeSpec) -> Self {
        if self.head.def.description.is_empty() {
            self.head.def.description = spec.description.clone().unwrap_or_default();
        }
        self.spec = spec;
        self
    }

    /// Adds one step: its name, its tool, and the mapping that makes its arguments.
    #[must_use]
    pub fn step(mut self, name: impl Into<Text>, tool: impl Into<Text>, mapping: impl Into<Value>) -> Self {
        let input_mapping = self.mapping(format!("/steps/{}/inputMapping", self.spec.steps.len()), mapping.into());
        self.spec.steps.push(StepSpec { name: name.into(), tool: tool.into(), input_mapping });
        self
    }

    /// Makes the output from a mapping instead of taking the last step's.
    #[must_use]
    pub fn output(mut self, mapping: impl Into<Value>) -> Self {
        self.spec.output = Some(self.mapping("/output".into(), mapping.into()));
        self
    }

    /// The mapping, or an empty one and a note of what is wrong with it.
    fn mapping(&mut self, pointer: String, mapping: Value) -> crate::value::Object {
        match mapping {
            Value::Object(mapping) => return mapping,
            Value::Null => {}
            other => self.wrong.push(SpecIssue {
                severity: Severity::Error,
                code: "invalid_spec",
                message: format!("a mapping is an object, and this is {}", other.kind()),
                help: Some("write one member for each argument or member that it makes".into()),
                pointer,
                span: None,
                fix: None,
            }),
        }
        crate::value::Object::default()
    }

    /// JSON Schema of the input.
    #[must_use]
    pub fn input_schema(mut self, schema: impl Into<Value>) -> Self {
        self.head = self.head.input_schema(schema);
        self
    }

    /// Display name for people.
    #[must_use]
    pub fn title(mut self, title: impl Into<Text>) -> Self {
        self.head = self.head.title(title);
        self
    }

    /// Adds a runnable example.
    #[must_use]
    pub fn example(mut self, example: Example) -> Self {
        self.head = self.head.example(example);
        self
    }

    /// Where it was written.
    #[must_use]
    pub fn origin(mut self, origin: Origin) -> Self {
        self.head = self.head.origin(origin);
        self
    }

    /// A composite from the head of one that is registered elsewhere.
    pub(crate) fn from_parts(mut head: crate::tool::Def<R>, spec: CompositeSpec) -> Self {
        let hooks = head.hooks.take().map(|hooks| (*hooks).clone()).unwrap_or_default();
        Self { head: ToolBuilder { def: head, hooks }, spec, wrong: Vec::new() }
    }

    /// The name it is registered under.
    #[expect(clippy::misnamed_getters, reason = "an id in a catalogue is the name, also where the two differ")]
    pub fn id(&self) -> &str {
        &self.head.def.name
    }

    pub(crate) fn input_or_spec(&self) -> Option<Value> {
        self.head.def.input.as_ref().map(|schema| schema.source().clone()).or_else(|| self.spec.input.clone())
    }
}

/// The effect of a composite: none when no step has any; otherwise it must not run twice as a whole,
/// since what it reads may differ the next time. The class is that of the first step with the greatest impact: `first`
/// is that of the first step, which counts when none changes anything.
pub(crate) fn derived_effect(effects: &[StepEffect], first: Option<Effect>) -> Effect {
    let weight = |effect: &StepEffect| effect.effect.as_ref().map_or(Impact::Once, |effect| effect.impact);
    let Some(greatest) = effects.iter().map(weight).max() else { return first.unwrap_or_else(Effect::read) };
    let class = effects.iter().find(|effect| weight(effect) == greatest).and_then(|effect| effect.effect.as_ref());
    Effect::new(class.map_or(arcstr::literal!("write"), |effect| effect.class.clone()), Impact::Once)
}

/// The effects of using `tool` as a step named `step`: at most `room` of them, and how many more there are.
fn step_effects<R: Runtime>(step: &Text, tool: &ToolDef<R>, room: usize) -> (Vec<StepEffect>, usize) {
    // A composite without effects whose policy says it has one counts like a leaf.
    if let Body::Composite(body) = &tool.0.body
        && (!body.derived.effects.is_empty() || tool.has_side_effects() == Some(false))
    {
        let Derived { effects, effects_left_out, .. } = &body.derived;
        let within =
            |effect: &StepEffect| StepEffect { path: std::iter::once(step).chain(&effect.path).cloned().collect(), ..effect.clone() };
        let listed = effects.iter().take(room).map(within).collect();
        return (listed, effects_left_out.saturating_add(effects.len().saturating_sub(room)));
    }
    let effect = || StepEffect { path: vec![step.clone()], tool: tool.0.name.clone(), effect: tool.effect().cloned() };
    match tool.has_side_effects() {
        Some(false) => (Vec::new(), 0),
        _ if room == 0 => (Vec::new(), 1),
        _ => (vec![effect()], 0),
    }
}

//! A tool made of calls to other tools.
//!
//! `spec.rs` is what a person writes, `compile.rs` turns it into something that
//! cannot be wrong, `run.rs` runs it step by step, `dry.rs` holds the outputs of
//! steps that are not executed. A composite has no code of its own, so it has no
//! effect of its own: everything it does goes through the gate, step by step.

use std::sync::{Arc, Mutex, PoisonError};

use crate::catalog::Home;
use crate::composer::Bound;
use crate::frame::Names;
use crate::limits;
use crate::reference::template::Plan;
use crate::tool::{Body, Effect, Example, Impact, Origin, ToolDef};
use crate::value::{Text, Value};

pub(crate) mod compile;
pub(crate) mod dry;
pub(crate) mod effect;
pub(crate) mod lint;
pub(crate) mod run;
pub(crate) mod spec;

use compile::Compiled;
pub use dry::StepOutputs;
pub use effect::EffectRecord;
pub use spec::{CompositeSpec, Severity, SpecError, SpecIssue, StepSpec};

/// A compiled composite: what it consists of and what was derived from its steps.
pub struct CompositeBody {
    pub(crate) spec: CompositeSpec,
    pub(crate) gate: GateOf,
    pub(crate) derived: Derived,
    warnings: Vec<SpecIssue>,
    /// The plan as compiled; workers run on copies of it.
    master: Program,
    idle: Mutex<Vec<Program>>,
}

/// Which gate a composite's steps go through.
pub(crate) enum GateOf {
    /// The catalogue it was registered in; steps are linked to positions in it.
    Catalog { links: Box<[usize]>, home: Home },
    /// The gate of the composer that built it.
    Composer(Arc<Bound>),
}

/// Facts derived from the steps.
#[derive(Clone, Debug)]
pub(crate) struct Derived {
    pub(crate) effects: Vec<StepEffect>,
    /// Effects beyond those that are listed: composites of composites multiply them.
    pub(crate) effects_left_out: usize,
    pub(crate) tools: Vec<Text>,
    pub(crate) depth: u32,
}

impl Default for Derived {
    /// Those of a composite without steps.
    fn default() -> Self {
        Self { effects: Vec::new(), effects_left_out: 0, tools: Vec::new(), depth: 1 }
    }
}

impl Derived {
    /// Takes in one step. A tool that is not known may do anything.
    pub(crate) fn add(&mut self, step: &StepSpec, tool: Option<&ToolDef>) {
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
        let inner = tool.and_then(ToolDef::composite);
        self.depth = self.depth.max(inner.map_or(1, |inner| inner.depth().saturating_add(1)));
        for tool in std::iter::once(&step.tool).chain(inner.into_iter().flat_map(CompositeBody::tools)) {
            if !self.tools.contains(tool) {
                self.tools.push(tool.clone());
            }
        }
    }
}

/// One effect a composite can have, through which steps.
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
    /// `$…` texts used as literals, with the position of their step: a warning a run.
    pub(crate) literals: Vec<(Option<u32>, String)>,
}

#[derive(Debug)]
pub(crate) struct Step {
    pub(crate) arguments: Plan,
    /// Outputs that nothing needs after this step.
    pub(crate) forget: Box<[usize]>,
}

impl Program {
    fn deep_clone(&self) -> Self {
        Self {
            names: Arc::new(self.names.deep_clone()),
            steps: self.steps.iter().map(|step| Step { arguments: step.arguments.deep_clone(), forget: step.forget.clone() }).collect(),
            output: self.output.as_ref().map(|plan| Box::new(plan.deep_clone())),
            literals: self.literals.clone(),
        }
    }
}

impl std::fmt::Debug for CompositeBody {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("CompositeBody").field("spec", &self.spec).field("derived", &self.derived).finish_non_exhaustive()
    }
}

impl CompositeBody {
    pub(crate) fn new(spec: CompositeSpec, gate: GateOf, derived: Derived, compiled: Compiled) -> Self {
        Self { spec, gate, derived, warnings: compiled.warnings, master: compiled.program, idle: Mutex::default() }
    }

    /// What was written.
    pub fn spec(&self) -> &CompositeSpec {
        &self.spec
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

    /// How deep composites nest in it; 1 for a composite of leaves.
    pub fn depth(&self) -> u32 {
        self.derived.depth
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
/// ```
/// use toolwright::{Composite, CompositeSpec, Registry, json, tool};
/// let mut registry = Registry::new();
/// registry.register(tool("echo", "Gives back what it gets").reads().run_json(|v, _| async move { Ok(v) }))?;
/// let spec = CompositeSpec::from_value(&json!({"steps": [{"name": "a", "tool": "echo", "inputMapping": {"x": "$input.x"}}]}))?;
/// registry.register(Composite::new("twice", "Echoes").spec(spec))?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct Composite {
    pub(crate) id: Text,
    pub(crate) description: Text,
    pub(crate) title: Option<Text>,
    pub(crate) input: Option<Value>,
    pub(crate) examples: Vec<Example>,
    pub(crate) origin: Option<Origin>,
    pub(crate) spec: CompositeSpec,
}

impl Composite {
    /// A composite without steps yet.
    pub fn new(id: impl Into<Text>, description: impl Into<Text>) -> Self {
        Self {
            id: id.into(),
            description: description.into(),
            title: None,
            input: None,
            examples: Vec::new(),
            origin: None,
            spec: CompositeSpec::default(),
        }
    }

    /// The steps and what belongs to them. A `description` or `input` in the specification fills what was not given here.
    #[must_use]
    pub fn spec(mut self, spec: CompositeSpec) -> Self {
        if self.description.is_empty() {
            self.description = spec.description.clone().unwrap_or_default();
        }
        self.spec = spec;
        self
    }

    /// JSON Schema of the input.
    #[must_use]
    pub fn input_schema(mut self, schema: impl Into<Value>) -> Self {
        self.input = Some(schema.into());
        self
    }

    /// Display name for people.
    #[must_use]
    pub fn title(mut self, title: impl Into<Text>) -> Self {
        self.title = Some(title.into());
        self
    }

    /// Adds a runnable example.
    #[must_use]
    pub fn example(mut self, example: Example) -> Self {
        self.examples.push(example);
        self
    }

    /// Where it was written.
    #[must_use]
    pub fn origin(mut self, origin: Origin) -> Self {
        self.origin = Some(origin);
        self
    }

    pub(crate) fn input_or_spec(&self) -> Option<Value> {
        self.input.clone().or_else(|| self.spec.input.clone())
    }
}

/// The effect of a composite: none when no step has any; otherwise it must not run twice as a whole,
/// since what it reads may differ the next time. The class is that of the first step with the greatest impact.
pub(crate) fn derived_effect(effects: &[StepEffect]) -> Effect {
    let weight = |effect: &StepEffect| effect.effect.as_ref().map_or(Impact::Once, |effect| effect.impact);
    let Some(greatest) = effects.iter().map(weight).max() else { return Effect::read() };
    let class = effects.iter().find(|effect| weight(effect) == greatest).and_then(|effect| effect.effect.as_ref());
    Effect::new(class.map_or(arcstr::literal!("write"), |effect| effect.class.clone()), Impact::Once)
}

/// The effects of using `tool` as a step named `step`: at most `room` of them, and how many more there are.
fn step_effects(step: &Text, tool: &ToolDef, room: usize) -> (Vec<StepEffect>, usize) {
    if let Body::Composite(body) = &tool.0.body {
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

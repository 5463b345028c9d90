//! The builder of the page for hosts that bring their own gate: bind it, check
//! tools, build composites, run pipelines. Composites of a catalogue use the
//! catalogue as gate and need none of this.
//!
//! A composer's gate is the host's own. Each step goes through every stage of a call: the tool's own `available`, its
//! schemas, its `authorize`, the gate's checks, the journal of the run. What belongs to a catalogue applies where the
//! composite is called in one: its `inspect` hooks, its schemas of output protocols, its limits and ports. A
//! pipeline that the host runs by itself is in no catalogue, even when its tools were registered in one: nobody inspects
//! its steps, no protocol is checked, and its limits are those of the tool around it, or the general ones.
//!
//! In reading order: [`Composer`] is made with a [`StepGate`]; a [`Binding`] changes what it is bound to;
//! [`Validation`] is its quick look at a specification; [`PipelineOptions`] say how one is run.

use std::collections::BTreeSet;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, PoisonError, RwLock};

use crate::cancel::CancelToken;
use crate::catalog::{Invocation, ToolResult, enter};
use crate::composite::compile::compile;
use crate::composite::dry::StepOutputs;
use crate::composite::spec::{self, CompositeSpec, Severity, SpecError, SpecIssue};
use crate::composite::{CompositeBody, Derived, GateOf, derived_effect, lint, run};
use crate::diagnostics::Diagnostics;
use crate::error::{CallError, Fault};
use crate::frame::{Clock, Context};
use crate::gate::{Chainability, StepCheck, StepGate};
use crate::journal::Journal;
use crate::reference::Dialect;
use crate::runtime::{IntoContext, Rt, Runtime};
use crate::schema::CompiledSchema;
use crate::tool::{Body, Origin, ToolBuilder, ToolDef};
use crate::value::{Text, Value};

/// Builds composites that run through a gate of the host's.
///
/// ```
/// use toolwright::{Binding, Composer, Context, HostGate, PipelineOptions, json, tool};
/// # tokio::runtime::Builder::new_current_thread().build()?.block_on(async {
/// let search = tool("search", "Searches").reads().run_json(|input, _| async move {
///     Ok(json!({ "snippet": format!("about {}", input.get("query").and_then(|q| q.as_str()).unwrap_or("")) }))
/// });
/// let composer = Composer::new(HostGate::new(move |name| (name == "search").then(|| search.clone())));
/// composer.bind(Binding::new().side_effecting_tools(["send_email"]));
/// let spec = json!({ "steps": [{ "name": "look", "tool": "search", "inputMapping": { "query": "$input.topic" } }] });
/// let result = composer.run_pipeline(&spec, json!({ "topic": "ducks" }), Context::default(), PipelineOptions::new()).await?;
/// assert_eq!(result.output, Some(json!({ "snippet": "about ducks" })));
/// # Ok::<(), toolwright::CallError>(()) })?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Composer<R: Runtime = Rt> {
    bound: Arc<Bound<R>>,
    dialect: Dialect,
}

impl<R: Runtime> Clone for Composer<R> {
    fn clone(&self) -> Self {
        Self { bound: self.bound.clone(), dialect: self.dialect }
    }
}

impl<R: Runtime> std::fmt::Debug for Composer<R> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Composer").field("has_gate", &self.has_gate()).field("dialect", &self.dialect).finish_non_exhaustive()
    }
}

/// What is bound to a composer now; built composites share it.
pub(crate) struct Bound<R: Runtime>(RwLock<Bindings<R>>);

/// Behind one lock, so that no tool of one gate is judged by the list that came with another.
struct Bindings<R: Runtime> {
    gate: Option<Arc<dyn StepGate<R>>>,
    listed: Arc<BTreeSet<Text>>,
}

impl<R: Runtime> Clone for Bindings<R> {
    fn clone(&self) -> Self {
        Self { gate: self.gate.clone(), listed: self.listed.clone() }
    }
}

impl<R: Runtime> Default for Bindings<R> {
    fn default() -> Self {
        Self { gate: None, listed: Arc::default() }
    }
}

impl<R: Runtime> Bound<R> {
    fn now(&self) -> Bindings<R> {
        self.0.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    pub(crate) fn gate(&self) -> Option<Arc<dyn StepGate<R>>> {
        self.0.read().unwrap_or_else(PoisonError::into_inner).gate.clone()
    }

    /// Whether the host lists the tool now, by exactly this name.
    pub(crate) fn lists(&self, name: &str) -> bool {
        self.0.read().unwrap_or_else(PoisonError::into_inner).listed.contains(name)
    }

    /// The tool of this name now, and whether a step may use it. A gate that breaks down gives no tool.
    pub(crate) fn judge(&self, name: &str) -> (Option<ToolDef<R>>, Chainability) {
        let Bindings { gate, listed } = self.now();
        let Some(gate) = gate else { return (None, Chainability::NoGate) };
        match catch_unwind(AssertUnwindSafe(|| gate.resolve(name))) {
            Ok(Some(tool)) => {
                let verdict = Chainability::of(&tool, listed.contains(name));
                (Some(tool), verdict)
            }
            Ok(None) | Err(_) => (None, Chainability::Missing),
        }
    }
}

/// New members for [`Composer::bind`]; what is not given stays.
///
/// Used when the host's gate or its list changes while the composer is in use.
///
/// ```
/// use toolwright::{Binding, Composer, HostGate};
/// let composer: Composer = Composer::new(HostGate::new(|_| None));
/// composer.bind(Binding::new().side_effecting_tools(["send_email"]));
/// assert!(composer.has_gate());
/// ```
#[must_use]
pub struct Binding<R: Runtime = Rt> {
    gate: Option<Arc<dyn StepGate<R>>>,
    listed: Option<BTreeSet<Text>>,
}

impl<R: Runtime> Default for Binding<R> {
    fn default() -> Self {
        Self { gate: None, listed: None }
    }
}

impl<R: Runtime> std::fmt::Debug for Binding<R> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Binding").field("gate", &self.gate.is_some()).field("listed", &self.listed).finish()
    }
}

impl<R: Runtime> Binding<R> {
    /// Changes nothing yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// Replaces the gate.
    pub fn gate(mut self, gate: impl StepGate<R> + 'static) -> Self {
        self.gate = Some(Arc::new(gate));
        self
    }

    /// Replaces the whole list of side-effecting tools that may be chained.
    pub fn side_effecting_tools<T: Into<Text>>(mut self, tools: impl IntoIterator<Item = T>) -> Self {
        self.listed = Some(tools.into_iter().map(Into::into).collect());
        self
    }
}

/// How a pipeline is run: what an [`Invocation`] says, without a tool and an input.
///
/// ```
/// use toolwright::{CancelSource, PipelineOptions, StepOutputs, json};
/// let cancel = CancelSource::new();
/// let options = PipelineOptions::new().run_id("run-17").cancel(cancel.token()).dry(StepOutputs::new().with("send", json!("sent")));
/// ```
#[derive(Debug)]
#[must_use]
pub struct PipelineOptions(Invocation);

impl Default for PipelineOptions {
    fn default() -> Self {
        Self(Invocation::new("pipeline", Value::Null))
    }
}

impl PipelineOptions {
    /// For real, and nobody can cancel it.
    pub fn new() -> Self {
        Self::default()
    }

    /// As [`Invocation::dry`].
    pub fn dry(self, outputs: StepOutputs) -> Self {
        Self(self.0.dry(outputs))
    }

    /// As [`Invocation::rehearse`].
    pub fn rehearse(self, outputs: StepOutputs) -> Self {
        Self(self.0.rehearse(outputs))
    }

    /// The signal that reaches every step.
    pub fn cancel(self, cancel: CancelToken) -> Self {
        Self(self.0.cancel(cancel))
    }

    /// As [`Invocation::run_id`].
    pub fn run_id(self, id: impl Into<Text>) -> Self {
        Self(self.0.run_id(id))
    }

    /// As [`Invocation::journal`].
    pub fn journal(self, journal: Arc<dyn Journal>) -> Self {
        Self(self.0.journal(journal))
    }

    /// As [`Invocation::diagnostics`].
    pub fn diagnostics(self, diagnostics: Diagnostics) -> Self {
        Self(self.0.diagnostics(diagnostics))
    }

    /// As [`Invocation::clock`].
    pub fn clock(self, clock: Arc<dyn Clock>) -> Self {
        Self(self.0.clock(clock))
    }
}

/// The answer of [`Composer::validate`].
///
/// ```
/// use toolwright::{Composer, HostGate, json};
/// let composer: Composer = Composer::new(HostGate::new(|_| None));
/// let answer = composer.validate(&json!({ "steps": [] }));
/// assert!(!answer.is_valid() && answer.errors.len() == 1);
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Validation {
    /// One message a failing check; empty when the specification is well formed.
    pub errors: Vec<String>,
}

impl Validation {
    /// Whether every check passed.
    pub fn is_valid(&self) -> bool {
        self.errors.is_empty()
    }
}

impl Composer {
    /// A composer over a bare callback, as older hosts construct it. Nothing can be composed through it until a gate
    /// is bound: a callback cannot say what a step's tool is. The callback is never called.
    pub fn from_callback<F, Out>(callback: F) -> Self
    where
        F: Fn(&str, Value, &Context) -> Out,
    {
        drop(callback);
        Self::with_gate(None)
    }
}

impl<R: Runtime> Composer<R> {
    /// A composer over a gate, in the strict dialect.
    pub fn new(gate: impl StepGate<R> + 'static) -> Self {
        Self::with_gate(Some(Arc::new(gate)))
    }

    fn with_gate(gate: Option<Arc<dyn StepGate<R>>>) -> Self {
        let bound = Bound(RwLock::new(Bindings { gate, listed: Arc::default() }));
        Self { bound: Arc::new(bound), dialect: Dialect::Strict }
    }

    /// Chooses the dialect for specifications that do not say `strictMode` themselves.
    #[must_use]
    pub fn dialect(mut self, dialect: Dialect) -> Self {
        self.dialect = dialect;
        self
    }

    /// Whether a `$…` text that is no reference refuses the composite.
    pub fn strict_mode(&self) -> bool {
        self.dialect != Dialect::Page
    }

    /// Replaces each given member, both at once. The list is replaced, never merged, and is read at every check.
    pub fn bind(&self, binding: Binding<R>) {
        let mut now = self.bound.0.write().unwrap_or_else(PoisonError::into_inner);
        // What was bound before is dropped after the lock, since a gate may have a `Drop` of its own.
        let _gate = binding.gate.and_then(|gate| now.gate.replace(gate));
        let _listed = binding.listed.map(|listed| std::mem::replace(&mut now.listed, Arc::new(listed)));
        drop(now);
    }

    /// Whether a gate is bound.
    pub fn has_gate(&self) -> bool {
        self.bound.gate().is_some()
    }

    /// The gate's tool of this name now.
    pub fn resolve(&self, name: &str) -> Option<ToolDef<R>> {
        self.bound.judge(name).0
    }

    /// Whether a step may use this tool now.
    pub fn check(&self, name: &str) -> StepCheck {
        let (_, verdict) = self.bound.judge(name);
        StepCheck { verdict, message: verdict.message(name) }
    }

    /// False only when every step's tool declares no side effects and is no composite. True without a gate.
    pub fn has_side_effecting_step(&self, spec: &Value) -> bool {
        let steps = spec.get("steps").and_then(Value::as_array).unwrap_or_default();
        let harmless = |step: &Value| {
            let tool = step.get("tool").and_then(Value::as_str).and_then(|name| self.resolve(name));
            tool.is_some_and(|tool| tool.has_side_effects() == Some(false) && !tool.is_composite())
        };
        !self.has_gate() || !steps.iter().all(harmless)
    }

    /// The two structural checks of the page. Never panics, whatever JSON it is given.
    pub fn validate(&self, spec: &Value) -> Validation {
        Validation { errors: spec::structural(spec).into_iter().map(|(_, message)| message).collect() }
    }

    /// Everything that can be found before anything runs, over the tools the gate gives now: the form, references,
    /// tools that are unknown or may not be steps, arguments that a tool does not take or needs.
    pub fn lint(&self, spec: &Value) -> Vec<SpecIssue> {
        lint::lint(spec, Some(self.dialect), &|name| self.bound.judge(name), &[])
    }

    /// Builds a tool with the id `composable:<name>`. It is owned and immutable: later edits of `spec` change
    /// nothing. Its effect is derived from its steps as the gate gives them now; each run judges them again.
    ///
    /// # Errors
    /// [`SpecError`] with every structural problem, every bad reference and a bad input schema.
    pub fn build(&self, name: &str, description: &str, input_schema: Value, spec: &Value) -> Result<ToolDef<R>, SpecError> {
        let mut issues = Vec::new();
        let mut wrong = |code, message: String, help: &str| {
            let help = Some(help.to_owned());
            issues.push(SpecIssue { severity: Severity::Error, code, message, help, pointer: String::new(), span: None, fix: None });
        };
        if name.trim().is_empty() {
            wrong("invalid_spec", "a composite needs a name".into(), "the name is what models and people call it by");
        }
        if let Err(error) = CompiledSchema::new(input_schema.clone()).verify() {
            let message =
                format!("the input schema cannot be used: {}: {error}", if error.pointer.is_empty() { "/" } else { &error.pointer });
            wrong("invalid_schema", message, "a schema is JSON Schema of draft 4 to 2020-12 without references to other documents");
        }
        let (body, secret) = match self.body(name, spec) {
            Ok(body) if issues.is_empty() => body,
            Ok(_) => return Err(SpecError { issues }),
            Err(error) => {
                issues.extend(error.issues);
                return Err(SpecError { issues });
            }
        };
        let effect = if self.has_gate() { derived_effect(&body.derived.effects, None) } else { crate::tool::Effect::write() };
        let mut head = ToolBuilder::new(format!("composable:{name}"), description);
        head.def.sensitive = secret;
        Ok(head
            .name(name)
            .title(name)
            .input_schema(input_schema)
            .effect(effect)
            .origin(Origin { kind: arcstr::literal!("composite"), ..Origin::default() })
            .close(Body::Composite(Arc::new(body))))
    }

    /// The steps, and whether a tool of theirs handles secrets.
    fn body(&self, name: &str, spec: &Value) -> Result<(CompositeBody<R>, bool), SpecError> {
        let (spec, mut warnings) = CompositeSpec::read(spec, Some(self.dialect))?;
        let mut compiled = compile(&name.into(), &spec).map_err(|failed| SpecError {
            issues: failed.issues.into_iter().filter(|issue| issue.severity == Severity::Error).collect(),
        })?;
        warnings.append(&mut compiled.warnings);
        compiled.warnings = warnings;
        let mut derived = Derived::default();
        let mut secret = false;
        for step in &spec.steps {
            let tool = self.resolve(&step.tool);
            secret |= tool.as_ref().is_some_and(|tool| tool.0.sensitive);
            derived.add(step, tool.as_ref());
        }
        Ok((CompositeBody::new(spec, GateOf::Composer(self.bound.clone()), derived, compiled), secret))
    }

    /// Runs a specification. Every step is judged again before it runs.
    ///
    /// # Errors
    /// [`CallError`]: without a gate, too deep, a specification that is wrong, or the step that ended it.
    pub async fn run_pipeline(
        &self,
        spec: &Value,
        input: Value,
        context: impl IntoContext<R::Context>,
        options: PipelineOptions,
    ) -> Result<ToolResult, CallError> {
        if !self.has_gate() {
            return Err(run::no_gate().into());
        }
        let context = context.into_context();
        let depth = R::depth(&context);
        if depth >= crate::limits::COMPOSITE_DEPTH_MAX {
            return Err(Fault::NestingTooDeep { depth, max: crate::limits::COMPOSITE_DEPTH_MAX }.into());
        }
        let (body, secret) = self.body("", spec).map_err(Fault::InvalidSpec)?;
        let effect = derived_effect(&body.derived.effects, None);
        let mut head = ToolBuilder::new("pipeline", "").effect(effect);
        head.def.sensitive = secret;
        let pipeline = head.close(Body::Composite(Arc::new(body)));
        enter::detached(&pipeline, options.0.input(input), context).await
    }
}

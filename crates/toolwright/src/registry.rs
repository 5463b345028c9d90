//! Collecting tools, then sealing them. Registration is where everything that identifies a tool is read, once, and
//! judged; after [`Registry::seal`] nothing changes.
//!
//! In reading order: [`Registry`] takes [`Declaration`]s in, each with its id, schemas, effect and hooks, and judges
//! them by the host's [`Policy`]. A declaration that is not taken in is a [`RegisterError`] with every
//! [`RegisterFault`] at once. [`SharedRegistry`] is for several owners. Sealing gives a [`Catalog`].

use std::collections::HashMap;
use std::sync::Arc;

use crate::catalog::{Catalog, Home, Registered, View};
use crate::composite::{Asked, Composite, CompositeBody, GateOf, derived_effect};
use crate::error::CallError;
use crate::fingerprint::Hashed;
use crate::lifecycle::IntoHook;
use crate::options::Options;
use crate::policy::Policy;
use crate::protocol::Protocol;
use crate::runtime::{Rt, Runtime};
use crate::schema::CompiledSchema;
use crate::session::Health;
use crate::tool::{Body, Goals, Origin, Tool, ToolBuilder, ToolDef, typed};
use crate::value::{Text, Value};

mod copy;
pub(crate) mod error;
pub(crate) mod handlers;
mod judge;
mod prove;
mod shared;

pub use error::{RegisterError, RegisterFault};
use judge::{Linked, as_composite, warnings};
pub use shared::SharedRegistry;

/// What [`Registry::register`] takes: a tool, or a composite over tools registered before it.
///
/// Tools and composites become one by themselves; a program names it to keep both in one list.
///
/// ```
/// use toolwright::{Composite, Declaration, Registry, json, tool};
/// let echo = tool("echo", "Gives back what it gets").reads().run_json(|input, _call| async move { Ok(input) });
/// let all: Vec<Declaration> = vec![echo.into(), Composite::new("twice", "Echoes").step("a", "echo", json!({})).into()];
/// let mut registry = Registry::new();
/// registry.register_all(all)?;
/// assert_eq!(registry.ids().collect::<Vec<_>>(), ["echo", "twice"]);
/// # Ok::<(), toolwright::RegisterError>(())
/// ```
pub enum Declaration<R: Runtime = Rt> {
    /// A tool.
    Tool(ToolDef<R>),
    /// A composite.
    Composite(Box<Composite<R>>),
    /// A declaration that nothing was given to run for; it is refused.
    Open(Box<ToolBuilder<R>>),
}

impl<R: Runtime> Clone for Declaration<R> {
    fn clone(&self) -> Self {
        match self {
            Self::Tool(tool) => Self::Tool(tool.clone()),
            Self::Composite(composite) => Self::Composite(composite.clone()),
            Self::Open(builder) => Self::Open(builder.clone()),
        }
    }
}

impl<R: Runtime> std::fmt::Debug for Declaration<R> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Declaration").field(&self.id()).finish()
    }
}

impl<R: Runtime> Declaration<R> {
    /// The id it will be registered under.
    pub fn id(&self) -> &str {
        match self {
            Self::Tool(tool) => tool.name(),
            Self::Composite(composite) => composite.id(),
            Self::Open(builder) => &builder.def.name,
        }
    }
}

impl<R: Runtime> From<ToolDef<R>> for Declaration<R> {
    fn from(tool: ToolDef<R>) -> Self {
        Self::Tool(tool)
    }
}

impl<R: Runtime> From<&ToolDef<R>> for Declaration<R> {
    fn from(tool: &ToolDef<R>) -> Self {
        Self::Tool(tool.clone())
    }
}

impl<R: Runtime> From<Composite<R>> for Declaration<R> {
    fn from(composite: Composite<R>) -> Self {
        Self::Composite(Box::new(composite))
    }
}

impl<R: Runtime> From<ToolBuilder<R>> for Declaration<R> {
    fn from(builder: ToolBuilder<R>) -> Self {
        Self::Open(Box::new(builder))
    }
}

/// Tools being collected, in order. It reads as a [`View`]; only a sealed registry, a [`Catalog`], can run anything.
///
/// ```
/// use toolwright::{Registry, json, tool};
/// let echo = tool("echo", "Gives back what it gets").reads().run_json(|input, _call| async move { Ok(input) });
/// let catalog = Registry::new().with(echo)?.seal();
/// assert!(catalog.has("echo"));
/// # Ok::<(), toolwright::RegisterError>(())
/// ```
pub struct Registry<R: Runtime = Rt> {
    pub(crate) view: View<R>,
    home: Home<R>,
    /// Whether failures of forged tools that are copied into it suspend them: only where somebody can lift that again.
    suspends: bool,
}

impl<R: Runtime> std::fmt::Debug for Registry<R> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.view.fmt(f)
    }
}

impl<R: Runtime> std::ops::Deref for Registry<R> {
    type Target = View<R>;

    fn deref(&self) -> &View<R> {
        &self.view
    }
}

impl<R: Runtime> Default for Registry<R> {
    /// An empty registry that takes anything and lists nothing: `Registry::<App>::default()`.
    fn default() -> Self {
        Self::of(Options::default())
    }
}

impl Registry {
    /// An empty registry that takes anything and lists nothing. An application with types of its own takes
    /// [`Registry::with_options`], or `Registry::<App>::default()`.
    pub fn new() -> Self {
        Self::of(Options::default())
    }
}

impl<R: Runtime> Registry<R> {
    /// An empty registry with the host's policy, and no other option.
    pub fn with_policy(policy: Policy<R>) -> Self {
        Self::of(Options::new().policy(policy))
    }

    /// An empty registry with the host's options.
    ///
    /// # Errors
    /// [`RegisterFault::OutputTwice`] when two outputs share an id, [`RegisterFault::OutputSchema`] when a schema of
    /// one cannot be used.
    pub fn with_options(options: Options<R>) -> Result<Self, RegisterError> {
        let mut registry = Self::of(options);
        let outputs = std::mem::take(&mut registry.view.options.outputs);
        for output in &outputs {
            if registry.view.output_protocol(&output.id).is_some() {
                return Err(RegisterError::new(output.id.clone(), RegisterFault::OutputTwice));
            }
            let schema = CompiledSchema::new(output.schema.clone());
            schema.verify().map_err(|why| RegisterError::new(output.id.clone(), RegisterFault::OutputSchema { why }))?;
            registry.view.outputs.push((Arc::new(output.clone()), schema));
        }
        registry.view.options.outputs = outputs;
        Ok(registry)
    }

    fn of(options: Options<R>) -> Self {
        let view = View {
            entries: Vec::new(),
            index: HashMap::new(),
            delegates: HashMap::new(),
            outputs: Vec::new(),
            options,
            folds: crate::lifecycle::folds::Folds::default(),
            normalizer: None,
            finalizer: None,
            generation: 0,
            warnings: Vec::new(),
            has_forged: false,
            fingerprint: None,
        };
        Self { view, home: Home::default(), suspends: false }
    }

    /// Takes in one tool or composite. What identifies it is read now, once.
    ///
    /// # Errors
    /// [`RegisterError`] with everything that is wrong; the registry is then as it was.
    pub fn register(&mut self, declaration: impl Into<Declaration<R>>) -> Result<&mut Self, RegisterError> {
        let declaration = self.renewed(declaration.into());
        self.take(declaration)
    }

    /// As it is: what a session forged comes with the state that the session looks at.
    pub(crate) fn take(&mut self, declaration: Declaration<R>) -> Result<&mut Self, RegisterError> {
        let (tool, hashes, warned) = self.judged(&declaration)?;
        self.install(tool, declaration, hashes, warned);
        Ok(self)
    }

    /// Takes in a typed tool.
    ///
    /// # Errors
    /// As [`Registry::register`].
    pub fn add(&mut self, tool: impl Tool<R>) -> Result<&mut Self, RegisterError> {
        self.register(typed::define(tool))
    }

    /// Takes in one more, by value.
    ///
    /// # Errors
    /// As [`Registry::register`].
    pub fn with(mut self, declaration: impl Into<Declaration<R>>) -> Result<Self, RegisterError> {
        self.register(declaration)?;
        Ok(self)
    }

    /// Takes in several, in their order: all, or none.
    ///
    /// # Errors
    /// [`RegisterError`] of the first that is refused, with its position in [`RegisterError::index`]; those after it are
    /// not asked for.
    pub fn register_all<D: Into<Declaration<R>>>(&mut self, declarations: impl IntoIterator<Item = D>) -> Result<&mut Self, RegisterError> {
        // What gives the declarations may break down half-way: then nothing of them stays either.
        let mut all = All { before: (self.view.entries.len(), self.view.warnings.len()), registry: self, kept: false };
        for (index, declaration) in declarations.into_iter().enumerate() {
            all.registry.register(declaration).map_err(|error| error.at(index))?;
        }
        all.kept = true;
        drop(all);
        Ok(self)
    }

    /// Installs the one handler that changes values for [`View::normalize`].
    ///
    /// # Errors
    /// [`RegisterFault::NormalizerInstalled`] when there is one.
    pub fn register_normalizer<T: IntoHook<Value>>(
        &mut self,
        normalizer: impl Fn(Value, R::NormalizerArgs) -> T + Send + Sync + 'static,
    ) -> Result<&mut Self, RegisterError> {
        if self.view.normalizer.is_some() {
            return Err(RegisterError::new("normalizer", RegisterFault::NormalizerInstalled));
        }
        self.view.normalizer = Some(Arc::new(move |value, arguments| normalizer(value, arguments).into_hook()));
        Ok(self)
    }

    /// Installs the one handler that makes replies for [`View::finish`].
    ///
    /// # Errors
    /// [`RegisterFault::FinalizerInstalled`] when there is one.
    pub fn register_finalizer(
        &mut self,
        finalizer: impl Fn(&R::Receiver, R::Decision, &R::Context) -> Result<R::Reply, CallError> + Send + Sync + 'static,
    ) -> Result<&mut Self, RegisterError> {
        if self.view.finalizer.is_some() {
            return Err(RegisterError::new("finalizer", RegisterFault::FinalizerInstalled));
        }
        self.view.finalizer = Some(Arc::new(finalizer));
        Ok(self)
    }

    /// Ends registration. From here on nothing changes: what would register a tool does not compile (T6.31.1).
    ///
    /// ```compile_fail,E0382
    /// use toolwright::{Registry, json, tool};
    /// let echo = tool("echo", "Echoes").reads().run_json(|input, _call| async move { Ok(input) });
    /// let mut registry = Registry::new();
    /// let catalog = registry.seal();
    /// registry.register(echo)?;
    /// # Ok::<(), toolwright::RegisterError>(())
    /// ```
    ///
    /// A host that finds out at run time whether it is too late takes a [`SharedRegistry`].
    pub fn seal(self) -> Catalog<R> {
        Catalog::new(self.view, &self.home)
    }

    /// A forged tool that comes from elsewhere begins anew: what befalls it there is nothing to this registry, and what
    /// befalls it here is nothing to others.
    fn renewed(&self, mut declaration: Declaration<R>) -> Declaration<R> {
        let anew = |health: &mut Option<Arc<Health>>| {
            if let Some(health) = health {
                *health = Arc::new(health.anew(self.suspends));
            }
        };
        match &mut declaration {
            Declaration::Composite(composite) => anew(&mut composite.head.def.health),
            Declaration::Tool(tool) if tool.0.health.is_some() => *tool = tool.changed(|def| anew(&mut def.health)),
            Declaration::Open(builder) => anew(&mut builder.def.health),
            Declaration::Tool(_) => {}
        }
        declaration
    }

    /// Forged tools that are copied into it may be suspended by their failures.
    pub(crate) fn suspending(mut self) -> Self {
        self.suspends = true;
        self
    }

    fn judged(&self, declaration: &Declaration<R>) -> Result<Judged<R>, RegisterError> {
        let judged = match as_composite(declaration) {
            Some(composite) => self.judged_composite(composite),
            None => self.judged_tool(declaration),
        };
        judged.map_err(|error| error.knowing(self.view.known()))
    }

    fn judged_tool(&self, declaration: &Declaration<R>) -> Result<Judged<R>, RegisterError> {
        let tool = match declaration {
            Declaration::Tool(tool) => tool.clone(),
            Declaration::Open(builder) => (**builder).clone().close(Body::Missing),
            // Composites are judged as such.
            Declaration::Composite(composite) => composite.head.clone().close(Body::Missing),
        };
        let twice = tool.0.hooks.as_ref().map(|hooks| hooks.twice.as_slice()).unwrap_or_default();
        let mut faults = self.view.judge_head(&tool.0, twice);
        if matches!(tool.0.body, Body::Missing) {
            faults.push(RegisterFault::NoHandler);
        }
        faults.extend(self.view.judge_contract(&tool.0));
        let tool = self.view.raised(tool, &mut faults);
        faults.extend(self.view.judge_effect(&tool));
        faults.extend(self.view.judge_rule(&tool));
        let tool = self.view.marked(tool, &[], &mut faults);
        match RegisterError::of(&tool.0.name, faults) {
            Some(error) => Err(error),
            None => {
                let hashes = Hashed::new(tool.clone(), Vec::new());
                Ok((tool, hashes, Vec::new()))
            }
        }
    }

    fn judged_composite(&self, mut composite: Composite<R>) -> Result<Judged<R>, RegisterError> {
        if composite.head.def.input.is_none() {
            composite.head.def.input = composite.spec.input.clone().map(CompiledSchema::new);
        }
        let hooks = std::mem::take(&mut composite.head.hooks);
        let twice = hooks.twice.clone();
        composite.head.hooks = hooks;
        let mut faults = self.view.judge_head(&composite.head.def, &twice);
        faults.extend(self.view.judge_contract(&composite.head.def));
        let mut linked = self.view.link(&composite, &mut faults);
        if composite.head.def.effect.is_some() {
            faults.push(RegisterFault::EffectOnComposite);
        }
        let warned: Vec<_> = warnings(&faults).cloned().collect();
        let name = composite.head.def.name.clone();
        let Some(compiled) = linked.compiled.take() else { return Err(error_of(&name, faults)) };
        if let Some(error) = RegisterError::of(&name, faults.clone()) {
            return Err(error);
        }
        linked.derived.inferred_input = linked.inferred.take();
        let links = linked.links.clone();
        let (tool, steps) = self.composed(composite, linked, compiled);
        let tool = self.view.raised(tool, &mut faults);
        faults.extend(self.view.judge_effect(&tool));
        faults.extend(self.view.judge_rule(&tool));
        let tool = self.view.marked(tool, &links, &mut faults);
        match RegisterError::of(&name, faults) {
            Some(error) => Err(error),
            None => {
                let hashes = Hashed::new(tool.clone(), steps);
                Ok((tool, hashes, warned))
            }
        }
    }

    /// The composite as a tool, with what follows from its steps; and the hashes of their tools.
    fn composed(
        &self,
        composite: Composite<R>,
        mut linked: Linked,
        compiled: crate::composite::compile::Compiled,
    ) -> (ToolDef<R>, Vec<Arc<Hashed<R>>>) {
        let own_output = composite.head.def.output.is_some();
        let output = self.view.derived_output(&composite, compiled.program.output.as_deref(), &linked);
        let Composite { mut head, spec, .. } = composite;
        if let Some(schema) = output.filter(|_| !own_output) {
            head = head.output_schema(schema);
        }
        if head.def.goals == Goals::All
            && let Some(goals) = self.view.goals_of_steps(&linked.links)
        {
            head.def.goals = Goals::Only(goals);
        }
        linked.derived.own_output = own_output;
        let reached = linked.links.iter().filter_map(|link| Some((*link, &self.view.entry(*link)?.tool)));
        let asked = Asked::all(reached);
        linked.derived.ends_turn = self.view.ends_turn(linked.links.last());
        if head.def.origin.is_none() {
            head.def.origin = Some(Origin { kind: arcstr::literal!("composite"), name: head.def.name.clone(), ..Origin::default() });
        }
        let first = linked.links.first().and_then(|link| self.view.entry(*link)?.effect().cloned());
        head = head.effect(derived_effect(&linked.derived.effects, first));
        let steps = linked.links.iter().filter_map(|link| Some(self.view.entry(*link)?.hashes.clone())).collect();
        let gate = GateOf::Catalog { links: linked.links.into(), home: self.home.clone() };
        let body = CompositeBody::new(spec, gate, linked.derived, compiled).asking(asked);
        (head.close(Body::Composite(Arc::new(body))), steps)
    }

    fn install(&mut self, tool: ToolDef<R>, declared: Declaration<R>, hashes: Arc<Hashed<R>>, warned: Vec<crate::composite::SpecIssue>) {
        let index = self.view.entries.len();
        let name = tool.0.name.clone();
        self.view.warnings.extend(warned.into_iter().map(|warning| (name.clone(), warning)));
        self.view.index.insert(name.clone(), index);
        if let Some(delegate) = &tool.0.delegate {
            self.view.delegates.insert(delegate.clone(), index);
        }
        if let Some(hooks) = &tool.0.hooks {
            self.view.folds.add(index, hooks);
        }
        let protocol = Arc::new(Protocol {
            id: name,
            description: tool.0.description.clone(),
            schema: tool.input_schema().cloned().unwrap_or_else(|| crate::json!({ "type": "object" })),
            terminal: tool.0.terminal,
        });
        let tool = tool.changed(|def| def.hashed = Some(hashes.clone()));
        let chainability = self.view.chainability_of(&tool);
        self.view.entries.push(Registered { tool, declared, chainability, protocol, hashes, index });
    }

    /// Takes everything back that was registered since.
    fn forget_after(&mut self, (entries, warnings): (usize, usize)) {
        self.view.entries.truncate(entries);
        self.view.warnings.truncate(warnings);
        self.view.index.retain(|_, at| *at < entries);
        self.view.delegates.retain(|_, at| *at < entries);
        self.view.folds.forget_from(entries);
    }
}

/// Several declarations on their way in: all, or none.
struct All<'a, R: Runtime> {
    registry: &'a mut Registry<R>,
    before: (usize, usize),
    kept: bool,
}

impl<R: Runtime> Drop for All<'_, R> {
    fn drop(&mut self) {
        if !self.kept {
            self.registry.forget_after(self.before);
        }
    }
}

type Judged<R> = (ToolDef<R>, Arc<Hashed<R>>, Vec<crate::composite::SpecIssue>);

fn error_of(name: &Text, faults: Vec<RegisterFault>) -> RegisterError {
    RegisterError::of(name, faults).unwrap_or_else(|| RegisterError::new(name.clone(), RegisterFault::NoHandler))
}

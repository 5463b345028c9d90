//! What a tool is: a declaration ([`ToolDef`]) and one required behaviour ([`Handler`]).
//!
//! A tool is handed its input and a [`Call`]. Through the call it may ask for another tool of the same catalogue
//! ([`Call::invoke`]), which takes every stage that any call takes; nothing here can start one by itself.
//!
//! In reading order: [`tool()`] starts a declaration, [`ToolBuilder`] says what the tool is (its [`Effect`], [`Goals`],
//! [`Example`]s, [`Origin`], hooks) and closes it with what runs. A closure is enough for most; [`Tool`] is for tools
//! with state, [`Handler`] for whatever fits neither. What runs gives back an [`Answer`] or a [`ToolError`], whose
//! [`Aftermath`] says whether something can have changed. [`Reconciled`] is what a tool finds out about a call whose
//! outcome is not known.
//!
//! The hooks of a tool are in [`lifecycle`](crate::lifecycle), composites in [`composite`](crate::composite).

use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, OnceLock};

use crate::call::HandedThrough;
use crate::composite::CompositeBody;
use crate::fingerprint::Hashed;
use crate::frame::{Call, PathNode};
use crate::lifecycle::{Hooks, IntentSpec};
use crate::runtime::{Rt, Runtime};
use crate::schema::{CompiledSchema, SchemaError};
use crate::value::{Text, Value};

mod adopt;
pub mod answer;
pub(crate) mod builder;
pub mod effect;
pub(crate) mod reconcile;
pub(crate) mod typed;

pub use answer::{Aftermath, Answer, ToolError};
pub use builder::{ToolBuilder, tool};
pub use effect::{Effect, Impact};
pub(crate) use reconcile::Reconcile;
pub use reconcile::{Begun, Reconciled};
pub use typed::{NoInput, Tool};

/// A boxed future that may move between threads.
///
/// [`Handler::handle`] gives one back.
pub type BoxFuture<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// The object-safe body that every leaf tool becomes.
///
/// Written by hand for a tool that neither a closure nor a [`Tool`] fits, such as one that forwards to another process.
///
/// ```
/// use toolwright::{Answer, BoxFuture, Call, Handler, ToolError, Value, tool};
/// struct Forward;
/// impl Handler for Forward {
///     fn handle<'a>(&'a self, input: Value, _call: Call) -> BoxFuture<'a, Result<Answer, ToolError>> {
///         Box::pin(async move { Ok(Answer::new(input)) })
///     }
/// }
/// let forward = tool("forward", "Gives back what it gets").reads().handler(Forward);
/// assert_eq!(forward.id(), "forward");
/// ```
pub trait Handler<R: Runtime = Rt>: Send + Sync + 'static {
    /// Runs the tool once. `input` fits the tool's input schema.
    ///
    /// # Errors
    /// A [`ToolError`] says in its own words what went wrong and, for tools with
    /// side effects, whether the effect can have happened.
    fn handle<'a>(&'a self, input: Value, call: Call<R>) -> BoxFuture<'a, Result<Answer, ToolError>>;
}

/// Where a tool comes from, for people: shown by `list` and `describe`.
///
/// Set by whoever brings in tools from elsewhere.
///
/// ```
/// use toolwright::tool::Origin;
/// use toolwright::tool;
/// let origin = Origin { source: "git".into(), kind: "mcp-stdio".into(), name: "log".into(), ..Origin::default() };
/// let log = tool("git.log", "Shows commits").origin(origin).run_json(|input, _call| async move { Ok(input) });
/// assert_eq!(log.origin().map(|origin| origin.source.as_str()), Some("git"));
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Origin {
    /// Name of the source in the host's configuration, for example `git`.
    pub source: Text,
    /// `command`, `mcp-stdio`, `mcp-http`, `composite` or `rust`.
    pub kind: Text,
    /// The tool's name at its source.
    pub name: Text,
    /// What the effect was taken from: `declared`, `hint` or empty when there is none.
    pub effect_from: Text,
}

/// A runnable example of one tool.
///
/// Shown to models and people, and a test can run it.
///
/// ```
/// use toolwright::{Example, json, tool};
/// let example = Example { input: json!({ "text": "duck" }), output: Some(json!({ "text": "duck" })) };
/// let echo = tool("echo", "Gives back what it gets").reads().example(example).run_json(|input, _call| async move { Ok(input) });
/// assert_eq!(echo.examples().len(), 1);
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Example {
    /// Arguments, as a caller would give them.
    pub input: Value,
    /// The output they give, when it is fixed.
    pub output: Option<Value>,
}

pub(crate) enum Body<R: Runtime> {
    /// Nothing was given to run; registration refuses it.
    Missing,
    Handler(Arc<dyn Handler<R>>),
    Composite(Arc<CompositeBody<R>>),
}

impl<R: Runtime> Clone for Body<R> {
    fn clone(&self) -> Self {
        match self {
            Self::Missing => Self::Missing,
            Self::Handler(handler) => Self::Handler(handler.clone()),
            Self::Composite(body) => Self::Composite(body.clone()),
        }
    }
}

/// Goals that a tool serves.
///
/// A tool that names goals is offered when one of them is asked for.
///
/// ```
/// use toolwright::{Goals, tool};
/// let draft = tool("draft", "Drafts a mail").reads().goals(["write"]).run_json(|input, _call| async move { Ok(input) });
/// assert_eq!(draft.goals(), &Goals::Only(vec!["write".into()]));
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Goals {
    /// Every goal there is at the moment of asking.
    #[default]
    All,
    /// These, in this order.
    Only(Vec<Text>),
}

/// A tool's declaration: immutable, cheap to clone, the instance that is checked is the one that runs.
///
/// Made by [`tool()`] and a `run` method, then registered. Copies with another name or effect are for hosts that rename what a
/// source offers.
///
/// ```
/// use toolwright::tool;
/// let search = tool("search", "Finds a text").reads().run_json(|input, _call| async move { Ok(input) });
/// assert_eq!((search.id(), search.has_side_effects()), ("search", Some(false)));
/// assert_eq!(search.renamed("web.search").name(), "web.search");
/// ```
pub struct ToolDef<R: Runtime = Rt>(pub(crate) Arc<Def<R>>);

impl<R: Runtime> Clone for ToolDef<R> {
    fn clone(&self) -> Self {
        Self(self.0.clone())
    }
}

pub(crate) struct Def<R: Runtime> {
    pub(crate) id: Text,
    pub(crate) name: Text,
    pub(crate) title: Option<Text>,
    pub(crate) description: Text,
    /// Of its code, which cannot be seen.
    pub(crate) version: Option<Text>,
    pub(crate) effect: Option<Effect>,
    pub(crate) input: Option<CompiledSchema>,
    pub(crate) output: Option<CompiledSchema>,
    /// What its outputs have looked like, and how many there were; it promises nothing.
    pub(crate) expected: Option<(Value, u32)>,
    pub(crate) examples: Vec<Example>,
    pub(crate) origin: Option<Origin>,
    pub(crate) annotations: Option<Value>,
    pub(crate) hidden: bool,
    pub(crate) kind: Text,
    pub(crate) audience: Text,
    pub(crate) goals: Goals,
    pub(crate) delegate: Option<Text>,
    pub(crate) intent: Option<IntentSpec>,
    pub(crate) produces: Option<Text>,
    pub(crate) terminal: bool,
    pub(crate) debug_steps: bool,
    pub(crate) meta: R::Meta,
    /// None when no hook is declared, so that a call without hooks pays one look.
    pub(crate) hooks: Option<Arc<Hooks<R>>>,
    /// Its hashes, once it is registered.
    pub(crate) hashed: Option<Arc<Hashed<R>>>,
    pub(crate) reconcile: Option<Arc<Reconcile<R>>>,
    pub(crate) body: Body<R>,
    /// Whether it may run now, for a tool that a session forged; no other has it.
    pub(crate) health: Option<Arc<crate::session::Health>>,
    /// Where the path of a run begins that begins with this tool; made when the first one does.
    pub(crate) root: OnceLock<Arc<PathNode>>,
    /// What it may give back as it got it, unseen.
    pub(crate) handed_through: HandedThrough,
    /// Some value that it takes or gives is a secret, once it is registered.
    pub(crate) sensitive: bool,
    /// Arguments that the host has fixed.
    pub(crate) pinned: Option<crate::value::Object>,
}

impl<R: Runtime> std::fmt::Debug for ToolDef<R> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ToolDef").field("id", &self.0.id).field("effect", &self.0.effect).finish_non_exhaustive()
    }
}

impl<R: Runtime> ToolDef<R> {
    /// The tool's own id. A composite built by a [`crate::Composer`] has `composable:<name>`.
    pub fn id(&self) -> &str {
        &self.0.id
    }

    /// The name a catalogue knows the tool by; the id unless the builder said otherwise.
    pub fn name(&self) -> &str {
        &self.0.name
    }

    /// Display name for people, when there is one.
    pub fn title(&self) -> Option<&str> {
        self.0.title.as_deref()
    }

    /// What the tool does, for models and people.
    pub fn description(&self) -> &str {
        &self.0.description
    }

    /// JSON Schema of the arguments; none means anything is accepted. Of a composite without a written one it is what its
    /// steps need ([`CompositeBody::inferred_input`]).
    pub fn input_schema(&self) -> Option<&Value> {
        self.wired_input().map(CompiledSchema::source)
    }

    /// What arguments must fit: the written schema, or what the steps of a composite need.
    pub(crate) fn wired_input(&self) -> Option<&CompiledSchema> {
        self.0.input.as_ref().or_else(|| self.composite()?.derived.inferred_input.as_ref())
    }

    /// JSON Schema of the output, when the tool declares one.
    pub fn output_schema(&self) -> Option<&Value> {
        self.0.output.as_ref().map(CompiledSchema::source)
    }

    /// The schema that its outputs have fitted so far, and how many of them there were, when the tool declares none
    /// itself: something to warn by, never to refuse by.
    pub fn expected_output(&self) -> Option<(&Value, u32)> {
        self.0.expected.as_ref().filter(|_| self.0.output.is_none()).map(|(schema, outputs)| (schema, *outputs))
    }

    /// The declared (or, for a composite, derived) effect. `None` means undeclared, which is the worst.
    pub fn effect(&self) -> Option<&Effect> {
        self.0.effect.as_ref()
    }

    /// Whether the tool declares that it has side effects: `None` when it declares nothing.
    #[inline]
    pub fn has_side_effects(&self) -> Option<bool> {
        self.0.effect.as_ref().map(|effect| effect.impact > Impact::None)
    }

    /// Whether the tool is a list of steps over other tools.
    #[inline]
    pub fn is_composite(&self) -> bool {
        matches!(self.0.body, Body::Composite(_))
    }

    /// The composite's derived facts; `None` for a leaf.
    pub fn composite(&self) -> Option<&CompositeBody<R>> {
        match &self.0.body {
            Body::Composite(body) => Some(body),
            Body::Handler(_) | Body::Missing => None,
        }
    }

    /// Runnable examples.
    pub fn examples(&self) -> &[Example] {
        &self.0.examples
    }

    /// What in its examples does not fit its schemas; pointers lead into the list of examples, such as `/0/input/limit`.
    ///
    /// ```
    /// use toolwright::{Example, json, tool};
    /// let schema = json!({ "type": "object", "properties": { "limit": { "type": "integer" } } });
    /// let example = Example { input: json!({ "limit": "many" }), output: None };
    /// let tool = tool("list", "Lists").reads().input_schema(schema).example(example).run_json(|input, _call| async move { Ok(input) });
    /// assert_eq!(tool.example_issues()[0].pointer, "/0/input/limit");
    /// ```
    pub fn example_issues(&self) -> Vec<crate::schema::SchemaIssue> {
        let mut issues = Vec::new();
        for (at, example) in self.0.examples.iter().enumerate() {
            let parts = [("input", &self.0.input, Some(&example.input)), ("output", &self.0.output, example.output.as_ref())];
            for (part, schema, value) in parts {
                let (Some(schema), Some(value)) = (schema, value) else { continue };
                issues.extend(schema.issues(value).into_iter().map(|mut issue| {
                    issue.pointer.insert_str(0, &format!("/{at}/{part}"));
                    issue
                }));
            }
        }
        issues
    }

    /// Where the tool comes from.
    pub fn origin(&self) -> Option<&Origin> {
        self.0.origin.as_ref()
    }

    /// What the source said beside the declaration, raw: hints, the listing's own JSON.
    pub fn annotations(&self) -> Option<&Value> {
        self.0.annotations.as_ref()
    }

    /// Whether the host wants the tool left out of listings; it stays chainable.
    pub fn is_hidden(&self) -> bool {
        self.0.hidden
    }

    /// The host's own word for what sort of tool it is; `tool`, or `composite`, unless the builder said otherwise.
    pub fn kind(&self) -> &str {
        &self.0.kind
    }

    /// To whom the tool is described; `model` unless the builder said otherwise. No permission follows from it.
    pub fn audience(&self) -> &str {
        &self.0.audience
    }

    /// The goals it serves, as declared.
    pub fn goals(&self) -> &Goals {
        &self.0.goals
    }

    /// Another name that a decision may ask for it by.
    pub fn delegate(&self) -> Option<&str> {
        self.0.delegate.as_deref()
    }

    /// How it is offered as an intent, when it is.
    pub fn intent(&self) -> Option<&IntentSpec> {
        self.0.intent.as_ref()
    }

    /// The output protocol its result must also fit.
    pub fn produces(&self) -> Option<&str> {
        self.0.produces.as_deref()
    }

    /// Whether a turn is over when this tool has run.
    pub fn is_terminal(&self) -> bool {
        self.0.terminal
    }

    /// Whether the steps that its handler notes go to the diagnostics.
    pub fn debugs_steps(&self) -> bool {
        self.0.debug_steps
    }

    /// The host's own data about it.
    pub fn meta(&self) -> &R::Meta {
        &self.0.meta
    }

    /// Whether it may be called in this context: its own predicate, and for a composite those of its steps' tools. A
    /// predicate that breaks down has said no.
    pub fn is_available(&self, context: &R::Context) -> bool {
        self.0.hooks.as_ref().is_none_or(|hooks| hooks.is_available(context))
            && self.composite().is_none_or(|body| !body.depends_on_steps() || body.steps_available(context))
    }

    /// Whether its being available depends on the context.
    pub fn is_conditional(&self) -> bool {
        self.0.hooks.as_ref().is_some_and(|hooks| hooks.is_conditional()) || self.composite().is_some_and(CompositeBody::is_conditional)
    }

    /// A copy under another name, for a host that renames what a source offers.
    #[must_use]
    pub fn renamed(&self, name: impl Into<Text>) -> Self {
        let name = name.into();
        self.changed(|def| {
            def.id = name.clone();
            def.name = name;
        })
    }

    /// A copy with another effect: the host's word about a tool that declares something else or nothing.
    /// A composite keeps its derived effect.
    #[must_use]
    pub fn with_effect(&self, effect: Effect) -> Self {
        if self.is_composite() {
            return self.clone();
        }
        self.changed(|def| {
            def.effect = Some(effect);
            if let Some(origin) = &mut def.origin {
                origin.effect_from = arcstr::literal!("declared");
            }
        })
    }

    /// A copy with another description.
    #[must_use]
    pub fn with_description(&self, description: impl Into<Text>) -> Self {
        self.changed(|def| def.description = description.into())
    }

    /// A copy that says which version of its code it is: see [`ToolBuilder::version`].
    #[must_use]
    pub fn with_version(&self, version: impl Into<Text>) -> Self {
        self.changed(|def| def.version = Some(version.into()))
    }

    /// A copy that listings leave out (or show again).
    #[must_use]
    pub fn with_hidden(&self, hidden: bool) -> Self {
        self.changed(|def| def.hidden = hidden)
    }

    /// A copy that promises this output, for a host that knows what a tool gives which says nothing about it. A
    /// composite keeps its own. A broken schema is reported at registration.
    ///
    /// ```
    /// use toolwright::{json, tool};
    /// let count = tool("count", "Counts").reads().run_json(|_, _call| async move { Ok(json!(3)) });
    /// let count = count.with_output_schema(json!({ "type": "integer" }));
    /// assert_eq!(count.output_schema(), Some(&json!({ "type": "integer" })));
    /// ```
    #[must_use]
    pub fn with_output_schema(&self, schema: Value) -> Self {
        if self.is_composite() {
            return self.clone();
        }
        self.changed(|def| def.output = Some(CompiledSchema::new(schema)))
    }

    /// A copy that is asked what became of a call whose outcome is not known, as with
    /// [`ToolBuilder::reconcile`]: the host's way to find out about a tool that cannot say so itself. A composite keeps none, since
    /// its steps are asked.
    ///
    /// ```
    /// use toolwright::{Reconciled, json, tool};
    /// let send = tool("send", "Sends").writes().run_json(|input, _call| async move { Ok(input) });
    /// let send = send.with_reconcile(|_begun, _context| async { Reconciled::Unknown });
    /// # assert_eq!(send.id(), "send");
    /// ```
    #[must_use]
    pub fn with_reconcile<F, Fut>(&self, reconcile: F) -> Self
    where
        F: Fn(Begun, Arc<R::Context>) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Reconciled> + Send + 'static,
    {
        if self.is_composite() {
            return self.clone();
        }
        self.changed(|def| def.reconcile = Some(Arc::new(move |begun, context| Box::pin(reconcile(begun, context.clone())))))
    }

    /// A copy of which it is known what `outputs` of its outputs looked like. It promises nothing, and its fingerprint
    /// is the same: a composite that uses it otherwise gets a warning.
    ///
    /// ```
    /// use toolwright::{json, schema::Learned, tool};
    /// let mut learned = Learned::default();
    /// learned.add(&json!({ "words": 120 }));
    /// let count = tool("count", "Counts").reads().run_json(|_, _call| async move { Ok(json!({ "words": 7 })) });
    /// let count = count.with_learned_output(learned.expectation(), 1);
    /// assert_eq!(count.expected_output().map(|(_, outputs)| outputs), Some(1));
    /// assert_eq!(count.output_schema(), None);
    /// ```
    #[must_use]
    pub fn with_learned_output(&self, schema: Value, outputs: u32) -> Self {
        if self.is_composite() {
            return self.clone();
        }
        self.changed(|def| def.expected = Some((schema, outputs)))
    }

    /// A copy whose given arguments are fixed: callers no longer see or give them.
    ///
    /// # Errors
    /// [`SchemaError`] when the remaining schema is no schema.
    pub fn with_pinned(&self, pinned: crate::value::Object) -> Result<Self, SchemaError> {
        crate::schema::pin::pinned(self, pinned)
    }

    /// Whether a run knows of every output if it fits its output schema: it is checked, or a composite of a catalogue made
    /// it of what was. Who rests on that looks at its [`Standing`](crate::composite::proof::Standing).
    pub(crate) fn is_output_checked(&self) -> bool {
        self.composite().is_none_or(|body| body.promises_output() || body.is_of_a_catalog())
    }

    pub(crate) fn root_node(&self) -> Arc<PathNode> {
        self.0.root.get_or_init(|| Arc::new(PathNode::root(&self.0.name))).clone()
    }

    pub(crate) fn changed(&self, change: impl FnOnce(&mut Def<R>)) -> Self {
        let mut def = self.0.copied();
        change(&mut def);
        Self(Arc::new(def))
    }
}

impl<R: Runtime> Def<R> {
    /// Whether a schema marks a value with `x-sensitive: true`. One that nests too deep can be used nowhere, and is not gone into.
    pub(crate) fn marks_secrets(&self) -> bool {
        let mut schemas = self.input.iter().chain(&self.output).map(CompiledSchema::source);
        schemas.any(|schema| schema.depth() <= crate::limits::VALUE_DEPTH_MAX && is_sensitive(schema))
    }

    pub(crate) fn copied(&self) -> Self {
        Self {
            id: self.id.clone(),
            name: self.name.clone(),
            title: self.title.clone(),
            description: self.description.clone(),
            version: self.version.clone(),
            effect: self.effect.clone(),
            input: self.input.clone(),
            output: self.output.clone(),
            expected: self.expected.clone(),
            examples: self.examples.clone(),
            origin: self.origin.clone(),
            annotations: self.annotations.clone(),
            hidden: self.hidden,
            kind: self.kind.clone(),
            audience: self.audience.clone(),
            goals: self.goals.clone(),
            delegate: self.delegate.clone(),
            intent: self.intent.clone(),
            produces: self.produces.clone(),
            terminal: self.terminal,
            debug_steps: self.debug_steps,
            meta: self.meta.clone(),
            hooks: self.hooks.clone(),
            hashed: None,
            reconcile: self.reconcile.clone(),
            body: self.body.clone(),
            health: self.health.clone(),
            root: OnceLock::new(),
            handed_through: HandedThrough::default(),
            sensitive: self.sensitive,
            pinned: self.pinned.clone(),
        }
    }
}

/// Whether a schema says of some value that it is a secret.
fn is_sensitive(schema: &Value) -> bool {
    match schema {
        Value::Object(members) => {
            members.iter().any(|(key, value)| (key == "x-sensitive" && *value == Value::Bool(true)) || is_sensitive(value))
        }
        Value::Array(items) => items.iter().any(is_sensitive),
        _ => false,
    }
}

//! What a tool is: a declaration ([`ToolDef`]) and one required behaviour ([`Handler`]).
//!
//! A tool is handed its input and a [`Call`]; it cannot see the catalogue it
//! belongs to, and nothing here can start another tool.

use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, OnceLock};

use schemars::JsonSchema;
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::composite::CompositeBody;
use crate::frame::{Call, Identity, Names, PathNode};
use crate::schema::{CompiledSchema, SchemaError};
use crate::value::{Text, Value};

pub mod answer;
pub mod effect;

pub use answer::{Aftermath, Answer, ToolError};
pub use effect::{Effect, Impact};

/// A boxed future that may move between threads.
pub type BoxFuture<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// The object-safe body that every leaf tool becomes.
pub trait Handler: Send + Sync + 'static {
    /// Runs the tool once. `input` has passed the tool's input schema.
    ///
    /// # Errors
    /// A [`ToolError`] says in its own words what went wrong and, for tools with
    /// side effects, whether the effect can have happened.
    fn handle<'a>(&'a self, input: Value, call: Call) -> BoxFuture<'a, Result<Answer, ToolError>>;
}

/// Where a tool comes from, for people: shown by `list` and `describe`.
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
#[derive(Clone, Debug, PartialEq)]
pub struct Example {
    /// Arguments, as a caller would give them.
    pub input: Value,
    /// The output they give, when it is fixed.
    pub output: Option<Value>,
}

pub(crate) enum Body {
    Handler(Arc<dyn Handler>),
    Composite(Arc<CompositeBody>),
}

/// A tool's declaration: immutable, cheap to clone, the instance that is checked is the one that runs.
#[derive(Clone)]
pub struct ToolDef(pub(crate) Arc<Def>);

pub(crate) struct Def {
    pub(crate) id: Text,
    pub(crate) name: Text,
    pub(crate) title: Option<Text>,
    pub(crate) description: Text,
    pub(crate) effect: Option<Effect>,
    pub(crate) input: Option<CompiledSchema>,
    pub(crate) output: Option<CompiledSchema>,
    pub(crate) examples: Vec<Example>,
    pub(crate) origin: Option<Origin>,
    pub(crate) annotations: Option<Value>,
    pub(crate) hidden: bool,
    pub(crate) body: Body,
    /// Where the path of a run begins that begins with this tool; made when the first one does.
    pub(crate) root: OnceLock<Arc<PathNode>>,
}

impl std::fmt::Debug for ToolDef {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ToolDef").field("id", &self.0.id).field("effect", &self.0.effect).finish_non_exhaustive()
    }
}

impl ToolDef {
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

    /// JSON Schema of the arguments; none means anything is accepted.
    pub fn input_schema(&self) -> Option<&Value> {
        self.0.input.as_ref().map(CompiledSchema::source)
    }

    /// JSON Schema of the output, when the tool declares one.
    pub fn output_schema(&self) -> Option<&Value> {
        self.0.output.as_ref().map(CompiledSchema::source)
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
    pub fn composite(&self) -> Option<&CompositeBody> {
        match &self.0.body {
            Body::Composite(body) => Some(body),
            Body::Handler(_) => None,
        }
    }

    /// Runnable examples.
    pub fn examples(&self) -> &[Example] {
        &self.0.examples
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

    /// A copy that listings leave out (or show again).
    #[must_use]
    pub fn with_hidden(&self, hidden: bool) -> Self {
        self.changed(|def| def.hidden = hidden)
    }

    /// A copy whose given arguments are fixed: callers no longer see or give them.
    ///
    /// # Errors
    /// [`SchemaError`] when the remaining schema is no schema.
    pub fn with_pinned(&self, pinned: crate::value::Object) -> Result<Self, SchemaError> {
        crate::schema::pin::pinned(self, pinned)
    }

    pub(crate) fn root_node(&self) -> Arc<PathNode> {
        let node = || PathNode { parent: None, names: Arc::new(Names::of_root(&self.0.name)), depth: 0, identity: Identity::default() };
        self.0.root.get_or_init(|| Arc::new(node())).clone()
    }

    pub(crate) fn changed(&self, change: impl FnOnce(&mut Def)) -> Self {
        let mut def = self.0.copied();
        change(&mut def);
        Self(Arc::new(def))
    }
}

impl Def {
    fn copied(&self) -> Self {
        Self {
            id: self.id.clone(),
            name: self.name.clone(),
            title: self.title.clone(),
            description: self.description.clone(),
            effect: self.effect.clone(),
            input: self.input.clone(),
            output: self.output.clone(),
            examples: self.examples.clone(),
            origin: self.origin.clone(),
            annotations: self.annotations.clone(),
            hidden: self.hidden,
            body: match &self.body {
                Body::Handler(handler) => Body::Handler(handler.clone()),
                Body::Composite(body) => Body::Composite(body.clone()),
            },
            root: OnceLock::new(),
        }
    }
}

/// Starts the declaration of a tool. Without `reads`, `writes` or `effect` the
/// tool declares nothing, and no composite may use it.
///
/// ```
/// use toolwright::{json, tool};
/// let shout = tool("shout", "Upper-cases a text")
///     .reads()
///     .run_json(|input, _call| async move {
///         let text = input.get("text").and_then(|t| t.as_str()).unwrap_or_default().to_uppercase();
///         Ok(json!({ "text": text }))
///     });
/// assert_eq!(shout.id(), "shout");
/// ```
pub fn tool(id: impl Into<Text>, description: impl Into<Text>) -> ToolBuilder {
    let id = id.into();
    ToolBuilder {
        id: id.clone(),
        name: id,
        title: None,
        description: description.into(),
        effect: None,
        input: None,
        output: None,
        examples: Vec::new(),
        origin: None,
        annotations: None,
    }
}

/// A tool being declared; closed by one of the `run` methods or by [`ToolBuilder::handler`].
#[must_use]
pub struct ToolBuilder {
    id: Text,
    name: Text,
    title: Option<Text>,
    description: Text,
    effect: Option<Effect>,
    input: Option<CompiledSchema>,
    output: Option<CompiledSchema>,
    examples: Vec<Example>,
    origin: Option<Origin>,
    annotations: Option<Value>,
}

impl std::fmt::Debug for ToolBuilder {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ToolBuilder").field("id", &self.id).field("effect", &self.effect).finish_non_exhaustive()
    }
}

impl ToolBuilder {
    /// Declares that running the tool changes nothing.
    pub fn reads(self) -> Self {
        self.effect(Effect::read())
    }

    /// Declares a side effect that must not happen twice.
    pub fn writes(self) -> Self {
        self.effect(Effect::write())
    }

    /// Declares a side effect that a second run does not repeat.
    pub fn writes_idempotent(self) -> Self {
        self.effect(Effect::write_idempotent())
    }

    /// Declares any effect.
    pub fn effect(mut self, effect: Effect) -> Self {
        self.effect = Some(effect);
        self
    }

    /// The name a catalogue should know the tool by, when it is not the id.
    pub fn name(mut self, name: impl Into<Text>) -> Self {
        self.name = name.into();
        self
    }

    /// Display name for people.
    pub fn title(mut self, title: impl Into<Text>) -> Self {
        self.title = Some(title.into());
        self
    }

    /// JSON Schema of the arguments. A broken schema is reported at registration.
    pub fn input_schema(mut self, schema: impl Into<Value>) -> Self {
        self.input = Some(CompiledSchema::new(schema.into()));
        self
    }

    /// JSON Schema of the output. A broken schema is reported at registration.
    pub fn output_schema(mut self, schema: impl Into<Value>) -> Self {
        self.output = Some(CompiledSchema::new(schema.into()));
        self
    }

    /// Adds a runnable example.
    pub fn example(mut self, example: Example) -> Self {
        self.examples.push(example);
        self
    }

    /// Where the tool comes from.
    pub fn origin(mut self, origin: Origin) -> Self {
        self.origin = Some(origin);
        self
    }

    /// What the source said beside the declaration, raw.
    pub fn annotations(mut self, annotations: impl Into<Value>) -> Self {
        self.annotations = Some(annotations.into());
        self
    }

    /// Closes the declaration with an object-safe body.
    pub fn handler(self, handler: impl Handler) -> ToolDef {
        self.close(Body::Handler(Arc::new(handler)))
    }

    /// Closes the declaration with a function over JSON.
    pub fn run_json<F, Fut, A>(self, run: F) -> ToolDef
    where
        F: Fn(Value, Call) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Result<A, ToolError>> + Send + 'static,
        A: Into<Answer> + 'static,
    {
        self.handler(JsonFn(run))
    }

    /// Closes the declaration with a typed async function; both schemas come from the types.
    pub fn run<I, O, F, Fut>(self, run: F) -> ToolDef
    where
        I: DeserializeOwned + JsonSchema + Send + 'static,
        O: Serialize + JsonSchema + Send + 'static,
        F: Fn(I, Call) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Result<O, ToolError>> + Send + 'static,
    {
        let run = Arc::new(run);
        self.typed::<I, O>().run_json(move |value: Value, call| {
            let run = run.clone();
            async move { typed_answer(&run(typed_input::<I>(&value)?, call).await?) }
        })
    }

    /// Closes the declaration with a typed function that does not wait for anything.
    pub fn run_sync<I, O, F>(self, run: F) -> ToolDef
    where
        I: DeserializeOwned + JsonSchema + Send + 'static,
        O: Serialize + JsonSchema + Send + 'static,
        F: Fn(I, &Call) -> Result<O, ToolError> + Send + Sync + 'static,
    {
        self.typed::<I, O>().run_json(move |value: Value, call| {
            let answer = typed_input::<I>(&value).and_then(|input| run(input, &call)).and_then(|out| typed_answer(&out));
            std::future::ready(answer)
        })
    }

    fn typed<I: JsonSchema, O: JsonSchema>(mut self) -> Self {
        self.input.get_or_insert_with(|| CompiledSchema::of::<I>());
        self.output.get_or_insert_with(|| CompiledSchema::of::<O>());
        self
    }

    pub(crate) fn close(self, body: Body) -> ToolDef {
        ToolDef(Arc::new(Def {
            id: self.id,
            name: self.name,
            title: self.title,
            description: self.description,
            effect: self.effect,
            input: self.input,
            output: self.output,
            examples: self.examples,
            origin: self.origin,
            annotations: self.annotations,
            hidden: false,
            body,
            root: OnceLock::new(),
        }))
    }
}

fn typed_input<I: DeserializeOwned>(value: &Value) -> Result<I, ToolError> {
    value.deserialize().map_err(|error| {
        ToolError::new(format!("the arguments do not fit the tool's input type: {error}")).code("invalid_args").nothing_happened()
    })
}

fn typed_answer<O: Serialize>(output: &O) -> Result<Answer, ToolError> {
    match Value::from_serialize(output) {
        Ok(value) => Ok(Answer::new(value)),
        Err(error) => Err(ToolError::unusable_output(error.to_string())),
    }
}

struct JsonFn<F>(F);

impl<F, Fut, A> Handler for JsonFn<F>
where
    F: Fn(Value, Call) -> Fut + Send + Sync + 'static,
    Fut: Future<Output = Result<A, ToolError>> + Send + 'static,
    A: Into<Answer> + 'static,
{
    fn handle<'a>(&'a self, input: Value, call: Call) -> BoxFuture<'a, Result<Answer, ToolError>> {
        let running = (self.0)(input, call);
        Box::pin(async move { running.await.map(Into::into) })
    }
}

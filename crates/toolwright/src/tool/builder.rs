//! Declaring a tool: a builder, closed by the function that runs.

use std::future::Future;
use std::sync::{Arc, OnceLock};

use schemars::JsonSchema;
use serde::Serialize;
use serde::de::DeserializeOwned;

use super::typed::{self, JsonFn};
use super::{Answer, Begun, Body, Def, Effect, Example, Goals, Handler, Origin, Reconciled, ToolDef, ToolError};
use crate::frame::Call;
use crate::lifecycle::{Hooks, IntentSpec};
use crate::runtime::{Rt, Runtime};
use crate::schema::CompiledSchema;
use crate::value::{Text, Value};

/// Starts the declaration of a tool. Without `reads`, `writes` or `effect` the
/// tool declares nothing, and no composite may use it.
///
/// An application with types of its own starts with [`Runtime::tool`] instead.
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
    ToolBuilder::new(id, description)
}

/// A tool being declared; closed by one of the `run` methods or by [`ToolBuilder::handler`].
///
/// ```
/// use toolwright::{Runtime, Rt};
/// struct Caller { may_read: bool }
/// type App = Rt<Caller>;
/// let read = App::tool("read", "Reads the page")
///     .reads()
///     .available(|caller| caller.may_read)
///     .run_json(|input, _call| async move { Ok(input) });
/// assert_eq!(read.kind(), "tool");
/// ```
#[must_use]
pub struct ToolBuilder<R: Runtime = Rt> {
    pub(crate) def: Def<R>,
    pub(crate) hooks: Hooks<R>,
}

impl<R: Runtime> std::fmt::Debug for ToolBuilder<R> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ToolBuilder").field("id", &self.def.id).field("effect", &self.def.effect).finish_non_exhaustive()
    }
}

impl<R: Runtime> Clone for ToolBuilder<R> {
    fn clone(&self) -> Self {
        Self { def: self.def.copied(), hooks: self.hooks.clone() }
    }
}

impl<R: Runtime> ToolBuilder<R> {
    /// A declaration that says only what the tool is called and what it does.
    pub fn new(id: impl Into<Text>, description: impl Into<Text>) -> Self {
        let id = id.into();
        let def = Def {
            name: id.clone(),
            id,
            title: None,
            description: description.into(),
            version: None,
            effect: None,
            input: None,
            output: None,
            expected: None,
            examples: Vec::new(),
            origin: None,
            annotations: None,
            hidden: false,
            kind: arcstr::literal!("tool"),
            audience: arcstr::literal!("model"),
            goals: Goals::All,
            delegate: None,
            intent: None,
            produces: None,
            terminal: false,
            debug_steps: false,
            meta: R::Meta::default(),
            hooks: None,
            hashed: None,
            reconcile: None,
            body: Body::Missing,
            health: None,
            root: OnceLock::new(),
            handed_through: crate::call::HandedThrough::default(),
            sensitive: false,
            pinned: None,
        };
        Self { def, hooks: Hooks::default() }
    }

    /// Which version of its code it is: any text that is another one when the code does something else. Code cannot be seen, so a
    /// run that is taken up again goes by this: a tool whose version is another one now has changed. A composite is its steps, and
    /// needs none.
    pub fn version(mut self, version: impl Into<Text>) -> Self {
        self.def.version = Some(version.into());
        self
    }

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
        self.def.effect = Some(effect);
        self
    }

    /// The name a catalogue should know the tool by, when it is not the id.
    pub fn name(mut self, name: impl Into<Text>) -> Self {
        self.def.name = name.into();
        self
    }

    /// Display name for people.
    pub fn title(mut self, title: impl Into<Text>) -> Self {
        self.def.title = Some(title.into());
        self
    }

    /// The host's word for what sort of tool it is; the policy may know only some. `tool` when not given.
    pub fn kind(mut self, kind: impl Into<Text>) -> Self {
        self.def.kind = kind.into();
        self
    }

    /// To whom the tool is described; the policy may know only some. `model` when not given.
    ///
    /// It limits listing and chaining. It is no permission: a program may invoke a tool of any audience.
    pub fn audience(mut self, audience: impl Into<Text>) -> Self {
        self.def.audience = audience.into();
        self
    }

    /// The goals it serves. A composite serves at most what all its steps serve, and without this call just that; steps
    /// without a goal in common cannot be chained. For a tool: without this, every goal there is at the moment of asking. Doubles are dropped.
    pub fn goals<G: Into<Text>>(mut self, goals: impl IntoIterator<Item = G>) -> Self {
        let mut only: Vec<Text> = Vec::new();
        for goal in goals.into_iter().map(Into::into) {
            if !only.contains(&goal) {
                only.push(goal);
            }
        }
        self.def.goals = Goals::Only(only);
        self
    }

    /// Another name that a decision may ask for it by. Unique among delegates and ids.
    pub fn delegate(mut self, delegate: impl Into<Text>) -> Self {
        self.def.delegate = Some(delegate.into());
        self
    }

    /// Offers it as an intent, in [`crate::View::intents`].
    pub fn as_intent(mut self, intent: IntentSpec) -> Self {
        self.def.intent = Some(intent);
        self
    }

    /// The output protocol that its result must also fit.
    pub fn produces(mut self, protocol: impl Into<Text>) -> Self {
        self.def.produces = Some(protocol.into());
        self
    }

    /// A turn is over when this tool has run. In a composite it may only be the last step.
    pub fn terminal(mut self) -> Self {
        self.def.terminal = true;
        self
    }

    /// Whether what its handler notes with [`Call::note_step`] goes to the diagnostics. Not unless asked for.
    pub fn debug_steps(mut self, on: bool) -> Self {
        self.def.debug_steps = on;
        self
    }

    /// The host's own data about it.
    pub fn meta(mut self, meta: R::Meta) -> Self {
        self.def.meta = meta;
        self
    }

    /// How to find out what became of a call that was begun and whose outcome is not known. Asked when a run is taken
    /// up again, before a person is; it gets the recorded intent and the run's id, and so the arguments and the
    /// idempotency key.
    pub fn reconcile<F, Fut>(mut self, reconcile: F) -> Self
    where
        F: Fn(Begun, Arc<R::Context>) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Reconciled> + Send + 'static,
    {
        self.def.reconcile = Some(Arc::new(move |begun, context| Box::pin(reconcile(begun, context.clone()))));
        self
    }

    /// JSON Schema of the arguments. A broken schema is reported at registration.
    pub fn input_schema(mut self, schema: impl Into<Value>) -> Self {
        self.def.input = Some(CompiledSchema::new(schema.into()));
        self
    }

    /// Takes the schemas that were given so far as they are, and does not look at registration whether they are some: somebody
    /// did so before, and kept them. One that is none accepts nothing.
    ///
    /// ```
    /// use toolwright::{Invocation, Registry, json, tool};
    /// # tokio::runtime::Builder::new_current_thread().build()?.block_on(async {
    /// let kept = tool("old", "Was looked at before").reads().input_schema(json!({ "type": "object", "properties": { "a": { "type": "strnig" } } })).schemas_accepted();
    /// let catalog = Registry::new().with(kept.run_json(|input, _call| async move { Ok(input) }))?.seal();
    /// let refused = catalog.invoke(Invocation::new("old", json!({})), ()).await;
    /// assert_eq!(refused.err().ok_or("it accepts nothing")?.code(), "invalid_input");
    /// # Ok::<(), Box<dyn std::error::Error>>(()) })?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn schemas_accepted(self) -> Self {
        self.def.input.iter().chain(&self.def.output).for_each(CompiledSchema::accept);
        self
    }

    /// JSON Schema of the output. A broken schema is reported at registration.
    pub fn output_schema(mut self, schema: impl Into<Value>) -> Self {
        self.def.output = Some(CompiledSchema::new(schema.into()));
        self
    }

    /// Adds a runnable example.
    pub fn example(mut self, example: Example) -> Self {
        self.def.examples.push(example);
        self
    }

    /// Where the tool comes from.
    pub fn origin(mut self, origin: Origin) -> Self {
        self.def.origin = Some(origin);
        self
    }

    /// What the source said beside the declaration, raw.
    pub fn annotations(mut self, annotations: impl Into<Value>) -> Self {
        self.def.annotations = Some(annotations.into());
        self
    }

    crate::lifecycle::hook_setters!(hooks);

    /// Closes the declaration with an object-safe body.
    pub fn handler(self, handler: impl Handler<R>) -> ToolDef<R> {
        self.close(Body::Handler(Arc::new(handler)))
    }

    /// Closes the declaration with a function over JSON.
    pub fn run_json<F, Fut, A>(self, run: F) -> ToolDef<R>
    where
        F: Fn(Value, Call<R>) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Result<A, ToolError>> + Send + 'static,
        A: Into<Answer> + 'static,
    {
        self.handler(JsonFn(run))
    }

    /// Closes the declaration with a typed async function. Schemas that were not given come from the types.
    pub fn run<I, O, F, Fut>(self, run: F) -> ToolDef<R>
    where
        I: DeserializeOwned + JsonSchema + Send + 'static,
        O: Serialize + JsonSchema + Send + 'static,
        F: Fn(I, Call<R>) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Result<O, ToolError>> + Send + 'static,
    {
        let run = Arc::new(run);
        self.typed::<I, O>().run_json(move |value: Value, call| {
            let run = run.clone();
            async move { typed::answer(&run(typed::input::<I>(&value)?, call).await?) }
        })
    }

    /// Closes the declaration with a typed function that does not wait for anything.
    pub fn run_sync<I, O, F>(self, run: F) -> ToolDef<R>
    where
        I: DeserializeOwned + JsonSchema + Send + 'static,
        O: Serialize + JsonSchema + Send + 'static,
        F: Fn(I, &Call<R>) -> Result<O, ToolError> + Send + Sync + 'static,
    {
        self.typed::<I, O>().run_json(move |value: Value, call| {
            let answer = typed::input::<I>(&value).and_then(|input| run(input, &call)).and_then(|out| typed::answer(&out));
            std::future::ready(answer)
        })
    }

    pub(crate) fn typed<I: JsonSchema, O: JsonSchema>(mut self) -> Self {
        self.def.input.get_or_insert_with(|| CompiledSchema::of::<I>());
        self.def.output.get_or_insert_with(|| CompiledSchema::of::<O>());
        self
    }

    pub(crate) fn close(mut self, body: Body<R>) -> ToolDef<R> {
        self.def.body = body;
        self.def.hooks = self.hooks.into_shared();
        self.def.sensitive |= self.def.marks_secrets();
        ToolDef(Arc::new(self.def))
    }
}

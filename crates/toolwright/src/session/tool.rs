//! Forging as a tool of its own, for a model that may do it.

use super::{ForgeTest, Session};
use crate::composite::{Composite, SpecError};
use crate::runtime::Runtime;
use crate::tool::{Effect, Impact, Reconciled, ToolBuilder, ToolDef, ToolError};
use crate::value::{Object, Text, Value};

/// A tool that forges composites in the caller's session. Its effect is `forge`, once: it needs authorization like any
/// other tool, composites may use it only when the host lists it, and the journal has what it forged.
///
/// The head is the host's: id, description, audience and hooks. `session` finds the session of a caller, usually in the
/// context. What is forged is for the audience of this tool, whatever its input says: a composite must not reach
/// tools of another audience by naming it. It can be called from the next generation on.
///
/// The input is `{composite, tests}`: the composite in the form of [`Composite::to_value`], and dry runs that it must pass,
/// each `{name, input, outputs, expects}`.
///
/// ```
/// use std::sync::{Arc, OnceLock};
/// use toolwright::{Invocation, Options, Registry, Rt, Runtime, Session, json, session::forge_tool};
/// #[derive(Default)]
/// struct Caller { session: OnceLock<Session<Rt<Caller>>> }
/// type App = Rt<Caller>;
///
/// # tokio::runtime::Builder::new_current_thread().build()?.block_on(async {
/// let mut registry = Registry::<App>::with_options(Options::new())?;
/// registry.register(App::tool("echo", "Echoes").reads().run_json(|input, _call| async move { Ok(input) }))?;
/// registry.register(forge_tool(App::tool("forge", "Makes a tool"), |caller: &Caller| caller.session.get().cloned()))?;
/// let session = Session::new(registry.seal(), Options::new())?;
/// let caller = Arc::new(Caller::default());
/// let _ = caller.session.set(session.clone());
///
/// let steps = json!([{ "name": "a", "tool": "echo", "inputMapping": { "x": "$input.x" } }]);
/// let spec = json!({ "id": "twice", "description": "Echoes", "steps": steps });
/// session.catalog().invoke(Invocation::new("forge", json!({ "composite": spec })), caller.clone()).await?;
/// let result = session.catalog().invoke(Invocation::new("twice", json!({ "x": 1 })), caller).await?;
/// assert_eq!(result.output, Some(json!({ "x": 1 })));
/// # Ok::<(), Box<dyn std::error::Error>>(()) })?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn forge_tool<R: Runtime>(
    head: ToolBuilder<R>,
    session: impl Fn(&R::Context) -> Option<Session<R>> + Clone + Send + Sync + 'static,
) -> ToolDef<R> {
    let audience = head.def.audience.clone();
    let again = (session.clone(), audience.clone());
    let head = head.effect(Effect::new("forge", Impact::Once)).reconcile(move |begun, context| {
        let found = again.0(&context).and_then(|session| Some((session, asked(begun.input(), &again.1).ok()?.0)));
        std::future::ready(found.map_or(Reconciled::Unknown, |(session, composite)| became_of(&session, &composite)))
    });
    let head = if head.def.input.is_none() { head.input_schema(input_schema()) } else { head };
    head.run_json(move |input, call| {
        let (session, audience) = (session.clone(), audience.clone());
        async move {
            let nothing = |code: &'static str, message: String| ToolError::new(message).code(code).nothing_happened();
            let session = session(call.context()).ok_or_else(|| nothing("no_session", "the caller has no session to forge in".into()))?;
            let (composite, tests) = asked(&input, &audience).map_err(|error| nothing(error.code(), error.to_string()))?;
            let id = Text::from(composite.id());
            match session.forge_tested(composite, tests, call.context_arc().clone()).await {
                Ok(catalog) => Ok(forged(&id, catalog.generation())),
                Err(error) => Err(nothing(error.code(), error.to_string())),
            }
        }
    })
}

fn forged(id: &Text, generation: u64) -> Value {
    crate::json!({ "forged": Value::String(id.clone()), "generation": generation })
}

fn input_schema() -> Value {
    crate::json!({
        "type": "object",
        "required": ["composite"],
        "additionalProperties": false,
        "properties": {
            "composite": { "type": "object", "required": ["id", "description", "steps"] },
            "tests": {
                "type": "array",
                "items": {
                    "type": "object",
                    "required": ["input"],
                    "additionalProperties": false,
                    "properties": { "name": { "type": "string" }, "input": {}, "outputs": { "type": "object" }, "expects": {} }
                }
            }
        }
    })
}

type Asked<R> = (Composite<R>, Vec<ForgeTest>);

/// What the input asks for: a composite for this audience, and its tests.
fn asked<R: Runtime>(input: &Value, audience: &Text) -> Result<Asked<R>, SpecError> {
    let composite = input.get("composite").unwrap_or(&Value::Null);
    let mut composite = Composite::<R>::from_value(composite)?;
    composite.head.def.audience = audience.clone();
    let tests = input.get("tests").and_then(Value::as_array).unwrap_or_default();
    let tests = tests.iter().enumerate().map(|(at, test)| {
        let name = test.get("name").and_then(Value::as_text).cloned().unwrap_or_else(|| arcstr::format!("{at}"));
        let given = ForgeTest::new(name, test.get("input").cloned().unwrap_or(Value::Null));
        let outputs = test.get("outputs").and_then(Value::as_object);
        let given = outputs
            .iter()
            .flat_map(|outputs| Object::iter(outputs))
            .fold(given, |test, (step, output)| test.output(step.clone(), output.clone()));
        match test.get("expects") {
            Some(expected) => given.expects(expected.clone()),
            None => given,
        }
    });
    Ok((composite, tests.collect()))
}

/// What is not in the session, or not any more, may be forged in it.
fn became_of<R: Runtime>(session: &Session<R>, composite: &Composite<R>) -> Reconciled {
    let same = session.forged().into_iter().any(|forged| forged.spec == composite.to_value());
    if same { Reconciled::Happened(Some(forged(&composite.id().into(), session.generation()))) } else { Reconciled::NotHappened }
}

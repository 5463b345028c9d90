//! Forging as a tool of its own, for a model that may do it.

use std::sync::Arc;

use super::{ForgeTest, Session};
use crate::composite::{Composite, Severity, SpecError, SpecIssue};
use crate::runtime::Runtime;
use crate::tool::{Effect, Impact, Origin, Reconciled, ToolBuilder, ToolDef, ToolError};
use crate::value::{Object, Text, Value};

/// A tool that forges composites in the caller's session. Its effect is `forge`, once: it needs authorization like any
/// other tool, composites may use it only when the host lists it, and the journal has what it forged.
///
/// The head is the host's: id, description, audience and hooks. `session` finds the session of a caller, usually in the
/// context. What is forged is for the audience of this tool: a composite must not reach tools of another audience by naming
/// it. It can be called from the next generation on.
///
/// A composite of a model's says what it does, and not what it is to the host: one that brings `delegate`, `intent`, `origin`,
/// `annotations`, `produces`, `terminal`, `hidden` or another `audience` is refused, unless the host allows the field with
/// [`forge_tool_allowing`]. Its origin is this session.
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
    forge_tool_allowing(head, std::iter::empty::<Text>(), session)
}

/// As [`forge_tool`], and a composite may bring these of the fields that are otherwise the host's.
///
/// ```
/// use toolwright::{Rt, Runtime, Session, session::forge_tool_allowing};
/// struct Caller { session: Session<Rt<Caller>> }
/// type App = Rt<Caller>;
/// let head = App::tool("forge", "Makes a tool");
/// let forge = forge_tool_allowing(head, ["intent"], |caller: &Caller| Some(caller.session.clone()));
/// assert_eq!(forge.id(), "forge");
/// ```
pub fn forge_tool_allowing<R: Runtime, F: Into<Text>>(
    head: ToolBuilder<R>,
    fields: impl IntoIterator<Item = F>,
    session: impl Fn(&R::Context) -> Option<Session<R>> + Clone + Send + Sync + 'static,
) -> ToolDef<R> {
    let rules = Arc::new(Rules { audience: head.def.audience.clone(), allowed: fields.into_iter().map(Into::into).collect() });
    let again = (session.clone(), rules.clone());
    let head = head.effect(Effect::new("forge", Impact::Once)).reconcile(move |begun, context| {
        let found = again.0(&context).and_then(|session| Some((session, asked(begun.input(), &again.1).ok()?.0)));
        std::future::ready(found.map_or(Reconciled::Unknown, |(session, composite)| became_of(&session, &composite)))
    });
    let head = if head.def.input.is_none() { head.input_schema(input_schema()) } else { head };
    head.run_json(move |input, call| {
        let (session, rules) = (session.clone(), rules.clone());
        async move {
            let nothing = |code: &'static str, message: String| ToolError::new(message).code(code).nothing_happened();
            let session = session(call.context()).ok_or_else(|| nothing("no_session", "the caller has no session to forge in".into()))?;
            let (composite, tests) = asked(&input, &rules).map_err(|error| nothing(error.code(), error.to_string()))?;
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

/// What a composite is to the host, which a model does not decide.
const HOSTS: [&str; 8] = ["delegate", "intent", "origin", "annotations", "produces", "terminal", "hidden", "audience"];

/// What a composite may bring.
struct Rules {
    audience: Text,
    allowed: Vec<Text>,
}

impl Rules {
    fn allows(&self, field: &str) -> bool {
        self.allowed.iter().any(|allowed| allowed == field)
    }

    fn judge(&self, given: &Value) -> Result<(), SpecError> {
        let usual = |field: &str, value: &Value| match value {
            Value::Null | Value::Bool(false) => true,
            Value::String(audience) => field == "audience" && *audience == self.audience,
            _ => false,
        };
        let brought = HOSTS.into_iter().filter(|field| !self.allows(field) && given.get(field).is_some_and(|value| !usual(field, value)));
        let issues: Vec<SpecIssue> = brought.map(not_its_own).collect();
        if issues.is_empty() { Ok(()) } else { Err(SpecError { issues }) }
    }
}

fn not_its_own(field: &str) -> SpecIssue {
    SpecIssue {
        severity: Severity::Error,
        code: "invalid_spec",
        message: format!("a tool that is forged cannot set `{field}`: leave it out"),
        help: Some(format!("it is the host's to say; the host allows it with `forge_tool_allowing(…, [\"{field}\"], …)`")),
        pointer: format!("/{field}"),
        span: None,
        fix: None,
    }
}

type Asked<R> = (Composite<R>, Vec<ForgeTest>);

/// What the input asks for: a composite by these rules, and its tests.
fn asked<R: Runtime>(input: &Value, rules: &Rules) -> Result<Asked<R>, SpecError> {
    let given = input.get("composite").unwrap_or(&Value::Null);
    let mut composite = Composite::<R>::from_value(given)?;
    rules.judge(given)?;
    let def = &mut composite.head.def;
    if !rules.allows("audience") || given.get("audience").is_none_or(Value::is_null) {
        def.audience = rules.audience.clone();
    }
    if !rules.allows("origin") || def.origin.is_none() {
        let (source, kind) = (arcstr::literal!("session"), arcstr::literal!("composite"));
        def.origin = Some(Origin { source, kind, name: def.name.clone(), ..Origin::default() });
    }
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

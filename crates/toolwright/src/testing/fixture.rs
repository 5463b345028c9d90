//! The tools, gate and records of one case.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError, Weak};

use crate::approval::{self, Request};
use crate::composer::Composer;
use crate::frame::{Call, Context};
use crate::gate::{Approver, HostChecks, StepGate, StepRequest};
use crate::journal::Eventually;
use crate::refusal::Refusal;
use crate::tool::{Answer, BoxFuture, Effect, Handler, ToolDef, ToolError, tool};
use crate::value::{Text, Value};

/// One call that reached its tool.
#[derive(Clone, Debug)]
pub(super) struct Reached {
    tool: String,
    arguments: Value,
    depth: u32,
}

impl Reached {
    pub(super) fn shown(&self, with_depth: bool) -> Value {
        let mut pairs = vec![("tool", Value::from(self.tool.as_str())), ("args", self.arguments.clone())];
        if with_depth {
            pairs.push(("depth", self.depth.into()));
        }
        Value::object(pairs)
    }
}

/// The calls of one case, in order.
#[derive(Clone, Default)]
pub(super) struct Calls(Arc<Mutex<Vec<Reached>>>);

impl Calls {
    fn note(&self, tool: &str, arguments: &Value, depth: u32) {
        let call = Reached { tool: tool.into(), arguments: arguments.clone(), depth };
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push(call);
    }

    pub(super) fn list(&self) -> Vec<Reached> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

/// The tools of one case, by name, replaceable.
pub(super) struct Fixture {
    declared: Mutex<BTreeMap<String, Value>>,
    made: Mutex<BTreeMap<String, ToolDef>>,
    silence_is_harmless: bool,
    calls: Calls,
    composer: OnceLock<Composer>,
    this: Weak<Fixture>,
}

impl Fixture {
    pub(super) fn new(tools: &Value, gate_form: bool, calls: Calls) -> Arc<Self> {
        Arc::new_cyclic(|this| Self {
            declared: Mutex::new(declared(tools)),
            made: Mutex::default(),
            silence_is_harmless: !gate_form,
            calls,
            composer: OnceLock::new(),
            this: this.clone(),
        })
    }

    pub(super) fn composed_by(&self, composer: &Composer) {
        let _ = self.composer.set(composer.clone());
    }

    pub(super) fn replace_all(&self, tools: &Value) {
        for (name, tool) in declared(tools) {
            self.made.lock().unwrap_or_else(PoisonError::into_inner).remove(&name);
            self.declared.lock().unwrap_or_else(PoisonError::into_inner).insert(name, tool);
        }
    }

    pub(super) fn gate(&self, case: &Value, approvals: Arc<Mutex<Vec<String>>>) -> CaseGate {
        CaseGate { fixture: self.this.clone(), checks: checks(case, approvals), calls: self.calls.clone() }
    }

    fn resolve(&self, name: &str) -> Option<ToolDef> {
        if let Some(tool) = self.made.lock().unwrap_or_else(PoisonError::into_inner).get(name) {
            return Some(tool.clone());
        }
        let declaration = self.declared.lock().unwrap_or_else(PoisonError::into_inner).get(name).cloned()?;
        let tool = self.make(name, &declaration)?;
        self.made.lock().unwrap_or_else(PoisonError::into_inner).insert(name.into(), tool.clone());
        Some(tool)
    }

    fn make(&self, name: &str, declaration: &Value) -> Option<ToolDef> {
        let effect = match declaration.get("sideEffects").and_then(Value::as_bool) {
            Some(true) => Some(Effect::write()),
            Some(false) => Some(Effect::read()),
            None if self.silence_is_harmless => Some(Effect::read()),
            None => None,
        };
        if declaration.get("kind").and_then(Value::as_str) == Some("compose") {
            let spec = declaration.get("spec").cloned().unwrap_or(Value::Null);
            let built = self.composer.get()?.build(name, "a case's composite", Value::Bool(true), &spec).ok()?;
            // The case says what the composite declares to the gate.
            return Some(built.changed(|def| def.effect = effect.clone()));
        }
        let handler =
            Stand { declaration: declaration.clone(), calls: self.calls.clone(), count: AtomicU64::new(0), fixture: self.this.clone() };
        let builder = tool(format!("{name}-v1"), "a case's tool").name(name);
        Some(match effect {
            Some(effect) => builder.effect(effect).handler(handler),
            None => builder.handler(handler),
        })
    }
}

fn declared(tools: &Value) -> BTreeMap<String, Value> {
    let tools = tools.as_object();
    tools.iter().flat_map(|tools| tools.iter()).map(|(name, tool)| (name.to_string(), tool.clone())).collect()
}

fn checks(case: &Value, approvals: Arc<Mutex<Vec<String>>>) -> HostChecks {
    let Some(gate) = case.get("gate") else { return HostChecks::new() };
    let names = |field: &str| -> Vec<Text> {
        let listed = gate.get(field).and_then(Value::as_array).unwrap_or_default();
        listed.iter().filter_map(Value::as_str).map(Text::from).collect()
    };
    let mut checks = HostChecks::new().disabled(names("disabled"));
    // A list of names with one reason for all, or an object that gives each its own.
    let reason = gate.get("reason").and_then(Value::as_str).map(str::to_owned);
    let denied: BTreeMap<String, Option<String>> = match gate.get("deny").and_then(Value::as_object) {
        Some(each) => each.iter().map(|(name, why)| (name.to_string(), why.as_str().map(str::to_owned))).collect(),
        None => names("deny").iter().map(|name| (name.to_string(), reason.clone())).collect(),
    };
    if !denied.is_empty() {
        checks = checks.permission(move |step| {
            let Some(reason) = denied.get(step.name) else { return Ok(()) };
            let message = reason.clone().unwrap_or_else(|| format!("permission denied for step tool \"{}\"", step.name));
            let mut refusal = Refusal::new("permission_denied", message);
            refusal.details = Some(Value::object([("missing", Value::array(["cap"]))]));
            Err(refusal)
        });
    }
    let hitl = gate.get("hitl");
    let on = |field: &str| hitl.and_then(|hitl| hitl.get(field)).and_then(Value::as_bool) == Some(true);
    match gate.get("approve").and_then(Value::as_bool) {
        _ if !on("enabled") => checks,
        Some(answer) => checks.caller(caller).approval(Some(Arc::new(Person { answer, approvals }))),
        None if on("autoApproveWhenNoManager") => checks,
        None => checks.approval(None),
    }
}

struct Person {
    answer: bool,
    approvals: Arc<Mutex<Vec<String>>>,
}

impl Approver for Person {
    fn ask<'a>(&'a self, request: &'a Request) -> BoxFuture<'a, approval::Answer> {
        let (around, correlation) = request.caller.split_once('/').unwrap_or_default();
        let id = format!("step:{around}:{}:{}-v1:{correlation}", request.tool, request.tool);
        self.approvals.lock().unwrap_or_else(PoisonError::into_inner).push(id);
        let who = Text::from("a case's person");
        let answer = if self.answer { approval::Answer::Yes { who } } else { approval::Answer::No { who, reason: Text::new() } };
        Box::pin(std::future::ready(answer))
    }
}

/// The caller of a case, as its approval's id has it.
fn caller(context: &Context) -> Text {
    let of = |field: &str, missing: &str| context.data().get(field).and_then(Value::as_str).unwrap_or(missing).to_owned();
    format!("{}:{}/{}", of("gmiId", "g"), of("personaId", "p"), of("correlationId", "no-correlation")).into()
}

/// The gate of one case; notes composites that are entered.
pub(super) struct CaseGate {
    fixture: Weak<Fixture>,
    checks: HostChecks,
    calls: Calls,
}

impl StepGate for CaseGate {
    fn resolve(&self, tool: &str) -> Option<ToolDef> {
        self.fixture.upgrade()?.resolve(tool)
    }

    fn admit<'a>(&'a self, step: &'a StepRequest<'a>) -> Eventually<'a, Result<(), Refusal>> {
        Eventually::Later(Box::pin(async move {
            self.checks.admit(step).get().await?;
            if step.tool.is_composite() && !step.cancel.is_cancelled() {
                self.calls.note(step.name, step.arguments, step.depth);
            }
            Ok(())
        }))
    }
}

/// A stand-in that does what its kind is named for.
struct Stand {
    declaration: Value,
    calls: Calls,
    count: AtomicU64,
    fixture: Weak<Fixture>,
}

impl Handler for Stand {
    fn handle<'a>(&'a self, input: Value, call: Call) -> BoxFuture<'a, Result<Answer, ToolError>> {
        self.calls.note(call.tool(), &input, call.depth());
        if let (Some(replaces), Some(fixture)) = (self.declaration.get("replaces"), self.fixture.upgrade())
            && let (Some(name), Some(with)) = (replaces.get("name").and_then(Value::as_str), replaces.get("with"))
        {
            fixture.replace_all(&Value::object([(name, with.clone())]));
        }
        if self.field("kind").and_then(Value::as_str) == Some("throw") {
            let message = self.field("message").and_then(Value::as_str).unwrap_or("thrown").to_owned();
            return Box::pin(async move { std::panic::resume_unwind(Box::new(message)) });
        }
        let answer = self.answer(&input).map(|answer| match self.field("effects").and_then(Value::as_array) {
            Some(effects) => answer.effects(effects.iter().cloned()),
            None => answer,
        });
        Box::pin(std::future::ready(answer))
    }
}

impl Stand {
    fn field(&self, name: &str) -> Option<&Value> {
        self.declaration.get(name)
    }

    fn answer(&self, input: &Value) -> Result<Answer, ToolError> {
        let members = || input.as_object().into_iter().flat_map(|object| object.iter());
        match self.field("kind").and_then(Value::as_str).unwrap_or("echo") {
            "echo" => Ok(Answer::new(input.clone())),
            "const" => Ok(Answer::new(self.field("value").cloned().unwrap_or(Value::Null))),
            "nooutput" => Ok(Answer::empty()),
            "count" => Ok(Answer::new(self.count.fetch_add(1, Ordering::Relaxed) + 1)),
            "keys" => Ok(Answer::new(Value::array(members().map(|(key, _)| Value::String(key.clone()))))),
            "type" => Ok(Answer::new(Value::object(members().map(|(key, value)| (key.clone(), Value::from(kind_of(value))))))),
            "mutate" => {
                let key = self.field("key").and_then(Value::as_str).unwrap_or("doc");
                // An edit is a new value here; the argument that others share stays as it is.
                let edited = input.get(key).and_then(Value::as_object).map(|object| object.with("mark", "MUTATED"));
                drop(edited);
                Ok(Answer::new("done"))
            }
            "fail" => Err(failure(self.field("error"), self.field("details"))),
            "raw" => raw(self.field("result")),
            other => Err(ToolError::new(format!("no stand-in does `{other}`"))),
        }
    }
}

fn kind_of(value: &Value) -> &'static str {
    match value.kind() {
        "integer" => "number",
        kind => kind,
    }
}

fn failure(error: Option<&Value>, details: Option<&Value>) -> ToolError {
    let error = match error {
        None | Some(Value::Null) => ToolError::unknown(),
        Some(Value::String(message)) => ToolError::new(message.clone()),
        Some(other) => ToolError::new(other.to_json_string()),
    };
    match details {
        Some(details) => error.details(details.clone()),
        None => error,
    }
}

/// A whole result as a tool of the page would answer it.
fn raw(result: Option<&Value>) -> Result<Answer, ToolError> {
    let Some(result) = result.and_then(Value::as_object).filter(|result| result.get("@undefined").is_none()) else {
        return Err(ToolError::new("the tool returned no result"));
    };
    if result.get("success").and_then(Value::as_bool) != Some(true) {
        return Err(failure(result.get("error"), result.get("details")));
    }
    let mut answer = result.get("output").map_or_else(Answer::empty, |output| Answer::new(output.clone()));
    if let Some(kind) = result.get("contentType").and_then(Value::as_str) {
        answer = answer.content_type(kind);
    }
    Ok(match result.get("details") {
        Some(details) => answer.details(details.clone()),
        None => answer,
    })
}

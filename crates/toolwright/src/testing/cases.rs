//! Runs case files: one JSON object a line, each a composite or a question to
//! the gate, the tools it may use and the right answer.
//!
//! Two forms. A *compose* case has `spec`, `input`, `tools`, perhaps `strict`
//! and `repeat`, and the answer in `want` or else in `expected`; tools declare no
//! side effects unless they say so. A *gate* case adds `sideEffects` on tools
//! (absent means undeclared), `listed`, `gate`, `dry`, `context` and `op`.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use super::fixture::{Calls, Fixture};
use crate::composer::{Binding, Composer, PipelineOptions};
use crate::error::CallError;
use crate::frame::Context;
use crate::reference::Dialect;
use crate::value::{Text, Value};
use crate::{CancelSource, Catalog, Invocation, Registry, StepOutputs, ToolResult};

/// How one case went.
///
/// ```
/// use toolwright::testing::cases::{Verdict, run_case};
/// assert!(matches!(run_case(&toolwright::json!("no case")), Verdict::Failed(_)));
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// As it should.
    Passed,
    /// What differed.
    Failed(String),
    /// Why it was not run.
    LeftOut(String),
}

/// One case and how it went.
///
/// ```
/// use toolwright::testing::cases::{Verdict, run_file};
/// let outcomes = run_file("mine", "not json\n");
/// assert_eq!(outcomes[0].id, "mine:1");
/// assert!(matches!(outcomes[0].verdict, Verdict::Failed(_)));
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Outcome {
    /// The case's id, or `FILE:LINE` when it has none.
    pub id: String,
    /// How it went.
    pub verdict: Verdict,
}

/// Runs every case of a file's text. A line that is no case is a failed case.
pub fn run_file(name: &str, text: &str) -> Vec<Outcome> {
    let lines = text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty());
    lines.map(|(index, line)| run_line(name, index + 1, line)).collect()
}

fn run_line(file: &str, number: usize, line: &str) -> Outcome {
    let case = match Value::parse(line) {
        Ok(case) => case,
        Err(error) => {
            return Outcome { id: format!("{file}:{number}"), verdict: Verdict::Failed(format!("the line is no JSON: {error}")) };
        }
    };
    let id = case.get("id").and_then(Value::as_str).map_or_else(|| format!("{file}:{number}"), str::to_owned);
    Outcome { id, verdict: run_case(&case) }
}

/// Runs one case.
pub fn run_case(case: &Value) -> Verdict {
    if let Some(reason) = only_elsewhere(case) {
        return Verdict::LeftOut(reason);
    }
    let case = without_undefined(case);
    let answer = case.get("want").or_else(|| case.get("expected"));
    let Some(want) = answer.cloned() else { return Verdict::Failed("the case has neither `want` nor `expected`".into()) };
    let runner = Runner::new(&case);
    match case.get("op").and_then(Value::as_str).unwrap_or("run") {
        "run" => runner.run(&want),
        "check" => compare("result", &want, &runner.check()),
        "hasGate" => compare("result", &want, &Value::array([Value::Bool(runner.composer.has_gate()), resolved(&runner.composer, "read")])),
        "hasSideEffectingStep" => compare("result", &want, &Value::Bool(runner.composer.has_side_effecting_step(&runner.spec()))),
        "validate" => compare("result", &want, &runner.validate()),
        "build" => runner.build(&want),
        other => Verdict::LeftOut(format!("the operation `{other}` is not known here")),
    }
}

fn resolved(composer: &Composer, name: &str) -> Value {
    composer.resolve(name).map_or(Value::Null, |tool| Value::from(tool.id()))
}

struct Runner {
    case: Value,
    composer: Composer,
    fixture: Arc<Fixture>,
    calls: Calls,
    approvals: Arc<Mutex<Vec<String>>>,
}

impl Runner {
    fn new(case: &Value) -> Self {
        let calls = Calls::default();
        let approvals = Arc::new(Mutex::new(Vec::new()));
        let tools = case.get("tools").cloned().unwrap_or(Value::Null);
        let fixture = Fixture::new(&tools, is_gate_form(case), calls.clone());
        let strict = case.get("strict").and_then(Value::as_bool).unwrap_or(false);
        let dialect = if strict { Dialect::PageStrict } else { Dialect::Page };
        let composer = if case.get("bare").and_then(Value::as_bool) == Some(true) {
            Composer::from_callback(|_, _, _| ()).dialect(dialect)
        } else {
            Composer::new(fixture.gate(case, approvals.clone())).dialect(dialect)
        };
        fixture.composed_by(&composer);
        let listed = case.get("listed").and_then(Value::as_array).unwrap_or_default();
        composer.bind(Binding::new().side_effecting_tools(listed.iter().filter_map(Value::as_str)));
        Self { case: case.clone(), composer, fixture, calls, approvals }
    }

    fn spec(&self) -> Value {
        self.case.get("spec").cloned().unwrap_or(Value::Null)
    }

    fn run(&self, want: &Value) -> Verdict {
        let wants_throw = want.get("throws").is_some();
        let outcome = if self.case.get("specPatch").is_some() { self.run_built() } else { self.run_pipelines() };
        let actual = match (&outcome, wants_throw) {
            (Err(error), true) if error.code() == "invalid_reference" => return self.compare_calls(want),
            (Err(error), true) => {
                return Verdict::Failed(format!("should be refused at build with invalid_reference, but: {}", error.to_value()));
            }
            (Ok(result), true) => return Verdict::Failed(format!("should be refused at build, but gave {}", result.to_value())),
            (Ok(result), false) => result.to_value(),
            (Err(error), false) => error.to_value(),
        };
        if let failed @ Verdict::Failed(_) = compare_results(want.get("result").unwrap_or(&Value::Null), &actual) {
            return failed;
        }
        if let (Some(input), Some(after)) = (self.case.get("input"), want.get("inputAfter"))
            && input != after
        {
            return Verdict::Failed(format!("the input became {input}, want {after}"));
        }
        self.compare_calls(want)
    }

    fn run_pipelines(&self) -> Result<ToolResult, CallError> {
        let repeat = self.case.get("repeat").and_then(Value::as_u64).unwrap_or(1).max(1);
        let mut last = self.run_pipeline();
        for _ in 1..repeat {
            if let Some(swap) = self.case.get("swap") {
                self.fixture.replace_all(swap);
            }
            last = self.run_pipeline();
        }
        last
    }

    fn run_pipeline(&self) -> Result<ToolResult, CallError> {
        let mut options = PipelineOptions::new();
        if let Some(outputs) = self.case.get("dry").and_then(|dry| dry.get("stepOutputs")).and_then(Value::as_object) {
            options = options.dry(outputs.iter().map(|(step, output)| (step.clone(), output.clone())).collect::<StepOutputs>());
        }
        if self.case.get("aborted").and_then(Value::as_bool) == Some(true) {
            let source = CancelSource::new();
            source.cancel();
            options = options.cancel(source.token());
        }
        let input = self.case.get("input").cloned().unwrap_or_else(|| Value::object::<Text, Value>([]));
        block_on(self.composer.run_pipeline(&self.spec(), input, context(&self.case), options))
    }

    /// Builds once, edits the specification, runs what was built.
    fn run_built(&self) -> Result<ToolResult, CallError> {
        let mut spec = self.spec();
        let built = self
            .composer
            .build("built", "a case", Value::Bool(true), &spec)
            .map_err(|error| CallError::from(crate::Fault::InvalidSpec(error)))?;
        let catalog: Option<Catalog> = Registry::new().with(built).ok().map(Registry::seal);
        let mut last = Ok(ToolResult::default());
        for round in 0..self.case.get("repeat").and_then(Value::as_u64).unwrap_or(1) {
            if round > 0 {
                spec = Value::Null;
            }
            let input = self.case.get("input").cloned().unwrap_or(Value::Null);
            if let Some(catalog) = &catalog {
                last = block_on(catalog.invoke(Invocation::new("built", input), context(&self.case)));
            }
        }
        drop(spec);
        last
    }

    fn compare_calls(&self, want: &Value) -> Verdict {
        let calls = self.calls.list();
        let wanted = want.get("calls").and_then(Value::as_array).unwrap_or_default();
        let shown: Vec<Value> = calls
            .iter()
            .enumerate()
            .map(|(index, call)| call.shown(wanted.get(index).is_some_and(|wanted| wanted.get("depth").is_some())))
            .collect();
        let mut verdict = compare("calls", &Value::object([("calls", Value::array(wanted.iter().cloned()))]), &Value::array(shown));
        if let (Verdict::Passed, Some(approvals)) = (&verdict, want.get("approvals")) {
            let asked = self.approvals.lock().unwrap_or_else(PoisonError::into_inner);
            let asked = Value::array(asked.iter().map(|id| Value::from(id.as_str())));
            verdict =
                if *approvals == asked { Verdict::Passed } else { Verdict::Failed(format!("approvals were {asked}, want {approvals}")) };
        }
        verdict
    }

    fn check(&self) -> Value {
        let names = self.case.get("names").and_then(Value::as_array).unwrap_or_default();
        Value::array(names.iter().filter_map(Value::as_str).map(|name| {
            let check = self.composer.check(name);
            match check.verdict.code() {
                None => {
                    Value::object([("ok", Value::Bool(true)), ("sideEffects", Value::Bool(check.verdict == crate::Chainability::Listed))])
                }
                Some(code) => Value::object([("ok", Value::Bool(false)), ("code", code.into()), ("message", check.message.into())]),
            }
        }))
    }

    fn validate(&self) -> Value {
        let validation = self.composer.validate(&self.spec());
        let mut pairs = vec![("valid", Value::Bool(validation.is_valid()))];
        if !validation.is_valid() {
            pairs.push(("errors", Value::array(validation.errors.iter().map(|error| Value::from(error.as_str())))));
        }
        Value::object(pairs)
    }

    fn build(&self, want: &Value) -> Verdict {
        let build = self.case.get("build").cloned().unwrap_or(Value::Null);
        let text = |field: &str| build.get(field).and_then(Value::as_str).unwrap_or_default().to_owned();
        let schema = build.get("inputSchema").cloned().unwrap_or(Value::Null);
        let (name, description) = (text("name"), text("description"));
        let invalid = name.trim().is_empty() || !self.composer.validate(&self.spec()).is_valid();
        // The builder of the page has no gate while it builds in these cases.
        let unbound = Composer::from_callback(|_, _, _| ()).dialect(Dialect::Page);
        match unbound.build(&name, &description, schema, &self.spec()) {
            Err(error) if invalid && error.issues.iter().any(|issue| issue.code == "invalid_spec") => Verdict::Passed,
            Err(error) => Verdict::Failed(format!("build refused: {error}")),
            Ok(_) if invalid => Verdict::Failed("an invalid specification or an empty name must be refused at build".into()),
            Ok(tool) => {
                let actual = Value::object([
                    ("id", Value::from(tool.id())),
                    ("name", tool.name().into()),
                    ("displayName", tool.title().unwrap_or_default().into()),
                    ("description", tool.description().into()),
                    ("inputSchema", tool.input_schema().cloned().unwrap_or(Value::Null)),
                    ("hasSideEffects", Value::Bool(tool.has_side_effects().unwrap_or(true))),
                ]);
                let strict = want.get("strictMode").and_then(Value::as_bool);
                if strict.is_some_and(|strict| strict != unbound.strict_mode()) {
                    return Verdict::Failed(format!("strictMode is {}", unbound.strict_mode()));
                }
                compare("result", want, &actual)
            }
        }
    }
}

/// Gate cases say what their tools declare; in compose cases silence means no side effects.
fn is_gate_form(case: &Value) -> bool {
    case.get("basis").is_some()
        || (case.get("group").is_none() && (case.get("listed").is_some() || case.get("gate").is_some() || case.get("dry").is_some()))
}

fn context(case: &Value) -> Context {
    let given = case.get("context").cloned();
    Context::new(given.unwrap_or_else(|| {
        let user = Value::object([("userId", "u")]);
        Value::object([("gmiId", Value::from("g")), ("personaId", Value::from("p")), ("userContext", user)])
    }))
}

/// Values that only JavaScript has, where a case would need them to run.
fn only_elsewhere(case: &Value) -> Option<String> {
    if case.get("jsOnly").and_then(Value::as_bool) == Some(true) {
        return Some("it says of itself that it can only exist in JavaScript".into());
    }
    let undefined = |value: &Value| value.get("@undefined").is_some();
    if case.get("input").is_some_and(undefined) {
        return Some("an input that is `undefined` can only exist in JavaScript".into());
    }
    let parts = [case.get("spec"), case.get("input"), case.get("tools")];
    let encoded = parts.into_iter().flatten().find_map(foreign);
    encoded.map(|key| format!("a value written as `{key}` can only exist in JavaScript"))
}

fn foreign(value: &Value) -> Option<String> {
    match value {
        Value::Object(object) => object.iter().find_map(|(key, member)| {
            let own = matches!(key.as_str(), "@undefined" | "@own" | "@proto");
            if key.starts_with('@') && !own && object.len() == 1 { Some(key.to_string()) } else { foreign(member) }
        }),
        Value::Array(_) => value.as_array().unwrap_or_default().iter().find_map(foreign),
        _ => None,
    }
}

/// Members equal to `{"@undefined": true}` are no members. A tool's result that is undefined stays readable as such.
fn without_undefined(value: &Value) -> Value {
    let undefined = |value: &Value| value.get("@undefined").and_then(Value::as_bool) == Some(true);
    match value {
        Value::Object(object) => {
            let members = object.iter().filter(|(key, member)| !undefined(member) || key.as_str() == "result");
            Value::object(members.map(|(key, member)| (key.clone(), without_undefined(member))))
        }
        Value::Array(_) => Value::array(value.as_array().unwrap_or_default().iter().map(without_undefined)),
        other => other.clone(),
    }
}

/// Results are the same but for words that may be better: what follows a code, and a list of effects that is empty.
fn compare_results(want: &Value, actual: &Value) -> Verdict {
    let coded = want.pointer("/details/code").and_then(Value::as_str).map(str::to_owned);
    let want = comparable(want, coded.as_deref());
    let actual = comparable(actual, coded.as_deref());
    if same(&want, &actual) { Verdict::Passed } else { Verdict::Failed(format!("result is {actual}, want {want}")) }
}

fn comparable(result: &Value, code: Option<&str>) -> Value {
    let Some(object) = result.as_object() else { return result.clone() };
    let empty = |value: &Value| value.as_array().is_some_and(<[Value]>::is_empty);
    Value::object(object.iter().filter(|(key, value)| !(key.as_str() == "effects" && empty(value)) && key.as_str() != "help").map(
        |(key, value)| {
            let value = match (key.as_str(), value.as_str(), code) {
                ("error", Some(error), Some(code)) => Value::from(frame_of(error, code)),
                _ => value.clone(),
            };
            (key.clone(), value)
        },
    ))
}

/// The fixed part of a coded message: up to the code, or up to `failed:` where the code is only in the details.
fn frame_of<'a>(error: &'a str, code: &str) -> &'a str {
    let end =
        error.find(&format!("{code}: ")).map(|at| at + code.len()).or_else(|| error.find(" failed: ").map(|at| at + " failed:".len()));
    end.and_then(|end| error.get(..end)).unwrap_or(error)
}

fn compare(field: &str, want: &Value, actual: &Value) -> Verdict {
    let want = want.get(field).cloned().unwrap_or(Value::Null);
    if same(&want, actual) { Verdict::Passed } else { Verdict::Failed(format!("{field} is {actual}, want {want}")) }
}

/// JSON equality: the order of members does not count.
fn same(a: &Value, b: &Value) -> bool {
    match (a, b) {
        (Value::Object(a), Value::Object(b)) => {
            let members: BTreeMap<&str, &Value> = b.iter().map(|(key, value)| (key.as_str(), value)).collect();
            a.len() == b.len() && a.iter().all(|(key, value)| members.get(key.as_str()).is_some_and(|other| same(value, other)))
        }
        (Value::Array(_), Value::Array(_)) => {
            let (a, b) = (a.as_array().unwrap_or_default(), b.as_array().unwrap_or_default());
            a.len() == b.len() && a.iter().zip(b).all(|(a, b)| same(a, b))
        }
        (a, b) => a == b,
    }
}

/// Tools of cases never wait for anything.
fn block_on<T>(future: impl Future<Output = T>) -> T {
    let mut future = std::pin::pin!(future);
    let mut waking = std::task::Context::from_waker(std::task::Waker::noop());
    loop {
        if let std::task::Poll::Ready(output) = future.as_mut().poll(&mut waking) {
            return output;
        }
    }
}

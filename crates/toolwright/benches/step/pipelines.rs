//! The pipelines of `bench/cases.json`, for both programs that measure them: `cargo bench` and `cargo xtask bench`.
//!
//! Only the public API is used. A clock and threads come from the program, as they do in a host.

use std::error::Error;
use std::future::Future;
use std::hint::black_box;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

use serde_json::{Map, Value as Json, json};
use toolwright::{
    Answer, BoxFuture, Call, Catalog, Clock, Composite, CompositeSpec, Handler, Invocation, Journal, MemoryJournal, Options, Policy,
    Registry, Text, ToolError, Value, tool,
};

pub(crate) type Failure = Box<dyn Error>;

const CASES: &str = include_str!("../../../../bench/cases.json");
/// Tools that nobody calls, so that looking one up costs what it costs in a real catalogue.
const OTHER_TOOLS: usize = 1_000;
/// Runs a journal keeps: what is kept must not be what is measured.
const JOURNAL_RUNS_MAX: usize = 16;

/// What is measured of a case.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Variant {
    /// The base line: a boxed asynchronous call of an echo tool, and nothing else.
    Echo,
    /// The composite, with nothing declared that would have to be checked.
    Bare,
    /// Schemas on both sides of every step, and a journal in memory that keeps times.
    Governed,
    /// As governed, and the catalogue keeps its newest events, as it does when nothing is said.
    Watched,
}

impl Variant {
    fn is_governed(self) -> bool {
        matches!(self, Self::Governed | Self::Watched)
    }
}

/// One case in one variant, ready to run.
pub(crate) struct Pipeline {
    work: Work,
    /// Steps of one run.
    pub(crate) steps: u64,
}

enum Work {
    Echo { tool: Arc<dyn Echo>, input: Value },
    Composite { catalog: Catalog, input: Value, journal: Option<MemoryJournal>, clock: Arc<dyn Clock>, failing: bool },
}

/// The names of all cases, in the order of the file.
pub(crate) fn cases() -> Result<Vec<String>, Failure> {
    let id = |case: &Json| case.get("id").and_then(Json::as_str).map(str::to_owned);
    Ok(list()?.iter().filter_map(id).collect())
}

fn list() -> Result<Vec<Json>, Failure> {
    let document: Json = serde_json::from_str(CASES)?;
    Ok(document.get("cases").and_then(Json::as_array).cloned().ok_or("no cases")?)
}

impl Pipeline {
    pub(crate) fn new(id: &str, variant: Variant, clock: Arc<dyn Clock>) -> Result<Self, Failure> {
        let cases = list()?;
        let case = cases.iter().find(|case| case.get("id").and_then(Json::as_str) == Some(id));
        let case = case.ok_or_else(|| format!("no case is called {id}"))?;
        let steps = case.get("steps").and_then(Json::as_u64).ok_or("a case has steps")?;
        let input = expand(case.get("input").unwrap_or(&Json::Null), None);
        if variant == Variant::Echo {
            let first = expand(case.get("first").ok_or("a case has a first mapping")?, None);
            let work = Work::Echo { tool: Arc::new(Plain), input: Value::from_json(sent(&first, &input))? };
            return Ok(Self { work, steps: 1 });
        }
        let work = composite(case, steps, &input, variant, clock)?;
        Ok(Self { work, steps })
    }

    /// Runs the whole pipeline so often, on this thread.
    pub(crate) fn run(&self, loops: u64) {
        match &self.work {
            Work::Echo { tool, input } => {
                for _ in 0..loops {
                    let answer = now(tool.call(black_box(input).clone()));
                    assert!(black_box(answer).is_ok(), "an echo does not fail");
                }
            }
            Work::Composite { catalog, input, journal, clock, failing } => {
                let name = Text::from("pipeline");
                let journal: Option<Arc<dyn Journal>> = journal.clone().map(|journal| Arc::new(journal) as Arc<dyn Journal>);
                for _ in 0..loops {
                    let mut invocation = Invocation::new(name.clone(), black_box(input).clone());
                    if let Some(journal) = &journal {
                        invocation = invocation.journal(journal.clone()).clock(clock.clone());
                    }
                    let result = now(catalog.invoke(invocation, ()));
                    assert!(result.is_err() == *failing, "unexpected result: {result:?}");
                    drop(black_box(result));
                }
            }
        }
    }
}

/// A catalogue with the case's composite in it. Governed: schemas on both sides of every step, and a journal with times.
fn composite(case: &Json, steps: u64, input: &Json, variant: Variant, clock: Arc<dyn Clock>) -> Result<Work, Failure> {
    let governed = variant.is_governed();
    let says = |member: &str| case.get(member).and_then(Json::as_bool).unwrap_or(false);
    let failing = says("failing");
    let first = expand(case.get("first").ok_or("a case has a first mapping")?, None);
    let rest = case.get("rest").map(|rest| expand(rest, None)).unwrap_or_default();
    let records = says("records");
    let schema = |arguments: &Json| -> Result<Value, Failure> {
        Ok(Value::from_json(if records { full_schema_of(arguments) } else { schema_of(arguments) })?)
    };
    let arguments = sent(&first, input);
    let options = Options::new().policy(if says("validateEveryStep") { Policy::new().validate_every_step() } else { Policy::new() });
    let mut registry = Registry::with_options(if variant == Variant::Watched { options } else { options.events(0) })?;
    for number in 0..OTHER_TOOLS {
        registry.register(tool(format!("other_{number}"), "nobody calls it").reads().handler(Plain))?;
    }
    let mut echo = tool("echo", "answers its arguments").reads();
    if governed {
        echo = echo.input_schema(schema(&arguments)?).output_schema(schema(&arguments)?);
    }
    registry.register(echo.handler(Plain))?;
    registry.register(tool("fail", "always fails").reads().handler(Broken))?;
    let steps: Vec<Json> = (0..steps)
        .map(|index| {
            let called = if failing && index == steps - 1 { "fail" } else { "echo" };
            let mapping = if index == 0 { &first } else { &rest };
            json!({"name": format!("s{index}"), "tool": called, "inputMapping": mapping})
        })
        .collect();
    let spec = Value::from_json(json!({"mode": "compose", "steps": steps}))?;
    let spec = CompositeSpec::from_value(&spec).map_err(|issues| format!("{issues:?}"))?;
    let mut pipeline = Composite::new("pipeline", "a measured pipeline").spec(spec);
    if governed {
        pipeline = pipeline.input_schema(schema(input)?);
    }
    registry.register(pipeline)?;
    Ok(Work::Composite {
        catalog: registry.seal(),
        input: Value::from_json(input.clone())?,
        journal: governed.then(|| MemoryJournal::keeping(JOURNAL_RUNS_MAX)),
        clock,
        failing,
    })
}

/// What the first step is sent: its mapping with the references into the input looked up.
fn sent(mapping: &Json, input: &Json) -> Json {
    match mapping {
        Json::String(text) => match text.strip_prefix("$input.") {
            Some(path) => path.split('.').try_fold(input, |value, name| value.get(name)).cloned().unwrap_or_default(),
            None => mapping.clone(),
        },
        Json::Object(members) => members.iter().map(|(name, value)| (name.clone(), sent(value, input))).collect(),
        other => other.clone(),
    }
}

/// The schema an author would write for such arguments: a closed record, or a map of texts where there are many members.
fn schema_of(value: &Json) -> Json {
    match value {
        Json::Object(members) if members.len() > 20 => {
            json!({"type": "object", "additionalProperties": {"type": "string"}})
        }
        Json::Object(members) => {
            let required: Vec<&String> = members.keys().collect();
            let properties: Map<String, Json> = members.iter().map(|(name, value)| (name.clone(), kind_of(value))).collect();
            json!({"type": "object", "properties": properties, "required": required, "additionalProperties": false})
        }
        other => kind_of(other),
    }
}

/// The schema of records: closed at every level, items like the first.
fn full_schema_of(value: &Json) -> Json {
    match value {
        Json::Object(members) => {
            let required: Vec<&String> = members.keys().collect();
            let properties: Map<String, Json> = members.iter().map(|(name, value)| (name.clone(), full_schema_of(value))).collect();
            json!({"type": "object", "properties": properties, "required": required, "additionalProperties": false})
        }
        Json::Array(items) => json!({"type": "array", "items": items.first().map_or(json!(true), full_schema_of)}),
        Json::Number(number) if !number.is_i64() && !number.is_u64() => json!({ "type": "number" }),
        other => kind_of(other),
    }
}

fn kind_of(value: &Json) -> Json {
    let kind = match value {
        Json::Null => "null",
        Json::Bool(_) => "boolean",
        Json::Number(_) => "integer",
        Json::String(_) => "string",
        Json::Array(_) => "array",
        Json::Object(_) => "object",
    };
    json!({ "type": kind })
}

/// Writes out `@repeat` and `@text`, and the number of a repetition for `%`.
fn expand(value: &Json, number: Option<u64>) -> Json {
    match value {
        Json::String(text) => match number {
            Some(number) => Json::String(text.replace('%', &number.to_string())),
            None => value.clone(),
        },
        Json::Array(items) => items.iter().map(|item| expand(item, number)).collect(),
        Json::Object(members) => {
            if let Some(length) = members.get("@text").and_then(Json::as_u64) {
                return Json::String("lorem ipsum ".chars().cycle().take(length as usize).collect());
            }
            let Some(times) = members.get("@repeat").and_then(Json::as_u64) else {
                return members.iter().map(|(name, value)| (name.clone(), expand(value, number))).collect();
            };
            if let Some(item) = members.get("item") {
                return (0..times).map(|index| expand(item, Some(index))).collect();
            }
            let (key, value) = (members.get("key").and_then(Json::as_str), members.get("value"));
            let (Some(key), Some(value)) = (key, value) else {
                return Json::Null;
            };
            (0..times).map(|index| (key.replace('%', &index.to_string()), expand(value, Some(index)))).collect()
        }
        other => other.clone(),
    }
}

trait Echo: Send + Sync {
    fn call<'a>(&'a self, input: Value) -> BoxFuture<'a, Result<Value, ToolError>>;
}

struct Plain;

impl Echo for Plain {
    fn call<'a>(&'a self, input: Value) -> BoxFuture<'a, Result<Value, ToolError>> {
        Box::pin(async move { Ok(input) })
    }
}

impl Handler for Plain {
    fn handle<'a>(&'a self, input: Value, _: Call) -> BoxFuture<'a, Result<Answer, ToolError>> {
        Box::pin(async move { Ok(Answer::new(input)) })
    }
}

struct Broken;

impl Handler for Broken {
    fn handle<'a>(&'a self, _: Value, _: Call) -> BoxFuture<'a, Result<Answer, ToolError>> {
        Box::pin(async { Err(ToolError::new("it is broken")) })
    }
}

/// Runs a future that never waits for anything outside.
fn now<F: Future>(future: F) -> F::Output {
    let mut future = std::pin::pin!(future);
    let mut context = Context::from_waker(Waker::noop());
    loop {
        if let Poll::Ready(output) = future.as_mut().poll(&mut context) {
            return output;
        }
    }
}

//! The upstream side as the official conformance suite drives a client: `conformance_client URL`, with the scenario in
//! `MCP_CONFORMANCE_SCENARIO` and what it wants in `MCP_CONFORMANCE_CONTEXT`.
//!
//! ```text
//! conformance client --command target/debug/examples/conformance_client --scenario tools_call
//! ```
//!
//! Scenarios that do not apply, for which it ends with status 3:
//! - `auth/…`: the upstream side obtains no tokens; it sends what the host configured
//! - `sep-2640-client-verify-…`: skill files are passed through to the host that loads them, and that host verifies them
#![expect(clippy::unwrap_used, clippy::print_stderr, reason = "a driver of tests: falling over is how it says that something failed")]

use std::sync::Arc;
use std::time::Duration;

use toolwright::{BoxFuture, Invocation, Registry, ToolDef, Value};
use toolwright_mcp::upstream::{Answered, Asked, Listing, Questions, ServerSpec, Upstream};

/// The status that says that a scenario does not apply.
const NOT_OURS: i32 = 3;

/// Answers every question the way the suite expects: with the defaults of its schema, where it has some.
struct Person;

impl Questions for Person {
    fn ask(&self, asked: Asked) -> BoxFuture<'_, Vec<Answered>> {
        let answers = asked.questions.iter().map(|question| Answered::Result(answer(&question.method, &question.params)));
        let answers = answers.collect();
        Box::pin(async move { answers })
    }

    fn capabilities(&self, _: &str) -> Value {
        Value::parse(r#"{"sampling":{},"elicitation":{"form":{}},"roots":{}}"#).unwrap()
    }
}

fn answer(method: &str, params: &Value) -> Value {
    match method {
        "elicitation/create" => {
            let properties = params.pointer("/requestedSchema/properties").and_then(Value::as_object);
            let content = properties.into_iter().flat_map(|all| all.iter()).filter_map(|(name, schema)| {
                let value = schema.get("default").cloned().or_else(|| {
                    let required = params.pointer("/requestedSchema/required").and_then(Value::as_array).unwrap_or_default();
                    required.iter().any(|wanted| wanted.as_str() == Some(name.as_str())).then(|| of_type(schema))
                });
                Some((name.clone(), value?))
            });
            Value::object([("action", Value::from("accept")), ("content", Value::object(content))])
        }
        "sampling/createMessage" => {
            Value::parse(r#"{"role":"assistant","content":{"type":"text","text":"an answer"},"model":"none","stopReason":"endTurn"}"#)
                .unwrap()
        }
        _ => Value::parse(r#"{"roots":[{"uri":"file:///conformance"}]}"#).unwrap(),
    }
}

/// Some value that fits a simple schema.
fn of_type(schema: &Value) -> Value {
    match schema.get("type").and_then(Value::as_str) {
        Some("number" | "integer") => Value::from(1),
        Some("boolean") => Value::from(true),
        Some("object") => Value::object::<&str, Value>([]),
        Some("array") => Value::array::<Value>([]),
        _ => Value::from("test"),
    }
}

/// The least that a tool's schema asks for.
fn arguments(tool: &ToolDef) -> Value {
    let schema = tool.input_schema().cloned().unwrap_or_default();
    let required = schema.get("required").and_then(Value::as_array).unwrap_or_default();
    let members = required.iter().filter_map(|name| {
        let property = schema.get("properties").and_then(|all| all.get(name.as_str()?));
        Some((name.as_text()?.clone(), property.map_or(Value::from("test"), of_type)))
    });
    Value::object(members)
}

async fn call(tool: &ToolDef, input: Value) {
    let mut registry = Registry::new();
    registry.register(tool.clone()).unwrap();
    match registry.seal().invoke(Invocation::new(tool.id(), input), ()).await {
        Ok(result) => eprintln!("{}: {:?}", tool.id(), result.output.map(|output| output.to_json_string())),
        Err(error) => eprintln!("{}: {}", tool.id(), error.message()),
    }
}

/// Calls what the context lists, or else every tool once.
async fn call_all(listing: &Listing, context: &Value) {
    let wanted = context.get("toolCalls").and_then(Value::as_array).unwrap_or_default();
    for wanted in wanted {
        let name = wanted.get("name").and_then(Value::as_str).unwrap_or_default();
        let input = wanted.get("arguments").cloned().unwrap_or_else(|| Value::object::<&str, Value>([]));
        match listing.tools.iter().find(|tool| tool.id() == name) {
            Some(tool) => call(tool, input).await,
            None => eprintln!("{name}: not offered"),
        }
    }
    if wanted.is_empty() {
        for tool in &listing.tools {
            call(tool, arguments(tool)).await;
        }
    }
}

/// Gives the first tool's schema back to the second one, as it arrived.
async fn echo_schema(listing: &Listing) {
    let schema = listing.raw.first().and_then(|raw| raw.get("inputSchema")).cloned().unwrap_or_default();
    if let Some(echo) = listing.tools.get(1) {
        call(echo, Value::object([("schema", schema)])).await;
    }
}

#[tokio::main]
async fn main() {
    let scenario = std::env::var("MCP_CONFORMANCE_SCENARIO").unwrap_or_default();
    let url = std::env::args().nth(1).unwrap_or_default();
    let context = std::env::var("MCP_CONFORMANCE_CONTEXT").unwrap_or_default();
    let context = Value::parse(context.as_str()).unwrap_or_default();
    if scenario.starts_with("auth/") || scenario.starts_with("sep-2640-client-verify") {
        eprintln!("`{scenario}` does not apply: see the head of conformance_client.rs");
        std::process::exit(NOT_OURS);
    }
    let mut spec = ServerSpec::http("conformance", url);
    spec.prefix = "".into();
    spec.call_timeout = Duration::from_secs(20);
    let server = Upstream::asking(spec, Arc::new(Person));
    match scenario.as_str() {
        "sep-2640-client-no-prefetch" => {
            let skills = server.listed("skills/list").await.unwrap();
            eprintln!("{} skills", skills.len());
        }
        "json-schema-2020-12-preservation" => echo_schema(&server.tools().await.unwrap()).await,
        _ => {
            let listing = server.tools().await.unwrap();
            for skipped in &listing.skipped {
                eprintln!("left out: {}: {}", skipped.name, skipped.reason);
            }
            call_all(&listing, &context).await;
        }
    }
    server.shutdown().await;
}

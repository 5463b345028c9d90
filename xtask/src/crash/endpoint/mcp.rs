//! The endpoint as an MCP server: as little of the protocol as a client needs to list the tools and call them.

use serde_json::{Value, json};

use super::{Call, Request, TOOLS};

/// The status and the body; no body when the answer is lost.
pub(super) fn answer(request: &Request, call: impl FnOnce(Call) -> Option<Value>) -> (u16, Option<String>) {
    if request.verb != "POST" {
        return (if request.verb == "DELETE" { 200 } else { 405 }, Some(String::new()));
    }
    let Ok(message) = serde_json::from_str::<Value>(&request.body) else { return (400, Some("no JSON".to_owned())) };
    let params = message.get("params").cloned().unwrap_or_default();
    let result = match message.get("method").and_then(Value::as_str).unwrap_or_default() {
        "initialize" => json!({
            "protocolVersion": params.get("protocolVersion"),
            "capabilities": { "tools": {} },
            "serverInfo": { "name": "shop", "version": "1" },
        }),
        "tools/list" => json!({ "tools": TOOLS.map(|(name, effect, members)| tool(name, effect, members)) }),
        "tools/call" => match call(asked(request, &params)) {
            Some(output) => json!({ "content": [{ "type": "text", "text": output.to_string() }], "structuredContent": output }),
            None => return (200, None),
        },
        method if method.starts_with("notifications/") => return (202, Some(String::new())),
        _ => return (400, Some("Bad Request: no session".to_owned())),
    };
    (200, Some(json!({ "jsonrpc": "2.0", "id": message.get("id"), "result": result }).to_string()))
}

/// The call, with the idempotency key from wherever the client put it.
fn asked(request: &Request, params: &Value) -> Call {
    let in_meta = params.get("_meta").and_then(Value::as_object).and_then(|meta| {
        meta.iter().find(|(name, _)| name.to_ascii_lowercase().contains("idempotency")).and_then(|(_, value)| value.as_str())
    });
    let key = in_meta.map(str::to_owned).or_else(|| request.headers.get("idempotency-key").cloned());
    let tool = params.get("name").and_then(Value::as_str).unwrap_or_default().to_owned();
    Call { tool, key, arguments: params.get("arguments").cloned().unwrap_or_default() }
}

fn tool(name: &str, effect: &str, members: &[&str]) -> Value {
    json!({
        "name": name,
        "description": format!("{name} over MCP"),
        "inputSchema": {
            "type": "object",
            "properties": { "ticket": { "type": "string" }, "item": { "type": "integer" }, "serial": { "type": "integer" } },
            "required": ["ticket", "item"],
        },
        "outputSchema": output(members),
        "annotations": { "readOnlyHint": effect == "read", "idempotentHint": effect == "idempotent" },
    })
}

/// The schema of an output with these members.
pub(in crate::crash) fn output(members: &[&str]) -> Value {
    let kind = |name: &str| if matches!(name, "receipt" | "sent") { "string" } else { "integer" };
    let properties: serde_json::Map<String, Value> =
        members.iter().map(|name| ((*name).to_owned(), json!({ "type": kind(name) }))).collect();
    json!({ "type": "object", "properties": properties, "required": members })
}

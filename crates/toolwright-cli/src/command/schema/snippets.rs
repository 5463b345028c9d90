//! Beginnings that an editor can offer where a mapping is to be written.

use serde_json::{Value, json};

/// The beginnings of a shape, in the form of `defaultSnippets`; `$1` and `${1:word}` are places to fill in.
pub(super) fn of(def: &str) -> Option<Value> {
    let (label, description, body) = match def {
        "commandSource" => (
            "command lines",
            "a group of command lines, each a tool",
            json!({"tools": {"${1:tool_id}": {"description": "${2:What it is for}", "argv": ["${3:program}"], "effect": "${4:read}"}}}),
        ),
        "commandTool" => (
            "command line",
            "one program, one element of `argv` for each of its arguments",
            json!({"description": "${1:What it is for}", "argv": ["${2:program}"], "effect": "${3:read}"}),
        ),
        "stdioSource" => ("MCP server over stdio", "a program that speaks MCP", json!({"command": "${1:program}", "args": ["$2"]})),
        "httpSource" => ("MCP server over HTTP", "an address that speaks MCP", json!({"url": "${1:https://}"})),
        "composite" => (
            "composite",
            "a tool made of steps",
            json!({
                "description": "${1:What it is for}",
                "input": {"type": "object", "properties": {"${2:topic}": {"type": "string"}}, "required": ["${2:topic}"]},
                "steps": [{"name": "${3:first}", "tool": "$4", "inputMapping": {"$5": "\\$input.${2:topic}"}}],
            }),
        ),
        "step" => (
            "step",
            "one call of a tool, with its arguments",
            json!({"name": "${1:name}", "tool": "$2", "inputMapping": {"$3": "\\$prev"}}),
        ),
        _ => return None,
    };
    Some(json!([{"label": label, "description": description, "body": body}]))
}

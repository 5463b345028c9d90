//! From the start of the process to its first list of tools, all of them known from the lock.

use std::path::Path;
use std::time::Instant;

use serde_json::{Map, Value, json};

use crate::mcp::{Ask, Era, request};
use crate::served::{self, Build, World};

const TOOLS: usize = 1_000;
const COMPOSITES: usize = 100;

/// The id of the request for the first list; greeting takes smaller ones.
const FIRST_LIST: u64 = 1_000;

/// Milliseconds, in the middle of so many starts.
pub(super) fn measure(build: &Build, node: &Path, starts: usize) -> Result<f64, String> {
    let script = crate::repo::root().join("bench/gateway/many.mjs");
    let world = World::new("start", build, &configuration(node, &script), &[])?;
    let mut times = Vec::new();
    for number in 0..=starts {
        let started = Instant::now();
        let mut pipe = served::pipe(&world, Era::Sessions)?;
        pipe.send(&request(FIRST_LIST, "tools/list", &json!({})))?;
        // The clock stops when the list is there: what a client makes of it is the client's.
        let (took, page) = loop {
            let line = pipe.line()?;
            let took = started.elapsed();
            if let Some(page) = first_list(&line)? {
                break (took, page);
            }
        };
        let listed = page.get("tools").and_then(Value::as_array).map_or(0, Vec::len);
        if listed < TOOLS / 2 {
            return Err(format!("only {listed} tools are on the first page"));
        }
        if number == 0 {
            // The first one warms the disk, and shows that everything is there.
            let all = pipe.tools()?.len();
            if all != TOOLS + COMPOSITES {
                return Err(format!("{all} tools are listed, not {}", TOOLS + COMPOSITES));
            }
        } else {
            times.push(took.as_secs_f64() * 1_000.0);
        }
        pipe.close()?;
    }
    times.sort_by(f64::total_cmp);
    times.get(times.len() / 2).copied().ok_or_else(|| "nothing was started".to_owned())
}

/// The result of the request for the first list, if a line has it.
fn first_list(line: &[u8]) -> Result<Option<Value>, String> {
    let mut message: Value = serde_json::from_slice(line).map_err(|error| format!("no JSON from the server: {error}"))?;
    if message.get("id").and_then(Value::as_u64) != Some(FIRST_LIST) {
        return Ok(None);
    }
    message.get_mut("result").map(|result| Some(result.take())).ok_or_else(|| format!("no list: {message}"))
}

fn configuration(node: &Path, script: &Path) -> Value {
    let composites: Map<String, Value> = (0..COMPOSITES).map(|number| (format!("composite_{number}"), composite(number))).collect();
    let effects: Map<String, Value> = (0..TOOLS).map(|number| (format!("many_tool_{number}"), json!({ "effect": "read" }))).collect();
    json!({
        "sources": { "many": { "command": node, "args": [script, TOOLS.to_string()] } },
        "tools": effects,
        "composites": composites,
    })
}

fn composite(number: usize) -> Value {
    let tool = |offset: usize| format!("many_tool_{}", (number * 7 + offset) % TOOLS);
    json!({
        "description": format!("Puts words through three tools, the {number}th way"),
        "input": { "type": "object", "properties": { "word": { "type": "string" } }, "required": ["word"] },
        "steps": [
            { "name": "a", "tool": tool(0), "inputMapping": { "first": "$input.word" } },
            { "name": "b", "tool": tool(1), "inputMapping": { "first": "$steps.a.first", "third": "$steps.a.words" } },
            { "name": "c", "tool": tool(2), "inputMapping": { "first": "$steps.b.first", "limit": 3 } },
        ],
        "output": { "words": "$steps.c.words" },
    })
}

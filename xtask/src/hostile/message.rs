//! Messages that are nearly right: real ones of both generations, with something wrong in them.

use serde_json::{Value, json};

use super::MALLORY;
use crate::chance::Chance;
use crate::mcp::{Era, initialize};

/// What hurts readers of JSON, to be put anywhere.
const NASTY: [&[u8]; 24] = [
    b"null",
    b"1e400",
    b"-0",
    b"NaN",
    b"Infinity",
    b"12345678901234567890123456789",
    b"0.1000000000000000055511151231257827",
    b"\"\\ud800\"",
    b"\"\\udc00\\ud800\"",
    b"\"\\u0000\"",
    b"\xff\xfe",
    b"\xc3\x28",
    b"\xed\xa0\x80",
    b"\x00",
    b"\\",
    b"\"",
    b"{",
    b"]",
    b",,",
    b"[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[",
    b"{\"a\":{\"a\":{\"a\":{\"a\":{\"a\":",
    b"\xef\xbb\xbf",
    b"/* no */",
    b"true",
];

const METHODS: [&str; 24] = [
    "initialize",
    "notifications/initialized",
    "server/discover",
    "ping",
    "tools/list",
    "tools/call",
    "resources/list",
    "resources/templates/list",
    "resources/read",
    "resources/subscribe",
    "resources/unsubscribe",
    "prompts/list",
    "prompts/get",
    "completion/complete",
    "logging/setLevel",
    "notifications/cancelled",
    "notifications/progress",
    "notifications/roots/list_changed",
    "tasks/get",
    "tasks/cancel",
    "tasks/update",
    "skills/list",
    "elicitation/create",
    "no/such/method",
];

/// A message that somebody might send, wrong in at least one way.
pub(super) fn make(chance: &mut Chance) -> Vec<u8> {
    if chance.percent(3) {
        return noise(chance);
    }
    let mut message = whole(chance);
    for _ in 0..=chance.below(3) {
        change(&mut message, chance);
    }
    let mut bytes = message.to_string().into_bytes();
    if chance.percent(8) {
        let other = whole(chance).to_string();
        bytes = [b"[", bytes.as_slice(), b",", other.as_bytes(), b"]"].concat();
    }
    if chance.percent(60) {
        for _ in 0..=chance.below(4) {
            damage(&mut bytes, chance);
        }
    }
    if chance.percent(1) {
        bytes = deep(chance);
    }
    bytes
}

/// A right message, of either generation.
fn whole(chance: &mut Chance) -> Value {
    let method = chance.pick(&METHODS).copied().unwrap_or("ping");
    let mut params = match method {
        "initialize" => initialize(),
        "tools/call" => json!({ "name": if chance.percent(70) { "echo" } else { "twice" }, "arguments": { "text": MALLORY } }),
        "resources/read" | "resources/subscribe" | "resources/unsubscribe" => json!({ "uri": "test://static-text" }),
        "prompts/get" => json!({ "name": "test_simple_prompt" }),
        "completion/complete" => {
            json!({ "ref": { "type": "ref/prompt", "name": "test_prompt_with_arguments" }, "argument": { "name": "arg1", "value": "m" } })
        }
        "logging/setLevel" => json!({ "level": "error" }),
        "notifications/cancelled" => json!({ "requestId": chance.below(1000), "reason": MALLORY }),
        "notifications/progress" => json!({ "progressToken": chance.below(1000), "progress": 1 }),
        "tasks/get" | "tasks/cancel" | "tasks/update" => json!({ "taskId": MALLORY }),
        _ => json!({}),
    };
    if chance.percent(50)
        && let Some(params) = params.as_object_mut()
    {
        params.insert("_meta".to_owned(), Era::Sessionless.meta());
    }
    let mut message = json!({ "jsonrpc": "2.0", "method": method, "params": params });
    if let Some(members) = message.as_object_mut().filter(|_| !method.starts_with("notifications/")) {
        members.insert(
            "id".to_owned(),
            if chance.percent(80) { chance.below(1 << 30).into() } else { format!("{MALLORY}-{}", chance.below(99)).into() },
        );
    }
    if chance.percent(5) {
        return json!({ "jsonrpc": "2.0", "id": chance.below(100), "result": { "action": "accept", "content": { "who": MALLORY } } });
    }
    message
}

/// A value of another type, or none, somewhere inside.
fn change(value: &mut Value, chance: &mut Chance) {
    let descends = chance.percent(60);
    match value {
        Value::Object(members) if !members.is_empty() => {
            let at = chance.below(members.len());
            let Some(name) = members.keys().nth(at).cloned() else { return };
            if descends {
                if let Some(member) = members.get_mut(&name) {
                    change(member, chance);
                }
            } else if chance.percent(30) {
                members.remove(&name);
            } else if chance.percent(30) {
                members.insert(format!("{name}{}", chance.below(10)), Value::from(MALLORY));
            } else {
                members.insert(name, other(chance));
            }
        }
        place => *place = other(chance),
    }
}

fn other(chance: &mut Chance) -> Value {
    match chance.below(10) {
        0 => Value::Null,
        1 => Value::Bool(true),
        2 => json!(-1),
        3 => json!(1.5),
        4 => json!([]),
        5 => json!({}),
        6 => json!([MALLORY, MALLORY]),
        7 => Value::from(MALLORY.repeat(1 + chance.below(200))),
        8 => json!({ "io.modelcontextprotocol/protocolVersion": "1999-01-01" }),
        _ => Value::from(""),
    }
}

fn damage(bytes: &mut Vec<u8>, chance: &mut Chance) {
    let at = chance.below(bytes.len().max(1));
    match chance.below(6) {
        0 => bytes.truncate(at),
        1 => {
            if let Some(byte) = bytes.get_mut(at) {
                *byte ^= 1 << chance.below(8);
            }
        }
        2 => {
            let end = (at + 1 + chance.below(12)).min(bytes.len());
            bytes.drain(at.min(end)..end);
        }
        3 => {
            let end = (at + chance.below(40)).min(bytes.len());
            let twice = bytes.get(at..end).unwrap_or_default().to_vec();
            bytes.splice(at.min(bytes.len())..at.min(bytes.len()), twice);
        }
        _ => {
            let nasty = chance.pick(&NASTY).copied().unwrap_or_default();
            bytes.splice(at.min(bytes.len())..at.min(bytes.len()), nasty.iter().copied());
        }
    }
}

fn noise(chance: &mut Chance) -> Vec<u8> {
    (0..chance.below(300)).map(|_| u8::try_from(chance.below(256)).unwrap_or_default()).collect()
}

/// Too deep, or too long.
fn deep(chance: &mut Chance) -> Vec<u8> {
    let depth = 100 + chance.below(20_000);
    match chance.below(3) {
        0 => b"[".repeat(depth),
        1 => [b"[".repeat(depth), b"]".repeat(depth)].concat(),
        _ => format!(
            r#"{{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{{"name":"echo","arguments":{{"text":{}1{}}}}}}}"#,
            "[".repeat(depth),
            "]".repeat(depth)
        )
        .into_bytes(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_seed_makes_the_same_messages_and_few_are_right() {
        let many = |seed| (0..500).map(|of| make(&mut Chance::new(seed, of))).collect::<Vec<_>>();
        assert_eq!(many(1), many(1));
        assert_ne!(many(1), many(2));
        let read = many(1).iter().filter(|bytes| serde_json::from_slice::<Value>(bytes).is_ok()).count();
        assert!((50..450).contains(&read), "{read} of 500 are JSON");
    }
}

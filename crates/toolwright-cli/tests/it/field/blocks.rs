//! C24: blocks that a command line cannot print are told, and come whole where they can be read.

use serde_json::{Value, json};

use super::upstream::Upstream;
use super::{case, world_over};
use crate::serve::client::Client;
use crate::world::World;

/// The tools of the case over HTTP, and its steps.
fn world(name: &str, case: &Value) -> World {
    let (first, last) = (case["tools"][0]["output"].clone(), case["tools"][1]["mcp_result"].clone());
    let upstream = Upstream::of(case, move |call| match call.name.as_str() {
        "prepare" => call.result(&json!({"content": [], "structuredContent": first})),
        "shoot" => call.result(&last),
        other => panic!("{other} was called"),
    });
    let steps = case["composition"]["steps"].to_string().replace("\"tool\":\"", "\"tool\":\"up_");
    let more =
        format!("tools:\n  up_prepare: {{ effect: read }}\n  up_shoot: {{ effect: read }}\ncomposites:\n  photo: {{ steps: {steps} }}\n");
    world_over(name, &upstream, &more)
}

#[test]
fn c24_what_is_not_printed_is_told_and_can_be_had() {
    let case = case("24-mixed-media-last-step");
    let sent = &case["tools"][1]["mcp_result"];
    let world = world("c24_run", &case);
    for tool in ["photo", "up_shoot k=1"] {
        for form in ["human", "plain"] {
            let done = world.run(&format!("run {tool} --journal j.db --format {form}"));
            assert_eq!((done.code, done.out.as_str()), (0, "done\n"), "{tool}: {}", done.err);
            assert!(!done.err.contains("iVBOR"), "{}", done.err);
            for word in [
                "3 blocks of the result were not printed",
                "image (image/png, 8 bytes)",
                "resource_link file:///r.pdf (application/pdf)",
                "hologram (1 byte)",
                "`--format json`",
            ] {
                assert!(done.err.contains(word), "{tool} {form} {word}: {}", done.err);
            }
            // The way to them that runs nothing again is a command that works.
            let (_, from) = done.err.split_once("`toolwright ").unwrap();
            let (command, _) = from.split_once('`').unwrap();
            let exported = world.run(command);
            let records: Vec<Value> = exported.out.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
            assert!(holds(&json!(records), &sent["content"]), "{command}: {}", exported.out);
        }
        let whole = world.json(&format!("run {tool} --journal none"));
        assert_eq!(whole["content"], sent["content"], "{tool}");
        let quiet = world.run(&format!("run {tool} --journal none --quiet"));
        assert_eq!((quiet.out.as_str(), quiet.err.as_str()), ("done\n", ""), "{tool}");
    }
}

/// Whether the value stands anywhere in the other.
fn holds(all: &Value, wanted: &Value) -> bool {
    all == wanted
        || match all {
            Value::Array(items) => items.iter().any(|item| holds(item, wanted)),
            Value::Object(members) => members.values().any(|member| holds(member, wanted)),
            _ => false,
        }
}

#[test]
fn c24_a_client_gets_the_blocks_in_order_and_unchanged() {
    let case = case("24-mixed-media-last-step");
    let sent = &case["tools"][1]["mcp_result"];
    let world = world("c24_serve", &case);
    let mut client = Client::start(&world, "--journal j.db");
    let called = client.call("photo", &json!({}));
    assert_eq!(called["result"]["content"], sent["content"], "{called}");
    assert_eq!(called["result"]["_meta"]["vendor/x"], sent["_meta"]["vendor/x"], "{called}");
    assert_eq!(client.close().code, 0);
}

/// Pictures beside a value of the tool's own are told too.
#[test]
fn c24_blocks_beside_a_structured_output_are_told() {
    let case = case("24-mixed-media-last-step");
    let result = json!({
        "content": [{"type": "text", "text": "{\"n\":1}"}, {"type": "audio", "data": "AAAA", "mimeType": "audio/wav"}],
        "structuredContent": {"n": 1},
    });
    let upstream = Upstream::of(&case, move |call| call.result(&result));
    let world = world_over("c24_beside", &upstream, "");
    let done = world.run("run up_prepare --journal j.db --format plain");
    assert_eq!((done.code, done.out.as_str()), (0, "{\"n\":1}\n"), "{}", done.err);
    assert!(
        done.err.contains("1 block of the result was not printed: audio (audio/wav, 3 bytes); `toolwright journal export"),
        "{}",
        done.err
    );
    assert!(!done.err.contains("--format json"), "it is not in there: {}", done.err);
}

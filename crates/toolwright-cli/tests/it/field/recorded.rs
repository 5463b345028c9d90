//! C17 and C20: what the journal on the disk has of a call is what was sent and what was answered, and it is told alike again.

use serde_json::{Value, json};

use super::upstream::Upstream;
use super::{case, world_over};
use crate::serve::client::Client;
use crate::world::World;

const KEY: &str = "dev.toolwright/idempotency-key";

/// Every record of the journal, as it was written.
fn exported(world: &World) -> Vec<Value> {
    let done = world.run("journal export --journal j.db");
    assert_eq!(done.code, 0, "{}", done.err);
    done.out.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

#[test]
fn c17_no_argument_is_invented_in_what_is_sent_and_in_what_is_recorded() {
    let case = case("17-no-invented-arguments");
    let upstream = Upstream::of(&case, |call| {
        let arguments = call.seen.body["params"]["arguments"].clone();
        call.result(&json!({"content": [], "structuredContent": arguments}));
    });
    let more = "tools:\n  up_search: { effect: read }\ncomposites:\n  find: { steps: [{ name: s, tool: up_search, inputMapping: { q: $input.q } }] }\n";
    let world = world_over("c17", &upstream, more);
    let sent = &case["input"]["args"];
    for tool in ["up_search", "find"] {
        let whole = ["run", tool, "--input", &sent.to_string(), "--journal", "j.db", "--format", "json"];
        let ways = [whole.to_vec(), vec!["run", tool, "q=x", "--journal", "j.db", "--format", "json"]];
        for way in ways {
            let done = world.run_args(&way);
            assert_eq!((done.code, serde_json::from_str::<Value>(&done.out).unwrap()), (0, sent.clone()), "{}", done.err);
        }
    }
    let mut client = Client::start(&world, "--journal j.db");
    for tool in ["up_search", "find"] {
        assert_eq!(client.call(tool, sent)["result"]["structuredContent"], *sent);
    }
    assert_eq!(client.close().code, 0);
    assert_eq!(upstream.arguments(), vec![case["expected"]["received_by_tool"].clone(); 6]);
    let records = exported(&world);
    let runs: Vec<&Value> = records.iter().filter_map(|record| record.pointer("/body/run/input")).collect();
    // The calls themselves, and for three of the runs the step inside.
    let calls: Vec<&Value> = records.iter().filter_map(|record| record.pointer("/body/begin/input")).collect();
    assert_eq!((runs.len(), calls.len()), (6, 9));
    assert!(runs.iter().chain(&calls).all(|input| *input == sent), "{runs:?} {calls:?}");
    let repaired: Vec<&Value> = records.iter().filter_map(|record| record.pointer("/body/begin/more/repairs")).collect();
    assert!(repaired.iter().all(|repairs| **repairs == json!([])), "{repaired:?}");
}

/// A server that answers with the frame of the case, to the byte.
fn surrogates(name: &str) -> World {
    let world = World::new(name);
    let tool = &case("20-lone-surrogate-and-nul")["tools"][0];
    world.write("tools", &format!("{}\n", json!({"name": tool["name"], "inputSchema": tool["inputSchema"]})));
    let wire = tool["wire"].as_str().unwrap();
    assert!(wire.contains(r"\ud83d b\u0000c"), "the frame has them escaped: {wire}");
    world.write("frame", &format!("{wire}\n"));
    world.copy("lister.sh", "lister.sh");
    let script = world.read("lister.sh");
    let answering = r#"sed "s/<id>/$id/" frame"#;
    let changed = script.replace(r#"reply "{\"content\":[],\"structuredContent\":$ANSWER}""#, answering);
    assert_ne!(changed, script);
    world.write("lister.sh", &changed);
    world.write("toolwright.yaml", "sources:\n  s: { command: sh, args: [lister.sh], env: { TOOLS: tools, RECORD: called } }\n");
    world
}

/// What a caller is to get.
const TEXT: &str = "a\u{fffd} b\0c \u{1f600}";

#[test]
fn c20_a_lone_surrogate_a_nul_and_an_emoji_are_recorded_and_told_again_alike() {
    let world = surrogates("c20_run");
    for replayed in [false, true] {
        let done = world.run("run s_snap --key once --journal j.db");
        assert_eq!((done.code, done.out.as_str()), (0, format!("{TEXT}\n").as_str()), "{}", done.err);
        assert!(done.err.contains("1 broken character in the answer was replaced"), "{}", done.err);
        assert_eq!(done.err.contains("nothing ran"), replayed, "{}", done.err);
    }
    assert_eq!(world.read("called"), "snap\n");
    assert_eq!(recorded(&world), [TEXT]);
    assert_eq!(world.run("journal verify --journal j.db").code, 0);
}

#[test]
fn c20_clients_get_it_alike_again_and_the_connection_goes_on() {
    let world = surrogates("c20_serve");
    let keyed = json!({"name": "s_snap", "arguments": {}, "_meta": {KEY: "once"}});
    let judge = |reply: Value| {
        assert_eq!(reply["result"]["content"], json!([{"type": "text", "text": TEXT}]), "{reply}");
        let notes = &reply["result"]["_meta"]["dev.toolwright/notes"];
        assert!(notes.to_string().contains("1 broken character"), "{reply}");
    };
    let mut client = Client::start(&world, "--journal j.db");
    judge(client.ask("tools/call", &keyed));
    judge(client.call("s_snap", &json!({})));
    assert_eq!(client.close().code, 0);
    // Another process has it from the disk.
    let mut client = Client::start(&world, "--journal j.db");
    judge(client.ask("tools/call", &keyed));
    assert_eq!(client.close().code, 0);
    assert_eq!(world.read("called"), "snap\nsnap\n");
    assert_eq!(recorded(&world), [TEXT, TEXT]);
}

/// What the journal has of each answer; the blocks have the same text.
fn recorded(world: &World) -> Vec<String> {
    let records = exported(world);
    let finished: Vec<&Value> = records.iter().filter_map(|record| record.pointer("/body/finish")).collect();
    let texts = finished.iter().map(|finish| {
        let text = finish["outcome"]["output"].as_str().unwrap_or_else(|| panic!("{finish}"));
        assert_eq!(finish["more"]["content"][0]["text"], text, "{finish}");
        text.to_owned()
    });
    texts.collect()
}

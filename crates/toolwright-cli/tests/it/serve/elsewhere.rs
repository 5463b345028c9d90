//! Two servers on one journal: a call under one key runs once, and who comes second hears what is true.

use serde_json::{Value, json};

use super::client::Client;
use crate::world::World;

#[test]
fn a_call_that_another_process_is_at_work_on_is_said_to_be_that() {
    let world = World::new("serve_elsewhere");
    world.write(
        "toolwright.yaml",
        "sources: { here: { tools: { send: { argv: [sh, -c, 'echo sent >> sent.txt; while [ ! -e go ]; do sleep 0.05; done; echo done'], effect: write } } } }\n",
    );
    let call = json!({"name": "send", "arguments": {}, "_meta": {"dev.toolwright/idempotency-key": "once"}});
    let (mut first, mut second) = (Client::start(&world, "--journal j.db"), Client::start(&world, "--journal j.db"));
    first.send(&json!({"jsonrpc": "2.0", "id": "first", "method": "tools/call", "params": call}));
    while !world.has("sent.txt") {
        std::thread::sleep(std::time::Duration::from_millis(20));
    }
    let refused = second.ask("tools/call", &call);
    let text = refused["result"]["content"][0]["text"].as_str().unwrap_or_else(|| panic!("{refused}"));
    assert!(text.contains("somebody else is at work on this very call"), "{text}");
    assert!(text.contains("call it again a little later"), "{text}");
    assert!(!text.contains("nothing was changed") && !text.contains("written down"), "{text}");
    world.write("go", "");
    let done = |reply: &Value| assert_eq!(reply["result"]["content"][0]["text"], "done", "{reply}");
    let reply = first.message();
    assert_eq!(reply["id"], "first");
    done(&reply);
    // What it was told to do gets it the result.
    done(&second.ask("tools/call", &call));
    assert_eq!((first.close().code, second.close().code), (0, 0));
    assert_eq!(world.read("sent.txt"), "sent\n");
}

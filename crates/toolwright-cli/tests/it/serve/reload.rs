//! What is offered follows what there is, while clients stay.

use serde_json::json;

use super::client::Client;
use super::names::source;
use crate::world::World;

const ONE: &str = "sources:\n  here:\n    tools:\n      first: { argv: [echo, one], effect: read }\n";

#[test]
fn a_changed_file_is_served_and_a_broken_one_is_not() {
    let world = World::new("serve_reload");
    world.write("toolwright.yaml", ONE);
    let mut client = Client::start(&world, "--journal none");
    assert_eq!(client.names(), ["first"]);
    world.write("toolwright.yaml", &format!("{ONE}      second: {{ argv: [echo, two], effect: read }}\n"));
    assert_eq!(client.message()["method"], "notifications/tools/list_changed");
    assert_eq!(client.names(), ["first", "second"]);
    assert_eq!(client.call("second", &json!({}))["result"]["content"][0]["text"], "two");
    world.write("toolwright.yaml", "sources: [");
    // Nothing says when a file was looked at; what was served before goes on whenever that is.
    std::thread::sleep(std::time::Duration::from_secs(2));
    assert_eq!(client.names(), ["first", "second"]);
    world.write("toolwright.yaml", ONE);
    assert_eq!(client.message()["method"], "notifications/tools/list_changed");
    assert_eq!(client.names(), ["first"]);
    let ended = client.close();
    assert_eq!(ended.code, 0, "{}", ended.err);
    assert!(ended.err.contains("cannot be served, so what was served before goes on"), "{}", ended.err);
}

/// A server that is the same in both configurations is not started again.
#[test]
fn servers_that_stay_the_same_go_on() {
    let world = World::new("serve_go_on");
    let tools = [json!({"name": "a", "inputSchema": {"type": "object"}})];
    let server = source(&world, "s", &tools, &json!({"ok": 1}), "0");
    world.write("toolwright.yaml", &format!("sources:\n{server}"));
    let started = "  echo started >>starts.txt\n";
    world.write("lister.sh", &format!("{started}{}", world.read("lister.sh")));
    let mut client = Client::start(&world, "--journal none");
    assert_eq!(client.names(), ["s_a"]);
    world.write("toolwright.yaml", &format!("sources:\n{server}tools:\n  s_a: {{ name: renamed }}\n"));
    assert_eq!(client.message()["method"], "notifications/tools/list_changed");
    assert_eq!(client.names(), ["renamed"]);
    assert_eq!(client.call("renamed", &json!({}))["result"]["structuredContent"], json!({"ok": 1}));
    assert_eq!(client.close().code, 0);
    assert_eq!(world.read("starts.txt"), "started\n");
}

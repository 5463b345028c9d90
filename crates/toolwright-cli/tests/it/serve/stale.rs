//! Composites over tools that are not what was accepted: nothing of them runs, however often they are called.

use serde_json::{Value, json};

use super::client::Client;
use crate::world::World;

const FILE: &str = "
sources:
  small: {command: sh, args: [server.sh], trust: lock}
  cmd: {tools: {hi: {argv: [echo, hi], effect: read}, note: {argv: [tee, -a, notes.txt], stdin: note, effect: read}}}
composites:
  late: {steps: [{name: first, tool: note}, {name: second, tool: small_show, inputMapping: {text: x}}]}
  over: {steps: [{name: first, tool: note}, {name: a, tool: late}]}
  lost: {steps: [{name: first, tool: note}, {name: second, tool: small_die}]}
  apart: {steps: [{name: a, tool: note}]}
tools:
  small_die: {effect: read}
";

/// Locked, and the server says something else since.
fn world(name: &str, changes: &[(&str, &str)]) -> World {
    let world = World::new(name);
    world.write("toolwright.yaml", FILE);
    world.copy("server.sh", "server.sh");
    let locked = world.run("lock --yes");
    assert_eq!(locked.code, 0, "{}", locked.err);
    for (from, to) in changes {
        let server = world.read("server.sh");
        assert!(server.contains(from), "{from}");
        world.write("server.sh", &server.replace(from, to));
    }
    world
}

fn failed(reply: &Value) -> (String, String) {
    assert_eq!(reply["result"]["isError"], true, "{reply}");
    let code = reply["result"]["_meta"]["dev.toolwright/error"]["code"].as_str().unwrap_or_else(|| panic!("{reply}"));
    (code.to_owned(), reply["result"]["content"][0]["text"].as_str().unwrap().to_owned())
}

/// C62
#[test]
fn a_stale_composite_runs_nothing_and_a_fresh_one_does() {
    for journal in ["--journal none", "--journal j.db"] {
        let changes = [("Says hello", "Says hello, and sends everything away"), ("\\\"name\\\":\\\"die\\\"", "\\\"name\\\":\\\"end\\\"")];
        let world = world("serve_stale", &changes);
        let mut client = Client::start(&world, journal);
        for _ in 0..2 {
            for (composite, tool) in [("late", "small_show"), ("over", "small_show"), ("lost", "small_die")] {
                let (code, text) = failed(&client.call(composite, &json!({})));
                assert_eq!(code, "catalog_changed", "{composite}: {text}");
                assert!(text.contains(&format!("`{composite}` is stale: it uses `{tool}`")), "{text}");
                assert!(!world.has("notes.txt"), "{composite}: a step ran");
            }
        }
        assert_eq!(client.call("apart", &json!({}))["result"]["isError"], false);
        assert!(world.has("notes.txt"));
        assert_eq!(client.close().code, 0);
    }
}

#[test]
fn what_is_as_it_was_accepted_runs_and_a_server_that_is_away_stops_it_before_its_first_step() {
    let same = world("serve_not_stale", &[]);
    let mut client = Client::start(&same, "--journal none");
    for _ in 0..2 {
        let reply = client.call("over", &json!({}));
        assert_eq!(reply["result"]["isError"], false, "{reply}");
    }
    assert_eq!(client.close().code, 0);
    assert!(same.has("notes.txt"));

    let away = world("serve_away", &[]);
    away.write("server.sh", "exit 3\n");
    let mut client = Client::start(&away, "--journal none");
    for _ in 0..2 {
        let (_, text) = failed(&client.call("over", &json!({})));
        assert!(text.contains("`small`") && text.contains("no step of `over` ran"), "{text}");
        assert!(!away.has("notes.txt"), "a step ran");
    }
    assert_eq!(client.call("apart", &json!({}))["result"]["isError"], false);
    client.close();
}

/// What differs is offered no more as soon as that is known, and is again, told to people, when nobody's word is left to compare with.
#[test]
fn what_was_found_to_differ_leaves_the_list_until_the_lock_is_gone() {
    let world = world("serve_stale_list", &[("Says hello", "Says hello, and sends everything away")]);
    let mut client = Client::start(&world, "--journal none");
    assert_eq!(failed(&client.call("small_show", &json!({}))).0, "catalog_changed");
    let changed = |client: &mut Client| {
        while !client.told.drain(..).any(|message| message["method"] == "notifications/tools/list_changed") {
            let message = client.message();
            client.told.push(message);
        }
        client.names()
    };
    let names = changed(&mut client);
    for (name, offered) in [("small_show", false), ("late", false), ("over", false), ("apart", true), ("small_die", true)] {
        assert_eq!(names.iter().any(|one| one == name), offered, "{name}: {names:?}");
    }
    std::fs::remove_file(world.dir.join("toolwright.lock")).unwrap();
    let names = changed(&mut client);
    assert!(names.iter().any(|one| one == "small_show"), "{names:?}");
    let ended = client.close();
    assert_eq!(ended.err.matches("toolwright.lock` is gone").count(), 1, "{}", ended.err);
}

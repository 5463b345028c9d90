//! Tools that are another one than when they were accepted: withheld, shown with what is different, accepted anew. And
//! what starts from the lock without starting anything.

use crate::world::World;

const FILE: &str = "
sources:
  small: {command: sh, args: [server.sh], trust: lock, env: {RECORD: started.txt}}
  cmd: {tools: {hi: {argv: [echo, hi], effect: read}, note: {argv: [tee, -a, notes.txt], stdin: note, effect: read}}}
tools:
  small_store: {effect: write}
composites:
  good: {steps: [{name: a, tool: small_show, inputMapping: {text: x}}]}
  late: {steps: [{name: first, tool: note}, {name: second, tool: small_show, inputMapping: {text: x}}]}
  over: {steps: [{name: a, tool: late}]}
  apart: {steps: [{name: a, tool: hi}]}
";

/// Locked, and the server not started since.
fn world(name: &str) -> World {
    let world = World::new(name);
    world.write("toolwright.yaml", FILE);
    world.copy("server.sh", "server.sh");
    let locked = world.run("lock --yes");
    assert_eq!(locked.code, 0, "{}", locked.err);
    std::fs::remove_file(world.dir.join("started.txt")).unwrap();
    world
}

/// The server says something else.
fn change(world: &World, from: &str, to: &str) {
    let server = world.read("server.sh");
    assert!(server.contains(from), "{from}");
    world.write("server.sh", &server.replace(from, to));
}

fn tool(list: &serde_json::Value, id: &str) -> serde_json::Value {
    list["tools"].as_array().unwrap().iter().find(|tool| tool["id"] == id).unwrap_or_else(|| panic!("no {id}: {list}")).clone()
}

#[test]
fn what_is_locked_is_known_without_starting_anything() {
    let world = world("pins_start");
    let list = world.json("list");
    for (id, state) in [("small_show", "ready"), ("good", "ready"), ("over", "ready"), ("hi", "ready")] {
        assert_eq!(tool(&list, id)["state"], state, "{id}");
    }
    for command in ["check", "describe good", "graph late", "describe small_show"] {
        assert_eq!(world.run(command).code, 0, "{command}");
    }
    assert!(!world.has("started.txt"));
    assert_eq!(world.run("run good").out, "hello\n");
    assert!(world.has("started.txt"));
}

/// C62
#[test]
fn a_tool_that_changed_is_withheld_and_the_rest_works() {
    let world = world("pins_changed");
    // Key order and layout are nothing.
    change(
        &world,
        r#"schema='{"type":"object","properties":{"text":{"type":"string"}}}'"#,
        r#"schema='{ "properties": {"text": {"type":"string"}}, "type":"object" }'"#,
    );
    assert_eq!(world.run("run small_show").out, "hello\n");
    assert_eq!(world.run("diff").out, "nothing is different\n");

    change(&world, "Says hello", "Says hello, and sends everything away");
    let refused = world.run("run small_show");
    assert_eq!((refused.code, refused.out.as_str()), (11, ""), "{}", refused.err);
    assert!(refused.err.contains("catalog_changed") && refused.err.contains("`description`"), "{}", refused.err);
    assert_eq!(world.run("run small_store").out, "stored\n");
    assert_eq!(world.run("run apart").out, "hi\n");
    // A composite over it does not begin.
    for composite in ["good", "late", "over"] {
        let stale = world.run(&format!("run {composite}"));
        assert_eq!((stale.code, stale.out.as_str()), (11, ""), "{composite}: {}", stale.err);
        assert!(stale.err.contains("is stale: it uses `small_show`"), "{composite}: {}", stale.err);
    }
    assert!(!world.has("notes.txt"), "a step ran");

    let diff = world.run("diff");
    assert_eq!(diff.code, 12, "{}", diff.err);
    assert!(diff.out.contains("description: Says [-hello-] {+hello,+} {+and+} {+sends+}"), "{}", diff.out);
    assert_eq!(world.run("lock --yes").code, 0);
    assert_eq!(world.run("run good").out, "hello\n");
    assert_eq!(world.run("diff").code, 0);
}

/// C62
#[test]
fn an_added_argument_is_a_change_and_a_tool_that_is_gone_is_no_more() {
    let world = world("pins_schema");
    change(&world, r#""text":{"type":"string"}}}'"#, r#""text":{"type":"string"},"loud":{"type":"boolean"}}}'"#);
    let refused = world.run("run small_show");
    assert_eq!(refused.code, 11, "{}", refused.err);
    assert!(refused.err.contains("catalog_changed") && refused.err.contains("`inputSchema`"), "{}", refused.err);
    let diff = world.json("diff");
    let show = diff["changes"].as_array().unwrap().iter().find(|change| change["tool"] == "show").unwrap();
    assert_eq!(show["differences"][0]["members"], serde_json::json!(["`loud` is new"]), "{show}");
    assert_eq!(world.run("lock --yes").code, 0);

    change(&world, "\\\"name\\\":\\\"show\\\"", "\\\"name\\\":\\\"other\\\"");
    let gone = world.run("run small_show");
    assert_eq!(gone.code, 11, "{}", gone.err);
    assert!(gone.err.contains("unavailable") && gone.err.contains("does not offer it any more"), "{}", gone.err);
    // Nobody accepted the new one, so nobody knows it.
    assert_eq!(world.run("run small_other").code, 2);
    let plain = world.run("diff --format plain");
    assert!(plain.out.contains("added\tsmall\tother") && plain.out.contains("removed\tsmall\tshow"), "{}", plain.out);
}

#[test]
fn list_and_check_show_what_is_withheld_when_servers_are_asked() {
    let world = world("pins_asked");
    change(&world, "Says hello", "Says anything");
    change(&world, "\\\"name\\\":\\\"die\\\"", "\\\"name\\\":\\\"end\\\"");
    assert_eq!(tool(&world.json("list"), "small_show")["state"], "ready");
    let list = world.json("list --ask");
    for (id, state) in [
        ("small_show", "withheld"),
        ("small_die", "withheld"),
        ("small_end", "withheld"),
        ("small_store", "ready"),
        ("good", "stale"),
        ("late", "stale"),
        ("over", "stale"),
        ("apart", "ready"),
    ] {
        assert_eq!(tool(&list, id)["state"], state, "{id}");
    }
    assert_eq!(tool(&list, "good")["why"]["code"], "catalog_changed");
    assert_eq!(world.run("check").code, 0);
    let check = world.run("check --ask --format plain");
    assert_eq!(check.code, 20, "{}", check.out);
    assert!(check.out.contains("toolwright.yaml:3:3: catalog_changed: `small_show` is withheld"), "{}", check.out);
    assert!(check.out.contains("catalog_changed: `good` is stale: step `a` uses `small_show`"), "{}", check.out);
}

/// C62: an unreadable pin file blocks, and nothing is accepted by itself.
#[test]
fn a_lock_that_cannot_be_believed_blocks_its_servers_and_nothing_else() {
    let world = world("pins_broken");
    let whole = world.read("toolwright.lock");
    for broken in [
        whole.replace("Says hello", "Says whatever you like"),
        format!("<<<<<<< HEAD\n{whole}"),
        whole.replace("\"sources\"", "\"sorces\""),
        String::new(),
    ] {
        world.write("toolwright.lock", &broken);
        for call in ["run small_show", "run small_store", "run good"] {
            let refused = world.run(call);
            assert_eq!((refused.code, refused.out.as_str()), (20, ""), "{call}: {}", refused.err);
            assert!(refused.err.contains("lock_unusable"), "{call}: {}", refused.err);
        }
        assert_eq!(world.run("run hi").out, "hi\n");
        let list = world.run("list");
        assert!(list.code == 0 && list.out.contains("not there") && list.out.contains("hi "), "{}", list.out);
        assert_eq!(world.run("check").code, 20);
        assert!(!world.has("started.txt") && !world.has("stored.txt"), "a server was started");
        assert_eq!(world.read("toolwright.lock"), broken);
    }
    // What is no lock at all is not written anew, also not by a yes.
    let lock = world.run("lock --yes");
    assert_eq!((lock.code, world.read("toolwright.lock").as_str()), (20, ""), "{}", lock.err);
}

#[test]
fn what_was_accepted_with_the_lock_is_the_effect() {
    let world = world("pins_effect");
    let show = tool(&world.json("list"), "small_show");
    assert_eq!((show["effectFrom"].as_str(), show["effect"]["impact"].as_str()), (Some("lock"), Some("none")));
    let store = tool(&world.json("list"), "small_store");
    assert_eq!(store["effectFrom"], "declared");
    assert!(tool(&world.json("list"), "small_leak")["effect"].is_null());
    // A server that says it changes nothing is not believed by that.
    change(&world, r#"\"name\":\"leak\","#, r#"\"name\":\"leak\",\"annotations\":{\"readOnlyHint\":true},"#);
    let refused = world.run("run small_leak");
    assert!(refused.code == 11 && refused.err.contains("`annotations`"), "{}", refused.err);
    let diff = world.run("diff");
    assert!(diff.out.contains("readOnlyHint: not said → true") && diff.out.contains("effect: not said → read"), "{}", diff.out);
    // Without a lock nothing is believed.
    std::fs::remove_file(world.dir.join("toolwright.lock")).unwrap();
    assert!(tool(&world.json("list"), "small_show")["effect"].is_null());
    assert_eq!(world.run("run good").code, 11);
}

#[test]
fn a_source_without_a_lock_is_asked_and_a_dead_one_stops_nothing() {
    let world = world("pins_unlocked");
    let more = "  fresh: {command: sh, args: [server.sh], env: {RECORD: fresh.txt}}\n  dead: {command: no-such-program}\ntools:";
    world.write("toolwright.yaml", &FILE.replace("tools:\n  small_store", &format!("{more}\n  small_store")));
    let list = world.json("list");
    assert_eq!(tool(&list, "fresh_show")["state"], "ready");
    assert_eq!(tool(&list, "small_show")["state"], "ready");
    assert!(world.has("fresh.txt") && !world.has("started.txt"));
    let dead = list["sources"].as_array().unwrap().iter().find(|source| source["name"] == "dead").unwrap();
    assert_eq!(dead["why"]["code"], "source_unavailable");
    assert_eq!(world.run("diff").code, 10);
}

/// A run that stopped in the middle does not go on with a tool that is another one now, and no answer is written down.
#[test]
fn a_run_is_not_taken_up_with_a_tool_that_changed() {
    let world = world("pins_resume");
    world.write(
        "toolwright.yaml",
        &FILE.replace("{effect: write}", "{effect: write}\n  small_die: {effect: write}").replace(
            "  apart:",
            "  dies: {steps: [{name: first, tool: note}, {name: second, tool: small_die}, {name: third, tool: small_show}]}\n  apart:",
        ),
    );
    let doubt = world.run("run dies --allow small_die");
    assert_eq!(doubt.code, 13, "{}", doubt.err);
    let id = world.json("runs")["runs"][0]["id"].as_str().unwrap().to_owned();
    change(&world, "Says hello", "Says anything");
    let (before, show) = (world.read("notes.txt"), world.run(&format!("show {id} --format json")).out);
    let refused = world.run(&format!("resume {id} --as not-happened --allow small_die"));
    assert_eq!(refused.code, 11, "{}", refused.err);
    assert!(refused.err.contains("catalog_changed"), "{}", refused.err);
    assert_eq!(world.read("notes.txt"), before);
    assert_eq!(world.run(&format!("show {id} --format json")).out, show);
}

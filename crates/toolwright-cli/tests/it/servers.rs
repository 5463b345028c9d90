//! MCP servers as sources: started only when needed, and no one of them takes down the rest.

use crate::world::World;

const TWO: &str = r#"
sources:
  small:
    command: sh
    args: [server.sh]
    trust: hints
  dead:
    command: no-such-program-anywhere
tools:
  small_store: {effect: write, name: store, description: Stores, pin: {text: fixed}}
  small_leak: {hidden: true}
composites:
  good: {steps: [{name: a, tool: small_show}]}
  writes: {steps: [{name: a, tool: store}]}
  needs_dead: {steps: [{name: a, tool: dead_thing}]}
"#;

fn world(name: &str) -> World {
    let world = World::new(name);
    world.write("toolwright.yaml", TWO);
    world.copy("server.sh", "server.sh");
    world
}

#[test]
fn a_dead_server_takes_down_only_its_own() {
    let world = world("dead");
    let good = world.run("run good");
    assert_eq!((good.code, good.out.as_str()), (0, "hello\n"), "{}", good.err);
    let bad = world.run("run needs_dead");
    assert_eq!((bad.code, bad.out.as_str()), (10, ""));
    assert!(bad.err.contains("source_unavailable"), "{}", bad.err);
    assert!(bad.err.contains("no-such-program-anywhere"), "{}", bad.err);
    assert_eq!(world.run("run dead_thing").code, 10);
    let list = world.run("list");
    assert_eq!(list.code, 0);
    for word in ["small_show", "not there", "needs_dead", "unavailable"] {
        assert!(list.out.contains(word), "{word}: {}", list.out);
    }
    let check = world.run("check --format plain");
    assert_eq!(check.code, 20);
    assert!(check.out.contains("toolwright.yaml:7:3: source_unavailable"), "{}", check.out);
}

#[test]
fn hints_count_where_the_file_trusts_them_and_the_hosts_word_wins() {
    let world = world("hints");
    let list: serde_json::Value = serde_json::from_str(&world.run("list --all --format json").out).unwrap();
    let tool = |id: &str| {
        let tools = list["tools"].as_array().unwrap();
        tools.iter().find(|tool| tool["id"] == id).unwrap().clone()
    };
    assert_eq!(tool("small_show")["effect"]["impact"], "none");
    assert_eq!(tool("small_show")["effectFrom"], "hint");
    assert_eq!(tool("store")["effect"]["impact"], "once");
    assert_eq!(tool("store")["effectFrom"], "declared");
    assert_eq!(tool("small_leak")["hidden"], true);
    assert!(!world.run("list").out.contains("small_leak"));
    let fixed = world.run("describe store");
    assert!(!fixed.out.contains("text"), "{}", fixed.out);
    assert_eq!(world.run("run writes").code, 11);
    assert!(!world.has("stored.txt"));
    assert_eq!(world.run("run writes --allow store").code, 0);
    assert!(world.has("stored.txt"));
}

#[test]
fn an_error_of_a_server_is_a_failure_and_its_death_a_doubt() {
    let world = World::new("server_ends");
    world.copy("server.sh", "server.sh");
    world.write(
        "toolwright.yaml",
        "sources:\n  s: {command: sh, args: [server.sh]}\ntools:\n  s_leak: {effect: write}\n  s_die: {effect: write}\n  s_show: {effect: read}\n\
         composites:\n  errs: {steps: [{name: show, tool: s_show}, {name: leak, tool: s_leak}]}\n  \
         dies: {steps: [{name: show, tool: s_show}, {name: die, tool: s_die}]}\n",
    );
    for (tool, code, end) in [
        ("errs", 10, "; ended with an error, effect not known: leak; go on: toolwright resume run-"),
        ("dies", 13, "; in doubt: die; go on: toolwright resume run-"),
    ] {
        let plain = world.run(&format!("run {tool} --allow s_leak --allow s_die --format plain"));
        assert_eq!(plain.code, code, "{}", plain.err);
        assert!(plain.err.contains("; completed: show; effects: none"), "{}", plain.err);
        assert!(plain.err.contains(end), "{}", plain.err);
        let human = world.run(&format!("run {tool} --allow s_leak --allow s_die"));
        for fact in ["completed   show", "effects     none for certain", "explain     toolwright explain"] {
            assert!(human.err.contains(fact), "{fact}: {}", human.err);
        }
        let json: serde_json::Value =
            serde_json::from_str(&world.run(&format!("run {tool} --allow s_leak --allow s_die --format json")).err).unwrap();
        assert_eq!(json["details"]["completed"], serde_json::json!(["show"]));
        assert!(json["details"]["unknownEffect"].is_string(), "{json}");
    }
}

#[test]
fn only_what_is_needed_is_started() {
    let world = World::new("lazy");
    world.copy("server.sh", "server.sh");
    world.write(
        "toolwright.yaml",
        "sources:\n  one: {command: sh, args: [server.sh], env: {RECORD: one.txt}}\n  two: {command: sh, args: [server.sh], env: {RECORD: two.txt}}\n  cmd: {tools: {hi: {argv: [echo, hi], effect: read}}}\n",
    );
    assert_eq!(world.run("run hi").out, "hi\n");
    assert!(!world.has("one.txt") && !world.has("two.txt"));
    assert_eq!(world.run("run one_show").out, "hello\n");
    assert!(world.has("one.txt") && !world.has("two.txt"));
    assert_eq!(world.run("check --offline").code, 0);
    assert!(!world.has("two.txt"));
}

#[test]
fn a_clients_own_file_loads() {
    let world = World::new("client");
    world.copy("server.sh", "server.sh");
    world.write(
        "client.json",
        r#"{"globalShortcut": "", "mcpServers": {
            "my server": {"command": "sh", "args": ["server.sh"], "autoApprove": ["show"]},
            "off": {"command": "no-such-program", "disabled": true}}}"#,
    );
    let done = world.run("run my_server_show --file client.json");
    assert_eq!((done.code, done.out.as_str()), (0, "hello\n"), "{}", done.err);
    assert_eq!(world.run("check client.json").code, 0);
    let off = world.run("run off_show --file client.json");
    assert!(off.err.contains("disabled"), "{}", off.err);
}

#[test]
fn an_id_of_two_tools_is_refused_by_run_as_by_list() {
    let world = world("rivals");
    let commands = "  own:\n    tools:\n      small_show: {argv: [echo, own], effect: read}\n      dead_thing: {argv: [echo, own], effect: read}\n      store: {argv: [echo, own], effect: read}\ntools:\n";
    world.write("toolwright.yaml", &TWO.replace("tools:\n  small_store", &format!("{commands}  small_store")));
    for id in ["small_show", "store", "good"] {
        let run = world.run(&format!("run {id} --allow store"));
        assert_eq!((run.code, run.out.as_str()), (20, ""), "{id}: {}", run.err);
        assert!(run.err.contains("two tools have the id"), "{id}: {}", run.err);
        assert!(world.run("list").out.contains("two tools have the id"));
    }
    // What a server that is not there might have offered stands in nobody's way.
    assert_eq!(world.run("run dead_thing").out, "own\n");
    world.write(
        "toolwright.yaml",
        &format!("{TWO}  small_show: {{steps: [{{name: a, tool: small_store}}]}}\n").replace(", name: store", ""),
    );
    let run = world.run("run small_show --allow small_store");
    assert_eq!((run.code, run.out.as_str()), (20, ""), "{}", run.err);
}

//! The schema for editors: it offers the tools there are, and refuses what the reader refuses.

use serde_json::Value;

use crate::world::{World, golden};

const FILE: &str = "
sources:
  here:
    tools:
      greet:
        description: Greets somebody
        argv: [echo, \"{name}\", \"{tone?}\"]
        effect: read
        input:
          type: object
          properties:
            name: {type: string, description: whom to greet}
            tone: {enum: [kind, loud]}
          required: [name]
      send: {description: Sends a mail, argv: [cat], stdin: \"{text}\", effect: write}
  small: {command: sh, args: [server.sh], trust: hints, env: {RECORD: started.txt}}
composites:
  hello:
    input: {type: object, properties: {who: {type: string}}, required: [who]}
    steps: [{name: a, tool: greet, inputMapping: {name: $input.who}}]
";

fn world(name: &str) -> World {
    let world = World::new(name);
    world.write("toolwright.yaml", FILE);
    world.copy("server.sh", "server.sh");
    world
}

fn schema(world: &World, line: &str) -> Value {
    let done = world.run(line);
    assert_eq!(done.code, 0, "{}", done.err);
    serde_json::from_str(&done.out).unwrap()
}

#[test]
fn the_tools_there_are_are_offered_with_their_meaning_and_their_arguments() {
    let world = world("editor");
    let tools = schema(&world, "schema --with-tools");
    let offered = &tools["$defs"]["step"]["properties"]["tool"]["anyOf"][0];
    assert_eq!(offered["enum"], serde_json::json!(["greet", "send", "small_show", "small_store", "small_leak", "small_die", "hello"]));
    assert_eq!(offered["enumDescriptions"][0], "read: Greets somebody");
    let listed = &tools["$defs"]["policy"]["properties"]["sideEffectingTools"]["items"]["anyOf"][0]["anyOf"][0]["enum"];
    assert_eq!(*listed, serde_json::json!(["send", "small_store", "small_leak", "small_die"]));
    let asked = &tools["$defs"]["reconcile"]["properties"]["tool"]["anyOf"][0]["enum"];
    assert_eq!(*asked, serde_json::json!(["greet", "small_show"]));
    golden("schema-step.json", &format!("{:#}\n", tools["$defs"]["step"]));
    assert_eq!(tools["properties"]["tools"]["properties"]["greet"]["description"], "read: Greets somebody");
}

#[test]
fn tools_of_servers_come_from_the_lock_or_from_asking() {
    let world = world("editor_lock");
    let names = |schema: &Value| schema["$defs"]["step"]["properties"]["tool"]["anyOf"][0]["enum"].to_string();
    let offline = schema(&world, "schema --with-tools --offline");
    assert!(!names(&offline).contains("small_show") && !world.has("started.txt"), "{}", names(&offline));
    assert!(names(&schema(&world, "schema --with-tools")).contains("small_show") && world.has("started.txt"));
    assert_eq!(world.run("lock --yes").code, 0);
    std::fs::remove_file(world.dir.join("started.txt")).unwrap();
    assert!(names(&schema(&world, "schema --with-tools")).contains("small_show"));
    assert!(names(&schema(&world, "schema --with-tools --offline")).contains("small_show"));
    assert!(!world.has("started.txt"), "what the lock knows is not asked for");
}

/// Configurations, and whether both schemas take them.
const CONFIGURATIONS: &[(&str, bool)] = &[
    (r#"{"composites": {"c": {"steps": [{"name": "a", "tool": "greet", "inputMapping": {"name": "$input.x"}}]}}}"#, true),
    // What is not listed may be a tool of tomorrow, and an argument a reference: what is wrong, `check` says.
    (r#"{"composites": {"c": {"steps": [{"name": "a", "tool": "not_yet", "inputMapping": {"any": 1}}]}}}"#, true),
    (r#"{"composites": {"c": {"steps": [{"name": "a", "tool": "greet", "inputMapping": {"tone": "$prev.tone"}}]}}}"#, true),
    (r#"{"tools": {"greet": {"pin": {"name": "Ada"}, "effect": "read"}, "other": {"hidden": true}}}"#, true),
    (r#"{"tools": {"send": {"reconcile": {"tool": "greet", "inputMapping": {"name": "$key"}, "happened": ["1"]}}}}"#, true),
    (r#"{"tools": {"send": {"reconcile": {"tool": 5, "happened": ["1"]}}}}"#, false),
    (r#"{"sources": {"s": {"tools": {"t": {"argv": ["t", "{key}"], "idempotencyKey": {"argument": "key"}}}}}}"#, true),
    (r#"{"sources": {"s": {"tools": {"t": {"argv": ["t", "{key}"], "idempotencyKey": {"args": "key"}}}}}}"#, false),
    (r#"{"policy": {"sideEffectingTools": ["send", "other"]}}"#, true),
    (r#"{"sources": {"s": {"command": "node", "args": ["x.js"], "trust": "hints"}}}"#, true),
    (r#"{"composites": {"c": {"steps": [{"name": "a", "tool": 5}]}}}"#, false),
    (r#"{"composites": {"c": {"steps": [{"tool": "greet"}]}}}"#, false),
    (r#"{"composites": {"c": {"steps": []}}}"#, false),
    (r#"{"composites": {"c": {"stps": [{"name": "a", "tool": "greet"}]}}}"#, false),
    (r#"{"tools": {"greet": {"efect": "read"}}}"#, false),
    (r#"{"tools": {"greet": {"effect": "reads"}}}"#, false),
    (r#"{"policy": {"sideEffectingTools": "send"}}"#, false),
    (r#"{"sources": {"s": {"url": 7}}}"#, false),
];

#[test]
fn good_configurations_are_taken_and_bad_ones_are_not() {
    let world = world("editor_valid");
    for line in ["schema", "schema --with-tools --offline"] {
        let schema = schema(&world, line);
        let validator = jsonschema::draft202012::new(&schema).unwrap();
        for (configuration, good) in CONFIGURATIONS {
            let configuration: Value = serde_json::from_str(configuration).unwrap();
            assert_eq!(validator.is_valid(&configuration), *good, "{line}: {configuration}");
        }
    }
}

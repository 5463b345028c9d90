//! `toolwright learn`: only harmless tools are run, nothing is lost, and only what is pinned is held to.

use crate::world::{World, golden};

const FILE: &str = "
sources:
  here:
    tools:
      show:
        argv: [cat, \"{file}\"]
        effect: read
        stdout: json
        examples: [{input: {file: a.json}}, {input: {file: b.json}}]
      typed: {argv: [echo, hi], effect: read, output: {type: string}}
      silent: {argv: [touch, ran.txt], stdout: json}
      write: {argv: [touch, ran.txt], effect: write, stdout: json}
composites:
  twice: {steps: [{name: a, tool: show, inputMapping: {file: a.json}}]}
";

const LEARNED: &str = "toolwright.learned.json";

fn world(name: &str) -> World {
    let world = World::new(name);
    world.write("toolwright.yaml", FILE);
    world.write("a.json", r#"{"id": 1, "note": null}"#);
    world.write("b.json", r#"{"id": 2, "tags": ["x"]}"#);
    world
}

fn json(text: &str) -> serde_json::Value {
    serde_json::from_str(text).unwrap_or_else(|_| panic!("{text}"))
}

#[test]
fn a_shape_is_learned_shown_pinned_and_forgotten() {
    let world = world("learn");
    let learned = world.run("learn show");
    assert_eq!(learned.code, 0, "{}", learned.err);
    golden("learn.txt", &learned.out);
    golden("learned.json", &world.read(LEARNED));
    let described = world.run("describe show");
    golden("describe-learned.txt", &described.out);
    assert_eq!(world.run("check").code, 0);
    assert_eq!(world.run("list").code, 0);

    // It only warns: an output of another shape is an output.
    world.write("c.json", r#"{"id": "three"}"#);
    assert_eq!(world.run("run show file=c.json").code, 0);
    let pinned = world.run("learn show --pin");
    assert_eq!(pinned.code, 0, "{}", pinned.err);
    let refused = world.run("run show file=c.json --format plain");
    assert_eq!(refused.code, 10, "{}", refused.err);
    assert!(refused.err.contains("invalid_output"), "{}", refused.err);
    assert_eq!(world.run("run show file=a.json").code, 0);

    // A promise is not widened by the way.
    let more = world.run("learn show --input {\"file\":\"c.json\"} --format json");
    let told = json(&more.out);
    assert_eq!((&told["pinned"], &told["outputs"], &told["unfit"]), (&json("true"), &json("3"), &json("1")));
    assert_eq!(world.run("run show file=c.json").code, 10);
    assert_eq!(world.run("learn show --pin").code, 0);
    assert_eq!(world.run("run show file=c.json").code, 0);

    assert_eq!(world.run("learn show --unpin").code, 0);
    assert!(world.run("learn show --show").out.contains("not pinned"));
    assert_eq!(world.run("learn show --forget").code, 0);
    assert_eq!(world.read(LEARNED), "{\n  \"version\": 1,\n  \"tools\": {}\n}\n");
    assert_eq!(world.run("learn show --show").code, 2);
}

#[test]
fn outputs_come_from_files_in_every_form() {
    let world = world("learn_from");
    world.write("one.json", "{\n  \"id\": 1\n}\n");
    world.write("lines.jsonl", "{\"id\": 2}\n\n{\"id\": 3, \"more\": true}\n");
    world.write("results.json", r#"{"success": true, "output": {"id": 4}, "effects": []} {"success": false, "of": "data"}"#);
    let done = world.run("learn silent --from one.json lines.jsonl results.json --format json");
    assert_eq!(done.code, 0, "{}", done.err);
    let told = json(&done.out);
    assert_eq!(told["outputs"], 5);
    assert_eq!(told["schema"]["properties"]["id"]["type"], "integer");
    assert!(!world.has("ran.txt"), "outputs from files run nothing");
    let stdin = world.run_with_stdin(&["learn", "silent", "--from", "-", "--format", "json"], "5 \"text\"");
    assert_eq!(json(&stdin.out)["outputs"], 7, "{}", stdin.err);
    let before = world.read(LEARNED);
    world.write("empty.json", " \n");
    let empty = world.run("learn silent --from empty.json");
    assert!(empty.code == 2 && empty.err.contains("no output to learn from"), "{}", empty.err);
    world.write("failed.json", r#"{"success": false, "code": "x", "effects": []}"#);
    world.write("broken.json", "{\"id\": 1}\n{\"id\": ");
    for file in ["failed.json", "broken.json", "none.json"] {
        let refused = world.run(&format!("learn silent --from one.json {file}"));
        assert_eq!(refused.code, 2, "{file}: {}", refused.err);
        assert!(refused.err.contains(file), "{}", refused.err);
        assert_eq!(world.read(LEARNED), before, "{file}");
    }
}

#[test]
fn only_a_tool_that_changes_nothing_is_run_and_only_one_that_says_nothing_is_learned() {
    let world = world("learn_refused");
    for (tool, code, why) in [
        ("silent", 11, "does not say whether it has side effects"),
        ("write", 11, "has side effects (write)"),
        ("typed", 2, "declares an output schema"),
        ("twice", 2, "is a composite"),
        ("nothing", 2, "no tool has the id"),
    ] {
        let refused = world.run(&format!("learn {tool} --allow write --format plain"));
        assert_eq!(refused.code, code, "{tool}: {}", refused.err);
        assert!(refused.err.contains(why), "{tool}: {}", refused.err);
    }
    assert!(!world.has("ran.txt") && !world.has(LEARNED));
    world.write("one.json", "1");
    assert_eq!(world.run("learn typed --from one.json").code, 2);
    assert!(!world.has(LEARNED));
}

#[test]
fn an_entry_that_means_nothing_any_more_is_a_warning() {
    let world = world("learn_stale");
    assert_eq!(world.run("learn show").code, 0);
    let entries = world.read(LEARNED);
    for (id, why) in [("gone", "no tool has the id `gone`"), ("typed", "declares an output schema now"), ("twice", "is a composite")] {
        world.write(LEARNED, &entries.replace("\"show\"", &format!("\"{id}\"")));
        let check = world.run("check --format plain");
        assert_eq!(check.code, 0, "{}", check.out);
        assert!(check.out.contains(&format!("{LEARNED}:4:5: learned_unused:")) && check.out.contains(why), "{id}: {}", check.out);
        assert_eq!(world.run(&format!("learn {id} --forget")).code, 0);
        assert!(!world.run("check --format plain").out.contains("learned_unused"));
    }
}

#[test]
fn a_broken_file_is_told_with_its_place_and_never_written_over() {
    let world = world("learn_broken");
    assert_eq!(world.run("learn show").code, 0);
    let whole = world.read(LEARNED);
    for (broken, place, why) in [
        (whole.replace("\"version\": 1", "\"version\": 2"), "2:3", "newer toolwright"),
        (whole.replace("\"version\": 1,", ""), "1:1", "does not say its version"),
        (whole.replace("\"tools\"", "\"tolos\""), "3:3", "`tolos` is not known here"),
        (whole[..whole.len() / 2].to_owned(), "", "is no JSON"),
        (whole.replacen("\"version\": 1,", "\"version\": 1, \"version\": 1,", 1), "1:1", "stands twice"),
    ] {
        world.write(LEARNED, &broken);
        for command in ["run show file=a.json", "learn show", "learn show --forget"] {
            let refused = world.run(&format!("{command} --format plain"));
            assert_eq!(refused.code, 20, "{why}: {command}: {}", refused.err);
            assert!(refused.err.contains(&format!("{LEARNED}:{place}")) && refused.err.contains(why), "{why}: {}", refused.err);
            assert_eq!(world.read(LEARNED), broken);
        }
        assert_eq!(world.run("check").code, 20);
    }
    // One bad entry stops its own tool, and is kept as it is until it is forgotten.
    let two = whole.replacen("\"tools\": {", "\"tools\": {\"silent\": {\"pinned\": true, \"outputs\": \"many\"},", 1);
    world.write(LEARNED, &two);
    assert_eq!(world.run("run show file=a.json").code, 0);
    let stopped = world.run("run silent --format plain");
    assert_eq!(stopped.code, 20, "{}", stopped.err);
    assert!(stopped.err.contains("learned_unusable") && !world.has("ran.txt"), "{}", stopped.err);
    assert_eq!(world.run("learn show --times 2").code, 0);
    assert!(world.read(LEARNED).contains("\"many\""));
    assert_eq!(world.run("learn silent --forget").code, 0);
    assert_eq!(world.run("check").code, 0);
    // A pinned schema that a person broke is told where it stands.
    assert_eq!(world.run("learn show --pin").code, 0);
    let bad = world.read(LEARNED).replacen("\"type\": \"integer\"", "\"type\": \"intger\"", 1);
    world.write(LEARNED, &bad);
    let check = world.run("check --format plain");
    let line = 1 + bad.lines().position(|line| line.contains("intger")).unwrap();
    assert!(check.code == 20 && check.out.contains(&format!("{LEARNED}:{line}:")), "{}", check.out);
}

#[test]
fn a_tool_of_a_server_is_learned_like_any_other() {
    let world = World::new("learn_server");
    world.copy("server.sh", "server.sh");
    world.write("toolwright.yaml", "sources:\n  s: {command: sh, args: [server.sh], trust: hints}\n");
    assert_eq!(world.run("learn s_store").code, 11);
    assert!(!world.has("stored.txt"));
    assert_eq!(world.run("learn s_show --times 3 --pin").code, 0);
    let described = json(&world.run("describe s_show --format json").out);
    assert_eq!((&described["learned"]["outputs"], &described["outputSchema"]["type"]), (&json("3"), &json("\"string\"")));
    assert_eq!(world.run("run s_show").out, "hello\n");
}

#[test]
fn a_failing_run_teaches_nothing() {
    let world = world("learn_fails");
    std::fs::remove_file(world.dir.join("b.json")).unwrap();
    let failed = world.run("learn show");
    assert_eq!(failed.code, 10, "{}", failed.err);
    assert!(!world.has(LEARNED));
}

#[test]
fn each_file_speaks_about_its_own_tools() {
    let mut world = world("learn_layers");
    world.set("TOOLWRIGHT_CONFIG_DIR", world.dir.join("own").to_str().unwrap().to_owned().as_str());
    world.write("own/config.yaml", "sources:\n  mine:\n    tools:\n      hello: {argv: [echo, '\"hi\"'], effect: read, stdout: json}\n");
    assert_eq!(world.run("learn hello").code, 0);
    assert!(world.has(&format!("own/{LEARNED}")) && !world.has(LEARNED));
    // A project's file pins nothing of the user's.
    let own = world.read(&format!("own/{LEARNED}"));
    world.write(LEARNED, &own.replace("\"pinned\": false", "\"pinned\": true").replace("\"type\": \"string\"", "\"type\": \"integer\""));
    std::fs::remove_file(world.dir.join(format!("own/{LEARNED}"))).unwrap();
    assert_eq!(world.run("run hello").out, "hi\n");
    let check = world.run("check --format plain");
    assert!(check.out.contains("is a tool of another file"), "{}", check.out);
}

/// A value of `env` is in no file and on no terminal, as a text or as a key, and what is learned instead holds in every run.
#[test]
fn no_secret_is_learned() {
    let secret = "hunter22-and-more";
    let world = World::new("learn_secret");
    world.write(
        "toolwright.yaml",
        "sources: {s: {tools: {t: {argv: [sh, print.sh], effect: read, stdout: json, env: {K: hunter22-and-more}}}}}\n",
    );
    world.write("print.sh", r#"printf '{"%s": 1, "kind": "%s", "code": "https://x/%s"}' "$K" "$K" "$K""#);
    let ran = world.run("run t");
    assert_eq!(ran.code, 0, "{}", ran.err);
    let learned = world.run("learn t --times 30");
    assert_eq!(learned.code, 0, "{}", learned.err);
    let pinned = world.run("learn t --pin");
    for text in [&learned.out, &learned.err, &pinned.out, &world.read(LEARNED)] {
        assert!(!text.contains(secret) && !text.contains("hunter22"), "{text}");
    }
    let schema = &json(&world.read(LEARNED))["tools"]["t"]["schema"];
    assert_eq!(schema["properties"], serde_json::json!({"kind": {"type": "string"}, "code": {"type": "string"}}), "{schema}");
    assert_eq!(world.run("run t").code, 0);
    assert_eq!(world.run("check --deny warnings").code, 0);
}

#[test]
fn an_entry_that_contradicts_itself_is_not_taken() {
    let world = world("learn_contradiction");
    world.write("one.json", "{\"id\": 1}");
    assert_eq!(world.run("learn silent --from one.json").code, 0);
    let whole = world.read(LEARNED);
    for (from, to, why) in
        [("\"unchanged\": 0", "\"unchanged\": 9", "more outputs brought nothing new"), ("\"outputs\": 1", "\"outputs\": 0", "of no output")]
    {
        assert!(whole.contains(from), "{whole}");
        world.write(LEARNED, &whole.replace(from, to));
        let check = world.run("check --format plain");
        assert!(check.code == 20 && check.out.contains("learned_unusable") && check.out.contains(why), "{}", check.out);
    }
}

//! From the command line to a tool's input, and from its output to standard output.

use crate::world::World;

#[test]
fn input_comes_from_json_files_standard_input_and_pairs() {
    let world = World::with("input", "notes.yaml");
    world.write("input.json", "{\"name\": \"a.txt\"}");
    let expected = (0, "one two three\n");
    for args in [
        vec!["run", "read_note", "name=a.txt"],
        vec!["run", "read_note", "--input", "{\"name\": \"a.txt\"}"],
        vec!["run", "read_note", "--input", "@input.json"],
        vec!["run", "read_note", "--input", "{\"name\": \"b\"}", "name:=\"a.txt\""],
        vec!["run", "--file", "toolwright.yaml", "read_note", "name=a.txt"],
    ] {
        let done = world.run_args(&args);
        assert_eq!((done.code, done.out.as_str()), expected, "{args:?}: {}", done.err);
    }
    let piped = world.run_with_stdin(&["run", "read_note", "--input", "-"], "{\"name\": \"a.txt\"}");
    assert_eq!((piped.code, piped.out.as_str()), expected, "{}", piped.err);
}

#[test]
fn what_does_not_fit_is_told_before_anything_runs() {
    let world = World::with("misfit", "notes.yaml");
    let cases = [
        ("run sleep secnds=1", "did you mean `seconds`?"),
        ("run sleep seconds=long", "`seconds` is of type number"),
        ("run sleep", "seconds"),
        ("run sleep seconds", "write key=value"),
        ("run sleep --input [1", "--input"),
        ("run sleep --input @missing.json", "missing.json"),
        ("run sleep --input [1] seconds=1", "pairs are members of an object"),
        ("run slep", "did you mean `sleep`?"),
        ("graph count", "no composite"),
        ("explain step_not_chainble", "did you mean `step_not_chainable`?"),
        ("dry-run copy_note --output write --allow write_note", "names no step"),
        ("frobnicate", "unrecognized subcommand"),
    ];
    for (line, words) in cases {
        let done = world.run(line);
        assert_eq!((done.code, done.out.as_str()), (2, ""), "{line}: {}", done.err);
        assert!(done.err.contains(words), "{line}: {}", done.err);
    }
}

#[test]
fn standard_output_is_only_the_result() {
    let world = World::with("result", "notes.yaml");
    let allow = "from=a.txt to=b.txt --allow write_note";
    let human = world.run(&format!("run copy_note {allow}"));
    assert_eq!(human.out, "{\n  \"words\": 3,\n  \"text\": \"one two three\"\n}\n");
    assert_eq!(human.err, "");
    let json = world.run(&format!("run copy_note {allow} --format json"));
    assert_eq!(json.out, human.out);
    let plain = world.run(&format!("run copy_note {allow} --format plain"));
    assert_eq!(plain.out, "{\"words\":3,\"text\":\"one two three\"}\n");
    let text = world.run("run read_note name=a.txt --format json");
    assert_eq!(text.out, "\"one two three\"\n");
}

#[test]
fn dry_runs_leave_effects_out_and_rehearsals_enter_composites() {
    let world = World::with("dry", "notes.yaml");
    let allow = "--allow write_note --allow copy_note";
    let missing = world.run(&format!("dry-run copy_note from=a.txt to=b.txt {allow}"));
    assert_eq!(missing.code, 2);
    assert!(missing.err.contains("dry_run_needs_output"), "{}", missing.err);
    let dry = format!("dry-run copy_note from=a.txt to=b.txt {allow} --output write=\"x\"");
    let dry = world.run(&dry);
    assert_eq!(dry.code, 0, "{}", dry.err);
    assert!(dry.out.contains("`write` would run `write_note`"), "{}", dry.out);
    assert!(dry.out.contains("\"text\": \"one two three\""), "{}", dry.out);
    let json = world.run(&format!("rehearse outer {allow} --outputs {{\"inner/write\":\"x\"}} --format json"));
    assert_eq!(json.code, 0, "{}", json.err);
    let result: serde_json::Value = serde_json::from_str(&json.out).unwrap();
    assert_eq!(result["effects"][0]["via"], serde_json::json!(["inner"]));
    assert_eq!(result["effects"][0]["wouldRun"], true);
    let refused = world.run("dry-run copy_note from=a.txt to=b.txt --output write=\"x\"");
    assert_eq!(refused.code, 11);
    assert!(!world.has("b.txt"));
}

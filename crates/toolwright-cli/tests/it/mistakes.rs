//! Everything that is wrong with a file, at once, with its places.

use crate::world::{World, golden};

#[test]
fn every_mistake_of_a_file_at_once_in_three_forms() {
    let world = World::new("mistakes");
    world.copy("broken.yaml", "broken.yaml");
    for (form, name) in [("human", "broken.txt"), ("plain", "broken-plain.txt"), ("json", "broken.json")] {
        let done = world.run(&format!("check broken.yaml --offline --format {form}"));
        assert_eq!((done.code, done.err.as_str()), (20, ""));
        assert!(!done.out.contains("canary-in-the-file"), "{}", done.out);
        golden(name, &done.out);
    }
}

#[test]
fn a_json_file_works_the_same_way() {
    let world = World::new("json");
    world.write(
        "toolwright.json",
        "{\"sources\": {\"s\": {\"tools\": {\n\t\"echo_it\": {\"argv\": [\"printf\", \"%s\", \"{text}\"], \"effect\": \"read\",\n\t\t\"description\": \"\\ud83d\\ude00\"}}}},\n \"composites\": {\"c\": {\"steps\": [{\"name\": \"a\", \"tool\": \"echo_it\", \"inputMapping\": {\"text\": \"\\u0024input..t\"}}]}}}\n",
    );
    let check = world.run("check --format plain");
    assert_eq!(check.code, 20);
    assert_eq!(
        check.out,
        "toolwright.json:4:104: invalid_reference: `$input..t` is not a reference: expected a name after `.` (did you mean `$input.t`? for the text itself write `$$…`)\n"
    );
    assert_eq!(world.run("run echo_it text=hi").out, "hi\n");
}

#[test]
fn a_mistake_stops_only_what_needs_it() {
    let world = World::with("mistake_elsewhere", "notes.yaml");
    let text = world.read("toolwright.yaml").replace("argv: [wc, -w]", "argv: [wc, \"{words\"]");
    world.write("toolwright.yaml", &text);
    assert_eq!(world.run("run read_note name=a.txt").out, "one two three\n");
    let broken = world.run("run count text=x");
    assert_eq!(broken.code, 20);
    assert!(broken.err.contains("config_bad_template"), "{}", broken.err);
    let above = world.run("run copy_note from=a.txt to=b.txt --allow write_note");
    assert_eq!(above.code, 20);
    assert!(above.err.contains("config_bad_template"), "{}", above.err);
    assert!(!world.has("b.txt"));
    let list = world.run("list").out;
    assert!(list.contains("count") && list.contains("broken"), "{list}");
}

#[test]
fn a_mistake_in_the_file_as_a_whole_stops_everything() {
    for (name, text, code) in [
        ("whole_syntax", "sources: [\n", "config_syntax"),
        ("whole_member", "sources: {}\npolicies: {}\n", "config_unknown_member"),
        ("whole_policy", "policy: {sideEffectingTool: [x]}\n", "config_unknown_member"),
    ] {
        let world = World::new(name);
        world.write("toolwright.yaml", text);
        let done = world.run("run anything");
        assert_eq!(done.code, 20, "{}", done.err);
        assert!(done.err.contains(code), "{}", done.err);
        assert_eq!(done.out, "");
    }
}

#[test]
fn ids_are_never_taken_twice() {
    let world = World::new("twice");
    world.write(
        "toolwright.yaml",
        "sources:\n  a: {tools: {x: {argv: [echo, a], effect: read}}}\n  b: {tools: {x: {argv: [echo, b], effect: read}, y: {argv: [echo, y], effect: read}}}\ncomposites:\n  x: {steps: [{name: s, tool: y}]}\n",
    );
    let done = world.run("check --format plain");
    assert_eq!(done.code, 20);
    let lines: Vec<&str> = done.out.lines().collect();
    assert_eq!(lines.len(), 2, "{}", done.out);
    assert!(lines[0].starts_with("toolwright.yaml:3:15: config_duplicate_id: two tools have the id `x`"));
    assert!(lines[1].starts_with("toolwright.yaml:5:3: config_duplicate_id"), "{}", lines[1]);
    assert_eq!(world.run("run x").out, "");
}

#[test]
fn files_are_found_here_and_above_and_their_absence_is_told() {
    let world = World::with("found", "notes.yaml");
    std::fs::create_dir_all(world.dir.join("x/y")).unwrap();
    let below = world.command(&["check", "--format", "plain"]).current_dir(world.dir.join("x/y")).output();
    let text = String::from_utf8(below.unwrap().stdout).unwrap();
    assert!(text.starts_with("../../toolwright.yaml:"), "{text}");
    let nothing = world.run("check --file nothing.yaml");
    assert_eq!(nothing.code, 2);
    assert!(nothing.err.contains("there is no file `nothing.yaml`"), "{}", nothing.err);
    let empty = World::new("empty");
    let here = empty.command(&["list"]).current_dir("/").output().unwrap();
    assert_eq!(here.status.code(), Some(2));
}

#[test]
fn a_folder_stands_for_the_file_in_it_and_nothing_else_is_waited_for() {
    let world = World::with("folder", "notes.yaml");
    world.write("sub/toolwright.yml", "sources: {s: {tools: {t: {argv: [echo, hi], effect: read}}}}\n");
    world.write("bare/other.txt", "");
    assert_eq!(world.run("run t -f sub").out, "hi\n");
    assert_eq!(world.run("check sub").code, 0);
    let bare = world.run("check bare");
    assert_eq!(bare.code, 2);
    assert!(bare.err.contains("`bare` is a folder, and there is no configuration in it"), "{}", bare.err);
    #[cfg(unix)]
    {
        assert!(std::process::Command::new("mkfifo").arg(world.dir.join("pipe")).status().unwrap().success());
        for line in ["check pipe", "list -f pipe", "list -f /dev/null"] {
            let pipe = world.run(line);
            assert_eq!(pipe.code, 2, "{line}");
            assert!(pipe.err.contains("is no regular file") && pipe.err.contains("cannot be read again"), "{}", pipe.err);
        }
    }
}

/// Files that were damaged in any way never make the command break down.
#[test]
fn damaged_files_are_told_and_never_break_the_command() {
    let world = World::new("damaged");
    let whole = std::fs::read(crate::world::fixtures().join("notes.yaml")).unwrap();
    let mut state: u64 = 0x5eed;
    let mut next = |bound: usize| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(state >> 33).unwrap() % bound
    };
    for round in 0..150 {
        let mut bytes = whole.clone();
        for _ in 0..=next(4) {
            let at = next(bytes.len());
            match next(4) {
                0 => bytes[at] = u8::try_from(next(256)).unwrap(),
                1 => bytes.truncate(at.max(1)),
                2 => {
                    bytes.remove(at);
                }
                _ => bytes.insert(at, b"[]{}:,\"'|>&*!%@`#-\n\t $"[next(22)]),
            }
        }
        std::fs::write(world.dir.join("toolwright.yaml"), &bytes).unwrap();
        let done = world.run("check --offline");
        assert!([0, 2, 11, 20].contains(&done.code), "round {round}: {done:?}");
        assert!(!done.err.contains("panicked"), "round {round}: {done:?}");
    }
}

/// C48 of the field failures: one message for each bad reference, and nothing runs.
#[test]
fn every_malformed_reference_is_told_before_anything_runs() {
    let world = World::new("malformed");
    world.write(
        "toolwright.yaml",
        r#"sources:
  s:
    tools:
      a: {argv: [sh, -c, "echo ran > ran.txt"], effect: read}
      b: {argv: [echo, "{p?}", "{q?}", "{r?}", "{s?}", "{t?}"], effect: read}
composites:
  c:
    mode: compose
    steps:
      - {name: s1, tool: a, inputMapping: {}}
      - name: s2
        tool: b
        inputMapping: {p: "$steps[0", q: "$input..q", r: "$prev.", s: "$steps[one].x", t: "$prev.items[]"}
"#,
    );
    let done = world.run("run c --format plain --input {\"q\":1}");
    assert_eq!((done.code, done.out.as_str()), (20, ""));
    let lines: Vec<&str> = done.err.lines().collect();
    assert_eq!(lines.len(), 5, "{}", done.err);
    for text in ["$steps[0", "$input..q", "$prev.", "$steps[one].x", "$prev.items[]"] {
        let line = lines.iter().find(|line| line.contains(&format!("`{text}`")));
        assert!(line.unwrap().starts_with("toolwright.yaml:13:"), "{text}: {}", done.err);
    }
    assert!(!world.has("ran.txt"));
}

/// A file, and what it names, is shown; it must not move the cursor of whoever looks.
#[test]
fn a_file_cannot_command_the_terminal() {
    let world = World::new("terminal");
    world.write(
        "toolwright.yaml",
        "sourcs: \"\u{1b}[2J\"\ncomposites:\n  c: {description: \"\\e[31mred\", steps: [{name: a, tool: \"\\e[31mred\"}]}\npolicy: {sideEffectingTools: [\"\\e[31mx\"]}\n",
    );
    let text = world.read("toolwright.yaml");
    for line in ["check", "list", "run c", "describe c", "trust toolwright.yaml"] {
        let done = world.run(line);
        assert!(!done.out.contains('\u{1b}') && !done.err.contains('\u{1b}'), "{line}: {done:?}");
    }
    world.write("toolwright.yaml", text.split_once('\n').unwrap().1);
    for line in ["check", "list", "run c", "describe c", "graph c", "trust toolwright.yaml", "trust toolwright.yaml --yes"] {
        let done = world.run(line);
        assert!(!done.out.contains('\u{1b}') && !done.err.contains('\u{1b}'), "{line}: {done:?}");
    }
}

#[test]
fn a_bad_schema_is_shown_where_it_is_written() {
    let world = World::new("bad_schema");
    world.write(
        "toolwright.yaml",
        r#"sources:
  s:
    tools:
      a:
        argv: [echo, "{x}"]
        input: {type: object, required: [x], properties: {x: {type: strin}}}
      b:
        argv: [echo]
        output: {type: 7}
  t: {command: x}
mcpServers:
  s: {command: x}
composites:
  c:
    input: {type: object, required: yes}
    steps: [{name: s, tool: b}]
"#,
    );
    let done = world.run("check --offline --format plain");
    let places: Vec<&str> = done.out.lines().map(|line| line.split(": ").next().unwrap()).collect();
    assert_eq!(places, ["toolwright.yaml:6:69", "toolwright.yaml:9:24", "toolwright.yaml:12:3", "toolwright.yaml:15:37"], "{}", done.out);
}

#[test]
fn a_place_for_an_idempotency_key_that_is_none_is_told_where_it_stands() {
    let world = World::new("key_places");
    let tool = |key: &str| {
        format!(
            "sources:\n  s:\n    tools:\n      t: {{argv: [echo, \"{{a}}\"], effect: write, env: {{TAKEN: x}}, idempotencyKey: {key}}}\n"
        )
    };
    for (key, at, code, says) in [
        ("{env: A=B}", 86, "config_bad_template", "`A=B` is no name of a variable"),
        ("{env: TAKEN}", 86, "config_bad_template", "the variable `TAKEN` is set to something else"),
        ("{argument: b}", 91, "config_bad_template", "no element of argv and no stdin uses `b`"),
        ("{}", 80, "config_bad_value", "nothing says where the idempotency key goes"),
        ("{env: A, argument: a}", 80, "config_bad_value", "the idempotency key goes to two places"),
        ("{enw: A}", 81, "config_unknown_member", "the place of an idempotency key has no member `enw`"),
        ("A", 80, "config_wrong_type", "the place of an idempotency key is a mapping"),
        ("{env: [A]}", 86, "config_wrong_type", "`env` is text"),
    ] {
        world.write("toolwright.yaml", &tool(key));
        let done = world.run("check --format plain");
        assert_eq!((done.code, done.out.lines().count()), (20, 1), "{key}: {}", done.out);
        assert!(done.out.starts_with(&format!("toolwright.yaml:4:{at}: {code}: {says}")), "{key}: {}", done.out);
    }
}

#[test]
fn a_command_finds_the_key_of_its_call_where_the_file_says() {
    let world = World::new("keys");
    world.write(
        "toolwright.yaml",
        "sources:\n  s:\n    tools:\n      by_env: {argv: [sh, -c, 'printf %s \"$REQUEST_KEY\"'], effect: idempotent, idempotencyKey: {env: REQUEST_KEY}}\n      \
         by_argument: {argv: [printf, \"%s %s\", \"--key={key}\", \"{text}\"], effect: idempotent, idempotencyKey: {argument: key}}\n",
    );
    assert_eq!(world.run("check").code, 0);
    let by_env = world.run("run by_env");
    assert!(by_env.out.trim_end().ends_with("/by_env"), "{} {}", by_env.out, by_env.err);
    let by_argument = world.run("run by_argument text=hi");
    assert!(by_argument.out.starts_with("--key=") && by_argument.out.contains("/by_argument hi"), "{}", by_argument.out);
    // It is no argument of the tool.
    let given = world.run("run by_argument text=hi key=forged");
    assert_eq!((given.code, given.out.as_str()), (2, ""), "{}", given.err);
    assert!(given.err.contains("the tool takes no `key`"), "{}", given.err);
}

/// Sends a mail, and looks whether it was sent.
const MAIL: &str = r#"
sources:
  mail:
    tools:
      send_mail: { argv: [tee, -a, sent.txt], stdin: "{key} {to}", effect: write, idempotencyKey: { argument: key } }
      find_mail: { argv: [grep, -cF, "--regexp={request} ", sent.txt], exitCodes: [0, 1], effect: read }
      odd: { argv: [echo, x] }
composites:
  find_both: { steps: [{ name: a, tool: find_mail, inputMapping: { request: $input.r } }] }
tools:
  send_mail:
    reconcile:
      tool: find_mail
      inputMapping: { request: $key }
      happened: ["1"]
      notHappened: ["0"]
      output: $input.to
"#;

#[test]
fn what_is_wrong_with_a_way_to_find_out_is_told_where_it_stands() {
    let world = World::new("reconcile");
    world.write("toolwright.yaml", MAIL);
    assert_eq!(world.run("check").code, 0, "{}", world.run("check").out);
    let whole = "reconcile:\n      tool: find_mail\n      inputMapping: { request: $key }\n      happened: [\"1\"]\n      notHappened: [\"0\"]\n      output: $input.to";
    for (from, to, at, code, says) in [
        (
            "tool: find_mail\n",
            "tool: fnd_mail\n",
            "13:13",
            "config_unknown_tool",
            "no tool has the id `fnd_mail` (did you mean `find_mail`?)",
        ),
        ("tool: find_mail\n", "tool: send_mail\n", "13:13", "config_bad_value", "`send_mail` has side effects, and asking must have none"),
        ("tool: find_mail\n", "tool: odd\n", "13:13", "config_bad_value", "nothing says whether `odd` has side effects"),
        ("tool: find_mail\n", "tool: find_both\n", "13:13", "config_bad_value", "`find_both` is a composite"),
        (
            "tool: find_mail\n",
            "tol: find_mail\n",
            "13:7",
            "config_unknown_member",
            "a way to find out has no member `tol` (did you mean `tool`?)",
        ),
        ("request: $key", "request: $input.tu", "14:39", "unresolved_reference", "the input has no `tu` (did you mean `$input.to`?)"),
        ("request: $key", "request: [$key]", "14:23", "invalid_input", "`request` of `find_mail` takes strings, and this gives arrays"),
        ("request: $key", "reqest: $key", "14:31", "invalid_input", "`find_mail` takes no argument `reqest`"),
        ("request: $key", "request: $kye", "14:33", "invalid_reference", "`$kye` is not a reference"),
        ("{ request: $key }", "7", "14:21", "config_wrong_type", "`inputMapping` is a mapping of arguments"),
        ("[\"0\"]", "[\"1\"]", "16:21", "config_bad_value", "this answer stands under `happened` too"),
        ("output: $input.to", "output: $prev.x", "17:21", "unresolved_reference", "`find_mail` has no `x`: there is a string"),
        ("output: $input.to", "output: 7", "17:15", "invalid_input", "`output` of `send_mail` takes strings, and this is `7`"),
        ("output: $input.to", "answer: $prev.status", "17:21", "unresolved_reference", "`find_mail` has no `status`"),
        ("output: $input.to", "answer: status", "17:15", "config_bad_value", "`status` is no reference"),
        (whole, "reconcile: find_mail", "12:16", "config_wrong_type", "a way to find out is a mapping"),
        (
            whole,
            "reconcile: { tool: find_mail, inputMapping: { request: $key } }",
            "12:5",
            "config_bad_value",
            "no answer would say anything",
        ),
    ] {
        let tools = MAIL.find("tools:\n  send_mail").unwrap();
        let (before, after) = MAIL.split_at(tools);
        assert!(after.contains(from), "{from}");
        world.write("toolwright.yaml", &format!("{before}{}", after.replacen(from, to, 1)));
        let done = world.run("check --format plain");
        assert_eq!((done.code, done.out.lines().count()), (20, 1), "{to}: {}", done.out);
        assert!(done.out.starts_with(&format!("toolwright.yaml:{at}: {code}: {says}")), "{to}: {}", done.out);
        // Half a word of the host is none: the tool is not called without what was to be said of it.
        assert_eq!(world.run("run send_mail to=ann").code, 20);
    }
    assert!(!world.has("sent.txt"));
}

/// What a command prints is read as text, as lines or as JSON: an output schema that can never take that is told at once.
#[test]
fn an_output_that_can_never_be_read_so_is_told() {
    let file = |stdout: &str, output: &str| {
        format!("sources:\n  s:\n    tools:\n      t:\n        argv: [echo, x]\n        effect: read\n{stdout}        output: {output}\n")
    };
    let (none, lines, json) = ("", "        stdout: lines\n", "        stdout: json\n");
    for (stdout, output, told) in [
        (none, "{type: object}", "`stdout: text` gives one text, and `output` wants `object`"),
        (none, "{type: integer}", "did you forget `stdout: json`?"),
        (none, "{type: array, items: {type: object}}", "`output` wants `array`"),
        (none, "false", "leave `output` out"),
        (lines, "{type: array, items: {type: integer}, minItems: 1}", "`stdout: lines` gives a list of texts"),
        (lines, "{type: string}", "`output` wants `string`"),
    ] {
        let world = World::new("output_never");
        world.write("toolwright.yaml", &file(stdout, output));
        let check = world.run("check --format plain");
        let place = format!("toolwright.yaml:{}:9: invalid_output: ", if stdout.is_empty() { 7 } else { 8 });
        assert!(check.code == 20 && check.out.starts_with(&place) && check.out.contains(told), "{output}: {}", check.out);
        assert_eq!(check.out.lines().count(), 1, "{output}: {}", check.out);
    }
    for (stdout, output) in [
        (none, "{type: string, minLength: 1}"),
        (none, "{enum: [x, y]}"),
        (none, "true"),
        (none, "{type: [object, string]}"),
        (lines, "{type: array, items: {type: integer}}"),
        (lines, "{type: array, maxItems: 3}"),
        (json, "{type: object}"),
    ] {
        let world = World::new("output_may_be");
        world.write("toolwright.yaml", &file(stdout, output));
        assert_eq!(world.run("check --deny warnings").code, 0, "{output}");
    }
}

/// Arguments are always an object; the reader, the JSON Schema and the documents say the same of `input`.
#[test]
fn an_input_schema_is_a_mapping() {
    for value in ["true", "false"] {
        let world = World::new("input_boolean");
        world.write("toolwright.yaml", &format!("sources: {{s: {{tools: {{t: {{argv: [echo], effect: read, input: {value}}}}}}}}}\n"));
        let check = world.run("check --format plain");
        assert!(check.code == 20 && check.out.contains("arguments are always an object"), "{}", check.out);
        let schema: serde_json::Value = serde_json::from_str(&world.run("schema").out).unwrap();
        for (def, member, kind) in [("commandTool", "input", "object"), ("composite", "input", "object")] {
            assert_eq!(schema["$defs"][def]["properties"][member]["type"], kind, "{def}");
        }
        world.write("toolwright.yaml", &format!("sources: {{s: {{tools: {{t: {{argv: [echo], effect: read, output: {value}}}}}}}}}\n"));
        assert_eq!(world.run("check").code, if value == "true" { 0 } else { 20 });
    }
}

/// A value in the file that the command line of its tool refuses in every run is told before any.
#[test]
fn a_literal_that_a_command_line_never_takes_is_told() {
    let file = |mapping: &str| {
        format!(
            "sources:\n  s:\n    tools:\n      show: {{argv: [echo, \"{{text}}\", \"n={{n?}}\", \"{{more*?}}\"], effect: read}}\n      \
             late: {{argv: [echo, --, \"{{text}}\"], stdin: \"{{in?}}\", effect: read}}\n      \
             open: {{argv: [echo, \"{{any}}\"], effect: read, input: {{type: object, properties: {{any: {{}}}}, required: [any]}}}}\n      \
             two: {{argv: [echo, \"{{a?}}{{b?}}\"], effect: read}}\n\
             composites:\n  c:\n    steps:\n      - {{name: a, {mapping}}}\n"
        )
    };
    for (mapping, told) in [
        ("tool: show, inputMapping: {text: \"-x\"}", "`-x` begins with `-`"),
        ("tool: show, inputMapping: {text: \"a\\0b\"}", "the value holds a NUL byte"),
        ("tool: show, inputMapping: {text: x, n: \"a\\0b\"}", "the value holds a NUL byte"),
        ("tool: show, inputMapping: {text: x, more: [a, \"-b\", $input.c]}", "`-b` begins with `-`"),
        ("tool: open, inputMapping: {any: null}", "`any` is null"),
        ("tool: open, inputMapping: {any: [1]}", "no form on a command line"),
        ("tool: two, inputMapping: {a: \"-\", b: $input.b}", "`-…` begins with `-`"),
    ] {
        let world = World::new("literal_refused");
        world.write("toolwright.yaml", &file(mapping));
        let check = world.run("check --format plain");
        assert!(check.code == 20 && check.out.contains("invalid_input: no run of `"), "{mapping}: {}", check.out);
        assert!(check.out.contains(told) && check.out.lines().count() == 1, "{mapping}: {}", check.out);
        assert_eq!(world.run("run c b=x c=x").code, 20, "{mapping}");
    }
    for mapping in [
        "tool: show, inputMapping: {text: \"a-x\", n: \"-1\", more: []}",
        "tool: show, inputMapping: {text: $input.text}",
        "tool: two, inputMapping: {a: \"-x\"}",
        "tool: two, inputMapping: {a: \"-x\", b: \"$input.b?\"}",
        "tool: late, inputMapping: {text: \"-x\", in: \"a\\0b\"}",
        "tool: two, inputMapping: {a: $input.a, b: \"-x\"}",
        "tool: show, inputMapping: {text: \"$$x\"}",
    ] {
        let world = World::new("literal_taken");
        world.write("toolwright.yaml", &file(mapping));
        let check = world.run("check --format plain");
        assert_eq!(check.code, 0, "{mapping}: {}", check.out);
    }
    // What the schema refuses as well is told once.
    let world = World::new("literal_once");
    world.write("toolwright.yaml", &file("tool: show, inputMapping: {text: null}"));
    let check = world.run("check --format plain");
    assert_eq!(check.out.lines().count(), 1, "{}", check.out);
}

/// What an alias stands for is written once: the step that uses it is named, and the place of the alias is told.
#[test]
fn a_mistake_behind_an_alias_names_its_step() {
    let world = World::new("alias_step");
    world.write(
        "toolwright.yaml",
        "sources:\n  s:\n    tools:\n      one: {argv: [echo, \"{text}\"], effect: read}\n      two: {argv: [echo, \"{n}\"], effect: read}\n\
         composites:\n  c:\n    steps:\n      - {name: a, tool: one, inputMapping: &m {text: x}}\n      - name: b\n        tool: two\n        inputMapping: *m\n",
    );
    let check = world.run("check --format json");
    let document: serde_json::Value = serde_json::from_str(&check.out).unwrap();
    let findings = document["findings"].as_array().unwrap();
    assert_eq!(findings.len(), 2, "{}", check.out);
    let text = findings.iter().find(|finding| finding["message"].as_str().unwrap().contains("takes no argument `text`")).unwrap();
    assert!(text["message"].as_str().unwrap().contains("(step `b`, which takes it from here)"), "{text}");
    assert_eq!((&text["line"], &text["related"][0]["line"]), (&serde_json::json!(9), &serde_json::json!(12)), "{text}");
}

/// Words for what was not looked at, for a name that is too long, and for a file without a mistake.
#[test]
fn a_check_says_what_it_did_not_do() {
    let world = World::new("not_checked");
    world.write(
        "toolwright.yaml",
        "sources: {far: {command: no-such-server}}\ncomposites: {c: {steps: [{name: a, tool: far_look, inputMapping: {zzz: $input.x}}]}}\n",
    );
    let check = world.run("check --offline");
    assert_eq!(check.code, 0);
    assert!(
        check.out.contains("nothing is wrong in what was checked\n1 composite was not checked") && check.out.contains("`c`"),
        "{}",
        check.out
    );
    let plain = world.run("check --offline --format plain");
    assert!(plain.out.is_empty() && plain.err.contains("1 composite was not checked"), "{}", plain.err);
    let json: serde_json::Value = serde_json::from_str(&world.run("check --offline --format json").out).unwrap();
    assert_eq!(json["notChecked"], serde_json::json!(["c"]));

    let long = World::new("long_key");
    long.write("toolwright.yaml", &format!("{}: 1\n", "k".repeat(500)));
    let plain = long.run("check --format plain").out;
    assert!(plain.lines().next().unwrap().len() < 400, "{plain}");

    let clean = World::new("fix_clean");
    clean.write("toolwright.yaml", "sources: {}\n");
    assert!(clean.run("check --fix").out.contains("nothing was changed: there is nothing to mend"));
}

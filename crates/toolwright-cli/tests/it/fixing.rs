//! `check --fix`: what leaves no choice is changed, and nothing else.

use crate::world::World;

const TOOLS: &str = "sources:\n  s:\n    tools:\n      shout: {argv: [echo, \"{text}\"], effect: read}\n";

fn world(name: &str, text: &str) -> World {
    let world = World::new(name);
    world.write("toolwright.yaml", text);
    world
}

fn json(text: &str) -> serde_json::Value {
    serde_json::from_str(text).unwrap()
}

/// What is written, what is written after `--fix`, and whether it then checks.
const FIXED: &[(&str, &str, &str)] = &[
    ("member", "compositse: {}\n", "composites: {}\n"),
    ("quoted_member", "\"compositse\": {}\n", "\"composites\": {}\n"),
    ("json", "{\"compositse\": {}}\n", "{\"composites\": {}}\n"),
    ("kept_apart", "composite: {} # kept\r\n", "composites: {} # kept\r\n"),
    (
        "tool",
        "sources: {s: {tools: {shout: {argv: [echo], effect: read}}}}\ncomposites: {c: {steps: [{name: a, tool: 'shuot'}]}}\n",
        "sources: {s: {tools: {shout: {argv: [echo], effect: read}}}}\ncomposites: {c: {steps: [{name: a, tool: 'shout'}]}}\n",
    ),
    (
        "argument",
        "sources: {s: {tools: {shout: {argv: [echo, \"{text?}\"], effect: read}}}}\ncomposites: {c: {steps: [{name: a, tool: shout, inputMapping: {txet: \"ä\"}}]}}\n",
        "sources: {s: {tools: {shout: {argv: [echo, \"{text?}\"], effect: read}}}}\ncomposites: {c: {steps: [{name: a, tool: shout, inputMapping: {text: \"ä\"}}]}}\n",
    ),
    (
        "reference",
        "sources: {s: {tools: {shout: {argv: [echo, \"{text}\"], effect: read}}}}\ncomposites: {c: {steps: [{name: a, tool: shout, inputMapping: {text: \"$inptu.x\"}}]}}\n",
        "sources: {s: {tools: {shout: {argv: [echo, \"{text}\"], effect: read}}}}\ncomposites: {c: {steps: [{name: a, tool: shout, inputMapping: {text: \"$input.x\"}}]}}\n",
    ),
    (
        "brackets_want_quotes",
        "sources: {s: {tools: {shout: {argv: [echo, \"{text}\"], effect: read}}}}\ncomposites:\n  c:\n    steps:\n      - {name: a, tool: shout, inputMapping: {text: $input.01.x}}\n      - name: b\n        tool: shout\n        inputMapping:\n          text: $steps.0\n",
        "sources: {s: {tools: {shout: {argv: [echo, \"{text}\"], effect: read}}}}\ncomposites:\n  c:\n    steps:\n      - {name: a, tool: shout, inputMapping: {text: $input.01.x}}\n      - name: b\n        tool: shout\n        inputMapping:\n          text: \"$steps[0]\"\n",
    ),
    ("word", "sources: {s: {tools: {t: {argv: [echo], stdout: jsno}}}}\n", "sources: {s: {tools: {t: {argv: [echo], stdout: json}}}}\n"),
    ("brace", "sources: {s: {tools: {t: {argv: [echo, {x}]}}}}\n", "sources: {s: {tools: {t: {argv: [echo, \"{x}\"]}}}}\n"),
    ("flag", "sources: {s: {cleanEnv: yes, tools: {t: {argv: [echo]}}}}\n", "sources: {s: {cleanEnv: true, tools: {t: {argv: [echo]}}}}\n"),
];

#[test]
fn what_leaves_no_choice_is_changed_and_nothing_else() {
    for (name, before, after) in FIXED {
        let world = world(&format!("fix_{name}"), before);
        let checked = world.run("check --offline --format json");
        assert_eq!(checked.code, 20, "{name}: {}", checked.out);
        let dry = world.run("check --offline --fix --dry-run --format json");
        assert_eq!((dry.code, world.read("toolwright.yaml").as_str()), (20, *before), "{name}");
        assert_eq!(json(&dry.out)["applied"], false, "{name}");
        // What the document says is enough to make the change.
        let mut by_hand = (*before).to_owned();
        for finding in json(&checked.out)["findings"].as_array().unwrap().iter().rev() {
            let edit = &finding["edit"];
            let at = |name: &str| usize::try_from(edit[name].as_u64().unwrap()).unwrap();
            by_hand.replace_range(at("start")..at("end"), edit["replacement"].as_str().unwrap());
        }
        assert_eq!(by_hand, *after, "{name}");
        let done = world.run("check --offline --fix --format json");
        assert_eq!((done.code, world.read("toolwright.yaml").as_str()), (0, *after), "{name}: {}", done.out);
        let document = json(&done.out);
        assert_eq!((&document["applied"], document["findings"].as_array().unwrap().len()), (&serde_json::Value::Bool(true), 0), "{name}");
        assert!(!document["edits"].as_array().unwrap().is_empty(), "{name}");
    }
}

/// What could mean more than one thing, or would grant something, is a suggestion and no more.
#[test]
fn what_leaves_a_choice_is_left_alone() {
    let composite =
        |mapping: &str| format!("{TOOLS}composites:\n  c:\n    steps:\n      - {{name: a, tool: shout, inputMapping: {{{mapping}}}}}\n");
    for (name, text) in [
        (
            "two_names",
            "sources: {s: {tools: {t1: {argv: [echo]}, t2: {argv: [echo]}}}}\ncomposites: {c: {steps: [{name: a, tool: t3}]}}\n".to_owned(),
        ),
        (
            "far_name",
            "sources: {s: {tools: {git_push: {argv: [echo]}}}}\ncomposites: {c: {steps: [{name: a, tool: git_pull}]}}\n".to_owned(),
        ),
        ("listed", format!("{TOOLS}policy: {{sideEffectingTools: [shuot]}}\n")),
        ("said", format!("{TOOLS}tools: {{shuot: {{effect: read}}}}\n")),
        ("given", composite("text: a, txet: b")),
        ("sentence", composite("text: $input.topic and more")),
        ("any_step", composite("text: $steps")),
        ("both_mean_it", "sources: {}\ncompositse: {}\ncompsoites: {}\n".to_owned()),
        ("ambiguous", "composites: {c: {description: 007, steps: []}}\n".to_owned()),
        (
            "block",
            format!(
                "{TOOLS}composites:\n  c:\n    steps:\n      - name: a\n        tool: shout\n        inputMapping:\n          text: |-\n            $inptu.x\n"
            ),
        ),
        (
            "alias",
            format!(
                "{TOOLS}composites:\n  c: {{steps: [{{name: a, tool: shout, inputMapping: &m {{text: $inptu.x}}}}, {{name: b, tool: shout, inputMapping: *m}}]}}\n"
            ),
        ),
    ] {
        let world = world(&format!("choice_{name}"), &text);
        let done = world.run("check --offline --fix --format plain");
        assert_eq!(world.read("toolwright.yaml"), text, "{name}");
        assert!(done.out.lines().count() > 0 && done.err.contains("nothing was changed"), "{name}: {done:?}");
    }
}

#[test]
fn the_diff_is_shown_and_what_is_left_is_told() {
    let world = world(
        "fix_diff",
        &format!("{TOOLS}composites:\n  c:\n    steps:\n      - {{name: a, tool: shuot, inputMapping: {{txet: $inptu.x}}}}\n"),
    );
    let done = world.run("check --offline --fix --color always");
    let expected = "\u{1b}[31m-      - {name: a, tool: shuot, inputMapping: {txet: $inptu.x}}\u{1b}[0m\n\u{1b}[32m+      - {name: a, tool: shout, inputMapping: {txet: $input.x}}\u{1b}[0m\n2 changes made\n";
    assert!(done.out.contains(expected), "{}", done.out);
    assert_eq!(done.code, 20);
    // Only now that the tool is known can its arguments be looked at.
    assert!(done.out.contains("takes no argument `txet`"), "{}", done.out);
    let again = world.run("check --offline --fix");
    assert!(again.out.contains("1 change made") && again.out.ends_with("nothing is wrong\n"), "{}", again.out);
    assert_eq!(again.code, 0);
}

/// A tool that gives and takes these members and values, and a composite that uses it.
fn composite_over(members: &str, values: &str, mapping: &str) -> String {
    let used: Vec<String> = members.split(' ').map(|name| format!("\"{{{name}?}}\"")).collect();
    let members: Vec<String> = members.split(' ').map(|name| format!("{name}: {{type: string}}")).collect();
    let required: Vec<&str> = members.iter().map(|member| member.split(':').next().unwrap()).collect();
    let object =
        format!("type: object, properties: {{{}}}, required: [{}], additionalProperties: false", members.join(", "), required.join(", "));
    let taken = object.replace("required: [", "x: [");
    let mapping = if !mapping.starts_with('$') { mapping.to_owned() } else { format!("any: \"{mapping}\"") };
    format!(
        "sources:\n  s:\n    tools:\n      gives: {{argv: [echo], effect: read, stdout: json, output: {{{object}}}}}\n      \
         takes: {{argv: [echo, \"{{any?}}\", \"{{mode?}}\"], effect: read, input: {{type: object, properties: {{any: {{}}, mode: {{enum: [{values}]}}}}}}}}\n      \
         named: {{argv: [echo, {}], effect: read, input: {{{taken}}}}}\n\
         composites:\n  c:\n    steps:\n      - {{name: first_step, tool: gives}}\n      - {{name: second_step, tool: {}, inputMapping: {{{}}}}}\n",
        used.join(", "),
        if mapping.contains("named/") { "named" } else { "takes" },
        mapping.replace("named/", ""),
    )
}

/// Where a name of somebody's data is another word, or one of several near ones, it is not changed, however near it is.
#[test]
fn another_name_is_no_slip_of_the_pen() {
    let kept: &[(&str, &str, &str)] = &[
        ("min_price", "x", "$prev.max_price"),
        ("min_price", "x", "$steps.first_step.max_price"),
        ("git_push", "x", "$steps.first_step.git_pull"),
        ("lat lot", "x", "$steps.first_step.lut"),
        ("user_ids user_idx", "x", "$prev.user_id"),
        ("user_ids", "x", "$prev.user_id"),
        ("no", "x", "$prev.on"),
        ("no", "x", "$prev.not"),
        ("no", "x", "$prev.nu"),
        ("no", "x", "$prev.n"),
        ("from", "x", "$prev.form"),
        ("date", "x", "$prev.data"),
        ("column_2", "x", "$prev.column_1"),
        ("prices price", "x", "$prev.prcie"),
        ("x", "fast, best", "mode: fest"),
        ("x", "fast", "mode: past"),
        ("x", "test", "mode: rest"),
        ("x", "show, hide", "mode: slow"),
        ("x", "reader, writer", "mode: raeder1"),
        ("x", "price", "mode: prince"),
        ("textA textB", "x", "named/text: a"),
        ("textA", "x", "named/text: a"),
        ("text", "x", "named/tex: a, txt: b"),
        ("title", "x", "named/titel: a, tilte: b"),
        ("title", "x", "named/titel: a, title: b"),
        ("x", "x", "$input.items[*]"),
        ("x", "x", "$input.items[i]"),
        ("x", "x", "$input.items[0:2]"),
        ("x", "x", "$input..items"),
        ("x", "x", "$input."),
        ("x", "x", "$input.a?b"),
        ("x", "x", "$steps.firts_tep"),
        ("x", "x", "$steps.first_stepp.a ?? b"),
    ];
    for (members, values, mapping) in kept {
        let text = composite_over(members, values, mapping);
        let world = world("fix_other_name", &text);
        let done = world.run("check --offline --fix --format plain");
        assert_eq!(world.read("toolwright.yaml"), text, "{members} / {values} / {mapping}");
        assert!(!done.out.is_empty() && !done.out.contains(": config_"), "{mapping}: {}", done.out);
    }
    let changed: &[(&str, &str, &str, &str)] = &[
        ("title", "x", "$prev.titel", "$prev.title"),
        ("address", "x", "$prev.adress", "$prev.address"),
        ("country", "x", "$prev.contry", "$prev.country"),
        ("user_name", "x", "$prev.userName", "$prev.user_name"),
        ("min_price max_price", "x", "$steps.first_step.min_pirce", "$steps.first_step.min_price"),
        ("x", "fast, thorough", "mode: thorouhg", "mode: thorough"),
        ("x", "fast", "mode: FAST", "mode: fast"),
        ("title", "x", "named/titel: a", "title: a"),
        ("x", "x", "$inptu.name", "$input.name"),
        ("x", "x", "$step.first_step", "$steps.first_step"),
        ("x", "x", "$steps.frist_step", "$steps.first_step"),
        ("x", "x", "$input['a key']", "$input[\\\"a key\\\"]"),
        ("x", "x", "$input.a?.b", "$input.a.b?"),
    ];
    for (members, values, before, after) in changed {
        let text = composite_over(members, values, before);
        let world = world("fix_slip", &text);
        let done = world.run("check --offline --fix --format plain");
        let (now, want) = (world.read("toolwright.yaml"), text.replace(&before.replace("named/", ""), after));
        assert_eq!(now, want, "{before}: {}\n{}", done.out, done.err);
    }
}

/// What a file says about effects, trust and the policy is never written by a program.
#[test]
fn what_counts_for_safety_is_only_suggested() {
    let tool = |members: &str| format!("sources:\n  s:\n    tools:\n      shout: {{argv: [echo], {members}}}\n");
    for text in [
        tool("effect: raed"),
        tool("efect: read"),
        tool("effect: {class: x, impact: nnoe}"),
        tool("effect: {clas: x, impact: none}"),
        "sources: {s: {command: cat, trust: hitns}}\n".to_owned(),
        "sources: {s: {command: cat, turst: hints}}\n".to_owned(),
        "sorces: {s: {tools: {shout: {argv: [echo], effect: read}}}}\n".to_owned(),
        "tols: {shout: {effect: read}}\n".to_owned(),
        "policy: {sideEffectingTool: []}\n".to_owned(),
        "policy: {sideEffectingTools: [0x10]}\n".to_owned(),
        "policy: {validateEveryStep: no}\n".to_owned(),
        "polciy: {sideEffectingTools: []}\n".to_owned(),
    ] {
        let world = world("fix_safety", &text);
        let checked = world.run("check --offline --format json");
        let document = json(&checked.out);
        let findings = document["findings"].as_array().unwrap();
        assert!(!findings.is_empty() && findings.iter().all(|finding| finding["edit"].is_null()), "{text}: {}", checked.out);
        world.run("check --offline --fix");
        assert_eq!(world.read("toolwright.yaml"), text);
    }
    let told = world("fix_safety_told", &tool("effect: raed")).run("check --offline --format plain");
    assert!(told.out.contains("did you mean `read`?"), "{}", told.out);
}

#[cfg(unix)]
#[test]
fn a_file_that_may_only_be_read_or_has_two_names_is_left_alone() {
    use std::os::unix::fs::PermissionsExt;
    let text = "compositse: {}\n";
    let read_only = world("fix_read_only", text);
    let file = read_only.dir.join("toolwright.yaml");
    std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o444)).unwrap();
    let linked = world("fix_hard_link", text);
    std::fs::hard_link(linked.dir.join("toolwright.yaml"), linked.dir.join("other.yaml")).unwrap();
    for (world, why) in [(&read_only, "it may only be read"), (&linked, "a hard link")] {
        let done = world.run("check --fix --format plain");
        assert_eq!((done.code, world.read("toolwright.yaml").as_str(), done.out.as_str()), (20, text, ""), "{why}");
        assert!(done.err.contains("config_not_changed") && done.err.contains(why), "{}", done.err);
        // Nothing is shown as made that was not.
        assert!(!done.err.contains("+composites"), "{}", done.err);
        assert!(world.run("check --fix --dry-run --format plain").err.contains("+composites"));
    }
}

/// A diff is what a person decides by.
#[test]
fn what_cannot_be_seen_is_written_out_in_the_diff() {
    let world = world("fix_unseen", "compositse: {} #\ta\u{200d}b\n");
    let done = world.run("check --fix --dry-run --format plain");
    assert!(done.err.contains("+composites: {} #    a\\u{200d}b"), "{}", done.err);
}

#[cfg(unix)]
#[test]
fn a_file_keeps_its_permissions_and_a_link_stays_one() {
    use std::os::unix::fs::PermissionsExt;
    let world = World::new("fix_link");
    world.write("real/file.yaml", "compositse: {}\n");
    let real = world.dir.join("real/file.yaml");
    std::fs::set_permissions(&real, std::fs::Permissions::from_mode(0o640)).unwrap();
    std::os::unix::fs::symlink("real/file.yaml", world.dir.join("toolwright.yaml")).unwrap();
    assert_eq!(world.run("check --fix").code, 0);
    assert_eq!(world.read("real/file.yaml"), "composites: {}\n");
    assert_eq!(std::fs::metadata(&real).unwrap().permissions().mode() & 0o777, 0o640);
    assert!(world.dir.join("toolwright.yaml").is_symlink());
    assert_eq!(std::fs::read_dir(world.dir.join("real")).unwrap().count(), 1);
}

#[cfg(unix)]
#[test]
fn a_file_that_cannot_be_replaced_stays_as_it_is() {
    use std::os::unix::fs::PermissionsExt;
    let world = world("fix_locked", "compositse: {}\n");
    let folder = |mode| std::fs::set_permissions(&world.dir, std::fs::Permissions::from_mode(mode)).unwrap();
    folder(0o555);
    // Who may write everywhere meets no lock.
    let locked = std::fs::write(world.dir.join("probe"), "").is_err();
    let done = world.run("check --fix --format plain");
    folder(0o755);
    if locked {
        assert_eq!((done.code, world.read("toolwright.yaml").as_str()), (20, "compositse: {}\n"));
        assert!(done.err.contains("config_not_changed"), "{}", done.err);
    }
}

/// A source that changes the file while it is asked: what somebody else wrote is not lost.
#[cfg(unix)]
#[test]
fn what_somebody_else_wrote_meanwhile_is_not_lost() {
    let text = "compositse: {}\nsources: {s: {command: sh, args: [-c, \"echo '# mine' >> toolwright.yaml\"]}}\n";
    let world = world("fix_meanwhile", text);
    let done = world.run("check --fix --format plain");
    assert_eq!(done.code, 20);
    assert!(done.err.contains("config_not_changed") && done.err.contains("somebody else changed it"), "{}", done.err);
    assert!(world.read("toolwright.yaml").starts_with(text) && world.read("toolwright.yaml").contains("# mine"));
}

#[test]
fn warnings_count_where_they_are_denied() {
    let world = world("deny", &format!("{TOOLS}policy: {{sideEffectingTools: [nobody]}}\n"));
    for (line, code) in [
        ("check", 0),
        ("check --deny warnings", 20),
        ("check --deny config_unknown_tool", 20),
        ("check --deny may_not_fit", 0),
        ("check --deny may_not_fit --deny warnings", 20),
        ("check --deny warning", 2),
        ("check --dry-run", 2),
    ] {
        assert_eq!(world.run(line).code, code, "{line}");
    }
    let misspelt = world.run("check --deny warning --format plain");
    assert!(misspelt.err.contains("usage: there is no code `warning` to deny (did you mean `warnings`?)"), "{}", misspelt.err);
    assert!(world.run("check --deny warnings --format plain").out.contains(": config_unknown_tool: no tool"));
}

#[test]
fn examples_must_fit() {
    let world = world(
        "examples_fit",
        "sources:\n  s:\n    tools:\n      t:\n        argv: [echo, \"{n}\"]\n        stdout: json\n        effect: read\n        input: {type: object, properties: {n: {type: integer}}, required: [n]}\n        output: {type: integer}\n        examples:\n          - {input: {n: 1}, output: 2}\n          - {input: {n: many}, output: [x]}\ncomposites:\n  c:\n    input: {type: object, properties: {n: {type: integer}}, required: [n]}\n    examples:\n      - {input: {}}\n    steps:\n      - {name: a, tool: t, inputMapping: {n: $input.n}}\n",
    );
    let done = world.run("check --format plain");
    let places: Vec<&str> = done.out.lines().map(|line| line.split(": an").next().unwrap()).collect();
    let warning = |place: &str| format!("toolwright.yaml:{place}: invalid_example: warning");
    assert_eq!(places, [warning("12:25"), warning("12:40"), warning("17:17")], "{}", done.out);
    assert_eq!((done.code, world.run("check --deny invalid_example").code), (0, 20));
    assert_eq!(world.run("run c n=3").out, "3\n");
}

/// Whatever is wrong with a file: changing it never breaks the command, and comes to an end.
#[test]
fn changes_of_damaged_files_come_to_an_end() {
    let world = World::new("fix_damaged");
    let whole = std::fs::read_to_string(crate::world::fixtures().join("notes.yaml")).unwrap();
    let mut state: u64 = 0xf1c5;
    let mut next = |bound: usize| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(state >> 33).unwrap() % bound
    };
    let mut changed = 0;
    for round in 0..60 {
        // Slips of the pen: two letters of a word change places, one is lost, one is written twice.
        let mut characters: Vec<char> = whole.chars().collect();
        for _ in 0..6 {
            let at = next(characters.len() - 1);
            match next(3) {
                _ if !characters.iter().skip(at).take(2).all(char::is_ascii_alphabetic) => {}
                0 => characters.swap(at, at + 1),
                1 => drop(characters.remove(at)),
                _ => characters.insert(at, *characters.get(at).unwrap()),
            }
        }
        let text: String = characters.into_iter().collect();
        world.write("toolwright.yaml", &text);
        let mut rounds = 0;
        loop {
            let before = world.read("toolwright.yaml");
            let done = world.run("check --offline --fix --format plain");
            assert!([0, 11, 20].contains(&done.code) && !done.err.contains("panicked"), "round {round}: {done:?}");
            if done.err.contains("nothing was changed") {
                assert_eq!(world.read("toolwright.yaml"), before, "round {round}");
                break;
            }
            assert_ne!(world.read("toolwright.yaml"), before, "round {round}");
            assert!(!done.out.contains("config_syntax") && !done.out.contains("config_duplicate_key"), "round {round}: {}", done.out);
            rounds += 1;
            changed += 1;
            assert!(rounds < 6, "round {round}: {text}");
        }
    }
    assert!(changed > 10, "{changed}");
}

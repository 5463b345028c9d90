//! What people see, as golden files.

use crate::world::{World, golden};

/// Every line fits a terminal of 80 columns.
#[track_caller]
fn fits(text: &str) {
    for line in text.lines() {
        assert!(line.chars().count() <= 80, "{} columns: {line}", line.chars().count());
    }
}

#[test]
fn every_command_has_a_picture() {
    let world = World::with("pictures", "notes.yaml");
    let pictures = [
        ("list.txt", "list"),
        ("list-allowed.txt", "list --all --allow write_note --allow copy_note"),
        ("list-plain.txt", "list --format plain"),
        ("list-json.json", "list --format json"),
        ("describe-tool.txt", "describe write_note"),
        ("describe-example.txt", "describe read_note"),
        ("describe-composite.txt", "describe copy_note --allow write_note"),
        ("describe-refused.txt", "describe copy_note"),
        ("describe-not-known.txt", "describe careless"),
        ("describe-json.json", "describe copy_note --allow write_note --format json"),
        ("graph-text.txt", "graph copy_note"),
        ("graph-mermaid.txt", "graph copy_note --as mermaid"),
        ("graph-dot.txt", "graph copy_note --as dot"),
        ("graph-nested.txt", "graph outer --allow write_note"),
        ("explain.txt", "explain"),
        ("explain-code.txt", "explain step_not_chainable"),
        ("explain-own-code.txt", "explain config_unresolved_variable"),
        ("schema-input.json", "schema copy_note --input"),
        ("schema-output.json", "schema count --output"),
    ];
    for (name, line) in pictures {
        let done = world.run(line);
        assert_eq!((done.code, done.err.as_str()), (0, ""), "{line}");
        if name.ends_with(".txt") && !name.starts_with("graph") && name != "list-plain.txt" {
            fits(&done.out);
        }
        golden(name, &world.neutral(&done.out));
    }
}

#[test]
fn what_says_nothing_about_itself_says_what_it_runs() {
    let world = World::with("undescribed", "notes.yaml");
    let tools = "{log: {argv: [git, log, \"{branch?}\"], effect: read}, sum: {argv: [wc], description: \" \", effect: read}}";
    let steps = |count: usize| (0..count).map(|at| format!("{{name: s{at}, tool: sum}}")).collect::<Vec<_>>().join(", ");
    let composites = [("short", 2), ("long", 5)].map(|(id, count)| format!("  {id}: {{steps: [{}]}}\n", steps(count))).concat();
    world.write("toolwright.yaml", &format!("sources: {{s: {{tools: {tools}}}}}\ncomposites:\n{composites}"));
    let list: serde_json::Value = serde_json::from_str(&world.run("list --format json").out).unwrap();
    let said: Vec<(&str, &str)> = list["tools"]
        .as_array()
        .unwrap()
        .iter()
        .map(|tool| (tool["id"].as_str().unwrap(), tool["description"].as_str().unwrap()))
        .collect();
    let expected = [
        ("log", "Runs `git log {branch?}`"),
        ("sum", "Runs `wc`"),
        ("short", "Runs `sum`, then `sum`"),
        ("long", "Runs `sum`, then `sum`, then `sum`, and 2 steps more"),
    ];
    assert_eq!(said, expected);
}

#[test]
fn what_is_many_long_wide_or_deep_is_still_a_picture() {
    let world = World::with("wide", "wide.yaml");
    for (name, line) in [("list-wide.txt", "list"), ("describe-deep.txt", "describe search")] {
        let done = world.run(line);
        assert_eq!((done.code, done.err.as_str()), (0, ""), "{line}");
        golden(name, &done.out);
    }
    let list = world.run("list --color always");
    assert!(list.out.contains("reconfigure, idempotent"), "{}", list.out);
}

#[test]
fn the_command_line_is_a_picture_too() {
    let world = World::new("help");
    let mut text = String::new();
    let commands = [
        "",
        "check",
        "list",
        "describe",
        "run",
        "dry-run",
        "rehearse",
        "runs",
        "show",
        "resume",
        "fork",
        "journal",
        "journal prune",
        "graph",
        "explain",
        "schema",
        "completions",
        "trust",
    ];
    for command in commands {
        let done = world.run(&format!("{command} --help"));
        assert_eq!(done.code, 0, "{command}: {}", done.err);
        text.push_str(&format!("$ toolwright {command} --help\n{}\n", done.out));
    }
    golden("help.txt", &text);
}

#[test]
fn completions_are_for_the_shell() {
    let world = World::new("completions");
    for (shell, word) in [("bash", "complete"), ("zsh", "#compdef toolwright"), ("fish", "complete -c")] {
        let done = world.run(&format!("completions {shell}"));
        assert_eq!(done.code, 0);
        assert!(done.out.contains(word), "{shell}");
    }
}

#[test]
fn colour_is_for_terminals_and_for_those_who_ask() {
    let world = World::with("colour", "notes.yaml");
    assert!(!world.run("list").out.contains('\u{1b}'));
    assert!(world.run("list --color always").out.contains('\u{1b}'));
    assert!(!world.run("list --color always --format plain").out.contains('\u{1b}'));
}

#[test]
fn the_schema_for_editors_takes_the_fixtures_and_refuses_the_broken_one() {
    let world = World::new("schema");
    let done = world.run("schema");
    let schema: serde_json::Value = serde_json::from_str(&done.out).unwrap();
    golden("schema.json", &done.out);
    let validator = jsonschema::validator_for(&schema).unwrap();
    let notes = as_json("notes.yaml");
    let wrong: Vec<String> = validator.iter_errors(&notes).map(|error| error.to_string()).collect();
    assert!(wrong.is_empty(), "{wrong:#?}");
    let broken = serde_json::json!({"sources": {"x": {"tools": {"y": {"argvv": ["ls"]}}}}});
    assert!(!validator.is_valid(&broken));
}

/// The binary's own reader is not at hand here; the fixture is plain enough for this.
fn as_json(fixture: &str) -> serde_json::Value {
    let text = std::fs::read_to_string(crate::world::fixtures().join(fixture)).unwrap();
    let events = saphyr_json(&text);
    serde_json::from_str(&events).unwrap()
}

/// YAML as JSON text, by way of the parser's events.
fn saphyr_json(text: &str) -> String {
    use saphyr_parser::{Event, Parser, ScalarStyle};
    let mut out = String::new();
    // For each open collection: whether it is a mapping, and how many nodes it has so far.
    let mut open: Vec<(bool, usize)> = Vec::new();
    let before = |open: &mut Vec<(bool, usize)>, out: &mut String| {
        if let Some((map, count)) = open.last_mut() {
            match (*map, *count % 2) {
                _ if *count == 0 => {}
                (true, 1) => out.push(':'),
                _ => out.push(','),
            }
            *count += 1;
        }
    };
    for event in Parser::new_from_str(text).map_while(Result::ok) {
        match event.0 {
            Event::MappingStart(..) | Event::SequenceStart(..) => {
                let map = matches!(event.0, Event::MappingStart(..));
                before(&mut open, &mut out);
                out.push(if map { '{' } else { '[' });
                open.push((map, 0));
            }
            Event::MappingEnd | Event::SequenceEnd => {
                let (map, _) = open.pop().unwrap();
                out.push(if map { '}' } else { ']' });
            }
            Event::Scalar(text, style, ..) => {
                let key = open.last().is_some_and(|(map, count)| *map && count % 2 == 0);
                before(&mut open, &mut out);
                let bare = style == ScalarStyle::Plain && !key;
                let value = serde_json::from_str::<serde_json::Value>(&text).ok().filter(|_| bare);
                out.push_str(&value.unwrap_or_else(|| text.as_ref().into()).to_string());
            }
            _ => {}
        }
    }
    out
}

/// A file whose names and texts would deceive a terminal.
const DECEIT: &str = "sources:\n  s:\n    tools:\n      look:\n        argv: [echo]\n        description: \"a\\u202eb\\u200bc \\e[2J\"\n        effect: {class: \"re\\u202ead\\e[1m\", impact: once}\ncomposites:\n  c:\n    steps:\n      - {name: \"o\\u2066ne\", tool: look}\n";

#[test]
fn nothing_from_a_file_deceives_the_terminal() {
    let world = World::new("deceit");
    world.write("toolwright.yaml", DECEIT);
    let lines = [
        "list",
        "list --format plain",
        "describe look",
        "describe c",
        "graph c",
        "graph c --as mermaid",
        "graph c --as dot",
        "check",
        "run c",
        "run c --format plain",
    ];
    for line in lines {
        let done = world.run(line);
        let text = format!("{}{}", done.out, done.err);
        let bad = |c: char| c == '\u{1b}' || "\u{202e}\u{200b}\u{2066}".contains(c);
        assert!(!text.contains(bad), "{line}: {text:?}");
    }
}

#[test]
fn a_file_of_one_long_line_has_short_messages() {
    let world = World::new("long_line");
    let text = format!("{{\"sourcs\": {{}}, \"tools\": {{\"{}\": 1}}}}", "x".repeat(200_000));
    world.write("toolwright.json", &text);
    for form in ["human", "plain", "json"] {
        let done = world.run(&format!("check --format {form}"));
        assert_eq!(done.code, 20, "{}", done.err);
        let longest = done.out.lines().map(str::len).max().unwrap();
        assert!(longest < 6_000, "{form}: {longest}");
    }
}

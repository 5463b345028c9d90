//! How the command ends: exit codes, failures in three forms, closed pipes, interrupts.

use std::io::Read;
use std::process::Stdio;
use std::time::{Duration, Instant};

use crate::world::{World, done, golden};

#[test]
fn exit_codes_are_the_published_ones() {
    let world = World::with("exits", "notes.yaml");
    world.write("broken.yaml", "composites: {c: {steps: []}}\n");
    let table = [
        ("run read_note name=a.txt", 0),
        ("--help", 0),
        ("--version", 0),
        ("run", 2),
        ("run nothing", 2),
        ("run read_note", 2),
        ("run read_note name=missing.txt", 10),
        ("run copy_note from=a.txt to=b.txt", 11),
        ("trust toolwright.yaml", 12),
        ("check --file broken.yaml", 20),
        ("run c --file broken.yaml", 20),
        ("check", 11),
    ];
    for (line, code) in table {
        assert_eq!(world.run(line).code, code, "{line}");
    }
}

#[test]
fn a_failed_run_is_told_in_three_forms() {
    let world = World::with("failed", "notes.yaml");
    let line = "run copy_note from=a.txt to=no/such/folder --allow write_note";
    for (form, name) in [("human", "failed.txt"), ("plain", "failed-plain.txt"), ("json", "failed.json")] {
        let failed = world.run(&format!("{line} --format {form}"));
        assert_eq!((failed.code, failed.out.as_str()), (10, ""), "{}", failed.err);
        golden(name, &world.neutral(&failed.err));
    }
}

#[test]
fn a_refused_run_is_told_in_three_forms() {
    let world = World::with("refused", "notes.yaml");
    let line = "run outer";
    for (form, name) in [("human", "refused.txt"), ("plain", "refused-plain.txt"), ("json", "refused.json")] {
        let refused = world.run(&format!("{line} --format {form}"));
        assert_eq!((refused.code, refused.out.as_str()), (11, ""), "{}", refused.err);
        golden(name, &world.neutral(&refused.err));
    }
    assert!(!world.has("b.txt"));
}

/// Every text in a document, with the name of its member.
fn texts(value: &serde_json::Value, name: &str, all: &mut Vec<(String, String)>) {
    match value {
        serde_json::Value::String(text) => all.push((name.to_owned(), text.clone())),
        serde_json::Value::Array(items) => items.iter().for_each(|item| texts(item, name, all)),
        serde_json::Value::Object(members) => members.iter().for_each(|(name, member)| texts(member, name, all)),
        _ => {}
    }
}

#[test]
fn no_message_and_no_help_for_scripts_has_a_line_break() {
    let world = World::with("one_line", "notes.yaml");
    world.write("broken.yaml", "composites:\n  broken: {description: \"two\\nlines\", steps: [{name: a, tool: \"b\\nc\"}]}\n");
    let lines = ["run copy_note from=a.txt to=b.txt", "run outer", "check", "list", "run nothing", "run broken --file broken.yaml"];
    for line in lines {
        let done = world.run(&format!("{line} --format json"));
        let text = if done.out.is_empty() { &done.err } else { &done.out };
        let mut all = Vec::new();
        texts(&serde_json::from_str(text).unwrap(), "", &mut all);
        for (name, text) in all {
            let is_told = ["error", "help", "message"].contains(&name.as_str());
            assert!(!is_told || !text.contains('\n'), "{line}: {name}: {text}");
        }
        let plain = world.run(&format!("{line} --format plain"));
        let told = plain.err.lines().filter(|line| line.contains("`toolwright trust"));
        assert!(told.into_iter().all(|line| line.contains(": ")), "{line}: {}", plain.err);
    }
}

const ENDINGS: &str = r#"
sources:
  s:
    tools:
      look: {argv: [echo, '{{"title": "t", "tags": ["a"]}}'], stdout: json, effect: read}
      keep: {argv: [tee, "{file}"], stdin: "{text}", effect: write}
      fails: {argv: [sh, -c, "echo no >&2; exit 3"], effect: write}
      only_reads: {argv: [sh, -c, "exit 3"], effect: read}
      dies: {argv: [sh, -c, "kill -9 $$"], effect: write}
      slow: {argv: [sleep, "9"], effect: write, timeout: 100ms}
composites:
  half:
    steps:
      - {name: keep, tool: keep, inputMapping: {file: n.txt, text: hi}}
      - {name: fails, tool: fails}
  killed:
    steps:
      - {name: keep, tool: keep, inputMapping: {file: n.txt, text: hi}}
      - {name: dies, tool: dies}
  missing:
    steps:
      - {name: find, tool: look}
      - {name: keep, tool: keep, inputMapping: {file: n.txt, text: "$steps.find.titel"}}
  outer:
    steps:
      - {name: first, tool: look}
      - {name: inner, tool: missing}
  no_output:
    steps:
      - {name: keep, tool: keep, inputMapping: {file: n.txt, text: hi}}
      - {name: find, tool: look}
    output: {all: {name: $prev.nothing}}
"#;

const ALLOWED: &str = "--allow keep --allow fails --allow dies --allow missing";

#[test]
fn an_answer_that_is_an_error_is_a_failure_and_no_answer_is_a_doubt() {
    let world = World::new("endings");
    world.write("toolwright.yaml", ENDINGS);
    let ended = "ended with an error; whether its effect happened";
    let silent = "was started and gave no answer";
    let table = [("fails", 10, ended), ("half", 10, ended), ("dies", 13, silent), ("killed", 13, silent), ("slow", 13, silent)];
    for (tool, code, words) in table {
        let human = world.run(&format!("run {tool} {ALLOWED}"));
        assert_eq!(human.code, code, "{tool}: {}", human.err);
        let one_line = human.err.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(one_line.contains(words), "{tool}: {}", human.err);
        assert!(!human.err.contains("none happened"), "{tool}: {}", human.err);
        let plain = world.run(&format!("run {tool} {ALLOWED} --format plain")).err;
        assert_eq!((plain.contains("; in doubt: "), plain.contains("; ended with an error, effect not known: ")), (code == 13, code == 10));
        assert_eq!(plain.contains("(look whether the effect of `"), code == 13, "{plain}");
        let json: serde_json::Value = serde_json::from_str(&world.run(&format!("run {tool} {ALLOWED} --format json")).err).unwrap();
        assert!(json.pointer("/details/unknownEffect").is_some(), "{tool}: {json}");
    }
    let reads = world.run("run only_reads");
    assert_eq!(reads.code, 10);
    assert!(reads.err.contains("effects     none happened"), "{}", reads.err);
}

#[test]
fn a_missing_value_is_shown_where_its_reference_stands() {
    let world = World::new("unresolved");
    world.write("toolwright.yaml", ENDINGS);
    let mut pictures = String::new();
    for form in ["human", "plain", "json"] {
        for tool in ["missing", "outer", "no_output"] {
            let line = format!("run {tool} --format {form}");
            let done = world.run(&format!("{line} {ALLOWED}"));
            assert_eq!((done.code, done.out.as_str()), (10, ""), "{line}: {}", done.err);
            pictures.push_str(&format!("$ toolwright {line}\n{}\n", world.neutral(&done.err)));
        }
    }
    golden("unresolved.txt", &pictures);
}

#[test]
fn a_dry_run_without_an_output_says_how_to_give_it() {
    let world = World::new("dry_help");
    world.write("toolwright.yaml", ENDINGS);
    for (line, option) in [("dry-run half", "`--output keep=JSON`"), ("rehearse outer --output inner/kep=1", "`--output inner/keep=JSON`")]
    {
        let text = ENDINGS.replace("titel", "title");
        world.write("toolwright.yaml", &text);
        for form in ["human", "plain", "json"] {
            let done = world.run(&format!("{line} {ALLOWED} --format {form}"));
            assert_eq!(done.code, 2, "{}", done.err);
            assert!(done.err.contains(option), "{form}: {}", done.err);
            assert!(!done.err.contains("dry_run_needs_output: dry_run"), "{}", done.err);
            assert!(!done.err.contains("stepOutputs"), "{}", done.err);
        }
    }
    assert!(!world.has("n.txt"));
}

#[test]
fn a_given_output_that_does_not_fit_is_a_mistake_of_the_command_line() {
    let world = World::new("dry_misfit");
    world.write(
        "toolwright.yaml",
        &ENDINGS.replace("effect: write}\n      fails", "effect: write, stdout: json, output: {type: object}}\n      fails"),
    );
    let done = world.run(&format!("dry-run half --output keep=1 {ALLOWED}"));
    assert_eq!(done.code, 2, "{}", done.err);
    assert!(done.err.contains("give one that fits with `--output keep=JSON`"), "{}", done.err);
    let twice = world.run_args(&["run", "keep", "--input", r#"{"file": "a", "file": "b", "text": "c"}"#]);
    assert_eq!(twice.code, 2, "{}", twice.err);
    assert!(twice.err.contains("`file` stands twice in one object of --input") && !world.has("b"), "{}", twice.err);
}

#[test]
fn a_reader_that_goes_away_ends_it_quietly() {
    let world = World::with("pipe", "notes.yaml");
    world.write("big.txt", &"a line of text\n".repeat(40_000));
    let mut child = world.command(&["run", "read_note", "name=big.txt"]).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut first = [0; 10];
    child.stdout.as_mut().unwrap().read_exact(&mut first).unwrap();
    drop(child.stdout.take());
    let end = done(child.wait_with_output().unwrap());
    assert_eq!((end.code, end.err.as_str()), (0, ""));
}

#[test]
fn a_slow_reader_gets_everything() {
    let world = World::with("slow_pipe", "notes.yaml");
    let text = "a line of text\n".repeat(40_000);
    world.write("big.txt", &text);
    let mut child = world.command(&["run", "read_note", "name=big.txt"]).stdout(Stdio::piped()).spawn().unwrap();
    std::thread::sleep(Duration::from_millis(300));
    let mut all = String::new();
    child.stdout.take().unwrap().read_to_string(&mut all).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(0));
    assert_eq!(all.trim_end(), text.trim_end());
}

#[cfg(unix)]
fn signal(child: &std::process::Child, name: &str) {
    let status = std::process::Command::new("kill").args([&format!("-{name}"), &child.id().to_string()]).status();
    assert!(status.unwrap().success());
}

#[cfg(unix)]
fn wait_for(mut what: impl FnMut() -> bool) {
    let start = Instant::now();
    while !what() {
        assert!(start.elapsed() < Duration::from_secs(20), "it never came");
        std::thread::sleep(Duration::from_millis(20));
    }
}

#[cfg(unix)]
#[test]
fn an_interrupt_cancels_the_run() {
    for name in ["INT", "TERM"] {
        let world = World::with(&format!("interrupt_{name}"), "notes.yaml");
        let child =
            world.command(&["run", "waiting", "--allow", "slow_write"]).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        wait_for(|| world.has("begun.txt"));
        let start = Instant::now();
        signal(&child, name);
        let end = done(child.wait_with_output().unwrap());
        // The command was told and ended; whether its effect is whole, nobody knows.
        assert_eq!(end.code, 13, "{}", end.err);
        assert!(end.err.contains("in doubt"), "{}", end.err);
        assert!(start.elapsed() < Duration::from_secs(25));
        assert!(!world.has("done.txt"));
    }
}

/// A composite that waits and then writes.
const LATE: &str = r#"
sources:
  s:
    tools:
      wait: {argv: [sleep, "1"], effect: read}
      mark: {argv: [touch, marker], effect: write}
composites:
  late:
    steps:
      - {name: wait, tool: wait}
      - {name: mark, tool: mark}
"#;

#[cfg(unix)]
#[test]
fn an_early_interrupt_is_never_lost() {
    let world = World::new("interrupt_early");
    world.write("toolwright.yaml", LATE);
    for (round, name) in ["INT", "TERM", "INT"].into_iter().enumerate() {
        for delay in 0..=30 {
            let mut command = world.command(&["run", "late", "--allow", "mark", "--format", "json"]);
            let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
            std::thread::sleep(Duration::from_millis(delay));
            signal(&child, name);
            let output = child.wait_with_output().unwrap();
            let err = String::from_utf8_lossy(&output.stderr).into_owned();
            // Killed as the system does it, or cancelled.
            assert!(matches!(output.status.code(), None | Some(10)), "{round}, {delay} ms: {:?}: {err}", output.status);
            assert!(!world.has("marker"), "{round}, {delay} ms: {err}");
            if output.status.code().is_some() {
                let told: serde_json::Value = serde_json::from_str(&err).unwrap();
                assert!(["cancelled", "step_aborted"].contains(&told["code"].as_str().unwrap()), "{told}");
            }
        }
    }
}

#[cfg(unix)]
#[test]
fn an_interrupt_ends_the_wait_for_an_input() {
    let world = World::with("interrupt_input", "notes.yaml");
    let mut command = world.command(&["run", "read_note", "-i", "-"]);
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let input = child.stdin.take();
    std::thread::sleep(Duration::from_millis(300));
    signal(&child, "INT");
    let end = done(child.wait_with_output().unwrap());
    drop(input);
    assert_eq!(end.code, 10, "{}", end.err);
    assert!(end.err.contains("interrupted before a tool was started"), "{}", end.err);
}

#[cfg(unix)]
#[test]
fn a_cancelled_tool_that_reads_is_told_in_one_way() {
    let world = World::new("interrupt_read");
    world.write("toolwright.yaml", &LATE.replace("[sleep, \"1\"]", "[sh, -c, \"touch begun; sleep 30\"]"));
    for _ in 0..10 {
        let _ = std::fs::remove_file(world.dir.join("begun"));
        let child = world.command(&["run", "wait", "--quiet"]).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        wait_for(|| world.has("begun"));
        signal(&child, "INT");
        let end = done(child.wait_with_output().unwrap());
        assert_eq!(end.code, 10, "{}", end.err);
        assert!(end.err.starts_with("cancelled\n"), "{}", end.err);
    }
}

#[cfg(target_os = "linux")]
#[test]
fn an_output_that_cannot_be_written_is_an_error() {
    let world = World::with("full", "notes.yaml");
    for line in ["run read_note name=a.txt", "list", "describe read_note", "--help", "--version", "explain", "schema"] {
        let full = std::fs::File::options().write(true).open("/dev/full").unwrap();
        let words: Vec<&str> = line.split_whitespace().collect();
        let end = done(world.command(&words).stdout(full).stderr(Stdio::piped()).spawn().unwrap().wait_with_output().unwrap());
        assert_eq!(end.code, 22, "{line}: {}", end.err);
        assert!(end.err.contains("output_not_written") && end.err.contains("could not be written"), "{line}: {}", end.err);
    }
}

#[test]
fn every_error_for_scripts_has_one_form() {
    let world = World::with("one_form", "notes.yaml");
    world.write("broken.yaml", "composites: {c: {steps: []}}\n");
    let table = [
        ("run", "usage"),
        ("--nope", "usage"),
        ("graph copy_note --as pictur", "usage"),
        ("run nothing", "unavailable"),
        ("run read_note", "invalid_input"),
        ("run read_note name=missing.txt", "exit_code"),
        ("run copy_note from=a.txt to=b.txt", "step_not_chainable"),
        ("explain nope", "usage"),
        ("list --file nothing.yaml", "config_unreadable"),
    ];
    for (line, code) in table {
        let end = world.run(&format!("{line} --format json"));
        assert_ne!(end.code, 0, "{line}");
        let told: serde_json::Value = serde_json::from_str(&end.err).unwrap_or_else(|_| panic!("{line}: {}", end.err));
        assert_eq!((told["success"].as_bool(), told["code"].as_str()), (Some(false), Some(code)), "{line}: {told}");
        assert!(told["error"].is_string() && told["details"].is_object() && told["effects"].is_array(), "{line}: {told}");
    }
}

#[cfg(unix)]
#[test]
fn a_second_interrupt_leaves_at_once() {
    let world = World::with("interrupt_twice", "notes.yaml");
    let text = world.read("toolwright.yaml").replace("sleep 30", "trap '' TERM; sleep 30");
    world.write("toolwright.yaml", &text);
    let child = world
        .command(&["run", "waiting", "--allow", "slow_write", "--format", "json"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    wait_for(|| world.has("begun.txt"));
    signal(&child, "INT");
    std::thread::sleep(Duration::from_millis(300));
    let start = Instant::now();
    signal(&child, "INT");
    let end = done(child.wait_with_output().unwrap());
    assert_eq!(end.code, 130, "{}", end.err);
    let told: serde_json::Value = serde_json::from_str(&end.err).unwrap();
    assert_eq!((told["code"].as_str(), told["effects"].is_null()), (Some("cancelled"), true), "{told}");
    assert!(told["help"].as_str().unwrap().contains("`toolwright resume run-"), "{told}");
    assert!(start.elapsed() < Duration::from_secs(15));
}

#[cfg(unix)]
#[test]
fn an_interrupt_leaves_a_reader_that_does_not_read() {
    let world = World::with("stuck_pipe", "notes.yaml");
    world.write("big.txt", &"a line of text\n".repeat(40_000));
    let mut child = world.command(&["run", "read_note", "name=big.txt"]).stdout(Stdio::piped()).spawn().unwrap();
    let mut first = [0; 10];
    child.stdout.as_mut().unwrap().read_exact(&mut first).unwrap();
    signal(&child, "INT");
    wait_for(|| child.try_wait().unwrap().is_some());
    assert_eq!(child.wait().unwrap().code(), Some(130));
}

//! A project file cannot grant: the user has to look and say yes, and a change asks again.

use crate::world::{World, golden};

const COPY: &str = "run copy_note from=a.txt to=b.txt";

#[test]
fn refused_then_trusted_then_changed() {
    let world = World::with("trust", "notes.yaml");
    let refused = world.run(COPY);
    assert_eq!((refused.code, refused.out.as_str()), (11, ""));
    assert!(refused.err.contains("step_not_chainable"), "{}", refused.err);
    assert!(refused.err.contains("`toolwright trust toolwright.yaml`"), "{}", refused.err);
    assert!(!world.has("b.txt"), "a refused run must not touch anything");

    let nobody = world.run("trust toolwright.yaml");
    assert_eq!(nobody.code, 12);
    assert!(nobody.err.contains("write_note") && nobody.err.contains("write: Writes a note"), "{}", nobody.err);
    golden("trust.txt", &nobody.err);
    assert_eq!(world.run(COPY).code, 11);

    let yes = world.run("trust toolwright.yaml --yes");
    assert_eq!(yes.code, 0, "{}", yes.err);
    assert_eq!(world.run(COPY).code, 0);
    assert_eq!(world.read("b.txt"), "one two three");

    // Layout and comments are not what was accepted.
    let text = world.read("toolwright.yaml");
    let list = "  sideEffectingTools: [write_note, copy_note, slow_write]";
    let other = "  # the same\n  'sideEffectingTools':\n  - write_note\n  - \"copy_note\"\n  - slow_write";
    world.write("toolwright.yaml", &text.replace(list, other));
    assert_eq!(world.run(COPY).code, 0);

    std::fs::remove_file(world.dir.join("b.txt")).unwrap();
    let more = "  sideEffectingTools: [write_note, copy_note, slow_write, touch]";
    world.write("toolwright.yaml", &text.replace(list, more));
    let changed = world.run(COPY);
    assert_eq!(changed.code, 11);
    assert!(!world.has("b.txt"));
    let check = world.run("check --format plain").out;
    assert!(check.contains("has changed since you accepted it"), "{check}");
    let shown = world.run("trust toolwright.yaml").err;
    assert!(shown.contains("new") && shown.contains("touch"), "{shown}");

    assert_eq!(world.run("trust toolwright.yaml --yes").code, 0);
    assert_eq!(world.run(COPY).code, 0);
    assert_eq!(world.run("trust toolwright.yaml --revoke").code, 0);
    assert_eq!(world.run(COPY).code, 11);
}

#[test]
fn another_file_of_the_same_words_is_another_file() {
    let world = World::with("trust_copy", "notes.yaml");
    world.run("trust toolwright.yaml --yes");
    world.copy("notes.yaml", "copy.yaml");
    assert_eq!(world.run(COPY).code, 0);
    let other = world.run(&format!("{COPY} --file copy.yaml"));
    assert_eq!(other.code, 11);
    assert!(other.err.contains("`toolwright trust copy.yaml`"), "{}", other.err);
}

#[cfg(unix)]
#[test]
fn what_is_remembered_is_for_the_user_alone() {
    use std::os::unix::fs::PermissionsExt;
    let mut world = World::with("trust_mode", "notes.yaml");
    world.set("TOOLWRIGHT_DATA_DIR", world.dir.join("data").to_str().unwrap());
    world.run("trust toolwright.yaml --yes");
    let records: Vec<_> = std::fs::read_dir(world.dir.join("data/trust")).unwrap().collect();
    assert_eq!(records.len(), 1);
    let record = records.into_iter().next().unwrap().unwrap();
    assert_eq!(record.metadata().unwrap().permissions().mode() & 0o777, 0o600);
    // A record that was damaged grants nothing.
    let good = std::fs::read(record.path()).unwrap();
    std::fs::write(record.path(), "{}").unwrap();
    does_not_count(&world, "it is damaged");
    std::fs::write(record.path(), vec![b' '; 1024 * 1024 + 1]).unwrap();
    does_not_count(&world, "larger than 1 MiB");
    std::fs::write(record.path(), &good).unwrap();
    assert_eq!(world.run(COPY).code, 0);
    std::fs::set_permissions(record.path(), std::fs::Permissions::from_mode(0o666)).unwrap();
    does_not_count(&world, "everyone may write");
    std::fs::remove_file(record.path()).unwrap();
    std::fs::create_dir(record.path()).unwrap();
    does_not_count(&world, "no regular file");
    std::fs::remove_dir(record.path()).unwrap();
    std::fs::write(record.path(), &good).unwrap();
    std::fs::set_permissions(world.dir.join("data/trust"), std::fs::Permissions::from_mode(0o777)).unwrap();
    does_not_count(&world, "everyone may write");
    assert_eq!(world.run("trust toolwright.yaml --yes").code, 2, "nothing is remembered where everyone may write");
}

#[cfg(unix)]
#[track_caller]
fn does_not_count(world: &World, why: &str) {
    let _ = std::fs::remove_file(world.dir.join("b.txt"));
    assert_eq!(world.run(COPY).code, 11);
    assert!(!world.has("b.txt"));
    let check = world.run("check --format plain");
    assert!(check.out.contains("policy_not_trusted"), "{}", check.out);
    assert!(check.out.contains("does not count") && check.out.contains(why), "{}", check.out);
    let shown = world.run("trust toolwright.yaml");
    assert!(shown.code == 12 && shown.err.contains(why), "{}", shown.err);
}

#[test]
fn the_user_and_the_command_line_grant_directly() {
    let mut world = World::with("grants", "notes.yaml");
    assert_eq!(world.run(&format!("{COPY} --allow write_note")).code, 0);
    assert_eq!(world.run(COPY).code, 11);
    assert_eq!(world.run(&format!("{COPY} --allow count")).code, 11);
    world.write("home/.config/toolwright/config.yaml", "policy: {sideEffectingTools: [write_note]}\n");
    assert_eq!(world.run(COPY).code, 0);
    world.set("TOOLWRIGHT_CONFIG_DIR", world.dir.join("other").to_str().unwrap());
    assert_eq!(world.run(COPY).code, 11);
    world.write("other/config.yaml", "policy: {sideEffectingTools: [write_note]}\n");
    assert_eq!(world.run(COPY).code, 0);
}

#[test]
fn the_users_own_file_needs_no_project() {
    let world = World::new("user_only");
    world.write("home/.config/toolwright/config.yaml", "sources: {s: {tools: {hello: {argv: [echo, hello], effect: read}}}}\n");
    assert_eq!(world.run("run hello").out, "hello\n");
}

#[test]
fn a_composite_with_effects_has_to_be_listed_itself() {
    let world = World::with("listed", "notes.yaml");
    let inner = world.run("run outer --allow write_note");
    assert_eq!(inner.code, 11);
    assert!(inner.err.contains("--allow copy_note"), "{}", inner.err);
    assert!(!world.has("b.txt"));
    assert_eq!(world.run("run outer --allow write_note --allow copy_note").code, 0);
    assert!(world.has("b.txt"));
}

#[test]
fn a_tool_that_says_nothing_cannot_be_listed_into_a_composite() {
    let world = World::with("undeclared", "notes.yaml");
    let done = world.run("run careless --allow touch");
    assert_eq!(done.code, 11);
    assert!(done.err.contains("side_effects_undeclared"), "{}", done.err);
    assert!(!world.has("c.txt"));
}

#[test]
fn to_allow_what_is_no_tool_is_a_mistake() {
    let world = World::with("allow_nothing", "notes.yaml");
    for line in [COPY, "list", "check", "describe copy_note", "graph copy_note", "dry-run copy_note from=a.txt to=b.txt"] {
        let done = world.run(&format!("{line} --allow write_not"));
        assert_eq!((done.code, done.out.as_str()), (2, ""), "{line}: {}", done.err);
        assert!(done.err.contains("no tool has that id") && done.err.contains("did you mean `write_note`?"), "{line}: {}", done.err);
    }
    assert!(!world.has("b.txt"));
}

/// A file with a command line, a server, a renamed tool and a composite, all of them listed.
const LISTED: &str = r#"
sources:
  shell:
    cwd: .
    env: {TOKEN: hunter2hunter2}
    tools:
      put: {argv: [tee, "{name}"], stdin: "{text}", effect: write}
      other: {argv: [echo, other], effect: read}
  far: {command: ./far, args: [--at, "https://me:hunter2hunter2@host/x"], env: {KEY: hunter2hunter2}}
tools:
  put: {name: save, pin: {name: b.txt}}
composites:
  twice:
    steps:
      - {name: one, tool: save, inputMapping: {text: a}}
      - {name: two, tool: save, inputMapping: {text: b}}
policy: {sideEffectingTools: [save, far_write, twice]}
"#;

#[test]
fn a_yes_is_to_what_the_listed_tools_are() {
    let world = World::new("trust_covers");
    world.write("toolwright.yaml", LISTED);
    assert_eq!(world.run("trust toolwright.yaml --yes").code, 0);
    assert_eq!(world.run("run twice").code, 0);
    assert_eq!(world.read("b.txt"), "b");
    for (old, new, counts) in [
        ("[tee, \"{name}\"]", "[tee, -a, \"{name}\"]", true),
        ("stdin: \"{text}\"", "stdin: \"x{text}\"", true),
        ("cwd: .", "cwd: ..", true),
        ("hunter2hunter2}\n    tools", "hunter3hunter3}\n    tools", true),
        ("env: {TOKEN", "cleanEnv: true\n    env: {TOKEN", true),
        ("pin: {name: b.txt}", "pin: {name: c.txt}", true),
        ("tool: save, inputMapping: {text: b}", "tool: other, inputMapping: {}", true),
        ("args: [--at,", "args: [--on,", true),
        ("effect: write", "effect: idempotent", true),
        ("argv: [echo, other]", "argv: [echo, another]", false),
        ("sources:\n", "# a word\nsources:\n\n", false),
        ("{argv: [echo, other], effect: read}", "{effect: 'read', argv: [\"echo\", other]}", false),
    ] {
        assert!(LISTED.contains(old), "{old}");
        world.write("toolwright.yaml", &LISTED.replacen(old, new, 1));
        std::fs::write(world.dir.join("b.txt"), "untouched").unwrap();
        let run = world.run("run twice");
        assert_eq!(run.code, if counts { 11 } else { 0 }, "{new}: {}", run.err);
        assert_eq!(world.read("b.txt") == "untouched", counts, "{new}");
        let check = world.run("check --offline --format plain").out;
        assert_eq!(check.contains("has changed since you accepted"), counts, "{new}: {check}");
    }
}

#[test]
fn everything_that_a_yes_is_about_is_shown_and_can_be_seen() {
    let world = World::new("trust_shows");
    world.write("toolwright.yaml", LISTED);
    golden("trust-all.txt", &world.run("trust toolwright.yaml").err);
    let hostile = LISTED.replace("[tee, \"{name}\"]", "[tee, \"\\u202E\\u200B\\x1b[2K\\r{name}\", \"a\\nb\"]");
    let hostile = hostile.replace("effect: write", "effect: write, description: \"x\\u2066\\x07y\"");
    world.write("toolwright.yaml", &hostile);
    let shown = world.run("trust toolwright.yaml").err;
    for written in [r"\u{202e}", r"\u{200b}", r"\u{1b}[2K", r"\u{d}", r"a\u{a}b", r"\u{2066}"] {
        assert!(shown.contains(written), "{written}: {shown}");
    }
    let raw = |c: char| (c.is_control() && c != '\n') || "\u{202e}\u{200b}\u{2066}".contains(c);
    assert!(!shown.contains(raw), "{shown:?}");
}

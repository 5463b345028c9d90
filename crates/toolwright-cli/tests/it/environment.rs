//! Environment variables in the file: every form, in every field, once.

use crate::world::World;

const SERVERS: &str = r#"
sources:
  a:
    command: "${SHELL_NAME}"
    args: ["${SERVER}", "${TOK}", "${env:TOK}", "${MISSING:-dflt}", "$TOK", "${TOK}-${TOK}"]
    env: {RECORD: "${RECORD}", SHOWN: "<${env:TOK}|${MISSING:-dflt}|$TOK>"}
    cwd: "${FOLDER:-sub}"
  b:
    command: sh
    args: [server.sh, "${MISSING}"]
    env: {RECORD: record-b.txt}
"#;

/// C64 of the field failures.
#[test]
fn every_form_expands_in_every_field_once() {
    let mut world = World::new("expansion");
    world.write("toolwright.yaml", SERVERS);
    world.copy("server.sh", "server.sh");
    std::fs::create_dir(world.dir.join("sub")).unwrap();
    world.set("TOK", "t-${HOME}-1");
    world.set("SHELL_NAME", "sh");
    world.set("SERVER", world.dir.join("server.sh").to_str().unwrap());
    world.set("RECORD", world.dir.join("record.txt").to_str().unwrap());
    let works = world.run("run a_show");
    assert_eq!((works.code, works.out.as_str()), (0, "hello\n"), "{}", works.err);
    assert_eq!(
        world.read("record.txt"),
        "argv: <t-${HOME}-1> <t-${HOME}-1> <dflt> <$TOK> <t-${HOME}-1-t-${HOME}-1>\n\
         env: <<t-${HOME}-1|dflt|$TOK>>\ncwd: <sub>\n"
    );
    let fails = world.run("run b_show");
    assert_eq!(fails.code, 10, "{}", fails.err);
    let plain = world.run("run b_show --format plain");
    for word in ["config_unresolved_variable", "toolwright.yaml:10:", "`MISSING`", "`args`", "source `b`"] {
        assert!(plain.err.contains(word), "{word}: {}", plain.err);
    }
    assert!(!world.has("record-b.txt"), "it must not start");
    let check = world.run("check --format plain");
    assert_eq!(check.code, 20);
    assert_eq!(check.out.lines().count(), 1, "{}", check.out);
}

#[test]
fn command_lines_expand_and_what_comes_out_is_text() {
    let mut world = World::new("expansion_argv");
    world.write("toolwright.yaml", "sources: {s: {tools: {show: {argv: [printf, '%s|%s', '${TRICK}', '{x}'], effect: read}}}}\n");
    world.set("TRICK", "{x} ${HOME}");
    let done = world.run("run show x=y");
    assert_eq!((done.code, done.out.as_str()), (0, "{x} ${HOME}|y\n"), "{}", done.err);
}

#[test]
fn nothing_expands_in_composites() {
    let world = World::new("expansion_not");
    world.write(
        "toolwright.yaml",
        "sources: {s: {tools: {show: {argv: [printf, '%s', '{x}'], effect: read}}}}\ncomposites: {c: {steps: [{name: a, tool: show, inputMapping: {x: 'at ${HOME}'}}]}}\n",
    );
    assert_eq!(world.run("run c").out, "at ${HOME}\n");
}

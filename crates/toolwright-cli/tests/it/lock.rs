//! `toolwright lock`: what servers say is kept once somebody agrees, and is enough to check without them.

use crate::world::{World, golden};

const FILE: &str = "
sources:
  small: {command: sh, args: [server.sh], trust: hints, env: {RECORD: started.txt}}
  cmd: {tools: {hi: {argv: [echo, hi], effect: read}}}
composites:
  good: {steps: [{name: a, tool: small_show, inputMapping: {text: x}}]}
";

fn world(name: &str) -> World {
    let world = World::new(name);
    world.write("toolwright.yaml", FILE);
    world.copy("server.sh", "server.sh");
    world
}

/// The server says something else.
fn change(world: &World, from: &str, to: &str) {
    let server = world.read("server.sh");
    assert!(server.contains(from), "{from}");
    world.write("server.sh", &server.replace(from, to));
}

#[test]
fn nobody_agrees_for_you() {
    let world = world("lock");
    let nobody = world.run("lock");
    assert_eq!((nobody.code, nobody.out.as_str()), (12, ""), "{}", nobody.err);
    golden("lock-new.txt", &nobody.err);
    assert!(!world.has("toolwright.lock"));
    let yes = world.run("lock --yes");
    assert_eq!((yes.code, yes.out.as_str()), (0, "kept: 4 changes in toolwright.lock\n"), "{}", yes.err);
    golden("toolwright.lock", &world.read("toolwright.lock"));
    let again = world.run("lock");
    assert_eq!((again.code, again.out.as_str()), (0, "nothing is new: what is kept is what the servers say\n"));

    change(&world, "Says hello", "Says anything");
    change(&world, "\\\"name\\\":\\\"die\\\"", "\\\"name\\\":\\\"end\\\"");
    let before = world.read("toolwright.lock");
    let nobody = world.run("lock");
    assert_eq!(nobody.code, 12);
    golden("lock-changed.txt", &nobody.err);
    assert_eq!(world.read("toolwright.lock"), before);
    let json: serde_json::Value = serde_json::from_str(&world.run("lock --yes --format json").out).unwrap();
    let written = &json["written"][0];
    assert_eq!(written["added"][0]["tool"], "end");
    assert_eq!(written["removed"][0]["tool"], "die");
    assert_eq!(written["changed"][0]["tool"], "show");

    // A server that the file names no more is gone from the lock as well.
    world.write("toolwright.yaml", "sources:\n  cmd: {tools: {hi: {argv: [echo, hi], effect: read}}}\n");
    assert_eq!(world.run("lock --yes").code, 0);
    assert_eq!(world.read("toolwright.lock"), "{\n  \"version\": 1,\n  \"sources\": {}\n}\n");
}

#[test]
fn a_server_that_is_not_there_leaves_the_lock_as_it_is() {
    let world = world("lock_dead");
    assert_eq!(world.run("lock --yes").code, 0);
    let before = world.read("toolwright.lock");
    world.write("toolwright.yaml", &FILE.replace("composites:", "  dead: {command: no-such-program}\ncomposites:"));
    change(&world, "Says hello", "Says anything");
    let dead = world.run("lock --yes");
    assert_eq!(dead.code, 10, "{}", dead.err);
    assert!(dead.err.contains("nothing was written") && dead.err.contains("no-such-program"), "{}", dead.err);
    assert_eq!(world.read("toolwright.lock"), before);
}

#[test]
fn what_is_locked_is_checked_without_starting_anything() {
    let world = world("lock_offline");
    let wrong = FILE.replace("{text: x}", "{txt: x}");
    world.write("toolwright.yaml", &wrong);
    // Without a lock nothing is known, and nothing is said.
    let unknown = world.run("check --offline");
    assert_eq!(unknown.code, 0, "{}", unknown.out);
    world.write("toolwright.yaml", FILE);
    assert_eq!(world.run("lock --yes").code, 0);
    std::fs::remove_file(world.dir.join("started.txt")).unwrap();
    let good = world.run("check --offline");
    assert_eq!((good.code, good.out.as_str()), (0, "5 tools, 1 composite: nothing is wrong\n"), "{}", good.err);
    for (mistake, code) in [("tool: small_shw", "step_missing"), ("tool: small_store", "side_effects_undeclared")] {
        world.write("toolwright.yaml", &FILE.replace("tool: small_show", mistake));
        let found = world.run("check --offline --format plain");
        assert!(found.code != 0 && found.out.contains(&format!("toolwright.yaml:6:34: {code}")), "{mistake}: {}", found.out);
    }
    world.write("toolwright.yaml", &FILE.replace("{text: x}", "{text: 5}"));
    let wired = world.run("check --offline --format plain");
    assert!(wired.code == 20 && wired.out.contains("toolwright.yaml:6:67: invalid_input"), "{}", wired.out);
    // Running asks the server as ever.
    world.write("toolwright.yaml", FILE);
    assert!(!world.has("started.txt"), "checking started the server");
    assert_eq!(world.run("run good").out, "hello\n");
    assert!(world.has("started.txt"));
}

#[test]
fn a_lock_that_was_changed_is_told_with_its_place() {
    let world = world("lock_broken");
    assert_eq!(world.run("lock --yes").code, 0);
    let whole = world.read("toolwright.lock");
    let line = 1 + whole.lines().position(|line| line.contains("\"show\"")).unwrap();
    world.write("toolwright.lock", &whole.replace("Says hello", "Says whatever you like"));
    let check = world.run("check --offline --format plain");
    assert_eq!(check.code, 20, "{}", check.out);
    assert!(check.out.contains(&format!("toolwright.lock:{line}:9: lock_unusable: what is kept of `show` of `small`")), "{}", check.out);
    for (broken, why) in [
        (whole.replace("\"version\": 1", "\"version\": 7"), "newer toolwright"),
        (whole.replace("\"sources\"", "\"sorces\""), "`sources` is missing"),
        (whole.replace("\"tools\"", "\"tolos\""), "has no `tools`"),
        (format!("<<<<<<< HEAD\n{whole}"), "is no JSON"),
    ] {
        world.write("toolwright.lock", &broken);
        let check = world.run("check --offline --format plain");
        assert!(check.code == 20 && check.out.contains("lock_unusable") && check.out.contains(why), "{why}: {}", check.out);
    }
    // What was changed by hand is shown as other than what the server says, and written anew.
    let hash = whole.split("sha256:").nth(1).unwrap().split('"').next().unwrap();
    for (by_hand, what) in [
        (whole.replace("Says hello", "Says whatever you like"), "small: show  description"),
        (whole.replace(hash, &hash.replace(|c: char| c.is_ascii_digit(), "f")), "  hash\n"),
        (whole.replace("\"tools\"", "\"tolos\""), "small: show"),
    ] {
        assert_ne!(by_hand, whole);
        world.write("toolwright.lock", &by_hand);
        let asked = world.run("lock");
        assert!(asked.code == 12 && asked.err.contains(what), "{what}: {}{}", asked.out, asked.err);
        assert_eq!(world.read("toolwright.lock"), by_hand);
        let yes = world.run("lock --yes");
        assert!(yes.code == 0 && yes.out.starts_with("kept: "), "{}{}", yes.out, yes.err);
        assert_eq!(world.read("toolwright.lock"), whole);
        assert_eq!(world.run("check --offline").code, 0);
    }
}

#[test]
fn no_secret_is_kept() {
    let mut world = world("lock_secret");
    world.set("TOKEN", "hunter2-canary");
    world.write("toolwright.yaml", &FILE.replace("RECORD: started.txt", "SHOWN: \"${TOKEN}\""));
    change(&world, "Says hello", "Says $SHOWN");
    change(
        &world,
        "schema='{\"type\":\"object\",\"properties\":{\"text\":",
        "schema='{\"type\":\"object\",\"properties\":{\"hunter2-canary\":{},\"text\":",
    );
    let nobody = world.run("lock");
    assert!(nobody.code == 12 && nobody.err.contains("Says ") && !nobody.err.contains("canary"), "{}", nobody.err);
    assert_eq!(world.run("lock --yes").code, 0);
    let lock = world.read("toolwright.lock");
    assert!(lock.contains("Says ") && !lock.contains("canary"), "{lock}");
    assert!(world.run("lock").out.starts_with("nothing is new"));
}

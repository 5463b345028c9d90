//! What came from the environment, or stands under `env` or `headers`, is never seen.

use crate::world::{Done, World};

const CANARIES: [&str; 5] = ["CANARY-ENV-12bc", "CANARY-FILE-88dd", "CANARY-HDR-77aa", "CANARY-ARG-5d5d", "CANARY-PW-91f3"];

#[track_caller]
fn unseen(line: &str, done: &Done) {
    for canary in CANARIES {
        for part in [canary, canary.get(..11).unwrap()] {
            assert!(!done.out.contains(part), "{line}: {}", done.out);
            assert!(!done.err.contains(part), "{line}: {}", done.err);
        }
    }
}

/// C63 of the field failures, for the command line.
#[test]
fn no_secret_is_in_any_output() {
    let mut world = World::new("canary");
    world.copy("server.sh", "server.sh");
    world.set("TOKEN", CANARIES[0]);
    world.set("HEADER", CANARIES[2]);
    world.set("ARGUMENT", CANARIES[3]);
    world.copy("canary.yaml", "toolwright.yaml");
    for line in [
        "check",
        "check --offline",
        "list",
        "describe works_leak",
        "describe tell",
        "graph leaks",
        "run works_leak",
        "run leaks",
        "run tell",
        "run tells",
        "run missing",
        "run login password=CANARY-PW-91f3",
        "run gone_x",
        "run web_x",
        "run small_x",
        "run fine_x",
        "dry-run leaks",
        "trust toolwright.yaml",
    ] {
        for form in ["human", "plain", "json"] {
            let line = format!("{line} --format {form}");
            unseen(&line, &world.run(&line));
        }
    }
    assert_eq!(world.run("run works_show").out, "hello\n");
    for line in ["run tell", "run login password=CANARY-PW-91f3"] {
        assert!(world.run(line).err.contains("[secret]"), "{line} should have had something to hide");
    }
}

/// A file that cannot be read as YAML is quoted all the same, and must be quoted with care.
#[test]
fn a_syntax_error_next_to_a_secret_hides_it() {
    let world = World::new("canary_syntax");
    for text in [
        "sources:\n  a:\n    command: x\n    env:\n      TOKEN: CANARY-FILE-88dd\n    args: [\n",
        "sources:\n  a:\n    env: {TOKEN: CANARY-FILE-88dd, B: ]\n",
        "{\"mcpServers\": {\"a\": {\"env\": {\"T\": \"CANARY-FILE-88dd\"}, \"x\": ]}}}\n",
    ] {
        world.write("toolwright.yaml", text);
        let done = world.run("check");
        assert_eq!(done.code, 20);
        assert!(done.out.contains("config_syntax"), "{}", done.out);
        unseen(text, &done);
    }
}

/// A secret may be any word; documents stay documents.
#[test]
fn masking_never_breaks_a_document() {
    let world = World::new("masking");
    world.write(
        "toolwright.yaml",
        "sources: {s: {env: {A: 'true', B: reading, C: false}, tools: {t: {description: I am reading it - true, argv: [cat, '{x}'], effect: read}}}}\n",
    );
    for line in ["list", "describe t", "check"] {
        let done = world.run(&format!("{line} --format json"));
        let document: serde_json::Value = serde_json::from_str(&done.out).unwrap();
        assert!(document.is_object(), "{line}");
    }
    let failed = world.run("run t x=missing --format json");
    let document: serde_json::Value = serde_json::from_str(&failed.err).unwrap();
    assert_eq!(document["success"], false);
    assert!(world.run("list").out.contains("I am [secret] it - true"));
}

/// A token under a misspelt member, and one in an address, are seen by nobody either.
#[test]
fn what_stands_beside_a_mistake_or_in_an_address_is_hidden() {
    let world = World::new("misplaced");
    world.write(
        "toolwright.yaml",
        "sources:\n  a:\n    command: ./no-such\n    environ: {T: CANARY-FILE-88dd}\n  b:\n    url: http://me:CANARY-PW-91f3@127.0.0.1:9/x\n  \
         c: {command: git, args: [clone, \"https://me:CANARY-PW-91f3@host/x\"], trust: maybe}\n  \
         d: {tools: {t: {argv: [echo, \"https://me:CANARY-PW-91f3@host\"], token: CANARY-FILE-88dd}}}\n  \
         e: {tools: {u: {argv: [sh, -c, \"echo https://me:CANARY-PW-91f3@host >&2; exit 3\"], effect: write}}}\n\
         policy: {sideEffectingTools: [b_x, u]}\n",
    );
    for line in ["check", "list", "run b_x", "run t", "run u", "describe u", "trust toolwright.yaml"] {
        for form in ["human", "plain", "json"] {
            let line = format!("{line} --format {form}");
            unseen(&line, &world.run(&line));
        }
    }
}

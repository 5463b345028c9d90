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
        assert_eq!((failed.code, failed.out.as_str()), (13, ""), "{}", failed.err);
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

#[cfg(unix)]
#[test]
fn a_second_interrupt_leaves_at_once() {
    let world = World::with("interrupt_twice", "notes.yaml");
    let text = world.read("toolwright.yaml").replace("sleep 30", "trap '' TERM; sleep 30");
    world.write("toolwright.yaml", &text);
    let child = world.command(&["run", "waiting", "--allow", "slow_write"]).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    wait_for(|| world.has("begun.txt"));
    signal(&child, "INT");
    std::thread::sleep(Duration::from_millis(300));
    let start = Instant::now();
    signal(&child, "INT");
    let end = done(child.wait_with_output().unwrap());
    assert_eq!(end.code, 130, "{}", end.err);
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

//! Runs that go on: after a crash, by an answer, with tools that changed, under a key, as a fork.
#![cfg(unix)]

use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use crate::world::{Done, World, done, golden};

const ALLOW: [&str; 5] = ["--allow=send", "--allow=send_slowly", "--allow=note", "--allow=fails", "--allow=invite"];

pub(crate) fn world(name: &str) -> World {
    World::with(&format!("durable_{name}"), "mail.yaml")
}

/// Runs a command with everything allowed.
pub(crate) fn allowed(world: &World, line: &str) -> Done {
    let words: Vec<&str> = line.split_whitespace().chain(ALLOW).collect();
    world.run_args(&words)
}

fn start(world: &World, line: &str) -> Child {
    let words: Vec<&str> = line.split_whitespace().chain(ALLOW).collect();
    world.command(&words).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
}

fn wait_for(mut what: impl FnMut() -> bool) {
    let start = Instant::now();
    while !what() {
        assert!(start.elapsed() < Duration::from_secs(20), "it never came");
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// Runs a command until the file is there, and kills it as a crash does.
pub(crate) fn killed(world: &World, line: &str, file: &str) {
    world.write("crash", "");
    let mut child = start(world, line);
    wait_for(|| world.has(file));
    child.kill().unwrap();
    child.wait().unwrap();
    std::fs::remove_file(world.dir.join("crash")).unwrap();
}

/// Ids of the runs, the newest first.
pub(crate) fn runs(world: &World) -> Vec<serde_json::Value> {
    world.json("runs")["runs"].as_array().unwrap().clone()
}

fn status(world: &World) -> String {
    runs(world)[0]["status"].as_str().unwrap().to_owned()
}

pub(crate) fn states(world: &World, run: &str) -> Vec<String> {
    let shown = world.json(&format!("show {run}"));
    let steps = shown["steps"].as_array().unwrap().iter();
    steps.map(|step| format!("{} {}", step["path"].as_str().unwrap(), step["state"].as_str().unwrap())).collect()
}

pub(crate) fn mode(path: &Path) -> u32 {
    std::fs::metadata(path).unwrap().permissions().mode() & 0o777
}

#[test]
fn a_killed_run_says_what_is_not_known_and_goes_on_by_the_answer() {
    for (answer, sent, said) in [("happened=sent", 1, "sent"), ("not-happened", 2, "sent to ann@example.org")] {
        let world = world(&format!("answer_{}", answer.len()));
        killed(&world, "run invite name=ann", "sent.txt");
        assert_eq!(status(&world), "in_doubt");
        assert_eq!(runs(&world)[0]["waits"][0]["path"], "invite/1:mail");
        let expected = ["invite sent", "invite/0:find done", "invite/1:mail unknown", "invite/2:keep planned"];
        assert_eq!(states(&world, "last"), expected);
        let again = allowed(&world, "resume last");
        assert_eq!((again.code, again.out.as_str()), (13, ""), "{again:?}");
        assert!(again.err.contains("toolwright resume run-") && again.err.contains("--as not-happened"), "{}", again.err);
        let on = allowed(&world, &format!("resume last --as {answer}"));
        assert_eq!(on.code, 0, "{on:?}");
        assert!(on.err.contains("note: written down for `send_slowly`"), "{}", on.err);
        assert_eq!(world.read("sent.txt").lines().count(), sent, "{answer}");
        assert_eq!(world.read("done.txt"), said);
        assert_eq!(status(&world), "succeeded");
        let who = world.json("show last")["steps"][2]["answeredBy"].clone();
        assert_eq!(who.is_string(), sent == 1, "{who}");
        // The same answer again changes nothing, and gives the recorded result.
        let same = allowed(&world, &format!("resume last --as {answer}"));
        assert_eq!((same.code, same.out.as_str()), if sent == 1 { (0, on.out.as_str()) } else { (2, "") }, "{same:?}");
        assert_eq!(world.read("sent.txt").lines().count(), sent, "{answer}");
    }
}

#[test]
fn an_answer_that_cannot_be_used_is_not_written() {
    let world = world("answers");
    killed(&world, "run outer", "sent.txt");
    let before = world.run("journal export").out;
    for (words, code, says) in [
        (vec!["--as", "yes"], 2, "is no answer"),
        (vec!["--as", "happened=OUTPUT"], 2, "`OUTPUT` stands for what the tool gave"),
        (vec!["--as", "happened="], 2, "nothing stands after `happened=`"),
        (vec!["--as", "happened"], 2, "gives an output"),
        (vec!["--as", "not-happened", "--call", "first"], 2, "no call `first`"),
        (vec!["--call", "mail"], 2, "--as"),
    ] {
        let line: Vec<&str> = ["resume", "last"].into_iter().chain(words.iter().copied()).chain(ALLOW).collect();
        let done = world.run_args(&line);
        assert_eq!(done.code, code, "{words:?}: {done:?}");
        assert!(done.err.contains(says), "{words:?}: {}", done.err);
    }
    assert_eq!(world.run("journal export").out, before);
    let on = allowed(&world, "resume last --as happened=17 --call mail");
    assert_eq!(on.code, 0, "{on:?}");
    assert!(on.err.contains("the text \"17\""), "{}", on.err);
    assert_eq!((world.read("done.txt").as_str(), world.read("sent.txt").lines().count()), ("17", 1));
}

#[test]
fn a_run_that_stopped_goes_on_and_repeats_nothing() {
    let world = world("interrupted");
    killed(&world, "run paused", "stopped");
    assert_eq!(status(&world), "interrupted");
    assert_eq!(states(&world, "last"), ["paused sent", "paused/0:mail done", "paused/1:wait sent"]);
    let on = allowed(&world, "resume last");
    assert_eq!((on.code, on.out.as_str()), (0, "gone on\n"), "{on:?}");
    assert_eq!(world.read("sent.txt"), "eve\n");
    let run = &runs(&world)[0];
    assert_eq!((run["epoch"].as_u64(), run["status"].as_str()), (Some(2), Some("succeeded")));
    let again = allowed(&world, "resume last");
    assert_eq!((again.code, again.out.as_str()), (0, "gone on\n"));
    assert!(again.err.contains("recorded result"), "{}", again.err);
}

#[test]
fn a_run_that_failed_after_an_effect_says_how_to_go_on() {
    let world = world("half");
    let done = allowed(&world, "run half");
    assert_eq!(done.code, 10, "{done:?}");
    golden("half.txt", &world.neutral(&done.err));
    let plain = allowed(&world, "run half --format plain");
    assert!(plain.err.contains("; go on: toolwright resume run-"), "{}", plain.err);
    let json: serde_json::Value = serde_json::from_str(&allowed(&world, "run half --format json").err).unwrap();
    assert!(json["run"].is_string() && json["resume"].as_str().unwrap().starts_with("toolwright resume run-"), "{json}");
    world.write("mended", "");
    let on = allowed(&world, "resume last");
    assert_eq!((on.code, on.out.as_str()), (0, "yes\n"), "{on:?}");
    assert_eq!(world.read("sent.txt").lines().count(), 3, "each run sent once");
}

#[test]
fn an_idempotent_tool_without_an_answer_runs_again() {
    let world = world("idempotent");
    let text = world.read("toolwright.yaml").replace("effect: idempotent", "effect: idempotent\n        timeout: 300ms");
    world.write(
        "toolwright.yaml",
        &text.replace("argv: [tee, \"{file}\"]", "argv: [sh, -c, 'test -e mended || sleep 9; tee \"$1\"', tee, \"{file}\"]"),
    );
    let late = allowed(&world, "run invite name=ann");
    assert_eq!(late.code, 13, "{late:?}");
    let told = late.err.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(told.contains("`note` may run twice: `toolwright resume run-") && !told.contains("--as"), "{told}");
    world.write("mended", "");
    assert_eq!(allowed(&world, "resume last").code, 0);
    assert_eq!(world.read("sent.txt").lines().count(), 1);
}

#[test]
fn an_interrupted_run_says_how_to_go_on() {
    let world = world("signal");
    world.write("crash", "");
    let child = start(&world, "run paused");
    wait_for(|| world.has("stopped"));
    let status = std::process::Command::new("kill").args(["-INT", &child.id().to_string()]).status();
    assert!(status.unwrap().success());
    let end = done(child.wait_with_output().unwrap());
    assert_eq!(end.code, 10, "{}", end.err);
    assert!(end.err.contains("go on") && end.err.contains("`toolwright resume run-"), "{}", end.err);
    std::fs::remove_file(world.dir.join("crash")).unwrap();
    assert_eq!(allowed(&world, "resume last").code, 0);
    assert_eq!(world.read("sent.txt"), "eve\n");
}

#[test]
fn a_tool_that_changed_is_named_and_nothing_runs() {
    let world = world("changed");
    killed(&world, "run paused", "stopped");
    let text = world.read("toolwright.yaml");
    world.write("toolwright.yaml", &text.replace("echo gone on", "touch ran; echo changed"));
    for form in ["human", "plain", "json"] {
        let refused = allowed(&world, &format!("resume last --format {form}"));
        assert_eq!(refused.code, 11, "{refused:?}");
        let flat = refused.err.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(flat.contains("`stop`") || flat.contains("stop"), "{flat}");
        assert!(flat.contains("--accept-changed stop"), "{flat}");
    }
    assert!(!world.has("ran"));
    world.write("toolwright.yaml", &text.replace("{name: wait, tool: stop}", "{name: wait, tool: look, inputMapping: {name: x}}"));
    let other = allowed(&world, "resume last --accept-changed stop --accept-changed paused");
    assert_eq!(other.code, 11, "{other:?}");
    assert!(other.err.contains("1:wait") && other.err.contains("fork this one"), "{}", other.err);
    world.write("toolwright.yaml", &text.replace("echo gone on", "touch ran; echo changed"));
    let on = allowed(&world, "resume last --accept-changed stop");
    assert_eq!((on.code, on.out.as_str(), world.has("ran")), (0, "changed\n", true), "{on:?}");
}

#[test]
fn a_key_runs_once() {
    let world = world("key");
    let first = allowed(&world, "run invite name=ann --key order-17");
    assert_eq!(first.code, 0, "{first:?}");
    let again = allowed(&world, "run invite name=ann --key order-17");
    assert_eq!((again.code, again.out.as_str()), (0, first.out.as_str()));
    assert!(again.err.contains("this is its recorded result, and nothing ran"), "{}", again.err);
    for line in ["run invite name=bob --key order-17", "run look name=ann --key order-17"] {
        let other = allowed(&world, line);
        assert_eq!((other.code, other.out.as_str()), (11, ""), "{other:?}");
        assert!(other.err.contains("take another `--key`"), "{}", other.err);
    }
    assert_eq!(world.read("sent.txt").lines().count(), 1);
    assert_eq!(allowed(&world, "run invite name=bob --key order-18").code, 0);
    assert_eq!(world.read("sent.txt").lines().count(), 2);
    assert_eq!(runs(&world).len(), 2);
    for line in ["run look name=ann --key a --journal none", "run look name=ann --key="] {
        assert_eq!(world.run(line).code, 2, "{line}");
    }
}

#[test]
fn a_run_at_work_is_not_taken_up() {
    let world = world("at_work");
    world.write("crash", "");
    let mut child = start(&world, "run paused --key one");
    wait_for(|| world.has("stopped"));
    assert_eq!(status(&world), "running");
    assert_eq!(states(&world, "last"), ["paused sent", "paused/0:mail done", "paused/1:wait sent"]);
    for line in ["resume last", "run paused --key one"] {
        let done = allowed(&world, line);
        assert_eq!((done.code, done.out.as_str()), (11, ""), "{line}: {done:?}");
        assert!(done.err.contains("somebody else is at work on this run") && done.err.contains("toolwright show"), "{}", done.err);
    }
    child.kill().unwrap();
    child.wait().unwrap();
    assert_eq!(status(&world), "interrupted");
    assert_eq!(world.read("sent.txt"), "eve\n");
}

#[test]
fn what_is_lost_without_a_journal_is_said_where_something_is_lost() {
    let mut world = world("nowhere");
    let note = "note: nothing of this run is kept (`--journal none`)";
    for (line, told) in [
        ("run look name=ann --journal none", false),
        ("run send to=eve --journal none", true),
        ("run half --journal none", true),
        ("run send to=eve --journal none --quiet", false),
        ("run send to=eve --journal none --format json", false),
        ("dry-run half --output mail=1 --output more=1", false),
    ] {
        let done = allowed(&world, line);
        assert_eq!(done.err.contains(note), told, "{line}: {done:?}");
        assert!(!done.err.contains("toolwright resume"), "{line}: {done:?}");
    }
    world.set("TOOLWRIGHT_JOURNAL", "none");
    assert!(allowed(&world, "run send to=eve").err.contains(note));
    assert!(!world.has("home"));
    assert_eq!(world.run("runs").code, 2);
    assert_eq!(allowed(&world, "run send to=eve --journal here/kept.sqlite").code, 0);
    assert_eq!(mode(&world.dir.join("here")), 0o700);
    assert_eq!(world.run("runs --journal here/kept.sqlite --format plain").out.lines().count(), 1);
}

#[test]
fn a_journal_that_cannot_be_used_stops_the_tool() {
    let world = world("unusable");
    world.write("text.sqlite", "no journal at all, and longer than the head of one would have to be, so that nothing is made of it");
    world.write("open.sqlite", "");
    std::fs::set_permissions(world.dir.join("open.sqlite"), PermissionsExt::from_mode(0o666)).unwrap();
    std::fs::create_dir(world.dir.join("folder.sqlite")).unwrap();
    for path in ["text.sqlite", "open.sqlite", "folder.sqlite", "text.sqlite/x", "/proc/toolwright/x"] {
        for form in ["human", "plain", "json"] {
            let done = allowed(&world, &format!("run send to=eve --journal {path} --format {form}"));
            assert_eq!((done.code, done.out.as_str()), (21, ""), "{path}: {done:?}");
            let flat = done.err.split_whitespace().collect::<Vec<_>>().join(" ");
            assert!(flat.contains("journal_unusable") && flat.contains("nothing was started") && flat.contains("--journal none"), "{flat}");
        }
    }
    assert!(!world.has("sent.txt"));
    assert!(world.read("text.sqlite").starts_with("no journal"), "it is not touched");
}

#[test]
fn a_fork_takes_over_what_was_before_the_step() {
    let world = world("fork");
    assert_eq!(allowed(&world, "run invite name=ann").code, 0);
    let forked = allowed(&world, "fork last --from keep");
    assert_eq!(forked.code, 0, "{forked:?}");
    assert_eq!(world.read("sent.txt").lines().count(), 1, "the mail is not sent again");
    let all = runs(&world);
    assert_eq!(all.len(), 2);
    // What was taken over stands in its place, once.
    let tree = ["invite done", "invite/0:find done", "invite/1:mail done", "invite/2:keep done"];
    assert_eq!(states(&world, "last"), tree);
    assert!(world.run("show last").out.contains("fork of"), "{}", world.run("show last").out);
    let other = allowed(&world, "fork last --from mail name=bob");
    assert_eq!(other.code, 0, "{other:?}");
    assert_eq!(world.read("sent.txt"), "ann@example.org\nann@example.org\n", "what was looked up stays as it was");
    for (line, code) in [("fork last --from nothing", 2), ("fork last --from keep nam=x", 2)] {
        assert_eq!(allowed(&world, line).code, code, "{line}");
    }
    assert_eq!(world.read("sent.txt").lines().count(), 2);
}

#[test]
fn an_answer_about_a_tool_that_changed_is_not_written_before_the_change_is_accepted() {
    let world = world("answer_changed");
    killed(&world, "run invite name=ann", "sent.txt");
    let (before, file) = (world.run("journal export").out, world.read("toolwright.yaml"));
    world.write("toolwright.yaml", &file.replace("$1\" >> sent.txt", "$1\"  >> sent.txt"));
    assert_ne!(world.read("toolwright.yaml"), file, "the command line is another one");
    let refused = allowed(&world, "resume last --as happened=sent");
    assert_eq!(refused.code, 11, "{refused:?}");
    assert!(refused.err.contains("changed_tool") && refused.err.contains("send_slowly"), "{}", refused.err);
    assert_eq!(world.run("journal export").out, before, "nothing was written");
    let accepted = allowed(&world, "resume last --as happened=sent --accept-changed send_slowly");
    assert_eq!(accepted.code, 0, "{accepted:?}");
    assert_eq!(world.read("sent.txt").lines().count(), 1);
}

#[test]
fn a_root_that_lost_its_name_is_told_and_nothing_is_written() {
    let world = world("renamed");
    killed(&world, "run invite name=ann", "sent.txt");
    let (before, file) = (world.run("journal export").out, world.read("toolwright.yaml"));
    world.write("toolwright.yaml", &file.replace("  invite:", "  invitation:"));
    for line in ["resume last --as happened=sent", "fork last --from keep"] {
        let words: Vec<&str> = line.split_whitespace().chain(["--allow=send", "--allow=send_slowly", "--allow=note"]).collect();
        let done = world.run_args(&words);
        assert_eq!(done.code, 11, "{done:?}");
        assert!(done.err.contains("the run began with `invite`"), "{}", done.err);
    }
    assert_eq!(world.run("journal export").out, before);
}

#[test]
fn what_show_prints_can_be_copied() {
    let world = world("copied");
    killed(&world, "run invite name=ann", "sent.txt");
    let shown = world.run("show last").out;
    let printed: String = shown.lines().skip_while(|line| !line.starts_with("say what happened")).collect::<Vec<_>>().join(" ");
    let command = printed.split('`').nth(1).unwrap().replace("happened=OUTPUT", "happened=sent");
    let words: Vec<&str> = command.split_whitespace().skip(1).collect();
    let on = world.run_args(&words);
    assert_eq!((on.code, world.read("sent.txt").lines().count()), (0, 1), "{command}: {on:?}");
}

#[test]
fn a_journal_by_another_name_is_the_same_journal() {
    let world = world("second_name");
    world.write("crash", "");
    let mut child = start(&world, "run invite name=ann --journal kept.sqlite");
    wait_for(|| world.has("sent.txt"));
    std::os::unix::fs::symlink("kept.sqlite", world.dir.join("link.sqlite")).unwrap();
    let refused = allowed(&world, "resume last --journal link.sqlite --as not-happened");
    assert_eq!(refused.code, 11, "it is at work: {refused:?}");
    child.kill().unwrap();
    child.wait().unwrap();
    assert_eq!(world.read("sent.txt").lines().count(), 1);
    std::fs::hard_link(world.dir.join("kept.sqlite"), world.dir.join("hard.sqlite")).unwrap();
    assert_eq!(allowed(&world, "resume last --journal hard.sqlite --as not-happened").code, 21);
}

#[test]
fn a_key_whose_run_stopped_before_a_tool_changed_touches_nothing() {
    let world = world("key_changed");
    killed(&world, "run invite name=ann --key order-17", "sent.txt");
    let (before, file) = (world.run("journal export").out, world.read("toolwright.yaml"));
    world.write("toolwright.yaml", &file.replace("$1\" >> sent.txt", "$1\"  >> sent.txt"));
    let again = allowed(&world, "run invite name=ann --key order-17");
    assert_eq!(again.code, 11, "{again:?}");
    assert!(again.err.contains("send_slowly") && again.err.contains("--accept-changed"), "{}", again.err);
    assert_eq!(world.run("journal export").out, before);
    assert_eq!((status(&world).as_str(), world.read("sent.txt").lines().count()), ("in_doubt", 1));
}

#[test]
fn a_fork_from_a_step_in_doubt_says_that_it_makes_the_call_anew() {
    let world = world("fork_doubt");
    killed(&world, "run invite name=ann", "sent.txt");
    let before = allowed(&world, "fork last --from keep");
    assert_eq!((before.code, world.read("sent.txt").lines().count()), (13, 1), "{before:?}");
    let from = allowed(&world, "fork last --from mail");
    assert_eq!((from.code, world.read("sent.txt").lines().count()), (0, 2), "{from:?}");
    assert!(from.err.contains("nobody knows whether `send_slowly` (invite/1:mail) happened"), "{}", from.err);
}

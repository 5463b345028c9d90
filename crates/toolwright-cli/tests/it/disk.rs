//! Disks that break under the real binary: full, failing to sync, not to be written, cut off, with flipped bytes. What the
//! caller was told is there afterwards, nothing is told that is not, and no tool starts whose intent cannot be written.
#![expect(clippy::print_stderr, reason = "what is left out on this machine is said in words")]

use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

use crate::world::{Done, World, done, fixtures};

const CONFIG: &str = r#"
sources:
  here:
    tools:
      look: { argv: [cat, a.txt], effect: read }
      send: { argv: [tee, -a, sent.txt], stdin: "{text}\n", effect: write }
composites:
  twice:
    input: { type: object, properties: { text: { type: string } }, required: [text] }
    steps:
      - { name: look, tool: look }
      - { name: first, tool: send, inputMapping: { text: $input.text } }
      - { name: again, tool: look }
      - { name: second, tool: send, inputMapping: { text: $input.text } }
    output: { seen: $steps.again, sent: $steps.second }
"#;

/// Effects of one whole run.
const EFFECTS: usize = 2;

fn world(name: &str) -> World {
    let world = World::new(name);
    world.write("toolwright.yaml", CONFIG);
    world.write("a.txt", "one");
    world
}

fn words(line: &str) -> Vec<&str> {
    line.split_whitespace().collect()
}

/// The run, with a key that says which it is.
fn run_line(key: &str) -> String {
    format!("run twice text={key} --key {key} --allow send --journal runs.sqlite --format json")
}

/// How often the tool wrote this.
fn sent(world: &World, text: &str) -> usize {
    if world.has("sent.txt") { world.read("sent.txt").lines().filter(|line| *line == text).count() } else { 0 }
}

/// The run whose id is the newest of this key's, as `runs` says it.
fn runs(world: &World) -> Vec<Value> {
    let listed = world.run("runs --limit 100000 --journal runs.sqlite --format json");
    assert_eq!(listed.code, 0, "{listed:?}");
    let document: Value = serde_json::from_str(&listed.out).unwrap();
    document["runs"].as_array().unwrap().clone()
}

/// The calls of `send` whose intent is in the journal.
fn begun(world: &World, id: &str) -> usize {
    let shown = world.run(&format!("show {id} --journal runs.sqlite --format json"));
    assert_eq!(shown.code, 0, "{shown:?}");
    let document: Value = serde_json::from_str(&shown.out).unwrap();
    let steps = document["steps"].as_array().unwrap();
    steps.iter().filter(|step| step["tool"] == "send").map(|step| usize::try_from(step["attempts"].as_u64().unwrap()).unwrap()).sum()
}

fn says_journal(ended: &Done) -> bool {
    let document: Value = serde_json::from_str(&ended.err).unwrap_or_default();
    ended.code == 21 && document["error"].as_str().is_some_and(|error| error.contains("journal")) && document["help"].is_string()
}

/// The library that breaks the disk; words when it cannot be had here.
fn library(world: &World) -> Result<PathBuf, &'static str> {
    if !cfg!(target_os = "linux") {
        return Err("left out: nothing is preloaded on this system");
    }
    let library = world.dir.join("disk.so");
    let source = fixtures().join("disk.c");
    let built = Command::new("cc").args(["-shared", "-fPIC", "-o"]).arg(&library).arg(source).arg("-ldl").output();
    match built {
        Ok(output) => {
            assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
            Ok(library)
        }
        Err(_) => Err("left out: `cc` is not on this machine"),
    }
}

/// How a disk breaks.
struct Fault {
    name: &'static str,
    file: &'static str,
    call: &'static str,
    error: i32,
    once: bool,
}

const ENOSPC: i32 = 28;
const EIO: i32 = 5;
const EROFS: i32 = 30;

fn broken(world: &World, library: &Path, fault: &Fault, after: usize, line: &str) -> Done {
    let _ = std::fs::remove_file(world.dir.join("told.txt"));
    let mut command = world.command(&words(line));
    command.env("LD_PRELOAD", library).env("DISK_FILE", fault.file).env("DISK_CALL", fault.call);
    command.env("DISK_AFTER", after.to_string()).env("DISK_ERROR", fault.error.to_string()).env("DISK_TOLD", world.dir.join("told.txt"));
    if fault.once {
        command.env("DISK_ONCE", "1");
    }
    done(command.output().unwrap())
}

/// Breaks the disk at the first call, the second one, and so on until a run does not meet it any more.
fn at_every_call(fault: &Fault) {
    let world = world(&format!("disk-{}", fault.name));
    let library = match library(&world) {
        Ok(library) => library,
        Err(why) => return eprintln!("{why}"),
    };
    // Something that was told before the disk broke.
    let before = world.run(&run_line("before"));
    assert_eq!(before.code, 0, "{before:?}");
    let (mut failed, mut unmet) = (0, 0);
    // Every call of the first ones, and then each fifth one.
    for after in (0..16).chain((16..400).step_by(5)) {
        let key = format!("k{after}");
        let listed = runs(&world).len();
        let ended = broken(&world, &library, fault, after, &run_line(&key));
        let met = world.has("told.txt");
        judge(&world, &key, &ended, listed, &format!("{} after {after}", fault.name));
        failed += usize::from(ended.code != 0);
        unmet = if met { 0 } else { unmet + 1 };
        if unmet == 2 {
            break;
        }
    }
    assert_eq!(unmet, 2, "the disk breaks however often it is asked");
    assert!(failed > 0 || fault.call != "write", "no run was ended by it");
    let again = world.run(&run_line("before"));
    assert_eq!((again.code, &again.out, sent(&world, "before")), (0, &before.out, EFFECTS), "{again:?}");
    let whole = world.run("journal verify --journal runs.sqlite");
    assert_eq!(whole.code, 0, "{whole:?}");
}

/// What must hold of a run on a broken disk, once the disk is well again.
fn judge(world: &World, key: &str, ended: &Done, listed: usize, what: &str) {
    let runs = runs(world);
    let effects = sent(world, key);
    if ended.code == 0 {
        assert_eq!((effects, runs.len()), (EFFECTS, listed + 1), "{what}: {ended:?}");
        assert_eq!(runs[0]["status"], "succeeded", "{what}: told as done, and it is not there");
        let again = world.run(&run_line(key));
        assert_eq!((again.code, &again.out, sent(world, key)), (0, &ended.out, EFFECTS), "{what}: {again:?}");
        return;
    }
    // The last effect may have happened while its outcome could not be written: that is told as in doubt.
    assert!(says_journal(ended) || ended.code == 13, "{what}: {ended:?}");
    if runs.len() == listed {
        assert_eq!(effects, 0, "{what}: no run, and a tool was started: {ended:?}");
    } else {
        let id = runs[0]["id"].as_str().unwrap();
        assert!(effects <= begun(world, id), "{what}: a tool was started whose intent is not there: {ended:?}");
    }
    // The same again, on a disk that is well: it goes on, or says what it does not know. Nothing is done twice.
    let again = world.run(&run_line(key));
    match again.code {
        0 => assert_eq!(sent(world, key), EFFECTS, "{what}: {again:?}"),
        13 => assert!(sent(world, key) <= EFFECTS && again.err.contains("--as"), "{what}: {again:?}"),
        _ => panic!("{what}: {ended:?}, and then {again:?}"),
    }
}

#[test]
fn a_full_disk_ends_the_run_and_loses_nothing() {
    at_every_call(&Fault { name: "full", file: "runs.sqlite", call: "write", error: ENOSPC, once: false });
}

#[test]
fn a_disk_that_is_full_for_a_moment_loses_nothing() {
    at_every_call(&Fault { name: "full-once", file: "runs.sqlite", call: "write", error: ENOSPC, once: true });
}

#[test]
fn a_disk_that_fails_to_write_loses_nothing() {
    at_every_call(&Fault { name: "write", file: "runs.sqlite", call: "write", error: EIO, once: false });
}

#[test]
fn a_sync_that_fails_loses_nothing() {
    at_every_call(&Fault { name: "sync", file: "runs.sqlite", call: "sync", error: EIO, once: false });
}

#[test]
fn a_sync_that_fails_once_is_not_forgotten() {
    at_every_call(&Fault { name: "sync-once", file: "runs.sqlite", call: "sync", error: EIO, once: true });
}

#[test]
fn a_disk_that_fails_to_read_loses_nothing() {
    at_every_call(&Fault { name: "read", file: "runs.sqlite", call: "read", error: EIO, once: false });
}

/// Nothing was started, and the exit code says why.
#[track_caller]
fn refused(world: &World, ended: &Done) {
    assert!(says_journal(ended), "{ended:?}");
    assert!(!world.has("sent.txt"), "a tool was started without a journal");
}

#[test]
fn a_journal_that_cannot_be_written_ends_the_run_before_it_starts() {
    let world = world("disk-read-only");
    match library(&world) {
        Ok(library) => {
            let fault = |file| Fault { name: "", file, call: "open", error: EROFS, once: false };
            for file in ["runs.sqlite", ".owners"] {
                refused(&world, &broken(&world, &library, &fault(file), 0, &run_line("new")));
            }
            let made = world.run("runs --journal runs.sqlite");
            assert!(made.code == 0 || made.code == 21, "{made:?}");
            assert_eq!(world.run("run look --journal runs.sqlite").code, 0);
            for file in ["runs.sqlite", ".owners"] {
                refused(&world, &broken(&world, &library, &fault(file), 0, &run_line("there")));
            }
        }
        Err(why) => eprintln!("{why}"),
    }
    world.write("file", "no folder");
    let line = run_line("x");
    for journal in ["file/runs.sqlite", "file", "."] {
        refused(&world, &world.run(&line.replace("runs.sqlite", journal)));
    }
}

#[cfg(unix)]
#[test]
fn a_file_or_folder_that_is_read_only_ends_the_run_before_it_starts() {
    use std::os::unix::fs::PermissionsExt;

    let world = world("disk-permissions");
    let allow = |path: &str, mode| std::fs::set_permissions(world.dir.join(path), std::fs::Permissions::from_mode(mode)).unwrap();
    std::fs::create_dir(world.dir.join("kept")).unwrap();
    assert_eq!(world.run("run look --journal kept/runs.sqlite").code, 0);
    allow("kept", 0o500);
    if std::fs::write(world.dir.join("kept/probe"), "").is_ok() {
        allow("kept", 0o700);
        return eprintln!("left out: this user may write whatever it likes");
    }
    let line = run_line("x").replace("runs.sqlite", "kept/runs.sqlite");
    let ended = world.run(&line);
    allow("kept", 0o700);
    refused(&world, &ended);
    allow("kept/runs.sqlite", 0o400);
    refused(&world, &world.run(&line));
    assert_eq!(world.run("runs --journal kept/runs.sqlite").code, 0);
}

/// A file system of its own that is really full, in a namespace of its own, gone with the last process in it.
#[test]
fn a_file_system_that_is_really_full_ends_the_run() {
    let world = world("disk-tmpfs");
    let may = Command::new("unshare").args(["-rm", "true"]).output();
    if !may.is_ok_and(|output| output.status.success()) {
        return eprintln!("left out: nothing may be mounted here");
    }
    std::fs::create_dir(world.dir.join("small")).unwrap();
    let script = r#"
        mount -t tmpfs -o size=220k tmpfs small || exit 77
        for n in $(seq 1 400); do
            "$0" run twice text=t$n --key t$n --allow send --journal small/runs.sqlite --format json > out.txt 2> err.txt
            code=$?
            test $code -eq 0 || break
            echo $n > last.txt
        done
        echo $code > code.txt
        "$0" runs --limit 100000 --journal small/runs.sqlite --format json > runs.txt 2>> err.txt || echo "runs: $?" >> err.txt
        mount -o remount,size=20m small
        "$0" journal verify --journal small/runs.sqlite > verify.txt 2>&1 || echo 1 > unwell.txt
        "$0" run twice text=t$n --key t$n --allow send --journal small/runs.sqlite --format json > again.txt 2>&1
        echo $? > again-code.txt
    "#;
    let mut command = Command::new("unshare");
    command.args(["-rm", "sh", "-c", script, env!("CARGO_BIN_EXE_toolwright")]).current_dir(&world.dir);
    let output = command.env("HOME", world.dir.join("home")).output().unwrap();
    if output.status.code() == Some(77) {
        return eprintln!("left out: no tmpfs may be mounted here");
    }
    let read = |name: &str| world.read(name).trim().to_owned();
    let ended = Done { code: read("code.txt").parse().unwrap(), out: world.read("out.txt"), err: world.read("err.txt") };
    assert!(says_journal(&ended) || ended.code == 13, "{ended:?}");
    let told: usize = read("last.txt").parse().unwrap();
    let document: Value = serde_json::from_str(&world.read("runs.txt")).unwrap();
    let succeeded = document["runs"].as_array().unwrap().iter().filter(|run| run["status"] == "succeeded").count();
    assert_eq!(succeeded, told, "what was told is there on the full disk: {ended:?}");
    assert!(!world.has("unwell.txt"), "{}", world.read("verify.txt"));
    let last = sent(&world, &format!("t{}", told + 1));
    match read("again-code.txt").as_str() {
        "0" => assert_eq!(last, EFFECTS, "{}", world.read("again.txt")),
        "13" => assert!(last <= EFFECTS, "{}", world.read("again.txt")),
        other => panic!("{other}: {}", world.read("again.txt")),
    }
}

/// The files that hold records.
fn files(world: &World) -> Vec<PathBuf> {
    let names = ["runs.sqlite", "runs.sqlite-wal"].map(|name| world.dir.join(name));
    names.into_iter().filter(|path| path.metadata().is_ok_and(|file| file.len() > 0)).collect()
}

/// A journal with runs that were told, and its records.
fn told_runs(world: &World) -> String {
    for number in 0..6 {
        let ended = world.run(&run_line(&format!("told{number}")));
        assert_eq!(ended.code, 0, "{ended:?}");
    }
    let exported = world.run("journal export --journal runs.sqlite");
    assert_eq!(exported.code, 0, "{exported:?}");
    exported.out
}

/// Damages a copy of the journal, and asks whether anything is wrong. When nothing is, everything must be there, unchanged.
fn damaged(world: &World, file: &Path, exported: &str, what: &str, damage: impl FnOnce(&mut Vec<u8>)) -> bool {
    copy(&world.dir, "runs.sqlite", "hurt.sqlite");
    let hurt = world.dir.join(file.file_name().unwrap().to_str().unwrap().replace("runs.", "hurt."));
    let mut bytes = std::fs::read(file).unwrap();
    damage(&mut bytes);
    std::fs::write(hurt, bytes).unwrap();
    let verified = world.run("journal verify --journal hurt.sqlite");
    if verified.code == 0 {
        let now = world.run("journal export --journal hurt.sqlite");
        assert_eq!((now.code, now.out == exported), (0, true), "{what}: `verify` says nothing, and the records are others: {verified:?}");
    }
    assert!(matches!(verified.code, 0 | 20 | 21), "{what}: {verified:?}");
    // Asked for again: the recorded output, or no journal; nothing is done that was done before.
    let again = world.run(&run_line("told0").replace("runs.sqlite", "hurt.sqlite"));
    assert!(again.code == 0 || says_journal(&again), "{what}: {again:?}");
    assert_eq!(sent(world, "told0"), EFFECTS, "{what}: done again: {again:?}");
    verified.code != 0
}

/// Copies everything that belongs to a journal; what was there under the other name is gone.
fn copy(dir: &Path, from: &str, to: &str) {
    for entry in std::fs::read_dir(dir).unwrap().flatten() {
        let name = entry.file_name().into_string().unwrap();
        if name.starts_with(to) {
            let _ = if entry.path().is_dir() { std::fs::remove_dir_all(entry.path()) } else { std::fs::remove_file(entry.path()) };
        }
    }
    for entry in std::fs::read_dir(dir).unwrap().flatten() {
        let name = entry.file_name().into_string().unwrap();
        let Some(ending) = name.strip_prefix(from).filter(|ending| *ending != "-shm") else { continue };
        let to = dir.join(format!("{to}{ending}"));
        if entry.path().is_file() {
            std::fs::copy(entry.path(), to).unwrap();
            continue;
        }
        std::fs::create_dir(&to).unwrap();
        for file in std::fs::read_dir(entry.path()).unwrap().flatten() {
            std::fs::copy(file.path(), to.join(file.file_name())).unwrap();
        }
    }
}

#[test]
fn a_file_that_was_cut_off_is_found_out_or_lost_nothing() {
    let world = world("disk-cut");
    let exported = told_runs(&world);
    let mut found = 0;
    for file in files(&world) {
        let length = std::fs::metadata(&file).unwrap().len();
        for part in 0..16 {
            let to = usize::try_from(length * part / 16).unwrap();
            let what = format!("{} of {length} bytes cut to {to}", file.display());
            // What is missing in one file may still stand in the other one.
            found += usize::from(damaged(&world, &file, &exported, &what, |bytes| bytes.truncate(to)));
        }
    }
    assert!(found > 10, "only {found} were found");
}

#[test]
fn flipped_bytes_are_found_out_or_change_nothing() {
    let world = world("disk-flipped");
    let exported = told_runs(&world);
    let mut found = 0;
    for file in files(&world) {
        let length = usize::try_from(std::fs::metadata(&file).unwrap().len()).unwrap();
        for part in 0..60 {
            let at = (length * part / 60 + part * 37) % length;
            let what = format!("byte {at} of {}", file.display());
            found += usize::from(damaged(&world, &file, &exported, &what, |bytes| {
                bytes.iter_mut().skip(at).take(3).for_each(|byte| *byte = !*byte);
            }));
        }
    }
    assert!(found > 10, "only {found} were found");
}

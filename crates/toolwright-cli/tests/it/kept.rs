//! Runs that are kept: what is told of them and what is not, and the journal that they are in.
#![cfg(unix)]

use std::time::{Duration, Instant};

use toolwright::journal::{Begin, Claim, Finish, RunRecord, StepKey};
use toolwright::{EffectState, Impact, Journal, json};
use toolwright_sqlite::SqliteJournal;

use crate::durable::{allowed, killed, mode, runs, states, world};
use crate::world::{World, done, golden};

#[test]
fn a_run_is_kept_for_the_user_alone() {
    let world = world("kept");
    let done = allowed(&world, "run invite name=ann");
    assert_eq!((done.code, done.err.as_str()), (0, ""), "{done:?}");
    let folder = world.dir.join("home/.local/share/toolwright");
    let file = folder.join("runs.sqlite");
    assert_eq!((mode(&folder), mode(&file)), (0o700, 0o600));
    for beside in std::fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().path()) {
        assert_eq!(mode(&beside) & 0o077, 0, "{}", beside.display());
    }
    assert_eq!(world.run("journal path").out, format!("{}\n", file.display()));
    let run = &runs(&world)[0];
    assert_eq!((run["status"].as_str(), run["tool"].as_str()), (Some("succeeded"), Some("invite")), "{run}");
    assert!(run["created"].as_str().unwrap().starts_with("20") && run["ended"].as_str() >= run["created"].as_str(), "{run}");
    let owner = run["owner"].as_str().unwrap();
    assert!(owner.contains(", process "), "{owner}");
    let expected = ["invite done", "invite/0:find done", "invite/1:mail done", "invite/2:keep done"];
    assert_eq!(states(&world, "last"), expected);
    let shown = world.json("show last --io");
    assert_eq!(shown["steps"][1]["input"]["name"], "ann", "{shown}");
    assert_eq!(shown["steps"][1]["output"], "ann@example.org", "{shown}");
    let by_prefix = run["id"].as_str().unwrap();
    assert_eq!(world.run(&format!("show {}", &by_prefix[..14])).code, 0);
    for (line, says) in
        [("show run", "more than one run"), ("show nothing", "no run has an id"), ("show last --step nothing", "no call `nothing`")]
    {
        world.run("run look name=ann");
        let done = world.run(line);
        assert_eq!(done.code, 2, "{line}: {done:?}");
        assert!(done.err.contains(says), "{line}: {}", done.err);
    }
}

#[test]
fn without_a_run_there_is_nothing_to_see() {
    let world = world("none");
    for (line, out) in [("runs --format plain", ""), ("journal export", ""), ("journal prune --keep 1 --format plain", "")] {
        let done = world.run(line);
        assert_eq!((done.code, done.out.as_str()), (0, out), "{line}: {done:?}");
    }
    assert_eq!(world.run("journal verify").code, 0);
    for line in ["show last", "resume last", "fork last --from find", "journal export last"] {
        assert_eq!(world.run(line).code, 2, "{line}");
    }
    assert_eq!(world.run("runs --journal nowhere.sqlite").code, 21);
    assert!(!world.has("home/.local/share") && !world.has("nowhere.sqlite"), "looking makes nothing");
}

#[test]
fn runs_are_filtered_and_shown() {
    let world = world("filters");
    allowed(&world, "run half");
    world.run("run look name=ann");
    killed(&world, "run paused", "stopped");
    std::fs::remove_file(world.dir.join("sent.txt")).unwrap();
    killed(&world, "run invite name=ann", "sent.txt");
    let count = |line: &str| world.run(&format!("runs --format plain {line}")).out.lines().count();
    for (line, expected) in [
        ("", 4),
        ("--status open", 2),
        ("--status in-doubt", 1),
        ("--status interrupted", 1),
        ("--status failed --status succeeded", 2),
        ("--tool look", 1),
        ("--since 1h", 4),
        ("--since 2001-01-01", 4),
        ("--since 2400-01-01", 0),
        ("--limit 3", 3),
        ("--limit 1 --status succeeded", 1),
    ] {
        assert_eq!(count(line), expected, "{line}");
    }
    assert_eq!(world.run("runs --since yesterday").code, 2);
    let human = world.run("runs").out;
    let narrow = done(world.command(&["runs"]).env("COLUMNS", "60").output().unwrap()).out;
    let fits = |line: &str| line.chars().count() <= 60 || line.contains("`toolwright ");
    assert!(narrow.lines().all(fits), "{narrow}");
    assert!(world.run("runs --limit 3").err.contains("there are older ones"));
    assert_eq!((world.json("runs --limit 3")["more"].as_bool(), world.json("runs")["more"].as_bool()), (Some(true), Some(false)));
    golden("runs.txt", &timeless(&world.neutral(&human)));
    golden("show.txt", &timeless(&world.neutral(&world.run("show last").out)));
    golden("show-io.txt", &timeless(&world.neutral(&world.run("show last --io").out)));
    golden("show-step.txt", &timeless(&world.neutral(&world.run("show last --step mail").out)));
    let plain = world.run("show last --format plain").out;
    assert!(plain.lines().all(|line| line.split('\t').count() == 8), "{plain}");
}

/// Text in which times, names of people and machines, and numbers of processes are others each time.
fn timeless(text: &str) -> String {
    let mut out = String::new();
    for line in text.lines() {
        let line = match line.find("process ").and_then(|at| Some((line.get(..line.find("by ").or(line.find("work"))?)?, at))) {
            Some((before, _)) => format!("{before}OWNER"),
            None => line.to_owned(),
        };
        let words: Vec<String> = line.split(' ').map(|word| word.to_owned()).collect();
        let mut kept: Vec<String> = Vec::new();
        for word in words {
            let date = word.len() == 10 && word.matches('-').count() == 2 && word.starts_with("20");
            let time = word.len() == 8 && word.matches(':').count() == 2;
            let number = word.trim_start_matches('+').trim_end_matches(',');
            let is_number = !number.is_empty() && number.chars().all(|c| c.is_ascii_digit() || c == '.') && !word.ends_with(':');
            kept.push(match (date, time, is_number) {
                (true, ..) => "DATE".to_owned(),
                (_, true, _) => "TIME".to_owned(),
                (.., true) => "N".to_owned(),
                _ => word,
            });
        }
        // How many blanks stand before a number depends on it.
        let joined = kept.join(" ");
        let indent = joined.len() - joined.trim_start().len();
        out.push_str(&joined[..indent]);
        out.push_str(
            &joined
                .split_whitespace()
                .collect::<Vec<_>>()
                .join(" ")
                .replace("just now", "N s ago")
                .replace(" ms", " s")
                .replace(" min", " s"),
        );
        out.push('\n');
    }
    out
}

const HOSTILE: &str = r#"
sources:
  s:
    env: {TOKEN: CANARY-TOKEN-4711}
    tools:
      loud:
        argv: [sh, -c, 'printf "a\033[2Jb\r\033]0;x\007 $TOKEN"']
        effect: read
      wrong:
        argv: [sh, -c, 'printf "\033[31mno $TOKEN\n" >&2; exit 3']
        effect: read
      login:
        argv: [sh, -c, 'echo "hello $1"', login, "{password}"]
        effect: read
        input:
          type: object
          properties: {password: {type: string, writeOnly: true}}
          required: [password]
"#;

#[test]
fn nothing_of_a_tool_moves_the_cursor_and_no_secret_is_seen() {
    let world = World::new("durable_hostile");
    world.write("toolwright.yaml", HOSTILE);
    for line in ["run loud", "run wrong", "run login password=CANARY-PASS-0815"] {
        world.run(line);
    }
    let ids: Vec<String> = runs(&world).iter().map(|run| run["id"].as_str().unwrap().to_owned()).collect();
    assert_eq!(ids.len(), 3);
    let elsewhere = |line: &str| {
        let words: Vec<&str> = line.split_whitespace().collect();
        std::fs::create_dir_all(world.dir.join("elsewhere")).unwrap();
        done(world.command(&words).current_dir(world.dir.join("elsewhere")).output().unwrap())
    };
    let mut shown = vec![world.run("runs")];
    for id in &ids {
        for form in ["human", "plain", "json"] {
            for line in [format!("show {id}"), format!("show {id} --io"), format!("show {id} --step 0")] {
                shown.push(world.run(&format!("{line} --format {form}")));
                shown.push(elsewhere(&format!("{line} --format {form}")));
            }
        }
    }
    for done in &shown {
        let all = format!("{}{}", done.out, done.err);
        assert!(!all.contains("CANARY"), "{all}");
        assert!(!all.chars().any(|c| c.is_control() && !"\n\t".contains(c)), "{all:?}");
    }
    assert!(shown.iter().any(|done| done.out.contains("[secret]")), "something was hidden");
    // Where nobody can say any more what is secret, values are not shown.
    std::fs::remove_file(world.dir.join("toolwright.yaml")).unwrap();
    let refused = world.run(&format!("show {} --io", ids[0]));
    assert_eq!((refused.code, refused.out.as_str()), (2, ""), "{refused:?}");
    assert!(refused.err.contains("journal export"), "{}", refused.err);
    assert_eq!(world.run(&format!("show {}", ids[0])).code, 0);
}

/// What a schema marks as sensitive is never written in plain, and never masked either, since it could not be given again.
#[test]
fn a_tool_that_handles_secrets_is_not_written_down() {
    let world = World::new("durable_sensitive");
    world.write(
        "toolwright.yaml",
        "sources: {s: {tools: {pay: {argv: [sh, -c, 'touch paid', pay, \"{card?}\"], effect: write, \
         input: {type: object, properties: {card: {type: string, x-sensitive: true}}}}}}}\n",
    );
    for form in ["human", "plain", "json"] {
        let done = world.run(&format!("run pay card=CANARY --format {form}"));
        assert_eq!((done.code, world.has("paid")), (11, false), "{done:?}");
        assert!(done.err.contains("sensitive_unencrypted") && done.err.contains("--journal none"), "{}", done.err);
        assert!(!done.err.contains("toolwright resume"), "{}", done.err);
    }
    assert_eq!(world.run("runs --format plain").out, "");
    assert_eq!((world.run("run pay card=CANARY --journal none").code, world.has("paid")), (0, true));
}

#[test]
fn a_journal_is_checked_exported_and_pruned() {
    let world = world("journal");
    for name in ["ann", "bob", "eve"] {
        world.run(&format!("run look name={name}"));
    }
    let verified = world.json("journal verify");
    assert_eq!((verified["whole"].as_bool(), verified["runs"].as_u64()), (Some(true), Some(3)), "{verified}");
    let lines = |text: &str| -> Vec<serde_json::Value> { text.lines().map(|line| serde_json::from_str(line).unwrap()).collect() };
    let all = lines(&world.run("journal export").out);
    let one = lines(&world.run("journal export last").out);
    assert!(!one.is_empty() && all.len() > one.len(), "{} {}", all.len(), one.len());
    for (line, code) in [
        ("journal prune", 2),
        ("journal prune --older-than 30", 2),
        ("journal prune --max-size lots", 2),
        ("journal prune nothing", 2),
        ("journal prune last --keep 1", 2),
    ] {
        assert_eq!(world.run(line).code, code, "{line}");
    }
    let tried = world.json("journal prune --keep 1 --dry-run");
    assert_eq!((tried["runs"].as_array().unwrap().len(), runs(&world).len()), (2, 3));
    assert_eq!(world.json("journal prune --older-than 1h")["runs"].as_array().unwrap().len(), 0);
    assert_eq!(world.json("journal prune --keep 1")["runs"].as_array().unwrap().len(), 2);
    assert_eq!(runs(&world).len(), 1);
    assert_eq!(world.json("journal verify")["whole"], true, "what was taken out is no damage");
    assert_eq!(world.run("journal prune last").code, 0);
    assert_eq!(runs(&world).len(), 0);
}

#[test]
fn a_run_that_waits_is_pruned_only_by_name() {
    let world = world("prune_open");
    killed(&world, "run paused", "stopped");
    assert_eq!(world.json("journal prune --keep 0")["runs"].as_array().unwrap().len(), 0);
    assert_eq!(world.json("journal prune --older-than 0d")["runs"].as_array().unwrap().len(), 0);
    let id = runs(&world)[0]["id"].as_str().unwrap().to_owned();
    assert_eq!(world.json(&format!("journal prune {}", &id[..12]))["runs"][0], id.as_str());
    assert!(runs(&world).is_empty());
}

#[test]
fn an_edited_journal_does_not_verify() {
    let world = world("edited");
    let at = "--journal kept.sqlite";
    allowed(&world, &format!("run invite name=CANARYNAME {at}"));
    // Whatever is still beside the file goes into it.
    world.run(&format!("journal prune --keep 9 {at}"));
    let mut edited = 0;
    for name in ["kept.sqlite", "kept.sqlite-wal"] {
        let path = world.dir.join(name);
        let Ok(mut bytes) = std::fs::read(&path) else { continue };
        while let Some(at) = bytes.windows(10).position(|window| window == b"CANARYNAME") {
            bytes[at..at + 10].copy_from_slice(b"OTHERNAMES");
            edited += 1;
        }
        std::fs::write(&path, bytes).unwrap();
    }
    assert!(edited > 0);
    for form in ["human", "plain", "json"] {
        let done = world.run(&format!("journal verify {at} --format {form}"));
        assert_eq!(done.code, 20, "{done:?}");
        assert!(done.out.contains("journal_damaged"), "{done:?}");
    }
}

#[test]
fn a_journal_that_lost_records_is_not_written_to_until_somebody_says_so() {
    let world = world("lost");
    allowed(&world, "run send to=eve --journal kept.sqlite");
    // As a file system that loses what it said was on the disk.
    let whole = std::fs::read(world.dir.join("kept.sqlite")).unwrap();
    allowed(&world, "run send to=bob --journal kept.sqlite");
    std::fs::remove_file(world.dir.join("kept.sqlite-wal")).unwrap();
    let _ = std::fs::remove_file(world.dir.join("kept.sqlite-shm"));
    std::fs::write(world.dir.join("kept.sqlite"), whole).unwrap();
    let refused = allowed(&world, "run send to=ann --journal kept.sqlite");
    assert_eq!((refused.code, world.read("sent.txt").lines().count()), (21, 2), "{refused:?}");
    assert!(refused.err.contains("toolwright journal recover"), "{}", refused.err);
    assert_eq!(world.run("journal recover --journal kept.sqlite").code, 12);
    let recovered = world.run("journal recover --yes --journal kept.sqlite");
    assert_eq!(recovered.code, 0, "{recovered:?}");
    assert_eq!(allowed(&world, "run send to=ann --journal kept.sqlite").code, 0);
    assert!(world.run("journal recover --journal kept.sqlite").out.contains("nothing is lost"));
}

/// Writes records into a journal as another host would.
fn written(world: &World, tool: &str, calls: &[(String, Impact, bool)]) {
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    runtime.block_on(async {
        let journal = SqliteJournal::open(world.dir.join("kept.sqlite")).unwrap();
        let run = RunRecord::new(format!("run-{tool}"), tool, json!({}));
        let run = journal.open(run, Claim::new("another host")).get().await.unwrap();
        for (path, impact, finished) in calls {
            let key = || StepKey::written(path.as_str(), path.rsplit(':').next().unwrap());
            let mut begin = Begin::new(key(), Some(*impact), json!({"name": "ann"}));
            begin.composite = path == tool;
            run.begin(begin).get().await.unwrap();
            if *finished {
                run.finish(Finish::ok(key(), Some(json!("found")), EffectState::NoEffect)).get().await.unwrap();
            }
        }
    });
}

#[test]
fn of_two_calls_in_doubt_the_one_that_is_meant_is_named() {
    let world = world("two");
    let call = |path: &str| (path.to_owned(), Impact::Once, false);
    written(&world, "half", &[call("half"), call("half/0:mail"), call("half/1:more")]);
    let before = world.run("journal export --journal kept.sqlite").out;
    let done = allowed(&world, "resume run-half --journal kept.sqlite --as not-happened");
    assert_eq!(done.code, 2, "{done:?}");
    assert!(done.err.contains("2 calls are in doubt") && done.err.contains("--call"), "{}", done.err);
    assert_eq!(world.run("journal export --journal kept.sqlite").out, before);
    assert!(!world.has("sent.txt"));
}

/// A run of ten thousand calls is shown at once; the bound is one for slow machines that build without optimisation.
#[test]
fn a_long_run_is_shown_at_once() {
    let world = world("long");
    let steps = (0..10_000).map(|number| (format!("all/{number}:look"), Impact::None, true));
    let calls: Vec<(String, Impact, bool)> = [("all".to_owned(), Impact::None, false)].into_iter().chain(steps).collect();
    written(&world, "all", &calls);
    let start = Instant::now();
    let shown = world.run("show last --journal kept.sqlite");
    assert!(start.elapsed() < Duration::from_secs(5), "{:?}", start.elapsed());
    assert_eq!((shown.code, shown.out.lines().filter(|line| line.contains("done")).count()), (0, 10_000), "{}", shown.err);
}

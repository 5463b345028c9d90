//! Approvals at the command line: what is asked on a terminal, what waits where there is none, and who answers it.
#![cfg(unix)]

use std::fs::File;
use std::io::{Read, Write};
use std::path::Path;
use std::process::{Child, Stdio};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::durable::runs;
use crate::world::{Done, World};

/// Debits, and ships what was debited; to ship needs a yes. Each leaves a line for each time it ran.
const CONFIGURATION: &str = r#"sources:
  shop:
    tools:
      debit: { argv: [sh, -c, "echo debited >> debited.txt; echo t1"], effect: write }
      ship:
        description: Sends the goods
        argv: [sh, -c, 'read tx; echo "$tx" >> shipped.txt; echo ok']
        stdin: "{tx}"
        effect: write
composites:
  order:
    description: Debits and ships
    steps:
      - { name: debit, tool: debit, inputMapping: {} }
      - { name: ship, tool: ship, inputMapping: { tx: $prev } }
policy:
  sideEffectingTools: [debit, { tool: ship, approve: always }]
"#;

fn world(name: &str) -> World {
    let mut world = World::new(&format!("approve-{name}"));
    world.set("NO_COLOR", "1");
    world.write("toolwright.yaml", CONFIGURATION);
    assert_eq!(world.run("trust toolwright.yaml --yes").code, 0);
    world
}

fn lines(world: &World, file: &str) -> usize {
    if world.has(file) { world.read(file).lines().count() } else { 0 }
}

/// How often each tool ran.
fn ran(world: &World) -> (usize, usize) {
    (lines(world, "debited.txt"), lines(world, "shipped.txt"))
}

fn waiting(world: &World) -> Vec<Value> {
    world.json("approve").as_array().unwrap().clone()
}

fn only(world: &World) -> String {
    let all = waiting(world);
    assert_eq!(all.len(), 1, "{all:?}");
    all[0]["id"].as_str().unwrap().to_owned()
}

fn code_of(done: &Done) -> String {
    let told: Value = serde_json::from_str(&done.err).unwrap_or_else(|_| panic!("{done:?}"));
    told["code"].as_str().unwrap().to_owned()
}

/// A command with a terminal of its own for input and messages.
struct AtTerminal {
    child: Child,
    keys: File,
    seen: Arc<Mutex<String>>,
}

impl AtTerminal {
    fn run(world: &World, line: &str) -> Self {
        use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
        let own = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap();
        grantpt(&own).unwrap();
        unlockpt(&own).unwrap();
        let path = ptsname(&own, Vec::new()).unwrap();
        let terminal = File::options().read(true).write(true).open(Path::new(path.to_str().unwrap())).unwrap();
        let args: Vec<&str> = line.split_whitespace().collect();
        let messages = Stdio::from(terminal.try_clone().unwrap());
        let child = world.command(&args).stdin(Stdio::from(terminal)).stdout(Stdio::piped()).stderr(messages).spawn().unwrap();
        let keys = File::from(own);
        let (mut screen, seen) = (keys.try_clone().unwrap(), Arc::<Mutex<String>>::default());
        let written = seen.clone();
        std::thread::spawn(move || {
            let mut bytes = [0; 1_024];
            while let Ok(count @ 1..) = screen.read(&mut bytes) {
                written.lock().unwrap().push_str(&String::from_utf8_lossy(&bytes[..count]));
            }
        });
        Self { child, keys, seen }
    }

    fn seen(&self) -> String {
        self.seen.lock().unwrap().clone()
    }

    #[track_caller]
    fn waits_for(&self, words: &str) {
        let start = Instant::now();
        while !self.seen().contains(words) {
            assert!(start.elapsed() < Duration::from_secs(60), "`{words}` is not in {}", self.seen());
            std::thread::sleep(Duration::from_millis(10));
        }
    }

    fn types(&mut self, text: &str) {
        self.keys.write_all(text.as_bytes()).unwrap();
    }

    fn ends(mut self) -> (i32, String, String) {
        let mut out = String::new();
        self.child.stdout.take().unwrap().read_to_string(&mut out).unwrap();
        let code = self.child.wait().unwrap().code().unwrap_or(-1);
        (code, out, self.seen())
    }
}

#[test]
fn on_a_terminal_the_person_there_is_asked_with_what_would_be_sent() {
    for (typed, code, shipped) in [("y\n", 0, 1), ("n\n", 11, 0), ("\n", 11, 0)] {
        let world = world("terminal");
        let mut running = AtTerminal::run(&world, "run order");
        running.waits_for("approve? [y/N]");
        for words in ["ship (write) waits for your yes", "Sends the goods", "\"t1\"", "order: debit, [ship]", "approve: always"] {
            assert!(running.seen().contains(words), "{words}: {}", running.seen());
        }
        assert_eq!(ran(&world), (1, 0), "nothing of it ran yet");
        running.types(typed);
        let (ended, out, seen) = running.ends();
        assert_eq!((ended, ran(&world)), (code, (1, shipped)), "{out}{seen}");
        assert_eq!(out, if code == 0 { "ok\n" } else { "" });
        let approvals = world.json("show last")["approvals"].clone();
        assert_eq!(approvals[0]["answered"]["outcome"], if code == 0 { "yes" } else { "no" }, "{approvals}");
        assert!(approvals[0]["answered"]["who"].as_str().unwrap().contains('@') || cfg!(not(target_os = "linux")), "{approvals}");
        assert!(waiting(&world).is_empty());
    }
}

#[test]
fn c56_a_question_outlives_the_process_that_asked_and_nothing_runs_twice() {
    let world = world("killed");
    let mut running = AtTerminal::run(&world, "run order");
    running.waits_for("approve? [y/N]");
    let asked = only(&world);
    assert!(running.seen().contains(&asked));
    running.child.kill().unwrap();
    running.child.wait().unwrap();
    assert_eq!(only(&world), asked, "the same id after the kill");
    assert_eq!(runs(&world)[0]["status"], "waiting");
    // Taken up where nobody can be asked, it still waits, with the same question.
    let again = world.run("resume last --format json");
    assert_eq!((again.code, code_of(&again).as_str()), (12, "approval_required"));
    assert_eq!(only(&world), asked);
    let answered = world.run(&format!("approve {} --yes", &asked[..10]));
    assert_eq!(answered.code, 0, "{answered:?}");
    for second in ["--no", "--yes"] {
        let refused = world.run(&format!("approve {asked} {second} --format json"));
        assert_eq!((refused.code, code_of(&refused).as_str()), (11, "approval_answered"), "a second answer is refused");
    }
    assert_eq!(ran(&world), (1, 0));
    let done = world.run("resume last");
    assert_eq!((done.code, done.out.as_str()), (0, "ok\n"), "{done:?}");
    assert_eq!((ran(&world), world.read("shipped.txt").as_str()), ((1, 1), "t1\n"), "debited once, shipped once");
    assert_eq!(world.run("resume last").code, 0);
    assert_eq!(ran(&world), (1, 1));
    let verified = world.run("journal verify");
    assert_eq!(verified.code, 0, "{verified:?}");
    let exported = world.run("journal export").out;
    assert!(exported.contains(r#""kind":"asked""#) && exported.contains(r#""kind":"answered""#), "{exported}");
}

#[test]
fn a_process_that_waits_notices_an_answer_given_by_another_one() {
    for (answer, code) in [("--yes", 0), ("--no --reason late", 11)] {
        let world = world("elsewhere");
        let running = AtTerminal::run(&world, "run order");
        running.waits_for("approve? [y/N]");
        let done = world.run(&format!("approve {} {answer}", only(&world)));
        assert!(done.code == 0 && done.err.contains("is at work and goes on by itself"), "{done:?}");
        let (ended, out, seen) = running.ends();
        assert_eq!(ended, code, "{out}{seen}");
        assert_eq!(seen.contains("\"late\""), code == 11, "the reason is told: {seen}");
        assert_eq!(ran(&world), (1, usize::from(code == 0)));
    }
}

#[test]
fn where_nobody_is_the_run_stops_and_a_no_ends_it() {
    let world = world("nobody");
    let stopped = world.run("run order");
    assert_eq!(stopped.code, 12, "{stopped:?}");
    let id = only(&world);
    for words in [format!("toolwright approve {id}"), "toolwright resume run-".to_owned()] {
        assert!(stopped.err.contains(&words), "{words}: {}", stopped.err);
    }
    let shown = world.run(&format!("approve {id}"));
    assert_eq!(shown.code, 12, "nobody is here to be asked");
    assert!(shown.out.contains("ship (write)") && shown.out.contains("\"t1\""), "{shown:?}");
    assert!(world.run("runs --status waiting").out.contains("may `ship` run (order/1:ship)?"));
    assert!(world.run("show last").out.contains(&format!("`toolwright approve {id}`")));
    let done = world.run_args(&["approve", &id, "--no", "--reason", "out of stock"]);
    assert_eq!(done.code, 0, "{done:?}");
    let refused = world.run("resume last --format json");
    assert_eq!((refused.code, code_of(&refused).as_str()), (11, "approval_denied"));
    assert!(refused.err.contains("out of stock"), "{refused:?}");
    assert_eq!(ran(&world), (1, 0));
    // Another attempt asks again, with another id.
    assert_eq!(world.run("resume last").code, 12);
    assert_ne!(only(&world), id);
    // Without a journal nobody can answer later.
    let lost = world.run("run ship tx=t9 --journal none --format json");
    assert_eq!((lost.code, code_of(&lost).as_str()), (11, "approval_denied"));
    assert_eq!(ran(&world), (1, 0));
}

#[test]
fn a_rule_counts_at_once_and_to_loosen_it_needs_a_new_yes() {
    let world = World::new("approve-rules");
    world.write("toolwright.yaml", CONFIGURATION);
    // Nobody accepted the list, and the tool is called by its name: that it asks counts all the same.
    assert_eq!(world.run("run ship tx=t1").code, 12);
    assert_eq!(world.run("run order --allow debit --allow ship").code, 12);
    let shown = world.run("trust toolwright.yaml");
    assert!(shown.err.contains("asks before it runs: always"), "{shown:?}");
    assert_eq!(world.run("trust toolwright.yaml --yes").code, 0);
    world.write("toolwright.yaml", &CONFIGURATION.replace("approve: always", "approve: never"));
    let refused = world.run("run order");
    assert_eq!(refused.code, 11, "{refused:?}");
    assert_eq!(ran(&world), (1, 0), "only the run that was allowed got as far as the question");
}

#[test]
fn what_is_wrong_in_the_list_is_told_with_its_place_and_grants_nothing() {
    let world = world("wrong");
    for (written, says) in [
        ("{ tool: ship, approve: alway }", "did you mean `always`?"),
        ("{ tool: ship, aprove: always }", "did you mean `approve`?"),
        ("{ approve: always }", "needs `tool`"),
        ("[ship]", "a tool's id or `{tool, approve}`"),
    ] {
        world.write("toolwright.yaml", &CONFIGURATION.replace("{ tool: ship, approve: always }", written));
        let checked = world.run("check");
        assert_eq!(checked.code, 20, "{written}: {checked:?}");
        assert!(checked.out.contains(says) || checked.err.contains(says), "{written}: {checked:?}");
    }
}

#[test]
fn an_answer_needs_a_question() {
    let world = world("unknown");
    assert_eq!((world.run("approve").out.as_str(), waiting(&world).len()), ("nothing waits for a yes\n", 0));
    for line in ["approve ask-1 --yes", "approve --yes", "approve nothing"] {
        assert_eq!(world.run(line).code, 2, "{line}");
    }
    assert_eq!(world.run("approve ask-1 --yes --no").code, 2);
    world.run("run ship tx=a");
    world.run("run ship tx=b");
    let done = world.run("approve ask- --yes");
    assert!(done.code == 2 && done.err.contains("more than one question"), "{done:?}");
    assert_eq!((waiting(&world).len(), ran(&world)), (2, (0, 0)));
}

//! After a kill with very many open runs: how long it takes to say how they stand, and how much memory.

use std::future::Future;
use std::io::BufRead;
use std::path::Path;
use std::pin::pin;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::task::{Context, Poll, Wake, Waker};
use std::thread::Thread;
use std::time::{Duration, Instant};

use serde_json::Value;
use toolwright::journal::{Begin, Claim, Finish, RunRecord, StepKey};
use toolwright::{EffectState, Impact, Journal, json};
use toolwright_sqlite::SqliteJournal;

use super::Options;
use super::process::{Ended, Exited, finish};
use super::tally::Tally;
use super::world::World;

/// Steps of the one long run.
const STEPS: usize = 10_000;

/// `runs` over all open runs.
const RUNS_AT_MOST: Duration = Duration::from_secs(2);

/// `show` of the long run: at once is less than a person notices as waiting.
const SHOW_AT_MOST: Duration = Duration::from_secs(1);

/// So many times as long for a binary that is not optimised, and neither is the SQLite in it.
const UNOPTIMISED: u32 = 4;

/// What a process may have in memory, in KiB.
const PEAK_AT_MOST: u64 = 256 * 1024;

/// Runs that are written at the same time, so that they share commits.
const WRITERS: usize = 64;

/// Makes the journal, kills who made it, and measures.
pub(super) fn run(world: &World, tally: &Tally, options: &Options) -> Result<(), String> {
    let open_runs = options.open_runs;
    let journal = world.dir.join("many.sqlite");
    let mut filler = begin_to_fill(&journal, open_runs)?;
    filler.kill().map_err(|error| format!("cannot kill who fills the journal: {error}"))?;
    filler.wait().map_err(|error| format!("cannot wait for who fills the journal: {error}"))?;
    let journal = journal.display().to_string();
    println!("\nafter a kill with {open_runs} open runs, and one run of {STEPS} steps:");
    let measure = |what: &str, arguments: &[&str], bar: Duration| -> Result<Exited, String> {
        let (exited, took, peak) = measured(world.command(&journal, "").args(arguments))?;
        println!("{:>7.0} ms, {:>4} MiB at most  {what}", took.as_secs_f64() * 1e3, peak / 1024);
        if exited.code != 0 {
            tally.wrong(format!("`{}`: {}", arguments.join(" "), exited.shown()));
        }
        let bar = if options.release { bar } else { bar * UNOPTIMISED };
        if took > bar || peak > PEAK_AT_MOST {
            tally.wrong(format!("`{}` took {took:?} (at most {bar:?}) and {peak} KiB (at most {PEAK_AT_MOST})", arguments.join(" ")));
        }
        Ok(exited)
    };
    let listed = measure("`runs`: every run and how it stands", &["runs", "--format=json", "--limit=1000000"], RUNS_AT_MOST)?;
    let document = listed.json();
    let runs = document.get("runs").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
    let stand = |status: &str| runs.iter().filter(|run| run.get("status").and_then(Value::as_str) == Some(status)).count();
    // Every second run stopped at a once-only write.
    let (in_doubt, interrupted) = (open_runs / 2, open_runs - open_runs / 2 + 1);
    if (stand("in_doubt"), stand("interrupted")) != (in_doubt, interrupted) {
        let found = format!("{} in doubt and {} interrupted of {}", stand("in_doubt"), stand("interrupted"), runs.len());
        tally.wrong(format!(
            "of {} open runs {in_doubt} are in doubt and {interrupted} interrupted, and `runs` says {found}",
            open_runs + 1
        ));
    }
    measure("`runs` for people", &["runs"], RUNS_AT_MOST)?;
    measure("`show` of the long run", &["show", "long", "--format=json"], SHOW_AT_MOST)?;
    measure("`show` of the long run, for people", &["show", "long"], SHOW_AT_MOST)?;
    Ok(())
}

/// Starts another process that fills the journal, and waits until everything is on the disk.
fn begin_to_fill(journal: &Path, open_runs: usize) -> Result<Child, String> {
    let program = std::env::current_exe().map_err(|error| format!("this program has no path: {error}"))?;
    let mut command = Command::new(program);
    command.arg("crash-fill").arg(journal).arg(open_runs.to_string()).stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut child = command.spawn().map_err(|error| format!("cannot start this program again: {error}"))?;
    let mut line = String::new();
    let out = child.stdout.take().ok_or("the filler has no stdout")?;
    std::io::BufReader::new(out).read_line(&mut line).map_err(|error| format!("cannot read what the filler prints: {error}"))?;
    if line.trim() != "filled" {
        let _ = child.kill();
        return Err(format!("the journal was not filled: {line}"));
    }
    Ok(child)
}

/// `crash-fill JOURNAL RUNS`: so many open runs, says `filled`, and waits for being killed.
pub(crate) fn fill(arguments: &[&str]) -> Result<bool, String> {
    let [journal, open_runs] = arguments else { return Err("crash-fill JOURNAL RUNS".to_owned()) };
    let open_runs: usize = open_runs.parse().map_err(|_| format!("`{open_runs}` is no number"))?;
    let journal = SqliteJournal::open(journal).map_err(|error| error.to_string())?;
    let held = std::thread::scope(|scope| {
        let writers: Vec<_> = (0..WRITERS)
            .map(|writer| {
                let journal = &journal;
                scope.spawn(move || {
                    (writer..open_runs).step_by(WRITERS).map(|number| wait(short(journal, number))).collect::<Result<Vec<_>, _>>()
                })
            })
            .collect();
        writers.into_iter().map(|writer| writer.join().map_err(|_| "a writer broke down".to_owned())?).collect::<Result<Vec<_>, String>>()
    })?;
    let long = wait(long(&journal))?;
    println!("filled");
    // Whoever began this kills it; without them it ends.
    let _ = std::io::stdin().read_line(&mut String::new());
    drop((held, long));
    Ok(true)
}

type Held = Arc<dyn toolwright::journal::RunJournal>;

/// A run that stopped at a write: once-only in every second one.
async fn short(journal: &SqliteJournal, number: usize) -> Result<Held, String> {
    let input = json!({ "item": number, "ticket": format!("ticket {number}") });
    let run = open(journal, &format!("open-{number}"), "flat", input.clone()).await?;
    let root = StepKey::written("flat", "flat");
    begin(&run, composite(Begin::new(root, Some(Impact::Once), input.clone()))).await?;
    let key = StepKey::written("flat/0:lookup", "lookup");
    begin(&run, Begin::new(key.clone(), Some(Impact::None), input.clone())).await?;
    let output = json!({ "units": number, "serial": number });
    run.finish(Finish::ok(key, Some(output), EffectState::NoEffect)).get().await.map_err(|error| error.to_string())?;
    let (key, impact) = match number % 2 {
        0 => (StepKey::written("flat/1:reserve", "reserve"), Impact::Idempotent),
        _ => (StepKey::written("flat/1:charge", "charge"), Impact::Once),
    };
    begin(&run, Begin::new(key, Some(impact), input)).await?;
    Ok(run)
}

/// The run of many steps.
async fn long(journal: &SqliteJournal) -> Result<Held, String> {
    let run = open(journal, "long", "lookup", json!({ "item": 1 })).await?;
    let root = StepKey::written("long", "long");
    begin(&run, composite(Begin::new(root, Some(Impact::Idempotent), json!({})))).await?;
    for step in 0..STEPS {
        let key = StepKey::written(format!("long/{step}:lookup"), "lookup");
        begin(&run, Begin::new(key.clone(), Some(Impact::None), json!({ "item": step }))).await?;
        let output = json!({ "units": step, "serial": step });
        run.finish(Finish::ok(key, Some(output), EffectState::NoEffect)).get().await.map_err(|error| error.to_string())?;
    }
    let last = StepKey::written("long/last:reserve", "reserve");
    begin(&run, Begin::new(last, Some(Impact::Idempotent), json!({}))).await?;
    Ok(run)
}

async fn open(journal: &SqliteJournal, id: &str, tool: &str, input: toolwright::Value) -> Result<Held, String> {
    journal.open(RunRecord::new(id, tool, input), Claim::new("filler")).get().await.map_err(|error| error.to_string())
}

async fn begin(run: &Held, record: Begin) -> Result<(), String> {
    run.begin(record).get().await.map(|_| ()).map_err(|error| error.to_string())
}

fn composite(mut begin: Begin) -> Begin {
    begin.composite = true;
    begin
}

/// Waits for a future on this thread.
fn wait<T>(future: impl Future<Output = T>) -> T {
    struct Unpark(Thread);
    impl Wake for Unpark {
        fn wake(self: Arc<Self>) {
            self.0.unpark();
        }
    }
    let waker = Waker::from(Arc::new(Unpark(std::thread::current())));
    let mut future = pin!(future);
    loop {
        match future.as_mut().poll(&mut Context::from_waker(&waker)) {
            Poll::Ready(value) => return value,
            Poll::Pending => std::thread::park(),
        }
    }
}

/// Runs a command to its end: how it ended, how long it took, and the most it had in memory, in KiB.
fn measured(command: &mut Command) -> Result<(Exited, Duration, u64), String> {
    let started = Instant::now();
    let child = command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn();
    let child = child.map_err(|error| format!("cannot start the binary: {error}"))?;
    let status = format!("/proc/{}/status", child.id());
    let watch = std::thread::spawn(move || {
        let mut peak = 0;
        // Gone, or a process without memory: it ended.
        while let Some(now) = std::fs::read_to_string(&status).ok().and_then(|text| high_water(&text)) {
            peak = peak.max(now);
            std::thread::sleep(Duration::from_millis(1));
        }
        peak
    });
    let Ended::Exited(exited) = finish(child)? else { return Err("killed by somebody else".to_owned()) };
    let took = started.elapsed();
    let peak = watch.join().map_err(|_| "the watch broke down".to_owned())?;
    Ok((exited, took, peak))
}

fn high_water(status: &str) -> Option<u64> {
    status.lines().find_map(|line| line.strip_prefix("VmHWM:")?.trim().strip_suffix("kB")?.trim().parse().ok())
}

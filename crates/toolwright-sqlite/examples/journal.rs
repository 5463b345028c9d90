//! Measures the journal in a file beside the disk that it is on: `cargo xtask bench --journal` starts it and holds the bars.
//!
//! `journal FOLDER ROUNDS MILLISECONDS` answers one line of JSON. In every round a plain append that is pressed onto the disk
//! is measured in the same folder, so that each figure stands beside the disk as it was at that moment.

use std::fs::File;
use std::future::Future;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use serde_json::json;
use toolwright::journal::{Admission, Begin, Claim, End, Finish, RunJournal, RunRecord, StepKey};
use toolwright::{EffectState, Eventually, Impact, Journal, Value};
use toolwright_sqlite::{RunFilter, SqliteJournal, SqliteOptions, Synchronous};

type Failure = Box<dyn std::error::Error + Send + Sync>;
type Run = Arc<dyn RunJournal>;

/// Bytes of one append, as many as a record has.
const APPEND_BYTES: usize = 512;
/// Runs at once.
const AT_ONCE: [usize; 3] = [10, 100, 1_000];
const OPEN_RUNS: usize = 10_000;

fn main() -> Result<(), Failure> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [folder, rounds, milliseconds] = arguments.as_slice() else { return Err("usage: journal FOLDER ROUNDS MILLISECONDS".into()) };
    let (rounds, time) = (rounds.parse::<usize>()?, Duration::from_millis(milliseconds.parse()?));
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
    let bench = Bench { folder: folder.into(), time };
    let answer = runtime.block_on(bench.run(rounds))?;
    writeln!(std::io::stdout(), "{answer}")?;
    Ok(())
}

struct Bench {
    folder: PathBuf,
    time: Duration,
}

/// The value in the middle, or as far up as `part` says.
fn middle(mut samples: Vec<f64>, part: f64) -> f64 {
    samples.sort_by(f64::total_cmp);
    let at = (samples.len() as f64 * part) as usize;
    samples.get(at.min(samples.len().saturating_sub(1))).copied().unwrap_or(f64::NAN)
}

fn microseconds(time: Duration) -> f64 {
    time.as_secs_f64() * 1e6
}

impl Bench {
    fn path(&self, name: &str) -> PathBuf {
        self.folder.join(name)
    }

    async fn run(&self, rounds: usize) -> Result<serde_json::Value, Failure> {
        let (mut one, mut many) = (Vec::new(), vec![Vec::new(); AT_ONCE.len()]);
        for round in 0..rounds {
            let raw = self.raw()?;
            let (step, slow, each) = self.one(&format!("one-{round}.sqlite")).await?;
            let again = self.raw()?;
            one.push((f64::midpoint(raw, again), step, slow, each));
            for (series, count) in many.iter_mut().zip(AT_ONCE) {
                let raw = self.raw()?;
                let each = self.many(&format!("many-{count}-{round}.sqlite"), count).await?;
                series.push((f64::midpoint(raw, self.raw()?), each));
            }
        }
        let of = |take: fn(&(f64, f64, f64, f64)) -> f64| middle(one.iter().map(take).collect(), 0.5);
        let many: Vec<serde_json::Value> = AT_ONCE
            .iter()
            .zip(&many)
            .map(|(runs, series)| {
                let times = middle(series.iter().map(|(raw, each)| each * raw / 1e6).collect(), 0.5);
                let each = middle(series.iter().map(|(_, each)| *each).collect(), 0.5);
                json!({ "runs": runs, "stepsPerSecond": each, "timesOneAppend": times })
            })
            .collect();
        let (reads, waited) = self.reads("reads.sqlite").await?;
        let (listing, found) = self.listing("open.sqlite").await?;
        Ok(json!({
            "append": of(|one| one.0),
            "step": of(|one| one.1),
            "slowStep": of(|one| one.2),
            "stepsPerSecond": of(|one| one.3),
            "stepOverAppend": of(|one| one.1 / one.0),
            "many": many,
            "readsPerSecond": reads,
            "readsThatWaited": waited,
            "documentBytes": self.document("document.sqlite").await?,
            "listingMilliseconds": listing,
            "listed": found,
        }))
    }

    /// Microseconds of an append that is pressed onto the disk, in the middle.
    fn raw(&self) -> Result<f64, Failure> {
        let path = self.path("append");
        let mut file = File::create(&path)?;
        let (start, mut samples) = (Instant::now(), Vec::new());
        while start.elapsed() < self.time / 2 {
            let begin = Instant::now();
            file.write_all(&[7; APPEND_BYTES])?;
            file.sync_data()?;
            samples.push(microseconds(begin.elapsed()));
        }
        std::fs::remove_file(path)?;
        Ok(middle(samples, 0.5))
    }

    /// One run: microseconds of a step, in the middle and of the slowest in a hundred, and steps a second.
    async fn one(&self, name: &str) -> Result<(f64, f64, f64), Failure> {
        let path = self.path(name);
        let journal = SqliteJournal::open(&path)?;
        let run = open(&journal, "one").await?;
        for number in 0..200 {
            step(&run, number).await?;
        }
        let (start, mut samples, mut number) = (Instant::now(), Vec::new(), 200);
        while start.elapsed() < self.time {
            let begin = Instant::now();
            step(&run, number).await?;
            samples.push(microseconds(begin.elapsed()));
            number += 1;
        }
        let each = samples.len() as f64 / start.elapsed().as_secs_f64();
        drop((run, journal));
        forget(&path);
        Ok((middle(samples.clone(), 0.5), middle(samples, 0.99), each))
    }

    /// Steps a second of so many runs at once.
    async fn many(&self, name: &str, count: usize) -> Result<f64, Failure> {
        let path = self.path(name);
        let journal = SqliteJournal::open(&path)?;
        let opened = (0..count).map(|run| open(&journal, format!("run {run}")));
        let runs = all(opened.collect()).await?;
        let start = Instant::now();
        let until = start + self.time;
        let steps = runs.into_iter().map(|run| async move {
            let mut number = 0;
            while Instant::now() < until {
                step(&run, number).await?;
                number += 1;
            }
            Ok(number)
        });
        let done: usize = all(steps.collect()).await?.into_iter().sum();
        let each = done as f64 / start.elapsed().as_secs_f64();
        drop(journal);
        forget(&path);
        Ok(each)
    }

    /// Steps a second that change nothing, and how many of their records were waited for.
    async fn reads(&self, name: &str) -> Result<(f64, u64), Failure> {
        let path = self.path(name);
        let journal = SqliteJournal::open(&path)?;
        let run = open(&journal, "reads").await?;
        let (start, mut number, mut waited) = (Instant::now(), 0, 0);
        while start.elapsed() < self.time {
            let (begin, finish) = records(number, Impact::None);
            waited += u64::from(!matches!(run.begin(begin), Eventually::Now(Ok(Admission::Proceed { .. }))));
            waited += u64::from(!matches!(run.finish(finish), Eventually::Now(Ok(()))));
            number += 1;
            // Only a program that does nothing else begins more than the disk takes.
            if number % 10_000 == 0 {
                journal.flush()?;
            }
        }
        let each = number as f64 / start.elapsed().as_secs_f64();
        run.end(End::ok()).get().await?;
        drop((run, journal));
        forget(&path);
        Ok((each, waited))
    }

    /// Bytes of a file in which a document of a megabyte goes along a hundred steps.
    async fn document(&self, name: &str) -> Result<u64, Failure> {
        let path = self.path(name);
        let journal = SqliteJournal::open(&path)?;
        let run = open(&journal, "document").await?;
        let document = Value::object((0..1_000).map(|part| (format!("chapter{part}"), Value::from(format!("{part} {}", "x".repeat(960))))));
        for number in 0..100 {
            let key = StepKey::written(format!("main/{number}:edit"), "edit");
            let input = toolwright::json!({ "doc": document.clone() });
            run.begin(Begin::new(key.clone(), Some(Impact::Once), input.clone())).get().await?;
            run.finish(Finish::ok(key, Some(input), EffectState::Happened)).get().await?;
        }
        run.end(End::ok()).get().await?;
        drop((run, journal));
        let bytes = ["", "-wal"].iter().filter_map(|ending| beside(&path, ending).metadata().ok()).map(|file| file.len()).sum();
        forget(&path);
        Ok(bytes)
    }

    /// Milliseconds in which ten thousand open runs, whose process is gone, are opened, listed and classified.
    async fn listing(&self, name: &str) -> Result<(f64, usize), Failure> {
        let path = self.path(name);
        let mut options = SqliteOptions::default();
        options.synchronous = Synchronous::Normal;
        let journal = SqliteJournal::open_with(&path, options)?;
        let runs = (0..OPEN_RUNS).map(|number| {
            let journal = journal.clone();
            async move {
                let run = open(&journal, format!("run {number}")).await?;
                for number in 0..5 {
                    step(&run, number).await?;
                }
                let (begin, _) = records(5, Impact::Once);
                run.begin(begin).get().await?;
                Ok(run)
            }
        });
        drop(all(runs.collect()).await?);
        drop(journal);
        let start = Instant::now();
        let journal = SqliteJournal::open(&path)?;
        let found = journal.runs(&RunFilter::default())?;
        let took = microseconds(start.elapsed()) / 1e3;
        let doubtful = found.iter().filter(|run| run.waits.len() == 1).count();
        drop(journal);
        forget(&path);
        Ok((took, doubtful))
    }
}

/// All of them at once.
async fn all<T: Send + 'static, F: Future<Output = Result<T, Failure>> + Send + 'static>(futures: Vec<F>) -> Result<Vec<T>, Failure> {
    let tasks: Vec<_> = futures.into_iter().map(tokio::spawn).collect();
    let mut out = Vec::with_capacity(tasks.len());
    for task in tasks {
        out.push(task.await??);
    }
    Ok(out)
}

fn open(journal: &SqliteJournal, id: impl Into<String>) -> impl Future<Output = Result<Run, Failure>> + Send + 'static {
    let (journal, id) = (journal.clone(), id.into());
    async move {
        let record = RunRecord::new(id, "main", toolwright::json!({ "topic": "ducks" }));
        Ok(journal.open(record, Claim::new("bench")).get().await?)
    }
}

/// The two records of a step, together about as large as one append.
fn records(number: usize, impact: Impact) -> (Begin, Finish) {
    let key = StepKey::written(format!("main/{number}:send"), "send");
    let number = number as u64;
    let input = Value::object([("to", Value::from("ann@example.org")), ("subject", Value::from("ducks")), ("number", Value::from(number))]);
    let output = Value::object([("id", Value::from(number)), ("status", Value::from("sent"))]);
    (Begin::new(key.clone(), Some(impact), input), Finish::ok(key, Some(output), EffectState::Happened))
}

/// A step with an effect, of a tool that takes no time: the intent is on the disk before it would run.
async fn step(run: &Run, number: usize) -> Result<(), Failure> {
    let (begin, finish) = records(number, Impact::Once);
    match run.begin(begin).get().await? {
        Admission::Proceed { .. } => Ok(run.finish(finish).get().await?),
        other => Err(format!("step {number} was not let through: {other:?}").into()),
    }
}

fn beside(path: &Path, ending: &str) -> PathBuf {
    PathBuf::from(format!("{}{ending}", path.display()))
}

fn forget(path: &Path) {
    for ending in ["", "-wal", "-shm"] {
        let _ = std::fs::remove_file(beside(path, ending));
    }
    let _ = std::fs::remove_dir_all(beside(path, ".owners"));
}

//! `cargo xtask soak`: many sessions open at once, some of them busy, for minutes. Nothing may fail, memory may not grow, and nothing
//! may be left when it ends.

use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::chance::Chance;
use crate::mcp::{Ask, Era, Http};
use crate::repo::Outcome;
use crate::served::{Build, PATH, Served, World};
use crate::stage::{Count, Ended};

/// What `cargo xtask soak` was asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Options {
    sessions: usize,
    busy: usize,
    seconds: u64,
    /// The optimised binary, which the bars are for.
    release: bool,
}

impl Default for Options {
    fn default() -> Self {
        Self { sessions: 1_000, busy: 64, seconds: 300, release: true }
    }
}

impl Options {
    /// What `cargo xtask test` has time for.
    const SMALL: Self = Self { sessions: 300, busy: 16, seconds: 15, release: false };

    pub(crate) fn parse(flags: &[&str]) -> Result<Self, String> {
        let mut options = Self::default();
        let mut flags = flags.iter();
        while let Some(flag) = flags.next() {
            if *flag == "--debug" {
                options.release = false;
                continue;
            }
            let value = flags.next().ok_or_else(|| format!("`{flag}` needs a number"))?;
            let number = value.parse::<usize>().map_err(|_| format!("`{value}` is no number"))?;
            match *flag {
                "--sessions" => options.sessions = number,
                "--busy" => options.busy = number,
                "--seconds" => options.seconds = u64::try_from(number).unwrap_or(u64::MAX),
                other => return Err(format!("`soak` knows no `{other}`")),
            }
        }
        match options.busy <= options.sessions {
            true => Ok(options),
            false => Err("there are fewer sessions than busy ones".to_owned()),
        }
    }
}

/// Bytes above idle that all sessions together may take.
const ABOVE_IDLE: u64 = 100 * MEGABYTE;

/// How much more may be in memory in the last quarter than in the second one.
const GROWTH: u64 = 5 * MEGABYTE;

const MEGABYTE: u64 = 1_000_000;

/// Files that a process may have open, per session, at each end.
const FILES_PER_SESSION: u64 = 4;

/// `cargo xtask soak`.
pub(crate) fn run(options: &Options) -> Outcome {
    let problems = soak(options)?;
    for problem in &problems {
        println!("not ok {problem}");
    }
    Ok(problems.is_empty())
}

/// The stage of `cargo xtask test`.
pub(crate) fn stage(count: &mut Count) -> Result<Ended, String> {
    if !cfg!(target_os = "linux") {
        return Ok(Ended::LeftOut("memory is read from `/proc`, which is not here".to_owned()));
    }
    let well = run(&Options::SMALL)?;
    count.add(Count::one(well));
    Ok(if well { Ended::Well } else { Ended::Badly("see above".to_owned()) })
}

/// What busy sessions did.
#[derive(Debug, Default)]
struct Work {
    calls: AtomicU64,
    failures: AtomicU64,
    told: Mutex<Vec<String>>,
}

impl Work {
    fn failed(&self, why: String) {
        self.failures.fetch_add(1, Ordering::Relaxed);
        let mut told = self.told.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        if told.len() < TOLD_AT_MOST {
            told.push(why);
        }
    }
}

const TOLD_AT_MOST: usize = 10;

fn soak(options: &Options) -> Result<Vec<String>, String> {
    more_files(u64::try_from(options.sessions).unwrap_or(u64::MAX).saturating_mul(FILES_PER_SESSION) + 256);
    let build = Build::new(options.release)?;
    let world = World::new("soak", &build, &configuration(&build), &[])?;
    let mut served = world.http(&[])?;
    warm(&served)?;
    let idle = served.memory()?;
    println!("idle: {} MB", idle / MEGABYTE);
    let mut sessions = Vec::new();
    for number in 0..options.sessions {
        sessions.push(Session::open(&served).map_err(|why| format!("session {number}: {why}"))?);
    }
    println!("{} sessions are open: {} MB", sessions.len(), served.memory()? / MEGABYTE);
    settle(&served, options.busy)?;
    let mut quiet = sessions.split_off(options.busy);
    let work = Work::default();
    let memory = busy(options, &served, sessions, &mut quiet, &work)?;
    let mut problems = verdict(idle, &memory, &work);
    if !served.is_alive() {
        return Err(format!("it has died: {}", served.said()));
    }
    for mut session in quiet {
        if let Err(why) = session.client.end_session() {
            problems.push(format!("a session does not end: {why}"));
        }
    }
    println!("all sessions have ended: {} MB", served.memory()? / MEGABYTE);
    let status = served.stop()?;
    if !status.success() {
        problems.push(format!("it ended with {status}"));
    }
    let left = world.left_behind();
    if !left.is_empty() {
        problems.push(format!("left behind: {left:?}"));
    }
    Ok(problems)
}

pub(crate) fn configuration(build: &Build) -> Value {
    let text = json!({ "type": "object", "properties": { "text": { "type": "string" } }, "required": ["text"] });
    json!({
        "sources": { "fixture": { "command": build.fixture(), "args": ["stdio"], "prefix": "" } },
        "tools": { "echo": { "effect": "read" } },
        "composites": { "twice": {
            "description": "Says it twice",
            "input": text,
            "steps": [
                { "name": "once", "tool": "echo", "inputMapping": { "text": "$input.text" } },
                { "name": "again", "tool": "echo", "inputMapping": { "text": "$steps.once.text" } },
            ],
            "output": { "text": "$steps.again.text" },
        } },
    })
}

fn warm(served: &Served) -> Result<(), String> {
    let mut client = served.client(Era::Sessions)?;
    for _ in 0..200 {
        client.call_well("twice", &json!({ "text": "warm" }))?;
    }
    client.tools()?;
    client.end_session()?;
    std::thread::sleep(Duration::from_secs(1));
    Ok(())
}

/// Calls until the journal's page cache, which has a bound, is full: what grows afterwards has none.
fn settle(served: &Served, callers: usize) -> Result<(), String> {
    let mut before = served.memory()?;
    for _ in 0..BURSTS_MAX {
        std::thread::scope(|scope| {
            let calling: Vec<_> = (0..callers).map(|_| scope.spawn(|| burst(served))).collect();
            calling.into_iter().try_for_each(|calling| calling.join().unwrap_or_else(|_| Err("a caller broke down".to_owned())))
        })?;
        let now = served.memory()?;
        if now <= before + SETTLED {
            println!("settled: {} MB", now / MEGABYTE);
            return Ok(());
        }
        before = now;
    }
    Err(format!("memory does not settle: it still grows at {} MB", before / MEGABYTE))
}

/// How often callers call together before memory has to stand still.
const BURSTS_MAX: u32 = 24;
const BURST: Duration = Duration::from_secs(5);
/// How much memory may rise in a burst and still stand still.
const SETTLED: u64 = MEGABYTE;

fn burst(served: &Served) -> Result<(), String> {
    let mut client = served.client(Era::Sessions)?;
    let until = Instant::now() + BURST;
    while Instant::now() < until {
        client.call_well("twice", &json!({ "text": "settle" }))?;
    }
    client.end_session().map(drop)
}

/// A session with its standing stream.
struct Session {
    client: Http,
    stream: Http,
}

impl Session {
    fn open(served: &Served) -> Result<Self, String> {
        let client = served.client(Era::Sessions)?;
        let mut stream = Http::connect(served.address, PATH, Era::Sessions)?;
        let session = client.session().ok_or("there is no session")?.to_owned();
        match stream.listen(&session)? {
            200 => Ok(Self { client, stream }),
            other => Err(format!("the standing stream was answered with {other}")),
        }
    }

    /// Whether it still answers, and its stream is open.
    fn is_there(&mut self) -> Result<(), String> {
        self.client.ask("ping", &json!({}))?;
        self.stream.heard().map(|_| ())
    }

    /// Something that nobody may fail at.
    fn work(&mut self, chance: &mut Chance) -> Result<(), String> {
        let text = format!("{:x}", chance.next());
        let said = |result: &Value| result.pointer("/structuredContent/text").and_then(Value::as_str) == Some(&text);
        let input = json!({ "text": text });
        match chance.below(100) {
            0 => self.client.tools().map(|_| ()),
            1..=4 => match self.client.call("nothing_of_that_name", &input) {
                Err(why) if why.contains("-32602") => Ok(()),
                other => Err(format!("an unknown tool was answered with {other:?}")),
            },
            5..=39 => self.client.call_well("twice", &input).and_then(|result| right(said(&result), &result)),
            _ => self.client.call_well("echo", &input).and_then(|result| right(said(&result), &result)),
        }
    }
}

fn right(right: bool, result: &Value) -> Result<(), String> {
    if right { Ok(()) } else { Err(format!("another answer: {result}")) }
}

/// Works until the time is over; the memory that was seen meanwhile.
fn busy(options: &Options, served: &Served, sessions: Vec<Session>, quiet: &mut [Session], work: &Work) -> Result<Vec<u64>, String> {
    let until = Instant::now() + Duration::from_secs(options.seconds);
    std::thread::scope(|scope| {
        for (number, mut session) in sessions.into_iter().enumerate() {
            scope.spawn(move || {
                let mut chance = Chance::new(7, u64::try_from(number).unwrap_or_default());
                while Instant::now() < until {
                    work.calls.fetch_add(1, Ordering::Relaxed);
                    if let Err(why) = session.work(&mut chance) {
                        work.failed(why);
                        std::thread::sleep(Duration::from_millis(10));
                    }
                }
                let _ = session.client.end_session();
            });
        }
        let (mut memory, mut chance) = (Vec::new(), Chance::new(8, 0));
        let step = Duration::from_secs(options.seconds) / SAMPLES;
        while Instant::now() < until {
            std::thread::sleep(step);
            memory.push(served.memory()?);
            let at = chance.below(quiet.len());
            if let Some(Err(why)) = quiet.get_mut(at).map(Session::is_there) {
                work.failed(format!("quiet session {at}: {why}"));
            }
        }
        for (at, session) in quiet.iter_mut().enumerate() {
            if let Err(why) = session.is_there() {
                work.failed(format!("quiet session {at}: {why}"));
            }
        }
        Ok(memory)
    })
}

/// How often the memory is looked at.
const SAMPLES: u32 = 60;

fn verdict(idle: u64, memory: &[u64], work: &Work) -> Vec<String> {
    let quarter = memory.len() / 4;
    let of = |from: usize, to: usize| median(memory.get(from..to).unwrap_or_default());
    let (second, last) = (of(quarter, 2 * quarter), of(memory.len() - quarter, memory.len()));
    let most = memory.iter().copied().max().unwrap_or_default();
    let above = most.saturating_sub(idle);
    let (calls, failures) = (work.calls.load(Ordering::Relaxed), work.failures.load(Ordering::Relaxed));
    println!("{calls} calls, {failures} failures");
    println!(
        "memory: at most {} MB above idle; {} MB in the second quarter, {} MB in the last",
        above / MEGABYTE,
        second / MEGABYTE,
        last / MEGABYTE
    );
    let mut problems = work.told.lock().unwrap_or_else(std::sync::PoisonError::into_inner).clone();
    if calls == 0 {
        problems.push("nobody called anything".to_owned());
    }
    if above > ABOVE_IDLE {
        problems.push(format!("{} MB above idle are more than {}", above / MEGABYTE, ABOVE_IDLE / MEGABYTE));
    }
    if last > second + GROWTH {
        problems.push(format!("memory grew by {} MB", (last - second) / MEGABYTE));
    }
    problems
}

fn median(values: &[u64]) -> u64 {
    let mut sorted = values.to_vec();
    sorted.sort_unstable();
    sorted.get(sorted.len() / 2).copied().unwrap_or_default()
}

/// Lets us and our children have so many files open, as far as the system does.
#[cfg(target_os = "linux")]
pub(crate) fn more_files(wanted: u64) {
    use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
    let limit = getrlimit(Resource::Nofile);
    let most = limit.maximum.map_or(wanted, |most| most.min(wanted));
    if limit.current.is_some_and(|current| current < most) {
        // Who may not gets the error of the first file that is too many.
        let _ = setrlimit(Resource::Nofile, Rlimit { current: Some(most), maximum: limit.maximum });
    }
}

#[cfg(not(target_os = "linux"))]
pub(crate) fn more_files(_: u64) {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_that_grows_and_failures_are_problems() {
        let work = Work::default();
        work.calls.store(1, Ordering::Relaxed);
        let steady = [50 * MEGABYTE; 8];
        assert!(verdict(40 * MEGABYTE, &steady, &work).is_empty());
        let growing: Vec<u64> = (0..8).map(|at| (50 + 4 * at) * MEGABYTE).collect();
        assert_eq!(verdict(40 * MEGABYTE, &growing, &work), ["memory grew by 16 MB"]);
        assert_eq!(verdict(40 * MEGABYTE, &[150 * MEGABYTE; 8], &work), ["110 MB above idle are more than 100"]);
        work.failed("why".to_owned());
        assert_eq!(verdict(40 * MEGABYTE, &steady, &work), ["why"]);
    }

    #[test]
    fn what_is_asked_for_is_read() {
        let options = Options::parse(&["--sessions", "9", "--busy", "3", "--seconds", "1"]).unwrap();
        assert_eq!(options, Options { sessions: 9, busy: 3, seconds: 1, release: true });
        assert!(Options::parse(&["--sessions", "2", "--busy", "3"]).is_err());
        assert!(Options::parse(&["--minutes", "3"]).is_err());
    }
}

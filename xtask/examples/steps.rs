//! Our side of `cargo xtask bench`: measures what a step of the pipelines in `bench/cases.json` costs, and what a
//! catalogue of 1,000 tools does; its case is called `catalogue`, its variants are its figures.
//!
//! `steps` answers one line `{"ns": CPU per step}` for each line `{"case": ID, "variant": V, "ms": N}` on stdin;
//! `steps ID V LOOPS` runs a pipeline so often and ends, for callgrind. CPU is user and system time of this process.
#![expect(clippy::print_stdout, reason = "its answers are lines on stdout")]

use std::collections::BTreeMap;
use std::io::BufRead;
use std::sync::Arc;
use std::time::{Duration, Instant};

use serde_json::{Value as Json, json};
use toolwright::{BoxFuture, Clock, Timestamp};

#[path = "../../crates/toolwright/benches/step/pipelines.rs"]
mod pipelines;

#[path = "../../crates/toolwright/benches/registry/catalogue.rs"]
mod catalogue;

use catalogue::{Figure, Measurement};
use pipelines::{Failure, Pipeline, Variant};

fn main() -> Result<(), Failure> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match arguments.as_slice() {
        [] => serve(),
        [case, variant, loops] => {
            let loops = loops.parse()?;
            let measured = Measured::new(case, variant)?;
            measured.run(loops);
            Ok(())
        }
        _ => Err("usage: steps [ID VARIANT LOOPS]".into()),
    }
}

/// The case that is no pipeline.
const CATALOGUE: &str = "catalogue";

fn serve() -> Result<(), Failure> {
    let known = pipelines::cases()?;
    let mut prepared: BTreeMap<(String, String), Measured> = BTreeMap::new();
    for line in std::io::stdin().lock().lines() {
        let ask: Json = serde_json::from_str(&line?)?;
        let word = |member: &str| ask.get(member).and_then(Json::as_str).unwrap_or_default().to_owned();
        let key = (word("case"), word("variant"));
        if key.0 != CATALOGUE && !known.contains(&key.0) {
            return Err(format!("no case is called {}", key.0).into());
        }
        if !prepared.contains_key(&key) {
            prepared.insert(key.clone(), Measured::new(&key.0, &key.1)?);
        }
        let measured = prepared.get_mut(&key).ok_or("was just prepared")?;
        let least = Duration::from_millis(ask.get("ms").and_then(Json::as_u64).unwrap_or(100));
        println!("{}", json!({"ns": measured.measure(least)}));
    }
    Ok(())
}

enum Work {
    Pipeline(Pipeline),
    Catalogue(Box<Measurement>),
}

/// Work, and how often it has to be done to be measured.
struct Measured {
    work: Work,
    threads: u64,
    count: u64,
}

impl Measured {
    fn new(id: &str, variant: &str) -> Result<Self, Failure> {
        if id == CATALOGUE {
            let figure = Figure::ALL.iter().find(|(name, _)| *name == variant).map(|(_, figure)| *figure);
            let figure = figure.ok_or_else(|| format!("`{variant}` is no figure"))?;
            return Ok(Self { work: Work::Catalogue(Box::new(Measurement::new(figure)?)), threads: 1, count: 1 });
        }
        let (variant, threads) = match variant.strip_suffix(" on two threads") {
            Some(variant) => (variant, 2),
            None => (variant, 1),
        };
        let variant = match variant {
            "echo" => Variant::Echo,
            "bare" => Variant::Bare,
            "governed" => Variant::Governed,
            "watched" => Variant::Watched,
            other => return Err(format!("`{other}` is no variant").into()),
        };
        let pipeline = Pipeline::new(id, variant, Arc::new(Monotonic(Instant::now())))?;
        Ok(Self { work: Work::Pipeline(pipeline), threads, count: 1 })
    }

    /// CPU nanoseconds per step, over loops that take at least so long.
    fn measure(&mut self, least: Duration) -> f64 {
        loop {
            let before = cpu();
            self.run(self.count);
            let spent = cpu().saturating_sub(before);
            if spent >= least {
                return spent.as_nanos() as f64 / (self.count * self.steps() * self.threads) as f64;
            }
            let factor = 1.2 * least.as_secs_f64() / spent.as_secs_f64().max(1e-6);
            self.count = (self.count as f64 * factor.clamp(1.1, 10.0)).ceil() as u64;
        }
    }

    /// What is counted of one run.
    fn steps(&self) -> u64 {
        match &self.work {
            Work::Pipeline(pipeline) => pipeline.steps,
            Work::Catalogue(_) => 1,
        }
    }

    fn run(&self, loops: u64) {
        if self.threads == 1 {
            return self.run_here(loops);
        }
        std::thread::scope(|scope| {
            for _ in 0..self.threads {
                scope.spawn(|| self.run_here(loops));
            }
        });
    }

    fn run_here(&self, loops: u64) {
        match &self.work {
            Work::Pipeline(pipeline) => pipeline.run(loops),
            Work::Catalogue(measurement) => measurement.run(loops),
        }
    }
}

/// A real clock: reading it is part of what a governed step costs.
struct Monotonic(Instant);

impl Clock for Monotonic {
    fn now(&self) -> Timestamp {
        Timestamp(self.0.elapsed().as_nanos() as u64)
    }

    fn sleep(&self, _: Duration) -> BoxFuture<'static, ()> {
        Box::pin(std::future::pending())
    }
}

/// The CPU time of this process so far.
fn cpu() -> Duration {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ProcessCPUTime);
    Duration::new(u64::try_from(time.tv_sec).unwrap_or_default(), u32::try_from(time.tv_nsec).unwrap_or_default())
}

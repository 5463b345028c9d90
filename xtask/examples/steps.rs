//! Our side of `cargo xtask bench`: measures what a step of the pipelines in `bench/cases.json` costs.
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

fn serve() -> Result<(), Failure> {
    let known = pipelines::cases()?;
    let mut prepared: BTreeMap<(String, String), Measured> = BTreeMap::new();
    for line in std::io::stdin().lock().lines() {
        let ask: Json = serde_json::from_str(&line?)?;
        let word = |member: &str| ask.get(member).and_then(Json::as_str).unwrap_or_default().to_owned();
        let key = (word("case"), word("variant"));
        if !known.contains(&key.0) {
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

/// A pipeline and how often it has to run to be measured.
struct Measured {
    pipeline: Pipeline,
    threads: u64,
    count: u64,
}

impl Measured {
    fn new(id: &str, variant: &str) -> Result<Self, Failure> {
        let (variant, threads) = match variant.strip_suffix(" on two threads") {
            Some(variant) => (variant, 2),
            None => (variant, 1),
        };
        let variant = match variant {
            "echo" => Variant::Echo,
            "bare" => Variant::Bare,
            "governed" => Variant::Governed,
            other => return Err(format!("`{other}` is no variant").into()),
        };
        let pipeline = Pipeline::new(id, variant, Arc::new(Monotonic(Instant::now())))?;
        Ok(Self { pipeline, threads, count: 1 })
    }

    /// CPU nanoseconds per step, over loops that take at least so long.
    fn measure(&mut self, least: Duration) -> f64 {
        loop {
            let before = cpu();
            self.run(self.count);
            let spent = cpu().saturating_sub(before);
            if spent >= least {
                return spent.as_nanos() as f64 / (self.count * self.pipeline.steps * self.threads) as f64;
            }
            let factor = 1.2 * least.as_secs_f64() / spent.as_secs_f64().max(1e-6);
            self.count = (self.count as f64 * factor.clamp(1.1, 10.0)).ceil() as u64;
        }
    }

    fn run(&self, loops: u64) {
        if self.threads == 1 {
            return self.pipeline.run(loops);
        }
        std::thread::scope(|scope| {
            for _ in 0..self.threads {
                scope.spawn(|| self.pipeline.run(loops));
            }
        });
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

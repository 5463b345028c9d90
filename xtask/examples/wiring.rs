//! Our side of `cargo xtask bench --wiring`: how long it takes to say whether one schema fits another, at worst and for a
//! whole configuration. Its answers are lines of JSON on stdout; CPU is time of this thread.
//!
//! `wiring fuzz PAIRS [FIRST]` compares so many random pairs; `wiring pair ID` shows one of them and compares it again;
//! `wiring judge` does that with each line `{"source": …, "target": …}` on stdin; `wiring check` measures 1,000
//! composites over 500 tools.
#![expect(clippy::print_stdout, reason = "its answers are lines on stdout")]

use std::time::Duration;

#[path = "../../crates/toolwright/tests/it/brute.rs"]
#[expect(dead_code, reason = "the tests use more of it")]
mod brute;
#[path = "wiring/configuration.rs"]
mod configuration;
#[path = "wiring/fuzz.rs"]
mod fuzz;
#[path = "wiring/hostile.rs"]
mod hostile;
#[expect(clippy::indexing_slicing, reason = "what is made here has the members that it was made with")]
#[path = "wiring/schemas.rs"]
mod schemas;

/// Whatever is wrong ends the program with a word about it.
type Failure = Box<dyn std::error::Error>;

fn main() -> Result<(), Failure> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match arguments.iter().map(String::as_str).collect::<Vec<_>>().as_slice() {
        ["fuzz", pairs] => fuzz::run(0, pairs.parse()?),
        ["fuzz", pairs, first] => fuzz::run(first.parse()?, pairs.parse()?),
        ["judge"] => fuzz::judge(),
        ["pair", id] => fuzz::show(id.parse()?),
        ["check"] => configuration::run(),
        _ => Err("usage: wiring fuzz PAIRS [FIRST] | pair ID | judge | check".into()),
    }
}

/// CPU time of this thread so far.
fn cpu() -> Duration {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
    Duration::new(u64::try_from(time.tv_sec).unwrap_or_default(), u32::try_from(time.tv_nsec).unwrap_or_default())
}

fn milliseconds(time: Duration) -> f64 {
    time.as_secs_f64() * 1_000.0
}

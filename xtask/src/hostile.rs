//! `cargo xtask hostile`: malformed messages and requests, over both transports, beside a client that means well. The server must go
//! on, answer that client rightly, and never show it, or its secrets, to anybody else.
//!
//! `message` makes what is sent; `pipe` and `web` send it.

use std::collections::BTreeMap;
use std::time::Instant;

use crate::repo::Outcome;
use crate::served::{Build, World};
use crate::soak;
use crate::stage::{Count, Ended};

mod message;
mod pipe;
mod web;

/// What `cargo xtask hostile` was asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Options {
    /// In all, half of them over each transport.
    messages: u64,
    seed: u64,
    release: bool,
}

impl Default for Options {
    fn default() -> Self {
        Self { messages: 100_000, seed: 1, release: true }
    }
}

impl Options {
    /// What `cargo xtask test` has time for.
    const SMALL: Self = Self { messages: 20_000, seed: 1, release: false };

    pub(crate) fn parse(flags: &[&str]) -> Result<Self, String> {
        let mut options = Self::default();
        let mut flags = flags.iter();
        while let Some(flag) = flags.next() {
            if *flag == "--debug" {
                options.release = false;
                continue;
            }
            let value = flags.next().ok_or_else(|| format!("`{flag}` needs a number"))?;
            let number = value.parse().map_err(|_| format!("`{value}` is no number"))?;
            match *flag {
                "--messages" => options.messages = number,
                "--seed" => options.seed = number,
                other => return Err(format!("`hostile` knows no `{other}`")),
            }
        }
        Ok(options)
    }
}

/// In everything that the one who means well says, and in nothing that anybody else may hear.
const CANARY: &str = "canary-5f1c";

/// In everything that the others say.
const MALLORY: &str = "mallory";

/// What came of it: how often what was answered, and what must not be.
#[derive(Debug, Default)]
struct Report {
    sent: u64,
    /// Calls of the one who means well that were answered rightly.
    answered: u64,
    kinds: BTreeMap<String, u64>,
    problems: Vec<String>,
}

impl Report {
    fn kind(&mut self, kind: impl Into<String>) {
        *self.kinds.entry(kind.into()).or_default() += 1;
    }

    fn problem(&mut self, what: impl Into<String>) {
        if self.problems.len() < PROBLEMS_AT_MOST {
            self.problems.push(what.into());
        }
    }

    fn add(&mut self, other: Self) {
        self.sent += other.sent;
        self.answered += other.answered;
        for (kind, count) in other.kinds {
            *self.kinds.entry(kind).or_default() += count;
        }
        other.problems.into_iter().for_each(|problem| self.problem(problem));
    }
}

const PROBLEMS_AT_MOST: usize = 10;

/// `cargo xtask hostile`.
pub(crate) fn run(options: &Options) -> Outcome {
    soak::more_files(4_096);
    let build = Build::new(options.release)?;
    let world = World::new("hostile", &build, &soak::configuration(&build), &[])?;
    let mut well = true;
    for (name, half) in [("stdio", pipe::run as fn(&World, &Options) -> Result<Report, String>), ("http", web::run)] {
        let started = Instant::now();
        let report = half(&world, options)?;
        println!(
            "{name}: {} sent in {:.0} s, {} good calls answered rightly",
            report.sent,
            started.elapsed().as_secs_f64(),
            report.answered
        );
        println!("    answers: {:?}", report.kinds);
        for problem in &report.problems {
            println!("    not ok {problem}");
        }
        well &= report.problems.is_empty() && report.answered > 0;
        let left = world.left_behind();
        if !left.is_empty() {
            println!("    not ok left behind: {left:?}");
            well = false;
        }
    }
    Ok(well)
}

/// The stage of `cargo xtask test`.
pub(crate) fn stage(count: &mut Count) -> Result<Ended, String> {
    let well = run(&Options::SMALL)?;
    count.add(Count::one(well));
    Ok(if well { Ended::Well } else { Ended::Badly("see above".to_owned()) })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_asked_for_is_read() {
        let options = Options::parse(&["--messages", "10", "--seed", "3", "--debug"]).unwrap();
        assert_eq!(options, Options { messages: 10, seed: 3, release: false });
        assert!(Options::parse(&["--frames", "3"]).is_err());
    }
}

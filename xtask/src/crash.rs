//! `cargo xtask crash`: runs of the real binary are killed with SIGKILL, at random and at every point between journal
//! writes, and taken up again until they end. What they do outside is counted by a real HTTP endpoint.
//!
//! Reading order: `trial` is one run and what must hold of it, `race` two processes at one run, `recovery` ten thousand
//! open runs; `world` is what is run, `endpoint` the outside, `process` one process. It must not know how a journal works.

use std::collections::{BTreeSet, VecDeque};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Instant;

use crate::repo::Outcome;

pub(crate) mod client;
mod endpoint;
mod process;
mod race;
mod recovery;
mod tally;
mod trial;
mod world;

pub(crate) use recovery::fill;

use crate::chance::Chance;
use process::{Ended, Kill};
use tally::{Count, Tally};
use trial::Trial;
use world::{SCENARIOS, Scenario, World};

/// What `cargo xtask crash` was asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Options {
    pub(crate) kills: u64,
    pub(crate) races: usize,
    pub(crate) open_runs: usize,
    pub(crate) seed: u64,
    /// The optimised binary, which the bars are for.
    pub(crate) release: bool,
}

impl Default for Options {
    fn default() -> Self {
        Self { kills: 2_000, races: 500, open_runs: 10_000, seed: 1, release: false }
    }
}

impl Options {
    /// What `cargo xtask test` has time for.
    pub(crate) const SMALL: Self = Self { kills: 150, races: 20, open_runs: 1_000, seed: 1, release: false };

    pub(crate) fn parse(flags: &[&str]) -> Result<Self, String> {
        let mut options = Self::default();
        let mut flags = flags.iter();
        while let Some(flag) = flags.next() {
            if *flag == "--release" {
                options.release = true;
                continue;
            }
            let value = flags.next().ok_or_else(|| format!("`{flag}` needs a number"))?;
            let number: u64 = value.parse().map_err(|_| format!("`{value}` is no number"))?;
            let small = || usize::try_from(number).map_err(|_| format!("`{value}` is too large"));
            match *flag {
                "--kills" => options.kills = number,
                "--races" => options.races = small()?,
                "--open-runs" => options.open_runs = small()?,
                "--seed" => options.seed = number,
                other => return Err(format!("`crash` knows no `{other}`")),
            }
        }
        Ok(options)
    }
}

/// After so many wrong things the rest is not tried.
const WRONG_AT_MOST: usize = 10;

/// `cargo xtask crash`.
pub(crate) fn run(options: &Options) -> Outcome {
    if !cfg!(target_os = "linux") {
        return Err("processes are found by `/proc`, which is not here".to_owned());
    }
    let world = World::new(options)?;
    let points = toolwright_sqlite::FAULT_POINTS;
    let tally = Tally::default();
    let started = Instant::now();
    kill(&world, &tally, points, options);
    println!("{} kills in {:.0} s", tally.kills(), started.elapsed().as_secs_f64());
    let started = Instant::now();
    race::run(&world, &tally, options);
    println!("{} races in {:.0} s", tally.get(Count::Races), started.elapsed().as_secs_f64());
    recovery::run(&world, &tally, options)?;
    println!("\n{tally}");
    let missed = tally.never_reached(points);
    println!("\n{} of {} fault points reached", points.len() - missed.len(), points.len());
    if !missed.is_empty() {
        println!("not reached: {}", missed.join(", "));
    }
    Ok(tally.wrongs() == 0 && tally.kills() >= options.kills)
}

/// A fault point of a scenario, for the n-th time; once a process died there, the next time is tried.
type Point = (&'static Scenario, &'static str, usize);

fn kill(world: &World, tally: &Tally, points: &'static [&'static str], options: &Options) {
    let mut sweep: VecDeque<Point> = VecDeque::new();
    for scenario in &SCENARIOS {
        sweep.extend(points.iter().map(|point| (scenario, *point, 1)));
    }
    let (sweep, next) = (Mutex::new(sweep), AtomicU64::new(0));
    let workers = std::thread::available_parallelism().map_or(2, std::num::NonZeroUsize::get) * 2;
    std::thread::scope(|scope| {
        for worker in 0..workers {
            let (sweep, next) = (&sweep, &next);
            scope.spawn(move || work(world, tally, points, options, worker, sweep, next));
        }
    });
}

/// One trial after the other, in journals of its own: some hold one run, some many.
fn work(
    world: &World,
    tally: &Tally,
    points: &'static [&'static str],
    options: &Options,
    worker: usize,
    sweep: &Mutex<VecDeque<Point>>,
    next: &AtomicU64,
) {
    let mut others = BTreeSet::new();
    let mut journal = String::new();
    while tally.kills() < options.kills && tally.wrongs() < WRONG_AT_MOST {
        let number = next.fetch_add(1, Ordering::Relaxed);
        let mut chance = Chance::new(options.seed, number);
        if journal.is_empty() || chance.percent(15) {
            verify(world, tally, &journal);
            journal = world.dir.join(format!("{worker}-{number}.sqlite")).display().to_string();
            others.clear();
        }
        let point = if number.is_multiple_of(2) { sweep.lock().unwrap_or_else(PoisonError::into_inner).pop_front() } else { None };
        let scenario = point.map_or_else(|| chance.pick(&SCENARIOS), |(scenario, ..)| Some(scenario));
        let Some(scenario) = scenario else { return };
        let first = match point {
            Some((_, point, nth)) => Kill::Fault(point.to_owned(), nth),
            None => trial::some_kill(&mut chance, world.lasts(scenario), 0, points),
        };
        let ticket = format!("ticket-{number}");
        let shown = format!("{} ({ticket}, seed {}, first kill {first:?})", scenario.tool, options.seed);
        let keyed = chance.percent(40);
        let trial = Trial { world, tally, points, scenario, journal: journal.clone(), ticket, others: &mut others, keyed, chance };
        match trial.run(&first) {
            Ok(died) => {
                if let Some((scenario, point, nth)) = point.filter(|_| died) {
                    sweep.lock().unwrap_or_else(PoisonError::into_inner).push_back((scenario, point, nth + 1));
                }
            }
            Err(why) => {
                tally.wrong(format!("{shown}: {why}"));
                // The run may be open for ever: the next one has a journal without it.
                verify(world, tally, &journal);
                journal.clear();
            }
        }
    }
    verify(world, tally, &journal);
}

/// Whether a journal is whole after all that.
fn verify(world: &World, tally: &Tally, journal: &str) {
    if !std::path::Path::new(journal).exists() {
        return;
    }
    let arguments = ["journal", "verify", "--format=json"].map(str::to_owned);
    match world.life(journal, "", &arguments, &Kill::Never) {
        Ok(Ended::Exited(exited)) if exited.code == 0 => {
            tally.add(Count::Journals, 1);
            let records = exited.json().get("records").and_then(serde_json::Value::as_u64).unwrap_or_default();
            tally.add(Count::Records, usize::try_from(records).unwrap_or_default());
        }
        Ok(Ended::Exited(exited)) => tally.wrong(format!("`{journal}` is not whole: {}", exited.shown())),
        Ok(Ended::Killed) => tally.wrong("`journal verify` was killed by somebody else".to_owned()),
        Err(why) => tally.wrong(why),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_asked_for_is_read() {
        let options = Options::parse(&["--kills", "7", "--release", "--seed", "9"]).unwrap();
        assert_eq!(options, Options { kills: 7, seed: 9, release: true, ..Options::default() });
        assert!(Options::parse(&["--kills"]).is_err());
        assert!(Options::parse(&["--lives", "9"]).is_err());
    }
}

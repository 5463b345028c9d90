//! Two processes take up one run at the same moment: one goes on, the other is refused in words.
//!
//! INVARIANT: the one that goes on is held at the endpoint until the other has ended, so that they do overlap.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

use serde_json::Value;

use super::Options;
use super::process::{Ended, Exited, Kill, settle};
use super::tally::{Count, Tally};
use super::world::{SCENARIOS, Scenario, World};
use crate::chance::Chance;

/// The exit code of a process that finds another one at work.
const REFUSED: i32 = 11;

/// By then one of the two has found out that the other is at work.
const ONE_ENDS: Duration = Duration::from_secs(20);

/// All races, several at once.
pub(super) fn run(world: &World, tally: &Tally, options: &Options) {
    let next = AtomicUsize::new(0);
    let workers = std::thread::available_parallelism().map_or(2, std::num::NonZeroUsize::get) * 2;
    std::thread::scope(|scope| {
        for worker in 0..workers {
            let next = &next;
            scope.spawn(move || {
                let named = |name: usize| world.dir.join(format!("race-{worker}-{name}.sqlite")).display().to_string();
                let mut journal = named(0);
                let mut others = BTreeSet::new();
                loop {
                    let number = next.fetch_add(1, Ordering::Relaxed);
                    if number >= options.races || tally.wrongs() >= super::WRONG_AT_MOST {
                        super::verify(world, tally, &journal);
                        return;
                    }
                    let ticket = format!("race-{number}");
                    let Some(scenario) = Chance::new(options.seed, number as u64).pick(&SCENARIOS) else { return };
                    let race = Race { world, tally, journal: &journal, ticket: &ticket, scenario };
                    let in_doubt = number % 3 == 2 || scenario.tool == "charge";
                    if let Err(why) = race.run(&mut others, in_doubt) {
                        tally.wrong(format!("two at once, {} ({ticket}, seed {}): {why}", scenario.tool, options.seed));
                        journal = named(number);
                    }
                }
            });
        }
    });
}

struct Race<'a> {
    world: &'a World,
    tally: &'a Tally,
    journal: &'a str,
    ticket: &'a str,
    scenario: &'a Scenario,
}

impl Race<'_> {
    /// One race: over a run that stopped at a read or an idempotent write, or over one in doubt that both answer.
    fn run(&self, others: &mut BTreeSet<String>, in_doubt: bool) -> Result<(), String> {
        let endpoint = &self.world.endpoint;
        let held = match self.scenario.once {
            [first, ..] if in_doubt => *first,
            _ if self.scenario.idempotent => "reserve",
            _ => "lookup",
        };
        self.stop_at(held, in_doubt)?;
        let id = self.new_run(others)?;
        let before = self.requests(held);
        endpoint.hold(self.ticket, held);
        let (first, ends) = self.two(&id, in_doubt)?;
        endpoint.let_go(self.ticket);
        let second = ends.recv().map_err(|_| "a process got lost".to_owned())??;
        self.tally.add(Count::Races, 1);
        others.insert(id);
        let went_on = self.requests(held) - before;
        if went_on != 1 {
            return Err(format!("`{held}` was asked {went_on} times: {}{}", first.shown(), second.shown()));
        }
        if second.code != 0 || second.json() != *self.world.reference(self.scenario, 1) {
            return Err(format!("the one that went on did not end well: {}", second.shown()));
        }
        self.tally.add(Count::RacesWon, 1);
        let document = first.json();
        let words = ["error", "help"].map(|member| document.get(member).and_then(Value::as_str).unwrap_or_default());
        if first.code != REFUSED || words.iter().any(|words| words.is_empty()) {
            return Err(format!("the other one was not refused in words, with exit code {REFUSED}: {}", first.shown()));
        }
        self.tally.add(Count::RacesRefused, 1);
        settle(self.ticket, false);
        endpoint.settle(self.ticket);
        for tool in self.scenario.once {
            let effects = endpoint.done(self.ticket, tool).len();
            self.tally.add(Count::RacesDuplicates, effects.saturating_sub(1));
            if effects != 1 {
                return Err(format!("`{tool}` had its effect {effects} times"));
            }
        }
        Ok(())
    }

    /// Begins the run, and kills it while the endpoint has a request of this tool.
    fn stop_at(&self, tool: &str, lost: bool) -> Result<(), String> {
        let endpoint = &self.world.endpoint;
        if lost {
            endpoint.lose(self.ticket, tool)
        } else {
            endpoint.hold(self.ticket, tool)
        }
        let arguments = self.world.run_arguments(self.scenario.tool, self.ticket, 1);
        let ended = std::thread::scope(|scope| {
            let living = scope.spawn(|| self.world.life(self.journal, self.ticket, &arguments, &Kill::WithTool(tool.to_owned())));
            living.join().map_err(|_| "a thread broke down".to_owned())?
        })?;
        if !matches!(ended, Ended::Killed) {
            return Err(format!("it was to be killed at `{tool}`: {ended:?}"));
        }
        self.tally.killed("run", "around a request");
        // The clients that it left behind are ended: what they asked for is done, or will not be.
        settle(self.ticket, true);
        endpoint.let_go(self.ticket);
        endpoint.settle(self.ticket);
        Ok(())
    }

    fn requests(&self, tool: &str) -> usize {
        self.world.endpoint.seen(self.ticket).iter().filter(|seen| seen.tool == tool).count()
    }

    fn new_run(&self, others: &BTreeSet<String>) -> Result<String, String> {
        let arguments = ["runs", "--format=json"].map(str::to_owned);
        let Ended::Exited(exited) = self.world.life(self.journal, "", &arguments, &Kill::Never)? else {
            return Err("`runs` was killed by somebody else".to_owned());
        };
        let document = exited.json();
        let runs = document.get("runs").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
        let mut ids = runs.iter().filter_map(|run| run.get("id")?.as_str()).filter(|id| !others.contains(*id));
        ids.next().map(str::to_owned).ok_or_else(|| format!("the killed run is not among the runs: {}", exited.shown()))
    }

    /// Both at once; answers how the first one ended, and where the second one will be.
    fn two(&self, id: &str, in_doubt: bool) -> Result<(Exited, Receiver<Result<Exited, String>>), String> {
        let mut arguments = vec!["resume".to_owned(), id.to_owned(), "--format=json".to_owned()];
        if in_doubt {
            arguments.extend(["--as", "not-happened"].map(str::to_owned));
        }
        let (tell, ends) = channel();
        for _ in 0..2 {
            let mut command = self.world.command(self.journal, self.ticket);
            command.args(&arguments).stdin(std::process::Stdio::null());
            let tell = tell.clone();
            let child = command.stdout(std::process::Stdio::piped()).stderr(std::process::Stdio::piped()).spawn();
            let child = child.map_err(|error| format!("cannot start the binary: {error}"))?;
            std::thread::spawn(move || {
                let ended = super::process::finish(child).and_then(|ended| match ended {
                    Ended::Exited(exited) => Ok(exited),
                    Ended::Killed => Err("a process was killed by somebody else".to_owned()),
                });
                // Nobody listens any more when the race is lost for another reason.
                let _ = tell.send(ended);
            });
        }
        match ends.recv_timeout(ONE_ENDS) {
            Ok(first) => Ok((first?, ends)),
            Err(_) => {
                self.world.endpoint.let_go(self.ticket);
                Err("neither was refused: both went on, or both hang".to_owned())
            }
        }
    }
}

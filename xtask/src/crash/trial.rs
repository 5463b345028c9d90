//! One run, killed and taken up again until it ends well, and what must hold of it then.

use std::collections::BTreeSet;
use std::time::Duration;

use serde_json::Value;

use super::endpoint::Seen;
use super::process::{Ended, Exited, Kill, settle};
use super::tally::{Count, Tally};
use super::world::{ITEMS, Scenario, World};
use crate::chance::Chance;

/// What is tried, and with which journal.
#[derive(Debug)]
pub(super) struct Trial<'a> {
    pub(super) world: &'a World,
    pub(super) tally: &'a Tally,
    pub(super) points: &'a [&'static str],
    pub(super) scenario: &'a Scenario,
    pub(super) journal: String,
    pub(super) ticket: String,
    /// Runs of the journal that are other ones.
    pub(super) others: &'a mut BTreeSet<String>,
    /// The caller gives an idempotency key, and may run the same again in place of taking up.
    pub(super) keyed: bool,
    pub(super) chance: Chance,
}

/// What the next process does.
#[derive(Clone, Debug)]
enum Life {
    Run,
    Resume(String),
    Answer(String, String),
}

/// After so many processes a run that has not ended is wrong.
const LIVES: usize = 80;

/// Arguments a person answers with.
const HAPPENED: &str = "happened";
const NOT_HAPPENED: &str = "not-happened";

impl Trial<'_> {
    /// Runs it; the first process is killed as `first` says. Answers whether it was.
    pub(super) fn run(mut self, first: &Kill) -> Result<bool, String> {
        self.tally.add(Count::Runs, 1);
        let item = self.chance.below(ITEMS);
        let mut kills = 1 + self.chance.below(5);
        let (mut id, mut life, mut answers) = (None, Life::Run, 0_usize);
        let mut first_died = false;
        for number in 0..LIVES {
            let kill = match number {
                0 => first.clone(),
                _ if kills > 0 => self.some_kill(),
                _ => Kill::Never,
            };
            match self.live(&life, item, &kill)? {
                Ended::Killed => {
                    self.tally.killed(life.who(), kill.kind());
                    if let Kill::Fault(point, _) = &kill {
                        self.tally.reached(point);
                    }
                    first_died |= number == 0;
                    kills = kills.saturating_sub(1);
                    settle_some(&self.ticket, &mut self.chance);
                    // Whether an answer was written is not known: nobody gives it twice without looking.
                    id = self.id(id)?;
                    life = self.next(id.as_deref());
                }
                Ended::Exited(exited) if exited.code == 0 => {
                    self.ended_well(&exited, item)?;
                    self.tally.add(Count::WentOnAlone, usize::from(answers == 0));
                    id = self.id(id)?;
                    let again = self.chance.percent(25).then(|| self.next(id.as_deref()));
                    again.map_or(Ok(()), |life| self.asked_again(&life, item))?;
                    self.others.extend(id);
                    return Ok(first_died);
                }
                Ended::Exited(exited) if exited.code == 13 => {
                    kills = kills.saturating_sub(1);
                    id = self.id(id)?;
                    let run = id.clone().ok_or_else(|| format!("a run in doubt is not among the runs: {}", exited.shown()))?;
                    life = Life::Answer(run, self.look(&exited)?);
                    answers += 1;
                }
                Ended::Exited(exited) => return Err(format!("{life:?} ended in no way that a kill explains: {}", exited.shown())),
            }
        }
        Err(format!("it did not end within {LIVES} processes"))
    }

    fn live(&self, life: &Life, item: usize, kill: &Kill) -> Result<Ended, String> {
        let mut arguments = match life {
            Life::Run => self.world.run_arguments(self.scenario.tool, &self.ticket, item),
            Life::Resume(id) => vec!["resume".to_owned(), id.clone(), "--format=json".to_owned()],
            Life::Answer(id, answer) => {
                vec!["resume".to_owned(), id.clone(), "--as".to_owned(), answer.clone(), "--format=json".to_owned()]
            }
        };
        if self.keyed && matches!(life, Life::Run) {
            arguments.extend(["--key".to_owned(), format!("key of {}", self.ticket)]);
        }
        self.world.life(&self.journal, &self.ticket, &arguments, kill)
    }

    /// Somewhere in the next process's life.
    fn some_kill(&mut self) -> Kill {
        let lasts = self.world.lasts(self.scenario);
        some_kill(&mut self.chance, lasts, self.world.endpoint.seen(&self.ticket).len(), self.points)
    }

    /// The run was begun before: it is taken up, or, with a key, asked for as if for the first time.
    fn next(&mut self, id: Option<&str>) -> Life {
        match id {
            Some(id) if !self.keyed || self.chance.percent(50) => Life::Resume(id.to_owned()),
            _ => Life::Run,
        }
    }

    /// Its id: the one run of the journal that nobody else has. None when it was killed before it was written.
    fn id(&self, known: Option<String>) -> Result<Option<String>, String> {
        // Killed before there was a file: then there is no run.
        if known.is_some() || !std::path::Path::new(&self.journal).exists() {
            return Ok(known);
        }
        let exited = self.ask(&["runs", "--format=json"])?;
        let document = exited.json();
        let runs = document.get("runs").and_then(Value::as_array).ok_or_else(|| format!("`runs` says no runs: {}", exited.shown()))?;
        let ids = runs.iter().filter_map(|run| run.get("id")?.as_str());
        let mut new = ids.filter(|id| !self.others.contains(*id));
        let id = new.next().map(str::to_owned);
        if new.next().is_some() { Err(format!("one run became two: {}", exited.shown())) } else { Ok(id) }
    }

    fn ask(&self, arguments: &[&str]) -> Result<Exited, String> {
        let arguments: Vec<String> = arguments.iter().map(|word| (*word).to_owned()).collect();
        match self.world.life(&self.journal, "", &arguments, &Kill::Never)? {
            Ended::Exited(exited) if exited.code == 0 => Ok(exited),
            Ended::Exited(exited) => Err(format!("`{}`: {}", arguments.join(" "), exited.shown())),
            Ended::Killed => Err(format!("`{}` was killed by somebody else", arguments.join(" "))),
        }
    }

    /// A run in doubt: it must say so, of which call, and what to do. Then a person looks, and answers by what is there.
    fn look(&mut self, exited: &Exited) -> Result<String, String> {
        self.tally.add(Count::InDoubt, 1);
        let document = exited.json();
        let text = exited.shown();
        if document.get("code").and_then(Value::as_str) != Some("in_doubt") {
            return Err(format!("exit code 13 without `in_doubt`: {text}"));
        }
        let tells = |word: &str| text.contains(word);
        if !(tells("resume") && tells("--as") && tells(HAPPENED) && tells(NOT_HAPPENED)) {
            return Err(format!("in doubt, and it does not say what to do: {text}"));
        }
        // What is still under way outside may yet happen: a person waits for it, or ends it.
        settle_some(&self.ticket, &mut self.chance);
        settle(&self.ticket, false);
        self.world.endpoint.settle(&self.ticket);
        let seen = self.world.endpoint.seen(&self.ticket);
        let tool = self.waiting()?;
        let done: Vec<&Value> = seen.iter().filter(|seen| seen.tool == tool).filter_map(|seen| seen.done.as_ref()).collect();
        match done.as_slice() {
            [] => {
                self.tally.add(Count::AnsweredNotHappened, 1);
                Ok(NOT_HAPPENED.to_owned())
            }
            [answer] => {
                self.tally.add(Count::AnsweredHappened, 1);
                Ok(format!("{HAPPENED}={answer}"))
            }
            _ => Err(format!("`{tool}` had its effect {} times", done.len())),
        }
    }

    /// The tool of the call in doubt, as `runs` says it.
    fn waiting(&self) -> Result<String, String> {
        let exited = self.ask(&["runs", "--format=json"])?;
        let document = exited.json();
        let runs = document.get("runs").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
        let mut paths = runs.iter().filter(|run| run.get("id").and_then(Value::as_str).is_some_and(|id| !self.others.contains(id)));
        let waits = paths.next().and_then(|run| run.get("waits")?.as_array());
        let [one] = waits.map(Vec::as_slice).unwrap_or_default() else {
            return Err(format!("a run in doubt waits for one answer: {}", exited.shown()));
        };
        let tool = one.get("tool").and_then(Value::as_str).unwrap_or_default();
        Ok(tool.trim_start_matches("web_").to_owned())
    }

    /// What must hold of a run that ended well.
    fn ended_well(&self, exited: &Exited, item: usize) -> Result<(), String> {
        let reference = self.world.reference(self.scenario, item);
        if exited.json() != *reference {
            return Err(format!("the output is not that of the uninterrupted run, {reference}: {}", exited.shown()));
        }
        settle(&self.ticket, false);
        self.world.endpoint.settle(&self.ticket);
        let seen = self.world.endpoint.seen(&self.ticket);
        for tool in self.scenario.once {
            let of: Vec<&Seen> = seen.iter().filter(|seen| seen.tool == *tool).collect();
            let effects = of.iter().filter(|seen| seen.done.is_some()).count();
            self.tally.add(Count::OnceRequests, of.len());
            self.tally.add(Count::OnceEffects, effects);
            self.tally.add(Count::Duplicates, effects.saturating_sub(1));
            if effects != 1 {
                return Err(format!("`{tool}` had its effect {effects} times in a run that ended well"));
            }
        }
        let idempotent: Vec<&Seen> = seen.iter().filter(|seen| seen.tool == "reserve").collect();
        self.tally.add(Count::IdempotentRequests, idempotent.len());
        let keys: BTreeSet<Option<&String>> = idempotent.iter().map(|seen| seen.key.as_ref()).collect();
        self.tally.add(Count::OtherKeys, usize::from(keys.len() > 1));
        if keys.len() > 1
            || keys.contains(&None)
            || idempotent.iter().any(|seen| Some(&seen.arguments) != idempotent.first().map(|one| &one.arguments))
        {
            return Err(format!("idempotent requests differ: {idempotent:?}"));
        }
        if self.scenario.idempotent && !idempotent.iter().any(|seen| seen.done.is_some()) {
            return Err("the idempotent effect did not happen in a run that ended well".to_owned());
        }
        self.tally.add(Count::EndedWell, 1);
        Ok(())
    }

    /// A run that ended well is asked for again: the same output, and nothing more is done.
    fn asked_again(&self, life: &Life, item: usize) -> Result<(), String> {
        if matches!(life, Life::Run) && !self.keyed {
            return Ok(());
        }
        let before = self.world.endpoint.seen(&self.ticket).len();
        let Ended::Exited(exited) = self.live(life, item, &Kill::Never)? else { return Err("killed by somebody else".to_owned()) };
        let after = self.world.endpoint.seen(&self.ticket).len();
        if exited.code != 0 || exited.json() != *self.world.reference(self.scenario, item) || after != before {
            return Err(format!("asked again, with {} more requests: {}", after - before, exited.shown()));
        }
        self.tally.add(Count::AskedAgain, 1);
        Ok(())
    }
}

impl Life {
    fn who(&self) -> &'static str {
        match self {
            Self::Run => "run",
            Self::Resume(_) => "resume",
            Self::Answer(..) => "resume --as",
        }
    }
}

/// Somewhere in a life that may last so long, when so many requests were seen already.
pub(super) fn some_kill(chance: &mut Chance, lasts: Duration, seen: usize, points: &[&'static str]) -> Kill {
    match chance.below(10) {
        0..=3 => Kill::At(chance.within(lasts + lasts / 10)),
        4..=6 => Kill::AfterRequest(seen + 1 + chance.below(4), chance.within(Duration::from_millis(12))),
        7..=8 => match chance.pick(points) {
            Some(point) => Kill::Fault((*point).to_owned(), 1 + chance.below(5)),
            None => Kill::At(chance.within(lasts)),
        },
        _ => Kill::Never,
    }
}

/// Clients outlive the binary, or die with it.
fn settle_some(ticket: &str, chance: &mut Chance) {
    if chance.percent(50) {
        settle(ticket, true);
    }
}

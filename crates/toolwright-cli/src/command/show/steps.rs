//! The calls of a run as a tree, from its records: how each stands, and when. Knows nothing of how it is shown.

use std::collections::HashMap;

use toolwright::journal::{Begin, Entry, Last, Record, Resolution, RunHistory, Standing, Verdict};
use toolwright::{Impact, Timestamp, Value};

/// How a call stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum State {
    /// It has not begun, or may begin again.
    Planned,
    /// It was begun and has no outcome; nothing is lost by running it again, or somebody is at work on it.
    Sent,
    /// It has an outcome.
    Done,
    /// It ended with an error, and what it did is known, or it may run again.
    Failed,
    /// It may have had its effect; somebody must say.
    Unknown,
}

impl State {
    pub(super) fn word(self) -> &'static str {
        match self {
            Self::Planned => "planned",
            Self::Sent => "sent",
            Self::Done => "done",
            Self::Failed => "failed",
            Self::Unknown => "unknown",
        }
    }
}

/// One call of a run.
#[derive(Debug)]
pub(super) struct Step<'h> {
    pub(super) path: String,
    /// How many calls are around it.
    pub(super) depth: usize,
    pub(super) tool: String,
    pub(super) state: State,
    pub(super) attempts: u32,
    /// Its last intent; none while it is only planned.
    pub(super) begin: Option<&'h Begin>,
    pub(super) last: Last<'h>,
}

impl Step<'_> {
    /// The last part of its path.
    pub(super) fn name(&self) -> &str {
        self.path.rsplit_once('/').map_or(self.path.as_str(), |(_, name)| name)
    }

    pub(super) fn composite(&self) -> bool {
        self.begin.is_some_and(|begin| begin.composite)
    }

    /// Its effect in a word.
    pub(super) fn effect(&self) -> &'static str {
        match self.begin {
            None => "",
            Some(begin) if begin.composite => "composite",
            Some(begin) => match begin.impact {
                Some(Impact::None) => "read",
                Some(Impact::Idempotent) => "idempotent",
                Some(Impact::Once) => "write",
                None => "undeclared",
            },
        }
    }

    /// Whether it has effects, or does not say that it has none.
    pub(super) fn stands_out(&self) -> bool {
        self.begin.is_some_and(|begin| !begin.composite && begin.impact != Some(Impact::None))
    }

    pub(super) fn began(&self) -> Option<Timestamp> {
        self.begin?.at
    }

    pub(super) fn ended(&self) -> Option<Timestamp> {
        match self.last {
            Last::Finished(finish) => finish.at,
            Last::Begun | Last::Resolved(_) => None,
        }
    }

    /// Code and sentence of what ended it.
    pub(super) fn failure(&self) -> Option<(&str, &str)> {
        match self.last {
            Last::Finished(finish) => finish.outcome.as_ref().err().map(|failure| (failure.code.as_str(), failure.message.as_str())),
            Last::Begun | Last::Resolved(_) => None,
        }
    }

    pub(super) fn output(&self) -> Option<&Value> {
        match self.last {
            Last::Finished(finish) => finish.outcome.as_ref().ok()?.as_ref(),
            Last::Resolved(Resolution { verdict: Verdict::Happened(output), .. }) => output.as_ref(),
            Last::Begun | Last::Resolved(_) => None,
        }
    }

    /// Who said what became of it, where it was not the tool.
    pub(super) fn answered_by(&self) -> Option<&str> {
        match self.last {
            Last::Resolved(resolution) => Some(&resolution.who),
            Last::Finished(finish) => finish.more.as_ref()?.answered_by.as_deref(),
            Last::Begun => None,
        }
    }
}

/// Records of one call.
struct Place<'h> {
    path: String,
    entries: Vec<Entry<'h>>,
    inside: Vec<usize>,
}

/// The calls of a run, each before those inside it; `running` when a process is at work on the run.
pub(super) fn steps(history: &RunHistory, running: bool) -> Vec<Step<'_>> {
    let (places, roots) = tree(history);
    let mut steps = Vec::with_capacity(places.len());
    let mut todo: Vec<(Next<'_>, usize)> = roots.iter().rev().map(|root| (Next::Begun(*root), 0)).collect();
    while let Some((next, depth)) = todo.pop() {
        match next {
            Next::Planned(path, tool) => {
                let last = Last::Begun;
                let tool = tool.to_owned();
                steps.push(Step { path, depth, tool, state: State::Planned, attempts: 0, begin: None, last });
            }
            Next::Begun(at) => {
                let Some(place) = places.get(at) else { continue };
                let step = step(place, depth, running);
                let known = |path: &str| place.inside.iter().filter_map(|at| places.get(*at)).any(|place| place.path == path);
                todo.extend(planned(&step, known).into_iter().rev().map(|next| (next, depth + 1)));
                todo.extend(place.inside.iter().rev().map(|at| (Next::Begun(*at), depth + 1)));
                steps.push(step);
            }
        }
    }
    steps
}

enum Next<'h> {
    Begun(usize),
    Planned(String, &'h str),
}

fn tree(history: &RunHistory) -> (Vec<Place<'_>>, Vec<usize>) {
    let mut places: Vec<Place<'_>> = Vec::new();
    let mut known: HashMap<String, usize> = HashMap::new();
    let mut roots = Vec::new();
    for record in &history.records {
        let (Some(key), Some(entry)) = (record.key(), record.entry()) else { continue };
        let path = key.path();
        let at = match known.get(&path) {
            Some(at) => *at,
            // What was never begun is no call.
            None if !matches!(record, Record::Begin(_)) => continue,
            None => {
                let at = places.len();
                let around = path.rsplit_once('/').and_then(|(around, _)| known.get(around).copied());
                match around.and_then(|around| places.get_mut(around)) {
                    Some(around) => around.inside.push(at),
                    None => roots.push(at),
                }
                known.insert(path.clone(), at);
                // In a fork, what was taken over is there before what it is inside of.
                let is_inside = |root: &usize| {
                    places.get(*root).and_then(|place| place.path.rsplit_once('/')).is_some_and(|(around, _)| around == path)
                };
                let inside = roots.extract_if(.., |root| is_inside(root)).collect();
                places.push(Place { path, entries: Vec::new(), inside });
                at
            }
        };
        if let Some(place) = places.get_mut(at) {
            place.entries.push(entry);
        }
    }
    (places, roots)
}

fn step<'h>(place: &Place<'h>, depth: usize, running: bool) -> Step<'h> {
    let standing = Standing::of(place.entries.iter().copied());
    let doubtful = standing.doubt().is_some();
    let state = match standing.last {
        Last::Begun if doubtful && !running => State::Unknown,
        Last::Begun => State::Sent,
        Last::Resolved(Resolution { verdict: Verdict::Happened(_), .. }) => State::Done,
        Last::Resolved(_) => State::Planned,
        Last::Finished(finish) if finish.outcome.is_ok() => State::Done,
        Last::Finished(_) if doubtful => State::Unknown,
        Last::Finished(_) => State::Failed,
    };
    let tool = standing.begin.map_or_else(String::new, |begin| begin.tool().to_owned());
    Step { path: place.path.clone(), depth, tool, state, attempts: standing.attempts, begin: standing.begin, last: standing.last }
}

/// Steps of a composite that has not succeeded and that did not begin.
fn planned<'h>(step: &Step<'h>, known: impl Fn(&str) -> bool) -> Vec<Next<'h>> {
    let spec = step.begin.and_then(|begin| begin.more.as_ref()?.spec.as_ref()).filter(|_| step.state != State::Done);
    let steps = spec.and_then(|spec| spec.get("steps")?.as_array()).unwrap_or_default();
    let named = steps.iter().enumerate().filter_map(|(index, written)| {
        let text = |member: &str| written.get(member).and_then(Value::as_str);
        let path = format!("{}/{index}:{}", step.path, segment(text("name")?));
        (!known(&path)).then(|| Next::Planned(path, text("tool").unwrap_or_default()))
    });
    named.collect()
}

/// A name as a part of a path.
pub(super) fn segment(name: &str) -> String {
    name.replace('%', "%25").replace('/', "%2F").replace('~', "%7E")
}

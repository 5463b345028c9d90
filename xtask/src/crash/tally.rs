//! What came of it: counts, and what was wrong.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Counts by what they count, in the order in which they are shown.
#[derive(Debug, Default)]
pub(super) struct Tally(Mutex<Inner>);

#[derive(Debug, Default)]
struct Inner {
    kills: BTreeMap<(&'static str, &'static str), u64>,
    counts: BTreeMap<Count, u64>,
    points: BTreeMap<String, u64>,
    wrong: Vec<String>,
}

/// What is counted beside kills.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Count {
    Runs,
    EndedWell,
    WentOnAlone,
    InDoubt,
    AnsweredHappened,
    AnsweredNotHappened,
    AskedAgain,
    OnceRequests,
    OnceEffects,
    Duplicates,
    IdempotentRequests,
    OtherKeys,
    Races,
    RacesWon,
    RacesRefused,
    RacesDuplicates,
    Journals,
    Records,
}

impl Count {
    const ALL: [(Self, &'static str); 18] = [
        (Self::Runs, "runs"),
        (Self::EndedWell, "runs that ended well, with the uninterrupted run's output"),
        (Self::WentOnAlone, "of those, without anybody's answer"),
        (Self::InDoubt, "times that a run said `in_doubt` (exit 13) and what to do"),
        (Self::AnsweredHappened, "answered: it happened"),
        (Self::AnsweredNotHappened, "answered: it did not happen"),
        (Self::AskedAgain, "ended runs asked again: the same output, and nothing done"),
        (Self::OnceRequests, "requests of once-only tools"),
        (Self::OnceEffects, "once-only effects"),
        (Self::Duplicates, "once-only effects that happened twice in a run"),
        (Self::IdempotentRequests, "requests of idempotent tools"),
        (Self::OtherKeys, "runs whose idempotent requests had more than one key"),
        (Self::Races, "times that two processes took up one run at once"),
        (Self::RacesWon, "of those, exactly one went on"),
        (Self::RacesRefused, "and the other was refused in words"),
        (Self::RacesDuplicates, "once-only effects that happened twice then"),
        (Self::Journals, "journals verified whole afterwards"),
        (Self::Records, "records in them"),
    ];
}

impl Tally {
    fn inner(&self) -> MutexGuard<'_, Inner> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn killed(&self, who: &'static str, kind: &'static str) {
        *self.inner().kills.entry((who, kind)).or_default() += 1;
    }

    pub(super) fn reached(&self, point: &str) {
        *self.inner().points.entry(point.to_owned()).or_default() += 1;
    }

    pub(super) fn add(&self, count: Count, number: usize) {
        *self.inner().counts.entry(count).or_default() += u64::try_from(number).unwrap_or(u64::MAX);
    }

    pub(super) fn wrong(&self, what: String) {
        eprintln!("WRONG: {what}");
        self.inner().wrong.push(what);
    }

    pub(super) fn kills(&self) -> u64 {
        self.inner().kills.values().sum()
    }

    pub(super) fn get(&self, count: Count) -> u64 {
        self.inner().counts.get(&count).copied().unwrap_or_default()
    }

    pub(super) fn wrongs(&self) -> usize {
        self.inner().wrong.len()
    }

    /// The points of `all` that no process died at.
    pub(super) fn never_reached(&self, all: &[&str]) -> Vec<String> {
        let inner = self.inner();
        all.iter().filter(|point| !inner.points.contains_key(**point)).map(|point| (*point).to_owned()).collect()
    }
}

impl fmt::Display for Tally {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let inner = self.inner();
        writeln!(f, "{:>7}  kills by SIGKILL; at a fault point, by SIGABRT of its own", inner.kills.values().sum::<u64>())?;
        for ((who, kind), number) in &inner.kills {
            writeln!(f, "{number:>7}    {who}, {kind}")?;
        }
        for (count, what) in Count::ALL {
            writeln!(f, "{:>7}  {what}", inner.counts.get(&count).copied().unwrap_or_default())?;
        }
        write!(f, "{:>7}  things that were wrong", inner.wrong.len())
    }
}

//! The newest events of tools, kept as they were told: numbered without a gap
//! and never more than the host asked for. Text is made by whoever reads.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::{Diagnostics, EventName, payload};
use crate::frame::{RunId, Timestamp};
use crate::journal::StepKey;
use crate::value::Text;

/// The place of a call: which run, and where in it.
///
/// ```
/// use toolwright::diagnostics::CallKey;
///
/// let key = CallKey { run: "r1".into(), path: "report/0:look".into() };
/// assert_eq!(key.to_string(), "r1/report/0:look");
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct CallKey {
    /// Id of the run.
    pub run: Text,
    /// Path in the run.
    pub path: Text,
}

impl std::fmt::Display for CallKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}/{}", self.run, self.path)
    }
}

/// What happened to a call.
///
/// ```
/// use toolwright::EventName;
/// use toolwright::diagnostics::EventKind;
///
/// assert_eq!(EventKind::Refused.event(), EventName::ToolRefused);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum EventKind {
    /// Its tool is about to run.
    Started,
    /// It gave its answer.
    Succeeded,
    /// It ran and did not succeed.
    Failed,
    /// It was turned down before its tool ran.
    Refused,
    /// It got its answer from the journal.
    Replayed,
    /// It was cancelled.
    Cancelled,
}

impl EventKind {
    /// The name of the fact that tells the same.
    pub fn event(self) -> EventName {
        match self {
            Self::Started => EventName::ToolStarted,
            Self::Succeeded => EventName::ToolSucceeded,
            Self::Failed => EventName::ToolFailed,
            Self::Refused => EventName::ToolRefused,
            Self::Replayed => EventName::ToolReplayed,
            Self::Cancelled => EventName::ToolCancelled,
        }
    }
}

/// One event of a tool, as a catalogue keeps it.
///
/// ```
/// use toolwright::diagnostics::{EventKind, ToolEvent};
///
/// fn failures(events: &[ToolEvent]) -> usize {
///     events.iter().filter(|event| event.what == EventKind::Failed).count()
/// }
/// assert_eq!(failures(&[]), 0);
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ToolEvent {
    /// Its number in the catalogue, from 0, without a gap.
    pub seq: u64,
    /// When, if there is a clock.
    pub at: Option<Timestamp>,
    /// Which call.
    pub key: CallKey,
    /// Name of the tool, known or not.
    pub tool: Text,
    /// The tool's kind; empty when there is no such tool.
    pub kind: Text,
    /// What happened.
    pub what: EventKind,
    /// Code of the error, when there is one.
    pub code: Option<Text>,
    /// How long it took, at its end and if there is a clock.
    pub duration: Option<Duration>,
    /// Whether it was part of a dry run.
    pub dry: bool,
}

/// Where a call is, before anybody wants to read it.
#[derive(Clone, Debug)]
pub(crate) enum Place {
    /// A call on its way.
    Call(StepKey),
    /// One that got no further than its name.
    Named(Text),
}

impl Place {
    fn path(&self) -> String {
        match self {
            Self::Call(key) => key.path(),
            Self::Named(name) => name.to_string(),
        }
    }
}

/// One event before it has a number and a text.
#[derive(Clone, Debug)]
pub(crate) struct Happening {
    pub(crate) at: Option<Timestamp>,
    pub(crate) run: RunId,
    pub(crate) place: Place,
    pub(crate) tool: Text,
    pub(crate) kind: Text,
    pub(crate) what: EventKind,
    pub(crate) code: Option<Text>,
    pub(crate) duration: Option<Duration>,
    pub(crate) dry: bool,
}

impl Happening {
    /// Tells it: keeps it in the ring and emits the same as a fact, with the same number.
    pub(crate) fn tell(self, ring: &EventRing, diagnostics: &Diagnostics) {
        if diagnostics.is_disabled() {
            ring.push(|| self);
            return;
        }
        let seq = ring.push(|| self.clone());
        diagnostics.emit(self.what.event(), || payload::tool(self.place.path(), &self, seq));
    }

    fn numbered(self, seq: u64) -> ToolEvent {
        let path = self.place.path().into();
        ToolEvent {
            seq,
            at: self.at,
            key: CallKey { run: self.run.text(), path },
            tool: self.tool,
            kind: self.kind,
            what: self.what,
            code: self.code,
            duration: self.duration,
            dry: self.dry,
        }
    }
}

/// The newest events. One for a catalogue and its clones.
#[derive(Debug)]
pub(crate) struct EventRing {
    capacity: usize,
    kept: Mutex<Kept>,
}

#[derive(Debug, Default)]
struct Kept {
    /// In the order in which they came until there is no room; then each takes the place of the oldest one.
    events: Vec<Happening>,
    /// Where the oldest one is.
    oldest: usize,
    /// How many went; so it is also the number of the oldest one kept.
    dropped: u64,
}

impl Default for EventRing {
    fn default() -> Self {
        Self::new(crate::limits::TOOL_EVENTS_MAX)
    }
}

impl EventRing {
    /// Keeps the newest `capacity` events; with 0 it keeps nothing and takes no lock.
    pub(crate) fn new(capacity: usize) -> Self {
        Self { capacity, kept: Mutex::default() }
    }

    /// Whether it keeps nothing.
    #[inline]
    pub(crate) fn is_off(&self) -> bool {
        self.capacity == 0
    }

    #[inline]
    fn kept(&self) -> MutexGuard<'_, Kept> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Keeps one event, and gives its number unless the ring is off. The event is not built when it is off.
    pub(crate) fn push(&self, event: impl FnOnce() -> Happening) -> Option<u64> {
        if self.is_off() {
            return None;
        }
        let mut event = event();
        let mut kept = self.kept();
        if kept.events.len() < self.capacity {
            kept.events.push(event);
            return Some(kept.dropped + kept.events.len() as u64 - 1);
        }
        let oldest = kept.oldest;
        if let Some(place) = kept.events.get_mut(oldest) {
            std::mem::swap(place, &mut event);
        }
        kept.oldest = if oldest + 1 < self.capacity { oldest + 1 } else { 0 };
        kept.dropped += 1;
        let seq = kept.dropped + kept.events.len() as u64 - 1;
        drop(kept);
        // What is now the oldest one, freed when nobody waits for it.
        drop(event);
        Some(seq)
    }

    /// All that are kept, oldest first.
    pub(crate) fn all(&self) -> Vec<ToolEvent> {
        self.since(0)
    }

    /// Those with the number `seq` and later ones, oldest first.
    pub(crate) fn since(&self, seq: u64) -> Vec<ToolEvent> {
        if self.is_off() {
            return Vec::new();
        }
        let kept = self.kept();
        let first = seq.max(kept.dropped);
        let skipped = usize::try_from(first - kept.dropped).unwrap_or(usize::MAX);
        let inwards = kept.events.iter().skip(kept.oldest).chain(kept.events.iter().take(kept.oldest));
        let events: Vec<Happening> = inwards.skip(skipped).cloned().collect();
        drop(kept);
        (first..).zip(events).map(|(seq, event)| event.numbered(seq)).collect()
    }

    /// How many were kept once and are not any more.
    pub(crate) fn dropped(&self) -> u64 {
        if self.is_off() { 0 } else { self.kept().dropped }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn happening(tool: &str, what: EventKind) -> Happening {
        Happening {
            at: None,
            run: RunId::Given("r1".into()),
            place: Place::Named(tool.into()),
            tool: tool.into(),
            kind: "read".into(),
            what,
            code: None,
            duration: None,
            dry: false,
        }
    }

    fn filled(capacity: usize, events: usize) -> EventRing {
        let ring = EventRing::new(capacity);
        for at in 0..events {
            assert_eq!(ring.push(|| happening(&format!("t{at}"), EventKind::Started)), Some(at as u64));
        }
        ring
    }

    fn numbers(events: &[ToolEvent]) -> Vec<(u64, &str)> {
        events.iter().map(|event| (event.seq, event.tool.as_str())).collect()
    }

    #[test]
    fn the_newest_stay_and_the_others_are_counted() {
        let ring = filled(3, 5);
        let mut read = ring.all();
        assert_eq!(numbers(&read), [(2, "t2"), (3, "t3"), (4, "t4")]);
        assert_eq!(ring.dropped(), 2);
        read.clear();
        assert_eq!(ring.all().len(), 3);
        assert_eq!(filled(3, 3).dropped(), 0);
    }

    #[test]
    fn reading_goes_on_from_a_number() {
        let ring = filled(3, 5);
        assert_eq!(numbers(&ring.since(4)), [(4, "t4")]);
        assert_eq!(numbers(&ring.since(0)), numbers(&ring.all()), "what is gone is not there");
        assert_eq!(ring.since(5), []);
        assert_eq!(ring.since(u64::MAX), []);
    }

    #[test]
    fn without_room_nothing_is_built() {
        let ring = EventRing::new(0);
        assert_eq!(ring.push(|| unreachable!("nobody keeps it")), None);
        assert!(ring.is_off() && ring.all().is_empty() && ring.since(0).is_empty() && ring.dropped() == 0);
    }

    #[test]
    fn numbers_have_no_gap_with_many_writers() {
        let ring = EventRing::new(1_000);
        let taken: Vec<_> = {
            use futures_util::FutureExt;
            let write = async |at: usize| ring.push(|| happening(&at.to_string(), EventKind::Succeeded));
            futures_util::future::join_all((0..100).map(write)).now_or_never().unwrap()
        };
        assert_eq!(taken, (0..100).map(Some).collect::<Vec<_>>());
        assert!(ring.all().iter().enumerate().all(|(at, event)| event.seq == at as u64));
    }

    #[test]
    fn a_call_is_shown_with_its_place() {
        let key = ring_key();
        let ring = EventRing::default();
        ring.push(|| Happening { place: Place::Call(key), ..happening("look", EventKind::Replayed) });
        assert_eq!(ring.all()[0].key.to_string(), "r1/look");
        assert_eq!(ring.all()[0].what.event(), EventName::ToolReplayed);
    }

    #[test]
    fn a_fact_tells_what_is_kept_under_the_same_number() {
        struct Log(Mutex<Vec<crate::Fact>>);
        impl crate::Sink for Log {
            fn record(&self, fact: &crate::Fact) {
                self.0.lock().unwrap().push(fact.clone());
            }
        }
        let (ring, log) = (EventRing::new(8), std::sync::Arc::new(Log(Mutex::default())));
        let scope = Diagnostics::new(log.clone());
        happening("a", EventKind::Started).tell(&ring, &Diagnostics::disabled());
        let refused = Happening { code: Some("unavailable".into()), kind: Text::new(), ..happening("b", EventKind::Refused) };
        refused.clone().tell(&ring, &scope);
        refused.tell(&EventRing::new(0), &scope);
        assert_eq!(numbers(&ring.all()), [(0, "a"), (1, "b")]);
        let facts = log.0.lock().unwrap().clone();
        let payload = crate::json!({ "path": "b", "tool": "b", "code": "unavailable", "dry": false });
        assert_eq!(facts[1].payload, payload);
        assert_eq!((facts[0].event, facts[0].payload.get("seq")), (EventName::ToolRefused, Some(&crate::json!(1))));
    }

    fn ring_key() -> StepKey {
        StepKey::written("look", "look")
    }
}

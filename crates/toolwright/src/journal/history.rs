//! Who holds a run, and everything that was recorded of it.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::admission::{Doubt, Entry, Standing};
use super::key::StepKey;
use super::record::{Begin, End, Finish, Resolution, RunRecord};
use super::{JournalError, JournalErrorKind};
use crate::approval::{Answered, Approval, Asked};
use crate::frame::Timestamp;
use crate::value::Text;

/// Who wants to run a run, and for how long nobody else may.
///
/// ```
/// use std::time::Duration;
/// use toolwright::{Timestamp, journal::Claim};
///
/// let first = Claim::new("worker 1").until(Timestamp(0), Duration::from_nanos(10));
/// assert!(!Claim::new("worker 2").at(Timestamp(9)).may_supersede(&first));
/// assert!(Claim::new("worker 2").at(Timestamp(10)).may_supersede(&first));
/// assert!(Claim::new("worker 1").may_supersede(&first));
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Claim {
    /// Whose claim it is.
    pub owner: Text,
    /// When, by a clock that all owners share.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at: Option<Timestamp>,
    /// How long nobody else may take over. Without one, the next claim takes over at once.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lease: Option<Duration>,
}

impl Claim {
    /// A claim that the next one supersedes.
    pub fn new(owner: impl Into<Text>) -> Self {
        Self { owner: owner.into(), at: None, lease: None }
    }

    /// Made at this time.
    #[must_use]
    pub fn at(mut self, at: Timestamp) -> Self {
        self.at = Some(at);
        self
    }

    /// Made at this time, and good for `lease`.
    #[must_use]
    pub fn until(mut self, at: Timestamp, lease: Duration) -> Self {
        self.at = Some(at);
        self.lease = Some(lease);
        self
    }

    /// Whether this claim may take over from `held`: its owner is the same, or its time is over. A lease that no
    /// time can be compared with is not over.
    pub fn may_supersede(&self, held: &Self) -> bool {
        let (Some(since), Some(lease)) = (held.at, held.lease) else { return true };
        let lease = u64::try_from(lease.as_nanos()).unwrap_or(u64::MAX);
        self.owner == held.owner || self.at.is_some_and(|now| now.0 >= since.0.saturating_add(lease))
    }

    /// The error of a claim that may not take over.
    pub fn refused(&self, run: &str) -> JournalError {
        let reason = format!("run `{}` is held by `{}`", crate::cut(run, 80), crate::cut(&self.owner, 80));
        JournalError::new(JournalErrorKind::Claimed, reason)
    }
}

/// A claim that was granted.
///
/// ```
/// use toolwright::journal::{Claim, Claimed};
/// let first = Claimed { epoch: 1, claim: Claim::new("worker 1") };
/// assert_eq!(first.claim.owner, "worker 1");
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Claimed {
    /// Its number: 1 for the first, one more for each that follows. Records after it carry this number.
    pub epoch: u64,
    /// Whose it is.
    pub claim: Claim,
}

/// One record of a run.
///
/// A journal keeps them in the order in which they were written.
///
/// ```
/// use toolwright::journal::{Begin, End, Record, StepKey};
/// use toolwright::json;
/// let record = Record::Begin(Begin::new(StepKey::written("send", "send"), None, json!({})));
/// assert_eq!(record.key().map(|key| key.path()).as_deref(), Some("send"));
/// assert!(Record::End(End::ok()).key().is_none());
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Record {
    /// The run was opened again.
    Claimed(Claimed),
    /// An intent.
    Begin(Begin),
    /// An outcome.
    Finish(Finish),
    /// An answer to a call in doubt.
    Resolved(Resolved),
    /// A dropped call.
    Abandoned(StepKey),
    /// The end of the run.
    End(End),
    /// Somebody was asked whether a call may be made.
    Asked(Box<Asked>),
    /// What came of asking.
    Answered(Answered),
}

/// An answer and the call it is for.
///
/// ```
/// use toolwright::journal::{Resolution, Resolved, StepKey, Verdict};
/// let resolved = Resolved { key: StepKey::written("send", "send"), resolution: Resolution::new("anna", Verdict::NotHappened) };
/// assert_eq!(resolved.resolution.who, "anna");
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Resolved {
    /// The call.
    pub key: StepKey,
    /// The answer.
    pub resolution: Resolution,
}

impl Record {
    /// The call it is about.
    pub fn key(&self) -> Option<&StepKey> {
        match self {
            Self::Begin(Begin { key, .. }) | Self::Finish(Finish { key, .. }) | Self::Abandoned(key) => Some(key),
            Self::Resolved(resolved) => Some(&resolved.key),
            Self::Asked(asked) => Some(&asked.key),
            Self::Claimed(_) | Self::Answered(_) | Self::End(_) => None,
        }
    }

    /// What it says about a call's admission, if anything.
    pub fn entry(&self) -> Option<Entry<'_>> {
        match self {
            Self::Begin(begin) => Some(Entry::Begun(begin)),
            Self::Finish(finish) => Some(Entry::Finished(finish)),
            Self::Resolved(resolved) => Some(Entry::Resolved(&resolved.resolution)),
            Self::Claimed(_) | Self::Abandoned(_) | Self::Asked(_) | Self::Answered(_) | Self::End(_) => None,
        }
    }
}

/// Everything recorded of one run.
///
/// ```
/// use toolwright::journal::{Begin, Claim, RunRecord, StepKey};
/// use toolwright::{Impact, Journal, MemoryJournal, json};
///
/// # tokio::runtime::Builder::new_current_thread().build()?.block_on(async {
/// let journal = MemoryJournal::new();
/// let run = journal.open(RunRecord::new("r1", "send", json!({})), Claim::new("me")).get().await?;
/// run.begin(Begin::new(StepKey::written("send", "send"), Some(Impact::Once), json!({}))).get().await?;
///
/// let history = journal.load("r1").get().await?.unwrap();
/// assert!(history.end().is_none());
/// assert_eq!(history.in_doubt()[0].begin.idempotency_key(&history.run.id), "r1/send");
/// # Ok::<(), toolwright::JournalError>(()) })?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct RunHistory {
    /// What was known when it started.
    pub run: RunRecord,
    /// The newest claim.
    pub claimed: Claimed,
    /// The records, in order. Those before the first [`Record::Claimed`] carry epoch 1.
    pub records: Vec<Record>,
}

impl RunHistory {
    /// A history from its parts, as a journal reads them.
    pub fn new(run: RunRecord, claimed: Claimed, records: Vec<Record>) -> Self {
        Self { run, claimed, records }
    }

    /// Where the call of this path stands.
    pub fn standing(&self, path: &str) -> Standing<'_> {
        let own = self.records.iter().filter(|record| record.key().is_some_and(|key| key.path() == path));
        Standing::of(own.filter_map(Record::entry))
    }

    /// The end of the newest claim; none while it runs, or when it stopped half-way.
    pub fn end(&self) -> Option<&End> {
        let newest = self.records.iter().rev().find(|record| matches!(record, Record::End(_) | Record::Claimed(_)));
        if let Some(Record::End(end)) = newest { Some(end) } else { None }
    }

    /// What was asked in it, in that order, and what became of each.
    pub fn approvals(&self) -> Vec<Approval> {
        Approval::all(&self.records)
    }

    /// The paths of its calls, in the order in which they first began.
    pub fn paths(&self) -> Vec<Text> {
        let mut seen = std::collections::HashSet::new();
        let begun = self.records.iter().filter_map(|record| if let Record::Begin(begin) = record { Some(begin) } else { None });
        begun.map(|begin| Text::from(begin.key.path())).filter(|path| seen.insert(path.clone())).collect()
    }

    /// The calls that may have had an effect and would not be run again, in the order in which they first began. In a
    /// run that is at work now, those that are running are among them.
    pub fn in_doubt(&self) -> Vec<Doubt> {
        let mut calls: Vec<(String, Vec<Entry<'_>>)> = Vec::new();
        let mut places = std::collections::HashMap::new();
        for record in &self.records {
            let (Some(key), Some(entry)) = (record.key(), record.entry()) else { continue };
            let place = *places.entry(key.path()).or_insert_with_key(|path| {
                calls.push((path.clone(), Vec::new()));
                calls.len() - 1
            });
            if let Some((_, entries)) = calls.get_mut(place) {
                entries.push(entry);
            }
        }
        calls.into_iter().filter_map(|(_, entries)| Standing::of(entries).doubt()).collect()
    }
}

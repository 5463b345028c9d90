//! What a journal keeps of approvals: what was asked, what came of it, and whether it was used.

use serde::{Deserialize, Serialize};

use super::{Covered, Request, in_order};
use crate::fingerprint::Fingerprint;
use crate::frame::Timestamp;
use crate::journal::{Begin, JournalError, JournalErrorKind, Record, StepKey};
use crate::value::{Text, Value};

/// A question, as it was put.
///
/// Written before anybody is asked, so that it is still there after a crash, with the same id.
///
/// ```
/// use toolwright::{approval::{Asked, Request}, journal::StepKey, json};
/// let asked = Asked { key: StepKey::written("pay", "pay"), request: Request::new("a1", "r1", "pay", json!({ "amount": 40 })) };
/// let kept = serde_json::to_string(&asked)?;
/// assert_eq!(serde_json::from_str::<Asked>(&kept)?, asked);
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Asked {
    /// The call that waits.
    pub key: StepKey,
    /// What was shown.
    pub request: Request,
}

/// What was decided.
///
/// ```
/// assert_eq!(serde_json::to_string(&toolwright::approval::Outcome::Yes)?, "\"yes\"");
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Outcome {
    /// Yes, to exactly what was shown.
    Yes,
    /// No.
    No,
    /// There was nobody to ask: that is a no.
    Nobody,
    /// Nobody answered in time, or a yes was not used in time: that is a no.
    Expired,
    /// The call is another one by now, or was cancelled: what was said about it counts no more.
    Withdrawn,
}

impl Outcome {
    /// `yes`, `no`, `nobody`, `expired` or `withdrawn`.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Yes => "yes",
            Self::No => "no",
            Self::Nobody => "nobody",
            Self::Expired => "expired",
            Self::Withdrawn => "withdrawn",
        }
    }
}

/// An answer to a question, with who gave it and by which rule.
///
/// ```
/// use toolwright::approval::{Answered, Outcome};
/// let answered = Answered::new("a1", Outcome::No, "ann").reason("too much").rule("asked on the terminal");
/// assert_eq!(serde_json::from_str::<Answered>(&serde_json::to_string(&answered)?)?, answered);
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Answered {
    /// The question's id.
    pub id: Text,
    /// What was decided.
    pub outcome: Outcome,
    /// Who decided.
    pub who: Text,
    /// Why, as they said it.
    #[serde(default, skip_serializing_if = "Text::is_empty")]
    pub reason: Text,
    /// The rule by which it was decided, or the way the answer came.
    #[serde(default, skip_serializing_if = "Text::is_empty")]
    pub rule: Text,
    /// When, if there is a clock.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at: Option<Timestamp>,
}

impl Answered {
    /// An answer to the question of this id.
    pub fn new(id: impl Into<Text>, outcome: Outcome, who: impl Into<Text>) -> Self {
        Self { id: id.into(), outcome, who: who.into(), reason: Text::default(), rule: Text::default(), at: None }
    }

    /// Why, as they said it.
    #[must_use]
    pub fn reason(mut self, reason: impl Into<Text>) -> Self {
        self.reason = reason.into();
        self
    }

    /// The rule by which it was decided, or the way the answer came.
    #[must_use]
    pub fn rule(mut self, rule: impl Into<Text>) -> Self {
        self.rule = rule.into();
        self
    }

    /// When they said it.
    #[must_use]
    pub fn at(mut self, at: Timestamp) -> Self {
        self.at = Some(at);
        self
    }
}

/// A question and what became of it.
///
/// [`RunHistory::approvals`](crate::journal::RunHistory::approvals) has those of a run.
///
/// ```
/// use toolwright::approval::{Answered, Approval, Asked, Outcome, Request};
/// use toolwright::journal::{Record, StepKey};
/// use toolwright::json;
/// let asked = Asked { key: StepKey::written("pay", "pay"), request: Request::new("a1", "r1", "pay", json!({})) };
/// let records = [Record::Asked(Box::new(asked)), Record::Answered(Answered::new("a1", Outcome::Yes, "ann"))];
/// let approvals = Approval::all(&records);
/// assert_eq!(approvals[0].outcome(), Some(Outcome::Yes));
/// assert!(!approvals[0].is_open() && !approvals[0].is_used("pay"));
/// ```
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Approval {
    /// What was asked.
    pub asked: Asked,
    /// What counts of what was answered.
    pub answered: Option<Answered>,
    /// The paths of the calls that were made on it.
    pub used: Vec<Text>,
    /// The run, or this claim of it, ended after the answer.
    pub closed: bool,
}

impl Approval {
    /// The approvals in these records of one run, in the order of asking.
    pub fn all<'r>(records: impl IntoIterator<Item = &'r Record>) -> Vec<Self> {
        let mut found: Vec<Self> = Vec::new();
        for record in records {
            match record {
                Record::Asked(asked) if found.iter().all(|there| there.id() != asked.request.id) => {
                    found.push(Self { asked: Asked::clone(asked), answered: None, used: Vec::new(), closed: false });
                }
                Record::Answered(answered) => {
                    if let Some(approval) = found.iter_mut().find(|approval| approval.id() == answered.id) {
                        approval.answered = Some(answered.clone());
                    }
                }
                Record::Begin(begin) => {
                    if let Some(id) = begin.approval()
                        && let Some(approval) = found.iter_mut().find(|approval| approval.id() == id)
                    {
                        approval.used.push(begin.key.path().into());
                    }
                }
                Record::End(_) => found.iter_mut().filter(|approval| approval.answered.is_some()).for_each(|there| there.closed = true),
                _ => {}
            }
        }
        found
    }

    /// The question's id.
    pub fn id(&self) -> &str {
        &self.asked.request.id
    }

    /// What was decided; none while nobody answered.
    pub fn outcome(&self) -> Option<Outcome> {
        self.answered.as_ref().map(|answered| answered.outcome)
    }

    /// Whether it waits for an answer.
    pub fn is_open(&self) -> bool {
        self.answered.is_none()
    }

    /// Whether its time is over.
    pub fn is_over(&self, now: Timestamp) -> bool {
        self.asked.request.expires.is_some_and(|expires| now >= expires)
    }

    /// Whether the call of this path was made on it: a yes counts once for each call that it covers.
    pub fn is_used(&self, path: &str) -> bool {
        self.used.iter().any(|used| used == path)
    }

    /// Whether its yes is for the call of this path too, with these arguments and this definition.
    pub(crate) fn covers(&self, path: &str, arguments: &Value, definition: Option<&Fingerprint>) -> bool {
        let same = |covered: &Covered| {
            covered.path == path && covered.fingerprint.as_ref() == definition && in_order(&covered.arguments) == in_order(arguments)
        };
        self.outcome() == Some(Outcome::Yes) && !self.is_used(path) && self.asked.request.covers.iter().any(same)
    }
}

/// Whether an answer may be written to these approvals of a run: its question is there, and nobody answered before. That what was
/// said counts no more may be written after a yes that was not used. Every journal asks it.
///
/// # Errors
/// [`JournalErrorKind::Unknown`] when there is no such question, [`JournalErrorKind::NotInDoubt`] when it has an answer or its time
/// is over.
///
/// ```
/// use toolwright::approval::{Answered, Outcome, answer_fits};
/// let error = answer_fits(&[], &Answered::new("a1", Outcome::Yes, "ann")).unwrap_err();
/// assert_eq!(error.kind, toolwright::journal::JournalErrorKind::Unknown);
/// ```
pub fn answer_fits(approvals: &[Approval], answer: &Answered) -> Result<(), JournalError> {
    let id = crate::cut(&answer.id, 80);
    let Some(approval) = approvals.iter().find(|approval| approval.id() == answer.id) else {
        return Err(JournalError::new(JournalErrorKind::Unknown, format!("nothing was asked as `{id}`")));
    };
    let no = |why: String| Err(JournalError::new(JournalErrorKind::NotInDoubt, format!("`{id}`: {why}")));
    let withdraws = matches!(answer.outcome, Outcome::Withdrawn | Outcome::Expired);
    match &approval.answered {
        Some(given) if given.outcome == Outcome::Yes && withdraws && approval.used.is_empty() => Ok(()),
        Some(given) => no(format!("it was answered before: {}, by {}", given.outcome.as_str(), crate::cut(&given.who, 80))),
        None if !withdraws && answer.at.is_some_and(|at| approval.is_over(at)) => no("its time is over".to_owned()),
        None => Ok(()),
    }
}

impl Begin {
    /// The id of the approval on which the call is made. Empty while it needs one and has none: such an intent is never written.
    pub fn approval(&self) -> Option<&str> {
        self.more.as_ref()?.approval.as_deref()
    }
}

//! The admission table: what a call may do, given what is recorded of it. Pure; every journal asks it.
//!
//! The table is on the page of [`admit`].
//!
//! INVARIANT: what counts is the last attempt and what was written after its intent. The impact is the greater one of
//! then and now: a tool that says today that it changes nothing did not say so when it ran.

use super::key::StepKey;
use super::record::{Begin, Failure, Finish, FinishMore, Resolution, Verdict};
use super::{JournalError, JournalErrorKind};
use crate::error::EffectState;
use crate::tool::Impact;

/// A recorded outcome that is given again.
///
/// It is what [`Admission::Replay`] holds.
pub type Recorded = Finish;

/// What a call may do.
///
/// [`admit`] decides it.
///
/// ```
/// use toolwright::journal::{Admission, Begin, StepKey, admit};
/// use toolwright::json;
/// let begin = Begin::new(StepKey::written("send", "send"), None, json!({}));
/// assert_eq!(admit([], &begin), Admission::Proceed { attempt: 1 });
/// ```
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Admission {
    /// Run. The intent is written.
    Proceed {
        /// Which attempt it is, from 1.
        attempt: u32,
    },
    /// It succeeded before: go on with this outcome, and run nothing.
    Replay(Box<Recorded>),
    /// It may have had its effect, and a second one would be another. Nobody knows until somebody answers.
    InDoubt(Box<Doubt>),
    /// It had its effect and failed: the same error again.
    Failed(Box<Failure>),
    /// Another call is recorded under this key. Nothing runs.
    Diverged(Box<Divergence>),
    /// It would run, and needs somebody's yes that it has not, or that an earlier attempt used.
    Unapproved,
}

/// A call of which nobody knows whether its effect happened.
///
/// Shown to the person who must find out.
///
/// ```
/// use toolwright::journal::{Admission, Begin, Entry, StepKey, admit};
/// use toolwright::{Impact, json};
/// let begin = Begin::new(StepKey::written("send", "send"), Some(Impact::Once), json!({ "to": "ann" }));
/// let Admission::InDoubt(doubt) = admit([Entry::Begun(&begin)], &begin) else { return Err("it began and never ended") };
/// assert_eq!((doubt.attempt, doubt.begin.tool()), (1, "send"));
/// # Ok::<(), &str>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Doubt {
    /// The intent of its last attempt, as recorded.
    pub begin: Begin,
    /// Which attempt that was.
    pub attempt: u32,
    /// How it failed; none when it never came to an end.
    pub failure: Option<Box<Failure>>,
    /// Somebody is at work on it at this moment, under an older claim or elsewhere in this one: the journal knows that
    /// whoever began it has not ended. Then its effect may still come: the tool is not asked what became of it, and nobody
    /// may answer that it did not happen. [`admit`] cannot know it and says no.
    pub at_work: bool,
}

/// Another call than the recorded one.
///
/// ```
/// use toolwright::journal::{Admission, Begin, Difference, Entry, StepKey, admit};
/// use toolwright::json;
/// let begin = |to: &str| Begin::new(StepKey::written("send", "send"), None, json!({ "to": to }));
/// let Admission::Diverged(other) = admit([Entry::Begun(&begin("ann"))], &begin("bob")) else { return Err("the input is another") };
/// assert_eq!(other.what, Difference::Input);
/// assert_eq!(other.recorded, begin("ann"));
/// # Ok::<(), &str>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Divergence {
    /// In what they differ.
    pub what: Difference,
    /// The recorded intent.
    pub recorded: Begin,
}

/// In what a call differs from the recorded one.
///
/// See [`Divergence`].
///
/// ```
/// assert_eq!(toolwright::journal::Difference::Input.as_str(), "input");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Difference {
    /// Another tool, or a composite in the place of a plain tool.
    Tool,
    /// The tool of this name was changed.
    Fingerprint,
    /// Other arguments.
    Input,
}

impl Difference {
    /// `tool`, `fingerprint` or `input`.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Tool => "tool",
            Self::Fingerprint => "fingerprint",
            Self::Input => "input",
        }
    }
}

/// One record of a call, as far as it matters here.
///
/// A journal hands [`admit`] the entries of one call, in order.
///
/// ```
/// use toolwright::journal::{Admission, Begin, Entry, Finish, StepKey, admit};
/// use toolwright::{EffectState, json};
/// let key = StepKey::written("send", "send");
/// let begin = Begin::new(key.clone(), None, json!({}));
/// let finish = Finish::ok(key, Some(json!("sent")), EffectState::Happened);
/// let Admission::Replay(recorded) = admit([Entry::Begun(&begin), Entry::Finished(&finish)], &begin) else { return Err("it succeeded") };
/// assert_eq!(*recorded, finish);
/// # Ok::<(), &str>(())
/// ```
#[derive(Clone, Copy, Debug)]
pub enum Entry<'a> {
    /// An intent.
    Begun(&'a Begin),
    /// An outcome.
    Finished(&'a Finish),
    /// An answer.
    Resolved(&'a Resolution),
}

/// Where a call stands after all its records.
///
/// Used by a tool that shows runs, beside [`admit`] itself.
///
/// ```
/// use toolwright::journal::{Begin, Entry, Last, Standing, StepKey};
/// use toolwright::{Impact, json};
/// let begin = Begin::new(StepKey::written("send", "send"), Some(Impact::Once), json!({}));
/// let standing = Standing::of([Entry::Begun(&begin)]);
/// assert_eq!(standing.attempts, 1);
/// assert!(matches!(standing.last, Last::Begun) && standing.doubt().is_some());
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Standing<'a> {
    /// Intents written so far.
    pub attempts: u32,
    /// The last of them.
    pub begin: Option<&'a Begin>,
    /// What came after it.
    pub last: Last<'a>,
}

/// The last thing recorded of a call's last attempt.
///
/// See [`Standing`].
///
/// ```
/// use toolwright::journal::{Last, Standing};
/// assert!(matches!(Standing::of([]).last, Last::Begun));
/// ```
#[derive(Clone, Copy, Debug)]
pub enum Last<'a> {
    /// Its intent.
    Begun,
    /// Its outcome.
    Finished(&'a Finish),
    /// Somebody's answer.
    Resolved(&'a Resolution),
}

impl Last<'_> {
    fn says_happened(&self) -> bool {
        matches!(self, Self::Resolved(Resolution { verdict: Verdict::Happened(_), .. }))
    }
}

impl<'a> Standing<'a> {
    /// Goes through the records of one call, in order.
    pub fn of(entries: impl IntoIterator<Item = Entry<'a>>) -> Self {
        let mut standing = Self { attempts: 0, begin: None, last: Last::Begun };
        for entry in entries {
            match entry {
                Entry::Begun(begin) => {
                    standing = Self { attempts: standing.attempts.saturating_add(1), begin: Some(begin), last: Last::Begun };
                }
                // Somebody saw it happen: a failure that is written later, by a call that went on, does not unsay that.
                Entry::Finished(Finish { outcome: Err(_), .. }) if standing.last.says_happened() => {}
                Entry::Finished(finish) => standing.last = Last::Finished(finish),
                Entry::Resolved(resolution) => standing.last = Last::Resolved(resolution),
            }
        }
        standing
    }

    /// The doubt about this call, if it would be one for the same call today. None about one that a fork has from another
    /// run: there its outcome is known.
    pub fn doubt(&self) -> Option<Doubt> {
        match admit_after(self, self.begin.filter(|begin| begin.forked().is_none())?) {
            Admission::InDoubt(doubt) => Some(*doubt),
            _ => None,
        }
    }
}

/// What the call of `begin` may do, given all records of its key, in order. [`Admission::Proceed`] must be written
/// together with this decision, or two claims may both be let through.
///
/// | recorded of the call | no effect | idempotent | once, or undeclared |
/// | --- | --- | --- | --- |
/// | nothing | run | run | run |
/// | another tool, fingerprint or input | diverged | diverged | diverged |
/// | it succeeded | the recorded outcome | the recorded outcome | the recorded outcome |
/// | it began | run | run | in doubt |
/// | it failed: not started, no effect, or the tool answered with an error | run | run | run |
/// | it failed, and what it did is not known | run | run | in doubt |
/// | it failed after its effect happened | run | run | the same error |
/// | a composite that began or failed | run, its steps decide | run | run |
/// | somebody answered: it happened | that output | that output | that output |
/// | somebody answered: it did not happen | run | run | run |
/// | a fork has it without its outcome | in doubt | in doubt | in doubt |
///
/// A call that would run and [needs a yes](Begin::approval) is unapproved without one, or with one that an earlier attempt at it has.
///
/// A call that a fork has from [another run](super::BeginMore::forked) is the same call whatever its arguments are now.
///
/// ```
/// use toolwright::journal::{Admission, Begin, Entry, StepKey, admit};
/// use toolwright::{Impact, json};
///
/// let begin = Begin::new(StepKey::written("send", "send"), Some(Impact::Once), json!({}));
/// assert_eq!(admit([], &begin), Admission::Proceed { attempt: 1 });
/// assert!(matches!(admit([Entry::Begun(&begin)], &begin), Admission::InDoubt(_)));
/// ```
pub fn admit<'a>(entries: impl IntoIterator<Item = Entry<'a>>, begin: &Begin) -> Admission {
    let mut used = begin.approval() == Some("");
    let entries = entries.into_iter().inspect(|entry| {
        // A composite has no effect of its own: it may begin again on the same yes.
        used |= !begin.composite
            && matches!(entry, Entry::Begun(before) if before.approval().is_some() && before.approval() == begin.approval());
    });
    let standing = Standing::of(entries);
    match admit_after(&standing, begin) {
        Admission::Proceed { .. } if used => Admission::Unapproved,
        admission => admission,
    }
}

fn admit_after(standing: &Standing<'_>, begin: &Begin) -> Admission {
    let again = Admission::Proceed { attempt: standing.attempts.saturating_add(1) };
    let Some(recorded) = standing.begin else { return again };
    if let Some(what) = difference(recorded, begin) {
        return Admission::Diverged(Box::new(Divergence { what, recorded: recorded.clone() }));
    }
    let repeats = begin.composite || worst(recorded.impact).max(worst(begin.impact)) < Impact::Once;
    // Of a call that another run made, only the outcome is wanted.
    let runs_again = repeats && recorded.forked().is_none();
    let doubt = |failure| {
        let doubt = Doubt { begin: recorded.clone(), attempt: standing.attempts, failure, at_work: false };
        Admission::InDoubt(Box::new(doubt))
    };
    match standing.last {
        Last::Begun if runs_again => again,
        Last::Begun => doubt(None),
        Last::Resolved(Resolution { verdict: Verdict::NotHappened, .. }) => again,
        Last::Resolved(Resolution { who, verdict: Verdict::Happened(output), at, .. }) => {
            let more = FinishMore { answered_by: Some(who.clone()), ..FinishMore::default() };
            let finish = Finish::ok(begin.key.clone(), output.clone(), EffectState::Happened);
            let finish = Finish { at: *at, more: Some(Box::new(more)), ..finish };
            Admission::Replay(Box::new(finish))
        }
        Last::Finished(finish) => match &finish.outcome {
            Ok(_) => Admission::Replay(Box::new(finish.clone())),
            Err(_) if runs_again => again,
            Err(failure) => match finish.state {
                EffectState::NotStarted | EffectState::NoEffect => again,
                EffectState::Happened => Admission::Failed(Box::new(Failure { state: EffectState::Happened, ..Failure::clone(failure) })),
                EffectState::Unknown if failure.answered => again,
                EffectState::Unknown => doubt(Some(failure.clone())),
            },
        },
    }
}

/// Whether an answer to the call with these records may be written: its last attempt had no end, or failed without
/// being known to have done nothing, and nobody answered before. `false`: the same answer is there already.
///
/// # Errors
/// [`JournalErrorKind::Unknown`] when the call never began, [`JournalErrorKind::NotInDoubt`] when it needs no answer or
/// has another one.
///
/// ```
/// use toolwright::journal::{Begin, Entry, Resolution, StepKey, Verdict, answerable};
/// use toolwright::{Impact, json};
/// let key = StepKey::written("send", "send");
/// let begin = Begin::new(key.clone(), Some(Impact::Once), json!({}));
/// let answer = Resolution::new("anna", Verdict::NotHappened);
/// assert!(answerable([Entry::Begun(&begin)], &key, &answer)?, "it is in doubt and has no answer yet");
/// # Ok::<(), toolwright::JournalError>(())
/// ```
pub fn answerable<'a>(entries: impl IntoIterator<Item = Entry<'a>>, key: &StepKey, answer: &Resolution) -> Result<bool, JournalError> {
    let standing = Standing::of(entries);
    let no = |kind, why: &str| Err(JournalError::new(kind, format!("`{}`: {why}", crate::cut(&key.path(), 200))));
    let Some(begin) = standing.begin else { return no(JournalErrorKind::Unknown, "the call never began") };
    if begin.composite {
        return no(JournalErrorKind::NotInDoubt, "it is a composite, and its steps are what may be in doubt");
    }
    match standing.last {
        Last::Begun => Ok(true),
        Last::Resolved(given) if given.verdict == answer.verdict => Ok(false),
        Last::Resolved(_) => no(JournalErrorKind::NotInDoubt, "it was answered before, in another way"),
        Last::Finished(finish) => match (&finish.outcome, finish.state) {
            (Ok(_), _) => no(JournalErrorKind::NotInDoubt, "the call succeeded"),
            (Err(_), EffectState::NotStarted | EffectState::NoEffect) => {
                no(JournalErrorKind::NotInDoubt, "the call failed without an effect")
            }
            (Err(_), EffectState::Happened | EffectState::Unknown) => Ok(true),
        },
    }
}

/// Who says nothing about its effect has the worst.
fn worst(impact: Option<Impact>) -> Impact {
    impact.unwrap_or(Impact::Once)
}

fn difference(recorded: &Begin, now: &Begin) -> Option<Difference> {
    if recorded.tool() != now.tool() || recorded.composite != now.composite {
        return Some(Difference::Tool);
    }
    if let (Some(then), Some(now)) = (&recorded.fingerprint, &now.fingerprint)
        && then != now
    {
        return Some(Difference::Fingerprint);
    }
    (recorded.input != now.input && recorded.forked().is_none()).then_some(Difference::Input)
}

#[cfg(test)]
mod tests;

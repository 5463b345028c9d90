//! The journal port: an intent is written before a tool starts and its outcome
//! before anyone sees it. The core writes and asks; where it is kept is the host's choice.
//!
//! A run is claimed before anything of it runs, and the newest claim is the only one that may write. When a call
//! begins, the journal looks at what it has of that call and says what to do: run it, give the recorded outcome
//! again, or stop. That answer is one table, [`admit`], which every journal uses.
//!
//! INVARIANT: a step's key is its path in the run, never a counter, so a second
//! attempt at the same run asks for the same keys.
//!
//! In reading order: [`Journal`] and [`RunJournal`] are the port; their methods give back an [`Eventually`], with a
//! [`JournalError`] in it when the journal says no. What is written: a [`RunRecord`], then for each call a [`Begin`]
//! and a [`Finish`], at its [`StepKey`], and an [`End`]. Who may write: a [`Claim`]. What a call may do: an
//! [`Admission`], with a [`Doubt`] or a [`Divergence`]. What people answer: a [`Resolution`]. What can be read back: a
//! [`RunHistory`]. [`MemoryJournal`] is the one in memory.

use std::sync::Arc;

use crate::approval::{Answered, Approval, Asked};
use crate::tool::BoxFuture;
use crate::value::Text;

mod admission;
mod history;
mod key;
mod memory;
mod record;

pub use admission::{Admission, Difference, Divergence, Doubt, Entry, Last, Recorded, Standing, admit, answerable};
pub use history::{Claim, Claimed, Record, Resolved, RunHistory};
pub use key::StepKey;
pub use memory::{MemoryJournal, MemoryRun};
pub use record::{
    Begin, BeginMore, End, FORMAT, Failure, Finish, FinishMore, ForgedSpec, Forked, Resolution, RunRecord, StepTool, Verdict,
};

/// A result that is there already, or comes later. Spares a boxed future where nothing waits.
///
/// A journal that writes to memory answers now, one that writes to a disk later.
///
/// ```
/// use toolwright::Eventually;
/// # tokio::runtime::Builder::new_current_thread().build()?.block_on(async {
/// assert_eq!(Eventually::Now(1).get().await, 1);
/// assert_eq!(Eventually::Later(Box::pin(async { 2 })).get().await, 2);
/// # });
/// # Ok::<(), std::io::Error>(())
/// ```
pub enum Eventually<'a, T> {
    /// Here it is.
    Now(T),
    /// It comes.
    Later(BoxFuture<'a, T>),
}

impl<T: std::fmt::Debug> std::fmt::Debug for Eventually<'_, T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Now(value) => f.debug_tuple("Now").field(value).finish(),
            Self::Later(_) => f.write_str("Later"),
        }
    }
}

impl<T> Eventually<'_, T> {
    /// Waits if it must.
    pub async fn get(self) -> T {
        match self {
            Self::Now(value) => value,
            Self::Later(future) => future.await,
        }
    }
}

/// What kind of trouble a journal has.
///
/// The kind decides what can be done about it.
///
/// ```
/// use toolwright::{JournalError, journal::JournalErrorKind};
/// assert_eq!(JournalError::fenced("r1", 1, 2).kind, JournalErrorKind::Fenced);
/// assert_eq!(JournalError::unknown_run("r1").kind, JournalErrorKind::Unknown);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum JournalErrorKind {
    /// A record cannot be written.
    Unwritable,
    /// What was written cannot be read now.
    Unreadable,
    /// What was written is damaged, or of a form that this version does not know.
    Corrupt,
    /// The place holds something else than a journal, or one that a newer version wrote.
    Foreign,
    /// A newer claim has taken over the run; nothing more of the old one is written.
    Fenced,
    /// Somebody else holds the run, and the time of that claim is not over.
    Claimed,
    /// A run of this id is there, with another tool or another input.
    Diverged,
    /// There is no run, or no call, of that name.
    Unknown,
    /// The call needs no answer, or has another one already.
    NotInDoubt,
    /// The run ended: a task that a tool of it left behind begins nothing more in it.
    Ended,
}

/// The journal said no.
///
/// ```
/// use toolwright::JournalError;
/// use toolwright::journal::JournalErrorKind;
///
/// let error = JournalError::unwritable("disk full");
/// assert_eq!(error.kind, JournalErrorKind::Unwritable);
/// assert_eq!(error.to_string(), "the journal cannot be written: disk full");
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct JournalError {
    /// What kind of trouble it is.
    pub kind: JournalErrorKind,
    /// Why, in words.
    pub reason: String,
}

impl JournalError {
    /// An error of this kind.
    pub fn new(kind: JournalErrorKind, reason: impl Into<String>) -> Self {
        Self { kind, reason: reason.into() }
    }

    /// A record cannot be written.
    pub fn unwritable(reason: impl Into<String>) -> Self {
        Self::new(JournalErrorKind::Unwritable, reason)
    }

    /// What to do about it.
    pub fn help(&self) -> &'static str {
        match self.kind {
            JournalErrorKind::Unwritable => "make room or writable the place where the journal is kept, then run again",
            JournalErrorKind::Unreadable => "make the place where the journal is kept readable, then run again",
            JournalErrorKind::Corrupt => {
                "nothing of the run is done again by itself; look at what can be read, and put back a copy of the journal"
            }
            JournalErrorKind::Foreign => "name another place for the journal; what is there is left as it is",
            JournalErrorKind::Fenced => "let the other one go on; load the run to see how far it is",
            JournalErrorKind::Claimed => "wait until that claim is over, then try again",
            JournalErrorKind::Diverged => {
                "give this run an id of its own, or run the recorded tool with the recorded input; what is there goes on with `resume_run`"
            }
            JournalErrorKind::Unknown => "load the run to see its calls",
            JournalErrorKind::NotInDoubt => "load the run to see what is recorded of the call",
            JournalErrorKind::Ended => "wait for the task before the tool answers, or give its calls a run id of their own",
        }
    }

    /// The claim with `epoch` was superseded by the one with `newest`.
    pub fn fenced(run: &str, epoch: u64, newest: u64) -> Self {
        let reason = format!("run `{}` was claimed again: this is claim {epoch}, and the newest is {newest}", crate::cut(run, 80));
        Self::new(JournalErrorKind::Fenced, reason)
    }

    /// The run ended, and a call of it would begin now.
    pub fn ended(run: &str) -> Self {
        let reason = format!("run `{}` ended before this call began", crate::cut(run, 80));
        Self::new(JournalErrorKind::Ended, reason)
    }

    /// A journal that does not keep what was asked and answered.
    pub fn no_approvals() -> Self {
        Self::unwritable("it keeps no approvals")
    }

    /// No run has this id.
    pub fn unknown_run(run: &str) -> Self {
        Self::new(JournalErrorKind::Unknown, format!("there is no run `{}`", crate::cut(run, 80)))
    }
}

impl std::fmt::Display for JournalError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let what = match self.kind {
            JournalErrorKind::Unwritable => "the journal cannot be written",
            JournalErrorKind::Unreadable => "the journal cannot be read",
            JournalErrorKind::Corrupt => "the journal is damaged",
            JournalErrorKind::Foreign => "there is no journal that can be used",
            JournalErrorKind::Fenced => "somebody else has taken over this run",
            JournalErrorKind::Claimed => "somebody else is at work on this run",
            JournalErrorKind::Diverged => "a run of this id is there and is another one",
            JournalErrorKind::Unknown => "the journal does not have it",
            JournalErrorKind::NotInDoubt => "there is nothing to answer",
            JournalErrorKind::Ended => "the run is over",
        };
        write!(f, "{what}: {}", self.reason)
    }
}

impl std::error::Error for JournalError {}

/// Where runs are kept.
///
/// [`MemoryJournal`] is one; a host writes its own over any store, with [`admit`], [`answerable`] and
/// [`Claim::may_supersede`] as its rules. `testing::journal_conformance` says whether it keeps them.
///
/// The newest claim wins, also over one whose process is alive. What that one began may then still have its effect, so a
/// journal that can know that the claim under which a call began is alive says so: the call's doubt is
/// [`at_work`](Doubt::at_work), and the answer that it did not happen is refused as [`JournalErrorKind::Claimed`], until
/// the call's outcome comes, refused or not, or it is abandoned, or the claim is let go. [`MemoryJournal`] knows it from
/// what [`Journal::open`] gave being held. A journal that outlives its process can know it from the lease: a claim is alive
/// until its lease is over. Without a lease it knows nothing, and it is for the host not to run one run twice at once.
///
/// ```
/// use toolwright::journal::{Admission, Begin, Claim, Finish, RunRecord, StepKey};
/// use toolwright::{EffectState, Impact, Journal, MemoryJournal, json};
///
/// # tokio::runtime::Builder::new_current_thread().build()?.block_on(async {
/// let journal = MemoryJournal::new();
/// let run = RunRecord::new("r1", "send", json!({"to": "a"}));
/// let begin = || Begin::new(StepKey::written("send", "send"), Some(Impact::Once), json!({"to": "a"}));
///
/// let first = journal.open(run.clone(), Claim::new("one")).get().await?;
/// assert!(matches!(first.begin(begin()).get().await?, Admission::Proceed { attempt: 1 }));
/// // The process ends here. Whoever claims the run next may not send again, since nobody knows whether it was sent.
/// let second = journal.open(run, Claim::new("two")).get().await?;
/// assert!(matches!(second.begin(begin()).get().await?, Admission::InDoubt(_)));
/// // The old claim can no longer write.
/// let late = Finish::ok(StepKey::written("send", "send"), Some(json!("sent")), EffectState::Happened);
/// assert!(first.finish(late).get().await.is_err());
/// # Ok::<(), toolwright::JournalError>(()) })?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub trait Journal: Send + Sync {
    /// Claims a run before anything of it runs: creates it, or opens the one of this id again under a new epoch.
    /// Of a run that is there, the first record stays.
    ///
    /// # Errors
    /// [`JournalErrorKind::Diverged`] when the run of this id is not the [same](RunRecord::same_run),
    /// [`JournalErrorKind::Claimed`] when another owner's time is not over; any error ends the run before it starts.
    fn open(&self, run: RunRecord, claim: Claim) -> Eventually<'_, Result<Arc<dyn RunJournal>, JournalError>>;

    /// As [`open`](Self::open), of a run whose id was drawn for it, so that there is none of it and nobody else claims it. A
    /// journal that writes in order need not have anybody wait: what is waited for first, the intent of an effect or the end,
    /// comes after it. When the run cannot be opened after all, nothing of it is written and every later method says why.
    ///
    /// # Errors
    /// As [`open`](Self::open), now or by whatever the run is asked next.
    fn open_new(&self, run: RunRecord, claim: Claim) -> Eventually<'_, Result<Arc<dyn RunJournal>, JournalError>> {
        self.open(run, claim)
    }

    /// Everything recorded of a run; none when there is no such run. Claims nothing.
    ///
    /// # Errors
    /// [`JournalErrorKind::Unreadable`] or [`JournalErrorKind::Corrupt`]; never a part of what was written.
    fn load(&self, run: &str) -> Eventually<'_, Result<Option<RunHistory>, JournalError>>;

    /// Writes a person's answer to a call in doubt. Needs no claim: it is an answer about the past. An output in it is held
    /// to what the tool promises when the run goes on, and not here.
    ///
    /// # Errors
    /// [`JournalErrorKind::Unknown`] when there is no such run or call, [`JournalErrorKind::NotInDoubt`] when the
    /// call needs no answer or has another one, [`JournalErrorKind::Claimed`] when it is said not to have happened and
    /// somebody is at work on it.
    fn resolve(&self, run: &str, path: &str, resolution: Resolution) -> Eventually<'_, Result<(), JournalError>>;

    /// Whether what is written here is encrypted, so that nobody reads a secret who can read the place where it is kept. When
    /// not, no run is opened whose tool takes or gives a value that its schema marks with `x-sensitive: true`: secrets are never
    /// masked, since what is masked cannot be given again.
    fn keeps_secrets(&self) -> bool {
        false
    }

    /// Writes an answer to a question that a run asked. Needs no claim: whoever waits for it finds it with
    /// [`RunJournal::approvals`], and a run that stopped does when it goes on. [`answer_fits`](crate::approval::answer_fits) says
    /// whether it may be written, in one step with writing it.
    ///
    /// # Errors
    /// [`JournalErrorKind::Unknown`] when there is no such run or question, [`JournalErrorKind::NotInDoubt`] when it was answered
    /// before or its time is over. By default a journal keeps no approvals.
    fn answer(&self, run: &str, answered: Answered) -> Eventually<'_, Result<(), JournalError>> {
        let _ = (run, answered);
        Eventually::Now(Err(JournalError::no_approvals()))
    }

    /// Tells one journal from another in this process, so that a run that is begun again inside itself is refused and does
    /// not take itself over. Handles of one journal say the same; a journal that wraps another says what that one says.
    fn identity(&self) -> usize {
        std::ptr::from_ref(self).cast::<()>().addr()
    }

    /// Ids of the runs whose newest claim has no end, oldest first. Those that are running now are among them.
    ///
    /// # Errors
    /// [`JournalErrorKind::Unreadable`] or [`JournalErrorKind::Corrupt`].
    fn unfinished(&self) -> Eventually<'_, Result<Vec<Text>, JournalError>>;
}

/// One claimed run. Once a newer claim is there, every method says [`JournalErrorKind::Fenced`] and writes nothing.
///
/// [`Journal::open`] gives one. The runtime writes to it; a host only implements it.
///
/// ```
/// use toolwright::journal::{Admission, Begin, Claim, End, Finish, RunJournal, RunRecord, StepKey};
/// use toolwright::{EffectState, Impact, Journal, MemoryJournal, json};
/// # tokio::runtime::Builder::new_current_thread().build()?.block_on(async {
/// let journal = MemoryJournal::new();
/// let run = journal.open(RunRecord::new("r1", "send", json!({})), Claim::new("me")).get().await?;
/// let key = StepKey::written("send", "send");
/// assert!(matches!(run.begin(Begin::new(key.clone(), Some(Impact::Once), json!({}))).get().await?, Admission::Proceed { .. }));
/// run.finish(Finish::ok(key, Some(json!("sent")), EffectState::Happened)).get().await?;
/// run.end(End::ok()).get().await?;
/// assert_eq!(run.epoch(), 1);
/// # Ok::<(), toolwright::JournalError>(()) })?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub trait RunJournal: Send + Sync {
    /// Looks at what is recorded at this call's [place](StepKey::place) and, when it may run, writes its intent, both in
    /// one step. The tool does not start before this is done, and only on [`Admission::Proceed`]; any other answer
    /// writes nothing.
    ///
    /// # Errors
    /// The tool does not start.
    fn begin(&self, record: Begin) -> Eventually<'_, Result<Admission, JournalError>>;

    /// Writes the outcome of the call that was begun last under this key. Nobody sees the outcome before this is done.
    ///
    /// # Errors
    /// The outcome is not written: the next attempt finds a call without one.
    fn finish(&self, record: Finish) -> Eventually<'_, Result<(), JournalError>>;

    /// Writes what the outside world said about a call in doubt. The next [`begin`](Self::begin) goes by it.
    ///
    /// # Errors
    /// As [`Journal::resolve`].
    fn resolve(&self, key: &StepKey, resolution: Resolution) -> Eventually<'_, Result<(), JournalError>>;

    /// Everything that was asked in this run, and what became of it. Asked again and again while a call waits.
    ///
    /// # Errors
    /// Nothing is asked, and the call is not made. By default a journal keeps no approvals.
    fn approvals(&self) -> Eventually<'_, Result<Vec<Approval>, JournalError>> {
        Eventually::Now(Err(JournalError::no_approvals()))
    }

    /// Writes a question. Nobody is asked before it is kept for good.
    ///
    /// # Errors
    /// Nothing is asked, and the call is not made. By default a journal keeps no approvals.
    fn ask(&self, asked: Asked) -> Eventually<'_, Result<(), JournalError>> {
        let _ = asked;
        Eventually::Now(Err(JournalError::no_approvals()))
    }

    /// Writes what came of asking, as [`Journal::answer`] does.
    ///
    /// # Errors
    /// As [`Journal::answer`].
    fn answer(&self, answered: Answered) -> Eventually<'_, Result<(), JournalError>> {
        let _ = answered;
        Eventually::Now(Err(JournalError::no_approvals()))
    }

    /// A call's future was dropped after its intent was written and before its outcome was: what it did is not known.
    /// A call without an outcome is treated the same; it only tells at once that nobody is at work on it any more.
    fn abandoned(&self, key: &StepKey) {
        let _ = key;
    }

    /// The run is over for this claim.
    ///
    /// # Errors
    /// The run stays among the unfinished ones.
    fn end(&self, end: End) -> Eventually<'_, Result<(), JournalError>>;

    /// As [`Journal::keeps_secrets`], asked before a call of a tool that handles secrets is written.
    fn keeps_secrets(&self) -> bool {
        false
    }

    /// The number of this claim: 1 for the first, one more for each that follows.
    fn epoch(&self) -> u64;
}

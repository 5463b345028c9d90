//! What people want to see of a journal: its runs, and whether it is whole.

use toolwright::{Text, Timestamp};

/// How a run stands.
///
/// ```
/// assert_eq!(toolwright_sqlite::RunStatus::InDoubt.as_str(), "in_doubt");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum RunStatus {
    /// Some process is at work on it.
    Running,
    /// It has no end, nobody is at work on it, and it can go on.
    Interrupted,
    /// A call of it may have had its effect, and somebody must say whether it did.
    InDoubt,
    /// It has no end, nobody is at work on it, and it goes on when somebody says yes or no to a call.
    Waiting,
    /// It ended with an error.
    Failed,
    /// It ended well.
    Succeeded,
}

impl RunStatus {
    /// `running`, `interrupted`, `in_doubt`, `waiting`, `failed` or `succeeded`.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Running => "running",
            Self::Interrupted => "interrupted",
            Self::InDoubt => "in_doubt",
            Self::Waiting => "waiting",
            Self::Failed => "failed",
            Self::Succeeded => "succeeded",
        }
    }
}

/// One run, in short.
///
/// ```
/// # let folder = std::env::temp_dir().join(format!("toolwright-doc-{}-summary", std::process::id()));
/// # std::fs::create_dir_all(&folder)?;
/// # let path = folder.join("runs.sqlite");
/// # let runtime = tokio::runtime::Builder::new_current_thread().build()?;
/// use toolwright::{Journal, json, journal::{Claim, RunRecord}};
/// use toolwright_sqlite::{RunFilter, RunStatus, SqliteJournal};
/// let journal = SqliteJournal::open(path)?;
/// let run = runtime.block_on(journal.open(RunRecord::new("r1", "send", json!({})), Claim::new("me")).get())?;
/// let found = journal.runs(&RunFilter::default())?;
/// assert_eq!((found[0].id.as_str(), found[0].status, found[0].epoch), ("r1", RunStatus::Running, 1));
/// # drop((run, journal));
/// # std::fs::remove_dir_all(folder)?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct RunSummary {
    /// Its id.
    pub id: Text,
    /// The root tool.
    pub tool: Text,
    /// How it stands.
    pub status: RunStatus,
    /// The code of what ended it, when it failed.
    pub code: Option<Text>,
    /// When it was made.
    pub created: Option<Timestamp>,
    /// When it ended.
    pub ended: Option<Timestamp>,
    /// How often it was claimed: 1 when it was never taken up again.
    pub epoch: u64,
    /// Whose the newest claim is.
    pub owner: Text,
    /// How many intents were written.
    pub begun: u64,
    /// The calls in doubt, in the order in which they first began.
    pub waits: Vec<Open>,
    /// Questions that nobody answered, of a run that has no end.
    pub asks: Vec<Question>,
    /// On whose behalf it runs.
    pub principal: Option<Text>,
    /// The session it belongs to.
    pub session: Option<Text>,
}

/// A call in doubt.
///
/// ```
/// # let folder = std::env::temp_dir().join(format!("toolwright-doc-{}-open", std::process::id()));
/// # std::fs::create_dir_all(&folder)?;
/// # let path = folder.join("runs.sqlite");
/// # let runtime = tokio::runtime::Builder::new_current_thread().build()?;
/// use toolwright::{Impact, Journal, json, journal::{Begin, Claim, RunRecord, StepKey}};
/// use toolwright_sqlite::{RunFilter, RunStatus, SqliteJournal};
/// let journal = SqliteJournal::open(path)?;
/// let run = runtime.block_on(journal.open(RunRecord::new("r1", "send", json!({})), Claim::new("me")).get())?;
/// runtime.block_on(run.begin(Begin::new(StepKey::written("send", "send"), Some(Impact::Once), json!({}))).get())?;
/// // Whoever ran it is gone, and nobody knows whether it was sent.
/// drop(run);
/// let found = journal.runs(&RunFilter::default())?;
/// assert_eq!((found[0].status, found[0].waits[0].path.as_str()), (RunStatus::InDoubt, "send"));
/// # drop(journal);
/// # std::fs::remove_dir_all(folder)?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Open {
    /// Its path in the run.
    pub path: Text,
    /// Its tool.
    pub tool: Text,
    /// When its last attempt began.
    pub since: Option<Timestamp>,
}

/// A question whether a call may be made.
///
/// [`RunSummary::asks`] has them; [`RunHistory::approvals`](toolwright::journal::RunHistory::approvals) has all that was shown.
///
/// ```
/// fn told(question: &toolwright_sqlite::Question) -> String {
///     format!("{}: may `{}` run at {}?", question.id, question.tool, question.path)
/// }
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Question {
    /// Its id.
    pub id: Text,
    /// The path of the call that waits.
    pub path: Text,
    /// Its tool.
    pub tool: Text,
    /// When it was asked.
    pub since: Option<Timestamp>,
}

/// Which runs.
///
/// ```
/// use toolwright_sqlite::{RunFilter, RunStatus};
/// let mut filter = RunFilter::default();
/// filter.statuses = vec![RunStatus::InDoubt, RunStatus::Interrupted];
/// filter.newest = Some(20);
/// ```
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct RunFilter {
    /// Only the one of this id.
    pub id: Option<Text>,
    /// Only those of this root tool.
    pub tool: Option<Text>,
    /// Only those that stand so; all when empty.
    pub statuses: Vec<RunStatus>,
    /// Only those made at this time or later.
    pub since: Option<Timestamp>,
    /// At most so many, the newest.
    pub newest: Option<usize>,
}

/// Which runs to take out: ended ones only, unless they are named.
///
/// ```
/// use toolwright_sqlite::Prune;
/// let mut prune = Prune::default();
/// prune.keep_newest = Some(1_000);
/// prune.dry_run = true;
/// ```
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct Prune {
    /// Those that ended before this time.
    pub ended_before: Option<Timestamp>,
    /// All ended ones but the newest so many.
    pub keep_newest: Option<usize>,
    /// Until the file is at most so large, in bytes: the oldest first.
    pub bytes_max: Option<u64>,
    /// This run, whether it ended or not.
    pub run: Option<Text>,
    /// Only say what would be taken out.
    pub dry_run: bool,
}

/// What was taken out.
///
/// ```
/// # let folder = std::env::temp_dir().join(format!("toolwright-doc-{}-pruned", std::process::id()));
/// # std::fs::create_dir_all(&folder)?;
/// # let path = folder.join("runs.sqlite");
/// # let runtime = tokio::runtime::Builder::new_current_thread().build()?;
/// use toolwright::{Journal, json, journal::{Claim, End, RunRecord}};
/// use toolwright_sqlite::{Prune, SqliteJournal};
/// let journal = SqliteJournal::open(path)?;
/// let run = runtime.block_on(journal.open(RunRecord::new("r1", "send", json!({})), Claim::new("me")).get())?;
/// runtime.block_on(run.end(End::ok()).get())?;
/// let mut all = Prune::default();
/// all.keep_newest = Some(0);
/// assert_eq!(journal.prune(&all)?.runs, ["r1"]);
/// # drop((run, journal));
/// # std::fs::remove_dir_all(folder)?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Pruned {
    /// The runs, oldest first.
    pub runs: Vec<Text>,
    /// The size of the file before and after, in bytes.
    pub bytes: (u64, u64),
}

/// Whether the journal is whole.
///
/// ```
/// # let folder = std::env::temp_dir().join(format!("toolwright-doc-{}-verification", std::process::id()));
/// # std::fs::create_dir_all(&folder)?;
/// # let path = folder.join("runs.sqlite");
/// # let runtime = tokio::runtime::Builder::new_current_thread().build()?;
/// use toolwright_sqlite::{SqliteJournal, Verification};
/// let journal = SqliteJournal::open(path)?;
/// assert_eq!(journal.verify()?, Verification::default(), "an empty journal is whole");
/// # drop(journal);
/// # std::fs::remove_dir_all(folder)?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Verification {
    /// Runs that were looked at.
    pub runs: u64,
    /// Records that were looked at.
    pub records: u64,
    /// Values kept by content that were looked at.
    pub values: u64,
    /// What is wrong; empty when it is whole.
    pub wrong: Vec<Wrong>,
}

/// Something that is wrong in a journal.
///
/// ```
/// fn told(wrong: &toolwright_sqlite::Wrong) -> String {
///     format!("{} (run {})", wrong.what, wrong.run.as_deref().unwrap_or("unknown"))
/// }
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Wrong {
    /// The run, when it is in one.
    pub run: Option<Text>,
    /// The number of the record, when it is in one.
    pub record: Option<u64>,
    /// What it is, in words.
    pub what: String,
}

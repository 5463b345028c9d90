//! What people want to see of a journal: its runs, and whether it is whole.

use toolwright::{Text, Timestamp};

/// How a run stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum RunStatus {
    /// Some process is at work on it.
    Running,
    /// It has no end, nobody is at work on it, and it can go on.
    Interrupted,
    /// A call of it may have had its effect, and somebody must say whether it did.
    InDoubt,
    /// It ended with an error.
    Failed,
    /// It ended well.
    Succeeded,
}

impl RunStatus {
    /// `running`, `interrupted`, `in_doubt`, `failed` or `succeeded`.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Running => "running",
            Self::Interrupted => "interrupted",
            Self::InDoubt => "in_doubt",
            Self::Failed => "failed",
            Self::Succeeded => "succeeded",
        }
    }
}

/// One run, in short.
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
    /// On whose behalf it runs.
    pub principal: Option<Text>,
    /// The session it belongs to.
    pub session: Option<Text>,
}

/// A call in doubt.
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

/// Which runs.
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
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Pruned {
    /// The runs, oldest first.
    pub runs: Vec<Text>,
    /// The size of the file before and after, in bytes.
    pub bytes: (u64, u64),
}

/// Whether the journal is whole.
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

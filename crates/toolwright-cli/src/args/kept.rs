//! The part of the command line that is about runs that are kept.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum, ValueHint};

use super::RunArgs;

/// Where runs are kept.
#[derive(Clone, Debug, Default, Args)]
pub(crate) struct JournalAt {
    /// The journal; `none` keeps nothing [default: $TOOLWRIGHT_JOURNAL, else runs.sqlite in the user's data folder]
    #[arg(long, global = true, value_name = "PATH", value_hint = ValueHint::FilePath)]
    pub(crate) journal: Option<PathBuf>,
}

/// A tool, its input, and where the run is kept.
#[derive(Clone, Debug, Args)]
pub(crate) struct RunCommand {
    /// The tool and its input.
    #[command(flatten)]
    pub(crate) run: RunArgs,
    /// Where it is kept.
    #[command(flatten)]
    pub(crate) at: JournalAt,
    /// Run once under this key: the same key and input again gives the recorded result
    #[arg(long, value_name = "KEY")]
    pub(crate) key: Option<String>,
}

/// How a run stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Status {
    /// It has not ended: running, interrupted, waiting or in doubt.
    Open,
    /// Some process is at work on it.
    Running,
    /// It stopped, and can go on.
    Interrupted,
    /// Somebody must say whether an effect happened.
    InDoubt,
    /// Somebody must say whether a call may be made.
    Waiting,
    /// It ended with an error.
    Failed,
    /// It ended well.
    Succeeded,
}

/// Which runs.
#[derive(Clone, Debug, Args)]
pub(crate) struct RunsArgs {
    /// Only those that stand so (repeatable)
    #[arg(long, value_enum, value_name = "STATUS")]
    pub(crate) status: Vec<Status>,
    /// Only runs of this tool
    #[arg(long, value_name = "TOOL")]
    pub(crate) tool: Option<String>,
    /// Only those since then: 2h, 3d, 2026-11-30, 2026-11-30T08:15 (UTC)
    #[arg(long, value_name = "WHEN")]
    pub(crate) since: Option<String>,
    /// At most so many, the newest
    #[arg(long, value_name = "N", default_value_t = 50)]
    pub(crate) limit: usize,
    /// Where they are kept.
    #[command(flatten)]
    pub(crate) at: JournalAt,
}

/// Which run, and what of it.
#[derive(Clone, Debug, Args)]
pub(crate) struct ShowArgs {
    /// The run's id, the beginning of one, or `last`
    pub(crate) run: String,
    /// Show arguments and outputs too
    #[arg(long)]
    pub(crate) io: bool,
    /// Only this step, with arguments, output and all attempts
    #[arg(long, value_name = "PATH")]
    pub(crate) step: Option<String>,
    /// Where it is kept.
    #[command(flatten)]
    pub(crate) at: JournalAt,
}

/// A run to take up, and what is said about what is not known.
#[derive(Clone, Debug, Args)]
pub(crate) struct ResumeArgs {
    /// The run's id, the beginning of one, or `last`
    pub(crate) run: String,
    /// What became of the call in doubt: `happened=OUTPUT`, `happened` when the tool gives nothing, or `not-happened`
    #[arg(long = "as", value_name = "ANSWER")]
    pub(crate) answer: Option<String>,
    /// Which call the answer is about, when more than one is in doubt
    #[arg(long, value_name = "PATH", requires = "answer")]
    pub(crate) call: Option<String>,
    /// Go on although this tool has changed since the run began (repeatable)
    #[arg(long, value_name = "TOOL")]
    pub(crate) accept_changed: Vec<String>,
    /// Where it is kept.
    #[command(flatten)]
    pub(crate) at: JournalAt,
}

/// A question, and the answer to it.
#[derive(Clone, Debug, Args)]
pub(crate) struct ApproveArgs {
    /// The question's id, or the beginning of one [default: list what waits]
    pub(crate) id: Option<String>,
    /// Say yes to exactly what was shown
    #[arg(long, conflicts_with = "no")]
    pub(crate) yes: bool,
    /// Say no
    #[arg(long)]
    pub(crate) no: bool,
    /// Why; is kept, and shown to whoever called
    #[arg(long, value_name = "TEXT")]
    pub(crate) reason: Option<String>,
    /// Where it is kept.
    #[command(flatten)]
    pub(crate) at: JournalAt,
}

/// A run, the step from which it goes another way, and another input.
#[derive(Clone, Debug, Args)]
pub(crate) struct ForkArgs {
    /// The run's id, the beginning of one, or `last`
    pub(crate) run: String,
    /// The first step that runs again; what came before it is taken over
    #[arg(long, value_name = "STEP")]
    pub(crate) from: String,
    /// Another input as JSON, from a file with @FILE, from standard input with - [default: that of the run]
    #[arg(long, short, value_name = "JSON")]
    pub(crate) input: Option<String>,
    /// Members of the input that are others: key=value, read as its schema says, or key:=JSON
    #[arg(value_name = "KEY=VALUE")]
    pub(crate) pairs: Vec<String>,
    /// Take over what this tool gave although it has changed since (repeatable)
    #[arg(long, value_name = "TOOL")]
    pub(crate) accept_changed: Vec<String>,
    /// Where it is kept.
    #[command(flatten)]
    pub(crate) at: JournalAt,
}

/// What to do with a journal.
#[derive(Clone, Debug, Subcommand)]
pub(crate) enum JournalCommand {
    /// Look whether every record is there as it was written
    Verify,
    /// Print every record as JSON, one a line, as it was written
    Export {
        /// Only this run: its id, the beginning of one, or `last`
        run: Option<String>,
    },
    /// Take runs out: ended ones by age, number or size, or one by name
    Prune(PruneArgs),
    /// Go on with what is left of a journal that lost records; the damaged file is kept aside
    Recover {
        /// Do it: a call whose record is lost would run again
        #[arg(long)]
        yes: bool,
    },
    /// Print where the journal is
    Path,
}

/// Which runs to take out.
#[derive(Clone, Debug, Args)]
#[group(required = true, multiple = true, args = ["older_than", "keep", "max_size", "run"])]
pub(crate) struct PruneArgs {
    /// This run, whether it ended or not: its id, the beginning of one, or `last`
    #[arg(conflicts_with_all = ["older_than", "keep", "max_size"])]
    pub(crate) run: Option<String>,
    /// Runs that ended longer ago than this: 30d, 12h
    #[arg(long, value_name = "TIME")]
    pub(crate) older_than: Option<String>,
    /// All ended runs but the newest so many
    #[arg(long, value_name = "N")]
    pub(crate) keep: Option<usize>,
    /// The oldest ended runs, until the journal is at most so large: 500MB
    #[arg(long, value_name = "SIZE")]
    pub(crate) max_size: Option<String>,
    /// Only say what would be taken out
    #[arg(long)]
    pub(crate) dry_run: bool,
}

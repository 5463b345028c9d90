//! The command line, as clap reads it.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum, ValueHint};
use clap_complete::Shell;

mod clients;
mod kept;
mod serve;

pub(crate) use clients::{AddArgs, Client, ConnectArgs, TrustWord};
pub(crate) use kept::{ApproveArgs, ForkArgs, JournalAt, JournalCommand, PruneArgs, ResumeArgs, RunCommand, RunsArgs, ShowArgs, Status};
pub(crate) use serve::{SeenArgs, ServeArgs};

/// Composite tools over many sources, one gate, and an answer to what was done.
#[derive(Debug, Parser)]
#[command(
    name = "toolwright",
    version,
    max_term_width = 100,
    disable_help_subcommand = false,
    after_help = "Exit codes: 0 ok, 2 usage, 10 tool failed, 11 refused, 12 needs approval, \
                  13 in doubt, 20 does not check, 21 journal unavailable, 22 output not written; 1 is a bug in toolwright."
)]
pub(crate) struct Cli {
    /// What every command takes.
    #[command(flatten)]
    pub(crate) common: Common,
    /// What to do.
    #[command(subcommand)]
    pub(crate) command: Command,
}

/// What every command takes.
#[derive(Clone, Debug, Args)]
pub(crate) struct Common {
    /// The configuration [default: toolwright.yaml, .yml or .json here or in a folder above]
    #[arg(long, short, global = true, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) file: Option<PathBuf>,
    /// How to print
    #[arg(long, global = true, value_enum, default_value_t = Format::Human, value_name = "FORM")]
    pub(crate) format: Format,
    /// Let composites use this tool with side effects, this time (repeatable)
    #[arg(long, global = true, value_name = "TOOL")]
    pub(crate) allow: Vec<String>,
    /// When to use colour
    #[arg(long, global = true, value_enum, default_value_t = Colour::Auto, value_name = "WHEN")]
    pub(crate) color: Colour,
    /// No progress and no notes
    #[arg(long, short, global = true)]
    pub(crate) quiet: bool,
}

/// How to print.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    /// For people.
    Human,
    /// One line per thing, for scripts.
    Plain,
    /// One JSON document.
    Json,
}

/// When to use colour.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Colour {
    /// On a terminal, unless `NO_COLOR` is set.
    Auto,
    /// Always.
    Always,
    /// Never.
    Never,
}

/// What to do.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Show everything that is wrong with a configuration, at once
    Check {
        /// The file to check
        #[arg(value_hint = ValueHint::FilePath)]
        path: Option<PathBuf>,
        /// What to look at, and what to do about it.
        #[command(flatten)]
        how: CheckArgs,
    },
    /// List the tools there are
    List {
        /// Also the tools that the configuration hides
        #[arg(long)]
        all: bool,
        /// Ask every server, and compare what it says with toolwright.lock
        #[arg(long)]
        ask: bool,
        /// As clients see them: their names there, and about how many tokens they cost
        #[arg(long)]
        as_clients: bool,
        /// Which clients.
        #[command(flatten)]
        seen: SeenArgs,
    },
    /// Serve the tools to MCP clients, over standard input and output or over HTTP
    Serve(ServeArgs),
    /// Show what a tool takes, gives and does
    Describe {
        /// The tool's id
        tool: String,
    },
    /// Run a tool and print its result
    Run(RunCommand),
    /// Run a composite, except its steps with side effects and nested composites
    DryRun(DryArgs),
    /// Like dry-run, but enter nested composites
    Rehearse(DryArgs),
    /// List runs, the newest first: what is open, and what waits for whom
    Runs(RunsArgs),
    /// Show what a run did, step by step
    Show(ShowArgs),
    /// List calls that wait for somebody's yes, or answer one
    Approve(ApproveArgs),
    /// Take up a run that stopped: what is done is not done again
    Resume(ResumeArgs),
    /// Begin a new run with what an earlier one has up to a step
    Fork(ForkArgs),
    /// Check, export or prune the journal that runs are kept in
    Journal {
        /// Which journal.
        #[command(flatten)]
        at: JournalAt,
        /// What to do with it.
        #[command(subcommand)]
        what: JournalCommand,
    },
    /// Learn what a tool gives that does not say it, from its outputs
    Learn(LearnArgs),
    /// Keep what MCP servers say about their tools, for checking and editing without them
    Lock {
        /// Do not ask
        #[arg(long)]
        yes: bool,
    },
    /// Show what servers say about their tools that toolwright.lock does not
    Diff,
    /// Start every source, and say what is wrong with each and how to mend it
    Doctor,
    /// Add an MCP server to the configuration: from npm, PyPI, a URL, a command, or another client's file
    Add(AddArgs),
    /// Tell a client to use `toolwright serve`
    Connect(ConnectArgs),
    /// Draw a composite
    Graph {
        /// The composite's id
        tool: String,
        /// The form of the drawing
        #[arg(long = "as", value_enum, default_value_t = Drawing::Text, value_name = "FORM")]
        drawing: Drawing,
    },
    /// Explain a code that a message showed
    Explain {
        /// The code [default: list them all]
        code: Option<String>,
    },
    /// Print the JSON Schema of toolwright.yaml, or one of a tool
    Schema(SchemaArgs),
    /// Print completions for a shell
    Completions {
        /// The shell
        shell: Shell,
    },
    /// Accept (or revoke) a project's list of side-effecting tools
    Trust {
        /// The project's configuration
        #[arg(value_hint = ValueHint::FilePath)]
        path: PathBuf,
        /// Do not ask
        #[arg(long)]
        yes: bool,
        /// Take it back
        #[arg(long, conflicts_with = "yes")]
        revoke: bool,
    },
}

/// How to check.
#[derive(Clone, Debug, Default, Args)]
pub(crate) struct CheckArgs {
    /// Start no server: tools of servers are taken from toolwright.lock
    #[arg(long)]
    pub(crate) offline: bool,
    /// Ask every server, and compare what it says with toolwright.lock
    #[arg(long, conflicts_with = "offline")]
    pub(crate) ask: bool,
    /// Take warnings for errors: `warnings` for all of them, or a code (repeatable)
    #[arg(long, value_name = "WHAT")]
    pub(crate) deny: Vec<String>,
    /// Make every change that a finding suggests and that leaves no choice, then check again
    #[arg(long)]
    pub(crate) fix: bool,
    /// Only show what --fix would change
    #[arg(long, requires = "fix")]
    pub(crate) dry_run: bool,
}

/// A tool and its input.
#[derive(Clone, Debug, Args)]
pub(crate) struct RunArgs {
    /// The tool's id
    pub(crate) tool: String,
    /// The input as JSON, from a file with @FILE, from standard input with -
    #[arg(long, short, value_name = "JSON")]
    pub(crate) input: Option<String>,
    /// Members of the input: key=value, read as its schema says, or key:=JSON
    #[arg(value_name = "KEY=VALUE")]
    pub(crate) pairs: Vec<String>,
}

/// A composite, its input, and the outputs of what does not run.
#[derive(Debug, Args)]
pub(crate) struct DryArgs {
    /// The composite and its input.
    #[command(flatten)]
    pub(crate) run: RunArgs,
    /// The output of a step that does not run (repeatable); JSON may come from @FILE
    #[arg(long, value_name = "STEP=JSON")]
    pub(crate) output: Vec<String>,
    /// All such outputs as one JSON object, from a file with @FILE
    #[arg(long, value_name = "JSON")]
    pub(crate) outputs: Option<String>,
}

/// Which schema.
#[derive(Clone, Debug, Args)]
pub(crate) struct SchemaArgs {
    /// A tool's id
    pub(crate) tool: Option<String>,
    /// The tool's input schema
    #[arg(long, requires = "tool", conflicts_with = "output")]
    pub(crate) input: bool,
    /// The tool's output schema
    #[arg(long, requires = "tool")]
    pub(crate) output: bool,
    /// Let the schema of the file offer the tools there are, and their arguments
    #[arg(long, conflicts_with = "tool")]
    pub(crate) with_tools: bool,
    /// Ask no server: what toolwright.lock does not know is not offered
    #[arg(long, requires = "with_tools")]
    pub(crate) offline: bool,
}

/// A tool, and outputs to learn from.
#[derive(Clone, Debug, Args)]
pub(crate) struct LearnArgs {
    /// The tool and an input to run it with; without one, the inputs of its examples.
    #[command(flatten)]
    pub(crate) run: RunArgs,
    /// Learn from outputs in files, JSON one after another; - is standard input
    #[arg(long, value_name = "FILE", num_args = 1.., conflicts_with_all = ["input", "pairs", "times"], value_hint = ValueHint::FilePath)]
    pub(crate) from: Vec<PathBuf>,
    /// Run the tool so many times with each input
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub(crate) times: Option<u32>,
    /// Make what was learned the tool's output schema: every output must fit it
    #[arg(long, conflicts_with_all = ["unpin", "forget", "show"])]
    pub(crate) pin: bool,
    /// Let what was learned only warn again
    #[arg(long, conflicts_with_all = ["forget", "show", "from", "input", "pairs", "times"])]
    pub(crate) unpin: bool,
    /// Forget what was learned
    #[arg(long, conflicts_with_all = ["show", "from", "input", "pairs", "times"])]
    pub(crate) forget: bool,
    /// Show what was learned
    #[arg(long, conflicts_with_all = ["from", "input", "pairs", "times"])]
    pub(crate) show: bool,
}

/// The form of a drawing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Drawing {
    /// For a terminal.
    Text,
    /// For Markdown.
    Mermaid,
    /// For Graphviz.
    Dot,
}

/// The form that a command line asks for that is not read otherwise.
pub(crate) fn format_of(words: impl IntoIterator<Item = OsString>) -> Format {
    let words: Vec<String> = words.into_iter().map(|word| word.to_string_lossy().into_owned()).take_while(|word| word != "--").collect();
    let apart = words.windows(2).filter_map(|pair| match pair {
        [name, form] if name == "--format" => Some(form.as_str()),
        _ => None,
    });
    let joined = words.iter().filter_map(|word| word.strip_prefix("--format="));
    let mut forms = apart.chain(joined).filter_map(|form| Format::from_str(form, false).ok());
    forms.next_back().unwrap_or(Format::Human)
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    #[test]
    fn the_command_line_is_consistent() {
        super::Cli::command().debug_assert();
    }
}

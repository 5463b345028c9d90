//! Arguments of `add` and `connect`: servers that come in, and clients that are told.

use std::path::PathBuf;

use clap::{Args, ValueEnum, ValueHint};

/// A server, and what to do with it.
#[derive(Clone, Debug, Args)]
pub(crate) struct AddArgs {
    /// npm:PACKAGE, pypi:PACKAGE, a URL, or a command, with its arguments; put `--` before arguments that begin with `-`
    #[arg(value_name = "WHAT", required_unless_present = "import")]
    pub(crate) what: Vec<String>,
    /// Take servers from another client's file; WHAT are their names then, and without any all of them
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) import: Option<PathBuf>,
    /// The name of the source [default: made of the package, the host or the command]
    #[arg(long, conflicts_with = "import")]
    pub(crate) name: Option<String>,
    /// An environment variable for it: NAME=VALUE, or NAME for the one of your environment (repeatable)
    #[arg(long, value_name = "NAME[=VALUE]", conflicts_with = "import")]
    pub(crate) env: Vec<String>,
    /// A header for a server behind a URL (repeatable); `${NAME}` in it is a variable of your environment
    #[arg(long, value_name = "NAME=VALUE", conflicts_with = "import")]
    pub(crate) header: Vec<String>,
    /// What is put before its tools' names [default: the name and an underscore]
    #[arg(long, conflicts_with = "import")]
    pub(crate) prefix: Option<String>,
    /// Whether its hints count as effects
    #[arg(long, value_enum, default_value_t = TrustWord::Lock, value_name = "WORD")]
    pub(crate) trust: TrustWord,
    /// Do not ask before the file is written
    #[arg(long)]
    pub(crate) yes: bool,
    /// Accept what it says about its tools, as `toolwright lock` does
    #[arg(long)]
    pub(crate) lock: bool,
    /// Do not start it
    #[arg(long, conflicts_with = "lock")]
    pub(crate) no_start: bool,
}

/// Whether hints count.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum TrustWord {
    /// Never.
    None,
    /// As accepted with `toolwright lock`.
    Lock,
    /// Always.
    Hints,
}

/// A client, and how it is told.
#[derive(Clone, Debug, Args)]
pub(crate) struct ConnectArgs {
    /// The client
    #[arg(value_enum)]
    pub(crate) client: Client,
    /// Its file for all your projects, where it has one for this project too
    #[arg(long)]
    pub(crate) user: bool,
    /// What the client calls the server
    #[arg(long, default_value = "toolwright")]
    pub(crate) name: String,
    /// Which audience of the configuration it is
    #[arg(long, value_name = "NAME")]
    pub(crate) audience: Option<String>,
    /// Only print what would stand in its file
    #[arg(long, conflicts_with_all = ["remove", "yes"])]
    pub(crate) print: bool,
    /// Take the entry out again
    #[arg(long)]
    pub(crate) remove: bool,
    /// Do not ask
    #[arg(long)]
    pub(crate) yes: bool,
}

/// Clients whose files are known.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Client {
    /// Claude Desktop.
    ClaudeDesktop,
    /// Claude Code.
    ClaudeCode,
    /// Cursor.
    Cursor,
    /// Visual Studio Code.
    Vscode,
    /// Windsurf.
    Windsurf,
    /// Gemini CLI.
    Gemini,
    /// Codex.
    Codex,
    /// Zed.
    Zed,
    /// LM Studio.
    LmStudio,
}

//! What `serve` takes.

use clap::Args;
use clap::builder::PossibleValuesParser;
use toolwright_mcp::server::Profile;

use super::JournalAt;

/// How to serve.
#[derive(Clone, Debug, Default, Args)]
pub(crate) struct ServeArgs {
    /// Over HTTP, at this address, instead of over standard input and output [default address: 127.0.0.1:8765]
    #[arg(long, value_name = "ADDRESS", num_args = 0..=1, default_missing_value = "")]
    pub(crate) http: Option<String>,
    /// Let in everybody who reaches the address, also when that is not only this machine
    #[arg(long, requires = "http")]
    pub(crate) open: bool,
    /// What is seen, and in which form.
    #[command(flatten)]
    pub(crate) seen: SeenArgs,
    /// Where runs are kept.
    #[command(flatten)]
    pub(crate) at: JournalAt,
}

/// What clients see.
#[derive(Clone, Debug, Default, Args)]
pub(crate) struct SeenArgs {
    /// The audience of clients that have no other
    #[arg(long, value_name = "AUDIENCE")]
    pub(crate) audience: Option<String>,
    /// The form in which tools are published, whatever a client calls itself
    #[arg(long, value_name = "PROFILE", value_parser = PossibleValuesParser::new(Profile::names()))]
    pub(crate) profile: Option<String>,
}

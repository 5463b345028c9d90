//! `completions SHELL`.

use clap::CommandFactory;
use clap_complete::Shell;

use crate::args::Cli;
use crate::exit::Exit;
use crate::output::Output;

/// Prints the completion script of a shell.
pub(crate) fn completions(output: Output, shell: Shell) -> Exit {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut Cli::command(), "toolwright", &mut script);
    output.result(&String::from_utf8_lossy(&script));
    Exit::Ok
}

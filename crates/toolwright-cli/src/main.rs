//! The `toolwright` command: people, terminals, files and exit codes.
//!
//! Reading order: `args` (what can be said), `app` (what every command begins with), `config` (the
//! file), `host` (from configuration to a catalogue), `command` (one file each).

mod amend;
mod app;
mod args;
mod asking;
mod beside;
mod code;
mod command;
mod config;
mod diagnostic;
mod exit;
mod failure;
mod grant;
mod host;
mod input;
mod interrupt;
mod journal;
mod learned;
mod lock;
mod moment;
mod output;
mod ownership;
mod paths;
mod progress;
mod secret;
mod serving;
mod style;
mod trust;
mod view;
mod visible;
mod wire;
mod wiring;

use std::process::ExitCode;
use std::time::Duration;

use clap::Parser;

use crate::args::{Colour, Format};
use crate::diagnostic::Finding;
use crate::exit::Exit;
use crate::output::Output;
use crate::style::one_line;

/// How long a reader of standard input may hold up the end.
const RUNTIME_END_MAX: Duration = Duration::from_millis(100);

fn main() -> ExitCode {
    if let Some(code) = wire::guarding() {
        return code;
    }
    let cli = match args::Cli::try_parse() {
        Ok(cli) => cli,
        Err(error) => return unread(&error).into(),
    };
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build();
    let Ok(runtime) = runtime else {
        return Exit::Bug.into();
    };
    let exit = runtime.block_on(app::run(cli));
    runtime.shutdown_timeout(RUNTIME_END_MAX);
    exit.into()
}

/// What is to be said instead of doing something: help, or what is wrong with the command line.
fn unread(error: &clap::Error) -> Exit {
    let output = Output::new(args::format_of(std::env::args_os()), Colour::Auto, false);
    if !error.use_stderr() {
        output::keep(error.print());
        return output.ended(Exit::Ok);
    }
    if output.format == Format::Human {
        // Nobody is left to tell when this cannot be printed.
        let _ = error.print();
        return Exit::Usage;
    }
    let text = error.render().to_string();
    let mut parts = text.split("\n\n").map(str::trim).filter(|part| !part.is_empty());
    let message = parts.next().unwrap_or_default().trim_start_matches("error: ").to_owned();
    let help: Vec<&str> = parts.filter(|part| !part.starts_with("For more information")).collect();
    let finding = Finding::error(code::USAGE, one_line(&message)).maybe_help((!help.is_empty()).then(|| one_line(&help.join("; "))));
    output.fail(&[finding], Exit::Usage)
}

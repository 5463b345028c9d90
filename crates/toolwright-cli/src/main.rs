//! The `toolwright` command: people, terminals, files and exit codes.
//!
//! Reading order: `args` (what can be said), `app` (what every command begins with), `config` (the
//! file), `host` (from configuration to a catalogue), `command` (one file each).

mod app;
mod args;
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
mod output;
mod ownership;
mod paths;
mod progress;
mod secret;
mod style;
mod trust;
mod view;
mod visible;
mod wire;
mod wiring;

use std::process::ExitCode;
use std::time::Duration;

use clap::Parser;

use crate::exit::Exit;

/// How long a reader of standard input may hold up the end.
const RUNTIME_END_MAX: Duration = Duration::from_millis(100);

fn main() -> ExitCode {
    if let Some(code) = wire::guarding() {
        return code;
    }
    let cli = match args::Cli::try_parse() {
        Ok(cli) => cli,
        Err(error) => {
            // Nobody is left to tell when this cannot be printed.
            let _ = error.print();
            let help = !error.use_stderr();
            return if help { Exit::Ok } else { Exit::Usage }.into();
        }
    };
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build();
    let Ok(runtime) = runtime else {
        return Exit::Bug.into();
    };
    let exit = runtime.block_on(app::run(cli));
    runtime.shutdown_timeout(RUNTIME_END_MAX);
    exit.into()
}

//! Commands as tools, with real programs.

#![expect(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, reason = "a test that cannot go on ends")]

#[path = "it/arguments.rs"]
mod arguments;
#[path = "it/cases.rs"]
mod cases;
#[path = "it/declarations.rs"]
mod declarations;
#[cfg(unix)]
#[path = "it/guarded.rs"]
mod guarded;
#[cfg(unix)]
#[path = "it/keys.rs"]
mod keys;
#[path = "it/outputs.rs"]
mod outputs;
#[cfg(unix)]
#[path = "it/processes.rs"]
mod processes;
#[cfg(unix)]
#[path = "it/secrets.rs"]
mod secrets;
#[path = "it/stage.rs"]
mod stage;
#[path = "it/templates.rs"]
mod templates;

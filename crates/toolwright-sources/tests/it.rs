//! Commands as tools, with real programs.

#[path = "it/arguments.rs"]
mod arguments;
#[path = "it/cases.rs"]
mod cases;
#[path = "it/declarations.rs"]
mod declarations;
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

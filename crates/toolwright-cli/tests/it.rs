//! The real binary over real files: what it prints, how it ends, and what it left alone.
#![expect(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, reason = "a test that cannot go on says so by panicking")]

#[path = "it/world.rs"]
mod world;

#[path = "it/approve.rs"]
mod approve;
#[path = "it/arguments.rs"]
mod arguments;
#[path = "it/disk.rs"]
mod disk;
#[path = "it/doctor.rs"]
mod doctor;
#[path = "it/durable.rs"]
mod durable;
#[path = "it/editor.rs"]
mod editor;
#[path = "it/ends.rs"]
mod ends;
#[path = "it/environment.rs"]
mod environment;
#[path = "it/explaining.rs"]
mod explaining;
#[path = "it/field.rs"]
mod field;
#[path = "it/fixing.rs"]
mod fixing;
#[path = "it/joining.rs"]
mod joining;
#[path = "it/kept.rs"]
mod kept;
#[path = "it/learn.rs"]
mod learn;
#[path = "it/lock.rs"]
mod lock;
#[path = "it/mistakes.rs"]
mod mistakes;
#[path = "it/pictures.rs"]
mod pictures;
#[path = "it/pins.rs"]
mod pins;
#[path = "it/secrets.rs"]
mod secrets;
#[path = "it/serve.rs"]
mod serve;
#[path = "it/servers.rs"]
mod servers;
#[path = "it/strangers.rs"]
mod strangers;
#[path = "it/trust.rs"]
mod trust;
#[path = "it/wrong.rs"]
mod wrong;

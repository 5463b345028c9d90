//! Behaviour through the public API.
#![expect(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::disallowed_methods,
    reason = "what the tests stand on are tests too, and they read their case files"
)]

#[path = "it/approving.rs"]
mod approving;
#[path = "it/arguments.rs"]
mod arguments;
#[path = "it/brute.rs"]
mod brute;
#[path = "it/calling.rs"]
mod calling;
#[path = "it/cancelling.rs"]
mod cancelling;
#[path = "it/case_files.rs"]
mod case_files;
#[path = "it/codes.rs"]
mod codes;
#[path = "it/declaring.rs"]
mod declaring;
#[path = "it/diagnostics.rs"]
mod diagnostics;
#[path = "it/dry_running.rs"]
mod dry_running;
#[path = "it/field_cases.rs"]
mod field_cases;
#[path = "it/field_journals.rs"]
mod field_journals;
#[path = "it/gate.rs"]
mod gate;
#[path = "it/gates_meet.rs"]
mod gates_meet;
#[path = "it/hooks.rs"]
mod hooks;
#[path = "it/journal_claims.rs"]
mod journal_claims;
#[path = "it/journal_forking.rs"]
mod journal_forking;
#[path = "it/journal_inside.rs"]
mod journal_inside;
#[path = "it/journal_resuming.rs"]
mod journal_resuming;
#[path = "it/journal_rules.rs"]
mod journal_rules;
#[path = "it/journal_stored.rs"]
mod journal_stored;
#[path = "it/journals.rs"]
mod journals;
#[path = "it/learning.rs"]
mod learning;
#[path = "it/lifecycle_fixture.rs"]
mod lifecycle_fixture;
#[path = "it/limits.rs"]
mod limits;
#[path = "it/mapping.rs"]
mod mapping;
#[path = "it/numbered.rs"]
mod numbered;
#[path = "it/properties.rs"]
mod properties;
#[path = "it/proved_wires.rs"]
mod proved_wires;
#[path = "it/reading.rs"]
mod reading;
#[path = "it/references.rs"]
mod references;
#[path = "it/registering.rs"]
mod registering;
#[path = "it/registering_bounds.rs"]
mod registering_bounds;
#[path = "it/running.rs"]
mod running;
#[path = "it/seam.rs"]
mod seam;
#[path = "it/secrets.rs"]
mod secrets;
#[path = "it/session.rs"]
mod session;
#[path = "it/wiring.rs"]
mod wiring;
#[path = "it/wiring_pairs.rs"]
mod wiring_pairs;
#[path = "it/wiring_servers.rs"]
mod wiring_servers;
#[path = "it/world.rs"]
mod world;

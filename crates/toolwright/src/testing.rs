//! For tests of this crate and of hosts: the runner of the executable case files, what every journal must do, and how
//! often values were validated.

pub mod cases;
mod checks;
mod fixture;
mod journal;

pub use checks::SchemaChecks;
pub(crate) use checks::Tally;
pub use journal::{ConformanceResult, journal_conformance, journal_conformance_with};

//! For tests of this crate and of hosts: the runner of the executable case files, and what every journal must do.

pub mod cases;
mod fixture;
mod journal;

pub use journal::{ConformanceResult, journal_conformance, journal_conformance_with};

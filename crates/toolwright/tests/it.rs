//! Behaviour through the public API.
#![expect(clippy::disallowed_methods, reason = "tests read their case files")]

#[path = "it/case_files.rs"]
mod case_files;

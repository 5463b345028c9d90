//! Behaviour through the public API.

#[path = "it/case_files.rs"]
mod case_files;

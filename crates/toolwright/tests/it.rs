//! Behaviour through the public API.

#[path = "it/case_files.rs"]
mod case_files;
#[path = "it/mapping.rs"]
mod mapping;
#[path = "it/references.rs"]
mod references;
#[path = "it/world.rs"]
mod world;

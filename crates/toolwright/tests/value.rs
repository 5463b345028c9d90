//! Everything the value module promises, as one binary.

#![expect(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, reason = "a test that cannot go on ends")]

#[path = "value/against_serde_json.rs"]
mod against_serde_json;
#[path = "value/numbers.rs"]
mod numbers;
#[path = "value/parsing.rs"]
mod parsing;
#[path = "value/rust_data.rs"]
mod rust_data;
#[path = "value/schemas.rs"]
mod schemas;
#[path = "value/sharing.rs"]
mod sharing;

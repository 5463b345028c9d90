//! Everything the value module promises, as one binary.

#[path = "value/parsing.rs"]
mod parsing;
#[path = "value/numbers.rs"]
mod numbers;

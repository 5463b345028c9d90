//! Everything the value module promises, as one binary.

#[path = "value/numbers.rs"]
mod numbers;
#[path = "value/parsing.rs"]
mod parsing;

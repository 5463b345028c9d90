//! Tools from other places. Today: command lines ([`command`]).
//!
//! This crate is the only one that starts programs for tools. It knows the core's tools and values, and nothing of MCP, of
//! configuration files or of terminals.

pub mod command;

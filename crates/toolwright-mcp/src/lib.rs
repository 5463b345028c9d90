//! MCP for Toolwright: the tools of other people's servers, as tools of ours.
//!
//! This crate is the only one that knows MCP's wire types, and [`wire`](self) keeps them in one file.
//! It must not know about configuration files, composites, gates or terminals.
//!
//! Reading order: [`upstream`] (what a host uses), `upstream/spec.rs` (what can be configured),
//! `upstream/supervise.rs` (the life of a server), `upstream/call.rs` (the life of a call).

mod descendants;
pub mod guard;
pub mod upstream;
mod wire;

//! MCP for Toolwright: the tools of other people's servers as tools of ours, and our catalogue as a server for other people's clients.
//!
//! This crate is the only one that knows MCP's wire types, and [`wire`](self) keeps them in one file.
//! It must not know about configuration files, composites, gates or terminals.
//!
//! Reading order, towards servers: [`upstream`] (what a host uses), `upstream/spec.rs` (what can be configured),
//! `upstream/supervise.rs` (the life of a server), `upstream/call.rs` (the life of a call).
//! Towards clients: [`server`] (what a host uses), `server/engine.rs` (what becomes of a message), `server/calls.rs` (the life of a call),
//! `server/stdio.rs` and `server/http.rs` (where messages come from).

mod descendants;
pub mod guard;
pub mod server;
pub mod upstream;
mod wire;

//! Upstream servers as a host meets them: a scripted server over stdio, a scripted endpoint over HTTP.
#![expect(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, reason = "a test that cannot go on says so by panicking")]

#[path = "it/asked.rs"]
mod asked;
#[path = "it/behind.rs"]
mod behind;
#[path = "it/calls.rs"]
mod calls;
#[path = "it/cases.rs"]
mod cases;
#[path = "it/server.rs"]
mod server;

#[path = "it/control.rs"]
mod control;
#[path = "it/dispatch.rs"]
mod dispatch;
#[path = "it/fixture.rs"]
mod fixture;
#[path = "it/http.rs"]
mod http;
#[path = "it/keys.rs"]
mod keys;
#[path = "it/listing.rs"]
mod listing;
#[path = "it/pins.rs"]
mod pins;
#[path = "it/piped.rs"]
mod piped;
#[path = "it/process.rs"]
mod process;
#[path = "it/results.rs"]
mod results;
#[path = "it/serving.rs"]
mod serving;
#[path = "it/stdio.rs"]
mod stdio;
#[path = "it/web.rs"]
mod web;

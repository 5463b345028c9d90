//! `toolwright serve` as clients meet it: the real binary over its standard streams and over HTTP.

#[path = "serve/approvals.rs"]
mod approvals;
#[path = "serve/client.rs"]
pub(crate) mod client;
#[path = "serve/doors.rs"]
mod doors;
#[path = "serve/elsewhere.rs"]
mod elsewhere;
#[path = "serve/fences.rs"]
mod fences;
#[path = "serve/names.rs"]
mod names;
#[path = "serve/reload.rs"]
mod reload;
#[path = "serve/stale.rs"]
mod stale;

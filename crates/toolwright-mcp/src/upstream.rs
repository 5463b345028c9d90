//! Upstream MCP servers: start them when needed, list their tools, call them, end them.
//!
//! One [`Upstream`] is one server. It keeps the connection, the process and the failures to itself; a host sees
//! [`ToolDef`](toolwright::ToolDef)s, a [`Status`], and errors with codes.
//!
//! ```no_run
//! # async fn example() -> Result<(), toolwright_mcp::upstream::UpstreamError> {
//! use toolwright_mcp::upstream::{ServerSpec, Upstream};
//!
//! let files = Upstream::new(ServerSpec::stdio("files", "node", ["server.js", "."]));
//! for tool in files.tools().await?.tools {
//!     println!("{}: {}", tool.id(), tool.description());
//! }
//! files.shutdown().await;
//! # Ok(())
//! # }
//! ```

use std::sync::Arc;

use tokio::time::Instant;
use toolwright::Value;

mod call;
mod connect;
mod effects;
mod error;
mod exchange;
pub(crate) mod frame;
mod headers;
mod http;
mod inbox;
mod inflight;
mod line;
mod listen;
mod listing;
mod lookup;
mod needs;
mod pass;
mod pins;
mod process;
mod questions;
mod secrets;
mod spec;
mod status;
mod stdio;
mod supervise;
mod talk;
mod task;
mod terms;
mod web;

pub use effects::Hints;
pub use error::{
    CANCELLED, CATALOG_CHANGED, DISCONNECTED, EXITED, INPUT_REQUIRED, PROTOCOL, SESSION_LOST, START_FAILED, TIMEOUT, TOOL_GONE,
    UNAUTHORIZED, UNAVAILABLE, UpstreamError,
};
pub use listing::{Listing, Skipped};
pub use lookup::Lookup;
pub use needs::{Hindrance, Needs};
pub use pass::{Passed, PassedReply, UpstreamEvent};
pub use pins::{Changed, Pins};
pub use questions::{Answered, Asked, Question, Questions};
pub use spec::{Era, Limits, ServerSpec, Transport};
pub use status::{State, Status};

use supervise::Shared;

/// The member of `_meta` that a call's idempotency key is in ([`Call::idempotency_key`](toolwright::Call::idempotency_key)):
/// the same on every attempt at the same call of the same run, so that a server that keeps what it did can answer the second
/// attempt without doing it again. Over HTTP the header `Idempotency-Key` has it too, with `%` and two hexadecimal digits for
/// each byte that is no visible ASCII, unless the host has set a header of that name.
pub const IDEMPOTENCY_KEY_META: &str = "dev.toolwright/idempotency-key";

/// A handle on one server; clones share it. It starts with its first use and ends with the last handle or tool.
#[derive(Clone)]
pub struct Upstream {
    shared: Arc<Shared>,
}

impl Upstream {
    /// A server that has not been started yet.
    pub fn new(spec: ServerSpec) -> Self {
        Upstream { shared: Arc::new(Shared::new(spec, None)) }
    }

    /// The same, with somebody who is asked what the server asks while it works.
    pub fn asking(spec: ServerSpec, questions: Arc<dyn Questions>) -> Self {
        Upstream { shared: Arc::new(Shared::new(spec, Some(questions))) }
    }

    /// The server's name in the host's configuration.
    pub fn name(&self) -> &str {
        &self.shared.spec.name
    }

    /// Whether this is a handle on the very same server.
    pub fn is_same(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.shared, &other.shared)
    }

    /// What the server offers now. Starts it if need be; several servers can be asked at once.
    ///
    /// # Errors
    ///
    /// When the server cannot be started or does not answer. A tool that cannot be used is no error.
    pub async fn tools(&self) -> Result<Listing, UpstreamError> {
        listing::list(&self.shared).await
    }

    /// What it would offer if `listed` were what it lists: for a host that has kept [`Listing::raw`]. Nothing is
    /// started; a tool starts the server when it is called.
    pub fn tools_as_listed(&self, listed: &[Value]) -> Listing {
        listing::as_listed(&self.shared, listed)
    }

    /// The same for a list that was looked at when it was kept, and cannot have been changed since: its schemas are not looked
    /// at again, which takes most of the time. One that is none accepts nothing.
    pub fn tools_as_accepted(&self, listed: &[Value]) -> Listing {
        listing::as_accepted(&self.shared, listed)
    }

    /// Starts the server, if it is not running, and waits until it answers.
    ///
    /// # Errors
    ///
    /// When it cannot be started.
    pub async fn start(&self) -> Result<(), UpstreamError> {
        self.shared.connection().await.map(drop)
    }

    /// How the server is now. Never starts it, never waits for it.
    pub fn status(&self) -> Status {
        let live = self.shared.live();
        let board = &self.shared.board;
        let stderr_tail = board.stderr_tail();
        let facts = board.facts();
        let state = match facts.state.unwrap_or(State::Idle) {
            State::Ready if live.is_none() => State::Exited,
            state => state,
        };
        Status {
            name: self.shared.spec.name.clone(),
            state,
            pid: live.and_then(|connection| connection.process.as_ref().map(|process| process.pid)),
            noise_lines: facts.noise_lines,
            first_noise: facts.first_noise.clone(),
            stderr_tail,
            restarts: facts.starts.saturating_sub(1),
            protocol_version: facts.protocol_version.clone(),
            server_version: facts.server_version.clone(),
            last_error: facts.last_error.clone(),
            list_changes: facts.list_changes,
            failures: facts.failures,
            retry_in: facts.retry_at.map(|at| at.saturating_duration_since(Instant::now())).filter(|left| !left.is_zero()),
            era: facts.era,
        }
    }

    /// Ends the server in order and for good: its stdin closes, it may leave by itself; then its whole process group
    /// is terminated, then killed. Returns when nothing of it is left. Calls that still run end as lost.
    pub async fn shutdown(&self) {
        self.shared.shutdown().await;
    }
}

impl std::fmt::Debug for Upstream {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Upstream").field("name", &self.shared.spec.name).finish_non_exhaustive()
    }
}

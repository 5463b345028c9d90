//! The server: a sealed catalogue in front of MCP clients of both protocol generations, over stdio and streamable HTTP.
//!
//! A host makes [`Askers`] (who can be asked while a call runs), builds its catalogue with them, and gives both to a [`Server`]. What
//! clients see is an [`Offer`]; a new one replaces it while clients are connected.

use std::sync::Arc;
use std::time::Duration;

use toolwright::{Journal, Text};

mod askers;
mod auth;
mod caller;
mod calls;
mod client;
mod engine;
mod hints;
mod http;
mod message;
mod names;
mod offer;
mod outlet;
mod profile;
mod publish;
mod request;
mod serve;
mod stdio;
mod surface;
mod version;

pub use askers::{ApprovalAsking, Askers};
pub use auth::{Access, Algorithm, KeySource, OAuth, Token, WeakToken};
pub use caller::Caller;
pub use http::{HttpError, HttpLimits, HttpListener, HttpOptions};
pub use offer::{Audience, Offer, denied_steps};
pub use profile::{NAME_CHARS_MAX, NAME_CHARS_MIN, Profile};
pub use serve::Server;
pub use surface::{Budget, Generation, LeftOut, Mirrored, Renamed, Surface};

/// What a host decides once for a server.
///
/// ```
/// use toolwright_mcp::server::ServerOptions;
/// let mut options = ServerOptions::new("desk", "1.0.0");
/// options.instructions = Some("Ask before you send anything.".into());
/// assert!(options.journal.is_none(), "runs are kept nowhere unless the host says where");
/// ```
#[derive(Clone)]
#[non_exhaustive]
pub struct ServerOptions {
    /// The name that clients are told.
    pub name: Text,
    /// The version that clients are told.
    pub version: Text,
    /// What clients may tell their model about the whole.
    pub instructions: Option<Text>,
    /// Where runs are kept; absent = nowhere.
    pub journal: Option<Arc<dyn Journal>>,
    /// Who claims runs in it.
    pub owner: Text,
    /// What the host makes its catalogue from again, for runs that another process takes up.
    pub context_key: Option<Text>,
    /// Bounds, each with its unit in its name.
    pub limits: ServerLimits,
}

/// Bounds of a server.
///
/// Part of [`ServerOptions`].
///
/// ```
/// use toolwright_mcp::server::ServerOptions;
/// let mut options = ServerOptions::new("desk", "1.0.0");
/// options.limits.message_bytes_max = 1024 * 1024;
/// assert!(options.limits.calls_per_client_max > 1);
/// ```
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct ServerLimits {
    /// Bytes of one message.
    pub message_bytes_max: usize,
    /// Tools (resources, prompts) on one page of a list.
    pub page_items: usize,
    /// Sessions at once.
    pub sessions_max: usize,
    /// Calls in flight of one client.
    pub calls_per_client_max: usize,
    /// How long a session lives that nobody uses.
    pub session_idle: Duration,
    /// How long a finished or waiting call is kept for a client that comes back.
    pub call_kept: Duration,
    /// Bytes of events that are kept for a stream that may be taken up again.
    pub replay_bytes_max: usize,
    /// How long calls may go on when the server stops.
    pub stop_grace: Duration,
    /// Calls that are not over, of all clients: running, waiting for an answer, or as a task.
    pub calls_open_max: usize,
    /// Calls that stand still until a client without a session answers; of more, the oldest is cancelled.
    pub calls_parked_max: usize,
    /// Calls that are over and kept for a client that comes back: tasks, and calls with an idempotency key.
    pub calls_kept_max: usize,
    /// Bytes of their results.
    pub calls_kept_bytes_max: u64,
    /// How long a call may last before it becomes a task, for a client that takes tasks.
    pub task_after: Duration,
    /// How often clients are told to look after a task.
    pub task_poll: Duration,
    /// How long a question waits for its answer.
    pub answer_wait: Duration,
}

impl std::fmt::Debug for ServerOptions {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ServerOptions").field("name", &self.name).field("version", &self.version).finish_non_exhaustive()
    }
}

impl ServerOptions {
    /// A server of that name and version, without a journal and with the usual limits.
    pub fn new(name: impl Into<Text>, version: impl Into<Text>) -> Self {
        Self {
            name: name.into(),
            version: version.into(),
            instructions: None,
            journal: None,
            owner: Text::default(),
            context_key: None,
            limits: ServerLimits::default(),
        }
    }
}

impl Default for ServerLimits {
    fn default() -> Self {
        Self {
            message_bytes_max: 16 * 1024 * 1024,
            page_items: 1_000,
            sessions_max: 10_000,
            calls_per_client_max: 256,
            session_idle: Duration::from_secs(30 * 60),
            call_kept: Duration::from_secs(60 * 60),
            replay_bytes_max: 1024 * 1024,
            stop_grace: Duration::from_secs(10),
            calls_open_max: 10_000,
            calls_parked_max: 1_000,
            calls_kept_max: 1_000,
            calls_kept_bytes_max: 64 * 1024 * 1024,
            task_after: Duration::from_secs(5),
            task_poll: Duration::from_secs(1),
            answer_wait: Duration::from_secs(10 * 60),
        }
    }
}

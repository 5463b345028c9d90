//! Streamable HTTP: sessions of older generations, single requests of the newest, and who may come in.
//!
//! What becomes of a message is the engine's; here is only how it arrives and how its answer goes back.

use std::fmt;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use thiserror::Error;
use toolwright::CancelToken;

use super::auth::Access;
use super::engine::Engine;

mod answer;
mod cors;
mod endpoint;
mod exchange;
mod get;
mod headers;
mod listener;
mod mailbox;
mod patience;
mod places;
mod post;
mod reader;
mod sessions;

/// How clients reach the server over HTTP.
///
/// ```
/// use toolwright_mcp::server::HttpOptions;
/// let mut http = HttpOptions::new("127.0.0.1:8050".parse()?);
/// assert_eq!(http.path, "/mcp");
/// assert!(http.problems().is_empty());
/// http.address = "0.0.0.0:8050".parse()?;
/// assert_eq!(http.problems().len(), 1, "everybody on the network, and nobody is asked who they are");
/// # Ok::<(), std::net::AddrParseError>(())
/// ```
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct HttpOptions {
    /// Where to listen; loopback unless the host says otherwise. Port 0: any that is free.
    pub address: SocketAddr,
    /// The path of the endpoint.
    pub path: String,
    /// Names under which clients reach the server, beside its addresses: what may stand in `Host`, with or without a port.
    pub hosts: Vec<String>,
    /// Web pages that may call, beside those of the server itself: what may stand in `Origin`, such as `https://app.example.com`.
    pub origins: Vec<String>,
    /// Whether everybody who reaches the address may come in although it is not loopback.
    pub open: bool,
    /// How clients show who they are.
    pub access: Access,
    /// Bounds.
    pub limits: HttpLimits,
}

/// Bounds of HTTP, each with its unit in its name or its type.
///
/// ```
/// use toolwright_mcp::server::HttpLimits;
/// assert!(HttpLimits::default().connections_max > 2_000);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct HttpLimits {
    /// Connections at once; further ones wait to be accepted.
    pub connections_max: usize,
    /// How long a new connection may take until the head of its first request is there. Shorter than the wait for the next one: who
    /// has sent nothing whole yet takes the place of others.
    pub first_head_wait: Duration,
    /// How long a connection may wait for the head of its next request.
    pub head_wait: Duration,
    /// How long a request's body may take.
    pub body_wait: Duration,
    /// How long a client may not read what is sent to it, before its connection is cut.
    pub write_stall: Duration,
    /// How long the answer to a request of a session is waited for before a stream is opened for it, with an id to come back to.
    pub reply_wait: Duration,
    /// The same without a session. Longer, because nobody can come back to such a stream, and because an error that comes while it is
    /// waited for has a status of its own.
    pub single_reply_wait: Duration,
    /// How often a silent stream shows that it is alive.
    pub stream_pulse: Duration,
    /// After how long a client should come back to a stream that was cut.
    pub retry: Duration,
    /// Bytes of events that are kept for all streams together; see also `ServerLimits::replay_bytes_max`.
    pub replay_bytes_total: usize,
}

impl Default for HttpLimits {
    fn default() -> Self {
        Self {
            connections_max: 4_096,
            first_head_wait: Duration::from_secs(10),
            head_wait: Duration::from_secs(120),
            body_wait: Duration::from_secs(30),
            write_stall: Duration::from_secs(30),
            reply_wait: Duration::from_millis(25),
            single_reply_wait: Duration::from_secs(2),
            stream_pulse: Duration::from_secs(15),
            retry: Duration::from_secs(1),
            replay_bytes_total: 32 * 1024 * 1024,
        }
    }
}

impl HttpOptions {
    /// An endpoint `/mcp` at that address.
    pub fn new(address: SocketAddr) -> Self {
        Self {
            address,
            path: "/mcp".to_owned(),
            hosts: Vec::new(),
            origins: Vec::new(),
            open: false,
            access: Access::default(),
            limits: HttpLimits::default(),
        }
    }

    /// Everything that is wrong with them, each with what to do.
    pub fn problems(&self) -> Vec<String> {
        let mut problems = self.access.problems();
        if !self.address.ip().is_loopback() && !self.access.asks() && !self.open {
            problems.push(format!(
                "whoever reaches {} could call every tool, because clients need not show who they are; \
                 set tokens or an authorization server, listen on 127.0.0.1, or say that it is meant to be open",
                self.address
            ));
        }
        let path = &self.path;
        if !path.starts_with('/') || path.contains(['?', '#', '%']) || path.bytes().any(|byte| !byte.is_ascii_graphic()) {
            problems.push(format!("the path `{path}` must begin with `/` and have only letters, digits and `-._~/`"));
        }
        if path.starts_with("/.well-known") {
            problems.push(format!("the path `{path}` belongs to metadata; choose another one, such as `/mcp`"));
        }
        problems.extend(
            self.hosts
                .iter()
                .filter(|host| !places::is_host(host))
                .map(|host| format!("`{host}` cannot stand in a `Host` header; give a name such as `tools.example.com`, or with a port")),
        );
        problems.extend(self.origins.iter().filter(|origin| !places::is_origin(origin)).map(|origin| {
            format!("`{origin}` is not the origin of a web page; give scheme and name, such as `https://app.example.com`, and no path")
        }));
        problems
    }
}

/// Clients cannot be served over HTTP.
///
/// ```
/// use toolwright_mcp::server::HttpError;
/// let error = HttpError::Options { problems: vec!["the path is wrong".to_owned(), "so is the host".to_owned()] };
/// assert_eq!(error.to_string(), "the endpoint is not opened: the path is wrong; so is the host");
/// ```
#[derive(Debug, Error)]
pub enum HttpError {
    /// The options let in whom they should not, or make no sense.
    #[error("the endpoint is not opened: {}", problems.join("; "))]
    Options {
        /// Each with what to do.
        problems: Vec<String>,
    },
    /// The address cannot be listened on.
    #[error("cannot listen on {address}: {error}; is another program using it?")]
    Listen {
        /// Where.
        address: SocketAddr,
        /// Why not.
        error: io::Error,
    },
}

/// An endpoint that listens and does not serve yet.
pub struct HttpListener {
    listener: tokio::net::TcpListener,
    address: SocketAddr,
    engine: Arc<Engine>,
    options: HttpOptions,
}

impl HttpListener {
    pub(crate) async fn bind(engine: &Arc<Engine>, options: HttpOptions) -> Result<Self, HttpError> {
        let problems = options.problems();
        if !problems.is_empty() {
            return Err(HttpError::Options { problems });
        }
        let failed = |error| HttpError::Listen { address: options.address, error };
        let listener = tokio::net::TcpListener::bind(options.address).await.map_err(failed)?;
        let address = listener.local_addr().map_err(failed)?;
        Ok(Self { listener, address, engine: engine.clone(), options })
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// The address of the endpoint, for clients on this machine.
    pub fn url(&self) -> String {
        format!("http://{}{}", self.address, self.options.path)
    }

    /// Serves clients until `stop` is cancelled. Returns when no call runs any more.
    pub async fn serve(self, stop: CancelToken) {
        listener::serve(self, stop).await;
    }
}

impl fmt::Debug for HttpListener {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HttpListener").field("address", &self.address).finish_non_exhaustive()
    }
}

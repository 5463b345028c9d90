//! One connection to a server: opened with its handshake, watched, closed in order.

use std::sync::Arc;
use std::time::Duration;

use rmcp::model::{ClientCapabilities, ClientConfig, Implementation, ProtocolVersion};
use rmcp::service::{ClientInitializeError, ClientLifecycleMode, ClientServiceExt, NotificationContext, Peer, RunningService};
use rmcp::{ClientHandler, RoleClient};
use tokio::sync::Mutex;
use tokio::time::timeout;

use super::error::{self, UpstreamError};
use super::http;
use super::pins::Compared;
use super::process::Process;
use super::progress::ProgressHub;
use super::spec::{Era, ServerSpec, Transport};
use super::status::Board;
use super::stdio::StdioTransport;

/// How long a failed start waits for the process to end, so that its status can be told.
const EXIT_NEWS: Duration = Duration::from_millis(500);
/// Bytes of stderr quoted in an error.
const STDERR_QUOTED: usize = 600;

/// A live connection.
pub(crate) struct Connection {
    pub(crate) peer: Peer<RoleClient>,
    pub(crate) progress: Arc<ProgressHub>,
    pub(crate) process: Option<Process>,
    /// Whether its tools are those that the host expects.
    pub(crate) compared: Compared,
    service: Mutex<Option<RunningService<RoleClient, Client>>>,
}

/// What a handshake settled, to be remembered for the next start.
pub(crate) struct Opened {
    pub(crate) connection: Connection,
    pub(crate) era: Era,
}

/// The part of us that a server may talk to: it offers nothing and only listens.
pub(crate) struct Client {
    board: Arc<Board>,
    version: ProtocolVersion,
}

impl ClientHandler for Client {
    fn get_info(&self) -> ClientConfig {
        ClientConfig::new(ClientCapabilities::default(), Implementation::new("toolwright", env!("CARGO_PKG_VERSION")))
            .with_protocol_version(self.version.clone())
    }

    async fn on_tool_list_changed(&self, _context: NotificationContext<RoleClient>) {
        let mut facts = self.board.facts();
        facts.list_changes = facts.list_changes.saturating_add(1);
    }
}

impl Connection {
    /// Whether calls can be sent.
    pub(crate) fn is_live(&self) -> bool {
        !self.peer.is_transport_closed() && self.process.as_ref().is_none_or(|process| process.exit().is_none())
    }

    /// Ends the connection and, for a child, everything it started.
    pub(crate) async fn close(&self, grace: Duration) {
        if let Some(process) = &self.process {
            process.stop();
        }
        let service = self.service.lock().await.take();
        if let Some(mut service) = service {
            let _ = service.close_with_timeout(grace).await;
        }
        if let Some(process) = &self.process {
            process.gone().await;
        }
    }
}

/// Opens a connection. A server that cannot take the newer handshake is tried once more with the older one.
pub(crate) async fn open(spec: &ServerSpec, board: &Arc<Board>, era: Era) -> Result<Opened, UpstreamError> {
    let newest = ProtocolVersion::LATEST_WITH_INITIALIZE;
    let failure = match attempt(spec, board, era, newest.clone()).await {
        Ok(opened) => return Ok(opened),
        Err(failure) => failure,
    };
    match failure {
        Failure::Final(error) => Err(error),
        Failure::Older { version, error } => attempt(spec, board, Era::Sessions, version).await.map_err(|again| match again {
            Failure::Final(again) | Failure::Older { error: again, .. } => {
                if again.message.is_empty() {
                    error
                } else {
                    again
                }
            }
        }),
    }
}

enum Failure {
    Final(UpstreamError),
    /// A start with that version and `initialize` may succeed.
    Older {
        version: ProtocolVersion,
        error: UpstreamError,
    },
}

async fn attempt(spec: &ServerSpec, board: &Arc<Board>, era: Era, version: ProtocolVersion) -> Result<Opened, Failure> {
    let progress = Arc::new(ProgressHub::default());
    let client = Client { board: board.clone(), version: version.clone() };
    let mode = lifecycle(era, &version);
    let (process, served) = match &spec.transport {
        Transport::Stdio { .. } => {
            let (process, pipes) = Process::start(spec, board).map_err(Failure::Final)?;
            board.facts().pid = Some(process.pid);
            let transport = StdioTransport::new(pipes, &process, board, &progress, spec.limits.frame_bytes_max);
            let served = timeout(spec.start_timeout, client.serve_with_lifecycle(transport, mode)).await;
            (Some(process), served)
        }
        Transport::Http { url, headers } => {
            let transport = http::transport(spec, url, headers, board, &progress).map_err(Failure::Final)?;
            (None, timeout(spec.start_timeout, client.serve_with_lifecycle(transport, mode)).await)
        }
    };
    match served {
        Ok(Ok(service)) => Ok(opened(service, process, progress, board)),
        Ok(Err(error)) => Err(handshake_failed(spec, board, process, era, &version, &error).await),
        Err(_) => {
            let why = format!("no answer to its handshake within {:?} (start limit)", spec.start_timeout);
            let error = UpstreamError::start(spec, &with_stderr(board, why));
            if let Some(process) = process {
                process.stop();
                process.gone().await;
            }
            Err(Failure::Final(error))
        }
    }
}

fn lifecycle(era: Era, version: &ProtocolVersion) -> ClientLifecycleMode {
    let preferred_versions = vec![ProtocolVersion::V_2026_07_28];
    match era {
        Era::Auto => ClientLifecycleMode::Auto { preferred_versions, legacy_version: Some(version.clone()) },
        Era::Sessions => ClientLifecycleMode::Initialize,
        Era::Sessionless => ClientLifecycleMode::Discover { preferred_versions },
    }
}

fn opened(service: RunningService<RoleClient, Client>, process: Option<Process>, progress: Arc<ProgressHub>, board: &Board) -> Opened {
    let peer = service.peer().clone();
    let mut era = Era::Auto;
    if let Some(info) = peer.peer_info() {
        let mut facts = board.facts();
        facts.protocol_version = Some(info.protocol_version.to_string());
        facts.server_version = info.server_info.as_ref().map(|server| board.redactor.mask(&format!("{} {}", server.name, server.version)));
        era = if info.protocol_version.has_initialize() { Era::Sessions } else { Era::Sessionless };
    }
    let connection = Connection { peer, progress, process, compared: Compared::default(), service: Mutex::new(Some(service)) };
    Opened { connection, era }
}

/// Says why, and whether an older handshake may do better.
async fn handshake_failed(
    spec: &ServerSpec,
    board: &Board,
    process: Option<Process>,
    era: Era,
    tried: &ProtocolVersion,
    error: &ClientInitializeError,
) -> Failure {
    let mut exited = None;
    if let Some(process) = process {
        if error::connection_ended(error) {
            let _ = timeout(EXIT_NEWS, process.exited()).await;
            exited = process.exit();
        }
        process.stop();
        process.gone().await;
    }
    let text = board.redactor.mask(&error::handshake(error));
    let why = match &exited {
        Some(status) => format!("it ended with {status} during the handshake"),
        None => format!("the handshake failed: {text}"),
    };
    let upstream = UpstreamError::start(spec, &with_stderr(board, why));
    if error::unauthorized(error) {
        return Failure::Final(
            UpstreamError { code: error::UNAUTHORIZED, ..upstream }.help("check the credentials in the source's `headers`"),
        );
    }
    // Some old servers end themselves at a request they do not know.
    if exited.is_some() && era == Era::Auto {
        return Failure::Older { version: tried.clone(), error: upstream };
    }
    match older_version(&text, tried) {
        Some(version) if era != Era::Sessionless => Failure::Older { version, error: upstream },
        _ => Failure::Final(upstream),
    }
}

/// The newest version with sessions that a refusal names and that was not tried.
fn older_version(refusal: &str, tried: &ProtocolVersion) -> Option<ProtocolVersion> {
    ProtocolVersion::KNOWN_VERSIONS
        .iter()
        .rev()
        .filter(|version| version.has_initialize() && *version != tried)
        .find(|version| refusal.contains(version.as_str()))
        .cloned()
}

/// The text with the server's last words, when it had any.
pub(crate) fn with_stderr(board: &Board, why: String) -> String {
    let tail = board.last_words(STDERR_QUOTED);
    if tail.is_empty() { why } else { format!("{why}; its stderr ends with: {tail}") }
}

//! One connection to a server: opened with its handshake, watched, closed in order.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use rmcp::model::{ClientCapabilities, ClientConfig, ProtocolVersion};
use rmcp::service::{ClientInitializeError, ClientLifecycleMode, ClientServiceExt, Peer, RunningService};
use rmcp::{ClientHandler, RoleClient};
use tokio::sync::{Mutex, Semaphore};
use tokio::time::timeout;
use tokio_util::sync::{CancellationToken, DropGuard};

use super::error::{self, UpstreamError};
use super::http;
use super::inbox::{Inbox, REFUSALS};
use super::inflight::InFlight;
use super::line::Line;
use super::pins::Compared;
use super::process::Process;
use super::questions::Questions;
use super::spec::{Era, ServerSpec, Transport};
use super::status::Board;
use super::stdio::StdioTransport;
use super::terms::{self, Terms};

/// How long a failed start waits for the process to end, so that its status can be told.
const EXIT_NEWS: Duration = Duration::from_millis(500);
/// Bytes of stderr quoted in an error.
const STDERR_QUOTED: usize = 600;

/// A live connection.
pub(crate) struct Connection {
    peer: Peer<RoleClient>,
    pub(crate) line: Line,
    pub(crate) inbox: Arc<Inbox>,
    pub(crate) process: Option<Process>,
    pub(crate) terms: Terms,
    /// Whether its tools are those that the host expects.
    pub(crate) compared: Compared,
    /// The server does not know its session any more.
    expired: AtomicBool,
    /// Somebody listens for its news.
    pub(crate) listens: AtomicBool,
    /// What runs beside calls as long as the connection lives.
    pub(crate) ended: CancellationToken,
    _ends: DropGuard,
    service: Mutex<Option<RunningService<RoleClient, Client>>>,
}

/// What a handshake settled, to be remembered for the next start.
pub(crate) struct Opened {
    pub(crate) connection: Connection,
    pub(crate) era: Era,
}

/// The part of us that `rmcp` knows: it says what we can do; what a server sends comes to the [`Inbox`].
pub(crate) struct Client {
    capabilities: ClientCapabilities,
    version: ProtocolVersion,
}

impl ClientHandler for Client {
    fn get_info(&self) -> ClientConfig {
        ClientConfig::new(self.capabilities.clone(), terms::implementation()).with_protocol_version(self.version.clone())
    }
}

impl Connection {
    /// Whether calls can be sent.
    pub(crate) fn is_live(&self) -> bool {
        !self.expired.load(Ordering::Acquire)
            && !self.peer.is_transport_closed()
            && !self.inbox.inflight.is_closed()
            && self.process.as_ref().is_none_or(|process| process.exit().is_none())
    }

    /// The server does not know the session any more.
    pub(crate) fn expire(&self) {
        self.expired.store(true, Ordering::Release);
    }

    /// Ends the connection and, for a child, everything it started.
    pub(crate) async fn close(&self, grace: Duration) {
        self.ended.cancel();
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
pub(crate) async fn open(
    spec: &ServerSpec,
    board: &Arc<Board>,
    questions: Option<&Arc<dyn Questions>>,
    era: Era,
) -> Result<Opened, UpstreamError> {
    let newest = ProtocolVersion::LATEST_WITH_INITIALIZE;
    let failure = match attempt(spec, board, questions, era, newest.clone()).await {
        Ok(opened) => return Ok(opened),
        Err(failure) => failure,
    };
    match failure {
        Failure::Final(error) => Err(error),
        Failure::Older { version, .. } => attempt(spec, board, questions, Era::Sessions, version).await.map_err(Failure::error),
        Failure::Newer(_) => attempt(spec, board, questions, Era::Sessionless, newest).await.map_err(Failure::error),
    }
}

enum Failure {
    Final(UpstreamError),
    /// A start with that version and `initialize` may succeed.
    Older {
        version: ProtocolVersion,
        error: UpstreamError,
    },
    /// It speaks the newest generation after all.
    Newer(UpstreamError),
}

impl Failure {
    fn error(self) -> UpstreamError {
        match self {
            Failure::Final(error) | Failure::Older { error, .. } | Failure::Newer(error) => error,
        }
    }

    fn newer(self) -> Self {
        Failure::Newer(self.error())
    }
}

async fn attempt(
    spec: &ServerSpec,
    board: &Arc<Board>,
    questions: Option<&Arc<dyn Questions>>,
    era: Era,
    version: ProtocolVersion,
) -> Result<Opened, Failure> {
    let inbox = Arc::new(Inbox {
        server: spec.name.clone(),
        board: board.clone(),
        questions: questions.cloned(),
        inflight: Arc::new(InFlight::default()),
        refusals: Arc::new(Semaphore::new(REFUSALS)),
        discovered_late: AtomicBool::new(false),
    });
    let client = Client { capabilities: terms::of_session(questions), version: version.clone() };
    let mode = lifecycle(era, &version);
    let (process, line, served) = match &spec.transport {
        Transport::Stdio { .. } => {
            let (process, pipes) = Process::start(spec, board).map_err(Failure::Final)?;
            board.facts().pid = Some(process.pid);
            let (transport, line) = StdioTransport::new(pipes, &process, &inbox, spec.limits.frame_bytes_max);
            let served = timeout(spec.start_timeout, client.serve_with_lifecycle(transport, mode)).await;
            (Some(process), line, served)
        }
        Transport::Http { url, headers } => {
            let (transport, web) = http::transport(spec, url, headers, &inbox).map_err(Failure::Final)?;
            (None, Line::Web(web), timeout(spec.start_timeout, client.serve_with_lifecycle(transport, mode)).await)
        }
    };
    match served {
        Ok(Ok(service)) => Ok(opened(service, process, line, inbox)),
        Ok(Err(error)) => {
            let failure = handshake_failed(spec, board, process, era, &version, &error).await;
            let newer = era == Era::Auto && inbox.discovered_late.load(Ordering::Acquire);
            Err(if newer { failure.newer() } else { failure })
        }
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

fn opened(service: RunningService<RoleClient, Client>, process: Option<Process>, line: Line, inbox: Arc<Inbox>) -> Opened {
    let peer = service.peer().clone();
    let terms = Terms::of(&peer);
    let mut era = Era::Auto;
    if let Some(info) = peer.peer_info() {
        let board = &inbox.board;
        let mut facts = board.facts();
        facts.protocol_version = Some(terms.version.clone());
        facts.server_version = info.server_info.as_ref().map(|server| board.redactor.mask(&format!("{} {}", server.name, server.version)));
        facts.capabilities = Some(terms.capabilities.clone());
        era = if terms.sessionless { Era::Sessionless } else { Era::Sessions };
        facts.era = Some(era);
    }
    if let Line::Web(web) = &line {
        web.settle(&terms.version, terms.sessionless);
    }
    let ended = CancellationToken::new();
    let connection = Connection {
        peer,
        line,
        inbox,
        process,
        terms,
        compared: Compared::default(),
        expired: AtomicBool::new(false),
        listens: AtomicBool::new(false),
        _ends: ended.clone().drop_guard(),
        ended,
        service: Mutex::new(Some(service)),
    };
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
    // Some old servers end themselves at a request they do not know, others answer it with nothing in particular.
    if (exited.is_some() || error::no_handshake(error)) && era == Era::Auto {
        return Failure::Older { version: tried.clone(), error: upstream };
    }
    // It answered the discovery, and knows older versions only.
    if era == Era::Auto
        && let ClientInitializeError::NoCompatibleProtocolVersion { server_supported, .. } = error
    {
        let known = ProtocolVersion::KNOWN_VERSIONS.iter().rev().filter(|version| version.has_initialize());
        let version = known.into_iter().find(|version| server_supported.contains(version)).unwrap_or(tried).clone();
        return Failure::Older { version, error: upstream };
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

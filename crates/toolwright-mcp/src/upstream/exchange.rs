//! One request to a server and its reply: limits, progress, cancellation, and what each kind of failure means.

use std::sync::Arc;
use std::time::Duration;

use rmcp::RoleClient;
use rmcp::model::{ClientRequest, RequestId, ServerResult};
use rmcp::service::{Peer, PeerRequestOptions, RequestHandle, ServiceError};
use rmcp::transport::DynamicTransportError;
use rmcp::transport::streamable_http_client::StreamableHttpError;
use tokio::time::{Instant, sleep_until, timeout};

use super::connect::{Connection, with_stderr};
use super::error::{self, chain};
use super::supervise::Shared;
use crate::wire::{self, Progress, Reply};

/// How long a call whose connection ended waits for the news how the process ended.
const EXIT_NEWS: Duration = Duration::from_secs(1);

/// Why a request has no reply, and what that says about its effect.
#[derive(Debug)]
pub(crate) struct Lost {
    pub(crate) code: &'static str,
    pub(crate) message: String,
    pub(crate) help: Option<String>,
    pub(crate) happened: Happened,
}

/// Whether a request without a reply may have had its effect.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Happened {
    /// It was not sent, or was refused before anything ran.
    No,
    /// It was sent, and nobody knows.
    Unknown,
}

/// The bounds of a request.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Bounds {
    pub(crate) idle: Duration,
    pub(crate) total: Duration,
}

/// Sends a request and waits for its reply. `cancelled` ends it early, `report` hears of progress.
pub(crate) async fn exchange(
    shared: &Shared,
    connection: &Arc<Connection>,
    request: ClientRequest,
    what: &str,
    cancelled: impl Future<Output = ()> + Send,
    report: impl FnMut(&Progress) + Send,
) -> Result<Reply, Lost> {
    let bounds = Bounds { idle: shared.spec.idle_timeout, total: shared.spec.call_timeout };
    let sent = connection.peer.send_request_with_option(request, PeerRequestOptions::no_options()).await;
    let handle = match sent {
        Ok(handle) => handle,
        Err(_) => {
            let message = format!("server `{}` went before `{what}` was sent", shared.spec.name);
            return Err(Lost { code: error::UNAVAILABLE, message, help: None, happened: Happened::No });
        }
    };
    let outcome = wait(connection, handle, bounds, cancelled, report).await;
    match outcome {
        Outcome::Answered(answer) => match *answer {
            Ok(result) => {
                shared.answered();
                match wire::reply_of(result) {
                    // A tool's own error may speak of some session too; what the protocol's layer says has one of these codes.
                    Reply::Error(rpc)
                        if connection.process.is_none()
                            && matches!(rpc.code, -32_600 | -32_000 | -32_001)
                            && tells_lost_session(&rpc.message) =>
                    {
                        Err(session_lost(shared, connection, what, &rpc.message))
                    }
                    reply => Ok(reply),
                }
            }
            Err(failure) => Err(failed(shared, connection, what, failure).await),
        },
        Outcome::Gone => Err(gone(shared, connection, what).await),
        Outcome::Idle => Err(late(shared, what, "was silent for too long", bounds)),
        Outcome::Total => Err(late(shared, what, "took too long", bounds)),
        Outcome::Cancelled => Err(cancelled_error(what)),
    }
}

enum Outcome {
    Answered(Box<Result<ServerResult, ServiceError>>),
    Gone,
    Idle,
    Total,
    Cancelled,
}

async fn wait(
    connection: &Connection,
    handle: RequestHandle<RoleClient>,
    bounds: Bounds,
    cancelled: impl Future<Output = ()> + Send,
    mut report: impl FnMut(&Progress) + Send,
) -> Outcome {
    let RequestHandle { mut rx, id, progress_token, .. } = handle;
    let mut reports = connection.progress.subscribe(progress_token);
    let mut abandoned = Abandoned { peer: connection.peer.clone(), id: Some(id) };
    let started = Instant::now();
    let mut idle_until = started + bounds.idle;
    let mut cancelled = std::pin::pin!(cancelled);
    let outcome = loop {
        tokio::select! {
            biased;
            answer = &mut rx => break answer.map_or(Outcome::Gone, |answer| Outcome::Answered(Box::new(answer))),
            Some(progress) = reports.next() => {
                idle_until = Instant::now() + bounds.idle;
                report(&progress);
            }
            () = &mut cancelled => break Outcome::Cancelled,
            () = sleep_until(started + bounds.total) => break Outcome::Total,
            () = sleep_until(idle_until) => break Outcome::Idle,
        }
    };
    // What was said before the answer is told before it.
    while let Some(progress) = reports.ready() {
        report(&progress);
    }
    match outcome {
        Outcome::Answered(_) | Outcome::Gone => abandoned.id = None,
        Outcome::Idle => abandoned.tell("the client's idle limit was reached").await,
        Outcome::Total => abandoned.tell("the client's total limit was reached").await,
        Outcome::Cancelled => abandoned.tell("the client cancelled the call").await,
    }
    outcome
}

/// Tells the server when nobody waits for a request any more, also when the waiting future is dropped.
struct Abandoned {
    peer: Peer<RoleClient>,
    id: Option<RequestId>,
}

impl Abandoned {
    /// Longest time a server that takes no messages may hold us up here.
    const TELL_MAX: Duration = Duration::from_millis(500);

    async fn tell(&mut self, reason: &str) {
        if let Some(id) = self.id.take() {
            let _ = timeout(Self::TELL_MAX, self.peer.send_notification(wire::cancelled(id, reason))).await;
        }
    }
}

impl Drop for Abandoned {
    fn drop(&mut self) {
        let Some(id) = self.id.take() else { return };
        let Ok(runtime) = tokio::runtime::Handle::try_current() else { return };
        let peer = self.peer.clone();
        runtime.spawn(async move {
            let note = wire::cancelled(id, "the client left the call");
            let _ = timeout(Self::TELL_MAX, peer.send_notification(note)).await;
        });
    }
}

fn late(shared: &Shared, what: &str, how: &str, bounds: Bounds) -> Lost {
    Lost {
        code: error::TIMEOUT,
        message: format!("`{what}` on server `{}` {how}: idle limit {:?}, total limit {:?}", shared.spec.name, bounds.idle, bounds.total),
        help: Some("raise `idleTimeout` or `callTimeout` of the source when the tool needs longer".to_owned()),
        happened: Happened::Unknown,
    }
}

pub(crate) fn cancelled_error(what: &str) -> Lost {
    Lost {
        code: error::CANCELLED,
        message: format!("`{what}` was cancelled; the server was told, and gives no answer to a cancelled call"),
        help: None,
        happened: Happened::Unknown,
    }
}

/// The connection ended under the request.
async fn gone(shared: &Shared, connection: &Connection, what: &str) -> Lost {
    let name = &shared.spec.name;
    let Some(process) = &connection.process else {
        return Lost {
            code: error::DISCONNECTED,
            message: format!("the connection to server `{name}` ended while `{what}` was running"),
            help: None,
            happened: Happened::Unknown,
        };
    };
    let _ = timeout(EXIT_NEWS, process.exited()).await;
    let how = match process.exit() {
        Some(status) => format!("ended with {status}"),
        None => "closed its output".to_owned(),
    };
    let message = with_stderr(&shared.board, format!("server `{name}` {how} while `{what}` was running"));
    Lost { code: error::EXITED, message, help: None, happened: Happened::Unknown }
}

/// The transport or `rmcp` itself ended the request.
async fn failed(shared: &Shared, connection: &Arc<Connection>, what: &str, failure: ServiceError) -> Lost {
    let name = &shared.spec.name;
    match failure {
        ServiceError::TransportClosed => gone(shared, connection, what).await,
        ServiceError::TransportSend(error) if connection.process.is_some() => {
            let mut lost = gone(shared, connection, what).await;
            if process_lives(connection) {
                lost.message = shared.board.redactor.mask(&format!("server `{name}` takes no messages: {}", error.error));
            }
            lost
        }
        ServiceError::TransportSend(error) => {
            let lost = http_failed(shared, what, &error);
            match lost.code == super::error::PROTOCOL && lost.happened == Happened::No && tells_lost_session(&lost.message) {
                true => session_lost(shared, connection, what, &chain(error.error.as_ref())),
                false => lost,
            }
        }
        ServiceError::Cancelled { .. } => cancelled_error(what),
        other => Lost {
            code: error::DISCONNECTED,
            message: shared.board.redactor.mask(&format!("`{what}` on server `{name}` was lost: {}", chain(&other))),
            help: None,
            happened: Happened::Unknown,
        },
    }
}

fn process_lives(connection: &Connection) -> bool {
    connection.process.as_ref().is_some_and(|process| process.exit().is_none())
}

fn http_failed(shared: &Shared, what: &str, error: &DynamicTransportError) -> Lost {
    let name = &shared.spec.name;
    let text = shared.board.redactor.mask(&chain(error.error.as_ref()));
    let lost = |code, message: String, happened| Lost { code, message, help: None, happened };
    let known = error.error.downcast_ref::<StreamableHttpError<reqwest::Error>>();
    match known {
        Some(StreamableHttpError::SessionExpired | StreamableHttpError::ReinitializationFailed(_)) => lost(
            error::SESSION_LOST,
            format!("server `{name}` refused `{what}`: it knows neither the old session nor a new one ({text})"),
            Happened::No,
        ),
        Some(StreamableHttpError::AuthRequired(_) | StreamableHttpError::InsufficientScope(_)) => Lost {
            help: Some("check the credentials in the source's `headers`".to_owned()),
            ..lost(error::UNAUTHORIZED, format!("server `{name}` refused `{what}`: {text}"), Happened::No)
        },
        Some(StreamableHttpError::HttpStatus(status)) if status.status == 429 => {
            let after = status.retry_after.as_deref().map(|after| format!("; it asks to wait {after} s")).unwrap_or_default();
            lost(error::UNAVAILABLE, format!("server `{name}` is too busy for `{what}` (HTTP 429{after})"), Happened::No)
        }
        Some(StreamableHttpError::Client(cause)) if cause.is_connect() => {
            lost(error::UNAVAILABLE, format!("server `{name}` cannot be reached for `{what}`: {text}"), Happened::No)
        }
        Some(StreamableHttpError::Client(_) | StreamableHttpError::SessionRecoveryTimeout) => lost(
            error::DISCONNECTED,
            format!("the connection to server `{name}` ended while `{what}` was running: {text}"),
            Happened::Unknown,
        ),
        Some(StreamableHttpError::UnexpectedServerResponse(_)) => {
            lost(error::PROTOCOL, format!("server `{name}` refused `{what}`: {text}"), Happened::No)
        }
        _ => lost(error::PROTOCOL, format!("server `{name}` gave `{what}` no usable answer: {text}"), Happened::Unknown),
    }
}

/// Servers that should have answered 404 say it in words.
fn tells_lost_session(text: &str) -> bool {
    let text = text.to_lowercase();
    let gone = ["not found", "expired", "unknown", "invalid", "no valid", "not initialized", "does not exist"];
    text.contains("session") && gone.iter().any(|word| text.contains(word))
}

/// The server does not know the session, and nothing ran. The next call opens a new one.
fn session_lost(shared: &Shared, connection: &Arc<Connection>, what: &str, text: &str) -> Lost {
    shared.forget(connection);
    let text = shared.board.redactor.mask(text);
    Lost {
        code: error::SESSION_LOST,
        message: format!("server `{}` refused `{what}`: it does not know the session ({text})", shared.spec.name),
        help: Some("call again: the next call opens a new session".to_owned()),
        happened: Happened::No,
    }
}

/// Waits for a connection, unless the call is cancelled first.
pub(crate) async fn connected(
    shared: &Arc<Shared>,
    what: &str,
    cancelled: impl Future<Output = ()> + Send,
) -> Result<Arc<Connection>, Lost> {
    tokio::select! {
        biased;
        () = cancelled => Err(Lost {
            code: error::CANCELLED,
            message: format!("`{what}` was cancelled before it was sent"),
            help: None,
            happened: Happened::No,
        }),
        connection = shared.connection() => connection.map_err(|error| Lost {
            code: error.code,
            message: error.message,
            help: error.help,
            happened: Happened::No,
        }),
    }
}

//! One request to a server and its reply: limits, progress, cancellation, and what each kind of failure means.

use std::sync::Arc;
use std::time::Duration;

use rmcp::transport::streamable_http_client::StreamableHttpError;
use tokio::time::{Instant, sleep_until, timeout};
use toolwright::{Text, Value};

use super::connect::{Connection, with_stderr};
use super::error::{self, chain};
use super::headers::{self, ParamHeader};
use super::http::HttpError;
use super::inflight::{InFlight, News, Ticket};
use super::line::Line;
use super::supervise::Shared;
use super::terms;
use super::web::IDEMPOTENCY_KEY;
use crate::upstream::IDEMPOTENCY_KEY_META;
use crate::wire::{self, Progress, RawReply, Reply};

/// How long a call whose connection ended waits for the news how the process ended.
const EXIT_NEWS: Duration = Duration::from_secs(1);
/// How often a request whose question is being asked looks whether it still is.
const ASKING_LOOK: Duration = Duration::from_secs(1);

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
    /// It was answered, and not with success.
    Answered,
    /// It was sent, and nobody knows.
    Unknown,
}

/// The bounds of a request; absent = none.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Bounds {
    pub(crate) idle: Option<Duration>,
    pub(crate) total: Option<Duration>,
}

/// A request that is to be sent.
pub(crate) struct Sending<'a> {
    /// What it is called in errors.
    pub(crate) what: &'a str,
    pub(crate) method: &'a str,
    /// The members of its parameters, without `_meta`.
    pub(crate) params: &'a [(&'a str, &'a Value)],
    /// What the header `Mcp-Name` says.
    pub(crate) name: Option<&'a str>,
    /// The arguments that are repeated in headers.
    pub(crate) marked: &'a [ParamHeader],
    pub(crate) key: Option<&'a str>,
    /// The run that it belongs to: who is asked what the server asks.
    pub(crate) run: Option<Text>,
    pub(crate) bounds: Bounds,
}

impl<'a> Sending<'a> {
    pub(crate) fn new(shared: &Shared, method: &'a str, params: &'a [(&'a str, &'a Value)]) -> Self {
        let bounds = Bounds { idle: Some(shared.spec.idle_timeout), total: Some(shared.spec.call_timeout) };
        Sending { what: method, method, params, name: None, marked: &[], key: None, run: None, bounds }
    }

    fn text(&self, shared: &Shared, connection: &Connection, id: u64) -> Vec<u8> {
        let mut meta = terms::meta(shared, connection, self.run.as_deref());
        if let Some(key) = self.key {
            meta.push((IDEMPOTENCY_KEY_META, Value::from(key)));
        }
        wire::request(id, self.method, self.params, &meta)
    }

    fn headers(&self, sessionless: bool) -> http::HeaderMap {
        let arguments = self.params.iter().find(|(name, _)| *name == "arguments").map(|(_, value)| *value);
        let mut headers = match sessionless {
            true => headers::of_request(self.method, self.name, arguments, self.marked),
            false => http::HeaderMap::new(),
        };
        let key = self.key.and_then(|key| http::HeaderValue::from_str(&wire::key_header(key)).ok());
        if let Some(key) = key {
            headers.insert(IDEMPOTENCY_KEY, key);
        }
        headers
    }
}

/// Sends a request and waits for its reply. `cancelled` ends it early, `report` hears of progress.
pub(crate) async fn exchange(
    shared: &Shared,
    connection: &Arc<Connection>,
    sending: &Sending<'_>,
    cancelled: impl Future<Output = ()> + Send,
    mut report: impl FnMut(&Progress) + Send,
) -> Result<Reply, Lost> {
    let what = sending.what;
    let headers = match &connection.line {
        Line::Pipe(_) => http::HeaderMap::new(),
        Line::Web(web) => sending.headers(web.is_sessionless()),
    };
    let (line, inflight) = (&connection.line, &connection.inbox.inflight);
    let way = Way { line, inflight, run: sending.run.clone(), bounds: sending.bounds, headers };
    let outcome = wait(way, |id| sending.text(shared, connection, id), cancelled, &mut report).await;
    match outcome {
        Outcome::Answered(raw) => {
            shared.answered();
            match raw.read() {
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
        Outcome::NotSent => {
            // What takes no messages is of no use any more.
            connection.inbox.inflight.close();
            let message = format!("server `{}` went before `{what}` was sent", shared.spec.name);
            Err(Lost { code: error::UNAVAILABLE, message, help: None, happened: Happened::No })
        }
        Outcome::Failed(StreamableHttpError::SessionExpired) => {
            connection.expire();
            shared.forget(connection);
            let message =
                format!("server `{}` refused `{what}`: it knows neither the old session nor a new one (HTTP 404)", shared.spec.name);
            Err(Lost { code: error::SESSION_LOST, message, help: None, happened: Happened::No })
        }
        Outcome::Failed(failure) => Err(failed(shared, connection, what, &failure)),
        Outcome::Gone => Err(gone(shared, connection, what).await),
        Outcome::Idle => Err(late(shared, what, "was silent for too long", sending.bounds)),
        Outcome::Total => Err(late(shared, what, "took too long", sending.bounds)),
        Outcome::Cancelled => Err(cancelled_error(what)),
    }
}

pub(crate) enum Outcome {
    Answered(RawReply),
    /// Nothing went out.
    NotSent,
    Failed(HttpError),
    Gone,
    Idle,
    Total,
    Cancelled,
}

/// The way of one request.
pub(crate) struct Way<'a> {
    pub(crate) line: &'a Line,
    pub(crate) inflight: &'a Arc<InFlight>,
    pub(crate) run: Option<Text>,
    pub(crate) bounds: Bounds,
    pub(crate) headers: http::HeaderMap,
}

/// Sends the message that `text` makes for its id, and waits for what comes of it.
pub(crate) async fn wait(
    way: Way<'_>,
    text: impl FnOnce(u64) -> Vec<u8> + Send,
    cancelled: impl Future<Output = ()> + Send,
    report: &mut (dyn FnMut(&Progress) + Send),
) -> Outcome {
    let Way { line, inflight, run, bounds, headers } = way;
    let ticket = inflight.begin(run);
    let text = text(ticket.id);
    let mut abandoned = Abandoned { line, id: Some(ticket.id) };
    let sending = async {
        match line {
            Line::Pipe(pipe) => pipe.write(text).await.map_err(|_| Outcome::NotSent),
            Line::Web(web) => web.exchange(ticket.id, &ticket.waiter, text, headers).await.map_err(Outcome::Failed),
        }
    };
    let mut clock = Clock { started: Instant::now(), heard: Instant::now(), bounds };
    let mut sending = std::pin::pin!(sending);
    let mut cancelled = std::pin::pin!(cancelled);
    let mut timer = std::pin::pin!(sleep_until(clock.next(Duration::ZERO)));
    let mut under_way = true;
    let outcome = loop {
        tokio::select! {
            biased;
            () = ticket.woken() => {
                clock.heard = Instant::now();
                match ticket.news(report) {
                    News::Reply(reply) => break Outcome::Answered(reply),
                    News::Gone => break Outcome::Gone,
                    News::Nothing => {}
                }
            }
            sent = &mut sending, if under_way => match sent {
                Ok(()) => under_way = false,
                Err(outcome) => break outcome,
            },
            () = &mut cancelled => break Outcome::Cancelled,
            () = &mut timer => match clock.late(&ticket) {
                Ok(next) => timer.as_mut().reset(next),
                Err(outcome) => break outcome,
            },
        }
    };
    match outcome {
        Outcome::Idle => abandoned.tell("the client's idle limit was reached").await,
        Outcome::Total => abandoned.tell("the client's total limit was reached").await,
        Outcome::Cancelled => abandoned.tell("the client cancelled the call").await,
        _ => abandoned.id = None,
    }
    outcome
}

/// When a request is late.
struct Clock {
    started: Instant,
    heard: Instant,
    bounds: Bounds,
}

impl Clock {
    /// Far enough away to be never.
    const NEVER: Duration = Duration::from_secs(365 * 24 * 3_600);

    fn idle_end(&self) -> Instant {
        self.heard + self.bounds.idle.unwrap_or(Self::NEVER).min(Self::NEVER)
    }

    fn total_end(&self, asked_for: Duration) -> Instant {
        self.started + self.bounds.total.unwrap_or(Self::NEVER).min(Self::NEVER) + asked_for
    }

    fn next(&self, asked_for: Duration) -> Instant {
        self.idle_end().min(self.total_end(asked_for))
    }

    /// The time may be over: when to look again, or which limit was reached. It stands still while a question is asked.
    fn late(&mut self, ticket: &Ticket) -> Result<Instant, Outcome> {
        let (asking, asked_for) = ticket.asking();
        let now = Instant::now();
        if asking {
            self.heard = now;
            return Ok(now + ASKING_LOOK);
        }
        if now >= self.total_end(asked_for) {
            return Err(Outcome::Total);
        }
        if now >= self.idle_end() {
            return Err(Outcome::Idle);
        }
        Ok(self.next(asked_for))
    }
}

/// Tells the server when nobody waits for a request any more, also when the waiting future is dropped.
struct Abandoned<'a> {
    line: &'a Line,
    id: Option<u64>,
}

impl Abandoned<'_> {
    /// Longest time a server that takes no messages may hold us up here.
    const TELL_MAX: Duration = Duration::from_millis(500);

    /// The telling goes on by itself: a call without side effects may be dropped at any moment of its cancellation, also while it is
    /// in here.
    async fn tell(&mut self, reason: &str) {
        if let Some(id) = self.id.take()
            && self.line.calls_off()
        {
            let (told, done) = tokio::sync::oneshot::channel::<()>();
            self.line.tell(wire::cancelled(id, reason), told);
            let _ = timeout(Self::TELL_MAX, done).await;
        }
    }
}

impl Drop for Abandoned<'_> {
    fn drop(&mut self) {
        if let Some(id) = self.id.take()
            && self.line.calls_off()
        {
            self.line.tell(wire::cancelled(id, "the client left the call"), ());
        }
    }
}

fn late(shared: &Shared, what: &str, how: &str, bounds: Bounds) -> Lost {
    Lost {
        code: error::TIMEOUT,
        message: format!(
            "`{what}` on server `{}` {how}: idle limit {:?}, total limit {:?}",
            shared.spec.name,
            bounds.idle.unwrap_or_default(),
            bounds.total.unwrap_or_default()
        ),
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

/// The way over HTTP ended the request.
fn failed(shared: &Shared, connection: &Arc<Connection>, what: &str, failure: &HttpError) -> Lost {
    let lost = http_failed(shared, what, failure);
    match lost.code == error::PROTOCOL && lost.happened == Happened::No && tells_lost_session(&lost.message) {
        true => session_lost(shared, connection, what, &chain(failure)),
        false => lost,
    }
}

fn http_failed(shared: &Shared, what: &str, failure: &HttpError) -> Lost {
    let name = &shared.spec.name;
    let text = shared.board.redactor.mask(&chain(failure));
    let lost = |code, message: String, happened| Lost { code, message, help: None, happened };
    match failure {
        StreamableHttpError::AuthRequired(_) | StreamableHttpError::InsufficientScope(_) => Lost {
            help: Some("check the credentials in the source's `headers`".to_owned()),
            ..lost(error::UNAUTHORIZED, format!("server `{name}` refused `{what}`: {text}"), Happened::No)
        },
        StreamableHttpError::HttpStatus(status) if status.status == 429 => {
            let after = status.retry_after.as_deref().map(|after| format!("; it asks to wait {after} s")).unwrap_or_default();
            lost(error::UNAVAILABLE, format!("server `{name}` is too busy for `{what}` (HTTP 429{after})"), Happened::No)
        }
        StreamableHttpError::Client(cause) if cause.is_connect() => {
            lost(error::UNAVAILABLE, format!("server `{name}` cannot be reached for `{what}`: {text}"), Happened::No)
        }
        StreamableHttpError::Client(_)
        | StreamableHttpError::Io(_)
        | StreamableHttpError::Sse(_)
        | StreamableHttpError::UnexpectedEndOfStream => lost(
            error::DISCONNECTED,
            format!("the connection to server `{name}` ended while `{what}` was running: {text}"),
            Happened::Unknown,
        ),
        StreamableHttpError::UnexpectedServerResponse(_) => {
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

//! Requests over streamable HTTP: each one its own POST, answered as JSON or as a stream of events; a stream of a session that is cut
//! is taken up again where it was cut.

use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::{Arc, OnceLock, PoisonError, RwLock};
use std::time::Duration;

use futures_util::{FutureExt, StreamExt};
use http::header::{ACCEPT, CONTENT_TYPE};
use http::{HeaderMap, HeaderName, HeaderValue, StatusCode};
use rmcp::model::ServerJsonRpcMessage;
use rmcp::transport::common::http_header::{EVENT_STREAM_MIME_TYPE, JSON_MIME_TYPE};
use rmcp::transport::streamable_http_client::{HttpStatusError, StreamableHttpError};
use sse_stream::{Sse, SseStream};
use tokio::time::{sleep, timeout};

use super::http::{HttpError, bounded, media_type, quiet, quoted, read_body, refused, retry_after};
use super::inbox::Inbox;
use super::inflight::Waiter;
use super::line::Line;
use crate::wire::{self, Incoming, RawReply};

const PROTOCOL_VERSION: HeaderName = HeaderName::from_static("mcp-protocol-version");
const LAST_EVENT_ID: HeaderName = HeaderName::from_static("last-event-id");
/// The header that a call's idempotency key is in.
pub(crate) const IDEMPOTENCY_KEY: HeaderName = HeaderName::from_static("idempotency-key");
/// How often in a row a stream is taken up again without an event on it.
const RESUMES_MAX: u32 = 6;
/// Wait before the first time, when the server names none; doubles with each further one.
const RESUME_FIRST: Duration = Duration::from_millis(200);
/// Shortest wait of that kind, also when the server names one.
const RESUME_MIN: Duration = Duration::from_millis(20);
/// Longest wait of that kind, also when the server names one.
const RESUME_MAX: Duration = Duration::from_secs(30);
/// How long a stream is read on after its reply, so that its connection can be used again.
const DRAIN: Duration = Duration::from_secs(2);

/// A server behind a URL.
pub(crate) struct Web {
    pub(crate) client: reqwest::Client,
    url: String,
    /// Those of the host's configuration.
    headers: HeaderMap,
    session: RwLock<Option<HeaderValue>>,
    /// What the handshake settled.
    settled: OnceLock<Settled>,
    frame_bytes_max: usize,
    inbox: Arc<Inbox>,
}

struct Settled {
    version: HeaderValue,
    sessionless: bool,
}

/// How far a stream was read.
#[derive(Default)]
struct Place {
    last_event: Option<String>,
    retry: Option<Duration>,
    /// Events with an id so far.
    events: u64,
}

/// What came of a stream.
enum Read {
    Answered,
    Ended(Place),
}

impl Web {
    pub(crate) fn new(
        client: reqwest::Client,
        url: &str,
        headers: HashMap<HeaderName, HeaderValue>,
        frame_bytes_max: usize,
        inbox: Arc<Inbox>,
    ) -> Self {
        let headers = headers.into_iter().collect();
        Web { client, url: url.to_owned(), headers, session: RwLock::default(), settled: OnceLock::new(), frame_bytes_max, inbox }
    }

    /// The session that requests belong to from now on.
    pub(crate) fn opened(&self, session: Option<&str>) {
        let session = session.and_then(|session| HeaderValue::from_str(session).ok());
        *self.session.write().unwrap_or_else(PoisonError::into_inner) = session;
    }

    /// The handshake is done.
    pub(crate) fn settle(&self, version: &str, sessionless: bool) {
        if let Ok(version) = HeaderValue::from_str(version) {
            let _ = self.settled.set(Settled { version, sessionless });
        }
    }

    pub(crate) fn is_sessionless(&self) -> bool {
        self.settled.get().is_some_and(|settled| settled.sessionless)
    }

    fn session(&self) -> Option<HeaderValue> {
        self.session.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// A request with all headers that every one has.
    fn with_headers(&self, request: reqwest::RequestBuilder, more: HeaderMap, session: Option<HeaderValue>) -> reqwest::RequestBuilder {
        let mut headers = more;
        if let Some(settled) = self.settled.get() {
            headers.insert(PROTOCOL_VERSION, settled.version.clone());
        }
        if let Some(session) = session.filter(|_| !self.is_sessionless()) {
            headers.insert(HeaderName::from_static("mcp-session-id"), session);
        }
        // What the host has set is its own word.
        for (name, value) in &self.headers {
            headers.insert(name.clone(), value.clone());
        }
        request.headers(headers)
    }

    fn post(&self, body: Vec<u8>, mut headers: HeaderMap, session: Option<HeaderValue>) -> reqwest::RequestBuilder {
        headers.insert(ACCEPT, HeaderValue::from_static("text/event-stream, application/json"));
        headers.insert(CONTENT_TYPE, HeaderValue::from_static(JSON_MIME_TYPE));
        self.with_headers(self.client.post(&self.url), headers, session).body(body)
    }

    /// Sends something that has no reply.
    pub(crate) async fn deliver(self: &Arc<Self>, body: Vec<u8>) {
        // The newest generation has no messages of that kind over HTTP.
        if !self.is_sessionless() {
            let _ = self.post(body, HeaderMap::new(), self.session()).send().await;
        }
    }

    /// Sends a request and reads until its reply is with its waiter, or will come another way.
    pub(crate) async fn exchange(self: &Arc<Self>, id: u64, waiter: &Waiter, body: Vec<u8>, headers: HeaderMap) -> Result<(), HttpError> {
        let session = self.session();
        let had_session = session.is_some() && !self.is_sessionless();
        let response = self.post(body, headers, session).send().await.map_err(|error| quiet(StreamableHttpError::Client(error)))?;
        let status = response.status();
        refused(status, response.headers(), had_session)?;
        if matches!(status, StatusCode::ACCEPTED | StatusCode::NO_CONTENT) {
            return Ok(());
        }
        let kind = media_type(response.headers());
        if status.is_success() && kind == EVENT_STREAM_MIME_TYPE {
            return self.follow(id, waiter, response).await;
        }
        let retry_after = retry_after(response.headers());
        let body = read_body(response, self.frame_bytes_max).await.map_err(quiet)?;
        let redactor = &self.inbox.board.redactor;
        if kind == JSON_MIME_TYPE {
            self.body(id, &body);
            if waiter.is_answered() {
                return Ok(());
            }
            if status.is_success() {
                waiter.answer(RawReply::Unreadable(format!("its body is no reply: `{}`", quoted(&body, redactor))));
                return Ok(());
            }
        }
        if status.is_success() {
            return Err(StreamableHttpError::UnexpectedContentType(Some(kind)));
        }
        if status.is_server_error() || status == StatusCode::TOO_MANY_REQUESTS {
            return Err(HttpStatusError::new(status.as_u16(), retry_after).into());
        }
        Err(StreamableHttpError::UnexpectedServerResponse(Cow::Owned(format!("HTTP {status}: {}", quoted(&body, redactor)))))
    }

    /// The messages of a JSON body; an error that names no request is about the one it answers.
    fn body(self: &Arc<Self>, id: u64, body: &[u8]) {
        for part in wire::incoming(body) {
            let lone = match &part {
                Incoming::Message(message) if matches!(**message, ServerJsonRpcMessage::Error(_)) => wire::error_in(body),
                _ => None,
            };
            self.take(lone.map_or(part, |error| Incoming::Reply(id, error)), Some(id));
        }
    }

    fn take(self: &Arc<Self>, part: Incoming, of: Option<u64>) -> Option<Box<ServerJsonRpcMessage>> {
        self.inbox.take(part, of, &Line::Web(self.clone()))
    }

    /// Reads the stream of a request, and the streams that continue it.
    async fn follow(self: &Arc<Self>, id: u64, waiter: &Waiter, response: reqwest::Response) -> Result<(), HttpError> {
        let mut place = match self.stream(id, waiter, response, Place::default()).await {
            Ok(Read::Answered) => return Ok(()),
            Ok(Read::Ended(place)) => place,
            Err((error, place)) if self.is_sessionless() || place.last_event.is_none() => return Err(error),
            Err((_, place)) => place,
        };
        if self.is_sessionless() || place.last_event.is_none() {
            return Err(StreamableHttpError::UnexpectedEndOfStream);
        }
        let mut in_vain = 0;
        loop {
            let pause = place.retry.unwrap_or_else(|| RESUME_FIRST.saturating_mul(2_u32.saturating_pow(in_vain)));
            sleep(pause.clamp(RESUME_MIN, RESUME_MAX)).await;
            let before = place.events;
            let failure = match self.resume(&place).await {
                Ok(response) => match self.stream(id, waiter, response, place).await {
                    Ok(Read::Answered) => return Ok(()),
                    Ok(Read::Ended(now)) => {
                        place = now;
                        StreamableHttpError::UnexpectedEndOfStream
                    }
                    Err((error, now)) => {
                        place = now;
                        error
                    }
                },
                // Neither a refusal nor a session that is gone becomes better by asking again.
                Err(error) if !matches!(error, StreamableHttpError::Client(_)) => return Err(error),
                Err(error) => error,
            };
            in_vain = if place.events > before { 0 } else { in_vain + 1 };
            if in_vain >= RESUMES_MAX {
                return Err(failure);
            }
        }
    }

    /// The continuation of a stream.
    async fn resume(&self, place: &Place) -> Result<reqwest::Response, HttpError> {
        let mut headers = HeaderMap::new();
        headers.insert(ACCEPT, HeaderValue::from_static(EVENT_STREAM_MIME_TYPE));
        if let Some(last) = place.last_event.as_deref().and_then(|last| HeaderValue::from_str(last).ok()) {
            headers.insert(LAST_EVENT_ID, last);
        }
        let request = self.with_headers(self.client.get(&self.url), headers, self.session());
        let response = request.send().await.map_err(|error| quiet(StreamableHttpError::Client(error)))?;
        let status = response.status();
        if status.is_success() && media_type(response.headers()) == EVENT_STREAM_MIME_TYPE {
            return Ok(response);
        }
        Err(StreamableHttpError::Io(std::io::Error::other(format!("its stream was cut, and cannot be taken up again: HTTP {status}"))))
    }

    async fn stream(
        self: &Arc<Self>,
        id: u64,
        waiter: &Waiter,
        response: reqwest::Response,
        mut place: Place,
    ) -> Result<Read, (HttpError, Place)> {
        let mut events = SseStream::from_bytes_stream(bounded(response.bytes_stream(), self.frame_bytes_max)).boxed();
        while let Some(event) = events.next().await {
            let event = match event {
                Ok(event) => event,
                Err(error) => return Err((StreamableHttpError::Sse(error), place)),
            };
            if event.id.is_some() {
                place.events += 1;
                place.last_event.clone_from(&event.id);
            }
            if let Some(retry) = event.retry {
                place.retry = Some(Duration::from_millis(retry));
            }
            for part in self.parts(&event) {
                self.take(part, Some(id));
            }
            if waiter.is_answered() {
                // The end of the body frees its connection for the next request.
                if !matches!(events.next().now_or_never(), Some(None)) {
                    tokio::spawn(timeout(DRAIN, async move { while events.next().await.is_some() {} }));
                }
                return Ok(Read::Answered);
            }
        }
        Ok(Read::Ended(place))
    }

    /// The messages of an event; a priming event has none, only its id counts.
    fn parts(&self, event: &Sse) -> Vec<Incoming> {
        let carries = matches!(event.event.as_deref(), None | Some("" | "message"));
        let Some(data) = event.data.as_deref().filter(|data| carries && !data.trim().is_empty()) else { return Vec::new() };
        let parts = wire::incoming(data.as_bytes());
        if parts.iter().any(|part| matches!(part, Incoming::Noise)) {
            self.inbox.board.noise(data.trim());
        }
        parts
    }

    /// Takes an event that belongs to no request; gives back what is for `rmcp`, and the event's id in any case.
    pub(crate) fn unasked(self: &Arc<Self>, mut event: Sse) -> Vec<Sse> {
        let messages: Vec<_> = self.parts(&event).into_iter().filter_map(|part| self.take(part, None)).collect();
        event.data = None;
        let bare = |data| Sse { event: event.event.clone(), data, id: event.id.clone(), retry: event.retry };
        let mut out: Vec<Sse> = messages.iter().filter_map(|message| wire::event(message).ok()).map(|text| bare(Some(text))).collect();
        if out.is_empty() {
            out.push(event);
        }
        out
    }
}

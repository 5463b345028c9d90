//! Streamable HTTP. Sessions, versions, streams and their resumption are `rmcp`'s; this adapter reads the replies to
//! calls and listings itself, so that nothing in them is lost and nothing unreadable is taken for success.

use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::Arc;

use futures_util::stream::BoxStream;
use futures_util::{Stream, StreamExt};
use http::header::{ACCEPT, CONTENT_TYPE, RETRY_AFTER, WWW_AUTHENTICATE};
use http::{HeaderMap, HeaderName, HeaderValue, StatusCode};
use rmcp::model::{ClientJsonRpcMessage, RequestId, ServerJsonRpcMessage};
use rmcp::transport::common::http_header::{EVENT_STREAM_MIME_TYPE, HEADER_SESSION_ID, JSON_MIME_TYPE};
use rmcp::transport::streamable_http_client::{
    AuthRequiredError, HttpStatusError, SseError, StreamableHttpClient, StreamableHttpClientTransport, StreamableHttpClientTransportConfig,
    StreamableHttpError, StreamableHttpPostResponse, StreamableHttpResponseLimits,
};
use sse_stream::{Sse, SseStream};

use super::error::UpstreamError;
use super::progress::ProgressHub;
use super::secrets::Redactor;
use super::spec::ServerSpec;
use super::status::Board;
use crate::wire::{self, Incoming, Reading};

/// Requests that may be under way at once over one connection.
const REQUESTS_AT_ONCE: usize = 256;
/// Redirects followed in a row.
const REDIRECTS_MAX: usize = 5;
/// Bytes of an error page that are quoted.
const PAGE_BYTES_QUOTED: usize = 300;

type HttpError = StreamableHttpError<reqwest::Error>;
type Events = BoxStream<'static, Result<Sse, SseError>>;

/// The HTTP client that `rmcp`'s transport works with.
#[derive(Clone)]
pub(crate) struct HttpPeer {
    client: reqwest::Client,
    board: Arc<Board>,
    progress: Arc<ProgressHub>,
}

/// The transport of a server behind a URL.
pub(crate) fn transport(
    spec: &ServerSpec,
    url: &str,
    headers: &[(String, String)],
    board: &Arc<Board>,
    progress: &Arc<ProgressHub>,
) -> Result<StreamableHttpClientTransport<HttpPeer>, UpstreamError> {
    // Another part of the process may have named a provider already; then that one is used.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let client = reqwest::Client::builder()
        .connect_timeout(spec.start_timeout)
        .tcp_nodelay(true)
        .redirect(reqwest::redirect::Policy::custom(same_place))
        .build()
        .map_err(|error| UpstreamError::start(spec, &board.redactor.mask(&error.to_string())))?;
    let peer = HttpPeer { client, board: board.clone(), progress: progress.clone() };
    let mut config = StreamableHttpClientTransportConfig::with_uri(url)
        .max_concurrent_requests(REQUESTS_AT_ONCE)
        .custom_headers(custom_headers(spec, headers, &board.redactor)?)
        .max_sse_event_size(spec.limits.frame_bytes_max)
        .max_json_response_size(spec.limits.frame_bytes_max)
        .reinit_on_expired_session(true);
    config.allow_stateless = true;
    Ok(StreamableHttpClientTransport::with_client(peer, config))
}

/// Follows a redirect that keeps the message and the server: anything else could carry headers to a stranger.
fn same_place(attempt: reqwest::redirect::Attempt<'_>) -> reqwest::redirect::Action {
    let keeps_message = matches!(attempt.status(), StatusCode::TEMPORARY_REDIRECT | StatusCode::PERMANENT_REDIRECT);
    let same_server = attempt.previous().first().is_some_and(|from| from.origin() == attempt.url().origin());
    if keeps_message && same_server && attempt.previous().len() <= REDIRECTS_MAX { attempt.follow() } else { attempt.stop() }
}

/// An error without its URL, which may carry a secret in its query.
fn quiet(error: HttpError) -> HttpError {
    match error {
        StreamableHttpError::Client(error) => StreamableHttpError::Client(error.without_url()),
        error => error,
    }
}

fn custom_headers(
    spec: &ServerSpec,
    headers: &[(String, String)],
    redactor: &Redactor,
) -> Result<HashMap<HeaderName, HeaderValue>, UpstreamError> {
    let mut custom = HashMap::new();
    for (name, value) in headers {
        let wrong = |what: &str| UpstreamError::start(spec, &format!("the {what} of its header `{}` cannot be sent", redactor.mask(name)));
        let key = HeaderName::from_bytes(name.as_bytes()).map_err(|_| wrong("name"))?;
        let mut value = HeaderValue::from_str(value).map_err(|_| wrong("value"))?;
        value.set_sensitive(true);
        custom.insert(key, value);
    }
    Ok(custom)
}

impl HttpPeer {
    /// Sends a call or a listing and reads the answer.
    async fn exchange(&self, post: Post, id: RequestId, reading: Reading) -> Result<StreamableHttpPostResponse, HttpError> {
        let had_session = post.session_id.is_some();
        let limits = post.limits;
        let response = post.request(&self.client)?.send().await?;
        let status = response.status();
        refused(status, response.headers(), had_session)?;
        if matches!(status, StatusCode::ACCEPTED | StatusCode::NO_CONTENT) {
            return Ok(StreamableHttpPostResponse::Accepted);
        }
        let session = response.headers().get(HEADER_SESSION_ID).and_then(|session| session.to_str().ok()).map(str::to_owned);
        let kind = media_type(response.headers());
        if status.is_success() && kind == EVENT_STREAM_MIME_TYPE {
            let events = SseStream::from_bytes_stream(bounded(response.bytes_stream(), limits.max_sse_event_size));
            return Ok(StreamableHttpPostResponse::Sse(self.events(events, reading), session));
        }
        let retry_after = retry_after(response.headers());
        let body = read_body(response, limits.max_json_response_size).await?;
        if kind == JSON_MIME_TYPE {
            if let Some(reply) = self.reply_in(&body, &id, reading) {
                return Ok(StreamableHttpPostResponse::Json(reply, session));
            }
            if status.is_success() {
                let why = format!("its body is no reply: `{}`", quoted(&body, &self.board.redactor));
                return Ok(StreamableHttpPostResponse::Json(wire::unreadable_reply(id, &why), session));
            }
        }
        if status.is_success() {
            return Err(StreamableHttpError::UnexpectedContentType(Some(kind)));
        }
        if status.is_server_error() || status == StatusCode::TOO_MANY_REQUESTS {
            return Err(HttpStatusError::new(status.as_u16(), retry_after).into());
        }
        Err(StreamableHttpError::UnexpectedServerResponse(Cow::Owned(format!("HTTP {status}: {}", quoted(&body, &self.board.redactor)))))
    }

    /// The reply to that request in a JSON body; other messages in it are served on the way.
    fn reply_in(&self, body: &[u8], id: &RequestId, reading: Reading) -> Option<ServerJsonRpcMessage> {
        let mut reply = None;
        for part in wire::incoming(body, &|_| reading) {
            match part {
                Incoming::Message(message) if answers(&message, id) => reply = Some(*message),
                Incoming::Message(_) | Incoming::Noise => {}
                Incoming::Progress(progress) => self.progress.publish(progress),
            }
        }
        reply
    }

    /// A stream of events as `rmcp` can read them without losing anything.
    fn events<S>(&self, events: S, reading: Reading) -> Events
    where
        S: Stream<Item = Result<Sse, SseError>> + Send + 'static,
    {
        let peer = self.clone();
        events
            .flat_map(move |event| {
                let out = match event {
                    Ok(event) => peer.event(event, reading).into_iter().map(Ok).collect(),
                    Err(error) => vec![Err(error)],
                };
                futures_util::stream::iter(out)
            })
            .boxed()
    }

    fn event(&self, mut event: Sse, reading: Reading) -> Vec<Sse> {
        let carries_message = matches!(event.event.as_deref(), None | Some("" | "message"));
        let Some(data) = event.data.take_if(|_| carries_message) else { return vec![event] };
        if data.trim().is_empty() {
            // A priming event: only its id counts.
            return vec![event];
        }
        let mut out = vec![];
        for part in wire::incoming(data.as_bytes(), &|_| reading) {
            match part {
                Incoming::Message(message) => {
                    if let Ok(text) = wire::event(&message) {
                        out.push(Sse { data: Some(text), ..bare(&event) });
                    }
                }
                Incoming::Progress(progress) => self.progress.publish(progress),
                Incoming::Noise => self.board.noise(data.trim()),
            }
        }
        if out.is_empty() {
            out.push(event);
        }
        out
    }
}

fn bare(event: &Sse) -> Sse {
    Sse { event: event.event.clone(), data: None, id: event.id.clone(), retry: event.retry }
}

/// The header that a call's idempotency key is in.
const IDEMPOTENCY_KEY: HeaderName = HeaderName::from_static("idempotency-key");

/// One message on its way out.
struct Post {
    uri: Arc<str>,
    message: ClientJsonRpcMessage,
    session_id: Option<Arc<str>>,
    auth_header: Option<String>,
    custom_headers: HashMap<HeaderName, HeaderValue>,
    limits: StreamableHttpResponseLimits,
}

impl Post {
    fn request(self, client: &reqwest::Client) -> Result<reqwest::RequestBuilder, HttpError> {
        let mut request = client.post(self.uri.as_ref()).header(ACCEPT, format!("{EVENT_STREAM_MIME_TYPE}, {JSON_MIME_TYPE}"));
        if let Some(token) = self.auth_header {
            request = request.bearer_auth(token);
        }
        // A header of that name that the host has set is its own word.
        let key = wire::idempotency_key(&self.message).filter(|_| !self.custom_headers.contains_key(&IDEMPOTENCY_KEY));
        if let Some(key) = key {
            request = request.header(IDEMPOTENCY_KEY, key);
        }
        for (name, value) in self.custom_headers {
            request = request.header(name, value);
        }
        if let Some(session) = self.session_id {
            request = request.header(HEADER_SESSION_ID, session.as_ref());
        }
        Ok(request.header(CONTENT_TYPE, JSON_MIME_TYPE).body(wire::text(&self.message)?))
    }
}

/// The refusals that have a meaning of their own, whatever their body says.
fn refused(status: StatusCode, headers: &HeaderMap, had_session: bool) -> Result<(), HttpError> {
    match status {
        StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN => {
            let challenge = headers.get(WWW_AUTHENTICATE).and_then(|value| value.to_str().ok());
            let challenge = challenge.map_or_else(|| format!("HTTP {status}"), str::to_owned);
            Err(StreamableHttpError::AuthRequired(AuthRequiredError::new(challenge)))
        }
        StatusCode::NOT_FOUND if had_session => Err(StreamableHttpError::SessionExpired),
        _ => Ok(()),
    }
}

fn answers(message: &ServerJsonRpcMessage, id: &RequestId) -> bool {
    match message {
        ServerJsonRpcMessage::Response(response) => response.id.to_string() == id.to_string(),
        ServerJsonRpcMessage::Error(error) => error.id.as_ref().is_none_or(|theirs| theirs.to_string() == id.to_string()),
        _ => false,
    }
}

fn media_type(headers: &HeaderMap) -> String {
    let value = headers.get(CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
    value.split(';').next().unwrap_or_default().trim().to_ascii_lowercase()
}

fn retry_after(headers: &HeaderMap) -> Option<String> {
    headers.get(RETRY_AFTER).and_then(|value| value.to_str().ok()).map(str::to_owned)
}

/// The beginning of a body. Masked before it is cut: half a secret would escape the mask.
fn quoted(body: &[u8], redactor: &Redactor) -> String {
    let text = redactor.mask(&String::from_utf8_lossy(body));
    let end = (0..=PAGE_BYTES_QUOTED.min(text.len())).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0);
    let cut = if end < text.len() { "…" } else { "" };
    format!("{}{cut}", text.get(..end).unwrap_or_default().trim())
}

async fn read_body(response: reqwest::Response, bytes_max: usize) -> Result<Vec<u8>, HttpError> {
    let too_large = || StreamableHttpError::ResponseBodyTooLarge { max_size: bytes_max };
    let mut body = Vec::new();
    let mut chunks = response.bytes_stream();
    while let Some(chunk) = chunks.next().await {
        let chunk = chunk?;
        if body.len().saturating_add(chunk.len()) > bytes_max {
            return Err(too_large());
        }
        body.extend_from_slice(&chunk);
    }
    Ok(body)
}

/// Ends a stream of events when one of them grows beyond the limit.
fn bounded<S, B>(chunks: S, event_bytes_max: usize) -> impl Stream<Item = std::io::Result<B>> + Send + 'static
where
    S: Stream<Item = reqwest::Result<B>> + Send + 'static,
    B: AsRef<[u8]> + Send + 'static,
{
    let mut event_bytes = 0_usize;
    let mut line_is_empty = true;
    let mut failed = false;
    chunks.map(move |chunk| {
        let chunk = chunk.map_err(std::io::Error::other)?;
        for byte in chunk.as_ref() {
            match byte {
                b'\n' if line_is_empty => event_bytes = 0,
                b'\n' => line_is_empty = true,
                b'\r' => {}
                _ => line_is_empty = false,
            }
            event_bytes = event_bytes.saturating_add(1);
        }
        failed |= event_bytes > event_bytes_max;
        if failed {
            return Err(std::io::Error::other(format!("an event is longer than {event_bytes_max} bytes")));
        }
        Ok(chunk)
    })
}

impl StreamableHttpClient for HttpPeer {
    type Error = reqwest::Error;

    async fn post_message(
        &self,
        uri: Arc<str>,
        message: ClientJsonRpcMessage,
        session_id: Option<Arc<str>>,
        auth_header: Option<String>,
        custom_headers: HashMap<HeaderName, HeaderValue>,
    ) -> Result<StreamableHttpPostResponse, HttpError> {
        let limits = StreamableHttpResponseLimits::default();
        self.post_message_with_response_limits(uri, message, session_id, auth_header, custom_headers, limits).await
    }

    async fn post_message_with_response_limits(
        &self,
        uri: Arc<str>,
        message: ClientJsonRpcMessage,
        session_id: Option<Arc<str>>,
        auth_header: Option<String>,
        custom_headers: HashMap<HeaderName, HeaderValue>,
        limits: StreamableHttpResponseLimits,
    ) -> Result<StreamableHttpPostResponse, HttpError> {
        match wire::wanted(&message) {
            Some((id, reading)) => {
                let post = Post { uri, message, session_id, auth_header, custom_headers, limits };
                self.exchange(post, id, reading).await.map_err(quiet)
            }
            None => self
                .client
                .post_message_with_response_limits(uri, message, session_id, auth_header, custom_headers, limits)
                .await
                .map_err(quiet),
        }
    }

    async fn delete_session(
        &self,
        uri: Arc<str>,
        session_id: Arc<str>,
        auth_header: Option<String>,
        custom_headers: HashMap<HeaderName, HeaderValue>,
    ) -> Result<(), HttpError> {
        self.client.delete_session(uri, session_id, auth_header, custom_headers).await.map_err(quiet)
    }

    async fn get_stream(
        &self,
        uri: Arc<str>,
        session_id: Option<Arc<str>>,
        last_event_id: Option<String>,
        auth_header: Option<String>,
        custom_headers: HashMap<HeaderName, HeaderValue>,
    ) -> Result<Events, HttpError> {
        let bytes_max = StreamableHttpResponseLimits::default().max_sse_event_size;
        self.get_stream_with_max_sse_event_size(uri, session_id, last_event_id, auth_header, custom_headers, bytes_max).await
    }

    async fn get_stream_with_max_sse_event_size(
        &self,
        uri: Arc<str>,
        session_id: Option<Arc<str>>,
        last_event_id: Option<String>,
        auth_header: Option<String>,
        custom_headers: HashMap<HeaderName, HeaderValue>,
        max_sse_event_size: usize,
    ) -> Result<Events, HttpError> {
        let events = self
            .client
            .get_stream_with_max_sse_event_size(uri, session_id, last_event_id, auth_header, custom_headers, max_sse_event_size)
            .await
            .map_err(quiet)?;
        Ok(self.events(events, Reading::Raw))
    }
}

//! Streamable HTTP, the part that `rmcp` leads: the handshake, the stream of a session that belongs to no request, the session's
//! end. Requests go their own way ([`web`](super::web)).

use std::collections::HashMap;
use std::sync::Arc;

use futures_util::stream::BoxStream;
use futures_util::{Stream, StreamExt};
use http::header::{CONTENT_TYPE, RETRY_AFTER, WWW_AUTHENTICATE};
use http::{HeaderMap, HeaderName, HeaderValue, StatusCode};
use rmcp::model::ClientJsonRpcMessage;
use rmcp::transport::streamable_http_client::{
    AuthRequiredError, SseError, StreamableHttpClient, StreamableHttpClientTransport, StreamableHttpClientTransportConfig,
    StreamableHttpError, StreamableHttpPostResponse, StreamableHttpResponseLimits,
};
use sse_stream::Sse;

use super::error::UpstreamError;
use super::inbox::Inbox;
use super::secrets::Redactor;
use super::spec::ServerSpec;
use super::web::Web;
use crate::wire;

/// Redirects followed in a row.
const REDIRECTS_MAX: usize = 5;
/// Bytes of an error page that are quoted.
const PAGE_BYTES_QUOTED: usize = 300;

pub(crate) type HttpError = StreamableHttpError<reqwest::Error>;
type Events = BoxStream<'static, Result<Sse, SseError>>;

/// The HTTP client that `rmcp`'s transport works with.
#[derive(Clone)]
pub(crate) struct HttpPeer {
    web: Arc<Web>,
}

/// The transport of a server behind a URL, and our own way to it.
pub(crate) fn transport(
    spec: &ServerSpec,
    url: &str,
    headers: &[(String, String)],
    inbox: &Arc<Inbox>,
) -> Result<(StreamableHttpClientTransport<HttpPeer>, Arc<Web>), UpstreamError> {
    // Another part of the process may have named a provider already; then that one is used.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let redactor = &inbox.board.redactor;
    let client = reqwest::Client::builder()
        .connect_timeout(spec.start_timeout)
        .tcp_nodelay(true)
        .redirect(reqwest::redirect::Policy::custom(same_place))
        .build()
        .map_err(|error| UpstreamError::start(spec, &redactor.mask(&error.to_string())))?;
    let custom = custom_headers(spec, headers, redactor)?;
    let mut config = StreamableHttpClientTransportConfig::with_uri(url)
        .custom_headers(custom.clone())
        .max_sse_event_size(spec.limits.frame_bytes_max)
        .max_json_response_size(spec.limits.frame_bytes_max)
        // A lost session is found out by a request, and a new connection opened then.
        .reinit_on_expired_session(false);
    config.allow_stateless = true;
    let web = Arc::new(Web::new(client, url, custom, spec.limits.frame_bytes_max, inbox.clone()));
    Ok((StreamableHttpClientTransport::with_client(HttpPeer { web: web.clone() }, config), web))
}

/// Follows a redirect that keeps the message and the server: anything else could carry headers to a stranger.
fn same_place(attempt: reqwest::redirect::Attempt<'_>) -> reqwest::redirect::Action {
    let keeps_message = matches!(attempt.status(), StatusCode::TEMPORARY_REDIRECT | StatusCode::PERMANENT_REDIRECT);
    let same_server = attempt.previous().first().is_some_and(|from| from.origin() == attempt.url().origin());
    if keeps_message && same_server && attempt.previous().len() <= REDIRECTS_MAX { attempt.follow() } else { attempt.stop() }
}

/// An error without its URL, which may carry a secret in its query.
pub(crate) fn quiet(error: HttpError) -> HttpError {
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

/// The refusals that have a meaning of their own, whatever their body says.
pub(crate) fn refused(status: StatusCode, headers: &HeaderMap, had_session: bool) -> Result<(), HttpError> {
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

pub(crate) fn media_type(headers: &HeaderMap) -> String {
    let value = headers.get(CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
    value.split(';').next().unwrap_or_default().trim().to_ascii_lowercase()
}

pub(crate) fn retry_after(headers: &HeaderMap) -> Option<String> {
    headers.get(RETRY_AFTER).and_then(|value| value.to_str().ok()).map(str::to_owned)
}

/// The beginning of a body. Masked before it is cut: half a secret would escape the mask.
pub(crate) fn quoted(body: &[u8], redactor: &Redactor) -> String {
    let text = redactor.mask(&String::from_utf8_lossy(body));
    let end = (0..=PAGE_BYTES_QUOTED.min(text.len())).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0);
    let cut = if end < text.len() { "…" } else { "" };
    format!("{}{cut}", text.get(..end).unwrap_or_default().trim())
}

pub(crate) async fn read_body(response: reqwest::Response, bytes_max: usize) -> Result<Vec<u8>, HttpError> {
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
pub(crate) fn bounded<S, B>(chunks: S, event_bytes_max: usize) -> impl Stream<Item = std::io::Result<B>> + Send + 'static
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

impl HttpPeer {
    /// Remembers the session that an answer opens.
    fn opened(&self, answer: &StreamableHttpPostResponse) {
        if let StreamableHttpPostResponse::Json(_, session) | StreamableHttpPostResponse::Sse(_, session) = answer {
            self.web.opened(session.as_deref());
        }
    }
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
        let opens = wire::opens_session(&message);
        let client = &self.web.client;
        let sent = client.post_message_with_response_limits(uri, message, session_id, auth_header, custom_headers, limits).await;
        let answer = sent.map_err(quiet)?;
        if opens {
            self.opened(&answer);
        }
        Ok(answer)
    }

    async fn delete_session(
        &self,
        uri: Arc<str>,
        session_id: Arc<str>,
        auth_header: Option<String>,
        custom_headers: HashMap<HeaderName, HeaderValue>,
    ) -> Result<(), HttpError> {
        self.web.client.delete_session(uri, session_id, auth_header, custom_headers).await.map_err(quiet)
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
        let client = &self.web.client;
        let events = client
            .get_stream_with_max_sse_event_size(uri, session_id, last_event_id, auth_header, custom_headers, max_sse_event_size)
            .await
            .map_err(quiet)?;
        let web = self.web.clone();
        let events = events.flat_map(move |event| {
            let out = match event {
                Ok(event) => web.unasked(event).into_iter().map(Ok).collect(),
                Err(error) => vec![Err(error)],
            };
            futures_util::stream::iter(out)
        });
        Ok(events.boxed())
    }
}

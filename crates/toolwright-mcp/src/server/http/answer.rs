//! What goes back: JSON, nothing, a stream, or an error that teaches.

use axum::body::{Body, Bytes};
use axum::response::Response;
use http::header::{ALLOW, CACHE_CONTROL, CONTENT_TYPE, RETRY_AFTER, WWW_AUTHENTICATE};
use http::{HeaderName, HeaderValue, StatusCode};

use crate::server::auth::Refusal;
use crate::server::message::{self, RpcError};
use crate::server::outlet::Reply;

/// What errors of HTTP itself have as their JSON-RPC code; the status says the rest.
pub(super) const HTTP_ERROR: i64 = -32_000;
/// The session is not known (any more).
pub(super) const SESSION_UNKNOWN: i64 = -32_001;

const JSON: HeaderValue = HeaderValue::from_static("application/json");
const EVENTS: HeaderValue = HeaderValue::from_static("text/event-stream");
const ACCEL_BUFFERING: HeaderName = HeaderName::from_static("x-accel-buffering");

/// An answer with a JSON text.
pub(super) fn json(status: StatusCode, text: impl Into<Bytes>) -> Response {
    with(status, JSON, Body::from(text.into()))
}

/// An answer without anything.
pub(super) fn empty(status: StatusCode) -> Response {
    let mut response = Response::new(Body::empty());
    *response.status_mut() = status;
    response
}

/// An answer whose events come as they happen.
pub(super) fn events(body: Body) -> Response {
    let mut response = with(StatusCode::OK, EVENTS, body);
    let headers = response.headers_mut();
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-cache, no-transform"));
    // Proxies that gather events before they pass them on are asked not to.
    headers.insert(ACCEL_BUFFERING, HeaderValue::from_static("no"));
    response
}

/// An error, with what to do in its text.
pub(super) fn error(status: StatusCode, code: i64, text: impl Into<String>) -> Response {
    json(status, message::failure(None, &RpcError::new(code, text)).text)
}

/// An error for the sender of a message that could be read.
pub(super) fn refusal(status: StatusCode, reply: Reply) -> Response {
    json(status, reply.text)
}

/// Somebody who is not let in.
pub(super) fn not_admitted(refusal: &Refusal) -> Response {
    let mut response = error(refusal.status, HTTP_ERROR, refusal.message.clone());
    if let Some(challenge) = refusal.challenge.as_ref().and_then(|challenge| HeaderValue::from_str(challenge).ok()) {
        response.headers_mut().insert(WWW_AUTHENTICATE, challenge);
    }
    if refusal.status == StatusCode::SERVICE_UNAVAILABLE {
        response.headers_mut().insert(RETRY_AFTER, HeaderValue::from_static("60"));
    }
    response
}

/// A method that the endpoint does not have.
pub(super) fn no_such_method() -> Response {
    let mut response = error(StatusCode::METHOD_NOT_ALLOWED, HTTP_ERROR, "this endpoint takes POST, and for sessions GET and DELETE");
    response.headers_mut().insert(ALLOW, HeaderValue::from_static("POST, GET, DELETE"));
    response
}

/// Too much at once.
pub(super) fn busy(text: &str) -> Response {
    let mut response = error(StatusCode::SERVICE_UNAVAILABLE, HTTP_ERROR, text);
    response.headers_mut().insert(RETRY_AFTER, HeaderValue::from_static("5"));
    response
}

fn with(status: StatusCode, kind: HeaderValue, body: Body) -> Response {
    let mut response = Response::new(body);
    *response.status_mut() = status;
    response.headers_mut().insert(CONTENT_TYPE, kind);
    response
}

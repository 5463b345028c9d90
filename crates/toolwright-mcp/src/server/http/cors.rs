//! Web pages that may call: what their browser wants to hear before and after.

use axum::response::Response;
use http::header::{
    ACCESS_CONTROL_ALLOW_HEADERS, ACCESS_CONTROL_ALLOW_METHODS, ACCESS_CONTROL_ALLOW_ORIGIN, ACCESS_CONTROL_EXPOSE_HEADERS,
    ACCESS_CONTROL_MAX_AGE, ACCESS_CONTROL_REQUEST_HEADERS, ACCESS_CONTROL_REQUEST_METHOD, VARY,
};
use http::{HeaderValue, Method, Request, StatusCode};

use super::answer;

/// The answer to a browser that asks whether a page may send something.
pub(super) fn preflight<B>(request: &Request<B>, from_page: bool) -> Option<Response> {
    let headers = request.headers();
    if request.method() != Method::OPTIONS || !from_page || !headers.contains_key(ACCESS_CONTROL_REQUEST_METHOD) {
        return None;
    }
    let mut response = answer::empty(StatusCode::NO_CONTENT);
    let out = response.headers_mut();
    out.insert(ACCESS_CONTROL_ALLOW_METHODS, HeaderValue::from_static("POST, GET, DELETE"));
    if let Some(wanted) = headers.get(ACCESS_CONTROL_REQUEST_HEADERS) {
        out.insert(ACCESS_CONTROL_ALLOW_HEADERS, wanted.clone());
    }
    out.insert(ACCESS_CONTROL_MAX_AGE, HeaderValue::from_static("600"));
    Some(response)
}

/// Lets the page read the answer.
pub(super) fn allow(mut response: Response, origin: Option<HeaderValue>) -> Response {
    if let Some(origin) = origin {
        let out = response.headers_mut();
        out.insert(ACCESS_CONTROL_ALLOW_ORIGIN, origin);
        out.insert(ACCESS_CONTROL_EXPOSE_HEADERS, HeaderValue::from_static("mcp-session-id, www-authenticate"));
        out.insert(VARY, HeaderValue::from_static("origin"));
    }
    response
}

//! GET and DELETE, which only sessions have: the stream of messages that belong to no request, a stream taken up again, the end.

use std::sync::Arc;

use axum::body::Body;
use axum::response::Response;
use http::{HeaderMap, StatusCode};

use super::answer::{self, HTTP_ERROR, SESSION_UNKNOWN};
use super::endpoint::Endpoint;
use super::headers::{self, LAST_EVENT, SESSION, VERSION};
use super::reader::{Reader, opening};
use super::sessions::{InUse, Session};
use crate::server::caller::Caller;
use crate::server::version::Version;

/// The session that a request names.
///
/// # Errors
/// The answer, when it names none, one that is not known, or a version that is not spoken.
pub(super) fn session(endpoint: &Endpoint, headers: &HeaderMap, caller: &Caller) -> Result<Arc<Session>, Box<Response>> {
    let bad = |text: String| Box::new(answer::error(StatusCode::BAD_REQUEST, HTTP_ERROR, text));
    let id = headers::only(headers, &SESSION).map_err(|error| bad(error.message))?;
    let Some(id) = id.filter(|id| !id.is_empty()) else {
        return Err(bad(format!(
            "the header `{SESSION}` is missing; begin with `initialize` and send the id that its answer carries, \
             or name a version without sessions in `_meta` of each request"
        )));
    };
    let found = endpoint.sessions.find(id, caller).ok_or_else(|| {
        let text = "this session is not known or has ended; begin a new one with `initialize`";
        Box::new(answer::error(StatusCode::NOT_FOUND, SESSION_UNKNOWN, text))
    })?;
    let version = headers::only(headers, &VERSION).map_err(|error| bad(error.message))?;
    match version {
        Some(version) if Version::parse(version).is_none() => {
            Err(bad(format!("the header `{VERSION}` names `{version}`, which is not spoken here; these are: {}", headers::versions())))
        }
        _ => Ok(found),
    }
}

/// The version of a session.
pub(super) fn version(session: &Session) -> Version {
    session.client.terms().map_or(Version::UNNAMED, |terms| terms.version)
}

/// Opens the standing stream of a session, or takes up one that was cut.
pub(super) fn stream(endpoint: &Arc<Endpoint>, headers: &HeaderMap, caller: &Caller) -> Response {
    let has_session = headers.contains_key(&SESSION);
    let sessionless = headers::only(headers, &VERSION).ok().flatten().and_then(Version::parse).is_some_and(Version::sessionless);
    if !has_session && sessionless {
        return answer::no_such_method();
    }
    let session = match session(endpoint, headers, caller) {
        Ok(session) => session,
        Err(response) => return *response,
    };
    if !headers::accepts(headers, &["text/event-stream"]) {
        let text = "a GET is answered with a stream; say `Accept: text/event-stream`";
        return answer::error(StatusCode::NOT_ACCEPTABLE, HTTP_ERROR, text);
    }
    let mailbox = &session.mailbox;
    let wanted = match headers::only(headers, &LAST_EVENT) {
        Ok(Some(last)) => last.split_once('-').and_then(|(stream, event)| Some((stream.parse().ok()?, event.parse().ok()?))),
        Ok(None) if mailbox.is_read(session.standing) => {
            let text = "this session has an open stream of messages already; close it, or take it up with `Last-Event-ID`";
            return answer::error(StatusCode::CONFLICT, HTTP_ERROR, text);
        }
        Ok(None) => Some((session.standing, mailbox.read_up_to(session.standing))),
        Err(_) => None,
    };
    let Some(place) = wanted.and_then(|(stream, after)| mailbox.attach(stream, after)) else {
        let text = format!("`{LAST_EVENT}` names no event that is kept for this session; open a stream without it");
        return answer::error(StatusCode::BAD_REQUEST, HTTP_ERROR, text);
    };
    let opening = opening(version(&session), place.stream, place.after, endpoint.limits.retry);
    let kept = InUse::new(session.clone(), endpoint.sessions.clone());
    answer::events(Body::from_stream(Reader::new(mailbox.clone(), place, opening, endpoint.limits.stream_pulse, kept)))
}

/// Ends a session.
pub(super) fn delete(endpoint: &Endpoint, headers: &HeaderMap, caller: &Caller) -> Response {
    if let Err(response) = session(endpoint, headers, caller) {
        return *response;
    }
    let id = headers::only(headers, &SESSION).ok().flatten().unwrap_or_default();
    endpoint.sessions.end(&endpoint.engine, id, caller);
    answer::empty(StatusCode::NO_CONTENT)
}

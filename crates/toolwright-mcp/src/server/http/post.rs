//! POST: a message comes in, and its answer goes back as JSON or as a stream.

use std::sync::Arc;
use std::time::Duration;

use axum::body::{Body, Bytes};
use axum::response::Response;
use http::{HeaderMap, HeaderValue, Request, StatusCode};
use http_body_util::{BodyExt as _, LengthLimitError, Limited};
use hyper::body::Incoming as Sent;
use toolwright::{Text, Value};

use super::answer::{self, HTTP_ERROR};
use super::endpoint::Endpoint;
use super::exchange::{Exchange, First};
use super::headers::{self, SESSION, VERSION};
use super::mailbox::Mailbox;
use super::reader::{Reader, opening};
use super::sessions::{InUse, Session};
use crate::server::caller::Caller;
use crate::server::client::{Client, ClientKind};
use crate::server::engine::{Arrived, Engine};
use crate::server::message::{
    self, HEADER_MISMATCH, INVALID_PARAMS, INVALID_REQUEST, Incoming, METHOD_NOT_FOUND, MISSING_CAPABILITY, PARSE_ERROR, Read, RpcError,
    UNSUPPORTED_VERSION,
};
use crate::server::outlet::{Nowhere, Outlet};
use crate::server::request::{META_CAPABILITIES, META_CLIENT, META_VERSION};
use crate::server::version::Version;

/// How long `initialize` may take.
const INITIALIZE_WAIT: Duration = Duration::from_secs(10);

/// Answers a POST of an admitted caller.
pub(super) async fn answer(endpoint: &Arc<Endpoint>, request: Request<Sent>, caller: Caller) -> Response {
    let (head, body) = request.into_parts();
    if !headers::is_json(&head.headers) {
        let text = "a message is JSON; say `Content-Type: application/json`";
        return answer::error(StatusCode::UNSUPPORTED_MEDIA_TYPE, HTTP_ERROR, text);
    }
    if !headers::accepts(&head.headers, &["application/json", "text/event-stream"]) {
        let text = "a message is answered with JSON or with a stream; say `Accept: application/json, text/event-stream`";
        return answer::error(StatusCode::NOT_ACCEPTABLE, HTTP_ERROR, text);
    }
    let key = match headers::key(&head.headers) {
        Ok(key) => key,
        Err(error) => return answer::error(StatusCode::BAD_REQUEST, HTTP_ERROR, error.message),
    };
    let bytes = match body_of(endpoint, body).await {
        Ok(bytes) => bytes,
        Err(response) => return response,
    };
    let read = message::read(&bytes);
    let post = Post { endpoint, headers: &head.headers, caller, key };
    match generation(&head.headers, &read) {
        Generation::Sessionless => post.single(read).await,
        Generation::Beginning => post.initialize(read).await,
        Generation::Session => post.in_session(read).await,
        Generation::Unusable => unusable(&read),
    }
}

async fn body_of(endpoint: &Endpoint, body: Sent) -> Result<Bytes, Response> {
    let most = endpoint.engine.options.limits.message_bytes_max;
    let read = tokio::time::timeout(endpoint.limits.body_wait, Limited::new(body, most).collect()).await;
    match read {
        Ok(Ok(body)) => Ok(body.to_bytes()),
        Ok(Err(error)) if error.is::<LengthLimitError>() => {
            let text = format!("the message has more than {most} bytes (message_bytes_max); send less at once");
            Err(answer::error(StatusCode::PAYLOAD_TOO_LARGE, HTTP_ERROR, text))
        }
        Ok(Err(_)) => Err(answer::error(StatusCode::BAD_REQUEST, HTTP_ERROR, "the body broke off; send it again")),
        Err(_) => {
            let text = format!("the body did not come within {} seconds (body_wait); send it faster", endpoint.limits.body_wait.as_secs());
            Err(answer::error(StatusCode::REQUEST_TIMEOUT, HTTP_ERROR, text))
        }
    }
}

/// To which generation a message belongs.
enum Generation {
    Sessionless,
    /// It begins a session.
    Beginning,
    Session,
    /// Nothing can be made of it.
    Unusable,
}

/// A message that names its version belongs to the sessionless generation, and so does one without a session whose header does. A client
/// that has a session and names the newest version it knows in the header is in its session.
fn generation(headers: &HeaderMap, read: &Read) -> Generation {
    let in_session = headers.contains_key(&SESSION);
    let header = headers.get(&VERSION).and_then(|value| value.to_str().ok()).map(str::trim);
    match read {
        Read::One(Ok(message)) if message.names_version().is_some() => Generation::Sessionless,
        Read::One(Err(_)) if !in_session => Generation::Unusable,
        _ if in_session => Generation::Session,
        Read::One(Ok(message)) if header.and_then(Version::parse).is_some_and(Version::sessionless) => match message {
            Incoming::Request { method, .. } if method == "initialize" => Generation::Beginning,
            _ => Generation::Sessionless,
        },
        Read::One(Ok(Incoming::Request { method, .. })) if method == "initialize" => Generation::Beginning,
        _ => Generation::Session,
    }
}

fn unusable(read: &Read) -> Response {
    match read.messages().first() {
        Some(Err(unusable)) => {
            let reply = message::failure(unusable.id.as_ref(), &unusable.error);
            answer::refusal(StatusCode::BAD_REQUEST, reply)
        }
        _ => answer::error(StatusCode::BAD_REQUEST, INVALID_REQUEST, "there is no message in the body"),
    }
}

struct Post<'p> {
    endpoint: &'p Arc<Endpoint>,
    headers: &'p HeaderMap,
    caller: Caller,
    key: Option<Text>,
}

impl Post<'_> {
    /// A message that stands for itself.
    async fn single(self, read: Read) -> Response {
        let engine = &self.endpoint.engine;
        let client = engine.client(ClientKind::Single, self.caller.clone(), Arc::new(Nowhere));
        let leaving = Leaving { engine: engine.clone(), client };
        let Some(Ok(message)) = read.messages().first() else { return unusable(&read) };
        if let Err(error) = self.check_single(message) {
            let id = match message {
                Incoming::Request { id, .. } => Some(id),
                Incoming::Notification { .. } | Incoming::Response { .. } => None,
            };
            return answer::refusal(StatusCode::BAD_REQUEST, message::failure(id, &error));
        }
        let meta_is_whole = message.params().get("_meta").is_some_and(|meta| meta.get(META_CAPABILITIES).is_some());
        if !read.wants_reply() {
            engine.receive(&leaving.client, Arrived { read, key: self.key }, &nowhere());
            return answer::empty(StatusCode::ACCEPTED);
        }
        let mailbox = self.endpoint.mailbox();
        let exchange = Exchange::new(mailbox.clone());
        let outlet: Arc<dyn Outlet> = exchange.clone();
        engine.receive(&leaving.client, Arrived { read, key: self.key.clone() }, &outlet);
        let waiting = Waiting { exchange, _kept: leaving };
        match waiting.exchange.first(self.endpoint.limits.single_reply_wait).await {
            First::Reply(reply) => answer::json(status_of_single(reply.error, meta_is_whole), reply.text),
            First::Ended => answer::events(Body::empty()),
            First::Stream(stream) => self.streamed(&mailbox, stream, None, waiting),
        }
    }

    fn check_single(&self, message: &Incoming) -> Result<(), RpcError> {
        if let Incoming::Response { .. } = message {
            return Err(RpcError::new(INVALID_REQUEST, "nothing was asked: without a session, answers come as `inputResponses`"));
        }
        let version = message.names_version();
        if matches!(message, Incoming::Request { .. }) && version.and_then(Value::as_str).is_none() {
            return Err(RpcError::new(INVALID_PARAMS, format!("`params._meta` must name the version in `{META_VERSION}`, as a text")));
        }
        headers::check(self.headers, message)?;
        if let Incoming::Request { method, params, .. } = message
            && method == "tools/call"
            && let Some(tool) = params.get("name").and_then(Value::as_str)
        {
            let name = params.get("_meta").and_then(|meta| meta.get(META_CLIENT)?.get("name")?.as_str());
            let mirrored = self.endpoint.engine.mirrored(&self.caller, name, tool);
            let pairs = mirrored.iter().map(|mirrored| (mirrored.header.as_str(), mirrored.path.as_slice()));
            headers::check_mirrored(self.headers, pairs, params.get("arguments").unwrap_or(&Value::Null))?;
        }
        Ok(())
    }

    /// The message that begins a session.
    async fn initialize(self, read: Read) -> Response {
        let Endpoint { engine, sessions, .. } = &**self.endpoint;
        if !sessions.has_room(engine) {
            return answer::busy(
                "there are as many sessions as this server takes (sessions_max); try again later, or end one that is not used",
            );
        }
        let session = sessions.begin(engine, self.caller);
        let exchange = Exchange::new(session.mailbox.clone());
        let outlet: Arc<dyn Outlet> = exchange.clone();
        engine.receive(&session.client, Arrived { read, key: None }, &outlet);
        let First::Reply(reply) = exchange.first(INITIALIZE_WAIT).await else {
            session.discard(engine);
            return answer::busy("the session could not be begun in time; try again");
        };
        if reply.error.is_some() || session.client.terms().is_none() {
            session.discard(engine);
            return answer::json(status_in_session(reply.error), reply.text);
        }
        let id = sessions.add(&session).and_then(|id| HeaderValue::try_from(id).ok());
        let Some(mut id) = id else {
            session.discard(engine);
            return answer::busy("there are as many sessions as this server takes (sessions_max); try again later");
        };
        id.set_sensitive(true);
        let mut response = answer::json(StatusCode::OK, reply.text);
        response.headers_mut().insert(SESSION, id);
        response
    }

    /// A message of a session.
    async fn in_session(self, read: Read) -> Response {
        let session = match super::get::session(self.endpoint, self.headers, &self.caller) {
            Ok(session) => session,
            Err(response) => return *response,
        };
        let Endpoint { engine, sessions, .. } = &**self.endpoint;
        let Session { client, mailbox, .. } = &*session;
        if !read.wants_reply() {
            engine.receive(client, Arrived { read, key: self.key }, &nowhere());
            return answer::empty(StatusCode::ACCEPTED);
        }
        let exchange = Exchange::new(mailbox.clone());
        let outlet: Arc<dyn Outlet> = exchange.clone();
        engine.receive(client, Arrived { read, key: self.key.clone() }, &outlet);
        let waiting = Waiting { exchange, _kept: InUse::new(session.clone(), sessions.clone()) };
        match waiting.exchange.first(self.endpoint.limits.reply_wait).await {
            First::Reply(reply) => answer::json(status_in_session(reply.error), reply.text),
            First::Ended => answer::events(Body::empty()),
            First::Stream(stream) => self.streamed(mailbox, stream, Some(super::get::version(&session)), waiting),
        }
    }

    fn streamed<K: Send + Unpin + 'static>(&self, mailbox: &Arc<Mailbox>, stream: u64, version: Option<Version>, kept: K) -> Response {
        let limits = &self.endpoint.limits;
        let Some(place) = mailbox.attach(stream, 0) else { return answer::events(Body::empty()) };
        let opening = version.and_then(|version| opening(version, stream, 0, limits.retry));
        answer::events(Body::from_stream(Reader::new(mailbox.clone(), place, opening, limits.stream_pulse, kept)))
    }
}

fn nowhere() -> Arc<dyn Outlet> {
    Arc::new(Nowhere)
}

/// Somebody waits for an exchange; dropped when the client hangs up.
struct Waiting<K> {
    exchange: Arc<Exchange>,
    _kept: K,
}

impl<K> Drop for Waiting<K> {
    fn drop(&mut self) {
        self.exchange.hung_up();
    }
}

/// The sender of one message: whatever becomes of its request, when this is dropped it is gone, and what still runs for it is cancelled.
struct Leaving {
    engine: Arc<Engine>,
    client: Arc<Client>,
}

impl Drop for Leaving {
    fn drop(&mut self) {
        self.engine.left(&self.client);
    }
}

/// The status of a reply in a session: errors of methods are answers like any other.
fn status_in_session(error: Option<i64>) -> StatusCode {
    match error {
        Some(PARSE_ERROR | INVALID_REQUEST) => StatusCode::BAD_REQUEST,
        _ => StatusCode::OK,
    }
}

/// The status of a reply without a session, as 2026-07-28 has it.
fn status_of_single(error: Option<i64>, meta_is_whole: bool) -> StatusCode {
    match error {
        Some(METHOD_NOT_FOUND) => StatusCode::NOT_FOUND,
        Some(PARSE_ERROR | INVALID_REQUEST | HEADER_MISMATCH | MISSING_CAPABILITY | UNSUPPORTED_VERSION) => StatusCode::BAD_REQUEST,
        Some(INVALID_PARAMS) if !meta_is_whole => StatusCode::BAD_REQUEST,
        _ => StatusCode::OK,
    }
}

//! One request of HTTP, from its headers to what handles it: where it comes from, who sends it, what it wants.

use std::convert::Infallible;
use std::net::SocketAddr;
use std::sync::Arc;

use axum::response::Response;
use http::{Method, Request, StatusCode};
use hyper::body::Incoming as Body;

use super::mailbox::{Common, Mailbox, Rules};
use super::places::Places;
use super::sessions::Sessions;
use super::{HttpLimits, HttpOptions, answer, cors, get, post};
use crate::server::auth::{Door, WELL_KNOWN};
use crate::server::engine::Engine;

/// What every connection shares.
pub(super) struct Endpoint {
    pub(super) engine: Arc<Engine>,
    pub(super) sessions: Arc<Sessions>,
    pub(super) limits: HttpLimits,
    path: String,
    places: Places,
    door: Door,
    common: Arc<Common>,
}

impl Endpoint {
    pub(super) fn new(engine: Arc<Engine>, options: &HttpOptions, address: SocketAddr) -> Arc<Self> {
        let common = Common::new(options.limits.replay_bytes_total);
        let door = Door::new(&options.access);
        Arc::new(Self {
            sessions: Sessions::new(engine.options.limits, common.clone()),
            limits: options.limits,
            path: options.path.clone(),
            places: Places::new(options, address, door.host()),
            door,
            common,
            engine,
        })
    }

    /// A mailbox for one request that belongs to no session.
    pub(super) fn mailbox(&self) -> Arc<Mailbox> {
        Mailbox::new(Rules { replay: false, bytes_max: self.engine.options.limits.replay_bytes_max }, self.common.clone())
    }

    /// Answers a request.
    pub(super) async fn answer(self: Arc<Self>, request: Request<Body>) -> Result<Response, Infallible> {
        let origin = match self.places.admit(request.headers(), request.uri()) {
            Ok(origin) => origin.and(request.headers().get(http::header::ORIGIN).cloned()),
            Err(stranger) => return Ok(answer::error(StatusCode::FORBIDDEN, answer::HTTP_ERROR, stranger.text())),
        };
        Ok(cors::allow(self.inside(request, origin.is_some()).await, origin))
    }

    /// A request from a place that may send some.
    async fn inside(self: Arc<Self>, request: Request<Body>, from_page: bool) -> Response {
        let path = request.uri().path();
        if let Some(rest) = path.strip_prefix(WELL_KNOWN) {
            return self.metadata(request.method(), rest);
        }
        if path != self.path {
            let text = format!("there is nothing at this path; the endpoint is `{}`", self.path);
            return answer::error(StatusCode::NOT_FOUND, answer::HTTP_ERROR, text);
        }
        if let Some(response) = cors::preflight(&request, from_page) {
            return response;
        }
        let caller = match self.door.admit(request.headers()).await {
            Ok(caller) => caller,
            Err(refusal) => return answer::not_admitted(&refusal),
        };
        match *request.method() {
            Method::POST => post::answer(&self, request, caller).await,
            Method::GET => get::stream(&self, request.headers(), &caller),
            Method::DELETE => get::delete(&self, request.headers(), &caller),
            _ => answer::no_such_method(),
        }
    }

    /// What is published of this server: at the root, and at the path of the endpoint.
    fn metadata(&self, method: &Method, rest: &str) -> Response {
        let here = rest.is_empty() || rest == "/" || rest == self.path;
        match self.door.metadata().filter(|_| here) {
            Some(metadata) if method == Method::GET => answer::json(StatusCode::OK, metadata.to_owned()),
            Some(_) => answer::error(StatusCode::METHOD_NOT_ALLOWED, answer::HTTP_ERROR, "metadata is read with GET"),
            None => answer::error(StatusCode::NOT_FOUND, answer::HTTP_ERROR, "this server publishes no metadata here"),
        }
    }
}

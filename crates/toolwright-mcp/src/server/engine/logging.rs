//! Log lines of the servers behind us: whose they are, and which ones a client wants.
//!
//! A server of an older generation has one level for everybody, so it is told the lowest that any session wants; each session gets what
//! is grave enough for itself, of its own calls.

use std::sync::Arc;

use toolwright::{Object, Text, Value};

use super::{Engine, handshake};
use crate::server::request::{LogLevel, Request};
use crate::upstream::{Era, Passed, State, Upstream};

impl Engine {
    /// `logging/setLevel` of a session.
    pub(super) fn log_level_set(self: &Arc<Self>, request: &Request) {
        let level = request.params.get("level");
        let Some(chosen) = level.and_then(Value::as_str).and_then(LogLevel::parse) else {
            return request.refuse(&handshake::unknown_level(level));
        };
        request.client.set_log_level(chosen);
        request.reply(&Value::Object(Object::EMPTY));
        let current = self.current.load_full();
        let running = current.offer().upstreams.iter().filter(|upstream| upstream.status().state == State::Ready);
        for upstream in running {
            let (engine, upstream) = (self.clone(), upstream.clone());
            tokio::spawn(async move { engine.level_again(&upstream).await });
        }
    }

    /// Tells a server which lines somebody wants, if it can be told.
    pub(super) async fn level_again(&self, upstream: &Upstream) {
        let levels = self.present().into_iter().filter_map(|client| client.terms()?.log_level);
        // One of the sessionless generation has no such method, and is told with each call.
        let told = upstream.status().era != Some(Era::Sessionless) && upstream.capabilities().get("logging").is_some();
        let Some(lowest) = levels.min().filter(|_| told) else { return };
        let params = Value::object([("level", Value::from(lowest.name()))]);
        // What it answers changes nothing for its clients.
        let _ = upstream.pass(Passed::new("logging/setLevel", params, Text::default())).await;
    }

    /// A line goes to whoever made the call, if it is grave enough for them.
    pub(super) fn logged(&self, run: &str, params: &Value) {
        let Some(request) = self.calls.client_of_run(run) else { return };
        // A session may have said otherwise since the request came.
        let terms = if request.terms.version.sessionless() { Some(request.terms.clone()) } else { request.client.terms() };
        let level = params.get("level").and_then(Value::as_str).and_then(LogLevel::parse);
        let least = terms.and_then(|terms| terms.log_level);
        if least.is_some_and(|least| level.is_none_or(|level| level >= least)) {
            request.notify("notifications/message", params);
        }
    }
}

//! One request of a client, as everything behind the dispatch takes it.

use std::sync::Arc;

use toolwright::{Object, Text, Value};

use super::client::Client;
use super::message::{self, Id, RpcError};
use super::outlet::Outlet;
use super::version::Version;

/// The members of `_meta` in which a sessionless request says what a session says once.
pub(crate) const META_VERSION: &str = "io.modelcontextprotocol/protocolVersion";
pub(crate) const META_CAPABILITIES: &str = "io.modelcontextprotocol/clientCapabilities";
pub(crate) const META_CLIENT: &str = "io.modelcontextprotocol/clientInfo";
pub(crate) const META_LOG_LEVEL: &str = "io.modelcontextprotocol/logLevel";
pub(crate) const META_SERVER: &str = "io.modelcontextprotocol/serverInfo";
pub(crate) const META_SUBSCRIPTION: &str = "io.modelcontextprotocol/subscriptionId";

/// A request that is to be answered.
#[derive(Clone)]
pub(crate) struct Request {
    pub(crate) client: Arc<Client>,
    pub(crate) terms: Arc<Terms>,
    pub(crate) id: Id,
    pub(crate) method: Text,
    /// An object, or `null` when there were none.
    pub(crate) params: Value,
    /// The idempotency key that the transport was given beside the message.
    pub(crate) key: Option<Text>,
    /// Takes the one reply. It frees the id with it and lets nothing through afterwards, nor after a cancellation; dropped without a
    /// reply, it sends an error, so that no client waits for ever.
    pub(crate) outlet: Arc<dyn Outlet>,
}

/// What a client said about itself: at `initialize`, or with this very request.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Terms {
    pub(crate) version: Version,
    /// The client's capabilities, as sent.
    pub(crate) capabilities: Value,
    /// Its name and version, as sent; `null` when it did not say.
    pub(crate) client: Value,
    /// Log lines from here on are sent; absent: none.
    pub(crate) log_level: Option<LogLevel>,
    /// Our own name and version, as results of the sessionless generation have it.
    pub(crate) server: Value,
}

/// How grave a log line is (RFC 5424).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum LogLevel {
    Debug,
    Info,
    Notice,
    Warning,
    Error,
    Critical,
    Alert,
    Emergency,
}

impl LogLevel {
    pub(crate) const NAMES: [(&'static str, LogLevel); 8] = [
        ("debug", LogLevel::Debug),
        ("info", LogLevel::Info),
        ("notice", LogLevel::Notice),
        ("warning", LogLevel::Warning),
        ("error", LogLevel::Error),
        ("critical", LogLevel::Critical),
        ("alert", LogLevel::Alert),
        ("emergency", LogLevel::Emergency),
    ];

    pub(crate) fn name(self) -> &'static str {
        LogLevel::NAMES.into_iter().find(|(_, level)| *level == self).map_or("", |(name, _)| name)
    }

    pub(crate) fn parse(text: &str) -> Option<LogLevel> {
        LogLevel::NAMES.into_iter().find(|(name, _)| *name == text).map(|(_, level)| level)
    }
}

impl Request {
    /// A member of `_meta`.
    pub(crate) fn meta(&self, name: &str) -> Option<&Value> {
        self.params.get("_meta")?.get(name)
    }

    /// Answers with a result, as it is.
    pub(crate) fn reply(&self, result: &Value) {
        self.outlet.reply(message::reply(&self.id, result));
    }

    /// Answers with a result that has what its generation wants of every result: see [`complete`].
    pub(crate) fn reply_complete(&self, result: Value) {
        self.reply(&complete(&self.terms, result));
    }

    /// Answers with an error.
    pub(crate) fn refuse(&self, error: &RpcError) {
        self.outlet.reply(message::failure(Some(&self.id), error));
    }

    /// Sends a notification that belongs to it.
    pub(crate) fn notify(&self, method: &str, params: &Value) {
        self.outlet.tell(message::notification(method, params));
    }
}

/// Puts `resultType` and our name into a result of the sessionless generation, unless it has them. Others are untouched.
pub(crate) fn complete(terms: &Terms, result: Value) -> Value {
    match result {
        Value::Object(object) if terms.version.sessionless() => {
            let named = with_meta(&object, META_SERVER, terms.server.clone());
            let typed = if named.get("resultType").is_none() { named.with("resultType", "complete") } else { named };
            Value::Object(typed)
        }
        other => other,
    }
}

/// The result with another member in its `_meta`, unless it has one of that name.
pub(crate) fn with_meta(result: &Object, name: &str, value: Value) -> Object {
    let meta = match result.get("_meta") {
        Some(Value::Object(meta)) => meta.clone(),
        _ => Object::EMPTY,
    };
    if meta.get(name).is_some() { result.clone() } else { result.with("_meta", meta.with(name, value)) }
}

//! What a server is told about us with each request, and what it said about itself when it started.

use std::sync::Arc;

use rmcp::model::ClientCapabilities;
use rmcp::service::Peer;
use rmcp::{RoleClient, model::Implementation};
use toolwright::Value;

use super::connect::Connection;
use super::inbox::QUESTIONS;
use super::questions::Questions;
use super::supervise::Shared;

const VERSION: &str = "io.modelcontextprotocol/protocolVersion";
const INFO: &str = "io.modelcontextprotocol/clientInfo";
const CAPABILITIES: &str = "io.modelcontextprotocol/clientCapabilities";
const LOG_LEVEL: &str = "io.modelcontextprotocol/logLevel";
/// The extension for tasks.
pub(crate) const TASKS: &str = "io.modelcontextprotocol/tasks";

/// What the handshake settled.
#[derive(Clone, Debug)]
pub(crate) struct Terms {
    pub(crate) version: String,
    pub(crate) sessionless: bool,
    /// The server's capabilities.
    pub(crate) capabilities: Value,
}

impl Terms {
    pub(crate) fn of(peer: &Peer<RoleClient>) -> Self {
        let Some(info) = peer.peer_info() else {
            return Terms { version: String::new(), sessionless: false, capabilities: Value::Null };
        };
        let capabilities = serde_json::to_value(&info.capabilities).ok().and_then(|all| Value::from_json(all).ok());
        Terms {
            version: info.protocol_version.to_string(),
            sessionless: !info.protocol_version.has_initialize(),
            capabilities: capabilities.unwrap_or_default(),
        }
    }
}

/// Our name and version.
pub(crate) fn implementation() -> Implementation {
    Implementation::new("toolwright", env!("CARGO_PKG_VERSION"))
}

/// What a session declares once for all calls: with somebody to ask everything, since the client of a call is not known yet.
pub(crate) fn of_session(questions: Option<&Arc<dyn Questions>>) -> ClientCapabilities {
    let all = serde_json::json!({"sampling": {}, "elicitation": {"form": {}, "url": {}}, "roots": {}});
    match questions {
        Some(_) => serde_json::from_value(all).unwrap_or_default(),
        None => ClientCapabilities::default(),
    }
}

/// What `_meta` of a request says to a server of the newest generation; nothing to an older one.
pub(crate) fn meta(shared: &Shared, connection: &Connection, run: Option<&str>) -> Vec<(&'static str, Value)> {
    if !connection.terms.sessionless {
        return Vec::new();
    }
    let info = Value::object([("name", Value::from("toolwright")), ("version", Value::from(env!("CARGO_PKG_VERSION")))]);
    let mut meta = vec![(VERSION, Value::from(connection.terms.version.as_str())), (INFO, info), (CAPABILITIES, declared(shared, run))];
    let level = run.and_then(|run| shared.questions.as_ref()?.log_level(run));
    if let Some(level) = level {
        meta.push((LOG_LEVEL, Value::from(level)));
    }
    meta
}

/// What the client of a run can do, of what we can carry. Where nobody says, tasks alone: those are waited for here.
fn declared(shared: &Shared, run: Option<&str>) -> Value {
    let tasks = || Value::object([(TASKS, empty())]);
    let client = match run {
        Some(run) => shared.questions.as_ref().map(|questions| questions.capabilities(run)).unwrap_or_default(),
        None => return empty(),
    };
    if client.is_null() {
        return Value::object([("extensions", tasks())]);
    }
    let kinds = QUESTIONS.iter().filter_map(|method| method.split('/').next());
    let mut carried: Vec<(&str, Value)> = kinds.filter_map(|kind| client.get(kind).map(|can| (kind, can.clone()))).collect();
    if client.get("extensions").and_then(|all| all.get(TASKS)).is_some() {
        carried.push(("extensions", tasks()));
    }
    Value::object(carried)
}

fn empty() -> Value {
    Value::object::<&str, Value>([])
}

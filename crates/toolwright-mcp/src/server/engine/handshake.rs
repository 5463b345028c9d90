//! Under which terms a request is answered: what `initialize` agreed, or what the request says of itself; and what we say of ourselves.

use std::sync::Arc;

use toolwright::{Object, Value, json};

use super::{Engine, shortened};
use crate::server::client::{Client, ClientKind};
use crate::server::message::{self, RpcError};
use crate::server::request::{LogLevel, META_CAPABILITIES, META_CLIENT, META_LOG_LEVEL, META_VERSION, Request, Terms};
use crate::server::version::Version;

/// How long a client may take what we said of ourselves for the truth, in milliseconds. It is told of changes of lists.
const DISCOVERY_TTL_MS: u64 = 300_000;

/// The extension of skills (SEP-2640).
const SKILLS: &str = "io.modelcontextprotocol/skills";

impl Engine {
    /// The terms of a request.
    pub(super) fn terms_of(&self, client: &Client, method: &str, params: &Value) -> Result<Arc<Terms>, RpcError> {
        let named = params.get("_meta").and_then(|meta| meta.get(META_VERSION));
        let sessionless = named.is_some()
            || client.kind == ClientKind::Single
            || (client.terms().is_none() && matches!(method, "server/discover" | "subscriptions/listen"));
        if sessionless {
            return self.own_terms(method, params.get("_meta")).map(Arc::new);
        }
        if method == "initialize" {
            return self.proposed_terms(params).map(Arc::new);
        }
        if let Some(terms) = client.terms() {
            return Ok(terms);
        }
        // A client may look whether we are alive before it says anything else.
        if method == "ping" {
            return Ok(Arc::new(self.terms(Version::NEWEST_OF_SESSIONS)));
        }
        Err(RpcError::new(
            message::INVALID_REQUEST,
            format!(
                "`{}` came before `initialize`; send that first, or name the protocol version in each request, in `_meta` under `{META_VERSION}`",
                shortened(method)
            ),
        ))
    }

    fn terms(&self, version: Version) -> Terms {
        Terms { version, capabilities: Value::Null, client: Value::Null, log_level: None, server: self.server_info() }
    }

    /// What a sessionless request says of itself.
    fn own_terms(&self, method: &str, meta: Option<&Value>) -> Result<Terms, RpcError> {
        let version = match meta.and_then(|meta| meta.get(META_VERSION)) {
            Some(Value::String(version)) => version,
            _ => return Err(lacking(method, META_VERSION, "the protocol version, a text")),
        };
        let version = Version::parse(version).filter(|version| version.sessionless()).ok_or_else(|| unsupported(version))?;
        let capabilities = match meta.and_then(|meta| meta.get(META_CAPABILITIES)) {
            Some(capabilities @ Value::Object(_)) => capabilities.clone(),
            _ => return Err(lacking(method, META_CAPABILITIES, "the client's capabilities, an object")),
        };
        let log_level = match meta.and_then(|meta| meta.get(META_LOG_LEVEL)) {
            None | Some(Value::Null) => None,
            Some(level) => Some(level.as_str().and_then(LogLevel::parse).ok_or_else(|| unknown_level(Some(level)))?),
        };
        let client = meta.and_then(|meta| meta.get(META_CLIENT)).cloned().unwrap_or_default();
        Ok(Terms { capabilities, client, log_level, ..self.terms(version) })
    }

    /// What `initialize` proposes, with the version that it gets.
    fn proposed_terms(&self, params: &Value) -> Result<Terms, RpcError> {
        let invalid = |text: &str| RpcError::new(message::INVALID_PARAMS, text);
        let Some(proposed) = params.get("protocolVersion").and_then(Value::as_str) else {
            return Err(invalid("`initialize` needs the `protocolVersion` that the client proposes, a text such as `2025-11-25`"));
        };
        let capabilities = match params.get("capabilities") {
            None | Some(Value::Null) => Value::Object(Object::EMPTY),
            Some(capabilities @ Value::Object(_)) => capabilities.clone(),
            Some(_) => return Err(invalid("the `capabilities` of `initialize` are an object; give `{}` if there are none")),
        };
        let client = params.get("clientInfo").cloned().unwrap_or_default();
        // A session hears of ordinary lines until it says otherwise.
        Ok(Terms { capabilities, client, log_level: Some(LogLevel::Info), ..self.terms(Version::agreed(proposed)) })
    }

    pub(super) fn initialized(&self, request: &Request) {
        let version = request.terms.version;
        let mut result = vec![
            ("protocolVersion", Value::from(version.as_str())),
            ("capabilities", self.capabilities(request)),
            ("serverInfo", self.server_info()),
        ];
        result.extend(self.options.instructions.clone().map(|text| ("instructions", Value::from(text))));
        // Before the reply goes out: the next request may come at once.
        request.client.agree(request.terms.clone());
        request.reply(&Value::object(result));
    }

    pub(super) fn discovered(&self, request: &Request) {
        let mut result = vec![
            ("supportedVersions", Version::all_as_value()),
            ("capabilities", self.capabilities(request)),
            ("ttlMs", Value::from(DISCOVERY_TTL_MS)),
            ("cacheScope", Value::from(self.cache_scope(&request.client.caller))),
        ];
        result.extend(self.options.instructions.clone().map(|text| ("instructions", Value::from(text))));
        request.reply_complete(Value::object(result));
    }

    pub(super) fn server_info(&self) -> Value {
        self.server_info.clone()
    }

    /// What we can do for the sender of a request.
    fn capabilities(&self, request: &Request) -> Value {
        let version = request.terms.version;
        let current = self.current.load();
        let mut all = Object::EMPTY.with("tools", json!({ "listChanged": true }));
        let upstreams = current.visible(&request.client.caller);
        if !upstreams.is_empty() {
            all = all
                .with("resources", json!({ "listChanged": true, "subscribe": true }))
                .with("prompts", json!({ "listChanged": true }))
                .with("logging", json!({}));
            if version >= Version::V2025_03_26 {
                all = all.with("completions", json!({}));
            }
        }
        let mut extensions = match self.calls.extensions(version) {
            Some(Value::Object(extensions)) => extensions,
            _ => Object::EMPTY,
        };
        if let Some(skills) = skills(upstreams.iter().map(|(_, upstream)| upstream.capabilities())) {
            extensions = extensions.with(SKILLS, skills);
        }
        // Sessions of older revisions know no extensions; that a client of theirs sees the member does no harm.
        if !extensions.is_empty() {
            all = all.with("extensions", extensions);
        }
        Value::from(all)
    }
}

/// The settings of the skills extension that some server behind us declares; a directory can be read if one of them can.
fn skills(capabilities: impl Iterator<Item = Value>) -> Option<Value> {
    let declared: Vec<Value> = capabilities.filter_map(|all| all.get("extensions").and_then(|all| all.get(SKILLS)).cloned()).collect();
    let reads = declared.iter().any(|skills| skills.get("directoryRead").and_then(Value::as_bool) == Some(true));
    (!declared.is_empty()).then(|| if reads { json!({ "directoryRead": true }) } else { json!({}) })
}

fn lacking(method: &str, name: &str, what: &str) -> RpcError {
    let text = format!("`{}` has no `{name}` in its `_meta`: {what}; each request of this protocol version has it", shortened(method));
    RpcError::new(message::INVALID_PARAMS, text)
}

fn unsupported(version: &str) -> RpcError {
    let text =
        format!("the protocol version `{}` is not spoken here, or only in sessions; `data.supported` has the others", shortened(version));
    RpcError::new(message::UNSUPPORTED_VERSION, text)
        .with_data(Value::object([("supported", Version::all_as_value()), ("requested", Value::from(version))]))
}

pub(super) fn unknown_level(level: Option<&Value>) -> RpcError {
    let levels: Vec<&str> = LogLevel::NAMES.iter().map(|(name, _)| *name).collect();
    let sent = level.map_or_else(|| "no level".to_owned(), |level| format!("`{}`", shortened(level.as_str().unwrap_or(level.kind()))));
    RpcError::new(message::INVALID_PARAMS, format!("{sent} is no log level; there are {}", levels.join(", ")))
}

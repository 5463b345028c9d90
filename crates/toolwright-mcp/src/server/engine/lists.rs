//! Lists: tools, which are ready, and those of the servers behind us, which are asked; their pages and cursors.

use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use toolwright::{Fingerprint, Object, Value};

use super::Engine;
use super::routes::Routed;
use crate::server::caller::Caller;
use crate::server::message::{self, RpcError};
use crate::server::request::{META_SERVER, Request, complete};

/// How long a client may take a list for the truth, in milliseconds. It is told of changes.
const LIST_TTL_MS: u64 = 60_000;
/// Bytes of a cursor; ours are shorter.
const CURSOR_BYTES_MAX: usize = 128;

/// A kind of list that the servers behind us have.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Kind {
    Resources,
    Templates,
    Prompts,
    Skills,
}

impl Kind {
    pub(super) const ALL: [Kind; 4] = [Kind::Resources, Kind::Templates, Kind::Prompts, Kind::Skills];
    pub(super) const COUNT: usize = Kind::ALL.len();

    pub(super) fn method(self) -> &'static str {
        match self {
            Kind::Resources => "resources/list",
            Kind::Templates => "resources/templates/list",
            Kind::Prompts => "prompts/list",
            Kind::Skills => "skills/list",
        }
    }

    pub(super) fn of_method(method: &str) -> Option<Kind> {
        Kind::ALL.into_iter().find(|kind| kind.method() == method)
    }

    /// The member of the result with the items.
    fn member(self) -> &'static str {
        match self {
            Kind::Resources => "resources",
            Kind::Templates => "resourceTemplates",
            Kind::Prompts => "prompts",
            Kind::Skills => "skills",
        }
    }

    /// The member of an item that it is named by.
    pub(super) fn key(self) -> &'static str {
        match self {
            Kind::Resources | Kind::Skills => "uri",
            Kind::Templates => "uriTemplate",
            Kind::Prompts => "name",
        }
    }

    /// What a server's capabilities say of it; nothing when it has no such list.
    pub(super) fn declared(self, capabilities: &Value) -> Option<&Value> {
        match self {
            Kind::Resources | Kind::Templates => capabilities.get("resources"),
            Kind::Prompts => capabilities.get("prompts"),
            Kind::Skills => capabilities.get("extensions")?.get("io.modelcontextprotocol/skills"),
        }
    }
}

impl Engine {
    pub(super) fn tools_listed(&self, request: &Request) {
        let current = self.current.load();
        let surface = current.surface(request);
        // An audience that does not exist sees an empty list.
        let digest = surface.as_ref().map_or("", |surface| surface.digest().as_str());
        let at = match place(request, "tools", digest) {
            Ok(at) => at,
            Err(error) => return request.refuse(&error),
        };
        let (page, more) = match &surface {
            Some(surface) => (surface.page(at), at + 1 < surface.page_count()),
            None => (None, false),
        };
        let page = match page {
            Some(page) => page.as_str(),
            None if at == 0 => "[]",
            None => return request.refuse(&stale()),
        };
        request.outlet.reply(message::reply_text(&request.id, page.len() + 512, |text| {
            text.push_str("{\"tools\":");
            text.push_str(page);
            if more {
                text.push_str(&format!(",\"nextCursor\":\"{}\"", cursor("tools", digest, at + 1)));
            }
            if request.terms.version.sessionless() {
                let scope = self.cache_scope(&request.client.caller);
                let meta = Value::object([(META_SERVER, request.terms.server.clone())]).to_json_string();
                text.push_str(&format!(",\"resultType\":\"complete\",\"ttlMs\":{LIST_TTL_MS},\"cacheScope\":\"{scope}\",\"_meta\":{meta}"));
            }
            text.push('}');
        }));
    }

    /// A list of the servers behind us, all of them together.
    pub(super) fn listed(self: &Arc<Self>, request: Request) {
        let Some(kind) = Kind::of_method(&request.method) else { return };
        let current = self.current.load_full();
        let engine = self.clone();
        tokio::spawn(async move {
            if current.visible(&request.client.caller).is_empty() {
                return request.refuse(&super::unknown_method(&request));
            }
            let all = current.all(kind, &request.client.caller).await;
            match engine.page(kind, &request, all) {
                Ok(page) => request.reply_complete(page),
                Err(error) => request.refuse(&error),
            }
        });
    }

    fn page(&self, kind: Kind, request: &Request, all: Vec<Routed>) -> Result<Value, RpcError> {
        let most = self.options.limits.page_items.max(1);
        let items: Vec<Value> = all.into_iter().map(|routed| routed.item).collect();
        let paged = items.len() > most || !no_cursor(request);
        let digest = if paged { Fingerprint::of(Value::array(items.clone()).to_json_string()).to_string() } else { String::new() };
        let at = place(request, kind.member(), &digest)?;
        let start = at.checked_mul(most).filter(|start| *start == 0 || *start < items.len()).ok_or_else(stale)?;
        let rest = items.get(start..).unwrap_or_default();
        let page = rest.get(..most).unwrap_or(rest);
        let mut result = Object::EMPTY.with(kind.member(), Value::array(page.to_vec()));
        if page.len() < rest.len() {
            result = result.with("nextCursor", cursor(kind.member(), &digest, at + 1));
        }
        if request.terms.version.sessionless() {
            result = result.with("ttlMs", LIST_TTL_MS).with("cacheScope", self.cache_scope(&request.client.caller));
        }
        Ok(complete(&request.terms, Value::from(result)))
    }

    /// Whether what a client sees may be shown to others: only where everybody sees the same and nobody says who they are.
    pub(super) fn cache_scope(&self, caller: &Caller) -> &'static str {
        let same = self.current.load().offer().audiences.len() <= 1;
        if same && caller.principal.is_empty() { "public" } else { "private" }
    }
}

fn no_cursor(request: &Request) -> bool {
    request.params.get("cursor").is_none_or(Value::is_null)
}

/// The page that a request asks for.
fn place(request: &Request, list: &str, digest: &str) -> Result<usize, RpcError> {
    if no_cursor(request) {
        return Ok(0);
    }
    let sent = request.params.get("cursor").and_then(Value::as_str).filter(|cursor| cursor.len() <= CURSOR_BYTES_MAX);
    let read = sent.and_then(|cursor| URL_SAFE_NO_PAD.decode(cursor).ok()).and_then(|bytes| String::from_utf8(bytes).ok());
    let mut parts = read.as_deref().unwrap_or_default().split('.');
    let (of, version, at) = (parts.next(), parts.next(), parts.next().and_then(|at| at.parse().ok()));
    match at {
        Some(at) if of == Some(list) && version == Some(short(digest)) && parts.next().is_none() => Ok(at),
        Some(_) if of == Some(list) => Err(stale()),
        _ => Err(RpcError::new(
            message::INVALID_PARAMS,
            "the `cursor` is not one that this list gave; leave it out to begin at the first page",
        )),
    }
}

fn cursor(list: &str, digest: &str, at: usize) -> String {
    URL_SAFE_NO_PAD.encode(format!("{list}.{}.{at}", short(digest)))
}

/// As much of a digest as tells two lists apart.
fn short(digest: &str) -> &str {
    digest.get(..16).unwrap_or(digest)
}

fn stale() -> RpcError {
    RpcError::new(message::INVALID_PARAMS, "the list has changed since this `cursor` was given; leave it out to begin at the first page")
}

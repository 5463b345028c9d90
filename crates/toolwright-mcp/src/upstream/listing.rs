//! A server's tools, page by page, each judged on its own: one bad tool never hides the others.

use std::collections::HashSet;
use std::sync::Arc;

use toolwright::{Origin, Registry, Text, ToolDef, Value, tool};

use super::call::UpstreamTool;
use super::effects::{Declared, Hints, effect};
use super::error::{self, UpstreamError};
use super::exchange::{Lost, Sending, connected, exchange};
use super::headers::param_headers;
use super::spec::Transport;
use super::supervise::Shared;
use crate::wire::Reply;

/// What a server offers.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct Listing {
    /// The usable tools, in the server's order.
    pub tools: Vec<ToolDef>,
    /// For each of them what the server sent, untouched: the thing to hash and to lock.
    pub raw: Vec<Value>,
    /// The tools that were left out, and why.
    pub skipped: Vec<Skipped>,
    /// What was odd about the list as a whole.
    pub warnings: Vec<String>,
    /// Tools of each page that was asked for; none when nothing was asked.
    pub pages: Vec<usize>,
}

/// A tool that was left out.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Skipped {
    /// Its name as sent, or `#3` for the third tool of a list when it has none.
    pub name: Text,
    /// What is wrong with it.
    pub reason: String,
    /// `invalid_tool` or `invalid_schema`.
    pub code: &'static str,
}

const INVALID_TOOL: &str = "invalid_tool";
const INVALID_SCHEMA: &str = "invalid_schema";

/// Reads the whole list.
pub(crate) async fn list(shared: &Arc<Shared>) -> Result<Listing, UpstreamError> {
    Ok(walk(shared).await?.finish(shared))
}

/// The whole list as sent, also the tools that cannot be used.
pub(crate) async fn raw(shared: &Arc<Shared>) -> Result<Vec<Value>, UpstreamError> {
    Ok(walk(shared).await?.tools)
}

async fn walk(shared: &Arc<Shared>) -> Result<Walk, UpstreamError> {
    let mut walk = Walk::default();
    let mut cursor: Option<Text> = None;
    let mut bytes = 0_u64;
    let limits = shared.spec.limits;
    for page in 1.. {
        let result = page_of(shared, cursor.as_deref()).await?;
        bytes = bytes.saturating_add(result.weight());
        if bytes > limits.list_bytes_max {
            walk.warn(format!("its list is longer than {} bytes; the tools from page {page} on are left out", limits.list_bytes_max));
            break;
        }
        let added = walk.page(&result, limits.list_tools_max);
        walk.listing.pages.push(added);
        let next = result.get("nextCursor").and_then(Value::as_str).map(Text::from);
        let Some(next) = next else { break };
        if walk.full {
            break;
        }
        if !walk.cursors.insert(next.clone()) {
            walk.warn(format!("it repeats the cursor `{next}`; the list ends there"));
            break;
        }
        if added == 0 {
            walk.warn(format!("its page {page} adds no tool; the list ends there"));
            break;
        }
        if page >= limits.list_pages_max {
            walk.warn(format!("its list has more than {} pages; the rest is left out", limits.list_pages_max));
            break;
        }
        cursor = Some(next);
    }
    Ok(walk)
}

/// The list of a server that is not asked.
pub(crate) fn as_listed(shared: &Arc<Shared>, listed: &[Value]) -> Listing {
    let mut walk = Walk::default();
    walk.page(&Value::object([("tools", Value::array(listed.iter().cloned()))]), shared.spec.limits.list_tools_max);
    walk.finish(shared)
}

/// The same of a list that was looked at when it was kept.
pub(crate) fn as_accepted(shared: &Arc<Shared>, listed: &[Value]) -> Listing {
    let mut walk = Walk { accepted: true, ..Walk::default() };
    walk.page(&Value::object([("tools", Value::array(listed.iter().cloned()))]), shared.spec.limits.list_tools_max);
    walk.finish(shared)
}

async fn page_of(shared: &Arc<Shared>, cursor: Option<&str>) -> Result<Value, UpstreamError> {
    let spec = &shared.spec;
    let failed = |code, why: String| {
        let message = format!("server `{}` did not list its tools: {}", spec.name, shared.board.redactor.mask(&why));
        UpstreamError::new(code, spec, message)
    };
    let never = std::future::pending::<()>;
    let connection = shared.connection().await?;
    let cursor = cursor.map(Value::from);
    let params: Vec<(&str, &Value)> = cursor.iter().map(|cursor| ("cursor", cursor)).collect();
    let sending = Sending::new(shared, "tools/list", &params);
    let sent = exchange(shared, &connection, &sending, never(), |_| {}).await;
    let reply = match sent {
        // The connection may have died unnoticed since its last use; a listing can always be asked again.
        Err(_) if !connection.is_live() => {
            let fresh = connected(shared, "tools/list", never()).await.map_err(|Lost { code, message, .. }| failed(code, message))?;
            exchange(shared, &fresh, &sending, never(), |_| {}).await
        }
        sent => sent,
    };
    match reply {
        Ok(Reply::Result(parsed)) => Ok(parsed.value),
        Ok(Reply::Error(rpc)) => Err(failed(error::PROTOCOL, format!("{} (JSON-RPC error {})", rpc.message, rpc.code))),
        Ok(Reply::Unreadable(why)) => Err(failed(error::PROTOCOL, why)),
        Err(Lost { code, message, .. }) => Err(failed(code, message)),
    }
}

#[derive(Default)]
struct Walk {
    tools: Vec<Value>,
    names: HashSet<Text>,
    cursors: HashSet<Text>,
    listing: Listing,
    duplicates: Vec<Text>,
    seen: usize,
    full: bool,
    /// It was looked at before.
    accepted: bool,
}

impl Walk {
    fn warn(&mut self, what: String) {
        self.listing.warnings.push(what);
    }

    /// Takes the tools of one page; tells how many were new.
    fn page(&mut self, result: &Value, tools_max: usize) -> usize {
        let Some(tools) = result.get("tools").and_then(Value::as_array) else {
            self.warn("it answered a page without `tools`".to_owned());
            return 0;
        };
        let before = self.seen;
        for raw in tools {
            let name = raw.get("name").and_then(Value::as_str).map(Text::from);
            if let Some(name) = &name {
                if self.names.contains(name) {
                    self.duplicates.push(name.clone());
                    continue;
                }
                self.names.insert(name.clone());
            }
            if self.seen >= tools_max {
                self.full = true;
                self.warn(format!("it has more than {tools_max} tools; the rest is left out"));
                break;
            }
            self.seen += 1;
            self.tools.push(raw.clone());
        }
        self.seen - before
    }

    fn finish(mut self, shared: &Arc<Shared>) -> Listing {
        if !self.duplicates.is_empty() {
            let some: Vec<&str> = self.duplicates.iter().take(5).map(Text::as_str).collect();
            let more = if self.duplicates.len() > some.len() { ", …" } else { "" };
            let tools = if self.duplicates.len() == 1 { "tool" } else { "tools" };
            let what = format!("it lists {} {tools} again, dropped: `{}`{more}", self.duplicates.len(), some.join("`, `"));
            self.warn(what);
        }
        let declared = Declared::of(&shared.spec);
        for (at, raw) in std::mem::take(&mut self.tools).into_iter().enumerate() {
            match definition(shared, &declared, &raw, self.accepted) {
                Ok(tool) => {
                    self.listing.tools.push(tool);
                    self.listing.raw.push(raw);
                }
                Err((code, reason)) => {
                    let name = raw.get("name").and_then(Value::as_str).map_or_else(|| Text::from(format!("#{}", at + 1)), Text::from);
                    self.listing.skipped.push(Skipped { name, reason, code });
                }
            }
        }
        self.listing
    }
}

/// A tool of ours out of a tool of theirs.
fn definition(shared: &Arc<Shared>, declared: &Declared<'_>, raw: &Value, accepted: bool) -> Result<ToolDef, (&'static str, String)> {
    let name = usable_name(raw).map_err(|why| (INVALID_TOOL, why))?;
    let input = input_schema(raw.get("inputSchema")).map_err(|why| (INVALID_SCHEMA, why))?;
    let output = output_schema(raw.get("outputSchema")).map_err(|why| (INVALID_SCHEMA, why))?;
    let annotations = raw.get("annotations").filter(|all| all.as_object().is_some());
    let spec = &shared.spec;
    let marked = match spec.transport {
        Transport::Http { .. } => param_headers(&input).map_err(|why| (INVALID_SCHEMA, why))?,
        Transport::Stdio { .. } => Vec::new(),
    };
    let (effect, effect_from) = effect(spec, declared, &name, Hints::of(annotations));
    let origin = Origin { source: spec.name.clone(), kind: Text::from(spec.kind()), name: name.clone(), effect_from };
    let title = raw.get("title").or_else(|| annotations.and_then(|all| all.get("title"))).and_then(Value::as_str);
    let described = raw.get("description").and_then(Value::as_str).filter(|text| !is_blank(text)).map(Text::from);
    let description = described.unwrap_or_else(|| undescribed(&name, title, &spec.name));
    let mut built = tool(spec.tool_id(&name), description).input_schema(input).origin(origin);
    if let Some(title) = title {
        built = built.title(title);
    }
    if let Some(output) = output {
        built = built.output_schema(output);
    }
    if let Some(effect) = effect {
        built = built.effect(effect);
    }
    if let Some(annotations) = annotations {
        built = built.annotations(annotations.clone());
    }
    if accepted {
        return Ok(built.schemas_accepted().handler(UpstreamTool { shared: shared.clone(), name, marked }));
    }
    let tool = built.handler(UpstreamTool { shared: shared.clone(), name, marked });
    match Registry::new().register(tool.clone()) {
        Ok(_) => Ok(tool),
        // What a registry of its own does not take, no registry takes: better to learn it here, tool by tool.
        Err(refused) => {
            let reasons: Vec<String> = refused.issues().into_iter().map(|issue| issue.message).collect();
            Err((refused.code(), reasons.join("; ")))
        }
    }
}

fn is_blank(text: &str) -> bool {
    text.trim().is_empty()
}

/// What stands for the description that the protocol lets a server leave out: a catalogue takes no tool without one.
fn undescribed(name: &str, title: Option<&str>, server: &str) -> Text {
    match title.filter(|title| !is_blank(title)) {
        Some(title) => title.into(),
        None => format!("`{name}` of `{server}`; its server says nothing about it").into(),
    }
}

fn usable_name(raw: &Value) -> Result<Text, String> {
    let Some(name) = raw.get("name") else { return Err("it has no name".to_owned()) };
    let Some(text) = name.as_str() else { return Err(format!("its name is {} instead of a text", name.kind())) };
    // The prefix would hide an empty name from the registry.
    if is_blank(text) {
        return Err("its name is empty".to_owned());
    }
    Ok(Text::from(text))
}

/// The input schema; a missing, null or empty one means no parameters.
fn input_schema(schema: Option<&Value>) -> Result<Value, String> {
    let none = || Value::object([("type", Value::from("object")), ("properties", empty())]);
    let schema = match schema {
        None => return Ok(none()),
        Some(schema) if schema.is_null() => return Ok(none()),
        Some(schema) => schema,
    };
    let Some(members) = schema.as_object() else {
        return Err(format!("its input schema is {} instead of an object", schema.kind()));
    };
    if members.is_empty() {
        return Ok(none());
    }
    if schema.get("type").is_some_and(allows_object) && schema.get("properties").is_none() {
        let given = members.iter().map(|(name, value)| (name.clone(), value.clone()));
        return Ok(Value::object(given.chain([(Text::from("properties"), empty())])));
    }
    Ok(schema.clone())
}

fn output_schema(schema: Option<&Value>) -> Result<Option<Value>, String> {
    match schema {
        None => Ok(None),
        Some(schema) if schema.is_null() => Ok(None),
        Some(schema) if schema.as_object().is_some() => Ok(Some(schema.clone())),
        Some(schema) => Err(format!("its output schema is {} instead of an object", schema.kind())),
    }
}

fn allows_object(kind: &Value) -> bool {
    let is_object = |kind: &Value| kind.as_str() == Some("object");
    is_object(kind) || kind.as_array().is_some_and(|kinds| kinds.iter().any(is_object))
}

fn empty() -> Value {
    Value::object::<Text, Value>([])
}

//! Requests that are passed on by name: resources, prompts, completion, log levels. No tool is called here.

use std::collections::HashSet;

use toolwright::{CancelToken, Text, Value};

use super::talk::Talk;
use super::{Upstream, UpstreamError, error, listen};
use crate::wire::Reply;

/// A request that is passed on.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Passed {
    /// Such as `resources/read`.
    pub method: Text,
    /// As the client sent them; `_meta` is the gateway's own affair.
    pub params: Value,
    /// Under which name the server's questions about it are asked ([`Questions`](super::Questions)).
    pub run: Text,
    /// Ends it early; the server is told.
    pub cancel: CancelToken,
}

/// What came of it.
#[derive(Clone, Debug, PartialEq)]
pub enum PassedReply {
    /// The result object, untouched.
    Result(Value),
    /// The server's own JSON-RPC error, untouched.
    Refused {
        /// Its code.
        code: i64,
        /// Its words.
        message: String,
        /// Its data.
        data: Option<Value>,
    },
}

/// What a server says by itself.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum UpstreamEvent {
    /// Its list of this kind is another one: `tools`, `resources` or `prompts`.
    ListChanged(&'static str),
    /// The content of a resource is another one.
    ResourceUpdated(Text),
    /// A line for the log: the notification's parameters, untouched. `run` is the call that it came in, when that is known.
    Log {
        /// The call's run.
        run: Option<Text>,
        /// `level`, `logger`, `data`.
        params: Value,
    },
    /// It was started, or started again.
    Started,
}

impl Passed {
    /// A request with its parameters.
    pub fn new(method: impl Into<Text>, params: Value, run: impl Into<Text>) -> Self {
        Self { method: method.into(), params, run: run.into(), cancel: CancelToken::never() }
    }
}

/// The header `Mcp-Name` of a method says what stands in this member of its parameters.
fn named(method: &str) -> Option<&'static str> {
    match method {
        "prompts/get" | "tools/call" => Some("name"),
        "resources/read" | "resources/subscribe" | "resources/unsubscribe" => Some("uri"),
        "tasks/get" | "tasks/update" | "tasks/cancel" => Some("taskId"),
        _ => None,
    }
}

/// Where a server of that list says that it has one, and the member that the list is in.
fn list(method: &str) -> (&'static str, &'static str) {
    match method {
        "resources/list" => ("/resources", "resources"),
        "resources/templates/list" => ("/resources", "resourceTemplates"),
        "prompts/list" => ("/prompts", "prompts"),
        "skills/list" => ("/extensions/io.modelcontextprotocol~1skills", "skills"),
        _ => ("/tools", "tools"),
    }
}

impl Upstream {
    /// Passes a request on and gives back what comes. Starts the server if need be. What it asks meanwhile is asked under the
    /// request's run; its answer is final.
    ///
    /// # Errors
    /// When the server cannot be started, or its answer cannot be used.
    ///
    /// ```no_run
    /// # async fn example(files: toolwright_mcp::upstream::Upstream) -> Result<(), toolwright_mcp::upstream::UpstreamError> {
    /// use toolwright::Value;
    /// use toolwright_mcp::upstream::{Passed, PassedReply};
    ///
    /// let params = Value::object([("uri", "file:///notes.md")]);
    /// if let PassedReply::Result(result) = files.pass(Passed::new("resources/read", params, "run-1")).await? {
    ///     println!("{}", result.to_json_string());
    /// }
    /// # Ok(())
    /// # }
    /// ```
    pub async fn pass(&self, passed: Passed) -> Result<PassedReply, UpstreamError> {
        let shared = &self.shared;
        let watch = match passed.method.as_str() {
            "resources/subscribe" => Some(true),
            "resources/unsubscribe" => Some(false),
            _ => None,
        };
        if let Some(watch) = watch
            && let Some(done) = self.watch(&passed, watch).await?
        {
            return Ok(done);
        }
        let members = passed.params.as_object().into_iter().flat_map(|members| members.iter());
        let params = members.filter(|(name, _)| name.as_str() != "_meta").map(|(name, value)| (name.as_str(), value.clone()));
        let name = named(&passed.method).and_then(|member| passed.params.get(member)).and_then(Value::as_str);
        let talk = Talk {
            shared,
            what: &passed.method,
            method: &passed.method,
            params: params.collect(),
            name,
            marked: &[],
            key: None,
            run: passed.run.clone(),
            cancel: &passed.cancel,
            tool: None,
        };
        match talk.lead(&mut |_| {}).await {
            Ok(Reply::Result(parsed)) => Ok(PassedReply::Result(parsed.value)),
            Ok(Reply::Error(rpc)) => {
                let data = rpc.data.map(|data| shared.board.redactor.clean(&data));
                Ok(PassedReply::Refused { code: rpc.code, message: shared.board.redactor.mask(&rpc.message), data })
            }
            Ok(Reply::Unreadable(why)) => Err(self.unusable(&passed.method, &why)),
            Err(lost) => Err(UpstreamError { help: lost.help, ..UpstreamError::new(lost.code, &shared.spec, lost.message) }),
        }
    }

    /// A server of the newest generation has no such request: it is listened to.
    async fn watch(&self, passed: &Passed, watch: bool) -> Result<Option<PassedReply>, UpstreamError> {
        let connection = self.shared.connection().await?;
        let uri = passed.params.get("uri").and_then(Value::as_text);
        let Some(uri) = uri.filter(|_| connection.terms.sessionless) else { return Ok(None) };
        self.shared.watched.watch(uri, watch);
        listen::begin(&self.shared, &connection);
        Ok(Some(PassedReply::Result(Value::object::<Text, Value>([]))))
    }

    fn unusable(&self, method: &str, why: &str) -> UpstreamError {
        let spec = &self.shared.spec;
        let message = format!("the answer of server `{}` to `{method}` cannot be used: {why}", spec.name);
        UpstreamError::new(error::PROTOCOL, spec, self.shared.board.redactor.mask(&message))
    }

    /// A whole list by name: `resources/list`, `resources/templates/list`, `prompts/list` or `skills/list`, all pages, as sent,
    /// within the limits ([`Limits`](super::Limits)).
    ///
    /// # Errors
    /// As [`Upstream::pass`], and when the server refuses; a server without such a list has an empty one.
    pub async fn listed(&self, method: &'static str) -> Result<Vec<Value>, UpstreamError> {
        let limits = self.shared.spec.limits;
        let (capability, member) = list(method);
        let connection = self.shared.connection().await?;
        if connection.terms.capabilities.pointer(capability).is_none() {
            return Ok(Vec::new());
        }
        drop(connection);
        let (mut all, mut seen, mut bytes) = (Vec::new(), HashSet::new(), 0_u64);
        let mut cursor: Option<Value> = None;
        for _ in 0..limits.list_pages_max {
            let params = cursor.take().map_or_else(Value::default, |cursor| Value::object([("cursor", cursor)]));
            let result = match self.pass(Passed::new(method, params, "")).await? {
                PassedReply::Result(result) => result,
                // Many a server declares resources and knows no templates.
                PassedReply::Refused { code: -32_601, .. } => return Ok(Vec::new()),
                PassedReply::Refused { code, message, .. } => {
                    return Err(self.unusable(method, &format!("{message} (JSON-RPC error {code})")));
                }
            };
            bytes = bytes.saturating_add(result.weight());
            let items = result.get(member).and_then(Value::as_array).unwrap_or_default();
            let room = limits.list_tools_max.saturating_sub(all.len());
            all.extend(items.iter().take(room).cloned());
            let next = result.get("nextCursor").filter(|next| next.as_str().is_some());
            match next {
                Some(next) if items.len() <= room && bytes <= limits.list_bytes_max && seen.insert(next.to_json_string()) => {
                    cursor = Some(next.clone());
                }
                _ => break,
            }
        }
        Ok(all)
    }

    /// What it says by itself from now on. Never starts it. A reader that falls far behind misses the oldest.
    pub fn events(&self) -> tokio::sync::broadcast::Receiver<UpstreamEvent> {
        let events = self.shared.board.events.subscribe();
        self.shared.watched.want();
        if let Some(connection) = self.shared.live()
            && tokio::runtime::Handle::try_current().is_ok()
        {
            listen::begin(&self.shared, &connection);
        }
        events
    }

    /// The capabilities that it declared when it started last, or else those of [`ServerSpec`](super::ServerSpec); `null` when
    /// nobody knows them.
    pub fn capabilities(&self) -> Value {
        self.shared.board.facts().capabilities.clone().unwrap_or_else(|| self.shared.spec.capabilities.clone())
    }
}

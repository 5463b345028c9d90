//! A server's tool as a tool of ours: arguments out, the answer or the tool's own error back.
//!
//! The output is the structured content when there is some (`null` beside blocks is none); else the text of a lone text block; else
//! `{content, text}`: the blocks as sent and the text of the text blocks, joined by line ends.
//! A text is never read as JSON. The blocks are kept beside the output, always and untouched.

use std::sync::Arc;

use toolwright::{Answer, BoxFuture, Call, Handler, Text, ToolError, Value};

use super::error;
use super::exchange::{Happened, Lost, connected, exchange};
use super::pins;
use super::spec::Transport;
use super::supervise::Shared;
use crate::wire::{self, Reply, RpcError};

/// A request that found its connection gone before it was sent is tried this often.
const SENDS_MAX: usize = 2;

/// The body of one upstream tool.
pub(crate) struct UpstreamTool {
    pub(crate) shared: Arc<Shared>,
    /// The tool's name on the server.
    pub(crate) name: Text,
}

impl Handler for UpstreamTool {
    fn handle<'a>(&'a self, input: Value, call: Call) -> BoxFuture<'a, Result<Answer, ToolError>> {
        Box::pin(async move { self.run(&input, &call).await })
    }
}

impl UpstreamTool {
    async fn run(&self, input: &Value, call: &Call) -> Result<Answer, ToolError> {
        let over_http = matches!(self.shared.spec.transport, Transport::Http { .. });
        let key = call.idempotency_key();
        let mut sends = 0;
        let reply = loop {
            let request = wire::call(&self.name, input, &key, over_http)
                .ok_or_else(|| ToolError::new("the arguments are no object").code("invalid_input").nothing_happened())?;
            sends += 1;
            let connection = connected(&self.shared, &self.name, call.cancel().cancelled()).await.map_err(tool_error)?;
            pins::check(&self.shared, &connection, &self.name, call.cancel().cancelled()).await.map_err(tool_error)?;
            let report = |progress: &wire::Progress| call.progress(progress.message.clone(), progress.done, progress.total);
            let outcome = exchange(&self.shared, &connection, request, &self.name, call.cancel().cancelled(), report).await;
            match outcome {
                Ok(reply) => break reply,
                Err(lost) if lost.happened == Happened::No && !connection.is_live() && sends < SENDS_MAX => {}
                Err(lost) => return Err(tool_error(lost)),
            }
        };
        self.answer(reply)
    }

    fn answer(&self, reply: Reply) -> Result<Answer, ToolError> {
        let server = &self.shared.spec.name;
        let mask = |text: &str| self.shared.board.redactor.mask(text);
        match reply {
            Reply::Result(parsed) if parsed.value.as_object().is_none() => Err(ToolError::new(mask(&format!(
                "server `{server}` answered `{}` with {} instead of a result",
                self.name,
                parsed.value.kind()
            )))
            .code(error::PROTOCOL)
            .outcome_unknown()),
            Reply::Result(parsed) => {
                let note = match parsed.replaced {
                    0 => None,
                    1 => Some("1 broken character in the answer was replaced by U+FFFD".to_owned()),
                    many => Some(format!("{many} broken characters in the answer were replaced by U+FFFD")),
                };
                self.result(&parsed.value, note)
            }
            Reply::Error(rpc) => Err(self.refused(rpc)),
            Reply::Unreadable(why) => {
                Err(ToolError::new(mask(&format!("the answer of server `{server}` to `{}` cannot be used: {why}", self.name)))
                    .code(error::PROTOCOL)
                    .outcome_unknown())
            }
        }
    }

    fn result(&self, result: &Value, note: Option<String>) -> Result<Answer, ToolError> {
        let kind = result.get("resultType").and_then(Value::as_str);
        if let Some(kind) = kind.filter(|kind| *kind != "complete") {
            let message = format!(
                "server `{}` answered `{}` with `{}`, which asks for something we do not offer",
                self.shared.spec.name,
                self.name,
                self.shared.board.redactor.mask(kind)
            );
            return Err(ToolError::new(message).code(error::PROTOCOL).outcome_unknown());
        }
        if result.get("isError").and_then(Value::as_bool) == Some(true) {
            return Err(self.own_error(result));
        }
        let blocks = result.get("content").and_then(Value::as_array).unwrap_or_default();
        let structured = result.get("structuredContent").filter(|structured| blocks.is_empty() || !structured.is_null());
        let mut answer = match structured {
            Some(structured) => Answer::new(structured.clone()),
            None if blocks.is_empty() => Answer::empty(),
            None => Answer::new(plain(blocks)),
        };
        if let Some(content) = result.get("content") {
            answer = answer.content(content.clone());
        }
        if let Some(meta) = result.get("_meta") {
            answer = answer.details(Value::object([("_meta", meta.clone())]));
        }
        Ok(match note {
            Some(note) => answer.note(note),
            None => answer,
        })
    }

    /// The tool's own failure: its text unchanged, everything else it sent in the details.
    fn own_error(&self, result: &Value) -> ToolError {
        let redactor = &self.shared.board.redactor;
        let result = match redactor.finds(&result.to_json_string()) {
            true => masked(result, &|text| redactor.mask(text)),
            false => result.clone(),
        };
        let blocks = result.get("content").and_then(Value::as_array).unwrap_or_default();
        let text = joined_text(blocks).unwrap_or_else(|| {
            result.get("structuredContent").map_or_else(|| format!("`{}` failed and said nothing", self.name), Value::to_json_string)
        });
        let kept = ["content", "structuredContent", "_meta"];
        let details = kept.iter().filter_map(|name| result.get(name).map(|value| (*name, value.clone())));
        let details: Vec<(&str, Value)> = details.collect();
        let error = ToolError::new(text).details(Value::object(details));
        match result.get("content") {
            Some(content) => error.content(content.clone()),
            None => error,
        }
    }

    /// The server's JSON-RPC error.
    fn refused(&self, rpc: RpcError) -> ToolError {
        let mask = |text: &str| self.shared.board.redactor.mask(text);
        let server = &self.shared.spec.name;
        let message = format!("server `{server}` refused `{}`: {} (JSON-RPC error {})", self.name, rpc.message, rpc.code);
        let mut details = vec![("code", Value::from(rpc.code)), ("message", Value::from(mask(&rpc.message)))];
        if let Some(data) = &rpc.data {
            details.push(("data", masked(data, &mask)));
        }
        let details = Value::object([("jsonrpcError", Value::object(details))]);
        let error = ToolError::new(mask(&message)).code(error::PROTOCOL).details(details);
        // These say that the request was refused as such; any other error may have come in the middle of the work.
        match rpc.code {
            -32_700 | -32_600 | -32_601 | -32_602 => error.nothing_happened(),
            _ => error,
        }
    }
}

fn tool_error(lost: Lost) -> ToolError {
    let error = ToolError::new(lost.message).code(lost.code);
    let error = match lost.help {
        Some(help) => error.help(help),
        None => error,
    };
    match lost.happened {
        Happened::No => error.nothing_happened(),
        Happened::Unknown => error.outcome_unknown(),
    }
}

/// The output of a result without structured content.
fn plain(blocks: &[Value]) -> Value {
    if let [block] = blocks
        && let Some(text) = block_text(block)
    {
        return text.clone();
    }
    let mut members = vec![("content", Value::array(blocks.iter().cloned()))];
    if let Some(text) = joined_text(blocks) {
        members.push(("text", Value::from(text)));
    }
    Value::object(members)
}

/// The text of the text blocks, joined by line ends; absent when there is none.
fn joined_text(blocks: &[Value]) -> Option<String> {
    let texts: Vec<&str> = blocks.iter().filter_map(block_text).filter_map(Value::as_str).collect();
    (!texts.is_empty()).then(|| texts.join("\n"))
}

fn block_text(block: &Value) -> Option<&Value> {
    let is_text = block.get("type").and_then(Value::as_str) == Some("text");
    block.get("text").filter(|text| is_text && text.as_str().is_some())
}

/// A copy with every text in it masked. Depth is bounded by the reader that made the value.
fn masked(value: &Value, mask: &dyn Fn(&str) -> String) -> Value {
    if let Some(text) = value.as_str() {
        return Value::from(mask(text));
    }
    if let Some(items) = value.as_array() {
        return Value::array(items.iter().map(|item| masked(item, mask)));
    }
    match value.as_object() {
        Some(members) => Value::object(members.iter().map(|(name, item)| (mask(name), masked(item, mask)))),
        None => value.clone(),
    }
}

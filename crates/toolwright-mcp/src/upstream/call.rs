//! A server's tool as a tool of ours: arguments out, the answer or the tool's own error back.
//!
//! The output is the structured content when there is some (`null` beside blocks is none); else the text of a lone text block; else
//! `{content, text}`: the blocks as sent and the text of the text blocks, joined by line ends.
//! A text is never read as JSON. The blocks are kept beside the output, always and untouched.

use std::sync::Arc;

use toolwright::{Answer, BoxFuture, Call, Handler, Text, ToolError, Value};

use super::error;
use super::exchange::{Happened, Lost};
use super::headers::ParamHeader;
use super::secrets::masked;
use super::supervise::Shared;
use super::talk::Talk;
use crate::wire::{self, Reply, RpcError};

/// The body of one upstream tool.
pub(crate) struct UpstreamTool {
    pub(crate) shared: Arc<Shared>,
    /// The tool's name on the server.
    pub(crate) name: Text,
    /// The arguments that are repeated in headers.
    pub(crate) marked: Vec<ParamHeader>,
}

impl Handler for UpstreamTool {
    fn handle<'a>(&'a self, input: Value, call: Call) -> BoxFuture<'a, Result<Answer, ToolError>> {
        Box::pin(async move { self.run(&input, &call).await })
    }
}

impl UpstreamTool {
    async fn run(&self, input: &Value, call: &Call) -> Result<Answer, ToolError> {
        let arguments = match input {
            Value::Null => Value::object::<Text, Value>([]),
            input if input.as_object().is_some() => input.clone(),
            _ => return Err(ToolError::new("the arguments are no object").code("invalid_input").nothing_happened()),
        };
        let key = call.idempotency_key();
        let talk = Talk {
            shared: &self.shared,
            what: &self.name,
            method: "tools/call",
            params: vec![("name", Value::from(self.name.clone())), ("arguments", arguments)],
            name: Some(&self.name),
            marked: &self.marked,
            key: Some(&key),
            run: call.run_id(),
            cancel: call.cancel(),
            tool: Some(&self.name),
        };
        let mut report = |progress: &wire::Progress| call.progress(progress.message.clone(), progress.done, progress.total);
        let reply = talk.lead(&mut report).await.map_err(tool_error)?;
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
            -32_700 | -32_600 | -32_601 | -32_602 | -32_020 | -32_021 | -32_022 => error.nothing_happened(),
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
        Happened::Answered => error,
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

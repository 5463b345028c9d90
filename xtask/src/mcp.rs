//! As little of an MCP client as load and mischief need: raw messages over HTTP/1.1 and over pipes with nothing but the standard
//! library, so that what is measured is the server. It knows both generations of the protocol and nothing of any server.

use serde_json::{Value, json};

mod http;
mod pipe;

pub(crate) use http::Http;
pub(crate) use pipe::Pipe;

/// How a client and a server get along.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Era {
    /// `initialize` and a session.
    Sessions,
    /// Each request stands alone.
    Sessionless,
}

impl Era {
    pub(crate) fn version(self) -> &'static str {
        match self {
            Self::Sessions => "2025-11-25",
            Self::Sessionless => "2026-07-28",
        }
    }

    /// The `_meta` that each request has.
    pub(crate) fn meta(self) -> Value {
        match self {
            Self::Sessions => json!({}),
            Self::Sessionless => json!({
                "io.modelcontextprotocol/protocolVersion": self.version(),
                "io.modelcontextprotocol/clientInfo": client_info(),
                "io.modelcontextprotocol/clientCapabilities": {},
            }),
        }
    }
}

fn client_info() -> Value {
    json!({ "name": "xtask", "version": "1" })
}

/// The parameters of `initialize`.
pub(crate) fn initialize() -> Value {
    json!({ "protocolVersion": Era::Sessions.version(), "capabilities": {}, "clientInfo": client_info() })
}

/// The text of a request.
pub(crate) fn request(id: u64, method: &str, params: &Value) -> String {
    json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params }).to_string()
}

/// The text of a notification.
pub(crate) fn notification(method: &str, params: &Value) -> String {
    json!({ "jsonrpc": "2.0", "method": method, "params": params }).to_string()
}

/// The parameters of a call.
pub(crate) fn call(era: Era, tool: &str, arguments: &Value) -> Value {
    let mut params = json!({ "name": tool, "arguments": arguments });
    if let (Era::Sessionless, Some(params)) = (era, params.as_object_mut()) {
        params.insert("_meta".to_owned(), era.meta());
    }
    params
}

/// The result in the text of a reply, or the error in words.
pub(crate) fn result(reply: &[u8]) -> Result<Value, String> {
    let shown = || String::from_utf8_lossy(reply.get(..reply.len().min(500)).unwrap_or_default()).into_owned();
    let mut message: Value = serde_json::from_slice(reply).map_err(|error| format!("no JSON: {error}: {}", shown()))?;
    match message.get_mut("result") {
        Some(result) => Ok(result.take()),
        None => Err(shown()),
    }
}

/// Somebody who asks a server, over whatever connects them.
pub(crate) trait Ask {
    /// Asks and waits for the answer.
    fn ask(&mut self, method: &str, params: &Value) -> Result<Value, String>;

    /// The generation that was agreed.
    fn era(&self) -> Era;

    /// Calls a tool; the result, whatever it says.
    fn call(&mut self, tool: &str, arguments: &Value) -> Result<Value, String> {
        self.ask("tools/call", &call(self.era(), tool, arguments))
    }

    /// Calls a tool; a result with `isError` is an error too.
    fn call_well(&mut self, tool: &str, arguments: &Value) -> Result<Value, String> {
        let result = self.call(tool, arguments)?;
        match result.get("isError").and_then(Value::as_bool) {
            Some(true) => Err(format!("`{tool}` failed: {result}")),
            _ => Ok(result),
        }
    }

    /// All tools, page by page.
    fn tools(&mut self) -> Result<Vec<Value>, String> {
        let mut tools = Vec::new();
        let mut cursor = Value::Null;
        for _ in 0..PAGES_AT_MOST {
            let mut params = json!({});
            if let Some(members) = params.as_object_mut() {
                if self.era() == Era::Sessionless {
                    members.insert("_meta".to_owned(), self.era().meta());
                }
                if !cursor.is_null() {
                    members.insert("cursor".to_owned(), cursor.take());
                }
            }
            let mut page = self.ask("tools/list", &params)?;
            let listed = page.get("tools").and_then(Value::as_array).ok_or_else(|| format!("no tools in {page}"))?;
            tools.extend(listed.iter().cloned());
            match page.get_mut("nextCursor").filter(|next| !next.is_null()) {
                Some(next) => cursor = next.take(),
                None => return Ok(tools),
            }
        }
        Err(format!("`tools/list` has more than {PAGES_AT_MOST} pages"))
    }
}

const PAGES_AT_MOST: usize = 100;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_call_of_the_newest_generation_says_who_calls() {
        let params = call(Era::Sessionless, "echo", &json!({ "text": "a" }));
        let version = params.pointer("/_meta/io.modelcontextprotocol~1protocolVersion");
        assert_eq!(version, Some(&json!("2026-07-28")));
        assert_eq!(call(Era::Sessions, "echo", &json!({})).get("_meta"), None);
    }

    #[test]
    fn an_error_is_told_and_a_result_is_given() {
        assert_eq!(result(br#"{"jsonrpc":"2.0","id":1,"result":{"a":1}}"#), Ok(json!({ "a": 1 })));
        assert!(result(br#"{"jsonrpc":"2.0","id":1,"error":{"code":-32602}}"#).is_err_and(|why| why.contains("-32602")));
        assert!(result(b"{").is_err());
    }
}

//! The border: MCP messages as text and as `rmcp` has them on one side, our `Value` on the other.
//!
//! `rmcp` leads the handshake and answers pings. Everything after that is ours, text in and text out: typed models drop unknown
//! members and refuse unknown content. Nothing outside of this file reads or writes a JSON-RPC message of a server.

use std::borrow::Cow;

use rmcp::model::{ClientJsonRpcMessage, ClientRequest, ErrorCode, ErrorData, RequestId, ServerJsonRpcMessage};
use serde::Deserialize;
use serde_json::value::RawValue;
use toolwright::value::{LoneSurrogates, ParseOptions, Parsed};
use toolwright::{Text, Value};

use crate::upstream::frame::salvage;

/// The first id of a request of ours: `rmcp` counts its own few from 0.
pub(crate) const FIRST_ID: u64 = 1_000;

/// What one line, event or body holds.
#[derive(Debug)]
pub(crate) enum Incoming {
    /// A message for `rmcp`: of the handshake, or a ping.
    Message(Box<ServerJsonRpcMessage>),
    /// The reply to a request of ours.
    Reply(u64, RawReply),
    /// A report on a running request.
    Progress(Progress),
    /// The server asks something.
    Asked(Asked),
    /// The server says something by itself.
    Notice(Notice),
    /// No message at all.
    Noise,
}

/// A progress notification.
#[derive(Clone, Debug)]
pub(crate) struct Progress {
    /// The id of the request that it is about.
    pub(crate) of: u64,
    pub(crate) message: Text,
    pub(crate) done: Option<f64>,
    pub(crate) total: Option<f64>,
}

/// A request of the server.
#[derive(Clone, Debug)]
pub(crate) struct Asked {
    /// The JSON text of its id, as it must be given back.
    pub(crate) id: String,
    pub(crate) method: Text,
    pub(crate) params: Value,
}

/// A notification of the server.
#[derive(Clone, Debug)]
pub(crate) struct Notice {
    pub(crate) method: Text,
    pub(crate) params: Value,
}

/// A reply whose body has not been read yet.
#[derive(Debug)]
pub(crate) enum RawReply {
    /// The text of the result, and how much of it was replaced on the way.
    Result(String, usize),
    /// The text of the error.
    Error(String),
    /// Why it is none.
    Unreadable(String),
}

/// A reply.
#[derive(Debug)]
pub(crate) enum Reply {
    /// The result, and how many pieces of broken text in it were replaced.
    Result(Parsed),
    /// The server's JSON-RPC error.
    Error(RpcError),
    /// Something came, and this is why it cannot be read.
    Unreadable(String),
}

/// A JSON-RPC error as sent.
#[derive(Clone, Debug)]
pub(crate) struct RpcError {
    pub(crate) code: i64,
    pub(crate) message: String,
    pub(crate) data: Option<Value>,
}

#[derive(Deserialize)]
struct Envelope<'a> {
    #[serde(borrow, default, deserialize_with = "present")]
    id: Option<&'a RawValue>,
    method: Option<Cow<'a, str>>,
    #[serde(borrow, default, deserialize_with = "present")]
    params: Option<&'a RawValue>,
    #[serde(borrow, default, deserialize_with = "present")]
    result: Option<&'a RawValue>,
    #[serde(borrow, default, deserialize_with = "present")]
    error: Option<&'a RawValue>,
}

/// A member that is there, also when it is `null`.
fn present<'de, D: serde::Deserializer<'de>>(from: D) -> Result<Option<&'de RawValue>, D::Error> {
    <&RawValue>::deserialize(from).map(Some)
}

/// Reads what arrived: a message, an array of messages, or noise.
pub(crate) fn incoming(bytes: &[u8]) -> Vec<Incoming> {
    let bytes = bytes.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(bytes);
    let text = String::from_utf8_lossy(bytes);
    let replaced = match &text {
        Cow::Borrowed(_) => 0,
        Cow::Owned(text) => text.matches(char::REPLACEMENT_CHARACTER).count(),
    };
    let text = text.trim_ascii();
    match text.as_bytes().first() {
        Some(b'{') => vec![message(text, replaced)],
        Some(b'[') => match serde_json::from_str::<Vec<&RawValue>>(text) {
            Ok(parts) if !parts.is_empty() => parts.into_iter().map(|part| message(part.get(), replaced)).collect(),
            _ => vec![Incoming::Noise],
        },
        _ => vec![Incoming::Noise],
    }
}

fn message(text: &str, replaced: usize) -> Incoming {
    let envelope = match serde_json::from_str::<Envelope<'_>>(text) {
        Ok(envelope) => envelope,
        Err(error) => return unreadable(text, &error.to_string()),
    };
    match (envelope.method.as_deref(), envelope.id) {
        (Some("notifications/progress"), None) => progress(envelope.params),
        (Some("ping"), Some(_)) => typed(text).map_or(Incoming::Noise, sent),
        (Some(method), id) => {
            let params = envelope.params.map_or(Ok(Value::Null), |params| read_value(params.get()).map(|parsed| parsed.value));
            let (method, params) = (Text::from(method), params.unwrap_or_default());
            match id {
                Some(id) => Incoming::Asked(Asked { id: id.get().to_owned(), method, params }),
                None => Incoming::Notice(Notice { method, params }),
            }
        }
        (None, Some(id)) => match serde_json::from_str::<RequestId>(id.get()) {
            Ok(id) => reply(text, &envelope, id, replaced),
            Err(_) => error_without_id(text, &envelope),
        },
        (None, None) => error_without_id(text, &envelope),
    }
}

/// An error about a message whose id the server could not read. It counts during the handshake.
fn error_without_id(text: &str, envelope: &Envelope<'_>) -> Incoming {
    envelope.error.and_then(|_| typed(text)).map_or(Incoming::Noise, sent)
}

fn reply(text: &str, envelope: &Envelope<'_>, id: RequestId, replaced: usize) -> Incoming {
    let Some(ours) = own_id(&id) else {
        return sent(typed(text).unwrap_or_else(|| failed_handshake(id, "its reply to the handshake cannot be read")));
    };
    // Some servers send `"error": null` beside a result.
    let raw = match (envelope.result, envelope.error.filter(|error| error.get() != "null")) {
        (_, Some(error)) => RawReply::Error(error.get().to_owned()),
        (Some(result), None) => RawReply::Result(result.get().to_owned(), replaced),
        (None, None) => RawReply::Unreadable("it has neither a result nor an error".to_owned()),
    };
    Incoming::Reply(ours, raw)
}

/// The number of a request of ours; some servers answer `1000` with `"1000"`.
fn own_id(id: &RequestId) -> Option<u64> {
    id.to_string().parse().ok().filter(|id| *id >= FIRST_ID)
}

fn sent(message: ServerJsonRpcMessage) -> Incoming {
    Incoming::Message(Box::new(message))
}

fn failed_handshake(id: RequestId, why: &'static str) -> ServerJsonRpcMessage {
    ServerJsonRpcMessage::error(ErrorData::new(ErrorCode::INTERNAL_ERROR, why, None), Some(id))
}

/// A line that begins like a message and is none: ends the call that waits for it, if its id can be made out.
fn unreadable(text: &str, why: &str) -> Incoming {
    salvaged(text, &format!("it is no JSON: {why}")).unwrap_or(Incoming::Noise)
}

/// The end of the request whose reply this broken text was meant to be.
pub(crate) fn salvaged(text: &str, why: &str) -> Option<Incoming> {
    let found = salvage(text);
    let id = found.id.filter(|_| !found.has_method)?;
    let id: RequestId = serde_json::from_str(id).ok()?;
    Some(match own_id(&id) {
        Some(ours) => Incoming::Reply(ours, RawReply::Unreadable(why.to_owned())),
        None => sent(failed_handshake(id, "its reply to the handshake cannot be read")),
    })
}

/// The message as `rmcp` reads it, its broken text repaired first if it must.
fn typed(text: &str) -> Option<ServerJsonRpcMessage> {
    if let Ok(message) = serde_json::from_str(text) {
        return Some(message);
    }
    let repaired = read_value(text).ok()?;
    if repaired.replaced == 0 {
        return None;
    }
    serde_json::from_str(&repaired.value.to_json_string()).ok()
}

fn progress(params: Option<&RawValue>) -> Incoming {
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Params {
        progress_token: RequestId,
        progress: Option<f64>,
        total: Option<f64>,
        message: Option<String>,
    }
    let params = params.and_then(|params| serde_json::from_str::<Params>(params.get()).ok());
    let Some((params, of)) = params.and_then(|params| own_id(&params.progress_token).map(|of| (params, of))) else {
        return Incoming::Noise;
    };
    let message = params.message.map(Text::from).unwrap_or_default();
    Incoming::Progress(Progress { of, message, done: params.progress, total: params.total })
}

impl RawReply {
    /// Reads the body.
    pub(crate) fn read(self) -> Reply {
        match self {
            RawReply::Unreadable(why) => Reply::Unreadable(why),
            RawReply::Error(raw) => rpc_error(&raw).map_or_else(Reply::Unreadable, Reply::Error),
            RawReply::Result(raw, before) => match read_value(&raw) {
                Ok(mut parsed) => {
                    parsed.replaced = parsed.replaced.saturating_add(before);
                    Reply::Result(parsed)
                }
                Err(why) => Reply::Unreadable(why),
            },
        }
    }
}

/// The error in a body that names no request.
pub(crate) fn error_in(body: &[u8]) -> Option<RawReply> {
    let envelope: Envelope<'_> = serde_json::from_slice(body).ok()?;
    envelope.error.map(|error| RawReply::Error(error.get().to_owned()))
}

fn rpc_error(raw: &str) -> Result<RpcError, String> {
    Ok(error_of(&read_value(raw)?.value))
}

/// A JSON-RPC error object.
pub(crate) fn error_of(value: &Value) -> RpcError {
    RpcError {
        code: value.get("code").and_then(Value::as_i64).unwrap_or(0),
        message: value.get("message").and_then(Value::as_str).unwrap_or_default().to_owned(),
        data: value.get("data").cloned(),
    }
}

fn read_value(text: &str) -> Result<Parsed, String> {
    let options = ParseOptions { lone_surrogates: LoneSurrogates::Replace, ..ParseOptions::default() };
    Value::parse_with(text, &options).map_err(|error| error.to_string())
}

/// A request of ours as text: the members of `params` as they are, and `_meta` with our progress token and what else is in it.
pub(crate) fn request(id: u64, method: &str, params: &[(&str, &Value)], meta: &[(&str, Value)]) -> Vec<u8> {
    let mut text = format!(r#"{{"jsonrpc":"2.0","id":{id},"method":{},"params":{{"#, quoted(method));
    for (name, value) in params {
        member(&mut text, name, value);
        text.push(',');
    }
    text.push_str(&format!(r#""_meta":{{"progressToken":{id}"#));
    for (name, value) in meta {
        text.push(',');
        member(&mut text, name, value);
    }
    text.push_str("}}}");
    text.into_bytes()
}

fn member(text: &mut String, name: &str, value: &Value) {
    text.push_str(&quoted(name));
    text.push(':');
    text.push_str(&value.to_json_string());
}

fn quoted(text: &str) -> Cow<'_, str> {
    let plain = text.bytes().all(|byte| matches!(byte, b' '..=b'~') && byte != b'"' && byte != b'\\');
    if plain { Cow::Owned(format!("\"{text}\"")) } else { Cow::Owned(Value::from(text).to_json_string()) }
}

/// The notification that a request of ours is no longer wanted.
pub(crate) fn cancelled(id: u64, reason: &str) -> Vec<u8> {
    let reason = quoted(reason);
    format!(r#"{{"jsonrpc":"2.0","method":"notifications/cancelled","params":{{"requestId":{id},"reason":{reason}}}}}"#).into_bytes()
}

/// The answer to a request of the server.
pub(crate) fn answer(id: &str, outcome: Result<&Value, (i64, &str)>) -> Vec<u8> {
    let body = match outcome {
        Ok(result) => format!(r#""result":{}"#, result.to_json_string()),
        Err((code, message)) => format!(r#""error":{{"code":{code},"message":{}}}"#, quoted(message)),
    };
    format!(r#"{{"jsonrpc":"2.0","id":{id},{body}}}"#).into_bytes()
}

/// An idempotency key as a header can have it: what is no visible ASCII stands as `%` and two digits.
pub(crate) fn key_header(key: &str) -> String {
    let mut header = String::with_capacity(key.len());
    for byte in key.bytes() {
        if byte.is_ascii_graphic() {
            header.push(char::from(byte));
        } else {
            header.push_str(&format!("%{byte:02X}"));
        }
    }
    header
}

/// Whether this message of `rmcp` opens a session.
pub(crate) fn opens_session(message: &ClientJsonRpcMessage) -> bool {
    matches!(message, ClientJsonRpcMessage::Request(request) if matches!(request.request, ClientRequest::InitializeRequest(_)))
}

/// The id of a request of `rmcp`.
pub(crate) fn request_id(message: &ClientJsonRpcMessage) -> Option<String> {
    match message {
        ClientJsonRpcMessage::Request(request) => Some(request.id.to_string()),
        _ => None,
    }
}

/// The id of the request that a message for `rmcp` answers, and whether with a result.
pub(crate) fn answered_id(message: &ServerJsonRpcMessage) -> Option<(String, bool)> {
    match message {
        ServerJsonRpcMessage::Response(response) => Some((response.id.to_string(), true)),
        ServerJsonRpcMessage::Error(error) => error.id.as_ref().map(|id| (id.to_string(), false)),
        _ => None,
    }
}

/// The message of `rmcp` as JSON text.
pub(crate) fn text(message: &ClientJsonRpcMessage) -> Result<Vec<u8>, serde_json::Error> {
    serde_json::to_vec(message)
}

/// The message as the text of a server-sent event.
pub(crate) fn event(message: &ServerJsonRpcMessage) -> Result<String, serde_json::Error> {
    serde_json::to_string(message)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn read(text: &str) -> Vec<Incoming> {
        incoming(text.as_bytes())
    }

    fn reply(text: &str) -> Reply {
        let Some(Incoming::Reply(1_000, raw)) = read(text).pop() else { panic!("{text}") };
        raw.read()
    }

    #[test]
    fn a_request_is_written_with_its_members_and_meta() {
        let (name, arguments) = (Value::from("a\"b"), Value::parse(r#"{"n":1.50}"#).unwrap());
        let text = request(1_001, "tools/call", &[("name", &name), ("arguments", &arguments)], &[("k", Value::from("v"))]);
        let wanted = r#"{"jsonrpc":"2.0","id":1001,"method":"tools/call","params":{"name":"a\"b","arguments":{"n":1.50},"_meta":{"progressToken":1001,"k":"v"}}}"#;
        assert_eq!(String::from_utf8(text).unwrap(), wanted);
    }

    #[test]
    fn what_a_server_asks_and_says_keeps_every_member() {
        let text = r#"{"jsonrpc":"2.0","id":"q-1","method":"elicitation/create","params":{"x":1.50}}"#;
        let [Incoming::Asked(asked)] = &read(text)[..] else { panic!("not asked") };
        assert_eq!(
            (asked.id.as_str(), asked.method.as_str(), asked.params.to_json_string().as_str()),
            ("\"q-1\"", "elicitation/create", r#"{"x":1.50}"#)
        );
        let answer = String::from_utf8(answer(&asked.id, Err((-32_601, "no")))).unwrap();
        assert_eq!(answer, r#"{"jsonrpc":"2.0","id":"q-1","error":{"code":-32601,"message":"no"}}"#);
        let [Incoming::Notice(notice)] = &read(r#"{"method":"notifications/message","params":{"data":1e400}}"#)[..] else {
            panic!("no notice")
        };
        assert_eq!(notice.params.to_json_string(), r#"{"data":1e400}"#);
    }

    #[test]
    fn an_error_of_null_beside_a_result_is_no_error() {
        let Reply::Result(parsed) = reply(r#"{"id":1000,"result":{"a":1},"error":null}"#) else { panic!("no result") };
        assert_eq!(parsed.value.to_json_string(), r#"{"a":1}"#);
        assert!(matches!(reply(r#"{"id":1000,"result":null,"error":{"code":1,"message":"x"}}"#), Reply::Error(_)));
        assert!(matches!(reply(r#"{"id":1000,"error":null}"#), Reply::Unreadable(_)));
    }

    #[test]
    fn invalid_utf8_is_replaced_and_counted() {
        let mut line = br#"{"id":1000,"result":{"a":"x"#.to_vec();
        line.extend([0xff, b'"', b'}', b'}']);
        let Some(Incoming::Reply(_, raw)) = incoming(&line).pop() else { panic!("no reply") };
        let Reply::Result(parsed) = raw.read() else { panic!("no result") };
        assert_eq!((parsed.replaced, parsed.value.to_json_string().as_str()), (1, "{\"a\":\"x\u{FFFD}\"}"));
    }

    #[test]
    fn a_batch_is_its_parts_and_an_error_without_id_is_heard() {
        let parts = read(r#"[{"id":1000,"result":{}},{"id":1001,"result":{}},7]"#);
        assert!(matches!(parts.as_slice(), [Incoming::Reply(1_000, _), Incoming::Reply(1_001, _), Incoming::Noise]));
        let error = r#"{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"no"}}"#;
        let [Incoming::Message(message)] = &read(error)[..] else { panic!("not heard") };
        assert!(matches!(**message, ServerJsonRpcMessage::Error(_)));
    }

    proptest! {
        #[test]
        fn no_bytes_break_the_reader(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
            incoming(&bytes);
        }

        #[test]
        fn no_damage_to_a_message_breaks_the_reader_or_hides_its_end(at in 0_usize..60, byte in any::<u8>()) {
            let mut line = br#"{"jsonrpc":"2.0","id":1000,"result":{"content":[],"a":[1.50]}}"#.to_vec();
            if let Some(place) = line.get_mut(at) {
                *place = byte;
            }
            for part in incoming(&line) {
                if let Incoming::Reply(_, raw) = part {
                    raw.read();
                }
            }
        }
    }
}

//! The border: MCP messages as `rmcp` and `serde_json` have them on one side, our `Value` on the other.
//!
//! Replies to tool calls and listings never pass through typed models, which drop unknown members and refuse
//! unknown content: their raw text travels inside a [`CustomResult`] and is read by our own parser at the end.
//! Nothing outside this file reads or writes a JSON-RPC message.

use std::borrow::Cow;
use std::sync::Arc;

use rmcp::model::{
    CallToolRequest, CallToolRequestParams, CancelledNotification, CancelledNotificationParam, ClientJsonRpcMessage, ClientNotification,
    ClientRequest, CustomResult, ErrorCode, ErrorData, ListToolsRequest, MetaObject, PaginatedRequestParams, ProgressToken, RequestId,
    RequestMetaObject, ServerJsonRpcMessage, ServerResult,
};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use toolwright::value::{LoneSurrogates, ParseOptions, Parsed};
use toolwright::{Text, Value};

use crate::upstream::IDEMPOTENCY_KEY_META;
use crate::upstream::frame::salvage;

/// The member of a typed tool list's `_meta` that carries the list's raw text.
const RAW_LIST: &str = "toolwright/raw";

/// What one line, event or body holds.
#[derive(Debug)]
pub(crate) enum Incoming {
    /// A message for `rmcp`.
    Message(Box<ServerJsonRpcMessage>),
    /// A report on a running request.
    Progress(Progress),
    /// No message at all.
    Noise,
}

/// A progress notification.
#[derive(Clone, Debug)]
pub(crate) struct Progress {
    pub(crate) token: ProgressToken,
    pub(crate) message: Text,
    pub(crate) done: Option<f64>,
    pub(crate) total: Option<f64>,
}

/// How the reply to a request reaches its caller.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Reading {
    /// Raw text inside a custom result.
    Raw,
    /// As the typed model that the handshake needs.
    Typed,
    /// A typed list, so that the HTTP transport can learn which arguments go into headers, with its raw text beside it.
    List,
}

/// A reply to a call or a listing.
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
#[derive(Debug)]
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
///
/// `reading` says how the reply to a request of ours is wanted.
pub(crate) fn incoming(bytes: &[u8], reading: &dyn Fn(&RequestId) -> Reading) -> Vec<Incoming> {
    let bytes = bytes.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(bytes);
    let text = String::from_utf8_lossy(bytes);
    let replaced = match &text {
        Cow::Borrowed(_) => 0,
        Cow::Owned(text) => text.matches(char::REPLACEMENT_CHARACTER).count(),
    };
    let text = text.trim_ascii();
    match text.as_bytes().first() {
        Some(b'{') => vec![message(text, replaced, reading)],
        Some(b'[') => match serde_json::from_str::<Vec<&RawValue>>(text) {
            Ok(parts) if !parts.is_empty() => parts.into_iter().map(|part| message(part.get(), replaced, reading)).collect(),
            _ => vec![Incoming::Noise],
        },
        _ => vec![Incoming::Noise],
    }
}

fn message(text: &str, replaced: usize, reading: &dyn Fn(&RequestId) -> Reading) -> Incoming {
    let envelope = match serde_json::from_str::<Envelope<'_>>(text) {
        Ok(envelope) => envelope,
        Err(error) => return unreadable(text, &error.to_string(), reading),
    };
    match (envelope.method.as_deref(), envelope.id) {
        (Some("notifications/progress"), None) => progress(envelope.params),
        (Some(_), _) => typed(text).map_or(Incoming::Noise, sent),
        (None, Some(id)) => match serde_json::from_str::<RequestId>(id.get()) {
            Ok(id) => reply(text, &envelope, id, replaced, reading),
            Err(_) => error_without_id(text, &envelope),
        },
        (None, None) => error_without_id(text, &envelope),
    }
}

/// An error about a message whose id the server could not read. It counts during the handshake.
fn error_without_id(text: &str, envelope: &Envelope<'_>) -> Incoming {
    envelope.error.and_then(|_| typed(text)).map_or(Incoming::Noise, sent)
}

fn reply(text: &str, envelope: &Envelope<'_>, id: RequestId, replaced: usize, reading: &dyn Fn(&RequestId) -> Reading) -> Incoming {
    let wanted = reading(&id);
    if wanted == Reading::Typed {
        let message = typed(text).unwrap_or_else(|| failed_handshake(id, "its reply to the handshake cannot be read"));
        return sent(message);
    }
    // Some servers send `"error": null` beside a result.
    let coded = match (envelope.result, envelope.error.filter(|error| error.get() != "null")) {
        (_, Some(error)) => format!("e:{}", error.get()),
        (Some(result), None) => {
            if wanted == Reading::List
                && let Some(list) = typed_list(text, result.get())
            {
                return sent(list);
            }
            format!("r{replaced}:{}", result.get())
        }
        (None, None) => "u:it has neither a result nor an error".to_owned(),
    };
    sent(coded_reply(coded, id))
}

fn sent(message: ServerJsonRpcMessage) -> Incoming {
    Incoming::Message(Box::new(message))
}

fn coded_reply(coded: String, id: RequestId) -> ServerJsonRpcMessage {
    let result = CustomResult::new(serde_json::Value::String(coded));
    ServerJsonRpcMessage::response(ServerResult::CustomResult(result), id)
}

/// The reply that ends a request whose own reply cannot be used.
pub(crate) fn unreadable_reply(id: RequestId, why: &str) -> ServerJsonRpcMessage {
    coded_reply(format!("u:{why}"), id)
}

fn failed_handshake(id: RequestId, why: &'static str) -> ServerJsonRpcMessage {
    ServerJsonRpcMessage::error(ErrorData::new(ErrorCode::INTERNAL_ERROR, why, None), Some(id))
}

/// A line that begins like a message and is none: ends the call that waits for it, if its id can be made out.
fn unreadable(text: &str, why: &str, reading: &dyn Fn(&RequestId) -> Reading) -> Incoming {
    match salvaged_id(text) {
        Some(id) if reading(&id) == Reading::Typed => sent(failed_handshake(id, "its reply to the handshake is no JSON")),
        Some(id) => sent(unreadable_reply(id, &format!("it is no JSON: {why}"))),
        None => Incoming::Noise,
    }
}

/// The id of the reply that this broken text was meant to be.
pub(crate) fn salvaged_id(text: &str) -> Option<RequestId> {
    let found = salvage(text);
    let id = found.id.filter(|_| !found.has_method)?;
    serde_json::from_str(id).ok()
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

fn typed_list(text: &str, raw: &str) -> Option<ServerJsonRpcMessage> {
    let mut message: ServerJsonRpcMessage = serde_json::from_str(text).ok()?;
    let ServerJsonRpcMessage::Response(response) = &mut message else { return None };
    let ServerResult::ListToolsResult(list) = &mut response.result else { return None };
    let meta = list.meta.get_or_insert_with(MetaObject::new);
    meta.0.insert(RAW_LIST.to_owned(), serde_json::Value::String(raw.to_owned()));
    Some(message)
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
    let Some(params) = params.and_then(|params| serde_json::from_str::<Params>(params.get()).ok()) else {
        return Incoming::Noise;
    };
    Incoming::Progress(Progress {
        token: ProgressToken(params.progress_token),
        message: params.message.map(Text::from).unwrap_or_default(),
        done: params.progress,
        total: params.total,
    })
}

/// The reply inside what `rmcp` hands back.
pub(crate) fn reply_of(result: ServerResult) -> Reply {
    let coded = match result {
        ServerResult::CustomResult(CustomResult(serde_json::Value::String(coded))) => coded,
        ServerResult::ListToolsResult(list) => {
            let raw = list.meta.as_ref().and_then(|meta| meta.0.get(RAW_LIST)).and_then(|raw| raw.as_str());
            match raw {
                Some(raw) => format!("r0:{raw}"),
                None => return Reply::Unreadable("its tool list took an unknown way".to_owned()),
            }
        }
        _ => return Reply::Unreadable("its reply took an unknown way".to_owned()),
    };
    let Some((tag, body)) = coded.split_once(':') else {
        return Reply::Unreadable("its reply took an unknown way".to_owned());
    };
    match tag {
        "u" => Reply::Unreadable(body.to_owned()),
        "e" => rpc_error(body).map_or_else(Reply::Unreadable, Reply::Error),
        _ => match read_value(body) {
            Ok(mut parsed) => {
                let before = tag.strip_prefix('r').and_then(|count| count.parse::<usize>().ok()).unwrap_or(0);
                parsed.replaced = parsed.replaced.saturating_add(before);
                Reply::Result(parsed)
            }
            Err(why) => Reply::Unreadable(why),
        },
    }
}

fn rpc_error(raw: &str) -> Result<RpcError, String> {
    let value = read_value(raw)?.value;
    Ok(RpcError {
        code: value.get("code").and_then(Value::as_i64).unwrap_or(0),
        message: value.get("message").and_then(Value::as_str).unwrap_or_default().to_owned(),
        data: value.get("data").cloned(),
    })
}

fn read_value(text: &str) -> Result<Parsed, String> {
    let options = ParseOptions { lone_surrogates: LoneSurrogates::Replace, ..ParseOptions::default() };
    Value::parse_with(text, &options).map_err(|error| error.to_string())
}

/// The arguments of a call as the caller gave them, to the last digit; beside the message, not in it.
#[derive(Clone)]
struct Verbatim(Arc<RawValue>);

/// The request that calls a tool; absent when the arguments are no object.
///
/// `rmcp` sees the arguments only over HTTP, where it may have to repeat some of them in headers.
///
/// `idempotency_key` goes into `_meta`; over HTTP it is a header too.
pub(crate) fn call(name: &str, arguments: &Value, idempotency_key: &str, over_http: bool) -> Option<ClientRequest> {
    let text = match arguments {
        Value::Null => "{}".to_owned(),
        arguments => arguments.as_object().map(|_| arguments.to_json_string())?,
    };
    let mut params = CallToolRequestParams::new(name.to_owned());
    if over_http && let serde_json::Value::Object(arguments) = arguments.to_json() {
        params = params.with_arguments(arguments);
    }
    let mut request = CallToolRequest::new(params);
    request.extensions.insert(Verbatim(RawValue::from_string(text).ok()?.into()));
    let mut meta = RequestMetaObject::new();
    meta.insert(IDEMPOTENCY_KEY_META.to_owned(), idempotency_key.into());
    request.extensions.insert(meta);
    Some(ClientRequest::CallToolRequest(request))
}

/// The idempotency key of a call, as a header can have it: what is no visible ASCII stands as `%` and two digits.
pub(crate) fn idempotency_key(message: &ClientJsonRpcMessage) -> Option<String> {
    let ClientJsonRpcMessage::Request(request) = message else { return None };
    let ClientRequest::CallToolRequest(call) = &request.request else { return None };
    let key = call.extensions.get::<RequestMetaObject>()?.get(IDEMPOTENCY_KEY_META)?.as_str()?;
    let mut header = String::with_capacity(key.len());
    for byte in key.bytes() {
        if byte.is_ascii_graphic() {
            header.push(char::from(byte));
        } else {
            header.push_str(&format!("%{byte:02X}"));
        }
    }
    Some(header)
}

/// The request for one page of the tool list.
pub(crate) fn list(cursor: Option<&str>) -> ClientRequest {
    let request = match cursor {
        Some(cursor) => ListToolsRequest::with_param(PaginatedRequestParams::default().with_cursor(Some(cursor.to_owned()))),
        None => ListToolsRequest::default(),
    };
    ClientRequest::ListToolsRequest(request)
}

/// The notification that a request of ours is no longer wanted.
pub(crate) fn cancelled(id: RequestId, reason: &str) -> ClientNotification {
    let params = CancelledNotificationParam::new(Some(id), Some(reason.to_owned()));
    ClientNotification::CancelledNotification(CancelledNotification::new(params))
}

/// Whether this message asks for the handshake, whose reply `rmcp` needs typed.
pub(crate) fn handshake_id(message: &ClientJsonRpcMessage) -> Option<&RequestId> {
    match message {
        ClientJsonRpcMessage::Request(request) => match request.request {
            ClientRequest::InitializeRequest(_) | ClientRequest::DiscoverRequest(_) => Some(&request.id),
            _ => None,
        },
        _ => None,
    }
}

/// How the reply to this message is wanted over HTTP; absent for what is no call and no listing.
pub(crate) fn wanted(message: &ClientJsonRpcMessage) -> Option<(RequestId, Reading)> {
    match message {
        ClientJsonRpcMessage::Request(request) => match request.request {
            ClientRequest::CallToolRequest(_) => Some((request.id.clone(), Reading::Raw)),
            ClientRequest::ListToolsRequest(_) => Some((request.id.clone(), Reading::List)),
            _ => None,
        },
        _ => None,
    }
}

/// The message as JSON text.
pub(crate) fn text(message: &ClientJsonRpcMessage) -> Result<Vec<u8>, serde_json::Error> {
    #[derive(Serialize)]
    struct Message<'a> {
        jsonrpc: &'static str,
        id: &'a RequestId,
        method: &'static str,
        params: Params<'a>,
    }
    #[derive(Serialize)]
    struct Params<'a> {
        name: &'a str,
        arguments: &'a RawValue,
        #[serde(rename = "_meta", skip_serializing_if = "Option::is_none")]
        meta: Option<&'a RequestMetaObject>,
    }
    if let ClientJsonRpcMessage::Request(request) = message
        && let ClientRequest::CallToolRequest(call) = &request.request
        && let Some(Verbatim(arguments)) = call.extensions.get::<Verbatim>()
    {
        let params = Params { name: &call.params.name, arguments, meta: call.extensions.get::<RequestMetaObject>() };
        return serde_json::to_vec(&Message { jsonrpc: "2.0", id: &request.id, method: "tools/call", params });
    }
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
        incoming(text.as_bytes(), &|id| if id.to_string() == "0" { Reading::Typed } else { Reading::Raw })
    }

    fn reply(text: &str) -> Reply {
        let Some(Incoming::Message(message)) = read(text).pop() else { panic!("{text}") };
        let ServerJsonRpcMessage::Response(response) = *message else { panic!("{text}") };
        reply_of(response.result)
    }

    #[test]
    fn a_result_that_looks_like_our_own_coding_is_a_result() {
        for result in [r#""u:x""#, r#""r0:{}""#, r#"["e:{}"]"#, r#"{"toolwright/raw":"x"}"#] {
            let Reply::Result(parsed) = reply(&format!(r#"{{"id":1,"result":{result}}}"#)) else { panic!("{result}") };
            assert_eq!(parsed.value, Value::parse(result).unwrap());
        }
    }

    #[test]
    fn an_error_of_null_beside_a_result_is_no_error() {
        let Reply::Result(parsed) = reply(r#"{"id":1,"result":{"a":1},"error":null}"#) else { panic!("no result") };
        assert_eq!(parsed.value.to_json_string(), r#"{"a":1}"#);
        assert!(matches!(reply(r#"{"id":1,"result":null,"error":{"code":1,"message":"x"}}"#), Reply::Error(_)));
        assert!(matches!(reply(r#"{"id":1,"error":null}"#), Reply::Unreadable(_)));
    }

    #[test]
    fn invalid_utf8_is_replaced_and_counted() {
        let mut line = br#"{"id":1,"result":{"a":"x"#.to_vec();
        line.extend([0xff, b'"', b'}', b'}']);
        let Some(Incoming::Message(message)) = incoming(&line, &|_| Reading::Raw).pop() else { panic!("no message") };
        let ServerJsonRpcMessage::Response(response) = *message else { panic!("no response") };
        let Reply::Result(parsed) = reply_of(response.result) else { panic!("no result") };
        assert_eq!((parsed.replaced, parsed.value.to_json_string().as_str()), (1, "{\"a\":\"x\u{FFFD}\"}"));
    }

    #[test]
    fn a_batch_is_its_parts_and_an_error_without_id_is_heard() {
        let parts = read(r#"[{"id":1,"result":{}},{"id":2,"result":{}},7]"#);
        assert!(matches!(parts.as_slice(), [Incoming::Message(_), Incoming::Message(_), Incoming::Noise]));
        let error = r#"{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"no"}}"#;
        let [Incoming::Message(message)] = &read(error)[..] else { panic!("not heard") };
        assert!(matches!(**message, ServerJsonRpcMessage::Error(_)));
    }

    proptest! {
        #[test]
        fn no_bytes_break_the_reader(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
            incoming(&bytes, &|_| Reading::List);
        }

        #[test]
        fn no_damage_to_a_message_breaks_the_reader_or_hides_its_end(at in 0_usize..60, byte in any::<u8>()) {
            let mut line = br#"{"jsonrpc":"2.0","id":1,"result":{"content":[],"a":[1.50]}}"#.to_vec();
            if let Some(place) = line.get_mut(at) {
                *place = byte;
            }
            for part in incoming(&line, &|_| Reading::Raw) {
                if let Incoming::Message(message) = part
                    && let ServerJsonRpcMessage::Response(response) = *message
                {
                    reply_of(response.result);
                }
            }
        }
    }
}

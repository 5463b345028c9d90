//! The border towards clients: JSON-RPC messages as text on one side, our `Value` on the other. Nothing else in the server reads or
//! writes one.

use std::fmt;

use toolwright::value::{LoneSurrogates, ParseOptions};
use toolwright::{Number, Text, Value};

use super::outlet::Reply;
use super::request::META_VERSION;
use crate::upstream::frame;

/// The text is no JSON.
pub(crate) const PARSE_ERROR: i64 = -32_700;
/// It is JSON, but no message.
pub(crate) const INVALID_REQUEST: i64 = -32_600;
pub(crate) const METHOD_NOT_FOUND: i64 = -32_601;
pub(crate) const INVALID_PARAMS: i64 = -32_602;
pub(crate) const INTERNAL_ERROR: i64 = -32_603;
/// What a resource is answered with that does not exist, up to 2025-11-25.
pub(crate) const RESOURCE_NOT_FOUND: i64 = -32_002;
/// Headers say something else than the message (2026-07-28).
pub(crate) const HEADER_MISMATCH: i64 = -32_020;
/// The request needs what its client did not declare (2026-07-28).
pub(crate) const MISSING_CAPABILITY: i64 = -32_021;
/// A version that is not spoken here (2026-07-28).
pub(crate) const UNSUPPORTED_VERSION: i64 = -32_022;

/// Containers inside each other in one message.
const DEPTH_MAX: u32 = 128;
/// Bytes of an id.
const ID_BYTES_MAX: usize = 256;
/// Bytes of a method's name.
const METHOD_BYTES_MAX: usize = 256;
/// Messages of one batch.
const BATCH_MESSAGES_MAX: usize = 100;

/// The id of a request, as its sender wrote it: a text and a number are never the same.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) enum Id {
    Text(Text),
    /// The digits as sent.
    Number(Text),
}

impl Id {
    /// The id that a value is; none when it is no text and no whole number.
    pub(crate) fn from_value(value: &Value) -> Option<Id> {
        match value {
            Value::String(text) => Some(Id::Text(text.clone())),
            Value::Number(number) if number.is_written_as_integer() => Some(Id::Number(Text::from(number.text().as_ref()))),
            _ => None,
        }
    }

    pub(crate) fn to_value(&self) -> Value {
        match self {
            Id::Text(text) => Value::from(text.clone()),
            Id::Number(digits) => Number::parse(digits).map_or(Value::Null, Value::from),
        }
    }

    fn append(&self, out: &mut String) {
        match self {
            Id::Text(text) => Value::from(text.clone()).append_json(out),
            Id::Number(digits) => out.push_str(digits),
        }
    }

    fn bytes(&self) -> usize {
        let (Id::Text(text) | Id::Number(text)) = self;
        text.len()
    }
}

/// As it stands in a message.
impl fmt::Display for Id {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut text = String::new();
        self.append(&mut text);
        f.write_str(&text)
    }
}

/// What a client sent.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Incoming {
    /// `params` is an object, or `null` when there were none.
    Request {
        id: Id,
        method: Text,
        params: Value,
    },
    Notification {
        method: Text,
        params: Value,
    },
    /// The answer to a question of ours.
    Response {
        id: Id,
        outcome: Result<Value, RpcError>,
    },
}

impl Incoming {
    /// The method; a response has none.
    pub(crate) fn method(&self) -> Option<&Text> {
        match self {
            Incoming::Request { method, .. } | Incoming::Notification { method, .. } => Some(method),
            Incoming::Response { .. } => None,
        }
    }

    pub(crate) fn params(&self) -> &Value {
        match self {
            Incoming::Request { params, .. } | Incoming::Notification { params, .. } => params,
            Incoming::Response { .. } => &Value::Null,
        }
    }

    /// The version that it names itself: then it belongs to the sessionless generation, whatever came before it.
    pub(crate) fn names_version(&self) -> Option<&Value> {
        self.params().get("_meta")?.get(META_VERSION)
    }
}

/// What arrived at once.
#[derive(Clone, Debug)]
pub(crate) enum Read {
    One(Result<Incoming, Unusable>),
    /// A batch, as 2025-03-26 had it; never empty.
    Batch(Vec<Result<Incoming, Unusable>>),
}

impl Read {
    pub(crate) fn messages(&self) -> &[Result<Incoming, Unusable>] {
        match self {
            Read::One(message) => std::slice::from_ref(message),
            Read::Batch(messages) => messages,
        }
    }

    /// Whether something is answered: a request, or what cannot be used.
    pub(crate) fn wants_reply(&self) -> bool {
        self.messages().iter().any(|message| matches!(message, Ok(Incoming::Request { .. }) | Err(_)))
    }
}

/// A message that cannot be used, with the error that its sender gets.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Unusable {
    /// Its id, when that could be made out.
    pub(crate) id: Option<Id>,
    pub(crate) error: RpcError,
}

/// A JSON-RPC error.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct RpcError {
    pub(crate) code: i64,
    pub(crate) message: String,
    pub(crate) data: Option<Value>,
}

impl RpcError {
    pub(crate) fn new(code: i64, message: impl Into<String>) -> Self {
        Self { code, message: message.into(), data: None }
    }

    pub(crate) fn with_data(self, data: Value) -> Self {
        Self { data: Some(data), ..self }
    }
}

/// Reads what arrived: one message, or a batch. Never fails as a whole; what cannot be used says so.
pub(crate) fn read(bytes: &[u8]) -> Read {
    let options = ParseOptions { depth_max: DEPTH_MAX, lone_surrogates: LoneSurrogates::Refuse };
    let value = match Value::parse_with(bytes, &options) {
        Ok(parsed) => parsed.value,
        Err(error) => {
            let text = format!("the message cannot be read: {error}; {}", error.help());
            return Read::One(Err(Unusable { id: id_of_broken(bytes), error: RpcError::new(PARSE_ERROR, text) }));
        }
    };
    match value {
        Value::Array(items) if items.is_empty() => Read::One(invalid(None, "the batch is empty; send at least one message in it")),
        Value::Array(items) if items.len() > BATCH_MESSAGES_MAX => {
            Read::One(invalid(None, format!("a batch of {} messages; the limit is {BATCH_MESSAGES_MAX}: send several", items.len())))
        }
        Value::Array(items) => Read::Batch(items.iter().map(one).collect()),
        other => Read::One(one(&other)),
    }
}

/// The id of a request that no JSON reader takes, so that its sender need not wait.
fn id_of_broken(bytes: &[u8]) -> Option<Id> {
    let found = frame::salvage(std::str::from_utf8(bytes).ok()?);
    let id = Value::parse(found.id.filter(|_| found.has_method)?).ok()?;
    Id::from_value(&id).filter(|id| id.bytes() <= ID_BYTES_MAX)
}

fn invalid(id: Option<Id>, text: impl Into<String>) -> Result<Incoming, Unusable> {
    Err(Unusable { id, error: RpcError::new(INVALID_REQUEST, text) })
}

fn one(value: &Value) -> Result<Incoming, Unusable> {
    let Some(object) = value.as_object() else {
        return invalid(None, format!("a message is a JSON object, and this is {}", article(value.kind())));
    };
    let id = match object.get("id") {
        None => None,
        Some(sent) => match Id::from_value(sent) {
            Some(id) if id.bytes() <= ID_BYTES_MAX => Some(id),
            Some(_) => return invalid(None, format!("the `id` has more than {ID_BYTES_MAX} bytes; choose a shorter one")),
            None => return invalid(None, format!("the `id` is {}; give a text or a whole number", article(sent.kind()))),
        },
    };
    if object.get("jsonrpc").and_then(Value::as_str) != Some("2.0") {
        return invalid(id, "`jsonrpc` must be `\"2.0\"`");
    }
    match object.get("method") {
        Some(Value::String(method)) if method.len() <= METHOD_BYTES_MAX => asked(id, method, object.get("params")),
        Some(Value::String(_)) => invalid(id, format!("the `method` has more than {METHOD_BYTES_MAX} bytes")),
        Some(other) => invalid(id, format!("the `method` is {}; give a text", article(other.kind()))),
        None => answered(id, value),
    }
}

fn asked(id: Option<Id>, method: &Text, params: Option<&Value>) -> Result<Incoming, Unusable> {
    let params = match params {
        None => Value::Null,
        Some(Value::Object(object)) => Value::from(object.clone()),
        Some(other) => {
            let text = format!("the `params` of `{method}` are {}; give an object, or leave them out", article(other.kind()));
            return Err(Unusable { id, error: RpcError::new(INVALID_PARAMS, text) });
        }
    };
    let method = method.clone();
    Ok(match id {
        Some(id) => Incoming::Request { id, method, params },
        None => Incoming::Notification { method, params },
    })
}

/// A message without a method: a response, or nothing.
fn answered(id: Option<Id>, value: &Value) -> Result<Incoming, Unusable> {
    let Some(id) = id else {
        return invalid(None, "a message has a `method`, or an `id` with a `result` or an `error`; this one has neither");
    };
    match (value.get("result"), value.get("error")) {
        (Some(result), None) => Ok(Incoming::Response { id, outcome: Ok(result.clone()) }),
        (None, Some(error)) => {
            let code = error.get("code").and_then(Value::as_i64).unwrap_or(INTERNAL_ERROR);
            let message = error.get("message").and_then(Value::as_str).unwrap_or("no message").to_owned();
            Ok(Incoming::Response { id, outcome: Err(RpcError { code, message, data: error.get("data").cloned() }) })
        }
        (Some(_), Some(_)) => invalid(Some(id), "a response has a `result` or an `error`, not both"),
        (None, None) => invalid(Some(id), "a request has a `method`, a response a `result` or an `error`; this message has none of them"),
    }
}

fn article(kind: &str) -> &'static str {
    match kind {
        "null" => "`null`",
        "boolean" => "a boolean",
        "integer" => "a whole number",
        "number" => "a number with a fraction or an exponent",
        "string" => "a text",
        "array" => "an array",
        _ => "an object",
    }
}

/// The reply with a result.
pub(crate) fn reply(id: &Id, result: &Value) -> Reply {
    let mut text = opened(Some(id), "result", usize::try_from(result.weight()).unwrap_or(0).min(1 << 26));
    result.append_json(&mut text);
    text.push('}');
    Reply { text, error: None }
}

/// The reply with a result of about so many bytes that `write` appends as JSON text.
pub(crate) fn reply_text(id: &Id, bytes: usize, write: impl FnOnce(&mut String)) -> Reply {
    let mut text = opened(Some(id), "result", bytes);
    write(&mut text);
    text.push('}');
    Reply { text, error: None }
}

/// The reply with an error. Without an id when that could not be made out: since 2025-11-25 that member is then left out, and readers
/// of older revisions drop a message without an id whatever stands in it.
pub(crate) fn failure(id: Option<&Id>, error: &RpcError) -> Reply {
    let mut members = vec![("code", Value::from(error.code)), ("message", Value::from(error.message.as_str()))];
    if let Some(data) = &error.data {
        members.push(("data", data.clone()));
    }
    let mut text = opened(id, "error", error.message.len() + 64);
    Value::object(members).append_json(&mut text);
    text.push('}');
    Reply { text, error: Some(error.code) }
}

/// A notification.
pub(crate) fn notification(method: &str, params: &Value) -> String {
    asking(None, method, params)
}

/// A question to a client.
pub(crate) fn request(id: &Id, method: &str, params: &Value) -> String {
    asking(Some(id), method, params)
}

/// The replies of a batch as one message.
pub(crate) fn batch(replies: &[Reply]) -> Reply {
    let texts: Vec<&str> = replies.iter().map(|reply| reply.text.as_str()).collect();
    Reply { text: format!("[{}]", texts.join(",")), error: None }
}

/// `{"jsonrpc":"2.0","id":…,"NAME":`, with room for so many bytes more.
fn opened(id: Option<&Id>, name: &str, more: usize) -> String {
    let mut text = String::with_capacity(more + 64);
    text.push_str("{\"jsonrpc\":\"2.0\",");
    if let Some(id) = id {
        text.push_str("\"id\":");
        id.append(&mut text);
        text.push(',');
    }
    text.push('"');
    text.push_str(name);
    text.push_str("\":");
    text
}

fn asking(id: Option<&Id>, method: &str, params: &Value) -> String {
    let mut text = opened(id, "method", method.len() + usize::try_from(params.weight()).unwrap_or(0).min(1 << 26));
    Value::from(method).append_json(&mut text);
    if !params.is_null() {
        text.push_str(",\"params\":");
        params.append_json(&mut text);
    }
    text.push('}');
    text
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Something like a message, with each part sometimes missing and sometimes of another type.
    fn messages() -> impl Strategy<Value = String> {
        let scalar = prop_oneof![
            Just("1".to_owned()),
            Just("-7".to_owned()),
            Just("1.5".to_owned()),
            Just("1e400".to_owned()),
            Just("null".to_owned()),
            Just("true".to_owned()),
            Just("NaN".to_owned()),
            Just("\"2.0\"".to_owned()),
            Just("\"a\\ud83d\"".to_owned()),
            Just("{}".to_owned()),
            Just("[1,{\"id\":2}]".to_owned()),
            Just("{\"_meta\":{\"progressToken\":\"x\"}}".to_owned()),
            "\"[a-z/]{0,20}\"",
            "[0-9]{1,40}",
            "[{}\\[\\]\":,]{1,8}",
        ];
        let key = prop_oneof![
            4 => Just("jsonrpc"), 4 => Just("id"), 4 => Just("method"), 3 => Just("params"), 1 => Just("result"), 1 => Just("error"), 1 => Just("x")
        ];
        let member = (key, scalar).prop_map(|(key, value)| format!("\"{key}\":{value}"));
        let message = prop::collection::vec(member, 0..7).prop_map(|members| format!("{{{}}}", members.join(",")));
        prop_oneof![
            3 => message.clone(),
            1 => prop::collection::vec(message, 0..4).prop_map(|messages| format!("[{}]", messages.join(","))),
        ]
    }

    fn check(bytes: &[u8]) -> Result<(), TestCaseError> {
        let read = read(bytes);
        for message in read.messages() {
            match message {
                Ok(Incoming::Request { id, method, params }) => {
                    prop_assert!(params.is_null() || params.as_object().is_some());
                    // It reads as the same when it is written again: nothing of it was lost.
                    let again = super::read(request(id, method, params).as_bytes());
                    prop_assert!(matches!(&again, Read::One(Ok(same)) if same == message.as_ref().unwrap()), "{again:?}");
                }
                Ok(Incoming::Notification { params, .. }) => prop_assert!(params.is_null() || params.as_object().is_some()),
                Ok(Incoming::Response { .. }) => {}
                Err(unusable) => {
                    let text = failure(unusable.id.as_ref(), &unusable.error).text;
                    prop_assert!(!text.contains('\n'), "a frame is one line: {text}");
                    let value = Value::parse(&text).unwrap();
                    prop_assert_eq!(value.pointer("/error/code").and_then(Value::as_i64), Some(unusable.error.code));
                    prop_assert_eq!(value.get("id").and_then(Id::from_value), unusable.id.clone());
                }
            }
        }
        Ok(())
    }

    proptest! {
        #[test]
        fn any_message_is_read_or_refused(text in messages()) {
            check(text.as_bytes())?;
        }

        #[test]
        fn any_bytes_are_read_or_refused(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
            check(&bytes)?;
        }

        #[test]
        fn a_message_cut_anywhere_is_refused(text in messages(), at in any::<prop::sample::Index>()) {
            let bytes = text.as_bytes();
            check(&bytes[..at.index(bytes.len().max(1)).min(bytes.len())])?;
        }
    }

    #[test]
    fn an_id_is_never_taken_for_another_one() {
        let id = |text: &str| Id::from_value(&Value::parse(text).unwrap());
        assert_ne!(id("1"), id("\"1\""));
        assert_eq!(id("1").unwrap().to_string(), "1");
        assert_eq!(id("\"a\\\"b\"").unwrap().to_string(), "\"a\\\"b\"");
        for none in ["1.0", "1e2", "null", "true", "[]", "{}"] {
            assert_eq!(id(none), None, "{none}");
        }
    }
}

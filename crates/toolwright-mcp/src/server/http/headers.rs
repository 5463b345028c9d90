//! Headers of requests: what a client takes, what it names, and, since 2026-07-28, that they say what the message says.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use http::header::{ACCEPT, CONTENT_TYPE};
use http::{HeaderMap, HeaderName};
use toolwright::{Number, Text, Value};

use crate::server::message::{HEADER_MISMATCH, Incoming, RpcError};
use crate::server::version::Version;

pub(super) const VERSION: HeaderName = HeaderName::from_static("mcp-protocol-version");
pub(super) const SESSION: HeaderName = HeaderName::from_static("mcp-session-id");
pub(super) const LAST_EVENT: HeaderName = HeaderName::from_static("last-event-id");
pub(super) const KEY: HeaderName = HeaderName::from_static("idempotency-key");
const METHOD: HeaderName = HeaderName::from_static("mcp-method");
const NAME: HeaderName = HeaderName::from_static("mcp-name");
/// What the names of headers begin with that mirror arguments.
const PARAM: &str = "mcp-param-";

const CODED_START: &str = "=?base64?";
const CODED_END: &str = "?=";
/// Bytes of an idempotency key.
const KEY_BYTES_MAX: usize = 256;

/// Whether the client takes all of these kinds. A client that does not say takes everything.
pub(super) fn accepts(headers: &HeaderMap, kinds: &[&str]) -> bool {
    let mut said = headers.get_all(ACCEPT).iter().filter_map(|value| value.to_str().ok()).flat_map(|value| value.split(',')).peekable();
    if said.peek().is_none() {
        return true;
    }
    let ranges: Vec<String> = said.map(|range| range.split(';').next().unwrap_or_default().trim().to_ascii_lowercase()).collect();
    kinds.iter().all(|kind| {
        let group = kind.split('/').next().unwrap_or_default();
        ranges.iter().any(|range| range == kind || range == "*/*" || range.strip_suffix("/*") == Some(group))
    })
}

/// Whether the body is said to be JSON. A web page cannot send that without being asked first.
pub(super) fn is_json(headers: &HeaderMap) -> bool {
    let kind = headers.get(CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
    kind.split(';').next().unwrap_or_default().trim().eq_ignore_ascii_case("application/json")
}

/// The only value of a header, without the space around it.
///
/// # Errors
/// When it is sent more than once, or has characters that no header has.
pub(super) fn only<'h>(headers: &'h HeaderMap, name: &HeaderName) -> Result<Option<&'h str>, RpcError> {
    let mut values = headers.get_all(name).iter();
    match (values.next(), values.next()) {
        (None, _) => Ok(None),
        (Some(value), None) => match value.to_str() {
            Ok(text) => Ok(Some(text.trim())),
            Err(_) => Err(mismatch(format!("the header `{name}` has characters that cannot stand in a header; send it as `=?base64?…?=`"))),
        },
        (Some(_), Some(_)) => Err(mismatch(format!("the header `{name}` is sent more than once; send it once"))),
    }
}

/// The idempotency key, with or without the quotes of structured fields.
///
/// # Errors
/// When it is sent more than once, empty or too long.
pub(super) fn key(headers: &HeaderMap) -> Result<Option<Text>, RpcError> {
    let Some(key) = only(headers, &KEY)? else { return Ok(None) };
    let key = key.strip_prefix('"').and_then(|key| key.strip_suffix('"')).unwrap_or(key);
    if key.is_empty() || key.len() > KEY_BYTES_MAX {
        return Err(RpcError::new(super::answer::HTTP_ERROR, format!("the header `{KEY}` must have 1 to {KEY_BYTES_MAX} characters")));
    }
    Ok(Some(key.into()))
}

/// The versions that are spoken, as a list for people.
pub(super) fn versions() -> String {
    Version::ALL.map(Version::as_str).join(", ")
}

fn mismatch(text: impl Into<String>) -> RpcError {
    RpcError::new(HEADER_MISMATCH, text)
}

/// Compares the headers of a sessionless request with the request.
///
/// # Errors
/// What is missing or differs.
pub(super) fn check(headers: &HeaderMap, message: &Incoming) -> Result<(), RpcError> {
    let Incoming::Request { method, params, .. } = message else { return Ok(()) };
    let version = message.names_version().and_then(Value::as_str).unwrap_or_default();
    same(&VERSION, only(headers, &VERSION)?, version, "the version in `_meta`")?;
    if Version::parse(version).is_none() {
        // Another version may have other headers; the engine says which ones are spoken.
        return Ok(());
    }
    same(&METHOD, only(headers, &METHOD)?, method, "the `method`")?;
    let member = match method.as_str() {
        "tools/call" | "prompts/get" => "name",
        "resources/read" => "uri",
        "tasks/get" | "tasks/update" | "tasks/cancel" => "taskId",
        _ => return Ok(()),
    };
    match params.get(member).and_then(Value::as_str) {
        Some(name) => {
            let sent = only(headers, &NAME)?.map(|sent| decoded(&NAME, sent)).transpose()?;
            same(&NAME, sent.as_deref(), name, &format!("`params.{member}`"))
        }
        None => Ok(()),
    }
}

fn same(header: &HeaderName, sent: Option<&str>, meant: &str, what: &str) -> Result<(), RpcError> {
    match sent {
        Some(sent) if sent == meant => Ok(()),
        Some(sent) => Err(mismatch(format!("the header `{header}` says `{sent}`, and {what} says `{meant}`; send the same in both"))),
        None => Err(mismatch(format!("the header `{header}` is missing; send it with {what}: `{meant}`"))),
    }
}

/// Compares the headers that mirror arguments with the arguments: `Region` and `["region"]` is the header `Mcp-Param-Region`.
///
/// # Errors
/// What is missing or differs.
pub(super) fn check_mirrored<'m>(
    headers: &HeaderMap,
    mirrored: impl IntoIterator<Item = (&'m str, &'m [Text])>,
    arguments: &Value,
) -> Result<(), RpcError> {
    for (name, path) in mirrored {
        let Ok(header) = HeaderName::try_from(format!("{PARAM}{name}")) else { continue };
        let sent = only(headers, &header)?.map(|sent| decoded(&header, sent)).transpose()?;
        let value = path.iter().try_fold(arguments, |place, member| place.get(member)).filter(|value| !value.is_null());
        let place = path.iter().map(Text::as_str).collect::<Vec<_>>().join(".");
        match (sent, value) {
            (None, None) => {}
            (None, Some(_)) => {
                return Err(mismatch(format!("the header `{header}` is missing; it mirrors the argument `{place}`")));
            }
            (Some(_), None) => {
                return Err(mismatch(format!("the header `{header}` mirrors the argument `{place}`, which is not there; leave it out")));
            }
            (Some(sent), Some(value)) if !mirrors(&sent, value) => {
                return Err(mismatch(format!("the header `{header}` differs from the argument `{place}`; send the same in both")));
            }
            (Some(_), Some(_)) => {}
        }
    }
    Ok(())
}

fn mirrors(sent: &str, value: &Value) -> bool {
    match value {
        Value::String(text) => text.as_str() == sent,
        Value::Bool(flag) => sent == if *flag { "true" } else { "false" },
        Value::Number(number) => Number::parse(sent).is_some_and(|sent| sent.same_value(number)),
        // What cannot be mirrored is not; the schema judges it.
        Value::Null | Value::Array(_) | Value::Object(_) => true,
    }
}

/// The value that a header stands for.
fn decoded(header: &HeaderName, sent: &str) -> Result<String, RpcError> {
    let Some(code) = sent.strip_prefix(CODED_START).and_then(|rest| rest.strip_suffix(CODED_END)) else { return Ok(sent.to_owned()) };
    let bytes = STANDARD.decode(code).ok();
    bytes
        .and_then(|bytes| String::from_utf8(bytes).ok())
        .ok_or_else(|| mismatch(format!("the header `{header}` is not the Base64 of a text in UTF-8; encode it anew, with padding")))
}

#[cfg(test)]
mod tests {
    use http::HeaderValue;

    use super::*;

    fn headers(pairs: &[(&'static str, &str)]) -> HeaderMap {
        pairs.iter().map(|(name, value)| (HeaderName::from_static(name), HeaderValue::from_str(value).unwrap())).collect()
    }

    #[test]
    fn what_a_client_takes() {
        for (said, both) in [
            (None, true),
            (Some("application/json, text/event-stream"), true),
            (Some("text/event-stream;q=0.9,APPLICATION/JSON"), true),
            (Some("*/*"), true),
            (Some("application/*, text/*"), true),
            (Some("application/json"), false),
            (Some("text/html"), false),
            (Some(""), false),
        ] {
            let headers = said.map(|said| headers(&[("accept", said)])).unwrap_or_default();
            assert_eq!(accepts(&headers, &["application/json", "text/event-stream"]), both, "{said:?}");
        }
    }

    #[test]
    fn mirrored_arguments_say_the_same_in_header_and_message() {
        let arguments = Value::parse(r#"{"region":"Hello","n":42,"on":true,"in":{"deep":"x"},"none":null}"#).unwrap();
        let path = |members: &[&str]| members.iter().map(|member| Text::from(*member)).collect::<Vec<_>>();
        for (name, members, sent, fits) in [
            ("Region", vec!["region"], Some("Hello"), true),
            ("Region", vec!["region"], Some("=?base64?SGVsbG8=?="), true),
            ("Region", vec!["region"], Some("=?base64?SGVsbG8?="), false),
            ("Region", vec!["region"], Some("=?base64?SGVs!!!bG8=?="), false),
            ("Region", vec!["region"], Some("SGVsbG8="), false),
            ("Region", vec!["region"], Some("hello"), false),
            ("Region", vec!["region"], None, false),
            ("N", vec!["n"], Some("42"), true),
            ("N", vec!["n"], Some("42.0"), true),
            ("N", vec!["n"], Some("43"), false),
            ("N", vec!["n"], Some("many"), false),
            ("On", vec!["on"], Some("true"), true),
            ("On", vec!["on"], Some("True"), false),
            ("Deep", vec!["in", "deep"], Some("x"), true),
            ("None", vec!["none"], None, true),
            ("None", vec!["none"], Some("null"), false),
            ("Absent", vec!["absent"], None, true),
        ] {
            let mut map = HeaderMap::new();
            if let Some(sent) = sent {
                map.insert(HeaderName::try_from(format!("mcp-param-{name}")).unwrap(), HeaderValue::from_str(sent).unwrap());
            }
            let path = path(&members);
            let checked = check_mirrored(&map, [(name, path.as_slice())], &arguments);
            assert_eq!(checked.is_ok(), fits, "{name}: {sent:?}: {checked:?}");
        }
    }
}

//! What the newest generation repeats of a request in HTTP headers, so that whoever stands between can route it unread.

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use http::{HeaderMap, HeaderName, HeaderValue};
use toolwright::{Text, Value};

const PROTOCOL: [&str; 2] = ["=?base64?", "?="];
/// Keywords whose values are data, not schemas.
const DATA: [&str; 5] = ["default", "const", "enum", "examples", "dependentRequired"];
/// Keywords whose values are schemas by name.
const BY_NAME: [&str; 5] = ["$defs", "definitions", "dependencies", "dependentSchemas", "patternProperties"];

/// An argument that is repeated in a header.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ParamHeader {
    /// The whole name of the header.
    name: HeaderName,
    /// Where the argument is.
    path: Vec<Text>,
}

/// The arguments of a tool that are repeated in headers (`x-mcp-header` in its input schema).
///
/// # Errors
/// In words, when the schema marks them in a way that the protocol does not allow: the tool cannot be used then.
pub(crate) fn param_headers(schema: &Value) -> Result<Vec<ParamHeader>, String> {
    let mut found = Vec::new();
    marks(schema, true, &mut Vec::new(), &mut found)?;
    let mut seen: Vec<&HeaderName> = Vec::new();
    for header in &found {
        if seen.contains(&&header.name) {
            return Err(format!("two properties have the `x-mcp-header` `{}`", header.name));
        }
        seen.push(&header.name);
    }
    Ok(found)
}

/// Walks a schema. `reached`: through `properties` alone, where marks may stand. Depth is bounded by the reader that made the value.
fn marks(schema: &Value, reached: bool, path: &mut Vec<Text>, found: &mut Vec<ParamHeader>) -> Result<(), String> {
    if let Some(items) = schema.as_array() {
        return items.iter().try_for_each(|item| marks(item, false, path, found));
    }
    let Some(members) = schema.as_object() else { return Ok(()) };
    for (keyword, value) in members.iter() {
        match keyword.as_str() {
            "x-mcp-header" => found.push(mark(schema, value, reached, path)?),
            "properties" => {
                for (name, property) in value.as_object().iter().flat_map(|properties| properties.iter()) {
                    path.push(name.clone());
                    marks(property, reached, path, found)?;
                    path.pop();
                }
            }
            keyword if DATA.contains(&keyword) => {}
            keyword if BY_NAME.contains(&keyword) => {
                for (_, part) in value.as_object().iter().flat_map(|parts| parts.iter()) {
                    marks(part, false, path, found)?;
                }
            }
            _ => marks(value, false, path, found)?,
        }
    }
    Ok(())
}

fn mark(schema: &Value, header: &Value, reached: bool, path: &[Text]) -> Result<ParamHeader, String> {
    let property = path.iter().map(Text::as_str).collect::<Vec<_>>().join(".");
    if !reached || path.is_empty() {
        return Err("an `x-mcp-header` stands where no property of the arguments is".to_owned());
    }
    let name = header.as_str().filter(|name| !name.is_empty());
    let name = name.and_then(|name| HeaderName::from_bytes(format!("mcp-param-{name}").as_bytes()).ok());
    let Some(name) = name else { return Err(format!("the `x-mcp-header` of property `{property}` is no header's name")) };
    match schema.get("type").and_then(Value::as_str) {
        Some("string" | "integer" | "boolean") => Ok(ParamHeader { name, path: path.to_vec() }),
        _ => Err(format!("property `{property}` has an `x-mcp-header` and is no text, integer or boolean")),
    }
}

/// The headers of a request.
pub(crate) fn of_request(method: &str, name: Option<&str>, arguments: Option<&Value>, marked: &[ParamHeader]) -> HeaderMap {
    let mut headers = HeaderMap::new();
    let mut put = |header: HeaderName, text: &str| {
        if let Ok(value) = HeaderValue::from_str(&encoded(text)) {
            headers.insert(header, value);
        }
    };
    put(HeaderName::from_static("mcp-method"), method);
    if let Some(name) = name {
        put(HeaderName::from_static("mcp-name"), name);
    }
    for header in marked {
        let found = header.path.iter().try_fold(arguments, |value, key| value.map(|value| value.get(key)));
        let Some(value) = found.flatten() else { continue };
        if let Some(text) = value.as_str() {
            put(header.name.clone(), text);
        } else if value.as_bool().is_some() || value.as_number().is_some() {
            put(header.name.clone(), &value.to_json_string());
        }
    }
    headers
}

/// The text as a header can have it.
fn encoded(text: &str) -> String {
    let padded = text.starts_with([' ', '\t']) || text.ends_with([' ', '\t']);
    let plain = text.bytes().all(|byte| matches!(byte, b' '..=b'~'));
    let looks_encoded = text.starts_with(PROTOCOL[0]) && text.ends_with(PROTOCOL[1]);
    if plain && !padded && !looks_encoded {
        return text.to_owned();
    }
    format!("{}{}{}", PROTOCOL[0], BASE64_STANDARD.encode(text), PROTOCOL[1])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn schema(text: &str) -> Value {
        Value::parse(text).unwrap()
    }

    #[test]
    fn marked_arguments_become_headers() {
        let schema = schema(
            r#"{"type":"object","properties":{"region":{"type":"string","x-mcp-header":"Region"},
                "in":{"type":"object","properties":{"n":{"type":"integer","x-mcp-header":"N"}}},"no":{"type":"boolean","x-mcp-header":"No"}}}"#,
        );
        let marked = param_headers(&schema).unwrap();
        let arguments = Value::parse(r#"{"region":"Ä ","in":{"n":-7},"no":null}"#).unwrap();
        let headers = of_request("tools/call", Some("=?base64?x?="), Some(&arguments), &marked);
        let get = |name: &str| headers.get(name).map(|value| value.to_str().unwrap().to_owned());
        assert_eq!(get("mcp-param-region").as_deref(), Some("=?base64?w4Qg?="));
        assert_eq!(get("mcp-param-n").as_deref(), Some("-7"));
        assert_eq!(get("mcp-param-no"), None);
        assert_eq!(get("mcp-name").as_deref(), Some("=?base64?PT9iYXNlNjQ/eD89?="));
        assert_eq!(get("mcp-method").as_deref(), Some("tools/call"));
    }

    #[test]
    fn a_mark_in_the_wrong_place_or_form_is_refused() {
        let wrong = [
            r#"{"properties":{"a":{"type":"string","x-mcp-header":""}}}"#,
            r#"{"properties":{"a":{"type":"string","x-mcp-header":7}}}"#,
            r#"{"properties":{"a":{"type":"string","x-mcp-header":"a b"}}}"#,
            r#"{"properties":{"a":{"type":"string","x-mcp-header":"a\r\nb"}}}"#,
            r#"{"properties":{"a":{"type":"number","x-mcp-header":"A"}}}"#,
            r#"{"properties":{"a":{"type":"array","items":{"type":"string","x-mcp-header":"A"}}}}"#,
            r#"{"properties":{"a":{"type":"string","x-mcp-header":"A"},"b":{"type":"string","x-mcp-header":"a"}}}"#,
            r#"{"$defs":{"d":{"type":"string","x-mcp-header":"A"}}}"#,
            r#"{"oneOf":[{"properties":{"a":{"type":"string","x-mcp-header":"A"}}}]}"#,
            r#"{"x-mcp-header":"A","type":"object"}"#,
        ];
        for text in wrong {
            assert!(param_headers(&schema(text)).is_err(), "{text}");
        }
        let data = r#"{"properties":{"x-mcp-header":{"type":"string","default":{"x-mcp-header":""}}}}"#;
        assert_eq!(param_headers(&schema(data)), Ok(Vec::new()));
    }
}

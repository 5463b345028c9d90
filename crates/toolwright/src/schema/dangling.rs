//! Which reference of a schema leads nowhere: the library that reads it says only where to.

use jsonschema::ValidationError;
use jsonschema::error::ValidationErrorKind;

use super::SchemaError;
use crate::limits::REFERENCE_SHOWN_CHARS_MAX;
use crate::value::Value;

/// Members whose values are data and no schemas.
const DATA: [&str; 5] = ["const", "enum", "default", "example", "examples"];

/// The reference that `error` is about, with its own place in the schema; `None` when it is about something else.
pub(super) fn named_by(error: &ValidationError<'_>, schema: &Value) -> Option<SchemaError> {
    if !matches!(error.kind(), ValidationErrorKind::Referencing(_)) {
        return None;
    }
    let (pointer, reference) = find(schema, &error.to_string(), &mut String::new())?;
    let shown = crate::cut(reference, REFERENCE_SHOWN_CHARS_MAX);
    let message = match reference.starts_with('#') {
        true => format!("it leads to `{shown}`, and there is nothing there"),
        false => format!("it leads to `{shown}`, outside of the schema; nothing is fetched"),
    };
    Some(SchemaError { pointer, message })
}

fn find<'v>(schema: &'v Value, said: &str, at: &mut String) -> Option<(String, &'v str)> {
    let here = at.len();
    let deeper = |key: &str, value: &'v Value, at: &mut String| {
        at.push('/');
        at.push_str(&key.replace('~', "~0").replace('/', "~1"));
        let reference = value.as_str().filter(|_| matches!(key, "$ref" | "$dynamicRef" | "$recursiveRef"));
        let found = match reference.filter(|reference| is_meant(reference, said)) {
            Some(reference) => Some((at.clone(), reference)),
            None if DATA.contains(&key) => None,
            None => find(value, said, at),
        };
        at.truncate(here);
        found
    };
    match schema {
        Value::Object(members) => members.iter().find_map(|(key, value)| deeper(key, value, at)),
        Value::Array(items) => items.as_slice().iter().enumerate().find_map(|(index, value)| deeper(&index.to_string(), value, at)),
        _ => None,
    }
}

/// Whether what was said about a reference that leads nowhere names this one.
fn is_meant(reference: &str, said: &str) -> bool {
    let target = reference.strip_prefix('#').unwrap_or(reference);
    !target.is_empty() && said.contains(target)
}

//! To and from `serde_json::Value`, digit for digit.

use serde_json::Value as Json;

use super::{Array, Number, Object, Text, Value, ValueError, ValueErrorKind};
use crate::limits::VALUE_DEPTH_MAX;

impl Value {
    /// Takes over a `serde_json` value, at most [`VALUE_DEPTH_MAX`] levels deep.
    ///
    /// # Errors
    /// [`ValueError`] when it is deeper.
    pub fn from_json(json: Json) -> Result<Value, ValueError> {
        take(json, VALUE_DEPTH_MAX)
    }

    /// A copy as a `serde_json` value.
    ///
    /// Containers beyond [`VALUE_DEPTH_MAX`] levels arrive as a string with their JSON text: a `serde_json` value of
    /// any depth cannot even be freed. Ask [`Value::depth`] before, where that matters.
    pub fn to_json(&self) -> Json {
        copy(self, VALUE_DEPTH_MAX)
    }
}

/// What the macro `json!` does with what `serde_json::json!` made.
#[doc(hidden)]
pub fn from_literal(json: Json) -> Value {
    // A literal is as deep as its source text, which the compiler bounds; its numbers are numbers.
    take(json, u32::MAX).unwrap_or_default()
}

fn take(json: Json, levels_left: u32) -> Result<Value, ValueError> {
    Ok(match json {
        Json::Null => Value::Null,
        Json::Bool(boolean) => Value::Bool(boolean),
        Json::Number(number) => Value::Number(from_json_number(&number)?),
        Json::String(text) => Value::String(Text::from(text)),
        Json::Array(items) => {
            let levels_left = levels_left.checked_sub(1).ok_or_else(too_deep)?;
            let take_item = |(at, item): (usize, Json)| take(item, levels_left).map_err(|fault| fault.inside(&at.to_string()));
            let items: Result<Array, ValueError> = items.into_iter().enumerate().map(take_item).collect();
            Value::Array(items?)
        }
        Json::Object(members) => {
            let levels_left = levels_left.checked_sub(1).ok_or_else(too_deep)?;
            let take_member = |(key, value): (String, Json)| match take(value, levels_left) {
                Ok(value) => Ok((Text::from(key), value)),
                Err(fault) => Err(fault.inside(&key)),
            };
            let members: Result<Object, ValueError> = members.into_iter().map(take_member).collect();
            Value::Object(members?)
        }
    })
}

fn too_deep() -> ValueError {
    ValueError::new(ValueErrorKind::TooDeep { levels_max: VALUE_DEPTH_MAX })
}

fn copy(value: &Value, levels_left: u32) -> Json {
    match value {
        Value::Null => Json::Null,
        Value::Bool(boolean) => Json::Bool(*boolean),
        Value::Number(number) => Json::Number(to_json_number(number)),
        Value::String(text) => Json::String(text.to_string()),
        Value::Array(_) | Value::Object(_) if levels_left == 0 => Json::String(value.to_json_string()),
        Value::Array(items) => items.iter().map(|item| copy(item, levels_left - 1)).collect(),
        Value::Object(object) => {
            let copied = object.iter().map(|(key, value)| (key.to_string(), copy(value, levels_left - 1)));
            Json::Object(copied.collect())
        }
    }
}

pub(crate) fn from_json_number(number: &serde_json::Number) -> Result<Number, ValueError> {
    Number::parse(number.as_str()).ok_or_else(|| ValueError::not_a_number(number.as_str()))
}

pub(crate) fn to_json_number(number: &Number) -> serde_json::Number {
    serde_json::Number::from_string_unchecked(number.text().into_owned())
}

impl TryFrom<Json> for Value {
    type Error = ValueError;

    fn try_from(json: Json) -> Result<Value, ValueError> {
        Value::from_json(json)
    }
}

impl From<&Value> for Json {
    fn from(value: &Value) -> Json {
        value.to_json()
    }
}

impl From<Value> for Json {
    fn from(value: Value) -> Json {
        value.to_json()
    }
}

//! `value["key"]` and `value[0]`: what is not there is `null`, so that looking never ends a program.

use std::ops::Index;

use schemars::{JsonSchema, Schema, SchemaGenerator};

use super::Value;

static NOTHING: Value = Value::Null;

impl Index<&str> for Value {
    type Output = Value;

    /// The member of this key; `null` when there is none, or when this is no object.
    ///
    /// ```
    /// use toolwright::json;
    /// let page = json!({ "text": "ducks" });
    /// assert!(page["text"] == "ducks" && page["nothing"]["at all"].is_null());
    /// ```
    fn index(&self, key: &str) -> &Value {
        self.get(key).unwrap_or(&NOTHING)
    }
}

impl Index<usize> for Value {
    type Output = Value;

    /// The item at this position; `null` when there is none, or when this is no array.
    fn index(&self, at: usize) -> &Value {
        self.as_array().and_then(|items| items.get(at)).unwrap_or(&NOTHING)
    }
}

impl JsonSchema for Value {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> std::borrow::Cow<'static, str> {
        "AnyValue".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        true.into()
    }
}

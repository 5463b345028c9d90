//! Where schemas stand in a schema, in every draft: names of properties are no keywords.

use toolwright::{Object, Text, Value};

/// What the value of a keyword is.
pub(super) enum Place {
    /// A schema, or in older drafts a list of them.
    Schema,
    /// A list of schemas.
    List,
    /// Schemas by name.
    Named,
    /// No schema.
    Data,
}

/// What stands under a keyword.
pub(super) fn place(keyword: &str) -> Place {
    match keyword {
        "items"
        | "additionalItems"
        | "additionalProperties"
        | "unevaluatedItems"
        | "unevaluatedProperties"
        | "contains"
        | "not"
        | "if"
        | "then"
        | "else"
        | "propertyNames"
        | "contentSchema" => Place::Schema,
        "allOf" | "anyOf" | "oneOf" | "prefixItems" => Place::List,
        "properties" | "patternProperties" | "$defs" | "definitions" | "dependentSchemas" | "dependencies" => Place::Named,
        _ => Place::Data,
    }
}

/// The same schema with `change` made to every schema that stands in it, the innermost first.
///
/// A schema is read from a document of bounded depth, so this ends.
pub(super) fn each(root: Object, change: &dyn Fn(Object) -> Object) -> Object {
    let changed = |value: &Value| match value {
        Value::Object(schema) => Value::Object(each(schema.clone(), change)),
        other => other.clone(),
    };
    let members: Vec<(Text, Value)> = root
        .iter()
        .map(|(keyword, value)| {
            let value = match (place(keyword), value) {
                (Place::Schema, Value::Object(_)) => changed(value),
                (Place::Schema | Place::List, Value::Array(items)) => Value::array(items.iter().map(&changed)),
                (Place::Named, Value::Object(named)) => Value::object(named.iter().map(|(name, schema)| (name.clone(), changed(schema)))),
                (_, other) => other.clone(),
            };
            (keyword.clone(), value)
        })
        .collect();
    change(Object::from_pairs(members))
}

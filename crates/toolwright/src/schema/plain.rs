//! Schemas of which the meta-schema says all: a validator can be built of each that it accepts.
//!
//! What the meta-schema cannot see is whether a reference leads anywhere, whether a pattern is one, and what a dialect
//! or identifier inside the schema changes. Whatever is not known here to be free of that counts as not plain.

use crate::value::{Object, Value};

/// Deeper ones are rare, and building them takes stack: that is better found out when the tool is registered.
const DEPTH_MAX: u32 = 32;

/// Whether the meta-schema's word is enough.
pub(super) fn is_plain(schema: &Value) -> bool {
    let Some(dialect) = Dialect::of(schema) else { return false };
    schema.depth() <= DEPTH_MAX && Document { root: schema, dialect }.is_plain(schema)
}

/// The dialects that tools are written in.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Dialect {
    Draft7,
    Draft202012,
}

impl Dialect {
    fn of(schema: &Value) -> Option<Self> {
        match schema.get("$schema") {
            None => Some(Self::Draft202012),
            Some(uri) => match uri.as_str()?.trim_end_matches('#') {
                "https://json-schema.org/draft/2020-12/schema" => Some(Self::Draft202012),
                "http://json-schema.org/draft-07/schema" => Some(Self::Draft7),
                _ => None,
            },
        }
    }

    /// Where the meta-schema looks at schemas that are there to be referred to.
    fn definitions(self) -> &'static [&'static str] {
        match self {
            Self::Draft7 => &["definitions"],
            Self::Draft202012 => &["$defs", "definitions"],
        }
    }
}

struct Document<'a> {
    root: &'a Value,
    dialect: Dialect,
}

impl Document<'_> {
    fn is_plain(&self, schema: &Value) -> bool {
        match schema {
            Value::Bool(_) => true,
            Value::Object(members) => members.iter().all(|(keyword, value)| self.is_plain_member(schema, keyword, value)),
            _ => false,
        }
    }

    fn is_plain_member(&self, schema: &Value, keyword: &str, value: &Value) -> bool {
        match keyword {
            // What the meta-schema says of these is all there is to say.
            "type" | "required" | "uniqueItems" | "format" | "title" | "description" | "$comment" | "deprecated" | "readOnly"
            | "writeOnly" => true,
            "properties" => self.are_plain_members(value),
            "items" | "additionalProperties" | "contains" | "propertyNames" | "not" | "if" | "then" | "else" => self.is_plain(value),
            "allOf" | "anyOf" | "oneOf" => self.are_plain_items(value),
            "prefixItems" => self.dialect == Dialect::Draft202012 && self.are_plain_items(value),
            "enum" | "const" | "default" | "examples" => is_data(value),
            "minLength" | "maxLength" | "minItems" | "maxItems" | "minProperties" | "maxProperties" => value.as_u64().is_some(),
            "minimum" | "maximum" | "exclusiveMinimum" | "exclusiveMaximum" | "multipleOf" => is_common_number(value),
            "$ref" => value.as_str().is_some_and(|reference| self.leads_somewhere(reference)),
            // Judged with the dialect.
            "$schema" => std::ptr::eq(schema, self.root),
            _ if self.dialect.definitions().contains(&keyword) => self.are_plain_members(value),
            // An annotation by its name, which nothing reads.
            _ => keyword.starts_with("x-") && is_data(value),
        }
    }

    fn are_plain_members(&self, value: &Value) -> bool {
        value.as_object().is_some_and(|members| members.iter().all(|(_, schema)| self.is_plain(schema)))
    }

    fn are_plain_items(&self, value: &Value) -> bool {
        value.as_array().is_some_and(|items| items.iter().all(|schema| self.is_plain(schema)))
    }

    /// `#`, or `#/$defs/NAME` which is there: the forms that generators write. The target is a schema, since it is looked
    /// at as one.
    fn leads_somewhere(&self, reference: &str) -> bool {
        if reference == "#" {
            return true;
        }
        let Some((section, name)) = reference.strip_prefix("#/").and_then(|path| path.split_once('/')) else { return false };
        let section = self.dialect.definitions().contains(&section).then(|| self.root.get(section)).flatten();
        is_name(name) && section.and_then(Value::as_object).and_then(|section: &Object| section.get(name)).is_some()
    }
}

/// A word that stands for itself in a pointer, in a URI, and as a key.
fn is_name(name: &str) -> bool {
    !name.starts_with(|first: char| first.is_ascii_digit())
        && !name.is_empty()
        && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
}

/// Data, in which nothing looks like a name, a reference or a dialect.
fn is_data(value: &Value) -> bool {
    match value {
        Value::Array(items) => items.iter().all(is_data),
        Value::Object(members) => members.iter().all(|(key, value)| !key.starts_with('$') && is_data(value)),
        _ => true,
    }
}

fn is_common_number(value: &Value) -> bool {
    value.as_i64().is_some() || value.as_number().and_then(|number| number.as_f64()).is_some_and(f64::is_finite)
}

#[cfg(test)]
mod tests;

//! Values under JSON Schema: what `jsonschema` needs to validate them where they lie.

use std::borrow::Cow;
use std::collections::HashMap;
use std::ops::ControlFlow;
use std::sync::atomic::AtomicU32;

use jsonschema::JsonType;
use jsonschema::json::{Array as JsonArray, Json, JsonNumber, Node, NodeIdentity, Object as JsonObject};

use super::json::{from_json_number, to_json_number};
use super::number::Normal;
use super::shape::Tag;
use super::{Array, Members, Number, Object, Text, Value};
use crate::limits::{ERROR_INSTANCE_BYTES_MAX, UNIQUE_PAIRWISE_ITEMS_MAX};

/// The name of this representation of JSON for `jsonschema::options_for`: schemas check values where they lie.
///
/// ```
/// use toolwright::value::JsonValue;
/// let schema = serde_json::json!({"type": "object", "required": ["n"]});
/// let validator = jsonschema::options_for::<JsonValue>().build(&schema)?;
/// assert!(validator.is_valid(&toolwright::json!({"n": 1})));
/// # Ok::<(), jsonschema::ValidationError<'static>>(())
/// ```
#[derive(Debug)]
pub enum JsonValue {}

/// A property name of a schema; remembers where it stood in the last object.
///
/// A validator makes and uses it; the page of [`JsonValue`] has an example.
#[derive(Debug)]
pub struct PreparedKey {
    tag: Tag,
    text: Text,
    hint: AtomicU32,
}

impl Json for JsonValue {
    type Node<'a> = &'a Value;
    type PreparedKey = PreparedKey;
    type StringBuffer = Value;

    const ACYCLIC: bool = true;

    fn prepare_key(key: &str) -> PreparedKey {
        PreparedKey { tag: Tag::of(key), text: Text::from(key), hint: AtomicU32::new(0) }
    }

    fn with_string_node<T>(buffer: &mut Value, string: &str, f: impl FnOnce(&Value) -> T) -> T {
        *buffer = Value::from(string);
        f(buffer)
    }
}

impl<'a> Node<'a, JsonValue> for &'a Value {
    type Object = &'a Object;
    type Array = &'a Array;
    type Number = &'a Number;

    fn as_object(&self) -> Option<&'a Object> {
        Value::as_object(self)
    }

    fn as_array(&self) -> Option<&'a Array> {
        match self {
            Value::Array(items) => Some(items),
            _ => None,
        }
    }

    fn as_string(&self) -> Option<Cow<'a, str>> {
        Value::as_str(self).map(Cow::Borrowed)
    }

    fn as_number(&self) -> Option<&'a Number> {
        Value::as_number(self)
    }

    fn as_boolean(&self) -> Option<bool> {
        Value::as_bool(self)
    }

    fn is_null(&self) -> bool {
        Value::is_null(self)
    }

    fn is_string(&self) -> bool {
        matches!(self, Value::String(_))
    }

    fn json_type(&self) -> JsonType {
        match self {
            Value::Null => JsonType::Null,
            Value::Bool(_) => JsonType::Boolean,
            Value::Number(_) => JsonType::Number,
            Value::String(_) => JsonType::String,
            Value::Array(_) => JsonType::Array,
            Value::Object(_) => JsonType::Object,
        }
    }

    fn string_length_within(&self, min: u64, max: u64) -> Option<bool> {
        let text = Value::as_str(self)?;
        // A character has one to four bytes, which often decides without counting.
        let bytes = text.len() as u64;
        let fewest = bytes.div_ceil(4);
        if bytes < min || fewest > max {
            return Some(false);
        }
        if min <= fewest && bytes <= max {
            return Some(true);
        }
        Some((min..=max).contains(&(text.chars().count() as u64)))
    }

    fn equals_value(&self, expected: &serde_json::Value) -> bool {
        equals_json(self, expected)
    }

    /// What an error carries. A copy of a megabyte would cost more than the validation, and its text helps nobody:
    /// large values are described, by a value of the same kind.
    fn to_value(&self) -> Cow<'a, serde_json::Value> {
        Cow::Owned(if self.weight() <= ERROR_INSTANCE_BYTES_MAX { self.to_json() } else { described(self) })
    }

    fn identity(&self) -> Option<NodeIdentity> {
        Some(NodeIdentity::new(std::ptr::from_ref::<Value>(self).addr()))
    }
}

impl<'a> JsonObject<'a, JsonValue> for &'a Object {
    type Node = &'a Value;
    type MemberName = &'a str;
    type MembersIter = MemberNodes<'a>;

    fn len(&self) -> usize {
        Object::len(self)
    }

    fn get(&self, key: &PreparedKey) -> Option<&'a Value> {
        self.find_hinted(key.tag, &key.text, &key.hint)
    }

    fn members(&self) -> MemberNodes<'a> {
        MemberNodes(self.iter())
    }

    fn try_for_each_name_node<B>(&self, buffer: &mut Value, mut f: impl FnMut(&Value) -> ControlFlow<B>) -> ControlFlow<B> {
        self.keys().try_for_each(|key| {
            *buffer = Value::String(key.clone());
            f(buffer)
        })
    }
}

/// Names and values of an object, as `jsonschema` takes them.
///
/// A validator asks for them; the page of [`JsonValue`] has an example.
#[derive(Clone, Debug)]
pub struct MemberNodes<'a>(Members<'a>);

impl<'a> Iterator for MemberNodes<'a> {
    type Item = (&'a str, &'a Value);

    fn next(&mut self) -> Option<(&'a str, &'a Value)> {
        self.0.next().map(|(key, value)| (key.as_str(), value))
    }
}

impl<'a> JsonArray<'a, JsonValue> for &'a Array {
    type Node = &'a Value;
    type ElementsIter = std::slice::Iter<'a, Value>;

    fn len(&self) -> usize {
        self.as_slice().len()
    }

    fn elements(&self) -> std::slice::Iter<'a, Value> {
        self.as_slice().iter()
    }

    fn is_unique(&self) -> bool {
        is_unique(self.as_slice())
    }
}

impl JsonNumber for &Number {
    fn as_u64(&self) -> Option<u64> {
        Number::as_u64(self)
    }

    fn as_i64(&self) -> Option<i64> {
        Number::as_i64(self)
    }

    fn as_f64(&self) -> Option<f64> {
        Number::as_f64(self)
    }

    fn as_str(&self) -> Cow<'_, str> {
        self.text()
    }

    fn to_number(&self) -> Cow<'_, serde_json::Number> {
        Cow::Owned(to_json_number(self))
    }

    fn is_integer(&self) -> bool {
        Number::is_integer(self)
    }

    fn is_written_as_integer(&self) -> bool {
        Number::is_written_as_integer(self)
    }
}

#[cold]
fn described(value: &Value) -> serde_json::Value {
    let bytes = value.weight();
    match value {
        Value::Array(items) => serde_json::json!([format!("{} items, {bytes} bytes", items.len())]),
        Value::Object(object) => serde_json::json!({ "...": format!("{} members, {bytes} bytes", object.len()) }),
        Value::String(text) => {
            let start: String = text.chars().take(200).collect();
            serde_json::Value::String(format!("{start}... ({bytes} bytes)"))
        }
        other => other.to_json(),
    }
}

/// Equality with a `const` or `enum` member of a schema; numbers by value.
fn equals_json(value: &Value, expected: &serde_json::Value) -> bool {
    use serde_json::Value as Expected;
    match (value, expected) {
        (Value::Null, Expected::Null) => true,
        (Value::Bool(left), Expected::Bool(right)) => left == right,
        (Value::String(left), Expected::String(right)) => left == right.as_str(),
        (Value::Number(left), Expected::Number(right)) => match (left.as_i64(), right.as_i64()) {
            (Some(left), Some(right)) => left == right,
            _ => from_json_number(right).is_ok_and(|right| left.same_value(&right)),
        },
        (Value::Array(left), Expected::Array(right)) => {
            left.len() == right.len() && left.iter().zip(right).all(|(left, right)| equals_json(left, right))
        }
        (Value::Object(left), Expected::Object(right)) => {
            left.len() == right.len() && right.iter().all(|(key, right)| left.get(key).is_some_and(|left| equals_json(left, right)))
        }
        _ => false,
    }
}

fn is_unique(items: &[Value]) -> bool {
    if items.len() <= UNIQUE_PAIRWISE_ITEMS_MAX {
        let mut rest = items;
        while let [first, others @ ..] = rest {
            if others.iter().any(|other| first.same_value(other)) {
                return false;
            }
            rest = others;
        }
        return true;
    }
    let mut buckets: HashMap<Digest, Vec<&Value>> = HashMap::with_capacity(items.len());
    items.iter().all(|item| {
        let bucket = buckets.entry(Digest::of(item)).or_default();
        let new = bucket.iter().all(|other| !item.same_value(other));
        bucket.push(item);
        new
    })
}

/// What equal values have in common and different ones rarely do: scalars whole, containers by their outline.
#[derive(PartialEq, Eq, Hash)]
enum Digest<'a> {
    Null,
    Bool(bool),
    Number(Normal),
    Text(&'a str),
    Array(usize, Vec<Digest<'a>>),
    Object(usize, Vec<(&'a str, Digest<'a>)>),
    /// A part below the outline.
    Part,
}

impl<'a> Digest<'a> {
    fn of(value: &'a Value) -> Digest<'a> {
        Digest::outline(value, 3)
    }

    fn outline(value: &'a Value, levels: u32) -> Digest<'a> {
        const MEMBERS_MAX: usize = 16;
        match value {
            Value::Null => Digest::Null,
            Value::Bool(boolean) => Digest::Bool(*boolean),
            Value::Number(number) => Digest::Number(number.normal()),
            Value::String(text) => Digest::Text(text),
            Value::Array(_) | Value::Object(_) if levels == 0 => Digest::Part,
            Value::Array(items) => {
                let outline = items.iter().take(MEMBERS_MAX).map(|item| Digest::outline(item, levels - 1));
                Digest::Array(items.len(), outline.collect())
            }
            Value::Object(object) => {
                // Equal objects may have their members in different orders.
                let mut members: Vec<(&str, &Value)> = object.iter().map(|(key, value)| (key.as_str(), value)).collect();
                members.sort_unstable_by_key(|(key, _)| *key);
                let outline = members.into_iter().take(MEMBERS_MAX).map(|(key, value)| (key, Digest::outline(value, levels - 1)));
                Digest::Object(object.len(), outline.collect())
            }
        }
    }
}

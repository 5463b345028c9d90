//! The JSON value that flows between tools.
//!
//! A value is 16 bytes and never changes; a clone is at most one reference count, whatever its size. Containers know
//! their printed size ([`Value::weight`]) and depth ([`Value::depth`]), so limits are a look at a header. Numbers keep
//! their digits: `1.0` stays `1.0`, and `123456789012345678901234567890` survives. Objects keep their order and share
//! their key lists ([`Shape`]).
//!
//! In reading order: [`Value`] and [`json!`](crate::json!); [`Number`], [`Text`], [`Array`], [`Object`] with its
//! [`Shape`]; reading JSON text with [`Value::parse`], [`ParseOptions`] and [`ParseError`]; Rust data in and out with
//! [`Value::from_serialize`], [`Value::deserialize`] and [`ValueError`]; [`JsonValue`] for validators.
//!
//! This module knows nothing of tools, schemas' meaning, files or clocks.
//!
//! ```
//! use toolwright::value::Value;
//!
//! let value = Value::parse(r#"{"n": 1.0, "list": [1, 2]}"#)?;
//! assert_eq!(value.pointer("/list/1").and_then(Value::as_i64), Some(2));
//! assert_eq!(value.to_json_string(), r#"{"n":1.0,"list":[1,2]}"#);
//! # Ok::<(), toolwright::value::ParseError>(())
//! ```

mod array;
mod compare;
mod deserialize;
mod error;
mod from_serialize;
mod index;
mod json;
mod number;
mod object;
mod parse;
mod print;
pub(crate) mod schema;
mod serde_impls;
pub(crate) mod shape;
mod teardown;

use std::borrow::Cow;

pub use array::Array;
pub use error::{ParseError, ParseErrorKind, ValueError, ValueErrorKind};
pub use number::Number;
pub use object::{Members, Object};
pub use parse::{JsonText, LoneSurrogates, ParseOptions, Parsed};
pub use schema::{JsonValue, PreparedKey};
pub use shape::Shape;

use array::Size;
use shape::deep_clone_text;

/// A shared text; a clone is one reference count, a literal costs nothing.
///
/// ```
/// let name: toolwright::Text = "Ada".into();
/// assert_eq!(name.as_str(), "Ada");
/// ```
pub type Text = arcstr::ArcStr;

/// Any JSON value: what tools take and give back.
///
/// The [module](self) says what it keeps and what it costs.
///
/// ```
/// use toolwright::{Value, json};
/// let value = json!({ "list": [1, 2.50] });
/// assert_eq!(value.pointer("/list/0").and_then(Value::as_i64), Some(1));
/// assert_eq!(value, Value::parse(r#"{"list": [1, 2.5]}"#)?);
/// assert_ne!(value, Value::parse(r#"{"list": [1, 2.50]}"#)?, "numbers keep their digits");
/// # Ok::<(), toolwright::value::ParseError>(())
/// ```
#[derive(Clone, Default)]
pub enum Value {
    /// `null`
    #[default]
    Null,
    /// `true` or `false`
    Bool(bool),
    /// A number with all its digits.
    Number(Number),
    /// A string.
    String(Text),
    /// An array.
    Array(Array),
    /// An object.
    Object(Object),
}

impl Value {
    /// An object from its members; of members with the same key the last value wins and the first position stays.
    pub fn object<K: Into<Text>, V: Into<Value>>(members: impl IntoIterator<Item = (K, V)>) -> Value {
        Value::Object(Object::from_pairs(members))
    }

    /// An array from its items.
    pub fn array<V: Into<Value>>(items: impl IntoIterator<Item = V>) -> Value {
        Value::Array(items.into_iter().map(Into::into).collect())
    }

    /// Whether it is `null`.
    pub fn is_null(&self) -> bool {
        matches!(self, Value::Null)
    }

    /// The boolean.
    pub fn as_bool(&self) -> Option<bool> {
        match self {
            Value::Bool(boolean) => Some(*boolean),
            _ => None,
        }
    }

    /// The string.
    pub fn as_str(&self) -> Option<&str> {
        self.as_text().map(Text::as_str)
    }

    /// The string, to share it.
    pub fn as_text(&self) -> Option<&Text> {
        match self {
            Value::String(text) => Some(text),
            _ => None,
        }
    }

    /// The number.
    pub fn as_number(&self) -> Option<&Number> {
        match self {
            Value::Number(number) => Some(number),
            _ => None,
        }
    }

    /// The number as an `i64` when it is a whole number in range, however it is written (`100.0`, `1e2`).
    pub fn as_i64(&self) -> Option<i64> {
        self.as_number().and_then(Number::as_i64)
    }

    /// The number as a `u64` when it is a whole number in range, however it is written.
    pub fn as_u64(&self) -> Option<u64> {
        self.as_number().and_then(Number::as_u64)
    }

    /// The nearest float to the number; `None` when that would be infinite.
    pub fn as_f64(&self) -> Option<f64> {
        self.as_number().and_then(Number::as_f64)
    }

    /// The items of an array.
    pub fn as_array(&self) -> Option<&[Value]> {
        match self {
            Value::Array(items) => Some(items),
            _ => None,
        }
    }

    /// The object.
    pub fn as_object(&self) -> Option<&Object> {
        match self {
            Value::Object(object) => Some(object),
            _ => None,
        }
    }

    /// The member of an object.
    pub fn get(&self, key: &str) -> Option<&Value> {
        self.as_object()?.get(key)
    }

    /// The item of an array, from 0.
    pub fn get_index(&self, index: usize) -> Option<&Value> {
        self.as_array()?.get(index)
    }

    /// The place that a JSON pointer (RFC 6901) names; `""` is the value itself.
    pub fn pointer(&self, pointer: &str) -> Option<&Value> {
        if pointer.is_empty() {
            return Some(self);
        }
        pointer.strip_prefix('/')?.split('/').try_fold(self, |place, segment| match place {
            Value::Object(object) => object.get(&unescape_segment(segment)),
            Value::Array(items) => {
                let plain = segment.bytes().all(|byte| byte.is_ascii_digit());
                let canonical = segment == "0" || !segment.starts_with('0');
                if plain && canonical { items.get(segment.parse::<usize>().ok()?) } else { None }
            }
            _ => None,
        })
    }

    /// `null`, `boolean`, `integer`, `number`, `string`, `array` or `object`; `1.0` is a `number` and `1` an `integer`.
    pub fn kind(&self) -> &'static str {
        match self {
            Value::Null => "null",
            Value::Bool(_) => "boolean",
            Value::Number(number) if number.is_written_as_integer() => "integer",
            Value::Number(_) => "number",
            Value::String(_) => "string",
            Value::Array(_) => "array",
            Value::Object(_) => "object",
        }
    }

    /// Bytes of the compact print, not counting backslashes of escapes; saturates, and costs nothing to ask.
    ///
    /// Exact when no string or key holds a quote, a backslash or a control character, and never more than the print.
    /// A value that holds the same part many times counts it every time, as the print would.
    #[inline]
    pub fn weight(&self) -> u64 {
        match self {
            Value::Null | Value::Bool(true) => 4,
            Value::Bool(false) => 5,
            Value::Number(number) => number.weight(),
            Value::String(text) => text.len() as u64 + 2,
            Value::Array(_) | Value::Object(_) => self.size().weight,
        }
    }

    /// How many containers stand inside each other: 0 for scalars, 1 for `[]`, 2 for `[[]]`; costs nothing to ask.
    #[inline]
    pub fn depth(&self) -> u32 {
        self.size().depth
    }

    #[inline]
    fn size(&self) -> Size {
        match self {
            Value::Array(items) => items.size(),
            Value::Object(object) => object.size(),
            _ => Size::default(),
        }
    }

    /// A copy that shares no memory with this value, for data that one worker owns alone. Parts that the value shares
    /// with itself stay shared in the copy; containers beyond the depth limit stay shared with the original.
    #[must_use]
    pub fn deep_clone(&self) -> Value {
        deep_clone(self, &mut std::collections::HashMap::new(), crate::limits::VALUE_DEPTH_MAX)
    }

    /// The address of a container; handles of the same container have the same one, empty containers have none.
    pub(crate) fn container_address(&self) -> Option<usize> {
        let address = match self {
            Value::Array(items) => items.address(),
            Value::Object(object) => object.address(),
            _ => 0,
        };
        (address != 0).then_some(address)
    }
}

fn deep_clone(value: &Value, copies: &mut std::collections::HashMap<usize, Value>, levels_left: u32) -> Value {
    let Some(address) = value.container_address().filter(|_| levels_left > 0) else {
        return match value {
            Value::Number(number) => Value::Number(number.deep_clone()),
            Value::String(text) => Value::String(deep_clone_text(text)),
            other => other.clone(),
        };
    };
    if let Some(copy) = copies.get(&address) {
        return copy.clone();
    }
    let copy = match value {
        Value::Array(items) => {
            let items: Vec<Value> = items.iter().map(|item| deep_clone(item, copies, levels_left - 1)).collect();
            Value::from(items)
        }
        Value::Object(object) => {
            let values: Vec<Value> = object.values().iter().map(|member| deep_clone(member, copies, levels_left - 1)).collect();
            Value::Object(Object::from_shape(object.shape().deep_clone(), values.into_iter()))
        }
        other => other.clone(),
    };
    copies.insert(address, copy.clone());
    copy
}

fn unescape_segment(segment: &str) -> Cow<'_, str> {
    if segment.contains('~') { Cow::Owned(segment.replace("~1", "/").replace("~0", "~")) } else { Cow::Borrowed(segment) }
}

impl From<bool> for Value {
    fn from(boolean: bool) -> Value {
        Value::Bool(boolean)
    }
}

macro_rules! from_integers {
    ($($integer:ty),+) => {$(
        impl From<$integer> for Value {
            fn from(integer: $integer) -> Value {
                Value::Number(Number::from(integer))
            }
        }
    )+};
}
from_integers!(i8, i16, i32, i64, isize, u8, u16, u32, u64, usize);

macro_rules! from_texts {
    ($($text:ty),+) => {$(
        impl From<$text> for Value {
            fn from(text: $text) -> Value {
                Value::String(Text::from(text))
            }
        }
    )+};
}
from_texts!(&str, String, &String, &Text, Cow<'_, str>);

macro_rules! from_variants {
    ($($variant:ident: $inner:ty),+) => {$(
        impl From<$inner> for Value {
            fn from(inner: $inner) -> Value {
                Value::$variant(inner)
            }
        }
    )+};
}
from_variants!(String: Text, Number: Number, Array: Array, Object: Object);

impl From<Vec<Value>> for Value {
    fn from(items: Vec<Value>) -> Value {
        Value::Array(Array::from(items))
    }
}

impl<T: Into<Value>> From<Option<T>> for Value {
    fn from(value: Option<T>) -> Value {
        value.map_or(Value::Null, Into::into)
    }
}

impl From<&Value> for Value {
    fn from(value: &Value) -> Value {
        value.clone()
    }
}

impl FromIterator<Value> for Value {
    fn from_iter<I: IntoIterator<Item = Value>>(items: I) -> Value {
        Value::Array(items.into_iter().collect())
    }
}

impl<K: Into<Text>, V: Into<Value>> FromIterator<(K, V)> for Value {
    fn from_iter<I: IntoIterator<Item = (K, V)>>(members: I) -> Value {
        Value::object(members)
    }
}

/// Builds a [`Value`](crate::value::Value) from a JSON literal with Rust expressions in it, as `serde_json::json!`.
///
/// ```
/// let name = "Ada";
/// let value = toolwright::json!({"name": name, "tags": ["a", 1, null]});
/// assert_eq!(value.to_json_string(), r#"{"name":"Ada","tags":["a",1,null]}"#);
/// ```
#[macro_export]
macro_rules! json {
    ($($json:tt)+) => {
        $crate::value::__literal($crate::value::__serde_json::json!($($json)+))
    };
}

#[doc(hidden)]
pub use json::from_literal as __literal;
#[doc(hidden)]
pub use serde_json as __serde_json;

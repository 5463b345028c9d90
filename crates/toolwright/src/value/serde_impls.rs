//! Values as serde data: written by any serializer, read from any deserializer.
//!
//! `serde_json` with `arbitrary_precision` carries the digits of a number through serde's data model as a map with one
//! private key. That form is written and understood here, so no digit is lost on the way through `serde_json`; numbers
//! that a float prints just the same go as floats, which every other format and every untagged enum understands.

use std::fmt;

use serde::de::{self, DeserializeSeed, Deserializer, Error as _, MapAccess, SeqAccess, Unexpected, Visitor};
use serde::ser::{Error as _, SerializeMap, SerializeSeq, SerializeStruct, Serializer};
use serde::{Deserialize, Serialize};

use super::number::Native;
use super::shape::Key;
use super::{Array, Number, Object, Text, Value};
use crate::limits::VALUE_DEPTH_MAX;

pub(crate) const NUMBER_TOKEN: &str = "$serde_json::private::Number";
pub(crate) const RAW_TOKEN: &str = "$serde_json::private::RawValue";

impl Serialize for Number {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.native() {
            Native::Signed(integer) => serializer.serialize_i64(integer),
            Native::Unsigned(integer) => serializer.serialize_u64(integer),
            Native::Float(float) => serializer.serialize_f64(float),
            Native::None => {
                let mut token = serializer.serialize_struct(NUMBER_TOKEN, 1)?;
                token.serialize_field(NUMBER_TOKEN, &*self.text())?;
                token.end()
            }
        }
    }
}

impl Serialize for Value {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        // Serializers recurse; deeper values would end the process.
        if self.depth() > VALUE_DEPTH_MAX {
            return Err(S::Error::custom(TooDeep));
        }
        match self {
            Value::Null => serializer.serialize_unit(),
            Value::Bool(boolean) => serializer.serialize_bool(*boolean),
            Value::Number(number) => number.serialize(serializer),
            Value::String(text) => serializer.serialize_str(text),
            Value::Array(items) => items.serialize(serializer),
            Value::Object(object) => object.serialize(serializer),
        }
    }
}

impl Serialize for Array {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut out = serializer.serialize_seq(Some(self.len()))?;
        for item in self {
            out.serialize_element(item)?;
        }
        out.end()
    }
}

impl Serialize for Object {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut out = serializer.serialize_map(Some(self.len()))?;
        for (key, value) in self {
            out.serialize_entry(key.as_str(), value)?;
        }
        out.end()
    }
}

struct TooDeep;

impl fmt::Display for TooDeep {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "the value is nested too deep: at most {VALUE_DEPTH_MAX} levels are allowed")
    }
}

impl<'de> Deserialize<'de> for Value {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Value, D::Error> {
        Reader { levels_left: VALUE_DEPTH_MAX }.deserialize(deserializer)
    }
}

impl<'de> Deserialize<'de> for Number {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Number, D::Error> {
        match <Value as Deserialize>::deserialize(deserializer)? {
            Value::Number(number) => Ok(number),
            other => Err(D::Error::custom(format_args!("expected a number, found {}", other.kind()))),
        }
    }
}

impl<'de> Deserialize<'de> for Array {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Array, D::Error> {
        match <Value as Deserialize>::deserialize(deserializer)? {
            Value::Array(items) => Ok(items),
            other => Err(D::Error::custom(format_args!("expected an array, found {}", other.kind()))),
        }
    }
}

impl<'de> Deserialize<'de> for Object {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Object, D::Error> {
        match <Value as Deserialize>::deserialize(deserializer)? {
            Value::Object(object) => Ok(object),
            other => Err(D::Error::custom(format_args!("expected an object, found {}", other.kind()))),
        }
    }
}

/// Reads a value with at most so many more levels.
#[derive(Clone, Copy)]
struct Reader {
    levels_left: u32,
}

impl Reader {
    fn inner<E: de::Error>(self) -> Result<Reader, E> {
        match self.levels_left.checked_sub(1) {
            Some(levels_left) => Ok(Reader { levels_left }),
            None => Err(E::custom(TooDeep)),
        }
    }
}

impl<'de> DeserializeSeed<'de> for Reader {
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        deserializer.deserialize_any(self)
    }
}

fn float<E: de::Error>(number: Option<Number>, float: f64) -> Result<Value, E> {
    number.map(Value::Number).ok_or_else(|| E::invalid_value(Unexpected::Float(float), &"a finite number"))
}

impl<'de> Visitor<'de> for Reader {
    type Value = Value;

    fn expecting(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("a JSON value")
    }

    fn visit_bool<E>(self, boolean: bool) -> Result<Value, E> {
        Ok(Value::Bool(boolean))
    }

    fn visit_i64<E>(self, integer: i64) -> Result<Value, E> {
        Ok(Value::from(integer))
    }

    fn visit_u64<E>(self, integer: u64) -> Result<Value, E> {
        Ok(Value::from(integer))
    }

    fn visit_i128<E: de::Error>(self, integer: i128) -> Result<Value, E> {
        Number::parse(&integer.to_string()).map(Value::Number).ok_or_else(|| E::custom("not a number"))
    }

    fn visit_u128<E: de::Error>(self, integer: u128) -> Result<Value, E> {
        Number::parse(&integer.to_string()).map(Value::Number).ok_or_else(|| E::custom("not a number"))
    }

    fn visit_f32<E: de::Error>(self, single: f32) -> Result<Value, E> {
        float(Number::from_f32(single), single.into())
    }

    fn visit_f64<E: de::Error>(self, double: f64) -> Result<Value, E> {
        float(Number::from_f64(double), double)
    }

    fn visit_str<E>(self, text: &str) -> Result<Value, E> {
        Ok(Value::from(text))
    }

    fn visit_none<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_some<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        self.deserialize(deserializer)
    }

    fn visit_newtype_struct<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        self.deserialize(deserializer)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Value, A::Error> {
        let inner = self.inner()?;
        let mut list = Vec::with_capacity(items.size_hint().unwrap_or(0).min(1_024));
        while let Some(item) = items.next_element_seed(inner)? {
            list.push(item);
        }
        Ok(Value::from(list))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<Value, A::Error> {
        let mut key = members.next_key::<KeyText>()?;
        // The private forms of `serde_json` are one member whose value is a text.
        if let Some(KeyText(token)) = &key
            && (token == NUMBER_TOKEN || token == RAW_TOKEN)
        {
            let text = members.next_value::<String>()?;
            return if token == NUMBER_TOKEN {
                let number = Number::parse(&text).ok_or_else(|| A::Error::custom("not a JSON number"))?;
                Ok(Value::Number(number))
            } else {
                Value::parse(&text).map_err(A::Error::custom)
            };
        }
        let inner = self.inner()?;
        let (mut keys, mut values) = (Vec::new(), Vec::new());
        while let Some(KeyText(text)) = key {
            keys.push(Key::new(text));
            values.push(members.next_value_seed(inner)?);
            key = members.next_key()?;
        }
        Ok(Value::Object(Object::from_lists(keys, values)))
    }
}

/// A key, however the format spells keys.
struct KeyText(Text);

impl<'de> Deserialize<'de> for KeyText {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<KeyText, D::Error> {
        struct KeyVisitor;

        impl Visitor<'_> for KeyVisitor {
            type Value = KeyText;

            fn expecting(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
                out.write_str("a text as key")
            }

            fn visit_str<E>(self, text: &str) -> Result<KeyText, E> {
                Ok(KeyText(Text::from(text)))
            }
        }

        deserializer.deserialize_str(KeyVisitor)
    }
}

//! Values into Rust data.

use serde::de::value::{BorrowedStrDeserializer, StrDeserializer, StringDeserializer};
use serde::de::{self, DeserializeOwned, DeserializeSeed, Deserializer, Error as _, IntoDeserializer, Unexpected, Visitor};
use serde::forward_to_deserialize_any;

use super::number::Native;
use super::serde_impls::{NUMBER_TOKEN, RAW_TOKEN};
use super::{Number, Value, ValueError, ValueErrorKind};
use crate::limits::VALUE_DEPTH_MAX;

impl Value {
    /// The Rust type that this JSON stands for.
    ///
    /// Whole numbers fill integer fields however they are written: `100.0` is a `u32`.
    ///
    /// # Errors
    /// [`ValueError`] with the place that does not fit, or when the value nests deeper than [`VALUE_DEPTH_MAX`].
    pub fn deserialize<T: DeserializeOwned>(&self) -> Result<T, ValueError> {
        // Types that hold themselves recurse; deeper values would end the process.
        if self.depth() > VALUE_DEPTH_MAX {
            return Err(ValueError::new(ValueErrorKind::TooDeep { levels_max: VALUE_DEPTH_MAX }));
        }
        T::deserialize(self)
    }
}

impl Value {
    fn unexpected(&self) -> Unexpected<'_> {
        match self {
            Value::Null => Unexpected::Unit,
            Value::Bool(boolean) => Unexpected::Bool(*boolean),
            Value::Number(number) => match number.native() {
                Native::Signed(integer) => Unexpected::Signed(integer),
                Native::Unsigned(integer) => Unexpected::Unsigned(integer),
                Native::Float(float) => Unexpected::Float(float),
                Native::None => Unexpected::Other("number"),
            },
            Value::String(text) => Unexpected::Str(text),
            Value::Array(_) => Unexpected::Seq,
            Value::Object(_) => Unexpected::Map,
        }
    }
}

fn visit_number<'de, V: Visitor<'de>>(number: &Number, visitor: V) -> Result<V::Value, ValueError> {
    match number.native() {
        Native::Signed(integer) if integer >= 0 => visitor.visit_u64(integer.unsigned_abs()),
        Native::Signed(integer) => visitor.visit_i64(integer),
        Native::Unsigned(integer) => visitor.visit_u64(integer),
        Native::Float(float) => visitor.visit_f64(float),
        // The private form keeps every digit for `serde_json` and for this crate's own types.
        Native::None => visitor.visit_map(Token { name: NUMBER_TOKEN, text: Some(number.text().into_owned()) }),
    }
}

macro_rules! integers {
    ($($method:ident),+) => {$(
        fn $method<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, ValueError> {
            match self {
                Value::Number(number) => {
                    if let Some(integer) = number.as_u64() {
                        visitor.visit_u64(integer)
                    } else if let Some(integer) = number.as_i64() {
                        visitor.visit_i64(integer)
                    } else if let Some(integer) = number.as_i128() {
                        visitor.visit_i128(integer)
                    } else if let Some(integer) = number.as_u128() {
                        visitor.visit_u128(integer)
                    } else {
                        Err(ValueError::invalid_type(self.unexpected(), &visitor))
                    }
                }
                _ => Err(ValueError::invalid_type(self.unexpected(), &visitor)),
            }
        }
    )+};
}

macro_rules! floats {
    ($($method:ident),+) => {$(
        fn $method<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, ValueError> {
            match self.as_f64() {
                Some(float) => visitor.visit_f64(float),
                None if matches!(self, Value::Number(_)) => {
                    Err(ValueError::custom(format_args!("`{self}` is beyond the range of a float")))
                }
                None => Err(ValueError::invalid_type(self.unexpected(), &visitor)),
            }
        }
    )+};
}

impl<'de> Deserializer<'de> for &'de Value {
    type Error = ValueError;

    integers!(
        deserialize_i8,
        deserialize_i16,
        deserialize_i32,
        deserialize_i64,
        deserialize_i128,
        deserialize_u8,
        deserialize_u16,
        deserialize_u32,
        deserialize_u64,
        deserialize_u128
    );
    floats!(deserialize_f32, deserialize_f64);

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, ValueError> {
        match self {
            Value::Null => visitor.visit_unit(),
            Value::Bool(boolean) => visitor.visit_bool(*boolean),
            Value::Number(number) => visit_number(number, visitor),
            Value::String(text) => visitor.visit_borrowed_str(text),
            Value::Array(items) => {
                let mut access = Items { at: 0, items: items.iter() };
                let data = visitor.visit_seq(&mut access)?;
                match access.items.len() {
                    0 => Ok(data),
                    _ => Err(ValueError::invalid_length(items.len(), &"fewer items")),
                }
            }
            Value::Object(object) => {
                let mut access = MemberAccess { members: object.iter(), pending: None };
                let data = visitor.visit_map(&mut access)?;
                match access.members.len() {
                    0 => Ok(data),
                    _ => Err(ValueError::invalid_length(object.len(), &"fewer members")),
                }
            }
        }
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, ValueError> {
        if self.is_null() { visitor.visit_none() } else { visitor.visit_some(self) }
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(self, name: &'static str, visitor: V) -> Result<V::Value, ValueError> {
        if name == RAW_TOKEN {
            return visitor.visit_map(Token { name: RAW_TOKEN, text: Some(self.to_json_string()) });
        }
        visitor.visit_newtype_struct(self)
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _name: &'static str,
        _variants: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, ValueError> {
        match self {
            Value::String(text) => visitor.visit_enum(EnumData { variant: text, data: None }),
            Value::Object(object) if object.len() == 1 => match object.iter().next() {
                Some((variant, data)) => visitor.visit_enum(EnumData { variant, data: Some(data) }),
                None => Err(ValueError::custom("expected a variant")),
            },
            Value::Object(_) => Err(ValueError::invalid_value(Unexpected::Map, &"an object with one member")),
            other => Err(ValueError::invalid_type(other.unexpected(), &"a text or an object with one member")),
        }
    }

    fn deserialize_ignored_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, ValueError> {
        visitor.visit_unit()
    }

    forward_to_deserialize_any! {
        bool char str string bytes byte_buf unit unit_struct seq tuple tuple_struct map struct identifier
    }
}

impl<'de> IntoDeserializer<'de, ValueError> for &'de Value {
    type Deserializer = &'de Value;

    fn into_deserializer(self) -> &'de Value {
        self
    }
}

/// The private form of a number or of raw JSON text: a map whose one value is text.
struct Token {
    name: &'static str,
    text: Option<String>,
}

impl<'de> de::MapAccess<'de> for Token {
    type Error = ValueError;

    fn next_key_seed<K: DeserializeSeed<'de>>(&mut self, seed: K) -> Result<Option<K::Value>, ValueError> {
        match &self.text {
            Some(_) => seed.deserialize(BorrowedStrDeserializer::new(self.name)).map(Some),
            None => Ok(None),
        }
    }

    fn next_value_seed<T: DeserializeSeed<'de>>(&mut self, seed: T) -> Result<T::Value, ValueError> {
        let text = self.text.take().unwrap_or_default();
        seed.deserialize(StringDeserializer::new(text))
    }
}

struct Items<'de> {
    at: usize,
    items: std::slice::Iter<'de, Value>,
}

impl<'de> de::SeqAccess<'de> for Items<'de> {
    type Error = ValueError;

    fn next_element_seed<T: DeserializeSeed<'de>>(&mut self, seed: T) -> Result<Option<T::Value>, ValueError> {
        let Some(item) = self.items.next() else {
            return Ok(None);
        };
        self.at += 1;
        seed.deserialize(item).map(Some).map_err(|error| error.inside(&(self.at - 1).to_string()))
    }

    fn size_hint(&self) -> Option<usize> {
        Some(self.items.len())
    }
}

struct MemberAccess<'de> {
    members: super::Members<'de>,
    pending: Option<(&'de str, &'de Value)>,
}

impl<'de> de::MapAccess<'de> for MemberAccess<'de> {
    type Error = ValueError;

    fn next_key_seed<K: DeserializeSeed<'de>>(&mut self, seed: K) -> Result<Option<K::Value>, ValueError> {
        let Some((key, value)) = self.members.next() else {
            return Ok(None);
        };
        self.pending = Some((key, value));
        seed.deserialize(MapKey { key }).map(Some)
    }

    fn next_value_seed<T: DeserializeSeed<'de>>(&mut self, seed: T) -> Result<T::Value, ValueError> {
        match self.pending.take() {
            Some((key, value)) => seed.deserialize(value).map_err(|error| error.inside(key)),
            None => Err(ValueError::custom("a value was asked for before its key")),
        }
    }

    fn size_hint(&self) -> Option<usize> {
        Some(self.members.len())
    }
}

/// A key, which is text and may have to be a number or a boolean.
struct MapKey<'de> {
    key: &'de str,
}

macro_rules! parsed_keys {
    ($($method:ident: $visit:ident),+) => {$(
        fn $method<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, ValueError> {
            match self.key.parse() {
                Ok(parsed) => visitor.$visit(parsed),
                Err(_) => Err(ValueError::invalid_type(Unexpected::Str(self.key), &visitor)),
            }
        }
    )+};
}

impl<'de> Deserializer<'de> for MapKey<'de> {
    type Error = ValueError;

    parsed_keys!(
        deserialize_bool: visit_bool,
        deserialize_i8: visit_i8, deserialize_i16: visit_i16, deserialize_i32: visit_i32, deserialize_i64: visit_i64,
        deserialize_u8: visit_u8, deserialize_u16: visit_u16, deserialize_u32: visit_u32, deserialize_u64: visit_u64,
        deserialize_i128: visit_i128, deserialize_u128: visit_u128,
        deserialize_f32: visit_f32, deserialize_f64: visit_f64
    );

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, ValueError> {
        visitor.visit_borrowed_str(self.key)
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, ValueError> {
        visitor.visit_some(self)
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(self, _: &'static str, visitor: V) -> Result<V::Value, ValueError> {
        visitor.visit_newtype_struct(self)
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _name: &'static str,
        _variants: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, ValueError> {
        visitor.visit_enum(BorrowedStrDeserializer::new(self.key))
    }

    forward_to_deserialize_any! {
        char str string bytes byte_buf unit unit_struct seq tuple tuple_struct map struct identifier ignored_any
    }
}

/// A variant's name and what belongs to it.
struct EnumData<'de> {
    variant: &'de str,
    data: Option<&'de Value>,
}

impl<'de> de::EnumAccess<'de> for EnumData<'de> {
    type Error = ValueError;
    type Variant = EnumData<'de>;

    fn variant_seed<V: DeserializeSeed<'de>>(self, seed: V) -> Result<(V::Value, EnumData<'de>), ValueError> {
        let variant = seed.deserialize(StrDeserializer::new(self.variant))?;
        Ok((variant, self))
    }
}

impl EnumData<'_> {
    fn inside(&self, error: ValueError) -> ValueError {
        error.inside(self.variant)
    }
}

impl<'de> de::VariantAccess<'de> for EnumData<'de> {
    type Error = ValueError;

    fn unit_variant(self) -> Result<(), ValueError> {
        match self.data {
            None | Some(Value::Null) => Ok(()),
            Some(other) => Err(self.inside(ValueError::invalid_type(other.unexpected(), &"nothing"))),
        }
    }

    fn newtype_variant_seed<T: DeserializeSeed<'de>>(self, seed: T) -> Result<T::Value, ValueError> {
        match self.data {
            Some(data) => seed.deserialize(data).map_err(|error| self.inside(error)),
            None => Err(ValueError::invalid_type(Unexpected::UnitVariant, &"a variant with data")),
        }
    }

    fn tuple_variant<V: Visitor<'de>>(self, _length: usize, visitor: V) -> Result<V::Value, ValueError> {
        match self.data {
            Some(data @ Value::Array(_)) => data.deserialize_any(visitor).map_err(|error| self.inside(error)),
            Some(other) => Err(self.inside(ValueError::invalid_type(other.unexpected(), &"an array"))),
            None => Err(ValueError::invalid_type(Unexpected::UnitVariant, &"a variant with an array")),
        }
    }

    fn struct_variant<V: Visitor<'de>>(self, _fields: &'static [&'static str], visitor: V) -> Result<V::Value, ValueError> {
        match self.data {
            Some(data @ Value::Object(_)) => data.deserialize_any(visitor).map_err(|error| self.inside(error)),
            Some(other) => Err(self.inside(ValueError::invalid_type(other.unexpected(), &"an object"))),
            None => Err(ValueError::invalid_type(Unexpected::UnitVariant, &"a variant with an object")),
        }
    }
}

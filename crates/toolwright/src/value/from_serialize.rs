//! Rust data into values.

use serde::ser::{self, Error as _, Serialize, Serializer};

use super::serde_impls::{NUMBER_TOKEN, RAW_TOKEN};
use super::shape::Key;
use super::{Number, Object, Text, Value, ValueError, ValueErrorKind};
use crate::limits::VALUE_DEPTH_MAX;

impl Value {
    /// What a Rust type serializes to, as JSON.
    ///
    /// # Errors
    /// [`ValueError`] with the place of what is no JSON: NaN and the infinities are never turned into null, a key of a map
    /// must be a text, and at most [`VALUE_DEPTH_MAX`] levels stand inside each other.
    pub fn from_serialize<T: Serialize + ?Sized>(data: &T) -> Result<Value, ValueError> {
        data.serialize(Writer { levels_left: VALUE_DEPTH_MAX })
    }
}

/// Makes a value with at most so many more levels.
#[derive(Clone, Copy)]
struct Writer {
    levels_left: u32,
}

impl Writer {
    fn inner(self) -> Result<Writer, ValueError> {
        match self.levels_left.checked_sub(1) {
            Some(levels_left) => Ok(Writer { levels_left }),
            None => Err(ValueError::new(ValueErrorKind::TooDeep { levels_max: VALUE_DEPTH_MAX })),
        }
    }

    fn list(self, variant: Option<&'static str>, length: usize) -> Result<List, ValueError> {
        let outer = if variant.is_some() { self.inner()? } else { self };
        Ok(List { inner: outer.inner()?, variant, items: Vec::with_capacity(length.min(1_024)) })
    }

    fn members(self, variant: Option<&'static str>, length: usize) -> Result<MemberList, ValueError> {
        let outer = if variant.is_some() { self.inner()? } else { self };
        let length = length.min(1_024);
        let (keys, values) = (Vec::with_capacity(length), Vec::with_capacity(length));
        Ok(MemberList { inner: outer.inner()?, variant, keys, values })
    }
}

/// `{variant: value}` for data of an enum variant, the value itself otherwise.
fn tagged(variant: Option<&'static str>, value: Value) -> Value {
    match variant {
        Some(variant) => Value::object([(variant, value)]),
        None => value,
    }
}

fn finite(number: Option<Number>) -> Result<Value, ValueError> {
    number.map(Value::Number).ok_or_else(|| ValueError::new(ValueErrorKind::NotFinite))
}

macro_rules! integers {
    ($($method:ident: $integer:ty),+) => {$(
        fn $method(self, integer: $integer) -> Result<Value, ValueError> {
            Ok(Value::from(integer))
        }
    )+};
}

impl Serializer for Writer {
    type Ok = Value;
    type Error = ValueError;
    type SerializeSeq = List;
    type SerializeTuple = List;
    type SerializeTupleStruct = List;
    type SerializeTupleVariant = List;
    type SerializeMap = MemberList;
    type SerializeStruct = StructList;
    type SerializeStructVariant = MemberList;

    integers!(
        serialize_i8: i8, serialize_i16: i16, serialize_i32: i32, serialize_i64: i64,
        serialize_u8: u8, serialize_u16: u16, serialize_u32: u32, serialize_u64: u64
    );

    fn serialize_bool(self, boolean: bool) -> Result<Value, ValueError> {
        Ok(Value::Bool(boolean))
    }

    fn serialize_i128(self, integer: i128) -> Result<Value, ValueError> {
        finite(Number::parse(&integer.to_string()))
    }

    fn serialize_u128(self, integer: u128) -> Result<Value, ValueError> {
        finite(Number::parse(&integer.to_string()))
    }

    fn serialize_f32(self, float: f32) -> Result<Value, ValueError> {
        finite(Number::from_f32(float))
    }

    fn serialize_f64(self, float: f64) -> Result<Value, ValueError> {
        finite(Number::from_f64(float))
    }

    fn serialize_char(self, character: char) -> Result<Value, ValueError> {
        Ok(Value::from(&*character.encode_utf8(&mut [0; 4])))
    }

    fn serialize_str(self, text: &str) -> Result<Value, ValueError> {
        Ok(Value::from(text))
    }

    fn serialize_bytes(self, bytes: &[u8]) -> Result<Value, ValueError> {
        Ok(Value::array(bytes.iter().copied()))
    }

    fn serialize_none(self) -> Result<Value, ValueError> {
        Ok(Value::Null)
    }

    fn serialize_some<T: Serialize + ?Sized>(self, data: &T) -> Result<Value, ValueError> {
        data.serialize(self)
    }

    fn serialize_unit(self) -> Result<Value, ValueError> {
        Ok(Value::Null)
    }

    fn serialize_unit_struct(self, _name: &'static str) -> Result<Value, ValueError> {
        Ok(Value::Null)
    }

    fn serialize_unit_variant(self, _: &'static str, _: u32, variant: &'static str) -> Result<Value, ValueError> {
        Ok(Value::from(variant))
    }

    fn serialize_newtype_struct<T: Serialize + ?Sized>(self, _: &'static str, data: &T) -> Result<Value, ValueError> {
        data.serialize(self)
    }

    fn serialize_newtype_variant<T: Serialize + ?Sized>(
        self,
        _name: &'static str,
        _index: u32,
        variant: &'static str,
        data: &T,
    ) -> Result<Value, ValueError> {
        let value = data.serialize(self.inner()?).map_err(|error| error.inside(variant))?;
        Ok(tagged(Some(variant), value))
    }

    fn serialize_seq(self, length: Option<usize>) -> Result<List, ValueError> {
        self.list(None, length.unwrap_or(0))
    }

    fn serialize_tuple(self, length: usize) -> Result<List, ValueError> {
        self.list(None, length)
    }

    fn serialize_tuple_struct(self, _name: &'static str, length: usize) -> Result<List, ValueError> {
        self.list(None, length)
    }

    fn serialize_tuple_variant(self, _name: &'static str, _index: u32, variant: &'static str, length: usize) -> Result<List, ValueError> {
        self.list(Some(variant), length)
    }

    fn serialize_map(self, length: Option<usize>) -> Result<MemberList, ValueError> {
        self.members(None, length.unwrap_or(0))
    }

    fn serialize_struct(self, name: &'static str, length: usize) -> Result<StructList, ValueError> {
        match name {
            NUMBER_TOKEN | RAW_TOKEN => Ok(StructList::Text(Value::Null)),
            _ => Ok(StructList::Members(self.members(None, length)?)),
        }
    }

    fn serialize_struct_variant(
        self,
        _name: &'static str,
        _index: u32,
        variant: &'static str,
        length: usize,
    ) -> Result<MemberList, ValueError> {
        self.members(Some(variant), length)
    }
}

/// An array that is being filled.
struct List {
    inner: Writer,
    variant: Option<&'static str>,
    items: Vec<Value>,
}

impl List {
    fn push<T: Serialize + ?Sized>(&mut self, data: &T) -> Result<(), ValueError> {
        match data.serialize(self.inner) {
            Ok(value) => {
                self.items.push(value);
                Ok(())
            }
            Err(error) => {
                let error = error.inside(&self.items.len().to_string());
                Err(self.variant.iter().fold(error, |error, variant| error.inside(variant)))
            }
        }
    }

    fn finish(self) -> Result<Value, ValueError> {
        Ok(tagged(self.variant, Value::from(self.items)))
    }
}

macro_rules! fill_list {
    ($($kind:ident::$push:ident),+) => {$(
        impl ser::$kind for List {
            type Ok = Value;
            type Error = ValueError;

            fn $push<T: Serialize + ?Sized>(&mut self, data: &T) -> Result<(), ValueError> {
                self.push(data)
            }

            fn end(self) -> Result<Value, ValueError> {
                self.finish()
            }
        }
    )+};
}
fill_list!(
    SerializeSeq::serialize_element,
    SerializeTuple::serialize_element,
    SerializeTupleStruct::serialize_field,
    SerializeTupleVariant::serialize_field
);

/// An object that is being filled.
struct MemberList {
    inner: Writer,
    variant: Option<&'static str>,
    keys: Vec<Key>,
    values: Vec<Value>,
}

impl MemberList {
    fn push<T: Serialize + ?Sized>(&mut self, key: Text, data: &T) -> Result<(), ValueError> {
        self.keys.push(Key::new(key));
        self.push_value(data)
    }

    fn push_value<T: Serialize + ?Sized>(&mut self, data: &T) -> Result<(), ValueError> {
        match data.serialize(self.inner) {
            Ok(value) => {
                self.values.push(value);
                Ok(())
            }
            Err(error) => {
                let key = self.keys.last().map_or("", |key| key.text.as_str());
                let error = error.inside(key);
                Err(self.variant.iter().fold(error, |error, variant| error.inside(variant)))
            }
        }
    }

    fn finish(self) -> Result<Value, ValueError> {
        if self.keys.len() != self.values.len() {
            return Err(ValueError::custom("a key without a value"));
        }
        Ok(tagged(self.variant, Value::Object(Object::from_lists(self.keys, self.values))))
    }
}

impl ser::SerializeMap for MemberList {
    type Ok = Value;
    type Error = ValueError;

    fn serialize_key<T: Serialize + ?Sized>(&mut self, key: &T) -> Result<(), ValueError> {
        // A key is what the data would be as a value, if that is a scalar.
        let key = match key.serialize(self.inner)? {
            Value::String(text) => text,
            Value::Number(number) => Text::from(number.text().as_ref()),
            Value::Bool(boolean) => Text::from(if boolean { "true" } else { "false" }),
            Value::Null | Value::Array(_) | Value::Object(_) => {
                return Err(ValueError::new(ValueErrorKind::KeyNotText));
            }
        };
        self.keys.push(Key::new(key));
        Ok(())
    }

    fn serialize_value<T: Serialize + ?Sized>(&mut self, data: &T) -> Result<(), ValueError> {
        self.push_value(data)
    }

    fn end(self) -> Result<Value, ValueError> {
        self.finish()
    }
}

impl ser::SerializeStructVariant for MemberList {
    type Ok = Value;
    type Error = ValueError;

    fn serialize_field<T: Serialize + ?Sized>(&mut self, key: &'static str, data: &T) -> Result<(), ValueError> {
        self.push(Text::from(key), data)
    }

    fn end(self) -> Result<Value, ValueError> {
        self.finish()
    }
}

/// A struct that is being filled, or one of the private forms of `serde_json`.
enum StructList {
    Members(MemberList),
    Text(Value),
}

impl ser::SerializeStruct for StructList {
    type Ok = Value;
    type Error = ValueError;

    fn serialize_field<T: Serialize + ?Sized>(&mut self, key: &'static str, data: &T) -> Result<(), ValueError> {
        match self {
            StructList::Members(members) => members.push(Text::from(key), data),
            StructList::Text(value) => {
                // A number is JSON text too.
                let text = data.serialize(Writer { levels_left: 0 })?;
                let text = text.as_str().ok_or_else(|| ValueError::custom("expected JSON text"))?;
                *value = match Value::parse(text) {
                    Ok(value) => value,
                    Err(_) if key == NUMBER_TOKEN => return Err(ValueError::not_a_number(text)),
                    Err(error) => return Err(ValueError::new(ValueErrorKind::Text(error))),
                };
                Ok(())
            }
        }
    }

    fn end(self) -> Result<Value, ValueError> {
        match self {
            StructList::Members(members) => members.finish(),
            StructList::Text(value) => Ok(value),
        }
    }
}

//! Repairs that keep a value's meaning: integral decimals where an integer is
//! wanted, and members left out.

use super::Repair;
use crate::value::{Text, Value};

/// The places of a schema that want an integer.
#[derive(Debug)]
pub(crate) enum Integers {
    Here,
    Members(Vec<(Text, Integers)>),
    Items(Box<Integers>),
}

impl Integers {
    /// Looks through `properties` and `items`; `$ref` and combinators are left alone.
    pub(crate) fn of(schema: &Value) -> Option<Self> {
        let wants = |word: &str| match schema.get("type") {
            Some(Value::String(kind)) => kind == word,
            Some(kinds) => kinds.as_array().is_some_and(|kinds| kinds.iter().any(|kind| kind.as_str() == Some(word))),
            None => false,
        };
        if wants("integer") && !wants("number") {
            return Some(Self::Here);
        }
        if let Some(properties) = schema.get("properties").and_then(Value::as_object) {
            let members: Vec<_> = properties.iter().filter_map(|(key, value)| Some((key.clone(), Self::of(value)?))).collect();
            if !members.is_empty() {
                return Some(Self::Members(members));
            }
        }
        schema.get("items").and_then(Self::of).map(|items| Self::Items(Box::new(items)))
    }

    /// Whether a number here is written as a decimal. Allocates nothing.
    pub(crate) fn concerns(&self, value: &Value) -> bool {
        match (self, value) {
            (Self::Here, Value::Number(number)) => !number.is_written_as_integer() && number.to_integer().is_some(),
            (Self::Members(members), Value::Object(object)) => {
                // Mostly there is no decimal, and then no member has to be looked up.
                object.values().iter().any(may_hold_decimal)
                    && members.iter().any(|(key, inner)| object.get(key).is_some_and(|member| inner.concerns(member)))
            }
            (Self::Items(inner), Value::Array(_)) => value.as_array().unwrap_or_default().iter().any(|item| inner.concerns(item)),
            _ => false,
        }
    }

    /// The value with those numbers written as integers.
    pub(crate) fn normalised(&self, value: &Value, repairs: &mut Vec<Repair>) -> Value {
        self.apply(value, &mut String::new(), repairs)
    }

    fn apply(&self, value: &Value, pointer: &mut String, repairs: &mut Vec<Repair>) -> Value {
        if !self.concerns(value) {
            return value.clone();
        }
        match (self, value) {
            (Self::Here, Value::Number(number)) => match number.to_integer() {
                Some(integer) => {
                    repairs.push(Repair { pointer: pointer.clone(), action: "wrote an integral number as an integer".into() });
                    Value::Number(integer)
                }
                None => value.clone(),
            },
            (Self::Members(members), Value::Object(object)) => Value::object(object.iter().map(|(key, member)| {
                let inner = members.iter().find(|(name, _)| name == key);
                let member =
                    inner.map_or_else(|| member.clone(), |(_, inner)| at(pointer, key, |pointer| inner.apply(member, pointer, repairs)));
                (key.clone(), member)
            })),
            (Self::Items(inner), Value::Array(_)) => {
                let items = value.as_array().unwrap_or_default().iter().enumerate();
                Value::array(items.map(|(index, item)| at(pointer, &index.to_string(), |pointer| inner.apply(item, pointer, repairs))))
            }
            _ => value.clone(),
        }
    }
}

fn may_hold_decimal(value: &Value) -> bool {
    match value {
        Value::Number(number) => !number.is_written_as_integer(),
        Value::Array(_) | Value::Object(_) => true,
        Value::Null | Value::Bool(_) | Value::String(_) => false,
    }
}

/// The value without the members at these JSON pointers.
pub(crate) fn without(value: &Value, pointers: &[&str]) -> Value {
    leave_out(value, &mut String::new(), pointers)
}

fn leave_out(value: &Value, pointer: &mut String, pointers: &[&str]) -> Value {
    if !pointers.iter().any(|gone| gone.starts_with(pointer.as_str())) {
        return value.clone();
    }
    match value {
        Value::Object(object) => {
            let mut kept: Vec<(Text, Value)> = Vec::with_capacity(object.len());
            for (key, member) in object.iter() {
                let member =
                    at(pointer, key, |pointer| (!pointers.contains(&pointer.as_str())).then(|| leave_out(member, pointer, pointers)));
                kept.extend(member.map(|member| (key.clone(), member)));
            }
            Value::object(kept)
        }
        Value::Array(_) => {
            let items = value.as_array().unwrap_or_default().iter().enumerate();
            Value::array(items.map(|(index, item)| at(pointer, &index.to_string(), |pointer| leave_out(item, pointer, pointers))))
        }
        other => other.clone(),
    }
}

fn at<T>(pointer: &mut String, key: &str, work: impl FnOnce(&mut String) -> T) -> T {
    let before = pointer.len();
    pointer.push('/');
    pointer.push_str(&key.replace('~', "~0").replace('/', "~1"));
    let done = work(pointer);
    pointer.truncate(before);
    done
}

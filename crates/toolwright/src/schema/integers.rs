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

    /// Whether what fits `source`, with the integers that `source` itself wants written as such, has none written as a
    /// decimal here. `exact` are the places that `source` wants integers at, as [`Integers::of`] finds them.
    pub(crate) fn follow_from(&self, source: &Value, exact: Option<&Self>) -> bool {
        if matches!((self, exact), (Self::Here, Some(Self::Here))) {
            return true;
        }
        // Beside a reference to elsewhere other keywords may mean nothing.
        if source.get("$ref").is_some() || source.get("$dynamicRef").is_some() {
            return false;
        }
        match (self, exact) {
            (Self::Here, _) => has_no_numbers(source),
            (Self::Members(members), exact) => members.iter().all(|(key, inner)| {
                let member = source.get("properties").and_then(|properties| properties.get(key));
                match member {
                    Some(member) => inner.follow_from(member, exact.and_then(|exact| exact.member(key))),
                    None => source.get("additionalProperties") == Some(&Value::Bool(false)) && source.get("patternProperties").is_none(),
                }
            }),
            (Self::Items(inner), exact) => match source.get("items") {
                Some(items) if source.get("prefixItems").is_none() => inner.follow_from(items, exact.and_then(Self::items)),
                _ => false,
            },
        }
    }

    /// The places inside a member.
    pub(crate) fn member(&self, key: &str) -> Option<&Self> {
        let Self::Members(members) = self else { return None };
        members.iter().find_map(|(name, inner)| (name == key).then_some(inner))
    }

    /// The places inside every item.
    pub(crate) fn items(&self) -> Option<&Self> {
        if let Self::Items(inner) = self { Some(inner) } else { None }
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

/// Whether a schema says by its type that no number fits.
fn has_no_numbers(schema: &Value) -> bool {
    let is_number = |kind: &Value| matches!(kind.as_str(), Some("integer" | "number") | None);
    match schema.get("type") {
        Some(Value::Array(kinds)) => !kinds.iter().any(is_number),
        Some(kind) => !is_number(kind),
        None => false,
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

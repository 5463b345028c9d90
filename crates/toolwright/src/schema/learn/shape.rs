//! The shape of the values at one place: how often which kind stood there, and the shapes inside.
//!
//! Adding and merging only ever sum, unite and widen, so that the order of outputs does not matter.

use std::collections::BTreeMap;

use super::Sometimes;
use super::texts::{Formats, Texts};
use crate::limits::{LEARNED_KEY_BYTES_MAX, LEARNED_MAP_KEYS_MIN, LEARNED_MEMBERS_MAX};
use crate::value::{Object, Text, Value};

/// What is remembered of one place.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Shape {
    pub(super) nulls: u64,
    pub(super) booleans: u64,
    /// Numbers without a fraction, as written.
    pub(super) integers: u64,
    /// All other numbers.
    pub(super) fractions: u64,
    pub(super) texts: Texts,
    pub(super) arrays: u64,
    /// Of all items; empty while there was none.
    pub(super) items: Option<Box<Shape>>,
    pub(super) objects: u64,
    pub(super) members: Members,
    /// Values that were not looked at, since they lie too deep.
    pub(super) deeper: u64,
}

/// The members of the objects at one place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Members {
    /// Each by its key.
    Named(BTreeMap<Text, Shape>),
    /// Too many keys: all values are one.
    Map(Box<Shape>),
}

impl Default for Members {
    fn default() -> Self {
        Self::Named(BTreeMap::new())
    }
}

fn one_more(count: &mut u64) {
    *count = count.saturating_add(1);
}

impl Shape {
    /// How many values stood here.
    pub(super) fn times(&self) -> u64 {
        let counts = [self.nulls, self.booleans, self.integers, self.fractions, self.texts.times, self.arrays, self.objects, self.deeper];
        counts.into_iter().fold(0, u64::saturating_add)
    }

    /// Takes a value; tells how many places are new. `depth`: levels below this one that are looked at.
    pub(super) fn add(&mut self, value: &Value, depth: u32, formats: &Formats) -> usize {
        match (value, depth.checked_sub(1)) {
            (Value::Array(_) | Value::Object(_), None) => one_more(&mut self.deeper),
            (Value::Null, _) => one_more(&mut self.nulls),
            (Value::Bool(_), _) => one_more(&mut self.booleans),
            (Value::Number(number), _) if number.is_written_as_integer() => one_more(&mut self.integers),
            (Value::Number(_), _) => one_more(&mut self.fractions),
            (Value::String(text), _) => self.texts.add(text, formats),
            (Value::Array(items), Some(depth)) => {
                one_more(&mut self.arrays);
                let items = items.as_slice();
                let new = usize::from(self.items.is_none() && !items.is_empty());
                return items.iter().fold(new, |new, item| new + self.items.get_or_insert_default().add(item, depth, formats));
            }
            (Value::Object(object), Some(depth)) => {
                one_more(&mut self.objects);
                return object.iter().fold(0, |new, (key, value)| new + self.members.place(key).add(value, depth, formats) + 1);
            }
        }
        0
    }

    pub(super) fn merge(&mut self, other: Shape) {
        for (own, other) in [
            (&mut self.nulls, other.nulls),
            (&mut self.booleans, other.booleans),
            (&mut self.integers, other.integers),
            (&mut self.fractions, other.fractions),
            (&mut self.arrays, other.arrays),
            (&mut self.objects, other.objects),
            (&mut self.deeper, other.deeper),
        ] {
            *own = own.saturating_add(other);
        }
        self.texts.merge(other.texts);
        if let Some(items) = other.items {
            self.items.get_or_insert_default().merge(*items);
        }
        match other.members {
            Members::Named(named) => named.into_iter().for_each(|(key, shape)| self.members.place(&key).merge(shape)),
            Members::Map(values) => self.members.as_map().merge(*values),
        }
    }

    /// How many places it remembers.
    pub(super) fn places(&self) -> usize {
        let inside = match &self.members {
            Members::Named(named) => named.values().map(Shape::places).sum(),
            Members::Map(values) => values.places(),
        };
        1 + inside + self.items.as_ref().map_or(0, |items| items.places())
    }

    /// Forgets what lies more than `depth` levels below.
    pub(super) fn cut(&mut self, depth: u32) {
        let Some(depth) = depth.checked_sub(1) else {
            self.deeper = self.deeper.saturating_add(self.arrays).saturating_add(self.objects);
            (self.arrays, self.items) = (0, None);
            (self.objects, self.members) = (0, Members::default());
            return;
        };
        self.items.iter_mut().for_each(|items| items.cut(depth));
        match &mut self.members {
            Members::Named(named) => named.values_mut().for_each(|shape| shape.cut(depth)),
            Members::Map(values) => values.cut(depth),
        }
    }

    /// The shape of all values of its objects, when their keys are data.
    fn values(&self) -> Option<Shape> {
        match &self.members {
            Members::Map(values) => Some((**values).clone()),
            Members::Named(named) => {
                let seen: u64 = named.values().map(Shape::times).fold(0, u64::saturating_add);
                let slots = self.objects.saturating_mul(named.len() as u64);
                let sparse = named.len() > LEARNED_MAP_KEYS_MIN
                    && seen.saturating_mul(2) <= slots
                    && named.values().all(|shape| shape.times() < self.objects);
                sparse.then(|| {
                    let mut values = Shape::default();
                    named.values().for_each(|shape| values.merge(shape.clone()));
                    values
                })
            }
        }
    }

    /// Whether a value brings nothing new.
    pub(super) fn fits(&self, value: &Value, formats: &Formats) -> bool {
        match value {
            Value::Array(_) | Value::Object(_) if self.deeper > 0 => true,
            Value::Null => self.nulls > 0,
            Value::Bool(_) => self.booleans > 0,
            Value::Number(number) => self.fractions > 0 || (self.integers > 0 && number.is_written_as_integer()),
            Value::String(text) => self.texts.fits(text, formats),
            Value::Array(items) => {
                let fits = |item| self.items.as_ref().is_some_and(|items| items.fits(item, formats));
                self.arrays > 0 && items.as_slice().iter().all(fits)
            }
            Value::Object(object) => self.objects > 0 && self.object_fits(object, formats),
        }
    }

    fn object_fits(&self, object: &Object, formats: &Formats) -> bool {
        if let Some(values) = self.values() {
            return object.values().iter().all(|value| values.fits(value, formats));
        }
        let Members::Named(named) = &self.members else { return false };
        object.iter().all(|(key, value)| named.get(key).is_some_and(|shape| shape.fits(value, formats)))
            && named.iter().all(|(key, shape)| shape.times() < self.objects || object.get(key).is_some())
    }

    /// The members of its schema. `closed`: without members that were never there.
    pub(super) fn schema(&self, closed: bool) -> Vec<(Text, Value)> {
        let mut members: Vec<(Text, Value)> = Vec::new();
        let mut say = |key: &'static str, value: Value| members.push((Text::from(key), value));
        match self.types().as_slice() {
            [] => {}
            [one] => say("type", Value::from(*one)),
            several => say("type", Value::array(several.iter().copied())),
        }
        if self.deeper == 0 {
            self.schema_of_texts(&mut say);
            if let Some(items) = &self.items {
                say("items", Value::object(items.schema(closed)));
            }
            self.schema_of_members(closed, &mut say);
        }
        members
    }

    fn types(&self) -> Vec<&'static str> {
        let containers = self.deeper > 0;
        let types = [
            ("object", self.objects > 0 || containers),
            ("array", self.arrays > 0 || containers),
            ("string", self.texts.times > 0),
            ("number", self.fractions > 0),
            ("integer", self.integers > 0 && self.fractions == 0),
            ("boolean", self.booleans > 0),
            ("null", self.nulls > 0),
        ];
        types.into_iter().filter(|(_, seen)| *seen).map(|(name, _)| name).collect()
    }

    fn schema_of_texts(&self, say: &mut impl FnMut(&'static str, Value)) {
        let alone = self.times() == self.texts.times.saturating_add(self.nulls);
        match (self.texts.only().filter(|_| alone), self.texts.format()) {
            (Some(only), _) => {
                let null = (self.nulls > 0).then_some(Value::Null);
                say("enum", Value::array(only.into_iter().map(Value::String).chain(null)));
            }
            (None, Some(format)) => say("format", Value::from(format)),
            (None, None) => {}
        }
    }

    fn schema_of_members(&self, closed: bool, say: &mut impl FnMut(&'static str, Value)) {
        if let Some(values) = self.values() {
            return say("additionalProperties", Value::object(values.schema(closed)));
        }
        let Members::Named(named) = &self.members else { return };
        if self.objects == 0 {
            return;
        }
        if !named.is_empty() {
            say("properties", Value::object(named.iter().map(|(key, shape)| (key.clone(), Value::object(shape.schema(closed))))));
        }
        let required: Vec<Value> =
            named.iter().filter(|(_, shape)| shape.times() == self.objects).map(|(key, _)| Value::String(key.clone())).collect();
        if !required.is_empty() {
            say("required", Value::array(required));
        }
        if closed && !named.is_empty() {
            say("additionalProperties", Value::Bool(false));
        }
    }

    /// Members that are not always there.
    pub(super) fn sometimes(&self, path: &mut String, found: &mut Vec<Sometimes>) {
        let here = path.len();
        if let Some(items) = &self.items {
            path.push_str("[]");
            items.sometimes(path, found);
            path.truncate(here);
        }
        let Members::Named(named) = &self.members else { return };
        if self.values().is_some() {
            return;
        }
        for (key, shape) in named {
            push_key(path, key);
            if shape.times() < self.objects {
                found.push(Sometimes { path: path.clone(), seen: shape.times(), of: self.objects });
            }
            shape.sometimes(path, found);
            path.truncate(here);
        }
    }
}

/// A key as a reference's path has it.
fn push_key(path: &mut String, key: &Text) {
    let plain =
        key.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_') && key.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
    match plain {
        true => path.extend([".", key.as_str()]),
        false => path.extend(["[", Value::String(key.clone()).to_json_string().as_str(), "]"]),
    }
}

impl Members {
    /// The place for the values of a key.
    pub(super) fn place(&mut self, key: &Text) -> &mut Shape {
        if let Self::Named(named) = self {
            let full = named.len() >= LEARNED_MEMBERS_MAX && !named.contains_key(key);
            if full || key.len() > LEARNED_KEY_BYTES_MAX {
                return self.as_map();
            }
        }
        match self {
            Self::Named(named) => named.entry(key.clone()).or_default(),
            Self::Map(values) => values,
        }
    }

    /// From here on, keys are data.
    pub(super) fn as_map(&mut self) -> &mut Shape {
        if let Self::Named(named) = self {
            let mut values = Shape::default();
            std::mem::take(named).into_values().for_each(|shape| values.merge(shape));
            *self = Self::Map(Box::new(values));
        }
        match self {
            Self::Map(values) => values,
            Self::Named(named) => named.entry(Text::default()).or_default(),
        }
    }
}

//! The written form of what was learned: counts by kind, in one order, so that the same knowledge is the same text.

use std::collections::BTreeMap;

use super::shape::{Members, Shape};
use super::texts::{FORMATS, Texts, Word, Words};
use super::{Learned, LearnedError};
use crate::limits::LEARNED_DEPTH_MAX;
use crate::value::{Object, Text, Value};

impl Shape {
    pub(super) fn to_value(&self) -> Value {
        let mut members: Vec<(&str, Value)> = Vec::new();
        let counts = [
            ("null", self.nulls),
            ("boolean", self.booleans),
            ("integer", self.integers),
            ("number", self.fractions),
            ("deeper", self.deeper),
        ];
        members.extend(counts.into_iter().filter(|(_, count)| *count > 0).map(|(kind, count)| (kind, Value::from(count))));
        if self.texts.times > 0 {
            members.push(("string", self.texts.to_value()));
        }
        if self.arrays > 0 {
            let items = self.items.as_ref().map(|items| ("items", items.to_value()));
            members.push(("array", Value::object([("times", Value::from(self.arrays))].into_iter().chain(items))));
        }
        if self.objects > 0 {
            let inside = match &self.members {
                Members::Named(named) => ("members", Value::object(named.iter().map(|(key, shape)| (key.clone(), shape.to_value())))),
                Members::Map(values) => ("values", values.to_value()),
            };
            members.push(("object", Value::object([("times", Value::from(self.objects)), inside])));
        }
        Value::object(members)
    }
}

impl Texts {
    fn to_value(&self) -> Value {
        let mut members = vec![("times", Value::from(self.times))];
        let fitting = FORMATS.iter().zip(self.misfits).filter(|(_, misfit)| !misfit).map(|(name, _)| *name);
        let fitting: Vec<&str> = fitting.collect();
        if !fitting.is_empty() {
            members.push(("formats", Value::array(fitting)));
        }
        if let Words::Few(few) = &self.words {
            let known = self.only().is_some();
            let key = |hash: &Text, word: &Word| word.text.clone().filter(|_| known).unwrap_or_else(|| hash.clone());
            let mut pairs: Vec<(Text, u64)> = few.iter().map(|(hash, word)| (key(hash, word), word.times)).collect();
            pairs.sort();
            members.push((if known { "words" } else { "hashes" }, Value::object(pairs)));
        }
        Value::object(members)
    }
}

/// A place in a written form.
struct At<'v> {
    pointer: String,
    value: &'v Value,
}

type Read<T> = Result<T, LearnedError>;

impl<'v> At<'v> {
    fn wrong<T>(&self, message: impl Into<String>) -> Read<T> {
        Err(LearnedError { pointer: self.pointer.clone(), message: message.into() })
    }

    fn object(&self) -> Read<&'v Object> {
        match self.value.as_object() {
            Some(object) => Ok(object),
            None => self.wrong(format!("it is {} and not an object", self.value.kind())),
        }
    }

    fn count(&self) -> Read<u64> {
        match self.value.as_u64() {
            Some(count) => Ok(count),
            None => self.wrong("it is no count, which is a whole number from 0 on"),
        }
    }

    fn inside(&self, key: &str, value: &'v Value) -> At<'v> {
        At { pointer: format!("{}/{}", self.pointer, key.replace('~', "~0").replace('/', "~1")), value }
    }

    /// The members, each of which must be one of `known`.
    fn members(&self, known: &[&str]) -> Read<Vec<(&'v Text, At<'v>)>> {
        let members: Vec<_> = self.object()?.iter().map(|(key, value)| (key, self.inside(key, value))).collect();
        match members.iter().find(|(key, _)| !known.contains(&key.as_str())) {
            Some((key, at)) => at.wrong(format!("`{}` is not known here", crate::cut(key, 80))),
            None => Ok(members),
        }
    }
}

pub(super) fn read(written: &Value) -> Read<Learned> {
    let at = At { pointer: String::new(), value: written };
    let mut learned = Learned::default();
    let mut seen = false;
    for (key, at) in at.members(&["outputs", "unchanged", "depth", "seen"])? {
        match key.as_str() {
            "outputs" => learned.outputs = at.count()?,
            "unchanged" => learned.unchanged = at.count()?,
            "depth" => learned.depth = u32::try_from(at.count()?).unwrap_or(u32::MAX).min(LEARNED_DEPTH_MAX),
            _ => {
                learned.shape = shape(&at, learned.depth)?;
                seen = true;
            }
        }
    }
    if !seen && learned.outputs > 0 {
        return at.wrong("`seen` is missing");
    }
    learned.places = learned.shape.places();
    learned.forget_the_deepest();
    Ok(learned)
}

fn shape(at: &At<'_>, depth: u32) -> Read<Shape> {
    let mut shape = Shape::default();
    for (key, at) in at.members(&["null", "boolean", "integer", "number", "deeper", "string", "array", "object"])? {
        let deeper = || match depth.checked_sub(1) {
            Some(depth) => Ok(depth),
            None => at.wrong("it lies deeper than shapes are learned"),
        };
        match key.as_str() {
            "null" => shape.nulls = at.count()?,
            "boolean" => shape.booleans = at.count()?,
            "integer" => shape.integers = at.count()?,
            "number" => shape.fractions = at.count()?,
            "deeper" => shape.deeper = at.count()?,
            "string" => shape.texts = texts(&at)?,
            "array" => array(&mut shape, &at, deeper()?)?,
            _ => object(&mut shape, &at, deeper()?)?,
        }
    }
    Ok(shape)
}

fn array(into: &mut Shape, at: &At<'_>, depth: u32) -> Read<()> {
    for (key, at) in at.members(&["times", "items"])? {
        match key.as_str() {
            "times" => into.arrays = at.count()?,
            _ => into.items = Some(Box::new(shape(&at, depth)?)),
        }
    }
    Ok(())
}

fn object(into: &mut Shape, at: &At<'_>, depth: u32) -> Read<()> {
    for (key, at) in at.members(&["times", "members", "values"])? {
        match key.as_str() {
            "times" => into.objects = at.count()?,
            "members" => {
                for (key, value) in at.object()?.iter() {
                    let member = shape(&at.inside(key, value), depth)?;
                    into.members.place(key).merge(member);
                }
            }
            _ => into.members.as_map().merge(shape(&at, depth)?),
        }
    }
    Ok(())
}

fn texts(at: &At<'_>) -> Read<Texts> {
    let mut texts = Texts { words: Words::Many, misfits: [true; FORMATS.len()], ..Texts::default() };
    for (key, at) in at.members(&["times", "formats", "words", "hashes"])? {
        match key.as_str() {
            "times" => texts.times = at.count()?,
            "formats" => {
                let Some(names) = at.value.as_array() else { return at.wrong("it is no list of formats") };
                for (misfit, name) in texts.misfits.iter_mut().zip(FORMATS) {
                    *misfit = !names.iter().any(|one| one.as_str() == Some(name));
                }
            }
            which => texts.words = words(&at, which == "words")?,
        }
    }
    Ok(texts)
}

fn words(at: &At<'_>, known: bool) -> Read<Words> {
    let mut words = Words::Few(BTreeMap::new());
    for (key, value) in at.object()?.iter() {
        let times = at.inside(key, value).count()?;
        match known {
            true => words.add(super::texts::hash(key), Word { times, text: Some(key.clone()) }),
            false => words.add(key.clone(), Word { times, text: None }),
        }
    }
    Ok(words)
}

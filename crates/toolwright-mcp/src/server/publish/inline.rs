//! Schemas without references: what a `$ref` stands for is put in its place, for clients that cannot follow one.
//!
//! A schema that reaches itself keeps its reference and the definitions it needs, since no finite text could do without. Every bound
//! is one on the result: a small schema can stand for a very large one.

use std::borrow::Cow;
use std::collections::BTreeSet;

use toolwright::{Object, Text, Value};

use super::walk::{Place, place};

/// Schemas that one published schema may have in it.
pub(crate) const NODES_MAX: usize = 5_000;

/// How deep they may stand in each other.
pub(crate) const DEPTH_MAX: usize = 100;

/// Without its references, the schema would be too large.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct TooLarge;

impl std::fmt::Display for TooLarge {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "without its references it would have more than {NODES_MAX} schemas in it, or nest more than {DEPTH_MAX} deep")
    }
}

/// Keywords that say something about a schema to people and judge nothing.
const SAYING: [&str; 8] = ["title", "description", "default", "examples", "deprecated", "readOnly", "writeOnly", "$comment"];

struct Inliner<'s> {
    root: &'s Value,
    nodes_left: usize,
    /// Places that a reference still leads to, as JSON pointers.
    kept: BTreeSet<String>,
    /// A reference that leads nowhere we know; all definitions stay for it.
    keeps_all: bool,
    /// In the drafts before 2019-09, nothing beside a `$ref` counts.
    alone: bool,
}

/// The schema without references, as far as that can be.
pub(super) fn inlined(root: &Object) -> Result<Value, TooLarge> {
    let dialect = root.get("$schema").and_then(Value::as_str).unwrap_or_default();
    let whole = Value::Object(root.clone());
    let mut inliner =
        Inliner { root: &whole, nodes_left: NODES_MAX, kept: BTreeSet::new(), keeps_all: false, alone: dialect.contains("draft-0") };
    let body = root.without("$defs").without("definitions");
    let mut within = vec![String::new()];
    let Value::Object(mut result) = inliner.schema(&Value::Object(body), &mut within)? else { return Ok(whole) };
    for section in ["$defs", "definitions"] {
        let Some(all) = root.get(section).and_then(Value::as_object) else { continue };
        let needed = inliner.definitions(section, all)?;
        if !needed.is_empty() {
            result = result.with(section, Value::object(needed));
        }
    }
    Ok(Value::Object(result))
}

impl Inliner<'_> {
    /// A schema with what its references stand for. `within` are the places whose schemas it stands in.
    fn schema(&mut self, schema: &Value, within: &mut Vec<String>) -> Result<Value, TooLarge> {
        let Value::Object(members) = schema else { return Ok(schema.clone()) };
        self.nodes_left = self.nodes_left.checked_sub(1).ok_or(TooLarge)?;
        if within.len() > DEPTH_MAX {
            return Err(TooLarge);
        }
        let Some(reference) = members.get("$ref").and_then(Value::as_str) else { return self.members(members, within) };
        let Some((pointer, target)) = self.target(reference) else {
            self.keeps_all = true;
            return self.members(members, within);
        };
        if within.contains(&pointer) {
            self.kept.insert(pointer);
            return self.members(members, within);
        }
        within.push(pointer);
        let inlined = self.schema(&target, within);
        within.pop();
        let beside = self.members(&members.without("$ref"), within)?;
        Ok(self.joined(inlined?, beside))
    }

    fn members(&mut self, members: &Object, within: &mut Vec<String>) -> Result<Value, TooLarge> {
        // A schema that stands in another is one level more, whether a reference led to it or not.
        within.push("…".to_owned());
        let result = members.iter().map(|(keyword, value)| Ok((keyword.clone(), self.member(keyword, value, within)?)));
        let result: Result<Vec<(Text, Value)>, TooLarge> = result.collect();
        within.pop();
        Ok(Value::object(result?))
    }

    fn member(&mut self, keyword: &str, value: &Value, within: &mut Vec<String>) -> Result<Value, TooLarge> {
        match (place(keyword), value) {
            (Place::Schema, Value::Object(_)) => self.schema(value, within),
            (Place::Schema | Place::List, Value::Array(items)) => {
                let items: Result<Vec<Value>, TooLarge> = items.iter().map(|item| self.schema(item, within)).collect();
                Ok(Value::from(items?))
            }
            (Place::Named, Value::Object(named)) => {
                let named: Result<Vec<(Text, Value)>, TooLarge> =
                    named.iter().map(|(name, schema)| Ok((name.clone(), self.schema(schema, within)?))).collect();
                Ok(Value::object(named?))
            }
            (_, other) => Ok(other.clone()),
        }
    }

    /// Where a reference leads, when that is a place in this schema.
    fn target(&self, reference: &str) -> Option<(String, Value)> {
        let pointer = decoded(reference.strip_prefix('#')?);
        let target = self.root.pointer(&pointer)?;
        Some((pointer.into_owned(), target.clone()))
    }

    /// The definitions of a section that something still refers to, also from one to the other.
    fn definitions(&mut self, section: &str, all: &Object) -> Result<Vec<(Text, Value)>, TooLarge> {
        let mut needed: Vec<(Text, Value)> = Vec::new();
        loop {
            let missing = all.iter().find(|(name, _)| {
                let own = format!("/{section}/{}", escaped(name));
                let inside = format!("{own}/");
                let wanted = self.keeps_all || self.kept.iter().any(|kept| *kept == own || kept.starts_with(&inside));
                wanted && !needed.iter().any(|(known, _)| known == *name)
            });
            let Some((name, schema)) = missing else { return Ok(needed) };
            let mut within = vec![String::new(), format!("/{section}/{}", escaped(name))];
            let schema = if self.keeps_all { schema.clone() } else { self.schema(schema, &mut within)? };
            needed.push((name.clone(), schema));
        }
    }

    /// What a reference stands for, and what stood beside it.
    fn joined(&self, target: Value, beside: Value) -> Value {
        let (Value::Object(target_members), Value::Object(beside)) = (&target, &beside) else { return target };
        let mut joined = target_members.clone();
        let mut clash = false;
        for (keyword, value) in beside.iter() {
            let says = SAYING.contains(&keyword.as_str());
            match target_members.get(keyword) {
                _ if says => joined = joined.with(keyword.clone(), value.clone()),
                _ if self.alone => {}
                None => joined = joined.with(keyword.clone(), value.clone()),
                Some(same) if same == value => {}
                Some(_) => clash = true,
            }
        }
        if clash {
            Value::object([("allOf", Value::array([target.clone(), Value::Object(beside.clone())]))])
        } else {
            Value::Object(joined)
        }
    }
}

fn escaped(name: &str) -> String {
    name.replace('~', "~0").replace('/', "~1")
}

/// A fragment of a URI as text.
fn decoded(fragment: &str) -> Cow<'_, str> {
    if !fragment.contains('%') {
        return Cow::Borrowed(fragment);
    }
    let bytes = fragment.as_bytes();
    let mut out = Vec::with_capacity(bytes.len());
    let mut at = 0;
    while let Some(byte) = bytes.get(at) {
        let code = fragment.get(at + 1..at + 3).filter(|_| *byte == b'%').and_then(|digits| u8::from_str_radix(digits, 16).ok());
        out.push(code.unwrap_or(*byte));
        at += if code.is_some() { 3 } else { 1 };
    }
    String::from_utf8(out).map_or(Cow::Borrowed(fragment), Cow::Owned)
}

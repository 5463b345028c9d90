//! Instances of a schema: candidates from its own keywords and from those of the schema it is compared with, of which
//! those stay that `jsonschema` accepts.

use std::collections::{HashMap, HashSet};

use jsonschema::Validator;
use toolwright::Value;
use toolwright::value::{JsonValue, Number};

use super::facets::{Part, everything, ways};
use super::{Dice, arrays, members, mutations, objects, scalars, validator};

/// Deeper values than this are given no members that they may be without.
const DEPTH_SMALL: usize = 4;

/// Nothing is generated deeper than this.
const DEPTH_MAX: usize = 10;

/// What may be known of a part of a schema while its values are made up.
pub(super) struct Ask<'a, 'p> {
    /// What must hold.
    pub(super) must: &'p [Part<'a>],
    /// What the other side says of the same place.
    pub(super) hints: &'p [Part<'a>],
    pub(super) depth: usize,
    /// About how many values are wanted.
    pub(super) budget: usize,
}

impl<'a> Ask<'a, '_> {
    /// Both sides, what the other one says first.
    pub(super) fn both(&self) -> impl Iterator<Item = &Part<'a>> {
        self.hints.iter().chain(self.must)
    }

    pub(super) fn is_deep(&self) -> bool {
        self.depth >= DEPTH_SMALL || (self.depth > 2 && self.budget <= 4)
    }
}

/// Makes up instances; keeps what it built, for schemas that it meets again.
pub(crate) struct Generator<'a> {
    pub(super) dice: Dice,
    judges: HashMap<*const Value, Option<Validator<JsonValue>>>,
    patterns: HashMap<String, Option<Validator<JsonValue>>>,
    /// What the addresses in `judges` point into.
    _schemas: std::marker::PhantomData<&'a Value>,
}

impl<'a> Generator<'a> {
    pub(crate) fn new(seed: u64) -> Self {
        Self { dice: Dice::new(seed), judges: HashMap::new(), patterns: HashMap::new(), _schemas: std::marker::PhantomData }
    }

    /// Instances of `source`, judged by `accepts`, among them ones that are close to what `target` takes and refuses.
    pub(crate) fn about(&mut self, source: &'a Value, target: &'a Value, accepts: &Validator<JsonValue>, budget: usize) -> Vec<Value> {
        let (from, to) = ([Part::root(source)], [Part::root(target)]);
        let mut candidates = self.values(&Ask { must: &from, hints: &to, depth: 0, budget });
        candidates.extend(self.values(&Ask { must: &[from, to].concat(), hints: &[], depth: 0, budget: budget / 3 }));
        candidates.extend(self.values(&Ask { must: &to, hints: &from, depth: 0, budget: budget / 6 }));
        self.accepted(candidates, accepts, budget)
    }

    /// Instances of `source`, judged by `accepts`.
    pub(crate) fn of(&mut self, source: &'a Value, accepts: &Validator<JsonValue>, budget: usize) -> Vec<Value> {
        let candidates = self.values(&Ask { must: &[Part::root(source)], hints: &[], depth: 0, budget });
        self.accepted(candidates, accepts, budget)
    }

    /// Those that are accepted, and what is accepted of what lies close to them.
    fn accepted(&mut self, candidates: Vec<Value>, accepts: &Validator<JsonValue>, budget: usize) -> Vec<Value> {
        let mut seen = HashSet::new();
        let mut accepted: Vec<Value> = Vec::new();
        let mut keep = |value: Value, accepted: &mut Vec<Value>| {
            if accepts.is_valid(&value) && seen.insert(value.to_json_string()) {
                accepted.push(value);
            }
        };
        for candidate in candidates {
            keep(candidate, &mut accepted);
        }
        let step = (accepted.len() / 12).max(1);
        let close: Vec<Value> =
            accepted.iter().step_by(step).flat_map(|value| mutations::of(value, budget / 12 + 4, &mut self.dice)).collect();
        for value in close {
            keep(value, &mut accepted);
        }
        accepted
    }

    /// Candidates: those first that what must hold is known to accept, as far as it can be judged by itself.
    pub(super) fn values(&mut self, ask: &Ask<'a, '_>) -> Vec<Value> {
        if ask.depth > DEPTH_MAX {
            return Vec::new();
        }
        let ways = ways(ask.must);
        let hints = everything(ask.hints);
        if ask.depth > 0 && ways.iter().all(|way| way.iter().all(|part| says_nothing(part))) {
            return self.anything(ask, &hints);
        }
        let share = (ask.budget / ways.len().max(1)).max(3);
        let mut lists: Vec<std::vec::IntoIter<Value>> = Vec::new();
        for way in &ways {
            lists.push(self.plain(&Ask { must: way, hints: &hints, depth: ask.depth, budget: share }).into_iter());
        }
        let mut values = interleaved(lists);
        if ask.depth > 0 {
            values.retain(|value| ask.must.iter().all(|part| self.accepts(*part, value)));
        }
        values.truncate(ask.budget.max(1));
        values
    }

    /// Where the one side says nothing: what the other side says, and a value of each kind.
    fn anything(&mut self, ask: &Ask<'a, '_>, hints: &[Part<'a>]) -> Vec<Value> {
        let mut values = Vec::new();
        if !hints.iter().all(says_nothing) {
            values = self.values(&Ask { must: ask.hints, hints: &[], depth: ask.depth + 1, budget: ask.budget / 2 + 1 });
        }
        let few = [Value::from("text"), Value::from(1), Value::Null, Value::Bool(true), Value::from("")];
        values.extend(few);
        values.extend(Number::parse("-2.5").map(Value::Number));
        values.extend([Value::array([Value::from(1)]), Value::object([("a", 1)]), Value::array(Vec::<Value>::new())]);
        values.truncate(ask.budget.max(4));
        values
    }

    /// Candidates for one way through the unions.
    fn plain(&mut self, ask: &Ask<'a, '_>) -> Vec<Value> {
        if ask.must.iter().any(|part| matches!(part.schema, Value::Bool(false))) {
            return Vec::new();
        }
        if let Some(listed) = ask.must.iter().find_map(scalars::listed) {
            return listed;
        }
        let mut lists: Vec<Vec<Value>> = Vec::new();
        for kind in scalars::kinds(ask.must) {
            lists.push(match kind {
                "null" => vec![Value::Null],
                "boolean" => vec![Value::Bool(true), Value::Bool(false)],
                "number" => scalars::numbers(ask),
                "string" => self.texts(ask),
                "array" => arrays::candidates(self, ask),
                _ => objects::candidates(self, ask),
            });
        }
        lists.push(ask.hints.iter().filter_map(scalars::listed).flatten().collect());
        let mut values = interleaved(lists.into_iter().map(Vec::into_iter).collect());
        // Of the root, all are judged by the validator; deeper, only as many as are asked for, once they are judged.
        values.truncate(if ask.depth == 0 { ask.budget * 3 } else { ask.budget * 6 });
        values
    }

    fn texts(&mut self, ask: &Ask<'a, '_>) -> Vec<Value> {
        scalars::texts(ask, &mut self.dice)
    }

    /// Whether the part accepts the value, as far as it can be told without its references.
    pub(super) fn accepts(&mut self, part: Part<'a>, value: &Value) -> bool {
        let address: *const Value = part.schema;
        let judge = self.judges.entry(address).or_insert_with(|| validator(&without_references(part)));
        judge.as_ref().is_none_or(|judge| judge.is_valid(value))
    }

    /// Whether the name of a member matches `pattern`.
    pub(super) fn matches_text(&mut self, pattern: &str, name: &Value) -> bool {
        let schema = || Value::object([("pattern", Value::from(pattern))]);
        let judge = self.patterns.entry(pattern.to_owned()).or_insert_with(|| validator(&schema()));
        judge.as_ref().is_some_and(|judge| judge.is_valid(name))
    }
}

/// Whether the part is `true`, or has nothing but words for people and references that are followed elsewhere.
fn says_nothing(part: &Part<'_>) -> bool {
    let silent = ["$ref", "$defs", "definitions", "title", "description", "default", "$schema", "anyOf", "allOf", "oneOf"];
    matches!(part.schema, Value::Bool(true))
        || part.schema.as_object().is_some_and(|_| members(part.schema).all(|(word, _)| silent.contains(&word.as_str())))
}

/// One of each in turn, without repetitions.
fn interleaved(mut lists: Vec<std::vec::IntoIter<Value>>) -> Vec<Value> {
    let mut seen = HashSet::new();
    let mut values = Vec::new();
    while !lists.is_empty() {
        lists.retain_mut(|list| {
            let next = list.next();
            if let Some(value) = next {
                if seen.insert(value.to_json_string()) {
                    values.push(value);
                }
                return true;
            }
            false
        });
    }
    values
}

/// What the keywords that need no other place say; never stricter than the whole.
fn without_references(part: Part<'_>) -> Value {
    let Some(schema) = part.schema.as_object() else { return part.schema.clone() };
    let dialect = part.root.get("$schema").filter(|_| part.get("$schema").is_none());
    let mut kept: Vec<(toolwright::Text, Value)> = dialect.map(|dialect| ("$schema".into(), dialect.clone())).into_iter().collect();
    let mut dropped = false;
    for (keyword, value) in schema.iter() {
        if matches!(keyword.as_str(), "$defs" | "definitions" | "$id" | "id") {
            continue;
        }
        if is_reference(keyword) || refers(value) {
            dropped = true;
        } else {
            kept.push((keyword.clone(), value.clone()));
        }
    }
    if dropped {
        let beside = ["additionalProperties", "unevaluatedProperties", "items", "additionalItems", "unevaluatedItems"];
        kept.retain(|(keyword, _)| !beside.contains(&keyword.as_str()));
    }
    Value::object(kept)
}

fn is_reference(keyword: &str) -> bool {
    matches!(keyword, "$ref" | "$dynamicRef" | "$recursiveRef")
}

fn refers(schema: &Value) -> bool {
    members(schema).any(|(keyword, value)| is_reference(keyword) || refers(value))
        || schema.as_array().is_some_and(|items| items.iter().any(refers))
}

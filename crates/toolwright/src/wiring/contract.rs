//! What a composite asks and gives, when nobody wrote it down: what its steps need of the input, and what its output
//! mapping makes.

use std::sync::Arc;

use super::Document;
use super::bundle::Bundle;
use super::check::{Known, Sources};
use super::document::Place;
use super::engine::{self, Engine};
use super::node::{Conj, Item, Shape};
use crate::limits;
use crate::reference::template::{Hop, Plan, RefPlan, Source};
use crate::value::{Object, Text, Value};

/// What is needed at one place of the input.
#[derive(Default)]
struct Need {
    /// Every schema that the value must fit.
    schemas: Vec<Value>,
    members: Vec<(Text, Need)>,
    /// Some reference fails when it is missing.
    required: bool,
}

/// The schema of the input that the steps of a composite need; none when they refer to nothing of it.
pub(crate) fn inferred<'a>(steps: impl Iterator<Item = (&'a Plan, Option<&'a Arc<Document>>)>, output: Option<&Plan>) -> Option<Value> {
    let mut infer = Infer { engine: Engine::new(), bundle: Bundle::default(), root: Need::default(), any: false };
    for (plan, document) in steps {
        infer.part(plan, document.map(engine::whole).as_ref());
    }
    if let Some(output) = output {
        infer.part(output, None);
    }
    if !infer.any {
        return None;
    }
    let Infer { bundle, root, .. } = infer;
    let schema = match root.schema() {
        Value::Object(schema) => schema,
        _ => Object::default(),
    };
    let schema = if schema.get("type").is_some() {
        schema
    } else {
        schema.iter().fold(Object::from_pairs([("type", "object")]), |all, (key, value)| all.with(key.clone(), value.clone()))
    };
    Some(bundle.close(schema))
}

struct Infer {
    engine: Engine,
    bundle: Bundle,
    root: Need,
    any: bool,
}

impl Infer {
    /// Notes what a part of a mapping asks of the input, given what is wanted in its place.
    fn part(&mut self, plan: &Plan, to: Option<&Conj>) {
        match plan {
            Plan::Literal(_) => {}
            Plan::Reference(reference) => self.reference(reference, to),
            Plan::Object { shape, members, .. } => {
                let parts = to.and_then(|to| self.only_form(to));
                for (key, member) in shape.keys().zip(members) {
                    let conj = parts.as_ref().map(|parts| self.engine.member(parts, key));
                    self.part(member, conj.as_ref());
                }
            }
            Plan::Array(items) => {
                let node = to.map(|to| self.engine.read_all(to));
                let arrays = node.as_ref().and_then(|node| match node.branches.as_slice() {
                    [branch] => {
                        if let Shape::Array(parts) = &branch.shape {
                            Some(parts.clone())
                        } else {
                            None
                        }
                    }
                    _ => None,
                });
                for (at, item) in items.iter().enumerate() {
                    let conj = arrays.as_ref().map(|parts| engine::item_at(parts, at));
                    self.part(item, conj.as_ref());
                }
            }
        }
    }

    fn only_form(&mut self, to: &Conj) -> Option<Vec<super::node::Part>> {
        let node = self.engine.read_all(to);
        match node.branches.as_slice() {
            [branch] => {
                if let Shape::Object(parts) = &branch.shape {
                    Some(parts.clone())
                } else {
                    None
                }
            }
            _ => None,
        }
    }

    fn reference(&mut self, reference: &RefPlan, to: Option<&Conj>) {
        if reference.source != Source::Input {
            return;
        }
        self.any = true;
        let places: Vec<Place> =
            to.into_iter().flatten().filter_map(|item| if let Item::Place(place) = item { Some(place.clone()) } else { None }).collect();
        let mut need = &mut self.root;
        for hop in &reference.path {
            let Some(name) = member_name(hop) else { return };
            let at = match need.members.iter().position(|(known, _)| known == name) {
                Some(at) => at,
                None => {
                    need.members.push((name.clone(), Need::default()));
                    need.members.len() - 1
                }
            };
            let Some((_, member)) = need.members.get_mut(at) else { return };
            member.required |= !reference.optional;
            need = member;
        }
        // Each must hold; what cannot be said here is checked at the step.
        let taken: Option<Vec<Value>> = places.iter().map(|place| self.bundle.take(place)).collect();
        for schema in taken.unwrap_or_default() {
            if !need.schemas.contains(&schema) {
                need.schemas.push(schema);
            }
        }
    }
}

/// A name that can only be a member's: `.0` may also be a position.
fn member_name(hop: &Hop) -> Option<&Text> {
    hop.key.as_ref().filter(|_| hop.index.is_none() && !hop.length)
}

impl Need {
    fn schema(&self) -> Value {
        let structure = (!self.members.is_empty()).then(|| {
            let properties = Value::object(self.members.iter().map(|(name, need)| (name.clone(), need.schema())));
            let required: Vec<Value> =
                self.members.iter().filter(|(_, need)| need.required).map(|(name, _)| Value::String(name.clone())).collect();
            if required.is_empty() {
                // What is only looked for need not be in an object: elsewhere it is missing.
                return Value::object([("properties", properties)]);
            }
            Value::object([("type", Value::from("object")), ("properties", properties), ("required", Value::array(required))])
        });
        let mut all: Vec<Value> = self.schemas.iter().cloned().chain(structure).collect();
        match all.len() {
            0 => anything(),
            1 => all.pop().unwrap_or_default(),
            _ => Value::object([("allOf", Value::array(all))]),
        }
    }
}

/// The schema of what an output mapping makes: exact for literals and structure, the schema of its place for each
/// reference, open where nothing is known. None when it would be larger than `max` bytes: a reference to a whole output
/// repeats the whole schema, and composites of composites repeat that again.
pub(crate) fn derived(plan: &Plan, sources: &Sources, max: u64) -> Option<Value> {
    let mut derive = Derive { engine: Engine::new(), bundle: Bundle::default(), sources, left: max };
    let Value::Object(schema) = derive.part(plan)? else { return None };
    let schema = derive.bundle.close(schema);
    (schema.weight() <= max).then_some(schema)
}

struct Derive<'a> {
    engine: Engine,
    bundle: Bundle,
    sources: &'a Sources,
    /// Bytes of other schemas that may still be taken in.
    left: u64,
}

impl Derive<'_> {
    fn part(&mut self, plan: &Plan) -> Option<Value> {
        Some(match plan {
            Plan::Literal(value) => Value::object([("const", value.clone())]),
            Plan::Reference(reference) => self.reference(reference)?,
            Plan::Array(items) => {
                let may_omit = items.iter().any(|item| matches!(item, Plan::Reference(RefPlan { optional: true, .. })));
                if may_omit || items.is_empty() {
                    return Some(Value::object([("type", "array")]));
                }
                let count = Value::from(items.len() as u64);
                let schemas = items.iter().map(|item| self.part(item)).collect::<Option<Vec<_>>>()?;
                Value::object([
                    ("type", Value::from("array")),
                    ("prefixItems", Value::array(schemas)),
                    ("minItems", count.clone()),
                    ("maxItems", count),
                ])
            }
            Plan::Object { shape, members, .. } => {
                let named = || shape.keys().zip(members);
                let properties = named().map(|(key, member)| Some((key.clone(), self.part(member)?)));
                let properties = properties.collect::<Option<Vec<_>>>()?;
                let always = named().filter(|(_, member)| !matches!(member, Plan::Reference(RefPlan { optional: true, .. })));
                let required = Value::array(always.map(|(key, _)| Value::String(key.clone())));
                Value::object([
                    ("type", Value::from("object")),
                    ("properties", Value::object(properties)),
                    ("required", required),
                    ("additionalProperties", Value::Bool(false)),
                ])
            }
        })
    }

    fn reference(&mut self, reference: &RefPlan) -> Option<Value> {
        let Known { document, learned, .. } = match reference.source {
            Source::Input => &self.sources.input,
            Source::Step(position) => self.sources.outputs.get(position)?,
            Source::Null => return Some(Value::object([("type", "null")])),
            Source::Nothing => return Some(anything()),
        };
        // What was only seen so far is no promise.
        let Some(document) = document.as_ref().filter(|_| learned.is_none()) else { return Some(anything()) };
        let followed = self.engine.follow(engine::whole(document), &reference.path);
        let mut all = Vec::new();
        for conj in followed.alternatives.iter().take(limits::WIRING_BRANCHES_MAX) {
            let Some(schema) = self.taken(conj)? else { return Some(anything()) };
            if !all.contains(&schema) {
                all.push(schema);
            }
        }
        Some(match all.len() {
            0 => anything(),
            1 => all.pop().unwrap_or_default(),
            _ => Value::object([("anyOf", Value::array(all))]),
        })
    }

    /// All schemas of a conjunction as one; `Some(None)` when it cannot be said.
    #[expect(clippy::option_option, reason = "too large ends all of it, and what cannot be said is open")]
    fn taken(&mut self, conj: &Conj) -> Option<Option<Value>> {
        let mut all = Vec::new();
        for item in conj {
            let Item::Place(place) = item else { return Some(None) };
            self.left = self.left.checked_sub(place.schema.weight())?;
            let Some(schema) = self.bundle.take(place) else { return Some(None) };
            all.push(schema);
        }
        Some(match all.len() {
            0 => None,
            1 => all.pop(),
            _ => Some(Value::object([("allOf", Value::array(all))])),
        })
    }
}

fn anything() -> Value {
    Value::object::<Text, Value>([])
}

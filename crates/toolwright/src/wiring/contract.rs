//! What a composite asks of its input, when nobody wrote it down: what its steps need of it.

use std::sync::Arc;

use super::Document;
use super::bundle::Bundle;
use super::document::Place;
use super::engine::{self, Engine};
use super::node::{Conj, Item, Shape};
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
            0 => Value::object::<Text, Value>([]),
            1 => all.pop().unwrap_or_default(),
            _ => Value::object([("allOf", Value::array(all))]),
        }
    }
}

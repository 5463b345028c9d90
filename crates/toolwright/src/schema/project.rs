//! What schema a reference's value has: the schema of the place it is taken
//! from, followed along its path. Used for the published output schema of a
//! composite with an `output` mapping.

use crate::reference::template::{Hop, Plan, RefPlan, Source};
use crate::value::{Text, Value};

/// Schemas of what a mapping can refer to; `None` where nothing is known.
pub(crate) struct Sources<'a> {
    pub(crate) input: Option<&'a Value>,
    pub(crate) outputs: &'a [Option<Value>],
}

/// The schema of what `plan` gives: exact for literals and structure, the
/// source's own schema for references, open where nothing is known. None when it would be larger than `max` bytes: a
/// reference to a whole output repeats the whole schema, and composites of composites repeat that again.
pub(crate) fn schema_of(plan: &Plan, sources: &Sources<'_>, max: u64) -> Option<Value> {
    let schema = bounded(plan, sources, &mut { max })?;
    (schema.weight() <= max).then_some(schema)
}

/// `left`: how many more bytes of other schemas may be taken in. Nothing larger is looked into.
fn bounded(plan: &Plan, sources: &Sources<'_>, left: &mut u64) -> Option<Value> {
    Some(match plan {
        Plan::Literal(value) => Value::object([("const", value.clone())]),
        Plan::Reference(reference) => match target(reference, sources) {
            Some(part) => {
                *left = left.checked_sub(part.weight())?;
                portable(part).unwrap_or_else(anything)
            }
            None => anything(),
        },
        Plan::Array(_) => Value::object([("type", Value::from("array"))]),
        Plan::Object { shape, members, .. } => {
            let named = || shape.keys().zip(members);
            let properties = named().map(|(key, member)| Some((key.clone(), bounded(member, sources, left)?)));
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

fn anything() -> Value {
    Value::object::<Text, Value>([])
}

fn target<'v>(reference: &RefPlan, sources: &Sources<'v>) -> Option<&'v Value> {
    let root = match reference.source {
        Source::Input => sources.input?,
        Source::Step(position) => sources.outputs.get(position)?.as_ref()?,
        Source::Null | Source::Nothing => return None,
    };
    if !is_our_dialect(root) {
        return None;
    }
    let mut at = resolve(root, root)?;
    for hop in &reference.path {
        at = resolve(root, step(at, hop)?)?;
    }
    Some(at)
}

fn step<'v>(schema: &'v Value, Hop { key, index, .. }: &Hop) -> Option<&'v Value> {
    let member = key.as_deref().and_then(|key| schema.get("properties")?.get(key));
    member.or_else(|| {
        let index = (*index)? as usize;
        let prefix = schema.get("prefixItems").and_then(|items| items.get_index(index));
        prefix.or_else(|| schema.get("items").filter(|items| items.as_object().is_some()))
    })
}

/// Follows local references, a bounded number of times.
fn resolve<'v>(root: &'v Value, mut schema: &'v Value) -> Option<&'v Value> {
    for _ in 0..crate::limits::SCHEMA_REF_HOPS_MAX {
        let Some(reference) = schema.get("$ref").and_then(Value::as_str) else { return Some(schema) };
        schema = root.pointer(reference.strip_prefix('#')?)?;
    }
    None
}

/// A part of another schema can stand inside ours only when it means the same there: it refers to
/// nothing outside itself and is written in the dialect we publish. Otherwise nothing is claimed.
fn portable(part: &Value) -> Option<Value> {
    let Some(object) = part.as_object() else { return Some(part.clone()) };
    if !is_our_dialect(part) || is_rooted(part) {
        return None;
    }
    let members = object.iter().filter(|(key, _)| key.as_str() != "$schema");
    Some(Value::object(members.map(|(key, value)| (key.clone(), value.clone()))))
}

fn is_our_dialect(schema: &Value) -> bool {
    schema.get("$schema").and_then(Value::as_str).is_none_or(|dialect| dialect.contains("2020-12"))
}

fn is_rooted(schema: &Value) -> bool {
    match schema {
        Value::Object(object) => {
            object.iter().any(|(key, value)| matches!(key.as_str(), "$ref" | "$dynamicRef" | "$id") || is_rooted(value))
        }
        Value::Array(_) => schema.as_array().unwrap_or_default().iter().any(is_rooted),
        _ => false,
    }
}

//! The published form of a tool's schemas: what a profile can take, never what arguments are judged by.

use toolwright::{Object, Text, Value};

use super::profile::Profile;
use super::surface::Generation;

mod inline;
mod roots;
mod walk;

pub(crate) use inline::TooLarge;

/// An input schema as it is published.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Input {
    pub(crate) schema: Value,
    /// Sentences about what the published form no longer says, for the tool's description.
    pub(crate) notes: Vec<String>,
}

/// The published form of an input schema; none means that anything is accepted.
///
/// # Errors
/// When a schema without references would be larger than anybody wants to read.
pub(crate) fn input(schema: Option<&Value>, profile: &Profile) -> Result<Input, TooLarge> {
    let Some(Value::Object(root)) = schema else {
        return Ok(Input { schema: Value::Object(as_object(Object::EMPTY)), notes: Vec::new() });
    };
    let mut root = if profile.references { roots::unrefed(root) } else { object(inline::inlined(root)?) };
    let mut notes = Vec::new();
    if !profile.root_combinators {
        root = roots::flattened(root, &mut notes);
    }
    Ok(Input { schema: Value::Object(as_object(narrowed(root, profile))), notes })
}

/// The published form of an output schema, if there is one.
///
/// # Errors
/// As [`input`].
pub(crate) fn output(schema: Option<&Value>, profile: &Profile, generation: Generation) -> Result<Option<Value>, TooLarge> {
    let Some(Value::Object(root)) = schema.filter(|_| profile.output_schemas) else { return Ok(None) };
    let root = if profile.references { root.clone() } else { object(inline::inlined(root)?) };
    // Older generations know objects only; what may be anything else has no schema there.
    let is_object = |root: &Object| root.get("type").and_then(Value::as_str) == Some("object");
    let root = match generation {
        Generation::Sessionless => root,
        Generation::Sessions if is_object(&root) => root,
        Generation::Sessions => match roots::unrefed(&root) {
            root if is_object(&root) => root,
            _ => return Ok(None),
        },
    };
    Ok(Some(Value::Object(narrowed(root, profile))))
}

fn object(value: Value) -> Object {
    match value {
        Value::Object(object) => object,
        _ => Object::EMPTY,
    }
}

/// Without the keywords and forms of keywords that the profile cannot take.
fn narrowed(root: Object, profile: &Profile) -> Object {
    if profile.additional_schemas && profile.without.is_empty() {
        return root;
    }
    walk::each(root, &|schema| {
        let mut schema = schema;
        if !profile.additional_schemas && schema.get("additionalProperties").is_some_and(|more| more.as_bool().is_none()) {
            schema = schema.with("additionalProperties", true);
        }
        for keyword in &profile.without {
            schema = schema.without(keyword);
        }
        schema
    })
}

/// What every client reads as the schema of arguments: an object, with its members named.
fn as_object(root: Object) -> Object {
    let mut root = root;
    if root.get("type").and_then(Value::as_str) != Some("object") {
        let rest = root.without("type");
        root = Object::from_pairs(std::iter::once((Text::from("type"), Value::from("object"))).chain(members(&rest)));
    }
    if root.get("properties").and_then(Value::as_object).is_none() {
        root = root.with("properties", Value::Object(Object::EMPTY));
    }
    root
}

fn members(object: &Object) -> impl Iterator<Item = (Text, Value)> + '_ {
    object.iter().map(|(name, value)| (name.clone(), value.clone()))
}

#[cfg(test)]
mod tests;

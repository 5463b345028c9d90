//! Parts of other schemas, taken into one schema of the newest draft with the definitions that they refer to.

use std::collections::HashMap;

use super::document::{Draft, Place};
use super::leaf;
use crate::limits;
use crate::value::{Object, Text, Value};

/// Keywords whose members are schemas under names.
const NAMED: [&str; 5] = ["properties", "patternProperties", "dependentSchemas", "$defs", "definitions"];

/// Keywords that hold values, not schemas.
const DATA: [&str; 5] = ["const", "enum", "default", "examples", "example"];

/// Keywords that mean something else in the newest draft, or take their meaning from where they stand.
const FOREIGN: [&str; 7] = ["additionalItems", "dependencies", "$recursiveRef", "$recursiveAnchor", "$dynamicRef", "$dynamicAnchor", "id"];

/// Keywords that came with a later draft, oldest draft first: what has them means nothing by them in an older one.
const LATER: [(Draft, &[&str]); 4] = [
    (Draft::D6, &["const", "contains", "propertyNames"]),
    (Draft::D7, &["if", "then", "else"]),
    (Draft::D2019, &["dependentRequired", "dependentSchemas", "unevaluatedProperties", "unevaluatedItems", "minContains", "maxContains"]),
    (Draft::D2020, &["prefixItems"]),
];

/// A schema under construction: what was taken, and its definitions.
#[derive(Default)]
pub(crate) struct Bundle {
    definitions: Vec<(Text, Value)>,
    /// By document and address in it: documents may share what refers to other things in each.
    names: HashMap<(usize, usize), Text>,
    /// Places that are kept alive, so that their addresses stay theirs.
    kept: Vec<Place>,
    parts: usize,
}

impl Bundle {
    /// The schema at a place, ready to stand anywhere in the bundle. None when it cannot be said there, or is too large.
    pub(super) fn take(&mut self, place: &Place) -> Option<Value> {
        self.parts = self.parts.saturating_add(1);
        if self.parts > limits::WIRING_BUNDLE_PARTS_MAX {
            return None;
        }
        let Some(members) = place.schema.as_object() else { return Some(place.schema.clone()) };
        if members.keys().any(|key| FOREIGN.contains(&key.as_str())) || means_otherwise(place) {
            return None;
        }
        if let Some(reference) = place.keyword("$ref") {
            let target = place.at(place.document.resolve(reference.as_str()?)?);
            let reference = Value::object([("$ref", format!("#/$defs/{}", self.define(&target, reference.as_str()?)?))]);
            if place.draft() <= Draft::D7 {
                return Some(reference);
            }
            let beside = self.members(place, members)?;
            return Some(if beside.is_empty() { reference } else { Value::Object(beside.with("$ref", reference.get("$ref")?.clone())) });
        }
        Some(Value::Object(self.members(place, members)?))
    }

    fn members(&mut self, place: &Place, members: &Object) -> Option<Object> {
        let mut kept = Vec::with_capacity(members.len());
        for (keyword, value) in members.iter() {
            let value = match keyword.as_str() {
                "$ref" | "$schema" | "$id" | "$anchor" | "$defs" | "definitions" | "$comment" => continue,
                "exclusiveMinimum" | "exclusiveMaximum" if value.as_bool().is_some() => return None,
                "items" if value.as_array().is_some() => return None,
                keyword if DATA.contains(&keyword) => value.clone(),
                keyword if NAMED.contains(&keyword) => {
                    let named = value.as_object()?;
                    let taken = named.iter().map(|(name, schema)| Some((name.clone(), self.take(&place.at(schema))?)));
                    Value::object(taken.collect::<Option<Vec<_>>>()?)
                }
                _ => match value {
                    Value::Object(_) => self.take(&place.at(value))?,
                    Value::Array(_) => {
                        let items = value.as_array().unwrap_or_default().iter();
                        let taken =
                            items.map(|item| if item.as_object().is_some() { self.take(&place.at(item)) } else { Some(item.clone()) });
                        Value::array(taken.collect::<Option<Vec<_>>>()?)
                    }
                    _ => value.clone(),
                },
            };
            kept.push((keyword.clone(), value));
        }
        Some(Object::from_pairs(kept))
    }

    fn define(&mut self, target: &Place, reference: &str) -> Option<Text> {
        let address = target.identity().map(|address| (std::sync::Arc::as_ptr(&target.document).addr(), address));
        if let Some(name) = address.and_then(|address| self.names.get(&address)) {
            return Some(name.clone());
        }
        let last = reference.rsplit(['/', '#']).next().unwrap_or_default();
        let base: String = last.chars().filter(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.')).take(60).collect();
        let base = if base.is_empty() { "schema".to_owned() } else { base };
        let taken = |name: &str| self.names.values().any(|taken| taken == name);
        let mut name = base.clone();
        let mut number = 2;
        while taken(&name) {
            name = format!("{base}_{number}");
            number += 1;
        }
        let name = Text::from(name);
        if let Some(address) = address {
            self.names.insert(address, name.clone());
            self.kept.push(target.clone());
        }
        let schema = self.take(target)?;
        self.definitions.push((name.clone(), schema));
        Some(name)
    }

    /// The schema with all definitions that its parts refer to.
    pub(crate) fn close(self, schema: Object) -> Value {
        if self.definitions.is_empty() {
            return Value::Object(schema);
        }
        Value::Object(schema.with("$defs", Value::object(self.definitions)))
    }
}

/// Whether its words mean something else in the newest draft than in its own.
fn means_otherwise(place: &Place) -> bool {
    let draft = place.draft();
    let has = |keyword: &&str| place.keyword(keyword).is_some();
    let later = LATER.iter().any(|(since, keywords)| draft < *since && keywords.iter().any(&has));
    let format = place.keyword("format").and_then(Value::as_str);
    let format = draft <= Draft::D7 && format.is_some_and(|format| !leaf::OLD_FORMATS.contains(&format));
    let written = draft == Draft::D4 && place.keyword("type").is_some_and(names_integers);
    // What counts as evaluated changed with 2020-12.
    let evaluated = draft == Draft::D2019 && has(&"unevaluatedItems");
    later || format || written || evaluated
}

fn names_integers(types: &Value) -> bool {
    types.as_str() == Some("integer") || types.as_array().is_some_and(|types| types.iter().any(|name| name.as_str() == Some("integer")))
}

//! The root of an input schema for clients that want it plain: its members named, and no choice between whole forms.
//!
//! What a choice demanded is told in words; the original still judges the arguments.

use toolwright::{Object, Text, Value};

/// How many references in a row are followed at the root, and how deep choices are taken apart.
const HOPS_MAX: usize = 16;

/// The schema with what a reference at its root stands for beside the members it has.
pub(super) fn unrefed(root: &Object) -> Object {
    let whole = Value::Object(root.clone());
    let mut root = root.clone();
    for _ in 0..HOPS_MAX {
        let Some(pointer) = root.get("$ref").and_then(Value::as_str).and_then(|reference| reference.strip_prefix('#')) else { break };
        let Some(target) = whole.pointer(pointer).and_then(Value::as_object) else { break };
        if pointer.is_empty() {
            break;
        }
        root = root.without("$ref");
        for (keyword, value) in target.iter() {
            if root.get(keyword).is_none() {
                root = root.with(keyword.clone(), value.clone());
            }
        }
    }
    root
}

/// Keywords at the root that some clients refuse.
const CHOOSING: [&str; 9] = ["oneOf", "anyOf", "allOf", "not", "if", "then", "else", "enum", "const"];

/// The schema with the members of all its forms at the root, and none of those keywords; `notes` gets what they said.
pub(super) fn flattened(root: Object, notes: &mut Vec<String>) -> Object {
    if CHOOSING.iter().all(|keyword| root.get(keyword).is_none()) {
        return root;
    }
    let whole = Value::Object(root.clone());
    let mut form = Form::default();
    form.take(&root, &whole, HOPS_MAX);
    notes.extend(choice(&root, &whole, "oneOf", "exactly one of these"));
    notes.extend(choice(&root, &whole, "anyOf", "at least one of these"));
    let mut plain = root;
    for keyword in CHOOSING {
        plain = plain.without(keyword);
    }
    plain = plain.with("properties", Value::object(form.properties));
    if form.required.is_empty() { plain } else { plain.with("required", Value::array(form.required)) }
}

/// What forms have in common: all members any of them names, and what all of them demand.
#[derive(Default)]
struct Form {
    properties: Vec<(Text, Value)>,
    required: Vec<Text>,
}

impl Form {
    fn take(&mut self, schema: &Object, whole: &Value, hops: usize) {
        for (name, property) in schema.get("properties").and_then(Value::as_object).into_iter().flatten() {
            self.property(name, property);
        }
        self.demand(required(schema));
        let Some(hops) = hops.checked_sub(1) else { return };
        for form in forms(schema, "allOf", whole) {
            self.take(&form, whole, hops);
        }
        for keyword in ["oneOf", "anyOf"] {
            let mut demanded: Option<Vec<Text>> = None;
            for form in forms(schema, keyword, whole) {
                let mut one = Self::default();
                one.take(&form, whole, hops);
                one.properties.iter().for_each(|(name, property)| self.property(name, property));
                demanded = Some(match demanded {
                    None => one.required,
                    Some(known) => known.into_iter().filter(|name| one.required.contains(name)).collect(),
                });
            }
            self.demand(demanded.unwrap_or_default());
        }
        for keyword in ["then", "else"] {
            let branch = schema.get(keyword).and_then(|branch| resolved(branch, whole));
            for (name, property) in branch.iter().filter_map(|branch| branch.get("properties")?.as_object()).flatten() {
                self.property(name, property);
            }
        }
    }

    fn demand(&mut self, names: Vec<Text>) {
        for name in names {
            if !self.required.contains(&name) {
                self.required.push(name);
            }
        }
    }

    /// A member of one form; one that several forms have may be what any of them says.
    fn property(&mut self, name: &Text, property: &Value) {
        match self.properties.iter_mut().find(|(known, _)| known == name) {
            None => self.properties.push((name.clone(), property.clone())),
            Some((_, known)) if known == property => {}
            Some((_, known)) => *known = either(known, property),
        }
    }
}

/// A schema for what fits one of two.
fn either(one: &Value, other: &Value) -> Value {
    // A member that only some forms say more about, such as a bare `true`.
    if *other == Value::Bool(true) || other.as_object().is_some_and(Object::is_empty) {
        return one.clone();
    }
    if *one == Value::Bool(true) || one.as_object().is_some_and(Object::is_empty) {
        return other.clone();
    }
    if let (Some(mut words), Some(more)) = (words(one), words(other)) {
        for word in more {
            if !words.contains(&word) {
                words.push(word);
            }
        }
        let kind = one.get("type").filter(|kind| Some(*kind) == other.get("type")).cloned();
        let kind = kind.map(|kind| (Text::from("type"), kind));
        return Value::object(kind.into_iter().chain([(Text::from("enum"), Value::from(words))]));
    }
    let mut forms: Vec<Value> = match one.as_object() {
        Some(members) if members.len() == 1 => one.get("anyOf").and_then(Value::as_array).map(<[Value]>::to_vec).unwrap_or_default(),
        _ => Vec::new(),
    };
    if forms.is_empty() {
        forms.push(one.clone());
    }
    if !forms.contains(other) {
        forms.push(other.clone());
    }
    Value::object([("anyOf", Value::from(forms))])
}

/// The only values of a schema, when it says no more than those.
fn words(schema: &Value) -> Option<Vec<Value>> {
    let members = schema.as_object()?;
    let only = members.keys().all(|keyword| matches!(keyword.as_str(), "type" | "const" | "enum" | "title" | "description" | "default"));
    match (schema.get("const"), schema.get("enum").and_then(Value::as_array)) {
        (Some(word), None) if only => Some(vec![word.clone()]),
        (None, Some(words)) if only => Some(words.to_vec()),
        _ => None,
    }
}

fn required(schema: &Object) -> Vec<Text> {
    let names = schema.get("required").and_then(Value::as_array).unwrap_or_default();
    names.iter().filter_map(|name| name.as_text().cloned()).collect()
}

fn forms(schema: &Object, keyword: &str, whole: &Value) -> Vec<Object> {
    let forms = schema.get(keyword).and_then(Value::as_array).unwrap_or_default();
    forms.iter().filter_map(|form| resolved(form, whole)).collect()
}

fn resolved(form: &Value, whole: &Value) -> Option<Object> {
    let form = form.as_object()?;
    let Some(pointer) = form.get("$ref").and_then(Value::as_str).and_then(|reference| reference.strip_prefix('#')) else {
        return Some(form.clone());
    };
    // A form that is the whole again adds nothing to it.
    whole.pointer(pointer).filter(|_| !pointer.is_empty())?.as_object().cloned()
}

/// In words, what a choice between forms demands beyond what all of them do.
fn choice(root: &Object, whole: &Value, keyword: &str, how_many: &str) -> Option<String> {
    let always = required(root);
    let sets = forms(root, keyword, whole).into_iter().map(|form| {
        let names: Vec<String> = required(&form).iter().filter(|name| !always.contains(name)).map(|name| format!("`{name}`")).collect();
        names
    });
    let sets: Vec<Vec<String>> = sets.collect();
    let first = sets.first()?;
    if sets.len() < 2 || sets.iter().any(Vec::is_empty) || sets.iter().all(|set| set == first) {
        return None;
    }
    let sets: Vec<String> = sets.iter().map(|set| set.join(" and ")).collect();
    Some(format!("Give {how_many}: {}.", sets.join("; or ")))
}

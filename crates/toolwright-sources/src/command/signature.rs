//! What the input schema says about each argument, and the schema of a command that gives none.

use std::collections::BTreeMap;

use toolwright::Value;

use super::error::{CommandIssue, CommandIssueKind, Place};
use super::template::Placeholder;

/// How deep combinations of schemas are followed in the search for properties.
const SCHEMA_NESTING_MAX: usize = 8;

/// Keywords that hold further schemas about the same object.
const COMBINED: &[&str] = &["allOf", "anyOf", "oneOf"];

/// What is known about one argument.
#[derive(Clone, Debug, Default)]
pub(crate) struct Argument {
    /// JSON pointer of its declaration in the input schema.
    pub(crate) pointer: String,
    pub(crate) required: bool,
    /// The value of an absent argument.
    pub(crate) default: Option<Value>,
    /// The values of `type`; empty when the schema leaves it open.
    pub(crate) types: Vec<String>,
    /// The values of `items.type`.
    pub(crate) item_types: Vec<String>,
    /// The texts of `enum`, when it holds nothing else.
    pub(crate) choices: Option<Vec<String>>,
}

impl Argument {
    pub(crate) fn allows(&self, type_name: &str) -> bool {
        self.types.iter().any(|known| known == type_name)
    }

    fn is_only(&self, type_name: &str) -> bool {
        self.allows(type_name) && self.types.iter().all(|known| known == type_name || known == "null")
    }
}

/// The arguments of a command by name.
pub(crate) type Signature = BTreeMap<String, Argument>;

/// A text that is always there: the idempotency key, which no caller gives.
pub(crate) fn text() -> Argument {
    Argument { required: true, types: vec!["string".to_owned()], ..Argument::default() }
}

/// The closed input schema of a command that gives none: texts, arrays of texts for `*`, required unless `?`.
pub(crate) fn derived_schema<'t>(placeholders: impl Iterator<Item = &'t Placeholder>) -> Value {
    let mut seen: Vec<(&str, bool, bool)> = Vec::new();
    for placeholder in placeholders {
        match seen.iter_mut().find(|(name, ..)| *name == placeholder.name()) {
            Some((_, _, optional)) => *optional &= placeholder.is_optional(),
            None => seen.push((placeholder.name(), placeholder.is_spread(), placeholder.is_optional())),
        }
    }
    let text = || Value::object([("type", Value::from("string"))]);
    let properties = seen.iter().map(|&(name, spread, _)| {
        let schema = if spread { Value::object([("type", Value::from("array")), ("items", text())]) } else { text() };
        (name, schema)
    });
    let required = seen.iter().filter(|(_, _, optional)| !optional).map(|&(name, ..)| name);
    Value::object([
        ("type", Value::from("object")),
        ("properties", Value::object(properties)),
        ("required", Value::array(required)),
        ("additionalProperties", Value::from(false)),
    ])
}

/// Reads the arguments out of `schema`, and answers the schema with a closed list of them.
pub(crate) fn read(schema: &Value, issues: &mut Vec<CommandIssue>) -> (Signature, Value) {
    let mut signature = Signature::new();
    let Some(object) = schema.as_object() else {
        issues.push(no_object("an input schema is an object with `type` and `properties`"));
        return (signature, schema.clone());
    };
    let types = type_names(schema);
    if !types.is_empty() && !types.iter().any(|name| name == "object") {
        issues.push(no_object("arguments come as an object: write `type: object` and describe each one under `properties`"));
    }
    collect(schema, schema, "", true, SCHEMA_NESTING_MAX, &mut signature);
    for (keyword, open) in [("additionalProperties", true), ("unevaluatedProperties", true), ("patternProperties", false)] {
        let found = schema.get(keyword);
        if found.is_some_and(|value| !(open && value.as_bool() == Some(false))) {
            issues.push(open_input(keyword));
        }
    }
    let closed = ["additionalProperties", "unevaluatedProperties"].iter().any(|keyword| object.get(keyword).is_some());
    let combined = object.keys().any(|key| COMBINED.contains(&key.as_ref()) || matches!(key.as_ref(), "$ref" | "if"));
    if closed || combined {
        // A combined schema cannot be closed from outside in every dialect; the run refuses unknown arguments anyway.
        return (signature, schema.clone());
    }
    let members = object.iter().map(|(key, value)| (key.clone(), value.clone()));
    let closing = std::iter::once(("additionalProperties".into(), Value::from(false)));
    (signature, Value::object(members.chain(closing)))
}

/// Adds the properties of `schema` and of the schemas it is combined from. `certain`: everything it requires is required.
fn collect(root: &Value, schema: &Value, at: &str, certain: bool, depth: usize, signature: &mut Signature) {
    let Some(depth) = depth.checked_sub(1) else { return };
    if let Some(properties) = schema.get("properties").and_then(Value::as_object) {
        for (name, property) in properties.iter() {
            let pointer = format!("{at}/properties/{}", escaped(name));
            let argument = signature.entry(name.to_string()).or_default();
            if argument.pointer.is_empty() {
                argument.pointer = pointer;
            }
            describe(root, property, depth, argument);
        }
    }
    if certain {
        for name in schema.get("required").and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str) {
            signature
                .entry(name.to_owned())
                .or_insert_with(|| Argument { pointer: format!("{at}/required"), ..Argument::default() })
                .required = true;
        }
    }
    for keyword in COMBINED {
        for (index, part) in schema.get(keyword).and_then(Value::as_array).into_iter().flatten().enumerate() {
            collect(root, part, &format!("{at}/{keyword}/{index}"), certain && *keyword == "allOf", depth, signature);
        }
    }
    for keyword in ["then", "else"] {
        if let Some(part) = schema.get(keyword) {
            collect(root, part, &format!("{at}/{keyword}"), false, depth, signature);
        }
    }
    if let Some((target, part)) = referenced(root, schema) {
        collect(root, part, target, certain, depth, signature);
    }
}

fn describe(root: &Value, property: &Value, depth: usize, argument: &mut Argument) {
    let Some(depth) = depth.checked_sub(1) else { return };
    if argument.types.is_empty() {
        argument.types = type_names(property);
    }
    if argument.item_types.is_empty() {
        argument.item_types = property.get("items").map(type_names).unwrap_or_default();
    }
    if argument.default.is_none() {
        argument.default = property.get("default").cloned();
    }
    if argument.choices.is_none() {
        argument.choices = property
            .get("enum")
            .and_then(Value::as_array)
            .and_then(|values| values.iter().map(|value| value.as_str().map(str::to_owned)).collect());
    }
    if let Some((_, target)) = referenced(root, property) {
        describe(root, target, depth, argument);
    }
}

/// The schema a `$ref` inside the same document points to, with its pointer.
fn referenced<'s>(root: &'s Value, schema: &'s Value) -> Option<(&'s str, &'s Value)> {
    let pointer = schema.get("$ref")?.as_str()?.strip_prefix('#')?;
    Some((pointer, root.pointer(pointer)?))
}

fn type_names(schema: &Value) -> Vec<String> {
    match schema.get("type") {
        Some(Value::String(name)) => vec![name.to_string()],
        Some(Value::Array(_)) => {
            schema.get("type").and_then(Value::as_array).into_iter().flatten().filter_map(|name| name.as_str().map(str::to_owned)).collect()
        }
        _ => Vec::new(),
    }
}

/// Whether the shape of the argument and the way it is written go together.
pub(crate) fn shape_issue(placeholder: &Placeholder, argument: &Argument, place: Place) -> Option<CommandIssue> {
    let name = placeholder.name();
    let in_argv = matches!(place, Place::Element { .. });
    let (message, help) = if placeholder.is_spread() && !argument.types.is_empty() && !argument.allows("array") {
        let types = argument.types.join(", ");
        (
            format!("`{{{name}*}}` needs an array, but the input schema says `{types}`"),
            format!("write `{{{name}}}`, or declare `{name}` as `type: array`"),
        )
    } else if in_argv && !placeholder.is_spread() && argument.is_only("array") {
        (
            format!("`{{{name}}}` is an array in the input schema"),
            format!("write `{{{name}*}}` as an element of its own: it becomes one element for each item"),
        )
    } else {
        return None;
    };
    Some(CommandIssue { kind: CommandIssueKind::Shape, message, help, place })
}

/// One step of a JSON pointer.
pub(crate) fn escaped(name: &str) -> String {
    name.replace('~', "~0").replace('/', "~1")
}

fn no_object(help: &str) -> CommandIssue {
    CommandIssue {
        kind: CommandIssueKind::NoObject,
        message: "the input schema does not describe an object".to_owned(),
        help: help.to_owned(),
        place: Place::Input { pointer: String::new() },
    }
}

fn open_input(keyword: &str) -> CommandIssue {
    CommandIssue {
        kind: CommandIssueKind::OpenInput,
        message: format!("`{keyword}` lets in arguments that no placeholder uses"),
        help: "an argument of that kind would do nothing, and nobody would notice: list every argument under `properties`, or leave the keyword out".to_owned(),
        place: Place::Input { pointer: format!("/{keyword}") },
    }
}

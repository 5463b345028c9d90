//! The schema of the file with the tools there are: their ids where one is named, their arguments where they are given.
//!
//! What is not listed stays allowed: the schema is printed once, and the file goes on to change. What is wrong,
//! `check` says.

use serde_json::{Map, Value, json};

use crate::style::{cut, one_line};
use crate::view::{ToolView, stands_out};

/// Columns of a tool's description in a list of tools.
const MEANING_COLUMNS_MAX: usize = 200;

/// Lets the schema offer tools.
pub(super) fn offer(schema: &mut Value, tools: &[ToolView]) {
    let tools: Vec<&ToolView> = tools.iter().filter(|tool| *tool.id == one_line(&tool.id)).collect();
    let any = |_: &&ToolView| true;
    replace(schema, "/$defs/step/properties/tool", |old| one_of(&tools, any, old));
    for listed in ["/$defs/policy/properties/sideEffectingTools/items/anyOf/0", "/$defs/listedTool/properties/tool"] {
        replace(schema, listed, |old| one_of(&tools, |tool| stands_out(tool.effect.as_ref()), old));
    }
    let can_be_asked = |tool: &&ToolView| tool.inside.is_none() && tool.effect.as_ref().is_some_and(|effect| !effect.has_side_effects());
    replace(schema, "/$defs/reconcile/properties/tool", |old| one_of(&tools, can_be_asked, old));
    let taking = tools.iter().filter_map(|tool| Some((*tool, arguments(tool)?)));
    let choices: Vec<Value> = taking.map(|(tool, arguments)| of_its_step(tool, &arguments)).collect();
    if let (Some(step), false) = (schema.pointer_mut("/$defs/step").and_then(Value::as_object_mut), choices.is_empty()) {
        step.insert("allOf".to_owned(), Value::Array(choices));
    }
    let of_sources = tools.iter().filter(|tool| tool.inside.is_none());
    let said: Map<String, Value> = of_sources.map(|tool| (tool.id.clone(), of_its_entry(tool))).collect();
    if let Some(section) = schema.pointer_mut("/properties/tools").and_then(Value::as_object_mut) {
        section.insert("properties".to_owned(), Value::Object(said));
    }
}

fn replace(schema: &mut Value, pointer: &str, change: impl FnOnce(&Value) -> Value) {
    if let Some(place) = schema.pointer_mut(pointer) {
        *place = change(place);
    }
}

/// One of these ids, each with its meaning, or any other text.
fn one_of(tools: &[&ToolView], which: impl Fn(&&ToolView) -> bool, old: &Value) -> Value {
    let tools: Vec<&ToolView> = tools.iter().copied().filter(|tool| which(tool)).collect();
    if tools.is_empty() {
        return old.clone();
    }
    let ids: Vec<&str> = tools.iter().map(|tool| tool.id.as_str()).collect();
    let meanings: Vec<String> = tools.iter().map(|tool| meaning(tool)).collect();
    let mut schema = json!({"anyOf": [{"enum": ids, "enumDescriptions": meanings}, {"type": "string"}]});
    if let (Some(members), Some(description)) = (schema.as_object_mut(), old.get("description")) {
        members.insert("description".to_owned(), description.clone());
    }
    schema
}

/// What a tool is, in a line.
fn meaning(tool: &ToolView) -> String {
    let effect = tool.effect_words();
    cut(&one_line(&format!("{effect}: {}", tool.description)), MEANING_COLUMNS_MAX)
}

/// A tool's arguments: their names and meanings. A value may be a reference, so nothing is said of its type.
struct Arguments {
    properties: Map<String, Value>,
    required: Vec<String>,
}

fn arguments(tool: &ToolView) -> Option<Arguments> {
    let input = tool.input.as_ref()?;
    let properties = input.get("properties")?.as_object()?;
    let text = |value: Option<&toolwright::Value>| value.and_then(toolwright::Value::as_str).map(str::to_owned);
    let required: Vec<String> =
        input.get("required").and_then(|names| names.as_array()).unwrap_or_default().iter().filter_map(|name| text(Some(name))).collect();
    let of = |name: &str, schema: &toolwright::Value| {
        let kind = schema.get("type").map(|kind| text(Some(kind)).unwrap_or_else(|| kind.to_json_string()));
        let needed = required.iter().any(|one| one == name).then(|| "required".to_owned());
        let facts: Vec<String> = kind.into_iter().chain(needed).collect();
        let said = text(schema.get("description")).or_else(|| text(schema.get("title"))).unwrap_or_default();
        let words = match facts.is_empty() {
            true => said,
            false => format!("({}) {said}", facts.join(", ")),
        };
        let mut described = json!({"description": one_line(words.trim_end())});
        let choices =
            schema.get("enum").map(toolwright::Value::to_json).filter(|choices| choices.as_array().is_some_and(|all| !all.is_empty()));
        if let (Some(members), Some(choices)) = (described.as_object_mut(), choices) {
            members.insert("anyOf".to_owned(), json!([{"enum": choices}, {}]));
        }
        described
    };
    let described: Map<String, Value> = properties.iter().map(|(name, schema)| (name.to_string(), of(name, schema))).collect();
    (!described.is_empty()).then_some(Arguments { properties: described, required })
}

/// A step that names the tool takes its arguments.
fn of_its_step(tool: &ToolView, arguments: &Arguments) -> Value {
    let mut mapping = json!({"properties": arguments.properties});
    let fill = |(at, name): (usize, &String)| (name.clone(), Value::from(format!("${}", at + 1)));
    let plain = |name: &&String| !name.contains(['$', '}', '\\']);
    let body: Map<String, Value> = arguments.required.iter().filter(plain).enumerate().map(fill).collect();
    if let (Some(members), false) = (mapping.as_object_mut(), body.is_empty()) {
        let label = format!("arguments of {}", tool.id);
        members.insert("defaultSnippets".to_owned(), json!([{"label": label, "description": "those that it needs", "body": body}]));
    }
    // No `const`: editors complete with what only begins with it.
    json!({
        "if": {"properties": {"tool": {"pattern": exactly(&tool.id)}}, "required": ["tool"]},
        "then": {"properties": {"inputMapping": mapping}},
    })
}

/// A regular expression for this text and no other.
fn exactly(text: &str) -> String {
    let mut pattern = String::from("^");
    for c in text.chars() {
        if r"^$\.*+?()[]{}|".contains(c) {
            pattern.push('\\');
        }
        pattern.push(c);
    }
    pattern.push('$');
    pattern
}

/// The entry of the tool under `tools`: any argument of it may be fixed.
fn of_its_entry(tool: &ToolView) -> Value {
    let mut choices = vec![json!({"$ref": "#/$defs/tool"})];
    choices.extend(arguments(tool).map(|arguments| json!({"properties": {"pin": {"properties": arguments.properties}}})));
    json!({"description": meaning(tool), "allOf": choices})
}

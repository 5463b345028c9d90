//! A schema as people read one: a line a member, with type, default and meaning.

use std::fmt::Write as _;

use toolwright::Value;

use crate::output::Output;
use crate::style::{one_line, wrap};

/// Nested members are shown this deep; below it `schema TOOL` has the rest.
const DEPTH_SHOWN: usize = 3;

/// References that are followed from one place; more are a circle, or as good as one.
const HOPS_MAX: usize = 8;

/// Types within types that are told.
const TYPES_MAX: usize = 4;

/// Shows the schema; gives whether that is all of it.
pub(in crate::command) fn show(out: &mut String, output: Output, name: &str, schema: Option<&Value>) -> bool {
    let style = output.out;
    let Some(root) = schema else {
        let _ = writeln!(out, "{}  {}", style.bold(name), style.dim("anything"));
        return true;
    };
    let mut page = Page { out, output, root, whole: true };
    let at = page.followed(root);
    let _ = writeln!(page.out, "{}  {}", style.bold(name), style.dim(&one_line(&page.type_words(at, 0))));
    if let Some(text) = at.get("description").and_then(Value::as_str) {
        let _ = writeln!(page.out, "{}", wrap(&one_line(text), output.width(), "  "));
    }
    page.members(at, "  ", 0);
    page.whole
}

struct Page<'p> {
    out: &'p mut String,
    output: Output,
    /// The whole schema, which references lead into.
    root: &'p Value,
    /// Nothing was left out so far.
    whole: bool,
}

impl<'p> Page<'p> {
    /// What a reference into the same schema leads to.
    fn followed(&self, schema: &'p Value) -> &'p Value {
        let mut at = schema;
        for _ in 0..HOPS_MAX {
            let reference = at.get("$ref").and_then(Value::as_str);
            match reference.and_then(|text| self.root.pointer(text.strip_prefix('#')?)) {
                Some(next) => at = next,
                None => break,
            }
        }
        at
    }

    /// The schema that has the members: its own, or that of its items.
    fn with_members(&self, schema: &'p Value) -> &'p Value {
        let schema = self.followed(schema);
        let items = schema.get("items").map(|items| self.followed(items));
        items.filter(|items| items.get("properties").is_some()).unwrap_or(schema)
    }

    fn members(&mut self, schema: &'p Value, indent: &str, depth: usize) {
        let schema = self.with_members(schema);
        let Some(properties) = schema.get("properties").and_then(Value::as_object) else {
            return;
        };
        if depth >= DEPTH_SHOWN {
            self.whole &= properties.is_empty();
            return;
        }
        let required = schema.get("required").and_then(Value::as_array).unwrap_or_default();
        for (name, member) in properties.iter() {
            let needed = required.iter().any(|one| one.as_str() == Some(name.as_str()));
            self.member(name, member, needed, indent);
            self.members(member, &format!("{indent}  "), depth + 1);
        }
    }

    fn member(&mut self, name: &str, written: &'p Value, needed: bool, indent: &str) {
        let member = self.followed(written);
        let mut facts = vec![self.type_words(member, 0)];
        if needed {
            facts.push("required".to_owned());
        }
        let either = |key: &str| written.get(key).or_else(|| member.get(key));
        if let Some(default) = either("default") {
            facts.push(format!("default {}", default.to_json_string()));
        }
        let name = one_line(name);
        let width = self.output.width();
        let deeper = format!("{indent}    ");
        let wrapped = wrap(&one_line(&format!("{name} ({})", facts.join(", "))), width, &deeper);
        let head = wrapped.trim_start();
        let head = match head.strip_prefix(&name) {
            Some(rest) => format!("{}{rest}", self.output.out.cyan(&name)),
            None => head.to_owned(),
        };
        let _ = writeln!(self.out, "{indent}{head}");
        if let Some(text) = either("description").and_then(Value::as_str) {
            let _ = writeln!(self.out, "{}", wrap(&one_line(text), width, &deeper));
        }
    }

    /// The type of a value, in a few words.
    fn type_words(&self, schema: &'p Value, depth: usize) -> String {
        let schema = self.followed(schema);
        if depth > TYPES_MAX {
            return "anything".to_owned();
        }
        if let Some(choices) = schema.get("enum").and_then(Value::as_array) {
            let choices: Vec<String> = choices.iter().map(Value::to_json_string).collect();
            return format!("one of {}", choices.join(", "));
        }
        if let Some(one) = schema.get("const") {
            return format!("always {}", one.to_json_string());
        }
        let kind = match schema.get("type") {
            Some(Value::String(kind)) => kind.to_string(),
            Some(kinds) => {
                let kinds = kinds.as_array().unwrap_or_default().iter().filter_map(Value::as_str);
                kinds.collect::<Vec<_>>().join(" or ")
            }
            None if schema.as_bool() == Some(false) => "nothing".to_owned(),
            None if schema.get("properties").is_some() => "object".to_owned(),
            None => self.choices(schema, depth).unwrap_or_else(|| "anything".to_owned()),
        };
        let inner = match kind.as_str() {
            "array" => schema.get("items"),
            "object" if schema.get("properties").is_none() => schema.get("additionalProperties"),
            _ => None,
        };
        match inner.filter(|inner| inner.as_object().is_some()) {
            Some(inner) => format!("{kind} of {}", self.type_words(inner, depth + 1)),
            None => kind,
        }
    }

    /// The types of a value that may have one of several.
    fn choices(&self, schema: &'p Value, depth: usize) -> Option<String> {
        let choices = schema.get("anyOf").or_else(|| schema.get("oneOf"))?.as_array()?;
        let mut words: Vec<String> = Vec::new();
        for choice in choices {
            let word = self.type_words(choice, depth + 1);
            if !words.contains(&word) {
                words.push(word);
            }
        }
        (!words.is_empty()).then(|| words.join(" or "))
    }
}

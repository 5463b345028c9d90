//! `describe TOOL`: what it takes, what it gives, what it does to the world.

use std::fmt::Write as _;

use toolwright::Value;

use super::graph::open;
use super::list::kind_words;
use crate::app::App;
use crate::args::Format;
use crate::exit::Exit;
use crate::output::Output;
use crate::style::{one_line, printable, wrap};
use crate::view::{ToolView, effect_words, stands_out};

/// Describes one tool.
pub(crate) async fn describe(app: &App, id: &str) -> Exit {
    let host = match open(app, id).await {
        Ok(host) => host,
        Err(exit) => return exit,
    };
    let Some(tool) = host.find(id) else {
        let in_the_way = host.in_the_way();
        if !in_the_way.is_empty() {
            return app.fail(in_the_way, Exit::ToolFailed);
        }
        return app.fail(vec![super::run::unknown(&host, id)], Exit::Usage);
    };
    let text = match app.output.format {
        Format::Json => format!("{:#}\n", tool.to_json(true)),
        Format::Human | Format::Plain => human(app.output, tool),
    };
    app.output.result(&text);
    Exit::Ok
}

fn human(output: Output, tool: &ToolView) -> String {
    let style = output.out;
    let mut out = style.bold(&tool.id);
    if let Some(title) = &tool.title {
        let _ = write!(out, "  {}", one_line(title));
    }
    out.push('\n');
    if !tool.description.is_empty() {
        let description = printable(&tool.description);
        let _ = writeln!(out, "{}", wrap(description.trim_end(), output.width(), ""));
    }
    out.push('\n');
    let effect = effect_words(tool.effect.as_ref());
    let effect = match stands_out(tool.effect.as_ref()) {
        true => style.yellow(&effect),
        false => style.green(&effect),
    };
    let from = match tool.effect_from.as_str() {
        "" => String::new(),
        from => format!(" ({from})"),
    };
    fact(&mut out, output, "effect", &format!("{effect}{from}"));
    let source = match tool.inside {
        Some(_) => "a composite".to_owned(),
        None => format!("{}, {}", tool.source, kind_words(&tool.kind)),
    };
    fact(&mut out, output, "source", source.trim_end_matches([',', ' ']));
    if let Some(why) = tool.state.why() {
        let text = format!("{}: {}", why.code, one_line(&why.message));
        fact(&mut out, output, tool.state.word(), &text);
        if let Some(help) = &why.help {
            fact(&mut out, output, "", &printable(help));
        }
    }
    if tool.hidden {
        fact(&mut out, output, "hidden", "not listed; composites may use it");
    }
    steps(&mut out, output, tool);
    out.push('\n');
    schema(&mut out, output, "input", tool.input.as_ref());
    schema(&mut out, output, "output", tool.output.as_ref());
    for (input, result) in &tool.examples {
        let _ = writeln!(out, "{}", style.bold("example"));
        indented(&mut out, &input.to_json_pretty());
        if let Some(result) = result {
            let _ = writeln!(out, "  {}", style.dim("gives"));
            indented(&mut out, &result.to_json_pretty());
        }
    }
    out
}

fn fact(out: &mut String, output: Output, name: &str, text: &str) {
    let indent = " ".repeat(FACT_WIDTH);
    let wrapped = wrap(text, output.width(), &indent);
    let padded = format!("{name:<FACT_WIDTH$}");
    let _ = writeln!(out, "{}{}", output.out.dim(&padded), wrapped.trim_start());
}

/// Columns of a fact's name.
const FACT_WIDTH: usize = 13;

fn steps(out: &mut String, output: Output, tool: &ToolView) {
    let Some(inside) = &tool.inside else { return };
    let style = output.out;
    for (index, step) in inside.steps.iter().enumerate() {
        let name = if index == 0 { "steps" } else { "" };
        let effect = match &step.effect {
            None => "not there".to_owned(),
            Some(effect) => effect_words(effect.as_ref()),
        };
        let loud = step.effect.as_ref().is_none_or(|effect| stands_out(effect.as_ref()));
        let effect = if loud { style.yellow(&effect) } else { effect };
        let nested = if step.nested { ", a composite" } else { "" };
        let text = format!("{}. {}: {} ({effect}{nested})", index + 1, one_line(&step.name), step.tool);
        fact(out, output, name, &text);
    }
    fact(out, output, "touches", &inside.touches.join(", "));
    let effects: Vec<String> = inside
        .effects
        .iter()
        .map(|(path, tool, effect)| format!("{} by {tool} ({})", effect_words(effect.as_ref()), path.join("/")))
        .collect();
    if !effects.is_empty() {
        fact(out, output, "effects", &effects.join("; "));
    }
}

/// A schema as people read one: a line a member, with type, default and meaning.
fn schema(out: &mut String, output: Output, name: &str, schema: Option<&Value>) {
    let style = output.out;
    let Some(schema) = schema else {
        let _ = writeln!(out, "{}  {}", style.bold(name), style.dim("anything"));
        return;
    };
    let _ = writeln!(out, "{}  {}", style.bold(name), style.dim(&type_words(schema)));
    if let Some(text) = schema.get("description").and_then(Value::as_str) {
        let _ = writeln!(out, "{}", wrap(&one_line(text), output.width(), "  "));
    }
    members(out, output, schema, "  ", 0);
}

/// Nested members are shown this deep; below it `schema TOOL` has the rest.
const SCHEMA_DEPTH_SHOWN: usize = 3;

fn members(out: &mut String, output: Output, schema: &Value, indent: &str, depth: usize) {
    let items = schema.get("items").filter(|items| items.get("properties").is_some());
    let schema = items.unwrap_or(schema);
    let Some(properties) = schema.get("properties").and_then(Value::as_object) else {
        return;
    };
    let required = schema.get("required").and_then(Value::as_array).unwrap_or_default();
    for (name, member) in properties.iter() {
        let needed = required.iter().any(|one| one.as_str() == Some(name.as_str()));
        let mut facts = vec![type_words(member)];
        if needed {
            facts.push("required".to_owned());
        }
        if let Some(default) = member.get("default") {
            facts.push(format!("default {}", default.to_json_string()));
        }
        let head = format!("{indent}{} ({})", output.out.cyan(&one_line(name)), facts.join(", "));
        let text = member.get("description").and_then(Value::as_str).map(one_line);
        match text {
            Some(text) => {
                let _ = writeln!(out, "{head}");
                let deeper = format!("{indent}    ");
                let _ = writeln!(out, "{}", wrap(&text, output.width(), &deeper));
            }
            None => {
                let _ = writeln!(out, "{head}");
            }
        }
        if depth + 1 < SCHEMA_DEPTH_SHOWN {
            members(out, output, member, &format!("{indent}  "), depth + 1);
        }
    }
}

/// The type of a value, in a few words.
fn type_words(schema: &Value) -> String {
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
        None => "anything".to_owned(),
    };
    match schema.get("items").filter(|_| kind == "array") {
        Some(items) => format!("array of {}", type_words(items)),
        None => kind,
    }
}

fn indented(out: &mut String, text: &str) {
    for line in text.lines() {
        let _ = writeln!(out, "  {line}");
    }
}

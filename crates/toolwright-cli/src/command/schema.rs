//! `schema`: the JSON Schema of the configuration, made of the table that the reader itself uses, for editors.

mod snippets;
mod tools;

use serde_json::{Map, Value, json};

use super::graph::open;
use crate::app::App;
use crate::args::SchemaArgs;
use crate::code;
use crate::config::members::{FILE, Member, SHAPES, Shape};
use crate::diagnostic::Finding;
use crate::exit::Exit;
use crate::host::{Host, Want};
use crate::interrupt::{leave_at_next, until_first};

/// Prints the schema of the configuration, or one of a tool.
pub(crate) async fn schema(app: &App, args: &SchemaArgs) -> Exit {
    match (&args.tool, args.with_tools) {
        (Some(id), _) => of_a_tool(app, id, args.output).await,
        (None, true) => with_tools(app, args.offline).await,
        (None, false) => {
            app.output.json(&of_the_file());
            Exit::Ok
        }
    }
}

async fn of_a_tool(app: &App, id: &str, output: bool) -> Exit {
    let host = match open(app, id).await {
        Ok(host) => host,
        Err(exit) => return exit,
    };
    let Some(tool) = host.find(id) else {
        return app.fail(vec![super::run::unknown(&host, id)], Exit::Usage);
    };
    let (schema, which) = match output {
        true => (&tool.output, "output"),
        false => (&tool.input, "input"),
    };
    match schema {
        Some(schema) => {
            app.output.json(&schema.to_json());
            Exit::Ok
        }
        None => {
            let learned = tool.learned.as_ref().filter(|_| output);
            let word = crate::grant::shell_word(id);
            let help = match (learned, output && tool.inside.is_none()) {
                (Some(_), _) => Some(format!("`toolwright learn {word} --show` shows what was learned of it")),
                (None, true) => Some(format!("`toolwright learn {word}` learns it from outputs")),
                (None, false) => None,
            };
            let finding = Finding::error(code::USAGE, format!("nothing is known about the {which} of `{id}`"));
            app.fail(vec![finding.maybe_help(help)], Exit::Usage)
        }
    }
}

/// The schema of the file with the tools that it can name; what cannot be asked is told and left out.
async fn with_tools(app: &App, offline: bool) -> Exit {
    let config = match app.config_with_locks() {
        Ok(config) => config,
        Err(exit) => return exit,
    };
    if let Err(exit) = app.usable(&config) {
        return exit;
    }
    let grants = app.grants(&config);
    let opened = until_first(Host::open(config, &grants, &Want::Locked { ask: !offline })).await;
    let Some(host) = opened else { return app.interrupted(Exit::Interrupted) };
    if until_first(host.close()).await.is_none() {
        return app.interrupted(Exit::Interrupted);
    }
    leave_at_next();
    for why in host.sources.iter().filter_map(|source| source.why.as_ref()) {
        app.output.note(&format!("note: {}; its tools are not offered\n", crate::style::one_line(&why.message)));
    }
    let mut schema = of_the_file();
    tools::offer(&mut schema, &host.tools);
    app.output.json(&schema);
    Exit::Ok
}

/// The JSON Schema of `toolwright.yaml`.
pub(crate) fn of_the_file() -> Value {
    let mut definitions = Map::new();
    for shape in SHAPES.into_iter().filter(|shape| shape.def != FILE.def) {
        definitions.insert(shape.def.to_owned(), object(shape));
    }
    let mut schema = json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
    });
    if let (Some(whole), Value::Object(file)) = (schema.as_object_mut(), object(&FILE)) {
        whole.extend(file);
        whole.insert("title".to_owned(), "toolwright.yaml".into());
        whole.insert("$defs".to_owned(), Value::Object(definitions));
    }
    schema
}

fn object(shape: &Shape) -> Value {
    let properties: Map<String, Value> = shape.members.iter().map(|member| (member.name.to_owned(), described(member))).collect();
    let mut schema = json!({
        "title": title(shape.what),
        "description": shape.doc,
        "type": "object",
        "properties": properties,
        "additionalProperties": false,
    });
    if let Some(members) = schema.as_object_mut() {
        if !shape.required.is_empty() {
            members.insert("required".to_owned(), json!(shape.required));
        }
        members.extend(snippets::of(shape.def).map(|snippets| ("defaultSnippets".to_owned(), snippets)));
    }
    schema
}

/// What messages call it, without its article.
fn title(what: &str) -> &str {
    ["a ", "an ", "the "].iter().find_map(|article| what.strip_prefix(article)).unwrap_or(what)
}

fn described(member: &Member) -> Value {
    let schema = serde_json::from_str(member.schema).unwrap_or(Value::Bool(true));
    let Value::Object(mut schema) = schema else { return json!({"description": member.doc}) };
    schema.insert("description".to_owned(), member.doc.into());
    schema.extend(default(member.doc).map(|default| ("default".to_owned(), default)));
    Value::Object(schema)
}

/// The default that the words about a member end with.
fn default(doc: &str) -> Option<Value> {
    let (_, rest) = doc.split_once("default `")?;
    let (written, _) = rest.split_once('`')?;
    (!written.contains('<')).then(|| serde_json::from_str(written).unwrap_or_else(|_| written.into()))
}

#[cfg(test)]
mod tests {
    use super::of_the_file;
    use crate::config::members::SHAPES;

    #[test]
    fn every_member_has_a_schema_that_is_json_and_every_reference_a_target() {
        for shape in SHAPES {
            for member in shape.members {
                let parsed = serde_json::from_str::<serde_json::Value>(member.schema);
                assert!(parsed.is_ok(), "{} {}", shape.def, member.name);
                assert!(!member.doc.is_empty());
            }
            for name in shape.required {
                assert!(shape.names().any(|member| member == *name), "{name}");
            }
        }
        let schema = of_the_file();
        let text = schema.to_string();
        for part in text.split("\"$ref\":\"#").skip(1) {
            let pointer = part.split('"').next().unwrap();
            assert!(schema.pointer(pointer).is_some(), "{pointer}");
        }
    }

    #[test]
    fn words_of_an_enumeration_each_have_their_meaning() {
        fn look(schema: &serde_json::Value, seen: &mut usize) {
            if let Some(words) = schema.get("enum").and_then(|words| words.as_array()) {
                let meanings = schema.get("enumDescriptions").and_then(|meanings| meanings.as_array());
                assert_eq!(meanings.map(Vec::len), Some(words.len()), "{schema}");
                *seen += 1;
            }
            let inside = schema.as_object().into_iter().flat_map(|object| object.values()).chain(schema.as_array().into_iter().flatten());
            inside.for_each(|inside| look(inside, seen));
        }
        let mut seen = 0;
        look(&of_the_file(), &mut seen);
        assert!(seen >= 5, "{seen}");
    }
}

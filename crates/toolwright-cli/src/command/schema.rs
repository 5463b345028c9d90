//! `schema`: the JSON Schema of the configuration, made of the table that the reader itself uses.

use serde_json::{Map, Value, json};

use super::graph::open;
use crate::app::App;
use crate::code;
use crate::config::members::{FILE, SHAPES, Shape};
use crate::diagnostic::Finding;
use crate::exit::Exit;

/// Prints the schema of the configuration, or one of a tool.
pub(crate) async fn schema(app: &App, id: Option<&str>, _input: bool, output: bool) -> Exit {
    let Some(id) = id else {
        app.output.json(&of_the_file());
        return Exit::Ok;
    };
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
            let message = format!("nothing is known about the {which} of `{id}`");
            app.fail(vec![Finding::error(code::USAGE, message)], Exit::Usage)
        }
    }
}

/// The JSON Schema of `toolwright.yaml`.
pub(crate) fn of_the_file() -> Value {
    let mut definitions = Map::new();
    for shape in SHAPES.into_iter().filter(|shape| shape.def != FILE.def) {
        definitions.insert(shape.def.to_owned(), object(shape));
    }
    let mut schema = json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "toolwright.yaml",
        "description": "The configuration of toolwright: sources of tools, composites, policy",
    });
    if let (Some(whole), Value::Object(file)) = (schema.as_object_mut(), object(&FILE)) {
        whole.extend(file);
        whole.insert("$defs".to_owned(), Value::Object(definitions));
    }
    schema
}

fn object(shape: &Shape) -> Value {
    let properties: Map<String, Value> = shape
        .members
        .iter()
        .map(|member| {
            let schema = serde_json::from_str(member.schema).unwrap_or(Value::Bool(true));
            let described = match schema {
                Value::Object(mut schema) => {
                    schema.insert("description".to_owned(), member.doc.into());
                    Value::Object(schema)
                }
                Value::Bool(true) => json!({"description": member.doc}),
                other => other,
            };
            (member.name.to_owned(), described)
        })
        .collect();
    let mut schema = json!({
        "type": "object",
        "properties": properties,
        "additionalProperties": false,
    });
    if let (Some(members), false) = (schema.as_object_mut(), shape.required.is_empty()) {
        members.insert("required".to_owned(), json!(shape.required));
    }
    schema
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
}

//! Fixed arguments: a tool whose host has decided some of them once and for all.

use super::{CompiledSchema, SchemaError, SchemaIssue};
use crate::frame::Call;
use crate::runtime::Runtime;
use crate::tool::{Answer, Body, BoxFuture, Handler, ToolDef, ToolError};
use crate::value::{Object, Text, Value};

struct Pinned<R: Runtime> {
    inner: ToolDef<R>,
    arguments: Object,
}

impl<R: Runtime> Handler<R> for Pinned<R> {
    fn handle<'a>(&'a self, input: Value, call: Call<R>) -> BoxFuture<'a, Result<Answer, ToolError>> {
        let given = input.as_object().cloned();
        let given = given.iter().flat_map(Object::iter).filter(|(key, _)| self.arguments.get(key).is_none());
        let merged = Value::object(given.chain(self.arguments.iter()).map(|(key, value)| (key.clone(), value.clone())));
        // What a caller sees knows the fixed arguments no more, nor what the others must be because of them.
        if let Some(schema) = self.inner.0.input.as_ref().filter(|schema| !schema.accepts(&merged)) {
            return Box::pin(std::future::ready(Err(unfit(&schema.issues(&merged)))));
        }
        match &self.inner.0.body {
            Body::Handler(handler) => handler.handle(merged, call),
            Body::Composite(_) | Body::Missing => {
                Box::pin(std::future::ready(Err(ToolError::new("a composite has no arguments to fix").nothing_happened())))
            }
        }
    }
}

#[cold]
fn unfit(issues: &[SchemaIssue]) -> ToolError {
    let listed: Vec<String> = issues.iter().map(ToString::to_string).collect();
    ToolError::new(format!("the arguments do not go together with those that the host has fixed: {}", listed.join("; ")))
        .code("invalid_input")
        .nothing_happened()
}

/// The tool with `arguments` fixed: they leave its input schema and are added to every call.
pub(crate) fn pinned<R: Runtime>(tool: &ToolDef<R>, arguments: Object) -> Result<ToolDef<R>, SchemaError> {
    let wrong = |message: String| SchemaError { pointer: String::new(), message };
    if tool.is_composite() {
        return Err(wrong("arguments of a composite cannot be fixed; write the value into its steps".into()));
    }
    if let Some(schema) = tool.input_schema() {
        let known = schema.get("properties").and_then(Value::as_object);
        let closed = schema.get("additionalProperties") == Some(&Value::Bool(false));
        for key in arguments.keys() {
            if closed && known.is_none_or(|known| known.get(key).is_none()) {
                return Err(wrong(format!("the tool has no argument `{key}` to fix")));
            }
        }
    }
    if let Some(schema) = &tool.0.input {
        // Members that are still to come are missing here, so only findings inside the fixed ones count.
        let fixed = |issue: &SchemaIssue| {
            let first = issue.pointer.strip_prefix('/').and_then(|rest| rest.split('/').next());
            first.is_some_and(|first| arguments.get(&first.replace("~1", "/").replace("~0", "~")).is_some())
        };
        let found = schema.issues(&Value::Object(arguments.clone()));
        if let Some(issue) = found.into_iter().find(fixed) {
            return Err(wrong(format!("the fixed argument does not fit: {issue}")));
        }
    }
    let schema = tool.input_schema().map(|schema| CompiledSchema::new(without_arguments(schema, &arguments)));
    if let Some(schema) = &schema {
        schema.verify()?;
    }
    let inner = tool.clone();
    let before = tool.0.pinned.iter().flat_map(Object::iter).chain(arguments.iter());
    let all = Object::from_pairs(before.map(|(key, value)| (key.clone(), value.clone())));
    Ok(tool.changed(|def| {
        def.input = schema;
        def.pinned = Some(all);
        def.body = Body::Handler(std::sync::Arc::new(Pinned { inner, arguments }));
    }))
}

fn without_arguments(schema: &Value, gone: &Object) -> Value {
    let Some(schema) = schema.as_object() else { return schema.clone() };
    Value::object(
        schema
            .iter()
            .map(|(key, value)| {
                let value = match key.as_str() {
                    "properties" => match value.as_object() {
                        Some(properties) => Value::object(
                            properties
                                .iter()
                                .filter(|(name, _)| gone.get(name).is_none())
                                .map(|(name, schema)| (name.clone(), schema.clone())),
                        ),
                        None => value.clone(),
                    },
                    "required" => Value::array(
                        value
                            .as_array()
                            .unwrap_or_default()
                            .iter()
                            .filter(|name| name.as_str().is_none_or(|name| gone.get(name).is_none()))
                            .cloned(),
                    ),
                    _ => value.clone(),
                };
                (key.clone(), value)
            })
            .collect::<Vec<(Text, Value)>>(),
    )
}

//! Questions to clients: who can answer one, and whether what came is an answer to it.

use toolwright::{Text, Value};

/// Asks a person for data, or to look at a page.
pub(crate) const ELICIT: &str = "elicitation/create";
/// Asks a model.
pub(crate) const SAMPLE: &str = "sampling/createMessage";
/// Asks for the folders that a client works in.
pub(crate) const ROOTS: &str = "roots/list";

/// The extension by which long calls become tasks.
pub(crate) const TASKS: &str = "io.modelcontextprotocol/tasks";

/// Whether a client with these capabilities said that it answers such a question.
pub(crate) fn can_answer(capabilities: &Value, method: &str, params: &Value) -> bool {
    match method {
        ELICIT => {
            let Some(elicitation) = capabilities.get("elicitation").filter(|said| said.as_object().is_some()) else { return false };
            let url = params.get("mode").and_then(Value::as_str) == Some("url");
            let none_named = elicitation.get("url").is_none() && elicitation.get("form").is_none();
            match url {
                true => elicitation.get("url").is_some(),
                false => none_named || elicitation.get("form").is_some(),
            }
        }
        SAMPLE => {
            let sampling = capabilities.get("sampling");
            let with_tools = params.get("tools").is_some() || params.get("toolChoice").is_some();
            sampling.is_some_and(|said| said.as_object().is_some() && (!with_tools || said.get("tools").is_some()))
        }
        ROOTS => capabilities.get("roots").is_some_and(|said| said.as_object().is_some()),
        _ => false,
    }
}

/// What a client lacks that cannot answer: the capabilities as the protocol names them.
pub(crate) fn needed(method: &str, params: &Value) -> Value {
    let nothing = || Value::object::<&str, Value>([]);
    let url = params.get("mode").and_then(Value::as_str) == Some("url");
    match method {
        ELICIT => Value::object([("elicitation", Value::object([(if url { "url" } else { "form" }, nothing())]))]),
        SAMPLE => Value::object([("sampling", nothing())]),
        _ => Value::object([("roots", nothing())]),
    }
}

/// Whether a client said that it takes tasks.
pub(crate) fn takes_tasks(capabilities: &Value) -> bool {
    capabilities.get("extensions").and_then(|extensions| extensions.get(TASKS)).is_some_and(|said| said.as_object().is_some())
}

/// These capabilities, and that tasks are taken.
pub(crate) fn with_tasks(capabilities: &Value) -> Value {
    let object = |value: Option<&Value>| value.and_then(Value::as_object).cloned().unwrap_or_default();
    let extensions = object(capabilities.get("extensions")).with(TASKS, Value::object::<Text, Value>([]));
    Value::Object(object(Some(capabilities)).with("extensions", Value::Object(extensions)))
}

/// Whether this can be the answer to such a question.
///
/// # Errors
/// What it should be, in words.
pub(crate) fn fits(method: &str, answer: &Value) -> Result<(), &'static str> {
    if answer.as_object().is_none() {
        return Err("an object");
    }
    match method {
        ELICIT => match answer.get("action").and_then(Value::as_str) {
            Some("accept" | "decline" | "cancel") => Ok(()),
            _ => Err("an object with `action`: `accept`, `decline` or `cancel`"),
        },
        SAMPLE => match answer.get("role").and_then(Value::as_str).zip(answer.get("content")) {
            Some(_) => Ok(()),
            None => Err("an object with `role` and `content`"),
        },
        ROOTS => match answer.get("roots").and_then(Value::as_array) {
            Some(_) => Ok(()),
            None => Err("an object with the list `roots`"),
        },
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use toolwright::json;

    use super::*;

    #[test]
    fn only_what_a_client_declared_is_asked() {
        let form = json!({ "message": "?" });
        let url = json!({ "mode": "url" });
        let cases = [
            (json!({}), ELICIT, &form, false),
            (json!({ "elicitation": {} }), ELICIT, &form, true),
            (json!({ "elicitation": {} }), ELICIT, &url, false),
            (json!({ "elicitation": { "url": {} } }), ELICIT, &url, true),
            (json!({ "elicitation": { "url": {} } }), ELICIT, &form, false),
            (json!({ "elicitation": { "form": {} } }), ELICIT, &form, true),
            (json!({ "elicitation": null }), ELICIT, &form, false),
            (json!({ "sampling": {} }), SAMPLE, &form, true),
            (json!({ "sampling": {} }), SAMPLE, &json!({ "tools": [] }), false),
            (json!({ "sampling": { "tools": {} } }), SAMPLE, &json!({ "tools": [] }), true),
            (json!({ "elicitation": {} }), SAMPLE, &form, false),
            (json!({ "roots": { "listChanged": true } }), ROOTS, &Value::Null, true),
            (json!({}), ROOTS, &Value::Null, false),
            (json!({ "elicitation": {} }), "tools/call", &form, false),
        ];
        for (capabilities, method, params, can) in cases {
            assert_eq!(can_answer(&capabilities, method, params), can, "{capabilities} {method} {params}");
        }
    }

    #[test]
    fn an_answer_has_the_form_of_its_question() {
        assert!(fits(ELICIT, &json!({ "action": "accept", "content": {} })).is_ok());
        assert!(fits(ELICIT, &json!({ "action": "perhaps" })).is_err());
        assert!(fits(ELICIT, &json!(12345)).is_err());
        assert!(fits(SAMPLE, &json!({ "role": "assistant", "content": { "type": "text", "text": "Paris" }, "model": "m" })).is_ok());
        assert!(fits(SAMPLE, &json!({ "role": "assistant" })).is_err());
        assert!(fits(ROOTS, &json!({ "roots": [] })).is_ok());
        assert!(fits(ROOTS, &json!({ "roots": 1 })).is_err());
    }
}

//! A composite as data: what is written reads back the same, and what is no composite is named.

use toolwright::{Composite, Example, IntentSpec, Object, Origin, Runtime, SpecError, Value, json};

use super::fixture::{App, Caller, chain};

fn again(composite: &Composite<App>) -> Composite<App> {
    let written = composite.to_value();
    // As a journal keeps it: through text.
    let read = Value::parse(written.to_json_string().as_str()).unwrap();
    let again = Composite::<App>::from_value(&read).unwrap();
    assert_eq!(again.to_value(), written);
    again
}

fn object(value: Value) -> Object {
    value.as_object().unwrap().clone()
}

#[test]
fn everything_that_is_data_comes_back() {
    let head = App::tool("digest", "Digests")
        .title("Digest")
        .kind("act")
        .audience("operator")
        .goals(["explain", "notify"])
        .delegate("digester")
        .as_intent(IntentSpec::new("digest").example("digest this"))
        .produces("reply")
        .terminal()
        .debug_steps(true)
        .input_schema(json!({"type": "object", "properties": {"x": {"type": "integer"}}}))
        .output_schema(json!({"type": "object"}))
        .example(Example { input: json!({"x": 1}), output: Some(json!(null)) })
        .origin(Origin { source: "model".into(), kind: "composite".into(), name: "digest".into(), effect_from: "declared".into() })
        .annotations(json!({"by": ["ann"]}));
    let composite = Composite::of(head).step("a", "read", json!({"x": "$input.x", "n": 1.50})).output(object(json!({"o": "$prev"})));
    let written = again(&composite).to_value();
    for field in ["id", "title", "kind", "audience", "goals", "delegate", "intent", "produces", "terminal", "debugSteps", "input", "output"]
    {
        assert!(written.get(field).is_some(), "{field} in {written}");
    }
    assert_eq!(written.get("steps").unwrap().get_index(0).unwrap().get("inputMapping"), Some(&json!({"x": "$input.x", "n": 1.50})));
    assert_eq!(again(&chain("plain", &["read"])).id(), "plain");
}

#[test]
fn each_dialect_comes_back() {
    for dialect in [toolwright::Dialect::Strict, toolwright::Dialect::Page, toolwright::Dialect::PageStrict] {
        let mut spec = toolwright::CompositeSpec::from_value(&json!({"steps": [{"name": "a", "tool": "t"}]})).unwrap();
        spec.dialect = dialect;
        again(&chain("a", &[]).spec(spec));
    }
}

#[test]
fn the_plain_form_of_a_person_is_enough() {
    let written = json!({"id": "a", "steps": [{"name": "s", "tool": "read"}]});
    let composite = Composite::<App>::from_value(&written).unwrap();
    assert_eq!(composite.to_value().get("kind"), Some(&json!("composite")));
}

#[test]
fn what_is_wrong_is_named_all_at_once_with_its_place() {
    let found = |value: Value| -> Vec<String> {
        let SpecError { issues } = Composite::<App>::from_value(&value).unwrap_err();
        issues.into_iter().map(|issue| issue.pointer).collect()
    };
    assert_eq!(found(json!([])), [""]);
    assert_eq!(found(json!({"steps": [{"name": "s", "tool": "t"}]})), ["/id"]);
    let wrong = json!({
        "id": 1, "titel": "x", "terminal": "yes", "goals": "all", "kind": 2, "intent": [], "examples": [{}], "hooks": true,
        "steps": [{"name": "s s", "tool": "t"}], "output": 3,
    });
    let mut pointers = found(wrong);
    pointers.sort();
    let expected = ["/examples/0", "/goals", "/hooks", "/id", "/intent", "/kind", "/output", "/steps/0/name", "/terminal", "/titel"];
    assert_eq!(pointers, expected);
}

#[test]
fn a_composite_with_hooks_says_so_and_does_not_come_back_without_them() {
    let head = App::tool("a", "x").available(|_: &Caller| false);
    let written = Composite::of(head).step("s", "read", json!({})).to_value();
    assert_eq!(written.get("hooks"), Some(&json!(true)));
    assert_eq!(Composite::<App>::from_value(&written).unwrap_err().issues[0].pointer, "/hooks");
}

//! Wires of composites, as data: what registration says of each, what is inferred of the input, what is derived of the
//! output. `cases/wiring.jsonl` has one case a line: `steps` as `[name, tool, mapping]` over the tools below, and `found` as
//! `[pointer, code, severity, part of the message]`.

use toolwright::{Composer, Composite, CompositeSpec, Fix, HostGate, Policy, Registry, Severity, SpecIssue, ToolDef, Value, json, tool};

use crate::world::parsed;

const CASES: &str = include_str!("../cases/wiring.jsonl");

fn typed(name: &str, input: &str, output: Option<&str>) -> ToolDef {
    let builder = tool(name, "A tool").reads().input_schema(parsed(input));
    let builder = match output {
        Some(output) => builder.output_schema(parsed(output)),
        None => builder,
    };
    builder.run_json(|input, _call| std::future::ready(Ok(input)))
}

fn tools() -> Vec<ToolDef> {
    let search = typed(
        "search",
        r#"{"type": "object", "properties": {"query": {"type": "string", "minLength": 1}, "limit": {"type": "integer", "minimum": 1, "maximum": 50}, "mode": {"enum": ["fast", "best"]}}, "required": ["query"], "additionalProperties": false}"#,
        Some(
            r##"{"type": "object", "properties": {"title": {"type": "string"}, "count": {"type": "integer", "minimum": 0}, "snippet": {"type": ["string", "null"]}, "note": {"type": "string"}, "tags": {"type": "array", "items": {"type": "string"}}, "results": {"type": "array", "items": {"$ref": "#/$defs/Page"}}}, "required": ["title", "count", "snippet", "tags", "results"], "additionalProperties": false, "$defs": {"Page": {"type": "object", "properties": {"title": {"type": "string"}, "url": {"type": "string"}}, "required": ["title", "url"], "additionalProperties": false}}}"##,
        ),
    );
    let summarise = typed(
        "summarise",
        r#"{"type": "object", "properties": {"text": {"type": "string"}, "style": {"type": "string"}}, "required": ["text"], "additionalProperties": false}"#,
        None,
    );
    let store = typed(
        "store",
        r#"{"type": "object", "properties": {"record": {"type": "object", "properties": {"id": {"type": "string"}, "size": {"type": "integer"}}, "required": ["id"], "additionalProperties": false}}, "required": ["record"]}"#,
        None,
    );
    let join = typed(
        "join",
        r#"{"type": "object", "properties": {"parts": {"type": "array", "items": {"type": "string"}}}, "required": ["parts"]}"#,
        None,
    );
    let place = typed(
        "place",
        r#"{"type": "object", "properties": {"at": {"oneOf": [{"type": "object", "properties": {"kind": {"const": "point"}, "x": {"type": "integer"}}, "required": ["kind", "x"]}, {"type": "object", "properties": {"kind": {"const": "area"}, "w": {"type": "integer"}}, "required": ["kind", "w"]}]}}, "required": ["at"]}"#,
        None,
    );
    let card = typed(
        "card",
        r#"{"type": "object", "properties": {"name": {"type": "string"}, "number": {"type": "string"}, "until": {"type": "string"}}, "required": ["name"], "dependentRequired": {"number": ["until"]}}"#,
        None,
    );
    let nothing = typed(
        "nothing",
        r#"{"type": "object"}"#,
        Some(
            r#"{"type": "object", "properties": {"n": {"type": "null"}, "record": {"type": "object", "properties": {"id": {"type": "string"}, "size": {"type": "null"}}, "required": ["id", "size"]}}, "required": ["n", "record"]}"#,
        ),
    );
    let either = typed(
        "either",
        r#"{"type": "object", "properties": {"a": {"type": "string"}, "b": {"type": "string"}}, "oneOf": [{"required": ["a"]}, {"required": ["b"]}]}"#,
        None,
    );
    let some = typed(
        "some",
        r#"{"type": "object", "properties": {"a": {"type": "string"}, "b": {"type": "string"}}, "minProperties": 2, "additionalProperties": false}"#,
        None,
    );
    let peek = tool("peek", "Was only seen at work").reads().run_json(|input, _call| std::future::ready(Ok(input)));
    let peek =
        peek.with_learned_output(parsed(r#"{"type": "object", "properties": {"title": {"type": "string"}}, "required": ["title"]}"#), 3);
    let echo = tool("echo", "Gives back what it gets").reads().run_json(|input, _call| std::future::ready(Ok(input)));
    vec![search, summarise, store, join, place, card, nothing, either, some, peek, echo]
}

struct Case {
    id: String,
    whole: Value,
}

impl Case {
    fn all() -> Vec<Self> {
        let cases = CASES.lines().filter(|line| !line.trim().is_empty()).map(parsed);
        cases.map(|whole| Self { id: whole.get("id").unwrap().as_str().unwrap().to_owned(), whole }).collect()
    }

    fn spec(&self) -> Value {
        let steps = self.whole.get("steps").unwrap().as_array().unwrap().iter().map(|step| {
            let part = |at: usize| step.get_index(at).unwrap().clone();
            Value::object([("name", part(0)), ("tool", part(1)), ("inputMapping", part(2))])
        });
        let mut spec = vec![("steps", Value::array(steps))];
        spec.extend(["input", "output"].into_iter().filter_map(|name| Some((name, self.whole.get(name)?.clone()))));
        Value::object(spec)
    }

    /// The findings as the case writes them, and how many there should be.
    fn check(&self, issues: &[SpecIssue]) {
        let wanted = self.whole.get("found").unwrap().as_array().unwrap();
        let mut issues: Vec<&SpecIssue> = issues.iter().collect();
        issues.sort_by_key(|issue| issue.pointer.clone());
        assert_eq!(issues.len(), wanted.len(), "{}: {issues:#?}", self.id);
        for (issue, wanted) in issues.iter().zip(wanted) {
            let part = |at: usize| wanted.get_index(at).unwrap().as_str().unwrap();
            let severity = if issue.severity == Severity::Error { "error" } else { "warning" };
            assert_eq!((issue.pointer.as_str(), issue.code, severity), (part(0), part(1), part(2)), "{}: {issue:?}", self.id);
            assert!(issue.message.contains(part(3)), "{}: {}", self.id, issue.message);
        }
        if let Some(help) = self.whole.get("help") {
            let told = issues.iter().filter_map(|issue| issue.help.as_deref()).collect::<String>();
            assert!(told.contains(help.as_str().unwrap()), "{}: {told}", self.id);
        }
        let fixes: Vec<&Fix> = issues.iter().filter_map(|issue| issue.fix.as_ref()).filter(|fix| is_about_wires(fix)).collect();
        match self.whole.get("fix") {
            None => assert!(fixes.is_empty() || self.id == "a-bad-reference-hides-nothing", "{}: {fixes:?}", self.id),
            Some(fix) => {
                let pointer = fix.get("pointer").unwrap().as_str().unwrap().to_owned();
                let fix = match (fix.get("to"), fix.get("key")) {
                    (Some(to), _) => Fix::Value { pointer, to: to.clone() },
                    (None, key) => Fix::Key { pointer, to: key.unwrap().as_text().unwrap().clone() },
                };
                assert_eq!(fixes, [&fix], "{}", self.id);
            }
        }
    }
}

fn is_about_wires(fix: &Fix) -> bool {
    match fix {
        Fix::Value { pointer, .. } | Fix::Key { pointer, .. } => pointer.contains("inputMapping"),
        _ => false,
    }
}

fn registry() -> Registry {
    let mut registry = Registry::with_policy(Policy::new());
    registry.register_all(tools()).unwrap();
    let nested = Composite::new("nested", "Searches").step("s", "search", json!({ "query": "$input.topic" }));
    registry.register(nested).unwrap();
    registry
}

#[test]
fn registration_finds_what_cannot_fit_and_what_may_not() {
    for case in Case::all() {
        let mut registry = registry();
        let spec = CompositeSpec::from_value(&case.spec()).unwrap_or_else(|error| panic!("{}: {error}", case.id));
        let found = match registry.register(Composite::new("main", "A composite").spec(spec)) {
            Err(error) => error.issues(),
            Ok(registry) => registry.warnings().iter().filter(|(tool, _)| tool == "main").map(|(_, issue)| issue.clone()).collect(),
        };
        case.check(&found);
        let Some(main) = registry.get("main") else { continue };
        if let Some(inferred) = case.whole.get("inferred") {
            let published = main.input_schema().cloned().unwrap_or(Value::Null);
            assert_eq!(published, *inferred, "{}: {published}", case.id);
            assert_eq!(main.composite().unwrap().inferred_input().cloned().unwrap_or(Value::Null), *inferred, "{}", case.id);
        }
        if let Some(derived) = case.whole.get("derived") {
            assert_eq!(main.output_schema().unwrap(), derived, "{}: {}", case.id, main.output_schema().unwrap());
        }
    }
}

#[test]
fn lint_over_a_composers_gate_finds_the_same_under_its_own_code() {
    for case in Case::all().into_iter().filter(|case| !case.id.starts_with("nested") && !case.id.starts_with("inferred")) {
        let all = tools();
        let composer = Composer::new(HostGate::new(move |name: &str| all.iter().find(|tool| tool.name() == name).cloned()));
        let registered = case.whole.get("found").unwrap().as_array().unwrap().len();
        let found = composer.lint(&case.spec());
        assert_eq!(found.len(), registered, "{}: {found:#?}", case.id);
        assert!(found.iter().all(|issue| issue.code != "invalid_input"), "{}: {found:?}", case.id);
    }
}

fn gives(name: &str, output: Value, given: Value) -> ToolDef {
    let run = move |_, _| std::future::ready(Ok(given.clone()));
    tool(name, "Gives one value").reads().input_schema(json!({ "type": "object" })).output_schema(output).run_json(run)
}

#[test]
fn what_an_older_draft_does_not_know_binds_nobody_in_a_derived_output() {
    let old = json!({
        "$schema": "http://json-schema.org/draft-07/schema#", "type": "object", "required": ["v"],
        "properties": { "v": { "type": "object", "required": ["a"], "dependentRequired": { "a": ["b"] } } },
    });
    let mut registry = Registry::new();
    registry.register(gives("give", old, json!({ "v": { "a": 1 } }))).unwrap();
    let inner = Composite::new("inner", "Gives it on").step("g", "give", json!({})).output(json!({ "o": "$steps.g.v" }));
    registry.register(inner).unwrap();
    assert_eq!(registry.get("inner").unwrap().output_schema().unwrap().pointer("/properties/o"), Some(&json!({})));
    let strict =
        json!({ "type": "object", "properties": { "o": { "type": "object", "dependentRequired": { "a": ["b"] } } }, "required": ["o"] });
    let take = tool("take", "Takes it").reads().input_schema(strict).run_json(|input, _| std::future::ready(Ok(input)));
    registry.register(take).unwrap();
    let main = Composite::new("main", "Wires them").step("i", "inner", json!({})).step("t", "take", json!({ "o": "$prev.o" }));
    registry.register(main).unwrap();
    let catalog = registry.seal();
    let error = crate::world::block_on(catalog.invoke(toolwright::Invocation::new("main", json!({})), ())).unwrap_err();
    assert_eq!(error.code(), "invalid_input", "it was not proved: {error}");
}

#[test]
fn documents_that_share_a_part_keep_what_it_refers_to_in_each() {
    let shared = json!({ "type": "object", "properties": { "z": { "$ref": "#/$defs/t" } }, "required": ["z"] });
    let output = |kind: &str| {
        let defs = Value::object([("h", shared.clone()), ("t", json!({ "type": kind }))]);
        let properties = json!({ "v": { "$ref": "#/$defs/h" } });
        Value::object([("type", "object".into()), ("properties", properties), ("required", json!(["v"])), ("$defs", defs)])
    };
    let mut registry = Registry::new();
    registry.register(gives("ga", output("string"), json!({ "v": { "z": "a" } }))).unwrap();
    registry.register(gives("gb", output("integer"), json!({ "v": { "z": 1 } }))).unwrap();
    let both = Composite::new("both", "Gives both").step("a", "ga", json!({})).step("b", "gb", json!({}));
    registry.register(both.output(json!({ "x": "$steps.a.v", "y": "$steps.b.v" }))).unwrap();
    let schema = registry.get("both").unwrap().output_schema().unwrap().clone();
    let verdict = toolwright::wiring::compare(&json!({ "const": { "x": { "z": "a" }, "y": { "z": 1 } } }), &schema);
    assert_eq!(verdict, toolwright::wiring::Verdict::Fits, "{schema}");
}

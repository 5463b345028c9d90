//! Registration: everything that is wrong at once, nothing half taken in, and what a catalogue publishes.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use toolwright::{
    Composite, CompositeSpec, Effect, Example, Object, Origin, Policy, RegisterError, Registry, Severity, StepSpec, ToolDef, Value, json,
    limits, tool,
};

use crate::world::{Log, block_on, catalog, composite, parsed, run, steps, try_catalog};

fn echo(id: &str) -> ToolDef {
    Log::new().echo(id)
}

fn found(error: &RegisterError) -> Vec<(&'static str, &'static str)> {
    error.issues().into_iter().map(|issue| (&*issue.pointer.leak(), issue.code)).collect()
}

#[test]
fn a_name_is_bounded_and_plain() {
    for wrong in ["", " a", "a ", "a\nb", "tab\t", "nul\0", "$a", &"x".repeat(129)] {
        let error = Registry::new().with(echo(wrong)).unwrap_err();
        assert_eq!(error.code(), "invalid_tool", "{wrong:?}");
        assert!(!error.to_string().contains(['\n', '\0']), "{error:?}");
    }
    for fine in ["a", "a b", "files/read", "mcp__x__y", "Suche-für:alles.1", "a$", &"x".repeat(128)] {
        Registry::new().with(echo(fine)).unwrap();
    }
}

#[test]
fn a_tool_is_never_replaced_and_both_sources_are_named() {
    let from = |source: &str| {
        tool("log", "A tool")
            .reads()
            .origin(Origin { source: source.into(), ..Origin::default() })
            .run_json(|v, _| std::future::ready(Ok(v)))
    };
    let mut registry = Registry::new();
    registry.register(from("git")).unwrap();
    let error = registry.register(from("files")).map(|_| ()).unwrap_err();
    assert_eq!(error.code(), "duplicate_tool");
    assert!(error.to_string().contains("`git`") && error.to_string().contains("`files`"), "{error}");
    assert_eq!(registry.get("log").unwrap().origin().unwrap().source, "git");
    assert_eq!(registry.seal().tools().count(), 1);
}

#[test]
fn everything_wrong_with_a_tool_comes_at_once() {
    let wrong = tool(" a", "A tool").input_schema(json!({"type": "strng"})).output_schema(json!({"$ref": "#/gone"}));
    let error = Registry::new().with(wrong.run_json(|v, _| std::future::ready(Ok(v)))).unwrap_err();
    assert_eq!(error.issues().iter().map(|issue| issue.code).collect::<Vec<_>>(), ["invalid_tool", "invalid_schema", "invalid_schema"]);
}

#[test]
fn everything_wrong_with_a_composite_comes_at_once() {
    let closed = json!({"type": "object", "properties": {"query": {}, "limit": {}}, "required": ["query"], "additionalProperties": false});
    let mut registry = Registry::new();
    registry.register(tool("search", "A tool").reads().input_schema(closed).run_json(|v, _| std::future::ready(Ok(v)))).unwrap();
    registry.register(Log::new().writes("send")).unwrap().register(Log::new().undeclared("old")).unwrap();
    registry.register(echo("taken")).unwrap();
    let spec = steps(&[
        ("a", "serach", json!({"v": "$inptu"})),
        ("b", "send", json!({"v": "$steps.c"})),
        ("c", "old", json!({})),
        ("d", "search", json!({"qeury": 1, "limit": "$steps.nobody"})),
        ("e", "taken", json!({"v": "$prev.x"})),
    ]);
    let error = registry.register(composite("taken", &spec)).map(|_| ()).unwrap_err();
    let mut all = found(&error);
    all.sort_unstable();
    assert_eq!(
        all,
        [
            ("", "duplicate_tool"),
            ("/steps/0/inputMapping/v", "invalid_reference"),
            ("/steps/0/tool", "step_missing"),
            ("/steps/1/inputMapping/v", "forward_reference"),
            ("/steps/1/tool", "step_not_chainable"),
            ("/steps/2/tool", "side_effects_undeclared"),
            ("/steps/3/inputMapping/limit", "invalid_reference"),
            ("/steps/3/inputMapping/qeury", "invalid_input"),
        ]
    );
    let help = |code: &str| error.issues().iter().find(|issue| issue.code == code).and_then(|issue| issue.help.clone()).unwrap();
    assert!(help("step_missing").contains("`search`"));
    assert!(help("invalid_input").contains("`query`"));
    assert!(!registry.get("taken").unwrap().is_composite(), "the registry is as it was");
    let warns = composite("taken", &steps(&[("a", "taken", json!({"v": "cost: $input.x"}))]));
    assert_eq!(registry.register(warns).map(|_| ()).unwrap_err().code(), "duplicate_tool");
    assert_eq!(registry.warnings(), [], "nor is there a warning about what was not taken in");
}

#[test]
fn lint_finds_the_same_before_anything_is_registered() {
    let log = Log::new();
    let catalog = catalog([log.writes("send"), log.echo("read")], &steps(&[("a", "read", json!({}))]));
    let spec = json!({"steps": [
        {"name": "a", "tool": "raed", "inputMapping": {"v": "$inptu"}, "whne": true},
        {"name": "a", "tool": "main"},
        7,
        {"name": "d", "tool": " ", "inputMapping": []},
    ]});
    let mut found: Vec<(String, &str)> = catalog.lint(&spec).into_iter().map(|issue| (issue.pointer, issue.code)).collect();
    found.sort_unstable();
    let want = [
        ("/steps/0/inputMapping/v", "invalid_reference"),
        ("/steps/0/tool", "step_missing"),
        ("/steps/0/whne", "invalid_spec"),
        ("/steps/1/name", "invalid_spec"),
        ("/steps/2/tool", "invalid_spec"),
        ("/steps/3/inputMapping", "invalid_spec"),
        ("/steps/3/tool", "invalid_spec"),
    ];
    assert_eq!(found, want.map(|(pointer, code)| (pointer.to_owned(), code)));

    let policy = Policy::new();
    let catalog = Registry::with_policy(policy).with(log.writes("send")).unwrap().with(log.undeclared("old")).unwrap().seal();
    let issues = catalog.lint(&steps(&[("a", "send", json!({})), ("b", "old", json!({}))]));
    assert_eq!(issues.iter().map(|issue| issue.code).collect::<Vec<_>>(), ["step_not_chainable", "side_effects_undeclared"]);
    assert!(issues.iter().all(|issue| issue.severity == Severity::Error && issue.help.is_some()));
}

#[test]
fn the_written_form_is_read_whole_and_every_problem_is_named() {
    let wrong = json!({
        "mode": "pipeline", "strictMode": "yes", "stepz": [], "description": 7, "output": [],
        "steps": [
            {"name": "1st", "tool": "t", "inputMaping": {}},
            {"name": "", "tool": "t", "inputMapping": "x"},
            {"name": 7, "tool": "t", "timeout": 1},
            {"tool": ""},
        ],
    });
    let error = CompositeSpec::from_value(&wrong).unwrap_err();
    let mut pointers: Vec<&str> = error.issues.iter().map(|issue| issue.pointer.as_str()).collect();
    pointers.sort_unstable();
    let want = [
        "/description",
        "/mode",
        "/output",
        "/steps/0/inputMaping",
        "/steps/0/name",
        "/steps/1/inputMapping",
        "/steps/1/name",
        "/steps/2/name",
        "/steps/2/timeout",
        "/steps/3",
        "/steps/3/tool",
        "/stepz",
        "/strictMode",
    ];
    assert_eq!(pointers, want);
    assert!(error.issues.iter().all(|issue| issue.code == "invalid_spec"));
    let help = |pointer: &str| error.issues.iter().find(|issue| issue.pointer == pointer).unwrap().help.clone().unwrap_or_default();
    assert!(help("/stepz").contains("`steps`") && help("/steps/0/inputMaping").contains("`inputMapping`"));
}

#[test]
fn the_plain_form_loads_and_null_mappings_are_empty() {
    let spec = json!({"mode": "compose", "steps": [{"name": "a", "tool": "t", "inputMapping": null}, {"name": "_b-2", "tool": "t"}]});
    let spec = CompositeSpec::from_value(&spec).unwrap();
    assert!(spec.steps.iter().all(|step| step.input_mapping.is_empty()));
    assert_eq!(CompositeSpec::from_value(&json!({"steps": []})).unwrap_err().issues.len(), 1);
    for no_object in [json!(null), json!([]), json!("x"), json!(7)] {
        assert_eq!(CompositeSpec::from_value(&no_object).unwrap_err().issues.len(), 1, "{no_object}");
    }
}

#[test]
fn the_page_takes_any_names() {
    let spec = json!({"strictMode": false, "steps": [{"name": "a", "tool": "t"}, {"name": "a", "tool": "t"}, {"name": 7, "tool": "t"}, {"tool": "t"}, {"name": "x y", "tool": "t"}]});
    let spec = CompositeSpec::from_value(&spec).unwrap();
    assert_eq!(spec.steps.iter().map(|step| step.name.as_str()).collect::<Vec<_>>(), ["a", "a", "7", "", "x y"]);
}

#[test]
fn a_step_names_only_tools_that_are_registered_before_it() {
    let mut registry = Registry::new();
    let error = registry.register(composite("self", &steps(&[("a", "self", json!({}))]))).map(|_| ()).unwrap_err();
    assert_eq!(found(&error), [("/steps/0/tool", "step_missing")]);
    let error = registry.register(composite("first", &steps(&[("a", "second", json!({}))]))).map(|_| ()).unwrap_err();
    assert_eq!(error.code(), "step_missing");
    assert_eq!(registry.seal().tools().count(), 0);
}

#[test]
fn the_catalogue_keeps_the_order_and_what_was_declared() {
    let names: Vec<String> = (0..200).map(|at| format!("tool_{:03}", (at * 37) % 200)).collect();
    let build = || names.iter().fold(Registry::new(), |registry, name| registry.with(echo(name)).unwrap()).seal();
    for _ in 0..3 {
        assert_eq!(build().tools().map(ToolDef::name).collect::<Vec<_>>(), names);
    }
    let example = Example { input: json!({"a": 1}), output: Some(json!(2)) };
    let full = tool("full", "Says all")
        .title("Full")
        .effect(Effect::new("deploy", toolwright::Impact::Idempotent))
        .input_schema(json!({"type": "object"}))
        .output_schema(json!({"type": "integer"}))
        .example(example.clone())
        .annotations(json!({"hint": true}))
        .origin(Origin { source: "s".into(), kind: "rust".into(), name: "n".into(), effect_from: "declared".into() })
        .run_json(|v, _| std::future::ready(Ok(v)));
    let catalog = Registry::new().with(full).unwrap().seal();
    let full = catalog.clone().get("full").unwrap().clone();
    assert_eq!((full.title(), full.description(), full.is_composite()), (Some("Full"), "Says all", false));
    assert_eq!(full.effect().unwrap().to_string(), "deploy (idempotent)");
    assert_eq!(full.examples(), [example]);
    assert_eq!(full.annotations(), Some(&json!({"hint": true})));
    assert_eq!(full.origin().unwrap().kind, "rust");
    assert!(full.composite().is_none() && catalog.get("Full").is_none());
}

#[derive(Deserialize, JsonSchema)]
struct Path {
    #[expect(dead_code, reason = "only its schema is of interest")]
    path: String,
}

#[derive(Serialize, JsonSchema)]
struct Listing {
    files: Vec<File>,
    total: u64,
    newest: Option<File>,
}

#[derive(Clone, Serialize, JsonSchema)]
struct File {
    name: String,
    size: u64,
}

fn listing() -> ToolDef {
    tool("list", "Lists").reads().run_sync(|_: Path, _| {
        let file = File { name: "a".into(), size: 1 };
        Ok(Listing { files: vec![file.clone(), file.clone()], total: 2, newest: Some(file) })
    })
}

/// The published output schema of a composite with this mapping, after it was checked against a real output.
fn published(output: &Value) -> Value {
    let log = Log::new();
    let seven = log.close(tool("seven", "A tool").reads().output_schema(parsed(r##"{"$schema": "http://json-schema.org/draft-07/schema#", "type": "object", "properties": {"n": {"type": "integer"}, "pair": {"items": [{"type": "string"}, {"type": "integer"}]}}}"##)), |_| Ok(json!({"n": 7, "pair": ["x", 1]}).into()));
    let open = log.gives("open", json!({"any": {"thing": [1]}}));
    let mut spec = json!({
        "input": {"type": "object", "properties": {"path": {"type": "string"}, "depth": {"type": "integer"}}, "required": ["path"]},
        "steps": [{"name": "l", "tool": "list", "inputMapping": {"path": "$input.path"}}, {"name": "s", "tool": "seven"}, {"name": "o", "tool": "open"}],
    });
    spec = Value::from(spec.as_object().unwrap().with("output", output.clone()));
    let catalog = catalog([listing(), seven, open], &spec);
    let schema = catalog.get("main").unwrap().output_schema().cloned().unwrap_or_else(|| panic!("no schema is published for {output}"));
    let real = block_on(run(&catalog, "main", json!({"path": "."}))).unwrap().output.unwrap();
    let validator = jsonschema::validator_for(&schema.to_json()).unwrap();
    let errors: Vec<String> = validator.iter_errors(&real.to_json()).map(|error| error.to_string()).collect();
    assert!(errors.is_empty(), "{real} against {schema}: {errors:?}");
    schema
}

#[test]
fn the_published_output_schema_fits_what_comes_out() {
    let schema = published(&json!({"total": "$steps.l.total", "path": "$input.path", "depth": "$input.depth?", "kind": "listing"}));
    assert_eq!(schema.pointer("/properties/total/type"), Some(&json!("integer")));
    assert_eq!(schema.pointer("/properties/path/type"), Some(&json!("string")));
    assert_eq!(schema.pointer("/properties/kind/const"), Some(&json!("listing")));
    assert_eq!(schema.get("required"), Some(&json!(["total", "path", "kind"])));
    for output in [
        json!({}),
        json!({"all": "$steps.l", "files": "$steps.l.files", "first": "$steps.l.files[0]", "name": "$steps.l.files.0.name", "newest": "$steps.l.newest"}),
        json!({"n": "$steps.s.n", "pair": "$steps.s.pair", "one": "$steps.s.pair[0]", "whole": "$steps.s"}),
        json!({"any": "$steps.o.any.thing[0]", "deep": {"x": ["$input", {"y": "$prev"}], "z": {"t": "$steps.l.total"}}, "n": null, "r": 1.50}),
        json!({"missing": "$steps.o.gone?", "deep": {"gone": "$input.depth?"}}),
    ] {
        published(&output);
    }
}

#[test]
fn without_an_output_mapping_the_last_steps_schema_is_published() {
    let log = Log::new();
    let catalog = catalog([listing(), log.echo("echo")], &steps(&[("e", "echo", json!({})), ("l", "list", json!({"path": "."}))]));
    assert_eq!(catalog.get("main").unwrap().output_schema(), catalog.get("list").unwrap().output_schema());
    let catalog =
        crate::world::catalog([listing(), log.echo("echo")], &steps(&[("l", "list", json!({"path": "."})), ("e", "echo", json!({}))]));
    assert_eq!(catalog.get("main").unwrap().output_schema(), None);
}

#[test]
fn the_code_of_a_refusal_is_that_of_an_error_and_not_of_a_warning_before_it() {
    let log = Log::new();
    let spec = steps(&[("a", "echo", json!({"text": "about $input.topic"})), ("b", "echo", json!({"text": "$inptu.topic"}))]);
    let error = try_catalog([log.echo("echo")], &spec).unwrap_err();
    assert_eq!(error.issues()[0].code, "reference_in_text", "warnings come in their place");
    assert_eq!(error.code(), "invalid_reference");
    assert!(!error.to_string().contains("sent on as text"), "{error}");
}

#[test]
fn a_specification_put_together_by_hand_is_held_to_the_form_too() {
    let step = |name: &str, tool: &str| StepSpec { name: name.into(), tool: tool.into(), input_mapping: Object::default() };
    let refused = |steps: Vec<StepSpec>| {
        let spec = CompositeSpec { steps, ..CompositeSpec::default() };
        let error =
            Registry::new().register(echo("echo")).unwrap().register(Composite::new("main", "A tool").spec(spec)).map(|_| ()).unwrap_err();
        error.issues().into_iter().map(|issue| (issue.pointer, issue.code)).collect::<Vec<_>>()
    };
    assert_eq!(refused(Vec::new()), [("/steps".to_owned(), "invalid_spec")]);
    let twice = refused(vec![step("a", "echo"), step("a", "echo"), step("b/c", "echo")]);
    assert_eq!(twice, [("/steps/2/name".to_owned(), "invalid_spec"), ("/steps/1/name".to_owned(), "invalid_spec")]);
    let many = (0..=limits::COMPOSITE_STEPS_MAX).map(|at| step(&format!("s{at}"), "echo")).collect();
    assert_eq!(refused(many), [("/steps".to_owned(), "invalid_spec")]);
}

#[test]
fn a_reference_that_leads_nowhere_is_told_with_its_place() {
    let table = [
        (
            json!({ "properties": { "x": { "$ref": "#/$defs/Nowhere" } } }),
            "/properties/x/$ref",
            "it leads to `#/$defs/Nowhere`, and there is nothing there",
        ),
        (
            json!({ "$schema": "http://json-schema.org/draft-07/schema#", "properties": { "a/b": { "items": [{ "$ref": "#/definitions/no" }] } } }),
            "/properties/a~1b/items/0/$ref",
            "it leads to `#/definitions/no`, and there is nothing there",
        ),
        (
            json!({ "default": { "$ref": "#/gone" }, "allOf": [{ "$ref": "#/gone" }] }),
            "/allOf/0/$ref",
            "it leads to `#/gone`, and there is nothing there",
        ),
        (
            json!({ "items": { "$ref": "https://example.org/other.json" } }),
            "/items/$ref",
            "it leads to `https://example.org/other.json`, outside of the schema; nothing is fetched",
        ),
    ];
    for (schema, pointer, message) in table {
        let tool = tool("t", "T").reads().input_schema(schema).run_json(|input, _call| async move { Ok(input) });
        let error = Registry::new().with(tool).err().unwrap();
        let toolwright::RegisterFault::InputSchema { why } = error.fault() else { panic!("{error}") };
        assert_eq!((why.pointer.as_str(), why.message.as_str()), (pointer, message));
    }
}

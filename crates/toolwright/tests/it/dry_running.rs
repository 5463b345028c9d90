//! Dry runs and rehearsals: what is executed, what is taken from the caller, what is told.

use toolwright::{CallError, Catalog, Invocation, Policy, Registry, StepOutputs, ToolResult, Value, json, tool};

use crate::world::{Log, block_on, catalog, composite, detail, steps};

fn dry(catalog: &Catalog, outputs: StepOutputs) -> Result<ToolResult, CallError> {
    block_on(catalog.invoke(Invocation::new("main", json!({"text": "hi"})).dry(outputs), ()))
}

fn rehearse(catalog: &Catalog, outputs: StepOutputs) -> Result<ToolResult, CallError> {
    block_on(catalog.invoke(Invocation::new("main", json!({"text": "hi"})).rehearse(outputs), ()))
}

fn effects(result: &ToolResult) -> Value {
    result.to_value().get("effects").cloned().unwrap()
}

#[test]
fn only_steps_with_side_effects_take_their_output_from_the_caller() {
    let log = Log::new();
    let spec = steps(&[
        ("r", "read", json!({"t": "$input.text"})),
        ("send", "send", json!({"text": "$prev.t"})),
        ("last", "read", json!({"id": "$prev.id", "t": "$steps.r.t"})),
    ]);
    let catalog = catalog([log.echo("read"), log.writes("send")], &spec);
    let result = dry(&catalog, StepOutputs::new().with("send", json!({"id": 7}))).unwrap();
    assert_eq!(log.tools(), ["read", "read"], "nothing was sent");
    assert_eq!(result.output, Some(json!({"id": 7, "t": "hi"})));
    let want = json!([{"kind": "step", "step": "send", "stepIndex": 1, "tool": "send", "wouldRun": true, "args": {"text": "hi"}}]);
    assert_eq!(effects(&result), want);
    assert_eq!(result.notes, Vec::<&str>::new());
}

#[test]
fn a_missing_output_names_the_step_and_what_came_before() {
    let log = Log::new();
    let spec = steps(&[("r", "read", json!({})), ("one", "send", json!({})), ("two", "send", json!({}))]);
    let catalog = catalog([log.echo("read"), log.writes("send")], &spec);
    let error = dry(&catalog, StepOutputs::new().with("one", Value::Null)).unwrap_err();
    assert_eq!(error.code(), "dry_run_needs_output");
    assert!(error.message().starts_with("dry_run_needs_output: step \"two\" (tool: \"send\")"), "{error}");
    assert_eq!(detail(&error, "completed"), Some(json!(["r", "one"])));
    assert_eq!(detail(&error, "step"), Some(json!("two")));
    let want = json!([{"kind": "step", "step": "one", "stepIndex": 1, "tool": "send", "wouldRun": true, "args": {}}]);
    assert_eq!(detail(&error, "effects"), Some(want));
    assert_eq!(log.tools(), ["read"]);
}

#[test]
fn a_mistyped_step_is_pointed_out() {
    let log = Log::new();
    let catalog = catalog([log.writes("send")], &steps(&[("search", "send", json!({}))]));
    let error = dry(&catalog, StepOutputs::new().with("serach", 1)).unwrap_err();
    assert_eq!(error.code(), "dry_run_needs_output");
    assert!(error.help().unwrap().contains("`serach`"), "{:?}", error.help());
}

#[test]
fn an_output_of_null_counts_and_an_unused_one_is_reported() {
    let log = Log::new();
    let spec = steps(&[("send", "send", json!({})), ("r", "read", json!({"v": "$prev"}))]);
    let catalog = catalog([log.echo("read"), log.writes("send")], &spec);
    let outputs: StepOutputs = [("send", Value::Null), ("nobody", json!(1)), ("r", json!(2))].into_iter().collect();
    let result = dry(&catalog, outputs).unwrap();
    assert_eq!(result.output, Some(json!({"v": null})));
    assert_eq!(result.notes.len(), 2);
    assert!(result.notes.iter().any(|note| note.contains("`nobody`")) && result.notes.iter().any(|note| note.contains("`r`")));
    let events = std::sync::Arc::new(crate::world::Events::default());
    let outputs = StepOutputs::new().with("send", 1).with("nobody", 1);
    block_on(catalog.invoke(Invocation::new("main", json!({})).dry(outputs).diagnostics(events.scope()), ())).unwrap();
    assert_eq!(events.warnings().iter().map(|(code, ..)| code.clone()).collect::<Vec<_>>(), ["unused_step_output"]);
}

#[test]
fn the_rule_and_the_arguments_come_before_the_given_output() {
    let log = Log::new();
    let schema = json!({"type": "object", "required": ["to"]});
    let send = log.close(tool("send", "A tool").writes().input_schema(schema), |input| Ok(input.into()));
    let spec = steps(&[("send", "send", json!({"to": "$input.to?"}))]);
    let catalog = catalog([send], &spec);
    let error = dry(&catalog, StepOutputs::new().with("send", 1)).unwrap_err();
    assert_eq!(error.code(), "invalid_input");

    let tool = log.writes("send");
    let composer = toolwright::Composer::new(toolwright::HostGate::new(move |_| Some(tool.clone())));
    let options = toolwright::PipelineOptions::new().dry(StepOutputs::new().with("send", 1));
    let context = toolwright::Context::default();
    let error = block_on(composer.run_pipeline(&steps(&[("send", "send", json!({}))]), json!({}), context, options)).unwrap_err();
    assert_eq!(error.code(), "step_not_chainable");
    assert!(log.is_empty());
}

#[test]
fn a_given_output_must_fit_the_tools_schema() {
    let log = Log::new();
    let send =
        log.close(tool("send", "A tool").writes().output_schema(json!({"type": "object", "required": ["id"]})), |input| Ok(input.into()));
    let catalog = catalog([send], &steps(&[("s", "send", json!({}))]));
    let error = dry(&catalog, StepOutputs::new().with("s", json!({"no": 1}))).unwrap_err();
    assert_eq!(error.code(), "invalid_output");
    assert!(error.message().contains("`s`"), "{error}");
    dry(&catalog, StepOutputs::new().with("s", json!({"id": 1}))).unwrap();
    assert!(log.is_empty());
}

fn nested(log: &Log) -> Catalog {
    let mut registry = Registry::with_policy(Policy::new().may_chain(["send", "notify"]));
    registry.register(log.echo("read")).unwrap().register(log.writes("send")).unwrap();
    registry
        .register(composite("notify", &steps(&[("r", "read", json!({"v": "$input.v"})), ("s", "send", json!({"w": "$prev.v"}))])))
        .unwrap();
    registry.register(composite("quiet", &steps(&[("r", "read", json!({"v": 1}))]))).unwrap();
    let spec = steps(&[("n", "notify", json!({"v": "$input.text"})), ("q", "quiet", json!({})), ("s", "send", json!({"x": "$steps.n"}))]);
    registry.register(composite("main", &spec)).unwrap();
    registry.seal()
}

#[test]
fn a_dry_run_enters_no_nested_composite_whatever_its_effect() {
    let log = Log::new();
    let catalog = nested(&log);
    let outputs: StepOutputs = [("n", json!("sent")), ("q", json!(2)), ("s", json!(3))].into_iter().collect();
    let result = dry(&catalog, outputs).unwrap();
    assert!(log.is_empty());
    let want = json!([
        {"kind": "step", "step": "n", "stepIndex": 0, "tool": "notify", "wouldRun": true, "nested": true, "args": {"v": "hi"}},
        {"kind": "step", "step": "q", "stepIndex": 1, "tool": "quiet", "wouldRun": true, "nested": true, "args": {}},
        {"kind": "step", "step": "s", "stepIndex": 2, "tool": "send", "wouldRun": true, "args": {"x": "sent"}},
    ]);
    assert_eq!(effects(&result), want);
    assert_eq!(dry(&catalog, StepOutputs::new().with("n", 1)).unwrap_err().code(), "dry_run_needs_output");
}

#[test]
fn a_rehearsal_enters_nested_composites_and_keys_outputs_by_the_way() {
    let log = Log::new();
    let catalog = nested(&log);
    let outputs: StepOutputs =
        [("n/s", json!({"id": 7})), ("s", json!(3)), ("n", json!("unused")), ("x/s", json!(1))].into_iter().collect();
    let result = rehearse(&catalog, outputs).unwrap();
    assert_eq!(log.tools(), ["read", "read"]);
    let want = json!([
        {"kind": "step", "step": "s", "stepIndex": 1, "tool": "send", "wouldRun": true, "args": {"w": "hi"}, "via": ["n"]},
        {"kind": "step", "step": "s", "stepIndex": 2, "tool": "send", "wouldRun": true, "args": {"x": {"id": 7}}},
    ]);
    assert_eq!(effects(&result), want);
    assert_eq!(result.notes.len(), 2, "{:?}", result.notes);
    let error = rehearse(&catalog, StepOutputs::new().with("s", 3)).unwrap_err();
    assert_eq!(error.code(), "dry_run_needs_output");
    assert!(error.message().contains("n/s"), "{error}");
}

#[test]
fn keys_of_a_rehearsal_tell_a_step_inside_from_one_with_a_slash_in_its_name() {
    let log = Log::new();
    let mut registry = Registry::with_policy(toolwright::Policy::new().may_chain(["send", "in"]));
    registry.register(log.writes("send")).unwrap();
    registry.register(composite("in", &steps(&[("b", "send", json!({"to": "inner"}))]))).unwrap();
    let spec = json!({"strictMode": false, "steps": [
        {"name": "a", "tool": "in"},
        {"name": "a/b", "tool": "send", "inputMapping": {"to": "outer"}},
        {"name": "a%2Fb", "tool": "send", "inputMapping": {"to": "third"}},
    ]});
    registry.register(composite("main", &spec)).unwrap();
    let catalog = registry.seal();
    let error = rehearse(&catalog, StepOutputs::new().with("a/b", 1)).unwrap_err();
    assert!(error.code() == "dry_run_needs_output" && error.message().contains("a%2Fb"), "{error}");
    let result = rehearse(&catalog, StepOutputs::new().with("a/b", 1).with("a%2Fb", 2).with("a%252Fb", 3)).unwrap();
    assert_eq!((result.output, result.effects.len(), result.notes.len()), (Some(json!(3)), 3, 0));
    assert!(log.is_empty());
}

#[test]
fn a_leaf_with_side_effects_is_not_run_either() {
    let log = Log::new();
    let mut registry = Registry::new();
    registry.register(log.writes("send")).unwrap().register(log.undeclared("old")).unwrap().register(log.echo("read")).unwrap();
    let catalog = registry.seal();
    for name in ["send", "old"] {
        let call = || Invocation::new(name, json!({"x": 1}));
        assert_eq!(block_on(catalog.invoke(call().dry(StepOutputs::new()), ())).unwrap_err().code(), "dry_run_needs_output");
        let result = block_on(catalog.invoke(call().dry(StepOutputs::new().with(name, 5)), ())).unwrap();
        assert_eq!(result.output, Some(json!(5)));
        assert_eq!(effects(&result).get_index(0).unwrap().get("wouldRun"), Some(&json!(true)));
        let result = block_on(catalog.invoke(call().rehearse(StepOutputs::new().with(name, 6)), ())).unwrap();
        assert_eq!(result.output, Some(json!(6)));
    }
    assert!(log.is_empty());
    block_on(catalog.invoke(Invocation::new("read", json!({})).dry(StepOutputs::new()), ())).unwrap();
    assert_eq!(log.tools(), ["read"]);
}

#[test]
fn the_same_outputs_can_be_used_again() {
    let log = Log::new();
    let catalog = catalog([log.writes("send")], &steps(&[("s", "send", json!({}))]));
    let outputs = StepOutputs::new().with("s", 1).with("other", 2);
    for _ in 0..2 {
        assert_eq!(dry(&catalog, outputs.clone()).unwrap().notes.len(), 1);
    }
}

#[test]
fn an_output_that_was_given_brings_nothing_of_the_step_before() {
    let log = Log::new();
    let page = log.close(tool("page", "A tool").reads(), |_| {
        Ok(toolwright::Answer::new("text").content_type("text/plain").details(json!({"own": 1})).content(json!([{"type": "text"}])))
    });
    let catalog = catalog([page, log.writes("send")], &steps(&[("a", "page", json!({})), ("b", "send", json!({}))]));
    let result = dry(&catalog, StepOutputs::new().with("b", json!({"id": 1}))).unwrap();
    assert_eq!(result.output, Some(json!({"id": 1})));
    assert_eq!((result.content_type, result.details, result.content), (None, None, None));
}

#[test]
fn repairs_of_a_leaf_that_is_not_run_are_told() {
    let log = Log::new();
    let schema = json!({"type": "object", "properties": {"n": {"type": "integer"}}});
    let send = log.close(tool("send", "A tool").writes().input_schema(schema), |input| Ok(input.into()));
    let catalog = Registry::new().with(send).unwrap().seal();
    let outputs = StepOutputs::new().with("send", 1);
    let result = block_on(catalog.invoke(Invocation::new("send", json!({"n": 1.0})).dry(outputs), ())).unwrap();
    assert!(log.is_empty() && result.notes.iter().any(|note| note.contains("/n")), "{:?}", result.notes);
}

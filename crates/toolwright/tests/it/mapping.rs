//! What a step is given: mappings resolved over real values, in both dialects.

use toolwright::{CallError, Composite, CompositeSpec, Dialect, Fault, Invocation, Registry, Severity, SpecIssue, Value, json};

use crate::world::{Log, block_on, catalog, composite, detail, parsed, run, run_main, steps, try_catalog};

/// What the second step gets when the first one gave `output` and the second maps `mapping`.
fn mapped_with(output: &str, mapping: &str, input: &str, strict: bool) -> Result<Value, CallError> {
    let log = Log::new();
    let spec = json!({
        "strictMode": strict,
        "steps": [{"name": "one", "tool": "gives"}, {"name": "two", "tool": "echo", "inputMapping": parsed(mapping).to_json()}],
    });
    block_on(run_main([log.gives("gives", parsed(output)), log.echo("echo")], &spec, parsed(input)))?;
    Ok(log.input_of("two"))
}

fn mapped(output: &str, mapping: &str) -> Result<String, CallError> {
    mapped_with(output, mapping, r#"{"topic": "ducks"}"#, true).map(|arguments| arguments.to_json_string())
}

#[test]
fn values_arrive_as_they_were() {
    let output = r#"{"big":123456789012345678901234567890,"one":1.0,"small":1e-400,"zero":-0.0,"b":true,"n":null,"e":[],"o":{},"s":"3","z":{"y":1,"a":2}}"#;
    assert_eq!(mapped(output, r#"{"all": "$prev"}"#).unwrap(), format!(r#"{{"all":{output}}}"#));
    for member in ["big", "one", "small", "zero", "b", "n", "e", "o", "s", "z"] {
        let value = parsed(output).get(member).unwrap().to_json_string();
        assert_eq!(mapped(output, &format!(r#"{{"v": "$prev.{member}"}}"#)).unwrap(), format!(r#"{{"v":{value}}}"#));
        assert_eq!(mapped(output, &format!(r#"{{"v": "$steps.one.{member}"}}"#)).unwrap(), format!(r#"{{"v":{value}}}"#));
        assert_eq!(mapped(output, &format!(r#"{{"v": "$steps[0][\"{member}\"]"}}"#)).unwrap(), format!(r#"{{"v":{value}}}"#));
    }
}

#[test]
fn objects_and_arrays_are_resolved_whatever_their_depth() {
    let mapping = r#"{"z": 1, "list": ["$input.topic", "x", ["$prev.a"], {"k": "$prev.a", "$input": 2.50}], "o": {"b": "$prev", "a": {}}}"#;
    let want = r#"{"z":1,"list":["ducks","x",[7],{"k":7,"$input":2.50}],"o":{"b":{"a":7},"a":{}}}"#;
    assert_eq!(mapped(r#"{"a": 7}"#, mapping).unwrap(), want);
}

#[test]
fn the_page_takes_arrays_as_they_stand() {
    let mapping = r#"{"list": ["$input.topic", {"k": "$prev"}], "o": {"x": "$input.topic"}}"#;
    let given = mapped_with("{}", mapping, r#"{"topic": "ducks"}"#, false).unwrap();
    assert_eq!(given.to_json_string(), r#"{"list":["$input.topic",{"k":"$prev"}],"o":{"x":"ducks"}}"#);
}

#[test]
fn positions_and_keys_are_told_apart() {
    let output = r#"{"list": ["p", "q"], "map": {"0": "zero", "1": "one"}, "deep": [[1, [2]]]}"#;
    for (text, want) in [
        ("$prev.list.0", r#""p""#),
        ("$prev.list[1]", r#""q""#),
        ("$prev.map.0", r#""zero""#),
        (r#"$prev.map["1"]"#, r#""one""#),
        ("$prev.deep.0.1[0]", "2"),
    ] {
        let mapping = Value::object([("v", text)]).to_json_string();
        assert_eq!(mapped(output, &mapping).unwrap(), format!(r#"{{"v":{want}}}"#), "{text}");
    }
    for text in
        ["$prev.list.2", "$prev.list[2]", "$prev.list.length", r#"$prev.list["0"]"#, "$prev.map[0]", "$prev.list.01", "$prev.list.name"]
    {
        let error = mapped(output, &Value::object([("v", text)]).to_json_string()).unwrap_err();
        assert_eq!(error.code(), "unresolved_reference", "{text}");
    }
}

#[test]
fn odd_keys_are_reached_with_brackets() {
    let output = r#"{"a.b": 1, "first name": 2, "q\"q": 3, "x[0]": 4, "": 5, "back\\slash": 6, "é": 7, "a/b~c": 8, "new\nline": 9}"#;
    for (number, (key, _)) in parsed(output).as_object().unwrap().iter().enumerate() {
        let reference = format!("$prev[{}]", Value::from(key.clone()));
        let mapping = Value::object([("v", reference.as_str())]).to_json_string();
        assert_eq!(mapped(output, &mapping).unwrap(), format!(r#"{{"v":{}}}"#, number + 1), "{reference}");
    }
}

#[test]
fn what_arrives_is_never_read_again() {
    let output = r#"{"a": "$input.topic", "b": {"c": ["$steps[0].a", "$$x"]}, "$prev": 1}"#;
    assert_eq!(mapped(output, r#"{"v": "$prev.a", "w": "$prev.b", "all": ["$prev"]}"#).unwrap(), {
        let whole = parsed(output).to_json_string();
        format!(r#"{{"v":"$input.topic","w":{{"c":["$steps[0].a","$$x"]}},"all":[{whole}]}}"#)
    });
    let given = mapped_with("{}", r#"{"v": "$input.t"}"#, r#"{"t": "$prev.a?"}"#, true).unwrap();
    assert_eq!(given.to_json_string(), r#"{"v":"$prev.a?"}"#);
}

#[test]
fn optional_members_are_left_out_when_missing_and_kept_when_null() {
    let mapping = r#"{"a": "$prev.a?", "n": "$prev.n?", "list": ["$prev.a?", 1, "$prev.n?"], "o": {"gone": "$prev.x.y.z?"}, "last": "$prev.t.deep?"}"#;
    assert_eq!(mapped(r#"{"n": null, "t": "text"}"#, mapping).unwrap(), r#"{"n":null,"list":[1,null],"o":{}}"#);
    assert_eq!(mapped(r#"{"a": 1, "n": 2, "t": {"deep": 3}}"#, mapping).unwrap(), r#"{"a":1,"n":2,"list":[1,1,2],"o":{},"last":3}"#);
}

#[test]
fn the_page_leaves_out_what_is_missing() {
    let mapping = r#"{"a": "$prev.a", "b": "$steps[7]", "c": "$steps[1]", "n": "$prev.n", "len": "$prev.list.length", "lit": "$steps.one", "esc": "$$input"}"#;
    let given = mapped_with(r#"{"n": null, "list": [1, 2]}"#, mapping, "{}", false).unwrap();
    assert_eq!(given.to_json_string(), r#"{"n":null,"len":2,"lit":"$steps.one","esc":"$$input"}"#);
}

#[test]
fn prev_of_the_first_step_is_null_on_the_page_and_an_error_here() {
    let log = Log::new();
    let page = json!({"strictMode": false, "steps": [{"name": "a", "tool": "echo", "inputMapping": {"v": "$prev", "w": "$prev.x"}}]});
    block_on(run_main([log.echo("echo")], &page, json!({}))).unwrap();
    assert_eq!(log.input_of("a"), json!({"v": null}));

    let error = try_catalog([log.echo("echo")], &steps(&[("a", "echo", json!({"v": "$prev"}))])).unwrap_err();
    assert_eq!(error.code(), "forward_reference");
}

#[test]
fn a_missing_path_names_everything_a_reader_needs() {
    let log = Log::new();
    let spec = steps(&[("look", "gives", json!({})), ("sum", "echo", json!({"lang": {"code": "$prev.info.langauge"}}))]);
    let tools = [log.gives("gives", json!({"info": {"language": "en", "size": 3}})), log.echo("echo")];
    let error = block_on(run_main(tools, &spec, json!({}))).unwrap_err();
    assert_eq!(log.tools(), ["gives"], "the tool of the failing step was not touched");
    assert_eq!(error.code(), "unresolved_reference");
    let Fault::Unresolved(unresolved) = error.root_cause() else { panic!("{error:?}") };
    assert_eq!(unresolved.pointer, "/lang/code");
    let text = unresolved.reference.text.as_str();
    assert_eq!(&text[unresolved.span.clone()], "langauge");
    assert_eq!(unresolved.nearest.as_deref(), Some("$prev.info.language"));
    assert!(unresolved.found.contains("`language`") && unresolved.found.contains("`size`"), "{}", unresolved.found);
    assert!(error.message().starts_with(r#"Step "sum" (tool: "echo") refused: unresolved_reference: "#), "{error}");
    assert_eq!(detail(&error, "completed"), Some(json!(["look"])));
    assert_eq!(detail(&error, "effects"), Some(json!([])));
    assert_eq!(detail(&error, "step"), Some(json!("sum")));
    assert_eq!(detail(&error, "stepIndex"), Some(json!(1)));
}

#[test]
fn missing_is_a_walk_into_anything_but_an_object_or_array() {
    for (output, text, found) in [
        (r#"{"a": "text"}"#, "$prev.a.b", "string"),
        (r#"{"a": 7}"#, "$prev.a.b", "integer"),
        (r#"{"a": null}"#, "$prev.a.b", "null"),
        (r#"{"a": true}"#, "$prev.a[0]", "boolean"),
        (r#"{"a": []}"#, "$prev.a[0]", "array of 0"),
        (r#"{"a": {}}"#, "$prev.a.b", "empty"),
        (r#""text""#, "$prev.length", "string"),
    ] {
        let error = mapped(output, &Value::object([("v", text)]).to_json_string()).unwrap_err();
        let Fault::Unresolved(unresolved) = error.root_cause() else { panic!("{error:?}") };
        assert!(unresolved.found.contains(found), "{text}: {}", unresolved.found);
    }
}

#[test]
fn a_step_without_output_has_no_value() {
    let log = Log::new();
    let silent = log.close(toolwright::tool("silent", "says nothing").reads(), |_| Ok(toolwright::Answer::empty()));
    let spec = |mapping| steps(&[("a", "silent", json!({})), ("b", "echo", mapping)]);
    let error = block_on(run_main([silent.clone(), log.echo("echo")], &spec(json!({"v": "$prev"})), json!({}))).unwrap_err();
    assert_eq!(error.code(), "unresolved_reference");
    let log = Log::new();
    block_on(run_main([silent, log.echo("echo")], &spec(json!({"v": "$prev?", "w": "$steps.a.x?"})), json!({}))).unwrap();
    assert_eq!(log.input_of("b"), json!({}));
}

fn build_issues(spec: &Value) -> Vec<SpecIssue> {
    let log = Log::new();
    let issues = try_catalog([log.echo("echo")], spec).map(|_| Vec::new()).unwrap_or_else(|error| error.issues());
    assert!(log.is_empty());
    issues
}

#[test]
fn all_bad_references_come_at_once_each_with_its_place() {
    let spec = json!({
        "steps": [
            {"name": "a", "tool": "echo", "inputMapping": {"p": "$prev.x", "q": ["ok", {"r/s": "$inptu.q"}]}},
            {"name": "b", "tool": "echo", "inputMapping": {"t": "$steps.c.x", "u": "$steps[1]", "v": "$steps.bb", "w": "$steps[9]?"}},
            {"name": "c", "tool": "echo", "inputMapping": {"ok": "$steps.a"}},
        ],
        "output": {"x": "$steps.a", "y": "$steps.nobody", "z": "$input.a.?"},
    });
    let found: Vec<(String, &str, Option<std::ops::Range<usize>>)> =
        build_issues(&spec).into_iter().map(|issue| (issue.pointer, issue.code, issue.span)).collect();
    let want = [
        ("/steps/0/inputMapping/p", "forward_reference", 0..5),
        ("/steps/0/inputMapping/q/1/r~1s", "invalid_reference", 1..6),
        ("/steps/1/inputMapping/t", "forward_reference", 0..8),
        ("/steps/1/inputMapping/u", "forward_reference", 0..9),
        ("/steps/1/inputMapping/v", "invalid_reference", 0..9),
        ("/steps/1/inputMapping/w", "invalid_reference", 0..9),
        ("/output/y", "invalid_reference", 0..13),
        ("/output/z", "invalid_reference", 9..10),
    ];
    let want: Vec<_> = want.into_iter().map(|(pointer, code, span)| (pointer.to_owned(), code, Some(span))).collect();
    assert_eq!(found, want);
}

#[test]
fn an_unknown_step_suggests_the_nearest_earlier_one() {
    let spec = json!({"strictMode": true, "steps": [
        {"name": "search", "tool": "echo"},
        {"name": "b", "tool": "echo", "inputMapping": {"v": "$steps.serach.items[0]?"}},
    ]});
    let issues = build_issues(&spec);
    assert_eq!(issues.len(), 1);
    assert_eq!(issues[0].severity, Severity::Error);
    assert!(issues[0].help.as_deref().unwrap().contains("`$steps.search.items[0]?`"), "{:?}", issues[0].help);
}

#[test]
fn the_output_mapping_sees_every_step() {
    let log = Log::new();
    let spec = json!({
        "steps": [{"name": "a", "tool": "one"}, {"name": "b", "tool": "two"}],
        "output": {"first": "$steps.a", "last": "$prev", "again": "$steps[1].v", "in": "$input.topic", "maybe": "$steps.a.x?", "list": ["$steps.b", 1.0]},
    });
    let tools = [log.gives("one", json!({"v": 1})), log.gives("two", json!({"v": 2}))];
    let result = block_on(run_main(tools, &spec, json!({"topic": "ducks"}))).unwrap();
    let want = r#"{"first":{"v":1},"last":{"v":2},"again":2,"in":"ducks","list":[{"v":2},1.0]}"#;
    assert_eq!(result.output.unwrap().to_json_string(), want);
}

#[test]
fn a_missing_value_in_the_output_mapping_still_tells_what_happened() {
    let log = Log::new();
    let spec = json!({"steps": [{"name": "send", "tool": "send"}], "output": {"v": "$prev.nothing"}});
    let catalog = catalog([log.writes("send")], &spec);
    let error = block_on(run(&catalog, "main", json!({}))).unwrap_err();
    assert_eq!(log.tools(), ["send"]);
    assert_eq!(error.code(), "unresolved_reference");
    assert_eq!(detail(&error, "completed"), Some(json!(["send"])));
    let effect = json!([{"kind": "step", "step": "send", "stepIndex": 0, "tool": "send", "ran": true}]);
    assert_eq!(detail(&error, "effects"), Some(effect.clone()));
    assert_eq!(error.to_value().get("effects"), Some(&effect));
    assert_eq!(error.effects().len(), 1);
    assert!(!error.is_refusal(), "a tool ran");

    // The same from inside: the outer composite still knows.
    let spec = CompositeSpec::from_value(&spec).unwrap();
    let mut registry = Registry::with_policy(toolwright::Policy::new().may_chain(["send", "inner"]));
    registry.register(log.writes("send")).unwrap();
    registry.register(Composite::new("inner", "A tool").spec(spec)).unwrap();
    registry.register(composite("outer", &steps(&[("in", "inner", json!({}))]))).unwrap();
    let error = block_on(run(&registry.seal(), "outer", json!({}))).unwrap_err();
    let via = json!([{"kind": "step", "step": "send", "stepIndex": 0, "tool": "send", "ran": true, "via": ["in"]}]);
    assert_eq!(detail(&error, "effects"), Some(via));
}

#[test]
fn a_literal_dollar_text_of_the_page_warns_once_at_build_and_once_a_run() {
    let log = Log::new();
    let spec = json!({"strictMode": false, "steps": [{"name": "a", "tool": "echo", "inputMapping": {"o": {"v": "$steps.a"}}}]});
    let mut registry = Registry::new();
    registry.register(log.echo("echo")).unwrap();
    registry.register(composite("main", &spec)).unwrap();
    let warnings: Vec<(&str, &str, &str)> =
        registry.warnings().iter().map(|(name, issue)| (name.as_str(), issue.code, issue.pointer.as_str())).collect();
    assert_eq!(warnings, [("main", "literal_reference", "/steps/0/inputMapping/o/v")]);
    let catalog = registry.seal();
    assert_eq!(catalog.get("main").unwrap().composite().unwrap().warnings().len(), 1);
    let events = std::sync::Arc::new(crate::world::Events::default());
    for runs in 1..=2 {
        block_on(catalog.invoke(Invocation::new("main", json!({})).diagnostics(events.scope()), ())).unwrap();
        let warnings = events.warnings();
        assert_eq!(warnings.len(), runs);
        let (code, path, message) = &warnings[0];
        assert_eq!((code.as_str(), path.as_str()), ("literal_reference", "main/0:a"));
        assert!(message.contains("$steps.a") && message.contains("/steps/0/inputMapping/o/v"), "{message}");
    }
}

#[test]
fn text_that_mentions_a_reference_is_a_warning_of_lint() {
    let log = Log::new();
    let catalog = catalog([log.echo("echo")], &steps(&[("a", "echo", json!({}))]));
    let issues = catalog.lint(&steps(&[("a", "echo", json!({"t": "cost: $input.amount", "u": "US$ 5", "v": "a $inputs b"}))]));
    let found: Vec<(&str, &str)> = issues.iter().map(|issue| (issue.code, issue.pointer.as_str())).collect();
    assert_eq!(found, [("reference_in_text", "/steps/0/inputMapping/t")]);
    assert_eq!(issues[0].severity, Severity::Warning);
}

/// References as other languages write them are text, and their author is told so; a template for a tool is not.
#[test]
fn a_reference_in_another_language_is_a_warning_of_lint() {
    let log = Log::new();
    let catalog = catalog([log.echo("echo")], &steps(&[("a", "echo", json!({}))]));
    let told = |text: &str| {
        let issues = catalog.lint(&steps(&[("a", "echo", json!({ "x": 1 })), ("b", "echo", json!({ "t": [{ "u": text }] }))]));
        let about = issues.iter().filter(|issue| issue.pointer == "/steps/1/inputMapping/t/0/u");
        about.map(|issue| (issue.code, issue.severity, issue.help.clone().unwrap_or_default())).collect::<Vec<_>>()
    };
    for (text, meant) in [
        ("${input.x}", "$input.x"),
        ("{{input.x}}", "$input.x"),
        ("{{ $prev.title }}", "$prev.title"),
        ("$.input.x", "$input.x"),
        ("$(prev)", "$prev"),
        ("${steps.a[0]}", "$steps.a[0]"),
    ] {
        let [(code, severity, help)] = &told(text)[..] else { panic!("{text}: {:?}", told(text)) };
        assert_eq!((*code, *severity), ("reference_in_text", Severity::Warning), "{text}");
        assert!(help.starts_with(&format!("did you mean `{meant}`?")), "{text}: {help}");
        assert_eq!(help.contains("$$"), text.starts_with('$'), "{text}: {help}");
    }
    assert_eq!(told("Hello ${input.name}, welcome").len(), 1);
    for text in [
        "$${input.x}",
        "$$(prev)",
        "$.title",
        "$.store.book[0]",
        "Hello {{input.name}}",
        "{{name}}",
        "{{#if input.x}}y{{/if}}",
        "${HOME}",
        "echo ${input}",
        "echo $(prev)",
        "$(date)",
        "{{inputs.x}}",
        "$5",
        "{input.x}",
        "${input.x | upper}",
    ] {
        let expected = usize::from(text == "${input.x | upper}");
        assert_eq!(told(text).len(), expected, "{text}: {:?}", told(text));
    }
}

#[test]
fn a_dialect_can_be_chosen_for_specifications_that_do_not_say() {
    let composer: toolwright::Composer = toolwright::Composer::new(toolwright::HostGate::new(|_| None));
    assert!(composer.strict_mode());
    assert!(!composer.clone().dialect(Dialect::Page).strict_mode());
    let spec = json!({"steps": [{"name": "a", "tool": "t", "inputMapping": {"v": "$steps.x"}}]});
    assert!(composer.build("x", "", json!({}), &spec).is_err());
    assert!(composer.dialect(Dialect::Page).build("x", "", json!({}), &spec).is_ok());
}

//! Everything has a limit, and a value that meets one is an error and not the end of the process.

use toolwright::{Call, Composite, CompositeSpec, EffectState, Fault, Invocation, Limits, Policy, Registry, Value, json, limits, tool};

use crate::world::{Log, block_on, catalog, composite, detail, run, run_main, steps};

fn doubling(count: usize) -> Value {
    let step = |at: usize| {
        let mapping = if at == 0 { json!({"a": "$input", "b": "$input"}) } else { json!({"a": "$prev", "b": "$prev"}) };
        json!({"name": format!("s{at}"), "tool": "echo", "inputMapping": mapping.to_json()})
    };
    Value::object([("steps", Value::array((0..count).map(step)))])
}

#[test]
fn sixty_doublings_end_with_a_clear_error() {
    let log = Log::new();
    let error = block_on(run_main([log.echo("echo")], &doubling(60), json!({"text": "0123456789"}))).unwrap_err();
    assert_eq!(error.code(), "value_too_large");
    let step = error.step().unwrap();
    assert!((15..30).contains(&step.index), "64 MiB is met after some twenty doublings, not at step {}", step.index);
    assert_eq!(log.all().len(), step.index, "the tool was not given what is too large");
    assert_eq!(detail(&error, "completed").unwrap().as_array().unwrap().len(), step.index);
    assert!(error.message().contains(&limits::VALUE_BYTES_MAX.to_string()), "{error}");
    assert!(error.message().len() < 500 && error.help().is_some());
}

#[test]
fn a_host_can_choose_the_limit_and_both_sides_are_held_to_it() {
    let log = Log::new();
    let big = log.close(tool("big", "A tool").writes(), |_| Ok(Value::from("x".repeat(2_000)).into()));
    let mut registry = Registry::with_policy(Policy::new().may_chain(["big"]).limits(Limits::default().value_bytes(1_000)));
    registry.register(log.echo("echo")).unwrap().register(big).unwrap();
    registry.register(composite("main", &steps(&[("b", "big", json!({}))]))).unwrap();
    let catalog = registry.seal();
    let error = block_on(run(&catalog, "echo", json!({"t": "x".repeat(2_000)}))).unwrap_err();
    assert!(matches!(error.fault(), Fault::TooLarge { what: "arguments", .. }), "{error}");
    assert_eq!(error.effect_state(), EffectState::NotStarted);
    assert!(log.is_empty());
    let error = block_on(run(&catalog, "main", json!({}))).unwrap_err();
    assert!(matches!(error.root_cause(), Fault::TooLarge { what: "output", .. }), "{error}");
    assert_eq!(error.effect_state(), EffectState::Happened);
    assert_eq!(error.effects().len(), 1, "it was written");
    block_on(run(&catalog, "echo", json!({"t": "x".repeat(900)}))).unwrap();
}

#[test]
fn the_output_mapping_is_held_to_the_limit_too() {
    let log = Log::new();
    let mut registry = Registry::with_policy(Policy::new().limits(Limits::default().value_bytes(1_000)));
    registry.register(log.echo("echo")).unwrap();
    let copies = Value::object((0..10).map(|at| (format!("k{at}"), "$prev")));
    let spec = json!({"steps": [{"name": "e", "tool": "echo", "inputMapping": {"t": "$input.t"}}], "output": copies.to_json()});
    registry.register(composite("main", &spec)).unwrap();
    let catalog = registry.seal();
    let error = block_on(run(&catalog, "main", json!({"t": "x".repeat(500)}))).unwrap_err();
    assert_eq!(error.code(), "value_too_large");
    assert_eq!(detail(&error, "completed"), Some(json!(["e"])));
    block_on(run(&catalog, "main", json!({"t": "x"}))).unwrap();
}

#[test]
fn values_that_nest_too_deep_are_refused_at_every_border() {
    let deep = |levels: usize| (0..levels).fold(Value::from(1), |inner, _| Value::array([inner]));
    let log = Log::new();
    let most = limits::VALUE_DEPTH_MAX as usize;
    let gives =
        log.close(tool("deep", "A tool").reads(), move |input| Ok(deep(input.get("n").and_then(Value::as_u64).unwrap() as usize).into()));
    let catalog = catalog([gives, log.echo("echo")], &steps(&[("a", "echo", json!({"v": ["$input.v"]}))]));
    block_on(run(&catalog, "deep", json!({"n": most}))).unwrap();
    let error = block_on(run(&catalog, "deep", json!({"n": most + 1}))).unwrap_err();
    assert_eq!(error.code(), "value_too_large");
    assert!(error.message().contains(&most.to_string()), "{error}");
    block_on(run(&catalog, "deep", json!({"n": 5000}))).unwrap_err();

    let deepest = (0..most - 1).fold(Value::from(1), |inner, _| Value::array([inner]));
    let error = block_on(run(&catalog, "main", Value::object([("v", deepest.clone())]))).unwrap_err();
    assert_eq!(error.code(), "value_too_large");
    assert_eq!(error.step().map(|step| step.step.as_str()), Some("a"), "it got too deep in the mapping");
    let error = block_on(run(&catalog, "echo", Value::object([("v", Value::array([deepest]))]))).unwrap_err();
    assert_eq!(error.code(), "value_too_large");
}

#[test]
fn a_chain_that_wraps_its_output_each_time_ends_at_the_depth() {
    let log = Log::new();
    let steps = (0..140).map(|at| json!({"name": format!("s{at}"), "tool": "echo", "inputMapping": if at == 0 { json!({}).to_json() } else { json!({"p": "$prev"}).to_json() }}));
    let spec = Value::object([("steps", Value::array(steps))]);
    let error = block_on(run_main([log.echo("echo")], &spec, json!({}))).unwrap_err();
    assert_eq!(error.code(), "value_too_large");
    assert_eq!(error.step().unwrap().index, limits::VALUE_DEPTH_MAX as usize);
}

#[test]
fn a_composite_has_a_most_number_of_steps_and_a_mapping_a_most_depth() {
    let many =
        |count: usize| Value::object([("steps", Value::array((0..count).map(|at| json!({"name": format!("s{at}"), "tool": "echo"}))))]);
    let log = Log::new();
    let result = block_on(run_main([log.echo("echo")], &many(limits::COMPOSITE_STEPS_MAX), json!({}))).unwrap();
    assert_eq!(result.output, Some(json!({})));
    assert_eq!(log.all().len(), limits::COMPOSITE_STEPS_MAX);
    let error = toolwright::CompositeSpec::from_value(&many(limits::COMPOSITE_STEPS_MAX + 1)).unwrap_err();
    assert_eq!(error.issues[0].pointer, "/steps");
    let nested = (0..limits::MAPPING_DEPTH_MAX).fold(json!("$input"), |inner, _| Value::array([inner]));
    let spec = steps(&[("a", "echo", Value::object([("v", nested)]))]);
    let error = toolwright::CompositeSpec::from_value(&spec).unwrap_err();
    assert_eq!(error.issues[0].pointer, "/steps/0/inputMapping");
}

#[test]
fn a_long_name_or_key_is_cut_in_messages() {
    let log = Log::new();
    let long = "x".repeat(5_000);
    let catalog = catalog(
        [log.gives("gives", Value::object((0..300).map(|at| (format!("{long}{at}"), at)))), log.echo("echo")],
        &steps(&[("a", "gives", json!({})), ("b", "echo", json!({"v": "$prev.nothing"}))]),
    );
    let error = block_on(run(&catalog, "main", json!({}))).unwrap_err();
    assert!(error.message().len() < 5_000, "{}", error.message().len());
    for issue in
        catalog.lint(&json!({"steps": [{"name": long, "tool": long, long.clone(): 1, "inputMapping": {"v": format!("$typo{long}")}}]}))
    {
        assert!(issue.message.len() < 1_000, "{}: {}", issue.code, issue.message.len());
    }
    assert!(block_on(run(&catalog, &long, json!({}))).unwrap_err().message().len() < 1_000);
}

#[test]
fn a_suggestion_costs_little_whatever_the_names_are() {
    // Comparing two names of this size in full would need tens of gigabytes.
    let (wanted, key) = ("k".repeat(100_000), "k".repeat(99_999));
    let log = Log::new();
    let catalog = catalog(
        [log.gives("gives", Value::object([(key, 1), ("short".to_owned(), 2)])), log.echo("echo")],
        &steps(&[("a", "gives", json!({})), ("b", "echo", json!({"v": format!("$prev.{wanted}")}))]),
    );
    assert_eq!(block_on(run(&catalog, "main", json!({}))).unwrap_err().code(), "unresolved_reference");
    let long = "n".repeat(limits::NEAREST_NAME_BYTES_MAX + 1);
    assert_eq!(toolwright::nearest::nearest(&long, [long.as_str()]), None);
    assert_eq!(toolwright::nearest::nearest("name", [long.as_str(), "nane"]), Some("nane"));
}

#[test]
fn composites_that_multiply_their_effects_list_some_and_count_the_rest() {
    let mut registry = Registry::with_policy(Policy::new().may_chain(["w", "c1", "c2", "c3", "c4", "c5", "c6", "c7"]));
    registry.register(tool("w", "Writes").writes().run_json(|input, _| async move { Ok(input) })).unwrap();
    let mut below = "w".to_owned();
    for level in 1..=7 {
        let steps: Vec<Value> = (0..10).map(|step| json!({ "name": format!("s{step}"), "tool": below.as_str() })).collect();
        let spec = CompositeSpec::from_value(&Value::object([("steps", Value::array(steps))])).unwrap();
        below = format!("c{level}");
        registry.register(Composite::new(below.as_str(), "Ten of them").spec(spec)).unwrap();
    }
    let catalog = registry.seal();
    let body = catalog.get("c7").and_then(|tool| tool.composite()).unwrap();
    assert_eq!(body.effects().len() + body.effects_left_out(), 10_000_000);
    assert!(body.effects().len() <= limits::COMPOSITE_EFFECTS_MAX);
    assert_eq!(catalog.get("c7").and_then(|tool| tool.has_side_effects()), Some(true));
}

#[test]
fn a_tool_that_calls_itself_meets_the_usual_limit_and_not_the_end_of_the_stack() {
    let again = tool("again", "Calls itself").reads().run_json(|input, call: Call| async move {
        let result = call.invoke("again", input).await?;
        Ok(result.value().clone())
    });
    let error = block_on(Registry::new().with(again).unwrap().seal().invoke(Invocation::new("again", json!({})), ())).unwrap_err();
    assert_eq!(error.code(), "calls_too_deep");
}

#[test]
fn of_effects_without_an_end_it_is_said_how_many_are_not_listed() {
    let log = Log::new();
    let mail = tool("mail", "Mails").writes().run_json(|input, _| async move { Ok(input) });
    let many = limits::RUN_EFFECTS_MAX + 5;
    let busy = tool("busy", "Mails and mails").writes().run_json(move |input, call: Call| async move {
        for _ in 0..many {
            call.invoke("mail", json!({})).await?;
        }
        Ok(input)
    });
    let catalog = catalog([mail, busy, log.writes("last")], &steps(&[("b", "busy", json!({})), ("l", "last", json!({}))]));
    let result = block_on(run(&catalog, "busy", json!({}))).unwrap();
    // It is not listed itself either.
    assert_eq!(result.effects.len(), limits::RUN_EFFECTS_MAX + 1);
    assert_eq!(result.effects.last(), Some(&toolwright::EffectRecord::LeftOut(6)));
    let result = block_on(run(&catalog, "main", json!({}))).unwrap();
    assert_eq!((result.effects.len(), log.tools().len()), (limits::RUN_EFFECTS_MAX + 1, 1));
    let listed = result.to_value();
    let last = listed.get("effects").and_then(Value::as_array).and_then(<[Value]>::last);
    assert_eq!(last, Some(&json!({ "kind": "leftOut", "count": 7 })));
}

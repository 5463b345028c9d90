//! Running: order, results, failures, effects, depth, what tools see.

use std::sync::{Arc, Mutex};

use toolwright::{
    Answer, Composer, Composite, CompositeSpec, Context, Diagnostics, EffectState, EventName, Fact, Fault, HostGate, Invocation, Observer,
    Policy, Registry, ToolDef, ToolError, Value, json, tool,
};

use crate::world::{Events, Log, block_on, catalog, composite, detail, run, run_main, said, steps};

#[test]
fn steps_run_in_order_and_the_last_answers() {
    let log = Log::new();
    let text =
        log.close(tool("text", "A tool").reads(), |_| Ok(Answer::new("done").content_type("text/markdown").note("one character replaced")));
    let spec = steps(&[("a", "echo", json!({"n": 1})), ("b", "echo", json!({"n": "$prev.n"})), ("c", "text", json!({}))]);
    let result = block_on(run_main([log.echo("echo"), text], &spec, json!({}))).unwrap();
    assert_eq!(log.all().iter().map(|seen| seen.step.as_str()).collect::<Vec<_>>(), ["a", "b", "c"]);
    assert_eq!(result.output, Some(json!("done")));
    assert_eq!(result.content_type.as_deref(), Some("text/markdown"));
    assert_eq!(result.notes, ["one character replaced"]);
    let want =
        json!({"success": true, "output": "done", "contentType": "text/markdown", "effects": [], "notes": ["one character replaced"]});
    assert_eq!(result.to_value(), want);
}

#[test]
fn a_null_input_is_no_input_and_a_leaf_is_called_like_a_composite() {
    let log = Log::new();
    let catalog = catalog([log.echo("echo"), log.writes("send")], &steps(&[("a", "echo", json!({"all": "$input"}))]));
    block_on(run(&catalog, "main", Value::Null)).unwrap();
    assert_eq!(log.input_of("a"), json!({"all": {}}));
    let result = block_on(run(&catalog, "send", json!({"x": 1}))).unwrap();
    let effects = json!([{"kind": "step", "step": "send", "stepIndex": 0, "tool": "send", "ran": true}]);
    assert_eq!(result.to_value(), json!({"success": true, "output": {"x": 1}, "effects": effects.to_json()}));
}

#[test]
fn an_unknown_tool_is_named_with_the_nearest() {
    let log = Log::new();
    let catalog = catalog([log.echo("search")], &steps(&[("a", "search", json!({}))]));
    let error = block_on(run(&catalog, "serach", json!({}))).unwrap_err();
    assert_eq!(error.code(), "unavailable");
    assert!(error.message().contains("`serach`") && error.help().unwrap().contains("`search`"));
    assert_eq!(catalog.nearest("serach"), Some("search"));
}

#[test]
fn a_failure_ends_the_run_and_tells_what_was_done() {
    let log = Log::new();
    let error = ToolError::new("smtp 451").code("smtp").details(json!({"smtp": 451})).help("try later");
    let spec = steps(&[("w", "send", json!({"to": "a"})), ("x", "bad", json!({})), ("never", "send", json!({}))]);
    let failed = block_on(run_main([log.writes("send"), log.fails(tool("bad", "A tool").reads(), error)], &spec, json!({}))).unwrap_err();
    assert_eq!(log.tools(), ["send", "bad"]);
    let effect = json!([{"kind": "step", "step": "w", "stepIndex": 0, "tool": "send", "ran": true}]).to_json();
    let want = json!({
        "success": false,
        "error": "Step \"x\" (tool: \"bad\") failed: smtp 451",
        "help": "try later",
        "details": {
            "smtp": 451, "innerCode": "smtp", "inner": {"smtp": 451, "innerCode": "smtp"},
            "step": "x", "stepIndex": 1, "tool": "bad", "completed": ["w"], "effects": effect,
        },
        "effects": effect,
    });
    assert_eq!(failed.to_value(), want);
    assert_eq!(failed.effect_state(), EffectState::NoEffect);
    assert_eq!(failed.step().unwrap().index, 1);
    assert_eq!(failed.step().unwrap().composite, "main");
}

#[test]
fn a_failure_without_words_is_an_unknown_error() {
    let log = Log::new();
    let spec = steps(&[("x", "bad", json!({}))]);
    let failed = block_on(run_main([log.fails(tool("bad", "A tool").reads(), ToolError::unknown())], &spec, json!({}))).unwrap_err();
    assert_eq!(failed.message(), "Step \"x\" (tool: \"bad\") failed: unknown error");
}

#[test]
fn the_outcome_of_a_failed_write_is_unknown_unless_the_tool_knows() {
    for (error, unknown, state) in [
        (ToolError::new("no"), Some(json!("x")), EffectState::Unknown),
        (ToolError::new("no").outcome_unknown(), Some(json!("x")), EffectState::Unknown),
        (ToolError::new("no").nothing_happened(), None, EffectState::NoEffect),
    ] {
        let log = Log::new();
        let spec = steps(&[("x", "bad", json!({}))]);
        let failed = block_on(run_main([log.fails(tool("bad", "A tool").writes(), error)], &spec, json!({}))).unwrap_err();
        assert_eq!(detail(&failed, "unknownEffect"), unknown);
        assert_eq!(failed.effect_state(), state);
        assert_eq!(detail(&failed, "effects"), Some(json!([])));
    }
}

#[test]
fn a_failed_leaf_tells_of_its_effect_as_a_step_would() {
    let log = Log::new();
    let liar = log.close(tool("liar", "A tool").writes().output_schema(json!({"type": "integer"})), |_| Ok(json!("x").into()));
    let mut registry = Registry::new();
    registry.register(log.fails(tool("gone", "A tool").writes(), ToolError::new("no answer"))).unwrap();
    registry.register(log.fails(tool("sure", "A tool").writes(), ToolError::new("refused").nothing_happened())).unwrap();
    registry.register(log.fails(tool("read", "A tool").reads(), ToolError::new("no"))).unwrap().register(liar).unwrap();
    let catalog = registry.seal();
    let told = |name: &str| {
        let error = block_on(run(&catalog, name, json!({}))).unwrap_err();
        assert_eq!(error.to_value().get("effects"), Some(&Value::array(error.effects().iter().map(toolwright::EffectRecord::to_value))));
        (detail(&error, "unknownEffect"), error.effects().len())
    };
    assert_eq!(told("gone"), (Some(json!("gone")), 0));
    assert_eq!(told("sure"), (None, 0));
    assert_eq!(told("read"), (None, 0));
    assert_eq!(told("liar"), (None, 1), "it wrote, and then broke its promise");
}

#[test]
fn a_code_of_a_tool_never_reads_as_ours() {
    let log = Log::new();
    let bad = log.fails(tool("bad", "A tool").reads(), ToolError::new("no").code("step_not_chainable"));
    let mut registry = Registry::new();
    registry.register(bad).unwrap();
    registry.register(composite("inner", &steps(&[("i", "bad", json!({}))]))).unwrap();
    registry.register(composite("outer", &steps(&[("o", "inner", json!({}))]))).unwrap();
    let error = block_on(run(&registry.seal(), "outer", json!({}))).unwrap_err();
    assert_eq!(detail(&error, "code"), None);
    assert_eq!(detail(&error, "innerCode"), Some(json!("step_not_chainable")));
    assert_eq!(error.message(), "Step \"o\" (tool: \"inner\") failed: Step \"i\" (tool: \"bad\") failed: no");
    assert!(!error.is_refusal(), "a tool ran");
}

#[test]
fn the_code_of_an_inner_refusal_is_inner_outside() {
    let log = Log::new();
    let checks = toolwright::HostChecks::new().disabled(["read"]);
    let mut registry = Registry::with_policy(Policy::new().checks(checks));
    registry.register(log.echo("read")).unwrap();
    registry.register(composite("inner", &steps(&[("i", "read", json!({}))]))).unwrap();
    registry.register(composite("outer", &steps(&[("o", "inner", json!({}))]))).unwrap();
    let error = block_on(run(&registry.seal(), "outer", json!({}))).unwrap_err();
    assert_eq!(error.code(), "step_disabled");
    assert_eq!(detail(&error, "innerCode"), Some(json!("step_disabled")));
    assert_eq!(detail(&error, "code"), None);
    assert_eq!(detail(&error, "inner").unwrap().get("step"), Some(&json!("i")));
    assert!(log.is_empty());
}

#[test]
fn a_panic_is_a_failed_step() {
    let sync =
        tool("sync", "A tool").reads().run_json(|_, _| -> std::future::Ready<Result<Value, ToolError>> { panic!("before the future") });
    let later = tool("later", "A tool").writes().run_json(|_, _| async {
        tokio::task::yield_now().await;
        if true {
            panic!("{} in poll", "deep");
        }
        Ok(Value::Null)
    });
    let odd = tool("odd", "A tool").reads().run_json(|_, _| async {
        if true {
            std::panic::panic_any(7);
        }
        Ok(Value::Null)
    });
    for (bad, message, unknown) in
        [(sync, "before the future", None), (later, "deep in poll", Some(json!("x"))), (odd, "the tool panicked", None)]
    {
        let log = Log::new();
        let name = bad.name().to_owned();
        let spec = steps(&[("a", "echo", json!({})), ("x", &name, json!({})), ("never", "echo", json!({}))]);
        let error = block_on(run_main([log.echo("echo"), bad], &spec, json!({}))).unwrap_err();
        assert_eq!(error.code(), "panicked");
        assert_eq!(error.message(), format!("Step \"x\" (tool: \"{name}\") failed: {message}"));
        assert_eq!(detail(&error, "thrown"), Some(json!(true)));
        assert_eq!(detail(&error, "completed"), Some(json!(["a"])));
        assert_eq!(detail(&error, "unknownEffect"), unknown);
        assert_eq!(log.tools(), ["echo"]);
    }
}

#[test]
fn arguments_are_checked_before_the_tool_and_every_problem_is_named() {
    let log = Log::new();
    let schema = json!({"type": "object", "properties": {"n": {"type": "integer"}, "o": {"type": "object", "properties": {"a/b": {"type": "string"}}}}, "required": ["q"]});
    let strict = log.close(tool("strict", "A tool").writes().input_schema(schema), |input| Ok(input.into()));
    let spec = steps(&[
        ("a", "echo", json!({"n": "x", "k": 7})),
        ("b", "strict", json!({"n": "$prev.n", "o": {"a/b": "$prev.k"}, "q": "$steps[0].q?"})),
    ]);
    let error = block_on(run_main([log.echo("echo"), strict], &spec, json!({}))).unwrap_err();
    assert_eq!(error.code(), "invalid_input");
    assert!(error.message().starts_with("Step \"b\" (tool: \"strict\") refused: invalid_input: "), "{error}");
    let issues = detail(&error, "issues").unwrap();
    let mut pointers: Vec<&str> = issues.as_array().unwrap().iter().map(|issue| issue.get("pointer").unwrap().as_str().unwrap()).collect();
    pointers.sort_unstable();
    assert_eq!(pointers, ["/n", "/o/a~1b", "/q"]);
    assert_eq!(log.tools(), ["echo"], "the tool was not started");
    assert_eq!(error.for_model().get("issues"), Some(&issues));
}

#[test]
fn an_output_that_breaks_its_promise_is_an_error_after_the_effect() {
    let log = Log::new();
    let schema = json!({"type": "object", "properties": {"id": {"type": "integer"}}, "required": ["id"]});
    let liar = log.close(tool("liar", "A tool").writes().output_schema(schema), |_| Ok(json!({"id": "seven"}).into()));
    let spec = steps(&[("a", "liar", json!({})), ("never", "liar", json!({}))]);
    let catalog = catalog([liar], &spec);
    let error = block_on(run(&catalog, "main", json!({}))).unwrap_err();
    assert_eq!(error.code(), "invalid_output");
    assert_eq!(error.effect_state(), EffectState::Happened);
    assert!(error.message().starts_with("Step \"a\" (tool: \"liar\") failed: invalid_output: the tool ran"), "{error}");
    assert_eq!(detail(&error, "issues").unwrap().get_index(0).unwrap().get("pointer"), Some(&json!("/id")));
    assert_eq!(log.tools(), ["liar"]);
    assert_eq!(detail(&error, "unknownEffect"), None);
    // It happened, so it is among the effects so far.
    assert_eq!(detail(&error, "effects"), Some(json!([{"kind": "step", "step": "a", "stepIndex": 0, "tool": "liar", "ran": true}])));
}

#[test]
fn effects_of_nested_composites_come_up_flat_with_the_way_to_them() {
    let log = Log::new();
    let mut registry = Registry::with_policy(Policy::new().may_chain(["send", "inner", "middle"]));
    registry.register(log.writes("send")).unwrap();
    registry.register(log.fails(tool("bad", "A tool").reads(), ToolError::new("no"))).unwrap();
    registry.register(composite("inner", &steps(&[("s", "send", json!({}))]))).unwrap();
    registry.register(composite("middle", &steps(&[("i", "inner", json!({})), ("t", "send", json!({}))]))).unwrap();
    registry.register(composite("outer", &steps(&[("m", "middle", json!({})), ("u", "send", json!({}))]))).unwrap();
    registry.register(composite("fails", &steps(&[("i", "inner", json!({})), ("b", "bad", json!({}))]))).unwrap();
    registry.register(composite("late", &steps(&[("f", "inner", json!({})), ("g", "fails", json!({}))]))).unwrap_err();
    let catalog = registry.seal();
    let result = block_on(run(&catalog, "outer", json!({}))).unwrap();
    let want = json!([
        {"kind": "step", "step": "s", "stepIndex": 0, "tool": "send", "ran": true, "via": ["m", "i"]},
        {"kind": "step", "step": "t", "stepIndex": 1, "tool": "send", "ran": true, "via": ["m"]},
        {"kind": "step", "step": "u", "stepIndex": 1, "tool": "send", "ran": true},
    ]);
    assert_eq!(result.to_value().get("effects"), Some(&want));
    let error = block_on(run(&catalog, "fails", json!({}))).unwrap_err();
    let want = json!([{"kind": "step", "step": "s", "stepIndex": 0, "tool": "send", "ran": true, "via": ["i"]}]);
    assert_eq!(error.to_value().get("effects"), Some(&want));
    assert_eq!(detail(&error, "effects"), Some(want));
}

#[test]
fn an_unknown_effect_deep_inside_is_known_outside() {
    let log = Log::new();
    let mut registry = Registry::with_policy(Policy::new().may_chain(["send", "inner"]));
    registry.register(log.fails(tool("send", "A tool").writes(), ToolError::new("gone"))).unwrap();
    registry.register(composite("inner", &steps(&[("s", "send", json!({}))]))).unwrap();
    registry.register(composite("outer", &steps(&[("i", "inner", json!({}))]))).unwrap();
    let error = block_on(run(&registry.seal(), "outer", json!({}))).unwrap_err();
    assert_eq!(detail(&error, "unknownEffect"), Some(json!("i")));
    assert_eq!(detail(&error, "inner").unwrap().get("unknownEffect"), Some(&json!("s")));
}

#[test]
fn a_tool_can_report_its_own_effects() {
    let log = Log::new();
    let own = log.close(tool("own", "A tool").writes(), |_| Ok(Answer::new(1).effects([json!({"kind": "mail", "to": "ada"})])));
    let result = block_on(run_main([own], &steps(&[("a", "own", json!({}))]), json!({}))).unwrap();
    assert_eq!(result.to_value().get("effects"), Some(&json!([{"kind": "mail", "to": "ada"}])));
}

/// `c1` to `c<count>`, each one step that is the next; the last reads.
fn chain(log: &Log, count: usize) -> Result<toolwright::Catalog, toolwright::RegisterError> {
    let mut registry = Registry::new();
    registry.register(log.echo("read"))?;
    for at in (1..=count).rev() {
        let inner = if at == count { "read".to_owned() } else { format!("c{}", at + 1) };
        registry.register(composite(&format!("c{at}"), &steps(&[("s", &inner, json!({"v": "$input.v?"}))])))?;
    }
    Ok(registry.seal())
}

#[test]
fn eight_composites_nest_and_nine_do_not() {
    let log = Log::new();
    let catalog = chain(&log, 8).unwrap();
    block_on(run(&catalog, "c1", json!({"v": 1}))).unwrap();
    assert_eq!(log.all()[0].depth, 8);
    assert_eq!(log.all()[0].lineage, (1..=8).map(|at| format!("c{at}")).collect::<Vec<_>>());
    assert_eq!(log.all()[0].session, json!({"emergentDepth": 8}));
    let error = chain(&log, 9).unwrap_err();
    assert_eq!((error.code(), error.tool()), ("nesting_too_deep", "c1"));
    assert_eq!(log.tools().len(), 1);
}

#[test]
fn a_depth_from_outside_counts_and_only_a_number_does() {
    let with = |data: Value| Context::new(Value::object([("sessionData", data)]));
    for (depth, ok) in [("7", true), ("8", false), ("1e3", false), ("7.9", true), ("-5", true), ("\"9\"", true), ("null", true)] {
        let log = Log::new();
        let catalog = chain(&log, 1).unwrap();
        let data = crate::world::parsed(&format!(r#"{{"user": "u", "emergentDepth": {depth}}}"#));
        let outcome = block_on(catalog.invoke(Invocation::new("c1", json!({})), with(data)));
        assert_eq!(outcome.is_ok(), ok, "{depth}");
        assert_eq!(log.tools().len(), usize::from(ok), "{depth}");
        match outcome {
            Err(error) => assert_eq!(error.code(), "nesting_too_deep"),
            Ok(_) => assert_eq!(log.all()[0].session.get("user"), Some(&json!("u"))),
        }
    }
    // A refusal for depth suspends nothing.
    let log = Log::new();
    let catalog = chain(&log, 1).unwrap();
    for depth in [8, 0, 8, 1] {
        let context = with(json!({"emergentDepth": depth}));
        let outcome = block_on(catalog.invoke(Invocation::new("c1", json!({})), context));
        assert_eq!(outcome.is_ok(), depth < 8);
    }
}

/// A composer whose tools are built through itself.
fn self_referring(names: &[(&str, &str)], log: &Log) -> Composer {
    let slot: Arc<Mutex<Vec<ToolDef>>> = Arc::default();
    let found = slot.clone();
    let composer = Composer::new(HostGate::new(move |name| found.lock().unwrap().iter().find(|tool| tool.name() == name).cloned()));
    slot.lock().unwrap().push(log.echo("read"));
    composer.bind(toolwright::Binding::new().side_effecting_tools(names.iter().map(|(name, _)| *name)));
    for (name, inner) in names {
        let built = composer.build(name, "", json!({}), &steps(&[("s", inner, json!({}))])).unwrap();
        slot.lock().unwrap().push(built);
    }
    composer
}

#[test]
fn a_composite_that_reaches_itself_is_a_cycle_with_its_path() {
    let log = Log::new();
    let composer = self_referring(&[("a", "b"), ("b", "c"), ("c", "a")], &log);
    let spec = steps(&[("start", "a", json!({}))]);
    let error = block_on(composer.run_pipeline(&spec, json!({}), Context::default(), toolwright::PipelineOptions::new())).unwrap_err();
    assert_eq!(error.code(), "step_cycle");
    assert!(error.message().contains("a > b > c > a"), "{error}");
    assert!(log.is_empty());
}

#[test]
fn a_long_chain_is_no_cycle() {
    let log = Log::new();
    let names: Vec<(String, String)> =
        (0..9).map(|at| (format!("c{at}"), if at == 8 { "read".into() } else { format!("c{}", at + 1) })).collect();
    let names: Vec<(&str, &str)> = names.iter().map(|(name, inner)| (name.as_str(), inner.as_str())).collect();
    let composer = self_referring(&names, &log);
    let run = |name: &str| {
        let options = toolwright::PipelineOptions::new();
        block_on(composer.run_pipeline(&steps(&[("s", name, json!({}))]), json!({}), Context::default(), options))
    };
    assert_eq!(run("c0").unwrap_err().code(), "nesting_too_deep");
    assert!(log.is_empty());
    run("c2").unwrap();
    assert_eq!(log.all()[0].depth, 8);
}

#[test]
fn a_tool_sees_its_own_place_and_nothing_it_can_change() {
    let log = Log::new();
    let catalog = catalog([log.echo("echo")], &steps(&[("a", "echo", json!({})), ("b", "echo", json!({"x": 1}))]));
    let context = Context::new(json!({"user": "ada", "sessionData": {"k": 1, "emergentDepth": 2}}));
    block_on(catalog.invoke(Invocation::new("main", json!({})).run_id("r7"), context)).unwrap();
    let seen = log.all();
    assert_eq!(seen[1].session, json!({"k": 1, "emergentDepth": 3}));
    assert_eq!((seen[0].key.as_str(), seen[1].key.as_str()), ("r7/main/0:a", "r7/main/1:b"));
    assert_eq!(seen[1].lineage, ["main"]);
    let before = log.all().len();
    block_on(run(&catalog, "main", json!({}))).unwrap();
    assert_eq!(log.all()[before].depth, 1, "nothing of the former run is left");
}

#[test]
fn an_observer_hears_every_step_and_its_progress() {
    let log = Log::new();
    let slow = tool("slow", "A tool").writes().run_json(|_, call| async move {
        call.progress("half", Some(1.0), Some(2.0));
        Ok(json!(1))
    });
    let mut registry = Registry::with_policy(Policy::new().may_chain(["slow", "inner"]));
    registry.register(slow).unwrap().register(log.fails(tool("bad", "A tool").reads(), ToolError::new("no").code("own"))).unwrap();
    registry.register(composite("inner", &steps(&[("s", "slow", json!({}))]))).unwrap();
    registry.register(composite("outer", &steps(&[("i", "inner", json!({})), ("b", "bad", json!({}))]))).unwrap();
    let events = Arc::new(Events::default());
    block_on(registry.seal().invoke(Invocation::new("outer", json!({})).diagnostics(events.scope()), ())).unwrap_err();
    let shown: Vec<String> = events
        .all()
        .into_iter()
        .map(|fact| {
            let said = |member: &str| said(&fact, member);
            let amount = |member: &str| fact.payload.get(member).and_then(Value::as_f64);
            let side_effects = || fact.payload.get("sideEffects").and_then(Value::as_bool).unwrap();
            match fact.event {
                EventName::StepStarted => {
                    let place = format!("{}/{}", amount("index").unwrap() + 1.0, amount("count").unwrap());
                    format!("> {} {place} {} {} {}", said("path"), said("step"), said("tool"), side_effects())
                }
                EventName::StepFinished => format!("< {} {} {}", said("path"), fact.payload.get("ok").unwrap(), said("code")),
                EventName::Progress => format!("~ {} {} {:?}/{:?}", said("path"), said("message"), amount("done"), amount("total")),
                other => format!("{other} {} {} {}", said("path"), said("tool"), said("code")),
            }
        })
        .collect();
    assert_eq!(
        shown,
        [
            "tool_started outer outer ",
            "> outer/0:i 1/2 i inner true",
            "tool_started outer/0:i inner ",
            "> outer/0:i/0:s 1/1 s slow true",
            "tool_started outer/0:i/0:s slow ",
            "~ outer/0:i/0:s half Some(1.0)/Some(2.0)",
            "tool_succeeded outer/0:i/0:s slow ",
            "< outer/0:i/0:s true ",
            "tool_succeeded outer/0:i inner ",
            "< outer/0:i true ",
            "> outer/1:b 2/2 b bad false",
            "tool_started outer/1:b bad ",
            "tool_failed outer/1:b bad own",
            "< outer/1:b false own",
            "tool_failed outer outer own",
        ]
    );
}

#[test]
fn a_pipeline_can_be_watched_and_recorded() {
    let log = Log::new();
    let read = log.echo("read");
    let composer = Composer::new(HostGate::new(move |_| Some(read.clone()))).dialect(toolwright::Dialect::Page);
    let spec = json!({"steps": [{"name": "a", "tool": "read", "inputMapping": {"v": "$steps.x"}}]});
    let built = composer.build("b", "", json!({}), &spec).unwrap();
    assert_eq!(built.composite().unwrap().warnings().iter().map(|issue| issue.code).collect::<Vec<_>>(), ["literal_reference"]);
    let (events, journal) = (Arc::new(Events::default()), toolwright::MemoryJournal::new());
    let clock = Arc::new(crate::world::TestClock::default());
    let options = toolwright::PipelineOptions::new().diagnostics(events.scope()).journal(Arc::new(journal.clone())).clock(clock);
    block_on(composer.run_pipeline(&spec, json!({}), Context::default(), options)).unwrap();
    assert_eq!(events.warnings().len(), 1);
    assert!(events.all().iter().any(|event| event.event == EventName::StepFinished && event.payload.get("ok") == Some(&json!(true))));
    assert_eq!(journal.runs()[0].records().len(), 5);
}

#[test]
fn one_composite_runs_for_many_at_once() {
    let log = Log::new();
    let catalog = catalog(
        [log.echo("echo")],
        &steps(&[("a", "echo", json!({"v": "$input.v"})), ("b", "echo", json!({"v": "$prev.v", "w": "$steps.a.v"}))]),
    );
    std::thread::scope(|scope| {
        for thread in 0..4 {
            let catalog = &catalog;
            scope.spawn(move || {
                for turn in 0..50 {
                    let v = json!(thread * 1000 + turn);
                    let result = block_on(run(catalog, "main", Value::object([("v", v.clone())]))).unwrap();
                    assert_eq!(result.output, Some(Value::object([("v", v.clone()), ("w", v)])));
                }
            });
        }
    });
    assert_eq!(log.all().len(), 400);
}

#[test]
fn a_failed_run_of_a_wrong_specification_names_every_problem() {
    let composer: Composer = Composer::new(HostGate::new(|_| None));
    let spec = json!({"steps": [{"name": "a", "tool": ""}, {"name": "b", "tool": "t", "inputMapping": 7}]});
    let error = block_on(composer.run_pipeline(&spec, json!({}), Context::default(), toolwright::PipelineOptions::new())).unwrap_err();
    assert_eq!(error.code(), "invalid_spec");
    assert!(matches!(error.fault(), Fault::InvalidSpec(_)));
    assert_eq!(detail(&error, "errors").unwrap().as_array().unwrap().len(), 2);
    let shown = error.message();
    assert!(shown.starts_with("invalid_spec: ") && !shown.contains('\n'), "{shown}");
}

#[test]
fn a_specification_fills_what_the_head_does_not_say() {
    let spec =
        json!({"description": "from the file", "input": {"type": "object", "required": ["q"]}, "steps": [{"name": "a", "tool": "echo"}]});
    let spec = CompositeSpec::from_value(&spec).unwrap();
    let log = Log::new();
    let mut registry = Registry::new();
    registry.register(log.echo("echo")).unwrap();
    registry.register(Composite::new("c", "").spec(spec)).unwrap();
    let tool = registry.get("c").unwrap();
    assert_eq!(tool.description(), "from the file");
    assert!(tool.input_schema().is_some() && tool.is_composite());
    let error = block_on(run(&registry.seal(), "c", json!({}))).unwrap_err();
    assert_eq!(error.code(), "invalid_input");
    assert!(log.is_empty());
}

/// Breaks down at everything it is told.
struct Broken;

impl Observer for Broken {
    fn observe(&self, fact: &Fact) {
        panic!("cannot write {fact:?}");
    }
}

#[test]
fn an_observer_that_breaks_down_changes_nothing() {
    let log = Log::new();
    let schema = json!({"type": "object", "properties": {"n": {"type": "integer"}}});
    let page = log.close(tool("page", "A tool").reads().input_schema(schema), |input| Ok(input.into()));
    let spec = steps(&[("a", "page", json!({"n": 1.0})), ("b", "send", json!({}))]);
    let catalog = catalog([page, log.writes("send")], &spec);
    let result = block_on(
        catalog.invoke(Invocation::new("main", json!({})).diagnostics(Diagnostics::disabled().with_observer(Arc::new(Broken))), ()),
    )
    .unwrap();
    assert_eq!(result.effects.len(), 1);
    assert_eq!(log.tools(), ["page", "send"]);
}

#[test]
fn a_writing_tool_cannot_unsay_that_it_ran() {
    let silent = || tool("w", "Writes").writes().run_json(|_, _| async { Ok(toolwright::Answer::new(1).effects([])) });
    let policy = || toolwright::Policy::new().may_chain(["w"]);
    let spec = json!({"steps": [{"name": "s", "tool": "w"}]});
    let spec = toolwright::CompositeSpec::from_value(&spec).unwrap();
    let mut registry = toolwright::Registry::with_policy(policy());
    registry.register(silent()).unwrap().register(toolwright::Composite::new("c", "A tool").spec(spec)).unwrap();
    let catalog = registry.seal();
    for name in ["w", "c"] {
        let result = block_on(catalog.invoke(toolwright::Invocation::new(name, json!({})), ())).unwrap();
        assert_eq!(result.effects.len(), 1, "{name}");
    }
}

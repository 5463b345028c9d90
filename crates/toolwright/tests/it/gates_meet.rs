//! Composites of one gate inside those of another: nothing is laundered on the way, and nobody is taken for another.

use std::sync::{Arc, Mutex};

use toolwright::approval::{Answer, Request};
use toolwright::{
    Approver, Binding, BoxFuture, CallError, Catalog, Composer, Context, HostChecks, HostGate, Invocation, PipelineOptions, Policy,
    Registry, StepOutputs, ToolDef, ToolResult, Value, json, tool,
};

use crate::world::{Log, block_on, composite, run, steps};

/// Tools that a host can replace by name.
#[derive(Clone, Default)]
struct Shelf(Arc<Mutex<Vec<(String, ToolDef)>>>);

impl Shelf {
    fn put(&self, name: &str, tool: ToolDef) {
        let mut tools = self.0.lock().unwrap();
        tools.retain(|(known, _)| known != name);
        tools.push((name.to_owned(), tool));
    }

    fn composer(&self) -> Composer {
        let shelf = self.clone();
        Composer::new(HostGate::new(move |name| shelf.find(name)))
    }

    fn find(&self, name: &str) -> Option<ToolDef> {
        self.0.lock().unwrap().iter().find(|(known, _)| known == name).map(|(_, tool)| tool.clone())
    }
}

fn one(tool: &str) -> Value {
    steps(&[("s", tool, json!({}))])
}

fn pipeline(composer: &Composer, spec: &Value) -> Result<ToolResult, CallError> {
    block_on(composer.run_pipeline(spec, json!({}), Context::default(), PipelineOptions::new()))
}

#[test]
fn a_composite_accepted_without_effects_has_none_when_a_tool_in_it_is_replaced() {
    let (log, shelf) = (Log::new(), Shelf::default());
    shelf.put("send", log.echo("send"));
    let composer = shelf.composer();
    composer.bind(Binding::new().side_effecting_tools(["send"]));
    for (name, inner) in [("inner", "send"), ("middle", "inner")] {
        let built = composer.build(name, "A tool", json!({}), &one(inner)).unwrap();
        assert_eq!(built.has_side_effects(), Some(false));
        shelf.put(name, built);
    }
    let mut registry = Registry::new();
    registry.register(shelf.find("middle").unwrap()).unwrap();
    registry.register(composite("outer", &one("middle"))).unwrap();
    let catalog = registry.seal();

    shelf.put("send", log.writes("send"));
    for error in [
        pipeline(&composer, &one("inner")).unwrap_err(),
        pipeline(&composer, &one("middle")).unwrap_err(),
        block_on(run(&catalog, "outer", json!({}))).unwrap_err(),
    ] {
        assert_eq!(error.code(), "step_not_chainable", "{error}");
        assert!(error.message().contains("\"send\" has side effects now"), "{error}");
        assert!(error.is_refusal() && error.help().unwrap().contains("build that composite again"));
    }
    assert!(log.is_empty());

    // Every composite on the way must be listed.
    composer.bind(Binding::new().side_effecting_tools(["send", "inner"]));
    pipeline(&composer, &one("middle")).unwrap_err();
    assert!(log.is_empty());
    pipeline(&composer, &one("inner")).unwrap();
    let mut registry = Registry::new();
    registry.register(shelf.find("inner").unwrap()).unwrap();
    // A catalogue that took it as one that only reads does not learn otherwise from the composer's list, root or step.
    let root = block_on(run(&registry.seal(), "inner", json!({}))).unwrap_err();
    assert_eq!((root.code(), log.all().len()), ("step_not_chainable", 1), "{root}");
    composer.bind(Binding::new().side_effecting_tools(["send", "inner", "middle"]));
    let result = pipeline(&composer, &one("middle")).unwrap();
    assert_eq!(result.effects.len(), 1);
    assert_eq!(log.all().len(), 2);
    let error = block_on(run(&catalog, "outer", json!({}))).unwrap_err();
    assert_eq!((error.code(), log.all().len()), ("step_not_chainable", 2), "{error}");
}

#[test]
fn limits_of_a_catalogue_hold_for_what_a_composer_built() {
    let (log, shelf) = (Log::new(), Shelf::default());
    shelf.put("leaf", log.echo("leaf"));
    let composer = shelf.composer();
    let mut below = "leaf".to_owned();
    for depth in 0..5 {
        let name = format!("c{depth}");
        shelf.put(&name, composer.build(&name, "A tool", json!({}), &one(&below)).unwrap());
        below = name;
    }
    let code = |policy: Policy| {
        let catalog = Registry::with_policy(policy).with(shelf.find("c4").unwrap()).unwrap().seal();
        block_on(run(&catalog, "c4", json!({}))).map(|_| ()).map_err(|error| error.code().to_owned())
    };
    assert_eq!(code(Policy::new()), Ok(()));
    assert_eq!(code(Policy::new().limit_depth(5)), Ok(()));
    assert_eq!(log.all().len(), 2);
    assert_eq!(code(Policy::new().limit_depth(4)), Err("nesting_too_deep".to_owned()));
    assert_eq!(code(Policy::new().limit_calls(4)), Err("calls_too_deep".to_owned()));

    // A pipeline that a tool of the catalogue runs is inside the catalogue's limits.
    for (policy, want) in [
        (Policy::new().limit_depth(6), Ok(())),
        (Policy::new().limit_depth(5), Err("nesting_too_deep".to_owned())),
        (Policy::new().limit_calls(6), Err("calls_too_deep".to_owned())),
    ] {
        let (composer, ends) = (composer.clone(), Arc::new(Mutex::new(None)));
        let seen = ends.clone();
        let outer = tool("outer", "Runs a pipeline").reads().run_json(move |input: Value, _| {
            let (composer, seen) = (composer.clone(), seen.clone());
            async move {
                let outcome = composer.run_pipeline(&one("c4"), json!({}), Context::default(), PipelineOptions::new()).await;
                *seen.lock().unwrap() = Some(outcome.map(|_| ()).map_err(|error| error.code().to_owned()));
                Ok(input)
            }
        });
        let catalog = Registry::with_policy(policy).with(outer).unwrap().seal();
        block_on(run(&catalog, "outer", json!({}))).unwrap();
        assert_eq!(ends.lock().unwrap().take(), Some(want));
    }
    assert_eq!(log.all().len(), 3);
}

#[test]
fn a_composer_is_no_way_around_a_veto_of_the_catalogue_that_its_composite_is_in() {
    let (log, shelf) = (Log::new(), Shelf::default());
    shelf.put("send", log.writes("send"));
    let composer = shelf.composer();
    composer.bind(Binding::new().side_effecting_tools(["send"]));
    let veto = tool("veto", "Looks at every call").reads().inspect(|decision: &toolwright::Decision, _: &Context| {
        if decision.invocation == "send" { Err(toolwright::Refusal::new("never", "not in this house")) } else { Ok(()) }
    });
    let mut registry = Registry::new();
    registry.register(veto.run_json(|input, _| async move { Ok(input) })).unwrap();
    registry.register(composer.build("c", "A tool", json!({}), &one("send")).unwrap()).unwrap();
    let error = block_on(run(&registry.seal(), "c", json!({}))).unwrap_err();
    assert_eq!((error.code(), log.is_empty()), ("inspected", true), "{error}");
    // Where there is no such catalogue, the host's gate is all there is.
    pipeline(&composer, &one("send")).unwrap();
    assert_eq!(log.tools(), ["send"]);
}

fn sending(log: &Log, checks: HostChecks) -> Catalog {
    let mut registry = Registry::with_policy(Policy::new().may_chain(["send", "notify"]).checks(checks));
    registry.register(log.echo("read")).unwrap().register(log.writes("send")).unwrap();
    registry.register(composite("notify", &one("send"))).unwrap();
    registry.register(composite("look", &one("read"))).unwrap();
    registry.seal()
}

fn over(catalog: &Catalog, checks: HostChecks) -> Composer {
    let catalog = catalog.clone();
    Composer::new(HostGate::new(move |name| catalog.get(name).map(|tool| tool.tool().clone())).checks(checks))
}

#[test]
fn composites_of_a_catalogue_run_through_a_gate_over_it() {
    let log = Log::new();
    let catalog = sending(&log, HostChecks::new());
    let composer = over(&catalog, HostChecks::new());
    composer.bind(Binding::new().side_effecting_tools(["notify"]));
    let result = pipeline(&composer, &steps(&[("l", "look", json!({})), ("n", "notify", json!({}))])).unwrap();
    let want = json!([{"kind": "step", "step": "s", "stepIndex": 0, "tool": "send", "ran": true, "via": ["n"]}]);
    assert_eq!(result.to_value().get("effects"), Some(&want));
    assert_eq!(log.tools(), ["read", "send"]);

    // Both lists count: the composer's for its own step, the catalogue's for what is inside.
    let error = pipeline(&over(&catalog, HostChecks::new()), &one("notify")).unwrap_err();
    assert_eq!(error.code(), "step_not_chainable");
    let strict = sending(&log, HostChecks::new().disabled(["send"]));
    let composer = over(&strict, HostChecks::new());
    composer.bind(Binding::new().side_effecting_tools(["notify"]));
    assert_eq!(pipeline(&composer, &one("notify")).unwrap_err().code(), "step_disabled");
    let options = PipelineOptions::new().rehearse(StepOutputs::new().with("n/s", 1));
    let spec = steps(&[("n", "notify", json!({}))]);
    let rehearsed = block_on(composer.run_pipeline(&spec, json!({}), Context::default(), options)).unwrap();
    assert_eq!(rehearsed.output, Some(json!(1)));
    assert_eq!(log.tools(), ["read", "send"]);
}

#[test]
fn a_composite_taken_to_another_catalogue_is_linked_to_its_tools_and_judged_there() {
    let (log, strangers) = (Log::new(), Log::new());
    let catalog = sending(&log, HostChecks::new());
    // The same names at the same positions.
    let mut registry = Registry::with_policy(Policy::new().may_chain(["send", "notify"]));
    registry.register(strangers.echo("read")).unwrap().register(strangers.writes("send")).unwrap();
    registry.register(catalog.get("notify").unwrap().clone()).unwrap().register(catalog.get("look").unwrap().clone()).unwrap();
    registry.register(composite("main", &steps(&[("l", "look", json!({})), ("n", "notify", json!({}))]))).unwrap();
    let other = registry.seal();
    block_on(run(&other, "main", json!({}))).unwrap();
    assert_eq!(strangers.tools(), ["read", "send"]);
    assert!(log.is_empty());

    // What it does follows from the tools there, not from those that it was made of.
    let refused = |tools: [ToolDef; 2], listed: &[&str], composite: &str| {
        let mut registry = Registry::with_policy(Policy::new().may_chain(listed.iter().copied()));
        registry.register_all(tools).unwrap();
        let error = registry.register(catalog.get(composite).unwrap().clone()).map(|_| ()).unwrap_err();
        assert_eq!(registry.len(), 2, "the registry is as it was");
        error.code()
    };
    assert_eq!(refused([strangers.echo("read"), strangers.writes("send")], &[], "notify"), "step_not_chainable");
    assert_eq!(refused([strangers.echo("read"), strangers.undeclared("send")], &["send"], "notify"), "side_effects_undeclared");
    assert_eq!(refused([strangers.echo("read"), strangers.echo("other")], &["send"], "notify"), "step_missing");
    let mut registry = Registry::with_policy(Policy::new().may_chain(["read"]));
    registry.register(strangers.writes("read")).unwrap().register(catalog.get("look").unwrap().clone()).unwrap();
    assert_eq!(registry.get("look").unwrap().has_side_effects(), Some(true));
    assert_eq!(catalog.get("look").unwrap().has_side_effects(), Some(false));

    // It needs nothing of the catalogue that it came from.
    drop(catalog);
    block_on(run(&other, "look", json!({}))).unwrap();
    assert_eq!(strangers.tools(), ["read", "send", "read"]);
    assert!(log.is_empty());
}

struct Person {
    answer: bool,
    asked: Arc<Mutex<Vec<String>>>,
}

impl Approver for Person {
    fn ask<'a>(&'a self, request: &'a Request) -> BoxFuture<'a, Answer> {
        self.asked.lock().unwrap().push(request.tool.to_string());
        let who = "ann".into();
        Box::pin(std::future::ready(if self.answer { Answer::Yes { who } } else { Answer::No { who, reason: "".into() } }))
    }
}

#[test]
fn a_composite_whose_steps_ask_nobody_is_asked_for_as_a_whole() {
    let (log, shelf) = (Log::new(), Shelf::default());
    shelf.put("send", log.writes("send"));
    let composer = shelf.composer();
    composer.bind(Binding::new().side_effecting_tools(["send"]));
    let notify = composer.build("notify", "A tool", json!({}), &one("send")).unwrap();
    for answer in [false, true] {
        let asked: Arc<Mutex<Vec<String>>> = Arc::default();
        let checks = HostChecks::new().approval(Some(Arc::new(Person { answer, asked: asked.clone() })));
        let mut registry = Registry::with_policy(Policy::new().may_chain(["notify"]).checks(checks));
        registry.register(notify.clone()).unwrap();
        registry.register(composite("main", &one("notify"))).unwrap();
        let outcome = block_on(run(&registry.seal(), "main", json!({})));
        assert_eq!(*asked.lock().unwrap(), ["notify"]);
        assert_eq!(outcome.is_ok(), answer);
        assert_eq!(log.all().len(), usize::from(answer));
    }
}

#[test]
fn a_composite_that_reaches_itself_under_another_name_is_a_cycle() {
    let (log, shelf) = (Log::new(), Shelf::default());
    shelf.put("send", log.writes("send"));
    let composer = shelf.composer();
    composer.bind(Binding::new().side_effecting_tools(["send", "alias"]));
    let spec = steps(&[("w", "send", json!({})), ("again", "alias", json!({}))]);
    shelf.put("alias", composer.build("me", "", json!({}), &spec).unwrap());
    let error = pipeline(&composer, &one("alias")).unwrap_err();
    assert_eq!(error.code(), "step_cycle", "{error}");
    assert_eq!(log.tools(), ["send"], "it is seen before anything happens twice");
    assert_eq!(error.effects().len(), 1);

    shelf.0.lock().unwrap().clear();

    // As it is through a gate that makes it anew at each question.
    let log = Log::new();
    let slot: Arc<Mutex<Option<Composer>>> = Arc::default();
    let (taken, send) = (slot.clone(), log.writes("send"));
    let composer = Composer::new(HostGate::new(move |name| {
        let composer = taken.lock().unwrap().take();
        let made = composer.as_ref().and_then(|composer| composer.build("me", "", json!({}), &spec).ok());
        *taken.lock().unwrap() = composer;
        if name == "alias" { made } else { Some(send.clone()) }
    }));
    composer.bind(Binding::new().side_effecting_tools(["send", "alias"]));
    *slot.lock().unwrap() = Some(composer.clone());
    let error = pipeline(&composer, &one("alias")).unwrap_err();
    assert_eq!(error.code(), "step_cycle", "{error}");
    assert_eq!(log.tools(), ["send"]);
    *slot.lock().unwrap() = None;
}

#[test]
fn composites_of_the_same_name_behind_different_gates_are_no_cycle() {
    let (log, shelf) = (Log::new(), Shelf::default());
    shelf.put("read", log.echo("read"));
    let composer = shelf.composer();
    shelf.put("report", composer.build("report", "", json!({}), &one("read")).unwrap());
    let fetch = composer.build("fetch", "A tool", json!({}), &one("report")).unwrap();
    let mut registry = Registry::new();
    registry.register(fetch).unwrap();
    registry.register(composite("report", &one("fetch"))).unwrap();
    block_on(run(&registry.seal(), "report", json!({}))).unwrap();
    assert_eq!(log.tools(), ["read"]);
}

/// A pipeline that a tool runs through a composer of its own is part of that tool's call.
#[test]
fn a_pipeline_inside_a_tool_is_that_tools_call() {
    let seen: Arc<Mutex<Vec<Vec<toolwright::Text>>>> = Arc::default();
    let notes = seen.clone();
    let leaf = tool("leaf", "Notes who calls").reads().run_json(move |_, call| {
        notes.lock().unwrap().push(call.lineage());
        async move { Ok(json!(call.depth())) }
    });
    let mail = tool("mail", "Sends").writes().run_json(|_, _| async move { Ok(json!("sent")) });
    let gate = HostGate::new(move |name| [&leaf, &mail].into_iter().find(|tool| tool.name() == name).cloned());
    let composer = Composer::new(gate);
    composer.bind(Binding::new().side_effecting_tools(["mail"]));
    let outer = tool("outer", "Runs what it is given").reads().run_json(move |input, _| {
        let composer = composer.clone();
        async move {
            let result = composer.run_pipeline(&input, json!({}), Context::default(), PipelineOptions::new()).await?;
            Ok(result.value().clone())
        }
    });
    let catalog = Registry::new().with(outer).unwrap().seal();
    let run = |tool: &str| {
        block_on(catalog.invoke(Invocation::new("outer", json!({ "steps": [{ "name": "a", "tool": tool, "inputMapping": {} }] })), ()))
    };
    assert_eq!(run("leaf").unwrap().value(), &json!(1));
    assert_eq!(seen.lock().unwrap().concat(), ["outer", "pipeline"]);
    let refused = run("mail").unwrap_err();
    assert_eq!(refused.code(), "caller_reads_only", "a tool that reads has a pipeline write: {refused}");
}

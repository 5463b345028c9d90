//! What may be a step, in which order it is judged, and that a refused step has touched nothing.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use toolwright::approval::{Answer, Request};
use toolwright::{
    Approver, Binding, BoxFuture, CallError, CancelSource, Chainability, Composer, Context, Effect, EffectState, HostChecks, HostGate,
    Impact, Invocation, PipelineOptions, Policy, Refusal, Registry, StepGate, ToolDef, Value, json, tool,
};

use crate::world::{Log, block_on, composite, detail, run, steps};

/// A composer over these tools, found by name.
fn composer(tools: impl IntoIterator<Item = ToolDef>) -> Composer {
    let tools: Vec<ToolDef> = tools.into_iter().collect();
    Composer::new(HostGate::new(move |name| tools.iter().find(|tool| tool.name() == name).cloned()))
}

fn pipeline(composer: &Composer, spec: &Value, input: Value) -> Result<toolwright::ToolResult, CallError> {
    block_on(composer.run_pipeline(spec, input, Context::default(), PipelineOptions::new()))
}

#[test]
fn verdicts_come_in_the_order_of_the_rule() {
    let log = Log::new();
    let composer = composer([log.echo("read"), log.writes("send"), log.writes("other"), log.undeclared("old")]);
    composer.bind(Binding::new().side_effecting_tools(["send", "old", "gone", "read"]));
    let verdicts: Vec<(Chainability, String)> = ["read", "send", "other", "old", "gone", "Send", "send "]
        .into_iter()
        .map(|name| {
            let check = composer.check(name);
            (check.verdict, check.message)
        })
        .collect();
    let want = [
        (Chainability::Free, None),
        (Chainability::Listed, None),
        (Chainability::NotListed, Some(r#"step tool "other" has side effects and is not listed"#)),
        (Chainability::Undeclared, Some(r#"step tool "old" does not declare hasSideEffects"#)),
        (Chainability::Missing, Some(r#"step tool "gone" is not registered"#)),
        (Chainability::Missing, Some(r#"step tool "Send" is not registered"#)),
        (Chainability::Missing, Some(r#"step tool "send " is not registered"#)),
    ];
    for ((verdict, message), (want, text)) in verdicts.iter().zip(want) {
        assert_eq!(*verdict, want);
        if let Some(text) = text {
            assert_eq!(message, text);
        }
    }
    assert!(Chainability::Free < Chainability::Listed && Chainability::Listed < Chainability::NotListed);
    assert!(Chainability::NotListed < Chainability::Undeclared && Chainability::Undeclared < Chainability::Missing);
    assert!(Chainability::Missing < Chainability::NoGate && !Chainability::NotListed.is_allowed() && Chainability::Listed.is_allowed());
    assert!(log.is_empty());
}

#[test]
fn a_bare_callback_composes_nothing() {
    let called = Arc::new(AtomicUsize::new(0));
    let count = called.clone();
    let bare = Composer::from_callback(move |_: &str, _: Value, _: &Context| count.fetch_add(1, Ordering::Relaxed));
    bare.bind(Binding::new().side_effecting_tools(["read"]));
    assert!(!bare.has_gate() && bare.resolve("read").is_none());
    assert_eq!(bare.check("read").verdict, Chainability::NoGate);
    assert_eq!(bare.check("read").message, "no step gate is bound");
    let spec = steps(&[("a", "read", json!({}))]);
    assert!(bare.has_side_effecting_step(&spec));
    assert_eq!(pipeline(&bare, &spec, json!({})).unwrap_err().code(), "compose_needs_gate");
    let built = bare.build("x", "A tool", json!({}), &spec).unwrap();
    let mut registry = Registry::new();
    registry.register(built).unwrap();
    assert_eq!(block_on(run(&registry.seal(), "x", json!({}))).unwrap_err().code(), "compose_needs_gate");
    assert_eq!(called.load(Ordering::Relaxed), 0);

    // A gate that is bound later serves composites built before.
    let log = Log::new();
    let built = bare.build("x", "A tool", json!({}), &spec).unwrap();
    let read = log.echo("read");
    bare.bind(Binding::new().gate(HostGate::new(move |_| Some(read.clone()))));
    assert!(bare.has_gate());
    assert_eq!(bare.check("read").verdict, Chainability::Free);
    let mut registry = Registry::with_policy(Policy::new());
    registry.register(built).unwrap();
    block_on(run(&registry.seal(), "x", json!({}))).unwrap();
    assert_eq!(log.tools(), ["read"]);
}

#[test]
fn binding_replaces_and_never_merges() {
    let log = Log::new();
    let composer = composer([log.writes("a"), log.writes("b")]);
    let verdicts = || (composer.check("a").verdict, composer.check("b").verdict);
    assert_eq!(verdicts(), (Chainability::NotListed, Chainability::NotListed));
    composer.bind(Binding::new().side_effecting_tools(["a"]));
    assert_eq!(verdicts(), (Chainability::Listed, Chainability::NotListed));
    composer.bind(Binding::new().side_effecting_tools(["b"]));
    assert_eq!(verdicts(), (Chainability::NotListed, Chainability::Listed));
    composer.bind(Binding::new());
    assert_eq!(verdicts(), (Chainability::NotListed, Chainability::Listed));
    let other = log.echo("a");
    composer.bind(Binding::new().gate(HostGate::new(move |name| (name == "a").then(|| other.clone()))));
    assert_eq!(verdicts(), (Chainability::Free, Chainability::Missing));
    composer.bind(Binding::new().side_effecting_tools(Vec::<String>::new()));
    assert_eq!(verdicts(), (Chainability::Free, Chainability::Missing));
}

#[test]
fn a_tool_of_one_gate_is_never_judged_by_the_list_that_came_with_another() {
    let log = Log::new();
    let slot: Arc<Mutex<Option<Composer>>> = Arc::default();
    let (taken, send) = (slot.clone(), log.writes("send"));
    // While this gate is asked, the host binds another gate together with another list.
    let composer = Composer::new(HostGate::new(move |_| {
        let composer = taken.lock().unwrap().clone().unwrap();
        composer.bind(Binding::new().gate(HostGate::new(|_| None)).side_effecting_tools(["send"]));
        Some(send.clone())
    }));
    *slot.lock().unwrap() = Some(composer.clone());
    assert_eq!(composer.check("send").verdict, Chainability::NotListed);
    *slot.lock().unwrap() = None;

    let (harmless, send) = (log.echo("send"), log.writes("send"));
    let composer = self::composer([harmless.clone()]);
    composer.bind(Binding::new().side_effecting_tools(["send"]));
    let binding = |tool: &ToolDef, listed: &[&'static str]| {
        let tool = tool.clone();
        Binding::new().gate(HostGate::new(move |_| Some(tool.clone()))).side_effecting_tools(listed.iter().copied())
    };
    std::thread::scope(|scope| {
        let host = scope.spawn(|| {
            for _ in 0..5_000 {
                composer.bind(binding(&send, &[]));
                composer.bind(binding(&harmless, &["send"]));
            }
        });
        while !host.is_finished() {
            assert_ne!(composer.check("send").verdict, Chainability::Listed);
        }
    });
}

/// A gate over one composer whose list shrinks while a step runs.
#[test]
fn the_list_is_read_at_every_check() {
    let log = Log::new();
    let slot: Arc<Mutex<Option<Composer>>> = Arc::default();
    let taken = slot.clone();
    let seen = log.clone();
    let first = tool("first", "unlists the second").reads().run_json(move |input, call| {
        seen.note(&call, &input);
        let composer = taken.lock().unwrap().clone().unwrap();
        composer.bind(Binding::new().side_effecting_tools(Vec::<String>::new()));
        std::future::ready(Ok(input))
    });
    let composer = composer([first, log.writes("second")]);
    composer.bind(Binding::new().side_effecting_tools(["second"]));
    *slot.lock().unwrap() = Some(composer.clone());
    let spec = steps(&[("a", "first", json!({})), ("b", "second", json!({}))]);
    let built = composer.build("built", "A tool", json!({}), &spec).unwrap();
    let error = pipeline(&composer, &spec, json!({})).unwrap_err();
    assert_eq!(error.code(), "step_not_chainable");
    assert_eq!(log.tools(), ["first"]);
    assert_eq!(error.to_value().get("error").and_then(Value::as_str).unwrap(), {
        "Step \"b\" (tool: \"second\") refused: step_not_chainable: step tool \"second\" has side effects and is not listed"
    });
    assert_eq!(detail(&error, "completed"), Some(json!(["a"])));

    // A composite built while it was listed is judged again as well.
    let mut registry = Registry::new();
    registry.register(built).unwrap();
    let error = block_on(run(&registry.seal(), "built", json!({}))).unwrap_err();
    assert_eq!(error.code(), "step_not_chainable");
    *slot.lock().unwrap() = None;
}

#[test]
fn refusals_say_who_can_allow_it() {
    let not_listed = Chainability::NotListed.help("mail/send").unwrap();
    assert!(not_listed.contains("`mail/send`") && not_listed.contains("sideEffectingTools") && not_listed.contains("host"), "{not_listed}");
    let undeclared = Chainability::Undeclared.help("old").unwrap();
    assert!(undeclared.contains("old") && undeclared.contains("effect"), "{undeclared}");
    assert_eq!(Chainability::Free.help("x"), None);
}

#[test]
fn whether_a_composite_has_side_effects_is_derived_and_it_must_be_listed_itself() {
    let log = Log::new();
    let with = |listed: &[&str]| {
        let mut registry = Registry::with_policy(Policy::new().may_chain(listed.iter().copied()));
        registry.register(log.writes("send")).unwrap();
        registry.register(log.echo("read")).unwrap();
        registry.register(composite("quiet", &steps(&[("r", "read", json!({}))]))).unwrap();
        registry.register(composite("notify", &steps(&[("r", "read", json!({})), ("s", "send", json!({}))]))).unwrap();
        let outer = registry.register(composite("outer", &steps(&[("q", "quiet", json!({})), ("n", "notify", json!({}))]))).map(|_| ());
        (registry, outer)
    };
    let (registry, outer) = with(&["send"]);
    let error = outer.unwrap_err();
    assert_eq!((error.code(), error.issues().len()), ("step_not_chainable", 1));
    assert_eq!(error.issues()[0].pointer, "/steps/1/tool");
    assert!(error.issues()[0].help.clone().unwrap().contains("`notify`"));
    assert_eq!(registry.get("quiet").unwrap().effect(), Some(&Effect::read()));
    assert_eq!(registry.get("quiet").unwrap().has_side_effects(), Some(false));
    assert_eq!(registry.get("notify").unwrap().has_side_effects(), Some(true));
    assert!(registry.get("outer").is_none());

    let (registry, outer) = with(&["send", "notify"]);
    outer.unwrap();
    let catalog = registry.seal();
    let outer = catalog.get("outer").unwrap().composite().unwrap();
    let effects: Vec<(Vec<&str>, &str)> =
        outer.effects().iter().map(|effect| (effect.path.iter().map(|step| step.as_str()).collect(), effect.tool.as_str())).collect();
    assert_eq!(effects, [(vec!["n", "s"], "send")]);
    assert_eq!(outer.tools(), ["quiet", "read", "notify", "send"]);
    assert_eq!(outer.depth(), 2);
    assert_eq!(catalog.chainability("notify"), Chainability::Listed);
    assert_eq!(catalog.chainability("outer"), Chainability::NotListed);
    assert_eq!(catalog.chainability("nobody"), Chainability::Missing);
    assert!(log.is_empty());
}

#[test]
fn a_derived_effect_takes_the_worst_class_and_never_runs_twice() {
    let log = Log::new();
    let deploy = log.close(tool("deploy", "A tool").effect(Effect::new("deploy", Impact::Once)), |_| Ok(json!(1).into()));
    let put = log.close(tool("put", "A tool").writes_idempotent(), |_| Ok(json!(1).into()));
    let mut registry = Registry::with_policy(Policy::new().may_chain(["deploy", "put"]));
    registry.register(deploy).unwrap().register(put).unwrap();
    registry.register(composite("puts", &steps(&[("p", "put", json!({}))]))).unwrap();
    registry.register(composite("both", &steps(&[("p", "put", json!({})), ("d", "deploy", json!({}))]))).unwrap();
    assert_eq!(registry.get("puts").unwrap().effect().unwrap().impact, Impact::Once, "what it reads may differ the next time");
    assert_eq!(registry.get("both").unwrap().effect(), Some(&Effect::new("deploy", Impact::Once)));
}

#[test]
fn a_composite_keeps_its_derived_effect_whatever_a_host_says() {
    let log = Log::new();
    let mut registry = Registry::with_policy(Policy::new().may_chain(["send"]));
    registry.register(log.writes("send")).unwrap();
    registry.register(composite("notify", &steps(&[("s", "send", json!({}))]))).unwrap();
    let changed = registry.get("notify").unwrap().with_effect(Effect::read());
    assert_eq!(changed.has_side_effects(), Some(true));
}

#[test]
fn whether_a_specification_has_a_side_effecting_step() {
    let log = Log::new();
    let composer = composer([log.echo("read"), log.writes("send"), log.undeclared("old")]);
    let spec = |tool: &str| steps(&[("a", "read", json!({})), ("b", tool, json!({}))]);
    assert!(!composer.has_side_effecting_step(&spec("read")));
    for tool in ["send", "old", "gone"] {
        assert!(composer.has_side_effecting_step(&spec(tool)), "{tool}");
    }
    let nested = composer.build("inner", "", json!({}), &steps(&[("r", "read", json!({}))])).unwrap();
    assert_eq!(nested.id(), "composable:inner");
    assert_eq!(nested.name(), "inner");
    assert_eq!(nested.has_side_effects(), Some(false));
    let read = log.echo("read");
    composer.bind(Binding::new().gate(HostGate::new(move |name| Some(if name == "inner" { nested.clone() } else { read.clone() }))));
    assert!(composer.has_side_effecting_step(&spec("inner")), "a composite counts whatever it declares");
}

/// Notes what it is asked, and answers as told.
struct Person {
    answer: Answer,
    asked: Arc<Mutex<Vec<(String, Value)>>>,
}

fn yes() -> Answer {
    Answer::Yes { who: "ann".into() }
}

fn no(reason: &str) -> Answer {
    Answer::No { who: "ann".into(), reason: reason.into() }
}

impl Approver for Person {
    fn ask<'a>(&'a self, request: &'a Request) -> BoxFuture<'a, Answer> {
        let step = request.path.rsplit(':').next().unwrap_or_default().to_owned();
        self.asked.lock().unwrap().push((step, request.arguments.clone()));
        Box::pin(std::future::ready(self.answer.clone()))
    }
}

fn checked(log: &Log, checks: HostChecks) -> toolwright::Catalog {
    let mut registry = Registry::with_policy(Policy::new().may_chain(["send", "inner"]).checks(checks));
    registry.register(log.writes("send")).unwrap().register(log.echo("read")).unwrap();
    registry.register(composite("inner", &steps(&[("deep", "send", json!({"x": "$input.x"}))]))).unwrap();
    registry
        .register(composite("main", &steps(&[("r", "read", json!({})), ("in", "inner", json!({"x": 7})), ("s", "send", json!({}))])))
        .unwrap();
    registry.register(composite("one", &steps(&[("s", "send", json!({}))]))).unwrap();
    registry.seal()
}

#[test]
fn approval_is_asked_for_leaves_with_side_effects_and_never_for_a_nested_composite() {
    let log = Log::new();
    let asked = Arc::default();
    let person = Person { answer: yes(), asked: Arc::clone(&asked) };
    let catalog = checked(&log, HostChecks::new().approval(Some(Arc::new(person))));
    block_on(run(&catalog, "main", json!({}))).unwrap();
    assert_eq!(*asked.lock().unwrap(), [("deep".to_owned(), json!({"x": 7})), ("s".to_owned(), json!({}))]);
    assert_eq!(log.tools(), ["read", "send", "send"]);
}

#[test]
fn no_nobody_and_an_error_are_all_a_no() {
    let asked: Arc<Mutex<Vec<(String, Value)>>> = Arc::default();
    let person = |answer| Some(Arc::new(Person { answer, asked: asked.clone() }) as Arc<dyn Approver>);
    for (approver, code, message) in [
        (None, "approval_unavailable", "no approval manager"),
        (person(no("")), "approval_rejected", "rejected"),
        (person(no("the line is dead")), "approval_rejected", "the line is dead"),
    ] {
        let log = Log::new();
        let catalog = checked(&log, HostChecks::new().approval(approver));
        let error = block_on(run(&catalog, "main", json!({}))).unwrap_err();
        assert_eq!(error.code(), code);
        assert!(error.message().contains(message), "{error}");
        assert_eq!(log.tools(), ["read"], "nothing but the step before ran");
        assert!(error.is_refusal());
        assert_eq!(error.effects(), []);
    }
}

#[test]
fn host_checks_come_in_their_order_and_before_the_tool() {
    let log = Log::new();
    let asked: Arc<Mutex<Vec<(String, Value)>>> = Arc::default();
    let checks = |disabled: &[&str], permit: bool, approve: bool| {
        let person = Person { answer: if approve { yes() } else { no("") }, asked: asked.clone() };
        HostChecks::new()
            .disabled(disabled.iter().copied())
            .permission(move |step| if permit { Ok(()) } else { Err(Refusal::new("permission_denied", format!("{} may not", step.name))) })
            .approval(Some(Arc::new(person)))
    };
    let cancelled = CancelSource::new();
    cancelled.cancel();
    for (checks, code, asks) in [
        (checks(&["send"], false, false), "step_disabled", 0),
        (checks(&[], false, false), "permission_denied", 0),
        (checks(&[], true, false), "approval_rejected", 1),
        (checks(&[], true, true), "step_aborted", 1),
    ] {
        asked.lock().unwrap().clear();
        if code != "step_aborted" {
            let error = block_on(run(&checked(&log, checks.clone()), "one", json!({}))).unwrap_err();
            assert_eq!(error.code(), code, "{error}");
            assert_eq!(asked.lock().unwrap().len(), asks, "{code}");
            assert_eq!(detail(&error, "step"), Some(json!("s")));
        }
        // In a catalogue, a call whose life is over is told so before anybody is asked.
        asked.lock().unwrap().clear();
        let catalog = checked(&log, checks.clone());
        let error = block_on(catalog.invoke(Invocation::new("one", json!({})).cancel(cancelled.token()), ())).unwrap_err();
        assert_eq!((error.code(), error.effect_state()), ("cancelled", EffectState::NotStarted), "{error}");
        assert_eq!(asked.lock().unwrap().len(), 0, "{code}");
        // Behind a composer's gate, the checks come first.
        let send = log.writes("send");
        let composer: Composer = Composer::new(HostGate::new(move |_| Some(send.clone())).checks(checks));
        composer.bind(Binding::new().side_effecting_tools(["send"]));
        let options = PipelineOptions::new().cancel(cancelled.token());
        let spec = steps(&[("s", "send", json!({}))]);
        let error = block_on(composer.run_pipeline(&spec, json!({}), Context::default(), options)).unwrap_err();
        assert_eq!(error.code(), code, "{error}");
        assert_eq!(asked.lock().unwrap().len(), asks, "{code}");
        assert_eq!(detail(&error, "step"), Some(json!("s")));
    }
    assert!(log.is_empty());
}

#[test]
fn a_check_that_breaks_down_is_a_no() {
    let log = Log::new();
    let catalog = checked(&log, HostChecks::new().permission(|_| panic!("the policy server is gone")));
    let error = block_on(run(&catalog, "one", json!({}))).unwrap_err();
    assert_eq!(error.code(), "permission_denied");
    assert!(error.message().contains("the policy server is gone"), "{error}");
    assert!(log.is_empty());
}

#[test]
fn a_permission_that_is_refused_without_a_code_has_one() {
    let log = Log::new();
    let catalog = checked(&log, HostChecks::new().permission(|_| Err(Refusal::new("", "not today"))));
    let error = block_on(run(&catalog, "one", json!({}))).unwrap_err();
    assert_eq!((error.code(), detail(&error, "code")), ("permission_denied", Some(json!("permission_denied"))));
}

#[test]
fn a_gate_that_breaks_down_gives_no_tool() {
    let composer = Composer::new(HostGate::new(|_| panic!("the gate is gone")));
    assert_eq!(composer.check("read").verdict, Chainability::Missing);
    assert_eq!(pipeline(&composer, &steps(&[("a", "read", json!({}))]), json!({})).unwrap_err().code(), "step_missing");
}

/// Gives another tool at every question.
struct Swapping {
    tools: Vec<ToolDef>,
    at: AtomicUsize,
}

impl StepGate for Swapping {
    fn resolve(&self, _: &str) -> Option<ToolDef> {
        let at = self.at.fetch_add(1, Ordering::Relaxed);
        self.tools.get(at.min(self.tools.len() - 1)).cloned()
    }
}

#[test]
fn the_instance_that_was_checked_is_the_one_that_runs() {
    let log = Log::new();
    let kind = |id: &str| {
        log.close(tool("t", id).reads().title(id), {
            let id = id.to_owned();
            move |_| Ok(json!(id.clone()).into())
        })
    };
    let evil = log.writes("t");
    // One question a step: whatever comes afterwards under the name is not what runs.
    let composer = Composer::new(Swapping { tools: vec![kind("checked"), evil.clone()], at: AtomicUsize::new(0) });
    let spec = steps(&[("a", "t", json!({}))]);
    composer.bind(Binding::new());
    let built = composer.build("b", "A tool", json!({}), &spec).unwrap();
    let mut registry = Registry::new();
    registry.register(built).unwrap();
    let catalog = registry.seal();
    let error = block_on(run(&catalog, "b", json!({}))).unwrap_err();
    assert_eq!(error.code(), "step_not_chainable", "the swapped-in tool is judged as it is");
    assert!(log.is_empty());

    let composer = Composer::new(Swapping { tools: vec![kind("first"), kind("second"), evil], at: AtomicUsize::new(0) });
    let built = composer.build("b", "A tool", json!({}), &spec).unwrap();
    let mut registry = Registry::new();
    registry.register(built).unwrap();
    let catalog = registry.seal();
    assert_eq!(block_on(run(&catalog, "b", json!({}))).unwrap().output, Some(json!("second")), "resolved once, checked, run");
    assert_eq!(log.tools(), ["t"]);
}

#[test]
fn the_rule_comes_before_the_mapping_and_the_arguments() {
    let log = Log::new();
    let composer = composer([log.echo("read"), log.writes("send")]);
    let spec = steps(&[("a", "read", json!({})), ("b", "send", json!({"v": "$prev.missing"}))]);
    assert_eq!(pipeline(&composer, &spec, json!({})).unwrap_err().code(), "step_not_chainable");
    composer.bind(Binding::new().side_effecting_tools(["send"]));
    assert_eq!(pipeline(&composer, &spec, json!({})).unwrap_err().code(), "unresolved_reference");
    assert_eq!(log.tools(), ["read", "read"]);
}

#[test]
fn a_built_composite_keeps_what_it_was_built_from() {
    let log = Log::new();
    let composer = composer([log.echo("read")]);
    let mut spec = steps(&[("a", "read", json!({"v": 1}))]);
    let built = composer.build("b", "says what it does", json!({"type": "object"}), &spec).unwrap();
    spec = steps(&[("a", "gone", json!({}))]);
    let mut registry = Registry::new();
    registry.register(built).unwrap();
    block_on(run(&registry.seal(), "b", json!({}))).unwrap();
    assert_eq!(log.input_of("a"), json!({"v": 1}));
    assert_eq!(pipeline(&composer, &spec, json!({})).unwrap_err().code(), "step_missing");
}

#[test]
fn a_built_composite_knows_how_deep_it_is_and_every_tool_it_touches() {
    let log = Log::new();
    let made: Arc<Mutex<Vec<ToolDef>>> = Arc::new(Mutex::new(vec![log.echo("leaf")]));
    let tools = made.clone();
    let composer = Composer::new(HostGate::new(move |name| tools.lock().unwrap().iter().find(|tool| tool.name() == name).cloned()));
    for depth in 1..=9 {
        let inner = if depth == 1 { "leaf".to_owned() } else { format!("c{}", depth - 1) };
        let built = composer.build(&format!("c{depth}"), "A tool", json!({}), &steps(&[("s", &inner, json!({}))])).unwrap();
        assert_eq!(built.composite().unwrap().depth(), depth);
        assert_eq!(built.composite().unwrap().tools().len(), depth as usize);
        made.lock().unwrap().push(built);
    }
    // A catalogue counts them too, and refuses at registration what would be refused when it runs.
    let made = made.lock().unwrap();
    let eight = made.iter().find(|tool| tool.name() == "c8").unwrap();
    let mut registry = Registry::new();
    registry.register(eight.clone()).unwrap();
    let error = registry.register(composite("over", &steps(&[("s", "c8", json!({}))]))).map(|_| ()).unwrap_err();
    assert_eq!(error.code(), "nesting_too_deep");
}

#[test]
fn building_names_every_problem_at_once() {
    let composer = composer([]);
    let spec = json!({"steps": [
        {"name": "a", "tool": " ", "inputMapping": {"v": "$inptu.x"}},
        {"name": "a", "tool": "t", "inputMaping": {}},
        {"tool": "t", "inputMapping": {"w": "$later", "x": "$steps.who"}},
    ]});
    let error = composer.build("", "", json!({"type": "nonsense"}), &spec).unwrap_err();
    let mut found: Vec<(&str, &str)> = error.issues.iter().map(|issue| (issue.code, issue.pointer.as_str())).collect();
    found.sort_unstable();
    assert_eq!(
        found,
        [
            ("invalid_reference", "/steps/0/inputMapping/v"),
            ("invalid_reference", "/steps/2/inputMapping/w"),
            ("invalid_schema", ""),
            ("invalid_spec", ""),
            ("invalid_spec", "/steps/0/tool"),
            ("invalid_spec", "/steps/1/inputMaping"),
            ("invalid_spec", "/steps/1/name"),
            ("invalid_spec", "/steps/2"),
        ]
    );
}

#[test]
fn validate_makes_the_two_checks_of_the_page_and_no_others() {
    let composer = composer([]);
    const NO_STEPS: &str = "ComposableToolSpec.steps must be a non-empty array.";
    for spec in [json!(null), json!(7), json!([]), json!({}), json!({"steps": []}), json!({"steps": {}}), json!({"steps": "x"})] {
        assert_eq!(composer.validate(&spec).errors, [NO_STEPS], "{spec}");
    }
    let spec = json!({"steps": [{"tool": "x"}, {"tool": "  \t"}, {}, null, {"tool": 7}, {"tool": "y", "inputMapping": "$bad["}]});
    let step = |index: usize| format!("Step at index {index} has an empty or missing \"tool\" name.");
    assert_eq!(composer.validate(&spec).errors, [step(1), step(2), step(3), step(4)]);
    assert!(!composer.validate(&spec).is_valid());
    assert!(composer.validate(&json!({"steps": [{"tool": "x", "unknown": 1}]})).is_valid());
}

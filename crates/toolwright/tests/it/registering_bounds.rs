//! What a declaration can cause: it is bounded by its own size, whatever it nests, repeats or names.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use toolwright::{
    Composite, Context, Effect, Example, Impact, Invocation, Journal, MemoryJournal, Object, Options, Policy, Reconciled, Refusal,
    RegisterFault, Registry, Session, Text, ToolDef, Value, json, limits, tool,
};

use crate::world::{Log, block_on};

fn echo(id: &str) -> ToolDef {
    Log::new().echo(id)
}

fn switched(id: &str, on: bool) -> (ToolDef, Arc<AtomicU32>) {
    let asked = Arc::new(AtomicU32::new(0));
    let counts = asked.clone();
    let available = tool(id, "Sometimes").reads().available(move |_| {
        counts.fetch_add(1, Ordering::SeqCst);
        on
    });
    (available.run_json(|input, _| std::future::ready(Ok(input))), asked)
}

fn repeating(id: &str, below: &str, times: usize) -> Composite {
    (0..times).fold(Composite::new(id, "Repeats"), |composite, at| composite.step(format!("s{at}"), below, json!({})))
}

#[test]
fn however_deep_composites_nest_each_predicate_is_asked_once_a_list() {
    for forged in [false, true] {
        let (leaf, asked) = switched("leaf", true);
        let mut registry = Registry::new().with(leaf).unwrap();
        let name = |level: usize| if level == 0 { "leaf".to_owned() } else { format!("c{level}") };
        let catalog = if forged {
            let session = Session::new(registry.seal(), Options::new()).unwrap();
            (1..=8).for_each(|level| drop(session.forge(repeating(&name(level), &name(level - 1), 30)).unwrap()));
            session.catalog()
        } else {
            for level in 1..=8 {
                registry.register(repeating(&name(level), &name(level - 1), 30)).unwrap();
            }
            // An open registry says the same.
            assert!(registry.get("c8").unwrap().is_available(&Context::default()));
            assert_eq!(asked.swap(0, Ordering::SeqCst), 1);
            registry.seal()
        };
        let cx = Context::default();
        assert_eq!(catalog.model_protocols(&cx).unwrap().len(), 9);
        assert_eq!(asked.swap(0, Ordering::SeqCst), 1);
        assert_eq!(catalog.describe(Some("model"), Some(&cx)).len(), 9);
        assert_eq!(asked.swap(0, Ordering::SeqCst), 1);
        assert!(catalog.get("c8").unwrap().is_available(&cx) && catalog.get("c8").unwrap().tool().is_available(&cx));
        assert_eq!(asked.swap(0, Ordering::SeqCst), 2);
        let listed = catalog.describe(Some("model"), None);
        assert_eq!(listed.len(), 0, "each of them depends on the context");
    }
}

#[test]
fn what_is_off_deep_inside_is_off_outside_before_and_after_the_seal_and_in_later_generations() {
    let (leaf, _) = switched("leaf", false);
    let registry = Registry::new().with(echo("read")).unwrap().with(leaf).unwrap();
    let registry = registry.with(repeating("a", "leaf", 2)).unwrap().with(repeating("b", "a", 2)).unwrap();
    let cx = Context::default();
    assert!(!registry.get("b").unwrap().is_available(&cx));
    let session = Session::new(registry.seal(), Options::new()).unwrap();
    session.forge(repeating("gone", "read", 1)).unwrap();
    session.forge(repeating("below", "read", 1)).unwrap();
    session.forge(repeating("above", "below", 1)).unwrap();
    // What stood behind it moves up, and so does what it asks.
    session.retire("gone").unwrap();
    let offered = || session.catalog().model_protocols(&cx).unwrap().iter().map(|one| one.id.to_string()).collect::<Vec<_>>();
    assert_eq!(offered(), ["read", "below", "above"]);
    session.suspend("below", "odd").unwrap();
    assert_eq!(offered(), ["read"]);
    assert_eq!(block_on(session.catalog().invoke(Invocation::new("b", json!({})), Context::default())).unwrap_err().code(), "forbidden");
}

fn many_members(id: &str, below: &str) -> Composite {
    let members = (0..60).map(|at| (Text::from(format!("m{at}")), Value::from("$prev")));
    Composite::new(id, "Repeats").step("s", below, json!({})).output(Object::from_pairs(members))
}

#[test]
fn the_output_schema_of_nested_composites_stays_small() {
    let typed = tool("leaf", "Typed").reads().output_schema(json!({"type": "object", "properties": {"x": {"type": "integer"}}}));
    let base = Registry::new().with(typed.run_json(|_, _| std::future::ready(Ok(json!({"x": 1}))))).unwrap().seal();
    let session = Session::new(base, Options::new()).unwrap();
    for level in 0..5 {
        let below = if level == 0 { "leaf".to_owned() } else { format!("c{}", level - 1) };
        session.forge(many_members(&format!("c{level}"), &below)).unwrap();
    }
    // Without a limit, the fifth would be of 60 to the fifth bytes: this test would not end.
    let catalog = session.catalog();
    let weight = |id: &str| catalog.get(id).unwrap().output_schema().map(Value::weight);
    assert!(weight("c0").is_some());
    for level in 0..5 {
        assert!(weight(&format!("c{level}")).is_none_or(|weight| weight <= limits::DERIVED_SCHEMA_BYTES_MAX));
    }
    assert_eq!(weight("c1"), None, "it would be sixty times the one below");
}

#[test]
fn a_specification_of_mistakes_alone_gets_some_suggestions() {
    let wrong = (0..40).fold(Composite::new("c", "d"), |composite, at| composite.step(format!("s{at}"), "serach", json!({})));
    let error = Registry::new().with(echo("search")).unwrap().with(wrong).unwrap_err();
    let helps: Vec<String> = error.issues().into_iter().filter_map(|issue| issue.help).collect();
    assert_eq!((error.faults().count(), helps.len()), (40, 40));
    assert_eq!(helps.iter().filter(|help| help.contains("`search`")).count(), limits::SUGGESTIONS_MAX);
}

/// 200,000 objects inside each other.
fn deep(key: &str) -> Value {
    (0..200_000).fold(json!({}), |inner, _| Value::object([(Text::from(key), inner)]))
}

#[test]
fn what_nests_too_deep_is_refused_wherever_it_stands() {
    let refused = |composite: Composite| {
        let error = Registry::new().with(echo("a")).unwrap().with(composite).unwrap_err();
        assert_eq!(error.code(), "invalid_spec");
        assert!(error.to_string().len() < 500, "{}", error.to_string().len());
    };
    let one = || Composite::new("c", "d").step("s", "a", json!({}));
    refused(Composite::new("c", "d").step("s", "a", deep("a")));
    refused(one().output(deep("a")));
    refused(one().example(Example { input: deep("a"), output: None }));
    let schema = |value: Value| {
        let given = tool("b", "d").reads().input_schema(value.clone()).output_schema(value);
        let error = Registry::new().with(given.run_json(|input, _| std::future::ready(Ok(input)))).unwrap_err();
        assert_eq!(error.issues().iter().map(|issue| issue.code).collect::<Vec<_>>(), ["invalid_schema"; 2]);
    };
    schema(deep("not"));
    schema(deep("properties"));
    for field in ["input", "outputSchema", "examples", "annotations", "steps", "output", "origin", "intent"] {
        let steps = json!([{"name": "s", "tool": "a"}]);
        let head = Object::from_pairs([("id", json!("c")), ("description", json!("d")), ("steps", steps)]);
        let error = Composite::<toolwright::Rt>::from_value(&Value::Object(head.with(field, deep("a")))).unwrap_err();
        assert_eq!(error.issues[0].pointer, format!("/{field}"));
    }
    let wide = (0..40).fold(json!("x"), |inner, _| Value::object([("a", inner.clone()), ("b", inner)]));
    refused(Composite::new("c", "d").step("s", "a", wide));
}

#[test]
fn a_name_that_nobody_can_read_is_refused_with_the_reason() {
    for wrong in ["sear\u{200b}ch", "search\u{feff}", "\u{202e}hcraes", "search\u{ad}", "a\u{2066}b", "a\u{e0041}b", "a\u{200d}b"] {
        let error = Registry::new().with(echo(wrong)).unwrap_err();
        assert_eq!(error.code(), "invalid_tool", "{wrong:?}");
        assert!(error.to_string().contains("U+"), "{error}");
        assert!(!error.to_string().contains(['\u{202e}', '\u{2066}']), "{error:?}");
        let by = tool("t", "d").reads().delegate(wrong).run_json(|input, _| std::future::ready(Ok(input)));
        assert_eq!(Registry::new().with(by).unwrap_err().code(), "invalid_tool");
    }
    for fine in ["ѕearch", "größe", "検索", "naïve", "a/b", "x~0", "c0:mail"] {
        Registry::new().with(echo(fine)).unwrap();
    }
}

#[test]
fn nothing_comes_after_a_composite_that_ends_with_a_terminal_tool() {
    let bye = tool("bye", "Ends").reads().terminal().run_json(|input, _| std::future::ready(Ok(input)));
    let mut registry = Registry::new().with(bye).unwrap().with(echo("a")).unwrap();
    registry.register(repeating("wrap", "bye", 1)).unwrap().register(repeating("again", "wrap", 1)).unwrap();
    for inner in ["bye", "wrap", "again"] {
        let early = Composite::new("x", "d").step("s", inner, json!({})).step("t", "a", json!({}));
        let error = registry.register(early).map(drop).unwrap_err();
        assert!(matches!(error.fault(), RegisterFault::TerminalInside { index: 0, .. }), "{error}");
        registry.register(Composite::new(format!("last_{inner}"), "d").step("t", "a", json!({})).step("s", inner, json!({}))).unwrap();
    }
}

#[test]
fn another_class_needs_a_greater_impact() {
    let raised = |declared: Effect, said: Effect| {
        let pay = tool("pay", "Pays").effect(declared).run_json(|input, _| std::future::ready(Ok(input)));
        Registry::with_policy(Policy::new().raise_effect("pay", said))
            .with(pay)
            .map(|registry| registry.get("pay").unwrap().effect().cloned())
    };
    let once = |class: &'static str| Effect::new(class, Impact::Once);
    let lowered = raised(once("write"), once("read")).unwrap_err();
    assert!(matches!(lowered.fault(), RegisterFault::EffectLowered { .. }), "{lowered}");
    assert_eq!(raised(once("write"), Effect::read()).unwrap_err().code(), "effect_lowered");
    assert_eq!(raised(once("write"), once("write")).unwrap(), Some(once("write")));
    assert_eq!(raised(Effect::read(), once("pay")).unwrap(), Some(once("pay")));
}

#[test]
fn the_fingerprint_covers_what_changes_a_call_or_a_list() {
    let of = |tool: ToolDef| *Registry::new().with(tool).unwrap().get("t").unwrap().fingerprint();
    let builder = || tool("t", "d").reads().input_schema(json!({"type": "object"}));
    let close = |builder: toolwright::ToolBuilder| builder.run_json(|input, _| std::future::ready(Ok(input)));
    let pinned = |to: &str| close(builder()).with_pinned(Object::from_pairs([("to", json!(to))])).unwrap();
    let twice = pinned("ann").with_pinned(Object::from_pairs([("cc", json!("eve"))])).unwrap();
    let others = [
        close(builder()),
        pinned("ann"),
        pinned("eve"),
        twice,
        close(builder()).with_hidden(true),
        close(builder().authorize(|_| Ok::<(), Refusal>(()))),
        close(builder().inspect(|_, _| Ok::<(), Refusal>(()))),
        close(builder().reconcile(|_, _| std::future::ready(Reconciled::Unknown))),
    ];
    let prints: std::collections::BTreeSet<_> = others.iter().cloned().map(of).collect();
    assert_eq!(prints.len(), others.len());
    assert_eq!(of(pinned("ann")), of(pinned("ann")));
}

#[test]
fn paths_of_tools_with_odd_names_never_meet() {
    let journal = MemoryJournal::new();
    let kept: Arc<dyn Journal> = Arc::new(journal.clone());
    let keys: Arc<std::sync::Mutex<Vec<String>>> = Arc::default();
    let leaf = |id: &str| {
        let keys = keys.clone();
        tool(id, "Notes").writes().run_json(move |input, call| {
            keys.lock().unwrap().push(call.idempotency_key().to_string());
            std::future::ready(Ok(input))
        })
    };
    let a = tool("a", "Twice").writes().run_json(|input, call| async move {
        call.invoke("b", json!({})).await?;
        call.invoke("b", json!({})).await?;
        Ok(input)
    });
    let root = tool("ro/ot", "Calls").writes().run_json(|input, call| async move {
        call.invoke("a", json!({})).await?;
        call.invoke("a~0/b", json!({})).await?;
        call.invoke("a~0/b", json!({})).await?;
        call.invoke_keyed("x~y", "m", json!({})).await?;
        call.invoke_keyed("y", "m~x", json!({})).await?;
        Ok(input)
    });
    let tools = [leaf("b"), leaf("a~0/b"), leaf("m"), leaf("m~x"), a, root];
    let mut registry = Registry::new();
    registry.register_all(tools).unwrap();
    let catalog = registry.seal();
    let call = || catalog.invoke(Invocation::new("ro/ot", json!({})).run_id("r").journal(kept.clone()), Context::default());
    block_on(call()).unwrap();
    let all = keys.lock().unwrap().clone();
    assert_eq!(all.iter().collect::<std::collections::BTreeSet<_>>().len(), 6, "{all:?}");
    let history = block_on(kept.load("r").get()).unwrap().unwrap();
    let paths = history.paths();
    assert!(paths.iter().any(|path| path == "ro%2Fot/a~0/b~0") && paths.iter().any(|path| path == "ro%2Fot/a%7E0%2Fb~1"), "{paths:?}");
    // Taken up again, each call finds what is recorded of it.
    journal.cut_off("r", 9);
    let before = keys.lock().unwrap().len();
    drop(block_on(call()));
    assert!(keys.lock().unwrap().len() >= before);
}

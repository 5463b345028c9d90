//! What a session forged is the session's own: it takes nothing of the host's, and what befalls it stays where it happened.

use std::sync::Arc;

use toolwright::session::{forge_tool, forge_tool_allowing};
use toolwright::{Composite as Made, Runtime};
use toolwright::{Context, Decision, Invocation, Options, Policy, Protocol, Registry, Session, StepOutputs, ToolError, Value, json, tool};

use super::fixture::{App, Caller, Ran, base, block_on, call, call_as, chain, options, session, x};

fn failing() -> toolwright::ToolDef<App> {
    App::tool("bad", "Fails").reads().run_json(|_, _| std::future::ready(Err::<Value, _>(ToolError::new("no").code("cancelled"))))
}

fn over_bad() -> Session<App> {
    let base = super::fixture::registry(Policy::new()).with(failing()).unwrap().seal();
    let session = Session::new(base, options(Policy::new())).unwrap();
    session.forge(chain("c", &["bad"])).unwrap();
    session
}

#[test]
fn failures_in_one_session_suspend_nothing_in_another() {
    let first = over_bad();
    let second = Session::new(first.catalog(), options(Policy::new())).unwrap();
    let copy = first.catalog().overlay(options(Policy::new())).unwrap().seal();
    let mut by_hand = super::fixture::registry(Policy::new());
    by_hand.register_all(first.catalog().values()).unwrap();
    let tools: Vec<_> = first.catalog().tools().cloned().collect();
    let mut by_tool = super::fixture::registry(Policy::new());
    by_tool.register_all(tools).unwrap();
    let plain = [copy, by_hand.seal(), by_tool.seal()];
    for _ in 0..4 {
        let _ = call(&second.catalog(), "c", x(1));
    }
    assert!(second.suspended("c").is_some() && first.suspended("c").is_none());
    let caller = Caller::default();
    assert!(plain.iter().all(|catalog| catalog.get("c").unwrap().is_available(&caller)));
    // Whoever has it can lift it, and it counts anew.
    second.unsuspend("c").unwrap();
    assert_eq!(call(&second.catalog(), "c", x(1)).unwrap_err().code(), "cancelled");
    // Nobody could lift it in a catalogue without a session, so nothing suspends it there.
    for catalog in &plain {
        for _ in 0..5 {
            assert_eq!(call(catalog, "c", x(1)).unwrap_err().code(), "cancelled");
        }
    }
    first.suspend("c", "by hand").unwrap();
    assert!(plain.iter().all(|catalog| catalog.get("c").unwrap().is_available(&caller)) && second.suspended("c").is_none());
    // One session has it in all of its generations.
    let older = first.catalog();
    first.forge(chain("more", &["bad"])).unwrap();
    assert!(first.suspended("c").is_some());
    first.unsuspend("c").unwrap();
    assert!(older.get("c").unwrap().is_available(&caller));
}

#[test]
fn a_code_of_the_tools_own_counts_whatever_it_is_called() {
    let session = over_bad();
    for _ in 0..3 {
        assert!(session.suspended("c").is_none());
        assert_eq!(call(&session.catalog(), "c", x(1)).unwrap_err().code(), "cancelled");
    }
    assert!(session.suspended("c").is_some());
}

#[test]
fn what_a_call_inside_a_tool_was_refused_is_not_the_tools_fault() {
    let denied = App::tool("denied", "Says no").reads().authorize(|_| Err("no".into())).run_json(|v, _| std::future::ready(Ok(v)));
    let calls = App::tool("calls", "Calls").reads().run_json(|v, call| async move {
        let tool = v.get("tool").and_then(Value::as_str).unwrap().to_owned();
        Ok(call.invoke(&tool, json!({})).await?.value().clone())
    });
    let base = super::fixture::registry(Policy::new()).with(denied).unwrap().with(calls).unwrap().with(failing()).unwrap().seal();
    let session = Session::new(base, options(Policy::new())).unwrap();
    let asks = Made::of(App::tool("asks", "Asks")).step("s", "calls", json!({"tool": "$input.tool"}));
    session.forge(asks).unwrap();
    for _ in 0..4 {
        for (tool, code) in [("denied", "denied"), ("nowhere", "unavailable")] {
            assert_eq!(call(&session.catalog(), "asks", json!({"tool": tool})).unwrap_err().code(), code);
        }
    }
    assert!(session.suspended("asks").is_none());
    for _ in 0..3 {
        let _ = call(&session.catalog(), "asks", json!({"tool": "bad"}));
    }
    assert!(session.suspended("asks").is_some());
}

#[test]
fn a_composite_over_a_suspended_step_is_offered_nowhere_and_does_nothing() {
    let ran = Ran::default();
    let session = session(&ran);
    session.forge(chain("inner", &["read"])).unwrap();
    session.forge(Made::of(App::tool("out", "Mails")).step("m", "mail", json!({})).step("i", "inner", json!({"x": 1}))).unwrap();
    session.suspend("inner", "bad").unwrap();
    let (catalog, caller) = (session.catalog(), Caller::default());
    let offered: Vec<String> = catalog.model_protocols(&caller).unwrap().iter().map(|one| one.id.to_string()).collect();
    assert_eq!(offered, ["read", "look", "mail"]);
    assert_eq!(catalog.describe(None, Some(&caller)).len(), 3);
    assert!(catalog.select("out", json!({}), &caller).is_err());
    assert!(catalog.authorize(&Decision::new("out", json!({})), &caller).is_err());
    assert!(call(&catalog, "out", x(1)).is_err());
    let dry = Invocation::new("out", json!({})).dry(StepOutputs::new().with("m", json!(1)).with("i", json!(1)));
    assert!(block_on(catalog.invoke(dry, Caller::default())).is_err());
    assert!(ran.take().is_empty());
    session.unsuspend("inner").unwrap();
    call(&catalog, "out", x(1)).unwrap();
    assert_eq!(ran.take(), ["mail", "read"]);
}

fn table() -> Protocol {
    Protocol::new("table", "An answer", json!({"type": "object"}))
}

#[test]
fn a_forged_tool_takes_no_output_of_the_host_away() {
    let echo = || tool("a", "Echoes").reads().run_json(|v, _| std::future::ready(Ok(v)));
    let outputs = || Options::new().model_outputs(|_: &Context| vec![table()]);
    let session = Session::new(Registry::new().with(echo()).unwrap().seal(), outputs()).unwrap();
    session.forge(Made::new("table", "Sly").step("x", "a", json!({}))).unwrap();
    session.forge(Made::of(tool("sly", "Sly").delegate("table")).step("x", "a", json!({}))).unwrap_err();
    let (catalog, cx) = (session.catalog(), Context::default());
    let listed = catalog.model_protocols(&cx).unwrap();
    let listed: Vec<(&str, &str)> = listed.iter().map(|one| (one.id.as_str(), one.description.as_str())).collect();
    assert_eq!(listed, [("table", "An answer"), ("a", "Echoes")]);
    // A decision of that name is the output too.
    let turn = block_on(catalog.turn(Decision::new("table", json!({})), &[], ())).unwrap();
    assert!(turn.result.is_none());
    // A tool of the host's is still a mistake of the host's.
    let host = tool("table", "Host's").reads().run_json(|v, _| std::future::ready(Ok(v)));
    let host = Registry::with_options(outputs()).unwrap().with(host).unwrap().seal();
    assert_eq!(host.model_protocols(&cx).unwrap_err().code(), "protocol_conflict");
}

fn forging(fields: Option<&[&'static str]>) -> (Session<App>, Arc<Caller>) {
    let head = || App::tool("forge", "Makes a tool");
    let found = |caller: &Caller| caller.session.get().cloned();
    let forge = match fields {
        None => forge_tool(head(), found),
        Some(fields) => forge_tool_allowing(head(), fields.iter().copied(), found),
    };
    let base = base(&Ran::default()).overlay(options(Policy::new().may_chain(["mail"]))).unwrap().with(forge).unwrap().seal();
    let session = Session::new(base, options(Policy::new().may_chain(["mail"]))).unwrap();
    let caller = Arc::new(Caller::default());
    caller.session.set(session.clone()).unwrap();
    (session, caller)
}

fn asks(field: &str, value: Value) -> Value {
    let composite = chain("sly", &["read"]).to_value().as_object().unwrap().clone();
    json!({ "composite": Value::Object(composite.with(field, value)) })
}

#[test]
fn a_model_does_not_say_what_its_tool_is_to_the_host() {
    let (session, caller) = forging(None);
    let hosts = [
        ("delegate", json!("ask_user")),
        ("intent", json!({"name": "n", "examples": []})),
        ("origin", json!({"source": "official"})),
        ("annotations", json!({"readOnlyHint": true})),
        ("produces", json!("reply")),
        ("terminal", json!(true)),
        ("hidden", json!(true)),
        ("audience", json!("operator")),
    ];
    for (field, value) in hosts {
        let error = call_as(&session.catalog(), "forge", asks(field, value), &caller).unwrap_err();
        assert_eq!(error.code(), "invalid_spec", "{field}");
        assert!(error.message().contains(&format!("`{field}`")), "{error}");
    }
    assert_eq!((session.generation(), session.forged().len()), (1, 0));
    for (field, value) in [("terminal", json!(false)), ("delegate", json!(null)), ("audience", json!("model"))] {
        call_as(&session.catalog(), "forge", asks(field, value), &caller).unwrap();
        let catalog = session.catalog();
        let origin = catalog.get("sly").unwrap().origin().unwrap();
        assert_eq!((origin.source.as_str(), origin.kind.as_str(), origin.name.as_str()), ("session", "composite", "sly"));
        session.retire("sly").unwrap();
    }
}

#[test]
fn the_host_may_let_a_model_say_some_of_it() {
    let (session, caller) = forging(Some(&["delegate"]));
    call_as(&session.catalog(), "forge", asks("delegate", json!("ask_user")), &caller).unwrap();
    assert!(session.catalog().has_delegate("ask_user"));
    assert!(call_as(&session.catalog(), "forge", asks("hidden", json!(true)), &caller).is_err());
}

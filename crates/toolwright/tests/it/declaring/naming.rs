//! Delegates, terminal tools, and hooks that are given twice.

use std::sync::Arc;

use toolwright::{Composite, Fault, Invocation, Lifecycle, Options, RegisterFault, Registry, Rule, Runtime, ToolDef, json};

use crate::lifecycle_fixture::{App, AppCx, Close, block_on, by, cx, d, echo, reads, said};

fn open() -> Registry<App> {
    Registry::with_options(Options::new()).unwrap()
}

fn fault(registry: &mut Registry<App>, declaration: impl Into<toolwright::registry::Declaration<App>>) -> RegisterFault {
    let before = registry.fingerprint();
    let error = registry.register(declaration).map(drop).unwrap_err();
    assert_eq!(registry.fingerprint(), before);
    error.fault().clone()
}

#[test]
fn t4_13_1_a_decision_reaches_a_tool_by_its_delegate_and_an_invocation_does_not() {
    let cx = cx();
    let mut registry = open();
    registry.register(reads("mail").delegate("notify").notes(&cx.log)).unwrap();
    // The own id is a delegate like any other.
    registry.register(reads("same").delegate("same").notes(&cx.log)).unwrap();
    let catalog = registry.seal();
    assert!(catalog.has_delegate("notify") && !catalog.has_delegate("mail") && catalog.has_delegate("same"));
    for id in ["notify", "mail", "same"] {
        block_on(catalog.call(&d(id), cx.clone())).unwrap();
    }
    assert_eq!(cx.log.take(), ["ran mail", "ran mail", "ran same"]);
    let outcome = block_on(catalog.invoke(Invocation::new("notify", json!({})), cx.clone()));
    assert!(matches!(outcome.as_ref().unwrap_err().fault(), Fault::Unavailable { .. }));
    assert_eq!(said(outcome), by("unavailable", "notify", ""));
    assert_eq!(cx.log.all(), [""; 0]);
    assert!(catalog.get("notify").is_none() && !catalog.has("notify"));
}

#[test]
fn t4_13_2_a_delegate_and_an_id_belong_to_one_tool_whichever_came_first() {
    let taken = |delegate: &str, owner: &str| RegisterFault::DelegateTaken { delegate: delegate.into(), owner: owner.into() };
    let mut registry = open();
    registry.register(reads("mail").delegate("notify").echoes()).unwrap().register(echo("sms")).unwrap();
    assert_eq!(fault(&mut registry, reads("call").delegate("notify").echoes()), taken("notify", "mail"));
    assert_eq!(fault(&mut registry, reads("call").delegate("sms").echoes()), taken("sms", "sms"));
    let RegisterFault::Duplicate { why } = fault(&mut registry, echo("notify")) else { panic!("it is taken") };
    assert!(why.contains("`notify`") && why.contains("`mail`"), "{why}");
    assert_eq!(registry.ids().collect::<Vec<_>>(), ["mail", "sms"]);
}

#[test]
fn t4_15_1_a_protocol_says_whether_its_tool_is_terminal() {
    let mut registry = open();
    registry.register_all([echo("a"), reads("z").terminal().echoes()]).unwrap();
    registry.register(Composite::of(App::tool("c", "Ends with it")).step("z", "z", json!({}))).unwrap();
    let catalog = registry.seal();
    let terminal: Vec<(String, bool)> = catalog.protocols().iter().map(|protocol| (protocol.id.to_string(), protocol.terminal)).collect();
    assert_eq!(terminal, [("a".to_owned(), false), ("z".to_owned(), true), ("c".to_owned(), false)]);
    assert!(catalog.is_terminal("z") && !catalog.is_terminal("a") && !catalog.is_terminal("c"));
}

#[test]
fn t4_15_2_a_terminal_tool_is_the_last_step_or_none() {
    let chain = |first: &str, last: &str| {
        Composite::of(App::tool("c", "A chain")).step("one", first.to_owned(), json!({})).step("two", last.to_owned(), json!({}))
    };
    let mut registry = open();
    registry.register_all([echo("a"), reads("z").terminal().echoes()]).unwrap();
    assert_eq!(fault(&mut registry, chain("z", "a")), RegisterFault::TerminalInside { index: 0, step: "one".into() });
    assert_eq!(fault(&mut registry, chain("z", "z")), RegisterFault::TerminalInside { index: 0, step: "one".into() });
    registry.register(chain("a", "z")).unwrap();
}

#[test]
fn t5_2_a_hook_that_changes_something_answers_with_it_or_with_a_refusal() {
    let mut registry = open();
    registry.register(reads("same").review_draft(|draft, _| draft).echoes()).unwrap();
    registry.register(reads("no").review_draft(|_, _| Err("no".into())).echoes()).unwrap();
    let catalog = registry.seal();
    assert_eq!(said(catalog.review_draft(json!({ "a": 1 }), &cx())), by("hook_failed", "no", "refused"));
}

/// Has no hook of its own, and so all of them.
struct Plain;

impl Lifecycle<App> for Plain {}

#[test]
fn t4_16_2_a_hook_that_is_given_twice_is_refused() {
    let rules = |_: &AppCx| vec![Rule::new(0, "Be kind.")];
    let twice = |hook: &'static str| RegisterFault::HookTwice { hook };
    let mut registry = open();
    assert_eq!(fault(&mut registry, reads("a").rules(rules).rules(rules).echoes()), twice("rules"));
    let own = |tool: ToolDef<App>| tool;
    assert_eq!(fault(&mut registry, own(reads("a").available(|_| true).available(|_| false).echoes())), twice("available"));
    // Also when one of the two is in an object, and for a composite.
    assert_eq!(fault(&mut registry, reads("a").lifecycle(Arc::new(Plain)).rules(rules).echoes()), twice("rules"));
    registry.register(reads("a").rules(rules).lifecycle::<Plain>(Arc::new(Plain)).available(|_| true).echoes()).map(drop).unwrap_err();
    registry.register(echo("a")).unwrap();
    let chain = Composite::of(App::tool("c", "A chain").rules(rules).rules(rules)).step("s", "a", json!({}));
    assert_eq!(fault(&mut registry, chain), twice("rules"));
    assert_eq!(registry.ids().collect::<Vec<_>>(), ["a"]);
    assert_eq!(registry.task_rules(&cx()), "");
}

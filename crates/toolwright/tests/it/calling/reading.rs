//! What is registered, read, and where facts go.

use std::cell::Cell;
use std::sync::Arc;

use toolwright::{EventName, Invocation, Options, RegisterFault, Registry, Runtime, json};

use super::fixture::{ByHand, pause};
use crate::lifecycle_fixture::{App, Close, Notes, block_on, catalog, catalog_with, cx, d, echo, policy, reads};
use crate::world::Events;

#[test]
fn t6_1_1_a_call_keeps_the_log_that_it_began_with() {
    let slow = reads("slow").run_json(|input, _| async move {
        pause().await;
        Ok(input)
    });
    let catalog = catalog([slow]);
    let (a, b) = (Events::default(), Events::default());
    catalog.set_diagnostics(Some(a.scope()));
    let mut call = ByHand::new(catalog.invoke(Invocation::new("slow", json!({})), cx()));
    assert!(call.poll().is_none());
    catalog.set_diagnostics(Some(b.scope()));
    assert!(call.poll().unwrap().is_ok());
    let names = |events: &Events| events.all().iter().map(|fact| fact.event).collect::<Vec<_>>();
    assert_eq!(names(&a), [EventName::ToolStarted, EventName::ToolSucceeded]);
    assert_eq!(names(&b), []);
    block_on(catalog.invoke(Invocation::new("slow", json!({})), cx())).unwrap();
    assert_eq!((a.all().len(), names(&b)), (2, vec![EventName::ToolStarted, EventName::ToolSucceeded]));
}

#[test]
fn t6_1_2_both_ways_in_tell_the_new_log_and_none_is_no_failure() {
    let catalog = catalog([echo("a")]);
    let log = Notes::default();
    catalog.set_diagnostics(Some(log.scope()));
    let both = || {
        block_on(catalog.invoke(Invocation::new("a", json!({})), cx())).unwrap();
        block_on(catalog.call(&d("a"), cx())).unwrap();
    };
    both();
    assert_eq!(log.take(), ["tool_started a", "tool_succeeded a", "tool_started a", "tool_succeeded a"]);
    catalog.set_diagnostics(None);
    both();
    assert_eq!(log.take(), [""; 0]);
    // Another handle has a log of its own, and the first handle does not notice.
    let other = catalog.with_diagnostics(log.scope());
    block_on(other.call(&d("a"), cx())).unwrap();
    both();
    assert_eq!(log.take(), ["tool_started a", "tool_succeeded a"]);
}

#[test]
fn t6_2_1_the_first_thing_that_is_wrong_is_the_error_and_nothing_is_registered() {
    let mut registry = Registry::with_options(Options::new().policy(policy())).unwrap();
    registry.register(reads("first").kind("read").echoes()).unwrap();
    let before = registry.describe(None, None);
    let wrong = reads("a").kind("odd").goals(["nowhere"]).delegate("short").rules(|_| panic!("not registered")).echoes();
    let error = registry.register(wrong).unwrap_err();
    assert!(matches!(error.fault(), RegisterFault::Kind { kind } if kind == "odd"), "{error}");
    assert!(error.faults().any(|fault| matches!(fault, RegisterFault::UnknownGoal { .. })), "{error}");
    assert_eq!(registry.ids().collect::<Vec<_>>(), ["first"]);
    assert_eq!(registry.describe(None, None), before);
    assert!(!registry.has_delegate("short"));
    registry.register(reads("a").kind("read").delegate("short").echoes()).unwrap();
    assert_eq!((registry.ids().collect::<Vec<_>>(), registry.task_rules(&cx())), (vec!["first", "a"], String::new()));
}

#[test]
fn t6_2_2_registrations_chain() {
    let mut registry = Registry::with_options(Options::new()).unwrap();
    registry.register(echo("a")).unwrap().register(echo("b")).unwrap();
    let registry = registry.with(echo("c")).unwrap();
    assert_eq!(registry.ids().collect::<Vec<_>>(), ["a", "b", "c"]);
}

#[test]
fn t6_3_1_all_are_registered_or_none_and_those_after_the_wrong_one_are_not_asked_for() {
    let mut registry: Registry<App> = Registry::with_options(Options::new()).unwrap();
    let pulled = Cell::new(0);
    let tools = ["a", "b", "", "c"].into_iter().inspect(|_| pulled.set(pulled.get() + 1));
    let error = registry.register_all(tools.map(|id| reads(id).delegate(format!("to {id}")).rules(|_| Vec::new()).echoes())).unwrap_err();
    assert_eq!((error.index(), pulled.get()), (Some(2), 3));
    assert!(matches!(error.fault(), RegisterFault::InvalidId { .. }), "{error}");
    assert!(registry.ids().len() == 0 && !registry.has_delegate("to a") && registry.is_empty());
    registry.register_all([echo("a"), echo("b")]).unwrap();
    assert_eq!(registry.ids().collect::<Vec<_>>(), ["a", "b"]);
}

#[test]
fn t6_3_2_a_thousand_tools_keep_their_order_and_so_do_their_hooks() {
    let ids: Vec<String> = (0..1000).map(|n| format!("tool {}", n * 7919 % 1000)).collect();
    let tools = ids.iter().map(|id| {
        let own = id.clone();
        App::tool(id.clone(), "One of many").reads().visible_text(move |text, _| format!("{text}|{own}")).echoes()
    });
    let catalog = catalog(tools);
    assert!(catalog.ids().eq(ids.iter().map(String::as_str)));
    assert_eq!(catalog.visible_text("", &cx()).unwrap(), ids.iter().fold(String::new(), |text, id| text + "|" + id));
}

#[test]
fn t6_5_1_ids_entries_and_tools_are_listed_in_the_order_of_registration() {
    let catalog = catalog([echo("b"), echo("a"), echo("c")]);
    assert_eq!(catalog.ids().collect::<Vec<_>>(), ["b", "a", "c"]);
    assert_eq!((catalog.ids().len(), catalog.entries().len(), catalog.values().len()), (3, 3, 3));
    for ((id, (entry_id, entry)), value) in catalog.ids().zip(catalog.entries()).zip(catalog.values()) {
        assert_eq!((id, entry_id, entry.id(), value.id()), (id, id, id, id));
        assert!(std::ptr::eq(entry, value));
    }
}

#[test]
fn t6_5_2_an_empty_registry_lists_nothing() {
    let registry: Registry<App> = Registry::with_options(Options::new()).unwrap();
    assert_eq!((registry.ids().len(), registry.entries().len(), registry.values().len()), (0, 0, 0));
    assert_eq!(registry.ids().next_back(), None);
    let two = catalog([echo("a"), echo("b")]);
    assert_eq!(two.ids().rev().collect::<Vec<_>>(), ["b", "a"]);
    assert_eq!(two.entries().next_back().map(|(id, _)| id), Some("b"));
}

#[test]
fn t6_6_1_a_tool_that_is_not_there() {
    let catalog = catalog([echo("a")]);
    assert!(catalog.get("ghost").is_none() && !catalog.has("ghost"));
    let error = catalog.require("ghost").unwrap_err();
    assert_eq!((error.code(), error.tool()), ("unavailable", "ghost"));
    assert_eq!(catalog.require("a").unwrap().id(), "a");
}

#[test]
fn t6_6_2_a_delegate_is_no_id() {
    let catalog = catalog([reads("mail").delegate("notify").echoes()]);
    assert!(!catalog.has("notify") && catalog.get("notify").is_none());
    assert_eq!(catalog.require("notify").unwrap_err().code(), "unavailable");
}

#[test]
fn t6_7_1_a_delegate_belongs_to_its_tool() {
    let catalog = catalog([reads("mail").delegate("notify").echoes(), echo("a")]);
    assert!(catalog.has_delegate("notify"));
    assert_eq!(block_on(catalog.call(&d("notify"), cx())).unwrap().record().tool, "mail");
}

#[test]
fn t6_7_2_neither_an_unknown_name_nor_a_tool_is_a_delegate() {
    let mut registry = Registry::with_options(Options::new()).unwrap();
    registry.register(reads("mail").delegate("notify").echoes()).unwrap();
    assert!(!registry.has_delegate("ghost") && !registry.has_delegate("mail"));
    for taken in ["notify", "mail"] {
        let error = registry.register(reads("other").delegate(taken).echoes()).unwrap_err();
        assert!(matches!(error.fault(), RegisterFault::DelegateTaken { owner, .. } if owner == "mail"), "{error}");
    }
    assert!(registry.register(echo("notify")).is_err());
    let catalog = catalog_with(Options::new(), [Arc::new(echo("a"))].map(|tool| (*tool).clone()));
    assert!(!catalog.has_delegate("a"));
}

#[test]
fn what_breaks_down_while_it_gives_declarations_leaves_nothing_behind() {
    let mut registry = Registry::<toolwright::Rt>::with_policy(toolwright::Policy::new());
    let echo = |id: &'static str| toolwright::tool(id, "Echoes").reads().run_json(|input, _| async move { Ok(input) });
    let gives = (0..3).map(|at| if at < 2 { echo(["a", "b"][at]) } else { panic!("no more") });
    let broken = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| registry.register_all(gives).map(drop)));
    assert!(broken.is_err() && registry.is_empty());
    registry.register(echo("a")).unwrap();
    assert_eq!(registry.ids().collect::<Vec<_>>(), ["a"]);
}

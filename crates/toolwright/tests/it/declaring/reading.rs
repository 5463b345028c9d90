//! Reading a registry and a catalogue: what is in it, and what happened in it.

use std::sync::{Arc, Mutex};

use toolwright::diagnostics::EventKind;
use toolwright::{Diagnostics, Effect, Fact, Invocation, Observer, Options, Refusal, Registry, ToolError, Value, json};

use crate::lifecycle_fixture::{App, Close, block_on, catalog_with, cx, echo, error, reads};

fn empty(id: &str) -> Invocation {
    Invocation::new(id.to_owned(), json!({}))
}

#[test]
fn t3_1_1_definitions_are_in_the_order_of_registration() {
    let mut registry: Registry<App> = Registry::with_options(Options::new()).unwrap();
    registry.register_all(["b", "a", "c"].map(echo)).unwrap();
    let ids = |view: &toolwright::View<App>| view.definitions().iter().map(|tool| tool.id().to_owned()).collect::<Vec<_>>();
    assert_eq!(ids(&registry), ["b", "a", "c"]);
    let catalog = registry.seal();
    assert_eq!(ids(&catalog), ["b", "a", "c"]);
    assert_eq!(catalog.definitions().iter().map(toolwright::Registered::index).collect::<Vec<_>>(), [0, 1, 2]);
}

/// Nothing that is handed out can be changed: `definitions` gives shared slices, and every change of a `ToolDef` makes
/// another one. What this test does is all that the types let a host do.
#[test]
fn t3_1_2_what_the_host_keeps_of_a_tool_changes_nothing_in_the_registry() {
    let kept = reads("a").goals(["explain"]).echoes();
    let mut registry: Registry<App> = Registry::with_options(Options::new()).unwrap();
    registry.register(kept.clone()).unwrap();
    let before = (registry.fingerprint(), registry.describe(None, None));
    let changed = [kept.renamed("b"), kept.with_effect(Effect::write()), kept.with_description("Another"), kept.with_hidden(true)];
    assert_ne!(changed[2].description(), kept.description());
    let mut copy = registry.get("a").unwrap().clone();
    assert_eq!(copy.id(), "a");
    copy = toolwright::Registered::clone(&copy);
    drop((kept, changed, copy));
    let catalog = registry.seal();
    assert_eq!(before, (catalog.fingerprint(), catalog.describe(None, None)));
    assert_eq!(block_on(catalog.invoke(Invocation::new("a", json!({ "x": 1 })), cx())).unwrap().value(), &json!({ "x": 1 }));
}

/// Keeps facts.
#[derive(Clone, Default)]
struct Facts(Arc<Mutex<Vec<Fact>>>);

impl Observer for Facts {
    fn observe(&self, fact: &Fact) {
        self.0.lock().unwrap().push(fact.clone());
    }
}

#[test]
fn t3_2_1_events_are_kept_in_order_numbered_and_told_alike() {
    let fails = reads("bad").kind("act").run_json(|_, _| async move { Err::<Value, _>(ToolError::new("enough").code("quota")) });
    let no = reads("no").kind("read").authorize(|_| Err(Refusal::new("nobody", "not you"))).echoes();
    let catalog = catalog_with(Options::new(), [reads("good").kind("read").echoes(), no, fails]);
    let facts = Facts::default();
    catalog.set_diagnostics(Some(Diagnostics::disabled().with_observer(Arc::new(facts.clone()))));
    block_on(catalog.invoke(empty("good"), cx())).unwrap();
    error(block_on(catalog.invoke(empty("no"), cx())));
    error(block_on(catalog.invoke(empty("bad"), cx())));
    let events = catalog.events();
    let told: Vec<_> = events.iter().map(|event| (event.seq, &*event.tool, &*event.kind, event.what, event.code.as_deref())).collect();
    let want = [
        (0, "good", "read", EventKind::Started, None),
        (1, "good", "read", EventKind::Succeeded, None),
        (2, "no", "read", EventKind::Refused, Some("denied")),
        (3, "bad", "act", EventKind::Started, None),
        (4, "bad", "act", EventKind::Failed, Some("quota")),
    ];
    assert_eq!(told, want);
    assert_eq!(events[0].key, events[1].key);
    assert_ne!(events[0].key.run, events[3].key.run);
    // Whoever listens is told the same, under the same numbers.
    let facts = facts.0.lock().unwrap();
    let heard: Vec<&Fact> = facts.iter().filter(|fact| fact.payload.get("seq").is_some()).collect();
    assert_eq!(heard.len(), events.len());
    for (fact, event) in heard.iter().zip(&events) {
        assert_eq!(fact.event, event.what.event());
        let member = |name: &str| fact.payload.get(name).cloned();
        assert_eq!((member("seq"), member("tool")), (Some(json!(event.seq)), Some(Value::String(event.tool.clone()))));
        assert_eq!(
            (member("kind"), member("path")),
            (Some(Value::String(event.kind.clone())), Some(Value::String(event.key.path.clone())))
        );
        assert_eq!(member("code"), event.code.clone().map(Value::String));
    }
    assert_eq!(catalog.events_since(3), events[3..]);
    assert_eq!(catalog.events_dropped(), 0);
}

#[test]
fn t3_2_2_only_the_newest_events_stay_and_they_are_a_copy() {
    let catalog = catalog_with(Options::new().events(3), [echo("a")]);
    block_on(catalog.invoke(empty("a"), cx())).unwrap();
    block_on(catalog.invoke(empty("a"), cx())).unwrap();
    error(block_on(catalog.invoke(empty("gone"), cx())));
    let mut events = catalog.events();
    assert_eq!(events.iter().map(|event| event.seq).collect::<Vec<_>>(), [2, 3, 4]);
    assert_eq!(catalog.events_dropped(), 2);
    assert_eq!(catalog.events_since(0), events);
    let kept = events.clone();
    events[0].tool = "forged".into();
    events.clear();
    assert_eq!(catalog.events(), kept);
    // None are kept where none are wanted, and calls go on.
    let silent = catalog_with(Options::new().events(0), [echo("a")]);
    block_on(silent.invoke(empty("a"), cx())).unwrap();
    assert_eq!((silent.events(), silent.events_dropped()), (Vec::new(), 0));
}

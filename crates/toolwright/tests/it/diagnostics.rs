//! Diagnostics: scopes, what they tell to whom, and deliveries in order.

use std::cell::Cell;
use std::sync::{Arc, Mutex};

use futures_util::FutureExt;
use futures_util::future::join_all;
use toolwright::diagnostics::{CallKey, EventKind};
use toolwright::{Detail, Diagnostics, EventName, Fact, Identity, Invocation, Observer, Sink, SpanFields, Value, json};

use crate::world::{Events, Log, Moment, block_on, catalog, said, steps};

/// A log that takes what it is told to take.
struct Kept {
    facts: Mutex<Vec<Fact>>,
    takes: fn(EventName, Detail) -> bool,
}

impl Kept {
    fn all() -> Arc<Self> {
        Self::only(|_, _| true)
    }

    fn only(takes: fn(EventName, Detail) -> bool) -> Arc<Self> {
        Arc::new(Self { facts: Mutex::default(), takes })
    }

    fn facts(&self) -> Vec<Fact> {
        self.facts.lock().unwrap().clone()
    }

    fn scope(self: &Arc<Self>) -> Diagnostics {
        Diagnostics::new(self.clone())
    }
}

impl Sink for Kept {
    fn enabled(&self, event: EventName, detail: Detail) -> bool {
        (self.takes)(event, detail)
    }

    fn record(&self, fact: &Fact) {
        self.facts.lock().unwrap().push(fact.clone());
    }
}

/// Breaks down at whatever it is asked.
struct Broken;

impl Sink for Broken {
    fn record(&self, fact: &Fact) {
        panic!("cannot write {fact:?}");
    }
}

impl Observer for Broken {
    fn observe(&self, fact: &Fact) {
        panic!("cannot show {fact:?}");
    }
}

fn note(text: &str) -> impl FnOnce() -> Value + use<> {
    let payload = json!({ "message": text });
    move || payload
}

fn messages(facts: &[Fact]) -> Vec<String> {
    facts.iter().map(|fact| said(fact, "message")).collect()
}

fn run(id: &str) -> SpanFields {
    SpanFields { run: Some(id.into()), ..SpanFields::default() }
}

#[test]
fn t8_1_a_fresh_scope_has_no_identity() {
    let log = Kept::all();
    assert_eq!(log.scope().identity(), None);
    assert_eq!(Diagnostics::disabled().identity(), None);
    log.scope().emit(EventName::Warning, note("w"));
    assert_eq!(log.facts()[0].identity, Identity::default());
}

#[test]
fn t8_3_a_log_may_refuse_content() {
    let log = Kept::only(|_, detail| detail == Detail::Metadata);
    let scope = log.scope();
    assert!(!scope.enabled(EventName::Content, Detail::Content));
    assert!(scope.enabled(EventName::Content, Detail::Metadata));
    scope.emit_content(EventName::Content, || unreachable!("nobody takes it"));
    scope.emit(EventName::Content, note("12 bytes"));
    assert_eq!(messages(&log.facts()), ["12 bytes"]);
}

#[test]
fn t8_3_who_takes_content_takes_metadata() {
    let log = Kept::only(|_, detail| detail == Detail::Content);
    let scope = log.scope();
    assert!(scope.enabled(EventName::Content, Detail::Content) && scope.enabled(EventName::Content, Detail::Metadata));
    scope.emit(EventName::Content, note("12 bytes"));
    scope.emit_content(EventName::Content, note("hello"));
    assert_eq!(messages(&log.facts()), ["12 bytes", "hello"]);
}

#[test]
fn t8_3_a_log_may_refuse_some_events() {
    let log = Kept::only(|event, _| event != EventName::Progress);
    log.scope().emit(EventName::Progress, || unreachable!("nobody takes it"));
    log.scope().emit(EventName::Warning, note("w"));
    assert_eq!(messages(&log.facts()), ["w"]);
}

#[test]
fn t8_4_a_disabled_scope_takes_nothing() {
    let scope = Diagnostics::default();
    assert!(scope.is_disabled());
    for event in EventName::ALL {
        assert!(!scope.enabled(event, Detail::Metadata) && !scope.enabled(event, Detail::Content), "{event}");
    }
}

#[test]
fn t8_5_a_disabled_scope_builds_no_payload() {
    let scope = Diagnostics::disabled();
    scope.emit(EventName::Warning, || unreachable!("nobody takes it"));
    scope.emit_content(EventName::Content, || unreachable!("nobody takes it"));
}

#[test]
fn t8_6_one_payload_reaches_the_log_and_every_observer() {
    let (log, first, second, built) = (Kept::all(), Events::default(), Events::default(), Cell::new(0));
    let scope = log.scope().child("s", run("r1")).with_observer(Arc::new(first.clone())).with_observer(Arc::new(second.clone()));
    scope.emit(EventName::Progress, || {
        built.set(built.get() + 1);
        json!({ "message": "half" })
    });
    assert_eq!(built.get(), 1);
    assert_eq!(log.facts().len(), 1);
    assert_eq!(log.facts(), first.all());
    assert_eq!(log.facts(), second.all());
}

#[test]
fn t8_6_an_observer_sees_what_the_log_refuses() {
    let (log, observer) = (Kept::only(|_, _| false), Events::default());
    let scope = log.scope().with_observer(Arc::new(observer.clone()));
    assert!(scope.enabled(EventName::Content, Detail::Content));
    scope.emit_content(EventName::Content, note("hello"));
    assert_eq!(messages(&observer.all()), ["hello"]);
    assert_eq!(log.facts(), []);
}

#[test]
fn t8_7_a_call_succeeds_though_every_listener_breaks_down() {
    let (tools, after) = (Log::new(), Events::default());
    let catalog = catalog([tools.echo("echo")], &steps(&[("a", "echo", json!({ "v": "$input.v" }))]));
    let scope = Diagnostics::new(Broken).with_observer(Arc::new(Broken)).with_observer(Arc::new(after.clone()));
    let invocation = Invocation::new("main", json!({ "v": 1 })).diagnostics(scope);
    let result = block_on(catalog.invoke(invocation, ())).unwrap();
    assert_eq!(result.output, Some(json!({ "v": 1 })));
    let heard: Vec<EventName> = after.all().iter().map(|fact| fact.event).collect();
    assert!(heard.contains(&EventName::StepStarted) && heard.contains(&EventName::StepFinished), "those after it hear everything");
}

#[test]
fn t8_7_a_log_that_cannot_say_what_it_takes_takes_nothing() {
    let log = Kept::only(|_, _| panic!("no answer"));
    log.scope().emit(EventName::Warning, || unreachable!("nobody takes it"));
    assert!(!log.scope().enabled(EventName::Warning, Detail::Metadata));
    assert_eq!(log.facts(), []);
}

#[test]
fn t8_8_a_consumer_that_fails_is_heard_and_the_fact_is_kept() {
    let log = Kept::all();
    let scope = log.scope().child("s", run("r1"));
    let got = Mutex::new(Vec::new());
    let outcome = block_on(scope.deliver(EventName::Content, note("hello"), async |fact| {
        got.lock().unwrap().push(fact);
        Err("the screen is off")
    }));
    assert_eq!(outcome, Err("the screen is off"));
    assert_eq!(messages(&log.facts()), ["hello"]);
    assert_eq!(log.facts(), *got.lock().unwrap());
}

#[test]
fn t8_8_a_consumer_gets_content_that_nobody_records() {
    let log = Kept::only(|_, detail| detail == Detail::Metadata);
    for scope in [Diagnostics::disabled(), log.scope()] {
        let built = Cell::new(0);
        let payload = || {
            built.set(built.get() + 1);
            json!({ "message": "hello" })
        };
        let text = Mutex::new(String::new());
        let consumer = async |fact: Fact| {
            *text.lock().unwrap() = said(&fact, "message");
            Ok::<(), ()>(())
        };
        block_on(scope.deliver(EventName::Content, payload, consumer)).unwrap();
        assert_eq!((built.get(), text.lock().unwrap().as_str()), (1, "hello"));
    }
    assert_eq!(log.facts(), []);
}

#[test]
fn t8_9_deliveries_are_consumed_in_the_order_of_their_calls() {
    let (log, slow, consumed) = (Kept::all(), Moment::default(), Mutex::new(Vec::new()));
    let scope = log.scope();
    let (slow, consumed) = (&slow, &consumed);
    let deliver = |number: usize| {
        scope.deliver(EventName::Content, note(&number.to_string()), async move |fact: Fact| {
            if number == 1 {
                slow.wait().await;
            }
            consumed.lock().unwrap().push(said(&fact, "message"));
            Ok::<(), ()>(())
        })
    };
    let mut all = [deliver(1), deliver(2), deliver(3)].map(Box::pin);
    // The order of the calls counts, not the one in which they are looked at.
    for delivery in all.iter_mut().rev() {
        assert!(delivery.as_mut().now_or_never().is_none());
    }
    assert_eq!(messages(&log.facts()), ["1"], "nothing is told before its turn");
    slow.come();
    all.reverse();
    block_on(join_all(all)).into_iter().for_each(|delivered| delivered.unwrap());
    assert_eq!(*consumed.lock().unwrap(), ["1", "2", "3"]);
    assert_eq!(messages(&log.facts()), ["1", "2", "3"]);
}

#[test]
fn a_consumer_that_delivers_to_its_own_scope_does_not_wait_for_itself() {
    let (log, consumed) = (Kept::all(), Mutex::new(Vec::new()));
    let scope = log.scope();
    let (own, consumed) = (&scope, &consumed);
    let note_it = async move |fact: Fact| {
        consumed.lock().unwrap().push(said(&fact, "message"));
        Ok::<(), ()>(())
    };
    let outer = scope.deliver(EventName::Content, note("1"), async move |_| {
        own.deliver(EventName::Content, note("1.1"), note_it).await?;
        tokio::task::yield_now().await;
        own.deliver(EventName::Content, note("1.2"), note_it).await
    });
    let next = scope.deliver(EventName::Content, note("2"), note_it);
    let both = block_on(async {
        tokio::time::timeout(std::time::Duration::from_secs(10), join_all([outer.left_future(), next.right_future()])).await
    });
    assert!(both.unwrap().into_iter().all(|delivered| delivered.is_ok()));
    assert_eq!(*consumed.lock().unwrap(), ["1.1", "1.2", "2"]);
    assert_eq!(messages(&log.facts()), ["1", "1.1", "1.2", "2"]);
}

#[test]
fn t8_9_a_delivery_that_fails_panics_or_is_dropped_lets_the_next_one_in() {
    let log = Kept::all();
    let scope = log.scope();
    let never = scope.deliver(EventName::Content, note("never"), async |_| std::future::pending::<Result<(), &str>>().await);
    let waits = scope.deliver(EventName::Content, note("waits"), async |_| Ok::<(), &str>(()));
    let fails = scope.deliver(EventName::Content, note("fails"), async |_| Err("no"));
    let breaks = scope.deliver(EventName::Content, note("breaks"), async |_| -> Result<(), &str> { panic!("down") });
    let last = scope.deliver(EventName::Content, note("last"), async |_| Ok::<(), &str>(()));
    let (mut never, mut last) = (Box::pin(never), Box::pin(last));
    assert!(never.as_mut().now_or_never().is_none());
    drop(waits);
    assert!(last.as_mut().now_or_never().is_none(), "the first is still at it");
    drop(never);
    assert_eq!(fails.now_or_never(), Some(Err("no")));
    assert!(std::panic::AssertUnwindSafe(breaks).catch_unwind().now_or_never().unwrap().is_err());
    assert_eq!(last.now_or_never(), Some(Ok(())));
    assert_eq!(messages(&log.facts()), ["never", "fails", "breaks", "last"]);
}

#[test]
fn t8_9_deliveries_can_be_spawned_and_those_of_a_child_wait_for_nobody_else() {
    fn spawned<T: Send + 'static>(future: impl Future<Output = T> + Send + 'static) -> tokio::task::JoinHandle<T> {
        tokio::spawn(future)
    }
    let (log, slow) = (Kept::all(), Moment::default());
    let scope = log.scope();
    block_on(async {
        let wait = slow.clone();
        let first = spawned(scope.deliver(EventName::Content, note("first"), move |_| async move {
            wait.wait().await;
            Ok::<(), ()>(())
        }));
        let watched = scope.with_observer(Arc::new(Events::default()));
        let second = spawned(watched.deliver(EventName::Content, note("second"), |_| async { Ok::<(), ()>(()) }));
        tokio::task::yield_now().await;
        scope.child("inner", SpanFields::default()).deliver(EventName::Content, note("inner"), async |_| Ok::<(), ()>(())).await.unwrap();
        tokio::task::yield_now().await;
        assert_eq!(messages(&log.facts()), ["first", "inner"], "a watched handle is the same scope");
        slow.come();
        first.await.unwrap().unwrap();
        second.await.unwrap().unwrap();
    });
    assert_eq!(messages(&log.facts()), ["first", "inner", "second"]);
}

#[test]
fn t8_10_a_child_fills_what_its_parent_does_not_know() {
    let root = Kept::all().scope();
    let parent = root.child("p", run("r1"));
    let fields = SpanFields { run: Some("r2".into()), session: Some("s".into()), user: Some("u".into()) };
    let child = parent.child("c", fields);
    let known = Identity {
        run: Some("r1".into()),
        span: Some("c".into()),
        parent: Some("p".into()),
        session: Some("s".into()),
        user: Some("u".into()),
    };
    assert_eq!(child.identity(), Some(&known));
    assert_eq!(parent.identity().unwrap().parent, None, "a fresh scope is no span");
    let grandchild = child.child("g", SpanFields::default());
    assert_eq!(grandchild.identity(), Some(&Identity { span: Some("g".into()), parent: Some("c".into()), ..known }));
}

#[test]
fn t8_11_a_parent_stays_as_it_was_and_a_disabled_one_has_disabled_children() {
    let log = Kept::all();
    let parent = log.scope().child("p", run("r1"));
    let before = parent.identity().cloned();
    parent.child("c", SpanFields { user: Some("u".into()), ..SpanFields::default() }).emit(EventName::Warning, note("inside"));
    parent.emit(EventName::Warning, note("outside"));
    assert_eq!(parent.identity().cloned(), before);
    let spans: Vec<_> = log.facts().into_iter().map(|fact| fact.identity.span.unwrap()).collect();
    assert_eq!(spans, ["c", "p"]);
    let child = Diagnostics::disabled().child("c", run("r1"));
    assert!(child.is_disabled() && child.identity().is_none());
}

#[test]
fn t8_12_an_observer_changes_neither_log_nor_identity_and_sees_children() {
    let (log, observer) = (Kept::all(), Events::default());
    let scope = log.scope().child("p", run("r1"));
    let watched = scope.with_observer(Arc::new(observer.clone()));
    assert_eq!(watched.identity(), scope.identity());
    watched.emit(EventName::Warning, note("itself"));
    watched.child("c", SpanFields::default()).child("g", SpanFields::default()).emit(EventName::Warning, note("grandchild"));
    assert_eq!(messages(&observer.all()), ["itself", "grandchild"]);
    assert_eq!(log.facts(), observer.all());
    assert_eq!(observer.all()[1].identity.parent.as_deref(), Some("c"));
}

#[test]
fn t8_13_the_original_has_no_observer() {
    let (log, observer) = (Kept::all(), Events::default());
    let scope = log.scope();
    let child = scope.child("c", SpanFields::default());
    let _watched = scope.with_observer(Arc::new(observer.clone()));
    scope.emit(EventName::Warning, note("one"));
    child.emit(EventName::Warning, note("two"));
    assert_eq!(observer.all(), []);
    assert_eq!(log.facts().len(), 2);
}

#[test]
fn t8_13_a_disabled_scope_can_be_watched() {
    let (disabled, observer) = (Diagnostics::disabled(), Events::default());
    let watched = disabled.with_observer(Arc::new(observer.clone()));
    assert!(!watched.is_disabled() && disabled.is_disabled());
    assert!(watched.enabled(EventName::Content, Detail::Content));
    watched.emit(EventName::Warning, note("seen"));
    watched.child("c", run("r1")).emit(EventName::Warning, note("seen too"));
    assert_eq!(messages(&observer.all()), ["seen", "seen too"]);
    assert_eq!(watched.identity(), None);
}

#[test]
fn a_disabled_scope_is_a_null_pointer() {
    fn shared<T: Clone + Default + Send + Sync + 'static>() {}
    shared::<Diagnostics>();
    assert_eq!(size_of::<Diagnostics>(), size_of::<usize>());
    assert_eq!(format!("{:?}", Diagnostics::disabled()), "Diagnostics(disabled)");
}

#[test]
fn facts_are_written_and_read() {
    let identity = Identity { run: Some("r1".into()), span: Some("main/0:a".into()), ..Identity::default() };
    let fact = Fact { event: EventName::StepFinished, identity, payload: json!({ "ok": true }) };
    let text = serde_json::to_string(&fact).unwrap();
    assert_eq!(text, r#"{"event":"step_finished","identity":{"run":"r1","span":"main/0:a"},"payload":{"ok":true}}"#);
    assert_eq!(serde_json::from_str::<Fact>(&text).unwrap(), fact);
    for event in EventName::ALL {
        assert_eq!(serde_json::to_string(&event).unwrap(), format!("\"{event}\""));
        assert_eq!(serde_json::from_str::<EventName>(&format!("\"{}\"", event.as_str())).unwrap(), event);
    }
    assert!(EventName::ALL.is_sorted(), "all of them, in their order");
}

#[test]
fn every_kind_of_event_has_a_fact_of_its_own() {
    use EventKind::{Cancelled, Failed, Refused, Replayed, Started, Succeeded};
    let kinds = [Started, Succeeded, Failed, Refused, Replayed, Cancelled];
    for kind in kinds {
        let word = serde_json::to_string(&kind).unwrap();
        assert_eq!(format!("\"{}\"", kind.event()), word.replacen('"', "\"tool_", 1));
    }
    let key = CallKey { run: "r1".into(), path: "main/0:a".into() };
    assert_eq!(serde_json::from_str::<CallKey>(&serde_json::to_string(&key).unwrap()).unwrap(), key);
}

#[test]
fn the_runtime_tells_the_members_that_are_documented() {
    let log = Log::new();
    let slow = toolwright::tool("slow", "A tool").reads().run_json(|_, call| async move {
        call.progress("half", Some(1.0), None);
        call.progress("who knows", Some(f64::NAN), None);
        Err::<Value, _>(toolwright::ToolError::new("no").code("own"))
    });
    let mapping = json!({ "o": { "v": "$steps.a" } });
    let spec = json!({ "strictMode": false, "steps": [{ "name": "a", "tool": "send", "inputMapping": mapping.to_json() }, { "name": "b", "tool": "slow" }] });
    let catalog = catalog([log.writes("send"), slow], &spec);
    let events = Events::default();
    block_on(catalog.invoke(Invocation::new("main", json!({})).diagnostics(events.scope()), ())).unwrap_err();
    let told: Vec<(&str, Value)> = events.all().into_iter().map(|fact| (fact.event.as_str(), fact.payload)).collect();
    let expected = [
        ("tool_started", json!({ "path": "main", "tool": "main", "kind": "composite", "dry": false, "seq": 0 })),
        ("step_started", json!({ "path": "main/0:a", "index": 0, "count": 2, "step": "a", "tool": "send", "sideEffects": true })),
        ("tool_started", json!({ "path": "main/0:a", "tool": "send", "kind": "tool", "dry": false, "seq": 1 })),
        ("tool_succeeded", json!({ "path": "main/0:a", "tool": "send", "kind": "tool", "dry": false, "seq": 2 })),
        ("step_finished", json!({ "path": "main/0:a", "index": 0, "ok": true })),
        ("step_started", json!({ "path": "main/1:b", "index": 1, "count": 2, "step": "b", "tool": "slow", "sideEffects": false })),
        ("tool_started", json!({ "path": "main/1:b", "tool": "slow", "kind": "tool", "dry": false, "seq": 3 })),
        ("progress", json!({ "path": "main/1:b", "message": "half", "done": 1.0 })),
        ("progress", json!({ "path": "main/1:b", "message": "who knows" })),
        ("tool_failed", json!({ "path": "main/1:b", "tool": "slow", "kind": "tool", "code": "own", "dry": false, "seq": 4 })),
        ("step_finished", json!({ "path": "main/1:b", "index": 1, "ok": false, "code": "own" })),
        ("tool_failed", json!({ "path": "main", "tool": "main", "kind": "composite", "code": "own", "dry": false, "seq": 5 })),
    ];
    let (warnings, others): (Vec<_>, Vec<_>) = told.into_iter().partition(|(event, _)| *event == "warning");
    assert_eq!(others, expected);
    assert_eq!(warnings.len(), 1);
    assert_eq!(warnings[0].1.get("code"), Some(&json!("literal_reference")));
    assert_eq!(warnings[0].1.get("path"), Some(&json!("main/0:a")));
}

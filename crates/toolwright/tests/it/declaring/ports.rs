//! Ports of a call: who records, where facts go, what can end it.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use toolwright::{
    CancelSource, CancelToken, Catalog, Composite, EffectState, Invocation, Options, Recorder, Runtime, ToolDef, ToolError, Value, json,
};

use crate::lifecycle_fixture::{App, AppCx, Notes, block_on, catalog_with, cx, cx_with, d, echo, error, reads};
use crate::world::Moment;

/// Keeps what handlers write, by name of the recorder.
#[derive(Clone, Default)]
struct Books(Arc<Mutex<BTreeMap<String, Vec<String>>>>);

impl Books {
    fn book(&self, name: &str) -> Arc<dyn Recorder> {
        self.0.lock().unwrap().entry(name.to_owned()).or_default();
        Arc::new(Book(self.clone(), name.to_owned()))
    }

    fn lines(&self, name: &str) -> Vec<String> {
        self.0.lock().unwrap().get(name).cloned().unwrap_or_default()
    }
}

struct Book(Books, String);

impl Recorder for Book {
    fn record(&self, label: &str, _: Value) {
        self.0.0.lock().unwrap().entry(self.1.clone()).or_default().push(label.to_owned());
    }
}

fn empty(id: &str) -> Invocation {
    Invocation::new(id.to_owned(), json!({}))
}

/// Writes the caller's tag, once `go` has come.
fn writes_down(id: &str, go: &Moment) -> ToolDef<App> {
    let go = go.clone();
    reads(id).run_json(move |input, call| {
        let go = go.clone();
        async move {
            go.wait().await;
            call.logger().unwrap().record(&format!("{} {}", call.tool(), call.context().tag), json!({}));
            Ok(input)
        }
    })
}

#[test]
fn t2_12_1_each_of_two_callers_at_once_has_its_own_recorder() {
    let (books, go) = (Books::default(), Moment::default());
    let port = books.clone();
    let catalog = catalog_with(Options::new().logger(move |cx: &AppCx| Some(port.book(&cx.tag))), [writes_down("a", &go)]);
    let call = |tag: &str| catalog.invoke(empty("a"), cx_with(|cx| cx.tag = tag.into()));
    let (one, two, ()) = block_on(async { tokio::join!(call("one"), call("two"), async { go.come() }) });
    one.unwrap();
    two.unwrap();
    assert_eq!(books.lines("one"), ["a one"]);
    assert_eq!(books.lines("two"), ["a two"]);
}

#[test]
fn t2_12_2_the_recorder_of_a_request_wins_and_is_that_of_calls_inside_it() {
    let (books, go, asked) = (Books::default(), Moment::default(), Arc::new(AtomicUsize::new(0)));
    go.come();
    let (port, count) = (books.clone(), asked.clone());
    let options = Options::new().logger(move |_| {
        let asked = count.fetch_add(1, Ordering::Relaxed);
        Some(port.book(&format!("port {asked}")))
    });
    let calls = reads("calls").run_json(|input, call| async move {
        call.invoke("a", json!({})).await?;
        Ok(input)
    });
    let catalog = catalog_with(options, [writes_down("a", &go), calls]);
    for id in ["a", "calls"] {
        block_on(catalog.invoke(empty(id).logger(books.book("own")), cx())).unwrap();
    }
    assert_eq!(books.lines("own"), ["a test", "a test"]);
    assert_eq!(asked.load(Ordering::Relaxed), 0);
    // Nobody asked: the port is, once for the call and not again for what is inside.
    block_on(catalog.invoke(empty("calls"), cx())).unwrap();
    assert_eq!((asked.load(Ordering::Relaxed), books.lines("port 0")), (1, vec!["a test".to_owned()]));
}

/// A tool that calls another, in a catalogue that tells its facts to the notes.
fn told(options: Options<App>) -> (Catalog<App>, Notes) {
    let calls = reads("calls").run_json(|input, call| async move {
        call.progress("half", None, None);
        call.invoke("a", json!({})).await?;
        Ok(input)
    });
    let (catalog, facts) = (catalog_with(options, [calls, echo("a")]), Notes::default());
    catalog.set_diagnostics(Some(facts.scope()));
    (catalog, facts)
}

const TOLD: [&str; 5] = ["tool_started calls", "progress half", "tool_started a", "tool_succeeded a", "tool_succeeded calls"];

#[test]
fn t2_13_1_a_port_that_answers_nothing_switches_the_facts_of_a_decision_off() {
    let (catalog, facts) = told(Options::new().diagnostics(|_| None));
    block_on(catalog.call(&d("calls"), cx())).unwrap();
    assert_eq!(facts.take(), [""; 0], "nor is there anything of calls inside it");
    block_on(catalog.invoke(empty("calls"), cx())).unwrap();
    assert_eq!(facts.all(), TOLD);
}

#[test]
fn t2_13_2_without_a_port_the_facts_of_a_decision_go_where_all_go() {
    let (catalog, facts) = told(Options::new());
    block_on(catalog.call(&d("calls"), cx())).unwrap();
    assert_eq!(facts.all(), TOLD);
}

/// A writing tool that waits for its cancellation, and says that it saw it.
fn waits(started: &Moment, log: &Notes) -> ToolDef<App> {
    let (started, log) = (started.clone(), log.clone());
    App::tool("waits", "Waits").writes().run_json(move |_, call| {
        let (started, log) = (started.clone(), log.clone());
        async move {
            started.come();
            call.cancel().cancelled().await;
            log.note("saw it");
            Err::<Value, _>(ToolError::new("stopped").code("stopped").nothing_happened())
        }
    })
}

/// Calls `id` with the request's token, and cancels `source` when its tool waits.
fn cancelled_by(port: Option<CancelToken>, request: CancelToken, source: &CancelSource, id: &str) -> (String, Vec<String>) {
    let (started, log) = (Moment::default(), Notes::default());
    let mut registry = toolwright::Registry::with_options(
        Options::new().signal(move |_| port.clone()).policy(toolwright::Policy::new().may_chain(["waits"])),
    )
    .unwrap();
    registry.register(waits(&started, &log)).unwrap();
    registry.register(Composite::of(App::tool("over", "A chain")).step("s", "waits", json!({}))).unwrap();
    let calls =
        App::tool("calls", "Calls").writes().run_json(|_, call| async move { Ok(call.invoke("waits", json!({})).await?.value().clone()) });
    registry.register(calls).unwrap();
    let catalog = registry.seal();
    let ended = block_on(async {
        let call = catalog.invoke(empty(id).cancel(request), cx());
        let cancel = async {
            started.wait().await;
            source.cancel();
        };
        tokio::time::timeout(std::time::Duration::from_secs(20), async { tokio::join!(call, cancel).0 }).await
    });
    (error(ended.expect("it ends")).code().to_owned(), log.all())
}

#[test]
fn t2_14_1_a_the_ports_signal_ends_a_call_that_has_one_of_its_own() {
    for id in ["waits", "over", "calls"] {
        let (port, request) = (CancelSource::new(), CancelSource::new());
        let ended = cancelled_by(Some(port.token()), request.token(), &port, id);
        assert_eq!(ended, ("stopped".to_owned(), vec!["saw it".to_owned()]), "{id}");
        assert!(!request.token().is_cancelled());
    }
}

#[test]
fn t2_14_1_b_the_requests_signal_ends_a_call_that_the_port_has_one_for() {
    for id in ["waits", "over", "calls"] {
        let (port, request) = (CancelSource::new(), CancelSource::new());
        let ended = cancelled_by(Some(port.token()), request.token(), &request, id);
        assert_eq!(ended, ("stopped".to_owned(), vec!["saw it".to_owned()]), "{id}");
        assert!(!port.token().is_cancelled());
    }
}

#[test]
fn t2_14_2_a_port_that_answers_nothing_replaces_nothing() {
    let request = CancelSource::new();
    assert_eq!(cancelled_by(None, request.token(), &request, "waits"), ("stopped".to_owned(), vec!["saw it".to_owned()]));
    // Nor does one that breaks down.
    let catalog = catalog_with(Options::new().signal(|_| panic!("no signal")), [echo("a")]);
    block_on(catalog.invoke(empty("a"), cx())).unwrap();
    request.cancel();
    let ended = error(block_on(catalog.invoke(empty("a").cancel(request.token()), cx())));
    assert_eq!((ended.code(), ended.effect_state()), ("cancelled", EffectState::NotStarted));
}

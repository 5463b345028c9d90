//! The ports of a host: asked at the right moment, for the right call, and never able to break one.

use std::sync::{Arc, Mutex};

use toolwright::journal::Finish;
use toolwright::{
    CallError, CancelSource, Clock, Composite, Diagnostics, Invocation, Journal, Options, Policy, Recorder, Runtime, Timestamp, ToolDef,
    ToolError, Value, json,
};

use super::fixture::{ByHand, Watched, pause};
use crate::lifecycle_fixture::{App, AppCx, Close, Notes, block_on, catalog, catalog_with, cx, cx_with, d, echo, error, reads};
use crate::world::Events;

#[derive(Default)]
struct Notebook(Mutex<Vec<Value>>);

impl Recorder for Notebook {
    fn record(&self, _: &str, data: Value) {
        self.0.lock().unwrap().push(data);
    }
}

fn records() -> ToolDef<App> {
    reads("a").run_json(|input: Value, call| async move {
        pause().await;
        call.logger().unwrap().record("a", input.clone());
        Ok(input)
    })
}

#[test]
fn t2_12_1_each_caller_has_the_recorder_that_the_port_gives() {
    let books = [Arc::new(Notebook::default()), Arc::new(Notebook::default())];
    let given = books.clone();
    let options = Options::new().logger(move |cx: &AppCx| Some(given[usize::from(cx.tag == "b")].clone() as Arc<dyn Recorder>));
    let catalog = catalog_with(options, [records()]);
    let of = |tag: &str| cx_with(|cx| cx.tag = tag.into());
    let mut a = ByHand::new(catalog.invoke(Invocation::new("a", json!({ "by": "a" })), of("a")));
    let mut b = ByHand::new(catalog.invoke(Invocation::new("a", json!({ "by": "b" })), of("b")));
    assert!(a.poll().is_none() && b.poll().is_none() && a.poll().is_some() && b.poll().is_some());
    let noted = books.map(|book| book.0.lock().unwrap().clone());
    assert_eq!(noted, [[json!({ "by": "a" })], [json!({ "by": "b" })]]);
}

#[test]
fn t2_12_2_with_a_recorder_of_its_own_the_port_is_not_asked() {
    let catalog = catalog_with(Options::new().logger(|_| panic!("not asked")), [records()]);
    let book = Arc::new(Notebook::default());
    block_on(catalog.invoke(Invocation::new("a", json!({})).logger(book.clone()), cx())).unwrap();
    assert_eq!(book.0.lock().unwrap().len(), 1);
}

#[test]
fn t2_13_1_a_port_that_gives_nothing_switches_a_decision_off_and_no_other_call() {
    let calls = reads("a").run_json(|input: Value, call| async move {
        call.invoke("b", json!({})).await?;
        Ok(input)
    });
    let catalog = catalog_with(Options::new().diagnostics(|_| None::<Diagnostics>), [echo("b"), calls]);
    let log = Events::default();
    catalog.set_diagnostics(Some(log.scope()));
    block_on(catalog.call(&d("a"), cx())).unwrap();
    assert_eq!(log.all().len(), 0);
    block_on(catalog.invoke(Invocation::new("a", json!({})), cx())).unwrap();
    assert_eq!(log.all().len(), 4);
}

#[test]
fn t2_13_2_without_a_port_a_decision_is_told_to_the_catalogues_log() {
    let catalog = catalog([echo("a")]);
    let log = Events::default();
    catalog.set_diagnostics(Some(log.scope()));
    block_on(catalog.call(&d("a"), cx())).unwrap();
    assert_eq!(log.all().len(), 2);
}

#[test]
fn either_signal_cancels_and_a_port_without_one_replaces_none() {
    for (by_port, answers) in [(true, true), (false, true), (false, false)] {
        let (port, request) = (CancelSource::new(), CancelSource::new());
        let token = port.token();
        let options = Options::new().signal(move |_| answers.then(|| token.clone()));
        let waits = reads("a").run_json(|_, _| std::future::pending::<Result<Value, ToolError>>());
        let catalog = catalog_with(options, [waits]);
        let mut call = ByHand::new(catalog.invoke(Invocation::new("a", json!({})).cancel(request.token()), cx()));
        assert!(call.poll().is_none());
        if by_port {
            port.cancel()
        } else {
            request.cancel()
        }
        assert_eq!(error(call.poll().unwrap()).code(), "cancelled");
    }
}

#[test]
fn t2_15_1_the_journal_is_told_before_and_after_the_tool() {
    let log = Notes::default();
    let journal = Watched::noting(&log);
    let options = Options::new().journal(move |_| Some(Arc::new(journal.clone()) as Arc<dyn Journal>));
    block_on(catalog_with(options, [reads("a").notes(&log)]).call(&d("a"), cx())).unwrap();
    assert_eq!(log.all(), ["open", "begin a", "ran a", "finish a", "end"]);
}

#[test]
fn t2_15_2_a_run_is_in_one_journal_whatever_the_port_says_later() {
    let journals: Arc<Mutex<Vec<Watched>>> = Arc::default();
    let given = journals.clone();
    let options = Options::new().journal(move |_| {
        let journal = Watched::default();
        given.lock().unwrap().push(journal.clone());
        Some(Arc::new(journal) as Arc<dyn Journal>)
    });
    let nested = reads("b").run_json(|input: Value, call| async move {
        call.invoke("a", json!({})).await?;
        Ok(input)
    });
    let mut registry = toolwright::Registry::with_options(options).unwrap();
    registry.register_all([echo("a"), nested]).unwrap();
    registry.register(Composite::of(App::tool("main", "Both")).step("a", "a", json!({})).step("b", "b", json!({}))).unwrap();
    block_on(registry.seal().invoke(Invocation::new("main", json!({})).run_id("r1"), cx())).unwrap();
    let journals = journals.lock().unwrap();
    let [journal] = &journals[..] else { panic!("asked {} times", journals.len()) };
    let paths: Vec<_> = journal.begins("r1").iter().map(|begin| begin.key.path()).collect();
    assert_eq!(paths, ["main", "main/0:a", "main/1:b", "main/1:b/a~0"]);
}

/// What a run of a tool that raises the counter, or fails, leaves behind.
fn receipts(options: Options<App>, tool: ToolDef<App>) -> (Watched, Result<toolwright::ToolResult, CallError>) {
    let journal = Watched::default();
    let id = tool.id().to_owned();
    let request = Invocation::new(id, json!({})).run_id("r1").journal(Arc::new(journal.clone()));
    let outcome = block_on(catalog_with(options, [tool]).invoke(request, cx()));
    (journal, outcome)
}

fn kept(finish: &Finish) -> (Value, bool) {
    let more = finish.more.as_ref().unwrap();
    (more.receipt.clone().unwrap(), more.receipt_failed)
}

#[test]
fn t2_16_1_the_checkpoint_is_from_before_the_tool_and_handed_to_the_receipt() {
    let turn = Arc::new(Mutex::new(7));
    let (read, raised) = (turn.clone(), turn.clone());
    let options = Options::new()
        .checkpoint(move |_| json!({ "turn": *read.lock().unwrap() }))
        .receipt(|_, checkpoint| Ok(json!({ "after": checkpoint.cloned() })));
    let raises = reads("a").run_json(move |input: Value, _| {
        *raised.lock().unwrap() += 1;
        std::future::ready(Ok(input))
    });
    let (journal, outcome) = receipts(options, raises);
    outcome.unwrap();
    assert_eq!(journal.begins("r1")[0].more.as_ref().unwrap().checkpoint, Some(json!({ "turn": 7 })));
    assert_eq!(kept(&journal.finishes("r1")[0]), (json!({ "after": { "turn": 7 } }), false));
    assert_eq!(*turn.lock().unwrap(), 8);
}

#[test]
fn t2_16_2_no_checkpoint_is_made_without_a_journal_or_for_a_call_that_is_denied() {
    let options = || Options::new().checkpoint(|_| panic!("not asked"));
    block_on(catalog_with(options(), [echo("a")]).invoke(Invocation::new("a", json!({})), cx())).unwrap();
    let (journal, outcome) = receipts(options(), reads("a").authorize(|_| Err("no".into())).echoes());
    assert_eq!((error(outcome).code(), journal.log.all().len()), ("denied", 0));
}

fn failing() -> ToolDef<App> {
    reads("a").run_json(|_, _| async move { Err::<Value, _>(ToolError::new("enough").code("quota")) })
}

#[test]
fn t2_17_2_a_tool_that_fails_has_no_receipt() {
    let (journal, outcome) = receipts(Options::new().receipt(|_, _| panic!("not asked")), failing());
    assert_eq!(error(outcome).code(), "quota");
    assert_eq!(kept(&journal.finishes("r1")[0]), (json!({ "error": { "code": "quota", "message": "enough" } }), false));
}

#[test]
fn t2_18_1_what_stands_for_the_receipt_of_a_failure_is_the_hosts() {
    let (journal, outcome) = receipts(Options::new().receipt_error(|error| json!({ "why": error.code() })), failing());
    assert_eq!(error(outcome).code(), "quota");
    assert_eq!(kept(&journal.finishes("r1")[0]).0, json!({ "why": "quota" }));
}

#[test]
fn t2_18_2_a_receipt_that_cannot_be_made_fails_no_call() {
    let log = Events::default();
    for breaks in [false, true] {
        let receipt = move |_: &AppCx, _: Option<&Value>| if breaks { panic!("no receipt") } else { Err("no receipt".into()) };
        let options = Options::new().receipt(receipt).receipt_error(|error| json!({ "why": error.code() }));
        let (journal, outcome) = receipts(options.execution(toolwright::CancelToken::never(), Some(log.scope())), echo("a"));
        assert_eq!(outcome.unwrap().value(), &json!({}));
        let finish = &journal.finishes("r1")[0];
        assert!(finish.outcome.is_ok());
        assert_eq!(kept(finish), (json!({ "why": "hook_failed" }), true));
    }
    assert_eq!(log.all().iter().filter(|fact| fact.event == toolwright::EventName::ReceiptFailed).count(), 2);
}

struct Broken;

impl Clock for Broken {
    fn now(&self) -> Timestamp {
        panic!("no time")
    }

    fn sleep(&self, _: std::time::Duration) -> toolwright::BoxFuture<'static, ()> {
        panic!("no time")
    }
}

#[test]
fn every_port_may_break_down_and_a_call_does_not() {
    let options = Options::new()
        .policy(Policy::new())
        .diagnostics(|_| panic!("diagnostics"))
        .signal(|_| panic!("signal"))
        .logger(|_| panic!("logger"))
        .journal(|cx: &AppCx| if cx.can_send { Some(Arc::new(cx.journal.clone().unwrap()) as Arc<dyn Journal>) } else { panic!("journal") })
        .receipt(|_, _| panic!("receipt"))
        .receipt_error(|_| panic!("receipt_error"))
        .error_code(|_| panic!("error_code"))
        .clock(Arc::new(Broken));
    let catalog = catalog_with(options, [echo("a"), failing().renamed("b")]);
    let journal = toolwright::MemoryJournal::new();
    let kept = journal.clone();
    let cx = cx_with(move |cx| cx.journal = Some(kept));
    block_on(catalog.call(&d("a"), cx.clone())).unwrap();
    assert_eq!(error(block_on(catalog.call(&d("b"), cx))).public_code(), "quota");
    assert_eq!(journal.runs().len(), 2);
    // Nobody can say where it would be written down.
    let nowhere = block_on(catalog.call(&d("a"), cx_with(|cx| cx.can_send = false)));
    assert_eq!(error(nowhere).code(), "journal");
}

#[test]
fn what_breaks_down_again_while_it_is_dropped_breaks_nothing_else() {
    struct Twice;
    impl Drop for Twice {
        fn drop(&mut self) {
            panic!("and again");
        }
    }
    struct Done(Twice);
    struct Ends;
    impl toolwright::Handler<App> for Ends {
        fn handle<'a>(&'a self, _: Value, _: toolwright::Call<App>) -> toolwright::BoxFuture<'a, Result<toolwright::Answer, ToolError>> {
            Box::pin(Done(Twice))
        }
    }
    impl Future for Done {
        type Output = Result<toolwright::Answer, ToolError>;
        fn poll(self: std::pin::Pin<&mut Self>, _: &mut std::task::Context<'_>) -> std::task::Poll<Self::Output> {
            std::task::Poll::Ready(Ok(toolwright::Answer::new(json!({ "done": true }))))
        }
    }
    let journal = Watched::default();
    let throws = App::tool("throws", "Throws").writes().run_json(|_, _| async move {
        std::panic::panic_any(Twice);
        #[expect(unreachable_code, reason = "says what it would give")]
        Ok(Value::Null)
    });
    let done = App::tool("done", "Ends, and then breaks down").writes().handler(Ends);
    let catalog = catalog([throws, done, reads("off").available(|_| std::panic::panic_any(Twice)).echoes()]);
    let call = |id: &str| block_on(catalog.invoke(Invocation::new(id, json!({})).run_id(id).journal(Arc::new(journal.clone())), cx()));
    assert_eq!(error(call("throws")).code(), "panicked");
    assert_eq!(call("done").unwrap().value(), &json!({ "done": true }));
    assert_eq!(error(call("off")).code(), "forbidden");
    assert_eq!((journal.finishes("throws").len(), journal.finishes("done").len()), (1, 1));
}

#[test]
fn ports_for_reading_may_break_down_as_well() {
    let options = Options::<App>::new()
        .goal_ids(|| -> Vec<String> { panic!("goals") })
        .model_outputs(|_| panic!("outputs"))
        .receiver(|| panic!("receiver"))
        .context_fragment(|_, _| panic!("fragment"))
        .final_text(|_, _| panic!("text"));
    let placed = |_: &AppCx| vec![toolwright::ModelField::new("here".to_owned(), 0, "key", json!(1))];
    let mut registry = toolwright::Registry::with_options(options).unwrap();
    registry.register_finalizer(|(), _, _| Ok(json!("done"))).unwrap();
    assert!(registry.register(reads("goal").goals(["explain"]).echoes()).is_err());
    registry.register(reads("a").fields(placed).echoes()).unwrap();
    let catalog = registry.seal();
    assert!(catalog.describe(None, Some(&cx())).iter().all(|tool| tool.goal_ids.is_empty()));
    let code = |outcome: Result<(), CallError>| error(outcome).code().to_owned();
    assert_eq!(code(catalog.model_protocols(&cx()).map(drop)), "hook_failed");
    assert_eq!(code(catalog.finish_default(d("a"), &cx()).map(drop)), "hook_failed");
    assert_eq!(code(catalog.visible_text("secret", &cx()).map(drop)), "hook_failed");
    assert!(catalog.context_fields(&cx(), &"here".to_owned()).is_empty());
    assert_eq!(code(catalog.authorize(&d("ghost"), &cx())), "unavailable_invocation");
    block_on(catalog.call(&d("a"), cx())).unwrap();
}

//! The ports of a host are never able to break a call.

use std::sync::Arc;

use toolwright::{CallError, Clock, Invocation, Journal, Options, Policy, Runtime, Timestamp, ToolDef, ToolError, Value, json};

use super::fixture::Watched;
use crate::lifecycle_fixture::{App, AppCx, Close, block_on, catalog, catalog_with, cx, cx_with, d, echo, error, reads};

fn failing() -> ToolDef<App> {
    reads("a").run_json(|_, _| async move { Err::<Value, _>(ToolError::new("enough").code("quota")) })
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

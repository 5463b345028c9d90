//! A tool whose future is dropped: what its parts do then is still part of its own call, and of nobody else's.

use std::sync::{Arc, Mutex};

use futures_util::FutureExt;
use toolwright::{CancelSource, Composite, Declaration, Invocation, Runtime, ToolDef, Value, current_frame, json};

use super::fixture::{ByHand, pause};
use crate::lifecycle_fixture::{App, Close, Notes, Own, block_on, catalog, cx, reads};

/// What became of the calls that were made while something was dropped: where from, and the code of the error.
type Seen = Arc<Mutex<Vec<(String, String)>>>;

/// Calls a tool that writes while it is dropped.
struct Calls {
    own: Own,
    seen: Seen,
}

impl Drop for Calls {
    fn drop(&mut self) {
        let from = current_frame().map(|frame| format!("{} {}", frame.run_id(), frame.path())).unwrap_or_default();
        let outcome = self.own.get().invoke(Invocation::new("mail", json!({})), cx()).now_or_never();
        let code = outcome.map_or("pending".to_owned(), |outcome| outcome.map_or_else(|error| error.code().to_owned(), |_| "ran".into()));
        self.seen.lock().unwrap().push((from, code));
    }
}

fn mail(log: &Notes) -> ToolDef<App> {
    App::tool("mail", "Writes").writes().notes(log)
}

/// A reading tool that waits and is then dropped with something that calls.
fn peek(own: &Own, seen: &Seen) -> ToolDef<App> {
    let (own, seen) = (own.clone(), seen.clone());
    reads("peek").run_json(move |input: Value, _| {
        let calls = Calls { own: own.clone(), seen: seen.clone() };
        async move {
            std::future::pending::<()>().await;
            drop(calls);
            Ok(input)
        }
    })
}

#[test]
fn a_reading_tool_lets_nobody_write_while_it_is_dropped() {
    let (own, seen, log) = (Own::default(), Seen::default(), Notes::default());
    let look = Composite::of(App::tool("look", "Looks")).step("p", "peek", json!({}));
    let catalog = catalog([Declaration::from(mail(&log)), peek(&own, &seen).into(), look.into()]);
    own.set(&catalog);
    for (root, from) in [("peek", "r peek"), ("look", "r look/0:p")] {
        // Cancelled, and dropped by whoever holds it.
        for cancels in [true, false] {
            let source = CancelSource::new();
            let request = Invocation::new(root, json!({})).run_id("r").cancel(source.token());
            let mut call = ByHand::new(catalog.invoke(request, cx()));
            assert!(call.poll().is_none());
            if cancels {
                source.cancel();
                assert!(call.poll().is_some_and(|outcome| outcome.is_err()));
            }
            drop(call);
            let (place, code) = seen.lock().unwrap().pop().unwrap();
            assert_eq!(place, from);
            assert!(["caller_reads_only", "cancelled"].contains(&code.as_str()), "{code}");
            assert!(seen.lock().unwrap().is_empty() && current_frame().is_none());
        }
    }
    assert!(log.all().is_empty());
}

#[test]
fn a_tool_that_drops_a_call_is_not_the_caller_of_what_the_dropped_one_does() {
    let (own, seen, log) = (Own::default(), Seen::default(), Notes::default());
    let of_writer = own.clone();
    let writer = App::tool("writer", "Writes").writes().run_json(move |input: Value, _| {
        let catalog = of_writer.get().clone();
        async move {
            let mut call = Box::pin(catalog.invoke(Invocation::new("peek", json!({})), cx()));
            assert!(call.as_mut().now_or_never().is_none());
            drop(call);
            assert_eq!(current_frame().unwrap().path(), "writer");
            catalog.invoke(Invocation::new("mail", json!({})), cx()).await?;
            Ok(input)
        }
    });
    let catalog = catalog([mail(&log), peek(&own, &seen), writer]);
    own.set(&catalog);
    let result = block_on(catalog.invoke(Invocation::new("writer", json!({})).run_id("w"), cx())).unwrap();
    assert_eq!(*seen.lock().unwrap(), [("w writer/peek~0".to_owned(), "caller_reads_only".to_owned())]);
    // Its own mail and itself.
    assert_eq!((result.effects.len(), log.all().len()), (2, 1));
}

#[test]
fn an_attached_future_is_dropped_as_part_of_its_call() {
    let (own, seen, log) = (Own::default(), Seen::default(), Notes::default());
    let (of_tool, of_calls) = (own.clone(), seen.clone());
    let spread = reads("spread").run_json(move |input: Value, call| {
        let calls = Calls { own: of_tool.clone(), seen: of_calls.clone() };
        async move {
            let work = call.frame().attach(async move {
                pause().await;
                drop(calls);
            });
            // Never polled, and dropped where there is no call.
            std::thread::spawn(move || drop(work)).join().unwrap();
            Ok(input)
        }
    });
    let catalog = catalog([mail(&log), spread]);
    own.set(&catalog);
    block_on(catalog.invoke(Invocation::new("spread", json!({})).run_id("r"), cx())).unwrap();
    assert_eq!(*seen.lock().unwrap(), [("r spread".to_owned(), "caller_reads_only".to_owned())]);
    assert!(log.all().is_empty());
}

//! Which call is running: found by a plain handle of the catalogue, never another's, and gone afterwards.

use std::sync::{Arc, Mutex};

use toolwright::{Catalog, Fact, Identity, Invocation, ToolDef, Value, current_frame, json};

use super::fixture::{ByHand, pause};
use crate::lifecycle_fixture::{App, Own, block_on, catalog, cx, d, echo, reads};
use crate::world::Events;

fn inner() -> ToolDef<App> {
    reads("inner").run_json(|input, call| async move {
        call.progress("inside", None, None);
        pause().await;
        call.diagnostics().emit(toolwright::EventName::Content, || json!({ "tool": "inner" }));
        Ok(input)
    })
}

/// A tool that calls the catalogue by a plain handle, three times, with pauses around.
fn outer(own: &Own) -> ToolDef<App> {
    let own = own.clone();
    reads("outer").run_json(move |input: Value, call| {
        let catalog = own.get().clone();
        async move {
            for n in 0..3 {
                pause().await;
                let outcome = catalog.invoke(Invocation::new("inner", json!({ "n": n })), cx()).await;
                outcome?;
                assert_eq!(current_frame().map(|frame| frame.path()), Some("outer".to_owned()));
                call.progress("between", None, None);
            }
            Ok(input)
        }
    })
}

fn twice() -> Catalog<App> {
    let own = Own::default();
    let catalog = catalog([inner(), outer(&own)]);
    own.set(&catalog);
    catalog
}

/// Every fact belongs to this run, inner ones under the outer one.
fn all_of(run: &str, facts: &[Fact], ended: bool) {
    let mut inner = 0;
    for fact in facts {
        let Identity { run: of, span, parent, .. } = &fact.identity;
        assert_eq!(of.as_deref(), Some(run), "{fact:?}");
        match span.as_deref().unwrap() {
            "outer" => assert_eq!(parent, &None, "{fact:?}"),
            span => {
                inner += 1;
                assert!(["outer/inner~0", "outer/inner~1", "outer/inner~2"].contains(&span), "{fact:?}");
                assert_eq!(parent.as_deref(), Some("outer"), "{fact:?}");
            }
        }
    }
    if ended {
        assert_eq!((inner, facts.len()), (3 * 4, 3 * 4 + 5), "{facts:?}");
    }
}

#[test]
fn t6_4_2_calls_on_one_thread_never_tell_under_each_others_name() {
    // Which of the two is polled, in turn: one after the other, in pairs, unevenly.
    for pattern in [&[0, 1][..], &[0, 0, 1, 1], &[0, 1, 1], &[0, 0, 0, 1], &[1, 0, 0, 1, 1, 1, 0]] {
        let catalog = twice();
        let logs = [Events::default(), Events::default()];
        let runs = ["run a", "run b"];
        let mut calls = [0, 1].map(|at| {
            let request = Invocation::new("outer", json!({})).run_id(runs[at]).diagnostics(logs[at].scope());
            Some(ByHand::new(catalog.invoke(request, cx())))
        });
        let mut seen = [0, 0];
        for at in pattern.iter().copied().cycle() {
            if let Some(call) = &mut calls[at]
                && call.poll().is_some_and(|outcome| outcome.is_ok())
            {
                calls[at] = None;
            }
            assert!(current_frame().is_none());
            // The one that was not polled has nothing new.
            assert_eq!(logs[1 - at].all().len(), seen[1 - at]);
            seen[at] = logs[at].all().len();
            if calls.iter().all(Option::is_none) {
                break;
            }
        }
        for at in [0, 1] {
            all_of(runs[at], &logs[at].all(), true);
        }
    }
}

#[test]
fn t6_4_2_a_call_that_is_dropped_anywhere_leaves_no_frame_and_the_other_goes_on() {
    for polls in 0..8 {
        let catalog = twice();
        let logs = [Events::default(), Events::default()];
        let request = |at: usize| Invocation::new("outer", json!({})).run_id(["run a", "run b"][at]).diagnostics(logs[at].scope());
        let mut kept = ByHand::new(catalog.invoke(request(0), cx()));
        let mut dropped = ByHand::new(catalog.invoke(request(1), cx()));
        for _ in 0..polls {
            assert!(dropped.poll().is_none() && kept.poll().is_none() || polls > 6);
        }
        drop(dropped);
        assert!(current_frame().is_none());
        while kept.poll().is_none_or(|outcome| outcome.is_err()) && logs[0].all().len() < 17 {}
        all_of("run a", &logs[0].all(), true);
        all_of("run b", &logs[1].all(), false);
    }
}

#[test]
fn a_tool_that_panics_between_polls_leaves_no_frame() {
    let own = Own::default();
    let breaks = reads("breaks").run_json(|input: Value, call| async move {
        call.invoke("echo", json!({})).await?;
        pause().await;
        if input.get("panic").is_some() {
            panic!("lost");
        }
        Ok(input)
    });
    let of_outer = own.clone();
    let outer = reads("outer").run_json(move |input: Value, _| {
        let catalog = of_outer.get().clone();
        async move {
            let error = catalog.invoke(Invocation::new("breaks", json!({ "panic": true })), cx()).await.unwrap_err();
            assert_eq!(error.code(), "panicked");
            assert_eq!(current_frame().unwrap().path(), "outer");
            Ok(input)
        }
    });
    let catalog = catalog([echo("echo"), breaks, outer]);
    own.set(&catalog);
    block_on(catalog.invoke(Invocation::new("outer", json!({})), cx())).unwrap();
    assert!(current_frame().is_none());
}

#[test]
fn a_tool_that_is_dropped_is_dropped_as_part_of_its_own_call() {
    struct Looks(Arc<Mutex<Vec<Option<String>>>>);
    impl Drop for Looks {
        fn drop(&mut self) {
            self.0.lock().unwrap().push(current_frame().map(|frame| frame.run_id().to_string()));
        }
    }
    let seen = Arc::new(Mutex::new(Vec::new()));
    let looks = seen.clone();
    let waits = reads("waits").run_json(move |input: Value, _| {
        let looks = Looks(looks.clone());
        async move {
            pause().await;
            drop(looks);
            Ok(input)
        }
    });
    let catalog = catalog([waits]);
    let mut call = ByHand::new(catalog.invoke(Invocation::new("waits", json!({})).run_id("r1"), cx()));
    assert!(call.poll().is_none());
    drop(call);
    block_on(catalog.invoke(Invocation::new("waits", json!({})).run_id("r2"), cx())).unwrap();
    assert_eq!(*seen.lock().unwrap(), [Some("r1".to_owned()), Some("r2".to_owned())]);
    assert!(current_frame().is_none());
}

#[test]
fn t8_2_inside_a_tool_the_scope_knows_its_run_its_span_and_the_span_around_it() {
    let seen: Arc<Mutex<Vec<Identity>>> = Arc::default();
    let (of_outer, of_inner) = (seen.clone(), seen.clone());
    let inner = reads("inner").run_json(move |input: Value, call| {
        of_inner.lock().unwrap().extend(call.diagnostics().identity().cloned());
        async move { Ok(input) }
    });
    let outer = reads("outer").run_json(move |input: Value, call| {
        of_outer.lock().unwrap().extend(call.diagnostics().identity().cloned());
        async move {
            call.invoke("inner", json!({})).await?;
            Ok(input)
        }
    });
    let catalog = catalog([inner, outer]);
    let log = Events::default();
    block_on(catalog.invoke(Invocation::new("outer", json!({})).run_id("r1").diagnostics(log.scope()), cx())).unwrap();
    let identity = |span: &str, parent: Option<&str>| Identity {
        run: Some("r1".into()),
        span: Some(span.into()),
        parent: parent.map(Into::into),
        ..Identity::default()
    };
    assert_eq!(*seen.lock().unwrap(), [identity("outer", None), identity("outer/inner~0", Some("outer"))]);
    // A run that nobody named has an id of its own.
    catalog.set_diagnostics(Some(log.scope()));
    block_on(catalog.call(&d("inner"), cx())).unwrap();
    assert_eq!(seen.lock().unwrap()[2].run.as_ref().map(|run| run.len()), Some(32));
}

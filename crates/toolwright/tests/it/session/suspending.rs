//! When a forged tool is suspended, by whom, and what that means for calls.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use toolwright::{
    Answer, CallError, CancelSource, Catalog, Composite, Invocation, Journal, MemoryJournal, Options, Policy, Refusal, Runtime, Session,
    SessionError, ToolDef, ToolError, Value, json,
};

use super::fixture::{App, Caller, Ran, block_on, call, call_as, chain, options, registry, session, x};

/// A tool that does what the input says.
fn moody(ran: &Ran) -> ToolDef<App> {
    let ran = ran.clone();
    App::tool("moody", "Does what it is told")
        .reads()
        .output_schema(json!({"type": "object"}))
        .available(|caller: &Caller| !caller.off.lock().unwrap().contains("moody"))
        .authorize(|access| match access.input.and_then(|input| input.get("do")).and_then(Value::as_str) {
            Some("deny") => Err(Refusal::from("no")),
            _ => Ok(()),
        })
        .run_json(move |input, call| {
            let ran = ran.clone();
            async move {
                ran.note("moody");
                match input.get("do").and_then(Value::as_str) {
                    Some("fail") => Err(ToolError::new("failed").code("weather")),
                    Some("plain") => Err(ToolError::new("failed")),
                    Some("panic") => panic!("told to"),
                    Some("lie") => Ok(Answer::new(json!(1))),
                    Some("wait") => {
                        call.cancel().cancelled().await;
                        std::future::pending().await
                    }
                    _ => Ok(Answer::new(input)),
                }
            }
        })
}

fn with_moody(ran: &Ran) -> Session<App> {
    let strict = App::tool("strict", "Wants a number")
        .reads()
        .input_schema(json!({"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}))
        .run_json(|v, _| std::future::ready(Ok(v)));
    let base = registry(Policy::new()).with(moody(ran)).unwrap().with(strict).unwrap().with(ran.echo("read")).unwrap().seal();
    let session = Session::new(base, Options::new()).unwrap();
    let asks = Composite::of(App::tool("asks", "Asks").input_schema(json!({"type": "object", "required": ["do"]})));
    session.forge(asks.step("m", "moody", json!({"do": "$input.do"}))).unwrap();
    let maps = Composite::of(App::tool("maps", "Maps"));
    session.forge(maps.step("n", "strict", json!({"n": "$input.n"}))).unwrap();
    session
}

fn ask(session: &Session<App>, what: &str) -> String {
    match call(&session.catalog(), "asks", json!({ "do": what })) {
        Ok(_) => "ok".into(),
        Err(error) => error.code().to_owned(),
    }
}

#[test]
fn three_failures_in_a_row_of_its_own_making_suspend_a_tool() {
    for (what, code) in [("fail", "weather"), ("plain", "tool_failed"), ("panic", "panicked"), ("lie", "invalid_output")] {
        let ran = Ran::default();
        let session = with_moody(&ran);
        for _ in 0..3 {
            assert_eq!(session.suspended("asks"), None, "{what}");
            assert_eq!(ask(&session, what), code);
        }
        let reason = session.suspended("asks").unwrap();
        assert!(reason.contains('3') && reason.contains(code), "{reason}");
        ran.take();
        assert_eq!(ask(&session, "fine"), "suspended", "{what}");
        assert!(ran.take().is_empty(), "{what}");
        session.unsuspend("asks").unwrap();
        assert_eq!(ask(&session, "fine"), "ok");
    }
}

#[test]
fn a_mapping_that_is_wrong_for_a_step_counts() {
    for input in [json!({"n": "text"}), json!({})] {
        let session = with_moody(&Ran::default());
        for _ in 0..3 {
            assert_eq!(session.suspended("maps"), None);
            call(&session.catalog(), "maps", input.clone()).unwrap_err();
        }
        assert!(session.suspended("maps").is_some(), "{input}");
    }
}

#[test]
fn success_in_between_starts_the_count_anew() {
    let session = with_moody(&Ran::default());
    for what in ["fail", "fail", "fine", "panic", "lie", "fine", "fail", "fail"] {
        ask(&session, what);
    }
    assert_eq!(session.suspended("asks"), None);
    ask(&session, "fail");
    assert!(session.suspended("asks").is_some());
}

#[test]
fn what_is_not_the_tools_fault_never_counts_and_mends_nothing() {
    let ran = Ran::default();
    let session = with_moody(&ran);
    let caller = Arc::new(Caller::default());
    ask(&session, "fail");
    ask(&session, "fail");
    for _ in 0..4 {
        assert_eq!(ask(&session, "deny"), "denied");
        assert_eq!(call(&session.catalog(), "asks", json!({})).unwrap_err().code(), "invalid_input");
        caller.off.lock().unwrap().insert("moody".into());
        assert_eq!(call_as(&session.catalog(), "asks", json!({"do": "fine"}), &caller).unwrap_err().code(), "forbidden");
        caller.off.lock().unwrap().clear();
        assert_eq!(cancelled(&session.catalog()).code(), "cancelled");
    }
    assert_eq!(session.suspended("asks"), None);
    ask(&session, "fail");
    assert!(session.suspended("asks").is_some());
}

fn cancelled(catalog: &Catalog<App>) -> CallError {
    let source = CancelSource::new();
    let call = Invocation::new("asks", json!({"do": "wait"})).cancel(source.token());
    let outcome = block_on(async {
        let running = catalog.invoke(call, Caller::default());
        tokio::join!(running, async {
            tokio::task::yield_now().await;
            source.cancel();
        })
        .0
    });
    outcome.unwrap_err()
}

#[test]
fn a_veto_of_every_tool_is_not_counted() {
    let guard =
        App::tool("guard", "Says no").reads().inspect(|_, _| Err(Refusal::from("never"))).run_json(|v, _| std::future::ready(Ok(v)));
    let base = registry(Policy::new()).with(guard).unwrap().with(Ran::default().echo("read")).unwrap().seal();
    let session = Session::new(base, Options::new()).unwrap();
    session.forge(chain("a", &["read"])).unwrap();
    for _ in 0..4 {
        assert_eq!(call(&session.catalog(), "a", x(1)).unwrap_err().code(), "inspected");
    }
    assert_eq!(session.suspended("a"), None);
}

#[test]
fn doubt_and_a_journal_that_is_gone_are_not_counted() {
    let ran = Ran::default();
    let session = session(&ran);
    session.forge(chain("send", &["mail"])).unwrap();
    let journal = MemoryJournal::new();
    let run = || {
        let journal: Arc<dyn Journal> = Arc::new(journal.clone());
        block_on(session.catalog().invoke(Invocation::new("send", x(1)).run_id("r").journal(journal), Caller::default()))
    };
    run().unwrap();
    journal.cut_off("r", 2);
    for _ in 0..4 {
        assert_eq!(run().unwrap_err().code(), "in_doubt");
    }
    assert_eq!(session.suspended("send"), None);
    assert_eq!(ran.take(), ["mail"]);
}

#[test]
fn ts_15_a_cycle_through_code_names_its_path_and_suspends_nobody() {
    let seen: Arc<std::sync::Mutex<Vec<Vec<String>>>> = Arc::default();
    let paths = seen.clone();
    let k = App::tool("k", "Calls `c`").reads().run_json(move |_, call| {
        let paths = paths.clone();
        async move {
            let outcome = call.invoke("c", x(1)).await;
            if let Err(error) = &outcome
                && let toolwright::Fault::Cycle { path } = error.root_cause()
            {
                paths.lock().unwrap().push(path.iter().map(ToString::to_string).collect());
            }
            Ok(outcome?.value().clone())
        }
    });
    let base = registry(Policy::new()).with(k).unwrap().seal();
    let session = Session::new(base, Options::new()).unwrap();
    session.forge(chain("c", &["k"])).unwrap();
    for _ in 0..4 {
        assert_eq!(call(&session.catalog(), "c", x(1)).unwrap_err().code(), "cycle");
    }
    assert_eq!(*seen.lock().unwrap(), vec![vec!["c", "k", "c"]; 4]);
    assert_eq!(session.suspended("c"), None);
}

#[test]
fn dry_runs_and_answers_of_the_journal_do_not_count() {
    let session = with_moody(&Ran::default());
    ask(&session, "fail");
    ask(&session, "fail");
    for _ in 0..3 {
        let dry = Invocation::new("asks", json!({"do": "fail"})).dry(toolwright::StepOutputs::new());
        assert_eq!(block_on(session.catalog().invoke(dry, Caller::default())).unwrap_err().code(), "weather");
    }
    assert_eq!(session.suspended("asks"), None);
    ask(&session, "fail");
    assert!(session.suspended("asks").is_some());
}

#[test]
fn a_suspended_tool_is_refused_directly_as_a_step_and_in_old_generations() {
    let ran = Ran::default();
    let session = session(&ran);
    session.forge(chain("a", &["read"])).unwrap();
    let old = session.forge(chain("b", &["look", "a"])).unwrap();
    session.suspend("a", "the host says so").unwrap();
    assert_eq!(session.generation(), 3);
    for catalog in [&old, &session.catalog()] {
        let error = call(catalog, "a", x(1)).unwrap_err();
        assert_eq!(error.code(), "suspended");
        assert!(error.to_string().contains("the host says so"), "{error}");
        let error = call(catalog, "b", x(1)).unwrap_err();
        assert_eq!((error.code(), error.step().is_none()), ("suspended", true));
        assert!(error.is_refusal() && error.to_string().contains("`a`"), "{error}");
    }
    assert!(ran.take().is_empty());
    // A refusal for it says nothing about the outer one.
    for _ in 0..3 {
        call(&old, "b", x(1)).unwrap_err();
    }
    assert_eq!(session.suspended("b"), None);
    session.unsuspend("a").unwrap();
    call(&old, "b", x(1)).unwrap();
}

#[test]
fn a_suspended_tool_is_not_offered() {
    let session = session(&Ran::default());
    let catalog = session.forge(chain("a", &["read"])).unwrap();
    let offered = || catalog.model_protocols(&Caller::default()).unwrap().get("a").is_some();
    assert!(offered());
    session.suspend("a", "broken").unwrap();
    assert!(!offered());
    let decision = toolwright::Decision::new("a", x(1));
    assert_eq!(catalog.authorize(&decision, &Caller::default()).unwrap_err().code(), "suspended");
    session.unsuspend("a").unwrap();
    assert!(offered());
}

#[test]
fn unavailable_comes_before_suspended() {
    let session = with_moody(&Ran::default());
    session.suspend("asks", "why not").unwrap();
    let caller = Arc::new(Caller::default());
    caller.off.lock().unwrap().insert("moody".into());
    assert_eq!(call_as(&session.catalog(), "asks", json!({"do": "fine"}), &caller).unwrap_err().code(), "forbidden");
}

#[test]
fn only_forged_tools_can_be_suspended() {
    let session = session(&Ran::default());
    for id in ["read", "nothing"] {
        assert!(matches!(session.suspend(id, "no").unwrap_err(), SessionError::NotForged { .. }));
        assert!(matches!(session.unsuspend(id).unwrap_err(), SessionError::NotForged { .. }));
        assert_eq!(session.suspended(id), None);
    }
}

#[test]
fn the_number_of_failures_is_the_hosts() {
    let fails = App::tool("fails", "Fails").reads().run_json(|_, _| async move { Err::<Value, _>(ToolError::new("no")) });
    let base = registry(Policy::new()).with(fails).unwrap().seal();
    for (after, calls, suspended) in [(1, 1, true), (2, 1, false), (2, 2, true), (0, 50, false)] {
        let session = Session::new(base.clone(), options(Policy::new())).unwrap().suspend_after(after);
        session.forge(chain("a", &["fails"])).unwrap();
        for _ in 0..calls {
            call(&session.catalog(), "a", x(1)).unwrap_err();
        }
        assert_eq!(session.suspended("a").is_some(), suspended, "after {after}, {calls} calls");
    }
}

#[test]
fn failures_are_counted_over_generations_and_threads() {
    let count = Arc::new(AtomicUsize::new(0));
    let counted = count.clone();
    let fails = App::tool("fails", "Fails").reads().run_json(move |_, _| {
        counted.fetch_add(1, Ordering::SeqCst);
        async move { Err::<Value, _>(ToolError::new("no")) }
    });
    let base = registry(Policy::new()).with(fails).unwrap().with(Ran::default().echo("read")).unwrap().seal();
    let session = Session::new(base, Options::new()).unwrap().suspend_after(8);
    let first = session.forge(chain("a", &["fails"])).unwrap();
    session.forge(chain("b", &["read"])).unwrap();
    std::thread::scope(|scope| {
        for at in 0..8 {
            let catalog = if at % 2 == 0 { first.clone() } else { session.catalog() };
            scope.spawn(move || call(&catalog, "a", x(1)).unwrap_err());
        }
    });
    assert!(session.suspended("a").is_some());
    assert_eq!(count.load(Ordering::SeqCst), 8);
    assert_eq!(call(&first, "a", x(1)).unwrap_err().code(), "suspended");
}

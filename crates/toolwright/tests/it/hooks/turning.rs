//! One turn, from a decision to its end.

use toolwright::{Decision, EffectRecord, Fault, Options, Phase, Protocol, Refusal, Retry, Runtime, ToolBuilder, ToolDef, ToolError, json};

use crate::lifecycle_fixture::{App, Close, Notes, block_on, by, catalog, catalog_with, cx, d, error, reads, said};

const PHASES: [Phase; 2] = [Phase::Before, Phase::After];

/// A tool with every hook of a turn, each of which notes that it was asked.
fn noting(id: &'static str, log: &Notes) -> ToolBuilder<App> {
    let note = |what: &'static str| {
        let log = log.clone();
        move || log.note(format!("{what} {id}"))
    };
    let (inspect, authorize, resume) = (note("inspect"), note("authorize"), note("resume"));
    let finalize = log.clone();
    reads(id)
        .inspect(move |_, _| {
            inspect();
            Ok(())
        })
        .authorize(move |_| {
            authorize();
            Ok(())
        })
        .resume(move |_, _| {
            resume();
            true
        })
        .finalize(move |decision, _, phase| {
            finalize.note(format!("finalize {id} {phase:?} of {}", decision.invocation));
            Ok(())
        })
}

fn completing(id: &'static str, log: &Notes, next: impl Fn(&Decision) -> Option<Decision> + Send + Sync + 'static) -> ToolBuilder<App> {
    let complete = log.clone();
    noting(id, log).complete(move |decision, _| {
        complete.note(format!("complete {id}"));
        next(decision)
    })
}

fn with_reply() -> Options<App> {
    Options::new().outputs([Protocol::new("reply", "Answers", json!({ "type": "object" })).terminal()])
}

fn turn(tools: impl IntoIterator<Item = ToolDef<App>>, decision: Decision) -> Result<toolwright::Turn<App>, toolwright::CallError> {
    block_on(catalog_with(with_reply(), tools).turn(decision, &PHASES, cx()))
}

#[test]
fn tt_1_a_turn_asks_everything_in_one_order() {
    let log = Notes::default();
    let tools = [completing("a", &log, |_| None).notes(&log), completing("b", &log, |_| None).notes(&log)];
    let turn = turn(tools, Decision::new("b", json!({ "x": 1 }))).unwrap();
    let expected = [
        "inspect a",
        "inspect b",
        "resume b",
        "authorize b",
        "ran b",
        "complete b",
        "finalize a Before of b",
        "finalize b Before of b",
        "finalize a After of b",
        "finalize b After of b",
    ];
    assert_eq!(log.all(), expected);
    assert_eq!(turn.decision, Decision::new("b", json!({ "x": 1 })));
    assert_eq!(turn.result.unwrap().value(), &json!({ "x": 1 }));
    assert!(turn.resumed && !turn.terminal);
}

#[test]
fn tt_2_a_refused_inspection_is_the_end_of_it() {
    let log = Notes::default();
    let refuses = reads("no").inspect(|_, _| Err(Refusal::new("x", "no")));
    let tools = [refuses.notes(&log), completing("a", &log, |_| None).notes(&log)];
    assert_eq!(said(turn(tools, d("a"))), by("inspected", "no", "x"));
    assert_eq!(log.all(), [""; 0]);
}

#[test]
fn tt_3_a_failing_tool_is_finalized_in_every_phase_and_the_error_is_its_own() {
    let log = Notes::default();
    let fails = completing("a", &log, |_| None)
        .run_json(|_, _| async move { Err::<toolwright::Value, _>(ToolError::new("no room").code("disk_full")) });
    assert_eq!(said(turn([fails], d("a"))), by("disk_full", "a", ""));
    assert_eq!(log.all()[3..], ["finalize a Before of a", "finalize a After of a"]);
}

#[test]
fn a_tool_that_fails_and_a_finalize_that_refuses_end_with_the_error_of_the_tool() {
    let refuses = || reads("a").finalize(|_, _, _| Err(Refusal::new("x", "no")));
    let fails = refuses().run_json(|_, _| async move { Err::<toolwright::Value, _>(ToolError::new("no room").code("disk_full")) });
    assert_eq!(error(turn([fails], d("a"))).code(), "disk_full");
    let failed = error(turn([refuses().echoes()], d("a")));
    assert!(matches!(failed.fault(), Fault::Finalize { failures, .. } if failures.len() == 2 && failures[1].1.code == "x"));
}

#[test]
fn t6_17_2_a_rewrite_is_no_way_around_an_inspection() {
    let log = Notes::default();
    let guards = reads("guard").inspect(|decision, _| if decision.invocation == "b" { Err(Refusal::new("x", "not b")) } else { Ok(()) });
    let tools = [guards.echoes(), completing("a", &log, |_| Some(d("b"))).notes(&log), noting("b", &log).notes(&log)];
    assert_eq!(said(turn(tools, d("a"))), by("inspected", "guard", "x"));
    let asked = log.all();
    assert!(asked.contains(&"ran a".to_owned()) && !asked.contains(&"ran b".to_owned()));
    let finalized: Vec<&String> = asked.iter().filter(|note| note.starts_with("finalize")).collect();
    assert!(finalized.len() == 4 && finalized.iter().all(|note| note.ends_with("of a")), "{finalized:?}");
}

#[test]
fn a_rewrite_to_another_tool_is_inspected_authorized_and_called() {
    let log = Notes::default();
    let tools =
        [completing("a", &log, |_| Some(Decision::new("b", json!({ "y": 2 })))).notes(&log), noting("b", &log).terminal().notes(&log)];
    let turn = turn(tools, d("a")).unwrap();
    let expected = [
        "inspect a",
        "inspect b",
        "resume a",
        "authorize a",
        "ran a",
        "complete a",
        "inspect a",
        "inspect b",
        "resume b",
        "authorize b",
        "ran b",
    ];
    assert_eq!(log.all()[..11], expected);
    assert_eq!((turn.decision.invocation.as_str(), turn.terminal), ("b", true));
    assert_eq!(turn.result.unwrap().value(), &json!({ "y": 2 }));
}

#[test]
fn a_rewrite_of_the_arguments_alone_runs_nothing_again() {
    let log = Notes::default();
    let rewritten = Decision::new("a", json!({ "done": true }));
    let next = rewritten.clone();
    let turn = turn([completing("a", &log, move |_| Some(next.clone())).notes(&log)], d("a")).unwrap();
    assert_eq!(log.all().iter().filter(|note| *note == "ran a").count(), 1);
    assert_eq!((turn.decision, turn.result.unwrap().value()), (rewritten, &json!({})));
}

#[test]
fn a_rewrite_to_an_output_ends_the_turn_with_the_result_of_the_tool() {
    let log = Notes::default();
    let turn = turn([completing("a", &log, |_| Some(d("reply"))).notes(&log)], Decision::new("a", json!({ "x": 1 }))).unwrap();
    assert_eq!((turn.decision.invocation.as_str(), turn.terminal), ("reply", true));
    assert_eq!(turn.result.unwrap().value(), &json!({ "x": 1 }));
    assert_eq!(log.all().last().unwrap(), "finalize a After of reply");
}

#[test]
fn a_decision_for_an_output_is_inspected_and_finalized_and_calls_nothing() {
    let log = Notes::default();
    let turn = turn([completing("a", &log, |_| None).notes(&log)], d("reply")).unwrap();
    assert_eq!(log.all(), ["inspect a", "finalize a Before of reply", "finalize a After of reply"]);
    assert!(turn.terminal && turn.result.is_none() && !turn.resumed);
}

#[test]
fn tools_that_hand_a_turn_to_each_other_without_end_are_stopped() {
    let log = Notes::default();
    let tools = || [completing("a", &log, |_| Some(d("b"))).notes(&log), completing("b", &log, |_| Some(d("a"))).notes(&log)];
    let looped = error(turn(tools(), d("a")));
    assert!(matches!(looped.fault(), Fault::RewriteLoop { path } if path == &["a", "b", "a", "b", "a", "b"]), "{looped:?}");
    assert_eq!(looped.code(), "rewrite_loop");
    assert_eq!(log.take().iter().filter(|note| note.starts_with("ran")).count(), 5);
    let none = catalog_with(Options::new().limit_rewrites(0), tools());
    assert_eq!(error(block_on(none.turn(d("a"), &PHASES, cx()))).code(), "rewrite_loop");
    assert_eq!(log.all().iter().filter(|note| note.starts_with("ran")).count(), 1);
}

#[test]
fn an_error_late_in_a_turn_says_what_has_happened_in_it() {
    let writes = |id: &str| App::tool(id.to_owned(), "Writes").writes();
    let sends = |next: &'static str| writes("send").complete(move |_, _| Some(d(next))).echoes();
    let fails = writes("note").run_json(|_, _| async move { Err::<toolwright::Value, _>(ToolError::new("no room").nothing_happened()) });
    let failed = error(turn([sends("note"), fails], d("send")));
    assert_eq!((failed.tool(), failed.effects().len(), failed.retry()), ("note", 1, Retry::Never));
    assert!(matches!(&failed.effects()[0], EffectRecord::Ran(ran) if ran.tool == "send"));
    let refuses = writes("off").finalize(|_, _, _| Err(Refusal::new("x", "no")));
    let failed = error(turn([sends("reply"), refuses.echoes()], d("send")));
    assert_eq!((failed.code(), failed.effects().len()), ("finalize_failed", 1));
    let both = turn([sends("other"), writes("other").echoes()], d("send")).unwrap();
    assert_eq!((both.effects.len(), both.result.unwrap().effects.len()), (2, 1));
}

#[test]
fn a_turn_of_nobody_fails_and_is_finalized() {
    let log = Notes::default();
    assert_eq!(said(turn([noting("a", &log).echoes()], d("ghost"))), by("unavailable_invocation", "ghost", ""));
    assert_eq!(log.all(), ["inspect a", "finalize a Before of ghost", "finalize a After of ghost"]);
}

#[test]
fn a_turn_without_phases_finalizes_nothing_and_its_future_may_move_between_threads() {
    fn moves<F: Future + Send>(future: F) -> F {
        future
    }
    let log = Notes::default();
    let catalog = catalog([noting("a", &log).notes(&log)]);
    block_on(moves(catalog.turn(d("a"), &[], cx()))).unwrap();
    assert_eq!(log.all().last().unwrap(), "ran a");
}

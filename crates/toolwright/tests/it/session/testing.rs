//! Trying a composite out before it is forged, and forging as a tool.

use std::sync::{Arc, Barrier};

use toolwright::session::{TestFailure, forge_tool};
use toolwright::{ForgeError, ForgeTest, Invocation, Journal, MemoryJournal, Policy, Runtime, Session, json};

use super::fixture::{App, Caller, Ran, base, block_on, call_as, chain, options, registry, session, x};

fn forge_tested(session: &Session<App>, id: &str, tools: &[&str], tests: Vec<ForgeTest>) -> Result<toolwright::Catalog<App>, ForgeError> {
    block_on(session.forge_tested(chain(id, tools), tests, Caller::default()))
}

#[test]
fn a_tested_composite_runs_its_reads_and_none_of_its_effects() {
    let ran = Ran::default();
    let session = session(&ran);
    let test = ForgeTest::new("sends", x(1)).output("s1", json!({"sent": true})).expects(json!({"sent": true}));
    let catalog = forge_tested(&session, "digest", &["read", "mail"], vec![test]).unwrap();
    assert!(catalog.has("digest"));
    assert_eq!(ran.take(), ["read"]);
    assert_eq!((session.generation(), catalog.generation()), (2, 2));
    // Nobody sees what happened while it was tried out.
    assert!(session.catalog().events().is_empty());
}

#[test]
fn chainability_and_wiring_come_before_the_tests() {
    let ran = Ran::default();
    let session = session(&ran);
    let error = forge_tested(&session, "digest", &["read", "nowhere"], vec![ForgeTest::new("t", x(1))]).unwrap_err();
    assert_eq!(error.code(), "step_missing");
    assert!(ran.take().is_empty());
}

#[test]
fn all_tests_that_fail_are_named_and_nothing_is_forged() {
    let ran = Ran::default();
    let session = session(&ran);
    let tests = vec![
        ForgeTest::new("fine", x(1)).output("s1", json!(1)),
        ForgeTest::new("no output", x(1)),
        ForgeTest::new("another", x(1)).output("s1", json!(1)).expects(json!(2)),
    ];
    let error = forge_tested(&session, "digest", &["read", "mail"], tests).unwrap_err();
    assert_eq!(error.code(), "forge_test_failed");
    let ForgeError::Tests { failed, .. } = &error else { panic!("{error}") };
    assert_eq!(failed.iter().map(|test| test.name.as_str()).collect::<Vec<_>>(), ["no output", "another"]);
    assert!(matches!(&failed[1].failure, TestFailure::Output { output: Some(output), .. } if *output == json!(1)));
    assert!(error.to_string().contains("no output") && error.to_string().contains("another"), "{error}");
    assert_eq!((session.generation(), session.forged().len()), (1, 0));
    assert_eq!(ran.take(), ["read"; 3]);
}

#[test]
fn a_rehearsal_enters_forged_composites() {
    let ran = Ran::default();
    let session = session(&ran);
    session.forge(chain("inner", &["look"])).unwrap();
    let plain = ForgeTest::new("plain", x(1)).output("s0", json!({"x": 2}));
    let rehearsed = ForgeTest::new("entered", x(1)).rehearse().expects(x(1));
    forge_tested(&session, "outer", &["inner"], vec![plain, rehearsed]).unwrap();
    assert_eq!(ran.take(), ["look"]);
}

#[test]
fn what_changes_while_tests_run_is_seen() {
    let ran = Ran::default();
    let (running, go) = (Arc::new(Barrier::new(2)), Arc::new(Barrier::new(2)));
    let waits = {
        let (running, go, ran) = (running.clone(), go.clone(), ran.clone());
        let first = std::sync::atomic::AtomicBool::new(true);
        App::tool("waits", "Waits").reads().run_json(move |v, _| {
            ran.note("waits");
            if first.swap(false, std::sync::atomic::Ordering::SeqCst) {
                running.wait();
                go.wait();
            }
            std::future::ready(Ok(v))
        })
    };
    let base = registry(Policy::new()).with(waits).unwrap().with(ran.echo("read")).unwrap().with(ran.echo("look")).unwrap().seal();
    let session = Session::new(base, options(Policy::new())).unwrap();
    session.forge(chain("part", &["read"])).unwrap();
    std::thread::scope(|scope| {
        let forging = scope.spawn(|| {
            let test = ForgeTest::new("t", x(1)).rehearse();
            forge_tested(&session, "whole", &["waits", "part"], vec![test]).unwrap()
        });
        running.wait();
        session.retire("part").unwrap();
        session.forge(chain("part", &["look"])).unwrap();
        go.wait();
        let forged = forging.join().unwrap();
        assert_eq!((forged.generation(), session.generation()), (5, 5));
    });
    // Tried with the one part, then once more with the other, since that is what it would use.
    assert_eq!(ran.take(), ["waits", "read", "waits", "look"]);
}

fn forging(ran: &Ran) -> (Session<App>, Arc<Caller>) {
    let head = App::tool("forge", "Makes a tool").authorize(|access| {
        let steps = access.input.and_then(|input| input.get("composite")).and_then(|composite| composite.get("steps"));
        if steps.is_some_and(|steps| steps.as_array().is_some_and(|steps| steps.len() > 2)) { Err("too long".into()) } else { Ok(()) }
    });
    let base = base(ran).overlay(options(Policy::new().may_chain(["mail"]))).unwrap();
    let base = base.with(forge_tool(head, |caller: &Caller| caller.session.get().cloned())).unwrap().seal();
    let session = Session::new(base, options(Policy::new().may_chain(["mail"]))).unwrap();
    let caller = Arc::new(Caller::default());
    caller.session.set(session.clone()).unwrap();
    (session, caller)
}

#[test]
fn a_forge_tool_is_a_tool_with_an_effect_that_is_authorized_and_journalled() {
    let ran = Ran::default();
    let (session, caller) = forging(&ran);
    let effect = session.catalog().get("forge").unwrap().effect().cloned().unwrap();
    assert_eq!((effect.class.as_str(), effect.impact), ("forge", toolwright::Impact::Once));
    let asks = |steps: &[&str]| {
        let tests = json!([{"input": {"x": 1}, "outputs": {"s1": {"sent": true}}, "expects": {"sent": true}}]);
        json!({"composite": chain("digest", steps).to_value(), "tests": tests})
    };
    let denied = call_as(&session.catalog(), "forge", asks(&["read", "mail", "look"]), &caller).unwrap_err();
    assert_eq!(denied.code(), "denied");
    let journal: Arc<dyn Journal> = Arc::new(MemoryJournal::new());
    let call = || Invocation::new("forge", asks(&["read", "mail"])).run_id("r").journal(journal.clone());
    let forged = block_on(session.catalog().invoke(call(), caller.clone())).unwrap();
    assert_eq!(forged.value(), &json!({"forged": "digest", "generation": 2}));
    // The dry run inside it was one: it read, and nothing was sent or written down.
    assert_eq!(ran.take(), ["read"]);
    let history = block_on(journal.load("r").get()).unwrap().unwrap();
    assert_eq!(history.paths(), ["forge"]);
    assert_eq!(history.run.input.get("composite").and_then(|composite| composite.get("id")), Some(&json!("digest")));
    call_as(&session.catalog(), "digest", x(1), &caller).unwrap();
    assert_eq!(ran.take(), ["read", "mail"]);
    // The same run once more forges nothing a second time.
    assert!(block_on(session.catalog().invoke(call(), caller)).unwrap().replayed());
    assert_eq!(session.generation(), 2);
}

#[test]
fn a_forge_tool_that_is_in_doubt_looks_into_its_session() {
    let ran = Ran::default();
    let (session, caller) = forging(&ran);
    let journal = MemoryJournal::new();
    let call = || {
        let kept: Arc<dyn Journal> = Arc::new(journal.clone());
        let asks = json!({"composite": chain("digest", &["read"]).to_value()});
        block_on(session.catalog().invoke(Invocation::new("forge", asks).run_id("r").journal(kept), caller.clone()))
    };
    call().unwrap();
    journal.cut_off("r", 1);
    assert_eq!(call().unwrap().value(), &json!({"forged": "digest", "generation": 2}));
    session.retire("digest").unwrap();
    journal.cut_off("r", 1);
    assert_eq!(call().unwrap().value(), &json!({"forged": "digest", "generation": 4}));
}

#[test]
fn a_forge_tool_forges_for_its_own_audience_and_says_what_is_wrong() {
    let ran = Ran::default();
    let (session, caller) = forging(&ran);
    let mut forged = chain("sly", &["read"]).to_value().as_object().unwrap().clone();
    forged = forged.with("audience", "operator");
    let sly = json!({"composite": toolwright::Value::Object(forged)});
    assert_eq!(call_as(&session.catalog(), "forge", sly, &caller).unwrap_err().code(), "invalid_spec");
    assert!(!session.catalog().has("sly"));
    let wrong = json!({"composite": {"id": "a", "description": "x", "steps": [{"name": "s", "tool": "reed", "when": 1}]}});
    let error = call_as(&session.catalog(), "forge", wrong, &caller).unwrap_err();
    assert_eq!(error.code(), "invalid_spec");
    assert_eq!(error.effect_state(), toolwright::EffectState::NoEffect);
    let nobody = json!({"composite": chain("a", &["read"]).to_value()});
    assert_eq!(call_as(&session.catalog(), "forge", nobody, &Arc::default()).unwrap_err().code(), "no_session");
}

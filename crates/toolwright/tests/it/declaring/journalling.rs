//! The journal, checkpoints and receipts, as a host gives them by ports.

use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use toolwright::journal::{Begin, Finish, Journal, Record};
use toolwright::{
    Composite, EventName, Fact, Invocation, MemoryJournal, Observer, Options, Refusal, Registry, Runtime, ToolError, Value, json,
};

use crate::lifecycle_fixture::{App, AppCx, Close, Notes, block_on, catalog_with, cx, cx_with, error, reads};

fn empty(id: &str) -> Invocation {
    Invocation::new(id.to_owned(), json!({}))
}

/// Options whose journal is that of the caller.
fn journalled() -> Options<App> {
    Options::new().journal(|cx: &AppCx| Some(Arc::new(cx.journal.clone()?) as Arc<dyn Journal>))
}

/// A caller with this journal.
fn with(journal: &MemoryJournal) -> Arc<AppCx> {
    let journal = journal.clone();
    cx_with(|cx| cx.journal = Some(journal))
}

/// What a run's records are, with the place that each is about.
fn shown(journal: &MemoryJournal) -> Vec<String> {
    let run = journal.runs().first().map(|run| run.records()).unwrap_or_default();
    run.iter()
        .map(|record| match record {
            Record::Begin(begin) => format!("begin {}", begin.key.path()),
            Record::Finish(finish) => format!("finish {}", finish.key.path()),
            Record::End(_) => "end".to_owned(),
            other => format!("{other:?}"),
        })
        .collect()
}

/// The first call's intent and outcome in the only run.
fn recorded(journal: &MemoryJournal) -> (Begin, Finish) {
    let runs = journal.runs();
    assert_eq!(runs.len(), 1);
    let records = runs[0].records();
    let begin = records.iter().find_map(|record| if let Record::Begin(begin) = record { Some(begin.clone()) } else { None });
    let finish = records.iter().find_map(|record| if let Record::Finish(finish) = record { Some(finish.clone()) } else { None });
    (begin.unwrap(), finish.unwrap())
}

fn checkpoint_of(begin: &Begin) -> Option<Value> {
    begin.more.as_ref().and_then(|more| more.checkpoint.clone())
}

fn receipt_of(finish: &Finish) -> (Option<Value>, bool) {
    finish.more.as_ref().map_or((None, false), |more| (more.receipt.clone(), more.receipt_failed))
}

#[test]
fn t2_15_1_the_intent_is_written_before_the_tool_runs_and_its_outcome_after() {
    let journal = MemoryJournal::new();
    let during: Arc<Mutex<Vec<String>>> = Arc::default();
    let (seen, reading) = (during.clone(), journal.clone());
    let looks = App::tool("looks", "Looks at the journal").writes().run_json(move |input, _| {
        *seen.lock().unwrap() = shown(&reading);
        async move { Ok(input) }
    });
    block_on(catalog_with(journalled(), [looks]).invoke(empty("looks"), with(&journal))).unwrap();
    assert_eq!(*during.lock().unwrap(), ["begin looks"]);
    assert_eq!(shown(&journal), ["begin looks", "finish looks", "end"]);
}

#[test]
fn t2_15_2_a_run_is_in_one_journal_though_the_port_would_give_another_each_time() {
    let given: Arc<Mutex<Vec<MemoryJournal>>> = Arc::default();
    let port = given.clone();
    let options = Options::new().journal(move |_| {
        let journal = MemoryJournal::new();
        port.lock().unwrap().push(journal.clone());
        Some(Arc::new(journal) as Arc<dyn Journal>)
    });
    let calls = reads("calls").run_json(|input, call| async move {
        call.invoke("b", json!({})).await?;
        Ok(input)
    });
    let mut registry = Registry::with_options(options).unwrap();
    registry.register_all([reads("a").echoes(), reads("b").echoes(), calls]).unwrap();
    let root = Composite::of(App::tool("root", "Two steps")).step("a", "a", json!({})).step("b", "calls", json!({}));
    registry.register(root).unwrap();
    block_on(registry.seal().invoke(empty("root"), cx())).unwrap();
    let given = given.lock().unwrap();
    assert_eq!(given.len(), 1, "the port is asked once");
    let want = [
        "begin root",
        "begin root/0:a",
        "finish root/0:a",
        "begin root/1:b",
        "begin root/1:b/b~0",
        "finish root/1:b/b~0",
        "finish root/1:b",
        "finish root",
        "end",
    ];
    assert_eq!(shown(&given[0]), want);
}

/// Options with a checkpoint that reads a counter and a receipt that wraps it; what the receipt got; how often the
/// checkpoint was asked for.
struct Turns {
    turn: Arc<AtomicU64>,
    asked: Arc<AtomicUsize>,
    got: Arc<Mutex<Vec<Option<Value>>>>,
}

fn turns(first: u64) -> (Options<App>, Turns) {
    let turns = Turns { turn: Arc::new(AtomicU64::new(first)), asked: Arc::default(), got: Arc::default() };
    let (turn, asked, got) = (turns.turn.clone(), turns.asked.clone(), turns.got.clone());
    let options = journalled()
        .checkpoint(move |_| {
            asked.fetch_add(1, Ordering::Relaxed);
            json!({ "turn": turn.load(Ordering::Relaxed) })
        })
        .receipt(move |_, checkpoint| {
            got.lock().unwrap().push(checkpoint.cloned());
            Ok(Value::object([("after", checkpoint.cloned().unwrap_or_default())]))
        });
    (options, turns)
}

#[test]
fn t2_16_1_a_checkpoint_is_of_before_the_tool_ran_and_the_receipt_gets_that_one() {
    let (options, turns) = turns(4);
    let turn = turns.turn.clone();
    let raises = App::tool("raises", "Goes on").writes().run_json(move |input, _| {
        turn.fetch_add(1, Ordering::Relaxed);
        async move { Ok(input) }
    });
    let journal = MemoryJournal::new();
    block_on(catalog_with(options, [raises]).invoke(empty("raises"), with(&journal))).unwrap();
    assert_eq!(checkpoint_of(&recorded(&journal).0), Some(json!({ "turn": 4 })));
    assert_eq!(*turns.got.lock().unwrap(), [Some(json!({ "turn": 4 }))]);
    assert_eq!((turns.turn.load(Ordering::Relaxed), turns.asked.load(Ordering::Relaxed)), (5, 1));
}

#[test]
fn t2_16_2_without_a_journal_and_for_a_denied_call_there_is_no_checkpoint() {
    let (options, turns) = turns(4);
    let log = Notes::default();
    let denied = reads("denied").authorize(|_| Err(Refusal::new("no", "not you"))).notes(&log);
    let catalog = catalog_with(options, [reads("a").echoes(), denied]);
    block_on(catalog.invoke(empty("a"), cx())).unwrap();
    let journal = MemoryJournal::new();
    assert_eq!(error(block_on(catalog.invoke(empty("denied"), with(&journal)))).code(), "denied");
    assert_eq!((turns.asked.load(Ordering::Relaxed), turns.got.lock().unwrap().len(), journal.runs().len()), (0, 0, 0));
    assert_eq!(log.all(), [""; 0]);
}

#[test]
fn a_checkpoint_that_breaks_down_lets_nothing_run() {
    let (journal, log) = (MemoryJournal::new(), Notes::default());
    let options = journalled().checkpoint(|_| panic!("no state"));
    let ended = error(block_on(catalog_with(options, [reads("a").notes(&log)]).invoke(empty("a"), with(&journal))));
    assert_eq!((ended.code(), ended.tool(), ended.effect_state()), ("hook_failed", "a", toolwright::EffectState::NotStarted));
    assert_eq!((shown(&journal), log.all()), (vec!["end".to_owned()], Vec::new()));
}

#[test]
fn t2_17_1_a_receipt_goes_into_the_record_of_the_outcome() {
    let (options, turns) = turns(7);
    let journal = MemoryJournal::new();
    block_on(catalog_with(options, [reads("a").echoes()]).invoke(empty("a"), with(&journal))).unwrap();
    assert_eq!(receipt_of(&recorded(&journal).1), (Some(json!({ "after": { "turn": 7 } })), false));
    assert_eq!(turns.got.lock().unwrap().len(), 1);
}

#[test]
fn t2_17_2_a_tool_that_fails_gets_no_receipt() {
    let (options, turns) = turns(7);
    let fails = reads("fails").run_json(|_, _| async move { Err::<Value, _>(ToolError::new("enough").code("quota")) });
    let journal = MemoryJournal::new();
    assert_eq!(error(block_on(catalog_with(options, [fails]).invoke(empty("fails"), with(&journal)))).code(), "quota");
    assert_eq!(turns.got.lock().unwrap().len(), 0);
    let instead = json!({ "error": { "code": "quota", "message": "enough" } });
    let (receipt, failed) = receipt_of(&recorded(&journal).1);
    assert_eq!(receipt.as_ref().and_then(|receipt| receipt.pointer("/error/code")), instead.pointer("/error/code"));
    assert!(!failed);
}

#[test]
fn t2_18_1_the_error_of_a_tool_has_a_receipt_of_the_hosts_and_reaches_the_caller_unchanged() {
    let options = journalled().receipt_error(|error| json!({ "failed": error.code() }));
    let fails = App::tool("fails", "Fails")
        .writes()
        .run_json(|_, _| async move { Err::<Value, _>(ToolError::new("enough for today").code("quota").nothing_happened()) });
    let journal = MemoryJournal::new();
    let ended = error(block_on(catalog_with(options, [fails]).invoke(empty("fails"), with(&journal))));
    assert_eq!(ended.code(), "quota");
    assert!(ended.message().contains("enough for today"), "{ended}");
    let finish = recorded(&journal).1;
    assert_eq!(receipt_of(&finish).0, Some(json!({ "failed": "quota" })));
    assert_eq!(finish.outcome.unwrap_err().code, "quota");
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
fn t2_18_2_a_receipt_that_cannot_be_made_is_replaced_and_told_and_the_call_succeeds() {
    let refuses: fn(&AppCx, Option<&Value>) -> Result<Value, Refusal> = |_, _| Err(Refusal::new("no_receipt", "out of paper"));
    let breaks: fn(&AppCx, Option<&Value>) -> Result<Value, Refusal> = |_, _| panic!("out of paper");
    for (receipt, code) in [(refuses, "no_receipt"), (breaks, "hook_panicked")] {
        let options = journalled()
            .receipt(receipt)
            .receipt_error(|error| json!({ "failed": error.code(), "why": error.refusal().map(|refusal| refusal.code.to_string()) }));
        let (journal, facts) = (MemoryJournal::new(), Facts::default());
        let scope = toolwright::Diagnostics::disabled().with_observer(Arc::new(facts.clone()));
        let invocation = Invocation::new("a", json!({ "x": 1 })).diagnostics(scope);
        let result = block_on(catalog_with(options, [reads("a").echoes()]).invoke(invocation, with(&journal))).unwrap();
        assert_eq!(result.value(), &json!({ "x": 1 }));
        let finish = recorded(&journal).1;
        assert_eq!(receipt_of(&finish), (Some(json!({ "failed": "hook_failed", "why": code })), true));
        assert_eq!(finish.outcome.unwrap(), Some(json!({ "x": 1 })));
        let facts = facts.0.lock().unwrap();
        let told = facts.iter().find(|fact| fact.event == EventName::ReceiptFailed).unwrap();
        assert_eq!((told.payload.get("tool"), told.payload.get("code")), (Some(&json!("a")), Some(&json!(code))));
    }
}

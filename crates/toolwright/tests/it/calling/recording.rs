//! What the journal is asked, and what becomes of a call when it says no.

use std::sync::Arc;

use toolwright::journal::Record;
use toolwright::{EffectState, Fault, Invocation, Retry, Runtime, ToolBuilder, ToolDef, ToolError, Value, json};

use super::fixture::{ByHand, Watched, pause};
use crate::lifecycle_fixture::{App, Notes, block_on, catalog, cx, error, reads};

fn writes(id: &str) -> ToolBuilder<App> {
    App::tool(id.to_owned(), format!("The tool {id}")).writes()
}

fn noted(builder: ToolBuilder<App>, log: &Notes) -> ToolDef<App> {
    let log = log.clone();
    builder.run_json(move |input: Value, call| {
        let log = log.clone();
        async move {
            pause().await;
            log.note(format!("ran {}", call.tool()));
            Ok(json!({ "got": input.to_json() }))
        }
    })
}

fn run(tool: ToolDef<App>, journal: &Watched, input: Value) -> Result<toolwright::ToolResult, toolwright::CallError> {
    let id = tool.id().to_owned();
    block_on(catalog([tool]).invoke(Invocation::new(id, input).run_id("r1").journal(Arc::new(journal.clone())), cx()))
}

#[test]
fn t9_1_the_intent_comes_before_the_tool_and_the_outcome_after_it() {
    let log = Notes::default();
    let journal = Watched::noting(&log);
    run(noted(writes("a"), &log), &journal, json!({})).unwrap();
    assert_eq!(log.all(), ["open", "begin a", "ran a", "finish a", "end"]);
}

#[test]
fn t9_2_without_an_intent_the_tool_does_not_run() {
    for no in ["open", "begin a"] {
        let log = Notes::default();
        let journal = Watched::noting(&log);
        journal.refuse(no);
        let error = error(run(noted(writes("a"), &log), &journal, json!({})));
        assert_eq!((error.code(), error.effect_state(), error.retry()), ("journal", EffectState::NotStarted, Retry::Safe));
        let phase = no.split(' ').next().unwrap();
        assert!(matches!(error.fault(), Fault::Journal { phase: at, value: None, .. } if *at == phase), "{error:?}");
        assert!(!log.all().contains(&"ran a".into()));
        // Nothing stands in the way of another try.
        journal.obey();
        run(noted(writes("a"), &log), &journal, json!({})).unwrap();
    }
}

#[test]
fn t9_3_an_outcome_that_cannot_be_written_is_told_with_the_value() {
    for (builder, state) in [(writes("a"), EffectState::Happened), (reads("a"), EffectState::NoEffect)] {
        let log = Notes::default();
        let journal = Watched::noting(&log);
        journal.refuse("finish a");
        let error = error(run(noted(builder, &log), &journal, json!({ "x": 1 })));
        assert_eq!((error.code(), error.effect_state()), ("journal", state));
        let Fault::Journal { phase: "finish", value: Some(value), .. } = error.fault() else { panic!("{error:?}") };
        assert_eq!(value, &json!({ "got": { "x": 1 } }));
        assert!(log.all().contains(&"ran a".into()));
        assert_eq!(error.effects().len(), usize::from(state == EffectState::Happened));
    }
}

#[test]
fn t9_4_a_failure_is_recorded_with_its_code_and_what_is_known_of_its_effect() {
    for (builder, failure, state) in [
        (reads("a"), ToolError::new("enough").code("quota"), EffectState::NoEffect),
        (writes("a"), ToolError::new("enough").code("quota"), EffectState::Unknown),
        (writes("a"), ToolError::new("enough").code("quota").nothing_happened(), EffectState::NoEffect),
        (writes("a"), ToolError::new("enough").code("quota").it_happened(), EffectState::Happened),
    ] {
        let journal = Watched::default();
        let tool = builder.run_json(move |_, _| std::future::ready(Err::<Value, _>(failure.clone())));
        assert_eq!(error(run(tool, &journal, json!({}))).code(), "quota");
        let [finish] = &journal.finishes("r1")[..] else { panic!("one outcome") };
        let kept = finish.outcome.clone().unwrap_err();
        assert_eq!((kept.code.as_str(), kept.message.as_str(), kept.state, finish.state), ("quota", "enough", state, state));
        let Some(Record::End(end)) = journal.kept.records("r1").pop() else { panic!("it has an end") };
        assert_eq!((end.ok, end.code.as_deref()), (false, Some("quota")));
    }
}

#[test]
fn t9_5_what_is_turned_down_is_not_recorded() {
    let log = Notes::default();
    let journal = Watched::noting(&log);
    let denied = noted(writes("a").authorize(|_| Err("no".into())), &log);
    assert_eq!(error(run(denied, &journal, json!({}))).code(), "denied");
    let off = noted(writes("a").available(|_| false), &log);
    assert_eq!(error(run(off, &journal, json!({}))).code(), "forbidden");
    let strict = noted(writes("a").input_schema(json!({ "type": "object", "required": ["x"] })), &log);
    assert_eq!(error(run(strict, &journal, json!({}))).code(), "invalid_input");
    assert!(log.all().is_empty() && journal.kept.runs().is_empty());
}

#[test]
fn t9_6_the_same_run_again_is_answered_by_the_journal() {
    let log = Notes::default();
    let journal = Watched::default();
    let hook = log.clone();
    let tool = || {
        let hook = hook.clone();
        noted(writes("a"), &log).with_description(format!("not asked {}", hook.all().len()).chars().take(9).collect::<String>())
    };
    let first = run(tool(), &journal, json!({ "x": 1 })).unwrap();
    let again = run(tool(), &journal, json!({ "x": 1 })).unwrap();
    assert_eq!((first.replayed(), again.replayed(), again.record().replayed), (false, true, true));
    assert_eq!((first.value(), &first.effects), (again.value(), &again.effects));
    assert_eq!(log.all(), ["ran a"]);
}

#[test]
fn t9_7_the_same_run_with_another_input_or_tool_runs_nothing() {
    let log = Notes::default();
    let journal = Watched::default();
    run(noted(writes("a"), &log), &journal, json!({ "x": 1 })).unwrap();
    let before = journal.kept.records("r1");
    let error_of = |tool, input| error(run(tool, &journal, input));
    for error in [error_of(noted(writes("a"), &log), json!({ "x": 2 })), error_of(noted(writes("b"), &log), json!({ "x": 1 }))] {
        assert_eq!((error.code(), error.effect_state()), ("diverged", EffectState::NotStarted), "{error}");
    }
    assert_eq!((log.all(), journal.kept.records("r1")), (vec!["ran a".to_owned()], before));
}

#[test]
fn t9_8_a_dropped_call_is_told_at_once_and_is_in_doubt_when_it_may_not_run_twice() {
    for (builder, outcome) in
        [(writes("a"), "in_doubt"), (reads("a"), "ok"), (writes("a").effect(toolwright::Effect::write_idempotent()), "ok")]
    {
        let log = Notes::default();
        let journal = Watched::noting(&log);
        let tool = noted(builder, &log);
        let catalog = catalog([tool.clone()]);
        let request = Invocation::new("a", json!({})).run_id("r1").journal(Arc::new(journal.clone()));
        let mut call = ByHand::new(catalog.invoke(request, cx()));
        assert!(call.poll().is_none());
        assert_eq!(log.take(), ["open", "begin a"]);
        drop(call);
        assert_eq!(log.take(), ["abandoned a"]);
        let again = run(tool, &journal, json!({}));
        assert_eq!(again.as_ref().map_or_else(|error| error.code(), |_| "ok"), outcome);
        assert_eq!(log.all().contains(&"ran a".into()), outcome == "ok");
        if let Err(error) = again {
            assert_eq!((error.effect_state(), error.retry()), (EffectState::Unknown, Retry::AfterReconcile));
            assert_eq!(journal.kept.unfinished_now(), ["r1"]);
        }
    }
}

trait Unfinished {
    fn unfinished_now(&self) -> Vec<String>;
}

impl Unfinished for toolwright::MemoryJournal {
    fn unfinished_now(&self) -> Vec<String> {
        let runs = block_on(toolwright::Journal::unfinished(self).get()).unwrap();
        runs.iter().map(ToString::to_string).collect()
    }
}

#[test]
fn a_journal_that_breaks_down_is_one_that_says_no() {
    for (at, ran) in [("open", false), ("begin a", false), ("finish a", true), ("end", true)] {
        let log = Notes::default();
        let journal = Watched::noting(&log);
        journal.panic_at(at);
        let error = error(run(noted(writes("a"), &log), &journal, json!({})));
        assert_eq!(error.code(), "journal", "{at}: {error}");
        assert_eq!((log.all().contains(&"ran a".into()), error.effect_state() == EffectState::Happened), (ran, ran), "{at}");
        if ran {
            assert_eq!(error.effects().len(), 1, "{at}: what happened is told");
        }
    }
}

#[test]
fn a_journal_that_breaks_down_when_a_call_is_dropped_breaks_nothing_else() {
    let journal = Watched::default();
    journal.panic_at("abandoned a");
    let catalog = catalog([noted(writes("a"), &Notes::default())]);
    let mut call = ByHand::new(catalog.invoke(Invocation::new("a", json!({})).journal(Arc::new(journal.clone())), cx()));
    assert!(call.poll().is_none());
    drop(call);
}

#[test]
fn nested_calls_made_in_another_order_do_not_repeat_an_effect() {
    let (log, journal) = (Notes::default(), Watched::default());
    let make = |order: &'static [&'static str], fails: bool| {
        let outer = App::tool("outer", "Calls others").effect(toolwright::Effect::write_idempotent()).run_json(
            move |input: Value, call| async move {
                for tool in order {
                    call.invoke(tool, json!({})).await?;
                }
                if fails { Err(ToolError::new("later")) } else { Ok(input) }
            },
        );
        catalog([noted(writes("mail"), &log), noted(reads("look"), &log), outer])
    };
    let request = || Invocation::new("outer", json!({})).run_id("r1").journal(Arc::new(journal.clone()));
    error(block_on(make(&["look", "mail"], true).invoke(request(), cx())));
    assert_eq!(log.take(), ["ran look", "ran mail"]);
    // The tool decides otherwise the second time, and its mail would be its first call.
    let error = error(block_on(make(&["mail", "look"], false).invoke(request(), cx())));
    assert!(error.to_string().contains("began this call with another tool"), "{error}");
    assert_eq!(log.take(), [""; 0]);
    // As it was, it goes on.
    block_on(make(&["look", "mail"], false).invoke(request(), cx())).unwrap();
    assert_eq!(log.take(), [""; 0]);
}

#[test]
fn a_key_that_a_tool_gives_is_never_the_place_of_another_call() {
    let (log, journal) = (Notes::default(), Watched::default());
    let outer = App::tool("outer", "Calls others").writes().run_json(|input: Value, call| async move {
        call.invoke("mail", json!({})).await?;
        for key in ["0", "1", "\"1\"", "a", "a/0:b", "", "%22"] {
            call.invoke_keyed(key, "mail", json!({})).await?;
        }
        // The same key is the same call.
        let again = call.invoke_keyed("a", "mail", json!({})).await?;
        assert!(again.replayed());
        Ok(input)
    });
    let catalog = catalog([noted(writes("mail"), &log), outer]);
    block_on(catalog.invoke(Invocation::new("outer", json!({})).run_id("r1").journal(Arc::new(journal.clone())), cx())).unwrap();
    let mut paths: Vec<String> = journal.begins("r1").iter().map(|begin| begin.key.path()).collect();
    assert!(paths.contains(&"outer/mail~0".into()) && paths.contains(&"outer/mail~a".into()), "{paths:?}");
    assert!(paths.iter().all(|path| path.matches('/').count() <= 1), "{paths:?}");
    let all = paths.len();
    paths.sort();
    paths.dedup();
    assert_eq!((paths.len(), all, log.all().len()), (9, 9, 8));
}

#[test]
fn a_call_inside_a_tool_that_is_in_doubt_leaves_the_whole_run_in_doubt() {
    let (log, journal) = (Notes::default(), Watched::default());
    let outer =
        App::tool("outer", "Calls another").effect(toolwright::Effect::write_idempotent()).run_json(|input: Value, call| async move {
            call.invoke("mail", json!({})).await?;
            Ok(input)
        });
    let catalog = catalog([noted(writes("mail"), &log), outer]);
    let request = || Invocation::new("outer", json!({})).run_id("r1").journal(Arc::new(journal.clone()));
    let mut call = ByHand::new(catalog.invoke(request(), cx()));
    assert!(call.poll().is_none());
    drop(call);
    for _ in 0..2 {
        let error = error(block_on(catalog.invoke(request(), cx())));
        assert_eq!((error.code(), error.effect_state(), error.retry()), ("in_doubt", EffectState::Unknown, Retry::AfterReconcile));
        assert!(error.help().unwrap().contains("r1"));
        assert_eq!(journal.kept.unfinished_now(), ["r1"]);
    }
    assert!(log.all().is_empty());
}

#[test]
fn a_failure_that_cannot_be_written_leaves_the_run_open() {
    let journal = Watched::default();
    journal.refuse("finish a");
    let fails = || writes("a").run_json(|_, _| async move { Err::<Value, _>(ToolError::new("enough").code("quota")) });
    // What the tool said is what the caller hears.
    assert_eq!(error(run(fails(), &journal, json!({}))).code(), "quota");
    assert_eq!(journal.kept.unfinished_now(), ["r1"]);
    journal.obey();
    // Nobody wrote down that it answered: it may have been cut off in the middle.
    assert_eq!(error(run(fails(), &journal, json!({}))).code(), "in_doubt");
    assert_eq!(journal.kept.unfinished_now(), ["r1"]);
}

#[test]
fn a_call_that_is_cancelled_while_its_intent_is_written_does_not_start() {
    for builder in [writes("a"), reads("a")] {
        let (log, source) = (Notes::default(), toolwright::CancelSource::new());
        let journal = Watched::noting(&log);
        journal.cancel_at("begin a", &source);
        let catalog = catalog([noted(builder, &log)]);
        let request = || Invocation::new("a", json!({})).run_id("r1").journal(Arc::new(journal.clone()));
        let cancelled = error(block_on(catalog.invoke(request().cancel(source.token()), cx())));
        assert_eq!((cancelled.code(), cancelled.effect_state(), cancelled.retry()), ("cancelled", EffectState::NotStarted, Retry::Safe));
        assert_eq!(log.take(), ["open", "begin a", "finish a", "end"]);
        let told: Vec<_> = catalog.events().iter().map(|event| event.what).collect();
        assert_eq!(told, [toolwright::diagnostics::EventKind::Cancelled]);
        // It is known that nothing happened, so it may run.
        block_on(catalog.invoke(request(), cx())).unwrap();
        assert_eq!(log.take(), ["open", "begin a", "ran a", "finish a", "end"]);
    }
}

//! What a request may say, and what comes back.

use std::sync::{Arc, Mutex};

use toolwright::diagnostics::CallKey;
use toolwright::{
    CallRecord, CancelSource, CancelToken, Effect, EffectRecord, Invocation, Recorder, Runtime, ToolDef, ToolError, Value, json,
};

use super::fixture::{ByHand, Watched, pause};
use crate::lifecycle_fixture::{App, Close, Notes, Own, block_on, catalog, cx, echo, error, reads};
use crate::world::{Events, TestClock};

fn invoke(tool: ToolDef<App>, request: Invocation) -> Result<toolwright::ToolResult, toolwright::CallError> {
    block_on(catalog([tool]).invoke(request, cx()))
}

#[test]
fn t7_1_an_unknown_tool_is_unavailable() {
    assert_eq!(error(invoke(echo("a"), Invocation::new("b", json!({})))).code(), "unavailable");
}

#[test]
fn t7_2_a_delegate_is_no_tool() {
    let log = Notes::default();
    let outcome = invoke(reads("mail").delegate("notify").notes(&log), Invocation::new("notify", json!({})));
    assert_eq!((error(outcome).code(), log.all().len()), ("unavailable", 0));
}

#[test]
fn t7_3_null_is_no_arguments() {
    let typed = reads("a").input_schema(json!({ "type": "object", "properties": { "x": { "type": "integer" } } }));
    assert_eq!(invoke(typed.echoes(), Invocation::new("a", Value::Null)).unwrap().value(), &json!({}));
    assert_eq!(invoke(echo("a"), Invocation::new("a", Value::Null)).unwrap().value(), &json!({}));
    let needs = reads("a").input_schema(json!({ "type": "object", "required": ["x"] })).echoes();
    assert_eq!(error(invoke(needs, Invocation::new("a", Value::Null))).code(), "invalid_input");
}

#[test]
fn t7_4_the_tool_gets_the_value_and_not_its_text() {
    let input = json!({ "n": 1, "list": [true, null, { "deep": 0.5 }], "text": "{\"n\":2}" });
    assert_eq!(invoke(echo("a"), Invocation::new("a", input.clone())).unwrap().value(), &input);
}

/// A tool with effects that calls `inner`, notes how that ended, and goes on.
fn caller(log: &Notes, of_inner: CancelToken, own: &Own) -> ToolDef<App> {
    let (log, own) = (log.clone(), own.clone());
    App::tool("outer", "Calls another").writes().run_json(move |input: Value, call| {
        let (log, of_inner, catalog) = (log.clone(), of_inner.clone(), own.get().clone());
        async move {
            let inner = catalog.invoke(Invocation::new("inner", json!({})).cancel(of_inner), cx()).await;
            log.note(format!("inner {}", inner.map_or_else(|error| error.code().to_owned(), |_| "ok".into())));
            log.note(format!("outer cancelled: {}", call.cancel().is_cancelled()));
            Ok(input)
        }
    })
}

fn waiting(id: &str) -> ToolDef<App> {
    reads(id).run_json(|_, _| std::future::pending::<Result<Value, ToolError>>())
}

#[test]
fn t7_5_a_call_lives_no_longer_than_what_is_around_it() {
    let (log, own, source) = (Notes::default(), Own::default(), CancelSource::new());
    let catalog = catalog([waiting("inner"), caller(&log, CancelToken::never(), &own)]);
    own.set(&catalog);
    let mut call = ByHand::new(catalog.invoke(Invocation::new("outer", json!({})).cancel(source.token()), cx()));
    assert!(call.poll().is_none() && log.all().is_empty());
    source.cancel();
    // The outer tool has effects: it is told, and answers.
    assert!(call.poll().unwrap().is_ok());
    assert_eq!(log.all(), ["inner cancelled", "outer cancelled: true"]);
}

#[test]
fn t7_6_cancelling_the_inner_call_ends_only_that() {
    let (log, own, source) = (Notes::default(), Own::default(), CancelSource::new());
    let catalog = catalog([waiting("inner"), caller(&log, source.token(), &own)]);
    own.set(&catalog);
    let mut call = ByHand::new(catalog.invoke(Invocation::new("outer", json!({})), cx()));
    assert!(call.poll().is_none() && log.all().is_empty());
    source.cancel();
    assert!(call.poll().unwrap().is_ok());
    assert_eq!(log.all(), ["inner cancelled", "outer cancelled: false"]);
}

fn nesting(own: &Own) -> ToolDef<App> {
    let own = own.clone();
    reads("outer").run_json(move |input: Value, call| {
        let catalog = own.get().clone();
        async move {
            pause().await;
            catalog.invoke(Invocation::new("inner", json!({})), cx()).await?;
            call.invoke("inner", json!({})).await?;
            Ok(input)
        }
    })
}

#[test]
fn t7_7_the_requests_log_gets_the_facts_and_the_catalogues_none() {
    let catalog = catalog([echo("a")]);
    let (own, default) = (Events::default(), Events::default());
    catalog.set_diagnostics(Some(default.scope()));
    block_on(catalog.invoke(Invocation::new("a", json!({})).diagnostics(own.scope()), cx())).unwrap();
    assert_eq!((own.all().len(), default.all().len()), (2, 0));
}

#[test]
fn t7_8_nested_calls_inherit_the_log() {
    let handle = Own::default();
    let catalog = catalog([echo("inner"), nesting(&handle)]);
    handle.set(&catalog);
    let (own, default) = (Events::default(), Events::default());
    catalog.set_diagnostics(Some(default.scope()));
    block_on(catalog.invoke(Invocation::new("outer", json!({})).diagnostics(own.scope()), cx())).unwrap();
    assert_eq!((own.all().len(), default.all().len()), (6, 0));
}

#[derive(Default)]
struct Notebook(Mutex<Vec<(String, Value)>>);

impl Recorder for Notebook {
    fn record(&self, label: &str, data: Value) {
        self.0.lock().unwrap().push((label.to_owned(), data));
    }
}

#[test]
fn t7_9_the_requests_recorder_is_there_for_the_tool_and_those_it_calls() {
    let inner = reads("inner").run_json(|input: Value, call| {
        call.logger().unwrap().record("inner", input.clone());
        async move { Ok(input) }
    });
    let outer = reads("outer").run_json(|input: Value, call| async move {
        call.invoke("inner", json!({ "from": "outer" })).await?;
        call.logger().unwrap().record("outer", input.clone());
        Ok(input)
    });
    let catalog = catalog([inner, outer]);
    let notebook = Arc::new(Notebook::default());
    block_on(catalog.invoke(Invocation::new("outer", json!({})).logger(notebook.clone()), cx())).unwrap();
    let notes = notebook.0.lock().unwrap().clone();
    assert_eq!(notes, [("inner".to_owned(), json!({ "from": "outer" })), ("outer".to_owned(), json!({}))]);
}

#[test]
fn t7_10_nothing_writes_to_the_recorder_by_itself() {
    let notebook = Arc::new(Notebook::default());
    invoke(echo("a"), Invocation::new("a", json!({})).logger(notebook.clone())).unwrap();
    let fails = reads("a").run_json(|_, _| async move { Err::<Value, _>(ToolError::new("no")) });
    error(invoke(fails, Invocation::new("a", json!({})).logger(notebook.clone())));
    assert!(notebook.0.lock().unwrap().is_empty());
}

#[test]
fn t7_11_a_run_begun_inside_a_tool_is_a_run_of_its_own_and_still_inside() {
    let (own, log, source) = (Own::default(), Notes::default(), CancelSource::new());
    let (kept, mine, of_tool) = (Watched::default(), Watched::default(), own.clone());
    let inner_journal = mine.clone();
    let outer = App::tool("outer", "Begins a run").writes().run_json(move |input: Value, _| {
        let (catalog, journal) = (of_tool.get().clone(), inner_journal.clone());
        async move {
            let request = Invocation::new("inner", json!({})).run_id("own").journal(Arc::new(journal));
            let error = catalog.invoke(request, cx()).await.unwrap_err();
            assert_eq!(error.code(), "cancelled");
            Ok(input)
        }
    });
    let seen = log.clone();
    let inner = reads("inner").run_json(move |_, call| {
        seen.note(format!("{:?} {} {}", call.lineage(), call.depth(), call.idempotency_key()));
        std::future::pending::<Result<Value, ToolError>>()
    });
    let catalog = catalog([inner, outer]);
    own.set(&catalog);
    let request = Invocation::new("outer", json!({})).run_id("around").journal(Arc::new(kept.clone())).cancel(source.token());
    let mut call = ByHand::new(catalog.invoke(request, cx()));
    assert!(call.poll().is_none());
    source.cancel();
    assert!(call.poll().unwrap().is_ok());
    assert_eq!(log.all(), [r#"["outer"] 0 own/inner"#]);
    assert_eq!(kept.log.all(), ["open", "begin outer", "finish outer", "end"]);
    assert_eq!(mine.log.all(), ["open", "begin inner", "finish inner", "end"]);
}

#[test]
fn a_dry_run_begun_inside_a_tool_has_no_effect() {
    let (own, log) = (Own::default(), Notes::default());
    let of_tool = own.clone();
    // A tool that tries out what it has made, as one that forges does.
    let tries = reads("tries").run_json(move |input: Value, _| {
        let catalog = of_tool.get().clone();
        async move {
            let outputs = toolwright::StepOutputs::new().with("mail", json!("as if sent"));
            let dry = catalog.invoke(Invocation::new("mail", json!({})).dry(outputs), cx()).await?;
            assert_eq!((dry.value(), dry.would_run().count()), (&json!("as if sent"), 1));
            let missing = catalog.invoke(Invocation::new("mail", json!({})).dry(toolwright::StepOutputs::new()), cx()).await;
            assert_eq!(missing.unwrap_err().code(), "dry_run_needs_output");
            Ok(input)
        }
    });
    let mail = App::tool("mail", "Sends").writes().notes(&log);
    let catalog = catalog([mail, tries]);
    own.set(&catalog);
    let journal = Watched::default();
    block_on(catalog.invoke(Invocation::new("tries", json!({})).journal(Arc::new(journal.clone())), cx())).unwrap();
    assert!(log.all().is_empty());
    assert_eq!(journal.log.all(), ["open", "begin tries", "finish tries", "end"]);
}

#[test]
fn a_real_call_inside_a_dry_run_stays_dry() {
    let (own, log) = (Own::default(), Notes::default());
    let of_tool = own.clone();
    let reads_only = App::tool("outer", "Says that it reads").reads().run_json(move |input: Value, _| {
        let catalog = of_tool.get().clone();
        async move {
            for request in [Invocation::new("mail", json!({})), Invocation::new("mail", json!({})).run_id("own")] {
                catalog.invoke(request, cx()).await.unwrap_err();
            }
            Ok(input)
        }
    });
    let mail = App::tool("mail", "Sends").writes().notes(&log);
    let catalog = catalog([mail, reads_only]);
    own.set(&catalog);
    block_on(catalog.invoke(Invocation::new("outer", json!({})).dry(toolwright::StepOutputs::new()), cx())).unwrap();
    assert!(log.all().is_empty());
}

#[test]
fn t7_12_the_value_is_what_the_tool_gave() {
    let value = json!([1, { "a": null }, "x"]);
    let gives = value.clone();
    let tool = reads("a").run_json(move |_, _| std::future::ready(Ok(gives.clone())));
    assert_eq!(invoke(tool, Invocation::new("a", json!({}))).unwrap().value(), &value);
    let empty = reads("a").run_json(|_, _| async move { Ok(toolwright::Answer::empty()) });
    let result = invoke(empty, Invocation::new("a", json!({}))).unwrap();
    assert_eq!((result.value(), &result.output), (&Value::Null, &None));
}

#[test]
fn t7_13_parsing_another_type_is_an_error() {
    let result = invoke(echo("a"), Invocation::new("a", json!({ "n": 7 }))).unwrap();
    assert_eq!(result.parse::<std::collections::BTreeMap<String, u8>>().unwrap()["n"], 7);
    assert!(result.parse::<u8>().is_err() && result.parse::<Vec<String>>().is_err());
}

#[test]
fn t7_14_the_record_names_tool_and_effect_and_lists_what_calls_inside_did() {
    let send = |id: &'static str| App::tool(id, "Sends").writes().echoes();
    let outer = App::tool("outer", "Sends twice").effect(Effect::new("deploy", toolwright::Impact::Once)).run_json(
        |input: Value, call| async move {
            for tool in ["mail", "look", "post"] {
                call.invoke(tool, json!({})).await?;
            }
            Ok(input)
        },
    );
    let catalog = catalog([send("mail"), send("post"), echo("look"), outer]);
    let record = block_on(catalog.invoke(Invocation::new("outer", json!({})), cx())).unwrap().record();
    assert_eq!((record.tool.as_str(), &record.effect), ("outer", &Some(Effect::new("deploy", toolwright::Impact::Once))));
    let ran: Vec<_> =
        record.effects.iter().map(|effect| if let EffectRecord::Ran(step) = effect { step.tool.as_str() } else { "?" }).collect();
    assert_eq!(ran, ["mail", "post", "outer"]);
}

#[test]
fn t7_15_a_record_reads_back_from_its_json() {
    let clock = Arc::new(TestClock::default());
    let catalog = catalog([App::tool("mail", "Sends").writes().echoes()]);
    let request = Invocation::new("mail", json!({})).run_id("r1").clock(clock).diagnostics(Events::default().scope());
    let record = block_on(catalog.invoke(request, cx())).unwrap().record();
    assert_eq!((record.key.clone(), record.replayed), (CallKey { run: "r1".into(), path: "mail".into() }, false));
    assert!(record.started.is_some() && record.duration.is_some() && record.span.as_deref() == Some("mail"));
    let written = serde_json::to_string(&record).unwrap();
    assert_eq!(serde_json::from_str::<CallRecord>(&written).unwrap(), record);
}

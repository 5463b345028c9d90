//! What a tool takes, what it gives, and what runs in between.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use toolwright::{
    CallError, EffectState, EventName, Fault, Invocation, Options, RegisterFault, Registry, Runtime, ToolDef, Value, current_frame, json,
};

use crate::lifecycle_fixture::{App, Close, Notes, block_on, catalog, cx, error, reads};
use crate::world::Events;

fn open() -> Registry<App> {
    Registry::with_options(Options::new()).unwrap()
}

/// Runs the only tool of a catalogue.
fn invoke(tool: &ToolDef<App>, input: Value) -> Result<Value, CallError> {
    block_on(catalog([tool.clone()]).invoke(Invocation::new(tool.name().to_owned(), input), cx())).map(|result| result.value().clone())
}

/// The pointers of what does not fit, sorted.
fn pointers(error: &CallError) -> Vec<String> {
    let (Fault::InvalidInput { issues, .. } | Fault::InvalidOutput { issues, .. }) = error.fault() else { panic!("{error:?}") };
    let mut pointers: Vec<String> = issues.iter().map(|issue| issue.pointer.clone()).collect();
    pointers.sort_unstable();
    pointers
}

#[test]
fn t4_9_1_an_input_schema_must_be_one_and_take_objects() {
    let mut registry = open();
    for schema in [
        json!({ "type": "string" }),
        json!({ "type": ["string", "null"] }),
        json!(false),
        json!({ "type": "object", "properties": { "a": { "type": "objekt" } } }),
        // Nothing is ever fetched.
        json!({ "type": "object", "properties": { "a": { "$ref": "https://example.com/schema.json" } } }),
    ] {
        let error = registry.register(reads("a").input_schema(schema.clone()).echoes()).map(drop).unwrap_err();
        assert!(matches!(error.fault(), RegisterFault::InputSchema { why } if !why.message.is_empty()), "{schema}: {error:?}");
        assert_eq!((error.code(), registry.len()), ("invalid_schema", 0), "{schema}");
    }
    registry.register(reads("a").input_schema(json!({ "type": "object" })).echoes()).unwrap();
}

#[derive(Deserialize, JsonSchema)]
struct Tagged {
    #[schemars(range(min = 1, max = 9))]
    n: u8,
    tag: Option<String>,
}

#[derive(Serialize, JsonSchema)]
struct Said {
    n: u8,
    tag: String,
}

fn typed(log: &Notes) -> ToolDef<App> {
    let (asked, ran) = (log.clone(), log.clone());
    reads("typed")
        .authorize(move |_| {
            asked.note("authorize");
            Ok(())
        })
        .run_sync(move |input: Tagged, _| {
            ran.note("ran");
            Ok(Said { n: input.n, tag: input.tag.unwrap_or_default() })
        })
}

#[test]
fn t4_9_2_the_schema_of_a_typed_input_names_every_problem() {
    let log = Notes::default();
    let tool = typed(&log);
    let wrong = invoke(&tool, json!({ "n": 0, "tag": 4 })).unwrap_err();
    assert_eq!((wrong.code(), pointers(&wrong)), ("invalid_input", vec!["/n".to_owned(), "/tag".to_owned()]));
    for input in [json!([3, null]), json!("3"), json!({}), json!({ "n": 10 }), Value::Null] {
        let refused = invoke(&tool, input.clone()).unwrap_err();
        assert_eq!((refused.code(), refused.effect_state()), ("invalid_input", EffectState::NotStarted), "{input}");
    }
    assert_eq!(log.all(), [""; 0]);
    assert_eq!(invoke(&tool, json!({ "n": 9, "tag": null })).unwrap(), json!({ "n": 9, "tag": "" }));
    assert_eq!(log.all(), ["authorize", "ran"]);
}

#[test]
fn t4_9_3_input_is_checked_before_anybody_authorizes() {
    let log = Notes::default();
    assert_eq!(invoke(&typed(&log), json!({ "n": 0 })).unwrap_err().code(), "invalid_input");
    assert_eq!(log.all(), [""; 0]);
    // Also where there is no schema: what is no object is no input.
    let asked = log.clone();
    let open = reads("open").authorize(move |_| Err(toolwright::Refusal::new(asked.all().len().to_string(), "no"))).notes(&log);
    assert_eq!(invoke(&open, json!([1])).unwrap_err().code(), "invalid_input");
    assert_eq!(invoke(&open, Value::Null).unwrap_err().code(), "denied", "nothing is an empty object");
    assert_eq!(log.all(), [""; 0]);
}

#[test]
fn t4_10_1_an_output_that_does_not_fit_is_told_with_the_value_and_its_effect() {
    let schema = json!({ "type": "object", "properties": { "x": { "type": "integer" } }, "required": ["x"] });
    let gives = |tool: toolwright::ToolBuilder<App>| tool.output_schema(schema.clone()).run_json(|_, _| async move { Ok(json!({})) });
    for (tool, state) in [(gives(App::tool("w", "Writes").writes()), EffectState::Happened), (gives(reads("r")), EffectState::NoEffect)] {
        let wrong = invoke(&tool, json!({})).unwrap_err();
        assert_eq!((wrong.code(), wrong.effect_state(), pointers(&wrong)), ("invalid_output", state, vec!["/x".to_owned()]));
        assert!(matches!(wrong.fault(), Fault::InvalidOutput { value: Some(value), .. } if *value == json!({})));
        assert!(!wrong.is_refusal(), "its tool ran");
    }
}

#[test]
fn t4_10_2_without_an_output_schema_every_output_passes_unchanged() {
    for output in [json!(null), json!([1, 2.50, "x"]), json!({ "b": 1, "a": { "": [] } }), json!("text"), json!(true)] {
        let gives = output.clone();
        let tool = reads("a").run_json(move |_, _| std::future::ready(Ok(gives.clone())));
        assert_eq!(invoke(&tool, json!({})).unwrap().to_json_string(), output.to_json_string());
    }
}

#[test]
fn t4_11_1_a_handler_that_panics_ends_no_more_than_its_call() {
    let later = App::tool("later", "Panics")
        .writes()
        .run_json(|_, call| async move { if call.tool() == "later" { panic!("boom {}", 1) } else { Ok(json!(0)) } });
    let at_once = reads("at_once").run_json(|_, call| {
        if call.tool() == "at_once" {
            panic!("boom")
        }
        async move { Ok(json!(0)) }
    });
    let catalog = catalog([later, at_once, reads("a").echoes()]);
    for (id, text, state) in [("later", "boom 1", EffectState::Unknown), ("at_once", "boom", EffectState::NoEffect)] {
        let broke = error(block_on(catalog.invoke(Invocation::new(id, json!({})), cx())));
        assert!(matches!(broke.fault(), Fault::Panicked { tool, message, .. } if tool == id && message == text), "{broke:?}");
        assert_eq!((broke.code(), broke.effect_state()), ("panicked", state));
        assert!(current_frame().is_none());
        block_on(catalog.invoke(Invocation::new("a", json!({})), cx())).unwrap();
    }
}

#[test]
fn t4_11_2_a_declaration_without_a_body_is_refused() {
    let mut registry = open();
    let error = registry.register(reads("a")).map(drop).unwrap_err();
    assert_eq!((error.fault(), error.tool(), registry.len()), (&RegisterFault::NoHandler, "a", 0));
}

/// A tool that notes steps of its own work, and how often their values were made.
fn noting(debug: Option<bool>) -> (ToolDef<App>, Arc<AtomicUsize>) {
    let made = Arc::new(AtomicUsize::new(0));
    let count = made.clone();
    let tool = reads("a");
    let tool = debug.into_iter().fold(tool, |tool, on| tool.debug_steps(on));
    let tool = tool.run_json(move |input, call| {
        call.note_step("parsed", || {
            count.fetch_add(1, Ordering::Relaxed);
            json!({ "rows": 3 })
        });
        async move { Ok(input) }
    });
    (tool, made)
}

#[test]
fn t4_14_1_steps_of_a_tool_that_debugs_them_are_facts() {
    let (tool, made) = noting(Some(true));
    let events = Events::default();
    block_on(catalog([tool]).invoke(Invocation::new("a", json!({})).diagnostics(events.scope()), cx())).unwrap();
    let facts: Vec<_> = events.all().into_iter().filter(|fact| fact.event == EventName::DebugStep).collect();
    assert_eq!((facts.len(), made.load(Ordering::Relaxed)), (1, 1));
    assert_eq!(facts[0].payload, json!({ "path": "a", "label": "parsed", "value": { "rows": 3 } }));
}

#[test]
fn t4_14_2_steps_of_any_other_tool_are_not_even_made() {
    for debug in [None, Some(false)] {
        let (tool, made) = noting(debug);
        let events = Events::default();
        block_on(catalog([tool]).invoke(Invocation::new("a", json!({})).diagnostics(events.scope()), cx())).unwrap();
        assert!(events.all().iter().all(|fact| fact.event != EventName::DebugStep));
        assert_eq!(made.load(Ordering::Relaxed), 0);
    }
    // Nor are they when nobody listens.
    let (tool, made) = noting(Some(true));
    invoke(&tool, json!({})).unwrap();
    assert_eq!(made.load(Ordering::Relaxed), 0);
}

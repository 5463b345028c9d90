//! A model's raw arguments, before anything runs.

use std::sync::Arc;

use toolwright::{Journal, Limits, MemoryJournal, Options, Policy, Refusal, json};

use crate::lifecycle_fixture::{App, AppCx, Close, Notes, by, catalog, catalog_with, cx, cx_with, echo, error, nobody, reads, said};

fn schema() -> toolwright::Value {
    json!({ "type": "object", "properties": { "n": { "type": "integer" } }, "required": ["n"] })
}

#[test]
fn t4_12_1_a_refusal_rejects_the_selection_and_nothing_runs() {
    let log = Notes::default();
    let tool = reads("count").input_schema(schema()).authorize(|_| panic!("a selection is no call")).resolve(|input, cx| {
        match input.get("n").and_then(toolwright::Value::as_i64) {
            Some(n) if n < 0 => Err(Refusal::new("negative", "count upwards")),
            n => Ok(json!({ "n": n.unwrap_or_default() * 2, "tag": cx.tag.as_str() })),
        }
    });
    let journal = MemoryJournal::new();
    let options = Options::new().journal(|cx: &AppCx| cx.journal.clone().map(|journal| Arc::new(journal) as Arc<dyn Journal>));
    let (cx, catalog) = (cx_with(|cx| cx.journal = Some(journal.clone())), catalog_with(options, [tool.notes(&log)]));
    assert_eq!(said(catalog.select("count", json!({ "n": -1 }), &cx)), by("selection_rejected", "count", "negative"));
    assert_eq!(catalog.select("count", json!({ "n": 2 }), &cx).unwrap(), json!({ "n": 4, "tag": "test" }));
    assert_eq!(log.all(), [""; 0]);
    assert!(catalog.events().is_empty() && journal.runs().is_empty());
}

#[test]
fn t4_12_2_without_a_hook_valid_arguments_come_back_and_others_do_not() {
    let catalog = catalog([reads("count").input_schema(schema()).echoes(), echo("any")]);
    assert_eq!(catalog.select("count", json!({ "n": 1 }), &cx()).unwrap(), json!({ "n": 1 }));
    assert_eq!(error(catalog.select("count", json!({ "n": "one" }), &cx())).code(), "invalid_input");
    assert_eq!(error(catalog.select("count", json!(null), &cx())).code(), "invalid_input");
    assert_eq!(catalog.select("any", json!(null), &cx()).unwrap(), json!({}));
    assert_eq!(error(catalog.select("any", json!([1]), &cx())).code(), "invalid_input");
}

#[test]
fn a_selection_looks_for_the_tool_then_at_its_availability_then_at_the_arguments() {
    let options = Options::<App>::new().policy(Policy::new().limits(Limits::default().value_bytes(10)));
    let tool = reads("count").delegate("number").available(|cx| cx.can_read).input_schema(schema());
    let catalog = catalog_with(options, [tool.resolve(|_, _| -> toolwright::Value { panic!("lost") }).echoes()]);
    assert_eq!(said(catalog.select("ghost", json!({}), &nobody())), by("unavailable", "ghost", ""));
    assert_eq!(said(catalog.select("number", json!({}), &nobody())), by("unavailable", "number", ""));
    assert_eq!(said(catalog.select("count", json!({}), &nobody())), by("forbidden", "count", ""));
    assert_eq!(error(catalog.select("count", json!({ "n": 1, "more": "than ten" }), &cx())).code(), "value_too_large");
    assert_eq!(said(catalog.select("count", json!({ "n": 1 }), &cx())), by("selection_rejected", "count", "hook_panicked"));
}

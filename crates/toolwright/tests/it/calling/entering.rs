//! A call comes in: by a tool's id, in the order of its stages, heard of also when there is no such tool.

use std::sync::Arc;

use toolwright::diagnostics::EventKind;
use toolwright::{Invocation, Options, Refusal, Runtime, json, tool};

use super::fixture::Watched;
use crate::lifecycle_fixture::{App, AppCx, Notes, block_on, catalog, catalog_with, cx, cx_with, d, echo, reads};
use crate::world::Events;

#[test]
fn t6_4_1_a_tool_is_invoked_by_its_id() {
    let source = tool("read-source", "Reads the source").reads().run_json(|_, _| async move { Ok(json!("fn main() {}")) });
    let catalog = toolwright::Registry::new().with(source).unwrap().seal();
    let result = block_on(catalog.invoke(Invocation::new("read-source", json!({})), ())).unwrap();
    assert_eq!(result.value(), &json!("fn main() {}"));
    assert_eq!(result.record().tool, "read-source");
}

#[test]
fn t6_4_3_the_work_of_a_call_has_one_order() {
    let log = Notes::default();
    let journal = Watched::noting(&log);
    let (to_checkpoint, to_receipt, kept) = (log.clone(), log.clone(), journal.clone());
    let options = Options::<App>::new()
        .journal(move |_| Some(Arc::new(kept.clone())))
        .checkpoint(move |_| {
            to_checkpoint.note("checkpoint");
            json!({})
        })
        .receipt(move |_, _| {
            to_receipt.note("receipt");
            Ok(json!({}))
        });
    let send = App::tool("send", "Sends")
        .writes()
        .input_schema(json!({ "type": "object", "required": ["to"] }))
        .available(|cx: &AppCx| {
            cx.log.note("available");
            true
        })
        .authorize(|access| {
            access.context.log.note("authorize");
            Ok(())
        })
        .run_json(|input, call| async move {
            call.context().log.note("send");
            Ok(input)
        });
    let catalog = catalog_with(options, [send]);
    let cx = cx_with(|cx| cx.log = log.clone());
    let invoke = |input| block_on(catalog.invoke(Invocation::new("send", input), cx.clone()));
    assert_eq!(invoke(json!({ "no": 1 })).unwrap_err().code(), "invalid_input");
    assert_eq!(log.take(), ["available"]);
    invoke(json!({ "to": "ann" })).unwrap();
    let order = ["available", "authorize", "open", "checkpoint", "begin send", "send", "receipt", "finish send", "end"];
    assert_eq!(log.take(), order);
}

#[test]
fn a_call_of_nothing_is_told_as_refused() {
    let catalog = catalog([echo("a")]);
    let events = Events::default();
    catalog.set_diagnostics(Some(events.scope()));
    assert_eq!(block_on(catalog.invoke(Invocation::new("ghost", json!({})).run_id("r1"), cx())).unwrap_err().code(), "unavailable");
    assert_eq!(block_on(catalog.call(&d("nobody"), cx())).unwrap_err().code(), "unavailable_invocation");
    let told: Vec<_> = catalog.events().iter().map(|event| (event.tool.to_string(), event.what, event.code.clone().unwrap())).collect();
    let refused = |tool: &str, code: &str| (tool.to_owned(), EventKind::Refused, code.into());
    assert_eq!(told, [refused("ghost", "unavailable"), refused("nobody", "unavailable_invocation")]);
    assert_eq!(catalog.events()[0].key.run, "r1");
    assert_eq!(events.all().len(), 2);
}

#[test]
fn a_call_of_nothing_from_inside_a_tool_is_told_in_its_run() {
    let outer = reads("outer").run_json(|input, call| async move {
        assert_eq!(call.invoke("ghost", json!({})).await.unwrap_err().code(), "unavailable");
        Ok(input)
    });
    let catalog = catalog([outer]);
    let events = Events::default();
    let request = Invocation::new("outer", json!({})).run_id("r1").diagnostics(events.scope());
    block_on(catalog.invoke(request, cx())).unwrap();
    let event = catalog.events().into_iter().find(|event| event.what == EventKind::Refused).unwrap();
    assert_eq!((event.tool.as_str(), event.key.run.as_str()), ("ghost", "r1"));
    let refused = events.all().into_iter().find(|fact| fact.payload.get("tool") == Some(&json!("ghost"))).unwrap();
    assert_eq!(refused.identity.run.as_deref(), Some("r1"));
}

#[test]
fn the_hosts_words_for_a_missing_tool_may_break_down() {
    let words = |_: &str| -> Refusal { panic!("no words") };
    let options = Options::<App>::new().on_unavailable(words).on_unavailable_invocation(words).on_forbidden(words);
    let catalog = catalog_with(options, [echo("a"), reads("off").available(|_| false).run_json(|v, _| async move { Ok(v) })]);
    let code = |id: &str| block_on(catalog.invoke(Invocation::new(id, json!({})), cx())).unwrap_err().code().to_owned();
    assert_eq!((code("ghost"), code("off")), ("unavailable".into(), "forbidden".into()));
    assert_eq!(block_on(catalog.call(&d("ghost"), cx())).unwrap_err().code(), "unavailable_invocation");
    assert_eq!(catalog.require("ghost").unwrap_err().code(), "unavailable");
    assert_eq!(catalog.authorize(&d("ghost"), &cx()).unwrap_err().code(), "unavailable_invocation");
}

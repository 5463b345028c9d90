//! Tools that know no type of the application's, in an application that has its own.

use std::sync::Arc;

use toolwright::{Call, Composite, Invocation, MemoryJournal, Policy, Registry, Runtime, json, tool};

use crate::lifecycle_fixture::{App, block_on, cx};

#[test]
fn a_tool_of_a_source_runs_in_an_application_with_types_of_its_own() {
    let key = tool("key", "Gives its key").writes().run_json(|input, call: Call| async move {
        call.progress("half", Some(1.0), Some(2.0));
        Ok(json!({ "key": call.idempotency_key(), "input": input, "lineage": call.lineage() }))
    });
    let mut registry = Registry::<App>::with_policy(Policy::new().may_chain(["key"]));
    registry.register(key.adopted::<App>().unwrap()).unwrap();
    let head = App::tool("twice", "Chains it");
    registry.register(Composite::of(head).step("a", "key", json!({ "x": "$input.x" }))).unwrap();
    let journal = Arc::new(MemoryJournal::new());
    let call = Invocation::new("twice", json!({ "x": 1 })).run_id("r").journal(journal.clone());
    let result = block_on(registry.seal().invoke(call, cx())).unwrap();
    assert_eq!(result.value(), &json!({ "key": "r/twice/0:a", "input": { "x": 1 }, "lineage": ["twice"] }));
    assert_eq!(journal.runs()[0].records().len(), 5);
}

#[test]
fn what_speaks_of_other_types_is_not_adopted() {
    let hooked = tool("hooked", "Has a hook").reads().available(|_| true).run_json(|input, _| async move { Ok(input) });
    assert!(hooked.adopted::<App>().is_none());
}

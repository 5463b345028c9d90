//! A run that is asked for again: what ended is given again, and what failed is tried again where nobody has to be asked.
//! Runs that are killed on the way are in `seam/killing.rs`.

use std::sync::Arc;

use toolwright::{Invocation, MemoryJournal, ToolError, json, tool};

use crate::world::{Log, block_on, catalog, steps};

#[test]
fn a_run_that_ended_is_given_again() {
    let log = Log::new();
    let catalog = catalog([log.writes("send")], &steps(&[("a", "send", json!({"v": "$input.v"}))]));
    let journal = MemoryJournal::new();
    let call = |v: i64| Invocation::new("main", json!({"v": v})).run_id("r1").journal(Arc::new(journal.clone()));
    let first = block_on(catalog.invoke(call(1), ())).unwrap();
    let second = block_on(catalog.invoke(call(1), ())).unwrap();
    assert_eq!((&first.output, &first.effects), (&second.output, &second.effects));
    assert_eq!(log.all().len(), 1);
    let other = block_on(catalog.invoke(call(2), ())).unwrap_err();
    assert!(other.message().contains("another input"), "{other}");
    assert_eq!(log.all().len(), 1);
    // Runs without a name of their own are all new.
    for _ in 0..2 {
        block_on(catalog.invoke(Invocation::new("main", json!({"v": 1})).journal(Arc::new(journal.clone())), ())).unwrap();
    }
    assert_eq!((log.all().len(), journal.runs().len()), (3, 3));
}

#[test]
fn what_failed_runs_again_when_the_tool_answered_and_not_when_nobody_did() {
    for (error, code, tries) in [
        (ToolError::new("out of stock").code("own"), "own", 2),
        (ToolError::new("not reached").nothing_happened(), "tool_failed", 2),
        (ToolError::new("no answer").outcome_unknown(), "in_doubt", 1),
        (ToolError::new("odd answer").it_happened().code("own"), "tool_failed", 1),
    ] {
        let log = Log::new();
        let catalog = catalog([log.fails(tool("send", "A tool").writes(), error.clone())], &steps(&[("a", "send", json!({}))]));
        let journal = MemoryJournal::new();
        let call = || Invocation::new("main", json!({})).run_id("r1").journal(Arc::new(journal.clone()));
        block_on(catalog.invoke(call(), ())).unwrap_err();
        let again = block_on(catalog.invoke(call(), ())).unwrap_err();
        assert_eq!(log.all().len(), tries, "{error}");
        if tries == 1 && code == "tool_failed" {
            assert!(again.message().contains("odd answer"), "the same error again: {again}");
        } else {
            assert_eq!(again.code(), code, "{error}");
        }
    }
}

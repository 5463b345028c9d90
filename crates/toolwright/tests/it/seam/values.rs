//! What the arguments of a step are made of.

use toolwright::{Fault, Policy, Value, json};

use super::fixture::{Tools, run, shows, steps, stopped, writes};
use crate::lifecycle_fixture::{Notes, cx, error, reads};

fn gives() -> Value {
    json!({ "data": { "list": [1, 2.5, true, null], "text": "t" }, "n": 7, "yes": true, "output": { "data": "inside" } })
}

fn got(mapping: Value) -> Result<Value, toolwright::CallError> {
    let log = Notes::default();
    let first = reads("first").run_json(|_, _| std::future::ready(Ok(gives())));
    let catalog = Tools::new(Policy::new().may_chain(["mail"]))
        .add(first)
        .add(shows(writes("mail"), &log))
        .add(steps("main", &[("one", "first", json!({})), ("two", "mail", mapping)]))
        .seal();
    let outcome = run(&catalog, "main", json!({ "a": { "b": [{ "c": 0 }] }, "big": 9007199254740993_i64 }), &cx());
    assert_eq!(log.all().len(), usize::from(outcome.is_ok()), "a step without its arguments does not reach its tool");
    outcome.map(|result| result.value().clone())
}

#[test]
fn ts_10_references_are_replaced_by_what_they_mean_whatever_it_is() {
    let input = json!({ "a": { "b": [{ "c": 0 }] }, "big": 9007199254740993_i64 });
    for (reference, value) in [
        ("$input", input.clone()),
        ("$input.a.b", json!([{ "c": 0 }])),
        ("$input.a.b[0].c", json!(0)),
        ("$input.big", json!(9007199254740993_i64)),
        ("$prev", gives()),
        ("$prev.n", json!(7)),
        ("$prev.yes", json!(true)),
        ("$prev.data.list[3]", Value::Null),
        ("$steps[0]", gives()),
        ("$steps[0].data.list[1]", json!(2.5)),
        ("$steps.one.data.text", json!("t")),
        ("$$5", json!("$5")),
        ("$$input.a", json!("$input.a")),
        ("costs $5", json!("costs $5")),
    ] {
        assert_eq!(got(json!({ "v": reference })).unwrap(), json!({ "v": value.clone() }), "{reference}");
        // In objects and in arrays alike.
        let deep = got(json!({ "o": { "p": [1, { "q": reference }, [reference]] } })).unwrap();
        assert_eq!(deep, json!({ "o": { "p": [1, { "q": value.clone() }, [value]] } }), "{reference}");
    }
}

#[test]
fn ts_10_numbers_and_booleans_that_are_written_stay_what_they_are() {
    let written = json!({ "n": 1, "f": 0.1, "yes": false, "nothing": null, "list": [1, "1", true], "big": 18446744073709551615_u64 });
    assert_eq!(got(written.clone()).unwrap(), written);
}

#[test]
fn ts_10_a_reference_without_a_value_stops_before_the_tool_and_says_which_and_where() {
    for (mapping, reference) in [
        (json!({ "v": "$prev.nope" }), "$prev.nope"),
        (json!({ "o": ["$input.a", "$input.a.x"] }), "$input.a.x"),
        (json!({ "v": "$steps[0].data.list[9]" }), "$steps[0].data.list[9]"),
        (json!({ "v": "$steps.one.n.deeper" }), "$steps.one.n.deeper"),
    ] {
        let missing = error(got(mapping));
        let step = stopped(&missing);
        assert_eq!((missing.code(), step.step.as_str(), step.index), ("unresolved_reference", "two", 1));
        assert!(missing.message().contains(reference) && missing.message().contains("two"), "{missing}");
        assert!(matches!(missing.root_cause(), Fault::Unresolved(found) if found.reference.text == reference));
    }
}

#[test]
fn ts_10_output_is_a_member_like_any_other() {
    assert_eq!(got(json!({ "v": "$steps[0].output.data" })).unwrap(), json!({ "v": "inside" }));
}

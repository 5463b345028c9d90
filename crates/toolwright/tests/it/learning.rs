//! What is learned from outputs: tables of outputs with the schema they give, and what holds for any of them.

use proptest::prelude::*;
use toolwright::schema::Learned;
use toolwright::{Value, json, tool};

fn of(outputs: impl IntoIterator<Item = Value>) -> Learned {
    let mut learned = Learned::default();
    outputs.into_iter().for_each(|output| learned.add(&output));
    learned
}

/// The schema without its dialect.
fn schema(outputs: impl IntoIterator<Item = Value>) -> Value {
    Value::Object(of(outputs).schema().as_object().unwrap().without("$schema"))
}

#[track_caller]
fn gives(outputs: &[Value], expected: Value) {
    assert_eq!(schema(outputs.to_vec()).to_json_pretty(), expected.to_json_pretty());
}

fn repeated(output: &Value, times: usize) -> impl Iterator<Item = Value> + use<> {
    std::iter::repeat_n(output.clone(), times)
}

#[test]
fn types_are_those_that_were_seen() {
    gives(&[], json!({}));
    gives(&[json!(1), json!(2)], json!({ "type": "integer" }));
    gives(&[json!(1), json!(2.5)], json!({ "type": "number" }));
    gives(&[json!(1.0)], json!({ "type": "number" }));
    gives(&[json!(null), json!("a"), json!(true)], json!({ "type": ["string", "boolean", "null"] }));
    gives(&[json!([])], json!({ "type": "array" }));
    gives(&[json!({})], json!({ "type": "object" }));
    gives(&[json!([1, null]), json!(["a"])], json!({ "type": "array", "items": { "type": ["string", "integer", "null"] } }));
}

#[test]
fn a_member_is_required_when_every_object_had_it() {
    let outputs = [json!([{ "id": 1, "note": null }, { "id": 2 }]), json!([{ "id": 3, "note": "x" }])];
    gives(
        &outputs,
        json!({
            "type": "array",
            "items": {
                "type": "object",
                "properties": { "id": { "type": "integer" }, "note": { "type": ["string", "null"] } },
                "required": ["id"]
            }
        }),
    );
    let learned = of(outputs);
    let sometimes: Vec<_> = learned.sometimes().into_iter().map(|one| (one.path, one.seen, one.of)).collect();
    assert_eq!(sometimes, [("[].note".to_owned(), 2, 3)]);
    let closed = learned.expectation();
    assert_eq!(closed.pointer("/items/additionalProperties"), Some(&json!(false)));
}

#[test]
fn few_words_are_an_enumeration_only_with_much_evidence() {
    let state = |text: &str| json!({ "state": text });
    let mut outputs: Vec<Value> = repeated(&state("open"), 10).chain(repeated(&state("shut"), 9)).collect();
    assert_eq!(schema(outputs.clone()).pointer("/properties/state"), Some(&json!({ "type": "string" })));
    outputs.push(state("shut"));
    let words = json!({ "type": "string", "enum": ["open", "shut"] });
    assert_eq!(schema(outputs.clone()).pointer("/properties/state"), Some(&words));
    outputs.push(json!({ "state": null }));
    let with_null = json!({ "type": ["string", "null"], "enum": ["open", "shut", null] });
    assert_eq!(schema(outputs.clone()).pointer("/properties/state"), Some(&with_null));
    // One that was seen once says that there may be others; one word alone may be a repetition of one call.
    assert_eq!(schema(outputs.iter().cloned().chain([state("ajar")])).pointer("/properties/state/enum"), None);
    assert_eq!(schema(repeated(&state("open"), 50)).pointer("/properties/state/enum"), None);
    let many = (0..60).map(|n| state(&format!("w{}", n % 6)));
    assert_eq!(schema(many).pointer("/properties/state/enum"), None);
    let long = "a word that is much too long to be one of a few".to_owned();
    let long = repeated(&state(&long), 30).chain(repeated(&state("open"), 30));
    assert_eq!(schema(long).pointer("/properties/state/enum"), None);
}

#[test]
fn a_format_is_learned_when_five_texts_have_it_and_none_has_not() {
    let table = [
        ("date-time", ["2026-11-30T21:57:35Z", "2026-01-01T00:00:00+02:00"], "2026-11-30"),
        ("email", ["ada@example.org", "bob@example.com"], "ada"),
        ("uri", ["https://example.org/a?b=1", "ftp://example.org"], "sha256:abcd"),
    ];
    for (format, fitting, other) in table {
        let texts = |times: usize| (0..times).map(move |n| json!(fitting[n % 2]));
        assert_eq!(schema(texts(4)), json!({ "type": "string" }), "{format}");
        assert_eq!(schema(texts(5)), json!({ "type": "string", "format": format }), "{format}");
        assert_eq!(schema(texts(9).chain([json!(other)])), json!({ "type": "string" }), "{format}");
    }
}

#[test]
fn an_object_with_many_keys_is_a_map() {
    let one = |from: usize, keys: usize| Value::object((from..from + keys).map(|n| (format!("k{n:04}"), json!(n))));
    let map = json!({ "type": "object", "additionalProperties": { "type": "integer" } });
    // So many that nobody would write them down.
    gives(&[one(0, 500)], map.clone());
    // Few at a time, and others each time.
    gives(&[one(0, 15), one(100, 15), one(200, 15)], map);
    // A record, however wide, is none.
    assert!(schema([one(0, 100), one(0, 100)]).get("additionalProperties").is_none());
    let expectation = of([one(0, 500)]).expectation();
    assert_eq!(expectation.get("additionalProperties"), Some(&json!({ "type": "integer" })));
}

#[test]
fn what_is_too_deep_or_too_much_may_be_anything() {
    let deep = (0..100).fold(json!(1), |inner, _| Value::array([inner]));
    let learned = of([deep.clone()]);
    assert!(learned.schema().depth() < 40);
    assert!(accepts(&learned.schema(), &deep));
    // 150 members of 150 members each are more places than are remembered.
    let wide = Value::object((0..150).map(|n| (format!("k{n}"), Value::object((0..150).map(|m| (format!("m{m}"), json!(n * m)))))));
    let learned = of([wide.clone(), wide.clone()]);
    assert_eq!(learned.schema().pointer("/properties/k3"), Some(&json!({ "type": ["object", "array"] })));
    assert!(accepts(&learned.schema(), &wide));
    assert_eq!(learned.unchanged(), 1);
}

#[test]
fn confidence_grows_with_outputs_that_bring_nothing_new() {
    let mut learned = Learned::default();
    assert_eq!((learned.outputs(), learned.unchanged(), learned.estimate()), (0, 0, 0.5));
    let mut says = |output: Value| {
        learned.add(&output);
        (learned.outputs(), learned.unchanged())
    };
    assert_eq!(says(json!({ "a": 1 })), (1, 0));
    assert_eq!(says(json!({ "a": 2 })), (2, 1));
    assert_eq!(says(json!({ "a": 3, "b": 1 })), (3, 0));
    assert_eq!(says(json!({ "a": 3 })), (4, 1));
    assert_eq!(says(json!({ "b": 3 })), (5, 0));
    assert_eq!(says(json!({})), (6, 1));
    assert_eq!(learned.estimate(), 2.0 / 3.0);
}

#[test]
fn the_written_form_holds_no_text_that_was_not_learned() {
    let secret = |n: usize| json!({ "token": format!("secret-{}", n % 2), "mode": if n.is_multiple_of(3) { "fast" } else { "slow" } });
    let few = of((0..5).map(secret)).to_value().to_json_string();
    assert!(!few.contains("secret-") && !few.contains("fast"), "{few}");
    // It goes on where it stopped: words are known again once they come again.
    let mut again = Learned::from_value(&of((0..19).map(secret)).to_value()).unwrap();
    (0..6).for_each(|n| again.add(&secret(n)));
    assert_eq!(again.schema().pointer("/properties/mode/enum"), Some(&json!(["fast", "slow"])));
    assert_eq!(again.outputs(), 25);
}

#[test]
fn a_written_form_that_is_none_is_refused_with_its_place() {
    let table = [
        (json!([]), "", "it is array and not an object"),
        (json!({ "outputs": -1 }), "/outputs", "it is no count, which is a whole number from 0 on"),
        (json!({ "outputs": 1 }), "", "`seen` is missing"),
        (json!({ "seen": { "text": 1 } }), "/seen/text", "`text` is not known here"),
        (
            json!({ "seen": { "object": { "members": { "a/b": { "string": 1 } } } } }),
            "/seen/object/members/a~1b/string",
            "it is integer and not an object",
        ),
        (json!({ "seen": { "string": { "formats": 1 } } }), "/seen/string/formats", "it is no list of formats"),
        (json!({ "depth": 0, "seen": { "array": {} } }), "/seen/array", "it lies deeper than shapes are learned"),
    ];
    for (written, pointer, message) in table {
        let error = Learned::from_value(&written).unwrap_err();
        assert_eq!((error.pointer.as_str(), error.message.as_str()), (pointer, message));
    }
}

#[test]
fn a_learned_output_promises_nothing_and_a_declared_one_stands_before_it() {
    let count = tool("count", "Counts").reads().run_json(|_, _call| async move { Ok(json!(3)) });
    let learned = count.with_learned_output(json!({ "type": "integer" }), 7);
    assert_eq!((learned.output_schema(), learned.expected_output()), (None, Some((&json!({ "type": "integer" }), 7))));
    assert!(learned.renamed("other").expected_output().is_some());
    let pinned = learned.with_output_schema(json!({ "type": "number" }));
    assert_eq!((pinned.output_schema(), pinned.expected_output()), (Some(&json!({ "type": "number" })), None));
}

fn accepts(schema: &Value, output: &Value) -> bool {
    jsonschema::options().should_validate_formats(true).build(&schema.to_json()).unwrap().is_valid(&output.to_json())
}

fn outputs() -> impl Strategy<Value = Vec<Value>> {
    let texts = [
        "a",
        "b",
        "c",
        "open",
        "2026-11-30T21:57:35Z",
        "https://example.org",
        "ada@example.org",
        "",
        "a text that is longer than any word may be here",
    ];
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        (-3_i64..3).prop_map(Value::from),
        (-6_i64..6).prop_map(|n| json!(n as f64 / 2.0)),
        prop::sample::select(texts.to_vec()).prop_map(Value::from),
    ];
    let value = leaf.prop_recursive(4, 40, 8, |inner| {
        let keys = prop::sample::select(vec!["id", "name", "a b", "tags", "n"]);
        let data = (0_u32..90).prop_map(|n| format!("key {n}"));
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..8).prop_map(Value::array),
            prop::collection::vec((keys, inner.clone()), 0..5).prop_map(Value::object),
            prop::collection::vec((data, inner), 0..40).prop_map(Value::object),
        ]
    });
    prop::collection::vec(value, 0..30)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn every_output_is_accepted_and_the_order_does_not_matter(outputs in outputs(), seed in any::<u64>()) {
        let learned = of(outputs.clone());
        for schema in [learned.schema(), learned.expectation()] {
            let validator = jsonschema::options().should_validate_formats(true).build(&schema.to_json()).unwrap();
            for output in &outputs {
                prop_assert!(validator.is_valid(&output.to_json()), "{output} against {schema}");
            }
        }
        let mut shuffled = outputs.clone();
        shuffled.sort_by_key(|output| toolwright::Fingerprint::of(format!("{seed}{output}")).to_string());
        let other = of(shuffled);
        prop_assert_eq!(other.schema(), learned.schema());
        let seen = |learned: &Learned| learned.to_value().get("seen").cloned();
        prop_assert_eq!(seen(&other), seen(&learned));
        // What has been learned already brings nothing new.
        let mut again = learned.clone();
        outputs.iter().for_each(|output| again.add(output));
        let types = |learned: &Learned| learned.schema().get("type").cloned();
        prop_assert_eq!(types(&again), types(&learned));
    }

    #[test]
    fn a_damaged_written_form_is_refused_or_gives_a_schema(outputs in outputs(), at in any::<prop::sample::Index>(), put in "[0-9\\[\\]{}:,\"a-z]{0,3}") {
        let text = of(outputs.clone()).to_value().to_json_string();
        let at = at.index(text.len());
        let damaged = format!("{}{put}{}", text.get(..at).unwrap_or_default(), text.get(at + 1..).unwrap_or_default());
        if let Ok(mut learned) = Value::parse(&damaged).map_err(|_| ()).and_then(|form| Learned::from_value(&form).map_err(|_| ())) {
            outputs.iter().for_each(|output| learned.add(output));
            prop_assert!(jsonschema::options().build(&learned.schema().to_json()).is_ok());
            learned.sometimes();
        }
    }

    #[test]
    fn the_written_form_is_read_again(first in outputs(), then in outputs()) {
        let learned = of(first.clone());
        let mut read = Learned::from_value(&learned.to_value()).unwrap();
        prop_assert_eq!(read.to_value(), learned.to_value());
        prop_assert_eq!(read.schema(), learned.schema());
        then.iter().for_each(|output| read.add(output));
        let schema = read.schema();
        for output in first.iter().chain(&then) {
            prop_assert!(accepts(&schema, output), "{output} against {schema}");
        }
    }
}

//! Parse, print, clone and look-up, each next to `serde_json` in the same run.
//!
//! The workspace builds `serde_json` with `arbitrary_precision` and `preserve_order`, so its figures here are those of
//! that build.
#![expect(clippy::unwrap_used, reason = "a benchmark that cannot go on ends")]

use std::hint::black_box;
use std::sync::atomic::AtomicU32;

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use toolwright::value::{JsonValue, Number, Object, Shape, Text, Value};

/// About 1 MB: records with texts of several lines.
fn long_texts() -> String {
    let text = "The quick brown fox jumps over the lazy dog; \u{201c}caf\u{e9}\u{201d} and so on.\n".repeat(7);
    let records = (0..1_750_u32).map(|at| {
        Value::object([
            ("id", Value::from(at)),
            ("title", Value::from(format!("Record number {at}"))),
            ("body", Value::from(format!("{at}: {text}\n"))),
            ("tags", Value::array(["alpha", "beta", "gamma"])),
        ])
    });
    Value::object([("doc", Value::array(records))]).to_json_string()
}

/// About 1 MB: thousands of records with short fields and floats.
fn short_fields() -> String {
    let float = |at: f64| Value::from(Number::from_f64(at));
    let records = (0..6_300_u32).map(|at| {
        let x = f64::from(at);
        let place = Value::object([("lat", float((x * 0.731).sin() * 90.0)), ("lon", float((x * 0.317).cos() * 180.0))]);
        Value::object([
            ("id", Value::from(at)),
            ("name", Value::from(format!("user{at}"))),
            ("active", Value::from(at % 3 == 0)),
            ("score", float((x * 1.37).round() / 100.0)),
            ("place", place),
            ("tags", Value::array([format!("t{}", at % 7), format!("g{}", at % 11)])),
        ])
    });
    Value::object([("rows", Value::array(records))]).to_json_string()
}

fn documents(bench: &mut Criterion) {
    for (name, text) in [("long_texts", long_texts()), ("short_fields", short_fields())] {
        let mut group = bench.benchmark_group(name);
        group.throughput(Throughput::Bytes(text.len() as u64));
        group.bench_function("parse/ours", |run| run.iter(|| Value::parse(black_box(&text)).unwrap()));
        group.bench_function("parse/serde_json", |run| {
            run.iter(|| serde_json::from_str::<serde_json::Value>(black_box(&text)).unwrap());
        });
        let (ours, theirs) = (Value::parse(&text).unwrap(), serde_json::from_str::<serde_json::Value>(&text).unwrap());
        group.bench_function("print/ours", |run| run.iter(|| black_box(&ours).to_json_string()));
        group.bench_function("print/serde_json", |run| run.iter(|| serde_json::to_string(black_box(&theirs)).unwrap()));
        group.bench_function("clone/ours", |run| run.iter(|| black_box(&ours).clone()));
        group.bench_function("clone/serde_json", |run| run.iter(|| black_box(&theirs).clone()));
        group.finish();
    }
}

fn small(bench: &mut Criterion) {
    let text = r#"{"path":"src/lib.rs","limit":20,"recursive":true}"#;
    let mut group = bench.benchmark_group("small");
    group.bench_function("parse/ours", |run| run.iter(|| Value::parse(black_box(text)).unwrap()));
    group.bench_function("parse/serde_json", |run| {
        run.iter(|| serde_json::from_str::<serde_json::Value>(black_box(text)).unwrap());
    });
    let previous = toolwright::json!({"text": "some text", "count": 7, "more": [1, 2, 3]});
    let (shape, hints) = (Shape::new([Text::from("text"), Text::from("count")]), [AtomicU32::new(0), AtomicU32::new(1)]);
    let pick = |key: &str, hint: &AtomicU32| previous.as_object().and_then(|object| object.get_hinted(key, hint)).cloned();
    group.bench_function("two_keys_from_references/ours", |run| {
        run.iter(|| {
            let [text, count] = &hints;
            let values = [pick("text", text).unwrap_or_default(), pick("count", count).unwrap_or_default()];
            Object::from_shape(shape.clone(), values.into_iter())
        });
    });
    let schema = serde_json::json!({
        "type": "object", "additionalProperties": false, "required": ["path"],
        "properties": {"path": {"type": "string"}, "limit": {"type": "integer"}, "recursive": {"type": "boolean"}}
    });
    let (ours, theirs) = (Value::parse(text).unwrap(), serde_json::from_str::<serde_json::Value>(text).unwrap());
    let our_validator = jsonschema::options_for::<JsonValue>().build(&schema).unwrap();
    let their_validator = jsonschema::validator_for(&schema).unwrap();
    group.bench_function("is_valid/ours", |run| run.iter(|| our_validator.is_valid(black_box(&ours))));
    group.bench_function("is_valid/serde_json", |run| run.iter(|| their_validator.is_valid(black_box(&theirs))));
    group.finish();
}

criterion_group!(benches, documents, small);
criterion_main!(benches);

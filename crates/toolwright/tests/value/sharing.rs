//! What is shared, what is bounded, and what a header knows.

use std::sync::atomic::{AtomicU32, Ordering};

use toolwright::json;
use toolwright::limits::VALUE_DEPTH_MAX;
use toolwright::value::{Object, Shape, Text, Value, ValueErrorKind};

/// `{a: previous, b: previous}`, so many times.
fn doubled(times: u32) -> Value {
    (0..times).fold(json!({"x": [1, 2]}), |value, _| Value::object([("a", value.clone()), ("b", value)]))
}

#[test]
fn doubling_sixty_times_costs_nothing() {
    // Whatever walked these would not end within a lifetime.
    let (left, right) = (doubled(60), doubled(60));
    assert!(left.weight() > 1 << 60);
    assert_eq!(left.depth(), 62);
    assert_eq!(left, right);
    assert!(left.same_value(&right));
    assert_eq!(left, left.clone());
    assert_ne!(left, doubled(61));
    assert_ne!(left, doubled(59));
    let other = (0..60).fold(json!({"x": [1, 3]}), |value, _| Value::object([("b", value.clone()), ("a", value)]));
    assert_ne!(left, other);
    assert_eq!(left.deep_clone(), left);
    assert_eq!(doubled(200).weight(), u64::MAX);
}

#[test]
fn weight_is_the_length_of_the_print() {
    for text in [
        "null",
        "true",
        "false",
        "[]",
        "{}",
        "[1]",
        "[1,2.50,\"é\"]",
        r#"{"a":1}"#,
        r#"{"a":[{}],"bc":{"d":[]}}"#,
        "-0",
        "-12",
        "0.001",
        "-0.001",
        "1e5",
    ] {
        let value = Value::parse(text).unwrap();
        assert_eq!(value.weight(), text.len() as u64, "{text}");
        assert_eq!(Value::from_json(value.to_json()).unwrap().weight(), text.len() as u64, "{text}");
    }
    // Escapes are not counted, so the print may only be longer.
    assert_eq!(Value::from("\n").weight(), 3);
}

#[test]
#[expect(clippy::disallowed_methods, reason = "two threads free one value")]
fn values_built_level_by_level_can_be_dropped_printed_compared_and_refused() {
    let nest = |levels: u32| {
        (0..levels).fold(Value::Null, |value, level| if level % 2 == 0 { Value::from(vec![value]) } else { Value::object([("a", value)]) })
    };
    let (deep, same) = (nest(300_000), nest(300_000));
    assert_eq!(deep.depth(), 300_000);
    assert!(deep == same);
    assert_eq!(deep.to_json_string().len() as u64, deep.weight());
    assert!(matches!(deep.deserialize::<Value>().unwrap_err().kind, ValueErrorKind::TooDeep { .. }));
    assert!(serde_json::to_string(&deep).is_err());
    assert!(serde_json::to_value(&deep).is_err());
    drop(deep.to_json());
    drop(deep.deep_clone());
    let (first, second) = (deep.clone(), deep.clone());
    drop(deep);
    std::thread::scope(|scope| {
        scope.spawn(move || drop(first));
        scope.spawn(move || drop(second));
    });
    drop(same);
    let limit = nest(VALUE_DEPTH_MAX);
    assert_eq!(serde_json::to_string(&limit).unwrap(), limit.to_json_string());
    assert_eq!(Value::from_json(limit.to_json()).unwrap(), limit);
    assert_eq!(limit.deserialize::<Value>().unwrap(), limit);
    assert_eq!(Value::from_serialize(&limit).unwrap(), limit);
    let over = Value::from(vec![limit]);
    assert!(serde_json::to_string(&over).is_err());
    assert!(Value::from_serialize(&over).is_err());
}

#[test]
fn what_comes_in_deep_is_refused() {
    let mut json = serde_json::Value::Null;
    for _ in 0..=VALUE_DEPTH_MAX {
        json = serde_json::Value::Array(vec![json]);
    }
    let error = Value::from_json(json.clone()).unwrap_err();
    assert_eq!(error.kind, ValueErrorKind::TooDeep { levels_max: VALUE_DEPTH_MAX });
    assert_eq!(error.pointer, "/0".repeat(VALUE_DEPTH_MAX as usize));
    assert!(Value::from_serialize(&json).is_err());
    assert!(serde_json::from_value::<Value>(json).is_err());
}

#[test]
fn records_share_their_keys() {
    let row = r#"{"id":1,"owner":{"id":2,"name":"x"},"place":{"id":3,"lat":4}}"#;
    let value = Value::parse(format!("[{}]", [row; 50].join(","))).unwrap();
    let rows: Vec<&Object> = value.as_array().unwrap().iter().filter_map(Value::as_object).collect();
    for inner in ["owner", "place"] {
        let shape = |row: &Object| row.get(inner).and_then(Value::as_object).unwrap().shape().clone();
        assert!(rows.iter().all(|row| shape(row).same(&shape(rows[0]))));
    }
    assert!(rows.iter().all(|row| row.shape().same(rows[0].shape())));
}

#[test]
fn look_up_in_small_and_large_objects() {
    for size in [0, 1, 7, 8, 9, 10, 100, 1_000] {
        let key = |at: usize| ["k", "key_with_a_long_name_", "é"][at % 3].to_string() + &at.to_string();
        let value = Value::object((0..size).map(|at| (key(at), at)));
        let object = value.as_object().unwrap();
        assert_eq!(object.len(), size);
        let hint = AtomicU32::new(u32::MAX);
        for at in (0..size).chain((0..size).rev()) {
            assert_eq!(object.get(&key(at)), Some(&Value::from(at)));
            assert_eq!(object.get_hinted(&key(at), &hint), Some(&Value::from(at)));
            assert_eq!(hint.load(Ordering::Relaxed), at as u32);
        }
        for missing in ["", "k", "key_with_a_long_name_", "k1001", "k0\0"] {
            assert_eq!(object.get(missing), None, "{missing:?}");
            assert_eq!(object.get_hinted(missing, &hint), None);
        }
    }
    let close = json!({"abcdefgh1": 1, "abcdefgh2": 2, "abcd1234efgh": 3, "abcd4321efgh": 4, "": 5, "\0": 6, "\0\0": 7});
    for (at, key) in close.as_object().unwrap().keys().enumerate() {
        assert_eq!(close.get(key), Some(&Value::from(at + 1)));
    }
}

#[test]
fn objects_from_a_shape() {
    let shape = Shape::new(["b", "a", "b"].map(Text::from));
    assert_eq!(shape.len(), 2);
    let object = Object::from_shape(shape.clone(), vec![Value::from(1), Value::from(2)].into_iter());
    assert_eq!(Value::from(object.clone()).to_json_string(), r#"{"b":1,"a":2}"#);
    assert!(object.shape().same(&shape));
    let copy = shape.deep_clone();
    assert!(copy == shape && !copy.same(&shape));
    assert_eq!(copy.position("a"), Some(1));
    assert_eq!(Object::from_shape(Shape::new([]), std::iter::empty()), Object::EMPTY);
    assert_eq!(Object::EMPTY.shape(), Shape::empty());
}

#[test]
fn order_of_members_does_not_matter_for_equality() {
    assert_eq!(json!({"a": 1, "b": [2]}), json!({"b": [2], "a": 1}));
    assert_ne!(json!({"a": 1, "b": 2}), json!({"b": 1, "a": 2}));
    assert_ne!(json!({"a": 1}), json!({"a": 1, "b": 2}));
    assert_ne!(json!({"a": 1}), json!({"c": 1}));
    assert_ne!(json!([1]), Value::parse("[1.0]").unwrap());
    assert!(json!([1]).same_value(&Value::parse("[1.0]").unwrap()));
}

#[test]
fn members_are_added_replaced_and_removed_in_a_copy() {
    let value = json!({"a": 1, "b": 2});
    let object = value.as_object().unwrap();
    assert_eq!(Value::from(object.with("c", 3)), json!({"a": 1, "b": 2, "c": 3}));
    assert_eq!(Value::from(object.with("a", "x")).to_json_string(), r#"{"a":"x","b":2}"#);
    assert_eq!(Value::from(object.without("a")), json!({"b": 2}));
    assert_eq!(Value::from(object.without("z")), value);
    assert_eq!(Value::from(Object::EMPTY.with("a", Value::Null)).weight(), 10);
}

#[test]
fn pointers_name_places() {
    let value = json!({"a": {"b/c": [10, {"~": "x"}]}, "": 1, "0": 2});
    let cases: &[(&str, Option<Value>)] = &[
        ("", Some(value.clone())),
        ("/a/b~1c/0", Some(json!(10))),
        ("/a/b~1c/1/~0", Some(json!("x"))),
        ("/", Some(json!(1))),
        ("/0", Some(json!(2))),
        ("/a/b~1c/2", None),
        ("/a/b~1c/01", None),
        ("/a/b~1c/+1", None),
        ("/a/b~1c/-", None),
        ("/a/b~1c/", None),
        ("a", None),
        ("/a/x", None),
    ];
    for (pointer, expected) in cases {
        assert_eq!(value.pointer(pointer), expected.as_ref(), "{pointer}");
    }
}

#[test]
fn kinds_have_names() {
    for (text, kind) in [
        ("null", "null"),
        ("true", "boolean"),
        ("1", "integer"),
        ("-0", "integer"),
        ("1.0", "number"),
        ("1e2", "number"),
        ("\"1\"", "string"),
        ("[]", "array"),
        ("{}", "object"),
    ] {
        assert_eq!(Value::parse(text).unwrap().kind(), kind);
    }
}

#[test]
fn values_go_to_other_threads() {
    fn shareable<T: Send + Sync + Clone + 'static>() {}
    shareable::<Value>();
    shareable::<Object>();
    shareable::<Shape>();
}

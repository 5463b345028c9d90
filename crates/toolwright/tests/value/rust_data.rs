//! Rust data in, Rust data out.

use std::collections::{BTreeMap, HashMap};

use serde::{Deserialize, Serialize};
use toolwright::json;
use toolwright::value::{Number, Object, Value, ValueErrorKind};

#[derive(Debug, PartialEq, Serialize, Deserialize)]
enum Choice {
    Unit,
    New(u8),
    Pair(u8, String),
    Fields { x: f64, y: Option<bool> },
}

#[derive(Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "camelCase")]
enum Tagged {
    Circle { radius: f64 },
    Square { side: i32 },
}

#[derive(Debug, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
enum Untagged {
    Count(u32),
    Ratio(f64),
    Name(String),
}

#[derive(Debug, PartialEq, Serialize, Deserialize)]
struct Everything {
    unit: (),
    letter: char,
    bytes: Vec<u8>,
    single: f32,
    wide: i128,
    wider: u128,
    choices: Vec<Choice>,
    tagged: Vec<Tagged>,
    untagged: Vec<Untagged>,
    map: BTreeMap<u32, bool>,
    flags: HashMap<bool, i8>,
    pair: (i16, Option<String>),
    value: Value,
    object: Object,
    number: Number,
    json: serde_json::Value,
    #[serde(flatten)]
    rest: BTreeMap<String, Value>,
}

fn everything() -> Everything {
    Everything {
        unit: (),
        letter: 'é',
        bytes: vec![0, 255],
        single: 0.1,
        wide: i128::MIN,
        wider: u128::MAX,
        choices: vec![Choice::Unit, Choice::New(1), Choice::Pair(2, "b".into()), Choice::Fields { x: 1.0, y: None }],
        tagged: vec![Tagged::Circle { radius: 1.5 }, Tagged::Square { side: -2 }],
        untagged: vec![Untagged::Count(1), Untagged::Ratio(0.25), Untagged::Name("n".into())],
        map: BTreeMap::from([(7, true)]),
        flags: HashMap::from([(true, -1)]),
        pair: (-3, Some("p".into())),
        value: Value::parse("[1e400,1.0,{\"a\":[]}]").unwrap(),
        object: Object::EMPTY.with("k", 1),
        number: Number::parse("1.50").unwrap(),
        json: serde_json::json!({"deep": [1.5, null]}),
        rest: BTreeMap::from([("more".to_string(), json!([1, 2.5]))]),
    }
}

#[test]
fn every_shape_of_data_goes_there_and_back() {
    let data = everything();
    let value = Value::from_serialize(&data).unwrap();
    assert_eq!(value.deserialize::<Everything>().unwrap(), data);
    let theirs = serde_json::to_string(&data).unwrap();
    assert!(Value::parse(&theirs).unwrap().same_value(&value), "{theirs}\n{value}");
    assert_eq!(value.pointer("/value/0").unwrap().to_json_string(), "1e400");
    assert_eq!(value.get("single").unwrap().to_json_string(), "0.1");
    assert_eq!(value.get("number").unwrap().to_json_string(), "1.50");
}

#[test]
fn whole_numbers_fill_integer_fields() {
    #[derive(Debug, PartialEq, Deserialize)]
    struct Page {
        limit: u32,
        ratio: f64,
    }
    let page = Value::parse(r#"{"limit":100.0,"ratio":2}"#).unwrap().deserialize::<Page>().unwrap();
    assert_eq!(page, Page { limit: 100, ratio: 2.0 });
    assert_eq!(Value::parse("1e2").unwrap().deserialize::<u8>(), Ok(100));
    assert!(Value::parse("100.5").unwrap().deserialize::<u8>().is_err());
    assert!(Value::parse("300").unwrap().deserialize::<u8>().is_err());
    assert!(Value::parse("1e400").unwrap().deserialize::<f64>().is_err());
}

#[test]
fn errors_name_the_place_that_does_not_fit() {
    let cases: &[(Value, &str, &str)] = &[
        (json!({"tagged": [], "pair": ["x", null]}), "/pair/0", "invalid type: string \"x\""),
        (json!({"map": {"7": 1}}), "/map/7", "invalid type: integer `1`"),
        (json!({"choices": ["Unit", {"New": "y"}]}), "/choices/1/New", "invalid type: string \"y\""),
        (json!({"choices": [{"Nope": 1}]}), "/choices/0", "unknown variant `Nope`"),
        (json!({"unit": null}), "", "missing field `letter`"),
    ];
    #[derive(Debug, Deserialize)]
    #[expect(dead_code, reason = "only read")]
    struct Parts {
        #[serde(default)]
        tagged: Vec<Tagged>,
        #[serde(default)]
        pair: (i16, Option<String>),
        #[serde(default)]
        map: BTreeMap<u32, bool>,
        #[serde(default)]
        choices: Vec<Choice>,
    }
    for (value, pointer, message) in cases {
        let error = if value.get("unit").is_some() {
            value.deserialize::<Everything>().unwrap_err()
        } else {
            value.deserialize::<Parts>().unwrap_err()
        };
        assert_eq!(error.pointer, *pointer, "{error}");
        assert!(error.to_string().contains(message), "{error}");
    }
}

#[test]
fn what_json_cannot_say_is_refused_with_its_place() {
    #[derive(Serialize)]
    struct Mean {
        mean: f64,
    }
    let error = Value::from_serialize(&Mean { mean: f64::NAN }).unwrap_err();
    assert_eq!(error.kind, ValueErrorKind::NotFinite);
    assert_eq!(error.to_string(), "`/mean` is not finite: JSON has no NaN and no infinity");
    let nested = BTreeMap::from([("a/b", vec![(1, Some(1.0_f32)), (2, Some(f32::INFINITY))])]);
    let error = Value::from_serialize(&nested).unwrap_err();
    assert_eq!((error.kind, error.pointer.as_str()), (ValueErrorKind::NotFinite, "/a~1b/1/1"));
    let error = Value::from_serialize(&Choice::Fields { x: f64::INFINITY, y: None }).unwrap_err();
    assert_eq!(error.pointer, "/Fields/x");
    let keys = HashMap::from([(vec![1], 1)]);
    assert_eq!(Value::from_serialize(&keys).unwrap_err().kind, ValueErrorKind::KeyNotText);
}

#[test]
fn raw_json_text_passes_through() {
    let raw = serde_json::value::RawValue::from_string("[1.0, {\"a\":1e2}]".to_string()).unwrap();
    let value = Value::from_serialize(&raw).unwrap();
    assert_eq!(value.to_json_string(), "[1.0,{\"a\":1e2}]");
    let back: Box<serde_json::value::RawValue> = value.deserialize().unwrap();
    assert_eq!(back.get(), "[1.0,{\"a\":1e2}]");
}

#[test]
fn literals_take_values_and_expressions() {
    let inner = Value::parse("[1.0]").unwrap();
    let value = json!({"a": inner, "b": 1 + 1, "c": [null, true], "d": Some("x")});
    assert_eq!(value.to_json_string(), r#"{"a":[1.0],"b":2,"c":[null,true],"d":"x"}"#);
    assert_eq!(Value::from(Option::<i32>::None), Value::Null);
    assert_eq!(Value::array([1, 2]), json!([1, 2]));
}

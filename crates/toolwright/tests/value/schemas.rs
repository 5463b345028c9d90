//! Validation of values where they lie.

use jsonschema::json::conformance;
use toolwright::value::{JsonValue, Value};

#[test]
fn the_representation_conforms() {
    let document = Value::from_json(conformance::document()).unwrap();
    conformance::assert_conformance::<JsonValue>(&&document);
}

/// A schema, and instances with the verdict.
const VERDICTS: &[(&str, &[(&str, bool)])] = &[
    (
        r#"{"type":"integer"}"#,
        &[
            ("1", true),
            ("1.0", true),
            ("1e2", true),
            ("1.5", false),
            ("1e400", true),
            ("-0", true),
            ("123456789012345678901234567890", true),
            ("\"1\"", false),
        ],
    ),
    (r#"{"const":1}"#, &[("1", true), ("1.0", true), ("10e-1", true), ("2", false), ("true", false)]),
    (
        r#"{"enum":[[1,{"a":2}],"x",0.1]}"#,
        &[("[1.0,{\"a\":2}]", true), ("\"x\"", true), ("0.10", true), ("0.1000000000000000055511151231257827", false), ("[1]", false)],
    ),
    (r#"{"minimum":5,"maximum":10}"#, &[("5", true), ("5.0", true), ("4.99", false), ("10", true), ("1e1", true), ("10.1", false)]),
    (r#"{"multipleOf":0.01}"#, &[("4.02", true), ("4.025", false), ("1", true)]),
    (
        r#"{"uniqueItems":true}"#,
        &[
            ("[1,2]", true),
            ("[1,1.0]", false),
            ("[{\"a\":1,\"b\":2},{\"b\":2.0,\"a\":1}]", false),
            ("[1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18]", true),
            ("[1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,1.0]", false),
            ("[[1],[2],3,4,5,6,7,8,9,10,11,12,13,14,15,16,[1.0]]", false),
        ],
    ),
    (r#"{"minLength":2,"maxLength":3}"#, &[("\"é\"", false), ("\"éé\"", true), ("\"😀😀😀\"", true), ("\"abcd\"", false)]),
    (r#"{"propertyNames":{"pattern":"^a"}}"#, &[("{\"ab\":1}", true), ("{\"b\":1}", false)]),
    (
        r#"{"properties":{"a":{"type":"string"}},"required":["a"],"additionalProperties":false}"#,
        &[("{\"a\":\"x\"}", true), ("{\"a\":1}", false), ("{\"a\":\"x\",\"b\":1}", false), ("{}", false)],
    ),
    (
        r##"{"$ref":"#/$defs/n","$defs":{"n":{"properties":{"next":{"$ref":"#/$defs/n"},"v":{"type":"number"}}}}}"##,
        &[("{\"next\":{\"next\":{\"v\":1}}}", true), ("{\"next\":{\"next\":{\"v\":\"1\"}}}", false)],
    ),
];

#[test]
fn verdicts_agree_with_serde_json() {
    for (schema, instances) in VERDICTS {
        let schema: serde_json::Value = serde_json::from_str(schema).unwrap();
        let validator = jsonschema::options_for::<JsonValue>().build(&schema).unwrap();
        for (text, verdict) in *instances {
            let value = Value::parse(text).unwrap();
            assert_eq!(validator.is_valid(&value), *verdict, "{schema} {text}");
            assert_eq!(validator.validate(&value).is_ok(), *verdict, "{schema} {text}");
            assert_eq!(validator.iter_errors(&value).next().is_none(), *verdict, "{schema} {text}");
        }
    }
}

#[test]
fn errors_name_the_place() {
    let schema = serde_json::json!({"properties": {"a": {"items": {"type": "integer"}}}});
    let validator = jsonschema::options_for::<JsonValue>().build(&schema).unwrap();
    let value = toolwright::json!({"a": [1, "x", 2.5]});
    let places: Vec<String> = validator.iter_errors(&value).map(|error| error.instance_path().to_string()).collect();
    assert_eq!(places, ["/a/1", "/a/2"]);
}

#[test]
fn an_error_about_a_large_value_is_small_and_keeps_its_kind() {
    let validator = jsonschema::options_for::<JsonValue>().build(&serde_json::json!({"type": "boolean"})).unwrap();
    let large = "x".repeat(1 << 20);
    for (value, message) in [
        (Value::from(&large), r#"xxx... (1048578 bytes)" is not of type "boolean""#),
        (toolwright::json!([large, 1]), r#"["2 items, 1048582 bytes"] is not of type "boolean""#),
        (toolwright::json!({"a": large}), r#"{"...":"1 members, 1048584 bytes"} is not of type "boolean""#),
    ] {
        let error = validator.validate(&value).unwrap_err().to_string();
        assert!(error.ends_with(message) && error.len() < 300, "{error}");
    }
}

#[test]
fn formats_are_checked_when_asked_for() {
    let schema = serde_json::json!({"format": "date"});
    let (asserted, annotated) = (
        jsonschema::options_for::<JsonValue>().should_validate_formats(true).build(&schema).unwrap(),
        jsonschema::options_for::<JsonValue>().build(&schema).unwrap(),
    );
    let value = toolwright::json!("tomorrow");
    assert!(!asserted.is_valid(&value));
    assert!(annotated.is_valid(&value));
}

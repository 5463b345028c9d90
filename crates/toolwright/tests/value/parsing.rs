//! JSON text in, JSON text out.

use toolwright::value::{LoneSurrogates, ParseErrorKind, ParseOptions, Value};

fn check(input: &str, expected: &str) {
    let value = Value::parse(input).unwrap_or_else(|error| panic!("{input}: {error}"));
    assert_eq!(value.to_json_string(), expected, "{input}");
    assert_eq!(Value::parse(expected).as_ref(), Ok(&value), "{input}");
}

#[test]
fn reads_and_prints_every_kind() {
    check(" null ", "null");
    check("true", "true");
    check("[]", "[]");
    check("{ }", "{}");
    check("[ [ ] , { } , \"\" ]", "[[],{},\"\"]");
    check("{\"a\":{\"b\":[1,{\"c\":null}]},\"d\":[]}", "{\"a\":{\"b\":[1,{\"c\":null}]},\"d\":[]}");
    check(r#""\u00e9\ud83d\ude00\u0000\"\\\/\b\f\n\r\t""#, "\"é😀\\u0000\\\"\\\\/\\b\\f\\n\\r\\t\"");
    check(
        r#"[{"a":1,"b":2},{"a":1,"b":2,"c":3},{"a":1},{"b":1,"a":2},{}]"#,
        r#"[{"a":1,"b":2},{"a":1,"b":2,"c":3},{"a":1},{"b":1,"a":2},{}]"#,
    );
}

#[test]
fn the_last_of_equal_keys_wins_at_the_first_position() {
    check(r#"{"a":1,"b":2,"a":3}"#, r#"{"a":3,"b":2}"#);
    check(r#"[{"a":1,"b":2},{"a":1,"b":2,"a":3}]"#, r#"[{"a":1,"b":2},{"a":3,"b":2}]"#);
}

#[test]
fn a_hundred_thousand_brackets_are_an_error() {
    let error = Value::parse("[".repeat(100_000)).unwrap_err();
    assert_eq!(error.kind, ParseErrorKind::TooDeep { levels_max: 128 });
    assert_eq!(error.offset, 128);
    let at_limit = format!("{}{}", "[".repeat(128), "]".repeat(128));
    assert_eq!(Value::parse(&at_limit).map(|value| value.depth()), Ok(128));
    let options = ParseOptions { depth_max: u32::MAX, ..ParseOptions::default() };
    let deep = format!("{}{}", "[".repeat(200_000), "]".repeat(200_000));
    let value = Value::parse_with(&deep, &options).unwrap().value;
    assert_eq!(value.to_json_string(), deep);
    drop(value);
}

#[test]
fn lone_surrogates_are_refused_or_replaced() {
    let text = r#""a\ud83d b\u0000c \ud83d\ude00 \ud83d\ud83d\ude00 \udc00""#;
    assert_eq!(Value::parse(text).unwrap_err().kind, ParseErrorKind::LoneSurrogate { unit: 0xd83d });
    let options = ParseOptions { lone_surrogates: LoneSurrogates::Replace, ..ParseOptions::default() };
    let parsed = Value::parse_with(text, &options).unwrap();
    assert_eq!(parsed.value, "a\u{fffd} b\0c 😀 \u{fffd}😀 \u{fffd}");
    assert_eq!(parsed.replaced, 3);
}

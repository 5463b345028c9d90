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

/// Every kind of parse error, an input that gives it, and the place it names.
const REFUSED: &[(&str, &str, usize, usize)] = &[
    ("", "there is no JSON value in the text", 1, 1),
    (" \n ", "there is no JSON value in the text", 2, 2),
    ("[1,", "the JSON text ends too early", 1, 4),
    ("{\"a\":", "the JSON text ends too early", 1, 6),
    ("{", "the JSON text ends too early", 1, 2),
    ("\u{feff}1", "the JSON text starts with a byte order mark", 1, 1),
    ("[?]", "expected a value, found `?`", 1, 2),
    ("[\u{1}]", "expected a value, found U+0001", 1, 2),
    ("[\n  None]", "`None` is not a JSON value", 2, 3),
    ("truely", "`truely` is not a JSON value", 1, 1),
    ("tru", "`tru` is not a JSON value", 1, 1),
    ("NaN", "`NaN` is not a JSON value", 1, 1),
    ("{'a':1}", "JSON has no single quotes", 1, 2),
    ("['a']", "JSON has no single quotes", 1, 2),
    ("[1, // one\n2]", "JSON has no comments", 1, 5),
    ("[1] // done", "JSON has no comments", 1, 5),
    ("[1,]", "there is a comma but no further item", 1, 3),
    ("{\"a\":1, }", "there is a comma but no further item", 1, 7),
    ("{a:1}", "expected a key in double quotes, found `a`", 1, 2),
    ("{1:1}", "expected a key in double quotes, found `1`", 1, 2),
    ("{\"a\" 1}", "expected `:` behind the key, found `1`", 1, 6),
    ("[\"é\" 2]", "expected `,` or `]`, found `2`", 1, 6),
    ("{\"a\":1 \"b\":2}", "expected `,` or `}`, found `\"`", 1, 8),
    ("1 2", "expected the end of the text, found `2`", 1, 3),
    ("[01]", "a number starts with a needless zero", 1, 2),
    ("-01", "a number starts with a needless zero", 1, 2),
    ("-", "a number has no digits", 1, 2),
    ("-Infinity", "a number has no digits", 1, 2),
    ("1.", "a number has no digits behind its dot", 1, 3),
    ("1.e5", "a number has no digits behind its dot", 1, 3),
    ("1e", "a number has no digits in its exponent", 1, 3),
    ("1e+", "a number has no digits in its exponent", 1, 4),
    ("\"a\nb\"", "a string holds a raw line break", 1, 3),
    ("\"a\tb\"", "a string holds a raw tab", 1, 3),
    ("[\"abc", "a string is not closed", 1, 2),
    ("\"\\x\"", "`\\` has no meaning before `x`", 1, 2),
    ("\"\\", "the JSON text ends too early", 1, 3),
    ("\"\\u12\"", "`\\u` without four hexadecimal digits", 1, 2),
    ("\"\\u12", "`\\u` without four hexadecimal digits", 1, 2),
    ("\"\\ud83d\\u12\"", "`\\u` without four hexadecimal digits", 1, 8),
    ("\"\\ud83d\"", "`\\ud83d` is half of a character", 1, 2),
    ("\"\\ude00\"", "`\\ude00` is half of a character", 1, 2),
    ("+1", "expected a value, found `+`", 1, 1),
    (".5", "expected a value, found `.`", 1, 1),
];

#[test]
fn every_refusal_says_what_and_where_and_what_to_do() {
    let mut seen = std::collections::BTreeSet::new();
    for (input, message, line, column) in REFUSED {
        let error = Value::parse(input).expect_err(input);
        assert_eq!((error.kind.to_string().as_str(), error.line, error.column), (*message, *line, *column), "{input:?}");
        assert!(error.offset <= input.len(), "{input:?}");
        assert!(!error.help().is_empty() && !error.help().ends_with('.'), "{input:?}");
        assert!(error.to_string().starts_with(message), "{input:?}");
        seen.insert(kind_name(&error.kind));
    }
    seen.insert(kind_name(&Value::parse(b"\"\xff\"").unwrap_err().kind));
    seen.insert(kind_name(&Value::parse("[".repeat(129)).unwrap_err().kind));
    assert_eq!(seen.len(), 23, "a kind of error without an input: {seen:?}");
}

fn kind_name(kind: &ParseErrorKind) -> String {
    format!("{kind:?}").split([' ', '{']).next().unwrap_or_default().to_string()
}

#[test]
fn bytes_must_be_utf8() {
    let error = Value::parse(b"[\"ok\",\n \"\xff\"]").unwrap_err();
    assert_eq!((error.kind, error.offset, error.line, error.column), (ParseErrorKind::InvalidUtf8, 9, 2, 3));
    assert_eq!(Value::parse("\"é\"".as_bytes()).unwrap(), "é");
    // UTF-16 with its byte order mark.
    assert_eq!(Value::parse(b"\xff\xfe[\0]\0").unwrap_err().kind, ParseErrorKind::InvalidUtf8);
}

#[test]
fn long_strings_keep_every_byte() {
    // Every length around the sizes the scanner works in, with a special character at every place.
    for length in 0..80 {
        let plain = "é".repeat(length / 2) + &"x".repeat(length % 2);
        assert_eq!(Value::parse(format!("\"{plain}\"")).unwrap(), plain.as_str());
        for at in 0..=length {
            for special in ['"', '\\', '\n', '\u{0}', '\u{1f}', '\u{7f}', '\u{80}'] {
                let mut text = "x".repeat(length);
                text.insert(at, special);
                let printed = Value::from(&text).to_json_string();
                assert_eq!(printed, serde_json::to_string(&text).unwrap());
                assert_eq!(Value::parse(&printed).unwrap(), text.as_str());
            }
        }
    }
}

#[test]
fn indented_print_is_that_of_serde_json() {
    for text in ["1", "[]", "{}", "[[],{},[1,{\"a\":[]}]]", r#"{"a":{"b":[1,"x\"y",{"c":null}]},"\n":[]}"#] {
        let value = Value::parse(text).unwrap();
        assert_eq!(value.to_json_pretty(), serde_json::to_string_pretty(&value.to_json()).unwrap());
        assert_eq!(format!("{value:#}"), value.to_json_pretty());
        assert_eq!(format!("{value}"), text);
        assert_eq!(format!("{value:?}"), text);
    }
}

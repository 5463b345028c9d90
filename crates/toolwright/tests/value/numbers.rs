//! Numbers keep their digits.

use toolwright::value::{Number, Value};

const TEXTS: &[&str] = &[
    "0",
    "-0",
    "1",
    "-1",
    "1.0",
    "1e2",
    "1E+2",
    "1e400",
    "-0.0",
    "0.1",
    "0.10",
    "100.0",
    "9007199254740993",
    "9223372036854775807",
    "9223372036854775808",
    "-9223372036854775808",
    "-9223372036854775809",
    "18446744073709551615",
    "18446744073709551616",
    "123456789012345678901234567890",
    "0.1000000000000000055511151231257827",
    "1.7976931348623157e308",
    "5e-324",
    "0.000000000000000001",
    "0.0000000000000000001",
    "12345678901234567.89",
    "-0.5",
    "1e-7",
    "1234567890123456789",
    "12345678901234567890",
];

#[test]
fn every_text_survives() {
    for text in TEXTS {
        let value = Value::parse(text).unwrap_or_else(|error| panic!("{text}: {error}"));
        assert_eq!(value.to_json_string(), *text);
        assert_eq!(value.weight(), text.len() as u64, "{text}");
        assert_eq!(value.to_json().to_string(), *text, "to_json");
        assert_eq!(serde_json::to_string(&value).unwrap(), *text, "serde_json::to_string");
        assert_eq!(Value::from_json(value.to_json()).unwrap(), value, "{text} from_json");
        assert_eq!(Value::from_serialize(&value.to_json()).unwrap(), value, "{text} from_serialize");
        assert_eq!(value.deserialize::<serde_json::Value>().unwrap().to_string(), with_sign(text), "deserialize");
        assert_eq!(value.deserialize::<Value>().unwrap(), value, "{text} deserialize");
        assert_eq!(serde_json::to_value(&value).unwrap().to_string(), with_sign(text), "serde_json::to_value");
        assert_eq!(serde_json::from_str::<Value>(text).unwrap().to_string(), with_sign(text), "serde_json::from_str");
        // `serde_json` hands some numbers on as floats here, and `-0` as the integer 0: the value is the same.
        let handed_on = serde_json::from_value::<Value>(value.to_json()).unwrap();
        assert!(handed_on.same_value(&value), "{text} from_value gave {handed_on}");
        let float: f64 = text.parse().unwrap();
        assert_eq!(value.as_f64(), Some(float).filter(|float| float.is_finite()), "{text}");
        if let Some(number) = Number::from_f64(float) {
            assert_eq!(number.as_f64(), Some(float), "{text}");
        }
    }
}

#[test]
fn a_value_has_16_bytes() {
    assert_eq!(size_of::<Value>(), 16);
    assert_eq!(size_of::<Option<Value>>(), 16);
}

/// Where `serde_json` reads a number itself, it writes every exponent as `e` with a sign.
fn with_sign(text: &str) -> String {
    match text.split_once(['e', 'E']) {
        Some((digits, exponent)) if exponent.starts_with(['+', '-']) => format!("{digits}e{exponent}"),
        Some((digits, exponent)) => format!("{digits}e+{exponent}"),
        None => text.to_string(),
    }
}

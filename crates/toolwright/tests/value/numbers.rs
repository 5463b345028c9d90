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

#[test]
fn whole_numbers_answer_however_they_are_written() {
    type Case = (&'static str, Option<i64>, Option<u64>, bool, Option<&'static str>);
    let cases: &[Case] = &[
        ("100.0", Some(100), Some(100), true, Some("100")),
        ("1e2", Some(100), Some(100), true, Some("100")),
        ("12.5e1", Some(125), Some(125), true, Some("125")),
        ("100.5", None, None, false, None),
        ("-0", Some(0), Some(0), true, Some("0")),
        ("-0.0", Some(0), Some(0), true, Some("0")),
        ("0e5", Some(0), Some(0), true, Some("0")),
        ("-3.0", Some(-3), None, true, Some("-3")),
        ("1e-2", None, None, false, None),
        ("1e400", None, None, true, None),
        ("1e30", None, None, true, Some("1000000000000000000000000000000")),
        ("1e9999999999999999999999", None, None, true, None),
        ("-1e9999999999999999999999", None, None, true, None),
        ("1e-9999999999999999999999", None, None, false, None),
        ("18446744073709551615", None, Some(u64::MAX), true, Some("18446744073709551615")),
        ("18446744073709551615.0", None, Some(u64::MAX), true, Some("18446744073709551615")),
        ("-9223372036854775808.0", Some(i64::MIN), None, true, Some("-9223372036854775808")),
        ("123456789012345678901234567890", None, None, true, Some("123456789012345678901234567890")),
        ("123456789012345678901234567890.10", None, None, false, None),
    ];
    for (text, signed, unsigned, integer, written) in cases {
        let number = Number::parse(text).unwrap();
        assert_eq!(number.as_i64(), *signed, "{text}");
        assert_eq!(number.as_u64(), *unsigned, "{text}");
        assert_eq!(number.is_integer(), *integer, "{text}");
        // 1e400 has 401 digits and may be written out.
        if *text != "1e400" {
            assert_eq!(number.to_integer().map(|number| number.to_string()).as_deref(), *written, "{text}");
        }
    }
}

#[test]
fn equality_is_by_text_and_same_value_by_value() {
    let equal = [
        ("1", "1.0"),
        ("1", "10e-1"),
        ("0", "-0.0"),
        ("1e400", "10e399"),
        ("0.1", "0.10"),
        ("-0", "0e9"),
        ("22e29999999999999999999999", "22E+29999999999999999999999"),
        ("1e-99999999999999999999", "1E-099999999999999999999"),
        ("123456789012345678901234567890", "12345678901234567890123456789e1"),
        ("18446744073709551616", "18446744073709551616.0"),
    ];
    for (left, right) in equal {
        let (left, right) = (Number::parse(left).unwrap(), Number::parse(right).unwrap());
        assert!(left.same_value(&right) && right.same_value(&left) && left != right, "{left} {right}");
    }
    for (left, right) in [
        ("1", "2"),
        ("1", "-1"),
        ("1e400", "1e401"),
        ("0.1", "0.1000000000000000055511151231257827"),
        ("9007199254740992", "9007199254740993.0"),
        ("1e99999999999999999999", "1e99999999999999999998"),
    ] {
        let (left, right) = (Number::parse(left).unwrap(), Number::parse(right).unwrap());
        assert!(!left.same_value(&right) && left != right, "{left} {right}");
    }
}

#[test]
fn only_numbers_are_numbers() {
    for text in ["", "-", "+1", "01", "1.", ".5", "1e", "NaN", "inf", "1 ", " 1", "0x10", "1_000", "--1", "1.2.3", "1e1.5", "１"] {
        assert_eq!(Number::parse(text), None, "{text}");
    }
    assert_eq!(Number::from_f64(f64::NAN), None);
    assert_eq!(Number::from_f64(f64::NEG_INFINITY), None);
    assert_eq!(Number::from_f32(0.1).unwrap().to_string(), "0.1");
    assert_eq!(Number::from_f64(1.0).unwrap().to_string(), "1.0");
    assert_eq!(Number::from_f64(1e300).unwrap().to_string(), "1e300");
}

#[test]
fn every_integer_width_fits() {
    assert_eq!(Value::from(i64::MIN).to_json_string(), i64::MIN.to_string());
    assert_eq!(Value::from(u64::MAX).to_json_string(), u64::MAX.to_string());
    for shift in 0..64 {
        for integer in [1_u64 << shift, (1 << shift) - 1, 10_u64.saturating_pow(shift), 10_u64.saturating_pow(shift) - 1] {
            assert_eq!(Number::from(integer).to_string(), integer.to_string());
            assert_eq!(Number::parse(&integer.to_string()), Some(Number::from(integer)));
            let negative = (integer as i64).wrapping_neg();
            assert_eq!(Number::from(negative).to_string(), negative.to_string());
            assert_eq!(Number::from(negative).weight(), negative.to_string().len() as u64);
        }
    }
}

//! Random documents, printed and read again, and mutilated ones next to `serde_json`.
//!
//! `VALUE_CASES=200000 cargo test --test value` runs longer than the default.

use proptest::prelude::*;
use toolwright::value::{LoneSurrogates, ParseErrorKind, ParseOptions, Value};

#[expect(clippy::disallowed_methods, reason = "a longer run is asked for from outside")]
fn config() -> ProptestConfig {
    let cases = std::env::var("VALUE_CASES").ok().and_then(|cases| cases.parse().ok()).unwrap_or(3_000);
    ProptestConfig { cases, failure_persistence: None, ..ProptestConfig::default() }
}

fn number() -> impl Strategy<Value = String> {
    prop_oneof![
        any::<i64>().prop_map(|integer| integer.to_string()),
        any::<u64>().prop_map(|integer| integer.to_string()),
        any::<f64>().prop_filter("finite", |float| float.is_finite()).prop_map(|float| format!("{float:?}")),
        (-1_000_i32..1_000, 0_u8..4).prop_map(|(whole, zeros)| format!("{whole}.{}5", "0".repeat(zeros.into()))),
        "-?(0|[1-9][0-9]{0,25})(\\.[0-9]{1,22})?([eE][+-]?[0-9]{1,3})?",
    ]
}

fn text() -> impl Strategy<Value = String> {
    prop_oneof!["[a-e]{0,3}", any::<String>(), "\\PC{0,60}", "[\\x00-\\x7f]{0,40}"]
}

fn document() -> impl Strategy<Value = String> {
    let quoted = || text().prop_map(|text| serde_json::to_string(&text).unwrap_or_default());
    let scalar = prop_oneof![Just("null".to_string()), Just("true".to_string()), Just("false".to_string()), number(), quoted()];
    scalar.prop_recursive(5, 64, 12, move |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..12).prop_map(|items| format!("[{}]", items.join(","))),
            prop::collection::vec((quoted(), inner), 0..12).prop_map(|members| {
                let members: Vec<String> = members.into_iter().map(|(key, value)| format!("{key}:{value}")).collect();
                format!("{{{}}}", members.join(","))
            }),
        ]
    })
}

/// A few bytes replaced, removed, doubled or put in.
fn mutilated() -> impl Strategy<Value = Vec<u8>> {
    let interesting = prop::sample::select(br#"{}[]",:\/0123456789.eE+-tfnu dDbB8c'"#.to_vec());
    let byte = prop_oneof![3 => interesting, 1 => any::<u8>()];
    (document(), prop::collection::vec((any::<prop::sample::Index>(), 0_u8..4, byte), 0..4)).prop_map(|(text, changes)| {
        let mut bytes = text.into_bytes();
        for (at, kind, byte) in changes {
            let at = at.index(bytes.len() + 1);
            match (kind, bytes.get(at).copied()) {
                (0, Some(_)) => bytes[at] = byte,
                (1, Some(_)) => drop(bytes.remove(at)),
                (2, Some(same)) => bytes.insert(at, same),
                _ => bytes.insert(at, byte),
            }
        }
        bytes
    })
}

/// Reads with both; the verdict and the value must be the same.
fn check(bytes: &[u8]) -> Result<(), TestCaseError> {
    let theirs = serde_json::from_slice::<serde_json::Value>(bytes);
    let ours = Value::parse(bytes);
    match (&ours, &theirs) {
        (Ok(ours), Ok(theirs)) => {
            let theirs = Value::from_json(theirs.clone()).unwrap();
            prop_assert!(ours.same_value(&theirs), "{} {}", ours, theirs);
            let printed = ours.to_json_string();
            prop_assert_eq!(&Value::parse(&printed).unwrap(), ours);
            prop_assert_eq!(&Value::parse(ours.to_json_pretty()).unwrap(), ours);
            prop_assert!(ours.weight() <= printed.len() as u64);
            prop_assert_eq!(&Value::from_serialize(ours).unwrap(), ours);
            prop_assert_eq!(&ours.deserialize::<Value>().unwrap(), ours);
            prop_assert_eq!(&ours.deep_clone(), ours);
            prop_assert_eq!(serde_json::to_string(ours).unwrap(), printed);
        }
        (Err(ours), Err(_)) => {
            prop_assert!(ours.offset <= bytes.len());
            prop_assert!(ours.line >= 1 && ours.column >= 1);
        }
        // `serde_json` stops one level earlier.
        (Ok(ours), Err(_)) if ours.depth() >= 128 => {}
        _ => prop_assert!(false, "ours {:?}, serde_json {:?}", ours, theirs),
    }
    Ok(())
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn printed_and_read_again_is_the_same(text in document()) {
        let value = Value::parse(&text).unwrap();
        prop_assert_eq!(Value::parse(value.to_json_string()).unwrap(), value);
        check(text.as_bytes())?;
    }

    #[test]
    fn the_verdict_on_mutilated_documents_is_that_of_serde_json(bytes in mutilated()) {
        check(&bytes)?;
    }

    #[test]
    fn no_bytes_make_it_panic(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        let _ = Value::parse(&bytes);
        check(&bytes)?;
    }

    #[test]
    fn replacing_lone_surrogates_leaves_no_other_fault(units in prop::collection::vec(prop_oneof![any::<u16>(), 0xD700_u16..0xE100], 0..12)) {
        let text: String = units.iter().map(|unit| format!("\\u{unit:04x}")).collect();
        let options = ParseOptions { lone_surrogates: LoneSurrogates::Replace, ..ParseOptions::default() };
        let parsed = Value::parse_with(format!("\"{text}\""), &options).unwrap();
        let expected = String::from_utf16_lossy(&units);
        prop_assert_eq!(parsed.value.as_str(), Some(expected.as_str()));
        let lone = char::decode_utf16(units).filter(Result::is_err).count();
        prop_assert_eq!(parsed.replaced, lone);
        let refused = Value::parse(format!("\"{text}\""));
        prop_assert_eq!(refused.is_err(), lone > 0);
        if let Err(error) = refused {
            let lone = matches!(error.kind, ParseErrorKind::LoneSurrogate { .. });
            prop_assert!(lone);
        }
    }
}

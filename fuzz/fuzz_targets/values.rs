//! Any bytes as JSON: no panic, the verdict of `serde_json`, and the print reads back as the same value.
#![no_main]

use libfuzzer_sys::fuzz_target;
use toolwright::value::{LoneSurrogates, ParseOptions, Value};

fuzz_target!(|bytes: &[u8]| {
    let ours = Value::parse(bytes);
    let theirs = serde_json::from_slice::<serde_json::Value>(bytes);
    match (&ours, theirs) {
        (Ok(ours), Ok(theirs)) => {
            let theirs = Value::from_json(theirs).expect("read by `serde_json`");
            assert!(ours.same_value(&theirs));
            let printed = ours.to_json_string();
            assert!(ours.weight() <= printed.len() as u64);
            assert_eq!(&Value::parse(&printed).expect("printed by us"), ours);
            assert_eq!(&Value::parse(ours.to_json_pretty()).expect("printed by us"), ours);
            assert_eq!(&Value::from_serialize(ours).expect("within the limits"), ours);
            assert_eq!(&ours.deserialize::<Value>().expect("the same type"), ours);
        }
        (Err(error), Err(_)) => {
            assert!(error.offset <= bytes.len());
            let _ = (error.to_string(), error.help());
        }
        // `serde_json` stops one level earlier.
        (Ok(ours), Err(_)) => assert!(ours.depth() >= 128),
        (Err(error), Ok(_)) => panic!("{error}"),
    }
    let options = ParseOptions { lone_surrogates: LoneSurrogates::Replace, depth_max: u32::MAX };
    if let Ok(parsed) = Value::parse_with(bytes, &options) {
        assert_eq!(Value::parse_with(parsed.value.to_json_string(), &options).expect("printed by us").value, parsed.value);
    }
});

//! Ten composites that are wrong in one way each: one finding, which a newcomer can act on without the documentation.

use crate::world::{World, fixtures, golden};

/// What is wrong with each, and the code that says so.
const WRONG: [(&str, &str); 10] = [
    ("path-typo", "unresolved_reference"),
    ("number-for-text", "invalid_input"),
    ("may-be-null", "may_not_fit"),
    ("missing-argument", "invalid_input"),
    ("argument-too-many", "invalid_input"),
    ("forward-reference", "forward_reference"),
    ("unlisted-effect", "step_not_chainable"),
    ("unknown-tool", "step_missing"),
    ("bad-enum", "invalid_input"),
    ("array-for-item", "invalid_input"),
];

#[test]
fn a_composite_that_is_wrong_in_one_way_has_one_finding() {
    let world = World::new("wrong");
    for (name, code) in WRONG {
        let file = format!("{name}.yaml");
        world.copy(&format!("wrong/{file}"), &file);
        let form = |form: &str| world.run(&format!("check {file} --offline --deny warnings --format {form}"));
        let (human, plain, json) = (form("human"), form("plain"), form("json"));
        let exit = if code == "step_not_chainable" { 11 } else { 20 };
        assert_eq!((human.code, plain.code, json.code), (exit, exit, exit), "{name}: {}", human.out);
        assert_eq!(plain.out.lines().count(), 1, "{name}: {}", plain.out);
        let document: serde_json::Value = serde_json::from_str(&json.out).unwrap();
        let findings = document["findings"].as_array().unwrap();
        assert_eq!(findings.len(), 1, "{name}: {}", json.out);
        assert_eq!(findings[0]["code"], code, "{name}");
        assert!(findings[0]["line"].is_u64() && findings[0]["help"].is_string(), "{name}: {}", json.out);
        golden(&format!("wrong/{name}.txt"), &format!("{}\n{}\n{}", human.out, plain.out, json.out));
    }
}

#[test]
fn every_wrong_composite_is_listed() {
    let files = std::fs::read_dir(fixtures().join("wrong")).unwrap().count();
    assert_eq!(files, WRONG.len());
}

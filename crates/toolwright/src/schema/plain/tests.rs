use proptest::prelude::*;
use proptest::strategy::Union;

use super::super::{CompiledSchema, compile};
use crate::json;
use crate::value::{Text, Value};

/// Whether `verify` lets it in, and whether the validator was built for that.
fn judged(schema: &Value) -> (bool, bool) {
    let schema = CompiledSchema::new(schema.clone());
    (schema.verify().is_ok(), schema.is_built())
}

fn parsed(text: &str) -> Value {
    text.parse().expect("a test's schema is JSON")
}

const DRAFT7: &str = "http://json-schema.org/draft-07/schema#";

#[test]
fn a_plain_schema_waits_to_be_built() {
    for schema in [
        json!(true),
        json!({}),
        json!({"type": "object"}),
        json!({"type": "object", "properties": {"id": {"type": "string", "minLength": 1}, "pattern": {"type": "string"}, "$ref": {}}}),
        json!({"type": ["integer", "null"], "minimum": -1, "maximum": 1.5, "enum": [1, null], "default": 1}),
        json!({"properties": {"next": {"$ref": "#"}, "node": {"$ref": "#/$defs/Node"}}, "$defs": {"Node": {"type": "array", "items": {"$ref": "#/$defs/Node"}}}}),
        json!({"$ref": "#/definitions/A", "definitions": {"A": {"anyOf": [{"type": "string", "format": "uri"}, {"const": {"a": [1]}}]}}}),
        json!({"$schema": DRAFT7, "$ref": "#/definitions/A", "definitions": {"A": {}}}),
        json!({"$schema": "https://json-schema.org/draft/2020-12/schema", "x-order": {"a": 1}, "prefixItems": [{"not": {}}]}),
        json!({"$ref": "#"}),
        json!({"minLength": 2.0}),
    ] {
        assert_eq!(judged(&schema), (true, false), "{schema}");
        assert!(compile(&schema).is_ok(), "{schema}");
    }
}

#[test]
fn a_schema_that_only_its_validator_can_judge_is_built_at_once() {
    for schema in [
        json!({"pattern": "^[a-z]+$"}),
        json!({"patternProperties": {"^x-": {}}}),
        json!({"properties": {"a": {"items": {"pattern": "a|b"}}}}),
        json!({"$id": "https://example.com/a", "type": "object"}),
        json!({"$defs": {"A": {"$anchor": "here"}}, "$ref": "#here"}),
        json!({"$defs": {"A": {"$dynamicAnchor": "here"}}, "$dynamicRef": "#here"}),
        json!({"properties": {"a b": {}}, "$ref": "#/properties/a%20b"}),
        json!({"$schema": "http://json-schema.org/draft-04/schema#", "type": "object"}),
        json!({"$schema": "https://json-schema.org/draft/2019-09/schema", "type": "object"}),
        json!({"$schema": DRAFT7, "$defs": {"A": {}}, "$ref": "#/$defs/A"}),
        json!({"$schema": DRAFT7, "items": [{"type": "string"}]}),
        json!({"properties": {"a": {"$schema": DRAFT7}}}),
        json!({"unevaluatedProperties": false}),
        json!({"default": {"$ref": "#/$defs/A"}}),
        json!({"unknown": 1}),
        (0..40).fold(json!({}), |inner, _| Value::object([(Text::from("not"), inner)])),
    ] {
        assert_eq!(judged(&schema), (true, true), "{schema}");
    }
}

#[test]
fn what_cannot_be_used_is_refused_when_it_is_registered() {
    for schema in [
        json!(7),
        json!([]),
        json!({"type": "strnig"}),
        json!({"type": ["string", "string"]}),
        json!({"type": []}),
        json!({"required": "a"}),
        json!({"properties": []}),
        json!({"properties": {"a": 1}}),
        json!({"properties": {"a": {"properties": {"b": {"type": 1}}}}}),
        json!({"items": [{}]}),
        json!({"anyOf": []}),
        json!({"enum": "a"}),
        json!({"minLength": -1}),
        json!({"maximum": "1"}),
        json!({"multipleOf": 0}),
        json!({"uniqueItems": 1}),
        json!({"format": 1}),
        json!({"title": 1}),
        json!({"pattern": "("}),
        json!({"patternProperties": {"(": {}}}),
        json!({"$ref": "#/$defs/Gone"}),
        json!({"$ref": "#/$defs/Gone", "$defs": {"There": {}}}),
        json!({"$ref": "#/properties/a/default", "properties": {"a": {"default": {"type": "strnig"}}}}),
        json!({"properties": {"a": {"$ref": "#/definitions/A"}}, "$defs": {"A": {}}}),
        json!({"$ref": "https://example.com/other.json"}),
        json!({"$ref": "other.json"}),
        json!({"$ref": 1}),
        json!({"$ref": "#gone"}),
        json!({"$schema": "https://example.com/dialect"}),
        json!({"$schema": 1}),
        json!({"$schema": DRAFT7, "$ref": "#/$defs/A", "$defs": {"A": {"type": "strnig"}}}),
        json!({"$schema": DRAFT7, "type": "strnig"}),
    ] {
        assert_eq!(judged(&schema), (false, true), "{schema}");
        let refused = CompiledSchema::new(schema.clone()).verify();
        assert_eq!(refused.err(), compile(&schema).err(), "the words are those of building it: {schema}");
    }
}

/// Right and wrong values of every keyword that is looked at, and of some that are not.
fn any_schema() -> impl Strategy<Value = Value> {
    let scalars =
        ["1", "-1", "2.5", "3.0", "1e400", "12345678901234567890123", "true", "null", "\"string\"", "\"(\"", "\"#/$defs/A\"", "[]", "{}"];
    let leaf = prop_oneof![
        proptest::sample::select(scalars.to_vec()).prop_map(parsed),
        proptest::sample::select(vec!["#", "#/$defs/A", "#/$defs/B", "#/definitions/A", "#/definitions/0", "#A", "http://a/b"])
            .prop_map(Value::from),
        proptest::sample::select(vec!["object", "array", "integer", "strnig"]).prop_map(Value::from),
        Just(json!(["string", "null"])),
        Just(json!(true)),
    ];
    let keywords = [
        "type",
        "required",
        "uniqueItems",
        "format",
        "title",
        "properties",
        "items",
        "additionalProperties",
        "contains",
        "propertyNames",
        "not",
        "if",
        "then",
        "else",
        "allOf",
        "anyOf",
        "oneOf",
        "prefixItems",
        "enum",
        "const",
        "default",
        "minLength",
        "maxItems",
        "minimum",
        "exclusiveMaximum",
        "multipleOf",
        "$ref",
        "$schema",
        "$defs",
        "definitions",
        "x-a",
        "pattern",
        "$id",
        "A",
        "B",
        "dependentSchemas",
    ];
    leaf.prop_recursive(5, 48, 6, move |inner| {
        let member = (proptest::sample::select(keywords.to_vec()), inner.clone());
        let object = proptest::collection::vec(member, 0..6)
            .prop_map(|members| Value::object(members.into_iter().map(|(key, value)| (Text::from(key), value))));
        let named =
            (inner.clone(), inner.clone()).prop_map(|(one, other)| Value::object([(Text::from("A"), one), (Text::from("0"), other)]));
        let array = proptest::collection::vec(inner, 0..3).prop_map(Value::array);
        Union::new_weighted(vec![(6, object.boxed()), (2, named.boxed()), (1, array.boxed())])
    })
}

/// A schema mostly made of what tools have, so that many are plain.
fn likely_schema() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(json!({"type": "string", "minLength": 1})),
        Just(json!({"type": "integer", "minimum": 0})),
        Just(json!({"$ref": "#/$defs/A"})),
        Just(json!({"$ref": "#"})),
        Just(json!({"enum": ["a", 1, null]})),
        Just(json!({})),
        Just(json!(false)),
        any_schema(),
    ];
    let inner = leaf.prop_recursive(4, 24, 3, |inner| {
        let two = (inner.clone(), inner);
        prop_oneof![
            two.clone().prop_map(|(a, b)| json!({"type": "object", "properties": {"a": (a), "b": (b)}, "required": ["a"]})),
            two.clone().prop_map(|(a, b)| json!({"type": "array", "items": (a), "contains": (b)})),
            two.clone().prop_map(|(a, b)| json!({"anyOf": [(a), (b)], "title": "either"})),
            two.prop_map(|(a, b)| json!({"if": (a), "then": (b), "additionalProperties": false})),
        ]
    });
    (inner.clone(), inner).prop_map(|(root, target)| {
        let mut members: Vec<(Text, Value)> = Vec::new();
        if let Some(root) = root.as_object() {
            members.extend(root.iter().map(|(key, value)| (key.clone(), value.clone())));
        }
        members.push(("$defs".into(), Value::object([(Text::from("A"), target)])));
        Value::object(members)
    })
}

fn agrees_with_building(schema: &Value) -> Result<(), TestCaseError> {
    let (let_in, built) = judged(schema);
    prop_assert_eq!(let_in, compile(schema).is_ok(), "built: {}, schema: {}", built, schema);
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, ..ProptestConfig::default() })]

    #[test]
    fn judging_lets_in_what_can_be_built_and_nothing_else(schema in any_schema()) {
        agrees_with_building(&schema)?;
    }

    #[test]
    fn likely_schemas_are_judged_as_building_would(schema in likely_schema()) {
        agrees_with_building(&schema)?;
    }
}

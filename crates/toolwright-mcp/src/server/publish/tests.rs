use toolwright::json;

use super::*;

fn for_gemini(schema: &Value) -> Input {
    input(Some(schema), &Profile::named("gemini").unwrap()).unwrap()
}

fn standard(schema: &Value) -> Value {
    input(Some(schema), &Profile::default()).unwrap().schema
}

/// What a root schema becomes for a client that takes the protocol, and for one that takes little.
#[test]
fn published_forms() {
    let table = [
        (json!({}), json!({"type": "object", "properties": {}}), None),
        (
            json!({"type": "object", "additionalProperties": false}),
            json!({"type": "object", "additionalProperties": false, "properties": {}}),
            None,
        ),
        (json!({"type": ["object", "null"], "properties": {"a": true}}), json!({"type": "object", "properties": {"a": true}}), None),
        (
            json!({"$schema": "http://json-schema.org/draft-07/schema#", "type": "object", "properties": {"a": {"additionalProperties": {"type": "string"}}}}),
            json!({"$schema": "http://json-schema.org/draft-07/schema#", "type": "object", "properties": {"a": {"additionalProperties": {"type": "string"}}}}),
            Some(json!({"type": "object", "properties": {"a": {"additionalProperties": true}}})),
        ),
        // `additionalProperties` and `$schema` as names of members are names.
        (
            json!({"type": "object", "properties": {"$schema": {"type": "string"}, "additionalProperties": {"type": "object"}}}),
            json!({"type": "object", "properties": {"$schema": {"type": "string"}, "additionalProperties": {"type": "object"}}}),
            None,
        ),
        (
            json!({"type": "object", "properties": {"at": {"$ref": "#/$defs/Place", "description": "where"}}, "$defs": {"Place": {"type": "string", "description": "a place"}}}),
            json!({"type": "object", "properties": {"at": {"$ref": "#/$defs/Place", "description": "where"}}, "$defs": {"Place": {"type": "string", "description": "a place"}}}),
            Some(json!({"type": "object", "properties": {"at": {"type": "string", "description": "where"}}})),
        ),
        (
            json!({"$ref": "#/definitions/In", "definitions": {"In": {"type": "object", "properties": {"a": {"type": "integer"}}}}}),
            json!({"definitions": {"In": {"type": "object", "properties": {"a": {"type": "integer"}}}}, "type": "object", "properties": {"a": {"type": "integer"}}}),
            Some(json!({"type": "object", "properties": {"a": {"type": "integer"}}})),
        ),
    ];
    for (schema, usual, plain) in table {
        assert_eq!(standard(&schema), usual, "{schema}");
        assert_eq!(for_gemini(&schema).schema, plain.unwrap_or(usual), "{schema}");
    }
    assert_eq!(input(None, &Profile::default()).unwrap().schema, json!({"type": "object", "properties": {}}));
}

#[test]
fn a_schema_that_reaches_itself_keeps_that_reference_and_what_it_needs() {
    let schema = json!({
        "type": "object",
        "properties": {"root": {"$ref": "#/$defs/Node"}, "name": {"$ref": "#/$defs/Name"}},
        "$defs": {
            "Node": {"type": "object", "properties": {"name": {"$ref": "#/$defs/Name"}, "kids": {"type": "array", "items": {"$ref": "#/$defs/Node"}}}},
            "Name": {"type": "string"},
        },
    });
    let node =
        json!({"type": "object", "properties": {"name": {"type": "string"}, "kids": {"type": "array", "items": {"$ref": "#/$defs/Node"}}}});
    let expected = json!({"type": "object", "properties": {"root": node, "name": {"type": "string"}}, "$defs": {"Node": node}});
    assert_eq!(for_gemini(&schema).schema, expected);
}

#[test]
fn a_whole_that_reaches_itself_stays_a_reference_to_the_whole() {
    let schema = json!({"type": "object", "properties": {"not": {"$ref": "#"}}});
    assert_eq!(for_gemini(&schema).schema, schema);
}

#[test]
fn a_small_schema_that_stands_for_a_huge_one_is_refused() {
    let mut definitions = vec![("D0".to_owned(), json!({"type": "string"}))];
    for at in 1..40 {
        let before = json!({"$ref": (format!("#/$defs/D{}", at - 1))});
        definitions.push((format!("D{at}"), json!({"type": "object", "properties": {"a": (before.to_json()), "b": (before.to_json())}})));
    }
    let schema = json!({"type": "object", "properties": {"x": {"$ref": "#/$defs/D39"}}});
    let schema = Value::Object(schema.as_object().unwrap().with("$defs", Value::object(definitions)));
    assert_eq!(input(Some(&schema), &Profile::named("gemini").unwrap()), Err(TooLarge));
    assert_eq!(standard(&schema), schema, "who can follow references gets it");
}

#[test]
fn unknown_references_keep_every_definition() {
    let schema =
        json!({"type": "object", "properties": {"a": {"$ref": "#here"}}, "$defs": {"Here": {"$anchor": "here", "type": "string"}}});
    assert_eq!(for_gemini(&schema).schema, schema);
}

#[test]
fn what_stands_beside_a_reference_counts_unless_the_draft_says_no() {
    let with = |dialect: &str| {
        json!({
            "$schema": dialect,
            "type": "object",
            "properties": {"a": {"$ref": "#/$defs/S", "minLength": 3, "maxLength": 9}},
            "$defs": {"S": {"type": "string", "maxLength": 5}},
        })
    };
    let property = |dialect: &str| for_gemini(&with(dialect)).schema.pointer("/properties/a").cloned().unwrap();
    assert_eq!(
        property("https://json-schema.org/draft/2020-12/schema"),
        json!({"allOf": [{"type": "string", "maxLength": 5}, {"minLength": 3, "maxLength": 9}]}),
    );
    assert_eq!(property("http://json-schema.org/draft-07/schema#"), json!({"type": "string", "maxLength": 5}));
}

/// Case C07: one of two sets of members.
#[test]
fn a_choice_at_the_root_becomes_words() {
    let text = json!({"type": "string"});
    let schema = json!({
        "type": "object",
        "properties": {"edge_id": text, "from": text, "kind": text, "to": text},
        "oneOf": [{"required": ["edge_id"]}, {"required": ["from", "kind", "to"]}],
    });
    let given = for_gemini(&schema);
    assert_eq!(given.schema, json!({"type": "object", "properties": {"edge_id": text, "from": text, "kind": text, "to": text}}));
    assert_eq!(given.notes, ["Give exactly one of these: `edge_id`; or `from` and `kind` and `to`."]);
    assert_eq!(standard(&schema), schema, "the protocol allows it");
}

#[test]
fn forms_with_a_tag_become_one_form_with_all_members() {
    let schema = json!({
        "anyOf": [
            {"type": "object", "properties": {"kind": {"const": "file"}, "path": {"type": "string"}}, "required": ["kind", "path"]},
            {"type": "object", "properties": {"kind": {"const": "page"}, "url": {"type": "string"}}, "required": ["kind", "url"]},
        ],
    });
    let given = for_gemini(&schema);
    let properties = json!({"kind": {"enum": ["file", "page"]}, "path": {"type": "string"}, "url": {"type": "string"}});
    assert_eq!(given.schema, json!({"type": "object", "properties": properties, "required": ["kind"]}));
    assert_eq!(given.notes, ["Give at least one of these: `kind` and `path`; or `kind` and `url`."]);
}

#[test]
fn all_of_several_demand_what_each_demands() {
    let schema = json!({
        "type": "object",
        "allOf": [
            {"properties": {"a": {"type": "string"}}, "required": ["a"]},
            {"$ref": "#/$defs/B"},
            {"if": {"required": ["c"]}, "then": {"properties": {"d": {"type": "integer"}}, "required": ["d"]}},
        ],
        "$defs": {"B": {"properties": {"b": {"type": "number"}}, "required": ["b"]}},
    });
    let given = for_gemini(&schema);
    let properties = json!({"a": {"type": "string"}, "b": {"type": "number"}, "d": {"type": "integer"}});
    assert_eq!(given.schema, json!({"type": "object", "properties": properties, "required": ["a", "b"]}));
    assert_eq!(given.notes, Vec::<String>::new());
}

#[test]
fn outputs_are_objects_for_sessions_and_anything_without() {
    let sessions = |schema: &Value| output(Some(schema), &Profile::default(), Generation::Sessions).unwrap();
    let sessionless = |schema: &Value| output(Some(schema), &Profile::default(), Generation::Sessionless).unwrap();
    let list = json!({"type": "array", "items": {"type": "string"}});
    assert_eq!((sessions(&list), sessionless(&list)), (None, Some(list)));
    let object = json!({"type": "object", "properties": {"n": {"type": "integer"}}});
    assert_eq!((sessions(&object), sessionless(&object)), (Some(object.clone()), Some(object)));
    let behind = json!({"$ref": "#/$defs/O", "$defs": {"O": {"type": "object"}}});
    assert_eq!(sessions(&behind), Some(json!({"$defs": {"O": {"type": "object"}}, "type": "object"})));
    assert_eq!(sessionless(&behind), Some(behind));
    assert_eq!(sessions(&Value::Bool(true)), None);
}

proptest::proptest! {
    /// Whatever a schema is made of, its plain form ends, and is plain.
    #[test]
    fn plain_forms_are_plain(schema in schemas()) {
        let Ok(given) = input(Some(&schema), &Profile::named("gemini").unwrap()) else { return Ok(()) };
        let root = given.schema.as_object().unwrap().clone();
        proptest::prop_assert_eq!(root.get("type").and_then(Value::as_str), Some("object"));
        proptest::prop_assert!(root.get("properties").and_then(Value::as_object).is_some());
        for keyword in ["oneOf", "anyOf", "allOf", "not", "if", "$schema"] {
            proptest::prop_assert!(root.get(keyword).is_none(), "{} in {}", keyword, given.schema);
        }
        let mut kept = Vec::new();
        references(&given.schema, &mut kept);
        for reference in kept {
            let pointer = reference.trim_start_matches('#');
            proptest::prop_assert!(given.schema.pointer(pointer).is_some(), "`{}` leads nowhere in {}", reference, given.schema);
        }
    }
}

fn references(value: &Value, kept: &mut Vec<String>) {
    match value {
        Value::Object(members) => {
            kept.extend(members.get("$ref").and_then(Value::as_str).map(str::to_owned));
            members.values().iter().for_each(|value| references(value, kept));
        }
        Value::Array(items) => items.iter().for_each(|value| references(value, kept)),
        _ => {}
    }
}

/// Schemas over three definitions that refer to each other at will.
fn schemas() -> impl proptest::strategy::Strategy<Value = Value> {
    use proptest::prelude::*;
    let leaf = prop_oneof![
        Just(json!({"type": "string"})),
        Just(json!({"$ref": "#/$defs/A"})),
        Just(json!({"$ref": "#/$defs/B", "description": "here"})),
        Just(json!({"$ref": "#/$defs/C"})),
        Just(json!({"required": ["a"]})),
        Just(Value::Bool(true)),
    ];
    let part = leaf.prop_recursive(3, 24, 3, |inner| {
        prop_oneof![
            proptest::collection::vec(inner.clone(), 1..3).prop_map(|forms| json!({"oneOf": (Value::from(forms).to_json())})),
            proptest::collection::vec(inner.clone(), 1..3)
                .prop_map(|forms| json!({"type": "object", "allOf": (Value::from(forms).to_json())})),
            inner
                .clone()
                .prop_map(|one| json!({"type": "object", "properties": {"a": (one.to_json())}, "additionalProperties": (one.to_json())})),
            inner.prop_map(|one| json!({"type": "array", "items": (one.to_json())})),
        ]
    });
    proptest::collection::vec(part, 4).prop_map(|parts| {
        let [root, a, b, c] = parts.try_into().unwrap_or_default();
        let root = root.as_object().cloned().unwrap_or_default();
        Value::Object(root.with("$defs", json!({"A": (a.to_json()), "B": (b.to_json()), "C": (c.to_json())})))
    })
}

//! Arguments and outputs at a tool's border: repairs, schemas of every draft, typed tools, fixed arguments.

use std::collections::BTreeMap;
use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use toolwright::{
    Answer, CallError, Catalog, Composer, Fault, HostGate, Invocation, Object, Registry, ToolDef, ToolError, Value, json, tool,
};

use crate::world::{Events, Log, block_on, parsed, run};

fn only(tool: ToolDef) -> Catalog {
    Registry::new().with(tool).unwrap().seal()
}

/// What a reading tool with this input schema gets for these arguments, with the repairs that were told.
fn received(schema: &str, arguments: &str) -> Result<(String, Vec<String>), CallError> {
    let log = Log::new();
    let tool = log.close(tool("t", "A tool").reads().input_schema(parsed(schema)), |input| Ok(Answer::new(input)));
    let result = block_on(run(&only(tool), "t", parsed(arguments)));
    assert_eq!(log.tools().len(), usize::from(result.is_ok()), "a refused call reaches nothing");
    result.map(|result| (log.all()[0].input.to_json_string(), result.notes.iter().map(ToString::to_string).collect()))
}

#[test]
fn an_integral_number_is_written_as_an_integer_where_one_is_wanted() {
    let schema = r#"{"type": "object", "properties": {
        "n": {"type": "integer"}, "x": {"type": "number"}, "both": {"type": ["integer", "number"]}, "maybe": {"type": ["integer", "null"]},
        "list": {"type": "array", "items": {"type": "integer"}}, "o": {"type": "object", "properties": {"a/b": {"type": "integer"}}}}}"#;
    for (sent, got, pointers) in [
        (r#"{"n":100.0}"#, r#"{"n":100}"#, vec!["/n"]),
        (r#"{"n":1e2}"#, r#"{"n":100}"#, vec!["/n"]),
        (r#"{"n":-0.0}"#, r#"{"n":0}"#, vec!["/n"]),
        (r#"{"n":12345678901234567890123.0}"#, r#"{"n":12345678901234567890123}"#, vec!["/n"]),
        (r#"{"n":7}"#, r#"{"n":7}"#, vec![]),
        (r#"{"x":2.0,"both":3.0}"#, r#"{"x":2.0,"both":3.0}"#, vec![]),
        (r#"{"maybe":4.0}"#, r#"{"maybe":4}"#, vec!["/maybe"]),
        (
            r#"{"z":1,"list":[1,2.0,3],"o":{"a/b":5.0},"n":1.0}"#,
            r#"{"z":1,"list":[1,2,3],"o":{"a/b":5},"n":1}"#,
            vec!["/list/1", "/o/a~1b", "/n"],
        ),
    ] {
        let (arguments, notes) = received(schema, sent).unwrap();
        assert_eq!(arguments, got);
        assert_eq!(notes.len(), pointers.len(), "{notes:?}");
        for pointer in pointers {
            assert!(notes.iter().any(|note| note.contains(&format!("{pointer}:"))), "{pointer} in {notes:?}");
        }
    }
    for wrong in [r#"{"n":100.5}"#, r#"{"n":"100"}"#, r#"{"n":true}"#, r#"{"n":[1.0]}"#, r#"{"list":[1.5]}"#] {
        assert_eq!(received(schema, wrong).unwrap_err().code(), "invalid_input", "{wrong}");
    }
}

#[test]
fn a_stray_null_is_left_out_and_nothing_else_is_ever_changed() {
    let schema = r#"{"type": "object", "properties": {
        "name": {"type": "string"}, "note": {"type": ["string", "null"]}, "any": {}, "id": {"type": "string"}, "size": {"type": "integer", "default": 10},
        "o": {"type": "object", "properties": {"p": {"type": "string"}}}, "list": {"type": "array", "items": {"type": "string"}}}, "required": ["id"]}"#;
    let (arguments, notes) = received(schema, r#"{"id":"1","name":null,"note":null,"any":null,"o":{"p":null,"q":null}}"#).unwrap();
    assert_eq!(arguments, r#"{"id":"1","note":null,"any":null,"o":{"q":null}}"#);
    assert_eq!(notes.len(), 2, "{notes:?}");
    for (sent, got) in [(r#"{"id":""}"#, r#"{"id":""}"#), (r#"{"id":"1","unknown":{"a":1}}"#, r#"{"id":"1","unknown":{"a":1}}"#)] {
        assert_eq!(received(schema, sent).unwrap(), (got.to_owned(), vec![]));
    }
    for wrong in [r#"{"id":null}"#, r#"{"id":"1","list":[null]}"#, r#"{"id":"1","name":null,"size":"x"}"#, "{}", "[]", r#""text""#, "7"] {
        assert_eq!(received(schema, wrong).unwrap_err().code(), "invalid_input", "{wrong}");
    }
}

#[test]
fn repairs_are_told_to_the_observer() {
    let log = Log::new();
    let schema = json!({"type": "object", "properties": {"n": {"type": "integer"}}});
    let tool = log.close(tool("t", "A tool").reads().input_schema(schema), |input| Ok(Answer::new(input)));
    let events = Arc::new(Events::default());
    block_on(only(tool).invoke(Invocation::new("t", parsed(r#"{"n": 5.0}"#)).diagnostics(events.scope()), ())).unwrap();
    let warnings = events.warnings();
    assert_eq!(warnings.len(), 1);
    assert_eq!(warnings[0].0, "repaired_argument");
    assert_eq!(warnings[0].1, "t");
    assert!(warnings[0].2.contains("/n"));
}

#[test]
fn findings_have_pointers_that_lead_to_the_value() {
    let schema = r#"{"type": "object", "properties": {"a": {"type": "array", "items": {"type": "object", "properties": {"k~/": {"enum": ["x"]}}}}}, "additionalProperties": false}"#;
    let error = received(schema, r#"{"a": [{}, {"k~/": "y"}], "b": 1}"#).unwrap_err();
    let Fault::InvalidInput { issues, .. } = error.root_cause() else { panic!("{error:?}") };
    let pointers: Vec<&str> = issues.iter().map(|issue| issue.pointer.as_str()).collect();
    assert_eq!(pointers.len(), 2);
    assert!(pointers.contains(&"/a/1/k~0~1") && pointers.contains(&""), "{pointers:?}");
    assert!(error.message().contains("/a/1/k~0~1: ") && !error.message().contains('\n'), "{error}");
}

#[test]
fn a_very_wrong_value_gives_a_bounded_error() {
    let schema = r#"{"type": "object", "additionalProperties": {"type": "integer"}}"#;
    let many = Value::object((0..500).map(|at| (format!("k{at}"), Value::from("x".repeat(10_000)))));
    let error = received(schema, &many.to_json_string()).unwrap_err();
    assert!(error.message().len() < 20_000, "{}", error.message().len());
}

#[test]
fn schemas_of_every_known_draft_are_read_and_others_are_refused() {
    let register = |schema: &str| {
        let tool = tool("t", "A tool").reads().input_schema(parsed(schema)).run_json(|value, _| std::future::ready(Ok(value)));
        Registry::new().with(tool).map(|_| ())
    };
    for fine in [
        "{}",
        "true",
        r#"{"type": ["object", "null"]}"#,
        r#"{"$schema": "https://json-schema.org/draft/2020-12/schema", "type": "object"}"#,
        r#"{"$schema": "https://json-schema.org/draft/2019-09/schema"}"#,
        r#"{"$schema": "http://json-schema.org/draft-07/schema#"}"#,
        r#"{"$schema": "http://json-schema.org/draft-06/schema#"}"#,
        r#"{"$schema": "http://json-schema.org/draft-04/schema#", "properties": {"n": {"minimum": 1, "exclusiveMinimum": true}}}"#,
        r##"{"$defs": {"node": {"type": "object", "properties": {"next": {"$ref": "#/$defs/node"}}}}, "$ref": "#/$defs/node"}"##,
        r##"{"type": "object", "properties": {"self": {"$ref": "#"}}}"##,
        r#"{"anyOf": [{"required": ["a"]}, {"required": ["b"]}]}"#,
    ] {
        assert_eq!(register(fine).map_err(|error| error.to_string()), Ok(()), "{fine}");
    }
    for wrong in [
        r#"{"$schema": "https://example.com/my-dialect"}"#,
        r#"{"type": "strng"}"#,
        r##"{"properties": {"a": {"$ref": "#/$defs/gone"}}}"##,
        r#"{"properties": {"a": {"$ref": "https://example.com/other.json"}}}"#,
        r#"{"properties": {"a": {"pattern": "("}}}"#,
        "[]",
        "7",
        "false",
        r#"{"type": "string"}"#,
        r#"{"type": ["string", "null"]}"#,
    ] {
        let error = register(wrong).unwrap_err();
        assert_eq!(error.code(), "invalid_schema", "{wrong}");
        assert!(!error.to_string().contains('\n'), "{error}");
    }
}

#[test]
fn a_recursive_schema_checks_every_level() {
    let schema = r##"{"$defs": {"node": {"type": "object", "properties": {"v": {"type": "integer"}, "next": {"$ref": "#/$defs/node"}}}}, "$ref": "#/$defs/node"}"##;
    received(schema, r#"{"v": 1, "next": {"next": {"v": 2}}}"#).unwrap();
    let error = received(schema, r#"{"next": {"next": {"v": "x"}}}"#).unwrap_err();
    assert!(error.message().contains("/next/next/v"), "{error}");
}

#[derive(Deserialize, JsonSchema)]
struct Search {
    query: String,
    #[serde(default)]
    limit: Option<u8>,
    #[serde(default)]
    page: Page,
}

#[derive(Default, Deserialize, JsonSchema)]
struct Page {
    #[serde(default)]
    number: u32,
}

#[derive(Serialize, JsonSchema)]
struct Found {
    hits: Vec<Hit>,
    by_author: BTreeMap<String, u64>,
    best: Option<Hit>,
}

#[derive(Clone, Serialize, JsonSchema)]
struct Hit {
    title: String,
    score: f64,
}

fn search() -> ToolDef {
    tool("search", "Searches").reads().run(|search: Search, call: toolwright::Call| async move {
        if search.query.is_empty() {
            return Err(ToolError::new("nothing to search for").code("empty"));
        }
        let hit = Hit { title: format!("{} {:?} {} {}", search.query, search.limit, search.page.number, call.tool()), score: 0.5 };
        Ok(Found { hits: vec![hit.clone()], by_author: BTreeMap::from([("ada".into(), 1)]), best: Some(hit) })
    })
}

#[test]
fn a_typed_tool_has_the_schemas_of_its_types() {
    let catalog = only(search());
    let tool = catalog.get("search").unwrap();
    assert!(tool.input_schema().unwrap().pointer("/properties/query").is_some());
    assert_eq!(tool.input_schema().unwrap().get("required"), Some(&json!(["query"])));
    assert!(tool.output_schema().unwrap().pointer("/properties/hits").is_some());
    let result = block_on(run(&catalog, "search", json!({"query": "x", "limit": 3, "page": {"number": 2}}))).unwrap();
    assert_eq!(result.output.unwrap().pointer("/hits/0/title"), Some(&json!("x Some(3) 2 search")));
    let result = block_on(run(&catalog, "search", parsed(r#"{"query": "x", "limit": 3.0, "page": {"number": 2.0}}"#))).unwrap();
    assert_eq!(result.output.unwrap().pointer("/hits/0/title"), Some(&json!("x Some(3) 2 search")));
    let result = block_on(run(&catalog, "search", json!({"query": "x", "limit": null}))).unwrap();
    assert_eq!(result.output.unwrap().pointer("/best/title"), Some(&json!("x None 0 search")));
    for wrong in [json!({}), json!({"query": 7}), json!({"query": "x", "limit": 256}), json!({"query": "x", "limit": -1})] {
        assert_eq!(block_on(run(&catalog, "search", wrong.clone())).unwrap_err().code(), "invalid_input", "{wrong}");
    }
    assert_eq!(block_on(run(&catalog, "search", json!({"query": ""}))).unwrap_err().message(), "nothing to search for");
}

#[test]
fn a_typed_tool_can_be_a_plain_function() {
    #[derive(Deserialize, JsonSchema)]
    struct Nothing {}
    let answer = tool("answer", "A tool").reads().run_sync(|_: Nothing, call| Ok(format!("{} at {}", call.tool(), call.step())));
    let catalog = only(answer);
    assert_eq!(block_on(run(&catalog, "answer", Value::Null)).unwrap().output, Some(json!("answer at answer")));
    assert_eq!(catalog.get("answer").unwrap().output_schema().unwrap().get("type"), Some(&json!("string")));
}

#[test]
fn schemas_that_a_host_gives_win_over_those_of_the_types() {
    #[derive(Deserialize, JsonSchema)]
    struct Input {
        n: i64,
    }
    let strict = json!({"type": "object", "properties": {"n": {"type": "integer", "maximum": 9}}, "required": ["n"]});
    let tool = tool("t", "A tool").reads().input_schema(strict.clone()).run_sync(|input: Input, _| Ok(input.n));
    assert_eq!(tool.input_schema(), Some(&strict));
    let catalog = only(tool);
    assert_eq!(block_on(run(&catalog, "t", json!({"n": 10}))).unwrap_err().code(), "invalid_input");
    assert_eq!(block_on(run(&catalog, "t", json!({"n": 9}))).unwrap().output, Some(json!(9)));
}

#[test]
fn arguments_can_be_fixed() {
    let log = Log::new();
    let schema = json!({"type": "object", "properties": {"path": {"type": "string"}, "head": {"type": "integer"}}, "required": ["path", "head"], "additionalProperties": false});
    let read = log.close(tool("read", "Reads").reads().input_schema(schema), |input| Ok(Answer::new(input)));
    let fixed = |pairs: Value| read.with_pinned(pairs.as_object().cloned().unwrap());
    let pinned = fixed(json!({"head": 100})).unwrap();
    assert_eq!(
        pinned.input_schema(),
        Some(&json!({"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"], "additionalProperties": false}))
    );
    let catalog = only(pinned.renamed("read_head"));
    block_on(run(&catalog, "read_head", json!({"path": "a"}))).unwrap();
    assert_eq!(log.all()[0].input, json!({"path": "a", "head": 100}));
    let error = block_on(run(&catalog, "read_head", json!({"path": "a", "head": 1}))).unwrap_err();
    assert_eq!(error.code(), "invalid_input", "a caller neither sees nor gives a fixed argument");
    assert_eq!(log.all().len(), 1);
    assert!(fixed(json!({"hed": 100})).unwrap_err().to_string().contains("`hed`"));
    // What the tool would refuse is refused when it is fixed: the handler only ever gets arguments that fit.
    let error = fixed(json!({"head": "many"})).unwrap_err();
    assert!(error.to_string().contains("head"), "{error}");
}

#[test]
fn what_a_fixed_argument_asks_of_the_others_still_counts() {
    let log = Log::new();
    let schema = json!({
        "type": "object",
        "properties": {"mode": {"enum": ["all", "some"]}, "names": {"type": "array"}},
        "if": {"properties": {"mode": {"const": "some"}}, "required": ["mode"]},
        "then": {"required": ["names"]},
    });
    let pick = log.close(tool("pick", "A tool").writes().input_schema(schema), |input| Ok(input.into()));
    let fixed = Object::from_pairs([("mode", "some")]);
    let catalog = Registry::new().with(pick.with_pinned(fixed).unwrap()).unwrap().seal();
    let error = block_on(run(&catalog, "pick", json!({}))).unwrap_err();
    assert_eq!((error.code(), error.effect_state()), ("invalid_input", toolwright::EffectState::NoEffect), "{error}");
    assert!(error.message().contains("names") && log.is_empty(), "{error}");
    let result = block_on(run(&catalog, "pick", json!({"names": ["a"]}))).unwrap();
    assert_eq!(result.output, Some(json!({"names": ["a"], "mode": "some"})));
}

#[test]
fn fixed_arguments_win_in_an_open_tool_and_composites_have_none() {
    let log = Log::new();
    let pinned = log.echo("echo").with_pinned(Object::from_pairs([("a", 1)])).unwrap();
    block_on(run(&only(pinned), "echo", json!({"a": 2, "b": 3}))).unwrap();
    assert_eq!(log.all()[0].input, json!({"a": 1, "b": 3}));
    let read = log.echo("read");
    let composer = Composer::new(HostGate::new(move |_| Some(read.clone())));
    let built = composer.build("c", "", json!({}), &json!({"steps": [{"name": "a", "tool": "read"}]})).unwrap();
    assert!(built.with_pinned(Object::from_pairs([("a", 1)])).is_err());
}

#[test]
fn a_tool_can_be_changed_by_its_host_without_touching_the_original() {
    let log = Log::new();
    let original = log.undeclared("old");
    let changed = original.renamed("new").with_description("better").with_hidden(true).with_effect(toolwright::Effect::read());
    assert_eq!((original.name(), original.effect(), original.is_hidden()), ("old", None, false));
    assert_eq!((changed.name(), changed.id(), changed.description(), changed.is_hidden()), ("new", "new", "better", true));
    let spec = crate::world::steps(&[("a", "new", json!({"x": 1}))]);
    let catalog = crate::world::catalog([original, changed], &spec);
    block_on(run(&catalog, "main", json!({}))).unwrap();
    assert_eq!(log.all()[0].tool, "new", "hidden tools stay chainable");
}

#[test]
fn a_number_that_json_cannot_say_is_an_invalid_output() {
    #[derive(Deserialize, JsonSchema)]
    struct Values {
        values: Vec<f64>,
    }
    #[derive(Serialize, JsonSchema)]
    struct Average {
        mean: f64,
    }
    let average = tool("average", "A tool")
        .writes()
        .run_sync(|input: Values, _| Ok(Average { mean: input.values.iter().sum::<f64>() / input.values.len() as f64 }));
    let catalog = only(average);
    let error = block_on(run(&catalog, "average", json!({"values": []}))).unwrap_err();
    assert_eq!(error.code(), "invalid_output");
    assert!(error.message().contains("/mean") && error.message().contains("not finite"), "{error}");
    assert_eq!(error.effect_state(), toolwright::EffectState::Happened);
    assert_eq!(block_on(run(&catalog, "average", json!({"values": [1, 2]}))).unwrap().output, Some(json!({"mean": 1.5})));
}

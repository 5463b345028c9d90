//! Pairs that were slow once, each in its own way: sizes that make quadratic work.

use serde_json::{Map, Value as Json, json};
use toolwright::Value;

use super::schemas::Pair;

/// All of them.
pub(super) fn pairs() -> Result<Vec<Pair>, super::Failure> {
    let texts = |count: u32, from: u32| (from..from + count).map(|at| json!(format!("v{at}"))).collect::<Vec<Json>>();
    let keys =
        |count: u32, schema: &dyn Fn(u32) -> Json| (0..count).map(|at| (format!("k{at}"), schema(at))).collect::<Map<String, Json>>();
    let anchors: Map<String, Json> =
        (0..3_000).map(|at| (format!("d{at}"), json!({"$anchor": format!("a{at}"), "type": "string"}))).collect();
    let records: Vec<Json> = (0..499).map(|at| json!({ "a": at })).collect();
    let patterns = |letter: &str| (0..500).map(|at| (format!("^{letter}{at}"), json!({"type": "string"}))).collect::<Map<String, Json>>();
    let text = json!({"type": "string"});
    let pairs = [
        (json!({"const": (0..100_000).collect::<Vec<u32>>()}), json!({"type": "array", "uniqueItems": true, "maxItems": 5})),
        (json!({"type": "string", "not": {"enum": texts(5_000, 0)}}), json!({"type": "string", "not": {"enum": texts(5_000, 1)}})),
        (json!({"not": {"enum": texts(50_000, 0)}}), json!({"type": "string", "pattern": "^v"})),
        (
            json!({"type": "string", "pattern": "^v[0-9]+$", "minLength": 3}),
            json!({"anyOf": (0..60).map(|at| json!({"enum": texts(490, at * 490)})).collect::<Vec<_>>()}),
        ),
        (json!({"enum": texts(50_000, 0)}), json!({"enum": texts(50_000, 1)})),
        (
            json!({"type": "number", "allOf": (1..64).map(|at| json!({"multipleOf": 1.0 / f64::from(at)})).collect::<Vec<_>>()}),
            json!({"anyOf": (1..60).map(|at| json!({"type": "number", "multipleOf": at})).collect::<Vec<_>>()}),
        ),
        (
            json!({"type": "object", "properties": keys(450, &|at| json!({"$ref": format!("#a{at}")})), "$defs": anchors}),
            json!({"type": "object", "properties": keys(450, &|_| text.clone())}),
        ),
        (json!({"allOf": vec![json!({ "enum": records }); 50]}), json!({"type": "object", "properties": {"a": {"type": "string"}}})),
        (
            json!({"type": "object", "properties": keys(900, &|at| json!({"type": "string", "pattern": format!("^a{at}")}))}),
            json!({"type": "object", "properties": keys(900, &|at| json!({"type": "string", "pattern": format!("^a{at}.?")}))}),
        ),
        (json!({"type": "object", "patternProperties": patterns("p")}), json!({"type": "object", "patternProperties": patterns("q")})),
    ];
    let read = |schema: &Json| Value::parse(schema.to_string().as_str());
    pairs.iter().map(|(source, target)| Ok(Pair { family: "hostile sizes", source: read(source)?, target: read(target)? })).collect()
}

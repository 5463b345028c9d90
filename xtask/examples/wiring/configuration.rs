//! A configuration as large ones are: 1,000 composites of five steps with two references each, over 500 tools.

use serde_json::{Map, Value as Json, json};
use toolwright::value::JsonValue;
use toolwright::{Composite, CompositeSpec, Registry, SpecIssue, Value, tool};

use super::{Failure, cpu, milliseconds};

const TOOLS: usize = 500;
const COMPOSITES: usize = 1_000;
const STEPS: usize = 5;
const ROUNDS: usize = 5;

/// What a composite's wires may be about; the same member is what the next tool takes.
const MEMBERS: [(&str, &str, &str); 8] = [
    ("id", r#"{"type":"integer","minimum":1}"#, r#"{"type":"integer","minimum":0}"#),
    ("name", r#"{"type":"string","minLength":1,"maxLength":120}"#, r#"{"type":"string","maxLength":200}"#),
    ("url", r#"{"type":"string","format":"uri"}"#, r#"{"type":"string"}"#),
    ("tags", r#"{"type":"array","items":{"type":"string"}}"#, r#"{"type":"array","items":{"type":"string","maxLength":40},"maxItems":20}"#),
    ("note", r#"{"type":["string","null"]}"#, r#"{"type":"string"}"#),
    ("state", r#"{"enum":["open","closed","held"]}"#, r#"{"enum":["open","closed"]}"#),
    ("owner", r##"{"$ref":"#/$defs/Person"}"##, r##"{"anyOf":[{"$ref":"#/$defs/Person"},{"type":"null"}]}"##),
    ("score", r#"{"type":"number","minimum":0,"maximum":1}"#, r#"{"type":"number"}"#),
];

const PERSON: &str =
    r#"{"Person":{"type":"object","properties":{"id":{"type":"integer"},"email":{"type":"string","format":"email"}},"required":["id"]}}"#;

/// Measures it, and prints the medians.
pub(super) fn run() -> Result<(), Failure> {
    let tools: Vec<(Json, Json)> = (0..TOOLS).map(|at| Ok((schema(at, false)?, schema(at, true)?))).collect::<Result<_, Failure>>()?;
    let values: Vec<(Value, Value)> = tools
        .iter()
        .map(|(input, output)| Ok((Value::from_json(input.clone())?, Value::from_json(output.clone())?)))
        .collect::<Result<_, Failure>>()?;
    let specs: Vec<Value> = (0..COMPOSITES).map(|at| Value::from_json(composite(at))).collect::<Result<_, _>>()?;
    let (mut compile, mut register, mut lint, mut load) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
    let (mut warnings, mut linted) = (0, 0);
    for _ in 0..ROUNDS {
        let start = cpu();
        for schema in tools.iter().flat_map(|(input, output)| [input, output]) {
            let built = jsonschema::options_for::<JsonValue>().should_validate_formats(true).offline().build(schema);
            std::hint::black_box(built.map_err(|error| error.to_string())?);
        }
        compile.push(since(start));
        let start = cpu();
        let mut registry = loaded(&values)?;
        let compiled: Vec<Composite> = specs.iter().enumerate().map(named).collect::<Result<_, Failure>>()?;
        load.push(since(start));
        let start = cpu();
        for composite in compiled {
            registry.register(composite)?;
        }
        register.push(since(start));
        let catalog = registry.seal();
        warnings = catalog.warnings().iter().filter(|(_, issue)| issue.code == "may_not_fit").count();
        let fresh = loaded(&values)?.seal();
        let start = cpu();
        let issues: Vec<SpecIssue> = specs.iter().flat_map(|spec| fresh.lint(spec)).collect();
        lint.push(since(start));
        linted = issues.iter().filter(|issue| issue.code == "may_not_fit").count();
    }
    let figures = json!({
        "tools": TOOLS, "composites": COMPOSITES, "references": COMPOSITES * STEPS * 2, "warnings": warnings, "linted": linted,
        "compile": median(compile), "load": median(load), "register": median(register), "lint": median(lint),
    });
    println!("{figures}");
    Ok(())
}

fn named((at, spec): (usize, &Value)) -> Result<Composite, Failure> {
    Ok(Composite::new(format!("composite_{at}"), "Five steps").spec(CompositeSpec::from_value(spec)?))
}

fn since(start: std::time::Duration) -> f64 {
    milliseconds(cpu().saturating_sub(start))
}

fn median(mut samples: Vec<f64>) -> f64 {
    samples.sort_by(f64::total_cmp);
    samples.get(samples.len() / 2).copied().unwrap_or(f64::NAN)
}

fn loaded(tools: &[(Value, Value)]) -> Result<Registry, Failure> {
    let mut registry = Registry::new();
    for (at, (input, output)) in tools.iter().enumerate() {
        let declared = tool(format!("tool_{at}"), "A tool").reads().input_schema(input.clone()).output_schema(output.clone());
        registry.register(declared.run_json(|input, _call| async move { Ok(input) }))?;
    }
    Ok(registry)
}

/// A tool's input or output: the members that everyone has, and some of its own.
fn schema(tool: usize, output: bool) -> Result<Json, Failure> {
    let mut properties = Map::new();
    for (name, gives, takes) in MEMBERS {
        properties.insert(name.to_owned(), serde_json::from_str(if output { gives } else { takes })?);
    }
    for own in 0..tool % 7 {
        properties.insert(format!("own_{tool}_{own}"), json!({"type": "string", "maxLength": 10 + tool}));
    }
    let required: Vec<&str> = if output { MEMBERS.iter().map(|(name, ..)| *name).collect() } else { Vec::new() };
    let definitions: Json = serde_json::from_str(PERSON)?;
    Ok(json!({"type": "object", "properties": properties, "required": required, "additionalProperties": false, "$defs": definitions}))
}

fn composite(at: usize) -> Json {
    let name = |turn: usize| MEMBERS.get(turn % MEMBERS.len()).map_or("id", |(name, ..)| *name);
    let steps: Vec<Json> = (0..STEPS)
        .map(|step| {
            let (one, other) = (name(at + step), name(at * 3 + step + 1));
            let from =
                |member: &str, step: usize| if step == 0 { format!("$input.{member}") } else { format!("$steps[{}].{member}", step - 1) };
            let mut mapping = Map::new();
            mapping.insert(one.to_owned(), from(one, step).into());
            mapping.insert(other.to_owned(), if step == 0 { from(other, 0) } else { format!("$prev.{other}") }.into());
            json!({"name": format!("s{step}"), "tool": format!("tool_{}", (at * 7 + step * 13) % TOOLS), "inputMapping": mapping})
        })
        .collect();
    json!({"steps": steps})
}

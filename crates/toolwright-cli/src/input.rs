//! From the command line to a tool's input: `--input`, and `key=value` read as the schema says.

use std::io::Read;
use std::path::Path;

use toolwright::Value;
use toolwright::value::ParseOptions;

use crate::args::RunArgs;
use crate::code;
use crate::diagnostic::{Finding, SourceText, did_you_mean};

/// Bytes of an input that are read from a file or from standard input.
const INPUT_BYTES_MAX: u64 = 64 * 1024 * 1024;

/// The input of a call; all problems at once.
pub(crate) fn build(args: &RunArgs, schema: Option<&Value>) -> Result<Value, Vec<Finding>> {
    build_over(Value::object(Vec::<(&str, Value)>::new()), args.input.as_deref(), &args.pairs, schema)
}

/// The same where `base` is the input when none is given; pairs are put over it.
pub(crate) fn build_over(base: Value, input: Option<&str>, pairs: &[String], schema: Option<&Value>) -> Result<Value, Vec<Finding>> {
    let base = match input {
        Some(text) => json_argument(text, "--input").map_err(|finding| vec![*finding])?,
        None => base,
    };
    if pairs.is_empty() {
        return Ok(base);
    }
    let Some(object) = base.as_object() else {
        let message = format!("the input is {}, and pairs are members of an object", with_article(base.kind()));
        return Err(vec![usage(message, None)]);
    };
    let mut members: Vec<(String, Value)> = object.iter().map(|(key, value)| (key.to_string(), value.clone())).collect();
    let mut findings = Vec::new();
    let mut seen: Vec<String> = Vec::new();
    for pair in pairs {
        match self::pair(pair, schema) {
            Ok((key, _)) if seen.contains(&key) => {
                findings.push(usage(format!("`{key}` is given twice"), None));
            }
            Ok((key, value)) => {
                seen.push(key.clone());
                match members.iter_mut().find(|(other, _)| *other == key) {
                    Some((_, old)) => *old = value,
                    None => members.push((key, value)),
                }
            }
            Err(finding) => findings.push(*finding),
        }
    }
    if findings.is_empty() { Ok(Value::object(members)) } else { Err(findings) }
}

/// Texts of the input that its schema marks as not to be shown: `writeOnly`, or `format: password`.
pub(crate) fn hidden<'v>(input: &'v Value, schema: Option<&Value>) -> Vec<&'v str> {
    let mut hidden = Vec::new();
    let mut todo: Vec<(&Value, &Value, usize)> = schema.map(|schema| (input, schema, 0)).into_iter().collect();
    while let Some((value, schema, depth)) = todo.pop() {
        let password = schema.get("format").and_then(Value::as_str) == Some("password");
        if password || schema.get("writeOnly").and_then(Value::as_bool) == Some(true) {
            hidden.extend(texts(value));
        } else if depth < REFERENCE_DEPTH_MAX {
            let properties = schema.get("properties").and_then(Value::as_object);
            for (name, member) in properties.iter().flat_map(|properties| properties.iter()) {
                todo.extend(value.get(name).map(|value| (value, member, depth + 1)));
            }
            let items =
                schema.get("items").map(|items| value.as_array().unwrap_or_default().iter().map(move |value| (value, items, depth + 1)));
            todo.extend(items.into_iter().flatten());
        }
    }
    hidden
}

/// Every text in a value.
fn texts(value: &Value) -> Vec<&str> {
    let mut texts = Vec::new();
    let mut todo = vec![value];
    while let Some(value) = todo.pop() {
        texts.extend(value.as_str());
        todo.extend(value.as_array().unwrap_or_default());
        todo.extend(value.as_object().iter().flat_map(|object| object.iter().map(|(_, member)| member)));
    }
    texts
}

/// Outputs of steps that do not run, from `--output STEP=JSON` and `--outputs JSON`.
pub(crate) fn outputs(single: &[String], all: Option<&str>) -> Result<Vec<(String, Value)>, Vec<Finding>> {
    let mut outputs = Vec::new();
    let mut findings = Vec::new();
    if let Some(all) = all {
        match json_argument(all, "--outputs") {
            Ok(value) => match value.as_object() {
                Some(members) => {
                    let members = members.iter();
                    outputs.extend(members.map(|(step, value)| (step.to_string(), value.clone())));
                }
                None => {
                    let message = format!("`--outputs` is {}, not an object", with_article(value.kind()));
                    findings.push(usage(message, None));
                }
            },
            Err(finding) => findings.push(*finding),
        }
    }
    for one in single {
        let Some((step, text)) = one.split_once('=') else {
            let help = "write --output STEP=JSON or --output STEP=@FILE".to_owned();
            findings.push(usage(format!("`{one}` names no step"), Some(help)));
            continue;
        };
        match json_argument(text, &format!("--output {step}")) {
            Ok(value) => {
                outputs.retain(|(other, _)| other != step);
                outputs.push((step.to_owned(), value));
            }
            Err(finding) => findings.push(*finding),
        }
    }
    if findings.is_empty() { Ok(outputs) } else { Err(findings) }
}

/// The outputs in a file: JSON values one after another, each as it is or as a result that has it in `output`.
pub(crate) fn outputs_in(path: &Path) -> Result<Vec<Value>, Box<Finding>> {
    let (name, text) = match path.to_str() {
        Some("-") => ("standard input".to_owned(), read_stdin("--from")?),
        _ => (path.display().to_string(), read_file(path, "--from")?),
    };
    let mut outputs = Vec::new();
    let mut from = 0;
    loop {
        let rest = text.get(from..).unwrap_or_default();
        let blank = rest.len() - rest.trim_start().len();
        from += blank;
        if rest.len() == blank {
            return Ok(outputs);
        }
        let mut values = serde_json::Deserializer::from_str(rest.trim_start()).into_iter::<serde::de::IgnoredAny>();
        let whole = values.next().is_some_and(|value| value.is_ok());
        // What it cannot read, our own parser says in its words.
        let end = if whole { from + values.byte_offset() } else { text.len() };
        let value = Value::parse(text.get(from..end).unwrap_or_default()).map_err(|error| {
            let at = (from + error.offset).min(text.len());
            let source = SourceText::new(name.clone(), text.clone());
            Box::new(usage(format!("`{name}` is no JSON: {error}"), Some(error.help().into_owned())).at(&source, at..at + 1, ""))
        })?;
        outputs.push(output_of(value).map_err(|why| {
            let source = SourceText::new(name.clone(), text.clone());
            Box::new(usage(why, Some("take it out: only outputs of calls that succeeded are learned from".to_owned())).at(
                &source,
                from..from + 1,
                "",
            ))
        })?);
        from = end;
    }
}

/// The output, where the value is a result that has one inside.
fn output_of(value: Value) -> Result<Value, String> {
    let is_result = value.get("effects").is_some_and(|effects| effects.as_array().is_some());
    match value.get("success").and_then(Value::as_bool).filter(|_| is_result) {
        Some(true) => Ok(value.get("output").cloned().unwrap_or(Value::Null)),
        Some(false) => Err("this is the result of a call that failed".to_owned()),
        None => Ok(value),
    }
}

/// JSON on the command line, from `@FILE`, or from standard input with `-`.
fn json_argument(text: &str, option: &str) -> Result<Value, Box<Finding>> {
    let (name, text) = match text.strip_prefix('@') {
        Some(path) => (path.to_owned(), read_file(Path::new(path), option)?),
        None if text == "-" => ("standard input".to_owned(), read_stdin(option)?),
        None => (option.to_owned(), text.to_owned()),
    };
    let parsed = Value::parse_with(&text, &ParseOptions::default()).map_err(|error| {
        let source = SourceText::new(name.clone(), text.clone());
        let at = error.offset.min(text.len());
        let help = error.help().into_owned();
        Box::new(usage(format!("`{name}` is no JSON: {error}"), Some(help)).at(&source, at..at + 1, ""))
    })?;
    match parsed.repeated {
        Some(key) => Err(Box::new(usage(format!("`{key}` stands twice in one object of {name}"), Some("take one of them out".to_owned())))),
        None => Ok(parsed.value),
    }
}

/// JSON on the command line, from `@FILE` or from standard input with `-`; what is no JSON is given back as a finding, for
/// it may be text.
///
/// # Errors
/// When it cannot be read at all.
pub(crate) fn json_or_text(text: &str, option: &str) -> Result<Result<Value, Box<Finding>>, Box<Finding>> {
    let read = json_argument(text, option);
    match text.starts_with('@') || text == "-" {
        true => read.map(Ok),
        false => Ok(read),
    }
}

fn read_file(path: &Path, option: &str) -> Result<String, Box<Finding>> {
    let name = path.display();
    let file = std::fs::File::open(path)
        .map_err(|error| Box::new(usage(format!("`{name}`, given with {option}, cannot be read: {error}"), None)))?;
    read_text(file, &name.to_string())
}

fn read_stdin(option: &str) -> Result<String, Box<Finding>> {
    read_text(std::io::stdin().lock(), &format!("standard input, for {option},"))
}

fn read_text(stream: impl Read, name: &str) -> Result<String, Box<Finding>> {
    let mut text = String::new();
    stream
        .take(INPUT_BYTES_MAX + 1)
        .read_to_string(&mut text)
        .map_err(|error| Box::new(usage(format!("{name} cannot be read: {error}"), None)))?;
    if text.len() as u64 > INPUT_BYTES_MAX {
        let limit = INPUT_BYTES_MAX / 1024 / 1024;
        return Err(Box::new(usage(format!("{name} is larger than {limit} MiB"), None)));
    }
    Ok(text)
}

/// `key=value` or `key:=JSON`.
fn pair(pair: &str, schema: Option<&Value>) -> Result<(String, Value), Box<Finding>> {
    let Some((key, text)) = pair.split_once('=') else {
        let help = "write key=value, or key:=JSON; a whole input goes into --input".to_owned();
        return Err(Box::new(usage(format!("`{pair}` is no `key=value`"), Some(help))));
    };
    if let Some(key) = key.strip_suffix(':') {
        known(key, schema)?;
        let value = json_argument_inline(key, text)?;
        return Ok((key.to_owned(), value));
    }
    known(key, schema)?;
    let types = property(key, schema).map_or_else(Types::default, |property| Types::of(property, schema.unwrap_or(&Value::Null), 0));
    let value = types.read(key, text)?;
    Ok((key.to_owned(), value))
}

fn json_argument_inline(key: &str, text: &str) -> Result<Value, Box<Finding>> {
    Value::parse(text).map_err(|error| {
        let help = format!("quote text inside JSON, or write `{key}={text}` for text");
        Box::new(usage(format!("`{text}`, for `{key}`, is no JSON: {error}"), Some(help)))
    })
}

/// A key that the schema does not list is a mistake, also where the schema would let it through.
fn known(key: &str, schema: Option<&Value>) -> Result<(), Box<Finding>> {
    let Some(properties) = properties(schema) else {
        return Ok(());
    };
    let open = schema
        .and_then(|schema| schema.get("additionalProperties"))
        .is_some_and(|more| more.as_bool() == Some(true) || more.as_object().is_some());
    if open || properties.get(key).is_some() {
        return Ok(());
    }
    let names = || properties.keys().map(|name| name.as_str());
    let help = did_you_mean(key, names()).unwrap_or_else(|| {
        let names: Vec<String> = names().map(|name| format!("`{name}`")).collect();
        match names.as_slice() {
            [] => "it takes no arguments".to_owned(),
            names => format!("it takes {}", names.join(", ")),
        }
    });
    Err(Box::new(usage(format!("the tool takes no `{key}`"), Some(help))))
}

fn properties(schema: Option<&Value>) -> Option<&toolwright::Object> {
    schema?.get("properties")?.as_object()
}

fn property<'s>(key: &str, schema: Option<&'s Value>) -> Option<&'s Value> {
    let schema = schema?;
    match properties(Some(schema)).and_then(|properties| properties.get(key)) {
        Some(property) => Some(property),
        None => schema.get("additionalProperties"),
    }
}

/// The JSON types that a schema lets through, as far as it says.
#[derive(Debug, Default)]
struct Types(Vec<String>);

/// References are followed this far.
const REFERENCE_DEPTH_MAX: usize = 16;

impl Types {
    fn of(schema: &Value, root: &Value, depth: usize) -> Self {
        let mut types = Vec::new();
        if depth < REFERENCE_DEPTH_MAX {
            Self::collect(schema, root, depth, &mut types);
        }
        Self(types)
    }

    fn collect(schema: &Value, root: &Value, depth: usize, types: &mut Vec<String>) {
        match schema.get("type") {
            Some(Value::String(one)) => types.push(one.to_string()),
            Some(several) => {
                let several = several.as_array().unwrap_or_default();
                types.extend(several.iter().filter_map(Value::as_str).map(str::to_owned));
            }
            None => {
                let choices = schema.get("enum").and_then(Value::as_array).unwrap_or_default();
                let values = choices.iter().chain(schema.get("const"));
                types.extend(values.map(|value| value.kind().to_owned()));
                for word in ["anyOf", "oneOf"] {
                    let parts = schema.get(word).and_then(Value::as_array).unwrap_or_default();
                    for part in parts {
                        types.extend(Self::of(part, root, depth + 1).0);
                    }
                }
                let reference = schema.get("$ref").and_then(Value::as_str);
                let target = reference.and_then(|reference| reference.strip_prefix('#')).and_then(|pointer| root.pointer(pointer));
                if let Some(target) = target {
                    types.extend(Self::of(target, root, depth + 1).0);
                }
            }
        }
    }

    fn has(&self, name: &str) -> bool {
        self.0.iter().any(|one| one == name)
    }

    /// Text where text is allowed or nothing is said; JSON of an allowed type otherwise.
    fn read(&self, key: &str, text: &str) -> Result<Value, Box<Finding>> {
        if self.0.is_empty() || self.has("string") {
            return Ok(Value::from(text));
        }
        let fits = |value: &Value| match value.kind() {
            "integer" => self.has("integer") || self.has("number"),
            // `1.0` is an integer to a JSON Schema; whether it is one here, the schema says later.
            "number" => self.has("number") || self.has("integer"),
            kind => self.has(kind),
        };
        match Value::parse(text) {
            Ok(value) if fits(&value) => Ok(value),
            _ => {
                let wanted = self.0.join(" or ");
                let help = match self.0.first().map(String::as_str) {
                    Some("boolean") => format!("write `{key}=true` or `{key}=false`"),
                    Some("array") => format!("write JSON: `{key}='[\"a\", \"b\"]'`"),
                    Some("object") => format!("write JSON: `{key}='{{\"a\": 1}}'`"),
                    _ => format!("the schema wants {wanted}"),
                };
                let message = format!("`{key}` is of type {wanted}, and `{text}` is not");
                Err(Box::new(usage(message, Some(help))))
            }
        }
    }
}

/// A kind of value in a sentence.
fn with_article(kind: &str) -> String {
    match kind {
        "null" => kind.to_owned(),
        "integer" | "array" | "object" => format!("an {kind}"),
        _ => format!("a {kind}"),
    }
}

fn usage(message: impl Into<String>, help: Option<String>) -> Finding {
    Finding::error(code::USAGE, message).maybe_help(help)
}

#[cfg(test)]
mod tests {
    use toolwright::{Value, json};

    use super::build;
    use crate::args::RunArgs;

    fn schema() -> Value {
        json!({
            "type": "object",
            "properties": {
                "path": {"type": "string"},
                "limit": {"type": "integer"},
                "ratio": {"type": ["number", "null"]},
                "deep": {"$ref": "#/$defs/deep"},
                "tags": {"type": "array"},
                "mode": {"enum": ["fast", "slow"]},
                "level": {"anyOf": [{"const": 1}, {"const": 2}]},
                "any": {},
            },
            "$defs": {"deep": {"type": "boolean"}},
        })
    }

    fn run(input: Option<&str>, pairs: &[&str]) -> Result<Value, Vec<String>> {
        let args = RunArgs { tool: "t".into(), input: input.map(str::to_owned), pairs: pairs.iter().map(ToString::to_string).collect() };
        build(&args, Some(&schema())).map_err(|findings| findings.into_iter().map(|f| f.message).collect())
    }

    #[test]
    fn a_value_is_read_as_its_schema_says() {
        let pairs = ["path=5", "limit=12345678901234567890", "ratio=null", "deep=true", "tags=[\"a\"]", "mode=fast", "level=2", "any=5"];
        let value = run(None, &pairs).unwrap();
        assert_eq!(
            value.to_json_string(),
            r#"{"path":"5","limit":12345678901234567890,"ratio":null,"deep":true,"tags":["a"],"mode":"fast","level":2,"any":"5"}"#
        );
    }

    #[test]
    fn pairs_win_over_the_whole_input_and_colon_means_json() {
        let value = run(Some(r#"{"path": "a", "limit": 1}"#), &["limit=2", "any:={\"x\": 1}"]);
        let text = value.unwrap().to_json_string();
        assert_eq!(text, r#"{"path":"a","limit":2,"any":{"x":1}}"#);
    }

    #[test]
    fn every_mistake_is_told_at_once() {
        let pairs = ["limit=many", "lmit=1", "deep=yes", "path", "path=a", "path=b", "any:=x"];
        let messages = run(None, &pairs).unwrap_err();
        assert_eq!(messages.len(), 6, "{messages:#?}");
        assert!(messages[1].contains("takes no `lmit`"), "{messages:#?}");
        assert_eq!(run(Some(r#"{"a": 1, "b": {"d": 1, "d": 1.50}}"#), &[]).unwrap_err(), ["`d` stands twice in one object of --input"]);
        assert!(run(Some(r#"[{"a": 12345678901234567890123, "b": {"a": null}}, {"a": 1e400}]"#), &[]).is_ok());
        assert!(run(Some("{\"a\":"), &[]).is_err());
        assert!(run(Some("[1]"), &["path=a"]).is_err());
    }
}

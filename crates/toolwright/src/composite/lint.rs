//! What can be found in a specification before anything runs, beyond its form:
//! unknown tools, refused tools, arguments that a tool does not take or needs.

use super::compile::compile;
use super::spec::{CompositeSpec, Fix, Severity, SpecIssue, StepSpec};
use crate::gate::Chainability;
use crate::limits;
use crate::reference::Dialect;
use crate::runtime::Runtime;
use crate::tool::ToolDef;
use crate::value::{Text, Value};

/// The tool of a name now, and whether a step may use it.
pub(crate) type Judge<'a, R> = dyn Fn(&str) -> (Option<ToolDef<R>>, Chainability) + 'a;

/// Arguments that do not fit, behind a composer's own gate.
const INVALID_ARGS: &str = "invalid_args";
/// Arguments that do not fit, in a catalogue.
pub(crate) const INVALID_INPUT: &str = "invalid_input";

/// Finds everything at once. `known` are the names for suggestions.
pub(crate) fn lint<R: Runtime>(spec: &Value, dialect: Option<Dialect>, judge: &Judge<'_, R>, known: &[&str]) -> Vec<SpecIssue> {
    let (spec, mut issues) = CompositeSpec::read_all(spec, dialect);
    let Some(spec) = spec else { return issues };
    match compile(&Text::new(), &spec) {
        Ok(compiled) => issues.extend(compiled.warnings),
        Err(found) => issues.extend(found),
    }
    // Only a composer has a dialect of its own.
    let code = if dialect.is_some() { INVALID_ARGS } else { INVALID_INPUT };
    // A step without a tool was named above.
    for (index, step) in spec.steps.iter().enumerate().filter(|(_, step)| !step.tool.trim().is_empty()) {
        let (tool, verdict) = judge(&step.tool);
        match tool {
            None if verdict == Chainability::NoGate => {
                issues.extend(not_allowed(index, step, verdict));
                break;
            }
            None => issues.push(unknown_tool(index, step, known)),
            Some(tool) => {
                issues.extend(not_allowed(index, step, verdict));
                issues.extend(wiring(index, step, &tool, code));
            }
        }
    }
    if spec.dialect.is_page() {
        issues.extend(page_names(&spec));
    }
    issues
}

/// What the rule says against this tool as a step, with the change that would allow it.
pub(crate) fn not_allowed(index: usize, step: &StepSpec, verdict: Chainability) -> Option<SpecIssue> {
    let (message, help) = (verdict.message(&step.tool), verdict.help(&step.tool));
    let pointer = format!("/steps/{index}/tool");
    verdict.code().map(|code| SpecIssue { severity: Severity::Error, code, message, help, pointer, span: None, fix: None })
}

pub(crate) fn unknown_tool(index: usize, step: &StepSpec, known: &[&str]) -> SpecIssue {
    let near = crate::nearest::nearest(&step.tool, known.iter().copied());
    let pointer = format!("/steps/{index}/tool");
    let sure = crate::nearest::unmistakable(&step.tool, known.iter().copied());
    let fix = sure.map(|near| Fix::Value { pointer: pointer.clone(), to: near.into() });
    SpecIssue {
        severity: Severity::Error,
        code: "step_missing",
        message: format!("no tool is named `{}`", crate::cut(&step.tool, 80)),
        help: Some(
            near.map_or_else(
                || "names are taken exactly as written; see the list of tools".into(),
                |near| format!("did you mean `{near}`?"),
            ),
        ),
        pointer,
        span: None,
        fix,
    }
}

/// Arguments that a tool does not take although it takes no others, and required ones that are never given. `code` is
/// that of the call that would end with it.
pub(crate) fn wiring<R: Runtime>(index: usize, step: &StepSpec, tool: &ToolDef<R>, code: &'static str) -> Vec<SpecIssue> {
    let Some(schema) = tool.input_schema() else { return Vec::new() };
    let properties = schema.get("properties").and_then(Value::as_object);
    let mut issues = Vec::new();
    let closed = schema.get("additionalProperties") == Some(&Value::Bool(false)) && schema.get("patternProperties").is_none();
    if closed {
        let known: Vec<&str> = properties.iter().flat_map(|properties| properties.keys().map(Text::as_str)).collect();
        for key in step.input_mapping.keys().filter(|key| !known.contains(&key.as_str())) {
            let near = crate::nearest::nearest(key, known.iter().copied());
            let listed = known.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ");
            let only = if listed.is_empty() { "no arguments".into() } else { format!("only {listed}") };
            let help = near.map_or_else(|| format!("take it out: `{}` takes {only}", step.tool), |near| format!("did you mean `{near}`?"));
            let pointer = format!("/steps/{index}/inputMapping/{}", key.replace('~', "~0").replace('/', "~1"));
            let free = known.iter().copied().filter(|name| step.input_mapping.get(name).is_none());
            let fix = crate::nearest::unmistakable(key, free).map(|near| Fix::Key { pointer: pointer.clone(), to: near.into() });
            let message = format!("`{}` takes no argument `{}`", step.tool, crate::cut(key, 60));
            issues.push(SpecIssue { severity: Severity::Error, code, message, help: Some(help), pointer, span: None, fix });
        }
    }
    let required = schema.get("required").and_then(Value::as_array).unwrap_or_default();
    for name in required.iter().filter_map(Value::as_str).filter(|name| step.input_mapping.get(name).is_none()) {
        issues.push(SpecIssue {
            severity: Severity::Error,
            code,
            message: format!("`{}` needs the argument `{name}`, and the step does not give it", step.tool),
            help: Some(format!("add `{name}` to the step's `inputMapping`{}", wanted(properties.and_then(|known| known.get(name))))),
            pointer: format!("/steps/{index}/inputMapping"),
            span: None,
            fix: None,
        });
    }
    issues
}

/// `: one of "a", "b"`, `: an integer`; nothing where the schema says no more.
fn wanted(schema: Option<&Value>) -> String {
    let Some(schema) = schema else { return String::new() };
    if let Some(words) = schema.get("enum").and_then(Value::as_array).filter(|words| words.len() <= limits::CHOICES_SHOWN_MAX) {
        let words: Vec<String> = words.iter().map(|word| format!("`{}`", crate::cut(&word.to_json_string(), 40))).collect();
        return format!(": one of {}", words.join(", "));
    }
    match schema.get("type").and_then(Value::as_str) {
        Some("string") => ": a text".into(),
        Some(kind @ ("integer" | "array" | "object")) => format!(": an {kind}"),
        Some(kind @ ("number" | "boolean")) => format!(": a {kind}"),
        _ => String::new(),
    }
}

fn page_names(spec: &CompositeSpec) -> Vec<SpecIssue> {
    let warning = |index: usize, message: String| SpecIssue {
        severity: Severity::Warning,
        code: "invalid_spec",
        message,
        help: Some("positions count here, so nothing breaks, but errors name steps".into()),
        pointer: format!("/steps/{index}"),
        span: None,
        fix: None,
    };
    let mut issues = Vec::new();
    for (index, step) in spec.steps.iter().enumerate() {
        if step.name.is_empty() {
            issues.push(warning(index, "the step has no name".into()));
        } else if spec.steps.iter().take(index).any(|other| other.name == step.name) {
            issues.push(warning(index, format!("two steps are named `{}`", crate::cut(&step.name, 60))));
        }
    }
    issues
}

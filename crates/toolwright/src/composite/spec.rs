//! The written form: plain data, read from any JSON without ever panicking, all
//! problems at once, each with a JSON pointer to its place.

use std::ops::Range;

use super::compile::compile;
use crate::limits;
use crate::reference::Dialect;
use crate::value::{Object, Text, Value};

/// A composite as written.
///
/// Read from JSON that a person or a model wrote; [`Composite::step`](crate::Composite::step) is the way in code.
///
/// ```
/// use toolwright::{CompositeSpec, json};
/// let spec = CompositeSpec::from_value(&json!({ "steps": [
///     { "name": "look", "tool": "search", "inputMapping": { "query": "$input.topic" } },
/// ] }))?;
/// assert_eq!(spec.steps[0].tool, "search");
/// # Ok::<(), toolwright::SpecError>(())
/// ```
#[derive(Clone, Debug, Default)]
pub struct CompositeSpec {
    /// How `$…` texts are read.
    pub dialect: Dialect,
    /// What it does.
    pub description: Option<Text>,
    /// JSON Schema of its input.
    pub input: Option<Value>,
    /// One or more.
    pub steps: Vec<StepSpec>,
    /// A mapping that gives the composite's output; the last step's output when there is none.
    pub output: Option<Object>,
}

/// One step as written.
///
/// ```
/// use toolwright::{Object, StepSpec, json};
/// let mapping = Object::from_pairs([("query", json!("$input.topic"))]);
/// let step = StepSpec { name: "look".into(), tool: "search".into(), input_mapping: mapping };
/// assert_eq!(step.input_mapping.get("query"), Some(&json!("$input.topic")));
/// ```
#[derive(Clone, Debug)]
pub struct StepSpec {
    /// Its name; unique in the strict dialect, any text in the page's.
    pub name: Text,
    /// The tool, exactly as the catalogue names it.
    pub tool: Text,
    /// Argument name to literal or reference.
    pub input_mapping: Object,
}

/// How bad an issue is.
///
/// ```
/// use toolwright::Severity;
/// assert!(Severity::Warning < Severity::Error);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Severity {
    /// Stops nothing.
    Warning,
    /// The composite cannot be built.
    Error,
}

/// Something that is wrong, or looks wrong, in a specification.
///
/// A linter prints them one by one.
///
/// ```
/// use toolwright::{CompositeSpec, Severity, json};
/// let error = CompositeSpec::from_value(&json!({ "steps": "none" })).err().ok_or("steps are a list")?;
/// let issue = &error.issues[0];
/// assert_eq!((issue.severity, issue.pointer.as_str()), (Severity::Error, "/steps"));
/// # Ok::<(), &str>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SpecIssue {
    /// How bad it is.
    pub severity: Severity,
    /// A code of [`crate::codes`].
    pub code: &'static str,
    /// What is wrong, in one sentence without a full stop.
    pub message: String,
    /// What to do about it.
    pub help: Option<String>,
    /// JSON pointer into the specification.
    pub pointer: String,
    /// Bytes of the text at that place, when only a part of it is wrong.
    pub span: Option<Range<usize>>,
    /// A change that would mend it, when there is one that a program may make.
    pub fix: Option<Fix>,
}

/// A change of a specification that mends an issue. There is one only where nothing else can have been meant.
///
/// ```
/// use toolwright::{CompositeSpec, Fix, json};
/// let error = CompositeSpec::from_value(&json!({ "step": [] })).err().ok_or("it is no field")?;
/// let fix = error.issues.iter().find_map(|issue| issue.fix.clone()).ok_or("there is a near name")?;
/// assert_eq!(fix, Fix::Key { pointer: "/step".into(), to: "steps".into() });
/// # Ok::<(), &str>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Fix {
    /// Another value in the place of the one at `pointer`.
    Value {
        /// JSON pointer into the specification.
        pointer: String,
        /// What should stand there.
        to: Value,
    },
    /// Another name for the member at `pointer`.
    Key {
        /// JSON pointer into the specification.
        pointer: String,
        /// The member's new name.
        to: Text,
    },
}

impl std::fmt::Display for SpecIssue {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.message)
    }
}

/// Everything that is wrong with a specification.
///
/// Given back where a specification is read or built.
///
/// ```
/// use toolwright::{CompositeSpec, json};
/// let error = CompositeSpec::from_value(&json!({ "steps": [{}, {}] })).err().ok_or("steps have a name and a tool")?;
/// assert!(error.issues.len() > 1);
/// assert_eq!(error.code(), "invalid_spec");
/// # Ok::<(), &str>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SpecError {
    /// The issues, in the order of the specification.
    pub issues: Vec<SpecIssue>,
}

impl SpecError {
    /// The code of the first error; warnings may stand before it.
    pub fn code(&self) -> &'static str {
        self.issues.iter().find(|issue| issue.severity == Severity::Error).map_or("invalid_spec", |issue| issue.code)
    }
}

impl std::fmt::Display for SpecError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        for (index, issue) in self.issues.iter().enumerate() {
            let after_sentence =
                index.checked_sub(1).and_then(|before| self.issues.get(before)).is_none_or(|issue| issue.message.ends_with('.'));
            f.write_str(match (index, after_sentence) {
                (0, _) => "",
                (_, true) => " ",
                (_, false) => "; ",
            })?;
            f.write_str(&issue.message)?;
        }
        Ok(())
    }
}

impl std::error::Error for SpecError {}

const NO_STEPS: &str = "ComposableToolSpec.steps must be a non-empty array.";

const SPEC_FIELDS: [&str; 6] = ["mode", "steps", "strictMode", "description", "input", "output"];
const STEP_FIELDS: [&str; 3] = ["name", "tool", "inputMapping"];

/// The two structural checks of the page, one message a failing check.
pub(crate) fn structural(spec: &Value) -> Vec<(String, String)> {
    let steps = spec.get("steps").and_then(Value::as_array).unwrap_or_default();
    if steps.is_empty() {
        return vec![("/steps".into(), NO_STEPS.into())];
    }
    let blank = |step: &Value| step.get("tool").and_then(Value::as_str).is_none_or(|tool| tool.trim().is_empty());
    let wrong = steps.iter().enumerate().filter(|(_, step)| blank(step));
    wrong
        .map(|(index, _)| (format!("/steps/{index}/tool"), format!("Step at index {index} has an empty or missing \"tool\" name.")))
        .collect()
}

impl CompositeSpec {
    /// Reads a specification. `strictMode: false` in it chooses the page's dialect.
    ///
    /// # Errors
    /// [`SpecError`] with every problem of the written form and every bad reference. References of a specification
    /// whose form is right are read later, when the composite is built.
    pub fn from_value(value: &Value) -> Result<Self, SpecError> {
        Self::read(value, None).map(|(spec, _)| spec)
    }

    /// Reads a specification, with warnings; `dialect` decides where the specification does not say `strictMode`.
    /// When it fails, bad references are named too, so that everything can be mended at once.
    pub(crate) fn read(value: &Value, dialect: Option<Dialect>) -> Result<(Self, Vec<SpecIssue>), SpecError> {
        let (spec, mut issues) = Self::read_all(value, dialect);
        let failed = issues.iter().any(|issue| issue.severity == Severity::Error);
        match spec {
            Some(spec) if !failed => return Ok((spec, issues)),
            Some(spec) => issues.extend(compile(&Text::new(), &spec).err().into_iter().flat_map(|failed| failed.issues)),
            None => {}
        }
        Err(SpecError { issues })
    }

    /// What is wrong with the form of a specification that was put together by hand: the same that reading it would find.
    pub(crate) fn wrong_form(&self) -> Vec<SpecIssue> {
        let (_, mut issues) = Self::read_all(&Value::object(self.pairs()), Some(self.dialect));
        issues.retain(|issue| issue.severity == Severity::Error);
        issues
    }

    /// The written form, without what belongs to a tool's head. Mappings are shared. The dialect is part of it: the same
    /// text means something else in another one.
    pub(crate) fn to_value(&self) -> Value {
        let mut pairs = self.pairs();
        match self.dialect {
            Dialect::Strict => {}
            Dialect::Page => pairs.push(("strictMode", false.into())),
            Dialect::PageStrict => pairs.push(("strictMode", super::form::PAGE_STRICT.into())),
        }
        Value::object(pairs)
    }

    fn pairs(&self) -> Vec<(&'static str, Value)> {
        let steps = self.steps.iter().map(|step| {
            Value::object([
                ("name", Value::String(step.name.clone())),
                ("tool", Value::String(step.tool.clone())),
                ("inputMapping", Value::Object(step.input_mapping.clone())),
            ])
        });
        let mut pairs = vec![("steps", Value::array(steps))];
        pairs.extend(self.output.iter().map(|output| ("output", Value::Object(output.clone()))));
        pairs
    }

    /// What could be read, with a stand-in for every step that could not, and everything that is wrong with its form.
    pub(crate) fn read_all(value: &Value, dialect: Option<Dialect>) -> (Option<Self>, Vec<SpecIssue>) {
        let mut reader = Reader { issues: Vec::new(), dialect: Dialect::Strict };
        let spec = reader.spec(value, dialect);
        (spec, reader.issues)
    }
}

struct Reader {
    issues: Vec<SpecIssue>,
    dialect: Dialect,
}

impl Reader {
    fn spec(&mut self, value: &Value, dialect: Option<Dialect>) -> Option<CompositeSpec> {
        let Some(object) = value.as_object() else {
            self.wrong("", NO_STEPS, Some(format!("a composite is an object with `steps`, and this is {}", article(value))));
            return None;
        };
        self.dialect = match (object.get("strictMode"), dialect) {
            (Some(Value::Bool(false)), _) => Dialect::Page,
            (Some(Value::Bool(true)), _) | (None, None) => Dialect::Strict,
            (None, Some(dialect)) => dialect,
            (Some(other), _) => {
                self.wrong("/strictMode", "`strictMode` is not true or false", Some(format!("it is {}", article(other))));
                Dialect::Strict
            }
        };
        self.unknown(object, &SPEC_FIELDS, "");
        match object.get("mode") {
            None => {}
            Some(Value::String(mode)) if mode == "compose" => {}
            Some(_) => self.wrong("/mode", "`mode` has only one value", Some("write `mode: compose` or leave it out".into())),
        }
        for (pointer, message) in structural(value) {
            self.wrong(&pointer, &message, None);
        }
        let steps = object.get("steps").and_then(Value::as_array).unwrap_or_default();
        if steps.len() > limits::COMPOSITE_STEPS_MAX {
            let message = format!("a composite has at most {} steps, and this one has {}", limits::COMPOSITE_STEPS_MAX, steps.len());
            self.wrong("/steps", &message, Some("move some of them into composites of their own".into()));
            return None;
        }
        let steps = steps.iter().enumerate().map(|(index, step)| self.step(index, step)).collect();
        let spec = CompositeSpec {
            dialect: self.dialect,
            description: self.text(object, "description"),
            input: object.get("input").filter(|input| !input.is_null()).cloned(),
            output: self.mapping(object.get("output"), "/output", "`output` is not an object"),
            steps,
        };
        self.names(&spec.steps);
        Some(spec)
    }

    fn step(&mut self, index: usize, value: &Value) -> StepSpec {
        let at = format!("/steps/{index}");
        let Some(object) = value.as_object() else {
            // What is no object has no tool either, which was said already.
            return StepSpec { name: Text::new(), tool: Text::new(), input_mapping: Object::default() };
        };
        self.unknown(object, &STEP_FIELDS, &at);
        let name = match object.get("name") {
            Some(Value::String(name)) => name.clone(),
            None if self.dialect.is_page() => Text::new(),
            Some(other) if self.dialect.is_page() => other.to_json_string().into(),
            None => {
                self.wrong(&at, "the step has no `name`", Some("give it a short name, such as `search`".into()));
                Text::new()
            }
            Some(other) => {
                self.wrong(&format!("{at}/name"), "the step's `name` is not a text", Some(format!("it is {}", article(other))));
                Text::new()
            }
        };
        if !self.dialect.is_page() && !name.is_empty() && !is_name(&name) {
            let help = "a name begins with a letter or `_` and goes on with letters, digits, `_` and `-`";
            self.wrong(&format!("{at}/name"), &format!("`{}` is not a step name", crate::cut(&name, 60)), Some(help.into()));
        } else if !self.dialect.is_page() && name.is_empty() && object.get("name").is_some_and(|name| name.as_str().is_some()) {
            self.wrong(&format!("{at}/name"), "the step's `name` is empty", Some("give it a short name, such as `search`".into()));
        }
        let message = format!("Step at index {index} has an \"inputMapping\" that is not an object.");
        let input_mapping = self.mapping(object.get("inputMapping"), &format!("{at}/inputMapping"), &message);
        StepSpec {
            name,
            tool: object.get("tool").and_then(Value::as_str).unwrap_or_default().into(),
            input_mapping: input_mapping.unwrap_or_default(),
        }
    }

    fn mapping(&mut self, value: Option<&Value>, at: &str, message: &str) -> Option<Object> {
        match value {
            None | Some(Value::Null) => None,
            Some(Value::Object(mapping)) => {
                if value.is_some_and(|value| value.depth() > limits::MAPPING_DEPTH_MAX) {
                    self.wrong(at, &format!("the mapping nests more than {} deep", limits::MAPPING_DEPTH_MAX), None);
                    return None;
                }
                Some(mapping.clone())
            }
            Some(other) => {
                self.wrong(at, message, Some(format!("it is {}; write argument names with their values", article(other))));
                None
            }
        }
    }

    fn text(&mut self, object: &Object, field: &str) -> Option<Text> {
        match object.get(field)? {
            Value::String(text) => Some(text.clone()),
            Value::Null => None,
            other => {
                self.wrong(&format!("/{field}"), &format!("`{field}` is not a text"), Some(format!("it is {}", article(other))));
                None
            }
        }
    }

    /// Names must differ, except in the page's dialect, where positions count and names do not.
    fn names(&mut self, steps: &[StepSpec]) {
        if self.dialect.is_page() {
            return;
        }
        for (index, step) in steps.iter().enumerate() {
            let earlier = steps.iter().take(index).position(|other| other.name == step.name && !step.name.is_empty());
            if let Some(earlier) = earlier {
                let message = format!("two steps are named `{}`", step.name);
                self.wrong(&format!("/steps/{index}/name"), &message, Some(format!("the other one is step {earlier}; rename one")));
            }
        }
    }

    /// A guard that is silently ignored is worse than none: unknown fields are errors, and warnings in the page's dialect.
    fn unknown(&mut self, object: &Object, known: &[&str], at: &str) {
        for key in object.keys().filter(|key| !known.contains(&key.as_str())) {
            let near = crate::nearest::nearest(key, known.iter().copied());
            let help = match near {
                Some(near) => format!("did you mean `{near}`?"),
                None => format!("the fields here are {}", known.iter().map(|field| format!("`{field}`")).collect::<Vec<_>>().join(", ")),
            };
            let severity = if self.dialect.is_page() { Severity::Warning } else { Severity::Error };
            let message = format!("`{}` is not a field of a {}", crate::cut(key, 60), if at.is_empty() { "composite" } else { "step" });
            let pointer = format!("{at}/{}", key.replace('~', "~0").replace('/', "~1"));
            let sure = crate::nearest::unmistakable_keyword(key, known.iter().copied()).filter(|near| object.get(near).is_none());
            let fix = sure.map(|near| Fix::Key { pointer: pointer.clone(), to: near.into() });
            self.issues.push(SpecIssue { severity, code: "invalid_spec", message, help: Some(help), pointer, span: None, fix });
        }
    }

    fn wrong(&mut self, pointer: &str, message: &str, help: Option<String>) {
        self.issues.push(SpecIssue {
            severity: Severity::Error,
            code: "invalid_spec",
            message: message.into(),
            help,
            pointer: pointer.into(),
            span: None,
            fix: None,
        });
    }
}

/// `[A-Za-z_][A-Za-z0-9_-]*`
pub(crate) fn is_name(name: &str) -> bool {
    let first = name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_');
    first && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_' || c == '-')
}

/// `a number`, `an array`, `null`
fn article(value: &Value) -> String {
    match value.kind() {
        "null" => "null".into(),
        kind @ ("integer" | "array" | "object") => format!("an {kind}"),
        kind => format!("a {kind}"),
    }
}

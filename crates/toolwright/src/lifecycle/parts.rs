//! What hooks see and what they contribute: plain data, nothing that runs.

use std::collections::BTreeMap;

use serde::{Serialize, Serializer};

use crate::runtime::{Rt, Runtime};
use crate::value::{Text, Value};

/// One call that asks to be let in, as `authorize` sees it on every path.
///
/// A model's decision that is judged beforehand has a `decision` and no `input`; a direct invocation has an `input`
/// and, where the runtime can make one, a `decision`; a call of a decision has both; a step of a composite and a
/// nested call have a `lineage` as well.
///
/// ```
/// use toolwright::{Access, Context, Refusal, json};
/// fn inside(access: &Access<'_>) -> Result<(), Refusal> {
///     match access.input.and_then(|input| input.get("to")).and_then(|to| to.as_str()) {
///         Some(to) if !to.ends_with("@example.com") => Err(Refusal::new("foreign_address", format!("`{to}` is outside"))),
///         _ => Ok(()),
///     }
/// }
/// let (context, input) = (Context::default(), json!({ "to": "ann@elsewhere.org" }));
/// let access: Access<'_> = Access { input: Some(&input), ..Access::new("send_mail", &context) };
/// assert_eq!(inside(&access).unwrap_err().code, "foreign_address");
/// ```
pub struct Access<'a, R: Runtime = Rt> {
    /// Id of the tool.
    pub tool: &'a str,
    /// The decision that selects it, when there is one.
    pub decision: Option<&'a R::Decision>,
    /// Its arguments, when they are known: final, and known to fit the tool's schema.
    pub input: Option<&'a Value>,
    /// The caller.
    pub context: &'a R::Context,
    /// Ids of the tools that led to this call, outermost first; empty for a call from outside.
    pub lineage: &'a [Text],
}

impl<'a, R: Runtime> Access<'a, R> {
    /// An access from outside without decision and input; for tests of a hook, mostly.
    pub fn new(tool: &'a str, context: &'a R::Context) -> Self {
        Self { tool, decision: None, input: None, context, lineage: &[] }
    }
}

impl<R: Runtime> Clone for Access<'_, R> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<R: Runtime> Copy for Access<'_, R> {}

impl<R: Runtime> std::fmt::Debug for Access<'_, R> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Access").field("tool", &self.tool).field("lineage", &self.lineage).finish_non_exhaustive()
    }
}

/// One line of a task's rules for the model. Lines of all tools are sorted by `order`, ascending.
///
/// ```
/// let rule = toolwright::Rule::new(10, "Answer from what was read.");
/// assert_eq!(rule.order, 10);
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Rule {
    /// Where it stands: lower comes first, equal ones keep the order of registration.
    pub order: i32,
    /// The line. Trimmed when it is used; a blank one is left out.
    pub text: String,
}

impl Rule {
    /// A line at its place.
    pub fn new(order: i32, text: impl Into<String>) -> Self {
        Self { order, text: text.into() }
    }
}

/// One value for the model's context.
///
/// ```
/// use toolwright::{ModelField, json};
/// let field: ModelField = ModelField::new("head", 1, "open_files", json!(["a.rs"]));
/// assert_eq!(field.key, "open_files");
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct ModelField<P = String> {
    /// In which part of the context it stands.
    pub placement: P,
    /// Where in that part: lower comes first, equal ones keep the order of registration.
    pub order: i32,
    /// Its name; of two fields with one name the later counts.
    pub key: Text,
    /// The value.
    pub value: Value,
}

impl<P> ModelField<P> {
    /// A value at its place.
    pub fn new(placement: impl Into<P>, order: i32, key: impl Into<Text>, value: impl Into<Value>) -> Self {
        Self { placement: placement.into(), order, key: key.into(), value: value.into() }
    }
}

/// What a field becomes in the model's context: one value or several, and the tool they come from.
///
/// ```
/// use toolwright::{ContextFragment, ModelField, json};
/// let field: ModelField = ModelField::new("head", 1, "open_files", json!(["a.rs"]));
/// let fragment = ContextFragment::of("editor", &field);
/// assert_eq!(serde_json::to_string(&fragment)?, r#"{"tool":"editor","values":{"open_files":["a.rs"]}}"#);
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ContextFragment {
    /// Id of the tool.
    #[serde(serialize_with = "text")]
    pub tool: Text,
    /// The values by name.
    #[serde(serialize_with = "by_name")]
    pub values: BTreeMap<Text, Value>,
}

impl ContextFragment {
    /// The usual fragment of a field: its value under its key.
    pub fn of<P>(tool: impl Into<Text>, field: &ModelField<P>) -> Self {
        Self { tool: tool.into(), values: BTreeMap::from([(field.key.clone(), field.value.clone())]) }
    }
}

/// How a tool is offered as something the user may want, with examples of how they would say it.
///
/// ```
/// use toolwright::IntentSpec;
/// let intent = IntentSpec::new("send a mail").example("write to Ann that I am late");
/// assert_eq!(intent.examples, ["write to Ann that I am late"]);
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct IntentSpec {
    /// What it is called.
    #[serde(serialize_with = "text")]
    pub name: Text,
    /// How a user would say it.
    pub examples: Vec<String>,
}

impl IntentSpec {
    /// An intent without examples.
    pub fn new(name: impl Into<Text>) -> Self {
        Self { name: name.into(), examples: Vec::new() }
    }

    /// Adds one example.
    #[must_use]
    pub fn example(mut self, example: impl Into<String>) -> Self {
        self.examples.push(example.into());
        self
    }
}

fn text<S: Serializer>(text: &Text, to: S) -> Result<S::Ok, S::Error> {
    to.serialize_str(text)
}

fn by_name<S: Serializer>(values: &BTreeMap<Text, Value>, to: S) -> Result<S::Ok, S::Error> {
    to.collect_map(values.iter().map(|(key, value)| (key.as_str(), value)))
}

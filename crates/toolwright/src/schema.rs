//! JSON Schema at the two borders of a tool: arguments in, output out.
//!
//! The checking is the `jsonschema` crate's; here is when it is asked, what is
//! repaired before it, and how its findings read. References outside the schema
//! are never fetched. A schema is judged when its tool is registered; its
//! validator is built when it is first needed, unless only building it can tell.
//!
//! What other modules hand on of it: [`SchemaError`], when a schema is none; [`SchemaIssue`], when a value does not
//! fit; [`Repair`], when one was made to fit. [`Learned`] is for tools that do not say what they give: their outputs do.

use std::sync::{Arc, OnceLock};

use jsonschema::Validator;
use schemars::JsonSchema;

use crate::value::Value;
use crate::value::schema::JsonValue;
use crate::wiring::Document;

mod dangling;
pub(crate) mod integers;
mod learn;
pub(crate) mod pin;
mod plain;

use integers::Integers;

pub use learn::{Learned, LearnedError, Sometimes};

/// A schema that is no schema, or one that cannot be used.
///
/// ```
/// use toolwright::{Registry, RegisterFault, json, tool};
/// let search = tool("search", "Finds a text").reads().input_schema(json!({ "type": "strnig" })).run_json(|v, _call| async move { Ok(v) });
/// let error = Registry::new().with(search).err().ok_or("it is refused")?;
/// let RegisterFault::InputSchema { why } = error.fault() else { return Err("its schema is none") };
/// assert_eq!(why.pointer, "/type");
/// # Ok::<(), &str>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct SchemaError {
    /// JSON pointer into the schema.
    pub pointer: String,
    /// What is wrong there.
    pub message: String,
}

/// One thing that does not fit a schema.
///
/// [`Fault::InvalidInput`](crate::Fault::InvalidInput) and [`InvalidOutput`](crate::Fault::InvalidOutput) list them.
///
/// ```
/// use toolwright::{Fault, Invocation, Registry, json, tool};
/// # tokio::runtime::Builder::new_current_thread().build()?.block_on(async {
/// let schema = json!({ "type": "object", "properties": { "n": { "type": "integer" } } });
/// let count = tool("count", "Counts").reads().input_schema(schema).run_json(|input, _call| async move { Ok(input) });
/// let catalog = Registry::new().with(count)?.seal();
/// let error = catalog.invoke(Invocation::new("count", json!({ "n": [] })), ()).await.err().ok_or("it does not fit")?;
/// let Fault::InvalidInput { issues, .. } = error.fault() else { return Err("it does not fit".into()) };
/// assert_eq!(issues[0].pointer, "/n");
/// # Ok::<(), Box<dyn std::error::Error>>(()) })?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SchemaIssue {
    /// JSON pointer into the value.
    pub pointer: String,
    /// What is wrong there, in words.
    pub message: String,
}

impl std::fmt::Display for SchemaIssue {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        if self.pointer.is_empty() { f.write_str(&self.message) } else { write!(f, "{}: {}", self.pointer, self.message) }
    }
}

/// Builds what judges schemas of the usual dialects, unless it is there. The first tool that is registered waits for it otherwise.
///
/// ```
/// toolwright::schema::warm();
/// ```
pub fn warm() {
    let any = Value::object([("type", Value::from("object"))]);
    let _ = CompiledSchema::new(any).verify();
}

/// How many of `values` fit a schema.
///
/// # Errors
/// When the schema is none.
///
/// ```
/// use toolwright::{json, schema::fitting};
/// assert_eq!(fitting(&json!({ "type": "integer" }), &[json!(1), json!("one")]), Ok(1));
/// assert!(fitting(&json!({ "type": "strnig" }), &[]).is_err());
/// ```
pub fn fitting(schema: &Value, values: &[Value]) -> Result<usize, SchemaError> {
    let schema = CompiledSchema::new(schema.clone());
    schema.warm()?;
    Ok(values.iter().filter(|value| schema.accepts(value)).count())
}

/// Something that was changed in the arguments before the tool got them.
///
/// Kept in the journal, and told in the notes of the result.
///
/// ```
/// use toolwright::Repair;
/// let repair = Repair { pointer: "/n".into(), action: "read the text `5` as a number".into() };
/// assert_eq!(repair.pointer, "/n");
/// ```
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Repair {
    /// JSON pointer into the arguments as received.
    pub pointer: String,
    /// What was done, in words.
    pub action: std::borrow::Cow<'static, str>,
}

/// A schema and its validator, built when first needed and shared from then on.
#[derive(Clone)]
pub(crate) struct CompiledSchema(Arc<Inner>);

struct Inner {
    source: Value,
    compiled: OnceLock<Result<Validator<JsonValue>, SchemaError>>,
    document: OnceLock<Option<Arc<Document>>>,
    /// It is known to be a schema, or somebody says so.
    verified: OnceLock<()>,
    /// Where it wants integers.
    integers: OnceLock<Option<Integers>>,
    /// How often a value was checked, where a test counts that.
    #[cfg(feature = "testing")]
    checks: OnceLock<crate::testing::Tally>,
}

impl std::fmt::Debug for CompiledSchema {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("CompiledSchema").field(&self.0.source).finish()
    }
}

impl CompiledSchema {
    pub(crate) fn new(source: Value) -> Self {
        Self(Arc::new(Inner {
            source,
            compiled: OnceLock::new(),
            document: OnceLock::new(),
            verified: OnceLock::new(),
            integers: OnceLock::new(),
            #[cfg(feature = "testing")]
            checks: OnceLock::new(),
        }))
    }

    /// The schema of a Rust type.
    pub(crate) fn of<T: JsonSchema>() -> Self {
        let schema = schemars::schema_for!(T);
        Self::new(Value::from_serialize(&schema).unwrap_or(Value::Bool(true)))
    }

    pub(crate) fn source(&self) -> &Value {
        &self.0.source
    }

    /// The schema as wiring reads it; none when it is too large for that or written in an unknown dialect.
    pub(crate) fn document(&self) -> Option<&Arc<Document>> {
        self.0.document.get_or_init(|| Document::new(&self.0.source)).as_ref()
    }

    /// Whether a validator can be built of it. A schema of which its meta-schema is proof enough waits with that until
    /// it is used; every other one is built now.
    ///
    /// # Errors
    /// Says what is wrong with the schema, as building it does.
    pub(crate) fn verify(&self) -> Result<(), SchemaError> {
        if self.0.verified.get().is_some() {
            return Ok(());
        }
        if self.0.compiled.get().is_none()
            && self.0.source.weight() <= crate::limits::SCHEMA_BYTES_MAX
            && plain::is_plain(&self.0.source)
            && fits_meta_schema(&self.0.source)
        {
            self.accept();
            return Ok(());
        }
        self.warm()
    }

    /// Takes it for a schema without looking. One that is none accepts nothing.
    pub(crate) fn accept(&self) {
        let _ = self.0.verified.set(());
    }

    /// Builds the validator now, unless it is there.
    ///
    /// # Errors
    /// Says what is wrong with the schema.
    pub(crate) fn warm(&self) -> Result<(), SchemaError> {
        self.compiled().as_ref().map(|_| ()).map_err(|error| (*error).clone())
    }

    #[cfg(test)]
    fn is_built(&self) -> bool {
        self.0.compiled.get().is_some()
    }

    fn compiled(&self) -> Result<&Validator<JsonValue>, &SchemaError> {
        self.0.compiled.get_or_init(|| compile(&self.0.source)).as_ref()
    }

    /// Whether `value` fits. A schema that cannot be used accepts nothing.
    pub(crate) fn accepts(&self, value: &Value) -> bool {
        self.compiled().is_ok_and(|validator| self.is_valid(validator, value))
    }

    fn is_valid(&self, validator: &Validator<JsonValue>, value: &Value) -> bool {
        #[cfg(feature = "testing")]
        if let Some(checks) = self.0.checks.get() {
            checks.count();
        }
        validator.is_valid(value)
    }

    /// How often a value was checked since this was asked for the first time.
    #[cfg(feature = "testing")]
    pub(crate) fn checks(&self) -> u64 {
        self.0.checks.get_or_init(Default::default).counted()
    }

    /// The places that want an integer.
    pub(crate) fn integers(&self) -> Option<&Integers> {
        self.0.integers.get_or_init(|| Integers::of(&self.0.source)).as_ref()
    }

    /// Whether every integer that it wants is written as one in `value`.
    pub(crate) fn is_exact(&self, value: &Value) -> bool {
        self.integers().is_none_or(|integers| !integers.concerns(value))
    }

    /// Everything in `value` that does not fit.
    pub(crate) fn issues(&self, value: &Value) -> Vec<SchemaIssue> {
        match self.compiled() {
            Err(error) => vec![SchemaIssue { pointer: String::new(), message: format!("the schema cannot be used: {error}") }],
            Ok(validator) => validator
                .iter_errors(value)
                .take(crate::limits::SCHEMA_ISSUES_MAX)
                .map(|error| SchemaIssue { pointer: place(&error), message: in_words(&error) })
                .collect(),
        }
    }

    /// Makes received arguments ready to send: `100.0` becomes `100` where the schema wants an
    /// integer, and an explicit `null` for an optional argument that cannot be null is left out.
    /// Nothing else is ever added or changed.
    pub(crate) fn prepare(&self, arguments: &mut Value, repairs: &mut Vec<Repair>) -> Result<(), Vec<SchemaIssue>> {
        let Ok(validator) = self.compiled() else { return Err(self.issues(arguments)) };
        if let Some(integers) = self.integers()
            && integers.concerns(arguments)
        {
            *arguments = integers.normalised(arguments, repairs);
        }
        if self.is_valid(validator, arguments) {
            return Ok(());
        }
        self.leave_stray_nulls_out(arguments, repairs)
    }

    #[cold]
    fn leave_stray_nulls_out(&self, arguments: &mut Value, repairs: &mut Vec<Repair>) -> Result<(), Vec<SchemaIssue>> {
        let issues = self.issues(arguments);
        let nulls: Vec<&str> = issues
            .iter()
            .map(|issue| issue.pointer.as_str())
            .filter(|pointer| !pointer.is_empty() && arguments.pointer(pointer).is_some_and(Value::is_null))
            .collect();
        if nulls.is_empty() {
            return Err(issues);
        }
        let without = integers::without(arguments, &nulls);
        if !self.accepts(&without) {
            return Err(issues);
        }
        let action = "left out a null that the schema does not allow";
        repairs.extend(nulls.iter().map(|pointer| Repair { pointer: (*pointer).to_owned(), action: action.into() }));
        repairs.dedup();
        *arguments = without;
        Ok(())
    }
}

fn compile(source: &Value) -> Result<Validator<JsonValue>, SchemaError> {
    // What was put together by hand may be of any size, and everything below goes down into it.
    if source.depth() > crate::limits::VALUE_DEPTH_MAX || source.weight() > crate::limits::SCHEMA_BYTES_MAX {
        let (deep, bytes) = (crate::limits::VALUE_DEPTH_MAX, crate::limits::SCHEMA_BYTES_MAX);
        let message = format!("it nests more than {deep} deep, or would print as more than {bytes} bytes");
        return Err(SchemaError { pointer: String::new(), message });
    }
    let schema = source.to_json();
    if let Some(dialect) = source.get("$schema").and_then(Value::as_str)
        && !known_dialect(dialect)
    {
        return Err(SchemaError {
            pointer: "/$schema".into(),
            message: format!("`{}` is no dialect that is known here", crate::cut(dialect, 100)),
        });
    }
    jsonschema::options_for::<JsonValue>()
        .should_validate_formats(true)
        .offline()
        .build(&schema)
        .map_err(|error| dangling::named_by(&error, source).unwrap_or_else(|| in_place(&error)))
}

fn in_place(error: &jsonschema::ValidationError<'_>) -> SchemaError {
    SchemaError { pointer: error.instance_path().to_string(), message: crate::cut(&error.to_string(), 400) }
}

/// Whether the meta-schema of its dialect accepts it.
fn fits_meta_schema(source: &Value) -> bool {
    jsonschema::meta::is_valid_for::<JsonValue>(source).unwrap_or(false)
}

fn known_dialect(uri: &str) -> bool {
    let uri = uri.trim_end_matches('#').trim_end_matches('/');
    let rest = uri.strip_prefix("http://").or_else(|| uri.strip_prefix("https://"));
    matches!(
        rest,
        Some(
            "json-schema.org/draft/2020-12/schema"
                | "json-schema.org/draft/2019-09/schema"
                | "json-schema.org/draft-07/schema"
                | "json-schema.org/draft-06/schema"
                | "json-schema.org/draft-04/schema"
        )
    )
}

/// Where the value is that does not fit; of a missing member, where it should be.
fn place(error: &jsonschema::ValidationError<'_>) -> String {
    let within = error.instance_path().to_string();
    match error.kind() {
        jsonschema::error::ValidationErrorKind::Required { property } => {
            let name = property.as_str().unwrap_or_default().replace('~', "~0").replace('/', "~1");
            format!("{within}/{name}")
        }
        _ => within,
    }
}

fn in_words(error: &jsonschema::ValidationError<'_>) -> String {
    crate::cut(&error.to_string(), crate::limits::SCHEMA_ISSUE_CHARS_MAX)
}

//! Collecting tools, then sealing them. Registration is where a tool's schemas,
//! name and effect are read and judged; after [`Registry::seal`] nothing changes.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

use crate::catalog::{Catalog, Entry, Home, View};
use crate::composite::compile::compile;
use crate::composite::spec::{CompositeSpec, Severity, SpecIssue};
use crate::composite::{Composite, CompositeBody, Derived, GateOf, derived_effect, lint};
use crate::gate::{Chainability, HostChecks};
use crate::limits::{self, Limits};
use crate::reference::template::Plan;
use crate::schema::{CompiledSchema, project};
use crate::tool::{Body, Origin, ToolDef, tool};
use crate::value::{Text, Value};

/// What the host decides once for a whole catalogue.
#[derive(Clone, Debug, Default)]
#[must_use]
pub struct Policy {
    pub(crate) listed: BTreeSet<Text>,
    pub(crate) checks: Option<HostChecks>,
    pub(crate) limits: Limits,
}

impl Policy {
    /// Lists nothing, checks nothing, usual limits.
    pub fn new() -> Self {
        Self::default()
    }

    /// Tools with side effects that composites may use. The names are exact.
    pub fn side_effecting_tools<T: Into<Text>>(mut self, tools: impl IntoIterator<Item = T>) -> Self {
        self.listed.extend(tools.into_iter().map(Into::into));
        self
    }

    /// Checks before each step.
    pub fn checks(mut self, checks: HostChecks) -> Self {
        self.checks = Some(checks);
        self
    }

    /// Bounds of every run.
    pub fn limits(mut self, limits: Limits) -> Self {
        self.limits = limits;
        self
    }
}

/// A tool or composite that was not taken in; the registry is as it was.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RegisterError {
    /// Name of the tool.
    pub tool: Text,
    /// Everything that is wrong with it, warnings too. Pointers of a composite's issues lead into its specification.
    pub issues: Vec<SpecIssue>,
}

impl RegisterError {
    /// The code of the first error.
    pub fn code(&self) -> &'static str {
        self.errors().next().map_or("invalid_tool", |issue| issue.code)
    }

    /// The issues without the warnings.
    fn errors(&self) -> impl Iterator<Item = &SpecIssue> {
        self.issues.iter().filter(|issue| issue.severity == Severity::Error)
    }
}

impl std::fmt::Display for RegisterError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let messages: Vec<&str> = self.errors().map(|issue| issue.message.as_str()).collect();
        write!(f, "`{}` cannot be registered: {}", crate::cut(&self.tool, 80), messages.join("; "))
    }
}

impl std::error::Error for RegisterError {}

/// What [`Registry::register`] takes: a tool, or a composite over tools registered before it.
#[derive(Clone, Debug)]
pub enum Declaration {
    /// A tool.
    Tool(ToolDef),
    /// A composite.
    Composite(Box<Composite>),
}

impl From<ToolDef> for Declaration {
    fn from(tool: ToolDef) -> Self {
        Self::Tool(tool)
    }
}

impl From<Composite> for Declaration {
    fn from(composite: Composite) -> Self {
        Self::Composite(Box::new(composite))
    }
}

/// Tools being collected, in order. Only a sealed registry, a [`Catalog`], can run anything.
#[derive(Default)]
pub struct Registry {
    entries: Vec<Entry>,
    index: HashMap<Text, usize>,
    policy: Policy,
    warnings: Vec<(Text, SpecIssue)>,
    home: Home,
}

impl std::fmt::Debug for Registry {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_list().entries(self.entries.iter().map(|entry| entry.tool.name())).finish()
    }
}

impl Registry {
    /// An empty registry that lists nothing.
    pub fn new() -> Self {
        Self::default()
    }

    /// An empty registry with the host's policy.
    pub fn with_policy(policy: Policy) -> Self {
        Self { policy, ..Self::default() }
    }

    /// Takes in one tool or composite.
    ///
    /// # Errors
    /// [`RegisterError`] with everything that is wrong; the registry is then as it was.
    pub fn register(&mut self, declaration: impl Into<Declaration>) -> Result<&mut Self, RegisterError> {
        let (tool, warnings) = match declaration.into() {
            Declaration::Tool(tool) => (tool, Vec::new()),
            Declaration::Composite(composite) => self.linked(*composite)?,
        };
        let issues = self.judge(tool.name(), tool.origin(), tool.0.input.as_ref(), tool.0.output.as_ref());
        if !issues.is_empty() {
            return Err(RegisterError { tool: tool.0.name.clone(), issues });
        }
        let name = tool.0.name.clone();
        self.warnings.extend(warnings.into_iter().map(|warning| (name.clone(), warning)));
        let chainability = Chainability::of(&tool, self.policy.listed.contains(&name));
        self.index.insert(name, self.entries.len());
        self.entries.push(Entry { tool, chainability });
        Ok(self)
    }

    /// Takes in one more, by value.
    ///
    /// # Errors
    /// As [`Registry::register`].
    pub fn with(mut self, declaration: impl Into<Declaration>) -> Result<Self, RegisterError> {
        self.register(declaration)?;
        Ok(self)
    }

    /// The tool of this name.
    pub fn get(&self, name: &str) -> Option<&ToolDef> {
        self.index.get(name).and_then(|at| self.entries.get(*at)).map(|entry| &entry.tool)
    }

    /// Warnings about registered composites, with their names.
    pub fn warnings(&self) -> &[(Text, SpecIssue)] {
        &self.warnings
    }

    /// Ends registration. From here on nothing changes.
    pub fn seal(self) -> Catalog {
        let view = View { entries: self.entries, index: self.index, checks: self.policy.checks, limits: self.policy.limits };
        Catalog::new(view, &self.home)
    }

    /// What is wrong with a tool's head: its name and its schemas.
    fn judge(
        &self,
        name: &str,
        origin: Option<&Origin>,
        input: Option<&CompiledSchema>,
        output: Option<&CompiledSchema>,
    ) -> Vec<SpecIssue> {
        let mut issues = Vec::new();
        let mut wrong = |code, message: String, help: &str| {
            let help = Some(help.to_owned()).filter(|help| !help.is_empty());
            issues.push(SpecIssue { severity: Severity::Error, code, message, help, pointer: String::new(), span: None });
        };
        let plain = |c: char| !c.is_control() && !c.is_whitespace();
        if name.is_empty() || name.len() > limits::TOOL_NAME_BYTES_MAX || !name.chars().all(plain) {
            let message = format!("`{}` cannot be a tool's name", crate::cut(name, 80));
            wrong("invalid_tool", message, "a name is 1 to 256 bytes without white space or control characters");
        }
        if let Some(other) = self.get(name) {
            let of = |origin: Option<&Origin>| match origin.map(|origin| origin.source.as_str()) {
                None | Some("") => "this program".to_owned(),
                Some(source) => format!("`{source}`"),
            };
            let message = format!("two tools are named `{name}`: one of {} and one of {}", of(other.origin()), of(origin));
            wrong("duplicate_tool", message, "a tool is never replaced by another of its name; rename one");
        }
        let schemas = [("input", input), ("output", output)];
        for (which, schema) in schemas.into_iter().filter_map(|(which, schema)| Some((which, schema?))) {
            if let Err(error) = schema.verify() {
                let message = format!(
                    "the {which} schema cannot be used: {}: {}",
                    if error.pointer.is_empty() { "/" } else { &error.pointer },
                    error.message
                );
                wrong("invalid_schema", message, "a schema is JSON Schema of draft 4 to 2020-12 without references to other documents");
            }
        }
        if let Some(schema) = input
            && schema.verify().is_ok()
            && !takes_objects(schema.source())
        {
            wrong(
                "invalid_schema",
                "the input schema accepts no object, and arguments are always an object".into(),
                "give the root `type: object`",
            );
        }
        issues
    }

    /// Links a composite's steps to registered tools, judges them and derives what follows from them.
    /// Gives the tool and what is worth a warning.
    fn linked(&self, composite: Composite) -> Result<(ToolDef, Vec<SpecIssue>), RegisterError> {
        let refuse = |found: Vec<SpecIssue>| {
            let input = composite.input_or_spec().map(CompiledSchema::new);
            let mut issues = self.judge(&composite.id, composite.origin.as_ref(), input.as_ref(), None);
            issues.extend(found);
            RegisterError { tool: composite.id.clone(), issues }
        };
        // A specification that was read is right; one may also be put together by hand.
        let mut issues = composite.spec.wrong_form();
        let compiled = compile(&composite.id, &composite.spec).map_err(|found| issues.extend(found)).ok();
        let mut links = Vec::with_capacity(composite.spec.steps.len());
        let mut derived = Derived::default();
        for index in 0..composite.spec.steps.len() {
            self.link(index, &composite.spec, &mut links, &mut derived, &mut issues);
        }
        if derived.depth > limits::COMPOSITE_DEPTH_MAX {
            let message = format!("composites nest {} deep here, and at most {} do", derived.depth, limits::COMPOSITE_DEPTH_MAX);
            issues.push(problem("nesting_too_deep", message, Some("merge some of the inner composites".into()), String::new()));
        }
        let Some(compiled) = compiled.filter(|_| !issues.iter().any(|issue| issue.severity == Severity::Error)) else {
            return Err(refuse(issues));
        };
        issues.extend(compiled.warnings.iter().cloned());
        let output = self.output_schema(&composite, compiled.program.output.as_deref(), &links);
        let effect = derived_effect(&derived.effects);
        let mut builder = tool(composite.id.clone(), composite.description.clone()).effect(effect);
        builder = builder.origin(composite.origin.clone().unwrap_or_else(|| Origin {
            kind: arcstr::literal!("composite"),
            name: composite.id.clone(),
            ..Origin::default()
        }));
        if let Some(title) = composite.title.clone() {
            builder = builder.title(title);
        }
        if let Some(input) = composite.input_or_spec() {
            builder = builder.input_schema(input);
        }
        if let Some(output) = output {
            builder = builder.output_schema(output);
        }
        builder = composite.examples.iter().cloned().fold(builder, |builder, example| builder.example(example));
        let gate = GateOf::Catalog { links: links.into(), home: self.home.clone() };
        let body = CompositeBody::new(composite.spec, gate, derived, compiled);
        Ok((builder.close(Body::Composite(Arc::new(body))), issues))
    }

    fn link(&self, index: usize, spec: &CompositeSpec, links: &mut Vec<usize>, derived: &mut Derived, issues: &mut Vec<SpecIssue>) {
        let Some(step) = spec.steps.get(index) else { return };
        let found = self.index.get(&step.tool).and_then(|at| Some((*at, self.entries.get(*at)?)));
        let Some((at, entry)) = found else {
            let known: Vec<&str> = self.entries.iter().map(|entry| entry.tool.name()).collect();
            issues.push(lint::unknown_tool(index, step, &known));
            return;
        };
        links.push(at);
        issues.extend(lint::not_allowed(index, step, entry.chainability));
        issues.extend(lint::wiring(index, step, &entry.tool));
        derived.add(step, Some(&entry.tool));
    }

    /// The last step's schema, or what the `output` mapping gives.
    fn output_schema(&self, composite: &Composite, plan: Option<&Plan>, links: &[usize]) -> Option<Value> {
        let schema_at = |link: &usize| self.entries.get(*link).and_then(|entry| entry.tool.output_schema());
        let Some(plan) = plan else { return schema_at(links.last()?).cloned() };
        let outputs: Vec<Option<Value>> = links.iter().map(|link| schema_at(link).cloned()).collect();
        let input = composite.input_or_spec();
        let sources = project::Sources { input: input.as_ref(), outputs: &outputs };
        let schema = project::schema_of(plan, &sources);
        CompiledSchema::new(schema.clone()).verify().is_ok().then_some(schema)
    }
}

fn problem(code: &'static str, message: String, help: Option<String>, pointer: String) -> SpecIssue {
    SpecIssue { severity: Severity::Error, code, message, help, pointer, span: None }
}

/// Arguments are always an object; a root `type` that excludes objects can never be called.
fn takes_objects(schema: &Value) -> bool {
    match (schema, schema.get("type")) {
        (Value::Bool(accepts), _) => *accepts,
        (_, None) => true,
        (_, Some(Value::String(kind))) => kind == "object",
        (_, Some(kinds)) => kinds.as_array().is_some_and(|kinds| kinds.iter().any(|kind| kind.as_str() == Some("object"))),
    }
}

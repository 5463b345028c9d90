//! A composite as data, head and all: how it is kept in a journal, shown to whoever approves it, and made again.

use super::Composite;
use super::spec::{CompositeSpec, Severity, SpecError, SpecIssue};
use crate::lifecycle::IntentSpec;
use crate::limits;
use crate::reference::Dialect;
use crate::runtime::Runtime;
use crate::tool::{Example, Goals, Origin, ToolBuilder};
use crate::value::{Object, Text, Value};

/// What stands beside the specification.
const HEAD_FIELDS: [&str; 18] = [
    "id",
    "title",
    "description",
    "kind",
    "audience",
    "goals",
    "delegate",
    "intent",
    "produces",
    "terminal",
    "hidden",
    "debugSteps",
    "input",
    "outputSchema",
    "examples",
    "origin",
    "annotations",
    "hooks",
];

/// What is handed on to the reader of specifications.
const SPEC_FIELDS: [&str; 4] = ["mode", "steps", "strictMode", "output"];

pub(super) const PAGE_STRICT: &str = "page";

impl<R: Runtime> Composite<R> {
    /// Everything of it that is data: the head beside the specification, in one object. What has its usual value is left
    /// out. Hooks are code, and only said to be there. The host's own [`Runtime::Meta`] is not kept, and nothing says that it was
    /// there: what comes back has the default.
    ///
    /// ```
    /// use toolwright::{Composite, json};
    /// let twice = Composite::new("twice", "Echoes").step("a", "echo", json!({ "x": "$input.x" }));
    /// assert_eq!(twice.to_value(), json!({
    ///     "id": "twice", "description": "Echoes", "kind": "composite", "audience": "model", "strictMode": true,
    ///     "steps": [{ "name": "a", "tool": "echo", "inputMapping": { "x": "$input.x" } }],
    /// }));
    /// let again: Composite = Composite::from_value(&twice.to_value())?;
    /// assert_eq!(again.to_value(), twice.to_value());
    /// # Ok::<(), toolwright::SpecError>(())
    /// ```
    pub fn to_value(&self) -> Value {
        let def = &self.head.def;
        let text = |text: &Text| Value::String(text.clone());
        let mut pairs: Vec<(&'static str, Value)> = vec![("id", text(&def.name))];
        pairs.extend(def.title.iter().map(|title| ("title", text(title))));
        pairs.extend([("description", text(&def.description)), ("kind", text(&def.kind)), ("audience", text(&def.audience))]);
        if let Goals::Only(goals) = &def.goals {
            pairs.push(("goals", Value::array(goals.iter().cloned().map(Value::String))));
        }
        pairs.extend(def.delegate.iter().map(|delegate| ("delegate", text(delegate))));
        pairs.extend(def.intent.iter().map(|intent| ("intent", intent_value(intent))));
        pairs.extend(def.produces.iter().map(|protocol| ("produces", text(protocol))));
        let flags = [("terminal", def.terminal), ("hidden", def.hidden), ("debugSteps", def.debug_steps)];
        pairs.extend(flags.into_iter().filter(|(_, set)| *set).map(|(flag, _)| (flag, true.into())));
        pairs.extend(self.input_or_spec().map(|schema| ("input", schema)));
        pairs.extend(def.output.iter().map(|schema| ("outputSchema", schema.source().clone())));
        if !def.examples.is_empty() {
            pairs.push(("examples", Value::array(def.examples.iter().map(example_value))));
        }
        pairs.extend(def.origin.iter().map(|origin| ("origin", origin_value(origin))));
        pairs.extend(def.annotations.iter().map(|annotations| ("annotations", annotations.clone())));
        if self.has_code() {
            pairs.push(("hooks", true.into()));
        }
        pairs.push((
            "strictMode",
            match self.spec.dialect {
                Dialect::Strict => true.into(),
                Dialect::Page => false.into(),
                Dialect::PageStrict => PAGE_STRICT.into(),
            },
        ));
        let steps = self.spec.steps.iter().map(|step| {
            Value::object([
                ("name", Value::String(step.name.clone())),
                ("tool", Value::String(step.tool.clone())),
                ("inputMapping", Value::Object(step.input_mapping.clone())),
            ])
        });
        pairs.push(("steps", Value::array(steps)));
        pairs.extend(self.spec.output.iter().map(|output| ("output", Value::Object(output.clone()))));
        Value::object(pairs)
    }

    /// Reads what [`Composite::to_value`] gives, or what a person or a model wrote in its form. Only `id` and `steps` are
    /// needed here; whether the rest will do is the registry's question.
    ///
    /// # Errors
    /// [`SpecError`] with everything that is wrong with the form. A composite that had hooks is refused: they were code, and
    /// without them it would be another one.
    pub fn from_value(value: &Value) -> Result<Self, SpecError> {
        let mut reader = Reader { issues: Vec::new() };
        let Some(object) = value.as_object() else {
            reader.wrong("", format!("a composite is an object, and this is {}", value.kind()), "it has at least `id` and `steps`");
            return Err(SpecError { issues: reader.issues });
        };
        // Nothing below goes down further than a value may nest.
        for (field, _) in object.iter().filter(|(_, member)| member.depth() > limits::VALUE_DEPTH_MAX) {
            let (field, deep) = (crate::cut(field, 60), limits::VALUE_DEPTH_MAX);
            reader.wrong(&format!("/{field}"), format!("`{field}` nests more than {deep} deep"), "no value may; write it flatter");
        }
        if !reader.issues.is_empty() {
            return Err(SpecError { issues: reader.issues });
        }
        let head = reader.head::<R>(object);
        let spec = reader.spec(object);
        if reader.issues.iter().any(|issue| issue.severity == Severity::Error) {
            return Err(SpecError { issues: reader.issues });
        }
        Ok(Self::of(head).spec(spec.unwrap_or_default()))
    }

    /// Whether something of it is not data.
    fn has_code(&self) -> bool {
        self.head.def.reconcile.is_some() || self.head.hooks.clone().into_shared().is_some()
    }
}

fn intent_value(intent: &IntentSpec) -> Value {
    let examples = Value::array(intent.examples.iter().map(|example| Value::from(example.as_str())));
    Value::object([("name", Value::String(intent.name.clone())), ("examples", examples)])
}

fn example_value(example: &Example) -> Value {
    let mut pairs = vec![("input", example.input.clone())];
    pairs.extend(example.output.iter().map(|output| ("output", output.clone())));
    Value::object(pairs)
}

fn origin_value(origin: &Origin) -> Value {
    let fields = [("source", &origin.source), ("kind", &origin.kind), ("name", &origin.name), ("effectFrom", &origin.effect_from)];
    Value::object(fields.into_iter().filter(|(_, text)| !text.is_empty()).map(|(field, text)| (field, Value::String(text.clone()))))
}

struct Reader {
    issues: Vec<SpecIssue>,
}

impl Reader {
    fn head<R: Runtime>(&mut self, object: &Object) -> ToolBuilder<R> {
        self.unknown(object);
        let id = self.text(object, "/", "id").unwrap_or_else(|| {
            if object.get("id").is_none() {
                self.wrong("/id", "the composite has no `id`".into(), "give it the name that it is called by");
            }
            Text::new()
        });
        let description = self.text(object, "/", "description").unwrap_or_default();
        let mut head = ToolBuilder::<R>::new(id, description);
        head.def.title = self.text(object, "/", "title");
        head.def.delegate = self.text(object, "/", "delegate");
        head.def.produces = self.text(object, "/", "produces");
        if let Some(kind) = self.text(object, "/", "kind") {
            head.def.kind = kind;
        }
        if let Some(audience) = self.text(object, "/", "audience") {
            head.def.audience = audience;
        }
        head.def.terminal = self.flag(object, "terminal");
        head.def.hidden = self.flag(object, "hidden");
        head.def.debug_steps = self.flag(object, "debugSteps");
        if self.flag(object, "hooks") {
            self.wrong("/hooks", "it was made with hooks, and those are code that is kept nowhere".into(), "forge it again with its hooks");
        }
        if let Some(goals) = self.items(object, "goals") {
            let goals: Vec<Text> =
                goals.iter().enumerate().filter_map(|(at, goal)| self.item_text(goal, &format!("/goals/{at}"))).collect();
            head = head.goals(goals);
        }
        if let Some(schema) = object.get("input").filter(|schema| !schema.is_null()) {
            head = head.input_schema(schema.clone());
        }
        if let Some(schema) = object.get("outputSchema").filter(|schema| !schema.is_null()) {
            head = head.output_schema(schema.clone());
        }
        head.def.annotations = object.get("annotations").cloned();
        self.told(object, head)
    }

    /// Members for people and models that are objects themselves.
    fn told<R: Runtime>(&mut self, object: &Object, mut head: ToolBuilder<R>) -> ToolBuilder<R> {
        for (at, example) in self.items(object, "examples").unwrap_or_default().iter().enumerate() {
            match example.get("input") {
                Some(input) => head = head.example(Example { input: input.clone(), output: example.get("output").cloned() }),
                None => self.wrong(&format!("/examples/{at}"), "the example has no `input`".into(), "give the arguments of a call"),
            }
        }
        if let Some(intent) = self.object(object, "intent") {
            let mut spec = IntentSpec::new(self.text(intent, "/intent/", "name").unwrap_or_default());
            for (at, example) in intent.get("examples").and_then(Value::as_array).unwrap_or_default().iter().enumerate() {
                if let Some(example) = self.item_text(example, &format!("/intent/examples/{at}")) {
                    spec = spec.example(example.as_str());
                }
            }
            head = head.as_intent(spec);
        }
        if let Some(origin) = self.object(object, "origin") {
            let mut field = |name| self.text(origin, "/origin/", name).unwrap_or_default();
            let (source, kind, name, effect_from) = (field("source"), field("kind"), field("name"), field("effectFrom"));
            head = head.origin(Origin { source, kind, name, effect_from });
        }
        head
    }

    /// The specification is read by its own reader; pointers are the same.
    fn spec(&mut self, object: &Object) -> Option<CompositeSpec> {
        let strict = object.get("strictMode");
        let page_strict = strict.and_then(Value::as_str) == Some(PAGE_STRICT);
        let own = SPEC_FIELDS.into_iter().filter(|field| !(page_strict && *field == "strictMode"));
        let spec = Value::object(own.filter_map(|field| Some((field, object.get(field)?.clone()))));
        let (spec, issues) = CompositeSpec::read_all(&spec, page_strict.then_some(Dialect::PageStrict));
        self.issues.extend(issues);
        spec
    }

    fn unknown(&mut self, object: &Object) {
        let known = || HEAD_FIELDS.iter().chain(&SPEC_FIELDS).copied();
        for key in object.keys().filter(|key| !known().any(|field| field == key.as_str())) {
            let help = match crate::nearest::nearest(key, known()) {
                Some(near) => format!("did you mean `{near}`?"),
                None => format!("the fields are {}", known().map(|field| format!("`{field}`")).collect::<Vec<_>>().join(", ")),
            };
            let pointer = format!("/{}", key.replace('~', "~0").replace('/', "~1"));
            self.wrong(&pointer, format!("`{}` is not a field of a composite", crate::cut(key, 60)), &help);
        }
    }

    fn text(&mut self, object: &Object, place: &str, field: &str) -> Option<Text> {
        match object.get(field)? {
            Value::Null => None,
            value => self.item_text(value, &format!("{place}{field}")),
        }
    }

    fn item_text(&mut self, value: &Value, pointer: &str) -> Option<Text> {
        if let Some(text) = value.as_text() {
            return Some(text.clone());
        }
        self.wrong(pointer, format!("`{}` is not a text", pointer.trim_start_matches('/')), "write it in quotes");
        None
    }

    fn flag(&mut self, object: &Object, field: &str) -> bool {
        match object.get(field) {
            None | Some(Value::Null) => false,
            Some(Value::Bool(set)) => *set,
            Some(_) => {
                self.wrong(&format!("/{field}"), format!("`{field}` is not true or false"), "leave it out for false");
                false
            }
        }
    }

    fn items<'a>(&mut self, object: &'a Object, field: &str) -> Option<&'a [Value]> {
        let value = object.get(field).filter(|value| !value.is_null())?;
        if value.as_array().is_none() {
            self.wrong(&format!("/{field}"), format!("`{field}` is not a list"), "write it in brackets");
        }
        value.as_array()
    }

    fn object<'a>(&mut self, object: &'a Object, field: &str) -> Option<&'a Object> {
        let value = object.get(field).filter(|value| !value.is_null())?;
        if value.as_object().is_none() {
            self.wrong(&format!("/{field}"), format!("`{field}` is not an object"), "write it in braces");
        }
        value.as_object()
    }

    fn wrong(&mut self, pointer: &str, message: String, help: &str) {
        self.issues.push(SpecIssue {
            severity: Severity::Error,
            code: "invalid_spec",
            message,
            help: Some(help.into()),
            pointer: pointer.into(),
            span: None,
            fix: None,
        });
    }
}

//! Tools that are asked what became of a call. Who asks is a small composite: the call's idempotency key, then the tool, so
//! that its arguments and what is made of its answer are references like any other, checked before anything runs.

use std::sync::Arc;

use toolwright::{
    Begun, Catalog, Composite, CompositeSpec, Context, Invocation, Reconciled, Registry, Severity, SpecIssue, ToolDef, Value, json,
};

use super::Build;
use crate::code;
use crate::config::Layer;
use crate::config::reader::Place;
use crate::config::reconcile::ReconcileEntry;
use crate::diagnostic::{Finding, Owner, did_you_mean};

/// The tool that gives the call's key, and the composite that asks.
const CALL: &str = "toolwright_call";
const ASK: &str = "toolwright_reconcile";

/// What stands for the call's idempotency key in a file, and what is made of it.
const KEY: &str = "$key";
const KEY_OF_THE_CALL: &str = "$steps.call.key";

impl Build<'_> {
    /// Gives every tool its way to find out what became of a call; what is wrong with one is told, and its tool not offered.
    pub(super) fn reconciles(&mut self) {
        for (at, entry) in std::mem::take(&mut self.reconciles) {
            let Some((tool, owner, _)) = self.leaves.get(at).cloned() else { continue };
            let (reconciled, findings) = match self.asked(&owner, entry) {
                Ok(Some(asked)) => reconciled(&tool, &asked, entry, &owner),
                // Whom to ask is not known: the call waits for a person.
                Ok(None) => continue,
                Err(finding) => (None, vec![*finding]),
            };
            self.findings.extend(findings);
            if let (Some(leaf), Some(reconciled)) = (self.leaves.get_mut(at), reconciled) {
                leaf.0 = reconciled;
            }
        }
    }

    /// The tool that is asked; none when its source was not.
    fn asked(&self, owner: &Owner, entry: &ReconcileEntry) -> Result<Option<ToolDef>, Box<Finding>> {
        let (id, place) = &entry.tool;
        let wrong = |code: &str, message: String, help: String| {
            Err(Box::new(Finding::error(code, message).at(&place.source, place.span.clone(), "").help(help).owner(owner.clone())))
        };
        let Some((asked, ..)) = self.leaves.iter().find(|(leaf, ..)| leaf.name() == id) else {
            if self.could_come_from(id).is_some() || self.view(id).is_some() {
                return Ok(None);
            }
            if self.config.composites.iter().any(|composite| composite.id == *id) {
                let message = format!("`{id}` is a composite, and only a tool of a source can be asked");
                return wrong(code::BAD_VALUE, message, "name the tool that knows it, and map its arguments here".to_owned());
            }
            let help = did_you_mean(id, self.ids()).unwrap_or_else(|| "`toolwright list` shows the tools there are".to_owned());
            return wrong(code::UNKNOWN_TOOL, format!("no tool has the id `{id}`"), help);
        };
        // A wrong answer repeats an effect: about what is the user's, only what is the user's is asked.
        if self.config.layer(&entry.place) == Layer::User && !self.is_of_the_user(asked) {
            let message = format!("`{id}` is a project's, and only a tool of yours can be asked about a tool of yours");
            return wrong(code::BAD_VALUE, message, "name a tool of a source in your own file".to_owned());
        }
        match asked.has_side_effects() {
            Some(false) => Ok(Some(asked.clone())),
            Some(true) => {
                let message = format!("`{id}` has side effects, and asking must have none");
                wrong(code::BAD_VALUE, message, "name a tool with `effect: read`".to_owned())
            }
            None => {
                let message = format!("nothing says whether `{id}` has side effects, and asking must have none");
                let help = format!("say it where the tool is defined, or with `tools: {{{id}: {{effect: read}}}}`");
                wrong(code::BAD_VALUE, message, help)
            }
        }
    }
}

impl Build<'_> {
    fn is_of_the_user(&self, tool: &ToolDef) -> bool {
        let from = tool.origin().map(|origin| origin.source.as_str()).unwrap_or_default();
        let mut sources = self.config.sources.iter().filter(|source| source.name == from);
        sources.all(|source| self.config.layer(&source.place) == Layer::User)
    }
}

/// The tool with its way to find out, unless something is wrong with that.
fn reconciled(tool: &ToolDef, asked: &ToolDef, entry: &ReconcileEntry, owner: &Owner) -> (Option<ToolDef>, Vec<Finding>) {
    let findings = checked(tool, asked, entry, owner);
    if findings.iter().any(|finding| finding.severity == crate::diagnostic::Severity::Error) {
        return (None, findings);
    }
    let asking = Asking::new(tool, asked, entry).ok().map(Arc::new);
    let reconciled = asking.map(|asking| {
        tool.with_reconcile(move |begun, _| {
            let asking = asking.clone();
            async move { asking.ask(&begun).await.unwrap_or(Reconciled::Unknown) }
        })
    });
    (reconciled, findings)
}

/// Asks, and reads the answer.
struct Asking {
    /// Gives `{answer, raw}`.
    asks: Catalog,
    happened: Vec<Value>,
    not_happened: Vec<Value>,
    /// Makes what the run goes on with of the answer.
    output: Option<Catalog>,
}

impl Asking {
    fn new(tool: &ToolDef, asked: &ToolDef, entry: &ReconcileEntry) -> Result<Self, Vec<SpecIssue>> {
        let asks = json!({ "answer": entry.answer, "raw": "$prev" });
        let output = entry.output.as_ref().map(|output| {
            let mut stand_in = toolwright::tool(asked.id(), "What the tool gave").reads();
            if let Some(schema) = asked.output_schema() {
                stand_in = stand_in.output_schema(schema.clone());
            }
            let stand_in =
                stand_in.run_json(|_, call| std::future::ready(Ok(call.context().data().get("raw").cloned().unwrap_or_default())));
            registered(tool, &stand_in, &json!({}), Then::Gives(json!({ "output": output })))
        });
        Ok(Self {
            asks: registered(tool, asked, &entry.mapping, Then::Gives(asks))?.seal(),
            happened: entry.happened.clone(),
            not_happened: entry.not_happened.clone(),
            output: output.transpose()?.map(Registry::seal),
        })
    }

    /// What became of the call; nothing when the answer does not say it.
    async fn ask(&self, begun: &Begun) -> Option<Reconciled> {
        let key = begun.idempotency_key();
        let call = || Invocation::new(ASK, begun.input().clone());
        let told = self.asks.invoke(call(), Context::new(json!({ "key": key }))).await.ok()?.output?;
        let answer = told.get("answer")?;
        if self.not_happened.contains(answer) {
            return Some(Reconciled::NotHappened);
        }
        if !self.happened.contains(answer) {
            return None;
        }
        let Some(output) = &self.output else { return Some(Reconciled::Happened(None)) };
        let context = Context::new(json!({ "key": key, "raw": told.get("raw").cloned().unwrap_or_default() }));
        let made = output.invoke(call(), context).await.ok()?.output?;
        Some(Reconciled::Happened(made.get("output").cloned()))
    }
}

/// Everything that is wrong with the arguments and with what is made of the answer.
fn checked(tool: &ToolDef, asked: &ToolDef, entry: &ReconcileEntry, owner: &Owner) -> Vec<Finding> {
    // As if what is read out of the answer were arguments of the tool itself: `output` must be what it gives.
    let mut read = vec![("answer", entry.answer.clone())];
    read.extend(entry.output.as_ref().map(|output| ("output", output.clone())));
    let goes_on = json!({ "name": "goes_on", "tool": tool.id(), "inputMapping": Value::object(read) });
    let given = toolwright::tool(tool.id(), "What it gives").reads().input_schema(promised(tool).unwrap_or_else(|| json!({})));
    let given = given.run_json(|input, _| std::future::ready(Ok(input)));
    let issues = match registered(tool, asked, &entry.mapping, Then::Checks(&given, goes_on)) {
        Ok(registry) => registry.warnings().iter().map(|(_, issue)| issue.clone()).collect(),
        Err(issues) => issues,
    };
    let finding = |issue: SpecIssue| {
        let place = place_of(entry, &issue);
        let words = |text: &str| text.replace(KEY_OF_THE_CALL, KEY).replace("the forms are `$input`", "the forms are `$key`, `$input`");
        let finding = match issue.severity {
            Severity::Error => Finding::error(issue.code, words(&issue.message)),
            Severity::Warning => Finding::warning(issue.code, words(&issue.message)),
        };
        finding.at(&place.source, place.span, "").maybe_help(issue.help.as_deref().map(words)).owner(owner.clone())
    };
    issues.into_iter().map(finding).collect()
}

/// Where in the file stands what the core found in the composite that asks.
fn place_of(entry: &ReconcileEntry, issue: &SpecIssue) -> Place {
    let asked = issue.pointer.strip_prefix("/steps/1");
    let pointer = asked.or_else(|| issue.pointer.strip_prefix("/steps/2/inputMapping")).unwrap_or_default().to_owned();
    // The default of `answer` stands nowhere.
    let written = entry.node.exactly(&pointer);
    let is_key = written.and_then(|node| node.text()) == Some(KEY);
    entry.place_of(if written.is_some() { &pointer } else { "" }, issue.span.as_ref().filter(|_| written.is_some() && !is_key))
}

/// What comes after the tool was asked.
enum Then<'a> {
    /// The composite gives this.
    Gives(Value),
    /// Another step, with its tool.
    Checks(&'a ToolDef, Value),
}

/// A registry with the tool that is asked and the composite that asks it. Its input is the call's, as `tool` takes it.
fn registered(tool: &ToolDef, asked: &ToolDef, mapping: &Value, then: Then<'_>) -> Result<Registry, Vec<SpecIssue>> {
    let call = toolwright::tool(CALL, "The idempotency key of the call")
        .reads()
        .output_schema(json!({ "type": "object", "properties": { "key": { "type": "string" } }, "required": ["key"] }))
        .run_json(|_, call| {
            let key = call.context().data().get("key").cloned().unwrap_or_default();
            std::future::ready(Ok(json!({ "key": key })))
        });
    let mut steps =
        vec![json!({ "name": "call", "tool": CALL }), json!({ "name": "asked", "tool": asked.id(), "inputMapping": keyed(mapping) })];
    let mut tools = vec![call, asked.clone()];
    let mut spec = Vec::new();
    match then {
        Then::Gives(output) => spec.push(("output", keyed(&output))),
        Then::Checks(given, step) => {
            steps.push(keyed(&step));
            tools.push(given.clone());
        }
    }
    spec.push(("steps", Value::array(steps)));
    let spec = CompositeSpec::from_value(&Value::object(spec)).map_err(|error| error.issues)?;
    let mut composite = Composite::new(ASK, "Asks what became of a call").spec(spec);
    if let Some(schema) = tool.input_schema() {
        composite = composite.input_schema(schema.clone());
    }
    let registry = tools.into_iter().try_fold(Registry::new(), Registry::with);
    registry.and_then(|registry| registry.with(composite)).map_err(|error| error.issues())
}

/// What `output` must fit, as a member of what the composite gives. A schema that refers to its own parts cannot be moved.
fn promised(tool: &ToolDef) -> Option<Value> {
    let schema = tool.output_schema().filter(|schema| !schema.to_json_string().contains("\"$ref\""))?;
    Some(json!({ "type": "object", "properties": { "output": schema } }))
}

/// The mapping with the key's reference written out.
fn keyed(value: &Value) -> Value {
    if let Some(text) = value.as_str() {
        return if text == KEY { KEY_OF_THE_CALL.into() } else { value.clone() };
    }
    if let Some(items) = value.as_array() {
        return Value::array(items.iter().map(keyed));
    }
    match value.as_object() {
        Some(members) => Value::object(members.iter().map(|(name, member)| (name.clone(), keyed(member)))),
        None => value.clone(),
    }
}

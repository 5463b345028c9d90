//! Composites: in the order they need each other, each taken in or refused with every reason.

use std::sync::Arc;

use toolwright::{Composite, CompositeSpec, Fix, Object, Origin, RegisterError, Severity, SpecIssue, StepSpec, ToolDef, Value};

use super::leaves::wrong_examples;
use super::needs::Needs;
use super::order::{Order, sort};
use super::{Build, broken, empty_registry, views, why};
use crate::code;
use crate::config::composite::{CompositeEntry, STEP_CYCLE, STEP_MISSING, Use};
use crate::config::yaml::write;
use crate::diagnostic::{Edit, Finding, Owner, StepPlace, did_you_mean, unmistakable};
use crate::view::{State, ToolView, Why};
use crate::wire;

/// Codes of rules that refuse; everything else is a mistake.
const REFUSALS: [&str; 2] = ["step_not_chainable", "side_effects_undeclared"];

/// What stands between a step and the reason why its tool cannot be called.
const CANNOT: &str = ", which cannot be called: ";

/// What became of a composite before the core was asked.
type Verdict = Option<State>;

impl Build<'_> {
    /// Every composite has its id, whether it is needed or not.
    pub(super) fn claim_composites(&mut self) {
        for entry in &self.config.composites {
            self.claim(&entry.id, &entry.place, &Owner::Composite(entry.id.clone()));
        }
    }

    /// Registers every composite, or those that are needed.
    pub(super) fn composites(&mut self, needed: Option<&Needs>) {
        let config = self.config;
        let needed = |id: &str| needed.is_none_or(|needed| needed.has_composite(id));
        let entries = config.composites.iter();
        let wanted: Vec<&CompositeEntry> = entries.filter(|entry| needed(&entry.id)).collect();
        let Order { sorted, circles } = sort(&wanted);
        let mut built: Vec<(usize, ToolView)> = Vec::new();
        for circle in &circles {
            self.circle(&wanted, circle, &mut built);
        }
        for at in sorted {
            if let Some(entry) = wanted.get(at) {
                let view = self.composite(entry);
                self.views.push(view.clone());
                built.push((at, view));
            }
        }
        // People see composites in the order of their file, however they were taken in.
        let first = self.views.iter().position(|view| view.inside.is_some());
        let first = first.unwrap_or(self.views.len());
        built.sort_by_key(|(at, _)| *at);
        built.dedup_by_key(|(at, _)| *at);
        self.views.replace_from(first, built.into_iter().map(|(_, view)| view));
    }

    fn circle(&mut self, wanted: &[&CompositeEntry], circle: &[usize], built: &mut Vec<(usize, ToolView)>) {
        let members: Vec<&CompositeEntry> = circle.iter().filter_map(|at| wanted.get(*at).copied()).collect();
        let (Some(first), Some(last)) = (members.first(), members.last()) else {
            return;
        };
        let way: Vec<&str> = members.iter().map(|member| member.id.as_str()).collect();
        let message = format!("composite `{}` reaches itself: {} → {}", first.id, way.join(" → "), first.id);
        let back = last.uses.iter().find(|step| step.tool == first.id);
        let place = back.map_or(&last.place, |step| &step.place);
        let finding = Finding::error(STEP_CYCLE, message)
            .at(&place.source, place.span.clone(), "this leads back")
            .help("take out the step that leads back");
        let reason = why(&finding);
        for (at, member) in circle.iter().zip(&members) {
            let owner = Owner::Composite(member.id.clone());
            self.findings.push(finding.clone().owner(owner));
            let mut view = views::composite(member, &self.views);
            view.state = broken(reason.clone());
            self.views.push(view.clone());
            built.push((*at, view));
        }
    }

    fn composite(&mut self, entry: &CompositeEntry) -> ToolView {
        let mut view = views::composite(entry, &self.views);
        let before = self.steps(entry);
        let twice = self.duplicate(&entry.id);
        let own = match entry.broken {
            true => self.error_of(&Owner::Composite(entry.id.clone())),
            false => twice,
        };
        let literals = self.refused_literals(entry);
        let state = self.register(entry, &mut view, before.is_some() || own.is_some() || !literals.is_empty());
        // What the schema refuses as well was told.
        let literals = literals.into_iter().filter(|issue| !self.is_wrong(entry, &issue.pointer)).collect();
        let refused = self.issues(entry, literals);
        view.state = match (own, refused.unwrap_or(state), before) {
            (Some(reason), _, _) => broken(reason),
            (None, State::Broken(reason), _) => broken(reason),
            (None, _, Some(state)) => state,
            (None, state, None) => state,
        };
        view
    }

    /// What the steps' tools allow, as far as it is not the core's to say.
    fn steps(&mut self, entry: &CompositeEntry) -> Verdict {
        let mut worst: Verdict = None;
        for step in &entry.uses {
            let state = self.step(entry, step);
            let weight = |state: &Verdict| match state {
                None | Some(State::Ready) => 0,
                Some(State::Unavailable(_)) => 1,
                Some(State::Withheld(_) | State::Stale(_)) => 2,
                Some(State::Refused(_)) => 3,
                Some(State::Broken(_)) => 4,
            };
            if weight(&state) > weight(&worst) {
                worst = state;
            }
        }
        worst
    }

    fn step(&mut self, entry: &CompositeEntry, step: &Use) -> Verdict {
        if self.registry.get(&step.tool).is_some() {
            return None;
        }
        if let Some(view) = self.view(&step.tool) {
            let inner = view.state.why()?;
            // Through many composites the first cause is what counts, not the way to it.
            let cause = inner.message.rsplit(CANNOT).next().unwrap_or_default();
            let reason = Why {
                code: inner.code.clone(),
                message: format!("step `{}` uses `{}`{CANNOT}{cause}", step.step, step.tool),
                help: inner.help.clone(),
            };
            return Some(match view.state {
                State::Refused(_) => State::Refused(reason),
                State::Unavailable(_) => State::Unavailable(reason),
                State::Withheld(_) | State::Stale(_) => {
                    self.stale(entry, step, &reason);
                    State::Stale(reason)
                }
                State::Broken(_) | State::Ready => State::Broken(reason),
            });
        }
        if let Some(source) = self.could_come_from(&step.tool) {
            let message = match &source.why {
                Some(why) => format!("step `{}` uses `{}`: {}", step.step, step.tool, why.message),
                None => format!("the source `{}` was not asked for `{}`", source.name, step.tool),
            };
            let help = source.why.as_ref().and_then(|why| why.help.clone());
            let blocked = source.why.as_ref().map(|why| &why.code).filter(|code| *code == code::LOCK_UNUSABLE);
            let code = blocked.cloned().unwrap_or_else(|| code::SOURCE_UNAVAILABLE.to_owned());
            return Some(State::Unavailable(Why { code, message, help }));
        }
        let help = did_you_mean(&step.tool, self.ids()).unwrap_or_else(|| "`toolwright list` shows the tools there are".to_owned());
        let meant = unmistakable(&step.tool, self.ids());
        let to = meant.and_then(|id| write::key(step.place.source.text(), &step.place.span, &step.tool, id));
        let edit = to.map(|to| Edit { source: Arc::clone(&step.place.source), span: step.place.span.clone(), to });
        let finding = Finding::error(STEP_MISSING, format!("no tool has the id `{}`", step.tool))
            .at(&step.place.source, step.place.span.clone(), "not there")
            .help(help)
            .maybe_edit(edit)
            .owner(Owner::Composite(entry.id.clone()));
        let state = broken(why(&finding));
        self.findings.push(finding);
        Some(state)
    }

    /// Tells that a step's tool is not what was accepted.
    fn stale(&mut self, entry: &CompositeEntry, step: &Use, reason: &Why) {
        let finding = Finding::error(reason.code.as_str(), format!("`{}` is stale: {}", entry.id, reason.message))
            .at(&step.place.source, step.place.span.clone(), "")
            .maybe_help(reason.help.clone())
            .owner(Owner::Composite(entry.id.clone()));
        self.findings.push(finding);
    }

    /// Asks the core; `only_look` when the composite cannot be taken in anyway, and the rest of what is
    /// wrong with it should still be told.
    fn register(&mut self, entry: &CompositeEntry, view: &mut ToolView, only_look: bool) -> State {
        let (spec, issues) = match CompositeSpec::from_value(&entry.spec) {
            Ok(spec) => (spec, Vec::new()),
            Err(error) => (rough(&entry.spec), error.issues),
        };
        let named = spec.steps.iter().all(|step| !step.name.is_empty());
        let form = self.issues(entry, issues);
        let composite = declared(entry, spec);
        if only_look || form.is_some() {
            let more = self.look(composite).map(|error| after_a_bad_form(&error, named, form.is_some()));
            let found = self.issues(entry, more.unwrap_or_default());
            return form.or(found).unwrap_or(State::Ready);
        }
        match self.registry.register(composite) {
            Ok(registry) => {
                if let Some(tool) = registry.get(&entry.id).map(|entry| ToolDef::clone(entry)) {
                    views::derive(view, &tool);
                    let owner = Owner::Composite(entry.id.clone());
                    self.findings.extend(wrong_examples(&tool, &entry.node, &entry.place, &owner));
                    self.tools.push(tool);
                }
                let warnings: Vec<SpecIssue> =
                    self.registry.warnings().iter().filter(|(tool, _)| tool.as_str() == entry.id).map(|(_, issue)| issue.clone()).collect();
                self.issues(entry, warnings);
                State::Ready
            }
            Err(error) => {
                let reason = Why { code: error.code().to_owned(), message: error.to_string(), help: None };
                let found = self.issues(entry, error.issues());
                found.unwrap_or(State::Broken(reason))
            }
        }
    }

    /// What the core says about a composite that is not taken in.
    fn look(&mut self, composite: Composite) -> Option<RegisterError> {
        let (seen, mut scratch) = self.scratch.take().unwrap_or_else(|| (0, empty_registry(self.grants, None)));
        for tool in self.tools.iter().skip(seen) {
            // What one registry took in, another takes as well.
            let _ = scratch.register(tool.clone());
        }
        let error = scratch.register(composite).map(|_| ()).err();
        // One that it took in must not be there for the next.
        self.scratch = error.is_some().then_some((self.tools.len(), scratch));
        error
    }

    /// Keeps what the core found, with places; the state that follows, worst first.
    fn issues(&mut self, entry: &CompositeEntry, issues: Vec<SpecIssue>) -> Option<State> {
        let mut refused = None;
        let mut wrong = None;
        for issue in issues {
            // Tools that are not there were told already, with more knowledge of why.
            if issue.code == STEP_MISSING || self.is_told(entry, &issue) {
                continue;
            }
            let finding = self.finding(entry, &issue);
            if issue.severity == Severity::Error {
                let reason = why(&finding);
                match REFUSALS.contains(&issue.code) {
                    true => refused = refused.or(Some(State::Refused(reason))),
                    false => wrong = wrong.or(Some(broken(reason))),
                }
            }
            self.findings.push(finding);
        }
        wrong.or(refused)
    }

    /// Whether something is known to be wrong at a place of the composite.
    fn is_wrong(&self, entry: &CompositeEntry, pointer: &str) -> bool {
        let place = entry.place_of(pointer, None, false);
        let here = |finding: &&Finding| finding.labels.first().is_some_and(|label| label.span == place.span);
        let owner = Owner::Composite(entry.id.clone());
        self.findings.iter().filter(here).any(|finding| finding.severity == crate::diagnostic::Severity::Error && finding.owner == owner)
    }

    /// A missing `steps` was told when the file was read.
    fn is_told(&self, entry: &CompositeEntry, issue: &SpecIssue) -> bool {
        issue.pointer == "/steps" && entry.node.get("steps").is_none()
    }

    fn finding(&self, entry: &CompositeEntry, issue: &SpecIssue) -> Finding {
        // What is wrong with a member may be its name alone.
        let named = ["is not a field", "takes no argument", "takes no member"].iter().any(|words| issue.message.contains(words));
        let key = named || matches!(issue.fix, Some(Fix::Key { .. }));
        let mut place = entry.place_of(&issue.pointer, issue.span.as_ref(), key);
        let alias = entry.alias_to(&issue.pointer, &place.span);
        if issue.code == "invalid_schema" {
            place.span = entry.node.schema_place(&issue.message).unwrap_or(place.span);
        }
        let finding = match issue.severity {
            Severity::Error => Finding::error(issue.code, issue.message.as_str()),
            Severity::Warning => Finding::warning(issue.code, issue.message.as_str()),
        };
        let mut finding = finding.at(&place.source, place.span, "");
        if let Some(used) = alias {
            // The text is written once, for several steps: which of them is wrong is not seen there.
            finding.message.push_str(&format!(" ({}, which takes it from here)", step_named(entry, &issue.pointer)));
            finding = finding.at(&place.source, used, "taken from there");
        }
        let finding = finding
            .maybe_help(issue.help.clone())
            .maybe_edit(issue.fix.as_ref().and_then(|fix| entry.edit_of(fix)))
            .owner(Owner::Composite(entry.id.clone()));
        let tool = entry.node.pointer(&issue.pointer).text();
        let step = tool.and_then(|tool| step_place(entry, &issue.pointer, tool));
        match (issue.code, tool) {
            ("step_not_chainable", Some(tool)) => {
                let message = format!("`{tool}` has side effects and nobody allowed composites to use it");
                Finding { message, step, ..finding }.help(self.grants.help(tool))
            }
            ("side_effects_undeclared", Some(tool)) => {
                let message = format!("nothing says whether `{tool}` has side effects");
                let help = format!(
                    "say it where the tool is defined, or with `tools: {{{tool}: {{effect: read}}}}` (or `write`); \
                     listing the tool is not enough"
                );
                Finding { message, step, ..finding }.help(help)
            }
            _ => with_the_other_place(finding, entry, issue),
        }
    }
}

/// `step `b``, or what else a pointer leads into.
fn step_named(entry: &CompositeEntry, pointer: &str) -> String {
    let index = pointer.strip_prefix("/steps/").and_then(|rest| rest.split('/').next());
    let name = index.and_then(|index| entry.spec.pointer(&format!("/steps/{index}/name")).and_then(Value::as_str));
    match (name, index) {
        (Some(name), _) => format!("step `{name}`"),
        (None, Some(index)) => format!("step {index}"),
        (None, None) => format!("composite `{}`", entry.id),
    }
}

/// The step that a pointer like `/steps/1/tool` leads into.
fn step_place(entry: &CompositeEntry, pointer: &str, tool: &str) -> Option<StepPlace> {
    let index = pointer.strip_prefix("/steps/")?.split('/').next()?;
    let name = entry.spec.pointer(&format!("/steps/{index}/name"));
    Some(StepPlace {
        composite: entry.id.clone(),
        step: name.and_then(Value::as_str).unwrap_or_default().to_owned(),
        index: index.parse().ok()?,
        tool: tool.to_owned(),
    })
}

/// Of two steps of one name both places are shown.
fn with_the_other_place(finding: Finding, entry: &CompositeEntry, issue: &SpecIssue) -> Finding {
    if !issue.message.starts_with("two steps are named") {
        return finding;
    }
    let node = entry.node.pointer(&issue.pointer);
    let steps = entry.node.get("steps").and_then(|steps| steps.items());
    let names = steps.unwrap_or_default().iter().filter_map(|step| step.get("name"));
    let first = names.into_iter().find(|name| name.text() == node.text());
    match first {
        Some(first) => finding.at(&entry.place.source, first.span.clone(), "first here"),
        None => finding,
    }
}

/// What can be known of a specification whose form is wrong: its steps, in their places.
fn rough(spec: &Value) -> CompositeSpec {
    let steps = spec.get("steps").and_then(Value::as_array).unwrap_or_default();
    let text = |step: &Value, name: &str| step.get(name).and_then(Value::as_str).unwrap_or_default().to_owned();
    let mapping = |value: Option<&Value>| value.and_then(Value::as_object).cloned();
    let steps = steps.iter().map(|step| StepSpec {
        name: text(step, "name").into(),
        tool: text(step, "tool").into(),
        input_mapping: mapping(step.get("inputMapping")).unwrap_or_else(empty),
    });
    CompositeSpec { steps: steps.collect(), output: mapping(spec.get("output")), ..CompositeSpec::default() }
}

fn empty() -> Object {
    Object::default()
}

/// Where names are wrong, references to names say nothing.
fn after_a_bad_form(error: &RegisterError, named: bool, bad_form: bool) -> Vec<SpecIssue> {
    let about_names = ["invalid_reference", "forward_reference"];
    let mut issues = error.issues();
    if bad_form {
        issues.retain(|issue| issue.code != "invalid_spec");
        issues.retain(|issue| named || !about_names.contains(&issue.code));
    }
    issues
}

fn declared(entry: &CompositeEntry, spec: CompositeSpec) -> Composite {
    let mut composite = Composite::new(entry.id.as_str(), entry.description.as_str()).spec(spec).origin(Origin {
        source: "composites".into(),
        kind: "composite".into(),
        name: entry.id.as_str().into(),
        effect_from: "derived".into(),
    });
    if let Some(title) = &entry.title {
        composite = composite.title(title.as_str());
    }
    if let Some(input) = &entry.input {
        composite = composite.input_schema(input.clone());
    }
    wire::examples(&entry.examples).into_iter().fold(composite, Composite::example)
}

//! Judging a declaration: everything that is wrong with it, in one fixed order.

use super::error::{Known, RegisterError, RegisterFault, audience_issue};
use super::{Composite, Declaration};
use crate::catalog::{Registered, View};
use crate::composite::compile::{Compiled, compile};
use crate::composite::spec::{Severity, SpecIssue, StepSpec};
use crate::composite::{Derived, lint};
use crate::gate::Chainability;
use crate::limits;
use crate::reference::template::Plan;
use crate::runtime::Runtime;
use crate::schema::{CompiledSchema, SchemaError};
use crate::tool::{Body, Def, Goals, Origin, ToolDef};
use crate::value::{Text, Value};
use crate::wiring::contract;

/// A composite's steps, linked to tools of one registry, and what follows from them.
#[derive(Default)]
pub(super) struct Linked {
    pub(super) links: Vec<usize>,
    pub(super) derived: Derived,
    pub(super) compiled: Option<Compiled>,
    /// What the steps need of the input, when nobody wrote its schema.
    pub(super) inferred: Option<CompiledSchema>,
}

/// The schema of the input that the steps need, when it can be used.
fn inferred_input<R: Runtime>(compiled: Option<&Compiled>, tools: &[Option<&ToolDef<R>>]) -> Option<CompiledSchema> {
    let program = &compiled?.program;
    let documents = tools.iter().map(|tool| tool.and_then(|tool| tool.wired_input()?.document()));
    let steps = program.steps.iter().map(|step| &step.arguments).zip(documents);
    let schema = contract::inferred(steps, program.output.as_deref())?;
    let schema = CompiledSchema::new(schema);
    let small = schema.source().weight() <= limits::DERIVED_SCHEMA_BYTES_MAX;
    (small && takes_objects(schema.source()).is_ok() && schema.verify().is_ok()).then_some(schema)
}

impl<R: Runtime> View<R> {
    /// The names that a declaration can choose from, for an error.
    #[cold]
    pub(super) fn known(&self) -> Known {
        let policy = &self.options.policy;
        let list = |names: &Option<std::collections::BTreeSet<Text>>| names.iter().flatten().cloned().collect();
        Known {
            kinds: list(&policy.kinds),
            audiences: list(&policy.audiences),
            effects: list(&policy.effects),
            goals: self.current_goals(),
        }
    }

    /// What is wrong with a head before its body is looked at.
    pub(super) fn judge_head(&self, def: &Def<R>, twice: &[&'static str]) -> Vec<RegisterFault> {
        let mut faults = Vec::new();
        if let Err(why) = valid_name(&def.name) {
            faults.push(RegisterFault::InvalidId { why });
        }
        if let Some(other) = self.claimed(&def.name) {
            faults.push(RegisterFault::Duplicate { why: two_of(def, other) });
        }
        if self.output_protocol(&def.name).is_some() {
            faults.push(RegisterFault::ProtocolTaken);
        }
        if def.description.trim().is_empty() {
            faults.push(RegisterFault::EmptyDescription);
        }
        let policy = &self.options.policy;
        if policy.kinds.as_ref().is_some_and(|kinds| !kinds.contains(&def.kind)) {
            faults.push(RegisterFault::Kind { kind: def.kind.clone() });
        }
        if policy.audiences.as_ref().is_some_and(|audiences| !audiences.contains(&def.audience)) {
            faults.push(RegisterFault::Audience { audience: def.audience.clone() });
        }
        faults.extend(twice.iter().map(|hook| RegisterFault::HookTwice { hook }));
        faults
    }

    /// What is wrong with what a head promises: schemas, output, goals, delegate.
    pub(super) fn judge_contract(&self, def: &Def<R>) -> Vec<RegisterFault> {
        let mut faults = Vec::new();
        if let Some(schema) = &def.input
            && let Err(why) = schema.verify().and_then(|()| takes_objects(schema.source()))
        {
            faults.push(RegisterFault::InputSchema { why });
        }
        if let Some(schema) = &def.output
            && let Err(why) = schema.verify()
        {
            faults.push(RegisterFault::OutputSchema { why });
        }
        if let Some(output) = def.produces.as_ref().filter(|output| self.output_protocol(output).is_none()) {
            faults.push(RegisterFault::UnknownOutput { output: output.clone() });
        }
        if let Goals::Only(goals) = &def.goals {
            faults.extend(self.judge_goals(goals));
        }
        if let Some(delegate) = &def.delegate {
            if let Err(why) = valid_name(delegate) {
                faults.push(RegisterFault::InvalidId { why: format!("its delegate cannot be one: {why}") });
            }
            let tool = self.claimed(delegate).map(|owner| owner.tool.0.name.clone());
            if let Some(owner) = tool.or_else(|| self.output_protocol(delegate).map(|output| output.id.clone())) {
                faults.push(RegisterFault::DelegateTaken { delegate: delegate.clone(), owner });
            }
        }
        faults
    }

    fn judge_goals(&self, goals: &[Text]) -> Vec<RegisterFault> {
        if goals.is_empty() {
            return vec![RegisterFault::EmptyGoals];
        }
        let unknown = |known: &dyn Fn(&Text) -> bool| {
            let unknown = goals.iter().filter(|goal| !known(goal));
            unknown.map(|goal| RegisterFault::UnknownGoal { goal: goal.clone() }).collect()
        };
        match (&self.options.policy.goal_exists, &self.options.goal_ids) {
            (Some(exists), _) => unknown(&|goal| crate::call::quietly(|| exists(goal)).unwrap_or(false)),
            (None, Some(_)) => {
                let current = crate::call::quietly(|| self.current_goals()).unwrap_or_default();
                unknown(&|goal| current.contains(goal))
            }
            (None, None) => Vec::new(),
        }
    }

    /// What is wrong with the effect, once it is known.
    pub(super) fn judge_effect(&self, tool: &ToolDef<R>) -> Option<RegisterFault> {
        let allowed = self.options.policy.effects.as_ref()?;
        let class = tool.effect().map(|effect| effect.class.clone());
        let known = class.as_ref().is_some_and(|class| allowed.contains(class));
        (!known).then_some(RegisterFault::Effect { class })
    }

    /// The tool with the effect that the policy says it has.
    pub(super) fn raised(&self, tool: ToolDef<R>, faults: &mut Vec<RegisterFault>) -> ToolDef<R> {
        let Some(raised) = self.options.policy.raised.get(tool.name()) else { return tool };
        match tool.effect() {
            // Another class is another effect, and only a worse one may take its place.
            Some(declared) if declared.impact > raised.impact || (declared.impact == raised.impact && declared.class != raised.class) => {
                faults.push(RegisterFault::EffectLowered { declared: declared.to_string(), raised: raised.to_string() });
                tool
            }
            _ => tool.changed(|def| def.effect = Some(raised.clone())),
        }
    }

    /// The tool, marked when it or a tool of its steps handles secrets: where those would be written down in plain, it is
    /// refused.
    pub(super) fn marked(&self, tool: ToolDef<R>, links: &[usize], faults: &mut Vec<RegisterFault>) -> ToolDef<R> {
        // What is wrong already need not be looked into.
        if !faults.is_empty() && RegisterError::of(&tool.0.name, faults.clone()).is_some() {
            return tool;
        }
        let of_steps = || links.iter().any(|link| self.entry(*link).is_some_and(|entry| entry.tool.0.sensitive));
        // A composer's composite knows by itself what its steps are.
        let by_itself = || tool.0.sensitive && tool.composite().is_some_and(|body| !body.is_of_a_catalog());
        let sensitive = tool.0.marks_secrets() || of_steps() || by_itself();
        if sensitive && self.options.journal.is_some() && !self.options.journal_encrypts {
            faults.push(RegisterFault::SensitiveUnencrypted);
        }
        if sensitive == tool.0.sensitive { tool } else { tool.changed(|def| def.sensitive = sensitive) }
    }

    /// Whether a turn is over with the tool at this position, by its own word or because its last step ends it.
    pub(super) fn ends_turn(&self, at: Option<&usize>) -> bool {
        let ends = |entry: &Registered<R>| entry.is_terminal() || entry.composite().is_some_and(|body| body.derived.ends_turn);
        at.and_then(|at| self.entry(*at)).is_some_and(ends)
    }

    /// The host's own rule.
    pub(super) fn judge_rule(&self, tool: &ToolDef<R>) -> Option<RegisterFault> {
        let rule = self.options.policy.valid_id.as_ref()?;
        match crate::call::quietly(|| rule(tool)) {
            Some(Ok(())) => None,
            Some(Err(why)) => Some(RegisterFault::Rule { why }),
            None => Some(RegisterFault::Rule { why: "the host's rule broke down".into() }),
        }
    }

    /// Links a composite's steps to registered tools and judges each of them.
    pub(super) fn link(&self, composite: &Composite<R>, faults: &mut Vec<RegisterFault>) -> Linked {
        let spec = &composite.spec;
        faults.extend(composite.wrong.iter().cloned().map(RegisterFault::Spec));
        // A specification that was read is right; one may also be put together by hand.
        faults.extend(spec.wrong_form().into_iter().map(RegisterFault::Spec));
        let mut linked = Linked::default();
        let deep = |value: &Value| value.depth() > limits::MAPPING_DEPTH_MAX.saturating_add(4);
        let written = spec.to_value();
        if written.weight() > limits::SPEC_BYTES_MAX {
            faults.push(RegisterFault::Spec(too_large(composite.id())));
            return linked;
        }
        faults.extend(deep_parts(composite).into_iter().map(RegisterFault::Spec));
        // What nests too deep was named above, and nothing may go down into it.
        let mut failed = None;
        match (!deep(&written)).then(|| compile(&composite.head.def.name, spec)) {
            None => {}
            Some(Ok(compiled)) => {
                faults.extend(compiled.warnings.iter().cloned().map(RegisterFault::Spec));
                linked.compiled = Some(compiled);
            }
            Some(Err(found)) => {
                let bad = lint::bad_places(&found.issues);
                faults.extend(found.issues.into_iter().map(RegisterFault::Spec));
                failed = Some((found.plans, bad));
            }
        }
        for (index, step) in spec.steps.iter().enumerate() {
            self.link_step(index, step, composite, &mut linked, faults);
        }
        self.judge_wiring(composite, &mut linked, failed, faults);
        let max = self.options.policy.depth;
        if linked.derived.depth > max {
            faults.push(RegisterFault::TooDeep { depth: linked.derived.depth, max });
        }
        self.judge_goals_of_steps(&composite.head.def, &linked, faults);
        linked
    }

    fn link_step(&self, index: usize, step: &StepSpec, composite: &Composite<R>, linked: &mut Linked, faults: &mut Vec<RegisterFault>) {
        // A suggestion looks through all names, so a specification of mistakes alone gets only some.
        let suggests = faults.len() < limits::SUGGESTIONS_MAX;
        let mut wrong = |issue: SpecIssue| faults.push(RegisterFault::Step { index, step: step.name.clone(), issue });
        let Some(entry) = self.get(&step.tool) else {
            let known: Vec<&str> = if suggests { self.ids().collect() } else { Vec::new() };
            let mut unknown = lint::unknown_tool(index, step, &known);
            if step.tool == composite.head.def.name {
                unknown.help = Some("a composite cannot be a step of itself".into());
            } else if let Some(help) = &mut unknown.help {
                help.push_str("; a composite is registered after the tools of its steps");
            }
            wrong(unknown);
            return;
        };
        linked.links.push(entry.index);
        lint::not_allowed(index, step, entry.chainability).into_iter().for_each(&mut wrong);
        let own = &composite.head.def.audience;
        if entry.audience() != own && !self.options.policy.hidden.contains(&step.tool) {
            wrong(audience_issue(index, &step.tool, entry.audience(), own));
        }
        if self.ends_turn(Some(&entry.index)) && index + 1 < composite.spec.steps.len() {
            faults.push(RegisterFault::TerminalInside { index, step: step.name.clone() });
        }
        linked.derived.add(step, Some(&entry.tool));
    }

    /// Every argument of every step against what can arrive there. A step is marked when whatever arrives fits.
    fn judge_wiring(
        &self,
        composite: &Composite<R>,
        linked: &mut Linked,
        failed: Option<(Vec<Plan>, Vec<String>)>,
        faults: &mut Vec<RegisterFault>,
    ) {
        let steps = &composite.spec.steps;
        let tools: Vec<Option<&ToolDef<R>>> = steps.iter().map(|step| self.get(&step.tool).map(|entry| &entry.tool)).collect();
        let (plans, bad) = failed.unwrap_or_default();
        if composite.head.def.input.is_none() {
            linked.inferred = inferred_input(linked.compiled.as_ref(), &tools);
        }
        let written = composite.head.def.input.as_ref();
        let mut sources = lint::sources(written.or(linked.inferred.as_ref()), written.is_some(), tools.iter().copied(), true);
        sources.input.inferred = written.is_none();
        let mut proved = Vec::with_capacity(steps.len());
        for (index, (step, tool)) in steps.iter().zip(&tools).enumerate() {
            let compiled = linked.compiled.as_ref().and_then(|compiled| compiled.program.steps.get(index)).map(|step| &step.arguments);
            let (Some(plan), Some(tool)) = (compiled.or_else(|| plans.get(index)), tool) else {
                proved.push(false);
                continue;
            };
            let wires = lint::wiring(index, plan, tool, lint::INVALID_INPUT, &sources, &bad);
            proved.push(wires.proved);
            faults.extend(wires.issues.into_iter().map(|issue| RegisterFault::Step { index, step: step.name.clone(), issue }));
        }
        if let Some(compiled) = &mut linked.compiled {
            if let Some(output) = &compiled.program.output {
                let issues = crate::wiring::check::output("/output", output, &sources, &bad);
                faults.extend(issues.into_iter().map(RegisterFault::Spec));
            }
            self.mark(composite, &mut compiled.program, &tools, &proved);
        }
    }

    /// A composite serves what each of its steps serves.
    fn judge_goals_of_steps(&self, def: &Def<R>, linked: &Linked, faults: &mut Vec<RegisterFault>) {
        let Some(shared) = self.goals_of_steps(&linked.links) else { return };
        match &def.goals {
            _ if shared.is_empty() => faults.push(RegisterFault::GoalsOutsideSteps { goals: Vec::new() }),
            Goals::All => {}
            Goals::Only(goals) => {
                let outside: Vec<Text> = goals.iter().filter(|goal| !shared.contains(goal)).cloned().collect();
                if !outside.is_empty() {
                    faults.push(RegisterFault::GoalsOutsideSteps { goals: outside });
                }
            }
        }
    }

    /// The goals that all linked tools serve; none when each serves all.
    pub(super) fn goals_of_steps(&self, links: &[usize]) -> Option<Vec<Text>> {
        let lists = links.iter().filter_map(|link| match self.entry(*link)?.goals() {
            Goals::All => None,
            Goals::Only(goals) => Some(goals),
        });
        lists.fold(None, |shared: Option<Vec<Text>>, goals| {
            Some(match shared {
                None => goals.clone(),
                Some(shared) => shared.into_iter().filter(|goal| goals.contains(goal)).collect(),
            })
        })
    }

    /// The last step's schema, or what the `output` mapping gives.
    pub(super) fn derived_output(&self, composite: &Composite<R>, plan: Option<&Plan>, linked: &Linked) -> Option<Value> {
        let tools = || linked.links.iter().map(|link| self.entry(*link).map(|entry| &entry.tool));
        let Some(plan) = plan else { return tools().next_back()??.output_schema().cloned() };
        // What was inferred of the input holds only once the steps have run, and not of a `null` that they leave out.
        let input = composite.head.def.input.as_ref();
        let schema = contract::derived(plan, &lint::sources(input, false, tools(), false), limits::DERIVED_SCHEMA_BYTES_MAX)?;
        CompiledSchema::new(schema.clone()).verify().is_ok().then_some(schema)
    }

    pub(super) fn chainability_of(&self, tool: &ToolDef<R>) -> Chainability {
        Chainability::of(tool, self.options.policy.listed.contains(tool.name()))
    }
}

/// What `register` was given, as a composite to be linked: a composite's tool of another registry is linked anew.
pub(super) fn as_composite<R: Runtime>(declaration: &Declaration<R>) -> Option<Composite<R>> {
    match declaration {
        Declaration::Composite(composite) => Some((**composite).clone()),
        Declaration::Tool(tool) => match &tool.0.body {
            Body::Composite(body) if body.is_of_a_catalog() => {
                let mut head = tool.0.copied();
                head.effect = None;
                head.body = Body::Missing;
                if !body.promises_output() {
                    head.output = None;
                }
                Some(Composite::from_parts(head, body.spec().clone()))
            }
            _ => None,
        },
        Declaration::Open(_) => None,
    }
}

fn valid_name(name: &str) -> Result<(), String> {
    let why = if name.is_empty() {
        "it is empty".to_owned()
    } else if name.len() > limits::TOOL_NAME_BYTES_MAX {
        format!("it is {} bytes long", name.len())
    } else if name.trim() != name {
        "it begins or ends with a space".into()
    } else if name.starts_with('$') {
        "`$` begins a reference".into()
    } else if name.chars().any(char::is_control) {
        "it has a control character in it".into()
    } else if let Some(unseen) = name.chars().find(|c| is_unseen(*c)) {
        format!("it has a character in it that nobody sees, U+{:04X}: it would look like another name", u32::from(unseen))
    } else {
        return Ok(());
    };
    Err(why)
}

/// Characters that print nothing, or change how others are shown.
fn is_unseen(c: char) -> bool {
    matches!(c,
        '\u{00AD}' | '\u{034F}' | '\u{0600}'..='\u{0605}' | '\u{061C}' | '\u{06DD}' | '\u{070F}' | '\u{0890}'..='\u{0891}' | '\u{08E2}'
        | '\u{115F}'..='\u{1160}' | '\u{17B4}'..='\u{17B5}' | '\u{180B}'..='\u{180F}' | '\u{200B}'..='\u{200F}'
        | '\u{2028}'..='\u{202E}' | '\u{2060}'..='\u{206F}' | '\u{3164}' | '\u{FE00}'..='\u{FE0F}' | '\u{FEFF}' | '\u{FFA0}'
        | '\u{FFF0}'..='\u{FFFB}' | '\u{110BD}' | '\u{110CD}' | '\u{13430}'..='\u{1343F}' | '\u{1BCA0}'..='\u{1BCA3}'
        | '\u{1D173}'..='\u{1D17A}' | '\u{E0000}'..='\u{E0FFF}')
}

/// Data of a composite's head that nests deeper than any value may.
fn deep_parts<R: Runtime>(composite: &Composite<R>) -> Vec<SpecIssue> {
    let def = &composite.head.def;
    let examples = def.examples.iter().flat_map(|example| std::iter::once(&example.input).chain(&example.output));
    let parts = examples.map(|value| ("examples", value)).chain(def.annotations.iter().map(|value| ("annotations", value)));
    let deep = parts.filter(|(_, value)| value.depth() > limits::VALUE_DEPTH_MAX);
    deep.map(|(part, _)| invalid(format!("`{part}` nests more than {} deep", limits::VALUE_DEPTH_MAX), format!("/{part}"))).collect()
}

fn too_large(id: &str) -> SpecIssue {
    let id = crate::cut(id, 80);
    invalid(format!("the specification of `{id}` would print as more than {} bytes", limits::SPEC_BYTES_MAX), String::new())
}

fn invalid(message: String, pointer: String) -> SpecIssue {
    let help = Some("move what is large or deep into the input of the composite, or into a tool of its own".into());
    SpecIssue { severity: Severity::Error, code: "invalid_spec", message, help, pointer, span: None, fix: None }
}

fn two_of<R: Runtime>(def: &Def<R>, other: &Registered<R>) -> String {
    let of = |origin: Option<&Origin>| match origin.map(|origin| origin.source.as_str()) {
        None | Some("") => "this program".to_owned(),
        Some(source) => format!("`{source}`"),
    };
    let name = crate::cut(&def.name, 80);
    if other.name() != def.name {
        return format!("`{name}` is the delegate of `{}`", crate::cut(other.name(), 80));
    }
    format!("two tools are named `{name}`: one of {} and one of {}", of(other.origin()), of(def.origin.as_ref()))
}

/// Arguments are always an object; a root `type` that excludes objects can never be called.
fn takes_objects(schema: &Value) -> Result<(), SchemaError> {
    let takes = match (schema, schema.get("type")) {
        (Value::Bool(accepts), _) => *accepts,
        (_, None) => true,
        (_, Some(Value::String(kind))) => kind == "object",
        (_, Some(kinds)) => kinds.as_array().is_some_and(|kinds| kinds.iter().any(|kind| kind.as_str() == Some("object"))),
    };
    if takes {
        return Ok(());
    }
    let message = "it accepts no object, and arguments are always an object: give the root `type: object`".into();
    Err(SchemaError { pointer: "/type".into(), message })
}

/// Warnings among what was found.
pub(super) fn warnings(faults: &[RegisterFault]) -> impl Iterator<Item = &SpecIssue> {
    faults.iter().filter_map(|fault| match fault {
        RegisterFault::Step { issue, .. } | RegisterFault::Spec(issue) if issue.severity == Severity::Warning => Some(issue),
        _ => None,
    })
}

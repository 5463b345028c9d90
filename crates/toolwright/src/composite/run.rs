//! Runs a composite: step by step, each through the gate and the one call path.

use std::sync::{Arc, Weak};

use super::effect::{EffectRecord, StepRecord, gather};
use super::foreseen::{Foreseen, Later};
use super::proof::{self, Standing};
use super::{CompositeBody, GateOf, Program, Step};
use crate::approval::Approve;
use crate::call::{self, Passage};
use crate::diagnostics::{EventName, payload};
use crate::error::{CallError, EffectState, Fault, OutputError, StepError, Unresolved};
use crate::frame::{Call, Frame, FrameRef, Identity, Mode, Nested, PathNode, Scope, Segment, StepName};
use crate::gate::{Chainability, Gate};
use crate::limits;
use crate::reference::eval::{Missing, Values};
use crate::reference::template::Plan;
use crate::runtime::Runtime;
use crate::tool::answer::More;
use crate::tool::{Answer, ToolDef};
use crate::value::{Object, Text, Value};

/// A program on loan from its composite.
struct Lease<'a, R: Runtime> {
    body: &'a CompositeBody<R>,
    program: Option<Program>,
}

impl<R: Runtime> Drop for Lease<'_, R> {
    fn drop(&mut self) {
        if let Some(program) = self.program.take() {
            self.body.give_back(program);
        }
    }
}

/// Runs the steps in order; each sees the results of those before it. With the answer comes what is known of its output,
/// beside the schema that follows from the steps.
pub(crate) async fn run<R: Runtime>(call: Call<R>, body: &CompositeBody<R>, input: Value) -> Result<(Answer, Standing), CallError> {
    let elsewhere;
    let gate = match &body.gate {
        GateOf::Composer(bound) if bound.gate().is_some() => Gate::Composer(bound),
        GateOf::Composer(_) => return Err(no_gate().into()),
        GateOf::Catalog { links, home } => match (home.get(), &call.scope.host.view) {
            // The usual case touches no counter that other threads touch.
            (Some(home), Some(view)) if home.as_ptr() == Arc::as_ptr(view) => Gate::Catalog { view, links },
            (home, _) => {
                elsewhere = home.and_then(Weak::upgrade).ok_or_else(no_gate)?;
                Gate::Catalog { view: &elsewhere, links }
            }
        },
    };
    let depth = call.depth();
    let max = call.nesting().depth;
    if depth >= max {
        return Err(Fault::NestingTooDeep { depth, max }.into());
    }
    let lease = Lease { body, program: Some(body.take_program()) };
    match &lease.program {
        Some(program) => {
            let mut running = Running::new(&call, body, program, &gate);
            running.steps(&input).await?;
            Ok(running.answer())
        }
        None => Ok((Answer::empty(), Standing::Unknown)),
    }
}

pub(crate) fn no_gate() -> Fault {
    let verdict = Chainability::NoGate;
    Fault::Refused { code: arcstr::literal!("compose_needs_gate"), message: verdict.message(""), help: verdict.help(""), details: None }
}

/// One run of one composite.
struct Running<'a, R: Runtime> {
    scope: Arc<Scope<R>>,
    program: &'a Program,
    gate: &'a Gate<'a, R>,
    outputs: Vec<Option<Value>>,
    /// What is known of each output; empty when nobody asks.
    standings: Vec<Standing>,
    effects: Vec<EffectRecord>,
    notes: Vec<Text>,
    /// What the newest step's tool said beside its output; the last one's belongs to the composite's answer.
    last: Option<Box<More>>,
    passage: Passage,
}

impl<'a, R: Runtime> Running<'a, R> {
    fn new(call: &Call<R>, body: &CompositeBody<R>, program: &'a Program, gate: &'a Gate<'a, R>) -> Self {
        let around = &call.scope.frame;
        let node = PathNode {
            parent: Some((call.node().clone(), call.step)),
            names: program.names.clone(),
            segment: Segment::Steps,
            repeats: call.node().repeats,
            depth: call.node().depth + 1,
            calls: call.node().calls + 1,
            identity: Identity { composite: body.address(), gate: gate.address() },
        };
        let frame = Frame {
            life: around.life.clone(),
            node: Arc::new(node),
            cancel: around.cancel.clone(),
            diagnostics: around.scope(call.step),
            logger: around.logger.clone(),
            resumed: false,
            effectless: around.effectless || accepted_without_effects(call, body, program),
            nested: Nested::default(),
        };
        let scope = Arc::new(Scope { frame: Arc::new(frame), host: call.scope.host.clone() });
        let outputs = Vec::with_capacity(program.steps.len());
        Self {
            scope,
            program,
            gate,
            outputs,
            standings: if program.remembers { Vec::with_capacity(program.steps.len()) } else { Vec::new() },
            effects: Vec::new(),
            notes: Vec::new(),
            last: None,
            passage: Passage::default(),
        }
    }

    /// Runs all steps; the output is then the last one in the list.
    async fn steps(&mut self, input: &Value) -> Result<(), CallError> {
        self.warn_about_literals();
        let program = self.program;
        for (index, (step, name)) in program.steps.iter().zip(&program.names.steps).enumerate() {
            if let Err(error) = self.step(index, step, name, input).await {
                return Err(self.stopped(index, name, error));
            }
            let output = self.passage.answer.output.take();
            self.outputs.push(output);
            if program.remembers {
                self.standings.push(self.passage.standing);
            }
            for position in &step.forget {
                if let Some(output) = self.outputs.get_mut(*position) {
                    *output = None;
                }
            }
        }
        if let Some(plan) = &program.output {
            match self.mapped_output(plan, input) {
                Ok(output) => {
                    self.passage.standing = proof::of_mapped(plan, program.checks_input, &self.standings);
                    self.outputs.push(Some(output));
                }
                Err(source) => return Err(self.without_output(source)),
            }
        }
        Ok(())
    }

    fn answer(mut self) -> (Answer, Standing) {
        let mut answer = Answer { output: self.outputs.pop().flatten(), more: self.last };
        if !self.effects.is_empty() || !self.notes.is_empty() || answer.more.is_some() {
            let more = answer.more();
            more.effects = Some(self.effects);
            more.notes = self.notes;
        }
        // What a composer's gate gives now need not be what the composite was built from.
        let standing = if matches!(self.gate, Gate::Catalog { .. }) { self.passage.standing } else { Standing::Unknown };
        (answer, standing)
    }

    /// The output that a mapping makes is nobody's answer: what the last step said beside its own does not belong to it.
    fn mapped_output(&mut self, plan: &Plan, input: &Value) -> Result<Value, CallError> {
        self.last = None;
        let values = Values { input: Some(input), outputs: &self.outputs };
        let output = plan.render(values).map_err(|missing| unresolved(&missing))?;
        call::within_limits(&output, "output", &self.scope.frame, EffectState::NoEffect)?;
        Ok(output)
    }

    #[cold]
    fn without_output(&mut self, source: CallError) -> CallError {
        let completed = self.program.names.steps.iter().map(|step| step.name.clone()).collect();
        Fault::Output(OutputError { completed, effects: std::mem::take(&mut self.effects), source }).into()
    }

    /// Resolve now, judge again, map, check the arguments, run the very instance that was judged. Leaves the answer in
    /// the passage.
    async fn step(&mut self, index: usize, step: &Step, name: &StepName, input: &Value) -> Result<(), CallError> {
        let position = u32::try_from(index).unwrap_or(u32::MAX);
        let (tool, verdict) = match self.gate {
            Gate::Catalog { .. } => self.gate.resolve(index, &name.tool),
            // The gate is the host's code about this step.
            Gate::Composer(_) => {
                let place = FrameRef { frame: self.scope.frame.clone(), step: position, reads: true, aside: Some("check") };
                place.around(|| self.gate.resolve(index, &name.tool))
            }
        };
        let Some(tool) = tool.filter(|_| verdict.is_allowed()) else {
            return Err(refused(verdict, &name.tool).into());
        };
        if self.scope.frame.effectless && verdict != Chainability::Free {
            return Err(unannounced(&name.tool).into());
        }
        // Composites of a catalogue are linked to earlier ones; a way back through code is found by the call itself.
        if let Some(composite) = tool.composite()
            && matches!(self.gate, Gate::Composer(_))
        {
            self.no_cycle(composite, &name.tool)?;
        }
        let values = Values { input: Some(input), outputs: &self.outputs };
        if let Err(missing) = step.arguments.render_into(values, &mut self.passage.arguments) {
            return Err(unresolved(&missing).into());
        }
        let call = Call { scope: self.scope.clone(), step: position, reads: tool.has_side_effects() == Some(false) };
        self.passage.proved = step.proof.is_some() && self.is_proved(step);
        call::enter(&call, &tool, &mut self.passage, None, Some(self.gate))?;
        let frame = &*self.scope.frame;
        if !matches!(frame.life.mode, Mode::Real)
            && let Some(dry) = not_executed(&call, index, name, &tool, &self.passage.arguments)
        {
            let (output, effect) = dry?;
            gather(&mut self.effects, [effect]);
            self.last = None;
            self.passage.answer = Answer::new(output);
            self.passage.standing = Standing::Unknown;
            return Ok(());
        }
        let side_effects = verdict == Chainability::Listed;
        self.passage.foreseen = if side_effects { self.foreseen(index, name, &tool, input) } else { None };
        if frame.diagnostics.is_disabled() {
            call::perform(frame, call, &tool, &mut self.passage, Some(self.gate)).await?;
        } else {
            self.started(&call, index, name, side_effects);
            let path = call.path();
            let outcome = call::perform(frame, call, &tool, &mut self.passage, Some(self.gate)).await;
            self.finished(path, index, outcome.as_ref().err());
            outcome?;
        }
        let inside = self.scope.frame.nested.take_effects(position);
        if !inside.is_empty() {
            gather(&mut self.effects, inside.into_iter().map(|effect| effect.under(&name.name)));
        }
        match self.passage.answer.more.take() {
            Some(more) => self.keep(index, name, more, side_effects, tool.is_composite()),
            None => {
                self.last = None;
                if side_effects && !tool.is_composite() {
                    gather(&mut self.effects, [EffectRecord::Ran(record(index, name))]);
                }
            }
        }
        Ok(())
    }

    /// What somebody who is asked about this step is shown beside it; none when nobody is asked.
    fn foreseen(&self, index: usize, name: &StepName, tool: &ToolDef<R>, input: &Value) -> Option<Box<Foreseen>> {
        let approvals = self.scope.host.view.as_ref()?.options.policy.approvals.as_deref()?;
        let rule = call::stated(approvals, &name.tool, tool)?;
        let mut foreseen = Foreseen { covers: Vec::new(), done: self.effects.clone() };
        if let (Approve::OncePerPlan, Gate::Catalog { view, links }) = (rule, self.gate) {
            let path = self.scope.frame.node.parent.as_ref().map(|(parent, step)| parent.path(*step)).unwrap_or_default();
            let values = Values { input: Some(input), outputs: &self.outputs };
            let later = Later { approvals, view, links, program: self.program, path: &path, from: index + 1, values };
            later.gather(0, &mut foreseen.covers);
        }
        Some(Box::new(foreseen))
    }

    /// Whether the step's arguments, as they are now, are known to fit. Behind a composer's gate nothing is: who knows what
    /// its tools were when the steps were linked.
    fn is_proved(&mut self, step: &Step) -> bool {
        let (Some(proof), Gate::Catalog { view, links }) = (&step.proof, self.gate) else { return false };
        let outputs = &self.outputs;
        let is_exact = |position: usize| {
            let schema = links.get(position).and_then(|link| view.entry(*link)?.tool.0.output.as_ref());
            let output = outputs.get(position).and_then(Option::as_ref);
            schema.zip(output).is_some_and(|(schema, output)| schema.is_exact(output))
        };
        proof.holds(&mut self.standings, is_exact)
    }

    /// Keeps what a step's tool said beside its output.
    fn keep(&mut self, index: usize, name: &StepName, mut more: Box<More>, side_effects: bool, nested: bool) {
        match more.effects.take() {
            Some(inner) if nested => gather(&mut self.effects, inner.into_iter().map(|effect| effect.under(&name.name))),
            // A tool that reports nothing at all cannot unsay that it ran.
            Some(reported) if !reported.is_empty() => gather(&mut self.effects, reported),
            _ if side_effects && !nested => gather(&mut self.effects, [EffectRecord::Ran(record(index, name))]),
            _ => {}
        }
        self.notes.append(&mut more.notes);
        self.last = Some(more);
    }

    #[cold]
    fn stopped(&mut self, index: usize, name: &StepName, source: CallError) -> CallError {
        let inside = self.scope.frame.nested.take_effects(u32::try_from(index).unwrap_or(u32::MAX));
        gather(&mut self.effects, inside.into_iter().map(|effect| effect.under(&name.name)));
        gather(&mut self.effects, source.effects().iter().map(|effect| effect.clone().under(&name.name)));
        if source.effect_state() == EffectState::Happened && !matches!(source.fault(), Fault::Step(_) | Fault::Output(_)) {
            gather(&mut self.effects, [EffectRecord::Ran(record(index, name))]);
        }
        Fault::Step(StepError {
            composite: self.program.names.composite.clone(),
            step: name.name.clone(),
            index,
            tool: name.tool.clone(),
            completed: self.program.names.steps.iter().take(index).map(|step| step.name.clone()).collect(),
            effects: std::mem::take(&mut self.effects),
            unknown_effect: source.has_unknown_effect(),
            source,
        })
        .into()
    }

    /// A composite that reaches itself would run until the depth limit; it is named instead.
    fn no_cycle(&self, composite: &CompositeBody<R>, tool: &Text) -> Result<(), CallError> {
        if !self.scope.frame.node.is_inside(composite.address(), self.gate.address(), tool) {
            return Ok(());
        }
        let mut path: Vec<&str> = self.scope.frame.node.composites().map(Text::as_str).collect();
        path.reverse();
        path.push(tool);
        let message = format!("the composite reaches itself: {}", path.join(" > "));
        let help = Some("take the step out that leads back".into());
        Err(Fault::Refused { code: arcstr::literal!("step_cycle"), message, help, details: None }.into())
    }

    fn started(&self, call: &Call<R>, index: usize, name: &StepName, side_effects: bool) {
        let (step, tool, count) = (&name.name, &name.tool, self.program.steps.len());
        let start = || payload::StepStart { path: call.path(), index, count, step, tool, side_effects }.payload();
        self.scope.frame.diagnostics.emit(EventName::StepStarted, start);
    }

    fn finished(&self, path: String, index: usize, error: Option<&CallError>) {
        let finish = || payload::step_finished(path, index, error.map(CallError::code));
        self.scope.frame.diagnostics.emit(EventName::StepFinished, finish);
    }

    fn warn_about_literals(&self) {
        for (step, literal) in &self.program.literals {
            self.scope.frame.diagnostics.warn("literal_reference", || {
                let path = match step {
                    Some(step) => self.scope.frame.node.path(*step),
                    None => self.scope.frame.node.parent.as_ref().map(|(parent, step)| parent.path(*step)).unwrap_or_default(),
                };
                (path, literal.clone())
            });
        }
    }
}

fn record(index: usize, name: &StepName) -> StepRecord {
    StepRecord { step: name.name.clone(), index, tool: name.tool.clone(), via: Vec::new() }
}

/// Whether a composite runs because it says that it has no side effects. A composer that lists it speaks for its own
/// steps, and for no catalogue or other composer; and a pipeline says nothing: its steps were judged just now.
fn accepted_without_effects<R: Runtime>(call: &Call<R>, body: &CompositeBody<R>, program: &Program) -> bool {
    let node = call.node();
    let lists = |bound: &Arc<crate::composer::Bound<R>>| {
        node.segment == Segment::Steps && node.identity.gate == Arc::as_ptr(bound).addr() && bound.lists(call.tool())
    };
    call.reads && !program.names.composite.is_empty() && !matches!(&body.gate, GateOf::Composer(bound) if lists(bound))
}

/// A tool was replaced after the composite around it was built, and listing the inner tool alone is not enough.
#[cold]
fn unannounced(tool: &str) -> Fault {
    let message = format!("step tool \"{tool}\" has side effects now, and a composite around it was accepted as one that has none");
    let help =
        "build that composite again, so that its effect is derived from the tools as they are now; the host must then list it by name";
    Fault::Refused { code: arcstr::literal!("step_not_chainable"), message, help: Some(help.into()), details: None }
}

fn refused(verdict: Chainability, tool: &str) -> Fault {
    Fault::Refused {
        code: verdict.code().unwrap_or("step_not_chainable").into(),
        message: verdict.message(tool),
        help: verdict.help(tool),
        details: None,
    }
}

/// In a dry run: the given output of a step that is not executed; none for a step that runs for real.
pub(crate) fn not_executed<R: Runtime>(
    call: &Call<R>,
    index: usize,
    name: &StepName,
    tool: &ToolDef<R>,
    arguments: &Value,
) -> Option<Result<(Value, EffectRecord), CallError>> {
    let nested = tool.is_composite();
    let side_effects = tool.has_side_effects() != Some(false);
    let (outputs, key) = match &call.life().mode {
        Mode::Real => return None,
        Mode::Dry(outputs) if nested || side_effects => (outputs, name.name.to_string()),
        Mode::Rehearse(outputs) if side_effects && !nested => (outputs, call.node().step_key(call.step)),
        Mode::Dry(_) | Mode::Rehearse(_) => return None,
    };
    let Some(output) = outputs.take(&key) else {
        let what = if nested { "is a composite" } else { "has side effects" };
        let message = format!(
            "step \"{}\" (tool: \"{}\") {what} and is not executed in a dry run; give its output in stepOutputs[{}]",
            name.name,
            name.tool,
            Value::from(key.as_str())
        );
        let help = Some(match outputs.nearest(&key) {
            Some(given) => format!("an output is given for `{given}`; is that `{key}`?"),
            None => format!("a dry run goes on with the output you give for `{key}`; `null` is an output too"),
        });
        return Some(Err(Fault::Refused { code: arcstr::literal!("dry_run_needs_output"), message, help, details: None }.into()));
    };
    let produced = tool.0.produces.as_ref().and_then(|id| call.scope.host.view.as_ref()?.output_schema(id));
    if let Some(schema) = tool.0.output.iter().chain(produced).find(|schema| !schema.accepts(output)) {
        let issues = schema.issues(output);
        let listed: Vec<String> = issues.iter().map(ToString::to_string).collect();
        let message = format!("the output given for step `{key}` does not fit the output schema of `{}`: {}", name.tool, listed.join("; "));
        return Some(Err(Fault::Refused { code: arcstr::literal!("invalid_output"), message, help: None, details: None }.into()));
    }
    let effect = EffectRecord::WouldRun { step: record(index, name), nested, arguments: arguments.clone() };
    Some(Ok((output.clone(), effect)))
}

/// Says what is missing, what is there instead, and what was probably meant.
#[cold]
fn unresolved(missing: &Missing<'_>) -> Fault {
    let written = &missing.reference.written;
    let reference = &written.reference;
    let segment = reference.path.get(missing.found);
    let span = segment.map_or_else(|| reference.root_span.clone(), |segment| segment.span.clone());
    let shown = |object: &Object| {
        let keys = object.keys();
        let listed: Vec<String> = keys.clone().take(limits::KEYS_SHOWN_MAX).map(|key| format!("`{}`", crate::cut(key, 60))).collect();
        let more = keys.len().saturating_sub(limits::KEYS_SHOWN_MAX);
        if more > 0 { format!("{} and {more} more", listed.join(", ")) } else { listed.join(", ") }
    };
    let mut nearest = None;
    let found = match &missing.stopped_at {
        None => "the step gave no output".to_owned(),
        Some(Value::Object(object)) if object.is_empty() => "the object there is empty".to_owned(),
        Some(Value::Object(object)) => {
            let wanted = segment.and_then(|segment| segment.key.as_deref()).unwrap_or_default();
            let near = crate::nearest::nearest(wanted, object.keys().map(Text::as_str));
            nearest = near.and_then(|near| respelled(&reference.text, &span, near));
            format!("the keys there are {}", shown(object))
        }
        Some(Value::Array(_)) => {
            let len = missing.stopped_at.as_ref().and_then(Value::as_array).map_or(0, <[Value]>::len);
            format!("there is an array of {len} there")
        }
        Some(Value::Null) => "there is null there, which has no members".to_owned(),
        Some(other) => {
            let article = if other.kind() == "integer" { "an" } else { "a" };
            format!("there is {article} {} there, which has no members", other.kind())
        }
    };
    Fault::Unresolved(Unresolved { reference: reference.clone(), pointer: written.pointer.clone(), span, found, nearest })
}

/// The reference with the key at `span` replaced, in the same spelling: after a dot, or quoted in brackets.
fn respelled(text: &str, span: &std::ops::Range<usize>, key: &str) -> Option<String> {
    let (head, tail) = (text.get(..span.start)?, text.get(span.end..)?);
    let plain = key.chars().all(|c| c.is_alphanumeric() || c == '_' || c == '-') && !key.is_empty();
    if head.ends_with('.') && !plain {
        let head = head.strip_suffix('.')?;
        return Some(format!("{head}[{}]{tail}", Value::from(key)));
    }
    Some(if plain && head.ends_with('.') { format!("{head}{key}{tail}") } else { format!("{head}{}{tail}", Value::from(key)) })
}

//! What people are told about the tools of a host.

use std::collections::HashMap;

use toolwright::{Effect, ToolDef, Value};

use crate::config::composite::CompositeEntry;
use crate::style::one_line;
use crate::view::{Inside, State, StepView, ToolView};

/// Views in their order, found by id; of two with one id the first is found.
#[derive(Default)]
pub(super) struct Views {
    list: Vec<ToolView>,
    by_id: HashMap<String, usize>,
}

impl Views {
    pub(super) fn push(&mut self, view: ToolView) {
        self.by_id.entry(view.id.clone()).or_insert(self.list.len());
        self.list.push(view);
    }

    pub(super) fn find(&self, id: &str) -> Option<&ToolView> {
        self.by_id.get(id).and_then(|at| self.list.get(*at))
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &ToolView> {
        self.list.iter()
    }

    pub(super) fn len(&self) -> usize {
        self.list.len()
    }

    /// What is known of a view may change, but not its id.
    pub(super) fn get_mut(&mut self, at: usize) -> Option<&mut ToolView> {
        self.list.get_mut(at)
    }

    pub(super) fn last_mut(&mut self) -> Option<&mut ToolView> {
        self.list.last_mut()
    }

    /// From this one on, others.
    pub(super) fn replace_from(&mut self, at: usize, others: impl IntoIterator<Item = ToolView>) {
        self.list.truncate(at);
        self.by_id.retain(|_, place| *place < at);
        others.into_iter().for_each(|view| self.push(view));
    }
}

impl IntoIterator for Views {
    type Item = ToolView;
    type IntoIter = std::vec::IntoIter<ToolView>;

    fn into_iter(self) -> Self::IntoIter {
        self.list.into_iter()
    }
}

/// A tool that a source offers, with the title that the host gives it.
pub(super) fn of(tool: &ToolDef, source: &str, title: Option<String>) -> ToolView {
    let origin = tool.origin();
    ToolView {
        id: tool.name().to_owned(),
        title: title.or_else(|| tool.title().map(str::to_owned)),
        description: tool.description().to_owned(),
        effect: tool.effect().cloned(),
        effect_from: origin.map(|o| o.effect_from.to_string()).unwrap_or_default(),
        source: source.to_owned(),
        kind: origin.map(|o| o.kind.to_string()).unwrap_or_default(),
        input: tool.input_schema().cloned(),
        output: tool.output_schema().cloned(),
        learned: None,
        hidden: tool.is_hidden(),
        examples: tool.examples().iter().map(|example| (example.input.clone(), example.output.clone())).collect(),
        inside: None,
        state: State::Ready,
    }
}

/// A tool of which little more than its id is known.
pub(super) fn nothing(id: &str, description: &str, source: &str, kind: &str) -> ToolView {
    ToolView {
        id: id.to_owned(),
        title: None,
        description: description.to_owned(),
        effect: None,
        effect_from: String::new(),
        source: source.to_owned(),
        kind: kind.to_owned(),
        input: None,
        output: None,
        learned: None,
        hidden: false,
        examples: Vec::new(),
        inside: None,
        state: State::Ready,
    }
}

/// A composite as the file describes it, with what is known of its steps' tools.
pub(super) fn composite(entry: &CompositeEntry, views: &Views) -> ToolView {
    let steps = entry.spec.get("steps").and_then(Value::as_array).unwrap_or_default();
    let steps: Vec<StepView> = steps.iter().enumerate().map(|(index, step)| step_view(index, step, views)).collect();
    let mut touches = Vec::new();
    for step in &steps {
        if !touches.contains(&step.tool) {
            touches.push(step.tool.clone());
        }
    }
    let (effect, effects) = as_far_as_known(&steps, views);
    ToolView {
        effect_from: if effect.is_some() { "derived".to_owned() } else { String::new() },
        effect,
        title: entry.title.clone(),
        input: entry.input.clone(),
        examples: entry.examples.iter().map(|example| (example.input.clone(), example.output.clone())).collect(),
        inside: Some(Inside {
            steps,
            output: entry.spec.get("output").filter(|output| !output.is_null()).cloned(),
            touches,
            effects,
            effects_left_out: 0,
        }),
        ..nothing(&entry.id, &entry.description, "composites", "composite")
    }
}

type StepEffects = Vec<(Vec<String>, String, Option<Effect>)>;

/// The effect of a composite that the core did not take in: what its steps' tools say, the worst first.
fn as_far_as_known(steps: &[StepView], views: &Views) -> (Option<Effect>, StepEffects) {
    let mut effects = StepEffects::new();
    for step in steps {
        let view = views.find(&step.tool);
        let inner = view.and_then(|view| view.inside.as_ref());
        match (inner, &step.effect) {
            (Some(inside), _) => effects.extend(inside.effects.iter().map(|(path, tool, effect)| {
                let path = std::iter::once(&step.name).chain(path).cloned().collect();
                (path, tool.clone(), effect.clone())
            })),
            (None, Some(Some(effect))) if !effect.has_side_effects() => {}
            (None, effect) => {
                let effect = effect.clone().flatten();
                effects.push((vec![step.name.clone()], step.tool.clone(), effect));
            }
        }
    }
    let known: Option<Vec<&Effect>> = effects.iter().map(|(_, _, effect)| effect.as_ref()).collect();
    let worst = known.map(|known| {
        let worst = known.into_iter().rev().max_by_key(|effect| effect.impact);
        worst.map_or_else(Effect::read, |worst| Effect::new(worst.class.clone(), toolwright::Impact::Once))
    });
    (worst, effects)
}

fn step_view(index: usize, step: &Value, views: &Views) -> StepView {
    let text = |name: &str| step.get(name).and_then(Value::as_str);
    let tool = text("tool").unwrap_or_default();
    let known = views.find(tool);
    StepView {
        name: text("name").map_or_else(|| format!("#{index}"), str::to_owned),
        tool: one_line(tool),
        mapping: step.get("inputMapping").cloned().unwrap_or(Value::Null),
        effect: known.map(|view| view.effect.clone()),
        nested: known.is_some_and(|view| view.inside.is_some()),
    }
}

/// What the core derived when it took the composite in.
pub(super) fn derive(view: &mut ToolView, tool: &ToolDef) {
    view.effect = tool.effect().cloned();
    view.effect_from = "derived".to_owned();
    view.output = tool.output_schema().cloned();
    view.input = tool.input_schema().cloned();
    if let (Some(inside), Some(body)) = (&mut view.inside, tool.composite()) {
        inside.touches = body.tools().iter().map(ToString::to_string).collect();
        let effects = body.effects().iter().map(|effect| {
            let path = effect.path.iter().map(ToString::to_string).collect();
            (path, effect.tool.to_string(), effect.effect.clone())
        });
        inside.effects = effects.collect();
        inside.effects_left_out = body.effects_left_out();
    }
}

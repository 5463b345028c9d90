//! What people are told about a tool, whether it can be called or not.

use serde_json::json;
use toolwright::{Effect, Value};

use crate::learned::LearnedView;
use crate::secret::Secrets;
use crate::style::{flat, limited, one_line};

/// A tool, or what would be one.
#[derive(Clone, Debug)]
pub(crate) struct ToolView {
    /// The id to call it by.
    pub(crate) id: String,
    /// A name for people.
    pub(crate) title: Option<String>,
    /// What it is for.
    pub(crate) description: String,
    /// What it does to the world; `None` when it does not say.
    pub(crate) effect: Option<Effect>,
    /// Who said so: `declared`, `lock`, `hint`, `derived`, or nothing.
    pub(crate) effect_from: String,
    /// The name of its source in the file; `composites` for a composite.
    pub(crate) source: String,
    /// `command`, `mcp-stdio`, `mcp-http`, `composite`.
    pub(crate) kind: String,
    /// The JSON Schema of its input.
    pub(crate) input: Option<Value>,
    /// The JSON Schema of its output.
    pub(crate) output: Option<Value>,
    /// What its outputs looked like, when it does not say it itself.
    pub(crate) learned: Option<LearnedView>,
    /// Not listed.
    pub(crate) hidden: bool,
    /// Examples of input and output.
    pub(crate) examples: Vec<(Value, Option<Value>)>,
    /// Of a composite, its inside.
    pub(crate) inside: Option<Inside>,
    /// Whether it can be called.
    pub(crate) state: State,
}

/// The inside of a composite.
#[derive(Clone, Debug, Default)]
pub(crate) struct Inside {
    /// Its steps, in order.
    pub(crate) steps: Vec<StepView>,
    /// What makes its output, when it is not the last step's.
    pub(crate) output: Option<Value>,
    /// The tools it touches, through nested composites too.
    pub(crate) touches: Vec<String>,
    /// Its effects: the way to the step, the tool, and the effect.
    pub(crate) effects: Vec<(Vec<String>, String, Option<Effect>)>,
    /// How many more effects there are than are listed.
    pub(crate) effects_left_out: usize,
}

/// A step of a composite.
#[derive(Clone, Debug)]
pub(crate) struct StepView {
    /// Its name.
    pub(crate) name: String,
    /// The tool it calls.
    pub(crate) tool: String,
    /// The tool's arguments as written.
    pub(crate) mapping: Value,
    /// What the tool does: `None` when the tool is not there, `Some(None)` when it does not say.
    pub(crate) effect: Option<Option<Effect>>,
    /// The tool is a composite itself.
    pub(crate) nested: bool,
}

/// Whether a tool can be called.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum State {
    /// It can.
    Ready,
    /// A rule refuses it.
    Refused(Why),
    /// Its definition does not check.
    Broken(Why),
    /// What it needs is not there.
    Unavailable(Why),
    /// It is not what was accepted with the lock file.
    Withheld(Why),
    /// Of a composite: a tool of its steps is withheld.
    Stale(Why),
}

/// Why a tool cannot be called.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Why {
    /// The stable code.
    pub(crate) code: String,
    /// In one line.
    pub(crate) message: String,
    /// What to do.
    pub(crate) help: Option<String>,
}

/// A source whose tools are not known, because it cannot be asked.
#[derive(Clone, Debug)]
pub(crate) struct SourceView {
    /// Its name in the file.
    pub(crate) name: String,
    /// `mcp-stdio`, `mcp-http`, `command`.
    pub(crate) kind: String,
    /// Why it is not there; `None` when it is.
    pub(crate) why: Option<Why>,
    /// Tools that it offers and that cannot be used: name and reason.
    pub(crate) skipped: Vec<(String, String)>,
}

impl SourceView {
    /// The same without secrets.
    pub(crate) fn masked(self, secrets: &Secrets) -> Self {
        let skipped = self.skipped.into_iter().map(|(name, reason)| (name, secrets.mask(&reason)));
        Self { why: self.why.map(|why| why.masked(secrets)), skipped: skipped.collect(), ..self }
    }
}

impl State {
    /// The word for scripts.
    pub(crate) fn word(&self) -> &'static str {
        match self {
            Self::Ready => "ready",
            Self::Refused(_) => "refused",
            Self::Broken(_) => "broken",
            Self::Unavailable(_) => "unavailable",
            Self::Withheld(_) => "withheld",
            Self::Stale(_) => "stale",
        }
    }

    /// Why it cannot be called.
    pub(crate) fn why(&self) -> Option<&Why> {
        match self {
            Self::Ready => None,
            Self::Refused(why) | Self::Broken(why) | Self::Unavailable(why) | Self::Withheld(why) | Self::Stale(why) => Some(why),
        }
    }
}

/// An effect in a word or two: `read`, `write`, `idempotent`, `deploy, write`, `undeclared`.
pub(crate) fn effect_words(effect: Option<&Effect>) -> String {
    let Some(effect) = effect else {
        return "undeclared".to_owned();
    };
    match effect.impact {
        toolwright::Impact::Idempotent if effect.class.as_str() == "write" => "idempotent".to_owned(),
        toolwright::Impact::Idempotent => format!("{}, idempotent", effect.class),
        // A word of someone's own may sound harmless: what counts stands behind it.
        toolwright::Impact::Once if effect.class.as_str() != "write" => format!("{}, write", effect.class),
        toolwright::Impact::None | toolwright::Impact::Once => effect.class.to_string(),
    }
}

/// The same for what may be a composite: nobody declares the effect of one; while a step's is not known, its own is not.
fn effect_words_of(effect: Option<&Effect>, composite: bool) -> String {
    match effect {
        None if composite => "not known yet".to_owned(),
        effect => effect_words(effect),
    }
}

/// The same effect under a name that can be shown.
fn clean_effect(effect: &Effect) -> Effect {
    Effect::new(one_line(&effect.class), effect.impact)
}

/// Whether a step of this effect stands out: it has effects, or does not say that it has none.
pub(crate) fn stands_out(effect: Option<&Effect>) -> bool {
    effect.is_none_or(Effect::has_side_effects)
}

impl ToolView {
    /// The same with every name as it can be shown to a person: what others wrote moves no cursor and hides nothing.
    pub(crate) fn clean(&self) -> Self {
        let mut clean = self.clone();
        for name in [&mut clean.id, &mut clean.source, &mut clean.kind, &mut clean.effect_from] {
            *name = one_line(name);
        }
        clean.effect = self.effect.as_ref().map(clean_effect);
        if let Some(inside) = &mut clean.inside {
            for step in &mut inside.steps {
                step.tool = one_line(&step.tool);
                step.effect = step.effect.as_ref().map(|effect| effect.as_ref().map(clean_effect));
            }
            inside.touches.iter_mut().for_each(|tool| *tool = one_line(tool));
            for (_, tool, effect) in &mut inside.effects {
                *tool = one_line(tool);
                *effect = effect.as_ref().map(clean_effect);
            }
        }
        clean
    }

    /// Its effect in a word or two.
    pub(crate) fn effect_words(&self) -> String {
        effect_words_of(self.effect.as_ref(), self.inside.is_some())
    }

    /// For scripts.
    pub(crate) fn to_json(&self, whole: bool) -> serde_json::Value {
        let mut members: Vec<(&str, serde_json::Value)> = vec![
            ("id", json!(self.id)),
            ("title", json!(self.title)),
            ("description", json!(self.description)),
            ("source", json!(self.source)),
            ("kind", json!(self.kind)),
            ("effect", json!(self.effect.as_ref().map(effect_json))),
            ("effectFrom", json!(self.effect_from)),
            ("hidden", json!(self.hidden)),
            ("state", json!(self.state.word())),
        ];
        if let Some(why) = self.state.why() {
            members.push(("why", why.to_json()));
        }
        if let Some(inside) = &self.inside {
            members.push(("steps", inside.steps.iter().map(StepView::to_json).collect()));
            members.push(("touches", json!(inside.touches)));
            let effects = inside
                .effects
                .iter()
                .map(|(path, tool, effect)| json!({"path": path, "tool": tool, "effect": effect.as_ref().map(effect_json)}));
            members.push(("effects", effects.collect()));
            if inside.effects_left_out > 0 {
                members.push(("effectsLeftOut", json!(inside.effects_left_out)));
            }
        }
        if whole {
            members.push(("inputSchema", json!(self.input.as_ref().map(Value::to_json))));
            members.push(("outputSchema", json!(self.output.as_ref().map(Value::to_json))));
            let examples = self
                .examples
                .iter()
                .map(|(input, output)| json!({"input": input.to_json(), "output": output.as_ref().map(Value::to_json)}));
            members.push(("examples", examples.collect()));
            members.extend(self.learned.as_ref().map(|learned| ("learned", learned.to_json())));
        }
        let members = members.into_iter().map(|(name, value)| (name.to_owned(), value));
        serde_json::Value::Object(members.collect())
    }
}

impl ToolView {
    /// The same without secrets in what others wrote: a server may put anything into a description.
    pub(crate) fn masked(self, secrets: &Secrets) -> Self {
        let schema = |schema: Option<Value>| schema.map(|schema| secrets.mask_value(&schema));
        let examples = self.examples.iter();
        Self {
            title: self.title.map(|title| secrets.mask(&title)),
            description: secrets.mask(&self.description),
            input: schema(self.input),
            output: schema(self.output),
            examples: examples.map(|(input, output)| (secrets.mask_value(input), output.as_ref().map(|o| secrets.mask_value(o)))).collect(),
            state: match self.state {
                State::Ready => State::Ready,
                State::Refused(why) => State::Refused(why.masked(secrets)),
                State::Broken(why) => State::Broken(why.masked(secrets)),
                State::Unavailable(why) => State::Unavailable(why.masked(secrets)),
                State::Withheld(why) => State::Withheld(why.masked(secrets)),
                State::Stale(why) => State::Stale(why.masked(secrets)),
            },
            ..self
        }
    }
}

impl Why {
    /// The same without secrets.
    pub(crate) fn masked(self, secrets: &Secrets) -> Self {
        Self { code: self.code, message: secrets.mask(&self.message), help: self.help.map(|help| secrets.mask(&help)) }
    }

    /// For scripts.
    pub(crate) fn to_json(&self) -> serde_json::Value {
        json!({"code": self.code, "message": flat(&limited(&self.message)), "help": self.help.as_deref().map(|help| flat(&limited(help)))})
    }
}

impl StepView {
    /// The effect of its tool in a word or two.
    pub(crate) fn effect_words(&self) -> String {
        match &self.effect {
            None => "not there".to_owned(),
            Some(effect) => effect_words_of(effect.as_ref(), self.nested),
        }
    }

    fn to_json(&self) -> serde_json::Value {
        let effect = self.effect.as_ref().and_then(Option::as_ref);
        json!({
            "name": self.name,
            "tool": self.tool,
            "effect": effect.map(effect_json),
            "nested": self.nested,
        })
    }
}

fn effect_json(effect: &Effect) -> serde_json::Value {
    json!({"class": effect.class.as_str(), "impact": effect.impact.as_str()})
}

//! What people are told about a tool, whether it can be called or not.

use toolwright::{Effect, Value};

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
    /// Who said so: `declared`, `hint`, `derived`, or nothing.
    pub(crate) effect_from: String,
    /// The name of its source in the file; `composites` for a composite.
    pub(crate) source: String,
    /// `command`, `mcp-stdio`, `mcp-http`, `composite`.
    pub(crate) kind: String,
    /// The JSON Schema of its input.
    pub(crate) input: Option<Value>,
    /// The JSON Schema of its output.
    pub(crate) output: Option<Value>,
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

impl State {
    /// The word for scripts.
    pub(crate) fn word(&self) -> &'static str {
        match self {
            Self::Ready => "ready",
            Self::Refused(_) => "refused",
            Self::Broken(_) => "broken",
            Self::Unavailable(_) => "unavailable",
        }
    }

    /// Why it cannot be called.
    pub(crate) fn why(&self) -> Option<&Why> {
        match self {
            Self::Ready => None,
            Self::Refused(why) | Self::Broken(why) | Self::Unavailable(why) => Some(why),
        }
    }
}

/// An effect in a word or two: `read`, `write`, `write, idempotent`, `deploy`, `undeclared`.
pub(crate) fn effect_words(effect: Option<&Effect>) -> String {
    let Some(effect) = effect else {
        return "undeclared".to_owned();
    };
    match effect.impact {
        toolwright::Impact::Idempotent if effect.class.as_str() == "write" => {
            "idempotent".to_owned()
        }
        toolwright::Impact::Idempotent => format!("{}, idempotent", effect.class),
        toolwright::Impact::None | toolwright::Impact::Once => effect.class.to_string(),
    }
}

/// Whether a step of this effect stands out: it has effects, or does not say that it has none.
pub(crate) fn stands_out(effect: Option<&Effect>) -> bool {
    effect.is_none_or(Effect::has_side_effects)
}

impl ToolView {
    /// For scripts.
    pub(crate) fn to_json(&self, whole: bool) -> serde_json::Value {
        use serde_json::json;
        let effect = self.effect.as_ref().map(effect_json);
        let mut value = json!({
            "id": self.id,
            "title": self.title,
            "description": self.description,
            "source": self.source,
            "kind": self.kind,
            "effect": effect,
            "effectFrom": self.effect_from,
            "hidden": self.hidden,
            "state": self.state.word(),
        });
        if let Some(why) = self.state.why() {
            value["why"] = json!({"code": why.code, "message": why.message, "help": why.help});
        }
        if let Some(inside) = &self.inside {
            value["steps"] = inside.steps.iter().map(StepView::to_json).collect();
            value["touches"] = json!(inside.touches);
            let effects = inside.effects.iter().map(|(path, tool, effect)| {
                json!({"path": path, "tool": tool, "effect": effect.as_ref().map(effect_json)})
            });
            value["effects"] = effects.collect();
        }
        if whole {
            value["inputSchema"] = self.input.as_ref().map_or(json!(null), Value::to_json);
            value["outputSchema"] = self.output.as_ref().map_or(json!(null), Value::to_json);
            let examples = self.examples.iter().map(|(input, output)| {
                json!({"input": input.to_json(), "output": output.as_ref().map(Value::to_json)})
            });
            value["examples"] = examples.collect();
        }
        value
    }
}

impl StepView {
    fn to_json(&self) -> serde_json::Value {
        let effect = self.effect.as_ref().and_then(Option::as_ref);
        serde_json::json!({
            "name": self.name,
            "tool": self.tool,
            "effect": effect.map(effect_json),
            "nested": self.nested,
        })
    }
}

fn effect_json(effect: &Effect) -> serde_json::Value {
    serde_json::json!({"class": effect.class.as_str(), "impact": effect.impact.as_str()})
}

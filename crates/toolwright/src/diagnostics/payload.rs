//! Payloads of the runtime's own facts, each made in one place.

use super::ring::Happening;
use super::{Diagnostics, EventName};
use crate::value::{Number, Text, Value};

/// The members that have a value, in their order.
fn members<const N: usize>(members: [(&'static str, Value); N]) -> Value {
    Value::object(members.into_iter().filter(|(_, value)| !value.is_null()))
}

/// A step of a composite, for the fact that it starts.
pub(crate) struct StepStart<'a> {
    pub(crate) path: String,
    pub(crate) index: usize,
    pub(crate) count: usize,
    pub(crate) step: &'a Text,
    pub(crate) tool: &'a Text,
    pub(crate) side_effects: bool,
}

impl StepStart<'_> {
    pub(crate) fn payload(self) -> Value {
        members([
            ("path", self.path.into()),
            ("index", self.index.into()),
            ("count", self.count.into()),
            ("step", Value::String(self.step.clone())),
            ("tool", Value::String(self.tool.clone())),
            ("sideEffects", self.side_effects.into()),
        ])
    }
}

pub(crate) fn step_finished(path: String, index: usize, code: Option<&str>) -> Value {
    members([("path", path.into()), ("index", index.into()), ("ok", code.is_none().into()), ("code", code.into())])
}

/// What a catalogue keeps of a tool's event, for the fact that tells the same; `seq` is its number there.
pub(crate) fn tool(path: String, event: &Happening, seq: Option<u64>) -> Value {
    let kind = Some(&event.kind).filter(|kind| !kind.is_empty());
    members([
        ("path", path.into()),
        ("tool", Value::String(event.tool.clone())),
        ("kind", kind.into()),
        ("code", event.code.as_ref().into()),
        ("dry", event.dry.into()),
        ("seq", seq.into()),
    ])
}

/// An amount that is no number of JSON, such as an infinity, is left out.
pub(crate) fn progress(path: String, message: Text, done: Option<f64>, total: Option<f64>) -> Value {
    members([("path", path.into()), ("message", Value::String(message)), ("done", amount(done)), ("total", amount(total))])
}

fn amount(amount: Option<f64>) -> Value {
    amount.and_then(Number::from_f64).map_or(Value::Null, Value::Number)
}

impl Diagnostics {
    /// Tells of something that stops nothing: `code` is a stable word; path and message are made when somebody listens.
    pub(crate) fn warn(&self, code: &'static str, said: impl FnOnce() -> (String, String)) {
        self.emit(EventName::Warning, || {
            let (path, message) = said();
            members([("path", path.into()), ("code", code.into()), ("message", message.into())])
        });
    }
}

/// A hook or port of the host that said no, or could not answer.
pub(crate) fn hook(path: String, tool: &Text, hook: Option<&str>, code: &str, message: &str) -> Value {
    members([
        ("path", path.into()),
        ("tool", Value::String(tool.clone())),
        ("hook", hook.into()),
        ("code", code.into()),
        ("message", message.into()),
    ])
}

//! What is told of a tool's effects: from what we know of it, never from what its server claims and nobody accepted.

use std::fmt::Write as _;

use toolwright::{Catalog, Impact, Registered, Value};

use crate::upstream::Hints;

/// What a listing says about a tool's effects.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Told {
    pub(crate) read_only: bool,
    pub(crate) destructive: bool,
    pub(crate) idempotent: bool,
    pub(crate) open_world: bool,
}

impl Told {
    /// What is told of a tool that nobody knows anything about.
    const WORST: Self = Self { read_only: false, destructive: true, idempotent: false, open_world: true };

    /// Appends the member `annotations`, as JSON.
    pub(crate) fn append_json(self, out: &mut String) {
        let Self { read_only, destructive, idempotent, open_world } = self;
        // Writing into a `String` cannot fail.
        let _ = write!(
            out,
            "{{\"readOnlyHint\":{read_only},\"destructiveHint\":{destructive},\"idempotentHint\":{idempotent},\"openWorldHint\":{open_world}}}"
        );
    }
}

/// What is told of each tool of a catalogue, in its order.
pub(crate) fn of_all(catalog: &Catalog) -> Vec<Told> {
    let mut told: Vec<Told> = Vec::with_capacity(catalog.len());
    for entry in catalog.values() {
        // A composite stands behind the tools of its steps, so what those are told to be is known.
        let known = |id: &str| catalog.get(id).and_then(|step| told.get(step.index())).copied().unwrap_or(Told::WORST);
        let one = of(entry, &known);
        told.push(one);
    }
    told
}

fn of(entry: &Registered, known: &dyn Fn(&str) -> Told) -> Told {
    let impact = entry.effect().map(|effect| effect.impact);
    let (milder, closed) = match entry.composite() {
        Some(composite) => {
            let steps: Vec<Told> = composite.tools().iter().map(|tool| known(tool)).collect();
            (steps.iter().all(|step| !step.destructive), steps.iter().all(|step| !step.open_world))
        }
        None => accepted(entry).map_or((false, false), |hints| (hints.destructive == Some(false), hints.open_world == Some(false))),
    };
    let read_only = impact == Some(Impact::None) && !is_dispatcher(entry);
    Told {
        read_only,
        destructive: !(read_only || milder && impact.is_some()),
        idempotent: read_only || impact == Some(Impact::Idempotent),
        open_world: !closed,
    }
}

/// The hints of a tool's server, when somebody has accepted them.
fn accepted(entry: &Registered) -> Option<Hints> {
    let from = entry.origin().map(|origin| origin.effect_from.as_str());
    matches!(from, Some("hint" | "lock")).then(|| Hints::of(entry.annotations()))
}

/// Whether a tool calls another that its caller names: whatever it says of itself, it does what that one does.
fn is_dispatcher(entry: &Registered) -> bool {
    if entry.is_composite() {
        return false;
    }
    let Some(properties) = entry.input_schema().and_then(|schema| schema.get("properties")).and_then(Value::as_object) else {
        return false;
    };
    let mut names = ["tool", "tool_name", "toolName", "tool_id", "toolId"].iter().filter_map(|name| properties.get(name));
    let mut arguments = [
        "arguments",
        "args",
        "tool_args",
        "toolArgs",
        "tool_arguments",
        "toolArguments",
        "tool_input",
        "toolInput",
        "input",
        "params",
        "parameters",
    ]
    .iter()
    .filter_map(|name| properties.get(name));
    let kind = |schema: &Value, kind: &str| schema.get("type").is_none_or(|given| given.as_str().is_none_or(|given| given == kind));
    names.any(|schema| kind(schema, "string")) && arguments.any(|schema| kind(schema, "object") || kind(schema, "string"))
}

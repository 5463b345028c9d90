//! The `composites` section: everything around the steps. The steps themselves are the core's to
//! judge; this module keeps their nodes so that what the core says finds its place in the file.

use std::sync::Arc;

use toolwright::{Fix, Value};

use super::described;
use super::members::COMPOSITE;
use super::reader::{Place, Reader};
use super::source::{ExampleEntry, examples};
use super::yaml::{Entry, Kind, Node, write};
use crate::diagnostic::{Edit, Owner, Span};

/// A composite as the file describes it.
#[derive(Debug)]
pub(crate) struct CompositeEntry {
    pub(crate) id: String,
    /// Where its id stands.
    pub(crate) place: Place,
    pub(crate) title: Option<String>,
    /// What the file says, or what its steps say.
    pub(crate) description: String,
    pub(crate) input: Option<Value>,
    pub(crate) examples: Vec<ExampleEntry>,
    /// The whole mapping, for places.
    pub(crate) node: Node,
    /// What the core reads: `mode`, `steps`, `strictMode`, `output`.
    pub(crate) spec: Value,
    /// The tools that its steps name, with their places, in order.
    pub(crate) uses: Vec<Use>,
    /// Something about it is wrong that the core cannot know of.
    pub(crate) broken: bool,
}

/// A step's tool.
#[derive(Clone, Debug)]
pub(crate) struct Use {
    /// The step's name, or its position.
    pub(crate) step: String,
    /// The tool's id.
    pub(crate) tool: String,
    /// Where the tool's id stands.
    pub(crate) place: Place,
}

/// Members of a composite that the core reads.
const SPEC: [&str; 4] = ["mode", "steps", "strictMode", "output"];

/// Reads one entry; `None` only when it is no mapping.
pub(crate) fn read(reader: &mut Reader<'_>, entry: &Entry) -> Option<CompositeEntry> {
    reader.owner = Owner::Composite(entry.key.clone());
    let before = reader.findings.len();
    let id = reader.id(&entry.key, &entry.key_span);
    let composite = reader.members(&entry.value, &COMPOSITE).map(|members| composite(reader, entry, id.as_deref(), members));
    let broken = reader.findings.len() > before;
    reader.owner = Owner::File;
    composite.map(|composite| CompositeEntry { broken, ..composite })
}

fn composite(reader: &mut Reader<'_>, entry: &Entry, id: Option<&str>, members: &[Entry]) -> CompositeEntry {
    let mut composite = CompositeEntry {
        id: id.unwrap_or(&entry.key).to_owned(),
        place: reader.place(&entry.key_span),
        title: None,
        description: String::new(),
        input: None,
        examples: Vec::new(),
        node: entry.value.clone(),
        spec: spec(members),
        uses: Vec::new(),
        broken: false,
    };
    for member in members {
        match member.key.as_str() {
            "title" => composite.title = reader.text(member),
            "description" => composite.description = reader.text(member).unwrap_or_default(),
            "input" => composite.input = reader.schema(member),
            "examples" => composite.examples = examples(reader, member),
            "steps" => composite.uses = steps(reader, member),
            _ => {}
        }
    }
    if composite.description.trim().is_empty() {
        composite.description = described::composite(&composite.uses);
    }
    composite
}

fn spec(members: &[Entry]) -> Value {
    let of_the_core = members.iter().filter(|member| SPEC.contains(&member.key.as_str()));
    Value::object(of_the_core.map(|member| (member.key.as_str(), member.value.to_value())))
}

/// The tools that the steps name. What else is wrong with a step, the core says.
fn steps(reader: &Reader<'_>, entry: &Entry) -> Vec<Use> {
    let items = entry.value.items().unwrap_or_default();
    let uses = items.iter().enumerate().filter_map(|(index, item)| {
        let tool = item.get("tool")?;
        let name = item.get("name").and_then(Node::text);
        Some(Use {
            step: name.map_or_else(|| format!("#{index}"), str::to_owned),
            tool: tool.text().filter(|tool| !tool.trim().is_empty())?.to_owned(),
            place: reader.place(&tool.span),
        })
    });
    uses.collect()
}

impl CompositeEntry {
    /// The place of what a JSON pointer into the spec names; `part` is a range inside its text,
    /// `key` says that the name of the member is meant and not its value.
    pub(crate) fn place_of(&self, pointer: &str, part: Option<&Span>, key: bool) -> Place {
        let node = self.node.pointer(pointer);
        let source = self.place.source.clone();
        let span = match (part, &node.kind) {
            (Some(part), _) => node.part(source.text(), part),
            (None, _) if pointer.is_empty() => self.place.span.clone(),
            (None, Kind::Scalar(_)) if !key => node.span.clone(),
            (None, _) => match self.node.key_of(pointer) {
                Some(key) => key,
                None => node.span.clone(),
            },
        };
        Place { source, span }
    }

    /// Where an alias stands through which a pointer leads to a place further up: the last key before it on the way.
    pub(crate) fn alias_to(&self, pointer: &str, place: &Span) -> Option<Span> {
        let ends = pointer.match_indices('/').map(|(at, _)| at).skip(1).chain([pointer.len()]);
        let keys = ends.filter_map(|end| self.node.key_of(pointer.get(..end)?));
        // What an alias stands for comes before it.
        let below = keys.filter(|key| key.start > place.end).last();
        below.or_else(|| (self.place.span.start > place.end).then(|| self.place.span.clone()))
    }

    /// What the core would change in the specification, as a change of the file.
    pub(crate) fn edit_of(&self, fix: &Fix) -> Option<Edit> {
        let file = self.place.source.text();
        let (span, to) = match fix {
            Fix::Value { pointer, to } => {
                let node = self.node.exactly(pointer)?;
                (node.span.clone(), write::value(file, node, to)?)
            }
            Fix::Key { pointer, to } => {
                let entry = self.node.entry_at(pointer)?;
                (entry.key_span.clone(), write::key(file, &entry.key_span, &entry.key, to)?)
            }
            _ => return None,
        };
        Some(Edit { source: Arc::clone(&self.place.source), span, to })
    }
}

/// The code for a step's tool that is not there; the core's own name for it.
pub(crate) const STEP_MISSING: &str = "step_missing";

/// The code for composites that reach themselves; the core's own name for it.
pub(crate) const STEP_CYCLE: &str = "step_cycle";

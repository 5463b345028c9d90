//! The `tools` section: what the host says about tools that come from a source.

use toolwright::{Effect, Value};

use super::members::TOOL;
use super::reader::{Place, Reader};
use super::reconcile::{self, ReconcileEntry};
use super::source::effect;
use super::yaml::Entry;
use crate::diagnostic::{Owner, Span};

/// What the host says about one tool.
#[derive(Debug)]
pub(crate) struct ToolEntry {
    /// The id that the source gives it.
    pub(crate) id: String,
    /// Where that stands.
    pub(crate) place: Place,
    pub(crate) effect: Option<Effect>,
    /// The new id, and where it stands.
    pub(crate) name: Option<(String, Place)>,
    pub(crate) title: Option<String>,
    pub(crate) description: Option<String>,
    /// Arguments that are fixed.
    pub(crate) pin: Vec<(String, Value)>,
    pub(crate) hidden: bool,
    /// How to find out what became of a call.
    pub(crate) reconcile: Option<ReconcileEntry>,
    /// The members that are there, with their places.
    pub(crate) given: Vec<(String, Span)>,
}

impl ToolEntry {
    /// The id under which the tool is known in the end.
    pub(crate) fn final_id(&self) -> &str {
        self.name.as_ref().map_or(&self.id, |(name, _)| name)
    }
}

/// Reads one entry; `None` when something about it is wrong, so that no half of it counts.
pub(crate) fn read(reader: &mut Reader<'_>, entry: &Entry) -> Option<ToolEntry> {
    reader.owner = Owner::Tool(entry.key.clone());
    let before = reader.findings.len();
    let mut tool = ToolEntry {
        id: entry.key.clone(),
        place: reader.place(&entry.key_span),
        effect: None,
        name: None,
        title: None,
        description: None,
        pin: Vec::new(),
        hidden: false,
        reconcile: None,
        given: Vec::new(),
    };
    for member in reader.members(&entry.value, &TOOL).unwrap_or_default() {
        tool.given.push((member.key.clone(), member.key_span.clone()));
        match member.key.as_str() {
            "effect" => tool.effect = effect(reader, member),
            "name" => {
                let name = reader.text(member);
                let id = name.and_then(|name| reader.id(&name, &member.value.span));
                tool.name = id.map(|id| (id, reader.place(&member.value.span)));
            }
            "title" => tool.title = reader.text(member),
            "description" => tool.description = reader.text(member),
            "pin" => match member.value.entries() {
                Some(pins) => {
                    let values = pins.iter().map(|pin| (pin.key.clone(), pin.value.to_value()));
                    tool.pin = values.collect();
                }
                None => reader.wrong_type(&member.value, "`pin` is a mapping of arguments"),
            },
            "hidden" => tool.hidden = reader.flag(member).unwrap_or(false),
            "reconcile" => tool.reconcile = reconcile::read(reader, member),
            _ => {}
        }
    }
    let usable = reader.findings.len() == before;
    reader.owner = Owner::File;
    usable.then_some(tool)
}

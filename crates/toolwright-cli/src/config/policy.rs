//! The `policy` section of one file.

use super::members::POLICY;
use super::reader::{Place, Reader};
use super::yaml::{Entry, Node};
use crate::trust::section_hash;

/// The section as it stands; whether it counts is decided elsewhere.
#[derive(Debug)]
pub(crate) struct PolicyEntry {
    /// Where the section's key stands.
    pub(crate) place: Place,
    /// Tools with side effects that composites may use, with their places.
    pub(crate) tools: Vec<(String, Place)>,
    /// The hash of what the section says.
    pub(crate) hash: String,
    /// Something about the section is wrong: half a policy grants nothing.
    pub(crate) broken: bool,
}

/// Reads the section; `None` when it is no mapping.
pub(crate) fn read(reader: &mut Reader<'_>, entry: &Entry) -> Option<PolicyEntry> {
    let before = reader.findings.len();
    reader.members(&entry.value, &POLICY)?;
    let mut tools = Vec::new();
    if let Some(list) = entry.value.entry("sideEffectingTools") {
        for item in reader.list(list).unwrap_or_default() {
            match item.text() {
                Some(tool) => tools.push((tool.to_owned(), reader.place(&item.span))),
                None => reader.wrong_type(item, "an element of `sideEffectingTools` is text"),
            }
        }
    }
    Some(PolicyEntry { place: reader.place(&entry.key_span), tools, hash: hash(&entry.value), broken: reader.findings.len() > before })
}

fn hash(section: &Node) -> String {
    section_hash(&section.to_value().to_json())
}

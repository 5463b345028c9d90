//! The `policy` section of one file.

use super::listed;
use super::members::POLICY;
use super::reader::{Place, Reader};
use super::yaml::{Entry, Node};

/// The section as it stands; whether it counts is decided elsewhere.
#[derive(Debug)]
pub(crate) struct PolicyEntry {
    /// Where the section's key stands.
    pub(crate) place: Place,
    /// Tools with side effects that composites may use, with their places.
    pub(crate) tools: Vec<(String, Place)>,
    /// Steps are validated also where what they get is proved to fit.
    pub(crate) validates_every_step: bool,
    /// The hash of what the section says, and of what the file says about the tools in it.
    pub(crate) hash: String,
    /// Something about the section is wrong: half a policy grants nothing.
    pub(crate) broken: bool,
}

/// Reads the section of the file `root`; `None` when it is no mapping.
pub(crate) fn read(reader: &mut Reader<'_>, entry: &Entry, root: &Node, renamed: &dyn Fn(&str) -> Vec<String>) -> Option<PolicyEntry> {
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
    let validates_every_step = entry.value.entry("validateEveryStep").and_then(|flag| reader.flag(flag)).unwrap_or(false);
    let ids: Vec<String> = tools.iter().map(|(id, _)| id.clone()).collect();
    let hash = listed::hash(root, &entry.value, &ids, renamed);
    Some(PolicyEntry { place: reader.place(&entry.key_span), tools, validates_every_step, hash, broken: reader.findings.len() > before })
}

//! The `policy` section of one file.

use toolwright::approval::Approve;

use super::listed;
use super::members::{LISTED_TOOL, POLICY};
use super::reader::{Place, Reader};
use super::yaml::{Entry, Node};

/// The section as it stands; whether it counts is decided elsewhere.
#[derive(Debug)]
pub(crate) struct PolicyEntry {
    /// Where the section's key stands.
    pub(crate) place: Place,
    /// Tools with side effects that composites may use, with their places.
    pub(crate) tools: Vec<(String, Place)>,
    /// When tools in the list ask before they run.
    pub(crate) rules: Vec<(String, Approve)>,
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
    let (mut tools, mut rules) = (Vec::new(), Vec::new());
    if let Some(list) = entry.value.entry("sideEffectingTools") {
        for item in reader.list(list).unwrap_or_default() {
            match (item.text(), item.entries()) {
                (Some(tool), _) => tools.push((tool.to_owned(), reader.place(&item.span))),
                (None, Some(_)) => {
                    let Some((tool, place, approve)) = listed_tool(reader, item) else { continue };
                    rules.push((tool.clone(), approve));
                    tools.push((tool, place));
                }
                (None, None) => reader.wrong_type(item, "an element of `sideEffectingTools` is a tool's id or `{tool, approve}`"),
            }
        }
    }
    let validates_every_step = entry.value.entry("validateEveryStep").and_then(|flag| reader.flag(flag)).unwrap_or(false);
    let ids: Vec<String> = tools.iter().map(|(id, _)| id.clone()).collect();
    let hash = listed::hash(root, &entry.value, &ids, renamed);
    Some(PolicyEntry {
        place: reader.place(&entry.key_span),
        tools,
        rules,
        validates_every_step,
        hash,
        broken: reader.findings.len() > before,
    })
}

/// One tool with when it asks.
fn listed_tool(reader: &mut Reader<'_>, item: &Node) -> Option<(String, Place, Approve)> {
    reader.members(item, &LISTED_TOOL)?;
    let named = item.entry("tool")?;
    let tool = reader.text(named)?;
    let words = Approve::ALL.map(|rule| (rule.as_str(), rule));
    let approve = match item.entry("approve") {
        // What cannot be read asks always.
        Some(entry) => reader.word(entry, &words).unwrap_or(Approve::Always),
        None => Approve::Never,
    };
    Some((tool, reader.place(&named.value.span), approve))
}

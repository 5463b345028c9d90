//! `reconcile`: which tool is asked what became of a call, and how its answer is read.

use toolwright::Value;

use super::members::RECONCILE;
use super::reader::{Place, Reader};
use super::yaml::{Entry, Kind, Node};
use crate::code;
use crate::diagnostic::Span;

/// How to find out what became of a call, as the file says it.
#[derive(Clone, Debug)]
pub(crate) struct ReconcileEntry {
    /// Where the member stands.
    pub(crate) place: Place,
    /// The whole mapping, for places.
    pub(crate) node: Node,
    /// The tool that is asked, and where it stands.
    pub(crate) tool: (String, Place),
    pub(crate) mapping: Value,
    /// A reference to what says it.
    pub(crate) answer: Value,
    pub(crate) happened: Vec<Value>,
    pub(crate) not_happened: Vec<Value>,
    /// What the run goes on with.
    pub(crate) output: Option<Value>,
}

/// Reads the member; nothing when something about it is wrong.
pub(super) fn read(reader: &mut Reader<'_>, entry: &Entry) -> Option<ReconcileEntry> {
    let before = reader.findings.len();
    let members = reader.members(&entry.value, &RECONCILE)?;
    let mut read = ReconcileEntry {
        place: reader.place(&entry.key_span),
        node: entry.value.clone(),
        tool: (String::new(), reader.place(&entry.key_span)),
        mapping: Value::object::<&str, Value>([]),
        answer: Value::from("$prev"),
        happened: Vec::new(),
        not_happened: Vec::new(),
        output: None,
    };
    for member in members {
        match member.key.as_str() {
            "tool" => read.tool = (reader.text(member).unwrap_or_default(), reader.place(&member.value.span)),
            "inputMapping" if member.value.entries().is_none() => {
                reader.wrong_type(&member.value, "`inputMapping` is a mapping of arguments");
            }
            "inputMapping" => read.mapping = member.value.to_value(),
            "answer" => read.answer = answer(reader, member),
            "happened" => read.happened = values(reader, member),
            "notHappened" => read.not_happened = values(reader, member),
            "output" => read.output = Some(member.value.to_value()),
            _ => {}
        }
    }
    if reader.findings.len() == before {
        verdicts(reader, entry, &read);
    }
    (reader.findings.len() == before).then_some(read)
}

fn answer(reader: &mut Reader<'_>, member: &Entry) -> Value {
    let text = reader.text(member).unwrap_or_default();
    if !text.is_empty() && !text.starts_with('$') {
        let help =
            "write a reference into what the tool gives, such as `$prev.status`; what it may be stands in `happened` and `notHappened`";
        let message = format!("`{text}` is no reference, so every answer would say the same");
        reader.error(code::BAD_VALUE, message, &member.value.span, "", Some(help.to_owned()));
    }
    text.into()
}

fn values(reader: &mut Reader<'_>, member: &Entry) -> Vec<Value> {
    reader.list(member).unwrap_or_default().iter().map(Node::to_value).collect()
}

fn verdicts(reader: &mut Reader<'_>, entry: &Entry, read: &ReconcileEntry) {
    if read.happened.is_empty() && read.not_happened.is_empty() {
        let help = "list under `happened` or `notHappened` the values of `answer` that say so; every other answer leaves the call in doubt";
        reader.error(code::BAD_VALUE, "no answer would say anything", &entry.key_span, "", Some(help.to_owned()));
        return;
    }
    let items = entry.value.get("notHappened").and_then(Node::items).unwrap_or_default();
    let both = read.not_happened.iter().position(|value| read.happened.contains(value));
    if let Some(item) = both.and_then(|at| items.get(at)) {
        let help = "an answer says one of the two: take it out of one list".to_owned();
        reader.error(code::BAD_VALUE, "this answer stands under `happened` too", &item.span, "", Some(help));
    }
}

impl ReconcileEntry {
    /// The place of what a JSON pointer into the mapping names; `part` is a range inside its text.
    pub(crate) fn place_of(&self, pointer: &str, part: Option<&Span>) -> Place {
        let node = self.node.pointer(pointer);
        let source = self.place.source.clone();
        let span = match (part, &node.kind) {
            (Some(part), Kind::Scalar(_)) => node.part(source.text(), part),
            _ if pointer.is_empty() => self.place.span.clone(),
            (None, Kind::Scalar(_)) => node.span.clone(),
            _ => self.node.key_of(pointer).unwrap_or_else(|| node.span.clone()),
        };
        Place { source, span }
    }
}

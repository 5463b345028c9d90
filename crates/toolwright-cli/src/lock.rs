//! `toolwright.lock`: what MCP servers said about their tools when they were last asked and a person agreed.
//!
//! It stands beside a configuration and speaks about that file's own servers. It only describes: a tool that differs
//! from it is not withheld.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use toolwright::{Fingerprint, Value};

use crate::beside::{Beside, Kind, below, members};
use crate::code;
use crate::config::Layer;
use crate::diagnostic::{Finding, Owner};

/// How the file is kept.
pub(crate) static KIND: Kind =
    Kind { file: "toolwright.lock", code: code::LOCK_UNUSABLE, version: 1, help: "`toolwright lock` writes it anew once it is gone" };

/// Members of a tool as its server lists it that are kept, and that its hash covers.
const KEPT: [&str; 5] = ["title", "description", "inputSchema", "outputSchema", "annotations"];

/// The member that holds the hash of the others.
const HASH: &str = "hash";

/// The tools of one server, by name.
pub(crate) type Tools = BTreeMap<String, Value>;

/// The file, as far as it can be used.
#[derive(Debug)]
pub(crate) struct LockFile {
    pub(crate) beside: Beside,
    pub(crate) layer: Layer,
    sources: BTreeMap<String, Tools>,
    /// Something in it is not as it was written.
    damaged: bool,
}

/// What is different about a source.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Change {
    pub(crate) source: String,
    pub(crate) tool: String,
    pub(crate) what: What,
}

/// What is different about a tool.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum What {
    /// It was not there.
    Added,
    /// It is not there any more.
    Removed,
    /// These members of it are others.
    Changed(Vec<String>),
}

impl LockFile {
    /// Reads the file beside a configuration; what is wrong with it is told, and no file is an empty one.
    pub(crate) fn read(config: &Path, name: &str, layer: Layer, findings: &mut Vec<Finding>) -> Option<Self> {
        let (beside, value) = match Beside::read(&KIND, config, name) {
            Ok(read) => read,
            Err(finding) => {
                findings.push(*finding);
                return None;
            }
        };
        let mut file = Self { beside, layer, sources: BTreeMap::new(), damaged: false };
        let Some(value) = value else { return Some(file) };
        let mut wrong = Vec::new();
        for (source, pointer, written) in value.get("sources").into_iter().flat_map(|sources| members(sources, "/sources")) {
            let listed = written.get("tools").filter(|tools| tools.as_object().is_some());
            if listed.is_none() {
                wrong.push(
                    file.beside.wrong(&pointer, format!("the entry of `{source}` has no `tools`")).owner(Owner::Source(source.to_owned())),
                );
            }
            let mut tools = Tools::new();
            let inside = below(&pointer, "tools");
            for (name, pointer, tool) in listed.into_iter().flat_map(|tools| members(tools, &inside)) {
                if tool.get(HASH).and_then(Value::as_str) != Some(hash(tool).as_str()) {
                    let message = format!("what is kept of `{name}` of `{source}` does not fit its hash: it was changed by something else");
                    wrong.push(file.beside.wrong(&pointer, message).owner(Owner::Source(source.to_owned())));
                }
                tools.insert(name.to_owned(), tool.clone());
            }
            file.sources.insert(source.to_owned(), tools);
        }
        if value.get("sources").is_none_or(|sources| sources.as_object().is_none()) {
            wrong.push(file.beside.wrong("", "`sources` is missing, or no object"));
        }
        file.damaged = !wrong.is_empty();
        findings.extend(wrong);
        Some(file)
    }

    /// Whether something in it is not as it was written.
    pub(crate) fn is_damaged(&self) -> bool {
        self.damaged
    }

    /// What a server listed, in the form in which it lists it; `None` when nothing is known of it.
    pub(crate) fn listed(&self, source: &str) -> Option<Vec<Value>> {
        let tools = self.sources.get(source)?.iter().map(|(name, tool)| {
            let kept = tool.as_object().into_iter().flat_map(|tool| tool.iter()).filter(|(key, _)| key.as_str() != HASH);
            let kept = kept.map(|(key, value)| (key.as_str(), value.clone()));
            Value::object([("name", Value::from(name.as_str()))].into_iter().chain(kept))
        });
        Some(tools.collect())
    }

    /// What is different when `asked` is what servers say now; of servers that are not in `there`, nothing is kept.
    pub(crate) fn changes(&self, asked: &BTreeMap<String, Tools>, there: &BTreeSet<String>) -> Vec<Change> {
        let none = Tools::new();
        let gone = self.sources.keys().filter(|source| !there.contains(*source));
        let mut changes = Vec::new();
        for source in asked.keys().chain(gone).collect::<BTreeSet<_>>() {
            let (before, now) = (self.sources.get(source).unwrap_or(&none), asked.get(source).unwrap_or(&none));
            for tool in before.keys().chain(now.keys()).collect::<BTreeSet<_>>() {
                let what = match (before.get(tool), now.get(tool)) {
                    (None, _) => What::Added,
                    (_, None) => What::Removed,
                    // The hash that is written there may be of another text.
                    (Some(before), Some(now)) if before.get(HASH) == now.get(HASH) && hash(before) == hash(now) => continue,
                    (Some(before), Some(now)) => What::Changed(different(before, now)),
                };
                changes.push(Change { source: source.clone(), tool: tool.clone(), what });
            }
        }
        changes
    }

    /// Whether a source stands in it that is the same now, with its tools or without any.
    pub(crate) fn knows(&self, source: &str) -> bool {
        self.sources.contains_key(source)
    }

    /// Writes the file with what servers say now.
    ///
    /// # Errors
    /// Says why it cannot be written.
    pub(crate) fn keep(&mut self, asked: BTreeMap<String, Tools>, there: &BTreeSet<String>) -> Result<(), String> {
        self.sources.retain(|source, _| there.contains(source));
        self.sources.extend(asked);
        let sources = self.sources.iter().map(|(source, tools)| {
            let tools = Value::object(tools.iter().map(|(name, tool)| (name.as_str(), tool.clone())));
            (source.as_str(), Value::object([("tools", tools)]))
        });
        self.beside.write(&Value::object([("version", Value::from(KIND.version)), ("sources", Value::object(sources))]))
    }
}

/// What is kept of a tool as its server lists it, by its name there.
pub(crate) fn kept(raw: &Value) -> Option<(String, Value)> {
    let name = raw.get("name").and_then(Value::as_str)?;
    let members: Vec<(&str, Value)> = KEPT.iter().filter_map(|key| Some((*key, raw.get(key)?.clone()))).collect();
    let tool = Value::object(members.clone());
    let hash = (HASH, Value::from(hash(&tool).as_str()));
    Some((name.to_owned(), Value::object([hash].into_iter().chain(members))))
}

/// The hash of everything that is kept of a tool, whatever its layout.
fn hash(tool: &Value) -> String {
    let members = tool.as_object().into_iter().flat_map(|tool| tool.iter()).filter(|(key, _)| key.as_str() != HASH);
    let rest = Value::object(members.map(|(key, value)| (key.clone(), value.clone())));
    format!("sha256:{}", Fingerprint::of(format!("toolwright tool 1\n{}", sorted(&rest))))
}

/// The value with the keys of every object in order.
fn sorted(value: &Value) -> Value {
    match value {
        Value::Object(object) => {
            let members: BTreeMap<String, Value> = object.iter().map(|(key, value)| (key.to_string(), sorted(value))).collect();
            Value::object(members)
        }
        Value::Array(items) => Value::array(items.as_slice().iter().map(sorted)),
        other => other.clone(),
    }
}

fn different(before: &Value, now: &Value) -> Vec<String> {
    let keys = |tool: &Value| tool.as_object().into_iter().flat_map(|tool| tool.keys().cloned()).collect::<Vec<_>>();
    let all: BTreeSet<String> = keys(before).into_iter().chain(keys(now)).map(|key| key.to_string()).filter(|key| key != HASH).collect();
    let others: Vec<String> = all.into_iter().filter(|key| before.get(key).map(sorted) != now.get(key).map(sorted)).collect();
    if others.is_empty() { vec![HASH.to_owned()] } else { others }
}

#[cfg(test)]
mod tests {
    use toolwright::json;

    use super::{hash, kept, sorted};

    #[test]
    fn the_hash_is_of_what_is_said_and_not_of_its_layout() {
        let raw =
            json!({ "name": "t", "description": "T", "inputSchema": { "type": "object", "a": 1.50, "b": 2 }, "_meta": { "time": 1 } });
        let same =
            json!({ "_meta": { "time": 2 }, "inputSchema": { "b": 2, "type": "object", "a": 1.50 }, "description": "T", "name": "t" });
        let other = json!({ "name": "t", "description": "T", "inputSchema": { "type": "object", "a": 1.50, "b": 3 } });
        let of = |raw| kept(raw).unwrap().1;
        let hashed = |raw| of(raw).get("hash").cloned();
        assert_eq!(hashed(&raw), hashed(&same));
        assert_ne!(hashed(&raw), hashed(&other));
        assert_eq!(of(&raw).get("hash").unwrap().as_str(), Some(hash(&of(&raw)).as_str()));
        assert!(kept(&json!({ "description": "nameless" })).is_none());
        assert_eq!(sorted(&json!([{ "b": 1, "a": 2 }])).to_json_string(), r#"[{"a":2,"b":1}]"#);
    }
}

//! `toolwright.learned.json`: what outputs of tools looked like that do not say it themselves.
//!
//! It stands beside a configuration and speaks about tools of that file's own sources. What is pinned in it is a tool's
//! output schema; everything else only warns.

use std::collections::BTreeMap;
use std::path::Path;

use serde_json::json;
use toolwright::schema::{Learned, Sometimes};
use toolwright::{RegisterFault, Registry, ToolDef, Value, tool};

use crate::beside::{Beside, Kind, below, members};
use crate::code;
use crate::config::Layer;
use crate::diagnostic::{Finding, Owner};
use crate::grant::shell_word;

/// How the file is kept.
pub(crate) static KIND: Kind = Kind {
    file: "toolwright.learned.json",
    code: code::LEARNED_UNUSABLE,
    version: 1,
    help: "mend it, or remove it and learn again; what was pinned is gone then",
};

/// The file, as far as it can be used.
#[derive(Debug)]
pub(crate) struct LearnedFile {
    pub(crate) beside: Beside,
    pub(crate) layer: Layer,
    entries: BTreeMap<String, Entry>,
}

/// What is kept of one tool.
#[derive(Clone, Debug)]
enum Entry {
    Usable(Box<LearnedTool>),
    /// As it stands in the file, so that nothing is lost.
    Broken(Value),
}

/// What was learned of one tool.
#[derive(Clone, Debug)]
pub(crate) struct LearnedTool {
    /// Whether `schema` is the tool's output schema; what is learned later does not change it then.
    pub(crate) pinned: bool,
    /// The schema that stands in the file.
    pub(crate) schema: Value,
    /// What it was made of.
    pub(crate) learned: Learned,
}

impl LearnedFile {
    /// Reads the file beside a configuration; what is wrong with it is told, and no file is an empty one.
    pub(crate) fn read(config: &Path, name: &str, layer: Layer, findings: &mut Vec<Finding>) -> Option<Self> {
        let (beside, value) = match Beside::read(&KIND, config, name) {
            Ok(read) => read,
            Err(finding) => {
                findings.push(*finding);
                return None;
            }
        };
        let mut file = Self { beside, layer, entries: BTreeMap::new() };
        let Some(value) = value else { return Some(file) };
        for (key, pointer, _) in members(&value, "").filter(|(key, _, _)| !["version", "tools"].contains(key)) {
            findings.push(file.beside.wrong(&pointer, format!("`{key}` is not known here")));
        }
        let tools = value.get("tools");
        if tools.is_some_and(|tools| tools.as_object().is_none()) {
            findings.push(file.beside.wrong("/tools", "`tools` is no object"));
        }
        for (id, pointer, written) in tools.into_iter().flat_map(|tools| members(tools, "/tools")) {
            let entry = match LearnedTool::read(written) {
                Ok(entry) => Entry::Usable(Box::new(entry)),
                Err((inside, why)) => {
                    let message = format!("what was learned of `{id}` cannot be used: {why}");
                    let finding = file.beside.wrong(&format!("{pointer}{inside}"), message).help(forgetting(id));
                    findings.push(finding.owner(Owner::Tool(id.to_owned())));
                    Entry::Broken(written.clone())
                }
            };
            file.entries.insert(id.to_owned(), entry);
        }
        Some(file)
    }

    /// What was learned of a tool, when it can be used.
    pub(crate) fn tool(&self, id: &str) -> Option<&LearnedTool> {
        match self.entries.get(id)? {
            Entry::Usable(tool) => Some(tool),
            Entry::Broken(_) => None,
        }
    }

    /// Whether there is something about a tool, usable or not.
    pub(crate) fn has(&self, id: &str) -> bool {
        self.entries.contains_key(id)
    }

    /// The ids that it speaks about.
    pub(crate) fn ids(&self) -> impl Iterator<Item = &str> {
        self.entries.keys().map(String::as_str)
    }

    /// A warning about what it says of a tool.
    pub(crate) fn warning(&self, id: &str, message: String) -> Finding {
        let finding = Finding::warning(code::LEARNED_UNUSED, message).help(forgetting(id));
        self.beside.placed(finding.owner(Owner::Tool(id.to_owned())), &below("/tools", id))
    }

    /// Writes the file with another entry for a tool, or without one.
    ///
    /// # Errors
    /// Says why it cannot be written.
    pub(crate) fn keep(&mut self, id: &str, entry: Option<LearnedTool>) -> Result<(), String> {
        match entry {
            Some(entry) => self.entries.insert(id.to_owned(), Entry::Usable(Box::new(entry))),
            None => self.entries.remove(id),
        };
        let tools = self.entries.iter().map(|(id, entry)| {
            let value = match entry {
                Entry::Usable(tool) => tool.to_value(),
                Entry::Broken(written) => written.clone(),
            };
            (id.as_str(), value)
        });
        self.beside.write(&Value::object([("version", Value::from(KIND.version)), ("tools", Value::object(tools))]))
    }
}

impl LearnedTool {
    /// Nothing yet.
    pub(crate) fn new() -> Self {
        Self { pinned: false, schema: Learned::default().schema(), learned: Learned::default() }
    }

    /// The schema from everything that was learned so far.
    pub(crate) fn refresh(&mut self) {
        self.schema = self.learned.schema();
    }

    fn to_value(&self) -> Value {
        let mut members = vec![("pinned".to_owned(), Value::Bool(self.pinned))];
        let learned = self.learned.to_value();
        let (seen, counts): (Vec<_>, Vec<_>) =
            learned.as_object().into_iter().flat_map(|object| object.iter()).partition(|(key, _)| key.as_str() == "seen");
        let own = |(key, value): (&toolwright::Text, &Value)| (key.to_string(), value.clone());
        members.extend(counts.into_iter().map(own));
        members.push(("schema".to_owned(), self.schema.clone()));
        members.extend(seen.into_iter().map(own));
        Value::object(members)
    }

    /// Reads an entry.
    ///
    /// # Errors
    /// Where in it something is wrong, and what.
    fn read(written: &Value) -> Result<Self, (String, String)> {
        let wrong = |pointer: &str, why: &str| Err((pointer.to_owned(), why.to_owned()));
        let Some(object) = written.as_object() else { return wrong("", "it is no object") };
        let Some(pinned) = object.get("pinned").map_or(Some(false), Value::as_bool) else {
            return wrong("/pinned", "`pinned` is neither true nor false");
        };
        let rest = Value::Object(object.without("pinned").without("schema"));
        let learned = Learned::from_value(&rest).map_err(|error| (error.pointer, error.message))?;
        if learned.unchanged() > learned.outputs() {
            return wrong("/unchanged", "more outputs brought nothing new than there were");
        }
        if learned.outputs() == 0 && rest.get("seen").and_then(Value::as_object).is_some_and(|seen| !seen.is_empty()) {
            return wrong("/outputs", "something was seen, and of no output");
        }
        // What a person changed counts while it is pinned; otherwise it follows from what was seen.
        let schema = match object.get("schema") {
            Some(schema) if pinned => schema.clone(),
            None if pinned => return wrong("", "it is pinned, and `schema` is missing"),
            _ => learned.schema(),
        };
        judged(&schema).map_err(|(pointer, why)| (format!("/schema{pointer}"), why))?;
        Ok(Self { pinned, schema, learned })
    }

    /// The tool with what is known of its output.
    pub(crate) fn of(&self, tool: &ToolDef) -> ToolDef {
        match self.pinned {
            true => tool.with_output_schema(self.schema.clone()),
            false => tool.with_learned_output(self.learned.expectation(), u32::try_from(self.learned.outputs()).unwrap_or(u32::MAX)),
        }
    }

    /// For people.
    pub(crate) fn view(&self, file: &str) -> LearnedView {
        LearnedView {
            pinned: self.pinned,
            outputs: self.learned.outputs(),
            unchanged: self.learned.unchanged(),
            estimate: self.learned.estimate(),
            schema: self.schema.clone(),
            sometimes: self.learned.sometimes(),
            file: file.to_owned(),
        }
    }
}

fn forgetting(id: &str) -> String {
    format!("`toolwright learn {} --forget` takes it out", shell_word(id))
}

/// Whether a schema is one, as any registry would judge it.
fn judged(schema: &Value) -> Result<(), (String, String)> {
    let any = tool("any", "Any tool").reads().output_schema(schema.clone()).run_json(|input, _call| async move { Ok(input) });
    match Registry::new().register(any) {
        Ok(_) => Ok(()),
        Err(error) => match error.fault() {
            RegisterFault::OutputSchema { why } => Err((why.pointer.clone(), why.message.clone())),
            _ => Err((String::new(), error.to_string())),
        },
    }
}

/// What people are told of what was learned.
#[derive(Clone, Debug)]
pub(crate) struct LearnedView {
    /// Whether it is the tool's output schema.
    pub(crate) pinned: bool,
    /// How many outputs there were.
    pub(crate) outputs: u64,
    /// How many of the newest brought nothing new.
    pub(crate) unchanged: u64,
    /// How probable it is that the next one brings nothing new.
    pub(crate) estimate: f64,
    /// The schema.
    pub(crate) schema: Value,
    /// Members that are not always there.
    pub(crate) sometimes: Vec<Sometimes>,
    /// The file it stands in.
    pub(crate) file: String,
}

/// Members that are listed.
const SOMETIMES_SHOWN_MAX: usize = 12;

impl LearnedView {
    /// How much speaks for it, in a sentence.
    pub(crate) fn confidence(&self) -> String {
        let outputs = match self.outputs {
            1 => "from 1 output".to_owned(),
            many => format!("from {many} outputs"),
        };
        let newest = match self.unchanged {
            0 => "; the newest brought something new".to_owned(),
            1 => "; the newest brought nothing new".to_owned(),
            many => format!("; the newest {many} brought nothing new"),
        };
        format!("{outputs}{newest}: the next one fits with about {:.0} %", (self.estimate * 100.0).floor())
    }

    /// What it is used for.
    pub(crate) fn use_words(&self, id: &str) -> String {
        let id = shell_word(id);
        match self.pinned {
            true => format!("pinned: every output must fit; `toolwright learn {id} --unpin` takes that back"),
            false => format!("not pinned: it only warns; `toolwright learn {id} --pin` makes it the output schema"),
        }
    }

    /// Members that are not always there, in a sentence.
    pub(crate) fn sometimes_words(&self) -> Option<String> {
        let mut words: Vec<String> =
            self.sometimes.iter().take(SOMETIMES_SHOWN_MAX).map(|one| format!("{} ({} of {})", one.path, one.seen, one.of)).collect();
        if let Some(more) = self.sometimes.len().checked_sub(SOMETIMES_SHOWN_MAX + 1) {
            words.push(format!("and {} more", more + 1));
        }
        (!words.is_empty()).then(|| words.join(", "))
    }

    /// For scripts.
    pub(crate) fn to_json(&self) -> serde_json::Value {
        let sometimes = self.sometimes.iter().map(|one| json!({"path": one.path, "seen": one.seen, "of": one.of}));
        json!({
            "pinned": self.pinned,
            "outputs": self.outputs,
            "unchanged": self.unchanged,
            "estimate": self.estimate,
            "sometimes": sometimes.collect::<Vec<_>>(),
            "schema": self.schema.to_json(),
            "file": self.file,
        })
    }
}

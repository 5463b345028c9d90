//! `toolwright.lock`: what MCP servers said about their tools when they were last asked and a person agreed.
//!
//! It stands beside a configuration and speaks about that file's own servers. Tools are listed from it without starting
//! anything; a tool that is another one when its server starts is withheld. What cannot be read in it blocks the servers
//! that it is about, and is never written anew by itself.

pub(crate) mod difference;

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use toolwright::{Effect, Fingerprint, Impact, Value};
use toolwright_mcp::upstream::{Changed, Hints, Pins};

use crate::beside::{Beside, Kind, below, members};
use crate::code;
use crate::config::Layer;
use crate::diagnostic::{Finding, Owner};
use crate::secret::Secrets;

/// How the file is kept.
pub(crate) static KIND: Kind =
    Kind { file: "toolwright.lock", code: code::LOCK_UNUSABLE, version: 1, help: "`toolwright lock` writes it anew once it is gone" };

/// Members of a tool as its server lists it that are kept, and that are compared with what the server says later.
const KEPT: [&str; 6] = ["title", "description", "inputSchema", "outputSchema", "annotations", "execution"];

/// The member that holds the hash of the others.
const HASH: &str = "hash";

/// The member that holds the effect that was accepted: of sources that say `trust: lock`.
const EFFECT: &str = "effect";

/// The member of a server that holds what it said it can do.
const CAPABILITIES: &str = "capabilities";

/// The tools of one server, by name.
pub(crate) type Tools = BTreeMap<String, Value>;

/// One server.
#[derive(Clone, Debug, Default)]
pub(crate) struct Kept {
    pub(crate) tools: Tools,
    /// What it declared when it started: known before it starts again. Nothing is allowed by it.
    pub(crate) capabilities: Option<Value>,
}

/// The file, as far as it can be used.
#[derive(Debug)]
pub(crate) struct LockFile {
    pub(crate) beside: Beside,
    pub(crate) layer: Layer,
    sources: BTreeMap<String, Kept>,
    /// Something in it is not as it was written.
    damaged: bool,
}

/// Why servers cannot be used: what the lock says of them cannot be believed.
#[derive(Clone, Debug)]
pub(crate) struct Fault {
    layer: Layer,
    /// The server; `None` for all of them.
    source: Option<String>,
    pub(crate) finding: Finding,
}

impl Fault {
    /// Whether it is about this source of a file of this layer.
    pub(crate) fn blocks(&self, layer: Layer, source: &str) -> bool {
        self.layer == layer && self.source.as_deref().is_none_or(|blocked| blocked == source)
    }
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
    /// Reads the file beside a configuration; no file is an empty one. What is wrong with it is a fault of the servers
    /// that it is about.
    pub(crate) fn read(config: &Path, name: &str, layer: Layer, faults: &mut Vec<Fault>) -> Option<Self> {
        let (beside, value) = match Beside::read(&KIND, config, name) {
            Ok(read) => read,
            Err(finding) => {
                faults.push(Fault { layer, source: None, finding: finding.owner(Owner::Lock) });
                return None;
            }
        };
        let mut file = Self { beside, layer, sources: BTreeMap::new(), damaged: false };
        let Some(value) = value else { return Some(file) };
        let before = faults.len();
        for (source, pointer, written) in value.get("sources").into_iter().flat_map(|sources| members(sources, "/sources")) {
            let mut wrong = |finding: Finding| {
                let finding = finding.owner(Owner::Source(source.to_owned()));
                faults.push(Fault { layer, source: Some(source.to_owned()), finding });
            };
            let listed = written.get("tools").filter(|tools| tools.as_object().is_some());
            if listed.is_none() {
                wrong(file.beside.wrong(&pointer, format!("the entry of `{source}` has no `tools`")));
            }
            let listed: Vec<(&str, &Value)> = listed.into_iter().flat_map(named).collect();
            for name in changed(&listed) {
                let message = format!("what is kept of `{name}` of `{source}` does not fit its hash: it was changed by something else");
                wrong(file.beside.wrong(&below(&below(&pointer, "tools"), name), message).help(AGAIN));
            }
            let tools: Tools = listed.into_iter().map(|(name, tool)| (name.to_owned(), tool.clone())).collect();
            let capabilities = written.get(CAPABILITIES).filter(|said| said.as_object().is_some()).cloned();
            file.sources.insert(source.to_owned(), Kept { tools, capabilities });
        }
        if value.get("sources").is_none_or(|sources| sources.as_object().is_none()) {
            let finding = file.beside.wrong("", "`sources` is missing, or no object").help(AGAIN).owner(Owner::Lock);
            faults.push(Fault { layer, source: None, finding });
        }
        file.damaged = faults.len() > before;
        Some(file)
    }

    /// Whether something in it is not as it was written.
    pub(crate) fn is_damaged(&self) -> bool {
        self.damaged
    }

    /// What is kept of a server's tools; `None` when nothing is known of it.
    pub(crate) fn source(&self, source: &str) -> Option<Locked<'_>> {
        self.sources.get(source).map(Locked)
    }

    /// What is different when `asked` is what servers say now; of servers that are not in `there`, nothing is kept.
    pub(crate) fn changes(&self, asked: &BTreeMap<String, Kept>, there: &BTreeSet<String>) -> Vec<Change> {
        let none = Kept::default();
        let gone = self.sources.keys().filter(|source| !there.contains(*source));
        let mut changes = Vec::new();
        for source in asked.keys().chain(gone).collect::<BTreeSet<_>>() {
            let (before, now) = (self.sources.get(source).unwrap_or(&none), asked.get(source).unwrap_or(&none));
            let (before, now) = (&before.tools, &now.tools);
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

    /// What is kept of one tool.
    pub(crate) fn tool(&self, source: &str, tool: &str) -> Option<&Value> {
        self.sources.get(source)?.tools.get(tool)
    }

    /// Whether a source stands in it that is the same now, with its tools or without any.
    pub(crate) fn knows(&self, source: &str) -> bool {
        self.sources.contains_key(source)
    }

    /// Whether a server says of itself what it said before.
    pub(crate) fn can_as_before(&self, source: &str, now: &Kept) -> bool {
        let before = self.sources.get(source).and_then(|kept| kept.capabilities.as_ref());
        now.capabilities.as_ref().map(sorted) == before.map(sorted)
    }

    /// Writes the file with what servers say now.
    ///
    /// # Errors
    /// Says why it cannot be written.
    pub(crate) fn keep(&mut self, asked: BTreeMap<String, Kept>, there: &BTreeSet<String>) -> Result<(), String> {
        self.sources.retain(|source, _| there.contains(source));
        self.sources.extend(asked);
        let sources = self.sources.iter().map(|(source, kept)| {
            let tools = Value::object(kept.tools.iter().map(|(name, tool)| (name.as_str(), tool.clone())));
            let capabilities = kept.capabilities.clone().map(|said| (CAPABILITIES, said));
            (source.as_str(), Value::object(capabilities.into_iter().chain([("tools", tools)])))
        });
        self.beside.write(&Value::object([("version", Value::from(KIND.version)), ("sources", Value::object(sources))]))
    }
}

fn named(tools: &Value) -> impl Iterator<Item = (&str, &Value)> {
    tools.as_object().into_iter().flat_map(|tools| tools.iter()).map(|(name, tool)| (name.as_str(), tool))
}

/// From so many tools on their hashes are made on two threads.
const TOOLS_HASHED_APART: usize = 200;

/// The names of those that do not fit their hashes, in order.
fn changed<'l>(listed: &[(&'l str, &Value)]) -> Vec<&'l str> {
    let fits = |tool: &Value| tool.get(HASH).and_then(Value::as_str) == Some(hash(tool).as_str());
    let of = |listed: &[(&'l str, &Value)]| listed.iter().filter(|(_, tool)| !fits(tool)).map(|(name, _)| *name).collect::<Vec<_>>();
    let apart = if listed.len() < TOOLS_HASHED_APART { 0 } else { listed.len() / 2 };
    let (here, there) = listed.split_at(listed.len() - apart);
    if there.is_empty() {
        return of(here);
    }
    std::thread::scope(|scope| {
        let handle = std::thread::Builder::new().name("hashes".to_owned()).spawn_scoped(scope, || of(there)).ok();
        let mut changed = of(here);
        changed.extend(handle.and_then(|handle| handle.join().ok()).unwrap_or_else(|| of(there)));
        changed
    })
}

/// How an entry that does not fit is mended.
const AGAIN: &str = "put it back as it was, or look at what servers say with `toolwright diff` and accept that with `toolwright lock`";

/// What is kept of one server's tools.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Locked<'l>(&'l Kept);

impl Locked<'_> {
    /// In the form in which the server lists them.
    pub(crate) fn listed(self) -> Vec<Value> {
        let tools = self.0.tools.iter().map(|(name, tool)| {
            let kept = tool.as_object().into_iter().flat_map(|tool| tool.iter());
            let kept = kept.filter(|(key, _)| ![HASH, EFFECT].contains(&key.as_str()));
            let kept = kept.map(|(key, value)| (key.as_str(), value.clone()));
            Value::object([("name", Value::from(name.as_str()))].into_iter().chain(kept))
        });
        tools.collect()
    }

    /// What the server declared that it can do; null when that is not known.
    pub(crate) fn capabilities(self) -> Value {
        self.0.capabilities.clone().unwrap_or(Value::Null)
    }

    /// How many there are.
    pub(crate) fn len(self) -> usize {
        self.0.tools.len()
    }

    /// The effects that a person accepted, by the names of the tools.
    pub(crate) fn effects(self) -> impl Iterator<Item = (String, Effect)> {
        self.0.tools.iter().filter_map(|(name, tool)| Some((name.clone(), effect_of(tool.get(EFFECT)?)?)))
    }

    /// What the server has to say for its tools to be called; texts in `secrets` are not compared.
    pub(crate) fn pins(self, secrets: &Secrets) -> Pins {
        let (tools, secrets) = (self.0.tools.clone(), secrets.clone());
        Pins::new(move |listed| compared(&tools, listed, &secrets))
    }

    /// The same for the same tools.
    pub(crate) fn print(self) -> String {
        let hashes = self.0.tools.values().filter_map(|tool| tool.get(HASH)?.as_str());
        hashes.collect()
    }
}

/// What of a server's list is not what is kept of it.
fn compared(tools: &Tools, listed: &[Value], secrets: &Secrets) -> Vec<Changed> {
    let mut changed = Vec::new();
    let mut seen = BTreeSet::new();
    for raw in listed {
        // Most servers repeat no secret, and most tools are what they were: then nothing has to be masked.
        let Some((name, now)) = kept(raw, None) else { continue };
        let why = match tools.get(&name) {
            None => Some("it is new, and nobody has accepted it".to_owned()),
            Some(before) => {
                let same = |now: &Value| different(before, now).into_iter().filter(|member| ![HASH, EFFECT].contains(&member.as_str()));
                let masked = || kept(&secrets.mask_whole(raw), None).map(|(_, now)| now).unwrap_or_default();
                let others: Vec<String> = same(&now).collect();
                let others: Vec<String> = if others.is_empty() { others } else { same(&masked()).collect() };
                (!others.is_empty()).then(|| said_otherwise(&others))
            }
        };
        changed.extend(why.map(|why| Changed::differs(name.as_str(), why)));
        seen.insert(name);
    }
    changed.extend(tools.keys().filter(|name| !seen.contains(*name)).map(|name| Changed::gone(name.as_str())));
    changed
}

fn said_otherwise(members: &[String]) -> String {
    let names: Vec<String> = members.iter().map(|member| format!("`{member}`")).collect();
    match names.split_last() {
        Some((last, rest)) if !rest.is_empty() => {
            format!("its {} and {last} are not what was accepted (`toolwright.lock`)", rest.join(", "))
        }
        _ => format!("its {} is not what was accepted (`toolwright.lock`)", names.concat()),
    }
}

/// The effect that the server's hints claim, as it is written.
pub(crate) fn claimed(raw: &Value) -> Option<Value> {
    let effect = Hints::of(raw.get("annotations")).claim()?;
    Some(Value::object(
        [("class", effect.class.as_str()), ("impact", effect.impact.as_str())].map(|(name, word)| (name, Value::from(word))),
    ))
}

/// The effect that stands there.
pub(crate) fn effect_of(written: &Value) -> Option<Effect> {
    let class = written.get("class")?.as_str()?;
    let impact = match written.get("impact")?.as_str()? {
        "none" => Impact::None,
        "idempotent" => Impact::Idempotent,
        "once" => Impact::Once,
        _ => return None,
    };
    Some(Effect::new(class, impact))
}

/// What is kept of a tool as its server lists it, by its name there, with the effect that is accepted with it.
pub(crate) fn kept(raw: &Value, effect: Option<Value>) -> Option<(String, Value)> {
    let name = raw.get("name").and_then(Value::as_str)?;
    let effect = effect.map(|effect| (EFFECT, effect));
    let said = KEPT.iter().filter_map(|key| Some((*key, raw.get(key)?.clone())));
    let members: Vec<(&str, Value)> = effect.into_iter().chain(said).collect();
    let tool = Value::object(members.clone());
    let hash = (HASH, Value::from(hash(&tool).as_str()));
    Some((name.to_owned(), Value::object([hash].into_iter().chain(members))))
}

/// The hash of everything that is kept of a tool, whatever its layout.
fn hash(tool: &Value) -> String {
    let mut text = String::from("toolwright tool 1\n");
    write_sorted(tool, &mut text, |key| key != HASH);
    format!("sha256:{}", Fingerprint::of(text))
}

/// JSON with the keys of every object in order; of the outermost one only the keys that count.
fn write_sorted(value: &Value, out: &mut String, counts: fn(&str) -> bool) {
    match value {
        Value::Object(object) => {
            let mut members: Vec<(&str, &Value)> = object.iter().map(|(key, value)| (key.as_str(), value)).collect();
            members.retain(|(key, _)| counts(key));
            members.sort_unstable_by_key(|(key, _)| *key);
            out.push('{');
            for (at, (key, value)) in members.into_iter().enumerate() {
                if at > 0 {
                    out.push(',');
                }
                write_key(key, out);
                out.push(':');
                write_sorted(value, out, |_| true);
            }
            out.push('}');
        }
        Value::Array(items) => {
            out.push('[');
            for (at, item) in items.as_slice().iter().enumerate() {
                if at > 0 {
                    out.push(',');
                }
                write_sorted(item, out, |_| true);
            }
            out.push(']');
        }
        other => other.append_json(out),
    }
}

/// A key as JSON. Nearly all are words that mean themselves.
fn write_key(key: &str, out: &mut String) {
    match key.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'$')) {
        true => out.extend(["\"", key, "\""]),
        false => Value::from(key).append_json(out),
    }
}

/// A value as text, with the keys of every object in order.
pub(crate) fn sorted(value: &Value) -> String {
    let mut text = String::new();
    write_sorted(value, &mut text, |_| true);
    text
}

fn different(before: &Value, now: &Value) -> Vec<String> {
    let keys = |tool: &Value| tool.as_object().into_iter().flat_map(|tool| tool.keys().cloned()).collect::<Vec<_>>();
    let all: BTreeSet<String> = keys(before).into_iter().chain(keys(now)).map(|key| key.to_string()).filter(|key| key != HASH).collect();
    let others: Vec<String> = all.into_iter().filter(|key| before.get(key).map(sorted) != now.get(key).map(sorted)).collect();
    if others.is_empty() && before.get(HASH) != now.get(HASH) { vec![HASH.to_owned()] } else { others }
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
        let of = |raw| kept(raw, None).unwrap().1;
        let hashed = |raw| of(raw).get("hash").cloned();
        assert_eq!(hashed(&raw), hashed(&same));
        assert_ne!(hashed(&raw), hashed(&other));
        assert_eq!(of(&raw).get("hash").unwrap().as_str(), Some(hash(&of(&raw)).as_str()));
        assert!(kept(&json!({ "description": "nameless" }), None).is_none());
        assert_eq!(sorted(&json!([{ "b": 1, "a": 2 }])), r#"[{"a":2,"b":1}]"#);
    }
}

//! What a file says about the tools it wants to be allowed: what the user is shown, and what a yes covers.
//!
//! Taken from the file as it is written: no variable is replaced, so nothing secret is in it.

use serde_json::{Value as Json, json};

use super::yaml::{Entry, Node};
use crate::grant::shell_word;
use crate::secret::{MASK, without_logins};
use crate::trust::section_hash;
use crate::visible::visible;

/// Members of a source that its command lines take over, and that say what they are.
const OF_COMMANDS: [&str; 3] = ["cwd", "env", "cleanEnv"];

/// Everything that a file says about one tool.
#[derive(Debug, Default)]
struct Definition<'n> {
    /// Command lines, each with its source.
    commands: Vec<(&'n Entry, &'n Entry)>,
    /// Servers that may offer it.
    servers: Vec<&'n Entry>,
    /// Entries under `tools`.
    said: Vec<&'n Entry>,
    /// The composite that it is.
    composite: Option<&'n Entry>,
}

/// The hash of a `policy` section together with the definitions of the tools it lists; `renamed` are the ids under
/// which a source knows a tool that the user has given another name.
pub(crate) fn hash(root: &Node, policy: &Node, ids: &[String], renamed: &dyn Fn(&str) -> Vec<String>) -> String {
    let tools = ids.iter().map(|id| (id.clone(), definition(root, id, renamed(id)).to_json()));
    section_hash(&json!({"policy": policy.to_value().to_json(), "tools": Json::Object(tools.collect())}))
}

/// What a person has to see before saying yes to a tool, line by line.
pub(crate) fn lines(root: &Node, id: &str, renamed: Vec<String>) -> Vec<String> {
    let definition = definition(root, id, renamed);
    let mut lines = Vec::new();
    for (source, tool) in &definition.commands {
        lines.push(format!("runs: {}", words(&tool.value, "argv")));
        text(&mut lines, "stdin", tool.value.get("stdin"));
        text(&mut lines, "cwd", tool.value.get("cwd").or(source.value.get("cwd")));
        let clean = tool.value.get("cleanEnv").or(source.value.get("cleanEnv"));
        let nodes = [source.value.get("env"), tool.value.get("env")];
        hidden(&mut lines, "env", nodes.into_iter().flatten());
        if clean.is_some_and(|clean| shown(clean).eq_ignore_ascii_case("true")) {
            lines.push("env: no variables but those".to_owned());
        }
    }
    for server in &definition.servers {
        let node = &server.value;
        if node.get("command").is_some() {
            let program = node.get("command").map(shown).unwrap_or_default();
            lines.push(format!("server: {} {}", shell_word(&visible(&program)), words(node, "args")).trim_end().to_owned());
        }
        text(&mut lines, "server", node.get("url"));
        text(&mut lines, "cwd", node.get("cwd"));
        hidden(&mut lines, "env", node.get("env").into_iter());
        hidden(&mut lines, "headers", node.get("headers").into_iter());
    }
    for said in &definition.said {
        if said.key != id {
            lines.push(format!("is: {}", visible(&said.key)));
        }
        for pin in said.value.get("pin").and_then(Node::entries).unwrap_or_default() {
            let value = pin.value.to_value().to_json_string();
            lines.push(format!("fixed: {} = {}", visible(&pin.key), visible(&value)));
        }
        if let Some(reconcile) = said.value.get("reconcile") {
            lines.push(format!("in doubt, goes by: {}", visible(&reconcile.to_value().to_json_string())));
        }
    }
    let steps = definition.composite.and_then(|composite| composite.value.get("steps")?.items());
    for step in steps.unwrap_or_default() {
        let name = step.get("name").map(shown).unwrap_or_default();
        let tool = step.get("tool").map(shown).unwrap_or_default();
        let mapping = step.get("inputMapping").map(|mapping| mapping.to_value().to_json_string());
        let line = format!("step {}: {} {}", visible(&name), visible(&tool), visible(&mapping.unwrap_or_default()));
        lines.push(line.trim_end().to_owned());
    }
    lines
}

fn definition<'n>(root: &'n Node, id: &str, mut ids: Vec<String>) -> Definition<'n> {
    let section = |name: &str| root.get(name).and_then(Node::entries).unwrap_or_default();
    ids.push(id.to_owned());
    let renames = section("tools").iter().filter(|said| said.value.get("name").and_then(Node::text) == Some(id));
    ids.extend(renames.map(|said| said.key.clone()));
    let mut found = Definition {
        said: section("tools").iter().filter(|said| ids.contains(&said.key)).collect(),
        composite: section("composites").iter().find(|composite| composite.key == id),
        ..Definition::default()
    };
    for source in section("sources").iter().chain(section("mcpServers")) {
        let prefix = source.value.get("prefix").and_then(Node::text);
        let prefix = prefix.map_or_else(|| super::source::default_prefix(&source.key), str::to_owned);
        match source.value.get("tools").and_then(Node::entries) {
            Some(tools) => {
                let own = tools.iter().filter(|tool| ids.contains(&tool.key));
                found.commands.extend(own.map(|tool| (source, tool)));
            }
            None if ids.iter().any(|id| id.starts_with(&prefix)) => found.servers.push(source),
            None => {}
        }
    }
    found
}

impl Definition<'_> {
    fn to_json(&self) -> Json {
        let entry = |entry: &Entry| json!([entry.key, entry.value.to_value().to_json()]);
        let command = |(source, tool): &(&Entry, &Entry)| {
            let members = OF_COMMANDS.iter().filter_map(|name| Some(entry(source.value.entry(name)?)));
            json!([source.key, members.collect::<Vec<_>>(), entry(tool)])
        };
        json!({
            "commands": self.commands.iter().map(command).collect::<Vec<_>>(),
            "servers": self.servers.iter().map(|server| entry(server)).collect::<Vec<_>>(),
            "said": self.said.iter().map(|said| entry(said)).collect::<Vec<_>>(),
            "composite": self.composite.map(entry),
        })
    }
}

/// A node as text: a scalar as it is written, anything else as JSON.
fn shown(node: &Node) -> String {
    let text = node.scalar().map_or_else(|| node.to_value().to_json_string(), |scalar| scalar.text.clone());
    without_logins(&text)
}

/// The elements of a list as words of a shell.
fn words(node: &Node, member: &str) -> String {
    let items = node.get(member).and_then(Node::items).unwrap_or_default();
    let words: Vec<String> = items.iter().map(|item| shell_word(&visible(&shown(item)))).collect();
    words.join(" ")
}

fn text(lines: &mut Vec<String>, name: &str, node: Option<&Node>) {
    lines.extend(node.map(|node| format!("{name}: {}", visible(&shown(node)))));
}

/// The names of variables or headers; what they hold is nobody's business.
fn hidden<'n>(lines: &mut Vec<String>, name: &str, nodes: impl Iterator<Item = &'n Node>) {
    let members = nodes.flat_map(|node| node.entries().unwrap_or_default());
    let mut names: Vec<String> = members.map(|member| format!("{}={MASK}", visible(&member.key))).collect();
    names.dedup();
    if !names.is_empty() {
        lines.push(format!("{name}: {}", names.join(" ")));
    }
}

//! Which bytes of a file must not be quoted: what is written under `env` and `headers` and as a token of an audience, under members of a source that
//! nobody knows (a misspelt `env`), and logins in addresses.
//!
//! A mistake is shown with the lines around it, and the line around it may hold a token.

use super::members::{CLIENT_SERVER, COMMAND_SOURCE, COMMAND_TOOL, HTTP_SOURCE, STDIO_SOURCE, Shape};
use super::yaml::{Kind, Node};
use crate::diagnostic::Span;
use crate::secret::{SECRET_LENGTH_MIN, Secrets, logins};

/// Members whose values are nobody's business.
const SECTIONS: [&str; 2] = ["env", "headers"];

/// The bytes to hide. Without a tree (the file is no YAML) it goes by the look of the lines.
pub(crate) fn spans(file: &str, root: Option<&Node>) -> Vec<Span> {
    let mut spans = logins(file);
    match root {
        Some(root) => {
            spans.append(&mut in_tree(file, root));
            spans.append(&mut in_sources(root));
            spans.extend(tokens(root));
        }
        None => spans.append(&mut in_lines(file)),
    }
    spans
}

/// Tokens of audiences.
fn tokens(root: &Node) -> Vec<Span> {
    let audiences = root.get("serve").and_then(|serve| serve.get("audiences")).and_then(Node::entries).unwrap_or_default();
    let tokens = audiences.iter().filter_map(|audience| audience.value.get("tokens")?.entries()).flatten();
    tokens.map(|token| token.value.span.clone()).collect()
}

/// Values of members that mean nothing in an entry of a source.
fn in_sources(root: &Node) -> Vec<Span> {
    let section = |name: &str| root.get(name).and_then(Node::entries).unwrap_or_default();
    let known = |shapes: &[&Shape], name: &str| shapes.iter().any(|shape| shape.names().any(|known| known == name));
    let mut unknown = Vec::new();
    for source in section("sources") {
        for member in source.value.entries().unwrap_or_default() {
            if !known(&[&COMMAND_SOURCE, &STDIO_SOURCE, &HTTP_SOURCE], &member.key) {
                unknown.push(&member.value);
            }
        }
        for tool in source.value.get("tools").and_then(Node::entries).unwrap_or_default() {
            let members = tool.value.entries().unwrap_or_default().iter();
            unknown.extend(members.filter(|member| !known(&[&COMMAND_TOOL], &member.key)).map(|member| &member.value));
        }
    }
    for server in section("mcpServers") {
        let members = server.value.entries().unwrap_or_default().iter();
        unknown.extend(members.filter(|member| !known(&[&CLIENT_SERVER], &member.key)).map(|member| &member.value));
    }
    let mut spans = Vec::new();
    while let Some(node) = unknown.pop() {
        match &node.kind {
            Kind::List(items) => unknown.extend(items),
            Kind::Map(entries) => unknown.extend(entries.iter().map(|entry| &entry.value)),
            // A word such as `read` is no secret, and a mistake is easier seen with it.
            Kind::Scalar(scalar) if scalar.text.chars().count() < SECRET_LENGTH_MIN => {}
            Kind::Scalar(_) => spans.push(node.span.clone()),
        }
    }
    spans
}

/// Where known secrets stand written out anywhere else, such as a token that was pasted into `args`.
pub(super) fn by_value(file: &str, secrets: &Secrets) -> Vec<Span> {
    let long = secrets.exposed().into_iter().filter(|value| value.len() >= PASTED_BYTES_MIN);
    long.flat_map(|value| {
        let found = file.match_indices(value.as_str()).map(|(at, _)| at..at + value.len());
        found.collect::<Vec<_>>()
    })
    .collect()
}

/// Shorter values are words like `production`, which a file may hold anywhere.
const PASTED_BYTES_MIN: usize = 12;

fn in_tree(file: &str, root: &Node) -> Vec<Span> {
    let mut spans = Vec::new();
    let mut todo: Vec<(&Node, bool)> = vec![(root, false)];
    while let Some((node, hidden)) = todo.pop() {
        match &node.kind {
            Kind::List(items) => todo.extend(items.iter().map(|item| (item, hidden))),
            Kind::Map(entries) => todo.extend(entries.iter().map(|entry| {
                let section = SECTIONS.contains(&entry.key.as_str());
                (&entry.value, hidden || section)
            })),
            Kind::Scalar(_) if hidden && !is_reference(file.get(node.span.clone())) => {
                spans.push(node.span.clone());
            }
            Kind::Scalar(_) => {}
        }
    }
    spans
}

/// `${NAME}` alone, perhaps behind `Bearer`, says where the secret is and not what it is.
fn is_reference(written: Option<&str>) -> bool {
    let text = written.unwrap_or_default().trim_matches(['"', '\'']);
    let text = text.strip_prefix("Bearer ").unwrap_or(text);
    let inside = text.strip_prefix("${").and_then(|rest| rest.strip_suffix('}'));
    inside.is_some_and(|name| !name.contains(['{', '}', '-']))
}

fn in_lines(file: &str) -> Vec<Span> {
    let mut spans = Vec::new();
    let mut section: Option<usize> = None;
    let mut at = 0;
    for line in file.split_inclusive('\n') {
        let body = line.trim_start();
        let indent = line.len() - body.len();
        section = section.filter(|depth| indent > *depth || body.is_empty());
        let key = body.trim_start_matches(['{', '"', '\'', ' ']);
        let starts = SECTIONS.iter().any(|name| {
            let rest = key.strip_prefix(name).map(|rest| rest.trim_start_matches(['"', '\'', ' ']));
            rest.is_some_and(|rest| rest.starts_with(':'))
        });
        // Anything behind the first colon of a line in such a section, and everything in lines that
        // have such a section in their middle.
        let inline = SECTIONS.iter().filter_map(|name| {
            let found = line.find(&format!("{name}:")).or_else(|| line.find(&format!("\"{name}\":")))?;
            Some(found + name.len())
        });
        let from = match section {
            Some(_) => line.find(':').map_or(Some(indent), |colon| Some(colon + 1)),
            None => inline.min(),
        };
        if let Some(from) = from {
            spans.push(at + from + 1..at + line.len());
        }
        if starts && section.is_none() {
            section = Some(indent);
        }
        at += line.len();
    }
    spans
}

#[cfg(test)]
mod tests {
    use super::spans;
    use crate::config::yaml;
    use crate::diagnostic::SourceText;

    fn shown(text: &str) -> String {
        let (root, _) = yaml::parse(text);
        let source = SourceText::new("x", text);
        source.hide(&spans(text, root.as_ref()));
        source.shown().to_owned()
    }

    #[test]
    fn values_are_hidden_and_places_stay() {
        let text = "a:\n  env: {T: hunter2, U: \"Bearer ${U}\" }\n  headers:\n    A: Bearer ${T}\n    B: Bearer xé\n  url: u\n";
        let hidden = "a:\n  env: {T: *******, U: \"Bearer ${U}\" }\n  headers:\n    A: Bearer ${T}\n    B: ****** ***\n  url: u\n";
        assert_eq!(shown(text), hidden);
        assert_eq!(text.len(), hidden.len());
    }

    #[test]
    fn values_of_members_that_nobody_knows_are_hidden() {
        let text = "sources:\n  a: {enviroment: {T: hunter2}, command: x, y: [hunter2], url: 'http://a:hunter2@b'}\n  c:\n    tools:\n      d: {argv: [x], token: hunter2}\nmcpServers: {e: {key: hunter2}}\n";
        assert!(!shown(text).contains("hunter2"), "{}", shown(text));
        assert!(shown(text).contains("command: x") && shown(text).contains("argv: [x]"), "{}", shown(text));
    }

    #[test]
    fn a_file_that_is_no_yaml_hides_by_its_lines() {
        for text in [
            "a:\n  env:\n    T: hunter2\n    U: {hunter2\n  url: [\n",
            "a: {env: {T: hunter2}, url: [\n",
            "{\"a\": {\"env\": {\"T\": \"hunter2\"}, \"b\": [}\n",
            "{\n  \"a\": {\n    \"headers\": {\n      \"T\": \"hunter2\"\n    },\n    \"b\": [}\n",
        ] {
            assert!(!shown(text).contains("hunter2"), "{}", shown(text));
        }
    }
}

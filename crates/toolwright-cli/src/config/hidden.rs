//! Which bytes of a file must not be quoted: what is written under `env` and `headers`.
//!
//! A mistake is shown with the lines around it, and the line around it may hold a token.

use super::yaml::{Kind, Node};
use crate::diagnostic::Span;
use crate::secret::Secrets;

/// Members whose values are nobody's business.
const SECTIONS: [&str; 2] = ["env", "headers"];

/// The bytes to hide. Without a tree (the file is no YAML) it goes by the look of the lines.
pub(crate) fn spans(file: &str, root: Option<&Node>) -> Vec<Span> {
    match root {
        Some(root) => in_tree(file, root),
        None => in_lines(file),
    }
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

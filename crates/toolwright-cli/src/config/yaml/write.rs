//! Scalars written back: another value or another name in the place of one that is there, quoted as that one is.

use toolwright::Value;

use super::{Meaning, Node, Style, scalar};
use crate::diagnostic::Span;

/// What to write in the place of a scalar, so that `to` is read there; `None` where that cannot be done in one line.
pub(crate) fn value(file: &str, node: &Node, to: &Value) -> Option<String> {
    let old = node.scalar()?;
    let style = style_at(file, &node.span, &old.text)?;
    match to {
        Value::String(text) => text_like(style, text),
        Value::Null | Value::Bool(_) | Value::Number(_) => Some(to.to_json_string()),
        Value::Array(_) | Value::Object(_) => None,
    }
}

/// What to write in the place of a key.
pub(crate) fn key(file: &str, span: &Span, old: &str, to: &str) -> Option<String> {
    text_like(style_at(file, span, old)?, to)
}

/// Text where nothing stood before: as it is when it means itself, else in double quotes.
pub(crate) fn plain_or_quoted(text: &str) -> String {
    if is_plain(text) && !text.chars().any(char::is_control) { text.to_owned() } else { quoted(text) }
}

/// Text in double quotes, whatever stood there.
pub(crate) fn quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

/// How the scalar at a place is written; `None` for blocks, for several lines, and where another text is read there.
fn style_at(file: &str, span: &Span, text: &str) -> Option<Style> {
    let written = file.get(span.clone()).filter(|written| !written.contains(['\n', '\r']))?;
    let between = |quote: char| written.len() > 1 && written.starts_with(quote) && written.ends_with(quote);
    if between('"') {
        return Some(Style::Double);
    }
    if between('\'') {
        return Some(Style::Single);
    }
    (written == text && !text.is_empty()).then_some(Style::Plain)
}

fn text_like(style: Style, text: &str) -> Option<String> {
    let one_line = !text.chars().any(char::is_control);
    match style {
        Style::Plain if one_line && is_plain(text) => Some(text.to_owned()),
        // A quoted key in a reference reads better without escapes.
        Style::Plain if one_line && text.contains('"') && !text.contains('\'') => Some(format!("'{text}'")),
        Style::Single if one_line => Some(format!("'{}'", text.replace('\'', "''"))),
        Style::Plain | Style::Single | Style::Double => Some(quoted(text)),
        Style::Block => None,
    }
}

/// Whether text means itself without quotes, wherever it stands.
fn is_plain(text: &str) -> bool {
    let means_text = scalar::plain(text).is_ok_and(|meaning| meaning == Meaning::Text);
    let first = text.starts_with(|c: char| "-?:#&*!|>'\"%@`".contains(c));
    let inside = text.contains(['[', ']', '{', '}', ',']) || text.contains(": ") || text.contains(" #") || text.ends_with(':');
    means_text && !first && !inside && text.trim() == text && text != "<<" && text != "..."
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::yaml::parse;

    fn written(file: &str, at: &str, to: &Value) -> Option<String> {
        let (root, problems) = parse(file);
        assert!(problems.is_empty(), "{problems:?}");
        let root = root.unwrap();
        let node = root.pointer(at);
        let new = value(file, node, to)?;
        let mut text = file.to_owned();
        text.replace_range(node.span.clone(), &new);
        let (read, problems) = parse(&text);
        assert!(problems.is_empty(), "{text}: {problems:?}");
        assert_eq!(read.unwrap().pointer(at).to_value(), *to, "{text}");
        Some(new)
    }

    #[test]
    fn a_scalar_is_written_as_it_was() {
        let text = |text: &str| Value::from(text);
        for (file, to, expected) in [
            ("a: old # note", text("new"), Some("new")),
            ("a: old", text("$steps.b[0]"), Some("\"$steps.b[0]\"")),
            ("a: old", text("$prev[\"b c\"]"), Some("'$prev[\"b c\"]'")),
            ("{a: old}", text("$input.b"), Some("$input.b")),
            ("a: 'old'", text("it's"), Some("'it''s'")),
            ("a: \"old\"", text("n\"e\u{1}w"), Some("\"n\\\"e\\u0001w\"")),
            ("{\"a\": \"old\"}", text("new"), Some("\"new\"")),
            ("a: old", text("true"), Some("\"true\"")),
            ("a: old", text("12"), Some("\"12\"")),
            ("a: old", text("b: c"), Some("\"b: c\"")),
            ("a: old", text("- b"), Some("\"- b\"")),
            ("a: yes", Value::Bool(true), Some("true")),
            ("a: \"7\"", Value::from(7), Some("7")),
            ("a: |\n  old\n", text("new"), None),
            ("a: \"ol\n  d\"", text("new"), None),
            ("a: {b: c}", text("new"), None),
            ("a: old", Value::array(Vec::<Value>::new()), None),
        ] {
            assert_eq!(written(file, "/a", &to).as_deref(), expected, "{file}");
        }
    }
}

//! Schemas in words, for messages.

use super::Slip;
use super::engine::Engine;
use super::leaf::Kind;
use super::node::{Conj, Node, Shape};
use crate::value::{Text, Value};

/// Values that are named one by one.
const VALUES_SHOWN_MAX: usize = 5;

impl Engine {
    /// What it holds, in the plural: "strings or `null`", "arrays of integers".
    pub(super) fn describe(&mut self, conj: &Conj) -> String {
        let node = self.read_all(conj);
        self.describe_node(&node, 0)
    }

    fn describe_node(&mut self, node: &Node, deep: u32) -> String {
        if node.is_never() {
            return "nothing".into();
        }
        let mut words: Vec<String> = Vec::new();
        let mut add = |word: String| {
            if !words.contains(&word) {
                words.push(word);
            }
        };
        for branch in &node.branches {
            match &branch.shape {
                Shape::Any => return "anything".into(),
                Shape::Values(values) => {
                    values.iter().take(VALUES_SHOWN_MAX).for_each(|value| add(shown(value)));
                    if values.len() > VALUES_SHOWN_MAX {
                        add(format!("{} other values", values.len() - VALUES_SHOWN_MAX));
                    }
                }
                Shape::Scalars(scalars) => {
                    if scalars.string.is_some() {
                        add("strings".into());
                    }
                    if let Some(number) = &scalars.number {
                        add(if number.kind == Kind::Number { "numbers" } else { "integers" }.into());
                    }
                    match (scalars.yes, scalars.no) {
                        (true, true) => add("booleans".into()),
                        (true, false) => add("`true`".into()),
                        (false, true) => add("`false`".into()),
                        (false, false) => {}
                    }
                    if scalars.null {
                        add("`null`".into());
                    }
                }
                Shape::Object(_) => add("objects".into()),
                Shape::Array(parts) => {
                    let items = super::engine::item_at(parts, super::engine::listed(parts));
                    let items = self.read_all(&items);
                    let of =
                        if items.is_any() || items.is_never() || deep > 1 { String::new() } else { self.describe_node(&items, deep + 1) };
                    add(if of.is_empty() || of == "anything" { "arrays".into() } else { format!("arrays of {of}") });
                }
            }
        }
        listed(&words)
    }
}

/// `a`, `a or b`, `a, b or c`
pub(super) fn listed(words: &[String]) -> String {
    match words {
        [] => "nothing".into(),
        [one] => one.clone(),
        [first @ .., last] => format!("{} or {last}", first.join(", ")),
    }
}

/// A value as a message shows it.
pub(super) fn shown(value: &Value) -> String {
    format!("`{}`", crate::cut(&value.to_json_string(), 60))
}

/// `null`, or `.items[].id` that may be `null`.
pub(super) fn slips(slips: &[Slip]) -> String {
    let words: Vec<String> = slips
        .iter()
        .map(|slip| match (slip.path.is_empty(), slip.what.starts_with("it ")) {
            (true, _) => slip.what.clone(),
            (false, true) => format!("`{}` {}", slip.path, slip.what.trim_start_matches("it ")),
            (false, false) => format!("{} in `{}`", slip.what, slip.path),
        })
        .collect();
    listed(&words)
}

/// Names for a help text.
pub(super) fn names(names: &[Text]) -> String {
    let shown: Vec<String> = names.iter().take(crate::limits::KEYS_SHOWN_MAX).map(|name| format!("`{}`", crate::cut(name, 40))).collect();
    let more = names.len().saturating_sub(shown.len());
    if more > 0 { format!("{} and {more} more", shown.join(", ")) } else { shown.join(", ") }
}

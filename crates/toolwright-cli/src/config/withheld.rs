//! What nobody but a person writes: what a file says about effects, trust and the policy. A finding there suggests in
//! words, and its change is never made by a program.

use super::yaml::{Kind, Node};
use crate::diagnostic::{Edit, Finding, Span};

/// Members whose value counts for safety.
const SAFETY: [&str; 8] = ["effect", "class", "impact", "trust", "policy", "sideEffectingTools", "validateEveryStep", "serve"];

/// Takes away the changes that would write such a member, change what it says, or make it count.
pub(crate) fn withhold(findings: &mut [Finding], root: &Node) {
    for finding in findings {
        finding.edit = finding.edit.take().filter(|edit| !speaks_of_safety(edit, root));
    }
}

fn speaks_of_safety(edit: &Edit, root: &Node) -> bool {
    is_safety(edit.to.trim_matches(['"', '\''])) || touches(root, &edit.span)
}

fn is_safety(name: &str) -> bool {
    SAFETY.contains(&name)
}

/// Whether the place is in such a member, or names one that holds such a member.
fn touches(node: &Node, span: &Span) -> bool {
    let mut todo = vec![node];
    while let Some(node) = todo.pop() {
        match &node.kind {
            Kind::Scalar(_) => {}
            Kind::List(items) => todo.extend(items),
            Kind::Map(entries) => {
                for entry in entries {
                    let here = entry.key_span == *span;
                    let inside = is_safety(&entry.key) && (here || holds(&entry.value, span));
                    if inside || (here && says_anything(&entry.value)) {
                        return true;
                    }
                    todo.push(&entry.value);
                }
            }
        }
    }
    false
}

fn holds(node: &Node, span: &Span) -> bool {
    node.span == *span || {
        let values: Vec<&Node> = match &node.kind {
            Kind::Scalar(_) => Vec::new(),
            Kind::List(items) => items.iter().collect(),
            Kind::Map(entries) if entries.iter().any(|entry| entry.key_span == *span) => return true,
            Kind::Map(entries) => entries.iter().map(|entry| &entry.value).collect(),
        };
        values.into_iter().any(|value| holds(value, span))
    }
}

/// Whether such a member stands anywhere in it.
fn says_anything(node: &Node) -> bool {
    match &node.kind {
        Kind::Scalar(_) => false,
        Kind::List(items) => items.iter().any(says_anything),
        Kind::Map(entries) => entries.iter().any(|entry| is_safety(&entry.key) || says_anything(&entry.value)),
    }
}

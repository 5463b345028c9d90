//! What is written down in a mapping and comes from nowhere else.

use super::super::node::{Branch, Conj, Node, Shape, Tri};
use super::super::{engine, leaf, words};
use super::{Bit, Check};
use crate::composite::spec::{Fix, Severity, SpecIssue};
use crate::nearest::{nearest, unmistakable};
use crate::schema::CompiledSchema;
use crate::value::Value;

impl Check<'_> {
    pub(super) fn literal(&mut self, value: &Value, to: &Conj, pointer: &str, argument: &str, needed: bool) -> bool {
        let node = self.engine.read_all(to);
        match self.engine.holds(&node, value) {
            Tri::Yes => !holds_integral_decimal(value),
            Tri::Unknown => false,
            // A call leaves it out.
            Tri::No if value.is_null() && !needed => false,
            Tri::No if holds_integral_decimal(value) && self.engine.holds(&node, &with_integers(value)) != Tri::No => false,
            Tri::No => {
                let takes = self.engine.describe(to);
                let values: Vec<&str> = node.branches.iter().flat_map(|branch| texts(branch)).collect();
                let near = value.as_str().and_then(|text| nearest(text, values.iter().copied()));
                let (shown, argument) = (words::shown(value), self.argument(argument));
                let message = match self.why_not(value, &node) {
                    Some(what) => format!("{argument} takes no {what}, and this is {shown}"),
                    None => format!("{argument} takes {takes}, and this is {shown}"),
                };
                let help = match near {
                    Some(near) => Some(format!("did you mean `{near}`?")),
                    None if value.as_str().is_some_and(|text| text.starts_with('$')) => {
                        Some("a text that begins with `$$` is sent without its first `$`".into())
                    }
                    None if !matches!(value, Value::String(_)) && self.engine.holds(&node, &as_text(value)) == Tri::Yes => {
                        Some(format!("in quotes it is a text: `{}`", as_text(value).to_json_string()))
                    }
                    None => None,
                };
                let sure = near.filter(|_| value.as_str().and_then(|text| unmistakable(text, values.iter().copied())) == near);
                let fix = sure.map(|near| Fix::Value { pointer: pointer.into(), to: near.into() });
                self.issues.push(SpecIssue {
                    severity: Severity::Error,
                    code: self.target.code,
                    message,
                    help,
                    pointer: pointer.into(),
                    span: None,
                    fix,
                });
                false
            }
        }
    }

    /// Which constraint a literal of the right kind breaks.
    fn why_not(&self, value: &Value, node: &Node) -> Option<String> {
        for branch in &node.branches {
            if let Shape::Scalars(scalars) = &branch.shape {
                let leaf = if matches!(value, Value::String(_)) { scalars.string.as_ref() } else { scalars.number.as_ref() };
                if let Some(leaf) = leaf.filter(|leaf| !leaf.constraints.is_empty() && matches!(value, Value::String(_) | Value::Number(_)))
                {
                    let bare = leaf::Leaf::bare(leaf.kind);
                    let what = leaf::words(&bare, leaf, Some(value));
                    return Some(what);
                }
            }
        }
        None
    }

    /// An array that is made item by item, where an array is wanted. True when it is proved to fit.
    pub(super) fn items(&mut self, plan: Bit<'_>, to: &Conj, pointer: &str, argument: &str) -> bool {
        let node = self.engine.read_all(to);
        let listed = |branch: &Branch| matches!(&branch.shape, Shape::Any | Shape::Values(_));
        let arrays: Vec<&Branch> = node.branches.iter().filter(|branch| matches!(branch.shape, Shape::Array(_))).collect();
        let items = plan.items().unwrap_or_default();
        let moves = items.iter().any(|item| item.may_be_left_out() && item.value().is_none());
        let before = self.issues.len();
        if let ([Branch { shape: Shape::Array(parts), .. }], false, false) = (arrays.as_slice(), moves, node.branches.iter().any(listed)) {
            for (at, item) in items.into_iter().enumerate() {
                let wanted = engine::item_at(parts, at);
                self.member(item, &wanted, &format!("{pointer}/{at}"), &format!("{argument}[{at}]"), true);
            }
        }
        if self.issues.len() > before {
            return false;
        }
        match plan.value().filter(|_| !self.is_unread(pointer)) {
            Some(value) => self.literal(&value, to, pointer, argument, true),
            None => self.whole(plan, to, pointer, argument),
        }
    }

    /// Arguments that are all written down, as a call would look at them.
    pub(super) fn literals(&mut self, plan: &Bit<'_>, schema: &CompiledSchema, pointer: &str) {
        let Some(mut value) = plan.value() else { return };
        let Err(issues) = schema.prepare(&mut value, &mut Vec::new()) else { return };
        for issue in issues.into_iter().take(3) {
            let place = if issue.pointer.is_empty() { String::new() } else { format!(", at `{}`", crate::cut(&issue.pointer, 80)) };
            let message = format!("{} does not take these arguments{place}: {}", self.argument(""), issue.message);
            self.error(self.target.code, message, Some("every run would end at this step".into()), pointer, None, None);
        }
    }
}

/// Whether a number in it is an integer that is written as a decimal: a call writes it as an integer where one is wanted.
pub(super) fn holds_integral_decimal(value: &Value) -> bool {
    match value {
        Value::Number(number) => !number.is_written_as_integer() && number.is_integer(),
        Value::Object(members) => members.values().iter().any(holds_integral_decimal),
        Value::Array(_) => value.as_array().unwrap_or_default().iter().any(holds_integral_decimal),
        _ => false,
    }
}

/// As a call writes it where integers are wanted.
fn with_integers(value: &Value) -> Value {
    match value {
        Value::Number(number) => number.to_integer().map_or_else(|| value.clone(), Value::Number),
        Value::Object(members) => Value::object(members.iter().map(|(key, member)| (key.clone(), with_integers(member)))),
        Value::Array(_) => Value::array(value.as_array().unwrap_or_default().iter().map(with_integers)),
        other => other.clone(),
    }
}

fn as_text(value: &Value) -> Value {
    match value {
        Value::Number(_) | Value::Bool(_) => Value::from(value.to_json_string()),
        other => other.clone(),
    }
}

fn texts(branch: &Branch) -> Vec<&str> {
    match &branch.shape {
        Shape::Values(values) => values.iter().filter_map(Value::as_str).collect(),
        _ => Vec::new(),
    }
}

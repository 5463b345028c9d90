//! Which step reads what: the references of a mapping, as a drawing needs them.
//!
//! Only for pictures. What a reference means when a composite runs is the core's business; a text
//! that is no reference draws no line.

use toolwright::Value;

use crate::view::StepView;

/// What a mapping reads from.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum From {
    /// The composite's input.
    Input,
    /// The step at this position.
    Step(usize),
}

/// Everything the mapping of the step at `index` reads, with the arguments it goes into.
pub(crate) fn reads(mapping: &Value, index: usize, steps: &[StepView]) -> Vec<(From, Vec<String>)> {
    let mut found: Vec<(From, Vec<String>)> = Vec::new();
    let members: Vec<(String, &Value)> = match mapping.as_object() {
        Some(object) => object.iter().map(|(key, value)| (key.to_string(), value)).collect(),
        None => vec![(String::new(), mapping)],
    };
    for (argument, value) in members {
        let mut from = Vec::new();
        collect(value, index, steps, &mut from);
        for from in from {
            match found.iter_mut().find(|(known, _)| *known == from) {
                Some((_, arguments)) if arguments.contains(&argument) => {}
                Some((_, arguments)) => arguments.push(argument.clone()),
                None => found.push((from, vec![argument.clone()])),
            }
        }
    }
    found.sort();
    found
}

fn collect(value: &Value, index: usize, steps: &[StepView], found: &mut Vec<From>) {
    if let Some(text) = value.as_str() {
        found.extend(read(text, index, steps));
    } else if let Some(items) = value.as_array() {
        for item in items {
            collect(item, index, steps, found);
        }
    } else if let Some(members) = value.as_object() {
        for (_, member) in members.iter() {
            collect(member, index, steps, found);
        }
    }
}

fn read(text: &str, index: usize, steps: &[StepView]) -> Option<From> {
    let ends = |rest: &str| rest.is_empty() || rest.starts_with(['.', '[', '?']);
    if text.strip_prefix("$input").is_some_and(ends) {
        return Some(From::Input);
    }
    if text.strip_prefix("$prev").is_some_and(ends) {
        return index.checked_sub(1).map(From::Step);
    }
    let rest = text.strip_prefix("$steps")?;
    let name = match rest.strip_prefix('[') {
        Some(inside) => inside.split(']').next()?.trim_matches('"'),
        None => rest.strip_prefix('.')?.split(['.', '[', '?']).next()?,
    };
    let by_name = steps.iter().position(|step| step.name == name);
    by_name.or_else(|| name.parse().ok().filter(|at| *at < steps.len())).map(From::Step)
}

#[cfg(test)]
mod tests {
    use toolwright::{Value, json};

    use super::{From, reads};
    use crate::view::StepView;

    #[test]
    fn references_become_lines_and_other_text_does_not() {
        let step = |name: &str| StepView { name: name.into(), tool: "t".into(), mapping: Value::Null, effect: None, nested: false };
        let steps = [step("a"), step("b"), step("c")];
        let mapping = json!({
            "x": "$input.x", "y": ["$prev", {"z": "$steps.a.z?"}], "w": "$steps[\"b\"]", "v": "$steps[0].q",
            "u": "$inputs", "t": "$5", "s": "$$input"
        });
        let expected = [
            (From::Input, vec!["x".to_owned()]),
            (From::Step(0), vec!["y".to_owned(), "v".to_owned()]),
            (From::Step(1), vec!["y".to_owned(), "w".to_owned()]),
        ];
        assert_eq!(reads(&mapping, 2, &steps), expected);
    }
}

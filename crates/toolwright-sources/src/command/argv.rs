//! From arguments to argv and stdin. No value can become an option, the program, or more than its own element.
//!
//! The core has checked the arguments against the input schema before; nothing here relies on it.

use toolwright::Value;
use toolwright::nearest::nearest;

use super::mask::Secrets;
use super::number::plain_decimal;
use super::options;
use super::plan::Plan;
use super::signature::{Argument, escaped};
use super::template::{ArgTemplate, Part, Placeholder};

/// What a program is started with.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Rendered {
    /// The elements behind the program.
    pub(crate) args: Vec<String>,
    /// `None`: nothing to read.
    pub(crate) stdin: Option<String>,
}

/// An argument that cannot be handed to the program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ArgumentIssue {
    /// JSON pointer into the arguments.
    pub(crate) pointer: String,
    pub(crate) message: String,
    pub(crate) help: String,
}

/// A value, or the reason why there is none; `None` is an absent argument that leaves its element out.
type Filled = Result<Option<String>, ArgumentIssue>;

/// Puts the arguments into the templates.
///
/// # Errors
/// Every argument that cannot be used, once each.
pub(crate) fn render(plan: &Plan, input: &Value, secrets: &Secrets) -> Result<Rendered, Vec<ArgumentIssue>> {
    let mut issues = unknown_arguments(plan, input);
    let mut rendered = Rendered::default();
    let mut inserted = false;
    for (index, element) in plan.args.iter().enumerate() {
        let guarded = plan.operands.from.is_some_and(|from| index >= from);
        let before = rendered.args.len();
        match elements(plan, input, element, Guard { guarded, secrets }) {
            Ok(texts) => rendered.args.extend(texts),
            Err(found) => issues.extend(found),
        }
        if plan.operands.insert && guarded && !inserted && rendered.args.len() > before {
            rendered.args.insert(before, "--".to_owned());
            inserted = true;
        }
    }
    if let Some(template) = &plan.stdin {
        match stdin(plan, input, template) {
            Ok(text) => rendered.stdin = text,
            Err(issue) => issues.push(issue),
        }
    }
    let mut once: Vec<ArgumentIssue> = Vec::with_capacity(issues.len());
    for issue in issues {
        if !once.contains(&issue) {
            once.push(issue);
        }
    }
    if once.is_empty() { Ok(rendered) } else { Err(once) }
}

fn unknown_arguments(plan: &Plan, input: &Value) -> Vec<ArgumentIssue> {
    if input.is_null() {
        return Vec::new();
    }
    let Some(given) = input.as_object() else {
        return vec![ArgumentIssue {
            pointer: String::new(),
            message: format!("the arguments are of type {}", input.kind()),
            help: "give the arguments as an object, by name".to_owned(),
        }];
    };
    let unknown = given.keys().filter(|name| !plan.signature.contains_key::<str>(name.as_ref()));
    unknown
        .map(|name| ArgumentIssue {
            pointer: pointer(name),
            message: format!("`{name}` is no argument of this tool"),
            help: match nearest(name, plan.signature.keys().map(String::as_str)) {
                Some(near) => format!("did you mean `{near}`?"),
                None => "nothing would use it: leave it out".to_owned(),
            },
        })
        .collect()
}

/// What is known about the place of an element.
#[derive(Clone, Copy)]
struct Guard<'g> {
    /// Whether a `--` stands before the element.
    guarded: bool,
    secrets: &'g Secrets,
}

/// The argv elements of one template.
fn elements(plan: &Plan, input: &Value, element: &ArgTemplate, guard: Guard<'_>) -> Result<Vec<String>, Vec<ArgumentIssue>> {
    if let Some(placeholder) = element.as_spread() {
        return spread(plan, input, placeholder, guard);
    }
    let naming: Vec<&str> = options::names_an_option(element).map(Placeholder::name).collect();
    let mut text = String::new();
    let mut issues = Vec::new();
    let mut left_out = false;
    // The argument that the first character comes from.
    let mut first = element.placeholders().next().map(Placeholder::name);
    for part in element.parts() {
        let slot = match part {
            Part::Literal(literal) => {
                text.push_str(literal);
                continue;
            }
            Part::Slot(slot) => slot,
        };
        let value = fill(plan, input, slot, false).and_then(|value| match value {
            Some(value) if !guard.guarded && naming.contains(&slot.name()) => {
                check_option_name(plan, slot, &value, guard.secrets).map(|()| Some(value))
            }
            value => Ok(value),
        });
        match value {
            Ok(Some(value)) => {
                if text.is_empty() && !value.is_empty() {
                    first = Some(slot.name());
                }
                text.push_str(&value);
            }
            Ok(None) => left_out = true,
            Err(issue) => issues.push(issue),
        }
    }
    if issues.is_empty() && !left_out {
        let pointer = first.map(pointer).unwrap_or_default();
        issues.extend(element_issue(element, &text, pointer, guard));
    }
    match (issues.is_empty(), left_out) {
        (false, _) => Err(issues),
        (true, true) => Ok(Vec::new()),
        (true, false) => Ok(vec![text]),
    }
}

fn spread(plan: &Plan, input: &Value, slot: &Placeholder, guard: Guard<'_>) -> Result<Vec<String>, Vec<ArgumentIssue>> {
    let argument = plan.signature.get(slot.name());
    let Some(value) = given(argument, input, slot).map_err(|issue| vec![issue])? else { return Ok(Vec::new()) };
    let Some(items) = value.as_array() else {
        return Err(vec![ArgumentIssue {
            pointer: pointer(slot.name()),
            message: format!("`{}` is of type {}, and an array is needed", slot.name(), value.kind()),
            help: "each item becomes an argument of its own on the command line: give a list, even for one".to_owned(),
        }]);
    };
    let mut texts = Vec::with_capacity(items.len());
    let mut issues = Vec::new();
    let structured = |kind: &str| argument.is_some_and(|argument| argument.item_types.iter().any(|known| known == kind));
    for (index, item) in items.iter().enumerate() {
        let place = format!("{}/{index}", pointer(slot.name()));
        match text_of(item, &place, &structured) {
            Ok(text) => {
                issues.extend(nul_issue(&text, &place).or_else(|| dash_issue(&text, place, guard)));
                texts.push(text);
            }
            Err(issue) => issues.push(issue),
        }
    }
    if issues.is_empty() { Ok(texts) } else { Err(issues) }
}

fn stdin(plan: &Plan, input: &Value, template: &ArgTemplate) -> Filled {
    let mut text = String::new();
    for part in template.parts() {
        match part {
            Part::Literal(literal) => text.push_str(literal),
            Part::Slot(slot) => match fill(plan, input, slot, true)? {
                Some(value) => text.push_str(&value),
                None => return Ok(None),
            },
        }
    }
    Ok(Some(text))
}

/// The text of one placeholder.
fn fill(plan: &Plan, input: &Value, slot: &Placeholder, any_json: bool) -> Filled {
    let argument = plan.signature.get(slot.name());
    let Some(value) = given(argument, input, slot)? else { return Ok(None) };
    let structured = |kind: &str| any_json || argument.is_some_and(|argument| argument.allows(kind));
    text_of(value, &pointer(slot.name()), &structured).map(Some)
}

/// The value that was given, or its default; `None` when it is absent and may be.
fn given<'v>(argument: Option<&'v Argument>, input: &'v Value, slot: &Placeholder) -> Result<Option<&'v Value>, ArgumentIssue> {
    let found = input.get(slot.name()).or_else(|| argument.and_then(|argument| argument.default.as_ref()));
    match found.filter(|value| !value.is_null()) {
        Some(value) => Ok(Some(value)),
        None if slot.is_optional() => Ok(None),
        None => Err(ArgumentIssue {
            pointer: pointer(slot.name()),
            message: format!("`{}` is {}", slot.name(), if found.is_some() { "null" } else { "missing" }),
            help: "the command line has no form without it: give it a value".to_owned(),
        }),
    }
}

/// The text a program gets for `value`. `structured`: whether JSON text is wanted for a kind of value.
fn text_of(value: &Value, pointer: &str, structured: &dyn Fn(&str) -> bool) -> Result<String, ArgumentIssue> {
    let issue = |message: String, help: &str| ArgumentIssue { pointer: pointer.to_owned(), message, help: help.to_owned() };
    match value {
        Value::String(text) => Ok(text.to_string()),
        Value::Bool(truth) => Ok(truth.to_string()),
        Value::Number(_) => plain_decimal(&value.to_json_string()).ok_or_else(|| {
            issue("the number has more than 4096 digits".to_owned(), "no program reads such a number: give a shorter one, or a text")
        }),
        Value::Null if structured("null") => Ok("null".to_owned()),
        Value::Array(_) | Value::Object(_) if structured(value.kind()) => Ok(value.to_json_string()),
        Value::Null | Value::Array(_) | Value::Object(_) => Err(issue(
            format!("a value of type {} has no form on a command line", value.kind()),
            "give a text, a number or a boolean; a tool that wants JSON text here declares the type in its input schema",
        )),
    }
}

/// What is wrong with a finished element; `pointer` is the argument its first character comes from.
fn element_issue(element: &ArgTemplate, text: &str, pointer: String, guard: Guard<'_>) -> Option<ArgumentIssue> {
    if element.as_literal().is_some() {
        return None;
    }
    let nul = nul_issue(text, &pointer);
    if nul.is_some() {
        return nul;
    }
    let prefix = element.literal_prefix();
    if !prefix.starts_with('-') {
        return dash_issue(text, pointer, guard);
    }
    if !guard.guarded && text == prefix && options::takes_next_element(prefix) {
        return Some(ArgumentIssue {
            pointer,
            message: format!("the value is empty, and `{prefix}` would take the next argument for its own"),
            help: "give a value that is not empty".to_owned(),
        });
    }
    None
}

fn nul_issue(text: &str, pointer: &str) -> Option<ArgumentIssue> {
    text.contains('\0').then(|| ArgumentIssue {
        pointer: pointer.to_owned(),
        message: "the value holds a NUL byte".to_owned(),
        help: "no system can hand a NUL byte to a program on its command line: take it out".to_owned(),
    })
}

fn dash_issue(text: &str, pointer: String, guard: Guard<'_>) -> Option<ArgumentIssue> {
    (!guard.guarded && text.starts_with('-')).then(|| ArgumentIssue {
        pointer,
        message: format!("`{}` begins with `-`, and the program would read it as an option", cut(text, guard.secrets)),
        help: "give a value that does not begin with `-` (a file can be written as `./-name`); if the program knows `--`, the tool's author can put `--` before the argument or declare `endOfOptions: true`, and `--option={value}` is safe as well".to_owned(),
    })
}

fn check_option_name(plan: &Plan, slot: &Placeholder, value: &str, secrets: &Secrets) -> Result<(), ArgumentIssue> {
    let choices = plan.signature.get(slot.name()).and_then(|argument| argument.choices.as_deref()).unwrap_or_default();
    if choices.iter().any(|choice| choice == value) {
        return Ok(());
    }
    Err(ArgumentIssue {
        pointer: pointer(slot.name()),
        message: format!("`{}` is none of the options this tool may use", cut(value, secrets)),
        help: format!("give one of {}", choices.iter().map(|choice| format!("`{choice}`")).collect::<Vec<_>>().join(", ")),
    })
}

fn pointer(name: &str) -> String {
    format!("/{}", escaped(name))
}

/// A value for a message: one line, not endless, no secret and no part of one.
fn cut(value: &str, secrets: &Secrets) -> String {
    const CHARS_MAX: usize = 60;
    let value = secrets.mask_text(value);
    let mut text: String = value.chars().take(CHARS_MAX).flat_map(char::escape_debug).collect();
    if value.chars().nth(CHARS_MAX).is_some() {
        text.push('…');
    }
    text
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::command::Environment;
    use crate::command::plan::{Declared, plan};

    fn planned(argv: &[&str], end_of_options: bool) -> Option<Plan> {
        let argv: Vec<ArgTemplate> = argv.iter().map(|text| ArgTemplate::parse(text).unwrap()).collect();
        let env = Environment::default();
        let declared = Declared { argv: &argv, stdin: None, input_schema: None, end_of_options, env: &env, idempotency_key: None };
        plan(&declared).ok().map(|(plan, _)| plan)
    }

    fn element() -> impl Strategy<Value = &'static str> {
        prop::sample::select(vec!["{a}", "{b?}", "{c*?}", "{a}{b?}", "{b?}-{a}", "--o={a}", "-o", "x{b?}", "--", "-n{a}", "./{a}", "w"])
    }

    fn text() -> impl Strategy<Value = String> {
        "[-=a\\x00 ]{0,3}"
    }

    proptest! {
        /// Before a `--`, an element begins with a dash only if its template does.
        #[test]
        fn no_value_becomes_an_option(
            elements in prop::collection::vec(element(), 0..6),
            a in text(),
            b in prop::option::of(text()),
            c in prop::collection::vec(text(), 0..3),
            end_of_options: bool,
        ) {
            let argv: Vec<&str> = std::iter::once("program").chain(elements.iter().copied()).collect();
            let Some(plan) = planned(&argv, end_of_options) else { return Ok(()) };
            let uses = |name: &str| elements.iter().any(|element| element.contains(name));
            let given = [("a", "{a", Some(Value::from(a))), ("b", "{b", b.map(Value::from)), ("c", "{c", Some(Value::array(c)))];
            let given = given.into_iter().filter(|(_, mark, _)| uses(mark)).filter_map(|(name, _, value)| Some((name, value?)));
            let Ok(rendered) = render(&plan, &Value::object(given), &Secrets::default()) else { return Ok(()) };
            let options = elements.iter().filter(|element| element.starts_with('-') && **element != "--").count();
            let before = rendered.args.iter().take_while(|arg| *arg != "--");
            prop_assert!(before.filter(|arg| arg.starts_with('-')).count() <= options, "{:?} from {:?}", rendered.args, argv);
            prop_assert!(rendered.args.iter().all(|arg| !arg.contains('\0')));
            let most = elements.len() + 3 * elements.iter().filter(|element| element.contains('*')).count() + 1;
            prop_assert!(rendered.args.len() <= most);
        }
    }
}

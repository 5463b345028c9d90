//! From the declaration of a command to something that can run: every rule is checked here, once, before the tool exists.

use toolwright::Value;
use toolwright::nearest::nearest;

use super::KeyTo;
use super::error::{CommandIssue, CommandIssueKind, Place};
use super::lookup::Environment;
use super::options::{self, Operands};
use super::signature::{self, Signature};
use super::template::{ArgTemplate, Placeholder};

/// The templates of a command with everything that was decided about them.
#[derive(Debug)]
pub(crate) struct Plan {
    /// The program, as written.
    pub(crate) program: String,
    /// The elements behind the program.
    pub(crate) args: Vec<ArgTemplate>,
    pub(crate) stdin: Option<ArgTemplate>,
    pub(crate) operands: Operands,
    pub(crate) signature: Signature,
}

/// What a declaration says about its arguments.
pub(crate) struct Declared<'d> {
    pub(crate) argv: &'d [ArgTemplate],
    pub(crate) stdin: Option<&'d ArgTemplate>,
    pub(crate) input_schema: Option<&'d Value>,
    pub(crate) end_of_options: bool,
    pub(crate) env: &'d Environment,
    pub(crate) idempotency_key: Option<&'d KeyTo>,
}

impl Declared<'_> {
    /// The argument that the idempotency key is.
    fn key_argument(&self) -> Option<&str> {
        match self.idempotency_key {
            Some(KeyTo::Argument(name)) => Some(name),
            Some(KeyTo::Variable(_)) | None => None,
        }
    }
}

/// A placeholder and where it stands.
struct Used<'d> {
    placeholder: &'d Placeholder,
    place: Place,
}

/// Checks the declaration; answers the plan and the input schema of the tool.
///
/// # Errors
/// Everything that is wrong with it.
pub(crate) fn plan(declared: &Declared<'_>) -> Result<(Plan, Value), Vec<CommandIssue>> {
    let mut issues = Vec::new();
    let program = program(declared.argv, &mut issues);
    literals(declared.argv, &mut issues);
    variables(declared.env, &mut issues);
    let used = used(declared);
    let key = declared.key_argument();
    let (mut signature, schema) = match declared.input_schema {
        Some(schema) => signature::read(schema, &mut issues),
        None => {
            mixed_marks(&used, &mut issues);
            let schema = signature::derived_schema(used.iter().map(|used| used.placeholder).filter(|used| key != Some(used.name())));
            (signature::read(&schema, &mut issues).0, schema)
        }
    };
    issues.extend(key_place(declared, &used, &signature));
    if let Some(key) = key {
        signature.insert(key.to_owned(), signature::text());
    }
    placeholders(&used, &signature, &mut issues);
    unused(&used, &signature, key, &mut issues);
    let args = declared.argv.get(1..).unwrap_or_default();
    let operands = options::operands(args, declared.end_of_options, &mut issues);
    options::names_of_options(args, operands, &signature, &mut issues);
    options::scripts(declared.argv, &mut issues);
    match program {
        Some(program) if issues.is_empty() => {
            let plan = Plan { program, args: args.to_vec(), stdin: declared.stdin.cloned(), operands, signature };
            Ok((plan, schema))
        }
        _ => Err(issues),
    }
}

fn program(argv: &[ArgTemplate], issues: &mut Vec<CommandIssue>) -> Option<String> {
    let Some(first) = argv.first() else {
        issues.push(no_program(Place::Argv));
        return None;
    };
    match first.as_literal() {
        Some("") => issues.push(no_program(Place::Element { index: 0, span: None })),
        Some(program) => return Some(program.to_owned()),
        None => issues.push(CommandIssue {
            kind: CommandIssueKind::ProgramFromArgument,
            message: "the program comes from an argument".to_owned(),
            help: "a caller could run anything: the first element of argv is fixed text; write one tool for each program".to_owned(),
            place: Place::Element { index: 0, span: first.placeholders().next().map(Placeholder::span) },
        }),
    }
    None
}

fn no_program(place: Place) -> CommandIssue {
    CommandIssue {
        kind: CommandIssueKind::NoProgram,
        message: "argv names no program".to_owned(),
        help: "the first element of argv is the program, as in `argv: [git, status]`".to_owned(),
        place,
    }
}

fn variables(env: &Environment, issues: &mut Vec<CommandIssue>) {
    for (name, value) in &env.set {
        let (kind, message, help) = if name.is_empty() || name.contains(['=', '\0']) {
            (
                CommandIssueKind::VariableName,
                format!("`{}` is no name of a variable", name.escape_debug()),
                "a name is not empty, and holds neither `=` nor a NUL byte",
            )
        } else if value.contains('\0') {
            (
                CommandIssueKind::NulByte,
                format!("the value of `{name}` holds a NUL byte"),
                "no system can hand a NUL byte to a program: take it out",
            )
        } else {
            continue;
        };
        issues.push(CommandIssue { kind, message, help: help.to_owned(), place: Place::Environment { name: name.clone() } });
    }
}

/// What is wrong with the place of the idempotency key.
fn key_place(declared: &Declared<'_>, used: &[Used<'_>], signature: &Signature) -> Option<CommandIssue> {
    let (message, help) = match declared.idempotency_key? {
        KeyTo::Variable(name) if name.is_empty() || name.contains(['=', '\0']) => (
            format!("`{}` is no name of a variable", name.escape_debug()),
            "a name is not empty, and holds neither `=` nor a NUL byte".to_owned(),
        ),
        KeyTo::Variable(name) if declared.env.set.iter().any(|(set, _)| set == name) => (
            format!("the variable `{name}` is set to something else"),
            "the idempotency key would replace it: take one of them out, or give the key a variable of its own".to_owned(),
        ),
        KeyTo::Argument(name) if signature.contains_key(name.as_str()) => (
            format!("`{name}` is a property of the input schema"),
            "no caller gives the idempotency key: take it out of the schema, or give the key an argument of its own".to_owned(),
        ),
        KeyTo::Argument(name) if !used.iter().any(|used| used.placeholder.name() == name) => (
            format!("no element of argv and no stdin uses `{name}`"),
            format!("write `{{{name}}}` where the program wants the idempotency key, as in `--idempotency-key={{{name}}}`"),
        ),
        KeyTo::Variable(_) | KeyTo::Argument(_) => return None,
    };
    Some(CommandIssue { kind: CommandIssueKind::KeyPlace, message, help, place: Place::IdempotencyKey })
}

fn literals(argv: &[ArgTemplate], issues: &mut Vec<CommandIssue>) {
    for (index, element) in argv.iter().enumerate() {
        if let Some(at) = element.as_str().find('\0') {
            issues.push(CommandIssue {
                kind: CommandIssueKind::NulByte,
                message: "an element of argv holds a NUL byte".to_owned(),
                help: "no system can hand a NUL byte to a program: take it out".to_owned(),
                place: Place::Element { index, span: Some(at..at + 1) },
            });
        }
    }
}

fn used<'d>(declared: &Declared<'d>) -> Vec<Used<'d>> {
    let argv = declared.argv.iter().enumerate().flat_map(|(index, element)| {
        element.placeholders().map(move |placeholder| Used { placeholder, place: Place::Element { index, span: Some(placeholder.span()) } })
    });
    let stdin = declared.stdin.into_iter().flat_map(ArgTemplate::placeholders);
    argv.chain(stdin.map(|placeholder| Used { placeholder, place: Place::Stdin { span: placeholder.span() } })).collect()
}

fn mixed_marks(used: &[Used<'_>], issues: &mut Vec<CommandIssue>) {
    for (index, this) in used.iter().enumerate() {
        let name = this.placeholder.name();
        let first = used.iter().take(index).find(|earlier| earlier.placeholder.name() == name);
        if first.is_some_and(|first| first.placeholder.is_spread() != this.placeholder.is_spread()) {
            issues.push(CommandIssue {
                kind: CommandIssueKind::Shape,
                message: format!("`{name}` is used once with `*` and once without"),
                help: "an argument is an array or it is not: use two arguments".to_owned(),
                place: this.place.clone(),
            });
        }
    }
}

fn placeholders(used: &[Used<'_>], signature: &Signature, issues: &mut Vec<CommandIssue>) {
    for Used { placeholder, place } in used {
        let name = placeholder.name();
        if placeholder.is_spread() && matches!(place, Place::Stdin { .. }) {
            issues.push(CommandIssue {
                kind: CommandIssueKind::SpreadInStdin,
                message: format!("`{{{name}*}}` makes argv elements, and stdin has none"),
                help: format!("write `{{{name}}}`: an array is written to stdin as JSON"),
                place: place.clone(),
            });
            continue;
        }
        let Some(argument) = signature.get(name) else {
            issues.push(unknown(name, place, signature));
            continue;
        };
        issues.extend(signature::shape_issue(placeholder, argument, place.clone()));
        if !placeholder.is_optional() && !argument.required && argument.default.is_none() {
            let star = if placeholder.is_spread() { "*" } else { "" };
            issues.push(CommandIssue {
                kind: CommandIssueKind::MayBeAbsent,
                message: format!("`{{{name}{star}}}` has no value when `{name}` is absent, and the input schema does not require it"),
                help: format!("write `{{{name}{star}?}}` to leave the element out, add `{name}` to `required`, or give it a `default`"),
                place: place.clone(),
            });
        }
    }
}

fn unknown(name: &str, place: &Place, signature: &Signature) -> CommandIssue {
    let help = match nearest(name, signature.keys().map(String::as_str)) {
        Some(near) => format!("did you mean `{{{near}}}`?"),
        None if signature.is_empty() => {
            format!("the input schema has no properties: add `{name}` to it, or write `{{{{` and `}}}}` for literal braces")
        }
        None => format!(
            "the input has {}: use one of them, or add `{name}`; write `{{{{` and `}}}}` for literal braces",
            signature.keys().map(|known| format!("`{known}`")).collect::<Vec<_>>().join(", ")
        ),
    };
    CommandIssue {
        kind: CommandIssueKind::UnknownArgument,
        message: format!("`{name}` is no property of the input schema"),
        help,
        place: place.clone(),
    }
}

fn unused(used: &[Used<'_>], signature: &Signature, key: Option<&str>, issues: &mut Vec<CommandIssue>) {
    for (name, argument) in signature.iter().filter(|(name, _)| key != Some(name.as_str())) {
        if used.iter().any(|used| used.placeholder.name() == name) {
            continue;
        }
        issues.push(CommandIssue {
            kind: CommandIssueKind::UnusedArgument,
            message: format!("the argument `{name}` does nothing"),
            help: format!(
                "no element of argv and no stdin uses it: write `{{{name}}}` where it belongs, or take it out of the input schema"
            ),
            place: Place::Input { pointer: argument.pointer.clone() },
        });
    }
}

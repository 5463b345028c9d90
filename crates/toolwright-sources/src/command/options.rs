//! Where an argument could be read as an option, and what protects it.
//!
//! Three places are dangerous: the start of an element, the name of an option (`--{name}`), and the text of a script that an
//! interpreter reads. The first is checked when the tool runs, because it depends on the value; the others when it is declared.

use super::error::{CommandIssue, CommandIssueKind, Place};
use super::signature::Signature;
use super::template::{ArgTemplate, Part};

/// Programs that read a script from the element after one of these options.
const INTERPRETERS: &[(&[&str], ScriptOption)] = &[
    (&["sh", "bash", "dash", "zsh", "ksh", "mksh", "ash", "fish"], ScriptOption::Shell),
    (&["python", "python2", "python3", "pypy3"], ScriptOption::Cluster('c')),
    (&["perl", "ruby"], ScriptOption::Cluster('e')),
    (&["node", "deno", "bun"], ScriptOption::Words(&["-e", "--eval", "-p", "--print"])),
    (&["cmd"], ScriptOption::Rest(&["/c", "/C", "/k", "/K"])),
    (&["powershell", "pwsh"], ScriptOption::Rest(&["-c", "-Command", "-command"])),
];

#[derive(Clone, Copy)]
enum ScriptOption {
    /// The letter `c` among the letters behind one dash; the script is the next element that is no option.
    Shell,
    /// A letter among the letters behind one dash; the script may stand behind it in the same element.
    Cluster(char),
    /// One of these words.
    Words(&'static [&'static str]),
    /// One of these words, and every element behind it is script.
    Rest(&'static [&'static str]),
}

impl ScriptOption {
    fn is(self, word: &str) -> bool {
        match self {
            Self::Shell => letters(word).is_some_and(|letters| letters.contains('c')),
            Self::Cluster(letter) => letters(word).is_some_and(|letters| letters.contains(letter)),
            Self::Words(words) | Self::Rest(words) => words.contains(&word),
        }
    }

    /// The beginning of a script that stands in the same element, as in `-cprint(` or `--eval=f(`.
    fn attached(self, prefix: &str) -> Option<&str> {
        match self {
            Self::Shell | Self::Rest(_) => None,
            Self::Cluster(letter) => {
                let (before, script) = letters(prefix)?.split_once(letter)?;
                before.chars().all(|c| FLAGS.contains(c)).then_some(script)
            }
            Self::Words(words) => words.iter().find_map(|word| prefix.strip_prefix(word)?.strip_prefix('=')),
        }
    }
}

/// Letters that may stand before that of the script, because they take nothing for themselves.
const FLAGS: &str = "nplaswuvqbBdEIOSx";

/// What stands behind a single dash.
fn letters(word: &str) -> Option<&str> {
    word.strip_prefix('-').filter(|letters| !letters.starts_with('-'))
}

/// What protects the elements of an argv (without the program) that start with an argument.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Operands {
    /// Elements from this index on stand behind a `--`.
    pub(crate) from: Option<usize>,
    /// Whether the `--` is not in the template and has to be put before that element.
    pub(crate) insert: bool,
}

/// Finds the place of `--`, or decides it when `end_of_options` is declared. `args` is argv without the program.
pub(crate) fn operands(args: &[ArgTemplate], end_of_options: bool, issues: &mut Vec<CommandIssue>) -> Operands {
    let written = args.iter().position(|element| element.as_literal() == Some("--"));
    let first = args.iter().position(ArgTemplate::starts_with_placeholder);
    let (true, Some(first)) = (end_of_options, first) else {
        return Operands { from: written.map(|index| index + 1), insert: false };
    };
    if let Some(written) = written.filter(|&written| written < first) {
        return Operands { from: Some(written + 1), insert: false };
    }
    let behind = args.iter().enumerate().skip(first).filter(|(_, element)| element.literal_prefix().starts_with('-'));
    for (index, element) in behind {
        issues.push(option_behind(index + 1, element, args.get(first)));
    }
    Operands { from: Some(first), insert: true }
}

fn option_behind(index: usize, element: &ArgTemplate, first: Option<&ArgTemplate>) -> CommandIssue {
    let first = first.map_or("", ArgTemplate::as_str);
    CommandIssue {
        kind: CommandIssueKind::OptionAfterOperands,
        message: format!("`{element}` would stand behind the end of options"),
        help: format!(
            "`endOfOptions` puts `--` before `{first}`, the first element that starts with an argument, and the program reads nothing behind it as an option: move `{element}` before it, or leave `endOfOptions` out and write `--` where it belongs"
        ),
        place: Place::Element { index, span: None },
    }
}

/// Options whose name an argument would complete: `-{x}`, `--{x}`, `--with-{x}=1`. An argument with an `enum` may.
pub(crate) fn names_of_options(args: &[ArgTemplate], operands: Operands, signature: &Signature, issues: &mut Vec<CommandIssue>) {
    for (index, element) in args.iter().enumerate() {
        if operands.from.is_some_and(|from| index >= from) {
            continue;
        }
        for slot in names_an_option(element) {
            if signature.get(slot.name()).is_some_and(|argument| argument.choices.is_some()) {
                continue;
            }
            issues.push(CommandIssue {
                kind: CommandIssueKind::NamesOption,
                message: format!("`{{{}}}` completes the name of an option", slot.name()),
                help: format!(
                    "a caller could choose any option of the program: write the option out and give the argument its value, as in `--limit={{{0}}}`, or list the values `{0}` may have as `enum` in the input schema",
                    slot.name()
                ),
                place: Place::Element { index: index + 1, span: Some(slot.span()) },
            });
        }
    }
}

/// The placeholders of `element` that are part of the name of an option.
pub(crate) fn names_an_option(element: &ArgTemplate) -> impl Iterator<Item = &super::template::Placeholder> {
    let mut named = element.literal_prefix().starts_with('-');
    let mut text = String::new();
    element.parts().iter().filter_map(move |part| match part {
        Part::Literal(literal) => {
            text.push_str(literal);
            None
        }
        Part::Slot(slot) => {
            named = named && is_incomplete_option(&text);
            named.then_some(slot)
        }
    })
}

/// Whether what follows `text` would still belong to the name of an option. A single dash and a letter is complete: what
/// follows is the letter's value.
fn is_incomplete_option(text: &str) -> bool {
    let name = text.trim_start_matches('-');
    let is_name = name.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '-' | '_'));
    is_name && (name.is_empty() || text.starts_with("--"))
}

/// Whether an option written like this, with nothing behind it, takes its value from the next element: `-n`, but not `-n=`.
pub(crate) fn takes_next_element(prefix: &str) -> bool {
    prefix.strip_prefix('-').is_some_and(|name| !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric()))
}

/// Arguments inside the text of a script: `[sh, -c, "grep {pattern} f"]` is a shell line again. An argument that is the whole
/// script is what its author declared, a tool that runs scripts.
pub(crate) fn scripts(argv: &[ArgTemplate], issues: &mut Vec<CommandIssue>) {
    let mut interpreter: Option<(&str, ScriptOption)> = None;
    let mut script: Option<(&str, ScriptOption)> = None;
    for (index, element) in argv.iter().enumerate() {
        if let Some((name, option)) = script {
            if matches!(option, ScriptOption::Shell) && element.as_literal().is_some_and(|word| word.starts_with(['-', '+'])) {
                // `sh -c -e SCRIPT`
                continue;
            }
            let rest = matches!(option, ScriptOption::Rest(_));
            let mixed = rest || element.as_literal().is_none() && element.placeholders().count() != element.parts().len();
            for slot in element.placeholders().filter(|_| mixed) {
                issues.push(inside_script(name, slot.name(), Place::Element { index, span: Some(slot.span()) }));
            }
            script = script.filter(|_| rest);
        }
        let Some(word) = element.as_literal() else {
            attached(interpreter, index, element, issues);
            continue;
        };
        if let Some((name, option)) = interpreter_of(word) {
            interpreter = Some((name, option));
        } else if interpreter.is_some_and(|(_, option)| option.is(word)) {
            script = interpreter;
        } else if word == "-m" || (word.contains(['.', '/']) && !word.starts_with('-')) {
            // A module or a script's file: what follows is for it.
            interpreter = None;
        }
    }
}

/// An argument beside other text in a script that stands behind its option in the same element.
fn attached(interpreter: Option<(&str, ScriptOption)>, index: usize, element: &ArgTemplate, issues: &mut Vec<CommandIssue>) {
    let found = interpreter.and_then(|(name, option)| Some((name, option.attached(element.literal_prefix())?)));
    let Some((name, script)) = found else { return };
    if script.is_empty() && element.parts().len() == 2 {
        return;
    }
    for slot in element.placeholders() {
        issues.push(inside_script(name, slot.name(), Place::Element { index, span: Some(slot.span()) }));
    }
}

fn interpreter_of(word: &str) -> Option<(&str, ScriptOption)> {
    let name = word.rsplit(['/', '\\']).next()?;
    let name = name.strip_suffix(".exe").unwrap_or(name);
    INTERPRETERS.iter().find(|(names, _)| names.contains(&name)).map(|&(_, option)| (name, option))
}

fn inside_script(interpreter: &str, argument: &str, place: Place) -> CommandIssue {
    CommandIssue {
        kind: CommandIssueKind::InsideScript,
        message: format!("`{{{argument}}}` is put into the text of a script for `{interpreter}`"),
        help: format!(
            "`{interpreter}` would run whatever the argument holds: hand it over as an element of its own, as in `[sh, -c, 'grep -- \"$1\" notes.txt', sh, \"{{{argument}}}\"]`"
        ),
        place,
    }
}

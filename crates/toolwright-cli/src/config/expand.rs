//! Environment variables in the text of a file: `${VAR}`, `${env:VAR}`, `${VAR:-default}`.
//!
//! One pass: what a variable holds is never looked into again. The environment is an argument.

use std::ops::Range;

use crate::diagnostic::Span;

/// Where variables come from.
pub(crate) trait Environment {
    /// The variable's value, when it is set.
    fn variable(&self, name: &str) -> Option<String>;
}

impl<F: Fn(&str) -> Option<String>> Environment for F {
    fn variable(&self, name: &str) -> Option<String> {
        self(name)
    }
}

/// Text after expansion, with the way back to what was written.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Expanded {
    /// The text with every variable replaced.
    pub(crate) text: String,
    /// The values that came from the environment, in the order of the text.
    pub(crate) from_environment: Vec<String>,
    pieces: Vec<Piece>,
}

#[derive(Debug, PartialEq, Eq)]
struct Piece {
    expanded: Range<usize>,
    written: Range<usize>,
    literal: bool,
}

impl Expanded {
    /// The part of the written text that a part of the expanded text comes from.
    pub(crate) fn written(&self, part: &Span) -> Span {
        let start = self.written_at(part.start, false);
        let end = self.written_at(part.end, true);
        start..end.max(start)
    }

    fn written_at(&self, at: usize, end: bool) -> usize {
        let piece = self.pieces.iter().find(|piece| {
            let range = &piece.expanded;
            range.contains(&at) || (end && at > range.start && at <= range.end)
        });
        match piece.or(self.pieces.last()) {
            Some(piece) if piece.literal => (piece.written.start + at.saturating_sub(piece.expanded.start)).min(piece.written.end),
            Some(piece) if end => piece.written.end,
            Some(piece) => piece.written.start,
            None => at,
        }
    }
}

/// Why a `${...}` cannot be replaced.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Fault {
    /// The variable is not set and there is no default.
    Missing {
        /// Its name.
        variable: String,
        /// Where in the written text.
        span: Span,
    },
    /// It is written wrongly.
    Malformed {
        /// What is wrong.
        message: String,
        /// Where in the written text.
        span: Span,
    },
}

/// Replaces every variable; all faults at once.
///
/// `quote` is applied to what comes from the environment or a default, so that a value cannot
/// become template syntax where templates are read afterwards.
pub(crate) fn expand(written: &str, environment: &dyn Environment, quote: impl Fn(&str) -> String) -> Result<Expanded, Vec<Fault>> {
    let mut out = Expanded { text: String::with_capacity(written.len()), from_environment: Vec::new(), pieces: Vec::new() };
    let mut faults = Vec::new();
    let mut at = 0;
    while let Some(found) = written.get(at..).and_then(|rest| rest.find("${")) {
        let open = at + found;
        out.push(written.get(at..open).unwrap_or_default(), at..open, true);
        let Some(length) = written.get(open..).and_then(|rest| rest.find('}')) else {
            faults.push(Fault::Malformed { message: "`${` is never closed".to_owned(), span: open..open + 2 });
            return Err(faults);
        };
        let close = open + length + 1;
        let inside = written.get(open + 2..close - 1).unwrap_or_default();
        match one(inside, open, environment) {
            Ok((value, from_environment)) => {
                out.push(&quote(&value), open..close, false);
                if from_environment {
                    out.from_environment.push(value);
                }
            }
            Err(fault) => faults.push(fault),
        }
        at = close;
    }
    let end = written.len();
    out.push(written.get(at..).unwrap_or_default(), at..end, true);
    if faults.is_empty() { Ok(out) } else { Err(faults) }
}

impl Expanded {
    fn push(&mut self, text: &str, written: Range<usize>, literal: bool) {
        let start = self.text.len();
        self.text.push_str(text);
        self.pieces.push(Piece { expanded: start..self.text.len(), written, literal });
    }
}

/// What stands between the braces, and whether the environment gave it.
fn one(inside: &str, open: usize, environment: &dyn Environment) -> Result<(String, bool), Fault> {
    let start = open + 2;
    let (name, default) = match inside.split_once(":-") {
        Some((name, default)) => (name, Some(default)),
        None => (inside, None),
    };
    let prefix = if name.starts_with("env:") { 4 } else { 0 };
    let name = name.get(prefix..).unwrap_or_default();
    if !is_name(name) {
        let message = match name {
            "" => "a variable's name is missing".to_owned(),
            name => format!("`{name}` is no variable's name"),
        };
        let span = start + prefix..start + prefix + name.len();
        return Err(Fault::Malformed { message, span });
    }
    if let Some(at) = default.and_then(|default| default.find("${")) {
        let start = start + inside.find(":-").unwrap_or_default() + 2 + at;
        return Err(Fault::Malformed { message: "a default is text and holds no variables".to_owned(), span: start..start + 2 });
    }
    match (environment.variable(name), default) {
        (Some(value), None) => Ok((value, true)),
        (Some(value), Some(_)) if !value.is_empty() => Ok((value, true)),
        (_, Some(default)) => Ok((default.to_owned(), false)),
        (None, None) => Err(Fault::Missing { variable: name.to_owned(), span: open..start + inside.len() + 1 }),
    }
}

fn is_name(name: &str) -> bool {
    let mut characters = name.chars();
    characters.next().is_some_and(|c| c.is_ascii_alphabetic() || c == '_') && characters.all(|c| c.is_ascii_alphanumeric() || c == '_')
}

#[cfg(test)]
mod tests {
    use super::{Expanded, Fault, expand};

    fn environment(name: &str) -> Option<String> {
        match name {
            "TOK" => Some("t-${HOME}-1".to_owned()),
            "EMPTY" => Some(String::new()),
            "BRACES" => Some("{x}".to_owned()),
            _ => None,
        }
    }

    fn run(text: &str) -> Result<Expanded, Vec<Fault>> {
        expand(text, &environment, str::to_owned)
    }

    #[test]
    fn every_form_expands_once() {
        for (written, expanded) in [
            ("${TOK}", "t-${HOME}-1"),
            ("${env:TOK}", "t-${HOME}-1"),
            ("${MISSING:-dflt}", "dflt"),
            ("${env:MISSING:-a:-b}", "a:-b"),
            ("$TOK", "$TOK"),
            ("$$TOK $", "$$TOK $"),
            ("${TOK}-${TOK}", "t-${HOME}-1-t-${HOME}-1"),
            ("${EMPTY}", ""),
            ("${EMPTY:-x}", "x"),
            ("${MISSING:-}", ""),
            ("${DOLLAR:-$}{x}", "${x}"),
            ("ä${TOK}ö", "ät-${HOME}-1ö"),
        ] {
            assert_eq!(run(written).unwrap().text, expanded, "{written}");
        }
    }

    #[test]
    fn every_fault_is_told_at_once() {
        let faults = run("a ${MISSING} ${1x} ${A:-${B}} ${}").unwrap_err();
        let spans: Vec<_> = faults
            .iter()
            .map(|fault| match fault {
                Fault::Missing { span, .. } | Fault::Malformed { span, .. } => span.clone(),
            })
            .collect();
        assert_eq!(spans, [2..12, 15..17, 24..26, 32..32]);
        assert!(matches!(&faults[0], Fault::Missing { variable, .. } if variable == "MISSING"));
        assert!(run("a ${TOK").is_err());
    }

    #[test]
    fn values_are_quoted_and_known() {
        let expanded = expand("--x={n} ${BRACES} {", &environment, |value| value.replace('{', "{{").replace('}', "}}")).unwrap();
        assert_eq!(expanded.text, "--x={n} {{x}} {");
        assert_eq!(expanded.from_environment, ["{x}"]);
        assert_eq!(expanded.written(&(14..15)), 18..19);
        assert_eq!(expanded.written(&(4..7)), 4..7);
        assert_eq!(expanded.written(&(9..11)), 8..17);
    }
}

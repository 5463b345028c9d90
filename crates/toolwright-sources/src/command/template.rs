//! The template of one argv element (or of stdin): literal text and `{name}` placeholders.
//!
//! Only the grammar lives here. It knows nothing about schemas, arguments or processes; spans are byte ranges inside the text.

use std::fmt;
use std::ops::Range;

/// One element of an argv template, parsed: it renders to one argv element, to none (`{name?}`), or to many (`{names*}`).
///
/// | text | meaning |
/// | --- | --- |
/// | `{name}` | the argument `name` |
/// | `{name?}` | the same; the whole element is left out when the argument is absent or null |
/// | `{names*}` | alone in its element: an array, one element for each item |
/// | `{names*?}` | the same; an absent or null argument counts as an empty array |
/// | `{{` and `}}` | a literal `{` and `}` |
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ArgTemplate {
    text: String,
    parts: Vec<Part>,
}

/// A piece of a template.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Part {
    /// Text that is printed as it stands, braces already unescaped.
    Literal(String),
    /// A place for an argument.
    Slot(Placeholder),
}

/// A place for an argument inside a template.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Placeholder {
    name: String,
    optional: bool,
    spread: bool,
    span: Range<usize>,
}

impl Placeholder {
    /// The name of the argument.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Whether it is written with `?`: the element is left out when the argument is absent or null.
    pub fn is_optional(&self) -> bool {
        self.optional
    }

    /// Whether it is written with `*`: an array that becomes one element for each item.
    pub fn is_spread(&self) -> bool {
        self.spread
    }

    /// Where it stands in the text, in bytes, with its braces.
    pub fn span(&self) -> Range<usize> {
        self.span.clone()
    }
}

/// Why a text is no template, and where.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct TemplateError {
    /// Which rule was broken.
    pub kind: TemplateErrorKind,
    /// What is wrong, in one line.
    pub message: String,
    /// Why, and what to write instead.
    pub help: String,
    /// Where in the text, in bytes; always on character boundaries.
    pub span: Range<usize>,
}

/// The rules a template can break.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum TemplateErrorKind {
    /// A `{` without its `}`.
    Unclosed,
    /// A `}` that closes nothing.
    StrayBrace,
    /// Braces without a name between them.
    NoName,
    /// Text between braces that cannot be the name of an argument.
    BadName,
    /// The marks `*` and `?` in the wrong order or more than once.
    BadMarks,
    /// A `{names*}` that shares its element with something else.
    SpreadNotAlone,
}

impl TemplateErrorKind {
    /// Every rule, in the order of this enum.
    pub const ALL: [Self; 6] = [Self::Unclosed, Self::StrayBrace, Self::NoName, Self::BadName, Self::BadMarks, Self::SpreadNotAlone];

    /// A text that breaks this rule and no other.
    pub fn example(self) -> &'static str {
        match self {
            Self::Unclosed => "--max-count={limit",
            Self::StrayBrace => "limit}",
            Self::NoName => "{}",
            Self::BadName => "{print $1}",
            Self::BadMarks => "{names?*}",
            Self::SpreadNotAlone => "--include={globs*}",
        }
    }
}

impl ArgTemplate {
    /// Reads the template of one element.
    ///
    /// # Errors
    /// The first rule that is broken, with its place in `text`.
    pub fn parse(text: &str) -> Result<Self, TemplateError> {
        let parts = Parser { text, at: 0, literal: String::new(), parts: Vec::new() }.run()?;
        check_spread_alone(&parts)?;
        Ok(Self { text: text.to_owned(), parts })
    }

    /// A template that prints exactly `text`, whatever braces it holds.
    pub fn literal(text: impl Into<String>) -> Self {
        let literal = text.into();
        let text = literal.replace('{', "{{").replace('}', "}}");
        let parts = if literal.is_empty() { Vec::new() } else { vec![Part::Literal(literal)] };
        Self { text, parts }
    }

    /// The text it was read from.
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// The names of its arguments in order of appearance; a name that is used twice comes twice.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.placeholders().map(Placeholder::name)
    }

    /// Its places for arguments in order of appearance.
    pub fn placeholders(&self) -> impl Iterator<Item = &Placeholder> {
        self.parts.iter().filter_map(|part| match part {
            Part::Slot(slot) => Some(slot),
            Part::Literal(_) => None,
        })
    }

    pub(crate) fn parts(&self) -> &[Part] {
        &self.parts
    }

    /// The text it always prints, when it has no placeholder.
    pub(crate) fn as_literal(&self) -> Option<&str> {
        match self.parts.as_slice() {
            [] => Some(""),
            [Part::Literal(text)] => Some(text),
            _ => None,
        }
    }

    /// Whether the first thing it prints is an argument, so that the argument could be read as an option.
    pub(crate) fn starts_with_placeholder(&self) -> bool {
        matches!(self.parts.first(), Some(Part::Slot(_)))
    }

    /// The literal text it starts with; empty when it starts with a placeholder.
    pub(crate) fn literal_prefix(&self) -> &str {
        match self.parts.first() {
            Some(Part::Literal(text)) => text,
            _ => "",
        }
    }

    /// The placeholder of an element that is nothing but `{names*}`.
    pub(crate) fn as_spread(&self) -> Option<&Placeholder> {
        match self.parts.as_slice() {
            [Part::Slot(slot)] if slot.spread => Some(slot),
            _ => None,
        }
    }
}

impl fmt::Display for ArgTemplate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl std::str::FromStr for ArgTemplate {
    type Err = TemplateError;

    fn from_str(text: &str) -> Result<Self, TemplateError> {
        Self::parse(text)
    }
}

struct Parser<'t> {
    text: &'t str,
    at: usize,
    literal: String,
    parts: Vec<Part>,
}

impl<'t> Parser<'t> {
    fn run(mut self) -> Result<Vec<Part>, TemplateError> {
        while let Some(offset) = self.rest().find(['{', '}']) {
            let (before, from_brace) = self.rest().split_at(offset);
            self.literal.push_str(before);
            self.at += offset;
            if from_brace.starts_with("{{") {
                self.escaped('{');
            } else if from_brace.starts_with("}}") {
                self.escaped('}');
            } else if from_brace.starts_with('{') {
                self.slot()?;
            } else {
                return Err(stray_brace(self.at));
            }
        }
        let rest = self.rest();
        self.literal.push_str(rest);
        self.flush();
        Ok(self.parts)
    }

    fn rest(&self) -> &'t str {
        self.text.get(self.at..).unwrap_or_default()
    }

    fn escaped(&mut self, brace: char) {
        self.literal.push(brace);
        self.at += 2;
    }

    fn flush(&mut self) {
        if !self.literal.is_empty() {
            self.parts.push(Part::Literal(std::mem::take(&mut self.literal)));
        }
    }

    fn slot(&mut self) -> Result<(), TemplateError> {
        let rest = self.rest();
        let inner = rest.strip_prefix('{').unwrap_or_default();
        let Some(length) = inner.find('}') else {
            return Err(unclosed(self.at..self.text.len(), inner));
        };
        let (inside, _) = inner.split_at(length);
        let span = self.at..self.at + length + 2;
        let placeholder = placeholder(inside, span.clone())?;
        self.flush();
        self.parts.push(Part::Slot(placeholder));
        self.at = span.end;
        Ok(())
    }
}

fn placeholder(inside: &str, span: Range<usize>) -> Result<Placeholder, TemplateError> {
    let name = inside.trim_end_matches(['?', '*']);
    let marks = inside.strip_prefix(name).unwrap_or_default();
    if name.is_empty() {
        return Err(no_name(inside, span));
    }
    if let Some(bad) = name.chars().find(|&c| !is_name_character(c)) {
        return Err(bad_name(inside, bad, span));
    }
    let (spread, optional) = match marks {
        "" => (false, false),
        "?" => (false, true),
        "*" => (true, false),
        "*?" => (true, true),
        _ => return Err(bad_marks(name, marks, span)),
    };
    Ok(Placeholder { name: name.to_owned(), optional, spread, span })
}

fn is_name_character(c: char) -> bool {
    c.is_alphanumeric() || matches!(c, '_' | '-' | '.' | '$' | '@')
}

fn check_spread_alone(parts: &[Part]) -> Result<(), TemplateError> {
    if parts.len() < 2 {
        return Ok(());
    }
    let spread = parts.iter().find_map(|part| match part {
        Part::Slot(slot) if slot.spread => Some(slot),
        _ => None,
    });
    spread.map_or(Ok(()), |slot| {
        Err(TemplateError {
            kind: TemplateErrorKind::SpreadNotAlone,
            message: format!("`{{{}*}}` shares its element with other text", slot.name),
            help: format!(
                "`*` turns an array into one argv element for each item, so it stands alone: write `{{{}*}}` as an element of its own",
                slot.name
            ),
            span: slot.span.clone(),
        })
    })
}

fn stray_brace(at: usize) -> TemplateError {
    TemplateError {
        kind: TemplateErrorKind::StrayBrace,
        message: "`}` closes nothing".to_owned(),
        help: "braces hold the name of an argument, as in `{path}`; write `}}` for a literal `}`".to_owned(),
        span: at..at + 1,
    }
}

fn unclosed(span: Range<usize>, inner: &str) -> TemplateError {
    let name: String = inner.chars().take_while(|&c| is_name_character(c)).collect();
    let help = if name.is_empty() {
        "write `{{` for a literal `{`, or `{name}` for the argument `name`".to_owned()
    } else {
        format!("write `{{{name}}}` for the argument `{name}`, or `{{{{` for a literal `{{`")
    };
    TemplateError { kind: TemplateErrorKind::Unclosed, message: "`{` is never closed".to_owned(), help, span }
}

fn no_name(inside: &str, span: Range<usize>) -> TemplateError {
    TemplateError {
        kind: TemplateErrorKind::NoName,
        message: format!("`{{{inside}}}` names no argument"),
        help: "write the name of a property of the input between the braces, as in `{path}`; `{{}}` prints a literal `{}`".to_owned(),
        span,
    }
}

fn bad_name(inside: &str, bad: char, span: Range<usize>) -> TemplateError {
    let trimmed = inside.trim();
    let help = if trimmed != inside && !trimmed.is_empty() && trimmed.chars().all(|c| is_name_character(c) || "?*".contains(c)) {
        format!("write `{{{trimmed}}}`, without blanks")
    } else {
        "a name holds letters, digits, `_`, `-`, `.`, `$` and `@`; if the braces belong to the program's own language, write `{{` and `}}`"
            .to_owned()
    };
    TemplateError {
        kind: TemplateErrorKind::BadName,
        message: format!("`{}` is no name of an argument: it holds {}", shown(inside), character(bad)),
        help,
        span,
    }
}

fn bad_marks(name: &str, marks: &str, span: Range<usize>) -> TemplateError {
    let wanted = if marks.contains('*') && marks.contains('?') {
        "*?"
    } else if marks.contains('*') {
        "*"
    } else {
        "?"
    };
    TemplateError {
        kind: TemplateErrorKind::BadMarks,
        message: format!("`{marks}` after `{name}` is no mark"),
        help: format!(
            "`?` leaves the element out when the argument is absent, `*` makes one element of each item, `*?` does both: write `{{{name}{wanted}}}`"
        ),
        span,
    }
}

/// User text for a message: one line, not endless.
fn shown(text: &str) -> String {
    const CHARS_MAX: usize = 60;
    let mut shown: String = text.chars().take(CHARS_MAX).flat_map(char::escape_debug).collect();
    if text.chars().nth(CHARS_MAX).is_some() {
        shown.push('…');
    }
    shown
}

fn character(c: char) -> String {
    match c {
        ' ' => "a blank".to_owned(),
        '\n' => "a line break".to_owned(),
        other => format!("`{}`", other.escape_debug()),
    }
}

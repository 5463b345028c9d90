//! Reads one text. Knows the two grammars and nothing about steps or values.

use std::ops::Range;

use super::error::{Expected, ReferenceError};
use crate::value::Text;

/// Where a reference starts.
///
/// ```
/// use toolwright::reference::{Root, parse::Parsed, parse_strict};
/// let Parsed::Reference(reference) = parse_strict(&"$steps.search".into())? else { return Ok(()) };
/// assert_eq!(reference.root, Root::StepNamed("search".into()));
/// # Ok::<(), toolwright::reference::ReferenceError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Root {
    /// `$input`
    Input,
    /// `$prev`
    Prev,
    /// `$steps[0]`; a position too large for any composite is kept as the largest.
    StepAt(usize),
    /// `$steps.search` or `$steps["search"]`
    StepNamed(Text),
}

/// One step of a path.
///
/// ```
/// use toolwright::reference::{parse::Parsed, parse_strict};
/// let Parsed::Reference(reference) = parse_strict(&"$input.items[2]".into())? else { return Ok(()) };
/// assert_eq!(reference.path[0].key.as_deref(), Some("items"));
/// assert_eq!(reference.path[1].index, Some(2));
/// # Ok::<(), toolwright::reference::ReferenceError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Segment {
    /// The member to take when the value is an object; none for `[0]`.
    pub key: Option<Text>,
    /// The position to take when the value is an array; none for `.name` and `["0"]`.
    pub index: Option<u32>,
    /// Bytes of the text that say it, without the dot or brackets.
    pub span: Range<usize>,
}

/// A reference that was read. Every part keeps its place in the text.
///
/// An editor marks places by it.
///
/// ```
/// use toolwright::reference::{parse::Parsed, parse_strict};
/// let Parsed::Reference(reference) = parse_strict(&"$prev.snippet?".into())? else { return Ok(()) };
/// assert!(reference.optional);
/// assert_eq!(&reference.text[reference.root_span.clone()], "$prev");
/// # Ok::<(), toolwright::reference::ReferenceError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reference {
    /// The text as written.
    pub text: Text,
    /// Where it starts.
    pub root: Root,
    /// Bytes of the text that say the root.
    pub root_span: Range<usize>,
    /// The way from there.
    pub path: Vec<Segment>,
    /// `?` at the end: a missing value leaves the member out.
    pub optional: bool,
}

/// What a text in a mapping is.
///
/// ```
/// use toolwright::reference::{parse::Parsed, parse_page, parse_strict};
/// assert_eq!(parse_strict(&"$$5".into())?, Parsed::Literal("$5".into()));
/// assert_eq!(parse_page(&"$5".into()), Parsed::Unresolved("$5".into()));
/// # Ok::<(), toolwright::reference::ReferenceError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Parsed {
    /// A reference.
    Reference(Reference),
    /// Text, after removing an escape.
    Literal(Text),
    /// Page dialect only: `$…` that is none of the six forms, used as it stands.
    Unresolved(Text),
}

/// Reads one text of a mapping in the strict dialect.
///
/// `$` followed by anything but a letter is text; `$$x` is the text `$x`; a lone `$$` is itself.
///
/// # Errors
/// [`ReferenceError::Syntax`] with the offending bytes when `$` and a letter do not make a reference.
///
/// ```
/// use toolwright::reference::{parse::Parsed, parse_strict};
/// assert!(matches!(parse_strict(&"$prev.snippet".into())?, Parsed::Reference(_)));
/// assert!(parse_strict(&"$typo".into()).is_err());
/// # Ok::<(), toolwright::reference::ReferenceError>(())
/// ```
pub fn parse_strict(text: &Text) -> Result<Parsed, ReferenceError> {
    let Some(rest) = text.strip_prefix('$') else {
        return Ok(Parsed::Literal(text.clone()));
    };
    if rest.starts_with('$') && rest.len() > 1 {
        return Ok(Parsed::Literal(rest.into()));
    }
    if !rest.starts_with(char::is_alphabetic) {
        return Ok(Parsed::Literal(text.clone()));
    }
    Strict { text, at: 1, guesses: GUESSES_MAX }.reference().map(Parsed::Reference)
}

/// A guess may need a guess of its own: `$step.0` is `$steps.0`, which is `$steps[0]`.
const GUESSES_MAX: u8 = 2;

/// Whether a character can stand in a name after a dot.
fn is_name(c: char) -> bool {
    c.is_alphanumeric() || matches!(c, '_' | '-' | '$' | '@' | ':')
}

struct Strict<'a> {
    text: &'a Text,
    at: usize,
    /// How often a suggestion may still be guessed.
    guesses: u8,
}

impl Strict<'_> {
    fn reference(mut self) -> Result<Reference, ReferenceError> {
        let word = self.word();
        let mut root_span = 0..self.at;
        let root = match &self.text[word.clone()] {
            "input" => Root::Input,
            "prev" => Root::Prev,
            "steps" => {
                let root = self.step()?;
                root_span = 0..self.at;
                root
            }
            other => {
                let nearest = crate::nearest::nearest(other, ["input", "prev", "steps"]).map(|root| {
                    let tail = &self.text[word.end..];
                    let root = if root == "steps" && tail.is_empty() { "steps[0]" } else { root };
                    format!("${root}{tail}")
                });
                return Err(self.wrong(word, Expected::Root, nearest));
            }
        };
        let mut path = Vec::new();
        let mut optional = false;
        while let Some(next) = self.peek() {
            match next {
                '.' => path.push(self.dot()?),
                '[' => path.push(self.bracket()?),
                '?' => {
                    self.at += 1;
                    if self.at < self.text.len() {
                        let nearest = format!("{}{}?", &self.text[..self.at - 1], self.rest().trim_end_matches('?'));
                        return Err(self.wrong(self.at..self.text.len(), Expected::EndAfterOptional, Some(nearest)));
                    }
                    optional = true;
                }
                other => {
                    let nearest = self.as_one_key(path.last());
                    return Err(self.wrong(self.at..self.at + other.len_utf8(), Expected::PathOrEnd, Some(nearest)));
                }
            }
        }
        Ok(Reference { text: self.text.clone(), root, root_span, path, optional })
    }

    /// `$input.first name` with its last name and the rest as one quoted key.
    fn as_one_key(&self, last: Option<&Segment>) -> String {
        let head = &self.text[..self.at];
        if self.rest().trim().is_empty() {
            return head.to_owned();
        }
        match last.filter(|last| head[..last.span.start].ends_with('.')) {
            Some(last) => format!("{}[{}]", &head[..last.span.start - 1], quoted(self.text[last.span.start..].trim())),
            None => format!("{head}[{}]", quoted(self.rest().trim())),
        }
    }

    fn step(&mut self) -> Result<Root, ReferenceError> {
        match self.peek() {
            Some('[') => {
                let segment = self.bracket()?;
                Ok(match (segment.key, segment.index) {
                    (Some(name), _) => Root::StepNamed(name),
                    (None, index) => Root::StepAt(index.map_or(usize::MAX, |index| index as usize)),
                })
            }
            Some('.') => {
                let segment = self.dot()?;
                match (segment.key, segment.index) {
                    (Some(digits), Some(_)) => {
                        let nearest = format!("$steps[{digits}]{}", &self.text[self.at..]);
                        Err(self.wrong(segment.span, Expected::Step, Some(nearest)))
                    }
                    (Some(name), None) => Ok(Root::StepNamed(name)),
                    (None, _) => Err(self.wrong(segment.span, Expected::Step, None)),
                }
            }
            _ => {
                let nearest = format!("$steps[0]{}", &self.text[self.at..]);
                Err(self.wrong(self.here(), Expected::Step, Some(nearest)))
            }
        }
    }

    fn dot(&mut self) -> Result<Segment, ReferenceError> {
        self.at += 1;
        let start = self.at;
        let len = self.rest().find(|c| !is_name(c)).unwrap_or(self.rest().len());
        if len == 0 {
            let nearest = match self.peek() {
                None => self.text[..start - 1].to_owned(),
                Some('.' | '[' | '?') => format!("{}{}", &self.text[..start - 1], self.rest()),
                Some(_) => format!("{}[{}]", &self.text[..start - 1], quoted(self.rest())),
            };
            return Err(self.wrong(self.here(), Expected::Name, Some(nearest)));
        }
        self.at += len;
        let span = start..self.at;
        let key: Text = self.text[span.clone()].into();
        let index = canonical_index(&key);
        Ok(Segment { key: Some(key), index, span })
    }

    fn bracket(&mut self) -> Result<Segment, ReferenceError> {
        self.at += 1;
        let start = self.at;
        let segment = match self.peek() {
            Some('"') => {
                let key = self.quoted_key()?;
                Segment { key: Some(key), index: None, span: start..self.at }
            }
            Some(c) if c.is_ascii_digit() => {
                let len = self.rest().find(|c: char| !c.is_ascii_digit()).unwrap_or(self.rest().len());
                self.at += len;
                let digits = &self.text[start..self.at];
                let Some(index) = canonical_index(digits) else {
                    let trimmed = digits.trim_start_matches('0');
                    let nearest = canonical_index(if trimmed.is_empty() { "0" } else { trimmed })
                        .map(|index| format!("{}{index}{}", &self.text[..start], self.rest()));
                    return Err(self.wrong(start..self.at, Expected::CanonicalIndex, nearest));
                };
                Segment { key: None, index: Some(index), span: start..self.at }
            }
            _ => {
                let rest = self.rest();
                let end = rest.find(']').unwrap_or(rest.len());
                let inside = rest[..end].trim_matches(['\'', '`', ' ']);
                let after = rest.get(end + 1..).unwrap_or_default();
                let head = &self.text[..start];
                // A position from the end is no key: what is meant cannot be written.
                let from_the_end =
                    inside.strip_prefix('-').is_some_and(|digits| !digits.is_empty() && digits.bytes().all(|digit| digit.is_ascii_digit()));
                let nearest = match inside {
                    _ if from_the_end => None,
                    "" => Some(format!("{head}0]{after}")),
                    key => Some(format!("{head}{}]{after}", quoted(key))),
                };
                let bad = if end == 0 { start - 1..(start + 1).min(self.text.len()) } else { start..start + end };
                return Err(self.wrong(bad, Expected::Bracket, nearest));
            }
        };
        if self.peek() == Some(']') {
            self.at += 1;
            return Ok(segment);
        }
        let nearest = format!("{}]{}", &self.text[..self.at], self.rest());
        Err(self.wrong(self.here(), Expected::ClosingBracket, Some(nearest)))
    }

    fn quoted_key(&mut self) -> Result<Text, ReferenceError> {
        let start = self.at;
        let mut escaped = false;
        for (offset, c) in self.rest().char_indices().skip(1) {
            match c {
                _ if escaped => escaped = false,
                '\\' => escaped = true,
                '"' => {
                    self.at = start + offset + 1;
                    return match serde_json::from_str::<String>(&self.text[start..self.at]) {
                        Ok(key) => Ok(key.into()),
                        Err(_) => Err(self.wrong(start..self.at, Expected::Escape, None)),
                    };
                }
                _ => {}
            }
        }
        let nearest = format!("{}\"]", self.text.trim_end_matches(']'));
        Err(self.wrong(start..self.text.len(), Expected::ClosingQuote, Some(nearest)))
    }

    fn rest(&self) -> &str {
        &self.text[self.at..]
    }

    fn peek(&self) -> Option<char> {
        self.rest().chars().next()
    }

    /// The character at hand, or the empty place at the end.
    fn here(&self) -> Range<usize> {
        self.at..self.at + self.peek().map_or(0, char::len_utf8)
    }

    fn word(&mut self) -> Range<usize> {
        let start = self.at;
        let len = self.rest().find(|c: char| !(c.is_alphanumeric() || c == '_' || c == '-')).unwrap_or(self.rest().len());
        self.at += len;
        start..self.at
    }

    fn wrong(&self, span: Range<usize>, expected: Expected, nearest: Option<String>) -> ReferenceError {
        let nearest = nearest.and_then(|nearest| self.corrected(nearest));
        ReferenceError::Syntax { text: self.text.to_string(), span, expected, nearest }
    }

    /// A suggestion must itself be right.
    fn corrected(&self, nearest: String) -> Option<String> {
        let guesses = self.guesses.checked_sub(1)?;
        match (Strict { text: &nearest.as_str().into(), at: 1, guesses }).reference() {
            Ok(_) => Some(nearest),
            Err(ReferenceError::Syntax { nearest, .. }) => nearest,
            Err(_) => None,
        }
    }
}

fn quoted(key: &str) -> String {
    serde_json::Value::from(key).to_string()
}

/// `0`, `7`, `42`, but not `01`, `-1` or numbers no array can have.
pub(crate) fn canonical_index(digits: &str) -> Option<u32> {
    let canonical = digits == "0" || (!digits.starts_with('0') && !digits.is_empty());
    if canonical && digits.bytes().all(|b| b.is_ascii_digit()) { digits.parse().ok() } else { None }
}

/// Reads one text of a mapping in the page's dialect: `$input`, `$prev`, `$steps[N]`,
/// each alone or followed by `.` and a path split on dots. Never fails.
///
/// ```
/// use toolwright::reference::{parse::Parsed, parse_page};
/// assert!(matches!(parse_page(&"$steps[0].title".into()), Parsed::Reference(_)));
/// assert!(matches!(parse_page(&"$typo".into()), Parsed::Unresolved(_)));
/// ```
pub fn parse_page(text: &Text) -> Parsed {
    if !text.starts_with('$') {
        return Parsed::Literal(text.clone());
    }
    let Some((root, end)) = page_root(text) else {
        return Parsed::Unresolved(text.clone());
    };
    let mut path = Vec::new();
    match text[end..].strip_prefix('.') {
        _ if end == text.len() => {}
        None => return Parsed::Unresolved(text.clone()),
        Some(tail) => {
            let mut at = end + 1;
            for key in tail.split('.') {
                path.push(Segment { key: Some(key.into()), index: canonical_index(key), span: at..at + key.len() });
                at += key.len() + 1;
            }
        }
    }
    Parsed::Reference(Reference { text: text.clone(), root, root_span: 0..end, path, optional: true })
}

fn page_root(text: &str) -> Option<(Root, usize)> {
    for (word, root) in [("$input", Root::Input), ("$prev", Root::Prev)] {
        if text.starts_with(word) {
            return Some((root, word.len()));
        }
    }
    let digits = text.strip_prefix("$steps[")?;
    let (digits, _) = digits.split_once(']')?;
    if digits.is_empty() || !digits.bytes().all(|b| b.is_ascii_digit()) {
        return None;
    }
    // Leading zeros are allowed here; a position beyond usize names no step.
    let trimmed = digits.trim_start_matches('0');
    let at = if trimmed.is_empty() { 0 } else { trimmed.parse().unwrap_or(usize::MAX) };
    Some((Root::StepAt(at), "$steps[".len() + digits.len() + 1))
}

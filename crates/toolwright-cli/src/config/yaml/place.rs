//! From a part of a scalar's text back to its bytes in the file.

use super::{Scalar, Style};
use crate::diagnostic::Span;

/// The bytes of `part` of the scalar's text, when the way back is clear.
pub(super) fn part(file: &str, span: &Span, scalar: &Scalar, part: &Span) -> Option<Span> {
    if part.start > part.end || part.end > scalar.text.len() {
        return None;
    }
    let source = file.get(span.clone())?;
    let map = match scalar.style {
        Style::Plain => same(source, &scalar.text)?,
        Style::Single => single(source, &scalar.text)?,
        Style::Double => double(source, &scalar.text)?,
        Style::Block => block(file, span, &scalar.text)?,
    };
    let start = map.get(part.start).copied()?;
    let end = map.get(part.end).copied()?;
    let start = span.start + start;
    let end = (span.start + end).max(start);
    // An empty part (something is missing at the end) still wants a place for the caret.
    let end = if part.is_empty() { (end + 1).min(file.len()).max(start) } else { end };
    (file.is_char_boundary(start) && file.is_char_boundary(end)).then_some(start..end)
}

/// For each byte of the text, and for its end, the byte of the source it came from.
type Map = Vec<usize>;

fn same(source: &str, text: &str) -> Option<Map> {
    (source == text).then(|| (0..=text.len()).collect())
}

/// `'it''s'`: a doubled quote is one character; folded lines are given up.
fn single(source: &str, text: &str) -> Option<Map> {
    let inner = source.strip_prefix('\'')?.strip_suffix('\'')?;
    let mut map = Map::with_capacity(text.len() + 1);
    let mut decoded = String::with_capacity(text.len());
    let mut characters = inner.char_indices().peekable();
    while let Some((at, c)) = characters.next() {
        push(&mut map, &mut decoded, at + 1, c);
        if c == '\'' && characters.peek().is_some_and(|(_, next)| *next == '\'') {
            characters.next();
        }
    }
    map.push(inner.len() + 1);
    (decoded == text).then_some(map)
}

/// `"\u00e9"`: an escape is one character; folded lines are given up.
fn double(source: &str, text: &str) -> Option<Map> {
    let inner = source.strip_prefix('"')?.strip_suffix('"')?;
    let mut map = Map::with_capacity(text.len() + 1);
    let mut decoded = String::with_capacity(text.len());
    let mut at = 0;
    while let Some(c) = inner.get(at..)?.chars().next() {
        let (c, length) = match c {
            '\\' => escape(inner.get(at + 1..)?).map(|(c, length)| (c, length + 1))?,
            c => (c, c.len_utf8()),
        };
        push(&mut map, &mut decoded, at + 1, c);
        at += length;
    }
    map.push(inner.len() + 1);
    (decoded == text).then_some(map)
}

/// The character that an escape stands for and its length without the backslash.
fn escape(rest: &str) -> Option<(char, usize)> {
    let kind = rest.chars().next()?;
    let simple = match kind {
        '0' => '\0',
        'a' => '\x07',
        'b' => '\x08',
        't' | '\t' => '\t',
        'n' => '\n',
        'v' => '\x0b',
        'f' => '\x0c',
        'r' => '\r',
        'e' => '\x1b',
        'N' => '\u{85}',
        '_' => '\u{a0}',
        'L' => '\u{2028}',
        'P' => '\u{2029}',
        ' ' | '"' | '/' | '\\' => kind,
        'x' => return hex(rest, 2).and_then(char::from_u32).map(|c| (c, 3)),
        'U' => return hex(rest, 8).and_then(char::from_u32).map(|c| (c, 9)),
        'u' => return unicode(rest),
        _ => return None,
    };
    Some((simple, kind.len_utf8()))
}

/// `u00e9`, or a surrogate pair `ud83d\ude00` as JSON writes it.
fn unicode(rest: &str) -> Option<(char, usize)> {
    let first = hex(rest, 4)?;
    if !(0xd800..0xdc00).contains(&first) {
        return char::from_u32(first).map(|c| (c, 5));
    }
    let second = hex(rest.get(5..)?.strip_prefix('\\')?, 4)?;
    let low = second.checked_sub(0xdc00).filter(|low| *low < 0x400)?;
    char::from_u32(0x10000 + ((first - 0xd800) << 10) + low).map(|c| (c, 11))
}

fn hex(rest: &str, digits: usize) -> Option<u32> {
    u32::from_str_radix(rest.get(1..=digits)?, 16).ok()
}

fn push(map: &mut Map, decoded: &mut String, at: usize, c: char) {
    map.extend(std::iter::repeat_n(at, c.len_utf8()));
    decoded.push(c);
}

/// A literal block: each line of the text is a line of the file without its indentation.
fn block(file: &str, span: &Span, text: &str) -> Option<Map> {
    // The span of a block begins after the first line's indentation; go back to the line's start.
    let start = file.get(..span.start)?.rfind('\n').map_or(0, |at| at + 1);
    let mut lines = file.get(start..)?.split_inclusive('\n');
    let mut map = Map::with_capacity(text.len() + 1);
    let mut line_start = start;
    for wanted in text.split_inclusive('\n') {
        let line = lines.next()?;
        let body = line.trim_end_matches(['\n', '\r']);
        let wanted_body = wanted.trim_end_matches('\n');
        let indent = body.len().checked_sub(wanted_body.len())?;
        let (blank, rest) = body.split_at_checked(indent)?;
        if rest != wanted_body || !blank.chars().all(|c| c == ' ') {
            return None;
        }
        let from = (line_start + indent).checked_sub(span.start)?;
        map.extend((0..wanted.len()).map(|at| from + at));
        line_start += line.len();
    }
    let end = map.last().map_or(0, |last| last + 1);
    map.push(end);
    Some(map)
}

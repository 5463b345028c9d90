//! Moving over the text: white space, words and strings.

use super::super::error::ParseErrorKind;
use super::{Fault, LoneSurrogates};

const ONES: u64 = u64::MAX / 255;
const HIGHS: u64 = ONES << 7;

/// A bit for every byte that a string cannot hold as it is: quotes, backslashes, control characters.
///
/// Only the lowest bit is certain; that is the one that gets used.
fn special(word: u64) -> u64 {
    let zero_byte = |word: u64| word.wrapping_sub(ONES) & !word;
    let quote = zero_byte(word ^ (ONES * 0x22));
    let backslash = zero_byte(word ^ (ONES * 0x5C));
    let control = word.wrapping_sub(ONES * 0x20) & !word;
    (quote | backslash | control) & HIGHS
}

/// The offset of the next quote, backslash or control character from `at` on, or of the end.
pub(crate) fn plain_end(bytes: &[u8], mut at: usize) -> usize {
    const BLOCK: usize = 32;
    // Most strings are short; two words before the first block.
    let mut words = 2;
    while let Some(chunk) = bytes.get(at..).and_then(|rest| rest.first_chunk::<8>()) {
        let hits = special(u64::from_le_bytes(*chunk));
        if hits != 0 {
            return at + (hits.trailing_zeros() / 8) as usize;
        }
        at += 8;
        words -= 1;
        if words == 0 {
            while let Some(block) = bytes.get(at..).and_then(|rest| rest.first_chunk::<BLOCK>())
                && is_plain(block)
            {
                at += BLOCK;
            }
            // The block that is not plain has four words.
            words = 4;
        }
    }
    let left = bytes.len().saturating_sub(at);
    if let Some(chunk) = bytes.last_chunk::<8>()
        && (1..8).contains(&left)
    {
        // The bytes that are left, then zeros: the first of those is the end, which counts as special.
        let word = u64::from_le_bytes(*chunk) >> (8 * (8 - left));
        return at + (special(word).trailing_zeros() / 8) as usize;
    }
    while let Some(byte) = bytes.get(at) {
        if matches!(byte, b'"' | b'\\' | 0..=0x1F) {
            break;
        }
        at += 1;
    }
    at
}

/// Whether a block has no special byte; without an early exit, so that it compiles to vector instructions.
fn is_plain(block: &[u8; 32]) -> bool {
    let special =
        block.iter().fold(0_u8, |special, byte| special | u8::from(*byte < 0x20) | u8::from(*byte == b'"') | u8::from(*byte == b'\\'));
    special == 0
}

/// A position in the text.
pub(super) struct Cursor<'a> {
    text: &'a str,
    at: usize,
    lone_surrogates: LoneSurrogates,
    replaced: usize,
    /// The content of the last string that had escapes.
    unescaped: String,
}

impl<'a> Cursor<'a> {
    pub(super) fn new(text: &'a str, lone_surrogates: LoneSurrogates) -> Cursor<'a> {
        Cursor { text, at: 0, lone_surrogates, replaced: 0, unescaped: String::new() }
    }

    pub(super) fn text(&self) -> &'a str {
        self.text
    }

    pub(super) fn at(&self) -> usize {
        self.at
    }

    pub(super) fn replaced(&self) -> usize {
        self.replaced
    }

    pub(super) fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    /// The character at the position, for error texts.
    pub(super) fn found(&self) -> Option<char> {
        self.text.get(self.at..).and_then(|rest| rest.chars().next())
    }

    /// The letters, digits and underscores at the position.
    pub(super) fn word(&self) -> &'a str {
        let rest = self.text.get(self.at..).unwrap_or("");
        let end = rest.find(|part: char| !part.is_alphanumeric() && part != '_').unwrap_or(rest.len());
        rest.get(..end).unwrap_or("")
    }

    pub(super) fn bump(&mut self) {
        self.at += 1;
    }

    pub(super) fn jump(&mut self, to: usize) {
        self.at = to;
    }

    pub(super) fn skip_space(&mut self) {
        const BLANKS: [u8; 8] = [b' '; 8];
        while let Some(space @ (b' ' | b'\n' | b'\r' | b'\t')) = self.peek() {
            self.at += 1;
            // A line of an indented text begins with many of them.
            while space == b'\n' && self.text.as_bytes().get(self.at..).and_then(<[u8]>::first_chunk) == Some(&BLANKS) {
                self.at += BLANKS.len();
            }
        }
    }

    /// Steps over a word, if it stands here and ends here.
    pub(super) fn eat(&mut self, word: &str) -> bool {
        let here = self.text.as_bytes().get(self.at..).is_some_and(|rest| rest.starts_with(word.as_bytes()));
        let end = self.at + word.len();
        let ends = !self.text.as_bytes().get(end).is_some_and(|next| next.is_ascii_alphanumeric() || *next == b'_' || *next >= 0x80);
        if here && ends {
            self.at = end;
        }
        here && ends
    }

    /// Reads a string to its closing quote; the opening one is behind the position.
    pub(super) fn string(&mut self) -> Result<&str, Fault> {
        let start = self.at;
        let end = plain_end(self.text.as_bytes(), start);
        self.at = end;
        let plain = self.text.get(start..end).unwrap_or("");
        if self.peek() == Some(b'"') {
            self.at += 1;
            return Ok(plain);
        }
        self.string_with_escapes(plain)
    }

    fn string_with_escapes(&mut self, start: &str) -> Result<&str, Fault> {
        let opening = self.at - start.len() - 1;
        self.unescaped.clear();
        self.unescaped.push_str(start);
        loop {
            match self.peek() {
                Some(b'"') => {
                    self.at += 1;
                    return Ok(&self.unescaped);
                }
                Some(b'\\') => {
                    self.at += 1;
                    self.escape()?;
                }
                Some(control) => {
                    let found = char::from(control);
                    return Err((ParseErrorKind::ControlCharacter { found }, self.at));
                }
                None => return Err((ParseErrorKind::UnclosedString, opening)),
            }
            let end = plain_end(self.text.as_bytes(), self.at);
            self.unescaped.push_str(self.text.get(self.at..end).unwrap_or(""));
            self.at = end;
        }
    }

    /// Reads what follows a backslash.
    fn escape(&mut self) -> Result<(), Fault> {
        let backslash = self.at - 1;
        let character = match self.peek() {
            Some(same @ (b'"' | b'\\' | b'/')) => char::from(same),
            Some(b'b') => '\u{8}',
            Some(b'f') => '\u{c}',
            Some(b'n') => '\n',
            Some(b'r') => '\r',
            Some(b't') => '\t',
            Some(b'u') => {
                self.at += 1;
                return self.unicode_escape(backslash);
            }
            _ => {
                return Err(match self.found() {
                    Some(found) => (ParseErrorKind::UnknownEscape { found }, backslash),
                    None => (ParseErrorKind::UnexpectedEnd, self.at),
                });
            }
        };
        self.at += 1;
        self.unescaped.push(character);
        Ok(())
    }

    fn unicode_escape(&mut self, backslash: usize) -> Result<(), Fault> {
        let unit = self.four_digits().ok_or((ParseErrorKind::ShortUnicodeEscape, backslash))?;
        if let 0xD800..=0xDBFF = unit
            && self.text.as_bytes().get(self.at..).is_some_and(|rest| rest.starts_with(b"\\u"))
        {
            let second = self.at;
            self.at += 2;
            let low = self.four_digits().ok_or((ParseErrorKind::ShortUnicodeEscape, second))?;
            if let 0xDC00..=0xDFFF = low {
                let code = 0x10000 + ((u32::from(unit) - 0xD800) << 10) + (u32::from(low) - 0xDC00);
                self.unescaped.extend(char::from_u32(code));
                return Ok(());
            }
            // The second escape stands for itself; it is read again.
            self.at = second;
        }
        match char::from_u32(u32::from(unit)) {
            Some(character) => self.unescaped.push(character),
            None if self.lone_surrogates == LoneSurrogates::Replace => {
                self.replaced += 1;
                self.unescaped.push('\u{FFFD}');
            }
            None => return Err((ParseErrorKind::LoneSurrogate { unit }, backslash)),
        }
        Ok(())
    }

    fn four_digits(&mut self) -> Option<u16> {
        let digits = self.text.as_bytes().get(self.at..self.at + 4)?;
        let mut unit = 0;
        for digit in digits {
            unit = unit << 4 | char::from(*digit).to_digit(16)?;
        }
        self.at += 4;
        u16::try_from(unit).ok()
    }
}

//! From the bytes a program printed to a value.
//!
//! Text: the bytes as UTF-8, without one line break at the end. Lines: split at line breaks (`\n` or `\r\n`), no empty last
//! line. JSON: exactly one value, strict; numbers keep every digit.

use toolwright::Value;
use toolwright::value::{LoneSurrogates, ParseError, ParseOptions};

use super::mask::Secrets;
use super::tail::{self, Shown};

/// How a program's stdout becomes the tool's output.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Stdout {
    /// A text; one line break at its end is not part of it.
    #[default]
    Text,
    /// One JSON value.
    Json,
    /// An array with one text for each line.
    Lines,
}

/// How much of an unreadable output is shown on each side of the place.
const EXCERPT_SIDE_BYTES: usize = 60;

impl Stdout {
    /// The media type of the output.
    pub(crate) fn content_type(self) -> &'static str {
        match self {
            Self::Text => "text/plain",
            Self::Json | Self::Lines => "application/json",
        }
    }

    /// The schema of the output when the declaration gives none.
    pub(crate) fn default_schema(self) -> Option<Value> {
        let text = || Value::object([("type", Value::from("string"))]);
        match self {
            Self::Text => Some(text()),
            Self::Lines => Some(Value::object([("type", Value::from("array")), ("items", text())])),
            Self::Json => None,
        }
    }
}

/// A value, and what had to be replaced to read it.
#[derive(Debug)]
pub(crate) struct Read {
    pub(crate) value: Value,
    pub(crate) note: Option<String>,
}

/// Output that is not what was declared.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Unreadable {
    pub(crate) message: String,
    pub(crate) help: String,
    /// Line and column, from 1.
    pub(crate) place: Option<(usize, usize)>,
    /// What stands around the place, secrets masked.
    pub(crate) excerpt: Option<String>,
}

/// Reads what the program printed.
///
/// # Errors
/// Only for JSON: the bytes again, and where they stop being JSON.
pub(crate) fn read(bytes: Vec<u8>, form: Stdout, secrets: &Secrets) -> Result<Read, (Vec<u8>, Unreadable)> {
    match form {
        Stdout::Json => json(&bytes, secrets).map_err(|problem| (bytes, problem)),
        Stdout::Text => {
            let (text, note) = decode(bytes);
            Ok(Read { value: Value::from(without_last_break(&text)), note })
        }
        Stdout::Lines => {
            let (text, note) = decode(bytes);
            let lines = lines(&text).map(Value::from);
            Ok(Read { value: Value::from(lines.collect::<Vec<Value>>()), note })
        }
    }
}

fn decode(bytes: Vec<u8>) -> (String, Option<String>) {
    match String::from_utf8(bytes) {
        Ok(text) => (text, None),
        Err(error) => {
            let places = error.as_bytes().utf8_chunks().filter(|chunk| !chunk.invalid().is_empty()).count();
            let text = String::from_utf8_lossy(error.as_bytes()).into_owned();
            let broken = if places == 1 { "1 broken character was".to_owned() } else { format!("{places} broken characters were") };
            let note = format!("the output is not all UTF-8: {broken} replaced by U+FFFD");
            (text, Some(note))
        }
    }
}

fn without_last_break(text: &str) -> &str {
    let text_without = text.strip_suffix('\n');
    text_without.map_or(text, |text| text.strip_suffix('\r').unwrap_or(text))
}

fn lines(text: &str) -> impl Iterator<Item = &str> {
    // `str::lines` has just these rules: both line breaks, no empty last line.
    text.lines()
}

fn json(bytes: &[u8], secrets: &Secrets) -> Result<Read, Unreadable> {
    if bytes.iter().all(u8::is_ascii_whitespace) {
        return Err(Unreadable {
            message: "the program printed nothing, and JSON was expected".to_owned(),
            help: "check that it prints JSON to stdout with these arguments, or declare `stdout: text`".to_owned(),
            place: None,
            excerpt: None,
        });
    }
    let options = ParseOptions { lone_surrogates: LoneSurrogates::Replace, ..ParseOptions::default() };
    match Value::parse_with(bytes, &options) {
        Ok(parsed) => {
            let note = (parsed.replaced > 0)
                .then(|| format!("the output holds halves of surrogate pairs: {} were replaced by U+FFFD", parsed.replaced));
            Ok(Read { value: parsed.value, note })
        }
        Err(error) => Err(unreadable(bytes, &error, secrets)),
    }
}

fn unreadable(bytes: &[u8], error: &ParseError, secrets: &Secrets) -> Unreadable {
    Unreadable {
        message: secrets.mask_text(&format!("the output is no JSON: {error}")),
        help: secrets.mask_text(&format!("{}; if the program prints something else beside JSON, declare `stdout: text`", error.help())),
        place: Some((error.line, error.column)),
        excerpt: Some(excerpt(bytes, error.offset, secrets)),
    }
}

/// What stands around `offset`: cut between characters, control characters escaped.
fn excerpt(bytes: &[u8], offset: usize, secrets: &Secrets) -> String {
    let offset = offset.min(bytes.len());
    let start = tail::character_start(bytes, offset.saturating_sub(EXCERPT_SIDE_BYTES));
    let context = start.saturating_sub(secrets.longest());
    let before = bytes.get(context..).unwrap_or_default();
    let end = offset.saturating_add(EXCERPT_SIDE_BYTES).min(bytes.len());
    let Shown { text, bytes_cut } = tail::part(before, start - context..end - context, secrets);
    let mut shown = String::new();
    if start > 0 {
        shown.push('…');
    }
    shown.extend(text.chars().flat_map(|c| -> Box<dyn Iterator<Item = char>> {
        if c.is_control() { Box::new(c.escape_debug()) } else { Box::new(std::iter::once(c)) }
    }));
    if bytes_cut > 0 {
        shown.push('…');
    }
    shown
}

#[cfg(test)]
mod tests {
    use super::*;

    fn value(bytes: &[u8], form: Stdout) -> String {
        read(bytes.to_vec(), form, &Secrets::default()).unwrap().value.to_json_string()
    }

    #[test]
    fn one_line_break_at_the_end_of_a_text_is_not_part_of_it() {
        let table: [(&[u8], &str); 7] = [
            (b"", r#""""#),
            (b"\n", r#""""#),
            (b"a", r#""a""#),
            (b"a\n", r#""a""#),
            (b"a\r\n", r#""a""#),
            (b"a\n\n", r#""a\n""#),
            (b" a \r", r#"" a \r""#),
        ];
        for (bytes, text) in table {
            assert_eq!(value(bytes, Stdout::Text), text);
        }
    }

    #[test]
    fn lines_have_no_empty_last_one() {
        let table: [(&[u8], &str); 6] = [
            (b"", "[]"),
            (b"a", r#"["a"]"#),
            (b"a\nb\n", r#"["a","b"]"#),
            (b"a\r\nb", r#"["a","b"]"#),
            (b"a\n\nb\n\n", r#"["a","","b",""]"#),
            (b"\n", r#"[""]"#),
        ];
        for (bytes, lines) in table {
            assert_eq!(value(bytes, Stdout::Lines), lines);
        }
    }

    #[test]
    fn broken_utf8_is_replaced_and_told() {
        for form in [Stdout::Text, Stdout::Lines] {
            let read = read(b"a\xffb\xc3".to_vec(), form, &Secrets::default()).unwrap();
            assert!(read.value.to_json_string().contains("a\u{fffd}b\u{fffd}"));
            assert!(read.note.unwrap().contains("2 broken characters"));
        }
    }

    #[test]
    fn json_is_exact_and_strict() {
        assert_eq!(value(b" {\"n\": 12345678901234567890.10} \n", Stdout::Json), r#"{"n":12345678901234567890.10}"#);
        for bad in ["", " \n", "NaN", "{\"a\": Infinity}", "{} {}", "{'a': 1}", "\u{feff}{}", "[1,]"] {
            assert!(read(bad.into(), Stdout::Json, &Secrets::default()).is_err(), "{bad}");
        }
        let deep = "[".repeat(100_000);
        assert!(read(deep.into(), Stdout::Json, &Secrets::default()).is_err());
    }

    #[test]
    fn a_json_error_tells_its_place() {
        let error = read(b"{\"a\": 1,\n \"b\": nope}\n".to_vec(), Stdout::Json, &Secrets::default()).unwrap_err().1;
        assert_eq!(error.place.unwrap().0, 2);
        assert!(error.excerpt.unwrap().contains("nope"));
    }

    #[test]
    fn an_excerpt_is_cut_between_characters_and_shows_no_part_of_a_secret() {
        let secrets = Secrets::new(["s3cr3t-t0ken-äöü".to_owned()]);
        for filler in 0..80 {
            let text = format!("[\"{}s3cr3t-t0ken-äöü{}\", ?, \"s3cr3t-t0ken-äöü\"]", "ä".repeat(5), "ü".repeat(filler));
            let error = read(text.into(), Stdout::Json, &secrets).unwrap_err().1;
            let excerpt = error.excerpt.unwrap();
            for part in ["s3cr", "ken-"] {
                assert!(!excerpt.contains(part), "{excerpt}");
            }
            assert!(!excerpt.contains('\u{fffd}'), "{excerpt}");
        }
    }
}

//! What can go wrong when a value is read, built or taken apart.
//!
//! Two boundaries: JSON text ([`ParseError`]) and Rust data ([`ValueError`]).

use std::borrow::Cow;
use std::fmt;

/// JSON text that is not JSON, or more than the limits allow.
///
/// ```
/// use toolwright::Value;
/// let error = Value::parse("[1,\n 2,]").err().ok_or("a comma too many")?;
/// assert_eq!(error.line, 2);
/// assert!(!error.help().is_empty());
/// # Ok::<(), &str>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ParseError {
    /// What is wrong.
    pub kind: ParseErrorKind,
    /// Bytes before the place.
    pub offset: usize,
    /// Line of the place, from 1.
    pub line: usize,
    /// Column of the place in characters, from 1.
    pub column: usize,
}

/// What is wrong with a JSON text.
///
/// Each names a text that produces it.
///
/// ```
/// use toolwright::value::{ParseErrorKind, Value};
/// assert_eq!(Value::parse("[1,]").err().map(|error| error.kind), Some(ParseErrorKind::TrailingComma));
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ParseErrorKind {
    /// Nothing but white space, as in ``.
    Empty,
    /// The text stops inside a value, as in `[1,`.
    UnexpectedEnd,
    /// The text starts with U+FEFF.
    ByteOrderMark,
    /// The bytes are not UTF-8, as in `"\xff"`.
    InvalidUtf8,
    /// No value starts here, as in `[?]`.
    ExpectedValue {
        /// What stands there instead.
        found: char,
    },
    /// A word that is not `true`, `false` or `null`, as in `None`.
    UnknownWord {
        /// The word.
        word: String,
    },
    /// A text in single quotes, as in `{'a': 1}`.
    SingleQuote,
    /// A comment, as in `// one`.
    Comment,
    /// A comma with nothing behind it, as in `[1,]`.
    TrailingComma,
    /// An object's key is not a text in quotes, as in `{a: 1}`.
    ExpectedKey {
        /// What stands there instead.
        found: char,
    },
    /// No colon behind a key, as in `{"a" 1}`.
    ExpectedColon {
        /// What stands there instead.
        found: char,
    },
    /// Neither a comma nor the closing bracket, as in `[1 2]`.
    ExpectedCommaOrEnd {
        /// What stands there instead.
        found: char,
        /// The bracket that would close here.
        close: char,
    },
    /// Something behind the value, as in `1 2`.
    TrailingCharacters {
        /// What stands there.
        found: char,
    },
    /// A number starts with a needless zero, as in `01`.
    LeadingZero,
    /// A number without digits, as in `-`.
    NumberWithoutDigits,
    /// A dot without digits behind it, as in `1.`.
    FractionWithoutDigits,
    /// An exponent without digits, as in `1e`.
    ExponentWithoutDigits,
    /// A raw control character inside a string, such as a line break.
    ControlCharacter {
        /// The character.
        found: char,
    },
    /// A string without its closing quote, as in `"abc`.
    UnclosedString,
    /// A backslash before something that has no escape, as in `"\x"`.
    UnknownEscape {
        /// What stands behind the backslash.
        found: char,
    },
    /// `\u` without four hexadecimal digits, as in `"\u12"`.
    ShortUnicodeEscape,
    /// Half of a surrogate pair without the other half, as in `"\ud83d"`.
    LoneSurrogate {
        /// The code unit.
        unit: u16,
    },
    /// More brackets inside each other than allowed.
    TooDeep {
        /// The limit, in levels.
        levels_max: u32,
    },
}

impl ParseError {
    pub(crate) fn at(kind: ParseErrorKind, bytes: &[u8], offset: usize) -> ParseError {
        let before = bytes.get(..offset).unwrap_or(bytes);
        let line_start = before.iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1);
        let line = before.iter().filter(|byte| **byte == b'\n').count() + 1;
        let in_line = before.get(line_start..).unwrap_or_default();
        // Bytes that continue a character are not columns.
        let column = in_line.iter().filter(|byte| **byte & 0xC0 != 0x80).count() + 1;
        ParseError { kind, offset, line, column }
    }

    /// What to do about it.
    pub fn help(&self) -> Cow<'static, str> {
        use ParseErrorKind as Kind;
        Cow::Borrowed(match &self.kind {
            Kind::Empty => "a JSON text holds exactly one value; write `null` or `{}` for nothing",
            Kind::UnexpectedEnd => "the text was cut off: close every bracket and quote, and check that all of it arrived",
            Kind::ByteOrderMark => "JSON has no byte order mark: save the text as UTF-8 without BOM",
            Kind::InvalidUtf8 => "JSON is UTF-8: convert the text, or send binary data as base64 in a string",
            Kind::ExpectedValue { .. } => "a value is an object, an array, a string in double quotes, a number, `true`, `false` or `null`",
            Kind::UnknownWord { word } => return word_help(word),
            Kind::SingleQuote => "JSON strings and keys use double quotes",
            Kind::Comment => "JSON has no comments: remove it",
            Kind::TrailingComma => "remove the comma before the closing bracket",
            Kind::ExpectedKey { .. } => "write every key in double quotes, as in `{\"name\": 1}`",
            Kind::ExpectedColon { .. } => "write a colon between a key and its value, as in `{\"name\": 1}`",
            Kind::ExpectedCommaOrEnd { .. } => "separate items with a comma and close the bracket after the last one",
            Kind::TrailingCharacters { .. } => {
                "a JSON text holds exactly one value: remove what follows it, or wrap several values in an array"
            }
            Kind::LeadingZero => "write the number without the zero in front, or as a string if the zero matters",
            Kind::NumberWithoutDigits => "write at least one digit, as in `-1`; JSON has no infinity",
            Kind::FractionWithoutDigits => "write a digit behind the dot, as in `1.0`",
            Kind::ExponentWithoutDigits => "write a digit behind the `e`, as in `1e3`",
            Kind::ControlCharacter { .. } => "escape it inside a string, as in `\\n` or `\\u0001`",
            Kind::UnclosedString => "close the string with a double quote",
            Kind::UnknownEscape { .. } => {
                "the escapes are `\\\"` `\\\\` `\\/` `\\b` `\\f` `\\n` `\\r` `\\t` and `\\u` with four hexadecimal digits; write `\\\\` for a backslash"
            }
            Kind::ShortUnicodeEscape => "write four hexadecimal digits, as in `\\u00e9`",
            Kind::LoneSurrogate { .. } => {
                "a character beyond U+FFFF is two escapes in a row, as in `\\ud83d\\ude00`: the sender has cut one in half"
            }
            Kind::TooDeep { .. } => "flatten the value, or send the inner part as a string",
        })
    }
}

fn word_help(word: &str) -> Cow<'static, str> {
    let instead = match word.to_ascii_lowercase().as_str() {
        "none" | "nil" | "undefined" | "null" => "null",
        "true" | "yes" => "true",
        "false" | "no" => "false",
        "nan" | "infinity" | "inf" => {
            return Cow::Borrowed("JSON has no NaN and no infinity: write `null`, or a string that says so");
        }
        _ => return Cow::Borrowed("put texts in double quotes; the only bare words are `true`, `false` and `null`"),
    };
    Cow::Owned(format!("write `{instead}`"))
}

impl fmt::Display for ParseError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{} at line {}, column {}", self.kind, self.line, self.column)
    }
}

impl fmt::Display for ParseErrorKind {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        use ParseErrorKind as Kind;
        match self {
            Kind::Empty => out.write_str("there is no JSON value in the text"),
            Kind::UnexpectedEnd => out.write_str("the JSON text ends too early"),
            Kind::ByteOrderMark => out.write_str("the JSON text starts with a byte order mark"),
            Kind::InvalidUtf8 => out.write_str("the JSON text is not valid UTF-8"),
            Kind::ExpectedValue { found } => write!(out, "expected a value, found {}", Shown(*found)),
            Kind::UnknownWord { word } => write!(out, "`{word}` is not a JSON value"),
            Kind::SingleQuote => out.write_str("JSON has no single quotes"),
            Kind::Comment => out.write_str("JSON has no comments"),
            Kind::TrailingComma => out.write_str("there is a comma but no further item"),
            Kind::ExpectedKey { found } => write!(out, "expected a key in double quotes, found {}", Shown(*found)),
            Kind::ExpectedColon { found } => write!(out, "expected `:` behind the key, found {}", Shown(*found)),
            Kind::ExpectedCommaOrEnd { found, close } => {
                write!(out, "expected `,` or `{close}`, found {}", Shown(*found))
            }
            Kind::TrailingCharacters { found } => write!(out, "expected the end of the text, found {}", Shown(*found)),
            Kind::LeadingZero => out.write_str("a number starts with a needless zero"),
            Kind::NumberWithoutDigits => out.write_str("a number has no digits"),
            Kind::FractionWithoutDigits => out.write_str("a number has no digits behind its dot"),
            Kind::ExponentWithoutDigits => out.write_str("a number has no digits in its exponent"),
            Kind::ControlCharacter { found } => write!(out, "a string holds a raw {}", Shown(*found)),
            Kind::UnclosedString => out.write_str("a string is not closed"),
            Kind::UnknownEscape { found } => write!(out, "`\\` has no meaning before {}", Shown(*found)),
            Kind::ShortUnicodeEscape => out.write_str("`\\u` without four hexadecimal digits"),
            Kind::LoneSurrogate { unit } => write!(out, "`\\u{unit:04x}` is half of a character"),
            Kind::TooDeep { levels_max } => write!(out, "more than {levels_max} brackets inside each other"),
        }
    }
}

/// A character in an error text: in backticks if it can be seen, by number otherwise.
struct Shown(char);

impl fmt::Display for Shown {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            '\n' => out.write_str("line break"),
            '\t' => out.write_str("tab"),
            seen if !seen.is_control() && (seen.is_ascii() || seen.is_alphanumeric()) => write!(out, "`{seen}`"),
            hidden => write!(out, "U+{:04X}", u32::from(hidden)),
        }
    }
}

impl std::error::Error for ParseError {}

/// Why a number is no number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum NumberFault {
    NoDigits,
    LeadingZero,
    NoFraction,
    NoExponent,
}

impl From<NumberFault> for ParseErrorKind {
    fn from(fault: NumberFault) -> ParseErrorKind {
        match fault {
            NumberFault::NoDigits => ParseErrorKind::NumberWithoutDigits,
            NumberFault::LeadingZero => ParseErrorKind::LeadingZero,
            NumberFault::NoFraction => ParseErrorKind::FractionWithoutDigits,
            NumberFault::NoExponent => ParseErrorKind::ExponentWithoutDigits,
        }
    }
}

/// Rust data that is no JSON value, or a value that is not the Rust data asked for.
///
/// ```
/// use toolwright::json;
/// let error = json!({ "n": "five" }).deserialize::<std::collections::BTreeMap<String, u8>>().err().ok_or("`five` is no number")?;
/// assert_eq!(error.pointer, "/n");
/// # Ok::<(), &str>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ValueError {
    /// What is wrong.
    pub kind: ValueErrorKind,
    /// JSON pointer of the place; empty for the whole value.
    pub pointer: String,
}

/// What is wrong with a piece of data.
///
/// ```
/// use toolwright::value::{Value, ValueErrorKind};
/// assert_eq!(Value::from_serialize(&f64::NAN).err().map(|error| error.kind), Some(ValueErrorKind::NotFinite));
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ValueErrorKind {
    /// NaN or an infinity, which JSON cannot write.
    NotFinite,
    /// More containers inside each other than allowed.
    TooDeep {
        /// The limit, in levels.
        levels_max: u32,
    },
    /// A map's key is neither a text nor a number, a boolean or a unit variant.
    KeyNotText,
    /// A text that claims to be a number and is not.
    NotANumber {
        /// The text.
        text: String,
    },
    /// JSON text inside the data that does not parse.
    Text(ParseError),
    /// The type asked for does not fit.
    Mismatch {
        /// What serde says.
        message: String,
    },
}

impl ValueError {
    pub(crate) fn new(kind: ValueErrorKind) -> ValueError {
        ValueError { kind, pointer: String::new() }
    }

    pub(crate) fn not_a_number(text: &str) -> ValueError {
        ValueError::new(ValueErrorKind::NotANumber { text: text.to_owned() })
    }

    /// The same error seen from one level further out.
    pub(crate) fn inside(mut self, segment: &str) -> ValueError {
        let mut pointer = String::with_capacity(self.pointer.len() + segment.len() + 1);
        pointer.push('/');
        for character in segment.chars() {
            match character {
                '~' => pointer.push_str("~0"),
                '/' => pointer.push_str("~1"),
                other => pointer.push(other),
            }
        }
        pointer.push_str(&self.pointer);
        self.pointer = pointer;
        self
    }

    /// What to do about it.
    pub fn help(&self) -> Cow<'static, str> {
        Cow::Borrowed(match &self.kind {
            ValueErrorKind::NotFinite => "JSON has no NaN and no infinity: return null, leave the member out, or report an error",
            ValueErrorKind::TooDeep { .. } => "flatten the value, or send the inner part as a string",
            ValueErrorKind::KeyNotText => "JSON objects have text keys: use a map with text keys, or an array of pairs",
            ValueErrorKind::NotANumber { .. } => "write it as JSON writes numbers, or as a string",
            ValueErrorKind::Text(error) => return error.help(),
            ValueErrorKind::Mismatch { .. } => "make the value fit the type, or change the type",
        })
    }
}

impl fmt::Display for ValueError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let place = &self.pointer;
        let place: &dyn fmt::Display = if place.is_empty() { &"the value" } else { &format_args!("`{place}`") };
        match &self.kind {
            ValueErrorKind::NotFinite => write!(out, "{place} is not finite: JSON has no NaN and no infinity"),
            ValueErrorKind::TooDeep { levels_max } => {
                write!(out, "{place} is nested too deep: at most {levels_max} levels are allowed")
            }
            ValueErrorKind::KeyNotText => write!(out, "{place} has a key that is not a text"),
            ValueErrorKind::NotANumber { text } => write!(out, "{place} is not a JSON number: `{text}`"),
            ValueErrorKind::Text(error) => write!(out, "{place} holds JSON text that does not parse: {error}"),
            ValueErrorKind::Mismatch { message } => write!(out, "{place} does not fit: {message}"),
        }
    }
}

impl std::error::Error for ValueError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match &self.kind {
            ValueErrorKind::Text(error) => Some(error),
            _ => None,
        }
    }
}

impl serde::ser::Error for ValueError {
    fn custom<T: fmt::Display>(message: T) -> ValueError {
        ValueError::new(ValueErrorKind::Mismatch { message: message.to_string() })
    }
}

impl serde::de::Error for ValueError {
    fn custom<T: fmt::Display>(message: T) -> ValueError {
        ValueError::new(ValueErrorKind::Mismatch { message: message.to_string() })
    }
}

//! Strict JSON (RFC 8259) into values.
//!
//! Nothing here recurses, so the depth limit is a limit and not a guess about the stack. Objects at the same place of
//! a document (the records of a list) share their key list as long as their keys come in the same order.
//! Of members with the same key the last one wins and the first one's position stays.

mod scan;
mod shapes;

pub(crate) use scan::plain_end;

use std::borrow::Cow;

use scan::Cursor;
use shapes::{Members, Place, Shapes};

use super::array::{Array, Size};
use super::error::{ParseError, ParseErrorKind};
use super::{Text, Value, number};
use crate::limits::VALUE_DEPTH_MAX;

/// What to do with half of a surrogate pair (`"\ud83d"`), which no UTF-8 text can hold.
///
/// [`ParseOptions`] takes it; its page has an example.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum LoneSurrogates {
    /// Refuse the text.
    #[default]
    Refuse,
    /// Put U+FFFD in its place and count it.
    Replace,
}

/// How to read a JSON text.
///
/// ```
/// use toolwright::value::{LoneSurrogates, ParseOptions, Value};
/// let options = ParseOptions { lone_surrogates: LoneSurrogates::Replace, ..ParseOptions::default() };
/// let parsed = Value::parse_with(r#""\ud83d""#, &options)?;
/// assert_eq!((parsed.value.as_str(), parsed.replaced), (Some("\u{fffd}"), 1));
/// # Ok::<(), toolwright::value::ParseError>(())
/// ```
#[derive(Clone, Debug)]
pub struct ParseOptions {
    /// How many containers may stand inside each other.
    pub depth_max: u32,
    /// What to do with half of a surrogate pair.
    pub lone_surrogates: LoneSurrogates,
}

impl Default for ParseOptions {
    fn default() -> ParseOptions {
        ParseOptions { depth_max: VALUE_DEPTH_MAX, lone_surrogates: LoneSurrogates::Refuse }
    }
}

/// A value, and what had to be done to read it.
///
/// [`Value::parse_with`] gives it; the page of [`ParseOptions`] has an example.
#[derive(Clone, Debug)]
pub struct Parsed {
    /// The value.
    pub value: Value,
    /// How many lone surrogates were replaced by U+FFFD.
    pub replaced: usize,
    /// A key that stands twice in one object, if there is one: the last of its values counts.
    ///
    /// ```
    /// use toolwright::value::{ParseOptions, Value};
    /// let parsed = Value::parse_with(r#"{ "a": 1, "b": 2, "a": 3 }"#, &ParseOptions::default())?;
    /// assert_eq!(parsed.repeated.as_deref(), Some("a"));
    /// # Ok::<(), toolwright::value::ParseError>(())
    /// ```
    pub repeated: Option<Text>,
}

impl Value {
    /// Reads one JSON value and nothing else, at most [`VALUE_DEPTH_MAX`] levels deep.
    ///
    /// # Errors
    /// [`ParseError`] with the place where the text stops being JSON.
    pub fn parse(text: impl JsonText) -> Result<Value, ParseError> {
        Value::parse_with(text, &ParseOptions::default()).map(|parsed| parsed.value)
    }

    /// Reads one JSON value and nothing else.
    ///
    /// # Errors
    /// As [`Value::parse`]; the depth is that of the options.
    pub fn parse_with(text: impl JsonText, options: &ParseOptions) -> Result<Parsed, ParseError> {
        match text.json_text() {
            Ok(text) => parse(text, options),
            Err((bytes, valid_bytes)) => Err(no_text(bytes, valid_bytes)),
        }
    }
}

impl std::str::FromStr for Value {
    type Err = ParseError;

    fn from_str(text: &str) -> Result<Value, ParseError> {
        Value::parse(text)
    }
}

/// Anything that holds JSON text: strings as they are, bytes after a look whether they are UTF-8.
///
/// ```
/// use toolwright::Value;
/// assert_eq!(Value::parse("[1]")?, Value::parse(b"[1]".as_slice())?);
/// # Ok::<(), toolwright::value::ParseError>(())
/// ```
pub trait JsonText: sealed::Sealed {
    /// The text, or the bytes and how many of them are text.
    #[doc(hidden)]
    fn json_text(&self) -> Result<&str, (&[u8], usize)>;
}

mod sealed {
    pub trait Sealed {}
}

macro_rules! json_texts {
    ($as_text:ident: $($holder:ty),+) => {$(
        impl sealed::Sealed for $holder {}
        impl JsonText for $holder {
            fn json_text(&self) -> Result<&str, (&[u8], usize)> {
                $as_text(self)
            }
        }
    )+};
}
json_texts!(text_of_str: str, String, Text, Cow<'_, str>, Box<str>, std::sync::Arc<str>);
json_texts!(text_of_bytes: [u8], Vec<u8>, Cow<'_, [u8]>, Box<[u8]>, std::sync::Arc<[u8]>);

impl<T: JsonText + ?Sized> sealed::Sealed for &T {}
impl<T: JsonText + ?Sized> JsonText for &T {
    fn json_text(&self) -> Result<&str, (&[u8], usize)> {
        T::json_text(self)
    }
}

impl<const N: usize> sealed::Sealed for [u8; N] {}
impl<const N: usize> JsonText for [u8; N] {
    fn json_text(&self) -> Result<&str, (&[u8], usize)> {
        text_of_bytes(self)
    }
}

fn text_of_str(text: &str) -> Result<&str, (&[u8], usize)> {
    Ok(text)
}

fn text_of_bytes(bytes: &[u8]) -> Result<&str, (&[u8], usize)> {
    std::str::from_utf8(bytes).map_err(|error| (bytes, error.valid_up_to()))
}

#[cold]
fn no_text(bytes: &[u8], valid_bytes: usize) -> ParseError {
    ParseError::at(ParseErrorKind::InvalidUtf8, bytes, valid_bytes)
}

fn parse(text: &str, options: &ParseOptions) -> Result<Parsed, ParseError> {
    let bytes = text.as_bytes();
    if bytes.starts_with(b"\xEF\xBB\xBF") {
        return Err(ParseError::at(ParseErrorKind::ByteOrderMark, bytes, 0));
    }
    let mut parser = Parser {
        cursor: Cursor::new(text, options.lone_surrogates),
        depth_max: options.depth_max,
        open: Vec::new(),
        values: Vec::new(),
        shapes: Shapes::new(bytes.len()),
    };
    match parser.run() {
        Ok(value) => Ok(Parsed { value, replaced: parser.cursor.replaced(), repeated: parser.shapes.repeated() }),
        Err((kind, offset)) => Err(ParseError::at(kind, bytes, offset)),
    }
}

/// What is wrong, and after how many bytes.
type Fault = (ParseErrorKind, usize);

struct Parser<'a> {
    cursor: Cursor<'a>,
    depth_max: u32,
    open: Vec<Open>,
    /// The finished items of all open containers.
    values: Vec<Value>,
    shapes: Shapes,
}

/// A container that has not been closed.
struct Open {
    /// Where its items start in `values`.
    start: usize,
    place: Place,
    /// `None` for an array.
    members: Option<Members>,
}

/// What comes next in the text.
enum Next {
    /// Another item of the innermost container, or the whole value.
    Item,
    /// This value is complete.
    Done(Value),
}

impl Parser<'_> {
    fn run(&mut self) -> Result<Value, Fault> {
        self.cursor.skip_space();
        if self.cursor.peek().is_none() {
            return Err((ParseErrorKind::Empty, self.cursor.at()));
        }
        let mut next = Next::Item;
        loop {
            next = match next {
                Next::Item => self.item()?,
                Next::Done(value) if self.open.is_empty() => {
                    self.cursor.skip_space();
                    return match self.cursor.found() {
                        None => Ok(value),
                        Some('/') => Err((ParseErrorKind::Comment, self.cursor.at())),
                        Some(found) => Err((ParseErrorKind::TrailingCharacters { found }, self.cursor.at())),
                    };
                }
                Next::Done(value) => {
                    self.values.push(value);
                    self.after_item()?
                }
            };
        }
    }

    /// Reads a scalar or the start of a container.
    fn item(&mut self) -> Result<Next, Fault> {
        self.cursor.skip_space();
        let value = match self.cursor.peek() {
            Some(b'"') => {
                self.cursor.bump();
                let text = self.cursor.string()?;
                Value::String(self.shapes.text(text))
            }
            Some(b'{') => return self.open_object(),
            Some(b'[') => return self.open_array(),
            Some(b'-' | b'0'..=b'9') => {
                let (number, end) =
                    number::scan(self.cursor.text(), self.cursor.at()).map_err(|(fault, at)| (ParseErrorKind::from(fault), at))?;
                self.cursor.jump(end);
                Value::Number(number)
            }
            Some(b't') if self.cursor.eat("true") => Value::Bool(true),
            Some(b'f') if self.cursor.eat("false") => Value::Bool(false),
            Some(b'n') if self.cursor.eat("null") => Value::Null,
            _ => return Err(self.no_value()),
        };
        Ok(Next::Done(value))
    }

    fn open_array(&mut self) -> Result<Next, Fault> {
        self.check_depth()?;
        self.cursor.bump();
        self.cursor.skip_space();
        if self.cursor.peek() == Some(b']') {
            self.cursor.bump();
            return Ok(Next::Done(Value::Array(Array::EMPTY)));
        }
        let place = self.place().items();
        self.open.push(Open { start: self.values.len(), place, members: None });
        Ok(Next::Item)
    }

    fn open_object(&mut self) -> Result<Next, Fault> {
        self.check_depth()?;
        self.cursor.bump();
        self.cursor.skip_space();
        if self.cursor.peek() == Some(b'}') {
            self.cursor.bump();
            return Ok(Next::Done(Value::Object(super::Object::EMPTY)));
        }
        let place = self.place();
        let members = self.shapes.begin(place);
        self.open.push(Open { start: self.values.len(), place, members: Some(members) });
        self.key()?;
        Ok(Next::Item)
    }

    /// Where the next item stands.
    fn place(&self) -> Place {
        self.open.last().map_or(Place::ROOT, |open| open.place)
    }

    fn check_depth(&self) -> Result<(), Fault> {
        if self.open.len() >= self.depth_max as usize {
            return Err((ParseErrorKind::TooDeep { levels_max: self.depth_max }, self.cursor.at()));
        }
        Ok(())
    }

    /// Reads a key and its colon.
    fn key(&mut self) -> Result<(), Fault> {
        if self.cursor.peek() != Some(b'"') {
            return Err(self.no_key());
        }
        self.cursor.bump();
        let key = self.cursor.string()?;
        if let Some(Open { place, members: Some(members), .. }) = self.open.last_mut() {
            *place = self.shapes.key(members, key);
        }
        self.cursor.skip_space();
        if self.cursor.peek() != Some(b':') {
            return Err(self.expected(|found| ParseErrorKind::ExpectedColon { found }));
        }
        self.cursor.bump();
        Ok(())
    }

    /// Reads the comma or the bracket behind an item.
    fn after_item(&mut self) -> Result<Next, Fault> {
        self.cursor.skip_space();
        let is_object = self.open.last().is_some_and(|open| open.members.is_some());
        let close = if is_object { b'}' } else { b']' };
        match self.cursor.peek() {
            Some(b',') => {
                let comma = self.cursor.at();
                self.cursor.bump();
                self.cursor.skip_space();
                if self.cursor.peek() == Some(close) {
                    return Err((ParseErrorKind::TrailingComma, comma));
                }
                if is_object {
                    self.key()?;
                }
                Ok(Next::Item)
            }
            Some(byte) if byte == close => {
                self.cursor.bump();
                Ok(Next::Done(self.close()))
            }
            _ => Err(self.expected(|found| ParseErrorKind::ExpectedCommaOrEnd { found, close: char::from(close) })),
        }
    }

    fn close(&mut self) -> Value {
        let Some(open) = self.open.pop() else {
            return Value::Null;
        };
        match open.members {
            None => {
                let size = Size::of(self.values.get(open.start..).unwrap_or_default());
                Value::Array(Array::from_exact(size, self.values.drain(open.start..)))
            }
            Some(members) => Value::Object(self.shapes.finish(members, self.values.drain(open.start..))),
        }
    }

    #[cold]
    fn expected(&self, kind: impl FnOnce(char) -> ParseErrorKind) -> Fault {
        let kind = match self.cursor.found() {
            None => ParseErrorKind::UnexpectedEnd,
            Some('/') => ParseErrorKind::Comment,
            Some(found) => kind(found),
        };
        (kind, self.cursor.at())
    }

    #[cold]
    fn no_key(&self) -> Fault {
        match self.cursor.found() {
            Some('\'') => (ParseErrorKind::SingleQuote, self.cursor.at()),
            _ => self.expected(|found| ParseErrorKind::ExpectedKey { found }),
        }
    }

    #[cold]
    fn no_value(&self) -> Fault {
        let word = self.cursor.word();
        match self.cursor.found() {
            Some('\'') => (ParseErrorKind::SingleQuote, self.cursor.at()),
            _ if !word.is_empty() => (ParseErrorKind::UnknownWord { word: word.chars().take(40).collect() }, self.cursor.at()),
            _ => self.expected(|found| ParseErrorKind::ExpectedValue { found }),
        }
    }
}

//! Writing values as JSON text, compact or indented.
//!
//! Nothing here recurses: a value of any depth prints.

use std::fmt;

use super::object::Members;
use super::parse::plain_end;
use super::{Text, Value};

/// How much to reserve at most before printing; a shared value may weigh more than any memory.
const RESERVE_BYTES_MAX: u64 = 64 << 20;

enum Open<'a> {
    Array(std::slice::Iter<'a, Value>),
    /// The members, and whether their keys print without escapes.
    Object(Members<'a>, bool),
}

impl Value {
    /// The value as compact JSON.
    pub fn to_json_string(&self) -> String {
        let mut out = String::new();
        self.append_json(&mut out);
        out
    }

    /// Appends the value as compact JSON.
    pub fn append_json(&self, out: &mut String) {
        out.reserve(room_bytes(self));
        // Writing into a `String` cannot fail.
        let _ = write_compact(self, out);
    }

    /// The value as JSON with a line per item and two spaces per level.
    pub fn to_json_pretty(&self) -> String {
        let mut out = String::with_capacity(room_bytes(self));
        // Writing into a `String` cannot fail.
        let _ = write_pretty(self, &mut out);
        out
    }
}

/// How much to reserve: the weight, and something for escapes, so that most prints never grow.
fn room_bytes(value: &Value) -> usize {
    let weight = value.weight();
    weight.saturating_add(weight / 16).min(RESERVE_BYTES_MAX) as usize
}

fn write_compact<W: fmt::Write>(value: &Value, out: &mut W) -> fmt::Result {
    let mut open: Vec<Open<'_>> = Vec::new();
    let mut next = Some(value);
    loop {
        match next.take() {
            Some(Value::Array(items)) => {
                out.write_char('[')?;
                let mut items = items.iter();
                next = items.next();
                open.push(Open::Array(items));
                if next.is_some() {
                    continue;
                }
            }
            Some(Value::Object(object)) => {
                out.write_char('{')?;
                let mut members = object.iter();
                let plain = object.shape().is_plain();
                if let Some((key, value)) = members.next() {
                    write_key(key, plain, out)?;
                    next = Some(value);
                }
                open.push(Open::Object(members, plain));
                if next.is_some() {
                    continue;
                }
            }
            Some(scalar) => write_scalar(scalar, out)?,
            None => {}
        }
        let (item, close) = match open.last_mut() {
            None => return Ok(()),
            Some(Open::Array(items)) => (items.next().map(|item| (None, item)), ']'),
            Some(Open::Object(members, plain)) => (members.next().map(|(key, value)| (Some((key, *plain)), value)), '}'),
        };
        match item {
            Some((key, value)) => {
                out.write_char(',')?;
                if let Some((key, plain)) = key {
                    write_key(key, plain, out)?;
                }
                next = Some(value);
            }
            None => {
                out.write_char(close)?;
                open.pop();
            }
        }
    }
}

fn write_pretty<W: fmt::Write>(value: &Value, out: &mut W) -> fmt::Result {
    let mut open: Vec<Open<'_>> = Vec::new();
    let mut next = Some(value);
    let mut first = false;
    loop {
        match next.take() {
            Some(Value::Array(items)) if !items.is_empty() => {
                out.write_char('[')?;
                open.push(Open::Array(items.iter()));
                first = true;
            }
            Some(Value::Object(object)) if !object.is_empty() => {
                out.write_char('{')?;
                open.push(Open::Object(object.iter(), object.shape().is_plain()));
                first = true;
            }
            Some(Value::Array(_)) => out.write_str("[]")?,
            Some(Value::Object(_)) => out.write_str("{}")?,
            Some(scalar) => write_scalar(scalar, out)?,
            None => {}
        }
        let level = open.len();
        let (item, close) = match open.last_mut() {
            None => return Ok(()),
            Some(Open::Array(items)) => (items.next().map(|item| (None, item)), ']'),
            Some(Open::Object(members, plain)) => (members.next().map(|(key, value)| (Some((key, *plain)), value)), '}'),
        };
        match item {
            Some((key, value)) => {
                if !first {
                    out.write_char(',')?;
                }
                first = false;
                new_line(level, out)?;
                if let Some((key, plain)) = key {
                    write_key(key, plain, out)?;
                    out.write_char(' ')?;
                }
                next = Some(value);
            }
            None => {
                open.pop();
                new_line(level - 1, out)?;
                out.write_char(close)?;
            }
        }
    }
}

fn new_line<W: fmt::Write>(level: usize, out: &mut W) -> fmt::Result {
    out.write_char('\n')?;
    (0..level).try_for_each(|_| out.write_str("  "))
}

fn write_key<W: fmt::Write>(key: &Text, plain: bool, out: &mut W) -> fmt::Result {
    if plain {
        out.write_char('"')?;
        out.write_str(key)?;
        return out.write_str("\":");
    }
    write_string(key, out)?;
    out.write_char(':')
}

fn write_scalar<W: fmt::Write>(value: &Value, out: &mut W) -> fmt::Result {
    match value {
        Value::Null => out.write_str("null"),
        Value::Bool(true) => out.write_str("true"),
        Value::Bool(false) => out.write_str("false"),
        Value::Number(number) => number.write(out),
        Value::String(text) => write_string(text, out),
        Value::Array(_) | Value::Object(_) => Err(fmt::Error),
    }
}

fn write_string<W: fmt::Write>(text: &str, out: &mut W) -> fmt::Result {
    out.write_char('"')?;
    let mut rest = text;
    loop {
        let plain = plain_end(rest.as_bytes(), 0);
        let (run, special) = rest.split_at_checked(plain).unwrap_or((rest, ""));
        out.write_str(run)?;
        let mut characters = special.chars();
        match characters.next() {
            None => break,
            Some('"') => out.write_str("\\\"")?,
            Some('\\') => out.write_str("\\\\")?,
            Some('\n') => out.write_str("\\n")?,
            Some('\r') => out.write_str("\\r")?,
            Some('\t') => out.write_str("\\t")?,
            Some('\u{8}') => out.write_str("\\b")?,
            Some('\u{c}') => out.write_str("\\f")?,
            Some(control) => write!(out, "\\u{:04x}", u32::from(control))?,
        }
        rest = characters.as_str();
    }
    out.write_char('"')
}

impl fmt::Display for Value {
    /// Compact JSON; with `{:#}` indented JSON.
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        if out.alternate() { write_pretty(self, out) } else { write_compact(self, out) }
    }
}

impl fmt::Debug for Value {
    /// Compact JSON.
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_compact(self, out)
    }
}

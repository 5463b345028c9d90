//! Values kept by content: one that is large, or deep, is cut out of its record and written once, however many records
//! hold it.
//!
//! In a record that has such values, `{"$value": "HASH"}` stands for one. An object of the user's that looks so gets one
//! more `$` before its key, and loses it when it is read.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

use sha2::{Digest, Sha256};
use toolwright::value::Object;
use toolwright::{Text, Value};

/// A value whose compact print has so many bytes is kept by content.
pub(crate) const CUT_BYTES_MIN: u64 = 16 * 1024;
/// A value that is so deep is too, so that a record can be read by any JSON reader.
pub(crate) const CUT_DEPTH_MIN: u32 = 64;
/// Values of this process that are known by their address.
const KNOWN_MAX: usize = 256;
/// Their weight, in bytes: they are kept alive.
const KNOWN_BYTES_MAX: u64 = 64 * 1024 * 1024;
const KEY: &str = "value";

pub(crate) type Hash = [u8; 32];

/// A value that is kept by content.
#[derive(Debug)]
pub(crate) struct Blob {
    pub(crate) hash: Hash,
    /// What is written: its own large parts are cut out.
    cut: Value,
    pub(crate) parts: Vec<Arc<Blob>>,
    /// Its print, until somebody wrote it.
    text: Mutex<Option<String>>,
}

impl Blob {
    fn new(cut: Value, parts: Vec<Arc<Blob>>) -> Self {
        let text = cut.to_json_string();
        let hash = Sha256::digest(text.as_bytes()).into();
        Self { hash, cut, parts, text: Mutex::new(Some(text)) }
    }

    /// What is written. Made a second time only when it is gone from the file since.
    pub(crate) fn text(&self) -> String {
        let text = self.text.lock().unwrap_or_else(PoisonError::into_inner).take();
        text.unwrap_or_else(|| self.cut.to_json_string())
    }
}

pub(crate) fn hex(hash: &[u8]) -> String {
    hash.iter().fold(String::with_capacity(2 * hash.len()), |mut out, byte| {
        let digit = |nibble: u8| char::from_digit(nibble.into(), 16).unwrap_or('0');
        out.push(digit(byte >> 4));
        out.push(digit(byte & 15));
        out
    })
}

fn unhex(text: &str) -> Option<Hash> {
    let mut hash = [0; 32];
    if text.len() != 64 || !text.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f')) {
        return None;
    }
    for (at, byte) in hash.iter_mut().enumerate() {
        *byte = u8::from_str_radix(text.get(2 * at..2 * at + 2)?, 16).ok()?;
    }
    Some(hash)
}

/// Whether a value is one that is cut out, or has one in it.
pub(crate) fn is_large(value: &Value) -> bool {
    value.weight() >= CUT_BYTES_MIN || value.depth() >= CUT_DEPTH_MIN
}

/// `$value`, `$$value`, …
fn marked(key: &str) -> bool {
    key.starts_with('$') && key.trim_start_matches('$') == KEY
}

fn only_member(object: &Object) -> Option<(&Text, &Value)> {
    if object.len() == 1 { object.iter().next() } else { None }
}

/// Values of this process that were cut before, by address: a document along a hundred steps is printed once.
#[derive(Debug, Default)]
pub(crate) struct Known {
    /// By address, length and kind, with the value itself, so that the address stays its own.
    by_address: HashMap<(usize, usize, bool), (Value, Arc<Blob>)>,
    bytes: u64,
}

fn address(value: &Value) -> Option<(usize, usize, bool)> {
    Some(match value {
        Value::String(text) => (text.as_ptr().addr(), text.len(), true),
        Value::Array(items) => (items.as_slice().as_ptr().addr(), items.as_slice().len(), false),
        Value::Object(object) => (object.values().as_ptr().addr(), object.len(), false),
        _ => return None,
    })
}

impl Known {
    fn find(&self, value: &Value) -> Option<Arc<Blob>> {
        let (kept, blob) = self.by_address.get(&address(value)?)?;
        // Two objects may share their members under other names.
        let same = match (kept, value) {
            (Value::Object(one), Value::Object(other)) => one.shape().same(other.shape()),
            _ => true,
        };
        same.then(|| blob.clone())
    }

    fn keep(&mut self, value: &Value, blob: &Arc<Blob>) {
        let Some(address) = address(value) else { return };
        if self.by_address.len() >= KNOWN_MAX || self.bytes.saturating_add(value.weight()) > KNOWN_BYTES_MAX {
            self.by_address.clear();
            self.bytes = 0;
        }
        self.bytes = self.bytes.saturating_add(value.weight());
        self.by_address.insert(address, (value.clone(), blob.clone()));
    }
}

/// Cuts the large parts out of a record's values.
pub(crate) struct Cutter<'a> {
    known: &'a mut Known,
    pub(crate) parts: Vec<Arc<Blob>>,
}

impl<'a> Cutter<'a> {
    pub(crate) fn new(known: &'a mut Known) -> Self {
        Self { known, parts: Vec::new() }
    }

    /// The value as it stands in the record.
    pub(crate) fn cut(&mut self, value: &Value) -> Value {
        let blob = if is_large(value) { self.known.find(value) } else { None };
        if let Some(blob) = blob {
            return self.stands_for(blob);
        }
        let outer = std::mem::take(&mut self.parts);
        let inner = self.inside(value);
        let mine = std::mem::replace(&mut self.parts, outer);
        if !is_large(&inner) {
            self.parts.extend(mine);
            return inner;
        }
        let blob = Arc::new(Blob::new(inner, mine));
        self.known.keep(value, &blob);
        self.stands_for(blob)
    }

    fn stands_for(&mut self, blob: Arc<Blob>) -> Value {
        let hash = hex(&blob.hash);
        self.parts.push(blob);
        Value::object([(format!("${KEY}"), Value::from(hash))])
    }

    fn inside(&mut self, value: &Value) -> Value {
        match value {
            Value::Array(items) => items.as_slice().iter().map(|item| self.cut(item)).collect(),
            Value::Object(object) => match only_member(object) {
                Some((key, member)) if marked(key) => Value::object([(format!("${key}"), self.cut(member))]),
                _ => {
                    let values: Vec<Value> = object.values().iter().map(|member| self.cut(member)).collect();
                    Value::Object(Object::from_shape(object.shape().clone(), values.into_iter()))
                }
            },
            scalar => scalar.clone(),
        }
    }
}

/// Puts the values back. `find` gives the text of a hash; what it gives is looked at: it must have that hash.
pub(crate) struct Joiner<'a> {
    find: &'a mut dyn FnMut(&Hash) -> Result<Option<String>, crate::wire::Trouble>,
    known: &'a mut HashMap<Hash, Value>,
    depth: u32,
}

impl<'a> Joiner<'a> {
    pub(crate) fn new(
        find: &'a mut dyn FnMut(&Hash) -> Result<Option<String>, crate::wire::Trouble>,
        known: &'a mut HashMap<Hash, Value>,
    ) -> Self {
        Self { find, known, depth: 0 }
    }

    pub(crate) fn join(&mut self, value: &Value) -> Result<Value, crate::wire::Trouble> {
        Ok(match value {
            Value::Array(items) => Value::from(items.as_slice().iter().map(|item| self.join(item)).collect::<Result<Vec<_>, _>>()?),
            Value::Object(object) => match only_member(object) {
                Some((key, member)) if marked(key) => match (key.strip_prefix("$$"), member) {
                    (Some(rest), member) => Value::object([(format!("${rest}"), self.join(member)?)]),
                    (None, Value::String(hash)) => self.of(hash)?,
                    (None, _) => return Err(damaged("a place of a value has no hash")),
                },
                _ => {
                    let values = object.values().iter().map(|member| self.join(member)).collect::<Result<Vec<_>, _>>()?;
                    Value::Object(Object::from_shape(object.shape().clone(), values.into_iter()))
                }
            },
            scalar => scalar.clone(),
        })
    }

    fn of(&mut self, shown: &str) -> Result<Value, crate::wire::Trouble> {
        let hash = unhex(shown).ok_or_else(|| damaged("a place of a value has no hash"))?;
        if let Some(value) = self.known.get(&hash) {
            return Ok(value.clone());
        }
        let text = (self.find)(&hash)?.ok_or_else(|| damaged(&format!("the value {shown} is not there")))?;
        if Hash::from(Sha256::digest(text.as_bytes())) != hash {
            return Err(damaged(&format!("the value {shown} is not what was written")));
        }
        // What was cut by depth comes back as deep; nothing else can be so deep.
        if self.depth > toolwright::limits::VALUE_DEPTH_MAX {
            return Err(damaged("values stand in each other without an end"));
        }
        let cut = Value::parse(&text).map_err(|error| damaged(&format!("the value {shown} is no JSON: {error}")))?;
        self.depth += 1;
        let value = self.join(&cut)?;
        self.depth -= 1;
        self.known.insert(hash, value.clone());
        Ok(value)
    }
}

fn damaged(what: &str) -> crate::wire::Trouble {
    crate::wire::Trouble::Damaged(what.to_owned())
}

/// The hashes that a record, or a kept value, names.
pub(crate) fn named(text: &str) -> Vec<Hash> {
    let mut found = Vec::new();
    let mut waiting: Vec<Value> = Value::parse(text).into_iter().collect();
    while let Some(value) = waiting.pop() {
        match &value {
            Value::Array(items) => waiting.extend(items.as_slice().iter().cloned()),
            Value::Object(object) => match only_member(object) {
                Some((key, Value::String(hash))) if *key == format!("${KEY}") => found.extend(unhex(hash)),
                _ => waiting.extend(object.values().iter().cloned()),
            },
            _ => {}
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use toolwright::json;

    fn there_and_back(value: &Value) -> usize {
        let mut known = Known::default();
        let mut cutter = Cutter::new(&mut known);
        let cut = cutter.cut(value);
        let mut kept = HashMap::new();
        let mut waiting = cutter.parts.clone();
        while let Some(blob) = waiting.pop() {
            waiting.extend(blob.parts.iter().cloned());
            kept.insert(blob.hash, blob.text());
        }
        let mut find = |hash: &Hash| Ok(kept.get(hash).cloned());
        let joined = Joiner::new(&mut find, &mut HashMap::new()).join(&cut).unwrap();
        assert_eq!(joined.to_json_string(), value.to_json_string());
        kept.len()
    }

    #[test]
    fn values_come_back() {
        let big = || Value::from("x".repeat(20_000));
        let deep = (1..128).fold(json!([]), |inner, _| Value::array([inner]));
        let cases = [
            (json!({"a": 1}), 0),
            (json!({ "doc": big(), "again": big() }), 1),
            (json!({ "$value": big() }), 1),
            (json!({ "$value": "0".repeat(64), }), 0),
            (json!({ "$$value": { "$value": { "value": big() } } }), 1),
            ((0..5_000).map(|number| json!({ "n": number })).collect(), 1),
            (json!({ "many": (0..40).map(|_| json!({ "doc": big(), "n": 1 })).collect::<Value>() }), 1),
            (deep, 2),
            (Value::parse("123456789012345678901234567890.10").unwrap(), 0),
        ];
        for (value, blobs) in cases {
            assert_eq!(there_and_back(&value), blobs, "{}", &value.to_json_string()[..40.min(value.to_json_string().len())]);
        }
    }
}

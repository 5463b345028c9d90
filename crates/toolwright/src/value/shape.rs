//! Key lists that many objects share.
//!
//! A thousand records with the same keys hold one list. A shape knows nothing about values.

use std::fmt;
use std::sync::LazyLock;

use triomphe::ThinArc;

use super::Text;
use super::parse::plain_end;
use crate::limits::SHAPE_LINEAR_KEYS_MAX;

/// An ordered list of distinct keys; a clone is one reference count.
///
/// A source of many records makes it once, and each record is its values.
///
/// ```
/// use toolwright::{Object, Shape, Value, json};
/// let shape = Shape::new(["id".into(), "name".into()]);
/// let rows = [[json!(1), json!("Ada")], [json!(2), json!("Bob")]];
/// let records: Vec<Object> = rows.into_iter().map(|row| Object::from_shape(shape.clone(), row.into_iter())).collect();
/// assert_eq!(records[1].get("name"), Some(&json!("Bob")));
/// ```
#[derive(Clone)]
pub struct Shape(ThinArc<Head, Key>);

struct Head {
    /// Bytes of all keys with their quotes and colons, as printed before escaping.
    weight: u64,
    /// Whether every key prints as it is, without an escape.
    plain: bool,
    /// Positions sorted by tag and text; empty for short lists, which are searched from the front.
    index: Box<[u32]>,
}

/// A key with a digest that tells most keys apart without a look at the text.
#[derive(Clone, Debug)]
pub(crate) struct Key {
    pub(crate) tag: Tag,
    pub(crate) text: Text,
}

/// Length and some bytes of a text; equal texts have equal tags, and a tag of 7 bytes or less is the whole text.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) struct Tag(pub(crate) u64);

impl Tag {
    pub(crate) fn of(text: &str) -> Tag {
        let bytes = text.as_bytes();
        let length = bytes.len();
        let digest = match (bytes.first_chunk::<4>(), bytes.last_chunk::<4>()) {
            (Some(first), Some(last)) => {
                let (first, last) = (u64::from(u32::from_le_bytes(*first)), u64::from(u32::from_le_bytes(*last)));
                match length {
                    // The two halves overlap and agree where they do.
                    4..=7 => first | last << (8 * (length - 4)),
                    _ => (first & 0x00FF_FFFF) | last << 24,
                }
            }
            _ => bytes.iter().rev().fold(0, |digest, byte| digest << 8 | u64::from(*byte)),
        };
        Tag(digest | (length.min(255) as u64) << 56)
    }

    /// Whether equal tags mean equal texts.
    fn is_whole(self) -> bool {
        self.0 >> 56 < 8
    }
}

impl Key {
    pub(crate) fn new(text: Text) -> Key {
        Key { tag: Tag::of(&text), text }
    }

    #[inline]
    pub(crate) fn is(&self, tag: Tag, text: &str) -> bool {
        self.tag == tag && (tag.is_whole() || self.text.as_str() == text)
    }
}

/// What `sorted_index` found.
pub(crate) enum Distinct {
    Yes(Box<[u32]>),
    No,
}

/// The search index of a key list, or the news that a key stands there twice.
pub(crate) fn distinct(keys: &[Key]) -> Distinct {
    if keys.len() <= SHAPE_LINEAR_KEYS_MAX {
        let mut rest = keys;
        while let [first, others @ ..] = rest {
            if others.iter().any(|other| other.is(first.tag, &first.text)) {
                return Distinct::No;
            }
            rest = others;
        }
        return Distinct::Yes(Box::default());
    }
    let mut sorted: Vec<(Tag, &str, u32)> = keys.iter().enumerate().map(|(at, key)| (key.tag, key.text.as_str(), at as u32)).collect();
    sorted.sort_unstable();
    let twice = sorted.windows(2).any(|pair| matches!(pair, [left, right] if left.0 == right.0 && left.1 == right.1));
    if twice { Distinct::No } else { Distinct::Yes(sorted.into_iter().map(|(.., at)| at).collect()) }
}

impl Shape {
    /// A key list in the given order; a key that comes again is dropped.
    pub fn new(keys: impl IntoIterator<Item = Text>) -> Shape {
        let mut keys: Vec<Key> = keys.into_iter().map(Key::new).collect();
        let index = match distinct(&keys) {
            Distinct::Yes(index) => index,
            Distinct::No => {
                let mut seen = std::collections::HashSet::new();
                keys.retain(|key| seen.insert(key.text.clone()));
                match distinct(&keys) {
                    Distinct::Yes(index) => index,
                    Distinct::No => Box::default(),
                }
            }
        };
        Shape::from_distinct(index, keys.into_iter())
    }

    pub(crate) fn from_distinct(index: Box<[u32]>, keys: impl ExactSizeIterator<Item = Key>) -> Shape {
        let (mut weight, mut plain) = (0, true);
        let list = keys.inspect(|key| {
            weight += key.text.len() as u64 + 3;
            plain &= plain_end(key.text.as_bytes(), 0) == key.text.len();
        });
        let mut shape = ThinArc::from_header_and_iter(Head { weight: 0, plain: false, index }, list);
        // The sums are known only now; nobody else has seen the new list, so this always succeeds.
        shape.with_arc_mut(|arc| {
            if let Some(inner) = triomphe::Arc::get_mut(arc) {
                let head = inner.header_mut();
                (head.weight, head.plain) = (weight, plain);
            }
        });
        Shape(shape)
    }

    /// The shape of `{}`.
    pub fn empty() -> &'static Shape {
        static EMPTY: LazyLock<Shape> = LazyLock::new(|| Shape::new([]));
        &EMPTY
    }

    /// How many keys.
    pub fn len(&self) -> usize {
        self.list().len()
    }

    /// Whether there are no keys.
    pub fn is_empty(&self) -> bool {
        self.list().is_empty()
    }

    /// The keys in order.
    pub fn keys(&self) -> impl ExactSizeIterator<Item = &Text> + DoubleEndedIterator + Clone {
        self.list().iter().map(|key| &key.text)
    }

    /// The position of a key.
    pub fn position(&self, key: &str) -> Option<usize> {
        self.find(Tag::of(key), key)
    }

    /// Whether both are the same list in memory.
    pub fn same(&self, other: &Shape) -> bool {
        self.0.as_ptr() == other.0.as_ptr()
    }

    /// A copy that shares no memory, for a plan that one worker owns alone.
    #[must_use]
    pub fn deep_clone(&self) -> Shape {
        let keys = self.list().iter().map(|key| Key { tag: key.tag, text: deep_clone_text(&key.text) });
        Shape::from_distinct(self.0.header.header.index.clone(), keys)
    }

    pub(crate) fn list(&self) -> &[Key] {
        &self.0.slice
    }

    pub(crate) fn weight(&self) -> u64 {
        self.0.header.header.weight
    }

    pub(crate) fn is_plain(&self) -> bool {
        self.0.header.header.plain
    }

    pub(crate) fn find(&self, tag: Tag, key: &str) -> Option<usize> {
        let list = self.list();
        let index = &self.0.header.header.index;
        if index.is_empty() {
            return list.iter().position(|candidate| candidate.is(tag, key));
        }
        let at = index
            .binary_search_by(|at| match list.get(*at as usize) {
                Some(candidate) => candidate.tag.cmp(&tag).then_with(|| candidate.text.as_str().cmp(key)),
                None => std::cmp::Ordering::Less,
            })
            .ok()?;
        index.get(at).map(|at| *at as usize)
    }
}

/// A copy of a text that shares no memory; literals in the program's own data stay.
pub(crate) fn deep_clone_text(text: &Text) -> Text {
    if Text::is_static(text) { text.clone() } else { Text::from(text.as_str()) }
}

impl PartialEq for Shape {
    /// Same keys in the same order.
    fn eq(&self, other: &Shape) -> bool {
        self.same(other)
            || self.len() == other.len() && self.list().iter().zip(other.list()).all(|(left, right)| left.is(right.tag, &right.text))
    }
}

impl Eq for Shape {}

impl fmt::Debug for Shape {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_list().entries(self.keys()).finish()
    }
}

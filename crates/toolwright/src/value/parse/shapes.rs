//! Recognising key lists that were seen before.
//!
//! Every place of a document (`.items[].owner`) remembers the last key list it had. As long as an object's keys follow
//! that list, nothing is allocated for them.

use std::collections::HashSet;

use super::super::object::Object;
use super::super::shape::{Distinct, Key, Shape, Tag, distinct};
use super::super::{Text, Value};

const SHAPE_SLOTS: usize = 64;
const KEY_SLOTS: usize = 256;
/// Up to this length a tag is the whole text, so looking for it is one comparison.
const SHARED_TEXT_BYTES_MAX: usize = 7;
/// Shorter texts are not worth the tables.
const SHORT_TEXT_BYTES_MAX: usize = 256;

/// A digest of the keys that lead to a place; array items all count as one place.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) struct Place(u64);

impl Place {
    pub(super) const ROOT: Place = Place(0x9E37_79B9_7F4A_7C15);

    fn step(self, by: u64) -> Place {
        Place((self.0.rotate_left(23) ^ by).wrapping_mul(0xD6E8_FEB8_6659_FD93))
    }

    pub(super) fn items(self) -> Place {
        self.step(1)
    }

    fn member(self, tag: Tag) -> Place {
        self.step(tag.0)
    }

    fn slot(self, slots: usize) -> usize {
        // The upper bits of a product are the well mixed ones.
        (self.0 >> 32) as usize % slots
    }
}

/// The keys of an object that has not been closed.
pub(super) struct Members {
    /// Where the object stands.
    place: Place,
    /// The key list they may turn out to be.
    expected: Option<Shape>,
    /// How many keys have followed `expected`.
    followed: usize,
    /// Where its keys start in the key stack, once they have left `expected`.
    start: usize,
}

/// What the parser remembers about keys.
pub(super) struct Shapes {
    known: Vec<Option<(Place, Shape)>>,
    texts: Vec<Option<Key>>,
    /// The keys of all open objects that follow no known list.
    keys: Vec<Key>,
    slots: usize,
    /// The first key that was found twice in one object.
    repeated: Option<Text>,
}

impl Shapes {
    pub(super) fn new(text_bytes: usize) -> Shapes {
        let slots = if text_bytes > SHORT_TEXT_BYTES_MAX { SHAPE_SLOTS } else { 0 };
        Shapes { known: Vec::new(), texts: Vec::new(), keys: Vec::new(), slots, repeated: None }
    }

    /// Starts an object at a place.
    pub(super) fn begin(&mut self, place: Place) -> Members {
        let expected = match self.known.get(place.slot(SHAPE_SLOTS)) {
            Some(Some((at, shape))) if *at == place => Some(shape.clone()),
            _ => None,
        };
        Members { place, expected, followed: 0, start: self.keys.len() }
    }

    /// Takes the next key of the innermost object; gives the place of its value.
    pub(super) fn key(&mut self, members: &mut Members, text: &str) -> Place {
        let tag = Tag::of(text);
        let place = members.place.member(tag);
        if let Some(shape) = &members.expected {
            if shape.list().get(members.followed).is_some_and(|key| key.is(tag, text)) {
                members.followed += 1;
                return place;
            }
            self.keys.extend(shape.list().iter().take(members.followed).cloned());
            members.expected = None;
        }
        let key = self.intern(tag, text);
        self.keys.push(key);
        place
    }

    /// The key, shared with an earlier one of the same text if that is still remembered.
    fn intern(&mut self, tag: Tag, text: &str) -> Key {
        if self.slots == 0 {
            return Key { tag, text: Text::from(text) };
        }
        if self.texts.is_empty() {
            self.texts.resize(KEY_SLOTS, None);
        }
        let Some(slot) = self.texts.get_mut(Place::ROOT.member(tag).slot(KEY_SLOTS)) else {
            return Key { tag, text: Text::from(text) };
        };
        match slot {
            Some(key) if key.is(tag, text) => key.clone(),
            _ => slot.insert(Key { tag, text: Text::from(text) }).clone(),
        }
    }

    /// A string's text; short ones, of which documents repeat many, are shared with an earlier one if there is one.
    pub(super) fn text(&mut self, text: &str) -> Text {
        if self.slots > 0 && text.len() <= SHARED_TEXT_BYTES_MAX && !text.is_empty() {
            return self.intern(Tag::of(text), text).text;
        }
        Text::from(text)
    }

    /// Closes an object.
    pub(super) fn finish(&mut self, members: Members, values: impl ExactSizeIterator<Item = Value>) -> Object {
        let Members { place, expected, followed, start } = members;
        if let Some(shape) = expected {
            if followed == shape.len() {
                return Object::from_shape(shape, values);
            }
            self.keys.extend(shape.list().iter().take(followed).cloned());
        }
        let keys = self.keys.get(start..).unwrap_or_default();
        match distinct(keys) {
            Distinct::Yes(index) => {
                let shape = Shape::from_distinct(index, self.keys.drain(start..));
                self.remember(place, &shape);
                Object::from_shape(shape, values)
            }
            Distinct::No => {
                let keys: Vec<Key> = self.keys.drain(start..).collect();
                self.repeated = self.repeated.take().or_else(|| first_repeated(&keys));
                Object::from_lists(keys, values.collect())
            }
        }
    }

    /// A key that stood twice in one object.
    pub(super) fn repeated(&mut self) -> Option<Text> {
        self.repeated.take()
    }

    fn remember(&mut self, place: Place, shape: &Shape) {
        if self.known.is_empty() && self.slots > 0 {
            self.known.resize(self.slots, None);
        }
        if let Some(slot) = self.known.get_mut(place.slot(SHAPE_SLOTS)) {
            *slot = Some((place, shape.clone()));
        }
    }
}

#[cold]
fn first_repeated(keys: &[Key]) -> Option<Text> {
    let mut seen = HashSet::with_capacity(keys.len());
    keys.iter().find(|key| !seen.insert(key.text.as_str())).map(|key| key.text.clone())
}

//! Objects: shared, immutable values under a shared key list.

use std::fmt;
use std::sync::atomic::{AtomicU32, Ordering};

use triomphe::{Arc, ThinArc};

use super::array::Size;
use super::shape::{Distinct, Key, Shape, Tag, distinct};
use super::teardown::dismantle;
use super::{Text, Value};
use crate::limits::VALUE_DEPTH_MAX;

/// A shared map from text to value that keeps its order; a clone is one reference count.
///
/// A change makes a new one.
///
/// ```
/// use toolwright::{Object, json};
/// let object = Object::from_pairs([("b", 1), ("a", 2)]).with("c", 3);
/// assert_eq!(object.keys().map(|key| key.as_str()).collect::<Vec<_>>(), ["b", "a", "c"]);
/// assert_eq!(object.get("a"), Some(&json!(2)));
/// ```
// INVARIANT: `None` is `{}`, so it needs no memory; a `Some` has as many values as its shape has keys, at least one.
#[derive(Clone, Default)]
pub struct Object(Option<ThinArc<Head, Value>>);

struct Head {
    shape: Shape,
    size: Size,
}

impl Object {
    /// The object without members.
    pub const EMPTY: Object = Object(None);

    /// An object with this key list: one allocation. The values come in the order of the keys.
    ///
    /// Members without a value become null and values without a key are dropped; both are mistakes of the caller.
    pub fn from_shape(shape: Shape, values: impl ExactSizeIterator<Item = Value>) -> Object {
        debug_assert_eq!(shape.len(), values.len(), "one value for each key");
        if shape.is_empty() {
            return Object::EMPTY;
        }
        let mut size = Size { weight: shape.weight().saturating_add(1), depth: 1 };
        let values = Exactly { left: shape.len(), values };
        let values = values.inspect(|value| size.add(value));
        let mut list = ThinArc::from_header_and_iter(Head { shape, size: Size::EMPTY }, values);
        // The sums are known only now; nobody else has seen the new object, so this always succeeds.
        list.with_arc_mut(|arc| {
            if let Some(inner) = Arc::get_mut(arc) {
                inner.header_mut().size = size;
            }
        });
        Object(Some(list))
    }

    /// As [`Object::from_shape`], from values that others keep: they are looked at first, and shared where they stand.
    #[inline]
    pub(crate) fn from_shape_of(shape: Shape, values: &[&Value]) -> Object {
        if shape.is_empty() || shape.len() != values.len() {
            return Object::from_shape(shape, values.iter().map(|value| (*value).clone()));
        }
        let mut size = Size { weight: shape.weight().saturating_add(1), depth: 1 };
        values.iter().for_each(|value| size.add(value));
        Object(Some(ThinArc::from_header_and_iter(Head { shape, size }, values.iter().map(|value| (*value).clone()))))
    }

    /// An object from its members; of members with the same key the last value wins and the first position stays.
    pub fn from_pairs<K: Into<Text>, V: Into<Value>>(pairs: impl IntoIterator<Item = (K, V)>) -> Object {
        let (keys, values): (Vec<Key>, Vec<Value>) = pairs.into_iter().map(|(key, value)| (Key::new(key.into()), value.into())).unzip();
        Object::from_lists(keys, values)
    }

    pub(crate) fn from_lists(keys: Vec<Key>, values: Vec<Value>) -> Object {
        match distinct(&keys) {
            Distinct::Yes(index) => Object::from_shape(Shape::from_distinct(index, keys.into_iter()), values.into_iter()),
            Distinct::No => Object::from_repeating(keys, values),
        }
    }

    #[cold]
    fn from_repeating(keys: Vec<Key>, values: Vec<Value>) -> Object {
        let mut places = std::collections::HashMap::with_capacity(keys.len());
        let mut kept: Vec<(Key, Value)> = Vec::with_capacity(keys.len());
        for (key, value) in keys.into_iter().zip(values) {
            let place = *places.entry(key.text.clone()).or_insert(kept.len());
            match kept.get_mut(place) {
                Some(member) => member.1 = value,
                None => kept.push((key, value)),
            }
        }
        let (keys, values): (Vec<Key>, Vec<Value>) = kept.into_iter().unzip();
        let shape = Shape::new(keys.into_iter().map(|key| key.text));
        Object::from_shape(shape, values.into_iter())
    }

    /// How many members.
    pub fn len(&self) -> usize {
        self.values().len()
    }

    /// Whether there are no members.
    pub fn is_empty(&self) -> bool {
        self.0.is_none()
    }

    /// The key list.
    pub fn shape(&self) -> &Shape {
        match &self.0 {
            Some(list) => &list.header.header.shape,
            None => Shape::empty(),
        }
    }

    /// The keys in order.
    pub fn keys(&self) -> impl ExactSizeIterator<Item = &Text> + DoubleEndedIterator + Clone {
        self.key_list().iter().map(|key| &key.text)
    }

    /// The values in the order of the keys.
    pub fn values(&self) -> &[Value] {
        match &self.0 {
            Some(list) => &list.slice,
            None => &[],
        }
    }

    /// The members in order.
    pub fn iter(&self) -> Members<'_> {
        Members(self.key_list().iter().zip(self.values()))
    }

    /// The value of a key.
    pub fn get(&self, key: &str) -> Option<&Value> {
        self.find(Tag::of(key), key)
    }

    /// The value of a key that is looked up again and again in objects of the same shape: `hint` remembers where it
    /// stood last time. Any hint is correct; a good one is fast.
    pub fn get_hinted(&self, key: &str, hint: &AtomicU32) -> Option<&Value> {
        self.find_hinted(Tag::of(key), key, hint)
    }

    pub(crate) fn find(&self, tag: Tag, key: &str) -> Option<&Value> {
        let list = self.0.as_ref()?;
        list.slice.get(list.header.header.shape.find(tag, key)?)
    }

    #[inline]
    pub(crate) fn find_hinted(&self, tag: Tag, key: &str, hint: &AtomicU32) -> Option<&Value> {
        let list = self.0.as_ref()?;
        let shape = &list.header.header.shape;
        let guess = hint.load(Ordering::Relaxed) as usize;
        if shape.list().get(guess).is_some_and(|candidate| candidate.is(tag, key)) {
            return list.slice.get(guess);
        }
        let at = shape.find(tag, key)?;
        hint.store(at as u32, Ordering::Relaxed);
        list.slice.get(at)
    }

    /// The same object with this member added at the end, or with this value under a key it has already.
    #[must_use]
    pub fn with(&self, key: impl Into<Text>, value: impl Into<Value>) -> Object {
        let (key, value) = (key.into(), value.into());
        let mut values = self.values().to_vec();
        if let Some(slot) = self.shape().position(&key).and_then(|at| values.get_mut(at)) {
            *slot = value;
            return Object::from_shape(self.shape().clone(), values.into_iter());
        }
        values.push(value);
        let mut keys = self.key_list().to_vec();
        keys.push(Key::new(key));
        Object::from_lists(keys, values)
    }

    /// The same object without this member.
    #[must_use]
    pub fn without(&self, key: &str) -> Object {
        let Some(at) = self.shape().position(key) else {
            return self.clone();
        };
        let (mut keys, mut values) = (self.key_list().to_vec(), self.values().to_vec());
        keys.remove(at);
        values.remove(at);
        Object::from_lists(keys, values)
    }

    pub(crate) fn size(&self) -> Size {
        match &self.0 {
            Some(list) => list.header.header.size,
            None => Size::EMPTY,
        }
    }

    pub(crate) fn key_list(&self) -> &[Key] {
        match &self.0 {
            Some(list) => list.header.header.shape.list(),
            None => &[],
        }
    }

    /// The address that equal handles share; 0 for `{}`.
    pub(crate) fn address(&self) -> usize {
        self.0.as_ref().map_or(0, |list| list.as_ptr() as usize)
    }

    /// Moves the values out if nobody else holds them.
    pub(crate) fn take_values(&mut self, into: &mut Vec<Value>) {
        if let Some(list) = &mut self.0 {
            list.with_arc_mut(|arc| {
                if let Some(inner) = Arc::get_mut(arc) {
                    // What is left holds nulls and may free itself the usual way.
                    inner.header_mut().size.depth = 1;
                    into.extend(inner.slice_mut().iter_mut().map(std::mem::take));
                }
            });
        }
    }
}

impl Drop for Object {
    fn drop(&mut self) {
        if self.size().depth > VALUE_DEPTH_MAX {
            dismantle(|into| self.take_values(into));
        }
    }
}

/// Exactly `left` values, whatever the source has: null for what is missing.
struct Exactly<I> {
    left: usize,
    values: I,
}

impl<I: Iterator<Item = Value>> Iterator for Exactly<I> {
    type Item = Value;

    fn next(&mut self) -> Option<Value> {
        self.left = self.left.checked_sub(1)?;
        Some(self.values.next().unwrap_or(Value::Null))
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (self.left, Some(self.left))
    }
}

impl<I: Iterator<Item = Value>> ExactSizeIterator for Exactly<I> {}

/// The members of an object in order; see [`Object::iter`].
///
/// ```
/// let object = toolwright::Object::from_pairs([("b", 1), ("a", 2)]);
/// let names: Vec<&str> = object.iter().map(|(name, _)| name.as_str()).collect();
/// assert_eq!(names, ["b", "a"]);
/// ```
#[derive(Clone, Debug)]
pub struct Members<'a>(std::iter::Zip<std::slice::Iter<'a, Key>, std::slice::Iter<'a, Value>>);

impl<'a> Iterator for Members<'a> {
    type Item = (&'a Text, &'a Value);

    fn next(&mut self) -> Option<(&'a Text, &'a Value)> {
        self.0.next().map(|(key, value)| (&key.text, value))
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        self.0.size_hint()
    }
}

impl ExactSizeIterator for Members<'_> {}

impl<'a> IntoIterator for &'a Object {
    type Item = (&'a Text, &'a Value);
    type IntoIter = Members<'a>;

    fn into_iter(self) -> Members<'a> {
        self.iter()
    }
}

impl<K: Into<Text>, V: Into<Value>> FromIterator<(K, V)> for Object {
    fn from_iter<I: IntoIterator<Item = (K, V)>>(pairs: I) -> Object {
        Object::from_pairs(pairs)
    }
}

impl fmt::Debug for Object {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&Value::Object(self.clone()), out)
    }
}

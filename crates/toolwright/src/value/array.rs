//! Arrays: shared, immutable lists of values that know their printed size and depth.

use std::fmt;
use std::ops::Deref;

use triomphe::{Arc, ThinArc};

use super::Value;
use super::teardown::dismantle;
use crate::limits::VALUE_DEPTH_MAX;

/// A shared list of values; a clone is one reference count.
///
/// It reads as a slice.
///
/// ```
/// use toolwright::value::Array;
/// let array: Array = (1..=3).map(toolwright::Value::from).collect();
/// assert_eq!(array.len(), 3);
/// ```
// INVARIANT: `None` is the empty array, so `[]` needs no memory; a `Some` has at least one item.
#[derive(Clone, Default)]
pub struct Array(Option<ThinArc<Size, Value>>);

/// What a container keeps in its header so that nobody needs to walk it.
#[derive(Clone, Copy, Default)]
pub(crate) struct Size {
    pub(crate) weight: u64,
    pub(crate) depth: u32,
}

impl Size {
    /// Brackets only.
    pub(crate) const EMPTY: Size = Size { weight: 2, depth: 1 };

    /// Takes one more item into account, with the comma before it.
    #[inline]
    pub(crate) fn add(&mut self, value: &Value) {
        let (weight, depth) = (value.weight(), value.depth());
        // The first item has no comma; `finish` takes that one back.
        self.weight = self.weight.saturating_add(weight).saturating_add(1);
        self.depth = self.depth.max(depth.saturating_add(1));
    }

    pub(crate) fn of<'a>(values: impl IntoIterator<Item = &'a Value>) -> Size {
        let mut size = Size { weight: 1, depth: 1 };
        for value in values {
            size.add(value);
        }
        size
    }
}

impl Array {
    /// The empty array.
    pub const EMPTY: Array = Array(None);

    pub(crate) fn from_exact(size: Size, values: impl ExactSizeIterator<Item = Value>) -> Array {
        if values.len() == 0 {
            return Array::EMPTY;
        }
        Array(Some(ThinArc::from_header_and_iter(size, values)))
    }

    /// The items.
    pub fn as_slice(&self) -> &[Value] {
        match &self.0 {
            Some(list) => &list.slice,
            None => &[],
        }
    }

    #[inline]
    pub(crate) fn size(&self) -> Size {
        match &self.0 {
            Some(list) => list.header.header,
            None => Size::EMPTY,
        }
    }

    /// The address that equal handles share; 0 for the empty array.
    pub(crate) fn address(&self) -> usize {
        self.0.as_ref().map_or(0, |list| list.as_ptr() as usize)
    }

    /// Moves the items out if nobody else holds them.
    pub(crate) fn take_items(&mut self, into: &mut Vec<Value>) {
        if let Some(list) = &mut self.0 {
            list.with_arc_mut(|arc| {
                if let Some(inner) = Arc::get_mut(arc) {
                    // What is left holds nulls and may free itself the usual way.
                    inner.header_mut().depth = 1;
                    into.extend(inner.slice_mut().iter_mut().map(std::mem::take));
                }
            });
        }
    }
}

impl Drop for Array {
    fn drop(&mut self) {
        if self.size().depth > VALUE_DEPTH_MAX {
            dismantle(|into| self.take_items(into));
        }
    }
}

impl Deref for Array {
    type Target = [Value];

    fn deref(&self) -> &[Value] {
        self.as_slice()
    }
}

impl From<Vec<Value>> for Array {
    fn from(values: Vec<Value>) -> Array {
        Array::from_exact(Size::of(&values), values.into_iter())
    }
}

impl FromIterator<Value> for Array {
    fn from_iter<I: IntoIterator<Item = Value>>(values: I) -> Array {
        Array::from(values.into_iter().collect::<Vec<_>>())
    }
}

impl<'a> IntoIterator for &'a Array {
    type Item = &'a Value;
    type IntoIter = std::slice::Iter<'a, Value>;

    fn into_iter(self) -> std::slice::Iter<'a, Value> {
        self.as_slice().iter()
    }
}

impl fmt::Debug for Array {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&Value::Array(self.clone()), out)
    }
}

//! Hiding the values of secrets in text that people, models and logs will see.
//!
//! Works on bytes, before anything is decoded or cut, because a cut could leave half a secret that no search finds any more.

use std::ops::Range;

/// What stands in the place of a secret.
pub(crate) const MASK: &str = "[secret]";

/// A secret's beginning at the very end of a stream is hidden from this length on: the program may have been killed while it
/// was printing it.
const PREFIX_BYTES_MIN: usize = 4;

/// The values that never appear in an error, in details or in kept output.
#[derive(Clone, Default)]
pub(crate) struct Secrets {
    needles: Vec<Vec<u8>>,
}

impl Secrets {
    pub(crate) fn new(values: impl IntoIterator<Item = String>) -> Self {
        let mut needles: Vec<Vec<u8>> = values.into_iter().filter(|value| !value.is_empty()).map(String::into_bytes).collect();
        needles.sort();
        needles.dedup();
        Self { needles }
    }

    /// The longest secret in bytes: how far around a cut one must look.
    pub(crate) fn longest(&self) -> usize {
        self.needles.iter().map(Vec::len).max().unwrap_or(0)
    }

    /// `text` with every secret replaced.
    pub(crate) fn mask_text(&self, text: &str) -> String {
        if self.needles.is_empty() {
            return text.to_owned();
        }
        let bytes = text.as_bytes();
        String::from_utf8_lossy(&replaced(bytes, 0..bytes.len(), self.places(bytes))).into_owned()
    }

    /// The bytes of `keep`, with every secret that touches it replaced as a whole; `bytes` is what surrounds `keep` too, and its
    /// end may be the middle of a secret.
    pub(crate) fn mask(&self, bytes: &[u8], keep: Range<usize>) -> Vec<u8> {
        let mut places = self.places(bytes);
        places.extend(self.cut_at_end(bytes));
        replaced(bytes, keep, joined(places))
    }

    /// Where secrets stand in `bytes`: in order, overlapping ones joined.
    fn places(&self, bytes: &[u8]) -> Vec<Range<usize>> {
        joined(self.needles.iter().flat_map(|needle| occurrences(bytes, needle)).collect())
    }

    /// The longest beginning of a secret that `bytes` ends with.
    fn cut_at_end(&self, bytes: &[u8]) -> Option<Range<usize>> {
        self.needles
            .iter()
            .flat_map(|needle| (PREFIX_BYTES_MIN..needle.len()).filter_map(|length| needle.get(..length)))
            .filter(|prefix| bytes.ends_with(prefix))
            .map(<[u8]>::len)
            .max()
            .map(|length| bytes.len() - length..bytes.len())
    }
}

fn joined(mut places: Vec<Range<usize>>) -> Vec<Range<usize>> {
    places.sort_by_key(|place| (place.start, place.end));
    let mut joined: Vec<Range<usize>> = Vec::with_capacity(places.len());
    for place in places {
        match joined.last_mut() {
            Some(last) if place.start < last.end => last.end = last.end.max(place.end),
            _ => joined.push(place),
        }
    }
    joined
}

fn replaced(bytes: &[u8], keep: Range<usize>, hidden: Vec<Range<usize>>) -> Vec<u8> {
    let mut masked = Vec::with_capacity(keep.len());
    let mut at = keep.start;
    for place in hidden.into_iter().filter(|place| place.end > keep.start && place.start < keep.end) {
        masked.extend_from_slice(bytes.get(at..place.start).unwrap_or_default());
        masked.extend_from_slice(MASK.as_bytes());
        at = place.end;
    }
    masked.extend_from_slice(bytes.get(at..keep.end).unwrap_or_default());
    masked
}

fn occurrences<'b>(bytes: &'b [u8], needle: &'b [u8]) -> impl Iterator<Item = Range<usize>> + 'b {
    bytes
        .windows(needle.len())
        .enumerate()
        .filter(move |(_, window)| *window == needle)
        .map(move |(start, window)| start..start + window.len())
}

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
        let mut needles: Vec<Vec<u8>> =
            values.into_iter().filter(|value| !value.is_empty()).map(String::into_bytes).collect();
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
        String::from_utf8_lossy(&self.mask(text.as_bytes(), 0..text.len())).into_owned()
    }

    /// The bytes of `keep`, with every secret that touches it replaced as a whole; `bytes` is what surrounds `keep` too.
    pub(crate) fn mask(&self, bytes: &[u8], keep: Range<usize>) -> Vec<u8> {
        let mut masked = Vec::with_capacity(keep.len());
        let mut at = keep.start;
        for hidden in self.places(bytes) {
            if hidden.end <= keep.start || hidden.start >= keep.end {
                continue;
            }
            masked.extend_from_slice(bytes.get(at..hidden.start).unwrap_or_default());
            masked.extend_from_slice(MASK.as_bytes());
            at = hidden.end;
        }
        masked.extend_from_slice(bytes.get(at..keep.end).unwrap_or_default());
        masked
    }

    /// Where secrets stand in `bytes`: in order, overlapping ones joined.
    fn places(&self, bytes: &[u8]) -> Vec<Range<usize>> {
        let mut found: Vec<Range<usize>> = self.needles.iter().flat_map(|needle| occurrences(bytes, needle)).collect();
        found.extend(self.cut_at_end(bytes));
        found.sort_by_key(|place| (place.start, place.end));
        let mut joined: Vec<Range<usize>> = Vec::with_capacity(found.len());
        for place in found {
            match joined.last_mut() {
                Some(last) if place.start < last.end => last.end = last.end.max(place.end),
                _ => joined.push(place),
            }
        }
        joined
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

fn occurrences<'b>(bytes: &'b [u8], needle: &'b [u8]) -> impl Iterator<Item = Range<usize>> + 'b {
    bytes
        .windows(needle.len())
        .enumerate()
        .filter(move |(_, window)| *window == needle)
        .map(move |(start, window)| start..start + window.len())
}

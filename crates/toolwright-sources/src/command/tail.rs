//! The end of a stream of unknown length, in bounded memory.

use std::ops::Range;

use super::mask::Secrets;

/// The last bytes of a stream, whatever its length.
pub(crate) struct Tail {
    bytes: Vec<u8>,
    kept_max: usize,
    margin: usize,
    seen: u64,
}

/// What is shown of a stream that may have been longer.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Shown {
    /// The text, secrets masked, broken characters replaced.
    pub(crate) text: String,
    /// How many bytes of the stream are not in it.
    pub(crate) bytes_cut: u64,
}

impl Tail {
    /// Keeps `kept_max` bytes, and enough before them to know a secret that the cut goes through.
    pub(crate) fn new(kept_max: usize, secrets: &Secrets) -> Self {
        Self { bytes: Vec::new(), kept_max, margin: secrets.longest(), seen: 0 }
    }

    pub(crate) fn push(&mut self, chunk: &[u8]) {
        self.seen = self.seen.saturating_add(chunk.len() as u64);
        self.bytes.extend_from_slice(chunk);
        let held_max = self.kept_max + self.margin;
        // Twice the bound before anything moves: each byte is moved at most once on average.
        if self.bytes.len() > held_max.saturating_mul(2) {
            self.bytes.drain(..self.bytes.len() - held_max);
        }
    }

    /// The end of the stream as text.
    pub(crate) fn show(&self, secrets: &Secrets) -> Shown {
        let start = self.bytes.len().saturating_sub(self.kept_max);
        let start = character_start(&self.bytes, start);
        let masked = secrets.mask(&self.bytes, start..self.bytes.len());
        Shown {
            text: String::from_utf8_lossy(&masked).into_owned(),
            bytes_cut: self.seen.saturating_sub((self.bytes.len() - start) as u64),
        }
    }
}

/// The beginning of a stream as text, cut between characters.
pub(crate) fn head(bytes: &[u8], kept_max: usize, secrets: &Secrets) -> Shown {
    part(bytes, 0..bytes.len().min(kept_max), secrets)
}

/// A part of `bytes` as text, ending between characters; what stands around it tells where secrets are.
pub(crate) fn part(bytes: &[u8], keep: Range<usize>, secrets: &Secrets) -> Shown {
    let end = (keep.end.saturating_sub(3).max(keep.start)..=keep.end).rev().find(|&at| is_character_start(bytes, at)).unwrap_or(keep.end);
    let context = bytes.len().min(end + secrets.longest());
    let masked = secrets.mask(bytes.get(..context).unwrap_or_default(), keep.start..end);
    Shown { text: String::from_utf8_lossy(&masked).into_owned(), bytes_cut: (bytes.len() - end) as u64 }
}

/// The first start of a character at or after `at`, looking at most three bytes ahead.
pub(crate) fn character_start(bytes: &[u8], at: usize) -> usize {
    if at == 0 {
        return 0;
    }
    (at..bytes.len().min(at + 4)).find(|&at| is_character_start(bytes, at)).unwrap_or(at)
}

fn is_character_start(bytes: &[u8], at: usize) -> bool {
    bytes.get(at).is_none_or(|byte| byte & 0b1100_0000 != 0b1000_0000)
}

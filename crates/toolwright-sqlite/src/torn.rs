//! Where a write-ahead log stops to be what was written. SQLite itself reads it up to there and says nothing; this finds
//! the place, so that whoever lost records is told where.
//!
//! The form is that of <https://www.sqlite.org/fileformat2.html#walformat>.

use std::path::Path;

const HEADER_BYTES: usize = 32;
const FRAME_HEADER_BYTES: usize = 24;

/// A place in a log after which nothing counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Torn {
    /// The frame, from 1; 0 for the header.
    pub(crate) frame: usize,
    /// Its first byte in the file.
    pub(crate) offset: usize,
}

fn number(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_be_bytes(bytes.get(at..at + 4)?.try_into().ok()?))
}

/// The sums of SQLite's logs.
fn sum(bytes: &[u8], big: bool, (mut one, mut two): (u32, u32)) -> (u32, u32) {
    let mut words = bytes.chunks_exact(4).map(|word| {
        let word = word.try_into().unwrap_or_default();
        if big { u32::from_be_bytes(word) } else { u32::from_le_bytes(word) }
    });
    while let (Some(first), Some(second)) = (words.next(), words.next()) {
        one = one.wrapping_add(first).wrapping_add(two);
        two = two.wrapping_add(second).wrapping_add(one);
    }
    (one, two)
}

/// The first place of a log that is not as it was written; none when all of it is, or when it is empty.
pub(crate) fn find(log: &Path) -> Option<Torn> {
    let bytes = std::fs::read(log).ok().filter(|bytes| !bytes.is_empty())?;
    let header = Torn { frame: 0, offset: 0 };
    let Some((magic, page)) = number(&bytes, 0).zip(number(&bytes, 8)) else { return Some(header) };
    let big = magic & 1 == 1;
    let Some(start) = bytes.get(..24).map(|bytes| sum(bytes, big, (0, 0))) else { return Some(header) };
    if magic & !1 != 0x377f_0682 || number(&bytes, 24).zip(number(&bytes, 28)) != Some(start) {
        return Some(header);
    }
    let salts = bytes.get(16..24)?;
    let (mut sums, mut offset, mut frame) = (start, HEADER_BYTES, 1);
    let bytes_each = FRAME_HEADER_BYTES + usize::try_from(page).unwrap_or(usize::MAX - FRAME_HEADER_BYTES);
    while let Some(rest) = bytes.get(offset..).filter(|rest| !rest.is_empty()) {
        let torn = Some(Torn { frame, offset });
        let Some(this) = rest.get(..bytes_each) else { return torn };
        if this.get(8..16) != Some(salts) {
            // What is left of an earlier round of the log is no damage, unless something of this round follows.
            let later = rest.chunks_exact(bytes_each).any(|frame| frame.get(8..16) == Some(salts));
            return if later { torn } else { None };
        }
        sums = sum(this.get(..8)?, big, sums);
        sums = sum(this.get(FRAME_HEADER_BYTES..)?, big, sums);
        if number(this, 16).zip(number(this, 20)) != Some(sums) {
            return torn;
        }
        offset += bytes_each;
        frame += 1;
    }
    None
}

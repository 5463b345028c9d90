//! "Did you mean": the nearest of some known names, or none when nothing is near.

use crate::limits::{NEAREST_CANDIDATES_MAX, NEAREST_NAME_BYTES_MAX};

/// The candidate that looks most like `word`; none when even that one is far away.
///
/// A name of more than [`NEAREST_NAME_BYTES_MAX`] bytes is near to nothing, and only the first [`NEAREST_CANDIDATES_MAX`]
/// candidates are looked at: comparing costs the product of two lengths, and keys of foreign data come here.
///
/// ```
/// use toolwright::nearest::nearest;
/// assert_eq!(nearest("serch", ["fetch", "search"]), Some("search"));
/// assert_eq!(nearest("zebra", ["fetch", "search"]), None);
/// ```
pub fn nearest<'a>(word: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    if word.len() > NEAREST_NAME_BYTES_MAX {
        return None;
    }
    let folded = word.to_lowercase();
    candidates
        .into_iter()
        .take(NEAREST_CANDIDATES_MAX)
        .filter(|candidate| candidate.len() <= NEAREST_NAME_BYTES_MAX)
        .filter_map(|candidate| distance(&folded, candidate).map(|distance| (distance, candidate)))
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, candidate)| candidate)
}

/// The candidate that `word` can only be a misspelling of, so that a program may put it in the word's place.
///
/// It is within one slip of the pen of the word, two from ten letters on, no other candidate is as near, and the two differ
/// in more than their digits: `v1` is no misspelling of `v2`.
///
/// ```
/// use toolwright::nearest::{nearest, unmistakable};
/// assert_eq!(unmistakable("serch", ["fetch", "search"]), Some("search"));
/// assert_eq!(unmistakable("git_pull", ["git_push"]), None);
/// assert_eq!(nearest("git_pull", ["git_push"]), Some("git_push"));
/// ```
pub fn unmistakable<'a>(word: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    if word.len() > NEAREST_NAME_BYTES_MAX {
        return None;
    }
    let folded = word.to_lowercase();
    let near = candidates.into_iter().take(NEAREST_CANDIDATES_MAX).filter(|candidate| candidate.len() <= NEAREST_NAME_BYTES_MAX);
    let mut near: Vec<(usize, &str)> = near.filter_map(|candidate| distance(&folded, candidate).map(|far| (far, candidate))).collect();
    near.sort_by_key(|(far, _)| *far);
    near.dedup();
    let ((far, found), second) = (near.first().copied()?, near.get(1));
    let slips = 1 + folded.chars().count().max(found.chars().count()) / 10;
    let letters = |text: &str| text.chars().filter(|c| !c.is_ascii_digit()).collect::<String>();
    let only_digits = far > 0 && letters(&folded) == letters(&found.to_lowercase());
    let alone = second.is_none_or(|(other, _)| *other > far);
    (far <= slips && alone && !only_digits).then_some(found)
}

/// How far `candidate` is from the folded word; none when that is too far.
fn distance(folded: &str, candidate: &str) -> Option<usize> {
    let candidate = candidate.to_lowercase();
    let (chars, others) = (folded.chars().count(), candidate.chars().count());
    let longest = chars.max(others);
    let begins = |long: &str, short: &str| short.len() >= 3 && long.starts_with(short);
    let begun = begins(&candidate, folded) || begins(folded, &candidate);
    // Names of such lengths are further apart than that, and comparing them is what costs.
    if !begun && chars.abs_diff(others) > (longest / 3).max(1) {
        return None;
    }
    let distance = strsim::damerau_levenshtein(folded, &candidate);
    // One letter in place of the only other is no misspelling of it.
    let misspelt = distance <= (longest / 3).max(1) && distance < longest;
    (misspelt || begun).then_some(distance)
}

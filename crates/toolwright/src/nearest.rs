//! "Did you mean": the nearest of some known names, or none when nothing is near.

/// The candidate that looks most like `word`; none when even that one is far away.
pub fn nearest<'a>(word: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let folded = word.to_lowercase();
    candidates
        .into_iter()
        .map(|candidate| (strsim::damerau_levenshtein(&folded, &candidate.to_lowercase()), candidate))
        .filter(|(distance, candidate)| {
            let longest = word.chars().count().max(candidate.chars().count());
            let candidate = candidate.to_lowercase();
            let begins = |long: &str, short: &str| short.len() >= 3 && long.starts_with(short);
            // One letter in place of the only other is no misspelling of it.
            let misspelt = *distance <= (longest / 3).max(1) && *distance < longest;
            misspelt || begins(&candidate, &folded) || begins(&folded, &candidate)
        })
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, candidate)| candidate)
}

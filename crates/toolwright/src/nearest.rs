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

/// The candidate that `word` can only be a misspelling of, so that a program may put it in the word's place. `candidates`
/// are all names that are there; they are names of somebody's data, which may be words with a meaning of their own.
///
/// The two are the same but for capitals, `_` and `-`, or differ in one place by a slip that hardly makes another word: two
/// neighbouring letters change places, a letter is written once or twice instead, a letter inside is lost. Another letter
/// makes another name (`past`, `fast`), and so do another digit and an end (`user_id`, `user_ids`). Nothing of three letters
/// or fewer is taken for a slip, and nothing that another candidate is within two slips of.
///
/// ```
/// use toolwright::nearest::{nearest, unmistakable};
/// assert_eq!(unmistakable("serach", ["fetch", "search"]), Some("search"));
/// assert_eq!(unmistakable("git_pull", ["git_push"]), None);
/// assert_eq!(nearest("git_pull", ["git_push"]), Some("git_push"));
/// ```
pub fn unmistakable<'a>(word: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let all = all_of(word, candidates)?;
    let found = all.iter().copied().find(|name| is_slip(word, name))?;
    let folded = word.to_lowercase();
    let mut others = all.iter().filter(|name| **name != found);
    others.all(|name| is_far(&folded, &name.to_lowercase())).then_some(found)
}

/// The same for a word of a format, whose `candidates` are few, fixed and nobody's data: a lost end is a slip there, and in
/// long words another letter is one, and two slips are.
///
/// ```
/// use toolwright::nearest::{unmistakable, unmistakable_keyword};
/// assert_eq!(unmistakable_keyword("step", ["mode", "steps"]), Some("steps"));
/// assert_eq!(unmistakable("step", ["mode", "steps"]), None);
/// ```
pub fn unmistakable_keyword<'a>(word: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let all = all_of(word, candidates)?;
    let folded = word.to_lowercase();
    let mut near: Vec<(usize, &str)> = all.iter().filter_map(|name| distance(&folded, name).map(|far| (far, *name))).collect();
    near.sort_by_key(|(far, _)| *far);
    let ((far, found), second) = (near.first().copied()?, near.get(1));
    let name = found.to_lowercase();
    let (short, long) = ends(&folded, &name);
    let other_letters = short == long && folded.chars().zip(name.chars()).filter(|(a, b)| a != b).count() == 1;
    let within = far <= 1 + long / 10 && short >= SLIP_LETTERS_MIN && (!other_letters || short >= 6);
    let alone = second.is_none_or(|(other, _)| *other > far);
    (within && alone && digits(&folded).eq(digits(&name))).then_some(found)
}

/// Letters that both words have at least where one is a misspelling of the other.
const SLIP_LETTERS_MIN: usize = 4;
/// Letters that the shorter one has at least where it lost one: there are too many short words.
const LOST_LETTERS_MIN: usize = 5;

/// Slips that lead from one common word to another.
const BOTH_ARE_WORDS: [(&str, &str); 24] = [
    ("form", "from"),
    ("trail", "trial"),
    ("angle", "angel"),
    ("quiet", "quite"),
    ("diary", "dairy"),
    ("board", "broad"),
    ("could", "cloud"),
    ("united", "untied"),
    ("casual", "causal"),
    ("sacred", "scared"),
    ("martial", "marital"),
    ("lose", "loose"),
    ("later", "latter"),
    ("desert", "dessert"),
    ("diner", "dinner"),
    ("coma", "comma"),
    ("crate", "create"),
    ("price", "prince"),
    ("place", "palace"),
    ("sever", "server"),
    ("sting", "string"),
    ("county", "country"),
    ("cause", "clause"),
    ("statue", "statute"),
];

/// All candidates, each once; none when they are too many to look at, or the word is one of them.
fn all_of<'a>(word: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<Vec<&'a str>> {
    let mut all: Vec<&str> = candidates.into_iter().take(NEAREST_CANDIDATES_MAX + 1).collect();
    if word.len() > NEAREST_NAME_BYTES_MAX || all.len() > NEAREST_CANDIDATES_MAX || all.contains(&word) {
        return None;
    }
    all.retain(|name| name.len() <= NEAREST_NAME_BYTES_MAX);
    all.sort_unstable();
    all.dedup();
    Some(all)
}

/// How many letters the shorter and the longer of two have.
fn ends(one: &str, other: &str) -> (usize, usize) {
    let (one, other) = (one.chars().count(), other.chars().count());
    (one.min(other), one.max(other))
}

/// The numbers in a name.
fn digits(name: &str) -> impl Iterator<Item = &str> {
    name.split(|c: char| !c.is_ascii_digit()).filter(|run| !run.is_empty())
}

/// Whether two folded words are more than two slips apart.
fn is_far(one: &str, other: &str) -> bool {
    let (short, long) = ends(one, other);
    long - short > 2 || strsim::damerau_levenshtein(one, other) > 2
}

fn is_slip(word: &str, name: &str) -> bool {
    let (word, name) = (word.to_lowercase(), name.to_lowercase());
    if ends(&word, &name).0 < SLIP_LETTERS_MIN || !digits(&word).eq(digits(&name)) {
        return false;
    }
    let bare = |text: &str| text.replace(['_', '-'], "");
    if bare(&word) == bare(&name) {
        return true;
    }
    // In a name of several words, the one that differs counts.
    let words = |text: &'_ str| text.split(|c: char| !c.is_alphanumeric()).map(str::to_owned).collect::<Vec<_>>();
    let (words, names) = (words(&word), words(&name));
    let mut differing = words.iter().zip(&names).filter(|(one, other)| one != other);
    match (words.len() == names.len(), differing.next(), differing.next()) {
        (true, Some((one, other)), None) => is_slip_of_a_word(one, other),
        _ => is_slip_of_a_word(&word, &name),
    }
}

fn is_slip_of_a_word(word: &str, name: &str) -> bool {
    let (short, long) = ends(word, name);
    let is_pair = |(one, other): &(&str, &str)| (word, name) == (*one, *other) || (name, word) == (*one, *other);
    if short < SLIP_LETTERS_MIN || BOTH_ARE_WORDS.iter().any(is_pair) {
        return false;
    }
    let (letters, others): (Vec<char>, Vec<char>) = (word.chars().collect(), name.chars().collect());
    let at = letters.iter().zip(&others).take_while(|(one, other)| one == other).count();
    let rest = |letters: &[char], from: usize| letters.get(from..).unwrap_or_default().to_vec();
    match long - short {
        0 => {
            let swapped = letters.get(at) == others.get(at + 1) && letters.get(at + 1) == others.get(at);
            swapped && rest(&letters, at + 2) == rest(&others, at + 2)
        }
        1 => {
            let (less, more) = if letters.len() < others.len() { (&letters, &others) } else { (&others, &letters) };
            let one_more = rest(less, at) == rest(more, at + 1);
            // Of two equal letters, the second is where they begin to differ.
            let doubled = at.checked_sub(1).is_some_and(|before| more.get(before) == more.get(at));
            let lost = others.len() > letters.len() && at > 0 && at < less.len() && short >= LOST_LETTERS_MIN;
            one_more && (doubled || lost)
        }
        _ => false,
    }
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

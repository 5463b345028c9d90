//! Names that clients can take, from ids that the runtime can take.
//!
//! A name depends on the ids of the catalogue and on how long it may be, never on the order in which tools came or on who looks: the
//! same tools have the same names after every start and for every audience.

use std::collections::{HashMap, HashSet};

use toolwright::{Fingerprint, Text};

/// Hexadecimal digits of the tail of a name that was changed so that it might be another's.
const TAIL_DIGITS: usize = 8;

/// The name that a tool is exposed under.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Exposed {
    pub(crate) name: Text,
    /// Why it is not the id.
    pub(crate) why: Option<Why>,
}

/// Why a name is not the id.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Why {
    /// The id has characters that names cannot have.
    Characters,
    /// The id is too long.
    Length,
    /// Without those characters it would be the name of another tool.
    Taken,
}

/// The names of these ids, in their order. `chars_max` is at least twice as long as a tail.
///
/// An id that can be a name is its own, whatever else there is. Characters that a name cannot have become `_`; where two ids meet
/// then, and where an id is too long, a tail of the id's hash tells them apart.
pub(crate) fn exposed(ids: &[&str], chars_max: usize) -> Vec<Exposed> {
    let plain: Vec<String> = ids.iter().map(|id| id.chars().map(|c| if is_usual(c) { c } else { '_' }).collect()).collect();
    let mut users: HashMap<&str, usize> = HashMap::with_capacity(ids.len());
    for name in &plain {
        *users.entry(name).or_default() += 1;
    }
    // Those that need no change have their names before anybody else looks for one.
    let mut taken: HashSet<Text> = HashSet::with_capacity(ids.len());
    let mut names: Vec<Option<Exposed>> = Vec::with_capacity(ids.len());
    for (id, name) in ids.iter().zip(&plain) {
        let alone = users.get(name.as_str()) == Some(&1);
        let fits = name.chars().count() <= chars_max;
        names.push(match (fits, id == name, alone) {
            (true, true, _) => Some(Exposed { name: name.into(), why: None }),
            (true, false, true) => Some(Exposed { name: name.into(), why: Some(Why::Characters) }),
            _ => None,
        });
        taken.extend(names.last().and_then(Option::as_ref).map(|exposed| exposed.name.clone()));
    }
    let mut waiting: Vec<usize> = names.iter().enumerate().filter(|(_, name)| name.is_none()).map(|(at, _)| at).collect();
    waiting.sort_by_key(|at| ids.get(*at));
    for at in waiting {
        let (Some(id), Some(name), Some(slot)) = (ids.get(at), plain.get(at), names.get_mut(at)) else { continue };
        let why = if name.chars().count() > chars_max { Why::Length } else { Why::Taken };
        let name = with_tail(id, name, chars_max, &taken);
        taken.insert(name.clone());
        *slot = Some(Exposed { name, why: Some(why) });
    }
    names.into_iter().flatten().collect()
}

fn is_usual(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '_' || c == '-'
}

/// The beginning of a name and so much of its id's hash that nobody else has it.
fn with_tail(id: &str, name: &str, chars_max: usize, taken: &HashSet<Text>) -> Text {
    let hash = Fingerprint::of(id).to_string();
    let digits_max = hash.len().min(chars_max.saturating_sub(1));
    let mut digits = TAIL_DIGITS;
    loop {
        let tail = hash.get(..digits).unwrap_or(&hash);
        let head: String = name.chars().take(chars_max.saturating_sub(digits + 1)).collect();
        let head = head.trim_end_matches(['_', '-']);
        let whole = Text::from(format!("{head}_{tail}"));
        // Two different ids share no whole hash; a shorter piece of it may be anybody's name.
        if !taken.contains(&whole) || digits >= digits_max {
            return whole;
        }
        digits += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn names(ids: &[&str], chars_max: usize) -> Vec<String> {
        exposed(ids, chars_max).iter().map(|exposed| exposed.name.to_string()).collect()
    }

    #[test]
    fn what_can_be_a_name_is_one() {
        let given = exposed(&["git_log", "a-b"], 64);
        assert_eq!(given.iter().map(|exposed| exposed.why).collect::<Vec<_>>(), [None, None]);
        assert_eq!(names(&["git_log", "a-b"], 64), ["git_log", "a-b"]);
    }

    #[test]
    fn other_characters_become_underscores() {
        assert_eq!(names(&["git.log", "a/b c"], 64), ["git_log", "a_b_c"]);
    }

    #[test]
    fn a_tail_tells_those_apart_that_would_meet() {
        let given = names(&["git.log", "git_log", "git/log"], 64);
        assert_eq!(given.get(1).map(String::as_str), Some("git_log"));
        assert!(given[0].starts_with("git_log_") && given[2].starts_with("git_log_") && given[0] != given[2], "{given:?}");
        let turned = names(&["git/log", "git_log", "git.log"], 64);
        assert_eq!((&given[0], &given[2]), (&turned[2], &turned[0]), "the order plays no part");
    }

    #[test]
    fn a_long_name_keeps_its_beginning() {
        let id = "quarterly-revenue-reporting_generate_consolidated_statement_for_subsidiaries";
        let given = names(&[id], 64);
        assert_eq!(given[0].len(), 64);
        assert!(given[0].starts_with("quarterly-revenue-reporting_generate_consolidated_"), "{given:?}");
        assert_eq!(given, names(&[id], 64));
    }

    #[test]
    fn a_tail_that_is_somebodys_name_grows() {
        let first = names(&["git.log", "git/log"], 64);
        let again = names(&["git.log", "git/log", &first[0]], 64);
        assert_eq!(again[2], first[0], "it was that tool's own name");
        assert_eq!(again[0].len(), first[0].len() + 1);
    }

    proptest! {
        #[test]
        fn names_fit_and_differ(ids in proptest::collection::hash_set("[a-c./_é-]{1,12}", 1..40), chars_max in 24_usize..64) {
            let ids: Vec<&str> = ids.iter().map(String::as_str).collect();
            let given = names(&ids, chars_max);
            prop_assert_eq!(given.len(), ids.len());
            let different: HashSet<&String> = given.iter().collect();
            prop_assert_eq!(different.len(), ids.len());
            for name in &given {
                prop_assert!(!name.is_empty() && name.len() <= chars_max && name.chars().all(is_usual), "{}", name);
            }
            let mut turned = ids.clone();
            turned.reverse();
            let mut back = names(&turned, chars_max);
            back.reverse();
            prop_assert_eq!(back, given);
        }
    }
}

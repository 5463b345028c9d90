//! What is remembered of the texts at one place: how many, whether they are few words, whether all fit a format.

use std::collections::BTreeMap;

use super::super::CompiledSchema;
use crate::fingerprint::Fingerprint;
use crate::limits::{LEARNED_FORMAT_TIMES_MIN, LEARNED_WORD_CHARS_MAX, LEARNED_WORDS_MAX, LEARNED_WORDS_TIMES_MIN};
use crate::value::{Text, Value};

/// Formats that can be learned; of two that fit, the first counts.
pub(super) const FORMATS: [&str; 3] = ["date-time", "email", "uri"];

/// Hexadecimal digits that stand for a word.
const HASH_DIGITS: usize = 16;

/// Validators for the formats, as outputs meet them later.
#[derive(Clone)]
pub(super) struct Formats([CompiledSchema; FORMATS.len()]);

impl Default for Formats {
    fn default() -> Self {
        Self(FORMATS.map(|name| CompiledSchema::new(Value::object([("format", name)]))))
    }
}

impl std::fmt::Debug for Formats {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Formats").finish()
    }
}

impl Formats {
    /// Whether the text fits, for each format.
    fn of(&self, text: &Text) -> [bool; FORMATS.len()] {
        let value = Value::String(text.clone());
        let mut fits = self.0.each_ref().map(|schema| schema.accepts(&value));
        // `sha256:ab` is a URI to the letter, and to nobody else.
        if let Some(uri) = fits.last_mut() {
            *uri &= text.contains("://");
        }
        fits
    }
}

/// A word that may become one of few.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Word {
    pub(super) times: u64,
    /// Not known of a word that was read from a written form, until it comes again.
    pub(super) text: Option<Text>,
}

/// What is remembered of the texts at one place.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Texts {
    pub(super) times: u64,
    /// Words by their hash; `None` when there were too many, or too long ones.
    pub(super) words: Words,
    /// Formats that some text did not fit.
    pub(super) misfits: [bool; FORMATS.len()],
}

/// Words by their hash, as long as they are few.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Words {
    Few(BTreeMap<Text, Word>),
    Many,
}

impl Default for Words {
    fn default() -> Self {
        Self::Few(BTreeMap::new())
    }
}

pub(super) fn hash(text: &str) -> Text {
    let mut digits = Fingerprint::of(text).to_string();
    digits.truncate(HASH_DIGITS);
    digits.into()
}

impl Words {
    pub(super) fn add(&mut self, key: Text, word: Word) {
        let Self::Few(few) = self else { return };
        if few.len() >= LEARNED_WORDS_MAX && !few.contains_key(&key) {
            *self = Self::Many;
            return;
        }
        let known = few.entry(key).or_insert(Word { times: 0, text: None });
        known.times = known.times.saturating_add(word.times);
        known.text = known.text.take().or(word.text);
    }
}

impl Texts {
    pub(super) fn add(&mut self, text: &Text, formats: &Formats) {
        self.times = self.times.saturating_add(1);
        if self.misfits.contains(&false) {
            let fits = formats.of(text);
            self.misfits.iter_mut().zip(fits).for_each(|(misfit, fits)| *misfit |= !fits);
        }
        match text.chars().nth(LEARNED_WORD_CHARS_MAX) {
            Some(_) => self.words = Words::Many,
            None if self.words == Words::Many => {}
            None => self.words.add(hash(text), Word { times: 1, text: Some(text.clone()) }),
        }
    }

    pub(super) fn merge(&mut self, other: Texts) {
        self.times = self.times.saturating_add(other.times);
        self.misfits.iter_mut().zip(other.misfits).for_each(|(misfit, other)| *misfit |= other);
        match other.words {
            Words::Many => self.words = Words::Many,
            Words::Few(few) => few.into_iter().for_each(|(key, word)| self.words.add(key, word)),
        }
    }

    /// The only words there are, when much speaks for it: many texts, few words, each of them more than once.
    pub(super) fn only(&self) -> Option<Vec<Text>> {
        let Words::Few(few) = &self.words else { return None };
        if self.times < LEARNED_WORDS_TIMES_MIN || few.len() < 2 || few.values().any(|word| word.times < 2) {
            return None;
        }
        let mut only = few.values().map(|word| word.text.clone()).collect::<Option<Vec<_>>>()?;
        only.sort();
        Some(only)
    }

    /// The format that all texts have.
    pub(super) fn format(&self) -> Option<&'static str> {
        if self.times < LEARNED_FORMAT_TIMES_MIN {
            return None;
        }
        FORMATS.iter().zip(self.misfits).find(|(_, misfit)| !misfit).map(|(name, _)| *name)
    }

    /// Whether a text brings nothing new.
    pub(super) fn fits(&self, text: &Text, formats: &Formats) -> bool {
        if self.times == 0 || self.only().is_some_and(|only| !only.contains(text)) {
            return false;
        }
        let mut pairs = FORMATS.iter().zip(formats.of(text));
        self.format().is_none_or(|format| pairs.any(|(name, fits)| *name == format && fits))
    }
}

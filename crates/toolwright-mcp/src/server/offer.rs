//! What is offered: a catalogue, the servers behind it, and who sees what of it.

use std::collections::BTreeMap;

use toolwright::{Catalog, Text};

use crate::upstream::Upstream;

/// What clients see. A new one replaces it as a whole.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Offer {
    /// The tools.
    pub catalog: Catalog,
    /// The servers whose resources and prompts are passed through, in the order of the configuration.
    pub upstreams: Vec<Upstream>,
    /// Who sees what, by name. A caller whose audience is not among them sees nothing.
    pub audiences: BTreeMap<Text, Audience>,
}

/// What a group of clients sees.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct Audience {
    /// The tools it sees: ids, `*` for any text; empty = all.
    pub sees: Vec<Text>,
    /// Tools it never reaches, inside composites neither.
    pub denied: Vec<Text>,
    /// The form in which schemas are published.
    pub profile: Profile,
}

/// What a kind of client can take.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Profile {
    /// Its name.
    pub name: Text,
    /// Longest exposed name, in characters.
    pub name_chars_max: usize,
}

impl Audience {
    /// Whether it may reach resources and prompts of that source.
    pub fn sees_source(&self, _source: &str) -> bool {
        true
    }
}

impl Offer {
    /// A catalogue that everybody sees as a whole.
    pub fn new(catalog: Catalog) -> Self {
        Self { catalog, upstreams: Vec::new(), audiences: BTreeMap::from([(Text::new(), Audience::default())]) }
    }
}

impl Default for Profile {
    fn default() -> Self {
        Self { name: Text::default(), name_chars_max: 64 }
    }
}

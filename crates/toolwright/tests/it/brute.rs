//! Brute force about two schemas: instances of the one, and what the other says to each. It knows nothing of how a
//! verdict comes about.
//!
//! What counts as accepted is `jsonschema`'s word on the product's own values, formats included, without fetching
//! anything, by the schema's own draft. Everything is deterministic. `cargo xtask bench --wiring` stands on it too.

use jsonschema::Validator;
use toolwright::value::JsonValue;
use toolwright::wiring::Verdict;
use toolwright::{Text, Value};

#[path = "brute/arrays.rs"]
mod arrays;
#[path = "brute/decimals.rs"]
mod decimals;
#[path = "brute/facets.rs"]
mod facets;
#[path = "brute/instances.rs"]
mod instances;
#[path = "brute/mutations.rs"]
mod mutations;
#[path = "brute/objects.rs"]
mod objects;
#[path = "brute/scalars.rs"]
mod scalars;
#[path = "brute/texts.rs"]
mod texts;

pub(crate) use instances::Generator;

/// A validator as a tool's border has one; nothing when the schema cannot be used.
pub(crate) fn validator(schema: &Value) -> Option<Validator<JsonValue>> {
    jsonschema::options_for::<JsonValue>().should_validate_formats(true).offline().build(&schema.to_json()).ok()
}

/// What was found out about a pair of schemas.
#[derive(Debug, Default)]
pub(crate) struct Evidence {
    /// How many instances of the source there are.
    pub(crate) count: usize,
    /// One of them that the target takes.
    pub(crate) taken: Option<Value>,
    /// One of them that it refuses.
    pub(crate) refused: Option<Value>,
}

impl Evidence {
    /// What is said of instances of `source` by `target`.
    pub(crate) fn of(instances: &[Value], target: &Validator<JsonValue>) -> Self {
        let mut evidence = Self::default();
        evidence.add(instances, target);
        evidence
    }

    /// Takes more instances into account.
    pub(crate) fn add(&mut self, instances: &[Value], target: &Validator<JsonValue>) {
        self.count += instances.len();
        for instance in instances {
            let side = if target.is_valid(instance) { &mut self.taken } else { &mut self.refused };
            if side.is_none() {
                *side = Some(instance.clone());
            }
            if self.taken.is_some() && self.refused.is_some() {
                return;
            }
        }
    }

    /// The instance that proves `verdict` wrong.
    pub(crate) fn against(&self, verdict: &Verdict) -> Option<String> {
        match verdict {
            Verdict::Fits => self.refused.as_ref().map(|instance| format!("it fits, but {} is refused", cut(instance))),
            Verdict::CannotFit(_) => self.taken.as_ref().map(|instance| format!("it can never fit, but {} is taken", cut(instance))),
            Verdict::Unknown | Verdict::MayNotFit(_) => None,
        }
    }

    /// What a verdict of *may not fit* says and no instance shows.
    pub(crate) fn unwitnessed(&self, verdict: &Verdict) -> Option<&'static str> {
        match (verdict, &self.taken, &self.refused) {
            (Verdict::MayNotFit(_), _, None) => Some("it may not fit, but no instance was found that is refused"),
            (Verdict::MayNotFit(_), None, _) => Some("it may not fit, but no instance was found that is taken"),
            _ => None,
        }
    }
}

/// The one word that a table says of a verdict.
pub(crate) fn word(verdict: &Verdict) -> &'static str {
    match verdict {
        Verdict::Fits => "fits",
        Verdict::Unknown => "unknown",
        Verdict::MayNotFit(_) => "may",
        Verdict::CannotFit(_) => "never",
    }
}

/// An instance as a message shows it.
fn cut(instance: &Value) -> String {
    let text = instance.to_json_string();
    match text.char_indices().nth(300) {
        Some((end, _)) => format!("`{}…` ({} bytes)", text.get(..end).unwrap_or_default(), text.len()),
        None => format!("`{text}`"),
    }
}

/// Deterministic choices: splitmix64.
#[derive(Clone, Debug)]
pub(crate) struct Dice(u64);

impl Dice {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// The next number.
    pub(crate) fn roll(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// A number below `end`; 0 when there is none.
    pub(crate) fn below(&mut self, end: usize) -> usize {
        usize::try_from(self.roll() % (end.max(1) as u64)).unwrap_or_default()
    }

    /// One of them.
    pub(crate) fn pick<'a, T>(&mut self, of: &'a [T]) -> Option<&'a T> {
        of.get(self.below(of.len()))
    }
}

/// The members of a value that is an object.
fn members(value: &Value) -> impl Iterator<Item = (&Text, &Value)> {
    value.as_object().into_iter().flat_map(|object| object.iter())
}

//! The shape of a tool's outputs, learned from outputs: for tools that do not say what they give.
//!
//! [`Learned`] takes outputs one after another and gives a JSON Schema that accepts all of them. What it says does not
//! depend on their order. It claims little: types, members that are always there, and words and formats only where
//! much speaks for them. Texts of outputs are not kept, except few words that come again and again.

mod form;
mod shape;
mod texts;

use crate::limits::{LEARNED_DEPTH_MAX, LEARNED_PLACES_MAX};
use crate::value::{Text, Value};

use shape::Shape;
use texts::Formats;

/// What stands in the schemas made here.
const DIALECT: &str = "https://json-schema.org/draft/2020-12/schema";

/// What was learned from some outputs of one tool.
///
/// ```
/// use toolwright::{json, schema::Learned};
/// let mut learned = Learned::default();
/// learned.add(&json!({ "id": 7, "name": "duck" }));
/// learned.add(&json!({ "id": 8, "name": null, "tags": ["white"] }));
/// let expected = json!({
///     "$schema": "https://json-schema.org/draft/2020-12/schema",
///     "type": "object",
///     "properties": {
///         "id": { "type": "integer" },
///         "name": { "type": ["string", "null"] },
///         "tags": { "type": "array", "items": { "type": "string" } }
///     },
///     "required": ["id", "name"]
/// });
/// assert_eq!(learned.schema(), expected);
/// ```
#[derive(Clone, Debug)]
pub struct Learned {
    outputs: u64,
    unchanged: u64,
    shape: Shape,
    /// Places of the shape, or more of them than there are.
    places: usize,
    /// Levels that are looked at.
    depth: u32,
    formats: Formats,
}

impl Default for Learned {
    fn default() -> Self {
        let formats = Formats::default();
        Self { outputs: 0, unchanged: 0, shape: Shape::default(), places: 1, depth: LEARNED_DEPTH_MAX, formats }
    }
}

/// A member that some of the objects at one place have, and others not.
///
/// ```
/// use toolwright::{json, schema::Learned};
/// let mut learned = Learned::default();
/// learned.add(&json!([{ "id": 1 }, { "id": 2, "note": "new" }]));
/// let sometimes = learned.sometimes();
/// assert_eq!((sometimes[0].path.as_str(), sometimes[0].seen, sometimes[0].of), ("[].note", 1, 2));
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sometimes {
    /// Where it is, as in [`Slip::path`](crate::wiring::Slip::path).
    pub path: String,
    /// Objects that have it.
    pub seen: u64,
    /// Objects there were.
    pub of: u64,
}

/// A written form of a [`Learned`] that is none.
///
/// ```
/// use toolwright::{json, schema::Learned};
/// let error = Learned::from_value(&json!({ "outputs": "many" })).err().ok_or("that is no number")?;
/// assert_eq!(error.pointer, "/outputs");
/// # Ok::<(), &str>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct LearnedError {
    /// JSON pointer into the written form.
    pub pointer: String,
    /// What is wrong there.
    pub message: String,
}

impl Learned {
    /// Takes one output more.
    pub fn add(&mut self, output: &Value) {
        let changes = !self.shape.fits(output, &self.formats);
        self.unchanged = if changes { 0 } else { self.unchanged.saturating_add(1) };
        self.outputs = self.outputs.saturating_add(1);
        self.places = self.places.saturating_add(self.shape.add(output, self.depth, &self.formats));
        if self.places > LEARNED_PLACES_MAX {
            self.forget_the_deepest();
        }
    }

    /// Only here the order of outputs can matter: what was too much before it turned out to be a map is gone.
    fn forget_the_deepest(&mut self) {
        self.places = self.shape.places();
        while self.places > LEARNED_PLACES_MAX && self.depth > 0 {
            self.depth -= 1;
            self.shape.cut(self.depth);
            self.places = self.shape.places();
        }
    }

    /// How many outputs there were.
    pub fn outputs(&self) -> u64 {
        self.outputs
    }

    /// How many of the newest outputs, in a row, brought nothing new: they fitted what was learned before, and had no
    /// member that was not known.
    pub fn unchanged(&self) -> u64 {
        self.unchanged
    }

    /// An estimate of how probable it is that the next output brings nothing new: (s + 1) / (s + 2) after `s` outputs
    /// in a row that did not. It supposes that the next one is of the same kind as those.
    pub fn estimate(&self) -> f64 {
        let unchanged = self.unchanged.min(1 << 50) as f64;
        (unchanged + 1.0) / (unchanged + 2.0)
    }

    /// The JSON Schema (2020-12) of all outputs so far. It accepts each of them, and members that none of them had.
    pub fn schema(&self) -> Value {
        self.with_dialect(false)
    }

    /// The same, but without members that no output had: for telling what a reference could not find. Too strict to
    /// judge outputs with.
    pub fn expectation(&self) -> Value {
        self.with_dialect(true)
    }

    fn with_dialect(&self, closed: bool) -> Value {
        let members = self.shape.schema(closed);
        Value::object([(Text::from("$schema"), Value::from(DIALECT))].into_iter().chain(members))
    }

    /// Members that are not always there, by their paths, and how often they were.
    pub fn sometimes(&self) -> Vec<Sometimes> {
        let mut found = Vec::new();
        self.shape.sometimes(&mut String::new(), &mut found);
        found
    }

    /// A form to write down and to go on from later. Of texts it has only the words that were learned, and hashes of
    /// words that may become such.
    pub fn to_value(&self) -> Value {
        let counts = [("outputs", Value::from(self.outputs)), ("unchanged", Value::from(self.unchanged))];
        let depth = (self.depth < LEARNED_DEPTH_MAX).then(|| ("depth", Value::from(self.depth)));
        Value::object(counts.into_iter().chain(depth).chain([("seen", self.shape.to_value())]))
    }

    /// Reads what [`Learned::to_value`] gave.
    ///
    /// # Errors
    /// Says where it is something else.
    pub fn from_value(written: &Value) -> Result<Self, LearnedError> {
        form::read(written)
    }
}

//! What can flow where: whether everything that one schema lets out is what another takes in, proved before anything
//! runs.
//!
//! [`compare`] looks at two schemas and gives a [`Verdict`]; one that is not clear-cut names each [`Slip`]: what could
//! slip through, and where in the value.

use crate::reference::template::Hop;
use crate::schema::CompiledSchema;
use crate::value::{Text, Value};

mod bundle;
pub(crate) mod check;
pub(crate) mod contract;
mod document;
mod engine;
mod leaf;
mod node;
mod path;
mod reader;
mod relate;
mod witness;
mod words;

pub(crate) use document::Document;
use engine::Engine;
use node::Tri;
use relate::Rel;

/// What is known of a value on its way from one place to another.
///
/// The order is that of strictness: from what needs nothing to what can never be right.
///
/// ```
/// use toolwright::{json, wiring::{self, Verdict}};
/// let text = json!({ "type": "string" });
/// let short = json!({ "type": "string", "maxLength": 50 });
/// assert_eq!(wiring::compare(&short, &text), Verdict::Fits);
/// let Verdict::MayNotFit(slips) = wiring::compare(&text, &short) else { return Err("long texts slip through") };
/// assert_eq!(slips[0].what, "strings of more than 50 characters");
/// # Ok::<(), &str>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Whatever can arrive is taken.
    Fits,
    /// Nothing is known, or it could not be decided within the bounds of a check.
    Unknown,
    /// Some of what can arrive is taken, and some is not: what slips through.
    MayNotFit(Vec<Slip>),
    /// Nothing that can arrive is taken: what stands against it.
    CannotFit(Vec<Slip>),
}

/// Something that can arrive and is not taken.
///
/// ```
/// use toolwright::{json, wiring::{self, Verdict}};
/// let from = json!({ "type": "object", "properties": { "id": { "type": ["string", "null"] } }, "required": ["id"] });
/// let to = json!({ "type": "object", "properties": { "id": { "type": "string" } } });
/// let Verdict::MayNotFit(slips) = wiring::compare(&from, &to) else { return Err("null slips through") };
/// assert_eq!((slips[0].path.as_str(), slips[0].what.as_str()), (".id", "`null`"));
/// # Ok::<(), &str>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Slip {
    /// Where inside the value, as a reference's path is written: `.items[].id`; empty for the value itself.
    pub path: String,
    /// What it is, in words: "`null`", "strings of more than 50 characters", "it may be missing".
    pub what: String,
    /// Nothing describes it: members of an open object beyond those that are named.
    pub(crate) undescribed: bool,
}

/// Whether what fits `source` always fits `target`.
///
/// Both are JSON Schemas of any draft from 4 to 2020-12, each by its own `$schema`. The work is bounded: what would
/// take too long is [`Verdict::Unknown`]. A schema that is none, or that refers to another document, is unknown too.
///
/// ```
/// use toolwright::{json, wiring::{self, Verdict}};
/// assert!(matches!(wiring::compare(&json!({ "type": "integer" }), &json!({ "type": "string" })), Verdict::CannotFit(_)));
/// ```
pub fn compare(source: &Value, target: &Value) -> Verdict {
    let (Some(from), Some(to)) = (read(source), read(target)) else { return Verdict::Unknown };
    let mut engine = Engine::new();
    let rel = engine.judge(&engine::whole(&from), &engine::whole(&to));
    verdict(rel, engine.slips)
}

/// Whether what fits one schema, or is the member of this name of what does, always fits another. Both schemas are known
/// to be some.
pub(crate) fn always_fits(from: &CompiledSchema, member: Option<&Text>, to: &CompiledSchema) -> bool {
    let (Some(from), Some(to)) = (from.document(), to.document()) else { return false };
    let mut engine = Engine::new();
    let whole = engine::whole(from);
    let conj = match member {
        None => whole,
        Some(name) => engine.follow(whole, &[Hop::into_member(name)]).conj,
    };
    engine.judge(&conj, &engine::whole(to)).rejects == Tri::No
}

/// A document, unless the schema is none.
fn read(schema: &Value) -> Option<std::sync::Arc<Document>> {
    let document = Document::new(schema)?;
    CompiledSchema::new(schema.clone()).verify().ok().map(|()| document)
}

fn verdict(rel: Rel, slips: Vec<Slip>) -> Verdict {
    match (rel.accepts, rel.rejects) {
        (_, Tri::No) => Verdict::Fits,
        (Tri::No, _) => Verdict::CannotFit(slips),
        (Tri::Yes, Tri::Yes) => Verdict::MayNotFit(slips),
        _ => Verdict::Unknown,
    }
}

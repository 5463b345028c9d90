//! What a reference yields: a schema followed along a path.

use std::sync::Arc;

use super::engine::{Engine, item_at, lengths};
use super::leaf::{Kind, Leaf};
use super::node::{Branch, Conj, Item, Node, Part, Scalars, Shape, Tri};
use crate::limits;
use crate::reference::template::Hop;
use crate::value::{Text, Value};

/// Where a path led.
pub(super) struct Followed {
    /// What is there, when something is.
    pub(super) conj: Conj,
    /// The same as it was found, one by one.
    pub(super) alternatives: Vec<Conj>,
    /// Whether there may be nothing.
    pub(super) missing: Tri,
    /// Where nothing can be, for certain.
    pub(super) dead: Option<Dead>,
    /// The hop from which on something may be missing that the schema does not promise, or does not even name.
    pub(super) loose: Option<Loose>,
}

/// A hop that leads nowhere.
#[derive(Debug)]
pub(super) struct Dead {
    pub(super) hop: usize,
    /// The names that are there.
    pub(super) known: Vec<Text>,
    /// What is there in place of something with members.
    pub(super) instead: Option<&'static str>,
}

/// A hop that need not lead anywhere.
#[derive(Debug)]
pub(super) struct Loose {
    pub(super) hop: usize,
    /// The schema does not speak of it.
    pub(super) unnamed: bool,
    /// The names of which the schema speaks.
    pub(super) known: Vec<Text>,
}

/// One hop over several alternatives.
#[derive(Default)]
struct Step {
    next: Vec<Conj>,
    missing: Option<Tri>,
    known: Vec<Text>,
    instead: Option<&'static str>,
    loose: bool,
    unnamed: bool,
}

impl Step {
    fn is_missing(&mut self, how: Tri) {
        self.missing = Some(self.missing.map_or(how, |before| before.or(how)));
    }
}

impl Engine {
    /// Follows a path from what is known of its root.
    pub(super) fn follow(&mut self, root: Conj, path: &[Hop]) -> Followed {
        let mut alternatives = vec![root];
        let (mut missing, mut loose) = (Tri::No, None);
        for (at, hop) in path.iter().enumerate() {
            let mut step = Step::default();
            for conj in &alternatives {
                let node = self.read_all(conj);
                for branch in &node.branches {
                    self.hop(branch, hop, &mut step);
                }
            }
            if alternatives.len() > limits::WIRING_BRANCHES_MAX || !self.tick() {
                return Followed { loose, ..Followed::unknown() };
            }
            if step.next.is_empty() && step.missing == Some(Tri::Yes) {
                let dead = Dead { hop: at, known: step.known, instead: step.instead };
                let conj = vec![super::engine::never()];
                return Followed { conj, alternatives: Vec::new(), missing: Tri::Yes, dead: Some(dead), loose };
            }
            if loose.is_none() && step.loose {
                loose = Some(Loose { hop: at, unnamed: step.unnamed, known: std::mem::take(&mut step.known) });
            }
            missing = missing.or(step.missing.unwrap_or(Tri::No));
            alternatives = step.next;
        }
        let conj = match alternatives.as_slice() {
            [only] => only.clone(),
            _ => {
                let node = alternatives.iter().fold(Node::never(), |union, conj| {
                    let node = self.read_all(conj);
                    union.or(node)
                });
                vec![Item::Made(Arc::new(node))]
            }
        };
        Followed { conj, alternatives, missing, dead: None, loose }
    }

    fn hop(&mut self, branch: &Branch, hop: &Hop, step: &mut Step) {
        let certain = if branch.exact { Tri::Yes } else { Tri::Unknown };
        match &branch.shape {
            Shape::Any => {
                step.next.push(unknown());
                step.is_missing(Tri::Unknown);
            }
            Shape::Values(values) => {
                let mut found = Vec::new();
                for value in values {
                    match taken(value, hop) {
                        Some(value) => found.push(value),
                        None => step.is_missing(certain),
                    }
                }
                if !found.is_empty() {
                    step.next.push(vec![Item::Made(Arc::new(Node::values(found)))]);
                }
            }
            Shape::Scalars(scalars) => {
                step.instead = Some(word(scalars));
                step.is_missing(certain);
            }
            Shape::Object(parts) => match &hop.key {
                Some(key) => self.hop_into_object(parts, key, certain, step),
                None => {
                    step.instead = Some("an object");
                    step.is_missing(certain);
                }
            },
            Shape::Array(_) if hop.length => {
                step.next.push(vec![Item::Made(Arc::new(length()))]);
            }
            Shape::Array(parts) => match hop.index {
                Some(index) => {
                    let conj = item_at(parts, index as usize);
                    let lengths = lengths(parts);
                    if lengths.most.is_some_and(|most| most <= u64::from(index)) || self.read_all(&conj).is_never() {
                        step.instead = Some("a shorter array");
                        step.is_missing(certain);
                        return;
                    }
                    step.next.push(conj);
                    if lengths.least <= u64::from(index) {
                        step.is_missing(certain);
                    }
                }
                None => {
                    step.instead = Some("an array");
                    step.is_missing(certain);
                }
            },
        }
    }

    fn hop_into_object(&mut self, parts: &[Part], key: &Text, certain: Tri, step: &mut Step) {
        let conj = self.member(parts, key);
        let named = self.named(parts).unwrap_or_default();
        let speaks = named.contains(key);
        if self.read_all(&conj).is_never() {
            step.known.extend(named);
            step.is_missing(certain);
            return;
        }
        if !self.required(parts).contains(key) {
            // Of an object about which nothing is said, nothing is expected either.
            let nothing_said = named.is_empty() && conj.is_empty();
            step.is_missing(if nothing_said { Tri::Unknown } else { certain });
            step.loose |= !nothing_said;
            step.unnamed |= !speaks && !nothing_said;
            step.known.extend(named);
        }
        step.next.push(if conj.is_empty() && !speaks { unknown() } else { conj });
    }
}

fn unknown() -> Conj {
    vec![Item::Made(Arc::new(Node::unknown()))]
}

/// As a run would take it.
fn taken(value: &Value, hop: &Hop) -> Option<Value> {
    match value {
        Value::Object(members) => members.get(hop.key.as_deref()?).cloned(),
        Value::Array(_) if hop.length => Some(Value::from(value.as_array().unwrap_or_default().len() as u64)),
        Value::Array(_) => value.get_index(hop.index? as usize).cloned(),
        _ => None,
    }
}

fn word(scalars: &Scalars) -> &'static str {
    match (scalars.string.is_some(), scalars.number.is_some(), scalars.yes || scalars.no) {
        (true, false, false) => "a string",
        (false, true, false) => "a number",
        (false, false, true) => "a boolean",
        (false, false, false) => "`null`",
        _ => "a value without members",
    }
}

fn length() -> Node {
    let at_least_none = Leaf::bare(Kind::Integer).with(Value::object([("minimum", 0)]));
    let scalars = Scalars { number: Some(at_least_none), ..Scalars::default() };
    Node { branches: vec![Branch { shape: Shape::Scalars(Box::new(scalars)), exact: true }] }
}

/// An object about whose members nothing is said.
pub(super) fn some_object() -> Conj {
    let branch = Branch { shape: Shape::Object(Vec::new()), exact: true };
    vec![Item::Made(Arc::new(Node { branches: vec![branch] }))]
}

impl Followed {
    /// Nothing is known of it.
    pub(super) fn unknown() -> Self {
        Self { conj: unknown(), alternatives: vec![unknown()], missing: Tri::Unknown, dead: None, loose: None }
    }

    /// A root without a path.
    pub(super) fn of(conj: Conj) -> Self {
        Self { alternatives: vec![conj.clone()], conj, missing: Tri::No, dead: None, loose: None }
    }
}

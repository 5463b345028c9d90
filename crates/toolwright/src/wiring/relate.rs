//! What one node lets out, and another takes in.

use std::sync::Arc;

use super::engine::{Engine, cost_of};
use super::leaf::{self, Kind, Leaf};
use super::node::{Branch, Conj, Item, Node, Scalars, Shape, Tri};
use crate::limits;
use crate::value::{Text, Value};

mod arrays;
mod objects;

pub(super) use objects::dependents;

/// Whether some of what can arrive is taken, and whether some is not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Rel {
    pub(super) accepts: Tri,
    pub(super) rejects: Tri,
}

impl Rel {
    pub(super) const FITS: Self = Self { accepts: Tri::Yes, rejects: Tri::No };
    pub(super) const UNKNOWN: Self = Self { accepts: Tri::Unknown, rejects: Tri::Unknown };
    /// Nothing arrives.
    const NOTHING: Self = Self { accepts: Tri::No, rejects: Tri::No };
    pub(super) const NEVER: Self = Self { accepts: Tri::No, rejects: Tri::Yes };

    /// Of two sorts of values that can arrive.
    pub(super) fn or(self, other: Self) -> Self {
        Self { accepts: self.accepts.or(other.accepts), rejects: self.rejects.or(other.rejects) }
    }
}

impl Engine {
    /// Compares two conjunctions; what slips through is noted.
    pub(super) fn relate_all(&mut self, from: &Conj, to: &Conj) -> Rel {
        if to.iter().all(|wanted| from.iter().any(|given| given.same(wanted))) {
            return Rel::FITS;
        }
        if !self.tick() || self.deep > limits::WIRING_DEPTH_MAX {
            return Rel::UNKNOWN;
        }
        let pair = (identity(from), identity(to));
        let tracked = !pair.0.is_empty() && !pair.1.is_empty();
        if tracked && !self.under_way.insert(pair.clone()) {
            return Rel { accepts: Tri::Unknown, rejects: Tri::No };
        }
        self.deep += 1;
        let (given, wanted) = (self.read_all(from), self.read_all(to));
        let rel = self.relate(&given, &wanted);
        self.deep -= 1;
        if tracked {
            self.under_way.remove(&pair);
        }
        rel
    }

    pub(super) fn relate(&mut self, from: &Node, to: &Node) -> Rel {
        if to.is_any() {
            return Rel::FITS;
        }
        let mut all = Rel::NOTHING;
        for branch in &from.branches {
            if !self.tick() {
                return Rel::UNKNOWN;
            }
            let mut rel = self.branch(branch, to);
            if !branch.exact {
                rel = Rel { accepts: rel.accepts.at_most_unknown(), rejects: rel.rejects.at_most_unknown() };
            }
            all = all.or(rel);
        }
        all
    }

    fn branch(&mut self, from: &Branch, to: &Node) -> Rel {
        match &from.shape {
            // Nothing is said of what arrives.
            Shape::Any if to.is_never() => Rel::NEVER,
            Shape::Any => Rel::UNKNOWN,
            Shape::Values(values) => self.values(values, to),
            Shape::Scalars(scalars) => self.scalars(scalars, to),
            Shape::Object(parts) => self.object(parts, to),
            Shape::Array(parts) => self.array(parts, to),
        }
    }

    fn values(&mut self, values: &[Value], to: &Node) -> Rel {
        let mut all = Rel::NOTHING;
        for value in values {
            let mut held = self.however_written(|this| this.holds(to, value));
            if self.lenient && held == Tri::No && !value.is_null() && holds_null(value) {
                (held, self.left_out) = (Tri::Unknown, true);
            }
            if held == Tri::No {
                self.slip(format!("`{}`", crate::cut(&value.to_json_string(), 60)));
            }
            let rejected = match held {
                Tri::Yes => Tri::No,
                Tri::No => Tri::Yes,
                Tri::Unknown => Tri::Unknown,
            };
            all = all.or(Rel { accepts: held, rejects: rejected });
        }
        all
    }

    /// What arrives for something that need not be given: without the `null` that a call leaves out. Empty where nothing is
    /// left out.
    pub(super) fn without_stray_null(&mut self, from: &Conj, to: &Conj) -> Option<Node> {
        let mut node = self.read_all(from);
        let stray = |branch: &Branch| match &branch.shape {
            Shape::Scalars(scalars) => scalars.null,
            Shape::Values(values) => values.iter().any(Value::is_null),
            _ => false,
        };
        if !self.lenient || !node.branches.iter().any(stray) {
            return None;
        }
        let target = self.read_all(to);
        if self.holds(&target, &Value::Null) != Tri::No {
            return None;
        }
        self.left_out = true;
        for branch in &mut node.branches {
            match &mut branch.shape {
                Shape::Scalars(scalars) => scalars.null = false,
                Shape::Values(values) => values.retain(|value| !value.is_null()),
                _ => {}
            }
        }
        node.branches.retain(|branch| match &branch.shape {
            Shape::Scalars(scalars) => !scalars.is_empty(),
            Shape::Values(values) => !values.is_empty(),
            _ => true,
        });
        Some(node)
    }

    fn scalars(&mut self, from: &Scalars, to: &Node) -> Rel {
        let mut all = Rel::NOTHING;
        for (there, value) in [(from.null, Value::Null), (from.yes, Value::Bool(true)), (from.no, Value::Bool(false))] {
            if there {
                let held = self.holds(to, &value);
                if held == Tri::No {
                    let both = from.yes
                        && from.no
                        && self.holds(to, &Value::Bool(true)) == Tri::No
                        && self.holds(to, &Value::Bool(false)) == Tri::No;
                    self.slip(if both && !value.is_null() { "booleans".to_owned() } else { format!("`{}`", value.to_json_string()) });
                }
                let rejects = match held {
                    Tri::Yes => Tri::No,
                    Tri::No => Tri::Yes,
                    Tri::Unknown => Tri::Unknown,
                };
                all = all.or(Rel { accepts: held, rejects });
            }
        }
        if let Some(number) = &from.number {
            let rel = self.leaf(number, to, |scalars| scalars.number.as_ref());
            all = all.or(rel);
        }
        if let Some(string) = &from.string {
            let rel = self.leaf(string, to, |scalars| scalars.string.as_ref());
            all = all.or(rel);
        }
        all
    }

    fn leaf(&mut self, from: &Leaf, to: &Node, of: impl Fn(&Scalars) -> Option<&Leaf>) -> Rel {
        let (mut leaves, mut rough, mut values) = (Vec::new(), Vec::new(), Vec::new());
        let mut roughly_listed = false;
        let mut anything = false;
        for branch in &to.branches {
            match &branch.shape {
                Shape::Any => anything = true,
                Shape::Scalars(scalars) => {
                    if let Some(leaf) = of(scalars) {
                        if branch.exact { leaves.push(leaf) } else { rough.push(leaf) }
                    }
                }
                Shape::Values(listed) => {
                    let right_kind = |value: &&Value| matches!(value, Value::String(_)) == (from.kind == Kind::String) && is_leaf(value);
                    values.extend(listed.iter().filter(right_kind));
                    roughly_listed |= !branch.exact;
                }
                Shape::Object(_) | Shape::Array(_) => {}
            }
        }
        if anything {
            return Rel::UNKNOWN;
        }
        let steps = if from.constraints.is_empty() && leaves.iter().any(|leaf| leaf.constraints.is_empty()) {
            1
        } else {
            limits::WIRING_LIBRARY_STEPS
        };
        if !self.spend(steps) {
            return Rel::UNKNOWN;
        }
        // Every value that is listed is looked at, more than once.
        if !self.spend(cost_of(values.len().saturating_mul(16).saturating_mul(leaves.len() + rough.len() + 1))) {
            return Rel::UNKNOWN;
        }
        let is_rough = roughly_listed || !rough.is_empty();
        // What is only roughly known still holds everything that is meant.
        leaves.extend(rough);
        let given = leaf::given(from, &leaves, &values);
        if given.rejects == Tri::Yes {
            let what = self.leaf_words(from, &leaves, &values, given.refused.as_ref());
            self.slip(what);
        }
        if is_rough {
            let certain = given.accepts == Tri::No;
            return Rel {
                accepts: given.accepts.at_most_unknown(),
                rejects: if certain { given.rejects } else { given.rejects.at_least_unknown() },
            };
        }
        Rel { accepts: given.accepts, rejects: given.rejects }
    }

    fn leaf_words(&self, from: &Leaf, leaves: &[&Leaf], values: &[&Value], refused: Option<&Value>) -> String {
        let many = match from.kind {
            Kind::String => "strings",
            Kind::Number => "numbers",
            Kind::Integer | Kind::WrittenInteger => "integers",
        };
        match (leaves, values) {
            ([], []) => many.to_owned(),
            ([leaf], []) => leaf::words(from, leaf, refused),
            ([], values) => {
                let shown: Vec<String> =
                    values.iter().take(4).map(|value| format!("`{}`", crate::cut(&value.to_json_string(), 40))).collect();
                let more = if values.len() > 4 { format!(" and {} more", values.len() - 4) } else { String::new() };
                format!("{many} other than {}{more}", shown.join(", "))
            }
            _ => match refused {
                Some(value) => format!("{many} such as `{}`", crate::cut(&value.to_json_string(), 40)),
                None => format!("other {many}"),
            },
        }
    }

    /// Objects or arrays against values that are listed one by one, and perhaps others.
    fn against_listed(&mut self, from: &Branch, takers: &[&Branch], listed: &[&Branch]) -> Rel {
        let mut accepts = if takers.is_empty() { Tri::No } else { Tri::Unknown };
        for branch in listed {
            if let Shape::Values(values) = &branch.shape {
                if values.len() > limits::WIRING_VALUES_MAX {
                    accepts = accepts.at_least_unknown();
                }
                for value in values.iter().take(limits::WIRING_VALUES_MAX) {
                    let held = self.listed_holds(from, value);
                    accepts = accepts.or(if branch.exact { held } else { held.at_most_unknown() });
                }
            }
        }
        Rel { accepts, rejects: Tri::Unknown }
    }

    /// Whether there is any such value.
    pub(super) fn inhabited(&mut self, node: &Node, deep: u32) -> Tri {
        if deep > limits::WIRING_APART_DEPTH_MAX {
            return Tri::Unknown;
        }
        let mut any = Tri::No;
        for branch in &node.branches {
            if any == Tri::Yes {
                break;
            }
            if !self.tick() {
                return Tri::Unknown;
            }
            let there = match &branch.shape {
                Shape::Any | Shape::Values(_) => Tri::Yes,
                Shape::Scalars(scalars) if scalars.null || scalars.yes || scalars.no => Tri::Yes,
                Shape::Scalars(scalars) => {
                    let leaves = scalars.number.iter().chain(&scalars.string);
                    leaves.fold(Tri::No, |any, leaf| any.or(leaf.inhabited()))
                }
                Shape::Object(parts) => self.objects_inhabited(parts, deep),
                Shape::Array(parts) => self.arrays_inhabited(parts, deep),
            };
            any = any.or(if branch.exact { there } else { there.at_most_unknown() });
        }
        any
    }
}

fn roughly(rel: Rel, exact: bool) -> Rel {
    if exact { rel } else { Rel { accepts: rel.accepts.at_most_unknown(), rejects: rel.rejects.at_least_unknown() } }
}

fn holds_null(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::Object(members) => members.values().iter().any(holds_null),
        Value::Array(_) => value.as_array().unwrap_or_default().iter().any(holds_null),
        _ => false,
    }
}

fn is_leaf(value: &Value) -> bool {
    matches!(value, Value::String(_) | Value::Number(_))
}

/// Whether objects (or arrays) are among the values that it lists.
fn has_containers(branch: &Branch, objects: bool) -> bool {
    let Shape::Values(values) = &branch.shape else { return false };
    values.iter().any(|value| if objects { matches!(value, Value::Object(_)) } else { matches!(value, Value::Array(_)) })
}

/// Tells a conjunction from every other one that is there at the same time; empty when it cannot be told.
fn identity(conj: &Conj) -> Vec<usize> {
    let of = |item: &Item| match item {
        Item::Place(place) => place.identity(),
        Item::Made(node) => Some(Arc::as_ptr(node).addr()),
    };
    conj.iter().map(of).collect::<Option<Vec<usize>>>().unwrap_or_default()
}

/// `.name`, or `["any key"]`.
pub(super) fn segment(key: &Text) -> String {
    let plain = !key.is_empty() && key.chars().all(|c| c.is_alphanumeric() || c == '_' || c == '-');
    if plain { format!(".{key}") } else { format!("[{}]", Value::String(key.clone()).to_json_string()) }
}

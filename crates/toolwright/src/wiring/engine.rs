//! What one check knows while it is under way: its bounds, where it is, what it found; and what schemas say of one
//! member, one item, one value.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::sync::Arc;

use super::document::{Draft, Place};
use super::leaf::{self, Kind, Leaf};
use super::node::{Branch, Conj, Item, Items, Node, Part, Shape, Tri};
use super::reader::{closes_itself, says_nothing};
use super::relate::Rel;
use super::{Slip, document::Document};
use crate::limits;
use crate::value::{Text, Value};

/// One check.
pub(super) struct Engine {
    /// Steps that may still be taken.
    left: u32,
    allowed: u32,
    /// Some step could not be taken.
    exhausted: bool,
    /// Whether a `null` where none is taken counts as nothing, as long as nothing is needed there: a call leaves it out.
    pub(super) lenient: bool,
    /// Some `null` counted as nothing.
    pub(super) left_out: bool,
    /// Whether a number is taken hung on how it is written.
    spelled: bool,
    /// Pairs that are being compared: met again, they are taken to fit.
    pub(super) under_way: HashSet<(Vec<usize>, Vec<usize>)>,
    pub(super) deep: u32,
    patterns: HashMap<Text, Leaf>,
    pub(super) path: Vec<String>,
    pub(super) slips: Vec<Slip>,
    pub(super) quiet: u32,
}

impl Engine {
    pub(super) fn new() -> Self {
        Self::within_steps(limits::WIRING_STEPS_MAX)
    }

    /// One that takes at most so many steps.
    pub(super) fn within_steps(left: u32) -> Self {
        Self {
            left,
            allowed: left,
            exhausted: false,
            lenient: false,
            left_out: false,
            spelled: false,
            under_way: HashSet::new(),
            deep: 0,
            patterns: HashMap::new(),
            path: Vec::new(),
            slips: Vec::new(),
            quiet: 0,
        }
    }

    /// Takes one step; false when there are none left.
    pub(super) fn tick(&mut self) -> bool {
        self.spend(1)
    }

    /// Compares two conjunctions, for whoever has to rely on it: where the steps did not suffice, nothing is excluded.
    pub(super) fn judge(&mut self, from: &Conj, to: &Conj) -> Rel {
        let rel = self.relate_all(from, to);
        match self.exhausted {
            true => Rel { accepts: rel.accepts.at_least_unknown(), rejects: rel.rejects.at_least_unknown() },
            false => rel,
        }
    }

    /// Steps taken so far.
    pub(super) fn spent(&self) -> u32 {
        self.allowed.saturating_sub(self.left)
    }

    pub(super) fn spend(&mut self, steps: u32) -> bool {
        let enough = self.left >= steps;
        self.exhausted |= !enough;
        self.left = self.left.saturating_sub(steps);
        enough
    }

    pub(super) fn slip(&mut self, what: impl Into<String>) {
        if self.quiet == 0 && self.slips.len() < limits::WIRING_SLIPS_MAX {
            let slip = Slip { path: self.path.concat(), what: what.into(), undescribed: false };
            if !self.slips.contains(&slip) {
                self.slips.push(slip);
            }
        }
    }

    /// What comes through is not described: members beyond those that are taken.
    pub(super) fn slip_undescribed(&mut self, names: &[Text]) {
        let mut what = match names.is_empty() {
            true => "any members".to_owned(),
            false => format!("members other than {}", super::words::names(names)),
        };
        what = crate::cut(&what, 160);
        if self.quiet == 0 && self.slips.len() < limits::WIRING_SLIPS_MAX {
            self.slips.push(Slip { path: self.path.concat(), what, undescribed: true });
        }
    }

    /// Work whose findings are nobody's business.
    pub(super) fn quietly<T>(&mut self, work: impl FnOnce(&mut Self) -> T) -> T {
        self.quiet += 1;
        let done = work(self);
        self.quiet -= 1;
        done
    }

    pub(super) fn within<T>(&mut self, segment: String, work: impl FnOnce(&mut Self) -> T) -> T {
        self.path.push(segment);
        let done = work(self);
        self.path.pop();
        done
    }

    pub(super) fn matches(&mut self, pattern: &Text, key: &Text) -> Tri {
        if !self.patterns.contains_key(pattern) {
            if !self.spend(limits::WIRING_LIBRARY_STEPS) {
                return Tri::Unknown;
            }
            self.patterns.insert(pattern.clone(), leaf::matching(pattern));
        }
        let leaf = if self.tick() { self.patterns.get(pattern) } else { None };
        leaf.filter(|_| pattern.len() <= limits::WIRING_PATTERN_BYTES_MAX)
            .map_or(Tri::Unknown, |leaf| leaf.takes(&Value::String(key.clone())))
    }

    /// Names of the members that an object of these parts always has.
    pub(super) fn required(&self, parts: &[Part]) -> BTreeSet<Text> {
        let mut all = BTreeSet::new();
        for part in parts {
            match part {
                Part::Schema(place) => {
                    let names = place.keyword("required").and_then(Value::as_array).unwrap_or_default();
                    all.extend(names.iter().filter_map(Value::as_text).cloned());
                }
                Part::Made(members) => all.extend(members.iter().filter(|made| !made.optional).map(|made| made.key.clone())),
            }
        }
        all
    }

    /// Names of the members that these parts speak of, in their order; none when there are too many.
    pub(super) fn named(&mut self, parts: &[Part]) -> Option<Vec<Text>> {
        let mut names = Vec::new();
        for part in parts {
            match part {
                Part::Schema(place) => {
                    let properties = place.keyword("properties").and_then(Value::as_object);
                    names.extend(properties.into_iter().flat_map(|properties| properties.keys().cloned()));
                }
                Part::Made(members) => names.extend(members.iter().map(|made| made.key.clone())),
            }
            if names.len() > limits::WIRING_KEYS_MAX {
                return None;
            }
        }
        Some(names)
    }

    /// What must hold for the member of this name, if it is there.
    pub(super) fn member(&mut self, parts: &[Part], key: &Text) -> Conj {
        let mut all = Conj::new();
        for part in parts {
            match part {
                Part::Schema(place) => self.member_of(place, key, &mut all),
                Part::Made(members) => match members.iter().find(|made| made.key == *key) {
                    Some(made) => all.push(Item::Made(made.node.clone())),
                    None => all.push(never()),
                },
            }
        }
        all
    }

    fn member_of(&mut self, place: &Place, key: &Text, all: &mut Conj) {
        let own = place.keyword("properties").and_then(|properties| properties.get(key));
        let mut spoken_of = own.is_some();
        all.extend(own.filter(|own| !says_nothing(own)).map(|own| Item::Place(place.at(own))));
        for (pattern, schema) in patterns(place) {
            match self.matches(pattern, key) {
                Tri::No => {}
                Tri::Yes => {
                    spoken_of = true;
                    all.push(Item::Place(place.at(schema)));
                }
                Tri::Unknown => {
                    spoken_of = true;
                    all.push(Item::Made(Arc::new(Node::unknown())));
                }
            }
        }
        if !spoken_of {
            all.extend(rest_of(place).map(|rest| Item::Place(place.at(rest))));
        }
    }

    /// What must hold for every member that no part names and no pattern matches.
    pub(super) fn other_members(parts: &[Part]) -> Conj {
        let mut all = Conj::new();
        for part in parts {
            match part {
                Part::Schema(place) => all.extend(rest_of(place).map(|rest| Item::Place(place.at(rest)))),
                Part::Made(_) => all.push(never()),
            }
        }
        all
    }

    /// Whether one value is in it.
    pub(super) fn holds(&mut self, node: &Node, value: &Value) -> Tri {
        node.branches.iter().fold(Tri::No, |held, branch| if held == Tri::Yes { held } else { held.or(self.branch_holds(branch, value)) })
    }

    pub(super) fn branch_holds(&mut self, branch: &Branch, value: &Value) -> Tri {
        if !self.tick() || self.deep > limits::WIRING_DEPTH_MAX {
            return Tri::Unknown;
        }
        self.deep += 1;
        let held = self.shape_holds(&branch.shape, value);
        self.deep -= 1;
        if branch.exact { held } else { held.at_most_unknown() }
    }

    /// As [`Self::branch_holds`], for a value that a schema lists: it stands for all ways of writing its numbers.
    pub(super) fn listed_holds(&mut self, branch: &Branch, value: &Value) -> Tri {
        self.however_written(|this| this.branch_holds(branch, value))
    }

    /// What holds of a value that a schema lists.
    pub(super) fn however_written(&mut self, held: impl FnOnce(&mut Self) -> Tri) -> Tri {
        let before = std::mem::take(&mut self.spelled);
        let held = held(self);
        let spelled = std::mem::replace(&mut self.spelled, before);
        if spelled { Tri::Unknown } else { held }
    }

    fn shape_holds(&mut self, shape: &Shape, value: &Value) -> Tri {
        match (shape, value) {
            (Shape::Any, _) => Tri::Yes,
            (Shape::Values(values), _) => match self.spend(cost_of(values.len())) {
                true => Tri::of(values.iter().any(|one| one.same_value(value))),
                false => Tri::Unknown,
            },
            (Shape::Scalars(scalars), _) => match value {
                Value::Null => Tri::of(scalars.null),
                Value::Bool(true) => Tri::of(scalars.yes),
                Value::Bool(false) => Tri::of(scalars.no),
                Value::Number(number) => {
                    let leaf = scalars.number.as_ref();
                    self.spelled |= number.is_integer() && leaf.is_some_and(|leaf| leaf.kind == Kind::WrittenInteger);
                    leaf.map_or(Tri::No, |leaf| leaf.takes(value))
                }
                Value::String(_) => scalars.string.as_ref().map_or(Tri::No, |leaf| leaf.takes(value)),
                Value::Array(_) | Value::Object(_) => Tri::No,
            },
            (Shape::Object(parts), Value::Object(members)) => {
                let mut held = Tri::of(self.required(parts).iter().all(|key| members.get(key).is_some()));
                let complete =
                    |(key, needed): &(Text, Vec<Text>)| members.get(key).is_none() || needed.iter().all(|one| members.get(one).is_some());
                held = held.and(Tri::of(super::relate::dependents(parts).iter().all(complete)));
                let sizes = sizes(parts);
                held = held.and(Tri::of(members.len() as u64 >= sizes.least && sizes.most.is_none_or(|most| members.len() as u64 <= most)));
                for (key, member) in members.iter() {
                    if held == Tri::No {
                        return held;
                    }
                    let conj = self.member(parts, key);
                    let node = self.read_all(&conj);
                    held = held.and(self.holds(&node, member));
                    for names in names_of(parts) {
                        let node = self.read_all(&vec![Item::Place(names)]);
                        held = held.and(self.holds(&node, &Value::String(key.clone())));
                    }
                }
                held
            }
            (Shape::Array(parts), Value::Array(_)) => {
                let items = value.as_array().unwrap_or_default();
                let lengths = lengths(parts);
                let count = items.len() as u64;
                let mut held = Tri::of(count >= lengths.least && lengths.most.is_none_or(|most| count <= most));
                for (at, item) in items.iter().enumerate() {
                    if held == Tri::No {
                        return held;
                    }
                    let conj = item_at(parts, at);
                    let node = self.read_all(&conj);
                    held = held.and(self.holds(&node, item));
                }
                if unique(parts) && items.len() > 1 {
                    let few = items.len() <= limits::WIRING_VALUES_MAX && self.spend(cost_of(items.len() * items.len()));
                    let twice = |(at, one): (usize, &Value)| items.iter().skip(at + 1).any(|other| one.same_value(other));
                    held = held.and(if few { Tri::of(!items.iter().enumerate().any(twice)) } else { Tri::Unknown });
                }
                held
            }
            (Shape::Object(_) | Shape::Array(_), _) => Tri::No,
        }
    }
}

/// What so many plain comparisons cost, in steps.
pub(super) fn cost_of(comparisons: usize) -> u32 {
    u32::try_from(comparisons / 64).unwrap_or(u32::MAX)
}

/// The schema that nothing fits.
pub(super) fn never() -> Item {
    Item::Made(Arc::new(Node::never()))
}

/// Pattern and schema, each.
pub(super) fn patterns(place: &Place) -> impl Iterator<Item = (&Text, &Value)> {
    place.keyword("patternProperties").and_then(Value::as_object).into_iter().flat_map(|patterns| patterns.iter())
}

/// What holds for members that the schema does not name, when it says something of them.
fn rest_of(place: &Place) -> Option<&Value> {
    let unevaluated = || place.keyword("unevaluatedProperties").filter(|_| place.draft() >= Draft::D2019 && closes_itself(place));
    place.keyword("additionalProperties").or_else(unevaluated).filter(|rest| !says_nothing(rest))
}

/// Schemas that every name of a member must fit.
pub(super) fn names_of(parts: &[Part]) -> Vec<Place> {
    let places = parts.iter().filter_map(|part| match part {
        Part::Schema(place) if place.draft() >= Draft::D6 => place.keyword("propertyNames").map(|names| place.at(names)),
        _ => None,
    });
    places.collect()
}

/// How many members an object has, or items an array.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Sizes {
    pub(super) least: u64,
    pub(super) most: Option<u64>,
}

impl Sizes {
    fn narrow(&mut self, least: Option<u64>, most: Option<u64>) {
        self.least = self.least.max(least.unwrap_or_default());
        self.most = match (self.most, most) {
            (Some(one), Some(other)) => Some(one.min(other)),
            (one, other) => one.or(other),
        };
    }
}

pub(super) fn sizes(parts: &[Part]) -> Sizes {
    let mut sizes = Sizes::default();
    for part in parts {
        if let Part::Schema(place) = part {
            sizes.narrow(count(place, "minProperties"), count(place, "maxProperties"));
        }
    }
    sizes
}

pub(super) fn lengths(parts: &[Items]) -> Sizes {
    let mut sizes = Sizes::default();
    for part in parts {
        match part {
            Items::Schema(place) => sizes.narrow(count(place, "minItems"), count(place, "maxItems")),
            Items::Made(items) => sizes.narrow(Some(items.len() as u64), Some(items.len() as u64)),
        }
    }
    sizes
}

/// A count, which may be written as `3.0`, or be more than there can be.
fn count(place: &Place, keyword: &str) -> Option<u64> {
    let Value::Number(number) = place.keyword(keyword)? else { return None };
    number.to_integer().and_then(|count| count.as_u64()).or_else(|| (number.as_f64()? > 1.0).then_some(u64::MAX))
}

pub(super) fn unique(parts: &[Items]) -> bool {
    parts.iter().any(|part| matches!(part, Items::Schema(place) if place.keyword("uniqueItems") == Some(&Value::Bool(true))))
}

/// How many items have a schema of their own.
pub(super) fn listed(parts: &[Items]) -> usize {
    let count = |part: &Items| match part {
        Items::Schema(place) => prefix(place).map_or(0, <[Value]>::len),
        Items::Made(items) => items.len(),
    };
    parts.iter().map(count).max().unwrap_or_default()
}

fn prefix(place: &Place) -> Option<&[Value]> {
    let keyword = if place.draft() >= Draft::D2020 { "prefixItems" } else { "items" };
    place.keyword(keyword).and_then(Value::as_array)
}

/// What must hold for the item at a position, if it is there.
pub(super) fn item_at(parts: &[Items], at: usize) -> Conj {
    let mut all = Conj::new();
    for part in parts {
        match part {
            Items::Schema(place) => {
                let schema = match prefix(place) {
                    Some(prefix) => match prefix.get(at) {
                        Some(own) => Some(own),
                        None => place.keyword(if place.draft() >= Draft::D2020 { "items" } else { "additionalItems" }),
                    },
                    None => place.keyword("items"),
                };
                all.extend(schema.filter(|schema| !says_nothing(schema)).map(|schema| Item::Place(place.at(schema))));
            }
            Items::Made(items) => all.push(items.get(at).map_or_else(never, |item| Item::Made(item.clone()))),
        }
    }
    all
}

/// A conjunction of one whole document.
pub(super) fn whole(document: &Arc<Document>) -> Conj {
    vec![Item::Place(Place::root(document))]
}

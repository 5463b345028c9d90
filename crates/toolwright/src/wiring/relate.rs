//! What one node lets out, and another takes in.

use std::sync::Arc;

use super::document::{Document, Place};
use super::engine::{self, Engine, item_at, lengths, listed, names_of, sizes, unique};
use super::leaf::{self, Kind, Leaf};
use super::node::{Branch, Conj, Item, Items, Node, Part, Scalars, Shape, Tri};
use crate::limits;
use crate::value::{Text, Value};

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
            let held = self.holds(to, value);
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

    fn object(&mut self, from: &[Part], to: &Node) -> Rel {
        let takers: Vec<&Branch> = to.branches.iter().filter(|branch| matches!(branch.shape, Shape::Object(_) | Shape::Any)).collect();
        let listed: Vec<&Branch> = to.branches.iter().filter(|branch| has_containers(branch, true)).collect();
        if takers.is_empty() && listed.is_empty() {
            self.slip("objects");
            return Rel { accepts: Tri::No, rejects: self.objects_inhabited(from, 0) };
        }
        if !listed.is_empty() {
            return self.against_listed(&Branch { shape: Shape::Object(from.to_vec()), exact: true }, &takers, &listed);
        }
        if let [taker] = takers.as_slice() {
            return self.object_taken(from, taker);
        }
        self.any_of(from, &takers)
    }

    fn object_taken(&mut self, from: &[Part], taker: &Branch) -> Rel {
        let rel = match &taker.shape {
            Shape::Object(to) => self.objects(from, to),
            _ => Rel::FITS,
        };
        roughly(rel, taker.exact)
    }

    /// Objects against several sorts of objects.
    fn any_of(&mut self, from: &[Part], takers: &[&Branch]) -> Rel {
        let (mut accepts, mut refused_by_all) = (Tri::No, true);
        let mut best: Option<(usize, Vec<super::Slip>)> = None;
        for taker in takers {
            let before = self.slips.len();
            let rel = self.object_taken(from, taker);
            let slips = self.slips.split_off(before.min(self.slips.len()));
            if rel.rejects == Tri::No {
                return rel;
            }
            accepts = accepts.or(rel.accepts);
            refused_by_all &= rel.accepts == Tri::No;
            if rel.accepts != Tri::No && best.as_ref().is_none_or(|(count, _)| slips.len() < *count) {
                best = Some((slips.len(), slips));
            }
        }
        if refused_by_all {
            self.slip("objects of none of the forms that are taken");
            return Rel { accepts: Tri::No, rejects: self.objects_inhabited(from, 0) };
        }
        if let Some(rel) = self.by_tag(from, takers) {
            return rel;
        }
        // One form that takes some of it and is the only one that may: what it refuses is refused.
        let open: Vec<&&Branch> =
            takers.iter().filter(|taker| self.quietly(|this| this.object_taken(from, taker)).accepts != Tri::No).collect();
        if let [only] = open.as_slice() {
            return self.object_taken(from, only);
        }
        Rel { accepts, rejects: Tri::Unknown }
    }

    /// Where every form is marked by the value of one member, what arrives is looked at value by value.
    fn by_tag(&mut self, from: &[Part], takers: &[&Branch]) -> Option<Rel> {
        let first = takers.first()?;
        let Shape::Object(parts) = &first.shape else { return None };
        let tags: Vec<Text> = self.required(parts).into_iter().take(limits::WIRING_TAGS_MAX).collect();
        for tag in tags {
            let conj = self.member(from, &tag);
            let node = self.read_all(&conj);
            let values = listed_values(&node);
            let Some(values) = values.filter(|values| values.len() > 1 && values.len() <= limits::WIRING_ONE_OF_MAX) else { continue };
            let mut all = Rel::NOTHING;
            for value in values {
                if !self.spend(4) {
                    return None;
                }
                let marked = marked(&tag, &value)?;
                let mut narrowed = from.to_vec();
                narrowed.push(Part::Schema(marked));
                let fitting: Vec<&Branch> = takers
                    .iter()
                    .filter(|taker| match &taker.shape {
                        Shape::Object(parts) => {
                            let conj = self.member(parts, &tag);
                            let node = self.read_all(&conj);
                            self.holds(&node, &value) != Tri::No
                        }
                        _ => true,
                    })
                    .copied()
                    .collect();
                let rel = match fitting.as_slice() {
                    [] => {
                        let path = segment(&tag);
                        let what = format!("`{}`", crate::cut(&value.to_json_string(), 60));
                        self.within(path, |this| this.slip(what));
                        Rel { accepts: Tri::No, rejects: self.objects_inhabited(&narrowed, 0) }
                    }
                    [only] => self.object_taken(&narrowed, only),
                    _ => Rel::UNKNOWN,
                };
                all = all.or(rel);
            }
            return Some(all);
        }
        None
    }

    /// Objects or arrays against values that are listed one by one, and perhaps others.
    fn against_listed(&mut self, from: &Branch, takers: &[&Branch], listed: &[&Branch]) -> Rel {
        let mut accepts = if takers.is_empty() { Tri::No } else { Tri::Unknown };
        for branch in listed {
            if let Shape::Values(values) = &branch.shape {
                for value in values.iter().take(limits::WIRING_VALUES_MAX) {
                    let held = self.branch_holds(from, value);
                    accepts = accepts.or(if branch.exact { held } else { held.at_most_unknown() });
                }
            }
        }
        Rel { accepts, rejects: Tri::Unknown }
    }

    /// Member by member.
    fn objects(&mut self, from: &[Part], to: &[Part]) -> Rel {
        let (given, wanted) = (self.required(from), self.required(to));
        let (Some(mine), Some(theirs)) = (self.named(from), self.named(to)) else { return Rel::UNKNOWN };
        let mut keys: Vec<&Text> = Vec::with_capacity(mine.len() + theirs.len());
        let mut seen = std::collections::HashSet::new();
        for key in mine.iter().chain(&theirs).chain(&given).chain(&wanted) {
            if seen.insert(key) {
                keys.push(key);
            }
        }
        let sizes_given = sizes(from);
        let independent = sizes_given.least == 0 && sizes_given.most.is_none() && names_of(from).is_empty();
        let says = speaks_of_members(from);
        let mut all = Rel { accepts: Tri::Yes, rejects: Tri::No };
        let mut possible: u64 = 0;
        for key in keys {
            if !self.tick() {
                return Rel::UNKNOWN;
            }
            let (from_member, to_member) = (self.member(from, key), self.member(to, key));
            let always = given.contains(key);
            let impossible = self.read_all(&from_member).is_never();
            let needed = wanted.contains(key);
            if impossible {
                if always {
                    return Rel::NOTHING;
                }
                if needed {
                    self.within(segment(key), |this| this.slip("it is never there"));
                    return Rel { accepts: Tri::No, rejects: self.objects_inhabited(from, 0) };
                }
                continue;
            }
            possible += 1;
            let named = mine.contains(key);
            if needed && !always {
                if says {
                    self.within(segment(key), |this| this.slip("it may be missing"));
                    all.rejects = all.rejects.or(if independent { Tri::Yes } else { Tri::Unknown });
                } else {
                    all.rejects = all.rejects.or(Tri::Unknown);
                }
            }
            let rel = self.within(segment(key), |this| this.relate_all(&from_member, &to_member));
            let certain = always || independent;
            // What nobody spoke of is hardly ever sent.
            let rejects = if always || named || rel.rejects != Tri::Yes { rel.rejects } else { Tri::Unknown };
            all.rejects = all.rejects.or(if certain { rejects } else { rejects.at_most_unknown() });
            if always || needed {
                all.accepts = all.accepts.and(rel.accepts);
            }
        }
        let rest = self.rest(from, to, &seen, independent);
        all.rejects = all.rejects.or(rest);
        self.sizes(from, to, possible, &mut all);
        self.names(from, to, &mine, &given, &mut all);
        self.checked_inhabited(from, all)
    }

    /// A yes counts only where there is such an object at all.
    fn checked_inhabited(&mut self, from: &[Part], rel: Rel) -> Rel {
        if rel.accepts != Tri::Yes && rel.rejects != Tri::Yes {
            return rel;
        }
        match self.objects_inhabited(from, 0) {
            Tri::Yes => rel,
            Tri::Unknown => Rel { accepts: rel.accepts.at_most_unknown(), rejects: rel.rejects.at_most_unknown() },
            Tri::No => Rel::NOTHING,
        }
    }

    /// Members that no side names.
    fn rest(&mut self, from: &[Part], to: &[Part], named: &std::collections::HashSet<&Text>, independent: bool) -> Tri {
        let mut rejects = Tri::No;
        let (others, takes) = (Self::other_members(from), Self::other_members(to));
        let to_patterns = pattern_list(to);
        let from_patterns = pattern_list(from);
        if !takes.is_empty() || !to_patterns.is_empty() {
            let nothing = self.read_all(&others).is_never();
            if !nothing {
                let rel = self.within("[*]".into(), |this| this.quietly(|this| this.relate_all(&others, &takes)));
                if rel.rejects == Tri::Yes && independent {
                    self.within("[*]".into(), |this| this.relate_all(&others, &takes));
                }
                rejects = rejects.or(if independent { rel.rejects } else { rel.rejects.at_most_unknown() });
                for (_, schema) in &to_patterns {
                    let rel = self.quietly(|this| this.relate_all(&others, &vec![schema.clone()]));
                    rejects = rejects.or(rel.rejects.at_most_unknown());
                }
            }
        }
        for (pattern, schema) in &from_patterns {
            let mut conj = vec![schema.clone()];
            // Whether a member of such a name is taken depends on what else speaks of it.
            let same: Vec<Item> = to_patterns.iter().filter(|(other, _)| other == pattern).map(|(_, schema)| schema.clone()).collect();
            let wanted = if same.is_empty() { takes.clone() } else { same };
            let rel = self.quietly(|this| this.relate_all(&conj, &wanted));
            rejects = rejects.or(rel.rejects.at_most_unknown());
            conj.clear();
            for (other, schema_of) in to_patterns.iter().filter(|(other, _)| other != pattern) {
                let rel = self.quietly(|this| this.relate_all(&vec![schema.clone()], &vec![schema_of.clone()]));
                let _ = other;
                rejects = rejects.or(rel.rejects.at_most_unknown());
            }
        }
        let _ = named;
        rejects
    }

    fn sizes(&mut self, from: &[Part], to: &[Part], possible: u64, all: &mut Rel) {
        let (given, wanted) = (sizes(from), sizes(to));
        let always = self.required(from).len() as u64;
        let least = given.least.max(always);
        let closed = self.read_all(&Self::other_members(from)).is_never() && pattern_list(from).is_empty();
        let most = match (given.most, closed.then_some(possible)) {
            (Some(one), Some(other)) => Some(one.min(other)),
            (one, other) => one.or(other),
        };
        if wanted.least > least {
            if most.is_some_and(|most| most < wanted.least) {
                self.slip(format!("objects of fewer than {} members", wanted.least));
                *all = Rel { accepts: Tri::No, rejects: all.rejects.or(Tri::Yes) };
                return;
            }
            self.slip(format!("objects of fewer than {} members", wanted.least));
            all.rejects = all.rejects.or(Tri::Yes);
            all.accepts = all.accepts.at_most_unknown().or(if closed && possible >= wanted.least { all.accepts } else { Tri::Unknown });
        }
        if let Some(limit) = wanted.most
            && most.is_none_or(|most| most > limit)
        {
            self.slip(format!("objects of more than {limit} members"));
            if least > limit {
                *all = Rel { accepts: Tri::No, rejects: Tri::Yes };
                return;
            }
            // Whether so many can come together is not followed.
            all.rejects = all.rejects.or(if closed { Tri::Unknown } else { Tri::Yes });
        }
    }

    /// The names of members.
    fn names(&mut self, from: &[Part], to: &[Part], mine: &[Text], given: &std::collections::BTreeSet<Text>, all: &mut Rel) {
        let own = names_of(from);
        for names in names_of(to) {
            if own.iter().any(|own| own.same(&names)) {
                continue;
            }
            let node = self.read_all(&vec![Item::Place(names)]);
            let others = self.read_all(&Self::other_members(from));
            if !others.is_never() || !pattern_list(from).is_empty() {
                all.rejects = all.rejects.or(Tri::Unknown);
                all.accepts = all.accepts.at_most_unknown();
            }
            for key in mine.iter().chain(given) {
                match self.holds(&node, &Value::String(key.clone())) {
                    Tri::Yes => {}
                    Tri::No if given.contains(key) => *all = Rel { accepts: Tri::No, rejects: Tri::Yes },
                    Tri::No | Tri::Unknown => all.rejects = all.rejects.or(Tri::Unknown),
                }
            }
        }
        if !own.is_empty() {
            *all = Rel { accepts: all.accepts.at_most_unknown(), rejects: all.rejects.at_most_unknown() };
        }
    }

    fn array(&mut self, from: &[Items], to: &Node) -> Rel {
        let takers: Vec<&Branch> = to.branches.iter().filter(|branch| matches!(branch.shape, Shape::Array(_) | Shape::Any)).collect();
        let listed: Vec<&Branch> = to.branches.iter().filter(|branch| has_containers(branch, false)).collect();
        if takers.is_empty() && listed.is_empty() {
            self.slip("arrays");
            return Rel { accepts: Tri::No, rejects: self.arrays_inhabited(from, 0) };
        }
        if !listed.is_empty() {
            return self.against_listed(&Branch { shape: Shape::Array(from.to_vec()), exact: true }, &takers, &listed);
        }
        let taken = |this: &mut Self, taker: &Branch| {
            let rel = match &taker.shape {
                Shape::Array(to) => this.arrays(from, to),
                _ => Rel::FITS,
            };
            roughly(rel, taker.exact)
        };
        if let [taker] = takers.as_slice() {
            return taken(self, taker);
        }
        let (mut accepts, mut all_refuse) = (Tri::No, true);
        for taker in &takers {
            let rel = self.quietly(|this| taken(this, taker));
            if rel.rejects == Tri::No {
                return rel;
            }
            accepts = accepts.or(rel.accepts);
            all_refuse &= rel.accepts == Tri::No;
        }
        if all_refuse {
            self.slip("arrays of none of the forms that are taken");
            return Rel { accepts: Tri::No, rejects: self.arrays_inhabited(from, 0) };
        }
        Rel { accepts, rejects: Tri::Unknown }
    }

    /// Item by item.
    fn arrays(&mut self, from: &[Items], to: &[Items]) -> Rel {
        let (mut given, wanted) = (lengths(from), lengths(to));
        // Where no item can be, the array ends.
        for at in 0..=listed(from).min(limits::WIRING_KEYS_MAX) {
            let conj = item_at(from, at);
            if self.read_all(&conj).is_never() {
                given.most = Some(given.most.map_or(at as u64, |most| most.min(at as u64)));
                break;
            }
        }
        if given.most.is_some_and(|most| most < given.least) {
            return Rel::NOTHING;
        }
        let repeats = unique(from);
        let mut all = Rel { accepts: Tri::Yes, rejects: Tri::No };
        if given.least < wanted.least {
            self.slip(if wanted.least == 1 { "empty arrays".to_owned() } else { format!("arrays of fewer than {} items", wanted.least) });
            all.rejects = Tri::Yes;
        }
        if let Some(most) = wanted.most
            && given.most.is_none_or(|given| given > most)
        {
            self.slip(if most == 0 { "arrays that are not empty".to_owned() } else { format!("arrays of more than {most} items") });
            all.rejects = all.rejects.or(if repeats { Tri::Unknown } else { Tri::Yes });
        }
        let length = given.least.max(wanted.least);
        if given.most.is_some_and(|most| most < length) || wanted.most.is_some_and(|most| most < length) {
            all.accepts = Tri::No;
        }
        let positions = listed(from).max(listed(to)) + 1;
        if positions > limits::WIRING_KEYS_MAX {
            return Rel::UNKNOWN;
        }
        for at in 0..positions {
            if given.most.is_some_and(|most| most <= at as u64) || !self.tick() {
                break;
            }
            let (from_item, to_item) = (item_at(from, at), item_at(to, at));
            let path = if at + 1 == positions { "[]".to_owned() } else { format!("[{at}]") };
            let rel = self.within(path, |this| this.relate_all(&from_item, &to_item));
            let always = given.least > at as u64;
            all.rejects = all.rejects.or(if repeats && !always && given.least > 1 { rel.rejects.at_most_unknown() } else { rel.rejects });
            if length > at as u64 {
                all.accepts = all.accepts.and(rel.accepts);
            }
        }
        if repeats && given.least > 1 {
            all.accepts = all.accepts.at_most_unknown();
        }
        if unique(to) && !repeats && given.most.is_none_or(|most| most > 1) {
            self.slip("arrays with an item twice");
            let plain = listed(from) == 0;
            all.rejects = all.rejects.or(if plain { Tri::Yes } else { Tri::Unknown });
            if given.least > 1 {
                all.accepts = all.accepts.at_most_unknown();
            }
        }
        match self.arrays_inhabited(from, 0) {
            Tri::Yes => all,
            Tri::Unknown => Rel { accepts: all.accepts.at_most_unknown(), rejects: all.rejects.at_most_unknown() },
            Tri::No => Rel::NOTHING,
        }
    }

    /// Whether there is any such value.
    pub(super) fn inhabited(&mut self, node: &Node, deep: u32) -> Tri {
        if deep > limits::WIRING_APART_DEPTH_MAX {
            return Tri::Unknown;
        }
        let mut any = Tri::No;
        for branch in &node.branches {
            if any == Tri::Yes || !self.tick() {
                break;
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

    fn objects_inhabited(&mut self, parts: &[Part], deep: u32) -> Tri {
        let sizes = sizes(parts);
        let required = self.required(parts);
        if sizes.most.is_some_and(|most| most < sizes.least || most < required.len() as u64) {
            return Tri::No;
        }
        let mut all = if sizes.least > required.len() as u64 && !Self::other_members(parts).is_empty() { Tri::Unknown } else { Tri::Yes };
        for key in &required {
            let conj = self.member(parts, key);
            let node = self.read_all(&conj);
            all = all.and(self.inhabited(&node, deep + 1));
        }
        all
    }

    fn arrays_inhabited(&mut self, parts: &[Items], deep: u32) -> Tri {
        let lengths = lengths(parts);
        if lengths.most.is_some_and(|most| most < lengths.least) {
            return Tri::No;
        }
        let mut all = if unique(parts) && lengths.least > 1 { Tri::Unknown } else { Tri::Yes };
        let count = lengths.least.min(listed(parts) as u64 + 1);
        for at in 0..usize::try_from(count).unwrap_or_default() {
            let conj = item_at(parts, at);
            let node = self.read_all(&conj);
            all = all.and(self.inhabited(&node, deep + 1));
        }
        all
    }
}

fn roughly(rel: Rel, exact: bool) -> Rel {
    if exact { rel } else { Rel { accepts: rel.accepts.at_most_unknown(), rejects: rel.rejects.at_least_unknown() } }
}

fn is_leaf(value: &Value) -> bool {
    matches!(value, Value::String(_) | Value::Number(_))
}

/// Whether objects (or arrays) are among the values that it lists.
fn has_containers(branch: &Branch, objects: bool) -> bool {
    let Shape::Values(values) = &branch.shape else { return false };
    values.iter().any(|value| if objects { matches!(value, Value::Object(_)) } else { matches!(value, Value::Array(_)) })
}

/// All values, when they are listed one by one.
fn listed_values(node: &Node) -> Option<Vec<Value>> {
    let mut all = Vec::new();
    for branch in &node.branches {
        match &branch.shape {
            Shape::Values(values) if branch.exact => all.extend(values.iter().cloned()),
            _ => return None,
        }
    }
    Some(all)
}

/// Objects that have this value under this name.
fn marked(tag: &Text, value: &Value) -> Option<Place> {
    let constant = Value::object([("const", value.clone())]);
    let properties = Value::object([(tag.clone(), constant)]);
    let schema = Value::object([("properties", properties), ("required", Value::array([Value::String(tag.clone())]))]);
    Document::new(&schema).map(|document| Place::root(&document))
}

/// Whether the parts say which members there are.
fn speaks_of_members(parts: &[Part]) -> bool {
    const KEYWORDS: [&str; 4] = ["properties", "patternProperties", "additionalProperties", "required"];
    parts.iter().any(|part| match part {
        Part::Schema(place) => KEYWORDS.iter().any(|keyword| place.keyword(keyword).is_some()),
        Part::Made(_) => true,
    })
}

fn pattern_list(parts: &[Part]) -> Vec<(Text, Item)> {
    let mut all = Vec::new();
    for part in parts {
        if let Part::Schema(place) = part {
            all.extend(engine::patterns(place).map(|(pattern, schema)| (pattern.clone(), Item::Place(place.at(schema)))));
        }
    }
    all
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

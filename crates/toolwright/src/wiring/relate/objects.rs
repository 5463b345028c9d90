//! Objects against objects, member by member.

use std::collections::{BTreeSet, HashSet};
use std::sync::Arc;

use super::super::Slip;
use super::super::document::{Document, Draft, Place};
use super::super::engine::{self, Engine, names_of, sizes};
use super::super::node::{Branch, Conj, Item, Node, Part, Shape, Tri};
use super::{Rel, has_containers, roughly, segment};
use crate::limits;
use crate::value::{Text, Value};

impl Engine {
    pub(super) fn object(&mut self, from: &[Part], to: &Node) -> Rel {
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
        let mut best: Option<(usize, Vec<Slip>)> = None;
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
        let always = self.required(from);
        let tags: Vec<Text> = self.required(parts).into_iter().take(limits::WIRING_TAGS_MAX).collect();
        for tag in tags {
            // Where the tag may be missing, its values are not all there is.
            let missing = !always.contains(&tag);
            let needs = |taker: &&Branch| matches!(&taker.shape, Shape::Object(parts) if self.required(parts).contains(&tag));
            if missing && !takers.iter().all(needs) {
                continue;
            }
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
            if missing {
                self.within(segment(&tag), |this| this.slip("it may be missing"));
                all = all.or(Rel { accepts: Tri::No, rejects: Tri::of(is_independent(from)).at_least_unknown() });
            }
            return Some(all);
        }
        None
    }

    /// Member by member.
    fn objects(&mut self, from: &[Part], to: &[Part]) -> Rel {
        let given = with_dependents(self.required(from), &dependents(from));
        let mut wanted = self.required(to);
        // What must be beside something that is always there must always be there.
        let beside = with_dependents(wanted.union(&given).cloned().collect(), &dependents(to));
        wanted.extend(beside.into_iter().filter(|key| !given.contains(key)));
        let (Some(mine), Some(theirs)) = (self.named(from), self.named(to)) else { return Rel::UNKNOWN };
        let marks = self.pattern_witnesses(from);
        let mut seen = HashSet::new();
        let keys = mine.iter().chain(&theirs).chain(&given).chain(&wanted).chain(&marks).filter(|key| seen.insert(*key));
        let keys: Vec<&Text> = keys.collect();
        let independent = is_independent(from);
        let together = given.union(&wanted).count() as u64;
        if let Some(most) = sizes(from).most.filter(|most| *most < together) {
            self.slip(format!("objects of at most {most} members"));
            return Rel { accepts: Tri::No, rejects: self.objects_inhabited(from, 0) };
        }
        let says = speaks_of_members(from);
        let fits_in = sizes(to).most.is_none_or(|most| most >= together);
        let mut all = Rel { accepts: Tri::of(fits_in), rejects: Tri::No };
        let mut possible = Possible::default();
        for key in keys {
            if !self.tick() {
                return Rel::UNKNOWN;
            }
            let (mut from_member, to_member) = (self.member(from, key), self.member(to, key));
            let (mut always, needed) = (given.contains(key), wanted.contains(key));
            if !needed && let Some(rest) = self.without_stray_null(&from_member, &to_member) {
                (from_member, always) = (vec![Item::Made(Arc::new(rest))], false);
            }
            let impossible = self.all_inhabited(&from_member) == Tri::No;
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
            possible.there += 1;
            let named = mine.contains(key) || marks.contains(key);
            if needed && !always {
                if says {
                    self.within(segment(key), |this| this.slip("it may be missing"));
                    all.rejects = all.rejects.or(if independent { Tri::Yes } else { Tri::Unknown });
                } else {
                    all.rejects = all.rejects.or(Tri::Unknown);
                }
            }
            let rel = self.within(segment(key), |this| this.member_taken(&from_member, &to_member));
            let certain = always || independent;
            // What nobody spoke of is hardly ever sent.
            let rejects = if always || named || rel.rejects != Tri::Yes { rel.rejects } else { Tri::Unknown };
            all.rejects = all.rejects.or(if certain { rejects } else { rejects.at_most_unknown() });
            if always || needed {
                all.accepts = all.accepts.and(rel.accepts);
            }
            possible.taken += u64::from(rel.accepts == Tri::Yes);
            possible.refused += u64::from(rel.accepts == Tri::No);
        }
        self.dependents(from, to, &given, independent, &mut all);
        let rest = self.rest(from, to, &theirs, independent);
        all.rejects = all.rejects.or(rest);
        self.sizes(from, to, possible, &mut all);
        self.names(from, to, &mine, &given, &mut all);
        self.checked_inhabited(from, all)
    }

    fn member_taken(&mut self, from: &Conj, to: &Conj) -> Rel {
        let rel = self.relate_all(from, to);
        // Where nothing is said of a member, everything that is taken may come.
        let free = from.is_empty() && rel.accepts == Tri::Unknown && to.iter().all(|item| matches!(item, Item::Place(_)));
        if free { Rel { accepts: self.all_inhabited(to), ..rel } } else { rel }
    }

    fn all_inhabited(&mut self, conj: &Conj) -> Tri {
        let node = self.read_all(conj);
        self.inhabited(&node, 1)
    }

    /// Members that must be there when another is.
    fn dependents(&mut self, from: &[Part], to: &[Part], given: &BTreeSet<Text>, independent: bool, all: &mut Rel) {
        let own = dependents(from);
        if !own.is_empty() {
            all.accepts = all.accepts.at_most_unknown();
        }
        for (key, needed) in dependents(to).into_iter().filter(|(key, _)| !given.contains(key)) {
            if own.iter().any(|(other, theirs)| *other == key && needed.iter().all(|one| theirs.contains(one))) {
                continue;
            }
            let conj = self.member(from, &key);
            if self.read_all(&conj).is_never() {
                continue;
            }
            for one in needed.iter().filter(|one| !given.contains(*one)) {
                self.within(segment(one), |this| this.slip(format!("it may be missing while `{}` is there", crate::cut(&key, 60))));
                all.rejects = all.rejects.or(if independent { Tri::Yes } else { Tri::Unknown });
            }
        }
    }

    /// Names that patterns match and no member has, so that what patterns say can be looked at as if it were a member.
    fn pattern_witnesses(&mut self, from: &[Part]) -> Vec<Text> {
        let mut found = Vec::new();
        for (pattern, _) in pattern_list(from).into_iter().take(limits::WIRING_TAGS_MAX) {
            let plain: String = pattern.chars().filter(|c| c.is_alphanumeric() || matches!(c, '-' | '_')).take(40).collect();
            let tries = [plain.clone(), format!("{plain}a"), format!("{plain}1"), "a".into(), "A".into(), "1".into(), "a1".into()];
            let hit = tries.into_iter().map(Text::from).find(|name| self.matches(&pattern, name) == Tri::Yes);
            found.extend(hit);
        }
        found
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
    fn rest(&mut self, from: &[Part], to: &[Part], theirs: &[Text], independent: bool) -> Tri {
        let mut rejects = Tri::No;
        let (others, takes) = (Self::other_members(from), Self::other_members(to));
        let to_patterns = pattern_list(to);
        let from_patterns = pattern_list(from);
        if !takes.is_empty() || !to_patterns.is_empty() {
            let nothing = self.read_all(&others).is_never();
            if !nothing {
                let rel = self.within("[*]".into(), |this| this.quietly(|this| this.relate_all(&others, &takes)));
                if rel.rejects == Tri::Yes && independent {
                    match others.is_empty() {
                        true => self.slip_undescribed(theirs),
                        false => {
                            self.within("[*]".into(), |this| this.relate_all(&others, &takes));
                        }
                    }
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
            // Whether a member of such a name is taken depends on what each part of the target says of it.
            let wanted: Conj = to.iter().flat_map(|part| spoken_of_pattern(part, pattern)).collect();
            let rel = self.quietly(|this| this.relate_all(&conj, &wanted));
            rejects = rejects.or(rel.rejects.at_most_unknown());
            conj.clear();
            for (other, schema_of) in to_patterns.iter().filter(|(other, _)| other != pattern) {
                let rel = self.quietly(|this| this.relate_all(&vec![schema.clone()], &vec![schema_of.clone()]));
                let _ = other;
                rejects = rejects.or(rel.rejects.at_most_unknown());
            }
        }
        rejects
    }

    fn sizes(&mut self, from: &[Part], to: &[Part], possible: Possible, all: &mut Rel) {
        let (given, wanted) = (sizes(from), sizes(to));
        let always = self.required(from).len() as u64;
        let least = given.least.max(always);
        let others = self.read_all(&Self::other_members(from)).is_never();
        let closed = others && pattern_list(from).is_empty();
        let most = match (given.most, closed.then_some(possible.there)) {
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
            all.accepts = match closed {
                true if possible.taken >= wanted.least => all.accepts,
                true if possible.there.saturating_sub(possible.refused) < wanted.least => Tri::No,
                _ => all.accepts.at_most_unknown(),
            };
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
            all.rejects = all.rejects.or(if others { Tri::Unknown } else { Tri::Yes });
        }
    }

    /// The names of members.
    fn names(&mut self, from: &[Part], to: &[Part], mine: &[Text], given: &std::collections::BTreeSet<Text>, all: &mut Rel) {
        let own = names_of(from);
        for names in names_of(to) {
            if own.iter().any(|own| own.same(&names)) {
                continue;
            }
            let wanted = vec![Item::Place(names)];
            if own.iter().any(|own| self.quietly(|this| this.relate_all(&vec![Item::Place(own.clone())], &wanted)).rejects == Tri::No) {
                continue;
            }
            let node = self.read_all(&wanted);
            let others = self.read_all(&Self::other_members(from));
            if !others.is_never() || !pattern_list(from).is_empty() {
                all.rejects = all.rejects.or(Tri::Unknown);
                all.accepts = all.accepts.at_most_unknown();
            }
            for key in mine.iter().chain(given) {
                match self.holds(&node, &Value::String(key.clone())) {
                    Tri::Yes => {}
                    Tri::No if given.contains(key) => {
                        self.slip(format!("the member name `{}`", crate::cut(key, 60)));
                        *all = Rel { accepts: Tri::No, rejects: Tri::Yes };
                    }
                    Tri::No | Tri::Unknown => all.rejects = all.rejects.or(Tri::Unknown),
                }
            }
        }
        if !own.is_empty() {
            *all = Rel { accepts: all.accepts.at_most_unknown(), rejects: all.rejects.at_most_unknown() };
        }
    }

    pub(super) fn objects_inhabited(&mut self, parts: &[Part], deep: u32) -> Tri {
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
            for names in names_of(parts) {
                let node = self.read_all(&vec![Item::Place(names)]);
                all = all.and(self.holds(&node, &Value::String(key.clone())));
            }
        }
        all
    }
}

/// Whether each member may be there or not without regard to the others.
fn is_independent(parts: &[Part]) -> bool {
    let sizes = sizes(parts);
    sizes.least == 0 && sizes.most.is_none() && names_of(parts).is_empty() && dependents(parts).is_empty()
}

/// Members that may be there.
#[derive(Clone, Copy, Debug, Default)]
struct Possible {
    there: u64,
    /// Some value of theirs is taken.
    taken: u64,
    /// No value of theirs is.
    refused: u64,
}

/// Names, and those that must be there because of them.
fn with_dependents(mut names: BTreeSet<Text>, dependents: &[(Text, Vec<Text>)]) -> BTreeSet<Text> {
    loop {
        let before = names.len();
        for (_, needed) in dependents.iter().filter(|(key, _)| names.contains(key)).collect::<Vec<_>>() {
            names.extend(needed.iter().cloned());
        }
        if names.len() == before {
            return names;
        }
    }
}

/// What one part says of members whose names match this pattern and nothing else that it knows.
fn spoken_of_pattern(part: &Part, pattern: &Text) -> Conj {
    let own = |place: &Place| engine::patterns(place).find(|(other, _)| *other == pattern).map(|(_, schema)| Item::Place(place.at(schema)));
    match part {
        Part::Schema(place) => match own(place) {
            Some(own) => vec![own],
            None => Engine::other_members(std::slice::from_ref(part)),
        },
        Part::Made(_) => Engine::other_members(std::slice::from_ref(part)),
    }
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

/// Members that must be there when another is, as `dependentRequired` says it.
pub(in super::super) fn dependents(parts: &[Part]) -> Vec<(Text, Vec<Text>)> {
    let mut all = Vec::new();
    for part in parts {
        if let Part::Schema(place) = part
            && place.draft() >= Draft::D2019
        {
            let pairs = place.keyword("dependentRequired").and_then(Value::as_object).into_iter().flat_map(|pairs| pairs.iter());
            let names = |value: &Value| value.as_array().unwrap_or_default().iter().filter_map(Value::as_text).cloned().collect();
            all.extend(pairs.map(|(key, value)| (key.clone(), names(value))));
        }
    }
    all
}

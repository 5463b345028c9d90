//! Arrays against arrays, item by item.

use super::super::engine::{Engine, item_at, lengths, listed, unique};
use super::super::node::{Branch, Items, Node, Shape, Tri};
use super::{Rel, has_containers, roughly};
use crate::limits;

impl Engine {
    pub(super) fn array(&mut self, from: &[Items], to: &Node) -> Rel {
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
            let node = self.read_all(&conj);
            if self.inhabited(&node, 1) == Tri::No {
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
            if given.most.is_some_and(|most| most <= at as u64) {
                break;
            }
            if !self.tick() {
                return Rel::UNKNOWN;
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
            if length > 1 {
                all.accepts = all.accepts.at_most_unknown();
            }
        }
        match self.arrays_inhabited(from, 0) {
            Tri::Yes => all,
            Tri::Unknown => Rel { accepts: all.accepts.at_most_unknown(), rejects: all.rejects.at_most_unknown() },
            Tri::No => Rel::NOTHING,
        }
    }

    pub(super) fn arrays_inhabited(&mut self, parts: &[Items], deep: u32) -> Tri {
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

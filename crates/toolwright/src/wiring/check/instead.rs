//! What could be taken in the place of a value that cannot fit.

use super::super::engine;
use super::super::node::{Conj, Shape, Tri};
use super::super::{relate, words};
use super::{Check, Followed, Known, replaced, written};
use crate::limits;
use crate::reference::template::RefPlan;
use crate::value::Text;

impl Check<'_> {
    /// One item of it, or a member that fits.
    pub(super) fn instead(&mut self, reference: &RefPlan, followed: &Followed, to: &Conj) -> Option<String> {
        let base = written(reference).trim_end_matches('?').to_owned();
        let node = self.engine.read_all(&followed.conj);
        let [branch] = node.branches.as_slice() else { return None };
        match &branch.shape {
            Shape::Array(parts) => {
                let item = engine::item_at(parts, 0);
                let rel = self.engine.quietly(|engine| engine.relate_all(&item, to));
                (rel.accepts != Tri::No).then(|| format!("to take one of them, write `{base}[0]`"))
            }
            Shape::Object(_) => {
                let fitting = self.fitting(&followed.conj, to);
                let fitting = fitting.iter().map(|name| format!("`{base}{}`", relate::segment(name)));
                what_would_fit(&fitting.collect::<Vec<_>>())
            }
            _ => None,
        }
    }

    /// Another member of what it is a member of.
    pub(super) fn beside(&mut self, reference: &RefPlan, known: &Known, to: &Conj) -> Option<String> {
        let (last, way) = reference.path.split_last()?;
        let document = known.document.as_ref().filter(|_| last.key.is_some())?;
        let around = self.engine.follow(engine::whole(document), way);
        let fitting = self.fitting(&around.conj, to);
        let fitting = fitting.iter().filter_map(|name| replaced(reference, way.len(), name)).map(|text| format!("`{text}`"));
        what_would_fit(&fitting.collect::<Vec<_>>())
    }

    /// The members of an object that always fit.
    fn fitting(&mut self, object: &Conj, to: &Conj) -> Vec<Text> {
        let node = self.engine.read_all(object);
        let [branch] = node.branches.as_slice() else { return Vec::new() };
        let Shape::Object(parts) = &branch.shape else { return Vec::new() };
        let names = self.engine.named(parts).unwrap_or_default();
        let fits = |name: &Text| {
            let conj = self.engine.member(parts, name);
            self.engine.quietly(|engine| engine.relate_all(&conj, to)).rejects == Tri::No
        };
        names.into_iter().take(limits::KEYS_SHOWN_MAX).filter(fits).collect()
    }
}

fn what_would_fit(fitting: &[String]) -> Option<String> {
    (!fitting.is_empty()).then(|| format!("what would fit: {}", words::listed(fitting)))
}

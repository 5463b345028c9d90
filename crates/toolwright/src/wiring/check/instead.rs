//! What could be taken in the place of a value that cannot fit.

use super::super::engine::{self, Engine};
use super::super::node::{Branch, Conj, Shape, Tri};
use super::super::relate::Rel;
use super::super::{relate, words};
use super::{Check, Followed, written};
use crate::limits;
use crate::reference::template::{RefPlan, Source};
use crate::value::Text;

impl Check<'_> {
    /// What could be taken in its place: one item, a member that fits, or one that stands beside it.
    pub(super) fn instead(&mut self, reference: &RefPlan, followed: &Followed, to: &Conj) -> Option<String> {
        let shown = written(reference);
        let base = shown.trim_end_matches('?');
        let node = self.engine.read_all(&followed.conj);
        if let [branch] = node.branches.as_slice() {
            match &branch.shape {
                Shape::Array(parts) => {
                    let item = engine::item_at(parts, 0);
                    if self.engine.quietly(|engine| engine.relate_all(&item, to)).accepts == Tri::Yes {
                        return Some(format!("to take one of them, write `{base}[0]`"));
                    }
                    let fitting = self.fitting(&item, to, &format!("{base}[0]"));
                    if !fitting.is_empty() {
                        return Some(format!("what would fit: {}", words::listed(&fitting)));
                    }
                }
                Shape::Object(_) => {
                    let fitting = self.fitting(&followed.conj, to, base);
                    if !fitting.is_empty() {
                        return Some(format!("what would fit: {}", words::listed(&fitting)));
                    }
                }
                _ => {}
            }
        }
        let segment = reference.written.reference.path.last().filter(|segment| segment.index.is_none())?;
        let (_, before) = reference.path.split_last()?;
        let root = match reference.source {
            Source::Input => self.sources.input.document.as_ref(),
            Source::Step(position) => self.sources.outputs.get(position)?.document.as_ref(),
            Source::Null | Source::Nothing => None,
        }?;
        let around = self.engine.follow(engine::whole(root), before);
        let upto = reference.written.reference.text.get(..segment.span.start)?.trim_end_matches(['.', '[']);
        let fitting = self.fitting(&around.conj, to, upto);
        (!fitting.is_empty()).then(|| format!("what would fit: {}", words::listed(&fitting)))
    }

    /// References to members that fit whatever they are.
    fn fitting(&mut self, around: &Conj, to: &Conj, base: &str) -> Vec<String> {
        let node = self.engine.read_all(around);
        let [Branch { shape: Shape::Object(parts), .. }] = node.branches.as_slice() else { return Vec::new() };
        let names = self.engine.named(parts).unwrap_or_default();
        let required = self.engine.required(parts);
        let fits = |engine: &mut Engine, name: &Text| {
            let conj = engine.member(parts, name);
            !conj.is_empty() && engine.quietly(|engine| engine.relate_all(&conj, to)) == Rel::FITS
        };
        let fitting = names.iter().filter(|name| required.contains(*name)).take(limits::KEYS_SHOWN_MAX);
        let fitting: Vec<&Text> = fitting.filter(|name| fits(&mut self.engine, name)).collect();
        fitting.into_iter().take(3).map(|name| format!("`{base}{}`", relate::segment(name))).collect()
    }
}

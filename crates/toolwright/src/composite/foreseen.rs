//! What a composite will do after a step, as far as that is known when the step's turn comes: later calls that the same yes may
//! cover, with their real arguments. Nothing is run to find it out.

use std::sync::Weak;

use super::effect::EffectRecord;
use super::{CompositeBody, GateOf, Program};
use crate::approval::{Approvals, Approve, Covered};
use crate::call::{definition, stated};
use crate::catalog::View;
use crate::frame::path::name_segment;
use crate::limits;
use crate::reference::eval::Values;
use crate::reference::template::Source;
use crate::runtime::Runtime;
use crate::tool::ToolDef;
use crate::value::Value;

/// What is shown beside a call that needs a yes.
#[derive(Default)]
pub(crate) struct Foreseen {
    /// Later calls of the plan whose arguments are known.
    pub(crate) covers: Vec<Covered>,
    /// What was done before it.
    pub(crate) done: Vec<EffectRecord>,
}

/// Steps of one composite from `from` on, when only `known` earlier outputs are there.
pub(super) struct Later<'a, R: Runtime> {
    pub(super) approvals: &'a Approvals<R>,
    pub(super) view: &'a View<R>,
    pub(super) links: &'a [usize],
    pub(super) program: &'a Program,
    /// The path of the composite.
    pub(super) path: &'a str,
    pub(super) from: usize,
    pub(super) values: Values<'a>,
}

impl<R: Runtime> Later<'_, R> {
    /// Adds the calls that one yes covers: those of tools that ask once per plan, whose arguments follow from the input and from
    /// outputs that are there.
    pub(super) fn gather(&self, depth: u32, covers: &mut Vec<Covered>) {
        for (index, name) in self.program.names.steps.iter().enumerate().skip(self.from) {
            if covers.len() >= limits::APPROVAL_COVERS_MAX {
                return;
            }
            let Some(entry) = self.links.get(index).and_then(|link| self.view.entry(*link)) else { continue };
            let tool: &ToolDef<R> = entry;
            if entry.tool().name() != name.tool || !entry.chainability.is_allowed() || tool.has_side_effects() == Some(false) {
                continue;
            }
            let Some(arguments) = self.arguments(index, tool) else { continue };
            let path = format!("{}/{index}:{}", self.path, name_segment(&name.name));
            match (stated(self.approvals, &name.tool, tool), tool.composite()) {
                (Some(Approve::OncePerPlan), None) => {
                    let mut covered = Covered::new(path, tool.name(), arguments);
                    covered.effect = tool.effect().cloned();
                    covered.fingerprint = Some(definition(tool));
                    covers.push(covered);
                }
                (None, Some(body)) if depth < limits::COMPOSITE_DEPTH_MAX => self.inside(body, &arguments, &path, depth + 1, covers),
                _ => {}
            }
        }
    }

    /// The final arguments of a step, when they are known.
    fn arguments(&self, index: usize, tool: &ToolDef<R>) -> Option<Value> {
        let step = self.program.steps.get(index)?;
        let mut known = true;
        step.arguments.each_reference(&mut |reference| {
            known &= match reference.source {
                Source::Step(position) => position < self.values.outputs.len(),
                Source::Input | Source::Null | Source::Nothing => true,
            };
        });
        let mut arguments = if known { step.arguments.render(self.values).ok()? } else { return None };
        if let Some(schema) = &tool.0.input {
            schema.prepare(&mut arguments, &mut Vec::new()).ok()?;
        }
        Some(arguments)
    }

    /// The steps of a composite whose input is known.
    fn inside(&self, body: &CompositeBody<R>, input: &Value, path: &str, depth: u32, covers: &mut Vec<Covered>) {
        let GateOf::Catalog { links, home } = &body.gate else { return };
        let Some(view) = home.get().and_then(Weak::upgrade) else { return };
        let values = Values { input: Some(input), outputs: &[] };
        Later { approvals: self.approvals, view: &view, links, program: &body.master, path, from: 0, values }.gather(depth, covers);
    }
}

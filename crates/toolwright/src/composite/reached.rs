//! The tools that a composite's steps reach, as they are now: written with the intent of a run, so that whoever takes
//! it up again can tell which of them changed.

use std::sync::Weak;

use super::{CompositeBody, GateOf};
use crate::catalog::View;
use crate::journal::StepTool;
use crate::runtime::Runtime;

impl<R: Runtime> CompositeBody<R> {
    /// Tools of its steps, and of the composites among them, each once; none for steps behind a composer's gate, which
    /// are found only when their turn comes.
    pub(crate) fn reached(&self) -> Vec<StepTool> {
        let mut reached = Vec::new();
        if let GateOf::Catalog { links, home } = &self.gate
            && let Some(view) = home.get().and_then(Weak::upgrade)
        {
            reach(&view, links, &mut reached);
        }
        reached
    }
}

fn reach<R: Runtime>(view: &View<R>, links: &[usize], reached: &mut Vec<StepTool>) {
    for entry in links.iter().filter_map(|link| view.entry(*link)) {
        let tool = &entry.tool.0.name;
        if reached.iter().any(|there| there.tool == *tool) {
            continue;
        }
        let body = entry.tool.composite();
        let spec = body.map(|body| body.written().clone());
        reached.push(StepTool { tool: tool.clone(), fingerprint: *entry.run_fingerprint(), spec });
        if let Some(GateOf::Catalog { links, .. }) = body.map(|body| &body.gate) {
            reach(view, links, reached);
        }
    }
}

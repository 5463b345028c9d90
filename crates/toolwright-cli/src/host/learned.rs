//! What was learned of outputs, laid over the tools that do not say what they give.

use toolwright::ToolDef;

use super::Build;
use crate::config::source::Source;
use crate::learned::LearnedView;

impl Build<'_> {
    /// The tool with what is known of its outputs, from the file beside the one that its source stands in.
    pub(super) fn learned(&mut self, tool: ToolDef, source: &Source) -> (ToolDef, Option<LearnedView>) {
        let config = self.config;
        let layer = config.layer(&source.place);
        let of_this = |id: &str| config.learned.iter().find_map(|file| Some((file, file.tool(id).filter(|_| file.layer == layer)?)));
        let Some((file, entry)) = of_this(tool.name()) else { return (tool, None) };
        if tool.output_schema().is_some() {
            let message = format!("`{}` declares an output schema now; what was learned of it is not used", tool.name());
            self.findings.push(file.warning(tool.name(), message));
            return (tool, None);
        }
        (entry.of(&tool), Some(entry.view(&file.beside.name())))
    }

    /// What was learned of tools that are not there.
    pub(super) fn learned_of_nothing(&mut self) {
        let mut findings = Vec::new();
        for file in &self.config.learned {
            for id in file.ids() {
                let of_this = |source: &&Source| self.config.layer(&source.place) == file.layer;
                let view = self.view(id);
                let sources = || self.config.sources.iter().filter(of_this);
                let here = view.is_some_and(|view| sources().any(|source| source.name == view.source));
                let may_come = view.is_none() && self.could_come_from(id).is_some();
                if here || may_come {
                    continue;
                }
                let composite = self.config.composites.iter().any(|composite| composite.id == id);
                let message = match (composite, view) {
                    (true, _) => format!("`{id}` is a composite: what it gives follows from its steps, and what was learned is not used"),
                    (false, Some(_)) => format!("`{id}` is a tool of another file; what was learned of it here is not used"),
                    (false, None) => format!("no tool has the id `{id}`, of which something was learned"),
                };
                findings.push(file.warning(id, message));
            }
        }
        self.findings.extend(findings);
    }
}

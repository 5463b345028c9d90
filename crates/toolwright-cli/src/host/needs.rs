//! What one tool needs: the composites below it and the sources that may offer its tools.

use std::collections::BTreeSet;

use crate::config::source::SourceKind;
use crate::config::{Config, Layer};
use crate::diagnostic::Owner;

/// The parts of a configuration that a tool needs.
#[derive(Debug, Default)]
pub(crate) struct Needs {
    composites: BTreeSet<String>,
    sources: BTreeSet<String>,
    tools: BTreeSet<String>,
}

impl Needs {
    /// Whether the composite is needed.
    pub(crate) fn has_composite(&self, id: &str) -> bool {
        self.composites.contains(id)
    }

    /// Whether the source is needed.
    pub(crate) fn has_source(&self, name: &str) -> bool {
        self.sources.contains(name)
    }

    /// Whether a mistake of this owner stands in the way.
    pub(crate) fn has(&self, owner: &Owner) -> bool {
        match owner {
            Owner::File => true,
            Owner::Source(name) => self.sources.contains(name),
            Owner::Tool(id) => self.tools.contains(id),
            Owner::Composite(id) => self.composites.contains(id),
        }
    }
}

/// What the tool of that id needs, following steps through composites.
pub(crate) fn of(config: &Config, id: &str) -> Needs {
    let mut needs = Needs::default();
    let mut todo = vec![id.to_owned()];
    while let Some(id) = todo.pop() {
        if !needs.tools.insert(id.clone()) {
            continue;
        }
        let mut composites = config.composites.iter();
        if let Some(composite) = composites.find(|composite| composite.id == id) {
            needs.composites.insert(id);
            todo.extend(composite.uses.iter().map(|step| step.tool.clone()));
            continue;
        }
        // A renamed tool comes from its source under the name it has there.
        let renamed = config.tools.iter().find(|tool| tool.final_id() == id);
        let original = renamed.map_or(id, |tool| tool.id.clone());
        needs.tools.insert(original.clone());
        needs.sources.extend(sources(config, &original));
    }
    needs
}

fn sources(config: &Config, id: &str) -> Vec<String> {
    let listed = config.sources.iter().find(|source| match &source.kind {
        SourceKind::Commands(tools) => tools.iter().any(|tool| tool.id == id),
        SourceKind::Off { tools, .. } => tools.iter().any(|tool| tool == id),
        SourceKind::Server(_) => false,
    });
    if let Some(source) = listed {
        // A server of the user without a prefix may have a tool of any name: what is the user's is never taken.
        let projects = config.layer(&source.place) == Layer::Project;
        let users = config.sources.iter().filter(|other| {
            let bare = matches!(&other.kind, SourceKind::Server(server) if server.prefix.is_empty());
            projects && bare && config.layer(&other.place) == Layer::User
        });
        return users.chain([source]).map(|source| source.name.clone()).collect();
    }
    // A server's tools are known only once it is asked: every one that may have it is needed.
    let fitting = config.sources.iter().filter(|source| match &source.kind {
        SourceKind::Server(server) => id.starts_with(&server.prefix),
        SourceKind::Off { prefix, .. } => prefix.as_deref().is_some_and(|p| id.starts_with(p)),
        SourceKind::Commands(_) => false,
    });
    fitting.map(|source| source.name.clone()).collect()
}

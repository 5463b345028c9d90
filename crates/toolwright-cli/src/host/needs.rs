//! What one tool needs: the composites below it and the sources that may offer its tools.

use std::collections::BTreeSet;

use crate::config::source::{Source, SourceKind};
use crate::config::{Config, Layer};
use crate::diagnostic::Owner;

/// The parts of a configuration that a tool needs.
#[derive(Debug, Default)]
pub(crate) struct Needs {
    composites: BTreeSet<String>,
    sources: BTreeSet<String>,
    /// Sources that may offer a tool of the same id: nothing is needed of them, but nothing may be called by an id
    /// that two have.
    rivals: BTreeSet<String>,
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

    /// Whether the source has to be asked for its tools.
    pub(crate) fn asks(&self, name: &str) -> bool {
        self.has_source(name) || self.rivals.contains(name)
    }

    /// Whether a mistake of this owner stands in the way.
    pub(crate) fn has(&self, owner: &Owner) -> bool {
        match owner {
            Owner::File => true,
            Owner::Serve => false,
            // Whatever needs a server that it blocks says so itself.
            Owner::Lock => false,
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
        let mut claimed = false;
        let mut composites = config.composites.iter();
        if let Some(composite) = composites.find(|composite| composite.id == id) {
            claimed = true;
            needs.composites.insert(id.clone());
            todo.extend(composite.uses.iter().map(|step| step.tool.clone()));
        }
        // A renamed tool comes from its source under the name it has there.
        let renamed = config.tools.iter().filter(|tool| tool.id != id && tool.final_id() == id);
        for original in renamed.map(|tool| tool.id.clone()).chain([id.clone()]) {
            needs.tools.insert(original.clone());
            // Who is asked what became of a call.
            let asked = config.tools.iter().filter(|tool| tool.id == original).filter_map(|tool| tool.reconcile.as_ref());
            todo.extend(asked.map(|reconcile| reconcile.tool.0.clone()));
            let (sources, rivals) = sources(config, &original);
            let (sources, rivals) = if claimed { (Vec::new(), [sources, rivals].concat()) } else { (sources, rivals) };
            claimed |= !sources.is_empty();
            needs.sources.extend(sources);
            needs.rivals.extend(rivals);
        }
    }
    needs
}

/// The sources that the id comes from, and those that may have it as well.
fn sources(config: &Config, id: &str) -> (Vec<String>, Vec<String>) {
    let listed = config.sources.iter().find(|source| match &source.kind {
        SourceKind::Commands(tools) => tools.iter().any(|tool| tool.id == id),
        SourceKind::Off { tools, .. } => tools.iter().any(|tool| tool == id),
        SourceKind::Server(_) => false,
    });
    // A server's tools are known only once it is asked: every one that may have it is needed.
    let fitting = config.sources.iter().filter(|source| match &source.kind {
        SourceKind::Server(server) => id.starts_with(&server.prefix),
        SourceKind::Off { prefix, .. } => prefix.as_deref().is_some_and(|p| id.starts_with(p)),
        SourceKind::Commands(_) => false,
    });
    let names = |source: &Source| source.name.clone();
    match listed {
        // A server without a prefix may have any id, and is not started for every command line.
        Some(listed) => {
            // One of the user may: what is the user's is never taken.
            let projects = config.layer(&listed.place) == Layer::Project;
            let users = config.sources.iter().filter(|other| {
                let bare = matches!(&other.kind, SourceKind::Server(server) if server.prefix.is_empty());
                projects && bare && config.layer(&other.place) == Layer::User
            });
            (users.chain([listed]).map(names).collect(), fitting.filter(|source| has_prefix(source)).map(names).collect())
        }
        None => (fitting.map(names).collect(), Vec::new()),
    }
}

fn has_prefix(source: &Source) -> bool {
    matches!(&source.kind, SourceKind::Server(server) if !server.prefix.is_empty())
}

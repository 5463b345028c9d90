//! What the files say: sources, tools, composites and policy, each with its place.
//!
//! Everything that is wrong is a finding; what is right is there all the same. This module starts
//! nothing and decides nothing.

pub(crate) mod composite;
mod described;
pub(crate) mod expand;
mod hidden;
pub(crate) mod listed;
pub(crate) mod load;
mod mcp_servers;
pub(crate) mod members;
pub(crate) mod policy;
pub(crate) mod reader;
pub(crate) mod reconcile;
pub(crate) mod serve;
pub(crate) mod source;
pub(crate) mod tool;
pub(crate) mod units;
mod withheld;
pub(crate) mod yaml;

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::Arc;

use crate::diagnostic::{Finding, Owner, SourceText};
use crate::learned::LearnedFile;
use crate::lock::{Fault, LockFile, Locked};
use crate::secret::Secrets;

/// Whose file it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Layer {
    /// The user's own: it may grant.
    User,
    /// The project's: it may narrow, and grant only what the user accepted.
    Project,
}

/// A file that was read.
#[derive(Debug)]
pub(crate) struct LoadedFile {
    /// Its text.
    pub(crate) source: Arc<SourceText>,
    /// Where it is.
    pub(crate) path: PathBuf,
    /// Whose it is.
    pub(crate) layer: Layer,
    /// Everything in it, as far as it could be read.
    pub(crate) root: Option<yaml::Node>,
    /// Its `policy` section.
    pub(crate) policy: Option<policy::PolicyEntry>,
    /// Its `serve` section.
    pub(crate) serve: Option<serve::ServeEntry>,
}

/// Everything the files say.
#[derive(Debug, Default)]
pub(crate) struct Config {
    /// The files, the user's first.
    pub(crate) files: Vec<LoadedFile>,
    /// Where tools come from.
    pub(crate) sources: Vec<source::Source>,
    /// What the host says about them.
    pub(crate) tools: Vec<tool::ToolEntry>,
    /// Composites, in the order of the files.
    pub(crate) composites: Vec<composite::CompositeEntry>,
    /// What was learned of tools that do not say what they give, beside each file.
    pub(crate) learned: Vec<LearnedFile>,
    /// What MCP servers said when they were last asked, beside each file.
    pub(crate) locks: Vec<LockFile>,
    /// What of that cannot be believed.
    pub(crate) lock_faults: Vec<Fault>,
    /// What is wrong.
    pub(crate) findings: Vec<Finding>,
    /// What must not be shown.
    pub(crate) secrets: Secrets,
}

impl Config {
    /// Whose file a place is in.
    pub(crate) fn layer(&self, place: &reader::Place) -> Layer {
        let file = self.files.iter().find(|file| Arc::ptr_eq(&file.source, &place.source));
        file.map_or(Layer::Project, |file| file.layer)
    }

    /// The ids under which sources know the tool that is called `id` in the end.
    pub(crate) fn renamed(&self, id: &str) -> Vec<String> {
        let renamed = self.tools.iter().filter(|entry| entry.id != id && entry.final_id() == id);
        renamed.map(|entry| entry.id.clone()).collect()
    }

    /// Whether an entry of `tools` may say anything about a source's tools, or may only narrow them.
    pub(crate) fn may_speak(&self, source: &source::Source, said: &tool::ToolEntry) -> bool {
        self.layer(&source.place) == Layer::Project || self.layer(&said.place) == Layer::User
    }

    /// Drops changes of what stands in several places at once: text that an alias repeats means something in each of them.
    pub(crate) fn only_clear_edits(&self, findings: &mut [Finding]) {
        for finding in findings {
            let repeated = finding.edit.as_ref().is_some_and(|edit| {
                let file = self.files.iter().find(|file| Arc::ptr_eq(&file.source, &edit.source));
                let repeats = edit.source.text().contains('*');
                repeats && file.and_then(|file| file.root.as_ref()).is_none_or(|root| root.uses(&edit.span) > 1)
            });
            if repeated {
                finding.edit = None;
            }
        }
    }

    /// Takes locks, each with what is wrong with it.
    pub(crate) fn add_locks(&mut self, locks: Vec<(Option<LockFile>, Vec<Fault>)>) {
        for (lock, faults) in locks {
            self.locks.extend(lock);
            self.findings.extend(faults.iter().map(|fault| fault.finding.clone()));
            self.lock_faults.extend(faults);
        }
    }

    /// The same configuration with locks.
    pub(crate) fn with_locks(mut self, locks: Vec<(Option<LockFile>, Vec<Fault>)>) -> Self {
        self.add_locks(locks);
        self
    }

    /// What the lock beside its file says about the tools of a source.
    pub(crate) fn locked(&self, source: &source::Source) -> Option<Locked<'_>> {
        let layer = self.layer(&source.place);
        self.locks.iter().filter(|lock| lock.layer == layer).find_map(|lock| lock.source(&source.name))
    }

    /// Why what the lock says about a source cannot be believed.
    pub(crate) fn lock_fault(&self, source: &source::Source) -> Option<&Finding> {
        let layer = self.layer(&source.place);
        self.lock_faults.iter().find(|fault| fault.blocks(layer, &source.name)).map(|fault| &fault.finding)
    }

    /// The project's file, when there is one.
    pub(crate) fn project(&self) -> Option<&LoadedFile> {
        self.files.iter().find(|file| file.layer == Layer::Project)
    }
}

/// What the files say about tools of sources, found by id.
pub(crate) struct Said<'c> {
    config: &'c Config,
    by_id: HashMap<&'c str, Vec<&'c tool::ToolEntry>>,
    /// By the id in the end: the first that says something.
    by_final_id: HashMap<&'c str, &'c tool::ToolEntry>,
}

impl<'c> Said<'c> {
    /// Everything that these files say.
    pub(crate) fn of(config: &'c Config) -> Self {
        let mut said = Self { config, by_id: HashMap::new(), by_final_id: HashMap::new() };
        for entry in &config.tools {
            said.by_id.entry(&entry.id).or_default().push(entry);
            said.by_final_id.entry(entry.final_id()).or_insert(entry);
        }
        said
    }

    /// What is said about a tool of a source, the last word last: a project speaks first about its own tools, and
    /// after the user about the user's.
    pub(crate) fn about(&self, source: &source::Source, id: &str) -> Vec<&'c tool::ToolEntry> {
        let mut said = self.by_id.get(id).cloned().unwrap_or_default();
        let own = self.config.layer(&source.place);
        said.sort_by_key(|entry| self.config.layer(&entry.place) != own);
        said
    }

    /// The title that is given to the tool that is called `id` in the end.
    pub(crate) fn title(&self, id: &str) -> Option<String> {
        self.by_final_id.get(id).and_then(|entry| entry.title.clone())
    }
}

/// Which entry of the file a byte stands in.
fn owner_at(root: &yaml::Node, at: usize) -> Option<Owner> {
    let inside = |entries: &[yaml::Entry]| {
        let entry = entries.iter().rev().find(|entry| entry.key_span.start <= at)?;
        Some((entry.key.clone(), entry.value.clone()))
    };
    let (section, value) = inside(root.entries()?)?;
    let (name, value) = inside(value.entries()?)?;
    match section.as_str() {
        "composites" => Some(Owner::Composite(name)),
        "tools" => Some(Owner::Tool(name)),
        "mcpServers" => Some(Owner::Source(name)),
        "sources" => {
            let tools = value.entry("tools").filter(|tools| tools.key_span.start <= at);
            let tool = tools.and_then(|tools| inside(tools.value.entries()?));
            Some(tool.map_or(Owner::Source(name), |(tool, _)| Owner::Tool(tool)))
        }
        _ => None,
    }
}

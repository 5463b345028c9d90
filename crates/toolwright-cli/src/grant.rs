//! Which tools with side effects composites may use, and who said so.
//!
//! The user's own configuration and `--allow` count as they are; a project's list counts once the
//! user accepted exactly that list. Everything else is refused, with the command that would allow it.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use toolwright::approval::{Approvals, Approve};
use toolwright::{Approver, Policy};

use crate::code;
use crate::config::{Config, Layer, LoadedFile};
use crate::diagnostic::Finding;
use crate::trust::{TrustStore, Verdict};

/// What counts, and what would.
#[derive(Debug, Default)]
pub(crate) struct Grants {
    listed: BTreeSet<String>,
    waiting: Option<Waiting>,
    /// The names that the command line allows, as they were given.
    allowed: Vec<String>,
    /// The project's file, as people call it.
    file: Option<String>,
    /// When tools ask before they run. Nothing is granted by that, so every file may say it, and the strictest counts.
    rules: BTreeMap<String, Approve>,
    asks: Asks,
    /// Some file wants every step validated. Nothing is granted by that, so every file may say it.
    validates_every_step: bool,
}

/// A project's list that the user has not accepted.
#[derive(Debug)]
struct Waiting {
    tools: Vec<String>,
    why: Verdict,
}

impl Grants {
    /// Decides. Whatever goes wrong on the way grants nothing.
    pub(crate) fn decide(config: &Config, allow: &[String], store: Option<&TrustStore>) -> Self {
        let mut grants = Self {
            listed: allow.iter().cloned().collect(),
            waiting: None,
            allowed: allow.to_vec(),
            file: config.project().map(|file| file.source.name().to_owned()),
            rules: rules(config),
            asks: Asks::default(),
            validates_every_step: config.files.iter().flat_map(|file| &file.policy).any(|policy| policy.validates_every_step),
        };
        for file in &config.files {
            let tools = names(file);
            match file.layer {
                Layer::User => grants.listed.extend(tools),
                Layer::Project if tools.is_empty() => {}
                Layer::Project => match verdict(file, store) {
                    Verdict::Accepted => grants.listed.extend(tools),
                    why => grants.waiting = Some(Waiting { tools, why }),
                },
            }
        }
        grants
    }

    /// What counts, as the policy of a registry.
    pub(crate) fn policy(&self) -> Policy {
        let rules = self.rules.iter().fold(Approvals::new(), |approvals, (tool, rule)| approvals.tool(tool.as_str(), *rule));
        let rules = match &self.asks.approver {
            Some(approver) => rules.approver(approver.clone()),
            None => rules,
        };
        let rules = match self.asks.expiry {
            Some(expiry) => rules.expire_after(expiry),
            None => rules,
        };
        let policy = Policy::new().may_chain(self.listed.iter().map(String::as_str)).approvals(rules);
        if self.validates_every_step { policy.validate_every_step() } else { policy }
    }

    /// With somebody to ask before tools run that want that, and how long a question stands. Without, nobody can say yes.
    pub(crate) fn asking(mut self, approver: Arc<dyn Approver>, expiry: Option<Duration>) -> Self {
        self.asks = Asks { approver: Some(approver), expiry };
        self
    }

    /// The names that the command line allows.
    pub(crate) fn allowed(&self) -> &[String] {
        &self.allowed
    }

    /// Whether the project's list waits for the user, and has this tool.
    fn waits(&self, tool: &str) -> bool {
        self.waiting.as_ref().is_some_and(|waiting| waiting.tools.iter().any(|name| name == tool))
    }

    /// What the user can do so that composites may use `tool`.
    pub(crate) fn help(&self, tool: &str) -> String {
        let allow = format!("allow it for one run with `--allow {}`", shell_word(tool));
        let Some(file) = &self.file else {
            return allow;
        };
        let trust = format!("`toolwright trust {}`", shell_word(file));
        if self.waits(tool) {
            return format!("`{file}` lists it; accept that list with {trust} or {allow}");
        }
        format!("{allow}, or list it under `policy.sideEffectingTools` in `{file}` and accept that with {trust}")
    }

    /// A note that the project's list does not count yet.
    pub(crate) fn finding(&self, config: &Config) -> Option<Finding> {
        let waiting = self.waiting.as_ref()?;
        let project = config.project()?;
        let policy = project.policy.as_ref()?;
        let file = shell_word(project.source.name());
        let what = match &waiting.why {
            Verdict::Changed(_) => "the list of side-effecting tools, or what they run, has changed since you accepted it",
            Verdict::Accepted | Verdict::Unknown => "the list of side-effecting tools is not accepted yet",
            Verdict::Unusable(why) => {
                let message = format!("what is remembered of this file's list does not count: {why}");
                let finding = Finding::error(code::NOT_TRUSTED, message)
                    .at(&policy.place.source, policy.place.span.clone(), "does not count")
                    .help(format!("remove it or make it yours alone, then accept the list again with `toolwright trust {file}`"));
                return Some(finding);
            }
        };
        let finding = Finding::warning(code::NOT_TRUSTED, what)
            .at(&policy.place.source, policy.place.span.clone(), "does not count yet")
            .help(format!("look at it and accept it with `toolwright trust {file}`"));
        Some(finding)
    }
}

/// Who is asked before a tool runs.
#[derive(Clone, Default)]
struct Asks {
    approver: Option<Arc<dyn Approver>>,
    expiry: Option<Duration>,
}

impl std::fmt::Debug for Asks {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Asks").field("somebody", &self.approver.is_some()).field("expiry", &self.expiry).finish()
    }
}

/// When tools ask, as all files say it: also those of which nothing else counts yet.
fn rules(config: &Config) -> BTreeMap<String, Approve> {
    let mut rules = BTreeMap::new();
    for (tool, rule) in config.files.iter().flat_map(|file| &file.policy).flat_map(|policy| &policy.rules) {
        let strictest: &mut Approve = rules.entry(tool.clone()).or_default();
        *strictest = (*strictest).max(*rule);
    }
    rules
}

fn names(file: &LoadedFile) -> Vec<String> {
    let policy = file.policy.iter().filter(|policy| !policy.broken);
    policy.flat_map(|policy| policy.tools.iter().map(|(tool, _)| tool.clone())).collect()
}

fn verdict(file: &LoadedFile, store: Option<&TrustStore>) -> Verdict {
    let known = || {
        let policy = file.policy.as_ref()?;
        let path = canonical(&file.path)?;
        Some(store?.verdict(&path, &policy.hash))
    };
    known().unwrap_or(Verdict::Unknown)
}

/// The one path of a file, whatever way led to it.
pub(crate) fn canonical(path: &Path) -> Option<PathBuf> {
    std::fs::canonicalize(path).ok()
}

/// Text as one word of a shell.
pub(crate) fn shell_word(text: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "_-./:@%+=,".contains(c);
    if !text.is_empty() && text.chars().all(plain) { text.to_owned() } else { format!("'{}'", text.replace('\'', "'\\''")) }
}

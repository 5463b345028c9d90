//! From configuration to a catalogue: the one function that wires everything, and what it learned.
//!
//! Nothing that is wrong in one place takes down another: a source that cannot be asked, a tool that
//! does not check and a composite that is refused stay visible with their reasons.

mod audiences;
mod composites;
mod layers;
mod learned;
mod leaves;
mod literals;
mod needs;
mod order;
mod prepare;
mod reconcile;
mod servers;
mod views;

use std::collections::BTreeMap;
use std::sync::Arc;

use toolwright::{Catalog, HostChecks, Options, Registry, ToolDef, Value};
use toolwright_mcp::upstream::Upstream;

use crate::config::composite::CompositeEntry;
use crate::config::reader::Place;
use crate::config::reconcile::ReconcileEntry;
use crate::config::{Config, Said};
use crate::diagnostic::{Finding, Owner, Severity, Span};
use crate::grant::Grants;
use crate::moment::WallClock;
use crate::secret::Secrets;
use crate::view::{SourceView, State, ToolView, Why};

pub(crate) use servers::Opening;
use servers::Server;

/// What is needed of a configuration.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Want {
    /// All of it: every source is asked for its tools, whatever was accepted of them.
    Everything,
    /// All of it: every source is asked, and what is not as it was accepted is withheld.
    Compared,
    /// What the files say, and nothing is started.
    FilesOnly,
    /// What the files and the locks beside them say; of the rest, servers are asked, or nothing is known.
    Locked {
        /// Servers that no lock knows are asked.
        ask: bool,
    },
    /// What one tool needs, as the locks say; no other source is looked at, and those that no lock knows are asked.
    Tool(String),
}

/// A catalogue, and everything that is worth telling about it.
pub(crate) struct Host {
    /// What can be called.
    pub(crate) catalog: Catalog,
    /// Every tool, callable or not, in order.
    pub(crate) tools: Vec<ToolView>,
    /// Every source that was looked at.
    pub(crate) sources: Vec<SourceView>,
    /// Everything that is wrong.
    pub(crate) findings: Vec<Finding>,
    /// What servers said about their usable tools, untouched, by source.
    pub(crate) offered: Vec<(String, Vec<Value>)>,
    /// What must not be shown.
    pub(crate) secrets: Secrets,
    /// Owners that were looked at, when not everything was.
    needed: Option<needs::Needs>,
    /// What the command line allows and no tool is called.
    misnamed: Vec<Finding>,
    servers: Vec<Server>,
    /// What the files say about composites, for places.
    composites: Vec<CompositeEntry>,
}

/// What is known while a host is being built.
struct Build<'c> {
    config: &'c Config,
    said: Said<'c>,
    grants: &'c Grants,
    registry: Registry,
    /// What the registry has taken in, in order.
    tools: Vec<ToolDef>,
    /// Who has which id, in order.
    claims: BTreeMap<String, Vec<(Place, Owner)>>,
    /// Tools of sources that wait for registration, with the position of their view.
    leaves: Vec<(ToolDef, Owner, usize)>,
    /// What the files say about finding out what became of a call, with the position of the tool that waits.
    reconciles: Vec<(usize, &'c ReconcileEntry)>,
    views: views::Views,
    sources: Vec<SourceView>,
    findings: Vec<Finding>,
    offered: Vec<(String, Vec<Value>)>,
    /// A registry for a look at composites that are not taken in, and how many tools it has seen.
    scratch: Option<(usize, Registry)>,
    /// Sources whose tools are not known, with what their ids begin with.
    unknown: Vec<UnknownSource>,
}

/// A source whose tools are not known.
struct UnknownSource {
    name: String,
    prefix: String,
    /// Why; `None` when it was simply not asked.
    why: Option<Why>,
}

impl Host {
    /// Wires everything: sources, what the host says about their tools, policy, composites.
    pub(crate) async fn open(config: Config, grants: &Grants, want: &Want) -> Self {
        Opening::new(grants, want).open(config).await
    }

    async fn opened(config: Config, how: &Opening<'_>) -> Self {
        let Opening { grants, want, .. } = *how;
        let needed = match want {
            Want::Tool(id) => Some(needs::of(&config, id)),
            _ => None,
        };
        let mut build = Build {
            config: &config,
            said: Said::of(&config),
            grants,
            registry: empty_registry(grants, how.checks.clone()),
            tools: Vec::new(),
            claims: BTreeMap::new(),
            leaves: Vec::new(),
            reconciles: Vec::new(),
            views: views::Views::default(),
            sources: Vec::new(),
            findings: config.findings.clone(),
            offered: Vec::new(),
            scratch: None,
            unknown: Vec::new(),
        };
        build.findings.extend(grants.finding(&config));
        let servers = build.leaves(how, needed.as_ref()).await;
        build.duplicate_sources();
        build.claim_composites();
        build.claim_for_the_user();
        build.duplicates();
        build.reconciles();
        build.register_leaves();
        build.overrides_of_nothing();
        build.policy_of_nothing();
        build.audiences_of_nothing();
        build.learned_of_nothing();
        build.composites(needed.as_ref());
        let misnamed = build.allowed_of_nothing();
        let mut host = build.close(needed, servers);
        host.misnamed = misnamed;
        let mut config = config;
        host.composites = std::mem::take(&mut config.composites);
        // It is large where a catalogue is, and whoever opens a host need not wait until it is gone.
        tokio::task::spawn_blocking(move || drop(config));
        host
    }

    /// The place of a part of a text in a composite: `pointer` is a JSON pointer into its specification.
    pub(crate) fn place_in(&self, composite: &str, pointer: &str, part: &Span) -> Option<Place> {
        let entry = self.composites.iter().find(|entry| entry.id == composite)?;
        Some(entry.place_of(pointer, Some(part), false))
    }

    /// Ends every server that was started.
    pub(crate) async fn close(&self) {
        servers::close(&self.servers).await;
    }

    /// The servers behind it, by the names of their sources; most may not have been started.
    pub(crate) fn servers(&self) -> impl Iterator<Item = (&str, &Upstream)> {
        self.servers.iter().map(|server| (server.source.as_str(), &server.upstream))
    }

    /// Servers that are no part of the host that took the place of this one.
    pub(crate) fn servers_not_in(&self, next: &Self) -> Vec<Upstream> {
        servers::not_in(&self.servers, &next.servers)
    }

    /// The tool of that id.
    pub(crate) fn find(&self, id: &str) -> Option<&ToolView> {
        self.tools.iter().find(|tool| tool.id == id)
    }

    /// Why a source that the tool would come from is not there.
    pub(crate) fn missing_source(&self) -> Option<&Why> {
        let needed = self.needed.as_ref()?;
        let sources = self.sources.iter().filter(|source| needed.has_source(&source.name));
        sources.filter_map(|source| source.why.as_ref()).next()
    }

    /// What the command line allows and no tool is called.
    pub(crate) fn misnamed(&self) -> Vec<Finding> {
        self.misnamed.clone()
    }

    /// Findings that stand in the way of what was asked for.
    pub(crate) fn in_the_way(&self) -> Vec<Finding> {
        self.findings.iter().filter(|finding| finding.severity == Severity::Error && self.concerns(&finding.owner)).cloned().collect()
    }

    /// Errors in parts of the files that were not asked for.
    pub(crate) fn elsewhere(&self) -> usize {
        self.findings.iter().filter(|finding| finding.severity == Severity::Error && !self.concerns(&finding.owner)).count()
    }

    fn concerns(&self, owner: &Owner) -> bool {
        self.needed.as_ref().is_none_or(|needed| needed.has(owner))
    }
}

impl Build<'_> {
    fn close(self, needed: Option<needs::Needs>, servers: Vec<Server>) -> Host {
        let mut secrets = Secrets::default();
        secrets.extend(&self.config.secrets);
        let mut findings: Vec<Finding> = self.findings.into_iter().map(|finding| finding.map_text(|text| secrets.mask(text))).collect();
        self.config.only_clear_edits(&mut findings);
        crate::diagnostic::sort(&mut findings);
        let tools = self.views.into_iter().map(|view| view.masked(&secrets)).collect();
        let sources = self.sources.into_iter().map(|source| source.masked(&secrets)).collect();
        Host {
            catalog: self.registry.seal(),
            tools,
            sources,
            findings,
            offered: self.offered,
            secrets,
            needed,
            misnamed: Vec::new(),
            servers,
            composites: Vec::new(),
        }
    }

    /// The first error about an owner, as the reason why it cannot be used.
    fn error_of(&self, owner: &Owner) -> Option<Why> {
        self.findings.iter().find(|finding| finding.severity == Severity::Error && finding.owner == *owner).map(why)
    }

    /// The tool that the id will have, whether it can be called or not.
    fn view(&self, id: &str) -> Option<&ToolView> {
        self.views.find(id)
    }

    /// The source that would offer a tool of this id, if it could be asked.
    fn could_come_from(&self, id: &str) -> Option<&UnknownSource> {
        self.unknown.iter().filter(|source| id.starts_with(&source.prefix)).max_by_key(|source| source.prefix.len())
    }

    /// Every id that something has.
    fn ids(&self) -> Vec<&str> {
        let composites = self.config.composites.iter();
        let views = self.views.iter().map(|view| view.id.as_str());
        views.chain(composites.map(|composite| composite.id.as_str())).collect()
    }
}

/// A registry without tools, with what composites may use.
fn empty_registry(grants: &Grants, checks: Option<HostChecks>) -> Registry {
    let policy = grants.policy();
    let options = Options::new().policy(match checks {
        Some(checks) => policy.checks(checks),
        None => policy,
    });
    // Events of tools are shown nowhere. Only outputs of a host can be refused, and there are none; the registry that
    // would stand here then lists nothing.
    Registry::with_options(options.events(0).clock(Arc::new(WallClock))).unwrap_or_default()
}

/// A finding as a reason.
fn why(finding: &Finding) -> Why {
    Why { code: finding.code.clone(), message: finding.message.clone(), help: finding.help.clone() }
}

/// The state of something that a finding stops.
fn broken(why: Why) -> State {
    State::Broken(why)
}

#[cfg(test)]
mod tests;

//! MCP servers of a host: from what a lock says about them, from their own answers, or taken over from a host before; and
//! their end.

use std::sync::Arc;

use futures_util::future::join_all;
use toolwright::HostChecks;
use toolwright_mcp::upstream::{Changed, Listing, Questions, ServerSpec, Upstream, UpstreamError};

use super::needs::Needs;
use super::{Host, Want};
use crate::config::Config;
use crate::config::source::{ServerEntry, Source, SourceKind};
use crate::grant::Grants;
use crate::lock::Locked;
use crate::view::Why;
use crate::wire;

/// How a host is opened.
pub(crate) struct Opening<'a> {
    pub(super) grants: &'a Grants,
    pub(super) want: &'a Want,
    questions: Option<Arc<dyn Questions>>,
    before: Option<&'a Host>,
    pub(super) checks: Option<HostChecks>,
}

impl<'a> Opening<'a> {
    /// With nobody to ask, and nothing before it.
    pub(crate) fn new(grants: &'a Grants, want: &'a Want) -> Self {
        Self { grants, want, questions: None, before: None, checks: None }
    }

    /// With somebody who is asked what servers ask while they work.
    pub(crate) fn questions(mut self, questions: Arc<dyn Questions>) -> Self {
        self.questions = Some(questions);
        self
    }

    /// In the place of another host: servers that are the same go on.
    pub(crate) fn after(mut self, before: &'a Host) -> Self {
        self.before = Some(before);
        self
    }

    /// With checks before each step of a composite.
    pub(crate) fn checks(mut self, checks: HostChecks) -> Self {
        self.checks = Some(checks);
        self
    }

    /// Wires everything.
    pub(crate) async fn open(&self, config: Config) -> Host {
        Host::opened(config, self).await
    }

    /// What is known of a server's tools, and from where.
    fn how<'c>(&self, config: &'c Config, source: &Source, needed: Option<&Needs>) -> How<'c> {
        if needed.is_some_and(|needed| !needed.asks(&source.name)) {
            return How::NotAsked;
        }
        let ask = match self.want {
            Want::FilesOnly => return How::NotAsked,
            Want::Everything => return How::Asked,
            Want::Locked { ask } => *ask,
            Want::Compared | Want::Tool(_) => true,
        };
        match (config.lock_fault(source), config.locked(source)) {
            (Some(fault), _) => How::Blocked(super::why(fault)),
            (None, Some(locked)) => How::Locked(locked),
            (None, None) if ask => How::Asked,
            (None, None) => How::NotAsked,
        }
    }

    fn server(&self, source: &Source, spec: ServerSpec, locked: Option<Locked<'_>>) -> Server {
        let print = format!("{spec:?} {}", locked.map(Locked::print).unwrap_or_default());
        let same = self.before.and_then(|before| before.servers.iter().find(|server| server.print == print));
        let upstream = match (same, &self.questions) {
            (Some(server), _) => server.upstream.clone(),
            (None, Some(questions)) => Upstream::asking(spec, questions.clone()),
            (None, None) => Upstream::new(spec),
        };
        Server { source: source.name.clone(), print, upstream }
    }
}

/// A server behind a host.
pub(crate) struct Server {
    /// The source that it is.
    pub(super) source: String,
    /// Everything that it is made of, to know it again. Holds secrets.
    print: String,
    pub(super) upstream: Upstream,
}

/// From where the tools of a server are known.
enum How<'c> {
    Asked,
    Locked(Locked<'c>),
    Blocked(Why),
    NotAsked,
}

/// What is known of a server's tools.
pub(super) enum Known {
    /// What it offers, and what of it is not what was accepted.
    Tools { listing: Listing, changed: Arc<Vec<Changed>> },
    /// It cannot be asked.
    Silent(UpstreamError),
    /// What was accepted of it cannot be believed.
    Blocked(Why),
    /// It was not asked.
    NotAsked,
}

/// What is known of each server, in the order of the configuration. Those that have to be asked are asked all at once.
pub(super) async fn known(config: &Config, how: &Opening<'_>, needed: Option<&Needs>) -> (Vec<Known>, Vec<Server>) {
    let servers = config.sources.iter().filter_map(|source| match &source.kind {
        SourceKind::Server(entry) => Some((source, entry)),
        _ => None,
    });
    let found = join_all(servers.map(|(source, entry)| one(config, how, needed, source, entry))).await;
    let (known, servers): (Vec<Known>, Vec<Option<Server>>) = found.into_iter().unzip();
    (known, servers.into_iter().flatten().collect())
}

async fn one(config: &Config, how: &Opening<'_>, needed: Option<&Needs>, source: &Source, entry: &ServerEntry) -> (Known, Option<Server>) {
    let spec = wire::server(config, source, entry);
    match how.how(config, source, needed) {
        How::NotAsked => (Known::NotAsked, None),
        How::Blocked(why) => (Known::Blocked(why), None),
        How::Asked => {
            let server = how.server(source, spec, None);
            let known = match server.upstream.tools().await {
                Ok(listing) => Known::Tools { listing, changed: Arc::default() },
                Err(error) => Known::Silent(error),
            };
            (known, Some(server))
        }
        How::Locked(locked) => {
            let spec = wire::locked(spec, entry, locked, &config.secrets);
            let server = how.server(source, spec, Some(locked));
            let changed = match how.want {
                Want::Compared => server.upstream.compare().await,
                _ => Ok(server.upstream.drift().borrow().clone()),
            };
            let known = match changed {
                Ok(changed) => Known::Tools { listing: server.upstream.tools_as_accepted(&locked.listed()), changed },
                Err(error) => Known::Silent(error),
            };
            (known, Some(server))
        }
    }
}

/// Ends every server; comes back when nothing of them is left.
pub(super) async fn close(servers: &[Server]) {
    join_all(servers.iter().map(|server| server.upstream.shutdown())).await;
}

/// Servers of `old` that did not go on in `new`.
pub(super) fn not_in(old: &[Server], new: &[Server]) -> Vec<Upstream> {
    let gone = old.iter().filter(|server| !new.iter().any(|other| other.print == server.print));
    gone.map(|server| server.upstream.clone()).collect()
}

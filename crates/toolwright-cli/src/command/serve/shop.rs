//! What is offered now: a host, who sees what of it, and the servers that an earlier one left behind.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use toolwright::{Catalog, HostChecks};
use toolwright_mcp::server::{Askers, Audience, Generation, HttpOptions, Offer, Profile, Server, Surface, denied_steps};
use toolwright_mcp::upstream::Upstream;

use crate::app::App;
use crate::args::{Format, ServeArgs};
use crate::config::Config;
use crate::diagnostic::{Finding, Owner, Severity};
use crate::exit::Exit;
use crate::host::{Host, Opening, Want};
use crate::output::Output;
use crate::serving::{Serving, approvals};
use crate::style::{cut, limited, one_line};

/// What is offered now.
pub(super) struct Shop {
    pub(super) host: Host,
    pub(super) serving: Serving,
    /// Whether clients are known over HTTP, since the start, by what a project's file says.
    projects_door: bool,
    /// How clients reach it, when they do over HTTP: as it was said when it was opened.
    pub(super) http: Option<HttpOptions>,
    /// Servers that are no part of the host any more. Calls to them may still run.
    retired: Vec<Upstream>,
    /// Tools that their servers offer and nobody can use, by source and name: told once.
    told: BTreeSet<(String, String)>,
}

/// Tools of one source that are told by name when nobody can use them.
const UNUSABLE_TOLD_MAX: usize = 10;
/// Columns of a name that is told.
const NAME_COLUMNS_MAX: usize = 80;

/// Why nothing can be offered.
pub(super) struct Refused {
    pub(super) findings: Vec<Finding>,
    pub(super) exit: Exit,
}

impl Refused {
    fn new(findings: Vec<Finding>, exit: Exit) -> Self {
        Self { findings, exit }
    }
}

impl Shop {
    /// Reads the files again and opens what they say; servers of this one that are the same go on.
    pub(super) async fn again(&self, app: &App, args: &ServeArgs, askers: &Askers) -> Result<Self, Refused> {
        let config = app.read_config_with_locks().map_err(|finding| Refused::new(vec![*finding], Exit::Usage))?;
        Self::open(config, app, args, askers, Some(self)).await
    }

    /// Opens what the files say, with what the locks beside them say; servers of `before` that are the same go on.
    pub(super) async fn open(config: Config, app: &App, args: &ServeArgs, askers: &Askers, before: Option<&Shop>) -> Result<Self, Refused> {
        let of_the_file = |finding: &&Finding| finding.severity == Severity::Error && finding.owner == Owner::File;
        let broken: Vec<Finding> = config.findings.iter().filter(of_the_file).cloned().collect();
        if !broken.is_empty() {
            let broken = broken.into_iter().map(|finding| finding.map_text(|text| config.secrets.mask(text)));
            return Err(Refused::new(broken.collect(), Exit::DoesNotCheck));
        }
        let serving = Serving::of(&config, &args.seen).map_err(|findings| Refused::new(findings, Exit::DoesNotCheck))?;
        let http = match &args.http {
            Some(_) => Some(serving.http(&config, args).map_err(|findings| Refused::new(findings, Exit::DoesNotCheck))?),
            None => {
                serving.default_audience().map_err(|finding| Refused::new(vec![*finding], Exit::Usage))?;
                None
            }
        };
        let projects_door = before.map_or(http.is_some() && serving.projects_door, |before| before.projects_door);
        serving.behind(projects_door).map_err(|finding| Refused::new(vec![*finding], Exit::DoesNotCheck))?;
        let approvals = approvals(&config);
        let grants = app.grants(&config).asking(Arc::new(askers.clone()), Some(approvals.expires));
        let want = Want::Locked { ask: true };
        let mut opening = Opening::new(&grants, &want).questions(Arc::new(askers.clone()));
        if let Some(denied) = denied_steps(serving.audiences.clone()) {
            opening = opening.checks(HostChecks::new().permission(denied));
        }
        if let Some(before) = before {
            opening = opening.after(&before.host);
        }
        let host = opening.open(config).await;
        let wrong: Vec<Finding> =
            host.findings.iter().filter(|finding| finding.severity == Severity::Error && finding.owner == Owner::Serve).cloned().collect();
        if !wrong.is_empty() {
            match before {
                Some(before) => retire(&host.servers_not_in(&before.host)).await,
                None => host.close().await,
            }
            return Err(Refused::new(wrong, Exit::DoesNotCheck));
        }
        Ok(Self { host, serving, http, projects_door, retired: Vec::new(), told: BTreeSet::new() })
    }

    /// What clients are offered.
    pub(super) fn offer(&self) -> Offer {
        let upstreams = self.host.servers().map(|(_, upstream)| upstream.clone());
        Offer::new(self.host.catalog.clone()).upstreams(upstreams).only_audiences(self.serving.audiences.clone())
    }

    /// Puts another in its place. What it leaves behind is ended when the calls have had their time.
    pub(super) fn replace_by(&mut self, next: Self) {
        let gone = self.host.servers_not_in(&next.host);
        self.retired.extend(gone.iter().cloned());
        let grace = self.serving.options().limits.stop_grace;
        if !gone.is_empty() {
            tokio::spawn(async move {
                tokio::time::sleep(grace).await;
                retire(&gone).await;
            });
        }
        self.host = next.host;
        self.serving = next.serving;
    }

    /// Ends every server, also those that were left behind.
    pub(super) async fn close(&self) {
        tokio::join!(retire(&self.retired), self.host.close());
    }

    /// What people are told of what is offered, but for what clients see of it.
    pub(super) fn news(&mut self, how: &str) -> News {
        News {
            how: how.to_owned(),
            of_sources: self.of_sources(),
            errors: self.host.findings.iter().filter(|finding| finding.severity == Severity::Error).count(),
            catalog: self.host.catalog.clone(),
        }
    }

    /// What is not there of what sources have, in lines: tools that nobody can use are told once.
    fn of_sources(&mut self) -> String {
        let mut words = String::new();
        for source in &self.host.sources {
            let new: Vec<_> = source.skipped.iter().filter(|(name, _)| self.told.insert((source.name.clone(), name.clone()))).collect();
            for (name, why) in new.iter().take(UNUSABLE_TOLD_MAX) {
                let name = cut(&one_line(name), NAME_COLUMNS_MAX);
                words.push_str(&format!("  `{name}` of `{}` is left out: {}\n", one_line(&source.name), one_line(&limited(why))));
            }
            if let more @ 1.. = new.len().saturating_sub(UNUSABLE_TOLD_MAX) {
                words.push_str(&format!("  {more} more of `{}` left out; `toolwright list` says why\n", one_line(&source.name)));
            }
            if let Some(why) = &source.why {
                words.push_str(&format!("  the source `{}` is not there: {}\n", one_line(&source.name), one_line(&why.message)));
            }
        }
        words
    }
}

/// What people are told of what is offered.
pub(super) struct News {
    how: String,
    of_sources: String,
    errors: usize,
    catalog: Catalog,
}

impl News {
    /// Tells it: on standard error, since standard output is the client's. What clients see is made by that, unless it is there.
    pub(super) fn tell(&self, output: Output, server: &Server) {
        // The form of most clients; what is left out is the same in both.
        let surface = server.surface("", Generation::Sessions);
        if output.format == Format::Json {
            return;
        }
        let surface = surface.unwrap_or_else(|| {
            let (audience, profile) = (Audience::default(), Profile::default());
            Arc::new(Surface::build(&self.catalog, &audience, &profile, Generation::Sessions, usize::MAX))
        });
        let count = |count: usize, what: &str| format!("{count} {what}{}", if count == 1 { "" } else { "s" });
        let mut words = format!("serving {} {}\n", count(surface.tools().len(), "tool"), self.how);
        let mut reasons: BTreeMap<&str, usize> = BTreeMap::new();
        for left_out in surface.left_out().iter().filter(|left_out| !matches!(left_out.cause, "hidden" | "not_seen")) {
            *reasons.entry(left_out.cause).or_default() += 1;
        }
        for (code, tools) in reasons {
            words.push_str(&format!("  {} left out: {code}; `toolwright list --as-clients` says more\n", count(tools, "tool")));
        }
        words.push_str(&self.of_sources);
        if self.errors > 0 {
            words.push_str(&format!("  {} in the configuration; `toolwright check` shows them\n", count(self.errors, "mistake")));
        }
        output.note(&words);
        // It is recorded with the first run that is kept, which need not wait for it.
        self.catalog.fingerprint();
    }
}

async fn retire(servers: &[Upstream]) {
    futures_util::future::join_all(servers.iter().map(Upstream::shutdown)).await;
}

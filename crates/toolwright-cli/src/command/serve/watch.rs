//! Whether what is offered is still what there is: files, locks, what servers say of themselves, and sources that were not there.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

use tokio::sync::{broadcast, watch};
use toolwright_mcp::upstream::{Changed, Upstream, UpstreamEvent};

use super::shop::Shop;
use crate::app::App;
use crate::style::one_line;

/// How often it is looked.
const PULSE: Duration = Duration::from_millis(250);

/// How often files are looked at, in pulses.
const PULSES_A_LOOK: u32 = 4;

/// How long what changes in bursts is left to settle.
const SETTLE: Duration = Duration::from_millis(100);

/// How often that is waited for at most.
const SETTLES_MAX: u32 = 20;

/// When a source that is not there is tried again: first, and at most.
const RETRY: (Duration, Duration) = (Duration::from_secs(5), Duration::from_secs(120));

/// What has changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Change {
    /// A file, or what a server says.
    Real,
    /// Perhaps nothing: a source that was not there is tried again.
    Hope,
}

impl Change {
    /// Whether people are told.
    pub(super) fn is_told(self) -> bool {
        self == Self::Real
    }
}

/// What a file looks like from outside.
type Stamp = Option<(SystemTime, u64)>;

/// What the files of a configuration look like. Taken before they are read, so that no change of them goes unseen.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Files(Vec<(PathBuf, Stamp)>);

impl Files {
    pub(super) fn now(app: &App) -> Self {
        Self(app.watched_files().into_iter().map(|path| (path.clone(), stamp(&path))).collect())
    }

    /// What people are told of locks that were there before and are not any more; nothing when all are.
    pub(super) fn locks_gone(&self, now: &Self) -> String {
        let there = |files: &Self, path: &PathBuf| files.0.iter().any(|(other, stamp)| other == path && stamp.is_some());
        let locks = self.0.iter().map(|(path, _)| path).filter(|path| path.file_name().is_some_and(|name| name == "toolwright.lock"));
        let gone = locks.filter(|path| there(self, path) && !there(now, path));
        let told = gone.map(|path| {
            let path = one_line(&path.display().to_string());
            format!("`{path}` is gone: what its servers say is compared with nothing any more, and all of it is served; `toolwright lock` keeps it again\n")
        });
        told.collect()
    }

    fn again(&self) -> Self {
        Self(self.0.iter().map(|(path, _)| (path.clone(), stamp(path))).collect())
    }
}

/// What is looked at.
pub(super) struct Watch {
    files: Files,
    servers: Vec<Watched>,
    pulses: u32,
    /// Sources that are not there, and when they are tried again.
    missing: Vec<String>,
    retry: Duration,
    retry_at: Option<Instant>,
}

struct Watched {
    upstream: Upstream,
    drift: watch::Receiver<Arc<Vec<Changed>>>,
    events: broadcast::Receiver<UpstreamEvent>,
}

impl Watch {
    /// Over what is offered now.
    pub(super) fn over(shop: &Shop, files: Files) -> Self {
        let mut watch =
            Self { files: Files::default(), servers: Vec::new(), pulses: 0, missing: Vec::new(), retry: RETRY.0, retry_at: None };
        watch.look_again(shop, files);
        watch
    }

    /// From here on, over what is offered now, which was read from these files.
    pub(super) fn look_again(&mut self, shop: &Shop, files: Files) {
        self.files = files;
        // A server that goes on is looked at without a gap.
        let mut before = std::mem::take(&mut self.servers);
        for (_, upstream) in shop.host.servers() {
            let same = before.iter().position(|watched| watched.upstream.is_same(upstream));
            self.servers.push(match same {
                Some(at) => before.swap_remove(at),
                None => Watched { upstream: upstream.clone(), drift: upstream.drift(), events: upstream.events() },
            });
        }
        let missing: Vec<String> =
            shop.host.sources.iter().filter(|source| source.why.is_some()).map(|source| source.name.clone()).collect();
        let kinds = ["mcp-stdio", "mcp-http"];
        let can_come = shop.host.sources.iter().any(|source| source.why.is_some() && kinds.contains(&source.kind.as_str()));
        self.retry = if missing == self.missing { (self.retry * 2).min(RETRY.1) } else { RETRY.0 };
        self.retry_at = can_come.then(|| Instant::now() + self.retry);
        self.missing = missing;
    }

    /// Ends when something is not as it was.
    pub(super) async fn change(&mut self) -> Change {
        loop {
            tokio::time::sleep(PULSE).await;
            self.pulses = self.pulses.wrapping_add(1);
            let files = self.pulses.is_multiple_of(PULSES_A_LOOK) && self.files.again() != self.files;
            // All of them are asked, so that what one says is not forgotten when another one changed as well.
            let mut servers = false;
            for server in &mut self.servers {
                servers |= server.changed().await;
            }
            if files || servers {
                self.settled().await;
                return Change::Real;
            }
            if self.retry_at.is_some_and(|at| at <= Instant::now()) {
                return Change::Hope;
            }
        }
    }
}

impl Watch {
    /// Who writes a file may not have come to its end.
    async fn settled(&self) {
        let mut seen = self.files.again();
        for _ in 0..SETTLES_MAX {
            tokio::time::sleep(SETTLE).await;
            let now = seen.again();
            if now == seen {
                return;
            }
            seen = now;
        }
    }
}

impl Watched {
    async fn changed(&mut self) -> bool {
        let mut listed = false;
        loop {
            match self.events.try_recv() {
                Ok(UpstreamEvent::ListChanged("tools")) | Err(broadcast::error::TryRecvError::Lagged(_)) => listed = true,
                Ok(_) => {}
                Err(broadcast::error::TryRecvError::Empty | broadcast::error::TryRecvError::Closed) => break,
            }
        }
        if listed {
            // What was accepted of it is held against what it says now; that it cannot say it is told by its next call.
            let _ = self.upstream.compare().await;
        }
        let drifted = self.drift.has_changed().unwrap_or(false);
        self.drift.mark_unchanged();
        listed || drifted
    }
}

fn stamp(path: &std::path::Path) -> Stamp {
    let data = std::fs::metadata(path).ok()?;
    Some((data.modified().ok()?, data.len()))
}

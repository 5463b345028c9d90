//! News of servers of the newest generation: they are told only to whoever listens, so one request listens as long as the
//! connection lives.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::Duration;

use tokio::sync::Notify;
use tokio::time::{Instant, sleep};
use toolwright::{Text, Value};

use super::connect::Connection;
use super::exchange::{Bounds, Outcome, Way, wait};
use super::headers;
use super::pass::UpstreamEvent;
use super::supervise::Shared;
use super::terms;
use crate::wire::{self, RawReply};

/// Wait before listening again; doubles while it does not last.
const AGAIN_FIRST: Duration = Duration::from_millis(500);
/// Longest wait of that kind.
const AGAIN_MAX: Duration = Duration::from_secs(60);
/// A stream that lasted so long was a good one.
const LASTED: Duration = Duration::from_secs(10);

/// What is listened for beside changed lists.
#[derive(Debug, Default)]
pub(crate) struct Watched {
    uris: Mutex<BTreeSet<Text>>,
    changed: Notify,
    /// Somebody wants to hear of changed lists.
    wanted: AtomicBool,
}

impl Watched {
    pub(crate) fn want(&self) {
        if !self.wanted.swap(true, Ordering::AcqRel) {
            self.changed.notify_one();
        }
    }

    /// Watches a resource, or does so no longer.
    pub(crate) fn watch(&self, uri: &Text, watch: bool) {
        let mut uris = self.uris.lock().unwrap_or_else(PoisonError::into_inner);
        let other = if watch { uris.insert(uri.clone()) } else { uris.remove(uri) };
        drop(uris);
        if other {
            self.changed.notify_one();
        }
    }

    /// What to listen for, of what the server can tell; nothing when it can tell nothing that is wanted.
    fn filter(&self, capabilities: &Value) -> Option<Value> {
        let can = |kind: &str, what: &str| capabilities.pointer(&format!("/{kind}/{what}")).and_then(Value::as_bool) == Some(true);
        let mut filter: Vec<(&str, Value)> = Vec::new();
        if self.wanted.load(Ordering::Acquire) {
            let lists = [("tools", "toolsListChanged"), ("prompts", "promptsListChanged"), ("resources", "resourcesListChanged")];
            filter.extend(lists.iter().filter(|(kind, _)| can(kind, "listChanged")).map(|(_, name)| (*name, Value::from(true))));
        }
        let uris = self.uris.lock().unwrap_or_else(PoisonError::into_inner);
        if !uris.is_empty() {
            filter.push(("resourceSubscriptions", Value::array(uris.iter().cloned())));
        }
        (!filter.is_empty()).then(|| Value::object(filter))
    }
}

/// Listens on a connection of the newest generation until it ends; once for each.
pub(crate) fn begin(shared: &Arc<Shared>, connection: &Arc<Connection>) {
    if !connection.terms.sessionless || connection.listens.swap(true, Ordering::AcqRel) {
        return;
    }
    let listener = Listener {
        shared: Arc::downgrade(shared),
        // The connection itself must not be kept: with its last user it ends.
        line: connection.line.clone(),
        inflight: connection.inbox.inflight.clone(),
        capabilities: connection.terms.capabilities.clone(),
        meta: terms::meta(shared, connection, None),
    };
    let ended = connection.ended.clone();
    tokio::spawn(async move {
        tokio::select! {
            () = ended.cancelled() => {}
            () = listener.run() => {}
        }
    });
}

struct Listener {
    shared: Weak<Shared>,
    line: super::line::Line,
    inflight: Arc<super::inflight::InFlight>,
    capabilities: Value,
    meta: Vec<(&'static str, Value)>,
}

impl Listener {
    async fn run(&self) {
        let mut pause = AGAIN_FIRST;
        loop {
            let Some(watched) = self.shared.upgrade().map(|shared| shared.watched.clone()) else { return };
            let Some(filter) = watched.filter(&self.capabilities) else {
                watched.changed.notified().await;
                continue;
            };
            let since = Instant::now();
            let outcome = tokio::select! {
                // Another filter is another stream.
                () = watched.changed.notified() => continue,
                outcome = self.listen(&filter) => outcome,
            };
            match outcome {
                Outcome::Answered(RawReply::Error(_)) => return,
                Outcome::Gone | Outcome::NotSent => return,
                _ => {}
            }
            pause = if since.elapsed() >= LASTED { AGAIN_FIRST } else { pause.saturating_mul(2).min(AGAIN_MAX) };
            sleep(pause).await;
            // What changed meanwhile was not heard.
            if let Some(shared) = self.shared.upgrade() {
                for (kind, name) in
                    [("tools", "toolsListChanged"), ("prompts", "promptsListChanged"), ("resources", "resourcesListChanged")]
                {
                    if filter.get(name).is_some() {
                        shared.board.tell(UpstreamEvent::ListChanged(kind));
                    }
                }
            }
        }
    }

    async fn listen(&self, filter: &Value) -> Outcome {
        const METHOD: &str = "subscriptions/listen";
        let way = Way {
            line: &self.line,
            inflight: &self.inflight,
            run: None,
            bounds: Bounds { idle: None, total: None },
            headers: headers::of_request(METHOD, None, None, &[]),
        };
        let text = |id| wire::request(id, METHOD, &[("notifications", filter)], &self.meta);
        wait(way, text, std::future::pending(), &mut |_| {}).await
    }
}

//! What a host has accepted of a server's tools, and what the server says now: compared when it starts, before its first call.
//!
//! A tool that differs is not called. The host says what counts as a difference; this file says when it is asked.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, PoisonError, RwLock};

use tokio::sync::{Mutex, watch};
use tokio::time::Instant;
use toolwright::{Text, Value};

use super::connect::Connection;
use super::error::{CATALOG_CHANGED, TOOL_GONE};
use super::exchange::{Happened, Lost, cancelled_error};
use super::supervise::Shared;
use super::{Upstream, UpstreamError, listing};

type Compare = dyn Fn(&[Value]) -> Vec<Changed> + Send + Sync;

/// What a host expects of a server's tools: a function from what the server lists to what of it is not as expected.
///
/// ```
/// use toolwright::{Value, json};
/// use toolwright_mcp::upstream::{Changed, Pins};
/// let pins = Pins::new(|listed: &[Value]| {
///     let others = listed.iter().filter(|tool| tool.get("description") != Some(&json!("Says hello")));
///     others.filter_map(|tool| tool.get("name")?.as_str().map(|name| Changed::differs(name, "other words"))).collect()
/// });
/// let changed = pins.compare(&[json!({ "name": "greet", "description": "Deletes everything" })]);
/// assert_eq!(changed[0].tool, "greet");
/// ```
#[derive(Clone)]
pub struct Pins(Arc<Compare>);

impl Pins {
    /// What the function gives is withheld; a tool that it does not name may be called.
    pub fn new(compare: impl Fn(&[Value]) -> Vec<Changed> + Send + Sync + 'static) -> Self {
        Self(Arc::new(compare))
    }

    /// What of these tools, as a server lists them, is not as expected.
    pub fn compare(&self, listed: &[Value]) -> Vec<Changed> {
        (self.0)(listed)
    }
}

impl std::fmt::Debug for Pins {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Pins")
    }
}

/// A tool that is not as the host expects it.
///
/// ```
/// use toolwright_mcp::upstream::Changed;
/// assert!(!Changed::differs("send", "its description is another one").gone);
/// assert!(Changed::gone("send").gone);
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Changed {
    /// Its name on the server.
    pub tool: Text,
    /// What is different, in words.
    pub why: String,
    /// The server does not offer it any more.
    pub gone: bool,
}

impl Changed {
    /// The server says something else about it.
    pub fn differs(tool: impl Into<Text>, why: impl Into<String>) -> Self {
        Self { tool: tool.into(), why: why.into(), gone: false }
    }

    /// The server does not offer it any more.
    pub fn gone(tool: impl Into<Text>) -> Self {
        Self { tool: tool.into(), why: "the server does not offer it any more".to_owned(), gone: true }
    }
}

/// What was found when a connection was compared.
#[derive(Default)]
pub(crate) struct Compared {
    /// One more than the number of announced changes of the list when it was compared last; 0 = never.
    at: AtomicU64,
    found: RwLock<Found>,
    turn: Mutex<()>,
}

#[derive(Default)]
struct Found {
    changed: Arc<Vec<Changed>>,
    when: Option<Instant>,
}

impl Compared {
    fn found(&self, shared: &Shared, over_http: bool) -> Option<Arc<Vec<Changed>>> {
        if self.at.load(Ordering::Acquire) != shared.board.facts().list_changes.saturating_add(1) {
            return None;
        }
        let found = self.found.read().unwrap_or_else(PoisonError::into_inner);
        // A process says the same until it announces something else; who answers behind a URL may be another one tomorrow.
        let old = over_http && found.when.is_none_or(|when| when.elapsed() > shared.spec.limits.compared_for);
        (!old).then(|| found.changed.clone())
    }
}

/// Whether the tool may be called over this connection: compares first when that was not done, or not lately.
///
/// # Errors
/// When it differs, when the server cannot say what it offers, and when the call is cancelled meanwhile. Nothing was sent.
pub(crate) async fn check(
    shared: &Arc<Shared>,
    connection: &Arc<Connection>,
    tool: &Text,
    cancelled: impl Future<Output = ()> + Send,
) -> Result<(), Lost> {
    if shared.spec.pins.is_none() {
        return Ok(());
    }
    let changed = match connection.compared.found(shared, connection.process.is_none()) {
        Some(changed) => changed,
        None => tokio::select! {
            biased;
            () = cancelled => return Err(Lost { happened: Happened::No, ..cancelled_error(tool) }),
            compared = compared(shared, connection) => compared.map_err(|error| Lost {
                code: error.code,
                message: error.message,
                help: error.help,
                happened: Happened::No,
            })?,
        },
    };
    match changed.iter().find(|changed| changed.tool == *tool) {
        None => Ok(()),
        Some(changed) => Err(withheld(shared, changed)),
    }
}

fn withheld(shared: &Shared, changed: &Changed) -> Lost {
    let (server, tool) = (&shared.spec.name, &changed.tool);
    let (code, message) = match changed.gone {
        true => (TOOL_GONE, format!("server `{server}` does not offer `{tool}` any more")),
        false => (CATALOG_CHANGED, format!("`{tool}` of server `{server}` is withheld: {}", changed.why)),
    };
    let help = "nothing was sent; `toolwright diff` shows what is different, `toolwright lock` accepts it";
    Lost { code, message: shared.board.redactor.mask(&message), help: Some(help.to_owned()), happened: Happened::No }
}

/// Compares what the server lists over this connection with what is expected; once, however many wait for it.
async fn compared(shared: &Arc<Shared>, connection: &Arc<Connection>) -> Result<Arc<Vec<Changed>>, UpstreamError> {
    let Some(pins) = &shared.spec.pins else { return Ok(Arc::default()) };
    let state = &connection.compared;
    let _turn = state.turn.lock().await;
    if let Some(changed) = state.found(shared, connection.process.is_none()) {
        return Ok(changed);
    }
    // A change that is announced while the list is read counts as one after it.
    let at = shared.board.facts().list_changes.saturating_add(1);
    let listed = listing::raw(shared).await?;
    let changed = Arc::new(pins.compare(&listed));
    *state.found.write().unwrap_or_else(PoisonError::into_inner) = Found { changed: changed.clone(), when: Some(Instant::now()) };
    state.at.store(at, Ordering::Release);
    shared.drift.send_if_modified(|drift| {
        let other = *drift != changed;
        *drift = changed.clone();
        other
    });
    Ok(changed)
}

impl Upstream {
    /// What of the server's tools is not as [`ServerSpec::pins`](super::ServerSpec::pins) say. Starts it if need be; costs
    /// next to nothing when it was compared before and has announced no change since.
    ///
    /// # Errors
    /// When it cannot be started, or does not say what it offers.
    pub async fn compare(&self) -> Result<Arc<Vec<Changed>>, UpstreamError> {
        let shared = &self.shared;
        if shared.spec.pins.is_none() {
            return Ok(Arc::default());
        }
        let connection = shared.connection().await?;
        match connection.compared.found(shared, connection.process.is_none()) {
            Some(changed) => Ok(changed),
            None => compared(shared, &connection).await,
        }
    }

    /// Whether something is expected of its tools.
    pub(crate) fn is_pinned(&self) -> bool {
        self.shared.spec.pins.is_some()
    }

    /// The text without what must not be shown.
    pub(crate) fn masked(&self, text: &str) -> String {
        self.shared.board.redactor.mask(text)
    }

    /// What was found last, and the news of it. Never starts the server.
    pub fn drift(&self) -> watch::Receiver<Arc<Vec<Changed>>> {
        self.shared.drift.subscribe()
    }
}

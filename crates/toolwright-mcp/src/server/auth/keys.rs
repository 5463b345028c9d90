//! Where the keys of an authorization server come from: fetched when they are needed, kept, and fetched anew when a token names one
//! that is not among them, but never in a hurry.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use arc_swap::ArcSwapOption;
use futures_util::StreamExt as _;
use tokio::sync::Mutex;

use super::jwk::{Algorithm, KeySet};

/// Bytes of a set of keys.
const KEYS_BYTES_MAX: usize = 256 * 1024;
/// How long fetching may take.
const FETCH_TIMEOUT: Duration = Duration::from_secs(10);
/// How long one waits before one asks again, whatever tokens name.
const FETCH_PAUSE: Duration = Duration::from_secs(30);
/// The same after a failure, when there are no keys at all.
const FIRST_FETCH_PAUSE: Duration = Duration::from_secs(2);
/// After how long keys are fetched again although they do.
const KEYS_FRESH: Duration = Duration::from_secs(60 * 60);
/// After how long keys that could not be fetched again count no more.
const KEYS_KEPT: Duration = Duration::from_secs(24 * 60 * 60);

/// Where the keys of an authorization server are (a JSON Web Key Set).
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum KeySource {
    /// At an address; redirects are not followed.
    Url(String),
    /// In a file.
    File(PathBuf),
    /// Here.
    Text(String),
}

/// The keys, as they are now.
pub(super) struct Keys {
    source: KeySource,
    held: ArcSwapOption<Held>,
    /// When they were last asked for; held while they are fetched, so that many tokens make one request.
    asked: Mutex<Option<Instant>>,
}

struct Held {
    set: Arc<KeySet>,
    since: Instant,
}

/// There is no key to check a token with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum NoKey {
    /// The keys cannot be read now.
    Unavailable,
}

impl Keys {
    pub(super) fn new(source: KeySource) -> Self {
        Self { source, held: ArcSwapOption::empty(), asked: Mutex::new(None) }
    }

    /// The newest set; fetched first when there is none, when it is old, or when it lacks the key that a token names.
    ///
    /// # Errors
    /// When no set can be had that is young enough.
    pub(super) async fn with(&self, id: Option<&str>, algorithm: Algorithm) -> Result<Arc<KeySet>, NoKey> {
        if let Some(held) = self.held.load_full()
            && held.since.elapsed() < KEYS_FRESH
            && held.set.find(id, algorithm).is_some()
        {
            return Ok(held.set.clone());
        }
        self.refresh().await;
        match self.held.load_full() {
            Some(held) if held.since.elapsed() < KEYS_KEPT => Ok(held.set.clone()),
            _ => Err(NoKey::Unavailable),
        }
    }

    async fn refresh(&self) {
        let mut asked = self.asked.lock().await;
        let pause = if self.held.load().is_some() { FETCH_PAUSE } else { FIRST_FETCH_PAUSE };
        if asked.is_some_and(|at| at.elapsed() < pause) {
            return;
        }
        let got = self.fetch().await.and_then(|text| KeySet::read(&text));
        *asked = Some(Instant::now());
        match got {
            Ok(set) => self.held.store(Some(Arc::new(Held { set: Arc::new(set), since: Instant::now() }))),
            Err(why) => tracing::warn!(%why, "the keys of the authorization server cannot be read; tokens that need them are refused"),
        }
    }

    async fn fetch(&self) -> Result<Vec<u8>, String> {
        match &self.source {
            KeySource::Text(text) => Ok(text.clone().into_bytes()),
            KeySource::File(path) => {
                let path = path.clone();
                let shown = path.display().to_string();
                let read = tokio::task::spawn_blocking(move || std::fs::read(path)).await;
                read.map_err(|_| "reading was cut off".to_owned())?.map_err(|error| format!("cannot read `{shown}`: {error}"))
            }
            KeySource::Url(url) => tokio::time::timeout(FETCH_TIMEOUT, download(url))
                .await
                .map_err(|_| format!("no answer in {} seconds", FETCH_TIMEOUT.as_secs()))?,
        }
    }
}

async fn download(url: &str) -> Result<Vec<u8>, String> {
    // Another part of the process may have named a provider already; then that one is used.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let client = reqwest::Client::builder().redirect(reqwest::redirect::Policy::none()).build();
    let quiet = |error: reqwest::Error| error.without_url().to_string();
    let reply = client.map_err(quiet)?.get(url).send().await.map_err(quiet)?;
    if !reply.status().is_success() {
        return Err(format!("the answer was {}", reply.status()));
    }
    let mut body = reply.bytes_stream();
    let mut bytes = Vec::new();
    while let Some(chunk) = body.next().await {
        bytes.extend_from_slice(&chunk.map_err(quiet)?);
        if bytes.len() > KEYS_BYTES_MAX {
            return Err(format!("they are longer than {KEYS_BYTES_MAX} bytes"));
        }
    }
    Ok(bytes)
}

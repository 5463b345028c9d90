//! The sessions of older generations: found by a random id and by whoever began them, ended by their client, by disuse or by us.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, PoisonError, RwLock};
use std::time::{Duration, Instant};

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use ring::rand::{SecureRandom, SystemRandom};

use super::exchange::Standing;
use super::mailbox::{Common, Mailbox, Rules};
use crate::server::ServerLimits;
use crate::server::caller::Caller;
use crate::server::client::{Client, ClientKind};
use crate::server::engine::Engine;

/// Random bytes of a session's id.
const ID_BYTES: usize = 32;

/// One session. Its id is a credential: it is never logged.
pub(super) struct Session {
    pub(super) client: Arc<Client>,
    pub(super) mailbox: Arc<Mailbox>,
    /// The stream of messages that belong to no request.
    pub(super) standing: u64,
    /// Milliseconds from the beginning of the endpoint to the last use.
    used: AtomicU64,
    /// Requests and streams that are open.
    open: AtomicUsize,
}

/// All of them.
pub(super) struct Sessions {
    map: RwLock<HashMap<String, Arc<Session>>>,
    random: SystemRandom,
    began: Instant,
    limits: ServerLimits,
    common: Arc<Common>,
}

/// Keeps a session in use.
pub(super) struct InUse {
    session: Arc<Session>,
    sessions: Arc<Sessions>,
}

impl Sessions {
    pub(super) fn new(limits: ServerLimits, common: Arc<Common>) -> Arc<Self> {
        Arc::new(Self { map: RwLock::default(), random: SystemRandom::new(), began: Instant::now(), limits, common })
    }

    /// Makes a session that nobody can find yet.
    pub(super) fn begin(&self, engine: &Arc<Engine>, caller: Caller) -> Arc<Session> {
        let mailbox = Mailbox::new(Rules { replay: true, bytes_max: self.limits.replay_bytes_max }, self.common.clone());
        let standing = mailbox.open();
        let aside = Arc::new(Standing { mailbox: mailbox.clone(), stream: standing });
        let client = engine.client(ClientKind::Session, caller, aside);
        Arc::new(Session { client, mailbox, standing, used: AtomicU64::new(self.now()), open: AtomicUsize::new(0) })
    }

    /// Whether one more fits, once those that nobody uses are gone.
    pub(super) fn has_room(&self, engine: &Arc<Engine>) -> bool {
        if self.len() >= self.limits.sessions_max {
            self.sweep(engine);
        }
        self.len() < self.limits.sessions_max
    }

    /// Gives a session its id. `None`: there are too many, or no randomness can be had.
    pub(super) fn add(&self, session: &Arc<Session>) -> Option<String> {
        let mut bytes = [0; ID_BYTES];
        self.random.fill(&mut bytes).ok()?;
        let id = URL_SAFE_NO_PAD.encode(bytes);
        let mut map = self.map.write().unwrap_or_else(PoisonError::into_inner);
        if map.len() >= self.limits.sessions_max {
            return None;
        }
        map.insert(id.clone(), session.clone());
        Some(id)
    }

    /// The session of that id, if it is this caller's.
    pub(super) fn find(&self, id: &str, caller: &Caller) -> Option<Arc<Session>> {
        let map = self.map.read().unwrap_or_else(PoisonError::into_inner);
        let session = map.get(id).filter(|session| session.client.caller == *caller)?;
        session.used.store(self.now(), Ordering::Relaxed);
        Some(session.clone())
    }

    /// Ends the session of that id, if it is this caller's.
    pub(super) fn end(&self, engine: &Arc<Engine>, id: &str, caller: &Caller) -> bool {
        if self.find(id, caller).is_none() {
            return false;
        }
        let gone = self.map.write().unwrap_or_else(PoisonError::into_inner).remove(id);
        gone.iter().for_each(|session| session.close(engine));
        gone.is_some()
    }

    /// Ends the sessions that nobody uses, and forgets streams that nobody came back to.
    pub(super) fn sweep(&self, engine: &Arc<Engine>) {
        let idle = u64::try_from(self.limits.session_idle.as_millis()).unwrap_or(u64::MAX);
        let now = self.now();
        let unused = |session: &Session| {
            session.open.load(Ordering::Relaxed) == 0
                && now.saturating_sub(session.used.load(Ordering::Relaxed)) >= idle
                && session.client.in_flight().is_empty()
        };
        let mut gone = Vec::new();
        {
            let mut map = self.map.write().unwrap_or_else(PoisonError::into_inner);
            map.retain(|_, session| {
                let goes = unused(session);
                if goes {
                    gone.push(session.clone());
                }
                !goes
            });
            map.values().for_each(|session| session.mailbox.forget(self.limits.call_kept));
        }
        gone.iter().for_each(|session| session.close(engine));
    }

    /// How often to look for sessions that nobody uses.
    pub(super) fn sweep_every(&self) -> Duration {
        (self.limits.session_idle / 4).clamp(Duration::from_millis(100), Duration::from_secs(60))
    }

    /// Ends the streams that belong to no request, so that connections can close.
    pub(super) fn end_standing(&self) {
        for session in self.map.read().unwrap_or_else(PoisonError::into_inner).values() {
            session.mailbox.finish(session.standing);
        }
    }

    /// Ends all of them.
    pub(super) fn end_all(&self, engine: &Arc<Engine>) {
        let all = std::mem::take(&mut *self.map.write().unwrap_or_else(PoisonError::into_inner));
        all.values().for_each(|session| session.close(engine));
    }

    fn len(&self) -> usize {
        self.map.read().unwrap_or_else(PoisonError::into_inner).len()
    }

    fn now(&self) -> u64 {
        u64::try_from(self.began.elapsed().as_millis()).unwrap_or(u64::MAX)
    }
}

impl Session {
    fn close(&self, engine: &Arc<Engine>) {
        engine.left(&self.client);
        self.mailbox.close();
    }

    /// A session that never got an id.
    pub(super) fn discard(&self, engine: &Arc<Engine>) {
        self.close(engine);
    }
}

impl InUse {
    pub(super) fn new(session: Arc<Session>, sessions: Arc<Sessions>) -> Self {
        session.open.fetch_add(1, Ordering::Relaxed);
        Self { session, sessions }
    }
}

impl Drop for InUse {
    fn drop(&mut self) {
        self.session.used.store(self.sessions.now(), Ordering::Relaxed);
        self.session.open.fetch_sub(1, Ordering::Relaxed);
    }
}

//! The life of a server: started with the first use, started again after it went, left alone when it keeps failing.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, PoisonError, RwLock};
use std::time::Duration;

use tokio::sync::{Mutex, watch};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::connect::{Connection, open};
use super::error::{UNAVAILABLE, UpstreamError};
use super::listen::{self, Watched};
use super::pass::UpstreamEvent;
use super::pins::Changed;
use super::questions::Questions;
use super::secrets::Redactor;
use super::spec::{Era, ServerSpec};
use super::status::{Board, State};

/// Wait before the first start after a failure; doubles with each further one.
const BACKOFF_FIRST: Duration = Duration::from_millis(100);
/// Longest wait of that kind.
const BACKOFF_MAX: Duration = Duration::from_secs(5);
/// How long a server that failed too often is left alone.
const BROKEN_FOR: Duration = Duration::from_secs(30);

/// What all handles and tools of one server share. Dropping the last one ends the server.
pub(crate) struct Shared {
    pub(crate) spec: ServerSpec,
    pub(crate) board: Arc<Board>,
    live: RwLock<Option<Arc<Connection>>>,
    life: Mutex<Life>,
    stopping: CancellationToken,
    /// Who is asked what the server asks.
    pub(crate) questions: Option<Arc<dyn Questions>>,
    /// What was found last when its tools were compared with those that the host expects.
    pub(crate) drift: watch::Sender<Arc<Vec<Changed>>>,
    /// What is listened for.
    pub(crate) watched: Arc<Watched>,
    /// Something failed since the last answer.
    failing: AtomicBool,
}

#[derive(Default)]
struct Life {
    /// Failed starts and lost connections since the last answered call.
    failures: u32,
    last_failure: Option<Instant>,
    /// What the last handshake settled, so that a restart need not probe again.
    era: Option<Era>,
}

impl Shared {
    pub(crate) fn new(spec: ServerSpec, questions: Option<Arc<dyn Questions>>) -> Self {
        let board = Board::new(Redactor::of(&spec), spec.limits.stderr_bytes_kept);
        Shared {
            spec,
            board: Arc::new(board),
            live: RwLock::default(),
            life: Mutex::default(),
            stopping: CancellationToken::new(),
            questions,
            drift: watch::Sender::default(),
            watched: Arc::default(),
            failing: AtomicBool::new(false),
        }
    }

    /// The live connection, if there is one now.
    pub(crate) fn live(&self) -> Option<Arc<Connection>> {
        let live = self.live.read().unwrap_or_else(PoisonError::into_inner);
        live.as_ref().filter(|connection| connection.is_live()).cloned()
    }

    /// A live connection, started if need be. A start goes on when its caller leaves: others may wait for it.
    pub(crate) async fn connection(self: &Arc<Self>) -> Result<Arc<Connection>, UpstreamError> {
        if let Some(connection) = self.live() {
            return Ok(connection);
        }
        let shared = self.clone();
        let start = tokio::spawn(async move {
            tokio::select! {
                biased;
                () = shared.stopping.cancelled() => Err(shared.unavailable("it was shut down")),
                started = shared.start() => started,
            }
        });
        start.await.unwrap_or_else(|_| Err(self.unavailable("its start was abandoned")))
    }

    async fn start(self: &Arc<Self>) -> Result<Arc<Connection>, UpstreamError> {
        let mut life = self.life.lock().await;
        if let Some(connection) = self.live() {
            return Ok(connection);
        }
        if let Some(lost) = self.take() {
            self.failed(&mut life);
            lost.close(self.spec.shutdown_grace).await;
        }
        self.wait_turn(&life).await?;
        self.board.facts().state = Some(State::Starting);
        let era = life.era.unwrap_or(self.spec.era);
        match open(&self.spec, &self.board, self.questions.as_ref(), era).await {
            Ok(opened) => {
                life.era = Some(opened.era).filter(|era| *era != Era::Auto);
                Ok(self.started(Arc::new(opened.connection)))
            }
            Err(error) => {
                self.failed(&mut life);
                // What was remembered may be what fails now.
                life.era = None;
                let mut facts = self.board.facts();
                facts.state = Some(State::Exited);
                facts.pid = None;
                facts.last_error = Some(error.message.clone());
                Err(error)
            }
        }
    }

    fn started(self: &Arc<Self>, connection: Arc<Connection>) -> Arc<Connection> {
        let mut facts = self.board.facts();
        facts.state = Some(State::Ready);
        facts.starts = facts.starts.saturating_add(1);
        facts.last_error = None;
        drop(facts);
        *self.live.write().unwrap_or_else(PoisonError::into_inner) = Some(connection.clone());
        listen::begin(self, &connection);
        self.board.tell(UpstreamEvent::Started);
        connection
    }

    /// Waits out the time after a failure, or refuses when there were too many.
    async fn wait_turn(&self, life: &Life) -> Result<(), UpstreamError> {
        let Some(last) = life.last_failure.filter(|_| life.failures > 0) else { return Ok(()) };
        if life.failures >= self.spec.limits.failures_max {
            let left = (last + BROKEN_FOR).saturating_duration_since(Instant::now());
            if !left.is_zero() {
                self.board.facts().state = Some(State::Broken);
                let why = format!("it failed {} times in a row and is tried again in {} s", life.failures, left.as_secs() + 1);
                return Err(self.unavailable(&why));
            }
        }
        let doubled = BACKOFF_FIRST.saturating_mul(2_u32.saturating_pow(life.failures.saturating_sub(1)));
        tokio::time::sleep_until(last + doubled.min(BACKOFF_MAX)).await;
        Ok(())
    }

    pub(crate) fn unavailable(&self, why: &str) -> UpstreamError {
        let last = self.board.facts().last_error.clone();
        let last = last.map(|last| format!("; the last time: {last}")).unwrap_or_default();
        let message = format!("server `{}` is not available: {why}{last}", self.spec.name);
        UpstreamError::new(UNAVAILABLE, &self.spec, message)
    }

    /// An answer came: the server works.
    pub(crate) fn answered(&self) {
        if self.failing.load(Ordering::Acquire)
            && self.failing.swap(false, Ordering::AcqRel)
            && let Ok(mut life) = self.life.try_lock()
        {
            life.failures = 0;
            let mut facts = self.board.facts();
            facts.failures = 0;
            facts.retry_at = None;
        }
    }

    fn failed(&self, life: &mut Life) {
        life.failures = life.failures.saturating_add(1);
        life.last_failure = Some(Instant::now());
        self.failing.store(true, Ordering::Release);
        let mut facts = self.board.facts();
        facts.failures = life.failures;
        facts.retry_at = (life.failures >= self.spec.limits.failures_max).then(|| Instant::now() + BROKEN_FOR);
    }

    fn take(&self) -> Option<Arc<Connection>> {
        self.live.write().unwrap_or_else(PoisonError::into_inner).take()
    }

    /// Gives up a connection whose session the server does not know any more; the next call opens another one.
    pub(crate) fn forget(&self, connection: &Arc<Connection>) {
        let mut live = self.live.write().unwrap_or_else(PoisonError::into_inner);
        if live.as_ref().is_some_and(|now| Arc::ptr_eq(now, connection)) {
            *live = None;
        }
    }

    /// Ends the server for good.
    pub(crate) async fn shutdown(&self) {
        // Ends a start under way, which then lets go of this.
        self.stopping.cancel();
        drop(self.life.lock().await);
        if let Some(connection) = self.take() {
            connection.close(self.spec.shutdown_grace).await;
        }
        self.board.children_gone().await;
        let mut facts = self.board.facts();
        facts.state = Some(State::Stopped);
        facts.pid = None;
    }
}

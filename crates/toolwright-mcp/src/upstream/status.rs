//! What can be told about a server at any moment, collected from the tasks that serve it.

use std::collections::VecDeque;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::{broadcast, watch};
use tokio::time::Instant;
use toolwright::{Text, Value};

use super::pass::UpstreamEvent;
use super::secrets::Redactor;
use super::spec::Era;

/// Characters of a noise line that are kept for the status.
const NOISE_CHARS_KEPT: usize = 200;
/// News that a slow listener may have waiting.
const EVENTS: usize = 256;

/// Where a server is in its life.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum State {
    /// Not started yet: servers start with the first call or listing.
    Idle,
    /// Its process or connection is being set up.
    Starting,
    /// It answers.
    Ready,
    /// It has gone; the next call starts it again.
    Exited,
    /// It failed too often in a row and is left alone for a while.
    Broken,
    /// It was shut down by the host.
    Stopped,
}

impl State {
    /// The word for this state.
    pub fn as_str(self) -> &'static str {
        match self {
            State::Idle => "idle",
            State::Starting => "starting",
            State::Ready => "ready",
            State::Exited => "exited",
            State::Broken => "broken",
            State::Stopped => "stopped",
        }
    }
}

/// A snapshot of one server. No field ever holds a configured secret.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Status {
    /// The server's name in the host's configuration.
    pub name: Text,
    /// Where it is in its life.
    pub state: State,
    /// The process id of a running stdio server (of its guard, when it has one).
    pub pid: Option<u32>,
    /// Lines on stdout that were no messages, since the first start.
    pub noise_lines: u64,
    /// The first of them, cut to a readable length.
    pub first_noise: Option<String>,
    /// The newest part of what it wrote to stderr.
    pub stderr_tail: String,
    /// How often it was started again after the first time.
    pub restarts: u64,
    /// The protocol version in use.
    pub protocol_version: Option<String>,
    /// What the server calls itself, with its version.
    pub server_version: Option<String>,
    /// Why the last start or connection failed.
    pub last_error: Option<String>,
    /// How often the server announced a changed tool list.
    pub list_changes: u64,
    /// Failed starts and lost connections in a row; with [`Limits::failures_max`](super::Limits::failures_max) of them it is
    /// left alone for a while.
    pub failures: u32,
    /// How long it is still left alone, when it is.
    pub retry_in: Option<Duration>,
    /// The generation of the protocol that it speaks, once that is known.
    pub era: Option<Era>,
}

#[derive(Debug, Default)]
pub(crate) struct Facts {
    pub(crate) state: Option<State>,
    pub(crate) pid: Option<u32>,
    pub(crate) noise_lines: u64,
    pub(crate) first_noise: Option<String>,
    pub(crate) starts: u64,
    pub(crate) protocol_version: Option<String>,
    pub(crate) server_version: Option<String>,
    pub(crate) last_error: Option<String>,
    pub(crate) list_changes: u64,
    pub(crate) failures: u32,
    /// When it is tried again.
    pub(crate) retry_at: Option<Instant>,
    pub(crate) era: Option<Era>,
    pub(crate) capabilities: Option<Value>,
}

/// The one place the tasks of a server write to.
#[derive(Debug)]
pub(crate) struct Board {
    pub(crate) redactor: Redactor,
    pub(crate) stderr: Ring,
    facts: Mutex<Facts>,
    children: Mutex<Vec<watch::Receiver<bool>>>,
    pub(crate) events: broadcast::Sender<UpstreamEvent>,
}

impl Board {
    pub(crate) fn new(redactor: Redactor, stderr_bytes_kept: usize) -> Self {
        Board {
            redactor,
            stderr: Ring::new(stderr_bytes_kept),
            facts: Mutex::default(),
            children: Mutex::default(),
            events: broadcast::Sender::new(EVENTS),
        }
    }

    pub(crate) fn facts(&self) -> MutexGuard<'_, Facts> {
        self.facts.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Tells whoever listens.
    pub(crate) fn tell(&self, event: UpstreamEvent) {
        let _ = self.events.send(event);
    }

    /// Remembers a child until nothing of it is left, which its channel tells.
    pub(crate) fn child(&self, gone: watch::Receiver<bool>) {
        let mut children = self.children.lock().unwrap_or_else(PoisonError::into_inner);
        children.retain(|child| !*child.borrow());
        children.push(gone);
    }

    /// Waits until nothing of any child is left; whoever holds one has asked for its end.
    pub(crate) async fn children_gone(&self) {
        let children = std::mem::take(&mut *self.children.lock().unwrap_or_else(PoisonError::into_inner));
        for mut child in children {
            let _ = child.wait_for(|gone| *gone).await;
        }
    }

    /// Counts a line that is no message, and keeps the first one.
    pub(crate) fn noise(&self, line: &str) {
        let mut facts = self.facts();
        facts.noise_lines = facts.noise_lines.saturating_add(1);
        if facts.first_noise.is_none() {
            // Masked before it is cut: half a secret would escape the mask.
            facts.first_noise = Some(self.redactor.mask(line).chars().take(NOISE_CHARS_KEPT).collect());
        }
    }

    /// All that is kept of stderr, masked.
    pub(crate) fn stderr_tail(&self) -> String {
        self.stderr.text(&self.redactor, false).trim().to_owned()
    }

    /// The newest `bytes_max` of what the process that runs or ran last wrote to stderr, masked.
    pub(crate) fn last_words(&self, bytes_max: usize) -> String {
        let whole = self.stderr.text(&self.redactor, true);
        let mut start = whole.len().saturating_sub(bytes_max);
        while !whole.is_char_boundary(start) {
            start += 1;
        }
        whole.get(start..).unwrap_or_default().trim().to_owned()
    }
}

/// The newest bytes of a stream.
#[derive(Debug)]
pub(crate) struct Ring {
    bytes_max: usize,
    kept: Mutex<Kept>,
}

#[derive(Debug, Default)]
struct Kept {
    bytes: VecDeque<u8>,
    /// Whether older bytes were lost.
    overflowed: bool,
    /// How many of the bytes came since the last mark.
    since_mark: usize,
}

impl Ring {
    fn new(bytes_max: usize) -> Self {
        Ring { bytes_max, kept: Mutex::default() }
    }

    fn kept(&self) -> MutexGuard<'_, Kept> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds bytes; the oldest give way.
    pub(crate) fn push(&self, chunk: &[u8]) {
        let mut kept = self.kept();
        let newest = chunk.get(chunk.len().saturating_sub(self.bytes_max)..).unwrap_or_default();
        let over = (kept.bytes.len() + newest.len()).saturating_sub(self.bytes_max);
        kept.overflowed |= over > 0 || newest.len() < chunk.len();
        let over = over.min(kept.bytes.len());
        kept.bytes.drain(..over);
        kept.bytes.extend(newest);
        kept.since_mark = (kept.since_mark + newest.len()).min(kept.bytes.len());
    }

    /// A new writer begins here.
    pub(crate) fn mark(&self) {
        self.kept().since_mark = 0;
    }

    /// The text kept, or its part since the mark, masked. When older bytes were lost, the first ones may be what is left
    /// of a secret and go as well, and with them a whole secret that begins among them.
    fn text(&self, redactor: &Redactor, since_mark: bool) -> String {
        let kept = self.kept();
        let (head, tail) = kept.bytes.as_slices();
        let whole = [head, tail].concat();
        let torn = if kept.overflowed { redactor.longest().min(whole.len()) } else { 0 };
        let marked = if since_mark { whole.len() - kept.since_mark } else { 0 };
        let start = redactor.outside(&whole, torn.max(marked));
        redactor.mask(&String::from_utf8_lossy(whole.get(start..).unwrap_or_default()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_ring_keeps_the_newest_bytes_only() {
        let (ring, plain) = (Ring::new(4), Redactor::default());
        ring.push(b"ab");
        ring.push(b"cde");
        assert_eq!(ring.text(&plain, false), "bcde");
        ring.push(b"0123456789");
        assert_eq!(ring.text(&plain, false), "6789");
        ring.mark();
        ring.push(b"z");
        assert_eq!((ring.text(&plain, false).as_str(), ring.text(&plain, true).as_str()), ("789z", "z"));
        assert_eq!(ring.text(&secret("xy"), false), "9z");
    }

    fn secret(text: &str) -> Redactor {
        let mut spec = crate::upstream::ServerSpec::stdio("s", "x", [""; 0]);
        spec.secrets.push(text.to_owned());
        Redactor::of(&spec)
    }

    #[test]
    fn no_part_of_a_secret_is_kept_wherever_it_is_cut() {
        let text = "S3CRET-T0KEN";
        for before in 0..60 {
            let board = Board::new(secret(text), 32);
            board.stderr.push(format!("{}{text} and the rest", ".".repeat(before)).as_bytes());
            board.noise(&format!("{}{text}", ".".repeat(NOISE_CHARS_KEPT - 30 + before)));
            for shown in [board.stderr_tail(), board.last_words(600), board.facts().first_noise.clone().unwrap()] {
                assert!(!["S3C", "CRET", "T0K", "KEN"].iter().any(|part| shown.contains(part)), "{before}: {shown}");
            }
            assert!(board.stderr_tail().ends_with("the rest"));
        }
    }

    #[test]
    fn the_first_noise_line_is_kept_and_cut() {
        let board = Board::new(Redactor::default(), 8);
        board.noise(&"é".repeat(500));
        board.noise("second");
        let facts = board.facts();
        assert_eq!(facts.noise_lines, 2);
        assert_eq!(facts.first_noise.as_deref().map(|line| line.chars().count()), Some(NOISE_CHARS_KEPT));
    }
}

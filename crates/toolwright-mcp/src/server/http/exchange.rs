//! One POST and what comes back for it: one JSON text when that is all and comes soon, a stream otherwise.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::Notify;

use super::mailbox::Mailbox;
use crate::server::outlet::{Outlet, Reply};

/// The outlet of the requests in one POST.
pub(super) struct Exchange {
    mailbox: Arc<Mailbox>,
    phase: Mutex<Phase>,
    changed: Notify,
}

enum Phase {
    /// Nothing has come yet.
    Quiet,
    /// The reply has, and nothing before it.
    Replied(Reply),
    /// Nothing comes: the request was cancelled.
    Ended,
    /// Everything goes to this stream.
    Stream(u64),
    /// The client went before it was told of a stream.
    Gone,
}

/// What an exchange begins with.
pub(super) enum First {
    Reply(Reply),
    Ended,
    Stream(u64),
}

impl Exchange {
    pub(super) fn new(mailbox: Arc<Mailbox>) -> Arc<Self> {
        Arc::new(Self { mailbox, phase: Mutex::new(Phase::Quiet), changed: Notify::new() })
    }

    /// What comes first; a stream when nothing has come after `wait`.
    pub(super) async fn first(&self, wait: Duration) -> First {
        if let Some(first) = self.take(false) {
            return first;
        }
        let _ = tokio::time::timeout(wait, self.changed.notified()).await;
        self.take(true).unwrap_or(First::Ended)
    }

    fn take(&self, now: bool) -> Option<First> {
        let mut phase = self.phase();
        match &*phase {
            Phase::Quiet if now => {
                let stream = self.mailbox.open();
                *phase = Phase::Stream(stream);
                Some(First::Stream(stream))
            }
            Phase::Quiet => None,
            Phase::Stream(stream) => Some(First::Stream(*stream)),
            Phase::Ended | Phase::Gone => Some(First::Ended),
            Phase::Replied(_) => match std::mem::replace(&mut *phase, Phase::Ended) {
                Phase::Replied(reply) => Some(First::Reply(reply)),
                _ => None,
            },
        }
    }

    /// The client has hung up, and knows of no stream.
    pub(super) fn hung_up(&self) {
        let mut phase = self.phase();
        if matches!(*phase, Phase::Quiet) {
            *phase = Phase::Gone;
        }
    }

    fn phase(&self) -> MutexGuard<'_, Phase> {
        self.phase.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Outlet for Exchange {
    fn tell(&self, message: String) {
        let mut phase = self.phase();
        let stream = match *phase {
            Phase::Stream(stream) => stream,
            Phase::Quiet => {
                let stream = self.mailbox.open();
                *phase = Phase::Stream(stream);
                self.changed.notify_one();
                stream
            }
            Phase::Replied(_) | Phase::Ended | Phase::Gone => return,
        };
        self.mailbox.push(stream, &message, false);
    }

    fn reply(&self, reply: Reply) {
        let mut phase = self.phase();
        match *phase {
            Phase::Stream(stream) => self.mailbox.push(stream, &reply.text, true),
            Phase::Quiet => {
                *phase = Phase::Replied(reply);
                self.changed.notify_one();
            }
            Phase::Replied(_) | Phase::Ended | Phase::Gone => {}
        }
    }

    fn end(&self) {
        let mut phase = self.phase();
        match *phase {
            Phase::Stream(stream) => self.mailbox.finish(stream),
            Phase::Quiet => {
                *phase = Phase::Ended;
                self.changed.notify_one();
            }
            Phase::Replied(_) | Phase::Ended | Phase::Gone => {}
        }
    }

    fn is_open(&self) -> bool {
        match *self.phase() {
            Phase::Quiet => true,
            Phase::Stream(stream) => self.mailbox.is_open(stream),
            Phase::Replied(_) | Phase::Ended | Phase::Gone => false,
        }
    }
}

/// Where messages of a session go that belong to no request: its standing stream.
pub(super) struct Standing {
    pub(super) mailbox: Arc<Mailbox>,
    pub(super) stream: u64,
}

impl Outlet for Standing {
    fn tell(&self, message: String) {
        self.mailbox.push(self.stream, &message, false);
    }

    fn reply(&self, reply: Reply) {
        self.mailbox.push(self.stream, &reply.text, false);
    }

    fn end(&self) {}

    fn is_open(&self) -> bool {
        self.mailbox.is_read(self.stream)
    }
}

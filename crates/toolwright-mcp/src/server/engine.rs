//! What becomes of a message: the same for every transport and both generations.

use std::sync::Arc;

use toolwright::Text;

use super::caller::Caller;
use super::client::{Client, ClientKind};
use super::message::{self, Read};
use super::outlet::Outlet;
use super::{Askers, Offer, ServerOptions};

/// The server behind its transports.
pub(crate) struct Engine {
    pub(crate) options: ServerOptions,
}

/// What a transport hands over: what was sent, and what it knows beside it.
pub(crate) struct Arrived {
    pub(crate) read: Read,
    /// The idempotency key of the header `Idempotency-Key`.
    pub(crate) key: Option<Text>,
}

impl Engine {
    pub(crate) fn new(options: ServerOptions, askers: Askers, offer: Offer) -> Arc<Self> {
        let _ = (askers, offer);
        Arc::new(Self { options })
    }

    /// A client that has come. It is forgotten with [`Engine::left`].
    pub(crate) fn client(&self, kind: ClientKind, caller: Caller, aside: Arc<dyn Outlet>) -> Arc<Client> {
        Client::new(0, kind, caller, aside)
    }

    /// Takes what a client sent. Returns at once. If [`Read::wants_reply`], `outlet` gets one `reply` or one `end`, whatever
    /// happens; else it gets neither.
    pub(crate) fn receive(self: &Arc<Self>, client: &Arc<Client>, arrived: Arrived, outlet: &Arc<dyn Outlet>) {
        let _ = (client, arrived, outlet, &self.options);
    }

    /// A client has gone: the pipe closed, the session ended, or the reader of a single request hung up.
    pub(crate) fn left(&self, client: &Arc<Client>) {
        let _ = client;
    }

    /// Takes nothing new, and returns when nothing runs any more: after the grace, what still runs is cancelled.
    pub(crate) async fn stop(&self) {}
}

/// Reads bytes and hands them over: for transports that know nothing beside them.
impl Arrived {
    pub(crate) fn read(bytes: &[u8]) -> Self {
        Self { read: message::read(bytes), key: None }
    }
}

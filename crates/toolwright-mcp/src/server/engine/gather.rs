//! The replies of a batch, gathered into one message.

use std::sync::{Arc, Mutex, PoisonError};

use crate::server::message::{self, Incoming, Unusable};
use crate::server::outlet::{Outlet, Reply};

/// The outlet that all requests of a batch share.
pub(super) struct Gather {
    inner: Arc<dyn Outlet>,
    state: Mutex<State>,
}

struct State {
    /// Requests that have neither a reply nor an end yet.
    open: usize,
    replies: Vec<Reply>,
}

impl Gather {
    /// An outlet for a batch; with nothing to be answered in it, it sends nothing.
    pub(super) fn over(messages: &[Result<Incoming, Unusable>], outlet: &Arc<dyn Outlet>) -> Arc<dyn Outlet> {
        let open = messages.iter().filter(|message| matches!(message, Ok(Incoming::Request { .. }) | Err(_))).count();
        Arc::new(Self { inner: outlet.clone(), state: Mutex::new(State { open, replies: Vec::new() }) })
    }

    fn landed(&self, reply: Option<Reply>) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.replies.extend(reply);
        state.open = state.open.saturating_sub(1);
        if state.open > 0 {
            return;
        }
        match std::mem::take(&mut state.replies) {
            replies if replies.is_empty() => self.inner.end(),
            replies => self.inner.reply(message::batch(&replies)),
        }
    }
}

impl Outlet for Gather {
    fn tell(&self, message: String) {
        self.inner.tell(message);
    }

    fn reply(&self, reply: Reply) {
        self.landed(Some(reply));
    }

    fn end(&self) {
        self.landed(None);
    }

    fn is_open(&self) -> bool {
        self.inner.is_open()
    }
}

//! One client as the server knows it: a legacy session, the other end of stdio, or the sender of one sessionless request.

use std::collections::{BTreeSet, HashMap};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use toolwright::Text;

use super::caller::Caller;
use super::message::{self, Id, RpcError};
use super::outlet::{Outlet, Reply};
use super::request::{LogLevel, Terms};

/// A client. Everything that outlives a request of theirs hangs on it.
pub(crate) struct Client {
    /// Unique in this process; never sent.
    pub(crate) key: u64,
    pub(crate) kind: ClientKind,
    pub(crate) caller: Caller,
    /// Where messages go that belong to no request of theirs.
    pub(crate) aside: Arc<dyn Outlet>,
    state: Mutex<State>,
}

/// How long a client lasts, and what it may do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ClientKind {
    /// A session of older generations, begun by `initialize`.
    Session,
    /// A pipe: both generations may be spoken over it, one request so and the next one otherwise.
    Pipe,
    /// The sender of one request of the sessionless generation; gone with it.
    Single,
}

#[derive(Default)]
struct State {
    /// What the session agreed on; absent before `initialize`.
    terms: Option<Arc<Terms>>,
    /// Requests that have no reply yet.
    flights: HashMap<Id, Weak<Flight>>,
    /// Resources that the session wants to hear of.
    subscribed: BTreeSet<Text>,
}

/// The outlet of one request: lets its messages through until the reply, or until the request is cancelled.
pub(crate) struct Flight {
    client: Arc<Client>,
    id: Id,
    inner: Arc<dyn Outlet>,
    /// Held while something is sent, so that nothing overtakes the reply.
    over: Mutex<bool>,
}

impl Client {
    pub(crate) fn new(key: u64, kind: ClientKind, caller: Caller, aside: Arc<dyn Outlet>) -> Arc<Self> {
        Arc::new(Self { key, kind, caller, aside, state: Mutex::default() })
    }

    /// What its session agreed on.
    pub(crate) fn terms(&self) -> Option<Arc<Terms>> {
        self.state().terms.clone()
    }

    /// Keeps what `initialize` agreed. Said again, it takes the place of what was agreed before: some programs in front of a pipe begin
    /// anew on it for each of their own clients.
    pub(crate) fn agree(&self, terms: Arc<Terms>) {
        self.state().terms = Some(terms);
    }

    /// From where on the session gets log lines.
    pub(crate) fn set_log_level(&self, level: LogLevel) {
        let mut state = self.state();
        if let Some(terms) = &state.terms {
            state.terms = Some(Arc::new(Terms { log_level: Some(level), ..Terms::clone(terms) }));
        }
    }

    /// Has the session hear of a resource. `false`: it hears of `most` already.
    pub(crate) fn subscribe(&self, uri: &Text, most: usize) -> bool {
        let mut state = self.state();
        if state.subscribed.len() >= most && !state.subscribed.contains(uri) {
            return false;
        }
        state.subscribed.insert(uri.clone());
        true
    }

    /// Whether it was subscribed.
    pub(crate) fn unsubscribe(&self, uri: &str) -> bool {
        self.state().subscribed.remove(uri)
    }

    pub(crate) fn is_subscribed(&self, uri: &str) -> bool {
        self.state().subscribed.contains(uri)
    }

    /// Takes a request in: from here on its id is in use.
    ///
    /// # Errors
    /// When the id is in use already, or too many are.
    pub(crate) fn take_off(self: &Arc<Self>, id: &Id, outlet: &Arc<dyn Outlet>, most: usize) -> Result<Arc<Flight>, RpcError> {
        let mut state = self.state();
        // A flight whose last handle is being dropped has not sent its reply yet: its id is still in use.
        if state.flights.contains_key(id) {
            return Err(RpcError::new(
                message::INVALID_REQUEST,
                format!("the id {id} belongs to a request that has no answer yet; give each request an id of its own"),
            ));
        }
        if state.flights.len() >= most {
            return Err(RpcError::new(
                message::INTERNAL_ERROR,
                format!(
                    "{most} requests of this client have no answer yet (calls_per_client_max); send this one again when one of them has"
                ),
            ));
        }
        let flight = Arc::new(Flight { client: self.clone(), id: id.clone(), inner: outlet.clone(), over: Mutex::new(false) });
        state.flights.insert(id.clone(), Arc::downgrade(&flight));
        Ok(flight)
    }

    /// Lets nothing of a request through any more; its id is free again. `false`: there is no such request.
    pub(crate) fn silence(&self, id: &Id) -> bool {
        let flight = self.state().flights.get(id).and_then(Weak::upgrade);
        flight.is_some_and(|flight| flight.land(None))
    }

    /// The requests that have no reply yet.
    pub(crate) fn in_flight(&self) -> Vec<Id> {
        self.state().flights.keys().cloned().collect()
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Flight {
    /// Ends it with a reply, or with none. `false`: it had ended.
    fn land(&self, reply: Option<Reply>) -> bool {
        let mut over = self.over.lock().unwrap_or_else(PoisonError::into_inner);
        if std::mem::replace(&mut *over, true) {
            return false;
        }
        // Before the reply goes out: whoever reads it may use the id again at once.
        self.client.state().flights.remove(&self.id);
        match reply {
            Some(reply) => self.inner.reply(reply),
            None => self.inner.end(),
        }
        true
    }
}

impl Outlet for Flight {
    fn tell(&self, message: String) {
        let over = self.over.lock().unwrap_or_else(PoisonError::into_inner);
        if !*over {
            self.inner.tell(message);
        }
    }

    fn reply(&self, reply: Reply) {
        self.land(Some(reply));
    }

    fn end(&self) {
        self.land(None);
    }

    fn is_open(&self) -> bool {
        !*self.over.lock().unwrap_or_else(PoisonError::into_inner) && self.inner.is_open()
    }
}

impl Drop for Flight {
    fn drop(&mut self) {
        let lost = RpcError::new(message::INTERNAL_ERROR, "the request was dropped without an answer; this is a fault of the server");
        self.land(Some(message::failure(Some(&self.id), &lost)));
    }
}

//! What becomes of a message: the same for every transport and both generations.
//!
//! A message is read, its generation and terms are found ([`handshake`]), its id is put in use, and its method says who answers it:
//! [`lists`], [`passing`], [`changes`], or [`Calls`]. Nothing here waits; whatever takes time is a task of its own.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

use arc_swap::ArcSwap;
use toolwright::{Text, Value};

use super::caller::Caller;
use super::calls::Calls;
use super::client::{Client, ClientKind};
use super::message::{self, Id, Incoming, Read, RpcError, Unusable};
use super::outlet::Outlet;
use super::request::{Request, Terms};
use super::surface::{Generation, Mirrored, Surface};
use super::version::Version;
use super::{Askers, Offer, ServerOptions};

mod changes;
mod gather;
mod handshake;
mod listens;
mod lists;
mod logging;
mod passing;
mod routes;

use changes::Changes;
use gather::Gather;
use routes::Current;

/// The server behind its transports.
pub(crate) struct Engine {
    pub(crate) options: ServerOptions,
    pub(crate) calls: Arc<Calls>,
    askers: Askers,
    /// What is offered now.
    current: ArcSwap<Current>,
    /// Clients that may be told something by and by. Senders of single requests are not among them.
    clients: Mutex<HashMap<u64, Weak<Client>>>,
    next_client: AtomicU64,
    changes: Changes,
    /// Our name and version, as clients are told.
    server_info: Value,
    stopping: AtomicBool,
}

/// What a transport hands over: what was sent, and what it knows beside it.
pub(crate) struct Arrived {
    pub(crate) read: Read,
    /// The idempotency key of the header `Idempotency-Key`.
    pub(crate) key: Option<Text>,
}

impl Arrived {
    /// Reads bytes: for transports that know nothing beside them.
    pub(crate) fn read(bytes: &[u8]) -> Self {
        Self { read: message::read(bytes), key: None }
    }
}

impl Engine {
    pub(crate) fn new(options: ServerOptions, askers: Askers, offer: Offer) -> Arc<Self> {
        let calls = Calls::new(&options, &askers);
        let current = Current::new(offer, options.limits.page_items);
        askers.desk.offers(current.offer());
        let server_info = Value::object([("name", Value::from(options.name.clone())), ("version", Value::from(options.version.clone()))]);
        Arc::new(Self {
            options,
            calls,
            askers,
            current: ArcSwap::from_pointee(current),
            clients: Mutex::default(),
            next_client: AtomicU64::new(1),
            changes: Changes::default(),
            server_info,
            stopping: AtomicBool::new(false),
        })
    }

    /// What clients of an audience see that are not known by name.
    pub(crate) fn surface_for(&self, audience: &str, generation: Generation) -> Option<Arc<Surface>> {
        self.current.load_full().surfaces.of(&Caller { audience: audience.into(), ..Caller::default() }, None, generation)
    }

    /// A client that has come. It is forgotten with [`Engine::left`].
    pub(crate) fn client(&self, kind: ClientKind, caller: Caller, aside: Arc<dyn Outlet>) -> Arc<Client> {
        let key = self.next_client.fetch_add(1, Ordering::Relaxed);
        let client = Client::new(key, kind, caller, aside);
        if kind != ClientKind::Single {
            self.clients().insert(key, Arc::downgrade(&client));
        }
        client
    }

    /// A client has gone: the pipe closed, the session ended, or the reader of a single request hung up. What it called and nobody else
    /// may fetch is cancelled. Saying so twice does nothing.
    pub(crate) fn left(self: &Arc<Self>, client: &Arc<Client>) {
        self.clients().remove(&client.key);
        for id in client.in_flight() {
            client.silence(&id);
        }
        self.calls.left(client);
        self.changes.left(self, client);
    }

    /// As [`Engine::left`], for a client that sends nothing more but may still read: what runs gets the grace first.
    pub(crate) async fn depart(self: &Arc<Self>, client: &Arc<Client>) {
        const LOOK_EVERY: Duration = Duration::from_millis(5);
        self.changes.left(self, client);
        let until = tokio::time::Instant::now() + self.options.limits.stop_grace;
        while !client.in_flight().is_empty() && client.aside.is_open() && tokio::time::Instant::now() < until {
            tokio::time::sleep(LOOK_EVERY).await;
        }
        self.left(client);
    }

    /// Takes what a client sent. Returns at once. If [`Read::wants_reply`], `outlet` gets one `reply` or one `end`, whatever
    /// happens; else it gets neither.
    pub(crate) fn receive(self: &Arc<Self>, client: &Arc<Client>, arrived: Arrived, outlet: &Arc<dyn Outlet>) {
        let Arrived { read, key } = arrived;
        match read {
            Read::One(message) => self.take(client, message, key, outlet),
            Read::Batch(messages) => match batch_refused(client, &messages) {
                Some(refusal) => outlet.reply(message::failure(None, &refusal)),
                None => {
                    let gather = Gather::over(&messages, outlet);
                    for message in messages {
                        self.take(client, message, key.clone(), &gather);
                    }
                }
            },
        }
    }

    fn take(self: &Arc<Self>, client: &Arc<Client>, message: Result<Incoming, Unusable>, key: Option<Text>, outlet: &Arc<dyn Outlet>) {
        match message {
            Ok(Incoming::Request { id, method, params }) => {
                let request = self.admitted(client, &id, &method, &params, outlet);
                match request {
                    Ok((terms, outlet)) => {
                        let request = Request { client: client.clone(), terms, id, method, params, key, outlet };
                        self.dispatch(request);
                    }
                    Err(error) => outlet.reply(message::failure(Some(&id), &error)),
                }
            }
            Ok(Incoming::Notification { method, params }) => self.notified(client, &method, &params),
            Ok(Incoming::Response { id, outcome }) => self.askers.answered(client, &id, outcome),
            Err(unusable) => outlet.reply(message::failure(unusable.id.as_ref(), &unusable.error)),
        }
    }

    /// Whether a request is taken at all: under which terms, and the outlet that it gets.
    fn admitted(
        &self,
        client: &Arc<Client>,
        id: &Id,
        method: &str,
        params: &Value,
        outlet: &Arc<dyn Outlet>,
    ) -> Result<(Arc<Terms>, Arc<dyn Outlet>), RpcError> {
        if self.stopping.load(Ordering::Acquire) {
            return Err(RpcError::new(message::INTERNAL_ERROR, "the server is stopping and takes nothing new; connect again later"));
        }
        let terms = self.terms_of(client, method, params)?;
        let flight = client.take_off(id, outlet, self.options.limits.calls_per_client_max)?;
        Ok((terms, flight))
    }

    /// Each method once, with the generations that have it.
    fn dispatch(self: &Arc<Self>, request: Request) {
        let sessionless = request.terms.version.sessionless();
        match (request.method.as_str(), sessionless) {
            ("tools/call", _) => self.tool_called(request),
            ("tools/list", _) => self.tools_listed(&request),
            ("initialize", false) => self.initialized(&request),
            ("server/discover", true) => self.discovered(&request),
            ("ping", false) => request.reply(&Value::object::<&str, Value>([])),
            ("logging/setLevel", false) => self.log_level_set(&request),
            ("subscriptions/listen", true) => self.listened(request),
            (method, _) if lists::Kind::of_method(method).is_some() => self.listed(request),
            ("resources/subscribe" | "resources/unsubscribe", false) => self.subscribed(request),
            ("resources/read" | "resources/directory/read" | "skills/get" | "prompts/get" | "completion/complete", _) => {
                self.passed(request);
            }
            (method, _) if method.starts_with("tasks/") => {
                if !self.calls.task(&request) {
                    request.refuse(&unknown_method(&request));
                }
            }
            _ => request.refuse(&unknown_method(&request)),
        }
    }

    fn notified(self: &Arc<Self>, client: &Arc<Client>, method: &str, params: &Value) {
        // Others are told to us for our information: `notifications/initialized`, progress of our questions, changed roots.
        if method == "notifications/cancelled"
            && let Some(id) = params.get("requestId").and_then(Id::from_value)
        {
            self.cancelled(client, &id);
        }
    }

    /// The client wants nothing more of a request. Goes past everything that waits.
    fn cancelled(self: &Arc<Self>, client: &Arc<Client>, id: &Id) {
        client.silence(id);
        self.calls.cancel(client, id);
        self.changes.ended(self, client, id);
    }

    fn tool_called(self: &Arc<Self>, request: Request) {
        let current = self.current.load_full();
        match called_tool(&request, current.surface(&request).as_deref()) {
            Ok(tool) => self.calls.start(current.offer(), current.needs(&tool), tool, request),
            Err(error) => request.refuse(&error),
        }
    }

    /// The arguments of a tool that a sessionless client repeats in headers.
    pub(crate) fn mirrored(&self, caller: &Caller, client_name: Option<&str>, tool: &str) -> Vec<Mirrored> {
        let surface = self.current.load().surfaces.of(caller, client_name, Generation::Sessionless);
        surface.map_or_else(Vec::new, |surface| surface.mirrored(tool).to_vec())
    }

    /// Offers something else. Whoever may see the difference is told.
    pub(crate) fn replace(self: &Arc<Self>, offer: Offer) {
        let next = Arc::new(Current::new(offer, self.options.limits.page_items));
        let before = self.current.swap(next.clone());
        self.askers.desk.offers(next.offer());
        self.follow(&next);
        self.offer_changed(&before, &next);
    }

    /// Takes nothing new, ends subscriptions in order, and returns when nothing runs any more: after the grace, what still runs is
    /// cancelled.
    pub(crate) async fn stop(self: &Arc<Self>) {
        self.stopping.store(true, Ordering::Release);
        self.changes.close();
        self.calls.stop(self.options.limits.stop_grace).await;
    }

    /// The clients that are there now.
    fn present(&self) -> Vec<Arc<Client>> {
        let clients: Vec<Weak<Client>> = self.clients().values().cloned().collect();
        clients.iter().filter_map(Weak::upgrade).collect()
    }

    fn clients(&self) -> MutexGuard<'_, HashMap<u64, Weak<Client>>> {
        self.clients.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Why a batch is not taken: 2025-03-26 alone has them, and `initialize` never stands in one.
fn batch_refused(client: &Client, messages: &[Result<Incoming, Unusable>]) -> Option<RpcError> {
    let version = client.terms().map(|terms| terms.version);
    if version != Some(Version::V2025_03_26) {
        let spoken = version.map_or_else(|| "before `initialize`".to_owned(), |version| format!("in {version}"));
        return Some(RpcError::new(
            message::INVALID_REQUEST,
            format!("there are no batches {spoken}, only in 2025-03-26; send each message by itself"),
        ));
    }
    let method = |message: &Result<Incoming, Unusable>| message.as_ref().ok().and_then(|message| message.method().cloned());
    let initialize = messages.iter().any(|message| method(message).as_deref() == Some("initialize"));
    initialize.then(|| RpcError::new(message::INVALID_REQUEST, "`initialize` cannot be part of a batch; send it by itself"))
}

/// The id of the tool that a `tools/call` means.
fn called_tool(request: &Request, surface: Option<&Surface>) -> Result<Text, RpcError> {
    let invalid = |text: String| RpcError::new(message::INVALID_PARAMS, text);
    let name = match request.params.get("name") {
        Some(Value::String(name)) => name,
        _ => return Err(invalid("`tools/call` needs the tool's `name`, a text".to_owned())),
    };
    match request.params.get("arguments") {
        None | Some(Value::Null | Value::Object(_)) => {}
        Some(other) => {
            return Err(invalid(format!("the `arguments` for the tool `{name}` are of the type {}; give an object", other.kind())));
        }
    }
    // Only names that are seen are told, so a hidden tool and one that does not exist read alike.
    surface.and_then(|surface| surface.find(name)).cloned().ok_or_else(|| {
        let nearest = surface.and_then(|surface| surface.nearest(name));
        let meant = nearest.map_or_else(String::new, |nearest| format!(", but there is `{nearest}`"));
        invalid(format!("there is no tool `{}` here{meant}; `tools/list` has those that there are", shortened(name)))
    })
}

/// A name that a client sent, for an error.
fn shortened(name: &str) -> String {
    const SHOWN_CHARS_MAX: usize = 100;
    let mut shown: String = name.chars().take(SHOWN_CHARS_MAX).flat_map(char::escape_debug).collect();
    if name.chars().nth(SHOWN_CHARS_MAX).is_some() {
        shown.push('…');
    }
    shown
}

fn unknown_method(request: &Request) -> RpcError {
    let text = format!("there is no method `{}` in {}", shortened(&request.method), request.terms.version);
    RpcError::new(message::METHOD_NOT_FOUND, text)
}

impl Current {
    /// What the sender of a request sees.
    fn surface(&self, request: &Request) -> Option<Arc<Surface>> {
        self.surface_of(&request.client.caller, &request.terms)
    }

    fn surface_of(&self, caller: &Caller, terms: &Terms) -> Option<Arc<Surface>> {
        let generation = if terms.version.sessionless() { Generation::Sessionless } else { Generation::Sessions };
        self.surfaces.of(caller, terms.client.get("name").and_then(Value::as_str), generation)
    }
}

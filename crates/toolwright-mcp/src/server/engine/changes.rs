//! What clients are told without having asked for it just now: lists that changed, resources that were updated, log lines.
//!
//! Sessions hear of lists by themselves, and of the resources that they subscribed to; the sessionless generation opens a subscription
//! (`subscriptions/listen`) and hears there what it chose. A list is told only if it is another one, and a burst of changes once.

use std::collections::{BTreeSet, HashMap};
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

use tokio::sync::broadcast::error::RecvError;
use toolwright::{Object, Text, Value};

use super::Engine;
use super::listens::Listen;
use super::lists::Kind;
use super::routes::Current;
use crate::server::caller::Caller;
use crate::server::client::Client;
use crate::server::message::{self, Id, RpcError};
use crate::server::request::{META_SUBSCRIPTION, Request, complete};
use crate::upstream::{Passed, PassedReply, Upstream, UpstreamEvent};

/// How long changes are gathered before they are told.
const BURST: Duration = Duration::from_millis(50);
/// Resources that one client may be subscribed to.
pub(super) const SUBSCRIBED_MAX: usize = 1_000;

#[derive(Default)]
pub(super) struct Changes {
    pub(super) listens: Mutex<Vec<Arc<Listen>>>,
    /// Resources that somebody is subscribed to, by source and the URI there, each with those who are.
    held: Mutex<HashMap<(Text, Text), Vec<Holder>>>,
    /// The tasks that follow the servers behind us.
    followers: Mutex<Vec<tokio::task::AbortHandle>>,
    burst: Mutex<Burst>,
}

/// Who is subscribed: a session, or one subscription of a client.
pub(super) type Holder = (u64, Option<Id>);

/// What has changed and is not told yet.
#[derive(Default)]
struct Burst {
    /// Whether a task waits to tell it.
    waiting: bool,
    /// Sessions and subscriptions whose tools are others.
    tools: BTreeSet<Holder>,
    lists: Vec<Changed>,
    /// Everybody's lists of these kinds: the servers themselves are others.
    all: BTreeSet<&'static str>,
}

/// A server says that a list is another one.
struct Changed {
    source: usize,
    kind: Kind,
    /// What it was before, when that is known.
    before: Option<Arc<Vec<Value>>>,
}

impl Changes {
    /// Ends all subscriptions in order, and follows nobody any more.
    pub(super) fn close(&self) {
        let listens = std::mem::take(&mut *lock(&self.listens));
        for listen in listens {
            let meta = Value::object([(META_SUBSCRIPTION, listen.request.id.to_value())]);
            listen.request.reply(&complete(&listen.request.terms, Value::object([("_meta", meta)])));
        }
        lock(&self.followers).drain(..).for_each(|follower| follower.abort());
    }

    /// Forgets the subscription that a request opened.
    pub(super) fn ended(&self, engine: &Arc<Engine>, client: &Client, id: &Id) {
        let holder = (client.key, Some(id.clone()));
        let mut listens = lock(&self.listens);
        let before = listens.len();
        listens.retain(|listen| listen.request.client.key != client.key || listen.request.id != *id);
        let had = listens.len() < before;
        drop(listens);
        if had {
            self.let_go(engine, |gone| *gone == holder);
        }
    }

    /// Forgets everything of a client.
    pub(super) fn left(&self, engine: &Arc<Engine>, client: &Client) {
        lock(&self.listens).retain(|listen| listen.request.client.key != client.key);
        self.let_go(engine, |(key, _)| *key == client.key);
    }

    /// Ends the subscriptions at servers that only these holders had.
    pub(super) fn let_go(&self, engine: &Arc<Engine>, goes: impl Fn(&Holder) -> bool) {
        let mut free = Vec::new();
        lock(&self.held).retain(|place, holders| {
            holders.retain(|holder| !goes(holder));
            if holders.is_empty() {
                free.push(place.clone());
            }
            !holders.is_empty()
        });
        if free.is_empty() || tokio::runtime::Handle::try_current().is_err() {
            return;
        }
        let current = engine.current.load_full();
        tokio::spawn(async move {
            for (source, uri) in free {
                if let Some(upstream) = current.offer().upstreams.iter().find(|upstream| *upstream.name() == *source) {
                    // A server that is gone has forgotten it by itself.
                    let _ = upstream.pass(asking("resources/unsubscribe", &uri)).await;
                }
            }
        });
    }
}

impl Engine {
    /// Begins to follow the servers behind us. Needs a runtime; says nothing without one.
    pub(crate) fn begin(self: &Arc<Self>) {
        self.follow(&self.current.load_full());
    }

    pub(super) fn follow(self: &Arc<Self>, current: &Arc<Current>) {
        if tokio::runtime::Handle::try_current().is_err() || self.stopping.load(Ordering::Acquire) {
            return;
        }
        let follow = |(source, upstream): (usize, &Upstream)| {
            let events = upstream.events();
            tokio::spawn(follow(Arc::downgrade(self), Arc::downgrade(current), source, events)).abort_handle()
        };
        let followers: Vec<_> = current.offer().upstreams.iter().enumerate().map(follow).collect();
        // After the new ones have begun to listen, so that nothing falls between.
        let before = std::mem::replace(&mut *lock(&self.changes.followers), followers);
        before.iter().for_each(tokio::task::AbortHandle::abort);
    }

    /// An offer has taken the place of another one.
    pub(super) fn offer_changed(self: &Arc<Self>, before: &Current, next: &Current) {
        let differs = |caller: &Caller, terms: &crate::server::request::Terms| {
            let digest = |current: &Current| current.surface_of(caller, terms).map(|surface| surface.digest().clone());
            digest(before) != digest(next)
        };
        let sessions = self.present().into_iter().filter_map(|client| {
            let terms = client.terms()?;
            differs(&client.caller, &terms).then_some((client.key, None))
        });
        let mut tools: BTreeSet<Holder> = sessions.collect();
        for listen in lock(&self.changes.listens).iter() {
            if differs(&listen.request.client.caller, &listen.request.terms) {
                tools.insert((listen.request.client.key, Some(listen.request.id.clone())));
            }
        }
        let names = |current: &Current| current.offer().upstreams.iter().map(|upstream| upstream.name().to_owned()).collect::<Vec<_>>();
        let others = names(before) != names(next);
        self.later(|burst| {
            burst.tools.extend(tools);
            // The places of servers are those of the offer before.
            burst.lists.clear();
            if others {
                burst.all.extend(["prompts", "resources"]);
            }
        });
    }

    /// Notes a change, and tells it when the burst is over.
    fn later(self: &Arc<Self>, note: impl FnOnce(&mut Burst)) {
        let mut burst = lock(&self.changes.burst);
        note(&mut burst);
        let nothing = burst.tools.is_empty() && burst.lists.is_empty() && burst.all.is_empty();
        if nothing || burst.waiting || tokio::runtime::Handle::try_current().is_err() {
            return;
        }
        burst.waiting = true;
        let engine = self.clone();
        tokio::spawn(async move {
            tokio::time::sleep(BURST).await;
            let burst = std::mem::take(&mut *lock(&engine.changes.burst));
            engine.tell_changes(burst).await;
        });
    }

    async fn tell_changes(&self, burst: Burst) {
        if !burst.tools.is_empty() {
            self.tell_list("tools", |_, holder| burst.tools.contains(holder));
        }
        let current = self.current.load_full();
        let mut changed: Vec<(&'static str, String)> = Vec::new();
        for Changed { source, kind, before } in burst.lists {
            let Some(upstream) = current.upstream(source) else { continue };
            // Without knowing what it was, clients are told rather than left with an old list.
            let other = match before {
                Some(before) => current.list(source, kind).await != before,
                None => true,
            };
            if other {
                changed.push((kind.changed(), upstream.name().to_owned()));
            }
        }
        let kinds: BTreeSet<&'static str> = changed.iter().map(|(kind, _)| *kind).chain(burst.all.iter().copied()).collect();
        for kind in kinds {
            let from = |caller: &Caller| changed.iter().any(|(changed, source)| *changed == kind && current.sees(caller, source));
            self.tell_list(kind, |caller, _| burst.all.contains(kind) || from(caller));
        }
    }

    /// Tells that a list is another one to those who hear of it and may see the difference.
    fn tell_list(&self, kind: &'static str, concerns: impl Fn(&Caller, &Holder) -> bool) {
        let method = format!("notifications/{kind}/list_changed");
        for client in self.present() {
            if client.terms().is_some() && concerns(&client.caller, &(client.key, None)) {
                client.aside.tell(message::notification(&method, &Value::Null));
            }
        }
        self.tell_listens(|listen| {
            let holder = (listen.request.client.key, Some(listen.request.id.clone()));
            let told = listen.kinds.contains(kind) && concerns(&listen.request.client.caller, &holder);
            told.then(|| (method.clone(), Object::EMPTY))
        });
    }

    /// Tells something to subscriptions, each with its own id; those that nobody reads any more are forgotten.
    fn tell_listens(&self, told: impl Fn(&Listen) -> Option<(String, Object)>) {
        let mut listens = lock(&self.changes.listens);
        listens.retain(|listen| listen.request.outlet.is_open());
        for listen in listens.iter() {
            if let Some((method, params)) = told(listen) {
                listen.tell(&method, &params);
            }
        }
    }

    /// `resources/subscribe` and `resources/unsubscribe` of a session.
    pub(super) fn subscribed(self: &Arc<Self>, request: Request) {
        let Some(uri) = request.params.get("uri").and_then(Value::as_text).cloned() else {
            let text = format!("`{}` needs a `uri`, a text", request.method);
            return request.refuse(&RpcError::new(message::INVALID_PARAMS, text));
        };
        let engine = self.clone();
        tokio::spawn(async move {
            let current = engine.current.load_full();
            let done = if request.method == "resources/subscribe" {
                engine.subscribe(&current, &request, &uri).await
            } else {
                engine.unsubscribe(&current, &request, &uri).await;
                Ok(())
            };
            match done {
                Ok(()) => request.reply(&Value::Object(Object::EMPTY)),
                Err(error) => request.refuse(&error),
            }
        });
    }

    async fn subscribe(self: &Arc<Self>, current: &Current, request: &Request, uri: &Text) -> Result<(), RpcError> {
        if !request.client.subscribe(uri, SUBSCRIBED_MAX) {
            let text = format!("this session is subscribed to {SUBSCRIBED_MAX} resources already; end one of these subscriptions first");
            return Err(RpcError::new(message::INTERNAL_ERROR, text));
        }
        let held = self.hold(current, &request.client.caller, uri, (request.client.key, None)).await;
        held.map_err(|error| {
            request.client.unsubscribe(uri);
            error.unwrap_or_else(|| super::passing::no_resource(&request.terms, &Value::from(uri.clone())))
        })
    }

    async fn unsubscribe(self: &Arc<Self>, current: &Current, request: &Request, uri: &Text) {
        request.client.unsubscribe(uri);
        if let Some((source, own)) = current.homes(&request.client.caller, uri).await.into_iter().next()
            && let Some(upstream) = current.upstream(source)
        {
            let place = (Text::from(upstream.name()), own);
            let key = request.client.key;
            let last = lock(&self.changes.held).get_mut(&place).is_some_and(|holders| {
                holders.retain(|holder| *holder != (key, None));
                holders.is_empty()
            });
            if last {
                self.changes.let_go(self, |_| false);
            }
        }
    }

    /// Subscribes to a resource at the server that has it, unless somebody is subscribed already.
    ///
    /// # Errors
    /// With the server's own error, or with none when nobody has the resource.
    pub(super) async fn hold(&self, current: &Current, caller: &Caller, uri: &Text, holder: Holder) -> Result<(), Option<RpcError>> {
        let (source, own) = current.homes(caller, uri).await.into_iter().next().ok_or(None)?;
        let upstream = current.upstream(source).ok_or(None)?;
        let place = (Text::from(upstream.name()), own.clone());
        let first = {
            let mut held = lock(&self.changes.held);
            let holders = held.entry(place.clone()).or_default();
            if !holders.contains(&holder) {
                holders.push(holder.clone());
            }
            holders.len() == 1
        };
        if !first {
            return Ok(());
        }
        let failed = match upstream.pass(asking("resources/subscribe", &own)).await {
            Ok(PassedReply::Result(_)) => return Ok(()),
            Ok(PassedReply::Refused { code, message, data }) => RpcError { code, message, data },
            Err(error) => RpcError::new(message::INTERNAL_ERROR, error.to_string()),
        };
        let mut held = lock(&self.changes.held);
        if let Some(holders) = held.get_mut(&place) {
            holders.retain(|kept| *kept != holder);
            if holders.is_empty() {
                held.remove(&place);
            }
        }
        Err(Some(failed))
    }

    /// A server behind us says something by itself.
    async fn heard(self: &Arc<Self>, current: &Arc<Current>, source: usize, event: UpstreamEvent) {
        match event {
            UpstreamEvent::ListChanged(kind) => {
                for kind in Kind::ALL.into_iter().filter(|of| of.changed() == kind) {
                    let before = current.forget(source, kind).await;
                    if before.is_some() {
                        current.list(source, kind).await;
                    }
                    self.later(|burst| burst.lists.push(Changed { source, kind, before }));
                }
            }
            UpstreamEvent::Started => self.started(current, source).await,
            UpstreamEvent::ResourceUpdated(own) => self.updated(current, source, &own).await,
            UpstreamEvent::Log { run: Some(run), params } => self.logged(&run, &params),
            // Nobody knows whose it is: it may tell one client of another one.
            UpstreamEvent::Log { run: None, .. } => {}
        }
    }

    /// A server has been started again: it may have other lists, and has forgotten subscriptions.
    async fn started(self: &Arc<Self>, current: &Arc<Current>, source: usize) {
        let Some(upstream) = current.upstream(source) else { return };
        for kind in Kind::ALL {
            if let Some(before) = current.forget(source, kind).await {
                current.list(source, kind).await;
                self.later(|burst| burst.lists.push(Changed { source, kind, before: Some(before) }));
            }
        }
        let held: Vec<Text> =
            lock(&self.changes.held).keys().filter(|(name, _)| name.as_str() == upstream.name()).map(|(_, uri)| uri.clone()).collect();
        self.level_again(upstream).await;
        for uri in held {
            // If it does not have it any more, nothing will come of it.
            let _ = upstream.pass(asking("resources/subscribe", &uri)).await;
        }
    }

    async fn updated(&self, current: &Current, source: usize, own: &Text) {
        let mut names: HashMap<Text, Option<Text>> = HashMap::new();
        let listens: Vec<Arc<Listen>> = lock(&self.changes.listens).clone();
        for client in self.present() {
            if client.terms().is_none() {
                continue;
            }
            if let Some(uri) = exposed(current, &mut names, &client.caller, source, own).await
                && client.is_subscribed(&uri)
            {
                client.aside.tell(message::notification("notifications/resources/updated", &Value::object([("uri", uri)])));
            }
        }
        for listen in listens {
            if let Some(uri) = exposed(current, &mut names, &listen.request.client.caller, source, own).await
                && listen.uris.contains(&uri)
            {
                listen.tell("notifications/resources/updated", &Object::EMPTY.with("uri", uri));
            }
        }
    }
}

impl Kind {
    /// The word in `notifications/…/list_changed`.
    fn changed(self) -> &'static str {
        match self {
            Kind::Resources | Kind::Templates | Kind::Skills => "resources",
            Kind::Prompts => "prompts",
        }
    }
}

/// The name that an audience has for a resource; looked up once for each.
async fn exposed(current: &Current, names: &mut HashMap<Text, Option<Text>>, caller: &Caller, source: usize, own: &Text) -> Option<Text> {
    if let Some(name) = names.get(&caller.audience) {
        return name.clone();
    }
    let name = current.exposed_uri(caller, source, own).await;
    names.insert(caller.audience.clone(), name.clone());
    name
}

async fn follow(engine: Weak<Engine>, current: Weak<Current>, source: usize, mut events: tokio::sync::broadcast::Receiver<UpstreamEvent>) {
    loop {
        let event = match events.recv().await {
            Ok(event) => event,
            // Lists are compared anyway, so what was missed of them is made good by the next event.
            Err(RecvError::Lagged(missed)) => {
                tracing::warn!(missed, "events of a server were lost");
                continue;
            }
            Err(RecvError::Closed) => return,
        };
        let (Some(engine), Some(current)) = (engine.upgrade(), current.upgrade()) else { return };
        engine.heard(&current, source, event).await;
    }
}

fn asking(method: &'static str, uri: &Text) -> Passed {
    Passed::new(method, Value::object([("uri", uri.clone())]), Text::default())
}

pub(super) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

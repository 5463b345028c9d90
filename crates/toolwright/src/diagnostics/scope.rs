//! A scope: who gets the facts, and under which identity. A disabled one is a
//! null pointer, so that asking it costs one comparison.

use std::fmt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, OnceLock};

use super::deliver::{Delivery, Queue, consumed};
use super::{Detail, EventName, Fact, Identity, Observer, Sink, SpanFields};
use crate::value::{Text, Value};

/// A scope to tell facts in. Clones are the same scope; the default one is disabled and costs nothing.
///
/// ```
/// use toolwright::{Detail, Diagnostics, EventName, Fact, Sink, SpanFields, json};
///
/// struct Log;
///
/// impl Sink for Log {
///     fn record(&self, fact: &Fact) {
///         println!("{} {:?} {}", fact.event, fact.identity.span, fact.payload);
///     }
/// }
///
/// let root = Diagnostics::new(Log);
/// assert!(root.identity().is_none());
///
/// let call = root.child("report/0:look", SpanFields { run: Some("r1".into()), ..SpanFields::default() });
/// call.emit(EventName::Progress, || json!({ "message": "half" }));
/// assert!(!Diagnostics::disabled().enabled(EventName::Progress, Detail::Metadata));
/// ```
#[derive(Clone, Default)]
pub struct Diagnostics(Option<Arc<Scope>>);

struct Scope {
    outlets: Arc<Outlets>,
    identity: Option<Identity>,
    /// Made when the first delivery, or the first copy with an observer, needs it.
    queue: OnceLock<Arc<Queue>>,
}

/// Who gets the facts. Children share it.
struct Outlets {
    sink: Option<Arc<dyn Sink>>,
    observers: Vec<Arc<dyn Observer>>,
}

impl fmt::Debug for Diagnostics {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            None => f.write_str("Diagnostics(disabled)"),
            Some(scope) => f.debug_struct("Diagnostics").field("identity", &scope.identity).finish_non_exhaustive(),
        }
    }
}

impl Diagnostics {
    /// A scope that takes nothing.
    pub const fn disabled() -> Self {
        Self(None)
    }

    /// A scope bound to no execution yet, whose facts go to `sink`. An `Arc` of a sink is a sink too.
    pub fn new(sink: impl Sink) -> Self {
        Self::of(Outlets { sink: Some(Arc::new(sink)), observers: Vec::new() }, None, OnceLock::new())
    }

    fn of(outlets: Outlets, identity: Option<Identity>, queue: OnceLock<Arc<Queue>>) -> Self {
        Self(Some(Arc::new(Scope { outlets: Arc::new(outlets), identity, queue })))
    }

    /// Whether nobody takes anything here.
    #[inline]
    pub fn is_disabled(&self) -> bool {
        self.0.is_none()
    }

    /// Which execution this scope is bound to, if it is.
    pub fn identity(&self) -> Option<&Identity> {
        self.0.as_ref()?.identity.as_ref()
    }

    /// Whether somebody takes such facts: a cheap look before something costly is prepared. Observers take all of them.
    #[inline]
    pub fn enabled(&self, event: EventName, detail: Detail) -> bool {
        self.0.as_ref().is_some_and(|scope| scope.outlets.take(event, detail))
    }

    /// Tells one fact that holds no content. The payload is built once when somebody takes it, and otherwise not at all.
    ///
    /// A sink or an observer that panics does not reach the caller; a panic in `payload` is the caller's own.
    #[inline]
    pub fn emit(&self, event: EventName, payload: impl FnOnce() -> Value) {
        if let Some(scope) = &self.0 {
            scope.tell(event, Detail::Metadata, payload);
        }
    }

    /// As [`emit`](Self::emit), for a fact that holds content. A sink that takes metadata only does not get it.
    #[inline]
    pub fn emit_content(&self, event: EventName, payload: impl FnOnce() -> Value) {
        if let Some(scope) = &self.0 {
            scope.tell(event, Detail::Content, payload);
        }
    }

    /// Hands content to a consumer: the fact is told once, as by [`emit_content`](Self::emit_content), and the consumer
    /// gets the same one. What the consumer fails with is the caller's to handle.
    ///
    /// Deliveries of one scope are made one after another, in the order of the calls of this function. A delivery has
    /// its place from the call on and leaves it when it is done or dropped; so wait for deliveries in their order, or
    /// all at once. What a consumer itself delivers to its own scope is made at once, as part of its delivery; from
    /// another task it has a place like any other, so a consumer must not wait for that. A disabled scope keeps no
    /// order; its consumer still gets the fact, and nobody else does.
    ///
    /// ```
    /// # use toolwright::{Diagnostics, EventName, Fact, Sink, json};
    /// # struct Log;
    /// # impl Sink for Log { fn record(&self, _: &Fact) {} }
    /// # tokio::runtime::Builder::new_current_thread().build()?.block_on(async {
    /// let scope = Diagnostics::new(Log);
    /// let sent = scope.deliver(EventName::Content, || json!({ "text": "hello" }), async |fact: Fact| {
    ///     println!("{}", fact.payload);
    ///     Err("the screen is off")
    /// });
    /// assert_eq!(sent.await, Err("the screen is off"));
    /// # });
    /// # Ok::<(), std::io::Error>(())
    /// ```
    ///
    /// # Errors
    /// What the consumer says.
    #[must_use = "a delivery is made when it is awaited, and until then holds up those after it"]
    pub fn deliver<P, F, Fut, E>(
        &self,
        event: EventName,
        payload: P,
        consumer: F,
    ) -> impl Future<Output = Result<(), E>> + use<P, F, Fut, E>
    where
        P: FnOnce() -> Value,
        F: FnOnce(Fact) -> Fut,
        Fut: Future<Output = Result<(), E>>,
    {
        let scope = self.0.clone();
        let delivery = scope.as_ref().and_then(|scope| Delivery::enqueued(scope.queue()));
        async move {
            // Held to the end, whatever the end is.
            let _place = match delivery {
                Some(delivery) => Some(delivery.turn().await),
                None => None,
            };
            let identity = scope.as_ref().and_then(|scope| scope.identity.clone()).unwrap_or_default();
            let fact = Fact { event, identity, payload: payload() };
            if let Some(scope) = &scope {
                scope.outlets.tell(&fact, Detail::Content);
            }
            consumed(scope.as_ref().map(|scope| scope.queue()), async { consumer(fact).await }).await
        }
    }

    /// The scope of a part of this execution. What this scope knows stays; `fields` fills what it does not know.
    #[must_use]
    pub fn child(&self, span: impl Into<Text>, fields: SpanFields) -> Self {
        let Some(scope) = &self.0 else { return Self(None) };
        let known = scope.identity.clone().unwrap_or_default();
        let identity = Identity {
            run: known.run.or(fields.run),
            span: Some(span.into()),
            parent: known.span,
            session: known.session.or(fields.session),
            user: known.user.or(fields.user),
        };
        Self(Some(Arc::new(Scope { outlets: scope.outlets.clone(), identity: Some(identity), queue: OnceLock::new() })))
    }

    /// The same scope, watched: facts told through this handle and its children also go to `observer`. The log, the
    /// identity and the order of deliveries stay the same, and handles made before see nothing of it.
    #[must_use]
    pub fn with_observer(&self, observer: Arc<dyn Observer>) -> Self {
        let Some(scope) = &self.0 else {
            return Self::of(Outlets { sink: None, observers: vec![observer] }, None, OnceLock::new());
        };
        let mut observers = scope.outlets.observers.clone();
        observers.push(observer);
        let outlets = Outlets { sink: scope.outlets.sink.clone(), observers };
        Self::of(outlets, scope.identity.clone(), OnceLock::from(scope.queue().clone()))
    }
}

impl Scope {
    fn queue(&self) -> &Arc<Queue> {
        self.queue.get_or_init(Arc::default)
    }

    fn tell(&self, event: EventName, detail: Detail, payload: impl FnOnce() -> Value) {
        if self.outlets.take(event, detail) {
            self.outlets.tell(&Fact { event, identity: self.identity.clone().unwrap_or_default(), payload: payload() }, detail);
        }
    }
}

impl Outlets {
    fn take(&self, event: EventName, detail: Detail) -> bool {
        !self.observers.is_empty() || self.sink_for(event, detail).is_some()
    }

    /// The sink, when it takes such facts. One that takes content takes metadata too.
    fn sink_for(&self, event: EventName, detail: Detail) -> Option<&dyn Sink> {
        let sink = self.sink.as_deref()?;
        let takes = || sink.enabled(event, detail) || (detail == Detail::Metadata && sink.enabled(event, Detail::Content));
        guarded(takes).unwrap_or(false).then_some(sink)
    }

    fn tell(&self, fact: &Fact, detail: Detail) {
        if let Some(sink) = self.sink_for(fact.event, detail) {
            let _ = guarded(|| sink.record(fact));
        }
        for observer in &self.observers {
            let _ = guarded(|| observer.observe(fact));
        }
    }
}

/// Runs what is the host's. A panic in it is the host's too, and ends here.
fn guarded<T>(host: impl FnOnce() -> T) -> Option<T> {
    catch_unwind(AssertUnwindSafe(host)).ok()
}

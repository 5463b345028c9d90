//! Tools that are made while a program runs: a session forges composites over the tools of a sealed catalogue, and each
//! change makes a new sealed catalogue, the next *generation*.
//!
//! Nothing that was handed out ever changes: a run keeps the generation that it began with. Only whether a forged tool
//! is suspended is looked up at the moment of a call.
//!
//! In reading order: [`Session`] forges, suspends, retires and promotes. A [`ForgeTest`] is a dry run that a composite
//! must pass first. [`Forged`] is what the session knows of a tool. [`forge_tool`] lets a model do it. What can go
//! wrong: [`ForgeError`], [`SessionError`].

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, PoisonError, RwLock};

use crate::catalog::{Catalog, Registered};
use crate::composite::spec::{Severity, SpecIssue};
use crate::composite::{Composite, CompositeBody};
use crate::fingerprint::Fingerprint;
use crate::limits;
use crate::options::Options;
use crate::registry::{Declaration, RegisterError, RegisterFault, Registry};
use crate::runtime::{Rt, Runtime};
use crate::value::{Text, Value};

mod error;
mod health;
mod tool;
mod trial;

pub use error::{FailedTest, ForgeError, SessionError, TestFailure};
pub(crate) use health::{Health, counts};
pub use tool::{forge_tool, forge_tool_allowing};
pub use trial::ForgeTest;

/// The tools of one conversation, or of one user: those of a base catalogue, and composites that are forged on top. Clones
/// share it. What was forged ends with it, unless it is [promoted](Session::promote).
///
/// ```
/// use toolwright::{Composite, Options, Policy, Registry, Session, json, tool};
/// let fetch = tool("fetch", "Fetches a page").reads().run_json(|input, _call| async move { Ok(input) });
/// let base = Registry::new().with(fetch)?.seal();
/// let session = Session::new(base.clone(), Options::new().policy(Policy::new().kinds(["tool", "composite"])))?;
///
/// let before = session.catalog();
/// session.forge(Composite::new("digest", "Fetches").step("get", "fetch", json!({ "url": "$input.url" })))?;
/// assert!(session.catalog().has("digest") && !before.has("digest") && !base.has("digest"));
/// assert_eq!((before.generation(), session.generation()), (1, 2));
///
/// session.suspend("digest", "its source moved")?;
/// assert_eq!(session.suspended("digest").as_deref(), Some("its source moved"));
/// session.retire("digest")?;
/// assert_eq!(session.generation(), 3);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Session<R: Runtime = Rt>(Arc<Inner<R>>);

struct Inner<R: Runtime> {
    base: Catalog<R>,
    /// So many tools came from the base; those after them were forged.
    inherited: usize,
    suspend_after: AtomicU32,
    current: RwLock<Catalog<R>>,
}

impl<R: Runtime> Clone for Session<R> {
    fn clone(&self) -> Self {
        Self(self.0.clone())
    }
}

impl<R: Runtime> std::fmt::Debug for Session<R> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Session").field("generation", &self.generation()).finish_non_exhaustive()
    }
}

/// A tool that a session forged.
///
/// [`Session::forged`] lists them, for a host that keeps them or shows them.
///
/// ```
/// use toolwright::{Composite, Options, Registry, Session, json, tool};
/// let fetch = tool("fetch", "Fetches a page").reads().run_json(|input, _call| async move { Ok(input) });
/// let session = Session::new(Registry::new().with(fetch)?.seal(), Options::new())?;
/// session.forge(Composite::new("digest", "Fetches").step("get", "fetch", json!({ "url": "$input.url" })))?;
/// let forged = session.forged();
/// assert_eq!((forged[0].id.as_str(), forged[0].suspended.as_deref()), ("digest", None));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Forged {
    /// Its id.
    pub id: Text,
    /// Hash of it and of the tools of its steps.
    pub fingerprint: Fingerprint,
    /// The reason, while it is suspended.
    pub suspended: Option<Text>,
    /// All of it, in the form of [`Composite::to_value`].
    pub spec: Value,
}

impl<R: Runtime> Session<R> {
    /// A session over a base catalogue; its tools are judged by the policy of `options`, which may be narrower than the
    /// base's. The base never changes. This is generation 1.
    ///
    /// # Errors
    /// As [`Registry::with_options`] and [`View::copy_to`](crate::View::copy_to): the first tool of the base that this policy
    /// does not take. [`Session::subset`] takes those that fit.
    pub fn new(base: Catalog<R>, options: Options<R>) -> Result<Self, RegisterError> {
        Self::of(base, options, |_| true)
    }

    /// A session over some tools of a base catalogue. Composites that have a step which is left out are left out too; their
    /// ids are given, in order.
    ///
    /// ```
    /// use toolwright::{Composite, Options, Registry, Session, json, tool};
    /// let echo = |id: &'static str| tool(id, "Echoes").reads().run_json(|input, _call| async move { Ok(input) });
    /// let both = Composite::new("both", "Echoes").step("a", "a", json!({})).step("b", "b", json!({}));
    /// let base = Registry::new().with(echo("a"))?.with(echo("b"))?.with(both)?.seal();
    /// let (session, dropped) = Session::subset(base, Options::new(), |tool| tool.id() != "b")?;
    /// assert_eq!(session.catalog().ids().collect::<Vec<_>>(), ["a"]);
    /// assert_eq!(dropped, ["both"]);
    /// # Ok::<(), toolwright::RegisterError>(())
    /// ```
    ///
    /// # Errors
    /// As [`Session::new`], for the tools that are kept.
    pub fn subset(
        base: Catalog<R>,
        options: Options<R>,
        keep: impl Fn(&Registered<R>) -> bool,
    ) -> Result<(Self, Vec<Text>), RegisterError> {
        let mut kept = BTreeSet::new();
        let mut dropped = Vec::new();
        for entry in base.values().filter(|entry| keep(entry)) {
            let own = entry.composite().filter(|body| body.is_of_a_catalog());
            // Steps come before the composite, so it is known by now whether they are kept.
            if own.is_none_or(|body| body.spec().steps.iter().all(|step| kept.contains(&step.tool))) {
                kept.insert(entry.tool.0.name.clone());
            } else {
                dropped.push(entry.tool.0.name.clone());
            }
        }
        let session = Self::of(base, options, |entry| kept.contains(&entry.tool.0.name))?;
        Ok((session, dropped))
    }

    fn of(base: Catalog<R>, options: Options<R>, keep: impl Fn(&Registered<R>) -> bool) -> Result<Self, RegisterError> {
        let mut registry = Registry::with_options(options)?.suspending();
        base.copy_some_to(&mut registry, keep)?;
        let first = registry.numbered(1).seal();
        Ok(Self(Arc::new(Inner {
            base,
            inherited: first.len(),
            suspend_after: AtomicU32::new(limits::FAILURES_BEFORE_SUSPENSION),
            current: RwLock::new(first),
        })))
    }

    /// Suspends a tool that is forged from now on after so many failures in a row, in place of
    /// [`limits::FAILURES_BEFORE_SUSPENSION`]; 0 for never.
    ///
    /// Counted is what the tool is to blame for: an output that breaks its promise, a panic, an error of a tool it uses, a
    /// mapping that gives a step what it does not take. Arguments of the caller, a no of the host, cancellation, limits of
    /// nesting and the journal are not counted.
    #[must_use]
    pub fn suspend_after(self, failures: u32) -> Self {
        self.0.suspend_after.store(failures, Ordering::Relaxed);
        self
    }

    /// The tools as they are now: the newest generation. What is handed out never changes.
    pub fn catalog(&self) -> Catalog<R> {
        self.0.current.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// The number of the newest generation. It grows with every tool that is forged or retired.
    pub fn generation(&self) -> u64 {
        self.catalog().generation()
    }

    /// The catalogue that the session was made from.
    pub fn base(&self) -> &Catalog<R> {
        &self.0.base
    }

    /// What was forged and not retired, in order.
    pub fn forged(&self) -> Vec<Forged> {
        let current = self.catalog();
        let forged = self.entries(&current).iter().map(|entry| Forged {
            id: entry.tool.0.name.clone(),
            fingerprint: *entry.fingerprint(),
            suspended: entry.tool.0.health.as_ref().and_then(|health| health.reason()),
            spec: form_of(entry),
        });
        forged.collect()
    }

    /// Adds a composite over the tools of the newest generation. Runs that have begun do not see it. A composite is data, so
    /// it can be journalled, shown to whoever approves it, and made again after a restart; hooks on it are code, and a run
    /// with such a composite cannot be taken up again by another process. The host's own [`Runtime::Meta`] is not data either and
    /// is not noticed when it is missing: a composite that comes back from its data has the default, so keep in it nothing
    /// that a rule depends on.
    ///
    /// It is forged as it is, delegate, origin and audience included: the host vouches for it. What a model wrote goes through
    /// [`forge_tool`], which lets it say less.
    ///
    /// The catalogue that is given back is the generation that the composite came with.
    ///
    /// # Errors
    /// As [`Registry::register`]; an id that the session has already is a [`RegisterFault::Duplicate`], wherever it comes
    /// from. The session is then as it was.
    pub fn forge(&self, composite: Composite<R>) -> Result<Catalog<R>, RegisterError> {
        loop {
            // Ends: another round means that another thread's change went through.
            if let Some(catalog) = self.admit(&composite, None)? {
                return Ok(catalog);
            }
        }
    }

    /// One attempt to forge. None when it must be made again: another change came between, or `tested` is the fingerprint
    /// of what was tried out and this is not that any more.
    fn admit(&self, composite: &Composite<R>, tested: Option<Fingerprint>) -> Result<Option<Catalog<R>>, RegisterError> {
        let current = self.catalog();
        let next = self.candidate(&current, composite.clone())?;
        let changed = tested.is_some_and(|tested| next.get(composite.id()).is_none_or(|entry| *entry.fingerprint() != tested));
        if changed {
            return Ok(None);
        }
        let next = Catalog { view: next.view, live: current.live.clone() };
        Ok(self.publish(&current, next.clone()).then_some(next))
    }

    /// `current` and the composite, sealed, with events and diagnostics of its own.
    fn candidate(&self, current: &Catalog<R>, mut composite: Composite<R>) -> Result<Catalog<R>, RegisterError> {
        if self.entries(current).len() >= limits::FORGED_TOOLS_MAX {
            return Err(RegisterError::new(composite.id(), RegisterFault::Spec(session_full())));
        }
        let health = Health::new(composite.id().into(), self.0.suspend_after.load(Ordering::Relaxed));
        composite.head.def.health = Some(Arc::new(health));
        let mut next = Registry::next_of(current, None);
        next.take(composite.into())?;
        Ok(next.seal())
    }

    /// Takes a forged tool out. Runs that have begun keep it.
    ///
    /// # Errors
    /// [`SessionError::NotForged`], also for a tool of the base; [`SessionError::StillUsed`] while another forged tool has
    /// it as a step.
    pub fn retire(&self, id: &str) -> Result<Catalog<R>, SessionError> {
        loop {
            // Ends: another round means that another thread's change went through.
            let current = self.catalog();
            let at = self.find(&current, id)?.index;
            let by = users(self.entries(&current), id);
            if !by.is_empty() {
                return Err(SessionError::StillUsed { tool: id.into(), by });
            }
            let next = Registry::next_of(&current, Some(at)).seal();
            let next = Catalog { view: next.view, live: current.live.clone() };
            if self.publish(&current, next.clone()) {
                return Ok(next);
            }
        }
    }

    /// Refuses every call of a forged tool from now on, in all generations of this session, also as a step: a composite over it is
    /// offered nowhere and ends before any of its steps runs. Makes no new generation. Copies in other sessions and registries
    /// are tools of their own, and not concerned.
    ///
    /// # Errors
    /// [`SessionError::NotForged`].
    pub fn suspend(&self, id: &str, reason: impl Into<Text>) -> Result<(), SessionError> {
        self.with_health(id, |health| health.suspend(reason.into()))
    }

    /// Lets a suspended tool be called again; its failures are counted anew. One that is not suspended stays as it is.
    ///
    /// # Errors
    /// [`SessionError::NotForged`].
    pub fn unsuspend(&self, id: &str) -> Result<(), SessionError> {
        self.with_health(id, Health::lift)
    }

    /// The reason why a forged tool is suspended; none when it is not, or when there is no such tool.
    pub fn suspended(&self, id: &str) -> Option<Text> {
        let current = self.catalog();
        current.get(id)?.tool.0.health.as_ref()?.reason()
    }

    /// A new base catalogue: the tools of the base, and some that were forged, under the options of a base. They are judged
    /// anew and are like tools of the host's then: nothing suspends them. The session and its base do not change.
    ///
    /// # Errors
    /// As [`View::copy_to`](crate::View::copy_to) and [`Registry::register`]; an id that was not forged here is a
    /// [`RegisterFault::Spec`] with the code `not_forged`.
    pub fn promote<T: AsRef<str>>(&self, options: Options<R>, ids: impl IntoIterator<Item = T>) -> Result<Catalog<R>, RegisterError> {
        let current = self.catalog();
        let mut chosen = BTreeSet::new();
        for id in ids {
            let id = id.as_ref();
            let entry = self.find(&current, id).map_err(|error| RegisterError::new(id, RegisterFault::Spec(issue_of(&error))))?;
            chosen.insert(entry.index);
        }
        let mut registry = self.0.base.overlay(options)?;
        for entry in self.entries(&current).iter().filter(|entry| chosen.contains(&entry.index)) {
            let mut declared = entry.declared.clone();
            if let Declaration::Composite(composite) = &mut declared {
                composite.head.def.health = None;
            }
            registry.register(declared)?;
        }
        Ok(registry.seal())
    }

    /// Those of a generation that were forged.
    fn entries<'a>(&self, current: &'a Catalog<R>) -> &'a [Registered<R>] {
        current.definitions().get(self.0.inherited..).unwrap_or_default()
    }

    fn find<'a>(&self, current: &'a Catalog<R>, id: &str) -> Result<&'a Registered<R>, SessionError> {
        let forged = self.entries(current);
        forged.iter().find(|entry| entry.id() == id).ok_or_else(|| {
            let nearest = crate::nearest::nearest(id, forged.iter().map(Registered::id)).map(Text::from);
            SessionError::NotForged { tool: id.into(), inherited: current.has(id), nearest }
        })
    }

    fn with_health(&self, id: &str, change: impl FnOnce(&Health)) -> Result<(), SessionError> {
        let current = self.catalog();
        // What another session forged, and this one has from its base, has a state of its own here.
        let health = match current.get(id).and_then(|entry| entry.tool.0.health.as_ref()) {
            Some(health) => Some(health),
            None => self.find(&current, id)?.tool.0.health.as_ref(),
        };
        if let Some(health) = health {
            change(health);
        }
        Ok(())
    }

    /// Makes `next` the newest generation if `current` still is.
    fn publish(&self, current: &Catalog<R>, next: Catalog<R>) -> bool {
        let mut newest = self.0.current.write().unwrap_or_else(PoisonError::into_inner);
        if !Arc::ptr_eq(&newest.view, &current.view) {
            return false;
        }
        let old = std::mem::replace(&mut *newest, next);
        drop(newest);
        // The last handle on a generation may end tools of the host's: not while others wait.
        drop(old);
        true
    }
}

/// Forged tools that have `id` as a step.
fn users<R: Runtime>(forged: &[Registered<R>], id: &str) -> Vec<Text> {
    let uses = |body: &CompositeBody<R>| body.spec().steps.iter().any(|step| step.tool == id);
    forged.iter().filter(|entry| entry.composite().is_some_and(uses)).map(|entry| entry.tool.0.name.clone()).collect()
}

/// What was declared of a forged tool, as data.
pub(crate) fn form_of<R: Runtime>(entry: &Registered<R>) -> Value {
    match &entry.declared {
        Declaration::Composite(composite) => composite.to_value(),
        Declaration::Tool(_) | Declaration::Open(_) => Value::Null,
    }
}

fn session_full() -> SpecIssue {
    wrong(
        "session_full",
        format!("a session has at most {} forged tools", limits::FORGED_TOOLS_MAX),
        "retire some that are not used".into(),
    )
}

fn issue_of(error: &SessionError) -> SpecIssue {
    wrong(error.code(), error.to_string(), error.help())
}

fn wrong(code: &'static str, message: String, help: String) -> SpecIssue {
    SpecIssue { severity: Severity::Error, code, message, help: Some(help), pointer: String::new(), span: None, fix: None }
}

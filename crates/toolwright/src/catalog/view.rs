//! What a registry holds, for reading: the same before and after the seal. Everything here is immutable once sealed,
//! so reading takes no lock and touches no shared counter.

use std::collections::HashMap;
use std::sync::{Arc, OnceLock, Weak};

use crate::call::quietly;
use crate::composite::lint;
use crate::composite::spec::SpecIssue;
use crate::error::{CallError, Fault};
use crate::fingerprint::{Fingerprint, Hashed};
use crate::gate::Chainability;
use crate::lifecycle::folds::Folds;
use crate::options::Options;
use crate::protocol::Protocol;
use crate::registry::Declaration;
use crate::registry::handlers::{Finalizer, Normalizer};
use crate::runtime::{Rt, Runtime};
use crate::schema::CompiledSchema;
use crate::tool::{Effect, Goals, ToolDef};
use crate::value::{Text, Value};

/// A tool as one registry knows it: the declaration, and what this registry made of it. Read only.
///
/// ```
/// use toolwright::{Effect, Policy, Registry, json, tool};
/// let mut registry = Registry::with_policy(Policy::new().raise_effect("fetch", Effect::write()));
/// registry.register(tool("fetch", "Fetches a page").reads().run_json(|v, _| async move { Ok(v) }))?;
/// let fetch = registry.get("fetch").ok_or("it was registered")?;
/// assert_eq!(fetch.effect(), Some(&Effect::write()));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Registered<R: Runtime = Rt> {
    /// The instance that runs: with the raised or derived effect.
    pub(crate) tool: ToolDef<R>,
    /// What was given to `register`, for another registry to judge anew.
    pub(crate) declared: Declaration<R>,
    pub(crate) chainability: Chainability,
    pub(crate) protocol: Arc<Protocol>,
    pub(crate) hashes: Arc<Hashed<R>>,
    pub(crate) index: usize,
}

impl<R: Runtime> std::fmt::Debug for Registered<R> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Registered").field("id", &self.id()).field("effect", &self.effect()).finish_non_exhaustive()
    }
}

impl<R: Runtime> Clone for Registered<R> {
    fn clone(&self) -> Self {
        Self {
            tool: self.tool.clone(),
            declared: self.declared.clone(),
            chainability: self.chainability,
            protocol: self.protocol.clone(),
            hashes: self.hashes.clone(),
            index: self.index,
        }
    }
}

impl<R: Runtime> From<&Registered<R>> for Declaration<R> {
    /// What was registered, for another registry to judge anew.
    fn from(registered: &Registered<R>) -> Self {
        registered.declared.clone()
    }
}

impl<R: Runtime> From<Registered<R>> for Declaration<R> {
    /// What was registered, for another registry to judge anew.
    fn from(registered: Registered<R>) -> Self {
        registered.declared
    }
}

impl<R: Runtime> std::ops::Deref for Registered<R> {
    type Target = ToolDef<R>;

    fn deref(&self) -> &ToolDef<R> {
        &self.tool
    }
}

impl<R: Runtime> Registered<R> {
    /// The id it is registered under.
    pub fn id(&self) -> &str {
        self.tool.name()
    }

    /// The declaration, as it runs.
    pub fn tool(&self) -> &ToolDef<R> {
        &self.tool
    }

    /// The effect that counts: declared, raised by the policy, or derived from a composite's steps.
    pub fn effect(&self) -> Option<&Effect> {
        self.tool.effect()
    }

    /// Whether a composite may use it.
    pub fn chainability(&self) -> Chainability {
        self.chainability
    }

    /// Its protocol: id, description and schema.
    pub fn protocol(&self) -> &Arc<Protocol> {
        &self.protocol
    }

    /// Hash of the declaration, steps and their tools included.
    pub fn fingerprint(&self) -> &Fingerprint {
        self.hashes.whole()
    }

    /// Hash of what a run depends on: of the declaration without its description, whether listings leave it out, and whether it
    /// can be asked what became of a call. It is recorded with each call, and compared when the run is taken up again.
    pub fn run_fingerprint(&self) -> &Fingerprint {
        self.hashes.run()
    }

    /// Its position in the order of registration, from 0.
    pub fn index(&self) -> usize {
        self.index
    }

    /// Whether it may be called in this context: its own predicate, and for a composite those of its steps' tools. A
    /// predicate that breaks down has said no.
    ///
    /// A forged tool that is suspended is offered to nobody. A call of it says so itself.
    pub fn is_available(&self, context: &R::Context) -> bool {
        self.tool.0.health.as_ref().is_none_or(|health| health.refusal().is_none()) && self.tool.is_available(context)
    }

    /// Whether its being available depends on the context.
    pub fn is_conditional(&self) -> bool {
        self.tool.is_conditional()
    }
}

/// Tools, outputs and hooks of one registry, in the order of registration.
///
/// A [`crate::Registry`] and a [`crate::Catalog`] both read as one.
///
/// ```
/// use toolwright::{Registry, json, tool};
/// let mut registry = Registry::new();
/// for id in ["b", "a"] {
///     registry.register(tool(id, "A tool").reads().run_json(|v, _| async move { Ok(v) }))?;
/// }
/// assert_eq!(registry.ids().collect::<Vec<_>>(), ["b", "a"]);
/// assert!(registry.has("a") && registry.get("c").is_none());
/// # Ok::<(), toolwright::RegisterError>(())
/// ```
pub struct View<R: Runtime = Rt> {
    pub(crate) entries: Vec<Registered<R>>,
    pub(crate) index: HashMap<Text, usize>,
    pub(crate) delegates: HashMap<Text, usize>,
    pub(crate) outputs: Vec<(Arc<Protocol>, CompiledSchema)>,
    pub(crate) options: Options<R>,
    pub(crate) folds: Folds,
    pub(crate) normalizer: Option<Arc<Normalizer<R>>>,
    pub(crate) finalizer: Option<Arc<Finalizer<R>>>,
    /// How many times a session has forged or retired before this; 0 for a registry of the host's.
    pub(crate) generation: u64,
    pub(crate) warnings: Vec<(Text, SpecIssue)>,
    /// Whether some of the tools were forged, once it is sealed.
    pub(crate) has_forged: bool,
    /// Hash of all of it, once it is sealed and somebody has asked for it.
    pub(crate) fingerprint: Option<OnceLock<Fingerprint>>,
}

/// What tools said of themselves while one list is made: each is asked once, however many composites reach it.
#[derive(Default)]
pub(crate) struct Said(Vec<Option<bool>>);

impl Said {
    fn of(&mut self, at: usize, ask: impl FnOnce() -> bool) -> bool {
        if self.0.len() <= at {
            self.0.resize(at.saturating_add(1), None);
        }
        let Some(slot) = self.0.get_mut(at) else { return ask() };
        *slot.get_or_insert_with(ask)
    }

    /// As [`Registered::is_available`].
    pub(crate) fn offers<R: Runtime>(&mut self, entry: &Registered<R>, context: &R::Context) -> bool {
        let def = &entry.tool.0;
        let own = || {
            def.health.as_ref().is_none_or(|health| health.refusal().is_none())
                && def.hooks.as_ref().is_none_or(|hooks| hooks.is_available(context))
        };
        let always = def.health.is_none() && def.hooks.as_ref().is_none_or(|hooks| !hooks.is_conditional());
        (always || self.of(entry.index, own))
            && entry.composite().is_none_or(|body| body.asked().iter().all(|asked| self.of(asked.at, || asked.allows(context))))
    }
}

/// Where composites find the catalogue that they were linked in, once it is sealed.
pub(crate) type Home<R> = Arc<OnceLock<Weak<View<R>>>>;

impl<R: Runtime> std::fmt::Debug for View<R> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_list().entries(self.ids()).finish()
    }
}

impl<R: Runtime> View<R> {
    pub(crate) fn entry(&self, at: usize) -> Option<&Registered<R>> {
        self.entries.get(at)
    }

    /// The tool of this id. A delegate is no id.
    pub fn get(&self, id: &str) -> Option<&Registered<R>> {
        self.index.get(id).and_then(|at| self.entries.get(*at))
    }

    /// The tool of this id.
    ///
    /// # Errors
    /// `unavailable`, with the host's words if it has any.
    pub fn require(&self, id: &str) -> Result<&Registered<R>, CallError> {
        self.get(id).ok_or_else(|| self.unavailable(id))
    }

    #[cold]
    pub(crate) fn unavailable(&self, id: &str) -> CallError {
        let refusal = self.options.unavailable.as_ref().and_then(|words| quietly(|| words(id)));
        let nearest = self.nearest(id).filter(|_| refusal.is_none()).map(Text::from);
        CallError::from(Fault::Unavailable { tool: id.into(), nearest, refusal }).with_public_code(self)
    }

    /// Whether a tool has this id. A delegate is no id.
    pub fn has(&self, id: &str) -> bool {
        self.index.contains_key(id)
    }

    /// Whether a tool answers to this delegate.
    pub fn has_delegate(&self, delegate: &str) -> bool {
        self.delegates.contains_key(delegate)
    }

    /// Ids, in the order of registration.
    pub fn ids(&self) -> impl ExactSizeIterator<Item = &str> + DoubleEndedIterator {
        self.entries.iter().map(Registered::id)
    }

    /// Ids and tools, in the order of registration.
    pub fn entries(&self) -> impl ExactSizeIterator<Item = (&str, &Registered<R>)> + DoubleEndedIterator {
        self.entries.iter().map(|entry| (entry.id(), entry))
    }

    /// Tools, in the order of registration.
    pub fn values(&self) -> std::slice::Iter<'_, Registered<R>> {
        self.entries.iter()
    }

    /// Tools as they run, in the order of registration.
    pub fn tools(&self) -> impl ExactSizeIterator<Item = &ToolDef<R>> + DoubleEndedIterator {
        self.entries.iter().map(|entry| &entry.tool)
    }

    /// Registered tools, in the order of registration.
    pub fn definitions(&self) -> &[Registered<R>] {
        &self.entries
    }

    /// How many tools there are.
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// The tool that a decision's invocation id means: by delegate first, then by id.
    pub(crate) fn claimed(&self, invocation: &str) -> Option<&Registered<R>> {
        self.delegates.get(invocation).or_else(|| self.index.get(invocation)).and_then(|at| self.entries.get(*at))
    }

    #[cold]
    pub(crate) fn unclaimed(&self, invocation: &str) -> CallError {
        let refusal = self.options.unavailable_invocation.as_ref().and_then(|words| quietly(|| words(invocation)));
        CallError::from(Fault::UnavailableInvocation { invocation: invocation.into(), refusal }).with_public_code(self)
    }

    pub(crate) fn output_protocol(&self, id: &str) -> Option<&Arc<Protocol>> {
        self.outputs.iter().map(|(output, _)| output).find(|output| output.id == id)
    }

    pub(crate) fn output_schema(&self, id: &str) -> Option<&CompiledSchema> {
        self.outputs.iter().find(|(output, _)| output.id == id).map(|(_, schema)| schema)
    }

    /// Goals there are now.
    pub(crate) fn current_goals(&self) -> Vec<Text> {
        self.options.goal_ids.as_ref().and_then(|port| quietly(|| port())).unwrap_or_default()
    }

    /// Whether a composite may use this tool.
    pub fn chainability(&self, id: &str) -> Chainability {
        self.get(id).map_or(Chainability::Missing, |entry| entry.chainability)
    }

    /// The nearest id that exists, for a "did you mean".
    pub fn nearest(&self, id: &str) -> Option<&str> {
        crate::nearest::nearest(id, self.ids())
    }

    /// Warnings about registered composites, with their ids.
    pub fn warnings(&self) -> &[(Text, SpecIssue)] {
        &self.warnings
    }

    /// Everything that can be found in a specification over these tools before anything runs.
    pub fn lint(&self, spec: &Value) -> Vec<SpecIssue> {
        let known: Vec<&str> = self.ids().collect();
        let judge = |name: &str| (self.get(name).map(|entry| entry.tool.clone()), self.chainability(name));
        lint::lint(spec, None, &judge, &known)
    }

    /// How many changes a session made before this; 0 for a catalogue of the host's.
    pub fn generation(&self) -> u64 {
        self.generation
    }

    /// Whether a tool is offered in this context: it is available, and not suspended by a session.
    pub(crate) fn offers(&self, entry: &Registered<R>, context: &R::Context) -> bool {
        entry.is_available(context)
    }

    /// The goals a tool serves, of those there are now.
    pub(crate) fn goals_of(&self, tool: &ToolDef<R>, current: &[Text]) -> Vec<Text> {
        match tool.goals() {
            Goals::All => current.to_vec(),
            // Without a source of goals nothing can be said to be gone.
            Goals::Only(goals) if self.options.goal_ids.is_none() => goals.clone(),
            Goals::Only(goals) => goals.iter().filter(|goal| current.contains(goal)).cloned().collect(),
        }
    }
}

//! Taking tools from one registry into another, where they are judged anew; and the next generation of a session,
//! where they are not, since nothing about them or their policy has changed.

use std::collections::HashMap;
use std::sync::Arc;

use super::{RegisterError, RegisterFault, Registry};
use crate::catalog::{Catalog, Home, Registered, View};
use crate::lifecycle::folds::Folds;
use crate::options::Options;
use crate::runtime::Runtime;
use crate::tool::Body;

impl<R: Runtime> View<R> {
    /// Registers every tool in another registry, in order, and installs the normaliser and the finalizer there: all of
    /// it, or nothing. What is registered is what was declared here, not what this registry made of it: the target
    /// judges by its own policy and derives the effects of composites from its own tools. Options, events and
    /// diagnostics stay here.
    ///
    /// ```
    /// use toolwright::{Composite, Effect, Policy, Registry, json, tool};
    /// let fetch = tool("fetch", "Fetches a page").reads().run_json(|input, _call| async move { Ok(input) });
    /// let digest = Composite::new("digest", "Fetches").step("get", "fetch", json!({}));
    /// let source = Registry::new().with(fetch)?.with(digest)?.seal();
    ///
    /// // Here `fetch` counts as writing, and nobody may chain it.
    /// let mut strict = Registry::with_policy(Policy::new().raise_effect("fetch", Effect::write()));
    /// let error = source.copy_to(&mut strict).err().ok_or("it is refused")?;
    /// assert_eq!((error.tool(), error.code()), ("digest", "step_not_chainable"));
    /// assert!(strict.is_empty());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// [`RegisterFault::NormalizerInstalled`] or [`RegisterFault::FinalizerInstalled`] when both have one; otherwise the
    /// error of the first tool that the target refuses, with its position.
    pub fn copy_to(&self, target: &mut Registry<R>) -> Result<(), RegisterError> {
        self.copy_some_to(target, |_| true)
    }

    /// As [`View::copy_to`], of the tools that `keep` says; the position in an error is that among the kept.
    pub(crate) fn copy_some_to(&self, target: &mut Registry<R>, keep: impl Fn(&Registered<R>) -> bool) -> Result<(), RegisterError> {
        if self.normalizer.is_some() && target.view.normalizer.is_some() {
            return Err(RegisterError::new("normalizer", RegisterFault::NormalizerInstalled));
        }
        if self.finalizer.is_some() && target.view.finalizer.is_some() {
            return Err(RegisterError::new("finalizer", RegisterFault::FinalizerInstalled));
        }
        target.register_all(self.entries.iter().filter(|entry| keep(entry)).map(|entry| entry.declared.clone()))?;
        if self.normalizer.is_some() {
            target.view.normalizer.clone_from(&self.normalizer);
        }
        if self.finalizer.is_some() {
            target.view.finalizer.clone_from(&self.finalizer);
        }
        Ok(())
    }
}

impl<R: Runtime> Catalog<R> {
    /// An open registry with the tools of this catalogue, for further ones on top. This catalogue does not change.
    ///
    /// ```
    /// use toolwright::{Options, Registry, json, tool};
    /// let echo = |id: &'static str| tool(id, "Echoes").reads().run_json(|input, _call| async move { Ok(input) });
    /// let base = Registry::new().with(echo("a"))?.seal();
    /// let more = base.overlay(Options::new())?.with(echo("b"))?.seal();
    /// assert_eq!(more.ids().collect::<Vec<_>>(), ["a", "b"]);
    /// assert_eq!(base.len(), 1);
    /// # Ok::<(), toolwright::RegisterError>(())
    /// ```
    ///
    /// # Errors
    /// As [`Registry::with_options`] and [`View::copy_to`]: the tools are judged by the policy of `options`.
    pub fn overlay(&self, options: Options<R>) -> Result<Registry<R>, RegisterError> {
        let mut registry = Registry::with_options(options)?;
        self.copy_to(&mut registry)?;
        Ok(registry)
    }
}

impl<R: Runtime> Registry<R> {
    /// The tools of a sealed catalogue once more, in an open registry with the same options and the next number, without
    /// the one at `without`, which nothing here uses. Nothing is judged: it was, by this policy.
    pub(crate) fn next_of(view: &View<R>, without: Option<usize>) -> Self {
        let home = Home::default();
        let gone = without.and_then(|at| view.entry(at)).map(Registered::id);
        let kept = |name: &str| gone != Some(name);
        let mut next = View {
            entries: Vec::with_capacity(view.entries.len().saturating_add(1)),
            index: HashMap::with_capacity(view.entries.len().saturating_add(1)),
            delegates: HashMap::with_capacity(view.delegates.len()),
            outputs: view.outputs.clone(),
            options: view.options.clone(),
            folds: Folds::default(),
            normalizer: view.normalizer.clone(),
            finalizer: view.finalizer.clone(),
            generation: view.generation.saturating_add(1),
            warnings: view.warnings.iter().filter(|(name, _)| kept(name)).cloned().collect(),
            has_forged: false,
            fingerprint: None,
        };
        for entry in view.entries.iter().filter(|entry| kept(entry.id())) {
            next.entries.push(moved(entry, next.entries.len(), &home, without));
            next.note_last();
        }
        Self { view: next, home, suspends: true }
    }

    /// With this number among the generations of a session.
    pub(crate) fn numbered(mut self, generation: u64) -> Self {
        self.view.generation = generation;
        self
    }
}

impl<R: Runtime> View<R> {
    /// Makes the newest entry known by its names and hooks.
    fn note_last(&mut self) {
        let Some(entry) = self.entries.last() else { return };
        self.index.insert(entry.tool.0.name.clone(), entry.index);
        if let Some(delegate) = &entry.tool.0.delegate {
            self.delegates.insert(delegate.clone(), entry.index);
        }
        if let Some(hooks) = &entry.tool.0.hooks {
            self.folds.add(entry.index, hooks);
        }
    }
}

/// The same tool at another position; a composite is linked to the generation whose home this is.
fn moved<R: Runtime>(entry: &Registered<R>, index: usize, home: &Home<R>, without: Option<usize>) -> Registered<R> {
    let tool = match &entry.tool.0.body {
        Body::Composite(body) if body.is_of_a_catalog() => {
            entry.tool.changed(|def| def.body = Body::Composite(Arc::new(body.rehomed(home, without))))
        }
        _ => entry.tool.clone(),
    };
    Registered {
        tool,
        declared: entry.declared.clone(),
        chainability: entry.chainability,
        protocol: entry.protocol.clone(),
        hashes: entry.hashes.clone(),
        index,
    }
}

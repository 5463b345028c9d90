//! A registry that several owners fill at the same time, until one of them seals it.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::{Declaration, RegisterError, RegisterFault, Registry};
use crate::catalog::{Catalog, View};
use crate::error::CallError;
use crate::lifecycle::IntoHook;
use crate::options::Options;
use crate::runtime::{Rt, Runtime};
use crate::tool::{Tool, typed};
use crate::value::Value;

/// A registry with many handles: clones share it. Once it is sealed, every registration is refused with
/// [`RegisterFault::Sealed`]. A program with one owner takes a [`Registry`], where that is already the compiler's word.
///
/// The rules of the policy run while the registry is held: they must not use the same shared registry.
///
/// ```
/// use toolwright::{RegisterFault, SharedRegistry, json, tool};
/// let echo = |id: &'static str| tool(id, "Echoes").reads().run_json(|input, _call| async move { Ok(input) });
/// let registry = SharedRegistry::new();
/// let plugin = registry.clone();
/// plugin.register(echo("a"))?;
///
/// let catalog = registry.seal();
/// let late = plugin.register(echo("b")).err().ok_or("it is sealed")?;
/// assert_eq!(late.fault(), &RegisterFault::Sealed);
/// assert_eq!(catalog.ids().collect::<Vec<_>>(), ["a"]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct SharedRegistry<R: Runtime = Rt>(Arc<Mutex<State<R>>>);

enum State<R: Runtime> {
    Open(Box<Registry<R>>),
    Sealed(Catalog<R>),
}

impl<R: Runtime> Clone for SharedRegistry<R> {
    fn clone(&self) -> Self {
        Self(self.0.clone())
    }
}

impl<R: Runtime> std::fmt::Debug for SharedRegistry<R> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("SharedRegistry").field("sealed", &self.is_sealed()).finish_non_exhaustive()
    }
}

impl<R: Runtime> From<Registry<R>> for SharedRegistry<R> {
    fn from(registry: Registry<R>) -> Self {
        Self(Arc::new(Mutex::new(State::Open(Box::new(registry)))))
    }
}

impl Default for SharedRegistry {
    fn default() -> Self {
        Self::new()
    }
}

impl SharedRegistry {
    /// An empty registry that takes anything and lists nothing.
    pub fn new() -> Self {
        Registry::new().into()
    }
}

impl<R: Runtime> SharedRegistry<R> {
    /// An empty registry with the host's options.
    ///
    /// # Errors
    /// As [`Registry::with_options`].
    pub fn with_options(options: Options<R>) -> Result<Self, RegisterError> {
        Registry::with_options(options).map(Into::into)
    }

    /// Takes in one tool or composite.
    ///
    /// # Errors
    /// As [`Registry::register`], and [`RegisterFault::Sealed`]; the registry is then as it was.
    pub fn register(&self, declaration: impl Into<Declaration<R>>) -> Result<&Self, RegisterError> {
        let declaration = declaration.into();
        let id = declaration.id().to_owned();
        self.change(&id, |registry| registry.register(declaration).map(drop))
    }

    /// Takes in a typed tool.
    ///
    /// # Errors
    /// As [`SharedRegistry::register`].
    pub fn add(&self, tool: impl Tool<R>) -> Result<&Self, RegisterError> {
        self.register(typed::define(tool))
    }

    /// Takes in several, in their order: all, or none. No other owner's registration comes between them. They are all
    /// asked for before the first is judged.
    ///
    /// # Errors
    /// As [`Registry::register_all`], and [`RegisterFault::Sealed`].
    pub fn register_all<D: Into<Declaration<R>>>(&self, declarations: impl IntoIterator<Item = D>) -> Result<&Self, RegisterError> {
        // The iterator is the caller's, and may itself come to this registry.
        let declarations: Vec<Declaration<R>> = declarations.into_iter().map(Into::into).collect();
        let first = declarations.first().map(|declaration| declaration.id().to_owned()).unwrap_or_default();
        self.change(&first, |registry| registry.register_all(declarations).map(drop))
    }

    /// Installs the one handler that changes values for [`View::normalize`].
    ///
    /// # Errors
    /// As [`Registry::register_normalizer`], and [`RegisterFault::Sealed`].
    pub fn register_normalizer<T: IntoHook<Value>>(
        &self,
        normalizer: impl Fn(Value, R::NormalizerArgs) -> T + Send + Sync + 'static,
    ) -> Result<&Self, RegisterError> {
        self.change("normalizer", |registry| registry.register_normalizer(normalizer).map(drop))
    }

    /// Installs the one handler that makes replies for [`View::finish`].
    ///
    /// # Errors
    /// As [`Registry::register_finalizer`], and [`RegisterFault::Sealed`].
    pub fn register_finalizer(
        &self,
        finalizer: impl Fn(&R::Receiver, R::Decision, &R::Context) -> Result<R::Reply, CallError> + Send + Sync + 'static,
    ) -> Result<&Self, RegisterError> {
        self.change("finalizer", |registry| registry.register_finalizer(finalizer).map(drop))
    }

    /// Reads what is registered now. While it is not sealed, other owners wait until `read` is done.
    pub fn with<T>(&self, read: impl FnOnce(&View<R>) -> T) -> T {
        let state = self.state();
        let catalog = match &*state {
            State::Open(registry) => return read(registry),
            State::Sealed(catalog) => catalog.clone(),
        };
        drop(state);
        read(&catalog)
    }

    /// Ends registration. A second time gives the same catalogue again.
    pub fn seal(&self) -> Catalog<R> {
        let mut state = self.state();
        let catalog = match &mut *state {
            State::Sealed(catalog) => return catalog.clone(),
            State::Open(registry) => std::mem::replace(&mut **registry, Registry::of(Options::default())).seal(),
        };
        *state = State::Sealed(catalog.clone());
        catalog
    }

    /// Whether registration has ended.
    pub fn is_sealed(&self) -> bool {
        matches!(&*self.state(), State::Sealed(_))
    }

    /// The catalogue, once it is sealed.
    pub fn catalog(&self) -> Option<Catalog<R>> {
        match &*self.state() {
            State::Open(_) => None,
            State::Sealed(catalog) => Some(catalog.clone()),
        }
    }

    fn change(&self, id: &str, change: impl FnOnce(&mut Registry<R>) -> Result<(), RegisterError>) -> Result<&Self, RegisterError> {
        match &mut *self.state() {
            State::Open(registry) => change(registry)?,
            State::Sealed(_) => return Err(RegisterError::new(id, RegisterFault::Sealed)),
        }
        Ok(self)
    }

    /// INVARIANT: a registration changes the registry only after everything of the host's was asked, so one that
    /// broke down in a rule has changed nothing.
    fn state(&self) -> MutexGuard<'_, State<R>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

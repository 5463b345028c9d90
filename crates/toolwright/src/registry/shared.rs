//! A registry that several owners fill at the same time, until one of them seals it.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::handlers::{Finalizer, Normalizer};
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
/// Nothing of the host's runs while the registry is held: a tool is judged by what is registered then, and once more
/// when another owner was faster. So a rule of the policy may be asked several times about one tool, and may use the
/// same shared registry; one that registers something new each time it is asked comes to no end.
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
    Open(Arc<Registry<R>>),
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
        Self(Arc::new(Mutex::new(State::Open(Arc::new(registry)))))
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
        let declaration = self.open(&id)?.renewed(declaration);
        loop {
            let registry = self.open(&id)?;
            let (tool, hashes, warned) = registry.judged(&declaration)?;
            // What is judged goes in under the lock, and nothing of the host's is asked or dropped there.
            let mut install = Some((tool, declaration.clone(), hashes, warned));
            let installed = self.replace(&id, registry, |mut registry| {
                if let Some((tool, declaration, hashes, warned)) = install.take() {
                    registry.install(tool, declaration, hashes, warned);
                }
                registry
            })?;
            if installed {
                return Ok(self);
            }
        }
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
        self.change(&first, |registry| registry.register_all(declarations.iter().cloned()).map(drop))
    }

    /// Installs the one handler that changes values for [`View::normalize`].
    ///
    /// # Errors
    /// As [`Registry::register_normalizer`], and [`RegisterFault::Sealed`].
    pub fn register_normalizer<T: IntoHook<Value>>(
        &self,
        normalizer: impl Fn(Value, R::NormalizerArgs) -> T + Send + Sync + 'static,
    ) -> Result<&Self, RegisterError> {
        let normalizer: Arc<Normalizer<R>> = Arc::new(move |value, arguments| normalizer(value, arguments).into_hook());
        self.change("normalizer", |registry| {
            if registry.view.normalizer.is_some() {
                return Err(RegisterError::new("normalizer", RegisterFault::NormalizerInstalled));
            }
            registry.view.normalizer = Some(normalizer.clone());
            Ok(())
        })
    }

    /// Installs the one handler that makes replies for [`View::finish`].
    ///
    /// # Errors
    /// As [`Registry::register_finalizer`], and [`RegisterFault::Sealed`].
    pub fn register_finalizer(
        &self,
        finalizer: impl Fn(&R::Receiver, R::Decision, &R::Context) -> Result<R::Reply, CallError> + Send + Sync + 'static,
    ) -> Result<&Self, RegisterError> {
        let finalizer: Arc<Finalizer<R>> = Arc::new(finalizer);
        self.change("finalizer", |registry| {
            if registry.view.finalizer.is_some() {
                return Err(RegisterError::new("finalizer", RegisterFault::FinalizerInstalled));
            }
            registry.view.finalizer = Some(finalizer.clone());
            Ok(())
        })
    }

    /// Reads what is registered now. Nobody waits for `read`: it sees nothing of what other owners register meanwhile.
    pub fn with<T>(&self, read: impl FnOnce(&View<R>) -> T) -> T {
        let state = self.state();
        let catalog = match &*state {
            State::Open(registry) => Err(registry.clone()),
            State::Sealed(catalog) => Ok(catalog.clone()),
        };
        drop(state);
        match catalog {
            Ok(catalog) => read(&catalog),
            Err(registry) => read(&registry),
        }
    }

    /// Ends registration. A second time gives the same catalogue again.
    pub fn seal(&self) -> Catalog<R> {
        let mut state = self.state();
        let registry = match &mut *state {
            State::Sealed(catalog) => return catalog.clone(),
            State::Open(registry) => std::mem::replace(registry, Arc::new(Registry::of(Options::default()))),
        };
        let sealed = owned(registry).seal();
        let former = std::mem::replace(&mut *state, State::Sealed(sealed.clone()));
        drop(state);
        drop(former);
        sealed
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

    /// Changes a copy, which takes the place of the registry unless that has changed meanwhile.
    fn change(&self, id: &str, change: impl Fn(&mut Registry<R>) -> Result<(), RegisterError>) -> Result<&Self, RegisterError> {
        loop {
            let registry = self.open(id)?;
            let mut changed = copied(&registry);
            change(&mut changed)?;
            if self.replace(id, registry, |_| changed)? {
                return Ok(self);
            }
        }
    }

    /// What is registered now, to be judged by.
    fn open(&self, id: &str) -> Result<Arc<Registry<R>>, RegisterError> {
        match &*self.state() {
            State::Open(registry) => Ok(registry.clone()),
            State::Sealed(_) => Err(RegisterError::new(id, RegisterFault::Sealed)),
        }
    }

    /// Puts what `next` makes of the registry in its place; `false` when it is no longer the one that was judged by.
    fn replace(&self, id: &str, judged: Arc<Registry<R>>, next: impl FnOnce(Registry<R>) -> Registry<R>) -> Result<bool, RegisterError> {
        let mut state = self.state();
        let State::Open(now) = &mut *state else { return Err(RegisterError::new(id, RegisterFault::Sealed)) };
        if !Arc::ptr_eq(now, &judged) {
            return Ok(false);
        }
        drop(judged);
        let former = std::mem::replace(now, Arc::new(Registry::of(Options::default())));
        // Copied only when somebody reads it at this moment; what is dropped then is a handle.
        *now = Arc::new(next(owned(former)));
        Ok(true)
    }

    /// INVARIANT: no code of the host's runs while it is held.
    fn state(&self) -> MutexGuard<'_, State<R>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The registry, when nobody else holds it any more; a copy otherwise.
fn owned<R: Runtime>(registry: Arc<Registry<R>>) -> Registry<R> {
    Arc::try_unwrap(registry).unwrap_or_else(|shared| copied(&shared))
}

/// As it is now: the same tools, which find the same catalogue once one of the copies is sealed.
fn copied<R: Runtime>(registry: &Registry<R>) -> Registry<R> {
    let view = &registry.view;
    let view = View {
        entries: view.entries.clone(),
        index: view.index.clone(),
        delegates: view.delegates.clone(),
        outputs: view.outputs.clone(),
        options: view.options.clone(),
        folds: view.folds.clone(),
        normalizer: view.normalizer.clone(),
        finalizer: view.finalizer.clone(),
        generation: view.generation,
        warnings: view.warnings.clone(),
        has_forged: view.has_forged,
        fingerprint: view.fingerprint.clone(),
    };
    Registry { view, home: registry.home.clone(), suspends: registry.suspends }
}

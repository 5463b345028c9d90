//! The hooks of one tool as they are kept, and the only way to call one: a panic inside is a refusal.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use super::{Access, IntoHook, Lifecycle, ModelField, Rule};
use crate::refusal::Refusal;
use crate::runtime::Runtime;
use crate::value::Value;

/// Calls host code that answers with a value or a refusal. A panic is the refusal `hook_panicked`, which names the hook.
pub(crate) fn guarded<T>(hook: &str, call: impl FnOnce() -> Result<T, Refusal>) -> Result<T, Refusal> {
    catch_unwind(AssertUnwindSafe(call)).unwrap_or_else(|panic| Err(panicked(hook, panic)))
}

#[cold]
fn panicked(hook: &str, panic: Box<dyn Any + Send>) -> Refusal {
    let said = panic.downcast_ref::<&str>().map(|said| (*said).to_owned()).or_else(|| panic.downcast_ref::<String>().cloned());
    crate::call::forgotten(panic);
    tracing::warn!(hook, said = said.as_deref().unwrap_or_default(), "a hook or port of the host panicked");
    let message = match said {
        Some(said) => format!("the hook `{hook}` panicked: {said}"),
        None => format!("the hook `{hook}` panicked"),
    };
    Refusal::new(arcstr::literal!("hook_panicked"), message).help("a hook that cannot decide counts as a no; whoever wrote it must mend it")
}

/// Makes, from one row for each hook, the place where it is kept and the function that calls it. `alone` hooks are
/// set one by one only; `shared` ones are methods of [`Lifecycle`] as well.
macro_rules! hooks {
    (
        alone { $($one:ident($($one_arg:ident: $one_type:ty),*) -> $one_out:ty = $one_neutral:expr;)* }
        shared { $($many:ident($($many_arg:ident: $many_type:ty),*) -> $many_out:ty = $many_neutral:expr;)* }
    ) => {
        hooks! { @all
            $($one($($one_arg: $one_type),*) -> $one_out = $one_neutral;)*
            $($many($($many_arg: $many_type),*) -> $many_out = $many_neutral;)*
        }

        impl<R: Runtime> Hooks<R> {
            /// Installs every hook of one object.
            pub(crate) fn install<L: Lifecycle<R> + ?Sized>(&mut self, lifecycle: &Arc<L>) {
                $({
                    let own = lifecycle.clone();
                    let hook = move |$($many_arg: $many_type),*| IntoHook::<$many_out>::into_hook(own.$many($($many_arg),*));
                    put(&mut self.$many, &mut self.twice, stringify!($many), Arc::new(hook));
                })*
            }
        }

        #[cfg(test)]
        pub(super) const SHARED: &[&str] = &[$(stringify!($many)),*];
    };
    (@all $($name:ident($($arg:ident: $type:ty),*) -> $out:ty = $neutral:expr;)*) => {
        /// The hooks of one tool; what is not set is neutral.
        pub(crate) struct Hooks<R: Runtime> {
            $(pub(crate) $name: Option<Arc<dyn Fn($($type),*) -> Result<$out, Refusal> + Send + Sync>>,)*
            /// Hooks that were set more than once, for the error of the registration.
            pub(crate) twice: Vec<&'static str>,
        }

        impl<R: Runtime> Default for Hooks<R> {
            fn default() -> Self {
                Self { $($name: None,)* twice: Vec::new() }
            }
        }

        impl<R: Runtime> Clone for Hooks<R> {
            fn clone(&self) -> Self {
                Self { $($name: self.$name.clone(),)* twice: self.twice.clone() }
            }
        }

        impl<R: Runtime> Hooks<R> {
            /// Names of the hooks that are set.
            pub(crate) fn names(&self) -> impl Iterator<Item = &'static str> {
                [$((stringify!($name), self.$name.is_some())),*].into_iter().filter_map(|(name, set)| set.then_some(name))
            }

            $(
                /// Calls the hook of this name; a panic is a refusal. Neutral when it is not set.
                pub(crate) fn $name(&self, $($arg: $type),*) -> Result<$out, Refusal> {
                    match &self.$name {
                        None => Ok($neutral),
                        Some(hook) => guarded(stringify!($name), || hook($($arg),*)),
                    }
                }
            )*
        }

        #[cfg(test)]
        pub(super) const ALL: &[&str] = &[$(stringify!($name)),*];
    };
}

hooks! {
    alone {
        available(_context: &R::Context) -> bool = true;
    }
    shared {
        supports_goal(_goal: &str, _context: &R::Context) -> Option<bool> = None;
        rules(_context: &R::Context) -> Vec<Rule> = Vec::new();
        fields(_context: &R::Context) -> Vec<ModelField<R::Placement>> = Vec::new();
        project_context(value: Value) -> Value = value;
        recovery_context(_context: &R::Context) -> Option<Value> = None;
        resolve(input: Value, _context: &R::Context) -> Value = input;
        inspect(_decision: &R::Decision, _context: &R::Context) -> () = ();
        authorize(_access: &Access<'_, R>) -> () = ();
        resume(_decision: &R::Decision, _context: &R::Context) -> bool = false;
        missing_interaction_allowed(_decision: &R::Decision, _context: &R::Context) -> bool = false;
        complete(_decision: &R::Decision, _context: &R::Context) -> Option<R::Decision> = None;
        visible_text(text: String, _context: &R::Context) -> String = text;
        review_draft(draft: Value, _context: &R::Context) -> Value = draft;
        composition(_context: &R::Context) -> Option<R::Composition> = None;
        finalize(_decision: &R::Decision, _context: &R::Context, _phase: &R::Phase) -> () = ();
    }
}

/// Keeps a hook. The first one stays when there is one already, and the second is remembered as a mistake.
pub(crate) fn put<H: ?Sized>(slot: &mut Option<Arc<H>>, twice: &mut Vec<&'static str>, name: &'static str, hook: Arc<H>) {
    match slot {
        None => *slot = Some(hook),
        Some(_) if twice.contains(&name) => {}
        Some(_) => twice.push(name),
    }
}

impl<R: Runtime> Hooks<R> {
    /// As a declaration keeps them: nothing, when no hook was set.
    pub(crate) fn into_shared(self) -> Option<Arc<Self>> {
        let any = self.names().next().is_some() || !self.twice.is_empty();
        any.then(|| Arc::new(self))
    }

    /// Whether the tool may be used by this caller now. A predicate that panics says no.
    pub(crate) fn is_available(&self, context: &R::Context) -> bool {
        self.available(context).unwrap_or(false)
    }

    /// Whether being available depends on the caller.
    pub(crate) fn is_conditional(&self) -> bool {
        self.available.is_some()
    }
}

impl<R: Runtime> std::fmt::Debug for Hooks<R> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_list().entries(self.names()).finish()
    }
}

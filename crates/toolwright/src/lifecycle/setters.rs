//! The builder methods of all hooks, written once for the builder of tools and for composites.

/// Makes the methods that set hooks, for a builder over `R` that keeps its [`Hooks`](super::hooks::Hooks) in the
/// field `$hooks`. Invoke it inside the `impl<R: Runtime>` of that builder.
macro_rules! hook_setters {
    ($hooks:ident) => {
        $crate::lifecycle::setters::hook_setter! { $hooks
            /// Whether the tool may be used by this caller now; without it, always. Must be cheap and have no side
            /// effects; a panic counts as no. Being available is no permission: `authorize` decides that.
            says available(context: &R::Context) -> bool;
            /// Whether the tool stands in the way of a goal: `Some(false)` is a veto. Asked of every tool.
            says supports_goal(goal: &str, context: &R::Context) -> Option<bool>;
            /// Lines for the rules of the task in the model's prompt. Asked of every available tool.
            says rules(context: &R::Context) -> Vec<$crate::lifecycle::Rule>;
            /// Values for the model's context. Asked of every available tool.
            says fields(context: &R::Context) -> Vec<$crate::lifecycle::ModelField<R::Placement>>;
            /// Changes what is shown to the model as context; may answer with a `Result`. Asked of every tool, in order.
            changes project_context(value: $crate::value::Value) -> $crate::value::Value;
            /// What a model should know that takes over after a break. Asked of every tool.
            says recovery_context(context: &R::Context) -> Option<$crate::value::Value>;
            /// What a model's checked arguments become when it selects the tool; may answer with a `Result`. A refusal
            /// lets the model choose again. Asked of the selected tool.
            changes resolve(input: $crate::value::Value, context: &R::Context) -> $crate::value::Value;
            /// Looks at a decision for any tool; the first refusal ends it. Asked of every tool, in order.
            checks inspect(decision: &R::Decision, context: &R::Context) -> ();
            /// May this call run? Judged beforehand and again at the call itself. Asked of the selected tool.
            checks authorize(access: &$crate::lifecycle::Access<'_, R>) -> ();
            /// Whether a decision goes on with what was begun; without it, it starts afresh. Asked of the selected tool.
            says resume(decision: &R::Decision, context: &R::Context) -> bool;
            /// Whether the user's answer may be missing. One yes is enough. Asked of every available tool.
            says missing_interaction_allowed(decision: &R::Decision, context: &R::Context) -> bool;
            /// Rewrites the decision after the call; may answer with a `Result`. Asked of the selected tool.
            changes complete(decision: &R::Decision, context: &R::Context) -> Option<R::Decision>;
            /// Changes the text that people see; may answer with a `Result`. Asked of every tool, in order.
            changes visible_text(text: String, context: &R::Context) -> String;
            /// Changes a draft before it is delivered; may answer with a `Result`. Asked of every tool, in order.
            changes review_draft(draft: $crate::value::Value, context: &R::Context) -> $crate::value::Value;
            /// The output template that owns the delivery; two of them are an error. Asked of every available tool.
            says composition(context: &R::Context) -> Option<R::Composition>;
            /// Ends what the tool began; the only hook that may act. Asked of every tool, whatever others answer.
            checks finalize(decision: &R::Decision, context: &R::Context, phase: &R::Phase) -> ();
        }

        /// All hooks from one object, `available` excepted. A hook that is set beside it is set twice, which
        /// registration reports.
        #[must_use = "the hook is set in what is given back"]
        pub fn lifecycle<L: $crate::lifecycle::Lifecycle<R> + ?Sized>(mut self, lifecycle: ::std::sync::Arc<L>) -> Self {
            self.$hooks.install(&lifecycle);
            self
        }
    };
}
pub(crate) use hook_setters;

/// `says`: the closure answers with the value itself. `checks`: with `Result<(), Refusal>`. `changes`: with either.
macro_rules! hook_setter {
    ($hooks:ident $($(#[$doc:meta])* $kind:ident $name:ident($($arg:ident: $type:ty),*) -> $out:ty;)*) => {
        $($crate::lifecycle::setters::hook_setter! { @$kind $hooks $(#[$doc])* $name($($arg: $type),*) -> $out })*
    };
    (@says $hooks:ident $(#[$doc:meta])* $name:ident($($arg:ident: $type:ty),*) -> $out:ty) => {
        $(#[$doc])*
        #[must_use = "the hook is set in what is given back"]
        pub fn $name(mut self, hook: impl Fn($($type),*) -> $out + Send + Sync + 'static) -> Self {
            let hook = ::std::sync::Arc::new(move |$($arg: $type),*| Ok(hook($($arg),*)));
            $crate::lifecycle::hooks::put(&mut self.$hooks.$name, &mut self.$hooks.twice, stringify!($name), hook);
            self
        }
    };
    (@checks $hooks:ident $(#[$doc:meta])* $name:ident($($arg:ident: $type:ty),*) -> $out:ty) => {
        $(#[$doc])*
        #[must_use = "the hook is set in what is given back"]
        pub fn $name(
            mut self,
            hook: impl Fn($($type),*) -> Result<$out, $crate::refusal::Refusal> + Send + Sync + 'static,
        ) -> Self {
            let hook = ::std::sync::Arc::new(hook);
            $crate::lifecycle::hooks::put(&mut self.$hooks.$name, &mut self.$hooks.twice, stringify!($name), hook);
            self
        }
    };
    (@changes $hooks:ident $(#[$doc:meta])* $name:ident($($arg:ident: $type:ty),*) -> $out:ty) => {
        $(#[$doc])*
        #[must_use = "the hook is set in what is given back"]
        pub fn $name<T: $crate::lifecycle::IntoHook<$out>>(
            mut self,
            hook: impl Fn($($type),*) -> T + Send + Sync + 'static,
        ) -> Self {
            let hook = ::std::sync::Arc::new(move |$($arg: $type),*| hook($($arg),*).into_hook());
            $crate::lifecycle::hooks::put(&mut self.$hooks.$name, &mut self.$hooks.twice, stringify!($name), hook);
            self
        }
    };
}
pub(crate) use hook_setter;

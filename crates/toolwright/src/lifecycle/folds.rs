//! Which tools declare which hook, so that a fold over a thousand tools touches only those that have a say in it.

use super::hooks::Hooks;
use crate::runtime::Runtime;

macro_rules! folds {
    ($($name:ident),*) => {
        /// For each hook that is asked of every tool: positions of the tools that declare it, in order.
        #[derive(Clone, Debug, Default)]
        pub(crate) struct Folds {
            $(pub(crate) $name: Vec<usize>,)*
        }

        impl Folds {
            /// Notes the hooks of the tool at `index`. Called in the order of registration.
            pub(crate) fn add<R: Runtime>(&mut self, index: usize, hooks: &Hooks<R>) {
                $(if hooks.$name.is_some() {
                    self.$name.push(index);
                })*
            }

            /// Forgets the tools from `index` on.
            pub(crate) fn forget_from(&mut self, index: usize) {
                $(self.$name.retain(|at| *at < index);)*
            }
        }
    };
}

folds!(
    inspect,
    project_context,
    visible_text,
    review_draft,
    recovery_context,
    composition,
    finalize,
    missing_interaction_allowed,
    rules,
    fields,
    supports_goal
);

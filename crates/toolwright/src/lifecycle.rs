//! Hooks: what a tool may say beside being called, from the listing of tools to the end of a delivery.
//!
//! A hook decides, changes or contributes; it cannot run a tool, and it is synchronous, so that nothing is left half
//! done. When each runs, in one picture:
//!
//! ```text
//!  a turn                                                        a call, on every path
//!  ------                                                        ---------------------
//!  listing     available, supports_goal                          available        no -> forbidden
//!  prompting   rules, fields, project_context, recovery_context  suspended?      yes -> suspended
//!      |                                                         arguments checked against the schema
//!  the model answers with a decision; `resolve` takes arguments  inspect, a step no -> inspected
//!      |                                                         authorize        no -> denied
//!  deciding    inspect, resume, authorize,                           |
//!              missing_interaction_allowed  --- the call --->    the tool runs
//!  ending      complete, visible_text, review_draft,
//!              composition, finalize
//! ```
//!
//! Three rules hold for all of them. *Restrict always, offer only when available*: what restricts or changes is asked
//! of every tool, also of one that is switched off; what offers or permits counts for available tools only. *Fail
//! closed*: an error or a panic is a refusal that names the hook and the tool. *In order*: hooks run in the order of
//! registration, and the selected tool takes part once, in its place.
//!
//! [`Lifecycle`] has all of them on one object; [`ToolBuilder`](crate::ToolBuilder) and [`Composite`](crate::Composite)
//! set them one by one. What they speak in: [`Access`], [`Rule`], [`ModelField`], [`ContextFragment`], [`IntentSpec`];
//! [`IntoHook`] is why a hook may answer with a value or a `Result`. What the hooks of all tools say together is asked
//! of a [`View`](crate::View).

use crate::refusal::Refusal;
use crate::runtime::{Rt, Runtime};
use crate::value::Value;

pub(crate) mod folds;
pub(crate) mod hooks;
mod parts;
pub(crate) mod setters;

pub(crate) use hooks::{Hooks, guarded};
pub use parts::{Access, ContextFragment, IntentSpec, ModelField, Rule};
pub(crate) use setters::hook_setters;

/// What a hook that changes something may answer with: the value, or a `Result` of it.
///
/// ```
/// use toolwright::{IntoHook, Refusal};
/// let plain: Result<String, Refusal> = String::from("as it is").into_hook();
/// let refused: Result<String, Refusal> = Err(Refusal::from("no")).into_hook();
/// assert!(plain.is_ok() && refused.is_err());
/// ```
#[diagnostic::on_unimplemented(
    message = "a hook must answer with `{T}` or `Result<{T}, Refusal>`",
    note = "hooks are synchronous: a future is no answer"
)]
pub trait IntoHook<T> {
    /// The answer as a result.
    ///
    /// # Errors
    /// The refusal that the hook answered with.
    fn into_hook(self) -> Result<T, Refusal>;
}

impl<T> IntoHook<T> for T {
    fn into_hook(self) -> Result<T, Refusal> {
        Ok(self)
    }
}

impl<T> IntoHook<T> for Result<T, Refusal> {
    fn into_hook(self) -> Self {
        self
    }
}

/// All hooks of a tool on one object; each has a default that changes nothing.
///
/// Hooks may be called any number of times for one decision and must have no side effects, `finalize` excepted. No
/// lock is held while one runs, so a hook may read the catalogue it belongs to. One that panics has refused; the
/// refusal's code is `hook_panicked`.
///
/// `available` is not among them: a tool that has one is only listed for a known caller, so it is set on the
/// declaration, where it can be seen that it is there.
///
/// ```
/// use std::sync::Arc;
/// use toolwright::{Context, Decision, Lifecycle, Refusal, Rt, Rule};
///
/// /// Keeps a password out of everything that is shown.
/// struct Redact { secret: String }
///
/// impl Lifecycle<Rt> for Redact {
///     fn rules(&self, _: &Context) -> Vec<Rule> {
///         vec![Rule::new(10, "Never repeat a password.")]
///     }
///     fn visible_text(&self, text: String, _: &Context) -> Result<String, Refusal> {
///         Ok(text.replace(&self.secret, "***"))
///     }
/// }
///
/// let redact: Arc<dyn Lifecycle<Rt>> = Arc::new(Redact { secret: "hunter2".into() });
/// let shown = redact.visible_text("it is hunter2".into(), &Context::default())?;
/// assert_eq!(shown, "it is ***");
/// # Ok::<(), Refusal>(())
/// ```
///
/// That hooks are synchronous, and that a check answers with more than yes or no, is a matter of types. These compile:
///
/// ```
/// # use toolwright::{Context, Rt, Runtime};
/// type App = Rt<Context>;
/// let _ = App::tool("a", "b").review_draft(|draft, _| draft).inspect(|_, _| Ok(()));
/// let _ = App::tool("a", "b").review_draft(|_, _| Err("no".into())).authorize(|_| Err("no".into()));
/// ```
///
/// These do not:
///
/// ```compile_fail,E0308
/// # use toolwright::{Context, Rt, Runtime};
/// # type App = Rt<Context>;
/// let _ = App::tool("a", "b").inspect(|_, _| async { Ok(()) });
/// ```
///
/// ```compile_fail,E0277
/// # use toolwright::{Context, Rt, Runtime};
/// # type App = Rt<Context>;
/// let _ = App::tool("a", "b").review_draft(|draft, _| async move { draft });
/// ```
///
/// ```compile_fail,E0308
/// # use toolwright::{Context, Rt, Runtime};
/// # type App = Rt<Context>;
/// let _ = App::tool("a", "b").authorize(|_| true);
/// ```
#[expect(unused_variables, reason = "the names in the defaults are documentation")]
pub trait Lifecycle<R: Runtime = Rt>: Send + Sync + 'static {
    // Listing: what there is for this caller.

    /// Whether the tool stands in the way of a goal. `Some(false)` is a veto, and one veto decides; `Some(true)` does
    /// not outvote it. By default silence, which is support.
    ///
    /// Asked of every tool, available or not, when goals are listed. A panic is a veto.
    fn supports_goal(&self, goal: &str, context: &R::Context) -> Option<bool> {
        None
    }

    // Prompting: what the model reads before it decides.

    /// Lines for the rules of the task. By default none.
    ///
    /// Asked of every available tool when a prompt is built; the lines of all tools are sorted by their order. A tool
    /// whose hook panics contributes nothing.
    fn rules(&self, context: &R::Context) -> Vec<Rule> {
        Vec::new()
    }

    /// Values for the model's context. By default none.
    ///
    /// Asked of every available tool when a prompt is built; only those of the asked placement are used, sorted by
    /// their order. A tool whose hook panics contributes nothing.
    fn fields(&self, context: &R::Context) -> Vec<ModelField<R::Placement>> {
        Vec::new()
    }

    /// Changes what is shown to the model as context. By default nothing is changed.
    ///
    /// Asked of every tool, available or not, when a prompt is built: each gets what the one before it made.
    ///
    /// # Errors
    /// A refusal ends the whole projection; no half-changed value comes out.
    fn project_context(&self, value: Value) -> Result<Value, Refusal> {
        Ok(value)
    }

    /// What a model should know that takes over after a break. By default nothing; `null` is a value and not nothing.
    ///
    /// Asked of every tool, available or not, when a run is recovered. A tool whose hook panics contributes nothing.
    fn recovery_context(&self, context: &R::Context) -> Option<Value> {
        None
    }

    // Deciding: what is to be done, and whether it may be.

    /// What a model's arguments become when it selects the tool; they are checked against the schema already. By
    /// default they stay as they are.
    ///
    /// Asked of the selected tool, inside the model's call; nothing is authorized or run by it.
    ///
    /// # Errors
    /// A refusal rejects the selection, and the model may choose again.
    fn resolve(&self, input: Value, context: &R::Context) -> Result<Value, Refusal> {
        Ok(input)
    }

    /// Looks at a decision, whichever tool or output it selects. By default it passes.
    ///
    /// Asked of every tool, available or not, before a decision is carried out; of the selected one once, in its place.
    ///
    /// # Errors
    /// The first refusal ends the inspection: the decision is not carried out, and later tools are not asked.
    fn inspect(&self, decision: &R::Decision, context: &R::Context) -> Result<(), Refusal> {
        Ok(())
    }

    /// May this call run? By default it may.
    ///
    /// Asked of the selected tool: beforehand when a decision is judged, and again on every path to the tool, when its
    /// arguments are checked. An earlier yes is not trusted.
    ///
    /// # Errors
    /// A refusal denies the call; the tool is not started.
    fn authorize(&self, access: &Access<'_, R>) -> Result<(), Refusal> {
        Ok(())
    }

    /// Whether the decision goes on with what was begun. By default it starts afresh.
    ///
    /// Asked of the selected tool before the call. A panic is an error of the question.
    fn resume(&self, decision: &R::Decision, context: &R::Context) -> bool {
        false
    }

    /// Whether the user's answer may be missing. By default it may not; one yes of any tool is enough.
    ///
    /// Asked of every available tool, so that one that is switched off permits nothing. A panic is no permission.
    fn missing_interaction_allowed(&self, decision: &R::Decision, context: &R::Context) -> bool {
        false
    }

    // Ending: what becomes of it.

    /// Rewrites the decision after the call. By default it stays.
    ///
    /// Asked of the selected tool. A rewrite that selects another tool is inspected and authorized like any decision.
    ///
    /// # Errors
    /// A refusal is an error of the question; nothing is rewritten.
    fn complete(&self, decision: &R::Decision, context: &R::Context) -> Result<Option<R::Decision>, Refusal> {
        Ok(None)
    }

    /// Changes the text that people see. By default nothing is changed.
    ///
    /// Asked of every tool, available or not: each gets what the one before it made.
    ///
    /// # Errors
    /// A refusal ends it: there is no text to show.
    fn visible_text(&self, text: String, context: &R::Context) -> Result<String, Refusal> {
        Ok(text)
    }

    /// Changes a draft before it is delivered. By default nothing is changed.
    ///
    /// Asked of every tool, available or not: each gets what the one before it made.
    ///
    /// # Errors
    /// A refusal ends it: there is no draft to show.
    fn review_draft(&self, draft: Value, context: &R::Context) -> Result<Value, Refusal> {
        Ok(draft)
    }

    /// The output template that owns the delivery. By default none.
    ///
    /// Asked of every available tool; two that answer are an error that names both.
    fn composition(&self, context: &R::Context) -> Option<R::Composition> {
        None
    }

    /// Ends what the tool began: the only hook that may act, since it is called once for each phase. By default nothing.
    ///
    /// Asked of every tool, available or not, also when the call failed.
    ///
    /// # Errors
    /// A refusal does not keep the others from being asked; all of them are reported together.
    fn finalize(&self, decision: &R::Decision, context: &R::Context, phase: &R::Phase) -> Result<(), Refusal> {
        Ok(())
    }
}

#[cfg(test)]
mod tests;

//! What the hooks of a catalogue's tools say together. Knows the order and what counts; each hook itself is called,
//! and its panics caught, in `lifecycle/hooks.rs`. Nothing here runs a tool.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::View;
use super::view::{Registered, Said};
use crate::call::quietly;
use crate::error::{CallError, Fault};
use crate::lifecycle::{Access, ContextFragment, Hooks, ModelField, Rule, guarded};
use crate::protocol::Protocol;
use crate::refusal::Refusal;
use crate::runtime::Runtime;
use crate::value::{Text, Value};

/// What tools say about a goal. See [`View::goal_support`].
///
/// ```
/// use toolwright::{Context, GoalSupport, Registry, json, tool};
/// let quiet = tool("quiet", "Works at night").reads().supports_goal(|goal, _| (goal == "sing").then_some(false));
/// let catalog = Registry::new().with(quiet.run_json(|v, _| async move { Ok(v) }))?.seal();
/// let cx = Context::default();
/// assert_eq!(catalog.goal_support("sing", &cx), GoalSupport::Vetoed { by: vec!["quiet".into()] });
/// assert_eq!(catalog.goal_support("work", &cx), GoalSupport::Silent);
/// assert!(catalog.supports_goal("work", &cx) && !catalog.supports_goal("sing", &cx));
/// # Ok::<(), toolwright::RegisterError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum GoalSupport {
    /// Nobody says anything, which is support.
    Silent,
    /// Somebody speaks for it and nobody against it.
    Supported {
        /// Ids of the tools that speak for it, in order.
        by: Vec<Text>,
    },
    /// Somebody stands in its way; what others say does not count.
    Vetoed {
        /// Ids of the tools that stand in its way, in order.
        by: Vec<Text>,
    },
}

/// The first handlers of a host: what is not a tool's own.
impl<R: Runtime> View<R> {
    /// The value as the normaliser makes it; unchanged when none is installed.
    ///
    /// # Errors
    /// `hook_failed` when the normaliser refuses or panics.
    pub fn normalize(&self, value: Value, args: R::NormalizerArgs) -> Result<Value, CallError> {
        let Some(normalizer) = &self.normalizer else { return Ok(value) };
        guarded("normalizer", || normalizer(value, args)).map_err(|refusal| self.broken("normalizer", refusal))
    }

    /// The finalizer's reply to a decision, for this receiver. No `finalize` hook is asked.
    ///
    /// # Errors
    /// `no_finalizer` when none is installed, `hook_failed` when it panics, and otherwise its own.
    pub fn finish(&self, receiver: &R::Receiver, decision: R::Decision, cx: &R::Context) -> Result<R::Reply, CallError> {
        let Some(finalizer) = &self.finalizer else { return Err(CallError::from(Fault::NoFinalizer).with_public_code(self)) };
        guarded("finalizer", || Ok(finalizer(receiver, decision, cx)))
            .map_err(|refusal| self.broken("finalizer", refusal))?
            .map_err(|error| error.with_public_code(self))
    }

    /// The finalizer's reply to a decision, for the receiver of [`crate::Options::receiver`].
    ///
    /// # Errors
    /// As [`View::finish`], and `no_receiver` without that port.
    pub fn finish_default(&self, decision: R::Decision, cx: &R::Context) -> Result<R::Reply, CallError> {
        if self.finalizer.is_none() {
            return Err(CallError::from(Fault::NoFinalizer).with_public_code(self));
        }
        let Some(port) = &self.options.receiver else { return Err(CallError::from(Fault::NoReceiver).with_public_code(self)) };
        let receiver = guarded("receiver", || Ok(port())).map_err(|refusal| self.broken("receiver", refusal))?;
        self.finish(&receiver, decision, cx)
    }
}

/// Deciding.
impl<R: Runtime> View<R> {
    /// Asks the `inspect` hook of every tool, available or not, about a decision. The first refusal ends it. The
    /// decision need not select a tool, and the one it selects is asked once, in its place.
    ///
    /// # Errors
    /// `inspected`, with the tool whose hook refused.
    pub fn assert_decision(&self, decision: &R::Decision, cx: &R::Context) -> Result<(), CallError> {
        for (entry, hooks) in self.with_hooks(&self.folds.inspect) {
            hooks.inspect(decision, cx).map_err(|refusal| {
                let tool = entry.tool.0.name.clone();
                CallError::from(Fault::Inspected { tool, refusal }).with_public_code(self)
            })?;
        }
        Ok(())
    }

    /// Whether the decision's tool may be called now: it exists, it is available, and its own `authorize` hook agrees.
    /// An output needs no permission. A call judges again, with the arguments.
    ///
    /// # Errors
    /// `unavailable_invocation`, `forbidden`, `suspended` or `denied`.
    pub fn authorize(&self, decision: &R::Decision, cx: &R::Context) -> Result<(), CallError> {
        let Some(entry) = self.selected(decision, cx)? else { return Ok(()) };
        self.admit_available(entry, cx)?;
        let Some(hooks) = &entry.tool.0.hooks else { return Ok(()) };
        let access = Access { decision: Some(decision), ..Access::new(entry.id(), cx) };
        hooks.authorize(&access).map_err(|refusal| {
            let tool = entry.tool.0.name.clone();
            CallError::from(Fault::Denied { tool, refusal }).with_public_code(self)
        })
    }

    /// Whether the decision's tool goes on with what was begun; without a hook it starts afresh, and so does an output.
    ///
    /// # Errors
    /// `unavailable_invocation`, and `hook_failed` when the hook panics.
    pub fn resume(&self, decision: &R::Decision, cx: &R::Context) -> Result<bool, CallError> {
        let Some(entry) = self.selected(decision, cx)? else { return Ok(false) };
        let Some(hooks) = &entry.tool.0.hooks else { return Ok(false) };
        hooks.resume(decision, cx).map_err(|refusal| self.failed("resume", entry, refusal))
    }

    /// The decision that the decision's tool puts in its place when it has run; none without a hook, and none for an
    /// output. What is given back is neither inspected nor authorized yet; [`crate::Catalog::turn`] sees to that.
    ///
    /// # Errors
    /// `unavailable_invocation`, and `hook_failed` when the hook refuses or panics.
    pub fn complete(&self, decision: &R::Decision, cx: &R::Context) -> Result<Option<R::Decision>, CallError> {
        let Some(entry) = self.selected(decision, cx)? else { return Ok(None) };
        let Some(hooks) = &entry.tool.0.hooks else { return Ok(None) };
        hooks.complete(decision, cx).map_err(|refusal| self.failed("complete", entry, refusal))
    }

    /// Whether any available tool permits that the user's answer is missing. Never, when the policy requires it.
    pub fn missing_interaction_allowed(&self, decision: &R::Decision, cx: &R::Context) -> bool {
        self.permitting(decision, cx).next().is_some()
    }

    /// Ids of the available tools that permit that the user's answer is missing, in order.
    pub fn missing_interaction_allowed_by<'a>(&'a self, decision: &R::Decision, cx: &R::Context) -> Vec<&'a str> {
        self.permitting(decision, cx).collect()
    }

    fn permitting<'a, 'b>(&'a self, decision: &'b R::Decision, cx: &'b R::Context) -> impl Iterator<Item = &'a str> + use<'a, 'b, R> {
        let asked = if self.options.policy.interaction_required { &[] } else { &*self.folds.missing_interaction_allowed };
        self.with_hooks(asked)
            .filter(move |(entry, hooks)| self.offers(entry, cx) && hooks.missing_interaction_allowed(decision, cx) == Ok(true))
            .map(|(entry, _)| entry.id())
    }
}

/// Prompting.
impl<R: Runtime> View<R> {
    /// The rules of all available tools in one block, a line each: by their order, equal ones by that of registration.
    pub fn task_rules(&self, cx: &R::Context) -> String {
        let rules = self.task_rules_by_tool(cx);
        let mut block = String::with_capacity(rules.iter().map(|(_, rule)| rule.text.len().saturating_add(1)).sum());
        for (at, (_, rule)) in rules.iter().enumerate() {
            if at > 0 {
                block.push('\n');
            }
            block.push_str(&rule.text);
        }
        block
    }

    /// What [`View::task_rules`] consists of, each with the id of its tool, so that a host can see who says what to its
    /// model. Texts are trimmed, blank ones left out.
    pub fn task_rules_by_tool(&self, cx: &R::Context) -> Vec<(&str, Rule)> {
        let (mut rules, mut said): (Vec<(&str, Rule)>, _) = (Vec::new(), Said::default());
        for (entry, hooks) in self.with_hooks(&self.folds.rules) {
            if said.offers(entry, cx) {
                let own = hooks.rules(cx).unwrap_or_default().into_iter();
                rules.extend(own.filter_map(|rule| Some((entry.id(), self.admitted_rule(entry, rule)?))));
            }
        }
        rules.sort_by_key(|(_, rule)| rule.order);
        rules
    }

    /// The rule, trimmed, if there is anything in it and the host lets it in.
    fn admitted_rule(&self, entry: &Registered<R>, rule: Rule) -> Option<Rule> {
        let mut rule = trimmed(rule)?;
        if let Some(max) = self.options.policy.rule_chars
            && let Some((end, _)) = rule.text.char_indices().nth(max)
        {
            rule.text.truncate(end);
        }
        let admitted = self.options.rule_filter.as_ref().is_none_or(|port| quietly(|| port(entry.id(), &rule)).unwrap_or(false));
        admitted.then_some(rule)
    }

    /// What the available tools have for one part of the model's context: by their order, equal ones by that of
    /// registration. A field whose fragment the host's port cannot make is left out.
    pub fn context_fields(&self, cx: &R::Context, placement: &R::Placement) -> Vec<ContextFragment> {
        let fields = self.fields_at(cx, placement);
        fields.iter().filter_map(|(entry, field)| self.fragment(entry, field)).collect()
    }

    /// The values of [`View::context_fields`] in one table; of two with one key the later counts, as it is.
    pub fn model_fields(&self, cx: &R::Context, placement: &R::Placement) -> BTreeMap<Text, Value> {
        self.context_fields(cx, placement).into_iter().flat_map(|fragment| fragment.values).collect()
    }

    fn fields_at(&self, cx: &R::Context, placement: &R::Placement) -> Vec<(&Registered<R>, ModelField<R::Placement>)> {
        let (mut fields, mut said) = (Vec::new(), Said::default());
        for (entry, hooks) in self.with_hooks(&self.folds.fields) {
            if said.offers(entry, cx) {
                let own = hooks.fields(cx).unwrap_or_default().into_iter();
                fields.extend(own.filter(|field| field.placement == *placement).map(|field| (entry, field)));
            }
        }
        fields.sort_by_key(|(_, field)| field.order);
        fields
    }

    fn fragment(&self, entry: &Registered<R>, field: &ModelField<R::Placement>) -> Option<ContextFragment> {
        match &self.options.context_fragment {
            Some(port) => quietly(|| port(&entry.tool, field)),
            None => Some(ContextFragment::of(entry.tool.0.name.clone(), field)),
        }
    }

    /// The value as the `project_context` hooks of all tools, available or not, make it in turn.
    ///
    /// # Errors
    /// `hook_failed`, with the tool whose hook refused or panicked; later ones are not asked.
    pub fn project_context(&self, value: Value) -> Result<Value, CallError> {
        self.with_hooks(&self.folds.project_context).try_fold(value, |value, (entry, hooks)| {
            hooks.project_context(value).map_err(|refusal| self.failed("project_context", entry, refusal))
        })
    }

    /// What a model should know that takes over after a break, from all tools, available or not, in order. `null` is
    /// a value.
    pub fn recovery_context(&self, cx: &R::Context) -> Vec<Value> {
        self.with_hooks(&self.folds.recovery_context).filter_map(|(_, hooks)| hooks.recovery_context(cx).ok().flatten()).collect()
    }

    /// Whether no tool, available or not, stands in the way of a goal. A hook that panics does.
    pub fn supports_goal(&self, goal: &str, cx: &R::Context) -> bool {
        self.with_hooks(&self.folds.supports_goal).all(|(_, hooks)| matches!(hooks.supports_goal(goal, cx), Ok(None | Some(true))))
    }

    /// What all tools, available or not, say about a goal.
    pub fn goal_support(&self, goal: &str, cx: &R::Context) -> GoalSupport {
        let (mut supporting, mut vetoing) = (Vec::new(), Vec::new());
        for (entry, hooks) in self.with_hooks(&self.folds.supports_goal) {
            let tool = || entry.tool.0.name.clone();
            match hooks.supports_goal(goal, cx) {
                Ok(None) => {}
                Ok(Some(true)) => supporting.push(tool()),
                Ok(Some(false)) | Err(_) => vetoing.push(tool()),
            }
        }
        match (supporting.is_empty(), vetoing.is_empty()) {
            (_, false) => GoalSupport::Vetoed { by: vetoing },
            (false, true) => GoalSupport::Supported { by: supporting },
            (true, true) => GoalSupport::Silent,
        }
    }
}

/// Ending.
impl<R: Runtime> View<R> {
    /// The text that people see, as the `visible_text` hooks of all tools, available or not, make it in turn, and last
    /// of all the host's own [`crate::Options::final_text`].
    ///
    /// # Errors
    /// `hook_failed`, with the tool whose hook refused or panicked; there is no text to show then.
    pub fn visible_text(&self, text: impl Into<String>, cx: &R::Context) -> Result<String, CallError> {
        let text = self.with_hooks(&self.folds.visible_text).try_fold(text.into(), |text, (entry, hooks)| {
            hooks.visible_text(text, cx).map_err(|refusal| self.failed("visible_text", entry, refusal))
        })?;
        let Some(port) = &self.options.final_text else { return Ok(text) };
        guarded("final_text", || Ok(port(text, cx))).map_err(|refusal| self.broken("final_text", refusal))
    }

    /// The draft as the `review_draft` hooks of all tools, available or not, make it in turn.
    ///
    /// # Errors
    /// `hook_failed`, with the tool whose hook refused or panicked; there is no draft to show then.
    pub fn review_draft(&self, draft: Value, cx: &R::Context) -> Result<Value, CallError> {
        self.with_hooks(&self.folds.review_draft).try_fold(draft, |draft, (entry, hooks)| {
            hooks.review_draft(draft, cx).map_err(|refusal| self.failed("review_draft", entry, refusal))
        })
    }

    /// The output template that owns the delivery, of the one available tool that has one.
    ///
    /// # Errors
    /// `composition_conflict` when several have one, `hook_failed` when a hook panics.
    pub fn composition(&self, cx: &R::Context) -> Result<Option<R::Composition>, CallError> {
        let mut owner = None;
        let mut tools: Vec<Text> = Vec::new();
        for (entry, hooks) in self.with_hooks(&self.folds.composition) {
            if !self.offers(entry, cx) {
                continue;
            }
            if let Some(composition) = hooks.composition(cx).map_err(|refusal| self.failed("composition", entry, refusal))? {
                tools.push(entry.tool.0.name.clone());
                owner = Some(composition);
            }
        }
        if tools.len() > 1 {
            return Err(CallError::from(Fault::CompositionConflict { tools }).with_public_code(self));
        }
        Ok(owner)
    }

    /// Asks the `finalize` hook of every tool, available or not, once; a refusal keeps no other from being asked.
    ///
    /// # Errors
    /// `finalize_failed`, with every tool that refused and what it said.
    pub fn finalize(&self, decision: &R::Decision, cx: &R::Context, phase: &R::Phase) -> Result<(), CallError> {
        let mut failures = Vec::new();
        self.finalize_into(decision, cx, phase, &mut failures);
        self.finalized(failures, None)
    }

    pub(super) fn finalize_into(&self, decision: &R::Decision, cx: &R::Context, phase: &R::Phase, failures: &mut Vec<(Text, Refusal)>) {
        for (entry, hooks) in self.with_hooks(&self.folds.finalize) {
            if let Err(refusal) = hooks.finalize(decision, cx, phase) {
                failures.push((entry.tool.0.name.clone(), refusal));
            }
        }
    }

    pub(super) fn finalized(&self, failures: Vec<(Text, Refusal)>, value: Option<Value>) -> Result<(), CallError> {
        if failures.is_empty() { Ok(()) } else { Err(CallError::from(Fault::Finalize { failures, value }).with_public_code(self)) }
    }
}

/// What the others stand on.
impl<R: Runtime> View<R> {
    /// The tools at these positions, with their hooks.
    fn with_hooks<'a>(&'a self, at: &'a [usize]) -> impl Iterator<Item = (&'a Registered<R>, &'a Hooks<R>)> {
        at.iter().filter_map(|at| {
            let entry = self.entries.get(*at)?;
            Some((entry, entry.tool.0.hooks.as_deref()?))
        })
    }

    /// The tool that a decision selects; none for an output.
    fn selected(&self, decision: &R::Decision, cx: &R::Context) -> Result<Option<&Registered<R>>, CallError> {
        let invocation = R::invocation_id(decision);
        match self.tool_for(invocation, cx) {
            Some(entry) => Ok(Some(entry)),
            None if self.output_protocol(invocation).is_some() || self.output_for(invocation, cx).is_some() => Ok(None),
            None => Err(self.unclaimed(invocation)),
        }
    }

    /// The tool that an invocation means for this caller. Where an output of the context has the name of a forged tool, the
    /// output is meant: what a session forges takes nothing of the host's away.
    pub(super) fn tool_for(&self, invocation: &str, cx: &R::Context) -> Option<&Registered<R>> {
        let entry = self.claimed(invocation)?;
        let of_context = || {
            let outputs = self.options.model_outputs.as_ref().and_then(|port| quietly(|| port(cx)));
            outputs.is_some_and(|outputs| outputs.iter().any(|output| output.id == invocation))
        };
        (entry.tool.0.health.is_none() || !of_context()).then_some(entry)
    }

    /// The output of this id for this caller; one of the context stands before a fixed one.
    pub(super) fn output_for(&self, id: &str, cx: &R::Context) -> Option<Arc<Protocol>> {
        let of_context = || {
            let port = self.options.model_outputs.as_ref()?;
            quietly(|| port(cx))?.into_iter().find(|output| output.id == id).map(Arc::new)
        };
        of_context().or_else(|| self.output_protocol(id).cloned())
    }

    pub(super) fn admit_available(&self, entry: &Registered<R>, cx: &R::Context) -> Result<(), CallError> {
        if entry.tool.is_available(cx) {
            let refusal = entry.tool.0.health.as_ref().and_then(|health| health.refusal());
            return refusal.map_or(Ok(()), |refusal| Err(crate::call::suspended(refusal).with_public_code(self)));
        }
        if let Some(refusal) = entry.composite().and_then(|body| body.suspended()) {
            return Err(crate::call::suspended(refusal).with_public_code(self));
        }
        let refusal = self.options.forbidden.as_ref().and_then(|words| quietly(|| words(entry.id())));
        Err(CallError::from(Fault::Forbidden { tool: entry.tool.0.name.clone(), refusal }).with_public_code(self))
    }

    /// The hook of a tool said no, or broke down.
    #[cold]
    pub(super) fn failed(&self, hook: &'static str, entry: &Registered<R>, refusal: Refusal) -> CallError {
        CallError::from(Fault::Hook { hook, tool: entry.tool.0.name.clone(), refusal }).with_public_code(self)
    }

    /// A port of the host said no, or broke down.
    #[cold]
    pub(super) fn broken(&self, port: &'static str, refusal: Refusal) -> CallError {
        CallError::from(Fault::Hook { hook: port, tool: Text::new(), refusal }).with_public_code(self)
    }
}

fn trimmed(mut rule: Rule) -> Option<Rule> {
    let text = rule.text.trim();
    if text.is_empty() {
        return None;
    }
    if text.len() < rule.text.len() {
        rule.text = text.to_owned();
    }
    Some(rule)
}

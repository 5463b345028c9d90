//! What a host lets in, and what composites may use of it.
//!
//! [`Policy`] is the one type. It judges declarations when they are registered (kinds, audiences, effect classes,
//! goals, a rule of the host's own), names the tools with side effects that may be steps, and sets bounds. A policy
//! narrows: it can make an effect stricter and never milder.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use crate::approval::Approvals;
use crate::gate::HostChecks;
use crate::limits::{self, Limits};
use crate::runtime::{Rt, Runtime};
use crate::tool::{Effect, ToolDef};
use crate::value::Text;

/// What the host decides once for a whole catalogue.
///
/// ```
/// use toolwright::{Effect, Policy};
/// let policy: Policy = Policy::new()
///     .kinds(["read", "act"])
///     .audiences(["model", "operator"])
///     .may_chain(["send_mail"])
///     .raise_effect("fetch", Effect::write());
/// ```
#[must_use]
pub struct Policy<R: Runtime = Rt> {
    pub(crate) kinds: Option<BTreeSet<Text>>,
    pub(crate) audiences: Option<BTreeSet<Text>>,
    pub(crate) effects: Option<BTreeSet<Text>>,
    pub(crate) valid_id: Option<Arc<ValidId<R>>>,
    pub(crate) goal_exists: Option<Arc<GoalExists>>,
    pub(crate) listed: BTreeSet<Text>,
    pub(crate) hidden: BTreeSet<Text>,
    pub(crate) raised: BTreeMap<Text, Effect>,
    pub(crate) checks: Option<HostChecks<R>>,
    pub(crate) approvals: Option<Arc<Approvals<R>>>,
    pub(crate) limits: Limits,
    pub(crate) depth: u32,
    pub(crate) calls: u32,
    pub(crate) uninspected: bool,
    pub(crate) interaction_required: bool,
    pub(crate) rule_chars: Option<usize>,
    pub(crate) validates_every_step: bool,
}

type GoalExists = dyn Fn(&str) -> bool + Send + Sync;
type ValidId<R> = dyn Fn(&ToolDef<R>) -> Result<(), String> + Send + Sync;

impl<R: Runtime> std::fmt::Debug for Policy<R> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Policy")
            .field("kinds", &self.kinds)
            .field("audiences", &self.audiences)
            .field("effects", &self.effects)
            .field("may_chain", &self.listed)
            .field("limits", &self.limits)
            .finish_non_exhaustive()
    }
}

impl<R: Runtime> Clone for Policy<R> {
    fn clone(&self) -> Self {
        Self {
            kinds: self.kinds.clone(),
            audiences: self.audiences.clone(),
            effects: self.effects.clone(),
            valid_id: self.valid_id.clone(),
            goal_exists: self.goal_exists.clone(),
            listed: self.listed.clone(),
            hidden: self.hidden.clone(),
            raised: self.raised.clone(),
            checks: self.checks.clone(),
            approvals: self.approvals.clone(),
            limits: self.limits.clone(),
            depth: self.depth,
            calls: self.calls,
            uninspected: self.uninspected,
            interaction_required: self.interaction_required,
            rule_chars: self.rule_chars,
            validates_every_step: self.validates_every_step,
        }
    }
}

impl<R: Runtime> Default for Policy<R> {
    fn default() -> Self {
        Self {
            kinds: None,
            audiences: None,
            effects: None,
            valid_id: None,
            goal_exists: None,
            listed: BTreeSet::new(),
            hidden: BTreeSet::new(),
            raised: BTreeMap::new(),
            checks: None,
            approvals: None,
            limits: Limits::default(),
            depth: limits::COMPOSITE_DEPTH_MAX,
            calls: limits::CALL_DEPTH_MAX,
            uninspected: false,
            interaction_required: false,
            rule_chars: None,
            validates_every_step: false,
        }
    }
}

fn set<T: Into<Text>>(names: impl IntoIterator<Item = T>) -> Option<BTreeSet<Text>> {
    Some(names.into_iter().map(Into::into).collect())
}

impl<R: Runtime> Policy<R> {
    /// Lets every kind, audience and effect in; lists nothing, checks nothing, usual limits.
    pub fn new() -> Self {
        Self::default()
    }

    /// The kinds of tools there are, exactly as written. Not called: any. An empty list admits nothing.
    pub fn kinds<T: Into<Text>>(mut self, kinds: impl IntoIterator<Item = T>) -> Self {
        self.kinds = set(kinds);
        self
    }

    /// The audiences there are, exactly as written. Not called: any. An empty list admits nothing.
    pub fn audiences<T: Into<Text>>(mut self, audiences: impl IntoIterator<Item = T>) -> Self {
        self.audiences = set(audiences);
        self
    }

    /// The classes of effects there are, exactly as written. Not called: any, and none at all. With a list, a tool
    /// that declares no effect is refused.
    pub fn effects<T: Into<Text>>(mut self, classes: impl IntoIterator<Item = T>) -> Self {
        self.effects = set(classes);
        self
    }

    /// The host's own rule for a declaration; it sees the whole of it and gives its reason.
    pub fn valid_id(mut self, rule: impl Fn(&ToolDef<R>) -> Result<(), String> + Send + Sync + 'static) -> Self {
        self.valid_id = Some(Arc::new(rule));
        self
    }

    /// Whether a goal exists; asked for every id of an explicit list of goals. Without it, the goals of
    /// [`crate::Options::goal_ids`] at that moment, and without those any.
    pub fn goal_exists(mut self, rule: impl Fn(&str) -> bool + Send + Sync + 'static) -> Self {
        self.goal_exists = Some(Arc::new(rule));
        self
    }

    /// Tools with side effects that composites may use. The names are exact, and add to those given before.
    pub fn may_chain<T: Into<Text>>(mut self, tools: impl IntoIterator<Item = T>) -> Self {
        self.listed.extend(tools.into_iter().map(Into::into));
        self
    }

    /// Tools that composites of another audience may use. The names are exact, and add to those given before.
    pub fn may_chain_hidden<T: Into<Text>>(mut self, tools: impl IntoIterator<Item = T>) -> Self {
        self.hidden.extend(tools.into_iter().map(Into::into));
        self
    }

    /// The host's own judgement of a tool's effect. It may only be worse than what the tool says of itself: another class needs
    /// a greater impact too.
    pub fn raise_effect(mut self, tool: impl Into<Text>, effect: Effect) -> Self {
        self.raised.insert(tool.into(), effect);
        self
    }

    /// Steps run although a tool inspects decisions and the runtime cannot make a decision for a step.
    pub fn steps_uninspected(mut self) -> Self {
        self.uninspected = true;
        self
    }

    /// Validates the arguments and the output of every step against their schemas, also where the wiring of the steps is
    /// proved to fit. Without it, a document that is passed on from step to step is validated where it enters, and not
    /// once more at each of them.
    ///
    /// ```
    /// use toolwright::{Composite, Policy, Registry, json, tool};
    /// let policy = Policy::new().validate_every_step();
    /// let echo = tool("echo", "Gives back what it gets").reads().run_json(|input, _call| async move { Ok(input) });
    /// let composite = Composite::new("twice", "Echoes").step("a", "echo", json!({ "x": "$input.x" }));
    /// let catalog = Registry::with_policy(policy).with(echo)?.with(composite)?.seal();
    /// # Ok::<(), toolwright::RegisterError>(())
    /// ```
    pub fn validate_every_step(mut self) -> Self {
        self.validates_every_step = true;
        self
    }

    /// No tool may permit that an interaction is missing.
    pub fn interaction_required(mut self) -> Self {
        self.interaction_required = true;
        self
    }

    /// How many characters one rule may put into the prompt; more are cut off. Not called: any number.
    pub fn limit_rules(mut self, chars: usize) -> Self {
        self.rule_chars = Some(chars);
        self
    }

    /// Checks before each step.
    pub fn checks(mut self, checks: HostChecks<R>) -> Self {
        self.checks = Some(checks);
        self
    }

    /// Which tools ask before they run, whom, and how long.
    pub fn approvals(mut self, approvals: Approvals<R>) -> Self {
        self.approvals = if approvals.is_empty() { None } else { Some(Arc::new(approvals)) };
        self
    }

    /// Bounds of every run.
    pub fn limits(mut self, limits: Limits) -> Self {
        self.limits = limits;
        self
    }

    /// How deep composites may nest: at most, and by default, [`limits::COMPOSITE_DEPTH_MAX`].
    pub fn limit_depth(mut self, depth: u32) -> Self {
        self.depth = depth.min(limits::COMPOSITE_DEPTH_MAX);
        self
    }

    /// How deep calls may nest inside each other, composites or not; [`limits::CALL_DEPTH_MAX`] by default.
    pub fn limit_calls(mut self, calls: u32) -> Self {
        self.calls = calls;
        self
    }
}

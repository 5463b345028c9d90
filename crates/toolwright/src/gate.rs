//! The gate: which tool a step means now, whether it may be chained, and the
//! host's own checks. A gate decides; it cannot run anything.
//!
//! In reading order: [`Chainability`] is the rule, one answer for each tool. [`HostChecks`] are the host's own checks
//! before a step, with an [`Approver`] who may be a person; a [`StepRequest`] is what they see. [`StepGate`] and
//! [`HostGate`] are for a [`Composer`](crate::Composer), whose answer about one tool is a [`StepCheck`].

use std::sync::Arc;

use crate::approval::{Answer, Request};
use crate::cancel::CancelToken;
use crate::catalog::View;
use crate::composer::Bound;
use crate::composite::{CompositeBody, GateOf};
use crate::frame::current_frame;
use crate::journal::Eventually;
use crate::refusal::Refusal;
use crate::runtime::{Rt, Runtime};
use crate::tool::{BoxFuture, ToolDef};
use crate::value::{Text, Value};

/// Where a composer's steps find their tools, and the host's checks before each of them.
/// A host that only wants checks takes [`HostGate`].
///
/// ```
/// use toolwright::{Composer, StepGate, ToolDef, tool};
/// struct OneTool(ToolDef);
/// impl StepGate for OneTool {
///     fn resolve(&self, name: &str) -> Option<ToolDef> {
///         (name == self.0.name()).then(|| self.0.clone())
///     }
/// }
/// let echo = tool("echo", "Gives back what it gets").reads().run_json(|input, _call| async move { Ok(input) });
/// let composer = Composer::new(OneTool(echo));
/// assert!(composer.resolve("echo").is_some() && composer.resolve("other").is_none());
/// ```
pub trait StepGate<R: Runtime = Rt>: Send + Sync {
    /// The tool of this name now, or none. The very instance that is given back is checked and run.
    fn resolve(&self, tool: &str) -> Option<ToolDef<R>>;

    /// The host's checks, asked after the chainability rule and the argument check, before the tool runs.
    fn admit<'a>(&'a self, step: &'a StepRequest<'a, R>) -> Eventually<'a, Result<(), Refusal>> {
        let _ = step;
        Eventually::Now(Ok(()))
    }
}

/// A step that is about to run, as the host's checks see it.
///
/// A check decides by any of it; nothing in it can run the tool.
///
/// ```
/// use toolwright::{HostChecks, Refusal, StepRequest};
/// fn only_small(step: &StepRequest<'_>) -> Result<(), Refusal> {
///     if step.arguments.weight() < 1_000 { Ok(()) } else { Err(Refusal::new("too_much", format!("step `{}` sends too much", step.step))) }
/// }
/// let checks: HostChecks = HostChecks::new().permission(only_small);
/// ```
pub struct StepRequest<'a, R: Runtime = Rt> {
    /// The instance that will run.
    pub tool: &'a ToolDef<R>,
    /// The name the step writes for it.
    pub name: &'a str,
    /// Name of the step.
    pub step: &'a str,
    /// Its arguments: final, and known to fit the tool's schema.
    pub arguments: &'a Value,
    /// The caller.
    pub context: &'a R::Context,
    /// Whether the run was cancelled.
    pub cancel: &'a CancelToken,
    /// Composites entered to get here.
    pub depth: u32,
    /// The tool is a composite, and each of its steps comes to these same checks.
    pub steps_follow: bool,
}

impl<R: Runtime> std::fmt::Debug for StepRequest<'_, R> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("StepRequest").field("tool", &self.name).field("step", &self.step).finish_non_exhaustive()
    }
}

/// May a tool be a step? Ordered by strictness: later is stricter.
///
/// ```
/// use toolwright::Chainability;
/// assert!(Chainability::Listed.is_allowed() && !Chainability::NotListed.is_allowed());
/// assert_eq!(Chainability::Undeclared.code(), Some("side_effects_undeclared"));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Chainability {
    /// It declares no side effects.
    Free,
    /// It has side effects and the host lists it.
    Listed,
    /// It has side effects and the host does not list it.
    NotListed,
    /// It declares nothing; nobody may chain it.
    Undeclared,
    /// Nothing has this name.
    Missing,
    /// There is no gate that could say.
    NoGate,
}

impl Chainability {
    /// The rule of the page for a tool that was found.
    pub(crate) fn of<R: Runtime>(tool: &ToolDef<R>, listed: bool) -> Self {
        match tool.has_side_effects() {
            Some(false) => Self::Free,
            None => Self::Undeclared,
            Some(true) if listed => Self::Listed,
            Some(true) => Self::NotListed,
        }
    }

    /// Whether a step may use the tool.
    pub fn is_allowed(self) -> bool {
        self <= Self::Listed
    }

    /// The code of a refusal; none when allowed.
    pub fn code(self) -> Option<&'static str> {
        match self {
            Self::Free | Self::Listed => None,
            Self::NotListed => Some("step_not_chainable"),
            Self::Undeclared => Some("side_effects_undeclared"),
            Self::Missing => Some("step_missing"),
            Self::NoGate => Some("compose_needs_gate"),
        }
    }

    /// The refusal in words.
    pub fn message(self, tool: &str) -> String {
        match self {
            Self::Free | Self::Listed => format!("step tool \"{tool}\" may be chained"),
            Self::NotListed => format!("step tool \"{tool}\" has side effects and is not listed"),
            Self::Undeclared => format!("step tool \"{tool}\" does not declare hasSideEffects"),
            Self::Missing => format!("step tool \"{tool}\" is not registered"),
            Self::NoGate => "no step gate is bound".into(),
        }
    }

    /// The change that would allow it, and who can make it.
    pub fn help(self, tool: &str) -> Option<String> {
        match self {
            Self::Free | Self::Listed => None,
            Self::NotListed => Some(format!(
                "the host can list it by this exact name: add `{tool}` to `sideEffectingTools` (in a program, `may_chain`); a composite or a tool cannot"
            )),
            Self::Undeclared => Some(format!(
                "listing it is not enough: its owner, or the host in `tools: {{ {tool}: {{ effect: … }} }}`, must say whether it has side effects (in a program, `reads()` or `writes()`)"
            )),
            Self::Missing => Some("names are taken exactly as written; see the list of tools".into()),
            Self::NoGate => Some("bind a gate: a bare callback cannot say what a step's tool is".into()),
        }
    }
}

/// What a composer's `check` answers about one tool.
///
/// ```
/// use toolwright::{Chainability, Composer, HostGate};
/// let composer: Composer = Composer::new(HostGate::new(|_| None));
/// let check = composer.check("search");
/// assert_eq!(check.verdict, Chainability::Missing);
/// assert_eq!(check.message, r#"step tool "search" is not registered"#);
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StepCheck {
    /// The verdict.
    pub verdict: Chainability,
    /// In words.
    pub message: String,
}

/// A tool found by a gate: borrowed from a sealed catalogue, or owned.
pub(crate) enum StepTool<'g, R: Runtime> {
    Sealed(&'g ToolDef<R>),
    Owned(ToolDef<R>),
}

impl<R: Runtime> std::ops::Deref for StepTool<'_, R> {
    type Target = ToolDef<R>;
    fn deref(&self) -> &ToolDef<R> {
        match self {
            Self::Sealed(tool) => tool,
            Self::Owned(tool) => tool,
        }
    }
}

/// The gate of one running composite.
pub(crate) enum Gate<'g, R: Runtime> {
    Catalog { view: &'g View<R>, links: &'g [usize] },
    Composer(&'g Bound<R>),
}

impl<'g, R: Runtime> Gate<'g, R> {
    /// The tool that step `index` names now, and the verdict about it.
    pub(crate) fn resolve(&self, index: usize, name: &str) -> (Option<StepTool<'g, R>>, Chainability) {
        match self {
            Self::Catalog { view, links } => match links.get(index).and_then(|link| view.entry(*link)) {
                Some(entry) if entry.tool.name() == name => (Some(StepTool::Sealed(&entry.tool)), entry.chainability),
                _ => (None, Chainability::Missing),
            },
            Self::Composer(bound) => {
                let (tool, verdict) = bound.judge(name);
                (tool.map(StepTool::Owned), verdict)
            }
        }
    }

    /// Tells it from every other gate that is there at the same time.
    pub(crate) fn address(&self) -> usize {
        match self {
            Self::Catalog { view, .. } => std::ptr::from_ref::<View<R>>(view).addr(),
            Self::Composer(bound) => std::ptr::from_ref::<Bound<R>>(bound).addr(),
        }
    }

    /// Whether the steps of this composite come to this very gate themselves.
    pub(crate) fn sees_steps_of(&self, composite: &CompositeBody<R>) -> bool {
        match &composite.gate {
            GateOf::Catalog { home, .. } => home.get().is_some_and(|home| home.as_ptr().addr() == self.address()),
            GateOf::Composer(bound) => Arc::as_ptr(bound).addr() == self.address(),
        }
    }

    /// The host's checks.
    pub(crate) async fn admit(&self, step: &StepRequest<'_, R>) -> Result<(), Refusal> {
        match self {
            Self::Catalog { view, .. } => match &view.options.policy.checks {
                None => Ok(()),
                Some(checks) => checks.admit(step).get().await,
            },
            Self::Composer(bound) => match bound.gate() {
                None => Ok(()),
                Some(gate) => gate.admit(step).get().await,
            },
        }
    }

    /// The catalogue whose tools look at a step as if the caller had decided for it: the gate's own; for a composer's
    /// composite the one that it was called in, so that no composer is a way around a veto there.
    pub(crate) fn inspecting<'v>(&'v self, called_in: Option<&'v View<R>>) -> Option<&'v View<R>> {
        let view = match self {
            Self::Catalog { view, .. } => Some(*view),
            Self::Composer(_) => called_in,
        };
        view.filter(|view| !view.folds.inspect.is_empty())
    }

    pub(crate) fn has_checks(&self) -> bool {
        match self {
            Self::Catalog { view, .. } => view.options.policy.checks.is_some(),
            Self::Composer(_) => true,
        }
    }
}

/// How the refusal of a check begins that panicked.
pub(crate) const CHECK_BROKE_DOWN: &str = "a check of the host broke down";

type Resolve<R> = dyn Fn(&str) -> Option<ToolDef<R>> + Send + Sync;
type Caller<R> = dyn Fn(&<R as Runtime>::Context) -> Text + Send + Sync;
type Permission<R> = dyn Fn(&StepRequest<'_, R>) -> Result<(), Refusal> + Send + Sync;

/// Asks a person, or a rule that stands for one, whether a call with side effects may be made.
///
/// What is asked, and what came of it, is kept by whoever asks: an approver that cannot get an answer says so, and never yes.
///
/// ```
/// use std::sync::Arc;
/// use toolwright::approval::{Answer, Request};
/// use toolwright::{Approver, BoxFuture, HostChecks};
/// /// Says yes to drafts and no to everything else.
/// struct DraftsOnly;
/// impl Approver for DraftsOnly {
///     fn ask<'a>(&'a self, request: &'a Request) -> BoxFuture<'a, Answer> {
///         let draft = request.arguments.get("draft").and_then(|draft| draft.as_bool()) == Some(true);
///         let answer = if draft { Answer::Yes { who: "drafts only".into() } } else { Answer::Nobody };
///         Box::pin(async move { answer })
///     }
/// }
/// let checks: HostChecks = HostChecks::new().approval(Some(Arc::new(DraftsOnly)));
/// ```
pub trait Approver: Send + Sync {
    /// What came of asking. Dropped when the answer came another way, or when nobody waits for it any more.
    fn ask<'a>(&'a self, request: &'a Request) -> BoxFuture<'a, Answer>;

    /// What is different by now about a call that somebody is asked for, or said yes to, in words that follow "since it was asked
    /// for,": its tool is another one, or its caller may not reach it any more. `None` while nothing is; then a yes counts. Looked at
    /// from time to time while the question stands, and before each call that a yes covers. A run knows only the catalogue that it
    /// began with; a host that puts another one in its place says here what that means for runs that wait.
    fn changed(&self, request: &Request) -> Option<Text> {
        let _ = request;
        None
    }
}

/// The host's checks in their fixed order: disabled, permission, approval.
///
/// For the steps of a catalogue they are set in [`Policy::checks`](crate::Policy::checks), for a composer in [`HostGate::checks`].
///
/// ```
/// use toolwright::{HostChecks, Policy, Refusal};
/// let checks: HostChecks = HostChecks::new().disabled(["deploy"]).permission(|step| match step.depth {
///     0..3 => Ok(()),
///     _ => Err(Refusal::new("too_far_down", "not that deep")),
/// });
/// let policy = Policy::new().checks(checks);
/// ```
pub struct HostChecks<R: Runtime = Rt> {
    disabled: Vec<Text>,
    permission: Option<Arc<Permission<R>>>,
    caller: Option<Arc<Caller<R>>>,
    approval: Approval,
}

#[derive(Clone)]
enum Approval {
    NotNeeded,
    Needed(Option<Arc<dyn Approver>>),
}

impl<R: Runtime> Clone for HostChecks<R> {
    fn clone(&self) -> Self {
        Self {
            disabled: self.disabled.clone(),
            permission: self.permission.clone(),
            caller: self.caller.clone(),
            approval: self.approval.clone(),
        }
    }
}

impl<R: Runtime> Default for HostChecks<R> {
    fn default() -> Self {
        Self { disabled: Vec::new(), permission: None, caller: None, approval: Approval::NotNeeded }
    }
}

impl<R: Runtime> std::fmt::Debug for HostChecks<R> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let asks = match &self.approval {
            Approval::NotNeeded => "nobody",
            Approval::Needed(None) => "nobody there",
            Approval::Needed(Some(_)) => "an approver",
        };
        let permission = self.permission.is_some();
        f.debug_struct("HostChecks").field("disabled", &self.disabled).field("permission", &permission).field("asks", &asks).finish()
    }
}

impl<R: Runtime> HostChecks<R> {
    /// No checks yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// Tools that must not run as a step now.
    #[must_use]
    pub fn disabled<T: Into<Text>>(mut self, tools: impl IntoIterator<Item = T>) -> Self {
        self.disabled.extend(tools.into_iter().map(Into::into));
        self
    }

    /// May the caller use this tool? A refusal without a code becomes `permission_denied`.
    #[must_use]
    pub fn permission(mut self, check: impl Fn(&StepRequest<'_, R>) -> Result<(), Refusal> + Send + Sync + 'static) -> Self {
        self.permission = Some(Arc::new(check));
        self
    }

    /// Steps with side effects need a yes from `approver`; without one, nobody can give it and they are refused.
    /// A nested composite is not asked for: its own steps are. It is asked for as a whole when they go through another
    /// gate, where nobody might ask, and when none of them has the effect that the policy says the composite has.
    #[must_use]
    pub fn approval(mut self, approver: Option<Arc<dyn Approver>>) -> Self {
        self.approval = Approval::Needed(approver);
        self
    }

    /// Who calls, in words for whoever is asked: [`Request::caller`].
    #[must_use]
    pub fn caller(mut self, caller: impl Fn(&R::Context) -> Text + Send + Sync + 'static) -> Self {
        self.caller = Some(Arc::new(caller));
        self
    }

    /// The question about a step, as it stands.
    fn question(&self, step: &StepRequest<'_, R>) -> Request {
        let (run, path) = current_frame().map(|frame| (frame.run_id(), Text::from(frame.path()))).unwrap_or_default();
        let mut request = Request::new(format!("{run}/{path}"), run, step.name, step.arguments.clone());
        request.path = path;
        request.description = step.tool.description().into();
        request.effect = step.tool.effect().cloned();
        if let Some(caller) = &self.caller {
            request.caller = caller(step.context);
        }
        request
    }

    async fn decide(&self, step: &StepRequest<'_, R>) -> Result<(), Refusal> {
        let tool = step.name;
        if self.disabled.iter().any(|disabled| disabled == tool) {
            let refusal = Refusal::new("step_disabled", format!("step tool \"{tool}\" is disabled"));
            return Err(refusal.help("the host has switched it off; only the host can switch it on"));
        }
        if let Some(permission) = &self.permission {
            permission(step).map_err(|mut refusal| {
                if refusal.code.is_empty() {
                    refusal.code = arcstr::literal!("permission_denied");
                }
                refusal
            })?;
        }
        let Approval::Needed(approver) = &self.approval else { return Ok(()) };
        let by_steps = step.steps_follow && step.tool.composite().is_none_or(|composite| !composite.effects().is_empty());
        if by_steps || step.tool.has_side_effects() == Some(false) {
            return Ok(());
        }
        let Some(approver) = approver else {
            let message = format!("step tool \"{tool}\" has side effects and requires approval, but no approval manager is configured");
            return Err(Refusal::new("approval_unavailable", message).help("nobody to ask means no; the host must name somebody"));
        };
        let rejected = |how: String| {
            let message = format!("approval for step tool \"{tool}\" was {how}");
            Err(Refusal::new("approval_rejected", message).help("change what the step would do, or ask again"))
        };
        let question = self.question(step);
        match approver.ask(&question).await {
            Answer::Yes { .. } => Ok(()),
            Answer::No { reason, .. } if reason.is_empty() => rejected("rejected".into()),
            Answer::No { reason, .. } => rejected(format!("rejected: {reason}")),
            Answer::Nobody => rejected("not given: there is nobody to ask".into()),
            Answer::Expired => rejected("not given: nobody answered in time".into()),
            Answer::Later => rejected("not given: nobody answered yet, and a step's check does not wait".into()),
        }
    }

    /// Runs the checks; whatever goes wrong while deciding is a refusal.
    pub fn admit<'a>(&'a self, step: &'a StepRequest<'a, R>) -> Eventually<'a, Result<(), Refusal>> {
        let nothing = self.disabled.is_empty() && self.permission.is_none() && matches!(self.approval, Approval::NotNeeded);
        if nothing { Eventually::Now(Ok(())) } else { Eventually::Later(Box::pin(self.decide(step))) }
    }
}

/// The usual gate of a composer: a look-up function and [`HostChecks`].
///
/// ```
/// use toolwright::{Composer, HostChecks, HostGate, tool};
/// let echo = tool("echo", "Gives back what it gets").reads().run_json(|input, _call| async move { Ok(input) });
/// let gate = HostGate::new(move |name| (name == "echo").then(|| echo.clone())).checks(HostChecks::new().disabled(["deploy"]));
/// assert!(Composer::new(gate).check("echo").verdict.is_allowed());
/// ```
pub struct HostGate<R: Runtime = Rt> {
    resolve: Box<Resolve<R>>,
    checks: HostChecks<R>,
}

impl<R: Runtime> std::fmt::Debug for HostGate<R> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("HostGate").field("checks", &self.checks).finish_non_exhaustive()
    }
}

impl<R: Runtime> HostGate<R> {
    /// A gate over a look-up function.
    pub fn new(resolve: impl Fn(&str) -> Option<ToolDef<R>> + Send + Sync + 'static) -> Self {
        Self { resolve: Box::new(resolve), checks: HostChecks::default() }
    }

    /// With the host's checks.
    #[must_use]
    pub fn checks(mut self, checks: HostChecks<R>) -> Self {
        self.checks = checks;
        self
    }
}

impl<R: Runtime> StepGate<R> for HostGate<R> {
    fn resolve(&self, tool: &str) -> Option<ToolDef<R>> {
        (self.resolve)(tool)
    }

    fn admit<'a>(&'a self, step: &'a StepRequest<'a, R>) -> Eventually<'a, Result<(), Refusal>> {
        self.checks.admit(step)
    }
}

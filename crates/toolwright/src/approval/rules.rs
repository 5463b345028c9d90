//! A host's rules: which tools with side effects ask before they run, whom, and how long.

use std::any::Any;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use crate::frame::Context;
use crate::gate::Approver;
use crate::runtime::{Rt, Runtime};
use crate::value::Text;

/// When a tool asks before it runs. Ordered by strictness: later is stricter.
///
/// ```
/// use toolwright::approval::Approve;
/// assert_eq!(Approve::named("once-per-plan"), Some(Approve::OncePerPlan));
/// assert!(Approve::Never < Approve::OncePerPlan && Approve::OncePerPlan < Approve::Always);
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Approve {
    /// Nobody is asked: to list the tool is all that is needed.
    #[default]
    Never,
    /// At the first such call of a composite; the same yes covers those after it whose arguments are known by then.
    OncePerPlan,
    /// Before every call.
    Always,
}

impl Approve {
    /// All of them, the mildest first.
    pub const ALL: [Self; 3] = [Self::Never, Self::OncePerPlan, Self::Always];

    /// The word used in configuration files.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Never => "never",
            Self::OncePerPlan => "once-per-plan",
            Self::Always => "always",
        }
    }

    /// The rule of this word.
    pub fn named(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|rule| rule.as_str() == word)
    }
}

type Caller<R> = dyn Fn(&<R as Runtime>::Context) -> Text + Send + Sync;

/// Which tools ask, whom, and how long a question stands.
///
/// Given in [`Policy::approvals`](crate::Policy::approvals). They hold for every call of such a tool, by whichever way it is
/// reached: as a step, inside another tool, or by its name. A tool that declares that it changes nothing is never asked for.
///
/// ```
/// use std::time::Duration;
/// use toolwright::approval::{Approvals, Approve};
/// use toolwright::{Effect, Policy, Registry, json, tool};
/// # tokio::runtime::Builder::new_current_thread().build()?.block_on(async {
/// let approvals = Approvals::new().tool("pay", Approve::Always).expire_after(Duration::from_secs(600));
/// let pay = tool("pay", "Pays").writes().run_json(|input, _call| async move { Ok(input) });
/// let catalog = Registry::with_policy(Policy::new().approvals(approvals)).with(pay)?.seal();
/// let error = catalog.invoke(toolwright::Invocation::new("pay", json!({ "amount": 40 })), ()).await.err().ok_or("nobody said yes")?;
/// assert_eq!(error.code(), "approval_denied", "nobody to ask means no");
/// # Ok::<(), Box<dyn std::error::Error>>(()) })?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[must_use]
pub struct Approvals<R: Runtime = Rt> {
    rules: BTreeMap<Text, Approve>,
    pub(crate) approver: Option<Arc<dyn Approver>>,
    pub(crate) expiry: Option<Duration>,
    caller: Option<Arc<Caller<R>>>,
}

impl<R: Runtime> std::fmt::Debug for Approvals<R> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let asks = if self.approver.is_some() { "an approver" } else { "nobody" };
        f.debug_struct("Approvals").field("rules", &self.rules).field("asks", &asks).field("expiry", &self.expiry).finish_non_exhaustive()
    }
}

impl<R: Runtime> Clone for Approvals<R> {
    fn clone(&self) -> Self {
        Self { rules: self.rules.clone(), approver: self.approver.clone(), expiry: self.expiry, caller: self.caller.clone() }
    }
}

impl<R: Runtime> Default for Approvals<R> {
    fn default() -> Self {
        Self { rules: BTreeMap::new(), approver: None, expiry: None, caller: None }
    }
}

impl<R: Runtime> Approvals<R> {
    /// No tool asks, and nobody is there to be asked.
    pub fn new() -> Self {
        Self::default()
    }

    /// When this tool asks. Of two rules for one tool the stricter counts.
    pub fn tool(mut self, tool: impl Into<Text>, approve: Approve) -> Self {
        let rule = self.rules.entry(tool.into()).or_default();
        *rule = approve.max(*rule);
        self
    }

    /// Who is asked. Without one, nobody can say yes.
    pub fn approver(mut self, approver: Arc<dyn Approver>) -> Self {
        self.approver = Some(approver);
        self
    }

    /// How long a question stands, and a yes counts that was not used. Needs a clock; for ever without this.
    pub fn expire_after(mut self, expiry: Duration) -> Self {
        self.expiry = Some(expiry);
        self
    }

    /// Who calls, in words for whoever is asked. Without it, what a [`Context`] has at `caller.principal`.
    pub fn caller(mut self, caller: impl Fn(&R::Context) -> Text + Send + Sync + 'static) -> Self {
        self.caller = Some(Arc::new(caller));
        self
    }

    /// Whether any tool asks.
    pub fn is_empty(&self) -> bool {
        self.rules.values().all(|rule| *rule == Approve::Never)
    }

    /// When this tool asks.
    pub fn of(&self, tool: &str) -> Approve {
        self.rules.get(tool).copied().unwrap_or_default()
    }

    /// The caller of a call, in words.
    pub(crate) fn caller_of(&self, context: &R::Context) -> Text {
        match &self.caller {
            Some(caller) => caller(context),
            None => {
                let context = (context as &dyn Any).downcast_ref::<Context>();
                let principal = context.and_then(|context| context.data().pointer("/caller/principal")?.as_str().map(Text::from));
                principal.unwrap_or_default()
            }
        }
    }

    /// The rule about a tool, in words.
    pub(crate) fn words(tool: &str, approve: Approve) -> Text {
        format!("sideEffectingTools: {tool}: approve: {}", approve.as_str()).into()
    }
}

//! What a host decides once for a whole registry: its policy, the output protocols that are no tools, and the ports
//! through which a call reaches the host's journal, diagnostics, recorder, signal and words.
//!
//! Ports are asked at the moment of a call, never before, and must be cheap: they are synchronous and run on the path.
//!
//! [`Options`] is the one type: a [`Policy`], the outputs, and one method for each port. A port that is not given
//! changes nothing.

use std::sync::Arc;

use crate::cancel::CancelToken;
use crate::diagnostics::{Diagnostics, Recorder};
use crate::error::CallError;
use crate::frame::Clock;
use crate::journal::Journal;
use crate::lifecycle::{ContextFragment, ModelField, Rule};
use crate::limits;
use crate::policy::Policy;
use crate::protocol::Protocol;
use crate::refusal::Refusal;
use crate::runtime::{Rt, Runtime};
use crate::tool::ToolDef;
use crate::value::{Text, Value};

type Port<R, T> = Option<Arc<dyn Fn(&<R as Runtime>::Context) -> T + Send + Sync>>;
type Words = Option<Arc<dyn Fn(&str) -> Refusal + Send + Sync>>;

/// Everything a registry is made with. Each option has a neutral default.
///
/// ```
/// use toolwright::{MemoryJournal, Options, Policy, Registry, Rt};
/// struct Caller { journal: MemoryJournal }
/// let options = Options::<Rt<Caller>>::new()
///     .policy(Policy::new().kinds(["read", "act"]))
///     .journal(|caller| Some(std::sync::Arc::new(caller.journal.clone())));
/// let registry = Registry::with_options(options)?;
/// # Ok::<(), toolwright::RegisterError>(())
/// ```
#[must_use]
pub struct Options<R: Runtime = Rt> {
    pub(crate) policy: Policy<R>,
    pub(crate) outputs: Vec<Protocol>,
    pub(crate) model_outputs: Port<R, Vec<Protocol>>,
    pub(crate) goal_ids: Option<Arc<GoalsPort>>,
    pub(crate) receiver: Option<Arc<ReceiverPort<R>>>,
    pub(crate) context_fragment: Option<Arc<ContextFragmentPort<R>>>,
    pub(crate) final_text: Option<Arc<TextPort<R>>>,
    pub(crate) rule_filter: Option<Arc<RuleFilter>>,
    pub(crate) signal: Port<R, Option<CancelToken>>,
    pub(crate) execution_signal: CancelToken,
    pub(crate) execution_diagnostics: Diagnostics,
    pub(crate) diagnostics: Port<R, Option<Diagnostics>>,
    pub(crate) logger: Port<R, Option<Arc<dyn Recorder>>>,
    pub(crate) journal: Port<R, Option<Arc<dyn Journal>>>,
    pub(crate) journal_encrypts: bool,
    pub(crate) checkpoint: Port<R, Value>,
    pub(crate) receipt: Option<Arc<ReceiptPort<R>>>,
    pub(crate) receipt_error: Option<Arc<ErrorPort<Value>>>,
    pub(crate) unavailable: Words,
    pub(crate) unavailable_invocation: Words,
    pub(crate) forbidden: Words,
    pub(crate) error_code: Option<Arc<ErrorPort<Option<String>>>>,
    pub(crate) clock: Option<Arc<dyn Clock>>,
    pub(crate) events: usize,
    pub(crate) rewrites: u32,
}

type GoalsPort = dyn Fn() -> Vec<Text> + Send + Sync;
type ReceiverPort<R> = dyn Fn() -> <R as Runtime>::Receiver + Send + Sync;
type TextPort<R> = dyn Fn(String, &<R as Runtime>::Context) -> String + Send + Sync;
type RuleFilter = dyn Fn(&str, &Rule) -> bool + Send + Sync;
type ErrorPort<T> = dyn Fn(&CallError) -> T + Send + Sync;
type ContextFragmentPort<R> = dyn Fn(&ToolDef<R>, &ModelField<<R as Runtime>::Placement>) -> ContextFragment + Send + Sync;
type ReceiptPort<R> = dyn Fn(&<R as Runtime>::Context, Option<&Value>) -> Result<Value, Refusal> + Send + Sync;

impl<R: Runtime> std::fmt::Debug for Options<R> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Options").field("policy", &self.policy).field("outputs", &self.outputs).finish_non_exhaustive()
    }
}

impl<R: Runtime> Default for Options<R> {
    fn default() -> Self {
        Self {
            policy: Policy::default(),
            outputs: Vec::new(),
            model_outputs: None,
            goal_ids: None,
            receiver: None,
            context_fragment: None,
            final_text: None,
            rule_filter: None,
            signal: None,
            execution_signal: CancelToken::never(),
            execution_diagnostics: Diagnostics::disabled(),
            diagnostics: None,
            logger: None,
            journal: None,
            journal_encrypts: false,
            checkpoint: None,
            receipt: None,
            receipt_error: None,
            unavailable: None,
            unavailable_invocation: None,
            forbidden: None,
            error_code: None,
            clock: None,
            events: limits::TOOL_EVENTS_MAX,
            rewrites: limits::DECISION_REWRITES_MAX,
        }
    }
}

impl<R: Runtime> Clone for Options<R> {
    fn clone(&self) -> Self {
        Self {
            policy: self.policy.clone(),
            outputs: self.outputs.clone(),
            model_outputs: self.model_outputs.clone(),
            goal_ids: self.goal_ids.clone(),
            receiver: self.receiver.clone(),
            context_fragment: self.context_fragment.clone(),
            final_text: self.final_text.clone(),
            rule_filter: self.rule_filter.clone(),
            signal: self.signal.clone(),
            execution_signal: self.execution_signal.clone(),
            execution_diagnostics: self.execution_diagnostics.clone(),
            diagnostics: self.diagnostics.clone(),
            logger: self.logger.clone(),
            journal: self.journal.clone(),
            journal_encrypts: self.journal_encrypts,
            checkpoint: self.checkpoint.clone(),
            receipt: self.receipt.clone(),
            receipt_error: self.receipt_error.clone(),
            unavailable: self.unavailable.clone(),
            unavailable_invocation: self.unavailable_invocation.clone(),
            forbidden: self.forbidden.clone(),
            error_code: self.error_code.clone(),
            clock: self.clock.clone(),
            events: self.events,
            rewrites: self.rewrites,
        }
    }
}

impl<R: Runtime> Options<R> {
    /// Any kind, audience and effect; no outputs, no goals, no ports.
    pub fn new() -> Self {
        Self::default()
    }

    /// What may be registered, and what composites may use.
    pub fn policy(mut self, policy: Policy<R>) -> Self {
        self.policy = policy;
        self
    }

    /// Shapes of an answer that are no tools, for example `reply`. Read once, when the registry is made.
    pub fn outputs(mut self, outputs: impl IntoIterator<Item = Protocol>) -> Self {
        self.outputs = outputs.into_iter().collect();
        self
    }

    /// Further outputs for the model, by context. Asked once a [`crate::View::model_protocols`]; one with the id of an
    /// output replaces it there.
    pub fn model_outputs(mut self, port: impl Fn(&R::Context) -> Vec<Protocol> + Send + Sync + 'static) -> Self {
        self.model_outputs = Some(Arc::new(port));
        self
    }

    /// The goals there are at the moment of asking. Asked at every use, never kept.
    pub fn goal_ids<G: Into<Text>>(mut self, port: impl Fn() -> Vec<G> + Send + Sync + 'static) -> Self {
        self.goal_ids = Some(Arc::new(move || port().into_iter().map(Into::into).collect()));
        self
    }

    /// Who gets the finalizer's reply, for [`crate::View::finish_default`].
    pub fn receiver(mut self, port: impl Fn() -> R::Receiver + Send + Sync + 'static) -> Self {
        self.receiver = Some(Arc::new(port));
        self
    }

    /// How a field of a tool becomes a fragment of the model's context. By default its key and value.
    pub fn context_fragment(
        mut self,
        port: impl Fn(&ToolDef<R>, &ModelField<R::Placement>) -> ContextFragment + Send + Sync + 'static,
    ) -> Self {
        self.context_fragment = Some(Arc::new(port));
        self
    }

    /// The last step of every visible text: no tool can change what it makes.
    pub fn final_text(mut self, port: impl Fn(String, &R::Context) -> String + Send + Sync + 'static) -> Self {
        self.final_text = Some(Arc::new(port));
        self
    }

    /// Which rules of which tools get into the prompt: the id of the tool, and the rule. A filter that breaks down lets
    /// nothing in.
    pub fn rule_filter(mut self, port: impl Fn(&str, &Rule) -> bool + Send + Sync + 'static) -> Self {
        self.rule_filter = Some(Arc::new(port));
        self
    }

    /// A signal that can end every call, and the diagnostics to begin with. The signal never extends a call's life.
    pub fn execution(mut self, signal: CancelToken, diagnostics: Option<Diagnostics>) -> Self {
        self.execution_signal = signal;
        self.execution_diagnostics = diagnostics.unwrap_or_default();
        self
    }

    /// A further signal, by context. It is joined to the others and replaces none of them.
    pub fn signal(mut self, port: impl Fn(&R::Context) -> Option<CancelToken> + Send + Sync + 'static) -> Self {
        self.signal = Some(Arc::new(port));
        self
    }

    /// The diagnostic scope of a [`crate::Catalog::call`], by context. `None` records nothing of it and of what is
    /// called inside it; without the port it is inherited. A [`crate::Catalog::invoke`] does not ask it: it goes by
    /// [`crate::Invocation::diagnostics`], then by [`crate::Catalog::set_diagnostics`], which begins with
    /// [`Options::execution`].
    pub fn diagnostics(mut self, port: impl Fn(&R::Context) -> Option<Diagnostics> + Send + Sync + 'static) -> Self {
        self.diagnostics = Some(Arc::new(port));
        self
    }

    /// The recorder of a call that brings none of its own, by context. Nested calls inherit their caller's.
    pub fn logger(mut self, port: impl Fn(&R::Context) -> Option<Arc<dyn Recorder>> + Send + Sync + 'static) -> Self {
        self.logger = Some(Arc::new(port));
        self
    }

    /// The journal of a run, by context. Asked once a root call; what is called inside it writes to the same one.
    ///
    /// A journal keeps arguments and outputs whole. With this port, a tool whose schema marks a value with `x-sensitive: true` is
    /// refused at registration, unless [`Options::journal_encrypts`] is said too.
    pub fn journal(mut self, port: impl Fn(&R::Context) -> Option<Arc<dyn Journal>> + Send + Sync + 'static) -> Self {
        self.journal = Some(Arc::new(port));
        self
    }

    /// Says that the journals of this host encrypt what they keep, so that tools which handle secrets may be registered. It
    /// is the host's word for all of them; each one says for itself, with
    /// [`keeps_secrets`](crate::journal::RunJournal::keeps_secrets), that a call of such a tool may be written to it.
    ///
    /// ```
    /// use std::sync::Arc;
    /// use toolwright::{MemoryJournal, Options, Registry, Rt, json, tool};
    /// let secret = json!({ "type": "object", "properties": { "pin": { "type": "string", "x-sensitive": true } } });
    /// let login = tool("login", "Logs in").reads().input_schema(secret).run_json(|_, _call| async move { Ok(json!({})) });
    /// let options = || Options::<Rt>::new().journal(|_| Some(Arc::new(MemoryJournal::new())));
    /// let error = Registry::with_options(options())?.with(login.clone()).err().ok_or("it is refused")?;
    /// assert_eq!(error.code(), "sensitive_unencrypted");
    /// assert!(Registry::with_options(options().journal_encrypts())?.with(login).is_ok());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn journal_encrypts(mut self) -> Self {
        self.journal_encrypts = true;
        self
    }

    /// The host's own state before a tool runs, kept with its intent. Asked once a journalled call, after
    /// authorization.
    pub fn checkpoint(mut self, port: impl Fn(&R::Context) -> Value + Send + Sync + 'static) -> Self {
        self.checkpoint = Some(Arc::new(port));
        self
    }

    /// The host's own receipt of a call that succeeded, made from its checkpoint and kept with its outcome.
    pub fn receipt(mut self, port: impl Fn(&R::Context, Option<&Value>) -> Result<Value, Refusal> + Send + Sync + 'static) -> Self {
        self.receipt = Some(Arc::new(port));
        self
    }

    /// What stands in place of a receipt when the call failed, or when the receipt itself did.
    pub fn receipt_error(mut self, port: impl Fn(&CallError) -> Value + Send + Sync + 'static) -> Self {
        self.receipt_error = Some(Arc::new(port));
        self
    }

    /// The host's words when no tool has an id.
    pub fn on_unavailable(mut self, words: impl Fn(&str) -> Refusal + Send + Sync + 'static) -> Self {
        self.unavailable = Some(Arc::new(words));
        self
    }

    /// The host's words when nobody answers to a decision's invocation id.
    pub fn on_unavailable_invocation(mut self, words: impl Fn(&str) -> Refusal + Send + Sync + 'static) -> Self {
        self.unavailable_invocation = Some(Arc::new(words));
        self
    }

    /// The host's words when a tool is not available now; it gets the tool's id.
    pub fn on_forbidden(mut self, words: impl Fn(&str) -> Refusal + Send + Sync + 'static) -> Self {
        self.forbidden = Some(Arc::new(words));
        self
    }

    /// The public code of an error, for events, journal and [`CallError::public_code`]. `None` keeps the built-in one.
    pub fn error_code(mut self, port: impl Fn(&CallError) -> Option<String> + Send + Sync + 'static) -> Self {
        self.error_code = Some(Arc::new(port));
        self
    }

    /// The host's clock. Without one, records carry no times and a cancelled tool with side effects has as long as it
    /// likes to answer.
    pub fn clock(mut self, clock: Arc<dyn Clock>) -> Self {
        self.clock = Some(clock);
        self
    }

    /// How many events the catalogue keeps, [`limits::TOOL_EVENTS_MAX`] by default; 0 keeps none and costs nothing.
    pub fn events(mut self, capacity: usize) -> Self {
        self.events = capacity;
        self
    }

    /// How often `complete` may hand one turn on to another invocation.
    pub fn limit_rewrites(mut self, rewrites: u32) -> Self {
        self.rewrites = rewrites;
        self
    }
}

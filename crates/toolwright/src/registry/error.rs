//! Why a declaration was not taken in: every reason at once, in the order in which a registry looks.

use crate::composite::spec::{Severity, SpecIssue};
use crate::limits;
use crate::schema::SchemaError;
use crate::value::Text;

/// A declaration that was not taken in; the registry is as it was.
///
/// ```
/// use toolwright::{Policy, Registry, RegisterFault, json, tool};
/// let mut registry = Registry::with_policy(Policy::new().kinds(["read"]));
/// let act = tool("mail", "Sends a mail").kind("act").writes().run_json(|v, _| async move { Ok(v) });
/// let error = registry.register(act).err().ok_or("it is refused")?;
/// assert!(matches!(error.fault(), RegisterFault::Kind { kind } if kind == "act"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, PartialEq, Eq)]
pub struct RegisterError(Box<Refused>);

impl std::fmt::Debug for RegisterError {
    /// What a person can read, since it is what `main` prints of it; with `{:#?}` all that is in it.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        if f.alternate() {
            return f.debug_tuple("RegisterError").field(&self.0).finish();
        }
        write!(f, "`{}` cannot be registered:", crate::cut(&self.0.tool, 80))?;
        for issue in self.issues() {
            write!(f, "\n  {}: {}", issue.code, issue.message)?;
            if !issue.pointer.is_empty() {
                write!(f, " (at {})", issue.pointer)?;
            }
            if let Some(help) = &issue.help {
                write!(f, "\n    help: {help}")?;
            }
        }
        Ok(())
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Refused {
    tool: Text,
    index: Option<usize>,
    first: RegisterFault,
    /// All of them and the warnings, in the order in which they were found.
    all: Vec<RegisterFault>,
    /// What the policy knows.
    known: Known,
}

/// Names to choose from; none where any will do.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Known {
    pub(crate) kinds: Vec<Text>,
    pub(crate) audiences: Vec<Text>,
    pub(crate) effects: Vec<Text>,
    pub(crate) goals: Vec<Text>,
}

impl Known {
    /// The names for a fault, and the one that was given.
    fn of<'a>(&'a self, fault: &'a RegisterFault) -> Option<(&'a str, &'a [Text])> {
        let (given, known) = match fault {
            RegisterFault::Kind { kind } => (kind.as_str(), &self.kinds),
            RegisterFault::Audience { audience } => (audience.as_str(), &self.audiences),
            RegisterFault::Effect { class } => (class.as_deref().unwrap_or_default(), &self.effects),
            RegisterFault::UnknownGoal { goal } => (goal.as_str(), &self.goals),
            _ => return None,
        };
        (!known.is_empty()).then_some((given, known))
    }

    fn help(&self, fault: &RegisterFault) -> Option<String> {
        let (given, known) = self.of(fault)?;
        let near = crate::nearest::nearest(given, known.iter().map(Text::as_str));
        let shown: Vec<String> = known.iter().take(limits::KEYS_SHOWN_MAX).map(|name| format!("`{}`", crate::cut(name, 60))).collect();
        let list = format!("there are {}", shown.join(", "));
        let default = match fault {
            RegisterFault::Kind { kind } if kind == "tool" || kind == "composite" => "; it is what a declaration is that says no `kind`",
            _ => "",
        };
        Some(near.map_or_else(|| format!("{list}{default}"), |near| format!("did you mean `{near}`? {list}")))
    }
}

/// One reason.
///
/// A [`RegisterError`] has all of them.
///
/// ```
/// use toolwright::{Registry, RegisterFault, tool};
/// let error = Registry::new().with(tool("", " ").run_json(|v, _call| async move { Ok(v) })).err().ok_or("it is refused")?;
/// let faults: Vec<&RegisterFault> = error.faults().collect();
/// assert!(matches!(faults[..], [RegisterFault::InvalidId { .. }, RegisterFault::EmptyDescription]));
/// # Ok::<(), &str>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum RegisterFault {
    /// The registry is sealed.
    Sealed,
    /// The id cannot be one.
    InvalidId {
        /// What is wrong with it.
        why: String,
    },
    /// Another tool has the id, or answers to it as a delegate.
    Duplicate {
        /// Where the two come from, in words.
        why: String,
    },
    /// An output protocol has the id.
    ProtocolTaken,
    /// Two output protocols have one id.
    OutputTwice,
    /// The description is blank.
    EmptyDescription,
    /// The policy does not know the kind.
    Kind {
        /// The kind.
        kind: Text,
    },
    /// The policy does not know the audience.
    Audience {
        /// The audience.
        audience: Text,
    },
    /// A hook was given twice.
    HookTwice {
        /// Its name.
        hook: &'static str,
    },
    /// There is nothing to run.
    NoHandler,
    /// The input schema cannot be used.
    InputSchema {
        /// What is wrong, and where.
        why: SchemaError,
    },
    /// The output schema cannot be used.
    OutputSchema {
        /// What is wrong, and where.
        why: SchemaError,
    },
    /// It says it produces an output protocol that there is not.
    UnknownOutput {
        /// The output protocol.
        output: Text,
    },
    /// A list of goals without a goal.
    EmptyGoals,
    /// A goal that does not exist.
    UnknownGoal {
        /// The goal.
        goal: Text,
    },
    /// A goal of a composite that not every step serves.
    GoalsOutsideSteps {
        /// The goals; none when the steps have no goal in common.
        goals: Vec<Text>,
    },
    /// Another tool has the delegate, as its delegate or as its id, or an output has it as its id.
    DelegateTaken {
        /// The delegate.
        delegate: Text,
        /// That tool or output.
        owner: Text,
    },
    /// A composite says what its effect is.
    EffectOnComposite,
    /// A step of a composite is wrong, or may not be one.
    Step {
        /// Position of the step, from 0.
        index: usize,
        /// Its name.
        step: Text,
        /// What is wrong.
        issue: SpecIssue,
    },
    /// A terminal tool is not the last step.
    TerminalInside {
        /// Position of the step, from 0.
        index: usize,
        /// Its name.
        step: Text,
    },
    /// Composites nest too deep.
    TooDeep {
        /// How deep they would be.
        depth: u32,
        /// How deep they may be.
        max: u32,
    },
    /// Something else in the specification of a composite.
    Spec(SpecIssue),
    /// The policy does not know the effect's class, or none is declared where one must be.
    Effect {
        /// The class.
        class: Option<Text>,
    },
    /// The policy would make the effect less than what the tool says.
    EffectLowered {
        /// What the tool says.
        declared: String,
        /// What the policy says.
        raised: String,
    },
    /// The host's own rule.
    Rule {
        /// What it said.
        why: String,
    },
    /// It takes or gives a secret, and the host's journals do not say that they encrypt.
    SensitiveUnencrypted,
    /// There is a normaliser already.
    NormalizerInstalled,
    /// There is a finalizer already.
    FinalizerInstalled,
}

impl RegisterError {
    /// An error with one reason.
    pub(crate) fn new(tool: impl Into<Text>, fault: RegisterFault) -> Self {
        Self(Box::new(Refused { tool: tool.into(), index: None, first: fault.clone(), all: vec![fault], known: Known::default() }))
    }

    /// None when no reason is more than a warning.
    pub(crate) fn of(tool: &Text, faults: Vec<RegisterFault>) -> Option<Self> {
        let first = faults.iter().find(|fault| fault.is_error())?.clone();
        Some(Self(Box::new(Refused { tool: tool.clone(), index: None, first, all: faults, known: Known::default() })))
    }

    /// With the names that there are.
    pub(crate) fn knowing(mut self, known: Known) -> Self {
        self.0.known = known;
        self
    }

    pub(crate) fn at(mut self, index: usize) -> Self {
        self.0.index = Some(index);
        self
    }

    /// Id of the declaration; of an output protocol, its id.
    pub fn tool(&self) -> &str {
        &self.0.tool
    }

    /// Its position among several that were given at once, from 0.
    pub fn index(&self) -> Option<usize> {
        self.0.index
    }

    /// The first reason, in the order in which a registry looks.
    pub fn fault(&self) -> &RegisterFault {
        &self.0.first
    }

    /// Every reason.
    pub fn faults(&self) -> impl Iterator<Item = &RegisterFault> {
        self.0.all.iter().filter(|fault| fault.is_error())
    }

    /// The code of the first reason.
    pub fn code(&self) -> &'static str {
        self.0.first.code()
    }

    /// Every reason and every warning, each with its code, sentence and help.
    pub fn issues(&self) -> Vec<SpecIssue> {
        let issue = |fault: &RegisterFault| {
            let mut issue = fault.issue(&self.0.tool);
            if let Some(help) = self.0.known.help(fault) {
                issue.help = Some(help);
            }
            issue
        };
        self.0.all.iter().map(issue).collect()
    }
}

impl std::fmt::Display for RegisterError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let messages: Vec<String> = self.faults().map(|fault| fault.issue(&self.0.tool).message).collect();
        write!(f, "`{}` cannot be registered: {}", crate::cut(&self.0.tool, 80), messages.join("; "))
    }
}

impl std::error::Error for RegisterError {}

impl RegisterFault {
    fn is_error(&self) -> bool {
        match self {
            Self::Step { issue, .. } | Self::Spec(issue) => issue.severity == Severity::Error,
            _ => true,
        }
    }

    /// Its code.
    pub fn code(&self) -> &'static str {
        match self {
            Self::Sealed => "sealed",
            Self::InvalidId { .. } => "invalid_tool",
            Self::Duplicate { .. } => "duplicate_tool",
            Self::ProtocolTaken => "protocol_taken",
            Self::OutputTwice => "output_twice",
            Self::EmptyDescription => "empty_description",
            Self::Kind { .. } => "kind_unknown",
            Self::Audience { .. } => "audience_unknown",
            Self::HookTwice { .. } => "hook_twice",
            Self::NoHandler => "no_handler",
            Self::InputSchema { .. } | Self::OutputSchema { .. } => "invalid_schema",
            Self::UnknownOutput { .. } => "output_unknown",
            Self::EmptyGoals | Self::UnknownGoal { .. } | Self::GoalsOutsideSteps { .. } => "goal_unknown",
            Self::DelegateTaken { .. } => "delegate_taken",
            Self::EffectOnComposite => "effect_on_composite",
            Self::Step { issue, .. } | Self::Spec(issue) => issue.code,
            Self::TerminalInside { .. } => "terminal_inside",
            Self::TooDeep { .. } => "nesting_too_deep",
            Self::Effect { .. } => "effect_unknown",
            Self::EffectLowered { .. } => "effect_lowered",
            Self::Rule { .. } => "rule_refused",
            Self::SensitiveUnencrypted => "sensitive_unencrypted",
            Self::NormalizerInstalled | Self::FinalizerInstalled => "handler_installed",
        }
    }

    /// What is wrong, in words, and what to do.
    fn words(&self, tool: &str) -> (String, &'static str) {
        let tool = crate::cut(tool, 80);
        match self {
            Self::Sealed => ("the registry is sealed".into(), "register before the seal; later tools belong in an overlay or a session"),
            Self::InvalidId { why } => (
                format!("`{tool}` cannot be a tool's name: {why}"),
                "a name is 1 to 128 bytes, without control characters, without a space at either end, and does not begin with `$`",
            ),
            Self::Duplicate { why } => (why.clone(), "a tool is never replaced by another of its name; rename one"),
            Self::ProtocolTaken => (format!("`{tool}` is the id of an output"), "a decision could mean either; rename the tool"),
            Self::OutputTwice => (format!("two outputs have the id `{tool}`"), "give each its own id"),
            Self::EmptyDescription => ("the description is blank".into(), "say what the tool does: it is what a model chooses by"),
            Self::Kind { kind } => (format!("the policy knows no kind `{}`", crate::cut(kind, 80)), "take one of the policy's `kinds`"),
            Self::Audience { audience } => {
                (format!("the policy knows no audience `{}`", crate::cut(audience, 80)), "take one of the policy's `audiences`")
            }
            Self::HookTwice { hook } => (
                format!("the hook `{hook}` is given twice"),
                "only one of them could count; an object given with `lifecycle` counts as giving every hook but `available`",
            ),
            Self::NoHandler => ("there is nothing to run".into(), "close the declaration with `run`, `run_sync`, `run_json` or `handler`"),
            Self::InputSchema { why } => (schema("input", why), SCHEMA_HELP),
            Self::OutputSchema { why } => (schema("output", why), SCHEMA_HELP),
            Self::UnknownOutput { output } => (
                format!("there is no output `{}` that it could produce", crate::cut(output, 80)),
                "outputs are given in `Options::outputs`",
            ),
            Self::EmptyGoals => ("the list of goals is empty".into(), "leave the list out for every goal, or name the goals"),
            Self::UnknownGoal { goal } => {
                (format!("there is no goal `{}`", crate::cut(goal, 80)), "goals are exact names; ask the host for its list")
            }
            Self::DelegateTaken { delegate, owner } => (
                format!("the delegate `{}` belongs to `{}`", crate::cut(delegate, 80), crate::cut(owner, 80)),
                "a decision could mean either; take another delegate",
            ),
            Self::Effect { class: Some(class) } => {
                (format!("the policy knows no effect `{}`", crate::cut(class, 80)), "take one of the policy's `effects`")
            }
            Self::Effect { class: None } => {
                ("it declares no effect, and the policy lists those there are".into(), "say `reads()`, `writes()` or `effect(…)`")
            }
            Self::EffectLowered { declared, raised } => (
                format!("the policy says `{raised}`, and the tool itself says `{declared}`"),
                "a policy may only make an effect worse; a tool that says too much must be declared anew",
            ),
            Self::Rule { why } => (why.clone(), "this is the host's own rule for declarations"),
            Self::SensitiveUnencrypted => (
                "its schema marks a secret with `x-sensitive`, and the journal would keep it in plain".into(),
                "let the journal encrypt what it keeps, and say so with `Options::journal_encrypts()`; nothing is masked, since a masked value cannot be given again",
            ),
            Self::EffectOnComposite
            | Self::GoalsOutsideSteps { .. }
            | Self::Step { .. }
            | Self::Spec(_)
            | Self::TerminalInside { .. }
            | Self::TooDeep { .. } => self.words_of_a_composite(),
            Self::NormalizerInstalled => ("there is a normaliser already".into(), "a registry has one; combine the two"),
            Self::FinalizerInstalled => ("there is a finalizer already".into(), "a registry has one; combine the two"),
        }
    }

    fn words_of_a_composite(&self) -> (String, &'static str) {
        match self {
            Self::EffectOnComposite => (
                "a composite must not declare an effect".into(),
                "leave `reads()`, `writes()` or `effect(…)` out: the effect of a composite follows from its steps",
            ),
            Self::Step { issue, .. } | Self::Spec(issue) => (issue.message.clone(), ""),
            Self::TerminalInside { step, .. } => (
                format!("the step `{}` ends a turn and is not the last one", crate::cut(step, 80)),
                "make it the last step, or take it out",
            ),
            Self::TooDeep { depth, max } => {
                (format!("composites nest {depth} deep here, and at most {max} do"), "merge some of the inner composites")
            }
            Self::GoalsOutsideSteps { goals } if goals.is_empty() => {
                ("its steps have no goal in common".into(), "a composite serves what each of its steps serves; take other steps")
            }
            Self::GoalsOutsideSteps { goals } => {
                let goals: Vec<String> = goals.iter().map(|goal| format!("`{}`", crate::cut(goal, 80))).collect();
                (format!("not every step serves {}", goals.join(", ")), "a composite serves what each of its steps serves")
            }
            _ => (String::new(), ""),
        }
    }

    /// As an issue: with code, sentence and help.
    pub fn issue(&self, tool: &str) -> SpecIssue {
        let (message, help) = self.words(tool);
        let pointer = match self {
            Self::Step { issue, .. } | Self::Spec(issue) => return issue.clone(),
            Self::TerminalInside { index, .. } => format!("/steps/{index}/tool"),
            _ => String::new(),
        };
        let help = Some(help.to_owned()).filter(|help| !help.is_empty());
        SpecIssue { severity: Severity::Error, code: self.code(), message, help, pointer, span: None, fix: None }
    }
}

const SCHEMA_HELP: &str = "a schema is JSON Schema of draft 4 to 2020-12 without references to other documents";

fn schema(which: &str, why: &SchemaError) -> String {
    let pointer = if why.pointer.is_empty() { "/" } else { &why.pointer };
    format!("the {which} schema cannot be used: {pointer}: {}", why.message)
}

/// The rule of a chain that a step broke, as an issue at that step.
pub(crate) fn audience_issue(index: usize, tool: &str, audience: &str, own: &str) -> SpecIssue {
    SpecIssue {
        severity: Severity::Error,
        code: "step_audience",
        message: format!("step tool \"{tool}\" is for `{}`, and the composite is for `{}`", crate::cut(audience, 80), crate::cut(own, 80)),
        help: Some(format!("the host can list it by this exact name: `Policy::may_chain_hidden([\"{tool}\"])`; a composite cannot")),
        pointer: format!("/steps/{index}/tool"),
        span: None,
        fix: None,
    }
}

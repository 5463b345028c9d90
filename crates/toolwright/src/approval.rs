//! Approvals: a person's yes to one call with side effects, or to all those of a plan, bound to what was shown.
//!
//! An [`Approver`](crate::Approver) is shown a [`Request`] and gives an [`Answer`]. The request has everything that decides the
//! effect, as it is at the moment of asking: the tool, its final arguments, the plan it is part of, who calls. What is not in it is
//! not covered by a yes.

use crate::composite::EffectRecord;
use crate::frame::Timestamp;
use crate::tool::Effect;
use crate::value::{Text, Value};

/// What a person is asked.
///
/// ```
/// use toolwright::approval::Request;
/// use toolwright::json;
/// let request = Request::new("a1", "r1", "pay", json!({ "to": "x", "amount": 40 }));
/// assert_eq!(request.tool, "pay");
/// assert!(request.plan.is_none(), "no composite is around it");
/// ```
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Request {
    /// The approval's own id: an answer names it, and it stays the same over restarts.
    pub id: Text,
    /// The run that waits.
    pub run: Text,
    /// The place of the call in its run, such as `pay` or `report/1:send`.
    pub path: Text,
    /// The tool.
    pub tool: Text,
    /// What the tool says it is for.
    pub description: Text,
    /// Its final arguments: what the tool will get, exactly.
    pub arguments: Value,
    /// Its effect, as registered.
    pub effect: Option<Effect>,
    /// The composite around the call, if there is one.
    pub plan: Option<Plan>,
    /// Further calls that the same yes covers (*once per plan*), each with its final arguments. Nothing else is covered.
    pub covers: Vec<Covered>,
    /// What this run has done already.
    pub done: Vec<EffectRecord>,
    /// Who calls, as the host knows them; empty when nobody says.
    pub caller: Text,
    /// When it was asked; absent without a clock.
    pub asked: Option<Timestamp>,
    /// When the question ends with a no; absent = never.
    pub expires: Option<Timestamp>,
    /// The hash that a yes is bound to: plan, tools, arguments, caller, effects and expiry.
    pub binding: Text,
}

/// The composite that a call is part of.
///
/// Part of a [`Request`].
///
/// ```
/// let plan = toolwright::approval::Plan { composite: "report".into(), step: "send".into(), steps: vec!["look".into(), "send".into()] };
/// assert!(plan.steps.contains(&plan.step));
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Plan {
    /// The composite.
    pub composite: Text,
    /// The step that waits.
    pub step: Text,
    /// All its steps, in order.
    pub steps: Vec<Text>,
}

/// One further call that a yes covers.
///
/// Part of a [`Request`].
///
/// ```
/// use toolwright::{approval::Covered, json};
/// let covered = Covered { path: "report/2:log".into(), tool: "log".into(), arguments: json!({ "line": "sent" }) };
/// assert_eq!(covered.tool, "log");
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Covered {
    /// The place of the call in its run.
    pub path: Text,
    /// The tool.
    pub tool: Text,
    /// Its final arguments.
    pub arguments: Value,
}

/// What came of asking.
///
/// ```
/// use toolwright::approval::Answer;
/// let answer = Answer::No { who: "ann".into(), reason: "too much".into() };
/// assert_ne!(answer, Answer::Nobody);
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Answer {
    /// A person, or a rule that stands for one, said yes to exactly this.
    Yes {
        /// Who.
        who: Text,
    },
    /// No.
    No {
        /// Who.
        who: Text,
        /// Why, as they said it; may be empty.
        reason: Text,
    },
    /// There is nobody to ask: that is a no.
    Nobody,
    /// Nobody answered in time: that is a no.
    Expired,
    /// The question stands in the journal and is answered later: the run stops here and waits.
    Later,
}

impl Request {
    /// A request about a call that no composite is around.
    pub fn new(id: impl Into<Text>, run: impl Into<Text>, tool: impl Into<Text>, arguments: Value) -> Self {
        let tool = tool.into();
        Self {
            id: id.into(),
            run: run.into(),
            path: tool.clone(),
            tool,
            description: Text::default(),
            arguments,
            effect: None,
            plan: None,
            covers: Vec::new(),
            done: Vec::new(),
            caller: Text::default(),
            asked: None,
            expires: None,
            binding: Text::default(),
        }
    }
}

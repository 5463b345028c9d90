//! Approvals: a person's yes to one call with side effects, or to all those of a plan, bound to what was shown.
//!
//! An [`Approver`](crate::Approver) is shown a [`Request`] and gives an [`Answer`]. The request has everything that decides the
//! effect, as it is at the moment of asking: the tool, its final arguments, the plan it is part of, who calls. What is not in it is
//! not covered by a yes.
//!
//! In reading order: [`Approve`] is when a tool asks, [`Approvals`] are a host's rules. [`Request`] is what is asked, with its
//! [`Plan`] and what else a yes [`Covered`]; [`Answer`] is what an approver gives. A journal keeps what was [`Asked`] and
//! [`Answered`], with its [`Outcome`]; an [`Approval`] is both together, and what became of it.

use serde::{Deserialize, Serialize};

use crate::composite::EffectRecord;
use crate::fingerprint::{Fingerprint, Hasher};
use crate::frame::Timestamp;
use crate::runtime::Runtime;
use crate::tool::{Effect, ToolDef};
use crate::value::{Text, Value};

mod kept;
mod rules;

pub use kept::{Answered, Approval, Asked, Outcome, answer_fits};
pub use rules::{Approvals, Approve};

/// Hash of everything of a tool that a person goes by: its name, its description, and what a run depends on.
/// [`Request::fingerprint`] is that of the tool that is asked for.
///
/// ```
/// use toolwright::{ToolDef, approval::definition, tool};
/// let echo = |words: &str| -> ToolDef { tool("echo", words).reads().run_json(|input, _call| async move { Ok(input) }) };
/// assert_eq!(definition(&echo("Gives back")), definition(&echo("Gives back")));
/// assert_ne!(definition(&echo("Gives back")), definition(&echo("Sends to everyone")));
/// ```
pub fn definition<R: Runtime>(tool: &ToolDef<R>) -> Fingerprint {
    crate::call::definition(tool)
}

/// What a person is asked.
///
/// ```
/// use toolwright::approval::Request;
/// use toolwright::json;
/// let request = Request::new("a1", "r1", "pay", json!({ "to": "x", "amount": 40 }));
/// assert_eq!(request.tool, "pay");
/// assert!(request.plan.is_none(), "no composite is around it");
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
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
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub effect: Option<Effect>,
    /// The composite around the call, if there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub plan: Option<Plan>,
    /// Further calls that the same yes covers (*once per plan*), each with its final arguments. Nothing else is covered.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub covers: Vec<Covered>,
    /// What this run has done already.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub done: Vec<EffectRecord>,
    /// Who calls, as the host knows them; empty when nobody says.
    pub caller: Text,
    /// When it was asked; absent without a clock.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub asked: Option<Timestamp>,
    /// When the question ends with a no; absent = never.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expires: Option<Timestamp>,
    /// Hash of the tool's definition.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fingerprint: Option<Fingerprint>,
    /// The rule that asks, in words.
    #[serde(default)]
    pub rule: Text,
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
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
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
/// let covered = Covered::new("report/2:log", "log", json!({ "line": "sent" }));
/// assert_eq!(covered.tool, "log");
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Covered {
    /// The place of the call in its run.
    pub path: Text,
    /// The tool.
    pub tool: Text,
    /// Its final arguments.
    pub arguments: Value,
    /// Its effect, as registered.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub effect: Option<Effect>,
    /// Hash of the tool's definition.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fingerprint: Option<Fingerprint>,
}

impl Covered {
    /// A call of `tool` with these arguments.
    pub fn new(path: impl Into<Text>, tool: impl Into<Text>, arguments: Value) -> Self {
        Self { path: path.into(), tool: tool.into(), arguments, effect: None, fingerprint: None }
    }
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
            fingerprint: None,
            rule: Text::default(),
            binding: Text::default(),
        }
    }

    /// The hash of everything in it that decides what a yes would do: the plan, the tool and its definition, the arguments
    /// whatever the order of their keys, the effects, what else is covered, the caller, and when the question ends. Words that
    /// only describe, times and ids are not in it.
    ///
    /// ```
    /// use toolwright::{approval::Request, json};
    /// let of = |arguments| Request::new("a1", "r1", "pay", arguments).bound();
    /// assert_eq!(of(json!({ "to": "x", "amount": 40 })), of(json!({ "amount": 40, "to": "x" })));
    /// assert_ne!(of(json!({ "to": "x", "amount": 40 })), of(json!({ "to": "x", "amount": 41 })));
    /// ```
    pub fn bound(&self) -> Text {
        let mut hash = Hasher::new();
        hash.text("toolwright approval 1");
        hash.text(&self.caller);
        hash.text(self.plan.as_ref().map_or("", |plan| &plan.composite));
        hash.text(self.plan.as_ref().map_or("", |plan| &plan.step));
        let steps = self.plan.as_ref().map(|plan| plan.steps.iter().map(Text::as_str).collect::<Vec<_>>()).unwrap_or_default();
        hash.value(Some(&Value::array(steps)));
        bind_call(&mut hash, &self.tool, &self.arguments, self.effect.as_ref(), self.fingerprint.as_ref());
        for covered in &self.covers {
            hash.text(&covered.path);
            bind_call(&mut hash, &covered.tool, &covered.arguments, covered.effect.as_ref(), covered.fingerprint.as_ref());
        }
        hash.text(&self.expires.map(|at| at.0.to_string()).unwrap_or_default());
        hash.done().to_string().into()
    }
}

fn bind_call(hash: &mut Hasher, tool: &str, arguments: &Value, effect: Option<&Effect>, definition: Option<&Fingerprint>) {
    hash.text(tool);
    hash.value(Some(&in_order(arguments)));
    hash.text(effect.map_or("", |effect| effect.class.as_str()));
    hash.text(effect.map_or("", |effect| effect.impact.as_str()));
    hash.text(&definition.map(ToString::to_string).unwrap_or_default());
}

/// The same value with the keys of every object in one order.
pub(crate) fn in_order(value: &Value) -> Value {
    match value {
        Value::Object(object) => {
            let mut members: Vec<(Text, Value)> = object.iter().map(|(key, value)| (key.clone(), in_order(value))).collect();
            members.sort_by(|(one, _), (other, _)| one.cmp(other));
            Value::object(members)
        }
        Value::Array(_) => Value::array(value.as_array().unwrap_or_default().iter().map(in_order)),
        scalar => scalar.clone(),
    }
}

//! What a journal keeps: plain data that reads back the same from JSON.
//!
//! INVARIANT: a field is never renamed or given another meaning; new ones have a default, so that an old record stays
//! readable. [`FORMAT`] says when that could not be kept.

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::key::StepKey;
use super::{JournalError, JournalErrorKind};
use crate::composite::EffectRecord;
use crate::error::EffectState;
use crate::fingerprint::Fingerprint;
use crate::frame::Timestamp;
use crate::schema::Repair;
use crate::tool::Impact;
use crate::tool::answer::More;
use crate::value::{Text, Value};

/// Version of the records that are written now. A journal refuses runs of a higher one.
pub const FORMAT: u32 = 1;

/// What is known of a run when it starts.
///
/// ```
/// use toolwright::{json, journal::RunRecord};
///
/// let run = RunRecord::new("r1", "report", json!({"topic": "ducks"}));
/// let kept = serde_json::to_string(&run)?;
/// assert_eq!(serde_json::from_str::<RunRecord>(&kept)?, run);
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct RunRecord {
    /// Version of the records.
    pub format: u32,
    /// The run's id.
    pub id: Text,
    /// The root tool's name.
    pub tool: Text,
    /// The root input, as received.
    pub input: Value,
    /// Hash of the catalogue.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fingerprint: Option<Fingerprint>,
    /// Which generation of a session's tools the run began with; 0 without a session.
    #[serde(default)]
    pub generation: u64,
    /// Tools made at run time that the root can reach: they are in no catalogue after a restart.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub forged: Vec<ForgedSpec>,
    /// The session it belongs to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session: Option<Text>,
    /// On whose behalf it runs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub principal: Option<Text>,
    /// From what the host makes the context again. The context itself is never kept.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub context_key: Option<Text>,
    /// When it was made, if there is a clock.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub created: Option<Timestamp>,
    /// When it must be over.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub deadline: Option<Timestamp>,
    /// How many calls the run will have as far as that is known: the root and its steps, without those of nested composites.
    #[serde(default)]
    pub calls: usize,
    /// The run that this one was forked from. Then it has results of that run, and nothing of it runs before it has all of
    /// them: only a claim that says the same may open it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub forked: Option<Forked>,
}

/// Where a fork begins.
///
/// A [`RunRecord`] has it when the run is a fork.
///
/// ```
/// use toolwright::journal::Forked;
/// let forked = Forked { run: "r1".into(), from: "report/1:send".into() };
/// assert_eq!(serde_json::to_string(&forked)?, r#"{"run":"r1","from":"report/1:send"}"#);
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Forked {
    /// The run whose results it has.
    pub run: Text,
    /// Path of the first step that really runs; the results of all steps before it are that run's.
    pub from: Text,
}

impl RunRecord {
    /// A run of `tool` with `input`, and nothing more known of it.
    pub fn new(id: impl Into<Text>, tool: impl Into<Text>, input: Value) -> Self {
        Self {
            format: FORMAT,
            id: id.into(),
            tool: tool.into(),
            input,
            fingerprint: None,
            generation: 0,
            forged: Vec::new(),
            session: None,
            principal: None,
            context_key: None,
            created: None,
            deadline: None,
            calls: 1,
            forked: None,
        }
    }

    /// Whether `other`, opened under the same id, is the same run: same tool, same input, and a fork of the same step or none.
    /// Whoever opens a fork as if it were none would run what it should only have the results of.
    ///
    /// # Errors
    /// [`JournalErrorKind::Diverged`] when it is not.
    pub fn same_run(&self, other: &Self) -> Result<(), JournalError> {
        let what = match (self.tool == other.tool, self.input == other.input, self.forked == other.forked) {
            (true, true, true) => return Ok(()),
            (false, ..) => format!("it began with `{}`, and this is `{}`", crate::cut(&self.tool, 80), crate::cut(&other.tool, 80)),
            (true, false, _) => "it began with another input".to_owned(),
            (true, true, false) => match &self.forked {
                None => "it is there already, and is no such fork".to_owned(),
                Some(Forked { run, from }) => {
                    format!("it is a fork of run `{}` from `{}`, and goes on only as that", crate::cut(run, 80), crate::cut(from, 200))
                }
            },
        };
        Err(JournalError::new(JournalErrorKind::Diverged, format!("run `{}`: {what}", crate::cut(&self.id, 80))))
    }
}

/// A composite that was made at run time.
///
/// Kept with a run, so that it can be forged again before the run goes on.
///
/// ```
/// use toolwright::{json, journal::ForgedSpec};
/// let kept = ForgedSpec { name: "digest".into(), spec: json!({ "steps": [] }) };
/// assert_eq!(serde_json::to_string(&kept)?, r#"{"name":"digest","spec":{"steps":[]}}"#);
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ForgedSpec {
    /// Its name.
    pub name: Text,
    /// Its declaration and specification.
    pub spec: Value,
}

/// The intent of one call.
///
/// Written before the tool starts.
///
/// The key of the calling call is not kept: it is this call's path without the last segment. Hashes of input and output are
/// not either: whoever wants one makes it of the value, which is here in full, and two that could differ would be one too
/// many. Attempts are the order of a call's intents, and epochs the order of the claims between them.
///
/// ```
/// use toolwright::{Impact, json, journal::{Begin, StepKey}};
/// let begin = Begin::new(StepKey::written("report/0:look", "search"), Some(Impact::None), json!({ "query": "ducks" }));
/// assert_eq!(begin.tool(), "search");
/// assert_eq!(begin.idempotency_key("r1"), "r1/report/0:look");
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Begin {
    /// Where, and with which tool.
    pub key: StepKey,
    /// What a second run would do; `None` when the tool declares nothing, which counts as the worst.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub impact: Option<Impact>,
    /// The tool is a composite: its steps are calls of their own.
    #[serde(default)]
    pub composite: bool,
    /// The arguments as they are sent.
    pub input: Value,
    /// Hash of what a run depends on of the tool. Where one of two records has none, they are not compared by it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fingerprint: Option<Fingerprint>,
    /// What few calls have.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub more: Option<Box<BeginMore>>,
    /// When, if there is a clock.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at: Option<Timestamp>,
}

/// What few intents have.
///
/// [`Begin`] holds it in a box, so that an intent without it stays small.
///
/// ```
/// let more: toolwright::journal::BeginMore = serde_json::from_str(r#"{"checkpoint": {"draft": 3}}"#)?;
/// assert_eq!(more.checkpoint, Some(toolwright::json!({ "draft": 3 })));
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
#[non_exhaustive]
pub struct BeginMore {
    /// What was changed in the arguments as received.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub repairs: Vec<Repair>,
    /// The specification, for a composite.
    #[serde(deserialize_with = "given", skip_serializing_if = "Option::is_none")]
    pub spec: Option<Value>,
    /// The host's own state at this moment.
    #[serde(deserialize_with = "given", skip_serializing_if = "Option::is_none")]
    pub checkpoint: Option<Value>,
    /// The tools that the steps of a composite reach; none where they are found only when their turn comes.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub tools: Vec<StepTool>,
    /// The call was not made in this run: it is here with its outcome as the run of this id made it. The same call with other
    /// arguments is then no other call, and without its outcome it never runs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub forked: Option<Text>,
    /// The approval on which the call is made. Empty when it needs one and has none: then it is not [admitted](super::admit).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub approval: Option<Text>,
}

/// A tool that a composite's steps reach, as it was when the composite began.
///
/// Whoever takes the run up again accepts a composite only with every tool that it reaches: [`BeginMore`] holds them.
///
/// ```
/// use toolwright::{Registry, journal::StepTool, json, tool};
/// let echo = tool("echo", "Gives back what it gets").reads().run_json(|input, _call| async move { Ok(input) });
/// let catalog = Registry::new().with(echo)?.seal();
/// let fingerprint = *catalog.require("echo")?.run_fingerprint();
/// let kept = serde_json::to_value(StepTool { tool: "echo".into(), fingerprint, spec: None })?;
/// assert_eq!(kept["tool"], "echo");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct StepTool {
    /// Its name.
    pub tool: Text,
    /// Hash of what a run depends on of the tool.
    pub fingerprint: Fingerprint,
    /// The specification, for a composite.
    #[serde(default, deserialize_with = "given", skip_serializing_if = "Option::is_none")]
    pub spec: Option<Value>,
}

impl Begin {
    /// An intent with nothing but the needed.
    pub fn new(key: StepKey, impact: Option<Impact>, input: Value) -> Self {
        Self { key, impact, composite: false, input, fingerprint: None, more: None, at: None }
    }

    /// Name of the called tool.
    pub fn tool(&self) -> &str {
        self.key.tool()
    }

    /// The run's id and the call's path: the same on every attempt, for the world outside. Of a call that a fork only has the
    /// outcome of, the key that it had where it was made.
    pub fn idempotency_key(&self, run: &str) -> String {
        format!("{}/{}", self.forked().unwrap_or(run), self.key.path())
    }

    /// The run that made this call, when it was not the one that has it.
    pub fn forked(&self) -> Option<&str> {
        self.more.as_ref()?.forked.as_deref()
    }

    /// What was changed in the arguments as received, usually nothing.
    pub fn repairs(&self) -> &[Repair] {
        self.more.as_ref().map_or(&[], |more| &more.repairs)
    }
}

/// The outcome of one call.
///
/// Written before anybody sees it. As in [`Begin`], what follows from the other records is not kept: the calling call's
/// key, the attempt, the epoch and the hash of the output; the time that it took is that between intent and outcome.
///
/// ```
/// use toolwright::{EffectState, json, journal::{Failure, Finish, StepKey}};
/// let key = || StepKey::written("send", "send");
/// let sent = Finish::ok(key(), Some(json!("sent")), EffectState::Happened);
/// let failed = Finish::failed(key(), Failure::new("timeout", "no answer in time", EffectState::Unknown));
/// assert!(sent.outcome.is_ok() && failed.outcome.is_err());
/// assert_eq!(failed.state, EffectState::Unknown);
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Finish {
    /// Where.
    pub key: StepKey,
    /// The output, or what ended it.
    #[serde(with = "outcome")]
    pub outcome: Result<Option<Value>, Box<Failure>>,
    /// Whether a side effect happened; that of the failure when there is one.
    pub state: EffectState,
    /// What few calls have.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub more: Option<Box<FinishMore>>,
    /// When, if there is a clock.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at: Option<Timestamp>,
}

/// What few outcomes have.
///
/// [`Finish`] holds it in a box, so that an outcome without it stays small.
///
/// ```
/// let more: toolwright::journal::FinishMore = serde_json::from_str(r#"{"content_type": "text/plain"}"#)?;
/// assert_eq!(more.content_type.as_deref(), Some("text/plain"));
/// assert!(!more.receipt_failed);
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
#[non_exhaustive]
pub struct FinishMore {
    /// Media type of the output.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub content_type: Option<Text>,
    /// Raw content blocks as the source sent them.
    #[serde(deserialize_with = "given", skip_serializing_if = "Option::is_none")]
    pub content: Option<Value>,
    /// The tool's own facts.
    #[serde(deserialize_with = "given", skip_serializing_if = "Option::is_none")]
    pub details: Option<Value>,
    /// What was repaired or replaced on the way, in words.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<Text>,
    /// Effects that the call reported, those of its steps for a composite.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub effects: Option<Vec<EffectRecord>>,
    /// The host's receipt, or what it put in the place of one.
    #[serde(deserialize_with = "given", skip_serializing_if = "Option::is_none")]
    pub receipt: Option<Value>,
    /// No receipt could be made, and `receipt` is what stands for it.
    pub receipt_failed: bool,
    /// Who said that this is the outcome, where it was not the tool: the output is then checked before it is used.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub answered_by: Option<Text>,
}

impl From<&More> for FinishMore {
    fn from(more: &More) -> Self {
        Self {
            content_type: more.content_type.clone(),
            content: more.content.clone(),
            details: more.details.clone(),
            notes: more.notes.clone(),
            effects: more.effects.clone(),
            receipt: None,
            receipt_failed: false,
            answered_by: None,
        }
    }
}

impl From<FinishMore> for More {
    fn from(more: FinishMore) -> Self {
        let FinishMore { content_type, content, details, notes, effects, .. } = more;
        Self { content_type, details, content, effects, notes }
    }
}

impl Finish {
    /// The outcome of a call that succeeded.
    pub fn ok(key: StepKey, output: Option<Value>, state: EffectState) -> Self {
        Self { key, outcome: Ok(output), state, more: None, at: None }
    }

    /// The outcome of a call that failed.
    pub fn failed(key: StepKey, failure: Failure) -> Self {
        Self { key, state: failure.state, outcome: Err(Box::new(failure)), more: None, at: None }
    }

    /// Effects that the call reported.
    pub fn effects(&self) -> &[EffectRecord] {
        self.more.as_ref().and_then(|more| more.effects.as_deref()).unwrap_or_default()
    }
}

/// What a journal keeps of an error.
///
/// It reads back after a restart, which the error itself could not.
///
/// ```
/// use toolwright::{EffectState, journal::Failure};
/// let failure = Failure::new("mailbox_full", "the mailbox is full", EffectState::NoEffect).answered();
/// assert!(failure.answered);
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Failure {
    /// Its code.
    pub code: Text,
    /// Its sentence.
    pub message: String,
    /// Whether a side effect happened.
    pub state: EffectState,
    /// The tool itself answered, with an error: it is done, so another attempt may run it again.
    #[serde(default)]
    pub answered: bool,
    /// What to do about it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub help: Option<String>,
    /// Further facts.
    #[serde(default, deserialize_with = "given", skip_serializing_if = "Option::is_none")]
    pub details: Option<Value>,
}

impl Failure {
    /// A failure after which the effect is in this state.
    pub fn new(code: impl Into<Text>, message: impl Into<String>, state: EffectState) -> Self {
        Self { code: code.into(), message: message.into(), state, answered: false, help: None, details: None }
    }

    /// Says that the tool itself answered with this error.
    #[must_use]
    pub fn answered(mut self) -> Self {
        self.answered = true;
        self
    }
}

/// An answer to a call in doubt.
///
/// ```
/// use toolwright::{json, journal::{Resolution, Verdict}};
///
/// let answer = Resolution::new("anna", Verdict::Happened(Some(json!({"id": 7})))).evidence(json!("seen in the outbox"));
/// assert_eq!(answer.who, "anna");
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Resolution {
    /// Who says so: a person, or the tool's own way of looking.
    pub who: Text,
    /// What they say.
    pub verdict: Verdict,
    /// How they know.
    #[serde(default, deserialize_with = "given", skip_serializing_if = "Option::is_none")]
    pub evidence: Option<Value>,
    /// When, if there is a clock.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at: Option<Timestamp>,
}

/// What happened, as somebody found out.
///
/// A [`Resolution`] carries it.
///
/// ```
/// use toolwright::{json, journal::Verdict};
/// let happened = serde_json::to_value(Verdict::Happened(Some(json!({ "id": 7 }))))?;
/// assert_eq!(serde_json::from_value::<Verdict>(happened)?, Verdict::Happened(Some(json!({ "id": 7 }))));
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(from = "VerdictForm", into = "VerdictForm")]
pub enum Verdict {
    /// The effect happened, and this is the output that the run goes on with.
    Happened(Option<Value>),
    /// It did not happen: the call may run.
    NotHappened,
}

impl Resolution {
    /// An answer.
    pub fn new(who: impl Into<Text>, verdict: Verdict) -> Self {
        Self { who: who.into(), verdict, evidence: None, at: None }
    }

    /// How they know.
    #[must_use]
    pub fn evidence(mut self, evidence: Value) -> Self {
        self.evidence = Some(evidence);
        self
    }

    /// When they said it.
    #[must_use]
    pub fn at(mut self, at: Timestamp) -> Self {
        self.at = Some(at);
        self
    }
}

/// The end of a run, as far as one claim got.
///
/// ```
/// use toolwright::journal::End;
/// assert!(End::ok().ok);
/// assert_eq!(End::failed("cancelled").code.as_deref(), Some("cancelled"));
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct End {
    /// Whether it succeeded.
    pub ok: bool,
    /// The code of what ended it, when it did not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub code: Option<Text>,
    /// When, if there is a clock.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at: Option<Timestamp>,
}

impl End {
    /// It succeeded.
    pub fn ok() -> Self {
        Self { ok: true, code: None, at: None }
    }

    /// This ended it.
    pub fn failed(code: impl Into<Text>) -> Self {
        Self { ok: false, code: Some(code.into()), at: None }
    }
}

/// A `null` that is written is a value, and not the absence of one.
fn given<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Value>, D::Error> {
    <Value as Deserialize>::deserialize(deserializer).map(Some)
}

/// `{"output": …}`, `"empty"` or `{"failed": …}`: an output of `null` and no output are two things.
mod outcome {
    use super::{Deserialize, Deserializer, Failure, Serialize, Serializer, Value};

    #[derive(Serialize)]
    #[serde(rename_all = "snake_case")]
    enum Shown<'a> {
        Output(&'a Value),
        Empty,
        Failed(&'a Failure),
    }

    #[derive(Deserialize)]
    #[serde(rename_all = "snake_case")]
    enum Read {
        Output(Value),
        Empty,
        Failed(Box<Failure>),
    }

    type Outcome = Result<Option<Value>, Box<Failure>>;

    pub(super) fn serialize<S: Serializer>(outcome: &Outcome, serializer: S) -> Result<S::Ok, S::Error> {
        match outcome {
            Ok(Some(output)) => Shown::Output(output),
            Ok(None) => Shown::Empty,
            Err(failure) => Shown::Failed(failure),
        }
        .serialize(serializer)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Outcome, D::Error> {
        Ok(match Read::deserialize(deserializer)? {
            Read::Output(output) => Ok(Some(output)),
            Read::Empty => Ok(None),
            Read::Failed(failure) => Err(failure),
        })
    }
}

/// A verdict as it is written, for the same reason.
#[derive(Clone, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum VerdictForm {
    Happened,
    HappenedWith(Value),
    NotHappened,
}

impl From<Verdict> for VerdictForm {
    fn from(verdict: Verdict) -> Self {
        match verdict {
            Verdict::Happened(None) => Self::Happened,
            Verdict::Happened(Some(output)) => Self::HappenedWith(output),
            Verdict::NotHappened => Self::NotHappened,
        }
    }
}

impl From<VerdictForm> for Verdict {
    fn from(form: VerdictForm) -> Self {
        match form {
            VerdictForm::Happened => Self::Happened(None),
            VerdictForm::HappenedWith(output) => Self::Happened(Some(output)),
            VerdictForm::NotHappened => Self::NotHappened,
        }
    }
}

#[cfg(test)]
mod tests;

//! The JSON form of a failed run, and its sentence. The frame of the sentence
//! is fixed: `Step "…" (tool: "…") failed: …` or `… refused: <code>: …`.

use super::{CallError, EffectState, Fault, OutputError, StepError};
use crate::composite::effect;
use crate::schema::SchemaIssue;
use crate::value::{Text, Value};

type Pairs = Vec<(Text, Value)>;

impl CallError {
    /// One sentence that says what ended the run.
    pub fn message(&self) -> String {
        if let Some(timeout) = self.0.timeout {
            return format!("it took longer than {timeout:?}: {}", Self::of_fault(self.fault(), self.code()));
        }
        Self::of_fault(self.fault(), self.code())
    }

    fn of_fault(fault: &Fault, code: &str) -> String {
        match fault {
            Fault::Step(step) => step.message(),
            fault if fault.is_coded() => format!("{code}: {}", fault.reason()),
            fault => fault.reason(),
        }
    }

    /// What to do about it, when that is known.
    pub fn help(&self) -> Option<String> {
        match self.root_cause() {
            Fault::Unavailable { refusal: Some(refusal), .. }
            | Fault::UnavailableInvocation { refusal: Some(refusal), .. }
            | Fault::Forbidden { refusal: Some(refusal), .. } => refusal.help.clone(),
            Fault::Inspected { refusal, .. }
            | Fault::Denied { refusal, .. }
            | Fault::Hook { refusal, .. }
            | Fault::Rejected { refusal, .. } => refusal.help.clone(),
            Fault::Unavailable { nearest, .. } => nearest.as_ref().map(|near| format!("did you mean `{near}`?")),
            Fault::InDoubt { run, .. } => Some(format!(
                "find out whether it happened, and tell the journal's `resolve` for run `{run}`: `happened` with the output, or `not happened`"
            )),
            Fault::Diverged { .. } => Some("start a new run under another id; this one goes on only with what it began with".into()),
            Fault::ChangedTool { steps, .. } if !steps.is_empty() => {
                Some("other steps are never accepted: put the composite back as it was, start a new run, or fork this one".into())
            }
            Fault::ChangedTool { .. } => Some("accept each by name, or start a new run".into()),
            Fault::Cycle { .. } => Some("take the call out that leads back".into()),
            Fault::CallsTooDeep { .. } => Some("a tool calls itself without an end, or the policy's `limit_calls` is too low".into()),
            Fault::CompositionConflict { .. } => Some("only one of them may own the delivery; make the others unavailable here".into()),
            Fault::NoFinalizer => Some("install one with `register_finalizer` before the seal".into()),
            Fault::NoReceiver => Some("set `Options::receiver`, or name the receiver with `finish`".into()),
            Fault::Refused { help, .. } => help.clone(),
            Fault::Gate(refusal) => refusal.help.clone(),
            Fault::InvalidSpec(error) => error.issues.first().and_then(|issue| issue.help.clone()),
            Fault::Unresolved(unresolved) => Some(match &unresolved.nearest {
                Some(nearest) => format!("did you mean `{nearest}`? write `?` at the end if it may be missing"),
                None => "write `?` at the end if it may be missing".into(),
            }),
            Fault::Tool { error, .. } => error.own_help().map(str::to_owned),
            Fault::TooLarge { .. } => Some("pass on only the part that the next step needs, or raise the limit in the policy".into()),
            Fault::NestingTooDeep { .. } => Some("call the inner composites directly, or merge some of their steps".into()),
            Fault::InvalidOutput { .. } => Some("the tool ran; its owner must mend the output or the output schema".into()),
            Fault::Journal { error, .. } => Some(error.help().into()),
            _ => None,
        }
    }

    /// The failed run as JSON: `{success: false, error, details, effects}`.
    pub fn to_value(&self) -> Value {
        let details = Value::object(self.details());
        let mut pairs: Pairs = vec![("success".into(), false.into()), ("error".into(), self.message().into())];
        if let Some(help) = self.help() {
            pairs.push(("help".into(), help.into()));
        }
        pairs.push(("details".into(), details));
        pairs.push(("effects".into(), effect::to_list(self.effects())));
        Value::object(pairs)
    }

    /// The details of the failed result. A code that a tool gave itself is only renamed by whoever called it.
    pub(crate) fn details(&self) -> Pairs {
        match self.fault() {
            Fault::Step(step) => step.details(),
            Fault::Output(output) => output.details(),
            fault => {
                let mut pairs = fault.details(self.code());
                if let Some(leaf) = &self.0.leaf {
                    if self.has_unknown_effect() {
                        put(&mut pairs, "unknownEffect", Value::String(leaf.tool.clone()));
                    }
                    put(&mut pairs, "effects", effect::to_list(&leaf.effects));
                }
                pairs
            }
        }
    }
}

impl Fault {
    /// Whether the sentence begins with the code.
    fn is_coded(&self) -> bool {
        !matches!(self, Self::Tool { .. } | Self::Panicked { .. } | Self::Gate(_) | Self::Output(_))
    }

    /// The sentence of a no that a hook, a port or a name that is not there gave.
    fn said_by_the_host(&self) -> Option<String> {
        Some(match self {
            Self::Unavailable { refusal: Some(refusal), .. }
            | Self::UnavailableInvocation { refusal: Some(refusal), .. }
            | Self::Forbidden { refusal: Some(refusal), .. } => refusal.message.clone(),
            Self::Unavailable { tool, .. } => format!("no tool is named `{}`", crate::cut(tool, 80)),
            Self::UnavailableInvocation { invocation, .. } => {
                format!("no tool answers to the invocation `{}`", crate::cut(invocation, 80))
            }
            Self::Forbidden { tool, .. } => format!("`{}` is not available here", crate::cut(tool, 80)),
            Self::Inspected { refusal, .. } | Self::Denied { refusal, .. } | Self::Rejected { refusal, .. } => {
                if refusal.code == "refused" { refusal.message.clone() } else { format!("{} ({})", refusal.message, refusal.code) }
            }
            Self::Hook { hook, tool, refusal } if tool.is_empty() => format!("`{hook}` did not answer: {}", refusal.message),
            Self::Hook { hook, tool, refusal } => {
                format!("the hook `{hook}` of `{}` did not answer: {}", crate::cut(tool, 80), refusal.message)
            }
            _ => return None,
        })
    }

    pub(super) fn reason(&self) -> String {
        if let Some(said) = self.said_by_the_host() {
            return said;
        }
        match self {
            Self::NoHandler { tool } => format!("`{}` has nothing to run", crate::cut(tool, 80)),
            Self::Diverged { divergence } => format!(
                "the run began this call with another {}: what was recorded is a call of `{}`",
                divergence.what.as_str(),
                crate::cut(divergence.recorded.tool(), 80)
            ),
            Self::InDoubt { doubt, run } => format!(
                "`{}` was started before and its outcome is not known (run `{run}`, call `{}`)",
                crate::cut(doubt.begin.tool(), 80),
                crate::cut(&doubt.begin.key.path(), 200)
            ),
            Self::FailedBefore { failure, .. } => failure.message.clone(),
            Self::ChangedTool { tools, steps } if steps.is_empty() => format!("changed since the run began: {}", names(tools)),
            Self::ChangedTool { tools, steps } => format!("changed since the run began: {} (other steps: {})", names(tools), names(steps)),
            Self::CallsTooDeep { calls } => format!("calls nest {calls} deep; a chain that long does not run"),
            Self::Cycle { path } => {
                format!("the composite reaches itself: {}", path.iter().map(Text::as_str).collect::<Vec<_>>().join(" > "))
            }
            Self::RewriteLoop { path } => format!("the turn was handed on too often: {}", names(path)),
            Self::Finalize { failures, .. } => {
                let said: Vec<String> = failures.iter().map(|(tool, refusal)| format!("`{tool}`: {}", refusal.message)).collect();
                format!("not everything could be ended: {}", said.join("; "))
            }
            Self::NoFinalizer => "there is no finalizer".into(),
            Self::NoReceiver => "there is nobody to receive the reply".into(),
            Self::CompositionConflict { tools } => format!("several tools own this delivery: {}", names(tools)),
            Self::ProtocolConflict { id } => format!("an output for the model has the id of a tool: `{}`", crate::cut(id, 80)),
            Self::Refused { message, .. } => message.clone(),
            Self::Gate(refusal) => refusal.message.clone(),
            Self::Aborted => "the step expired before its tool ran".into(),
            Self::InvalidSpec(error) => error.to_string(),
            Self::Unresolved(unresolved) => {
                let at = if unresolved.pointer.is_empty() { String::new() } else { format!(" for {}", unresolved.pointer) };
                let text = crate::cut(&unresolved.reference.text, crate::limits::REFERENCE_SHOWN_CHARS_MAX);
                format!("`{text}`{at} has no value: {}", unresolved.found)
            }
            Self::InvalidInput { issues, .. } => listed(issues),
            Self::Tool { error, .. } => error.message().to_owned(),
            Self::Panicked { message, .. } => message.clone(),
            Self::Cancelled { state: EffectState::Unknown } => {
                "the run was cancelled and the tool did not answer in time; its effect may have happened".into()
            }
            Self::Cancelled { state: EffectState::NotStarted } => "the run was cancelled before the tool started".into(),
            Self::Cancelled { .. } => "the run was cancelled while the tool ran".into(),
            Self::InvalidOutput { issues, .. } => {
                format!("the tool ran, but its output does not fit its output schema: {}", listed(issues))
            }
            Self::TooLarge { what, message, .. } => format!("the {what} {message}"),
            Self::Journal { phase, error, .. } => format!("{error} ({phase})"),
            Self::NestingTooDeep { max, .. } => format!("compositions nest more than {max} deep; a chain that long does not run"),
            Self::Step(step) => step.message(),
            Self::Unavailable { .. }
            | Self::UnavailableInvocation { .. }
            | Self::Forbidden { .. }
            | Self::Inspected { .. }
            | Self::Denied { .. }
            | Self::Rejected { .. }
            | Self::Hook { .. } => String::new(),
            Self::Output(output) => format!("all steps ran, but there is no output: {}", output.source.message()),
        }
    }

    fn details(&self, code: &str) -> Pairs {
        let mut pairs: Pairs = Vec::new();
        match self {
            Self::Tool { error, .. } => {
                match error.own_details() {
                    Some(Value::Object(details)) => pairs.extend(details.iter().map(|(key, value)| (key.clone(), value.clone()))),
                    Some(other) => pairs.push(("details".into(), other.clone())),
                    None => {}
                }
                if let Some(code) = error.own_code() {
                    put(&mut pairs, "code", code.into());
                }
                return pairs;
            }
            Self::Panicked { .. } => return vec![("thrown".into(), true.into())],
            Self::Gate(refusal) => {
                if let Some(Value::Object(details)) = &refusal.details {
                    pairs.extend(details.iter().map(|(key, value)| (key.clone(), value.clone())));
                }
            }
            Self::Refused { details: Some(Value::Object(details)), .. } => {
                pairs.extend(details.iter().map(|(key, value)| (key.clone(), value.clone())));
            }
            Self::InvalidSpec(error) => {
                let messages = error.issues.iter().filter(|issue| issue.severity == crate::composite::Severity::Error);
                pairs.push(("errors".into(), Value::array(messages.map(|issue| Value::from(issue.message.as_str())))));
            }
            Self::InvalidInput { issues, .. } | Self::InvalidOutput { issues, .. } => pairs.push(("issues".into(), issue_list(issues))),
            Self::Unresolved(unresolved) => {
                pairs.push(("reference".into(), Value::String(unresolved.reference.text.clone())));
                pairs.push(("argument".into(), unresolved.pointer.as_str().into()));
                let bounds = [unresolved.span.start, unresolved.span.end];
                pairs.push(("span".into(), Value::array(bounds)));
            }
            Self::ChangedTool { tools, steps } => {
                let list = |names: &[Text]| Value::array(names.iter().cloned().map(Value::String));
                pairs.push(("tools".into(), list(tools)));
                if !steps.is_empty() {
                    pairs.push(("steps".into(), list(steps)));
                }
            }
            Self::NestingTooDeep { depth, .. } => pairs.push(("depth".into(), (*depth).into())),
            _ => {}
        }
        put(&mut pairs, "code", code.into());
        pairs
    }
}

impl OutputError {
    fn details(&self) -> Pairs {
        let mut pairs = self.source.details();
        put(&mut pairs, "completed", Value::array(self.completed.iter().cloned().map(Value::String)));
        put(&mut pairs, "effects", effect::to_list(&self.effects));
        pairs
    }
}

impl StepError {
    fn message(&self) -> String {
        let Self { step, tool, source, .. } = self;
        let frame = format!("Step \"{step}\" (tool: \"{tool}\")");
        match source.fault() {
            Fault::Refused { code, message, .. } if code == "dry_run_needs_output" => format!("{code}: {message}"),
            Fault::Refused { .. } | Fault::Unresolved(_) | Fault::InvalidInput { .. } => format!("{frame} refused: {}", source.message()),
            _ => format!("{frame} failed: {}", source.message()),
        }
    }

    /// The step's own facts over those of its tool. A tool's `code` becomes `innerCode`, so that it never reads as ours.
    fn details(&self) -> Pairs {
        let mut inner = self.source.details();
        let fault = self.source.fault();
        let ours = !matches!(
            fault,
            Fault::Tool { .. }
                | Fault::Panicked { .. }
                | Fault::Step(_)
                | Fault::Output(_)
                | Fault::NestingTooDeep { .. }
                | Fault::InvalidSpec(_)
        );
        let thrown = matches!(fault, Fault::Panicked { .. });
        let keeps_inner = matches!(fault, Fault::Gate(_) | Fault::Aborted) || (!ours && !thrown && !inner.is_empty());
        if !ours {
            for (key, _) in &mut inner {
                if key == "code" {
                    *key = arcstr::literal!("innerCode");
                }
            }
        }
        let mut pairs = inner.clone();
        if keeps_inner {
            put(&mut pairs, "inner", Value::object(inner));
        }
        put(&mut pairs, "step", Value::String(self.step.clone()));
        put(&mut pairs, "stepIndex", self.index.into());
        put(&mut pairs, "tool", Value::String(self.tool.clone()));
        pairs.retain(|(key, _)| key != "unknownEffect");
        if self.unknown_effect {
            put(&mut pairs, "unknownEffect", Value::String(self.step.clone()));
        }
        put(&mut pairs, "completed", Value::array(self.completed.iter().cloned().map(Value::String)));
        put(&mut pairs, "effects", effect::to_list(&self.effects));
        pairs
    }
}

/// Sets a member, in its old place when it was there.
fn put(pairs: &mut Pairs, key: &'static str, value: Value) {
    match pairs.iter_mut().find(|(known, _)| known == key) {
        Some((_, old)) => *old = value,
        None => pairs.push((key.into(), value)),
    }
}

fn names(names: &[Text]) -> String {
    names.iter().map(|name| format!("`{}`", crate::cut(name, 80))).collect::<Vec<_>>().join(", ")
}

pub(super) fn listed(issues: &[SchemaIssue]) -> String {
    issues.iter().map(ToString::to_string).collect::<Vec<_>>().join("; ")
}

pub(super) fn issue_list(issues: &[SchemaIssue]) -> Value {
    Value::array(
        issues.iter().map(|issue| {
            Value::object([("pointer", Value::from(issue.pointer.as_str())), ("message", Value::from(issue.message.as_str()))])
        }),
    )
}

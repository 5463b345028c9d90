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
        match self.fault() {
            Fault::Step(step) => step.message(),
            fault if fault.is_coded() => format!("{}: {}", self.code(), fault.reason()),
            fault => fault.reason(),
        }
    }

    /// What to do about it, when that is known.
    pub fn help(&self) -> Option<String> {
        match self.root_cause() {
            Fault::Unavailable { nearest, .. } => nearest.as_ref().map(|near| format!("did you mean `{near}`?")),
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

    /// What a model may see: code, message, help and issues; nothing of other tools.
    pub fn for_model(&self) -> Value {
        let mut pairs: Pairs = vec![("code".into(), self.code().into()), ("message".into(), self.message().into())];
        pairs.extend(self.help().map(|help| ("help".into(), help.into())));
        if let Fault::InvalidArguments(issues) | Fault::InvalidOutput { issues, .. } = self.root_cause() {
            pairs.push(("issues".into(), issue_list(issues)));
        }
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

    fn reason(&self) -> String {
        match self {
            Self::Unavailable { tool, .. } => format!("no tool is named `{}`", crate::cut(tool, 80)),
            Self::Refused { message, .. } => message.clone(),
            Self::Gate(refusal) => refusal.message.clone(),
            Self::Aborted => "the step expired before its tool ran".into(),
            Self::InvalidSpec(error) => error.to_string(),
            Self::Unresolved(unresolved) => {
                let at = if unresolved.pointer.is_empty() { String::new() } else { format!(" for {}", unresolved.pointer) };
                let text = crate::cut(&unresolved.reference.text, crate::limits::REFERENCE_SHOWN_CHARS_MAX);
                format!("`{text}`{at} has no value: {}", unresolved.found)
            }
            Self::InvalidArguments(issues) => listed(issues),
            Self::Tool { error, .. } => error.message().to_owned(),
            Self::Panicked { message, .. } => message.clone(),
            Self::Cancelled { state: EffectState::Unknown } => {
                "the run was cancelled and the tool did not answer in time; its effect may have happened".into()
            }
            Self::Cancelled { .. } => "the run was cancelled while the tool ran".into(),
            Self::InvalidOutput { issues, .. } => {
                format!("the tool ran, but its output does not fit its output schema: {}", listed(issues))
            }
            Self::TooLarge { what, message, .. } => format!("the {what} {message}"),
            Self::Journal { phase, error, .. } => format!("{error} ({phase})"),
            Self::NestingTooDeep { .. } => {
                format!("compositions nest more than {} deep; a chain that long does not run", crate::limits::COMPOSITE_DEPTH_MAX)
            }
            Self::Step(step) => step.message(),
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
            Self::InvalidArguments(issues) | Self::InvalidOutput { issues, .. } => pairs.push(("issues".into(), issue_list(issues))),
            Self::Unresolved(unresolved) => {
                pairs.push(("reference".into(), Value::String(unresolved.reference.text.clone())));
                pairs.push(("argument".into(), unresolved.pointer.as_str().into()));
                let bounds = [unresolved.span.start, unresolved.span.end];
                pairs.push(("span".into(), Value::array(bounds)));
            }
            Self::NestingTooDeep { depth } => pairs.push(("depth".into(), (*depth).into())),
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
            Fault::Refused { .. } | Fault::Unresolved(_) | Fault::InvalidArguments(_) => format!("{frame} refused: {}", source.message()),
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

fn listed(issues: &[SchemaIssue]) -> String {
    issues.iter().map(ToString::to_string).collect::<Vec<_>>().join("; ")
}

fn issue_list(issues: &[SchemaIssue]) -> Value {
    Value::array(
        issues.iter().map(|issue| {
            Value::object([("pointer", Value::from(issue.pointer.as_str())), ("message", Value::from(issue.message.as_str()))])
        }),
    )
}

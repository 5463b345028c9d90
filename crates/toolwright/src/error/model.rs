//! What a model may know of an error: what it can do about it, and nothing of other tools, of runs, of the host's insides
//! or of where things come from. One sentence for each fault; a new one must be given its own.

use super::result::{issue_list, listed};
use super::{CallError, EffectState, Fault};
use crate::gate::CHECK_BROKE_DOWN;
use crate::journal::JournalErrorKind;
use crate::value::{Text, Value};

impl CallError {
    /// What a model may see: code, message, help and issues.
    ///
    /// ```
    /// use toolwright::{Invocation, Registry, json, tool};
    /// # tokio::runtime::Builder::new_current_thread().build()?.block_on(async {
    /// let off = tool("off", "Is switched off").reads().available(|_| false).run_json(|v, _| async move { Ok(v) });
    /// let error = Registry::new().with(off)?.seal().invoke(Invocation::new("off", json!({})), ()).await.err().ok_or("it is off")?;
    /// assert_eq!(error.for_model(), json!({ "code": "forbidden", "message": "it is not available here" }));
    /// # Ok::<(), Box<dyn std::error::Error>>(()) })?;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn for_model(&self) -> Value {
        let mut pairs: Vec<(Text, Value)> =
            vec![("code".into(), self.public_code().into()), ("message".into(), message(self.fault()).into())];
        pairs.extend(self.help_for_models().map(|help| ("help".into(), help.into())));
        if let Fault::InvalidInput { issues, .. } | Fault::InvalidOutput { issues, .. } = self.root_cause() {
            pairs.push(("issues".into(), issue_list(issues)));
        }
        Value::object(pairs)
    }

    fn help_for_models(&self) -> Option<String> {
        let fault = self.root_cause();
        if let Fault::Tool { error, .. } = fault
            && let Some((_, help)) = error.for_models()
        {
            return help.clone();
        }
        self.help().filter(|_| is_help_for_models(fault))
    }

    /// Message and help for the model that called the tool inside which this call was made.
    pub(crate) fn words_for_models(&self) -> (String, Option<String>) {
        (inner(self.fault()), self.help_for_models())
    }
}

/// Of a call inside another one, which nobody asked for by its name.
fn inner(fault: &Fault) -> String {
    match fault {
        Fault::Unavailable { refusal: None, .. } | Fault::UnavailableInvocation { refusal: None, .. } => {
            "a tool that it uses is not there".into()
        }
        fault => message(fault),
    }
}

/// Whether the help speaks to whoever made the call, and not to the host.
fn is_help_for_models(fault: &Fault) -> bool {
    match fault {
        Fault::Tool { .. }
        | Fault::Unresolved(_)
        | Fault::InvalidSpec(_)
        | Fault::TooLarge { .. }
        | Fault::Inspected { .. }
        | Fault::Denied { .. }
        | Fault::Rejected { .. } => true,
        Fault::Gate(refusal) => !speaks_to_the_host(refusal),
        Fault::Refused { code, .. } => code == "dry_run_needs_output",
        _ => false,
    }
}

fn message(fault: &Fault) -> String {
    match fault {
        Fault::Step(step) => format!("step \"{}\" did not succeed: {}", crate::cut(&step.step, 80), inner(step.source.fault())),
        Fault::Output(output) => format!("all steps ran, but there is no output: {}", inner(output.source.fault())),
        Fault::Unavailable { refusal: Some(refusal), .. }
        | Fault::UnavailableInvocation { refusal: Some(refusal), .. }
        | Fault::Forbidden { refusal: Some(refusal), .. }
        | Fault::Inspected { refusal, .. }
        | Fault::Denied { refusal, .. }
        | Fault::Rejected { refusal, .. }
        | Fault::Gate(refusal) => refusal_message(refusal),
        Fault::Forbidden { refusal: None, .. } => "it is not available here".into(),
        // What was asked for is all that is named.
        Fault::Unavailable { refusal: None, .. } | Fault::UnavailableInvocation { refusal: None, .. } => fault.reason(),
        Fault::Hook { refusal, .. } => refusal_message(refusal),
        Fault::Refused { code, message, .. } => rule(code, message),
        Fault::InvalidInput { issues, .. } => listed(issues),
        Fault::Tool { error, .. } => error.for_models().map_or_else(|| error.message().to_owned(), |(message, _)| message.clone()),
        Fault::Panicked { .. } => "the tool broke down".into(),
        Fault::NoHandler { .. } => "it has nothing to run".into(),
        Fault::InvalidOutput { .. } => "it ran, but what it gave is not what it promises".into(),
        Fault::Journal { error, state: EffectState::NotStarted, .. } if error.kind == JournalErrorKind::Claimed => {
            "somebody else is at work on this very call, so it was not started a second time".into()
        }
        Fault::Journal { state: EffectState::NotStarted, .. } => "it was not started, since that could not be written down".into(),
        Fault::Journal { .. } => "it ran, and what came of it could not be written down".into(),
        Fault::Diverged { divergence } => format!("the run began this call with another {}", divergence.what.as_str()),
        Fault::InDoubt { .. } => "it was started before, and its outcome is not known: somebody must find out what happened".into(),
        Fault::FailedBefore { .. } => "it failed before, after its effect had happened".into(),
        Fault::ChangedTool { .. } => "tools have changed since the run began".into(),
        Fault::CallsTooDeep { .. } | Fault::NestingTooDeep { .. } => "it nests too deep".into(),
        Fault::Cycle { .. } => "it would reach itself".into(),
        Fault::RewriteLoop { .. } => "the turn was handed on too often".into(),
        Fault::Finalize { .. } => "not everything could be ended".into(),
        Fault::CompositionConflict { .. } => "several tools own this delivery".into(),
        Fault::ProtocolConflict { .. } => "an output has the id of a tool".into(),
        Fault::InvalidSpec(error) if error.issues.is_empty() => "the composite is not well formed".into(),
        Fault::Aborted
        | Fault::InvalidSpec(_)
        | Fault::Unresolved(_)
        | Fault::Cancelled { .. }
        | Fault::TooLarge { .. }
        | Fault::NoFinalizer
        | Fault::NoReceiver => fault.reason(),
    }
}

/// A check that broke down says so in words for whoever must mend it.
fn refusal_message(refusal: &crate::refusal::Refusal) -> String {
    if refusal.code == "hook_panicked" || refusal.code == "no_step_decision" {
        return "a check of the host did not answer".into();
    }
    // The gate's own words name the tool of the step.
    match refusal.code.as_str() {
        _ if refusal.message.starts_with(CHECK_BROKE_DOWN) => "a check of the host did not answer".into(),
        "step_disabled" => "its tool is switched off here".into(),
        "approval_unavailable" => "it needs somebody's yes, and nobody can be asked".into(),
        "approval_rejected" => "nobody said yes to it".into(),
        "approval_required" => "it needs somebody's yes, and waits for it".into(),
        "approval_denied" => match refusal.details.as_ref().and_then(|details| details.get("reason")?.as_str()) {
            Some(reason) if !reason.is_empty() => format!("somebody said no to it: {}", crate::cut(reason, 300)),
            Some(_) => "somebody said no to it".into(),
            None => "it needs somebody's yes, and nobody can be asked".into(),
        },
        "approval_expired" => "it needed somebody's yes, and the time for it is over".into(),
        "approval_mismatch" => "it would do something else than what was approved".into(),
        "catalog_changed" => "it is not what somebody was asked about any more: nothing of it ran, and a further call asks again".into(),
        _ => refusal.message.clone(),
    }
}

fn speaks_to_the_host(refusal: &crate::refusal::Refusal) -> bool {
    refusal.message.starts_with(CHECK_BROKE_DOWN)
        || matches!(refusal.code.as_str(), "step_disabled" | "approval_unavailable" | "approval_required" | "catalog_changed")
}

/// Rules about steps name the tools in them; the others speak of the call.
fn rule(code: &str, message: &str) -> String {
    match code {
        "step_not_chainable" | "side_effects_undeclared" | "step_missing" | "step_audience" | "step_cycle" => {
            "its tool may not be a step here".into()
        }
        "caller_reads_only" => "a tool that only reads may not have others change something".into(),
        "suspended" => "it is suspended".into(),
        "sensitive_unencrypted" => "it handles secrets, and they would be written down in plain".into(),
        _ => message.to_owned(),
    }
}

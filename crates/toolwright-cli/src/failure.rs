//! A call that did not succeed, told: which step, why, what completed, which effects happened, what to do.

use toolwright::{CallError, EffectRecord, Value};

use crate::args::Format;
use crate::diagnostic::{Finding, StepPlace};
use crate::exit::Exit;
use crate::output::Output;
use crate::secret::Secrets;
use crate::style::{one_line, printable, wrap};

/// Tells about the error; gives the exit code.
pub(crate) fn tell(output: Output, error: &CallError, tool: &str, secrets: &Secrets) -> Exit {
    let exit = exit_of(error);
    let text = match output.format {
        Format::Json => format!("{:#}\n", secrets.mask_json(error.to_value().to_json())),
        Format::Plain => plain(error, secrets),
        Format::Human => human(output, error, tool, secrets),
    };
    output.error(&text);
    exit
}

/// Tells that a rule refused before anything ran, in the form of a run that ended: which step, why,
/// what completed (nothing), which effects happened (none), what to do.
pub(crate) fn refused(output: Output, findings: &[Finding]) {
    let step = findings.iter().find_map(|finding| Some((finding, finding.step.as_ref()?)));
    let text = match (output.format, step) {
        (Format::Json, step) => format!("{:#}\n", refusal(findings, step)),
        (Format::Plain, _) => {
            let lines = findings.iter().map(|finding| {
                let line = output.findings(std::slice::from_ref(finding));
                let step = finding.step.as_ref();
                let step = step.map(|step| format!("; step: {} ({})", step.step, step.tool));
                let step = step.unwrap_or_default();
                format!("{}{step}; completed: none; effects: none\n", line.trim_end())
            });
            lines.collect()
        }
        (Format::Human, None) => output.findings(findings),
        (Format::Human, Some((_, step))) => {
            let mut out = output.findings(findings);
            out.push('\n');
            let mut fact = |name: &str, text: &str| {
                out.push_str(&format!("  {:<11} {text}\n", output.err.dim(name)));
            };
            fact("composite", &step.composite);
            let place = format!("`{}` ({}), tool `{}`", step.step, ordinal(step.index), step.tool);
            fact("step", &place);
            fact("completed", "none: nothing was run");
            fact("effects", "none happened");
            out
        }
    };
    output.error(&text);
}

/// The result of a call that was refused before it began.
fn refusal(findings: &[Finding], step: Option<(&Finding, &StepPlace)>) -> serde_json::Value {
    let main = step.map(|(finding, _)| finding).or(findings.first());
    let code = main.map_or("", |finding| finding.code.as_str());
    let message = main.map_or("", |finding| finding.message.as_str());
    let error = match step {
        Some((_, place)) => format!("Step \"{}\" (tool: \"{}\") refused: {code}: {message}", place.step, place.tool),
        None => message.to_owned(),
    };
    let place = step.map(|(_, place)| place);
    let details = serde_json::json!({
        "code": code,
        "composite": place.map(|place| place.composite.as_str()),
        "step": place.map(|place| place.step.as_str()),
        "stepIndex": place.map(|place| place.index),
        "tool": place.map(|place| place.tool.as_str()),
        "completed": [],
        "effects": [],
        "findings": crate::diagnostic::list_json(findings),
    });
    serde_json::json!({
        "success": false,
        "error": error,
        "help": main.and_then(|finding| finding.help.clone()),
        "details": details,
        "effects": [],
    })
}

fn exit_of(error: &CallError) -> Exit {
    let in_doubt = error.to_value().pointer("/details/unknownEffect").is_some()
        || (error.step().is_none() && error.effect_state() == toolwright::EffectState::Unknown);
    // Arguments that do not fit the tool that was asked for are the caller's own.
    if error.code() == "invalid_args" && error.step().is_none() {
        return Exit::Usage;
    }
    Exit::of_call(error.code(), in_doubt)
}

fn plain(error: &CallError, secrets: &Secrets) -> String {
    let mut line = format!("{}: {}", error.code(), one_line(&secrets.mask(&error.message())));
    if let Some(help) = error.help() {
        line.push_str(&format!(" ({})", one_line(&secrets.mask(&help))));
    }
    if let Some(step) = error.step() {
        let completed: Vec<&str> = step.completed.iter().map(|name| name.as_str()).collect();
        line.push_str(&format!("; completed: {}", listed(&completed)));
        let effects: Vec<String> = step.effects.iter().map(effect).collect();
        let effects: Vec<&str> = effects.iter().map(String::as_str).collect();
        line.push_str(&format!("; effects: {}", listed(&effects)));
        if step.unknown_effect {
            line.push_str(&format!("; in doubt: {}", step.step));
        }
    }
    line.push('\n');
    line
}

fn listed(names: &[&str]) -> String {
    match names {
        [] => "none".to_owned(),
        names => one_line(&names.join(", ")),
    }
}

fn human(output: Output, error: &CallError, tool: &str, secrets: &Secrets) -> String {
    let style = output.err;
    let width = output.width();
    let mut out = format!("{}\n\n", style.red(error.code()));
    let message = printable(&secrets.mask(&error.message()));
    let wrapped = wrap(&message, width, "    ");
    let body = wrapped.strip_prefix("    ").unwrap_or(&wrapped);
    out.push_str(&format!("  {} {body}\n", style.red("×")));
    if let Some(help) = error.help() {
        let wrapped = wrap(&printable(&secrets.mask(&help)), width, "        ");
        out.push_str(&format!("  {} {}\n", style.cyan("help:"), wrapped.trim_start()));
    }
    out.push('\n');
    let mut fact = |name: &str, text: String| {
        let wrapped = wrap(&text, width, "              ");
        out.push_str(&format!("  {:<11} {}\n", style.dim(name), wrapped.trim_start()));
    };
    match error.step() {
        None => fact("tool", tool.to_owned()),
        Some(_) => {
            fact("composite", tool.to_owned());
            fact("step", way(error));
            let completed = error.step().map(|step| step.completed.iter());
            let names: Vec<&str> = completed.into_iter().flatten().map(|name| name.as_str()).collect();
            fact("completed", listed(&names));
        }
    }
    let effects: Vec<String> = error.effects().iter().map(effect).collect();
    let in_doubt = exit_of(error) == Exit::InDoubt;
    match (effects.is_empty(), in_doubt) {
        (true, true) => fact("effects", "none for certain".to_owned()),
        (true, false) => fact("effects", "none happened".to_owned()),
        (false, _) => fact("effects", effects.join("; ")),
    }
    if in_doubt {
        fact("in doubt", format!("{}; look before you run this again", doubt(error, tool)));
    }
    if crate::command::explain::is_known(error.code()) {
        fact("explain", format!("toolwright explain {}", error.code()));
    }
    out
}

/// Which tool was started and whose effect nobody knows.
fn doubt(error: &CallError, tool: &str) -> String {
    let mut at = error;
    while let Some(step) = at.step() {
        at = &step.source;
        if at.step().is_none() {
            return format!("`{}` was started and did not succeed: its effect may have happened", step.tool);
        }
    }
    format!("`{tool}` was started and did not succeed: its effect may have happened")
}

/// The steps that lead to the failure, outermost first.
fn way(error: &CallError) -> String {
    let mut way = Vec::new();
    let mut at = Some(error);
    while let Some(step) = at.and_then(CallError::step) {
        way.push(one_line(&format!("`{}` ({}), tool `{}`", step.step, ordinal(step.index), step.tool)));
        at = Some(&step.source);
    }
    way.join(" → ")
}

fn ordinal(index: usize) -> String {
    format!("number {}", index + 1)
}

/// An effect in words.
pub(crate) fn effect(record: &EffectRecord) -> String {
    let (step, verb) = match record {
        EffectRecord::Ran(step) => (step, "ran"),
        EffectRecord::WouldRun { step, .. } => (step, "would run"),
        other => return one_line(&other.to_value().to_json_string()),
    };
    let via: Vec<&str> = step.via.iter().map(|name| name.as_str()).collect();
    let name = match via.as_slice() {
        [] => step.step.to_string(),
        via => format!("{}/{}", via.join("/"), step.step),
    };
    format!("`{}` {verb} `{}`", one_line(&name), one_line(&step.tool))
}

/// The arguments of an effect that would happen.
pub(crate) fn arguments(record: &EffectRecord) -> Option<&Value> {
    match record {
        EffectRecord::WouldRun { arguments, .. } => Some(arguments),
        _ => None,
    }
}

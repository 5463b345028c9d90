//! A call that did not succeed, told: which step, why, what completed, which effects happened, what to do.

use toolwright::{CallError, EffectRecord, Value};

use crate::args::Format;
use crate::exit::Exit;
use crate::output::Output;
use crate::secret::Secrets;
use crate::style::{one_line, printable, wrap};

/// Tells about the error; gives the exit code.
pub(crate) fn tell(output: Output, error: &CallError, tool: &str, secrets: &Secrets) -> Exit {
    let exit = exit_of(error);
    let text = match output.format {
        Format::Json => format!("{:#}\n", error.to_value().to_json()),
        Format::Plain => plain(error),
        Format::Human => human(output, error, tool),
    };
    output.error(&secrets.mask(&text));
    exit
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

fn plain(error: &CallError) -> String {
    let mut line = format!("{}: {}", error.code(), one_line(&error.message()));
    if let Some(help) = error.help() {
        line.push_str(&format!(" ({})", one_line(&help)));
    }
    if let Some(step) = error.step() {
        let completed: Vec<&str> = step.completed.iter().map(|name| name.as_str()).collect();
        line.push_str(&format!("; completed: {}", listed(&completed)));
        let effects: Vec<String> = step.effects.iter().map(effect).collect();
        let effects: Vec<&str> = effects.iter().map(String::as_str).collect();
        line.push_str(&format!("; effects: {}", listed(&effects)));
    }
    line.push('\n');
    line
}

fn listed(names: &[&str]) -> String {
    match names {
        [] => "none".to_owned(),
        names => names.join(", "),
    }
}

fn human(output: Output, error: &CallError, tool: &str) -> String {
    let style = output.err;
    let width = output.width();
    let mut out = format!("{}\n\n", style.red(error.code()));
    let message = printable(&error.message());
    let wrapped = wrap(&message, width, "    ");
    let body = wrapped.strip_prefix("    ").unwrap_or(&wrapped);
    out.push_str(&format!("  {} {body}\n", style.red("×")));
    if let Some(help) = error.help() {
        let wrapped = wrap(&printable(&help), width, "        ");
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
    match effects.is_empty() {
        true => fact("effects", "none happened".to_owned()),
        false => fact("effects", effects.join("; ")),
    }
    if exit_of(error) == Exit::InDoubt {
        let doubt = "the tool was started and did not answer: its effect may have happened. Look before you run \
                     this again";
        fact("in doubt", doubt.to_owned());
    }
    fact("explain", format!("toolwright explain {}", error.code()));
    out
}

/// The steps that lead to the failure, outermost first.
fn way(error: &CallError) -> String {
    let mut way = Vec::new();
    let mut at = Some(error);
    while let Some(step) = at.and_then(CallError::step) {
        way.push(format!("`{}` ({}), tool `{}`", step.step, ordinal(step.index), step.tool));
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

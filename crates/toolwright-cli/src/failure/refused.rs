//! A refusal before anything ran, in the form of a run that ended.

use super::ordinal;
use crate::args::Format;
use crate::diagnostic::{Finding, StepPlace};
use crate::output::Output;
use crate::style::flat;

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
        (Format::Human, Some((finding, step))) => {
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
            fact("explain", &format!("toolwright explain {}", finding.code));
            out
        }
    };
    output.error(&text);
}

/// The result of a call that was refused before it began.
fn refusal(findings: &[Finding], step: Option<(&Finding, &StepPlace)>) -> serde_json::Value {
    let main = step.map(|(finding, _)| finding).or(findings.first());
    let code = main.map_or("", |finding| finding.code.as_str());
    let message = main.map_or_else(String::new, |finding| flat(&finding.message));
    let error = match step {
        Some((_, place)) => format!("Step \"{}\" (tool: \"{}\") refused: {code}: {message}", place.step, place.tool),
        None => message,
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
        "help": main.and_then(|finding| finding.help.as_deref().map(flat)),
        "details": details,
        "effects": [],
    })
}

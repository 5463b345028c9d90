//! `check [FILE]`: everything that is wrong, at once; `--fix` mends what leaves no choice.

mod fix;

use serde_json::json;

use crate::app::App;
use crate::args::{CheckArgs, Format};
use crate::code;
use crate::command::explain;
use crate::diagnostic::{self, Finding, Severity, count, did_you_mean};
use crate::exit::Exit;
use crate::host::{Host, Want};
use crate::interrupt::{leave_at_next, until_first};
use crate::view::State;

/// The word after `--deny` for all warnings.
const WARNINGS: &str = "warnings";

/// Checks the files; servers that no lock knows are asked, with `--ask` all of them, with `--offline` none.
pub(crate) async fn check(app: &App, how: &CheckArgs) -> Exit {
    if let Err(exit) = denies_what_is_there(app, how) {
        return exit;
    }
    let (mut host, places) = match look(app, how).await {
        Ok(looked) => looked,
        Err(exit) => return exit,
    };
    if let Err(exit) = app.allows_what_is_there(&host) {
        return exit;
    }
    let mut plan = fix::Plan::default();
    if how.fix {
        plan = fix::plan(&host.findings, &places);
        let makes = !how.dry_run && !plan.edits.is_empty();
        if makes && let Err(finding) = fix::apply(&plan.edits, &places) {
            return app.fail(vec![*finding], Exit::DoesNotCheck);
        }
        // What is shown as made was made.
        show(app, &plan);
        if makes {
            host = match look(app, how).await {
                Ok((host, _)) => host,
                Err(exit) => return exit,
            };
        }
        told(app, &plan, how, host.findings.is_empty());
    }
    leave_at_next();
    let refused = only_refusals(&host, &host.findings);
    let denied = deny(&mut host.findings, &how.deny);
    print(app, &host, how, &plan);
    match count(&host.findings).0 {
        0 => Exit::Ok,
        _ if refused && !denied => Exit::Refused,
        _ => Exit::DoesNotCheck,
    }
}

/// Reads the files and wires what they say.
async fn look(app: &App, how: &CheckArgs) -> Result<(Host, Vec<fix::Place>), Exit> {
    let config = app.config_with_locks()?;
    let places = fix::places(&config);
    let grants = app.grants(&config);
    let want = match (how.offline, how.ask) {
        (true, _) => Want::Locked { ask: false },
        (_, true) => Want::Compared,
        _ => Want::Locked { ask: true },
    };
    let Some(host) = until_first(Host::open(config, &grants, &want)).await else {
        return Err(app.interrupted(Exit::Interrupted));
    };
    if until_first(host.close()).await.is_none() {
        return Err(app.interrupted(Exit::Interrupted));
    }
    Ok((host, places))
}

/// Whether everything after `--deny` is a code or all warnings: a slip of the pen there would let a warning pass.
fn denies_what_is_there(app: &App, how: &CheckArgs) -> Result<(), Exit> {
    let unknown: Vec<Finding> = how
        .deny
        .iter()
        .filter(|word| *word != WARNINGS && !explain::is_known(word))
        .map(|word| {
            let near = did_you_mean(word, explain::codes().chain([WARNINGS]));
            let help = near.unwrap_or_else(|| "write `--deny warnings`, or a code that `toolwright explain` lists".to_owned());
            Finding::error(code::USAGE, format!("there is no code `{word}` to deny")).help(help)
        })
        .collect();
    if unknown.is_empty() { Ok(()) } else { Err(app.fail(unknown, Exit::Usage)) }
}

/// Makes errors of warnings that are denied; whether there were any.
fn deny(findings: &mut [Finding], denied: &[String]) -> bool {
    let is_denied = |finding: &&mut Finding| denied.iter().any(|word| word == WARNINGS || *word == finding.code);
    let warnings = findings.iter_mut().filter(|finding| finding.severity == Severity::Warning).filter(is_denied);
    warnings.map(|finding| finding.severity = Severity::Error).count() > 0
}

/// Shows the changes: with the findings for people, beside them for scripts, and in the document as JSON.
fn show(app: &App, plan: &fix::Plan) {
    let mut text = diagnostic::diff(&plan.edits, app.output.out);
    for (edit, why) in &plan.left {
        let to = crate::style::one_line(&edit.to);
        text.push_str(&format!("{}:{}: not changed to `{to}`: {why}\n", edit.source.name(), edit.line()));
    }
    aside(app, &text);
}

/// Says how many changes were made.
fn told(app: &App, plan: &fix::Plan, how: &CheckArgs, clean: bool) {
    let changes = number(plan.edits.len(), "change", "changes");
    let text = match (plan.edits.is_empty(), how.dry_run) {
        (true, _) if clean => "nothing was changed: there is nothing to mend".to_owned(),
        (true, _) => "nothing was changed: no finding leaves only one way to mend it".to_owned(),
        (false, true) => format!("{changes} would be made"),
        (false, false) => format!("{changes} made"),
    };
    aside(app, &format!("{text}\n\n"));
}

fn aside(app: &App, text: &str) {
    match app.output.format {
        Format::Human => app.output.result(text),
        Format::Plain => app.output.note(text.trim_start_matches('\n')),
        Format::Json => {}
    }
}

fn print(app: &App, host: &Host, how: &CheckArgs, plan: &fix::Plan) {
    let findings = &host.findings;
    match app.output.format {
        Format::Json => {
            let mut document = diagnostic::to_json(findings);
            if let Some(object) = document.as_object_mut() {
                object.insert("notChecked".into(), json!(not_checked(host)));
            }
            if let (true, Some(object)) = (how.fix, document.as_object_mut()) {
                let left = plan.left.iter().map(|(edit, _)| edit);
                object.insert("applied".into(), json!(!how.dry_run && !plan.edits.is_empty()));
                object.insert("edits".into(), diagnostic::edits_json(&plan.edits));
                object.insert("leftOut".into(), diagnostic::edits_json(left));
            }
            app.output.json(&document);
        }
        Format::Plain => {
            app.output.result(&app.output.findings(findings));
            let unchecked = not_checked(host);
            if !unchecked.is_empty() {
                app.output.note(&format!("{}\n", unchecked_words(&unchecked)));
            }
        }
        Format::Human => {
            let mut text = app.output.findings_on_stdout(findings);
            if !text.is_empty() {
                text.push('\n');
            }
            text.push_str(&summary(host, findings));
            app.output.result(&text);
        }
    }
}

/// Whether every error is a rule that refuses: the files are right, the user has not allowed it.
fn only_refusals(host: &Host, findings: &[Finding]) -> bool {
    let refused = |finding: &Finding| {
        let owner = &finding.owner;
        host.tools.iter().any(|tool| matches!(tool.state, State::Refused(_)) && *owner == diagnostic::Owner::Composite(tool.id.clone()))
    };
    let mut errors = findings.iter().filter(|f| f.severity == Severity::Error);
    errors.all(refused)
}

fn number(count: usize, one: &str, many: &str) -> String {
    match count {
        1 => format!("1 {one}"),
        count => format!("{count} {many}"),
    }
}

fn summary(host: &Host, findings: &[Finding]) -> String {
    let (errors, warnings) = count(findings);
    let tools = host.tools.iter().filter(|tool| tool.inside.is_none()).count();
    let composites = host.tools.len() - tools;
    let what = format!("{}, {}", number(tools, "tool", "tools"), number(composites, "composite", "composites"));
    let unchecked = not_checked(host);
    let wrong = match (errors, warnings) {
        (0, 0) if !unchecked.is_empty() => "nothing is wrong in what was checked".to_owned(),
        (0, 0) => "nothing is wrong".to_owned(),
        (0, warnings) => number(warnings, "warning", "warnings"),
        (errors, 0) => number(errors, "error", "errors"),
        (errors, warnings) => format!("{}, {}", number(errors, "error", "errors"), number(warnings, "warning", "warnings")),
    };
    let mendable = match findings.iter().filter(|finding| finding.edit.is_some()).count() {
        0 => String::new(),
        1 if findings.len() == 1 => "; `toolwright check --fix` mends it".to_owned(),
        count if findings.len() == count => "; `toolwright check --fix` mends them".to_owned(),
        count => format!("; `toolwright check --fix` mends {count} of them"),
    };
    let unchecked = match unchecked.as_slice() {
        [] => String::new(),
        many => format!("{}\n", unchecked_words(many)),
    };
    format!("{what}: {wrong}{mendable}\n{unchecked}")
}

/// Composites that could not be checked, since tools of theirs are not known.
fn not_checked(host: &Host) -> Vec<&str> {
    let unknown = host.tools.iter().filter(|tool| tool.inside.is_some() && matches!(tool.state, State::Unavailable(_)));
    unknown.map(|tool| tool.id.as_str()).collect()
}

/// Composites that are named when they were not checked.
const UNCHECKED_SHOWN_MAX: usize = 5;

fn unchecked_words(ids: &[&str]) -> String {
    let names: Vec<String> = ids.iter().take(UNCHECKED_SHOWN_MAX).map(|id| format!("`{}`", crate::style::one_line(id))).collect();
    let more = if ids.len() > UNCHECKED_SHOWN_MAX { ", …" } else { "" };
    let were = if ids.len() == 1 { "was" } else { "were" };
    let composites = number(ids.len(), "composite", "composites");
    format!("{composites} {were} not checked, since the tools of a source are not known: {}{more}", names.join(", "))
}

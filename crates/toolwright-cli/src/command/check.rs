//! `check [FILE]`: everything that is wrong, at once.

use crate::app::App;
use crate::args::Format;
use crate::diagnostic::{self, Finding, count};
use crate::exit::Exit;
use crate::host::{Host, Want};
use crate::interrupt::{leave_at_next, until_first};
use crate::view::State;

/// Checks the files, and unless `offline` asks every source.
pub(crate) async fn check(app: &App, offline: bool) -> Exit {
    let config = match app.config_with_locks() {
        Ok(config) => config,
        Err(exit) => return exit,
    };
    let grants = app.grants(&config);
    let want = if offline { Want::Locked { ask: false } } else { Want::Everything };
    let Some(host) = until_first(Host::open(config, &grants, &want)).await else {
        return app.interrupted(Exit::Interrupted);
    };
    if until_first(host.close()).await.is_none() {
        return app.interrupted(Exit::Interrupted);
    }
    leave_at_next();
    if let Err(exit) = app.allows_what_is_there(&host) {
        return exit;
    }
    let findings = &host.findings;
    let (errors, _) = count(findings);
    match app.output.format {
        Format::Json => app.output.json(&diagnostic::to_json(findings)),
        Format::Plain => app.output.result(&app.output.findings(findings)),
        Format::Human => {
            let mut text = app.output.findings_on_stdout(findings);
            if !text.is_empty() {
                text.push('\n');
            }
            text.push_str(&summary(&host, findings));
            app.output.result(&text);
        }
    }
    match errors {
        0 => Exit::Ok,
        _ if only_refusals(&host, findings) => Exit::Refused,
        _ => Exit::DoesNotCheck,
    }
}

/// Whether every error is a rule that refuses: the files are right, the user has not allowed it.
fn only_refusals(host: &Host, findings: &[Finding]) -> bool {
    let refused = |finding: &Finding| {
        let owner = &finding.owner;
        host.tools.iter().any(|tool| matches!(tool.state, State::Refused(_)) && *owner == diagnostic::Owner::Composite(tool.id.clone()))
    };
    let mut errors = findings.iter().filter(|f| f.severity == diagnostic::Severity::Error);
    errors.all(refused)
}

fn summary(host: &Host, findings: &[Finding]) -> String {
    let (errors, warnings) = count(findings);
    let number = |count: usize, one: &str, many: &str| match count {
        1 => format!("1 {one}"),
        count => format!("{count} {many}"),
    };
    let tools = host.tools.iter().filter(|tool| tool.inside.is_none()).count();
    let composites = host.tools.len() - tools;
    let what = format!("{}, {}", number(tools, "tool", "tools"), number(composites, "composite", "composites"));
    let wrong = match (errors, warnings) {
        (0, 0) => "nothing is wrong".to_owned(),
        (0, warnings) => number(warnings, "warning", "warnings"),
        (errors, 0) => number(errors, "error", "errors"),
        (errors, warnings) => format!("{}, {}", number(errors, "error", "errors"), number(warnings, "warning", "warnings")),
    };
    format!("{what}: {wrong}\n")
}

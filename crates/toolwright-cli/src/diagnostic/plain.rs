//! One line per finding: `file:line:col: code: message`, for other programs and CI.

use super::{Finding, Severity};
use crate::style::{limited, spaced};

/// Every finding on a line of its own.
pub(super) fn render(findings: &[Finding]) -> String {
    findings.iter().map(line).collect()
}

fn line(finding: &Finding) -> String {
    let mut line = String::new();
    if let Some(place) = finding.labels.first() {
        let (row, column) = place.source.line_column(place.span.start);
        line.push_str(&format!("{}:{row}:{column}: ", place.source.name()));
    }
    line.push_str(&finding.code);
    line.push_str(": ");
    if finding.severity == Severity::Warning {
        line.push_str("warning: ");
    }
    line.push_str(&limited(&finding.message));
    if let Some(help) = &finding.help {
        line.push_str(&format!(" ({})", limited(help)));
    }
    // INVARIANT: one finding is one line, whatever text a tool or a file put into it.
    let mut one = spaced(&line);
    one.push('\n');
    one
}

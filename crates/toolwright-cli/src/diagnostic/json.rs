//! Findings as one JSON document.

use serde_json::{Value, json};

use super::{Edit, Finding, Label, Severity, count};
use crate::style::{flat, limited};

/// `{ok, errors, warnings, findings: [...]}`.
pub(super) fn document(findings: &[Finding]) -> Value {
    let (errors, warnings) = count(findings);
    json!({
        "ok": errors == 0,
        "errors": errors,
        "warnings": warnings,
        "findings": list(findings),
    })
}

/// Each finding, in order.
pub(super) fn list(findings: &[Finding]) -> Value {
    findings.iter().map(finding).collect()
}

fn finding(finding: &Finding) -> Value {
    let severity = match finding.severity {
        Severity::Error => "error",
        Severity::Warning => "warning",
    };
    let mut value = json!({
        "severity": severity,
        "code": finding.code,
        "message": flat(&limited(&finding.message)),
        "help": finding.help.as_deref().map(|help| flat(&limited(help))),
    });
    let mut places = finding.labels.iter();
    if let (Some(object), Some(main)) = (value.as_object_mut(), places.next()) {
        if let Value::Object(place) = place(main) {
            object.extend(place);
        }
        object.insert("related".into(), places.map(place).collect());
    }
    if let (Some(object), Some(change)) = (value.as_object_mut(), &finding.edit) {
        object.insert("edit".into(), edit(change));
    }
    value
}

/// `{file, start, end, line, ..., replacement}`: bytes from 0, lines and columns (in characters) from 1.
pub(super) fn edit(edit: &Edit) -> Value {
    let (line, column) = edit.source.line_column(edit.span.start);
    let (end_line, end_column) = edit.source.line_column(edit.span.end);
    json!({
        "file": edit.source.name(),
        "start": edit.span.start,
        "end": edit.span.end,
        "line": line,
        "column": column,
        "endLine": end_line,
        "endColumn": end_column,
        "replacement": edit.to,
    })
}

fn place(label: &Label) -> Value {
    let (line, column) = label.source.line_column(label.span.start);
    let (end_line, end_column) = label.source.line_column(label.span.end);
    json!({
        "file": label.source.name(),
        "line": line,
        "column": column,
        "endLine": end_line,
        "endColumn": end_column,
        "label": limited(&label.text),
    })
}

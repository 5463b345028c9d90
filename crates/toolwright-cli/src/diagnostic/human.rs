//! Findings for a person: the line, a caret under the part that is meant, and what to do.

use std::fmt;

use miette::{Diagnostic, GraphicalReportHandler, GraphicalTheme, LabeledSpan, Severity, SourceCode, ThemeCharacters, ThemeStyles};

use super::excerpt::Excerpt;
use super::{Edit, Finding, Label, Span};
use crate::style::{limited, printable, wrap};

/// Lines shown above and below the line that is meant.
const CONTEXT_LINES: usize = 1;

/// Every finding as a picture, a blank line between two.
pub(super) fn render(findings: &[Finding], colour: bool, width: usize) -> String {
    let styles = if colour { ThemeStyles::ansi() } else { ThemeStyles::none() };
    let theme = GraphicalTheme { characters: ThemeCharacters::unicode(), styles };
    let handler = GraphicalReportHandler::new_themed(theme)
        .with_width(width)
        .with_wrap_lines(false)
        .with_context_lines(CONTEXT_LINES)
        .with_links(false)
        .with_break_words(false);
    let mut out = String::new();
    for (index, finding) in findings.iter().enumerate() {
        if index > 0 {
            out.push('\n');
        }
        let picture = Picture::of(finding, width);
        if handler.render_report(&mut out, &picture).is_err() {
            out.push_str(&super::plain::render(std::slice::from_ref(finding)));
        }
    }
    trim_line_ends(&out)
}

/// Blanks at line ends are noise in golden files and in terminals alike.
fn trim_line_ends(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for line in text.lines() {
        out.push_str(line.trim_end());
        out.push('\n');
    }
    out
}

#[derive(Debug)]
struct Picture<'a> {
    finding: &'a Finding,
    width: usize,
    excerpt: Excerpt,
}

/// Columns before a message, and the two that stay free behind everything.
const BEFORE_MESSAGE: usize = 6;

/// The same for help.
const BEFORE_HELP: usize = 10;

/// Labels of the main file; a place in another file is told in words instead.
fn shown(finding: &Finding) -> Vec<&Label> {
    let main = finding.labels.first().map(|label| label.source.name());
    finding.labels.iter().filter(|label| Some(label.source.name()) == main).collect()
}

impl<'a> Picture<'a> {
    fn of(finding: &'a Finding, width: usize) -> Self {
        Self { finding, width, excerpt: Excerpt::of(&shown(finding), CONTEXT_LINES) }
    }

    fn elsewhere(&self) -> Vec<String> {
        let main = self.finding.labels.first().map(|label| label.source.name());
        self.finding
            .labels
            .iter()
            .filter(|label| Some(label.source.name()) != main)
            .map(|label| {
                let (line, column) = label.source.line_column(label.span.start);
                format!("{}: {}:{line}:{column}", label.text, label.source.name())
            })
            .collect()
    }
}

impl fmt::Display for Picture<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&wrap(&printable(&limited(&self.finding.message)), self.width.saturating_sub(BEFORE_MESSAGE), ""))
    }
}

impl std::error::Error for Picture<'_> {}

impl Diagnostic for Picture<'_> {
    fn code<'a>(&'a self) -> Option<Box<dyn fmt::Display + 'a>> {
        Some(Box::new(&self.finding.code))
    }

    fn severity(&self) -> Option<Severity> {
        Some(match self.finding.severity {
            super::Severity::Error => Severity::Error,
            super::Severity::Warning => Severity::Warning,
        })
    }

    fn help<'a>(&'a self) -> Option<Box<dyn fmt::Display + 'a>> {
        let width = self.width.saturating_sub(BEFORE_HELP);
        let lines: Vec<String> = self.elsewhere().into_iter().chain(self.finding.help.clone()).collect();
        let mut text = wrap(&printable(&limited(&lines.join("\n"))), width, "");
        if let Some(edit) = &self.finding.edit {
            let blank = if text.is_empty() { "" } else { "\n" };
            text.push_str(&format!("{blank}try:  {}", shortened(&printable(&edit.line_after()), edit, width.saturating_sub(6))));
        }
        (!text.is_empty()).then(|| Box::new(text) as Box<dyn fmt::Display>)
    }

    fn source_code(&self) -> Option<&dyn SourceCode> {
        (!self.finding.labels.is_empty()).then_some(&self.excerpt as &dyn SourceCode)
    }

    fn labels(&self) -> Option<Box<dyn Iterator<Item = LabeledSpan> + '_>> {
        let shown = shown(self.finding).into_iter().enumerate();
        let mut labels = shown.map(|(at, label)| labelled(label, self.excerpt.place(at), at == 0)).peekable();
        labels.peek().is_some().then(|| Box::new(labels) as _)
    }
}

/// A line that fits; of a longer one, what is changed with as much as fits around it.
fn shortened(line: &str, edit: &Edit, width: usize) -> String {
    let count = line.chars().count();
    if count <= width {
        return line.to_owned();
    }
    let at = line.find(&edit.to).map_or(0, |at| line.get(..at).unwrap_or_default().chars().count());
    let room = width.saturating_sub(4).max(1);
    let before = at.saturating_sub(room.saturating_sub(edit.to.chars().count()) / 2).min(count.saturating_sub(room));
    let kept: String = line.chars().skip(before).take(room).collect();
    let (left, right) = (if before > 0 { "… " } else { "" }, if before + room < count { " …" } else { "" });
    format!("{left}{kept}{right}")
}

fn labelled(label: &Label, place: Span, main: bool) -> LabeledSpan {
    let text = (!label.text.is_empty()).then(|| printable(&limited(&label.text)));
    let (start, length) = (place.start, place.len());
    match main {
        true => LabeledSpan::new_primary_with_span(text, (start, length)),
        false => LabeledSpan::new(text, start, length),
    }
}

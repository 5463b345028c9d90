//! Findings for a person: the line, a caret under the part that is meant, and what to do.

use std::fmt;

use miette::{
    Diagnostic, GraphicalReportHandler, GraphicalTheme, LabeledSpan, MietteSpanContents, Severity, SourceCode, SourceSpan, SpanContents,
    ThemeCharacters, ThemeStyles,
};

use super::{Finding, Label, SourceText};
use crate::style::{printable, wrap};

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
        let picture = Picture { finding, width };
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
}

/// Columns before a message, and the two that stay free behind everything.
const BEFORE_MESSAGE: usize = 6;

/// The same for help.
const BEFORE_HELP: usize = 10;

impl Picture<'_> {
    /// Labels of the main file; a place in another file is told in words instead.
    fn shown(&self) -> impl Iterator<Item = &Label> {
        let main = self.finding.labels.first().map(|label| label.source.name());
        self.finding.labels.iter().filter(move |label| Some(label.source.name()) == main)
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
        f.write_str(&wrap(&printable(&self.finding.message), self.width.saturating_sub(BEFORE_MESSAGE), ""))
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
        let lines: Vec<String> = self.elsewhere().into_iter().chain(self.finding.help.clone()).collect();
        let wrapped = || wrap(&printable(&lines.join("\n")), self.width.saturating_sub(BEFORE_HELP), "");
        (!lines.is_empty()).then(|| Box::new(wrapped()) as Box<dyn fmt::Display>)
    }

    fn source_code(&self) -> Option<&dyn SourceCode> {
        self.finding.labels.first().map(|label| label.source.as_ref() as &dyn SourceCode)
    }

    fn labels(&self) -> Option<Box<dyn Iterator<Item = LabeledSpan> + '_>> {
        let shown = self.shown().enumerate();
        let mut labels = shown.map(|(at, label)| labelled(label, at == 0)).peekable();
        labels.peek().is_some().then(|| Box::new(labels) as _)
    }
}

fn labelled(label: &Label, main: bool) -> LabeledSpan {
    let source = label.source.text();
    let start = char_boundary(source, label.span.start);
    let end = char_boundary(source, label.span.end).max(start);
    // A place of several lines is shown as its first line: the picture stays small.
    let whole = source.get(start..end).unwrap_or_default();
    let first = whole.lines().next().unwrap_or_default().trim_end();
    let rest = source.get(start..).unwrap_or_default();
    let length = match first.len() {
        0 => rest.chars().next().map_or(0, char::len_utf8),
        length => length,
    };
    let text = (!label.text.is_empty()).then(|| printable(&label.text));
    match main {
        true => LabeledSpan::new_primary_with_span(text, (start, length)),
        false => LabeledSpan::new(text, start, length),
    }
}

/// The nearest place at or before `at` where a character begins.
fn char_boundary(text: &str, at: usize) -> usize {
    let at = at.min(text.len());
    (0..=at).rev().find(|place| text.is_char_boundary(*place)).unwrap_or_default()
}

impl SourceCode for SourceText {
    fn read_span<'a>(
        &'a self,
        span: &SourceSpan,
        before: usize,
        after: usize,
    ) -> Result<Box<dyn SpanContents<'a> + 'a>, miette::MietteError> {
        let inner = self.shown().read_span(span, before, after)?;
        Ok(Box::new(MietteSpanContents::new_named(
            self.name().to_owned(),
            inner.data(),
            *inner.span(),
            inner.line(),
            inner.column(),
            inner.line_count(),
        )))
    }
}

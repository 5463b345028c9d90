//! What is wrong with a file: one finding type, all findings collected, three ways to show them.
//!
//! A finding knows its place as bytes of a source text; it knows nothing of how it came about.

mod diff;
pub(crate) mod edit;
mod excerpt;
mod human;
mod json;
mod plain;

use std::ops::Range;
use std::sync::{Arc, OnceLock};

pub(crate) use edit::Edit;

/// Bytes of a source text.
pub(crate) type Span = Range<usize>;

/// A file that was read, as findings quote it.
#[derive(Debug)]
pub(crate) struct SourceText {
    name: String,
    text: String,
    line_starts: OnceLock<Vec<usize>>,
    shown: OnceLock<String>,
}

impl SourceText {
    /// Keeps `text` under the name that people gave the file.
    pub(crate) fn new(name: impl Into<String>, text: impl Into<String>) -> Arc<Self> {
        Arc::new(Self { name: name.into(), text: text.into(), line_starts: OnceLock::new(), shown: OnceLock::new() })
    }

    /// The name that people gave the file.
    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    /// The whole text.
    pub(crate) fn text(&self) -> &str {
        &self.text
    }

    /// The text as it may be quoted: the same length, with stars where a secret stands and question
    /// marks for characters that a terminal would obey.
    pub(crate) fn shown(&self) -> &str {
        self.shown.get_or_init(|| self.veiled(&[]))
    }

    /// Says which bytes must not be shown; counts once, before anything is quoted.
    pub(crate) fn hide(&self, spans: &[Span]) {
        let _ = self.shown.set(self.veiled(spans));
    }

    fn line_starts(&self) -> &[usize] {
        self.line_starts.get_or_init(|| std::iter::once(0).chain(self.text.match_indices('\n').map(|(at, _)| at + 1)).collect())
    }

    fn veiled(&self, spans: &[Span]) -> String {
        let harmless = |byte: u8| matches!(byte, b' '..=b'~' | b'\n' | b'\r' | b'\t');
        if spans.is_empty() && self.text.bytes().all(harmless) {
            return self.text.clone();
        }
        let mut out = String::with_capacity(self.text.len());
        for (at, c) in self.text.char_indices() {
            let hidden = spans.iter().any(|span| span.contains(&at)) && !c.is_whitespace();
            let obeyed = c.is_control() && !matches!(c, '\n' | '\r' | '\t');
            // As many marks as bytes: every place stays where it is.
            match (hidden, obeyed) {
                (true, _) => out.extend(std::iter::repeat_n('*', c.len_utf8())),
                (false, true) => out.extend(std::iter::repeat_n('?', c.len_utf8())),
                (false, false) => out.push(c),
            }
        }
        out
    }

    /// Line and column of a byte, both from 1; columns count characters.
    pub(crate) fn line_column(&self, offset: usize) -> (usize, usize) {
        let offset = offset.min(self.text.len());
        let line = self.line_starts().partition_point(|start| *start <= offset);
        let start = self.line_starts().get(line.saturating_sub(1)).copied().unwrap_or_default();
        let before = self.text.get(start..offset).unwrap_or_default();
        (line.max(1), before.chars().count() + 1)
    }
}

/// Whether a finding stops what it is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Severity {
    /// What it is about cannot be used.
    Error,
    /// It can be used; something about it is worth knowing.
    Warning,
}

/// What a finding is about, so that a mistake in one place stops nothing that does not need it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Owner {
    /// The file itself: nothing in it can be trusted.
    File,
    /// Serving: what stands in the way of it stands in the way of nothing else.
    Serve,
    /// What is kept of MCP servers beside the file.
    Lock,
    /// One source, by its name in the file.
    Source(String),
    /// One tool, by id.
    Tool(String),
    /// One composite, by id.
    Composite(String),
}

/// A place in a file with a word about it.
#[derive(Clone, Debug)]
pub(crate) struct Label {
    /// The file.
    pub(crate) source: Arc<SourceText>,
    /// The bytes that are meant.
    pub(crate) span: Span,
    /// What is to be said there; may be empty.
    pub(crate) text: String,
}

/// A step of a composite that a finding is about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct StepPlace {
    /// The composite's id.
    pub(crate) composite: String,
    /// The step's name.
    pub(crate) step: String,
    /// Its position, from 0.
    pub(crate) index: usize,
    /// The id of its tool.
    pub(crate) tool: String,
}

/// One thing that is wrong.
#[derive(Clone, Debug)]
pub(crate) struct Finding {
    /// Whether it stops what it is about.
    pub(crate) severity: Severity,
    /// The stable code that `explain` knows.
    pub(crate) code: String,
    /// What is wrong, in one line: lower case, no full stop.
    pub(crate) message: String,
    /// Why, or what to do.
    pub(crate) help: Option<String>,
    /// The places, the main one first; none for what is in no file.
    pub(crate) labels: Vec<Label>,
    /// What it is about.
    pub(crate) owner: Owner,
    /// The step that a rule refused.
    pub(crate) step: Option<StepPlace>,
    /// The change that mends it, where a program may make it.
    pub(crate) edit: Option<Edit>,
}

impl Finding {
    /// An error without a place yet.
    pub(crate) fn error(code: impl Into<String>, message: impl Into<String>) -> Self {
        Self {
            severity: Severity::Error,
            code: code.into(),
            message: message.into(),
            help: None,
            labels: Vec::new(),
            owner: Owner::File,
            step: None,
            edit: None,
        }
    }

    /// A warning without a place yet.
    pub(crate) fn warning(code: impl Into<String>, message: impl Into<String>) -> Self {
        Self { severity: Severity::Warning, ..Self::error(code, message) }
    }

    /// Adds a place; the first one added is the main one.
    pub(crate) fn at(mut self, source: &Arc<SourceText>, span: Span, text: impl Into<String>) -> Self {
        self.labels.push(Label { source: Arc::clone(source), span, text: text.into() });
        self
    }

    /// Says why, or what to do.
    pub(crate) fn help(mut self, help: impl Into<String>) -> Self {
        self.help = Some(help.into());
        self
    }

    /// Says why, or what to do, when there is something to say.
    pub(crate) fn maybe_help(mut self, help: Option<String>) -> Self {
        self.help = help.or(self.help);
        self
    }

    /// Says which change mends it, where there is one.
    pub(crate) fn maybe_edit(mut self, edit: Option<Edit>) -> Self {
        self.edit = edit.or(self.edit);
        self
    }

    /// Says what it is about.
    pub(crate) fn owner(mut self, owner: Owner) -> Self {
        self.owner = owner;
        self
    }

    /// The same with `mask` applied to everything that is shown apart from the file's own text.
    pub(crate) fn map_text(mut self, mask: impl Fn(&str) -> String) -> Self {
        self.message = mask(&self.message);
        self.help = self.help.as_deref().map(&mask);
        for label in &mut self.labels {
            label.text = mask(&label.text);
        }
        // A change cannot be made with stars in it.
        self.edit = self.edit.filter(|edit| mask(&edit.to) == edit.to);
        self
    }

    fn position(&self) -> (String, usize, u8) {
        let place = self.labels.first();
        (
            place.map(|l| l.source.name().to_owned()).unwrap_or_default(),
            place.map_or(0, |l| l.span.start),
            u8::from(self.severity == Severity::Warning),
        )
    }
}

/// How findings are shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Form {
    /// For a person: the line, a caret, what to do; with or without colour.
    Human {
        /// Whether to use colour.
        colour: bool,
        /// The columns there are.
        width: usize,
    },
    /// One line each, for other programs and CI.
    Plain,
    /// One JSON document.
    Json,
}

/// Puts findings in the order of the file and drops exact repetitions.
pub(crate) fn sort(findings: &mut Vec<Finding>) {
    findings.sort_by_key(Finding::position);
    findings.dedup_by(|a, b| a.code == b.code && a.message == b.message && a.position() == b.position());
}

/// How many errors and how many warnings there are.
pub(crate) fn count(findings: &[Finding]) -> (usize, usize) {
    let errors = findings.iter().filter(|f| f.severity == Severity::Error).count();
    (errors, findings.len() - errors)
}

/// The findings as text that ends with a newline, or nothing when there are none to show.
pub(crate) fn render(findings: &[Finding], form: Form) -> String {
    match form {
        Form::Human { colour, width } => human::render(findings, colour, width),
        Form::Plain => plain::render(findings),
        Form::Json => format!("{:#}\n", json::document(findings)),
    }
}

/// The findings as the JSON document that `check --format json` prints.
pub(crate) fn to_json(findings: &[Finding]) -> serde_json::Value {
    json::document(findings)
}

/// Each finding as JSON, for a document of another form.
pub(crate) fn list_json(findings: &[Finding]) -> serde_json::Value {
    json::list(findings)
}

/// Edits as JSON, in order.
pub(crate) fn edits_json<'e>(edits: impl IntoIterator<Item = &'e Edit>) -> serde_json::Value {
    edits.into_iter().map(json::edit).collect()
}

/// Edits as a unified diff; they are in order and do not overlap.
pub(crate) fn diff(edits: &[Edit], style: crate::style::Style) -> String {
    diff::render(edits, style)
}

/// The nearest of `known` to `given`, when it is near enough to be meant.
pub(crate) fn nearest<'k>(given: &str, known: impl IntoIterator<Item = &'k str>) -> Option<&'k str> {
    toolwright::nearest::nearest(given, known)
}

/// The one of `known` that `given` can only be a misspelling of.
pub(crate) fn unmistakable<'k>(given: &str, known: impl IntoIterator<Item = &'k str>) -> Option<&'k str> {
    toolwright::nearest::unmistakable(given, known)
}

/// The word of the format that `given` can only be a misspelling of.
pub(crate) fn unmistakable_keyword<'k>(given: &str, known: impl IntoIterator<Item = &'k str>) -> Option<&'k str> {
    toolwright::nearest::unmistakable_keyword(given, known)
}

/// `did you mean ...`, when something near is known.
pub(crate) fn did_you_mean<'k>(given: &str, known: impl IntoIterator<Item = &'k str>) -> Option<String> {
    nearest(given, known).map(|name| format!("did you mean `{name}`?"))
}

#[cfg(test)]
mod tests {
    use super::{SourceText, nearest};

    #[test]
    fn columns_count_characters() {
        let source = SourceText::new("x", "aé\nß: b\n");
        assert_eq!(source.line_column(0), (1, 1));
        assert_eq!(source.line_column(3), (1, 3));
        assert_eq!(source.line_column(4), (2, 1));
        assert_eq!(source.line_column(6), (2, 2));
        assert_eq!(source.line_column(900), (3, 1));
    }

    #[test]
    fn the_nearest_name_is_near() {
        let known = ["inputMapping", "name", "tool"];
        assert_eq!(nearest("inputmapping", known), Some("inputMapping"));
        assert_eq!(nearest("tol", known), Some("tool"));
        assert_eq!(nearest("zebra", known), None);
    }
}

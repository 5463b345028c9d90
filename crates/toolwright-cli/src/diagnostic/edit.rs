//! A change of a file that mends a finding: bytes of one line, and what should stand there.

use std::sync::Arc;

use super::{SourceText, Span};

/// Other text in the place of some bytes of one line of a file.
#[derive(Clone, Debug)]
pub(crate) struct Edit {
    /// The file.
    pub(crate) source: Arc<SourceText>,
    /// The bytes that go.
    pub(crate) span: Span,
    /// What comes; never a line end.
    pub(crate) to: String,
}

impl Edit {
    /// Whether both change the same file in the same way.
    pub(crate) fn is(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.source, &other.source) && self.span == other.span && self.to == other.to
    }

    /// Whether the two cannot both be made.
    pub(crate) fn overlaps(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.source, &other.source) && self.span.start < other.span.end && other.span.start < self.span.end
    }

    /// The line that is changed, from 1.
    pub(crate) fn line(&self) -> usize {
        self.source.line_column(self.span.start).0
    }

    /// The changed line as it may be shown, without the blanks around it.
    pub(crate) fn line_after(&self) -> String {
        let changed = changed(self.source.shown(), [self]);
        let start = changed.get(..self.span.start).and_then(|before| before.rfind('\n')).map_or(0, |at| at + 1);
        changed.get(start..).and_then(|rest| rest.lines().next()).unwrap_or_default().trim().to_owned()
    }
}

/// A text with edits made, which are in order and do not overlap.
pub(crate) fn changed<'e>(text: &str, edits: impl IntoIterator<Item = &'e Edit>) -> String {
    let mut out = String::with_capacity(text.len());
    let mut at = 0;
    for edit in edits {
        out.push_str(text.get(at..edit.span.start).unwrap_or_default());
        out.push_str(&edit.to);
        at = edit.span.end;
    }
    out.push_str(text.get(at..).unwrap_or_default());
    out
}

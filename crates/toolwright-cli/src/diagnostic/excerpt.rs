//! The lines of a file that a finding quotes: as much of each as fits, and nothing in it that cannot be seen.

use std::ops::Range;

use miette::{MietteSpanContents, SourceCode, SourceSpan, SpanContents};

use super::{Label, Span};
use crate::style::{is_unseen, one_line};

/// Characters of a line that are shown.
const LINE_CHARS_MAX: usize = 200;

/// Characters that are shown before the place that is meant, of a line that is cut.
const BEFORE_CHARS: usize = 80;

/// The quoted lines of one file, each under its own number; all others are empty.
#[derive(Debug, Default)]
pub(super) struct Excerpt {
    name: String,
    text: String,
    /// The place of each label in the text above.
    places: Vec<Span>,
    /// Line and column of the main place in the file, from 0.
    main: (usize, usize),
}

impl Excerpt {
    /// What `labels`, which are all of one file, quote, with `context` lines around each.
    pub(super) fn of(labels: &[&Label], context: usize) -> Self {
        let Some(source) = labels.first().map(|label| &label.source) else {
            return Self::default();
        };
        let shown = source.shown();
        let spans: Vec<Span> = labels.iter().map(|label| on_one_line(shown, &label.span)).collect();
        let row = |span: &Span| source.line_column(span.start).0 - 1;
        let rows: Vec<usize> = spans.iter().map(row).collect();
        let main = spans.first().map_or((1, 1), |span| source.line_column(span.start));
        let mut excerpt =
            Self { name: one_line(source.name()), places: vec![0..0; spans.len()], main: (main.0 - 1, main.1 - 1), ..Self::default() };
        let mut start = 0;
        for (number, line) in shown.split('\n').enumerate() {
            if number > 0 {
                excerpt.text.push('\n');
            }
            // One line more: two places that are near each other are shown as one, with what lies between them.
            if rows.iter().any(|row| number.abs_diff(*row) <= context + 1) {
                let here: Vec<(usize, Span)> = spans
                    .iter()
                    .enumerate()
                    .zip(&rows)
                    .filter(|(_, row)| **row == number)
                    .map(|((at, span), _)| (at, span.start.saturating_sub(start)..span.end.saturating_sub(start)))
                    .collect();
                excerpt.line(line.strip_suffix('\r').unwrap_or(line), &here);
            }
            start += line.len() + 1;
        }
        excerpt
    }

    /// The place of a label, by its position.
    pub(super) fn place(&self, at: usize) -> Span {
        let place = self.places.get(at).cloned().unwrap_or_default();
        if !place.is_empty() {
            return place;
        }
        let rest = self.text.get(place.start..).unwrap_or_default();
        place.start..place.start + rest.chars().next().map_or(0, char::len_utf8)
    }

    /// Adds a line, and finds the places of its labels.
    fn line(&mut self, line: &str, labels: &[(usize, Span)]) {
        let window = window(line, labels.first().map_or(0, |(_, span)| span.start));
        let before = line.get(..window.start).unwrap_or_default().chars().count();
        let after = line.get(window.end..).unwrap_or_default().chars().count();
        if before > 0 {
            self.text.push_str(&format!("({before} characters) … "));
        }
        let mut places: Vec<(usize, Option<usize>, Option<usize>)> = labels.iter().map(|(at, _)| (*at, None, None)).collect();
        let mut mark = |offset: usize, at: usize| {
            for ((_, start, end), (_, span)) in places.iter_mut().zip(labels) {
                if span.start <= offset {
                    start.get_or_insert(at);
                }
                if span.end <= offset {
                    end.get_or_insert(at);
                }
            }
        };
        let kept = line.get(window.clone()).unwrap_or_default();
        for (at, c) in kept.char_indices() {
            mark(window.start + at, self.text.len());
            match is_unseen(c) {
                true => self.text.extend(c.escape_unicode()),
                false => self.text.push(c),
            }
        }
        let end = self.text.len();
        mark(window.end, end);
        for (at, start, last) in places {
            if let Some(place) = self.places.get_mut(at) {
                let start = start.unwrap_or(end);
                *place = start..last.unwrap_or(end).max(start);
            }
        }
        if after > 0 {
            self.text.push_str(&format!(" … ({after} characters)"));
        }
    }
}

/// The bytes of a line that are shown, so that the character at `focus` is among them.
fn window(line: &str, focus: usize) -> Range<usize> {
    let count = line.chars().count();
    if count <= LINE_CHARS_MAX {
        return 0..line.len();
    }
    let focus = line.get(..focus).unwrap_or_default().chars().count();
    let first = focus.saturating_sub(BEFORE_CHARS).min(count - LINE_CHARS_MAX);
    let byte = |number: usize| line.char_indices().nth(number).map_or(line.len(), |(at, _)| at);
    byte(first)..byte(first + LINE_CHARS_MAX)
}

/// A place of several lines is shown as its first line: the picture stays small.
fn on_one_line(text: &str, span: &Span) -> Span {
    let start = char_boundary(text, span.start);
    let end = char_boundary(text, span.end).max(start);
    let whole = text.get(start..end).unwrap_or_default();
    let first = whole.lines().next().unwrap_or_default().trim_end();
    start..start + first.len()
}

/// The nearest place at or before `at` where a character begins.
fn char_boundary(text: &str, at: usize) -> usize {
    let at = at.min(text.len());
    (0..=at).rev().find(|place| text.is_char_boundary(*place)).unwrap_or_default()
}

impl SourceCode for Excerpt {
    fn read_span<'a>(
        &'a self,
        span: &SourceSpan,
        before: usize,
        after: usize,
    ) -> Result<Box<dyn SpanContents<'a> + 'a>, miette::MietteError> {
        let inner = self.text.read_span(span, before, after)?;
        let is_main = before == 0 && after == 0 && self.places.first().is_some_and(|main| main.start == span.offset());
        // A line that is cut still says where the place is in the file.
        let (line, column) = if is_main { self.main } else { (inner.line(), inner.column()) };
        Ok(Box::new(MietteSpanContents::new_named(self.name.clone(), inner.data(), *inner.span(), line, column, inner.line_count())))
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Finding, Form, SourceText, render};

    fn shown(text: &str, at: usize, length: usize) -> String {
        let source = SourceText::new("x.yaml", text);
        let finding = Finding::error("code", "message").at(&source, at..at + length, "here");
        render(&[finding], Form::Human { colour: false, width: 80 })
    }

    #[test]
    fn a_long_line_is_cut_around_the_place() {
        let text = format!("first\n{}WRONG{}\nlast", "ä".repeat(1_000), "b".repeat(100_000));
        let shown = shown(&text, 6 + 2_000, 5);
        assert!(
            shown.contains("(920 characters) … ää") && shown.contains("äWRONGb") && shown.contains("b … (99885 characters)"),
            "{shown}"
        );
        assert!(shown.contains("x.yaml:2:1001]") && shown.len() < 3_000, "{shown}");
        let lines: Vec<&str> = shown.lines().collect();
        let quoted = lines.iter().find(|line| line.contains("WRONG")).unwrap();
        let marks = lines.iter().find(|line| line.contains('┬')).unwrap();
        let column = |line: &str, part: &str| line.split(part).next().unwrap().chars().count();
        assert_eq!(column(quoted, "WRONG") + 2, column(marks, "┬"), "{shown}");
    }

    #[test]
    fn what_nobody_sees_is_written_out() {
        let shown = shown("a: \u{202e}b c", 7, 1);
        assert!(shown.contains("a: \\u{202e}b c") && shown.contains("x.yaml:1:6]"), "{shown}");
    }
}

//! Edits as a unified diff: the lines of each file that change, before and after.

use super::Edit;
use super::edit::changed;
use crate::style::{Style, one_line};
use crate::visible::visible;

/// Lines shown around those that change.
const CONTEXT_LINES: usize = 2;

/// The diff of edits that are in order and do not overlap, file by file.
pub(super) fn render(edits: &[Edit], style: Style) -> String {
    let mut out = String::new();
    for file in edits.chunk_by(|a, b| std::sync::Arc::ptr_eq(&a.source, &b.source)) {
        if let Some(first) = file.first() {
            let name = one_line(first.source.name());
            out.push_str(&format!("{}\n{}\n", style.bold(&format!("--- {name}")), style.bold(&format!("+++ {name}"))));
            hunks(file, first.source.shown(), style, &mut out);
        }
    }
    out
}

fn hunks(edits: &[Edit], shown: &str, style: Style, out: &mut String) {
    // INVARIANT: an edit stays on its line, so both texts have the same lines.
    let after = changed(shown, edits);
    let lines: Vec<(&str, &str)> = shown.lines().zip(after.lines()).collect();
    let mut touched: Vec<usize> = edits.iter().map(|edit| edit.line() - 1).collect();
    touched.dedup();
    for near in touched.chunk_by(|a, b| b - a <= 2 * CONTEXT_LINES) {
        let (Some(first), Some(last)) = (near.first(), near.last()) else { continue };
        let (from, to) = (first.saturating_sub(CONTEXT_LINES), (last + CONTEXT_LINES + 1).min(lines.len()));
        let place = format!("{},{}", from + 1, to - from);
        out.push_str(&format!("{}\n", style.cyan(&format!("@@ -{place} +{place} @@"))));
        let mut at = from;
        while at < to {
            let block: Vec<usize> = (at..to).take_while(|at| near.contains(at)).collect();
            let line = |at: &usize| lines.get(*at).copied().unwrap_or_default();
            for (before, _) in block.iter().map(line) {
                out.push_str(&format!("{}\n", style.red(&format!("-{}", shown_line(before)))));
            }
            for (_, after) in block.iter().map(line) {
                out.push_str(&format!("{}\n", style.green(&format!("+{}", shown_line(after)))));
            }
            if block.is_empty() {
                out.push_str(&format!(" {}\n", shown_line(line(&at).0)));
            }
            at += block.len().max(1);
        }
    }
}

/// A line as a person can decide by it: tabs as blanks, and what cannot be seen written out.
fn shown_line(line: &str) -> String {
    visible(&line.replace('\t', "    "))
}

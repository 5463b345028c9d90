//! Colour and widths: the little that human output needs beyond plain text.

use std::io::IsTerminal;

use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

use crate::args::Colour;

/// Columns assumed where nobody says how many there are.
pub(crate) const WIDTH_DEFAULT: usize = 80;

/// Whether and how to style text.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Style {
    colour: bool,
}

impl Style {
    /// The style for a stream.
    pub(crate) fn of(choice: Colour, stream: &impl IsTerminal) -> Self {
        let wanted = || {
            let no = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
            let dumb = std::env::var_os("TERM").is_some_and(|value| value == "dumb");
            stream.is_terminal() && !no && !dumb
        };
        Self {
            colour: match choice {
                Colour::Always => true,
                Colour::Never => false,
                Colour::Auto => wanted(),
            },
        }
    }

    /// No colour at all.
    pub(crate) const fn none() -> Self {
        Self { colour: false }
    }

    /// Whether there is colour.
    pub(crate) fn colour(self) -> bool {
        self.colour
    }

    fn paint(self, code: &str, text: &str) -> String {
        if self.colour && !text.is_empty() { format!("\u{1b}[{code}m{text}\u{1b}[0m") } else { text.to_owned() }
    }

    /// A heading, an id.
    pub(crate) fn bold(self, text: &str) -> String {
        self.paint("1", text)
    }

    /// What is less important.
    pub(crate) fn dim(self, text: &str) -> String {
        self.paint("2", text)
    }

    /// What went wrong.
    pub(crate) fn red(self, text: &str) -> String {
        self.paint("31", text)
    }

    /// What is fine.
    pub(crate) fn green(self, text: &str) -> String {
        self.paint("32", text)
    }

    /// What has effects, or wants attention.
    pub(crate) fn yellow(self, text: &str) -> String {
        self.paint("33", text)
    }

    /// Names in data.
    pub(crate) fn cyan(self, text: &str) -> String {
        self.paint("36", text)
    }
}

/// Text from elsewhere on one line: no control characters, so that it cannot move the cursor.
pub(crate) fn one_line(text: &str) -> String {
    let cleaned: String = text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
    cleaned.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Text from elsewhere on several lines: no control characters but line ends and tabs.
pub(crate) fn printable(text: &str) -> String {
    text.chars()
        .map(|c| match c {
            '\n' | '\t' => c,
            c if c.is_control() => '\u{fffd}',
            c => c,
        })
        .collect()
}

/// The columns that a text takes on a terminal.
pub(crate) fn columns(text: &str) -> usize {
    text.width()
}

/// `text` in at most `width` columns, with an ellipsis where something is left out.
pub(crate) fn cut(text: &str, width: usize) -> String {
    if columns(text) <= width {
        return text.to_owned();
    }
    let mut room = width.saturating_sub(1);
    let fits = |c: &char| {
        let left = room.checked_sub(c.width().unwrap_or(1));
        room = left.unwrap_or_default();
        left.is_some()
    };
    let kept: String = text.chars().take_while(fits).collect();
    format!("{}…", kept.trim_end())
}

/// `text` filled up with blanks to `width` columns.
pub(crate) fn pad(text: &str, width: usize) -> String {
    let missing = width.saturating_sub(columns(text));
    format!("{text}{}", " ".repeat(missing))
}

/// Text on one line when something in it would break the line; as it stands otherwise.
pub(crate) fn flat(text: &str) -> String {
    if text.chars().any(char::is_control) { one_line(text) } else { text.to_owned() }
}

/// What commands and options that people copy begin with.
const COPIED: [&str; 2] = ["`toolwright", "`--"];

/// The command that lifts a refusal stands on a line of its own.
const ALONE: &str = "`toolwright trust ";

/// The words of a paragraph. A command between backticks is one word: it is to be copied whole.
fn words(paragraph: &str) -> Vec<String> {
    let mut words = Vec::new();
    let mut pieces = paragraph.split_whitespace().peekable();
    while let Some(piece) = pieces.next() {
        let mut word = piece.to_owned();
        let begins = COPIED.iter().any(|start| word.trim_start_matches('(').starts_with(start));
        while begins && word.matches('`').count() == 1 {
            let Some(next) = pieces.next() else { break };
            word.push(' ');
            word.push_str(next);
        }
        words.push(word);
    }
    words
}

/// Words in lines of at most `width` columns, each line behind `indent`.
pub(crate) fn wrap(text: &str, width: usize, indent: &str) -> String {
    let room = width.saturating_sub(columns(indent)).max(20);
    let mut lines: Vec<String> = Vec::new();
    for paragraph in text.split('\n') {
        // What its author moved in stays moved in.
        let moved = paragraph.chars().take_while(|c| *c == ' ').take(room / 2).count();
        let room = room.saturating_sub(moved);
        let first = lines.len();
        let mut line = String::new();
        for word in words(paragraph) {
            let needed = columns(&line) + 1 + columns(&word);
            let alone = |text: &str| text.starts_with(ALONE) && text.ends_with('`');
            if !line.is_empty() && (alone(&word) || alone(&line) || needed > room) {
                lines.push(std::mem::take(&mut line));
            }
            if !line.is_empty() {
                line.push(' ');
            }
            line.push_str(&word);
        }
        lines.push(line);
        for line in lines.iter_mut().skip(first).filter(|line| !line.is_empty()) {
            line.insert_str(0, &" ".repeat(moved));
        }
    }
    let indented = lines.iter().map(|line| match line.as_str() {
        "" => String::new(),
        line => format!("{indent}{line}"),
    });
    indented.collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    use super::{cut, flat, one_line, wrap};

    #[test]
    fn a_command_is_never_broken_in_two() {
        let text = "accept that with `toolwright trust some/where.yaml` or `rm x`";
        assert_eq!(wrap(text, 30, ""), "accept that with\n`toolwright trust some/where.yaml`\nor `rm x`");
        assert_eq!(wrap("or `toolwright trust x` or y", 80, ""), "or\n`toolwright trust x`\nor y");
        assert_eq!(wrap("`toolwright a b c d e f g h i j", 24, ""), "`toolwright a b c d e f g h i j");
    }

    #[test]
    fn what_breaks_no_line_stays_as_it_is() {
        assert_eq!(flat("two  blanks"), "two  blanks");
        assert_eq!(flat("two\nlines  here"), "two lines here");
    }

    #[test]
    fn text_from_elsewhere_cannot_move_the_cursor() {
        assert_eq!(one_line("a\u{1b}[2Jb\r\nc  d"), "a [2Jb c d");
    }

    #[test]
    fn cutting_and_wrapping_count_columns() {
        assert_eq!(cut("größer", 6), "größer");
        assert_eq!(cut("größere", 6), "größe…");
        assert_eq!(cut("日本語", 6), "日本語");
        assert_eq!(cut("日本語の", 6), "日本…");
        assert_eq!(wrap("a:\n  b c", 80, "  "), "  a:\n    b c");
        assert_eq!(wrap("one two three four five six", 22, "  "), "  one two three four\n  five six");
    }
}

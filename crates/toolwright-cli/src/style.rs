//! Colour and widths: the little that human output needs beyond plain text.

use std::io::IsTerminal;

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

/// `text` in at most `width` columns, with an ellipsis where something is left out.
pub(crate) fn cut(text: &str, width: usize) -> String {
    if text.chars().count() <= width {
        return text.to_owned();
    }
    let kept: String = text.chars().take(width.saturating_sub(1)).collect();
    format!("{}…", kept.trim_end())
}

/// `text` filled up with blanks to `width` columns.
pub(crate) fn pad(text: &str, width: usize) -> String {
    let missing = width.saturating_sub(text.chars().count());
    format!("{text}{}", " ".repeat(missing))
}

/// Words in lines of at most `width` columns, each line behind `indent`.
pub(crate) fn wrap(text: &str, width: usize, indent: &str) -> String {
    let room = width.saturating_sub(indent.chars().count()).max(20);
    let mut lines: Vec<String> = Vec::new();
    for paragraph in text.split('\n') {
        let mut line = String::new();
        for word in paragraph.split_whitespace() {
            let needed = line.chars().count() + 1 + word.chars().count();
            if !line.is_empty() && needed > room {
                lines.push(std::mem::take(&mut line));
            }
            if !line.is_empty() {
                line.push(' ');
            }
            line.push_str(word);
        }
        lines.push(line);
    }
    let indented = lines.iter().map(|line| match line.as_str() {
        "" => String::new(),
        line => format!("{indent}{line}"),
    });
    indented.collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    use super::{cut, one_line, wrap};

    #[test]
    fn text_from_elsewhere_cannot_move_the_cursor() {
        assert_eq!(one_line("a\u{1b}[2Jb\r\nc  d"), "a [2Jb c d");
    }

    #[test]
    fn cutting_and_wrapping_count_characters() {
        assert_eq!(cut("größer", 6), "größer");
        assert_eq!(cut("größere", 6), "größe…");
        assert_eq!(wrap("one two three four five six", 22, "  "), "  one two three four\n  five six");
    }
}

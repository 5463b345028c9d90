//! Just enough of Rust's lexer to look at code without its comments and its text: same lines, same columns of code,
//! everything else blank.

use std::iter::Peekable;
use std::str::Chars;

/// A word or a punctuation mark of the code and the line it stands on, 1-based.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Token {
    pub(super) text: String,
    pub(super) line: usize,
}

/// The words and marks of `source`, without comments, strings, characters and lifetimes.
pub(super) fn tokens(source: &str) -> Vec<Token> {
    let mut tokens: Vec<Token> = Vec::new();
    let mut line = 1;
    let mut chars = source.chars().peekable();
    while let Some(char) = chars.next() {
        let start = line;
        match char {
            '\n' => line += 1,
            '/' if chars.peek() == Some(&'/') => line += skip_line(&mut chars),
            '/' if chars.peek() == Some(&'*') => line += skip_block(&mut chars),
            '"' => line += skip_string(&mut chars),
            '\'' => skip_char_or_lifetime(&mut chars),
            _ if char.is_whitespace() => {}
            _ if is_word(char) => {
                let mut word = String::from(char);
                while let Some(next) = chars.next_if(|next| is_word(*next)) {
                    word.push(next);
                }
                if matches!(word.as_str(), "r" | "br" | "cr") && matches!(chars.peek(), Some('"' | '#')) {
                    line += skip_raw(&mut chars);
                } else {
                    tokens.push(Token { text: word, line: start });
                }
            }
            _ => tokens.push(Token { text: char.to_string(), line: start }),
        }
    }
    tokens
}

fn is_word(char: char) -> bool {
    char == '_' || char.is_alphanumeric()
}

fn skip_line(chars: &mut Peekable<Chars<'_>>) -> usize {
    let ended = chars.by_ref().any(|char| char == '\n');
    usize::from(ended)
}

fn skip_block(chars: &mut Peekable<Chars<'_>>) -> usize {
    let (mut depth, mut lines) = (0_usize, 0);
    let mut before = '/';
    for char in chars.by_ref() {
        lines += usize::from(char == '\n');
        match (before, char) {
            ('/', '*') => depth += 1,
            ('*', '/') => depth -= 1,
            _ => {
                before = char;
                continue;
            }
        }
        if depth == 0 {
            break;
        }
        before = ' ';
    }
    lines
}

fn skip_string(chars: &mut Peekable<Chars<'_>>) -> usize {
    let mut lines = 0;
    while let Some(char) = chars.next() {
        match char {
            '"' => break,
            '\\' => lines += usize::from(chars.next() == Some('\n')),
            '\n' => lines += 1,
            _ => {}
        }
    }
    lines
}

/// Starts after the `r`; a raw identifier (`r#type`) has no quote and is left to be read as a word.
fn skip_raw(chars: &mut Peekable<Chars<'_>>) -> usize {
    let mut hashes = 0;
    while chars.next_if_eq(&'#').is_some() {
        hashes += 1;
    }
    if chars.next_if_eq(&'"').is_none() {
        return 0;
    }
    let (mut lines, mut run) = (0, None);
    for char in chars.by_ref() {
        lines += usize::from(char == '\n');
        run = match (char, run) {
            ('"', _) => Some(0),
            ('#', Some(seen)) => Some(seen + 1),
            _ => None,
        };
        if run == Some(hashes) {
            break;
        }
    }
    lines
}

fn skip_char_or_lifetime(chars: &mut Peekable<Chars<'_>>) {
    match chars.next() {
        Some('\\') => {
            // The character after the backslash may itself be a quote.
            chars.next();
            while chars.next().is_some_and(|char| char != '\'') {}
        }
        Some(first) => {
            let lifetime = chars.next_if_eq(&'\'').is_none() && is_word(first);
            while lifetime && chars.next_if(|char| is_word(*char)).is_some() {}
        }
        None => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(source: &str) -> Vec<String> {
        tokens(source).into_iter().map(|token| token.text).collect()
    }

    #[test]
    fn comments_and_text_are_no_code() {
        let source = "a /* x { /* y */ } */ b // todo!\nc \"d { \\\" e\" f r#\"g \" h\"# i b\"j\" k";
        assert_eq!(words(source), ["a", "b", "c", "f", "i", "b", "k"]);
        assert_eq!(words("r#type x"), ["type", "x"]);
    }

    #[test]
    fn characters_and_lifetimes_are_no_code() {
        assert_eq!(words("'{' 'a' '\\'' '\\\\' '\\u{7b}' x"), ["x"]);
        assert_eq!(words("<'a, 'static> 'x: loop"), ["<", ",", ">", ":", "loop"]);
    }

    #[test]
    fn lines_are_counted_through_text_and_comments() {
        let source = "\"a\nb\\\nc\" x /* \n\n */ y // z\nz r\"\n\" w";
        let lines: Vec<(String, usize)> = tokens(source).into_iter().map(|token| (token.text, token.line)).collect();
        let expected = [("x", 3), ("y", 5), ("z", 6), ("w", 7)].map(|(text, line)| (text.to_owned(), line));
        assert_eq!(lines, expected);
    }
}

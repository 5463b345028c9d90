//! Text of strangers that a person decides by: every character that cannot be seen is written out.

/// The text with a code such as `\u{202e}` for every character that moves the cursor, turns the direction of writing
/// or takes no room.
pub(crate) fn visible(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match is_seen(c) {
            true => out.push(c),
            false => out.extend(c.escape_unicode()),
        }
    }
    out
}

fn is_seen(c: char) -> bool {
    let blank = c.is_whitespace() && c != ' ';
    let formats = matches!(c,
        '\u{ad}' | '\u{34f}' | '\u{600}'..='\u{605}' | '\u{61c}' | '\u{6dd}' | '\u{70f}' | '\u{115f}' | '\u{1160}' | '\u{17b4}'
        | '\u{17b5}' | '\u{180b}'..='\u{180f}' | '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{206f}'
        | '\u{2800}' | '\u{3164}' | '\u{feff}' | '\u{ffa0}' | '\u{fff0}'..='\u{fffb}' | '\u{1d173}'..='\u{1d17a}'
        | '\u{e0000}'..='\u{e0fff}');
    !(c.is_control() || blank || formats)
}

#[cfg(test)]
mod tests {
    use super::visible;

    #[test]
    fn what_cannot_be_seen_is_written_out() {
        assert_eq!(visible("größe 日本 a b"), "größe 日本 a b");
        assert_eq!(visible("a\u{202e}b\u{200b}c\nd\u{1b}[2J\u{feff}"), "a\\u{202e}b\\u{200b}c\\u{a}d\\u{1b}[2J\\u{feff}");
    }
}

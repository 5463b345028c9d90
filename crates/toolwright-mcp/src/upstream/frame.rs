//! Finds what can still be known about a line that no JSON reader accepts.
//!
//! A reply that cannot be read must end its call, not leave it waiting; for that only its id is needed.

/// What a broken line shows at its top level.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Salvage<'a> {
    /// The text of the `id` member: a number or a quoted string.
    pub(crate) id: Option<&'a str>,
    /// Whether there is a `method`: then it is a request or a notification, and nobody waits for it.
    pub(crate) has_method: bool,
}

/// Scans a line for its `id` and `method` members, whatever else is wrong with it. One pass, no recursion.
pub(crate) fn salvage(line: &str) -> Salvage<'_> {
    let bytes = line.as_bytes();
    let mut found = Salvage { id: None, has_method: false };
    let mut depth: u64 = 0;
    let mut at = 0;
    while let Some(byte) = bytes.get(at) {
        match byte {
            b'{' | b'[' => depth = depth.saturating_add(1),
            b'}' | b']' => depth = depth.saturating_sub(1),
            b'"' => {
                let end = string_end(bytes, at);
                if depth == 1
                    && let Some(value) = member_value(bytes, end)
                {
                    match line.get(at..end) {
                        Some("\"id\"") => {
                            found.id = scalar(line, value);
                            at = value;
                            // A string id is skipped as a string below, a number as plain bytes.
                            continue;
                        }
                        Some("\"method\"") => found.has_method = true,
                        _ => {}
                    }
                }
                at = end;
                continue;
            }
            _ => {}
        }
        at += 1;
    }
    found
}

/// The place after the closing quote of the string that opens at `start`.
fn string_end(bytes: &[u8], start: usize) -> usize {
    let mut at = start + 1;
    while let Some(byte) = bytes.get(at) {
        match byte {
            b'\\' => at += 2,
            b'"' => return at + 1,
            _ => at += 1,
        }
    }
    bytes.len()
}

/// Where the value of a member begins, when a colon follows at `at`.
fn member_value(bytes: &[u8], at: usize) -> Option<usize> {
    let colon = skip_space(bytes, at);
    (bytes.get(colon) == Some(&b':')).then(|| skip_space(bytes, colon + 1))
}

fn skip_space(bytes: &[u8], mut at: usize) -> usize {
    while bytes.get(at).is_some_and(u8::is_ascii_whitespace) {
        at += 1;
    }
    at
}

/// The number or string that begins at `at`, as text.
fn scalar(line: &str, at: usize) -> Option<&str> {
    let bytes = line.as_bytes();
    if bytes.get(at) == Some(&b'"') {
        return line.get(at..string_end(bytes, at));
    }
    let mut end = at;
    while bytes.get(end).is_some_and(|b| b.is_ascii_digit() || *b == b'-') {
        end += 1;
    }
    (end > at).then(|| line.get(at..end)).flatten()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_the_id_around_what_cannot_be_read() {
        let deep = format!("{{\"jsonrpc\":\"2.0\",\"result\":{},\"id\":7", "[".repeat(100_000));
        let cases = [
            (r#"{"jsonrpc":"2.0","id":3,"result":NaN}"#, Some("3"), false),
            (r#"{"id":"3","result":{"id":9}}"#, Some("\"3\""), false),
            (r#"{"result":{"id":9},"text":"\"id\":5","id" : -4}"#, Some("-4"), false),
            (r#"{"method":"x","id":1,"params":Infinity}"#, Some("1"), true),
            (r#"{"result":{"id":9}}"#, None, false),
            (r#"{"id":null}"#, None, false),
            ("{\"id\"", None, false),
            ("\"id\":1", None, false),
            (r#"{"a":"\"#, None, false),
        ];
        for (line, id, has_method) in cases {
            assert_eq!(salvage(line), Salvage { id, has_method }, "{line}");
        }
        // The id behind the broken part stands at another depth and is rightly not believed.
        assert_eq!(salvage(&deep).id, None);
    }
}

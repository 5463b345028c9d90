//! Text that must not be seen, and the pass that removes it from other people's text.
//!
//! Redaction goes by known value: whatever came from the environment or stands in `env:` or
//! `headers:` is known here, however it looks.

use std::fmt;
use std::ops::Range;

/// What is shown instead of a secret.
pub(crate) const MASK: &str = "[secret]";

/// Values shorter than this many characters are not searched for: they are no secrets, and masking every `1`, `on`
/// or `false` would make messages unreadable.
pub(crate) const SECRET_LENGTH_MIN: usize = 6;

/// The shortest word of a longer value that is searched for alone.
const WORD_LENGTH_MIN: usize = 8;

/// Text whose `Debug` and `Display` print `[secret]`.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Secret(String);

impl Secret {
    /// Hides `text`.
    pub(crate) fn new(text: impl Into<String>) -> Self {
        Self(text.into())
    }

    /// The text itself, for the one place that sends it on.
    pub(crate) fn expose(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(MASK)
    }
}

impl fmt::Display for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(MASK)
    }
}

/// The text with `[secret]` for what stands before the `@` of an address: `https://user:password@host`.
pub(crate) fn without_logins(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut at = 0;
    for login in logins(text) {
        out.push_str(text.get(at..login.start).unwrap_or_default());
        out.push_str(MASK);
        at = login.end;
    }
    out.push_str(text.get(at..).unwrap_or_default());
    out
}

/// From this length on, a name in an address counts as a token.
const TOKEN_BYTES_MIN: usize = 16;

/// Where `user:password` stands in addresses.
pub(crate) fn logins(text: &str) -> Vec<Range<usize>> {
    // Most texts have none, and one byte tells it.
    if !text.contains('@') {
        return Vec::new();
    }
    let begins = text.match_indices("://").map(|(at, found)| at + found.len());
    let login = |start: usize| {
        let rest = text.get(start..)?;
        let ends = |c: char| c.is_whitespace() || c.is_control() || "/?#\"'`<>".contains(c);
        let authority = rest.get(..rest.find(ends).unwrap_or(rest.len()))?;
        let login = authority.get(..authority.rfind('@')?)?;
        // A short name alone is no secret: `ssh://git@host`.
        let shown = login == MASK || (!login.contains(':') && login.len() < TOKEN_BYTES_MIN);
        (!shown).then(|| start..start + login.len())
    };
    begins.filter_map(login).collect()
}

/// Every secret of a configuration, longest first, so that a value that contains another is
/// masked whole.
#[derive(Clone, Debug, Default)]
pub(crate) struct Secrets {
    known: Vec<Secret>,
}

impl Secrets {
    /// Adds one value; a value of several words (`Bearer abc`) also hides its longer words.
    pub(crate) fn add(&mut self, value: &str) {
        let trimmed = value.trim();
        let words = trimmed.split_whitespace().filter(|word| word.chars().count() >= WORD_LENGTH_MIN);
        for text in std::iter::once(trimmed).chain(words) {
            if text.chars().count() >= SECRET_LENGTH_MIN && !self.known.iter().any(|k| k.expose() == text) {
                self.known.push(Secret::new(text));
            }
        }
        self.known.sort_by(|a, b| b.0.len().cmp(&a.0.len()).then_with(|| a.cmp(b)));
    }

    /// Adds every secret of `other`.
    pub(crate) fn extend(&mut self, other: &Self) {
        for secret in &other.known {
            self.add(secret.expose());
        }
    }

    /// The values for an adapter that masks in its own texts.
    pub(crate) fn exposed(&self) -> Vec<String> {
        self.known.iter().map(|secret| secret.0.clone()).collect()
    }

    /// `text` with every known value replaced, also where it was escaped for JSON, and every login in an address.
    pub(crate) fn mask(&self, text: &str) -> String {
        // Most texts hold nothing to hide.
        if self.known.is_empty() && !text.contains('@') {
            return text.to_owned();
        }
        let mut masked = text.to_owned();
        for secret in &self.known {
            let value = secret.expose();
            if masked.contains(value) {
                masked = masked.replace(value, MASK);
            }
            let quoted = serde_json::Value::from(value).to_string();
            let inner = quoted.strip_prefix('"').and_then(|q| q.strip_suffix('"'));
            let escaped = inner.unwrap_or(&quoted);
            if escaped != value && masked.contains(escaped) {
                masked = masked.replace(escaped, MASK);
            }
        }
        without_logins(&masked)
    }
}

/// Members whose values are names of ours, or of the file, and that scripts go by.
const NAMES: [&str; 12] =
    ["type", "code", "innerCode", "step", "tool", "completed", "kind", "via", "unknownEffect", "pointer", "reference", "$ref"];

impl Secrets {
    /// The same document with every known value replaced in its texts; keys, and the names that
    /// scripts go by, stay.
    pub(crate) fn mask_json(&self, value: serde_json::Value) -> serde_json::Value {
        use serde_json::Value;
        match value {
            Value::String(text) => Value::String(self.mask(&text)),
            Value::Array(items) => items.into_iter().map(|item| self.mask_json(item)).collect(),
            Value::Object(members) => {
                let masked = members.into_iter().map(|(key, value)| match NAMES.contains(&key.as_str()) {
                    true => (key, value),
                    false => (key, self.mask_json(value)),
                });
                Value::Object(masked.collect())
            }
            scalar => scalar,
        }
    }

    /// The same for a value of the core.
    pub(crate) fn mask_value(&self, value: &toolwright::Value) -> toolwright::Value {
        // Most values hold nothing to hide, and to look costs little.
        if !self.is_in(value) {
            return value.clone();
        }
        let json = value.to_json();
        let masked = self.mask_json(json.clone());
        // What holds nothing to hide is given back as it is, with every digit of its numbers.
        if masked == json { value.clone() } else { toolwright::Value::from_json(masked).unwrap_or(toolwright::Value::Null) }
    }
}

impl Secrets {
    /// Whether a text of the value, or in it, would be masked.
    fn is_in(&self, value: &toolwright::Value) -> bool {
        use toolwright::Value;
        match value {
            Value::String(text) => self.is_in_text(text),
            Value::Array(items) => items.as_slice().iter().any(|item| self.is_in(item)),
            Value::Object(members) => members.iter().any(|(_, value)| self.is_in(value)),
            _ => false,
        }
    }

    fn is_in_text(&self, text: &str) -> bool {
        let plain = |secret: &Secret| text.contains(secret.expose());
        // What is escaped for JSON has a backslash, and a login stands in an address.
        text.contains('\\') || !logins(text).is_empty() || self.known.iter().any(plain)
    }
}

/// Words that mean something to a schema wherever they stand: one of them is no secret.
const SCHEMA_WORDS: [&str; 20] = [
    "string",
    "number",
    "integer",
    "boolean",
    "object",
    "array",
    "format",
    "pattern",
    "default",
    "examples",
    "required",
    "properties",
    "additionalProperties",
    "description",
    "inputSchema",
    "outputSchema",
    "annotations",
    "readOnlyHint",
    "destructiveHint",
    "idempotentHint",
];

/// What is learned from in the place of a text that holds a secret: longer than any word that is learned, and of no format.
const NO_WORD: &str = "[secret] (a text that holds a value of `env` or `headers`, which nobody is to know)";

impl Secrets {
    /// What a server says, as it may be kept in a file: every known value replaced, also in keys.
    pub(crate) fn mask_whole(&self, value: &toolwright::Value) -> toolwright::Value {
        use toolwright::Value;
        let masked = |text: &str| if SCHEMA_WORDS.contains(&text) { text.to_owned() } else { self.mask(text) };
        match value {
            Value::String(text) => Value::from(masked(text)),
            Value::Array(items) => Value::array(items.as_slice().iter().map(|item| self.mask_whole(item))),
            Value::Object(members) => {
                let mut kept: Vec<(String, Value)> = Vec::new();
                for (key, value) in members.iter() {
                    let key = masked(key);
                    // Of two keys that look the same now, one is enough.
                    if !kept.iter().any(|(other, _)| *other == key) {
                        kept.push((key, self.mask_whole(value)));
                    }
                }
                Value::object(kept)
            }
            other => other.clone(),
        }
    }

    /// An output as it may be learned from: without members whose name holds a secret, and of a text that holds one only
    /// that it is a text.
    pub(crate) fn learnable(&self, value: &toolwright::Value) -> toolwright::Value {
        use toolwright::Value;
        match value {
            Value::String(text) if self.mask(text) != text.as_str() => Value::from(NO_WORD),
            Value::Array(items) => Value::array(items.as_slice().iter().map(|item| self.learnable(item))),
            Value::Object(members) => {
                let kept = members.iter().filter(|(key, _)| self.mask(key) == key.as_str());
                Value::object(kept.map(|(key, value)| (key.clone(), self.learnable(value))))
            }
            other => other.clone(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{NO_WORD, Secret, Secrets};

    #[test]
    fn keys_are_masked_in_what_is_kept_and_left_out_of_what_is_learned() {
        let mut secrets = Secrets::default();
        secrets.add("hunter22");
        secrets.add("string");
        let raw = toolwright::json!({ "properties": { "hunter22": { "type": "string" }, "xhunter22": {} }, "required": ["hunter22"], "code": "hunter22" });
        let kept = r#"{"properties":{"[secret]":{"type":"string"},"x[secret]":{}},"required":["[secret]"],"code":"[secret]"}"#;
        assert_eq!(secrets.mask_whole(&raw).to_json_string(), kept);
        let output = toolwright::json!([{ "hunter22": 1, "code": "hunter22", "n": 1.50 }]);
        assert_eq!(secrets.learnable(&output), toolwright::json!([{ "code": NO_WORD, "n": 1.50 }]));
        let mut learned = toolwright::schema::Learned::default();
        (0..50).for_each(|at| learned.add(&secrets.learnable(&toolwright::Value::from(if at % 2 == 0 { "hunter22" } else { "none" }))));
        assert_eq!(learned.schema().to_json()["type"], "string");
        assert!(learned.schema().get("enum").is_none() && !learned.to_value().to_json_string().contains("secret"));
    }

    #[test]
    fn a_secret_prints_as_a_mask() {
        let secret = Secret::new("hunter22");
        assert_eq!(format!("{secret} {secret:?}"), "[secret] [secret]");
    }

    #[test]
    fn masking_goes_by_value_longest_first_and_by_word() {
        let mut secrets = Secrets::default();
        secrets.add("abcd-e");
        secrets.add("Bearer abcd-efgh-1234");
        assert_eq!(secrets.mask("x abcd-efgh-1234 y abcd-e z Bearer abcd-efgh-1234"), "x [secret] y [secret] z [secret]");
    }

    #[test]
    fn an_escaped_value_is_masked_too() {
        let mut secrets = Secrets::default();
        secrets.add("pa\"ss\nword");
        assert_eq!(secrets.mask(r#"{"a":"pa\"ss\nword"}"#), r#"{"a":"[secret]"}"#);
    }

    #[test]
    fn a_document_stays_one_whatever_a_secret_is() {
        let mut secrets = Secrets::default();
        secrets.add("reading");
        let document = serde_json::json!({"ok": true, "reading": "I am reading it", "step": "reading", "list": ["reading", 1.50]});
        let masked = r#"{"ok":true,"reading":"I am [secret] it","step":"reading","list":["[secret]",1.50]}"#;
        assert_eq!(secrets.mask_json(document).to_string(), masked.replace("1.50", "1.5"));
    }

    #[test]
    fn short_values_are_left_alone() {
        let mut secrets = Secrets::default();
        for word in ["on", "off", "yes", "no", "true", "false", "read", "größe"] {
            secrets.add(word);
        }
        let text = "on and off, yes, no, true, false, read, größe";
        assert_eq!(secrets.mask(text), text);
    }

    #[test]
    fn logins_in_addresses_are_masked() {
        let none = Secrets::default();
        for (text, masked) in [
            ("at https://me:pass@host/x", "at https://[secret]@host/x"),
            ("https://me:p@ss@host, http://a:b@c", "https://[secret]@host, http://[secret]@c"),
            ("https://ghp_0123456789abcdef@host", "https://[secret]@host"),
            ("https://host/a@b ssh://git@host", "https://host/a@b ssh://git@host"),
            ("://", "://"),
            ("https://[secret]@host", "https://[secret]@host"),
        ] {
            assert_eq!(none.mask(text), masked);
            assert_eq!(none.mask(masked), masked);
        }
    }
}

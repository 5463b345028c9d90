//! Masks what must not be seen in any text that leaves this crate as an error or a status.

use toolwright::Value;

use super::spec::{ServerSpec, Transport};

/// The word that every crate here uses.
const MASK: &str = "[secret]";
/// Shorter configured values (`1`, `dev`) say nothing and would riddle every message with masks.
const CONFIGURED_BYTES_MIN: usize = 4;

/// Knows the secrets of one server and hides them.
#[derive(Clone, Debug, Default)]
pub(crate) struct Redactor {
    /// The longest first, so that a secret inside another one does not leave its tail behind.
    needles: Vec<String>,
}

impl Redactor {
    /// Collects the secrets of a server: listed ones, header and environment values, and what its URL carries.
    pub(crate) fn of(spec: &ServerSpec) -> Self {
        let mut needles: Vec<String> = spec.secrets.clone();
        let mut configured: Vec<String> = Vec::new();
        match &spec.transport {
            Transport::Stdio { env, .. } => configured.extend(env.iter().map(|(_, value)| value.clone())),
            Transport::Http { url, headers } => {
                for (_, value) in headers {
                    configured.push(value.clone());
                    // The token of `Bearer TOKEN` is as secret as the whole value.
                    configured.extend(value.split_once(' ').map(|(_, token)| token.to_owned()));
                }
                configured.extend(url_secrets(url));
            }
        }
        needles.extend(configured.into_iter().filter(|value| value.len() >= CONFIGURED_BYTES_MIN));
        let escaped: Vec<String> = needles.iter().filter_map(|needle| json_escaped(needle)).collect();
        needles.extend(escaped);
        needles.retain(|needle| !needle.is_empty());
        needles.sort_by(|a, b| b.len().cmp(&a.len()).then_with(|| a.cmp(b)));
        needles.dedup();
        Redactor { needles }
    }

    /// The value, with every text in it masked when a secret stands in one.
    pub(crate) fn clean(&self, value: &Value) -> Value {
        match !self.needles.is_empty() && self.finds(&value.to_json_string()) {
            true => masked(value, &|text| self.mask(text)),
            false => value.clone(),
        }
    }

    /// The text with every secret masked.
    pub(crate) fn mask(&self, text: &str) -> String {
        let mut out = text.to_owned();
        for needle in &self.needles {
            if out.contains(needle.as_str()) {
                out = out.replace(needle.as_str(), MASK);
            }
        }
        out
    }

    /// The first place from `at` on that is not inside a secret.
    pub(crate) fn outside(&self, bytes: &[u8], at: usize) -> usize {
        let mut place = at;
        // Secrets may overlap: each round goes past one, so there are no more rounds than bytes.
        while let Some(end) = self.needles.iter().find_map(|needle| end_around(bytes, needle.as_bytes(), place)) {
            place = end;
        }
        place
    }

    /// Bytes of the longest secret.
    pub(crate) fn longest(&self) -> usize {
        self.needles.first().map_or(0, String::len)
    }

    /// Whether a secret stands in the text.
    pub(crate) fn finds(&self, text: &str) -> bool {
        self.needles.iter().any(|needle| text.contains(needle.as_str()))
    }
}

/// The end of a `needle` that begins before `at` and ends behind it.
fn end_around(bytes: &[u8], needle: &[u8], at: usize) -> Option<usize> {
    let starts = at.saturating_sub(needle.len().saturating_sub(1))..at;
    starts.filter(|start| bytes.get(*start..).is_some_and(|rest| rest.starts_with(needle))).map(|start| start + needle.len()).max()
}

/// A secret as it looks inside a JSON text, when that differs.
fn json_escaped(secret: &str) -> Option<String> {
    let needs = secret.chars().any(|c| c == '"' || c == '\\' || c.is_control());
    needs.then(|| {
        let quoted = Value::from(secret).to_json_string();
        quoted.trim_matches('"').to_owned()
    })
}

/// The user information and the query values of a URL.
fn url_secrets(url: &str) -> Vec<String> {
    let rest = url.split_once("://").map_or(url, |(_, rest)| rest);
    let (place, query) = rest.split_once('?').unwrap_or((rest, ""));
    let authority = place.split('/').next().unwrap_or_default();
    let mut found = Vec::new();
    if let Some((user, _)) = authority.rsplit_once('@') {
        found.push(user.to_owned());
        found.extend(user.split_once(':').map(|(_, password)| password.to_owned()));
    }
    let query = query.split('#').next().unwrap_or_default();
    found.extend(query.split('&').filter_map(|pair| pair.split_once('=').map(|(_, value)| value.to_owned())));
    found
}

/// A copy with every text in it masked. Depth is bounded by the reader that made the value.
pub(crate) fn masked(value: &Value, mask: &dyn Fn(&str) -> String) -> Value {
    if let Some(text) = value.as_str() {
        return Value::from(mask(text));
    }
    if let Some(items) = value.as_array() {
        return Value::array(items.iter().map(|item| masked(item, mask)));
    }
    match value.as_object() {
        Some(members) => Value::object(members.iter().map(|(name, item)| (mask(name), masked(item, mask)))),
        None => value.clone(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn masks_listed_header_and_url_secrets_but_not_short_configured_values() {
        let mut spec = ServerSpec::http("s", "https://me:pass-word@host/mcp?key=k3y-in-url");
        spec.secrets = vec!["canary".to_owned(), "a\"b".to_owned()];
        if let Transport::Http { headers, .. } = &mut spec.transport {
            headers.push(("Authorization".to_owned(), "Bearer tok-123".to_owned()));
            headers.push(("X-Level".to_owned(), "1".to_owned()));
        }
        let redactor = Redactor::of(&spec);
        let text = r#"level 1: canary, tok-123, pass-word, k3y-in-url, {"x":"a\"b"} and Bearer tok-123"#;
        let masked = redactor.mask(text);
        for secret in ["canary", "tok-123", "pass-word", "k3y-in-url", "a\\\"b"] {
            assert!(!masked.contains(secret), "{secret} in {masked}");
        }
        assert!(masked.starts_with("level 1: [secret], [secret], "), "{masked}");
    }
}

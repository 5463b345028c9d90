//! One "no" for every place that decides: a gate, a hook, a port of the host.
//!
//! A refusal says which rule and why. Who refused, and for which tool, is added by whoever asked.

use crate::value::{Text, Value};

/// A check said no.
///
/// A hook may write `Err("not today".into())`: the code is then `refused`.
///
/// ```
/// use toolwright::{Refusal, json};
/// let short: Refusal = "not today".into();
/// assert_eq!(short.code, "refused");
/// let full = Refusal::new("quota", "the day's mails are sent").help("wait for tomorrow").details(json!({ "sent": 20 }));
/// assert_eq!(full.to_string(), "the day's mails are sent");
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Refusal {
    /// A stable code, such as `step_disabled` or `permission_denied`.
    pub code: Text,
    /// Why, in words.
    pub message: String,
    /// What to do about it, and who can.
    pub help: Option<String>,
    /// Further facts, an object.
    pub details: Option<Value>,
}

impl Refusal {
    /// A refusal with a code and a reason.
    pub fn new(code: impl Into<Text>, message: impl Into<String>) -> Self {
        Self { code: code.into(), message: message.into(), help: None, details: None }
    }

    /// With what to do about it, and who can.
    #[must_use]
    pub fn help(mut self, help: impl Into<String>) -> Self {
        self.help = Some(help.into());
        self
    }

    /// With further facts, an object.
    #[must_use]
    pub fn details(mut self, details: impl Into<Value>) -> Self {
        self.details = Some(details.into());
        self
    }
}

impl std::fmt::Display for Refusal {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for Refusal {}

impl From<&str> for Refusal {
    /// A refusal with the code `refused`.
    fn from(message: &str) -> Self {
        Self::from(message.to_owned())
    }
}

impl From<String> for Refusal {
    /// A refusal with the code `refused`.
    fn from(message: String) -> Self {
        Self::new(arcstr::literal!("refused"), message)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bare_text_is_a_refusal_with_the_general_code() {
        assert_eq!(Refusal::from("no"), Refusal::new("refused", "no"));
        assert_eq!(Refusal::from("no".to_owned()), Refusal::new("refused", "no"));
        let quick = || -> Result<(), Refusal> { Err("no")? };
        assert_eq!(quick().unwrap_err().code, "refused");
    }
}

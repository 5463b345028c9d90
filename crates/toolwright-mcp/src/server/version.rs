//! The generations of the protocol that the server speaks.

use std::fmt;

use toolwright::Value;

/// A revision of the protocol, older ones first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Version {
    V2024_11_05,
    V2025_03_26,
    V2025_06_18,
    V2025_11_25,
    V2026_07_28,
}

impl Version {
    /// All of them, the newest first: the order in which they are told.
    pub(crate) const ALL: [Version; 5] =
        [Version::V2026_07_28, Version::V2025_11_25, Version::V2025_06_18, Version::V2025_03_26, Version::V2024_11_05];

    /// The newest that is spoken in sessions.
    pub(crate) const NEWEST_OF_SESSIONS: Version = Version::V2025_11_25;

    /// What an HTTP request means that names none.
    pub(crate) const UNNAMED: Version = Version::V2025_03_26;

    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Version::V2024_11_05 => "2024-11-05",
            Version::V2025_03_26 => "2025-03-26",
            Version::V2025_06_18 => "2025-06-18",
            Version::V2025_11_25 => "2025-11-25",
            Version::V2026_07_28 => "2026-07-28",
        }
    }

    pub(crate) fn parse(text: &str) -> Option<Version> {
        Version::ALL.into_iter().find(|version| version.as_str() == text)
    }

    /// Whether each request stands for itself: no `initialize`, no session.
    pub(crate) fn sessionless(self) -> bool {
        self >= Version::V2026_07_28
    }

    /// The version that a session gets which proposes `proposed`: that one if it is known, else our newest.
    pub(crate) fn agreed(proposed: &str) -> Version {
        Version::parse(proposed).filter(|version| !version.sessionless()).unwrap_or(Version::NEWEST_OF_SESSIONS)
    }

    /// All of them as they are told to clients.
    pub(crate) fn all_as_value() -> Value {
        Version::ALL.into_iter().map(|version| Value::from(version.as_str())).collect()
    }
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_session_gets_what_it_proposes_or_the_newest() {
        for (proposed, agreed) in [
            ("2024-11-05", Version::V2024_11_05),
            ("2025-11-25", Version::V2025_11_25),
            ("2099-01-01", Version::V2025_11_25),
            ("2026-07-28", Version::V2025_11_25),
            ("no date", Version::V2025_11_25),
        ] {
            assert_eq!(Version::agreed(proposed), agreed, "{proposed}");
        }
    }
}

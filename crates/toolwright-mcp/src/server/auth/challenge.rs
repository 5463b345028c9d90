//! What a client hears that is not let in: a status, a `WWW-Authenticate` header that says where to get a token, and a text that teaches.

use http::{HeaderName, StatusCode};

use super::oauth::Guard;

/// Why somebody is not let in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Refusal {
    pub(crate) status: StatusCode,
    /// The value of `WWW-Authenticate`, for those whom a token would help.
    pub(crate) challenge: Option<String>,
    /// What, why and what to do, for a person.
    pub(crate) message: String,
    /// The error code of RFC 6750; absent where no token was sent.
    error: Option<&'static str>,
}

impl Refusal {
    pub(super) fn nobody() -> Self {
        Self::new(StatusCode::UNAUTHORIZED, None, "this server wants a token; send it as `Authorization: Bearer TOKEN` with every request")
    }

    pub(super) fn malformed() -> Self {
        let message = "the `Authorization` header cannot be read; send it once, as `Authorization: Bearer TOKEN`";
        Self::new(StatusCode::UNAUTHORIZED, Some("invalid_token"), message)
    }

    pub(super) fn unknown_token() -> Self {
        let message = "the token is not known here; ask whoever runs this server for one, and send it as `Authorization: Bearer TOKEN`";
        Self::new(StatusCode::UNAUTHORIZED, Some("invalid_token"), message)
    }

    /// The token of an authorization server does not count, and why.
    pub(super) fn invalid_token(why: &str) -> Self {
        let message = format!("the token is not accepted: {why}; get a new one from the authorization server");
        Self::new(StatusCode::UNAUTHORIZED, Some("invalid_token"), message)
    }

    pub(super) fn insufficient_scope(wanted: &str) -> Self {
        let message = format!("the token does not carry the scope that is wanted here; get one with `{wanted}`");
        Self::new(StatusCode::FORBIDDEN, Some("insufficient_scope"), message)
    }

    /// The token may be good, but that cannot be found out now.
    pub(super) fn unavailable() -> Self {
        let message = "tokens cannot be checked now, because the keys of the authorization server cannot be read; try again in a minute";
        Self::new(StatusCode::SERVICE_UNAVAILABLE, None, message)
    }

    pub(super) fn bad_audience(header: &HeaderName) -> Self {
        let message = format!("the header `{header}` must be sent once, with the name of an audience");
        Self::new(StatusCode::BAD_REQUEST, None, message)
    }

    fn new(status: StatusCode, error: Option<&'static str>, message: impl Into<String>) -> Self {
        Self { status, challenge: None, message: message.into(), error }
    }

    /// The same with the header that tells a client how to get a token.
    pub(super) fn challenged(mut self, guard: Option<&Guard>) -> Self {
        if !matches!(self.status, StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN) {
            return self;
        }
        let mut parts = Vec::new();
        if let Some(error) = self.error {
            parts.push(format!("error=\"{error}\""));
            // A quoted text has neither quotes nor backslashes inside, and only ASCII.
            let said = self.message.replace(['"', '\\', '`'], "'");
            parts.push(format!("error_description=\"{}\"", said.replace(|c: char| !(' '..='~').contains(&c), "?")));
        }
        if let Some(guard) = guard {
            parts.push(format!("resource_metadata=\"{}\"", guard.metadata_url()));
            let scope = guard.scope_wanted();
            if !scope.is_empty() {
                parts.push(format!("scope=\"{scope}\""));
            }
        }
        self.challenge = Some(if parts.is_empty() { "Bearer".to_owned() } else { format!("Bearer {}", parts.join(", ")) });
        self
    }
}

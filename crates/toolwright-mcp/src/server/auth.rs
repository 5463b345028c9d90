//! Who may come in over HTTP: configured bearer tokens, tokens of an authorization server, and what each of them lets a client see.
//!
//! Everything fails closed: what cannot be checked is refused. No token, and no part of one, is ever in an error or a log line.

use std::fmt;

use http::HeaderMap;
use http::header::{AUTHORIZATION, HeaderName};
use toolwright::Text;

use super::caller::Caller;

mod challenge;
mod jwk;
mod jwt;
mod keys;
mod oauth;
mod token;

pub use jwk::Algorithm;
pub use keys::KeySource;
pub use oauth::OAuth;
pub use token::{Token, WeakToken};

pub(crate) use challenge::Refusal;
pub(crate) use oauth::WELL_KNOWN;

/// Bytes of a bearer token.
const TOKEN_BYTES_MAX: usize = 16 * 1024;
/// Bytes of the name of an audience in a header.
const AUDIENCE_BYTES_MAX: usize = 128;

/// How clients show who they are. Empty: nobody is asked, and everybody has the default audience.
///
/// ```
/// use toolwright_mcp::server::{Access, Token};
/// let mut access = Access::default();
/// access.tokens.push(Token::new("correct-horse-battery", "alice", "writers")?);
/// assert!(access.asks());
/// assert!(!format!("{access:?}").contains("horse"));
/// # Ok::<(), toolwright_mcp::server::WeakToken>(())
/// ```
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct Access {
    /// Tokens that the host knows.
    pub tokens: Vec<Token>,
    /// The authorization server whose tokens count.
    pub oauth: Option<OAuth>,
    /// A header in which clients name their audience, where nothing else names one. For hosts behind a proxy that sets it: whoever can
    /// send the header has the audience.
    pub audience_header: Option<String>,
}

impl Access {
    /// Whether clients must show who they are.
    pub fn asks(&self) -> bool {
        !self.tokens.is_empty() || self.oauth.is_some()
    }

    /// Everything that is wrong with it.
    pub(crate) fn problems(&self) -> Vec<String> {
        let mut problems = self.oauth.as_ref().map(OAuth::problems).unwrap_or_default();
        if let Some(name) = &self.audience_header
            && HeaderName::from_bytes(name.as_bytes()).is_err()
        {
            problems.push(format!("`{name}` cannot be the name of a header; use letters, digits and `-`"));
        }
        problems
    }
}

/// What stands at the door: `Access`, ready to be asked.
pub(crate) struct Door {
    tokens: Vec<Token>,
    oauth: Option<oauth::Guard>,
    audience_header: Option<HeaderName>,
}

impl fmt::Debug for Door {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Door").field("tokens", &self.tokens.len()).field("oauth", &self.oauth.is_some()).finish()
    }
}

impl Door {
    pub(crate) fn new(access: &Access) -> Self {
        Self {
            tokens: access.tokens.clone(),
            oauth: access.oauth.clone().map(oauth::Guard::new),
            audience_header: access.audience_header.as_ref().and_then(|name| HeaderName::from_bytes(name.as_bytes()).ok()),
        }
    }

    /// What authorization servers and clients may know of it, as RFC 9728 has it.
    pub(crate) fn metadata(&self) -> Option<&str> {
        self.oauth.as_ref().map(oauth::Guard::metadata)
    }

    /// The host of its published address, under which clients may reach it.
    pub(crate) fn host(&self) -> Option<&str> {
        self.oauth.as_ref().and_then(oauth::Guard::host)
    }

    /// Who sends a request with these headers.
    ///
    /// # Errors
    /// When that is not shown, not believed, or not enough.
    pub(crate) async fn admit(&self, headers: &HeaderMap) -> Result<Caller, Refusal> {
        let mut caller = Caller::default();
        if !self.tokens.is_empty() || self.oauth.is_some() {
            let Some(token) = self.bearer(headers)? else { return Err(self.refuse(Refusal::nobody())) };
            caller = match Token::find(&self.tokens, token) {
                Some(caller) => caller,
                None => match &self.oauth {
                    Some(guard) => guard.admit(token).await.map_err(|refusal| self.refuse(refusal))?,
                    None => return Err(self.refuse(Refusal::unknown_token())),
                },
            };
        }
        if caller.audience.is_empty() {
            caller.audience = self.audience(headers)?;
        }
        Ok(caller)
    }

    /// The token of the only `Authorization` header; `None` without the header.
    fn bearer<'h>(&self, headers: &'h HeaderMap) -> Result<Option<&'h str>, Refusal> {
        let mut values = headers.get_all(AUTHORIZATION).iter();
        let Some(value) = values.next() else { return Ok(None) };
        let malformed = || self.refuse(Refusal::malformed());
        if values.next().is_some() {
            return Err(malformed());
        }
        let (scheme, token) = value.to_str().ok().and_then(|value| value.trim().split_once(' ')).ok_or_else(malformed)?;
        let token = token.trim();
        let fits = scheme.eq_ignore_ascii_case("bearer") && !token.is_empty() && token.len() <= TOKEN_BYTES_MAX;
        if fits { Ok(Some(token)) } else { Err(malformed()) }
    }

    fn audience(&self, headers: &HeaderMap) -> Result<Text, Refusal> {
        let Some(name) = &self.audience_header else { return Ok(Text::default()) };
        let mut values = headers.get_all(name).iter();
        let Some(value) = values.next() else { return Ok(Text::default()) };
        match value.to_str() {
            Ok(audience) if values.next().is_none() && audience.len() <= AUDIENCE_BYTES_MAX => Ok(audience.trim().into()),
            _ => Err(Refusal::bad_audience(name)),
        }
    }

    fn refuse(&self, refusal: Refusal) -> Refusal {
        refusal.challenged(self.oauth.as_ref())
    }
}

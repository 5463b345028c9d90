//! Bearer tokens that the host knows: only their digests are kept.

use std::fmt;

use subtle::ConstantTimeEq as _;
use thiserror::Error;
use toolwright::Text;

use crate::server::caller::Caller;

/// Bytes below which a token can be guessed.
const TOKEN_BYTES_MIN: usize = 16;

/// A token, whose it is, and what it lets them see. The token itself is not kept.
///
/// ```
/// use toolwright_mcp::server::Token;
/// let token = Token::new("correct-horse-battery", "alice", "writers")?;
/// assert_eq!(token.principal(), "alice");
/// assert!(Token::new("short", "alice", "").is_err());
/// # Ok::<(), toolwright_mcp::server::WeakToken>(())
/// ```
#[derive(Clone)]
pub struct Token {
    digest: [u8; 32],
    caller: Caller,
}

/// A token that cannot be used as one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[error("{}", self.text())]
#[non_exhaustive]
pub enum WeakToken {
    /// Too short: it can be guessed.
    Short,
    /// It has characters that cannot be sent in a header.
    Unsendable,
}

impl WeakToken {
    fn text(self) -> String {
        match self {
            Self::Short => format!("a token of fewer than {TOKEN_BYTES_MIN} bytes can be guessed; make one with `openssl rand -hex 32`"),
            Self::Unsendable => {
                "a token with spaces, line breaks or other than ASCII characters cannot be sent; make one with `openssl rand -hex 32`"
                    .to_owned()
            }
        }
    }
}

impl Token {
    /// The token `secret` of `principal`, who sees `audience` (empty: the default one).
    ///
    /// # Errors
    /// When nobody could send it, or anybody could guess it.
    pub fn new(secret: &str, principal: impl Into<Text>, audience: impl Into<Text>) -> Result<Self, WeakToken> {
        if !secret.bytes().all(|byte| byte.is_ascii_graphic()) {
            return Err(WeakToken::Unsendable);
        }
        if secret.len() < TOKEN_BYTES_MIN {
            return Err(WeakToken::Short);
        }
        Ok(Self { digest: digest(secret), caller: Caller { principal: principal.into(), audience: audience.into() } })
    }

    /// Whose it is.
    pub fn principal(&self) -> &str {
        &self.caller.principal
    }

    /// What it lets them see; empty: the default audience.
    pub fn audience(&self) -> &str {
        &self.caller.audience
    }

    /// Whose token this is. Takes as long for a wrong token as for a right one.
    pub(super) fn find(tokens: &[Token], secret: &str) -> Option<Caller> {
        let digest = digest(secret);
        let mut found = None;
        for token in tokens {
            if bool::from(token.digest.ct_eq(&digest)) {
                found = found.or(Some(token));
            }
        }
        found.map(|token| token.caller.clone())
    }
}

impl fmt::Debug for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Token").field("caller", &self.caller).finish_non_exhaustive()
    }
}

fn digest(secret: &str) -> [u8; 32] {
    let mut out = [0; 32];
    out.copy_from_slice(ring::digest::digest(&ring::digest::SHA256, secret.as_bytes()).as_ref());
    out
}

//! Tokens of an authorization server (RFC 7519, RFC 9068): read, and checked claim by claim. Nothing of a token is in an error.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use toolwright::Value;
use toolwright::value::ParseOptions;

use super::jwk::{Algorithm, Key};

/// How deep the JSON inside a token may be.
const CLAIMS_DEPTH_MAX: u32 = 16;
/// Bytes of the name of a caller.
const SUBJECT_BYTES_MAX: usize = 512;

/// A token that was read and not believed yet.
#[derive(Debug)]
pub(super) struct Unchecked<'t> {
    signed: &'t str,
    signature: Vec<u8>,
    pub(super) algorithm: Algorithm,
    pub(super) key: Option<String>,
    claims: Value,
}

/// What a token must say.
#[derive(Clone, Debug)]
pub(super) struct Expected<'e> {
    pub(super) issuer: &'e str,
    pub(super) audiences: &'e [String],
    /// Seconds since 1970.
    pub(super) now: f64,
    /// Seconds that clocks may differ.
    pub(super) leeway: f64,
}

/// What a token that is believed says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Claims {
    pub(super) subject: String,
    pub(super) scopes: Vec<String>,
}

/// Reads a token.
///
/// # Errors
/// In words, when it is none, or not signed in an allowed way.
pub(super) fn read<'t>(token: &'t str, allowed: &[Algorithm]) -> Result<Unchecked<'t>, &'static str> {
    let (signed, signature) = token.rsplit_once('.').ok_or("it is not a JSON Web Token")?;
    let (head, body) = signed.split_once('.').filter(|(_, body)| !body.contains('.')).ok_or("it is not a JSON Web Token")?;
    let head = json(head).ok_or("its header cannot be read")?;
    let name = head.get("alg").and_then(Value::as_str).ok_or("it does not say how it is signed")?;
    let algorithm =
        Algorithm::parse(name).filter(|algorithm| allowed.contains(algorithm)).ok_or("it is signed in a way that is not allowed")?;
    if head.get("crit").is_some() {
        return Err("it wants extensions that are not supported");
    }
    if let Some(kind) = head.get("typ") {
        let kind = kind.as_str().unwrap_or_default().to_ascii_lowercase();
        if !matches!(kind.as_str(), "jwt" | "at+jwt" | "application/at+jwt") {
            return Err("it is not an access token");
        }
    }
    let key = match head.get("kid") {
        Some(key) => Some(key.as_str().ok_or("its header cannot be read")?.to_owned()),
        None => None,
    };
    let claims = json(body).ok_or("its claims cannot be read")?;
    let signature = URL_SAFE_NO_PAD.decode(signature).map_err(|_| "its signature cannot be read")?;
    Ok(Unchecked { signed, signature, algorithm, key, claims })
}

impl Unchecked<'_> {
    /// What it says, when the key signed it and it is meant for us and now.
    ///
    /// # Errors
    /// In words, what is wrong with it.
    pub(super) fn check(&self, key: &Key, expected: &Expected<'_>) -> Result<Claims, &'static str> {
        if !key.signed(self.algorithm, self.signed.as_bytes(), &self.signature) {
            return Err("its signature is wrong");
        }
        let text = |member: &str| self.claims.get(member).and_then(Value::as_str);
        if text("iss") != Some(expected.issuer) {
            return Err("it comes from another issuer");
        }
        let meant = |value: &Value| value.as_str().is_some_and(|aud| expected.audiences.iter().any(|ours| ours == aud));
        let for_us = self.claims.get("aud").is_some_and(|aud| aud.as_array().map_or_else(|| meant(aud), |all| all.iter().any(meant)));
        if !for_us {
            return Err("it is meant for another server (claim `aud`)");
        }
        self.in_time(expected)?;
        let subject = text("sub").or_else(|| text("client_id")).or_else(|| text("azp")).unwrap_or_default();
        if subject.is_empty() || subject.len() > SUBJECT_BYTES_MAX {
            return Err("it does not say whose it is (claim `sub`)");
        }
        Ok(Claims { subject: subject.to_owned(), scopes: self.scopes() })
    }

    fn in_time(&self, expected: &Expected<'_>) -> Result<(), &'static str> {
        let Expected { now, leeway, .. } = *expected;
        let moment = |member: &str| match self.claims.get(member) {
            None => Ok(None),
            Some(value) => value.as_f64().filter(|seconds| seconds.is_finite()).map(Some).ok_or("its times cannot be read"),
        };
        let expires = moment("exp")?.ok_or("it never expires (claim `exp` is missing)")?;
        if now >= expires + leeway {
            return Err("it has expired");
        }
        for begins in [moment("nbf")?, moment("iat")?].into_iter().flatten() {
            if now + leeway < begins {
                return Err("it is not valid yet");
            }
        }
        Ok(())
    }

    /// `scope` of RFC 9068, or `scp`, which two large providers send instead.
    fn scopes(&self) -> Vec<String> {
        let claim = self.claims.get("scope").or_else(|| self.claims.get("scp"));
        let words = |text: &str| text.split_whitespace().map(ToOwned::to_owned).collect();
        match claim {
            Some(Value::String(text)) => words(text),
            Some(list) => list.as_array().unwrap_or_default().iter().filter_map(Value::as_str).map(ToOwned::to_owned).collect(),
            None => Vec::new(),
        }
    }
}

fn json(part: &str) -> Option<Value> {
    let bytes = URL_SAFE_NO_PAD.decode(part).ok()?;
    let options = ParseOptions { depth_max: CLAIMS_DEPTH_MAX, ..ParseOptions::default() };
    let parsed = Value::parse_with(bytes.as_slice(), &options).ok()?;
    parsed.value.as_object().is_some().then_some(parsed.value)
}

//! This server as a resource server of OAuth 2.1: what it publishes of itself (RFC 9728), and what a token must be to count.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use http::Uri;
use toolwright::{Text, Value};

use super::challenge::Refusal;
use super::jwk::Algorithm;
use super::jwt::{self, Expected};
use super::keys::{KeySource, Keys, NoKey};
use crate::server::caller::Caller;

/// Where the metadata of RFC 9728 is published; the path of the resource follows.
pub(crate) const WELL_KNOWN: &str = "/.well-known/oauth-protected-resource";

/// The authorization server whose tokens count, and what its scopes mean here.
///
/// ```
/// use toolwright_mcp::server::{KeySource, OAuth};
/// let keys = KeySource::Url("https://login.example.com/jwks".to_owned());
/// let mut oauth = OAuth::new("https://tools.example.com/mcp", "https://login.example.com", keys);
/// oauth.scopes.push(("tools:write".to_owned(), "writers".into()));
/// assert!(oauth.problems().is_empty());
/// ```
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct OAuth {
    /// The address under which clients know this server, without query and fragment; tokens must be meant for it (`aud`).
    pub resource: String,
    /// Who must have issued a token (`iss`), letter by letter.
    pub issuer: String,
    /// Where clients get tokens; the issuer, unless the host says otherwise.
    pub authorization_servers: Vec<String>,
    /// Where the keys are that tokens are signed with.
    pub keys: KeySource,
    /// How tokens may be signed.
    pub algorithms: Vec<Algorithm>,
    /// Further values of `aud` that mean this server.
    pub accepted_audiences: Vec<String>,
    /// What a scope lets a client see; the first one of the list that a token has counts. Empty: every token has the default audience.
    pub scopes: Vec<(String, Text)>,
    /// Scopes that every token must have.
    pub scopes_required: Vec<String>,
    /// How much the clocks of the issuer and of this machine may differ.
    pub leeway: Duration,
    /// Whether clients may reach the server under the host of `resource`, as under one of `HttpOptions::hosts`. True, unless the host
    /// does not believe whoever wrote `resource`.
    pub accepts_host: bool,
}

impl OAuth {
    /// Tokens of `issuer` for `resource`, signed with RS256, PS256, ES256 or EdDSA.
    pub fn new(resource: impl Into<String>, issuer: impl Into<String>, keys: KeySource) -> Self {
        let issuer = issuer.into();
        Self {
            resource: resource.into(),
            authorization_servers: vec![issuer.clone()],
            issuer,
            keys,
            algorithms: vec![Algorithm::Rs256, Algorithm::Ps256, Algorithm::Es256, Algorithm::EdDsa],
            accepted_audiences: Vec::new(),
            scopes: Vec::new(),
            scopes_required: Vec::new(),
            leeway: Duration::from_secs(30),
            accepts_host: true,
        }
    }

    /// Everything that is wrong with it, each with what to do.
    pub fn problems(&self) -> Vec<String> {
        let mut problems = Vec::new();
        let mut address = |what: &str, url: &str| {
            if !is_safe(url) {
                problems.push(format!(
                    "the {what} `{url}` must be an `https://` address without query and fragment (`http://` only on loopback)"
                ));
            }
        };
        address("resource", &self.resource);
        address("issuer", &self.issuer);
        for server in &self.authorization_servers {
            address("authorization server", server);
        }
        if let KeySource::Url(url) = &self.keys
            && !is_safe(url.split('?').next().unwrap_or_default())
        {
            problems.push(format!(
                "the keys at `{url}` must come over `https://` (`http://` only on loopback): whoever changes them can make tokens"
            ));
        }
        if self.authorization_servers.is_empty() {
            problems.push("no authorization server is named; clients would not know where to get a token".to_owned());
        }
        if self.algorithms.is_empty() {
            problems.push("no way to sign a token is allowed, so that no token could ever count; name one, for example `RS256`".to_owned());
        }
        let scopes = self.scopes.iter().map(|(scope, _)| scope).chain(&self.scopes_required);
        problems.extend(scopes.filter(|scope| !is_scope(scope)).map(|scope| {
            format!("`{scope}` cannot be a scope; scopes have no spaces, quotes, backslashes or characters other than ASCII")
        }));
        problems
    }
}

/// Whether nobody on the way can change what comes from there.
fn is_safe(url: &str) -> bool {
    let Ok(uri) = url.parse::<Uri>() else { return false };
    let loopback = matches!(uri.host(), Some("localhost" | "127.0.0.1" | "[::1]"));
    let scheme = uri.scheme_str() == Some("https") || (uri.scheme_str() == Some("http") && loopback);
    scheme && uri.host().is_some_and(|host| !host.is_empty()) && !url.contains(['#', '?', '"', '\\', '@'])
}

fn is_scope(scope: &str) -> bool {
    !scope.is_empty() && scope.bytes().all(|byte| byte.is_ascii_graphic() && byte != b'"' && byte != b'\\')
}

/// An `OAuth` with its keys.
pub(crate) struct Guard {
    config: OAuth,
    audiences: Vec<String>,
    keys: Keys,
    metadata: String,
    metadata_url: String,
}

impl Guard {
    pub(super) fn new(config: OAuth) -> Self {
        let mut audiences = config.accepted_audiences.clone();
        audiences.push(config.resource.clone());
        let uri = config.resource.parse::<Uri>().unwrap_or_default();
        let path = uri.path().trim_end_matches('/');
        let origin = config.resource.split("://").next().zip(uri.authority()).map(|(scheme, place)| format!("{scheme}://{place}"));
        Self {
            audiences,
            keys: Keys::new(config.keys.clone()),
            metadata: metadata(&config),
            metadata_url: format!("{}{WELL_KNOWN}{path}", origin.unwrap_or_default()),
            config,
        }
    }

    pub(super) fn metadata(&self) -> &str {
        &self.metadata
    }

    pub(super) fn metadata_url(&self) -> &str {
        &self.metadata_url
    }

    /// The host of the resource, if clients may reach the server under it.
    pub(super) fn host(&self) -> Option<&str> {
        if !self.config.accepts_host {
            return None;
        }
        let rest = self.config.resource.split_once("://")?.1;
        rest.split('/').next()
    }

    /// The scopes that a client should ask for, separated by spaces.
    pub(super) fn scope_wanted(&self) -> String {
        known_scopes(&self.config).join(" ")
    }

    /// Whose token it is, and what they see.
    ///
    /// # Errors
    /// When it does not count, or that cannot be found out.
    pub(super) async fn admit(&self, token: &str) -> Result<Caller, Refusal> {
        let read = jwt::read(token, &self.config.algorithms).map_err(Refusal::invalid_token)?;
        let keys = self.keys.with(read.key.as_deref(), read.algorithm).await;
        let key = match &keys {
            Ok(keys) => keys.find(read.key.as_deref(), read.algorithm).ok_or_else(|| Refusal::invalid_token("its key is not known"))?,
            Err(NoKey::Unavailable) => return Err(Refusal::unavailable()),
        };
        let now = SystemTime::now().duration_since(UNIX_EPOCH).map_err(|_| Refusal::unavailable())?;
        let expected = Expected {
            issuer: &self.config.issuer,
            audiences: &self.audiences,
            now: now.as_secs_f64(),
            leeway: self.config.leeway.as_secs_f64(),
        };
        let claims = read.check(key, &expected).map_err(Refusal::invalid_token)?;
        let has = |scope: &String| claims.scopes.contains(scope);
        if !self.config.scopes_required.iter().all(has) {
            return Err(Refusal::insufficient_scope(&self.scope_wanted()));
        }
        let audience = match self.config.scopes.iter().find(|(scope, _)| has(scope)) {
            Some((_, audience)) => audience.clone(),
            None if self.config.scopes.is_empty() => Text::default(),
            None => return Err(Refusal::insufficient_scope(&self.scope_wanted())),
        };
        Ok(Caller { principal: claims.subject.into(), audience })
    }
}

fn known_scopes(config: &OAuth) -> Vec<&str> {
    let mut known: Vec<&str> = Vec::new();
    for scope in config.scopes_required.iter().chain(config.scopes.iter().map(|(scope, _)| scope)) {
        if !known.contains(&scope.as_str()) {
            known.push(scope);
        }
    }
    known
}

fn metadata(config: &OAuth) -> String {
    let mut members = vec![
        ("resource", Value::from(config.resource.as_str())),
        ("authorization_servers", Value::array(config.authorization_servers.iter().map(String::as_str))),
        ("bearer_methods_supported", Value::array(["header"])),
    ];
    let scopes = known_scopes(config);
    if !scopes.is_empty() {
        members.push(("scopes_supported", Value::array(scopes)));
    }
    Value::object(members).to_json_string()
}

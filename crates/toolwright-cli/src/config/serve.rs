//! The `serve` section of one file: who sees what, and how they are known.

use std::net::SocketAddr;
use std::path::Path;
use std::time::Duration;

use toolwright_mcp::server::{Audience, Profile};

use super::members::{AUDIENCE, OAUTH, SERVE, SERVE_APPROVALS, SERVE_LIMITS};
use super::reader::{Place, Reader};
use super::yaml::{Entry, Node};
use crate::code;
use crate::diagnostic::{Owner, did_you_mean};
use crate::secret::Secret;

/// The section as it stands; what of it counts is decided elsewhere.
#[derive(Debug)]
pub(crate) struct ServeEntry {
    /// Where the section's key stands.
    pub(crate) place: Place,
    pub(crate) listen: Option<(SocketAddr, Place)>,
    pub(crate) path: Option<(String, Place)>,
    pub(crate) name: Option<String>,
    pub(crate) instructions: Option<String>,
    pub(crate) profile: Option<Profile>,
    pub(crate) audiences: Vec<AudienceEntry>,
    pub(crate) audience_header: Option<(String, Place)>,
    pub(crate) oauth: Option<OAuthEntry>,
    pub(crate) hosts: Vec<(String, Place)>,
    pub(crate) origins: Vec<(String, Place)>,
    pub(crate) approvals: ApprovalsEntry,
    pub(crate) limits: LimitsEntry,
    /// Something about the section is wrong: half a fence is none.
    pub(crate) broken: bool,
}

/// An audience as it stands.
#[derive(Debug)]
pub(crate) struct AudienceEntry {
    pub(crate) name: String,
    pub(crate) place: Place,
    pub(crate) audience: Audience,
    /// Every pattern of `sees` and `denied`, with its place.
    pub(crate) patterns: Vec<(String, Place)>,
    /// Names of members and their tokens, with their places.
    pub(crate) tokens: Vec<(String, Secret, Place)>,
    pub(crate) scopes: Vec<String>,
}

/// An authorization server as it stands.
#[derive(Debug)]
pub(crate) struct OAuthEntry {
    pub(crate) place: Place,
    pub(crate) resource: String,
    pub(crate) issuer: String,
    pub(crate) keys: Keys,
    pub(crate) authorization_servers: Vec<String>,
    pub(crate) algorithms: Vec<(String, Place)>,
    pub(crate) accepted_audiences: Vec<String>,
    pub(crate) required_scopes: Vec<String>,
    pub(crate) leeway: Option<Duration>,
}

/// Where keys are.
#[derive(Debug)]
pub(crate) enum Keys {
    Address(String),
    File(std::path::PathBuf),
}

/// Who is asked for approvals, as it stands.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct ApprovalsEntry {
    pub(crate) client: Option<bool>,
    pub(crate) later: Option<bool>,
    pub(crate) expires: Option<Duration>,
}

/// Bounds as they stand.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct LimitsEntry {
    pub(crate) message: Option<u64>,
    pub(crate) page_items: Option<usize>,
    pub(crate) sessions: Option<usize>,
    pub(crate) calls_per_client: Option<usize>,
    pub(crate) session_idle: Option<Duration>,
    pub(crate) call_kept: Option<Duration>,
    pub(crate) replay: Option<u64>,
    pub(crate) stop_grace: Option<Duration>,
}

/// Reads the section; `None` when it is no mapping.
pub(crate) fn read(reader: &mut Reader<'_>, entry: &Entry, base: &Path) -> Option<ServeEntry> {
    let before = reader.findings.len();
    let owner = std::mem::replace(&mut reader.owner, Owner::Serve);
    let read = section(reader, entry, base);
    reader.owner = owner;
    let broken = reader.findings.len() > before;
    read.map(|read| ServeEntry { broken, ..read })
}

fn section(reader: &mut Reader<'_>, entry: &Entry, base: &Path) -> Option<ServeEntry> {
    let mut serve = ServeEntry {
        place: reader.place(&entry.key_span),
        listen: None,
        path: None,
        name: None,
        instructions: None,
        profile: None,
        audiences: Vec::new(),
        audience_header: None,
        oauth: None,
        hosts: Vec::new(),
        origins: Vec::new(),
        approvals: ApprovalsEntry::default(),
        limits: LimitsEntry::default(),
        broken: false,
    };
    for member in reader.members(&entry.value, &SERVE)? {
        let place = reader.place(&member.value.span);
        match member.key.as_str() {
            "listen" => serve.listen = address(reader, member).map(|address| (address, place)),
            "path" => serve.path = expanded(reader, member).map(|path| (path, place)),
            "name" => serve.name = reader.text(member),
            "instructions" => serve.instructions = reader.text(member),
            "profile" => serve.profile = profile(reader, member),
            "audiences" => serve.audiences = audiences(reader, member),
            "audienceHeader" => serve.audience_header = reader.text(member).map(|name| (name, place)),
            "oauth" => serve.oauth = oauth(reader, member, base),
            "hosts" => serve.hosts = texts(reader, member),
            "origins" => serve.origins = texts(reader, member),
            "approvals" => serve.approvals = approvals(reader, member),
            "limits" => serve.limits = limits(reader, member),
            _ => {}
        }
    }
    Some(serve)
}

fn address(reader: &mut Reader<'_>, member: &Entry) -> Option<SocketAddr> {
    let text = expanded(reader, member)?;
    match parse_address(&text) {
        Ok(address) => Some(address),
        Err(help) => {
            let message = format!("`{text}` is no address to listen on");
            reader.error(code::BAD_VALUE, message, &member.value.span, "", Some(help));
            None
        }
    }
}

/// `127.0.0.1:8765`, `[::1]:8765`, `localhost:8765`, or only a port, on this machine.
///
/// # Errors
/// What to write instead.
pub(crate) fn parse_address(text: &str) -> Result<SocketAddr, String> {
    let on_loopback = |port: &str| port.parse::<u16>().ok().map(|port| SocketAddr::from(([127, 0, 0, 1], port)));
    let named = text.strip_prefix("localhost:").or_else(|| text.strip_prefix(':')).unwrap_or(text);
    if let Some(address) = on_loopback(named) {
        return Ok(address);
    }
    text.parse().map_err(|_| "write an address and a port, such as `127.0.0.1:8765`, or only the port".to_owned())
}

fn expanded(reader: &mut Reader<'_>, member: &Entry) -> Option<String> {
    reader.expanded(&member.value, &format!("`{}`", member.key)).map(|expanded| expanded.text)
}

fn texts(reader: &mut Reader<'_>, member: &Entry) -> Vec<(String, Place)> {
    let what = format!("an element of `{}`", member.key);
    let items = reader.list(member).unwrap_or_default();
    let read = items.iter().filter_map(|item| Some((reader.expanded(item, &what)?.text, reader.place(&item.span))));
    read.collect()
}

fn plain_texts(reader: &mut Reader<'_>, member: &Entry) -> Vec<String> {
    texts(reader, member).into_iter().map(|(text, _)| text).collect()
}

fn profile(reader: &mut Reader<'_>, member: &Entry) -> Option<Profile> {
    let names: Vec<(&str, &str)> = Profile::names().map(|name| (name, name)).collect();
    Profile::named(reader.word(member, &names)?)
}

fn audiences(reader: &mut Reader<'_>, member: &Entry) -> Vec<AudienceEntry> {
    let Some(entries) = member.value.entries() else {
        reader.wrong_type(&member.value, "`audiences` is a mapping");
        return Vec::new();
    };
    entries.iter().filter_map(|entry| audience(reader, entry)).collect()
}

fn audience(reader: &mut Reader<'_>, entry: &Entry) -> Option<AudienceEntry> {
    let fits = |c: char| c.is_ascii_alphanumeric() || "_-.:".contains(c);
    if entry.key.is_empty() || !entry.key.chars().all(fits) {
        let help = "letters, digits, `_`, `-`, `.` and `:` can be in the name of an audience".to_owned();
        reader.error(code::BAD_VALUE, format!("`{}` cannot be the name of an audience", entry.key), &entry.key_span, "", Some(help));
    }
    let mut read = AudienceEntry {
        name: entry.key.clone(),
        place: reader.place(&entry.key_span),
        audience: Audience::default(),
        patterns: Vec::new(),
        tokens: Vec::new(),
        scopes: Vec::new(),
    };
    for member in reader.members(&entry.value, &AUDIENCE)? {
        match member.key.as_str() {
            "sees" => {
                let patterns = texts(reader, member);
                if patterns.is_empty() {
                    let help = "leave `sees` out for all of them, or write `denied: [\"*\"]` for none".to_owned();
                    reader.error(code::BAD_VALUE, "an audience that sees no tool", &member.value.span, "", Some(help));
                }
                read.audience = read.audience.seeing(patterns.iter().map(|(pattern, _)| pattern.as_str()));
                read.patterns.extend(patterns);
            }
            "denied" => {
                let patterns = texts(reader, member);
                read.audience = read.audience.denied(patterns.iter().map(|(pattern, _)| pattern.as_str()));
                read.patterns.extend(patterns);
            }
            "profile" => read.audience.profile = profile(reader, member),
            "tokens" => read.tokens = tokens(reader, member),
            "scopes" => read.scopes = plain_texts(reader, member),
            _ => {}
        }
    }
    Some(read)
}

fn tokens(reader: &mut Reader<'_>, member: &Entry) -> Vec<(String, Secret, Place)> {
    let places: Vec<Place> = member.value.entries().unwrap_or_default().iter().map(|entry| reader.place(&entry.key_span)).collect();
    let tokens = reader.secret_map(member).unwrap_or_default();
    tokens.into_iter().zip(places).map(|((name, token), place)| (name, token, place)).collect()
}

fn oauth(reader: &mut Reader<'_>, member: &Entry, base: &Path) -> Option<OAuthEntry> {
    let mut read = OAuthEntry {
        place: reader.place(&member.key_span),
        resource: String::new(),
        issuer: String::new(),
        keys: Keys::Address(String::new()),
        authorization_servers: Vec::new(),
        algorithms: Vec::new(),
        accepted_audiences: Vec::new(),
        required_scopes: Vec::new(),
        leeway: None,
    };
    for member in reader.members(&member.value, &OAUTH)? {
        match member.key.as_str() {
            "resource" => read.resource = expanded(reader, member).unwrap_or_default(),
            "issuer" => read.issuer = expanded(reader, member).unwrap_or_default(),
            "keys" => read.keys = keys(expanded(reader, member).unwrap_or_default(), base),
            "authorizationServers" => read.authorization_servers = plain_texts(reader, member),
            "algorithms" => read.algorithms = texts(reader, member),
            "acceptedAudiences" => read.accepted_audiences = plain_texts(reader, member),
            "requiredScopes" => read.required_scopes = plain_texts(reader, member),
            "leeway" => read.leeway = reader.duration(member),
            _ => {}
        }
    }
    Some(read)
}

fn keys(text: String, base: &Path) -> Keys {
    if text.starts_with("https://") || text.starts_with("http://") { Keys::Address(text) } else { Keys::File(base.join(text)) }
}

fn approvals(reader: &mut Reader<'_>, member: &Entry) -> ApprovalsEntry {
    let mut approvals = ApprovalsEntry::default();
    for member in reader.members(&member.value, &SERVE_APPROVALS).unwrap_or_default() {
        match member.key.as_str() {
            "client" => approvals.client = reader.flag(member),
            "later" => approvals.later = reader.flag(member),
            "expires" => approvals.expires = reader.duration(member),
            _ => {}
        }
    }
    approvals
}

fn limits(reader: &mut Reader<'_>, member: &Entry) -> LimitsEntry {
    let mut limits = LimitsEntry::default();
    for member in reader.members(&member.value, &SERVE_LIMITS).unwrap_or_default() {
        match member.key.as_str() {
            "message" => limits.message = reader.size(member),
            "pageItems" => limits.page_items = count(reader, &member.value, "`pageItems`"),
            "sessions" => limits.sessions = count(reader, &member.value, "`sessions`"),
            "callsPerClient" => limits.calls_per_client = count(reader, &member.value, "`callsPerClient`"),
            "sessionIdle" => limits.session_idle = reader.duration(member),
            "callKept" => limits.call_kept = reader.duration(member),
            "replay" => limits.replay = reader.size(member),
            "stopGrace" => limits.stop_grace = reader.duration(member),
            _ => {}
        }
    }
    limits
}

fn count(reader: &mut Reader<'_>, node: &Node, what: &str) -> Option<usize> {
    let count = reader.integer(node, what)?;
    let fits = usize::try_from(count).ok().filter(|count| *count > 0);
    if fits.is_none() {
        let help = "write a whole number from 1 on".to_owned();
        reader.error(code::BAD_VALUE, format!("{what} is {count}, and nothing could be served then"), &node.span, "", Some(help));
    }
    fits
}

/// The nearest name of an audience, for a "did you mean".
pub(crate) fn nearest<'a>(name: &str, audiences: impl IntoIterator<Item = &'a str>) -> Option<String> {
    did_you_mean(name, audiences)
}

//! Who may come in over HTTP: tokens of audiences, an authorization server, names and web pages.

use toolwright_mcp::server::{Algorithm, HttpOptions, KeySource, OAuth, Token};

use super::{Sections, key};
use crate::code;
use crate::config::Layer;
use crate::config::reader::Place;
use crate::config::serve::{AudienceEntry, Keys, OAuthEntry, ServeEntry};
use crate::diagnostic::{Finding, Owner, did_you_mean};

/// Says it to the endpoint; what is wrong goes to `findings`.
pub(super) fn open(sections: &Sections<'_>, http: &mut HttpOptions, findings: &mut Vec<Finding>) {
    if let Some((path, _)) = sections.first(|section| section.path.as_ref()) {
        http.path.clone_from(path);
    }
    if sections.fenced() {
        findings.extend(sections.of_layer(Layer::Project).flat_map(shut));
    }
    for (section, layer) in &sections.0 {
        let doors = [("hosts", &section.hosts), ("origins", &section.origins)];
        if *layer == Layer::Project {
            let opened = doors.iter().flat_map(|(name, list)| list.iter().map(move |(_, place)| (name, place)));
            findings.extend(opened.map(|(name, place)| only_yours(name, place)));
            continue;
        }
        http.hosts.extend(section.hosts.iter().map(|(host, _)| host.clone()));
        http.origins.extend(section.origins.iter().map(|(origin, _)| origin.clone()));
    }
    let audiences = sections.audiences();
    tokens(&audiences, http, findings);
    let deciding = sections.deciding();
    let said = || sections.of_layer(deciding);
    http.access.audience_header = said().find_map(|section| section.audience_header.as_ref()).map(|(name, _)| name.clone());
    match said().find_map(|section| section.oauth.as_ref()) {
        Some(entry) => {
            let read = oauth(entry, &audiences, findings);
            // INVARIANT: a name that counts in `Host` lets web pages of that name in, as one of `hosts` does.
            http.access.oauth = read.map(|mut oauth| {
                oauth.accepts_host = deciding == Layer::User;
                oauth
            });
        }
        None => findings.extend(scopes_without_server(&audiences)),
    }
    if deciding == Layer::Project && http.access.asks() && !http.open && !http.address.ip().is_loopback() {
        findings.extend(said().next().map(|section| reaches_further(http, &section.place)));
    }
}

/// Whether something in a section says by what clients are known.
pub(super) fn has_one(section: &ServeEntry) -> bool {
    let tokens = section.audiences.iter().any(|audience| !audience.tokens.is_empty());
    tokens || section.oauth.is_some() || section.audience_header.is_some()
}

/// Everything in a project's section with which somebody could come in past what the user's own file says.
fn shut(section: &ServeEntry) -> Vec<Finding> {
    let tokens = section.audiences.iter().flat_map(|audience| audience.tokens.iter().map(|(.., place)| ("tokens", place)));
    let scopes = section.audiences.iter().filter(|audience| !audience.scopes.is_empty()).map(|audience| ("scopes", &audience.place));
    let header = section.audience_header.iter().map(|(_, place)| ("audienceHeader", place));
    let oauth = section.oauth.iter().map(|oauth| ("oauth", &oauth.place));
    let help = "your own file says who may come in and who sees what, and no project's file adds to that: \
                take it out here, or put it into your own file";
    let doors = tokens.chain(scopes).chain(header).chain(oauth);
    doors.map(|(member, place)| wrong(format!("`{member}` of a project's file lets nobody in"), place, help)).collect()
}

/// A project's audience that the user's own file does not have.
pub(super) fn no_new_audience(entry: &AudienceEntry) -> Finding {
    let message = format!("a project's file cannot add the audience `{}` to those of your own file", entry.name);
    let help = "it can only narrow audiences that your own file has: take it out here, or put it into your own file";
    wrong(message, &entry.place, help)
}

fn reaches_further(http: &HttpOptions, place: &Place) -> Finding {
    let message = format!("others reach {}, and what a project's file says of tokens does not count there", http.address);
    let help = "put tokens or an authorization server into your own file, listen on 127.0.0.1, or say `--open` if anybody may come in";
    wrong(message, place, help)
}

fn wrong(message: impl Into<String>, place: &Place, help: impl Into<String>) -> Finding {
    Finding::error(code::BAD_VALUE, message).at(&place.source, place.span.clone(), "").help(help).owner(Owner::Serve)
}

fn only_yours(member: &str, place: &Place) -> Finding {
    let help =
        format!("who may call is yours to say: put `serve.{member}` into your own file (`toolwright` reads it beside the project's)");
    wrong(format!("`{member}` of a project's file lets nobody in"), place, help)
}

fn tokens(audiences: &[&AudienceEntry], http: &mut HttpOptions, findings: &mut Vec<Finding>) {
    let mut known: Vec<(&str, &str, &str)> = Vec::new();
    for audience in audiences {
        for (principal, token, place) in &audience.tokens {
            let secret = token.expose();
            if let Some((_, other, whose)) = known.iter().find(|(text, _, _)| *text == secret) {
                let message = format!("`{principal}` of `{}` has the same token as `{whose}` of `{other}`", audience.name);
                findings.push(wrong(message, place, "give each a token of its own, so that it is known who calls"));
                continue;
            }
            known.push((secret, &audience.name, principal));
            match Token::new(secret, principal.as_str(), key(&audience.name)) {
                Ok(token) => http.access.tokens.push(token),
                Err(why) => findings.push(wrong(format!("the token of `{principal}` cannot be used"), place, why.to_string())),
            }
        }
    }
}

fn oauth(entry: &OAuthEntry, audiences: &[&AudienceEntry], findings: &mut Vec<Finding>) -> Option<OAuth> {
    let keys = match &entry.keys {
        Keys::Address(address) => KeySource::Url(address.clone()),
        Keys::File(path) => KeySource::File(path.clone()),
    };
    let mut oauth = OAuth::new(entry.resource.as_str(), entry.issuer.as_str(), keys);
    if !entry.authorization_servers.is_empty() {
        oauth.authorization_servers.clone_from(&entry.authorization_servers);
    }
    let (known, unknown): (Vec<_>, Vec<_>) =
        entry.algorithms.iter().map(|(name, place)| (Algorithm::parse(name), name, place)).partition(|(algorithm, ..)| algorithm.is_some());
    for (_, name, place) in &unknown {
        let names = Algorithm::ALL.map(Algorithm::name);
        let help = did_you_mean(name, names).unwrap_or_else(|| format!("it is one of {}", names.join(", ")));
        findings.push(wrong(format!("`{name}` is no way to sign a token that counts here"), place, help));
    }
    if !entry.algorithms.is_empty() {
        oauth.algorithms = known.into_iter().filter_map(|(algorithm, ..)| algorithm).collect();
    }
    oauth.accepted_audiences.clone_from(&entry.accepted_audiences);
    oauth.scopes_required.clone_from(&entry.required_scopes);
    oauth.leeway = entry.leeway.unwrap_or(oauth.leeway);
    oauth.scopes = audiences.iter().flat_map(|audience| audience.scopes.iter().map(|scope| (scope.clone(), key(&audience.name)))).collect();
    if let [problem, ..] = oauth.problems().as_slice() {
        findings.push(wrong(problem.as_str(), &entry.place, "mend it, or take `oauth` out"));
    }
    unknown.is_empty().then_some(oauth)
}

/// Scopes are words of an authorization server: without one, nobody has any.
fn scopes_without_server(audiences: &[&AudienceEntry]) -> Option<Finding> {
    let audience = audiences.iter().find(|audience| !audience.scopes.is_empty())?;
    let message = format!("the audience `{}` has scopes, and there is no authorization server", audience.name);
    Some(wrong(message, &audience.place, "say which one under `serve.oauth`, or give the audience `tokens`"))
}

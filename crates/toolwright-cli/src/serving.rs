//! What `serve` offers, and how it is reached: from what the files and the command line say.
//!
//! A project's file may narrow what clients see, and never opens a door: to which networks and to which web pages the server
//! listens is the user's to say. So is who comes in and what they see, as soon as the user's own file says anything of it; where it
//! says nothing, a project's file can divide what everybody on this machine could reach anyway.

use std::collections::BTreeMap;
use std::net::SocketAddr;

use toolwright::Text;
use toolwright_mcp::server::{ApprovalAsking, Audience, HttpOptions, Profile, ServerLimits, ServerOptions};

use crate::args::{SeenArgs, ServeArgs};
use crate::code;
use crate::config::serve::{AudienceEntry, LimitsEntry, ServeEntry, nearest, parse_address};
use crate::config::{Config, Layer};
use crate::diagnostic::{Finding, Owner, Severity};

mod door;

/// The name in the file of the audience of those that have no other.
pub(crate) const DEFAULT: &str = "default";

/// Where `serve --http` listens when nobody says where.
const ADDRESS: ([u8; 4], u16) = ([127, 0, 0, 1], 8765);

/// What `serve` offers, and how it is reached.
#[derive(Debug)]
pub(crate) struct Serving {
    /// Who sees what; the default audience has the empty name.
    pub(crate) audiences: BTreeMap<Text, Audience>,
    name: Option<String>,
    instructions: Option<String>,
    limits: LimitsEntry,
    /// Whether the user's own file says who may come in or who sees what.
    fenced: bool,
    /// Whether it is a project's file that says by what clients are known over HTTP.
    pub(crate) projects_door: bool,
}

/// Who is asked for approvals while the server runs. What one file says strictly, no other makes milder.
pub(crate) fn approvals(config: &Config) -> ApprovalAsking {
    let sections = Sections::of(config);
    let said = || sections.0.iter().map(|(section, _)| section.approvals);
    ApprovalAsking {
        client: said().all(|said| said.client != Some(false)),
        later: said().all(|said| said.later != Some(false)),
        expires: said().filter_map(|said| said.expires).min().unwrap_or(ApprovalAsking::default().expires),
    }
}

/// What the files say about serving, the user's first.
struct Sections<'c>(Vec<(&'c ServeEntry, Layer)>);

impl<'c> Sections<'c> {
    fn of(config: &'c Config) -> Self {
        Self(config.files.iter().filter_map(|file| Some((file.serve.as_ref()?, file.layer))).collect())
    }

    /// What is said first: the user's word before the project's.
    fn first<T>(&self, said: impl Fn(&'c ServeEntry) -> Option<T>) -> Option<T> {
        self.0.iter().find_map(|(section, _)| said(section))
    }

    /// What the files of this layer say.
    fn of_layer(&self, wanted: Layer) -> impl Iterator<Item = &'c ServeEntry> {
        self.0.iter().filter(move |(_, layer)| *layer == wanted).map(|(section, _)| *section)
    }

    /// Whether the user's own file says who may come in or who sees what: then no other file adds to it.
    fn fenced(&self) -> bool {
        self.of_layer(Layer::User)
            .any(|section| !section.audiences.is_empty() || section.oauth.is_some() || section.audience_header.is_some())
    }

    /// The files that say who there is: the user's own, or a project's where the user's says nothing of it.
    fn deciding(&self) -> Layer {
        if self.fenced() { Layer::User } else { Layer::Project }
    }

    /// Every audience that there is, as it stands in the file that decides.
    fn audiences(&self) -> Vec<&'c AudienceEntry> {
        self.of_layer(self.deciding()).flat_map(|section| &section.audiences).collect()
    }

    /// Makes the user's audiences as narrow as the project's of the same names.
    ///
    /// # Errors
    /// A finding for each audience of the project that the user does not have.
    fn narrow(&self, audiences: &mut BTreeMap<Text, Audience>) -> Result<(), Vec<Finding>> {
        if !self.fenced() {
            return Ok(());
        }
        let mut findings = Vec::new();
        for entry in self.of_layer(Layer::Project).flat_map(|section| &section.audiences) {
            match audiences.get_mut(&key(&entry.name)) {
                Some(known) => *known = std::mem::take(known).narrowed(&entry.audience),
                None => findings.push(door::no_new_audience(entry)),
            }
        }
        if findings.is_empty() { Ok(()) } else { Err(findings) }
    }
}

/// The name of an audience as the server has it: that of the default one is empty.
fn key(name: &str) -> Text {
    if name == DEFAULT { Text::new() } else { name.into() }
}

impl Serving {
    /// Who sees what, with what the command line says about it.
    ///
    /// # Errors
    /// Everything that is wrong with it.
    pub(crate) fn of(config: &Config, seen: &SeenArgs) -> Result<Self, Vec<Finding>> {
        let wrong: Vec<Finding> = config
            .findings
            .iter()
            .filter(|finding| finding.severity == Severity::Error && finding.owner == Owner::Serve)
            .map(|finding| finding.clone().map_text(|text| config.secrets.mask(text)))
            .collect();
        // Half a fence is none.
        if !wrong.is_empty() || config.files.iter().filter_map(|file| file.serve.as_ref()).any(|serve| serve.broken) {
            return Err(wrong);
        }
        let sections = Sections::of(config);
        let profile = seen.profile.as_deref().and_then(Profile::named);
        let general = sections.first(|section| section.profile.clone());
        let formed = |audience: &Audience| {
            let mut audience = audience.clone();
            audience.profile = profile.clone().or(audience.profile).or_else(|| general.clone());
            audience
        };
        let entries = sections.audiences();
        let mut audiences: BTreeMap<Text, Audience> = entries.iter().map(|entry| (key(&entry.name), formed(&entry.audience))).collect();
        if entries.is_empty() {
            audiences.insert(Text::new(), formed(&Audience::default()));
        }
        sections.narrow(&mut audiences)?;
        if let Some(name) = &seen.audience {
            let Some(audience) = audiences.get(&key(name)).cloned() else { return Err(vec![no_audience(name, &entries)]) };
            audiences.insert(Text::new(), audience);
        }
        Ok(Self {
            audiences,
            name: sections.first(|section| section.name.clone()),
            instructions: sections.first(|section| section.instructions.clone()),
            limits: sections.first(|section| Some(section.limits)).unwrap_or_default(),
            fenced: sections.fenced(),
            projects_door: !sections.fenced() && sections.of_layer(Layer::Project).any(door::has_one),
        })
    }

    /// The audience of those that have no other.
    ///
    /// # Errors
    /// When there is none: then the command line has to name one.
    pub(crate) fn default_audience(&self) -> Result<&Audience, Box<Finding>> {
        self.audiences.get("").ok_or_else(|| {
            let names: Vec<String> = self.audiences.keys().map(|name| format!("`{name}`")).collect();
            let message = "the configuration has audiences, and none of them is for clients that have no other";
            let help = format!("name the one that this client belongs to with `--audience`: {}; or call one `{DEFAULT}`", names.join(", "));
            Box::new(Finding::error(code::USAGE, message).help(help))
        })
    }

    /// Whether clients can be offered this where they came in by a door that stands since the start.
    ///
    /// # Errors
    /// When a project's file made that door, and the user's own file now says who may come in: the door would count for it.
    pub(crate) fn behind(&self, projects_door: bool) -> Result<(), Box<Finding>> {
        if !projects_door || !self.fenced {
            return Ok(());
        }
        let message = "your own file now says who may come in, and a server that runs keeps what a project's file said of it at the \
                       start: start `toolwright serve` anew";
        Err(Box::new(Finding::error(code::BAD_VALUE, message).owner(Owner::Serve)))
    }

    /// What the server is.
    pub(crate) fn options(&self) -> ServerOptions {
        let mut options = ServerOptions::new(self.name.as_deref().unwrap_or("toolwright"), env!("CARGO_PKG_VERSION"));
        options.instructions = self.instructions.as_deref().map(Text::from);
        options.limits = limits(self.limits);
        options
    }

    /// How clients reach it over HTTP.
    ///
    /// # Errors
    /// Everything that is wrong with that.
    pub(crate) fn http(&self, config: &Config, args: &ServeArgs) -> Result<HttpOptions, Vec<Finding>> {
        let sections = Sections::of(config);
        let mut findings = Vec::new();
        let address = address(&sections, args.http.as_deref().unwrap_or_default(), &mut findings);
        let mut http = HttpOptions::new(address);
        http.open = args.open;
        door::open(&sections, &mut http, &mut findings);
        if !findings.is_empty() {
            return Err(findings);
        }
        let place = sections.0.first().map(|(section, _)| &section.place);
        findings.extend(http.problems().into_iter().map(|problem| {
            let finding = Finding::error(code::BAD_VALUE, problem).owner(Owner::Serve);
            place.into_iter().fold(finding, |finding, place| finding.at(&place.source, place.span.clone(), ""))
        }));
        // With nothing to tell clients apart by, all of them have the default audience.
        let known = http.access.asks() || http.access.audience_header.is_some();
        if !known && let Err(finding) = self.default_audience() {
            findings.push(*finding);
        }
        if findings.is_empty() { Ok(http) } else { Err(findings) }
    }
}

fn no_audience(name: &str, entries: &[&AudienceEntry]) -> Finding {
    let names = entries.iter().map(|entry| entry.name.as_str());
    let help = nearest(name, names.clone()).unwrap_or_else(|| {
        let names: Vec<String> = names.map(|name| format!("`{name}`")).collect();
        match names.as_slice() {
            [] => "the configuration has none: name it under `serve.audiences`".to_owned(),
            names => format!("there are {}", names.join(", ")),
        }
    });
    Finding::error(code::USAGE, format!("there is no audience `{name}`")).help(help)
}

/// Where to listen: the command line's word, else that of the files.
fn address(sections: &Sections<'_>, given: &str, findings: &mut Vec<Finding>) -> SocketAddr {
    if !given.is_empty() {
        return parse_address(given).unwrap_or_else(|help| {
            findings.push(Finding::error(code::USAGE, format!("`{given}` is no address to listen on")).help(help));
            SocketAddr::from(ADDRESS)
        });
    }
    for (section, layer) in &sections.0 {
        let Some((address, place)) = &section.listen else { continue };
        if *layer == Layer::Project && !address.ip().is_loopback() {
            let finding = Finding::error(code::BAD_VALUE, "a project's file can only listen on this machine")
                .at(&place.source, place.span.clone(), "reaches further")
                .help(format!("who may reach it is yours to say: `toolwright serve --http {address}`, or `serve.listen` in your own file"))
                .owner(Owner::Serve);
            findings.push(finding);
        }
        return *address;
    }
    SocketAddr::from(ADDRESS)
}

fn limits(given: LimitsEntry) -> ServerLimits {
    let mut limits = ServerLimits::default();
    let bytes = |bytes: Option<u64>, usual: usize| bytes.map_or(usual, |bytes| usize::try_from(bytes).unwrap_or(usize::MAX));
    limits.message_bytes_max = bytes(given.message, limits.message_bytes_max);
    limits.replay_bytes_max = bytes(given.replay, limits.replay_bytes_max);
    limits.page_items = given.page_items.unwrap_or(limits.page_items);
    limits.sessions_max = given.sessions.unwrap_or(limits.sessions_max);
    limits.calls_per_client_max = given.calls_per_client.unwrap_or(limits.calls_per_client_max);
    limits.session_idle = given.session_idle.unwrap_or(limits.session_idle);
    limits.call_kept = given.call_kept.unwrap_or(limits.call_kept);
    limits.stop_grace = given.stop_grace.unwrap_or(limits.stop_grace);
    limits
}

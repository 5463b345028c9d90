//! Tools that sources offer: command lines as they stand, MCP servers as they answer, both with
//! what the host says about them.

use toolwright::ToolDef;
use toolwright_mcp::upstream::{Listing, Upstream, UpstreamError};

use super::upstreams::{Asked, ask};
use super::{Build, UnknownSource, broken, why};
use crate::code;
use crate::config::reader::Place;
use crate::config::source::{CommandEntry, ServerEntry, Source, SourceKind, TransportEntry};
use crate::config::tool::ToolEntry;
use crate::diagnostic::{Finding, Owner, did_you_mean};
use crate::view::{SourceView, Why};
use crate::wire;

impl Build<'_> {
    /// Registers every tool of every source, in the order of the files.
    pub(super) async fn leaves(&mut self, asked: &impl Fn(&str) -> bool) -> Vec<Upstream> {
        let config = self.config;
        let servers = config.sources.iter().filter_map(|source| match &source.kind {
            SourceKind::Server(server) if asked(&source.name) => Some((source, server)),
            _ => None,
        });
        let specs = servers.map(|(source, server)| wire::server(config, source, server));
        let mut answers = ask(specs.collect()).await.into_iter();
        let mut upstreams = Vec::new();
        for source in &config.sources {
            match &source.kind {
                SourceKind::Commands(tools) => self.commands(source, tools),
                SourceKind::Server(server) if asked(&source.name) => {
                    if let Some(Asked { upstream, answer }) = answers.next() {
                        self.server(source, server, answer);
                        upstreams.push(upstream);
                    }
                }
                SourceKind::Server(server) => self.not_asked(source, server),
                SourceKind::Off { tools, prefix, disabled } => {
                    self.off(source, tools, prefix.as_deref(), *disabled);
                }
            }
        }
        upstreams
    }

    fn commands(&mut self, source: &Source, tools: &[CommandEntry]) {
        self.sources.push(SourceView {
            name: source.name.clone(),
            kind: "command".to_owned(),
            why: None,
            skipped: Vec::new(),
        });
        for entry in tools {
            match wire::command(source, entry) {
                Ok(tool) => self.leaf(&tool, &entry.place, source),
                Err(findings) => {
                    let reason = findings.first().map(why);
                    self.findings.extend(findings);
                    self.unusable(&entry.id, &entry.description, source, "command", reason);
                }
            }
        }
        self.broken_tools(source, tools);
    }

    /// Tools that the file describes and that could not be read stay visible.
    fn broken_tools(&mut self, source: &Source, read: &[CommandEntry]) {
        for id in &source.described {
            if !read.iter().any(|tool| tool.id == *id) {
                let reason = self.error_of(&Owner::Tool(id.clone()));
                self.unusable(id, "", source, "command", reason);
            }
        }
    }

    fn off(&mut self, source: &Source, tools: &[String], prefix: Option<&str>, disabled: bool) {
        let reason = match disabled {
            true => Some(Why {
                code: code::SOURCE_UNAVAILABLE.to_owned(),
                message: format!("the source `{}` is disabled in the file", source.name),
                help: None,
            }),
            false => self.error_of(&Owner::Source(source.name.clone())),
        };
        for id in tools {
            let own = self.error_of(&Owner::Tool(id.clone()));
            self.unusable(id, "", source, "command", own.or_else(|| reason.clone()));
        }
        self.sources.push(SourceView {
            name: source.name.clone(),
            kind: if prefix.is_some() { "mcp" } else { "command" }.to_owned(),
            why: reason.clone(),
            skipped: Vec::new(),
        });
        if let Some(prefix) = prefix {
            self.unknown.push(UnknownSource {
                name: source.name.clone(),
                prefix: prefix.to_owned(),
                why: reason,
            });
        }
    }

    fn not_asked(&mut self, source: &Source, server: &ServerEntry) {
        self.unknown.push(UnknownSource {
            name: source.name.clone(),
            prefix: server.prefix.clone(),
            why: None,
        });
    }

    fn server(
        &mut self,
        source: &Source,
        server: &ServerEntry,
        answer: Result<Listing, UpstreamError>,
    ) {
        let kind = match server.transport {
            TransportEntry::Stdio { .. } => "mcp-stdio",
            TransportEntry::Http { .. } => "mcp-http",
        };
        let mut view = SourceView {
            name: source.name.clone(),
            kind: kind.to_owned(),
            why: None,
            skipped: Vec::new(),
        };
        match answer {
            Ok(listing) => {
                for skipped in &listing.skipped {
                    let name = skipped.name.to_string();
                    view.skipped.push((name, skipped.reason.clone()));
                    self.findings.push(skipped_finding(source, &skipped.name, &skipped.reason));
                }
                for warning in &listing.warnings {
                    self.findings.push(
                        Finding::warning(code::TOOL_SKIPPED, warning.as_str())
                            .at(&source.place.source, source.place.span.clone(), "")
                            .owner(Owner::Source(source.name.clone())),
                    );
                }
                for tool in &listing.tools {
                    self.leaf(tool, &source.place, source);
                }
            }
            Err(error) => {
                let message = format!("the source `{}` is not there: {error}", source.name);
                let finding = Finding::error(code::SOURCE_UNAVAILABLE, message)
                    .at(&source.place.source, source.place.span.clone(), "")
                    .maybe_help(error.help)
                    .owner(Owner::Source(source.name.clone()))
                    .map_text(|text| source.secrets.mask(text));
                view.why = Some(why(&finding));
                self.unknown.push(UnknownSource {
                    name: source.name.clone(),
                    prefix: server.prefix.clone(),
                    why: view.why.clone(),
                });
                self.findings.push(finding);
            }
        }
        self.sources.push(view);
    }

    /// Registers one tool with what the host says about it.
    fn leaf(&mut self, tool: &ToolDef, place: &Place, source: &Source) {
        let config = self.config;
        let id = tool.id().to_owned();
        let said = config.tools.iter().find(|entry| entry.id == id);
        let changed = match said {
            Some(said) => changed(tool, said),
            None => Ok(tool.clone()),
        };
        // Half a word of the host is none: a tool with a mistake in its entry is not offered.
        let mistake = self.error_of(&Owner::Tool(id.clone()));
        let tool = match (changed, mistake) {
            (Ok(tool), None) => tool,
            (Ok(tool), Some(reason)) => {
                let mut view = super::views::of(&tool, &source.name, self.config);
                view.state = broken(reason);
                self.views.push(view);
                return;
            }
            (Err(finding), _) => {
                let reason = Some(why(&finding));
                self.findings.push(*finding);
                let kind = tool.origin().map(|origin| origin.kind.to_string());
                let kind = kind.unwrap_or_default();
                self.unusable(&id, tool.description(), source, &kind, reason);
                return;
            }
        };
        let place = said
            .and_then(|said| said.name.as_ref().map(|(_, place)| place))
            .unwrap_or(place);
        if self.is_taken(tool.name(), place, &Owner::Tool(id.clone())) {
            return;
        }
        let mut view = super::views::of(&tool, &source.name, self.config);
        match self.registry.register(tool.clone()) {
            Ok(_) => self.tools.push(tool),
            Err(error) => {
                for issue in &error.issues {
                    let message = format!("`{id}`: {}", issue.message);
                    let finding = Finding::error(issue.code, message)
                        .at(&place.source, place.span.clone(), "")
                        .maybe_help(issue.help.clone())
                        .owner(Owner::Tool(id.clone()));
                    view.state = broken(why(&finding));
                    self.findings.push(finding);
                }
            }
        }
        self.views.push(view);
    }

    /// A tool that cannot be called stays visible.
    fn unusable(
        &mut self,
        id: &str,
        description: &str,
        source: &Source,
        kind: &str,
        reason: Option<Why>,
    ) {
        let mut view = super::views::nothing(id, description, &source.name, kind);
        let reason = reason.unwrap_or_else(|| Why {
            code: code::BAD_VALUE.to_owned(),
            message: "its definition does not check".to_owned(),
            help: None,
        });
        view.state = broken(reason);
        self.views.push(view);
    }

    /// Whether another tool has this id; then both places are shown and the first one stays.
    pub(super) fn is_taken(&mut self, id: &str, place: &Place, owner: &Owner) -> bool {
        let Some(first) = self.places.get(id).cloned() else {
            self.places.insert(id.to_owned(), place.clone());
            return false;
        };
        let help = "a tool is never replaced by another of its name: rename one, with another `prefix`, or with \
                    `name` under `tools`";
        self.findings.push(
            Finding::error(code::DUPLICATE_ID, format!("two tools have the id `{id}`"))
                .at(&place.source, place.span.clone(), "again here")
                .at(&first.source, first.span, "first here")
                .help(help)
                .owner(owner.clone()),
        );
        true
    }

    /// Entries under `tools` that speak about no tool.
    pub(super) fn overrides_of_nothing(&mut self) {
        let mut findings = Vec::new();
        for entry in &self.config.tools {
            let known = self.view(entry.final_id()).is_some()
                || self.view(&entry.id).is_some()
                || self.could_come_from(&entry.id).is_some();
            if known {
                continue;
            }
            let composite = self.config.composites.iter().any(|c| c.id == entry.id);
            let finding = match composite {
                true => Finding::error(
                    code::UNKNOWN_TOOL,
                    format!("`{}` is a composite, which says everything itself", entry.id),
                )
                .help("`tools` speaks about tools of sources; a composite's effect is derived from its steps"),
                false => Finding::error(
                    code::UNKNOWN_TOOL,
                    format!("no source offers a tool `{}`", entry.id),
                )
                .maybe_help(did_you_mean(&entry.id, self.ids())),
            };
            let finding = finding
                .at(&entry.place.source, entry.place.span.clone(), "")
                .owner(Owner::Tool(entry.id.clone()));
            findings.push(finding);
        }
        self.findings.extend(findings);
    }

    /// Names in `policy` that no tool has: a slip of the pen there grants nothing, and should be known.
    pub(super) fn policy_of_nothing(&mut self) {
        let mut findings = Vec::new();
        let listed = self.config.files.iter().flat_map(|file| &file.policy);
        for (tool, place) in listed.flat_map(|policy| &policy.tools) {
            let known = self.ids().contains(&tool.as_str()) || self.could_come_from(tool).is_some();
            if !known {
                let message = format!("no tool has the id `{tool}`");
                let finding = Finding::warning(code::UNKNOWN_TOOL, message)
                    .at(&place.source, place.span.clone(), "")
                    .maybe_help(did_you_mean(tool, self.ids()));
                findings.push(finding);
            }
        }
        self.findings.extend(findings);
    }
}

/// The tool with what the host says about it.
fn changed(tool: &ToolDef, said: &ToolEntry) -> Result<ToolDef, Box<Finding>> {
    let mut tool = tool.clone();
    if let Some(pinned) = wire::pinned(&said.pin).filter(|pinned| !pinned.is_empty()) {
        tool = tool.with_pinned(pinned).map_err(|error| {
            let message = format!("the arguments of `{}` cannot be fixed: {error}", said.id);
            Box::new(
                Finding::error(code::BAD_VALUE, message)
                    .at(&said.place.source, said.place.span.clone(), "")
                    .owner(Owner::Tool(said.id.clone())),
            )
        })?;
    }
    if let Some(effect) = &said.effect {
        tool = tool.with_effect(effect.clone());
    }
    if let Some(description) = &said.description {
        tool = tool.with_description(description.as_str());
    }
    if let Some((name, _)) = &said.name {
        tool = tool.renamed(name.as_str());
    }
    Ok(if said.hidden { tool.with_hidden(true) } else { tool })
}

fn skipped_finding(source: &Source, name: &str, reason: &str) -> Finding {
    let message = format!("the source `{}` offers `{name}`, which cannot be used: {reason}", source.name);
    Finding::warning(code::TOOL_SKIPPED, message)
        .at(&source.place.source, source.place.span.clone(), "")
        .help("the other tools of the source are there")
        .owner(Owner::Source(source.name.clone()))
}

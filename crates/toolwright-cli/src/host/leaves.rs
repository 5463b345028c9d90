//! Tools that sources offer: command lines as they stand, MCP servers as they answer, both with
//! what the host says about them.

use toolwright::wiring::{Verdict, compare};
use toolwright::{ToolDef, Value};
use toolwright_mcp::upstream::{Changed, Listing};

use super::layers::narrowed;
use super::needs::Needs;
use super::servers::{Known, Opening, Server, known};
use super::{Build, UnknownSource, broken, why};
use crate::code;
use crate::config::reader::Place;
use crate::config::source::{CommandEntry, ServerEntry, Source, SourceKind, StdoutForm, TransportEntry};
use crate::config::tool::ToolEntry;
use crate::config::yaml::Node;
use crate::diagnostic::{Finding, Owner, did_you_mean};
use crate::view::{SourceView, State, Why};
use crate::wire;

impl Build<'_> {
    /// Keeps every tool of every source, in the order of the files.
    pub(super) async fn leaves(&mut self, how: &Opening<'_>, needed: Option<&Needs>) -> Vec<Server> {
        let config = self.config;
        let (known, servers) = known(config, how, needed).await;
        let mut known = known.into_iter();
        for source in &config.sources {
            match &source.kind {
                SourceKind::Commands(tools) => self.commands(source, tools),
                SourceKind::Server(server) => match known.next().unwrap_or(Known::NotAsked) {
                    Known::NotAsked => self.not_asked(source, server),
                    known => self.server(source, server, known),
                },
                SourceKind::Off { tools, prefix, disabled, commands } => {
                    for entry in commands {
                        self.findings.extend(wire::command(source, entry).err().unwrap_or_default());
                    }
                    self.off(source, tools, prefix.as_deref(), *disabled);
                }
            }
        }
        servers
    }

    fn commands(&mut self, source: &Source, tools: &[CommandEntry]) {
        self.sources.push(SourceView { name: source.name.clone(), kind: "command".to_owned(), why: None, skipped: Vec::new() });
        for entry in tools {
            match wire::command(source, entry) {
                Ok(tool) => {
                    self.findings.extend(never_given(entry));
                    self.leaf(&tool, &entry.place, source);
                }
                Err(findings) => {
                    let reason = findings.first().map(why);
                    self.findings.extend(findings);
                    self.unusable(&entry.id, &entry.description, source, "command", reason);
                    self.as_written(entry);
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
            self.unknown.push(UnknownSource { name: source.name.clone(), prefix: prefix.to_owned(), why: reason });
        }
    }

    fn not_asked(&mut self, source: &Source, server: &ServerEntry) {
        self.unknown.push(UnknownSource { name: source.name.clone(), prefix: server.prefix.clone(), why: None });
    }

    fn server(&mut self, source: &Source, server: &ServerEntry, known: Known) {
        let kind = match server.transport {
            TransportEntry::Stdio { .. } => "mcp-stdio",
            TransportEntry::Http { .. } => "mcp-http",
        };
        let mut view = SourceView { name: source.name.clone(), kind: kind.to_owned(), why: None, skipped: Vec::new() };
        match known {
            Known::Tools { listing, changed } => self.listed(source, server, listing, &changed, &mut view),
            // It was told with its place in the lock.
            Known::Blocked(why) => view.why = Some(why),
            Known::NotAsked => {}
            Known::Silent(error) => {
                let message = format!("the source `{}` is not there: {error}", source.name);
                let finding = Finding::error(code::SOURCE_UNAVAILABLE, message)
                    .at(&source.place.source, source.place.span.clone(), "")
                    .maybe_help(error.help)
                    .owner(Owner::Source(source.name.clone()))
                    .map_text(|text| source.secrets.mask(text));
                view.why = Some(why(&finding));
                self.findings.push(finding);
            }
        }
        if view.why.is_some() {
            self.unknown.push(UnknownSource { name: source.name.clone(), prefix: server.prefix.clone(), why: view.why.clone() });
        }
        self.sources.push(view);
    }

    /// What a server offers; what of it is not what was accepted stays visible.
    fn listed(&mut self, source: &Source, server: &ServerEntry, listing: Listing, changed: &[Changed], view: &mut SourceView) {
        for skipped in &listing.skipped {
            view.skipped.push((skipped.name.to_string(), skipped.reason.clone()));
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
            let name = tool.origin().map(|origin| origin.name.as_str()).unwrap_or_default();
            if let Some(changed) = changed.iter().find(|changed| changed.tool == *name) {
                let id = tool.id();
                self.findings.push(withheld_finding(source, id, changed));
            }
            self.leaf(tool, &source.place, source);
        }
        let known = |name: &str| listing.raw.iter().any(|raw| raw.get("name").and_then(Value::as_str) == Some(name));
        for new in changed.iter().filter(|changed| !changed.gone && !known(&changed.tool)) {
            let id = format!("{}{}", server.prefix, new.tool);
            self.findings.push(withheld_finding(source, &id, new));
            self.unusable(&id, "", source, &view.kind, None);
            self.withhold(&id);
        }
        self.offered.push((source.name.clone(), listing.raw));
    }

    /// Says of the tool that was just kept why it is withheld.
    fn withhold(&mut self, id: &str) {
        let owner = Owner::Tool(id.to_owned());
        let told = |finding: &&Finding| finding.code == code::CATALOG_CHANGED && finding.owner == owner;
        let reason = self.findings.iter().find(told).map(why);
        if let (Some(reason), Some(view)) = (reason, self.views.last_mut()) {
            view.state = State::Withheld(reason);
        }
    }

    /// Keeps one tool with what the host says about it; it is registered once all are known.
    fn leaf(&mut self, tool: &ToolDef, place: &Place, source: &Source) {
        let config = self.config;
        let id = tool.id().to_owned();
        let said = self.said.about(source, &id);
        let changed = said.iter().try_fold(tool.clone(), |tool, said| match config.may_speak(source, said) {
            true => changed(&tool, said).map_err(|finding| vec![*finding]),
            false => narrowed(config, &tool, source, said),
        });
        let tool = match changed {
            Ok(tool) => tool,
            Err(findings) => {
                let reason = findings.first().map(why);
                self.findings.extend(findings);
                let kind = tool.origin().map(|origin| origin.kind.to_string());
                let kind = kind.unwrap_or_default();
                self.unusable(&id, tool.description(), source, &kind, reason);
                return;
            }
        };
        let (tool, learned) = self.learned(tool, source);
        let mut view = super::views::of(&tool, &source.name, self.said.title(tool.id()));
        view.learned = learned;
        let renamed = said.iter().rev().find_map(|said| said.name.as_ref().map(|(_, place)| place));
        let owner = Owner::Tool(id);
        self.claim(tool.name(), renamed.unwrap_or(place), &owner);
        // Half a word of the host is none: a tool with a mistake in its entry is not offered.
        if let Some(reason) = self.error_of(&owner) {
            view.state = match reason.code == code::CATALOG_CHANGED {
                true => State::Withheld(reason),
                false => broken(reason),
            };
        }
        let speaks = said.iter().rev().filter(|said| config.may_speak(source, said));
        let reconcile = speaks.filter_map(|said| said.reconcile.as_ref()).next();
        self.reconciles.extend(reconcile.map(|entry| (self.leaves.len(), entry)));
        self.leaves.push((tool, owner, self.views.len()));
        self.views.push(view);
    }

    /// Registers the tools of all sources, but none whose id is not its own.
    pub(super) fn register_leaves(&mut self) {
        for (tool, owner, at) in std::mem::take(&mut self.leaves) {
            let reason = match self.duplicate(tool.name()) {
                Some(reason) => Some(reason),
                None => self.register_leaf(&tool, &owner),
            };
            if let (Some(reason), Some(view)) = (reason, self.views.get_mut(at))
                && view.state == State::Ready
            {
                view.state = broken(reason);
            }
        }
    }

    fn register_leaf(&mut self, tool: &ToolDef, owner: &Owner) -> Option<Why> {
        if let Some(reason) = self.error_of(owner) {
            return Some(reason);
        }
        let error = match self.registry.register(tool.clone()) {
            Ok(_) => {
                self.tools.push(tool.clone());
                if let Some(command) = self.command(owner) {
                    let found = wrong_examples(tool, &command.node, &command.place, owner);
                    self.findings.extend(found);
                }
                return None;
            }
            Err(error) => error,
        };
        let claim = self.claims.get(tool.name()).and_then(|claims| claims.first());
        let place = claim.map(|(place, _)| place.clone());
        let described = self.command(owner);
        let mut findings = Vec::new();
        for issue in error.issues() {
            let message = format!("`{}`: {}", tool.name(), issue.message);
            let mut finding = Finding::error(issue.code, message).maybe_help(issue.help.clone()).owner(owner.clone());
            if let Some(place) = &place {
                let schema = described.and_then(|command| command.node.schema_place(&issue.message));
                finding = finding.at(&place.source, schema.unwrap_or_else(|| place.span.clone()), "");
            }
            findings.push(finding);
        }
        let reason = findings.first().map(why);
        self.findings.extend(findings);
        reason
    }

    /// The command line that a tool is, when it is one.
    fn command(&self, owner: &Owner) -> Option<&'_ CommandEntry> {
        let commands = self.config.sources.iter().filter_map(|source| match &source.kind {
            SourceKind::Commands(commands) => Some(commands),
            SourceKind::Server(_) | SourceKind::Off { .. } => None,
        });
        let Owner::Tool(id) = owner else { return None };
        commands.flatten().find(|command| command.id == *id)
    }

    /// Names of sources that are given twice, in one file or in two.
    pub(super) fn duplicate_sources(&mut self) {
        let sources = &self.config.sources;
        for (at, second) in sources.iter().enumerate() {
            let Some(first) = sources.iter().take(at).find(|first| first.name == second.name) else {
                continue;
            };
            self.findings.push(
                Finding::error(code::DUPLICATE_ID, format!("two sources are called `{}`", second.name))
                    .at(&second.place.source, second.place.span.clone(), "again here")
                    .at(&first.place.source, first.place.span.clone(), "first here")
                    .help("rename one of them; tools of an MCP source take its name as their prefix")
                    .owner(Owner::Source(second.name.clone())),
            );
        }
    }

    /// A tool that cannot be called stays visible.
    fn unusable(&mut self, id: &str, description: &str, source: &Source, kind: &str, reason: Option<Why>) {
        let mut view = super::views::nothing(id, description, &source.name, kind);
        let reason = reason.unwrap_or_else(|| Why {
            code: code::BAD_VALUE.to_owned(),
            message: "its definition does not check".to_owned(),
            help: None,
        });
        view.state = broken(reason);
        self.views.push(view);
    }

    /// What the file says of the tool that was just kept holds, whether the tool can be called or not.
    fn as_written(&mut self, entry: &CommandEntry) {
        if let Some(view) = self.views.last_mut() {
            view.title = entry.title.clone();
            view.effect = entry.effect.clone();
            view.effect_from = entry.effect.as_ref().map_or("", |_| "declared").to_owned();
            view.input = entry.input.clone();
            view.output = entry.output.clone();
        }
    }

    /// Says that something has this id.
    pub(super) fn claim(&mut self, id: &str, place: &Place, owner: &Owner) {
        let claims = self.claims.entry(id.to_owned()).or_default();
        claims.push((place.clone(), owner.clone()));
    }

    /// Ids that several things have: both places are shown, and none of them can be called, since
    /// nothing says which one is meant.
    pub(super) fn duplicates(&mut self) {
        let help = "a tool is never replaced by another of its name: rename one, with another `prefix`, or with \
                    `name` under `tools`";
        for (id, claims) in &self.claims {
            let Some(((first, first_owner), others)) = claims.split_first() else {
                continue;
            };
            for (place, owner) in others {
                let (message, label) = match first_owner {
                    Owner::Source(name) => (format!("the id `{id}` belongs to your source `{name}`"), "the source is here"),
                    _ => (format!("two tools have the id `{id}`"), "first here"),
                };
                let finding = Finding::error(code::DUPLICATE_ID, message)
                    .at(&place.source, place.span.clone(), "again here")
                    .at(&first.source, first.span.clone(), label)
                    .help(help);
                let owners = [owner, first_owner].into_iter();
                for owner in owners.filter(|owner| !matches!(owner, Owner::Source(_))) {
                    self.findings.push(finding.clone().owner(owner.clone()));
                }
            }
        }
    }

    /// The reason why an id that is not its own cannot be called.
    pub(super) fn duplicate(&self, id: &str) -> Option<Why> {
        let claims = self.claims.get(id).filter(|claims| claims.len() > 1)?;
        let mut of_ids = self.findings.iter().filter(|f| f.code == code::DUPLICATE_ID);
        of_ids.find(|finding| claims.iter().any(|(_, owner)| *owner == finding.owner)).map(why)
    }

    /// Entries under `tools` that speak about no tool.
    pub(super) fn overrides_of_nothing(&mut self) {
        let mut findings = Vec::new();
        for entry in &self.config.tools {
            let known =
                self.view(entry.final_id()).is_some() || self.view(&entry.id).is_some() || self.could_come_from(&entry.id).is_some();
            if known {
                continue;
            }
            let composite = self.config.composites.iter().any(|c| c.id == entry.id);
            let finding = match composite {
                true => Finding::error(code::UNKNOWN_TOOL, format!("`{}` is a composite, which says everything itself", entry.id))
                    .help("`tools` speaks about tools of sources; a composite's effect is derived from its steps"),
                false => Finding::error(code::UNKNOWN_TOOL, format!("no source offers a tool `{}`", entry.id))
                    .maybe_help(did_you_mean(&entry.id, self.ids())),
            };
            let finding = finding.at(&entry.place.source, entry.place.span.clone(), "").owner(Owner::Tool(entry.id.clone()));
            findings.push(finding);
        }
        self.findings.extend(findings);
    }

    /// Names behind `--allow` that no tool has.
    pub(super) fn allowed_of_nothing(&self) -> Vec<Finding> {
        let unknown =
            self.grants.allowed().iter().filter(|tool| !self.ids().contains(&tool.as_str()) && self.could_come_from(tool).is_none());
        let finding = |tool: &String| {
            let help = did_you_mean(tool, self.ids());
            Finding::error(code::USAGE, format!("`--allow` names `{tool}`, and no tool has that id"))
                .help(help.unwrap_or_else(|| "`toolwright list` shows the tools there are".to_owned()))
        };
        unknown.map(finding).collect()
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

/// Examples that do not fit the schemas of their tool: a model would learn it wrongly.
pub(super) fn wrong_examples(tool: &ToolDef, written: &Node, place: &Place, owner: &Owner) -> Vec<Finding> {
    let examples = written.get("examples");
    let finding = |issue: toolwright::SchemaIssue| {
        let which = if issue.pointer.split('/').nth(2) == Some("output") { "output" } else { "input" };
        let span = examples.map_or(&place.span, |examples| &examples.pointer(&issue.pointer).span);
        let message = format!("an example of `{}` does not fit its {which} schema: {}", tool.name(), issue.message);
        Finding::warning(code::INVALID_EXAMPLE, message)
            .at(&place.source, span.clone(), "")
            .help(format!("mend the example or the {which} schema: a model learns from both how to call the tool"))
            .owner(owner.clone())
    };
    tool.example_issues().into_iter().map(finding).collect()
}

/// An output schema that takes nothing of what the command's output is read as.
fn never_given(entry: &CommandEntry) -> Option<Finding> {
    let output = entry.output.as_ref()?;
    let text = || Value::object([("type", Value::from("string"))]);
    let (form, gives, read) = match entry.stdout {
        StdoutForm::Json => return None,
        StdoutForm::Text => ("text", "one text", text()),
        StdoutForm::Lines => ("lines", "a list of texts", Value::object([("type", Value::from("array")), ("items", text())])),
    };
    if !matches!(compare(&read, output), Verdict::CannotFit(_)) {
        return None;
    }
    let wants = match output.get("type").and_then(Value::as_str) {
        Some(kind) if !(kind == "string" && form == "text" || kind == "array" && form == "lines") => format!("`output` wants `{kind}`"),
        _ => "`output` never takes that".to_owned(),
    };
    let place = entry.node.entry("output").map_or(&entry.place.span, |output| &output.key_span);
    let finding =
        Finding::error("invalid_output", format!("`stdout: {form}` gives {gives}, and {wants}: no run of `{}` can end well", entry.id))
            .at(&entry.place.source, place.clone(), "")
            .owner(Owner::Tool(entry.id.clone()));
    Some(match output.as_bool() {
        Some(_) => finding.help("say what it gives, or leave `output` out"),
        None => finding.help("did you forget `stdout: json`? it reads what the program prints as JSON"),
    })
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

fn withheld_finding(source: &Source, id: &str, changed: &Changed) -> Finding {
    Finding::error(code::CATALOG_CHANGED, format!("`{id}` is withheld: {}", changed.why))
        .at(&source.place.source, source.place.span.clone(), "")
        .help("`toolwright diff` shows what is different, `toolwright lock` accepts it")
        .owner(Owner::Tool(id.to_owned()))
        .map_text(|text| source.secrets.mask(text))
}

fn skipped_finding(source: &Source, name: &str, reason: &str) -> Finding {
    let message = format!("the source `{}` offers `{name}`, which cannot be used: {reason}", source.name);
    Finding::warning(code::TOOL_SKIPPED, message)
        .at(&source.place.source, source.place.span.clone(), "")
        .help("the other tools of the source are there")
        .owner(Owner::Source(source.name.clone()))
}

//! `add`: puts an MCP server into the configuration. It is started first, and the change and what it offers are shown; what
//! does not start is not written.

mod entry;

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use futures_util::future::join_all;
use serde_json::json;
use toolwright::Value;
use toolwright_mcp::upstream::{Listing, Upstream};

use crate::amend::{self, Change, Form};
use crate::app::{App, add_locks};
use crate::args::{AddArgs, Format};
use crate::code;
use crate::config::Config;
use crate::config::source::{Source, SourceKind, Trust};
use crate::diagnostic::{Finding, Owner, Severity, SourceText};
use crate::exit::Exit;
use crate::interrupt::{leave_at_next, until_first};
use crate::lock::{self, Kept};
use crate::style::{cut, one_line};
use crate::view::effect_words;
use crate::wire;
use entry::Entry;

/// Adds one server, or those of another client's file.
pub(crate) async fn add(app: &App, args: &AddArgs) -> Exit {
    match added(app, args).await {
        Ok(exit) | Err(exit) => exit,
    }
}

/// The configuration that is to be changed.
struct Target {
    path: PathBuf,
    name: String,
    /// `None` when there is no file yet.
    before: Option<String>,
    after: String,
}

/// A server that was started, and what it offers.
struct Started<'c> {
    source: &'c Source,
    listing: Listing,
    capabilities: Value,
}

async fn added(app: &App, args: &AddArgs) -> Result<Exit, Exit> {
    let usage = |(message, help): (String, String)| app.fail(vec![Finding::error(code::USAGE, message).help(help)], Exit::Usage);
    let entries = match &args.import {
        None => vec![entry::of_words(args, is_program).map_err(usage)?],
        Some(file) => {
            let text = fs::read_to_string(file).map_err(|error| {
                usage((format!("`{}` cannot be read: {error}", file.display()), "name the file of a client".to_owned()))
            })?;
            let (entries, left) = entry::of_file(&text, &args.what, args.trust).map_err(usage)?;
            left.iter().for_each(|why| app.output.note(&format!("note: {}\n", one_line(why))));
            entries
        }
    };
    let entries = if args.import.is_none() { entries.into_iter().map(|entry| at_home(app, entry)).collect() } else { entries };
    let target = target(app, &entries)?;
    let config = config(app, &target, &entries)?;
    let sources: Vec<&Source> = config.sources.iter().filter(|source| entries.iter().any(|entry| entry.name == source.name)).collect();
    let started = match args.no_start {
        true => Vec::new(),
        false => started(app, &config, &sources).await?,
    };
    let change = Change { name: &target.name, before: target.before.as_deref().unwrap_or_default(), after: &target.after };
    if !args.yes {
        app.output.error(&change.shown(app.output.err, &config.secrets));
        started.iter().for_each(|started| app.output.error(&offers(app, &config, started)));
        amend::agreed(app)?;
    }
    amend::write(&target.path, target.before.as_deref(), &target.after).map_err(|why| {
        let finding = Finding::error(code::NOT_CHANGED, format!("`{}` was not changed: {why}", target.name));
        app.fail(vec![finding.help("nothing was written")], Exit::Usage)
    })?;
    let locked = !started.is_empty() && (args.lock || (!args.yes && accepted(app)));
    if locked {
        keep(app, &config, &target, &started)?;
    }
    Ok(done(app, &target, &entries, &started, locked))
}

/// Whether there is a program of that name in `PATH`.
fn is_program(name: &str) -> bool {
    let spec = toolwright_mcp::upstream::ServerSpec::stdio("looked-for", name, [""; 0]);
    Upstream::new(spec).lookup().is_some_and(|lookup| lookup.found.is_some())
}

/// A command runs where it was added, whatever folder a client starts us in: its arguments may be paths from there.
fn at_home(app: &App, entry: Entry) -> Entry {
    if entry.value.get("command").is_none() || entry.value.get("cwd").is_some() {
        return entry;
    }
    let path = app.project_path().unwrap_or_else(|| PathBuf::from("toolwright.yaml"));
    let folder = std::path::absolute(&path).ok().and_then(|path| path.parent().map(Path::to_owned));
    let (Some(folder), Ok(here)) = (folder, std::env::current_dir()) else { return entry };
    let folder = fs::canonicalize(&folder).unwrap_or(folder);
    let here = fs::canonicalize(&here).unwrap_or(here);
    let cwd = match here.strip_prefix(&folder) {
        Ok(below) if below.as_os_str().is_empty() => ".".to_owned(),
        Ok(below) => below.display().to_string(),
        Err(_) => here.display().to_string(),
    };
    let members = entry.value.as_object().into_iter().flat_map(|object| object.iter()).map(|(key, value)| (key.clone(), value.clone()));
    let value = Value::object(members.chain([(toolwright::Text::from("cwd"), Value::from(cwd))]));
    Entry { value, ..entry }
}

/// The file with the entries in it.
fn target(app: &App, entries: &[Entry]) -> Result<Target, Exit> {
    let path = app.project_path().unwrap_or_else(|| PathBuf::from("toolwright.yaml"));
    let name = path.display().to_string();
    let not_changed = |why: String| {
        let help = "nothing was written; put the entry in by hand, or mend the file first";
        app.fail(vec![Finding::error(code::NOT_CHANGED, format!("`{name}` was not changed: {why}")).help(help)], Exit::Usage)
    };
    if let Some(why) = crate::ownership::planted(&path).filter(|_| app.common.file.is_none()) {
        return Err(not_changed(format!("nobody named it, and {why}")));
    }
    let before = match fs::read_to_string(&path) {
        Ok(text) => Some(text),
        Err(error) if error.kind() == io::ErrorKind::NotFound => None,
        Err(error) => return Err(not_changed(error.to_string())),
    };
    let form = Form::of(&path);
    let mut after = before.clone().unwrap_or_default();
    for entry in entries {
        let root = form.read(&after).map_err(not_changed)?;
        let taken = |section: &str| root.as_ref().and_then(|root| root.get(section)?.get(&entry.name)).is_some();
        if taken("sources") || taken("mcpServers") {
            let finding = Finding::error(code::DUPLICATE_ID, format!("`{name}` has a source `{}` already", entry.name));
            return Err(app.fail(vec![finding.help("give this one another name with `--name`")], Exit::Usage));
        }
        after = form.set(&after, "sources", &entry.name, &entry.value).map_err(not_changed)?;
    }
    Ok(Target { path, name, before, after })
}

/// The configuration as it will be; mistakes in the new entries are told.
fn config(app: &App, target: &Target, entries: &[Entry]) -> Result<Config, Exit> {
    let text = SourceText::new(target.name.as_str(), target.after.as_str());
    let mut config = app.config_of(&target.path, &text).map_err(|finding| app.fail(vec![*finding], Exit::Usage))?;
    add_locks(&mut config);
    let new = |finding: &&Finding| match &finding.owner {
        Owner::Source(name) => entries.iter().any(|entry| entry.name == *name),
        // What was wrong before is not this command's affair; a file that cannot be read at all was told.
        _ => false,
    };
    let wrong = config.findings.iter().filter(|finding| finding.severity == Severity::Error).filter(new).cloned();
    let wrong: Vec<Finding> = wrong.map(|finding| finding.map_text(|text| config.secrets.mask(text))).collect();
    if wrong.is_empty() { Ok(config) } else { Err(app.fail(wrong, Exit::DoesNotCheck)) }
}

/// Starts the servers, asks them what they offer, and ends them again.
///
/// # Errors
/// When one does not start; that is told already.
async fn started<'c>(app: &App, config: &'c Config, sources: &[&'c Source]) -> Result<Vec<Started<'c>>, Exit> {
    let servers = sources.iter().filter_map(|source| match &source.kind {
        SourceKind::Server(entry) => Some((*source, Upstream::new(wire::server(config, source, entry)))),
        SourceKind::Commands(_) | SourceKind::Off { .. } => None,
    });
    let asked = join_all(servers.map(|(source, upstream)| async move {
        let answer = upstream.tools().await;
        let capabilities = upstream.capabilities();
        upstream.shutdown().await;
        (source, answer, capabilities)
    }));
    let asked = until_first(asked).await.ok_or_else(|| app.interrupted(Exit::Interrupted))?;
    leave_at_next();
    let (mut started, mut silent) = (Vec::new(), Vec::new());
    for (source, answer, capabilities) in asked {
        match answer {
            Ok(listing) => started.push(Started { source, listing, capabilities }),
            Err(error) => {
                let help = error.help.clone().map(|help| format!("{help}; ")).unwrap_or_default();
                let help = format!("{help}nothing was written; `--no-start` writes it without starting it");
                let finding =
                    Finding::error(code::SOURCE_UNAVAILABLE, format!("the source `{}` is not there: {error}", source.name)).help(help);
                silent.push(finding.map_text(|text| config.secrets.mask(text)));
            }
        }
    }
    if silent.is_empty() { Ok(started) } else { Err(app.fail(silent, Exit::ToolFailed)) }
}

/// Columns of a description that are shown.
const DESCRIPTION_COLUMNS_MAX: usize = 60;

/// What a server offers, and what it says that its tools do.
fn offers(app: &App, config: &Config, started: &Started<'_>) -> String {
    let style = app.output.err;
    let mut out = format!("{} offers:\n", style.bold(&one_line(&started.source.name)));
    for raw in &started.listing.raw {
        let text = |name: &str| raw.get(name).and_then(Value::as_str).unwrap_or_default();
        let effect = lock::claimed(raw).and_then(|effect| lock::effect_of(&effect));
        let effect = effect_words(effect.as_ref());
        let described = config.secrets.mask(&cut(&one_line(text("description")), DESCRIPTION_COLUMNS_MAX));
        out.push_str(&format!("  {}  {}  {}\n", one_line(text("name")), style.yellow(&effect), style.dim(&described)));
    }
    for skipped in &started.listing.skipped {
        out.push_str(&format!("  {}  left out: {}\n", one_line(&skipped.name), one_line(&config.secrets.mask(&skipped.reason))));
    }
    out.push('\n');
    out
}

fn accepted(app: &App) -> bool {
    app.output.error("keep what it says about its tools, so that a change of it is seen (toolwright.lock)?\n");
    crate::command::trust::asked(app) == Some(true)
}

/// Puts what the servers say into the lock; the rest of it stays.
fn keep(app: &App, config: &Config, target: &Target, started: &[Started<'_>]) -> Result<(), Exit> {
    let layer = |source: &Source| config.layer(&source.place);
    let Some(own) = started.first().map(|started| layer(started.source)) else { return Ok(()) };
    let fail = |why: String| {
        app.fail(vec![Finding::error(code::LOCK_UNUSABLE, why).help("the entry was written; `toolwright lock` says more")], Exit::Usage)
    };
    if let Some(fault) = config.lock_faults.first() {
        return Err(fail(fault.finding.message.clone()));
    }
    let mut faults = Vec::new();
    let file = lock::LockFile::read(&target.path, &target.name, own, &mut faults);
    let mut file = file.ok_or_else(|| fail("what was kept before cannot be read".to_owned()))?;
    let there = config.sources.iter().filter(|source| layer(source) == own).map(|source| source.name.clone()).collect();
    let asked = started.iter().map(|started| {
        let trusted = matches!(&started.source.kind, SourceKind::Server(server) if server.trust == Trust::Lock);
        let kept = |raw: &Value| lock::kept(&config.secrets.mask_whole(raw), if trusted { lock::claimed(raw) } else { None });
        let capabilities = Some(config.secrets.mask_whole(&started.capabilities)).filter(|said| said.as_object().is_some());
        (started.source.name.clone(), Kept { tools: started.listing.raw.iter().filter_map(kept).collect(), capabilities })
    });
    file.keep(asked.collect(), &there).map_err(fail)
}

fn done(app: &App, target: &Target, entries: &[Entry], started: &[Started<'_>], locked: bool) -> Exit {
    let tools = |name: &str| started.iter().find(|started| started.source.name == name).map(|started| started.listing.tools.len());
    if app.output.format == Format::Json {
        let sources = entries.iter().map(|entry| json!({"name": entry.name, "tools": tools(&entry.name)}));
        app.output.json(&json!({"file": target.name, "added": sources.collect::<Vec<_>>(), "locked": locked}));
        return Exit::Ok;
    }
    for entry in entries {
        let offers = tools(&entry.name).map(|tools| format!(", {tools} tools")).unwrap_or_default();
        app.output.result(&format!("added `{}` to {}{offers}\n", one_line(&entry.name), one_line(&target.name)));
    }
    match locked {
        true => app.output.note("what it says about its tools is kept in toolwright.lock\n"),
        false => app.output.note("`toolwright lock` keeps what it says about its tools\n"),
    }
    Exit::Ok
}

impl App {
    /// The configuration with another text in the place of a file.
    ///
    /// # Errors
    /// As [`App::config`].
    fn config_of(&self, path: &Path, text: &Arc<SourceText>) -> Result<Config, Box<Finding>> {
        self.config_reading(Some((path, text)))
    }
}

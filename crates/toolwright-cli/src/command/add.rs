//! `add`: puts an MCP server into the configuration. It is started first, and the change and what it offers are shown; what
//! does not start is not written.

mod entry;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use futures_util::future::join_all;
use serde_json::json;
use toolwright::{ToolDef, Value};
use toolwright_mcp::upstream::{Listing, Upstream};

use crate::amend::{self, Change, Form};
use crate::app::{App, add_locks};
use crate::args::{AddArgs, Format};
use crate::code;
use crate::config::Config;
use crate::config::source::{Source, SourceKind, Trust};
use crate::diagnostic::{Finding, Owner, Severity, SourceText};
use crate::exit::Exit;
use crate::host::{Host, Want};
use crate::interrupt::{leave_at_next, until_first};
use crate::lock::{self, Kept};
use crate::style::{cut, one_line};
use crate::view::effect_words;
use crate::wire;
use entry::{Entry, Left};

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
    /// What is in it that was not before.
    entries: Vec<Entry>,
}

/// A server that was started, and what it offers.
struct Started<'c> {
    source: &'c Source,
    listing: Listing,
    capabilities: Value,
}

async fn added(app: &App, args: &AddArgs) -> Result<Exit, Exit> {
    let usage = |(message, help): (String, String)| app.fail(vec![Finding::error(code::USAGE, message).help(help)], Exit::Usage);
    let (entries, mut left) = match &args.import {
        None => (vec![at_home(app, entry::of_words(args, is_program).map_err(usage)?)], Vec::new()),
        Some(file) => {
            let cannot = |why: String| (format!("`{}` cannot be read: {why}", file.display()), "name the file of a client".to_owned());
            let text = amend::read(file).map_err(|error| usage(cannot(error.to_string())))?;
            let text = text.ok_or_else(|| usage(cannot("there is no such file".to_owned())))?;
            entry::of_file(&text, &args.what, args.trust).map_err(usage)?
        }
    };
    let (mut target, config) = fitting(app, args, entries, &mut left)?;
    let new = |source: &&Source| target.entries.iter().any(|entry| entry.name == source.name);
    let sources: Vec<&Source> = config.sources.iter().filter(new).collect();
    let (mut started, silent) = match args.no_start {
        true => (Vec::new(), Vec::new()),
        false => started(app, &config, &sources).await?,
    };
    if !silent.is_empty() {
        let others = leave_out(app, args, target.entries, silent, Exit::ToolFailed, &mut left)?;
        target = target_of(app, args, others, &mut left)?;
    }
    let taken = taken(app, &target, &started).await?;
    if !taken.is_empty() {
        let others = leave_out(app, args, target.entries, taken, Exit::DoesNotCheck, &mut left)?;
        target = target_of(app, args, others, &mut left)?;
        started.retain(|started| target.entries.iter().any(|entry| entry.name == started.source.name));
    }
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
    Ok(done(app, &target, &left, &started, locked))
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
    let folder = std::fs::canonicalize(&folder).unwrap_or(folder);
    let here = std::fs::canonicalize(&here).unwrap_or(here);
    let cwd = match here.strip_prefix(&folder) {
        Ok(below) if below.as_os_str().is_empty() => ".".to_owned(),
        Ok(below) => below.display().to_string(),
        Err(_) => here.display().to_string(),
    };
    let members = entry.value.as_object().into_iter().flat_map(|object| object.iter()).map(|(key, value)| (key.clone(), value.clone()));
    let value = Value::object(members.chain([(toolwright::Text::from("cwd"), Value::from(cwd))]));
    Entry { value, ..entry }
}

/// What is wrong with entries, by their names.
type Wrong = Vec<(String, Finding)>;

/// The entries without those with which something is wrong. Only servers of another client's file are left out one by one.
///
/// # Errors
/// When none is left, or only one was wanted; that is told already.
fn leave_out(app: &App, args: &AddArgs, entries: Vec<Entry>, wrong: Wrong, exit: Exit, left: &mut Vec<Left>) -> Result<Vec<Entry>, Exit> {
    let (bad, good): (Vec<Entry>, Vec<Entry>) = entries.into_iter().partition(|entry| wrong.iter().any(|(name, _)| *name == entry.name));
    if args.import.is_none() || good.is_empty() {
        tell(app, left);
        return Err(app.fail(wrong.into_iter().map(|(_, finding)| finding).collect(), exit));
    }
    left.extend(bad.into_iter().map(|entry| {
        let why = wrong.iter().filter(|(name, _)| *name == entry.name).map(|(_, finding)| match &finding.help {
            Some(help) => format!("{} ({help})", finding.message),
            None => finding.message.clone(),
        });
        Left { why: why.collect::<Vec<_>>().join("; "), name: entry.name, exit: Some(exit) }
    }));
    Ok(good)
}

/// What was left out, and why.
fn tell(app: &App, left: &[Left]) {
    left.iter().for_each(|left| app.output.error(&format!("`{}` was left out: {}\n", one_line(&left.name), one_line(&left.why))));
}

/// The file with those entries in it that can be used, and the configuration that it then is.
fn fitting(app: &App, args: &AddArgs, mut entries: Vec<Entry>, left: &mut Vec<Left>) -> Result<(Target, Config), Exit> {
    loop {
        let target = target_of(app, args, entries, left)?;
        let (config, wrong) = config(app, &target)?;
        if wrong.is_empty() {
            return Ok((target, config));
        }
        entries = leave_out(app, args, target.entries, wrong, Exit::DoesNotCheck, left)?;
    }
}

/// The file with the entries in it; of another client's servers, without those whose name is taken.
fn target_of(app: &App, args: &AddArgs, wanted: Vec<Entry>, left: &mut Vec<Left>) -> Result<Target, Exit> {
    let path = app.project_path().unwrap_or_else(|| PathBuf::from("toolwright.yaml"));
    let name = path.display().to_string();
    let not_changed = |why: String| {
        let help = "nothing was written; put the entry in by hand, or mend the file first";
        app.fail(vec![Finding::error(code::NOT_CHANGED, format!("`{name}` was not changed: {why}")).help(help)], Exit::Usage)
    };
    if let Some(why) = crate::ownership::planted(&path).filter(|_| app.common.file.is_none()) {
        return Err(not_changed(format!("nobody named it, and {why}")));
    }
    let before = amend::read(&path).map_err(|error| not_changed(error.to_string()))?;
    let form = Form::of(&path);
    let mut after = before.clone().unwrap_or_default();
    let mut entries = Vec::new();
    for entry in wanted {
        let root = form.read(&after).map_err(not_changed)?;
        let taken = |section: &str| root.as_ref().and_then(|root| root.get(section)?.get(&entry.name)).is_some();
        if taken("sources") || taken("mcpServers") {
            let why = format!("`{name}` has a source `{}` already", entry.name);
            if args.import.is_some() {
                left.push(Left { name: entry.name, why, exit: Some(Exit::Usage) });
                continue;
            }
            let finding = Finding::error(code::DUPLICATE_ID, why);
            return Err(app.fail(vec![finding.help("give this one another name with `--name`")], Exit::Usage));
        }
        after = form.set(&after, "sources", &entry.name, &entry.value).map_err(not_changed)?;
        entries.push(entry);
    }
    if entries.is_empty() {
        tell(app, left);
        let finding = Finding::error(code::USAGE, "no server is left that could be added").help("nothing was written");
        return Err(app.fail(vec![finding], Exit::Usage));
    }
    Ok(Target { path, name, before, after, entries })
}

/// The configuration as it will be, and the mistakes in the new entries.
fn config(app: &App, target: &Target) -> Result<(Config, Wrong), Exit> {
    let text = SourceText::new(target.name.as_str(), target.after.as_str());
    let mut config = app.config_of(&target.path, &text).map_err(|finding| app.fail(vec![*finding], Exit::Usage))?;
    add_locks(&mut config);
    let new = |finding: &Finding| match &finding.owner {
        Owner::Source(name) => target.entries.iter().any(|entry| entry.name == *name).then(|| name.clone()),
        // What was wrong before is not this command's affair; a file that cannot be read at all was told.
        _ => None,
    };
    let errors = config.findings.iter().filter(|finding| finding.severity == Severity::Error);
    let wrong = errors.filter_map(|finding| Some((new(finding)?, finding.clone())));
    let wrong = wrong.map(|(name, finding)| {
        let mut finding = finding.map_text(|text| config.secrets.mask(text));
        // The place is in a text that nobody has: it was not written.
        (finding.labels, finding.edit) = (Vec::new(), None);
        if !finding.message.contains(&name) {
            finding.message = format!("the source `{name}`: {}", finding.message);
        }
        (name, finding)
    });
    let wrong = wrong.collect();
    Ok((config, wrong))
}

/// Starts the servers, asks them what they offer, and ends them again.
///
/// Gives those that did not start, too.
///
/// # Errors
/// When it is interrupted; that is told already.
async fn started<'c>(app: &App, config: &'c Config, sources: &[&'c Source]) -> Result<(Vec<Started<'c>>, Wrong), Exit> {
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
                let help = format!("{help}it was not written; `--no-start` writes it without starting it");
                let finding =
                    Finding::error(code::SOURCE_UNAVAILABLE, format!("the source `{}` is not there: {error}", source.name)).help(help);
                silent.push((source.name.clone(), finding.map_text(|text| config.secrets.mask(text))));
            }
        }
    }
    Ok((started, silent))
}

/// Servers with a tool whose id another tool has already, of the configuration or of a server before it. Nothing is started for that:
/// what no lock knows is not compared.
///
/// # Errors
/// When the configuration cannot be read; that is told already.
async fn taken(app: &App, target: &Target, started: &[Started<'_>]) -> Result<Wrong, Exit> {
    let (config, _) = config(app, target)?;
    let grants = app.grants(&config);
    let host = Host::open(config, &grants, &Want::Locked { ask: false }).await;
    let new = |source: &str| target.entries.iter().any(|entry| entry.name == source);
    let there = host.tools.iter().filter(|tool| !new(&tool.source));
    let mut owners: BTreeMap<String, String> = there.map(|tool| (tool.id.clone(), tool.source.clone())).collect();
    let mut wrong = Vec::new();
    for started in started.iter().filter(|started| new(&started.source.name)) {
        let name = &started.source.name;
        let ids: Vec<&str> = started.listing.tools.iter().map(ToolDef::id).collect();
        if let Some((id, owner)) = ids.iter().find_map(|id| Some((*id, owners.get(*id)?))) {
            let owner = if owner == "composites" { "a composite".to_owned() } else { format!("a tool of `{}`", one_line(owner)) };
            let message = format!("the source `{name}` offers `{}`, which is the id of {owner} already", one_line(id));
            let help = "nothing was written; `--name` gives the source another name, `--prefix` its tools other ids";
            wrong.push((name.clone(), Finding::error(code::DUPLICATE_ID, message).help(help)));
            continue;
        }
        owners.extend(ids.into_iter().map(|id| (id.to_owned(), name.clone())));
    }
    Ok(wrong)
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

fn done(app: &App, target: &Target, left: &[Left], started: &[Started<'_>], locked: bool) -> Exit {
    let tools = |name: &str| started.iter().find(|started| started.source.name == name).map(|started| started.listing.tools.len());
    let (entries, exit) = (&target.entries, left.iter().find_map(|left| left.exit).unwrap_or(Exit::Ok));
    tell(app, left);
    if app.output.format == Format::Json {
        let left: Vec<_> = left.iter().map(|left| json!({"name": left.name, "why": left.why})).collect();
        let sources = entries.iter().map(|entry| json!({"name": entry.name, "tools": tools(&entry.name)}));
        app.output.json(&json!({"file": target.name, "added": sources.collect::<Vec<_>>(), "leftOut": left, "locked": locked}));
        return exit;
    }
    for entry in entries {
        let offers = tools(&entry.name).map(|tools| format!(", {tools} tools")).unwrap_or_default();
        app.output.result(&format!("added `{}` to {}{offers}\n", one_line(&entry.name), one_line(&target.name)));
    }
    match locked {
        true => app.output.note("what it says about its tools is kept in toolwright.lock\n"),
        false => app.output.note("`toolwright lock` keeps what it says about its tools\n"),
    }
    exit
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

//! `lock`: asks every MCP server what it offers, shows what is new or different, and keeps it once somebody agrees.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use serde_json::json;
use toolwright::Value;

use crate::app::App;
use crate::args::Format;
use crate::code;
use crate::config::Layer;
use crate::config::source::{SourceKind, Trust};
use crate::diagnostic::{Finding, Owner};
use crate::exit::Exit;
use crate::host::{Host, Want};
use crate::interrupt::{leave_at_next, until_first};
use crate::lock::difference::{self, Difference, Word};
use crate::lock::{self, Change, Kept, LockFile, What};
use crate::style::{Style, cut, one_line, wrap};
use crate::view::effect_words;
use crate::visible::visible;

/// What is to be written into one file.
pub(super) struct Plan {
    pub(super) file: LockFile,
    asked: BTreeMap<String, Kept>,
    /// Servers that the configuration names.
    there: BTreeSet<String>,
    pub(super) changes: Vec<Change>,
    /// A server without a tool is new too, and a damaged file is written anew.
    writes: bool,
}

/// What servers say now, beside what is kept.
pub(super) struct Looked {
    /// One of each file.
    pub(super) plans: Vec<Plan>,
    /// Servers that cannot be asked.
    pub(super) silent: Vec<Finding>,
    host: Host,
}

/// Writes the lock files.
pub(crate) async fn lock(app: &App, yes: bool) -> Exit {
    match locked(app, yes).await {
        Ok(exit) | Err(exit) => exit,
    }
}

/// Asks every server, and compares.
///
/// # Errors
/// When the configuration or a lock cannot be read, or an interrupt came; that is told already.
pub(super) async fn look(app: &App) -> Result<Looked, Exit> {
    let mut config = app.config_with_locks()?;
    app.usable(&config)?;
    // What cannot be read is never written anew: nobody knows what was accepted there.
    let unreadable: Vec<Finding> = config.findings.iter().filter(|finding| finding.owner == Owner::Lock).cloned().collect();
    let files = std::mem::take(&mut config.locks);
    if !unreadable.is_empty() && !files.iter().any(LockFile::is_damaged) {
        return Err(app.fail(unreadable, Exit::DoesNotCheck));
    }
    let servers: Vec<(String, Layer)> = config
        .sources
        .iter()
        .filter(|source| !matches!(&source.kind, SourceKind::Commands(_) | SourceKind::Off { prefix: None, .. }))
        .map(|source| (source.name.clone(), config.layer(&source.place)))
        .collect();
    let trusted = config.sources.iter().filter(|source| matches!(&source.kind, SourceKind::Server(server) if server.trust == Trust::Lock));
    let trusted: BTreeSet<String> = trusted.map(|source| source.name.clone()).collect();
    let grants = app.grants(&config);
    let opened = until_first(Host::open(config, &grants, &Want::Everything)).await;
    let host = opened.ok_or_else(|| app.interrupted(Exit::Interrupted))?;
    until_first(host.close()).await.ok_or_else(|| app.interrupted(Exit::Interrupted))?;
    leave_at_next();
    let silent: Vec<Finding> = host.findings.iter().filter(|finding| finding.code == code::SOURCE_UNAVAILABLE).cloned().collect();
    let plans = files.into_iter().map(|file| plan(file, &servers, &trusted, &host)).collect();
    Ok(Looked { plans, silent, host })
}

async fn locked(app: &App, yes: bool) -> Result<Exit, Exit> {
    let mut looked = look(app).await?;
    if !looked.silent.is_empty() {
        app.output.note("nothing was written: a lock is of all servers\n");
        return Err(app.fail(looked.silent, Exit::ToolFailed));
    }
    looked.plans.retain(|plan| plan.writes);
    if looked.plans.is_empty() {
        return Ok(done(app, &[], "nothing is new: what is kept is what the servers say"));
    }
    if !yes {
        app.output.error(&looked.shown(app.output.err, app.output.width()));
        match super::trust::asked(app) {
            Some(true) => {}
            Some(false) => {
                app.output.error("nothing was changed\n");
                return Ok(Exit::Refused);
            }
            None => {
                let finding = Finding::error(code::LOCK_NOT_ACCEPTED, "nobody is here to be asked")
                    .help("look at the list above, then run `toolwright lock --yes`");
                return Err(app.fail(vec![finding], Exit::NeedsApproval));
            }
        }
    }
    let mut told = Vec::new();
    for Plan { mut file, asked, there, changes, .. } in looked.plans {
        let name = file.beside.name();
        file.keep(asked, &there).map_err(|why| app.fail(vec![Finding::error(code::LOCK_UNUSABLE, why)], Exit::Usage))?;
        told.push((name, changes));
    }
    Ok(done(app, &told, "kept"))
}

/// What is to be written into a file, of the servers of its own configuration.
fn plan(file: LockFile, servers: &[(String, Layer)], trusted: &BTreeSet<String>, host: &Host) -> Plan {
    let own = servers.iter().filter(|(_, layer)| *layer == file.layer);
    let there: BTreeSet<String> = own.map(|(name, _)| name.clone()).collect();
    // The file may be shared, and a server may put into a description whatever it was started with.
    let kept = |source: &str, raw: &Value| {
        let effect = if trusted.contains(source) { lock::claimed(raw) } else { None };
        lock::kept(&host.secrets.mask_whole(raw), effect)
    };
    let offered = host.offered.iter().filter(|(source, _)| there.contains(source));
    let capabilities = |source: &str| {
        let said = host.servers().find(|(name, _)| *name == source).map(|(_, upstream)| host.secrets.mask_whole(&upstream.capabilities()));
        said.filter(|said| said.as_object().is_some())
    };
    let of = |source: &str, raw: &[Value]| Kept {
        tools: raw.iter().filter_map(|raw| kept(source, raw)).collect(),
        capabilities: capabilities(source),
    };
    let asked: BTreeMap<String, Kept> = offered.map(|(source, raw)| (source.clone(), of(source, raw))).collect();
    let changes = file.changes(&asked, &there);
    let writes = !changes.is_empty()
        || file.is_damaged()
        || asked.iter().any(|(source, kept)| !file.can_as_before(source, kept) || !file.knows(source));
    Plan { file, asked, there, changes, writes }
}

/// Columns of a description that are shown.
const DESCRIPTION_COLUMNS_MAX: usize = 60;

impl Looked {
    /// The files with what is different about each tool.
    pub(super) fn shown(&self, style: Style, width: usize) -> String {
        let mut out = String::new();
        for plan in self.plans.iter().filter(|plan| plan.writes) {
            let _ = writeln!(out, "{}:\n", one_line(&plan.file.beside.name()));
            for change in &plan.changes {
                self.change(plan, change, style, width, &mut out);
            }
            let empty = plan.asked.iter().filter(|(source, kept)| kept.tools.is_empty() && !plan.file.knows(source));
            for (source, _) in empty {
                let _ = writeln!(out, "  {}  {}: no tools", style.green("new    "), one_line(source));
            }
            let other = plan.asked.iter().filter(|(source, kept)| plan.file.knows(source) && !plan.file.can_as_before(source, kept));
            for (source, _) in other {
                let _ = writeln!(out, "  {}  {}: what it says it can do (capabilities)", style.yellow("changed"), one_line(source));
            }
            if plan.changes.is_empty() && plan.file.is_damaged() {
                let _ = writeln!(out, "  {}  the file itself, which cannot be read as it is", style.yellow("changed"));
            }
            out.push('\n');
        }
        out
    }

    fn change(&self, plan: &Plan, change: &Change, style: Style, width: usize, out: &mut String) {
        let now = plan.now(change);
        let described = now.and_then(|tool| tool.get("description")?.as_str()).unwrap_or_default();
        let described = self.host.secrets.mask(&cut(&one_line(described), DESCRIPTION_COLUMNS_MAX));
        let effect = |tool: Option<&Value>| tool.and_then(|tool| lock::effect_of(tool.get("effect")?));
        let accepted = effect(now).map(|effect| format!("{}  ", effect_words(Some(&effect)))).unwrap_or_default();
        let (word, rest) = match &change.what {
            What::Added => (style.green("new    "), format!("{accepted}{described}")),
            What::Removed => (style.yellow("gone   "), String::new()),
            What::Changed(members) => (style.yellow("changed"), members.join(", ")),
        };
        let name = format!("{}: {}", one_line(&change.source), one_line(&change.tool));
        let _ = writeln!(out, "{}", format!("  {word}  {name}  {}", style.dim(&rest)).trim_end());
        for difference in plan.differences(change) {
            let line = self.host.secrets.mask(&in_words(&difference, style));
            let _ = writeln!(out, "{}", wrap(&line, width, "             "));
        }
    }
}

impl Plan {
    fn now(&self, change: &Change) -> Option<&Value> {
        self.asked.get(&change.source)?.tools.get(&change.tool)
    }

    /// What is different about a tool that changed.
    pub(super) fn differences(&self, change: &Change) -> Vec<Difference> {
        match (self.file.tool(&change.source, &change.tool), self.now(change)) {
            (Some(before), Some(now)) => difference::of(before, now),
            _ => Vec::new(),
        }
    }
}

/// One difference on one line.
fn in_words(difference: &Difference, style: Style) -> String {
    match difference {
        Difference::Text { member, words } => {
            let words = words.iter().map(|word| match word {
                Word::Same(word) => visible(word),
                Word::Gone(word) => style.red(&format!("[-{}-]", visible(word))),
                Word::New(word) => style.green(&format!("{{+{}+}}", visible(word))),
            });
            format!("{member}: {}", words.collect::<Vec<_>>().join(" "))
        }
        Difference::Schema { member, change } => format!("{member}: {}", visible(&change.in_words(member))),
        Difference::Fact { name, before, now } => {
            let shown = |value: &Option<Value>| match value.as_ref().and_then(lock::effect_of) {
                Some(effect) => effect_words(Some(&effect)),
                None => value.as_ref().map_or_else(|| "not said".to_owned(), |value| visible(&value.to_json_string())),
            };
            format!("{}: {} → {}", visible(name), style.red(&shown(before)), style.green(&shown(now)))
        }
    }
}

fn done(app: &App, told: &[(String, Vec<Change>)], words: &str) -> Exit {
    if app.output.format == Format::Json {
        let files = told.iter().map(|(file, changes)| {
            let of = |which: fn(&What) -> bool| {
                let changes = changes.iter().filter(|change| which(&change.what));
                changes.map(|change| json!({"source": change.source, "tool": change.tool})).collect::<Vec<_>>()
            };
            json!({
                "file": file,
                "added": of(|what| *what == What::Added),
                "removed": of(|what| *what == What::Removed),
                "changed": of(|what| matches!(what, What::Changed(_))),
            })
        });
        app.output.json(&json!({"written": files.collect::<Vec<_>>()}));
        return Exit::Ok;
    }
    match told {
        [] => app.output.result(&format!("{words}\n")),
        told => told.iter().for_each(|(file, changes)| {
            let changes = if changes.len() == 1 { "1 change".to_owned() } else { format!("{} changes", changes.len()) };
            app.output.result(&format!("{words}: {changes} in {}\n", one_line(file)));
        }),
    }
    Exit::Ok
}

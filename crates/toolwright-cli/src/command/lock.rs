//! `lock`: asks every MCP server what it offers, shows what is new or different, and keeps it once somebody agrees.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use serde_json::json;

use crate::app::App;
use crate::args::Format;
use crate::code;
use crate::config::Layer;
use crate::config::source::SourceKind;
use crate::diagnostic::Finding;
use crate::exit::Exit;
use crate::host::{Host, Want};
use crate::interrupt::{leave_at_next, until_first};
use crate::lock::{self, Change, LockFile, Tools, What};
use crate::style::{cut, one_line};

/// What is to be written into one file.
struct Plan {
    file: LockFile,
    asked: BTreeMap<String, Tools>,
    /// Servers that the configuration names.
    there: BTreeSet<String>,
    changes: Vec<Change>,
    /// A server without a tool is new too, and a damaged file is written anew.
    writes: bool,
}

/// Writes the lock files.
pub(crate) async fn lock(app: &App, yes: bool) -> Exit {
    match locked(app, yes).await {
        Ok(exit) | Err(exit) => exit,
    }
}

async fn locked(app: &App, yes: bool) -> Result<Exit, Exit> {
    let mut config = app.config_with_locks()?;
    app.usable(&config)?;
    let files = std::mem::take(&mut config.locks);
    let servers: Vec<(String, Layer)> = config
        .sources
        .iter()
        .filter(|source| !matches!(&source.kind, SourceKind::Commands(_) | SourceKind::Off { prefix: None, .. }))
        .map(|source| (source.name.clone(), config.layer(&source.place)))
        .collect();
    let grants = app.grants(&config);
    let opened = until_first(Host::open(config, &grants, &Want::Everything)).await;
    let host = opened.ok_or_else(|| app.interrupted(Exit::Interrupted))?;
    until_first(host.close()).await.ok_or_else(|| app.interrupted(Exit::Interrupted))?;
    leave_at_next();
    let silent: Vec<Finding> = host.findings.iter().filter(|finding| finding.code == code::SOURCE_UNAVAILABLE).cloned().collect();
    if !silent.is_empty() {
        app.output.note("nothing was written: a lock is of all servers\n");
        return Err(app.fail(silent, Exit::ToolFailed));
    }
    let plans: Vec<Plan> = files.into_iter().map(|file| plan(file, &servers, &host)).filter(|plan| plan.writes).collect();
    if plans.is_empty() {
        return Ok(done(app, &[], "nothing is new: what is kept is what the servers say"));
    }
    if !yes {
        app.output.error(&shown(app, &plans, &host));
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
    for Plan { mut file, asked, there, changes, .. } in plans {
        let name = file.beside.name();
        file.keep(asked, &there).map_err(|why| app.fail(vec![Finding::error(code::LOCK_UNUSABLE, why)], Exit::Usage))?;
        told.push((name, changes));
    }
    Ok(done(app, &told, "kept"))
}

/// What is to be written into a file, of the servers of its own configuration.
fn plan(file: LockFile, servers: &[(String, Layer)], host: &Host) -> Plan {
    let own = servers.iter().filter(|(_, layer)| *layer == file.layer);
    let there: BTreeSet<String> = own.map(|(name, _)| name.clone()).collect();
    // The file may be shared, and a server may put into a description whatever it was started with.
    let kept = |raw: &toolwright::Value| lock::kept(&host.secrets.mask_whole(raw));
    let offered = host.offered.iter().filter(|(source, _)| there.contains(source));
    let asked: BTreeMap<String, Tools> = offered.map(|(source, raw)| (source.clone(), raw.iter().filter_map(kept).collect())).collect();
    let changes = file.changes(&asked, &there);
    let writes = !changes.is_empty() || file.is_damaged() || asked.keys().any(|source| !file.knows(source));
    Plan { file, asked, there, changes, writes }
}

/// Columns of a description that are shown.
const DESCRIPTION_COLUMNS_MAX: usize = 60;

fn shown(app: &App, plans: &[Plan], host: &Host) -> String {
    let style = app.output.err;
    let mut out = String::new();
    for plan in plans {
        let _ = writeln!(out, "{}:\n", one_line(&plan.file.beside.name()));
        for change in &plan.changes {
            let described = plan.asked.get(&change.source).and_then(|tools| tools.get(&change.tool)?.get("description")?.as_str());
            let described = host.secrets.mask(&cut(&one_line(described.unwrap_or_default()), DESCRIPTION_COLUMNS_MAX));
            let (word, rest) = match &change.what {
                What::Added => (style.green("new    "), described),
                What::Removed => (style.yellow("gone   "), String::new()),
                What::Changed(members) => (style.yellow("changed"), members.join(", ")),
            };
            let name = format!("{}: {}", one_line(&change.source), one_line(&change.tool));
            let _ = writeln!(out, "{}", format!("  {word}  {name}  {}", style.dim(&rest)).trim_end());
        }
        let empty = plan.asked.iter().filter(|(source, tools)| tools.is_empty() && !plan.file.knows(source));
        for (source, _) in empty {
            let _ = writeln!(out, "  {}  {}: no tools", style.green("new    "), one_line(source));
        }
        if plan.changes.is_empty() && plan.file.is_damaged() {
            let _ = writeln!(out, "  {}  the file itself, which cannot be read as it is", style.yellow("changed"));
        }
        out.push('\n');
    }
    out
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

//! `runs`: what is kept, the newest first; what is open, and what waits for whom.

use std::fmt::Write as _;
use std::path::Path;

use serde_json::json;
use toolwright::{Text, Timestamp};
use toolwright_sqlite::{RunFilter, RunStatus, RunSummary};

use crate::app::App;
use crate::args::{Format, RunsArgs, Status};
use crate::code;
use crate::diagnostic::Finding;
use crate::exit::Exit;
use crate::journal;
use crate::moment::{ago, between, now, rfc3339, since, took};
use crate::style::{Style, columns, cut, one_line, pad, wrap};

/// Lists the runs.
pub(crate) async fn runs(app: &App, args: &RunsArgs) -> Exit {
    match listed(app, args).await {
        Ok(()) => Exit::Ok,
        Err(exit) => exit,
    }
}

async fn listed(app: &App, args: &RunsArgs) -> Result<(), Exit> {
    let filter = filter(args).map_err(|why| {
        let finding = Finding::error(code::USAGE, format!("--since: {why}")).help("write `2h`, `3d`, `2026-11-30` or `2026-11-30T08:15`");
        app.fail(vec![finding], Exit::Usage)
    })?;
    let (path, _) = app.journal_file(&args.at)?;
    let mut runs = match app.journal_to_read(&args.at).await? {
        None => Vec::new(),
        Some((journal, path)) => {
            let read = app.apart(move || journal.runs(&filter)).await?;
            read.map_err(|error| app.fail(vec![journal::of_error(&path, &error)], journal::exit_of(error.kind)))?
        }
    };
    let more = runs.len() > args.limit;
    runs.truncate(args.limit);
    let text = match app.output.format {
        Format::Json => {
            let runs: Vec<serde_json::Value> = runs.iter().map(summary_json).collect();
            format!("{:#}\n", json!({"journal": path.display().to_string(), "runs": runs, "more": more}))
        }
        Format::Plain => runs.iter().map(plain).collect(),
        Format::Human => human(app, args, &runs, &path),
    };
    app.output.result(&text);
    if more && app.output.format == Format::Human {
        app.output.note(&format!("note: there are older ones; these are the newest {} (`--limit N`)\n", args.limit));
    }
    Ok(())
}

fn filter(args: &RunsArgs) -> Result<RunFilter, String> {
    let mut filter = RunFilter::default();
    filter.tool = args.tool.as_deref().map(Text::from);
    filter.since = args.since.as_deref().map(|text| since(text, now())).transpose()?;
    // One more says whether there are more.
    filter.newest = Some(args.limit.saturating_add(1));
    for status in &args.status {
        filter.statuses.extend_from_slice(match status {
            Status::Open => &[RunStatus::Running, RunStatus::Interrupted, RunStatus::Waiting, RunStatus::InDoubt],
            Status::Running => &[RunStatus::Running],
            Status::Interrupted => &[RunStatus::Interrupted],
            Status::InDoubt => &[RunStatus::InDoubt],
            Status::Waiting => &[RunStatus::Waiting],
            Status::Failed => &[RunStatus::Failed],
            Status::Succeeded => &[RunStatus::Succeeded],
        });
    }
    Ok(filter)
}

/// A run for scripts.
pub(super) fn summary_json(run: &RunSummary) -> serde_json::Value {
    let text = |text: &Option<Text>| text.as_ref().map(|text| text.to_string());
    let at = |at: Option<Timestamp>| at.map(rfc3339);
    let waits = run.waits.iter().map(|open| json!({"path": open.path.as_str(), "tool": open.tool.as_str(), "since": at(open.since)}));
    let asks = run.asks.iter().map(|question| {
        let (id, path, tool) = (question.id.as_str(), question.path.as_str(), question.tool.as_str());
        json!({"id": id, "path": path, "tool": tool, "since": at(question.since)})
    });
    json!({
        "id": run.id.as_str(),
        "tool": run.tool.as_str(),
        "status": run.status.as_str(),
        "code": text(&run.code),
        "created": at(run.created),
        "ended": at(run.ended),
        "epoch": run.epoch,
        "owner": run.owner.as_str(),
        "begun": run.begun,
        "waits": waits.collect::<Vec<_>>(),
        "asks": asks.collect::<Vec<_>>(),
        "principal": text(&run.principal),
        "session": text(&run.session),
    })
}

/// Columns with tabs between them: id, status, tool, when it was made, when it ended, calls, code, paths of calls in doubt.
fn plain(run: &RunSummary) -> String {
    let at = |at: Option<Timestamp>| at.map_or_else(|| "-".to_owned(), rfc3339);
    let waits: Vec<&str> = run.waits.iter().map(|open| open.path.as_str()).collect();
    let columns = [
        one_line(&run.id),
        run.status.as_str().to_owned(),
        one_line(&run.tool),
        at(run.created),
        at(run.ended),
        run.begun.to_string(),
        run.code.as_deref().map_or_else(|| "-".to_owned(), one_line),
        if waits.is_empty() { "-".to_owned() } else { one_line(&waits.join(" ")) },
    ];
    format!("{}\n", columns.join("\t"))
}

/// Letters of an id that are shown at least.
const ID_SHOWN: usize = 12;

/// Columns of a tool's name at most.
const TOOL_WIDTH_MAX: usize = 28;

/// Columns of a status, of a moment and of a duration, and the blanks between all columns.
const STATUS_WIDTH: usize = 11;
const WHEN_WIDTH: usize = 10;
const LONG_WIDTH: usize = 7;
const BLANKS: usize = 8;

fn human(app: &App, args: &RunsArgs, runs: &[RunSummary], path: &Path) -> String {
    let output = app.output;
    if runs.is_empty() {
        return format!("no such run is in {}\n", one_line(&path.display().to_string()));
    }
    let style = output.out;
    let ids = shortened(runs);
    let id_width = ids.iter().map(|id| columns(id)).max().unwrap_or_default();
    let room = output.width().saturating_sub(id_width + STATUS_WIDTH + WHEN_WIDTH + LONG_WIDTH + BLANKS);
    let tools: Vec<String> = runs.iter().map(|run| cut(&one_line(&run.tool), TOOL_WIDTH_MAX.min(room))).collect();
    let tool_width = tools.iter().map(|tool| columns(tool)).max().unwrap_or_default();
    let now = now();
    let mut out = String::new();
    for ((run, id), tool) in runs.iter().zip(&ids).zip(&tools) {
        let status = words(run.status);
        let fill = " ".repeat(STATUS_WIDTH.saturating_sub(columns(status)));
        let when = run.created.map_or_else(String::new, |at| ago(at, now));
        let long = run.created.zip(run.ended).map_or_else(String::new, |(from, to)| took(between(from, to)));
        let line = format!(
            "{}  {}{fill}  {}  {}  {long}",
            style.bold(&pad(id, id_width)),
            painted(style, run.status),
            pad(tool, tool_width),
            pad(&when, WHEN_WIDTH)
        );
        let _ = writeln!(out, "{}", line.trim_end());
        for line in below(run, &|words, other| app.about(words, other.unwrap_or(id), &args.at)) {
            let _ = writeln!(out, "{}", style.dim(&wrap(&line, output.width(), "    ")));
        }
    }
    out
}

/// What is to be known of a run beside its line.
fn below(run: &RunSummary, command: &dyn Fn(&str, Option<&str>) -> String) -> Vec<String> {
    match run.status {
        RunStatus::Running => vec![format!("at work: {}", one_line(&run.owner))],
        RunStatus::Interrupted => vec![format!("`{}` goes on", command("resume", None))],
        RunStatus::Waiting => {
            let open = run.asks.iter().map(|question| {
                let (tool, path) = (one_line(&question.tool), one_line(&question.path));
                format!("waits for you: may `{tool}` run ({path})? `{}`", command("approve", Some(&question.id)))
            });
            open.collect()
        }
        RunStatus::InDoubt => {
            let open = run.waits.iter().map(|open| {
                let (tool, path) = (one_line(&open.tool), one_line(&open.path));
                format!("waits for you: did `{tool}` happen ({path})?")
            });
            open.chain([format!("`{}` says how to answer", command("show", None))]).collect()
        }
        _ => run.code.iter().map(|code| one_line(code)).collect(),
    }
}

/// A status in a word or two.
pub(super) fn words(status: RunStatus) -> &'static str {
    match status {
        RunStatus::InDoubt => "in doubt",
        other => other.as_str(),
    }
}

/// The same in its colour.
pub(super) fn painted(style: Style, status: RunStatus) -> String {
    let words = words(status);
    match status {
        RunStatus::Succeeded => style.green(words),
        RunStatus::Failed => style.red(words),
        _ => style.yellow(words),
    }
}

/// The ids as short as they can be told apart among these.
fn shortened(runs: &[RunSummary]) -> Vec<String> {
    let mut sorted: Vec<&str> = runs.iter().map(|run| run.id.as_str()).collect();
    sorted.sort_unstable();
    let shared = |a: &str, b: &str| a.chars().zip(b.chars()).take_while(|(a, b)| a == b).count();
    let needed = |id: &str| {
        let at = sorted.partition_point(|other| *other < id);
        let before = at.checked_sub(1).and_then(|at| sorted.get(at));
        let beside = before.into_iter().chain(sorted.get(at + 1));
        beside.map(|other| shared(id, other) + 1).max().unwrap_or_default().max(ID_SHOWN)
    };
    runs.iter().map(|run| one_line(&run.id.chars().take(needed(&run.id)).collect::<String>())).collect()
}

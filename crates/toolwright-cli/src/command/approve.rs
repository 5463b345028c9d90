//! `approve`: which calls wait for somebody's yes, and the answer to one.

use std::io::{BufRead, IsTerminal};
use std::path::PathBuf;

use toolwright::approval::{Answered, Approval, Outcome};
use toolwright::journal::RunHistory;
use toolwright::{Journal, JournalError};
use toolwright_sqlite::{RunStatus, SqliteJournal};

use super::show::masks::Masks;
use super::show::{as_it_ran, load};
use crate::app::App;
use crate::args::{ApproveArgs, Format};
use crate::asking;
use crate::code;
use crate::diagnostic::Finding;
use crate::exit::Exit;
use crate::journal::{self, person};
use crate::moment::now;
use crate::style::{flat, limited, one_line};

/// Questions that are looked for by the beginning of an id.
const FOUND_MAX: usize = 5;

/// Lists what waits, or shows one question and takes the answer.
pub(crate) async fn approve(app: &App, args: &ApproveArgs) -> Exit {
    let done = match &args.id {
        None => listed(app, args).await,
        Some(id) => one(app, args, id).await,
    };
    match done {
        Ok(exit) | Err(exit) => exit,
    }
}

async fn listed(app: &App, args: &ApproveArgs) -> Result<Exit, Exit> {
    if args.yes || args.no {
        let finding = Finding::error(code::USAGE, "nothing says which question the answer is for");
        return Err(app.fail(vec![finding.help("name it: `toolwright approve ID --yes`")], Exit::Usage));
    }
    let Some((journal, path)) = app.journal_to_read(&args.at).await? else { return Ok(none(app)) };
    let asked = journal.clone();
    let waiting = app.apart(move || asked.questions("", usize::MAX, true)).await?;
    let waiting = waiting.map_err(|error| unreadable(app, &path, &error))?;
    let mut shown = Vec::new();
    for (run, question) in waiting {
        let (_, history) = load(app, &args.at, &run).await?;
        if let Some(approval) = history.approvals().into_iter().find(|approval| approval.id() == question.id.as_str()) {
            let masks = Masks::of(app, &history, true).await?;
            shown.push((approval, masks));
        }
    }
    if shown.is_empty() {
        return Ok(none(app));
    }
    let secrets = |masks: &Masks| masks.secrets().clone();
    match app.output.format {
        Format::Json => {
            let all: Vec<_> = shown.iter().map(|(approval, masks)| asking::json(&approval.asked.request, &secrets(masks))).collect();
            app.output.json(&serde_json::json!(all));
        }
        Format::Plain => {
            let lines = shown.iter().map(|(approval, masks)| asking::plain(&approval.asked.request, &secrets(masks)));
            app.output.result(&lines.collect::<String>());
        }
        Format::Human => {
            let all = shown.iter().map(|(approval, masks)| asking::shown(app.output, &approval.asked.request, &secrets(masks)));
            app.output.result(&all.collect::<Vec<_>>().join("\n"));
            app.output.note("\nanswer with `toolwright approve ID --yes` or `--no --reason TEXT`\n");
        }
    }
    Ok(Exit::Ok)
}

fn none(app: &App) -> Exit {
    match app.output.format {
        Format::Json => app.output.json(&serde_json::json!([])),
        Format::Plain => {}
        Format::Human => app.output.result("nothing waits for a yes\n"),
    }
    Exit::Ok
}

fn unreadable(app: &App, path: &std::path::Path, error: &JournalError) -> Exit {
    app.fail(vec![journal::of_error(path, error)], journal::exit_of(error.kind))
}

/// One question: where it is, and what is known of its run.
struct Found {
    approval: Approval,
    history: RunHistory,
    status: RunStatus,
    path: PathBuf,
}

async fn one(app: &App, args: &ApproveArgs, id: &str) -> Result<Exit, Exit> {
    let found = find(app, args, id).await?;
    let masks = Masks::of(app, &found.history, true).await?;
    let secrets = masks.secrets();
    let request = &found.approval.asked.request;
    if let Some(answered) = &found.approval.answered {
        let reason = if answered.reason.is_empty() { String::new() } else { format!(" (\"{}\")", one_line(&answered.reason)) };
        let message = format!("`{}` was answered before: {} by {}{reason}", request.id, answered.outcome.as_str(), one_line(&answered.who));
        let finding = Finding::error(code::APPROVAL_ANSWERED, limited(&secrets.mask(&message)).into_owned());
        let help = "an answer stands; `toolwright show RUN` shows what came of it".replace("RUN", &one_line(&found.history.run.id));
        return Err(app.fail(vec![finding.help(help)], Exit::Refused));
    }
    let answer = match (args.yes, args.no) {
        (true, _) => Some(true),
        (_, true) => Some(false),
        _ => {
            match app.output.format {
                Format::Json => app.output.json(&asking::json(request, secrets)),
                Format::Plain => app.output.result(&asking::plain(request, secrets)),
                Format::Human => app.output.result(&asking::shown(app.output, request, secrets)),
            }
            from_terminal(app)
        }
    };
    let Some(yes) = answer else {
        let message = format!("`{}` waits for an answer, and nobody is here to be asked", one_line(&request.id));
        let help = format!("`toolwright approve {} --yes`, or `--no --reason TEXT`", one_line(&request.id));
        return Err(app.fail(vec![Finding::error("approval_required", message).help(help)], Exit::NeedsApproval));
    };
    answered(app, args, &found, yes).await
}

fn from_terminal(app: &App) -> Option<bool> {
    let stdin = std::io::stdin();
    if !stdin.is_terminal() || app.output.format != Format::Human {
        return None;
    }
    app.output.error("approve? [y/N] ");
    let mut line = String::new();
    let read = stdin.lock().read_line(&mut line);
    read.ok().filter(|bytes| *bytes > 0).map(|_| asking::is_yes(&line))
}

async fn find(app: &App, args: &ApproveArgs, id: &str) -> Result<Found, Exit> {
    let nothing = |message: String, help: &str| app.fail(vec![Finding::error(code::USAGE, message).help(help)], Exit::Usage);
    let shows = "`toolwright approve` lists what waits";
    let unknown = || nothing(format!("nothing was asked as `{}`", one_line(id)), shows);
    let Some((journal, path)) = app.journal_to_read(&args.at).await? else { return Err(unknown()) };
    let prefix = id.to_owned();
    let all = app.apart(move || journal.questions(&prefix, FOUND_MAX + 1, false)).await?;
    let all = all.map_err(|error| unreadable(app, &path, &error))?;
    let (run, question) = match all.as_slice() {
        [] => return Err(unknown()),
        [one] => one,
        many => many.iter().find(|(_, question)| question.id.as_str() == id).ok_or_else(|| {
            let names: Vec<String> = many.iter().take(FOUND_MAX).map(|(_, question)| format!("`{}`", one_line(&question.id))).collect();
            nothing(format!("more than one question has an id that begins so: {}", names.join(", ")), "give more letters of it")
        })?,
    };
    let (summary, history) = load(app, &args.at, run).await?;
    let approval = history.approvals().into_iter().find(|approval| approval.id() == question.id.as_str()).ok_or_else(unknown)?;
    Ok(Found { approval, history, status: summary.status, path })
}

async fn answered(app: &App, args: &ApproveArgs, found: &Found, yes: bool) -> Result<Exit, Exit> {
    let id = found.approval.id();
    let outcome = if yes { Outcome::Yes } else { Outcome::No };
    let answer =
        Answered::new(id, outcome, person()).rule("toolwright approve").reason(args.reason.as_deref().unwrap_or_default()).at(now());
    let run = &found.history.run.id;
    let journal: SqliteJournal = app.journal_to_write(&found.path).await?;
    journal.answer(run, answer).get().await.map_err(|error| {
        let code = if found.approval.is_over(now()) { "approval_expired" } else { code::APPROVAL_ANSWERED };
        let finding = Finding::error(code, error.to_string()).help("nothing was written; the run asks anew when it goes on");
        app.fail(vec![finding], journal::exit_of(error.kind))
    })?;
    let word = if yes { "approved" } else { "refused" };
    let kept = as_it_ran(app, &found.history).kept(run, &args.at);
    if app.output.format == Format::Json {
        let goes_on = (found.status != RunStatus::Running).then_some(kept.resume);
        app.output.json(&serde_json::json!({"id": id, "run": run.as_str(), "outcome": outcome.as_str(), "resume": goes_on}));
        return Ok(Exit::Ok);
    }
    app.output.result(&format!("{word}: {}\n", one_line(id)));
    let next = match found.status {
        RunStatus::Running => format!("run `{}` is at work and goes on by itself", one_line(run)),
        _ => format!("the run goes on with `{}`", kept.resume),
    };
    app.output.note(&format!("{}\n", flat(&next)));
    Ok(Exit::Ok)
}

//! `run TOOL`: call a tool, print its result and nothing else.

use std::future::Future;
use std::sync::Arc;

use toolwright::{CallError, CancelSource, CancelToken, Diagnostics, Invocation, ToolResult, Value};
use toolwright_sqlite::SqliteJournal;

use super::show::masks::context_key;
use crate::app::{App, Kept};
use crate::args::{Format, JournalAt, RunArgs, RunCommand};
use crate::asking::Terminal;
use crate::code;
use crate::diagnostic::{Finding, did_you_mean};
use crate::exit::Exit;
use crate::failure;
use crate::host::{Host, Want};
use crate::input;
use crate::interrupt::{leave_at_next, until_first, until_next, until_second};
use crate::journal::{self, Place};
use crate::moment::WallClock;
use crate::output::Output;
use crate::progress::Progress;
use crate::style::{limited, one_line, printable};
use crate::view::{State, ToolView, stands_out};

mod blocks;

/// Calls the tool.
pub(crate) async fn run(app: &App, args: &RunCommand) -> Exit {
    let keep = match Keep::of(app, args) {
        Ok(keep) => keep,
        Err(exit) => return exit,
    };
    match with_tool(app, &args.run, Some(keep), |invocation| invocation).await {
        Err(exit) => exit,
        Ok(outcome) => ended(app, &args.run.tool, &outcome),
    }
}

/// Tells what became of a call.
pub(super) fn ended(app: &App, tool: &str, outcome: &Outcome) -> Exit {
    let Outcome { result, host, kept } = outcome;
    match result {
        Ok(result) => {
            app.output.result(&printed(app.output, result));
            notes(app.output, host, result, kept.as_ref());
            if result.replayed()
                && let Some(kept) = kept
                && app.output.format != Format::Json
            {
                let id = one_line(&kept.id);
                app.output.note(&format!("note: run `{id}` has ended before; this is its recorded result, and nothing ran\n"));
            }
            Exit::Ok
        }
        Err(error) => failure::tell(app.output, error, tool, host, kept.as_ref()),
    }
}

/// What became of a call.
pub(crate) struct Outcome {
    /// The result, or what ended the call.
    pub(crate) result: Result<ToolResult, CallError>,
    /// The host, whose servers are ended already.
    pub(crate) host: Host,
    /// The run, when it is kept.
    pub(crate) kept: Option<Kept>,
}

/// Where a run is to be kept, and under which name.
pub(crate) struct Keep {
    place: Place,
    at: JournalAt,
    run: String,
    /// Somebody gave it its name, and may have begun it before.
    keyed: bool,
}

impl Keep {
    fn of(app: &App, args: &RunCommand) -> Result<Self, Exit> {
        let place = Place::of(args.at.journal.as_deref()).map_err(|finding| app.fail(vec![*finding], Exit::JournalUnavailable))?;
        let wrong = match (&args.key, &place) {
            (Some(key), _) if key.is_empty() => Some("the key is empty"),
            (Some(_), Place::Nowhere) => Some("a key needs a journal, and `none` keeps nothing"),
            _ => None,
        };
        if let Some(wrong) = wrong {
            return Err(app.fail(vec![Finding::error(code::USAGE, wrong)], Exit::Usage));
        }
        let run = args.key.as_deref().map_or_else(journal::new_run_id, journal::run_id_of_key);
        Ok(Self { place, at: args.at.clone(), run, keyed: args.key.is_some() })
    }
}

/// A journal that is open for a run.
struct Keeping {
    journal: SqliteJournal,
    kept: Kept,
}

impl Keeping {
    /// Opens the journal; says what is lost where there is none.
    ///
    /// # Errors
    /// When it cannot be used: nothing is started then.
    async fn open(app: &App, keep: Keep, tool: &ToolView) -> Result<Option<Self>, Exit> {
        match keep.place {
            Place::Nowhere => {
                if stands_out(tool.effect.as_ref()) && app.output.format != Format::Json {
                    app.output.note(LOST);
                }
                Ok(None)
            }
            Place::File { path, .. } => {
                let journal = app.journal_to_write(&path).await?;
                Ok(Some(Self { journal, kept: app.kept(&keep.run, &keep.at) }))
            }
        }
    }
}

/// What is lost without a journal.
const LOST: &str = "note: nothing of this run is kept (`--journal none`): if it stops half-way, nobody can tell which effects happened, and it cannot go on\n";

/// Opens what the tool needs, calls it, and ends every server again.
///
/// # Errors
/// When it did not come to the call; that is told already.
pub(crate) async fn with_tool(
    app: &App,
    args: &RunArgs,
    keep: Option<Keep>,
    change: impl FnOnce(Invocation) -> Invocation,
) -> Result<Outcome, Exit> {
    let mut host = opened(app, &args.tool).await?;
    let called = begun(app, args, keep, &mut host, change).await;
    closed(&host).await;
    let (result, kept) = called?;
    Ok(Outcome { result, host, kept })
}

/// Everything that a tool needs, opened.
///
/// # Errors
/// When the configuration cannot be used, or an interrupt came first; that is told already.
pub(super) async fn opened(app: &App, tool: &str) -> Result<Host, Exit> {
    let config = app.config_with_locks()?;
    app.usable(&config)?;
    let grants = app.grants(&config).asking(Arc::new(Terminal::new(app.output, &config.secrets)), None);
    let want = Want::Tool(tool.to_owned());
    let opened = until_first(Host::open(config, &grants, &want)).await;
    opened.ok_or_else(|| app.interrupted(Exit::ToolFailed))
}

/// Ends every server. Who does not want to wait for that still gets what became of the call.
pub(super) async fn closed(host: &Host) {
    let _ = until_next(host.close()).await;
    leave_at_next();
}

/// A call's result, and the run that it is in when that is kept.
type Called = (Result<ToolResult, CallError>, Option<Kept>);

async fn begun(
    app: &App,
    args: &RunArgs,
    keep: Option<Keep>,
    host: &mut Host,
    change: impl FnOnce(Invocation) -> Invocation,
) -> Result<Called, Exit> {
    let tool = ready(app, host, &args.tool)?.clone();
    let (input, hidden) = given(app, args, tool.input.clone()).await?;
    hidden.iter().for_each(|text| host.secrets.add(text));
    note_mistakes_elsewhere(app, host);
    prepared(app, host, &args.tool).await?;
    let run = keep.as_ref().map_or_else(journal::new_run_id, |keep| keep.run.clone());
    let keyed = keep.as_ref().is_some_and(|keep| keep.keyed);
    let keeping = match keep {
        Some(keep) => Keeping::open(app, keep, &tool).await?,
        None => None,
    };
    if let Some(Keeping { journal, kept }) = keeping.as_ref().filter(|_| keyed)
        && let Err(changed) = host.catalog.again(journal, &run, &args.tool, &input).await
    {
        return Ok((Err(changed), Some(kept.clone())));
    }
    let mut invocation = change(Invocation::new(args.tool.as_str(), input).run_id(run));
    if let Some(Keeping { journal, .. }) = &keeping {
        invocation = invocation.journal(Arc::new(journal.clone())).claimed_by(journal::owner(), None);
        if let Some(configuration) = configuration(app) {
            invocation = invocation.context_key(configuration);
        }
    }
    let kept = keeping.as_ref().map(|keeping| &keeping.kept);
    let result = call(app, host, kept, invocation).await?;
    if let Some(Keeping { journal, .. }) = &keeping {
        written(app, journal).await;
    }
    Ok((result, keeping.map(|keeping| keeping.kept)))
}

/// Everything that the tool needs, started, and looked at whether it is what was accepted.
///
/// # Errors
/// When it is not, or cannot be started; that is told already, and nothing was called.
pub(super) async fn prepared(app: &App, host: &Host, tool: &str) -> Result<(), Exit> {
    match until_first(host.prepare(tool)).await {
        None => Err(app.interrupted(Exit::ToolFailed)),
        Some(Ok(())) => Ok(()),
        Some(Err((findings, Exit::Refused))) => Err(app.refuse(findings)),
        Some(Err((findings, exit))) => Err(app.fail(findings, exit)),
    }
}

/// Where the project's configuration is: from it, a later process makes the tools again.
pub(super) fn configuration(app: &App) -> Option<String> {
    let path = std::path::absolute(app.project_path()?).ok()?;
    Some(context_key(&path))
}

/// Waits until everything is on the disk that was said about the run.
pub(super) async fn written(app: &App, journal: &SqliteJournal) {
    let journal = journal.clone();
    let flushed = tokio::task::spawn_blocking(move || journal.flush());
    if let Some(Ok(Err(error))) = until_next(flushed).await
        && app.output.format != Format::Json
    {
        app.output.error(&format!("warning: not everything of this run is kept: {}\n", one_line(&error.to_string())));
    }
}

fn note_mistakes_elsewhere(app: &App, host: &Host) {
    let elsewhere = host.elsewhere();
    if elsewhere > 0 && app.output.format == Format::Human {
        let things = if elsewhere == 1 { "mistake" } else { "mistakes" };
        app.output.note(&format!("note: the configuration has {elsewhere} {things} elsewhere; `toolwright check` shows them\n"));
    }
}

/// The input of the call, with the texts in it that must not be shown.
///
/// # Errors
/// When it cannot be used, or an interrupt came first; that is told already.
pub(super) async fn given(app: &App, args: &RunArgs, schema: Option<Value>) -> Result<(Value, Vec<String>), Exit> {
    let args = args.clone();
    // Apart from everything else: standard input may have nothing to read for a long time.
    let read = tokio::task::spawn_blocking(move || {
        let input = input::build(&args, schema.as_ref())?;
        let hidden: Vec<String> = input::hidden(&input, schema.as_ref()).into_iter().map(str::to_owned).collect();
        Ok((input, hidden))
    });
    match until_first(read).await {
        None => Err(app.interrupted(Exit::ToolFailed)),
        Some(Err(_)) => Err(Exit::Bug),
        Some(Ok(read)) => read.map_err(|findings| app.fail(findings, Exit::Usage)),
    }
}

/// Calls the tool, and shows how far it is.
///
/// # Errors
/// When it was left without waiting for its end; that is told already.
pub(super) async fn call(
    app: &App,
    host: &Host,
    kept: Option<&Kept>,
    invocation: Invocation,
) -> Result<Result<ToolResult, CallError>, Exit> {
    let work = |cancel, diagnostics| {
        let invocation = invocation.cancel(cancel).diagnostics(diagnostics).clock(Arc::new(WallClock));
        host.catalog.invoke(invocation, ())
    };
    watched(app, host, kept, work).await
}

/// Does the work of a run, shows how far it is, and cancels it when an interrupt comes.
///
/// # Errors
/// When it was left without waiting for its end; that is told already.
pub(super) async fn watched<F: Future<Output = Result<ToolResult, CallError>>>(
    app: &App,
    host: &Host,
    kept: Option<&Kept>,
    work: impl FnOnce(CancelToken, Diagnostics) -> F,
) -> Result<Result<ToolResult, CallError>, Exit> {
    let cancel = CancelSource::new();
    let progress = Arc::new(Progress::new(app.output, host.secrets.clone()));
    let diagnostics = Diagnostics::disabled().with_observer(progress.clone());
    let result = until_second(app.output, &cancel, work(cancel.token(), diagnostics)).await;
    progress.clear();
    if app.output.format == Format::Human {
        for warning in progress.warnings() {
            app.output.note(&format!("warning: {}\n", host.secrets.mask(&warning)));
        }
    }
    result.ok_or_else(|| {
        let look = "what was done until then is done, and more may be";
        let help = match kept {
            Some(kept) => format!("{look}; `{}` goes on, and repeats nothing that was done", kept.resume),
            None => format!("{look}: look before you run this again"),
        };
        let finding = Finding::error("cancelled", "interrupted again: left without waiting for the tool that ran").help(help);
        app.output.fail_in_doubt(&[finding], Exit::Interrupted)
    })
}

/// The tool, when it can be called.
///
/// # Errors
/// When it cannot; the reason is told already.
pub(crate) fn ready<'h>(app: &App, host: &'h Host, id: &str) -> Result<&'h ToolView, Exit> {
    app.allows_what_is_there(host)?;
    let in_the_way = host.in_the_way();
    let Some(tool) = host.find(id) else {
        if !in_the_way.is_empty() {
            let exit = exit_of_source(in_the_way.iter().map(|finding| finding.code.as_str()));
            return Err(app.fail(in_the_way, exit));
        }
        return Err(match host.missing_source() {
            Some(why) => {
                let finding = Finding::error(why.code.as_str(), why.message.as_str());
                app.fail(vec![finding.maybe_help(why.help.clone())], exit_of_source([why.code.as_str()]))
            }
            None => app.fail(vec![unknown(host, id)], Exit::Usage),
        });
    };
    let (why, exit) = match &tool.state {
        State::Ready => return Ok(tool),
        State::Refused(why) | State::Withheld(why) | State::Stale(why) => (why, Exit::Refused),
        State::Unavailable(why) => (why, exit_of_source([why.code.as_str()])),
        State::Broken(why) => (why, Exit::DoesNotCheck),
    };
    let findings = match in_the_way.is_empty() {
        false => in_the_way,
        true => {
            let message = format!("`{id}` cannot be called: {}", why.message);
            let finding = Finding::error(why.code.as_str(), message).maybe_help(why.help.clone());
            vec![finding]
        }
    };
    Err(match exit {
        Exit::Refused => app.refuse(findings),
        exit => app.fail(findings, exit),
    })
}

/// How a command ends whose source cannot be used: a lock that cannot be believed is a mistake in the files.
fn exit_of_source<'c>(codes: impl IntoIterator<Item = &'c str>) -> Exit {
    match codes.into_iter().any(|code| code == code::LOCK_UNUSABLE) {
        true => Exit::DoesNotCheck,
        false => Exit::ToolFailed,
    }
}

/// There is no such tool.
pub(crate) fn unknown(host: &Host, id: &str) -> Finding {
    let ids = host.tools.iter().map(|tool| tool.id.as_str());
    let help = did_you_mean(id, ids).unwrap_or_else(|| "`toolwright list` shows the tools there are".to_owned());
    Finding::error("unavailable", format!("no tool has the id `{id}`")).help(help)
}

/// The result as it goes to standard output. What is nothing but blocks is printed as their text.
fn printed(output: Output, result: &ToolResult) -> String {
    match &result.output {
        Some(value) => match blocks::text(result).filter(|_| output.format != Format::Json) {
            None => shown(output, value),
            Some("") => String::new(),
            Some(text) => shown(output, &Value::from(text)),
        },
        None if output.format == Format::Json => "null\n".to_owned(),
        None => String::new(),
    }
}

/// A value as it goes to standard output: text as text, everything else as JSON.
pub(crate) fn shown(output: Output, value: &Value) -> String {
    let text = match (output.format, value.as_str()) {
        (Format::Json, _) | (Format::Human, None) => value.to_json_pretty(),
        (Format::Human | Format::Plain, Some(text)) => text.to_owned(),
        (Format::Plain, None) => value.to_json_string(),
    };
    // A terminal obeys what it is sent; a tool's output is to be read, not obeyed.
    let text = if output.terminal { printable(&text) } else { text };
    if text.ends_with('\n') { text } else { format!("{text}\n") }
}

fn notes(output: Output, host: &Host, result: &ToolResult, kept: Option<&Kept>) {
    if output.format == Format::Json {
        return;
    }
    let unseen = blocks::not_printed(result, kept);
    for note in result.notes.iter().map(|note| note.as_str()).chain(unseen.as_deref()) {
        output.note(&format!("note: {}\n", one_line(&limited(&host.secrets.mask(note)))));
    }
}

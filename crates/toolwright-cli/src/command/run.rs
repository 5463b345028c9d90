//! `run TOOL`: call a tool, print its result and nothing else.

use std::sync::Arc;
use std::time::Instant;
use std::time::{SystemTime, UNIX_EPOCH};

use toolwright::{BoxFuture, CallError, CancelSource, Clock, Diagnostics, Invocation, Timestamp, ToolResult, Value};

use crate::app::App;
use crate::args::{Format, RunArgs};
use crate::diagnostic::{Finding, did_you_mean};
use crate::exit::Exit;
use crate::failure;
use crate::host::{Host, Want};
use crate::input;
use crate::interrupt::{leave_at_next, until_first, until_next, until_second};
use crate::output::Output;
use crate::progress::Progress;
use crate::style::{limited, one_line, printable};
use crate::view::{State, ToolView};

/// Calls the tool.
pub(crate) async fn run(app: &App, args: &RunArgs) -> Exit {
    let call = |invocation| invocation;
    match with_tool(app, args, call).await {
        Err(exit) => exit,
        Ok(Outcome { result, host, .. }) => match result {
            Ok(result) => {
                app.output.result(&printed(app.output, &result));
                notes(app.output, &host, &result);
                Exit::Ok
            }
            Err(error) => failure::tell(app.output, &error, &args.tool, &host),
        },
    }
}

/// What became of a call.
pub(crate) struct Outcome {
    /// The result, or what ended the call.
    pub(crate) result: Result<ToolResult, CallError>,
    /// The host, whose servers are ended already.
    pub(crate) host: Host,
}

/// Opens what the tool needs, calls it, and ends every server again.
///
/// # Errors
/// When it did not come to the call; that is told already.
pub(crate) async fn with_tool(app: &App, args: &RunArgs, change: impl FnOnce(Invocation) -> Invocation) -> Result<Outcome, Exit> {
    let config = app.config()?;
    app.usable(&config)?;
    let grants = app.grants(&config);
    let want = Want::Tool(args.tool.clone());
    let opened = until_first(Host::open(config, &grants, &want)).await;
    let mut host = opened.ok_or_else(|| app.interrupted(Exit::ToolFailed))?;
    let input = match ready(app, &host, &args.tool) {
        Ok(tool) => given(app, args, tool.input.clone()).await,
        Err(exit) => Err(exit),
    };
    let called = match input {
        Ok((input, hidden)) => {
            hidden.iter().for_each(|text| host.secrets.add(text));
            let invocation = Invocation::new(args.tool.as_str(), input).run_id(new_run_id());
            note_mistakes_elsewhere(app, &host);
            call(app, &host, invocation, change).await
        }
        Err(exit) => Err(exit),
    };
    // Who does not want to wait for the servers still gets what became of the call.
    let _ = until_next(host.close()).await;
    leave_at_next();
    let result = called?;
    Ok(Outcome { result, host })
}

fn note_mistakes_elsewhere(app: &App, host: &Host) {
    let elsewhere = host.elsewhere();
    if elsewhere > 0 && app.output.format == Format::Human {
        let things = if elsewhere == 1 { "mistake" } else { "mistakes" };
        app.output.note(&format!("note: the configuration has {elsewhere} {things} elsewhere; `toolwright check` shows them\n"));
    }
}

/// A name that no other run has: idempotency keys begin with it, so two runs must not share one.
pub(super) fn new_run_id() -> String {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    format!("run-{:x}-{:x}", since.as_nanos(), std::process::id())
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

pub(super) async fn call(
    app: &App,
    host: &Host,
    invocation: Invocation,
    change: impl FnOnce(Invocation) -> Invocation,
) -> Result<Result<ToolResult, CallError>, Exit> {
    let cancel = CancelSource::new();
    let progress = Arc::new(Progress::new(app.output, host.secrets.clone()));
    let watched = Diagnostics::disabled().with_observer(progress.clone());
    let invocation = change(invocation).cancel(cancel.token()).diagnostics(watched).clock(Arc::new(Time(Instant::now())));
    let work = host.catalog.invoke(invocation, ());
    let result = until_second(app.output, &cancel, work).await;
    progress.clear();
    if app.output.format == Format::Human {
        for warning in progress.warnings() {
            app.output.note(&format!("warning: {}\n", host.secrets.mask(&warning)));
        }
    }
    result.ok_or_else(|| {
        let finding = Finding::error("cancelled", "interrupted again: left without waiting for the tool that ran")
            .help("what was done until then is done, and more may be: look before you run this again");
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
            return Err(app.fail(in_the_way, Exit::ToolFailed));
        }
        return Err(match host.missing_source() {
            Some(why) => {
                let finding = Finding::error(why.code.as_str(), why.message.as_str());
                app.fail(vec![finding.maybe_help(why.help.clone())], Exit::ToolFailed)
            }
            None => app.fail(vec![unknown(host, id)], Exit::Usage),
        });
    };
    let (why, exit) = match &tool.state {
        State::Ready => return Ok(tool),
        State::Refused(why) => (why, Exit::Refused),
        State::Unavailable(why) => (why, Exit::ToolFailed),
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

/// There is no such tool.
pub(crate) fn unknown(host: &Host, id: &str) -> Finding {
    let ids = host.tools.iter().map(|tool| tool.id.as_str());
    let help = did_you_mean(id, ids).unwrap_or_else(|| "`toolwright list` shows the tools there are".to_owned());
    Finding::error("unavailable", format!("no tool has the id `{id}`")).help(help)
}

/// The result as it goes to standard output.
fn printed(output: Output, result: &ToolResult) -> String {
    match &result.output {
        Some(value) => shown(output, value),
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

fn notes(output: Output, host: &Host, result: &ToolResult) {
    if output.format == Format::Json {
        return;
    }
    for note in &result.notes {
        output.note(&format!("note: {}\n", one_line(&limited(&host.secrets.mask(note)))));
    }
}

/// The clock of this machine.
struct Time(Instant);

impl Clock for Time {
    fn now(&self) -> Timestamp {
        Timestamp(u64::try_from(self.0.elapsed().as_nanos()).unwrap_or(u64::MAX))
    }

    fn sleep(&self, duration: std::time::Duration) -> BoxFuture<'static, ()> {
        Box::pin(tokio::time::sleep(duration))
    }
}

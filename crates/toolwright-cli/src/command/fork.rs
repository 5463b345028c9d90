//! `fork RUN --from STEP`: a new run that takes over what an earlier one has up to a step.

use std::path::Path;
use std::sync::Arc;

use toolwright::journal::RunHistory;
use toolwright::{CallError, Fork, Journal, ResumeOptions, ToolResult};

use super::resume::{is_there, note_another_configuration};
use super::run::{Outcome, closed, ended, opened, prepared, ready, watched, written};
use super::show::load;
use crate::app::{App, Kept};
use crate::args::{ForkArgs, Format};
use crate::exit::Exit;
use crate::grant::shell_word;
use crate::host::Host;
use crate::input;
use crate::journal;
use crate::moment::WallClock;
use crate::style::one_line;

/// Forks the run.
pub(crate) async fn fork(app: &App, args: &ForkArgs) -> Exit {
    match forked(app, args).await {
        Ok(exit) | Err(exit) => exit,
    }
}

async fn forked(app: &App, args: &ForkArgs) -> Result<Exit, Exit> {
    let (_, history) = load(app, &args.at, &args.run).await?;
    let (path, _) = app.journal_file(&args.at)?;
    let tool = history.run.tool.to_string();
    note_another_configuration(app, &history);
    let mut host = opened(app, &tool).await?;
    let done = begun(app, args, &mut host, &history, &path).await;
    closed(&host).await;
    let (result, kept) = done?;
    Ok(ended(app, &tool, &Outcome { result, host, kept: Some(kept) }))
}

async fn begun(
    app: &App,
    args: &ForkArgs,
    host: &mut Host,
    history: &RunHistory,
    path: &Path,
) -> Result<(Result<ToolResult, CallError>, Kept), Exit> {
    is_there(app, host, history)?;
    let schema = ready(app, host, &history.run.tool)?.input.clone();
    let read = app.apart({
        let (base, given, pairs, schema) = (history.run.input.clone(), args.input.clone(), args.pairs.clone(), schema.clone());
        move || input::build_over(base, given.as_deref(), &pairs, schema.as_ref())
    });
    let input = read.await?.map_err(|findings| app.fail(findings, Exit::Usage))?;
    for input in [&input, &history.run.input] {
        let hidden: Vec<String> = input::hidden(input, schema.as_ref()).into_iter().map(str::to_owned).collect();
        hidden.iter().for_each(|text| host.secrets.add(text));
    }
    prepared(app, host, &history.run.tool).await?;
    let journal = app.journal_to_write(path).await?;
    let kept = Kept { accepting: again(app, args), ..app.kept(&journal::new_run_id(), &args.at) };
    if app.output.format != Format::Json {
        app.output.note(&format!("note: run `{}` takes over what `{}` has before that step\n", kept.id, one_line(&history.run.id)));
        // One before that step is refused; one from there on is made anew.
        for doubt in history.in_doubt() {
            let (tool, at) = (one_line(doubt.begin.tool()), one_line(&doubt.begin.key.path()));
            app.output.note(&format!(
                "note: nobody knows whether `{tool}` ({at}) happened there; from that step on the fork makes its own calls\n"
            ));
        }
    }
    let fork = Fork::new(history.run.id.clone(), kept.id.as_str(), args.from.as_str()).input(input);
    let port: Arc<dyn Journal> = Arc::new(journal.clone());
    let work = |cancel, diagnostics| {
        let options = ResumeOptions::new()
            .accept(args.accept_changed.iter().map(String::as_str))
            .cancel(cancel)
            .diagnostics(diagnostics)
            .clock(Arc::new(WallClock));
        host.catalog.fork_run(&port, fork, (), options.claimed_by(journal::owner(), None))
    };
    let result = watched(app, host, Some(&kept), work).await?;
    written(app, &journal).await;
    // A fork of which nothing was written is none: what is to be done is to be done to the run that it was to come from.
    let there = journal.load(&kept.id).get().await.is_ok_and(|run| run.is_some());
    let kept = if there { kept } else { Kept { accepting: kept.accepting, ..app.kept(&history.run.id, &args.at) } };
    Ok((result, kept))
}

/// This command line, as it can be copied.
fn again(app: &App, args: &ForkArgs) -> String {
    let mut words = format!("fork {} --from {}", shell_word(&args.run), shell_word(&args.from));
    if let Some(input) = &args.input {
        words.push_str(&format!(" --input {}", shell_word(input)));
    }
    args.pairs.iter().for_each(|pair| words.push_str(&format!(" {}", shell_word(pair))));
    app.again(&words, &args.at)
}

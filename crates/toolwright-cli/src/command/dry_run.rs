//! `dry-run TOOL` and `rehearse TOOL`: what would happen, without what has effects.

use toolwright::{Invocation, StepOutputs, ToolResult};

use super::run::{Outcome, shown, with_tool};
use crate::app::App;
use crate::args::{DryArgs, Format};
use crate::exit::Exit;
use crate::failure;
use crate::input;
use crate::interrupt::until_first;
use crate::style::{one_line, printable};

/// Runs everything but what has effects; a rehearsal also enters nested composites.
pub(crate) async fn dry_run(app: &App, args: &DryArgs, rehearse: bool) -> Exit {
    let (single, all) = (args.output.clone(), args.outputs.clone());
    let read = tokio::task::spawn_blocking(move || input::outputs(&single, all.as_deref()));
    let outputs = match until_first(read).await {
        Some(Ok(Ok(outputs))) => outputs,
        Some(Ok(Err(findings))) => return app.fail(findings, Exit::Usage),
        Some(Err(_)) => return Exit::Bug,
        None => return app.interrupted(Exit::ToolFailed),
    };
    let outputs: StepOutputs = outputs.into_iter().collect();
    let change = |invocation: Invocation| match rehearse {
        true => invocation.rehearse(outputs),
        false => invocation.dry(outputs),
    };
    match with_tool(app, &args.run, None, change).await {
        Err(exit) => exit,
        Ok(Outcome { result: Ok(result), .. }) => {
            app.output.result(&told(app, &result));
            Exit::Ok
        }
        Ok(Outcome { result: Err(error), host, .. }) => failure::tell(app.output, &error, &args.run.tool, &host, None),
    }
}

fn told(app: &App, result: &ToolResult) -> String {
    let output = app.output;
    let style = output.out;
    match output.format {
        Format::Json => return format!("{}\n", result.to_value().to_json_pretty()),
        Format::Plain => return format!("{}\n", result.to_value().to_json_string()),
        Format::Human => {}
    }
    let mut out = match result.effects.len() {
        0 => "no step has effects; everything ran\n".to_owned(),
        1 => "1 step did not run:\n".to_owned(),
        many => format!("{many} steps did not run:\n"),
    };
    for record in &result.effects {
        out.push_str(&format!("  {} {}\n", style.yellow("◆"), failure::effect(record)));
        if let Some(arguments) = failure::arguments(record) {
            for line in printable(&arguments.to_json_pretty()).lines() {
                out.push_str(&format!("      {line}\n"));
            }
        }
    }
    for note in &result.notes {
        out.push_str(&format!("note: {}\n", one_line(note)));
    }
    if let Some(value) = &result.output {
        out.push_str(&format!("\n{}\n{}", style.bold("output"), shown(output, value)));
    }
    out
}

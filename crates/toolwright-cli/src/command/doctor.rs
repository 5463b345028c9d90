//! `doctor`: starts every source by itself and says what is wrong with each, and how to mend it.

mod examine;
mod report;

use crate::app::App;
use crate::args::Format;
use crate::code;
use crate::exit::Exit;
use crate::interrupt::{leave_at_next, until_first};
use examine::Examined;

/// Examines every source. Ends with 10 when one is not there, with 20 when one cannot be used as it is written, and with 12
/// when tools are not what was accepted.
pub(crate) async fn doctor(app: &App) -> Exit {
    let config = match app.config_with_locks() {
        Ok(config) => config,
        Err(exit) => return exit,
    };
    if let Err(exit) = app.usable(&config) {
        return exit;
    }
    let Some(examined) = until_first(examine::all(&config)).await else {
        return app.interrupted(Exit::Interrupted);
    };
    leave_at_next();
    match app.output.format {
        Format::Json => app.output.json(&report::to_json(&examined)),
        Format::Plain => app.output.result(&examined.iter().map(report::plain).collect::<String>()),
        Format::Human => app.output.result(&report::human(&examined, app.output)),
    }
    exit_of(&examined)
}

fn exit_of(examined: &[Examined]) -> Exit {
    let any =
        |holds: fn(&str) -> bool| examined.iter().flat_map(|source| &source.problems).any(|problem| problem.fatal && holds(&problem.code));
    let unreachable = |code: &str| code.starts_with("upstream_") || code == "command_not_found" || code == code::SOURCE_UNAVAILABLE;
    match (any(unreachable), any(|code| code != code::CATALOG_CHANGED), any(|_| true)) {
        (true, ..) => Exit::ToolFailed,
        (_, true, _) => Exit::DoesNotCheck,
        (.., true) => Exit::NeedsApproval,
        _ => Exit::Ok,
    }
}

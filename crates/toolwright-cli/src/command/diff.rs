//! `diff`: what servers say about their tools that the lock does not. Nothing is written.

use serde_json::json;

use super::lock::{Looked, look};
use crate::app::App;
use crate::args::Format;
use crate::exit::Exit;
use crate::lock::What;
use crate::lock::difference::Difference;

/// Shows the differences; 12 when there are any, since somebody has to look at them.
pub(crate) async fn diff(app: &App) -> Exit {
    let looked = match look(app).await {
        Ok(looked) => looked,
        Err(exit) => return exit,
    };
    let differs = looked.plans.iter().any(|plan| !plan.changes.is_empty());
    match app.output.format {
        Format::Json => app.output.json(&to_json(&looked)),
        Format::Plain => app.output.result(&plain(&looked)),
        Format::Human if !differs && looked.silent.is_empty() => app.output.result("nothing is different\n"),
        Format::Human => app.output.result(&looked.shown(app.output.out, app.output.width())),
    }
    match (looked.silent.is_empty(), differs) {
        (false, _) => app.fail(looked.silent, Exit::ToolFailed),
        (true, true) => {
            app.output.note("`toolwright lock` accepts this; until then the tools that changed are withheld\n");
            Exit::NeedsApproval
        }
        (true, false) => Exit::Ok,
    }
}

fn word(what: &What) -> &'static str {
    match what {
        What::Added => "added",
        What::Removed => "removed",
        What::Changed(_) => "changed",
    }
}

/// Columns with tabs between them: what happened, source, tool, members that changed.
fn plain(looked: &Looked) -> String {
    let changes = looked.plans.iter().flat_map(|plan| &plan.changes);
    let line = |change: &crate::lock::Change| {
        let members = match &change.what {
            What::Changed(members) => members.join(","),
            What::Added | What::Removed => String::new(),
        };
        let columns = [word(&change.what), &change.source, &change.tool, &members].map(crate::style::one_line);
        format!("{}\n", columns.join("\t"))
    };
    changes.map(line).collect()
}

fn to_json(looked: &Looked) -> serde_json::Value {
    let changes = looked.plans.iter().flat_map(|plan| {
        plan.changes.iter().map(move |change| {
            json!({
                "file": plan.file.beside.name(),
                "source": change.source,
                "tool": change.tool,
                "what": word(&change.what),
                "differences": plan.differences(change).iter().map(Difference::to_json).collect::<Vec<_>>(),
            })
        })
    });
    json!({
        "changes": changes.collect::<Vec<_>>(),
        "notAsked": looked.silent.iter().map(|finding| finding.message.as_str()).collect::<Vec<_>>(),
    })
}

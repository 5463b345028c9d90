//! `graph TOOL`: a composite as a picture. Steps with effects stand out.

use crate::app::App;
use crate::args::Drawing;
use crate::code;
use crate::diagnostic::Finding;
use crate::exit::Exit;
use crate::host::{Host, Want};
use crate::interrupt::{leave_at_next, until_first};
use crate::style::{Style, one_line};
use crate::view::{Inside, StepView, ToolView, stands_out};
use crate::wiring::{From, reads};

/// Prints the picture of a composite.
pub(crate) async fn graph(app: &App, id: &str, drawing: Drawing) -> Exit {
    let host = match open(app, id).await {
        Ok(host) => host,
        Err(exit) => return exit,
    };
    let tool = match host.find(id) {
        Some(tool) => tool,
        None => return app.fail(vec![super::run::unknown(&host, id)], Exit::Usage),
    };
    let tool = &tool.clean();
    let Some(inside) = &tool.inside else {
        let message = format!("`{id}` is no composite: it is one call, and there is nothing to draw");
        let finding = Finding::error(code::USAGE, message).help(format!("`toolwright describe {id}` shows what it takes and gives"));
        return app.fail(vec![finding], Exit::Usage);
    };
    let picture = draw(tool, inside, drawing, app.output.out);
    app.output.result(&picture);
    Exit::Ok
}

/// What is known of one tool and of what it needs; nothing stays open.
///
/// # Errors
/// When the file cannot be used; that is told already.
pub(crate) async fn open(app: &App, id: &str) -> Result<Host, Exit> {
    let config = app.config_with_locks()?;
    app.usable(&config)?;
    let grants = app.grants(&config);
    let want = Want::Tool(id.to_owned());
    let opened = until_first(Host::open(config, &grants, &want)).await;
    let host = opened.ok_or_else(|| app.interrupted(Exit::Interrupted))?;
    match until_first(host.close()).await {
        Some(()) => {
            leave_at_next();
            app.allows_what_is_there(&host).map(|()| host)
        }
        None => Err(app.interrupted(Exit::Interrupted)),
    }
}

/// The picture of a composite.
fn draw(tool: &ToolView, inside: &Inside, drawing: Drawing, style: Style) -> String {
    match drawing {
        Drawing::Text => text(tool, inside, style),
        Drawing::Mermaid => mermaid(tool, inside),
        Drawing::Dot => dot(tool, inside),
    }
}

fn words(step: &StepView) -> String {
    step.effect_words()
}

fn loud(step: &StepView) -> bool {
    step.effect.as_ref().is_none_or(|effect| stands_out(effect.as_ref()))
}

fn text(tool: &ToolView, inside: &Inside, style: Style) -> String {
    let mut out = format!("{}\n", style.bold(&tool.id));
    out.push_str("│\n○ input\n");
    for (index, step) in inside.steps.iter().enumerate() {
        out.push_str("│\n");
        let loud = loud(step);
        let bullet = if loud { "◆" } else { "●" };
        let nested = if step.nested { ", a composite" } else { "" };
        let tail = format!("{} ({}{nested})", step.tool, words(step));
        let name = one_line(&step.name);
        let line = if loud {
            format!("{} {}  {}", style.yellow(bullet), style.bold(&name), style.yellow(&tail))
        } else {
            format!("{bullet} {}  {tail}", style.bold(&name))
        };
        out.push_str(&line);
        out.push('\n');
        for (from, arguments) in reads(&step.mapping, index, &inside.steps) {
            let from = source_name(&from, inside);
            let line = format!("│   {} ← {from}\n", one_line(&arguments.join(", ")));
            out.push_str(&style.dim(&line));
        }
    }
    out.push_str("│\n○ output");
    let from: Vec<String> = match &inside.output {
        Some(mapping) => reads(mapping, inside.steps.len(), &inside.steps).iter().map(|(from, _)| source_name(from, inside)).collect(),
        None => inside.steps.last().map(|step| one_line(&step.name)).into_iter().collect(),
    };
    if !from.is_empty() {
        out.push_str(&style.dim(&format!(" ← {}", from.join(", "))));
    }
    out.push_str("\n\n");
    out.push_str(&style.dim("● no effects   ◆ effects, or effects not known\n"));
    out
}

fn source_name(from: &From, inside: &Inside) -> String {
    match from {
        From::Input => "input".to_owned(),
        From::Step(at) => inside.steps.get(*at).map_or_else(|| format!("step {at}"), |step| one_line(&step.name)),
    }
}

/// Every line of the picture: from where, to where, with what.
fn lines(inside: &Inside) -> Vec<(String, String, String)> {
    let node = |from: &From| match from {
        From::Input => "input".to_owned(),
        From::Step(at) => format!("s{at}"),
    };
    let mut lines = Vec::new();
    for (index, step) in inside.steps.iter().enumerate() {
        for (from, arguments) in reads(&step.mapping, index, &inside.steps) {
            lines.push((node(&from), format!("s{index}"), arguments.join(", ")));
        }
    }
    match (&inside.output, inside.steps.len().checked_sub(1)) {
        (Some(mapping), _) => {
            for (from, members) in reads(mapping, inside.steps.len(), &inside.steps) {
                lines.push((node(&from), "output".to_owned(), members.join(", ")));
            }
        }
        (None, Some(last)) => lines.push((format!("s{last}"), "output".to_owned(), String::new())),
        (None, None) => {}
    }
    lines
}

/// Steps that no line ties to the one before it still run after it.
fn order(inside: &Inside, lines: &[(String, String, String)]) -> Vec<(String, String)> {
    (1..inside.steps.len())
        .map(|index| (format!("s{}", index - 1), format!("s{index}")))
        .filter(|(from, to)| !lines.iter().any(|(f, t, _)| f == from && t == to))
        .collect()
}

fn mermaid(tool: &ToolView, inside: &Inside) -> String {
    // Mermaid reads `#quot;` and takes no other way to write a quote inside quotes.
    let quote = |text: &str| one_line(text).replace('#', "#35;").replace('"', "#quot;");
    let mut out = format!("---\ntitle: {}\n---\nflowchart TD\n", quote(&tool.id));
    out.push_str("  input([input])\n");
    for (index, step) in inside.steps.iter().enumerate() {
        let label = format!("{}<br/>{} ({})", quote(&step.name), quote(&step.tool), quote(&words(step)));
        let class = if loud(step) { ":::effect" } else { "" };
        let (open, close) = if step.nested { ("[[", "]]") } else { ("[", "]") };
        out.push_str(&format!("  s{index}{open}\"{label}\"{close}{class}\n"));
    }
    out.push_str("  output([output])\n");
    let lines = lines(inside);
    for (from, to, label) in &lines {
        match label.as_str() {
            "" => out.push_str(&format!("  {from} --> {to}\n")),
            label => out.push_str(&format!("  {from} -->|\"{}\"| {to}\n", quote(label))),
        }
    }
    for (from, to) in order(inside, &lines) {
        out.push_str(&format!("  {from} -.-> {to}\n"));
    }
    out.push_str("  classDef effect stroke:#b45309,stroke-width:3px\n");
    out
}

fn dot(tool: &ToolView, inside: &Inside) -> String {
    let quote = |text: &str| one_line(text).replace('\\', "\\\\").replace('"', "\\\"");
    let mut out = format!("digraph \"{}\" {{\n  rankdir=TB;\n", quote(&tool.id));
    out.push_str("  node [shape=box, style=rounded];\n  input [shape=oval];\n  output [shape=oval];\n");
    for (index, step) in inside.steps.iter().enumerate() {
        let label = format!("{}\\n{} ({})", quote(&step.name), quote(&step.tool), quote(&words(step)));
        let mut look = String::new();
        if step.nested {
            look.push_str(", peripheries=2");
        }
        if loud(step) {
            look.push_str(", color=\"#b45309\", penwidth=3");
        }
        out.push_str(&format!("  s{index} [label=\"{label}\"{look}];\n"));
    }
    let lines = lines(inside);
    for (from, to, label) in &lines {
        match label.as_str() {
            "" => out.push_str(&format!("  {from} -> {to};\n")),
            label => out.push_str(&format!("  {from} -> {to} [label=\"{}\"];\n", quote(label))),
        }
    }
    for (from, to) in order(inside, &lines) {
        out.push_str(&format!("  {from} -> {to} [style=dashed];\n"));
    }
    out.push_str("}\n");
    out
}

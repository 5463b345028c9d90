//! `list`: every tool there is, also those that cannot be called, with the reason.

use std::fmt::Write as _;

use crate::app::App;
use crate::args::{Format, SeenArgs};
use crate::exit::Exit;
use crate::host::{Host, Want};
use crate::interrupt::{leave_at_next, until_first};
use crate::output::Output;
use crate::serving::Serving;
use crate::style::{columns, cut, limited, one_line, pad, printable, wrap};
use crate::view::{State, ToolView, Why, effect_words, stands_out};

mod clients;

/// Lists the tools; `all` also shows hidden ones, `ask` starts every server, `seen` shows them as those clients see them.
pub(crate) async fn list(app: &App, all: bool, ask: bool, seen: Option<&SeenArgs>) -> Exit {
    let config = match app.config_with_locks() {
        Ok(config) => config,
        Err(exit) => return exit,
    };
    if let Err(exit) = app.usable(&config) {
        return exit;
    }
    let serving = match seen.map(|seen| Serving::of(&config, seen)).transpose() {
        Ok(serving) => serving,
        Err(findings) => return app.fail(findings, Exit::DoesNotCheck),
    };
    let audience = match serving.as_ref().map(Serving::default_audience).transpose() {
        Ok(audience) => audience.cloned(),
        Err(finding) => return app.fail(vec![*finding], Exit::Usage),
    };
    let grants = app.grants(&config);
    let want = if ask { Want::Compared } else { Want::Locked { ask: true } };
    let opened = until_first(Host::open(config, &grants, &want)).await;
    let Some(host) = opened else {
        return app.interrupted(Exit::Interrupted);
    };
    if until_first(host.close()).await.is_none() {
        return app.interrupted(Exit::Interrupted);
    }
    leave_at_next();
    if let Err(exit) = app.allows_what_is_there(&host) {
        return exit;
    }
    if let (Some(serving), Some(audience)) = (&serving, &audience) {
        app.output.result(&clients::text(app, &host, serving, audience));
        return Exit::Ok;
    }
    let shown: Vec<&ToolView> = host.tools.iter().filter(|tool| all || !tool.hidden).collect();
    let text = match app.output.format {
        Format::Json => json(&host, &shown),
        Format::Plain => shown.iter().map(|tool| plain(&tool.clean())).collect(),
        Format::Human => {
            let clean: Vec<ToolView> = shown.iter().map(|tool| tool.clean()).collect();
            human(app.output, &host, &clean.iter().collect::<Vec<_>>())
        }
    };
    app.output.result(&text);
    Exit::Ok
}

fn json(host: &Host, shown: &[&ToolView]) -> String {
    let sources = host.sources.iter().map(|source| {
        let why = source.why.as_ref();
        serde_json::json!({
            "name": source.name,
            "kind": source.kind,
            "available": why.is_none(),
            "why": why.map(Why::to_json),
            "skipped": source.skipped.iter()
                .map(|(name, reason)| serde_json::json!({"name": name, "reason": reason}))
                .collect::<Vec<_>>(),
        })
    });
    let document = serde_json::json!({
        "tools": shown.iter().map(|tool| tool.to_json(false)).collect::<Vec<_>>(),
        "sources": sources.collect::<Vec<_>>(),
    });
    format!("{document:#}\n")
}

/// Columns with tabs between them: id, state, effect, source, description.
fn plain(tool: &ToolView) -> String {
    let columns = [tool.id.clone(), tool.state.word().to_owned(), tool.effect_words(), tool.source.clone(), one_line(&tool.description)];
    format!("{}\n", columns.join("\t"))
}

fn human(output: Output, host: &Host, shown: &[&ToolView]) -> String {
    let style = output.out;
    let mut out = String::new();
    let widths = shown.iter().map(|tool| columns(&tool.id));
    let id_width = widths.filter(|width| *width <= ID_WIDTH_MAX).max().unwrap_or(0).max(8);
    for source in &host.sources {
        let tools: Vec<&&ToolView> = shown.iter().filter(|tool| tool.inside.is_none() && tool.source == one_line(&source.name)).collect();
        if tools.is_empty() && source.why.is_none() && source.skipped.is_empty() {
            continue;
        }
        heading(&mut out, output, &one_line(&source.name), kind_words(&source.kind));
        for tool in tools {
            row(&mut out, output, tool, id_width);
        }
        for (name, reason) in &source.skipped {
            let text = format!("{}: not offered: {}", one_line(name), one_line(&limited(reason)));
            let _ = writeln!(out, "{}", style.dim(&wrap(&text, output.width(), "  ")));
        }
        if let Some(why) = &source.why {
            let text = format!("not there: {}", one_line(&limited(&why.message)));
            let _ = writeln!(out, "{}", style.red(&wrap(&text, output.width(), "  ")));
        }
    }
    let composites: Vec<&&ToolView> = shown.iter().filter(|tool| tool.inside.is_some()).collect();
    if !composites.is_empty() {
        heading(&mut out, output, "composites", "");
        for tool in composites {
            row(&mut out, output, tool, id_width);
            inside(&mut out, output, tool);
        }
    }
    if out.is_empty() {
        out.push_str("there are no tools\n");
    }
    out
}

fn heading(out: &mut String, output: Output, name: &str, kind: &str) {
    if !out.is_empty() {
        out.push('\n');
    }
    let kind = if kind.is_empty() { String::new() } else { format!("  {kind}") };
    let _ = writeln!(out, "{}{}", output.out.bold(name), output.out.dim(&kind));
}

fn row(out: &mut String, output: Output, tool: &ToolView, id_width: usize) {
    let style = output.out;
    let effect = tool.effect_words();
    let (word, painted) = match &tool.state {
        State::Ready if stands_out(tool.effect.as_ref()) => (effect.clone(), style.yellow(&effect)),
        State::Ready => (effect.clone(), style.green(&effect)),
        other => (other.word().to_owned(), style.red(other.word())),
    };
    let fill = " ".repeat(EFFECT_WIDTH.saturating_sub(columns(&word)));
    let room = output.width().saturating_sub(id_width + EFFECT_WIDTH + 6);
    let hidden = if tool.hidden { "(hidden) " } else { "" };
    let description = cut(&format!("{hidden}{}", first_paragraph(&tool.description)), room);
    let id = style.bold(&pad(&tool.id, id_width));
    // An id that is wider than its column has a line of its own.
    let gap = if columns(&tool.id) > id_width { format!("\n  {}", " ".repeat(id_width)) } else { String::new() };
    let line = format!("  {id}{gap}  {painted}{fill}  {description}");
    let _ = writeln!(out, "{}", line.trim_end());
    if let Some(why) = tool.state.why() {
        reason(out, output, why);
    }
}

/// What a description says first; `describe` has the rest.
fn first_paragraph(description: &str) -> String {
    let lines = description.trim_start().lines().take_while(|line| !line.trim().is_empty());
    one_line(&lines.collect::<Vec<_>>().join(" "))
}

/// Columns that ids get at most.
const ID_WIDTH_MAX: usize = 32;

/// Columns of the effect.
const EFFECT_WIDTH: usize = 11;

fn reason(out: &mut String, output: Output, why: &Why) {
    let text = format!("{}: {}", one_line(&why.code), one_line(&limited(&why.message)));
    let _ = writeln!(out, "{}", wrap(&text, output.width(), "      "));
    if let Some(help) = &why.help {
        let _ = writeln!(out, "{}", wrap(&printable(&limited(help)), output.width(), "      "));
    }
}

fn inside(out: &mut String, output: Output, tool: &ToolView) {
    let Some(inside) = &tool.inside else { return };
    let steps: Vec<String> = inside.steps.iter().map(|step| step.tool.clone()).collect();
    let text = format!("steps: {}", steps.join(" → "));
    let _ = writeln!(out, "{}", output.out.dim(&wrap(&text, output.width(), "      ")));
    if !inside.effects.is_empty() {
        // One tool may be reached in many ways; here its name is enough.
        let mut effects: Vec<String> = Vec::new();
        for (_, tool, effect) in &inside.effects {
            let words = format!("{tool} ({})", effect_words(effect.as_ref()));
            if !effects.contains(&words) {
                effects.push(words);
            }
        }
        let text = format!("effects: {}", effects.join(", "));
        let _ = writeln!(out, "{}", output.out.yellow(&wrap(&text, output.width(), "      ")));
    }
}

/// What a source is, in words.
pub(crate) fn kind_words(kind: &str) -> &'static str {
    match kind {
        "command" => "command lines",
        "mcp-stdio" => "MCP server over stdio",
        "mcp-http" => "MCP server over HTTP",
        "mcp" => "MCP server",
        "composite" => "composite",
        _ => "",
    }
}

//! `describe TOOL`: what it takes, what it gives, what it does to the world.

pub(super) mod schema;

use std::fmt::Write as _;

use super::graph::open;
use super::list::kind_words;
use crate::app::App;
use crate::args::Format;
use crate::exit::Exit;
use crate::grant::shell_word;
use crate::output::Output;
use crate::style::{limited, one_line, printable, wrap};
use crate::view::{ToolView, effect_words, stands_out};

/// Describes one tool.
pub(crate) async fn describe(app: &App, id: &str) -> Exit {
    let host = match open(app, id).await {
        Ok(host) => host,
        Err(exit) => return exit,
    };
    let Some(tool) = host.find(id) else {
        let in_the_way = host.in_the_way();
        if !in_the_way.is_empty() {
            return app.fail(in_the_way, Exit::ToolFailed);
        }
        return app.fail(vec![super::run::unknown(&host, id)], Exit::Usage);
    };
    let text = match app.output.format {
        Format::Json => format!("{:#}\n", tool.to_json(true)),
        Format::Human | Format::Plain => human(app.output, &tool.clean()),
    };
    app.output.result(&text);
    Exit::Ok
}

fn human(output: Output, tool: &ToolView) -> String {
    let style = output.out;
    let mut out = style.bold(&tool.id);
    if let Some(title) = &tool.title {
        let _ = write!(out, "  {}", one_line(title));
    }
    out.push('\n');
    // What stands for a description may be the title itself.
    if !tool.description.is_empty() && tool.title.as_deref() != Some(tool.description.as_str()) {
        let description = printable(&tool.description);
        let _ = writeln!(out, "{}", wrap(description.trim_end(), output.width(), ""));
    }
    out.push('\n');
    let effect = tool.effect_words();
    let effect = match stands_out(tool.effect.as_ref()) {
        true => style.yellow(&effect),
        false => style.green(&effect),
    };
    let from = match tool.effect_from.as_str() {
        "" => String::new(),
        from => format!(" ({from})"),
    };
    fact(&mut out, output, "effect", &format!("{effect}{from}"));
    let source = match tool.inside {
        Some(_) => "a composite".to_owned(),
        None => format!("{}, {}", tool.source, kind_words(&tool.kind)),
    };
    fact(&mut out, output, "source", source.trim_end_matches([',', ' ']));
    if let Some(why) = tool.state.why() {
        let text = format!("{}: {}", one_line(&why.code), one_line(&limited(&why.message)));
        fact(&mut out, output, tool.state.word(), &text);
        if let Some(help) = &why.help {
            fact(&mut out, output, "", &printable(&limited(help)));
        }
    }
    if tool.hidden {
        fact(&mut out, output, "hidden", "not listed; composites may use it");
    }
    steps(&mut out, output, tool);
    if let Some(learned) = &tool.learned {
        fact(&mut out, output, "learned", &format!("{}, in {}", learned.confidence(), learned.file));
        fact(&mut out, output, "", &learned.use_words(&tool.id));
        learned.sometimes_words().iter().for_each(|words| fact(&mut out, output, "", &format!("not always there: {words}")));
    }
    out.push('\n');
    let learned = tool.learned.as_ref().map(|learned| learned.schema.clone());
    for (name, part) in [("input", &tool.input), ("output", &tool.output.clone().or(learned))] {
        if !schema::show(&mut out, output, name, part.as_ref()) {
            let text = format!("the members below are in `toolwright schema {} --{name}`", shell_word(&tool.id));
            let _ = writeln!(out, "{}", style.dim(&wrap(&text, output.width(), "  ")));
        }
    }
    for (input, result) in &tool.examples {
        let _ = writeln!(out, "{}", style.bold("example"));
        indented(&mut out, &input.to_json_pretty());
        if let Some(result) = result {
            let _ = writeln!(out, "  {}", style.dim("gives"));
            indented(&mut out, &result.to_json_pretty());
        }
    }
    out
}

fn fact(out: &mut String, output: Output, name: &str, text: &str) {
    let indent = " ".repeat(FACT_WIDTH);
    let wrapped = wrap(text, output.width(), &indent);
    let padded = format!("{name:<FACT_WIDTH$}");
    let _ = writeln!(out, "{}{}", output.out.dim(&padded), wrapped.trim_start());
}

/// Columns of a fact's name.
const FACT_WIDTH: usize = 13;

fn steps(out: &mut String, output: Output, tool: &ToolView) {
    let Some(inside) = &tool.inside else { return };
    let style = output.out;
    for (index, step) in inside.steps.iter().enumerate() {
        let name = if index == 0 { "steps" } else { "" };
        let effect = step.effect_words();
        let loud = step.effect.as_ref().is_none_or(|effect| stands_out(effect.as_ref()));
        let effect = if loud { style.yellow(&effect) } else { effect };
        let nested = if step.nested { ", a composite" } else { "" };
        let text = format!("{}. {}: {} ({effect}{nested})", index + 1, one_line(&step.name), step.tool);
        fact(out, output, name, &text);
    }
    fact(out, output, "touches", &inside.touches.join(", "));
    let mut effects: Vec<String> = inside
        .effects
        .iter()
        .map(|(path, tool, effect)| format!("{} by {tool} ({})", effect_words(effect.as_ref()), one_line(&path.join("/"))))
        .collect();
    if inside.effects_left_out > 0 {
        effects.push(format!("and {} more", inside.effects_left_out));
    }
    if !effects.is_empty() {
        fact(out, output, "effects", &effects.join("; "));
    }
}

fn indented(out: &mut String, text: &str) {
    for line in printable(text).lines() {
        let _ = writeln!(out, "  {line}");
    }
}

//! `learn TOOL`: what a tool gives that does not say it, learned from outputs, kept beside the configuration.

use std::fmt::Write as _;
use std::path::Path;

use serde_json::json;
use toolwright::{Impact, Invocation, Value};

use super::describe::schema;
use super::run;
use crate::app::App;
use crate::args::{Format, LearnArgs};
use crate::code;
use crate::config::{Config, Layer};
use crate::diagnostic::Finding;
use crate::exit::Exit;
use crate::failure;
use crate::grant::shell_word;
use crate::host::{Host, Want};
use crate::input;
use crate::interrupt::{leave_at_next, until_first, until_next};
use crate::journal;
use crate::learned::{LearnedFile, LearnedTool};
use crate::style::{one_line, wrap};
use crate::view::{ToolView, effect_words};

/// Learns, or changes or shows what was learned.
pub(crate) async fn learn(app: &App, args: &LearnArgs) -> Exit {
    match learned(app, args).await {
        Ok(exit) | Err(exit) => exit,
    }
}

async fn learned(app: &App, args: &LearnArgs) -> Result<Exit, Exit> {
    let config = app.config_with_locks()?;
    // A broken entry can be forgotten; a broken file cannot be written.
    app.usable(&config)?;
    let id = args.run.tool.as_str();
    let gives = !args.from.is_empty() || args.run.input.is_some() || !args.run.pairs.is_empty() || args.times.is_some();
    match (args.show, args.forget, args.unpin, args.pin && !gives) {
        (true, ..) => show(app, config, id),
        (_, true, ..) => forget(app, config, id),
        (_, _, true, _) => pin(app, config, id, false),
        (.., true) => pin(app, config, id, true),
        _ => from_outputs(app, config, args).await,
    }
}

/// The file that has something about the tool, the project's first.
fn file_of(app: &App, mut config: Config, id: &str) -> Result<LearnedFile, Exit> {
    config.learned.sort_by_key(|file| file.layer == Layer::User);
    config.learned.into_iter().find(|file| file.has(id)).ok_or_else(|| {
        let finding = Finding::error(code::USAGE, format!("nothing was learned of `{id}`"));
        let word = shell_word(id);
        app.fail(vec![finding.help(format!("`toolwright learn {word}` learns from its examples, `--from FILE` from outputs"))], Exit::Usage)
    })
}

fn entry_of(app: &App, file: &LearnedFile, id: &str) -> Result<LearnedTool, Exit> {
    file.tool(id).cloned().ok_or_else(|| {
        let finding = file.beside.wrong(&crate::beside::below("/tools", id), format!("what was learned of `{id}` cannot be used"));
        app.fail(vec![finding], Exit::DoesNotCheck)
    })
}

fn keep(app: &App, file: &mut LearnedFile, id: &str, entry: Option<LearnedTool>) -> Result<(), Exit> {
    file.keep(id, entry).map_err(|why| app.fail(vec![Finding::error(code::LEARNED_UNUSABLE, why)], Exit::Usage))
}

fn show(app: &App, config: Config, id: &str) -> Result<Exit, Exit> {
    let file = file_of(app, config, id)?;
    let entry = entry_of(app, &file, id)?;
    tell(app, id, &entry, &file, 0, 0);
    Ok(Exit::Ok)
}

fn forget(app: &App, config: Config, id: &str) -> Result<Exit, Exit> {
    let mut file = file_of(app, config, id)?;
    keep(app, &mut file, id, None)?;
    match app.output.format {
        Format::Json => app.output.json(&json!({"tool": id, "file": file.beside.name(), "forgotten": true})),
        Format::Human | Format::Plain => app.output.result(&format!("forgotten: what was learned of `{}`\n", one_line(id))),
    }
    Ok(Exit::Ok)
}

fn pin(app: &App, config: Config, id: &str, pinned: bool) -> Result<Exit, Exit> {
    let mut file = file_of(app, config, id)?;
    let mut entry = entry_of(app, &file, id)?;
    entry.pinned = pinned;
    entry.refresh();
    keep(app, &mut file, id, Some(entry.clone()))?;
    tell(app, id, &entry, &file, 0, 0);
    Ok(Exit::Ok)
}

async fn from_outputs(app: &App, mut config: Config, args: &LearnArgs) -> Result<Exit, Exit> {
    let id = args.run.tool.as_str();
    // What was learned must not judge what is learned from.
    let files = std::mem::take(&mut config.learned);
    let layers: Vec<(String, Layer)> = config.sources.iter().map(|source| (source.name.clone(), config.layer(&source.place))).collect();
    let grants = app.grants(&config);
    let opened = until_first(Host::open(config, &grants, &Want::Tool(id.to_owned()))).await;
    let mut host = opened.ok_or_else(|| app.interrupted(Exit::ToolFailed))?;
    let outputs = outputs(app, &mut host, args).await;
    let _ = until_next(host.close()).await;
    leave_at_next();
    let outputs = outputs?;
    if outputs.is_empty() {
        let finding =
            Finding::error(code::LEARN_REFUSED, "there is no output to learn from").help("the tool gave none, or the files are empty");
        return Err(app.fail(vec![finding], Exit::Usage));
    }
    let layer = host.find(id).and_then(|tool| layers.iter().find(|(name, _)| *name == tool.source)).map(|(_, layer)| *layer);
    let file = files.into_iter().find(|file| Some(file.layer) == layer);
    let mut file = file.ok_or_else(|| app.fail(vec![Finding::error(code::USAGE, "there is no place to keep it")], Exit::Usage))?;
    let mut entry = file.tool(id).cloned().unwrap_or_else(LearnedTool::new);
    let unfit = match entry.pinned {
        true => unfit(&entry.schema, &outputs),
        false => 0,
    };
    outputs.iter().for_each(|output| entry.learned.add(output));
    entry.pinned |= args.pin;
    if !entry.pinned || args.pin {
        entry.refresh();
    }
    keep(app, &mut file, id, Some(entry.clone()))?;
    tell(app, id, &entry, &file, outputs.len(), if args.pin { 0 } else { unfit });
    Ok(Exit::Ok)
}

/// How many outputs a pinned schema would refuse.
fn unfit(schema: &Value, outputs: &[Value]) -> usize {
    outputs.len() - toolwright::schema::fitting(schema, outputs).unwrap_or_default()
}

/// The outputs to learn from.
async fn outputs(app: &App, host: &mut Host, args: &LearnArgs) -> Result<Vec<Value>, Exit> {
    let tool = run::ready(app, host, &args.run.tool)?.clone();
    if let Some(finding) = says_it_itself(&tool) {
        return Err(app.fail(vec![finding], Exit::Usage));
    }
    if !args.from.is_empty() {
        let read: Vec<_> = args.from.iter().map(|path| input::outputs_in(path)).collect();
        let wrong: Vec<Finding> = read.iter().filter_map(|read| read.as_ref().err()).map(|finding| (**finding).clone()).collect();
        return match wrong.is_empty() {
            true => Ok(read.into_iter().flatten().flatten().map(|output| host.secrets.learnable(&output)).collect()),
            false => Err(app.fail(wrong, Exit::Usage)),
        };
    }
    if let Some(finding) = may_not_be_run(&tool) {
        return Err(app.refuse(vec![finding]));
    }
    let own = args.run.input.is_some() || !args.run.pairs.is_empty() || tool.examples.is_empty();
    let inputs = match own {
        true => {
            let (input, hidden) = run::given(app, &args.run, tool.input.clone()).await?;
            hidden.iter().for_each(|text| host.secrets.add(text));
            vec![input]
        }
        false => tool.examples.iter().map(|(input, _)| input.clone()).collect(),
    };
    let mut outputs = Vec::new();
    for input in inputs.iter().flat_map(|input| std::iter::repeat_n(input, args.times.unwrap_or(1) as usize)) {
        let invocation = Invocation::new(tool.id.as_str(), input.clone()).run_id(journal::new_run_id());
        let result = run::call(app, host, None, invocation).await?;
        let result = result.map_err(|error| failure::tell(app.output, &error, &tool.id, host, None))?;
        outputs.extend(result.output.map(|output| host.secrets.learnable(&output)));
    }
    Ok(outputs)
}

/// A tool that says what it gives is not guessed at.
fn says_it_itself(tool: &ToolView) -> Option<Finding> {
    let id = one_line(&tool.id);
    if tool.inside.is_some() {
        let finding = Finding::error(code::LEARN_REFUSED, format!("`{id}` is a composite: what it gives follows from its steps"));
        return Some(finding.help("learn from the tools of its steps that do not say what they give"));
    }
    tool.output.as_ref().map(|_| {
        let finding = Finding::error(code::LEARN_REFUSED, format!("`{id}` declares an output schema, and that is what counts"));
        finding.help(format!("`toolwright schema {} --output` shows it", shell_word(&tool.id)))
    })
}

/// Only a tool that says that it changes nothing is run to see what it gives.
fn may_not_be_run(tool: &ToolView) -> Option<Finding> {
    let impact = tool.effect.as_ref().map(|effect| effect.impact);
    if impact == Some(Impact::None) {
        return None;
    }
    let id = one_line(&tool.id);
    let why = match impact {
        None => format!("`{id}` does not say whether it has side effects, so it is not run to learn from it"),
        Some(_) => format!("`{id}` has side effects ({}), so it is not run to learn from it", effect_words(tool.effect.as_ref())),
    };
    let word = shell_word(&tool.id);
    let help = format!(
        "give outputs of it: `toolwright run {word} --format json >>outputs.json` each time you mean it, then `toolwright learn {word} --from outputs.json`"
    );
    Some(Finding::error(code::LEARN_REFUSED, why).help(help))
}

fn tell(app: &App, id: &str, entry: &LearnedTool, file: &LearnedFile, new: usize, unfit: usize) {
    let name = Path::new(&file.beside.name()).display().to_string();
    let view = entry.view(&name);
    if app.output.format == Format::Json {
        let mut told = view.to_json();
        if let Some(members) = told.as_object_mut() {
            members.insert("tool".to_owned(), json!(id));
            members.insert("new".to_owned(), json!(new));
            members.insert("unfit".to_owned(), json!(unfit));
        }
        return app.output.json(&told);
    }
    let (style, width) = (app.output.out, app.output.width());
    let mut out = format!("{}\n", style.bold(&one_line(id)));
    let mut line = |text: &str| {
        let _ = writeln!(out, "{}", wrap(text, width, ""));
    };
    if new > 0 {
        line(&format!("{new} more, kept in {name}"));
    }
    line(&format!("learned {}", view.confidence()));
    line(&view.use_words(id));
    if let Some(words) = view.sometimes_words() {
        line(&format!("not always there: {words}"));
    }
    out.push('\n');
    if !schema::show(&mut out, app.output, "output", Some(&entry.schema)) {
        let _ = writeln!(out, "{}", style.dim(&format!("the members below are in {name}")));
    }
    app.output.result(&out);
    if unfit > 0 {
        let outputs = if unfit == 1 { "1 output does" } else { &format!("{unfit} outputs do") };
        app.output.error(&format!("warning: {outputs} not fit the pinned schema; `--pin` pins what was learned now\n"));
    }
}

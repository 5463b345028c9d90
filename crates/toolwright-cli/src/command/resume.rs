//! `resume RUN`: a run that stopped goes on; what somebody knows of a call in doubt is written down first.

use std::sync::Arc;

use toolwright::journal::{Begin, Last, Record, Resolution, RunHistory, Verdict};
use toolwright::schema::fitting;
use toolwright::{Journal, ResumeOptions, Value};
use toolwright_sqlite::{RunStatus, SqliteJournal};

use super::run::{Outcome, closed, ended, opened, prepared, ready, watched, written};
use super::show::masks::configuration;
use super::show::{chosen, load};
use crate::app::{App, Kept};
use crate::args::{Format, ResumeArgs};
use crate::code;
use crate::diagnostic::Finding;
use crate::exit::Exit;
use crate::grant::{canonical, shell_word};
use crate::host::Host;
use crate::input;
use crate::journal;
use crate::moment::{WallClock, now};
use crate::style::{flat, limited, one_line};

/// Takes the run up.
pub(crate) async fn resume(app: &App, args: &ResumeArgs) -> Exit {
    match taken_up(app, args).await {
        Ok(exit) | Err(exit) => exit,
    }
}

async fn taken_up(app: &App, args: &ResumeArgs) -> Result<Exit, Exit> {
    let (summary, history) = load(app, &args.at, &args.run).await?;
    let (path, _) = app.journal_file(&args.at)?;
    let answer = args.answer.as_deref().map(Answer::of).transpose().map_err(|finding| app.fail(vec![*finding], Exit::Usage))?;
    if answer.is_some() && summary.status == RunStatus::Running {
        let message = "somebody is at work on this run, and whoever is at work on a call knows best what became of it".to_owned();
        let finding = Finding::error("journal", message).help("wait until it ends; nothing was written or run");
        return Err(app.fail(vec![finding], Exit::Refused));
    }
    let tool = history.run.tool.to_string();
    note_another_configuration(app, &history);
    let mut host = opened(app, &tool).await?;
    let resumed = resumed(app, args, &mut host, &history, answer, &path).await;
    closed(&host).await;
    let (result, kept) = resumed?;
    Ok(ended(app, &tool, &Outcome { result, host, kept: Some(kept) }))
}

type Resumed = (Result<toolwright::ToolResult, toolwright::CallError>, Kept);

async fn resumed(
    app: &App,
    args: &ResumeArgs,
    host: &mut Host,
    history: &RunHistory,
    answer: Option<Answer>,
    path: &std::path::Path,
) -> Result<Resumed, Exit> {
    is_there(app, host, history)?;
    let tool = ready(app, host, &history.run.tool)?.clone();
    let hidden: Vec<String> = input::hidden(&history.run.input, tool.input.as_ref()).into_iter().map(str::to_owned).collect();
    hidden.iter().for_each(|text| host.secrets.add(text));
    prepared(app, host, &history.run.tool).await?;
    let kept = app.kept(&history.run.id, &args.at);
    let accepting = || ResumeOptions::new().accept(args.accept_changed.iter().map(String::as_str));
    // An answer stands for good, so it is about the tools that the run began with, or about those that were accepted.
    if answer.is_some()
        && let Err(changed) = host.catalog.may_resume(history, &accepting())
    {
        return Ok((Err(changed), kept));
    }
    let journal = app.journal_to_write(path).await?;
    if let Some(answer) = answer {
        answered(app, args, host, history, &journal, answer).await?;
    }
    let port: Arc<dyn Journal> = Arc::new(journal.clone());
    let work = |cancel, diagnostics| {
        let options = accepting().cancel(cancel).diagnostics(diagnostics).clock(Arc::new(WallClock)).claimed_by(journal::owner(), None);
        host.catalog.resume_run(&port, &history.run.id, (), options)
    };
    let result = watched(app, host, Some(&kept), work).await?;
    written(app, &journal).await;
    Ok((result, kept))
}

/// The root tool must have kept its name.
pub(super) fn is_there(app: &App, host: &Host, history: &RunHistory) -> Result<(), Exit> {
    let root = history.run.tool.as_str();
    if host.find(root).is_some() || host.missing_source().is_some() {
        return Ok(());
    }
    let message = format!("the run began with `{}`, and no tool has that id now", one_line(root));
    let help = "give it its name back, or name the file that the run began with (`--file`); nothing was written or run";
    Err(app.fail(vec![Finding::error("changed_tool", message).help(help)], Exit::Refused))
}

/// Tools of another configuration may have the same names: what counts is that of this folder, and that is said.
pub(super) fn note_another_configuration(app: &App, history: &RunHistory) {
    let here = app.project_path().and_then(|path| canonical(&path));
    let Some(began_with) = configuration(history).filter(|began_with| canonical(began_with) != here) else { return };
    if app.output.format != Format::Json {
        let file = shell_word(&began_with.display().to_string());
        app.output.note(&format!("note: the run began with another configuration: `--file {}`\n", one_line(&file)));
    }
}

/// What somebody says about a call in doubt.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Answer {
    /// It happened, and gave this, or nothing.
    Happened(Option<String>),
    /// It did not happen.
    NotHappened,
}

impl Answer {
    fn of(text: &str) -> Result<Self, Box<Finding>> {
        match text.split_once('=') {
            None if text == "not-happened" => Ok(Self::NotHappened),
            None if text == "happened" => Ok(Self::Happened(None)),
            Some(("happened", "OUTPUT")) => {
                Err(wrong("`OUTPUT` stands for what the tool gave".to_owned(), "write that in its place; '\"OUTPUT\"' is the text itself"))
            }
            Some(("happened", "")) => {
                let help = "`--as happened` is for a tool that gives nothing, '--as happened=\"\"' for one that gave an empty text";
                Err(wrong("nothing stands after `happened=`".to_owned(), help))
            }
            Some(("happened", output)) => Ok(Self::Happened(Some(output.to_owned()))),
            _ => {
                let help = "write `--as happened=OUTPUT`, `--as happened` for a tool that gives nothing, or `--as not-happened`";
                Err(wrong(format!("`{}` is no answer", one_line(text)), help))
            }
        }
    }
}

/// Writes the answer down.
async fn answered(
    app: &App,
    args: &ResumeArgs,
    host: &Host,
    history: &RunHistory,
    journal: &SqliteJournal,
    answer: Answer,
) -> Result<(), Exit> {
    let open = open_to_answers(history);
    let begin = which(&open, args.call.as_deref()).map_err(|finding| app.fail(vec![*finding], Exit::Usage))?;
    let (tool, at) = (begin.tool().to_owned(), begin.key.path());
    let schema = host.find(&tool).and_then(|tool| tool.output.clone());
    let (verdict, taken) = match answer {
        Answer::NotHappened => (Verdict::NotHappened, "it did not happen".to_owned()),
        Answer::Happened(given) => {
            let (output, words) = output(&tool, given.as_deref(), schema.as_ref()).map_err(|finding| {
                let finding = (*finding).map_text(|text| host.secrets.mask(text));
                app.fail(vec![finding], Exit::Usage)
            })?;
            (Verdict::Happened(output), format!("it happened{words}"))
        }
    };
    let resolution = Resolution::new(journal::person(), verdict).at(now());
    journal.resolve(&history.run.id, &at, resolution).get().await.map_err(|error| {
        let finding = Finding::error("journal", error.to_string()).help(error.help());
        app.fail(vec![finding], journal::exit_of(error.kind))
    })?;
    if app.output.format != Format::Json {
        let line = format!("note: written down for `{}` ({}): {taken}", one_line(&tool), one_line(&at));
        app.output.note(&format!("{}\n", flat(&limited(&host.secrets.mask(&line)))));
    }
    Ok(())
}

/// The calls that an answer may be about: those in doubt, else those that were answered, for the same answer may come
/// again when what was to go on after it did not.
fn open_to_answers(history: &RunHistory) -> Vec<Begin> {
    let doubts = history.in_doubt();
    if !doubts.is_empty() {
        return doubts.into_iter().map(|doubt| doubt.begin).collect();
    }
    let answered = history.records.iter().filter_map(|record| if let Record::Resolved(resolved) = record { Some(resolved) } else { None });
    let mut begun: Vec<Begin> = Vec::new();
    for resolved in answered {
        let standing = history.standing(&resolved.key.path());
        if let (Some(begin), Last::Resolved(_)) = (standing.begin, standing.last)
            && !begun.contains(begin)
        {
            begun.push(begin.clone());
        }
    }
    begun
}

fn wrong(message: String, help: &str) -> Box<Finding> {
    Box::new(Finding::error(code::USAGE, message).help(help))
}

/// The call that the answer is about.
fn which<'d>(open: &'d [Begin], wanted: Option<&str>) -> Result<&'d Begin, Box<Finding>> {
    let paths: Vec<String> = open.iter().map(|begin| begin.key.path()).collect();
    let paths: Vec<&str> = paths.iter().map(String::as_str).collect();
    let nothing = || wrong("no call of this run is in doubt: there is nothing to answer".to_owned(), "without `--as`, the run goes on");
    let at = match (wanted, open) {
        (_, []) => return Err(nothing()),
        (Some(wanted), _) => chosen(&paths, wanted).map_err(|_| {
            let listed: Vec<String> = paths.iter().map(|path| format!("`{}`", one_line(path))).collect();
            wrong(
                format!("no call `{}` is in doubt", one_line(wanted)),
                &format!("in doubt is {}; nothing was written or run", listed.join(", ")),
            )
        })?,
        (None, [_]) => 0,
        (None, many) => {
            let listed = many.iter().zip(&paths).map(|(begin, path)| format!("`{}` ({})", one_line(path), one_line(begin.tool())));
            let message = format!("{} calls are in doubt: {}", many.len(), listed.collect::<Vec<_>>().join(", "));
            return Err(wrong(message, "say which one the answer is about with `--call PATH`; nothing was written or run"));
        }
    };
    open.get(at).ok_or_else(nothing)
}

/// What the call gave, and how it was taken. It is held to what the tool promises before it is written down: an answer
/// stands for good.
fn output(tool: &str, given: Option<&str>, schema: Option<&Value>) -> Result<(Option<Value>, String), Box<Finding>> {
    let shown = one_line(tool);
    let Some(given) = given else {
        let asked =
            || wrong(format!("`{shown}` gives an output, and the run goes on with it"), "write what it gave: `--as happened=OUTPUT`");
        return schema.map_or_else(|| Ok((None, String::new())), |_| Err(asked()));
    };
    let as_text = || schema.map(|_| Value::from(given)).filter(|text| schema.is_some_and(|schema| fits(schema, text)));
    let json = input::json_or_text(given, "--as happened")?;
    let (taken, kind) = match (json, as_text()) {
        (Ok(value), _) if schema.is_none_or(|schema| fits(schema, &value)) => (value, "JSON"),
        // JSON that does not fit may be meant as text: `17`, for a tool that gives text.
        (_, Some(text)) => (text, "text"),
        (Ok(_), None) => {
            let help = format!("`toolwright schema {} --output` shows what it gives; nothing was written or run", shell_word(tool));
            return Err(wrong(format!("`{shown}` cannot have given that: it does not fit its output schema"), &help));
        }
        (Err(finding), None) => return Err(Box::new(finding.help("give it as JSON, such as '\"text\"'; nothing was written or run"))),
    };
    let words = format!(", and gave the {kind} {}", taken.to_json_string());
    Ok((Some(taken), words))
}

fn fits(schema: &Value, value: &Value) -> bool {
    fitting(schema, std::slice::from_ref(value)).is_ok_and(|count| count == 1)
}

#[cfg(test)]
mod tests {
    use toolwright::journal::StepKey;
    use toolwright::json;

    use super::*;

    #[test]
    fn an_answer_is_one_of_three() {
        assert_eq!(Answer::of("happened").ok(), Some(Answer::Happened(None)));
        assert_eq!(Answer::of("happened=a=b").ok(), Some(Answer::Happened(Some("a=b".to_owned()))));
        assert_eq!(Answer::of("not-happened").ok(), Some(Answer::NotHappened));
        for wrong in ["", "yes", "not-happened=1", "Happened"] {
            assert!(Answer::of(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn more_than_one_call_in_doubt_is_answered_by_its_path() {
        let begin = |path: &str| Begin::new(StepKey::written(path, "send"), None, json!({}));
        let open = [begin("both/0:one"), begin("both/1:two")];
        let told = which(&open, None).err().map(|finding| finding.message).unwrap_or_default();
        assert_eq!(told, "2 calls are in doubt: `both/0:one` (send), `both/1:two` (send)");
        for wanted in ["both/1:two", "1:two", "two"] {
            assert_eq!(which(&open, Some(wanted)).ok(), open.get(1), "{wanted}");
        }
        assert!(which(&open, Some("three")).is_err() && which(&[], None).is_err());
    }

    #[test]
    fn an_output_is_json_or_text_where_text_is_wanted() {
        let text = json!({"type": "string"});
        let number = json!({"type": "integer"});
        let taken = |given, schema: Option<&Value>| output("t", given, schema).ok().map(|(value, _)| value);
        assert_eq!(taken(Some("sent"), Some(&text)), Some(Some(json!("sent"))));
        assert_eq!(taken(Some("17"), Some(&text)), Some(Some(json!("17"))));
        assert_eq!(taken(Some("\"17\""), Some(&text)), Some(Some(json!("17"))));
        assert_eq!(taken(Some("17"), Some(&number)), Some(Some(json!(17))));
        assert_eq!(taken(Some("17"), None), Some(Some(json!(17))));
        assert_eq!(taken(None, None), Some(None));
        assert_eq!(taken(Some("sent"), None), None, "nobody says that it gives text");
        assert_eq!(taken(Some("sent"), Some(&number)), None);
        assert_eq!(taken(Some("\"sent\""), Some(&number)), None);
        assert_eq!(taken(None, Some(&number)), None);
    }
}

//! `show RUN`: what a run did, as a tree of its calls with times and states; arguments and outputs when they are asked for.

use std::fmt::Write as _;

use serde_json::json;
use toolwright::journal::{Record, RunHistory, Verdict};
use toolwright::{Impact, Journal, Value};
use toolwright_sqlite::{RunFilter, RunStatus, RunSummary};

use self::masks::Masks;
use self::steps::{State, Step};
use super::runs::{painted, summary_json};
use crate::app::App;
use crate::args::{Format, JournalAt, ShowArgs};
use crate::code;
use crate::diagnostic::Finding;
use crate::exit::Exit;
use crate::grant::canonical;
use crate::journal;
use crate::moment::{ago, between, for_people, now, rfc3339, took};
use crate::output::Output;
use crate::style::{Style, columns, cut, limited, one_line, pad, printable, wrap};

pub(super) mod masks;
mod steps;

/// Shows the run.
pub(crate) async fn show(app: &App, args: &ShowArgs) -> Exit {
    match shown(app, args).await {
        Ok(()) => Exit::Ok,
        Err(exit) => exit,
    }
}

async fn shown(app: &App, args: &ShowArgs) -> Result<(), Exit> {
    let (summary, history) = load(app, &args.at, &args.run).await?;
    let io = args.io || args.step.is_some();
    let masks = Masks::of(app, &history, io).await?;
    let mut steps = steps::steps(&history, summary.status == RunStatus::Running);
    if let Some(wanted) = &args.step {
        let found = which(&steps, wanted).map_err(|finding| app.fail(vec![*finding], Exit::Usage))?;
        steps = steps.into_iter().skip(found).take(1).collect();
    }
    let shown = Shown { summary: &summary, history: &history, masks: &masks, io, whole: args.step.is_some() };
    let text = match app.output.format {
        Format::Json => shown.json(&steps),
        Format::Plain => steps.iter().map(|step| shown.plain(step)).collect(),
        Format::Human => shown.human(app, &steps, &args.at),
    };
    app.output.result(&text);
    Ok(())
}

/// Tools with effects that composites of the run call or may call: whoever takes it up allows them again.
fn chained(history: &RunHistory) -> Vec<String> {
    let mut tools: Vec<String> = Vec::new();
    for record in &history.records {
        let Record::Begin(begin) = record else { continue };
        // What was not begun yet may have effects, too.
        let later = begin.more.iter().flat_map(|more| &more.tools).filter(|tool| tool.spec.is_none()).map(|tool| tool.tool.as_str());
        let inside = begin.key.path().contains('/') && !begin.composite;
        for tool in later.chain(inside.then(|| begin.tool())) {
            if !tools.iter().any(|known| known == tool) {
                tools.push(tool.to_owned());
            }
        }
    }
    let reads = |tool: &str| {
        let mut of_it = history.records.iter().filter_map(|record| match record {
            Record::Begin(begin) if begin.tool() == tool => Some(begin.impact),
            _ => None,
        });
        of_it.next().flatten() == Some(Impact::None)
    };
    tools.retain(|tool| !reads(tool));
    tools
}

/// A command line that takes the run up with its configuration, and what it chained allowed.
pub(super) fn as_it_ran(app: &App, history: &RunHistory) -> App {
    let mut here = at_its_configuration(app, history);
    for tool in chained(history) {
        if !here.common.allow.contains(&tool) {
            here.common.allow.push(tool);
        }
    }
    here
}

/// The command as it would be called where the run's configuration is not the one of this folder.
fn at_its_configuration(app: &App, history: &RunHistory) -> App {
    let mut common = app.common.clone();
    let here = app.project_path().and_then(|path| canonical(&path));
    if let Some(began_with) = masks::configuration(history).filter(|began_with| canonical(began_with) != here) {
        common.file = Some(began_with);
    }
    App { common, output: app.output }
}

/// The run that somebody means, in short and whole.
///
/// # Errors
/// When it cannot be had; that is told already.
pub(super) async fn load(app: &App, at: &JournalAt, given: &str) -> Result<(RunSummary, RunHistory), Exit> {
    let Some((journal, path)) = app.journal_to_read(at).await? else {
        let finding = Finding::error(code::USAGE, "there is no run yet").help("`toolwright run TOOL` makes one");
        return Err(app.fail(vec![finding], Exit::Usage));
    };
    let given = given.to_owned();
    let found = app.apart({
        let (journal, path) = (journal.clone(), path.clone());
        move || {
            let id = journal::find(&journal, &path, &given)?;
            let mut filter = RunFilter::default();
            filter.id = Some(id.clone());
            let read = journal.runs(&filter).map_err(|error| (Box::new(journal::of_error(&path, &error)), journal::exit_of(error.kind)))?;
            Ok((id, read.into_iter().next()))
        }
    });
    let (id, summary) = found.await?.map_err(|(finding, exit): (Box<Finding>, Exit)| app.fail(vec![*finding], exit))?;
    let history = journal.load(&id).get().await;
    let history = history.map_err(|error| app.fail(vec![journal::of_error(&path, &error)], journal::exit_of(error.kind)))?;
    summary.zip(history).ok_or_else(|| {
        let finding = Finding::error(code::USAGE, format!("run `{}` is not there any more", one_line(&id)));
        app.fail(vec![finding], Exit::Usage)
    })
}

/// The one call that is meant: its path, its path behind that of the run's tool, or the name of a step that only one has.
///
/// # Errors
/// When there is none, or more than one.
fn which(steps: &[Step<'_>], wanted: &str) -> Result<usize, Box<Finding>> {
    let paths: Vec<&str> = steps.iter().map(|step| step.path.as_str()).collect();
    chosen(&paths, wanted)
}

/// The same among paths.
pub(super) fn chosen(paths: &[&str], wanted: &str) -> Result<usize, Box<Finding>> {
    let behind = |path: &str| path.split_once('/').is_some_and(|(_, rest)| rest == wanted);
    let name = |path: &str| {
        let last = path.rsplit_once('/').map_or(path, |(_, last)| last);
        last == wanted || last.split_once(':').is_some_and(|(_, name)| name == wanted)
    };
    let ways: [&dyn Fn(&str) -> bool; 3] = [&|path: &str| path == wanted, &behind, &name];
    for way in ways {
        let found: Vec<usize> = paths.iter().enumerate().filter(|(_, path)| way(path)).map(|(at, _)| at).collect();
        match found.as_slice() {
            [] => {}
            [one] => return Ok(*one),
            many => {
                let named = many.iter().filter_map(|at| paths.get(*at)).map(|path| format!("`{}`", one_line(path)));
                let named: Vec<String> = named.take(10).collect();
                let message = format!("`{}` may be one of {} calls: {}", one_line(wanted), many.len(), named.join(", "));
                return Err(Box::new(Finding::error(code::USAGE, message).help("give the whole path")));
            }
        }
    }
    let message = format!("the run has no call `{}`", one_line(wanted));
    let nearest = crate::diagnostic::did_you_mean(wanted, paths.iter().copied());
    let help = nearest.unwrap_or_else(|| "`toolwright show RUN` shows the paths of its calls".to_owned());
    Err(Box::new(Finding::error(code::USAGE, message).help(help)))
}

/// Characters of a value that are shown in the timeline.
const VALUE_CHARS_MAX: usize = 2_000;

/// A run as it is shown.
struct Shown<'s> {
    summary: &'s RunSummary,
    history: &'s RunHistory,
    masks: &'s Masks,
    /// With arguments and outputs.
    io: bool,
    /// Values are shown whole, and every record of the call.
    whole: bool,
}

impl Shown<'_> {
    fn json(&self, steps: &[Step<'_>]) -> String {
        let steps: Vec<serde_json::Value> = steps.iter().map(|step| self.step_json(step)).collect();
        format!("{:#}\n", json!({"run": summary_json(self.summary), "approvals": self.approvals_json(), "steps": steps}))
    }

    fn approvals_json(&self) -> Vec<serde_json::Value> {
        let approvals = self.history.approvals().into_iter().map(|approval| {
            let answered = approval.answered.as_ref().map(|answered| {
                json!({
                    "outcome": answered.outcome.as_str(),
                    "who": answered.who.as_str(),
                    "reason": self.masks.text(&answered.reason),
                    "rule": answered.rule.as_str(),
                    "at": answered.at.map(rfc3339),
                })
            });
            json!({
                "id": approval.id(),
                "path": approval.asked.request.path.as_str(),
                "tool": approval.asked.request.tool.as_str(),
                "rule": approval.asked.request.rule.as_str(),
                "asked": approval.asked.request.asked.map(rfc3339),
                "expires": approval.asked.request.expires.map(rfc3339),
                "answered": answered,
                "used": approval.used.iter().map(|path| path.as_str()).collect::<Vec<_>>(),
            })
        });
        approvals.collect()
    }

    /// Who was asked what, and what they said.
    fn approvals(&self, output: Output) -> String {
        let mut out = String::new();
        for approval in self.history.approvals() {
            let request = &approval.asked.request;
            let said = match &approval.answered {
                None => "nobody answered yet".to_owned(),
                Some(answered) => {
                    let reason = if answered.reason.is_empty() { String::new() } else { format!(", \"{}\"", answered.reason) };
                    format!("{} by {} ({}){reason}", answered.outcome.as_str(), answered.who, answered.rule)
                }
            };
            let line = format!("{}: may `{}` run at {}? {said}", request.id, request.tool, request.path);
            let _ = writeln!(out, "{}", wrap(&one_line(&self.masks.text(&line)), output.width(), "  "));
        }
        if out.is_empty() { out } else { format!("\n{out}") }
    }

    fn step_json(&self, step: &Step<'_>) -> serde_json::Value {
        let failure = step.failure();
        let long = step.began().zip(step.ended()).map(|(from, to)| between(from, to).as_secs_f64() * 1_000.0);
        let mut shown = json!({
            "path": step.path,
            "name": step.name(),
            "tool": step.tool,
            "composite": step.composite(),
            "impact": step.effect(),
            "state": step.state.word(),
            "attempts": step.attempts,
            "began": step.began().map(rfc3339),
            "ended": step.ended().map(rfc3339),
            "tookMs": long,
            "code": failure.map(|(code, _)| code),
            "message": failure.map(|(_, message)| self.masks.text(message)),
            "answeredBy": step.answered_by(),
        });
        if let Some(members) = shown.as_object_mut().filter(|_| self.io) {
            let input = step.begin.map(|begin| self.masks.input(begin).map_or(json!(masks::HIDDEN), |input| input.to_json()));
            members.insert("input".to_owned(), json!(input));
            members.insert("output".to_owned(), json!(step.output().map(|output| self.masks.value(output).to_json())));
        }
        shown
    }

    /// Columns with tabs between them: path, tool, effect, state, attempts, when it began, milliseconds, code.
    fn plain(&self, step: &Step<'_>) -> String {
        let none = || "-".to_owned();
        let long = step.began().zip(step.ended()).map(|(from, to)| between(from, to).as_millis().to_string());
        let mut columns = vec![
            one_line(&step.path),
            one_line(&step.tool),
            if step.effect().is_empty() { none() } else { step.effect().to_owned() },
            step.state.word().to_owned(),
            step.attempts.to_string(),
            step.began().map_or_else(none, rfc3339),
            long.unwrap_or_else(none),
            step.failure().map_or_else(none, |(code, _)| one_line(code)),
        ];
        if self.io {
            let input =
                step.begin.map(|begin| self.masks.input(begin).map_or_else(|| masks::HIDDEN.to_owned(), |value| value.to_json_string()));
            columns.push(input.unwrap_or_else(none));
            columns.push(step.output().map_or_else(none, |value| self.masks.value(value).to_json_string()));
        }
        format!("{}\n", columns.iter().map(|column| crate::style::flat(column)).collect::<Vec<_>>().join("\t"))
    }

    fn human(&self, app: &App, steps: &[Step<'_>], at: &JournalAt) -> String {
        let output = app.output;
        let mut out = self.head(output);
        out.push('\n');
        let widths = Widths::of(steps, output.width());
        for step in steps {
            self.row(&mut out, output, step, &widths);
        }
        out.push_str(&self.approvals(output));
        let kept = as_it_ran(app, self.history).kept(&self.summary.id, at);
        let next = match self.summary.status {
            RunStatus::Interrupted => format!("go on: `{}`", kept.resume),
            RunStatus::Waiting => {
                let ids: Vec<String> =
                    self.summary.asks.iter().map(|question| format!("`{}`", app.about("approve", &question.id, at))).collect();
                format!("say yes or no with {}, then go on: `{}`", ids.join(", "), kept.resume)
            }
            RunStatus::Failed => format!("go on from where it failed: `{}`", kept.resume),
            RunStatus::InDoubt => format!("say what happened: `{} --as happened=OUTPUT` or `--as not-happened`", kept.resume),
            _ => return out,
        };
        let _ = writeln!(out, "\n{}", wrap(&one_line(&next), output.width(), ""));
        out
    }

    fn head(&self, output: Output) -> String {
        let (style, run) = (output.out, self.summary);
        let mut out = format!("{}  {}  {}\n", style.bold(&one_line(&run.id)), one_line(&run.tool), painted(style, run.status));
        let mut fact = |name: &str, text: String| {
            let wrapped = wrap(&text, output.width(), "             ");
            let _ = writeln!(out, "  {} {}", style.dim(&pad(name, 10)), wrapped.trim_start());
        };
        if let Some(created) = run.created {
            let long = run.ended.map(|ended| format!(", took {}", took(between(created, ended))));
            fact("began", format!("{}, {}{}", for_people(created), ago(created, now()), long.unwrap_or_default()));
        }
        if !run.owner.is_empty() {
            let verb = if run.status == RunStatus::Running { "at work" } else { "last by" };
            let again = match run.epoch {
                0 | 1 => String::new(),
                2 => ", taken up once".to_owned(),
                more => format!(", taken up {} times", more - 1),
            };
            fact(verb, format!("{}{again}", one_line(&run.owner)));
        }
        if let Some(forked) = &self.history.run.forked {
            fact("fork of", format!("{}, from {} on", one_line(&forked.run), one_line(&forked.from)));
        }
        if let Some(principal) = &run.principal {
            fact("for", one_line(principal));
        }
        if let Some(code) = &run.code {
            fact("ended with", one_line(code));
        }
        for open in &run.waits {
            fact("waits", format!("for you: did `{}` happen ({})?", one_line(&open.tool), one_line(&open.path)));
        }
        out
    }

    fn row(&self, out: &mut String, output: Output, step: &Step<'_>, widths: &Widths) {
        let style = output.out;
        let indent = "  ".repeat(step.depth.min(INDENTS_MAX));
        let name = pad(&cut(&format!("{indent}{} {}", mark(step.state), one_line(step.name())), widths.name), widths.name);
        let tool = pad(&cut(&tool_words(step), widths.tool), widths.tool);
        let tool = if step.stands_out() { style.yellow(&tool) } else { tool };
        let offset = self.summary.created.zip(step.began()).map(|(from, at)| format!("+{}", took(between(from, at))));
        let long = step.began().zip(step.ended()).map(|(from, to)| took(between(from, to)));
        let line =
            format!("{name}  {tool}  {}  {:>9}  {:>8}", coloured(style, step.state), offset.unwrap_or_default(), long.unwrap_or_default());
        let _ = writeln!(out, "{}", line.trim_end());
        let indent = format!("{indent}    ");
        for line in self.below(step) {
            let _ = writeln!(out, "{}", style.dim(&wrap(&line, output.width(), &indent)));
        }
        if self.io {
            self.values(out, style, step, &indent);
        }
        if self.whole {
            for line in self.records(&step.path) {
                let _ = writeln!(out, "{}", wrap(&line, output.width(), &indent));
            }
        }
    }

    /// What is to be known of a call beside its line.
    fn below(&self, step: &Step<'_>) -> Vec<String> {
        let mut lines = Vec::new();
        if step.attempts > 1 {
            lines.push(format!("{} attempts", step.attempts));
        }
        if let Some((code, message)) = step.failure() {
            lines.push(format!("{}: {}", one_line(code), one_line(&limited(&self.masks.text(message)))));
        }
        if let Some(who) = step.answered_by() {
            lines.push(match step.state {
                State::Planned => format!("it did not happen, says {}", one_line(who)),
                _ => format!("it happened, says {}", one_line(who)),
            });
        }
        lines
    }

    fn values(&self, out: &mut String, style: Style, step: &Step<'_>, indent: &str) {
        let input = step.begin.map(|begin| self.masks.input(begin).map_or_else(|| masks::HIDDEN.to_owned(), |value| self.text(&value)));
        let output = step.output().map(|value| self.text(&self.masks.value(value)));
        for (name, text) in [("in", input), ("out", output)] {
            for (number, line) in text.iter().flat_map(|text| text.lines()).enumerate() {
                let name = if number == 0 { name } else { "" };
                let _ = writeln!(out, "{indent}{} {line}", style.cyan(&pad(name, 3)));
            }
        }
    }

    /// A value as text that a terminal may be given.
    fn text(&self, value: &Value) -> String {
        let text = value.as_str().map_or_else(|| value.to_json_pretty(), str::to_owned);
        let count = text.chars().count();
        let text = match self.whole || count <= VALUE_CHARS_MAX {
            true => text,
            false => {
                let kept: String = text.chars().take(VALUE_CHARS_MAX).collect();
                format!("{kept}\n… ({} more characters; `--step PATH` shows all)", count - VALUE_CHARS_MAX)
            }
        };
        printable(&text)
    }

    /// Every record of a call, in words.
    fn records(&self, path: &str) -> Vec<String> {
        let mut attempt = 0;
        let own = self.history.records.iter().filter(|record| record.key().is_some_and(|key| key.path() == path));
        let lines = own.map(|record| {
            let (at, words) = match record {
                Record::Begin(begin) => {
                    attempt += 1;
                    (begin.at, format!("attempt {attempt} is sent"))
                }
                Record::Finish(finish) => (
                    finish.at,
                    match &finish.outcome {
                        Ok(_) => "done".to_owned(),
                        Err(failure) => format!("failed: {}", one_line(&failure.code)),
                    },
                ),
                Record::Resolved(resolved) => {
                    let said = match resolved.resolution.verdict {
                        Verdict::Happened(_) => "happened",
                        Verdict::NotHappened => "did not happen",
                    };
                    (resolved.resolution.at, format!("it {said}, says {}", one_line(&resolved.resolution.who)))
                }
                Record::Abandoned(_) => (None, "given up".to_owned()),
                _ => (None, String::new()),
            };
            let at = at.map_or_else(String::new, |at| format!("{}  ", for_people(at)));
            format!("{at}{words}")
        });
        lines.collect()
    }
}

/// Levels that are moved in; what is deeper stands where the last of them does.
const INDENTS_MAX: usize = 12;

/// Columns of the timeline.
struct Widths {
    name: usize,
    tool: usize,
}

impl Widths {
    fn of(steps: &[Step<'_>], width: usize) -> Self {
        // State, offset and duration, and the blanks between all.
        let room = width.saturating_sub(7 + 9 + 8 + 8);
        let names = steps.iter().map(|step| 2 * step.depth.min(INDENTS_MAX) + 2 + columns(&one_line(step.name())));
        let tools = steps.iter().map(|step| columns(&tool_words(step)));
        let (name, tool) = (names.max().unwrap_or_default(), tools.max().unwrap_or_default());
        let name = name.min(room.saturating_sub(tool.min(room / 2)));
        Self { name, tool: tool.min(room.saturating_sub(name)) }
    }
}

fn tool_words(step: &Step<'_>) -> String {
    let tool = one_line(&step.tool);
    let effect = step.effect();
    // The step of a call without a name of its own is called as its tool.
    match (step.name() == steps::segment(&step.tool), effect) {
        (true, effect) => effect.to_owned(),
        (false, "") => tool,
        (false, effect) => format!("{tool} ({effect})"),
    }
}

fn mark(state: State) -> &'static str {
    match state {
        State::Planned => "·",
        State::Sent => "…",
        State::Done => "✓",
        State::Failed => "✗",
        State::Unknown => "?",
    }
}

/// The state in its colour, filled up.
fn coloured(style: Style, state: State) -> String {
    let word = pad(state.word(), 7);
    match state {
        State::Planned => style.dim(&word),
        State::Done => style.green(&word),
        State::Failed => style.red(&word),
        State::Sent | State::Unknown => style.yellow(&word),
    }
}

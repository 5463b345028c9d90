//! A call that did not succeed, told: which step, why, what completed, which effects happened, what to do.

mod missing;
mod refused;

use serde_json::json;
use toolwright::journal::JournalErrorKind;
use toolwright::tool::Aftermath;
use toolwright::{CallError, EffectRecord, EffectState, Fault, Impact, StepError, Value};

pub(crate) use self::refused::refused;
use crate::app::Kept;
use crate::args::Format;
use crate::diagnostic::Finding;
use crate::exit::Exit;
use crate::grant::shell_word;
use crate::host::Host;
use crate::output::Output;
use crate::style::{flat, limited, one_line, printable, wrap};

/// Tells about the error, and how the run goes on where it is kept; gives the exit code.
pub(crate) fn tell(output: Output, error: &CallError, tool: &str, host: &Host, kept: Option<&Kept>) -> Exit {
    let failure = Failure { error, tool, host, kept };
    let text = match output.format {
        Format::Json => format!("{:#}\n", failure.json()),
        Format::Plain => failure.plain(),
        Format::Human => failure.human(output),
    };
    output.error(&text);
    failure.exit()
}

/// A reference longer than this is not shown a second time with marks under it.
const MARKED_BYTES_MAX: usize = 200;

/// What is not known of the effect of the tool that ended the call.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Doubt {
    /// Nothing: it is known.
    None,
    /// It answered, with an error; that says nothing about its effect.
    Ended,
    /// No answer came.
    NoAnswer,
}

/// A call that did not succeed.
struct Failure<'e> {
    error: &'e CallError,
    /// The tool that was called.
    tool: &'e str,
    host: &'e Host,
    /// The run, when it is kept.
    kept: Option<&'e Kept>,
}

impl Failure<'_> {
    fn exit(&self) -> Exit {
        let error = self.error;
        // Arguments that do not fit the tool that was asked for are the caller's own, and so are outputs.
        if (error.code() == "invalid_input" && error.step().is_none()) || self.is_given_output() {
            return Exit::Usage;
        }
        match error.root_cause() {
            Fault::Journal { error, state: EffectState::NotStarted, .. } => crate::journal::exit_of(error.kind),
            _ => Exit::of_call(error.code(), self.doubt() == Doubt::NoAnswer),
        }
    }

    fn doubt(&self) -> Doubt {
        let unknown = match self.error.step() {
            Some(step) => step.unknown_effect,
            None => self.error.effect_state() == EffectState::Unknown,
        };
        match self.error.root_cause() {
            _ if !unknown => Doubt::None,
            Fault::Tool { error, .. } if error.aftermath() == Aftermath::Answered => Doubt::Ended,
            _ => Doubt::NoAnswer,
        }
    }

    fn mask(&self, text: &str) -> String {
        self.host.secrets.mask(text)
    }

    /// What ended it, without the code, which is shown before it in any form.
    fn message(&self) -> String {
        let message = self.in_options(&self.error.message());
        let coded = format!("{}: ", self.error.code());
        limited(&self.mask(message.strip_prefix(&coded).unwrap_or(&message))).into_owned()
    }

    /// The message with the core's way to give an output, which is a host's, as the option that it is here.
    fn in_options(&self, message: &str) -> String {
        match message.split_once("; give its output in stepOutputs[") {
            Some((what, _)) if self.error.code() == "dry_run_needs_output" => format!("{what}; give it with {}", self.output_option()),
            _ => message.to_owned(),
        }
    }

    /// What to do.
    fn help(&self) -> Option<String> {
        let own = self.error.help();
        let help = match self.doubt() {
            Doubt::NoAnswer => Some(self.answering(own)),
            _ if self.journal_help().is_some() => self.journal_help(),
            _ if self.error.code() == "approval_required" => own.map(|own| self.approving(own)),
            _ if self.error.code() == "dry_run_needs_output" => Some(Self::output_help(own)),
            _ if self.is_given_output() => Some(format!("give one that fits with {}", self.output_option())),
            _ => own,
        };
        help.map(|help| limited(&self.mask(&help)).into_owned())
    }

    /// How to go on after an effect of which nobody knows whether it happened.
    fn answering(&self, own: Option<String>) -> String {
        let culprit = self.culprit();
        let repeats =
            self.host.find(culprit).and_then(|tool| tool.effect.as_ref()).is_some_and(|effect| effect.impact == Impact::Idempotent);
        if let Some(kept) = self.kept.filter(|_| repeats) {
            return format!("`{culprit}` may run twice: `{}` runs it again and goes on", kept.resume);
        }
        let look = format!("look whether the effect of `{culprit}` happened");
        // The core speaks to a host: here the answer is a command.
        let own = own.filter(|_| !matches!(self.error.root_cause(), Fault::InDoubt { .. } | Fault::Journal { .. }));
        let look = match self.kept {
            Some(kept) => format!("{look}, then say so: `{} --as happened=OUTPUT` or `--as not-happened`", kept.resume),
            None => format!("{look} before you run this again"),
        };
        own.map_or_else(|| look.clone(), |own| format!("{look}; {own}"))
    }

    /// How somebody says yes, and how the run goes on then.
    fn approving(&self, own: String) -> String {
        // The core does not know where this run is kept.
        match (self.kept, own.split_once("` shows and answers it")) {
            (Some(kept), Some((answer, _))) => {
                format!("{answer}{}` shows and answers it; then `{}` goes on", kept.options, kept.resume)
            }
            _ => own,
        }
    }

    /// What to do about a journal that said no, in the options of this command.
    fn journal_help(&self) -> Option<String> {
        let kept = self.kept?;
        let error = match self.error.root_cause() {
            Fault::Journal { error, .. } => error,
            Fault::Refused { code, .. } if code == "sensitive_unencrypted" => {
                return Some("the journal does not encrypt, and masks nothing: `--journal none` runs it and keeps nothing".to_owned());
            }
            Fault::Diverged { .. } if kept.id.starts_with("key-") => {
                return Some("what runs under this key goes on only as it began: take another `--key`".to_owned());
            }
            // Other steps are never accepted.
            Fault::ChangedTool { tools, steps } if steps.is_empty() => {
                let accepted: Vec<String> = tools.iter().map(|tool| format!(" --accept-changed {}", shell_word(tool))).collect();
                return Some(format!("look at what changed, then `{}{}`, or begin a new run", kept.accepting, accepted.concat()));
            }
            _ => return None,
        };
        Some(match error.kind {
            JournalErrorKind::Claimed | JournalErrorKind::Fenced => {
                format!("let the other one go on; `toolwright show {}` says how far it is", shell_word(&kept.id))
            }
            JournalErrorKind::Diverged => "this key has been used for another tool or input: take another `--key`".to_owned(),
            JournalErrorKind::Unwritable | JournalErrorKind::Unreadable => {
                format!("{}; or keep nothing with `--journal none`", error.help())
            }
            _ => return None,
        })
    }

    /// Whether the run stopped where it can go on, and beginning it again would be something else.
    fn goes_on(&self) -> Option<&Kept> {
        let cancelled = ["cancelled", "step_aborted"].contains(&self.error.code());
        let begun = !matches!(self.error.root_cause(), Fault::Journal { phase: "open", .. } | Fault::ChangedTool { .. });
        let cancelled = cancelled || self.error.code() == "approval_required";
        let left = cancelled || self.doubt() != Doubt::None || !self.error.effects().is_empty();
        self.kept.filter(|_| begun && left)
    }

    /// What else to know of the output of a step that does not run.
    fn output_help(own: Option<String>) -> String {
        match own.filter(|own| own.starts_with("an output is given")) {
            Some(own) => own,
            None => "`null` is an output too".to_owned(),
        }
    }

    fn output_option(&self) -> String {
        format!("`--output {}=JSON`", shell_word(&self.names()))
    }

    /// Whether an output that was given for a step ended the call.
    fn is_given_output(&self) -> bool {
        matches!(self.error.root_cause(), Fault::Refused { code, .. } if code == "invalid_output")
    }

    /// The tool that ended the call.
    fn culprit(&self) -> &str {
        steps(self.error).last().map_or(self.tool, |step| step.tool.as_str())
    }

    /// The names of the steps that lead to the failure, outermost first; the tool itself when it has none.
    fn names(&self) -> String {
        let names: Vec<&str> = steps(self.error).map(|step| step.step.as_str()).collect();
        if names.is_empty() { self.tool.to_owned() } else { names.join("/") }
    }

    /// The steps that completed, of a composite; those of nested ones behind the names of the steps that lead there.
    fn completed(&self) -> Option<Vec<String>> {
        let mut all: Option<Vec<String>> = None;
        let (mut at, mut way) = (self.error, String::new());
        loop {
            let (completed, next) = match at.fault() {
                Fault::Step(step) => (&step.completed, Some(step)),
                Fault::Output(output) => (&output.completed, None),
                _ => return all,
            };
            all.get_or_insert_default().extend(completed.iter().map(|name| format!("{way}{name}")));
            let Some(step) = next else { return all };
            way.push_str(&format!("{}/", step.step));
            at = &step.source;
        }
    }

    /// The effects that happened for certain, in words.
    fn effects(&self) -> Vec<String> {
        // What the tool itself did stands in no step.
        let alone = self.completed().is_none();
        let words = |record: &EffectRecord| match record {
            EffectRecord::Ran(step) if alone && step.tool == self.tool => format!("`{}` ran", one_line(self.tool)),
            other => effect(other),
        };
        self.error.effects().iter().map(words).collect()
    }

    fn missing(&self) -> Option<missing::Missing<'_>> {
        missing::find(self.error, self.tool, self.host)
    }
}

impl Failure<'_> {
    fn json(&self) -> serde_json::Value {
        let mut value = self.error.to_value().to_json();
        if let Some(object) = value.as_object_mut() {
            object.shift_insert(1, "code".to_owned(), json!(self.error.code()));
        }
        let mut set = |pointer: &str, name: &str, member: serde_json::Value| {
            if let Some(object) = value.pointer_mut(pointer).and_then(serde_json::Value::as_object_mut) {
                object.insert(name.to_owned(), member);
            }
        };
        set("", "error", json!(flat(&limited(&self.in_options(&self.error.message())))));
        if let Some(help) = self.help() {
            set("", "help", json!(flat(&help)));
        }
        if let Some(kept) = self.kept {
            set("", "run", json!(kept.id));
        }
        if let Some(kept) = self.goes_on() {
            set("", "resume", json!(kept.resume));
        }
        if let Some(place) = self.missing().and_then(|missing| missing.place) {
            let (line, column) = place.source.line_column(place.span.start);
            set("/details", "file", json!(place.source.name()));
            set("/details", "line", json!(line));
            set("/details", "column", json!(column));
        }
        self.host.secrets.mask_json(value)
    }

    fn plain(&self) -> String {
        let mut line = String::new();
        if let Some(place) = self.missing().and_then(|missing| missing.place) {
            let (row, column) = place.source.line_column(place.span.start);
            line.push_str(&format!("{}:{row}:{column}: ", one_line(place.source.name())));
        }
        line.push_str(&format!("{}: {}", one_line(self.error.code()), one_line(&self.message())));
        if let Some(help) = self.help() {
            line.push_str(&format!(" ({})", one_line(&help)));
        }
        if let Some(completed) = self.completed() {
            line.push_str(&format!("; completed: {}", listed(&completed)));
        }
        line.push_str(&format!("; effects: {}", listed(&self.effects())));
        match self.doubt() {
            Doubt::None => {}
            Doubt::Ended => line.push_str(&format!("; ended with an error, effect not known: {}", one_line(&self.names()))),
            Doubt::NoAnswer => line.push_str(&format!("; in doubt: {}", one_line(&self.names()))),
        }
        if let Some(kept) = self.goes_on() {
            line.push_str(&format!("; go on: {}", one_line(&kept.resume)));
        }
        line.push('\n');
        line
    }

    fn human(&self, output: Output) -> String {
        let mut out = self.head(output);
        out.push('\n');
        let mut fact = |name: &str, text: String| {
            let wrapped = wrap(&text, output.width(), "              ");
            out.push_str(&format!("  {:<11} {}\n", output.err.dim(name), wrapped.trim_start()));
        };
        match self.completed() {
            None => fact("tool", one_line(self.tool)),
            Some(completed) => {
                fact("composite", one_line(self.tool));
                fact("step", way(self.error).unwrap_or_else(|| "none: every step ran, the output is missing".to_owned()));
                fact("completed", listed(&completed));
            }
        }
        let effects = self.effects();
        let doubt = self.doubt();
        match (effects.is_empty(), doubt) {
            (true, Doubt::None) => fact("effects", "none happened".to_owned()),
            (true, _) => fact("effects", "none for certain".to_owned()),
            (false, _) => fact("effects", effects.join("; ")),
        }
        let culprit = one_line(self.culprit());
        match doubt {
            Doubt::None => {}
            Doubt::Ended => fact("not known", format!("`{culprit}` ended with an error; whether its effect happened is not known")),
            Doubt::NoAnswer => fact("in doubt", format!("`{culprit}` was started and gave no answer; its effect may have happened")),
        }
        // Where nobody knows what happened, the help has the command.
        if let Some(kept) = self.goes_on().filter(|_| doubt != Doubt::NoAnswer) {
            fact("go on", format!("`{}`", one_line(&kept.resume)));
        }
        if crate::command::explain::is_known(self.error.code()) {
            fact("explain", format!("toolwright explain {}", self.error.code()));
        }
        out
    }

    /// What went wrong, with the place in the file where there is one, and what to do.
    fn head(&self, output: Output) -> String {
        let missing = self.missing();
        if let Some(place) = missing.as_ref().and_then(|missing| missing.place.as_ref()) {
            let finding = Finding::error(one_line(self.error.code()), self.message()).maybe_help(self.help());
            return output.findings(&[finding.at(&place.source, place.span.clone(), "not there")]);
        }
        let style = output.err;
        let wrapped = wrap(&printable(&self.message()), output.width(), "    ");
        let mut out = format!("{}\n\n  {} {}\n", style.red(&one_line(self.error.code())), style.red("×"), wrapped.trim_start());
        let short = missing.iter().filter(|missing| missing.what.reference.text.len() <= MARKED_BYTES_MAX);
        for line in short.flat_map(missing::Missing::marked) {
            out.push_str(&format!("      {}\n", self.mask(&printable(&line))));
        }
        if let Some(help) = self.help() {
            let wrapped = wrap(&printable(&help), output.width(), "        ");
            out.push_str(&format!("  {} {}\n", style.cyan("help:"), wrapped.trim_start()));
        }
        out
    }
}

fn listed<T: AsRef<str>>(names: &[T]) -> String {
    let names: Vec<&str> = names.iter().map(AsRef::as_ref).collect();
    if names.is_empty() { "none".to_owned() } else { one_line(&names.join(", ")) }
}

/// The steps that lead to the failure, outermost first.
fn steps(error: &CallError) -> impl Iterator<Item = &StepError> {
    std::iter::successors(error.step(), |step| step.source.step())
}

/// The same in words.
fn way(error: &CallError) -> Option<String> {
    let way: Vec<String> =
        steps(error).map(|step| one_line(&format!("`{}` ({}), tool `{}`", step.step, ordinal(step.index), step.tool))).collect();
    (!way.is_empty()).then(|| way.join(" → "))
}

fn ordinal(index: usize) -> String {
    format!("number {}", index + 1)
}

/// An effect in words.
pub(crate) fn effect(record: &EffectRecord) -> String {
    let (step, verb) = match record {
        EffectRecord::Ran(step) => (step, "ran"),
        EffectRecord::WouldRun { step, .. } => (step, "would run"),
        other => return one_line(&other.to_value().to_json_string()),
    };
    let via: Vec<&str> = step.via.iter().map(|name| name.as_str()).collect();
    let name = match via.as_slice() {
        [] => step.step.to_string(),
        via => format!("{}/{}", via.join("/"), step.step),
    };
    format!("`{}` {verb} `{}`", one_line(&name), one_line(&step.tool))
}

/// The arguments of an effect that would happen.
pub(crate) fn arguments(record: &EffectRecord) -> Option<&Value> {
    match record {
        EffectRecord::WouldRun { arguments, .. } => Some(arguments),
        _ => None,
    }
}

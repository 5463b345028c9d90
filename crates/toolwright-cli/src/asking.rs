//! Asking a person on the terminal whether a call may be made, and how a question is shown.
//!
//! Where nobody is at the terminal the answer is *later*: the question stays in the journal, and `toolwright approve` takes it.

use std::fmt::Write as _;
use std::io::{BufRead, IsTerminal};

use toolwright::approval::{Answer, Request};
use toolwright::{Approver, BoxFuture, EffectRecord, Value};

use crate::args::Format;
use crate::journal::person;
use crate::moment::{for_people, now, rfc3339};
use crate::output::Output;
use crate::secret::Secrets;
use crate::style::{flat, limited, one_line, wrap};
use crate::view::effect_words;
use crate::visible::visible;

/// Characters of an argument's value that are shown; what is longer is cut, and says so.
const VALUE_CHARS_MAX: usize = 4_000;

/// The person at the terminal.
#[derive(Clone, Debug)]
pub(crate) struct Terminal {
    output: Output,
    secrets: Secrets,
}

impl Terminal {
    /// Whoever is at this terminal, if it is one; `secrets` are not shown to them.
    pub(crate) fn new(output: Output, secrets: &Secrets) -> Self {
        Self { output, secrets: secrets.clone() }
    }

    fn is_there(&self) -> bool {
        self.output.format == Format::Human && std::io::stdin().is_terminal() && std::io::stderr().is_terminal()
    }
}

impl Approver for Terminal {
    fn ask<'a>(&'a self, request: &'a Request) -> BoxFuture<'a, Answer> {
        if !self.is_there() {
            return Box::pin(std::future::ready(Answer::Later));
        }
        let question = format!("\n{}approve? [y/N] ", shown(self.output, request, &self.secrets));
        self.output.error(&question);
        let (tell, told) = tokio::sync::oneshot::channel();
        // A thread of its own: nobody can take back a read, and nothing may have to wait for it.
        let reading = std::thread::Builder::new().name("approval".to_owned()).spawn(move || {
            let mut line = String::new();
            let read = std::io::stdin().lock().read_line(&mut line);
            let _ = tell.send(read.ok().filter(|bytes| *bytes > 0).map(|_| line));
        });
        Box::pin(async move {
            if reading.is_err() {
                return Answer::Nobody;
            }
            match told.await {
                Ok(Some(line)) if is_yes(&line) => Answer::Yes { who: person().into() },
                Ok(Some(_)) => Answer::No { who: person().into(), reason: "".into() },
                // The terminal was closed.
                Ok(None) | Err(_) => Answer::Later,
            }
        })
    }
}

/// Whether a line that somebody wrote is a yes.
pub(crate) fn is_yes(line: &str) -> bool {
    matches!(line.trim().to_lowercase().as_str(), "y" | "yes")
}

/// A question as a person sees it: the tool, its final arguments, the plan, the effects, the time.
pub(crate) fn shown(output: Output, request: &Request, secrets: &Secrets) -> String {
    let style = output.err;
    let mut out = String::new();
    let masked = |text: &str| visible(&one_line(&limited(&secrets.mask(text))));
    let effect = effect_words(request.effect.as_ref());
    let _ = writeln!(out, "{} ({effect}) waits for your yes  {}", style.bold(&masked(&request.tool)), style.dim(&one_line(&request.id)));
    let mut fact = |name: &str, text: &str| {
        let wrapped = wrap(text, output.width(), "             ");
        let _ = writeln!(out, "  {} {}", style.dim(&format!("{name:<10}")), wrapped.trim_start());
    };
    if !request.description.is_empty() {
        fact("is", &masked(&request.description));
    }
    for (name, value) in members(&request.arguments) {
        fact(&format!("with {}", masked(&name)), &argument(secrets, &value));
    }
    if let Some(plan) = &request.plan {
        let steps: Vec<String> =
            plan.steps.iter().map(|step| if *step == plan.step { format!("[{step}]") } else { step.to_string() }).collect();
        fact("part of", &masked(&format!("{}: {}", plan.composite, steps.join(", "))));
    }
    for covered in &request.covers {
        let effect = effect_words(covered.effect.as_ref());
        let text = format!("{} ({effect}) at {} {}", masked(&covered.tool), masked(&covered.path), argument(secrets, &covered.arguments));
        fact("and", &text);
    }
    if !request.done.is_empty() {
        let done: Vec<String> = request
            .done
            .iter()
            .filter_map(|effect| if let EffectRecord::Ran(step) = effect { Some(step.tool.to_string()) } else { None })
            .collect();
        fact("done", &masked(&done.join(", ")));
    }
    if !request.caller.is_empty() {
        fact("for", &masked(&request.caller));
    }
    fact("rule", &masked(&request.rule));
    if let Some(expires) = request.expires {
        fact("until", &for_people(expires));
    }
    fact("run", &format!("{}, {}", one_line(&request.run), one_line(&request.path)));
    out
}

fn members(arguments: &Value) -> Vec<(String, Value)> {
    match arguments.as_object() {
        Some(object) => object.iter().map(|(name, value)| (name.to_string(), value.clone())).collect(),
        None => vec![(String::new(), arguments.clone())],
    }
}

fn argument(secrets: &Secrets, value: &Value) -> String {
    let text = secrets.mask_value(value).to_json_string();
    let cut: String = text.chars().take(VALUE_CHARS_MAX).collect();
    let more = text.chars().count().saturating_sub(VALUE_CHARS_MAX);
    let cut = visible(&cut);
    if more == 0 { cut } else { format!("{cut}… and {more} characters more") }
}

/// A question for scripts.
pub(crate) fn json(request: &Request, secrets: &Secrets) -> serde_json::Value {
    let text = |text: &str| secrets.mask(text);
    let covers = request.covers.iter().map(|covered| {
        serde_json::json!({
            "path": covered.path.as_str(),
            "tool": covered.tool.as_str(),
            "arguments": secrets.mask_value(&covered.arguments).to_json(),
        })
    });
    let plan = request.plan.as_ref().map(|plan| {
        let steps: Vec<&str> = plan.steps.iter().map(|step| step.as_str()).collect();
        serde_json::json!({"composite": plan.composite.as_str(), "step": plan.step.as_str(), "steps": steps})
    });
    serde_json::json!({
        "id": request.id.as_str(),
        "run": request.run.as_str(),
        "path": request.path.as_str(),
        "tool": request.tool.as_str(),
        "description": text(&request.description),
        "effect": request.effect.as_ref().map(|effect| serde_json::json!({"class": effect.class.as_str(), "impact": effect.impact.as_str()})),
        "arguments": secrets.mask_value(&request.arguments).to_json(),
        "plan": plan,
        "covers": covers.collect::<Vec<_>>(),
        "caller": text(&request.caller),
        "rule": request.rule.as_str(),
        "asked": request.asked.map(rfc3339),
        "expires": request.expires.map(rfc3339),
        "over": request.expires.is_some_and(|expires| now() >= expires),
        "binding": request.binding.as_str(),
    })
}

/// A line for scripts, with tabs: id, tool, run, path, when it was asked, when it ends, arguments.
pub(crate) fn plain(request: &Request, secrets: &Secrets) -> String {
    let at = |at: Option<toolwright::Timestamp>| at.map_or_else(|| "-".to_owned(), rfc3339);
    let columns = [
        one_line(&request.id),
        one_line(&request.tool),
        one_line(&request.run),
        one_line(&request.path),
        at(request.asked),
        at(request.expires),
        secrets.mask_value(&request.arguments).to_json_string(),
    ];
    format!("{}\n", columns.iter().map(|column| flat(column)).collect::<Vec<_>>().join("\t"))
}

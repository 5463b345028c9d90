//! Progress of a run on a terminal: one line a step, on standard error.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use toolwright::{EventName, Fact, Observer, Value};

use crate::output::Output;
use crate::secret::Secrets;
use crate::style::{cut, one_line};

/// Shows what happens, and keeps warnings for the end.
pub(crate) struct Progress {
    output: Output,
    secrets: Secrets,
    lines: bool,
    started: Mutex<HashMap<String, Started>>,
    warnings: Mutex<Vec<String>>,
}

struct Started {
    at: Instant,
    text: String,
}

impl Progress {
    /// Shows lines only where a person looks at them.
    pub(crate) fn new(output: Output, secrets: Secrets) -> Self {
        Self { output, secrets, lines: output.shows_progress(), started: Mutex::default(), warnings: Mutex::default() }
    }

    /// What was worth telling and stopped nothing.
    pub(crate) fn warnings(&self) -> Vec<String> {
        let mut kept = self.warnings.lock().unwrap_or_else(PoisonError::into_inner);
        std::mem::take(&mut kept)
    }

    /// Takes away a line that is not finished.
    pub(crate) fn clear(&self) {
        if self.lines {
            self.output.error("\r\u{1b}[K");
        }
    }

    fn line(&self, text: &str, end: &str) {
        let width = self.output.width().saturating_sub(1);
        self.output.error(&format!("\r\u{1b}[K{}{end}", cut(text, width)));
    }

    fn show(&self, fact: &Fact) {
        match fact.event {
            EventName::StepStarted => self.step_started(fact),
            EventName::StepFinished => self.step_finished(fact),
            EventName::Progress => self.progress(fact),
            _ => {}
        }
    }

    fn started(&self) -> MutexGuard<'_, HashMap<String, Started>> {
        self.started.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn step_started(&self, fact: &Fact) {
        let (path, step, tool) = (text(fact, "path"), one_line(text(fact, "step")), one_line(text(fact, "tool")));
        let (index, count) = (amount(fact, "index").unwrap_or_default(), amount(fact, "count").unwrap_or_default());
        let inner = path.matches('/').count().saturating_sub(1);
        let text = format!("{}[{}/{count}] {step}  {tool}", "  ".repeat(inner), index + 1.0);
        // The lock is held while a line is written, so that lines of steps at the same time do not mix.
        let mut started = self.started();
        self.line(&format!("… {text}"), "");
        started.insert(path.to_owned(), Started { at: Instant::now(), text });
    }

    fn step_finished(&self, fact: &Fact) {
        let mut started = self.started();
        let Some(Started { at, text: line }) = started.remove(text(fact, "path")) else {
            return;
        };
        let ok = fact.payload.get("ok").and_then(Value::as_bool).unwrap_or_default();
        match text(fact, "code") {
            _ if ok => self.line(&format!("✓ {line}  {}", took(at.elapsed())), "\n"),
            "" => self.line(&format!("✗ {line}"), "\n"),
            code => self.line(&format!("✗ {line}  {}", one_line(code)), "\n"),
        }
    }

    fn progress(&self, fact: &Fact) {
        let started = self.started();
        let line = started.get(text(fact, "path")).map(|started| started.text.as_str()).unwrap_or_default();
        let amount = match (amount(fact, "done"), amount(fact, "total")) {
            (Some(done), Some(total)) => format!(" {done}/{total}"),
            (Some(done), None) => format!(" {done}"),
            _ => String::new(),
        };
        let message = self.secrets.mask(&one_line(text(fact, "message")));
        self.line(&format!("… {line}  {message}{amount}"), "");
    }
}

/// A text of a fact's payload; empty when there is none.
fn text<'f>(fact: &'f Fact, member: &str) -> &'f str {
    fact.payload.get(member).and_then(Value::as_str).unwrap_or_default()
}

fn amount(fact: &Fact, member: &str) -> Option<f64> {
    fact.payload.get(member).and_then(Value::as_f64)
}

/// `12 ms`, `3.4 s`.
fn took(time: Duration) -> String {
    match time.as_millis() {
        short @ 0..1000 => format!("{short} ms"),
        _ => format!("{:.1} s", time.as_secs_f64()),
    }
}

impl Observer for Progress {
    fn observe(&self, fact: &Fact) {
        if fact.event == EventName::Warning {
            let (path, message) = (text(fact, "path"), text(fact, "message"));
            let at = if path.is_empty() { String::new() } else { format!("{path}: ") };
            let mut kept = self.warnings.lock().unwrap_or_else(PoisonError::into_inner);
            kept.push(one_line(&format!("{at}{message}")));
        } else if self.lines {
            self.show(fact);
        }
    }
}

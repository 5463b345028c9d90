//! Progress of a run on a terminal: one line a step, on standard error.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use toolwright::{Event, Observer};

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

    fn show(&self, event: &Event) {
        let mut started = self.started.lock().unwrap_or_else(PoisonError::into_inner);
        match event {
            Event::StepStarted { path, index, count, step, tool, .. } => {
                let inner = path.matches('/').count().saturating_sub(1);
                let text = format!("{}[{}/{count}] {}  {}", "  ".repeat(inner), index + 1, one_line(step), one_line(tool));
                self.line(&format!("… {text}"), "");
                let at = Instant::now();
                started.insert(path.clone(), Started { at, text });
            }
            Event::StepFinished { path, ok, code, .. } => {
                let Some(Started { at, text }) = started.remove(path) else {
                    return;
                };
                let took = took(at.elapsed());
                match (ok, code) {
                    (true, _) => self.line(&format!("✓ {text}  {took}"), "\n"),
                    (false, Some(code)) => self.line(&format!("✗ {text}  {}", one_line(code)), "\n"),
                    (false, None) => self.line(&format!("✗ {text}"), "\n"),
                }
            }
            Event::Progress { path, message, done, total } => {
                let text = started.get(path).map(|s| s.text.clone()).unwrap_or_default();
                let amount = match (done, total) {
                    (Some(done), Some(total)) => format!(" {done}/{total}"),
                    (Some(done), None) => format!(" {done}"),
                    _ => String::new(),
                };
                let message = self.secrets.mask(&one_line(message));
                self.line(&format!("… {text}  {message}{amount}"), "");
            }
            _ => {}
        }
    }
}

/// `12 ms`, `3.4 s`.
fn took(time: Duration) -> String {
    match time.as_millis() {
        short @ 0..1000 => format!("{short} ms"),
        _ => format!("{:.1} s", time.as_secs_f64()),
    }
}

impl Observer for Progress {
    fn observe(&self, event: &Event) {
        if let Event::Warning { path, message, .. } = event {
            let at = if path.is_empty() { String::new() } else { format!("{path}: ") };
            let mut kept = self.warnings.lock().unwrap_or_else(PoisonError::into_inner);
            kept.push(one_line(&format!("{at}{message}")));
        } else if self.lines {
            self.show(event);
        }
    }
}

//! Whether a forged tool may run now, and how often it failed in a row. The only state of a tool that changes, and only
//! forged tools have it.

use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Mutex, PoisonError};

use crate::error::{CallError, Fault};
use crate::refusal::Refusal;
use crate::value::Text;

/// Shared by all generations in which the tool is.
#[derive(Debug)]
pub(crate) struct Health {
    tool: Text,
    /// So many failures in a row suspend it; 0 for never.
    after: u32,
    failures: AtomicU32,
    suspended: AtomicBool,
    reason: Mutex<Option<Text>>,
}

impl Health {
    pub(crate) fn new(tool: Text, after: u32) -> Self {
        Self { tool, after, failures: AtomicU32::new(0), suspended: AtomicBool::new(false), reason: Mutex::new(None) }
    }

    /// As it was when the tool was forged, for another place. Without `counting`, failures never suspend it.
    pub(crate) fn anew(&self, counting: bool) -> Self {
        Self::new(self.tool.clone(), if counting { self.after } else { 0 })
    }

    /// The refusal of a call while the tool is suspended.
    #[inline]
    pub(crate) fn refusal(&self) -> Option<Refusal> {
        if self.suspended.load(Ordering::Acquire) { self.refusal_now() } else { None }
    }

    #[cold]
    fn refusal_now(&self) -> Option<Refusal> {
        let reason = self.reason()?;
        let tool = crate::cut(&self.tool, 80);
        Some(
            Refusal::new(arcstr::literal!("suspended"), format!("`{tool}` is suspended: {reason}"))
                .help(format!("the host can lift it: `Session::unsuspend(\"{tool}\")`")),
        )
    }

    /// A call of the tool has come to its end. What a dry run or a journal's answer says of it does not count.
    pub(crate) fn ended(&self, outcome: Result<(), &CallError>) {
        match outcome {
            Ok(()) => {
                if self.failures.load(Ordering::Relaxed) != 0 {
                    self.failures.store(0, Ordering::Relaxed);
                }
            }
            Err(error) if counts(error) => {
                let failures = self.failures.fetch_add(1, Ordering::Relaxed).saturating_add(1);
                if self.after != 0 && failures >= self.after && !self.suspended.load(Ordering::Acquire) {
                    self.suspend(format!("{failures} failures in a row, the last one with `{}`", error.code()).into());
                }
            }
            Err(_) => {}
        }
    }

    pub(crate) fn suspend(&self, why: Text) {
        let mut reason = self.reason.lock().unwrap_or_else(PoisonError::into_inner);
        *reason = Some(why);
        self.suspended.store(true, Ordering::Release);
    }

    pub(crate) fn lift(&self) {
        let mut reason = self.reason.lock().unwrap_or_else(PoisonError::into_inner);
        *reason = None;
        self.failures.store(0, Ordering::Relaxed);
        self.suspended.store(false, Ordering::Release);
    }

    pub(crate) fn reason(&self) -> Option<Text> {
        self.reason.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

/// Whether the tool itself is to blame: its own code or that of its steps, its output, or a mapping of its steps.
pub(crate) fn counts(error: &CallError) -> bool {
    match error.root_cause() {
        Fault::InvalidOutput { .. } | Fault::Panicked { .. } | Fault::Unresolved(_) => true,
        // Whatever it calls it; only the error of a call inside the tool may be somebody else's.
        Fault::Tool { error, .. } => !error.is_anothers(),
        // What the caller gave to the root is the caller's; what a mapping gave to a step is the composite's.
        Fault::InvalidInput { .. } => error.step().is_some(),
        _ => false,
    }
}

//! Every exit code of the command, once; a code is never reused for something else.

use std::process::ExitCode;

/// How the command ended, as the shell sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum Exit {
    /// What was asked for was done.
    Ok = 0,
    /// A bug of ours: nothing that a user does leads here.
    Bug = 1,
    /// The command line, or an argument given on it, cannot be used.
    Usage = 2,
    /// A tool was called and failed, or its source could not be reached.
    ToolFailed = 10,
    /// A rule refused the call; nothing of what it refused was run.
    Refused = 11,
    /// A person has to approve first.
    NeedsApproval = 12,
    /// A tool with side effects was started and no answer came.
    InDoubt = 13,
    /// The configuration does not check, or the journal is not as it was written.
    DoesNotCheck = 20,
    /// The journal cannot be opened or written.
    JournalUnavailable = 21,
    /// Standard output could not be written.
    OutputLost = 22,
    /// A second interrupt: the process left without waiting for anything.
    Interrupted = 130,
}

impl Exit {
    /// Every code with the words that `explain` and the documentation use.
    pub(crate) const TABLE: [(Self, &'static str); 11] = [
        (Self::Ok, "what was asked for was done"),
        (Self::Bug, "a bug in toolwright"),
        (Self::Usage, "the command line, or an argument on it, cannot be used"),
        (Self::ToolFailed, "a tool failed, or its source could not be reached"),
        (Self::Refused, "a rule refused the call; nothing that was refused ran"),
        (Self::NeedsApproval, "a person has to approve first"),
        (Self::InDoubt, "a tool with side effects was started and no answer came"),
        (Self::DoesNotCheck, "the configuration does not check, or the journal is not as it was written"),
        (Self::JournalUnavailable, "the journal cannot be opened or written"),
        (Self::OutputLost, "the output could not be written"),
        (Self::Interrupted, "interrupted: left without waiting"),
    ];

    /// The number the shell sees.
    pub(crate) fn number(self) -> u8 {
        self as u8
    }

    /// The code that a failed call ends with, from its stable code and what it left behind.
    ///
    /// `in_doubt` is whether a tool with side effects was started and never answered.
    pub(crate) fn of_call(code: &str, in_doubt: bool) -> Self {
        if in_doubt {
            return Self::InDoubt;
        }
        match code {
            "in_doubt" => Self::InDoubt,
            "approval_unavailable" | "approval_required" => Self::NeedsApproval,
            "compose_needs_gate"
            | "step_missing"
            | "side_effects_undeclared"
            | "step_not_chainable"
            | "step_cycle"
            | "cycle"
            | "step_replaced"
            | "nesting_too_deep"
            | "calls_too_deep"
            | "step_disabled"
            | "permission_denied"
            | "approval_rejected"
            | "approval_denied"
            | "approval_expired"
            | "approval_mismatch"
            | "refused"
            | "forbidden"
            | "denied"
            | "inspected"
            | "selection_rejected"
            | "hook_failed"
            | "hook_panicked"
            | "suspended"
            | "no_step_decision"
            | "no_handler"
            | "diverged"
            | "catalog_changed"
            | "changed_tool"
            | "sensitive_unencrypted"
            | "step_without_result" => Self::Refused,
            "invalid_spec" | "invalid_reference" | "forward_reference" | "protocol_conflict" => Self::DoesNotCheck,
            "dry_run_needs_output" | "unknown_step" => Self::Usage,
            "journal" => Self::JournalUnavailable,
            _ => Self::ToolFailed,
        }
    }
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(exit.number())
    }
}

#[cfg(test)]
mod tests {
    use super::Exit;

    #[test]
    fn numbers_are_the_published_ones() {
        let numbers: Vec<u8> = Exit::TABLE.iter().map(|(exit, _)| exit.number()).collect();
        assert_eq!(numbers, [0, 1, 2, 10, 11, 12, 13, 20, 21, 22, 130]);
    }
}

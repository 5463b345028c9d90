//! How a failed run reads: one message, what to do, and the facts beside it, with no secret in any of them.

use std::fmt::Write as _;
use std::io;
use std::path::Path;
use std::process::ExitStatus;
use std::time::Duration;

use toolwright::{ToolError, Value};

use super::argv::ArgumentIssue;
use super::lookup::NotFound;
use super::mask::Secrets;
use super::output::Unreadable;
use super::process::End;
use super::tail::{Shown, head};

/// How much of stdout is shown beside a failure.
const STDOUT_SHOWN_BYTES_MAX: usize = 4 * 1024;

/// How much of the last line of stderr is shown in a message.
const LAST_LINE_CHARS_MAX: usize = 200;

/// What every failure of one run knows.
pub(crate) struct Report<'r> {
    /// The program, as written.
    pub(crate) program: &'r str,
    pub(crate) secrets: &'r Secrets,
    /// Whether the tool may have changed something.
    pub(crate) has_side_effects: bool,
}

/// What is left of a run that failed.
pub(crate) struct Remains {
    pub(crate) status: Option<ExitStatus>,
    pub(crate) stdout: Vec<u8>,
    /// Masked already.
    pub(crate) stderr: Shown,
}

impl Report<'_> {
    /// Arguments that cannot be handed to the program.
    pub(crate) fn invalid_arguments(&self, issues: &[ArgumentIssue]) -> ToolError {
        let mut message = String::new();
        for (index, issue) in issues.iter().enumerate() {
            let separator = if index == 0 { "" } else { "; " };
            let place = if issue.pointer.is_empty() { String::new() } else { format!("`{}`: ", issue.pointer) };
            let _infallible = write!(message, "{separator}{place}{}", issue.message);
        }
        let listed = issues.iter().map(|issue| {
            Value::object([
                ("pointer", self.text(&issue.pointer)),
                ("message", self.text(&issue.message)),
                ("help", self.text(&issue.help)),
            ])
        });
        let help = issues.first().map_or("", |issue| &issue.help);
        self.error("invalid_input", &message, help).details(Value::object([("issues", Value::array(listed))])).nothing_happened()
    }

    /// There is no such program.
    pub(crate) fn not_found(&self, missing: &NotFound, cwd: Option<&Path>) -> ToolError {
        let program = self.program;
        let (message, help) = if let Some(file) = &missing.not_executable {
            (
                format!("`{program}` cannot be run: `{}` is not executable", file.display()),
                "set its executable bit (`chmod +x`), or name the interpreter as the program and the file as its first argument".to_owned(),
            )
        } else if program.contains(std::path::is_separator) {
            let from = cwd.map_or_else(String::new, |cwd| format!(", seen from `{}`", cwd.display()));
            (
                format!("there is no file `{program}`{from}"),
                "check the path; a relative one is looked up in the tool's working directory".to_owned(),
            )
        } else if missing.searched.is_empty() {
            (
                format!("`{program}` cannot be found: `PATH` is empty or not set"),
                "set `PATH` for the tool, or write the whole path of the program".to_owned(),
            )
        } else {
            (
                format!("`{program}` is in no folder of `PATH`"),
                format!(
                    "install `{program}`, add its folder to `PATH`, or write its whole path; the host's `PATH` can differ from the one in your shell"
                ),
            )
        };
        let searched = missing.searched.iter().map(|folder| self.text(&folder.to_string_lossy()));
        self.error("command_not_found", &message, &help)
            .details(Value::object([("program", self.text(program)), ("searched", Value::array(searched))]))
            .nothing_happened()
    }

    /// The program is there, but the system did not start it.
    pub(crate) fn not_started(&self, error: &io::Error, cwd: Option<&Path>) -> ToolError {
        let missing_cwd = cwd.filter(|cwd| !cwd.is_dir());
        let (reason, help) = match (missing_cwd, error.kind()) {
            (Some(cwd), _) => {
                (format!("its working directory `{}` is no folder", cwd.display()), "create the folder, or correct the tool's `cwd`")
            }
            (None, io::ErrorKind::ArgumentListTooLong) => (
                "its arguments are longer than the system allows".to_owned(),
                "hand large values over on stdin: the tool's author can use `stdin`",
            ),
            (None, io::ErrorKind::PermissionDenied) => (error.to_string(), "check that the program may be run by this user"),
            (None, _) => (error.to_string(), "run the program by hand to see whether it starts"),
        };
        let message = format!("`{}` was not started: {reason}", self.program);
        self.error("command_not_started", &message, help).nothing_happened()
    }

    /// The run was cancelled before the program was started.
    pub(crate) fn cancelled(&self) -> ToolError {
        self.error(
            "cancelled",
            &format!("`{}` was not started: the run was cancelled", self.program),
            "call it again if its result is still needed",
        )
        .nothing_happened()
    }

    /// The run was ended by us.
    pub(crate) fn stopped(&self, end: End, timeout: Duration, stdout_bytes_max: u64, remains: &Remains) -> ToolError {
        let program = self.program;
        let (code, message, help) = match end {
            End::TimedOut => (
                "timeout",
                format!("`{program}` had not ended after {timeout:?} and was killed"),
                "give the tool a longer `timeout`, or ask for less; a program that waits for a terminal never ends",
            ),
            End::StdoutTooLarge => (
                "output_too_large",
                format!("`{program}` printed more than {stdout_bytes_max} bytes and was killed"),
                "ask for less, or give the tool a larger `maxOutput`",
            ),
            End::Cancelled | End::Exited => (
                "cancelled",
                format!("`{program}` was cancelled and killed"),
                "nothing of it is left running; call it again if its result is still needed",
            ),
        };
        self.unknown(self.error(code, &message, help).details(self.details(remains)))
    }

    /// The program ended by itself, without success.
    pub(crate) fn exited(&self, success_codes: &[i32], remains: &Remains) -> ToolError {
        let program = self.program;
        let signal = remains.status.and_then(signal_of);
        let code = remains.status.and_then(|status| status.code());
        let mut message = match (code, signal) {
            (Some(code), _) => format!("`{program}` ended with exit code {code}"),
            (None, Some(signal)) => format!("`{program}` was killed by {}", signal_name(signal)),
            (None, None) => format!("`{program}` ended, and the system does not say how"),
        };
        if let Some(line) = last_line(&remains.stderr.text) {
            let _infallible = write!(message, ": `{line}`");
        }
        let help = match code {
            Some(code) => format!(
                "the program's own words are in `stderr`; if {code} is a success here, add it to `exitCodes` (now {})",
                success_codes.iter().map(i32::to_string).collect::<Vec<_>>().join(", ")
            ),
            None => "the program's own words, if any, are in `stderr`".to_owned(),
        };
        let error = self.error("exit_code", &message, &help).details(self.details(remains));
        if code.is_none() { self.unknown(error) } else { error }
    }

    /// The program succeeded, but its output is not what was declared.
    pub(crate) fn unreadable(&self, problem: &Unreadable, remains: &Remains) -> ToolError {
        let mut message = problem.message.clone();
        if let Some(excerpt) = &problem.excerpt {
            let _infallible = write!(message, ", near `{excerpt}`");
        }
        let mut members = self.members(remains);
        if let Some((line, column)) = problem.place {
            members.push(("line", Value::from(line)));
            members.push(("column", Value::from(column)));
        }
        self.error("invalid_output", &message, &problem.help).details(Value::object(members)).it_happened()
    }

    fn unknown(&self, error: ToolError) -> ToolError {
        if self.has_side_effects { error.outcome_unknown() } else { error }
    }

    fn error(&self, code: &'static str, message: &str, help: &str) -> ToolError {
        ToolError::new(self.secrets.mask_text(message)).code(code).help(self.secrets.mask_text(help))
    }

    fn text(&self, text: &str) -> Value {
        Value::from(self.secrets.mask_text(text))
    }

    fn details(&self, remains: &Remains) -> Value {
        Value::object(self.members(remains))
    }

    fn members(&self, remains: &Remains) -> Vec<(&'static str, Value)> {
        let stdout = head(&remains.stdout, STDOUT_SHOWN_BYTES_MAX, self.secrets);
        let mut members = vec![
            ("exitCode", remains.status.and_then(|status| status.code()).map_or(Value::Null, Value::from)),
            ("signal", remains.status.and_then(signal_of).map_or(Value::Null, |signal| Value::from(signal_name(signal)))),
            ("stderr", Value::from(remains.stderr.text.as_str())),
            ("stdout", Value::from(stdout.text)),
        ];
        let cut = [("stderrBytesCut", remains.stderr.bytes_cut), ("stdoutBytesCut", stdout.bytes_cut)];
        members.extend(cut.into_iter().filter(|(_, bytes)| *bytes > 0).map(|(name, bytes)| (name, Value::from(bytes))));
        members
    }
}

/// The last line that says something, on one line, not endless.
fn last_line(text: &str) -> Option<String> {
    let line = text.lines().rev().map(str::trim).find(|line| !line.is_empty())?;
    let mut shown: String = line.chars().filter(|c| !c.is_control()).take(LAST_LINE_CHARS_MAX).collect();
    if line.chars().nth(LAST_LINE_CHARS_MAX).is_some() {
        shown.push('…');
    }
    Some(shown)
}

#[cfg(unix)]
fn signal_of(status: ExitStatus) -> Option<i32> {
    std::os::unix::process::ExitStatusExt::signal(&status)
}

#[cfg(not(unix))]
fn signal_of(_status: ExitStatus) -> Option<i32> {
    None
}

/// The name of a signal that has the same number on every Unix, or its number.
fn signal_name(signal: i32) -> String {
    let name = match signal {
        1 => "SIGHUP",
        2 => "SIGINT",
        3 => "SIGQUIT",
        4 => "SIGILL",
        6 => "SIGABRT",
        8 => "SIGFPE",
        9 => "SIGKILL",
        11 => "SIGSEGV",
        13 => "SIGPIPE",
        14 => "SIGALRM",
        15 => "SIGTERM",
        other => return format!("signal {other}"),
    };
    name.to_owned()
}

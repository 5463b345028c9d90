//! The two streams. Standard output is only the result; a reader that has gone away ends it quietly.

use std::io::{self, IsTerminal, Write};
use std::sync::OnceLock;

use crate::args::{Colour, Format};
use crate::code;
use crate::diagnostic::{self, Finding, Form};
use crate::exit::Exit;
use crate::style::{Style, WIDTH_DEFAULT, flat, limited};

/// Why standard output could not be written, once it could not.
static LOST: OnceLock<String> = OnceLock::new();

/// Where a command writes, and how.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Output {
    /// The form that was asked for.
    pub(crate) format: Format,
    /// No progress and no notes.
    pub(crate) quiet: bool,
    /// A person looks at standard output.
    pub(crate) terminal: bool,
    /// The style of standard output.
    pub(crate) out: Style,
    /// The style of standard error.
    pub(crate) err: Style,
}

impl Output {
    /// For this process's streams.
    pub(crate) fn new(format: Format, colour: Colour, quiet: bool) -> Self {
        let human = format == Format::Human;
        let style = |stream: Style| if human { stream } else { Style::none() };
        Self {
            format,
            quiet,
            terminal: io::stdout().is_terminal(),
            out: style(Style::of(colour, &io::stdout())),
            err: style(Style::of(colour, &io::stderr())),
        }
    }

    /// Columns of human output: the same everywhere, so that output can be compared.
    pub(crate) fn width(self) -> usize {
        let columns = std::env::var("COLUMNS").ok().and_then(|text| text.parse().ok());
        columns.map_or(WIDTH_DEFAULT, |columns: usize| columns.clamp(60, 120))
    }

    /// The result. A closed pipe is the reader's way to say that it has enough.
    pub(crate) fn result(self, text: &str) {
        keep(write_all(&mut io::stdout().lock(), text));
    }

    /// The result as one JSON document.
    pub(crate) fn json(self, value: &serde_json::Value) {
        self.result(&format!("{value:#}\n"));
    }

    /// What is not the result.
    pub(crate) fn note(self, text: &str) {
        if !self.quiet {
            self.error(text);
        }
    }

    /// What went wrong.
    pub(crate) fn error(self, text: &str) {
        // Nobody is left to tell when this cannot be printed.
        let _ = write_all(&mut io::stderr().lock(), text);
    }

    /// Tells what is wrong, in the form that was asked for, and how the command ends.
    pub(crate) fn fail(self, findings: &[Finding], exit: Exit) -> Exit {
        self.failed(findings, &serde_json::json!([]));
        exit
    }

    /// The same where a tool may have run, and what it did is not told here.
    pub(crate) fn fail_in_doubt(self, findings: &[Finding], exit: Exit) -> Exit {
        self.failed(findings, &serde_json::Value::Null);
        exit
    }

    fn failed(self, findings: &[Finding], effects: &serde_json::Value) {
        match self.format {
            Format::Json => self.error(&format!("{:#}\n", as_result(findings, effects))),
            Format::Human | Format::Plain => self.error(&self.findings(findings)),
        }
    }

    /// How the command ends, once everything is written: a result that nobody can have got is a failure.
    pub(crate) fn ended(self, exit: Exit) -> Exit {
        let Some(why) = LOST.get() else { return exit };
        let finding = Finding::error(code::OUTPUT_LOST, format!("standard output could not be written: {why}"))
            .help("what was asked for was done, and only its output is lost: look before you do it again");
        let exit = if exit == Exit::Ok { Exit::OutputLost } else { exit };
        self.fail_in_doubt(&[finding], exit)
    }

    /// Findings, where the result goes (`check`) or not.
    pub(crate) fn findings(self, findings: &[Finding]) -> String {
        let form = match self.format {
            Format::Human => Form::Human { colour: self.err.colour(), width: self.width() },
            Format::Plain => Form::Plain,
            Format::Json => Form::Json,
        };
        diagnostic::render(findings, form)
    }

    /// Findings that are the result themselves.
    pub(crate) fn findings_on_stdout(self, findings: &[Finding]) -> String {
        Self { err: self.out, ..self }.findings(findings)
    }

    /// Whether progress can be shown: a person looks at standard error.
    pub(crate) fn shows_progress(self) -> bool {
        !self.quiet && self.format == Format::Human && io::stderr().is_terminal()
    }
}

fn write_all(stream: &mut impl Write, text: &str) -> io::Result<()> {
    stream.write_all(text.as_bytes()).and_then(|()| stream.flush())
}

/// Remembers that standard output could not be written. A reader that went away is no error.
pub(crate) fn keep(written: io::Result<()>) {
    if let Err(error) = written
        && error.kind() != io::ErrorKind::BrokenPipe
    {
        // The first reason is the one that counts.
        let _ = LOST.set(error.to_string());
    }
}

/// Findings in the form of a call's result, so that a script reads one form.
fn as_result(findings: &[Finding], effects: &serde_json::Value) -> serde_json::Value {
    let first = findings.first();
    let code = first.map_or("", |finding| finding.code.as_str());
    serde_json::json!({
        "success": false,
        "code": code,
        "error": first.map_or_else(String::new, |finding| flat(&limited(&finding.message))),
        "help": first.and_then(|finding| finding.help.as_deref().map(|help| flat(&limited(help)))),
        "details": {
            "code": code,
            "findings": diagnostic::list_json(findings),
        },
        "effects": effects,
    })
}

//! A process that measures: ours or the peer's. One line asks, one line answers.

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use serde_json::{Value, json};

use super::CASES;
use crate::peers::{self, Installed};
use crate::repo;
use crate::stage::{self, Count, Ended};

/// The program that measures our side.
pub(super) const EXAMPLE: &str = "steps";

pub(super) struct Side {
    name: &'static str,
    child: Child,
    asks: ChildStdin,
    answers: BufReader<ChildStdout>,
}

impl Side {
    pub(super) fn ours() -> Result<Self, String> {
        Self::start("toolwright", &mut Command::new(build(EXAMPLE)?))
    }

    pub(super) fn peer() -> Result<Self, String> {
        match peers::install_bench()? {
            Installed::At(folder) => {
                let mut command = repo::command("node");
                command.arg("bench/peer.mjs").arg(folder).arg(CASES);
                Self::start("the peer", &mut command)
            }
            Installed::Missing(why) => Err(format!("the peer cannot run: {why}")),
        }
    }

    fn start(name: &'static str, command: &mut Command) -> Result<Self, String> {
        let mut child =
            command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().map_err(|error| format!("cannot start {name}: {error}"))?;
        let (Some(asks), Some(stdout)) = (child.stdin.take(), child.stdout.take()) else {
            return Err(format!("{name} has no stdin or no stdout"));
        };
        Ok(Self { name, child, asks, answers: BufReader::new(stdout) })
    }

    /// CPU nanoseconds per step of `case`, measured over at least `milliseconds`.
    pub(super) fn measure(&mut self, case: &str, variant: &str, milliseconds: u64) -> Result<f64, String> {
        let name = self.name;
        let ask = json!({"case": case, "variant": variant, "ms": milliseconds});
        writeln!(self.asks, "{ask}").map_err(|error| format!("cannot ask {name} for `{case}`: {error}"))?;
        let mut line = String::new();
        self.answers.read_line(&mut line).map_err(|error| format!("{name} does not answer for `{case}`: {error}"))?;
        let answer: Option<f64> = serde_json::from_str::<Value>(&line).ok().and_then(|answer| answer.get("ns")?.as_f64());
        answer.ok_or_else(|| format!("{name} answered `{}` for `{case}` ({variant})", line.trim()))
    }
}

impl Drop for Side {
    fn drop(&mut self) {
        // It ends by itself when its stdin closes; a run that failed must not wait for it.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Builds a program that measures, optimised, and gives its path.
pub(super) fn build(example: &str) -> Result<std::path::PathBuf, String> {
    build_of("xtask", example)
}

/// As [`build`], for a program of another crate.
pub(super) fn build_of(package: &str, example: &str) -> Result<std::path::PathBuf, String> {
    let mut command = repo::cargo();
    command.args(["build", "--release", "--locked", "--quiet", "--package", package, "--example", example]);
    match stage::run(&mut command, &mut Count::default())? {
        Ended::Well => Ok(repo::target()?.join("release").join("examples").join(example)),
        Ended::Badly(why) | Ended::LeftOut(why) => Err(why),
    }
}

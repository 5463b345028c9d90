//! A stage of a run: a heading, what it did, how long it took, and how many tests it counted.

use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use crate::repo;

/// What tests a stage ran.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Count {
    pub(crate) passed: u64,
    pub(crate) failed: u64,
}

impl Count {
    /// One check that is no test of a test runner.
    pub(crate) fn one(passed: bool) -> Self {
        Self { passed: u64::from(passed), failed: u64::from(!passed) }
    }

    pub(crate) fn add(&mut self, other: Self) {
        self.passed += other.passed;
        self.failed += other.failed;
    }

    /// Reads the closing line of a test binary: `test result: ok. 5 passed; 0 failed; 1 ignored; …`.
    fn from_closing_line(line: &str) -> Option<Self> {
        let rest = line.trim_start().strip_prefix("test result: ")?;
        let number = |word: &str| -> Option<u64> {
            let before = rest.split(';').find(|part| part.trim_end().ends_with(word))?;
            before.trim_end().strip_suffix(word)?.trim().rsplit(' ').next()?.parse().ok()
        };
        Some(Self { passed: number("passed")?, failed: number("failed")? })
    }
}

/// How a stage ended.
#[derive(Debug)]
pub(crate) enum Ended {
    Well,
    /// It ran and found something wrong.
    Badly(String),
    /// It did not run; in CI that is a failure.
    LeftOut(String),
}

/// The stages so far.
#[derive(Debug, Default)]
pub(crate) struct Stages {
    done: Vec<(&'static str, Ended, Duration)>,
    count: Count,
}

impl Stages {
    /// Runs one stage under its heading and keeps how it ended; answers whether it ended well.
    pub(crate) fn run(&mut self, name: &'static str, body: impl FnOnce(&mut Count) -> Result<Ended, String>) -> bool {
        println!("\n=== {name}");
        let start = Instant::now();
        let mut count = Count::default();
        let ended = body(&mut count).unwrap_or_else(Ended::Badly);
        let took = start.elapsed();
        match &ended {
            Ended::Well => println!("--- {name}: ok in {}", seconds(took)),
            Ended::Badly(why) => println!("--- {name}: FAILED in {}: {why}", seconds(took)),
            Ended::LeftOut(why) => println!("--- {name}: left out: {why}"),
        }
        // A stage that fails without a test of its own is one failure of the sum.
        let failed = match &ended {
            Ended::Well => false,
            Ended::Badly(_) => true,
            Ended::LeftOut(_) => repo::in_ci(),
        };
        count.failed = count.failed.max(u64::from(failed));
        self.count.add(count);
        let well = matches!(ended, Ended::Well);
        self.done.push((name, ended, took));
        well
    }

    /// Prints the table and the closing line; answers whether all is well.
    pub(crate) fn close(&self) -> bool {
        println!("\n=== summary");
        let strict = if repo::in_ci() { " (CI leaves nothing out)" } else { "" };
        for (name, ended, took) in &self.done {
            match ended {
                Ended::Well => println!("ok       {name} ({})", seconds(*took)),
                Ended::Badly(why) => println!("FAILED   {name}: {why}"),
                Ended::LeftOut(why) => println!("left out {name}: {why}{strict}"),
            }
        }
        println!("\n{} passed, {} failed", self.count.passed, self.count.failed);
        self.count.failed == 0
    }
}

/// Runs a command with its output where the person sees it; every closing line of a test binary is added to `count`.
pub(crate) fn run(command: &mut Command, count: &mut Count) -> Result<Ended, String> {
    let shown = repo::shown(command);
    println!("$ {shown}");
    let mut child =
        command.stdin(Stdio::null()).stdout(Stdio::piped()).spawn().map_err(|error| format!("cannot start `{shown}`: {error}"))?;
    let stdout = child.stdout.take().ok_or_else(|| format!("`{shown}` has no stdout"))?;
    for line in BufReader::new(stdout).split(b'\n') {
        let line = line.map_err(|error| format!("cannot read what `{shown}` prints: {error}"))?;
        let line = String::from_utf8_lossy(&line);
        println!("{line}");
        if let Some(found) = Count::from_closing_line(&line) {
            count.add(found);
        }
    }
    let status = child.wait().map_err(|error| format!("cannot wait for `{shown}`: {error}"))?;
    Ok(if status.success() { Ended::Well } else { Ended::Badly(format!("`{shown}` ended with {status}")) })
}

fn seconds(took: Duration) -> String {
    format!("{:.1} s", took.as_secs_f64())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_closing_line_of_a_test_binary_is_counted() {
        let line = "test result: FAILED. 12 passed; 3 failed; 1 ignored; 0 measured; 4 filtered out; finished in 0.02s";
        assert_eq!(Count::from_closing_line(line), Some(Count { passed: 12, failed: 3 }));
        let line = "test result: ok. 0 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.00s";
        assert_eq!(Count::from_closing_line(line), Some(Count::default()));
        assert_eq!(Count::from_closing_line("test tidy::tests::passed ... ok"), None);
    }

    #[test]
    fn a_stage_that_fails_fails_the_run_and_hides_no_later_one() {
        let mut stages = Stages::default();
        assert!(!stages.run("first", |_| Err("broken".to_owned())));
        assert!(stages.run("second", |count| {
            count.add(Count { passed: 2, failed: 0 });
            Ok(Ended::Well)
        }));
        assert!(!stages.close());
    }
}

//! One process of the real binary: started, killed at the chosen point or not, and read.

use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;

use super::world::World;

/// When a process is killed.
#[derive(Clone, Debug)]
pub(super) enum Kill {
    Never,
    /// After so long.
    At(Duration),
    /// So long after the endpoint saw so many requests of this run in all.
    AfterRequest(usize, Duration),
    /// When the endpoint saw a request of this tool.
    WithTool(String),
    /// By itself, when it passes this point for the n-th time.
    Fault(String, usize),
}

impl Kill {
    pub(super) fn kind(&self) -> &'static str {
        match self {
            Self::Never => "never",
            Self::At(_) => "at a random time",
            Self::AfterRequest(..) | Self::WithTool(_) => "around a request",
            Self::Fault(..) => "at a fault point",
        }
    }
}

/// How a process ended.
#[derive(Debug)]
pub(super) enum Ended {
    Killed,
    Exited(Exited),
}

/// What a process that was not killed left behind.
#[derive(Debug)]
pub(super) struct Exited {
    pub(super) code: i32,
    pub(super) out: String,
    pub(super) err: String,
}

impl Exited {
    /// The document: the result on standard output, or the error on the other one.
    pub(super) fn json(&self) -> Value {
        let text = if self.code == 0 { &self.out } else { &self.err };
        serde_json::from_str(text).unwrap_or_default()
    }

    pub(super) fn shown(&self) -> String {
        format!("exit code {}\n{}{}", self.code, self.out, self.err)
    }
}

/// No process may take longer.
const HANGS: Duration = Duration::from_secs(60);

impl World {
    /// Runs the binary for the run with this ticket, and kills it as told.
    pub(super) fn life(&self, journal: &str, ticket: &str, arguments: &[String], kill: &Kill) -> Result<Ended, String> {
        let mut command = self.command(journal, ticket);
        command.args(arguments).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        if let Kill::Fault(point, nth) = kill {
            command.env("TOOLWRIGHT_FAULT", format!("{point}:{nth}"));
        }
        let mut child = command.spawn().map_err(|error| format!("cannot start the binary: {error}"))?;
        self.wait_or_kill(&mut child, ticket, kill)?;
        finish(child)
    }

    fn wait_or_kill(&self, child: &mut Child, ticket: &str, kill: &Kill) -> Result<(), String> {
        let started = Instant::now();
        let mut at = if let Kill::At(after) = kill { Some(started + *after) } else { None };
        loop {
            if child.try_wait().map_err(|error| format!("cannot wait for the binary: {error}"))?.is_some() {
                return Ok(());
            }
            let now = Instant::now();
            if at.is_some_and(|at| now >= at) {
                // SIGKILL: nothing of the process runs after it.
                return child.kill().map_err(|error| format!("cannot kill the binary: {error}"));
            }
            if now.duration_since(started) > HANGS {
                let _ = child.kill();
                return Err(format!("the binary did not end within {} s", HANGS.as_secs()));
            }
            let left = at.map_or(Duration::from_millis(1), |at| at.duration_since(now).min(Duration::from_millis(1)));
            match kill {
                Kill::AfterRequest(count, then) if at.is_none() => {
                    if self.endpoint.watch(ticket, Duration::from_micros(500)) >= *count {
                        at = Some(Instant::now() + *then);
                    }
                }
                Kill::WithTool(tool) if at.is_none() => {
                    self.endpoint.watch(ticket, Duration::from_micros(500));
                    at = self.endpoint.seen(ticket).iter().any(|seen| seen.tool == *tool).then(Instant::now);
                }
                _ => std::thread::sleep(left),
            }
        }
    }
}

pub(super) fn finish(child: Child) -> Result<Ended, String> {
    let output = child.wait_with_output().map_err(|error| format!("cannot read what the binary printed: {error}"))?;
    let text = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).into_owned();
    match output.status.code() {
        Some(code) => Ok(Ended::Exited(Exited { code, out: text(output.stdout), err: text(output.stderr) })),
        None if was_killed(output.status) => Ok(Ended::Killed),
        None => Err(format!("the binary ended with {}: {}", output.status, text(output.stderr))),
    }
}

#[cfg(unix)]
fn was_killed(status: std::process::ExitStatus) -> bool {
    // At a fault point the process ends itself, by SIGABRT: nothing of it runs after that either.
    matches!(std::os::unix::process::ExitStatusExt::signal(&status), Some(6 | 9))
}

#[cfg(not(unix))]
fn was_killed(_: std::process::ExitStatus) -> bool {
    false
}

/// Processes that belong to the run with this ticket and are still there: clients that outlived the binary.
pub(super) fn left_behind(ticket: &str) -> Vec<u32> {
    let holds = |path: std::path::PathBuf| {
        let text = std::fs::read(path).unwrap_or_default();
        text.split(|byte| *byte == 0)
            .any(|word| word.strip_prefix(b"ticket=").or(word.strip_prefix(b"CRASH_TICKET=")) == Some(ticket.as_bytes()))
    };
    let processes = std::fs::read_dir("/proc").into_iter().flatten().flatten();
    let numbered = processes.filter_map(|entry| Some((entry.file_name().to_str()?.parse::<u32>().ok()?, entry.path())));
    numbered.filter(|(_, path)| holds(path.join("cmdline")) || holds(path.join("environ"))).map(|(id, _)| id).collect()
}

/// Kills them, or waits until they are gone.
pub(super) fn settle(ticket: &str, kill: bool) {
    let until = Instant::now() + HANGS;
    loop {
        let left = left_behind(ticket);
        if left.is_empty() || Instant::now() >= until {
            return;
        }
        if kill {
            left.into_iter().for_each(kill_process);
        }
        std::thread::sleep(Duration::from_millis(2));
    }
}

#[cfg(unix)]
fn kill_process(id: u32) {
    let id = i32::try_from(id).ok().and_then(rustix::process::Pid::from_raw);
    // Who is gone needs no killing.
    let _ = id.map(|id| rustix::process::kill_process(id, rustix::process::Signal::KILL));
}

#[cfg(not(unix))]
fn kill_process(_: u32) {}

//! A process between us and a server that ends the server's whole tree when we vanish.
//!
//! A server that ignores its closed stdin outlives a host that was killed hard. The guard does not: the host starts
//! `GUARD… HOST_PID -- COMMAND…` in a process group of its own, the guard starts the command in the same group with
//! the same stdin, stdout and stderr, and looks whether the host is still its parent. When it is not, the guard
//! gives the group a moment, terminates it, and kills it, itself included. What a command left running that ended by itself is ended
//! too: on Linux also what it put into a session of its own, since the guard takes the place of parents that are gone.
//!
//! The command line offers it as a hidden subcommand; see `ServerSpec::guard`.

use std::ffi::OsString;
use std::process::ExitStatus;
use std::time::Duration;

use crate::descendants::Descendants;

/// How often the guard looks for its host.
const LOOK_EVERY: Duration = Duration::from_millis(200);
/// How long a server gets to end by itself, and again after SIGTERM, once the host is gone.
const GRACE: Duration = Duration::from_secs(1);
/// How often it is looked whether what was left running has ended.
const ORPHANS_POLL: Duration = Duration::from_millis(20);

/// Runs the guard with the arguments `HOST_PID -- COMMAND ARGS…`; returns the exit code for its process.
///
/// The code is the command's own, or 128 and the signal that ended it; 127 when it could not be started, 2 when
/// the arguments are not of that form. Blocks the calling thread.
pub fn run(args: impl IntoIterator<Item = OsString>) -> i32 {
    let Some(job) = Job::parse(args) else { return 2 };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    match runtime {
        Ok(runtime) => runtime.block_on(job.run()),
        Err(_) => 127,
    }
}

struct Job {
    host: u32,
    program: OsString,
    args: Vec<OsString>,
}

impl Job {
    fn parse(args: impl IntoIterator<Item = OsString>) -> Option<Self> {
        let mut args = args.into_iter();
        let host = args.next()?.to_str()?.parse().ok()?;
        let mut rest = args.skip_while(|arg| arg == "--");
        Some(Job { host, program: rest.next()?, args: rest.collect() })
    }

    async fn run(self) -> i32 {
        let orphans = Orphans::adopted();
        // Caught, so that a SIGTERM to the group ends the command and not its guard first.
        let mut terminated = Terminated::listen();
        let spawned = tokio::process::Command::new(&self.program).args(&self.args).spawn();
        let mut child = match spawned {
            Ok(child) => child,
            Err(error) => {
                use std::io::Write;
                let why = format!("cannot run `{}`: {error}\n", self.program.display());
                let _ = std::io::stderr().write_all(why.as_bytes());
                return 127;
            }
        };
        loop {
            tokio::select! {
                status = child.wait() => {
                    end_orphans().await;
                    return code(status.ok());
                }
                () = terminated.next() => {}
                () = tokio::time::sleep(LOOK_EVERY) => {
                    orphans.bury(child.id());
                    if host_is_gone(self.host) {
                        break;
                    }
                }
            }
        }
        let mut tree = Descendants::default();
        tree.find(std::process::id());
        // The host's death closed the pipe to the command's stdin, so it may be leaving by itself.
        if tokio::time::timeout(GRACE, child.wait()).await.is_err() {
            tree.find(std::process::id());
            end_group(Signal::Terminate);
            tree.terminate();
            let _ = tokio::time::timeout(GRACE, child.wait()).await;
            tree.find(std::process::id());
        }
        tree.kill();
        end_group(Signal::Kill);
        code(child.wait().await.ok())
    }
}

/// Ends what the command left running when it ended by itself, also in a session of its own.
async fn end_orphans() {
    let mut orphans = Descendants::default();
    orphans.find(std::process::id());
    if orphans.are_gone() {
        return;
    }
    orphans.terminate();
    let _ = tokio::time::timeout(GRACE, async {
        while !orphans.are_gone() {
            tokio::time::sleep(ORPHANS_POLL).await;
        }
    })
    .await;
    orphans.find(std::process::id());
    orphans.kill();
}

/// Whoever loses its parent below us becomes our child, and can still be found.
#[cfg(target_os = "linux")]
struct Orphans;

#[cfg(target_os = "linux")]
impl Orphans {
    fn adopted() -> Self {
        // Only where we can see who came to us: they would stay zombies for as long as the command runs.
        if std::path::Path::new("/proc/thread-self/children").exists() {
            let _ = rustix::process::set_child_subreaper(Some(rustix::process::getpid()));
        }
        Self
    }

    /// Takes leave of those that have ended. Not of the command: who waits for it does.
    fn bury(&self, command: Option<u32>) {
        let command = command.and_then(|command| i32::try_from(command).ok());
        for id in Self::children().filter(|id| Some(*id) != command) {
            if let Some(id) = rustix::process::Pid::from_raw(id) {
                let _ = rustix::process::waitpid(Some(id), rustix::process::WaitOptions::NOHANG);
            }
        }
    }

    /// Our children, whichever thread they came to.
    fn children() -> impl Iterator<Item = i32> {
        let threads = std::fs::read_dir("/proc/self/task").into_iter().flatten().flatten();
        let lists = threads.filter_map(|thread| std::fs::read_to_string(thread.path().join("children")).ok());
        lists.flat_map(|list| list.split_ascii_whitespace().filter_map(|id| id.parse().ok()).collect::<Vec<i32>>())
    }
}

#[cfg(not(target_os = "linux"))]
struct Orphans;

#[cfg(not(target_os = "linux"))]
impl Orphans {
    fn adopted() -> Self {
        Self
    }

    fn bury(&self, _: Option<u32>) {}
}

fn code(status: Option<ExitStatus>) -> i32 {
    let Some(status) = status else { return 127 };
    #[cfg(unix)]
    if let Some(signal) = std::os::unix::process::ExitStatusExt::signal(&status) {
        return 128 + signal;
    }
    status.code().unwrap_or(127)
}

#[derive(Clone, Copy)]
enum Signal {
    Terminate,
    Kill,
}

#[cfg(unix)]
fn host_is_gone(host: u32) -> bool {
    let parent = rustix::process::getppid().map(rustix::process::Pid::as_raw_pid);
    parent.and_then(|parent| u32::try_from(parent).ok()) != Some(host)
}

#[cfg(unix)]
fn end_group(signal: Signal) {
    let signal = match signal {
        Signal::Terminate => rustix::process::Signal::TERM,
        Signal::Kill => rustix::process::Signal::KILL,
    };
    let _ = rustix::process::kill_current_process_group(signal);
}

#[cfg(unix)]
struct Terminated(Option<tokio::signal::unix::Signal>);

#[cfg(unix)]
impl Terminated {
    fn listen() -> Self {
        Terminated(tokio::signal::unix::signal(tokio::signal::unix::SignalKind::terminate()).ok())
    }

    async fn next(&mut self) {
        match &mut self.0 {
            Some(signal) => {
                signal.recv().await;
            }
            None => std::future::pending().await,
        }
    }
}

#[cfg(not(unix))]
fn host_is_gone(_host: u32) -> bool {
    false
}

#[cfg(not(unix))]
fn end_group(_signal: Signal) {}

#[cfg(not(unix))]
struct Terminated;

#[cfg(not(unix))]
impl Terminated {
    fn listen() -> Self {
        Terminated
    }

    async fn next(&mut self) {
        std::future::pending().await
    }
}

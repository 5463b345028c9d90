//! A server's child process: started with a small environment in its own process group, its stderr drained all the
//! time, and ended in order: stdin closes, it may leave; SIGTERM to the group; SIGKILL to the group; reaped.

use std::process::{ExitStatus, Stdio};
use std::sync::Arc;
use std::time::Duration;

use tokio::io::AsyncReadExt;
use tokio::process::{Child, ChildStderr, ChildStdin, ChildStdout, Command};
use tokio::sync::watch;
use tokio::time::{Instant, sleep, timeout};
use tokio_util::sync::CancellationToken;

use super::error::UpstreamError;
use super::lookup;
use super::secrets::Redactor;
use super::spec::{ServerSpec, Transport};
use super::status::Board;
use crate::descendants::Descendants;

/// What a child inherits unless it gets a clean environment: enough to find programs, a home and a language, and whom this machine trusts
/// in the network, without which runners such as `npx` and `uvx` reach nothing behind a company's proxy. None of them usually holds a secret.
const INHERITED: &[&str] = &[
    "PATH",
    "HOME",
    "USER",
    "LOGNAME",
    "SHELL",
    "TERM",
    "LANG",
    "LANGUAGE",
    "TZ",
    "TMPDIR",
    "TEMP",
    "TMP",
    "SYSTEMROOT",
    "SYSTEMDRIVE",
    "COMSPEC",
    "PATHEXT",
    "APPDATA",
    "LOCALAPPDATA",
    "PROGRAMFILES",
    "USERPROFILE",
    "XDG_CACHE_HOME",
    "XDG_CONFIG_HOME",
    "XDG_DATA_HOME",
    "NODE_EXTRA_CA_CERTS",
    "REQUESTS_CA_BUNDLE",
    "SSL_CERT_DIR",
    "SSL_CERT_FILE",
];
/// How often an ending process group is looked at.
const GROUP_POLL: Duration = Duration::from_millis(20);
/// How long the members that a server left behind may take to go after SIGTERM.
const LEFT_BEHIND_GRACE: Duration = Duration::from_millis(500);
/// How long the last bytes of stderr may take to arrive after the end of the process.
const STDERR_DRAIN: Duration = Duration::from_millis(200);

/// A running child and the ways to know and end it. Dropping it ends the child in order.
#[derive(Debug)]
pub(crate) struct Process {
    pub(crate) pid: u32,
    exit: watch::Receiver<Option<String>>,
    gone: watch::Receiver<bool>,
    stop: CancellationToken,
    closing: CancellationToken,
}

/// The child's ends of its pipes that carry messages.
pub(crate) struct Pipes {
    pub(crate) stdin: ChildStdin,
    pub(crate) stdout: ChildStdout,
}

impl Process {
    /// Starts the server's command.
    pub(crate) fn start(spec: &ServerSpec, board: &Arc<Board>) -> Result<(Process, Pipes), UpstreamError> {
        let mut child =
            command(spec, &board.redactor)?.spawn().map_err(|error| UpstreamError::not_started(spec, &board.redactor, &error))?;
        let (Some(stdin), Some(stdout), Some(stderr), Some(pid)) =
            (child.stdin.take(), child.stdout.take(), child.stderr.take(), child.id())
        else {
            return Err(UpstreamError::start(spec, "its pipes could not be opened"));
        };
        let (exit_tx, exit) = watch::channel(None);
        let (gone_tx, gone) = watch::channel(false);
        board.child(gone.clone());
        let stop = CancellationToken::new();
        let closing = CancellationToken::new();
        board.stderr.mark();
        let drained = tokio::spawn(drain(stderr, board.clone()));
        let keeper = Keeper { child, group: Group::of(pid), grace: spec.shutdown_grace, stop: stop.clone(), closing: closing.clone() };
        tokio::spawn(async move {
            keeper.keep(&exit_tx, drained).await;
            gone_tx.send_replace(true);
        });
        Ok((Process { pid, exit, gone, stop, closing }, Pipes { stdin, stdout }))
    }

    /// Asks for the orderly end. Whoever holds the child's stdin drops it on [`Self::closing`].
    pub(crate) fn stop(&self) {
        self.stop.cancel();
    }

    /// Done when the child's stdin is to be closed.
    pub(crate) fn closing(&self) -> CancellationToken {
        self.closing.clone()
    }

    /// How it ended, when it has.
    pub(crate) fn exit(&self) -> Option<String> {
        self.exit.borrow().clone()
    }

    /// Waits until the process itself has ended; its group may still be ending.
    pub(crate) fn exited(&self) -> impl Future<Output = ()> + Send + 'static {
        let mut exit = self.exit.clone();
        async move {
            let _ = exit.wait_for(Option::is_some).await;
        }
    }

    /// Waits until nothing of the process group is left.
    pub(crate) async fn gone(&self) {
        let mut gone = self.gone.clone();
        let _ = gone.wait_for(|gone| *gone).await;
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        self.stop.cancel();
    }
}

/// Owns the child until nothing of it is left.
struct Keeper {
    child: Child,
    group: Group,
    grace: Duration,
    stop: CancellationToken,
    closing: CancellationToken,
}

impl Keeper {
    async fn keep(mut self, exit: &watch::Sender<Option<String>>, drained: tokio::task::JoinHandle<()>) {
        let status = tokio::select! {
            biased;
            () = self.stop.cancelled() => None,
            status = self.child.wait() => Some(status),
        };
        let status = match status {
            Some(status) => status,
            None => self.end().await,
        };
        self.closing.cancel();
        let _ = timeout(STDERR_DRAIN, drained).await;
        exit.send_replace(Some(describe(status.ok())));
        self.group.sweep().await;
    }

    /// The orderly end. Before anything else it looks who belongs to the child, which may leave at once.
    async fn end(&mut self) -> std::io::Result<ExitStatus> {
        self.group.look();
        self.closing.cancel();
        if let Ok(status) = timeout(self.grace, self.child.wait()).await {
            return status;
        }
        self.group.look();
        self.group.terminate();
        if let Ok(status) = timeout(self.grace, self.child.wait()).await {
            return status;
        }
        self.group.look();
        self.group.kill();
        let _ = self.child.start_kill();
        self.child.wait().await
    }
}

fn describe(status: Option<ExitStatus>) -> String {
    let Some(status) = status else { return "an unknown status".to_owned() };
    #[cfg(unix)]
    if let Some(signal) = std::os::unix::process::ExitStatusExt::signal(&status) {
        return match signal {
            6 => "signal SIGABRT".to_owned(),
            9 => "signal SIGKILL".to_owned(),
            11 => "signal SIGSEGV".to_owned(),
            15 => "signal SIGTERM".to_owned(),
            other => format!("signal {other}"),
        };
    }
    status.code().map_or_else(|| "an unknown status".to_owned(), |code| format!("status {code}"))
}

/// A child's process group and what left it. Dropped before it was swept, as when the runtime ends, it is killed on
/// the spot.
struct Group {
    leader: u32,
    descendants: Descendants,
    #[cfg(unix)]
    id: Option<rustix::process::Pid>,
}

impl Group {
    /// Learns who belongs here, while the leader can still be asked.
    fn look(&mut self) {
        self.descendants.find(self.leader);
    }

    /// Ends what the child left behind.
    async fn sweep(&mut self) {
        if !self.is_empty() {
            self.terminate();
            let deadline = Instant::now() + LEFT_BEHIND_GRACE;
            while !self.is_empty() && Instant::now() < deadline {
                sleep(GROUP_POLL).await;
            }
            self.kill();
        }
        self.forget();
    }
}

#[cfg(unix)]
impl Group {
    fn of(leader: u32) -> Self {
        let id = i32::try_from(leader).ok().and_then(rustix::process::Pid::from_raw);
        Group { leader, descendants: Descendants::default(), id }
    }

    fn terminate(&self) {
        self.signal(rustix::process::Signal::TERM);
        self.descendants.terminate();
    }

    fn kill(&self) {
        self.signal(rustix::process::Signal::KILL);
        self.descendants.kill();
    }

    fn signal(&self, signal: rustix::process::Signal) {
        if let Some(id) = self.id {
            let _ = rustix::process::kill_process_group(id, signal);
        }
    }

    fn is_empty(&self) -> bool {
        self.id.is_none_or(|id| rustix::process::test_kill_process_group(id).is_err()) && self.descendants.are_gone()
    }

    fn forget(&mut self) {
        self.id = None;
    }
}

#[cfg(unix)]
impl Drop for Group {
    fn drop(&mut self) {
        if self.id.is_some() {
            self.look();
            self.kill();
        }
    }
}

#[cfg(not(unix))]
impl Group {
    fn of(leader: u32) -> Self {
        Group { leader, descendants: Descendants::default() }
    }

    fn terminate(&self) {
        self.descendants.terminate();
    }

    fn kill(&self) {
        self.descendants.kill();
    }

    fn is_empty(&self) -> bool {
        self.descendants.are_gone()
    }

    fn forget(&mut self) {}
}

fn command(spec: &ServerSpec, redactor: &Redactor) -> Result<Command, UpstreamError> {
    let Transport::Stdio { command, args, cwd, env } = &spec.transport else {
        return Err(UpstreamError::start(spec, "it has no command"));
    };
    let mut line: Vec<String> = Vec::new();
    if let Some(guard) = spec.guard.as_ref().filter(|guard| !guard.is_empty()) {
        line.extend(guard.iter().cloned());
        line.extend([std::process::id().to_string(), "--".to_owned()]);
    }
    line.push(command.clone());
    line.extend(args.iter().cloned());
    // Behind a guard nobody else would say so in time.
    if spec.guard.is_some() && lookup::program(spec).is_none() {
        return Err(UpstreamError::no_program(spec, redactor));
    }
    let (program, rest) = line.split_first().ok_or_else(|| UpstreamError::start(spec, "it has no command"))?;
    let mut built = Command::new(program);
    built.args(rest).env_clear();
    if !spec.clean_env {
        built.envs(std::env::vars_os().filter(|(name, _)| name.to_str().is_some_and(inherited)));
    }
    built.envs(env.iter().map(|(name, value)| (name, value)));
    if let Some(cwd) = cwd {
        if !cwd.is_dir() {
            let why = format!("its working directory `{}` is not there", cwd.display());
            return Err(UpstreamError::start(spec, &why));
        }
        built.current_dir(cwd);
    }
    built.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).kill_on_drop(true);
    #[cfg(unix)]
    built.process_group(0);
    Ok(built)
}

fn inherited(name: &str) -> bool {
    name.starts_with("LC_") || INHERITED.iter().any(|known| name.eq_ignore_ascii_case(known))
}

async fn drain(mut stderr: ChildStderr, board: Arc<Board>) {
    let mut buffer = vec![0_u8; 16 * 1024];
    while let Ok(count) = stderr.read(&mut buffer).await {
        if count == 0 {
            return;
        }
        board.stderr.push(buffer.get(..count).unwrap_or_default());
    }
}

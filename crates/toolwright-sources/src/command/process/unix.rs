//! A process group on Unix.
//!
//! INVARIANT: the leader is not reaped before the group has been killed. As long as the leader is at least a zombie, its number
//! cannot be given to another process, so the signal can only reach our own.

use std::io;
use std::os::unix::process::CommandExt as _;
use std::process::{Child, Command, ExitStatus, Stdio};

use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, kill_process_group, waitid};
use tokio::process::{ChildStderr, ChildStdin, ChildStdout};
use tokio::signal::unix::{Signal as SignalStream, SignalKind, signal};

use super::{Launch, guard};

/// The ends of the pipes that are ours.
pub(super) struct Pipes {
    pub(super) stdin: Option<ChildStdin>,
    pub(super) stdout: Option<ChildStdout>,
    pub(super) stderr: Option<ChildStderr>,
}

/// A started program and everything it has started in its process group. Dropping it kills them all.
pub(super) struct Group {
    /// `None` once reaped.
    leader: Option<Child>,
    pid: Pid,
    child_changed: SignalStream,
    #[cfg(target_os = "linux")]
    strays: super::descendants::Strays,
}

impl Group {
    pub(super) fn spawn(launch: &Launch) -> io::Result<(Self, Pipes)> {
        // Before the start: no change of the child can be missed.
        let child_changed = signal(SignalKind::child())?;
        let mut command = Command::new(&launch.program);
        command
            .arg0(&launch.name)
            .args(&launch.args)
            .env_clear()
            .envs(launch.env.iter().map(|(name, value)| (name, value)))
            .stdin(if launch.stdin.is_some() { Stdio::piped() } else { Stdio::null() })
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .process_group(0);
        if let Some(cwd) = &launch.cwd {
            command.current_dir(cwd);
        }
        let leader = command.spawn()?;
        let pid = Pid::from_child(&leader);
        guard::watch(pid);
        let mut group = Self {
            leader: Some(leader),
            pid,
            child_changed,
            #[cfg(target_os = "linux")]
            strays: super::descendants::Strays::default(),
        };
        let pipes = group.pipes()?;
        Ok((group, pipes))
    }

    fn pipes(&mut self) -> io::Result<Pipes> {
        let Some(leader) = &mut self.leader else { return Err(io::ErrorKind::NotFound.into()) };
        Ok(Pipes {
            stdin: leader.stdin.take().map(ChildStdin::from_std).transpose()?,
            stdout: leader.stdout.take().map(ChildStdout::from_std).transpose()?,
            stderr: leader.stderr.take().map(ChildStderr::from_std).transpose()?,
        })
    }

    /// Ready when the leader has ended; it stays a zombie. May be dropped and called again.
    pub(super) async fn exited(&mut self) {
        while self.leader.is_some() && !self.has_exited() {
            if self.child_changed.recv().await.is_none() {
                return;
            }
        }
    }

    fn has_exited(&self) -> bool {
        let options = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
        // An error means that somebody else has reaped it.
        waitid(WaitId::Pid(self.pid), options).map_or(true, |status| status.is_some())
    }

    /// Asks the whole group to end.
    pub(super) fn terminate(&mut self) {
        // A stopped process cannot obey before it goes on.
        self.send(&[Signal::TERM, Signal::CONT]);
    }

    /// Ends the whole group.
    pub(super) fn kill(&mut self) {
        self.send(&[Signal::KILL]);
    }

    fn send(&mut self, signals: &[Signal]) {
        if self.leader.is_none() {
            return;
        }
        // Before the group: once the leader is gone, nothing leads to what it has started.
        #[cfg(target_os = "linux")]
        {
            if !self.has_exited() {
                self.strays.find(self.pid);
            }
            self.strays.send(signals);
        }
        for &signal in signals {
            // The only failure is that nobody is left.
            let _nobody_left = kill_process_group(self.pid, signal);
        }
    }

    /// Waits for the end of the leader, and takes it out of the process table. Only after `kill`.
    pub(super) async fn reap(&mut self) -> io::Result<ExitStatus> {
        self.exited().await;
        guard::forget(self.pid);
        match self.leader.take() {
            Some(mut leader) => leader.wait(),
            None => Err(io::ErrorKind::NotFound.into()),
        }
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        self.kill();
        if let Some(mut leader) = self.leader.take() {
            guard::forget(self.pid);
            if matches!(leader.try_wait(), Ok(Some(_))) {
                return;
            }
            // A killed process takes a moment to go; the thread that drops us must not wait for it.
            let reaper = std::thread::Builder::new().name("toolwright-reaper".to_owned());
            let _no_thread = reaper.spawn(move || leader.wait());
        }
    }
}

//! A started program on a system without process groups: only the program itself is ended, not what it has started.

use std::io;
use std::process::{ExitStatus, Stdio};

use tokio::process::{Child, ChildStderr, ChildStdin, ChildStdout, Command};

use super::Launch;

/// The ends of the pipes that are ours.
pub(super) struct Pipes {
    pub(super) stdin: Option<ChildStdin>,
    pub(super) stdout: Option<ChildStdout>,
    pub(super) stderr: Option<ChildStderr>,
}

/// A started program. Dropping it kills it.
pub(super) struct Group {
    leader: Child,
}

impl Group {
    pub(super) fn spawn(launch: &Launch) -> io::Result<(Self, Pipes)> {
        let mut command = Command::new(&launch.program);
        command
            .args(&launch.args)
            .env_clear()
            .envs(launch.env.iter().map(|(name, value)| (name, value)))
            .stdin(if launch.stdin.is_some() { Stdio::piped() } else { Stdio::null() })
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .kill_on_drop(true);
        if let Some(cwd) = &launch.cwd {
            command.current_dir(cwd);
        }
        let mut leader = command.spawn()?;
        let pipes = Pipes { stdin: leader.stdin.take(), stdout: leader.stdout.take(), stderr: leader.stderr.take() };
        Ok((Self { leader }, pipes))
    }

    pub(super) async fn exited(&mut self) {
        let _status = self.leader.wait().await;
    }

    pub(super) fn terminate(&mut self) {
        self.kill();
    }

    pub(super) fn kill(&mut self) {
        let _already_gone = self.leader.start_kill();
    }

    pub(super) async fn reap(&mut self) -> io::Result<ExitStatus> {
        self.leader.wait().await
    }
}

//! A second process that ends what is left of running programs when ours is killed without a chance to do it.
//!
//! The kernel could do this only through a call between fork and exec, which is `unsafe` in Rust, and it would end the program
//! but not what the program has started. A guard needs neither: it holds the reading end of a pipe whose only writer is our
//! process. As long as we live we tell it which process groups run; when the pipe closes, it kills those that are left. What is
//! left open is the moment between the start of a program and the telling, some microseconds.
//!
//! The host decides: [`install`] names a command that does nothing but call [`serve`] on its stdin, usually the host's own
//! binary with a hidden argument. Without it, everything works the same as long as our process ends in an orderly way.

use std::io::{self, BufRead};
use std::path::PathBuf;

/// Names the command that runs the guard: `program` with `args`, which calls [`serve`]. The guard is started together with the
/// first program. Only the first call counts; it answers whether this was it.
///
/// Process groups exist on Unix only; elsewhere the guard is never started.
pub fn install(program: impl Into<PathBuf>, args: impl IntoIterator<Item = String>) -> bool {
    platform::install(program.into(), args.into_iter().collect())
}

/// The body of the guard: reads which process groups run until `input` ends, then kills those that are left.
///
/// # Errors
/// `input` cannot be read; what was known until then is killed as well.
pub fn serve(input: impl BufRead) -> io::Result<()> {
    let mut running = Vec::new();
    let mut outcome = Ok(());
    for line in input.lines() {
        match line {
            Ok(line) => note(&mut running, &line),
            Err(error) => {
                outcome = Err(error);
                break;
            }
        }
    }
    for group in running {
        platform::kill(group);
    }
    outcome
}

/// Takes one line in: `+GROUP` has started, `-GROUP` is over; anything else is ignored.
fn note(running: &mut Vec<i32>, line: &str) {
    let number = |text: &str| text.trim().parse::<i32>().ok().filter(|group| *group > 1);
    if let Some(group) = line.strip_prefix('+').and_then(number) {
        running.push(group);
    } else if let Some(group) = line.strip_prefix('-').and_then(number) {
        running.retain(|known| *known != group);
    }
}

#[cfg(unix)]
pub(super) use platform::{forget, watch};

#[cfg(unix)]
mod platform {
    use std::io::Write as _;
    use std::os::unix::process::CommandExt as _;
    use std::path::PathBuf;
    use std::process::{ChildStdin, Command, Stdio};
    use std::sync::{Mutex, OnceLock};

    use rustix::process::{Pid, Signal, kill_process_group};

    static GUARD: OnceLock<Guard> = OnceLock::new();

    struct Guard {
        program: PathBuf,
        args: Vec<String>,
        /// Started with the first program; `None` inside when it could not be started.
        pipe: OnceLock<Option<Mutex<ChildStdin>>>,
    }

    pub(super) fn install(program: PathBuf, args: Vec<String>) -> bool {
        GUARD.set(Guard { program, args, pipe: OnceLock::new() }).is_ok()
    }

    /// Tells the guard that a group runs.
    pub(in super::super) fn watch(group: Pid) {
        tell('+', group);
    }

    /// Tells the guard that a group is over. Before its leader is reaped: from then on the number may be another's.
    pub(in super::super) fn forget(group: Pid) {
        tell('-', group);
    }

    fn tell(sign: char, group: Pid) {
        let Some(guard) = GUARD.get() else { return };
        let Some(pipe) = guard.pipe.get_or_init(|| guard.start()) else { return };
        let line = format!("{sign}{}\n", group.as_raw_nonzero());
        // A lost guard is no reason to fail a call; a poisoned lock still holds the pipe.
        let mut pipe = pipe.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        let _lost = pipe.write_all(line.as_bytes());
    }

    impl Guard {
        fn start(&self) -> Option<Mutex<ChildStdin>> {
            let mut guard = Command::new(&self.program)
                .args(&self.args)
                .stdin(Stdio::piped())
                .stdout(Stdio::null())
                .stderr(Stdio::null())
                // A signal to our group must not take it along.
                .process_group(0)
                .spawn()
                .ok()?;
            guard.stdin.take().map(Mutex::new)
        }
    }

    pub(super) fn kill(group: i32) {
        let Some(group) = Pid::from_raw(group) else { return };
        #[cfg(target_os = "linux")]
        {
            let mut strays = super::super::descendants::Strays::default();
            strays.find(group);
            strays.send(&[Signal::KILL]);
        }
        let _nobody_left = kill_process_group(group, Signal::KILL);
    }
}

#[cfg(not(unix))]
mod platform {
    use std::path::PathBuf;

    pub(super) fn install(_program: PathBuf, _args: Vec<String>) -> bool {
        false
    }

    pub(super) fn kill(_group: i32) {}
}

#[cfg(test)]
mod tests {
    use super::note;

    #[test]
    fn groups_come_and_go_and_nonsense_is_ignored() {
        let mut running = Vec::new();
        for line in ["+10", "+11", "-10", "", "+", "+x", "+0", "+1", "+-5", "-99", "junk", "+12\r"] {
            note(&mut running, line);
        }
        assert_eq!(running, [11, 12]);
    }
}

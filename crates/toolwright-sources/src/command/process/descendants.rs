//! Processes below a program that left its process group (`timeout` and job control do that), found through `/proc`.
//!
//! A process whose parents have all ended before anyone looked cannot be found; everything else is best effort on top of the
//! signal to the group. Signals go through process file descriptors, so they never reach a process that took over a number.

use std::collections::{HashMap, HashSet};
use std::fs;
use std::os::fd::OwnedFd;

use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};

/// Enough rounds to catch what was started while we looked.
const ROUNDS_MAX: usize = 3;

/// The known processes outside the group.
#[derive(Default)]
pub(super) struct Strays {
    known: HashSet<(i32, u64)>,
    handles: Vec<OwnedFd>,
}

impl Strays {
    /// Looks for processes below `leader` that are not in its group.
    pub(super) fn find(&mut self, leader: Pid) {
        for _ in 0..ROUNDS_MAX {
            if !self.look(leader.as_raw_nonzero().get()) {
                break;
            }
        }
    }

    /// Sends `signals` to every process found so far.
    pub(super) fn send(&self, signals: &[Signal]) {
        for handle in &self.handles {
            for &signal in signals {
                let _already_gone = pidfd_send_signal(handle, signal);
            }
        }
    }

    /// Whether there was something new.
    fn look(&mut self, leader: i32) -> bool {
        let mut found = false;
        for process in below(leader) {
            if process.group == leader || !self.known.insert((process.pid, process.started)) {
                continue;
            }
            found |= self.open(&process);
        }
        found
    }

    fn open(&mut self, process: &Process) -> bool {
        let Some(pid) = Pid::from_raw(process.pid) else { return false };
        let Ok(handle) = pidfd_open(pid, PidfdFlags::empty()) else { return false };
        // The number may have changed hands between the listing and the opening.
        let same = read(process.pid).is_some_and(|now| now.started == process.started);
        if same {
            self.handles.push(handle);
        }
        same
    }
}

#[derive(Debug, PartialEq, Eq)]
struct Process {
    pid: i32,
    parent: i32,
    group: i32,
    /// Clock ticks from boot to its start: together with the number it names one process.
    started: u64,
}

/// All processes below `root`, without `root`.
fn below(root: i32) -> Vec<Process> {
    let mut children: HashMap<i32, Vec<Process>> = HashMap::new();
    for process in fs::read_dir("/proc").into_iter().flatten().flatten().filter_map(|entry| {
        let pid = entry.file_name().to_str()?.parse().ok()?;
        read(pid)
    }) {
        children.entry(process.parent).or_default().push(process);
    }
    let mut todo = vec![root];
    let mut found = Vec::new();
    while let Some(parent) = todo.pop() {
        for child in children.remove(&parent).unwrap_or_default() {
            todo.push(child.pid);
            found.push(child);
        }
    }
    found
}

fn read(pid: i32) -> Option<Process> {
    parse(pid, &fs::read_to_string(format!("/proc/{pid}/stat")).ok()?)
}

/// Reads a line of `/proc/PID/stat`: the name in brackets may hold anything, brackets and blanks included.
fn parse(pid: i32, stat: &str) -> Option<Process> {
    let (_, after_name) = stat.rsplit_once(')')?;
    let mut fields = after_name.split_ascii_whitespace();
    let parent = fields.nth(1)?.parse().ok()?;
    let group = fields.next()?.parse().ok()?;
    let started = fields.nth(16)?.parse().ok()?;
    Some(Process { pid, parent, group, started })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_with_brackets_does_not_shift_the_fields() {
        let stat = "7 (a) b (c) S 5 6 6 0 -1 4194304 0 0 0 0 0 0 0 0 20 0 1 0 12345 0 0";
        assert_eq!(parse(7, stat), Some(Process { pid: 7, parent: 5, group: 6, started: 12345 }));
        assert_eq!(parse(7, "7 (cut"), None);
    }

    #[test]
    fn our_own_process_is_found_below_its_parent() {
        let own = i32::try_from(std::process::id()).unwrap();
        let parent = read(own).unwrap().parent;
        assert!(below(parent).iter().any(|process| process.pid == own));
    }
}

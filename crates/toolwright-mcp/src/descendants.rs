//! The processes that a process has started, also those that left its group: a browser, a daemon, a detached helper.
//!
//! Who started whom is known only while the starter lives, so it is looked up before the starter is ended. A process
//! is known by its id and its start time: an id alone may be somebody else's by the time a signal is sent.

#[cfg(target_os = "linux")]
pub(crate) use linux::Descendants;

#[cfg(not(target_os = "linux"))]
#[derive(Debug, Default)]
pub(crate) struct Descendants;

#[cfg(not(target_os = "linux"))]
impl Descendants {
    pub(crate) fn find(&mut self, _of: u32) {}

    pub(crate) fn terminate(&self) {}

    pub(crate) fn kill(&self) {}

    pub(crate) fn are_gone(&self) -> bool {
        true
    }
}

#[cfg(target_os = "linux")]
mod linux {
    use rustix::process::{Pid, Signal, kill_process};

    /// Processes found so far.
    #[derive(Debug, Default)]
    pub(crate) struct Descendants(Vec<Known>);

    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    struct Known {
        id: i32,
        parent: i32,
        /// Clock ticks since the machine started.
        start: u64,
        zombie: bool,
    }

    impl Descendants {
        /// Adds everything that descends from that process now.
        pub(crate) fn find(&mut self, of: u32) {
            let all: Vec<Known> = ids().filter_map(look).collect();
            let mut parents: Vec<i32> = i32::try_from(of).into_iter().collect();
            while let Some(parent) = parents.pop() {
                for child in all.iter().filter(|known| known.parent == parent) {
                    if !self.0.iter().any(|known| known.id == child.id && known.start == child.start) {
                        self.0.push(*child);
                        parents.push(child.id);
                    }
                }
            }
        }

        pub(crate) fn terminate(&self) {
            self.signal(Signal::TERM);
        }

        pub(crate) fn kill(&self) {
            self.signal(Signal::KILL);
        }

        pub(crate) fn are_gone(&self) -> bool {
            !self.0.iter().any(Known::lives)
        }

        fn signal(&self, signal: Signal) {
            for known in self.0.iter().filter(|known| known.lives()) {
                if let Some(id) = Pid::from_raw(known.id) {
                    let _ = kill_process(id, signal);
                }
            }
        }
    }

    impl Known {
        fn lives(&self) -> bool {
            look(self.id).is_some_and(|now| now.start == self.start && !now.zombie)
        }
    }

    fn ids() -> impl Iterator<Item = i32> {
        let entries = std::fs::read_dir("/proc").into_iter().flatten();
        entries.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok())
    }

    fn look(id: i32) -> Option<Known> {
        parse(id, &std::fs::read_to_string(format!("/proc/{id}/stat")).ok()?)
    }

    /// Reads `ID (NAME) STATE PARENT …`; the start time is the 22nd field. The name may hold anything, brackets too.
    fn parse(id: i32, stat: &str) -> Option<Known> {
        let (_, rest) = stat.rsplit_once(')')?;
        let mut fields = rest.split_ascii_whitespace();
        let zombie = fields.next()? == "Z";
        let parent = fields.next()?.parse().ok()?;
        let start = fields.nth(17)?.parse().ok()?;
        Some(Known { id, parent, start, zombie })
    }

    #[cfg(test)]
    mod tests {
        use super::*;

        #[test]
        fn a_line_of_proc_is_read_whatever_the_name_is() {
            let stat = "7 (a) b) S 3 7 7 0 -1 4194560 1 0 0 0 1 2 0 0 20 0 1 0 4711 100 1 1";
            assert_eq!(parse(7, stat), Some(Known { id: 7, parent: 3, start: 4711, zombie: false }));
            assert_eq!(parse(7, "7 (x) Z 3"), None);
            assert_eq!(parse(7, ""), None);
        }

        #[test]
        fn we_descend_from_our_parent() {
            let parent = rustix::process::getppid().unwrap();
            let mut all = Descendants::default();
            all.find(u32::try_from(parent.as_raw_pid()).unwrap());
            let me = i32::try_from(std::process::id()).unwrap();
            assert!(all.0.iter().any(|known| known.id == me));
            assert!(!all.are_gone());
        }
    }
}

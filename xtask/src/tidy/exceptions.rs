//! The list of what may be longer than the house allows. It only shrinks: an exception that is not needed any more is
//! a problem as well.

use std::cell::Cell;

use super::Problem;

/// Where the list lives.
pub(super) const FILE: &str = "xtask/tidy-exceptions.txt";

/// One line of the list: `file PATH LINES` or `function PATH NAME LINES`; the lines are the most it may have.
#[derive(Debug)]
struct Exception {
    subject: String,
    lines_max: usize,
    line: usize,
    used: Cell<bool>,
}

/// The list as read.
#[derive(Debug, Default)]
pub(super) struct Exceptions {
    list: Vec<Exception>,
    problems: Vec<Problem>,
}

impl Exceptions {
    pub(super) fn parse(text: &str) -> Self {
        let mut exceptions = Self::default();
        for (index, line) in text.lines().enumerate() {
            let line_number = index + 1;
            let code = line.split('#').next().unwrap_or_default();
            let words: Vec<&str> = code.split_whitespace().collect();
            let parsed = match words.as_slice() {
                [] => continue,
                ["file", path, lines] => lines.parse().ok().map(|lines| (file(path), lines)),
                ["function", path, name, lines] => lines.parse().ok().map(|lines| (function(path, name), lines)),
                _ => None,
            };
            match parsed {
                Some((subject, lines_max)) => {
                    let used = Cell::new(false);
                    exceptions.list.push(Exception { subject, lines_max, line: line_number, used });
                }
                None => exceptions.problems.push(Problem::new(
                    format!("{FILE}:{line_number}"),
                    format!("`{line}` is no exception"),
                    "write `file PATH LINES` or `function PATH NAME LINES`, then `#` and the reason",
                )),
            }
        }
        exceptions
    }

    /// Whether the list lets `subject` have `lines` although the house says at most `limit`.
    pub(super) fn allow(&self, subject: &str, lines: usize, limit: usize) -> bool {
        if lines <= limit {
            return true;
        }
        let found = self.list.iter().find(|exception| exception.subject == subject);
        found.is_some_and(|exception| {
            exception.used.set(true);
            lines <= exception.lines_max
        })
    }

    /// What is wrong with the list itself, once everything was asked for.
    pub(super) fn close(self) -> Vec<Problem> {
        let unused = self.list.iter().filter(|exception| !exception.used.get()).map(|exception| {
            Problem::new(
                format!("{FILE}:{}", exception.line),
                format!("the exception for {} is not needed any more", exception.subject),
                "delete the line: the list only shrinks",
            )
        });
        let unused: Vec<Problem> = unused.collect();
        self.problems.into_iter().chain(unused).collect()
    }
}

/// How a file is called in the list and in problems.
pub(super) fn file(path: &str) -> String {
    format!("file `{path}`")
}

/// How a function is called in the list and in problems.
pub(super) fn function(path: &str, name: &str) -> String {
    format!("function `{name}` of `{path}`")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_exception_allows_so_much_and_no_more() {
        let exceptions = Exceptions::parse("# why\nfile a.rs 700 # grew\nfunction a.rs run 90\n");
        assert!(exceptions.allow(&file("a.rs"), 700, 600));
        assert!(!exceptions.allow(&file("a.rs"), 701, 600));
        assert!(exceptions.allow(&function("a.rs", "run"), 90, 70));
        assert!(!exceptions.allow(&file("b.rs"), 601, 600));
        assert!(exceptions.close().is_empty());
    }

    #[test]
    fn an_exception_nobody_needs_is_a_problem() {
        let exceptions = Exceptions::parse("file a.rs 700\nfiles b.rs\n");
        assert!(exceptions.allow(&file("a.rs"), 600, 600));
        let problems = exceptions.close();
        assert_eq!(problems.len(), 2, "{problems:?}");
    }
}

//! A folder of its own for each test, the binary in it, and pictures to compare with.

use std::ffi::OsStr;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// A folder with nothing in it, and an environment of which everything is known.
pub(crate) struct World {
    pub(crate) dir: PathBuf,
    variables: Vec<(String, String)>,
}

/// How a command ended.
#[derive(Debug)]
pub(crate) struct Done {
    pub(crate) code: i32,
    pub(crate) out: String,
    pub(crate) err: String,
}

impl World {
    pub(crate) fn new(name: &str) -> Self {
        let dir = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
        let _ = std::fs::remove_dir_all(&dir);
        std::fs::create_dir_all(&dir).unwrap();
        let dir = dir.canonicalize().unwrap();
        Self { dir, variables: Vec::new() }
    }

    /// A folder with a fixture as `toolwright.yaml`, and a note.
    pub(crate) fn with(name: &str, fixture: &str) -> Self {
        let world = Self::new(name);
        world.copy(fixture, "toolwright.yaml");
        world.write("a.txt", "one two three");
        world
    }

    pub(crate) fn copy(&self, fixture: &str, name: &str) {
        std::fs::copy(fixtures().join(fixture), self.dir.join(name)).unwrap();
    }

    pub(crate) fn write(&self, name: &str, text: &str) {
        let path = self.dir.join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }

    pub(crate) fn read(&self, name: &str) -> String {
        std::fs::read_to_string(self.dir.join(name)).unwrap()
    }

    pub(crate) fn has(&self, name: &str) -> bool {
        self.dir.join(name).exists()
    }

    pub(crate) fn set(&mut self, name: &str, value: &str) {
        self.variables.push((name.to_owned(), value.to_owned()));
    }

    /// The command, with an environment that only holds what the test knows.
    pub(crate) fn command<S: AsRef<OsStr>>(&self, args: &[S]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_toolwright"));
        command
            .args(args)
            .current_dir(&self.dir)
            .env_clear()
            .env("PATH", std::env::var_os("PATH").unwrap_or_default())
            .env("HOME", self.dir.join("home"))
            .envs(self.variables.iter().map(|(name, value)| (name, value)))
            .stdin(Stdio::null());
        command
    }

    pub(crate) fn run(&self, line: &str) -> Done {
        let args: Vec<&str> = line.split_whitespace().collect();
        self.run_args(&args)
    }

    pub(crate) fn run_args<S: AsRef<OsStr>>(&self, args: &[S]) -> Done {
        done(self.command(args).output().unwrap())
    }

    pub(crate) fn run_with_stdin<S: AsRef<OsStr>>(&self, args: &[S], input: &str) -> Done {
        let mut child = self.command(args).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        child.stdin.take().unwrap().write_all(input.as_bytes()).unwrap();
        done(child.wait_with_output().unwrap())
    }

    /// Text without what differs from machine to machine, and from run to run.
    pub(crate) fn neutral(&self, text: &str) -> String {
        without_run_ids(&text.replace(self.dir.to_str().unwrap(), "$DIR"))
    }

    /// What a command with `--format json` prints.
    #[track_caller]
    pub(crate) fn json(&self, line: &str) -> serde_json::Value {
        let done = self.run(&format!("{line} --format json"));
        serde_json::from_str(&done.out).unwrap_or_else(|_| panic!("{line}: {done:?}"))
    }
}

pub(crate) fn done(output: std::process::Output) -> Done {
    Done {
        code: output.status.code().unwrap_or(-1),
        out: String::from_utf8(output.stdout).unwrap(),
        err: String::from_utf8(output.stderr).unwrap(),
    }
}

/// Text with `run-ID` for the ids of runs, which are others each time.
pub(crate) fn without_run_ids(text: &str) -> String {
    let mut out = String::new();
    let mut rest = text;
    while let Some(at) = ["run-", "key-"].iter().filter_map(|word| rest.find(word)).min() {
        let (before, id) = rest.split_at(at);
        let end = id.find(|c: char| !c.is_ascii_lowercase() && !c.is_ascii_digit() && c != '-').unwrap_or(id.len());
        let (id, behind) = id.split_at(end);
        // Whole, or cut to its first letters.
        let is_id = [12, 30].contains(&id.len()) && id.matches('-').count() == 1;
        out.push_str(before);
        out.push_str(if is_id { "run-ID" } else { id });
        rest = behind;
    }
    out + rest
}

pub(crate) fn fixtures() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures")
}

/// Compares with `tests/golden/NAME`; `UPDATE=1` writes it anew.
#[track_caller]
pub(crate) fn golden(name: &str, actual: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden").join(name);
    if std::env::var_os("UPDATE").is_some() {
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, actual).unwrap();
        return;
    }
    let expected = std::fs::read_to_string(&path).unwrap_or_default();
    if expected != actual {
        let line = expected.lines().zip(actual.lines()).position(|(a, b)| a != b);
        let line = line.map_or_else(|| "at the end".to_owned(), |at| format!("line {}", at + 1));
        panic!("{} differs ({line}); UPDATE=1 writes it anew\n--- now:\n{actual}", path.display());
    }
}

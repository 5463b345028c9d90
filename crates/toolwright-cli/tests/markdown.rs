//! Runs every case of `docs/*.md` with the real binary, so that the documents cannot lie.
//!
//! A `yaml tools` block holds the sources that all cases of the page share. A `yaml composite` block is the head of a
//! `toolwright.yaml`; the shared sources are put behind it. A `json input` block runs the first composite of the file
//! (words behind `input` are arguments: `dry-run` or `rehearse` in place of `run`, and options); without one the file is
//! only checked. A `json output` or `text output` block is what must be printed on stdout, a `text error` block what must
//! be said on stderr, and `exit=N` behind either the exit code when it is not 0.
//! `UPDATE=1 cargo test -p toolwright-cli --test markdown` writes them anew.
#![expect(clippy::unwrap_used, reason = "a test says by failing that something is not as it should be")]

use std::ops::Range;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

const PAGES: [&str; 2] = ["docs/composites.md", "docs/configuration.md"];

#[test]
fn documented_cases_hold() {
    let mut failures = Vec::new();
    for page in PAGES {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(page);
        let text = std::fs::read_to_string(&path).unwrap();
        let (rewritten, mut wrong) = run_page(page, &text);
        if std::env::var_os("UPDATE").is_some() && rewritten != text {
            std::fs::write(&path, rewritten).unwrap();
        }
        failures.append(&mut wrong);
    }
    assert!(failures.is_empty(), "{} case(s) differ; UPDATE=1 writes them anew\n\n{}", failures.len(), failures.join("\n\n"));
}

/// The page with every expectation as it is now, and what differed.
fn run_page(page: &str, text: &str) -> (String, Vec<String>) {
    let shared = block(text, "yaml tools").map_or(String::new(), |found| text[found.body].to_owned());
    let mut sections: Vec<String> = text.split("\n## ").map(str::to_owned).collect();
    let mut failures = Vec::new();
    for (number, section) in sections.iter_mut().enumerate() {
        let title = section.lines().next().unwrap_or_default().to_owned();
        let mut from = 0;
        let mut cases = 0;
        // A section may hold several cases; each begins with its composite.
        while let Some(composite) = block(&section[from..], "yaml composite") {
            cases += 1;
            let start = from + composite.body.end;
            let end = block(&section[start..], "yaml composite").map_or(section.len(), |next| start + next.fence);
            let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!("{}-{number}-{cases}", page.replace(['/', '.'], "-")));
            let file = format!("{}{shared}", &section[from + composite.body.start..from + composite.body.end]);
            let mut case = section[start..end].to_owned();
            let wrong = run_case(&folder, &file, &mut case);
            failures.extend(wrong.into_iter().map(|wrong| format!("{page}: {title}, case {cases}: {wrong}")));
            section.replace_range(start..end, &case);
            from = start + case.len();
        }
    }
    (sections.join("\n## "), failures)
}

/// Runs one case and writes what came out into its expectations.
fn run_case(folder: &Path, file: &str, case: &mut String) -> Vec<String> {
    let output = run(folder, file, case);
    let printed = |bytes: &[u8]| {
        let text = String::from_utf8_lossy(bytes);
        text.trim_end().lines().map(|line| format!("{}\n", line.trim_end())).collect::<String>()
    };
    let mut wrong = Vec::new();
    let expectations = [("json output", &output.stdout), ("text output", &output.stdout), ("text error", &output.stderr)];
    let mut exit = 0;
    let mut compared = false;
    for (fence, stream) in expectations {
        let Some(found) = block(case, fence) else { continue };
        compared = true;
        let code = found.words.iter().find_map(|word| word.strip_prefix("exit=")?.parse().ok());
        exit = code.unwrap_or(exit);
        let got = printed(stream);
        if case[found.body.clone()] != got {
            wrong.push(format!("`{fence}` is\n{got}"));
            case.replace_range(found.body, &got);
        }
    }
    if !compared {
        wrong.push("has nothing to compare with".to_owned());
    }
    if output.status.code() != Some(exit) {
        let said = String::from_utf8_lossy(&output.stderr);
        wrong.push(format!("ended with {}, and its blocks say {exit}\n{said}", output.status));
    }
    wrong
}

fn run(folder: &Path, file: &str, case: &str) -> Output {
    std::fs::create_dir_all(folder).unwrap();
    std::fs::write(folder.join("toolwright.yaml"), file).unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_toolwright"));
    command.current_dir(folder).stdin(Stdio::null());
    // Nothing of the person who runs the tests: no own configuration, no accepted lists, no width of a terminal.
    for variable in ["XDG_CONFIG_HOME", "XDG_DATA_HOME", "HOME"] {
        command.env(variable, folder.join("home"));
    }
    command.env_remove("COLUMNS").env("NO_COLOR", "1");
    match block(case, "json input") {
        None => command.args(["check", "toolwright.yaml"]),
        Some(input) => {
            let mut words: Vec<&str> = input.words.iter().map(String::as_str).collect();
            let verb = words.first().copied().filter(|word| ["run", "dry-run", "rehearse"].contains(word));
            if verb.is_some() {
                words.remove(0);
            }
            let name = first_composite(file).expect("a case has a composite");
            command.args([verb.unwrap_or("run"), name, "--file", "toolwright.yaml"]);
            command.args(words).args(["--input", case[input.body].trim()])
        }
    };
    command.output().unwrap()
}

fn first_composite(file: &str) -> Option<&str> {
    let mut lines = file.lines().skip_while(|line| *line != "composites:");
    lines.next()?;
    lines.next()?.trim().strip_suffix(':')
}

struct Block {
    /// Where its opening fence begins.
    fence: usize,
    body: Range<usize>,
    /// Words of the opening line behind its kind.
    words: Vec<String>,
}

/// The first block of a kind.
fn block(text: &str, kind: &str) -> Option<Block> {
    let opening = format!("```{kind}");
    let mut from = 0;
    loop {
        let fence = from + text[from..].find(&opening)?;
        let line_end = fence + text[fence..].find('\n')?;
        let rest = &text[fence + opening.len()..line_end];
        if rest.is_empty() || rest.starts_with(' ') {
            let start = line_end + 1;
            let len = text[start..].find("```")?;
            return Some(Block { fence, body: start..start + len, words: rest.split_whitespace().map(str::to_owned).collect() });
        }
        from = line_end;
    }
}

//! Keeps documents true: runs every case of `docs/*.md` with the real binary, compares quoted files, draws the code map.
//!
//! A `yaml tools` block holds the sources that all cases of the page share. A `yaml composite` block is the head of a
//! `toolwright.yaml`; the shared sources are put behind it. A `json input` block runs the first composite of the file
//! (words behind `input` are arguments: `dry-run` or `rehearse` in place of `run`, and options); without one the file is
//! only checked. A `json output` or `text output` block is what must be printed on stdout, a `text error` block what must
//! be said on stderr, and `exit=N` behind either the exit code when it is not 0.
//!
//! A block with `file=PATH` behind its language must stand in that file just so. Between `<!-- files: FOLDER -->` and
//! `<!-- end -->` stands a table of the Rust files of that folder, each with the first sentence of its documentation.
//!
//! `UPDATE=1 cargo test -p toolwright-cli --test markdown` writes all expectations and tables anew.
#![expect(clippy::unwrap_used, reason = "a test says by failing that something is not as it should be")]

use std::ops::Range;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

const PAGES: [&str; 2] = ["docs/composites.md", "docs/configuration.md"];

/// Pages with blocks that quote a file.
const QUOTING: [&str; 2] = ["README.md", "docs/configuration.md"];

#[test]
fn documented_cases_hold() {
    let mut failures = Vec::new();
    for page in PAGES {
        let text = read(page);
        let (rewritten, mut wrong) = run_page(page, &text);
        update(page, &text, &rewritten);
        failures.append(&mut wrong);
    }
    assert!(failures.is_empty(), "{} case(s) differ; UPDATE=1 writes them anew\n\n{}", failures.len(), failures.join("\n\n"));
}

#[test]
fn quoted_files_say_what_the_page_says() {
    for page in QUOTING {
        let text = read(page);
        for (start, _) in text.match_indices("\n```") {
            let (info, rest) = text[start + 1..].split_once('\n').unwrap();
            let Some((_, path)) = info.split_once(" file=") else { continue };
            let (quoted, _) = rest.split_once("```").unwrap();
            assert!(read(path).contains(quoted), "{page} quotes `{path}`, which says something else");
        }
    }
}

#[test]
fn the_code_map_names_every_file() {
    let page = "ARCHITECTURE.md";
    let text = read(page);
    let mut rewritten = String::new();
    for (number, part) in text.split("<!-- files: ").enumerate() {
        if number == 0 {
            rewritten.push_str(part);
            continue;
        }
        let (folder, rest) = part.split_once(" -->").unwrap();
        let (_, behind) = rest.split_once("<!-- end -->").unwrap();
        let mut files = Vec::new();
        rust_files(&root().join(folder), "", &mut files);
        let rows: String =
            files.iter().map(|file| format!("| `{file}` | {} |\n", first_sentence(&read(&format!("{folder}/{file}"))))).collect();
        rewritten.push_str(&format!("<!-- files: {folder} -->\n| file | what it is |\n| --- | --- |\n{rows}<!-- end -->{behind}"));
    }
    update(page, &text, &rewritten);
    assert!(text == rewritten, "{page} does not name the files as they are; UPDATE=1 writes its tables anew");
}

#[test]
fn the_architecture_names_only_files_that_are_there() {
    let text = read("ARCHITECTURE.md");
    let mut files = Vec::new();
    for folder in ["crates", "xtask"] {
        rust_files(&root().join(folder), &format!("/{folder}/"), &mut files);
    }
    for named in text.split('`').skip(1).step_by(2).filter(|named| named.ends_with(".rs") && !named.contains(['*', ' '])) {
        let (before, choices, after) = match named.split_once('{') {
            Some((before, rest)) => rest.split_once('}').map(|(choices, after)| (before, choices, after)).unwrap(),
            None => (named, "", ""),
        };
        for choice in choices.split(',') {
            let path = format!("/{before}{choice}{after}");
            assert!(files.iter().any(|file| file.ends_with(&path)), "`{path}`, from `{named}`, is not there");
        }
    }
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn read(path: &str) -> String {
    std::fs::read_to_string(root().join(path)).unwrap_or_else(|error| panic!("`{path}`: {error}"))
}

fn update(path: &str, old: &str, new: &str) {
    if std::env::var_os("UPDATE").is_some() && old != new {
        std::fs::write(root().join(path), new).unwrap();
    }
}

/// The Rust files below a folder, `a.rs` before those of `a/`; `lib.rs` and `main.rs` first, tests left out.
fn rust_files(folder: &Path, prefix: &str, files: &mut Vec<String>) {
    let mut names: Vec<String> =
        std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort_by_key(|name| {
        let stem = name.strip_suffix(".rs").unwrap_or(name).to_owned();
        (!["lib", "main"].contains(&stem.as_str()), stem, !name.ends_with(".rs"))
    });
    for name in names {
        let path = folder.join(&name);
        if path.is_dir() {
            rust_files(&path, &format!("{prefix}{name}/"), files);
        } else if name.ends_with(".rs") && name != "tests.rs" {
            files.push(format!("{prefix}{name}"));
        }
    }
}

/// The first sentence of a file's documentation, without links.
fn first_sentence(source: &str) -> String {
    let lines = source.lines().map_while(|line| line.strip_prefix("//!")).map(str::trim);
    let paragraph = lines.take_while(|line| !line.is_empty()).collect::<Vec<_>>().join(" ");
    let sentence = paragraph.split(". ").next().unwrap_or_default().trim_end_matches('.');
    sentence.replace("[`", "`").replace("`]", "`").replace('|', "\\|")
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

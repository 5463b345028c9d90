//! Keeps documents true: runs every case of `docs/*.md` with the real binary, compares quoted files, draws the code map.
//!
//! A `yaml tools` block holds the sources that all cases of the page share. A `yaml case` block is the head of a
//! `toolwright.yaml` (words behind it: options for `check`, or variables as `NAME=value`); the shared sources are put behind
//! it. A `json input` block runs the first composite of the file (words behind `input`: `dry-run` or `rehearse` in place of
//! `run`, and options); without one the file is only checked. A `json output` or `text output` block is what must be printed
//! on stdout, a `json error` or `text error` block what must be said on stderr, and `exit=N` behind one of them the exit code
//! when it is not 0.
//!
//! A block with `file=PATH` behind its language must stand in that file just so. Tables between two comments are drawn from
//! what they describe: `files: FOLDER` from the first sentence of each Rust file, `members: NAME` from `toolwright schema`,
//! `codes` and `exit codes` from `toolwright explain`.
//!
//! `UPDATE=1 cargo test -p toolwright-cli --test markdown` writes all expectations and tables anew.
#![cfg(unix)]
#![expect(clippy::unwrap_used, reason = "a test says by failing that something is not as it should be")]

use std::ops::Range;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::{Mutex, MutexGuard, PoisonError};

use toolwright::Value;

const PAGES: [&str; 5] = ["docs/composites.md", "docs/configuration.md", "docs/errors.md", "docs/serving.md", "docs/wiring.md"];

/// Pages with blocks that quote a file.
const QUOTING: [&str; 2] = ["README.md", "docs/configuration.md"];

/// Two tests may write the same page.
static WRITING: Mutex<()> = Mutex::new(());

fn alone() -> MutexGuard<'static, ()> {
    WRITING.lock().unwrap_or_else(PoisonError::into_inner)
}

#[test]
fn documented_cases_hold() {
    let _alone = alone();
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
    let same = draw("ARCHITECTURE.md", "files: ", "| file | what it is |", &mut |folder| {
        let mut files = Vec::new();
        rust_files(&root().join(folder), "", &mut files);
        files.iter().map(|file| format!("| `{file}` | {} |\n", first_sentence(&read(&format!("{folder}/{file}"))))).collect()
    });
    assert!(same, "{NOT_AS_DRAWN}");
}

#[test]
fn every_code_is_listed() {
    let codes = json_of(&["explain", "--format", "json"]);
    let mut all = true;
    for (list, columns, key) in [("codes", "| code | what it says |", "code"), ("exitCodes", "| exit code | what it says |", "exit")] {
        let same = draw("docs/errors.md", &format!("{list}: "), columns, &mut |_all| {
            let entries = codes.get(list).and_then(Value::as_array).unwrap_or_else(|| panic!("`explain` has no `{list}`"));
            let text = |entry: &Value, key: &str| {
                let value = entry.get(key).unwrap_or_else(|| panic!("an entry of `{list}` has no `{key}`"));
                value.as_str().map_or_else(|| value.to_json_string(), str::to_owned)
            };
            entries.iter().map(|entry| format!("| `{}` | {} |\n", text(entry, key), text(entry, "title"))).collect()
        });
        all &= same;
    }
    assert!(all, "{NOT_AS_DRAWN}");
}

const NOT_AS_DRAWN: &str = "a table is not what it describes; UPDATE=1 writes it anew";

/// Draws the tables of a page that are marked with `kind` and a subject; answers whether they were so already.
fn draw(page: &str, kind: &str, columns: &str, rows: &mut dyn FnMut(&str) -> String) -> bool {
    let _alone = alone();
    let text = read(page);
    let mark = format!("<!-- {kind}");
    let mut rewritten = String::new();
    for (number, part) in text.split(&mark).enumerate() {
        if number == 0 {
            rewritten.push_str(part);
            continue;
        }
        let (subject, rest) = part.split_once(" -->").unwrap();
        let (_, behind) = rest.split_once("<!-- end -->").unwrap();
        let line = "| --- ".repeat(columns.matches('|').count() - 1);
        rewritten.push_str(&format!("{mark}{subject} -->\n{columns}\n{line}|\n{}<!-- end -->{behind}", rows(subject)));
    }
    assert!(text.contains(&mark), "{page} has no table marked `{kind}`");
    update(page, &text, &rewritten);
    text == rewritten
}

fn json_of(arguments: &[&str]) -> Value {
    let output = toolwright().args(arguments).output().unwrap();
    Value::parse(&output.stdout).unwrap()
}

#[test]
fn every_member_of_the_file_is_described() {
    let schema = json_of(&["schema"]);
    let defined = schema.get("$defs").and_then(Value::as_object).unwrap();
    let page = "docs/configuration.md";
    let mut described = Vec::new();
    let same = draw(page, "members: ", "| member | value | meaning |", &mut |name| {
        described.push(name.to_owned());
        let shape = if name == "file" { &schema } else { defined.get(name).unwrap() };
        let required = shape.get("required").and_then(Value::as_array).unwrap_or_default();
        let members = shape.get("properties").and_then(Value::as_object).unwrap();
        let row = |(member, schema): (&toolwright::Text, &Value)| {
            let mark = if required.iter().any(|name| name.as_str() == Some(member)) { " (required)" } else { "" };
            let meaning = schema.get("description").and_then(Value::as_str).unwrap_or_default();
            format!("| `{member}`{mark} | {} | {meaning} |\n", value_of(schema))
        };
        members.iter().map(row).collect()
    });
    assert!(same, "{NOT_AS_DRAWN}");
    for name in defined.keys() {
        assert!(described.iter().any(|described| name == described), "{page} has no table of `{name}`");
    }
}

/// What a member's value can be, in a few words.
fn value_of(schema: &Value) -> String {
    let texts = |list: &Value| -> Vec<String> {
        let items = list.as_array().into_iter().flatten();
        items.map(|item| item.as_str().map_or_else(|| item.to_json_string(), str::to_owned)).collect()
    };
    if let Some(name) = schema.get("$ref").and_then(Value::as_str) {
        let name = name.trim_start_matches("#/$defs/");
        return format!("[{name}](#{})", name.to_lowercase());
    }
    if let Some(choices) = schema.get("anyOf").and_then(Value::as_array) {
        return choices.iter().map(value_of).collect::<Vec<_>>().join(" or ");
    }
    if let Some(words) = schema.get("enum") {
        return texts(words).iter().map(|word| format!("`{word}`")).collect::<Vec<_>>().join(", ");
    }
    if let Some(word) = schema.get("const") {
        return format!("`{}`", word.as_str().unwrap_or_default());
    }
    if let Some(examples) = schema.get("examples") {
        return format!("such as `{}`", texts(examples).join("`, `"));
    }
    let kinds = schema.get("type").map(|kind| kind.as_str().map_or_else(|| texts(kind), |kind| vec![kind.to_owned()]));
    match kinds.unwrap_or_default().join(" or ").as_str() {
        "" => "anything".to_owned(),
        "object" => match schema.get("additionalProperties").filter(|each| each.as_object().is_some()) {
            Some(each) => format!("a mapping; each is {}", value_of(each)),
            None => "a mapping".to_owned(),
        },
        "array" => format!("a list; each is {}", schema.get("items").map_or_else(|| "anything".to_owned(), value_of)),
        kinds => kinds.to_owned(),
    }
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

/// Each row names tests that are where it says, and each case of a crate has its row.
#[test]
fn field_cases_are_tests() {
    let page = read("docs/field-cases.md");
    let rows: Vec<Vec<&str>> =
        page.lines().filter(|line| line.starts_with("| C")).map(|line| line.split('|').map(str::trim).collect()).collect();
    let rows: Vec<Vec<&str>> = rows.into_iter().filter(|row| row.len() == 7).collect();
    for row in &rows {
        let place = row[5].trim_matches('`');
        let (folder, _) = place.rsplit_once('/').unwrap();
        for test in row[4].split(", ") {
            let (module, name) = test.trim_matches('`').rsplit_once("::").unwrap();
            let source = read(&format!("{folder}/{}.rs", module.replace("::", "/")));
            assert!(source.contains(&format!("fn {name}()")), "{}: there is no {test} in {folder}", row[1]);
        }
    }
    for krate in ["toolwright-mcp", "toolwright-cli", "toolwright-sources"] {
        for entry in std::fs::read_dir(root().join("crates").join(krate).join("tests/cases")).unwrap() {
            let file = entry.unwrap().file_name().into_string().unwrap();
            let id = format!("C{}", file.split('-').next().unwrap());
            let of_this = |row: &Vec<&str>| row[1] == id && row[5].contains(&format!("crates/{krate}/"));
            assert!(rows.iter().any(of_this), "{file} of {krate} has no row");
        }
    }
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn read(path: &str) -> String {
    std::fs::read_to_string(root().join(path)).expect(path)
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
        while let Some(composite) = block(&section[from..], "yaml case") {
            cases += 1;
            let start = from + composite.body.end;
            let end = block(&section[start..], "yaml case").map_or(section.len(), |next| start + next.fence);
            let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!("{}-{number}-{cases}", page.replace(['/', '.'], "-")));
            let file = format!("{}{shared}", &section[from + composite.body.start..from + composite.body.end]);
            let mut case = section[start..end].to_owned();
            let wrong = run_case(&folder, &file, &composite.words, &mut case);
            failures.extend(wrong.into_iter().map(|wrong| format!("{page}: {title}, case {cases}: {wrong}")));
            section.replace_range(start..end, &case);
            from = start + case.len();
        }
    }
    (sections.join("\n## "), failures)
}

/// Runs one case and writes what came out into its expectations.
fn run_case(folder: &Path, file: &str, words: &[String], case: &mut String) -> Vec<String> {
    let output = run(folder, file, words, case);
    let printed = |bytes: &[u8]| {
        let text = without_run_ids(&String::from_utf8_lossy(bytes));
        text.trim_end().lines().map(|line| format!("{}\n", line.trim_end())).collect::<String>()
    };
    let mut wrong = Vec::new();
    let (stdout, stderr) = (&output.stdout, &output.stderr);
    let expectations = [("json output", stdout), ("text output", stdout), ("json error", stderr), ("text error", stderr)];
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

fn run(folder: &Path, file: &str, words: &[String], case: &str) -> Output {
    // What an earlier build left there is none of this one's business.
    let _ = std::fs::remove_dir_all(folder);
    std::fs::create_dir_all(folder).unwrap();
    std::fs::write(folder.join("toolwright.yaml"), file).unwrap();
    let mut command = toolwright();
    // Nothing of the person who runs the tests: no own configuration, no accepted lists, no runs, no width of a terminal.
    for variable in ["TOOLWRIGHT_CONFIG_DIR", "TOOLWRIGHT_DATA_DIR", "HOME"] {
        command.env(variable, folder.join("home"));
    }
    command.current_dir(folder).env_remove("COLUMNS").env_remove("TOOLWRIGHT_JOURNAL").env("NO_COLOR", "1");
    let (options, variables): (Vec<&String>, Vec<&String>) = words.iter().partition(|word| word.starts_with('-'));
    command.envs(variables.iter().filter_map(|variable| variable.split_once('=')));
    match block(case, "json input") {
        None => command.args(["check", "toolwright.yaml"]).args(options),
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

/// Text with `run-…` for the ids of runs, which are others each time.
fn without_run_ids(text: &str) -> String {
    let mut parts = text.split("run-");
    let mut out = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let end = part.find(|c: char| !c.is_ascii_lowercase() && !c.is_ascii_digit()).unwrap_or(part.len());
        let (id, rest) = part.split_at(end);
        out.push_str(&format!("run-{}{rest}", if id.len() == 26 { "…" } else { id }));
    }
    out
}

fn toolwright() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_toolwright"));
    command.stdin(Stdio::null());
    command
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

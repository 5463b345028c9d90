//! Every numbered rule of the catalogue's lifecycle has a test under its number, and `docs/lifecycle-tests.md` says
//! which. `UPDATE=1 cargo test -p toolwright --test it numbered` writes the table anew.
//!
//! A test is named by its number, `t6_14_1_every_tool_inspects_once`, and the rest of its name is what the table says. A
//! rule that only a compiler can show is a documentation test; the line before it names the number, as in `(T5.1)`.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

const NUMBERS: &str = include_str!("../cases/lifecycle-numbers.txt");

const PAGE: &str = "docs/lifecycle-tests.md";

const HEAD: &str = "# Tests of the lifecycle\n\n\
    Each numbered rule about registries, catalogues, hooks, calls, journals, sessions and composites is a test of the public API under its\n\
    number. The table is drawn from the tests; a rule without one fails them.\n\n\
    | rule | what its test says | in |\n| --- | --- | --- |\n";

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn rust_files(folder: &Path, files: &mut Vec<PathBuf>) {
    let mut entries: Vec<PathBuf> = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    entries.sort();
    for path in entries {
        if path.is_dir() {
            rust_files(&path, files);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            files.push(path);
        }
    }
}

/// `t6_14_1_every_tool` is the number `T6.14.1` and the words `every tool`.
fn numbered(name: &str) -> Option<(String, String)> {
    let (group, rest) = match name.strip_prefix('t')? {
        rest if rest.starts_with(|c: char| c.is_ascii_digit()) => ("T", rest),
        rest => {
            let group = rest.chars().next().filter(|group| "gst".contains(*group))?;
            (["TG.", "TS.", "TT."]["gst".find(group)?], rest.strip_prefix(group)?.strip_prefix('_')?)
        }
    };
    let parts: Vec<&str> = rest.split('_').collect();
    let digits = parts.iter().take_while(|part| !part.is_empty() && part.chars().all(|c| c.is_ascii_digit())).count();
    (digits > 0 && digits < parts.len()).then(|| (format!("{group}{}", parts[..digits].join(".")), parts[digits..].join(" ")))
}

/// Number to what the test says and where it is, for every test under a number.
fn tests() -> BTreeMap<String, Vec<(String, String)>> {
    let (mut files, mut found) = (Vec::new(), BTreeMap::<String, Vec<(String, String)>>::new());
    for folder in ["tests", "src"] {
        rust_files(&root().join("crates/toolwright").join(folder), &mut files);
    }
    for file in files {
        let shown = file.display().to_string();
        let shown = shown.split("crates/toolwright/").last().map(|path| format!("crates/toolwright/{path}")).unwrap();
        let text = std::fs::read_to_string(&file).unwrap();
        let mut is_test = false;
        for line in text.lines().map(str::trim) {
            if line.starts_with("///") || line.starts_with("//!") {
                for number in NUMBERS.lines().filter(|number| line.contains(&format!("({number})"))) {
                    let says = line.trim_start_matches(['/', '!', ' ']).split(" (T").next().unwrap_or_default();
                    found.entry(number.to_owned()).or_default().push((says.trim_end_matches([':', '.']).to_owned(), shown.clone()));
                }
            }
            if line.starts_with("#[test]") || line.starts_with("#[tokio::test") {
                is_test = true;
            } else if let Some(name) = line.strip_prefix("async fn ").or_else(|| line.strip_prefix("fn ")) {
                let name = name.split(['(', '<']).next().unwrap_or_default();
                if let Some((number, says)) = numbered(name).filter(|_| is_test) {
                    found.entry(number).or_default().push((says, shown.clone()));
                }
                is_test = false;
            }
        }
    }
    found
}

#[test]
fn every_number_has_a_test_and_the_table_says_which() {
    let found = tests();
    let missing: Vec<&str> = NUMBERS.lines().filter(|number| !found.contains_key(*number)).collect();
    assert!(missing.is_empty(), "{} rule(s) without a test: {}", missing.len(), missing.join(" "));
    let unknown: Vec<&String> = found.keys().filter(|number| !NUMBERS.lines().any(|known| known == *number)).collect();
    assert!(unknown.is_empty(), "tests under numbers that there are not: {unknown:?}");
    let mut page = HEAD.to_owned();
    for number in NUMBERS.lines() {
        for (says, file) in &found[number] {
            writeln!(page, "| {number} | {says} | `{file}` |").unwrap();
        }
    }
    let path = root().join(PAGE);
    if std::env::var_os("UPDATE").is_some() {
        std::fs::write(&path, &page).unwrap();
    }
    let written = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(written == page, "`{PAGE}` is not what the tests say; `UPDATE=1 cargo test -p toolwright --test it numbered` writes it anew");
}

#[test]
fn a_name_begins_with_its_number() {
    let of = |name: &str| numbered(name).map(|(number, _)| number);
    assert_eq!(of("t6_14_1_every_tool_inspects").as_deref(), Some("T6.14.1"));
    assert_eq!(of("ts_17_killed_anywhere").as_deref(), Some("TS.17"));
    assert_eq!(of("t7_1_an_unknown_tool").as_deref(), Some("T7.1"));
    assert_eq!(of("the_rest"), None);
    assert_eq!(of("t6_1"), None);
}

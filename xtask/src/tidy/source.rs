//! Rules for Rust files: how long, how named, and words that mean "not finished".

use std::path::Path;

use super::Problem;
use super::exceptions::{self, Exceptions};
use super::lexer::{self, Token};
use crate::repo;

const FILE_LINES_MAX: usize = 600;
const FUNCTION_LINES_MAX: usize = 70;

/// Names that say nothing of what is inside.
const NAMES: [&str; 9] = ["utils", "util", "common", "helpers", "helper", "manager", "imp", "misc", "stuff"];

/// Macros that stand for work somebody meant to do.
const UNFINISHED: [&str; 3] = ["todo", "unimplemented", "dbg"];

pub(super) fn problems(files: &[String]) -> Result<Vec<Problem>, String> {
    let exceptions = Exceptions::parse(&repo::read(exceptions::FILE)?);
    let mut problems = Vec::new();
    for path in files.iter().filter(|path| path.ends_with(".rs")) {
        problems.extend(name_problems(path));
        problems.extend(content_problems(path, &repo::read(path)?, &exceptions));
    }
    problems.extend(exceptions.close());
    Ok(problems)
}

fn name_problems(path: &str) -> Vec<Problem> {
    let mut problems = Vec::new();
    if path.ends_with("/mod.rs") {
        problems.push(Problem::new(path, "a module is called `mod.rs`", "name it after itself: `x.rs` beside `x/`"));
    }
    let parts = Path::new(path).iter().map(|part| part.to_string_lossy().trim_end_matches(".rs").to_owned());
    for part in parts.filter(|part| NAMES.contains(&part.as_str())) {
        let help = "name a file after what is in it, in the words of docs/glossary.md";
        problems.push(Problem::new(path, format!("`{part}` says nothing of what is inside"), help));
    }
    problems
}

fn content_problems(path: &str, source: &str, exceptions: &Exceptions) -> Vec<Problem> {
    let mut problems = Vec::new();
    let lines = source.lines().count();
    if !exceptions.allow(&exceptions::file(path), lines, FILE_LINES_MAX) {
        let what = format!("{lines} lines, at most {FILE_LINES_MAX} fit one idea");
        problems.push(Problem::new(path, what, "split it by idea, tests may move to a file of their own"));
    }
    let tokens = lexer::tokens(source);
    for (name, line, lines) in functions(&tokens) {
        if !exceptions.allow(&exceptions::function(path, &name), lines, FUNCTION_LINES_MAX) {
            let what = format!("`{name}` has {lines} lines, at most {FUNCTION_LINES_MAX} fit on a screen");
            problems.push(Problem::new(format!("{path}:{line}"), what, "split it where its steps are"));
        }
    }
    for pair in tokens.windows(2) {
        if let [word, mark] = pair
            && mark.text == "!"
            && UNFINISHED.contains(&word.text.as_str())
        {
            let place = format!("{path}:{}", word.line);
            problems.push(Problem::new(place, format!("`{}!` is not finished work", word.text), "finish it or take it out"));
        }
    }
    problems
}

/// Every function with a body: its name, its first line, and how many lines it has.
fn functions(tokens: &[Token]) -> Vec<(String, usize, usize)> {
    let mut functions = Vec::new();
    for (index, pair) in tokens.windows(2).enumerate() {
        let [keyword, name] = pair else { continue };
        let named = name.text.starts_with(|char: char| char == '_' || char.is_alphabetic());
        if keyword.text != "fn" || !named {
            continue;
        }
        if let Some(last) = last_line(tokens.get(index + 2..).unwrap_or_default()) {
            functions.push((name.text.clone(), keyword.line, last + 1 - keyword.line));
        }
    }
    functions
}

/// The line of the brace that closes the body of the function whose name stands before `tokens`.
fn last_line(tokens: &[Token]) -> Option<usize> {
    let (mut brackets, mut braces) = (0_usize, 0_usize);
    for token in tokens {
        match token.text.as_str() {
            "(" | "[" => brackets += 1,
            ")" | "]" => brackets = brackets.saturating_sub(1),
            // A declaration without a body.
            ";" if brackets == 0 && braces == 0 => return None,
            "{" => braces += 1,
            "}" => {
                braces = braces.saturating_sub(1);
                if braces == 0 && brackets == 0 {
                    return Some(token.line);
                }
            }
            _ => {}
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(path: &str, source: &str) -> Vec<String> {
        let exceptions = Exceptions::default();
        content_problems(path, source, &exceptions).into_iter().map(|problem| problem.what).collect()
    }

    #[test]
    fn a_long_function_is_found_wherever_it_stands() {
        let body = "    let x = \"{\"; // }\n".repeat(69);
        let source = format!("trait T {{ fn declared(&self, n: [u8; 2]); }}\nimpl T {{\n    fn long(&self) {{\n{body}    }}\n}}\n");
        assert_eq!(found("a.rs", &source), ["`long` has 71 lines, at most 70 fit on a screen"]);
        let body = "    let x = \"{\"; // }\n".repeat(68);
        assert!(found("a.rs", &format!("fn fits() {{\n{body}}}\n")).is_empty());
    }

    #[test]
    fn a_long_file_is_found() {
        assert!(found("a.rs", &"//\n".repeat(600)).is_empty());
        assert_eq!(found("a.rs", &"//\n".repeat(601)), ["601 lines, at most 600 fit one idea"]);
    }

    #[test]
    fn unfinished_work_is_found_in_code_and_not_in_text() {
        assert_eq!(found("a.rs", "fn f() { todo!() }"), ["`todo!` is not finished work"]);
        assert!(found("a.rs", "// todo!\nfn f() { g(\"dbg!\") }").is_empty());
    }

    #[test]
    fn names_that_say_nothing_are_found() {
        assert_eq!(name_problems("a/src/utils.rs").len(), 1);
        assert_eq!(name_problems("a/tests/common/x.rs").len(), 1);
        assert_eq!(name_problems("a/src/x/mod.rs").len(), 1);
        assert!(name_problems("a/src/import.rs").is_empty());
    }
}

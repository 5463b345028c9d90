//! Rules for every text file: nothing of the machine it was written on, links that lead somewhere, a change log.

use std::path::Path;

use super::Problem;
use crate::repo;

/// Text that belongs to a machine or a registry. Spelled in two halves, or this file would be the first problem.
const LEAKS: [(&str, &str); 6] =
    [("crates", ".io"), ("pypi", ".org"), ("registry", ".npmjs"), ("/ro", "ot/"), ("/wo", "rk/"), ("/tmp/ba", "sh_jobs")];

/// Written by cargo, which names its registry in it.
const MAY_NAME_A_REGISTRY: &str = "Cargo.lock";

pub(super) fn problems(files: &[String]) -> Vec<Problem> {
    let mut problems = Vec::new();
    for path in files {
        // A file that is no UTF-8 is a picture or a test's bytes: no text, no text rules.
        let Ok(text) = repo::read(path) else { continue };
        if path != MAY_NAME_A_REGISTRY {
            problems.extend(leaks(path, &text));
        }
        if path.ends_with(".md") {
            let exists = |target: &str| repo::root().join(target).exists();
            problems.extend(broken_links(path, &text, exists));
        }
    }
    problems.extend(changelog(repo::read("CHANGELOG.md").as_deref().unwrap_or_default()));
    problems
}

fn leaks(path: &str, text: &str) -> Vec<Problem> {
    let mut problems = Vec::new();
    for (index, line) in text.lines().enumerate() {
        for (head, tail) in LEAKS {
            let leak = format!("{head}{tail}");
            if line.contains(&leak) {
                let what = format!("`{leak}` belongs to a machine or a registry");
                let help = "name packages by name and files by their path from the root";
                problems.push(Problem::new(format!("{path}:{}", index + 1), what, help));
            }
        }
    }
    problems
}

fn broken_links(path: &str, text: &str, exists: impl Fn(&str) -> bool) -> Vec<Problem> {
    let folder = Path::new(path).parent().unwrap_or(Path::new(""));
    let mut problems = Vec::new();
    for (line, target) in links(text) {
        let file = target.split('#').next().unwrap_or_default();
        let elsewhere = file.contains("://") || file.starts_with("mailto:");
        if file.is_empty() || elsewhere || exists(&folder.join(file).to_string_lossy()) {
            continue;
        }
        let help = "links are relative to the file they stand in";
        problems.push(Problem::new(format!("{path}:{line}"), format!("`{target}` leads nowhere"), help));
    }
    problems
}

/// The targets of inline links and of link definitions outside of code, each with its line.
fn links(text: &str) -> Vec<(usize, String)> {
    let mut links = Vec::new();
    let mut fenced = false;
    for (index, line) in text.lines().enumerate() {
        if line.trim_start().starts_with("```") {
            fenced = !fenced;
        }
        if fenced {
            continue;
        }
        let prose: String = line.split('`').step_by(2).collect::<Vec<_>>().join("``");
        let inline = prose.split("](").skip(1).filter_map(|rest| rest.split([')', ' ']).next());
        links.extend(inline.map(|target| (index + 1, target.to_owned())));
        if let Some((_, target)) = prose.strip_prefix('[').and_then(|rest| rest.split_once("]: ")) {
            links.push((index + 1, target.trim().to_owned()));
        }
    }
    links
}

fn changelog(text: &str) -> Option<Problem> {
    let unreleased = |line: &str| line.starts_with("## ") && line.contains("Unreleased");
    if text.lines().any(unreleased) {
        return None;
    }
    let help = "every change a user can see is told there, in the user's words";
    Some(Problem::new("CHANGELOG.md", "has no `## Unreleased` section", help))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_belongs_to_a_machine_is_found() {
        for (head, tail) in LEAKS {
            let problems = leaks("a.md", &format!("one\nsee {head}{tail}x\n"));
            assert_eq!(problems.len(), 1, "{head}{tail}");
            assert!(problems.iter().all(|problem| problem.place == "a.md:2"));
        }
        assert!(leaks("a.md", "the work of a registry").is_empty());
    }

    #[test]
    fn a_link_to_a_missing_file_is_found() {
        let text = "[a](b.md#part) [c](../d.md \"title\") [e](https://example.org) [f](#here) `[g](h.md)`\n\
                    ```md\n[i](j.md)\n```\n[k]: l.md\n";
        let mut asked = Vec::new();
        let problems = broken_links("docs/a.md", text, |target| target == "docs/b.md");
        asked.extend(problems.into_iter().map(|problem| problem.what));
        assert_eq!(asked, ["`../d.md` leads nowhere", "`l.md` leads nowhere"]);
    }

    #[test]
    fn a_change_log_tells_what_is_not_released() {
        assert!(changelog("# Changes\n\n## Unreleased\n").is_none());
        assert!(changelog("# Changes\n\n## [Unreleased]\n").is_none());
        assert!(changelog("").is_some());
    }
}

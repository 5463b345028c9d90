//! Licences and sources of the whole graph, read from `cargo metadata`: what `cargo deny` decides in full, decided
//! here without a tool to install, against the same list in `deny.toml`.

use serde_json::Value;

use super::Problem;
use super::graph::{list, text};

pub(super) fn problems(metadata: &Value, deny: &str) -> Result<Vec<Problem>, String> {
    let allowed = allowed(deny);
    if allowed.is_empty() {
        return Err("`deny.toml` allows no licence at all; is its `[licenses]` section still there?".to_owned());
    }
    let packages = list(metadata, "packages");
    let mut problems = Vec::new();
    let mut registry = None;
    for package in packages {
        let place = format!("{} {}", text(package, "name"), text(package, "version"));
        let licence = text(package, "license");
        if !permits(licence, &allowed) {
            let help = "use another crate, or add the licence to deny.toml after reading it";
            problems.push(Problem::new(place.clone(), format!("its licence `{licence}` is not on the list"), help));
        }
        let source = text(package, "source");
        if !source.is_empty() && (!source.starts_with("registry+") || *registry.get_or_insert(source) != source) {
            let help = "every dependency comes from the one public registry";
            problems.push(Problem::new(place, format!("comes from `{source}`"), help));
        }
    }
    Ok(problems)
}

/// Lists of `deny.toml` whose entries let something through that the rules refuse.
const EXCEPTIONS: [&str; 5] = ["exceptions", "skip", "skip-tree", "ignore", "allow-git"];

/// Every exception in `deny.toml` ends on a day, in a comment `# until YYYY-MM-DD`; `today` is written the same way.
pub(super) fn exception_problems(deny: &str, today: &str) -> Vec<Problem> {
    let mut problems = Vec::new();
    let mut inside = false;
    for (index, line) in deny.lines().enumerate() {
        let place = format!("deny.toml:{}", index + 1);
        let help = "say until when, `# until YYYY-MM-DD`, and look at it again then";
        let (code, comment) = line.split_once('#').unwrap_or((line, ""));
        let opens = code.split_once('=').is_some_and(|(name, _)| EXCEPTIONS.contains(&name.trim()));
        if (inside || opens) && code.contains('"') {
            match comment.trim().strip_prefix("until ") {
                None => problems.push(Problem::new(place, "an exception without an end", help)),
                Some(end) if end.get(..10).is_none_or(|end| end < today) => {
                    problems.push(Problem::new(place, format!("the exception ended: `{end}`"), help));
                }
                Some(_) => {}
            }
        }
        inside = (inside || (opens && code.contains('['))) && !code.trim_end().ends_with(']');
    }
    problems
}

/// The `allow` list of the `[licenses]` section.
fn allowed(deny: &str) -> Vec<&str> {
    let section = deny.split("\n[licenses]\n").nth(1).unwrap_or_default();
    let list = section.split("allow = [").nth(1).and_then(|rest| rest.split(']').next()).unwrap_or_default();
    list.split('"').skip(1).step_by(2).collect()
}

/// Whether an SPDX expression can be met with the allowed licences alone.
fn permits(expression: &str, allowed: &[&str]) -> bool {
    let spaced = expression.replace('(', " ( ").replace(')', " ) ").replace('/', " OR ");
    let mut words = spaced.split_whitespace().peekable();
    let verdict = either(&mut words, allowed);
    verdict && words.peek().is_none()
}

type Words<'a> = std::iter::Peekable<std::str::SplitWhitespace<'a>>;

fn either(words: &mut Words<'_>, allowed: &[&str]) -> bool {
    let mut verdict = both(words, allowed);
    while words.next_if_eq(&"OR").is_some() {
        verdict |= both(words, allowed);
    }
    verdict
}

fn both(words: &mut Words<'_>, allowed: &[&str]) -> bool {
    let mut verdict = one(words, allowed);
    while words.next_if_eq(&"AND").is_some() {
        verdict &= one(words, allowed);
    }
    verdict
}

fn one(words: &mut Words<'_>, allowed: &[&str]) -> bool {
    if words.next_if_eq(&"(").is_some() {
        let verdict = either(words, allowed);
        return words.next_if_eq(&")").is_some() && verdict;
    }
    let Some(licence) = words.next() else {
        return false;
    };
    if words.next_if_eq(&"WITH").is_some() {
        let exception = words.next().unwrap_or_default();
        return allowed.contains(&format!("{licence} WITH {exception}").as_str());
    }
    allowed.contains(&licence)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    const DENY: &str = "[graph]\n\n[licenses]\nallow = [\n    \"MIT\",\n    \"Unicode-3.0\",\n    \"Apache-2.0 WITH LLVM-exception\",\n]\n\n[bans]\nallow = [\"x\"]\n";

    #[test]
    fn expressions_are_judged_as_written() {
        let allowed = allowed(DENY);
        assert_eq!(allowed, ["MIT", "Unicode-3.0", "Apache-2.0 WITH LLVM-exception"]);
        for good in ["MIT", "GPL-3.0 OR MIT", "MIT/Apache-2.0", "(MIT OR Apache-2.0) AND Unicode-3.0", "Apache-2.0 WITH LLVM-exception"] {
            assert!(permits(good, &allowed), "{good}");
        }
        for bad in ["", "Apache-2.0", "MIT AND GPL-3.0", "MIT AND", "(MIT", "MIT )", "MIT WITH LLVM-exception"] {
            assert!(!permits(bad, &allowed), "{bad}");
        }
    }

    #[test]
    fn a_second_source_is_found() {
        let package = |name: &str, source: Value| json!({"name": name, "version": "1.0.0", "license": "MIT", "source": source});
        let packages = json!([
            package("ours", Value::Null),
            package("a", json!("registry+one")),
            package("b", json!("registry+two")),
            package("c", json!("git+x"))
        ]);
        let problems = problems(&json!({"packages": packages}), DENY).expect("the list is there");
        let places: Vec<&str> = problems.iter().map(|problem| problem.place.as_str()).collect();
        assert_eq!(places, ["b 1.0.0", "c 1.0.0"]);
    }

    #[test]
    fn an_exception_has_an_end_and_is_over_after_it() {
        let deny =
            "skip = [\n    \"a@1\", # until 2027-01-31\n    \"b@1\",\n    { crate = \"c\" }, # until 2026-01-31\n]\nallow = [\"x\"]\n";
        let found = |today| -> Vec<String> { exception_problems(deny, today).into_iter().map(|problem| problem.place).collect() };
        assert_eq!(found("2026-11-30"), ["deny.toml:3", "deny.toml:4"]);
        assert_eq!(found("2027-02-01"), ["deny.toml:2", "deny.toml:3", "deny.toml:4"]);
        assert_eq!(exception_problems("ignore = [\"d\"]\nallow = [\"x\"]\n", "2026-11-30").len(), 1);
    }

    #[test]
    fn an_empty_list_is_an_error_and_not_a_pass() {
        assert!(problems(&json!({"packages": []}), "").is_err());
    }
}

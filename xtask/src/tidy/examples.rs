//! Every public type of the library shows how it is used: an example that compiles, or the sentence that says on whose
//! page the example is.
//!
//! It reads the source as text. That the examples compile is the doc tests' business.

use std::collections::BTreeSet;

use super::Problem;
use crate::repo;

/// Where the library's source is.
const LIBRARY: &str = "crates/toolwright/src/";

/// What a public type begins with, at the left margin: what is indented stands in a module that is not public.
const KEYWORDS: [&str; 4] = ["pub struct ", "pub enum ", "pub trait ", "macro_rules! "];

/// Words behind the fence of a block that is compiled as an example.
const COMPILED: [&str; 5] = ["", "rust", "no_run", "should_panic", "edition2024"];

/// A public type and what its doc comment says, line by line.
#[derive(Debug)]
struct Documented {
    place: String,
    name: String,
    docs: Vec<String>,
}

pub(super) fn problems(files: &[String]) -> Result<Vec<Problem>, String> {
    let mut types = Vec::new();
    for path in files.iter().filter(|path| path.starts_with(LIBRARY) && path.ends_with(".rs")) {
        types.extend(documented(path, &repo::read(path)?));
    }
    Ok(without_example(&types))
}

fn without_example(types: &[Documented]) -> Vec<Problem> {
    let shown: BTreeSet<&str> = types.iter().filter(|it| has_example(&it.docs)).map(|it| it.name.as_str()).collect();
    let missing = types.iter().filter(|it| !shown.contains(it.name.as_str()) && !is_sent_on(&it.docs, &shown));
    let help = "add one that compiles, or a sentence with a link: the page of [`Other`] has an example";
    missing.map(|it| Problem::new(&it.place, format!("the page of `{}` has no example", it.name), help)).collect()
}

/// The public types of one file.
fn documented(path: &str, source: &str) -> Vec<Documented> {
    let (mut types, mut docs, mut attributes) = (Vec::new(), Vec::new(), String::new());
    let mut in_attribute = false;
    for (index, line) in source.lines().enumerate() {
        if in_attribute || line.starts_with("#[") {
            attributes.push_str(line);
            in_attribute = !line.ends_with(']');
        } else if let Some(doc) = line.strip_prefix("///") {
            docs.push(doc.strip_prefix(' ').unwrap_or(doc).to_owned());
        } else if !line.starts_with("//") {
            if let Some(name) = name_of(line).filter(|_| is_public(line, &attributes)) {
                types.push(Documented { place: format!("{path}:{}", index + 1), name, docs: std::mem::take(&mut docs) });
            }
            docs.clear();
            attributes.clear();
        }
    }
    types
}

fn name_of(line: &str) -> Option<String> {
    let rest = KEYWORDS.iter().find_map(|keyword| line.strip_prefix(keyword))?;
    Some(rest.chars().take_while(|char| char.is_alphanumeric() || *char == '_').collect())
}

/// A macro is public when it is exported; nothing is that is hidden, or there only for the doc tests.
fn is_public(line: &str, attributes: &str) -> bool {
    let left_out = ["doc(hidden)", "cfg(doctest)", "cfg(test)"].iter().any(|attribute| attributes.contains(attribute));
    !left_out && (line.starts_with("pub ") || attributes.contains("macro_export"))
}

fn has_example(docs: &[String]) -> bool {
    let mut inside = false;
    for fence in docs.iter().filter_map(|line| line.strip_prefix("```")) {
        if !inside && COMPILED.contains(&fence.trim()) {
            return true;
        }
        inside = !inside;
    }
    false
}

/// Whether a sentence says `example` and links to a type that has one.
fn is_sent_on(docs: &[String], shown: &BTreeSet<&str>) -> bool {
    let text = docs.join(" ");
    let mut sentences = text.split(". ").filter(|sentence| sentence.contains("example"));
    sentences.any(|sentence| {
        let links = sentence.split("[`").skip(1).filter_map(|rest| rest.split('`').next());
        links.flat_map(|link| link.split("::")).any(|part| shown.contains(part))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(source: &str) -> Vec<String> {
        without_example(&documented("a.rs", source)).into_iter().map(|problem| format!("{} {}", problem.place, problem.what)).collect()
    }

    #[test]
    fn a_type_without_an_example_is_found() {
        let text =
            "/// One.\n///\n/// ```text\n/// no code\n/// ```\n#[derive(\n    Clone,\n)]\n// why\npub struct One<T> {\n    pub x: T,\n}\n";
        assert_eq!(found(text), ["a.rs:10 the page of `One` has no example"]);
        assert!(found(&text.replace("```text", "```")).is_empty());
    }

    #[test]
    fn a_link_counts_when_it_is_said_to_lead_to_an_example() {
        let two = "/// ```\n/// let a = 1;\n/// ```\npub enum Two {}\n";
        let one = |docs: &str| found(&format!("{two}/// One. {docs}\npub trait One {{}}\n"));
        assert!(one("The page of [`Two`] has an example.").is_empty());
        assert!(one("Made by [`make`](crate::Two); [`crate::Two::make`] has an example.").is_empty());
        assert_eq!(one("It takes a [`Two`]. An example would be nice.").len(), 1);
        assert_eq!(one("The page of [`Three`] has an example.").len(), 1);
    }

    #[test]
    fn what_nobody_can_name_needs_none() {
        assert!(found("pub(crate) struct One;\nstruct Two;\nmod x {\n    pub struct Three;\n}\nmacro_rules! four {}\n").is_empty());
        assert!(found("#[doc(hidden)]\npub struct One;\n#[cfg(doctest)]\n#[doc = \"x\"]\npub struct Two;\n").is_empty());
        assert_eq!(found("#[macro_export]\nmacro_rules! one {}\n").len(), 1);
    }
}

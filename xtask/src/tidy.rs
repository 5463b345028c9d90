//! Every rule of the house that no compiler and no lint holds, as one list of problems; also a test, so that no
//! task has to be remembered.
//!
//! It reads the checkout and `cargo metadata`; it never builds and never asks a network.

use std::fmt;

use crate::repo::{self, Outcome};

mod examples;
mod exceptions;
mod graph;
mod lexer;
mod licence;
mod source;
mod text;

/// Something that is against a rule: where, what, and what to do.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Problem {
    pub(crate) place: String,
    pub(crate) what: String,
    pub(crate) help: &'static str,
}

impl Problem {
    pub(crate) fn new(place: impl Into<String>, what: impl Into<String>, help: &'static str) -> Self {
        Self { place: place.into(), what: what.into(), help }
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}\n    help: {}", self.place, self.what, self.help)
    }
}

/// `cargo xtask tidy`.
pub(crate) fn run() -> Outcome {
    let problems = problems()?;
    for problem in &problems {
        println!("{problem}");
    }
    println!("tidy: {} problem(s)", problems.len());
    Ok(problems.is_empty())
}

/// All problems of the checkout, sorted by place.
pub(crate) fn problems() -> Result<Vec<Problem>, String> {
    let files = repo::files()?;
    let metadata = repo::metadata()?;
    let mut problems = graph::problems(&metadata);
    problems.extend(graph::manifest_problems(&metadata)?);
    problems.extend(graph::lock_problems(&repo::read("Cargo.lock")?));
    let deny = repo::read("deny.toml")?;
    problems.extend(licence::problems(&metadata, &deny)?);
    problems.extend(licence::exception_problems(&deny, &repo::today()));
    problems.extend(text::problems(&files));
    problems.extend(source::problems(&files)?);
    problems.extend(examples::problems(&files)?);
    problems.sort();
    Ok(problems)
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_checkout_is_tidy() {
        let problems = super::problems().expect("tidy can read the checkout");
        let shown: Vec<String> = problems.iter().map(ToString::to_string).collect();
        assert!(problems.is_empty(), "{}", shown.join("\n"));
    }
}

//! Every public code, once. Codes are stable: never renamed, never reused.
//!
//! Each has a page that `toolwright explain CODE` prints: what it means, the
//! smallest thing that produces it, what to do. That smallest thing is run by a test, just as it stands there.
//!
//! [`page`] finds the [`CodePage`] of a code, and [`all`] gives every one.

/// Pages: code, title, meaning, example, remedy. Examples in Rust are doctests as well.
macro_rules! pages {
    ($($code:literal, $title:literal, $meaning:literal, $kind:ident($($part:literal),+), $remedy:literal;)*) => {
        /// The pages of this chapter.
        pub(super) static PAGES: &[CodePage] = &[
            $(CodePage { code: $code, title: $title, meaning: $meaning, example: example!($kind, $($part),+), remedy: $remedy },)*
        ];

        /// What the pages show, compiled and run.
        #[cfg(doctest)]
        $(#[doc = doctest!($kind, $($part),+)])*
        pub struct Examples;
    };
}

macro_rules! example {
    (file, $file:literal, $command:literal) => {
        CodeExample::File { file: $file, command: $command }
    };
    (rust, $text:literal) => {
        CodeExample::Rust($text)
    };
    (told, $words:literal, $by:literal) => {
        CodeExample::Told { words: $words, by: $by }
    };
}

/// A block of documentation around an example, with the names that it uses and `echo`, which gives back what it gets.
#[cfg(doctest)]
macro_rules! doctest {
    (rust, $text:literal) => {
        concat!(
            "```\n# use std::sync::Arc;\n# use toolwright::*;\n",
            "# async fn echo(input: Value, _call: Call) -> Result<Value, ToolError> { Ok(input) }\n",
            "# tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {\n",
            $text,
            "# });\n```\n"
        )
    };
    ($kind:ident, $($part:literal),+) => {
        ""
    };
}

// The macros above reach only what stands below them.
mod calling;
mod composing;
mod declaring;
mod keeping;
mod sources;
mod warning;

/// One code and its page.
///
/// Found by [`page`]; a program that shows an error can show its page too.
///
/// ```
/// use toolwright::codes;
/// let page = codes::page("step_not_chainable").ok_or("there is one for every code")?;
/// assert_eq!(page.code, "step_not_chainable");
/// assert!(codes::page("no_such_code").is_none());
/// # Ok::<(), &str>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CodePage {
    /// The code.
    pub code: &'static str,
    /// One line.
    pub title: &'static str,
    /// What it means.
    pub meaning: &'static str,
    /// The smallest thing that produces it.
    pub example: CodeExample,
    /// What to do.
    pub remedy: &'static str,
}

/// The smallest thing that produces a code; a test runs it as it is.
///
/// ```
/// use toolwright::codes::{self, CodeExample};
/// let page = codes::page("invalid_spec").ok_or("there is one for every code")?;
/// let CodeExample::File { file, command } = page.example else { return Err("a file is enough") };
/// assert_eq!((file, command), ("composites:\n  c:\n    steps: []\n", "check"));
/// # Ok::<(), &str>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum CodeExample {
    /// A `toolwright.yaml`, and what to call `toolwright` with.
    File {
        /// The whole file.
        file: &'static str,
        /// The command and its arguments.
        command: &'static str,
    },
    /// Rust that ends with the code. Lines that begin with `# ` are for the compiler, as in documentation.
    Rust(&'static str),
    /// In words, since it takes a program that misbehaves.
    Told {
        /// What happens.
        words: &'static str,
        /// The crate whose tests make it happen; empty where nothing does any more.
        by: &'static str,
    },
}

impl std::fmt::Display for CodeExample {
    /// What a person is shown, without what is for the compiler alone.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::File { file: "", command } => write!(f, "$ toolwright {command}"),
            Self::File { file, command } => write!(f, "# toolwright.yaml\n{file}\n$ toolwright {command}"),
            Self::Rust(text) => {
                let shown: Vec<&str> = text.lines().filter(|line| !line.starts_with("# ")).collect();
                f.write_str(&shown.join("\n"))
            }
            Self::Told { words, .. } => f.write_str(words),
        }
    }
}

/// Every page, in the order of a run: composing, calling, keeping, declaring; warnings come last.
///
/// ```
/// use toolwright::codes;
/// assert!(codes::all().any(|page| page.code == "cancelled"));
/// ```
pub fn all() -> impl Iterator<Item = &'static CodePage> {
    [composing::PAGES, calling::PAGES, sources::PAGES, keeping::PAGES, declaring::PAGES, warning::PAGES].into_iter().flatten()
}

/// The page of a code.
///
/// ```
/// use toolwright::codes;
/// assert!(codes::page("cancelled").is_some() && codes::page("no_such_code").is_none());
/// ```
pub fn page(code: &str) -> Option<&'static CodePage> {
    all().find(|page| page.code == code)
}

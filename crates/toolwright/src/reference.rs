//! The reference language: small texts such as `$input.topic`, `$prev.snippet`
//! or `$steps.search.items[0]` inside a step's `inputMapping`.
//!
//! Only mappings of a specification are ever read as references; a resolved value is data and is not looked at.
//!
//! In reading order: [`Dialect`] says which of two grammars; [`parse_strict`] and [`parse_page`] read one text; a
//! [`Reference`] is a [`Root`] and a path of [`Segment`]s; a [`ReferenceError`] says which bytes are wrong and what was
//! [`Expected`] there.

// Stages, one file each: `parse.rs` reads one text, `template.rs` compiles a whole mapping into a plan, `eval.rs` walks the plan
// over real values, `error.rs` says what was wrong and where.

pub mod error;
pub(crate) mod eval;
pub mod parse;
pub(crate) mod template;

pub use error::{Expected, ReferenceError};
pub use parse::{Parsed, Reference, Root, Segment, parse_page, parse_strict};

/// Which reading of `$…` texts a composite asks for.
///
/// A specification says it with `strictMode`, a [`Composer`](crate::Composer) for those that do not.
///
/// ```
/// use toolwright::{CompositeSpec, Dialect, json};
/// let steps = json!([{ "name": "a", "tool": "echo", "inputMapping": {} }]);
/// assert_eq!(CompositeSpec::from_value(&json!({ "steps": steps.clone() }))?.dialect, Dialect::Strict);
/// assert_eq!(CompositeSpec::from_value(&json!({ "strictMode": false, "steps": steps }))?.dialect, Dialect::Page);
/// # Ok::<(), toolwright::SpecError>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Dialect {
    /// Toolwright's own: names, brackets, `?`, `$$`; anything wrong is found when the composite is built.
    #[default]
    Strict,
    /// `strictMode: false`: exactly six forms; any other `$…` is a literal, with one warning.
    Page,
    /// The same six forms; any other `$…` refuses the composite when it is built.
    PageStrict,
}

impl Dialect {
    /// Whether texts are read by the six forms of the page.
    pub fn is_page(self) -> bool {
        self != Self::Strict
    }
}

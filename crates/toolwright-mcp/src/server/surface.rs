//! What one audience sees: tools under the names and in the form that its clients can take.

use toolwright::Text;

/// The tools of one audience, ready to be listed and found by their exposed names.
#[derive(Clone, Debug, Default)]
pub struct Surface {}

/// A tool that an audience does not get, and why.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct LeftOut {
    /// The tool's id.
    pub tool: Text,
    /// A code.
    pub code: &'static str,
    /// In words.
    pub reason: String,
}

//! The codes of what can be wrong with a file or a command line, each with its page for `explain`.
//!
//! Codes of runs (`step_not_chainable`, `invalid_input`, ...) are the core's own; a code is never
//! renamed and never used for something else.

mod pages;

pub(crate) use pages::PAGES;

/// The file cannot be read at all.
pub(crate) const UNREADABLE: &str = "config_unreadable";
/// The file is no YAML or JSON that is read here.
pub(crate) const SYNTAX: &str = "config_syntax";
/// A member that has no meaning where it stands.
pub(crate) const UNKNOWN_MEMBER: &str = "config_unknown_member";
/// A member that has to be there is not.
pub(crate) const MISSING_MEMBER: &str = "config_missing_member";
/// A value of another type than the member takes.
pub(crate) const WRONG_TYPE: &str = "config_wrong_type";
/// A value of the right type that means nothing: a duration, a size, a word, a name.
pub(crate) const BAD_VALUE: &str = "config_bad_value";
/// One key twice in one mapping.
pub(crate) const DUPLICATE_KEY: &str = "config_duplicate_key";
/// Two tools under one id.
pub(crate) const DUPLICATE_ID: &str = "config_duplicate_id";
/// An environment variable that is not set.
pub(crate) const UNRESOLVED_VARIABLE: &str = "config_unresolved_variable";
/// A `${...}` that is written wrongly.
pub(crate) const BAD_VARIABLE: &str = "config_bad_variable";
/// A command-line template that is written wrongly.
pub(crate) const BAD_TEMPLATE: &str = "config_bad_template";
/// A tool is named that is not there.
pub(crate) const UNKNOWN_TOOL: &str = "config_unknown_tool";
/// A source cannot be started or asked.
pub(crate) const SOURCE_UNAVAILABLE: &str = "source_unavailable";
/// A tool of a source cannot be offered.
pub(crate) const TOOL_SKIPPED: &str = "source_tool_skipped";
/// The project's list of side-effecting tools has not been accepted by the user.
pub(crate) const NOT_TRUSTED: &str = "policy_not_trusted";
/// What was learned of tools cannot be read or written.
pub(crate) const LEARNED_UNUSABLE: &str = "learned_unusable";
/// What was learned of a tool is of no use.
pub(crate) const LEARNED_UNUSED: &str = "learned_unused";
/// A tool is not learned from.
pub(crate) const LEARN_REFUSED: &str = "learn_refused";
/// What servers said about their tools cannot be read or written.
pub(crate) const LOCK_UNUSABLE: &str = "lock_unusable";
/// A tool is not what was accepted; a code of the core.
pub(crate) use toolwright_mcp::upstream::CATALOG_CHANGED;
/// What servers say now was not agreed to.
pub(crate) const LOCK_NOT_ACCEPTED: &str = "lock_not_accepted";
/// A question has an answer already.
pub(crate) const APPROVAL_ANSWERED: &str = "approval_answered";
/// A change of a file was not agreed to.
pub(crate) const CHANGE_NOT_ACCEPTED: &str = "change_not_accepted";
/// The journal that runs are kept in cannot be used.
pub(crate) const JOURNAL_UNUSABLE: &str = "journal_unusable";
/// The journal is not as it was written.
pub(crate) const JOURNAL_DAMAGED: &str = "journal_damaged";
/// What was given on the command line cannot be used.
pub(crate) const USAGE: &str = "usage";

/// Standard output could not be written.
pub(crate) const OUTPUT_LOST: &str = "output_not_written";

/// `check --fix` could not change a file.
pub(crate) const NOT_CHANGED: &str = "config_not_changed";

/// An example of a tool that does not fit its schemas.
pub(crate) const INVALID_EXAMPLE: &str = "invalid_example";

#[cfg(test)]
mod tests {
    use super::PAGES;

    #[test]
    fn no_code_has_two_pages() {
        for (at, page) in PAGES.iter().enumerate() {
            assert!(toolwright::codes::page(page.code).is_none(), "{} is the core's", page.code);
            assert!(!PAGES.iter().skip(at + 1).any(|other| other.code == page.code), "{} stands here twice", page.code);
        }
    }

    /// Each constant above is a code, and no other text is one.
    #[test]
    fn every_code_has_a_page() {
        let text = include_str!("code.rs");
        let constants = text.lines().filter(|line| line.starts_with("pub(crate) const ") && line.contains(": &str = "));
        let codes: Vec<&str> = constants.filter_map(|line| line.split('"').nth(1)).collect();
        assert_eq!(codes.len(), PAGES.len());
        for code in codes {
            assert!(PAGES.iter().any(|page| page.code == code), "{code} has no page");
        }
    }
}

//! What stands for a description that a file leaves out: a catalogue takes no tool without one, and whoever tries a
//! command line should not have to write it first.

use super::composite::Use;
use super::source::ElementEntry;
use crate::style::{cut, one_line};

/// Columns of a command line that are shown.
const COMMAND_COLUMNS_MAX: usize = 100;

/// Tools of a composite that are named.
const TOOLS_NAMED_MAX: usize = 3;

/// The command line as it is written: variables are not replaced, so nothing of theirs is told.
pub(super) fn command(argv: &[ElementEntry]) -> String {
    let words: Vec<&str> = argv.iter().filter_map(|element| element.node.text()).collect();
    format!("Runs `{}`", cut(&one_line(&words.join(" ")), COMMAND_COLUMNS_MAX))
}

/// The tools in the order in which they run.
pub(super) fn composite(uses: &[Use]) -> String {
    let named: Vec<String> = uses.iter().take(TOOLS_NAMED_MAX).map(|step| format!("`{}`", one_line(&step.tool))).collect();
    let named = if named.is_empty() { "nothing yet".to_owned() } else { named.join(", then ") };
    match uses.len().saturating_sub(TOOLS_NAMED_MAX) {
        0 => format!("Runs {named}"),
        1 => format!("Runs {named}, and 1 step more"),
        more => format!("Runs {named}, and {more} steps more"),
    }
}

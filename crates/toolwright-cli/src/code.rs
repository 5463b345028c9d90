//! The codes of what can be wrong with a file or a command line, each with its page for `explain`.
//!
//! Codes of runs (`step_not_chainable`, `invalid_input`, ...) are the core's own; a code is never
//! renamed and never used for something else.

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
/// What servers say now was not agreed to.
pub(crate) const LOCK_NOT_ACCEPTED: &str = "lock_not_accepted";
/// What was given on the command line cannot be used.
pub(crate) const USAGE: &str = "usage";

/// Standard output could not be written.
pub(crate) const OUTPUT_LOST: &str = "output_not_written";

/// What `explain` prints for a code of this crate: title, then text.
pub(crate) const PAGES: &[(&str, &str, &str)] = &[
    (
        UNREADABLE,
        "the configuration cannot be read",
        "The file is not there, may not be read, is larger than 4 MiB, or is not UTF-8 text.\n\n\
         Without `--file`, toolwright looks for `toolwright.yaml`, `toolwright.yml` and \
         `toolwright.json` in the current folder and then in the folders above it.",
    ),
    (
        SYNTAX,
        "the file is no YAML that is read here",
        "YAML 1.2 and JSON are read: one document, keys that are text, nesting up to 128, no merge \
         keys and no tags but the standard ones. The most common reason is text that begins with \
         `{`, `[`, `%`, `@`, `*`, `&` or `!`, or that contains `: ` or ` #`: quote it.",
    ),
    (
        UNKNOWN_MEMBER,
        "a member has no meaning where it stands",
        "Members that are not known are errors, never ignored: a guard that is silently ignored is \
         worse than none. The message names the nearest known member and the members there are.",
    ),
    (
        MISSING_MEMBER,
        "a member that has to be there is missing",
        "A command tool needs `argv`; a composite needs `steps`; a source needs one of `tools` (command \
         lines), `command` (an MCP server over stdio) or `url` (an MCP server over HTTP).",
    ),
    (
        WRONG_TYPE,
        "a value has another type than the member takes",
        "The message says what was expected and what is there. An unquoted `{name}` is a YAML mapping; \
         an unquoted `yes` is text; an unquoted `1.0` is a number: quote what is meant as text.",
    ),
    (
        BAD_VALUE,
        "a value means nothing to the member it stands in",
        "Durations are a number and a unit: `500ms`, `20s`, `2m`, `1h`. Sizes likewise: `64KiB`, `1MiB`, \
         `10MB`, `512` (bytes). Ids are letters, digits, `_`, `-`, `.`, `/` and `:`. Other members list the \
         words they take in the message.",
    ),
    (
        DUPLICATE_KEY,
        "one key stands twice in one mapping",
        "Nothing says which of the two is meant, so neither reading would be safe. Both places are shown.",
    ),
    (
        DUPLICATE_ID,
        "two tools have one id",
        "A tool is never replaced silently by another of the same name. Rename one of them: in its own \
         source, with another `prefix` for an MCP source, or with `tools: {OLD: {name: NEW}}`.",
    ),
    (
        UNRESOLVED_VARIABLE,
        "an environment variable is not set",
        "`${NAME}` and `${env:NAME}` stand for an environment variable, `${NAME:-text}` for the variable or, \
         where it is not set or empty, for the text. A variable that is not set disables what it stands \
         in, and nothing else: no source starts with an empty token.",
    ),
    (
        BAD_VARIABLE,
        "a `${...}` is written wrongly",
        "The forms are `${NAME}`, `${env:NAME}`, `${NAME:-text}` and `${env:NAME:-text}`; a name is letters, \
         digits and `_`. A lone `$`, also before a name, is text. The default is text and is not looked \
         into again; to write a literal `${`, use `${DOLLAR:-$}{`.",
    ),
    (
        BAD_TEMPLATE,
        "a command-line template is written wrongly",
        "One element of `argv` is one argument of the command, whatever the value holds: there is no shell. \
         `{name}` stands for an argument of the tool, `{name?}` leaves the element out when the argument is \
         not given, `{names*}`, alone in its element, stands for a list. `{{` and `}}` are braces.",
    ),
    (
        UNKNOWN_TOOL,
        "a tool is named that is not there",
        "The sections `tools` and `policy` speak about tools by id, exactly as `toolwright list` shows them. \
         Tools of an MCP source carry its prefix (`<source>_` unless the file says otherwise).",
    ),
    (
        SOURCE_UNAVAILABLE,
        "a source cannot be started or asked",
        "An MCP server did not start, did not answer in time, or could not be reached. Its tools cannot be \
         called, and composites that use them cannot run; everything else works. The message has the \
         reason and the last lines the server wrote to its error output.",
    ),
    (
        TOOL_SKIPPED,
        "a tool of a source cannot be offered",
        "The server describes a tool in a way that cannot be used: a schema that is none, a name twice. \
         The other tools of that server are there.",
    ),
    (
        NOT_TRUSTED,
        "a project's list of side-effecting tools is not accepted yet",
        "A project file can narrow what is allowed, never grant. The tools with side effects that composites \
         may chain (`policy.sideEffectingTools`) count from your own configuration, from `--allow TOOL`, or \
         from the project file once you accepted it with `toolwright trust FILE`. A change of that section, \
         or of what the file says about the tools in it, asks again; a change of layout or comments does not.",
    ),
    (
        LEARNED_UNUSABLE,
        "what was learned of tools cannot be used",
        "`toolwright.learned.json` beside the configuration holds what `toolwright learn` saw of outputs. It is no JSON, \
         was written by a newer toolwright, or an entry in it is not what `learn` writes. A pinned entry is a promise, so \
         a file that cannot be read stops what it may speak about and is never ignored. `toolwright learn TOOL --forget` \
         takes a broken entry out.",
    ),
    (
        LEARNED_UNUSED,
        "what was learned of a tool is of no use",
        "No tool has that id any more, or it says itself now what it gives, which is what counts. \
         `toolwright learn TOOL --forget` takes the entry out.",
    ),
    (
        LEARN_REFUSED,
        "a tool is not learned from",
        "What a tool gives is learned only where nothing says it: a tool with an output schema has said it, and what a \
         composite gives follows from its steps. To see outputs, only a tool that declares that it changes nothing \
         (`effect: read`) is run; for any other, give outputs that you have: `toolwright learn TOOL --from FILE`.",
    ),
    (
        LOCK_UNUSABLE,
        "`toolwright.lock` cannot be used",
        "It holds what MCP servers said about their tools when `toolwright lock` asked them. It is no JSON, was written by \
         a newer toolwright, or was changed by something else, so that a tool in it does not fit its hash. Take it out and \
         run `toolwright lock` again; after a conflict in version control, do that too.",
    ),
    (
        LOCK_NOT_ACCEPTED,
        "nobody agreed to what is new in `toolwright.lock`",
        "`toolwright lock` shows what servers say now and differently from before, and asks. Where nobody can be asked, as \
         in CI, nothing is written; look at what it shows, and run `toolwright lock --yes`.",
    ),
    (
        USAGE,
        "the command line cannot be used",
        "An argument is missing, unknown, or does not fit the tool's input schema. `toolwright describe TOOL` \
         shows what a tool takes; `toolwright help COMMAND` shows what a command takes.",
    ),
    (
        OUTPUT_LOST,
        "the output could not be written",
        "Standard output goes somewhere that takes no more, such as a full disk. What was asked for was done, so a \
         tool that ran has had its effect: look before you run it again. A reader that goes away, as `head` does, \
         is no error.",
    ),
];

#[cfg(test)]
mod tests {
    use super::PAGES;

    #[test]
    fn no_code_has_two_pages() {
        for (at, (code, _, _)) in PAGES.iter().enumerate() {
            assert!(toolwright::codes::page(code).is_none(), "{code} is the core's");
            assert!(!PAGES.iter().skip(at + 1).any(|(other, _, _)| other == code), "{code} stands here twice");
        }
    }
}

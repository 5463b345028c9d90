//! What can be wrong with the declaration of a command, all of it at once, each with its place.

use std::fmt;
use std::ops::Range;

/// A command that cannot become a tool, with everything that is wrong with it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CommandError {
    /// The id of the tool.
    pub tool: String,
    /// What is wrong, in the order of the declaration; never empty.
    pub issues: Vec<CommandIssue>,
}

/// One thing that is wrong with the declaration of a command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CommandIssue {
    /// Which rule was broken.
    pub kind: CommandIssueKind,
    /// What is wrong, in one line.
    pub message: String,
    /// Why, and what to write instead.
    pub help: String,
    /// Where.
    pub place: Place,
}

/// Where in the declaration of a command something is wrong.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Place {
    /// The list of argv as a whole.
    Argv,
    /// An element of argv: its index (0 is the program), and bytes inside its text.
    Element {
        /// Index in argv.
        index: usize,
        /// Bytes inside the text; `None` is the whole element.
        span: Option<Range<usize>>,
    },
    /// The template of stdin, and bytes inside its text.
    Stdin {
        /// Bytes inside the text.
        span: Range<usize>,
    },
    /// The input schema, by JSON pointer.
    Input {
        /// JSON pointer inside the schema.
        pointer: String,
    },
    /// The variables set for the program.
    Environment {
        /// The name of the variable.
        name: String,
    },
    /// What says where the idempotency key goes.
    IdempotencyKey,
}

/// The rules a declaration can break.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum CommandIssueKind {
    /// There is no program, or its name is empty.
    NoProgram,
    /// The name of the program comes from an argument.
    ProgramFromArgument,
    /// A text of the declaration holds a NUL byte.
    NulByte,
    /// A placeholder that is no property of the input.
    UnknownArgument,
    /// A property of the input that nothing uses.
    UnusedArgument,
    /// A placeholder without `?` whose argument may be absent.
    MayBeAbsent,
    /// `*` on something that is no array, or an array without `*`.
    Shape,
    /// `{names*}` in stdin.
    SpreadInStdin,
    /// An input schema that lets in arguments nothing uses.
    OpenInput,
    /// An input schema that does not describe an object.
    NoObject,
    /// An argument that would complete the name of an option.
    NamesOption,
    /// `endOfOptions` with options after the place of `--`.
    OptionAfterOperands,
    /// An argument inside the text of a shell's or an interpreter's script.
    InsideScript,
    /// A variable whose name cannot be set.
    VariableName,
    /// The idempotency key goes where something else stands, or where nothing uses it.
    KeyPlace,
}

impl fmt::Display for CommandError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "command `{}`: ", self.tool)?;
        match self.issues.as_slice() {
            [] => f.write_str("unusable"),
            [only] => f.write_str(&only.message),
            [first, rest @ ..] => write!(f, "{} (and {} more)", first.message, rest.len()),
        }
    }
}

impl std::error::Error for CommandError {}

//! Every public code, once. Codes are stable: never renamed, never reused.
//!
//! Each has a page that `toolwright explain CODE` prints: what it means, the
//! smallest thing that produces it, what to do.

/// One code and its page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CodePage {
    /// The code.
    pub code: &'static str,
    /// One line.
    pub title: &'static str,
    /// What it means.
    pub meaning: &'static str,
    /// The smallest thing that produces it.
    pub example: &'static str,
    /// What to do.
    pub remedy: &'static str,
}

/// The page of a code.
pub fn page(code: &str) -> Option<&'static CodePage> {
    CODES.iter().find(|page| page.code == code)
}

macro_rules! pages {
    ($($code:literal, $title:literal, $meaning:literal, $example:literal, $remedy:literal;)*) => {
        /// All codes, in the order of a run: building, chaining, running, configuring.
        pub static CODES: &[CodePage] = &[
            $(CodePage { code: $code, title: $title, meaning: $meaning, example: $example, remedy: $remedy },)*
        ];
    };
}

pages! {
    "invalid_spec", "the written composite is wrong",
        "A composite has a form: `steps` is a list with at least one entry, each step has a `name` and a `tool`, and only known fields stand in it. An unknown field is an error, because a guard that is silently ignored is worse than none.",
        "{\"steps\": []}",
        "Read the message for the place, and mend the form there. All problems are reported at once.";
    "invalid_reference", "a text begins like a reference and is none",
        "A text in a mapping that begins with `$` and a letter must be `$input`, `$prev`, `$steps[0]` or `$steps.name`, followed by `.name`, `[0]` or `[\"any key\"]`, and perhaps `?` at the end. A step that is named must exist.",
        "text: $inptu.topic",
        "Take the suggested form, or write `$$` in place of the first `$` to send the text itself.";
    "forward_reference", "a step refers to something that does not exist yet",
        "Steps run in order. A reference may name the input and steps that come earlier; `$prev` has no meaning in the first step.",
        "the first step says: text: $prev.snippet",
        "Move the step that gives the value up, or refer to `$input`.";
    "unresolved_reference", "a reference has no value in this run",
        "The path of a reference led to nothing: a member that is not there, a position past the end, or a way into a text or number. The run ended before the tool of that step was touched. `null` is a value and not missing.",
        "text: $prev.snipet, while the previous output has the key `snippet`",
        "Mend the path. If the member may be absent, write `?` at the end: the argument is then left out.";
    "compose_needs_gate", "nothing can be composed without a gate",
        "A composer over a bare callback cannot say what a step's tool is, so no step can be checked.",
        "Composer::from_callback(…).check(\"read\")",
        "Bind a gate, or register the composite in a catalogue, which is its own gate.";
    "step_missing", "a step names a tool that does not exist",
        "Tool names are taken exactly as written.",
        "tool: web_serach",
        "Take the suggested name; `toolwright list` shows all of them.";
    "side_effects_undeclared", "a tool that declares nothing cannot be a step",
        "Whether a tool changes anything must be said by its owner or by the host. Silence counts as the worst, and listing the tool does not replace the declaration.",
        "a command without `effect:` used as a step",
        "Say what it is: `effect: read`, `idempotent` or `write` at the tool, or under `tools:` for a tool of a server.";
    "step_not_chainable", "a tool with side effects is not listed by the host",
        "Tools with side effects are chained only when the host lists them by their exact name. A composite, a tool, or a project file that nobody has accepted cannot list anything. A composite with side effects needs to be listed itself to be a step of another.",
        "a step with `effect: write` and an empty `policy.sideEffectingTools`",
        "Run with `--allow TOOL`, list it in your own configuration, or accept the project's list with `toolwright trust FILE`.";
    "step_cycle", "a composite reaches itself",
        "Following the steps leads back to the composite that is running. The message shows the way.",
        "composite `a` with a step of tool `b`, composite `b` with a step of tool `a`",
        "Take out the step that leads back.";
    "step_replaced", "the tool of a step was replaced while the run was under way",
        "A resumed or long run found another tool under the name that it began with.",
        "a run is resumed after the tool's definition changed",
        "Look at what changed, then accept the tool by name or start a new run.";
    "nesting_too_deep", "composites nest too deep",
        "At most eight composites may stand inside each other.",
        "nine composites, each with one step that is the next",
        "Call an inner one directly, or merge some of the steps.";
    "dry_run_needs_output", "a dry run needs the output of a step that it does not execute",
        "A dry run executes no step with side effects and no nested composite; it goes on with the output that you give.",
        "toolwright dry-run TOOL, for a composite with a step that writes",
        "Give it with `--output STEP=JSON`. `null` is an output too.";
    "step_disabled", "the host has switched this tool off",
        "The tool exists and may not run as a step now.",
        "HostChecks::new().disabled([\"read\"])",
        "Only the host can switch it on again.";
    "permission_denied", "the caller may not use this tool",
        "Each step is authorised as the caller of the composite, not as its author.",
        "HostChecks::new().permission(…) that says no",
        "Ask the host for the permission that the details name.";
    "approval_unavailable", "a step needs a yes and nobody can be asked",
        "Nobody to ask means no.",
        "HostChecks::new().approval(None), and a step with side effects",
        "Give the host somebody to ask.";
    "approval_rejected", "the approval of a step was refused",
        "The person, or the rule that stands for one, said no or did not answer.",
        "an approver that answers no",
        "Change what would be done, or ask again.";
    "step_aborted", "the run was cancelled before this step's tool ran",
        "No step starts after a cancellation. Steps that were completed stay completed.",
        "cancelling a run between two steps",
        "Start it again if you still want it.";
    "cancelled", "the run was cancelled while a tool ran",
        "A tool without side effects is dropped at once. One with side effects is told, and has a grace period to answer; when it does not, its outcome is unknown.",
        "Ctrl-C during a long step",
        "See `unknownEffect` in the details, and check outside whether the effect happened.";
    "invalid_args", "the arguments do not fit the tool's input schema",
        "The tool was not started. Every problem is named with the place inside the arguments.",
        "toolwright run TOOL limit=many, while `limit` is an integer",
        "Mend the arguments; `toolwright describe TOOL` shows the schema.";
    "invalid_output", "a tool's output does not fit what it promises",
        "The tool ran, so its effect has happened. The output was not passed on.",
        "an output schema that says integer, and a tool that answers a text",
        "The tool's owner must mend the output or the output schema.";
    "value_too_large", "a value is too large or nests too deep",
        "Arguments and outputs have a limit for the bytes they print as and for how deep they nest, so that a composite that doubles its output at every step meets a limit and not the memory.",
        "60 steps of {a: $prev, b: $prev}",
        "Pass on only what the next step needs, or raise the limit.";
    "panicked", "a tool broke down",
        "The tool's own code failed in a way it did not expect. Its effect, if it has any, may have happened.",
        "a Rust tool that panics",
        "Report it to the tool's owner.";
    "tool_failed", "the tool answered with an error",
        "The message is the tool's own.",
        "a command that ends with exit code 1",
        "Read the tool's message.";
    "unavailable", "no tool has this name",
        "The call names a tool that the catalogue does not have.",
        "toolwright run repo_reprot",
        "Take the suggested name; `toolwright list` shows all of them.";
    "command_not_found", "the program of a command line does not exist",
        "The first element of `argv` was looked up in `PATH` and is not there. Nothing was started.",
        "argv: [gti, log]",
        "Mend the name, install the program, or write its whole path. The message shows where it was looked for.";
    "command_not_started", "the program of a command line could not be started",
        "The program exists, and the operating system refused to start it: it may not be executed, its folder is missing, or an argument is too long.",
        "argv: [/etc/hosts]",
        "The message has the reason of the operating system.";
    "exit_code", "a command ended with an exit code that is no success",
        "Only the codes in `exitCodes`, usually 0, count as success. The details have the code and the end of what the program wrote to its standard error.",
        "argv: [\"false\"]",
        "Read the program's own words. If the code is a normal answer, as 1 is for `grep`, add it to `exitCodes`.";
    "timeout", "a command took too long",
        "The program and everything it had started were ended. If it has side effects, its outcome is unknown.",
        "argv: [sleep, \"60\"], timeout: 1s",
        "Raise `timeout`, or give the program less to do.";
    "output_too_large", "a command wrote more than it may",
        "The output is held in memory, so it has a limit, `maxOutput`. The program was ended when it passed it.",
        "argv: [\"yes\"]",
        "Let the program write less, or raise `maxOutput`.";
    "upstream_start_failed", "an MCP server did not start",
        "Its program is missing, ended at once, or did not finish the handshake in time. Other servers are not affected.",
        "command: no-such-server",
        "The message has the server's own last words; run its command by hand to see more.";
    "upstream_unavailable", "an MCP server cannot be reached now",
        "It failed several times in a row and is left alone for a while, or it is being shut down. Nothing was sent.",
        "a server that crashes at every start",
        "Mend the server; the next call after the pause tries again.";
    "upstream_exited", "an MCP server ended while a call was running",
        "No answer will come. If the tool has side effects, its outcome is unknown. The server is started again for the next call.",
        "a server that is killed in the middle of a call",
        "Check outside whether the effect happened. The message has the server's last words.";
    "upstream_disconnected", "the connection to an MCP server was lost while a call was running",
        "No answer will come. If the tool has side effects, its outcome is unknown.",
        "a network that goes away in the middle of a call",
        "Check outside whether the effect happened, then call again.";
    "upstream_protocol_error", "an MCP server answered with something that is no answer",
        "The reply could not be read, nests too deep, or is an error of the protocol. Only this call is affected.",
        "a reply that contains NaN",
        "Report it to the server's owner; the message shows what was wrong.";
    "upstream_timeout", "an MCP server was silent or busy for too long",
        "A call has a limit for silence, `idleTimeout`, which progress resets, and one for its whole length, `callTimeout`. The server was told to stop.",
        "a tool that never answers",
        "Raise the limit that the message names, or give the tool less to do.";
    "session_lost", "an MCP server forgot its session twice in a row",
        "A server that forgets a session gets a new one, and the call is sent once more. It forgot that one too.",
        "a server that answers 404 to everything",
        "Look at the server; it may restart all the time.";
    "upstream_unauthorized", "an MCP server wants other credentials",
        "The server refused the request. Nothing ran.",
        "a missing or expired token in `headers`",
        "Set the variable that the header is made of, and try again.";
    "in_doubt", "nobody knows whether an effect happened",
        "A tool with side effects was started, and its answer never came. Running it again could repeat the effect.",
        "a command that was ended by its `timeout` while it sent a mail",
        "Check outside whether it happened before you run it again.";
    "journal", "the journal cannot be written",
        "A host of the library may keep a journal. The intent of a call is written before the tool starts; when that fails, \
         the tool is not started. The command `toolwright` keeps no journal yet.",
        "Invocation::journal(…) with a journal that says no",
        "Mend the journal that the host gave; the message has its reason.";
    "invalid_tool", "a tool cannot be registered",
        "Its name cannot be used.",
        "a tool with an empty name",
        "A name is 1 to 256 bytes without white space or control characters.";
    "duplicate_tool", "two tools have the same name",
        "A tool is never silently replaced by another of its name.",
        "two commands named `log`",
        "Rename one of them, or give one source another `prefix`.";
    "invalid_schema", "a schema is no JSON Schema",
        "Schemas are checked when a tool is registered. Drafts 4 to 2020-12 are known; references to other documents are never fetched.",
        "{\"type\": \"strng\"}",
        "Mend the schema at the place that the message names.";
    "literal_reference", "a text looks like a reference and is sent on as it stands",
        "In the page's dialect (`strictMode: false`) only six forms are references; any other `$…` is a literal.",
        "strictMode: false, and text: $steps.search",
        "Write one of the six forms, or use `strictMode: true`.";
    "reference_in_text", "a text mentions a reference inside other text",
        "Only a text that is one reference from beginning to end is resolved.",
        "text: \"about $input.topic\"",
        "Let a tool put the text together, or pass the value as an argument of its own.";
    "repaired_argument", "an argument was repaired",
        "`100.0` was sent as `100` where the schema wants an integer, or a `null` for an optional argument that cannot be null was left out. Nothing else is ever changed.",
        "{\"limit\": 100.0}",
        "Nothing, unless you want to send it right the first time.";
    "unused_step_output", "an output was given for a step that did not need one",
        "A dry run was given an output that no step asked for.",
        "--output serach={}",
        "Look for a typing mistake in the step's name.";
}

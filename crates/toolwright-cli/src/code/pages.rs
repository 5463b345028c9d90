//! The pages of this crate's codes; the smallest thing that produces each is run by a test, just as it stands there.

use toolwright::codes::{CodeExample, CodePage};

use super::*;

const fn file(file: &'static str, command: &'static str) -> CodeExample {
    CodeExample::File { file, command }
}

const fn told(words: &'static str) -> CodeExample {
    CodeExample::Told { words, by: "toolwright-cli" }
}

/// What `explain` prints for a code of this crate.
pub(crate) static PAGES: &[CodePage] = &[
    CodePage {
        code: UNREADABLE,
        title: "the configuration cannot be read",
        meaning: "The file is not there, may not be read, is larger than 4 MiB, or is not UTF-8 text.",
        example: file("", "check nowhere.yaml"),
        remedy: "Name a file that is there. Without `--file`, toolwright looks for `toolwright.yaml`, `toolwright.yml` and `toolwright.json` in the current folder and then in the folders above it.",
    },
    CodePage {
        code: SYNTAX,
        title: "the file is no YAML that is read here",
        meaning: "YAML 1.2 and JSON are read: one document, keys that are text, nesting up to 128, no merge keys and no tags but the standard ones.",
        example: file(
            "composites: [
",
            "check",
        ),
        remedy: "Look at the place that is shown. The most common reason is text that begins with `{`, `[`, `%`, `@`, `*`, `&` or `!`, or that contains `: ` or ` #`: quote it.",
    },
    CodePage {
        code: UNKNOWN_MEMBER,
        title: "a member has no meaning where it stands",
        meaning: "Members that are not known are errors, never ignored: a guard that is silently ignored is worse than none.",
        example: file(
            "compositse: {}
",
            "check",
        ),
        remedy: "Take the nearest known member, which the message names, or take the member out. `toolwright check --fix` corrects a misspelt one.",
    },
    CodePage {
        code: MISSING_MEMBER,
        title: "a member that has to be there is missing",
        meaning: "A command tool needs `argv`; a composite needs `steps`; a source needs one of `tools` (command lines), `command` (an MCP server over stdio) or `url` (an MCP server over HTTP).",
        example: file(
            "composites:
  c: {}
",
            "check",
        ),
        remedy: "Add the member that the message names.",
    },
    CodePage {
        code: WRONG_TYPE,
        title: "a value has another type than the member takes",
        meaning: "The message says what was expected and what is there. An unquoted `{name}` is a YAML mapping; an unquoted `yes` is text; an unquoted `1.0` is a number.",
        example: file(
            "sources:
  s:
    tools:
      look: { argv: date }
",
            "check",
        ),
        remedy: "Write a value of the type that was expected; quote what is meant as text.",
    },
    CodePage {
        code: BAD_VALUE,
        title: "a value means nothing to the member it stands in",
        meaning: "Durations are a number and a unit: `500ms`, `20s`, `2m`, `1h`. Sizes likewise: `64KiB`, `1MiB`, `10MB`, `512` (bytes). Ids are letters, digits, `_`, `-`, `.`, `/` and `:`.",
        example: file(
            "sources:
  s:
    timeout: 20 parsecs
    tools:
      look: { argv: [date] }
",
            "check",
        ),
        remedy: "Write what the message says the member takes.",
    },
    CodePage {
        code: DUPLICATE_KEY,
        title: "one key stands twice in one mapping",
        meaning: "Nothing says which of the two is meant, so neither reading would be safe. Both places are shown.",
        example: file(
            "composites: {}
composites: {}
",
            "check",
        ),
        remedy: "Keep one of them.",
    },
    CodePage {
        code: DUPLICATE_ID,
        title: "two tools have one id",
        meaning: "A tool is never replaced silently by another of the same name.",
        example: file(
            "sources:
  a: { tools: { log: { argv: [date] } } }
  b: { tools: { log: { argv: [date] } } }
",
            "check",
        ),
        remedy: "Rename one of them: in its own source, with another `prefix` for an MCP source, or with `tools: {OLD: {name: NEW}}`.",
    },
    CodePage {
        code: UNRESOLVED_VARIABLE,
        title: "an environment variable is not set",
        meaning: "`${NAME}` and `${env:NAME}` stand for an environment variable, `${NAME:-text}` for the variable or, where it is not set or empty, for the text. A variable that is not set disables what it stands in, and nothing else: no source starts with an empty token.",
        example: file(
            r#"sources:
  s:
    tools:
      look: { argv: [echo, "${NOT_SET_ANYWHERE}"] }
"#,
            "check",
        ),
        remedy: "Set the variable, or give a default.",
    },
    CodePage {
        code: BAD_VARIABLE,
        title: "a `${...}` is written wrongly",
        meaning: "The forms are `${NAME}`, `${env:NAME}`, `${NAME:-text}` and `${env:NAME:-text}`; a name is letters, digits and `_`. A lone `$`, also before a name, is text. The default is text and is not looked into again.",
        example: file(
            r#"sources:
  s:
    tools:
      look: { argv: [echo, "${MY NAME}"] }
"#,
            "check",
        ),
        remedy: "Write one of the forms. To write a literal `${`, use `${DOLLAR:-$}{`.",
    },
    CodePage {
        code: BAD_TEMPLATE,
        title: "a command-line template is written wrongly",
        meaning: "One element of `argv` is one argument of the command, whatever the value holds: there is no shell. `{name}` stands for an argument of the tool, `{name?}` leaves the element out when the argument is not given, `{names*}`, alone in its element, stands for a list. `{{` and `}}` are braces.",
        example: file(
            r#"sources:
  s:
    tools:
      look: { argv: [echo, "{text"] }
"#,
            "check",
        ),
        remedy: "Write the element as the message says.",
    },
    CodePage {
        code: UNKNOWN_TOOL,
        title: "a tool is named that is not there",
        meaning: "The sections `tools` and `policy` speak about tools by id, exactly as `toolwright list` shows them. Tools of an MCP source carry its prefix (`<source>_` unless the file says otherwise).",
        example: file(
            "tools:
  look: { effect: read }
",
            "check",
        ),
        remedy: "Take an id that `toolwright list` shows.",
    },
    CodePage {
        code: INVALID_EXAMPLE,
        title: "an example does not fit the schemas of its tool",
        meaning: "The examples of a tool or composite are shown to models, which learn from them how to call it. This one breaks the tool's own input or output schema. The tool can be used all the same.",
        example: file(
            r#"sources:
  s:
    tools:
      look:
        argv: [echo, "{text}"]
        effect: read
        examples:
          - input: { text: 7 }
"#,
            "check",
        ),
        remedy: "Mend the example or the schema.",
    },
    CodePage {
        code: NOT_CHANGED,
        title: "`check --fix` could not change a file",
        meaning: "The file cannot be written, or somebody else changed it between reading and writing. Nothing of it was changed.",
        example: told("a source that changes the file while `toolwright check --fix` asks it for its tools"),
        remedy: "Check the file again. When it cannot be written here, make the changes that the findings suggest by hand.",
    },
    CodePage {
        code: SOURCE_UNAVAILABLE,
        title: "a source cannot be started or asked",
        meaning: "An MCP server did not start, did not answer in time, or could not be reached. Its tools cannot be called, and composites that use them cannot run; everything else works.",
        example: file(
            "sources:
  s: { command: no-such-server }
",
            "check",
        ),
        remedy: "The message has the reason and the last lines the server wrote to its error output. `--offline` checks the file without asking anybody.",
    },
    CodePage {
        code: TOOL_SKIPPED,
        title: "a tool of a source cannot be offered",
        meaning: "The server describes a tool in a way that cannot be used: a schema that is none, a name twice. The other tools of that server are there.",
        example: file(
            r#"sources:
  s:
    command: sh
    args:
      - -c
      - |
        while read -r line; do
          id=$(echo "$line" | sed 's/.*"id":\([0-9]*\).*/\1/')
          answer() { printf '{"jsonrpc":"2.0","id":%s,"result":%s}\n' "$id" "$1"; }
          case $line in
            *'"server/discover"'*) echo '{"jsonrpc":"2.0","id":0,"error":{"code":-32601,"message":"what?"}}' ;;
            *'"initialize"'*) answer '{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},"serverInfo":{"name":"s","version":"1"}}' ;;
            *'"tools/list"'*) answer '{"tools":[{"name":"go","inputSchema":{"type":"strng"}}]}' ;;
            *'"tools/call"'*) exit ;;
          esac
        done
"#,
            "check",
        ),
        remedy: "Report it to the server's owner; the message shows what is wrong.",
    },
    CodePage {
        code: NOT_TRUSTED,
        title: "a project's list of side-effecting tools is not accepted yet",
        meaning: "A project file can narrow what is allowed, never grant. The tools with side effects that composites may chain (`policy.sideEffectingTools`) count from your own configuration, from `--allow TOOL`, or from the project file once you accepted it. A change of that section, or of what the file says about the tools in it, asks again; a change of layout or comments does not.",
        example: file(
            "sources:
  s: { tools: { keep: { argv: [touch, kept.txt], effect: write } } }
policy:
  sideEffectingTools: [keep]
",
            "check",
        ),
        remedy: "Read what the file wants, then accept it with `toolwright trust FILE`.",
    },
    CodePage {
        code: LEARNED_UNUSABLE,
        title: "what was learned of tools cannot be used",
        meaning: "`toolwright.learned.json` beside the configuration holds what `toolwright learn` saw of outputs. It is no JSON, was written by a newer toolwright, or an entry in it is not what `learn` writes. A pinned entry is a promise, so a file that cannot be read stops what it may speak about and is never ignored.",
        example: told("a `toolwright.learned.json` that was cut in the middle"),
        remedy: "`toolwright learn TOOL --forget` takes a broken entry out.",
    },
    CodePage {
        code: LEARNED_UNUSED,
        title: "what was learned of a tool is of no use",
        meaning: "No tool has that id any more, or it says itself now what it gives, which is what counts.",
        example: told("`toolwright learn look`, after which the file says what `look` gives"),
        remedy: "`toolwright learn TOOL --forget` takes the entry out.",
    },
    CodePage {
        code: LEARN_REFUSED,
        title: "a tool is not learned from",
        meaning: "What a tool gives is learned only where nothing says it: a tool with an output schema has said it, and what a composite gives follows from its steps. To see outputs, only a tool that declares that it changes nothing (`effect: read`) is run.",
        example: file(
            "sources:
  s:
    tools:
      look: { argv: [date] }
",
            "learn look",
        ),
        remedy: "For a tool that is not run, give outputs that you have: `toolwright learn TOOL --from FILE`.",
    },
    CodePage {
        code: LOCK_UNUSABLE,
        title: "`toolwright.lock` cannot be used",
        meaning: "It holds what MCP servers said about their tools when `toolwright lock` asked them. It is no JSON, was written by a newer toolwright, or was changed by something else, so that a tool in it does not fit its hash.",
        example: told("a `toolwright.lock` that was changed by hand"),
        remedy: "Take it out and run `toolwright lock` again; after a conflict in version control, do that too.",
    },
    CodePage {
        code: LOCK_NOT_ACCEPTED,
        title: "nobody agreed to what is new in `toolwright.lock`",
        meaning: "`toolwright lock` shows what servers say now and differently from before, and asks. Where nobody can be asked, as in CI, nothing is written.",
        example: file(
            r#"sources:
  s:
    command: sh
    args:
      - -c
      - |
        while read -r line; do
          id=$(echo "$line" | sed 's/.*"id":\([0-9]*\).*/\1/')
          answer() { printf '{"jsonrpc":"2.0","id":%s,"result":%s}\n' "$id" "$1"; }
          case $line in
            *'"server/discover"'*) echo '{"jsonrpc":"2.0","id":0,"error":{"code":-32601,"message":"what?"}}' ;;
            *'"initialize"'*) answer '{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},"serverInfo":{"name":"s","version":"1"}}' ;;
            *'"tools/list"'*) answer '{"tools":[{"name":"go","inputSchema":{"type":"object"}}]}' ;;
            *'"tools/call"'*) exit ;;
          esac
        done
"#,
            "lock",
        ),
        remedy: "Look at what it shows, and run `toolwright lock --yes`.",
    },
    CodePage {
        code: APPROVAL_ANSWERED,
        title: "a question has an answer already",
        meaning: "Whether a call may be made is answered once: on the terminal, by the client that called, or with `toolwright approve`. Whoever comes later is told who said what. Nothing was written.",
        example: told("`toolwright approve ID --yes`, and then the same once more"),
        remedy: "`toolwright show RUN` shows what came of it. Where the answer was no, `toolwright resume RUN` asks again.",
    },
    CodePage {
        code: CHANGE_NOT_ACCEPTED,
        title: "a change of a file was not agreed to",
        meaning: "`add` and `connect` show what they would write, and write it once somebody agrees. Nobody could be asked; nothing was written.",
        example: file(
            "sources: {}
",
            "add --no-start http://127.0.0.1:9/mcp",
        ),
        remedy: "Look at the change that is shown, then run it again with `--yes`.",
    },
    CodePage {
        code: JOURNAL_UNUSABLE,
        title: "the journal that runs are kept in cannot be used",
        meaning: "`run` writes down what a tool is about to do before it does it, so that a run that stops half-way can go on without repeating an effect. Where that cannot be written, no tool is started: the file is not yours, is no journal, was written by a newer toolwright, or its disk is full or takes no writes.",
        example: file(
            "sources:
  s: { tools: { look: { argv: [date], effect: read } } }
",
            "run look --journal toolwright.yaml",
        ),
        remedy: "Do what the message says about the file, name another with `--journal PATH` (or the variable `TOOLWRIGHT_JOURNAL`), or keep nothing with `--journal none`. `toolwright journal path` says which file it is.",
    },
    CodePage {
        code: JOURNAL_DAMAGED,
        title: "the journal is not as it was written",
        meaning: "Each record of a run holds a hash over those before it, and each value is kept under its own hash. `toolwright journal verify` makes them all again: a record that was edited, or is missing, or a page of the file that is damaged, is found.",
        example: told("toolwright journal verify, after a byte of the file was changed"),
        remedy: "Nothing of such a run is done again by itself. Look at what can be read (`toolwright journal export`), and put back a copy of the file, or go on with what is left: `toolwright journal recover`. Where a disk is failing, there is more to come.",
    },
    CodePage {
        code: USAGE,
        title: "the command line cannot be used",
        meaning: "An argument is missing, unknown, or does not fit the tool's input schema.",
        example: file(
            "sources:
  s: { tools: { look: { argv: [date] } } }
",
            "run look --input ducks",
        ),
        remedy: "`toolwright describe TOOL` shows what a tool takes; `toolwright help COMMAND` shows what a command takes.",
    },
    CodePage {
        code: OUTPUT_LOST,
        title: "the output could not be written",
        meaning: "Standard output goes somewhere that takes no more, such as a full disk. What was asked for was done, so a tool that ran has had its effect. A reader that goes away, as `head` does, is no error.",
        example: told("toolwright explain > /dev/full"),
        remedy: "Look whether the tool ran before you run it again, and write the output somewhere else.",
    },
];

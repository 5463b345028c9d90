//! Every member that `toolwright.yaml` knows, once: the reader refuses what is not here, and the
//! JSON Schema for editors is made of it.

mod serve;

pub(crate) use serve::{AUDIENCE, OAUTH, SERVE, SERVE_APPROVALS, SERVE_LIMITS};

/// A member of a mapping in the file.
#[derive(Debug)]
pub(crate) struct Member {
    /// Its name.
    pub(crate) name: &'static str,
    /// What it means, for an editor.
    pub(crate) doc: &'static str,
    /// The JSON Schema of its value, as JSON; `{"$ref": "#/$defs/..."}` names another mapping.
    pub(crate) schema: &'static str,
}

/// A kind of mapping in the file.
#[derive(Debug)]
pub(crate) struct Shape {
    /// What messages call it: `a command tool`.
    pub(crate) what: &'static str,
    /// Its name in the JSON Schema.
    pub(crate) def: &'static str,
    /// What it is for, for an editor.
    pub(crate) doc: &'static str,
    /// Its members.
    pub(crate) members: &'static [Member],
    /// Members that have to be there.
    pub(crate) required: &'static [&'static str],
}

impl Shape {
    /// The names of the members.
    pub(crate) fn names(&self) -> impl Iterator<Item = &'static str> + '_ {
        self.members.iter().map(|member| member.name)
    }
}

const fn member(name: &'static str, schema: &'static str, doc: &'static str) -> Member {
    Member { name, doc, schema }
}

const TEXT: &str = r#"{"type": "string"}"#;
const ARGUMENTS: &str = r#"{"type": "array", "items": {"type": ["string", "number", "boolean"]}}"#;
const FLAG: &str = r#"{"type": "boolean"}"#;
const DURATION: &str = r#"{"type": "string", "pattern": "^[0-9.]+ ?(ms|s|m|min|h)$", "examples": ["500ms", "20s", "2m"]}"#;
const SIZE: &str = r#"{"type": ["string", "integer"], "examples": ["64KiB", "1MiB"]}"#;
const VARIABLES: &str = r#"{"type": "object", "additionalProperties": {"type": ["string", "number", "boolean"]}}"#;
const SCHEMA: &str = r#"{"type": ["object", "boolean"]}"#;
/// Of an input: arguments are always an object, and their schema says which.
const INPUT_SCHEMA: &str = r#"{"type": "object"}"#;
const EFFECT_SCHEMA: &str = r##"{"anyOf": [{"enum": ["read", "write", "idempotent"], "enumDescriptions": ["changes nothing", "changes something, and again when it is called twice", "changes something, and nothing more when it is called twice"]}, {"$ref": "#/$defs/effect"}]}"##;
const EXAMPLES: &str = r##"{"type": "array", "items": {"$ref": "#/$defs/example"}}"##;
const ANYTHING: &str = "true";

/// The whole file.
pub(crate) const FILE: Shape = Shape {
    what: "the configuration",
    def: "file",
    required: &[],
    doc: "sources of tools, what you say about them, composites made of them, and what composites may do",
    members: &[
        member(
            "sources",
            r##"{"type": "object", "additionalProperties": {"anyOf": [{"$ref": "#/$defs/commandSource"}, {"$ref": "#/$defs/stdioSource"}, {"$ref": "#/$defs/httpSource"}]}}"##,
            "where tools come from: command lines and MCP servers, by name",
        ),
        member(
            "mcpServers",
            r##"{"type": "object", "additionalProperties": {"$ref": "#/$defs/clientServer"}}"##,
            "MCP servers as other clients write them; they are sources",
        ),
        member(
            "tools",
            r##"{"type": "object", "additionalProperties": {"$ref": "#/$defs/tool"}}"##,
            "what you say about tools of the sources, by id: effect, new name, fixed arguments",
        ),
        member(
            "composites",
            r##"{"type": "object", "additionalProperties": {"$ref": "#/$defs/composite"}}"##,
            "tools whose body is a list of steps, by id",
        ),
        member("policy", r##"{"$ref": "#/$defs/policy"}"##, "what composites may do; counts once accepted with `toolwright trust`"),
        member("serve", r##"{"$ref": "#/$defs/serve"}"##, "what `toolwright serve` offers to clients, and to whom"),
        member("$schema", TEXT, "where an editor finds the JSON Schema of this file"),
    ],
};

/// A source of command lines.
pub(crate) const COMMAND_SOURCE: Shape = Shape {
    what: "a command source",
    def: "commandSource",
    required: &["tools"],
    doc: "a group of command lines; what it says about folder, environment and time holds for all of them",
    members: &[
        member("tools", r##"{"type": "object", "additionalProperties": {"$ref": "#/$defs/commandTool"}}"##, "the tools, by id"),
        member("cwd", TEXT, "the folder the commands run in, relative to this file"),
        member("env", VARIABLES, "environment variables for the commands; never shown"),
        member("cleanEnv", FLAG, "give the commands no variables but those in `env`"),
        member("timeout", DURATION, "how long a command may run; default `1m`"),
        member("maxOutput", SIZE, "how much a command may print; default `16MiB`"),
    ],
};

/// A tool that is a command line.
pub(crate) const COMMAND_TOOL: Shape = Shape {
    what: "a command tool",
    def: "commandTool",
    required: &["argv"],
    doc: "a program as a tool: one element of `argv` for each of its arguments, and no shell",
    members: &[
        member("description", TEXT, "what the tool is for; absent = its command line"),
        member("title", TEXT, "a name for people"),
        member(
            "argv",
            r#"{"type": "array", "minItems": 1, "items": {"type": ["string", "number", "boolean"]}}"#,
            "the command, one element per argument: {name} stands for an argument of the tool",
        ),
        member("stdin", TEXT, "what the command reads, with {name} as in argv"),
        member("effect", EFFECT_SCHEMA, "what calling it does to the world; absent = not declared"),
        member("input", INPUT_SCHEMA, "JSON Schema of the arguments; absent = from the placeholders"),
        member("output", SCHEMA, "JSON Schema of the output"),
        member(
            "stdout",
            r#"{"enum": ["text", "json", "lines"], "enumDescriptions": ["one text, without the line break at its end", "one JSON value", "a list of texts, one a line"]}"#,
            "how the command's output is read; default `text`",
        ),
        member(
            "exitCodes",
            r#"{"type": "array", "minItems": 1, "items": {"type": "integer"}}"#,
            "which exit codes count as success; default `[0]`",
        ),
        member("cwd", TEXT, "the folder the command runs in, relative to this file"),
        member("env", VARIABLES, "environment variables for the command; never shown"),
        member("cleanEnv", FLAG, "give the command no variables but those in `env`"),
        member("timeout", DURATION, "how long the command may run; default that of the source, or `1m`"),
        member("maxOutput", SIZE, "how much the command may print; default that of the source, or `16MiB`"),
        member("endOfOptions", FLAG, "put `--` before the arguments that come from outside"),
        member("idempotencyKey", r##"{"$ref": "#/$defs/idempotencyKey"}"##, "where the command finds the key of the call"),
        member("examples", EXAMPLES, "examples of input and output"),
    ],
};

/// Where a command finds the idempotency key of its call.
pub(crate) const IDEMPOTENCY_KEY: Shape = Shape {
    what: "the place of an idempotency key",
    def: "idempotencyKey",
    required: &[],
    doc: "where the command finds the key of the call, which is the same on every attempt at it: `env` or `argument`",
    members: &[
        member("env", TEXT, "the environment variable that has it"),
        member("argument", TEXT, "the placeholder of `argv` or `stdin` that stands for it; no caller gives it"),
    ],
};

/// An MCP server over stdio.
pub(crate) const STDIO_SOURCE: Shape = Shape {
    what: "an MCP source over stdio",
    def: "stdioSource",
    required: &["command"],
    doc: "a program that is started and speaks MCP over its standard input and output",
    members: &[
        member("command", TEXT, "the program to start"),
        member("args", ARGUMENTS, "its arguments"),
        member("env", VARIABLES, "environment variables for it; never shown"),
        member("cleanEnv", FLAG, "give it no variables but those in `env`"),
        member("cwd", TEXT, "the folder it runs in, relative to this file"),
        member("trust", TRUST, "whether its hints count as effects: never, as accepted with `toolwright lock`, or always"),
        member("prefix", TEXT, "what is put before its tools' names; default `<source>_`"),
        member("startTimeout", DURATION, "how long it may take to start; default `20s`"),
        member("idleTimeout", DURATION, "how long a call may stay without any sign of life; default `1m`"),
        member("callTimeout", DURATION, "how long a call may take; default `5m`"),
    ],
};

const TRUST: &str = r#"{"enum": ["none", "lock", "hints"], "enumDescriptions": ["what it says of its tools' effects is not believed", "its hints are effects as they were when you accepted them with `toolwright lock`", "its hints, such as `readOnlyHint`, are effects"]}"#;

/// An MCP server over streamable HTTP.
pub(crate) const HTTP_SOURCE: Shape = Shape {
    what: "an MCP source over HTTP",
    def: "httpSource",
    required: &["url"],
    doc: "an MCP server at an address, over streamable HTTP",
    members: &[
        member("url", TEXT, "the server's address"),
        member("headers", VARIABLES, "headers for every request; never shown"),
        member("trust", TRUST, "whether its hints count as effects: never, as accepted with `toolwright lock`, or always"),
        member("prefix", TEXT, "what is put before its tools' names; default `<source>_`"),
        member("startTimeout", DURATION, "how long it may take to answer first; default `20s`"),
        member("idleTimeout", DURATION, "how long a call may stay without any sign of life; default `1m`"),
        member("callTimeout", DURATION, "how long a call may take; default `5m`"),
    ],
};

/// An MCP server as clients write it.
pub(crate) const CLIENT_SERVER: Shape = Shape {
    what: "an entry of `mcpServers`",
    def: "clientServer",
    required: &[],
    doc: "an MCP server as the file of another client has it",
    members: &[
        member(
            "type",
            r#"{"enum": ["stdio", "http", "streamable-http", "streamableHttp"], "enumDescriptions": ["a program that is started", "an address", "an address", "an address"]}"#,
            "the transport; absent = by `command` or `url`",
        ),
        member("command", TEXT, "the program to start"),
        member("args", ARGUMENTS, "its arguments"),
        member("env", VARIABLES, "environment variables for it; never shown"),
        member("cwd", TEXT, "the folder it runs in, relative to this file"),
        member("url", TEXT, "the server's address"),
        member("headers", VARIABLES, "headers for every request; never shown"),
        member("disabled", FLAG, "leave it out"),
    ],
};

/// What the host says about a tool.
pub(crate) const TOOL: Shape = Shape {
    what: "an entry of `tools`",
    def: "tool",
    required: &[],
    doc: "what you say about a tool of a source; it counts more than what the source says",
    members: &[
        member("effect", EFFECT_SCHEMA, "what calling it does to the world"),
        member("name", TEXT, "its new id"),
        member("title", TEXT, "a name for people"),
        member("description", TEXT, "what it is for"),
        member("pin", r#"{"type": "object"}"#, "arguments that are fixed and no longer asked for"),
        member("hidden", FLAG, "do not list it; composites may still use it"),
        member("reconcile", r##"{"$ref": "#/$defs/reconcile"}"##, "how to find out what became of a call whose outcome is not known"),
    ],
};

/// How to find out what became of a call.
pub(crate) const RECONCILE: Shape = Shape {
    what: "a way to find out",
    def: "reconcile",
    required: &["tool"],
    doc: "a tool that is asked what became of a call whose outcome is not known, and how its answer is read",
    members: &[
        member("tool", TEXT, "the id of the tool that is asked; it changes nothing"),
        member(
            "inputMapping",
            ANYTHING,
            "its arguments: values, or references such as $input.to, an argument of the call, and $key, the call's idempotency key",
        ),
        member("answer", TEXT, "a reference to what says it, such as $prev.status; absent = the whole answer, $prev"),
        member("happened", r#"{"type": "array"}"#, "values of `answer` that say that the call did its work"),
        member(
            "notHappened",
            r#"{"type": "array"}"#,
            "values of `answer` that say that it did nothing, so that it may run; all others say nothing",
        ),
        member("output", ANYTHING, "what the run goes on with when it happened: a value, or references such as $prev.id; absent = nothing"),
    ],
};

/// A composite.
pub(crate) const COMPOSITE: Shape = Shape {
    what: "a composite",
    def: "composite",
    required: &["steps"],
    doc: "a tool whose body is a list of steps; each gets values from the input and from the steps before it",
    members: &[
        member("mode", r#"{"const": "compose"}"#, "the only mode there is"),
        member("description", TEXT, "what the composite is for; absent = the tools of its steps"),
        member("title", TEXT, "a name for people"),
        member("input", INPUT_SCHEMA, "JSON Schema of the input"),
        member("strictMode", FLAG, "the dialect of references: true (default) is the strict one"),
        member("steps", r##"{"type": "array", "minItems": 1, "items": {"$ref": "#/$defs/step"}}"##, "the steps, in the order they run"),
        member("output", ANYTHING, "a mapping that makes the output after the last step"),
        member("examples", EXAMPLES, "examples of input and output"),
    ],
};

/// A step of a composite.
pub(crate) const STEP: Shape = Shape {
    what: "a step",
    def: "step",
    required: &["name", "tool"],
    doc: "one call of a tool",
    members: &[
        member("name", TEXT, "the step's name, unique in the composite"),
        member("tool", TEXT, "the id of the tool it calls"),
        member("inputMapping", ANYTHING, "the tool's arguments: values, or references such as $input.topic and $prev"),
    ],
};

/// The `policy` section.
pub(crate) const POLICY: Shape = Shape {
    what: "the policy",
    def: "policy",
    required: &[],
    doc: "what composites may do; a project asks for it, and you accept it with `toolwright trust`",
    members: &[
        member(
            "sideEffectingTools",
            r##"{"type": "array", "items": {"anyOf": [{"type": "string"}, {"$ref": "#/$defs/listedTool"}]}}"##,
            "tools with side effects that composites may use, and which of them ask before they run",
        ),
        member(
            "validateEveryStep",
            FLAG,
            "validate every step, also where what it gets is proved to fit; counts without `toolwright trust`",
        ),
    ],
};

/// A tool in the policy's list, with when it asks.
pub(crate) const LISTED_TOOL: Shape = Shape {
    what: "a listed tool",
    def: "listedTool",
    required: &["tool"],
    doc: "a tool with side effects that composites may use, and that asks before it runs",
    members: &[
        member("tool", TEXT, "the tool's id"),
        member(
            "approve",
            r#"{"enum": ["always", "once-per-plan", "never"], "enumDescriptions": ["somebody says yes before every call", "one yes is for a call and for those after it in the same composite whose arguments are known by then", "nobody is asked"]}"#,
            "when somebody must say yes before it runs, also when it is called by its name; absent = never",
        ),
    ],
};

/// An example of a tool.
pub(crate) const EXAMPLE: Shape = Shape {
    what: "an example",
    def: "example",
    required: &["input"],
    doc: "an input, and what the tool gives for it; shown to models and people",
    members: &[member("input", ANYTHING, "the input"), member("output", ANYTHING, "the output it gives")],
};

/// An effect of the host's own class.
pub(crate) const EFFECT: Shape = Shape {
    what: "an effect",
    def: "effect",
    required: &["class", "impact"],
    doc: "an effect with a word of your own for its class",
    members: &[
        member(
            "class",
            r#"{"type": "string", "pattern": "^[A-Za-z0-9_-]{1,32}$"}"#,
            "the host's own word for it; what counts is the impact",
        ),
        member(
            "impact",
            r#"{"enum": ["none", "idempotent", "once"], "enumDescriptions": ["nothing at all", "the same as calling it once", "it happens again"]}"#,
            "what calling it twice does: nothing at all, the same as once, or it again",
        ),
    ],
};

/// Every shape.
pub(crate) const SHAPES: [&Shape; 20] = [
    &FILE,
    &COMMAND_SOURCE,
    &COMMAND_TOOL,
    &IDEMPOTENCY_KEY,
    &STDIO_SOURCE,
    &HTTP_SOURCE,
    &CLIENT_SERVER,
    &TOOL,
    &RECONCILE,
    &COMPOSITE,
    &STEP,
    &POLICY,
    &LISTED_TOOL,
    &SERVE,
    &AUDIENCE,
    &OAUTH,
    &SERVE_APPROVALS,
    &SERVE_LIMITS,
    &EXAMPLE,
    &EFFECT,
];

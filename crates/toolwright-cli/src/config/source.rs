//! The `sources` section: command lines, and MCP servers over stdio and HTTP.

use std::path::{Path, PathBuf};
use std::time::Duration;

use toolwright::{Effect, Impact, Value};
use toolwright_sources::command::{ArgTemplate, KeyTo};

use super::described;
use super::expand::Expanded;
use super::members::{COMMAND_SOURCE, COMMAND_TOOL, EFFECT, EXAMPLE, HTTP_SOURCE, IDEMPOTENCY_KEY, STDIO_SOURCE};
use super::reader::{Place, Reader};
use super::yaml::{Entry, Node, write};
use crate::code;
use crate::diagnostic::Owner;
use crate::secret::{Secret, Secrets};

/// A source as the file describes it.
#[derive(Debug)]
pub(crate) struct Source {
    /// Its name in the file.
    pub(crate) name: String,
    /// Where its name stands.
    pub(crate) place: Place,
    /// What it is.
    pub(crate) kind: SourceKind,
    /// Ids of the command lines that the file describes in it, whether they can be used or not.
    pub(crate) described: Vec<String>,
    /// What must not be shown of it.
    pub(crate) secrets: Secrets,
}

/// What a source is.
#[derive(Debug)]
pub(crate) enum SourceKind {
    /// Command lines.
    Commands(Vec<CommandEntry>),
    /// An MCP server.
    Server(ServerEntry),
    /// Something that cannot be used as it stands, or is switched off.
    Off {
        /// Command lines that could be read all the same, so that what is wrong with them is told too.
        commands: Vec<CommandEntry>,
        /// Ids that it would offer, as far as the file says.
        tools: Vec<String>,
        /// What its tools' ids would begin with.
        prefix: Option<String>,
        /// It is switched off in the file; nothing is wrong.
        disabled: bool,
    },
}

/// A tool that is a command line.
#[derive(Debug)]
pub(crate) struct CommandEntry {
    pub(crate) id: String,
    pub(crate) place: Place,
    pub(crate) title: Option<String>,
    /// What the file says, or what its command line says.
    pub(crate) description: String,
    /// The whole mapping, for places.
    pub(crate) node: Node,
    pub(crate) argv: Vec<ElementEntry>,
    pub(crate) stdin: Option<ElementEntry>,
    pub(crate) effect: Option<Effect>,
    pub(crate) input: Option<Value>,
    pub(crate) output: Option<Value>,
    pub(crate) stdout: StdoutForm,
    pub(crate) exit_codes: Option<Vec<i32>>,
    pub(crate) end_of_options: bool,
    pub(crate) idempotency_key: Option<KeyTo>,
    pub(crate) examples: Vec<ExampleEntry>,
    pub(crate) process: ProcessEntry,
}

/// An element of a command line, or its standard input.
#[derive(Debug)]
pub(crate) struct ElementEntry {
    /// What is used.
    pub(crate) template: ArgTemplate,
    /// The text after variables were replaced, with the way back.
    pub(crate) expanded: Expanded,
    /// What is written.
    pub(crate) node: Node,
}

/// How a command's output is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum StdoutForm {
    Text,
    Json,
    Lines,
}

/// How a command is run; a source has it as a default for its tools.
#[derive(Clone, Debug, Default)]
pub(crate) struct ProcessEntry {
    pub(crate) cwd: Option<PathBuf>,
    pub(crate) env: Vec<(String, Secret)>,
    pub(crate) clean_env: bool,
    pub(crate) timeout: Option<Duration>,
    pub(crate) max_output: Option<u64>,
}

/// An example of a tool.
#[derive(Debug)]
pub(crate) struct ExampleEntry {
    pub(crate) input: Value,
    pub(crate) output: Option<Value>,
}

/// An MCP server.
#[derive(Debug)]
pub(crate) struct ServerEntry {
    pub(crate) transport: TransportEntry,
    pub(crate) prefix: String,
    pub(crate) trust: Trust,
    pub(crate) clean_env: bool,
    pub(crate) start_timeout: Option<Duration>,
    pub(crate) idle_timeout: Option<Duration>,
    pub(crate) call_timeout: Option<Duration>,
}

/// What of a server's own words about effects counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Trust {
    /// Nothing: hints are shown.
    None,
    /// What was accepted with the lock file.
    Lock,
    /// Its hints, whatever they are today.
    Hints,
}

/// How an MCP server is reached.
#[derive(Debug)]
pub(crate) enum TransportEntry {
    Stdio { command: String, args: Vec<String>, cwd: Option<PathBuf>, env: Vec<(String, Secret)> },
    Http { url: String, headers: Vec<(String, Secret)> },
}

/// Reads one entry of `sources`.
pub(crate) fn read(reader: &mut Reader<'_>, entry: &Entry, base: &Path) -> Source {
    reader.owner = Owner::Source(entry.key.clone());
    let known = std::mem::take(&mut reader.secrets);
    let kind = kind(reader, entry, base).unwrap_or_else(|| off(entry, false));
    let secrets = std::mem::replace(&mut reader.secrets, known);
    reader.secrets.extend(&secrets);
    reader.owner = Owner::File;
    Source { name: entry.key.clone(), place: reader.place(&entry.key_span), described: described(entry), kind, secrets }
}

fn described(entry: &Entry) -> Vec<String> {
    let tools = entry.value.get("tools").and_then(Node::entries);
    let ids = tools.unwrap_or_default().iter().map(|tool| tool.key.clone());
    ids.collect()
}

/// What remains of a source that cannot be used: the names it would have had.
pub(crate) fn off(entry: &Entry, disabled: bool) -> SourceKind {
    let tools = entry.value.get("tools").and_then(Node::entries);
    let ids = tools.map(|tools| tools.iter().map(|tool| tool.key.clone()).collect());
    let prefix = entry.value.get("prefix").and_then(Node::text);
    SourceKind::Off {
        prefix: match ids {
            Some(_) => None,
            None => Some(prefix.map_or_else(|| default_prefix(&entry.key), str::to_owned)),
        },
        commands: Vec::new(),
        tools: ids.unwrap_or_default(),
        disabled,
    }
}

fn kind(reader: &mut Reader<'_>, entry: &Entry, base: &Path) -> Option<SourceKind> {
    let node = &entry.value;
    let kinds: Vec<&str> = ["tools", "command", "url"].into_iter().filter(|name| node.get(name).is_some()).collect();
    match kinds.as_slice() {
        ["tools"] => commands(reader, entry, base),
        ["command"] => stdio(reader, entry, base).map(SourceKind::Server),
        ["url"] => http(reader, entry).map(SourceKind::Server),
        [] => {
            no_kind(reader, entry);
            None
        }
        several => {
            let message = format!("`{}` has both `{}`", entry.key, several.join("` and `"));
            let help = "a source is command lines (`tools`), a server over stdio (`command`) or one over \
                        HTTP (`url`)";
            reader.error(code::BAD_VALUE, message, &entry.key_span, "", Some(help.to_owned()));
            None
        }
    }
}

fn no_kind(reader: &mut Reader<'_>, entry: &Entry) {
    let names = ["tools", "command", "url"];
    let Some(entries) = entry.value.entries() else {
        reader.wrong_type(&entry.value, "a source is a mapping");
        return;
    };
    let near = entries.iter().find_map(|member| {
        let name = crate::diagnostic::nearest(&member.key, names)?;
        Some((member, name))
    });
    let (span, help) = match near {
        Some((member, name)) => (&member.key_span, format!("did you mean `{name}`?")),
        None => {
            (&entry.key_span, "give it `tools` (command lines), `command` (an MCP server over stdio) or `url` (one over HTTP)".to_owned())
        }
    };
    let message = format!("nothing says what kind of source `{}` is", entry.key);
    reader.error(code::MISSING_MEMBER, message, span, "", Some(help));
    if let Some((member, _)) = near {
        let meant = crate::diagnostic::unmistakable_keyword(&member.key, names);
        let to = meant.and_then(|name| write::key(reader.source.text(), &member.key_span, &member.key, name));
        reader.mended_by(&member.key_span, to);
    }
}

fn commands(reader: &mut Reader<'_>, entry: &Entry, base: &Path) -> Option<SourceKind> {
    let node = &entry.value;
    let entries = reader.members(node, &COMMAND_SOURCE)?;
    let before = reader.findings.len();
    let mut defaults = ProcessEntry::default();
    for member in entries {
        process(reader, member, base, &mut defaults);
    }
    let usable = reader.findings.len() == before;
    let tools = node.entry("tools")?;
    let source_owner = reader.owner.clone();
    let Some(tools) = tools.value.entries() else {
        reader.wrong_type(&tools.value, "`tools` is a mapping from ids to tools");
        return None;
    };
    let mut read = Vec::with_capacity(tools.len());
    for tool in tools {
        reader.owner = Owner::Tool(tool.key.clone());
        read.extend(command(reader, tool, base, &defaults));
    }
    reader.owner = source_owner;
    if usable {
        return Some(SourceKind::Commands(read));
    }
    // A command that would run in another folder or without its variables must not run at all.
    let mut off = off(entry, false);
    if let SourceKind::Off { commands, .. } = &mut off {
        *commands = read;
    }
    Some(off)
}

/// Takes the members that say how a process runs; others are left alone.
fn process(reader: &mut Reader<'_>, entry: &Entry, base: &Path, into: &mut ProcessEntry) {
    match entry.key.as_str() {
        "cwd" => {
            if let Some(cwd) = folder(reader, entry, base) {
                into.cwd = Some(cwd);
            }
        }
        "env" => {
            for (name, value) in reader.secret_map(entry).unwrap_or_default() {
                into.env.retain(|(other, _)| *other != name);
                into.env.push((name, value));
            }
        }
        "cleanEnv" => into.clean_env = reader.flag(entry).unwrap_or(into.clean_env),
        "timeout" => into.timeout = reader.duration(entry).or(into.timeout),
        "maxOutput" => into.max_output = reader.size(entry).or(into.max_output),
        _ => {}
    }
}

fn folder(reader: &mut Reader<'_>, entry: &Entry, base: &Path) -> Option<PathBuf> {
    let expanded = reader.expanded(&entry.value, "`cwd`")?;
    Some(base.join(expanded.text))
}

fn command(reader: &mut Reader<'_>, entry: &Entry, base: &Path, defaults: &ProcessEntry) -> Option<CommandEntry> {
    let before = reader.findings.len();
    let id = reader.id(&entry.key, &entry.key_span);
    let members = reader.members(&entry.value, &COMMAND_TOOL)?;
    let mut tool = CommandEntry {
        id: id.unwrap_or_default(),
        place: reader.place(&entry.key_span),
        title: None,
        description: String::new(),
        node: entry.value.clone(),
        argv: Vec::new(),
        stdin: None,
        effect: None,
        input: None,
        output: None,
        stdout: StdoutForm::Text,
        exit_codes: None,
        end_of_options: false,
        idempotency_key: None,
        examples: Vec::new(),
        process: defaults.clone(),
    };
    for member in members {
        process(reader, member, base, &mut tool.process);
    }
    for member in members {
        command_member(reader, member, base, &mut tool);
    }
    if tool.description.trim().is_empty() {
        tool.description = described::command(&tool.argv);
    }
    (reader.findings.len() == before).then_some(tool)
}

fn command_member(reader: &mut Reader<'_>, member: &Entry, base: &Path, tool: &mut CommandEntry) {
    match member.key.as_str() {
        "title" => tool.title = reader.text(member),
        "description" => tool.description = reader.text(member).unwrap_or_default(),
        "argv" => {
            let base = tool.process.cwd.as_deref().unwrap_or(base);
            tool.argv = argv(reader, member, base);
        }
        "stdin" => tool.stdin = template(reader, &member.value, "`stdin`", |text| text),
        "effect" => tool.effect = effect(reader, member),
        "input" => tool.input = reader.schema(member),
        "output" => tool.output = reader.schema(member),
        "stdout" => {
            let words = [("text", StdoutForm::Text), ("json", StdoutForm::Json), ("lines", StdoutForm::Lines)];
            tool.stdout = reader.word(member, &words).unwrap_or(StdoutForm::Text);
        }
        "exitCodes" => {
            let items = reader.list(member).unwrap_or_default();
            let codes: Vec<i32> = items.iter().filter_map(|item| reader.integer(item, "an exit code")).collect();
            tool.exit_codes = Some(codes);
        }
        "endOfOptions" => tool.end_of_options = reader.flag(member).unwrap_or(false),
        "idempotencyKey" => tool.idempotency_key = idempotency_key(reader, member),
        "examples" => tool.examples = examples(reader, member),
        _ => {}
    }
}

/// `{env: NAME}` or `{argument: NAME}`.
fn idempotency_key(reader: &mut Reader<'_>, entry: &Entry) -> Option<KeyTo> {
    let members = reader.members(&entry.value, &IDEMPOTENCY_KEY)?;
    let known: Vec<&Entry> = members.iter().filter(|member| matches!(member.key.as_str(), "env" | "argument")).collect();
    match known.as_slice() {
        [member] => {
            let name = reader.text(member)?;
            Some(if member.key == "env" { KeyTo::Variable(name) } else { KeyTo::Argument(name) })
        }
        // A misspelt one was told.
        [] if !members.is_empty() => None,
        found => {
            let message = match found {
                [] => "nothing says where the idempotency key goes",
                _ => "the idempotency key goes to two places",
            };
            let help = "write `{env: NAME}` for an environment variable, or `{argument: NAME}` for a placeholder of `argv`";
            reader.error(code::BAD_VALUE, message, &entry.value.span, "", Some(help.to_owned()));
            None
        }
    }
}

fn argv(reader: &mut Reader<'_>, entry: &Entry, base: &Path) -> Vec<ElementEntry> {
    let Some(items) = reader.list(entry) else {
        return Vec::new();
    };
    if items.is_empty() {
        let help = Some("the first element is the program".to_owned());
        reader.error(code::BAD_VALUE, "`argv` is empty", &entry.value.span, "", help);
    }
    let mut templates = Vec::with_capacity(items.len());
    for (index, item) in items.iter().enumerate() {
        let local = |text: String| match index {
            0 => program(&text, base),
            _ => text,
        };
        templates.extend(template(reader, item, "an element of `argv`", local));
    }
    templates
}

/// A program given with a folder is relative to where the command runs; one without is looked up.
fn program(text: &str, base: &Path) -> String {
    let relative = text.contains('/') && !text.starts_with('/') && !text.starts_with('{');
    match base.join(text).to_str() {
        Some(joined) if relative => match joined.strip_suffix(text) {
            Some(folder) => format!("{}{text}", quote_braces(folder)),
            None => text.to_owned(),
        },
        _ => text.to_owned(),
    }
}

/// What comes out of a variable is text, not template syntax.
fn quote_braces(text: &str) -> String {
    text.replace('{', "{{").replace('}', "}}")
}

fn template(reader: &mut Reader<'_>, node: &Node, what: &str, rewrite: impl Fn(String) -> String) -> Option<ElementEntry> {
    let expanded = reader.expanded_with(node, what, quote_braces)?;
    match ArgTemplate::parse(&expanded.text) {
        Ok(template) => {
            let rewritten = rewrite(expanded.text.clone());
            Some(ElementEntry { template: ArgTemplate::parse(&rewritten).unwrap_or(template), expanded, node: node.clone() })
        }
        Err(error) => {
            let written = expanded.written(&error.span);
            let span = node.part(reader.source.text(), &written);
            let help = Some(error.help.to_string());
            reader.error(code::BAD_TEMPLATE, error.message.to_string(), &span, "", help);
            None
        }
    }
}

/// `read`, `write`, `idempotent`, or `{class, impact}`.
pub(crate) fn effect(reader: &mut Reader<'_>, entry: &Entry) -> Option<Effect> {
    let words = [("read", 0), ("write", 1), ("idempotent", 2)];
    if entry.value.entries().is_none() {
        return match reader.word(entry, &words)? {
            0 => Some(Effect::read()),
            1 => Some(Effect::write()),
            _ => Some(Effect::write_idempotent()),
        };
    }
    let impacts = [("none", Impact::None), ("idempotent", Impact::Idempotent), ("once", Impact::Once)];
    reader.members(&entry.value, &EFFECT)?;
    let class = entry.value.entry("class");
    let class = class.and_then(|class| Some((reader.text(class)?, &class.value.span)));
    let impact = entry.value.entry("impact");
    let impact = impact.and_then(|impact| reader.word(impact, &impacts));
    let ((class, span), impact) = (class?, impact?);
    match wrong_class(&class, impact) {
        None => Some(Effect { class: class.into(), impact }),
        Some((message, help)) => {
            reader.error(code::BAD_VALUE, message, span, "", Some(help.to_owned()));
            None
        }
    }
}

/// Characters of a class.
const CLASS_CHARACTERS_MAX: usize = 32;

/// Why a word cannot be the class of an effect with this impact, and what to do. What counts is the impact; the word
/// is for people, so it must not say something else.
fn wrong_class(class: &str, impact: Impact) -> Option<(String, &'static str)> {
    let fits = |c: char| c.is_ascii_alphanumeric() || "_-".contains(c);
    let length = class.chars().count();
    if length == 0 || length > CLASS_CHARACTERS_MAX || !class.chars().all(fits) {
        let message = "the class of an effect is 1 to 32 letters, digits, `_` and `-`".to_owned();
        return Some((message, "write one short word, such as `deploy`"));
    }
    let is = |word: &str| class.eq_ignore_ascii_case(word);
    let counts = "what counts is the impact; choose a class that says the same";
    match impact {
        Impact::None if !is("read") => {
            Some((format!("`{class}` has the impact `none`, and only `read` has none"), "write `effect: read`, or another impact"))
        }
        Impact::Idempotent | Impact::Once if is("read") || is("none") => {
            Some((format!("`{class}` says that nothing happens, and the impact is `{}`", impact.as_str()), counts))
        }
        Impact::Once if is("idempotent") => Some((format!("`{class}` says another thing than the impact `once`"), counts)),
        _ => None,
    }
}

/// Examples of input and output.
pub(crate) fn examples(reader: &mut Reader<'_>, entry: &Entry) -> Vec<ExampleEntry> {
    let mut examples = Vec::new();
    for item in reader.list(entry).unwrap_or_default() {
        if reader.members(item, &EXAMPLE).is_none() {
            continue;
        }
        if let Some(input) = item.get("input") {
            examples.push(ExampleEntry { input: input.to_value(), output: item.get("output").map(Node::to_value) });
        }
    }
    examples
}

fn stdio(reader: &mut Reader<'_>, entry: &Entry, base: &Path) -> Option<ServerEntry> {
    let before = reader.findings.len();
    reader.members(&entry.value, &STDIO_SOURCE)?;
    let transport = stdio_transport(reader, &entry.value, base);
    let options = options(reader, entry);
    usable(reader, before, options, transport)
}

fn http(reader: &mut Reader<'_>, entry: &Entry) -> Option<ServerEntry> {
    let before = reader.findings.len();
    reader.members(&entry.value, &HTTP_SOURCE)?;
    let transport = http_transport(reader, &entry.value);
    let options = options(reader, entry);
    usable(reader, before, options, transport)
}

fn usable(reader: &Reader<'_>, before: usize, options: ServerEntry, transport: Option<TransportEntry>) -> Option<ServerEntry> {
    let clean = reader.findings.len() == before;
    let transport = transport.filter(|_| clean)?;
    Some(ServerEntry { transport, ..options })
}

/// The members of a server over stdio.
pub(crate) fn stdio_transport(reader: &mut Reader<'_>, node: &Node, base: &Path) -> Option<TransportEntry> {
    let program_node = node.entry("command")?;
    let command = reader.expanded(&program_node.value, "`command`");
    let args = node.entry("args").map(|args| reader.expanded_list(args));
    let folder = node.entry("cwd").map(|cwd| folder(reader, cwd, base));
    let env = node.entry("env").map(|env| reader.secret_map(env));
    let cwd = match folder {
        Some(cwd) => Some(cwd?),
        None => None,
    };
    let command = command?.text;
    let relative = command.contains('/') && !command.starts_with('/');
    let command = match cwd.as_deref().unwrap_or(base).join(&command).to_str() {
        Some(joined) if relative => joined.to_owned(),
        _ => command,
    };
    Some(TransportEntry::Stdio {
        command,
        args: args.unwrap_or_else(|| Some(Vec::new()))?,
        cwd,
        env: env.unwrap_or_else(|| Some(Vec::new()))?,
    })
}

/// The members of a server over HTTP.
pub(crate) fn http_transport(reader: &mut Reader<'_>, node: &Node) -> Option<TransportEntry> {
    let url_node = node.entry("url")?;
    let url = reader.expanded(&url_node.value, "`url`");
    let headers = node.entry("headers").map(|headers| reader.secret_map(headers));
    let url = url?.text;
    if !url.starts_with("http://") && !url.starts_with("https://") {
        let help = Some("write an address that begins with `https://` or `http://`".to_owned());
        let message = "the address is none that can be asked";
        reader.error(code::BAD_VALUE, message, &url_node.value.span, "", help);
        return None;
    }
    Some(TransportEntry::Http { url, headers: headers.unwrap_or_else(|| Some(Vec::new()))? })
}

/// Everything but the transport, which is read beside it.
fn options(reader: &mut Reader<'_>, entry: &Entry) -> ServerEntry {
    let nothing = TransportEntry::Http { url: String::new(), headers: Vec::new() };
    let mut server = ServerEntry::new(&entry.key, nothing);
    for member in entry.value.entries().unwrap_or_default() {
        match member.key.as_str() {
            "prefix" => {
                let prefix = reader.text(member);
                server.prefix = prefix.unwrap_or(server.prefix);
            }
            "trust" => {
                let words = [("none", Trust::None), ("lock", Trust::Lock), ("hints", Trust::Hints)];
                server.trust = reader.word(member, &words).unwrap_or(Trust::None);
            }
            "cleanEnv" => server.clean_env = reader.flag(member).unwrap_or(false),
            "startTimeout" => server.start_timeout = reader.duration(member),
            "idleTimeout" => server.idle_timeout = reader.duration(member),
            "callTimeout" => server.call_timeout = reader.duration(member),
            _ => {}
        }
    }
    server
}

/// `<source>_`, with what cannot be part of an id replaced.
pub(super) fn default_prefix(source: &str) -> String {
    let fits = |c: char| c.is_ascii_alphanumeric() || "-_".contains(c);
    let name: String = source.chars().map(|c| if fits(c) { c } else { '_' }).collect();
    format!("{name}_")
}

impl ServerEntry {
    /// A server with everything at its default; the prefix is made of the source's name.
    pub(crate) fn new(source: &str, transport: TransportEntry) -> Self {
        Self {
            transport,
            prefix: default_prefix(source),
            trust: Trust::None,
            clean_env: false,
            start_timeout: None,
            idle_timeout: None,
            call_timeout: None,
        }
    }
}

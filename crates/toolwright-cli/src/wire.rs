//! From what the file says to what the adapters take. The only place that knows both.

use std::ffi::OsString;
use std::process::ExitCode;

use toolwright::{Example, Origin, ToolDef, Value};
use toolwright_mcp::upstream::{ServerSpec, Transport};
use toolwright_sources::command::{CommandTool, Environment, Place as CommandPlace, Stdout};

use crate::code;
use crate::config::reader::Place;
use crate::config::source::{CommandEntry, ExampleEntry, ServerEntry, Source, StdoutForm, TransportEntry, Trust};
use crate::config::{Config, Layer};
use crate::diagnostic::{Finding, Owner, Span};
use crate::exit::Exit;
use crate::lock::Locked;
use crate::secret::{Secret, Secrets};

/// The hidden command that ends a server when we vanish.
const GUARD: &str = "guard-server";

/// The hidden first word that makes this program the guard of running commands.
const COMMAND_GUARD: &str = "guard-commands";

/// A command line as its adapter takes it.
pub(crate) fn command_line(source: &Source, entry: &CommandEntry) -> CommandTool {
    let mut tool = CommandTool::new(
        entry.id.as_str(),
        entry.description.as_str(),
        entry.argv.iter().map(|element| element.template.clone()).collect(),
    );
    tool.title = entry.title.as_deref().map(Into::into);
    tool.stdin = entry.stdin.as_ref().map(|element| element.template.clone());
    tool.effect = entry.effect.clone();
    tool.input_schema = entry.input.clone();
    tool.output_schema = entry.output.clone();
    tool.examples = examples(&entry.examples);
    tool.cwd = entry.process.cwd.clone();
    tool.env = Environment { clean: entry.process.clean_env, set: exposed(&entry.process.env) };
    tool.stdout = match entry.stdout {
        StdoutForm::Text => Stdout::Text,
        StdoutForm::Json => Stdout::Json,
        StdoutForm::Lines => Stdout::Lines,
    };
    if let Some(codes) = &entry.exit_codes {
        tool.success_codes = codes.clone();
    }
    if let Some(timeout) = entry.process.timeout {
        tool.timeout = timeout;
    }
    if let Some(bytes) = entry.process.max_output {
        tool.stdout_bytes_max = bytes;
    }
    tool.end_of_options = entry.end_of_options;
    tool.idempotency_key = entry.idempotency_key.clone();
    tool.origin = Origin {
        source: source.name.as_str().into(),
        kind: "command".into(),
        name: entry.id.as_str().into(),
        effect_from: if entry.effect.is_some() { "declared".into() } else { "".into() },
    };
    tool.secrets = source.secrets.exposed();
    tool
}

/// A command line as a tool.
pub(crate) fn command(source: &Source, entry: &CommandEntry) -> Result<ToolDef, Vec<Finding>> {
    command_line(source, entry).into_tool().map_err(|error| {
        let issues = error.issues.into_iter();
        issues
            .map(|issue| {
                let place = command_place(entry, &issue.place);
                Finding::error(code::BAD_TEMPLATE, issue.message)
                    .at(&place.source, place.span, "")
                    .help(issue.help)
                    .owner(Owner::Tool(entry.id.clone()))
            })
            .collect()
    })
}

/// Where in the file a mistake of a command's declaration stands.
fn command_place(entry: &CommandEntry, place: &CommandPlace) -> Place {
    let file = entry.place.source.text();
    let in_element = |element: Option<&crate::config::source::ElementEntry>, span: Option<&Span>| {
        let element = element?;
        Some(match span {
            Some(span) => element.node.part(file, &element.expanded.written(span)),
            None => element.node.span.clone(),
        })
    };
    let found = match place {
        CommandPlace::Argv => entry.node.entry("argv").map(|argv| argv.key_span.clone()),
        CommandPlace::Element { index, span } => in_element(entry.argv.get(*index), span.as_ref()),
        CommandPlace::Stdin { span } => in_element(entry.stdin.as_ref(), Some(span)),
        CommandPlace::Input { pointer } => entry.node.entry("input").map(|input| match input.value.key_of(pointer) {
            Some(key) => key,
            None => input.key_span.clone(),
        }),
        CommandPlace::Environment { name } => {
            entry.node.get("env").and_then(|env| env.entry(name)).map(|variable| variable.key_span.clone())
        }
        CommandPlace::IdempotencyKey => {
            let named = entry.node.get("idempotencyKey").and_then(|key| key.entry("env").or_else(|| key.entry("argument")));
            named.map(|named| named.value.span.clone())
        }
        _ => None,
    };
    Place { source: entry.place.source.clone(), span: found.unwrap_or_else(|| entry.place.span.clone()) }
}

/// Examples as the core keeps them.
pub(crate) fn examples(entries: &[ExampleEntry]) -> Vec<Example> {
    let example = |entry: &ExampleEntry| Example { input: entry.input.clone(), output: entry.output.clone() };
    entries.iter().map(example).collect()
}

/// An MCP server as its adapter takes it.
pub(crate) fn server(config: &Config, source: &Source, entry: &ServerEntry) -> ServerSpec {
    let name = source.name.as_str();
    let mut spec = match &entry.transport {
        TransportEntry::Stdio { command, args, .. } => ServerSpec::stdio(name, command, args),
        TransportEntry::Http { url, .. } => ServerSpec::http(name, url),
    };
    match (&mut spec.transport, &entry.transport) {
        (Transport::Stdio { cwd, env, .. }, TransportEntry::Stdio { cwd: folder, env: variables, .. }) => {
            *cwd = folder.clone();
            *env = exposed(variables);
        }
        (Transport::Http { headers, .. }, TransportEntry::Http { headers: set, .. }) => {
            *headers = exposed(set);
        }
        _ => {}
    }
    spec.prefix = entry.prefix.as_str().into();
    spec.trust_hints = entry.trust == Trust::Hints;
    spec.clean_env = entry.clean_env;
    spec.effects = effects(config, source, entry);
    spec.secrets = source.secrets.exposed();
    spec.guard = guard();
    let times = [
        (&mut spec.start_timeout, entry.start_timeout),
        (&mut spec.idle_timeout, entry.idle_timeout),
        (&mut spec.call_timeout, entry.call_timeout),
    ];
    for (time, given) in times {
        *time = given.unwrap_or(*time);
    }
    spec
}

/// The same with what was accepted of its tools.
pub(crate) fn locked(mut spec: ServerSpec, entry: &ServerEntry, locked: Locked<'_>, secrets: &Secrets) -> ServerSpec {
    spec.pins = Some(locked.pins(secrets));
    spec.capabilities = locked.capabilities();
    if entry.trust == Trust::Lock {
        spec.accepted = locked.effects().map(|(name, effect)| (name.into(), effect)).collect();
    }
    spec
}

/// Effects that the file declares for tools of this server, by the server's own names.
fn effects(config: &Config, source: &Source, entry: &ServerEntry) -> Vec<(toolwright::Text, toolwright::Effect)> {
    // What a project says about the user's server may only narrow, which is judged once the tool is known.
    let users = config.layer(&source.place) == Layer::User;
    let heard = config.tools.iter().filter(|tool| !users || config.layer(&tool.place) == Layer::User);
    let tools = heard.filter_map(|tool| {
        let name = tool.id.strip_prefix(entry.prefix.as_str())?;
        Some((name.into(), tool.effect.clone()?))
    });
    tools.collect()
}

/// This program as the guard of a server, where it can be found again.
fn guard() -> Option<Vec<String>> {
    let program = std::env::current_exe().ok()?.into_os_string();
    let program: Option<String> = OsString::into_string(program).ok();
    Some(vec![program?, GUARD.to_owned()])
}

/// Does the work of a guard when this process was started as one, and gives its exit code. A guard ends what was
/// started when the process that started it is killed and cannot.
pub(crate) fn guarding() -> Option<ExitCode> {
    let mut words = std::env::args_os().skip(1);
    let word = words.next()?;
    if word == GUARD {
        let code = toolwright_mcp::guard::run(words);
        return Some(ExitCode::from(u8::try_from(code).unwrap_or(Exit::Bug.number())));
    }
    if word == COMMAND_GUARD {
        let served = toolwright_sources::command::guard::serve(std::io::stdin().lock());
        return Some(if served.is_ok() { Exit::Ok } else { Exit::Bug }.into());
    }
    if let Ok(program) = std::env::current_exe() {
        toolwright_sources::command::guard::install(program, [COMMAND_GUARD.to_owned()]);
    }
    None
}

fn exposed(variables: &[(String, Secret)]) -> Vec<(String, String)> {
    let expose = |(name, value): &(String, Secret)| (name.clone(), value.expose().to_owned());
    variables.iter().map(expose).collect()
}

/// An object of the core, of the arguments that the host has fixed.
pub(crate) fn pinned(pin: &[(String, Value)]) -> Option<toolwright::Object> {
    let members = pin.iter().map(|(name, value)| (name.as_str(), value.clone()));
    Value::object(members).as_object().cloned()
}

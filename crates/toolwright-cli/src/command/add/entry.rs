//! What a person asks to be added, as an entry of `sources`: a package, a URL, a command, or a server of another client's file.

use std::path::Path;

use toolwright::Value;

use crate::amend::Form;
use crate::args::{AddArgs, TrustWord};
use crate::config::yaml::Node;
use crate::exit::Exit;

/// A source to be added.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Entry {
    pub(super) name: String,
    pub(super) value: Value,
}

/// A server of another client's file that is not added.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Left {
    pub(super) name: String,
    pub(super) why: String,
    /// How the command ends because of it; `None` for one that nobody wants.
    pub(super) exit: Option<Exit>,
}

/// The one that the words of the command line mean; `is_program` says whether there is a program of a name.
///
/// # Errors
/// In words and what to do, when they mean none.
pub(super) fn of_words(args: &AddArgs, is_program: impl Fn(&str) -> bool) -> Result<Entry, (String, String)> {
    let (first, rest) = args.what.split_first().ok_or_else(|| wrong("nothing says what to add", "name a package, a URL or a command"))?;
    let how = if let Some(package) = first.strip_prefix("npm:") {
        npm(package, rest)
    } else if first.starts_with('@') && first.contains('/') {
        npm(first, rest)
    } else if let Some(package) = first.strip_prefix("pypi:") {
        pypi(package, rest)
    } else if first.starts_with("http://") || first.starts_with("https://") {
        url(first, rest, args)?
    } else if first.contains('/') || first.contains('\\') || is_program(first) {
        command(first, rest)
    } else {
        let help = format!("write `npm:{first}` for a package of npm, `pypi:{first}` for one of PyPI, or a command that is there");
        return Err(wrong(&format!("there is no program `{first}`"), &help));
    };
    let is_url = how.value.get("url").is_some();
    if is_url && !args.env.is_empty() {
        return Err(wrong("a server behind a URL has no environment", "use `--header`"));
    }
    if !is_url && !args.header.is_empty() {
        return Err(wrong("only a server behind a URL has headers", "use `--env`"));
    }
    let pairs = if is_url { pairs(&args.header, "header", false)? } else { pairs(&args.env, "variable", true)? };
    let member = if is_url { "headers" } else { "env" };
    let more = (!pairs.is_empty()).then(|| (member, Value::object(pairs)));
    let prefix = args.prefix.as_ref().map(|prefix| ("prefix", Value::from(prefix.as_str())));
    let value = joined(&how.value, more.into_iter().chain(prefix).chain(trust(args.trust)));
    Ok(Entry { name: args.name.clone().unwrap_or(how.name), value })
}

fn wrong(message: &str, help: &str) -> (String, String) {
    (message.to_owned(), help.to_owned())
}

fn trust(word: TrustWord) -> Option<(&'static str, Value)> {
    match word {
        TrustWord::None => None,
        TrustWord::Lock => Some(("trust", Value::from("lock"))),
        TrustWord::Hints => Some(("trust", Value::from("hints"))),
    }
}

fn joined<'m>(value: &Value, more: impl Iterator<Item = (&'m str, Value)>) -> Value {
    let members = value.as_object().into_iter().flat_map(|object| object.iter()).map(|(key, value)| (key.to_string(), value.clone()));
    Value::object(members.chain(more.map(|(key, value)| (key.to_owned(), value))))
}

fn stdio(program: &str, args: impl IntoIterator<Item = String>) -> Value {
    let args: Vec<Value> = args.into_iter().map(|word| Value::from(word.as_str())).collect();
    let args = (!args.is_empty()).then(|| ("args", Value::array(args)));
    Value::object([("command", Value::from(program))].into_iter().chain(args))
}

fn npm(package: &str, rest: &[String]) -> Entry {
    // A version that is named is the same one every day: no need to ask the registry for it at each start.
    let has_version = package.trim_start_matches('@').contains('@');
    let words = ["-y"].into_iter().chain(has_version.then_some("--prefer-offline")).chain([package]).map(str::to_owned);
    let words = words.chain(rest.iter().cloned());
    Entry { name: name_of_package(package), value: stdio("npx", words) }
}

fn pypi(package: &str, rest: &[String]) -> Entry {
    // `package@1.2` is how uvx names a version; `==` is how pip does.
    let package = package.replacen("==", "@", 1);
    let words = std::iter::once(package.clone()).chain(rest.iter().cloned());
    Entry { name: name_of_package(&package), value: stdio("uvx", words) }
}

fn url(address: &str, rest: &[String], _args: &AddArgs) -> Result<Entry, (String, String)> {
    if let Some(word) = rest.first() {
        return Err(wrong(&format!("`{word}` stands behind a URL, which has no arguments"), "take it out"));
    }
    let host = address.split("://").nth(1).unwrap_or_default();
    let host = host.split(['/', '?', '#']).next().unwrap_or_default();
    let host = host.rsplit('@').next().unwrap_or_default();
    let host = host.split(':').next().unwrap_or_default();
    let mut labels = host.split('.').filter(|label| !["www", "mcp", "api"].contains(label));
    let name = labels.next().filter(|label| !label.is_empty()).unwrap_or("server");
    // The digits of an address say nothing.
    let name = if name.chars().all(|c| c.is_ascii_digit()) { "server" } else { name };
    Ok(Entry { name: name_of(name), value: Value::object([("url", address)].map(|(key, value)| (key, Value::from(value)))) })
}

/// Programs that run another file: the name is that of the file.
const RUNNERS: [&str; 10] = ["node", "python", "python3", "sh", "bash", "deno", "bun", "ruby", "npx", "uvx"];

fn command(program: &str, rest: &[String]) -> Entry {
    let stem = |path: &str| Path::new(path).file_stem().map(|stem| stem.to_string_lossy().into_owned()).unwrap_or_default();
    let runner = RUNNERS.contains(&stem(program).as_str());
    let script = rest.iter().find(|word| !word.starts_with('-')).filter(|_| runner);
    let name = match script {
        Some(script) if script.starts_with('@') => name_of_package(script),
        Some(script) => name_of_package(&stem(script)),
        None => name_of_package(&stem(program)),
    };
    Entry { name, value: stdio(program, rest.iter().cloned()) }
}

/// The part of a package's name that says what it is about: `@modelcontextprotocol/server-filesystem@1.2` is `filesystem`.
fn name_of_package(package: &str) -> String {
    let (scope, name) = match package.strip_prefix('@').and_then(|package| package.split_once('/')) {
        Some((scope, name)) => (Some(scope), name),
        None => (None, package),
    };
    let name = name.split('@').next().unwrap_or_default();
    let name = name.split('[').next().unwrap_or_default();
    let mut short = name;
    for word in ["mcp-server-", "server-", "mcp-"] {
        short = short.strip_prefix(word).unwrap_or(short);
    }
    for word in ["-mcp-server", "-server", "-mcp"] {
        short = short.strip_suffix(word).unwrap_or(short);
    }
    // `@playwright/mcp` says it in its scope.
    match (short, scope) {
        ("" | "mcp" | "server", Some(scope)) => name_of(scope),
        _ => name_of(short),
    }
}

/// Letters, digits, `-` and `_`.
fn name_of(text: &str) -> String {
    let name: String =
        text.chars().map(|c| if c.is_ascii_alphanumeric() || "-_".contains(c) { c.to_ascii_lowercase() } else { '_' }).collect();
    let name = name.trim_matches('_');
    if name.is_empty() { "server".to_owned() } else { name.to_owned() }
}

/// `NAME=VALUE`; a variable without a value is that of the environment of whoever runs it.
fn pairs(words: &[String], what: &str, alone: bool) -> Result<Vec<(String, Value)>, (String, String)> {
    let one = |word: &String| match word.split_once('=') {
        Some((name, value)) if !name.is_empty() => Ok((name.to_owned(), Value::from(value))),
        None if alone && !word.is_empty() => Ok((word.clone(), Value::from(format!("${{{word}}}").as_str()))),
        _ => Err(wrong(&format!("`{word}` is no {what}"), "write `NAME=VALUE`")),
    };
    words.iter().map(one).collect()
}

/// Where clients keep servers in their files.
const SECTIONS: [&str; 3] = ["mcpServers", "servers", "context_servers"];

/// Servers of another client's file, those of these names or all; with what was left out, and why.
///
/// # Errors
/// In words and what to do, when there is none to take.
pub(super) fn of_file(text: &str, names: &[String], word: TrustWord) -> Result<(Vec<Entry>, Vec<Left>), (String, String)> {
    let root = Form::Json.read(text).map_err(|why| wrong(&format!("the file cannot be read: {why}"), "it is the JSON file of a client"))?;
    let section = root.as_ref().and_then(|root| SECTIONS.iter().find_map(|section| root.get(section)?.entries()));
    let help = format!("clients keep them under `{}`", SECTIONS.join("`, `"));
    let section = section.ok_or_else(|| wrong("the file has no servers", &help))?;
    if let Some(missing) = names.iter().find(|name| !section.iter().any(|entry| entry.key == **name)) {
        let there: Vec<&str> = section.iter().map(|entry| entry.key.as_str()).collect();
        return Err(wrong(&format!("the file has no server `{missing}`"), &format!("it has: {}", there.join(", "))));
    }
    let (mut entries, mut left) = (Vec::new(), Vec::new());
    for server in section.iter().filter(|server| names.is_empty() || names.contains(&server.key)) {
        match taken_over(&server.value) {
            Ok(value) => entries.push(Entry { name: name_of(&server.key), value: joined(&value, trust(word).into_iter()) }),
            Err(why) => {
                let exit = (why != SWITCHED_OFF).then_some(Exit::DoesNotCheck);
                left.push(Left { name: server.key.clone(), why: why.to_owned(), exit });
            }
        }
    }
    Ok((entries, left))
}

const SWITCHED_OFF: &str = "it is switched off there";

/// A server as a client writes it, as a source.
fn taken_over(node: &Node) -> Result<Value, &'static str> {
    let said = node.to_value();
    let is = |name: &str| said.get(name).and_then(Value::as_bool);
    if is("disabled") == Some(true) || is("enabled") == Some(false) {
        return Err(SWITCHED_OFF);
    }
    if said.get("type").and_then(Value::as_str) == Some("sse") {
        return Err("it speaks the old SSE transport; most servers also answer streamable HTTP, often at `/mcp`");
    }
    let text = |name: &str| said.get(name).filter(|value| value.as_str().is_some()).cloned();
    let address = ["url", "serverUrl", "httpUrl"].iter().find_map(|name| text(name));
    if let Some(address) = address {
        let headers = said.get("headers").filter(|headers| headers.as_object().is_some_and(|headers| !headers.is_empty()));
        return Ok(Value::object([("url", address)].into_iter().chain(headers.map(|headers| ("headers", headers.clone())))));
    }
    // Zed writes the command as an object.
    let inner = said.get("command").filter(|command| command.as_object().is_some()).unwrap_or(&said);
    let program = inner.get("path").or_else(|| inner.get("command")).filter(|program| program.as_str().is_some());
    let program = program.ok_or("nothing says how it is reached")?;
    let args = inner.get("args").filter(|args| args.as_array().is_some_and(|args| !args.is_empty()));
    let env = inner.get("env").filter(|env| env.as_object().is_some_and(|env| !env.is_empty()));
    let cwd = text("cwd");
    let more = args.map(|args| ("args", args.clone())).into_iter().chain(env.map(|env| ("env", env.clone())));
    Ok(Value::object([("command", program.clone())].into_iter().chain(more).chain(cwd.map(|cwd| ("cwd", cwd)))))
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::{Entry, of_file, of_words};
    use crate::args::{AddArgs, Cli, Command, TrustWord};

    fn args(line: &str) -> AddArgs {
        let cli = Cli::parse_from(["toolwright", "add"].into_iter().chain(line.split_whitespace()));
        let Command::Add(args) = cli.command else { panic!("{line}") };
        args
    }

    fn added(line: &str) -> Result<Entry, (String, String)> {
        of_words(&args(line), |program| ["node", "my-mcp-server", "npx"].contains(&program))
    }

    #[test]
    fn words_become_entries() {
        for (line, name, value) in [
            (
                "@modelcontextprotocol/server-filesystem@2026.8.31 .",
                "filesystem",
                r#"{"command":"npx","args":["-y","--prefer-offline","@modelcontextprotocol/server-filesystem@2026.8.31","."],"trust":"lock"}"#,
            ),
            ("npm:mcp-server-commands", "commands", r#"{"command":"npx","args":["-y","mcp-server-commands"],"trust":"lock"}"#),
            ("@playwright/mcp --trust none", "playwright", r#"{"command":"npx","args":["-y","@playwright/mcp"]}"#),
            (
                "pypi:mcp-server-git==1.2 -- --repository .",
                "git",
                r#"{"command":"uvx","args":["mcp-server-git@1.2","--repository","."],"trust":"lock"}"#,
            ),
            (
                "https://mcp.example.org/mcp --header Authorization=Bearer",
                "example",
                r#"{"url":"https://mcp.example.org/mcp","headers":{"Authorization":"Bearer"},"trust":"lock"}"#,
            ),
            ("http://127.0.0.1:8000/mcp", "server", r#"{"url":"http://127.0.0.1:8000/mcp","trust":"lock"}"#),
            (
                "node build/notes-server.js --env TOKEN --env A=b=c",
                "notes",
                r#"{"command":"node","args":["build/notes-server.js"],"env":{"TOKEN":"${TOKEN}","A":"b=c"},"trust":"lock"}"#,
            ),
            ("my-mcp-server --name mine --prefix m_", "mine", r#"{"command":"my-mcp-server","prefix":"m_","trust":"lock"}"#),
            ("./server.py", "server", r#"{"command":"./server.py","trust":"lock"}"#),
        ] {
            let entry = added(line).unwrap_or_else(|error| panic!("{line}: {error:?}"));
            assert_eq!((entry.name.as_str(), entry.value.to_json_string().as_str()), (name, value), "{line}");
        }
        for (line, words) in [
            ("no-such", "npm:no-such"),
            ("http://x/mcp y", "take it out"),
            ("http://x/mcp --env A=b", "--header"),
            ("node x.js --header A=b", "--env"),
            ("node x.js --env =b", "NAME=VALUE"),
        ] {
            let (message, help) = added(line).unwrap_err();
            assert!(help.contains(words), "{line}: {message}; {help}");
        }
    }

    #[test]
    fn servers_of_other_clients_are_taken_over() {
        let text = r#"{ // mine
            "mcpServers": {
                "My Files": { "command": "npx", "args": ["-y", "files"], "env": { "A": "b" }, "autoApprove": ["x"] },
                "far": { "type": "http", "url": "http://x/mcp", "headers": {} },
                "off": { "command": "x", "disabled": true },
                "old": { "type": "sse", "url": "http://x/sse" },
            },
        }"#;
        let (entries, left) = of_file(text, &[], TrustWord::Lock).unwrap();
        let shown: Vec<(String, String)> = entries.iter().map(|entry| (entry.name.clone(), entry.value.to_json_string())).collect();
        let pair = |name: &str, value: &str| (name.to_owned(), value.to_owned());
        assert_eq!(
            shown,
            [
                pair("my_files", r#"{"command":"npx","args":["-y","files"],"env":{"A":"b"},"trust":"lock"}"#),
                pair("far", r#"{"url":"http://x/mcp","trust":"lock"}"#),
            ]
        );
        let left: Vec<(&str, bool)> = left.iter().map(|left| (left.name.as_str(), left.exit.is_some())).collect();
        assert_eq!(left, [("off", false), ("old", true)]);
        let zed = r#"{"context_servers": {"a": {"source": "custom", "command": {"path": "p", "args": ["q"]}}, "b": {"settings": {}}}}"#;
        let (entries, left) = of_file(zed, &[], TrustWord::None).unwrap();
        assert_eq!((entries[0].value.to_json_string().as_str(), left.len()), (r#"{"command":"p","args":["q"]}"#, 1));
        assert!(of_file(zed, &["c".to_owned()], TrustWord::None).unwrap_err().1.contains("a, b"));
        assert!(of_file("{}", &[], TrustWord::None).is_err());
    }
}

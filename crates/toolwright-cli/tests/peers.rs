//! The YAML language server that editors start, from npm, with our schema. `TOOLWRIGHT_PEERS` names the folder with its
//! `node_modules`; without it nothing runs here (`cargo xtask test` installs it and sets it).
#![cfg(unix)]
#![expect(clippy::unwrap_used, clippy::indexing_slicing, reason = "a test that cannot go on says so by panicking")]

use std::io::{BufRead, BufReader, Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use serde_json::{Value, json};

const FILE: &str = "# yaml-language-server: $schema=tools.schema.json
sources:
  here:
    tools:
      greet:
        description: Greets somebody
        argv: [echo, \"{name}\", \"{tone?}\"]
        effect: read
        input:
          type: object
          properties: { name: { type: string, description: whom to greet }, tone: { enum: [kind, loud] } }
          required: [name]
      greet_all: { description: Greets everybody, argv: [echo, \"{others}\"], effect: read }
      send: { description: Sends a mail, argv: [cat], stdin: \"{text}\", effect: write }
";

/// The rest of the file, with `|` where the editor's cursor is, and what must be offered there and what not.
const CURSORS: &[(&str, &[&str], &[&str])] = &[
    ("composites:\n  hello:\n    steps:\n      - name: a\n        tool: |\n", &["greet", "send"], &[]),
    (
        "composites:\n  hello:\n    steps:\n      - name: a\n        tool: greet\n        inputMapping:\n          |\n",
        &["name", "tone", "arguments of greet"],
        &["text", "others", "arguments of greet_all"],
    ),
    ("composites:\n  hello:\n    steps:\n      - name: a\n        tool: send\n        inputMapping:\n          |\n", &["text"], &["tone"]),
    (
        "composites:\n  hello:\n    steps:\n      - name: a\n        tool: greet\n        inputMapping:\n          tone: |\n",
        &["kind", "loud"],
        &["greet"],
    ),
    ("composites:\n  hello:\n    |\n", &["steps", "input", "description"], &["argv"]),
    ("tools:\n  |\n", &["greet", "send"], &["hello"]),
    ("tools:\n  greet:\n    effect: |\n", &["read", "write", "idempotent"], &[]),
    ("tools:\n  greet:\n    pin:\n      |\n", &["name", "tone"], &["text"]),
    ("policy:\n  sideEffectingTools:\n    - |\n", &["send"], &["greet"]),
];

/// A language server that is spoken to over its standard streams.
struct Server {
    child: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
    last: u64,
}

impl Server {
    fn start(script: &Path, folder: &Path) -> Self {
        let mut command = Command::new("node");
        command.arg(script).arg("--stdio").stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut child = command.spawn().unwrap();
        let (input, output) = (child.stdin.take().unwrap(), BufReader::new(child.stdout.take().unwrap()));
        let mut server = Self { child, input, output, last: 0 };
        let capabilities = json!({"textDocument": {"completion": {"completionItem": {"snippetSupport": true}}}});
        server.ask(
            "initialize",
            &json!({"processId": null, "rootUri": format!("file://{}", folder.display()), "capabilities": capabilities}),
        );
        server.tell("initialized", &json!({}));
        server.tell(
            "workspace/didChangeConfiguration",
            &json!({"settings": {"yaml": {"completion": true, "validate": true, "schemaStore": {"enable": false}}}}),
        );
        server
    }

    fn send(&mut self, message: &Value) {
        let text = message.to_string();
        write!(self.input, "Content-Length: {}\r\n\r\n{text}", text.len()).unwrap();
        self.input.flush().unwrap();
    }

    fn tell(&mut self, method: &str, params: &Value) {
        self.send(&json!({"jsonrpc": "2.0", "method": method, "params": params}));
    }

    fn ask(&mut self, method: &str, params: &Value) -> Value {
        self.last += 1;
        let id = self.last;
        self.send(&json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}));
        loop {
            let message = self.next();
            if message.get("method").is_none() && message["id"] == id {
                assert!(message.get("error").is_none(), "{method}: {message}");
                return message["result"].clone();
            }
        }
    }

    /// The next notification of this kind.
    fn hear(&mut self, method: &str) -> Value {
        loop {
            let message = self.next();
            if message["method"] == method {
                return message["params"].clone();
            }
        }
    }

    /// The next message; what the server asks for is answered with nothing.
    fn next(&mut self) -> Value {
        let mut length = 0;
        loop {
            let mut line = String::new();
            assert!(self.output.read_line(&mut line).unwrap() > 0, "the server has gone");
            match line.trim().split_once(": ") {
                Some((name, value)) if name.eq_ignore_ascii_case("content-length") => length = value.parse().unwrap(),
                Some(_) => {}
                None => break,
            }
        }
        let mut text = vec![0; length];
        self.output.read_exact(&mut text).unwrap();
        let message: Value = serde_json::from_slice(&text).unwrap();
        if let (Some(id), Some(_)) = (message.get("id"), message.get("method")) {
            self.send(&json!({"jsonrpc": "2.0", "id": id, "result": null}));
        }
        message
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A folder with a configuration and the schema that the command prints for it.
fn folder() -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("editor-peer");
    let _ = std::fs::remove_dir_all(&folder);
    std::fs::create_dir_all(&folder).unwrap();
    let folder = folder.canonicalize().unwrap();
    std::fs::write(folder.join("toolwright.yaml"), FILE).unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_toolwright"));
    command.args(["schema", "--with-tools", "--offline"]).current_dir(&folder).env("HOME", folder.join("home"));
    let printed = command.output().unwrap();
    assert!(printed.status.success(), "{printed:?}");
    std::fs::write(folder.join("tools.schema.json"), printed.stdout).unwrap();
    folder
}

#[test]
fn an_editor_completes_tools_and_arguments() {
    let Some(peers) = std::env::var_os("TOOLWRIGHT_PEERS") else { return };
    let script = PathBuf::from(peers).join("node_modules/yaml-language-server/out/server/src/server.js");
    assert!(script.exists(), "{} is not installed", script.display());
    let folder = folder();
    let mut server = Server::start(&script, &folder);
    for (number, (rest, offered, not_offered)) in CURSORS.iter().enumerate() {
        let text = format!("{FILE}{rest}");
        let cursor = text.find('|').unwrap();
        let before = &text[..cursor];
        let position = json!({"line": before.matches('\n').count(), "character": cursor - before.rfind('\n').unwrap() - 1});
        let uri = format!("file://{}/{number}.yaml", folder.display());
        let document = json!({"uri": uri, "languageId": "yaml", "version": 1, "text": text.replace('|', "")});
        server.tell("textDocument/didOpen", &json!({"textDocument": document}));
        let answer = server.ask("textDocument/completion", &json!({"textDocument": {"uri": uri}, "position": position}));
        let items = answer.get("items").unwrap_or(&answer).as_array().unwrap_or_else(|| panic!("{rest}: {answer}")).clone();
        let labels: Vec<&str> = items.iter().map(|item| item["label"].as_str().unwrap()).collect();
        for label in *offered {
            assert!(labels.contains(label), "{rest}: `{label}` is not offered: {labels:?}");
        }
        for label in *not_offered {
            assert!(!labels.contains(label), "{rest}: `{label}` is offered: {labels:?}");
        }
        if let Some(greet) = items.iter().find(|item| item["label"] == "greet" && number == 0) {
            assert!(greet["documentation"].to_string().contains("Greets somebody"), "{greet}");
        }
    }
}

#[test]
fn an_editor_marks_what_the_reader_refuses_and_nothing_else() {
    let Some(peers) = std::env::var_os("TOOLWRIGHT_PEERS") else { return };
    let script = PathBuf::from(peers).join("node_modules/yaml-language-server/out/server/src/server.js");
    let folder = folder();
    let mut server = Server::start(&script, &folder);
    for (name, rest, expected) in [
        (
            "good",
            "composites:\n  hello:\n    steps:\n      - { name: a, tool: greet, inputMapping: { name: $input.who } }\n      - { name: b, tool: not_yet }\n",
            None,
        ),
        ("bad", "composites:\n  hello:\n    stps: []\n", Some("stps")),
    ] {
        let uri = format!("file://{}/{name}.yaml", folder.display());
        let document = json!({"uri": uri, "languageId": "yaml", "version": 1, "text": format!("{FILE}{rest}")});
        server.tell("textDocument/didOpen", &json!({"textDocument": document}));
        let told = loop {
            let told = server.hear("textDocument/publishDiagnostics");
            if told["uri"] == uri.as_str() {
                break told["diagnostics"].as_array().unwrap().clone();
            }
        };
        let messages: Vec<&str> = told.iter().map(|one| one["message"].as_str().unwrap()).collect();
        match expected {
            None => assert!(messages.is_empty(), "{name}: {messages:?}"),
            Some(word) => assert!(messages.iter().any(|message| message.contains(word)), "{name}: {messages:?}"),
        }
    }
}

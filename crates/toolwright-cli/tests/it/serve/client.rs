//! A client of a few lines: whole messages, one a line, or one request over HTTP.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Child, ChildStdin, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

use serde_json::{Value, json};

use crate::world::{Done, World, done};

/// How long anything may take on a busy machine.
const PATIENCE: Duration = Duration::from_secs(60);

/// The other end of `toolwright serve`.
pub(crate) struct Client {
    child: Option<Child>,
    stdin: Option<ChildStdin>,
    lines: Receiver<String>,
    next: u64,
    /// Notifications that came while a reply was waited for.
    pub(crate) told: Vec<Value>,
}

impl Client {
    /// Starts the server, and shakes hands.
    pub(crate) fn start(world: &World, words: &str) -> Self {
        Self::start_with(world, words, &json!({}))
    }

    /// The same, as a client that can do so much.
    pub(crate) fn start_with(world: &World, words: &str, capabilities: &Value) -> Self {
        let mut client = Self::spawn(world, words);
        let hello = json!({"protocolVersion": "2025-11-25", "capabilities": capabilities, "clientInfo": {"name": "a client of the tests", "version": "1"}});
        let reply = client.ask("initialize", &hello);
        assert_eq!(reply["result"]["protocolVersion"], "2025-11-25", "{reply}");
        client.send(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"}));
        client
    }

    fn spawn(world: &World, words: &str) -> Self {
        let words: Vec<&str> = ["serve"].into_iter().chain(words.split_whitespace()).collect();
        let mut command = world.command(&words);
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let stdout = child.stdout.take().unwrap();
        let (sender, lines) = channel();
        std::thread::spawn(move || {
            for line in BufReader::new(stdout).lines() {
                let Ok(line) = line else { break };
                if sender.send(line).is_err() {
                    break;
                }
            }
        });
        Self { stdin: child.stdin.take(), child: Some(child), lines, next: 1, told: Vec::new() }
    }

    /// Starts a server over HTTP; gives back its address too.
    pub(crate) fn http(world: &World, words: &str) -> (Self, String) {
        let client = Self::spawn(world, &format!("--http 127.0.0.1:0 {words}"));
        let url = client.lines.recv_timeout(PATIENCE).unwrap();
        (client, url)
    }

    pub(crate) fn send(&mut self, message: &Value) {
        let stdin = self.stdin.as_mut().unwrap();
        writeln!(stdin, "{message}").unwrap();
        stdin.flush().unwrap();
    }

    /// One message from the server.
    pub(crate) fn message(&mut self) -> Value {
        let line = self.lines.recv_timeout(PATIENCE).expect("the server says nothing");
        serde_json::from_str(&line).unwrap_or_else(|_| panic!("not a message: {line}"))
    }

    /// The reply to a request.
    pub(crate) fn ask(&mut self, method: &str, params: &Value) -> Value {
        let id = self.next;
        self.next += 1;
        self.send(&json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}));
        loop {
            let message = self.message();
            if message["id"] == id {
                return message;
            }
            self.told.push(message);
        }
    }

    /// The tools of the list.
    pub(crate) fn tools(&mut self) -> Vec<Value> {
        self.ask("tools/list", &json!({}))["result"]["tools"].as_array().unwrap().clone()
    }

    pub(crate) fn names(&mut self) -> Vec<String> {
        self.tools().iter().map(|tool| tool["name"].as_str().unwrap().to_owned()).collect()
    }

    pub(crate) fn call(&mut self, tool: &str, arguments: &Value) -> Value {
        self.ask("tools/call", &json!({"name": tool, "arguments": arguments}))
    }

    /// Closes its end, and waits for the server's.
    pub(crate) fn close(mut self) -> Done {
        self.stdin = None;
        done(self.child.take().unwrap().wait_with_output().unwrap())
    }

    /// As a system that shuts down does it.
    pub(crate) fn terminate(self) -> Done {
        self.signalled("TERM")
    }

    /// Sends it a signal, and waits for its end.
    pub(crate) fn signalled(mut self, signal: &str) -> Done {
        let child = self.child.take().unwrap();
        let pid = child.id().to_string();
        assert!(std::process::Command::new("kill").args([&format!("-{signal}"), &pid]).status().unwrap().success());
        let ended = done(child.wait_with_output().unwrap());
        self.stdin = None;
        ended
    }
}

impl Drop for Client {
    fn drop(&mut self) {
        if let Some(child) = &mut self.child {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

/// One request over HTTP: the status and the body.
pub(crate) fn post(url: &str, headers: &[(&str, &str)], body: &Value) -> (u16, String) {
    let (host, _) = url.strip_prefix("http://").unwrap().split_once('/').unwrap();
    post_to(url, host, headers, body)
}

/// The same, with another name in `Host`.
pub(crate) fn post_to(url: &str, host: &str, headers: &[(&str, &str)], body: &Value) -> (u16, String) {
    let (address, path) = url.strip_prefix("http://").unwrap().split_once('/').unwrap();
    let body = body.to_string();
    let mut request = format!("POST /{path} HTTP/1.1\r\nhost: {host}\r\nconnection: close\r\ncontent-type: application/json\r\n");
    request.push_str("accept: application/json, text/event-stream\r\n");
    for (name, value) in headers {
        request.push_str(&format!("{name}: {value}\r\n"));
    }
    request.push_str(&format!("content-length: {}\r\n\r\n{body}", body.len()));
    let mut stream = TcpStream::connect(address).unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    stream.write_all(request.as_bytes()).unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    let (head, body) = answer.split_once("\r\n\r\n").unwrap();
    (head.split(' ').nth(1).unwrap().parse().unwrap(), body.to_owned())
}

/// A request of the newest generation, with its headers.
pub(crate) fn ask_over_http(url: &str, token: Option<&str>, method: &str, params: &Value) -> (u16, Value) {
    let (status, mut events) = events_over_http(url, token, method, params);
    (status, events.pop().unwrap())
}

/// The same, with everything that was said before the reply.
pub(crate) fn events_over_http(url: &str, token: Option<&str>, method: &str, params: &Value) -> (u16, Vec<Value>) {
    let mut params = params.clone();
    params["_meta"]["io.modelcontextprotocol/protocolVersion"] = json!("2026-07-28");
    params["_meta"]["io.modelcontextprotocol/clientInfo"] = json!({"name": "a client of the tests", "version": "1"});
    params["_meta"]["io.modelcontextprotocol/clientCapabilities"] = json!({});
    let bearer = token.map(|token| format!("Bearer {token}"));
    let name = params["name"].as_str().map(str::to_owned);
    let mut headers = vec![("mcp-protocol-version", "2026-07-28"), ("mcp-method", method)];
    headers.extend(bearer.as_deref().map(|bearer| ("authorization", bearer)));
    headers.extend(name.as_deref().map(|name| ("mcp-name", name)));
    let (status, body) = post(url, &headers, &json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}));
    let read = |text: &str| serde_json::from_str(text).unwrap_or_else(|_| panic!("{status}: {body}"));
    // As JSON, or as a stream of events.
    let said = body.lines().filter_map(|line| line.strip_prefix("data: ")).filter(|data| !data.is_empty());
    let events: Vec<Value> = said.map(read).collect();
    (status, if events.is_empty() { vec![read(&body)] } else { events })
}

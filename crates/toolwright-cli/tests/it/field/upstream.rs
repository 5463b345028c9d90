//! An MCP server over HTTP inside the test: the tools of a case, and calls that are answered over an event stream as the test says.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};

use serde_json::{Value, json};

/// The server. It ends with the process of the test.
pub(super) struct Upstream {
    pub(super) url: String,
    seen: Arc<Mutex<Vec<Seen>>>,
}

/// A request as it came.
#[derive(Clone)]
pub(super) struct Seen {
    pub(super) headers: BTreeMap<String, String>,
    pub(super) body: Value,
}

/// A call that is to be answered.
pub(super) struct Call<'s> {
    pub(super) name: String,
    pub(super) seen: Seen,
    stream: &'s mut TcpStream,
}

type Answer = dyn Fn(&mut Call<'_>) + Send + Sync;

impl Upstream {
    /// The tools of a case, each call answered by that.
    pub(super) fn of(case: &Value, answer: impl Fn(&mut Call<'_>) + Send + Sync + 'static) -> Self {
        let tools = case["tools"].as_array().unwrap().iter();
        let tools: Vec<Value> = tools.map(|tool| json!({"name": tool["name"], "inputSchema": tool["inputSchema"]})).collect();
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}/mcp", listener.local_addr().unwrap());
        let seen = Arc::new(Mutex::new(Vec::new()));
        let (all, answer): (_, Arc<Answer>) = (seen.clone(), Arc::new(answer));
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                let (all, answer, tools) = (all.clone(), answer.clone(), tools.clone());
                std::thread::spawn(move || {
                    let mut stream = stream.unwrap();
                    if let Some(seen) = read(&stream) {
                        all.lock().unwrap().push(seen.clone());
                        reply(&mut stream, seen, &tools, &*answer);
                    }
                });
            }
        });
        Self { url, seen }
    }

    /// Every request so far.
    pub(super) fn seen(&self) -> Vec<Seen> {
        self.seen.lock().unwrap().clone()
    }

    /// The arguments of every call so far.
    pub(super) fn arguments(&self) -> Vec<Value> {
        self.seen().iter().filter(|seen| seen.body["method"] == "tools/call").map(|seen| seen.body["params"]["arguments"].clone()).collect()
    }
}

impl Call<'_> {
    /// Says how far it is. `false`: nobody hears it any more.
    pub(super) fn progress(&mut self, done: u32) -> bool {
        let token = &self.seen.body["params"]["_meta"]["progressToken"];
        assert!(!token.is_null(), "nobody asked for progress: {}", self.seen.body);
        let told = json!({"jsonrpc": "2.0", "method": "notifications/progress", "params": {"progressToken": token, "progress": done}});
        self.event(&told)
    }

    /// Ends it with this result.
    pub(super) fn result(&mut self, result: &Value) {
        self.event(&json!({"jsonrpc": "2.0", "id": self.seen.body["id"], "result": result}));
    }

    /// Ends it with this error.
    pub(super) fn error(&mut self, error: &Value) {
        self.event(&json!({"jsonrpc": "2.0", "id": self.seen.body["id"], "error": error}));
    }

    fn event(&mut self, message: &Value) -> bool {
        write!(self.stream, "data: {message}\n\n").and_then(|()| self.stream.flush()).is_ok()
    }
}

fn read(stream: &TcpStream) -> Option<Seen> {
    let mut reader = BufReader::new(stream);
    let mut line = String::new();
    reader.read_line(&mut line).ok()?;
    if !line.starts_with("POST ") {
        let _ = (&mut &*stream).write_all(b"HTTP/1.1 405 X\r\ncontent-length: 0\r\nconnection: close\r\n\r\n");
        return None;
    }
    let mut headers = BTreeMap::new();
    loop {
        line.clear();
        reader.read_line(&mut line).ok()?;
        let Some((name, value)) = line.trim().split_once(':') else { break };
        headers.insert(name.to_ascii_lowercase(), value.trim().to_owned());
    }
    let mut body = vec![0; headers["content-length"].parse().unwrap()];
    reader.read_exact(&mut body).ok()?;
    Some(Seen { headers, body: serde_json::from_slice(&body).unwrap() })
}

fn reply(stream: &mut TcpStream, seen: Seen, tools: &[Value], answer: &Answer) {
    let (status, result) = match seen.body["method"].as_str().unwrap() {
        "initialize" => {
            (200, json!({"protocolVersion": "2025-06-18", "capabilities": {"tools": {}}, "serverInfo": {"name": "up", "version": "1"}}))
        }
        "tools/list" => (200, json!({"tools": tools})),
        "tools/call" => {
            let _ = stream.write_all(b"HTTP/1.1 200 X\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n");
            let name = seen.body["params"]["name"].as_str().unwrap().to_owned();
            return answer(&mut Call { name, seen, stream });
        }
        "server/discover" => (400, Value::Null),
        _ => (202, Value::Null),
    };
    let body = match result {
        Value::Null => String::new(),
        result => json!({"jsonrpc": "2.0", "id": seen.body["id"], "result": result}).to_string(),
    };
    let head =
        format!("HTTP/1.1 {status} X\r\ncontent-type: application/json\r\ncontent-length: {}\r\nconnection: close\r\n\r\n", body.len());
    let _ = stream.write_all(head.as_bytes()).and_then(|()| stream.write_all(body.as_bytes()));
}

//! A scripted MCP endpoint over HTTP/1.1: sessions that can be forgotten, replies of any shape.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::{TcpListener, TcpStream};

/// A request as it arrived.
#[derive(Clone, Debug, Default)]
pub(crate) struct Seen {
    pub(crate) verb: String,
    pub(crate) headers: HashMap<String, String>,
    pub(crate) body: String,
    /// The JSON-RPC method, empty for none.
    pub(crate) method: String,
    /// The text of the JSON-RPC id, empty for none.
    pub(crate) id: String,
    /// The text of its progress token, empty for none.
    pub(crate) token: String,
}

/// How a call is answered. `<id>` stands for the request's id.
#[derive(Clone, Debug)]
pub(crate) enum Reply {
    /// A JSON body.
    Json(String),
    /// Events, one message each, with a pause after each.
    Events(Vec<String>, Duration),
    /// That status with that body and content type.
    Status(u16, &'static str, String),
    /// The connection is cut after the head of an event stream.
    Cut,
    /// Nothing ever comes.
    Hang,
    /// An event stream with that text, which then ends.
    Stream(String),
}

type Answer = Box<dyn Fn(&str, usize) -> Reply + Send + Sync>;

/// What the endpoint does.
pub(crate) struct Plan {
    /// Versions of the sessionless generation it knows.
    pub(crate) discover: bool,
    /// The only version with sessions it knows; another one is refused with 400 and a list.
    pub(crate) only_version: Option<&'static str>,
    /// The header that must be there, else 401.
    pub(crate) needs: Option<(&'static str, &'static str)>,
    /// Forgets each session at once.
    pub(crate) forgetful: bool,
    /// The answer to the n-th call, by tool name.
    pub(crate) call: Answer,
    /// The answer to the n-th stream that is taken up after that event; absent = 405.
    pub(crate) resume: Option<Answer>,
}

impl Default for Plan {
    fn default() -> Self {
        Plan {
            discover: false,
            only_version: None,
            needs: None,
            forgetful: false,
            call: Box::new(|_, _| Reply::Json(result(r#"{"content":[{"type":"text","text":"ok"}]}"#))),
            resume: None,
        }
    }
}

#[derive(Default)]
struct State {
    session: Option<String>,
    sessions: usize,
    seen: Vec<Seen>,
    calls: usize,
    resumes: usize,
    connections: usize,
    /// The id of the newest call.
    call: String,
}

/// A running endpoint.
#[derive(Clone)]
pub(crate) struct Web {
    pub(crate) url: String,
    plan: Arc<Plan>,
    state: Arc<Mutex<State>>,
}

pub(crate) fn result(result: &str) -> String {
    format!(r#"{{"jsonrpc":"2.0","id":<id>,"result":{result}}}"#)
}

impl Web {
    pub(crate) async fn start(plan: Plan) -> Web {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}/mcp", listener.local_addr().unwrap());
        let web = Web { url, plan: Arc::new(plan), state: Arc::default() };
        let serving = web.clone();
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let web = serving.clone();
                tokio::spawn(async move { web.connection(stream).await });
            }
        });
        web
    }

    /// Forgets the session, as a restarted server does.
    pub(crate) fn restart(&self) {
        self.state.lock().unwrap().session = None;
    }

    /// Everything with that JSON-RPC method so far.
    pub(crate) fn seen(&self, method: &str) -> Vec<Seen> {
        let state = self.state.lock().unwrap();
        state.seen.iter().filter(|seen| seen.method == method).cloned().collect()
    }

    pub(crate) fn connections(&self) -> usize {
        self.state.lock().unwrap().connections
    }

    async fn connection(&self, stream: TcpStream) -> Option<()> {
        self.state.lock().unwrap().connections += 1;
        let _ = stream.set_nodelay(true);
        let mut stream = BufReader::new(stream);
        loop {
            let seen = read(&mut stream).await?;
            let reply = self.reply(&seen);
            let session = self.state.lock().unwrap().session.clone();
            let session = session.map(|session| format!("mcp-session-id: {session}\r\n")).unwrap_or_default();
            match reply {
                Reply::Json(body) => send(&mut stream, 200, "application/json", &session, &body, &seen).await?,
                Reply::Status(status, kind, body) => send(&mut stream, status, kind, "", &body, &seen).await?,
                Reply::Hang => std::future::pending().await,
                Reply::Stream(text) => {
                    head(&mut stream, &session).await?;
                    let call = self.state.lock().unwrap().call.clone();
                    chunk(&mut stream, &text.replace("<id>", &call)).await?;
                    chunk(&mut stream, "").await?;
                }
                Reply::Cut => {
                    head(&mut stream, &session).await?;
                    return None;
                }
                Reply::Events(events, pause) => {
                    head(&mut stream, &session).await?;
                    for event in events {
                        let event = format!("data: {}\n\n", event.replace("<id>", &seen.id).replace("<token>", &seen.token));
                        chunk(&mut stream, &event).await?;
                        tokio::time::sleep(pause).await;
                    }
                    chunk(&mut stream, "").await?;
                }
            }
        }
    }

    fn reply(&self, seen: &Seen) -> Reply {
        let mut state = self.state.lock().unwrap();
        state.seen.push(seen.clone());
        if let Some((name, value)) = self.plan.needs
            && seen.headers.get(name).map(String::as_str) != Some(value)
        {
            return Reply::Status(401, "text/plain", "no".to_owned());
        }
        if let (Some(after), Some(resume)) = (seen.headers.get("last-event-id"), &self.plan.resume) {
            state.resumes += 1;
            return resume(after, state.resumes);
        }
        if seen.verb == "GET" {
            return Reply::Status(405, "text/plain", String::new());
        }
        if seen.verb == "DELETE" {
            return Reply::Status(200, "text/plain", String::new());
        }
        match seen.method.as_str() {
            "initialize" => return self.initialize(&mut state, seen),
            "server/discover" if self.plan.discover => {
                return Reply::Json(result(
                    r#"{"supportedVersions":["2026-07-28"],"capabilities":{"tools":{}},"serverInfo":{"name":"web","version":"1"},"resultType":"complete","ttlMs":0,"cacheScope":"private"}"#,
                ));
            }
            "server/discover" => return Reply::Status(400, "text/plain", "Bad Request: no session".to_owned()),
            _ => {}
        }
        let known = self.plan.discover || seen.headers.get("mcp-session-id") == state.session.as_ref();
        if !known {
            return Reply::Status(404, "text/plain", "no such session".to_owned());
        }
        match seen.method.as_str() {
            "tools/list" => Reply::Json(result(
                r#"{"tools":[{"name":"read","inputSchema":{"type":"object","properties":{"region":{"type":"string","x-mcp-header":"Region"}}}},{"name":"write","inputSchema":{"type":"object"},"vendor":{"x":1.50}}]}"#,
            )),
            "tools/call" => {
                state.calls += 1;
                state.call.clone_from(&seen.id);
                let params: serde_json::Value = serde_json::from_str(&seen.body).unwrap();
                let name = params["params"]["name"].as_str().unwrap().to_owned();
                if self.plan.forgetful {
                    state.session = None;
                    return Reply::Status(404, "text/plain", "forgotten".to_owned());
                }
                (self.plan.call)(&name, state.calls)
            }
            _ => Reply::Status(202, "text/plain", String::new()),
        }
    }

    fn initialize(&self, state: &mut State, seen: &Seen) -> Reply {
        let params: serde_json::Value = serde_json::from_str(&seen.body).unwrap();
        let asked = params["params"]["protocolVersion"].as_str().unwrap();
        if let Some(only) = self.plan.only_version.filter(|only| *only != asked) {
            let body = format!(r#"{{"error":"unsupported protocol version","supported":["{only}"]}}"#);
            return Reply::Status(400, "text/plain", body);
        }
        state.sessions += 1;
        state.session = Some(format!("session-{}", state.sessions));
        Reply::Json(result(&format!(
            r#"{{"protocolVersion":"{asked}","capabilities":{{"tools":{{}}}},"serverInfo":{{"name":"web","version":"1"}}}}"#
        )))
    }
}

async fn read(stream: &mut BufReader<TcpStream>) -> Option<Seen> {
    let mut line = String::new();
    if stream.read_line(&mut line).await.ok()? == 0 {
        return None;
    }
    let mut seen = Seen { verb: line.split(' ').next()?.to_owned(), ..Seen::default() };
    loop {
        line.clear();
        stream.read_line(&mut line).await.ok()?;
        let Some((name, value)) = line.trim().split_once(':') else { break };
        seen.headers.insert(name.to_ascii_lowercase(), value.trim().to_owned());
    }
    let length = seen.headers.get("content-length").and_then(|length| length.parse().ok()).unwrap_or(0);
    let mut body = vec![0; length];
    stream.read_exact(&mut body).await.ok()?;
    seen.body = String::from_utf8(body).unwrap();
    if let Ok(message) = serde_json::from_str::<serde_json::Value>(&seen.body) {
        seen.method = message["method"].as_str().unwrap_or_default().to_owned();
        let token = &message["params"]["_meta"]["progressToken"];
        seen.token = if token.is_null() { String::new() } else { token.to_string() };
        seen.id = message.get("id").map(ToString::to_string).unwrap_or_default();
    }
    Some(seen)
}

async fn send(stream: &mut BufReader<TcpStream>, status: u16, kind: &str, more: &str, body: &str, seen: &Seen) -> Option<()> {
    let body = body.replace("<id>", &seen.id);
    let head = format!("HTTP/1.1 {status} X\r\ncontent-type: {kind}\r\ncontent-length: {}\r\n{more}\r\n", body.len());
    stream.write_all(head.as_bytes()).await.ok()?;
    stream.write_all(body.as_bytes()).await.ok()?;
    stream.flush().await.ok()
}

async fn head(stream: &mut BufReader<TcpStream>, more: &str) -> Option<()> {
    let head = format!("HTTP/1.1 200 X\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n{more}\r\n");
    stream.write_all(head.as_bytes()).await.ok()?;
    stream.flush().await.ok()
}

async fn chunk(stream: &mut BufReader<TcpStream>, text: &str) -> Option<()> {
    stream.write_all(format!("{:x}\r\n{text}\r\n", text.len()).as_bytes()).await.ok()?;
    stream.flush().await.ok()
}

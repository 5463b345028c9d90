//! Our server over HTTP as its clients meet it: a real endpoint on loopback, and requests made by hand.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use reqwest::{Method, RequestBuilder, Response, StatusCode};
use serde_json::{Value as Json, json};
use tokio::task::JoinHandle;
use toolwright::{CancelSource, Registry, Text, tool};
use toolwright_mcp::server::{Askers, Audience, HttpOptions, Offer, Server, ServerOptions};

#[path = "serving/access.rs"]
mod access;
#[path = "serving/oauth.rs"]
mod oauth;
#[path = "serving/sessions.rs"]
mod sessions;
#[path = "serving/single.rs"]
mod single;
#[path = "serving/streams.rs"]
mod streams;

/// The newest version with sessions, and the one without.
const SESSIONS: &str = "2025-11-25";
const SINGLE: &str = "2026-07-28";

/// What the tools of the server were made to do.
#[derive(Default)]
struct Counts {
    started: AtomicUsize,
    finished: AtomicUsize,
    cancelled: AtomicUsize,
}

impl Counts {
    fn started(&self) -> usize {
        self.started.load(Ordering::SeqCst)
    }

    fn finished(&self) -> usize {
        self.finished.load(Ordering::SeqCst)
    }

    fn cancelled(&self) -> usize {
        self.cancelled.load(Ordering::SeqCst)
    }
}

/// A server that is served.
struct Served {
    address: SocketAddr,
    stop: CancelSource,
    counts: Arc<Counts>,
    task: JoinHandle<()>,
    client: reqwest::Client,
}

fn offer(counts: &Arc<Counts>) -> Offer {
    let echo = tool("echo", "Gives back what it gets").reads().run_json(|input, _call| async move { Ok(input) });
    let counts = counts.clone();
    let slow = tool("slow", "Takes its time").writes().run_json(move |input, call| {
        let counts = counts.clone();
        async move {
            counts.started.fetch_add(1, Ordering::SeqCst);
            let number = |name: &str| input.get(name).and_then(toolwright::Value::as_u64).unwrap_or(0);
            for step in 0..number("steps") {
                call.progress("on the way", Some(step as f64), None);
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
            // A tool with side effects is told that nobody waits any more; it is not dropped.
            tokio::select! {
                () = tokio::time::sleep(Duration::from_millis(number("ms"))) => {}
                () = call.cancel().cancelled() => {
                    counts.cancelled.fetch_add(1, Ordering::SeqCst);
                    return Err(toolwright::ToolError::new("nobody waits any more"));
                }
            }
            counts.finished.fetch_add(1, Ordering::SeqCst);
            Ok(toolwright::json!({"done": true, "pad": "x".repeat(number("pad") as usize)}))
        }
    });
    let region = tool("region", "Has an argument that is mirrored in a header")
        .reads()
        .input_schema(toolwright::json!({
            "type": "object", "properties": {"region": {"type": "string", "x-mcp-header": "Region"}}, "required": ["region"]
        }))
        .run_json(|input, _call| async move { Ok(input) });
    let catalog = Registry::new().with(echo).unwrap().with(slow).unwrap().with(region).unwrap().seal();
    Offer::new(catalog).audience("readers", Audience::default().seeing(["echo"]))
}

impl Served {
    async fn new() -> Self {
        Self::with(|_, _| ()).await
    }

    async fn with(set: impl FnOnce(&mut ServerOptions, &mut HttpOptions)) -> Self {
        let counts = Arc::new(Counts::default());
        let mut options = ServerOptions::new("test", "1");
        let mut http = HttpOptions::new("127.0.0.1:0".parse().unwrap());
        set(&mut options, &mut http);
        let server = Server::new(options, Askers::new(), offer(&counts));
        let listener = server.bind_http(http).await.unwrap();
        let address = listener.address();
        let stop = CancelSource::new();
        let task = tokio::spawn(listener.serve(stop.token()));
        let _ = rustls::crypto::ring::default_provider().install_default();
        let client = reqwest::Client::builder().no_proxy().tcp_nodelay(true).build().unwrap();
        Self { address, stop, counts, task, client }
    }

    fn url(&self) -> String {
        format!("http://{}/mcp", self.address)
    }

    fn request(&self, method: Method) -> RequestBuilder {
        self.client.request(method, self.url()).header("accept", "application/json, text/event-stream")
    }

    fn post(&self, message: &Json) -> RequestBuilder {
        self.request(Method::POST).header("content-type", "application/json").body(message.to_string())
    }

    /// Begins a session and gives its id.
    async fn session(&self) -> String {
        self.session_of(SESSIONS, None).await
    }

    async fn session_of(&self, version: &str, token: Option<&str>) -> String {
        let mut post = self.post(&initialize(version));
        if let Some(token) = token {
            post = post.bearer_auth(token);
        }
        let response = post.send().await.unwrap();
        assert_eq!(response.status(), StatusCode::OK);
        let id = response.headers().get("mcp-session-id").unwrap().to_str().unwrap().to_owned();
        let reply: Json = serde_json::from_str(&response.text().await.unwrap()).unwrap();
        assert_eq!(reply["result"]["protocolVersion"], version, "{reply}");
        id
    }

    fn in_session(&self, session: &str, message: &Json) -> RequestBuilder {
        self.post(message).header("mcp-session-id", session).header("mcp-protocol-version", SESSIONS)
    }

    /// A request of the newest generation with the headers that it wants.
    fn single(&self, method: &str, params: Json) -> RequestBuilder {
        let name = params["name"].as_str().map(ToOwned::to_owned);
        let post = self.post(&single(method, params)).header("mcp-protocol-version", SINGLE).header("mcp-method", method);
        match name {
            Some(name) => post.header("mcp-name", name),
            None => post,
        }
    }

    /// Stops the server and waits until it has.
    async fn stopped(self) {
        self.stop.cancel();
        tokio::time::timeout(Duration::from_secs(10), self.task).await.unwrap().unwrap();
    }
}

fn initialize(version: &str) -> Json {
    json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {
        "protocolVersion": version, "capabilities": {}, "clientInfo": {"name": "tests", "version": "1"},
    }})
}

fn call(id: i64, tool: &str, arguments: Json) -> Json {
    json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": {"name": tool, "arguments": arguments}})
}

fn meta() -> Json {
    json!({
        "io.modelcontextprotocol/protocolVersion": SINGLE,
        "io.modelcontextprotocol/clientInfo": {"name": "tests", "version": "1"},
        "io.modelcontextprotocol/clientCapabilities": {},
    })
}

fn single(method: &str, mut params: Json) -> Json {
    params["_meta"] = meta();
    json!({"jsonrpc": "2.0", "id": 7, "method": method, "params": params})
}

async fn reply(response: Response) -> Json {
    serde_json::from_str(&response.text().await.unwrap()).unwrap()
}

fn kind(response: &Response) -> String {
    response.headers().get("content-type").map_or_else(String::new, |kind| kind.to_str().unwrap().to_owned())
}

/// The JSON-RPC error code of an answer, and its text.
async fn error(response: Response) -> (i64, String) {
    let reply = reply(response).await;
    (reply["error"]["code"].as_i64().unwrap(), reply["error"]["message"].as_str().unwrap().to_owned())
}

/// Waits until something holds.
async fn until(what: &str, holds: impl Fn() -> bool) {
    for _ in 0..500 {
        if holds() {
            return;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    panic!("{what} never came to be");
}

/// Events as they come.
struct Events {
    response: Response,
    text: String,
}

#[derive(Debug, PartialEq)]
struct Event {
    id: Option<String>,
    retry: Option<u64>,
    data: String,
}

impl Events {
    fn of(response: Response) -> Self {
        assert_eq!(response.status(), StatusCode::OK);
        assert_eq!(kind(&response), "text/event-stream");
        Self { response, text: String::new() }
    }

    /// The next event; none at the end.
    async fn next(&mut self) -> Option<Event> {
        loop {
            if let Some((event, rest)) = self.text.split_once("\n\n") {
                let event = Event::read(event);
                self.text = rest.to_owned();
                return Some(event);
            }
            let chunk = tokio::time::timeout(Duration::from_secs(10), self.response.chunk()).await.unwrap().unwrap()?;
            self.text.push_str(std::str::from_utf8(&chunk).unwrap());
        }
    }

    async fn rest(mut self) -> Vec<Event> {
        let mut events = Vec::new();
        while let Some(event) = self.next().await {
            events.push(event);
        }
        events
    }
}

impl Event {
    fn read(text: &str) -> Self {
        let mut event = Event { id: None, retry: None, data: String::new() };
        for line in text.lines() {
            match line.split_once(':').unwrap() {
                ("", _) => {}
                ("id", id) => event.id = Some(id.trim().to_owned()),
                ("retry", retry) => event.retry = Some(retry.trim().parse().unwrap()),
                ("data", data) => event.data = data.trim().to_owned(),
                (other, _) => panic!("a field {other}"),
            }
        }
        event
    }

    fn message(&self) -> Json {
        serde_json::from_str(&self.data).unwrap()
    }
}

fn text(text: impl Into<Text>) -> Text {
    text.into()
}

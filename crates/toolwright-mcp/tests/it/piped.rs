//! A client at the other end of a pipe, that says exactly what a test wants to have said.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader, DuplexStream, WriteHalf};
use tokio::sync::mpsc;
use tokio::task::JoinHandle;
use toolwright::{CancelSource, Catalog, Registry, Value, json, tool};
use toolwright_mcp::server::{Askers, Caller, Offer, Server, ServerOptions};

/// How long a test waits for a message that must come.
const PATIENCE: Duration = Duration::from_secs(10);

pub(crate) struct Piped {
    out: WriteHalf<DuplexStream>,
    lines: mpsc::UnboundedReceiver<String>,
    served: JoinHandle<std::io::Result<()>>,
    pub(crate) stop: CancelSource,
    next_id: u64,
    /// What came while an answer was awaited.
    pub(crate) aside: Vec<Value>,
}

impl Piped {
    pub(crate) fn to(server: &Server) -> Self {
        Self::as_caller(server, Caller::default())
    }

    pub(crate) fn as_caller(server: &Server, caller: Caller) -> Self {
        let (mine, theirs) = tokio::io::duplex(1 << 16);
        let (reader, writer) = tokio::io::split(theirs);
        let stop = CancelSource::new();
        let (server, token) = (server.clone(), stop.token());
        let served = tokio::spawn(async move { server.serve_pipe(caller, reader, writer, token).await });
        let (reader, out) = tokio::io::split(mine);
        let (sender, lines) = mpsc::unbounded_channel();
        tokio::spawn(async move {
            let mut reader = BufReader::new(reader).lines();
            while let Ok(Some(line)) = reader.next_line().await {
                if sender.send(line).is_err() {
                    return;
                }
            }
        });
        Self { out, lines, served, stop, next_id: 1_000, aside: Vec::new() }
    }

    /// With a session of that version.
    pub(crate) async fn session(server: &Server, version: &str) -> Self {
        let mut piped = Self::to(server);
        piped.initialize(version).await;
        piped
    }

    pub(crate) async fn initialize(&mut self, version: &str) -> Value {
        let params = json!({ "protocolVersion": version, "capabilities": {}, "clientInfo": { "name": "test", "version": "1" } });
        let answer = self.ask("initialize", params).await;
        self.say(r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#).await;
        answer
    }

    /// Sends a line as it is.
    pub(crate) async fn say(&mut self, line: impl AsRef<[u8]>) {
        self.out.write_all(line.as_ref()).await.unwrap();
        self.out.write_all(b"\n").await.unwrap();
    }

    /// Sends a part of a line.
    pub(crate) async fn piece(&mut self, piece: &str) {
        self.out.write_all(piece.as_bytes()).await.unwrap();
    }

    pub(crate) async fn request(&mut self, id: impl Into<Value>, method: &str, params: Value) {
        let message = Value::object([("jsonrpc", "2.0".into()), ("id", id.into()), ("method", method.into()), ("params", params)]);
        self.say(message.to_json_string()).await;
    }

    pub(crate) async fn line(&mut self) -> String {
        tokio::time::timeout(PATIENCE, self.lines.recv()).await.expect("a message must come").expect("the pipe is open")
    }

    pub(crate) async fn next(&mut self) -> Value {
        let line = self.line().await;
        Value::parse(&line).unwrap_or_else(|error| panic!("{error}: {line}"))
    }

    /// The answer to a request with an id of its own; everything else that comes before it is kept aside.
    pub(crate) async fn ask(&mut self, method: &str, params: Value) -> Value {
        self.next_id += 1;
        let id = self.next_id;
        self.request(id, method, params).await;
        self.answer(&Value::from(id)).await
    }

    /// The same in the sessionless generation.
    pub(crate) async fn ask_alone(&mut self, method: &str, params: Value) -> Value {
        self.ask(method, alone(params)).await
    }

    pub(crate) async fn answer(&mut self, id: &Value) -> Value {
        loop {
            let message = self.next().await;
            if message.get("id") == Some(id) && message.get("method").is_none() {
                return message;
            }
            self.aside.push(message);
        }
    }

    /// Nothing comes for a moment.
    pub(crate) async fn quiet(&mut self) {
        let came = tokio::time::timeout(Duration::from_millis(200), self.lines.recv()).await;
        assert!(came.is_err(), "nothing should have come: {came:?}");
    }

    /// Closes the client's end of the input, and gives back what comes until the server has ended.
    pub(crate) async fn close(self) -> Vec<String> {
        let Self { mut out, mut lines, served, .. } = self;
        out.shutdown().await.unwrap();
        tokio::time::timeout(PATIENCE, served).await.expect("the server ends with its input").unwrap().unwrap();
        let mut rest = Vec::new();
        while let Some(line) = lines.recv().await {
            rest.push(line);
        }
        rest
    }
}

/// Parameters with what each request of the sessionless generation says.
pub(crate) fn alone(params: Value) -> Value {
    with_meta(params, json!({ "io.modelcontextprotocol/protocolVersion": "2026-07-28", "io.modelcontextprotocol/clientCapabilities": {} }))
}

pub(crate) fn with_meta(params: Value, meta: Value) -> Value {
    Value::from(params.as_object().cloned().unwrap_or_default().with("_meta", meta))
}

pub(crate) fn code(message: &Value) -> Option<i64> {
    message.pointer("/error/code").and_then(Value::as_i64)
}

pub(crate) fn words(message: &Value) -> &str {
    message.pointer("/error/message").and_then(Value::as_str).unwrap_or_default()
}

/// The text of a tool's result.
pub(crate) fn text(message: &Value) -> &str {
    message.pointer("/result/content/0/text").and_then(Value::as_str).unwrap_or_default()
}

/// What the tools of [`catalog`] did.
#[derive(Clone, Debug, Default)]
pub(crate) struct Seen {
    pub(crate) started: Arc<AtomicUsize>,
    pub(crate) finished: Arc<AtomicUsize>,
    pub(crate) cancelled: Arc<AtomicUsize>,
}

impl Seen {
    pub(crate) fn counts(&self) -> (usize, usize, usize) {
        let count = |counter: &AtomicUsize| counter.load(Ordering::SeqCst);
        (count(&self.started), count(&self.finished), count(&self.cancelled))
    }

    pub(crate) async fn until(&self, counts: (usize, usize, usize)) {
        for _ in 0..500 {
            if self.counts() == counts {
                return;
            }
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        assert_eq!(self.counts(), counts, "started, finished, cancelled");
    }
}

/// `echo` gives `v` back after `ms` milliseconds and can be cancelled meanwhile; the others do nothing.
pub(crate) fn catalog(seen: &Seen, more: &[&str]) -> Catalog {
    let seen = seen.clone();
    let echo = tool("echo", "Gives back what it gets").reads().run_json(move |input, call| {
        let seen = seen.clone();
        let cancel = call.cancel().clone();
        async move {
            seen.started.fetch_add(1, Ordering::SeqCst);
            let ms = input.get("ms").and_then(Value::as_u64).unwrap_or(0);
            let guard = Cancelled(seen.clone(), false);
            tokio::select! {
                () = tokio::time::sleep(Duration::from_millis(ms)), if ms > 0 => {}
                () = cancel.cancelled() => std::future::pending().await,
                () = std::future::ready(()), if ms == 0 => {}
            }
            guard.finish();
            Ok(input.get("v").cloned().unwrap_or_default())
        }
    });
    let registry = more.iter().fold(Registry::new().with(echo).unwrap(), |registry, name| {
        registry.with(tool(*name, "Nothing").reads().run_json(|_, _| async move { Ok(Value::Null) })).unwrap()
    });
    registry.seal()
}

/// Counts the end of a tool's body, whichever it is.
struct Cancelled(Seen, bool);

impl Cancelled {
    fn finish(mut self) {
        self.1 = true;
        self.0.finished.fetch_add(1, Ordering::SeqCst);
    }
}

impl Drop for Cancelled {
    fn drop(&mut self) {
        if !self.1 {
            self.0.cancelled.fetch_add(1, Ordering::SeqCst);
        }
    }
}

pub(crate) fn server_with(seen: &Seen, more: &[&str], change: impl FnOnce(&mut ServerOptions)) -> Server {
    let mut options = ServerOptions::new("tools", "1.2.3");
    options.limits.stop_grace = Duration::from_secs(2);
    change(&mut options);
    Server::new(options, Askers::new(), Offer::new(catalog(seen, more)))
}

pub(crate) fn server() -> Server {
    server_with(&Seen::default(), &[], |_| {})
}

//! An MCP server over stdio that does what a script says, good or bad. The tests of this crate run against it.
//!
//! `scripted_server SCRIPT` takes the script as JSON text; see [`Script`] and [`Act`] for what it can say.
//! `scripted_server --guard HOST_PID -- COMMAND…` is the guard of `toolwright_mcp::guard`.
//! `scripted_server --host SCRIPT` is a host with one guarded server: it calls its first tool, prints `ready`, and
//! waits to be killed.
#![expect(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::print_stderr,
    reason = "a stand-in for tests: falling over is one of the things it is for"
)]

use std::collections::HashMap;
use std::io::{BufRead, Write};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde::Deserialize;
use serde_json::value::RawValue;

/// What the server does.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
struct Script {
    /// Milliseconds before anything is read.
    start_delay_ms: u64,
    /// Only the first start is slow (needs `log`).
    slow_once: bool,
    /// Lines printed before the first message.
    noise: Vec<String>,
    /// Put directly in front of the first message, on the same line.
    before_first: String,
    /// Line ends are `\r\n`.
    crlf: bool,
    /// Ends at once with that status, after writing to stderr.
    dies: Option<Death>,
    /// Protocol versions of the sessionless generation; none: `server/discover` is unknown.
    discover: Vec<String>,
    /// Answers what it does not know with an empty result.
    empty: bool,
    /// Answers what it does not know with an error that has no id.
    forgets_ids: bool,
    /// Ends itself when asked to discover.
    dies_of_discover: bool,
    /// The only version with sessions it speaks; `initialize` with another one is refused, naming it.
    only_version: Option<String>,
    /// Pages of the tool list.
    pages: Vec<Vec<Box<RawValue>>>,
    /// The cursor given with every page, whatever page it is.
    cursor: Option<String>,
    /// What calls do, by tool name.
    tools: HashMap<String, Act>,
    /// Goes on when its stdin ends.
    stubborn: bool,
    /// Appends a line to that file at each start: its process id.
    log: Option<String>,
}

#[derive(Clone, Debug, Deserialize)]
struct Death {
    status: i32,
    words: String,
}

/// What a call does: the kind of act, and what it needs.
///
/// - `result`: answers with `result`
/// - `wire`: prints `text`, its `<id>` replaced
/// - `echo`: answers with the raw text of its arguments in a text block
/// - `meta`: answers with its `_meta` in a text block
/// - `noisy`: prints `line`, then answers
/// - `stderr`: writes that many `bytes` to stderr without a line end, then answers
/// - `deep`: answers with structured content nested as deep as the argument `n` says
/// - `large`: answers with a text of that many `bytes`
/// - `exit`: ends with `status` after its last `words`, without an answer
/// - `silent`: never answers
/// - `steady`: reports progress `times` times, each after `everyMs`, then answers; with 0 times it never does
/// - `cancelled`: answers with the ids of cancelled requests
/// - `called`: answers with the names of the tools called before, one a line
/// - `environment`: answers with the names of its environment variables, one a line
/// - `pid`: answers with its process id
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
struct Act {
    act: String,
    result: Option<Box<RawValue>>,
    text: String,
    line: String,
    bytes: usize,
    status: i32,
    words: String,
    every_ms: u64,
    times: u64,
}

/// What happened so far.
#[derive(Clone, Default)]
struct Shared {
    cancelled: Arc<Mutex<Vec<String>>>,
    called: Arc<Mutex<Vec<String>>>,
}

fn main() {
    let args: Vec<String> = std::env::args().skip(1).collect();
    match args.first().map(String::as_str) {
        Some("--guard") => std::process::exit(toolwright_mcp::guard::run(args.into_iter().skip(1).map(Into::into))),
        Some("--host") => host(&args[1]),
        Some(script) => serve(serde_json::from_str(script).expect("a script")),
        None => std::process::exit(2),
    }
}

fn host(script: &str) {
    use toolwright_mcp::upstream::{ServerSpec, Upstream};
    let me = std::env::current_exe().unwrap().display().to_string();
    let line = format!("'{me}' \"$0\"; true");
    let mut spec = ServerSpec::stdio("s", "sh", ["-c", "trap '' TERM; sh -c \"$1\" \"$0\"; true", script, &line]);
    spec.guard = Some(vec![me, "--guard".to_owned()]);
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let upstream = Upstream::new(spec);
        upstream.tools().await.unwrap();
        say("ready");
        std::future::pending::<()>().await;
    });
}

fn serve(script: Script) {
    let again = script.log.as_ref().is_some_and(|path| std::path::Path::new(path).exists());
    if let Some(path) = &script.log {
        let mut log = std::fs::OpenOptions::new().create(true).append(true).open(path).unwrap();
        writeln!(log, "{}", std::process::id()).unwrap();
    }
    if let Some(death) = &script.dies {
        die(death.status, &death.words);
    }
    if !(script.slow_once && again) {
        std::thread::sleep(Duration::from_millis(script.start_delay_ms));
    }
    for line in &script.noise {
        say(line);
    }
    let so_far = Shared::default();
    let mut first = true;
    for line in std::io::stdin().lock().lines() {
        let Ok(line) = line else { break };
        let Some(reply) = answer(&script, &line, &so_far) else { continue };
        let lead = if std::mem::take(&mut first) { script.before_first.as_str() } else { "" };
        say(&format!("{lead}{reply}{}", if script.crlf { "\r" } else { "" }));
    }
    if script.stubborn {
        loop {
            std::thread::sleep(Duration::from_secs(1));
        }
    }
}

fn say(line: &str) {
    let mut out = std::io::stdout().lock();
    let _ = writeln!(out, "{line}");
    let _ = out.flush();
}

fn die(status: i32, words: &str) -> ! {
    eprintln!("{words}");
    std::process::exit(status)
}

#[derive(Deserialize)]
struct Request<'a> {
    id: Option<serde_json::Value>,
    method: String,
    #[serde(borrow)]
    params: Option<&'a RawValue>,
}

fn answer(script: &Script, line: &str, so_far: &Shared) -> Option<String> {
    let request: Request<'_> = serde_json::from_str(line).ok()?;
    let params = request.params.map_or("{}", RawValue::get);
    let shallow: serde_json::Value = serde_json::from_str(params).unwrap_or_default();
    let Some(id) = request.id else {
        if request.method == "notifications/cancelled" {
            so_far.cancelled.lock().unwrap().push(shallow["requestId"].to_string());
        }
        return None;
    };
    let id = id.to_string();
    match request.method.as_str() {
        "server/discover" if script.dies_of_discover => die(1, "unknown method"),
        "server/discover" if !script.discover.is_empty() => {
            let versions = serde_json::to_string(&script.discover).unwrap();
            Some(result(
                &id,
                &format!(
                    r#"{{"supportedVersions":{versions},"capabilities":{{"tools":{{}}}},"serverInfo":{{"name":"scripted","version":"1"}},"resultType":"complete","ttlMs":0,"cacheScope":"private"}}"#
                ),
            ))
        }
        "initialize" => Some(initialize(script, &id, &shallow)),
        "tools/list" => Some(result(&id, &page(script, &shallow))),
        "tools/call" => call(script, &id, params, so_far),
        "ping" => Some(result(&id, "{}")),
        _ if script.empty => Some(result(&id, "{}")),
        _ if script.forgets_ids => Some(r#"{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"what?"}}"#.to_owned()),
        other => Some(format!(r#"{{"jsonrpc":"2.0","id":{id},"error":{{"code":-32601,"message":"no method {other}"}}}}"#)),
    }
}

fn result(id: &str, result: &str) -> String {
    format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{result}}}"#)
}

fn initialize(script: &Script, id: &str, params: &serde_json::Value) -> String {
    let asked = params["protocolVersion"].as_str().unwrap_or("2025-11-25");
    if let Some(only) = script.only_version.as_deref().filter(|only| *only != asked) {
        return format!(
            r#"{{"jsonrpc":"2.0","id":{id},"error":{{"code":-32602,"message":"unsupported version","data":{{"supported":["{only}"]}}}}}}"#
        );
    }
    result(
        id,
        &format!(r#"{{"protocolVersion":"{asked}","capabilities":{{"tools":{{}}}},"serverInfo":{{"name":"scripted","version":"1"}}}}"#),
    )
}

fn page(script: &Script, params: &serde_json::Value) -> String {
    let at: usize = params["cursor"].as_str().and_then(|cursor| cursor.parse().ok()).unwrap_or(0);
    let tools = script.pages.get(at).map(Vec::as_slice).unwrap_or_default();
    let tools: Vec<&str> = tools.iter().map(|tool| tool.get()).collect();
    let next = match &script.cursor {
        Some(cursor) => Some(cursor.clone()),
        None => (at + 1 < script.pages.len()).then(|| (at + 1).to_string()),
    };
    let next = next.map(|next| format!(r#","nextCursor":"{next}""#)).unwrap_or_default();
    format!(r#"{{"tools":[{}]{next}}}"#, tools.join(","))
}

fn text(id: &str, text: &str) -> String {
    let text = serde_json::to_string(text).unwrap();
    result(id, &format!(r#"{{"content":[{{"type":"text","text":{text}}}]}}"#))
}

fn call(script: &Script, id: &str, params: &str, so_far: &Shared) -> Option<String> {
    #[derive(Deserialize)]
    struct Params<'a> {
        name: String,
        #[serde(borrow)]
        arguments: Option<&'a RawValue>,
        #[serde(rename = "_meta")]
        meta: Option<serde_json::Value>,
    }
    let params: Params<'_> = serde_json::from_str(params).unwrap();
    let arguments = params.arguments.map_or("", RawValue::get);
    let Some(act) = script.tools.get(&params.name) else {
        return Some(format!(r#"{{"jsonrpc":"2.0","id":{id},"error":{{"code":-32602,"message":"no tool {}"}}}}"#, params.name));
    };
    if act.act != "called" {
        so_far.called.lock().unwrap().push(params.name.clone());
    }
    match act.act.as_str() {
        "result" => Some(result(id, act.result.as_ref().map_or("null", |raw| raw.get()))),
        "wire" => Some(act.text.replace("<id>", id)),
        "echo" => Some(text(id, arguments)),
        "meta" => Some(text(id, &params.meta.clone().unwrap_or_default().to_string())),
        "noisy" => {
            say(&act.line);
            Some(text(id, "done"))
        }
        "stderr" => {
            let _ = std::io::stderr().write_all("x".repeat(act.bytes).as_bytes());
            let _ = std::io::stderr().write_all(b"the tail");
            Some(text(id, "done"))
        }
        "deep" => {
            let asked: serde_json::Value = serde_json::from_str(arguments).unwrap();
            let n = asked["n"].as_u64().unwrap_or(1) as usize;
            let deep = format!("{}{}", "[".repeat(n), "]".repeat(n));
            Some(result(id, &format!(r#"{{"content":[],"structuredContent":{deep}}}"#)))
        }
        "large" => Some(text(id, &"y".repeat(act.bytes))),
        "exit" => die(act.status, &act.words),
        "steady" => {
            let token = params.meta.map(|meta| meta["progressToken"].to_string()).unwrap_or_default();
            let (id, act) = (id.to_owned(), act.clone());
            std::thread::spawn(move || steady(&id, &token, &act));
            None
        }
        "cancelled" => Some(text(id, &so_far.cancelled.lock().unwrap().join(","))),
        "called" => Some(text(id, &so_far.called.lock().unwrap().join("\n"))),
        "environment" => {
            let names: Vec<String> = std::env::vars().map(|(name, _)| name).collect();
            Some(text(id, &names.join("\n")))
        }
        "pid" => Some(text(id, &std::process::id().to_string())),
        _ => None,
    }
}

fn steady(id: &str, token: &str, act: &Act) {
    let mut done = 0_u64;
    while act.times == 0 || done < act.times {
        std::thread::sleep(Duration::from_millis(act.every_ms));
        done += 1;
        say(&format!(
            r#"{{"jsonrpc":"2.0","method":"notifications/progress","params":{{"progressToken":{token},"progress":{done}.5,"message":"at {done}"}}}}"#
        ));
    }
    say(&text(id, "done"));
}

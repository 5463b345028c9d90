//! What all tests share: the scripted server's path, specs for it, and calls the way a host makes them.

use std::path::PathBuf;
use std::process::Command;
use std::sync::OnceLock;
use std::time::Duration;

use toolwright::{ToolDef, Value};
use toolwright_mcp::upstream::{Listing, ServerSpec, Upstream};

/// The scripted server. `cargo test` has built it; a run of this test target alone builds it here.
pub(crate) fn program() -> String {
    static PATH: OnceLock<PathBuf> = OnceLock::new();
    let path = PATH.get_or_init(|| {
        let deps = std::env::current_exe().unwrap();
        let path = deps.parent().unwrap().parent().unwrap().join("examples/scripted_server");
        if !path.exists() {
            let cargo = std::env::var("CARGO").unwrap_or_else(|_| "cargo".to_owned());
            let built = Command::new(cargo)
                .args(["build", "--quiet", "--package", "toolwright-mcp", "--example", "scripted_server"])
                .status()
                .unwrap();
            assert!(built.success());
        }
        path
    });
    path.display().to_string()
}

/// A spec for the scripted server, with limits that suit tests.
pub(crate) fn spec(script: &str) -> ServerSpec {
    let mut spec = ServerSpec::stdio("s", program(), [script]);
    spec.shutdown_grace = Duration::from_millis(300);
    spec.call_timeout = Duration::from_secs(20);
    spec
}

pub(crate) fn upstream(script: &str) -> Upstream {
    Upstream::new(spec(script))
}

/// A script with one tool per act, in one page.
pub(crate) fn script(acts: &[(&str, &str)]) -> String {
    let tools: Vec<String> = acts
        .iter()
        .map(|(name, _)| format!(r#"{{"name":"{name}","inputSchema":{{"type":"object","properties":{{}}}}}}"#))
        .collect();
    let acts: Vec<String> = acts.iter().map(|(name, act)| format!(r#""{name}":{act}"#)).collect();
    format!(r#"{{"pages":[[{}]],"tools":{{{}}}}}"#, tools.join(","), acts.join(","))
}

/// The same with more members in front.
pub(crate) fn script_with(more: &str, acts: &[(&str, &str)]) -> String {
    script(acts).replacen('{', &format!("{{{more},"), 1)
}

pub(crate) fn json(text: &str) -> Value {
    Value::parse(text).unwrap()
}

pub(crate) fn named<'a>(listing: &'a Listing, id: &str) -> &'a ToolDef {
    listing.tools.iter().find(|tool| tool.id().as_str() == id).unwrap_or_else(|| panic!("no tool {id}"))
}

/// What a call came to.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Done {
    pub(crate) output: Option<Value>,
    pub(crate) content: Option<Value>,
    pub(crate) details: Option<Value>,
    pub(crate) notes: Vec<String>,
}

/// Why a call failed.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Failed {
    pub(crate) code: String,
    pub(crate) message: String,
    pub(crate) details: Option<Value>,
    pub(crate) content: Option<Value>,
    pub(crate) happened: Happened,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Happened {
    Nothing,
    Unknown,
    Failed,
}

/// A running call that can be cancelled.
pub(crate) struct Running {
    pub(crate) cancel: tokio_util::sync::CancellationToken,
    pub(crate) handle: tokio::task::JoinHandle<Result<Done, Failed>>,
    pub(crate) progress: std::sync::Arc<std::sync::Mutex<Vec<toolwright::Text>>>,
}

pub(crate) fn start(listing: &Listing, id: &str, input: &str) -> Running {
    let tool = named(listing, id).clone();
    let (call, cancel) = toolwright::Call::test();
    let progress = call.progress.clone();
    let input = json(input);
    let handle = tokio::spawn(async move {
        match tool.handler.handle(input, call).await {
            Ok(answer) => Ok(Done {
                output: answer.output,
                content: answer.content,
                details: answer.details,
                notes: answer.notes.iter().map(ToString::to_string).collect(),
            }),
            Err(error) => Err(Failed {
                code: error.code.to_string(),
                message: error.message.to_string(),
                details: error.details,
                content: error.content,
                happened: match (error.nothing, error.unknown) {
                    (true, _) => Happened::Nothing,
                    (_, true) => Happened::Unknown,
                    _ => Happened::Failed,
                },
            }),
        }
    });
    Running { cancel, handle, progress }
}

pub(crate) async fn call(listing: &Listing, id: &str, input: &str) -> Result<Done, Failed> {
    start(listing, id, input).handle.await.unwrap()
}

/// The text a tool answered with.
pub(crate) async fn text(listing: &Listing, id: &str) -> String {
    let done = call(listing, id, "{}").await.unwrap();
    done.output.unwrap().as_str().unwrap().to_owned()
}

/// Whether a process with that id runs; a zombie counts.
pub(crate) fn lives(pid: u32) -> bool {
    std::path::Path::new(&format!("/proc/{pid}")).exists()
}

/// Waits until something holds, at most that long.
pub(crate) async fn eventually(limit: Duration, mut holds: impl FnMut() -> bool) -> bool {
    let end = std::time::Instant::now() + limit;
    while std::time::Instant::now() < end {
        if holds() {
            return true;
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    holds()
}

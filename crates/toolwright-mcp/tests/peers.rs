//! Real servers from npm. `TOOLWRIGHT_PEERS` names the folder with their `node_modules`; without it nothing runs here
//! (`cargo xtask test` installs them and sets it).
#![expect(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on says so by panicking")]

#[path = "it/calls.rs"]
mod calls;

use std::path::PathBuf;
use std::time::Duration;

use calls::{Happened, call, eventually, json, lives, named, start};
use toolwright::{Impact, Value};
use toolwright_mcp::upstream::{ServerSpec, State, Upstream};

/// The script of an installed server, if the peers are there.
fn script(package: &str, file: &str) -> Option<String> {
    let folder = PathBuf::from(std::env::var_os("TOOLWRIGHT_PEERS")?);
    let path = folder.join("node_modules").join(package).join(file);
    assert!(path.exists(), "{} is not installed", path.display());
    Some(path.display().to_string())
}

fn node(package: &str, file: &str, more: &[&str]) -> Option<Upstream> {
    let mut args = vec![script(package, file)?];
    args.extend(more.iter().map(|arg| (*arg).to_owned()));
    let mut spec = ServerSpec::stdio("n", "node", args);
    spec.trust_hints = true;
    spec.start_timeout = Duration::from_secs(60);
    Some(Upstream::new(spec))
}

/// A folder of its own for a test, gone with it.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Folder {
        let path = std::env::temp_dir().join(format!("toolwright-peers-{name}-{}", std::process::id()));
        std::fs::create_dir_all(&path).unwrap();
        Folder(path.canonicalize().unwrap())
    }

    fn file(&self, name: &str) -> String {
        self.0.join(name).display().to_string()
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_file_server_reads_writes_and_says_what_went_wrong() {
    let folder = Folder::new("files");
    let Some(server) = node("@modelcontextprotocol/server-filesystem", "dist/index.js", &[&folder.file("")]) else { return };
    let listing = server.tools().await.unwrap();
    assert_eq!(listing.tools.len(), 14);
    assert!(listing.skipped.is_empty() && listing.warnings.is_empty(), "{listing:?}");
    assert!(listing.tools.iter().all(|tool| tool.output_schema().is_some()));
    let impact = |id: &str| named(&listing, id).effect().map(|effect| effect.impact);
    assert_eq!(impact("n_read_text_file"), Some(Impact::None));
    assert_eq!(impact("n_edit_file"), Some(Impact::Once));

    let text = "größer 12345678901234567890123\n";
    let input = Value::object([("path", folder.file("a.txt").as_str()), ("content", text)]).to_json_string();
    call(&listing, "n_write_file", &input).await.unwrap();
    assert_eq!(std::fs::read_to_string(folder.file("a.txt")).unwrap(), text);
    let input = Value::object([("path", folder.file("a.txt"))]).to_json_string();
    let done = call(&listing, "n_read_text_file", &input).await.unwrap();
    assert_eq!(done.output.unwrap().get("content").unwrap().as_str(), Some(text));

    let input = Value::object([("path", folder.file("none.txt"))]).to_json_string();
    let failed = call(&listing, "n_read_text_file", &input).await.unwrap_err();
    assert!(failed.message.contains("ENOENT"), "{}", failed.message);
    assert!(failed.details.unwrap().get("content").is_some());
    server.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_killed_server_ends_its_calls_and_comes_back() {
    let Some(server) = node("@modelcontextprotocol/server-everything", "dist/index.js", &["stdio"]) else { return };
    let listing = server.tools().await.unwrap();
    let pid = server.status().pid.unwrap();
    let running = start(&listing, "n_trigger-long-running-operation", r#"{"duration":30,"steps":30}"#);
    assert!(eventually(Duration::from_secs(10), || !running.progress.lock().unwrap().is_empty()).await);
    std::process::Command::new("kill").args(["-9", &pid.to_string()]).status().unwrap();
    let failed = running.handle.await.unwrap().unwrap_err();
    assert_eq!((failed.code.as_str(), failed.happened), ("upstream_exited", Happened::Unknown));
    assert!(failed.message.contains("SIGKILL"), "{}", failed.message);
    let done = call(&listing, "n_echo", r#"{"message":"again"}"#).await.unwrap();
    assert_eq!(done.output.unwrap().as_str(), Some("Echo: again"));
    assert_eq!(server.status().restarts, 1);
    assert!(!lives(pid));
}

#[tokio::test(flavor = "multi_thread")]
async fn the_server_of_everything_gives_every_shape_of_result() {
    let Some(server) = node("@modelcontextprotocol/server-everything", "dist/index.js", &["stdio"]) else { return };
    let listing = server.tools().await.unwrap();
    assert_eq!(listing.tools.len(), 13, "{:?}", listing.tools);
    let done = call(&listing, "n_get-structured-content", r#"{"location":"Chicago"}"#).await.unwrap();
    assert!(done.output.unwrap().get("temperature").is_some());
    let done = call(&listing, "n_get-tiny-image", "{}").await.unwrap();
    assert_eq!(done.content.unwrap().pointer("/1/type"), Some(&json(r#""image""#)));
    let done = call(&listing, "n_trigger-long-running-operation", r#"{"duration":1,"steps":4}"#).await.unwrap();
    assert!(done.output.unwrap().as_str().unwrap().contains("completed"));
    // Its environment is ours no longer: only what was let through.
    let done = call(&listing, "n_get-env", "{}").await.unwrap();
    assert!(!done.output.unwrap().as_str().unwrap().contains("CARGO"));
    assert_eq!(server.status().protocol_version.as_deref(), Some("2025-11-25"));
    server.shutdown().await;
    assert_eq!(server.status().state, State::Stopped);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_real_server_is_told_of_a_cancelled_call() {
    let Some(server) = node("@modelcontextprotocol/server-everything", "dist/index.js", &["stdio"]) else { return };
    let listing = server.tools().await.unwrap();
    let running = start(&listing, "n_trigger-long-running-operation", r#"{"duration":30,"steps":60}"#);
    assert!(eventually(Duration::from_secs(10), || !running.progress.lock().unwrap().is_empty()).await);
    running.cancel.cancel();
    let failed = running.handle.await.unwrap().unwrap_err();
    // It says that it changes nothing, and is believed here; so it was dropped at once.
    assert_eq!((failed.code.as_str(), failed.happened), ("cancelled", Happened::Nothing));
    let done = call(&listing, "n_echo", r#"{"message":"still here"}"#).await.unwrap();
    assert_eq!(done.output.unwrap().as_str(), Some("Echo: still here"));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_of_the_first_version_is_understood() {
    let Some(server) = node("mcp-server-commands", "build/index.js", &[]) else { return };
    let listing = server.tools().await.unwrap();
    assert_eq!(listing.tools.len(), 1);
    assert_eq!(server.status().protocol_version.as_deref(), Some("2024-11-05"));
}

#[tokio::test(flavor = "multi_thread")]
async fn the_memory_server_lists_its_tools() {
    let folder = Folder::new("memory");
    let Some(path) = script("@modelcontextprotocol/server-memory", "dist/index.js") else { return };
    let mut spec = ServerSpec::stdio("n", "node", [path]);
    if let toolwright_mcp::upstream::Transport::Stdio { env, .. } = &mut spec.transport {
        env.push(("MEMORY_FILE_PATH".to_owned(), folder.file("memory.json")));
    }
    let server = Upstream::new(spec);
    let listing = server.tools().await.unwrap();
    assert_eq!(listing.tools.len(), 9);
    let done = call(&listing, "n_read_graph", "{}").await.unwrap();
    assert_eq!(done.output.unwrap().get("entities"), Some(&json("[]")));
}

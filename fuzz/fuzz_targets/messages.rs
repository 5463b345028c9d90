//! Any bytes as the input of a served pipe: no panic, one answer a line, every line a message, and a server that still works.
#![no_main]

use std::sync::OnceLock;
use std::time::Duration;

use libfuzzer_sys::fuzz_target;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use toolwright::{CancelToken, Registry, Value, tool};
use toolwright_mcp::server::{Askers, Caller, Offer, Server, ServerOptions};

const CANARY: &[u8] = b"\n{\"jsonrpc\":\"2.0\",\"id\":\"canary\",\"method\":\"initialize\",\"params\":{\"protocolVersion\":\"2025-06-18\"}}\n";

fn runtime() -> &'static tokio::runtime::Runtime {
    static RUNTIME: OnceLock<tokio::runtime::Runtime> = OnceLock::new();
    RUNTIME.get_or_init(|| tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime"))
}

fn server() -> Server {
    let echo = tool("echo", "Gives back what it gets").reads().run_json(|input, _call| async move { Ok(input) });
    let catalog = Registry::new().with(echo).expect("one tool").seal();
    let mut options = ServerOptions::new("fuzz", "0");
    options.limits.message_bytes_max = 64 * 1024;
    options.limits.stop_grace = Duration::from_millis(100);
    Server::new(options, Askers::new(), Offer::new(catalog))
}

fuzz_target!(|bytes: &[u8]| {
    runtime().block_on(async {
        let (mine, theirs) = tokio::io::duplex(1 << 20);
        let (reader, writer) = tokio::io::split(theirs);
        let served = tokio::spawn(async move { server().serve_pipe(Caller::default(), reader, writer, CancelToken::never()).await });
        let (mut answers, mut out) = tokio::io::split(mine);
        let written = [bytes, CANARY].concat();
        let (_, read) = tokio::join!(
            async {
                out.write_all(&written).await.expect("the server reads");
                out.shutdown().await.expect("the server reads");
            },
            async {
                let mut text = String::new();
                answers.read_to_string(&mut text).await.expect("the server writes text");
                text
            }
        );
        served.await.expect("no panic").expect("no broken pipe");
        for line in read.lines() {
            let message = Value::parse(line).expect("a message");
            let messages = message.as_array().unwrap_or(std::slice::from_ref(&message));
            assert!(messages.iter().all(|message| message.get("jsonrpc").and_then(Value::as_str) == Some("2.0")), "{line}");
        }
        assert!(read.lines().any(|line| line.contains("\"id\":\"canary\"")), "{read}");
    });
});

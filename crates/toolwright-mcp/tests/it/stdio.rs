//! Framing: what stands on stdout beside messages, what cannot be read, what must survive to the last digit.

use std::time::{Duration, Instant};

use crate::calls::{Happened, call, json};
use crate::server::{script, script_with, spec, text, upstream};
use toolwright::Value;
use toolwright_mcp::upstream::{Era, Upstream};

/// C26
#[tokio::test(flavor = "multi_thread")]
async fn noise_on_stdout_is_skipped_counted_and_told() {
    let noise = r#""noise":["🚀 my-server v1.0 ready","","\u001b[32mINFO\u001b[0m listening"]"#;
    let server = upstream(&script_with(noise, &[("ok", r#"{"act":"noisy","line":"log: called"}"#)]));
    let listing = server.tools().await.unwrap();
    assert_eq!(text(&listing, "s_ok").await, "done");
    let status = server.status();
    assert_eq!(status.noise_lines, 4);
    assert_eq!(status.first_noise.as_deref(), Some("🚀 my-server v1.0 ready"));
    server.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_byte_order_mark_and_windows_line_ends_are_no_noise() {
    let server = upstream(&script_with(r#""beforeFirst":"\ufeff","crlf":true"#, &[("ok", r#"{"act":"pid"}"#)]));
    let listing = server.tools().await.unwrap();
    text(&listing, "s_ok").await;
    assert_eq!(server.status().noise_lines, 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn json_that_is_no_message_is_noise() {
    let noise = r#""noise":["{\"level\":\"info\",\"msg\":\"up\"}","[1,2]","[]","{}","\"x\"","{broken"]"#;
    let server = upstream(&script_with(noise, &[("ok", r#"{"act":"pid"}"#)]));
    text(&server.tools().await.unwrap(), "s_ok").await;
    assert!(server.status().noise_lines >= 5, "{:?}", server.status());
}

/// C20
#[tokio::test(flavor = "multi_thread")]
async fn a_lone_surrogate_is_replaced_and_flagged() {
    let wire = r#"{"jsonrpc":"2.0","id":<id>,"result":{"content":[{"type":"text","text":"a\ud83d b\u0000c \ud83d\ude00"}]}}"#;
    let act = Value::object([("act", "wire"), ("text", wire)]).to_json_string();
    let server = upstream(&script(&[("snap", &act)]));
    let listing = server.tools().await.unwrap();
    for _ in 0..2 {
        let done = call(&listing, "s_snap", "{}").await.unwrap();
        assert_eq!(done.output.unwrap().as_str(), Some("a\u{FFFD} b\0c 😀"));
        assert_eq!(done.notes.len(), 1, "{:?}", done.notes);
        assert!(done.notes[0].starts_with("1 "), "{:?}", done.notes);
    }
}

/// C21
#[tokio::test(flavor = "multi_thread")]
async fn a_too_deep_answer_fails_its_call_and_names_the_limit() {
    let server = upstream(&script(&[("deep", r#"{"act":"deep"}"#), ("ok", r#"{"act":"pid"}"#)]));
    let listing = server.tools().await.unwrap();
    let done = call(&listing, "s_deep", r#"{"n":100}"#).await.unwrap();
    assert_eq!(done.output.unwrap().depth(), 100);
    let pid = text(&listing, "s_ok").await;
    for n in [5_000, 100_000] {
        let failed = call(&listing, "s_deep", &format!(r#"{{"n":{n}}}"#)).await.unwrap_err();
        assert_eq!(failed.code, "upstream_protocol_error");
        assert!(failed.message.contains("128"), "{}", failed.message);
        assert_eq!(failed.happened, Happened::Unknown);
    }
    assert_eq!(text(&listing, "s_ok").await, pid);
}

#[tokio::test(flavor = "multi_thread")]
async fn replies_that_cannot_be_read_end_their_call_at_once() {
    let wires = [
        ("nan", r#"{"jsonrpc":"2.0","id":<id>,"result":{"content":[],"structuredContent":{"mean":NaN}}}"#),
        ("neither", r#"{"jsonrpc":"2.0","id":<id>}"#),
        ("cut", r#"{"jsonrpc":"2.0","id":<id>,"result":{"content":[]}"#),
        ("null", r#"{"jsonrpc":"2.0","id":<id>,"result":null}"#),
        ("list", r#"{"jsonrpc":"2.0","id":<id>,"result":[]}"#),
        ("late", r#"{"jsonrpc":"2.0","result":{"structuredContent":Infinity},"id":"<id>"}"#),
    ];
    let acts: Vec<(&str, String)> =
        wires.iter().map(|(name, wire)| (*name, Value::object([("act", "wire"), ("text", wire)]).to_json_string())).collect();
    let acts: Vec<(&str, &str)> = acts.iter().map(|(name, act)| (*name, act.as_str())).collect();
    let server = upstream(&script(&acts));
    let listing = server.tools().await.unwrap();
    for (name, _) in wires {
        let started = Instant::now();
        let failed = call(&listing, &format!("s_{name}"), "{}").await.unwrap_err();
        assert_eq!(failed.code, "upstream_protocol_error", "{name}: {failed:?}");
        assert_eq!(failed.happened, Happened::Unknown, "{name}");
        assert!(started.elapsed() < Duration::from_secs(5), "{name}");
    }
    assert_eq!(server.status().restarts, 0);
}

/// C16 (the wire's part), C17, C15 (the wire's part): arguments arrive as given.
#[tokio::test(flavor = "multi_thread")]
async fn arguments_keep_every_digit_their_order_and_their_kind_of_nothing() {
    let server = upstream(&script(&[("echo", r#"{"act":"echo"}"#)]));
    let listing = server.tools().await.unwrap();
    let inputs = [
        r#"{"z":12345678901234567890123,"a":0.1000000000000000055511151231257827,"m":1e400,"i":100,"r":2.0}"#,
        r#"{"q":"x"}"#,
        r#"{"id":"1","note":null,"tag":"","list":[],"map":{}}"#,
        r#"{"limit":9007199254740993,"big":-170141183460469231731687303715884105728}"#,
        "{}",
    ];
    for input in inputs {
        let done = call(&listing, "s_echo", input).await.unwrap();
        let seen = done.output.unwrap().as_str().unwrap().to_owned();
        assert_eq!(seen, Value::parse(input).unwrap().to_json_string());
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn results_keep_every_digit_and_their_order() {
    let raw = r#"{"z":12345678901234567890123,"a":0.1000000000000000055511151231257827,"m":1e400,"n":{"b":1.50,"a":-0}}"#;
    let act = format!(r#"{{"act":"result","result":{{"content":[],"structuredContent":{raw}}}}}"#);
    let server = upstream(&script(&[("exact", &act)]));
    let listing = server.tools().await.unwrap();
    let done = call(&listing, "s_exact", "{}").await.unwrap();
    assert_eq!(done.output.unwrap().to_json_string(), json(raw).to_json_string());
    assert!(json(raw).to_json_string().contains("12345678901234567890123"));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_large_answer_passes_and_a_too_large_one_fails_its_call_only() {
    let acts = [("big", r#"{"act":"large","bytes":3000000}"#), ("huge", r#"{"act":"large","bytes":5000000}"#), ("ok", r#"{"act":"pid"}"#)];
    let mut spec = spec(&script(&acts));
    spec.limits.frame_bytes_max = 4_000_000;
    let server = Upstream::new(spec);
    let listing = server.tools().await.unwrap();
    let pid = text(&listing, "s_ok").await;
    assert_eq!(text(&listing, "s_big").await.len(), 3_000_000);
    let failed = call(&listing, "s_huge", "{}").await.unwrap_err();
    assert_eq!(failed.code, "upstream_protocol_error");
    assert!(failed.message.contains("4000000 bytes"), "{}", failed.message);
    assert_eq!(text(&listing, "s_ok").await, pid);
}

/// C27
#[tokio::test(flavor = "multi_thread")]
async fn a_flood_on_stderr_blocks_nothing_and_only_its_tail_is_kept() {
    let server = upstream(&script(&[("chatty", r#"{"act":"stderr","bytes":10000000}"#)]));
    let listing = server.tools().await.unwrap();
    let started = Instant::now();
    assert_eq!(text(&listing, "s_chatty").await, "done");
    assert!(started.elapsed() < Duration::from_secs(5));
    crate::calls::eventually(Duration::from_secs(5), || server.status().stderr_tail.ends_with("the tail")).await;
    let tail = server.status().stderr_tail;
    assert!(tail.ends_with("the tail"), "{}", tail.len());
    assert!(tail.len() <= 64 * 1024, "{}", tail.len());
}

#[tokio::test(flavor = "multi_thread")]
async fn both_generations_and_old_versions_are_spoken() {
    let ok = [("ok", r#"{"act":"pid"}"#)];
    let table = [
        (r#""discover":["2026-07-28"]"#, "2026-07-28"),
        (r#""discover":[]"#, "2025-11-25"),
        (r#""onlyVersion":"2024-11-05""#, "2024-11-05"),
        (r#""onlyVersion":"2025-03-26""#, "2025-03-26"),
        (r#""diesOfDiscover":true"#, "2025-11-25"),
        (r#""forgetsIds":true"#, "2025-11-25"),
    ];
    for (more, version) in table {
        let server = upstream(&script_with(more, &ok));
        let started = Instant::now();
        let listing = server.tools().await.unwrap_or_else(|error| panic!("{more}: {error}"));
        assert!(started.elapsed() < Duration::from_secs(5), "{more}");
        text(&listing, "s_ok").await;
        assert_eq!(server.status().protocol_version.as_deref(), Some(version), "{more}");
        server.shutdown().await;
    }
}

/// The discovery is given up after ten seconds. A server that was only slow to start answers it later, and then the rest.
#[tokio::test(flavor = "multi_thread")]
async fn a_late_answer_to_the_discovery_hurts_nothing() {
    let acts = [("pid", r#"{"act":"pid"}"#)];
    let log = std::env::temp_dir().join(format!("toolwright-late-{}", std::process::id()));
    let late = |more: &str| upstream(&script_with(&format!(r#""startDelayMs":10400{more}"#), &acts));
    let knows_no_discovery = late("");
    let knows_both = late(r#","discover":["2026-07-28"]"#);
    let once = format!(r#","discover":["2026-07-28"],"onlyVersion":"none","slowOnce":true,"log":"{}""#, log.display());
    let knows_no_initialize = late(&once);
    let all = tokio::join!(knows_no_discovery.tools(), knows_both.tools(), knows_no_initialize.tools());
    for listing in [all.0, all.1] {
        text(&listing.unwrap(), "s_pid").await;
    }
    assert_eq!(knows_both.status().era, Some(Era::Sessions));
    // It is started once more.
    text(&all.2.unwrap(), "s_pid").await;
    assert_eq!(knows_no_initialize.status().era, Some(Era::Sessionless));
    assert_eq!(std::fs::read_to_string(&log).unwrap().lines().count(), 2);
    std::fs::remove_file(&log).unwrap();
}

/// Some servers answer every request that they do not know with an empty result.
#[tokio::test(flavor = "multi_thread")]
async fn an_empty_answer_to_the_discovery_is_no_handshake() {
    let server = upstream(&script_with(r#""empty":true"#, &[("pid", r#"{"act":"pid"}"#)]));
    assert!(server.tools().await.is_ok());
    assert_eq!(server.status().era, Some(Era::Sessions));
}

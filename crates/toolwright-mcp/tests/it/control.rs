//! Limits, progress and cancellation of a running call.

use std::time::{Duration, Instant};

use crate::calls::{Happened, call, eventually, start};
use crate::server::{script, spec, text, upstream};
use toolwright_mcp::upstream::Upstream;

/// C36 (the wire's part)
#[tokio::test(flavor = "multi_thread")]
async fn progress_keeps_a_call_alive_up_to_its_total_limit() {
    let acts = [("steady", r#"{"act":"steady","everyMs":150,"times":8}"#), ("forever", r#"{"act":"steady","everyMs":150,"times":0}"#)];
    let mut spec = spec(&script(&acts));
    spec.idle_timeout = Duration::from_millis(600);
    spec.call_timeout = Duration::from_millis(2_000);
    let server = Upstream::new(spec);
    let listing = server.tools().await.unwrap();
    let running = start(&listing, "s_steady", "{}");
    let progress = running.progress.clone();
    let done = running.handle.await.unwrap().unwrap();
    assert_eq!(done.output.unwrap().as_str(), Some("done"));
    assert_eq!(progress.lock().unwrap().len(), 8);
    assert_eq!(progress.lock().unwrap()[0], "at 1");

    let started = Instant::now();
    let failed = call(&listing, "s_forever", "{}").await.unwrap_err();
    assert!(started.elapsed() >= Duration::from_secs(2));
    assert_eq!(failed.code, "upstream_timeout");
    assert_eq!(failed.happened, Happened::Unknown);
    assert!(failed.message.contains("total limit 2s") && failed.message.contains("idle limit 600ms"), "{}", failed.message);
}

#[tokio::test(flavor = "multi_thread")]
async fn silence_ends_a_call_and_the_server_is_told() {
    let acts = [("silent", r#"{"act":"silent"}"#), ("cancelled", r#"{"act":"cancelled"}"#)];
    let mut spec = spec(&script(&acts));
    spec.idle_timeout = Duration::from_millis(300);
    let server = Upstream::new(spec);
    let listing = server.tools().await.unwrap();
    let failed = call(&listing, "s_silent", "{}").await.unwrap_err();
    assert_eq!(failed.code, "upstream_timeout");
    assert!(failed.message.contains("silent for too long"), "{}", failed.message);
    assert!(!text(&listing, "s_cancelled").await.is_empty());
}

/// C35 (the wire's part), B093
#[tokio::test(flavor = "multi_thread")]
async fn cancelling_reaches_the_server_and_hurts_no_other_call() {
    let acts = [("two", r#"{"act":"silent"}"#), ("ok", r#"{"act":"pid"}"#), ("cancelled", r#"{"act":"cancelled"}"#)];
    let server = upstream(&script(&acts));
    let listing = server.tools().await.unwrap();
    let running = start(&listing, "s_two", "{}");
    text(&listing, "s_ok").await;
    let asked = Instant::now();
    running.cancel.cancel();
    let failed = running.handle.await.unwrap().unwrap_err();
    assert!(asked.elapsed() < Duration::from_millis(500));
    assert_eq!((failed.code.as_str(), failed.happened), ("cancelled", Happened::Unknown));
    let ids = text(&listing, "s_cancelled").await;
    assert_eq!(ids.split(',').count(), 1, "{ids}");
    assert!(ids.parse::<u64>().is_ok(), "{ids}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_dropped_call_is_cancelled_on_the_server_too() {
    let acts = [("two", r#"{"act":"silent"}"#), ("cancelled", r#"{"act":"cancelled"}"#)];
    let server = upstream(&script(&acts));
    let listing = server.tools().await.unwrap();
    let running = start(&listing, "s_two", "{}");
    tokio::time::sleep(Duration::from_millis(200)).await;
    running.handle.abort();
    let mut told = String::new();
    for _ in 0..50 {
        told = text(&listing, "s_cancelled").await;
        if !told.is_empty() {
            break;
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    assert!(!told.is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_cancelled_start_sends_nothing_and_the_start_goes_on() {
    let log = std::env::temp_dir().join(format!("toolwright-start-{}", std::process::id()));
    let log = log.display().to_string();
    let server = {
        let script = script(&[("ok", r#"{"act":"pid"}"#)]);
        let script = script.replacen('{', &format!(r#"{{"startDelayMs":500,"log":"{log}","#), 1);
        upstream(&script)
    };
    let listing = server.tools().await.unwrap();
    let pid = server.status().pid.unwrap();
    let before = text(&listing, "s_ok").await;
    assert_eq!(before, pid.to_string());
    // Kill it: the next call has to start it again, which takes a while.
    std::process::Command::new("kill").args(["-9", &before]).status().unwrap();
    assert!(eventually(Duration::from_secs(5), || server.status().pid.is_none()).await);
    let running = start(&listing, "s_ok", "{}");
    tokio::time::sleep(Duration::from_millis(150)).await;
    running.cancel.cancel();
    let failed = running.handle.await.unwrap().unwrap_err();
    assert_eq!((failed.code.as_str(), failed.happened), ("cancelled", Happened::Nothing));
    assert_ne!(text(&listing, "s_ok").await, before);
    let starts = std::fs::read_to_string(&log).unwrap().lines().count();
    std::fs::remove_file(&log).unwrap();
    assert_eq!(starts, 2);
}

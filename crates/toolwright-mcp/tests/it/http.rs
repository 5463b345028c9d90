//! Streamable HTTP: sessions that get lost, replies of both shapes, failures that say whether something happened.

use std::time::{Duration, Instant};

use crate::calls::{Happened, call, eventually, json, start};
use crate::web::{Plan, Reply, Web, result};
use toolwright_mcp::upstream::{ServerSpec, Transport, Upstream};

fn spec(web: &Web) -> ServerSpec {
    let mut spec = ServerSpec::http("w", &*web.url);
    spec.call_timeout = Duration::from_secs(20);
    spec.shutdown_grace = Duration::from_millis(500);
    spec
}

fn answering(call: impl Fn(&str, usize) -> Reply + Send + Sync + 'static) -> Plan {
    Plan { call: Box::new(call), ..Plan::default() }
}

/// C30
#[tokio::test(flavor = "multi_thread")]
async fn a_forgotten_session_is_renewed_once_and_the_call_sent_once_more() {
    let web = Web::start(Plan::default()).await;
    let server = Upstream::new(spec(&web));
    let listing = server.tools().await.unwrap();
    call(&listing, "w_read", "{}").await.unwrap();
    assert_eq!(web.seen("initialize").len(), 1);
    web.restart();
    call(&listing, "w_read", "{}").await.unwrap();
    assert_eq!(web.seen("initialize").len(), 2);
    assert!(web.seen("initialize").iter().all(|seen| !seen.headers.contains_key("mcp-session-id")));
    web.restart();
    call(&listing, "w_write", "{}").await.unwrap();
    assert_eq!(web.seen("initialize").len(), 3);
    let writes: Vec<_> = web.seen("tools/call").into_iter().filter(|seen| seen.body.contains(r#""write""#)).collect();
    // The first one was refused with 404 before anything ran.
    assert_eq!(writes.len(), 2);
    assert_ne!(writes[0].headers["mcp-session-id"], writes[1].headers["mcp-session-id"]);
    server.shutdown().await;
    // A session that is not needed any more is given back.
    assert!(eventually(Duration::from_secs(1), || web.seen("").iter().any(|seen| seen.verb == "DELETE")).await);
}

/// B081
#[tokio::test(flavor = "multi_thread")]
async fn a_lost_session_is_understood_in_words_too() {
    let words = r#"{"jsonrpc":"2.0","id":<id>,"error":{"code":-32001,"message":"Session not found"}}"#;
    let replies = [
        Reply::Json(words.to_owned()),
        Reply::Json(result(r#"{"content":[]}"#)),
        Reply::Status(400, "text/plain", "Bad Request: No valid session ID provided".to_owned()),
    ];
    let web = Web::start(answering(move |_, n| replies[n - 1].clone())).await;
    let listing = Upstream::new(spec(&web)).tools().await.unwrap();
    for sessions in [1, 2] {
        let failed = call(&listing, "w_write", "{}").await.unwrap_err();
        assert_eq!((failed.code.as_str(), failed.happened), ("session_lost", Happened::Nothing), "{failed:?}");
        assert_eq!(web.seen("initialize").len(), sessions);
        if sessions == 1 {
            call(&listing, "w_write", "{}").await.unwrap();
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_tool_that_speaks_of_a_session_has_lost_none() {
    let words = r#"{"jsonrpc":"2.0","id":<id>,"error":{"code":-32603,"message":"mail sent, but the browser session expired"}}"#;
    let web = Web::start(answering(move |_, _| Reply::Json(words.to_owned()))).await;
    let listing = Upstream::new(spec(&web)).tools().await.unwrap();
    let failed = call(&listing, "w_write", "{}").await.unwrap_err();
    assert_eq!((failed.code.as_str(), failed.happened), ("upstream_protocol_error", Happened::Failed), "{failed:?}");
    assert_eq!(web.seen("initialize").len(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn no_part_of_a_secret_is_quoted_from_an_error_page() {
    let page = format!("{}S3CRET-T0KEN", ".".repeat(295));
    let web = Web::start(answering(move |_, _| Reply::Status(418, "text/plain", page.clone()))).await;
    let mut spec = spec(&web);
    spec.secrets.push("S3CRET-T0KEN".to_owned());
    let listing = Upstream::new(spec).tools().await.unwrap();
    let failed = call(&listing, "w_write", "{}").await.unwrap_err();
    assert!(failed.message.contains("....") && !failed.message.contains("S3C"), "{}", failed.message);
}

/// C30
#[tokio::test(flavor = "multi_thread")]
async fn a_session_that_is_lost_again_is_told_not_chased() {
    let web = Web::start(Plan { forgetful: true, ..Plan::default() }).await;
    let server = Upstream::new(spec(&web));
    let listing = server.tools().await.unwrap();
    let failed = call(&listing, "w_write", "{}").await.unwrap_err();
    assert_eq!((failed.code.as_str(), failed.happened), ("session_lost", Happened::Nothing), "{failed:?}");
    assert_eq!(web.seen("tools/call").len(), 2);
    assert_eq!(web.seen("initialize").len(), 2);
}

/// C25
#[tokio::test(flavor = "multi_thread")]
async fn an_error_or_an_empty_reply_is_never_a_success() {
    let error = r#"{"jsonrpc":"2.0","id":<id>,"error":{"code":-32000,"message":"db down"}}"#;
    let empty = r#"{"jsonrpc":"2.0","id":<id>}"#;
    let replies = [
        Reply::Json(error.to_owned()),
        Reply::Json(empty.to_owned()),
        Reply::Json("{}".to_owned()),
        Reply::Json(String::new()),
        Reply::Json("[1]".to_owned()),
        Reply::Status(200, "text/html", "<p>proxy</p>".to_owned()),
        Reply::Events(vec![error.to_owned()], Duration::ZERO),
        Reply::Events(vec![empty.to_owned()], Duration::ZERO),
        Reply::Events(vec![r#"{"jsonrpc":"2.0","id":<id>,"result":NaN}"#.to_owned()], Duration::ZERO),
        Reply::Status(400, "application/json", error.to_owned()),
        Reply::Status(500, "application/json", error.to_owned()),
    ];
    let count = replies.len();
    let web = Web::start(answering(move |_, n| replies[n - 1].clone())).await;
    let server = Upstream::new(spec(&web));
    let listing = server.tools().await.unwrap();
    for n in 1..=count {
        let failed = call(&listing, "w_read", "{}").await.unwrap_err();
        assert_eq!(failed.code, "upstream_protocol_error", "reply {n}: {failed:?}");
        if [1, 7, 10, 11].contains(&n) {
            assert!(failed.message.contains("db down") && failed.message.contains("-32000"), "reply {n}: {failed:?}");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn both_shapes_of_reply_keep_every_digit_and_unknown_blocks() {
    let text = r#"{"content":[{"type":"hologram","x":12345678901234567890123}],"structuredContent":{"z":1e400,"a":0.10}}"#;
    let text = result(text);
    let web = Web::start(answering(move |_, n| match n {
        1 => Reply::Json(text.clone()),
        _ => Reply::Events(
            vec![r#"{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":1.5}}"#.to_owned(), text.clone()],
            Duration::ZERO,
        ),
    }))
    .await;
    let server = Upstream::new(spec(&web));
    let listing = server.tools().await.unwrap();
    assert_eq!(listing.raw[1].pointer("/vendor/x").unwrap().to_json_string(), "1.50");
    for _ in 0..2 {
        let done = call(&listing, "w_read", r#"{"n":12345678901234567890123}"#).await.unwrap();
        assert_eq!(done.output, Some(json(r#"{"z":1e400,"a":0.10}"#)));
        assert_eq!(done.content, Some(json(r#"[{"type":"hologram","x":12345678901234567890123}]"#)));
    }
    assert!(web.seen("tools/call")[0].body.contains(r#""arguments":{"n":12345678901234567890123}"#));
}

/// C17, C15 (the wire's part)
#[tokio::test(flavor = "multi_thread")]
async fn arguments_arrive_as_given() {
    let web = Web::start(Plan::default()).await;
    let listing = Upstream::new(spec(&web)).tools().await.unwrap();
    for input in [r#"{"q":"x"}"#, r#"{"id":"1","note":null,"tag":""}"#, "{}"] {
        call(&listing, "w_read", input).await.unwrap();
        let body = web.seen("tools/call").pop().unwrap().body;
        assert!(body.contains(&format!(r#""arguments":{input}"#)), "{body}");
    }
}

/// C36 (the wire's part)
#[tokio::test(flavor = "multi_thread")]
async fn progress_in_a_stream_keeps_the_call_alive() {
    let web = Web::start(answering(|_, _| {
        let mut events: Vec<String> = (1..=6)
            .map(|at| format!(r#"{{"jsonrpc":"2.0","method":"notifications/progress","params":{{"progressToken":<token>,"progress":{at}.5,"total":10}}}}"#))
            .collect();
        events.push(result(r#"{"content":[{"type":"text","text":"done"}]}"#));
        Reply::Events(events, Duration::from_millis(150))
    }))
    .await;
    let mut spec = spec(&web);
    spec.idle_timeout = Duration::from_millis(500);
    let listing = Upstream::new(spec).tools().await.unwrap();
    let running = start(&listing, "w_read", "{}");
    let progress = running.progress.clone();
    running.handle.await.unwrap().unwrap();
    assert_eq!(progress.lock().unwrap().len(), 6);
}

/// C35 (the wire's part)
#[tokio::test(flavor = "multi_thread")]
async fn cancelling_reaches_the_endpoint_with_its_own_id() {
    let web = Web::start(answering(|_, _| Reply::Hang)).await;
    let listing = Upstream::new(spec(&web)).tools().await.unwrap();
    let running = start(&listing, "w_read", "{}");
    assert!(eventually(Duration::from_secs(2), || !web.seen("tools/call").is_empty()).await);
    let asked = Instant::now();
    running.cancel.cancel();
    let failed = running.handle.await.unwrap().unwrap_err();
    assert_eq!((failed.code.as_str(), failed.happened), ("cancelled", Happened::Unknown));
    assert!(eventually(Duration::from_millis(500), || !web.seen("notifications/cancelled").is_empty()).await);
    assert!(asked.elapsed() < Duration::from_millis(800));
    let id = &web.seen("tools/call")[0].id;
    assert!(web.seen("notifications/cancelled")[0].body.contains(&format!(r#""requestId":{id}"#)));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_cut_answer_is_unknown_and_a_closed_door_is_nothing() {
    let web = Web::start(answering(|_, _| Reply::Cut)).await;
    let server = Upstream::new(spec(&web));
    let listing = server.tools().await.unwrap();
    let failed = call(&listing, "w_write", "{}").await.unwrap_err();
    assert_eq!((failed.code.as_str(), failed.happened), ("upstream_disconnected", Happened::Unknown), "{failed:?}");

    let gone = ServerSpec::http("gone", "http://127.0.0.1:9/mcp");
    let error = Upstream::new(gone).tools().await.unwrap_err();
    assert_eq!(error.code, "upstream_start_failed");
    assert!(error.message.contains("`gone`"), "{}", error.message);
}

/// C32, B086
#[tokio::test(flavor = "multi_thread")]
async fn an_old_server_is_asked_again_with_its_own_version() {
    let web = Web::start(Plan { only_version: Some("2025-03-26"), ..Plan::default() }).await;
    let server = Upstream::new(spec(&web));
    let listing = server.tools().await.unwrap();
    call(&listing, "w_read", "{}").await.unwrap();
    assert_eq!(server.status().protocol_version.as_deref(), Some("2025-03-26"));
    assert_eq!(web.seen("initialize").len(), 2);
    assert_eq!(web.seen("tools/call")[0].headers["mcp-protocol-version"], "2025-03-26");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_sessionless_generation_is_spoken_with_its_headers() {
    let web = Web::start(Plan { discover: true, ..Plan::default() }).await;
    let server = Upstream::new(spec(&web));
    let listing = server.tools().await.unwrap();
    call(&listing, "w_read", r#"{"region":"eu"}"#).await.unwrap();
    assert_eq!(server.status().protocol_version.as_deref(), Some("2026-07-28"));
    let seen = &web.seen("tools/call")[0];
    assert_eq!(seen.headers["mcp-protocol-version"], "2026-07-28");
    assert_eq!(seen.headers["mcp-method"], "tools/call");
    assert_eq!(seen.headers["mcp-name"], "read");
    assert_eq!(seen.headers["mcp-param-region"], "eu");
    assert!(web.seen("initialize").is_empty());
}

/// C63 (the part of errors and status)
#[tokio::test(flavor = "multi_thread")]
async fn headers_are_sent_and_never_told() {
    let needs = Some(("authorization", "Bearer canary-token"));
    let web = Web::start(Plan { needs, ..Plan::default() }).await;
    let with = |value: &str| {
        let mut spec = spec(&web);
        if let Transport::Http { url, headers } = &mut spec.transport {
            url.push_str("?key=canary-query");
            headers.push(("Authorization".to_owned(), value.to_owned()));
        }
        Upstream::new(spec)
    };
    let listing = with("Bearer canary-token").tools().await.unwrap();
    call(&listing, "w_read", "{}").await.unwrap();
    let refused = with("Bearer canary-wrong");
    let error = refused.tools().await.unwrap_err();
    assert_eq!(error.code, "upstream_unauthorized", "{error:?}");
    for text in [format!("{error:?}"), format!("{:?}", refused.status())] {
        assert!(!text.contains("canary"), "{text}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_busy_server_did_nothing() {
    let web = Web::start(answering(|_, _| Reply::Status(429, "text/plain", String::new()))).await;
    let listing = Upstream::new(spec(&web)).tools().await.unwrap();
    let failed = call(&listing, "w_read", "{}").await.unwrap_err();
    assert_eq!((failed.code.as_str(), failed.happened), ("upstream_unavailable", Happened::Nothing), "{failed:?}");
}

const PRIMED: &str = "id: e1\nretry: 150\ndata: \n\n";

fn resuming(resume: impl Fn(&str, usize) -> Reply + Send + Sync + 'static) -> Plan {
    Plan { resume: Some(Box::new(resume)), ..answering(|_, _| Reply::Stream(PRIMED.to_owned())) }
}

/// C31 (the wire's part), B082, B083
#[tokio::test(flavor = "multi_thread")]
async fn a_stream_that_is_cut_is_taken_up_where_it_was_cut() {
    let web = Web::start(resuming(|after, n| {
        assert_eq!(after, format!("e{n}"));
        match n {
            1 => Reply::Stream("id: e2\nretry: 150\ndata: \n\n".to_owned()),
            _ => Reply::Stream(format!("id: e3\ndata: {}\n\n", result(r#"{"content":[{"type":"text","text":"late"}]}"#))),
        }
    }))
    .await;
    let listing = Upstream::new(spec(&web)).tools().await.unwrap();
    let started = Instant::now();
    let done = call(&listing, "w_write", "{}").await.unwrap();
    assert_eq!(done.output.unwrap().as_str(), Some("late"));
    // It waited as long as the server wanted, twice, and the tool ran once.
    assert!(started.elapsed() >= Duration::from_millis(300));
    assert_eq!(web.seen("tools/call").len(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stream_that_cannot_be_taken_up_leaves_the_outcome_unknown() {
    let gone = Web::start(resuming(|_, _| Reply::Status(404, "text/plain", String::new()))).await;
    let empty = Web::start(resuming(|_, _| Reply::Stream("retry: 10\n\n".to_owned()))).await;
    for web in [&gone, &empty] {
        let mut spec = spec(web);
        spec.idle_timeout = Duration::from_secs(5);
        let listing = Upstream::new(spec).tools().await.unwrap();
        let failed = call(&listing, "w_write", "{}").await.unwrap_err();
        assert_eq!(failed.happened, Happened::Unknown, "{failed:?}");
        assert_eq!(web.seen("tools/call").len(), 1);
    }
    let resumed = empty.seen("").iter().filter(|seen| seen.headers.contains_key("last-event-id")).count();
    assert!((1..=10).contains(&resumed), "{resumed}");
}

#[tokio::test(flavor = "multi_thread")]
async fn many_calls_that_find_their_session_gone_open_one_new_one() {
    let web = Web::start(Plan::default()).await;
    let listing = Upstream::new(spec(&web)).tools().await.unwrap();
    web.restart();
    let running: Vec<_> = (0..16).map(|_| start(&listing, "w_read", "{}")).collect();
    for call in running {
        call.handle.await.unwrap().unwrap();
    }
    assert_eq!(web.seen("initialize").len(), 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn connections_are_used_again_after_a_stream() {
    let web = Web::start(answering(|_, _| Reply::Events(vec![result(r#"{"content":[]}"#)], Duration::ZERO))).await;
    let listing = Upstream::new(spec(&web)).tools().await.unwrap();
    for _ in 0..20 {
        call(&listing, "w_read", "{}").await.unwrap();
    }
    assert!(web.connections() < 10, "{}", web.connections());
}

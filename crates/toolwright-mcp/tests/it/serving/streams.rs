//! Streams: what comes as one, how it begins, and how a client takes it up again.

use super::*;

/// C31
#[tokio::test]
async fn a_cut_stream_is_taken_up_again_and_the_tool_ran_once() {
    let served = Served::new().await;
    let (session, other) = (served.session().await, served.session().await);
    let calling = served.in_session(&session, &call(1, "slow", json!({"ms": 600}))).send().await.unwrap();
    let mut events = Events::of(calling);
    let first = events.next().await.unwrap();
    assert!(first.id.is_some() && first.retry.is_some() && first.data.is_empty(), "{first:?}");
    drop(events);
    let again = |session: &str| {
        let get = served.request(Method::GET).header("mcp-session-id", session).header("mcp-protocol-version", SESSIONS);
        get.header("last-event-id", first.id.clone().unwrap()).send()
    };
    let foreign = again(&other).await.unwrap();
    assert_eq!(foreign.status(), StatusCode::BAD_REQUEST);
    assert!(!foreign.text().await.unwrap().contains("done"));
    let events = Events::of(again(&session).await.unwrap()).rest().await;
    let replies: Vec<Json> = events.iter().filter(|event| !event.data.is_empty()).map(Event::message).collect();
    assert_eq!(replies.len(), 1, "{replies:?}");
    assert_eq!((replies[0]["id"].as_i64(), replies[0]["result"]["structuredContent"]["done"].as_bool()), (Some(1), Some(true)));
    let events = Events::of(again(&session).await.unwrap()).rest().await;
    assert_eq!(events.last().map(Event::message), replies.first().cloned(), "as often as it wants");
    assert_eq!((served.counts.started(), served.counts.finished()), (1, 1));
}

#[tokio::test]
async fn older_clients_get_no_event_without_a_message() {
    for (version, opened) in [("2025-06-18", false), (SESSIONS, true)] {
        let served = Served::new().await;
        let session = served.session_of(version, None).await;
        let post = served.post(&call(1, "slow", json!({"ms": 100}))).header("mcp-session-id", &session);
        let events = Events::of(post.send().await.unwrap()).rest().await;
        assert_eq!(events.first().unwrap().data.is_empty(), opened, "{version}: {events:?}");
        assert!(events.iter().all(|event| event.id.is_some()), "{version}: {events:?}");
        assert_eq!(events.last().unwrap().message()["id"], 1);
    }
}

#[tokio::test]
async fn without_a_session_events_have_no_ids() {
    let served = Served::with(|_, http| http.limits.single_reply_wait = Duration::from_millis(20)).await;
    let params = json!({"name": "slow", "arguments": {"ms": 100}});
    let events = Events::of(served.single("tools/call", params).send().await.unwrap()).rest().await;
    assert_eq!(events.len(), 1);
    assert_eq!((events[0].id.clone(), events[0].message()["id"].as_i64()), (None, Some(7)));
}

#[tokio::test]
async fn progress_comes_before_the_reply_and_no_event_is_lost_or_doubled_on_the_way() {
    let served = Served::new().await;
    let session = served.session().await;
    let mut message = call(1, "slow", json!({"ms": 20, "steps": 40}));
    message["params"]["_meta"] = json!({"progressToken": "p"});
    let mut events = Events::of(served.in_session(&session, &message).send().await.unwrap());
    let mut seen: Vec<Json> = Vec::new();
    // A connection that breaks again and again.
    while let Some(event) = events.next().await {
        if event.data.is_empty() {
            continue;
        }
        seen.push(event.message());
        if seen.last().unwrap().get("result").is_some() {
            break;
        }
        if seen.len().is_multiple_of(5) {
            let get = served.request(Method::GET).header("mcp-session-id", &session).header("mcp-protocol-version", SESSIONS);
            events = Events::of(get.header("last-event-id", event.id.unwrap()).send().await.unwrap());
        }
    }
    let progress: Vec<f64> = seen.iter().filter_map(|message| message["params"]["progress"].as_f64()).collect();
    assert!(progress.len() >= 10 && progress.is_sorted_by(|a, b| a < b), "{progress:?}");
    assert_eq!(seen.last().unwrap()["id"], 1);
    assert_eq!(served.counts.started(), 1);
}

#[tokio::test]
async fn a_session_has_one_standing_stream() {
    let served = Served::new().await;
    let session = served.session().await;
    let get = || served.request(Method::GET).header("mcp-session-id", &session).send();
    let first = get().await.unwrap();
    assert_eq!((first.status(), kind(&first).as_str()), (StatusCode::OK, "text/event-stream"));
    assert_eq!(get().await.unwrap().status(), StatusCode::CONFLICT);
    drop(first);
    let mut status = StatusCode::CONFLICT;
    for _ in 0..100 {
        status = get().await.unwrap().status();
        if status == StatusCode::OK {
            break;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    assert_eq!(status, StatusCode::OK, "once the first one is closed");
    let unknown = served.request(Method::GET).header("mcp-session-id", &session).header("last-event-id", "99-1");
    assert_eq!(unknown.send().await.unwrap().status(), StatusCode::BAD_REQUEST);
    let nonsense = served.request(Method::GET).header("mcp-session-id", &session).header("last-event-id", "x");
    assert_eq!(nonsense.send().await.unwrap().status(), StatusCode::BAD_REQUEST);
}

#[tokio::test]
async fn a_silent_stream_shows_that_it_is_alive() {
    let served = Served::with(|_, http| http.limits.stream_pulse = Duration::from_millis(50)).await;
    let session = served.session_of("2025-06-18", None).await;
    let mut listening = served.request(Method::GET).header("mcp-session-id", &session).send().await.unwrap();
    assert_eq!(listening.chunk().await.unwrap().unwrap(), ":\n", "a comment, which is no event");
}

#[tokio::test]
async fn what_is_kept_for_a_session_has_a_bound_and_the_reply_outlives_the_rest() {
    let served = Served::with(|options, _| options.limits.replay_bytes_max = 2_000).await;
    let session = served.session().await;
    let mut message = call(1, "slow", json!({"ms": 30, "steps": 60}));
    message["params"]["_meta"] = json!({"progressToken": "p"});
    let mut events = Events::of(served.in_session(&session, &message).send().await.unwrap());
    let first = events.next().await.unwrap().id.unwrap();
    drop(events);
    until("the end of the call", || served.counts.finished() == 1).await;
    tokio::time::sleep(Duration::from_millis(50)).await;
    let get = served.request(Method::GET).header("mcp-session-id", &session).header("last-event-id", first);
    let events = Events::of(get.send().await.unwrap()).rest().await;
    let bytes: usize = events.iter().map(|event| event.data.len()).sum();
    assert!(bytes < 2_500, "{bytes}");
    assert_eq!(events.last().unwrap().message()["id"], 1);
}

#[tokio::test]
async fn a_server_that_stops_lets_calls_end_and_then_takes_nobody() {
    let served = Served::new().await;
    let session = served.session().await;
    let listening = served.request(Method::GET).header("mcp-session-id", &session).send().await.unwrap();
    let calling = served.in_session(&session, &call(1, "slow", json!({"ms": 400}))).send().await.unwrap();
    until("the call", || served.counts.started() == 1).await;
    let (address, counts, client) = (served.address, served.counts.clone(), served.client.clone());
    let stopping = tokio::spawn(served.stopped());
    let events = Events::of(calling).rest().await;
    assert_eq!(events.last().unwrap().message()["result"]["structuredContent"]["done"], true);
    Events::of(listening).rest().await;
    stopping.await.unwrap();
    assert_eq!(counts.finished(), 1);
    assert!(client.get(format!("http://{address}/mcp")).send().await.is_err());
}

#[tokio::test]
async fn a_client_that_does_not_read_is_cut_off_and_others_are_served() {
    let served = Served::with(|_, http| http.limits.write_stall = Duration::from_millis(300)).await;
    let session = served.session().await;
    let mut socket = tokio::net::TcpStream::connect(served.address).await.unwrap();
    let body = call(1, "slow", json!({"pad": 15_000_000})).to_string();
    let head = format!(
        "POST /mcp HTTP/1.1\r\nhost: {}\r\nmcp-session-id: {session}\r\ncontent-type: application/json\r\naccept: */*\r\ncontent-length: {}\r\n\r\n{body}",
        served.address,
        body.len()
    );
    tokio::io::AsyncWriteExt::write_all(&mut socket, head.as_bytes()).await.unwrap();
    until("the call", || served.counts.finished() == 1).await;
    tokio::time::sleep(Duration::from_millis(1_200)).await;
    let ping = json!({"jsonrpc": "2.0", "id": 3, "method": "ping"});
    assert_eq!(served.in_session(&session, &ping).send().await.unwrap().status(), StatusCode::OK);
    let mut bytes = Vec::new();
    let _ = tokio::time::timeout(Duration::from_secs(5), tokio::io::AsyncReadExt::read_to_end(&mut socket, &mut bytes)).await.unwrap();
    assert!(bytes.len() < 15_000_000, "the rest was never written");
}

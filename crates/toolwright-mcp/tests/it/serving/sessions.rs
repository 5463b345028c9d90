//! Sessions: how they begin, whose they are, and how they end.

use super::*;

#[tokio::test]
async fn a_session_has_an_id_that_nobody_guesses() {
    let served = Served::new().await;
    let (one, two) = (served.session().await, served.session().await);
    assert_ne!(one, two);
    assert!(one.len() >= 43 && one.bytes().all(|byte| byte.is_ascii_graphic()), "{one}");
    let initialized = json!({"jsonrpc": "2.0", "method": "notifications/initialized"});
    let response = served.in_session(&one, &initialized).send().await.unwrap();
    assert_eq!(response.status(), StatusCode::ACCEPTED);
    assert_eq!(response.text().await.unwrap(), "");
    let response = served.in_session(&one, &call(1, "echo", json!({"a": 15}))).send().await.unwrap();
    assert_eq!((response.status(), kind(&response).as_str()), (StatusCode::OK, "application/json"));
    assert_eq!(reply(response).await["result"]["structuredContent"].to_string(), r#"{"a":15}"#);
}

#[tokio::test]
async fn a_message_without_a_session_is_told_how_to_begin_one() {
    let served = Served::new().await;
    let message = call(1, "slow", json!({}));
    let missing = served.post(&message).send().await.unwrap();
    assert_eq!(missing.status(), StatusCode::BAD_REQUEST);
    assert!(error(missing).await.1.contains("`initialize`"));
    let unknown = served.in_session("not-a-session", &message).send().await.unwrap();
    assert_eq!(unknown.status(), StatusCode::NOT_FOUND);
    assert_eq!(kind(&unknown), "application/json", "before any stream opens");
    assert!(error(unknown).await.1.contains("begin a new one"));
    let get = served.request(Method::GET).header("mcp-session-id", "not-a-session").send().await.unwrap();
    assert_eq!(get.status(), StatusCode::NOT_FOUND);
    assert_eq!(served.request(Method::GET).send().await.unwrap().status(), StatusCode::BAD_REQUEST);
    assert_eq!(served.counts.started(), 0, "nothing was called");
}

#[tokio::test]
async fn an_ended_session_is_not_known_and_its_calls_are_cancelled() {
    let served = Served::new().await;
    let session = served.session().await;
    let calling = served.in_session(&session, &call(1, "slow", json!({"ms": 60_000}))).send();
    let mut events = Events::of(calling.await.unwrap());
    until("the call", || served.counts.started() == 1).await;
    let ended = served.request(Method::DELETE).header("mcp-session-id", &session).send().await.unwrap();
    assert_eq!(ended.status(), StatusCode::NO_CONTENT);
    until("the end of the call", || served.counts.cancelled() == 1).await;
    while events.next().await.is_some() {}
    for method in [Method::POST, Method::GET, Method::DELETE] {
        let mut request = served.request(method.clone()).header("mcp-session-id", &session);
        if method == Method::POST {
            request = request.header("content-type", "application/json").body(call(2, "echo", json!({})).to_string());
        }
        assert_eq!(request.send().await.unwrap().status(), StatusCode::NOT_FOUND, "{method}");
    }
}

#[tokio::test]
async fn a_session_that_nobody_uses_ends() {
    let served = Served::with(|options, _| options.limits.session_idle = Duration::from_millis(400)).await;
    let (unused, used) = (served.session().await, served.session().await);
    let listening = served.request(Method::GET).header("mcp-session-id", &used).send().await.unwrap();
    assert_eq!(listening.status(), StatusCode::OK);
    tokio::time::sleep(Duration::from_millis(1_200)).await;
    let ping = json!({"jsonrpc": "2.0", "id": 3, "method": "ping"});
    assert_eq!(served.in_session(&unused, &ping).send().await.unwrap().status(), StatusCode::NOT_FOUND);
    assert_eq!(served.in_session(&used, &ping).send().await.unwrap().status(), StatusCode::OK, "its stream is open");
}

#[tokio::test]
async fn there_are_only_so_many_sessions() {
    let served = Served::with(|options, _| options.limits.sessions_max = 2).await;
    let (one, _two) = (served.session().await, served.session().await);
    let third = served.post(&initialize(SESSIONS)).send().await.unwrap();
    assert_eq!(third.status(), StatusCode::SERVICE_UNAVAILABLE);
    assert!(third.headers().contains_key("retry-after") && !third.headers().contains_key("mcp-session-id"));
    assert!(error(third).await.1.contains("sessions_max"));
    served.request(Method::DELETE).header("mcp-session-id", &one).send().await.unwrap();
    served.session().await;
}

#[tokio::test]
async fn a_session_belongs_to_whoever_began_it() {
    let tokens = ["token-of-alice-0001", "token-of-bob-000002"];
    let served = Served::with(|_, http| {
        for (token, who) in tokens.iter().zip(["alice", "bob"]) {
            http.access.tokens.push(toolwright_mcp::server::Token::new(token, who, "").unwrap());
        }
    })
    .await;
    let session = served.session_of(SESSIONS, tokens.first().copied()).await;
    let message = call(1, "slow", json!({}));
    let foreign = served.in_session(&session, &message).bearer_auth(tokens[1]).send().await.unwrap();
    assert_eq!(foreign.status(), StatusCode::NOT_FOUND);
    let ended = served.request(Method::DELETE).header("mcp-session-id", &session).bearer_auth(tokens[1]).send().await.unwrap();
    assert_eq!(ended.status(), StatusCode::NOT_FOUND);
    assert_eq!(served.counts.started(), 0);
    let own = served.in_session(&session, &message).bearer_auth(tokens[0]).send().await.unwrap();
    assert_eq!(own.status(), StatusCode::OK);
    assert_eq!(served.counts.started(), 1);
}

#[tokio::test]
async fn versions_that_are_not_spoken_are_refused_and_newer_ones_in_a_header_are_not() {
    let served = Served::new().await;
    let session = served.session_of("2025-06-18", None).await;
    let ping = json!({"jsonrpc": "2.0", "id": 3, "method": "ping"});
    for (version, status) in [("2025-06-18", 200), ("2025-11-25", 200), ("2026-07-28", 200), ("1999-01-01", 400), ("x", 400)] {
        let post = served.post(&ping).header("mcp-session-id", &session).header("mcp-protocol-version", version);
        assert_eq!(post.send().await.unwrap().status().as_u16(), status, "{version}");
    }
    let without = served.post(&ping).header("mcp-session-id", &session);
    assert_eq!(without.send().await.unwrap().status(), StatusCode::OK);
}

//! Who may come in: names, pages and tokens.

use toolwright_mcp::server::{HttpError, Token};

use super::*;

const ALICE: &str = "canary-token-of-alice-91f3";

#[tokio::test]
async fn strange_names_and_pages_are_refused_before_anything_is_read() {
    let served = Served::with(|_, http| http.origins.push("https://app.example.com".to_owned())).await;
    let port = served.address.port();
    let rows = [
        (format!("localhost:{port}"), None, 200),
        (format!("127.0.0.1:{port}"), Some(format!("http://127.0.0.1:{port}")), 200),
        (format!("localhost:{port}"), Some("https://app.example.com".to_owned()), 200),
        ("evil.example.com".to_owned(), None, 403),
        (format!("evil.example.com:{port}"), Some(format!("http://evil.example.com:{port}")), 403),
        (format!("localhost:{port}"), Some("http://evil.example.com".to_owned()), 403),
        (format!("localhost:{port}"), Some("null".to_owned()), 403),
        (format!("localhost:{port}"), Some("http://localhost:1".to_owned()), 403),
    ];
    let mut ran = 0;
    for (host, origin, status) in rows {
        let mut post = served.single("tools/call", json!({"name": "slow", "arguments": {}})).header("host", &host);
        if let Some(origin) = &origin {
            post = post.header("origin", origin);
        }
        let response = post.send().await.unwrap();
        assert_eq!(response.status().as_u16(), status, "{host} {origin:?}");
        let allowed = response.headers().get("access-control-allow-origin").map(|value| value.to_str().unwrap().to_owned());
        assert_eq!(allowed, origin.filter(|_| status == 200), "{host}");
        if status == 200 {
            ran += 1;
        } else {
            assert!(error(response).await.1.contains("configuration"));
        }
        assert_eq!(served.counts.started(), ran);
    }
}

#[tokio::test]
async fn a_page_that_may_call_is_told_what_it_may_send() {
    let served = Served::with(|_, http| {
        http.origins.push("https://app.example.com".to_owned());
        http.access.tokens.push(Token::new(ALICE, "alice", "").unwrap());
    })
    .await;
    let ask = |origin: &'static str| {
        let ask = served.request(Method::OPTIONS).header("origin", origin).header("access-control-request-method", "POST");
        ask.header("access-control-request-headers", "authorization, mcp-method").send()
    };
    let response = ask("https://app.example.com").await.unwrap();
    assert_eq!(response.status(), StatusCode::NO_CONTENT);
    assert_eq!(response.headers()["access-control-allow-headers"], "authorization, mcp-method");
    assert_eq!(response.headers()["access-control-allow-origin"], "https://app.example.com");
    assert_eq!(ask("https://evil.example.com").await.unwrap().status(), StatusCode::FORBIDDEN);
}

#[tokio::test]
async fn tokens_are_asked_for_and_say_who_sees_what() {
    let served = Served::with(|_, http| {
        http.access.tokens.push(Token::new(ALICE, "alice", "readers").unwrap());
        http.access.tokens.push(Token::new("canary-token-of-bob-12bc", "bob", "").unwrap());
    })
    .await;
    let tools = async |token: &str| {
        let response = served.single("tools/list", json!({})).bearer_auth(token).send().await.unwrap();
        assert_eq!(response.status(), StatusCode::OK);
        let tools = reply(response).await["result"]["tools"].clone();
        tools.as_array().unwrap().iter().map(|tool| tool["name"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(tools(ALICE).await, ["echo"]);
    assert_eq!(tools("canary-token-of-bob-12bc").await.len(), 3);

    let slow = || served.single("tools/call", json!({"name": "slow", "arguments": {}}));
    let refused = [
        ("nobody", slow()),
        ("another token", slow().bearer_auth("canary-token-of-alice-91f4")),
        ("a part of it", slow().bearer_auth(ALICE.split_at(20).0)),
        ("another scheme", slow().header("authorization", format!("Basic {ALICE}"))),
        ("no scheme", slow().header("authorization", ALICE)),
        ("twice", slow().bearer_auth(ALICE).header("authorization", format!("Bearer {ALICE}"))),
        ("in the address", served.client.post(format!("{}?access_token={ALICE}", served.url())).body("{}")),
    ];
    for (what, post) in refused {
        let response = post.send().await.unwrap();
        assert_eq!(response.status(), StatusCode::UNAUTHORIZED, "{what}");
        let challenge = response.headers()["www-authenticate"].to_str().unwrap().to_owned();
        let text = response.text().await.unwrap();
        assert!(challenge.starts_with("Bearer"), "{what}: {challenge}");
        assert!(!challenge.contains("canary") && !text.contains("canary"), "{what}: {challenge} {text}");
        assert!(text.contains("Authorization: Bearer TOKEN"), "{what}: {text}");
    }
    // What alice does not see, she cannot call either.
    let response = slow().bearer_auth(ALICE).send().await.unwrap();
    assert_eq!(error(response).await.0, -32_602);
    assert_eq!(served.counts.started(), 0);
}

#[tokio::test]
async fn a_header_names_the_audience_only_when_the_host_says_so() {
    let tools = async |served: &Served, audience: &str, token: Option<&str>| {
        let mut post = served.single("tools/list", json!({})).header("x-audience", audience);
        if let Some(token) = token {
            post = post.bearer_auth(token);
        }
        let reply = reply(post.send().await.unwrap()).await;
        reply["result"]["tools"].as_array().map_or(0, Vec::len)
    };
    let silent = Served::new().await;
    assert_eq!(tools(&silent, "readers", None).await, 3, "the header says nothing");
    let served = Served::with(|_, http| http.access.audience_header = Some("X-Audience".to_owned())).await;
    assert_eq!(tools(&served, "readers", None).await, 1);
    assert_eq!(tools(&served, "nobody knows it", None).await, 0);
    let both = Served::with(|_, http| {
        http.access.audience_header = Some("X-Audience".to_owned());
        http.access.tokens.push(Token::new(ALICE, "alice", "readers").unwrap());
    })
    .await;
    assert_eq!(tools(&both, "", Some(ALICE)).await, 1, "what the token says counts");
}

#[tokio::test]
async fn an_endpoint_that_lets_everybody_in_is_not_opened() {
    let server = Server::new(ServerOptions::new("test", "1"), Askers::new(), offer(&Arc::default()));
    let mut options = HttpOptions::new("0.0.0.0:0".parse().unwrap());
    options.path = "mcp".to_owned();
    let Err(HttpError::Options { problems }) = server.bind_http(options.clone()).await else { panic!("it was opened") };
    assert_eq!(problems.len(), 2, "{problems:?}");
    assert!(problems[0].contains("tokens") && problems[1].contains("`mcp`"), "{problems:?}");
    options.path = "/mcp".to_owned();
    options.open = true;
    assert!(options.problems().is_empty());
    options.open = false;
    options.access.tokens.push(Token::new(ALICE, "alice", "").unwrap());
    let listener = server.bind_http(options).await.unwrap();
    assert!(!format!("{listener:?}").contains("canary"));
    let taken = HttpOptions::new(format!("127.0.0.1:{}", listener.address().port()).parse().unwrap());
    let Err(error) = server.bind_http(taken).await else { panic!("it was opened twice") };
    assert!(error.to_string().contains("another program"), "{error}");
}

#[tokio::test]
async fn connections_have_a_bound_and_the_next_one_waits() {
    let served = Served::with(|_, http| http.limits.connections_max = 2).await;
    let one = tokio::net::TcpStream::connect(served.address).await.unwrap();
    let _two = tokio::net::TcpStream::connect(served.address).await.unwrap();
    tokio::time::sleep(Duration::from_millis(100)).await;
    let mut waiting = tokio::spawn(served.single("tools/list", json!({})).send());
    assert!(tokio::time::timeout(Duration::from_millis(300), &mut waiting).await.is_err(), "it waits");
    drop(one);
    assert_eq!(waiting.await.unwrap().unwrap().status(), StatusCode::OK);
    served.stopped().await;
}

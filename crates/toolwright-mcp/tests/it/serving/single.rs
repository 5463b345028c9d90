//! The generation without sessions: each request stands for itself, and its headers say what it says.

use super::*;

#[tokio::test]
async fn a_request_stands_for_itself() {
    let served = Served::new().await;
    let response = served.single("tools/call", json!({"name": "echo", "arguments": {"a": 1}})).send().await.unwrap();
    assert_eq!((response.status(), kind(&response).as_str()), (StatusCode::OK, "application/json"));
    assert!(!response.headers().contains_key("mcp-session-id"));
    assert_eq!(reply(response).await["result"]["structuredContent"], json!({"a": 1}));
    let ignored = served.single("tools/list", json!({})).header("mcp-session-id", "whatever").header("last-event-id", "1-1");
    assert_eq!(ignored.send().await.unwrap().status(), StatusCode::OK);
    for method in [Method::GET, Method::DELETE] {
        let response = served.request(method.clone()).header("mcp-protocol-version", SINGLE).send().await.unwrap();
        let status = if method == Method::GET { StatusCode::METHOD_NOT_ALLOWED } else { StatusCode::BAD_REQUEST };
        assert_eq!(response.status(), status, "{method}");
    }
}

/// Header by header: what is left out or changed, and whether the request is taken.
#[tokio::test]
async fn headers_say_what_the_message_says() {
    let served = Served::new().await;
    let slow = || single("tools/call", json!({"name": "slow", "arguments": {}}));
    let list = || single("tools/list", json!({}));
    let region = || single("tools/call", json!({"name": "region", "arguments": {"region": "Hello"}}));
    type Row = (&'static str, fn() -> Json, &'static [(&'static str, &'static str)], bool);
    let slow: fn() -> Json = slow;
    let list: fn() -> Json = list;
    let region: fn() -> Json = region;
    let rows: &[Row] = &[
        ("all of them", slow, &[("mcp-protocol-version", SINGLE), ("mcp-method", "tools/call"), ("mcp-name", "slow")], true),
        ("no version", slow, &[("mcp-method", "tools/call"), ("mcp-name", "slow")], false),
        ("another version", slow, &[("mcp-protocol-version", SESSIONS), ("mcp-method", "tools/call"), ("mcp-name", "slow")], false),
        ("no method", slow, &[("mcp-protocol-version", SINGLE), ("mcp-name", "slow")], false),
        ("another method", slow, &[("mcp-protocol-version", SINGLE), ("mcp-method", "tools/list"), ("mcp-name", "slow")], false),
        ("no name", slow, &[("mcp-protocol-version", SINGLE), ("mcp-method", "tools/call")], false),
        ("another name", slow, &[("mcp-protocol-version", SINGLE), ("mcp-method", "tools/call"), ("mcp-name", "echo")], false),
        (
            "a coded name",
            slow,
            &[("mcp-protocol-version", SINGLE), ("mcp-method", "tools/call"), ("mcp-name", "=?base64?c2xvdw==?=")],
            true,
        ),
        (
            "a badly coded name",
            slow,
            &[("mcp-protocol-version", SINGLE), ("mcp-method", "tools/call"), ("mcp-name", "=?base64?c2xvdw?=")],
            false,
        ),
        ("space around", list, &[("mcp-protocol-version", SINGLE), ("mcp-method", "  tools/list ")], true),
        ("upper case", list, &[("mcp-protocol-version", SINGLE), ("mcp-method", "TOOLS/LIST")], false),
        ("no mirrored argument", region, &[("mcp-protocol-version", SINGLE), ("mcp-method", "tools/call"), ("mcp-name", "region")], false),
        (
            "a mirrored argument",
            region,
            &[("mcp-protocol-version", SINGLE), ("mcp-method", "tools/call"), ("mcp-name", "region"), ("mcp-param-region", "Hello")],
            true,
        ),
        (
            "another mirrored argument",
            region,
            &[("mcp-protocol-version", SINGLE), ("mcp-method", "tools/call"), ("mcp-name", "region"), ("mcp-param-region", "hello")],
            false,
        ),
    ];
    let mut ran = 0;
    for (what, message, headers, taken) in rows {
        let message = message();
        let mut post = served.post(&message);
        for (name, value) in *headers {
            post = post.header(*name, *value);
        }
        let response = post.send().await.unwrap();
        let status = response.status();
        let reply = reply(response).await;
        assert_eq!(reply["id"], 7, "{what}: {reply}");
        if *taken {
            assert_eq!(status, StatusCode::OK, "{what}: {reply}");
            ran += usize::from(message["params"]["name"] == "slow");
        } else {
            assert_eq!((status, reply["error"]["code"].as_i64()), (StatusCode::BAD_REQUEST, Some(-32_020)), "{what}: {reply}");
        }
        assert_eq!(served.counts.started(), ran, "{what}: only what is taken runs");
    }
}

#[tokio::test]
async fn errors_have_the_status_that_the_specification_wants() {
    let served = Served::new().await;
    let code = |status: StatusCode, code: i64| (status.as_u16(), code);
    let of = async |post: RequestBuilder| {
        let response = post.send().await.unwrap();
        let status = response.status();
        code(status, error(response).await.0)
    };
    assert_eq!(of(served.single("unknown/method", json!({}))).await, (404, -32_601));
    assert_eq!(of(served.single("initialize", json!({}))).await, (404, -32_601));
    assert_eq!(of(served.single("tools/call", json!({"name": "no such tool"}))).await, (200, -32_602));
    let without_meta = json!({"jsonrpc": "2.0", "id": 7, "method": "server/discover", "params": {}});
    let headers = |post: RequestBuilder| post.header("mcp-protocol-version", SINGLE).header("mcp-method", "server/discover");
    assert_eq!(of(headers(served.post(&without_meta))).await, (400, -32_602));
    let mut without_capabilities = single("server/discover", json!({}));
    without_capabilities["params"]["_meta"].as_object_mut().unwrap().remove("io.modelcontextprotocol/clientCapabilities");
    assert_eq!(of(headers(served.post(&without_capabilities))).await, (400, -32_602));
    let mut unknown = single("server/discover", json!({}));
    unknown["params"]["_meta"]["io.modelcontextprotocol/protocolVersion"] = json!("v999");
    assert_eq!(of(served.post(&unknown).header("mcp-protocol-version", "v999")).await, (400, -32_022));
}

#[tokio::test]
async fn a_client_that_hangs_up_has_cancelled() {
    let params = || json!({"name": "slow", "arguments": {"ms": 60_000}});
    let served = Served::with(|_, http| http.limits.single_reply_wait = Duration::from_millis(50)).await;
    let response = served.single("tools/call", params()).send().await.unwrap();
    assert_eq!(kind(&response), "text/event-stream");
    assert_eq!(served.counts.started(), 1);
    drop(response);
    until("the end of the call", || served.counts.cancelled() == 1).await;

    // The same while not even the head of the answer has come.
    let served = Served::with(|_, http| http.limits.single_reply_wait = Duration::from_secs(60)).await;
    let calling = tokio::spawn(served.single("tools/call", params()).send());
    until("the call", || served.counts.started() == 1).await;
    calling.abort();
    until("the end of the call", || served.counts.cancelled() == 1).await;
    assert_eq!(served.counts.finished(), 0);
}

#[tokio::test]
async fn what_is_not_a_message_is_told_so() {
    let served = Served::with(|options, _| options.limits.message_bytes_max = 2_000).await;
    let of = async |post: RequestBuilder| {
        let response = post.send().await.unwrap();
        (response.status().as_u16(), error(response).await)
    };
    let body = |text: String| served.request(Method::POST).header("content-type", "application/json").body(text);
    let (status, (code, _)) = of(body("{not json".to_owned())).await;
    assert_eq!((status, code), (400, -32_700));
    let (status, (code, _)) = of(body("[]".to_owned())).await;
    assert_eq!((status, code), (400, -32_600));
    let (status, (_, text)) = of(body(format!("\"{}\"", "x".repeat(3_000)))).await;
    assert!(status == 413 && text.contains("message_bytes_max"), "{status} {text}");
    let (status, (_, text)) = of(served.request(Method::POST).header("content-type", "text/plain").body("{}")).await;
    assert!(status == 415 && text.contains("application/json"), "{status} {text}");
    let post = served.client.post(served.url()).header("content-type", "application/json").header("accept", "application/json");
    let (status, (_, text)) = of(post.body("{}")).await;
    assert!(status == 406 && text.contains("text/event-stream"), "{status} {text}");
    let (status, (_, text)) = of(served.client.put(served.url()).body("{}")).await;
    assert!(status == 405 && text.contains("POST"), "{status} {text}");
    let (status, (_, text)) = of(served.client.post(format!("http://{}/other", served.address)).body("{}")).await;
    assert!(status == 404 && text.contains("`/mcp`"), "{status} {text}");
    let (status, _) = of(served.single("tools/list", json!({})).header("idempotency-key", "x".repeat(300))).await;
    assert_eq!(status, 400);
}

/// A proxy may have judged by the header what the message says otherwise.
#[tokio::test]
async fn two_keys_of_one_call_are_one_or_refused() {
    let served = Served::new().await;
    let session = served.session().await;
    for (header, said, taken) in [("k1", "k2", false), ("k1", "k1", true), ("\"k1\"", "k1", true)] {
        let mut message = call(1, "slow", json!({}));
        message["params"]["_meta"] = json!({"dev.toolwright/idempotency-key": said});
        let mut alone = single("tools/call", json!({"name": "slow", "arguments": {}}));
        alone["params"]["_meta"]["dev.toolwright/idempotency-key"] = said.into();
        let alone =
            served.post(&alone).header("mcp-protocol-version", SINGLE).header("mcp-method", "tools/call").header("mcp-name", "slow");
        for (post, status) in [(served.in_session(&session, &message), 200), (alone, if taken { 200 } else { 400 })] {
            let before = served.counts.started();
            let response = post.header("idempotency-key", header).send().await.unwrap();
            assert_eq!(response.status(), status, "{header} {said}");
            if taken {
                // The second time it is found, not run.
                response.text().await.unwrap();
                continue;
            }
            let (code, text) = error(response).await;
            assert!(code == -32_020 && text.contains("different keys"), "{code}: {text}");
            assert_eq!(served.counts.started(), before, "nothing was run");
        }
    }
    assert_eq!(served.counts.started(), 1, "one key, one call");
}

/// Half a head takes a place that others want: it is closed long before a connection that has spoken and waits.
#[tokio::test]
async fn a_connection_that_never_spoke_is_closed_before_one_that_waits() {
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
    let wait = Duration::from_millis(300);
    let served = Served::with(|_, http| http.limits.first_head_wait = wait).await;
    let begin = async |bytes: &str| {
        let mut socket = tokio::net::TcpStream::connect(served.address).await.unwrap();
        socket.write_all(bytes.as_bytes()).await.unwrap();
        socket
    };
    let half = format!("POST /mcp HTTP/1.1\r\nhost: {}\r\n", served.address);
    let whole = format!("GET /mcp HTTP/1.1\r\nhost: {}\r\n\r\n", served.address);
    let silent = begin("").await;
    let slow = begin(&half).await;
    let mut spoke = begin(&whole).await;
    let began = std::time::Instant::now();
    for mut socket in [silent, slow] {
        let mut left = Vec::new();
        let read = tokio::time::timeout(Duration::from_secs(10), socket.read_to_end(&mut left)).await.unwrap();
        // With bytes of ours that nobody read, the other end is told so.
        assert!(read.is_ok() || left.is_empty(), "{read:?}");
    }
    assert!(began.elapsed() < Duration::from_secs(10));
    tokio::time::sleep(wait).await;
    let mut answer = vec![0; 4_096];
    assert!(spoke.read(&mut answer).await.unwrap() > 0, "the answer to its first");
    spoke.write_all(whole.as_bytes()).await.unwrap();
    let more = tokio::time::timeout(Duration::from_secs(10), spoke.read(&mut answer)).await.unwrap().unwrap();
    assert!(more > 0, "it goes on");
}

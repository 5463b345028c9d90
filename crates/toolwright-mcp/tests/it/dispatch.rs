//! What becomes of messages over a pipe: both generations, ids, lists, cancellation, the end.

use std::time::Duration;

use tokio::io::AsyncWriteExt as _;
use toolwright::{CancelToken, Value, json};
use toolwright_mcp::server::{Caller, Offer};

use crate::piped::{Piped, Seen, alone, catalog, code, server, server_with, text, with_meta, words};

fn echo(v: impl Into<Value>, ms: u64) -> Value {
    Value::object([("name", Value::from("echo")), ("arguments", Value::object([("v", v.into()), ("ms", Value::from(ms))]))])
}

fn names(list: &Value) -> Vec<&str> {
    list.pointer("/result/tools").unwrap().as_array().unwrap().iter().map(|tool| tool.get("name").unwrap().as_str().unwrap()).collect()
}

#[tokio::test]
async fn every_version_is_answered_with_one_that_is_spoken() {
    let server = server();
    for (proposed, agreed) in [
        ("2024-11-05", "2024-11-05"),
        ("2025-03-26", "2025-03-26"),
        ("2025-06-18", "2025-06-18"),
        ("2025-11-25", "2025-11-25"),
        ("2099-01-01", "2025-11-25"),
        ("2026-07-28", "2025-11-25"),
    ] {
        let mut client = Piped::to(&server);
        let answer = client.initialize(proposed).await;
        assert_eq!(answer.pointer("/result/protocolVersion").and_then(Value::as_str), Some(agreed));
        assert_eq!(answer.pointer("/result/serverInfo"), Some(&json!({ "name": "tools", "version": "1.2.3" })));
        assert_eq!(answer.pointer("/result/capabilities/tools/listChanged"), Some(&Value::from(true)));
        assert_eq!(names(&client.ask("tools/list", json!({})).await), ["echo"]);
        assert_eq!(text(&client.ask("tools/call", echo("hello", 0)).await), "hello");
        assert_eq!(client.ask("ping", json!({})).await.get("result"), Some(&json!({})));
    }
}

#[tokio::test]
async fn each_request_may_stand_for_itself() {
    let server = server();
    let mut client = Piped::to(&server);
    let found = client.ask_alone("server/discover", json!({})).await;
    assert_eq!(found.pointer("/result/resultType"), Some(&Value::from("complete")));
    assert_eq!(found.pointer("/result/supportedVersions/0"), Some(&Value::from("2026-07-28")));
    assert_eq!(found.pointer("/result/_meta/io.modelcontextprotocol~1serverInfo/name"), Some(&Value::from("tools")));
    assert_eq!(found.pointer("/result/cacheScope"), Some(&Value::from("public")));

    let list = client.ask_alone("tools/list", json!({})).await;
    assert_eq!(names(&list), ["echo"]);
    assert!(list.pointer("/result/ttlMs").and_then(Value::as_u64).is_some());
    let called = client.ask_alone("tools/call", echo("hello", 0)).await;
    assert_eq!(text(&called), "hello");
    assert_eq!(called.pointer("/result/resultType"), Some(&Value::from("complete")));

    // What older generations have is not there.
    for method in ["initialize", "ping", "logging/setLevel", "resources/subscribe", "resources/unsubscribe", "no/such"] {
        assert_eq!(code(&client.ask_alone(method, json!({})).await), Some(-32_601), "{method}");
    }
    // Both may be spoken over one pipe.
    client.initialize("2025-06-18").await;
    assert_eq!(client.ask("tools/list", json!({})).await.pointer("/result/ttlMs"), None);
    assert_eq!(code(&client.ask("server/discover", json!({})).await), Some(-32_601));
    assert!(client.ask_alone("tools/list", json!({})).await.pointer("/result/ttlMs").is_some());
}

#[tokio::test]
async fn what_a_request_must_say_of_itself_is_checked() {
    let server = server();
    let mut client = Piped::to(&server);
    let version = "io.modelcontextprotocol/protocolVersion";
    let capabilities = "io.modelcontextprotocol/clientCapabilities";
    for (meta, expected) in [
        (Value::object([(version, "2026-07-28")]), -32_602),
        (Value::object([(version, Value::from("2026-07-28")), (capabilities, Value::from("all"))]), -32_602),
        (Value::object([(version, Value::from(7)), (capabilities, json!({}))]), -32_602),
        (Value::object([(version, Value::from("v999.0.0")), (capabilities, json!({}))]), -32_022),
        (Value::object([(version, Value::from("2025-11-25")), (capabilities, json!({}))]), -32_022),
        (
            Value::object([
                (version, Value::from("2026-07-28")),
                (capabilities, json!({})),
                ("io.modelcontextprotocol/logLevel", Value::from("loud")),
            ]),
            -32_602,
        ),
    ] {
        let answer = client.ask("tools/list", with_meta(json!({}), meta.clone())).await;
        assert_eq!(code(&answer), Some(expected), "{meta:?}");
        if expected == -32_022 {
            assert_eq!(answer.pointer("/error/data/requested"), meta.get(version));
            assert_eq!(answer.pointer("/error/data/supported/0"), Some(&Value::from("2026-07-28")));
        }
    }
    // Neither a session nor a word about the version.
    assert_eq!(code(&client.ask("server/discover", json!({})).await), Some(-32_602));
    let early = client.ask("tools/call", echo("x", 0)).await;
    assert_eq!(code(&early), Some(-32_600));
    assert!(words(&early).contains("initialize"), "{early:?}");
    assert_eq!(client.ask("ping", json!({})).await.get("result"), Some(&json!({})));
    for params in [json!({}), json!({ "protocolVersion": 1 }), json!({ "protocolVersion": "2025-06-18", "capabilities": [] })] {
        assert_eq!(code(&client.ask("initialize", params).await), Some(-32_602));
    }
}

#[tokio::test]
async fn unusable_messages_are_told_and_the_next_one_is_served() {
    let seen = Seen::default();
    let server = server_with(&seen, &["search_files"], |options| options.limits.message_bytes_max = 300_000);
    let mut client = Piped::session(&server, "2025-06-18").await;
    let deep = format!(r#"{{"jsonrpc":"2.0","id":9,"method":"tools/call","params":{}"#, "[".repeat(100_000));
    let long = format!(r#"{{"jsonrpc":"2.0","id":9,"method":"tools/call","params":{{"x":"{}"}}}}"#, "x".repeat(300_000));
    let nine = Some(Value::from(9));
    for (line, expected, id, says) in [
        (deep.as_bytes(), -32_700, nine.clone(), "128"),
        (long.as_bytes(), -32_600, None, "300000"),
        (br#"{"jsonrpc":"2.0","id":9,"method":"tools/call","params":{"name":"echo","arguments":{"v":NaN}}}"#, -32_700, nine.clone(), "NaN"),
        (br#"{"jsonrpc":"2.0","id":9,"method":"tools/call","params":{"name":"\ud83d"}}"#, -32_700, nine.clone(), "half of a character"),
        (b"\xff\xfe", -32_700, None, "UTF-8"),
        (b"nonsense", -32_700, None, "nonsense"),
        (b"17", -32_600, None, "whole number"),
        (b"[]", -32_600, None, "batch"),
        (br#"[{"jsonrpc":"2.0","id":9,"method":"ping"}]"#, -32_600, None, "2025-03-26"),
        (br#"{"id":9,"method":"ping"}"#, -32_600, nine.clone(), "jsonrpc"),
        (br#"{"jsonrpc":"2.0","id":null,"method":"ping"}"#, -32_600, None, "null"),
        (br#"{"jsonrpc":"2.0","id":1.5,"method":"ping"}"#, -32_600, None, "id"),
        (br#"{"jsonrpc":"2.0","id":9,"method":7}"#, -32_600, nine.clone(), "method"),
        (br#"{"jsonrpc":"2.0","id":9}"#, -32_600, nine.clone(), "method"),
        (br#"{"jsonrpc":"2.0","id":9,"method":"ping","params":[1]}"#, -32_602, nine.clone(), "params"),
        (br#"{"jsonrpc":"2.0","id":9,"method":"tools/call","params":{}}"#, -32_602, nine.clone(), "name"),
        (br#"{"jsonrpc":"2.0","id":9,"method":"tools/call","params":{"name":"echo","arguments":[]}}"#, -32_602, nine.clone(), "arguments"),
        (br#"{"jsonrpc":"2.0","id":9,"method":"tools/call","params":{"name":"serch_files"}}"#, -32_602, nine.clone(), "`search_files`"),
        (br#"{"jsonrpc":"2.0","id":9,"method":"no/such"}"#, -32_601, nine.clone(), "no/such"),
    ] as [(&[u8], i64, Option<Value>, &str); 19]
    {
        let shown = String::from_utf8_lossy(&line[..line.len().min(100)]).into_owned();
        client.say(line).await;
        let answer = client.next().await;
        assert_eq!(code(&answer), Some(expected), "{shown}: {answer:?}");
        assert_eq!(answer.get("id"), id.as_ref(), "{shown}: {answer:?}");
        assert!(words(&answer).contains(says), "{shown}: {answer:?}");
    }
    // Blank lines and what is not asked are no messages to answer.
    client.say("").await;
    client.say("  \r").await;
    client.say(r#"{"jsonrpc":"2.0","method":"notifications/no_such","params":{}}"#).await;
    client.say(r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":[]}}"#).await;
    client.say(r#"{"jsonrpc":"2.0","id":77,"result":{}}"#).await;
    client.quiet().await;
    assert_eq!(seen.counts(), (0, 0, 0), "nothing ran");
    assert_eq!(text(&client.ask("tools/call", echo("still", 0)).await), "still");
}

#[tokio::test]
async fn ids_keep_their_type_and_are_used_once_at_a_time() {
    let server = server();
    let (mut a, mut b) = (Piped::session(&server, "2025-11-25").await, Piped::session(&server, "2024-11-05").await);
    a.request(1, "tools/call", echo("a", 300)).await;
    b.request(1, "tools/call", echo("b", 10)).await;
    a.request("1", "tools/call", echo("c", 100)).await;
    let big = Value::parse("123456789012345678901234567890").unwrap();
    a.request(big.clone(), "tools/call", echo("d", 10)).await;
    a.request(1, "tools/call", echo("e", 0)).await;

    let refused = a.next().await;
    assert_eq!((code(&refused), refused.get("id")), (Some(-32_600), Some(&Value::from(1))), "{refused:?}");
    for (id, v) in [(big, "d"), (Value::from("1"), "c"), (Value::from(1), "a")] {
        let answer = a.next().await;
        assert_eq!((answer.get("id"), text(&answer)), (Some(&id), v));
    }
    let answer = b.next().await;
    assert_eq!((answer.get("id"), text(&answer)), (Some(&Value::from(1)), "b"));
    // The id is free again.
    a.request(1, "tools/call", echo("f", 0)).await;
    assert_eq!(text(&a.next().await), "f");
}

#[tokio::test]
async fn a_hundred_calls_of_each_of_two_clients_are_not_mixed_up() {
    let server = server();
    let (mut a, mut b) = (Piped::session(&server, "2025-11-25").await, Piped::to(&server));
    for id in 0..100_u64 {
        a.request(id, "tools/call", echo(format!("a{id}"), (id * 7) % 50)).await;
        b.request(id, "tools/call", alone(echo(format!("b{id}"), (id * 11) % 50))).await;
    }
    for (client, name) in [(&mut a, "a"), (&mut b, "b")] {
        let mut left: Vec<u64> = (0..100).collect();
        for _ in 0..100 {
            let answer = client.next().await;
            let id = answer.get("id").and_then(Value::as_u64).unwrap();
            assert_eq!(text(&answer), format!("{name}{id}"));
            left.retain(|open| *open != id);
        }
        assert!(left.is_empty());
        client.quiet().await;
    }
}

#[tokio::test]
async fn batches_belong_to_one_version() {
    let server = server();
    let mut client = Piped::session(&server, "2025-03-26").await;
    client
        .say(
            r#"[{"jsonrpc":"2.0","id":1,"method":"ping"},{"jsonrpc":"2.0","method":"notifications/x"},{"jsonrpc":"2.0","id":2,"method":"no/such"},7,{"jsonrpc":"2.0","id":"3","method":"tools/call","params":{"name":"echo","arguments":{"v":"x","ms":20}}}]"#,
        )
        .await;
    let answers = client.next().await;
    let answers = answers.as_array().unwrap();
    assert_eq!(answers.len(), 4);
    assert_eq!(answers[0].get("result"), Some(&json!({})));
    assert_eq!((code(&answers[1]), code(&answers[2])), (Some(-32_601), Some(-32_600)));
    assert_eq!(text(&answers[3]), "x");
    client.say(r#"[{"jsonrpc":"2.0","method":"notifications/x"}]"#).await;
    client.quiet().await;
    client.say(r#"[{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-03-26"}}]"#).await;
    assert_eq!(code(&client.next().await), Some(-32_600));
}

#[tokio::test]
async fn a_cancelled_request_gets_no_answer_and_its_id_is_free() {
    let seen = Seen::default();
    let server = server_with(&seen, &[], |_| {});
    let mut client = Piped::session(&server, "2025-11-25").await;
    client.request(5, "tools/call", echo("slow", 60_000)).await;
    seen.until((1, 0, 0)).await;
    // Another client, and an id of another type, cancel nothing.
    let mut other = Piped::session(&server, "2025-11-25").await;
    other.say(r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":5}}"#).await;
    client.say(r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"5"}}"#).await;
    assert_eq!(text(&client.ask("tools/call", echo("fast", 0)).await), "fast");
    assert_eq!(seen.counts(), (2, 1, 0));

    client.say(r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":5,"reason":"enough"}}"#).await;
    seen.until((2, 1, 1)).await;
    client.quiet().await;
    client.request(5, "tools/call", echo("again", 0)).await;
    assert_eq!(text(&client.next().await), "again");
}

#[tokio::test]
async fn too_many_calls_of_one_client_are_refused_and_hurt_nobody_else() {
    let seen = Seen::default();
    let server = server_with(&seen, &[], |options| options.limits.calls_per_client_max = 3);
    let mut client = Piped::session(&server, "2025-11-25").await;
    for id in 1..=4 {
        client.request(id, "tools/call", echo(id, 300)).await;
    }
    let refused = client.next().await;
    assert_eq!((code(&refused), refused.get("id")), (Some(-32_603), Some(&Value::from(4))));
    assert!(words(&refused).contains("calls_per_client_max"), "{refused:?}");
    let mut other = Piped::session(&server, "2025-11-25").await;
    assert_eq!(text(&other.ask("tools/call", echo("other", 0)).await), "other");
    for _ in 0..3 {
        assert!(client.next().await.get("result").is_some());
    }
    assert_eq!(text(&client.ask("tools/call", echo("after", 0)).await), "after");
}

#[tokio::test]
async fn lists_have_pages_and_their_cursors_end_with_them() {
    let seen = Seen::default();
    let more = ["b", "c", "d", "e"];
    let server = server_with(&seen, &more, |options| options.limits.page_items = 2);
    for version in [Some("2025-06-18"), None] {
        let mut client = match version {
            Some(version) => Piped::session(&server, version).await,
            None => Piped::to(&server),
        };
        let params = |params: Value| if version.is_none() { alone(params) } else { params };
        let (mut all, mut cursors) = (Vec::new(), Vec::new());
        let mut page = client.ask("tools/list", params(json!({}))).await;
        loop {
            all.extend(names(&page).into_iter().map(str::to_owned));
            let Some(next) = page.pointer("/result/nextCursor").cloned() else { break };
            cursors.push(next.clone());
            page = client.ask("tools/list", params(Value::object([("cursor", next)]))).await;
        }
        assert_eq!(all, ["echo", "b", "c", "d", "e"]);
        assert_eq!(cursors.len(), 2);
        for wrong in [json!("abc"), json!(7), json!(""), json!("dG9vbHMuMC45OTk"), json!("cHJvbXB0cy4wLjE")] {
            let answer = client.ask("tools/list", params(Value::object([("cursor", wrong.clone())]))).await;
            assert_eq!(code(&answer), Some(-32_602), "{wrong:?}");
        }
        server.replace(Offer::new(catalog(&seen, &["b", "c", "d", "f"])));
        let stale = client.ask("tools/list", params(Value::object([("cursor", cursors[0].clone())]))).await;
        assert_eq!(code(&stale), Some(-32_602));
        assert!(words(&stale).contains("changed"), "{stale:?}");
        server.replace(Offer::new(catalog(&seen, &more)));
    }
}

#[tokio::test]
async fn a_changed_list_is_told_once_and_only_if_it_is_another_one() {
    let seen = Seen::default();
    let server = server_with(&seen, &["b"], |_| {});
    let mut session = Piped::session(&server, "2025-06-18").await;
    let mut silent = Piped::to(&server);
    silent.ask_alone("tools/list", json!({})).await;
    let mut listening = Piped::to(&server);
    listening.request("sub", "subscriptions/listen", alone(json!({ "notifications": { "toolsListChanged": true } }))).await;
    let acknowledged = listening.next().await;
    assert_eq!(acknowledged.get("method"), Some(&Value::from("notifications/subscriptions/acknowledged")));
    let subscription = "/params/_meta/io.modelcontextprotocol~1subscriptionId";
    assert_eq!(acknowledged.pointer(subscription), Some(&Value::from("sub")));
    assert_eq!(acknowledged.pointer("/params/notifications"), Some(&json!({ "toolsListChanged": true })));
    let mut others = Piped::to(&server);
    others.request(1, "subscriptions/listen", alone(json!({ "notifications": { "promptsListChanged": true } }))).await;
    others.next().await;

    server.replace(Offer::new(catalog(&seen, &["b"])));
    session.quiet().await;
    listening.quiet().await;

    for last in ["c", "d", "e"] {
        server.replace(Offer::new(catalog(&seen, &["b", last])));
    }
    let changed = session.next().await;
    assert_eq!(changed, json!({ "jsonrpc": "2.0", "method": "notifications/tools/list_changed" }));
    let changed = listening.next().await;
    assert_eq!(changed.get("method"), Some(&Value::from("notifications/tools/list_changed")));
    assert_eq!(changed.pointer(subscription), Some(&Value::from("sub")));
    for client in [&mut session, &mut listening, &mut silent, &mut others] {
        client.quiet().await;
    }

    // A subscription ends like any request, and its id is free.
    listening.say(r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"sub"}}"#).await;
    listening.ask_alone("tools/list", json!({})).await;
    server.replace(Offer::new(catalog(&seen, &["z"])));
    session.next().await;
    listening.quiet().await;
}

#[tokio::test]
async fn subscriptions_end_in_order_when_the_server_stops() {
    let server = server();
    let mut client = Piped::to(&server);
    client.request(3, "subscriptions/listen", alone(json!({ "notifications": {} }))).await;
    client.next().await;
    client.stop.cancel();
    let ended = client.next().await;
    assert_eq!(ended.get("id"), Some(&Value::from(3)));
    assert_eq!(ended.pointer("/result/_meta/io.modelcontextprotocol~1subscriptionId"), Some(&Value::from(3)));
    assert_eq!(ended.pointer("/result/resultType"), Some(&Value::from("complete")));
    assert!(client.close().await.is_empty());
}

#[tokio::test]
async fn the_end_of_the_input_lets_calls_finish_for_the_grace_and_no_longer() {
    let seen = Seen::default();
    let server = server_with(&seen, &[], |_| {});
    let mut client = Piped::session(&server, "2025-06-18").await;
    client.request(1, "tools/call", echo("short", 300)).await;
    client.request(2, "tools/call", echo("long", 60_000)).await;
    seen.until((2, 0, 0)).await;
    let begun = std::time::Instant::now();
    let rest = client.close().await;
    assert_eq!(rest.len(), 1, "{rest:?}");
    assert_eq!(text(&Value::parse(&rest[0]).unwrap()), "short");
    assert!(begun.elapsed() < Duration::from_secs(5), "the grace is two seconds");
    seen.until((2, 1, 1)).await;
}

#[tokio::test]
async fn a_stopping_server_takes_nothing_new() {
    let seen = Seen::default();
    let server = server_with(&seen, &[], |_| {});
    let mut client = Piped::session(&server, "2025-06-18").await;
    let mut other = Piped::session(&server, "2025-06-18").await;
    client.request(1, "tools/call", echo("running", 500)).await;
    seen.until((1, 0, 0)).await;
    client.stop.cancel();
    tokio::time::sleep(Duration::from_millis(50)).await;
    let refused = other.ask("tools/call", echo("new", 0)).await;
    assert_eq!(code(&refused), Some(-32_603));
    assert!(words(&refused).contains("stopping"), "{refused:?}");
    assert_eq!(text(&client.next().await), "running");
    assert_eq!(seen.counts(), (1, 1, 0));
}

#[tokio::test]
async fn a_client_that_does_not_read_is_not_read_either_and_hurts_nobody() {
    let seen = Seen::default();
    let server = server_with(&seen, &[], |_| {});
    let (mine, theirs) = tokio::io::duplex(1 << 12);
    let (reader, writer) = tokio::io::split(theirs);
    let deaf = server.clone();
    tokio::spawn(async move { deaf.serve_pipe(Caller::default(), reader, writer, CancelToken::never()).await });
    let (_unread, mut out) = tokio::io::split(mine);
    let big = "x".repeat(200_000);
    let written = tokio::spawn(async move {
        for id in 0..200 {
            let message = Value::object([
                ("jsonrpc", "2.0".into()),
                ("id", id.into()),
                ("method", "tools/call".into()),
                ("params", alone(echo(big.as_str(), 0))),
            ]);
            out.write_all(format!("{}\n", message.to_json_string()).as_bytes()).await.unwrap();
        }
    });
    let mut other = Piped::session(&server, "2025-06-18").await;
    for _ in 0..20 {
        assert_eq!(text(&other.ask("tools/call", echo("fast", 0)).await), "fast");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    let (started, finished, _) = seen.counts();
    assert!(!written.is_finished(), "no more is read than can be answered");
    assert!(started < 100 && finished == started, "4 MiB of answers wait, and no more calls are taken: {started}");
}

#[tokio::test]
async fn a_message_may_come_in_pieces_and_several_in_one() {
    let server = server();
    let mut client = Piped::to(&server);
    client.initialize("2025-06-18").await;
    client.say("{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}\r\n{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"ping\"}").await;
    assert_eq!(client.next().await.get("id"), Some(&Value::from(1)));
    assert_eq!(client.next().await.get("id"), Some(&Value::from(2)));
    for piece in ["{\"jsonrpc\":", "\"2.0\",\"id\":3,", "\"method\":\"ping\"}"] {
        client.piece(piece).await;
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    client.say("").await;
    assert_eq!(client.next().await.get("id"), Some(&Value::from(3)));
    // Without a line break at the end, the last one counts all the same.
    client.piece("{\"jsonrpc\":\"2.0\",\"id\":4,\"method\":\"ping\"}").await;
    let rest = client.close().await;
    assert_eq!(rest.len(), 1);
    assert!(rest[0].contains("\"id\":4"), "{rest:?}");
}

#[tokio::test]
async fn a_log_level_is_one_of_those_that_there_are() {
    let server = server();
    let mut client = Piped::session(&server, "2025-06-18").await;
    assert_eq!(client.ask("logging/setLevel", json!({ "level": "debug" })).await.get("result"), Some(&json!({})));
    for wrong in [json!({}), json!({ "level": "loud" }), json!({ "level": 3 })] {
        let answer = client.ask("logging/setLevel", wrong).await;
        assert_eq!(code(&answer), Some(-32_602));
        assert!(words(&answer).contains("emergency"), "{answer:?}");
    }
}

//! C36: progress keeps a call alive up to its total limit, and a client hears of it under its own token.

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::upstream::{Call, Upstream};
use super::{case, world_over};
use crate::serve::client::{Client, events_over_http};
use crate::world::World;

/// As the case has it.
const BETWEEN: Duration = Duration::from_millis(400);
const REPORTS: u32 = 7;
const LIMITS: &str = "    idleTimeout: 1s\n    callTimeout: 10s\ntools:\n  up_steady: { effect: read }\n  up_forever: { effect: read }\n\
                      composites:\n  twice: { steps: [{ name: a, tool: up_steady }, { name: b, tool: up_steady }] }\n";

/// What the case says of its tools. Reports that fall back, and one after the answer, are to reach nobody.
fn work(call: &mut Call<'_>) {
    let mut at = 0;
    while at < REPORTS || call.name == "forever" {
        std::thread::sleep(BETWEEN);
        at += 1;
        if !call.progress(at) {
            return;
        }
        call.progress(at - 1);
    }
    call.result(&json!({"content": [], "structuredContent": {"v": 1}}));
    call.progress(at + 1);
}

fn world(name: &str) -> (World, Upstream) {
    let upstream = Upstream::of(&case("36-progress-keeps-call-alive"), work);
    (world_over(name, &upstream, LIMITS), upstream)
}

/// All that is said of one call: progress under its token alone, rising, then the answer, and nothing behind it.
#[track_caller]
fn judged(tool: &str, token: &Value, messages: &[Value], took: Duration) {
    let (reply, told) = messages.split_last().unwrap();
    let mut reached = -1.0;
    for message in told {
        assert_eq!(
            (&message["method"], &message["params"]["progressToken"]),
            (&json!("notifications/progress"), token),
            "{tool}: {message}"
        );
        let progress = message["params"]["progress"].as_f64().unwrap();
        assert!(progress > reached, "{tool}: {progress} after {reached}");
        reached = progress;
    }
    assert!(told.len() >= REPORTS as usize, "{tool}: {told:?}");
    let result = &reply["result"];
    match tool {
        "up_forever" => {
            assert_eq!(result["_meta"]["dev.toolwright/error"]["code"], "upstream_timeout", "{reply}");
            let text = result["content"][0]["text"].as_str().unwrap();
            assert!(text.contains("total limit 10s"), "{text}");
            assert!(took >= Duration::from_secs(10) && took < Duration::from_secs(20), "{took:?}");
        }
        _ => {
            assert_eq!(result["structuredContent"], json!({"v": 1}), "{tool}: {reply}");
            assert!(took >= BETWEEN * REPORTS, "{tool}: {took:?}");
        }
    }
}

const CALLS: [(&str, &str); 3] = [("up_steady", "abc"), ("twice", "of two steps"), ("up_forever", "for ever")];

#[test]
fn c36_over_stdio_a_client_hears_rising_progress_under_its_token_and_none_after_the_answer() {
    let (world, upstream) = world("c36_stdio");
    let mut client = Client::start(&world, "--journal none");
    let began = Instant::now();
    for (at, (tool, token)) in CALLS.iter().enumerate() {
        let params = json!({"name": tool, "arguments": {}, "_meta": {"progressToken": token}});
        client.send(&json!({"jsonrpc": "2.0", "id": format!("call {at}"), "method": "tools/call", "params": params}));
    }
    let mut messages: Vec<(Value, Duration)> = Vec::new();
    while messages.iter().filter(|(message, _)| message.get("id").is_some()).count() < CALLS.len() {
        messages.push((client.message(), began.elapsed()));
    }
    // Whatever comes late would come before this.
    std::thread::sleep(BETWEEN);
    client.ask("ping", &json!({}));
    messages.extend(client.told.drain(..).map(|message| (message, began.elapsed())));
    for (at, (tool, token)) in CALLS.iter().enumerate() {
        let of_this = |message: &Value| message["id"] == format!("call {at}") || message["params"]["progressToken"] == *token;
        let (said, when): (Vec<Value>, Vec<Duration>) = messages.iter().filter(|(message, _)| of_this(message)).cloned().unzip();
        judged(tool, &json!(token), &said, *when.last().unwrap());
        messages.retain(|(message, _)| !of_this(message));
    }
    assert_eq!(messages, [], "what was said under no token of a call");
    assert_eq!(client.close().code, 0);
    its_own_tokens(&upstream);
}

#[test]
fn c36_over_http_a_client_hears_rising_progress_under_its_token_and_none_after_the_answer() {
    let (world, upstream) = world("c36_http");
    let (client, url) = Client::http(&world, "--journal none");
    std::thread::scope(|scope| {
        for (tool, token) in CALLS {
            let url = url.as_str();
            scope.spawn(move || {
                let began = Instant::now();
                let params = json!({"name": tool, "arguments": {}, "_meta": {"progressToken": token}});
                let (status, events) = events_over_http(url, None, "tools/call", &params);
                assert_eq!(status, 200, "{events:?}");
                judged(tool, &json!(token), &events, began.elapsed());
            });
        }
    });
    assert_eq!(client.terminate().code, 0);
    its_own_tokens(&upstream);
}

/// Two clients may have the same token: the server gets another one for each call.
#[track_caller]
fn its_own_tokens(upstream: &Upstream) {
    let seen = upstream.seen();
    let calls = seen.iter().filter(|seen| seen.body["method"] == "tools/call");
    let mut tokens: Vec<String> = calls.map(|seen| seen.body["params"]["_meta"]["progressToken"].to_string()).collect();
    let count = tokens.len();
    tokens.sort();
    tokens.dedup();
    assert_eq!((count, tokens.len()), (4, 4), "{tokens:?}");
    assert!(CALLS.iter().all(|(_, token)| !tokens.contains(&format!("\"{token}\""))), "{tokens:?}");
}

//! Calls without questions: results, refusals, progress, cancelling, leaving.

use super::*;

#[tokio::test]
async fn a_call_is_answered_under_its_own_id_in_the_form_of_its_generation() {
    let bench = Bench::new();
    let old = bench.call(&bench.session(""), &terms(Version::V2025_11_25, json!({})), 7, "echo", json!({ "arguments": { "v": 1.50 } }));
    let reply = old.replied().await;
    assert_eq!(reply.get("id"), Some(&json!(7)));
    assert_eq!(reply.pointer("/result/structuredContent"), Some(&json!({ "v": 1.50 })));
    assert_eq!(reply.pointer("/result/resultType"), None);
    let new = bench.call(&bench.single(""), &newest(json!({})), 8, "echo", json!({ "arguments": {} })).result().await;
    assert_eq!(new.get("resultType"), Some(&json!("complete")), "{new}");
    until("all is forgotten", || bench.calls.desk.counts() == (0, 0, 0)).await;
}

#[tokio::test]
async fn a_failed_tool_is_a_result_that_teaches_and_a_malformed_call_is_none() {
    let bench = Bench::new();
    let failed = bench.call(&bench.single(""), &newest(json!({})), 1, "fail", json!({})).result().await;
    assert_eq!(failed.get("isError"), Some(&json!(true)));
    let text = failed.pointer("/content/0/text").and_then(Value::as_str).unwrap();
    assert!(text.contains("no luck") && text.contains("luck"), "{text}");
    assert_eq!(failed.get("structuredContent"), None);
    let details = failed.pointer("/_meta/dev.toolwright~1error").unwrap();
    assert_eq!((details.get("code"), details.get("retry")), (Some(&json!("luck")), Some(&json!("safe"))), "{details}");

    let refused = [
        ("missing", json!({})),
        ("slow", json!({ "arguments": [1] })),
        ("slow", json!({ "requestState": "state-of-nobody" })),
        ("slow", json!({ "requestState": 1 })),
        ("slow", json!({ "inputResponses": null })),
        ("slow", json!({ "_meta": { "progressToken": {} } })),
        ("slow", json!({ "_meta": { "dev.toolwright/idempotency-key": "" } })),
        ("slow", json!({ "_meta": { "dev.toolwright/idempotency-key": 5 } })),
    ];
    for (tool, params) in refused {
        assert_eq!(bench.call(&bench.single(""), &newest(json!({})), 1, tool, params.clone()).code().await, -32_602, "{params}");
    }
    assert_eq!(bench.started(), 0, "nothing was run");
}

#[tokio::test]
async fn progress_rises_under_the_clients_own_token_and_ends_with_the_reply() {
    let bench = Bench::new();
    for (tool, last, total) in [("steady", 100.0, 100.0), ("both", 2.0, 2.0)] {
        let params = json!({ "_meta": { "progressToken": "abc" } });
        let tape = bench.call(&bench.session(""), &terms(Version::V2025_06_18, json!({})), 1, tool, params);
        tape.result().await;
        let told = tape.told("notifications/progress");
        let at: Vec<f64> = told.iter().filter_map(|told| told.pointer("/params/progress")?.as_f64()).collect();
        assert!(at.len() >= 3 && at.windows(2).all(|two| two[0] < two[1]), "{at:?}");
        assert_eq!(at.last(), Some(&last), "{tool}");
        assert!(told.iter().all(|told| told.pointer("/params/progressToken") == Some(&json!("abc"))));
        assert!(told.iter().all(|told| told.pointer("/params/total").and_then(Value::as_f64) == Some(total)), "{told:?}");
    }
    let silent = bench.call(&bench.session(""), &terms(Version::V2025_06_18, json!({})), 1, "steady", json!({}));
    silent.result().await;
    assert!(silent.told("notifications/progress").is_empty(), "nobody asked for it");
}

#[tokio::test]
async fn a_cancelled_call_reaches_its_tool_and_gets_no_reply() {
    let bench = Bench::new();
    let (client, other) = (bench.session(""), bench.session(""));
    let at = terms(Version::V2025_11_25, json!({}));
    let tape = bench.call(&client, &at, 1, "slow", json!({}));
    until("it runs", || bench.started() == 1).await;
    assert!(!bench.calls.cancel(&other, &number(1)), "that is the id of another client");
    assert!(!bench.calls.cancel(&client, &Id::Text("1".into())), "a text is no number");
    assert!(bench.calls.cancel(&client, &number(1)));
    until("the tool was told", || bench.did.cancelled.load(Ordering::SeqCst) == 1).await;
    until("all is forgotten", || bench.calls.desk.counts() == (0, 0, 0)).await;
    assert!(tape.is_silent());
    assert!(!bench.calls.cancel(&client, &number(1)), "it is over");
}

#[tokio::test]
async fn who_leaves_takes_its_own_calls_along_and_no_others() {
    let bench = Bench::new();
    let (goes, stays) = (bench.session(""), bench.session(""));
    let at = terms(Version::V2025_11_25, json!({}));
    bench.call(&goes, &at, 1, "slow", json!({}));
    bench.call(&goes, &at, 2, "slow", json!({}));
    let kept = bench.call(&stays, &at, 1, "slow", json!({}));
    until("all run", || bench.started() == 3).await;
    bench.calls.left(&goes);
    until("two were told", || bench.did.cancelled.load(Ordering::SeqCst) == 2).await;
    bench.did.go.notify_one();
    assert_eq!(kept.result().await.pointer("/structuredContent/waited"), Some(&json!(true)));
}

#[tokio::test]
async fn a_server_that_stops_waits_for_the_grace_and_then_cancels() {
    let bench = Bench::new();
    let at = terms(Version::V2025_11_25, json!({}));
    let tape = bench.call(&bench.session(""), &at, 1, "slow", json!({}));
    until("it runs", || bench.started() == 1).await;
    let before = std::time::Instant::now();
    bench.calls.stop(Duration::from_millis(100)).await;
    assert!(before.elapsed() >= Duration::from_millis(100));
    assert_eq!(bench.did.cancelled.load(Ordering::SeqCst), 1);
    assert_eq!(tape.result().await.get("isError"), Some(&json!(true)));
    assert_eq!(bench.call(&bench.session(""), &at, 1, "echo", json!({})).code().await, -32_603, "it takes nothing new");
}

#[tokio::test]
async fn only_so_many_calls_are_open() {
    let limits = ServerLimits { calls_open_max: 1, ..ServerLimits::default() };
    let bench = Bench::with(limits, None, ApprovalAsking::default());
    let at = terms(Version::V2025_11_25, json!({}));
    bench.call(&bench.session(""), &at, 1, "slow", json!({}));
    let reply = bench.call(&bench.session(""), &at, 1, "slow", json!({})).replied().await;
    assert!(reply.to_json_string().contains("calls_open_max"), "{reply}");
    until("one runs", || bench.started() == 1).await;
}

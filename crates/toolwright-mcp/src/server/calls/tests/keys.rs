//! Idempotency keys: a call is found again and not made twice.

use super::*;

fn keyed(key: &str) -> Value {
    json!({ "arguments": {}, "_meta": { "dev.toolwright/idempotency-key": key } })
}

#[tokio::test]
async fn who_comes_back_with_the_key_finds_the_call_also_when_it_is_over() {
    let bench = Bench::new();
    let at = newest(json!({}));
    let gone = bench.single("ann");
    let lost = bench.call(&gone, &at, 1, "slow", keyed("k"));
    until("it runs", || bench.started() == 1).await;
    bench.calls.left(&gone);
    let back = bench.call(&bench.single("ann"), &at, 1, "slow", keyed("k"));
    let beside = bench.call(&bench.session("ann"), &terms(Version::V2025_06_18, json!({})), 9, "slow", keyed("k"));
    bench.did.go.notify_one();
    assert_eq!(back.result().await.pointer("/structuredContent/waited"), Some(&json!(true)));
    assert_eq!(beside.result().await.pointer("/structuredContent/waited"), Some(&json!(true)));
    let later = bench.call(&bench.single("ann"), &at, 1, "slow", keyed("k"));
    assert_eq!(later.result().await.pointer("/structuredContent/waited"), Some(&json!(true)));
    assert_eq!((bench.started(), lost.is_silent()), (1, true));
}

#[tokio::test]
async fn a_key_is_good_for_one_call_of_one_caller() {
    let bench = Bench::new();
    let at = newest(json!({}));
    bench.call(&bench.single("ann"), &at, 1, "slow", keyed("k"));
    until("it runs", || bench.started() == 1).await;
    assert_eq!(bench.call(&bench.single("ann"), &at, 1, "echo", keyed("k")).code().await, -32_602, "another tool");
    let other = json!({ "arguments": { "v": 1 }, "_meta": { "dev.toolwright/idempotency-key": "k" } });
    assert_eq!(bench.call(&bench.single("ann"), &at, 1, "slow", other).code().await, -32_602, "other arguments");
    bench.call(&bench.single("bob"), &at, 1, "slow", keyed("k"));
    until("somebody else's key is another one", || bench.started() == 2).await;
}

#[tokio::test]
async fn a_cancelled_key_is_cancelled_only_when_nobody_else_waits() {
    let bench = Bench::new();
    let at = terms(Version::V2025_11_25, json!({}));
    let (one, two) = (bench.session(""), bench.session(""));
    bench.call(&one, &at, 1, "slow", keyed("k"));
    let waits = bench.call(&two, &at, 1, "slow", keyed("k"));
    until("it runs", || bench.started() == 1).await;
    assert!(bench.calls.cancel(&one, &number(1)));
    bench.did.go.notify_one();
    assert_eq!(waits.result().await.get("isError"), Some(&json!(false)));

    let alone = json!({ "arguments": {}, "_meta": { "dev.toolwright/idempotency-key": "other" } });
    bench.call(&one, &at, 2, "slow", alone);
    until("it runs", || bench.started() == 2).await;
    assert!(bench.calls.cancel(&one, &number(2)));
    until("the tool was told", || bench.did.cancelled.load(Ordering::SeqCst) == 1).await;
}

#[tokio::test]
async fn a_journal_remembers_what_the_server_forgot() {
    let journal = MemoryJournal::new();
    let limits = ServerLimits { call_kept: Duration::ZERO, ..ServerLimits::default() };
    let bench = || Bench::with(limits, Some(Arc::new(journal.clone())), ApprovalAsking::default());
    let first = bench();
    let tape = first.call(&first.single(""), &newest(json!({})), 1, "slow", keyed("order 17"));
    until("it runs", || first.started() == 1).await;
    first.did.go.notify_one();
    let result = tape.result().await;
    assert_eq!(result.pointer("/_meta/dev.toolwright~1run"), Some(&json!("key-s6raydbewjq1etj1m6bw294xyn")));
    // Another server over the same journal.
    let second = bench();
    let tape = second.call(&second.single(""), &newest(json!({})), 1, "slow", keyed("order 17"));
    assert_eq!(tape.result().await.pointer("/structuredContent/waited"), Some(&json!(true)));
    assert_eq!(second.started(), 0, "nothing ran");
    let other = json!({ "arguments": { "v": 1 }, "_meta": { "dev.toolwright/idempotency-key": "order 17" } });
    let refused = second.call(&second.single(""), &newest(json!({})), 1, "slow", other).result().await;
    assert_eq!(refused.get("isError"), Some(&json!(true)), "{refused}");
    assert_eq!(second.started(), 0, "nothing ran");
}

#[tokio::test]
async fn what_is_kept_is_bounded() {
    let limits = ServerLimits { calls_kept_max: 3, ..ServerLimits::default() };
    let bench = Bench::with(limits, None, ApprovalAsking::default());
    for key in 0..10 {
        bench.call(&bench.single(""), &newest(json!({})), 1, "echo", keyed(&key.to_string())).result().await;
    }
    until("three are kept", || bench.calls.desk.counts() == (0, 3, 0)).await;
    let limits = ServerLimits { calls_kept_bytes_max: 10, ..ServerLimits::default() };
    let bench = Bench::with(limits, None, ApprovalAsking::default());
    let params = json!({ "arguments": { "text": "longer than ten bytes" }, "_meta": { "dev.toolwright/idempotency-key": "k" } });
    bench.call(&bench.single(""), &newest(json!({})), 1, "echo", params).result().await;
    until("it has no room", || bench.calls.desk.counts() == (0, 0, 0)).await;
}

#[tokio::test]
async fn what_had_no_effect_may_be_made_again_under_its_key() {
    let bench = Bench::new();
    let params = json!({ "arguments": { "amount": 40 }, "_meta": { "dev.toolwright/idempotency-key": "k" } });
    let refused = bench.call(&bench.single(""), &newest(json!({})), 1, "pays", params.clone()).result().await;
    assert_eq!(refused.get("isError"), Some(&json!(true)), "nobody to ask");
    let at = newest(json!({ "elicitation": {} }));
    let asked = bench.call(&bench.single(""), &at, 1, "pays", params).result().await;
    assert_eq!(asked.get("resultType"), Some(&json!("input_required")), "{asked}");
}

#[tokio::test]
async fn a_question_goes_to_whoever_still_waits() {
    let bench = Bench::new();
    let at = terms(Version::V2025_11_25, json!({ "elicitation": {} }));
    let (goes, stays) = (bench.session(""), bench.session(""));
    let params = json!({ "arguments": { "amount": 40 }, "_meta": { "dev.toolwright/idempotency-key": "k" } });
    bench.call(&goes, &at, 1, "pays", params.clone()).asked("elicitation/create").await;
    let tape = bench.call(&stays, &at, 1, "pays", params);
    assert!(tape.told("elicitation/create").is_empty(), "it is asked once");
    bench.calls.left(&goes);
    let asked = tape.asked("elicitation/create").await;
    let yes = json!({ "action": "accept", "content": { "approve": true } });
    bench.askers.answered(&stays, &Id::from_value(asked.get("id").unwrap()).unwrap(), Ok(yes));
    assert_eq!(tape.result().await.get("isError"), Some(&json!(false)));
    assert_eq!(bench.did.paid.load(Ordering::SeqCst), 1);
}

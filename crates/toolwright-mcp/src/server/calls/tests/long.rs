//! Calls as tasks.

use super::*;

fn soon() -> Bench {
    Bench::with(ServerLimits { task_after: Duration::from_millis(20), ..ServerLimits::default() }, None, ApprovalAsking::default())
}

async fn standing(bench: &Bench, id: &Value, status: &str) -> Value {
    for _ in 0..1_000 {
        let task = bench.task(&with_tasks(), "", "tasks/get", json!({ "taskId": id.clone() })).result().await;
        if task.get("status").and_then(Value::as_str) == Some(status) {
            return task;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    panic!("never {status}");
}

#[tokio::test]
async fn a_long_call_becomes_a_task_and_its_result_is_found_by_the_id() {
    let bench = soon();
    let client = bench.single("");
    let task = bench.call(&client, &with_tasks(), 1, "slow", json!({})).result().await;
    assert_eq!((task.get("resultType"), task.get("status")), (Some(&json!("task")), Some(&json!("working"))), "{task}");
    assert!(task.get("ttlMs").and_then(Value::as_u64).is_some() && task.get("task").is_none() && task.get("requestState").is_none());
    bench.calls.left(&client);
    let id = task.get("taskId").unwrap();
    let working = standing(&bench, id, "working").await;
    assert_eq!(working.get("resultType"), Some(&json!("complete")));
    bench.did.go.notify_one();
    let done = standing(&bench, id, "completed").await;
    assert_eq!(done.pointer("/result/structuredContent/waited"), Some(&json!(true)), "{done}");
    assert_eq!(bench.started(), 1);
}

#[tokio::test]
async fn a_client_that_did_not_say_so_gets_no_task() {
    let bench = soon();
    for (client, at) in
        [(bench.single(""), newest(json!({}))), (bench.session(""), terms(Version::V2025_11_25, with_tasks().capabilities.clone()))]
    {
        let tape = bench.call(&client, &at, 1, "slow", json!({ "task": { "ttl": 60_000 } }));
        tokio::time::sleep(Duration::from_millis(60)).await;
        assert!(tape.is_silent());
        bench.did.go.notify_one();
        assert_eq!(tape.result().await.pointer("/structuredContent/waited"), Some(&json!(true)));
    }
    for method in ["tasks/get", "tasks/update", "tasks/cancel"] {
        let reply = bench.task(&newest(json!({})), "", method, json!({ "taskId": "x" })).replied().await;
        assert_eq!(reply.pointer("/error/code"), Some(&json!(-32_021)), "{reply}");
        let needed = reply.pointer("/error/data/requiredCapabilities/extensions/io.modelcontextprotocol~1tasks");
        assert!(needed.is_some(), "{reply}");
        assert_eq!(bench.task(&with_tasks(), "", method, json!({ "taskId": "x" })).code().await, -32_602);
    }
    let tape = Arc::new(Tape::default());
    assert!(!bench.calls.task(&request(&bench.single(""), &with_tasks(), 1, "tasks/list", json!({}), &tape)), "no method");
}

#[tokio::test]
async fn a_task_is_found_by_its_caller_only_and_ends_when_it_is_cancelled() {
    let bench = soon();
    let task = bench.call(&bench.single(""), &with_tasks(), 1, "slow", json!({})).result().await;
    let id = task.get("taskId").unwrap();
    let named = || json!({ "taskId": id.clone() });
    assert_eq!(bench.task(&with_tasks(), "mallory", "tasks/get", named()).code().await, -32_602);
    assert_eq!(bench.task(&with_tasks(), "mallory", "tasks/cancel", named()).code().await, -32_602);
    assert_eq!(bench.did.cancelled.load(Ordering::SeqCst), 0);
    for _ in 0..2 {
        let ack = bench.task(&with_tasks(), "", "tasks/cancel", named()).result().await;
        assert_eq!(ack.get("resultType"), Some(&json!("complete")));
        assert!(ack.get("taskId").is_none() && ack.get("status").is_none() && ack.get("result").is_none(), "{ack}");
        let cancelled = standing(&bench, id, "cancelled").await;
        assert_eq!((cancelled.get("result"), cancelled.get("error")), (None, None));
        assert!(cancelled.pointer("/_meta/dev.toolwright~1error/effect").is_some(), "{cancelled}");
    }
    assert_eq!(bench.did.cancelled.load(Ordering::SeqCst), 1);
}

#[tokio::test]
async fn a_task_asks_through_its_id_one_answer_after_the_other_and_watchers_hear_of_it() {
    let bench = soon();
    let ask = |key: &str| json!({ "key": key, "method": "elicitation/create", "params": { "message": key } });
    let answer = |name: &str| json!({ "action": "accept", "content": { "name": name } });
    // It becomes a task first, as when the server behind it makes it one.
    let tape = Arc::new(Tape::default());
    let asks = json!({ "arguments": { "moments": [[ask("a"), ask("b")]], "wait": true } });
    let call = request(&bench.single(""), &with_tasks(), 1, "tools/call", asks, &tape);
    bench.calls.start(&Arc::new(crate::server::Offer::new(late(&bench))), Needs::default(), "late".into(), call);
    let task = tape.result().await;
    let id = task.get("taskId").unwrap();
    let heard = Arc::new(Mutex::new(Vec::new()));
    let ears = heard.clone();
    let watcher: super::super::Watcher = Arc::new(move |told: &Value| ears.lock().unwrap().push(told.get("status").cloned().unwrap()));
    let name: Text = id.as_text().unwrap().clone();
    assert_eq!(bench.calls.watch(&Caller::default(), &[name.clone(), "other".into()], &watcher), std::slice::from_ref(&name));
    assert!(bench.calls.watch(&caller("mallory"), &[name], &watcher).is_empty());

    let asked = standing(&bench, id, "input_required").await;
    assert!(asked.pointer("/inputRequests/a").is_some() && asked.pointer("/inputRequests/b").is_some(), "{asked}");
    let update =
        |responses: Value| bench.task(&with_tasks(), "", "tasks/update", json!({ "taskId": id.clone(), "inputResponses": responses }));
    let ack = update(json!({ "a": answer("Ann"), "never": { "ignored": true } })).result().await;
    assert!(ack.get("resultType") == Some(&json!("complete")) && ack.get("status").is_none(), "{ack}");
    let asked = standing(&bench, id, "input_required").await;
    assert!(asked.pointer("/inputRequests/a").is_none() && asked.pointer("/inputRequests/b").is_some(), "{asked}");
    assert_eq!(update(json!({ "b": 5 })).code().await, -32_602);
    update(json!({ "b": answer("Bob") })).result().await;
    let done = standing(&bench, id, "completed").await;
    assert_eq!(done.pointer("/result/structuredContent/said"), Some(&json!([answer("Ann"), answer("Bob")])), "{done}");
    let heard = heard.lock().unwrap();
    assert_eq!((heard.first(), heard.last()), (Some(&json!("working")), Some(&json!("completed"))), "{heard:?}");
    assert!(heard.contains(&json!("input_required")), "{heard:?}");
}

/// A tool that waits a little and then asks.
fn late(bench: &Bench) -> Catalog {
    let catalog = bench.catalog.clone();
    let late = tool("late", "Asks after a while").reads().run_json(move |input: Value, _call| {
        let catalog = catalog.clone();
        async move {
            tokio::time::sleep(Duration::from_millis(60)).await;
            let result = catalog.invoke(Invocation::new("asks", input), ()).await.map_err(|error| ToolError::new(error.message()))?;
            Ok(result.value().clone())
        }
    });
    Registry::new().with(late).unwrap().seal()
}

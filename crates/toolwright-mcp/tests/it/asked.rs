//! What a call asks the client that made it, over a pipe: approvals of the policy in both generations, tasks, keys, progress.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use toolwright::approval::{Approvals, Approve};
use toolwright::{Composite, CompositeSpec, Policy, Registry, Value, json, tool};
use toolwright_mcp::server::{ApprovalAsking, Askers, Offer, Server, ServerOptions};

use crate::piped::{Piped, code, with_meta};

/// A server whose `pay` needs a yes, and how often it paid.
fn paying(asking: ApprovalAsking, change: impl FnOnce(&mut ServerOptions)) -> (Server, Arc<AtomicUsize>) {
    let paid = Arc::new(AtomicUsize::new(0));
    let askers = Askers::new().with_approvals(asking);
    let approvals = Approvals::new().tool("pay", Approve::Always).approver(Arc::new(askers.clone()));
    let counter = paid.clone();
    let pay = tool("pay", "Pays somebody").writes().run_json(move |input, call| {
        let counter = counter.clone();
        async move {
            call.progress("paying", Some(1.0), Some(2.0));
            tokio::time::sleep(Duration::from_millis(input.get("ms").and_then(Value::as_u64).unwrap_or(0))).await;
            counter.fetch_add(1, Ordering::SeqCst);
            Ok(json!({ "paid": input.get("amount").cloned().unwrap_or_default() }))
        }
    });
    let look = tool("look", "Looks up an amount").reads().run_json(|_, _| async move { Ok(json!({ "amount": 40 })) });
    let steps = json!({ "steps": [
        { "name": "find", "tool": "look", "inputMapping": {} },
        { "name": "send", "tool": "pay", "inputMapping": { "amount": "$prev.amount" } },
    ]});
    let settle = Composite::new("settle", "Looks and pays").spec(CompositeSpec::from_value(&steps).unwrap());
    let policy = Policy::new().may_chain(["pay"]).approvals(approvals);
    let registry = Registry::with_policy(policy).with(pay).unwrap().with(look).unwrap().with(settle).unwrap();
    let mut options = ServerOptions::new("tools", "1");
    change(&mut options);
    (Server::new(options, askers, Offer::new(registry.seal())), paid)
}

fn call(tool: &str, arguments: Value) -> Value {
    json!({ "name": tool, "arguments": arguments })
}

fn alone(params: Value, capabilities: Value) -> Value {
    let said =
        json!({ "io.modelcontextprotocol/protocolVersion": "2026-07-28", "io.modelcontextprotocol/clientCapabilities": capabilities });
    with_meta(params, said)
}

fn also(params: Value, name: &str, value: Value) -> Value {
    Value::from(params.as_object().unwrap().with(name, value))
}

async fn initialized(server: &Server, capabilities: Value) -> Piped {
    let mut client = Piped::to(server);
    let params = json!({ "protocolVersion": "2025-11-25", "capabilities": capabilities, "clientInfo": { "name": "t", "version": "1" } });
    client.ask("initialize", params).await;
    client.say(r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#).await;
    client
}

fn answer_of(asked: &Value, result: Value) -> String {
    json!({ "jsonrpc": "2.0", "id": asked.get("id").unwrap().clone(), "result": result }).to_json_string()
}

#[tokio::test]
async fn a_session_is_asked_with_the_final_arguments_and_its_answer_counts() {
    let (server, paid) = paying(ApprovalAsking::default(), |_| {});
    let mut client = initialized(&server, json!({ "elicitation": {} })).await;
    let yes = json!({ "action": "accept", "content": { "approve": true } });
    for (answer, ok) in [(json!({ "action": "accept" }), false), (json!({ "action": "decline" }), false), (yes, true)] {
        client.request("p", "tools/call", with_meta(call("settle", json!({})), json!({ "progressToken": 9 }))).await;
        let asked = loop {
            let message = client.next().await;
            if message.get("method") == Some(&json!("elicitation/create")) {
                break message;
            }
            assert_eq!(message.pointer("/params/progressToken"), Some(&json!(9)), "{message}");
        };
        let shown = asked.pointer("/params/message").and_then(Value::as_str).unwrap();
        assert!(shown.contains(r#"{"amount":40}"#) && shown.contains("`settle`"), "{shown}");
        client.say(answer_of(&asked, answer)).await;
        let done = client.answer(&json!("p")).await;
        assert_eq!(done.pointer("/result/isError"), Some(&Value::from(!ok)), "{done}");
        if !ok {
            assert_eq!(done.pointer("/result/_meta/dev.toolwright~1error/code"), Some(&json!("approval_denied")), "{done}");
            assert_eq!(done.pointer("/result/_meta/dev.toolwright~1error/completed"), Some(&json!(["find"])), "{done}");
        }
    }
    assert_eq!(paid.load(Ordering::SeqCst), 1);
}

#[tokio::test]
async fn a_request_that_stands_for_itself_gets_the_question_as_its_result() {
    let (server, paid) = paying(ApprovalAsking::default(), |_| {});
    let mut client = Piped::to(&server);
    let params = call("pay", json!({ "amount": 40 }));
    let can = json!({ "elicitation": {} });
    let required = client.ask("tools/call", alone(params.clone(), can.clone())).await;
    assert_eq!(required.pointer("/result/resultType"), Some(&json!("input_required")), "{required}");
    let (key, _) = required.pointer("/result/inputRequests").and_then(Value::as_object).unwrap().iter().next().unwrap();
    let state = required.pointer("/result/requestState").unwrap().clone();
    let yes = json!({ key.as_str(): { "action": "accept", "content": { "approve": true } } });
    let again = also(also(params, "inputResponses", yes), "requestState", state);
    // The yes is for 40, and for this tool.
    let other = also(again.clone(), "arguments", json!({ "amount": 4_000 }));
    assert_eq!(code(&client.ask("tools/call", alone(other, can.clone())).await), Some(-32_602));
    assert_eq!(paid.load(Ordering::SeqCst), 0);
    let done = client.ask("tools/call", alone(again.clone(), can.clone())).await;
    assert_eq!(done.pointer("/result/structuredContent/paid"), Some(&json!(40)), "{done}");
    assert_eq!(code(&client.ask("tools/call", alone(again, can)).await), Some(-32_602), "it counts once");
    assert_eq!(paid.load(Ordering::SeqCst), 1);
}

#[tokio::test]
async fn nobody_to_ask_and_no_answer_mean_no() {
    let soon = ApprovalAsking { expires: Duration::from_millis(200), ..ApprovalAsking::default() };
    for (capabilities, expected) in [(json!({}), "approval_denied"), (json!({ "elicitation": {} }), "approval_expired")] {
        let (server, paid) = paying(soon, |_| {});
        let mut client = initialized(&server, capabilities).await;
        let refused = client.ask("tools/call", call("pay", json!({ "amount": 1 }))).await;
        assert_eq!(refused.pointer("/result/_meta/dev.toolwright~1error/code"), Some(&json!(expected)), "{refused}");
        assert_eq!(paid.load(Ordering::SeqCst), 0);
    }
}

#[tokio::test]
async fn a_long_call_is_a_task_that_asks_and_is_answered_by_its_id() {
    let (server, paid) = paying(ApprovalAsking::default(), |options| options.limits.task_after = Duration::from_millis(50));
    let mut client = Piped::to(&server);
    let can = json!({ "elicitation": {}, "extensions": { "io.modelcontextprotocol/tasks": {} } });
    let found = client.ask("server/discover", alone(json!({}), can.clone())).await;
    assert!(found.pointer("/result/capabilities/extensions/io.modelcontextprotocol~1tasks").is_some(), "{found}");
    // Asked before it is a task, it is answered before it is one.
    let params = call("pay", json!({ "amount": 40, "ms": 300 }));
    let required = client.ask("tools/call", alone(params.clone(), can.clone())).await;
    let (key, _) = required.pointer("/result/inputRequests").and_then(Value::as_object).unwrap().iter().next().unwrap();
    let yes = json!({ key.as_str(): { "action": "accept", "content": { "approve": true } } });
    let again = also(also(params, "inputResponses", yes), "requestState", required.pointer("/result/requestState").unwrap().clone());
    let task = client.ask("tools/call", alone(again, can.clone())).await;
    assert_eq!(task.pointer("/result/resultType"), Some(&json!("task")), "{task}");
    let named = json!({ "taskId": task.pointer("/result/taskId").unwrap().clone() });
    let done = loop {
        let now = client.ask("tasks/get", alone(named.clone(), can.clone())).await;
        if now.pointer("/result/status") != Some(&json!("working")) {
            break now;
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    };
    assert_eq!(done.pointer("/result/result/structuredContent/paid"), Some(&json!(40)), "{done}");
    assert_eq!(paid.load(Ordering::SeqCst), 1);
    assert_eq!(code(&client.ask("tasks/get", alone(named, json!({}))).await), Some(-32_021));
    assert_eq!(code(&client.ask("tasks/list", alone(json!({}), can)).await), Some(-32_601));
}

#[tokio::test]
async fn who_comes_back_over_another_pipe_finds_the_call_by_its_key() {
    let (server, paid) = paying(ApprovalAsking::default(), |options| options.limits.stop_grace = Duration::from_millis(100));
    let key = || json!({ "dev.toolwright/idempotency-key": "order 17" });
    let params = || with_meta(call("pay", json!({ "amount": 40, "ms": 200 })), key());
    let mut first = initialized(&server, json!({ "elicitation": {} })).await;
    first.request(1, "tools/call", params()).await;
    let asked = first.next().await;
    assert_eq!(asked.get("method"), Some(&json!("elicitation/create")), "{asked}");
    first.close().await;
    // The question is put again to whoever waits now.
    let mut second = initialized(&server, json!({ "elicitation": {} })).await;
    second.request(7, "tools/call", params()).await;
    let asked = second.next().await;
    assert_eq!(asked.get("method"), Some(&json!("elicitation/create")), "{asked}");
    second.say(answer_of(&asked, json!({ "action": "accept", "content": { "approve": true } }))).await;
    assert_eq!(second.answer(&json!(7)).await.pointer("/result/structuredContent/paid"), Some(&json!(40)));
    let again = second.ask("tools/call", params()).await;
    assert_eq!(again.pointer("/result/structuredContent/paid"), Some(&json!(40)));
    assert_eq!(paid.load(Ordering::SeqCst), 1);
}

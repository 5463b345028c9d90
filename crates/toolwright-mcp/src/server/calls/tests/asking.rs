//! Questions to clients with and without sessions, and approvals.

use super::*;

fn elicit(key: &str) -> Value {
    json!({ "key": key, "method": "elicitation/create", "params": { "message": "Your name?" } })
}

fn moments(moments: Value) -> Value {
    json!({ "arguments": { "moments": moments } })
}

fn accept(name: &str) -> Value {
    json!({ "action": "accept", "content": { "name": name } })
}

fn said(result: &Value) -> Value {
    result.pointer("/structuredContent/said").unwrap_or_else(|| panic!("{result}")).clone()
}

fn can_elicit() -> Arc<Terms> {
    newest(json!({ "elicitation": {}, "sampling": {} }))
}

/// The request again, with the state and these answers.
fn again(mut params: Value, required: &Value, responses: Value) -> Value {
    let Value::Object(object) = &params else { panic!("{params}") };
    let object = object.with("requestState", required.get("requestState").unwrap().clone());
    params = Value::Object(object.with("inputResponses", responses));
    params
}

#[tokio::test]
async fn a_client_with_a_session_is_sent_a_request_and_answers_it() {
    let bench = Bench::new();
    let (client, other) = (bench.session(""), bench.session(""));
    let tape = bench.call(&client, &terms(Version::V2025_06_18, json!({ "elicitation": {} })), 1, "asks", moments(json!([[elicit("n")]])));
    let asked = tape.asked("elicitation/create").await;
    assert_eq!(asked.pointer("/params/message"), Some(&json!("Your name?")));
    let id = Id::from_value(asked.get("id").unwrap()).unwrap();
    bench.askers.answered(&other, &id, Ok(accept("Mallory")));
    bench.askers.answered(&client, &id, Ok(accept("Ann")));
    bench.askers.answered(&client, &id, Ok(accept("late")));
    assert_eq!(said(&tape.result().await), json!([accept("Ann")]));
}

#[tokio::test]
async fn a_question_that_nobody_can_answer_is_refused_at_once() {
    let bench = Bench::new();
    for at in [terms(Version::V2025_11_25, json!({ "elicitation": {} })), newest(json!({ "elicitation": {} }))] {
        let question = json!({ "key": "q", "method": "sampling/createMessage", "params": { "messages": [] } });
        let tape = bench.call(&bench.session(""), &at, 1, "asks", moments(json!([[question]])));
        let said = said(&tape.result().await);
        assert_eq!(said.pointer("/0/refused"), Some(&json!(-32_601)), "{said}");
        assert!(tape.told("sampling/createMessage").is_empty());
    }
}

#[tokio::test]
async fn an_answer_that_is_none_is_refused_to_the_server() {
    let bench = Bench::new();
    let client = bench.session("");
    let tape = bench.call(&client, &terms(Version::V2025_06_18, json!({ "elicitation": {} })), 1, "asks", moments(json!([[elicit("n")]])));
    let asked = tape.asked("elicitation/create").await;
    bench.askers.answered(&client, &Id::from_value(asked.get("id").unwrap()).unwrap(), Ok(json!({ "action": "maybe" })));
    assert_eq!(said(&tape.result().await).pointer("/0/refused"), Some(&json!(-32_602)));
}

#[tokio::test]
async fn a_client_without_a_session_is_required_to_give_input_round_by_round() {
    let bench = Bench::new();
    let params = moments(json!([[elicit("name"), elicit("colour")], [elicit("name")]]));
    let call = |params| bench.call(&bench.single(""), &can_elicit(), 1, "asks", params);
    let first = call(params.clone()).result().await;
    assert_eq!(first.get("resultType"), Some(&json!("input_required")), "{first}");
    assert_eq!(first.pointer("/inputRequests/name/method"), Some(&json!("elicitation/create")));
    assert!(first.pointer("/inputRequests/colour").is_some(), "{first}");

    // A part of the answers: the rest is asked again, under a state of its own.
    let second = call(again(params.clone(), &first, json!({ "name": accept("Ann"), "unknown": 5 }))).result().await;
    assert_eq!(second.get("resultType"), Some(&json!("input_required")), "{second}");
    assert_eq!(second.pointer("/inputRequests/name"), None, "{second}");
    assert_ne!(second.get("requestState"), first.get("requestState"));
    assert_eq!(call(again(params.clone(), &first, json!({}))).code().await, -32_602, "a state is good for one time");

    // The same key again is another question, and so it has another key.
    let third = call(again(params.clone(), &second, json!({ "colour": accept("blue") }))).result().await;
    assert!(third.pointer("/inputRequests/name-2").is_some(), "{third}");
    let last = call(again(params, &third, json!({ "name-2": accept("Bob") }))).result().await;
    assert_eq!(last.get("resultType"), Some(&json!("complete")));
    assert_eq!(said(&last), json!([accept("Ann"), accept("blue"), accept("Bob")]));
    until("all is forgotten", || bench.calls.desk.counts() == (0, 0, 0)).await;
}

#[tokio::test]
async fn a_state_is_good_for_its_call_and_its_caller_only() {
    let bench = Bench::new();
    let params = moments(json!([[elicit("name")]]));
    let first = bench.call(&bench.single("ann"), &can_elicit(), 1, "asks", params.clone()).result().await;
    let answers = json!({ "name": accept("Mallory") });
    let foreign = bench.call(&bench.single("bob"), &can_elicit(), 1, "asks", again(params.clone(), &first, answers.clone()));
    assert_eq!(foreign.code().await, -32_602, "another caller");
    let other = bench.call(&bench.single("ann"), &can_elicit(), 1, "echo", again(params.clone(), &first, answers.clone()));
    assert_eq!(other.code().await, -32_602, "another tool");
    let other = again(moments(json!([[elicit("other")]])), &first, answers.clone());
    assert_eq!(bench.call(&bench.single("ann"), &can_elicit(), 1, "asks", other).code().await, -32_602, "other arguments");
    let Some(Value::String(state)) = first.get("requestState") else { panic!("{first}") };
    let changed = json!({ "requestState": format!("{state}-TAMPERED") });
    let tampered = bench.call(&bench.single("ann"), &can_elicit(), 1, "asks", again(params.clone(), &changed, answers));
    assert_eq!(tampered.code().await, -32_602, "another state");
    // A wrong answer changes nothing; the right one is still taken.
    let wrong = bench.call(&bench.single("ann"), &can_elicit(), 1, "asks", again(params.clone(), &first, json!({ "name": 12_345 })));
    assert_eq!(wrong.code().await, -32_602);
    let right = bench.call(&bench.single("ann"), &can_elicit(), 1, "asks", again(params, &first, json!({ "name": accept("Ann") })));
    assert_eq!(said(&right.result().await), json!([accept("Ann")]));
}

#[tokio::test]
async fn answers_sent_along_are_taken_where_they_fit() {
    let bench = Bench::new();
    let sent_along = |responses: Value| {
        let Value::Object(params) = moments(json!([[elicit("name")]])) else { panic!() };
        bench.call(&bench.single(""), &can_elicit(), 1, "asks", Value::Object(params.with("inputResponses", responses)))
    };
    let fits = sent_along(json!({ "name": accept("Ann"), "extra": { "a": 1 } })).result().await;
    assert_eq!(said(&fits), json!([accept("Ann")]));
    for not in [json!({ "wrong": accept("Ann") }), json!({ "name": 12_345 })] {
        assert_eq!(sent_along(not).result().await.get("resultType"), Some(&json!("input_required")));
    }
}

#[tokio::test]
async fn a_client_without_a_session_may_hang_up_while_a_call_stands_still() {
    let bench = Bench::new();
    let params = moments(json!([[elicit("name")]]));
    let client = bench.single("");
    let first = bench.call(&client, &can_elicit(), 1, "asks", params.clone()).result().await;
    bench.calls.left(&client);
    let last = bench.call(&bench.single(""), &can_elicit(), 1, "asks", again(params, &first, json!({ "name": accept("Ann") })));
    assert_eq!(said(&last.result().await), json!([accept("Ann")]));
}

#[tokio::test]
async fn only_yes_to_this_very_question_lets_it_run() {
    let bench = Bench::new();
    let params = json!({ "arguments": { "amount": 40 } });
    let required = bench.call(&bench.single("ann"), &can_elicit(), 1, "pays", params.clone()).result().await;
    let shown = required.pointer("/inputRequests/approval-1/params/message").and_then(Value::as_str).unwrap();
    assert!(shown.contains(r#"{"amount":40}"#), "{shown}");
    for no in
        [json!({ "action": "accept" }), json!({ "action": "decline" }), json!({ "action": "accept", "content": { "approve": false } })]
    {
        let required = bench.call(&bench.single("ann"), &can_elicit(), 1, "pays", params.clone()).result().await;
        let refused =
            bench.call(&bench.single("ann"), &can_elicit(), 1, "pays", again(params.clone(), &required, json!({ "approval-1": no })));
        assert_eq!(refused.result().await.get("isError"), Some(&json!(true)));
    }
    // Nobody can say yes before the question is there.
    let Value::Object(early) = &params else { panic!() };
    let yes = json!({ "approval-1": { "action": "accept", "content": { "approve": true } } });
    let early = Value::Object(early.with("inputResponses", yes.clone()));
    let asked = bench.call(&bench.single("ann"), &can_elicit(), 1, "pays", early).result().await;
    assert_eq!(asked.get("resultType"), Some(&json!("input_required")));
    assert_eq!(bench.did.paid.load(Ordering::SeqCst), 0);

    let paid = bench.call(&bench.single("ann"), &can_elicit(), 1, "pays", again(params, &required, yes)).result().await;
    assert_eq!(paid.get("structuredContent"), Some(&json!({ "paid": true, "who": "ann" })));
    assert_eq!(bench.did.paid.load(Ordering::SeqCst), 1);
}

#[tokio::test]
async fn without_anybody_to_ask_or_in_time_it_is_no() {
    let soon = ApprovalAsking { expires: Duration::from_millis(50), ..ApprovalAsking::default() };
    let cases = [
        (newest(json!({})), ApprovalAsking::default(), "Nobody"),
        (newest(json!({})), ApprovalAsking { later: true, ..ApprovalAsking::default() }, "Later"),
        (can_elicit(), ApprovalAsking { client: false, ..ApprovalAsking::default() }, "Nobody"),
        (terms(Version::V2025_11_25, json!({ "elicitation": {} })), soon, "Expired"),
    ];
    for (at, approvals, answer) in cases {
        let bench = Bench::with(ServerLimits::default(), None, approvals);
        let tape = bench.call(&bench.session(""), &at, 1, "pays", json!({}));
        let result = tape.result().await;
        assert!(result.to_json_string().contains(answer), "{answer}: {result}");
        assert_eq!(bench.did.paid.load(Ordering::SeqCst), 0);
        // A question that is over is taken back.
        assert_eq!(tape.told("notifications/cancelled").len(), tape.told("elicitation/create").len());
    }
}

#[tokio::test]
async fn only_so_many_calls_stand_still() {
    let limits = ServerLimits { calls_parked_max: 2, ..ServerLimits::default() };
    let bench = Bench::with(limits, None, ApprovalAsking::default());
    let params = moments(json!([[elicit("name")]]));
    let mut required = Vec::new();
    for _ in 0..4 {
        required.push(bench.call(&bench.single(""), &can_elicit(), 1, "asks", params.clone()).result().await);
    }
    until("two were given up", || bench.calls.desk.counts().0 == 2).await;
    for (at, required) in required.iter().enumerate() {
        let tape =
            bench.call(&bench.single(""), &can_elicit(), 1, "asks", again(params.clone(), required, json!({ "name": accept("Ann") })));
        match at {
            0 | 1 => assert_eq!(tape.code().await, -32_602),
            _ => assert_eq!(said(&tape.result().await), json!([accept("Ann")])),
        }
    }
}

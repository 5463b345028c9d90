//! A tool that wants somebody's yes: the client that called is asked where it can be, and otherwise the run waits for a person.

use serde_json::{Value, json};

use super::client::Client;
use crate::world::World;

const FILE: &str = r#"
sources:
  here:
    tools:
      send: { argv: [tee, -a, sent.txt], stdin: "{text}\n", effect: write, input: { type: object, properties: { text: { type: string } }, required: [text] } }
policy:
  sideEffectingTools: [{ tool: send, approve: always }]
"#;

fn world(name: &str, more: &str) -> World {
    let world = World::new(name);
    world.write("toolwright.yaml", &format!("{FILE}{more}"));
    world
}

/// The question that comes before the reply to a call.
fn asked(client: &mut Client, text: &str) -> Value {
    client.send(&json!({"jsonrpc": "2.0", "id": 77, "method": "tools/call", "params": {"name": "send", "arguments": {"text": text}}}));
    let question = client.message();
    assert_eq!(question["method"], "elicitation/create", "{question}");
    assert!(question["params"]["message"].as_str().unwrap().contains(text), "the final arguments are shown: {question}");
    question
}

#[test]
fn the_client_that_called_is_asked_and_its_answer_counts() {
    let world = world("serve_asks", "");
    let mut client = Client::start_with(&world, "--journal runs.sqlite", &json!({"elicitation": {}}));
    let answers = [
        (json!({"action": "decline"}), true, ""),
        (json!({"action": "accept", "content": {"approve": false}}), true, ""),
        (json!({"action": "accept", "content": {}}), true, ""),
        (json!({"action": "accept", "content": {"approve": true}}), false, "the 3rd\n"),
    ];
    for (at, (answer, refused, sent)) in answers.into_iter().enumerate() {
        let question = asked(&mut client, &format!("the {at}rd"));
        assert!(!world.has("sent.txt"), "nothing is sent before the answer");
        client.send(&json!({"jsonrpc": "2.0", "id": question["id"], "result": answer}));
        let reply = client.message();
        assert_eq!((&reply["id"], reply["result"]["isError"] == true), (&json!(77), refused), "{reply}");
        let now = if world.has("sent.txt") { world.read("sent.txt") } else { String::new() };
        assert_eq!(now, sent, "{answer}");
    }
    assert_eq!(client.close().code, 0);
}

/// What the messages of the server come to: the reply to the call that asked.
fn ended(client: &mut Client) -> Value {
    loop {
        let message = client.message();
        if message["id"] == 77 && message.get("method").is_none() {
            return message;
        }
    }
}

#[test]
fn a_question_about_what_is_offered_no_more_ends_and_nothing_runs() {
    let tool = |change: &str, by: &str| FILE.replace(change, by);
    let audience = |words: &str| format!("{FILE}serve:\n  audiences: {{ default: {words} }}\n");
    let changes = [
        ("description", tool("effect: write,", "effect: write, description: Sends to everyone,")),
        ("pinned", format!("{FILE}tools:\n  send: {{ pin: {{ text: other }} }}\n")),
        ("denied", audience("{ denied: [send] }")),
        ("unseen", audience("{ sees: [look*] }")),
        ("gone", "sources: {}\n".to_owned()),
    ];
    for (name, changed) in changes {
        let world = world(&format!("serve_changed_{name}"), "");
        let mut client = Client::start_with(&world, "--journal runs.sqlite", &json!({"elicitation": {}}));
        let question = asked(&mut client, "hello");
        world.write("toolwright.yaml", &changed);
        let reply = ended(&mut client);
        assert_eq!(reply["result"]["_meta"]["dev.toolwright/error"]["code"], "catalog_changed", "{name}: {reply}");
        let text = reply["result"]["content"][0]["text"].as_str().unwrap();
        assert!(text.contains("nothing of it ran, and a further call asks again"), "what to do stands in it: {text}");
        client.send(&json!({"jsonrpc": "2.0", "id": question["id"], "result": {"action": "accept", "content": {"approve": true}}}));
        client.ask("ping", &json!({}));
        assert_eq!(client.close().code, 0);
        world.run("resume last --journal runs.sqlite");
        assert!(!world.has("sent.txt"), "{name}");
    }
}

#[test]
fn a_cancelled_call_cannot_be_approved_later() {
    let world = world("serve_cancelled", "");
    let mut client = Client::start_with(&world, "--journal runs.sqlite", &json!({"elicitation": {}}));
    asked(&mut client, "hello");
    let open = |world: &World| world.json("approve --journal runs.sqlite").as_array().unwrap().len();
    assert_eq!(open(&world), 1);
    client.send(&json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 77}}));
    client.ask("ping", &json!({}));
    assert_eq!(client.close().code, 0);
    assert_eq!(open(&world), 0, "nothing waits for an answer");
    world.run("resume last --journal runs.sqlite");
    assert!(!world.has("sent.txt"), "nothing was sent");
}

#[test]
fn who_cannot_be_asked_leaves_the_run_to_a_person() {
    let world = world("serve_later", "");
    let mut client = Client::start(&world, "--journal runs.sqlite");
    let reply = client.call("send", &json!({"text": "hello"}));
    assert_eq!(reply["result"]["_meta"]["dev.toolwright/error"]["code"], "approval_required", "{reply}");
    assert!(!world.has("sent.txt"), "nothing was sent");
    assert_eq!(client.close().code, 0);
    let questions = world.json("approve --journal runs.sqlite");
    let id = questions.pointer("/0/id").unwrap_or_else(|| panic!("{questions}"));
    let yes = world.run(&format!("approve {} --yes --journal runs.sqlite", id.as_str().unwrap()));
    assert_eq!(yes.code, 0, "{}", yes.err);
    let resumed = world.run("resume last --journal runs.sqlite");
    assert_eq!(resumed.code, 0, "{}", resumed.err);
    assert_eq!(world.read("sent.txt"), "hello\n");
}

#[test]
fn nobody_to_ask_is_a_no() {
    let world = world("serve_nobody", "serve:\n  approvals: { later: false }\n");
    let mut client = Client::start(&world, "--journal runs.sqlite");
    let reply = client.call("send", &json!({"text": "hello"}));
    assert_eq!(reply["result"]["_meta"]["dev.toolwright/error"]["code"], "approval_denied", "{reply}");
    assert_eq!(client.close().code, 0);
    assert!(!world.has("sent.txt"), "nothing was sent");
}

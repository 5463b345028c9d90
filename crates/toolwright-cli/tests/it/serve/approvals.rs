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

/// What is offered changes while the question stands; the answer is yes. Nothing is sent.
#[test]
fn a_yes_does_not_count_for_what_is_offered_no_more() {
    let tool = |change: &str, by: &str| FILE.replace(change, by);
    let audience = |words: &str| format!("{FILE}serve:\n  audiences: {{ default: {words} }}\n");
    let changes = [
        ("description", tool("effect: write,", "effect: write, description: Sends to everyone,")),
        ("command", tool("sent.txt]", "sent.txt, other.txt]")),
        ("fixed", format!("{FILE}tools:\n  send: {{ pin: {{ text: other }} }}\n")),
        ("denied", audience("{ denied: [send] }")),
        ("unseen", audience("{ sees: [look] }")),
        ("gone", "sources: {}\n".to_owned()),
    ];
    for (name, changed) in changes {
        for person in [false, true] {
            let world = world(&format!("serve_changed_{name}_{person}"), "");
            let mut client = Client::start_with(&world, "--journal runs.sqlite", &json!({"elicitation": {}}));
            let question = asked(&mut client, "hello");
            let before = client.names();
            world.write("toolwright.yaml", &changed);
            let mut reply = None;
            // What is offered is another list, or the call has ended by itself.
            for _ in 0..2 {
                let message = client.message();
                if message["id"] == 77 {
                    reply = Some(message);
                    break;
                }
                if message["method"] == "notifications/tools/list_changed" {
                    break;
                }
            }
            if person {
                let questions = world.json("approve --journal runs.sqlite");
                if let Some(id) = questions.pointer("/approvals/0/id").or_else(|| questions.pointer("/0/id")) {
                    world.run(&format!("approve {} --yes --journal runs.sqlite", id.as_str().unwrap()));
                }
            } else {
                let yes = json!({"action": "accept", "content": {"approve": true}});
                client.send(&json!({"jsonrpc": "2.0", "id": question["id"], "result": yes}));
            }
            let reply = reply.unwrap_or_else(|| {
                loop {
                    let message = client.message();
                    if message["id"] == 77 {
                        break message;
                    }
                }
            });
            let code = &reply["result"]["_meta"]["dev.toolwright/error"]["code"];
            assert_eq!(code, "catalog_changed", "{name}: {reply}, before {before:?}");
            assert!(!world.has("sent.txt") && !world.has("other.txt"), "{name}");
            assert_eq!(client.close().code, 0);
            world.run("resume last --journal runs.sqlite");
            assert!(!world.has("sent.txt") && !world.has("other.txt"), "{name}: taken up again");
        }
    }
}

#[test]
fn a_cancelled_call_is_over_and_cannot_be_approved_later() {
    let world = world("serve_cancelled", "");
    let mut client = Client::start_with(&world, "--journal runs.sqlite", &json!({"elicitation": {}}));
    asked(&mut client, "hello");
    let questions = world.json("approve --journal runs.sqlite");
    let id = questions.pointer("/approvals/0/id").or_else(|| questions.pointer("/0/id")).unwrap_or_else(|| panic!("{questions}"));
    let id = id.as_str().unwrap().to_owned();
    client.send(&json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 77}}));
    assert_eq!(client.message()["method"], "notifications/cancelled", "the question is taken back");
    client.ask("ping", &json!({}));
    let open = |world: &World| world.json("approve --journal runs.sqlite").to_string().contains(&id);
    for _ in 0..100 {
        if !open(&world) {
            break;
        }
        std::thread::sleep(std::time::Duration::from_millis(50));
    }
    assert!(!open(&world), "nothing waits for an answer");
    let yes = world.run(&format!("approve {id} --yes --journal runs.sqlite"));
    assert_ne!(yes.code, 0, "{}", yes.out);
    assert_eq!(client.close().code, 0);
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
    let id = questions.pointer("/approvals/0/id").or_else(|| questions.pointer("/0/id")).unwrap_or_else(|| panic!("{questions}"));
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

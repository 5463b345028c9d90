//! Names and published forms, and that what stands behind them is found again.

use serde_json::{Value, json};

use super::client::Client;
use crate::world::World;

/// A server whose tools are these, as a source of that name.
pub(super) fn source(world: &World, name: &str, tools: &[Value], answer: &Value, delay: &str) -> String {
    let lines: Vec<String> = tools.iter().map(Value::to_string).collect();
    world.write(&format!("{name}.tools"), &format!("{}\n", lines.join("\n")));
    world.copy("lister.sh", "lister.sh");
    format!(
        "  {name}:\n    command: sh\n    args: [lister.sh]\n    env: {{ TOOLS: {name}.tools, RECORD: {name}.called, ANSWER: '{answer}', DELAY: '{delay}' }}\n"
    )
}

fn fits(name: &str) -> bool {
    !name.is_empty() && name.len() <= 64 && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_' || c == '-')
}

/// Case C01.
#[test]
fn a_long_name_fits_stays_and_leads_back() {
    let world = World::new("serve_long");
    let long = "generate_consolidated_statement_for_subsidiaries";
    let nothing = json!({"type": "object", "properties": {}});
    let tools = [json!({"name": long, "inputSchema": nothing}), json!({"name": "ping", "inputSchema": nothing})];
    let source = source(&world, "quarterly-revenue-reporting", &tools, &json!({"ok": 1}), "0");
    world.write("toolwright.yaml", &format!("sources:\n{source}"));
    let mut names = Vec::new();
    for _ in 0..2 {
        let mut client = Client::start(&world, "--journal none");
        names.push(client.names());
        let name = client.names()[0].clone();
        let called = client.call(&name, &json!({}));
        assert_eq!(called["result"]["structuredContent"], json!({"ok": 1}), "{called}");
        assert_eq!(client.call(long, &json!({}))["error"]["code"], -32602, "no other name is one");
        assert_eq!(client.close().code, 0);
    }
    assert_eq!(names[0], names[1]);
    assert!(names[0].iter().all(|name| fits(name)), "{names:?}");
    assert!(names[0][0].starts_with("quarterly-revenue-reporting_generate_"), "{names:?}");
    assert_eq!(names[0][1], "quarterly-revenue-reporting_ping");
    assert_eq!(world.read("quarterly-revenue-reporting.called"), format!("{long}\n{long}\n"));
    let listed = world.json("list --as-clients");
    let ids: Vec<(&str, &str)> =
        listed["tools"].as_array().unwrap().iter().map(|tool| (tool["name"].as_str().unwrap(), tool["id"].as_str().unwrap())).collect();
    assert_eq!(ids[0], (names[0][0].as_str(), "quarterly-revenue-reporting_generate_consolidated_statement_for_subsidiaries"));
    assert_eq!(ids[1].0, ids[1].1);
    assert!(listed["total"]["tokens"].as_u64().unwrap() > 0);
}

/// Case C02.
#[test]
fn two_servers_with_one_tool_name_stay_two_tools() {
    let tool =
        json!({"name": "send_email", "inputSchema": {"type": "object", "properties": {"to": {"type": "string"}}, "required": ["to"]}});
    let mut runs = Vec::new();
    for (eu, us) in [("0", "0.5"), ("0.5", "0")] {
        let world = World::new(&format!("serve_two_{eu}"));
        let eu = source(&world, "mail_eu", std::slice::from_ref(&tool), &json!({"via": "eu"}), eu);
        let us = source(&world, "mail_us", std::slice::from_ref(&tool), &json!({"via": "us"}), us);
        world.write("toolwright.yaml", &format!("sources:\n{eu}{us}"));
        let mut client = Client::start(&world, "--journal none");
        let names = client.names();
        for (name, via) in [("mail_eu_send_email", "eu"), ("mail_us_send_email", "us")] {
            let called = client.call(name, &json!({"to": "somebody"}));
            assert_eq!(called["result"]["structuredContent"]["via"], via, "{called}");
        }
        assert_eq!(client.call("send_email", &json!({"to": "somebody"}))["error"]["code"], -32602);
        assert_eq!((world.read("mail_eu.called").lines().count(), world.read("mail_us.called").lines().count()), (1, 1));
        runs.push(names);
    }
    assert_eq!(runs[0], ["mail_eu_send_email", "mail_us_send_email"]);
    assert_eq!(runs[0], runs[1]);
}

/// Case C02, without prefixes: nobody is served whichever came last.
#[test]
fn without_prefixes_the_same_name_is_told_and_none_of_them_is_served() {
    let world = World::new("serve_same");
    let tool = json!({"name": "send_email", "inputSchema": {"type": "object"}});
    let both = ["mail_eu", "mail_us"]
        .map(|name| format!("{}    prefix: ''\n", source(&world, name, std::slice::from_ref(&tool), &json!({}), "0")));
    world.write("toolwright.yaml", &format!("sources:\n{}", both.concat()));
    let mut client = Client::start(&world, "--journal none");
    assert_eq!(client.names(), Vec::<String>::new());
    assert_eq!(client.call("send_email", &json!({}))["error"]["code"], -32602);
    assert!(!world.has("mail_eu.called") && !world.has("mail_us.called"));
    let check = world.run("check --format plain");
    assert_eq!(check.code, 20);
    assert!(check.out.contains("config_duplicate_id"), "{}", check.out);
}

/// Case C05, the published form.
#[test]
fn a_schema_that_reaches_itself_is_published_and_one_that_leads_nowhere_takes_nothing_along() {
    let world = World::new("serve_tree");
    let node = json!({
        "type": "object",
        "properties": {"v": {"type": "integer"}, "kids": {"type": "array", "items": {"$ref": "#/$defs/Node"}}},
        "required": ["v"],
    });
    let tree = json!({"type": "object", "$defs": {"Node": node}, "properties": {"root": {"$ref": "#/$defs/Node"}}, "required": ["root"]});
    let tools = [
        json!({"name": "tree_put", "inputSchema": tree}),
        json!({"name": "broken", "inputSchema": {"type": "object", "properties": {"x": {"$ref": "#/$defs/Nowhere"}}}}),
        json!({"name": "plain", "inputSchema": {"type": "object", "properties": {}}}),
    ];
    let source = source(&world, "s", &tools, &json!({"ok": true}), "0");
    world.write("toolwright.yaml", &format!("sources:\n{source}"));
    for profile in ["standard", "cursor"] {
        let mut client = Client::start(&world, &format!("--journal none --profile {profile}"));
        let listed = client.tools();
        let names: Vec<&str> = listed.iter().map(|tool| tool["name"].as_str().unwrap()).collect();
        assert_eq!(names, ["s_tree_put", "s_plain"], "{profile}");
        let root = &listed[0]["inputSchema"]["properties"]["root"];
        match profile {
            "standard" => assert_eq!(listed[0]["inputSchema"], tree),
            _ => assert_eq!((root, &listed[0]["inputSchema"]["$defs"]), (&node, &json!({"Node": node}))),
        }
        let refused = client.call("s_tree_put", &json!({"root": {"v": 1, "kids": [{}]}}));
        assert_eq!(refused["result"]["isError"], true, "{refused}");
        assert!(refused["result"]["content"][0]["text"].as_str().unwrap().contains(&["", "root", "kids", "0"].join("/")), "{refused}");
        assert!(!world.has("s.called"), "nothing was sent");
        let put = client.call("s_tree_put", &json!({"root": {"v": 1, "kids": [{"v": 2}]}}));
        assert_eq!(put["result"]["structuredContent"], json!({"ok": true}), "{put}");
        std::fs::remove_file(world.dir.join("s.called")).unwrap();
    }
    let skipped = world.json("list")["sources"][0]["skipped"].clone();
    assert!(skipped.to_string().contains("/properties/x/$ref"), "{skipped}");
}

/// Case C07, the published form.
#[test]
fn what_is_published_may_be_plain_and_what_is_demanded_stays() {
    let world = World::new("serve_choice");
    let config = json!({
        "sources": {"graph": {"tools": {"unannotate": {
            "argv": ["sh", "-c", "echo ran >>ran.txt", "sh", "{edge_id?}", "{from?}", "{kind?}", "{to?}"],
            "effect": "write",
            "input": {
                "type": "object",
                "properties": {"edge_id": {"type": "string"}, "from": {"type": "string"}, "kind": {"type": "string"}, "to": {"type": "string"}},
                "oneOf": [{"required": ["edge_id"]}, {"required": ["from", "kind", "to"]}],
            },
        }}}},
    });
    world.write("toolwright.json", &config.to_string());
    let mut client = Client::start(&world, "--journal none --profile claude");
    let listed = client.tools();
    let schema = listed[0]["inputSchema"].as_object().unwrap();
    assert!(["oneOf", "anyOf", "allOf"].iter().all(|keyword| !schema.contains_key(*keyword)), "{schema:?}");
    assert!(listed[0]["description"].as_str().unwrap().contains("exactly one of these: `edge_id`; or `from`"), "{listed:?}");
    for arguments in [json!({"edge_id": "e1", "from": "a", "kind": "k", "to": "b"}), json!({"from": "a"})] {
        let refused = client.call("unannotate", &arguments);
        assert_eq!(refused["result"]["isError"], true, "{refused}");
        assert_eq!(refused["result"]["_meta"]["dev.toolwright/error"]["code"], "invalid_input", "{refused}");
    }
    assert!(!world.has("ran.txt"), "nothing ran");
    let done = client.call("unannotate", &json!({"edge_id": "e1"}));
    assert_ne!(done["result"]["isError"], true, "{done}");
    assert_eq!(world.read("ran.txt"), "ran\n");
}

#[test]
fn what_a_server_offers_and_nobody_can_use_is_told_once_by_its_name() {
    let world = World::new("serve_unusable");
    let long = "x".repeat(300);
    let tools = [json!({"name": "good", "inputSchema": {"type": "object"}}), json!({"name": long, "inputSchema": {"type": "object"}})];
    let source = source(&world, "s", &tools, &json!({"ok": true}), "0");
    world.write("toolwright.yaml", &format!("sources:\n{source}"));
    let mut client = Client::start(&world, "--journal none");
    assert_eq!(client.names(), ["s_good"]);
    world.write("toolwright.yaml", &format!("sources:\n{source}tools: {{ s_good: {{ name: better }} }}\n"));
    assert_eq!(client.message()["method"], "notifications/tools/list_changed");
    assert_eq!(client.names(), ["better"]);
    let ended = client.close();
    assert_eq!(ended.err.matches("of `s` is left out: ").count(), 1, "{}", ended.err);
    assert!(ended.err.contains(&"x".repeat(70)) && !ended.err.contains(&long), "{}", ended.err);
    let listed = world.json("list --as-clients");
    let left = &listed["leftOut"][0];
    assert_eq!((&left["source"], &left["name"], &left["cause"]), (&json!("s"), &json!(long), &json!("unusable")), "{listed}");
    assert!(world.run("list --as-clients").out.contains("not seen: xxx"), "people see it too");
}

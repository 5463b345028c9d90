//! Who comes in, and what each of them sees; what is wrong with a door opens none.

use serde_json::{Value, json};

use super::client::{Client, ask_over_http, post};
use crate::world::World;

const TOKEN: &str = "0123456789abcdef-ann";

const TOOLS: &str = r#"
sources:
  here:
    tools:
      look: { argv: [echo, looked], effect: read }
      send: { argv: [tee, -a, sent.txt], stdin: "sent\n", effect: write }
composites:
  look_twice: { steps: [{ name: a, tool: look }, { name: b, tool: look }] }
  tell: { steps: [{ name: a, tool: look }, { name: b, tool: send }] }
"#;

fn world(name: &str, serve: &str) -> World {
    let world = World::new(name);
    world.write("toolwright.yaml", &format!("{TOOLS}serve:\n{serve}"));
    world
}

fn names(listed: &Value) -> Vec<&str> {
    listed["result"]["tools"].as_array().unwrap_or_else(|| panic!("{listed}")).iter().map(|tool| tool["name"].as_str().unwrap()).collect()
}

#[test]
fn a_token_says_who_calls_and_what_they_see() {
    let mut world = world(
        "serve_tokens",
        "  audiences:\n    readers: { sees: [look*], tokens: { ann: '${ANN_TOKEN}' } }\n    guests: { denied: [send], tokens: { bob: 0123456789abcdef-bob } }\n",
    );
    world.set("ANN_TOKEN", TOKEN);
    let (client, url) = Client::http(&world, "--journal none --allow send");
    let (status, listed) = ask_over_http(&url, Some(TOKEN), "tools/list", &json!({}));
    assert_eq!((status, names(&listed)), (200, vec!["look", "look_twice"]));
    let (_, listed) = ask_over_http(&url, Some("0123456789abcdef-bob"), "tools/list", &json!({}));
    assert_eq!(names(&listed), ["look", "look_twice"], "what uses something denied would only fail");
    for tool in ["send", "tell"] {
        let (status, refused) = ask_over_http(&url, Some(TOKEN), "tools/call", &json!({"name": tool, "arguments": {}}));
        assert_eq!((status, &refused["error"]["code"]), (200, &json!(-32602)), "{refused}");
    }
    let (_, called) = ask_over_http(&url, Some(TOKEN), "tools/call", &json!({"name": "look", "arguments": {}}));
    assert_eq!(called["result"]["content"][0]["text"], "looked", "{called}");
    let hello = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/list"});
    for headers in [vec![], vec![("authorization", "Bearer 0123456789abcdef-eve")]] {
        let (status, body) = post(&url, &headers, &hello);
        assert_eq!(status, 401, "{body}");
        assert!(!body.contains("look") && !body.contains("-eve"), "{body}");
    }
    let (status, _) = post(&url, &[("authorization", &format!("Bearer {TOKEN}")), ("origin", "https://evil.example")], &hello);
    assert_eq!(status, 403, "a web page that nobody named");
    assert!(!world.has("sent.txt"), "nothing was sent");
    let ended = client.terminate();
    assert_eq!(ended.code, 0, "{}", ended.err);
    assert!(!ended.err.contains(TOKEN), "{}", ended.err);
}

#[test]
fn what_is_not_seen_can_be_a_step_and_what_is_denied_cannot() {
    let world = world("serve_views", "  audiences:\n    default: { sees: [tell] }\n    guests: { denied: [send] }\n");
    let mut client = Client::start(&world, "--journal none --allow send");
    assert_eq!(client.names(), ["tell"]);
    let told = client.call("tell", &json!({}));
    assert_ne!(told["result"]["isError"], true, "{told}");
    assert_eq!(world.read("sent.txt"), "sent\n");
    assert_eq!(client.call("send", &json!({}))["error"]["code"], -32602);
    assert_eq!(client.close().code, 0);
    let mut guest = Client::start(&world, "--journal none --allow send --audience guests");
    assert_eq!(guest.names(), ["look", "look_twice"]);
    assert_eq!(guest.call("tell", &json!({}))["error"]["code"], -32602);
    assert_eq!(world.read("sent.txt"), "sent\n", "nothing more was sent");
    let listed = world.json("list --as-clients --audience guests --allow send");
    let left_out: Vec<(&str, &str)> =
        listed["leftOut"].as_array().unwrap().iter().map(|left| (left["id"].as_str().unwrap(), left["cause"].as_str().unwrap())).collect();
    assert_eq!(left_out, [("send", "denied"), ("tell", "uses_denied")]);
}

/// Every mistake ends the command before anything is served.
#[test]
fn half_a_fence_is_none() {
    let table = [
        ("  listen: 0.0.0.0:9\n", "--http", 20, "can only listen on this machine"),
        ("  origins: [https://app.example.org]\n", "--http", 20, "lets nobody in"),
        ("  audiences: { guests: { denied: [sned] } }\n", "--audience guests", 20, "did you mean `send`?"),
        ("  audiences: { guests: { denied: [send] } }\n", "--audience gusts", 20, "did you mean `guests`?"),
        ("  audiences: { guests: { denied: [send] } }\n", "", 2, "`--audience`"),
        ("  audiences: { guests: { sees: [] } }\n", "--audience guests", 20, "sees no tool"),
        ("  audiences: { guests: { tokens: { eve: short } } }\n", "--http", 20, "can be guessed"),
        (
            "  audiences: { a: { tokens: { eve: 0123456789abcdef } }, b: { tokens: { bob: 0123456789abcdef } } }\n",
            "--http",
            20,
            "the same token",
        ),
        ("  audiences: { a: { scopes: [x] } }\n", "--http", 20, "no authorization server"),
        (
            "  oauth: { resource: 'http://far.example/mcp', issuer: 'https://i.example', keys: 'https://i.example/k' }\n",
            "--http",
            20,
            "https://",
        ),
        ("  profile: cursr\n", "", 20, "did you mean `cursor`?"),
        ("  limits: { sessions: 0 }\n", "", 20, "nothing could be served"),
        ("  path: mcp\n", "--http", 20, "must begin with `/`"),
        ("  {}\n", "--http 0.0.0.0:0", 20, "tokens or an authorization server"),
        ("  {}\n", "--http nowhere", 20, "is no address"),
    ];
    for (at, (serve, words, code, text)) in table.into_iter().enumerate() {
        let world = world(&format!("serve_wrong_{at}"), serve);
        let words: Vec<&str> = ["serve"].into_iter().chain(words.split_whitespace()).chain(["--journal", "none"]).collect();
        let done = world.run_args(&words);
        assert_eq!((done.code, done.out.as_str()), (code, ""), "{serve}: {}", done.err);
        assert!(done.err.split_whitespace().collect::<Vec<_>>().join(" ").replace("│ ", "").contains(text), "{serve}: {}", done.err);
        assert!(!done.err.contains("serving"), "{serve}: {}", done.err);
    }
}

/// What the user's own file says counts for doors; what is wrong there stops serving and nothing else.
#[test]
fn the_users_own_file_opens_doors() {
    let world = world("serve_user", "  {}\n");
    world.write("home/.config/toolwright/config.yaml", "serve:\n  origins: [https://app.example.org]\n");
    let (client, url) = Client::http(&world, "--journal none");
    let list = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {"_meta": {
        "io.modelcontextprotocol/protocolVersion": "2026-07-28", "io.modelcontextprotocol/clientCapabilities": {},
        "io.modelcontextprotocol/clientInfo": {"name": "x", "version": "1"}}}});
    let headers = |origin| [("mcp-protocol-version", "2026-07-28"), ("mcp-method", "tools/list"), ("origin", origin)];
    assert_eq!(post(&url, &headers("https://app.example.org"), &list).0, 200);
    assert_eq!(post(&url, &headers("https://evil.example"), &list).0, 403);
    assert_eq!(client.terminate().code, 0);
    world.write("home/.config/toolwright/config.yaml", "serve:\n  listne: 1\n");
    assert_eq!(world.run("serve --journal none").code, 20);
    assert_eq!(world.run("run look --journal none").code, 0, "a mistake there concerns serving alone");
}

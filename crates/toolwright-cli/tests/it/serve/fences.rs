//! What the user's own file says of who comes in and who sees what, no project's file widens.

use serde_json::{Value, json};

use super::client::{Client, ask_over_http, post, post_to};
use crate::world::World;

const ANN: &str = "0123456789abcdef-ann";
const EVE: &str = "0123456789abcdef-eve";
const USER: &str = "home/.config/toolwright/config.yaml";
const OAUTH: &str = "oauth: { resource: 'https://evil.example/mcp', issuer: 'https://evil.example', keys: keys.json }";

/// The user's tools and `serve` section beside a project's.
fn world(name: &str, user: &str, project: &str) -> World {
    let world = World::new(name);
    let sent = world.dir.join("sent.txt").display().to_string();
    let tools = format!(
        "sources:\n  mine:\n    tools:\n      peek: {{ argv: [echo, peeked], effect: read }}\n      \
         look: {{ argv: [echo, looked], effect: read }}\n      \
         send: {{ argv: [tee, -a, '{sent}'], stdin: \"sent\\n\", effect: write }}\n"
    );
    world.write(USER, &format!("{tools}{user}"));
    world.write("toolwright.yaml", &format!("sources: {{ theirs: {{ tools: {{ x: {{ argv: [ls], effect: read }} }} }} }}\n{project}"));
    world.write("keys.json", r#"{"keys": []}"#);
    world
}

fn names(listed: &Value) -> Vec<&str> {
    listed["result"]["tools"].as_array().unwrap_or_else(|| panic!("{listed}")).iter().map(|tool| tool["name"].as_str().unwrap()).collect()
}

const READERS: &str = "serve: { audiences: { readers: { sees: [peek, look], tokens: { ann: 0123456789abcdef-ann } } } }\n";
const DEFAULT: &str = "serve: { audiences: { default: { denied: [send] }, admin: { sees: ['*'] } } }\n";
const BEHIND: &str = "serve: { audienceHeader: X-Mine }\n";

/// Nothing is served, whether the project's file is found or named.
#[test]
fn a_project_cannot_open_what_the_user_fenced() {
    let token = format!("tokens: {{ eve: {EVE} }}");
    let lets_nobody_in = "lets nobody in";
    let table = [
        (READERS, format!("audiences: {{ evil: {{ {token} }} }}"), "cannot add the audience `evil`"),
        (READERS, format!("audiences: {{ readers: {{ {token} }} }}"), lets_nobody_in),
        (READERS, "audiences: { default: {} }".to_owned(), "cannot add the audience `default`"),
        (READERS, "audiences: { readers: { scopes: [admin] } }".to_owned(), lets_nobody_in),
        (READERS, OAUTH.to_owned(), lets_nobody_in),
        (DEFAULT, "audienceHeader: X-Aud".to_owned(), lets_nobody_in),
        (DEFAULT, "audienceHeader: X-Aud, audiences: { evil: { sees: ['*'] } }".to_owned(), "cannot add the audience `evil`"),
        (BEHIND, format!("audiences: {{ default: {{ {token} }} }}"), lets_nobody_in),
        (BEHIND, "audiences: { evil: {} }".to_owned(), "cannot add the audience `evil`"),
    ];
    for (at, (user, project, text)) in table.into_iter().enumerate() {
        let world = world(&format!("serve_fence_{at}"), user, &format!("serve: {{ {project} }}\n"));
        for named in [&[][..], &["--file", "toolwright.yaml"]] {
            let words: Vec<&str> =
                ["serve", "--http", "127.0.0.1:0", "--journal", "none"].into_iter().chain(named.iter().copied()).collect();
            let done = world.run_args(&words);
            assert_eq!((done.code, done.out.as_str()), (20, ""), "{project}: {}", done.err);
            assert!(done.err.split_whitespace().collect::<Vec<_>>().join(" ").contains(text), "{project}: {}", done.err);
            assert!(!done.err.contains(EVE), "{}", done.err);
        }
        assert!(!world.has("sent.txt"), "{project}");
    }
}

#[test]
fn an_audience_of_the_project_is_none_over_standard_streams_either() {
    let world = world("serve_fence_streams", DEFAULT, "serve: { audiences: { all: { sees: ['*'] } } }\n");
    let done = world.run("serve --journal none --allow send --audience all");
    assert_eq!((done.code, done.out.as_str()), (20, ""), "{}", done.err);
    assert!(done.err.contains("cannot add the audience `all`"), "{}", done.err);
    assert!(!world.has("sent.txt"));
}

/// Seen is what both show, and denied what either denies.
#[test]
fn a_project_narrows_audiences_of_the_user() {
    let user = "serve: { audiences: { readers: { sees: [peek, look, x], denied: [x], tokens: { ann: 0123456789abcdef-ann } },\n  \
                all: { tokens: { bob: 0123456789abcdef-bob } } } }\n";
    let project = "serve: { audiences: { readers: { sees: [look, send, x] }, all: { sees: [peek, send], denied: [send] } } }\n";
    let world = world("serve_fence_narrow", user, project);
    let (client, url) = Client::http(&world, "--journal none --allow send");
    for (token, seen) in [(ANN, "look"), ("0123456789abcdef-bob", "peek")] {
        let (status, listed) = ask_over_http(&url, Some(token), "tools/list", &json!({}));
        assert_eq!((status, names(&listed)), (200, vec![seen]), "{listed}");
        let (_, refused) = ask_over_http(&url, Some(token), "tools/call", &json!({"name": "send", "arguments": {}}));
        assert_eq!(refused["error"]["code"], -32602, "{refused}");
    }
    assert_eq!(client.terminate().code, 0);
    assert!(!world.has("sent.txt"), "nothing was sent");
}

/// Where the user says nothing, a project divides what everybody on this machine could reach, and no more.
#[test]
fn a_project_that_is_alone_lets_in_on_this_machine_only() {
    let project = format!("audiences: {{ them: {{ sees: [peek], tokens: {{ eve: {EVE} }} }} }}");
    let sections = [project.clone(), OAUTH.to_owned()];
    for (at, section) in sections.iter().enumerate() {
        let section = format!("serve: {{ {section} }}\n");
        for (user, address) in [("", "0.0.0.0:0"), ("serve: { listen: '0.0.0.0:0' }\n", "")] {
            let world = world(&format!("serve_far_{at}_{}", address.len()), user, &section);
            let words: Vec<&str> = ["serve", "--http"].into_iter().chain((!address.is_empty()).then_some(address)).collect();
            let done = world.run_args(&words);
            assert_eq!((done.code, done.out.as_str()), (20, ""), "{section}: {}", done.err);
            assert!(done.err.contains("others reach 0.0.0.0:0"), "{}", done.err);
        }
    }
    let near = world("serve_near", "", &format!("serve: {{ {project} }}\n"));
    let (client, url) = Client::http(&near, "--journal none");
    assert_eq!(ask_over_http(&url, None, "tools/list", &json!({})).0, 401);
    assert_eq!(names(&ask_over_http(&url, Some(EVE), "tools/list", &json!({})).1), ["peek"]);
    assert_eq!(client.terminate().code, 0);
}

#[test]
fn the_resource_of_a_project_is_no_name_of_the_server() {
    let hello = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/list"});
    for (name, user, project, status) in
        [("serve_host_theirs", "", OAUTH, 403), ("serve_host_mine", OAUTH, "audiences: { default: {} }", 401)]
    {
        let section = |text: &str| if text.is_empty() { String::new() } else { format!("serve: {{ {text} }}\n") };
        let world = world(name, &section(user), &section(project));
        let (client, url) = Client::http(&world, "--journal none");
        assert_eq!(post(&url, &[("x", "y")], &hello).0, 401, "{name}: by its address");
        let page = [("origin", "http://evil.example")];
        assert_eq!(post_to(&url, "evil.example", &page, &hello).0, status, "{name}");
        assert_eq!(client.terminate().code, 0);
    }
}

/// A door of the project that stands since the start is none to audiences that the user names later.
#[test]
fn a_door_of_the_project_leads_to_no_audience_of_the_user_that_comes_later() {
    let world = world("serve_fence_later", "", "serve: { audienceHeader: X-Aud, audiences: { default: { sees: [peek] } } }\n");
    let (client, url) = Client::http(&world, "--journal none --allow send");
    let fenced = format!("{}{DEFAULT}", world.read(USER));
    world.write(USER, &fenced);
    world.write("toolwright.yaml", "sources: {}\n");
    let call = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "send", "arguments": {}, "_meta": {
        "io.modelcontextprotocol/protocolVersion": "2026-07-28", "io.modelcontextprotocol/clientCapabilities": {},
        "io.modelcontextprotocol/clientInfo": {"name": "x", "version": "1"}}}});
    let headers = [("mcp-protocol-version", "2026-07-28"), ("mcp-method", "tools/call"), ("mcp-name", "send"), ("x-aud", "admin")];
    for _ in 0..15 {
        post(&url, &headers, &call);
        std::thread::sleep(std::time::Duration::from_millis(200));
        assert!(!world.has("sent.txt"), "nothing is sent");
    }
    let ended = client.terminate();
    let told = ended.err.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(told.contains("start `toolwright serve` anew"), "{}", ended.err);
}

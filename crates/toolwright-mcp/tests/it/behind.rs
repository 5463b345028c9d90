//! What the servers behind us have besides tools, as clients see it: resources, prompts, skills, completion, log lines, changes.

use std::path::PathBuf;
use std::process::Command;
use std::sync::OnceLock;
use std::time::Duration;

use toolwright::{Composite, Effect, Registry, Value, json};
use toolwright_mcp::server::{Askers, Offer, Server, ServerOptions};
use toolwright_mcp::upstream::{Era, ServerSpec, Upstream};

use crate::piped::{Piped, alone, code, text, with_meta};
use crate::server::{script, spec};

/// The server of the conformance suites. `cargo test` has built it; a run of this test target alone builds it here.
fn fixture() -> String {
    static PATH: OnceLock<PathBuf> = OnceLock::new();
    let path = PATH.get_or_init(|| {
        let deps = std::env::current_exe().unwrap();
        let path = deps.parent().unwrap().parent().unwrap().join("examples/fixture_server");
        if !path.exists() {
            let cargo = std::env::var("CARGO").unwrap_or_else(|_| "cargo".to_owned());
            let built = Command::new(cargo)
                .args(["build", "--quiet", "--package", "toolwright-mcp", "--example", "fixture_server"])
                .status()
                .unwrap();
            assert!(built.success());
        }
        path
    });
    path.display().to_string()
}

fn source(name: &str, era: Era, askers: &Askers) -> Upstream {
    let mut spec = ServerSpec::stdio(name, fixture(), ["stdio"]);
    spec.era = era;
    spec.shutdown_grace = Duration::from_millis(300);
    spec.trust_hints = true;
    Upstream::asking(spec, std::sync::Arc::new(askers.clone()))
}

/// A server in front of fixtures of these names, each speaking that generation.
async fn before(sources: &[(&str, Era)]) -> Server {
    let askers = Askers::new();
    let upstreams: Vec<Upstream> = sources.iter().map(|(name, era)| source(name, *era, &askers)).collect();
    let mut registry = Registry::new();
    for upstream in &upstreams {
        for tool in upstream.tools().await.unwrap().tools {
            registry.register(tool).unwrap();
        }
    }
    let mut options = ServerOptions::new("tools", "1.2.3");
    options.limits.stop_grace = Duration::from_secs(1);
    Server::new(options, askers, Offer::new(registry.seal()).upstreams(upstreams))
}

fn all<'a>(answer: &'a Value, member: &str, key: &str) -> Vec<&'a str> {
    let items = answer.get("result").and_then(|result| result.get(member)).and_then(Value::as_array);
    items.unwrap_or_else(|| panic!("{answer:?}")).iter().map(|item| item.get(key).unwrap().as_str().unwrap()).collect()
}

fn tool(name: &str, arguments: Value) -> Value {
    Value::object([("name", Value::from(name)), ("arguments", arguments)])
}

/// Both generations on both sides.
const ERAS: [(Era, bool); 4] = [(Era::Sessions, false), (Era::Sessions, true), (Era::Sessionless, false), (Era::Sessionless, true)];

/// A client of one generation, and what it puts into its parameters.
async fn client(server: &Server, sessionless: bool) -> (Piped, fn(Value) -> Value) {
    if sessionless { (Piped::to(server), alone) } else { (Piped::session(server, "2025-11-25").await, |params| params) }
}

#[tokio::test(flavor = "multi_thread")]
async fn resources_prompts_and_completion_pass_between_the_generations() {
    for (era, sessionless) in ERAS {
        let server = before(&[("one", era)]).await;
        let (mut client, params) = client(&server, sessionless).await;
        let list = client.ask("resources/list", params(json!({}))).await;
        assert!(all(&list, "resources", "uri").contains(&"test://static-text"), "{list:?}");
        let templates = client.ask("resources/templates/list", params(json!({}))).await;
        assert_eq!(all(&templates, "resourceTemplates", "uriTemplate"), ["test://template/{id}/data"]);
        let prompts = client.ask("prompts/list", params(json!({}))).await;
        assert_eq!(all(&prompts, "prompts", "name").len(), 5);

        for (uri, member) in [("test://static-text", "text"), ("test://static-binary", "blob"), ("test://template/7/data", "text")] {
            let read = client.ask("resources/read", params(json!({ "uri": uri }))).await;
            assert_eq!(read.pointer("/result/contents/0/uri"), Some(&Value::from(uri)), "{read:?}");
            assert!(read.pointer("/result/contents/0").unwrap().get(member).is_some(), "{read:?}");
            assert!(!sessionless || read.pointer("/result/ttlMs").is_some(), "{read:?}");
        }
        let missing = client.ask("resources/read", params(json!({ "uri": "test://nowhere" }))).await;
        // A server of the newest generation has one code for both; it is passed on to a session as it is.
        let expected = if sessionless || era == Era::Sessionless { -32_602 } else { -32_002 };
        assert_eq!(code(&missing), Some(expected), "{era:?} {missing:?}");

        let get = json!({ "name": "test_prompt_with_arguments", "arguments": { "arg1": "x", "arg2": "y" } });
        let prompt = client.ask("prompts/get", params(get)).await;
        assert!(prompt.pointer("/result/messages/0/content/text").unwrap().as_str().unwrap().contains('x'), "{prompt:?}");
        assert_eq!(code(&client.ask("prompts/get", params(json!({ "name": "no_such" }))).await), Some(-32_602));

        let wanted = json!({ "ref": { "type": "ref/prompt", "name": "test_prompt_with_arguments" }, "argument": { "name": "arg1", "value": "par" } });
        let completed = client.ask("completion/complete", params(wanted)).await;
        assert_eq!(completed.pointer("/result/completion/values"), Some(&json!(["paris", "park", "party"])), "{completed:?}");
        let wanted =
            json!({ "ref": { "type": "ref/resource", "uri": "test://template/{id}/data" }, "argument": { "name": "id", "value": "" } });
        let completed = client.ask("completion/complete", params(wanted)).await;
        assert_eq!(completed.pointer("/result/completion/values"), Some(&json!(["1", "2", "3"])), "{completed:?}");
        for wrong in [json!({}), json!({ "ref": { "type": "ref/other" } }), json!({ "ref": { "type": "ref/prompt", "name": "no_such" } })] {
            assert_eq!(code(&client.ask("completion/complete", params(wrong)).await), Some(-32_602));
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn names_of_two_servers_are_told_apart() {
    let server = before(&[("one", Era::Sessions), ("two", Era::Sessionless)]).await;
    let mut client = Piped::session(&server, "2025-11-25").await;
    let list = client.ask("resources/list", json!({})).await;
    let uris = all(&list, "resources", "uri");
    assert!(uris.contains(&"test://static-text") && uris.contains(&"toolwright://two/test://static-text"), "{uris:?}");
    assert_eq!(uris.iter().collect::<std::collections::BTreeSet<_>>().len(), uris.len(), "each name once");
    let templates = client.ask("resources/templates/list", json!({})).await;
    assert_eq!(
        all(&templates, "resourceTemplates", "uriTemplate"),
        ["test://template/{id}/data", "toolwright://two/test://template/{id}/data"]
    );
    let prompts = client.ask("prompts/list", json!({})).await;
    let names = all(&prompts, "prompts", "name");
    assert!(names.contains(&"test_simple_prompt") && names.contains(&"two_test_simple_prompt"), "{names:?}");

    for uri in ["toolwright://two/test://static-text", "toolwright://two/test://template/7/data", "toolwright://one/test://static-text"] {
        let read = client.ask("resources/read", json!({ "uri": uri })).await;
        assert_eq!(read.pointer("/result/contents/0/uri"), Some(&Value::from(uri)), "{read:?}");
    }
    for nowhere in ["toolwright://three/test://static-text", "nobody://has/this"] {
        // Both are asked; the words are those of the last one.
        let missing = client.ask("resources/read", Value::object([("uri", nowhere)])).await;
        assert_eq!(code(&missing), Some(-32_602), "{missing:?}");
    }
    let prompt = client.ask("prompts/get", json!({ "name": "two_test_simple_prompt" })).await;
    assert!(prompt.pointer("/result/messages/0").is_some(), "{prompt:?}");
    let wanted =
        json!({ "ref": { "type": "ref/prompt", "name": "two_test_prompt_with_arguments" }, "argument": { "name": "arg2", "value": "t" } });
    let completed = client.ask("completion/complete", wanted).await;
    assert_eq!(completed.pointer("/result/completion/values"), Some(&json!(["two"])), "{completed:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn skills_pass_with_their_files_and_folders() {
    let server = before(&[("one", Era::Sessionless)]).await;
    let mut client = Piped::to(&server);
    let found = client.ask_alone("server/discover", json!({})).await;
    let skills = found.pointer("/result/capabilities/extensions/io.modelcontextprotocol~1skills");
    assert_eq!(skills, Some(&json!({ "directoryRead": true })), "{found:?}");
    let list = client.ask_alone("skills/list", json!({})).await;
    let uris = all(&list, "skills", "uri");
    assert_eq!(uris.len(), 2, "{list:?}");
    let uri = uris[0].to_owned();
    let skill = client.ask_alone("skills/get", Value::object([("uri", uri.as_str())])).await;
    assert!(skill.get("result").is_some_and(|result| result.get("ttlMs").is_some()), "{skill:?}");
    assert_eq!(code(&client.ask_alone("skills/get", json!({ "uri": "skill://no-such/SKILL.md" })).await), Some(-32_602));
    let read = client.ask_alone("resources/read", Value::object([("uri", uri.as_str())])).await;
    assert!(read.pointer("/result/contents/0/text").is_some(), "{read:?}");
    let folder = uri.trim_end_matches("/SKILL.md");
    let children = client.ask_alone("resources/directory/read", Value::object([("uri", folder)])).await;
    assert!(all(&children, "resources", "uri").iter().any(|child| child.ends_with("SKILL.md")), "{children:?}");
    let no_folder = client.ask_alone("resources/directory/read", Value::object([("uri", uri)])).await;
    assert_eq!(code(&no_folder), Some(-32_602), "{no_folder:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_updated_resource_is_told_to_those_who_subscribed() {
    for era in [Era::Sessions, Era::Sessionless] {
        let server = before(&[("one", era)]).await;
        let uri = "test://watched-resource";
        let touch = || tool("one_touch_resource", json!({ "uri": "test://watched-resource" }));
        let mut subscribed = Piped::session(&server, "2025-06-18").await;
        let mut other = Piped::session(&server, "2025-06-18").await;
        let mut listening = Piped::to(&server);
        let answer = subscribed.ask("resources/subscribe", Value::object([("uri", uri)])).await;
        assert_eq!(answer.get("result"), Some(&json!({})), "{answer:?}");
        let filter = json!({ "notifications": { "resourceSubscriptions": ["test://watched-resource"], "resourcesListChanged": true } });
        listening.request(9, "subscriptions/listen", alone(filter)).await;
        let acknowledged = listening.next().await;
        assert_eq!(acknowledged.pointer("/params/notifications/resourceSubscriptions"), Some(&json!(["test://watched-resource"])));
        // A server of the sessionless generation is asked to listen in a request of its own, which takes a moment.
        tokio::time::sleep(Duration::from_millis(300)).await;

        assert_eq!(text(&other.ask("tools/call", touch()).await), "touched");
        let updated = subscribed.next().await;
        assert_eq!(
            updated,
            json!({ "jsonrpc": "2.0", "method": "notifications/resources/updated", "params": { "uri": "test://watched-resource" } })
        );
        let updated = listening.next().await;
        assert_eq!(updated.pointer("/params/uri"), Some(&Value::from(uri)));
        assert_eq!(updated.pointer("/params/_meta/io.modelcontextprotocol~1subscriptionId"), Some(&Value::from(9)));
        other.quiet().await;
        assert!(other.aside.is_empty(), "{:?}", other.aside);

        subscribed.ask("resources/unsubscribe", Value::object([("uri", uri)])).await;
        other.ask("tools/call", touch()).await;
        listening.next().await;
        subscribed.quiet().await;
        listening.say(r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":9}}"#).await;
        tokio::time::sleep(Duration::from_millis(100)).await;
        other.ask("tools/call", touch()).await;
        listening.quiet().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn log_lines_reach_the_caller_alone_and_before_the_result() {
    for (era, sessionless) in ERAS {
        let server = before(&[("one", era)]).await;
        let mut other = Piped::session(&server, "2025-06-18").await;
        let (mut client, params) = client(&server, sessionless).await;
        let lines = |client: &mut Piped| std::mem::take(&mut client.aside).len();
        // The sessionless generation has a line for a call that asks for a level, and none for others.
        let wanted = |level: &str| {
            let meta = json!({ "io.modelcontextprotocol/protocolVersion": "2026-07-28", "io.modelcontextprotocol/clientCapabilities": {} });
            let meta = Value::from(meta.as_object().unwrap().with("io.modelcontextprotocol/logLevel", level));
            with_meta(tool("one_test_tool_with_logging", json!({})), meta)
        };
        let call = |level: &str| if sessionless { wanted(level) } else { tool("one_test_tool_with_logging", json!({})) };
        if !sessionless {
            client.ask("logging/setLevel", json!({ "level": "info" })).await;
        }
        let done = client.ask("tools/call", call("info")).await;
        assert_eq!(text(&done), "Logging test completed", "{done:?}");
        assert_eq!(
            client.aside.first().and_then(|line| line.get("method")),
            Some(&Value::from("notifications/message")),
            "{era:?} {sessionless}"
        );
        assert_eq!(lines(&mut client), 3, "{era:?} {sessionless}");

        if !sessionless {
            client.ask("logging/setLevel", json!({ "level": "error" })).await;
        }
        client.ask("tools/call", call("error")).await;
        assert_eq!(lines(&mut client), 0, "{era:?} {sessionless}");
        if sessionless {
            client.ask("tools/call", params(tool("one_test_tool_with_logging", json!({})))).await;
            assert_eq!(lines(&mut client), 0, "no level, no lines");
        }
        other.quiet().await;
    }
}

/// C35
#[tokio::test(flavor = "multi_thread")]
async fn a_cancelled_composite_ends_its_running_step_and_starts_no_other() {
    let acts = [
        ("one", r#"{"act":"pid"}"#),
        ("two", r#"{"act":"silent"}"#),
        ("three", r#"{"act":"pid"}"#),
        ("called", r#"{"act":"called"}"#),
        ("cancelled", r#"{"act":"cancelled"}"#),
    ];
    let mut spec = spec(&script(&acts));
    spec.effects = acts.iter().map(|(name, _)| ((*name).into(), Effect::read())).collect();
    let upstream = Upstream::new(spec);
    let mut registry = Registry::new();
    for tool in upstream.tools().await.unwrap().tools {
        registry.register(tool).unwrap();
    }
    let steps = ["one", "two", "three"];
    let chain = steps.iter().fold(Composite::new("chain", "All three"), |chain, step| chain.step(*step, format!("s_{step}"), json!({})));
    registry.register(chain).unwrap();
    let server = Server::new(ServerOptions::new("tools", "1"), Askers::new(), Offer::new(registry.seal()).upstreams([upstream]));
    let mut client = Piped::session(&server, "2025-06-18").await;
    client.request(7, "tools/call", tool("chain", json!({}))).await;
    for _ in 0..200 {
        if text(&client.ask("tools/call", tool("s_called", json!({}))).await).contains("two") {
            break;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    client.say(r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":7}}"#).await;
    let said = std::time::Instant::now();
    let fast = client.ask("tools/call", tool("s_one", json!({}))).await;
    assert!(fast.get("result").is_some(), "the fast call is served: {fast:?}");
    loop {
        let cancelled = client.ask("tools/call", tool("s_cancelled", json!({}))).await;
        if !text(&cancelled).is_empty() {
            assert_eq!(text(&cancelled).split(',').count(), 1, "{cancelled:?}");
            break;
        }
        // Half a second is wanted; other tests run beside this one.
        assert!(said.elapsed() < Duration::from_secs(3), "the server is told at once");
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    client.quiet().await;
    let called = client.ask("tools/call", tool("s_called", json!({}))).await;
    assert!(!text(&called).contains("three"), "{called:?}");
    assert!(client.aside.iter().all(|message| message.get("id") != Some(&Value::from(7))), "a cancelled request has no answer");
}

/// C37
#[tokio::test(flavor = "multi_thread")]
async fn clients_with_the_same_ids_share_a_server_without_mixing_up() {
    let server = before(&[("one", Era::Auto)]).await;
    let (mut a, mut b) = (Piped::session(&server, "2025-11-25").await, Piped::to(&server));
    for id in 0..100_u64 {
        a.request(id, "tools/call", tool("one_echo", Value::object([("text", format!("a{id}"))]))).await;
        a.request(id.to_string(), "tools/call", tool("one_echo", Value::object([("text", format!("t{id}"))]))).await;
        b.request(id, "tools/call", alone(tool("one_echo", Value::object([("text", format!("b{id}"))])))).await;
    }
    for (client, count, number) in [(&mut a, 200, "a"), (&mut b, 100, "b")] {
        for _ in 0..count {
            let answer = client.next().await;
            let expected = match answer.get("id").unwrap() {
                Value::String(id) => format!("t{id}"),
                id => format!("{number}{}", id.as_u64().unwrap()),
            };
            assert_eq!(answer.pointer("/result/structuredContent/text"), Some(&Value::from(expected)), "{answer:?}");
        }
        client.quiet().await;
    }
}

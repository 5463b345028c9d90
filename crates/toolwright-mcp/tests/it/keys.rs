//! Idempotency keys: in `_meta`, over HTTP in a header too, and the same on every attempt at the same call.

use std::sync::Arc;

use toolwright::{Effect, Invocation, Journal, MemoryJournal, Policy, Registry, Value};
use toolwright_mcp::upstream::{IDEMPOTENCY_KEY_META, Listing, ServerSpec, Transport, Upstream};

use crate::calls::{json, named};
use crate::server::{script, upstream};
use crate::web::{Plan, Reply, Web, result};

/// A run `é1` of a composite whose step `send` is this tool, which may be repeated.
async fn run(listing: &Listing, tool: &str, journal: &Arc<dyn Journal>) -> Result<Option<Value>, String> {
    let tool_def = named(listing, tool).with_effect(Effect::write_idempotent());
    let composite = toolwright::Composite::new("main", "All").step("send", tool.to_owned(), toolwright::json!({}));
    let catalog = Registry::with_policy(Policy::new().may_chain([tool.to_owned()])).with(tool_def).unwrap().with(composite).unwrap().seal();
    let call = Invocation::new("main", json("{}")).run_id("é1").journal(journal.clone());
    catalog.invoke(call, ()).await.map(|result| result.output).map_err(|error| error.to_string())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_over_stdio_has_the_key_in_meta() {
    let listing = upstream(&script(&[("meta", r#"{"act":"meta"}"#)])).tools().await.unwrap();
    let journal: Arc<dyn Journal> = Arc::new(MemoryJournal::new());
    let meta = run(&listing, "s_meta", &journal).await.unwrap().unwrap();
    let meta = json(meta.as_str().unwrap());
    assert_eq!(meta.get(IDEMPOTENCY_KEY_META), Some(&json(r#""é1/main/0:send""#)));
    assert!(meta.get("progressToken").is_some(), "{meta}");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_endpoint_has_it_in_a_header_too_and_the_same_on_every_attempt() {
    let plan = Plan {
        call: Box::new(|_, n| match n {
            1 => Reply::Cut,
            _ => Reply::Json(result(r#"{"content":[{"type":"text","text":"ok"}]}"#)),
        }),
        ..Plan::default()
    };
    let web = Web::start(plan).await;
    let listing = Upstream::new(ServerSpec::http("w", &*web.url)).tools().await.unwrap();
    let journal: Arc<dyn Journal> = Arc::new(MemoryJournal::new());
    run(&listing, "w_write", &journal).await.unwrap_err();
    assert_eq!(run(&listing, "w_write", &journal).await.unwrap(), Some(json(r#""ok""#)));
    let calls = web.seen("tools/call");
    assert_eq!(calls.len(), 2);
    for seen in &calls {
        assert_eq!(seen.headers["idempotency-key"], "%C3%A91/main/0:send");
        let body = json(&seen.body);
        assert_eq!(body.get("params").unwrap().get("_meta").unwrap().get(IDEMPOTENCY_KEY_META), Some(&json(r#""é1/main/0:send""#)));
    }
    assert!(web.seen("initialize").iter().chain(&web.seen("tools/list")).all(|seen| !seen.headers.contains_key("idempotency-key")));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_header_that_the_host_has_set_stays_as_it_is() {
    let web = Web::start(Plan::default()).await;
    let mut spec = ServerSpec::http("w", &*web.url);
    if let Transport::Http { headers, .. } = &mut spec.transport {
        headers.push(("Idempotency-Key".to_owned(), "mine".to_owned()));
    }
    let listing = Upstream::new(spec).tools().await.unwrap();
    run(&listing, "w_write", &(Arc::new(MemoryJournal::new()) as Arc<dyn Journal>)).await.unwrap();
    assert_eq!(web.seen("tools/call")[0].headers["idempotency-key"], "mine");
}

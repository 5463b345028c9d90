//! Tools that are not what the host expects: withheld, and the others work.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use toolwright::Value;
use toolwright_mcp::upstream::{Changed, Listing, Pins, Upstream};

use crate::calls::{Happened, call, json};
use crate::server::{script, spec};

/// A server with `old`, `new` and `called`, of which `old` is not as expected and `lost` is not there.
fn server(compared: &Arc<AtomicUsize>) -> (Upstream, Listing) {
    let echo = r#"{"act":"echo"}"#;
    let mut spec = spec(&script(&[("old", echo), ("new", echo), ("called", r#"{"act":"called"}"#)]));
    let count = compared.clone();
    spec.pins = Some(Pins::new(move |listed: &[Value]| {
        count.fetch_add(1, Ordering::Relaxed);
        let lost = (!listed.iter().any(|tool| tool.get("name") == Some(&"lost".into()))).then(|| Changed::gone("lost"));
        [Changed::differs("old", "its description is another one")].into_iter().chain(lost).collect()
    }));
    let upstream = Upstream::new(spec);
    let known: Vec<Value> = ["old", "new", "called", "lost"]
        .iter()
        .map(|name| json(&format!(r#"{{"name":"{name}","description":"As it was","inputSchema":{{"type":"object"}}}}"#)))
        .collect();
    let listing = upstream.tools_as_listed(&known);
    (upstream, listing)
}

/// C62 (calls)
#[tokio::test(flavor = "multi_thread")]
async fn a_tool_that_differs_is_never_sent_and_the_others_work() {
    let compared = Arc::new(AtomicUsize::new(0));
    let (upstream, listing) = server(&compared);
    assert_eq!((upstream.status().pid, compared.load(Ordering::Relaxed)), (None, 0));
    for (tool, code, words) in
        [("s_old", "catalog_changed", "its description is another one"), ("s_lost", "unavailable", "does not offer `lost` any more")]
    {
        let refused = call(&listing, tool, "{}").await.unwrap_err();
        assert_eq!((refused.code.as_str(), refused.happened), (code, Happened::Nothing), "{}", refused.message);
        assert!(refused.message.contains(words), "{}", refused.message);
    }
    assert_eq!(call(&listing, "s_new", r#"{"a":1}"#).await.unwrap().output, Some(Value::from(r#"{"a":1}"#)));
    let called = call(&listing, "s_called", "{}").await.unwrap().output.unwrap().to_json_string();
    assert!(!called.contains("old") && !called.contains("lost"), "{called}");
    assert_eq!(compared.load(Ordering::Relaxed), 1, "one start is compared once");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_host_can_compare_before_any_call_and_hear_of_it() {
    let compared = Arc::new(AtomicUsize::new(0));
    let (upstream, _) = server(&compared);
    let mut news = upstream.drift();
    assert!(news.borrow_and_update().is_empty());
    let names = |changed: &[Changed]| changed.iter().map(|changed| changed.tool.to_string()).collect::<Vec<_>>();
    assert_eq!(names(&upstream.compare().await.unwrap()), ["old", "lost"]);
    assert!(news.has_changed().unwrap());
    assert_eq!(names(&news.borrow_and_update()), ["old", "lost"]);
    upstream.compare().await.unwrap();
    assert!(!news.has_changed().unwrap() && compared.load(Ordering::Relaxed) == 1);
}

/// A server that offers nothing is not believed to offer what it did.
#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_lists_nothing_is_not_called() {
    let mut spec = spec(r#"{"pages":[],"tools":{"a":{"act":"echo"}}}"#);
    spec.pins = Some(Pins::new(|listed: &[Value]| if listed.is_empty() { vec![Changed::gone("a")] } else { Vec::new() }));
    let upstream = Upstream::new(spec);
    let listing = upstream.tools_as_listed(&[json(r#"{"name":"a","inputSchema":{"type":"object"}}"#)]);
    let refused = call(&listing, "s_a", "{}").await.unwrap_err();
    assert_eq!((refused.code.as_str(), refused.happened), ("unavailable", Happened::Nothing), "{}", refused.message);
}

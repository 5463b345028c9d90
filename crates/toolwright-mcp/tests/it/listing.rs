//! Tool lists: pages, limits, repeated cursors, and tools that spoil nothing but themselves.

use crate::calls::{json, named};
use crate::server::{spec, upstream};
use toolwright_mcp::upstream::Upstream;

fn tools(prefix: &str, count: usize) -> String {
    let tools: Vec<String> = (0..count).map(|at| format!(r#"{{"name":"{prefix}_{at}","inputSchema":{{"type":"object"}}}}"#)).collect();
    format!("[{}]", tools.join(","))
}

/// C39
#[tokio::test(flavor = "multi_thread")]
async fn a_repeating_cursor_ends_the_list_with_a_warning() {
    let server = upstream(&format!(r#"{{"cursor":"c1","pages":[{}]}}"#, tools("loop", 8)));
    let listing = server.tools().await.unwrap();
    assert_eq!(listing.tools.len(), 8);
    assert!(listing.warnings.iter().any(|warning| warning.contains("`c1`")), "{:?}", listing.warnings);
}

/// C39
#[tokio::test(flavor = "multi_thread")]
async fn all_pages_are_read() {
    let pages = [tools("a", 100), tools("b", 100), tools("c", 50)].join(",");
    let listing = upstream(&format!(r#"{{"pages":[{pages}]}}"#)).tools().await.unwrap();
    assert_eq!(listing.tools.len(), 250);
    assert_eq!(listing.raw.len(), 250);
    assert_eq!(listing.warnings, Vec::<String>::new());
}

#[tokio::test(flavor = "multi_thread")]
async fn pages_tools_and_bytes_have_limits() {
    let pages = [tools("a", 10), tools("b", 10), tools("c", 10)].join(",");
    let script = format!(r#"{{"pages":[{pages}]}}"#);
    let limited = |limit: fn(&mut toolwright_mcp::upstream::ServerSpec)| {
        let mut spec = spec(&script);
        limit(&mut spec);
        Upstream::new(spec)
    };
    let listing = limited(|spec| spec.limits.list_pages_max = 2).tools().await.unwrap();
    assert_eq!((listing.tools.len(), listing.warnings.len()), (20, 1));
    let listing = limited(|spec| spec.limits.list_tools_max = 15).tools().await.unwrap();
    assert_eq!((listing.tools.len(), listing.warnings.len()), (15, 1));
    let listing = limited(|spec| spec.limits.list_bytes_max = 900).tools().await.unwrap();
    assert_eq!((listing.tools.len(), listing.warnings.len()), (10, 1));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_tool_without_a_description_gets_a_sentence() {
    let page = r#"[{"name":"said","description":"Says"},{"name":"titled","title":"Titled","description":" "},{"name":"mute"}]"#;
    let listing = upstream(&format!(r#"{{"pages":[{page}]}}"#)).tools().await.unwrap();
    let source = &listing.tools[0].origin().unwrap().source;
    let silent = format!("`mute` of `{source}`; its server says nothing about it");
    let told: Vec<&str> = listing.tools.iter().map(|tool| tool.description()).collect();
    assert_eq!(told, ["Says", "Titled", &silent]);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_was_listed_once_is_enough_without_asking_again() {
    let page = r#"[{"name":"a","description":"A","inputSchema":{"type":"object","required":["x"]},"annotations":{"readOnlyHint":true}},
        {"name":"bad","inputSchema":{"type":"strnig"}}]"#;
    let server = upstream(&format!(r#"{{"pages":[{}],"tools":{{"a":{{"act":"echo"}}}}}}"#, page.replace('\n', "")));
    let listing = server.tools().await.unwrap();
    // This one could not be started.
    let again = Upstream::new(toolwright_mcp::upstream::ServerSpec::stdio("s", "no-such-program", [""; 0]));
    let kept = again.tools_as_listed(&listing.raw);
    assert_eq!(kept.raw, listing.raw);
    let said = |listing: &toolwright_mcp::upstream::Listing| {
        let tool = named(listing, "s_a");
        (tool.description().to_owned(), tool.input_schema().cloned(), tool.annotations().cloned(), tool.effect().cloned())
    };
    assert_eq!(said(&kept), said(&listing));
    let skipped = again.tools_as_listed(&[json(r#"{"name":"bad","inputSchema":{"type":"strnig"}}"#)]).skipped;
    assert_eq!(skipped[0].code, "invalid_schema");
    assert_eq!(again.status().pid, None);
}

/// C06, C09 (the wire's part)
#[tokio::test(flavor = "multi_thread")]
async fn each_tool_is_judged_on_its_own() {
    let page = r#"[
        {"name":"n1","inputSchema":{"type":"object"}},
        {"name":"n2","inputSchema":{"type":"object","additionalProperties":false}},
        {"name":"n3","inputSchema":{}},
        {"name":"n4"},
        {"name":"n5","inputSchema":null,"outputSchema":null},
        {"name":"attach","inputSchema":{"anyOf":[{"type":"object","required":["text"]},{"type":"object","required":["url"]}]}},
        {"name":"n1","description":"again"},
        {"name":""},
        {"name":7},
        {"inputSchema":{"type":"object"}},
        {"name":"bad\u0001name"},
        {"name":"scalar","inputSchema":{"type":"string"}},
        {"name":"listed","inputSchema":[1]},
        {"name":"text","inputSchema":"object"},
        {"name":"out","outputSchema":true},
        {"name":"last","inputSchema":{"type":["object","null"]},"title":"Last","description":"the last","execution":{"taskSupport":"optional"}}
    ]"#;
    let listing = upstream(&format!(r#"{{"pages":[{}]}}"#, page.replace('\n', ""))).tools().await.unwrap();
    let ids: Vec<&str> = listing.tools.iter().map(|tool| tool.id()).collect();
    assert_eq!(ids, ["s_n1", "s_n2", "s_n3", "s_n4", "s_n5", "s_attach", "s_last"]);
    for id in ["s_n1", "s_n3", "s_n4", "s_n5"] {
        let schema = named(&listing, id).input_schema().unwrap();
        assert_eq!(*schema, json(r#"{"type":"object","properties":{}}"#), "{id}");
    }
    assert_eq!(named(&listing, "s_n2").input_schema().unwrap().get("additionalProperties"), Some(&json("false")));
    let skipped: Vec<(&str, &str)> = listing.skipped.iter().map(|skipped| (skipped.name.as_str(), skipped.code)).collect();
    assert_eq!(
        skipped,
        [
            ("", "invalid_tool"),
            ("#8", "invalid_tool"),
            ("#9", "invalid_tool"),
            ("bad\u{1}name", "invalid_tool"),
            ("scalar", "invalid_schema"),
            ("listed", "invalid_schema"),
            ("text", "invalid_schema"),
            ("out", "invalid_schema"),
        ]
    );
    assert!(listing.warnings.iter().any(|warning| warning.contains("`n1`")), "{:?}", listing.warnings);
    // What the typed models of the protocol do not know is kept for hashing.
    assert_eq!(listing.raw.last().unwrap().pointer("/execution/taskSupport"), Some(&json(r#""optional""#)));
    assert_eq!(named(&listing, "s_last").title(), Some("Last"));
}

#[tokio::test(flavor = "multi_thread")]
async fn hints_become_effects_only_when_trusted() {
    let page = r#"[
        {"name":"r","annotations":{"readOnlyHint":true,"title":"R"}},
        {"name":"w","annotations":{"readOnlyHint":false,"destructiveHint":"yes"}},
        {"name":"i","annotations":{"idempotentHint":true}},
        {"name":"n","annotations":{"readOnlyHint":"true"}},
        {"name":"d","annotations":{"readOnlyHint":true}}
    ]"#;
    let script = format!(r#"{{"pages":[{}]}}"#, page.replace('\n', ""));
    let seen = async |trust: bool| {
        let mut spec = spec(&script);
        spec.trust_hints = trust;
        spec.effects.push(("d".into(), toolwright::Effect::write()));
        let listing = Upstream::new(spec).tools().await.unwrap();
        listing
            .tools
            .iter()
            .map(|tool| (tool.effect().map(|effect| format!("{:?}", effect.impact)), tool.origin().unwrap().effect_from.to_string()))
            .collect::<Vec<_>>()
    };
    let pair = |impact: &str, from: &str| (Some(impact.to_owned()).filter(|impact| !impact.is_empty()), from.to_owned());
    let trusted = seen(true).await;
    assert_eq!(trusted, [pair("None", "hint"), pair("Once", "hint"), pair("Idempotent", "hint"), pair("", ""), pair("Once", "declared")]);
    let untrusted = seen(false).await;
    assert_eq!(untrusted, [pair("", ""), pair("", ""), pair("", ""), pair("", ""), pair("Once", "declared")]);
}

#[tokio::test(flavor = "multi_thread")]
async fn one_bad_server_does_not_hold_up_the_others() {
    let good = upstream(&format!(r#"{{"startDelayMs":300,"pages":[{}]}}"#, tools("t", 1)));
    let other = upstream(&format!(r#"{{"startDelayMs":300,"pages":[{}]}}"#, tools("t", 2)));
    let bad = upstream(r#"{"dies":{"status":3,"words":"no config"}}"#);
    let (good, other, bad) = tokio::join!(good.tools(), other.tools(), bad.tools());
    assert_eq!(good.unwrap().tools.len(), 1);
    assert_eq!(other.unwrap().tools.len(), 2);
    let error = bad.unwrap_err();
    assert_eq!(error.code, "upstream_start_failed");
    assert!(error.message.contains("status 3") && error.message.contains("no config"), "{}", error.message);
}

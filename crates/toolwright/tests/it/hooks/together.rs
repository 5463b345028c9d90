//! Rules that hold for all hooks, and the two examples that the catalogue was asked for with.

use std::sync::{Arc, Barrier, mpsc};
use std::thread;
use std::time::Duration;

use toolwright::{Invocation, Options, Refusal, Rule, Runtime, ToolDef, json};

use crate::lifecycle_fixture::{
    App, AppCx, Close, Own, block_on, catalog, catalog_with, cx, cx_with, d, echo, listed, nobody, policy, reads,
};

#[test]
fn tg_1_a_tool_that_is_selected_takes_part_once_in_its_place() {
    let inspecting = |id: &'static str| {
        let tool = reads(id).inspect(move |_, cx| {
            cx.log.note(id);
            Ok(())
        });
        tool.echoes()
    };
    let (cx, catalog) = (cx(), catalog(["c", "a", "b"].map(inspecting)));
    catalog.assert_decision(&d("a"), &cx).unwrap();
    assert_eq!(cx.log.all(), ["c", "a", "b"]);
}

#[test]
fn tg_2_a_tool_that_is_off_still_restricts_and_offers_nothing() {
    let off =
        reads("off").available(|_| false).visible_text(|text, _| text.replace("secret", "***")).rules(|_| vec![Rule::new(0, "Use me.")]);
    let catalog = catalog([off.echoes()]);
    assert_eq!(catalog.visible_text("a secret", &cx()).unwrap(), "a ***");
    assert_eq!(catalog.task_rules(&cx()), "");
}

/// A catalogue with one tool whose hook waits until `threads` of them are in it, and then reads the catalogue.
fn reads_its_own_catalogue(threads: usize) -> toolwright::Catalog<App> {
    let (own, together) = (Own::default(), Arc::new(Barrier::new(threads)));
    let seen = own.clone();
    let tool = reads("curious").inspect(move |_, cx: &AppCx| {
        together.wait();
        let catalog = seen.get();
        let reads = catalog.describe(None, Some(cx)).len() + catalog.protocols().len();
        if reads == 4 && catalog.has("plain") && !catalog.is_terminal("plain") { Ok(()) } else { Err("it reads otherwise".into()) }
    });
    let catalog = catalog([tool.echoes(), echo("plain")]);
    own.set(&catalog);
    catalog
}

#[test]
fn tg_4_a_hook_may_read_the_catalogue_that_it_belongs_to_from_many_threads_at_once() {
    for threads in [1, 8] {
        let catalog = reads_its_own_catalogue(threads);
        let (done, outcomes) = mpsc::channel();
        for _ in 0..threads {
            let (catalog, done) = (catalog.clone(), done.clone());
            thread::spawn(move || done.send(catalog.assert_decision(&d("curious"), &cx()).is_ok()).unwrap());
        }
        for _ in 0..threads {
            assert_eq!(outcomes.recv_timeout(Duration::from_secs(60)), Ok(true), "of {threads} threads");
        }
    }
}

#[test]
fn a_hook_that_waits_delays_no_reader_and_no_call() {
    let catalog = reads_its_own_catalogue(2);
    let waiting = catalog.clone();
    let waiting = thread::spawn(move || waiting.assert_decision(&d("plain"), &cx()).unwrap());
    let (done, outcome) = mpsc::channel();
    let other = catalog.clone();
    thread::spawn(move || {
        let called = block_on(other.invoke(Invocation::new("plain", json!({})), cx())).is_ok();
        done.send(called && other.get("plain").is_some() && other.describe(None, None).len() == 2).unwrap();
    });
    assert_eq!(outcome.recv_timeout(Duration::from_secs(60)), Ok(true));
    catalog.assert_decision(&d("plain"), &cx()).unwrap();
    waiting.join().unwrap();
}

fn read_source() -> toolwright::ToolBuilder<App> {
    App::tool("read-source", "读取允许访问的说明。").kind("read").audience("model").reads().goals(["explain"])
}

fn source(builder: toolwright::ToolBuilder<App>) -> ToolDef<App> {
    builder.run_json(|_, _| async move { Ok(json!("接口说明")) })
}

fn host() -> Options<App> {
    Options::new().policy(policy()).goal_ids(|| vec!["explain", "notify"])
}

#[test]
fn t12_1_one_tool_is_registered_described_and_invoked() {
    let catalog = catalog_with(host(), [source(read_source())]);
    let result = block_on(catalog.invoke(Invocation::new("read-source", json!({})), cx())).unwrap();
    assert_eq!(result.value(), &json!("接口说明"));
    let reader = cx_with(|cx| cx.can_send = false);
    let described = catalog.describe(Some("model"), Some(&reader));
    assert_eq!((described.len(), described[0].id.as_str()), (1, "read-source"));
    assert_eq!(described[0].goal_ids, ["explain"]);
}

#[test]
fn t12_2_a_tool_with_a_rule_and_a_trim_gives_them_by_context() {
    let tool = read_source()
        .available(|cx| cx.can_read)
        .rules(|_| vec![Rule::new(10, "只根据真实读取结果回答。")])
        .visible_text(|text, _| text.trim().to_owned());
    let catalog = catalog_with(host(), [source(tool)]);
    assert_eq!(catalog.task_rules(&cx()), "只根据真实读取结果回答。");
    assert_eq!(catalog.visible_text(" 已确认说明 ", &cx()).unwrap(), "已确认说明");
    assert_eq!(listed(&catalog, Some("model"), Some(&nobody())), [""; 0]);
    assert_eq!(listed(&catalog, Some("model"), None), [""; 0]);
    assert_eq!(catalog.task_rules(&nobody()), "");
    assert_eq!(catalog.visible_text(" 已确认说明 ", &nobody()).unwrap(), "已确认说明");
}

#[test]
fn the_hosts_own_code_is_public_and_the_built_in_one_stays() {
    let port = |error: &toolwright::CallError| (error.code() == "denied").then(|| "E403".to_owned());
    let no = reads("no").authorize(|_| Err(Refusal::new("x", "no"))).inspect(|_, _| Err(Refusal::new("x", "no")));
    let catalog = catalog_with(Options::<App>::new().error_code(port), [no.echoes()]);
    let denied = catalog.authorize(&d("no"), &cx()).unwrap_err();
    assert_eq!((denied.code(), denied.public_code()), ("denied", "E403"));
    let inspected = catalog.assert_decision(&d("no"), &cx()).unwrap_err();
    assert_eq!((inspected.code(), inspected.public_code()), ("inspected", "inspected"));
}

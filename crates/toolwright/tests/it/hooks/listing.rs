//! What is listed, for whom and when.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use toolwright::{
    Catalog, Composite, Effect, Impact, IntentSpec, Invocation, Options, Policy, Protocol, RegisterFault, Registry, Rule, Runtime, ToolDef,
    ToolSummary, Value, json,
};

use crate::lifecycle_fixture::{
    App, AppCx, Close, block_on, catalog, catalog_with, cx, d, echo, error, listed, nobody, policy, reads, said,
};

fn output(id: &'static str) -> Protocol {
    Protocol::new(id, "An answer", json!({ "type": "object" }))
}

fn ids(protocols: &toolwright::ProtocolSet) -> Vec<&str> {
    protocols.ids().collect()
}

fn model_ids(catalog: &Catalog<App>, cx: &AppCx) -> Vec<String> {
    ids(&catalog.model_protocols(cx).unwrap()).into_iter().map(str::to_owned).collect()
}

#[test]
fn t6_11_1_outputs_come_first_and_then_tools_in_the_order_of_registration() {
    let catalog = catalog_with(Options::new().outputs([output("reply"), output("table")]), [echo("b"), echo("a")]);
    assert_eq!(ids(&catalog.protocols()), ["reply", "table", "b", "a"]);
}

#[test]
fn t6_11_2_availability_and_audience_play_no_part_and_a_delegate_has_no_protocol() {
    let schema = json!({ "type": "object", "properties": { "x": { "type": "integer" } } });
    let tool = reads("a").audience("operator").available(|_| false).delegate("short").input_schema(schema.clone());
    let protocols = catalog([tool.echoes()]).protocols();
    assert_eq!(ids(&protocols), ["a"]);
    assert_eq!(protocols.get("a").unwrap().schema, schema);
}

#[test]
fn protocols_are_made_once_and_handed_out_by_pointer() {
    let catalog = catalog([echo("a")]);
    let (one, other) = (catalog.protocols(), catalog.model_protocols(&cx()).unwrap());
    assert!(Arc::ptr_eq(one.iter().next().unwrap(), other.iter().next().unwrap()));
}

#[test]
fn t6_12_1_a_model_is_offered_the_available_tools_that_are_for_models() {
    let tools = [
        reads("for_model").available(|cx| cx.can_read).echoes(),
        reads("off").available(|_| false).echoes(),
        reads("for_operator").audience("operator").echoes(),
    ];
    let catalog = catalog_with(Options::new().outputs([output("reply")]), tools);
    assert_eq!(model_ids(&catalog, &cx()), ["reply", "for_model"]);
    assert_eq!(model_ids(&catalog, &nobody()), ["reply"]);
}

#[test]
fn t6_12_2_outputs_of_the_context_stand_between_outputs_and_tools() {
    let options = Options::new().outputs([output("reply"), output("note")]).model_outputs(|_| vec![output("table"), output("note")]);
    assert_eq!(model_ids(&catalog_with(options, [echo("a")]), &cx()), ["reply", "note", "table", "a"]);
}

fn with_table() -> Options<App> {
    Options::new().outputs([output("reply")]).model_outputs(|cx: &AppCx| {
        if cx.can_read { vec![Protocol::new("reply", "Another answer", json!({})).terminal(), output("table")] } else { Vec::new() }
    })
}

#[test]
fn t2_7_1_an_output_of_the_context_is_offered_in_that_context_only() {
    let catalog = catalog_with(with_table(), [echo("a")]);
    assert_eq!(model_ids(&catalog, &cx()), ["reply", "table", "a"]);
    assert_eq!(model_ids(&catalog, &nobody()), ["reply", "a"]);
    assert_eq!(ids(&catalog.protocols()), ["reply", "a"]);
    let offered = catalog.model_protocols(&cx()).unwrap();
    assert_eq!(offered.get("reply").unwrap().description, "Another answer");
    assert_eq!(catalog.protocols().get("reply").unwrap().description, "An answer");
}

#[test]
fn t2_7_2_an_output_of_the_context_with_the_id_or_delegate_of_a_tool_is_a_conflict() {
    for taken in ["a", "short"] {
        let catalog = catalog_with(Options::new().model_outputs(move |_| vec![output(taken)]), [reads("a").delegate("short").echoes()]);
        let conflict = error(catalog.model_protocols(&cx()));
        assert_eq!(conflict.code(), "protocol_conflict");
        assert!(conflict.to_string().contains(taken), "{conflict}");
    }
}

#[test]
fn a_port_for_outputs_that_repeats_itself_or_panics_offers_nothing() {
    let twice = catalog_with(Options::new().model_outputs(|_| vec![output("x"), output("x")]), [echo("a")]);
    assert_eq!(said(twice.model_protocols(&cx())), crate::lifecycle_fixture::by("hook_failed", "", "output_twice"));
    let lost = catalog_with(Options::<App>::new().model_outputs(|_| panic!("lost")), [echo("a")]);
    assert_eq!(said(lost.model_protocols(&cx())), crate::lifecycle_fixture::by("hook_failed", "", "hook_panicked"));
}

#[test]
fn the_port_for_outputs_is_asked_once_for_a_listing() {
    let asked = Arc::new(AtomicUsize::new(0));
    let count = asked.clone();
    let options = Options::<App>::new().model_outputs(move |_| {
        count.fetch_add(1, Ordering::SeqCst);
        vec![output("x"), output("y")]
    });
    catalog_with(options, [echo("a"), echo("b")]).model_protocols(&cx()).unwrap();
    assert_eq!(asked.load(Ordering::SeqCst), 1);
}

#[test]
fn t6_13_1_terminal_are_tools_by_id_and_delegate_and_outputs_that_say_so() {
    let options = Options::new().outputs([output("reply").terminal(), output("table")]);
    let catalog = catalog_with(options, [reads("stop").delegate("halt").terminal().echoes(), echo("a")]);
    let terminal = ["stop", "halt", "reply", "a", "table"].map(|id| catalog.is_terminal(id));
    assert_eq!(terminal, [true, true, true, false, false]);
}

#[test]
fn t6_13_2_what_nobody_knows_is_not_terminal() {
    assert!(!catalog([echo("a")]).is_terminal("ghost"));
}

#[test]
fn t6_29_1_without_a_context_only_what_needs_none_is_described() {
    let catalog = catalog([echo("plain"), reads("conditional").available(|cx| cx.can_read).echoes()]);
    assert_eq!(listed(&catalog, None, None), ["plain"]);
    assert_eq!(listed(&catalog, None, Some(&cx())), ["plain", "conditional"]);
    assert_eq!(listed(&catalog, None, Some(&nobody())), ["plain"]);
}

#[test]
fn t6_29_2_an_audience_and_a_context_both_limit_what_is_described() {
    let tools = [
        reads("m").echoes(),
        reads("m_cond").available(|cx| cx.can_read).echoes(),
        reads("o").audience("operator").echoes(),
        reads("o_cond").audience("operator").available(|cx| cx.can_read).echoes(),
    ];
    let catalog = catalog(tools);
    assert_eq!(listed(&catalog, Some("model"), Some(&cx())), ["m", "m_cond"]);
    assert_eq!(listed(&catalog, Some("operator"), Some(&nobody())), ["o"]);
    assert_eq!(listed(&catalog, Some("nobody"), Some(&cx())), [""; 0]);
}

#[test]
fn t6_29_3_a_tool_for_all_goals_lists_those_there_are() {
    let options = Options::new().goal_ids(|| vec!["a", "b"]);
    assert_eq!(goals_of(&catalog_with(options, [echo("x")])), ["a", "b"]);
    assert_eq!(goals_of(&catalog([echo("x")])), [""; 0]);
}

fn goals_of(catalog: &Catalog<App>) -> Vec<String> {
    catalog.describe(None, None)[0].goal_ids.iter().map(ToString::to_string).collect()
}

#[test]
fn what_is_described_reads_as_json() {
    let options = Options::new().policy(policy()).goal_ids(|| vec!["explain"]);
    let schema = json!({ "type": "object", "required": ["path"] });
    let tool = reads("read_source").kind("read").goals(["explain"]).input_schema(schema);
    let catalog = catalog_with(options, [tool.echoes()]);
    let page = serde_json::to_string(&catalog.describe(None, None)).unwrap();
    let expected = r#"[{"id":"read_source","kind":"read","description":"The tool read_source","audience":"model","effect":{"class":"read","impact":"none"},"goalIds":["explain"],"inputSchema":{"type":"object","required":["path"]}}]"#;
    assert_eq!(page, expected);
    assert_eq!(serde_json::from_str::<Vec<ToolSummary>>(&page).unwrap(), catalog.describe(None, None));
}

#[test]
fn t4_5_1_a_tool_that_declares_nothing_is_described_without_an_effect() {
    let silent = catalog([App::tool("silent", "Says nothing").echoes()]);
    assert_eq!(silent.describe(None, None)[0].effect, None);
    let page: Value = Value::from_serialize(&silent.describe(None, None)).unwrap();
    assert_eq!(page.pointer("/0/effect"), Some(&Value::Null));
}

#[test]
fn a_composite_is_described_with_its_steps_and_effects() {
    let mut registry = Registry::with_options(Options::<App>::new().policy(Policy::new().may_chain(["mail", "inner"]))).unwrap();
    let mail = App::tool("mail", "Sends a mail").effect(Effect::new("post", Impact::Once)).available(|cx| cx.can_send);
    registry.register_all([echo("find"), mail.echoes()]).unwrap();
    let inner = Composite::of(App::tool("inner", "Finds and mails")).step("look", "find", json!({})).step("send", "mail", json!({}));
    registry.register(inner).unwrap();
    registry.register(Composite::of(App::tool("outer", "Twice")).step("do", "inner", json!({}))).unwrap();
    assert_eq!(registry.describe(None, None).len(), 1, "a composite is conditional when a tool of its steps is");
    let described = registry.describe(None, Some(&cx()));
    let steps: Vec<Option<usize>> = described.iter().map(|tool| tool.steps.as_ref().map(Vec::len)).collect();
    assert_eq!(steps, [None, None, Some(2), Some(1)]);
    let outer = Value::from_serialize(&described[3]).unwrap();
    assert_eq!(outer.get("steps"), Some(&json!(["inner"])));
    let effects = json!([{ "path": ["do", "send"], "tool": "mail", "class": "post", "impact": "once" }]);
    assert_eq!(outer.get("effects"), Some(&effects));
}

#[test]
fn a_hidden_tool_is_defined_and_not_listed() {
    let hidden = reads("hidden").as_intent(IntentSpec::new("hide")).echoes().with_hidden(true);
    let catalog = catalog([hidden, echo("a")]);
    assert_eq!(listed(&catalog, None, Some(&cx())), ["a"]);
    assert_eq!(model_ids(&catalog, &cx()), ["a"]);
    assert!(catalog.intents(&cx()).is_empty());
    assert_eq!((ids(&catalog.protocols()), catalog.definitions().len()), (vec!["hidden", "a"], 2));
}

#[test]
fn t2_11_1_goals_are_asked_for_at_every_use() {
    let source = Arc::new(Mutex::new(vec!["a"]));
    let port = source.clone();
    let catalog = catalog_with(Options::new().goal_ids(move || port.lock().unwrap().clone()), [echo("x")]);
    assert_eq!(goals_of(&catalog), ["a"]);
    source.lock().unwrap().push("b");
    assert_eq!(goals_of(&catalog), ["a", "b"]);
}

#[test]
fn t2_11_2_a_goal_that_is_gone_is_not_advertised_and_its_tool_is_still_listed() {
    let source = Arc::new(Mutex::new(vec!["b", "a"]));
    let port = source.clone();
    let catalog = catalog_with(Options::new().goal_ids(move || port.lock().unwrap().clone()), [reads("x").goals(["a"]).echoes()]);
    assert_eq!(goals_of(&catalog), ["a"]);
    source.lock().unwrap().pop();
    assert_eq!(goals_of(&catalog), [""; 0]);
}

#[test]
fn t4_6_1_goals_are_described_once_each_in_the_order_they_were_given() {
    assert_eq!(goals_of(&catalog([reads("x").goals(["explain", "act", "explain"]).echoes()])), ["explain", "act"]);
}

#[test]
fn t4_6_2_an_empty_list_of_goals_is_refused() {
    let mut registry = Registry::with_options(Options::<App>::new()).unwrap();
    let refused = registry.register(reads("x").goals([""; 0]).echoes()).err().unwrap();
    assert_eq!(refused.fault(), &RegisterFault::EmptyGoals);
    assert!(registry.is_empty());
}

#[test]
fn t4_7_1_a_tool_that_is_not_available_is_neither_listed_nor_called() {
    let (cx, off) = (
        cx(),
        reads("off").available(|_| false).authorize(|access| {
            access.context.log.note("authorize");
            Ok(())
        }),
    );
    let catalog = catalog([off.notes(&cx.log)]);
    assert_eq!(listed(&catalog, None, Some(&cx)), [""; 0]);
    assert_eq!(listed(&catalog, None, None), [""; 0]);
    assert_eq!(model_ids(&catalog, &cx), [""; 0]);
    assert_eq!((ids(&catalog.protocols()), catalog.definitions().len()), (vec!["off"], 1));
    assert_eq!(said(block_on(catalog.call(&d("off"), cx.clone()))).0, "forbidden");
    assert_eq!(said(block_on(catalog.invoke(Invocation::new("off", json!({})), cx.clone()))).0, "forbidden");
    assert_eq!(said(catalog.authorize(&d("off"), &cx)).0, "forbidden");
    assert_eq!(cx.log.all(), [""; 0]);
}

#[test]
fn t4_7_2_what_was_listed_is_judged_again_at_the_call() {
    let (cx, on) = (cx(), Arc::new(AtomicBool::new(true)));
    let port = on.clone();
    let catalog = catalog([reads("a").available(move |_| port.load(Ordering::SeqCst)).notes(&cx.log)]);
    assert_eq!(model_ids(&catalog, &cx), ["a"]);
    on.store(false, Ordering::SeqCst);
    assert_eq!(said(block_on(catalog.call(&d("a"), cx.clone()))).0, "forbidden");
    assert_eq!(cx.log.all(), [""; 0]);
}

#[test]
fn t4_7_3_a_predicate_that_panics_has_said_no() {
    let lost = reads("lost").available(|_| panic!("lost")).rules(|_| vec![Rule::new(0, "lost")]);
    let catalog = catalog([lost.echoes(), echo("a")]);
    assert_eq!(listed(&catalog, None, Some(&cx())), ["a"]);
    assert_eq!(model_ids(&catalog, &cx()), ["a"]);
    assert_eq!(catalog.task_rules(&cx()), "");
    assert_eq!(said(block_on(catalog.call(&d("lost"), cx()))).0, "forbidden");
}

#[test]
fn t4_8_1_only_tools_with_an_intent_are_intents() {
    let intent = IntentSpec::new("send a mail").example("write to Ann");
    let catalog = catalog([echo("plain"), reads("mail").as_intent(intent.clone()).echoes()]);
    assert_eq!(catalog.intents(&cx()), [("mail", &intent)]);
}

#[test]
fn t4_8_2_an_intent_of_a_tool_that_is_off_is_not_listed() {
    let tool = |id: &str| reads(id).as_intent(IntentSpec::new(id.to_owned()));
    let catalog = catalog([tool("b").available(|cx| cx.can_read).echoes(), tool("a").echoes()]);
    let named = |cx: &AppCx| catalog.intents(cx).iter().map(|(tool, _)| (*tool).to_owned()).collect::<Vec<_>>();
    assert_eq!((named(&cx()), named(&nobody())), (vec!["b".to_owned(), "a".to_owned()], vec!["a".to_owned()]));
}

#[test]
fn the_fingerprint_depends_on_every_declaration_and_on_their_order() {
    let of = |tools: [ToolDef<App>; 2]| catalog(tools).fingerprint();
    assert_eq!(of([echo("a"), echo("b")]), of([echo("a"), echo("b")]));
    assert_ne!(of([echo("a"), echo("b")]), of([echo("b"), echo("a")]));
    assert_ne!(of([echo("a"), echo("b")]), of([echo("a"), reads("b").terminal().echoes()]));
    let with_output = catalog_with(Options::new().outputs([output("reply")]), [echo("a"), echo("b")]);
    assert_ne!(of([echo("a"), echo("b")]), with_output.fingerprint());
}

/// Everything that is listed of a registry with 50 tools, in one line.
fn listing_of_fifty() -> String {
    let goals = || (0..7).map(|goal| format!("goal{goal}")).collect();
    let options = Options::<App>::new().goal_ids(goals).outputs([output("reply"), output("table")]);
    let tool = |at: usize| {
        let properties = json!({ "z": { "type": "string" }, "a": { "type": "integer" } });
        let tool =
            reads(&format!("tool{}", at * 37 % 50)).delegate(format!("delegate{at}")).as_intent(IntentSpec::new(format!("intent{at}")));
        let tool = tool.input_schema(json!({ "type": "object", "properties": properties.to_json() }));
        if at.is_multiple_of(2) { tool.goals([format!("goal{}", at % 7)]) } else { tool }.echoes()
    };
    let catalog = catalog_with(options, (0..50).map(tool));
    let described = serde_json::to_string(&catalog.describe(None, Some(&cx()))).unwrap();
    let protocols = serde_json::to_string(&catalog.protocols()).unwrap();
    let model = serde_json::to_string(&catalog.model_protocols(&cx()).unwrap()).unwrap();
    format!("{described} {protocols} {model} {}", catalog.fingerprint())
}

#[test]
#[expect(clippy::disallowed_types, reason = "what two processes say can only be compared in two processes")]
fn tg_3_two_processes_list_the_same_bytes() {
    const MARK: &str = "what is listed: ";
    if std::env::var_os("LIST_AND_END").is_some() {
        println!("\n{MARK}{}", listing_of_fifty());
        return;
    }
    let this = format!("{}::tg_3_two_processes_list_the_same_bytes", module_path!().split_once("::").unwrap().1);
    let mut other = std::process::Command::new(std::env::current_exe().unwrap());
    let other = other.args(["--exact", &this, "--nocapture"]).env("LIST_AND_END", "1").output().unwrap();
    let printed = String::from_utf8(other.stdout).unwrap();
    let listed = printed.lines().find_map(|line| line.strip_prefix(MARK));
    assert_eq!(listed, Some(listing_of_fifty().as_str()), "{printed}");
    assert_eq!(listing_of_fifty(), listing_of_fifty());
}

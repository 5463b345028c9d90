//! Hooks that say what a model reads before it decides.

use std::sync::{Arc, Mutex};

use toolwright::{ContextFragment, GoalSupport, ModelField, Options, Refusal, Rule, ToolBuilder, ToolDef, Value, json};

use crate::lifecycle_fixture::{App, Close, Notes, by, catalog, catalog_with, cx, echo, nobody, reads, said};

fn rules(id: &'static str, rules: &'static [(i32, &'static str)]) -> ToolDef<App> {
    reads(id).rules(|_| rules.iter().map(|(order, text)| Rule::new(*order, *text)).collect()).echoes()
}

fn fields(id: &str, fields: &'static [(&'static str, i32, &'static str, i32)]) -> ToolDef<App> {
    let made = |(placement, order, key, value): &(&str, i32, &'static str, i32)| ModelField::new(*placement, *order, *key, *value);
    reads(id).fields(move |_| fields.iter().map(made).collect()).echoes()
}

fn head(catalog: &toolwright::Catalog<App>) -> Vec<String> {
    let fragments = catalog.context_fields(&cx(), &"head".to_owned());
    fragments.iter().map(|fragment| format!("{}:{}", fragment.tool, fragment.values.keys().next().unwrap())).collect()
}

#[test]
fn t6_25_1_rules_come_by_their_order() {
    let catalog = catalog([rules("a", &[(20, "x"), (10, "y")]), rules("b", &[(10, "z")])]);
    assert_eq!(catalog.task_rules(&cx()), "y\nz\nx");
}

#[test]
fn t6_25_2_equal_orders_keep_the_order_of_registration() {
    let catalog = catalog([rules("b", &[(10, "z")]), rules("a", &[(20, "x"), (10, "y"), (10, "y2")])]);
    assert_eq!(catalog.task_rules(&cx()), "z\ny\ny2\nx");
}

#[test]
fn t6_25_3_negative_orders_come_first_and_blank_or_unavailable_rules_leave_no_line() {
    let off = reads("off").available(|cx| cx.can_send).rules(|_| vec![Rule::new(0, "off")]).echoes();
    let lost = reads("lost").rules(|_| panic!("lost")).echoes();
    let catalog = catalog([rules("a", &[(0, " x \n"), (0, "  "), (-1, "first")]), off, lost, echo("plain")]);
    assert_eq!(catalog.task_rules(&nobody()), "first\nx");
    let by_tool = catalog.task_rules_by_tool(&cx());
    assert_eq!(by_tool, [("a", Rule::new(-1, "first")), ("a", Rule::new(0, "x")), ("off", Rule::new(0, "off"))]);
    assert_eq!(catalog_of_nothing().task_rules(&cx()), "");
}

fn catalog_of_nothing() -> toolwright::Catalog<App> {
    catalog([echo("plain")])
}

#[test]
fn t6_26_1_fields_of_one_placement_come_by_their_order() {
    let catalog = catalog([fields("a", &[("head", 2, "two", 0), ("head", 1, "one", 0), ("tail", 0, "zero", 0)])]);
    assert_eq!(head(&catalog), ["a:one", "a:two"]);
    let tail = catalog.context_fields(&cx(), &"tail".to_owned());
    assert_eq!(tail, [ContextFragment::of("a", &ModelField::<String>::new("tail", 0, "zero", 0))]);
    assert!(catalog.context_fields(&cx(), &"foot".to_owned()).is_empty());
}

#[test]
fn t6_26_2_equal_orders_of_two_tools_keep_the_order_of_registration() {
    assert_eq!(head(&catalog([fields("b", &[("head", 1, "k", 0)]), fields("a", &[("head", 1, "j", 0)])])), ["b:k", "a:j"]);
}

#[test]
fn fields_of_a_tool_that_is_off_or_lost_are_left_out() {
    let field = || vec![ModelField::new("head", 0, "k", 1)];
    let off = reads("off").available(|cx| cx.can_read).fields(move |_| field()).echoes();
    let lost = reads("lost").fields(|_| panic!("lost")).echoes();
    let catalog = catalog([off, lost]);
    assert!(catalog.model_fields(&nobody(), &"head".to_owned()).is_empty());
    assert_eq!(catalog.model_fields(&cx(), &"head".to_owned()).len(), 1);
}

#[test]
fn t6_27_1_of_two_values_with_one_key_that_of_the_higher_order_counts() {
    let catalog = catalog([fields("a", &[("head", 5, "k", 1)]), fields("b", &[("head", 1, "k", 2)])]);
    assert_eq!(catalog.model_fields(&cx(), &"head".to_owned())["k"], json!(1));
}

#[test]
fn t6_27_2_values_replace_each_other_whole_and_other_placements_are_absent() {
    let with = |id: &str, order: i32, value: Value| {
        let made = move || vec![ModelField::new("head", order, "k", value.clone()), ModelField::new("tail", 0, "t", 1)];
        reads(id).fields(move |_| made()).echoes()
    };
    let catalog = catalog([with("a", 1, json!({ "x": 1 })), with("b", 2, json!({ "y": 2 }))]);
    let values = catalog.model_fields(&cx(), &"head".to_owned());
    assert_eq!(values.keys().map(|key| key.as_str()).collect::<Vec<_>>(), ["k"]);
    assert_eq!(values["k"], json!({ "y": 2 }));
}

#[test]
fn t2_10_1_the_port_makes_a_fragment_once_for_each_field_of_the_placement_in_order() {
    let asked = Notes::default();
    let log = asked.clone();
    let options = Options::<App>::new().context_fragment(move |tool, field| {
        log.note(format!("{} {} {}", tool.name(), field.placement, field.key));
        let mut fragment = ContextFragment::of(tool.name().to_owned(), field);
        fragment.values.insert("more".into(), json!(true));
        fragment
    });
    let tools = [fields("a", &[("tail", 0, "z", 0), ("head", 2, "two", 0)]), fields("b", &[("head", 1, "one", 0)])];
    let catalog = catalog_with(options, tools);
    let fragments = catalog.context_fields(&cx(), &"head".to_owned());
    assert_eq!(asked.take(), ["b head one", "a head two"]);
    assert_eq!(fragments.len(), 2);
    let values = catalog.model_fields(&cx(), &"head".to_owned());
    assert_eq!(values.keys().map(|key| key.as_str()).collect::<Vec<_>>(), ["more", "one", "two"]);
}

#[test]
fn t2_10_2_without_the_port_a_fragment_is_the_field_itself() {
    let catalog = catalog([fields("a", &[("head", 2, "two", 2), ("head", 1, "one", 1)])]);
    let values = catalog.model_fields(&cx(), &"head".to_owned());
    assert_eq!(
        values.into_iter().map(|(key, value)| (key.to_string(), value)).collect::<Vec<_>>(),
        [("one".to_owned(), json!(1)), ("two".to_owned(), json!(2))]
    );
}

#[test]
fn a_port_that_breaks_down_costs_only_its_fragment() {
    let options = Options::<App>::new().context_fragment(|tool, field| {
        assert_ne!(field.key, "bad", "lost");
        ContextFragment::of(tool.name().to_owned(), field)
    });
    let catalog = catalog_with(options, [fields("a", &[("head", 0, "bad", 0), ("head", 1, "good", 0)])]);
    assert_eq!(head(&catalog), ["a:good"]);
}

fn appends(text: &'static str, log: &Notes) -> ToolDef<App> {
    let log = log.clone();
    reads(text)
        .project_context(move |value| {
            log.note(text);
            Value::array(value.as_array().unwrap().iter().cloned().chain([json!(text)]))
        })
        .echoes()
}

#[test]
fn t6_18_1_projections_are_applied_in_the_order_of_registration() {
    let log = Notes::default();
    let forwards = catalog(["a", "b", "c"].map(|text| appends(text, &log)));
    assert_eq!(forwards.project_context(json!(["0"])).unwrap(), json!(["0", "a", "b", "c"]));
    let backwards = catalog(["b", "a"].map(|text| appends(text, &log)));
    assert_eq!(backwards.project_context(json!([])).unwrap(), json!(["b", "a"]));
}

#[test]
fn t6_18_2_without_hooks_the_value_stays_and_a_refusal_lets_no_half_of_it_out() {
    assert_eq!(catalog([echo("a")]).project_context(json!({ "k": 1 })).unwrap(), json!({ "k": 1 }));
    let log = Notes::default();
    let refuses = reads("b").project_context(|_| Err(Refusal::new("x", "no")));
    let catalog = catalog([appends("a", &log), refuses.echoes(), appends("c", &log)]);
    assert_eq!(said(catalog.project_context(json!([]))), by("hook_failed", "b", "x"));
    assert_eq!(log.all(), ["a"]);
}

#[test]
fn t6_21_1_what_is_nothing_is_left_out_and_null_is_something() {
    let gives = |id: &str, value: Option<Value>| reads(id).recovery_context(move |_| value.clone());
    let off: ToolBuilder<App> = gives("d", Some(json!("off"))).available(|_| false);
    let lost = reads("e").recovery_context(|_| panic!("lost"));
    let tools = [gives("a", Some(json!(1))), gives("b", None), gives("c", Some(json!(null))), off, lost];
    let catalog = catalog(tools.map(Close::echoes));
    assert_eq!(catalog.recovery_context(&cx()), [json!(1), json!(null), json!("off")]);
}

#[test]
fn t6_21_2_without_hooks_there_is_nothing_to_recover() {
    assert!(catalog([echo("a")]).recovery_context(&cx()).is_empty());
}

#[test]
fn t6_28_1_silence_is_support_and_one_veto_decides() {
    let says = |id: &str, answer: Option<bool>| reads(id).supports_goal(move |_, _| answer).echoes();
    assert!(catalog([echo("a")]).supports_goal("g", &cx()));
    assert_eq!(catalog([says("a", None)]).goal_support("g", &cx()), GoalSupport::Silent);
    let for_it = catalog([says("a", Some(true)), says("b", None), says("c", Some(true))]);
    assert_eq!(for_it.goal_support("g", &cx()), GoalSupport::Supported { by: vec!["a".into(), "c".into()] });
    let against = catalog([says("a", Some(true)), says("b", Some(false)), says("c", Some(true))]);
    assert!(!against.supports_goal("g", &cx()));
    assert_eq!(against.goal_support("g", &cx()), GoalSupport::Vetoed { by: vec!["b".into()] });
}

#[test]
fn t6_28_2_support_may_depend_on_the_context_and_on_nothing_else() {
    let asked: Arc<Mutex<Vec<String>>> = Arc::default();
    let log = asked.clone();
    let by_context = reads("a").available(|_| false).supports_goal(move |goal, cx| {
        log.lock().unwrap().push(goal.to_owned());
        Some(cx.can_read)
    });
    let catalog = catalog([by_context.echoes()]);
    assert!(catalog.supports_goal("explain", &cx()) && !catalog.supports_goal("explain", &nobody()));
    assert_eq!(*asked.lock().unwrap(), ["explain", "explain"]);
}

#[test]
fn a_hook_that_panics_about_a_goal_stands_in_its_way() {
    let catalog = catalog([reads("lost").supports_goal(|_, _| panic!("lost")).echoes()]);
    assert!(!catalog.supports_goal("g", &cx()));
    assert_eq!(catalog.goal_support("g", &cx()), GoalSupport::Vetoed { by: vec!["lost".into()] });
}

//! Hooks that judge a decision: of every tool, or of the one that it selects.

use toolwright::{Fault, Options, Policy, Protocol, Refusal, ToolDef, json};

use crate::lifecycle_fixture::{App, Close, by, catalog, catalog_with, cx, d, echo, nobody, reads, said};

fn inspecting(id: &'static str) -> ToolDef<App> {
    reads(id)
        .inspect(move |_, cx| {
            cx.log.note(id);
            Ok(())
        })
        .echoes()
}

fn refusing(id: &'static str) -> ToolDef<App> {
    reads(id)
        .inspect(move |_, cx| {
            cx.log.note(id);
            Err(Refusal::new("x", "not this"))
        })
        .echoes()
}

fn with_reply() -> Options<App> {
    Options::new().outputs([Protocol::new("reply", "Answers", json!({ "type": "object" }))])
}

#[test]
fn t6_14_1_the_selected_tool_inspects_once_in_its_place_also_when_it_is_selected_by_its_delegate() {
    let (cx, selected) = (
        cx(),
        reads("a").delegate("short").inspect(|_, cx| {
            cx.log.note("a");
            Ok(())
        }),
    );
    let catalog = catalog([inspecting("c"), selected.echoes(), inspecting("b")]);
    catalog.assert_decision(&d("a"), &cx).unwrap();
    assert_eq!(cx.log.take(), ["c", "a", "b"]);
    catalog.assert_decision(&d("short"), &cx).unwrap();
    assert_eq!(cx.log.take(), ["c", "a", "b"]);
}

#[test]
fn t6_14_2_the_first_refusal_ends_it_and_names_its_tool() {
    let (cx, catalog) = (cx(), catalog([inspecting("a"), refusing("b"), inspecting("c")]));
    let error = catalog.assert_decision(&d("a"), &cx).unwrap_err();
    assert!(matches!(error.fault(), Fault::Inspected { tool, refusal } if tool == "b" && refusal.code == "x"));
    assert_eq!(error.code(), "inspected");
    assert_eq!(cx.log.all(), ["a", "b"]);
}

#[test]
fn t6_14_3_a_tool_that_is_not_available_inspects_all_the_same() {
    let off = reads("off").available(|_| false).inspect(|_, _| Err(Refusal::new("x", "no")));
    let catalog = catalog([echo("a"), off.echoes()]);
    assert_eq!(said(catalog.assert_decision(&d("a"), &cx())), by("inspected", "off", "x"));
}

#[test]
fn t6_14_4_a_decision_for_an_output_or_for_nothing_is_inspected_too() {
    let (cx, catalog) = (cx(), catalog_with(with_reply(), [inspecting("a")]));
    catalog.assert_decision(&d("reply"), &cx).unwrap();
    catalog.assert_decision(&d("ghost"), &cx).unwrap();
    assert_eq!(cx.log.all(), ["a", "a"]);
}

#[test]
fn an_inspection_that_panics_has_refused() {
    let catalog = catalog([reads("a").inspect(|_, _| panic!("lost")).echoes()]);
    assert_eq!(said(catalog.assert_decision(&d("a"), &cx())), by("inspected", "a", "hook_panicked"));
}

#[test]
fn t6_15_1_only_the_selected_tool_authorizes() {
    let logging = |id: &'static str| {
        reads(id)
            .authorize(move |access| {
                assert!(access.decision.is_some() && access.input.is_none() && access.lineage.is_empty());
                access.context.log.note(format!("{id} as {}", access.tool));
                Ok(())
            })
            .echoes()
    };
    let (cx, catalog) = (cx(), catalog([logging("a"), logging("b")]));
    catalog.authorize(&d("a"), &cx).unwrap();
    assert_eq!(cx.log.all(), ["a as a"]);
}

#[test]
fn t6_15_2_without_a_hook_and_for_an_output_there_is_nothing_to_say_against_it() {
    let catalog = catalog_with(with_reply(), [echo("a")]);
    catalog.authorize(&d("a"), &cx()).unwrap();
    catalog.authorize(&d("reply"), &cx()).unwrap();
}

#[test]
fn t6_15_3_a_refusal_and_a_panic_deny() {
    let no = reads("no").authorize(|_| Err(Refusal::new("quota", "enough for today"))).echoes();
    let lost = reads("lost").authorize(|_| panic!("lost")).echoes();
    let catalog = catalog([no, lost]);
    assert_eq!(said(catalog.authorize(&d("no"), &cx())), by("denied", "no", "quota"));
    assert_eq!(said(catalog.authorize(&d("lost"), &cx())), by("denied", "lost", "hook_panicked"));
}

#[test]
fn authorization_looks_for_the_tool_then_at_its_availability_then_asks_its_hook() {
    let asked = |access: &toolwright::Access<'_, App>| {
        access.context.log.note("asked");
        Ok(())
    };
    let options = Options::new().on_forbidden(|tool| Refusal::new("off", format!("{tool} is off")));
    let catalog = catalog_with(options, [reads("a").available(|cx| cx.can_read).authorize(asked).echoes()]);
    let cx = nobody();
    assert_eq!(said(catalog.authorize(&d("a"), &cx)), by("forbidden", "a", "off"));
    assert_eq!(said(catalog.authorize(&d("ghost"), &cx)), by("unavailable_invocation", "ghost", ""));
    assert_eq!(cx.log.all(), [""; 0]);
}

#[test]
fn a_decision_for_an_output_of_the_context_is_one_for_an_output() {
    let options = Options::new().model_outputs(
        |cx: &crate::lifecycle_fixture::AppCx| {
            if cx.can_read { vec![Protocol::new("table", "A table", json!({}))] } else { Vec::new() }
        },
    );
    let catalog = catalog_with(options, [echo("a")]);
    catalog.authorize(&d("table"), &cx()).unwrap();
    assert_eq!(catalog.complete(&d("table"), &cx()).unwrap(), None);
    assert_eq!(said(catalog.authorize(&d("table"), &nobody())).0, "unavailable_invocation");
}

#[test]
fn t6_16_1_only_the_selected_tool_says_whether_it_resumes() {
    let catalog = catalog_with(with_reply(), [echo("plain"), reads("goes_on").resume(|_, cx| cx.can_read).echoes()]);
    let resumes = |id: &str| catalog.resume(&d(id), &cx()).unwrap();
    assert_eq!([resumes("plain"), resumes("goes_on"), resumes("reply")], [false, true, false]);
    assert!(!catalog.resume(&d("goes_on"), &nobody()).unwrap());
}

#[test]
fn t6_16_2_an_unknown_id_is_an_error_and_no_fresh_start() {
    let catalog = catalog([reads("lost").resume(|_, _| panic!("lost")).echoes()]);
    assert_eq!(said(catalog.resume(&d("ghost"), &cx())), by("unavailable_invocation", "ghost", ""));
    assert_eq!(said(catalog.resume(&d("lost"), &cx())), by("hook_failed", "lost", "hook_panicked"));
}

#[test]
fn t6_17_1_the_selected_tool_may_give_another_decision() {
    let rewrites = reads("a").complete(|decision, _| {
        assert_eq!(decision, &d("a"));
        Some(d("b"))
    });
    let refuses = reads("b").complete(|_, _| Err(Refusal::new("x", "no")));
    let catalog = catalog([rewrites.echoes(), refuses.echoes(), echo("plain")]);
    let given = d("a");
    assert_eq!(catalog.complete(&given, &cx()).unwrap(), Some(d("b")));
    assert_eq!(given, d("a"));
    assert_eq!(catalog.complete(&d("plain"), &cx()).unwrap(), None);
    assert_eq!(said(catalog.complete(&d("b"), &cx())), by("hook_failed", "b", "x"));
    assert_eq!(said(catalog.complete(&d("ghost"), &cx())).0, "unavailable_invocation");
}

#[test]
fn t6_24_1_one_tool_is_enough_to_permit_that_an_interaction_is_missing() {
    let says = |id: &str, yes: bool| reads(id).missing_interaction_allowed(move |_, _| yes).echoes();
    assert!(!catalog([echo("a")]).missing_interaction_allowed(&d("a"), &cx()));
    let catalog = catalog([says("a", false), says("b", true), says("c", false)]);
    assert!(catalog.missing_interaction_allowed(&d("a"), &cx()));
    assert_eq!(catalog.missing_interaction_allowed_by(&d("a"), &cx()), ["b"]);
}

#[test]
fn t6_24_2_a_tool_that_is_off_permits_nothing() {
    let off = reads("off").available(|cx| cx.can_send).missing_interaction_allowed(|_, _| true);
    let catalog = catalog([off.echoes(), echo("a")]);
    assert!(!catalog.missing_interaction_allowed(&d("a"), &nobody()));
    assert!(catalog.missing_interaction_allowed(&d("a"), &cx()));
}

#[test]
fn no_tool_permits_what_the_policy_forbids_or_what_it_panics_about() {
    let permits = || reads("a").missing_interaction_allowed(|_, _| true).echoes();
    let strict = catalog_with(Options::new().policy(Policy::new().interaction_required()), [permits()]);
    assert!(!strict.missing_interaction_allowed(&d("a"), &cx()));
    assert!(strict.missing_interaction_allowed_by(&d("a"), &cx()).is_empty());
    let lost = catalog([reads("lost").missing_interaction_allowed(|_, _| panic!("lost")).echoes()]);
    assert!(!lost.missing_interaction_allowed(&d("lost"), &cx()));
}

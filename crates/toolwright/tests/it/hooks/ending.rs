//! Hooks that make of an answer what people see, and end what was begun; and the two handlers of the host.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use toolwright::{Decision, Fault, Options, Phase, Refusal, Registry, ToolBuilder, Value, json, runtime};

use crate::lifecycle_fixture::{App, AppCx, Close, Notes, by, catalog, catalog_with, cx, d, echo, error, nobody, reads, said};

runtime! {
    /// With two arguments for the normaliser and a number for a receiver.
    struct Wide { Context = AppCx, NormalizerArgs = (bool, u8), Receiver = u8 }
}

#[test]
fn t6_8_1_without_a_normaliser_a_value_stays_what_it_is() {
    assert_eq!(Registry::with_options(Options::<Wide>::new()).unwrap().normalize(json!({ "k": 1 }), (true, 1)).unwrap(), json!({ "k": 1 }));
}

#[test]
fn t6_8_2_the_normaliser_gets_all_its_arguments() {
    let mut registry = Registry::with_options(Options::<Wide>::new()).unwrap();
    registry.register_normalizer(|value, (strict, n)| json!({ "was": value, "strict": strict, "n": n })).unwrap();
    assert_eq!(registry.normalize(json!(0), (true, 7)).unwrap(), json!({ "was": 0, "strict": true, "n": 7 }));
    assert_eq!(registry.seal().normalize(json!(1), (false, 0)).unwrap(), json!({ "was": 1, "strict": false, "n": 0 }));
}

#[test]
fn t6_8_3_a_second_normaliser_is_refused_and_the_first_stays() {
    let mut registry = Registry::with_options(Options::<App>::new()).unwrap();
    registry.register_normalizer(|_, ()| json!("first")).unwrap();
    assert!(registry.register_normalizer(|_, ()| json!("second")).is_err());
    assert_eq!(registry.normalize(json!(0), ()).unwrap(), json!("first"));
}

#[test]
fn a_normaliser_that_refuses_or_panics_is_a_failed_hook_of_no_tool() {
    let with = |normalizer: fn(Value, ()) -> Result<Value, Refusal>| {
        let mut registry = Registry::with_options(Options::<App>::new()).unwrap();
        registry.register_normalizer(normalizer).unwrap();
        registry.normalize(json!(0), ())
    };
    let refused = error(with(|_, ()| Err(Refusal::new("x", "no"))));
    assert!(matches!(refused.fault(), Fault::Hook { hook: "normalizer", tool, refusal } if tool.is_empty() && refusal.code == "x"));
    assert_eq!(said(with(|_, ()| panic!("lost"))), by("hook_failed", "", "hook_panicked"));
}

#[test]
fn t6_9_1_the_finalizer_gets_receiver_decision_and_context_themselves() {
    type Seen = Arc<Mutex<Vec<(usize, Decision, usize)>>>;
    let address = |of: *const ()| of.addr();
    let seen: Seen = Arc::default();
    let log = seen.clone();
    let mut registry = Registry::with_options(Options::<Wide>::new()).unwrap();
    let finalizer = move |receiver: &u8, decision: Decision, cx: &AppCx| {
        log.lock().unwrap().push((address(std::ptr::from_ref(receiver).cast()), decision, address(std::ptr::from_ref(cx).cast())));
        Ok(json!({ "to": *receiver }))
    };
    registry.register_finalizer(finalizer).unwrap();
    let (catalog, cx, receiver) = (registry.seal(), cx(), 7_u8);
    assert_eq!(catalog.finish(&receiver, d("a"), &cx).unwrap(), json!({ "to": 7 }));
    let expected = (address(std::ptr::from_ref(&receiver).cast()), d("a"), address(Arc::as_ptr(&cx).cast()));
    assert_eq!(*seen.lock().unwrap(), [expected]);
}

#[test]
fn t6_9_2_without_a_finalizer_there_is_no_reply() {
    let calls = Arc::new(AtomicUsize::new(0));
    let counted = calls.clone();
    let options = Options::<App>::new().receiver(move || {
        counted.fetch_add(1, Ordering::SeqCst);
    });
    let catalog = catalog_with(options, [echo("a")]);
    assert_eq!(error(catalog.finish(&(), d("a"), &cx())).code(), "no_finalizer");
    assert_eq!(error(catalog.finish_default(d("a"), &cx())).code(), "no_finalizer");
    assert_eq!(calls.load(Ordering::SeqCst), 0);
}

#[test]
fn t6_9_3_finishing_asks_no_finalize_hook() {
    let cx = cx();
    let mut registry = Registry::with_options(Options::<App>::new()).unwrap();
    let notes = reads("a").finalize(|_, cx, _| {
        cx.log.note("finalize");
        Ok(())
    });
    registry.register(notes.echoes()).unwrap().register_finalizer(|(), decision, _| Ok(decision.arguments)).unwrap();
    registry.seal().finish(&(), d("a"), &cx).unwrap();
    assert_eq!(cx.log.all(), [""; 0]);
}

#[test]
fn the_port_for_the_receiver_is_asked_once_and_only_by_finish_default() {
    let calls = Arc::new(AtomicUsize::new(0));
    let counted = calls.clone();
    let with = |options: Options<Wide>| {
        let mut registry = Registry::with_options(options).unwrap();
        registry.register_finalizer(|receiver, _, _| Ok(json!(*receiver))).unwrap();
        registry.seal()
    };
    let catalog = with(Options::new().receiver(move || u8::try_from(40 + counted.fetch_add(1, Ordering::SeqCst)).unwrap()));
    assert_eq!(catalog.finish(&7, d("a"), &cx()).unwrap(), json!(7));
    assert_eq!(calls.load(Ordering::SeqCst), 0);
    assert_eq!(catalog.finish_default(d("a"), &cx()).unwrap(), json!(40));
    assert_eq!(calls.load(Ordering::SeqCst), 1);
    assert_eq!(error(with(Options::new()).finish_default(d("a"), &cx())).code(), "no_receiver");
}

#[test]
fn a_finalizer_that_panics_is_a_failed_hook_and_its_own_error_stays_its_own() {
    let with = |fails: bool| {
        let mut registry = Registry::with_options(Options::<App>::new()).unwrap();
        registry.register_finalizer(move |(), _, _| if fails { Err(Fault::NoReceiver.into()) } else { panic!("lost") }).unwrap();
        registry.finish(&(), d("a"), &cx())
    };
    assert_eq!(said(with(false)), by("hook_failed", "", "hook_panicked"));
    assert_eq!(error(with(true)).code(), "no_receiver");
}

#[test]
fn t6_19_1_a_trimming_tool_trims_and_no_tool_changes_nothing() {
    let trims = catalog([reads("a").visible_text(|text, _| text.trim().to_owned()).echoes()]);
    assert_eq!(trims.visible_text("  done  ", &cx()).unwrap(), "done");
    let plain = catalog([echo("a")]);
    assert_eq!(plain.visible_text("  done  ", &cx()).unwrap(), "  done  ");
    assert_eq!(plain.visible_text("", &cx()).unwrap(), "");
}

#[test]
fn t6_19_2_texts_are_changed_in_the_order_of_registration() {
    let masks = || reads("masks").visible_text(|text, _| text.replace("secret", "***")).echoes();
    let shouts = || reads("shouts").visible_text(|text, _| text.to_uppercase()).echoes();
    assert_eq!(catalog([masks(), shouts()]).visible_text("a secret", &cx()).unwrap(), "A ***");
    assert_eq!(catalog([shouts(), masks()]).visible_text("a secret", &cx()).unwrap(), "A SECRET");
}

#[test]
fn the_host_has_the_last_word_on_a_visible_text() {
    let undoes = || reads("undoes").visible_text(|text, _| text.replace("***", "secret")).echoes();
    let options = Options::<App>::new().final_text(|text, cx| format!("{}: {}", cx.tag, text.replace("secret", "***")));
    assert_eq!(catalog_with(options, [undoes()]).visible_text("a ***", &cx()).unwrap(), "test: a ***");
    let lost = catalog_with(Options::<App>::new().final_text(|_, _| panic!("lost")), [undoes()]);
    assert_eq!(said(lost.visible_text("a", &cx())), by("hook_failed", "", "hook_panicked"));
    let refuses = reads("b").visible_text(|_, _| Err(Refusal::new("x", "no")));
    assert_eq!(said(catalog([undoes(), refuses.echoes()]).visible_text("a", &cx())), by("hook_failed", "b", "x"));
}

fn sets(id: &str, key: &'static str, to: i32) -> ToolBuilder<App> {
    let with = move |draft: &Value| {
        let kept = draft.as_object().unwrap().iter().filter(|(known, _)| known.as_str() != key);
        Value::object(kept.map(|(key, value)| (key.clone(), value.clone())).chain([(key.into(), to.into())]))
    };
    reads(id).review_draft(move |draft, _| with(&draft))
}

#[test]
fn t6_20_1_reviewers_add_to_a_draft_and_the_later_may_overwrite() {
    let reviewers = [sets("a", "x", 1), sets("b", "y", 2), sets("c", "x", 3)].map(Close::echoes);
    assert_eq!(catalog(reviewers).review_draft(json!({}), &cx()).unwrap(), json!({ "x": 3, "y": 2 }));
}

#[test]
fn t6_20_2_a_reviewer_that_refuses_leaves_no_draft() {
    let off = reads("b").available(|_| false).review_draft(|_, _| Err(Refusal::new("x", "no")));
    let catalog = catalog([sets("a", "x", 1).echoes(), off.echoes()]);
    assert_eq!(said(catalog.review_draft(json!({}), &cx())), by("hook_failed", "b", "x"));
}

fn owns(id: &str, what: &'static str) -> ToolBuilder<App> {
    reads(id).composition(move |_| Some(what.to_owned()))
}

#[test]
fn t6_22_1_the_one_tool_with_a_template_owns_the_delivery() {
    assert_eq!(catalog([echo("a")]).composition(&cx()).unwrap(), None);
    let none = reads("a").composition(|_| None);
    assert_eq!(catalog([none.echoes(), owns("b", "letter").echoes()]).composition(&cx()).unwrap().as_deref(), Some("letter"));
}

#[test]
fn t6_22_2_two_templates_are_a_conflict_that_names_both_unless_one_is_off() {
    let asked = Notes::default();
    let log = asked.clone();
    let last = reads("d").composition(move |_| {
        log.note("d");
        None
    });
    let first = owns("a", "letter").available(|cx| cx.can_send);
    let catalog = catalog([first.echoes(), echo("b"), owns("c", "card").echoes(), last.echoes()]);
    let conflict = error(catalog.composition(&cx()));
    assert!(matches!(conflict.fault(), Fault::CompositionConflict { tools } if tools == &["a", "c"]));
    assert_eq!((conflict.code(), asked.all()), ("composition_conflict", vec!["d".to_owned()]));
    assert_eq!(catalog.composition(&nobody()).unwrap().as_deref(), Some("card"));
}

fn finalizing(id: &'static str, refuses: bool) -> ToolBuilder<App> {
    reads(id).finalize(move |_, cx, phase| {
        cx.log.note(format!("{id} {phase:?}"));
        if refuses { Err(Refusal::new("x", "no")) } else { Ok(()) }
    })
}

#[test]
fn t6_23_1_a_refusal_keeps_no_other_tool_from_finalizing() {
    let (cx, c) = (cx(), finalizing("c", false).available(|_| false));
    let catalog = catalog([finalizing("a", false).echoes(), finalizing("b", true).echoes(), c.echoes()]);
    let failed = error(catalog.finalize(&d("a"), &cx, &Phase::After));
    assert_eq!(cx.log.all(), ["a After", "b After", "c After"]);
    assert!(
        matches!(failed.fault(), Fault::Finalize { failures, .. } if failures.len() == 1 && failures[0].0 == "b" && failures[0].1.code == "x")
    );
    assert_eq!(failed.code(), "finalize_failed");
}

#[test]
fn t6_23_2_each_phase_reaches_each_hook_once() {
    let (cx, catalog) = (cx(), catalog([finalizing("a", false).echoes(), finalizing("b", false).echoes()]));
    catalog.finalize(&d("a"), &cx, &Phase::Before).unwrap();
    catalog.finalize(&d("a"), &cx, &Phase::After).unwrap();
    assert_eq!(cx.log.all(), ["a Before", "b Before", "a After", "b After"]);
}

#[test]
fn a_hook_that_panics_in_the_end_is_a_failure_of_its_tool() {
    let lost = reads("lost").finalize(|_, _, _| panic!("lost")).composition(|_| panic!("lost"));
    let catalog = catalog([lost.echoes()]);
    let failed = error(catalog.finalize(&d("a"), &cx(), &Phase::After));
    assert!(matches!(failed.fault(), Fault::Finalize { failures, .. } if failures[0].1.code == "hook_panicked"));
    assert_eq!(said(catalog.composition(&cx())), by("hook_failed", "lost", "hook_panicked"));
}

//! What a copy takes along, and that the target judges it anew.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use toolwright::{Decision, Effect, Impact, Lifecycle, Policy, Refusal, RegisterFault, Registry, Runtime, json};

use super::fixture::{App, Caller, Ran, base, call, chain, code, ids, options, registry, x};

#[test]
fn t6_30_1_a_copy_is_all_or_nothing_and_says_where_it_stopped() {
    let mut source = registry(Policy::new());
    let act = App::tool("act", "Acts").kind("act").reads().run_json(|v, _| std::future::ready(Ok(v)));
    let read = App::tool("read", "Reads").kind("read").reads().run_json(|v, _| std::future::ready(Ok(v)));
    source.register_all([read, act]).unwrap();
    source.register_normalizer(|value, ()| value).unwrap();
    let mut target = registry(Policy::new().kinds(["read"]));
    let error = source.seal().copy_to(&mut target).unwrap_err();
    assert_eq!((error.index(), error.tool()), (Some(1), "act"));
    assert!(matches!(error.fault(), RegisterFault::Kind { kind } if kind == "act"), "{error:?}");
    assert!(target.is_empty());
    // Nothing of the handlers came either.
    target.register_normalizer(|value, ()| value).unwrap();
}

#[test]
fn t6_30_2_a_copy_judges_the_steps_of_a_composite_anew() {
    let ran = Ran::default();
    let source = registry(Policy::new()).with(ran.echo("fetch")).unwrap().with(chain("digest", &["fetch"])).unwrap().seal();
    let mut target = registry(Policy::new().raise_effect("fetch", Effect::write()));
    let error = source.copy_to(&mut target).unwrap_err();
    assert_eq!((error.index(), error.tool(), error.code()), (Some(1), "digest", "step_not_chainable"));
    assert!(matches!(error.fault(), RegisterFault::Step { index: 0, .. }), "{error:?}");
    assert!(target.is_empty());
}

#[test]
fn ts_13_the_effect_of_a_copied_composite_is_that_of_the_targets_tools() {
    let ran = Ran::default();
    let source = registry(Policy::new()).with(ran.echo("fetch")).unwrap().with(chain("digest", &["fetch"])).unwrap().seal();
    let refused = source.copy_to(&mut registry(Policy::new().raise_effect("fetch", Effect::write()))).unwrap_err();
    assert_eq!(refused.code(), "step_not_chainable");
    let mut listing = registry(Policy::new().raise_effect("fetch", Effect::write()).may_chain(["fetch"]));
    source.copy_to(&mut listing).unwrap();
    assert_eq!(listing.get("digest").unwrap().effect().unwrap().impact, Impact::Once);
    assert_eq!(source.get("digest").unwrap().effect().unwrap().impact, Impact::None);
    call(&listing.seal(), "digest", x(1)).unwrap();
    assert_eq!(ran.take(), ["fetch"]);
}

struct Counts(AtomicUsize);

impl Lifecycle<App> for Counts {
    fn inspect(&self, _decision: &Decision, _context: &Caller) -> Result<(), Refusal> {
        self.0.fetch_add(1, Ordering::SeqCst);
        Ok(())
    }
}

fn counting() -> (Arc<Counts>, toolwright::ToolDef<App>) {
    let counts = Arc::new(Counts(AtomicUsize::new(0)));
    let tool = App::tool("a", "A tool").reads().lifecycle(counts.clone()).run_json(|v, _| std::future::ready(Ok(v)));
    (counts, tool)
}

#[test]
fn t4_16_1_hooks_stay_bound_to_the_hosts_own_object_in_every_registry() {
    let (counts, tool) = counting();
    let source = registry(Policy::new()).with(tool).unwrap().seal();
    let (mut one, mut two) = (registry(Policy::new()), registry(Policy::new()));
    source.copy_to(&mut one).unwrap();
    source.copy_to(&mut two).unwrap();
    for copy in [one, two] {
        copy.seal().assert_decision(&Decision::new("a", json!({})), &Caller::default()).unwrap();
    }
    assert_eq!(counts.0.load(Ordering::SeqCst), 2);
}

#[test]
fn t6_30_3_copies_share_the_object_of_the_hooks_and_are_sealed_apart() {
    let (counts, tool) = counting();
    let source = registry(Policy::new()).with(tool).unwrap();
    let mut target = registry(Policy::new());
    source.copy_to(&mut target).unwrap();
    let target = target.seal();
    let caller = Caller::default();
    target.assert_decision(&Decision::new("a", json!({})), &caller).unwrap();
    // The source is still open, and its hooks count in the same place.
    let source = source.with(Ran::default().echo("b")).unwrap().seal();
    source.assert_decision(&Decision::new("a", json!({})), &caller).unwrap();
    assert_eq!(counts.0.load(Ordering::SeqCst), 2);
    assert_eq!((source.len(), target.len()), (2, 1));
}

#[test]
fn t6_30_4_an_equal_id_in_the_target_stops_the_copy() {
    let ran = Ran::default();
    let source = base(&ran);
    let mut target = registry(Policy::new()).with(ran.echo("look")).unwrap();
    let error = source.copy_to(&mut target).unwrap_err();
    assert!(matches!(error.fault(), RegisterFault::Duplicate { .. }), "{error:?}");
    assert_eq!(error.index(), Some(1));
    assert_eq!(target.ids().collect::<Vec<_>>(), ["look"]);
}

#[test]
fn two_handlers_of_one_kind_stop_a_copy_before_it_begins() {
    let mut source = registry(Policy::new()).with(Ran::default().echo("a")).unwrap();
    source.register_normalizer(|value, ()| value).unwrap();
    source.register_finalizer(|(), _, _| Ok(json!(1))).unwrap();
    let mut normalizes = registry(Policy::new());
    normalizes.register_normalizer(|value, ()| value).unwrap();
    let mut finalizes = registry(Policy::new());
    finalizes.register_finalizer(|(), _, _| Ok(json!(2))).unwrap();
    assert_eq!(source.copy_to(&mut normalizes).unwrap_err().fault(), &RegisterFault::NormalizerInstalled);
    assert_eq!(source.copy_to(&mut finalizes).unwrap_err().fault(), &RegisterFault::FinalizerInstalled);
    assert!(normalizes.is_empty() && finalizes.is_empty());
    // A source without handlers does not touch those of the target.
    base(&Ran::default()).copy_to(&mut finalizes).unwrap();
    let reply = finalizes.finish(&(), Decision::new("a", json!({})), &Caller::default()).unwrap();
    assert_eq!(reply, json!(2));
}

#[test]
fn a_copy_takes_the_handlers_and_declares_the_original_again() {
    let mut source = registry(Policy::new().raise_effect("a", Effect::write())).with(Ran::default().echo("a")).unwrap();
    source.register_normalizer(|_, ()| json!("normal")).unwrap();
    assert_eq!(source.get("a").unwrap().effect(), Some(&Effect::write()));
    let mut target: Registry<App> = registry(Policy::new());
    source.copy_to(&mut target).unwrap();
    // What the source's policy made of it stays there.
    assert_eq!(target.get("a").unwrap().effect(), Some(&Effect::read()));
    assert_eq!(target.normalize(json!(1), ()).unwrap(), json!("normal"));
}

#[test]
fn an_overlay_is_open_and_its_base_stays() {
    let ran = Ran::default();
    let base = base(&ran);
    let before = base.fingerprint();
    let over = base.overlay(options(Policy::new().may_chain(["mail"]))).unwrap().with(chain("both", &["read", "mail"])).unwrap().seal();
    assert_eq!(ids(&over), ["read", "look", "mail", "both"]);
    assert_eq!((base.len(), base.fingerprint()), (3, before));
    assert_eq!(code(base.overlay(options(Policy::new().effects(["read"])))), "effect_unknown");
}

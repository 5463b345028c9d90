//! The seal at run time.

use std::collections::BTreeSet;
use std::sync::Barrier;

use toolwright::{Diagnostics, RegisterFault, SharedRegistry, json};

use super::fixture::{App, Ran, call, x};
use super::fixture::{options, registry};
use crate::world::Events;
use toolwright::Policy;

fn shared() -> SharedRegistry<App> {
    SharedRegistry::with_options(options(Policy::new())).unwrap()
}

#[test]
fn t6_31_2_after_the_seal_everything_is_refused_and_reads_stay() {
    let ran = Ran::default();
    let registry = shared();
    registry.register(ran.echo("a")).unwrap().register_all([ran.echo("b"), ran.echo("c")]).unwrap();
    assert!(!registry.is_sealed() && registry.catalog().is_none());
    assert_eq!(registry.with(|view| view.len()), 3);
    let catalog = registry.seal();
    let sealed = |error: toolwright::RegisterError| assert_eq!(error.fault(), &RegisterFault::Sealed, "{error}");
    sealed(registry.register(ran.echo("d")).unwrap_err());
    sealed(registry.register_all([ran.echo("d")]).unwrap_err());
    sealed(registry.register_all(Vec::<toolwright::ToolDef<App>>::new()).unwrap_err());
    sealed(registry.register_normalizer(|value, ()| value).unwrap_err());
    sealed(registry.register_finalizer(|(), _, _| Ok(json!(1))).unwrap_err());
    assert_eq!(registry.register(ran.echo("d")).unwrap_err().tool(), "d");
    // The same catalogue again, and the same reads.
    assert!(std::ptr::eq(&*registry.seal(), &*catalog));
    assert!(std::ptr::eq(&*registry.catalog().unwrap(), &*catalog));
    assert!(registry.is_sealed() && registry.with(|view| std::ptr::eq(view, &*catalog)));
    assert_eq!(catalog.ids().collect::<Vec<_>>(), ["a", "b", "c"]);
}

#[test]
fn t6_31_2_eight_threads_register_while_one_seals() {
    for _ in 0..20 {
        let registry = shared();
        let start = Barrier::new(9);
        let taken: Vec<(String, bool)> = std::thread::scope(|scope| {
            let threads: Vec<_> = (0..8)
                .map(|thread| {
                    let (registry, start) = (registry.clone(), &start);
                    scope.spawn(move || {
                        start.wait();
                        let mut outcomes = Vec::new();
                        for at in 0..20 {
                            let id = format!("t{thread}-{at}");
                            let tool = toolwright::Runtime::tool(id.clone(), "x").reads().run_json(|v, _| std::future::ready(Ok(v)));
                            let outcome = registry.register(tool).map(drop);
                            if let Err(error) = &outcome {
                                assert_eq!(error.fault(), &RegisterFault::Sealed);
                            }
                            outcomes.push((id, outcome.is_ok()));
                        }
                        outcomes
                    })
                })
                .collect();
            start.wait();
            std::thread::yield_now();
            let sealed = registry.seal();
            let taken = threads.into_iter().flat_map(|thread| thread.join().unwrap()).collect();
            assert!(std::ptr::eq(&*registry.seal(), &*sealed));
            taken
        });
        let catalog = registry.catalog().unwrap();
        let there: BTreeSet<&str> = catalog.ids().collect();
        for (id, ok) in &taken {
            assert_eq!(there.contains(id.as_str()), *ok, "{id}");
        }
        assert_eq!(there.len(), taken.iter().filter(|(_, ok)| *ok).count());
    }
}

#[test]
fn t6_31_3_diagnostics_may_change_after_the_seal() {
    let registry = SharedRegistry::from(registry(Policy::new()));
    registry.register(Ran::default().echo("a")).unwrap();
    let catalog = registry.seal();
    let events = Events::default();
    catalog.set_diagnostics(Some(events.scope()));
    call(&catalog, "a", x(1)).unwrap();
    let told = events.all().len();
    assert!(told > 0);
    catalog.set_diagnostics(Some(Diagnostics::disabled()));
    call(&catalog, "a", x(1)).unwrap();
    catalog.set_diagnostics(None);
    call(&catalog, "a", x(1)).unwrap();
    assert_eq!(events.all().len(), told);
}

#[test]
fn an_empty_registry_can_be_sealed() {
    assert!(shared().seal().is_empty());
    assert!(SharedRegistry::default().seal().is_empty());
}

#[test]
fn several_at_once_are_all_taken_or_none() {
    let ran = Ran::default();
    let registry = shared();
    let error = registry.register_all([ran.echo("a"), ran.echo("b"), ran.echo("a")]).unwrap_err();
    assert_eq!(error.index(), Some(2));
    assert_eq!(registry.with(|view| view.len()), 0);
    registry.register(ran.echo("a")).unwrap();
}

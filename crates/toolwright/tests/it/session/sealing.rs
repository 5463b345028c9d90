//! The seal at run time.

use std::collections::BTreeSet;
use std::sync::{Arc, Barrier, OnceLock};

use toolwright::{Diagnostics, RegisterFault, Runtime, SharedRegistry, ToolBuilder, ToolDef, json};

use super::fixture::{App, Ran, call, chain, session, x};
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
fn a_forged_tool_that_is_shared_elsewhere_is_suspended_by_itself_only() {
    let ran = Ran::default();
    let session = session(&ran);
    let forged = session.forge(chain("digest", &["read"])).unwrap().get("digest").unwrap().tool().clone();
    let shared = shared();
    shared.register(ran.echo("read")).unwrap().register(forged).unwrap();
    session.suspend("digest", "its source moved").unwrap();
    call(&shared.seal(), "digest", x(1)).unwrap();
    assert_eq!(call(&session.catalog(), "digest", x(1)).unwrap_err().code(), "suspended");
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

fn reads(id: &str) -> ToolBuilder<App> {
    App::tool(id.to_owned(), "Reads").reads()
}

/// Whether it ends at all: what waits for itself does not.
fn ends<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> T {
    let (done, is_done) = std::sync::mpsc::channel();
    std::thread::spawn(move || done.send(work()));
    is_done.recv_timeout(std::time::Duration::from_secs(20)).expect("it waits for itself")
}

#[test]
fn code_of_the_host_may_use_the_registry_that_runs_it() {
    let own: Arc<OnceLock<SharedRegistry<App>>> = Arc::default();
    let of_rule = own.clone();
    let rule = move |tool: &ToolDef<App>| {
        let registry = of_rule.get().unwrap();
        // Reads it, and registers another one: the one that is being judged is judged once more.
        if registry.with(|view| !view.has("b")) && tool.name() == "a" {
            registry.register(reads("b").run_json(|input, _| async move { Ok(input) })).unwrap();
        }
        Ok(())
    };
    let registry = SharedRegistry::with_options(options(Policy::new().valid_id(rule))).unwrap();
    assert!(own.set(registry.clone()).is_ok());
    ends(move || {
        registry.register(reads("a").run_json(|input, _| async move { Ok(input) })).unwrap();
        assert_eq!(registry.with(|view| view.ids().map(str::to_owned).collect::<Vec<_>>()), ["b", "a"]);
        // One that reads it may register in it, and sees what was there.
        let inner = registry.clone();
        registry.with(|view| {
            inner.register(reads("c").run_json(|input, _| async move { Ok(input) })).unwrap();
            assert!(!inner.is_sealed() && !view.has("c"));
        });
        assert!(registry.with(|view| view.has("c")));

        struct Looks(SharedRegistry<App>);
        impl Drop for Looks {
            fn drop(&mut self) {
                assert!(self.0.with(|view| view.has("a")));
            }
        }
        let looks = Looks(registry.clone());
        let twice = reads("a").run_json(move |input, _| {
            let _ = &looks;
            async move { Ok(input) }
        });
        assert!(registry.register(twice).is_err());
        let looks = Looks(registry.clone());
        let twice = reads("a").run_json(move |input, _| {
            let _ = &looks;
            async move { Ok(input) }
        });
        assert!(registry.register_all([twice]).is_err());
        let catalog = registry.seal();
        assert_eq!(catalog.ids().collect::<Vec<_>>(), ["b", "a", "c"]);
    });
}

#[test]
fn a_registry_that_is_sealed_while_it_is_read_links_its_composites() {
    let registry = shared();
    registry.register(Ran::default().echo("a")).unwrap();
    let inner = registry.clone();
    let catalog = registry.with(|_| {
        inner.register(toolwright::Composite::of(ToolBuilder::new("c", "Calls a")).step("s", "a", json!({}))).unwrap();
        inner.with(|_| inner.seal())
    });
    call(&catalog, "c", x(1)).unwrap();
}

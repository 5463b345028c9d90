//! Generations: forging, retiring, promoting, and that nothing which was handed out changes.

use std::sync::Arc;

use toolwright::{Impact, Invocation, Options, Policy, RegisterFault, Runtime, Session, SessionError, json};

use super::fixture::{App, Caller, Ran, base, block_on, call, call_as, chain, code, ids, options, session, x};
use crate::world::Events;

#[test]
fn ts_11_a_tool_is_there_from_the_next_generation_on_and_the_base_never_changes() {
    let ran = Ran::default();
    let base = base(&ran);
    let before = (base.fingerprint(), serde_json::to_string(&base.describe(None, None)).unwrap());
    let session = Session::new(base.clone(), options(Policy::new().may_chain(["mail"]))).unwrap();
    let first = session.catalog();
    assert_eq!((first.generation(), session.generation(), base.generation()), (1, 1, 0));
    let second = session.forge(chain("digest", &["read", "mail"])).unwrap();
    assert_eq!((second.generation(), session.generation()), (2, 2));
    assert_eq!(ids(&second), ["read", "look", "mail", "digest"]);
    assert_eq!(ids(&first), ids(&base));
    assert_eq!(before, (base.fingerprint(), serde_json::to_string(&base.describe(None, None)).unwrap()));
    assert_eq!(call(&first, "digest", x(1)).unwrap_err().code(), "unavailable");
    assert_eq!(second.get("digest").unwrap().effect().unwrap().impact, Impact::Once);
    call(&session.catalog(), "digest", x(1)).unwrap();
    assert_eq!(ran.take(), ["read", "mail"]);
}

#[test]
fn ts_11_a_run_does_not_see_what_is_forged_while_it_runs() {
    let ran = Ran::default();
    let forges = App::tool("forges", "Forges and calls").writes().run_json(|_, call| async move {
        let session = call.context().session.get().unwrap();
        session.forge(chain("digest", &["read"])).unwrap();
        let inside = call.invoke("digest", x(1)).await.unwrap_err();
        // Whoever asks for the newest generation in words has it.
        let asked = session.catalog().invoke(Invocation::new("digest", x(1)), call.context_arc().clone()).await;
        Ok(json!({ "inside": inside.code(), "asked": asked.is_ok() }))
    });
    let base = base(&ran).overlay(options(Policy::new().may_chain(["mail"]))).unwrap().with(forges).unwrap().seal();
    let session = Session::new(base, options(Policy::new())).unwrap();
    let caller = Arc::new(Caller::default());
    caller.session.set(session.clone()).unwrap();
    let result = call_as(&session.catalog(), "forges", json!({}), &caller).unwrap();
    assert_eq!(result.value(), &json!({ "inside": "unavailable", "asked": true }));
    call_as(&session.catalog(), "digest", x(1), &caller).unwrap();
}

#[test]
fn ts_12_nothing_is_shadowed() {
    let session = session(&Ran::default());
    let duplicate = |error: toolwright::RegisterError| assert!(matches!(error.fault(), RegisterFault::Duplicate { .. }), "{error:?}");
    duplicate(session.forge(chain("look", &["read"])).unwrap_err());
    session.forge(chain("digest", &["read"])).unwrap();
    duplicate(session.forge(chain("digest", &["look"])).unwrap_err());
    assert_eq!(session.generation(), 2);
}

#[test]
fn a_forged_tool_that_is_refused_changes_nothing() {
    let session = session(&Ran::default());
    assert_eq!(code(session.forge(chain("a", &["nowhere"]))), "step_missing");
    assert_eq!(code(session.forge(chain("a", &[]))), "invalid_spec");
    let wiring = toolwright::Composite::of(App::tool("a", "x")).step("s", "read", json!({ "x": "$prev" }));
    assert_eq!(code(session.forge(wiring)), "forward_reference");
    assert_eq!((session.generation(), session.forged().len()), (1, 0));
}

#[test]
fn the_policy_of_a_session_may_be_narrower_and_says_so() {
    let base = base(&Ran::default());
    let error = Session::new(base.clone(), options(Policy::new().effects(["read"]))).unwrap_err();
    assert_eq!((error.index(), error.tool(), error.code()), (Some(2), "mail", "effect_unknown"));
    let (session, dropped) = Session::subset(base, options(Policy::new().effects(["read"])), |tool| tool.id() != "mail").unwrap();
    assert_eq!(ids(&session.catalog()), ["read", "look"]);
    assert!(dropped.is_empty());
}

#[test]
fn a_subset_drops_the_composites_over_what_it_drops_and_names_them() {
    let ran = Ran::default();
    let over = base(&ran).overlay(options(Policy::new().may_chain(["mail", "send"]))).unwrap();
    let over = over.with(chain("send", &["mail"])).unwrap().with(chain("both", &["read", "send"])).unwrap();
    let base = over.with(chain("reads", &["read"])).unwrap().seal();
    let (session, dropped) = Session::subset(base.clone(), Options::new(), |tool| tool.id() != "mail").unwrap();
    assert_eq!(dropped, ["send", "both"]);
    assert_eq!(ids(&session.catalog()), ["read", "look", "reads"]);
    // What the rule itself leaves out is no surprise and is not listed.
    let (session, dropped) = Session::subset(base, Options::new(), |tool| tool.effect().unwrap().impact == Impact::None).unwrap();
    assert!(dropped.is_empty());
    assert_eq!(session.catalog().len(), 3);
}

#[test]
fn only_what_was_forged_can_be_retired_and_only_when_nobody_uses_it() {
    let ran = Ran::default();
    let session = session(&ran);
    session.forge(chain("a", &["read"])).unwrap();
    session.forge(chain("b", &["a", "look"])).unwrap();
    let third = session.forge(chain("c", &["look"])).unwrap();
    assert_eq!(session.retire("a").unwrap_err(), SessionError::StillUsed { tool: "a".into(), by: vec!["b".into()] });
    let inherited = session.retire("read").unwrap_err();
    assert!(matches!(inherited, SessionError::NotForged { inherited: true, .. }), "{inherited}");
    let unknown = session.retire("bb").unwrap_err();
    assert_eq!(unknown, SessionError::NotForged { tool: "bb".into(), inherited: false, nearest: Some("b".into()) });
    assert_eq!(session.generation(), 4);
    session.retire("b").unwrap();
    let left = session.retire("a").unwrap();
    assert_eq!((left.generation(), ids(&left)), (6, vec!["read", "look", "mail", "c"]));
    // What moved up still finds its steps, and a generation that is held has everything.
    call(&left, "c", x(1)).unwrap();
    assert_eq!(ran.take(), ["look"]);
    call(&third, "b", x(1)).unwrap();
    assert_eq!(ran.take(), ["read", "look"]);
    // The name is free again.
    session.forge(chain("a", &["look"])).unwrap();
    call(&session.catalog(), "a", x(1)).unwrap();
    assert_eq!(ran.take(), ["look"]);
}

#[test]
fn a_generation_lives_without_those_before_it() {
    let ran = Ran::default();
    let session = session(&ran);
    // Each of these drops the one before: nothing may depend on it.
    for at in 0..5 {
        let below = if at == 0 { "read".to_owned() } else { format!("c{}", at - 1) };
        session.forge(chain(&format!("c{at}"), &[&below, "look"])).unwrap();
    }
    session.forge(chain("gone", &["read"])).unwrap();
    session.retire("gone").unwrap();
    call(&session.catalog(), "c4", x(1)).unwrap();
    assert_eq!(ran.take().len(), 6);
    let off = Arc::new(Caller::default());
    drop(session.base().clone());
    call_as(&session.catalog(), "c4", x(1), &off).unwrap();
}

#[test]
fn what_a_step_needs_of_the_caller_a_forged_tool_needs_too() {
    let ran = Ran::default();
    let guarded = App::tool("guarded", "Sometimes")
        .reads()
        .available(|caller: &Caller| !caller.off.lock().unwrap().contains("guarded"))
        .run_json(|v, _| std::future::ready(Ok(v)));
    let base = base(&ran).overlay(Options::new()).unwrap().with(guarded).unwrap().seal();
    let session = Session::new(base, Options::new()).unwrap();
    session.forge(chain("a", &["guarded"])).unwrap();
    session.forge(chain("z", &["read"])).unwrap();
    let caller = Arc::new(Caller::default());
    call_as(&session.catalog(), "a", x(1), &caller).unwrap();
    caller.off.lock().unwrap().insert("guarded".into());
    assert_eq!(call_as(&session.catalog(), "a", x(1), &caller).unwrap_err().code(), "forbidden");
    assert!(!session.catalog().get("a").unwrap().is_available(&caller));
}

#[test]
fn promotion_makes_a_new_base_and_changes_no_other() {
    let ran = Ran::default();
    let session = session(&ran);
    session.forge(chain("a", &["read"])).unwrap();
    session.forge(chain("b", &["a"])).unwrap();
    session.forge(chain("c", &["mail"])).unwrap();
    session.suspend("a", "looks odd").unwrap();
    let open = || options(Policy::new().may_chain(["mail"]));
    let next = session.promote(open(), ["b", "a"]).unwrap();
    assert_eq!((ids(&next), next.generation()), (vec!["read", "look", "mail", "a", "b"], 0));
    // It is a tool of the host's now, and nothing suspends it.
    call(&next, "b", x(1)).unwrap();
    assert_eq!(call(&session.catalog(), "b", x(1)).unwrap_err().code(), "suspended");
    assert_eq!((session.base().len(), session.catalog().len()), (3, 6));
    // A step that does not come along, a rule of the new base, a name that was never forged.
    assert_eq!(code(session.promote(open(), ["b"])), "step_missing");
    assert_eq!(code(session.promote(options(Policy::new()), ["c"])), "step_not_chainable");
    assert_eq!(code(session.promote(open(), ["nothing"])), "not_forged");
    assert_eq!(code(session.promote(open(), ["read"])), "not_forged");
    let later = Session::new(next, open()).unwrap();
    assert!(matches!(later.retire("a").unwrap_err(), SessionError::NotForged { inherited: true, .. }));
}

#[test]
fn threads_forge_at_the_same_time_and_every_generation_is_one_more() {
    let ran = Ran::default();
    let session = session(&ran);
    let seen: Vec<Vec<(u64, usize)>> = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..4)
            .map(|thread| {
                let session = session.clone();
                scope.spawn(move || {
                    (0..20)
                        .map(|at| {
                            let catalog = session.forge(chain(&format!("t{thread}-{at}"), &["read"])).unwrap();
                            let held = (catalog.generation(), catalog.len());
                            assert!(session.generation() >= held.0);
                            assert_eq!((catalog.generation(), catalog.len()), held);
                            held
                        })
                        .collect()
                })
            })
            .collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    let mut all: Vec<(u64, usize)> = seen.iter().flatten().copied().collect();
    for own in &seen {
        assert!(own.is_sorted_by(|a, b| a.0 < b.0), "{own:?}");
    }
    all.sort_unstable();
    assert_eq!(all, (0..80).map(|at| (at + 2, usize::try_from(at).unwrap() + 4)).collect::<Vec<_>>());
    assert_eq!((session.generation(), session.forged().len()), (81, 80));
}

#[test]
fn the_generations_of_a_session_tell_their_events_in_one_place() {
    let ran = Ran::default();
    let session = session(&ran);
    let events = Events::default();
    let first = session.catalog();
    first.set_diagnostics(Some(events.scope()));
    session.forge(chain("a", &["read"])).unwrap();
    call(&session.catalog(), "a", x(1)).unwrap();
    assert!(!events.all().is_empty());
    assert_eq!(first.events(), session.catalog().events());
    assert!(!first.events().is_empty());
    assert!(session.base().events().is_empty());
}

#[test]
fn a_session_over_a_session_inherits_what_was_forged() {
    let ran = Ran::default();
    let outer = session(&ran);
    outer.forge(chain("a", &["read"])).unwrap();
    let inner = Session::new(outer.catalog(), options(Policy::new())).unwrap();
    assert!(matches!(inner.retire("a").unwrap_err(), SessionError::NotForged { inherited: true, .. }));
    inner.forge(chain("b", &["a"])).unwrap();
    outer.suspend("a", "broken").unwrap();
    // What befalls it in the one session is nothing to the other.
    call(&inner.catalog(), "b", x(1)).unwrap();
    assert_eq!(ran.take(), ["read"]);
    inner.suspend("a", "here too").unwrap();
    assert_eq!(call(&inner.catalog(), "b", x(1)).unwrap_err().code(), "suspended");
    inner.unsuspend("a").unwrap();
    assert_eq!(outer.suspended("a").as_deref(), Some("broken"));
    assert!(ran.take().is_empty());
}

#[test]
fn what_was_forged_can_be_listed_as_data() {
    let session = session(&Ran::default());
    session.forge(chain("a", &["read"])).unwrap();
    session.suspend("a", "why not").unwrap();
    let forged = session.forged();
    assert_eq!((forged[0].id.as_str(), forged[0].suspended.as_deref()), ("a", Some("why not")));
    assert_eq!(forged[0].spec, chain("a", &["read"]).to_value());
    assert_eq!(&forged[0].fingerprint, session.catalog().get("a").unwrap().fingerprint());
    assert_eq!(block_on(async { session.base().len() }), 3);
}

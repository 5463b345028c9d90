//! A decision that is called: whoever made it, however it ends.

use toolwright::{
    CancelSource, Catalog, Decision, Invocation, Options, Protocol, ToolBuilder, ToolDef, ToolError, Value, current_frame, json,
};

use crate::lifecycle_fixture::{App, AppCx, Close, Notes, Own, block_on, by, catalog, catalog_with, cx, cx_with, d, echo, reads, said};

#[test]
fn t6_10_1_nobody_answers_to_an_unknown_id_nor_to_that_of_an_output() {
    let catalog = catalog_with(Options::new().outputs([Protocol::new("reply", "Answers", json!({}))]), [echo("a")]);
    for id in ["ghost", "reply"] {
        assert_eq!(said(block_on(catalog.call(&d(id), cx()))), by("unavailable_invocation", id, ""));
    }
}

#[test]
fn t6_10_2_a_decision_is_carried_out_alike_whoever_made_it() {
    let catalog = catalog([reads("a").delegate("short").echoes()]);
    let by_program = Decision::new("a", json!({ "x": 1 }));
    let by_model: Decision = serde_json::from_str(r#"{"type":"a","arguments":{"x":1}}"#).unwrap();
    let outcome = |decision: &Decision| {
        let result = block_on(catalog.call(decision, cx())).unwrap();
        let record = result.record();
        (result.value().clone(), record.tool, record.effect, record.replayed, record.effects)
    };
    assert_eq!(outcome(&by_program), outcome(&by_model));
    let events = catalog.events();
    let told: Vec<_> = events.iter().map(|event| (&event.tool, &event.kind, event.what, &event.code, event.dry)).collect();
    assert_eq!((told.len(), &told[..2]), (4, &told[2..]));
}

/// Facts of the catalogue's own scope, and of the scope of a decision.
struct Scopes {
    own: Notes,
    port: Notes,
}

/// A catalogue of this tool and a probe, with a scope of its own for decisions.
fn scoped(tool: ToolDef<App>, signal: Option<&CancelSource>) -> (Catalog<App>, Scopes) {
    let scopes = Scopes { own: Notes::default(), port: Notes::default() };
    let port = scopes.port.clone();
    let token = signal.map(CancelSource::token);
    let options = Options::new().diagnostics(move |_| Some(port.scope())).signal(move |cx: &AppCx| token.clone().filter(|_| cx.can_send));
    let catalog = catalog_with(options, [tool, echo("probe")]);
    catalog.set_diagnostics(Some(scopes.own.scope()));
    (catalog, scopes)
}

/// After a decision has ended, however it did, a call is told where it was told before.
fn restored(catalog: &Catalog<App>, scopes: &Scopes, end: &str) {
    assert_eq!(scopes.port.take(), ["tool_started a".to_owned(), format!("{end} a")]);
    assert_eq!(scopes.own.take(), [""; 0]);
    assert!(current_frame().is_none());
    block_on(catalog.invoke(Invocation::new("probe", json!({})), cx_with(|cx| cx.can_send = false))).unwrap();
    assert_eq!(scopes.own.take(), ["tool_started probe", "tool_succeeded probe"]);
    assert_eq!(scopes.port.take(), [""; 0]);
}

fn pending(tool: ToolBuilder<App>) -> ToolDef<App> {
    tool.run_json(|_, _| std::future::pending::<Result<Value, ToolError>>())
}

#[test]
fn t6_10_3_a_the_scope_is_restored_after_success() {
    let (catalog, scopes) = scoped(echo("a"), None);
    block_on(catalog.call(&d("a"), cx())).unwrap();
    restored(&catalog, &scopes, "tool_succeeded");
}

#[test]
fn t6_10_3_b_the_scope_is_restored_after_an_error() {
    let fails = reads("a").run_json(|_, _| async move { Err::<Value, _>(ToolError::new("enough").code("quota")) });
    let (catalog, scopes) = scoped(fails, None);
    assert_eq!(said(block_on(catalog.call(&d("a"), cx()))).0, "quota");
    restored(&catalog, &scopes, "tool_failed");
}

#[test]
fn t6_10_3_c_the_scope_is_restored_after_a_panic() {
    let panics = reads("a").run_json(|_, _| async move { if true { panic!("lost") } else { Ok(json!(0)) } });
    let (catalog, scopes) = scoped(panics, None);
    assert_eq!(said(block_on(catalog.call(&d("a"), cx()))).0, "panicked");
    restored(&catalog, &scopes, "tool_failed");
}

#[test]
fn t6_10_3_d_the_scope_is_restored_after_a_cancellation() {
    let signal = CancelSource::new();
    let (catalog, scopes) = scoped(pending(reads("a")), Some(&signal));
    let decision = d("a");
    let outcome = block_on(async {
        let (outcome, ()) = tokio::join!(catalog.call(&decision, cx()), async { signal.cancel() });
        outcome
    });
    assert_eq!(said(outcome).0, "cancelled");
    restored(&catalog, &scopes, "tool_cancelled");
}

#[test]
fn t6_10_3_e_the_scope_is_restored_when_the_future_is_dropped_half_way() {
    let (catalog, scopes) = scoped(pending(reads("a")), None);
    block_on(async {
        let decision = d("a");
        tokio::select! {
            biased;
            _ = catalog.call(&decision, cx()) => panic!("it never ends"),
            () = std::future::ready(()) => {}
        }
    });
    assert_eq!(scopes.port.take(), ["tool_started a"]);
    assert!(current_frame().is_none());
    block_on(catalog.invoke(Invocation::new("probe", json!({})), cx())).unwrap();
    assert_eq!((scopes.own.take().len(), scopes.port.take().len()), (2, 0));
}

#[test]
fn t6_10_4_facts_go_to_the_innermost_scope_and_then_to_the_outer_one_again() {
    let (outer, inner, own) = (Notes::default(), Notes::default(), Own::default());
    let (to_outer, to_inner, of_itself) = (outer.clone(), inner.clone(), own.clone());
    let options = Options::new().diagnostics(move |cx: &AppCx| Some(if cx.tag == "inner" { to_inner.scope() } else { to_outer.scope() }));
    let calls = reads("outer").run_json(move |input, call| {
        let catalog = of_itself.get().clone();
        async move {
            call.progress("before", None, None);
            catalog.call(&d("inner"), cx_with(|cx| cx.tag = "inner".into())).await.map_err(ToolError::from_error)?;
            call.progress("after", None, None);
            Ok(input)
        }
    });
    let says = reads("inner").run_json(|input, call| {
        call.progress("inside", None, None);
        async move { Ok(input) }
    });
    let catalog = catalog_with(options, [calls, says]);
    own.set(&catalog);
    block_on(catalog.call(&d("outer"), cx())).unwrap();
    assert_eq!(outer.all(), ["tool_started outer", "progress before", "progress after", "tool_succeeded outer"]);
    assert_eq!(inner.all(), ["tool_started inner", "progress inside", "tool_succeeded inner"]);
}

//! What is judged of a step: at registration, and again when its turn comes.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use toolwright::{Effect, Fault, Impact, Policy, Refusal, RegisterFault, Runtime, Value, json};

use super::fixture::{Tools, run, shows, steps, stopped, writes};
use crate::lifecycle_fixture::{App, Close, Notes, Own, cx, error, reads};

#[test]
fn ts_3_a_tool_that_declares_nothing_runs_and_is_no_step() {
    let log = Notes::default();
    let silent = || shows(App::tool("silent", "Says nothing of itself"), &log);
    let tools = Tools::new(Policy::new().may_chain(["silent"])).add(silent());
    let refused = tools.refuses(steps("main", &[("a", "silent", json!({}))]));
    let RegisterFault::Step { index: 0, issue, .. } = refused.fault() else { panic!("{refused}") };
    assert_eq!(issue.code, "side_effects_undeclared");
    let catalog = Tools::new(Policy::new()).add(silent()).seal();
    run(&catalog, "silent", json!({}), &cx()).unwrap();
    assert_eq!((log.all().len(), catalog.get("silent").unwrap().effect()), (1, None));
}

#[test]
fn ts_4_the_effect_of_a_composite_follows_from_its_steps() {
    let note = || App::tool("note", "Notes").effect(Effect::new("note", Impact::Idempotent)).echoes();
    let deploy = || App::tool("deploy", "Deploys").effect(Effect::new("deploy", Impact::Once)).echoes();
    let look = || App::tool("look", "Looks").effect(Effect::new("look", Impact::None)).echoes();
    for (names, effect) in [
        (vec!["read", "read"], Effect::read()),
        (vec!["look", "read"], Effect::new("look", Impact::None)),
        // Two halves that may be repeated make a whole that may not.
        (vec!["read", "note"], Effect::new("note", Impact::Once)),
        (vec!["note", "deploy", "mail"], Effect::new("deploy", Impact::Once)),
        (vec!["mail", "deploy"], Effect::write()),
    ] {
        let policy = Policy::new().may_chain(["note", "deploy", "mail"]);
        let tools = Tools::new(policy).add(reads("read").echoes()).add(note()).add(deploy()).add(look()).add(writes("mail").echoes());
        let named: Vec<_> = names.iter().map(|tool| (*tool, *tool, json!({}))).collect();
        let unique: Vec<_> = named.iter().enumerate().map(|(at, (_, tool, to))| (["a", "b", "c"][at], *tool, to.clone())).collect();
        let catalog = tools.add(steps("main", &unique)).seal();
        assert_eq!(catalog.get("main").unwrap().effect(), Some(&effect), "{names:?}");
    }
}

/// A veto against mails to strangers, by a tool that is no step.
fn guard() -> toolwright::ToolDef<App> {
    let refuses = |to: &Value| to.as_str().is_some_and(|to| !to.ends_with("@here"));
    reads("guard")
        .inspect(move |decision, cx| {
            cx.log.note(format!("inspect {}", decision.invocation));
            match decision.arguments.get("to") {
                Some(to) if decision.invocation == "mail" && refuses(to) => Err(Refusal::new("foreign", "nobody there is known")),
                _ => Ok(()),
            }
        })
        .echoes()
}

#[test]
fn ts_5_a_veto_over_decisions_reaches_the_steps() {
    let log = Notes::default();
    let catalog = Tools::new(Policy::new().may_chain(["mail"]))
        .add(guard())
        .add(shows(reads("read"), &log))
        .add(shows(writes("mail"), &log))
        .add(steps("digest", &[("look", "read", json!({ "q": "$input.q" })), ("send", "mail", json!({ "to": "$input.to" }))]))
        .seal();
    let cx = cx();
    let refused = error(run(&catalog, "digest", json!({ "q": 1, "to": "ann@there" }), &cx));
    let step = stopped(&refused);
    assert_eq!((step.index, &step.completed[..], refused.code()), (1, &["look".into()][..], "inspected"));
    assert!(matches!(step.source.fault(), Fault::Inspected { tool, refusal } if tool == "guard" && refusal.code == "foreign"));
    assert_eq!((log.take(), refused.effects().len()), (vec![r#"read {"q":1}"#.to_owned()], 0));
    assert_eq!(cx.log.take(), ["inspect read", "inspect mail"]);
    run(&catalog, "digest", json!({ "q": 1, "to": "ann@here" }), &cx).unwrap();
    assert_eq!(log.all().len(), 2);
}

type Blind = toolwright::Rt<crate::lifecycle_fixture::AppCx, Fixed>;

/// A decision that cannot be made from outside.
struct Fixed(String);

impl toolwright::AsDecision for Fixed {
    fn invocation_id(&self) -> &str {
        &self.0
    }
}

#[test]
fn ts_5_a_step_that_nobody_can_inspect_runs_only_when_the_host_says_so() {
    let catalog = |policy: Policy<Blind>| {
        let mut registry = toolwright::Registry::with_policy(policy);
        registry
            .register(Blind::tool("read", "Reads").reads().inspect(|decision, _| Err(Refusal::new("no", &*decision.0))).echoes())
            .unwrap();
        let main = toolwright::Composite::of(Blind::tool("main", "Reads")).step("a", "read", json!({}));
        registry.register(main).unwrap();
        registry.seal()
    };
    let call = |policy| crate::world::block_on(catalog(policy).invoke(toolwright::Invocation::new("main", json!({})), cx()));
    assert_eq!(error(call(Policy::new())).code(), "no_step_decision");
    call(Policy::new().steps_uninspected()).unwrap();
}

#[test]
fn ts_6_a_tool_sees_of_which_composite_it_is_a_step_and_with_which_arguments() {
    let careful = writes("mail").authorize(|access| {
        let lineage: Vec<_> = access.lineage.iter().map(ToString::to_string).collect();
        let decided = access.decision.map(|decision| decision.invocation.clone());
        access.context.log.note(format!("{lineage:?} {} {decided:?}", access.input.unwrap()));
        if lineage.iter().any(|caller| caller == "loud") { Err("not inside that one".into()) } else { Ok(()) }
    });
    let main = |id: &str| steps(id, &[("send", "mail", json!({ "to": "$input.who", "n": 1 }))]);
    let catalog = Tools::new(Policy::new().may_chain(["mail", "digest"]))
        .add(careful.echoes())
        .add(main("digest"))
        .add(main("loud"))
        .add(steps("outer", &[("inner", "digest", json!({ "who": "$input.who" }))]))
        .seal();
    let cx = cx();
    run(&catalog, "digest", json!({ "who": "ann" }), &cx).unwrap();
    run(&catalog, "outer", json!({ "who": "bob" }), &cx).unwrap();
    run(&catalog, "mail", json!({ "to": "eve" }), &cx).unwrap();
    let seen = [
        r#"["digest"] {"n":1,"to":"ann"} Some("mail")"#,
        r#"["outer", "digest"] {"n":1,"to":"bob"} Some("mail")"#,
        r#"[] {"to":"eve"} None"#,
    ];
    let noted: Vec<String> = cx.log.take().iter().map(|line| line.replace(r#"{"to":"ann","n":1}"#, r#"{"n":1,"to":"ann"}"#)).collect();
    let noted: Vec<String> = noted.iter().map(|line| line.replace(r#"{"to":"bob","n":1}"#, r#"{"n":1,"to":"bob"}"#)).collect();
    assert_eq!(noted, seen);
    let denied = error(run(&catalog, "loud", json!({ "who": "ann" }), &cx));
    assert!(matches!(stopped(&denied).source.fault(), Fault::Denied { tool, .. } if tool == "mail"), "{denied:?}");
}

#[test]
fn ts_7_a_step_whose_tool_is_switched_off_on_the_way_stops_there() {
    let log = Notes::default();
    let on = Arc::new(AtomicBool::new(true));
    let (read_switch, turned) = (on.clone(), on.clone());
    let turns_off = reads("read").run_json(move |input: Value, _| {
        turned.store(false, Ordering::SeqCst);
        std::future::ready(Ok(input))
    });
    let mail = writes("mail").available(move |_| read_switch.load(Ordering::SeqCst));
    let catalog = Tools::new(Policy::new().may_chain(["mail"]))
        .add(turns_off)
        .add(shows(mail, &log))
        .add(steps("main", &[("a", "read", json!({})), ("b", "mail", json!({}))]))
        .seal();
    assert!(catalog.model_protocols(&cx()).unwrap().get("main").is_some());
    let off = error(run(&catalog, "main", json!({}), &cx()));
    assert_eq!((stopped(&off).index, off.code()), (1, "forbidden"));
    // From now on the composite is not offered, and does not begin.
    assert!(catalog.model_protocols(&cx()).unwrap().get("main").is_none());
    let off = error(run(&catalog, "main", json!({}), &cx()));
    assert!(matches!(off.fault(), Fault::Forbidden { tool, .. } if tool == "main"), "{off:?}");
    assert!(log.all().is_empty());
}

#[test]
fn ts_9_what_the_next_tool_needs_is_checked_before_it_is_asked_anything() {
    let log = Notes::default();
    let asked = log.clone();
    let strict = writes("mail")
        .input_schema(json!({ "type": "object", "properties": { "to": { "type": "string" } }, "required": ["to"] }))
        .authorize(move |_| {
            asked.note("authorize");
            Ok(())
        });
    let catalog = Tools::new(Policy::new().may_chain(["mail"]))
        .add(shows(reads("read"), &log))
        .add(shows(strict, &log))
        .add(steps("main", &[("a", "read", json!({ "x": 1 })), ("b", "mail", json!({ "to": "$prev.x" }))]))
        .add(steps("lax", &[("a", "read", json!({ "x": 1 })), ("b", "mail", json!({ "to": "$prev.to?" }))]))
        .seal();
    for composite in ["main", "lax"] {
        let wrong = error(run(&catalog, composite, json!({}), &cx()));
        assert_eq!((stopped(&wrong).index, wrong.code()), (1, "invalid_input"), "{wrong}");
        let Fault::InvalidInput { tool, issues, .. } = wrong.root_cause() else { panic!("{wrong:?}") };
        assert_eq!((tool.as_str(), issues[0].pointer.as_str()), ("mail", "/to"));
        assert_eq!(log.take(), [r#"read {"x":1}"#]);
    }
}

#[test]
fn ts_15_a_way_back_through_code_is_found() {
    let own = Own::default();
    for by_handle in [false, true] {
        let handle = own.clone();
        let k = reads("k").run_json(move |_, call| {
            let handle = handle.clone();
            async move {
                let again = match by_handle {
                    true => handle.get().invoke(toolwright::Invocation::new("c", json!({})), cx()).await,
                    false => call.invoke("c", json!({})).await,
                };
                let error = again.unwrap_err();
                call.context().log.note(format!("{} {}", error.code(), error));
                Err::<Value, _>(error.into())
            }
        });
        let catalog = Tools::new(Policy::new()).add(k).add(steps("c", &[("a", "k", json!({}))])).seal();
        if by_handle {
            own.set(&catalog);
        }
        let cx = cx();
        let cycle = error(run(&catalog, "c", json!({}), &cx));
        assert_eq!(cycle.code(), "cycle");
        let noted = cx.log.take();
        assert!(noted.len() == 1 && noted[0].contains("c > k > c"), "{noted:?}");
        // Nothing is the worse for it.
        assert_eq!(error(run(&catalog, "c", json!({}), &cx)).code(), "cycle");
        // From the tool it is one round further: the composite is entered once, and not again.
        assert_eq!(error(run(&catalog, "k", json!({}), &cx)).code(), "cycle");
    }
}

#[test]
fn ts_15_plain_recursion_ends_at_the_limit_of_calls() {
    let k = reads("k").run_json(|input: Value, call| async move {
        call.context().log.note("k");
        call.invoke("k", input).await?;
        Ok(json!(null))
    });
    let catalog = Tools::new(Policy::new().limit_calls(5)).add(k).seal();
    let cx = cx();
    assert_eq!(error(run(&catalog, "k", json!({}), &cx)).code(), "calls_too_deep");
    assert_eq!(cx.log.all().len(), 5);
}

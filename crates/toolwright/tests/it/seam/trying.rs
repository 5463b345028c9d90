//! Dry runs: what would be done, and nothing done.

use std::sync::Arc;

use toolwright::diagnostics::EventKind;
use toolwright::{EffectRecord, Invocation, Policy, StepOutputs, json};

use super::fixture::{Tools, shows, steps, stopped, writes};
use crate::calling::fixture::Watched;
use crate::lifecycle_fixture::{Notes, block_on, cx, error, reads};

fn catalog(log: &Notes) -> toolwright::Catalog<crate::lifecycle_fixture::App> {
    let mail = writes("mail").output_schema(json!({ "type": "object", "required": ["id"] })).authorize(|access| {
        access.context.log.note(format!("authorize {}", access.input.unwrap()));
        if access.context.can_send { Ok(()) } else { Err("not you".into()) }
    });
    Tools::new(Policy::new().may_chain(["mail", "inner"]))
        .add(shows(reads("read"), log))
        .add(shows(mail, log))
        .add(steps("inner", &[("again", "mail", json!({ "to": "$input.to" })), ("seen", "read", json!({ "id": "$prev.id" }))]))
        .add(steps(
            "main",
            &[
                ("look", "read", json!({ "q": "$input.q" })),
                ("send", "mail", json!({ "to": "$prev.q" })),
                ("rest", "inner", json!({ "to": "$prev.id" })),
            ],
        ))
        .seal()
}

#[test]
fn ts_21_a_dry_run_has_no_effect_and_says_what_it_would_have_done() {
    let (log, journal, cx) = (Notes::default(), Watched::default(), cx());
    let catalog = catalog(&log);
    let outputs = StepOutputs::new().with("send", json!({ "id": 1 })).with("rest", json!("whole"));
    let request = Invocation::new("main", json!({ "q": "x" })).dry(outputs).journal(Arc::new(journal.clone()));
    let result = block_on(catalog.invoke(request, cx.clone())).unwrap();
    assert_eq!((log.take(), result.value()), (vec![r#"read {"q":"x"}"#.to_owned()], &json!("whole")));
    let would: Vec<_> = result
        .would_run()
        .map(|effect| match effect {
            EffectRecord::WouldRun { step, arguments, nested } => {
                (step.step.to_string(), step.tool.to_string(), arguments.clone(), *nested)
            }
            other => panic!("{other:?}"),
        })
        .collect();
    let wanted = [
        ("send".to_owned(), "mail".to_owned(), json!({ "to": "x" }), false),
        ("rest".to_owned(), "inner".to_owned(), json!({ "to": 1 }), true),
    ];
    assert_eq!(would, wanted);
    // It was judged as in a real run, and nothing is written down.
    assert_eq!(cx.log.take(), [r#"authorize {"to":"x"}"#]);
    assert!(journal.log.all().is_empty());
    assert!(catalog.events().iter().all(|event| event.dry) && catalog.events().iter().any(|event| event.what == EventKind::Succeeded));
}

#[test]
fn ts_21_a_rehearsal_enters_the_inner_composites() {
    let (log, cx) = (Notes::default(), cx());
    let outputs = StepOutputs::new().with("send", json!({ "id": 1 })).with("rest/again", json!({ "id": 2 }));
    let request = Invocation::new("main", json!({ "q": "x" })).rehearse(outputs);
    let result = block_on(catalog(&log).invoke(request, cx.clone())).unwrap();
    assert_eq!((log.take(), result.value()), (vec![r#"read {"q":"x"}"#.to_owned(), r#"read {"id":2}"#.into()], &json!({ "id": 2 })));
    assert_eq!(cx.log.take(), [r#"authorize {"to":"x"}"#, r#"authorize {"to":1}"#]);
    assert_eq!(result.would_run().count(), 2);
}

#[test]
fn ts_21_an_output_that_is_missing_wrong_or_not_used_is_named() {
    let log = Notes::default();
    let dry = |outputs: StepOutputs| block_on(catalog(&log).invoke(Invocation::new("main", json!({ "q": "x" })).dry(outputs), cx()));
    let missing = error(dry(StepOutputs::new().with("sent", json!(1))));
    assert_eq!((missing.code(), stopped(&missing).step.as_str()), ("dry_run_needs_output", "send"));
    assert!(missing.message().contains("send") && missing.help().unwrap().contains("sent"), "{missing}");
    let wrong = error(dry(StepOutputs::new().with("send", json!({ "no": "id" }))));
    assert_eq!(wrong.code(), "invalid_output");
    let enough = || StepOutputs::new().with("send", json!({ "id": 1 })).with("rest", json!(0));
    let unused = dry(enough().with("typo", json!(1))).unwrap();
    assert!(unused.notes.iter().any(|note| note.contains("typo")), "{:?}", unused.notes);
    assert!(log.all().iter().all(|line| line.starts_with("read")));
}

#[test]
fn ts_21_a_dry_run_is_turned_down_where_the_real_one_would_be() {
    let log = Notes::default();
    let outputs = StepOutputs::new().with("send", json!({ "id": 1 })).with("rest", json!(0));
    let nobody = crate::lifecycle_fixture::nobody();
    let denied = error(block_on(catalog(&log).invoke(Invocation::new("main", json!({ "q": "x" })).dry(outputs), nobody)));
    assert_eq!((denied.code(), stopped(&denied).step.as_str()), ("denied", "send"));
}

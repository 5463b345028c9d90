//! What an error tells, and to whom.

use toolwright::{Composite, Invocation, MemoryJournal, Policy, Refusal, Registry, Retry, json, tool};

use crate::lifecycle_fixture::{block_on, catalog, cx, d, echo, error};

#[test]
fn t11_2_a_model_that_asks_for_nothing_learns_of_no_other_tool() {
    let ids: Vec<String> = (0..500).map(|n| format!("tool_{n:03}")).collect();
    let catalog = catalog(ids.iter().map(|id| echo(id)));
    for near in ["tool_0000", "tool_04", "tool", "ghost"] {
        let by_invocation = error(block_on(catalog.invoke(Invocation::new(near, json!({})), cx())));
        let by_decision = error(block_on(catalog.call(&d(near), cx())));
        for error in [by_invocation, by_decision] {
            let shown = error.for_model().to_json_text();
            let named: Vec<_> = ids.iter().filter(|id| shown.contains(id.as_str()) && !near.contains(id.as_str())).collect();
            assert!(named.is_empty(), "{shown}");
            assert!(shown.contains(error.code()) && shown.contains(near), "{shown}");
            assert_eq!(error.retry(), Retry::Never);
        }
    }
}

/// What a composite is made of is nobody's business but the host's.
#[test]
fn a_model_that_calls_a_composite_learns_of_no_tool_in_it() {
    let journal = std::sync::Arc::new(MemoryJournal::new());
    let hidden = |id: &'static str| tool(id, "Works behind the scenes").writes();
    let mut registry = Registry::with_policy(Policy::new().may_chain(["secret_mail", "secret_check", "secret_off"]));
    registry
        .register_all([
            hidden("secret_mail").run_json(|_, _| async move { Ok(json!({})) }),
            hidden("secret_check").authorize(|_| Err(Refusal::new("not_now", "not now"))).run_json(|_, _| async move { Ok(json!({})) }),
            hidden("secret_off").available(|_| false).run_json(|_, _| async move { Ok(json!({})) }),
        ])
        .unwrap();
    for (composite, used) in [("mails", "secret_mail"), ("checks", "secret_check"), ("is_off", "secret_off")] {
        registry.register(Composite::new(composite, "Does it").step("do", used, json!({}))).unwrap();
    }
    let catalog = registry.seal();
    let call =
        |id: &str| block_on(catalog.invoke(Invocation::new(id, json!({})).run_id(format!("run of {id}")).journal(journal.clone()), ()));
    call("mails").unwrap();
    journal.forget_finish("mails/0:do");
    journal.forget_finish("mails");
    for (id, code) in [("mails", "in_doubt"), ("checks", "denied"), ("is_off", "forbidden"), ("maisl", "unavailable")] {
        let error = error(call(id));
        assert_eq!(error.code(), code);
        let shown = error.for_model().to_json_text();
        assert!(!shown.contains("secret") && !shown.contains("run of"), "{shown}");
    }
}

trait Shown {
    fn to_json_text(&self) -> String;
}

impl Shown for toolwright::Value {
    fn to_json_text(&self) -> String {
        serde_json::to_string(self).unwrap()
    }
}

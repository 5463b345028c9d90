//! What an error tells, and to whom.

use std::sync::Arc;

use toolwright::approval::{Answer, Request};
use toolwright::{
    Approver, BoxFuture, Catalog, Composite, HostChecks, Invocation, MemoryJournal, Policy, Refusal, Registry, Retry, ToolError, Value,
    json, tool,
};

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

fn secret_mail(checks: HostChecks) -> Catalog {
    let policy = Policy::new().may_chain(["secret_mail"]).may_chain_hidden(["secret_mail"]).checks(checks);
    let mail = tool("secret_mail", "Mails").audience("operator").writes();
    let mail = mail.run_json(|_, _| async move { Err::<Value, _>(ToolError::new("no luck").nothing_happened()) });
    let calls = |id: &'static str, inner: &'static str| {
        tool(id, "Calls").writes().run_json(move |_, call| async move { Ok(call.invoke(inner, json!({})).await?.value().clone()) })
    };
    let composite = Composite::new("mails", "Mails").step("do", "secret_mail", json!({}));
    let registry = Registry::with_policy(policy).with(mail).unwrap().with(composite).unwrap();
    let registry = registry.with(calls("outer", "mails")).unwrap().with(calls("outermost", "outer")).unwrap();
    registry.with(calls("lost", "secret_mial")).unwrap().seal()
}

#[test]
fn a_tool_that_passes_the_error_of_another_on_tells_a_model_no_more_than_that_one() {
    let catalog = secret_mail(HostChecks::new());
    for (id, code, words) in
        [("outer", "tool_failed", "no luck"), ("outermost", "tool_failed", "no luck"), ("lost", "unavailable", "not there")]
    {
        let error = error(block_on(catalog.invoke(Invocation::new(id, json!({})), ())));
        assert!(error.message().contains("secret_mi") || error.message().contains("secret_mail"), "the host sees it: {error}");
        let shown = error.for_model();
        assert_eq!(shown.get("code").and_then(Value::as_str), Some(code));
        let shown = shown.to_json_text();
        assert!(shown.contains(words) && !shown.contains("secret"), "{shown}");
    }
}

/// Says no, in one way or another.
struct No(bool);

impl Approver for No {
    fn ask<'a>(&'a self, _: &'a Request) -> BoxFuture<'a, Answer> {
        let no = || Answer::No { who: "secret.sock".into(), reason: "no socket at secret.sock".into() };
        Box::pin(async move { if self.0 { panic!("no socket at secret.sock") } else { no() } })
    }
}

#[test]
fn a_model_does_not_learn_from_the_gate_what_a_step_is_made_of() {
    let asks = |approver: Option<Arc<dyn Approver>>| HostChecks::new().approval(approver);
    let checks = [asks(Some(Arc::new(No(false)))), asks(Some(Arc::new(No(true)))), asks(None), HostChecks::new().disabled(["secret_mail"])];
    for checks in checks {
        let catalog = secret_mail(checks);
        for id in ["mails", "outer"] {
            let error = error(block_on(catalog.invoke(Invocation::new(id, json!({})), ())));
            let shown = error.for_model().to_json_text();
            assert!(shown.contains(error.code()) && !shown.contains("secret"), "{shown}");
        }
    }
    let own = HostChecks::new().permission(|_| Err(Refusal::from("not on a Friday")));
    let error = error(block_on(secret_mail(own).invoke(Invocation::new("mails", json!({})), ())));
    assert!(error.for_model().to_json_text().contains("not on a Friday"), "what the host says is for everybody");
}

trait Shown {
    fn to_json_text(&self) -> String;
}

impl Shown for toolwright::Value {
    fn to_json_text(&self) -> String {
        serde_json::to_string(self).unwrap()
    }
}

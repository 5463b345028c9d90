//! Where composites and the registry meet: what was judged is what runs, and a composite opens no way around a rule.

use std::sync::{Arc, Mutex};

use toolwright::{
    Binding, Catalog, Composer, Eventually, PipelineOptions, Policy, Refusal, RegisterFault, Runtime, SharedRegistry, StepGate,
    StepRequest, ToolDef, json,
};

use super::fixture::{App, Caller, Ran, block_on, call, chain, code, registry, x};

/// Swaps the tool for the next generation's when it is asked whether the step may run.
struct Swapping {
    now: Arc<Mutex<Catalog<App>>>,
    next: Catalog<App>,
}

impl StepGate<App> for Swapping {
    fn resolve(&self, tool: &str) -> Option<ToolDef<App>> {
        self.now.lock().unwrap().get(tool).map(|entry| entry.tool().clone())
    }

    fn admit<'a>(&'a self, _step: &'a StepRequest<'a, App>) -> Eventually<'a, Result<(), Refusal>> {
        *self.now.lock().unwrap() = self.next.clone();
        Eventually::Now(Ok(()))
    }
}

type Swap = Box<dyn Fn() + Send>;

#[test]
fn ts_1_the_instance_that_was_checked_is_the_one_that_runs() {
    let ran = Ran::default();
    let generation = |name: &'static str| {
        let registry = SharedRegistry::from(registry(Policy::new()));
        let ran = ran.clone();
        let search = App::tool("search", "Searches").reads().run_json(move |v, _| {
            ran.note(name);
            std::future::ready(Ok(v))
        });
        registry.register(search).unwrap();
        registry.seal()
    };
    let (first, next) = (generation("first"), generation("next"));
    let composer = Composer::<App>::new(Swapping { now: Arc::new(Mutex::new(first)), next });
    composer.bind(Binding::new());
    let steps = json!({"steps": [{"name": "a", "tool": "search"}, {"name": "b", "tool": "search"}]});
    block_on(composer.run_pipeline(&steps, json!({}), Caller::default(), PipelineOptions::new())).unwrap();
    assert_eq!(ran.all(), ["first", "next"]);
}

#[test]
fn ts_1_a_run_keeps_the_steps_of_the_generation_that_it_began_with() {
    let ran = Ran::default();
    let swap: Arc<Mutex<Option<Swap>>> = Arc::default();
    let hook = swap.clone();
    let checks = toolwright::HostChecks::new().permission(move |step: &StepRequest<'_, App>| {
        if step.step == "s0"
            && let Some(swap) = hook.lock().unwrap().take()
        {
            swap();
        }
        Ok(())
    });
    let base = super::fixture::base(&ran);
    let session = toolwright::Session::new(base, super::fixture::options(Policy::new().checks(checks))).unwrap();
    session.forge(chain("inner", &["read"])).unwrap();
    let outer = session.forge(chain("outer", &["look", "inner"])).unwrap();
    let other = session.clone();
    *swap.lock().unwrap() = Some(Box::new(move || {
        other.retire("outer").unwrap();
        other.retire("inner").unwrap();
        other.forge(chain("inner", &["look"])).unwrap();
    }));
    call(&outer, "outer", x(1)).unwrap();
    assert_eq!(ran.take(), ["look", "read"]);
    call(&session.catalog(), "inner", x(1)).unwrap();
    assert_eq!(ran.take(), ["look"]);
}

#[test]
fn ts_2_listing_a_wrapper_launders_nothing_and_a_leaf_opens_only_itself() {
    let ran = Ran::default();
    let over = |listed: &[&'static str]| registry(Policy::new().may_chain(listed.iter().copied())).with(ran.writes("mail")).unwrap();
    let open = over(&["mail"]).with(chain("c", &["mail"])).unwrap();
    assert_eq!(code(open.with(chain("d", &["c"]))), "step_not_chainable");
    let open = over(&["mail"]).with(chain("c", &["mail"])).unwrap().seal();
    call(&open, "c", x(1)).unwrap();
    assert_eq!(ran.take(), ["mail"]);
    assert_eq!(code(over(&["c"]).with(chain("c", &["mail"]))), "step_not_chainable");
    over(&["mail", "c"]).with(chain("c", &["mail"])).unwrap().with(chain("d", &["c"])).unwrap();
}

#[test]
fn ts_2_forging_is_judged_by_the_same_rules() {
    let ran = Ran::default();
    let session = super::fixture::session(&ran);
    session.forge(chain("c", &["mail"])).unwrap();
    assert_eq!(code(session.forge(chain("d", &["c"]))), "step_not_chainable");
    let strict = toolwright::Session::new(super::fixture::base(&ran), super::fixture::options(Policy::new())).unwrap();
    assert_eq!(code(strict.forge(chain("c", &["mail"]))), "step_not_chainable");
    let silent = App::tool("old", "Says nothing").run_json(|v, _| std::future::ready(Ok(v)));
    let base = registry(Policy::new()).with(silent).unwrap().seal();
    let session = toolwright::Session::new(base, super::fixture::options(Policy::new().may_chain(["old"]))).unwrap();
    assert_eq!(code(session.forge(chain("c", &["old"]))), "side_effects_undeclared");
}

#[test]
fn ts_8_a_composite_reaches_only_its_own_audience_unless_the_host_lists_the_tool() {
    let operator = || App::tool("wipe", "For operators").audience("operator").reads().run_json(|v, _| std::future::ready(Ok(v)));
    let refused = registry(Policy::new()).with(operator()).unwrap().with(chain("c", &["wipe"])).unwrap_err();
    assert!(matches!(refused.fault(), RegisterFault::Step { index: 0, .. }), "{refused:?}");
    registry(Policy::new().may_chain_hidden(["wipe"])).with(operator()).unwrap().with(chain("c", &["wipe"])).unwrap();
    // The same for what is forged, by the policy of the session.
    let base = registry(Policy::new()).with(operator()).unwrap().seal();
    let session = toolwright::Session::new(base.clone(), super::fixture::options(Policy::new())).unwrap();
    session.forge(chain("c", &["wipe"])).unwrap_err();
    let session = toolwright::Session::new(base, super::fixture::options(Policy::new().may_chain_hidden(["wipe"]))).unwrap();
    session.forge(chain("c", &["wipe"])).unwrap();
}

#[test]
fn ts_14_eight_nested_composites_run_and_a_ninth_is_refused() {
    let nested = |policy: Policy<App>, levels: usize| {
        let mut open = registry(policy).with(Ran::default().echo("read")).unwrap();
        let names: Vec<String> = (1..=levels).map(|level| format!("c{level}")).collect();
        let mut below = "read".to_owned();
        for name in names {
            open.register(chain(&name, &[&below]))?;
            below = name;
        }
        Ok::<_, toolwright::RegisterError>(open)
    };
    let eight = nested(Policy::new(), 8).unwrap().seal();
    call(&eight, "c8", x(1)).unwrap();
    let error = nested(Policy::new(), 9).unwrap_err();
    assert!(matches!(error.fault(), RegisterFault::TooDeep { depth: 9, .. }), "{error:?}");
    assert_eq!(nested(Policy::new().limit_depth(2), 3).unwrap_err().code(), "nesting_too_deep");
    nested(Policy::new().limit_depth(2), 2).unwrap();
}

#[test]
fn ts_14_a_ninth_through_a_code_tool_is_refused_when_it_runs() {
    let ran = Ran::default();
    let mut open = registry(Policy::new()).with(ran.echo("read")).unwrap();
    let bridge = App::tool("bridge", "Calls what it is told").reads().run_json(|input, call| async move {
        let tool = input.get("call").and_then(|tool| tool.as_str()).unwrap_or("read").to_owned();
        match call.invoke(&tool, x(1)).await {
            Ok(result) => Ok(result.value().clone()),
            Err(error) => Ok(json!({ "code": error.code() })),
        }
    });
    open.register(bridge).unwrap();
    let mut below = "read".to_owned();
    for level in 1..=8 {
        let name = format!("c{level}");
        open.register(chain(&name, &[&below])).unwrap();
        below = name;
    }
    let over = toolwright::Composite::<App>::of(App::tool("over", "Calls"));
    open.register(over.step("b", "bridge", json!({ "call": "$input.call" })).output(object(json!({ "said": "$prev" })))).unwrap();
    let catalog = open.seal();
    let result = call(&catalog, "over", json!({ "call": "c8" })).unwrap();
    assert_eq!(result.value(), &json!({ "said": { "code": "nesting_too_deep" } }));
    assert_eq!(ran.take(), [""; 0]);
    call(&catalog, "over", json!({ "call": "c7" })).unwrap();
    assert_eq!(ran.take(), ["read"]);
}

fn object(value: toolwright::Value) -> toolwright::Object {
    value.as_object().unwrap().clone()
}

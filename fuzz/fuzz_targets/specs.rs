//! Any JSON as a composite: checked, linted, built, registered and run without a panic, with a code for every refusal.
#![no_main]

use std::future::Future;
use std::pin::pin;
use std::task::{Context as Waking, Poll, Waker};

use libfuzzer_sys::fuzz_target;
use toolwright::{
    Composer, Composite, CompositeSpec, Context, Dialect, HostGate, Invocation, PipelineOptions, Policy, Registry, SpecIssue, StepOutputs, ToolDef,
    Value, codes, tool,
};

/// Tools of these runs wait for nothing.
fn block_on<T>(future: impl Future<Output = T>) -> T {
    let mut future = pin!(future);
    loop {
        if let Poll::Ready(done) = future.as_mut().poll(&mut Waking::from_waker(Waker::noop())) {
            return done;
        }
    }
}

fn tools() -> Registry {
    let echo = |builder: toolwright::tool::ToolBuilder| builder.run_json(|input, _| std::future::ready(Ok(input)));
    let mut registry = Registry::with_policy(Policy::new().may_chain(["w"]));
    for declared in [echo(tool("r", "reads").reads()), echo(tool("w", "writes").writes()), echo(tool("u", "says nothing"))] {
        registry.register(declared).expect("a plain tool");
    }
    registry
}

fn look_at(issues: &[SpecIssue]) {
    for issue in issues {
        assert!(codes::page(issue.code).is_some() && !issue.message.contains('\n'), "{issue:?}");
    }
}

fuzz_target!(|bytes: &[u8]| {
    let Ok(spec) = Value::parse(bytes) else { return };
    let mut registry = tools();
    match CompositeSpec::from_value(&spec) {
        Ok(read) => {
            if let Err(error) = registry.register(Composite::new("main", "A tool").spec(read)) {
                look_at(&error.issues());
            }
        }
        Err(error) => look_at(&error.issues),
    }
    let catalog = registry.seal();
    look_at(&catalog.lint(&spec));
    if catalog.get("main").is_some() {
        for call in [Invocation::new("main", spec.clone()), Invocation::new("main", spec.clone()).rehearse(StepOutputs::new())] {
            if let Err(error) = block_on(catalog.invoke(call, ())) {
                assert!(codes::page(error.code()).is_some());
            }
        }
    }
    for dialect in [Dialect::Strict, Dialect::Page] {
        let found: Vec<ToolDef> = catalog.tools().cloned().collect();
        let composer = Composer::new(HostGate::new(move |name| found.iter().find(|tool| tool.name() == name).cloned())).dialect(dialect);
        let valid = composer.validate(&spec).is_valid();
        composer.has_side_effecting_step(&spec);
        look_at(&composer.lint(&spec));
        match composer.build("built", "", Value::Bool(true), &spec) {
            Ok(_) => assert!(valid),
            Err(error) => look_at(&error.issues),
        }
        if let Err(error) = block_on(composer.run_pipeline(&spec, spec.clone(), Context::default(), PipelineOptions::new())) {
            assert!(codes::page(error.code()).is_some() && error.to_value().get("details").is_some());
        }
    }
});

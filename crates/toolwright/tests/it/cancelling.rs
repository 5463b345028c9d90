//! Cancelling: before, between and during, for tools with and without side effects; and calls made together.

use std::sync::Arc;
use std::time::Duration;

use toolwright::approval::{Answer, Request};
use toolwright::{
    Approver, Binding, BoxFuture, CallError, CancelSource, Catalog, Composer, Context, EffectState, HostChecks, HostGate, Invocation,
    Limits, MemoryJournal, OnFailure, PipelineOptions, Policy, Registry, ToolDef, ToolError, ToolResult, Value, json, tool,
};

use crate::world::{Events, Log, Moment, TestClock, block_on, catalog, composite, detail, steps};

/// A tool that starts, says so, and then waits for ever. `dropped` comes when its future is dropped.
fn waits(log: &Log, id: &str, writes: bool, started: &Moment, dropped: &Moment) -> ToolDef {
    struct Tells(Moment);
    impl Drop for Tells {
        fn drop(&mut self) {
            self.0.come();
        }
    }
    let (log, started, dropped) = (log.clone(), started.clone(), dropped.clone());
    let builder = tool(id, "waits");
    let builder = if writes { builder.writes() } else { builder.reads() };
    builder.run_json(move |input, call| {
        log.note(&call, &input);
        let (started, guard) = (started.clone(), Tells(dropped.clone()));
        async move {
            let _guard = guard;
            started.come();
            std::future::pending::<()>().await;
            Ok(Value::Null)
        }
    })
}

/// Runs `main`, and cancels it when `when` has come.
fn cancelled_at(catalog: &Catalog, when: &Moment, invocation: Invocation) -> Result<ToolResult, CallError> {
    block_on(cancelled(catalog, when, invocation))
}

async fn cancelled(catalog: &Catalog, when: &Moment, invocation: Invocation) -> Result<ToolResult, CallError> {
    let source = CancelSource::new();
    let cancel = async {
        when.wait().await;
        source.cancel();
    };
    tokio::join!(catalog.invoke(invocation.cancel(source.token()), ()), cancel).0
}

fn main() -> Invocation {
    Invocation::new("main", json!({}))
}

#[test]
fn nothing_starts_in_a_run_that_was_cancelled_before() {
    let log = Log::new();
    let catalog = catalog([log.echo("read"), log.writes("send")], &steps(&[("a", "read", json!({})), ("b", "send", json!({}))]));
    let source = CancelSource::new();
    source.cancel();
    for name in ["main", "read", "send"] {
        let error = block_on(catalog.invoke(Invocation::new(name, json!({})).cancel(source.token()), ())).unwrap_err();
        assert_eq!(error.code(), "cancelled", "{name}");
        assert_eq!(error.effect_state(), EffectState::NotStarted);
        assert_eq!(detail(&error, "unknownEffect"), None);
    }
    assert!(log.is_empty());
}

#[test]
fn no_step_starts_after_a_cancellation() {
    let log = Log::new();
    let source = CancelSource::new();
    let cancels = source.clone();
    let first = log.close(tool("first", "A tool").writes(), move |input| {
        cancels.cancel();
        Ok(input.into())
    });
    let catalog = catalog([first, log.echo("read")], &steps(&[("a", "first", json!({})), ("b", "read", json!({}))]));
    let error = block_on(catalog.invoke(main().cancel(source.token()), ())).unwrap_err();
    assert_eq!(error.code(), "cancelled");
    assert_eq!(log.tools(), ["first"]);
    assert_eq!(detail(&error, "step"), Some(json!("b")));
    assert_eq!(detail(&error, "completed"), Some(json!(["a"])));
    assert_eq!(error.effects().len(), 1);
}

#[test]
fn a_reading_tool_is_dropped_at_once() {
    let (log, started, dropped) = (Log::new(), Moment::default(), Moment::default());
    let catalog = catalog([waits(&log, "slow", false, &started, &dropped)], &steps(&[("a", "slow", json!({}))]));
    let clock = TestClock::default();
    let error = cancelled_at(&catalog, &started, main().clock(Arc::new(clock.clone()))).unwrap_err();
    assert_eq!(error.code(), "cancelled");
    assert_eq!(error.effect_state(), EffectState::NoEffect);
    assert_eq!(detail(&error, "unknownEffect"), None);
    assert!(dropped.has_come());
    assert!(clock.slept.lock().unwrap().is_empty(), "no grace period for a read");
}

#[test]
fn a_writing_tool_is_told_and_may_still_answer() {
    let log = Log::new();
    let started = Moment::default();
    let begun = started.clone();
    let obeys = tool("obeys", "A tool").writes().run_json(move |_, call| {
        let begun = begun.clone();
        async move {
            begun.come();
            call.cancel().cancelled().await;
            assert!(call.cancel().is_cancelled());
            Ok(json!("stopped half-way"))
        }
    });
    let catalog = catalog([obeys, log.echo("read")], &steps(&[("a", "obeys", json!({})), ("b", "read", json!({}))]));
    let error = cancelled_at(&catalog, &started, main()).unwrap_err();
    assert_eq!(error.code(), "cancelled", "the answer counts, the next step does not start");
    assert_eq!(detail(&error, "completed"), Some(json!(["a"])));
    assert_eq!(error.effects().len(), 1);
    assert!(log.is_empty());
}

#[test]
fn a_writing_tool_that_says_nothing_was_done_is_believed() {
    let started = Moment::default();
    let begun = started.clone();
    let obeys = tool("obeys", "A tool").writes().run_json(move |_, call| {
        let begun = begun.clone();
        async move {
            begun.come();
            call.cancel().cancelled().await;
            Err::<Value, _>(ToolError::new("stopped before sending").nothing_happened())
        }
    });
    let catalog = catalog([obeys], &steps(&[("a", "obeys", json!({}))]));
    let error = cancelled_at(&catalog, &started, main()).unwrap_err();
    assert_eq!(error.effect_state(), EffectState::NoEffect);
    assert_eq!(detail(&error, "unknownEffect"), None);
}

#[test]
fn a_writing_tool_that_does_not_answer_in_time_is_in_doubt() {
    let (log, started, dropped) = (Log::new(), Moment::default(), Moment::default());
    let tools = [waits(&log, "stuck", true, &started, &dropped)];
    let mut registry = Registry::with_policy(Policy::new().may_chain(["stuck"]).limits(Limits::default().grace(Duration::from_millis(70))));
    for tool in tools {
        registry.register(tool).unwrap();
    }
    registry.register(composite("main", &steps(&[("a", "stuck", json!({}))]))).unwrap();
    let catalog = registry.seal();
    let clock = TestClock::default();
    let source = CancelSource::new();
    let error = block_on(async {
        let invocation = main().clock(Arc::new(clock.clone())).cancel(source.token());
        let rest = async {
            started.wait().await;
            source.cancel();
            for _ in 0..20 {
                tokio::task::yield_now().await;
            }
            assert!(!dropped.has_come(), "it still has its grace period");
            clock.over.come();
        };
        tokio::join!(catalog.invoke(invocation, ()), rest).0
    })
    .unwrap_err();
    assert_eq!(*clock.slept.lock().unwrap(), [Duration::from_millis(70)]);
    assert!(dropped.has_come());
    assert_eq!(error.code(), "cancelled");
    assert_eq!(error.effect_state(), EffectState::Unknown);
    assert_eq!(detail(&error, "unknownEffect"), Some(json!("a")));
}

#[test]
fn cancelling_reaches_nested_composites() {
    let (log, started, dropped) = (Log::new(), Moment::default(), Moment::default());
    let mut registry = Registry::new();
    registry.register(waits(&log, "slow", false, &started, &dropped)).unwrap().register(log.echo("read")).unwrap();
    registry.register(composite("inner", &steps(&[("i", "slow", json!({})), ("j", "read", json!({}))]))).unwrap();
    registry.register(composite("main", &steps(&[("r", "read", json!({})), ("n", "inner", json!({}))]))).unwrap();
    let error = cancelled_at(&registry.seal(), &started, main()).unwrap_err();
    assert_eq!(error.code(), "cancelled");
    assert_eq!(log.tools(), ["read", "slow"]);
    assert!(dropped.has_come());
    assert_eq!(error.message(), {
        "Step \"n\" (tool: \"inner\") failed: Step \"i\" (tool: \"slow\") failed: cancelled: the run was cancelled while the tool ran"
    });
}

#[test]
fn a_tool_can_look_but_not_cancel() {
    let log = Log::new();
    let looks = tool("looks", "A tool").reads().run_json(|_, call| std::future::ready(Ok(json!(call.cancel().is_cancelled()))));
    let catalog = catalog([looks, log.echo("read")], &steps(&[("a", "looks", json!({}))]));
    assert_eq!(block_on(catalog.invoke(main(), ())).unwrap().output, Some(json!(false)));
}

/// C53: three calls at once, of which the second fails at once.
fn batch(log: &Log, release: &Moment) -> Catalog {
    let slow = |id: &str, writes: bool, v: i64| {
        let (log, release) = (log.clone(), release.clone());
        let builder = tool(id, "takes a while");
        let builder = if writes { builder.writes() } else { builder.reads() };
        builder.run_json(move |input, call| {
            log.note(&call, &input);
            let release = release.clone();
            async move {
                release.wait().await;
                Ok(json!({ "v": v }))
            }
        })
    };
    let mut registry = Registry::new();
    registry.register(slow("ok_effect", true, 1)).unwrap();
    registry.register(log.fails(tool("bad", "A tool").reads(), ToolError::new("no"))).unwrap();
    registry.register(slow("ok_plain", false, 3)).unwrap();
    registry.seal()
}

fn three() -> Vec<Invocation> {
    ["ok_effect", "bad", "ok_plain"].map(|name| Invocation::new(name, json!({}))).into()
}

#[test]
fn field_c53_siblings_of_a_failed_call_go_on_and_are_all_listed() {
    let (log, release) = (Log::new(), Moment::default());
    let catalog = batch(&log, &release);
    let outcomes = block_on(async {
        let calls = catalog.invoke_all(three(), OnFailure::Continue, ());
        tokio::join!(calls, async { release.come() }).0
    });
    let codes: Vec<Result<Option<Value>, &str>> =
        outcomes.iter().map(|outcome| outcome.as_ref().map(|result| result.output.clone()).map_err(CallError::code)).collect();
    assert_eq!(codes, [Ok(Some(json!({"v": 1}))), Err("tool_failed"), Ok(Some(json!({"v": 3})))]);
    assert_eq!(log.tools(), ["ok_effect", "bad", "ok_plain"], "nothing ran twice");
}

#[test]
fn field_c53_stopping_sends_no_more_and_tells_what_is_unknown() {
    let (log, release, clock) = (Log::new(), Moment::default(), TestClock::default());
    let catalog = batch(&log, &release);
    clock.over.come();
    let calls = three().into_iter().map(|call| call.clock(Arc::new(clock.clone()))).collect();
    let outcomes = block_on(catalog.invoke_all(calls, OnFailure::Stop, ()));
    let codes: Vec<(&str, EffectState)> =
        outcomes.iter().map(|outcome| outcome.as_ref().map_err(|error| (error.code(), error.effect_state())).unwrap_err()).collect();
    assert_eq!(
        codes,
        [("cancelled", EffectState::Unknown), ("tool_failed", EffectState::NoEffect), ("cancelled", EffectState::NotStarted)]
    );
    assert_eq!(log.tools(), ["ok_effect", "bad"], "the third was not sent");
}

#[test]
fn stopping_one_batch_leaves_the_caller_and_others_alone() {
    let log = Log::new();
    let mut registry = Registry::new();
    registry.register(log.fails(tool("bad", "A tool").reads(), ToolError::new("no"))).unwrap().register(log.echo("read")).unwrap();
    let catalog = registry.seal();
    let source = CancelSource::new();
    let calls = ["bad", "read"].map(|name| Invocation::new(name, json!({})).cancel(source.token())).into();
    let outcomes = block_on(catalog.invoke_all(calls, OnFailure::Stop, ()));
    assert!(outcomes.iter().all(Result::is_err));
    assert!(!source.token().is_cancelled());
    block_on(catalog.invoke(Invocation::new("read", json!({})).cancel(source.token()), ())).unwrap();
    assert!(block_on(catalog.invoke_all(Vec::new(), OnFailure::Stop, ())).is_empty());
}

#[test]
fn a_tool_that_breaks_down_while_it_is_dropped_ends_no_more_than_its_step() {
    struct Sharp;
    impl Drop for Sharp {
        fn drop(&mut self) {
            panic!("cannot be dropped");
        }
    }
    let (log, started) = (Log::new(), Moment::default());
    let begun = started.clone();
    let sharp = tool("sharp", "A tool").reads().run_json(move |_, _| {
        let (begun, sharp) = (begun.clone(), Sharp);
        async move {
            let _sharp = sharp;
            begun.come();
            std::future::pending::<()>().await;
            Ok(Value::Null)
        }
    });
    let catalog = catalog([sharp, log.writes("send")], &steps(&[("a", "send", json!({})), ("b", "sharp", json!({}))]));
    let error = cancelled_at(&catalog, &started, main()).unwrap_err();
    assert_eq!(detail(&error, "step"), Some(json!("b")));
    assert_eq!(error.effects().len(), 1, "what was sent is not forgotten");
    cancelled_at(&catalog, &started, Invocation::new("sharp", json!({}))).unwrap_err();
}

/// Is asked, and never answers.
struct Away(Moment);

impl Approver for Away {
    fn ask<'a>(&'a self, _: &'a Request) -> BoxFuture<'a, Answer> {
        self.0.come();
        Box::pin(std::future::pending())
    }
}

#[test]
fn a_cancelled_run_does_not_wait_for_the_person_who_is_asked() {
    let (log, asked) = (Log::new(), Moment::default());
    let checks = HostChecks::new().approval(Some(Arc::new(Away(asked.clone()))));
    let mut registry = Registry::with_policy(Policy::new().may_chain(["send"]).checks(checks));
    registry.register(log.writes("send")).unwrap();
    registry.register(composite("main", &steps(&[("a", "send", json!({}))]))).unwrap();
    let catalog = registry.seal();
    let run = async { tokio::time::timeout(Duration::from_secs(20), async { cancelled(&catalog, &asked, main()).await }).await };
    let error = block_on(run).expect("the run ends").unwrap_err();
    assert_eq!(error.code(), "cancelled");
    assert_eq!(detail(&error, "step"), Some(json!("a")));
    assert!(log.is_empty());
}

#[test]
fn a_pipeline_has_a_clock_an_observer_and_a_journal() {
    let (log, started, dropped) = (Log::new(), Moment::default(), Moment::default());
    let stuck = waits(&log, "stuck", true, &started, &dropped);
    let composer = Composer::new(HostGate::new(move |_| Some(stuck.clone())));
    composer.bind(Binding::new().side_effecting_tools(["stuck"]));
    let (source, clock, events, journal) = (CancelSource::new(), TestClock::default(), Events::default(), MemoryJournal::new());
    clock.over.come();
    let options = PipelineOptions::new()
        .cancel(source.token())
        .run_id("p7")
        .clock(Arc::new(clock.clone()))
        .diagnostics(events.scope())
        .journal(Arc::new(journal.clone()));
    let spec = json!({"strictMode": false, "steps": [{"name": "s", "tool": "stuck", "inputMapping": {"v": "$typo"}}]});
    let run = composer.run_pipeline(&spec, json!({}), Context::default(), options);
    let cancel = async {
        started.wait().await;
        source.cancel();
    };
    let both = async { tokio::time::timeout(Duration::from_secs(20), async { tokio::join!(run, cancel).0 }).await };
    let error = block_on(both).expect("the run ends").unwrap_err();
    assert_eq!(detail(&error, "unknownEffect"), Some(json!("s")));
    assert_eq!(clock.slept.lock().unwrap().len(), 1);
    assert_eq!(events.warnings()[0].0, "literal_reference");
    assert_eq!(journal.runs()[0].head().id, "p7");
    assert!(log.all()[0].key.starts_with("p7/"));
}

#[test]
fn a_call_that_is_cancelled_while_it_is_judged_says_so() {
    let (log, source) = (Log::new(), CancelSource::new());
    let cancels = source.clone();
    let judging = tool("t", "Is judged").reads().authorize(move |_| {
        cancels.cancel();
        Ok(())
    });
    let catalog = Registry::new().with(log.close(judging, |input| Ok(input.into()))).unwrap().seal();
    let error = block_on(catalog.invoke(Invocation::new("t", json!({})).cancel(source.token()), ())).unwrap_err();
    assert_eq!((error.code(), error.effect_state()), ("cancelled", EffectState::NotStarted));
    assert!(log.is_empty());
}

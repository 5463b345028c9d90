//! Options of a registry: outputs, defaults of execution, the host's words for errors.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use toolwright::diagnostics::EventKind;
use toolwright::{
    CancelSource, Catalog, Composite, Decision, EffectState, Fault, Invocation, Options, Phase, Protocol, Refusal, RegisterFault, Registry,
    Rt, Runtime, StepOutputs, Value, json, tool,
};

use crate::lifecycle_fixture::{App, AppCx, Close, Notes, block_on, by, catalog_with, cx, d, echo, error, nobody, reads, said};

fn reply() -> Protocol {
    let schema = json!({ "type": "object", "properties": { "text": { "type": "string" } }, "required": ["text"] });
    Protocol::new("reply", "Answers the user", schema)
}

fn empty(id: &str) -> Invocation {
    Invocation::new(id.to_owned(), json!({}))
}

/// A composite with a step for each of these tools.
fn chain(id: &str, tools: &[&str]) -> Composite<App> {
    let chain = Composite::of(App::tool(id.to_owned(), "A chain of the tests"));
    tools.iter().enumerate().fold(chain, |chain, (at, tool)| chain.step(format!("s{at}"), (*tool).to_owned(), json!({})))
}

#[test]
fn t2_1_two_outputs_of_one_id_are_refused() {
    let error =
        Registry::with_options(Options::<App>::new().outputs([reply(), Protocol::new("other", "x", json!({})), reply()])).unwrap_err();
    assert_eq!((error.tool(), error.fault()), ("reply", &RegisterFault::OutputTwice));
}

#[test]
fn t2_2_a_registry_without_options_runs_what_it_is_given() {
    let mut registry = Registry::new();
    registry.register(tool("echo", "x").reads().echoes()).unwrap();
    let result = block_on(registry.seal().invoke(Invocation::new("echo", json!({ "a": [1] })), ())).unwrap();
    assert_eq!(result.value(), &json!({ "a": [1] }));
}

/// Replies with the receiver.
type Counting = Rt<AppCx, Decision, String, Phase, String, (), u32, u32>;

fn finishing(options: Options<Counting>) -> Catalog<Counting> {
    let mut registry = Registry::with_options(options).unwrap();
    registry.register_finalizer(|receiver, _, _| Ok(*receiver)).unwrap();
    registry.seal()
}

/// A port that gives 40 and more, and how often it was asked.
fn counted() -> (Options<Counting>, Arc<AtomicUsize>) {
    let asked = Arc::new(AtomicUsize::new(0));
    let count = asked.clone();
    let options = Options::new().receiver(move || {
        count.fetch_add(1, Ordering::Relaxed);
        40
    });
    (options, asked)
}

#[test]
fn t2_1_1_a_receiver_that_is_given_is_the_one_and_the_port_is_not_asked() {
    let (options, asked) = counted();
    assert_eq!(finishing(options).finish(&7, d("x"), &cx()).unwrap(), 7);
    assert_eq!(asked.load(Ordering::Relaxed), 0);
}

#[test]
fn t2_1_2_without_a_given_receiver_the_port_is_asked_once() {
    let (options, asked) = counted();
    assert_eq!(finishing(options).finish_default(d("x"), &cx()).unwrap(), 40);
    assert_eq!(asked.load(Ordering::Relaxed), 1);
    let refused = error(finishing(Options::new()).finish_default(d("x"), &cx()));
    assert!(matches!(refused.fault(), Fault::NoReceiver) && refused.code() == "no_receiver");
}

#[test]
fn t2_2_1_the_executions_signal_ends_every_call_before_it_starts() {
    let (log, execution) = (Notes::default(), CancelSource::new());
    execution.cancel();
    let mut registry = Registry::with_options(Options::new().execution(execution.token(), None)).unwrap();
    registry.register(reads("look").notes(&log)).unwrap().register(App::tool("send", "Sends").writes().notes(&log)).unwrap();
    registry.register(chain("both", &["look", "look"])).unwrap();
    let catalog = registry.seal();
    for id in ["look", "send", "both"] {
        let own = CancelSource::new();
        for ended in [error(block_on(catalog.invoke(empty(id).cancel(own.token()), cx()))), error(block_on(catalog.call(&d(id), cx())))] {
            assert_eq!((ended.code(), ended.effect_state()), ("cancelled", EffectState::NotStarted), "{id}");
        }
        assert!(!own.token().is_cancelled(), "it ends a call, and nothing of the caller's");
    }
    assert_eq!(log.all(), [""; 0]);
}

#[test]
fn t2_2_2_the_executions_diagnostics_count_until_others_are_set() {
    let facts = Notes::default();
    let catalog = catalog_with(Options::new().execution(CancelSource::new().token(), Some(facts.scope())), [echo("a")]);
    block_on(catalog.invoke(empty("a"), cx())).unwrap();
    assert_eq!(facts.take(), ["tool_started a", "tool_succeeded a"]);
    catalog.set_diagnostics(None);
    block_on(catalog.invoke(empty("a"), cx())).unwrap();
    assert_eq!(facts.all(), [""; 0]);
}

#[test]
fn t2_3_1_the_hosts_words_are_inside_the_error_and_do_not_change_its_kind() {
    let words = |id: &str| Refusal::new("gone", format!("no {id} any more")).details(json!({ "since": 2 }));
    let catalog = catalog_with(Options::new().on_unavailable(words), [echo("a")]);
    let error = error(block_on(catalog.invoke(empty("nope"), cx())));
    let Fault::Unavailable { tool, refusal: Some(refusal), .. } = error.fault() else { panic!("{error:?}") };
    assert_eq!((tool.as_str(), &*refusal.code, error.code(), error.tool()), ("nope", "gone", "unavailable", "nope"));
    assert_eq!((refusal.message.as_str(), refusal.details.as_ref()), ("no nope any more", Some(&json!({ "since": 2 }))));
    assert_eq!(said(catalog.require("nope").map(drop)), by("unavailable", "nope", "gone"));
}

#[test]
fn t2_3_2_the_hosts_code_is_public_and_the_built_in_one_stays() {
    let codes = |error: &toolwright::CallError| matches!(error.fault(), Fault::Denied { .. }).then(|| "E403".to_owned());
    let catalog = catalog_with(
        Options::new().error_code(codes),
        [reads("no").authorize(|_| Err(Refusal::new("quota", "enough"))).echoes(), echo("a")],
    );
    let (cx, facts) = (cx(), Notes::default());
    let denied = error(block_on(catalog.invoke(empty("no").diagnostics(facts.scope()), cx.clone())));
    assert!(matches!(denied.fault(), Fault::Denied { .. }));
    assert_eq!((denied.public_code(), denied.code()), ("E403", "denied"));
    let events = catalog.events();
    assert_eq!((events.len(), events[0].what, events[0].code.as_deref()), (1, EventKind::Refused, Some("E403")));
    // What the host has no code for keeps the built-in one.
    let unknown = error(block_on(catalog.invoke(empty("nope"), cx)));
    assert_eq!((unknown.public_code(), unknown.code()), ("unavailable", "unavailable"));
}

#[test]
fn t2_6_1_what_produces_an_output_is_held_to_its_schema() {
    let tool = |id: &str, output: Value| reads(id).produces("reply").run_json(move |_, _| std::future::ready(Ok(output.clone())));
    let options = || Options::new().outputs([reply()]);
    let catalog = catalog_with(options(), [tool("bad", json!({})), tool("good", json!({ "text": "yes" }))]);
    let bad = error(block_on(catalog.invoke(empty("bad"), cx())));
    let Fault::InvalidOutput { tool, issues, value, .. } = bad.fault() else { panic!("{bad:?}") };
    assert_eq!((bad.code(), tool.as_str(), value.as_ref()), ("invalid_output", "bad", Some(&json!({}))));
    assert_eq!(issues.iter().map(|issue| issue.pointer.as_str()).collect::<Vec<_>>(), ["/text"]);
    assert_eq!(block_on(catalog.invoke(empty("good"), cx())).unwrap().value(), &json!({ "text": "yes" }));
    // So is what stands for it in a dry run.
    let log = Notes::default();
    let catalog = catalog_with(options(), [App::tool("sends", "Sends").writes().produces("reply").notes(&log)]);
    let dry = |output: Value| block_on(catalog.invoke(empty("sends").dry(StepOutputs::new().with("sends", output)), cx()));
    assert_eq!(error(dry(json!({}))).code(), "invalid_output");
    assert_eq!(dry(json!({ "text": "sent" })).unwrap().value(), &json!({ "text": "sent" }));
    assert_eq!(log.all(), [""; 0]);
}

#[test]
fn t2_6_2_an_output_has_its_id_alone_and_only_outputs_can_be_produced() {
    let mut registry = Registry::with_options(Options::new().outputs([reply()])).unwrap();
    let refused = |registry: &mut Registry<App>, tool: toolwright::ToolDef<App>| registry.register(tool).map(drop).unwrap_err();
    assert_eq!(refused(&mut registry, echo("reply")).fault(), &RegisterFault::ProtocolTaken);
    let unknown = refused(&mut registry, reads("a").produces("nope").echoes());
    assert_eq!(unknown.fault(), &RegisterFault::UnknownOutput { output: "nope".into() });
    assert!(registry.is_empty());
}

#[test]
fn a_delegate_is_no_way_to_the_id_of_an_output() {
    let mut registry = Registry::with_options(Options::<App>::new().outputs([reply()])).unwrap();
    let error = registry.register(reads("a").delegate("reply").echoes()).map(drop).unwrap_err();
    assert_eq!(error.code(), "delegate_taken");
    assert!(registry.is_empty() && !registry.has_delegate("reply"));
}

#[test]
fn t2_8_1_the_hosts_words_for_a_decision_that_nobody_answers() {
    let words = |id: &str| Refusal::new("who", format!("nobody is called {id}"));
    let catalog = catalog_with(Options::new().on_unavailable_invocation(words), [echo("a")]);
    let cx = cx();
    let errors = [
        error(block_on(catalog.call(&d("ghost"), cx.clone()))),
        error(catalog.authorize(&d("ghost"), &cx)),
        error(catalog.resume(&d("ghost"), &cx)),
        error(catalog.complete(&d("ghost"), &cx)),
    ];
    for error in errors {
        let Fault::UnavailableInvocation { invocation, refusal: Some(refusal) } = error.fault() else { panic!("{error:?}") };
        assert_eq!((invocation.as_str(), refusal.message.as_str()), ("ghost", "nobody is called ghost"));
        assert!(error.message().contains("nobody is called ghost"), "{error}");
    }
}

#[test]
fn t2_8_2_the_built_in_words_give_no_other_tool_away() {
    let catalog = catalog_with(Options::new(), ["ghosts", "secret", "ghost_2"].map(echo));
    for error in [error(block_on(catalog.call(&d("ghost"), cx()))), error(catalog.authorize(&d("ghost"), &cx()))] {
        assert!(matches!(error.fault(), Fault::UnavailableInvocation { invocation, refusal: None } if invocation == "ghost"));
        for text in [error.message(), error.to_string(), error.help().unwrap_or_default(), error.for_model().to_json_string()] {
            assert!(["ghosts", "secret", "ghost_2"].iter().all(|id| !text.contains(id)), "{text}");
        }
    }
}

fn off() -> Options<App> {
    Options::new().on_forbidden(|tool| Refusal::new("off", format!("{tool} is off")))
}

#[test]
fn t2_9_1_a_tool_that_is_off_says_so_in_the_hosts_words_and_nothing_of_it_runs() {
    let asked = |access: &toolwright::Access<'_, App>| {
        access.context.log.note("authorize");
        Ok(())
    };
    let cx = nobody();
    let catalog = catalog_with(off(), [reads("a").available(|cx| cx.can_read).authorize(asked).notes(&cx.log)]);
    let forbidden = error(block_on(catalog.call(&d("a"), cx.clone())));
    let Fault::Forbidden { tool, refusal: Some(refusal) } = forbidden.fault() else { panic!("{forbidden:?}") };
    assert_eq!((tool.as_str(), refusal.message.as_str()), ("a", "a is off"));
    assert!(forbidden.message().contains("a is off"), "{forbidden}");
    assert_eq!(cx.log.all(), [""; 0]);
}

#[test]
fn t2_9_2_however_a_tool_that_is_off_is_reached_it_is_forbidden() {
    let cx = nobody();
    // It is on until the first step has run.
    let later = reads("later").available(|cx| !cx.log.all().contains(&"ran first".to_owned())).notes(&cx.log);
    let calls = reads("calls").run_json(|_, call| async move {
        let inner = call.invoke("a", json!({})).await.map(|result| result.output).unwrap_err();
        Ok(json!({ "code": inner.code(), "tool": inner.tool(), "said": inner.refusal().map(|refusal| refusal.message.clone()) }))
    });
    let mut registry = Registry::with_options(off()).unwrap();
    registry.register_all([reads("a").available(|cx| cx.can_read).notes(&cx.log), reads("first").notes(&cx.log), later, calls]).unwrap();
    registry.register(chain("over", &["first", "a"])).unwrap().register(chain("turning", &["first", "later"])).unwrap();
    let catalog = registry.seal();

    assert_eq!(said(block_on(catalog.invoke(empty("a"), cx.clone()))), by("forbidden", "a", "off"));
    let nested = block_on(catalog.invoke(empty("calls"), cx.clone())).unwrap();
    assert_eq!(nested.value(), &json!({ "code": "forbidden", "tool": "a", "said": "a is off" }));
    // A composite over it is off as a whole, before its first step.
    assert_eq!(said(block_on(catalog.invoke(empty("over"), cx.clone()))), by("forbidden", "over", "off"));
    assert_eq!(cx.log.all(), [""; 0]);
    let turned = error(block_on(catalog.invoke(empty("turning"), cx.clone())));
    assert_eq!((turned.code(), turned.tool(), turned.refusal().unwrap().message.as_str()), ("forbidden", "later", "later is off"));
    assert_eq!(turned.step().unwrap().index, 1);
    assert_eq!(cx.log.all(), ["ran first"]);
}

#[test]
fn words_of_the_host_that_break_down_change_no_error() {
    let lost = |_: &str| -> Refusal { panic!("no words") };
    let options = Options::new().on_unavailable(lost).on_unavailable_invocation(lost).on_forbidden(lost).error_code(|_| panic!("no code"));
    let catalog = catalog_with(options, [reads("a").available(|_| false).echoes()]);
    assert_eq!(said(block_on(catalog.invoke(empty("nope"), cx()))), by("unavailable", "nope", ""));
    assert_eq!(said(block_on(catalog.call(&d("nope"), cx()))), by("unavailable_invocation", "nope", ""));
    assert_eq!(said(block_on(catalog.call(&d("a"), cx()))), by("forbidden", "a", ""));
    assert_eq!(said(catalog.authorize(&d("a"), &cx())), by("forbidden", "a", ""));
}

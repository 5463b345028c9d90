//! Codes of hooks, decisions, turns, sessions and of runs that are taken up again.

use std::sync::Arc;

use toolwright::session::forge_tool;
use toolwright::{
    AsDecision, Context, Decision, ForgeTest, Invocation, Journal, MemoryJournal, Options, Phase, Policy, Protocol, Registry,
    ResumeOptions, Rt, Runtime, Session, ToolBuilder, ToolDef, json, limits, tool,
};

use super::{Said, of_error};
use crate::world::{Log, block_on, composite, run, steps};

fn reader() -> ToolBuilder {
    tool("t", "A tool of this test").reads()
}

fn closed(builder: ToolBuilder) -> ToolDef {
    builder.run_json(|input, _| async move { Ok(input) })
}

fn catalog(builder: ToolBuilder) -> toolwright::Catalog {
    Registry::new().with(closed(builder)).unwrap().seal()
}

fn called(builder: ToolBuilder) -> toolwright::CallError {
    block_on(run(&catalog(builder), "t", json!({}))).unwrap_err()
}

/// The code of a hook or a check itself, which stands behind that of what was asked.
fn of_refusal(error: &toolwright::CallError) -> Said {
    let refusal = error.refusal().unwrap();
    vec![(refusal.code.to_string(), refusal.message.clone(), refusal.help.clone())]
}

fn decision(invocation: &str) -> Decision {
    Decision::new(invocation, json!({}))
}

pub(super) fn produce(code: &str) -> Option<Said> {
    let cx = &Context::default();
    Some(match code {
        "forbidden" => of_error(&called(reader().available(|_| false))),
        "inspected" => {
            of_error(&catalog(reader().inspect(|_, _| Err("not today".into()))).assert_decision(&decision("nobody"), cx).unwrap_err())
        }
        "denied" => of_error(&called(reader().authorize(|_| Err("ask first".into())))),
        "refused" => of_refusal(&called(reader().authorize(|_| Err("ask first".into())))),
        "hook_panicked" => of_refusal(&called(reader().authorize(|_| panic!("oh")))),
        "hook_failed" => {
            let broken = reader().visible_text(|_: String, _| -> String { panic!("oh") });
            of_error(&catalog(broken).visible_text("hello", cx).unwrap_err())
        }
        "selection_rejected" => {
            let choosy = reader().resolve(|_, _| -> Result<toolwright::Value, toolwright::Refusal> { Err("which one?".into()) });
            of_error(&catalog(choosy).select("t", json!({}), cx).unwrap_err())
        }
        "unavailable_invocation" => of_error(&block_on(catalog(reader()).call(&decision("serach"), ())).unwrap_err()),
        "no_clock" => {
            let call = Invocation::new("t", json!({})).timeout(std::time::Duration::from_secs(1));
            of_error(&block_on(catalog(reader()).invoke(call, ())).unwrap_err())
        }
        "no_step_decision" => no_step_decision(),
        "calls_too_deep" => calls_too_deep(),
        "cycle" => cycle(),
        "caller_reads_only" => caller_reads_only(),
        "finalize_failed" => {
            of_error(&catalog(reader().finalize(|_, _, _| Err("not yet".into()))).finalize(&decision("t"), cx, &Phase::After).unwrap_err())
        }
        "no_finalizer" => of_error(&catalog(reader()).finish_default(decision("t"), cx).unwrap_err()),
        "no_receiver" => {
            let mut registry = Registry::new();
            registry.register_finalizer(|(), _, _| Ok(json!("done"))).unwrap();
            of_error(&registry.seal().finish_default(decision("t"), cx).unwrap_err())
        }
        "rewrite_loop" => rewrite_loop(),
        "composition_conflict" => composition_conflict(),
        "protocol_conflict" => {
            let options = Options::new().model_outputs(|_: &Context| vec![Protocol::new("t", "Answers", json!({}))]);
            let registry = Registry::with_options(options).unwrap().with(closed(reader())).unwrap();
            of_error(&registry.seal().model_protocols(cx).unwrap_err())
        }
        "in_doubt" => in_doubt(),
        "diverged" => diverged(),
        "changed_tool" => changed_tool(),
        "unknown_step" => forked(5, "no such step"),
        "step_without_result" => forked(2, "b"),
        _ => return produce_in_a_session(code),
    })
}

fn produce_in_a_session(code: &str) -> Option<Said> {
    Some(match code {
        "suspended" => {
            let session = session();
            session.forge(composite("c", &steps(&[("a", "t", json!({}))]))).unwrap();
            session.suspend("c", "wrong results").unwrap();
            of_error(&block_on(run(&session.catalog(), "c", json!({}))).unwrap_err())
        }
        "session_full" => session_full(),
        "not_forged" => of_session_error(&session().retire("t").unwrap_err()),
        "still_used" => {
            let session = session();
            session.forge(composite("inner", &steps(&[("a", "t", json!({}))]))).unwrap();
            session.forge(composite("outer", &steps(&[("a", "inner", json!({}))]))).unwrap();
            of_session_error(&session.retire("inner").unwrap_err())
        }
        "forge_test_failed" => {
            let nine = ForgeTest::new("nine", json!({})).expects(json!(9));
            let error = block_on(session().forge_tested(composite("c", &steps(&[("a", "t", json!({}))])), vec![nine], ())).unwrap_err();
            vec![(error.code().to_owned(), error.to_string(), None)]
        }
        "no_session" => {
            let forging: ToolDef = forge_tool(tool("forge", "Makes a tool"), |_| None);
            let input = json!({ "composite": { "id": "c", "description": "Chains", "steps": [] } });
            of_error(&block_on(run(&Registry::new().with(forging).unwrap().seal(), "forge", input)).unwrap_err())
        }
        _ => return None,
    })
}

fn session() -> Session {
    Session::new(catalog(reader()), Options::new()).unwrap()
}

fn of_session_error(error: &toolwright::SessionError) -> Said {
    vec![(error.code().to_owned(), error.to_string(), Some(error.help()))]
}

fn session_full() -> Said {
    let session = session();
    let spec = steps(&[("a", "t", json!({}))]);
    for at in 0..limits::FORGED_TOOLS_MAX {
        session.forge(composite(&format!("c{at}"), &spec)).unwrap();
    }
    super::of_issues(&session.forge(composite("one more", &spec)).unwrap_err().issues())
}

/// A decision that cannot be made for a step.
struct OnlyByModel;

impl AsDecision for OnlyByModel {
    fn invocation_id(&self) -> &'static str {
        "main"
    }
}

fn no_step_decision() -> Said {
    type App = Rt<Context, OnlyByModel>;
    let mut registry = Registry::<App>::with_policy(Policy::new());
    let tool = App::tool("t", "A tool of this test").reads().inspect(|_, _| Ok(()));
    registry.register(tool.run_json(|input, _| async move { Ok(input) })).unwrap();
    registry.register(toolwright::Composite::of(App::tool("main", "Chains")).step("a", "t", json!({}))).unwrap();
    of_error(&block_on(registry.seal().invoke(Invocation::new("main", json!({})), Context::default())).unwrap_err())
}

/// A tool that calls `again`.
fn calls(id: &'static str, again: &'static str) -> ToolDef {
    tool(id, "Calls another").reads().run_json(move |_, call| async move {
        call.invoke(again, json!({})).await.map(|result| result.value().clone()).map_err(Into::into)
    })
}

fn calls_too_deep() -> Said {
    let mut registry = Registry::with_policy(Policy::new().limit_calls(4));
    registry.register(calls("t", "t")).unwrap();
    of_error(&block_on(run(&registry.seal(), "t", json!({}))).unwrap_err())
}

fn caller_reads_only() -> Said {
    let log = Log::new();
    let registry = Registry::new().with(calls("t", "send")).unwrap().with(log.writes("send")).unwrap();
    let error = block_on(run(&registry.seal(), "t", json!({}))).unwrap_err();
    assert!(log.tools().is_empty());
    of_error(&error)
}

fn cycle() -> Said {
    let spec = steps(&[("a", "t", json!({}))]);
    let registry = Registry::new().with(calls("t", "main")).unwrap().with(composite("main", &spec)).unwrap();
    of_error(&block_on(run(&registry.seal(), "main", json!({}))).unwrap_err())
}

fn rewrite_loop() -> Said {
    let hands = |id: &'static str, to: &'static str| {
        let tool = tool(id, "Hands a turn on").reads().complete(move |_, _| Some(decision(to)));
        tool.run_json(|input, _| async move { Ok(input) })
    };
    let registry = Registry::new().with(hands("a", "b")).unwrap().with(hands("b", "a")).unwrap();
    of_error(&block_on(registry.seal().turn(decision("a"), &[], ())).unwrap_err())
}

fn composition_conflict() -> Said {
    let owns = |id: &'static str| {
        let tool = tool(id, "Owns a delivery").reads().composition(|_| Some("card".to_owned()));
        tool.run_json(|input, _| async move { Ok(input) })
    };
    let registry = Registry::new().with(owns("a")).unwrap().with(owns("b")).unwrap();
    of_error(&registry.seal().composition(&Context::default()).unwrap_err())
}

fn journalled(tool: &ToolDef, journal: &MemoryJournal, input: toolwright::Value) -> Result<toolwright::ToolResult, toolwright::CallError> {
    let catalog = Registry::new().with(tool.clone()).unwrap().seal();
    let call = Invocation::new(tool.name().to_owned(), input).run_id("r1").journal(Arc::new(journal.clone()));
    block_on(catalog.invoke(call, ()))
}

fn in_doubt() -> Said {
    let (log, journal) = (Log::new(), MemoryJournal::new());
    journalled(&log.writes("send"), &journal, json!({})).unwrap();
    assert_eq!(journal.forget_finish("send"), 1);
    let error = journalled(&log.writes("send"), &journal, json!({})).unwrap_err();
    assert_eq!(log.tools(), ["send"]);
    of_error(&error)
}

fn diverged() -> Said {
    let (log, journal) = (Log::new(), MemoryJournal::new());
    journalled(&log.writes("send"), &journal, json!({})).unwrap();
    let error = journalled(&other_send(&log), &journal, json!({})).unwrap_err();
    assert_eq!(log.tools(), ["send"]);
    of_error(&error)
}

fn other_send(log: &Log) -> ToolDef {
    log.close(tool("send", "Sends it").writes().version("2"), |input| Ok(input.into()))
}

/// A run of two steps of which so many records are left, forked from this step.
fn forked(records: usize, from: &str) -> Said {
    let (log, journal) = (Log::new(), MemoryJournal::new());
    let main = composite("main", &steps(&[("a", "t", json!({})), ("b", "t", json!({}))]));
    let catalog = Registry::new().with(log.echo("t")).unwrap().with(main).unwrap().seal();
    let kept: Arc<dyn Journal> = Arc::new(journal.clone());
    block_on(catalog.invoke(Invocation::new("main", json!({})).run_id("r1").journal(kept.clone()), ())).unwrap();
    journal.cut_off("r1", records);
    let fork = toolwright::Fork::new("r1", "r2", from.to_owned());
    let error = block_on(catalog.fork_run(&kept, fork, (), ResumeOptions::new())).unwrap_err();
    assert_eq!((log.tools().len(), journal.runs().len()), (2, 1));
    of_error(&error)
}

fn changed_tool() -> Said {
    let (log, journal) = (Log::new(), MemoryJournal::new());
    journalled(&log.writes("send"), &journal, json!({})).unwrap();
    journal.forget_finish("send");
    let catalog = Registry::new().with(other_send(&log)).unwrap().seal();
    let journal: Arc<dyn Journal> = Arc::new(journal);
    let error = block_on(catalog.resume_run(&journal, "r1", (), ResumeOptions::new())).unwrap_err();
    assert_eq!(log.tools(), ["send"]);
    of_error(&error)
}

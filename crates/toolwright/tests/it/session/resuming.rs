//! Taking up a run in a new process: what was forged for it is made again, and what changed stops it.

use std::sync::Arc;

use toolwright::{
    CallError, Catalog, Composite, Fault, Invocation, Journal, JournalError, MemoryJournal, Options, Policy, ResumeOptions, Runtime,
    Session, ToolDef, ToolResult, json,
};

use super::fixture::{App, Caller, Ran, base, block_on, chain, ids, options, registry, session, x};

fn start(catalog: &Catalog<App>, tool: &str, journal: &MemoryJournal) -> Result<ToolResult, CallError> {
    let kept: Arc<dyn Journal> = Arc::new(journal.clone());
    block_on(catalog.invoke(Invocation::new(tool.to_owned(), x(1)).run_id("r").journal(kept), Caller::default()))
}

fn resume(catalog: &Catalog<App>, journal: &MemoryJournal, options: ResumeOptions<App>) -> Result<ToolResult, CallError> {
    let kept: Arc<dyn Journal> = Arc::new(journal.clone());
    block_on(catalog.resume_run(&kept, "r", Caller::default(), options))
}

/// A run of a forged `digest`, which ended after its first step.
fn stopped(ran: &Ran) -> MemoryJournal {
    let session = session(ran);
    session.forge(chain("digest", &["read", "mail"])).unwrap();
    let journal = MemoryJournal::new();
    start(&session.catalog(), "digest", &journal).unwrap();
    ran.take();
    journal.cut_off("r", 3);
    journal
}

fn changed(error: &CallError) -> Vec<String> {
    match error.fault() {
        Fault::ChangedTool { tools, .. } => tools.iter().map(ToString::to_string).collect(),
        _ => panic!("{error}"),
    }
}

#[test]
fn ts_18_a_new_process_makes_the_forged_tool_again_and_goes_on() {
    let ran = Ran::default();
    let journal = stopped(&ran);
    let next = Ran::default();
    let base = base(&next);
    let result = resume(&base, &journal, ResumeOptions::new()).unwrap();
    assert_eq!(result.value(), &x(1));
    assert_eq!(next.take(), ["mail"]);
    assert!(!base.has("digest"));
    // It is over: the next time it gives its result, without a call, and only where it may still be asked for.
    let empty = registry(Policy::new()).seal();
    assert_eq!(resume(&empty, &journal, ResumeOptions::new()).unwrap_err().code(), "step_missing");
    let again = resume(&base, &journal, ResumeOptions::new()).unwrap();
    assert_eq!((again.value(), again.replayed()), (&x(1), true));
    assert_eq!(again.effects, result.effects);
    assert!(next.take().is_empty() && ran.take().is_empty());
}

#[test]
fn ts_18_todays_policy_decides_and_nothing_runs_when_it_says_no() {
    let journal = stopped(&Ran::default());
    let next = Ran::default();
    let strict = || options(Policy::new());
    let base = base(&next);
    let error = resume(&base, &journal, ResumeOptions::new().options(strict())).unwrap_err();
    assert_eq!(error.code(), "step_not_chainable");
    let unlisted = registry(Policy::new()).with(next.echo("read")).unwrap().with(next.echo("look")).unwrap().with(next.writes("mail"));
    let error = resume(&unlisted.unwrap().seal(), &journal, ResumeOptions::new()).unwrap_err();
    assert_eq!(error.code(), "step_not_chainable");
    assert!(next.take().is_empty());
    // Nothing was claimed or written either: whoever may, goes on.
    resume(&base, &journal, ResumeOptions::new()).unwrap();
    assert_eq!(next.take(), ["mail"]);
}

#[test]
fn forged_tools_are_recorded_with_those_that_they_use_and_no_others() {
    let ran = Ran::default();
    let session = session(&ran);
    session.forge(chain("unused", &["read"])).unwrap();
    session.forge(chain("inner", &["look"])).unwrap();
    session.forge(chain("outer", &["inner", "read"])).unwrap();
    let journal = MemoryJournal::new();
    let recorded = |tool: &str| {
        let journal = MemoryJournal::new();
        start(&session.catalog(), tool, &journal).unwrap();
        let run = journal.runs()[0].head().clone();
        (run.generation, run.forged.iter().map(|forged| forged.name.to_string()).collect::<Vec<_>>())
    };
    assert_eq!(recorded("outer"), (4, vec!["inner".to_owned(), "outer".to_owned()]));
    // A handler may call anything.
    assert_eq!(recorded("read").1, ["unused", "inner", "outer"]);
    start(&session.catalog(), "outer", &journal).unwrap();
    ran.take();
    journal.cut_off("r", 2);
    let next = Ran::default();
    resume(&base(&next), &journal, ResumeOptions::new()).unwrap();
    assert_eq!(next.take(), ["look", "read"]);
    // A catalogue of the host's records none.
    let journal = MemoryJournal::new();
    start(&base(&ran), "read", &journal).unwrap();
    assert!(journal.runs()[0].head().forged.is_empty());
}

#[test]
fn the_session_itself_takes_up_its_own_run_without_making_anything_again() {
    let ran = Ran::default();
    let session = session(&ran);
    session
        .forge(Composite::of(App::tool("digest", "x").available(|_: &Caller| true)).step("a", "read", json!({})).step(
            "b",
            "mail",
            json!({}),
        ))
        .unwrap();
    let journal = MemoryJournal::new();
    start(&session.catalog(), "digest", &journal).unwrap();
    journal.cut_off("r", 3);
    ran.take();
    // Another process cannot make its hook again, and does not go on without it.
    let next = Ran::default();
    let error = resume(&base(&next), &journal, ResumeOptions::new()).unwrap_err();
    assert_eq!(error.code(), "invalid_spec");
    assert!(next.take().is_empty());
    resume(&session.catalog(), &journal, ResumeOptions::new()).unwrap();
    assert_eq!(ran.take(), ["mail"]);
}

fn versioned(ran: &Ran, id: &'static str, version: &str) -> ToolDef<App> {
    ran.echo(id).with_version(version.to_owned())
}

#[test]
fn a_code_tool_that_changed_stops_the_run_unless_it_is_accepted_by_name() {
    let journal = stopped(&Ran::default());
    let next = Ran::default();
    let changed_base = || {
        let open = registry(Policy::new().may_chain(["mail"]));
        open.with(versioned(&next, "read", "Another")).unwrap().with(next.echo("look")).unwrap().with(next.writes("mail")).unwrap().seal()
    };
    let error = resume(&changed_base(), &journal, ResumeOptions::new()).unwrap_err();
    assert_eq!((error.code(), changed(&error)), ("changed_tool", vec!["digest".to_owned(), "read".to_owned()]));
    let error = resume(&changed_base(), &journal, ResumeOptions::new().accept(["look", "mail"])).unwrap_err();
    assert_eq!(error.code(), "changed_tool");
    assert!(next.take().is_empty());
    resume(&changed_base(), &journal, ResumeOptions::new().accept(["read"])).unwrap();
    assert_eq!(next.take(), ["mail"]);
}

#[test]
fn a_tool_that_did_not_run_yet_counts_through_its_composite() {
    let journal = stopped(&Ran::default());
    let next = Ran::default();
    let base = registry(Policy::new().may_chain(["mail"]));
    let mail = next.writes("mail").with_version("2");
    let base = base.with(next.echo("read")).unwrap().with(next.echo("look")).unwrap().with(mail).unwrap().seal();
    let error = resume(&base, &journal, ResumeOptions::new()).unwrap_err();
    assert_eq!(changed(&error), ["digest", "mail"]);
    // Neither another tool nor the composite's own name stands for it.
    let error = resume(&base, &journal, ResumeOptions::new().accept(["digest", "read"])).unwrap_err();
    assert_eq!(changed(&error), ["digest", "mail"]);
    assert!(next.take().is_empty());
    resume(&base, &journal, ResumeOptions::new().accept(["mail"])).unwrap();
    assert_eq!(next.take(), ["mail"]);
}

#[test]
fn a_specification_that_changed_is_never_accepted() {
    let ran = Ran::default();
    // A composite of the host's.
    let with = |ran: &Ran, tools: &[&str]| {
        base(ran).overlay(options(Policy::new().may_chain(["mail"]))).unwrap().with(chain("digest", tools)).unwrap().seal()
    };
    let journal = MemoryJournal::new();
    start(&with(&ran, &["read", "mail"]), "digest", &journal).unwrap();
    journal.cut_off("r", 3);
    let next = Ran::default();
    let all = || ResumeOptions::new().accept(["digest", "read", "look", "mail"]);
    let error = resume(&with(&next, &["read", "look", "mail"]), &journal, all()).unwrap_err();
    assert_eq!(changed(&error), ["digest"]);
    // A forged one, whose name means something else now: forged again, or a tool of the host's.
    let journal = stopped(&ran);
    let session = session(&next);
    session.forge(chain("digest", &["look", "mail"])).unwrap();
    assert_eq!(changed(&resume(&session.catalog(), &journal, all()).unwrap_err()), ["digest"]);
    let impostor = base(&next).overlay(Options::new()).unwrap().with(next.writes("digest")).unwrap().seal();
    assert_eq!(changed(&resume(&impostor, &journal, all()).unwrap_err()), ["digest"]);
    // A tool that is gone.
    let gone = registry(Policy::new().may_chain(["mail"])).with(next.writes("mail")).unwrap().seal();
    let journal = MemoryJournal::new();
    start(&base(&ran), "read", &journal).unwrap();
    journal.cut_off("r", 1);
    assert_eq!(changed(&resume(&gone, &journal, all()).unwrap_err()), ["read"]);
    assert!(next.take().is_empty());
}

#[test]
fn a_run_that_is_not_there_is_named() {
    let error = resume(&base(&Ran::default()), &MemoryJournal::new(), ResumeOptions::new()).unwrap_err();
    assert_eq!(error.code(), "journal");
    let Fault::Journal { phase: "load", error, .. } = error.fault() else { panic!("{error}") };
    assert_eq!(error, &JournalError::unknown_run("r"));
}

#[test]
fn the_rebuilt_tools_are_this_runs_alone() {
    let journal = stopped(&Ran::default());
    let next = Ran::default();
    let session = Session::new(base(&next), options(Policy::new().may_chain(["mail"]))).unwrap();
    let before = session.catalog();
    resume(&before, &journal, ResumeOptions::new()).unwrap();
    assert_eq!((session.generation(), ids(&session.catalog())), (1, vec!["read", "look", "mail"]));
    // What happened is told where everything of the session is.
    assert!(before.events().iter().any(|event| event.tool == "mail"));
}

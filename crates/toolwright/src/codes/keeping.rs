//! What a journal can say about a run.

use super::{CodeExample, CodePage};

pages! {
    "in_doubt", "nobody knows whether an effect happened",
        "A tool with side effects was started, and its answer never came. Running it again could repeat the effect, so a run that is taken up from its journal stops here until somebody says what happened.",
        rust(r#"let send = || tool("send", "Sends it").writes().run_json(echo);
let call = |journal: &MemoryJournal| Invocation::new("send", json!({})).run_id("r1").journal(Arc::new(journal.clone()));
let journal = MemoryJournal::new();
Registry::new().with(send()).unwrap().seal().invoke(call(&journal), ()).await.unwrap();

// The process ended before the answer was written down; the run is taken up again.
journal.forget_finish("send");
let error = Registry::new().with(send()).unwrap().seal().invoke(call(&journal), ()).await.unwrap_err();
assert_eq!(error.code(), "in_doubt");
"#),
        "Find out what happened, then tell the journal's `resolve`, or give the tool a `reconcile` that finds out; in `toolwright.yaml` it stands under `tools`. From a command line: look, then `toolwright resume RUN --as happened=OUTPUT` or `--as not-happened`.";
    "journal", "the journal cannot be written",
        "The intent of a call is written before the tool starts; when that fails, the tool is not started. The outcome is written \
         before anybody sees it. `toolwright run` keeps a journal in a file; a host of the library gives its own.",
        rust(r#"use toolwright::journal::{Claim, Resolution, RunHistory, RunJournal, RunRecord};
struct Full;
impl Journal for Full {
    fn open(&self, _: RunRecord, _: Claim) -> Eventually<'_, Result<Arc<dyn RunJournal>, JournalError>> {
        Eventually::Now(Err(JournalError::unwritable("disk full")))
    }
    // The rest is not reached.
#     fn load(&self, _: &str) -> Eventually<'_, Result<Option<RunHistory>, JournalError>> {
#         Eventually::Now(Ok(None))
#     }
#     fn resolve(&self, run: &str, _: &str, _: Resolution) -> Eventually<'_, Result<(), JournalError>> {
#         Eventually::Now(Err(JournalError::unknown_run(run)))
#     }
#     fn unfinished(&self) -> Eventually<'_, Result<Vec<Text>, JournalError>> {
#         Eventually::Now(Ok(Vec::new()))
#     }
}
let mut registry = Registry::new();
registry.register(tool("look", "Looks").reads().run_json(echo)).unwrap();
let call = Invocation::new("look", json!({})).journal(Arc::new(Full));
let error = registry.seal().invoke(call, ()).await.unwrap_err();
assert_eq!(error.code(), "journal");
"#),
        "The message has its reason: mend the journal that the host gave. From a command line: make room or writable the file that `toolwright journal path` says, or wait for whoever is at work on the run.";
    "diverged", "a run does not go as it went before",
        "A run that is taken up again came to a call that its journal has another tool, other arguments or another effect for. Nothing ran: what was recorded is not this call's.",
        rust(r#"let send = || tool("send", "Sends it").writes().run_json(echo);
let call = |journal: &MemoryJournal| Invocation::new("send", json!({})).run_id("r1").journal(Arc::new(journal.clone()));
let journal = MemoryJournal::new();
Registry::new().with(send()).unwrap().seal().invoke(call(&journal), ()).await.unwrap();

let other = tool("send", "Sends it").writes().version("2").run_json(echo);
let error = Registry::new().with(other).unwrap().seal().invoke(call(&journal), ()).await.unwrap_err();
assert_eq!(error.code(), "diverged");
"#),
        "Start a new run under another id (from a command line, without `--key` or with another one); a run goes on only with what it began with.";
    "changed_tool", "a tool that a run used has changed since",
        "Each call is recorded with a hash of its tool's declaration, without its description. Before a run is taken up again, they are compared with the tools there are now. Nothing ran.",
        rust(r#"let send = || tool("send", "Sends it").writes().run_json(echo);
let call = |journal: &MemoryJournal| Invocation::new("send", json!({})).run_id("r1").journal(Arc::new(journal.clone()));
let journal = MemoryJournal::new();
Registry::new().with(send()).unwrap().seal().invoke(call(&journal), ()).await.unwrap();

journal.forget_finish("send");
let other = tool("send", "Sends it").writes().version("2").run_json(echo);
let journal: Arc<dyn Journal> = Arc::new(journal);
let catalog = Registry::new().with(other).unwrap().seal();
let error = catalog.resume_run(&journal, "r1", (), ResumeOptions::new()).await.unwrap_err();
assert_eq!(error.code(), "changed_tool");
"#),
        "Look at what changed, and accept the tool by name with `ResumeOptions::accept` (`toolwright resume RUN --accept-changed TOOL`), or start a new run. A composite's steps are never accepted when they changed.";
    "unknown_step", "a run is to be forked from a step that there is not",
        "A fork begins at a step of the composite that the run is of, and the step that was named is not there. Nothing ran.",
        rust(r#"let look = tool("look", "Looks").reads().run_json(echo);
let report = Composite::new("report", "Reports").step("find", "look", json!({}));
let catalog = Registry::new().with(look).unwrap().with(report).unwrap().seal();
let journal: Arc<dyn Journal> = Arc::new(MemoryJournal::new());
catalog.invoke(Invocation::new("report", json!({})).run_id("r1").journal(journal.clone()), ()).await.unwrap();

let error = catalog.fork_run(&journal, Fork::new("r1", "r2", "fnid"), (), ResumeOptions::new()).await.unwrap_err();
assert_eq!(error.code(), "unknown_step");
"#),
        "Give a step by its name, by its position from 0, or by the path that the journal shows. What a tool calls by itself is no step.";
    "step_without_result", "a step before the place of a fork has no result",
        "A fork has the recorded results of everything before the step that it begins at. A step before it did not succeed in the old run, \
         was never reached, or is another tool's now. Nothing ran.",
        rust(r#"let look = tool("look", "Looks").reads().run_json(echo);
let report = Composite::new("report", "Reports").step("find", "look", json!({})).step("use", "look", json!({}));
let catalog = Registry::new().with(look).unwrap().with(report).unwrap().seal();
let journal = MemoryJournal::new();
let kept: Arc<dyn Journal> = Arc::new(journal.clone());
catalog.invoke(Invocation::new("report", json!({})).run_id("r1").journal(kept.clone()), ()).await.unwrap();

// The process ended before the first step had a result.
journal.cut_off("r1", 2);
let error = catalog.fork_run(&kept, Fork::new("r1", "r2", "use"), (), ResumeOptions::new()).await.unwrap_err();
assert_eq!(error.code(), "step_without_result");
"#),
        "Fork from the step that has no result or from one before it, or let the old run go on first.";
}

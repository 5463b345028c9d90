//! The host's code about a call, such as its checks: it sees the call that it judges, what it calls is counted on from
//! there, changes nothing, and takes no place among the tool's own calls.

use std::sync::{Arc, Mutex};

use futures_util::FutureExt;
use toolwright::approval::{Answer, Request};
use toolwright::journal::Record;
use toolwright::{
    Approver, BoxFuture, CallError, Composer, Composite, Context, Declaration, Effect, Eventually, HostChecks, Impact, Invocation, Journal,
    MemoryJournal, Options, PipelineOptions, Policy, Reconciled, Refusal, Runtime, StepGate, StepRequest, ToolDef, Value, current_frame,
    json, tool,
};

use crate::lifecycle_fixture::{App, AppCx, Close, Notes, Own, block_on, catalog, catalog_with, cx, echo, reads};
use crate::world::{Log, steps};

type Seen = Arc<Mutex<Vec<String>>>;

/// Asks by calling a tool.
struct Asks {
    own: Own,
    tool: &'static str,
    seen: Seen,
}

impl Approver for Asks {
    fn ask<'a>(&'a self, _: &'a Request) -> BoxFuture<'a, Answer> {
        Box::pin(async move {
            let frame = current_frame().map(|frame| frame.path()).unwrap_or_default();
            let outcome = self.own.get().invoke(Invocation::new(self.tool, json!({})), cx()).await;
            let code = outcome.as_ref().map_or_else(|error| error.code().to_owned(), |_| "ran".into());
            self.seen.lock().unwrap().push(format!("{frame}: {code}"));
            if outcome.is_ok() { Answer::Yes { who: "ann".into() } } else { Answer::Nobody }
        })
    }
}

fn approved_by(tool: &'static str) -> (Result<toolwright::ToolResult, CallError>, Seen, Notes) {
    let (own, seen, log) = (Own::default(), Seen::default(), Notes::default());
    let approver = Asks { own: own.clone(), tool, seen: seen.clone() };
    let checks = HostChecks::new().approval(Some(Arc::new(approver)));
    let options = Options::new().policy(Policy::new().may_chain(["mail"]).checks(checks));
    let c = Composite::of(App::tool("c", "Mails")).step("s", "mail", json!({}));
    let mail = App::tool("mail", "Mails").writes().notes(&log);
    let catalog = catalog_with(options, [Declaration::from(echo("look")), mail.into(), c.into()]);
    own.set(&catalog);
    (block_on(catalog.invoke(Invocation::new("c", json!({})), cx())), seen, log)
}

#[test]
fn an_approver_may_look_and_not_write_and_not_ask_itself() {
    let (outcome, seen, log) = approved_by("look");
    assert!(outcome.is_ok());
    assert_eq!((seen.lock().unwrap().clone(), log.all().len()), (vec!["c/0:s: ran".to_owned()], 1));
    for tool in ["c", "mail"] {
        let (outcome, seen, log) = approved_by(tool);
        assert_eq!(outcome.unwrap_err().code(), "approval_rejected");
        assert_eq!(*seen.lock().unwrap(), ["c/0:s: caller_reads_only"]);
        assert!(log.all().is_empty());
    }
}

/// A gate whose check runs the pipeline that it is asked about.
struct Loops(Arc<Mutex<Option<Composer>>>, ToolDef);

impl StepGate for Loops {
    fn resolve(&self, _: &str) -> Option<ToolDef> {
        Some(self.1.clone())
    }

    fn admit<'a>(&'a self, _: &'a StepRequest<'a>) -> Eventually<'a, Result<(), Refusal>> {
        let composer = self.0.lock().unwrap().clone().unwrap();
        Eventually::Later(Box::pin(async move {
            let spec = steps(&[("s", "read", json!({}))]);
            let outcome = composer.run_pipeline(&spec, json!({}), Context::default(), PipelineOptions::new()).await;
            outcome.map(|_| ()).map_err(|error| Refusal::new(error.code().to_owned(), "no"))
        }))
    }
}

#[test]
fn checks_that_lead_back_to_themselves_end() {
    let log = Log::new();
    let own = Arc::new(Mutex::new(None));
    let composer = Composer::new(Loops(own.clone(), log.echo("read")));
    *own.lock().unwrap() = Some(composer.clone());
    let spec = steps(&[("s", "read", json!({}))]);
    let error = block_on(composer.run_pipeline(&spec, json!({}), Context::default(), PipelineOptions::new())).unwrap_err();
    assert!(["nesting_too_deep", "calls_too_deep"].contains(&error.code()), "{error}");

    // A hook that cannot wait ends in the same way.
    let own = Own::default();
    let of_hook = own.clone();
    let again = reads("again").authorize(move |_| {
        let outcome = of_hook.get().invoke(Invocation::new("again", json!({})), cx()).now_or_never();
        let code = outcome.map(|outcome| outcome.map(|_| ()).map_err(|error| error.code().to_owned()));
        match code {
            Some(Err(code)) => Err(Refusal::new(code, "no")),
            _ => Ok(()),
        }
    });
    let catalog = catalog([again.echoes()]);
    own.set(&catalog);
    let error = block_on(catalog.invoke(Invocation::new("again", json!({})), cx())).unwrap_err();
    assert_eq!(error.code(), "denied", "{error}");
}

#[test]
fn hooks_see_the_call_that_they_judge_whoever_makes_it() {
    let seen = Seen::default();
    let of_hook = seen.clone();
    let leaf = reads("leaf").authorize(move |_| {
        of_hook.lock().unwrap().push(current_frame().map(|frame| frame.path()).unwrap_or_default());
        Ok::<(), Refusal>(())
    });
    let code = reads("code").run_json(|input: Value, call| async move {
        call.invoke("c", json!({})).await?;
        call.invoke("leaf", json!({})).await?;
        Ok(input)
    });
    let c = Composite::of(App::tool("c", "Looks")).step("s", "leaf", json!({}));
    let catalog = catalog([Declaration::from(leaf.echoes()), c.into(), code.into()]);
    for root in ["leaf", "c", "code"] {
        block_on(catalog.invoke(Invocation::new(root, json!({})), cx())).unwrap();
    }
    assert_eq!(*seen.lock().unwrap(), ["leaf", "c/0:s", "code/c~0/0:s", "code/leaf~1"]);
}

#[test]
fn finding_out_what_happened_takes_no_place_among_the_calls_of_the_tool_around() {
    let journal = MemoryJournal::new();
    let kept: Arc<dyn Journal> = Arc::new(journal.clone());
    let (own, asked) = (Own::default(), Seen::default());
    let (of_mail, of_outer) = (own.clone(), Arc::new(Mutex::new(true)));
    let looks = asked.clone();
    let lookup = reads("lookup").run_json(move |input: Value, call| {
        looks.lock().unwrap().push(call.lineage().join(" > "));
        async move { Ok(input) }
    });
    let mail = App::tool("mail", "Mails").writes().reconcile(move |_, _: Arc<AppCx>| {
        let catalog = of_mail.get().clone();
        async move {
            catalog.invoke(Invocation::new("lookup", json!({})), cx()).await.unwrap();
            Reconciled::NotHappened
        }
    });
    let fails = of_outer.clone();
    let outer =
        App::tool("outer", "Mails and logs").effect(Effect::new("write", Impact::Idempotent)).run_json(move |input: Value, call| {
            let fails = fails.clone();
            async move {
                call.invoke("mail", json!({})).await?;
                call.invoke("echo", json!({})).await?;
                if *fails.lock().unwrap() { Err(tool_error()) } else { Ok(input) }
            }
        });
    let catalog = catalog([echo("echo"), lookup, mail.echoes(), outer]);
    own.set(&catalog);
    let request = || catalog.invoke(Invocation::new("outer", json!({})).run_id("r").journal(kept.clone()), cx());
    block_on(request()).unwrap_err();
    journal.cut_off("r", 2);
    for _ in 0..2 {
        journal.forget_finish("outer/mail~0");
        block_on(request()).unwrap_err();
    }
    *of_outer.lock().unwrap() = false;
    block_on(request()).unwrap();
    assert!(asked.lock().unwrap().iter().all(|lineage| lineage == "outer > mail"), "{asked:?}");
    // It was asked each time, and its calls are no calls of the run.
    assert!(!asked.lock().unwrap().is_empty());
    let begun = journal.records("r").into_iter().filter_map(|record| match record {
        Record::Begin(begin) => Some(begin.key.path()),
        _ => None,
    });
    for path in begun {
        assert!(["outer", "outer/mail~0", "outer/echo~1"].contains(&path.as_str()), "{path}");
    }
}

fn tool_error() -> toolwright::ToolError {
    toolwright::ToolError::new("later")
}

#[test]
fn a_context_of_its_own_does_not_make_a_nested_call_less_deep() {
    let seen: Arc<Mutex<Vec<(u32, Value)>>> = Arc::default();
    let own: Arc<std::sync::OnceLock<toolwright::Catalog>> = Arc::default();
    let (of_leaf, of_outer) = (seen.clone(), own.clone());
    let leaf = tool("leaf", "Looks").reads().run_json(move |input, call| {
        of_leaf.lock().unwrap().push((call.depth(), call.session_data()));
        async move { Ok(input) }
    });
    let outer = tool("outer", "Forgets where it is").reads().run_json(move |input, _| {
        let catalog = of_outer.get().unwrap().clone();
        async move {
            for context in [Context::default(), Context::new(json!({ "sessionData": { "emergentDepth": 0 } }))] {
                catalog.invoke(Invocation::new("leaf", json!({})), context.clone()).await?;
                // A run of its own is as deep.
                catalog.invoke(Invocation::new("leaf", json!({})).run_id("own"), context).await?;
            }
            Ok(input)
        }
    });
    let mut registry = toolwright::Registry::new();
    registry.register(leaf).unwrap().register(outer).unwrap();
    registry.register(Composite::new("c", "Looks").step("s", "outer", json!({}))).unwrap();
    let catalog = registry.seal();
    assert!(own.set(catalog.clone()).is_ok());
    let context = Context::new(json!({ "sessionData": { "emergentDepth": 3 } }));
    block_on(catalog.invoke(Invocation::new("c", json!({})), context)).unwrap();
    assert_eq!(*seen.lock().unwrap(), vec![(4, json!({ "emergentDepth": 4 })); 4]);
}

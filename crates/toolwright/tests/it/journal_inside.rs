//! Runs that begin inside others: where they are kept, and what a run that is over still lets begin.

use std::sync::{Arc, Mutex};

use toolwright::journal::{JournalErrorKind, Record};
use toolwright::{
    Call, Catalog, Composite, Context, Effect, Fault, Impact, Invocation, Journal, MemoryJournal, Options, Registry, ToolDef, ToolError,
    ToolResult, json, tool,
};

use crate::world::{Log, Moment, block_on};

/// A catalogue that its own tools can call.
#[derive(Clone, Default)]
struct Cell(Arc<Mutex<Option<Catalog>>>);

impl Cell {
    fn get(&self) -> Catalog {
        self.0.lock().unwrap().clone().unwrap()
    }

    fn seal(&self, registry: Registry) -> Catalog {
        let catalog = registry.seal();
        *self.0.lock().unwrap() = Some(catalog.clone());
        catalog
    }
}

fn kept(journal: &MemoryJournal) -> Arc<dyn Journal> {
    Arc::new(journal.clone())
}

fn runs(journal: &MemoryJournal) -> Vec<String> {
    journal.runs().iter().map(|run| run.head().id.to_string()).collect()
}

/// A tool that may be repeated and makes this call; the first time, it fails after it.
fn caller(cell: &Cell, call: impl Fn() -> Invocation + Send + Sync + 'static) -> ToolDef {
    let (cell, call, tries) = (cell.clone(), Arc::new(call), Arc::new(Mutex::new(0)));
    tool("outer", "Calls").effect(Effect::new("write", Impact::Idempotent)).run_json(move |input, _| {
        let (cell, call, tries) = (cell.clone(), call.clone(), tries.clone());
        async move {
            let result = cell.get().invoke(call(), Context::default()).await?;
            *tries.lock().unwrap() += 1;
            if *tries.lock().unwrap() == 1 {
                return Err(ToolError::new("later"));
            }
            let notes: Vec<String> = result.notes.iter().map(ToString::to_string).collect();
            Ok(json!({ "input": input, "notes": notes }))
        }
    })
}

fn again(catalog: &Catalog, journal: &MemoryJournal) -> ToolResult {
    let call = || Invocation::new("outer", json!({})).run_id("r").journal(kept(journal));
    block_on(catalog.invoke(call(), ())).unwrap_err();
    block_on(catalog.invoke(call(), ())).unwrap()
}

#[test]
fn a_run_that_begins_inside_another_is_kept_where_that_one_is() {
    let (log, cell, journal) = (Log::new(), Cell::default(), MemoryJournal::new());
    let outer = caller(&cell, || Invocation::new("mail", json!({})).run_id("order-7"));
    let catalog = cell.seal(Registry::new().with(log.writes("mail")).unwrap().with(outer).unwrap());
    again(&catalog, &journal);
    assert_eq!((log.tools(), runs(&journal)), (vec!["mail".to_owned()], vec!["r".to_owned(), "order-7".to_owned()]));
}

#[test]
fn a_run_does_not_take_over_the_one_around_it() {
    let (log, cell, journal) = (Log::new(), Cell::default(), MemoryJournal::new());
    let outer = caller(&cell, || Invocation::new("mail", json!({})).run_id("r"));
    let catalog = cell.seal(Registry::new().with(log.writes("mail")).unwrap().with(outer).unwrap());
    let call = Invocation::new("outer", json!({})).run_id("r").journal(kept(&journal));
    let error = block_on(catalog.invoke(call, ())).unwrap_err();
    assert!(error.message().contains("the one around this call"), "{error}");
    assert!(log.is_empty() && runs(&journal) == ["r"]);
}

#[test]
fn a_run_does_not_take_over_the_one_around_it_through_another_handle_of_its_journal() {
    let (log, cell, journal) = (Log::new(), Cell::default(), MemoryJournal::new());
    let handle = journal.clone();
    let outer = caller(&cell, move || Invocation::new("mail", json!({})).run_id("r").journal(kept(&handle)));
    let catalog = cell.seal(Registry::new().with(log.writes("mail")).unwrap().with(outer).unwrap());
    let call = Invocation::new("outer", json!({})).run_id("r").journal(kept(&journal));
    let error = block_on(catalog.invoke(call, ())).unwrap_err();
    assert!(error.message().contains("the one around this call"), "{error}");
    assert!(log.is_empty() && runs(&journal) == ["r"]);
}

#[test]
fn what_another_catalogue_writes_down_it_writes_down_inside_a_run_without_a_journal_too() {
    let (log, journal) = (Log::new(), MemoryJournal::new());
    let port = kept(&journal);
    let options = Options::new().journal(move |_: &Context| Some(port.clone()));
    let inner = Registry::with_options(options).unwrap().with(log.writes("mail")).unwrap().seal();
    let via = tool("via", "Calls").writes().run_json(move |_, _| {
        let inner = inner.clone();
        async move { Ok(inner.invoke(Invocation::new("mail", json!({})), Context::default()).await?.value().clone()) }
    });
    let catalog = Registry::new().with(via).unwrap().seal();
    let result = block_on(catalog.invoke(Invocation::new("via", json!({})), ())).unwrap();
    assert_eq!((log.tools(), result.effects.len()), (vec!["mail".to_owned()], 2));
    assert_eq!(log.all()[0].lineage, ["via"]);
    let run = journal.runs().pop().unwrap();
    assert_eq!((run.head().tool.as_str(), run.records().len()), ("mail", 3));
    // It lives no longer than the call around it.
    let source = toolwright::CancelSource::new();
    source.cancel();
    let ended = block_on(catalog.invoke(Invocation::new("via", json!({})).cancel(source.token()), ())).unwrap_err();
    assert_eq!((ended.code(), log.all().len()), ("cancelled", 1));
    // Where the run around it is written down, it is one run.
    let other = MemoryJournal::new();
    block_on(catalog.invoke(Invocation::new("via", json!({})).journal(kept(&other)), ())).unwrap();
    assert_eq!((journal.runs().len(), other.runs().len(), other.runs()[0].records().len()), (1, 1, 5));
}

#[test]
fn what_is_said_about_a_run_is_not_lost_in_silence_for_a_call_inside_one() {
    let (log, cell, journal, other) = (Log::new(), Cell::default(), MemoryJournal::new(), MemoryJournal::new());
    let given = kept(&other);
    let outer = caller(&cell, move || Invocation::new("mail", json!({})).journal(given.clone()).session("s"));
    let catalog = cell.seal(Registry::new().with(log.writes("mail")).unwrap().with(outer).unwrap());
    let notes = again(&catalog, &journal).value().get("notes").cloned().unwrap().to_string();
    assert!(notes.contains("not used: journal, session"), "{notes}");
    assert!(runs(&other).is_empty() && log.all().len() == 1);
    // In a run that nobody writes down, it is used: the call is a run of its own.
    let call = || block_on(catalog.invoke(Invocation::new("outer", json!({})), ())).unwrap();
    assert_eq!(call().value().get("notes"), Some(&json!([])));
    assert_eq!((other.runs().len(), other.runs()[0].head().session.as_deref()), (1, Some("s")));
}

#[test]
fn a_task_that_was_left_behind_begins_nothing_in_a_run_that_is_over() {
    for by_step in [false, true] {
        let (log, journal, over) = (Log::new(), MemoryJournal::new(), Moment::default());
        let late = Arc::new(Mutex::new(None));
        let (until, said) = (over.clone(), late.clone());
        let target = if by_step { "sends" } else { "mail" };
        let outer = tool("outer", "Leaves a task behind").writes().run_json(move |input, call: Call| {
            let (until, said) = (until.clone(), said.clone());
            async move {
                tokio::spawn(async move {
                    until.wait().await;
                    *said.lock().unwrap() = Some(call.invoke(target, json!({})).await.map(|_| ()));
                });
                Ok(input)
            }
        });
        let policy = toolwright::Policy::new().may_chain(["mail"]);
        let registry = Registry::with_policy(policy).with(log.writes("mail")).unwrap().with(outer).unwrap();
        let catalog = registry.with(Composite::new("sends", "Sends").step("s", "mail", json!({}))).unwrap().seal();
        block_on(async {
            let call = Invocation::new("outer", json!({})).run_id("r").journal(kept(&journal));
            catalog.invoke(call, ()).await.unwrap();
            over.come();
            while late.lock().unwrap().is_none() {
                tokio::task::yield_now().await;
            }
        });
        let error = late.lock().unwrap().take().unwrap().unwrap_err();
        let Fault::Journal { phase: "begin", error, .. } = error.fault() else { panic!("{error}") };
        assert_eq!(error.kind, JournalErrorKind::Ended);
        assert!(log.is_empty());
        assert!(matches!(journal.records("r").last(), Some(Record::End(_))) && journal.records("r").len() == 3);
    }
}

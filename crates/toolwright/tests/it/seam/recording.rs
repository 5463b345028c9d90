//! One run of a composite in the journal: who may write, under which names, and what stops it.

use std::sync::Arc;

use toolwright::journal::{Claim, Record};
use toolwright::{CancelSource, EffectRecord, Fault, Impact, Invocation, Journal, MemoryJournal, Policy, Value, json};

use super::fixture::{Tools, shows, steps, stopped, writes};
use crate::calling::fixture::{ByHand, Watched, pause};
use crate::lifecycle_fixture::{App, Notes, block_on, cx, error, reads};
use crate::world::Events;

fn waits(builder: toolwright::ToolBuilder<App>, log: &Notes) -> toolwright::ToolDef<App> {
    let log = log.clone();
    builder.run_json(move |input: Value, call| {
        let log = log.clone();
        async move {
            log.note(format!("start {}", call.step()));
            pause().await;
            pause().await;
            log.note(format!("end {}", call.step()));
            Ok(input)
        }
    })
}

#[test]
fn ts_16_no_step_begins_after_a_cancellation() {
    let (log, source) = (Notes::default(), CancelSource::new());
    let catalog = Tools::new(Policy::new().may_chain(["mail"]))
        .add(waits(reads("read"), &log))
        .add(shows(writes("mail"), &log))
        .add(steps("main", &[("a", "read", json!({})), ("b", "mail", json!({}))]))
        .seal();
    let journal = Watched::noting(&log);
    let request = || Invocation::new("main", json!({})).run_id("r1").journal(Arc::new(journal.clone()));
    let mut call = ByHand::new(catalog.invoke(request().cancel(source.token()), cx()));
    assert!(call.poll().is_none());
    source.cancel();
    let cancelled = error(call.poll().unwrap());
    assert_eq!((cancelled.code(), stopped(&cancelled).index, cancelled.effects().len()), ("cancelled", 0, 0));
    assert_eq!(log.take(), ["open", "begin main", "begin main/0:a", "start a", "finish main/0:a", "finish main", "end"]);
    // The entry of the composite says that it failed; taken up again, it goes on at the step that did not run.
    let finish = journal.finishes("r1").pop().unwrap();
    assert_eq!(finish.outcome.unwrap_err().code, "cancelled");
    block_on(catalog.invoke(request(), cx())).unwrap();
    assert!(log.all().contains(&"begin main/1:b".into()) && log.all().contains(&"mail {}".into()));
}

#[test]
fn ts_16_a_cancellation_between_two_steps_is_seen_before_the_second() {
    let (log, source) = (Notes::default(), CancelSource::new());
    let cancels = source.clone();
    let first = writes("first").run_json(move |input: Value, _| {
        cancels.cancel();
        std::future::ready(Ok(input))
    });
    let catalog = Tools::new(Policy::new().may_chain(["first", "mail"]))
        .add(first)
        .add(shows(writes("mail"), &log))
        .add(steps("main", &[("a", "first", json!({})), ("b", "mail", json!({}))]))
        .seal();
    let journal = Watched::noting(&log);
    let request = Invocation::new("main", json!({})).cancel(source.token()).journal(Arc::new(journal));
    let cancelled = error(block_on(catalog.invoke(request, cx())));
    let step = stopped(&cancelled);
    assert_eq!((step.index, &step.completed[..], step.effects.len()), (1, &["a".into()][..], 1));
    assert_eq!(log.all(), ["open", "begin main", "begin main/0:a", "finish main/0:a", "finish main", "end"]);
}

#[test]
fn ts_19_who_is_claimed_over_writes_nothing_more() {
    let log = Notes::default();
    let catalog = Tools::new(Policy::new().may_chain(["mail"]))
        .add(waits(reads("read"), &log))
        .add(shows(writes("mail"), &log))
        .add(steps("main", &[("a", "read", json!({})), ("b", "mail", json!({}))]))
        .seal();
    let journal = MemoryJournal::new();
    let request = || Invocation::new("main", json!({})).run_id("r1").journal(Arc::new(journal.clone()));
    let mut older = ByHand::new(catalog.invoke(request(), cx()));
    assert!(older.poll().is_none());
    block_on(catalog.invoke(request(), cx())).unwrap();
    assert_eq!(log.take(), ["start a", "start a", "end a", "mail {}"]);
    let records = journal.records("r1");
    assert!(older.poll().is_none());
    let fenced = error(older.poll().unwrap());
    assert_eq!(fenced.code(), "journal");
    assert!(fenced.to_string().contains("claimed again"), "{fenced}");
    // It ended its read and was told; it did not come to its mail.
    assert_eq!((log.take(), journal.records("r1")), (vec!["end a".to_owned()], records));
}

#[test]
fn ts_19_the_older_claim_begins_no_call() {
    let log = Notes::default();
    let journal = MemoryJournal::new();
    let kept = journal.clone();
    // Somebody else takes the run over while the first step, a read, runs and ends.
    let taken = reads("read").run_json(move |input: Value, _| {
        let record = kept.runs()[0].head().clone();
        let _ = block_on_now(kept.open(record, Claim::new("other")));
        std::future::ready(Ok(input))
    });
    let catalog = Tools::new(Policy::new().may_chain(["mail"]))
        .add(taken)
        .add(shows(writes("mail"), &log))
        .add(steps("main", &[("b", "mail", json!({})), ("a", "read", json!({})), ("c", "mail", json!({ "second": true }))]))
        .seal();
    let request = Invocation::new("main", json!({})).run_id("r1").journal(Arc::new(journal.clone()));
    let fenced = error(block_on(catalog.invoke(request, cx())));
    assert_eq!((fenced.code(), log.all()), ("journal", vec!["mail {}".to_owned()]));
    // The mail that went is not lost with it.
    assert_eq!(fenced.effects().len(), 1);
    assert!(!journal.records("r1").iter().any(|record| record.key().is_some_and(|key| key.path() == "main/2:c")));
}

fn block_on_now<T>(eventually: toolwright::Eventually<'_, T>) -> T {
    match eventually {
        toolwright::Eventually::Now(now) => now,
        toolwright::Eventually::Later(_) => panic!("it does not wait"),
    }
}

#[test]
fn ts_20_the_same_run_with_another_input_runs_nothing() {
    let log = Notes::default();
    let catalog = |with: &str| {
        Tools::new(Policy::new().may_chain(["mail"]))
            .add(shows(reads("read"), &log))
            .add(shows(writes("mail"), &log))
            .add(steps("main", &[("a", "read", json!({ "q": "$input.q" })), ("b", "mail", json!({ "to": with, "q": "$prev.q" }))]))
            .seal()
    };
    let journal = MemoryJournal::new();
    let call = |with: &str, q: i64| {
        let request = Invocation::new("main", json!({ "q": q })).run_id("r1").journal(Arc::new(journal.clone()));
        block_on(catalog(with).invoke(request, cx()))
    };
    call("ann", 1).unwrap();
    log.take();
    let records = journal.records("r1");
    assert_eq!(error(call("ann", 2)).code(), "diverged");
    assert_eq!((log.all().len(), journal.records("r1")), (0, records));
    // Also when it stopped half-way, and when the composite says something else now.
    assert!(journal.cut_off("r1", 3) > 0);
    assert_eq!(error(call("ann", 2)).code(), "diverged");
    let changed = error(call("bob", 1));
    assert!(matches!(changed.root_cause(), Fault::Diverged { .. }), "{changed:?}");
    assert!(log.all().is_empty());
    call("ann", 1).unwrap();
    assert_eq!(log.all(), [r#"mail {"to":"ann","q":1}"#]);
}

#[test]
fn ts_22_all_calls_of_a_run_have_its_name_and_the_records_agree() {
    let log = Events::default();
    let nested = writes("both").run_json(|input: Value, call| async move {
        call.invoke("mail", json!({ "by": "code" })).await?;
        call.invoke_keyed("two", "put", json!({})).await?;
        Ok(input)
    });
    let catalog = Tools::new(Policy::new().may_chain(["mail", "put", "both", "inner"]))
        .add(shows(reads("read"), &Notes::default()))
        .add(shows(writes("mail"), &Notes::default()))
        .add(shows(writes("put").effect(toolwright::Effect::new("put", Impact::Idempotent)), &Notes::default()))
        .add(nested)
        .add(steps("inner", &[("m", "mail", json!({})), ("b", "both", json!({}))]))
        .add(steps("main", &[("r", "read", json!({})), ("i", "inner", json!({})), ("p", "put", json!({}))]))
        .seal();
    let journal = Watched::default();
    let request = Invocation::new("main", json!({})).run_id("r1").journal(Arc::new(journal.clone())).diagnostics(log.scope());
    let result = block_on(catalog.invoke(request, cx())).unwrap();
    let paths = ["main", "main/0:r", "main/1:i", "main/1:i/0:m", "main/1:i/1:b", "main/1:i/1:b/mail~0", "main/1:i/1:b/put~two", "main/2:p"];
    let begun: Vec<_> = journal.begins("r1").iter().map(|begin| begin.key.path()).collect();
    assert_eq!(begun, paths);
    for fact in log.all() {
        let span = fact.identity.span.clone().unwrap();
        assert_eq!(fact.identity.run.as_deref(), Some("r1"));
        assert!(paths.contains(&span.as_str()), "{fact:?}");
        assert_eq!(fact.identity.parent.as_deref(), span.rsplit_once('/').map(|(parent, _)| parent), "{fact:?}");
    }
    assert_eq!(result.record().key.to_string(), "r1/main");
    // The journal has the same effects, for the whole and for each call in it.
    let finishes = journal.finishes("r1");
    let of = |path: &str| finishes.iter().find(|finish| finish.key.path() == path).unwrap().effects().to_vec();
    assert_eq!(of("main"), result.record().effects);
    let named: Vec<String> = result
        .effects
        .iter()
        .map(|effect| match effect {
            EffectRecord::Ran(step) => {
                step.via.iter().chain([&step.step, &step.tool]).map(|name| name.as_str()).collect::<Vec<_>>().join(" ")
            }
            other => panic!("{other:?}"),
        })
        .collect();
    assert_eq!(named, ["i m mail", "i b mail mail", "i b put put", "i b both", "p put"]);
    assert!(matches!(journal.kept.records("r1").pop(), Some(Record::End(end)) if end.ok));
}

//! Who may be at work on a run, and what is said of a call that somebody is still at work on.

use std::sync::atomic::{AtomicU32, Ordering::SeqCst};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use toolwright::journal::{JournalErrorKind, Resolution, Verdict};
use toolwright::{
    Call, CallError, Catalog, Context, Fault, Invocation, Journal, MemoryJournal, Reconciled, Registry, ToolResult, Value, json, tool,
};

use crate::world::{Log, Moment, TestClock, block_on};

fn kept(journal: &MemoryJournal) -> Arc<dyn Journal> {
    Arc::new(journal.clone())
}

#[test]
fn a_lease_without_a_clock_is_refused() {
    let (log, journal) = (Log::new(), MemoryJournal::new());
    let catalog = Registry::new().with(log.writes("send")).unwrap().seal();
    let lease = || {
        let call = Invocation::new("send", json!({})).run_id("r").journal(kept(&journal));
        call.claimed_by("one", Some(Duration::from_mins(1)))
    };
    let error = block_on(catalog.invoke(lease(), ())).unwrap_err();
    assert_eq!((error.code(), error.help().is_some()), ("no_clock", true));
    assert!(log.is_empty() && journal.runs().is_empty());
    let options = toolwright::ResumeOptions::new().claimed_by("one", Some(Duration::from_mins(1)));
    block_on(catalog.invoke(lease().clock(Arc::new(TestClock::default())), ())).unwrap();
    journal.cut_off("r", 0);
    let error = block_on(catalog.resume_run(&kept(&journal), "r", (), options)).unwrap_err();
    assert_eq!((error.code(), log.all().len(), journal.records("r").len()), ("no_clock", 1, 0));
}

/// A mail that takes its time, and a world that can be asked whether it was sent.
#[derive(Clone, Default)]
struct Slow {
    started: Moment,
    go: Moment,
    sent: Arc<AtomicU32>,
    asked: Arc<AtomicU32>,
}

impl Slow {
    fn catalog(&self) -> Catalog {
        let (slow, world) = (self.clone(), self.clone());
        let mail = tool("mail", "Sends").writes().reconcile(move |_, _: Arc<Context>| {
            world.asked.fetch_add(1, SeqCst);
            let sent = world.sent.load(SeqCst) > 0;
            async move { if sent { Reconciled::Happened(None) } else { Reconciled::NotHappened } }
        });
        let mail = mail.run_json(move |input, _| {
            let slow = slow.clone();
            async move {
                slow.started.come();
                slow.go.wait().await;
                slow.sent.fetch_add(1, SeqCst);
                Ok(input)
            }
        });
        // Two calls at the same place, at the same time.
        let twice = tool("twice", "Sends").writes().run_json(|_, call: Call| async move {
            let send = || call.invoke_keyed("the mail", "mail", json!({}));
            let (one, two) = tokio::join!(send(), send());
            Ok(json!([one.is_ok(), two.map(|_| ()).unwrap_err().code()]))
        });
        Registry::new().with(mail).unwrap().with(twice).unwrap().seal()
    }

    async fn call(&self, catalog: &Catalog, journal: &MemoryJournal) -> Result<ToolResult, CallError> {
        catalog.invoke(Invocation::new("mail", json!({})).run_id("r").journal(kept(journal)), ()).await
    }

    fn counts(&self) -> (u32, u32) {
        (self.sent.load(SeqCst), self.asked.load(SeqCst))
    }
}

#[test]
fn a_newer_claim_does_not_ask_about_a_call_that_is_at_work() {
    let (slow, journal) = (Slow::default(), MemoryJournal::new());
    let catalog = slow.catalog();
    block_on(async {
        let (first, second) = tokio::join!(slow.call(&catalog, &journal), async {
            slow.started.wait().await;
            let second = slow.call(&catalog, &journal).await.unwrap_err();
            let Fault::InDoubt { doubt, .. } = second.fault() else { panic!("{second}") };
            assert!(doubt.at_work);
            assert_eq!(slow.counts(), (0, 0));
            slow.go.come();
            second
        });
        assert_eq!((first.unwrap_err().code(), second.code()), ("journal", "in_doubt"));
        assert_eq!(slow.counts(), (1, 0));
        // It is over now, and though its outcome was not written, the world knows.
        slow.call(&catalog, &journal).await.unwrap();
        assert_eq!(slow.counts(), (1, 1));
    });
}

#[test]
fn so_it_is_with_two_calls_at_one_place_of_one_claim() {
    let (slow, journal) = (Slow::default(), MemoryJournal::new());
    let catalog = slow.catalog();
    block_on(async {
        let call = catalog.invoke(Invocation::new("twice", json!({})).run_id("r").journal(kept(&journal)), ());
        let (result, ()) = tokio::join!(call, async {
            slow.started.wait().await;
            slow.go.come();
        });
        assert_eq!((result.unwrap().value(), slow.counts()), (&json!([true, "in_doubt"]), (1, 0)));
    });
}

#[test]
fn nobody_may_answer_that_a_call_at_work_did_not_happen() {
    let (slow, journal) = (Slow::default(), MemoryJournal::new());
    let catalog = slow.catalog();
    let stop = Moment::default();
    let no = || Resolution::new("ann", Verdict::NotHappened);
    block_on(async {
        let first = async {
            let call = slow.call(&catalog, &journal);
            tokio::select! { _ = call => panic!("nobody lets it go on"), () = stop.wait() => {} }
        };
        tokio::join!(first, async {
            slow.started.wait().await;
            // Under the claim that began it, and under a newer one.
            for _ in 0..2 {
                let error = journal.resolve("r", "mail", no()).get().await.unwrap_err();
                assert_eq!(error.kind, JournalErrorKind::Claimed);
                assert_eq!(slow.call(&catalog, &journal).await.unwrap_err().code(), "in_doubt");
            }
            // The first one is dropped half-way.
            stop.come();
        });
        assert_eq!(slow.counts(), (0, 0));
        journal.resolve("r", "mail", no()).get().await.unwrap();
        slow.go.come();
        slow.call(&catalog, &journal).await.unwrap();
        assert_eq!(slow.counts(), (1, 0));
    });
}

#[test]
fn whoever_cancels_a_call_does_not_wait_for_what_became_of_it() {
    let journal = MemoryJournal::new();
    let mail = tool("mail", "Sends").writes().reconcile(|_, _: Arc<Context>| std::future::pending::<Reconciled>());
    let catalog = Registry::new().with(mail.run_json(|input, _| std::future::ready(Ok(input)))).unwrap().seal();
    let source = toolwright::CancelSource::new();
    let call = || Invocation::new("mail", json!({})).run_id("r").journal(kept(&journal)).cancel(source.token());
    block_on(catalog.invoke(call(), ())).unwrap();
    journal.forget_finish("mail");
    let mut asking = Box::pin(catalog.invoke(call(), ()));
    assert!(futures_util::FutureExt::now_or_never(asking.as_mut()).is_none());
    source.cancel();
    assert_eq!(block_on(asking).unwrap_err().code(), "in_doubt");
    assert_eq!(block_on(journal.unfinished().get()).unwrap(), ["r"], "it waits for an answer");
}

#[test]
fn a_journal_does_not_forget_a_run_that_has_not_ended() {
    let sent = Arc::new(Mutex::new(0));
    let count = sent.clone();
    let mail = tool("mail", "Sends").writes().run_json(move |_, _| {
        *count.lock().unwrap() += 1;
        std::future::ready(Err::<Value, _>(toolwright::ToolError::new("no answer").outcome_unknown()))
    });
    let catalog = Registry::new().with(mail).unwrap().seal();
    let journal = MemoryJournal::keeping(1);
    let call = |id: &'static str| {
        let call = Invocation::new("mail", json!({})).run_id(id).journal(kept(&journal));
        block_on(catalog.invoke(call, ())).unwrap_err().code().to_owned()
    };
    call("a");
    assert_eq!((call("a"), *sent.lock().unwrap()), ("in_doubt".to_owned(), 1));
    assert_eq!((call("b"), call("a"), *sent.lock().unwrap()), ("journal".to_owned(), "in_doubt".to_owned(), 1));
}

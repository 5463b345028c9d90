//! A run that ends anywhere and is run again: no effect twice, and the same output where nobody has to be asked.

use std::future::poll_fn;
use std::pin::pin;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::task::Poll;

use toolwright::journal::{Admission, Begin, Claim, End, Finish, Resolution, RunHistory, RunJournal, RunRecord, StepKey, Verdict};
use toolwright::{
    CallError, Catalog, Eventually, Invocation, Journal, JournalError, MemoryJournal, Registry, Text, ToolDef, ToolError, ToolResult,
    Value, json, tool,
};

use crate::world::{Log, block_on, catalog, steps};

type Soon<'a, T> = Eventually<'a, Result<T, JournalError>>;

/// A journal in memory behind a store that takes a while, and that breaks at one operation and stays broken.
#[derive(Clone)]
struct Breaking {
    kept: MemoryJournal,
    operations: Arc<AtomicUsize>,
    /// The operation at which it breaks, from 0.
    at: usize,
    /// What was asked for is still written then, and only the word about it is lost.
    written: bool,
}

struct BreakingRun {
    journal: Breaking,
    run: Arc<dyn RunJournal>,
}

impl Breaking {
    fn new(kept: &MemoryJournal, at: usize, written: bool) -> Self {
        Self { kept: kept.clone(), operations: Arc::default(), at, written }
    }

    fn operation<'a, T: Send + 'a>(&self, work: impl FnOnce() -> Eventually<'a, Result<T, JournalError>> + Send + 'a) -> Soon<'a, T> {
        let number = self.operations.fetch_add(1, Ordering::SeqCst);
        let (at, written) = (self.at, self.written);
        Eventually::Later(Box::pin(async move {
            tokio::task::yield_now().await;
            let done = if number < at || (number == at && written) { Some(work().get().await) } else { None };
            tokio::task::yield_now().await;
            done.filter(|_| number < at).unwrap_or_else(|| Err(JournalError::unwritable("the disk is gone")))
        }))
    }
}

impl Journal for Breaking {
    fn open(&self, run: RunRecord, claim: Claim) -> Soon<'_, Arc<dyn RunJournal>> {
        self.operation(move || {
            let Eventually::Now(opened) = self.kept.open(run, claim) else { panic!("it does not wait") };
            Eventually::Now(opened.map(|run| Arc::new(BreakingRun { journal: self.clone(), run }) as Arc<dyn RunJournal>))
        })
    }

    fn load(&self, run: &str) -> Soon<'_, Option<RunHistory>> {
        self.kept.load(run)
    }

    fn resolve(&self, run: &str, path: &str, resolution: Resolution) -> Soon<'_, ()> {
        self.kept.resolve(run, path, resolution)
    }

    fn unfinished(&self) -> Soon<'_, Vec<Text>> {
        self.kept.unfinished()
    }
}

impl RunJournal for BreakingRun {
    fn begin(&self, record: Begin) -> Soon<'_, Admission> {
        self.journal.operation(move || self.run.begin(record))
    }

    fn finish(&self, record: Finish) -> Soon<'_, ()> {
        self.journal.operation(move || self.run.finish(record))
    }

    fn resolve(&self, key: &StepKey, resolution: Resolution) -> Soon<'_, ()> {
        self.run.resolve(key, resolution)
    }

    fn end(&self, end: End) -> Soon<'_, ()> {
        self.journal.operation(move || self.run.end(end))
    }

    fn epoch(&self) -> u64 {
        self.run.epoch()
    }
}

/// What reached the world outside, by idempotency key.
#[derive(Clone, Default)]
struct World(Arc<Mutex<Vec<String>>>);

impl World {
    fn tool(&self, builder: toolwright::tool::ToolBuilder) -> ToolDef {
        let world = self.clone();
        builder.run_json(move |input, call| {
            let world = world.clone();
            async move {
                tokio::task::yield_now().await;
                world.0.lock().unwrap().push(call.idempotency_key());
                tokio::task::yield_now().await;
                Ok(json!({"done": input.to_json()}))
            }
        })
    }

    /// A mail in the middle of two reads and an effect that may be repeated, and a second mail inside an inner composite.
    fn catalog(&self) -> Catalog {
        let tools = [
            self.tool(tool("read", "A tool").reads()),
            self.tool(tool("mail", "A tool").writes()),
            self.tool(tool("put", "A tool").writes_idempotent()),
        ];
        let policy = toolwright::Policy::new().may_chain(["mail", "put", "inner"]);
        let mut registry = Registry::with_policy(policy);
        for tool in tools {
            registry.register(tool).unwrap();
        }
        let inner = steps(&[("again", "mail", json!({"second": "$input"})), ("note", "put", json!({"n": "$prev"}))]);
        registry.register(crate::world::composite("inner", &inner)).unwrap();
        let main = steps(&[
            ("look", "read", json!({"q": "$input.q"})),
            ("send", "mail", json!({"text": "$prev.done"})),
            ("keep", "put", json!({"sent": "$prev.done"})),
            ("rest", "inner", json!({"from": "$prev"})),
            ("check", "read", json!({"all": "$steps.send", "last": "$prev"})),
        ]);
        registry.register(crate::world::composite("main", &main)).unwrap();
        registry.seal()
    }

    fn mails(&self) -> Vec<String> {
        let mut mails: Vec<String> =
            self.0.lock().unwrap().iter().filter(|key| key.contains("send") || key.contains("again")).cloned().collect();
        mails.sort_unstable();
        mails
    }

    fn no_mail_twice(&self, when: &str) {
        let mails = self.mails();
        let mut once = mails.clone();
        once.dedup();
        assert_eq!(mails, once, "{when}: a mail was sent twice");
    }
}

fn invocation(journal: impl Journal + 'static) -> Invocation {
    Invocation::new("main", json!({"q": "ducks"})).run_id("r1").journal(Arc::new(journal))
}

fn whole() -> Value {
    block_on(World::default().catalog().invoke(Invocation::new("main", json!({"q": "ducks"})), ())).unwrap().output.unwrap()
}

/// Runs it again until it ends; whoever is asked looks into the world. Says how often somebody had to be asked.
async fn resume(world: &World, kept: &MemoryJournal, when: &str) -> (ToolResult, usize) {
    let catalog = world.catalog();
    for asked in 0..4 {
        match catalog.invoke(invocation(kept.clone()), ()).await {
            Ok(result) => return (result, asked),
            Err(error) => assert_eq!(error.code(), "in_doubt", "{when}: {error}"),
        }
        world.no_mail_twice(when);
        let history = kept.load("r1").get().await.unwrap().unwrap();
        let doubts = history.in_doubt();
        assert_eq!(doubts.len(), 1, "{when}");
        let begin = &doubts[0].begin;
        let happened = world.mails().contains(&begin.idempotency_key("r1"));
        let verdict = if happened { Verdict::Happened(Some(json!({"done": begin.input.to_json()}))) } else { Verdict::NotHappened };
        kept.resolve("r1", &begin.key.path(), Resolution::new("anna", verdict)).get().await.unwrap();
    }
    panic!("{when}: it does not end");
}

#[test]
fn a_journal_that_breaks_anywhere_repeats_no_effect() {
    let want = whole();
    let mut asked_in_all = 0;
    // Open, 8 calls of two records each, the end.
    for at in 0..=18 {
        for written in [false, true] {
            let when = format!("broken at {at}, written: {written}");
            let (world, kept) = (World::default(), MemoryJournal::new());
            block_on(async {
                let broken = Breaking::new(&kept, at, written);
                let outcome = world.catalog().invoke(invocation(broken.clone()), ()).await;
                assert_eq!(outcome.map_err(|error| error.code().to_owned()).is_err(), at < 18, "{when}");
                let (result, asked) = resume(&world, &kept, &when).await;
                assert_eq!(result.output.as_ref(), Some(&want), "{when}");
                asked_in_all += asked;
            });
            world.no_mail_twice(&when);
            assert_eq!(world.mails().len(), 2, "{when}");
        }
    }
    assert!(asked_in_all > 0, "somewhere, somebody has to be asked");
}

#[test]
fn a_run_that_is_dropped_anywhere_repeats_no_effect() {
    let want = whole();
    for polls in 0.. {
        let when = format!("dropped after {polls} polls");
        let (world, kept) = (World::default(), MemoryJournal::new());
        let ended = block_on(async {
            let ended = polled(&world.catalog(), &kept, polls).await.is_some();
            let (result, _) = resume(&world, &kept, &when).await;
            assert_eq!(result.output.as_ref(), Some(&want), "{when}");
            ended
        });
        world.no_mail_twice(&when);
        if ended {
            assert!(polls > 30, "{polls} are too few to be all");
            return;
        }
    }
}

/// Polls the run so often, then drops it.
async fn polled(catalog: &Catalog, kept: &MemoryJournal, polls: usize) -> Option<Result<ToolResult, CallError>> {
    let mut run = pin!(catalog.invoke(invocation(Breaking::new(kept, usize::MAX, false)), ()));
    let mut left = polls;
    poll_fn(|waking| {
        while left > 0 {
            left -= 1;
            if let Poll::Ready(outcome) = run.as_mut().poll(waking) {
                return Poll::Ready(Some(outcome));
            }
        }
        Poll::Ready(None)
    })
    .await
}

#[test]
fn a_run_that_ended_is_given_again() {
    let log = Log::new();
    let catalog = catalog([log.writes("send")], &steps(&[("a", "send", json!({"v": "$input.v"}))]));
    let journal = MemoryJournal::new();
    let call = |v: i64| Invocation::new("main", json!({"v": v})).run_id("r1").journal(Arc::new(journal.clone()));
    let first = block_on(catalog.invoke(call(1), ())).unwrap();
    let second = block_on(catalog.invoke(call(1), ())).unwrap();
    assert_eq!((&first.output, &first.effects), (&second.output, &second.effects));
    assert_eq!(log.all().len(), 1);
    let other = block_on(catalog.invoke(call(2), ())).unwrap_err();
    assert!(other.message().contains("another input"), "{other}");
    assert_eq!(log.all().len(), 1);
    // Runs without a name of their own are all new.
    for _ in 0..2 {
        block_on(catalog.invoke(Invocation::new("main", json!({"v": 1})).journal(Arc::new(journal.clone())), ())).unwrap();
    }
    assert_eq!((log.all().len(), journal.runs().len()), (3, 3));
}

#[test]
fn what_failed_runs_again_when_the_tool_answered_and_not_when_nobody_did() {
    for (error, code, tries) in [
        (ToolError::new("out of stock").code("own"), "own", 2),
        (ToolError::new("not reached").nothing_happened(), "tool_failed", 2),
        (ToolError::new("no answer").outcome_unknown(), "in_doubt", 1),
        (ToolError::new("odd answer").it_happened().code("own"), "tool_failed", 1),
    ] {
        let log = Log::new();
        let catalog = catalog([log.fails(tool("send", "A tool").writes(), error.clone())], &steps(&[("a", "send", json!({}))]));
        let journal = MemoryJournal::new();
        let call = || Invocation::new("main", json!({})).run_id("r1").journal(Arc::new(journal.clone()));
        block_on(catalog.invoke(call(), ())).unwrap_err();
        let again = block_on(catalog.invoke(call(), ())).unwrap_err();
        assert_eq!(log.all().len(), tries, "{error}");
        if tries == 1 && code == "tool_failed" {
            assert!(again.message().contains("odd answer"), "the same error again: {again}");
        } else {
            assert_eq!(again.code(), code, "{error}");
        }
    }
}

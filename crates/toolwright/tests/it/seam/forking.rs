//! A fork that ends anywhere while it takes over what another run did, and on its way afterwards: what that run did is never
//! done again.

use std::sync::Arc;

use toolwright::journal::Record;
use toolwright::{CallError, Catalog, Fork, Invocation, Journal, MemoryJournal, Policy, ResumeOptions, Runtime, ToolResult, Value, json};

use super::crashing::{STOPS, Stop, Stopping, World};
use super::fixture::{Tools, steps};
use crate::calling::fixture::ByHand;
use crate::lifecycle_fixture::{App, block_on, cx, reads};

/// A read, a mail, a composite of a write and a mail, a read, a write.
fn catalog(world: &World) -> Catalog<App> {
    let text = || json!({ "text": "$prev" });
    Tools::new(Policy::new().may_chain(["mail", "put", "inner"]))
        .add(world.tool(reads("read")))
        .add(world.mail(false))
        .add(world.tool(App::tool("put", "Puts").writes_idempotent()))
        .add(steps("inner", &[("first", "put", json!({ "text": "$input.text" })), ("post", "mail", text())]))
        .add(steps(
            "main",
            &[
                ("look", "read", json!({ "q": "$input.q" })),
                ("send", "mail", text()),
                ("rest", "inner", text()),
                ("check", "read", json!({ "m": "$prev" })),
                ("keep", "put", json!({ "all": "$prev", "q": "$input.q", "sent": "$steps.send" })),
            ],
        ))
        .seal()
}

fn invocation(journal: Arc<dyn Journal>, id: &'static str, q: &str) -> Invocation {
    Invocation::new("main", json!({ "q": q })).run_id(id).journal(journal)
}

#[derive(Clone, Copy, Debug)]
enum Kill {
    Dropped(usize),
    Died(usize),
    At(usize, Stop),
}

type Running<'a> = toolwright::BoxFuture<'a, Result<ToolResult, CallError>>;

struct Attempt {
    ended: Option<Result<ToolResult, CallError>>,
    polls: usize,
    operations: usize,
}

/// One process: until the end, or until the kill.
fn attempt<'a>(kept: &MemoryJournal, kill: Option<Kill>, call: impl FnOnce(Arc<dyn Journal>) -> Running<'a>) -> Attempt {
    let stopping = Stopping::new(kept, if let Some(Kill::At(at, stop)) = kill { Some((at, stop)) } else { None });
    let mut future = ByHand::new(call(Arc::new(stopping.clone())));
    let most = match kill {
        Some(Kill::Dropped(polls) | Kill::Died(polls)) => polls,
        _ => 10_000,
    };
    let (mut polls, mut ended) = (0, None);
    while polls < most && ended.is_none() && !stopping.is_dead() {
        polls += 1;
        ended = future.poll();
    }
    if matches!(kill, Some(Kill::Died(_))) {
        stopping.die();
    }
    drop(future);
    Attempt { ended, polls, operations: stopping.operations() }
}

struct Place {
    world: World,
    catalog: Catalog<App>,
    old: MemoryJournal,
    from: &'static str,
    q: &'static str,
    /// Mails of the old run that the fork must not send again, by key.
    mails: Vec<String>,
    want: Value,
    kills: Vec<Kill>,
}

impl Place {
    fn new(from: &'static str, q: &'static str, kept_mails: usize) -> Self {
        let world = World::default();
        let catalog = catalog(&world);
        let old = MemoryJournal::new();
        block_on(catalog.invoke(invocation(Arc::new(old.clone()), "r1", "ducks"), cx())).unwrap();
        let mut place = Self { world, catalog, old, from, q, mails: Vec::new(), want: json!(null), kills: Vec::new() };
        assert_eq!(place.world.mails("old").len(), 2);
        place.world.forget();
        let kept = place.copy();
        let whole = attempt(&kept, None, |journal| place.forked(journal));
        let (polls, operations) = (whole.polls, whole.operations);
        let want = whole.ended.unwrap().unwrap().value().clone();
        place.want = want;
        place.mails = place.world.mails("whole");
        assert_eq!(place.mails.len(), 2 - kept_mails, "{from}");
        let polled = (0..=polls).flat_map(|polls| [Kill::Dropped(polls), Kill::Died(polls)]);
        let stopped = (0..=operations).flat_map(|at| STOPS.map(|stop| Kill::At(at, stop)));
        place.kills = polled.chain(stopped).collect();
        place
    }

    /// A journal that has the old run and no fork.
    fn copy(&self) -> MemoryJournal {
        let kept = MemoryJournal::new();
        let history = block_on(self.old.load("r1").get()).unwrap().unwrap();
        let run = block_on(kept.open(history.run, history.claimed.claim).get()).ok().unwrap();
        for record in history.records {
            match record {
                Record::Begin(begin) => drop(block_on(run.begin(begin).get()).unwrap()),
                Record::Finish(finish) => block_on(run.finish(finish).get()).unwrap(),
                Record::End(end) => block_on(run.end(end).get()).unwrap(),
                other => panic!("{other:?}"),
            }
        }
        kept
    }

    fn forked(&self, journal: Arc<dyn Journal>) -> Running<'_> {
        let fork = Fork::new("r1", "r2", self.from).input(json!({ "q": self.q }));
        Box::pin(async move { self.catalog.fork_run(&journal, fork, cx(), ResumeOptions::new()).await })
    }

    fn resumed(&self, journal: Arc<dyn Journal>) -> Running<'_> {
        Box::pin(async move { self.catalog.resume_run(&journal, "r2", cx(), ResumeOptions::new()).await })
    }

    /// Nothing reached the world that the uninterrupted fork would not have done, and no mail came twice.
    fn assert_nothing_of_the_old_run(&self, when: &str) {
        for key in self.world.mails(when) {
            assert!(self.mails.contains(&key), "{when}: {key}");
        }
        for key in self.world.keys() {
            assert!(key.starts_with("r2/"), "{when}: {key}");
            assert!(self.want_keys().iter().any(|want| key.contains(want)), "{when}: `{key}` is before the step");
        }
    }

    /// Steps that really run.
    fn want_keys(&self) -> &'static [&'static str] {
        match self.from {
            "keep" => &["4:keep"],
            "2:rest/1:post" => &["1:post", "3:check", "4:keep"],
            "main/1:send" => &["1:send", "2:rest", "3:check", "4:keep"],
            other => panic!("{other}"),
        }
    }
}

const PLACES: [(&str, &str, usize); 3] = [("keep", "geese", 2), ("2:rest/1:post", "ducks", 1), ("main/1:send", "geese", 0)];

#[test]
fn wherever_a_fork_is_killed_nothing_before_its_step_runs_again() {
    let mut kills = 0;
    for (from, q, kept_mails) in PLACES {
        let place = Place::new(from, q, kept_mails);
        for (number, kill) in place.kills.iter().enumerate() {
            let when = format!("{from}, {kill:?}");
            place.world.forget();
            let kept = place.copy();
            let first = attempt(&kept, Some(*kill), |journal| place.forked(journal));
            kills += usize::from(first.ended.is_none_or(|ended| ended.is_err()));
            place.assert_nothing_of_the_old_run(&when);
            let made = block_on(kept.load("r2").get()).unwrap().is_some();
            if made {
                // Whoever does not know that it is a fork may not run it.
                let plain = attempt(&kept, None, |journal| Box::pin(place.catalog.invoke(invocation(journal, "r2", place.q), cx())));
                let error = plain.ended.unwrap().unwrap_err();
                assert_eq!(error.code(), "diverged", "{when}: {error}");
                assert!(error.message().contains("fork of run `r1`"), "{when}: {error}");
                place.assert_nothing_of_the_old_run(&when);
            }
            // The same fork once more, or the fork taken up: in turns.
            for round in 0..4 {
                let again =
                    attempt(
                        &kept,
                        None,
                        |journal| {
                            if made && (number + round) % 2 == 0 { place.resumed(journal) } else { place.forked(journal) }
                        },
                    );
                place.assert_nothing_of_the_old_run(&when);
                match again.ended.unwrap() {
                    Ok(result) => {
                        assert_eq!(result.value(), &place.want, "{when}");
                        break;
                    }
                    Err(error) => {
                        assert!(round < 3, "{when}: it does not end: {error}");
                        assert_eq!(error.code(), "in_doubt", "{when}: {error}");
                        answer(&place.world, &kept);
                    }
                }
            }
            assert_eq!(place.world.mails(&when), place.mails, "{when}");
        }
    }
    assert!(kills >= 400, "{kills} kill points");
}

/// Says what the world knows.
fn answer(world: &World, kept: &MemoryJournal) {
    use toolwright::journal::{Resolution, Verdict};
    for doubt in block_on(kept.load("r2").get()).unwrap().unwrap().in_doubt() {
        let came = world.answer(&doubt.begin.idempotency_key("r2"));
        let verdict = came.map_or(Verdict::NotHappened, |answer| Verdict::Happened(Some(answer)));
        block_on(kept.resolve("r2", &doubt.begin.key.path(), Resolution::new("anna", verdict)).get()).unwrap();
    }
}

#[test]
fn a_fork_that_is_killed_twice_is_the_same_fork() {
    let mut kills = 0;
    for (from, q, kept_mails) in PLACES {
        let place = Place::new(from, q, kept_mails);
        for (number, first) in place.kills.iter().enumerate().step_by(5) {
            for second in place.kills.iter().skip(number / 5 % 11).step_by(11) {
                let when = format!("{from}, {first:?}, {second:?}");
                place.world.forget();
                let kept = place.copy();
                attempt(&kept, Some(*first), |journal| place.forked(journal));
                let again = attempt(&kept, Some(*second), |journal| place.forked(journal));
                kills += usize::from(again.ended.is_none_or(|ended| ended.is_err()));
                place.assert_nothing_of_the_old_run(&when);
                let mut rounds = 0;
                let value = loop {
                    match attempt(&kept, None, |journal| place.forked(journal)).ended.unwrap() {
                        Ok(result) => break result.value().clone(),
                        Err(error) => assert_eq!(error.code(), "in_doubt", "{when}: {error}"),
                    }
                    answer(&place.world, &kept);
                    rounds += 1;
                    assert!(rounds < 5, "{when}: it does not end");
                };
                assert_eq!(value, place.want, "{when}");
                place.assert_nothing_of_the_old_run(&when);
                assert_eq!(place.world.mails(&when), place.mails, "{when}");
            }
        }
    }
    assert!(kills >= 500, "{kills} pairs");
}

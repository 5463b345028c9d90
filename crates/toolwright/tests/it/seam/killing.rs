//! A run that ends anywhere, by the process, by whoever dropped it, or by its journal, and is taken up again until it is
//! over: no mail is sent twice, and what it ends with is what it would have ended with.

use std::sync::Arc;

use toolwright::journal::{Resolution, Verdict};
use toolwright::{
    Call, CallError, Catalog, Effect, Impact, Invocation, Journal, MemoryJournal, Policy, Runtime, ToolError, ToolResult, Value, json,
};

use super::crashing::{STOPS, Stop, Stopping, World};
use super::fixture::{Tools, steps};
use crate::calling::fixture::ByHand;
use crate::lifecycle_fixture::{App, block_on, cx, reads};

/// Where the mail is.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Shape {
    /// A step between others.
    Step,
    /// A step of a composite inside a composite.
    Inner,
    /// Made by a code tool that may be repeated, in order.
    Code,
    /// Made by a code tool that may be repeated, beside a read, under keys.
    Beside,
    /// Made by a code tool that may not be repeated itself.
    Once,
    /// Made by a code tool, inside a composite that a code tool calls.
    Deep,
    /// A step, of which the world can be asked.
    Asked,
    /// Made by a code tool, and the world can be asked.
    AskedInCode,
}

const SHAPES: [Shape; 8] =
    [Shape::Step, Shape::Inner, Shape::Code, Shape::Beside, Shape::Once, Shape::Deep, Shape::Asked, Shape::AskedInCode];

async fn in_order(input: Value, call: Call<App>) -> Result<Value, ToolError> {
    let read = call.invoke("read", json!({ "for": input })).await?;
    let sent = call.invoke("mail", json!({ "text": read.value().clone() })).await?;
    let put = call.invoke("put", json!({ "sent": sent.value().clone() })).await?;
    Ok(json!([sent.value().clone(), put.value().clone()]))
}

async fn beside(input: Value, call: Call<App>) -> Result<Value, ToolError> {
    let mail = call.invoke_keyed("the mail", "mail", json!({ "text": input.clone() }));
    let read = call.invoke_keyed("the read", "read", input);
    let (sent, read) = tokio::join!(mail, read);
    Ok(json!([sent?.value().clone(), read?.value().clone()]))
}

async fn deeper(input: Value, call: Call<App>) -> Result<Value, ToolError> {
    let inner = call.invoke("inner", json!({ "text": input })).await?;
    Ok(call.invoke("read", json!({ "last": inner.value().clone() })).await?.value().clone())
}

impl Shape {
    fn asks(self) -> bool {
        matches!(self, Self::Asked | Self::AskedInCode)
    }

    fn code(self) -> toolwright::ToolDef<App> {
        let repeatable = Effect::new("write", if self == Self::Once { Impact::Once } else { Impact::Idempotent });
        let code = App::tool("code", "Calls others").effect(repeatable);
        if self == Self::Beside { code.run_json(beside) } else { code.run_json(in_order) }
    }

    /// `main` is the run.
    fn catalog(self, world: &World) -> Catalog<App> {
        let tools = Tools::new(Policy::new().may_chain(["mail", "put", "code", "inner", "deep"]))
            .add(world.tool(reads("read")))
            .add(world.mail(self.asks()))
            .add(world.tool(App::tool("put", "Puts").writes_idempotent()))
            .add(self.code());
        let text = || json!({ "text": "$prev" });
        let (name, middle) = match self {
            Self::Step | Self::Asked => ("send", "mail"),
            Self::Inner => ("rest", "inner"),
            Self::Deep => ("deep", "deep"),
            Self::Code | Self::Beside | Self::Once | Self::AskedInCode => ("code", "code"),
        };
        let within = if self == Self::Deep { "code" } else { "mail" };
        let deep = App::tool("deep", "Calls a composite").writes_idempotent().run_json(deeper);
        tools
            .add(steps(
                "inner",
                &[("first", "put", json!({ "text": "$input.text" })), ("send", within, text()), ("then", "read", json!({ "m": "$prev" }))],
            ))
            .add(deep)
            .add(steps(
                "main",
                &[
                    ("look", "read", json!({ "q": "$input.q" })),
                    (name, middle, text()),
                    ("keep", "put", json!({ "sent": "$prev" })),
                    ("check", "read", json!({ "all": "$steps.look", "last": "$prev" })),
                ],
            ))
            .seal()
    }
}

/// A catalogue and its world, used again for every run.
struct Place {
    shape: Shape,
    world: World,
    catalog: Catalog<App>,
    /// How the run ends that nothing stops.
    want: Value,
    /// All the ends that a process of it can have.
    kills: Vec<Kill>,
}

impl Place {
    fn new(shape: Shape) -> Self {
        let world = World::default();
        let catalog = shape.catalog(&world);
        let journal = Stopping::new(&MemoryJournal::new(), None);
        let whole = attempt(&catalog, &journal, usize::MAX);
        assert_eq!(world.mails("whole").len(), 1);
        let want = whole.ended.unwrap().unwrap().value().clone();
        Self { shape, world, catalog, want, kills: Kill::all(whole.polls, journal.operations()) }
    }

    fn run(&self) -> Run<'_> {
        self.world.forget();
        Run { place: self, kept: MemoryJournal::new(), killed: Vec::new() }
    }
}

/// How one process got on with the run.
struct Attempt {
    /// What it ended with; none when the process or the future ended first.
    ended: Option<Result<ToolResult, CallError>>,
    polls: usize,
}

/// Polls it so often, or until the process ends, and drops it.
fn attempt(catalog: &Catalog<App>, journal: &Stopping, polls: usize) -> Attempt {
    let request = Invocation::new("main", json!({ "q": "ducks" })).run_id("r1").journal(Arc::new(journal.clone()));
    let mut call = ByHand::new(catalog.invoke(request, cx()));
    let mut polled = 0;
    while polled < polls && !journal.is_dead() {
        assert!(polled < 10_000, "it hangs");
        polled += 1;
        if let Some(ended) = call.poll() {
            return Attempt { ended: Some(ended), polls: polled };
        }
    }
    Attempt { ended: None, polls: polled }
}

/// One end of a process.
#[derive(Clone, Copy, Debug)]
enum Kill {
    /// The future is dropped after so many polls, and the process lives on.
    Dropped(usize),
    /// The process ends after so many polls.
    Died(usize),
    /// The journal stops at this operation.
    At(usize, Stop),
}

impl Kill {
    /// All there are for a run of so many polls and operations.
    fn all(polls: usize, operations: usize) -> Vec<Self> {
        let polled = (0..=polls).flat_map(|polls| [Self::Dropped(polls), Self::Died(polls)]);
        let stopped = (0..=operations).flat_map(|at| STOPS.map(|stop| Self::At(at, stop)));
        polled.chain(stopped).collect()
    }
}

/// A run under way, through several processes.
struct Run<'a> {
    place: &'a Place,
    kept: MemoryJournal,
    killed: Vec<Kill>,
}

impl Run<'_> {
    fn when(&self) -> String {
        format!("{:?}, {:?}", self.place.shape, self.killed)
    }

    /// How often each mail came.
    fn mails(&self) -> usize {
        self.place.world.mails(&self.when()).len()
    }

    /// One process; whether its end came before that of the run.
    fn killed(&mut self, kill: Kill) -> bool {
        self.killed.push(kill);
        let catalog = &self.place.catalog;
        let journal = Stopping::new(&self.kept, if let Kill::At(at, stop) = kill { Some((at, stop)) } else { None });
        let outcome = match kill {
            Kill::Dropped(polls) => attempt(catalog, &journal, polls),
            Kill::Died(polls) => {
                let request = Invocation::new("main", json!({ "q": "ducks" })).run_id("r1").journal(Arc::new(journal.clone()));
                let mut call = ByHand::new(catalog.invoke(request, cx()));
                let ended = (0..polls).find_map(|_| call.poll());
                journal.die();
                Attempt { ended, polls }
            }
            Kill::At(..) => attempt(catalog, &journal, usize::MAX),
        };
        self.mails();
        outcome.ended.is_none_or(|ended| ended.is_err())
    }

    /// Takes it up until it is over; whoever is asked looks at the world. Gives the output, and how often somebody had to
    /// be asked.
    fn ends(&self) -> (Value, usize) {
        for asked in 0..6 {
            let error = match attempt(&self.place.catalog, &Stopping::new(&self.kept, None), usize::MAX).ended.unwrap() {
                Ok(result) => return (result.value().clone(), asked),
                Err(error) => error,
            };
            assert_eq!(error.code(), "in_doubt", "{}: {error}", self.when());
            assert!(!self.place.shape.asks(), "{}: the world can be asked", self.when());
            self.mails();
            self.answer();
        }
        panic!("{}: it does not end", self.when());
    }

    fn answer(&self) {
        let history = block_on(self.kept.load("r1").get()).unwrap().unwrap();
        let doubts = history.in_doubt();
        assert!(!doubts.is_empty(), "{}", self.when());
        for doubt in doubts {
            let answer = self.place.world.answer(&doubt.begin.idempotency_key("r1"));
            // A code tool does nothing but by calls, and those are answered for by themselves.
            let verdict = answer.map_or(Verdict::NotHappened, |answer| Verdict::Happened(Some(answer)));
            block_on(self.kept.resolve("r1", &doubt.begin.key.path(), Resolution::new("anna", verdict)).get()).unwrap();
        }
    }

    fn ends_as_if_nothing_were(&self) -> usize {
        let (output, asked) = self.ends();
        assert_eq!(output, self.place.want, "{}", self.when());
        assert_eq!(self.mails(), 1, "{}", self.when());
        asked
    }
}

#[test]
fn ts_17_wherever_a_run_is_killed_no_mail_is_sent_twice() {
    let (mut kills, mut asked) = (0, 0);
    for place in SHAPES.map(Place::new) {
        for kill in &place.kills {
            let mut run = place.run();
            kills += usize::from(run.killed(*kill));
            asked += run.ends_as_if_nothing_were();
        }
    }
    // Counted, so that none is lost without somebody noticing; and now and then somebody has to be asked.
    assert!(kills >= 1_500, "{kills} kill points");
    assert!(asked >= 100, "asked {asked} times");
}

#[test]
fn ts_17_a_run_that_is_killed_again_while_it_is_taken_up_sends_no_mail_twice() {
    let mut kills = 0;
    for place in SHAPES.map(Place::new) {
        // Every third end of the first process with some ends of the second, others each time.
        for (number, kill) in place.kills.iter().enumerate().step_by(3) {
            for again in place.kills.iter().skip(number / 3 % 29).step_by(29) {
                let mut run = place.run();
                kills += usize::from(run.killed(*kill) && run.killed(*again));
                run.ends_as_if_nothing_were();
            }
        }
    }
    assert!(kills >= 2_500, "{kills} pairs");
}

#[test]
fn ts_17_a_run_that_is_killed_after_somebody_answered_goes_by_the_answer() {
    let mut kills = 0;
    for place in SHAPES.map(Place::new) {
        for (number, first) in place.kills.iter().filter(|kill| matches!(kill, Kill::Died(_))).enumerate() {
            for again in place.kills.iter().skip(number % 13).step_by(13) {
                let mut run = place.run();
                run.killed(*first);
                let history = block_on(run.kept.load("r1").get()).unwrap();
                if history.is_none_or(|history| history.in_doubt().is_empty()) {
                    break;
                }
                run.answer();
                kills += usize::from(run.killed(*again));
                run.ends_as_if_nothing_were();
            }
        }
    }
    assert!(kills >= 500, "{kills} kills");
}

#[test]
fn ts_17_two_processes_that_are_at_it_at_once_send_no_mail_twice() {
    let mut both = 0;
    for place in SHAPES.into_iter().filter(|shape| !shape.asks()).map(Place::new) {
        for polls in (0..).take_while(|polls| *polls < place.kills.len()) {
            let run = place.run();
            let journal = Stopping::new(&run.kept, None);
            let request = Invocation::new("main", json!({ "q": "ducks" })).run_id("r1").journal(Arc::new(journal));
            let mut slow = ByHand::new(place.catalog.invoke(request, cx()));
            if (0..polls).any(|_| slow.poll().is_some()) {
                break;
            }
            // The other one takes the run over, and nobody answers it.
            let quick = attempt(&place.catalog, &Stopping::new(&run.kept, None), usize::MAX).ended.unwrap();
            if let Err(error) = &quick {
                assert_eq!(error.code(), "in_doubt", "{:?} after {polls}: {error}", place.shape);
            }
            let slow = (0..1_000).find_map(|_| slow.poll()).unwrap();
            // It was claimed over; or it was over before, or came second and is answered by the journal.
            if let Ok(result) = slow {
                assert_eq!(result.value(), &place.want, "{:?} after {polls}", place.shape);
            }
            run.mails();
            both += 1;
            run.ends_as_if_nothing_were();
        }
    }
    assert!(both >= 250, "{both} pairs");
}

//! Approvals: a yes to exactly one call, or to those of a plan; nobody to ask, no time left, another call by then.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use toolwright::approval::{Answer, Answered, Approval, Approvals, Approve, Outcome, Request};
use toolwright::journal::JournalErrorKind;
use toolwright::{
    Answer as Given, Approver, BoxFuture, Call, CallError, CancelSource, Catalog, Composite, CompositeSpec, Context, Invocation, Journal,
    MemoryJournal, Policy, Registry, ResumeOptions, StepOutputs, ToolDef, ToolError, ToolResult, Value, json, tool,
};

use crate::field_cases::{at, case, stand_in};
use crate::world::{Log, Moment, TestClock, block_on, composite, steps};

/// Somebody who answers in turn, and notes what they were shown.
#[derive(Clone)]
struct Person {
    answers: Arc<Mutex<Vec<Answer>>>,
    shown: Arc<Mutex<Vec<Request>>>,
}

impl Person {
    /// The last answer is given again and again.
    fn new(answers: impl IntoIterator<Item = Answer>) -> Self {
        let mut answers: Vec<Answer> = answers.into_iter().collect();
        answers.reverse();
        Self { answers: Arc::new(Mutex::new(answers)), shown: Arc::default() }
    }

    fn shown(&self) -> Vec<Request> {
        self.shown.lock().unwrap().clone()
    }

    fn asked(&self) -> Vec<String> {
        self.shown().iter().map(|request| request.path.to_string()).collect()
    }
}

impl Approver for Person {
    fn ask<'a>(&'a self, request: &'a Request) -> BoxFuture<'a, Answer> {
        self.shown.lock().unwrap().push(request.clone());
        let mut answers = self.answers.lock().unwrap();
        let answer = if answers.len() > 1 { answers.pop() } else { answers.first().cloned() };
        Box::pin(std::future::ready(answer.unwrap_or(Answer::Nobody)))
    }
}

fn yes() -> Answer {
    Answer::Yes { who: "ann".into() }
}

fn no(reason: &str) -> Answer {
    Answer::No { who: "ann".into(), reason: reason.into() }
}

fn approvals(rules: &[(&str, Approve)], person: &Person) -> Approvals {
    let rules = rules.iter().fold(Approvals::new(), |approvals, (tool, rule)| approvals.tool(*tool, *rule));
    rules.approver(Arc::new(person.clone()))
}

fn built(approvals: Approvals, tools: impl IntoIterator<Item = ToolDef>, main: Option<Composite>) -> Catalog {
    let tools: Vec<ToolDef> = tools.into_iter().collect();
    let listed: Vec<String> = tools.iter().map(|tool| tool.name().to_owned()).chain(["inner".to_owned()]).collect();
    let mut registry = Registry::with_policy(Policy::new().may_chain(listed).approvals(approvals));
    for tool in tools {
        registry.register(tool).unwrap();
    }
    if let Some(main) = main {
        registry.register(main).unwrap();
    }
    registry.seal()
}

fn start(catalog: &Catalog, tool: &str, input: Value, journal: &MemoryJournal) -> Result<ToolResult, CallError> {
    block_on(catalog.invoke(Invocation::new(tool, input).run_id("r1").journal(Arc::new(journal.clone())), ()))
}

fn resume(catalog: &Catalog, journal: &MemoryJournal) -> Result<ToolResult, CallError> {
    let kept: Arc<dyn Journal> = Arc::new(journal.clone());
    block_on(catalog.resume_run(&kept, "r1", (), ResumeOptions::new()))
}

fn kept(journal: &MemoryJournal) -> Vec<Approval> {
    block_on(journal.load("r1").get()).unwrap().unwrap().approvals()
}

fn answer(journal: &MemoryJournal, outcome: Outcome) -> Result<(), JournalErrorKind> {
    let id = kept(journal).last().unwrap().id().to_owned();
    block_on(journal.answer("r1", Answered::new(id, outcome, "ann").rule("the test")).get()).map_err(|error| error.kind)
}

/// What the smallest call says that ends with this code.
pub(crate) fn produce(code: &str) -> Vec<(String, String, Option<String>)> {
    let answer = match code {
        "approval_required" => Answer::Later,
        "approval_expired" => Answer::Expired,
        _ => Answer::Nobody,
    };
    let (log, journal) = (Log::new(), MemoryJournal::new());
    let catalog = built(approvals(&[("send", Approve::Always)], &Person::new([answer])), [log.writes("send")], None);
    let error = start(&catalog, "send", json!({}), &journal).unwrap_err();
    assert!(log.is_empty());
    vec![(error.code().to_owned(), error.message(), error.help())]
}

#[test]
fn a_call_by_name_and_a_step_are_asked_for_with_their_final_arguments() {
    let (log, person, journal) = (Log::new(), Person::new([yes()]), MemoryJournal::new());
    let schema = json!({"type": "object", "properties": {"n": {"type": "integer"}}});
    let send = log.close(tool("send", "Sends").writes().input_schema(schema), |input| Ok(Given::new(input)));
    let main = composite("main", &steps(&[("look", "look", json!({})), ("out", "send", json!({"n": "$prev.n"}))]));
    let look = log.gives("look", Value::parse(r#"{"n": 7.0}"#).unwrap());
    let catalog = built(approvals(&[("send", Approve::Always), ("look", Approve::Always)], &person), [send, look], Some(main));
    let context = Context::new(json!({"caller": {"principal": "bob"}}));
    block_on(catalog.invoke(Invocation::new("send", Value::parse(r#"{"n": 1.0}"#).unwrap()), context)).unwrap();
    start(&catalog, "main", json!({}), &journal).unwrap();
    let shown = person.shown();
    assert_eq!(person.asked(), ["send", "main/1:out"], "what only reads is not asked for");
    assert_eq!(shown[0].arguments.to_json_string(), r#"{"n":1}"#, "as it reaches the tool");
    assert_eq!(shown[1].arguments.to_json_string(), r#"{"n":7}"#);
    assert_eq!((shown[0].caller.as_str(), shown[0].plan.is_none()), ("bob", true));
    let plan = shown[1].plan.as_ref().unwrap();
    assert_eq!((plan.composite.as_str(), plan.step.as_str()), ("main", "out"));
    assert_eq!(plan.steps, ["look", "out"]);
    assert_eq!(shown[1].rule, "sideEffectingTools: send: approve: always");
    let kept = kept(&journal);
    assert_eq!((kept[0].asked.request.clone(), kept[0].outcome()), (shown[1].clone(), Some(Outcome::Yes)));
    assert_eq!(kept[0].used, ["main/1:out"]);
    assert_eq!(log.tools(), ["send", "look", "send"]);
}

#[test]
fn nobody_a_no_and_a_broken_approver_run_nothing_and_the_journal_says_who_decided() {
    struct Broken;
    impl Approver for Broken {
        fn ask<'a>(&'a self, _: &'a Request) -> BoxFuture<'a, Answer> {
            panic!("no socket")
        }
    }
    let rule = || Approvals::new().tool("send", Approve::Always);
    let person = |answer| Arc::new(Person::new([answer])) as Arc<dyn Approver>;
    type Case = (Option<Arc<dyn Approver>>, Outcome, &'static str, &'static str);
    let cases: [Case; 4] = [
        (None, Outcome::Nobody, "toolwright", "nobody to ask"),
        (Some(Arc::new(Broken)), Outcome::Nobody, "toolwright", "nobody to ask"),
        (Some(person(Answer::Nobody)), Outcome::Nobody, "toolwright", "nobody to ask"),
        (Some(person(no("too much"))), Outcome::No, "ann", "ann said no, \"too much\""),
    ];
    for (approver, outcome, who, words) in cases {
        let approvals = match approver {
            Some(approver) => rule().approver(approver),
            None => rule(),
        };
        for main in [false, true] {
            let (log, journal) = (Log::new(), MemoryJournal::new());
            let over = composite("main", &steps(&[("a", "send", json!({}))]));
            let catalog = built(approvals.clone(), [log.writes("send")], Some(over));
            let error = start(&catalog, if main { "main" } else { "send" }, json!({}), &journal).unwrap_err();
            assert_eq!(error.code(), "approval_denied");
            assert!(error.is_refusal() && error.message().contains(words), "{error}");
            assert!(!error.for_model().to_json_string().contains("ann"));
            let answered = kept(&journal)[0].answered.clone().unwrap();
            assert_eq!((answered.outcome, answered.who.as_str()), (outcome, who));
            assert!(!answered.rule.is_empty());
            assert!(log.is_empty());
            // Without a journal it is the same.
            let error = block_on(catalog.invoke(Invocation::new("send", json!({})), ())).unwrap_err();
            assert_eq!(error.code(), "approval_denied");
            assert!(log.is_empty());
        }
    }
}

#[test]
fn a_run_that_waits_goes_on_with_the_answer_and_repeats_nothing() {
    let case = case("56-resume-does-not-rerun");
    let later = Person::new([Answer::Later]);
    let process = |log: &Log| {
        let tools: Vec<ToolDef> = at(&case, "/tools").as_array().unwrap().iter().map(|tool| stand_in(log, tool)).collect();
        let main = Composite::new("main", "the case").spec(CompositeSpec::from_value(at(&case, "/composition")).unwrap());
        built(approvals(&[("ship", Approve::Always)], &later), tools, Some(main))
    };
    let (log, journal) = (Log::new(), MemoryJournal::new());
    assert_eq!(start(&process(&log), "main", json!({}), &journal).unwrap_err().code(), "approval_required");
    assert_eq!(block_on(journal.unfinished().get()).unwrap(), ["r1"], "a run that waits is not over");
    let id = kept(&journal)[0].id().to_owned();
    let restarted = Log::new();
    let catalog = process(&restarted);
    for _ in 0..2 {
        assert_eq!(resume(&catalog, &journal).unwrap_err().code(), "approval_required");
        assert_eq!(kept(&journal).iter().map(Approval::id).collect::<Vec<_>>(), [id.as_str()], "the same question");
    }
    answer(&journal, Outcome::Yes).unwrap();
    for second in [Outcome::Yes, Outcome::No] {
        assert_eq!(answer(&journal, second), Err(JournalErrorKind::NotInDoubt), "a second answer is refused");
    }
    assert_eq!(resume(&catalog, &journal).unwrap().value(), &json!({"ok": true}));
    assert_eq!((log.tools(), restarted.tools()), (vec!["debit".to_owned()], vec!["ship".to_owned()]), "debited once, shipped once");
    assert_eq!(restarted.input_of("ship"), *at(&case, "/expected/step_args/ship"));
    assert!(resume(&catalog, &journal).unwrap().replayed());
    assert_eq!(restarted.tools(), ["ship"]);
}

#[test]
fn a_no_that_came_while_the_run_waited_ends_it_and_another_attempt_asks_again() {
    let (log, person, journal) = (Log::new(), Person::new([Answer::Later, yes()]), MemoryJournal::new());
    let catalog = built(approvals(&[("send", Approve::Always)], &person), [log.writes("send")], None);
    start(&catalog, "send", json!({}), &journal).unwrap_err();
    answer(&journal, Outcome::No).unwrap();
    assert_eq!(resume(&catalog, &journal).unwrap_err().code(), "approval_denied");
    assert!(log.is_empty() && person.shown().len() == 1, "nobody is asked what was answered");
    resume(&catalog, &journal).unwrap();
    assert_eq!((kept(&journal).len(), log.tools().len()), (2, 1));
}

/// A tool that pays as much as the cell says, by calling `pay`.
fn checkout(amount: &Arc<Mutex<Value>>) -> ToolDef {
    let amount = amount.clone();
    tool("checkout", "Pays by another tool").writes().run_json(move |_, call: Call| {
        let arguments = amount.lock().unwrap().clone();
        async move { Ok::<_, ToolError>(call.invoke_keyed("one", "pay", arguments).await?.output.unwrap_or(Value::Null)) }
    })
}

#[test]
fn c59_a_yes_is_for_exactly_what_was_shown() {
    let case = case("59-approval-bound-to-arguments");
    let trials = at(&case, "/expected/trials").as_array().unwrap();
    let of = |name: &str| trials.iter().find(|trial| trial.get("name").and_then(Value::as_str) == Some(name)).unwrap();
    let error_kind = |name: &str| of(name).get("error_kind").and_then(Value::as_str).unwrap().to_owned();
    let (final_arguments, turned) = (at(of("plain"), "/shown_to_approver").clone(), json!({"amount": 40, "to": "x"}));
    for name in ["plain", "changed after approval", "definition changed after approval", "same call, keys in other order"] {
        let (log, journal, person) = (Log::new(), MemoryJournal::new(), Person::new([Answer::Later]));
        // What the case calls a hook that rewrites the amount is a tool that pays by another one.
        let cell = Arc::new(Mutex::new(final_arguments.clone()));
        let described = |text: &str| stand_in(&log, &at(&case, "/tools").as_array().unwrap()[0]).with_description(text);
        let catalog = |text: &str| built(approvals(&[("pay", Approve::Always)], &person), [described(text), checkout(&cell)], None);
        let error = start(&catalog("pays"), "checkout", at(&case, "/input/args").clone(), &journal).unwrap_err();
        assert_eq!(error.code(), "approval_required", "{error}");
        assert_eq!(person.shown()[0].arguments, final_arguments, "the approver sees the final value");
        answer(&journal, Outcome::Yes).unwrap();
        let next = catalog(if name.starts_with("definition") { "pays twice" } else { "pays" });
        match name {
            "changed after approval" => *cell.lock().unwrap() = json!({"to": "x", "amount": 41}),
            "same call, keys in other order" => *cell.lock().unwrap() = turned.clone(),
            _ => {}
        }
        let outcome = resume(&next, &journal);
        if of(name).get("error_kind").is_none() {
            outcome.unwrap();
            assert_eq!(log.all().len(), 1);
            assert_eq!(log.all()[0].input, final_arguments);
        } else {
            assert_eq!(outcome.unwrap_err().code(), error_kind(name));
            assert!(log.is_empty(), "the tool never ran");
            assert_eq!(kept(&journal)[0].outcome(), Some(Outcome::Withdrawn), "that yes counts no more");
            // Another attempt asks anew, and shows what would be done now.
            assert_eq!(resume(&next, &journal).unwrap_err().code(), "approval_required");
            assert_eq!(person.shown().last().unwrap().arguments, *cell.lock().unwrap());
            assert!(log.is_empty());
        }
    }
    let (log, journal, person) = (Log::new(), MemoryJournal::new(), Person::new([yes(), Answer::Later]));
    let failing = log.fails(tool("pay", "pays").writes(), ToolError::new("the line was cut").nothing_happened());
    let catalog = built(approvals(&[("pay", Approve::Always)], &person), [failing], None);
    assert_eq!(start(&catalog, "pay", final_arguments, &journal).unwrap_err().code(), "tool_failed");
    assert_eq!(resume(&catalog, &journal).unwrap_err().code(), error_kind("approval used twice"));
    assert_eq!(log.tools().len(), 1, "one yes, one call");
}

#[test]
fn c60_nobody_to_ask_and_nobody_who_answers() {
    let case = case("60-nobody-to-ask");
    let trials = at(&case, "/expected/trials").as_array().unwrap();
    let expiry = Duration::from_secs(at(&case, "/input/approvals/expiry_s").as_u64().unwrap());
    struct Silent;
    impl Approver for Silent {
        fn ask<'a>(&'a self, _: &'a Request) -> BoxFuture<'a, Answer> {
            Box::pin(std::future::pending())
        }
    }
    for trial in trials {
        let (log, journal) = (Log::new(), MemoryJournal::new());
        let rule = Approvals::new().tool("wipe", Approve::Always).expire_after(expiry);
        let rule = if at(trial, "/name") == &json!("no asker") { rule } else { rule.approver(Arc::new(Silent)) };
        let catalog = built(rule, [stand_in(&log, &at(&case, "/tools").as_array().unwrap()[0])], None);
        let call = Invocation::new("wipe", json!({})).run_id("r1").journal(Arc::new(journal.clone())).clock(Arc::new(Leaping::default()));
        let error = block_on(catalog.invoke(call, ())).unwrap_err();
        assert_eq!(Value::from(error.code()), *at(trial, "/error_kind"));
        assert!(log.is_empty());
        let answered = kept(&journal)[0].answered.clone().unwrap();
        assert!(answered.rule.contains("means no"), "{answered:?}");
    }
}

/// A clock on which a second passes at each look.
#[derive(Default)]
struct Leaping(std::sync::atomic::AtomicU64);

impl toolwright::Clock for Leaping {
    fn now(&self) -> toolwright::Timestamp {
        toolwright::Timestamp(self.0.fetch_add(1_000_000_000, std::sync::atomic::Ordering::Relaxed))
    }

    fn sleep(&self, _: Duration) -> BoxFuture<'static, ()> {
        Box::pin(tokio::time::sleep(Duration::from_millis(1)))
    }
}

#[test]
fn an_answer_that_somebody_else_writes_down_is_noticed_and_a_cancelled_run_does_not_wait() {
    struct Away(Moment);
    impl Approver for Away {
        fn ask<'a>(&'a self, _: &'a Request) -> BoxFuture<'a, Answer> {
            self.0.come();
            Box::pin(std::future::pending())
        }
    }
    for cancels in [false, true] {
        let (log, journal, asked, source) = (Log::new(), MemoryJournal::new(), Moment::default(), CancelSource::new());
        let rule = Approvals::new().tool("send", Approve::Always).approver(Arc::new(Away(asked.clone())));
        let catalog = built(rule, [log.writes("send")], None);
        let clock = TestClock::default();
        let call = Invocation::new("send", json!({})).run_id("r1").journal(Arc::new(journal.clone())).cancel(source.token());
        let call = call.clock(Arc::new(clock.clone()));
        let outcome = block_on(async {
            let running = catalog.invoke(call, ());
            let elsewhere = async {
                asked.wait().await;
                if cancels {
                    source.cancel();
                } else {
                    let id = journal.load("r1").get().await.unwrap().unwrap().approvals()[0].id().to_owned();
                    journal.answer("r1", Answered::new(id, Outcome::Yes, "bob")).get().await.unwrap();
                    clock.over.come();
                }
            };
            futures_util::future::join(running, elsewhere).await.0
        });
        assert_eq!(outcome.map(|_| ()).map_err(|error| error.code().to_owned()), if cancels { Err("cancelled".into()) } else { Ok(()) });
        assert_eq!(log.tools().len(), usize::from(!cancels));
        let outcome = if cancels { Outcome::Withdrawn } else { Outcome::Yes };
        assert_eq!(kept(&journal)[0].outcome(), Some(outcome), "what nobody waits for is closed");
        if cancels {
            assert_eq!(answer(&journal, Outcome::Yes), Err(JournalErrorKind::NotInDoubt));
        }
    }
}

/// Reads first, then three writes; the last needs what the second gives. `inner` writes once more.
fn plan(log: &Log, person: &Person, rules: &[(&str, Approve)]) -> Catalog {
    let inner = composite("inner", &steps(&[("deep", "send", json!({"x": "$input.x"}))]));
    let main = composite(
        "main",
        &steps(&[
            ("look", "look", json!({})),
            ("one", "send", json!({"x": "$prev.x"})),
            ("two", "send", json!({"x": "$steps.look.y"})),
            ("in", "inner", json!({"x": "$steps.look.x"})),
            ("last", "send", json!({"x": "$steps.two.x", "from": "$steps.two"})),
            ("own", "pay", json!({"x": 1})),
        ]),
    );
    let tools = [log.writes("send"), log.writes("pay"), log.gives("look", json!({"x": 1, "y": 2}))];
    let listed = ["send", "pay", "inner"];
    let mut registry = Registry::with_policy(Policy::new().may_chain(listed).approvals(approvals(rules, person)));
    for tool in tools {
        registry.register(tool).unwrap();
    }
    registry.register(inner).unwrap().register(main).unwrap();
    registry.seal()
}

#[test]
fn once_per_plan_one_yes_covers_the_writes_whose_arguments_are_known() {
    let rules = [("send", Approve::OncePerPlan), ("pay", Approve::Always)];
    for journalled in [true, false] {
        let (log, person, journal) = (Log::new(), Person::new([yes()]), MemoryJournal::new());
        let catalog = plan(&log, &person, &rules);
        let outcome = if journalled {
            start(&catalog, "main", json!({}), &journal)
        } else {
            block_on(catalog.invoke(Invocation::new("main", json!({})), ()))
        };
        outcome.unwrap();
        assert_eq!(person.asked(), ["main/1:one", "main/4:last", "main/5:own"], "others are asked for when their turn comes");
        let shown = person.shown();
        let covered: Vec<(&str, &Value)> = shown[0].covers.iter().map(|call| (call.path.as_str(), &call.arguments)).collect();
        assert_eq!(covered, [("main/2:two", &json!({"x": 2})), ("main/3:in/0:deep", &json!({"x": 1}))], "with their real values");
        assert!(shown[1].covers.is_empty() && shown[2].covers.is_empty());
        assert_eq!(shown[1].done.len(), 3, "what was done by then is shown");
        assert_eq!(log.tools(), ["look", "send", "send", "send", "send", "pay"]);
        if journalled {
            assert_eq!(kept(&journal)[0].used, ["main/1:one", "main/2:two", "main/3:in/0:deep"]);
        }
    }
}

#[test]
fn a_plan_that_waits_shows_what_it_covers_once_and_a_no_is_for_all_of_it() {
    let rules = [("send", Approve::OncePerPlan)];
    let (log, person, journal) = (Log::new(), Person::new([Answer::Later]), MemoryJournal::new());
    let catalog = plan(&log, &person, &rules);
    start(&catalog, "main", json!({}), &journal).unwrap_err();
    assert_eq!(log.tools(), ["look"], "reads run first");
    answer(&journal, Outcome::Yes).unwrap();
    let error = resume(&catalog, &journal).unwrap_err();
    assert_eq!((error.code(), person.asked().last().unwrap().as_str()), ("approval_required", "main/4:last"));
    assert_eq!(log.tools(), ["look", "send", "send", "send"], "three on one yes, over a restart");
    answer(&journal, Outcome::No).unwrap();
    assert_eq!(resume(&catalog, &journal).unwrap_err().code(), "approval_denied");
    assert_eq!(log.tools().len(), 4);
}

#[test]
fn a_composite_with_a_rule_of_its_own_is_asked_for_once_and_a_dry_run_asks_nobody() {
    let (log, person, journal) = (Log::new(), Person::new([yes(), Answer::Later, yes()]), MemoryJournal::new());
    let catalog = plan(&log, &person, &[("main", Approve::Always), ("pay", Approve::Always)]);
    assert_eq!(start(&catalog, "main", json!({}), &journal).unwrap_err().code(), "approval_required");
    assert_eq!(person.asked(), ["main", "main/5:own"]);
    resume(&catalog, &journal).unwrap();
    assert_eq!(person.asked(), ["main", "main/5:own", "main/5:own"], "the composite goes on with the yes that it has");
    let outputs =
        ["one", "two", "in", "last", "own"].into_iter().fold(StepOutputs::new(), |outputs, step| outputs.with(step, json!({"x": 1})));
    block_on(catalog.invoke(Invocation::new("main", json!({})).dry(outputs), ())).unwrap();
    assert_eq!(person.asked().len(), 3);
}

#[test]
fn a_journal_that_keeps_no_approvals_lets_nothing_run() {
    struct Old(MemoryJournal);
    struct OldRun(Arc<dyn toolwright::journal::RunJournal>);
    type Later<'a, T> = toolwright::Eventually<'a, Result<T, toolwright::JournalError>>;
    impl Journal for Old {
        fn open(
            &self,
            run: toolwright::journal::RunRecord,
            claim: toolwright::journal::Claim,
        ) -> Later<'_, Arc<dyn toolwright::journal::RunJournal>> {
            let opened = self.0.open(run, claim);
            toolwright::Eventually::Later(Box::pin(async move { Ok(Arc::new(OldRun(opened.get().await?)) as _) }))
        }
        fn load(&self, run: &str) -> Later<'_, Option<toolwright::journal::RunHistory>> {
            self.0.load(run)
        }
        fn resolve(&self, run: &str, path: &str, resolution: toolwright::journal::Resolution) -> Later<'_, ()> {
            self.0.resolve(run, path, resolution)
        }
        fn unfinished(&self) -> Later<'_, Vec<toolwright::Text>> {
            self.0.unfinished()
        }
    }
    impl toolwright::journal::RunJournal for OldRun {
        fn begin(&self, record: toolwright::journal::Begin) -> Later<'_, toolwright::journal::Admission> {
            self.0.begin(record)
        }
        fn finish(&self, record: toolwright::journal::Finish) -> Later<'_, ()> {
            self.0.finish(record)
        }
        fn resolve(&self, key: &toolwright::journal::StepKey, resolution: toolwright::journal::Resolution) -> Later<'_, ()> {
            self.0.resolve(key, resolution)
        }
        fn end(&self, end: toolwright::journal::End) -> Later<'_, ()> {
            self.0.end(end)
        }
        fn epoch(&self) -> u64 {
            self.0.epoch()
        }
    }
    let (log, person) = (Log::new(), Person::new([yes()]));
    let catalog = built(approvals(&[("send", Approve::Always)], &person), [log.writes("send")], None);
    let call = Invocation::new("send", json!({})).journal(Arc::new(Old(MemoryJournal::new())));
    let error = block_on(catalog.invoke(call, ())).unwrap_err();
    assert_eq!(error.code(), "journal", "{error}");
    assert!(log.is_empty() && person.shown().is_empty());
}

/// Says yes at once; what was said to is another thing from the `from`th look on.
struct Moving {
    looks: Arc<Mutex<Vec<String>>>,
    from: usize,
    breaks: bool,
}

impl Approver for Moving {
    fn ask<'a>(&'a self, _: &'a Request) -> BoxFuture<'a, Answer> {
        Box::pin(std::future::ready(yes()))
    }

    fn changed(&self, request: &Request) -> Option<toolwright::Text> {
        let mut looks = self.looks.lock().unwrap();
        looks.push(request.path.to_string());
        assert!(!self.breaks, "no answer");
        (looks.len() >= self.from).then(|| "`send` is another tool now".into())
    }
}

#[test]
fn a_yes_to_what_is_another_thing_by_now_runs_nothing() {
    for (breaks, said) in [(false, "`send` is another tool now"), (true, "nobody can tell")] {
        for journalled in [true, false] {
            let (log, journal) = (Log::new(), MemoryJournal::new());
            let rule = Approvals::new().tool("send", Approve::Always).approver(Arc::new(Moving { looks: Arc::default(), from: 1, breaks }));
            let catalog = built(rule, [log.writes("send")], None);
            let error = match journalled {
                true => start(&catalog, "send", json!({}), &journal).unwrap_err(),
                false => block_on(catalog.invoke(Invocation::new("send", json!({})), ())).unwrap_err(),
            };
            assert_eq!(error.code(), "catalog_changed");
            assert!(error.message().contains(said), "{}", error.message());
            assert!(log.is_empty());
            if journalled {
                let kept = kept(&journal);
                assert_eq!((kept[0].outcome(), kept[0].used.len()), (Some(Outcome::Withdrawn), 0));
            }
        }
    }
}

#[test]
fn a_yes_to_a_plan_counts_for_no_later_call_that_is_another_one_by_then() {
    for journalled in [true, false] {
        let (log, journal, looks) = (Log::new(), MemoryJournal::new(), Arc::default());
        let moving = Moving { looks: Arc::clone(&looks), from: 2, breaks: false };
        let rule = Approvals::new().tool("send", Approve::OncePerPlan).approver(Arc::new(moving));
        let main = composite("main", &steps(&[("a", "send", json!({"x": 1})), ("b", "send", json!({"x": 2}))]));
        let catalog = built(rule, [log.writes("send")], Some(main));
        let error = match journalled {
            true => start(&catalog, "main", json!({}), &journal).unwrap_err(),
            false => block_on(catalog.invoke(Invocation::new("main", json!({})), ())).unwrap_err(),
        };
        assert_eq!((error.code(), log.tools().len()), ("catalog_changed", 1));
        assert_eq!(*looks.lock().unwrap(), ["main/0:a", "main/1:b"]);
    }
}

//! The field cases about durability: runs that stop half-way and are taken up again.
//!
//! What is about files, such as a journal that was cut off, is tested where a journal is one. `docs/field-cases.md` says which
//! case is which test.

use std::sync::Arc;

use toolwright::journal::{JournalErrorKind, Resolution, Verdict};
use toolwright::{
    CallError, Catalog, Composite, CompositeSpec, Fault, Invocation, Journal, MemoryJournal, Policy, Registry, ResumeOptions, ToolDef,
    ToolResult, Value, json,
};

use crate::field_cases::{at, case, stand_in, text};
use crate::world::{Log, block_on};

/// The tools and the composite of a case, in this process.
struct Process {
    log: Log,
    catalog: Catalog,
}

impl Process {
    fn new(case: &Value, describe: impl Fn(ToolDef) -> ToolDef, words: &str, change: impl Fn(&str) -> String) -> Self {
        let log = Log::new();
        let tools: Vec<ToolDef> = at(case, "/tools").as_array().unwrap().iter().map(|tool| describe(stand_in(&log, tool))).collect();
        let mut registry = Registry::with_policy(Policy::new().may_chain(tools.iter().map(|tool| tool.name().to_owned())));
        for tool in tools {
            registry.register(tool).unwrap();
        }
        let spec = Value::parse(change(&at(case, "/composition").to_json_string())).unwrap();
        let main = Composite::new("main", words.to_owned()).spec(CompositeSpec::from_value(&spec).unwrap());
        Self { log, catalog: registry.with(main).unwrap().seal() }
    }

    fn as_written(case: &Value) -> Self {
        Self::new(case, |tool| tool, "a composite of the tests", str::to_owned)
    }

    fn start(&self, journal: &MemoryJournal) -> Result<ToolResult, CallError> {
        let kept: Arc<dyn Journal> = Arc::new(journal.clone());
        block_on(self.catalog.invoke(Invocation::new("main", json!({})).run_id("r1").journal(kept), ()))
    }

    fn resume(&self, journal: &MemoryJournal) -> Result<ToolResult, CallError> {
        let kept: Arc<dyn Journal> = Arc::new(journal.clone());
        block_on(self.catalog.resume_run(&kept, "r1", (), ResumeOptions::new()))
    }
}

#[test]
fn c55_a_run_goes_on_with_what_it_began_with() {
    let case = case("55-resume-after-definition-change");
    let trials = at(&case, "/expected/trials").as_array().unwrap();
    let same = |tool: ToolDef| tool;
    let (schema, other) = (r#""v":"$prev.v""#, r#""tool":"second_a""#);
    let resumed = [
        Process::new(&case, same, "a composite of the tests", |spec| spec.replace(other, r#""tool":"second_b""#)),
        Process::new(&case, |tool| tool.with_description("in other words"), "other words too", str::to_owned),
        Process::new(&case, same, "a composite of the tests", |spec| spec.replacen(r#""inputMapping":{}"#, r#""inputMapping":{"w":7}"#, 1)),
    ];
    assert!(at(&case, "/composition").to_json_string().contains(schema));
    assert_eq!(trials.len(), resumed.len());
    for (trial, next) in trials.iter().zip(resumed) {
        let (first, journal) = (Process::as_written(&case), MemoryJournal::new());
        first.start(&journal).unwrap();
        // Stopped after the first step: the intents of both, and one outcome.
        journal.cut_off("r1", 3);
        assert_eq!(first.log.tools()[0], "first");
        match (next.resume(&journal), trial.get("changed_steps")) {
            (Ok(result), None) => {
                assert_eq!(result.value(), &json!({"v": 2}));
                assert_eq!(next.log.tools(), ["second_a"], "what was done is not done again");
            }
            (Err(error), Some(steps)) => {
                assert_eq!(error.code(), "changed_tool", "{error}");
                let Fault::ChangedTool { tools, steps: changed } = error.fault() else { panic!("{error}") };
                assert_eq!(tools, &["main"]);
                let names: Vec<Value> = changed.iter().map(|step| step.rsplit_once(':').unwrap().1.into()).collect();
                assert_eq!(&Value::array(names), steps, "{error}");
                assert!(error.message().contains(changed[0].as_str()), "{error}");
                assert!(next.log.is_empty());
            }
            other => panic!("{other:?}"),
        }
    }
}

/// A person is waited for because the second call is in doubt; that a yes is waited for is tested in `approving.rs`.
#[test]
fn c56_what_was_done_before_a_person_is_waited_for_is_not_done_again() {
    let case = case("56-resume-does-not-rerun");
    let (killed, journal) = (Process::as_written(&case), MemoryJournal::new());
    killed.start(&journal).unwrap();
    assert_eq!(killed.log.tools(), ["debit", "ship"]);
    // The process ended when `ship` was on its way: nobody knows that it arrived, and it had not.
    journal.cut_off("r1", 4);
    let restarted = Process::as_written(&case);
    let waiting = || block_on(journal.load("r1").get()).unwrap().unwrap().in_doubt();
    let listed = waiting();
    assert_eq!(listed.len(), 1);
    for _ in 0..2 {
        assert_eq!(restarted.resume(&journal).unwrap_err().code(), "in_doubt");
        assert_eq!(waiting()[0].begin.key, listed[0].begin.key, "the same question, whoever asks");
    }
    assert!(restarted.log.is_empty());
    let path = listed[0].begin.key.path();
    let answer = |verdict| block_on(journal.resolve("r1", &path, Resolution::new("ann", verdict)).get());
    answer(Verdict::NotHappened).unwrap();
    let second = answer(Verdict::Happened(None)).unwrap_err();
    assert_eq!(second.kind, JournalErrorKind::NotInDoubt, "a second answer is refused");
    let result = restarted.resume(&journal).unwrap();
    assert_eq!(result.value(), &json!({"ok": true}));
    assert_eq!(restarted.log.tools(), ["ship"], "debited once, shipped once");
    for (step, args) in at(&case, "/expected/step_args").as_object().unwrap().iter() {
        let seen = if text(&case, "/tools/0/name") == &**step { &killed.log } else { &restarted.log };
        assert_eq!(&seen.all().iter().find(|seen| seen.step == **step).unwrap().input, args);
    }
}

//! The journal: an intent before the tool, the outcome before the next step, and what a broken journal means.

use std::sync::{Arc, Mutex};

use toolwright::journal::{Admission, Begin, Claim, End, Finish, Record, Resolution, RunHistory, RunJournal, RunRecord, StepKey};
use toolwright::{
    Eventually, Fault, Invocation, Journal, JournalError, MemoryJournal, Policy, Registry, StepOutputs, Text, ToolError, Value, json, tool,
};

use crate::world::{Log, Moment, TestClock, block_on, catalog, composite, detail, steps};

/// One line a record, and one for each tool that runs, in order.
#[derive(Clone, Default)]
struct Tape {
    lines: Arc<Mutex<Vec<String>>>,
    /// `open`, `begin`, `finish` or `end`, with the path at which it fails.
    fails_at: Option<(&'static str, &'static str)>,
}

impl Tape {
    fn failing(phase: &'static str, path: &'static str) -> Self {
        Self { fails_at: Some((phase, path)), ..Self::default() }
    }

    fn write(&self, phase: &str, path: &str) -> Result<(), JournalError> {
        self.lines.lock().unwrap().push(format!("{phase} {path}"));
        match self.fails_at {
            Some((at, place)) if at == phase && place == path => Err(JournalError::unwritable("disk full")),
            _ => Ok(()),
        }
    }

    fn lines(&self) -> Vec<String> {
        self.lines.lock().unwrap().clone()
    }
}

impl Journal for Tape {
    fn open(&self, run: RunRecord, _: Claim) -> Eventually<'_, Result<Arc<dyn RunJournal>, JournalError>> {
        let opened = self.write("open", &run.tool);
        Eventually::Now(opened.map(|()| Arc::new(self.clone()) as Arc<dyn RunJournal>))
    }

    fn load(&self, _: &str) -> Eventually<'_, Result<Option<RunHistory>, JournalError>> {
        Eventually::Now(Ok(None))
    }

    fn resolve(&self, run: &str, _: &str, _: Resolution) -> Eventually<'_, Result<(), JournalError>> {
        Eventually::Now(Err(JournalError::unknown_run(run)))
    }

    fn unfinished(&self) -> Eventually<'_, Result<Vec<Text>, JournalError>> {
        Eventually::Now(Ok(Vec::new()))
    }
}

impl RunJournal for Tape {
    fn begin(&self, record: Begin) -> Eventually<'_, Result<Admission, JournalError>> {
        // Writing takes a while, and everything must wait for it.
        let path = record.key.path();
        Eventually::Later(Box::pin(async move {
            tokio::task::yield_now().await;
            self.write("begin", &path).map(|()| Admission::Proceed { attempt: 1 })
        }))
    }

    fn finish(&self, record: Finish) -> Eventually<'_, Result<(), JournalError>> {
        let path = record.key.path();
        Eventually::Later(Box::pin(async move {
            tokio::task::yield_now().await;
            self.write("finish", &path)
        }))
    }

    fn abandoned(&self, key: &StepKey) {
        let _ = self.write("abandoned", &key.path());
    }

    fn resolve(&self, key: &StepKey, _: Resolution) -> Eventually<'_, Result<(), JournalError>> {
        Eventually::Now(self.write("resolve", &key.path()))
    }

    fn end(&self, end: End) -> Eventually<'_, Result<(), JournalError>> {
        Eventually::Now(self.write("end", if end.ok { "ok" } else { "failed" }))
    }

    fn epoch(&self) -> u64 {
        1
    }
}

/// `main` of two writes, each noted on the tape.
fn two_writes(tape: &Tape) -> toolwright::Catalog {
    let noted = |id: &'static str| {
        let lines = tape.lines.clone();
        tool(id, "A tool").writes().run_json(move |input, _| {
            lines.lock().unwrap().push(format!("run {id}"));
            std::future::ready(Ok(input))
        })
    };
    catalog([noted("one"), noted("two")], &steps(&[("a", "one", json!({"k": 1})), ("b", "two", json!({}))]))
}

fn journalled(catalog: &toolwright::Catalog, tape: &Tape) -> Result<toolwright::ToolResult, toolwright::CallError> {
    block_on(catalog.invoke(Invocation::new("main", json!({})).journal(Arc::new(tape.clone())), ()))
}

#[test]
fn intents_come_before_tools_and_outcomes_before_the_next_step() {
    let tape = Tape::default();
    journalled(&two_writes(&tape), &tape).unwrap();
    let want = [
        "open main",
        "begin main",
        "begin main/0:a",
        "run one",
        "finish main/0:a",
        "begin main/1:b",
        "run two",
        "finish main/1:b",
        "finish main",
        "end ok",
    ];
    assert_eq!(tape.lines(), want);
}

#[test]
fn a_tool_whose_intent_cannot_be_written_does_not_start() {
    let tape = Tape::failing("begin", "main/1:b");
    let error = journalled(&two_writes(&tape), &tape).unwrap_err();
    assert_eq!(error.code(), "journal");
    assert!(!tape.lines().contains(&"run two".to_owned()));
    assert!(error.message().contains("disk full"), "{error}");
    assert_eq!(detail(&error, "completed"), Some(json!(["a"])));
    assert_eq!(error.effects().len(), 1);
    assert_eq!(detail(&error, "unknownEffect"), None);
    assert_eq!(tape.lines().last().unwrap(), "end failed");
    assert!(error.help().is_some());
}

#[test]
fn nothing_runs_when_the_journal_cannot_be_opened() {
    let tape = Tape::failing("open", "main");
    let error = journalled(&two_writes(&tape), &tape).unwrap_err();
    assert!(matches!(error.fault(), Fault::Journal { phase: "open", .. }));
    assert_eq!(tape.lines(), ["open main"]);
}

#[test]
fn an_outcome_that_cannot_be_written_ends_the_run_and_is_told() {
    let tape = Tape::failing("finish", "main/0:a");
    let error = journalled(&two_writes(&tape), &tape).unwrap_err();
    assert_eq!(error.code(), "journal");
    assert!(!tape.lines().contains(&"run two".to_owned()), "nobody goes on with an outcome that is not written");
    assert_eq!(detail(&error, "effects"), Some(json!([{"kind": "step", "step": "a", "stepIndex": 0, "tool": "one", "ran": true}])));

    for (phase, path) in [("finish", "main"), ("end", "ok")] {
        let tape = Tape::failing(phase, path);
        let error = journalled(&two_writes(&tape), &tape).unwrap_err();
        assert_eq!(error.code(), "journal", "{phase}");
        assert_eq!(error.effects().len(), 2, "{phase}: both writes happened");
        assert!(!error.is_refusal());
    }
}

#[test]
fn what_ended_the_run_is_told_even_when_the_journal_breaks_as_well() {
    for (phase, path) in [("finish", "main/0:a"), ("end", "failed")] {
        let log = Log::new();
        let tape = Tape::failing(phase, path);
        let catalog = catalog([log.fails(tool("bad", "A tool").writes(), ToolError::new("no answer"))], &steps(&[("a", "bad", json!({}))]));
        let error = journalled(&catalog, &tape).unwrap_err();
        assert!(error.message().contains("no answer"), "{error}");
        assert_eq!(detail(&error, "unknownEffect"), Some(json!("a")));
    }
}

#[test]
fn a_run_that_is_dropped_half_way_leaves_a_trace() {
    let tape = Tape::default();
    let started = Moment::default();
    let begun = started.clone();
    let stuck = tool("stuck", "A tool").writes().run_json(move |_, _| {
        let begun = begun.clone();
        async move {
            begun.come();
            std::future::pending::<()>().await;
            Ok(Value::Null)
        }
    });
    let catalog = catalog([stuck], &steps(&[("a", "stuck", json!({}))]));
    block_on(async {
        let call = catalog.invoke(Invocation::new("main", json!({})).journal(Arc::new(tape.clone())), ());
        tokio::select! {
            _ = call => panic!("it never ends"),
            () = started.wait() => {}
        }
    });
    let mut lines = tape.lines();
    lines.drain(..3);
    lines.sort_unstable();
    assert_eq!(lines, ["abandoned main", "abandoned main/0:a"]);
}

/// A journal that takes every intent and never gets an outcome written.
#[derive(Clone, Default)]
struct FullDisk {
    tape: Tape,
    writing: Moment,
}

impl Journal for FullDisk {
    fn open(&self, _: RunRecord, _: Claim) -> Eventually<'_, Result<Arc<dyn RunJournal>, JournalError>> {
        Eventually::Now(Ok(Arc::new(self.clone())))
    }

    fn load(&self, _: &str) -> Eventually<'_, Result<Option<RunHistory>, JournalError>> {
        Eventually::Now(Ok(None))
    }

    fn resolve(&self, run: &str, _: &str, _: Resolution) -> Eventually<'_, Result<(), JournalError>> {
        Eventually::Now(Err(JournalError::unknown_run(run)))
    }

    fn unfinished(&self) -> Eventually<'_, Result<Vec<Text>, JournalError>> {
        Eventually::Now(Ok(Vec::new()))
    }
}

impl RunJournal for FullDisk {
    fn begin(&self, record: Begin) -> Eventually<'_, Result<Admission, JournalError>> {
        self.tape.begin(record)
    }

    fn finish(&self, _: Finish) -> Eventually<'_, Result<(), JournalError>> {
        self.writing.come();
        Eventually::Later(Box::pin(std::future::pending()))
    }

    fn resolve(&self, key: &StepKey, resolution: Resolution) -> Eventually<'_, Result<(), JournalError>> {
        RunJournal::resolve(&self.tape, key, resolution)
    }

    fn abandoned(&self, key: &StepKey) {
        self.tape.abandoned(key);
    }

    fn end(&self, end: End) -> Eventually<'_, Result<(), JournalError>> {
        self.tape.end(end)
    }

    fn epoch(&self) -> u64 {
        1
    }
}

#[test]
fn a_run_that_is_dropped_while_an_outcome_is_written_leaves_a_trace_too() {
    let journal = FullDisk::default();
    let catalog = catalog([Log::new().writes("send")], &steps(&[("a", "send", json!({}))]));
    block_on(async {
        let call = catalog.invoke(Invocation::new("main", json!({})).journal(Arc::new(journal.clone())), ());
        tokio::select! {
            _ = call => panic!("it never ends"),
            () = journal.writing.wait() => {}
        }
    });
    let mut lines = journal.tape.lines();
    lines.sort_unstable();
    assert_eq!(lines, ["abandoned main", "abandoned main/0:a", "begin main", "begin main/0:a"]);
}

#[test]
fn the_journal_in_memory_keeps_what_was_sent_and_what_came_back() {
    let log = Log::new();
    let schema = json!({"type": "object", "properties": {"n": {"type": "integer"}}});
    let page = log.close(tool("page", "A tool").reads().input_schema(schema), |input| Ok(input.into()));
    let catalog = catalog(
        [page, log.fails(tool("bad", "A tool").writes(), ToolError::new("no").code("own"))],
        &steps(&[("p", "page", json!({"n": 100.0})), ("b", "bad", json!({}))]),
    );
    let journal = MemoryJournal::new();
    let clock = Arc::new(TestClock::default());
    let call = Invocation::new("main", json!({"i": 1})).run_id("r1").journal(Arc::new(journal.clone())).clock(clock);
    block_on(catalog.invoke(call, ())).unwrap_err();
    let runs = journal.runs();
    assert_eq!(runs.len(), 1);
    assert_eq!((runs[0].head().id.as_str(), runs[0].head().tool.as_str()), ("r1", "main"));
    assert_eq!(runs[0].head().input, json!({"i": 1}));
    let mut times = Vec::new();
    let shown: Vec<String> = runs[0]
        .records()
        .iter()
        .map(|record| match record {
            Record::Begin(begin) => {
                times.push(begin.at.unwrap());
                let repairs: Vec<&str> = begin.repairs().iter().map(|repair| repair.pointer.as_str()).collect();
                format!("begin {} {} {} {repairs:?} {:?}", begin.key.path(), begin.key.tool(), begin.input, begin.impact.unwrap())
            }
            Record::Finish(finish) => {
                times.push(finish.at.unwrap());
                match &finish.outcome {
                    Ok(output) => format!("finish {} {}", finish.key.path(), output.as_ref().unwrap()),
                    Err(failure) => format!("finish {} {}: {}", finish.key.path(), failure.code, failure.message),
                }
            }
            Record::End(end) => format!("end {} {:?}", end.ok, end.code),
            other => format!("{other:?}"),
        })
        .collect();
    assert_eq!(
        shown,
        [
            r#"begin main main {"i":1} [] Once"#,
            r#"begin main/0:p page {"n":100} ["/n"] None"#,
            r#"finish main/0:p {"n":100}"#,
            "begin main/1:b bad {} [] Once",
            "finish main/1:b own: no",
            r#"finish main own: Step "b" (tool: "bad") failed: no"#,
            r#"end false Some("own")"#,
        ]
    );
    assert!(times.is_sorted() && times.len() == 6);
}

#[test]
fn the_journal_in_memory_forgets_the_oldest() {
    let log = Log::new();
    let mut registry = Registry::new();
    registry.register(log.echo("read")).unwrap();
    let catalog = registry.seal();
    let journal = MemoryJournal::keeping(2);
    for id in ["a", "b", "c"] {
        block_on(catalog.invoke(Invocation::new("read", json!({})).run_id(id).journal(Arc::new(journal.clone())), ())).unwrap();
    }
    assert_eq!(journal.runs().iter().map(|run| run.head().id.to_string()).collect::<Vec<_>>(), ["b", "c"]);
}

#[test]
fn refused_steps_and_dry_runs_write_no_intent() {
    let log = Log::new();
    let tape = Tape::default();
    let schema = json!({"type": "object", "required": ["q"]});
    let strict = log.close(tool("strict", "A tool").reads().input_schema(schema), |input| Ok(input.into()));
    let mut registry = Registry::with_policy(Policy::new().may_chain(["send"]));
    registry.register(strict).unwrap().register(log.writes("send")).unwrap();
    registry.register(composite("main", &steps(&[("a", "strict", json!({"q": "$input.q?"}))]))).unwrap();
    registry.register(composite("sends", &steps(&[("s", "send", json!({}))]))).unwrap();
    let catalog = registry.seal();
    journalled(&catalog, &tape).unwrap_err();
    assert_eq!(tape.lines(), ["open main", "begin main", "finish main", "end failed"]);
    let tape = Tape::default();
    let call = Invocation::new("sends", json!({})).journal(Arc::new(tape.clone())).dry(StepOutputs::new().with("s", 1));
    block_on(catalog.invoke(call, ())).unwrap();
    assert!(tape.lines().is_empty() && log.is_empty());
}

/// A tool can read the host's state of the moment it began; without a journal there is none.
#[test]
fn a_tool_sees_the_checkpoint_of_its_own_call() {
    let tool =
        toolwright::tool("see", "Gives its checkpoint").reads().run_json(|_, call| async move { Ok(json!({ "seen": call.checkpoint() })) });
    let options = toolwright::Options::new().checkpoint(|_| json!({ "turn": 7 }));
    let catalog = toolwright::Registry::with_options(options).unwrap().with(tool).unwrap().seal();
    let with = toolwright::Invocation::new("see", json!({})).journal(Arc::new(MemoryJournal::new()));
    assert_eq!(block_on(catalog.invoke(with, ())).unwrap().value(), &json!({ "seen": { "turn": 7 } }));
    let without = toolwright::Invocation::new("see", json!({}));
    assert_eq!(block_on(catalog.invoke(without, ())).unwrap().value(), &json!({ "seen": null }));
}

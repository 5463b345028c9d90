//! The journal in memory keeps every rule of a journal, and the suite finds journals that do not.

use std::sync::Arc;

use toolwright::journal::{Admission, Begin, Claim, End, Finish, Record, Resolution, RunHistory, RunJournal, RunRecord, StepKey};
use toolwright::testing::{journal_conformance, journal_conformance_with};
use toolwright::{EffectState, Eventually, Impact, Journal, JournalError, MemoryJournal, Text, json};

use crate::world::block_on;

#[test]
fn the_journal_in_memory_keeps_the_rules() {
    let results = block_on(journal_conformance(MemoryJournal::new));
    assert_eq!(results.len(), 20);
    for result in results {
        assert_eq!(result.outcome, Ok(()), "{}", result.name);
    }
}

#[test]
fn also_when_it_keeps_few_runs_and_through_json() {
    // What it kept, written out and read in again: the form in which another store would keep it.
    let reload = |journal: MemoryJournal| {
        for run in journal.runs() {
            let history = block_on_now(journal.load(&run.head().id)).unwrap().unwrap();
            let text = serde_json::to_string(&history).unwrap();
            assert_eq!(serde_json::from_str::<RunHistory>(&text).unwrap(), history);
        }
        journal
    };
    for result in block_on(journal_conformance_with(|| MemoryJournal::keeping(200), reload)) {
        assert_eq!(result.outcome, Ok(()), "{}", result.name);
    }
}

fn block_on_now<T>(result: Eventually<'_, T>) -> T {
    match result {
        Eventually::Now(value) => value,
        Eventually::Later(_) => panic!("the journal in memory does not wait"),
    }
}

/// A journal with one fault.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Broken {
    /// Lets every call run.
    AlwaysProceeds,
    /// Does not fence: every claim is the first one.
    NeverFences,
    /// Forgets outcomes.
    ForgetsOutcomes,
    /// Takes any answer.
    NoAnswers,
    /// Loads nothing.
    LoadsNothing,
}

struct Faulty(MemoryJournal, Broken);

struct FaultyRun(Arc<dyn RunJournal>, Broken);

type Soon<'a, T> = Eventually<'a, Result<T, JournalError>>;

impl Journal for Faulty {
    fn open(&self, run: RunRecord, claim: Claim) -> Soon<'_, Arc<dyn RunJournal>> {
        let opened = block_on_now(self.0.open(run, claim));
        Eventually::Now(opened.map(|run| Arc::new(FaultyRun(run, self.1)) as Arc<dyn RunJournal>))
    }

    fn load(&self, run: &str) -> Soon<'_, Option<RunHistory>> {
        if self.1 == Broken::LoadsNothing { Eventually::Now(Ok(None)) } else { self.0.load(run) }
    }

    fn resolve(&self, run: &str, path: &str, resolution: Resolution) -> Soon<'_, ()> {
        if self.1 == Broken::NoAnswers { Eventually::Now(Ok(())) } else { self.0.resolve(run, path, resolution) }
    }

    fn unfinished(&self) -> Soon<'_, Vec<Text>> {
        self.0.unfinished()
    }
}

impl RunJournal for FaultyRun {
    fn begin(&self, record: Begin) -> Soon<'_, Admission> {
        let said = block_on_now(self.0.begin(record));
        Eventually::Now(match self.1 {
            Broken::AlwaysProceeds => said.map(|_| Admission::Proceed { attempt: 1 }),
            Broken::NeverFences => Ok(said.unwrap_or(Admission::Proceed { attempt: 1 })),
            _ => said,
        })
    }

    fn finish(&self, record: Finish) -> Soon<'_, ()> {
        match self.1 {
            Broken::ForgetsOutcomes => Eventually::Now(Ok(())),
            Broken::NeverFences => {
                let _ = block_on_now(self.0.finish(record));
                Eventually::Now(Ok(()))
            }
            _ => self.0.finish(record),
        }
    }

    fn resolve(&self, key: &StepKey, resolution: Resolution) -> Soon<'_, ()> {
        self.0.resolve(key, resolution)
    }

    fn end(&self, end: End) -> Soon<'_, ()> {
        self.0.end(end)
    }

    fn epoch(&self) -> u64 {
        self.0.epoch()
    }
}

#[test]
fn the_suite_finds_what_is_broken() {
    let expected = [
        (Broken::AlwaysProceeds, "after any history an effect is admitted once"),
        (Broken::NeverFences, "an old claim writes nothing"),
        (Broken::ForgetsOutcomes, "a call goes by the admission table"),
        (Broken::NoAnswers, "answers to what is not in doubt are refused"),
        (Broken::LoadsNothing, "what is loaded is what was written"),
    ];
    for (broken, rule) in expected {
        let results = block_on(journal_conformance(|| Faulty(MemoryJournal::new(), broken)));
        let failing: Vec<&str> = results.iter().filter(|result| result.outcome.is_err()).map(|result| result.name).collect();
        assert!(failing.contains(&rule), "{broken:?} only fails {failing:?}");
    }
}

fn begin(path: &str) -> Begin {
    Begin::new(StepKey::written(path, "send"), Some(Impact::Once), json!({}))
}

#[test]
fn a_test_can_forget_outcomes_and_cut_a_run_off() {
    block_on(async {
        let journal = MemoryJournal::new();
        let open = || journal.open(RunRecord::new("r1", "main", json!({})), Claim::new("me"));
        let run = open().get().await.unwrap();
        for path in ["main/0:a", "main/1:b"] {
            run.begin(begin(path)).get().await.unwrap();
            run.finish(Finish::ok(StepKey::written(path, "send"), None, EffectState::Happened)).get().await.unwrap();
        }
        run.end(End::ok()).get().await.unwrap();
        assert_eq!(journal.forget_finish("main/9:z"), 0);
        assert_eq!(journal.forget_finish("main/0:a"), 1);
        let run = open().get().await.unwrap();
        assert!(matches!(run.begin(begin("main/0:a")).get().await.unwrap(), Admission::InDoubt(_)));
        assert!(matches!(run.begin(begin("main/1:b")).get().await.unwrap(), Admission::Replay(_)));
        assert_eq!(journal.cut_off("r1", 1), 4);
        assert!(matches!(run.begin(begin("main/1:b")).get().await.unwrap(), Admission::Proceed { attempt: 1 }));
        assert_eq!(journal.records("r1").len(), 2);
        assert_eq!((journal.cut_off("r2", 1), journal.records("r2").len()), (0, 0));
    });
}

#[test]
fn only_runs_that_ended_are_forgotten() {
    block_on(async {
        let journal = MemoryJournal::keeping(2);
        let open = |id: &'static str| journal.open(RunRecord::new(id, "main", json!({})), Claim::new("me"));
        let at_work = open("a").get().await.unwrap();
        at_work.begin(begin("main")).get().await.unwrap();
        open("b").get().await.unwrap().end(End::ok()).get().await.unwrap();
        let last = open("c").get().await.unwrap();
        let ids: Vec<String> = journal.runs().iter().map(|run| run.head().id.to_string()).collect();
        assert_eq!(ids, ["a", "c"]);
        // When none has ended, nothing is forgotten and nothing new begins.
        let error = open("d").get().await.err().unwrap();
        assert_eq!(error.kind, toolwright::journal::JournalErrorKind::Unwritable);
        drop(last);
        assert!(open("d").get().await.is_err(), "it has not ended, only its holder is gone");
        assert!(matches!(open("a").get().await.unwrap().begin(begin("main")).get().await.unwrap(), Admission::InDoubt(_)));
        open("c").get().await.unwrap().end(End::ok()).get().await.unwrap();
        open("d").get().await.unwrap();
        assert!(at_work.end(End::ok()).get().await.is_err());
        assert!(journal.load("a").get().await.unwrap().is_some());
    });
}

#[test]
fn a_newer_form_of_the_records_is_not_guessed_at() {
    let mut run = RunRecord::new("r1", "main", json!({}));
    run.format += 1;
    let error = block_on(async { MemoryJournal::new().open(run, Claim::new("me")).get().await.map(|_| ()) }).unwrap_err();
    assert_eq!(error.kind, toolwright::journal::JournalErrorKind::Corrupt);
    assert!(error.to_string().contains("format 2"), "{error}");
}

/// Records as this version writes them. They are on disks: a field may come, none may change.
#[test]
fn the_written_form_of_the_records_does_not_change() {
    let key = || r#"{"path":"main/0:a","tool":"send"}"#;
    let cases = [
        format!(r#"{{"begin":{{"key":{},"impact":"once","composite":false,"input":{{}}}}}}"#, key()),
        format!(
            r#"{{"begin":{{"key":{},"composite":true,"input":null,"fingerprint":"00000000000000000000000000000000000000000000000000000000000000ff","more":{{"repairs":[{{"pointer":"/n","action":"mended"}}],"spec":{{}},"checkpoint":null}},"at":5}}}}"#,
            key()
        ),
        format!(
            r#"{{"begin":{{"key":{},"composite":true,"input":{{}},"more":{{"tools":[{{"tool":"send","fingerprint":"00000000000000000000000000000000000000000000000000000000000000ff"}},{{"tool":"inner","fingerprint":"00000000000000000000000000000000000000000000000000000000000000ff","spec":{{}}}}]}}}}}}"#,
            key()
        ),
        format!(r#"{{"finish":{{"key":{},"outcome":{{"output":null}},"state":"happened"}}}}"#, key()),
        format!(r#"{{"finish":{{"key":{},"outcome":"empty","state":"no_effect"}}}}"#, key()),
        format!(
            r#"{{"finish":{{"key":{},"outcome":{{"failed":{{"code":"own","message":"no","state":"unknown","answered":true}}}},"state":"unknown","at":7}}}}"#,
            key()
        ),
        format!(
            r#"{{"finish":{{"key":{},"outcome":"empty","state":"not_started","more":{{"effects":[{{"ran":{{"step":"a","index":0,"tool":"send","via":[]}}}},{{"reported":1}}],"receipt":{{}},"receipt_failed":false}}}}}}"#,
            key()
        ),
        format!(
            r#"{{"resolved":{{"key":{},"resolution":{{"who":"anna","verdict":{{"happened_with":null}},"evidence":1,"at":3}}}}}}"#,
            key()
        ),
        format!(r#"{{"resolved":{{"key":{},"resolution":{{"who":"anna","verdict":"happened"}}}}}}"#, key()),
        format!(r#"{{"resolved":{{"key":{},"resolution":{{"who":"anna","verdict":"not_happened"}}}}}}"#, key()),
        format!(r#"{{"abandoned":{}}}"#, key()),
        r#"{"claimed":{"epoch":2,"claim":{"owner":"me","at":1,"lease":{"secs":1,"nanos":0}}}}"#.to_owned(),
        r#"{"end":{"ok":false,"code":"own"}}"#.to_owned(),
    ];
    for text in cases {
        let record: Record = serde_json::from_str(&text).unwrap_or_else(|error| panic!("{error} in {text}"));
        assert_eq!(serde_json::to_string(&record).unwrap(), text);
        // A field that this version does not know is no reason not to read the rest.
        let newer = text.replacen("\"key\":", "\"later\":{\"x\":[]},\"key\":", 1);
        assert_eq!(serde_json::from_str::<Record>(&newer).unwrap(), record);
    }
}

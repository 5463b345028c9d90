//! What every journal must do, whatever it stores its records in. Needs nothing but the port.

use std::sync::Arc;
use std::time::Duration;

use crate::error::EffectState;
use crate::frame::Timestamp;
use crate::journal::{
    Admission, Begin, Claim, Failure, Finish, Forked, Journal, JournalError, JournalErrorKind, Resolution, RunJournal, RunRecord, StepKey,
    Verdict,
};
use crate::json;
use crate::tool::Impact;
use crate::value::Value;

mod approvals;
mod histories;
mod keeping;
mod table;

/// One thing that a journal must do, and whether it does.
///
/// ```
/// use toolwright::{MemoryJournal, testing::journal_conformance};
/// # tokio::runtime::Builder::new_current_thread().build()?.block_on(async {
/// let results = journal_conformance(MemoryJournal::new).await;
/// assert!(results.iter().all(|result| result.outcome.is_ok()));
/// # });
/// # Ok::<(), std::io::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ConformanceResult {
    /// What it must do.
    pub name: &'static str,
    /// What it did instead.
    pub outcome: Result<(), String>,
}

/// Tries everything that a journal must do; `make` gives an empty one each time it is called.
///
/// ```
/// use toolwright::MemoryJournal;
/// use toolwright::testing::journal_conformance;
///
/// # tokio::runtime::Builder::new_current_thread().build()?.block_on(async {
/// for result in journal_conformance(MemoryJournal::new).await {
///     assert_eq!(result.outcome, Ok(()), "{}", result.name);
/// }
/// # });
/// # Ok::<(), std::io::Error>(())
/// ```
pub async fn journal_conformance<J: Journal>(make: impl Fn() -> J) -> Vec<ConformanceResult> {
    journal_conformance_with(make, |journal| journal).await
}

/// As [`journal_conformance`], for a journal that outlives its process: `reload` closes one and opens what it kept.
pub async fn journal_conformance_with<J: Journal>(make: impl Fn() -> J, reload: impl Fn(J) -> J) -> Vec<ConformanceResult> {
    let mut results = Vec::new();
    let mut put = |name, outcome| results.push(ConformanceResult { name, outcome });
    put("a call goes by the admission table", table::rows(&make()).await);
    put("attempts are counted", table::attempts(&make()).await);
    put("another call under the same key is diverged", table::diverging(&make()).await);
    put("only a call that may run is written", table::writes_only_what_runs(&make()).await);
    put("a key is its path, however it came about", table::live_keys(&make()).await);
    put("runs and calls are kept apart", table::apart(&make()).await);
    put("another run under the same id is diverged", claims::another_run(&make()).await);
    put("an old claim writes nothing", claims::fencing(&make()).await);
    put("a lease keeps others out until it is over", claims::leases(&make()).await);
    put("answers reach the calls they are for", answers::reach(&make()).await);
    put("answers to what is not in doubt are refused", answers::refused(&make()).await);
    put("a dropped call counts as one without an end", answers::abandoned(&make()).await);
    put("a yes counts once, for the call it was given for", approvals::once(&make()).await);
    put("a question has one answer, whoever gives it", approvals::answers(&make()).await);
    put("questions and answers are there after closing and opening", approvals::reloading(make(), &reload).await);
    put("what is loaded is what was written", keeping::loads(&make()).await);
    put("values come back as they were", keeping::values(&make()).await);
    put("unfinished runs are found", keeping::unfinished(&make()).await);
    put("what was kept is there after closing and opening", keeping::reloading(make(), &reload).await);
    put("after any history an effect is admitted once", histories::once(&make()).await);
    results
}

type Outcome = Result<(), String>;
type Run = Arc<dyn RunJournal>;

/// `Err` with what is wrong, unless it holds.
fn check(holds: bool, wrong: impl FnOnce() -> String) -> Outcome {
    if holds { Ok(()) } else { Err(wrong()) }
}

fn same<T: PartialEq + std::fmt::Debug>(what: &str, got: T, want: T) -> Outcome {
    check(got == want, || format!("{what}: got {got:?}, and not {want:?}"))
}

fn text(error: JournalError) -> String {
    format!("it said: {error}")
}

/// What must be refused, and how.
fn refused<T>(what: &str, outcome: Result<T, JournalError>, kind: JournalErrorKind) -> Outcome {
    match outcome {
        Err(error) => same(what, error.kind, kind),
        Ok(_) => Err(format!("{what}: was taken, and should be refused as {kind:?}")),
    }
}

fn record(id: &str) -> RunRecord {
    RunRecord::new(id, "main", json!({"topic": "ducks"}))
}

async fn open(journal: &dyn Journal, id: &str) -> Result<Run, String> {
    journal.open(record(id), Claim::new("suite")).get().await.map_err(text)
}

fn at(path: &str) -> StepKey {
    StepKey::written(path, "send")
}

fn send(path: &str, impact: Option<Impact>) -> Begin {
    Begin::new(at(path), impact, json!({"to": "a"}))
}

async fn begin(run: &Run, begin: Begin) -> Result<Admission, String> {
    run.begin(begin).get().await.map_err(text)
}

async fn finish(run: &Run, finish: Finish) -> Outcome {
    run.finish(finish).get().await.map_err(text)
}

fn sent(path: &str) -> Finish {
    Finish::ok(at(path), Some(json!({"id": 7})), EffectState::Happened)
}

fn failed(path: &str, state: EffectState) -> Finish {
    Finish::failed(at(path), Failure::new("no_answer", "the line was cut", state))
}

fn happened(output: impl Into<Value>) -> Resolution {
    Resolution::new("anna", Verdict::Happened(Some(output.into())))
}

fn nothing_happened() -> Resolution {
    Resolution::new("anna", Verdict::NotHappened)
}

/// One word for an admission.
fn word(admission: &Admission) -> String {
    match admission {
        Admission::Proceed { attempt } => format!("run {attempt}"),
        Admission::Replay(finish) => match &finish.outcome {
            Ok(Some(output)) => format!("replay {output}"),
            Ok(None) => "replay nothing".into(),
            Err(failure) => format!("replay of a failure: {}", failure.code),
        },
        Admission::InDoubt(_) => "in doubt".into(),
        Admission::Failed(failure) => format!("failed {}", failure.code),
        Admission::Diverged(other) => format!("diverged {}", other.what.as_str()),
        Admission::Unapproved => "unapproved".into(),
    }
}

async fn admits(what: &str, run: &Run, record: Begin, want: &str) -> Outcome {
    same(what, word(&begin(run, record).await?).as_str(), want)
}

/// Who may write.
mod claims {
    use super::*;
    use crate::journal::End;

    pub(super) async fn another_run(journal: &dyn Journal) -> Outcome {
        let first = open(journal, "r1").await?;
        let forked = |from: &str| Some(Forked { run: "r0".into(), from: from.into() });
        let fork = |from| RunRecord { forked: forked(from), ..record("fork") };
        let others = [
            RunRecord { tool: "other".into(), ..record("r1") },
            RunRecord { input: Value::Null, ..record("r1") },
            RunRecord { forked: forked("main/1:b"), ..record("r1") },
            // Whoever opened a fork as another run would run what it only has the results of.
            RunRecord { forked: None, ..record("fork") },
            fork("main/2:c"),
        ];
        journal.open(fork("main/1:b"), Claim::new("suite")).get().await.map_err(text)?;
        same("what a fork says of itself", journal.load("fork").get().await.map_err(text)?.map(|it| it.run), Some(fork("main/1:b")))?;
        for other in others {
            refused(
                "a run with the id of another",
                journal.open(other, Claim::new("suite")).get().await.map(|_| ()),
                JournalErrorKind::Diverged,
            )?;
        }
        admits("the run that was there goes on", &first, send("main", None), "run 1").await
    }

    pub(super) async fn fencing(journal: &dyn Journal) -> Outcome {
        let first = open(journal, "r1").await?;
        same("the first epoch", first.epoch(), 1)?;
        begin(&first, send("main/0:a", Some(Impact::Once))).await?;
        let second = open(journal, "r1").await?;
        same("the second epoch", second.epoch(), 2)?;
        let before = journal.load("r1").get().await.map_err(text)?;
        let fenced = JournalErrorKind::Fenced;
        refused("begin", first.begin(send("main/1:b", None)).get().await.map(|_| ()), fenced)?;
        refused("begin of a read", first.begin(send("main/2:c", Some(Impact::None))).get().await.map(|_| ()), fenced)?;
        refused("finish", first.finish(sent("main/0:a")).get().await, fenced)?;
        refused("resolve", first.resolve(&at("main/0:a"), nothing_happened()).get().await, fenced)?;
        refused("end", first.end(End::ok()).get().await, fenced)?;
        first.abandoned(&at("main/0:a"));
        same("what an old claim left behind", journal.load("r1").get().await.map_err(text)?, before)?;
        admits("the newest claim", &second, send("main/0:a", Some(Impact::Once)), "in doubt").await?;
        same("the third epoch", open(journal, "r1").await?.epoch(), 3)?;
        refused("the second claim", second.end(End::ok()).get().await, fenced)
    }

    pub(super) async fn leases(journal: &dyn Journal) -> Outcome {
        let lease = |owner: &str, at: u64| Claim::new(owner).until(Timestamp(at), Duration::from_nanos(10));
        let claim = |claim: Claim| async move { journal.open(record("r1"), claim).get().await };
        let first = claim(lease("one", 100)).await.map_err(text)?;
        let held = JournalErrorKind::Claimed;
        refused("another owner during the lease", claim(lease("two", 109)).await.map(|_| ()), held)?;
        refused("another owner without a time", claim(Claim::new("two")).await.map(|_| ()), held)?;
        admits("a claim that others failed to take", &first, send("main", None), "run 1").await?;
        let again = claim(lease("one", 105)).await.map_err(text)?;
        same("the same owner during its lease", again.epoch(), 2)?;
        refused("another owner during the new lease", claim(lease("two", 114)).await.map(|_| ()), held)?;
        let over = claim(lease("two", 115)).await.map_err(text)?;
        same("another owner after the lease", over.epoch(), 3)?;
        over.end(End::failed("own")).get().await.map_err(text)?;
        same("another owner after the end", claim(lease("one", 116)).await.map_err(text)?.epoch(), 4)
    }
}

/// What people say about calls in doubt.
mod answers {
    use super::*;

    pub(super) async fn reach(journal: &dyn Journal) -> Outcome {
        let once = Some(Impact::Once);
        let run = open(journal, "r1").await?;
        for path in ["main/0:a", "main/1:b", "main/2:c"] {
            begin(&run, send(path, once)).await?;
        }
        drop(run);
        let run = open(journal, "r1").await?;
        // Two by a person, in another order, and one by the tool's own way of looking.
        journal.resolve("r1", "main/2:c", happened("c")).get().await.map_err(text)?;
        run.resolve(&at("main/1:b"), happened("b")).get().await.map_err(text)?;
        journal.resolve("r1", "main/0:a", nothing_happened()).get().await.map_err(text)?;
        journal.resolve("r1", "main/2:c", happened("c")).get().await.map_err(|error| format!("the same answer again: {error}"))?;
        admits("the call that did not happen", &run, send("main/0:a", once), "run 2").await?;
        admits("the second", &run, send("main/1:b", once), r#"replay "b""#).await?;
        drop(run);
        let run = open(journal, "r1").await?;
        admits("the third, in a later claim", &run, send("main/2:c", once), r#"replay "c""#).await?;
        admits("an answer is about the attempt before it", &run, send("main/0:a", once), "in doubt").await?;
        journal.resolve("r1", "main/0:a", Resolution::new("anna", Verdict::Happened(None))).get().await.map_err(text)?;
        admits("an answer without an output", &run, send("main/0:a", once), "replay nothing").await
    }

    pub(super) async fn refused(journal: &dyn Journal) -> Outcome {
        use JournalErrorKind::{NotInDoubt, Unknown};
        let run = open(journal, "r1").await?;
        let answer = |run: &'static str, path: &'static str, said: Resolution| async move { journal.resolve(run, path, said).get().await };
        super::refused("a run that is not there", answer("r2", "main", nothing_happened()).await, Unknown)?;
        super::refused("a call that never began", answer("r1", "main/9:z", nothing_happened()).await, Unknown)?;
        begin(&run, Begin { composite: true, ..send("main", None) }).await?;
        super::refused("a composite", answer("r1", "main", nothing_happened()).await, NotInDoubt)?;
        begin(&run, send("main/0:a", None)).await?;
        finish(&run, sent("main/0:a")).await?;
        super::refused("a call that succeeded", answer("r1", "main/0:a", nothing_happened()).await, NotInDoubt)?;
        begin(&run, send("main/1:b", None)).await?;
        finish(&run, failed("main/1:b", EffectState::NoEffect)).await?;
        super::refused("a call that did nothing", run.resolve(&at("main/1:b"), happened("b")).get().await, NotInDoubt)?;
        begin(&run, send("main/2:c", None)).await?;
        run.abandoned(&at("main/2:c"));
        answer("r1", "main/2:c", nothing_happened()).await.map_err(text)?;
        super::refused("another answer", answer("r1", "main/2:c", happened("c")).await, NotInDoubt)?;
        admits("the first answer counts", &run, send("main/2:c", None), "run 2").await
    }

    pub(super) async fn abandoned(journal: &dyn Journal) -> Outcome {
        let run = open(journal, "r1").await?;
        // Also for a call that never got as far as its intent.
        run.abandoned(&at("main/9:z"));
        for (path, impact) in [("main/0:a", Some(Impact::None)), ("main/1:b", Some(Impact::Once))] {
            begin(&run, send(path, impact)).await?;
            run.abandoned(&at(path));
        }
        let run = open(journal, "r1").await?;
        admits("a dropped read", &run, send("main/0:a", Some(Impact::None)), "run 2").await?;
        admits("a dropped effect", &run, send("main/1:b", Some(Impact::Once)), "in doubt").await?;
        admits("a call that was dropped before it began", &run, send("main/9:z", Some(Impact::Once)), "run 1").await
    }
}

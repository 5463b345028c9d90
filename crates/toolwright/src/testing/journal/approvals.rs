//! What a journal must do with questions and their answers.

use super::{Outcome, Run, admits, at, begin, check, failed, finish, open, refused, same, send, text};
use crate::approval::{Answered, Asked, Outcome as Said, Request};
use crate::error::EffectState;
use crate::frame::Timestamp;
use crate::journal::{Admission, Begin, BeginMore, Claim, Journal, JournalErrorKind};
use crate::json;
use crate::tool::Impact;
use crate::value::Value;

fn needing(path: &str, approval: &str) -> Begin {
    let more = BeginMore { approval: Some(approval.into()), ..BeginMore::default() };
    Begin { more: Some(Box::new(more)), ..send(path, Some(Impact::Once)) }
}

fn question(path: &str, id: &str, arguments: Value) -> Asked {
    let mut request = Request::new(id, "r1", "send", arguments);
    request.path = path.into();
    request.asked = Some(Timestamp(1));
    request.expires = Some(Timestamp(1_000));
    request.binding = request.bound();
    Asked { key: at(path), request }
}

async fn ask(run: &Run, asked: Asked) -> Outcome {
    run.ask(asked).get().await.map_err(text)
}

pub(super) async fn once(journal: &dyn Journal) -> Outcome {
    let run = open(journal, "r1").await?;
    admits("without a yes", &run, needing("main/0:a", ""), "unapproved").await?;
    ask(&run, question("main/0:a", "q1", json!({"to": "a"}))).await?;
    admits("while nobody answered", &run, needing("main/0:a", ""), "unapproved").await?;
    run.answer(Answered::new("q1", Said::Yes, "anna")).get().await.map_err(text)?;
    admits("with a yes", &run, needing("main/0:a", "q1"), "run 1").await?;
    finish(&run, failed("main/0:a", EffectState::NoEffect)).await?;
    admits("with the same yes again", &run, needing("main/0:a", "q1"), "unapproved").await?;
    let found = run.approvals().get().await.map_err(text)?;
    same("the calls that were made on it", found.first().map(|found| found.used.len()), Some(1))?;
    // What was done needs nobody's yes.
    admits("another call", &run, needing("main/1:b", "q2"), "run 1").await?;
    finish(&run, super::sent("main/1:b")).await?;
    let again = open(journal, "r1").await?;
    admits("a call that was done", &again, needing("main/1:b", ""), r#"replay {"id":7}"#).await?;
    let composite = Begin { composite: true, ..needing("main", "q3") };
    for attempt in ["run 1", "run 2"] {
        admits("a composite on one yes", &again, composite.clone(), attempt).await?;
    }
    Ok(())
}

pub(super) async fn answers(journal: &dyn Journal) -> Outcome {
    let run = open(journal, "r1").await?;
    let by = |id: &str, outcome, who: &str| Answered::new(id, outcome, who);
    refused("an answer to no run", journal.answer("r2", by("q1", Said::Yes, "anna")).get().await, JournalErrorKind::Unknown)?;
    refused("an answer to no question", journal.answer("r1", by("q1", Said::Yes, "anna")).get().await, JournalErrorKind::Unknown)?;
    for id in ["q1", "q2", "q3"] {
        ask(&run, question("main/0:a", id, json!({"to": "a"}))).await?;
    }
    // Whoever has no claim may answer, and whoever has one sees it.
    journal.answer("r1", by("q1", Said::No, "anna").reason("not today").rule("a letter")).get().await.map_err(text)?;
    for second in [Said::No, Said::Yes, Said::Withdrawn] {
        refused("a second answer", run.answer(by("q1", second, "bob")).get().await, JournalErrorKind::NotInDoubt)?;
        refused("a second answer from outside", journal.answer("r1", by("q1", second, "bob")).get().await, JournalErrorKind::NotInDoubt)?;
    }
    let late = by("q2", Said::Yes, "bob").at(Timestamp(1_000));
    refused("an answer that comes too late", journal.answer("r1", late).get().await, JournalErrorKind::NotInDoubt)?;
    run.answer(by("q2", Said::Yes, "bob").at(Timestamp(999))).get().await.map_err(text)?;
    run.answer(by("q2", Said::Withdrawn, "toolwright")).get().await.map_err(text)?;
    let found = run.approvals().get().await.map_err(text)?;
    let said: Vec<_> = found.iter().map(|found| (found.id().to_owned(), found.outcome())).collect();
    let want = vec![("q1".into(), Some(Said::No)), ("q2".into(), Some(Said::Withdrawn)), ("q3".into(), None)];
    same("what was answered", said, want)?;
    let no = found.first().and_then(|found| found.answered.as_ref());
    check(no.is_some_and(|no| no.who == "anna" && no.reason == "not today" && no.rule == "a letter"), || format!("it says {no:?}"))?;
    let newer = journal.open(super::record("r1"), Claim::new("suite")).get().await.map_err(text)?;
    refused("a question of an old claim", run.ask(question("main", "q4", json!({}))).get().await, JournalErrorKind::Fenced)?;
    refused("an answer of an old claim", run.answer(by("q3", Said::Yes, "anna")).get().await, JournalErrorKind::Fenced)?;
    newer.answer(by("q3", Said::Yes, "anna")).get().await.map_err(text)
}

pub(super) async fn reloading<J: Journal>(journal: J, reload: &impl Fn(J) -> J) -> Outcome {
    let large = json!({"to": "a", "text": "x".repeat(40_000)});
    let asked = question("main/0:a", "q1", large);
    let run = open(&journal, "r1").await?;
    ask(&run, asked.clone()).await?;
    drop(run);
    let journal = reload(journal);
    let history = journal.load("r1").get().await.map_err(text)?.ok_or("the run is not there")?;
    let open_ones: Vec<Asked> = history.approvals().into_iter().filter(|found| found.is_open()).map(|found| found.asked).collect();
    same("the question", open_ones, vec![asked])?;
    journal.answer("r1", Answered::new("q1", Said::Yes, "anna").at(Timestamp(2))).get().await.map_err(text)?;
    let journal = reload(journal);
    let run = open(&journal, "r1").await?;
    let found = run.approvals().get().await.map_err(text)?;
    same("its answer", found.first().and_then(|found| found.outcome()), Some(Said::Yes))?;
    same("what may be done on it", matches!(begin(&run, needing("main/0:a", "q1")).await?, Admission::Proceed { .. }), true)
}

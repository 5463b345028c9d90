//! What is kept, and how it comes back.

use super::*;
use crate::composite::EffectRecord;
use crate::composite::effect::StepRecord;
use crate::fingerprint::Fingerprint;
use crate::journal::{BeginMore, End, FinishMore, ForgedSpec, Record, Resolved, RunHistory, StepTool};
use crate::schema::Repair;

async fn load(journal: &dyn Journal, id: &str) -> Result<RunHistory, String> {
    journal.load(id).get().await.map_err(text)?.ok_or_else(|| format!("run `{id}` is not there"))
}

fn full_run() -> RunRecord {
    RunRecord {
        fingerprint: Some(Fingerprint::of("f0")),
        generation: 3,
        forged: vec![ForgedSpec { name: "digest".into(), spec: json!({"steps": []}) }],
        session: Some("s".into()),
        principal: Some("anna".into()),
        context_key: Some("c".into()),
        created: Some(Timestamp(u64::MAX)),
        deadline: Some(Timestamp(0)),
        calls: 2,
        ..record("r1")
    }
}

fn full_begin() -> Begin {
    let more = BeginMore {
        repairs: vec![Repair { pointer: "/n".into(), action: "wrote it another way".into() }],
        spec: Some(json!({"steps": []})),
        checkpoint: Some(Value::Null),
        tools: vec![StepTool { tool: "send".into(), fingerprint: Fingerprint::of("f2"), spec: Some(Value::Null) }],
        forked: None,
        approval: Some("ask-1".into()),
    };
    let at = Some(Timestamp(1));
    Begin { fingerprint: Some(Fingerprint::of("f1")), more: Some(Box::new(more)), at, ..send("main/0:a", Some(Impact::Once)) }
}

fn full_finish() -> Finish {
    let step = StepRecord { step: "a".into(), index: 0, tool: "send".into(), via: vec!["main".into()] };
    let more = FinishMore {
        content_type: Some("text/plain".into()),
        content: Some(json!([{"type": "text"}])),
        details: Some(json!({"n": 1})),
        notes: vec!["repaired".into()],
        effects: Some(vec![EffectRecord::Ran(step), EffectRecord::Reported(json!({"kind": "own"}))]),
        receipt: Some(Value::Null),
        receipt_failed: true,
        answered_by: Some("anna".into()),
    };
    Finish { more: Some(Box::new(more)), at: Some(Timestamp(2)), ..sent("main/0:a") }
}

pub(super) async fn loads(journal: &dyn Journal) -> Outcome {
    same("a run that is not there", journal.load("r1").get().await.map_err(text)?, None)?;
    let claim = Claim::new("one").until(Timestamp(5), Duration::from_secs(1));
    let run = journal.open(full_run(), claim.clone()).get().await.map_err(text)?;
    let failure = Failure { help: Some("wait".into()), details: Some(json!({"n": 1})), ..Failure::new("own", "no", EffectState::Unknown) };
    let answer = happened(7).evidence(json!("seen")).at(Timestamp(3));
    begin(&run, full_begin()).await?;
    finish(&run, full_finish()).await?;
    begin(&run, send("main/1:b", None)).await?;
    finish(&run, Finish::failed(at("main/1:b"), failure.clone().answered())).await?;
    begin(&run, send("main/2:c", None)).await?;
    run.resolve(&at("main/2:c"), answer.clone()).get().await.map_err(text)?;
    run.end(End::failed("own")).get().await.map_err(text)?;
    let history = load(journal, "r1").await?;
    same("what was known when it started", &history.run, &full_run())?;
    same("its claim", (history.claimed.epoch, &history.claimed.claim), (1, &claim))?;
    let want = vec![
        Record::Begin(full_begin()),
        Record::Finish(full_finish()),
        Record::Begin(send("main/1:b", None)),
        Record::Finish(Finish::failed(at("main/1:b"), failure.answered())),
        Record::Begin(send("main/2:c", None)),
        Record::Resolved(Resolved { key: at("main/2:c"), resolution: answer }),
        Record::End(End::failed("own")),
    ];
    for (got, want) in history.records.iter().zip(&want) {
        same("a record", got, want)?;
    }
    same("how many records", history.records.len(), want.len())?;
    same("its end", history.end(), Some(&End::failed("own")))?;
    let second = journal.open(record("r1"), Claim::new("two")).get().await.map_err(text)?;
    let history = load(journal, "r1").await?;
    same("the first record of a run stays", &history.run, &full_run())?;
    same("the newest claim", (history.claimed.epoch, history.claimed.claim.owner.as_str()), (second.epoch(), "two"))?;
    same("it is written among the records", history.records.last(), Some(&Record::Claimed(history.claimed.clone())))?;
    same("a run that is at work again has no end", history.end(), None)
}

/// Values that were lost or changed on the way, in one store or another.
fn difficult() -> Vec<Value> {
    let deep = |leaf: Value| (1..crate::limits::VALUE_DEPTH_MAX).fold(leaf, |inner, _| Value::array([inner]));
    let parsed = |text: &str| text.parse::<Value>().unwrap_or_default();
    vec![
        Value::Null,
        json!(false),
        json!(""),
        json!("one\ntwo\r\nthree\u{2028}four\u{2029}five\u{0}six\u{feff}\u{1f600}\u{1b}[0m"),
        Value::from("x".repeat(1_000_000)),
        json!({"": {"": ""}, "output": null, "failed": 1, "$serde_json::private::Number": "x", "z": 1, "a": 2}),
        parsed("123456789012345678901234567890.10"),
        parsed("1e400"),
        parsed("-0.0"),
        json!([i64::MIN, i64::MAX, u64::MAX, 0.1]),
        deep(json!([])),
    ]
}

pub(super) async fn values(journal: &dyn Journal) -> Outcome {
    for (number, value) in difficult().into_iter().enumerate() {
        let id = format!("r{number}");
        let path = format!("main/0:\u{1f600} \"{number}\"\n");
        let shown = crate::cut(&value.to_json_string(), 80);
        let call = || Begin { input: value.clone(), ..send(&path, None) };
        let run = journal.open(RunRecord { input: value.clone(), ..record(&id) }, Claim::new("suite")).get().await.map_err(text)?;
        begin(&run, call()).await?;
        finish(&run, Finish::ok(at(&path), Some(value.clone()), EffectState::Happened)).await?;
        let again = journal.open(RunRecord { input: value.clone(), ..record(&id) }, Claim::new("suite")).get().await;
        let again = again.map_err(|error| format!("a run with the input {shown}: {error}"))?;
        match begin(&again, call()).await? {
            Admission::Replay(finish) => {
                let output = finish.outcome.map_err(|failure| failure.message)?;
                let printed = output.as_ref().map(Value::to_json_string);
                check(printed == Some(value.to_json_string()), || format!("an output came back another one: {shown}"))?;
            }
            other => return Err(format!("a call with the input {shown}: {}", word(&other))),
        }
    }
    Ok(())
}

pub(super) async fn unfinished(journal: &dyn Journal) -> Outcome {
    let found =
        || async { Ok::<_, String>(journal.unfinished().get().await.map_err(text)?.iter().map(ToString::to_string).collect::<Vec<_>>()) };
    same("an empty journal", found().await?, Vec::new())?;
    let mut runs = Vec::new();
    for id in ["b", "c", "a"] {
        runs.push(open(journal, id).await?);
    }
    same("all are open, oldest first", found().await?, vec!["b".into(), "c".into(), "a".into()])?;
    for (run, end) in runs.iter().zip([End::ok(), End::failed("own")]) {
        run.end(end).get().await.map_err(text)?;
    }
    same("those that ended are done, well or not", found().await?, vec!["a".to_owned()])?;
    let again = open(journal, "c").await?;
    same("one that is opened again is open", found().await?, vec!["c".into(), "a".into()])?;
    again.end(End::ok()).get().await.map_err(text)?;
    same("until it ends", found().await?, vec!["a".to_owned()])
}

pub(super) async fn reloading<J: Journal>(journal: J, reload: &impl Fn(J) -> J) -> Outcome {
    let once = Some(Impact::Once);
    let run = open(&journal, "r1").await?;
    for path in ["main/0:a", "main/1:b", "main/2:c"] {
        begin(&run, send(path, once)).await?;
    }
    finish(&run, sent("main/0:a")).await?;
    run.abandoned(&at("main/2:c"));
    journal.resolve("r1", "main/2:c", nothing_happened()).get().await.map_err(text)?;
    drop(run);
    let before = load(&journal, "r1").await?;
    let journal = reload(journal);
    same("the history", load(&journal, "r1").await?, before)?;
    same("the unfinished runs", journal.unfinished().get().await.map_err(text)?, vec!["r1".into()])?;
    let run = open(&journal, "r1").await?;
    same("the next epoch", run.epoch(), 2)?;
    admits("a call that succeeded", &run, send("main/0:a", once), r#"replay {"id":7}"#).await?;
    admits("a call without an end", &run, send("main/1:b", once), "in doubt").await?;
    admits("a call that was answered", &run, send("main/2:c", once), "run 2").await
}
